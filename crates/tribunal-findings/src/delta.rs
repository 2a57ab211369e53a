//! What changed between two rounds (SPEC 3.5), by id. Never matches anything: ids are given.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tribunal_core::finding::Severity;
use tribunal_core::ids::FindingId;
use tribunal_core::ledger::{Delta, Mark};

/// Where a finding stands in the later round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Standing {
    /// Repeated, upheld, or put to its seat and not yet settled.
    Present,
    /// Gone with evidence.
    Gone,
    /// Simply not repeated.
    Silent,
}

/// One finding in the later round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// Its severity.
    pub severity: Severity,
    /// Where it stands.
    pub standing: Standing,
    /// What is new about it, should it be new.
    pub mark: Mark,
}

/// The class of a finding in the delta.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// There before, gone with evidence.
    Resolved,
    /// Not there before.
    New(Mark),
    /// There in both, same severity.
    Unchanged,
    /// There in both, less severe now.
    Downgraded,
    /// There in both, more severe now.
    Upgraded,
    /// There before, not repeated, not confirmed gone.
    NotReported,
}

/// One line of the delta.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// Which finding.
    pub id: FindingId,
    /// Its class.
    pub class: Class,
    /// Severity in the earlier round.
    pub from: Option<Severity>,
    /// Severity in the later round; none when resolved.
    pub to: Option<Severity>,
}

/// Counts of one severity in both rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Which severity.
    pub severity: Severity,
    /// So many before.
    pub before: usize,
    /// So many now.
    pub after: usize,
}

/// The delta of one round against the round before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CycleDelta {
    /// One row per finding of either round, in id order.
    pub rows: Vec<Row>,
}

/// Classifies the union of both rounds.
pub fn cycle_delta(before: &BTreeMap<FindingId, Severity>, now: &BTreeMap<FindingId, Now>) -> CycleDelta {
    let mut rows: Vec<Row> = Vec::with_capacity(before.len() + now.len());
    for (id, from) in before {
        let (class, to) = match now.get(id) {
            None => (Class::NotReported, Some(*from)),
            Some(Now { standing: Standing::Silent, .. }) => (Class::NotReported, Some(*from)),
            Some(Now { standing: Standing::Gone, .. }) => (Class::Resolved, None),
            Some(Now { severity, .. }) if severity > from => (Class::Upgraded, Some(*severity)),
            Some(Now { severity, .. }) if severity < from => (Class::Downgraded, Some(*severity)),
            Some(Now { severity, .. }) => (Class::Unchanged, Some(*severity)),
        };
        rows.push(Row { id: *id, class, from: Some(*from), to });
    }
    let fresh = now.iter().filter(|(id, now)| !before.contains_key(id) && now.standing == Standing::Present);
    rows.extend(fresh.map(|(id, now)| Row {
        id: *id,
        class: Class::New(now.mark),
        from: None,
        to: Some(now.severity),
    }));
    rows.sort_by_key(|row| row.id);
    CycleDelta { rows }
}

impl CycleDelta {
    /// How many findings have a class.
    pub fn count(&self, class: Class) -> usize {
        self.rows.iter().filter(|row| row.class == class).count()
    }

    /// The progression table, from blockers down.
    pub fn progression(&self) -> [Progress; 3] {
        [Severity::Blocker, Severity::Warning, Severity::Suggestion].map(|severity| Progress {
            severity,
            before: self.rows.iter().filter(|row| row.from == Some(severity)).count(),
            after: self.rows.iter().filter(|row| row.to == Some(severity)).count(),
        })
    }

    /// The counts the machine and the controller work with.
    pub fn counts(&self, lines_changed: u32) -> Delta {
        let n = |class| self.count(class) as u32;
        Delta {
            resolved: n(Class::Resolved),
            // "Persistent" is no way to be new: such a mark counts as plain.
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

/// The delta section of a report: a review of a single round has none.
pub fn section(round: u32, delta: &CycleDelta) -> Option<&CycleDelta> {
    (round > 1).then_some(delta)
}
