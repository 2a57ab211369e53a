//! Identity of findings over rounds. An id is given once; here the claims of this round meet the ledger. A must-fix
//! finding never goes away because nobody repeated it.
//!
//! New findings get `next_id`, `next_id + 1`, … in triage order. `change` is the diff between the tree the ledger was
//! last tracked on and this one, `fix` the diff between the round before and this one. They differ when a round is
//! tracked twice, and both are empty in round 1 or when the tree is the same.
//!
//! The caller gives files of either tree on demand through `read`, and passes the accumulated `removed` of all earlier
//! rounds. How well the matching works, and why it is built so, is in `docs/design/tracking.md`.

pub mod anchor;
pub mod assign;
pub mod change;
pub mod compare;
mod fates;
mod layout;
pub mod moves;
pub mod pair;
pub mod prose;
mod reversal;
mod reworded;
pub mod score;
mod subject;

pub use anchor::{Read, Side};
pub use change::{Change, FileChange, Hunk};
pub use compare::{Comparison, compare, compare_reports};
pub use reversal::Block;

use crate::delta::CycleDelta;
use crate::triage::Triaged;
use anchor::{Anchor, Anchors};
use pair::{Hints, How, Scorer, pair};
use prose::Voices;
use std::collections::{BTreeMap, BTreeSet};
use tribunal_core::finding::{Claim, Fate, FixableBy, Said, Source};
use tribunal_core::ids::{Check, FindingId, Reviewer};
use tribunal_core::ledger::{Delta, Entry, Ledger, Mark, Tracked};
use tribunal_core::words::Words;

/// Everything tracking needs to know about one round.
///
/// Everything is borrowed and given: tracking reads no files and knows no git, so a recorded round can be tracked again
/// and gives the same result.
pub struct Input<'a> {
    /// Number of the round, from 1.
    pub round: u32,
    /// The first free id.
    pub next_id: FindingId,
    /// The ledger as it was before this round.
    pub ledger: &'a Ledger,
    /// This round's findings after triage.
    pub triaged: &'a [Triaged],
    /// Answers of reviewers to findings that were put to them by id.
    pub said: &'a BTreeMap<Reviewer, BTreeMap<FindingId, Said>>,
    /// Checks that ran in this round over their whole scope. Only their silence resolves anything.
    pub ran: &'a BTreeSet<Check>,
    /// The diff between the tree that the ledger's lines refer to and this one.
    pub change: &'a Change,
    /// The diff between the tree of the round before and this one. A finding on its added lines came with the fix.
    pub fix: &'a Change,
    /// Stretches of code that earlier fixes removed.
    pub removed: &'a [Block],
    /// Gives files of either tree.
    pub read: Read<'a>,
    /// The builder is the architect, so it can fix what needs an architect.
    pub architect: bool,
    /// Which checks are tools, and what those say about unchanged lines.
    pub tools: &'a ToolWords,
}

/// Which checks are tools, and their findings that do not count in this review.
///
/// A tool is run on whole files but answers for a change, so its silence on unchanged code proves nothing about it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolWords {
    /// Checks that are tools: their silence settles only findings on changed code.
    pub names: BTreeSet<Check>,
    /// Their findings on lines that did not change.
    pub filtered: Vec<Claim>,
}

impl ToolWords {
    /// Whether a tool still reports this finding, but on a line outside of the change.
    fn says_filtered(&self, claim: &Claim) -> bool {
        // Without the line: it is exactly the line that has become another.
        let key = |claim: &'_ Claim| (claim.file.clone(), claim.rule.clone(), claim.claim.clone());
        self.filtered.iter().any(|other| key(other) == key(claim))
    }
}

/// The result of matching one triaged finding.
///
/// Every triaged finding has one, so the caller can show why a finding kept its id or got a new one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Match {
    /// It is a finding of the ledger.
    Known {
        /// Its id in the ledger.
        id: FindingId,
        /// How certain the match is, 0 to 1.
        score: f64,
        /// The rule by which it was found.
        how: How,
    },
    /// It is new and got this id.
    New(FindingId),
}

impl Match {
    /// The id of the finding from now on.
    pub fn id(&self) -> FindingId {
        match self {
            Match::Known { id, .. } | Match::New(id) => *id,
        }
    }
}

/// The result of tracking one round; the machine turns it into events.
///
/// Ids are given here and nowhere else, so the caller must record the outcome before it tracks the next round.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Every finding this round says something about, in id order.
    pub tracked: Vec<Tracked>,
    /// Counts for the loop machine.
    pub delta: Delta,
    /// The delta row by row, for reports.
    pub cycle: CycleDelta,
    /// One match for each triaged finding, in the same order.
    pub matches: Vec<Match>,
    /// Code that this fix removed; the caller passes it to later rounds as `removed`.
    pub removed: Vec<Block>,
}

/// Matches this round's findings to the ledger and decides the fate of each.
///
/// First everything that was raised gets its id, then the rest of the ledger is asked what the silence means. The order
/// matters: silence can be judged only when all matches are known.
pub fn track(input: &Input<'_>) -> Outcome {
    let matches = matched(input);
    let ids: BTreeMap<usize, FindingId> =
        input.triaged.iter().zip(&matches).map(|(triaged, found)| (triaged.key, found.id())).collect();
    let mut anchors = Anchors::new(input.read);
    let changed = reversal::Changed::new(input, &mut anchors);
    let mut tracked: BTreeMap<FindingId, Tracked> = BTreeMap::new();
    let mut silent: BTreeSet<FindingId> = BTreeSet::new();
    for (triaged, found) in input.triaged.iter().zip(&matches) {
        let anchor = anchors.of(Side::After, triaged.claim());
        let mut one = fates::repeated(input, triaged, found, &anchor, &changed);
        let related = triaged.related.iter().filter_map(|key| ids.get(key));
        one.remarks.related = related.copied().filter(|id| *id != one.id).collect();
        match tracked.get_mut(&one.id) {
            // Cannot happen, as matching is one to one; if it did, no words would be lost.
            Some(known) => {
                known
                    .words
                    .extend(one.said().map(|(by, claim)| Words { by: by.clone(), claim: claim.clone() }));
                known.by.extend(one.by);
            }
            None => {
                tracked.insert(one.id, one);
            }
        }
    }
    // A waived finding is asked, too: its waiver ends when its code changes.
    let speaks = |entry: &Entry| entry.fate.is_live() || matches!(entry.fate, Fate::Waived(_));
    let unrepeated: Vec<(FindingId, &Entry)> =
        input.ledger.iter().filter(|(id, entry)| speaks(entry) && !tracked.contains_key(id)).collect();
    let moves = fates::moves(input, unrepeated.iter().map(|(_, entry)| &entry.claim), &mut anchors);
    for (id, entry) in unrepeated {
        let (one, was_silent) = fates::unrepeated(input, id, entry, &mut anchors, (&changed, &moves));
        if was_silent {
            silent.insert(id);
        }
        tracked.insert(id, one);
    }
    // Last, because it needs to know which findings this fix has cured.
    fates::credit(input, &mut tracked);
    let cycle = fates::cycle(input, &tracked, &silent);
    let delta = cycle.counts(input.change.lines_changed());
    Outcome { delta, cycle, matches, removed: changed.removed, tracked: tracked.into_values().collect() }
}

/// How reluctantly a claim is taken for an entry: open entries first, settled ones only when the words are clearly
/// theirs.
fn reluctance(entry: &Entry) -> f64 {
    match &entry.fate {
        fate if fate.is_live() => 0.0,
        Fate::Discarded | Fate::Filtered => 0.5,
        _ => 1.0,
    }
}

/// Matches all claims in one assignment over the whole ledger.
///
/// Settled entries take part, so that a finding that came back is not mistaken for an open one beside it.
fn matched(input: &Input<'_>) -> Vec<Match> {
    let mut entries: Vec<(FindingId, &Entry)> = input.ledger.iter().collect();
    entries.sort_by(|a, b| reluctance(a.1).total_cmp(&reluctance(b.1)).then(a.0.cmp(&b.0)));
    let nearest: Vec<Option<Claim>> =
        entries.iter().map(|(_, entry)| subject::nearest(entry, input.triaged)).collect();
    let known = entries.iter().zip(&nearest);
    let before: Vec<&Claim> =
        known.map(|((_, entry), nearest)| nearest.as_ref().unwrap_or(&entry.claim)).collect();
    let after: Vec<&Claim> = input.triaged.iter().map(|triaged| triaged.claim()).collect();
    let may = |n: usize, now: usize| subject::may_be(input, entries[n].0, entries[n].1, &input.triaged[now]);
    let known: Vec<&Entry> = entries.iter().map(|(_, entry)| *entry).collect();
    let voices = Some(Voices::of_ledger(&known, &before, input.triaged));
    let hints = Hints { may: Some(&may), voices, ..hints(input, &entries) };
    let mut matches: Vec<Option<Match>> = vec![None; after.len()];
    for found in pair(&before, &after, &hints, input.change, input.read, &Scorer::default()) {
        let id = entries[found.before].0;
        matches[found.after] = Some(Match::Known { id, score: found.score, how: found.how });
    }
    // Only for what is left: the assignment is better evidence than an author's habit.
    reworded::join(input, &entries, &mut matches);
    let mut next = input.next_id.0;
    let fresh = |found: Option<Match>| {
        found.unwrap_or_else(|| {
            next += 1;
            Match::New(FindingId(next - 1))
        })
    };
    matches.into_iter().map(fresh).collect()
}

/// What reviewers themselves say about which finding is which.
///
/// "Same as F-12" speaks for the pair. A reviewer that calls F-12 settled, or answers for it by its id, and raises this
/// claim as well, most likely means another finding.
fn hints(input: &Input<'_>, entries: &[(FindingId, &Entry)]) -> Hints<'static> {
    let mut hints = Hints::default();
    hints.reluctance.extend(entries.iter().enumerate().map(|(n, (_, entry))| (n, reluctance(entry))));
    let places: BTreeMap<FindingId, usize> =
        entries.iter().enumerate().map(|(before, (id, _))| (*id, before)).collect();
    for (after, triaged) in input.triaged.iter().enumerate() {
        let named = triaged.texts().find_map(|raised| raised.claim.same_as);
        hints.same_as.extend(named.and_then(|id| places.get(&id)).map(|before| (after, *before)));
        for raised in triaged.texts() {
            let Source::Reviewer(reviewer) = &raised.source else { continue };
            for (id, said) in input.said.get(reviewer).into_iter().flatten() {
                let Some(before) = places.get(id) else { continue };
                let pairs = if *said == Said::StillThere { &mut hints.answered } else { &mut hints.settled };
                pairs.insert((*before, after));
            }
        }
    }
    hints
}

/// The region a finding lies in, for the convergence rules: file and enclosing definition, section, or a stretch of
/// lines.
///
/// A finding about a whole file has none, because three different faults of one file are not the same place.
pub(crate) fn region(claim: &Claim, anchor: &Anchor) -> Option<String> {
    let file = claim.file.as_deref()?;
    if !anchor.symbol.is_empty() {
        return Some(format!("{file}:{}", anchor.symbol));
    }
    if let Some(section) = &claim.section {
        return Some(format!("{file}:{section}"));
    }
    // Blocks of fifty lines: the key must survive small shifts.
    claim.line.map(|line| format!("{file}:{}", line / 50 * 50))
}

/// Whether the builder of this loop can fix the finding.
pub(crate) fn builders(claim: &Claim, architect: bool) -> bool {
    match claim.fixable_by {
        FixableBy::Dev => true,
        FixableBy::Architect => architect,
        FixableBy::Manual => false,
    }
}

pub(crate) fn by_check(by: &BTreeSet<Source>) -> bool {
    by.iter().any(|source| matches!(source, Source::Check(_)))
}

pub(crate) fn is_new(mark: Mark) -> bool {
    mark != Mark::Persistent
}
