//! Whether a loop that needs rework goes on: a pure function of its rounds, with the pattern that says why not.
//! Nothing else decides this: `cargo xtask converge` drives the same function through the loop machine.
//!
//! A loop is healthy where a round resolves something and breaks less than half as much. Such a loop is never stopped
//! for its size, its regions, or findings that its fixes have not reached yet.

use crate::finding::{Severity, Source};
use crate::ids::FindingId;
use crate::ledger::{Entry, Ledger, Mark};
use crate::policy::Policy;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What one round that needed rework left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoundRecord {
    /// Which round.
    pub round: u32,
    /// Its open must-fix findings, and what was new about each.
    pub must: BTreeMap<FindingId, Mark>,
    /// Those among them that two fixes or more did not touch, with how many: the next rework names them first.
    pub left: BTreeMap<FindingId, u32>,
    /// Every seat asked had answered.
    pub complete: bool,
    /// A seat said that patching will not do.
    pub fundamental: bool,
}

/// The exhaustive pass that a series of rounds has had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    /// The round it was held in.
    pub round: u32,
    /// Must-fix findings that were open before it.
    pub open: u32,
}

/// Everything the decision is made from.
#[derive(Clone, Copy, Debug)]
pub struct Course<'a> {
    /// How the loop judges.
    pub policy: &'a Policy,
    /// Its findings.
    pub ledger: &'a Ledger,
    /// Its rounds that needed rework, in order.
    pub series: &'a [RoundRecord],
    /// The exhaustive pass, if there was one.
    pub pass: Option<Pass>,
    /// The round that was just judged.
    pub round: u32,
    /// Rounds at most.
    pub rounds_max: u32,
}

/// One round in counts of must-fix findings: what the rules on a whole series read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// Which round.
    pub round: u32,
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
    /// Those of the late ones that only reviewers hold. A check that shows its next errors once the first are gone
    /// is not a reviewer that samples.
    pub missed: u32,
    /// The regions that came back, each as often as it did.
    pub back: Vec<String>,
    /// A seat said that patching will not do.
    pub fundamental: bool,
}

impl Round {
    /// What the fix cost: new damage, and old damage that came back.
    pub fn broken(&self) -> u32 {
        self.fix_induced + self.reopened
    }

    fn is_healthy(&self) -> bool {
        self.resolved > 2 * self.broken()
    }

    fn turns_over(&self) -> bool {
        self.missed > 0 && 2 * self.missed >= self.resolved
    }
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
    /// Two fixes went by, its code was changed, and it is still there.
    SurvivedTouched(FindingId),
    /// Fixes went by without touching its code, although the rework named it first or the loop is not healthy.
    SurvivedUntouched(FindingId),
    /// Reviewers went on to find old blockers after an exhaustive pass.
    Turnover(Stretch),
    /// The fixes break at least half of what they mend, and it does not shrink.
    Churn(Stretch),
    /// It shrinks, but for too long every second thing mended comes back.
    SlowChurn(Stretch),
    /// More is open after each round than before, not counting what was seen late.
    Growth(Stretch),
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
    /// What its reviewers found on code that was there before.
    pub late: u32,
}

/// What the controller says about going on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Another revision.
    GoOn,
    /// One exhaustive pass first: reviewers find other old faults each round.
    Exhaust,
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
pub fn next(course: &Course<'_>) -> Next {
    let rounds = rounds(course.ledger, course.series);
    if is_stale(&rounds, course.policy.stale_limit) {
        return Next::Stale;
    }
    if let Some(pattern) = pattern(course, &rounds) {
        return Next::Escalate(pattern);
    }
    if course.round >= course.rounds_max {
        return Next::Cap;
    }
    if course.pass.is_none() && turnover(&rounds) { Next::Exhaust } else { Next::GoOn }
}

/// The records in counts.
pub fn rounds(ledger: &Ledger, series: &[RoundRecord]) -> Vec<Round> {
    (0..series.len()).map(|at| count(ledger, &series[..=at])).collect()
}

/// The last of these records in counts. There is at least one.
fn count(ledger: &Ledger, series: &[RoundRecord]) -> Round {
    let (record, before) = (&series[series.len() - 1], series.iter().rev().nth(1));
    let marked = |mark| record.must.iter().filter(move |(_, m)| **m == mark).map(|(id, _)| *id);
    let many = |ids: &mut dyn Iterator<Item = FindingId>| u32::try_from(ids.count()).unwrap_or(u32::MAX);
    let reviewers = |id: &FindingId| ledger.get(*id).is_some_and(|entry| !by_check(entry));
    let gone = before.into_iter().flat_map(|before| before.must.keys().copied());
    Round {
        round: record.round,
        open: many(&mut record.must.keys().copied()),
        unchanged: before.is_some_and(|before| before.must.keys().eq(record.must.keys())),
        complete: record.complete,
        resolved: many(&mut gone.filter(|id| !record.must.contains_key(id))),
        reopened: many(&mut marked(Mark::Reopened)),
        fix_induced: many(&mut marked(Mark::FixInduced)),
        late: many(&mut marked(Mark::Late)),
        missed: many(&mut marked(Mark::Late).filter(reviewers)),
        back: back(ledger, series),
        fundamental: record.fundamental,
    }
}

fn by_check(entry: &Entry) -> bool {
    entry.by.iter().any(|source| matches!(source, Source::Check(_)))
}

/// The regions that came back in the last of these rounds, counted over all their findings: for each one that was
/// settled before, and once where the region was clean in the round before, had an open finding earlier and has a
/// new one now. A finding on code that nobody touched was there all along and brings nothing back.
fn back(ledger: &Ledger, series: &[RoundRecord]) -> Vec<String> {
    let Some((record, earlier)) = series.split_last() else { return Vec::new() };
    let region = |id: &FindingId| ledger.get(*id).and_then(|entry| entry.region.clone());
    let all = |record: &RoundRecord| record.must.keys().filter_map(region).collect::<BTreeSet<_>>();
    let of = |marks: &[Mark]| {
        let marked = record.must.iter().filter(|(_, mark)| marks.contains(mark));
        marked.filter_map(|(id, _)| region(id)).collect::<Vec<_>>()
    };
    let mut back = of(&[Mark::Reopened]);
    let mut gone: BTreeSet<String> = earlier.iter().flat_map(all).collect();
    for seen in earlier.last().map(all).unwrap_or_default().iter().chain(&back) {
        gone.remove(seen);
    }
    let fresh: BTreeSet<String> = of(&[Mark::New, Mark::FixInduced]).into_iter().collect();
    back.extend(fresh.intersection(&gone).cloned());
    back
}

/// The last rounds, so many re-reviews with the round before them.
fn tail(rounds: &[Round], re_reviews: usize) -> Option<&[Round]> {
    rounds.len().checked_sub(re_reviews + 1).map(|from| &rounds[from..])
}

fn is_stale(rounds: &[Round], limit: u32) -> bool {
    let still = |rounds: &[Round]| {
        rounds.iter().all(|round| round.complete) && rounds.iter().skip(1).all(|round| round.unchanged)
    };
    tail(rounds, limit as usize).is_some_and(still)
}

fn pattern(course: &Course<'_>, rounds: &[Round]) -> Option<Pattern> {
    let open = || course.ledger.open();
    open()
        .find(|(_, entry)| entry.flipped)
        .map(|(id, _)| Pattern::Contested(id))
        .or_else(|| fundamental(rounds))
        .or_else(|| open().find(|(_, entry)| !entry.makers).map(|(id, _)| Pattern::NotTheMakers(id)))
        .or_else(|| region(rounds))
        .or_else(|| survived(course, rounds))
        .or_else(|| moving_goalposts(course, rounds))
        .or_else(|| churn(rounds))
        .or_else(|| slow_churn(rounds))
        .or_else(|| growth(rounds))
}

fn fundamental(rounds: &[Round]) -> Option<Pattern> {
    (rounds.iter().filter(|round| round.fundamental).count() >= 2).then_some(Pattern::Fundamental)
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

/// A finding that two fixes did not cure. Two that touched its code are an escalation in every loop. One that was
/// merely left waits its turn while the loop is healthy; it is named first in the next rework, and escalates only
/// where that rework then did none of those named first.
fn survived(course: &Course<'_>, rounds: &[Round]) -> Option<Pattern> {
    let twice = || course.ledger.open().filter(|(_, entry)| entry.survived() >= SURVIVED_LIMIT);
    if let Some((id, _)) = twice().find(|(_, entry)| entry.survived_touched >= SURVIVED_LIMIT) {
        return Some(Pattern::SurvivedTouched(id));
    }
    if rounds.last().is_some_and(Round::is_healthy) {
        return left_again(course.series).map(Pattern::SurvivedUntouched);
    }
    twice().next().map(|(id, entry)| match entry.survived_touched {
        0 => Pattern::SurvivedUntouched(id),
        _ => Pattern::SurvivedTouched(id),
    })
}

/// The first of those that the last rework named first, where it touched none of them.
fn left_again(series: &[RoundRecord]) -> Option<FindingId> {
    let [.., before, last] = series else { return None };
    let left = |(id, times): (&FindingId, &u32)| last.left.get(id).is_some_and(|now| now > times);
    before.left.iter().all(left).then(|| before.left.keys().next().copied())?
}

/// In two re-reviews running, reviewers found at least half as many old faults as were resolved, and nothing shrank.
fn turnover(rounds: &[Round]) -> bool {
    let Some(rounds) = tail(rounds, CHURN) else { return false };
    rounds[1..].iter().all(Round::turns_over) && rounds[CHURN].open >= rounds[0].open
}

/// After the exhaustive pass a late blocker goes to a person: the pass missed it too. A loop that shrinks below what
/// was open before the pass ends by itself, and is left to.
fn moving_goalposts(course: &Course<'_>, rounds: &[Round]) -> Option<Pattern> {
    let pass = course.pass?;
    let (last, record) = (rounds.last()?, course.series.last()?);
    let blocks = |(id, mark): (&FindingId, &Mark)| {
        let entry = course.ledger.get(*id);
        *mark == Mark::Late
            && entry.is_some_and(|entry| entry.severity == Severity::Blocker && !by_check(entry))
    };
    let since = rounds.iter().position(|round| round.round == pass.round)?;
    let stands = last.open >= pass.open || (last.turns_over() && last.open >= rounds[rounds.len() - 2].open);
    let missed = last.round > pass.round && record.must.iter().any(blocks);
    (missed && stands).then(|| Pattern::Turnover(stretch(&rounds[since..])))
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

/// Both fixes left more open than they found, although nothing of it is marked as theirs.
fn growth(rounds: &[Round]) -> Option<Pattern> {
    let rounds = tail(rounds, CHURN)?;
    let grows = |pair: &[Round]| pair[1].open.saturating_sub(pair[1].late) > pair[0].open;
    rounds.windows(2).all(grows).then(|| Pattern::Growth(stretch(rounds)))
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
        late: rounds[1..].iter().map(|round| round.missed).sum(),
    }
}
