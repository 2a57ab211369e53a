//! Two reports over two trees, without a ledger: the tracker as a tool of its own (`tribunal delta`).

use super::anchor::{Anchors, Read, Side};
use super::change::Change;
use super::pair::{Hints, Pair, Scorer, pair};
use std::cmp::Ordering;
use std::collections::BTreeSet;
use tribunal_core::finding::Claim;

/// What became of a finding of the earlier report that has no partner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gone {
    /// Its code changed.
    Resolved,
    /// Its code is as it was.
    NotReported,
}

/// What is new about a finding of the later report that has no partner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fresh {
    /// No place to judge by.
    New,
    /// On lines that were there before.
    Late,
    /// On lines the change added.
    FixInduced,
}

/// Pairs and leftovers of two reports.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    /// Findings of both reports, and how their severity went.
    pub pairs: Vec<(Pair, Ordering)>,
    /// The rest of the earlier report.
    pub gone: Vec<(usize, Gone)>,
    /// The rest of the later report.
    pub fresh: Vec<(usize, Fresh)>,
}

/// Compares two reports.
pub fn compare(
    before: &[&Claim],
    after: &[&Claim],
    change: &Change,
    read: Read<'_>,
    scorer: &Scorer,
) -> Comparison {
    let pairs = pair(before, after, &Hints::default(), change, read, scorer);
    let (left, right): (BTreeSet<usize>, BTreeSet<usize>) =
        pairs.iter().map(|pair| (pair.before, pair.after)).unzip();
    let mut anchors = Anchors::new(read);
    let gone = (0..before.len())
        .filter(|n| !left.contains(n))
        .map(|n| (n, gone(before[n], change, &mut anchors)))
        .collect();
    let fresh = (0..after.len())
        .filter(|n| !right.contains(n))
        .map(|n| (n, fresh(after[n], change, &mut anchors)))
        .collect();
    let pairs = pairs
        .into_iter()
        .map(|pair| (pair, after[pair.after].severity.cmp(&before[pair.before].severity)))
        .collect();
    Comparison { pairs, gone, fresh }
}

fn gone(claim: &Claim, change: &Change, anchors: &mut Anchors<'_>) -> Gone {
    let Some(file) = claim.file.as_deref() else { return Gone::NotReported };
    if change.new_path(file).is_none() {
        return Gone::Resolved;
    }
    if !change.differs(file) {
        return Gone::NotReported;
    }
    let line = anchors.of(Side::Before, claim).line;
    let changed = line.is_some_and(|line| change.old_hunk(file, line, line, 0).is_some());
    if changed { Gone::Resolved } else { Gone::NotReported }
}

fn fresh(claim: &Claim, change: &Change, anchors: &mut Anchors<'_>) -> Fresh {
    let Some(file) = claim.file.as_deref() else { return Fresh::New };
    if !change.existed(file) {
        return Fresh::FixInduced;
    }
    if change.file_at(file).is_none() {
        return Fresh::Late;
    }
    match anchors.of(Side::After, claim).line {
        Some(line) if change.new_hunk(file, line, line, 0).is_some() => Fresh::FixInduced,
        Some(_) => Fresh::Late,
        None => Fresh::New,
    }
}
