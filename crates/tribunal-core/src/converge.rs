//! Whether a loop that needs rework goes on: a pure function of its rounds, with the pattern that says why not.
//! Nothing else decides this, and it never stops a loop that resolves twice what it breaks for its regions or its size.

use crate::ids::FindingId;
use crate::ledger::{Ledger, Mark};
use crate::policy::Policy;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What one round that needed rework left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoundRecord {
    /// Which round.
    pub round: u32,
    /// Its open must-fix findings, and what was new about each.
    pub must: BTreeMap<FindingId, Mark>,
    /// Every seat asked had answered.
    pub complete: bool,
    /// A seat said that patching will not do.
    pub fundamental: bool,
}

/// One round in counts of must-fix findings: what the rules on a whole series read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// Which round.
    pub round: u32,
    /// The earlier round that judged the same revision.
    pub repeats: Option<u32>,
    /// Open after the judging.
    pub open: u32,
    /// They are those of the round before, one for one.
    pub unchanged: bool,
    /// Every seat asked had answered.
    pub complete: bool,
    /// Open before and gone now.
    pub resolved: u32,
    /// Settled before, there again.
    pub reopened: u32,
    /// On lines the fix added.
    pub fix_induced: u32,
    /// On lines untouched since an earlier round.
    pub late: u32,
    /// The regions that came back, each as often as it did.
    pub back: Vec<String>,
    /// A fix put back what an earlier fix had taken out, and nobody knows of which finding.
    pub reversal: bool,
    /// A seat said that patching will not do.
    pub fundamental: bool,
}

impl Round {
    /// What the fix cost: new damage, and old damage that came back.
    pub fn broken(&self) -> u32 {
        self.fix_induced + self.reopened
    }

    fn is_healthy(&self) -> bool {
        self.resolved > 0 && 2 * self.broken() < self.resolved
    }
}

/// A pattern that more rounds will not mend.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// Fixes undo each other and nobody is left to hear it.
    Contested(FindingId),
    /// Fixes undid each other in these two rounds.
    Reversed(u32, u32),
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
    /// Two fixes in a row cured nothing.
    Idle(Stretch),
    /// The fixes break at least half of what they mend, and it does not shrink.
    Churn(Stretch),
    /// It shrinks, but for too long every second thing mended comes back.
    SlowChurn(Stretch),
}

/// What a stretch of rounds came to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Stretch {
    /// Its first round.
    pub from: u32,
    /// Its last round.
    pub to: u32,
    /// Open after the first.
    pub open_before: u32,
    /// Open after the last.
    pub open_after: u32,
    /// What its fixes resolved.
    pub resolved: u32,
    /// What its fixes broke or brought back.
    pub broken: u32,
}

/// What the controller says about going on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Another revision.
    GoOn,
    /// Both sides must be heard first.
    Hear,
    /// Nothing moves.
    Stale,
    /// A person should look.
    Escalate(Pattern),
    /// The budget is spent.
    Cap,
}

const REGION_LIMIT: usize = 3;
const SURVIVED_LIMIT: u32 = 2;
/// Re-reviews looked at: for fixes that mend nothing or break as much, and for those that end too slowly.
const CHURN: usize = 2;
const SLOW_CHURN: usize = 4;

/// Go on, or why not. When several endings apply: stale, then escalate, then the cap.
pub fn next(policy: &Policy, ledger: &Ledger, series: &[RoundRecord], round: u32, rounds_max: u32) -> Next {
    let rounds = rounds(ledger, series);
    if is_stale(&rounds, policy.stale_limit) {
        return Next::Stale;
    }
    if let Some(pattern) = pattern(ledger, &rounds) {
        return Next::Escalate(pattern);
    }
    if round >= rounds_max { Next::Cap } else { Next::GoOn }
}

/// What a series says by itself, without its findings: for rounds that were only counted.
pub fn read(rounds: &[Round], stale_limit: u32) -> Next {
    match rounds.last() {
        None | Some(Round { open: 0, .. }) => Next::GoOn,
        Some(_) if is_stale(rounds, stale_limit) => Next::Stale,
        Some(last) => reversed(rounds)
            .or_else(|| fundamental(rounds))
            .or_else(|| idle(rounds))
            .or_else(|| region(rounds))
            .or_else(|| churn(rounds))
            .or_else(|| slow_churn(rounds))
            .map_or(if last.reversal { Next::Hear } else { Next::GoOn }, Next::Escalate),
    }
}

/// The records in counts.
fn rounds(ledger: &Ledger, series: &[RoundRecord]) -> Vec<Round> {
    let before = std::iter::once(None).chain(series.iter().map(Some));
    series.iter().zip(before).map(|(record, before)| count(ledger, record, before)).collect()
}

fn count(ledger: &Ledger, record: &RoundRecord, before: Option<&RoundRecord>) -> Round {
    let marked = |mark| record.must.iter().filter(move |(_, m)| **m == mark).map(|(id, _)| *id);
    let many = |mark| u32::try_from(marked(mark).count()).unwrap_or(u32::MAX);
    let region = |id| ledger.get(id).and_then(|entry| entry.region.clone());
    let gone = |before: &RoundRecord| before.must.keys().filter(|id| !record.must.contains_key(id)).count();
    Round {
        round: record.round,
        repeats: None,
        open: u32::try_from(record.must.len()).unwrap_or(u32::MAX),
        unchanged: before.is_some_and(|before| before.must.keys().eq(record.must.keys())),
        complete: record.complete,
        resolved: u32::try_from(before.map_or(0, gone)).unwrap_or(u32::MAX),
        reopened: many(Mark::Reopened),
        fix_induced: many(Mark::FixInduced),
        late: many(Mark::Late),
        back: marked(Mark::Reopened).filter_map(region).collect(),
        reversal: false,
        fundamental: record.fundamental,
    }
}

/// The last rounds, so many re-reviews with the round before them.
fn tail(rounds: &[Round], re_reviews: usize) -> Option<&[Round]> {
    rounds.len().checked_sub(re_reviews + 1).map(|from| &rounds[from..])
}

fn is_stale(rounds: &[Round], limit: u32) -> bool {
    let still = |rounds: &[Round]| {
        rounds.iter().all(|round| round.complete) && rounds.iter().skip(1).all(|round| round.unchanged)
    };
    rounds.last().is_some_and(|last| last.repeats.is_some())
        || tail(rounds, limit as usize).is_some_and(still)
}

fn pattern(ledger: &Ledger, rounds: &[Round]) -> Option<Pattern> {
    let open = || ledger.open();
    open()
        .find(|(_, entry)| entry.flipped)
        .map(|(id, _)| Pattern::Contested(id))
        .or_else(|| fundamental(rounds))
        .or_else(|| open().find(|(_, entry)| !entry.makers).map(|(id, _)| Pattern::NotTheMakers(id)))
        .or_else(|| region(rounds))
        .or_else(|| {
            open().find(|(_, entry)| entry.survived() >= SURVIVED_LIMIT).map(|(id, entry)| {
                if entry.survived_touched > 0 {
                    Pattern::SurvivedTouched(id)
                } else {
                    Pattern::SurvivedUntouched(id)
                }
            })
        })
        .or_else(|| churn(rounds))
        .or_else(|| slow_churn(rounds))
}

fn fundamental(rounds: &[Round]) -> Option<Pattern> {
    (rounds.iter().filter(|round| round.fundamental).count() >= 2).then_some(Pattern::Fundamental)
}

fn reversed(rounds: &[Round]) -> Option<Pattern> {
    let (last, before) = rounds.split_last().filter(|(last, _)| last.reversal)?;
    let first = before.iter().rev().find(|round| round.reversal)?;
    Some(Pattern::Reversed(first.round, last.round))
}

/// Two fixes that cured nothing: whatever is carried survived both.
fn idle(rounds: &[Round]) -> Option<Pattern> {
    let rounds = tail(rounds, CHURN)?;
    let idle = rounds[1..].iter().all(|round| round.resolved == 0 && round.complete);
    (idle && rounds[0].open > 0).then(|| Pattern::Idle(stretch(rounds)))
}

fn region(rounds: &[Round]) -> Option<Pattern> {
    let re_reviews = rounds.get(1..)?;
    if re_reviews.iter().all(Round::is_healthy) {
        return None;
    }
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    for region in rounds.iter().flat_map(|round| &round.back) {
        *times.entry(region).or_insert(0) += 1;
    }
    times
        .into_iter()
        .find(|(_, times)| *times >= REGION_LIMIT)
        .map(|(name, _)| Pattern::Region(name.to_owned()))
}

fn churn(rounds: &[Round]) -> Option<Pattern> {
    let rounds = tail(rounds, CHURN)?;
    let sum = stretch(rounds);
    // What was there all along and seen late is no lack of progress.
    let late: u32 = rounds[1..].iter().map(|round| round.late).sum();
    let shrinks = sum.open_after.saturating_sub(late) < sum.open_before;
    (!shrinks && sum.broken > 0 && 2 * sum.broken >= sum.resolved).then_some(Pattern::Churn(sum))
}

fn slow_churn(rounds: &[Round]) -> Option<Pattern> {
    let rounds = tail(rounds, SLOW_CHURN)?;
    let sum = stretch(rounds);
    let steady = |round: &Round| round.broken() > 0 && 3 * round.broken() >= round.resolved;
    (rounds[1..].iter().all(steady) && 2 * sum.broken >= sum.resolved).then_some(Pattern::SlowChurn(sum))
}

/// What the re-reviews of a tail came to. A tail is never empty.
fn stretch(rounds: &[Round]) -> Stretch {
    let (first, last) = (&rounds[0], &rounds[rounds.len() - 1]);
    Stretch {
        from: first.round,
        to: last.round,
        open_before: first.open,
        open_after: last.open,
        resolved: rounds[1..].iter().map(|round| round.resolved).sum(),
        broken: rounds[1..].iter().map(Round::broken).sum(),
    }
}
