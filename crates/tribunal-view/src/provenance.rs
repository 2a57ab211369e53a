//! Where the lines of a finding came from.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Where a finding's lines came from.
///
/// A reader needs the difference: fixes that bring new faults are another problem than reviewers that see old faults
/// late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Provenance {
    /// The first version had it, and the first round found it.
    Original,
    /// The fix that followed this round brought it.
    Fix(u32),
    /// An earlier round could have found it and did not.
    MissedEarlier,
    /// It was there before the work began.
    PreExisting,
}

impl fmt::Display for Provenance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Provenance::Original => f.write_str("original"),
            Provenance::Fix(round) => write!(f, "introduced by the fix of round {round}"),
            Provenance::MissedEarlier => f.write_str("missed earlier"),
            Provenance::PreExisting => f.write_str("pre-existing"),
        }
    }
}
