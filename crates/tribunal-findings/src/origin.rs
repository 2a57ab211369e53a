//! Where a finding comes from (SPEC 3.6), from what blame says of its lines. Reads no repository: whoever can run blame
//! says of each line which part of the work made it.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The part of the work that a line was made in, from old to new.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Made {
    /// Before this change began: what its base already had.
    Base,
    /// The work itself, as the first round judged it.
    Work,
    /// The fix that a round's ruling asked for, by that round; the round after it is the first to see it.
    Fix(u32),
}

impl Made {
    /// The first round that could see it.
    fn seen_from(self) -> u32 {
        match self {
            Made::Base | Made::Work => 1,
            Made::Fix(round) => round.saturating_add(1),
        }
    }
}

/// Where a finding comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The change brought it, and the first round saw it.
    Original,
    /// The fix of this round brought it, and the round after saw it.
    FixOf(u32),
    /// It was there to be seen from this round on, and was seen only later.
    MissedSince(u32),
    /// It was there before the change.
    PreExisting,
    /// It names no lines, or none that this change could have had then.
    Unknown,
}

/// The origin of a finding first raised in a round, from the makers of its lines in the tree that round judged. The
/// newest line counts: a finding is no older than the youngest of what it is about.
pub fn origin(lines: impl IntoIterator<Item = Made>, first_round: u32) -> Origin {
    // What came later than the finding cannot have brought it.
    let newest = lines.into_iter().filter(|made| made.seen_from() <= first_round.max(1)).max();
    match newest {
        None => Origin::Unknown,
        Some(Made::Base) => Origin::PreExisting,
        Some(made) if made.seen_from() < first_round => Origin::MissedSince(made.seen_from()),
        Some(Made::Work) => Origin::Original,
        Some(Made::Fix(round)) => Origin::FixOf(round),
    }
}

/// Words for a report; nothing where nothing is known.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Original => f.write_str("introduced by this change"),
            Origin::FixOf(round) => write!(f, "introduced by the fix of round {round}"),
            Origin::MissedSince(round) => write!(f, "there since round {round}, missed earlier"),
            Origin::PreExisting => f.write_str("there before this change"),
            Origin::Unknown => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn origins_by_the_newest_line() {
        use Made::{Base, Fix, Work};
        for (lines, first_round, expect) in [
            (&[Base][..], 1, Origin::PreExisting),
            (&[Base, Base], 4, Origin::PreExisting),
            (&[Base, Work], 1, Origin::Original),
            (&[Work], 3, Origin::MissedSince(1)),
            (&[Work, Fix(1)], 2, Origin::FixOf(1)),
            (&[Fix(2), Work, Base], 3, Origin::FixOf(2)),
            (&[Fix(1)], 3, Origin::MissedSince(2)),
            (&[Work, Fix(2)], 2, Origin::MissedSince(1)),
            (&[Work, Fix(1)], 1, Origin::Original),
            (&[Fix(3)], 2, Origin::Unknown),
            (&[], 1, Origin::Unknown),
            (&[Work], 0, Origin::Original),
            (&[Fix(u32::MAX)], u32::MAX, Origin::FixOf(u32::MAX)),
        ] {
            assert_eq!(
                origin(lines.iter().copied(), first_round),
                expect,
                "{lines:?} in round {first_round}"
            );
        }
    }

    fn made() -> impl Strategy<Value = Made> {
        prop_oneof![Just(Made::Base), Just(Made::Work), (1u32..5).prop_map(Made::Fix)]
    }

    proptest! {
        /// A finding is never blamed on what came after it, and never called missed in the round that could first see it.
        #[test]
        fn nothing_is_blamed_on_what_came_later(lines in prop::collection::vec(made(), 0..6), round in 1u32..7) {
            match origin(lines.iter().copied(), round) {
                Origin::FixOf(fix) => prop_assert!(fix + 1 == round && lines.contains(&Made::Fix(fix))),
                Origin::MissedSince(since) => prop_assert!(since < round),
                Origin::Original => prop_assert!(round == 1 && lines.contains(&Made::Work)),
                Origin::PreExisting => prop_assert!(lines.contains(&Made::Base)),
                Origin::Unknown => prop_assert!(lines.iter().all(|made| made.seen_from() > round)),
            }
        }
    }
}
