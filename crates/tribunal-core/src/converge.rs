//! Whether a loop that needs rework goes on: a pure function of its rounds, with the reason.

use crate::ids::FindingId;
use crate::ledger::{Delta, Ledger};
use crate::policy::Policy;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What one round that needed rework left behind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundRecord {
    /// Which round.
    pub round: u32,
    /// Its open must-fix findings.
    pub must: BTreeSet<FindingId>,
    /// Every seat asked had answered.
    pub complete: bool,
    /// A seat said that patching will not do.
    pub fundamental: bool,
    /// What changed against the round before.
    pub delta: Delta,
}

/// A pattern that more rounds will not mend.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// Fixes undo each other and nobody is left to hear it.
    Contested(FindingId),
    /// Two rounds said that patching will not do.
    Fundamental,
    /// The maker cannot fix it.
    NotTheMakers(FindingId),
    /// The same region came back a third time.
    Region(String),
    /// Two fixes touched its code and did not cure it.
    SurvivedTouched(FindingId),
    /// Two fixes went by without touching its code.
    SurvivedUntouched(FindingId),
}

/// What the controller says about going on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Another revision.
    GoOn,
    /// Nothing moves.
    Stale,
    /// A person should look.
    Escalate(Pattern),
    /// The budget is spent.
    Cap,
}

const REGION_LIMIT: u32 = 3;
const SURVIVED_LIMIT: u32 = 2;

/// Go on, or why not. When several endings apply: stale, then escalate, then the cap.
pub fn next(policy: &Policy, ledger: &Ledger, series: &[RoundRecord], round: u32, rounds_max: u32) -> Next {
    if is_stale(series, policy.stale_limit) {
        return Next::Stale;
    }
    if let Some(pattern) = pattern(ledger, series) {
        return Next::Escalate(pattern);
    }
    if round >= rounds_max { Next::Cap } else { Next::GoOn }
}

fn is_stale(series: &[RoundRecord], limit: u32) -> bool {
    let wanted = limit as usize + 1;
    let Some(tail) = series.len().checked_sub(wanted).map(|from| &series[from..]) else { return false };
    tail.iter().all(|record| record.complete && record.must == tail[0].must)
}

fn pattern(ledger: &Ledger, series: &[RoundRecord]) -> Option<Pattern> {
    let open = || ledger.open();
    open()
        .find(|(_, entry)| entry.flipped)
        .map(|(id, _)| Pattern::Contested(id))
        .or_else(|| {
            let rounds = series.iter().filter(|record| record.fundamental).count();
            (rounds >= 2).then_some(Pattern::Fundamental)
        })
        .or_else(|| open().find(|(_, entry)| !entry.makers).map(|(id, _)| Pattern::NotTheMakers(id)))
        .or_else(|| reopened_region(ledger).map(Pattern::Region))
        .or_else(|| {
            open().find(|(_, entry)| entry.survived() >= SURVIVED_LIMIT).map(|(id, entry)| {
                if entry.survived_touched > 0 {
                    Pattern::SurvivedTouched(id)
                } else {
                    Pattern::SurvivedUntouched(id)
                }
            })
        })
}

fn reopened_region(ledger: &Ledger) -> Option<String> {
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    for (_, entry) in ledger.iter() {
        if let Some(region) = &entry.region {
            *counts.entry(region).or_insert(0) += entry.reopened;
        }
    }
    counts.into_iter().find(|(_, count)| *count >= REGION_LIMIT).map(|(region, _)| region.to_owned())
}
