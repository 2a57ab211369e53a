//! Classifies what changed between two rounds, by finding id.
//!
//! Nothing is matched here: the tracker has already given every finding its id, so the delta is a plain comparison of
//! two maps. That keeps its laws simple to state and to test.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tribunal_core::finding::Severity;
use tribunal_core::ids::FindingId;
use tribunal_core::ledger::{Delta, Mark};

/// Where a finding stands in the later round.
///
/// `Gone` and `Silent` are kept apart on purpose: a reviewer who does not repeat a finding has not confirmed that it
/// was fixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Standing {
    /// Repeated, upheld, or put to its reviewer and not yet settled.
    Present,
    /// Gone, with evidence that it was fixed.
    Gone,
    /// Not repeated, and nothing shows that it is gone.
    Silent,
}

/// One finding as it stands in the later round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// The severity it has now.
    pub severity: Severity,
    /// Whether it is still there.
    pub standing: Standing,
    /// How it came to be new; meaningful only if it was not there before.
    pub mark: Mark,
}

/// The class of a finding in the delta.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// There before, gone with evidence.
    Resolved,
    /// Not there before; the mark says how it came about.
    New(Mark),
    /// There in both rounds, with the same severity.
    Unchanged,
    /// There in both rounds, less severe now.
    Downgraded,
    /// There in both rounds, more severe now.
    Upgraded,
    /// There before, not repeated, not confirmed gone.
    NotReported,
}

/// One line of the delta.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// The finding that this row is about.
    pub id: FindingId,
    /// How it changed between the rounds.
    pub class: Class,
    /// Severity in the earlier round.
    pub from: Option<Severity>,
    /// Severity in the later round; `None` when resolved.
    pub to: Option<Severity>,
}

/// Counts of one severity in both rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// The severity that is counted.
    pub severity: Severity,
    /// How many findings had it in the earlier round.
    pub before: usize,
    /// How many findings have it in the later round.
    pub after: usize,
}

/// The delta of one round against the round before.
///
/// Every finding that was there before or is present now has exactly one row, so the counts by class add up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CycleDelta {
    /// One row per finding, in id order.
    pub rows: Vec<Row>,
}

/// Classifies the union of both rounds.
///
/// A finding that is missing from `now` counts as not reported, never as resolved: only evidence resolves a finding.
pub fn cycle_delta(before: &BTreeMap<FindingId, Severity>, now: &BTreeMap<FindingId, Now>) -> CycleDelta {
    let mut rows: Vec<Row> = Vec::with_capacity(before.len() + now.len());
    for (id, from) in before {
        let (class, to) = match now.get(id) {
            // It keeps its old severity, so that the progression table still counts it.
            None => (Class::NotReported, Some(*from)),
            Some(Now { standing: Standing::Silent, .. }) => (Class::NotReported, Some(*from)),
            Some(Now { standing: Standing::Gone, .. }) => (Class::Resolved, None),
            Some(Now { severity, .. }) if severity > from => (Class::Upgraded, Some(*severity)),
            Some(Now { severity, .. }) if severity < from => (Class::Downgraded, Some(*severity)),
            Some(Now { severity, .. }) => (Class::Unchanged, Some(*severity)),
        };
        rows.push(Row { id: *id, class, from: Some(*from), to });
    }
    // A finding that came and went within the round was never part of the result, so it gets no row.
    let fresh = now.iter().filter(|(id, now)| !before.contains_key(id) && now.standing == Standing::Present);
    rows.extend(fresh.map(|(id, now)| Row {
        id: *id,
        class: Class::New(now.mark),
        from: None,
        to: Some(now.severity),
    }));
    // Two sorted lists were appended; a reader expects one order.
    rows.sort_by_key(|row| row.id);
    CycleDelta { rows }
}

impl CycleDelta {
    /// How many findings are of this class.
    pub fn count(&self, class: Class) -> usize {
        self.rows.iter().filter(|row| row.class == class).count()
    }

    /// The progression table, from blockers down to suggestions.
    pub fn progression(&self) -> [Progress; 3] {
        [Severity::Blocker, Severity::Warning, Severity::Suggestion].map(|severity| Progress {
            severity,
            before: self.rows.iter().filter(|row| row.from == Some(severity)).count(),
            after: self.rows.iter().filter(|row| row.to == Some(severity)).count(),
        })
    }

    /// The counts that the loop machine and the convergence controller work with.
    pub fn counts(&self, lines_changed: u32) -> Delta {
        let n = |class| self.count(class) as u32;
        Delta {
            resolved: n(Class::Resolved),
            // `Persistent` is not a way to be new, so such a mark counts as plain new.
            new: n(Class::New(Mark::New)) + n(Class::New(Mark::Persistent)),
            unchanged: n(Class::Unchanged),
            downgraded: n(Class::Downgraded),
            upgraded: n(Class::Upgraded),
            not_reported: n(Class::NotReported),
            reopened: n(Class::New(Mark::Reopened)),
            fix_induced: n(Class::New(Mark::FixInduced)),
            late: n(Class::New(Mark::Late)),
            lines_changed,
        }
    }
}

/// The delta section of a report; `None` in the first round, which has nothing to compare with.
pub fn section(round: u32, delta: &CycleDelta) -> Option<&CycleDelta> {
    (round > 1).then_some(delta)
}
