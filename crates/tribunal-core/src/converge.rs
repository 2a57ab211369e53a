//! Decides whether a loop that needs rework goes on: a pure function of its rounds, with the pattern that says why
//! not. Nothing else decides this; `cargo xtask converge` drives the same function through the loop machine.
//!
//! A round is healthy if it resolves something and breaks less than half as much. A healthy loop is never stopped for
//! its size, its regions, or findings that its fixes have not reached yet. The rules were measured on recorded loops;
//! see `docs/design/convergence.md` before changing a number.

use crate::finding::{Severity, Source};
use crate::ids::FindingId;
use crate::ledger::{Entry, Ledger, Mark};
use crate::policy::Policy;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What one round that needed rework left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoundRecord {
    /// The number of the round.
    pub round: u32,
    /// Its open must-fix findings, and what was new about each.
    pub must: BTreeMap<FindingId, Mark>,
    /// Those of them that at least two fixes did not touch, with the number of fixes. The next rework names them
    /// first.
    pub left: BTreeMap<FindingId, u32>,
    /// Whether every reviewer that was asked had answered.
    pub complete: bool,
    /// Whether a reviewer said that patching is not enough.
    pub fundamental: bool,
}

/// The exhaustive pass that a series of rounds has had.
///
/// There is at most one per series. It answers the question whether reviewers had simply not looked everywhere; a
/// second pass would ask the same question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    /// The round it was held in.
    pub round: u32,
    /// How many must-fix findings were open before it.
    pub open: u32,
}

/// Everything the decision is made from.
#[derive(Clone, Copy, Debug)]
pub struct Course<'a> {
    /// How the loop judges.
    pub policy: &'a Policy,
    /// The findings of the loop.
    pub ledger: &'a Ledger,
    /// Its rounds that needed rework, in order.
    pub series: &'a [RoundRecord],
    /// The exhaustive pass, if there was one.
    pub pass: Option<Pass>,
    /// The round that was just judged.
    pub round: u32,
    /// How many rounds the loop may have.
    pub rounds_max: u32,
}

/// One round in counts of must-fix findings, as the rules on a whole series read it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// The number of the round.
    pub round: u32,
    /// Open after the review.
    pub open: u32,
    /// The open findings are those of the round before, one for one.
    pub unchanged: bool,
    /// Whether every reviewer that was asked had answered.
    pub complete: bool,
    /// Open in the round before and gone now.
    pub resolved: u32,
    /// Settled before and there again.
    pub reopened: u32,
    /// On lines that the fix added.
    pub fix_induced: u32,
    /// On lines untouched since an earlier round.
    pub late: u32,
    /// The late ones that only reviewers hold. A check that shows its next errors once the first are gone is not a
    /// reviewer that samples.
    pub missed: u32,
    /// The regions that came back, each as often as it did.
    pub back: Vec<String>,
    /// Whether a reviewer said that patching is not enough.
    pub fundamental: bool,
}

impl Round {
    /// What the fix cost: new damage, and old damage that came back.
    pub fn broken(&self) -> u32 {
        self.fix_induced + self.reopened
    }

    fn is_healthy(&self) -> bool {
        // Strictly more: a round that resolves nothing is not healthy.
        self.resolved > 2 * self.broken()
    }

    fn turns_over(&self) -> bool {
        // Without late findings nothing turns over, even if nothing was resolved.
        self.missed > 0 && 2 * self.missed >= self.resolved
    }
}

/// A pattern that more rounds will not cure.
///
/// The pattern is shown to the person who is asked, so each variant names what it is about: a finding, a region, or a
/// stretch of rounds with its counts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// Fixes undo each other, and nobody is left to hear it.
    Contested(FindingId),
    /// Two rounds said that patching is not enough.
    Fundamental,
    /// The builder cannot fix it.
    NotTheBuilders(FindingId),
    /// The same region came back a third time.
    Region(String),
    /// Two fixes changed its code, and it is still there.
    SurvivedTouched(FindingId),
    /// Fixes did not touch its code, although the rework named it first or the loop is not healthy.
    SurvivedUntouched(FindingId),
    /// Reviewers still found old blockers after an exhaustive pass.
    Turnover(Stretch),
    /// The fixes break at least half of what they fix, and the number does not shrink.
    Churn(Stretch),
    /// The number shrinks, but for too long every second fix has come back.
    SlowChurn(Stretch),
    /// More is open after each round than before, not counting what was seen late.
    Growth(Stretch),
}

/// The counts of a stretch of rounds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Stretch {
    /// Its first round.
    pub from: u32,
    /// Its last round.
    pub to: u32,
    /// How many findings were open after the first round.
    pub open_before: u32,
    /// How many findings were open after the last round.
    pub open_after: u32,
    /// How many findings its fixes resolved.
    pub resolved: u32,
    /// How many findings its fixes caused or brought back.
    pub broken: u32,
    /// How many findings its reviewers raised on code that was there before.
    pub late: u32,
}

/// The controller's decision about going on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// The builder makes another revision.
    GoOn,
    /// One exhaustive pass comes first: reviewers find other old faults each round.
    Exhaust,
    /// Nothing moves any more.
    Stale,
    /// A person should look.
    Escalate(Pattern),
    /// The budget of rounds is spent.
    Cap,
}

/// How often a region may come back before it escalates.
const REGION_LIMIT: usize = 3;
/// How many fixes a finding may survive before it escalates.
const SURVIVED_LIMIT: u32 = 2;
/// How many re-reviews are looked at for fixes that cure nothing or break as much.
const CHURN: usize = 2;
/// How many re-reviews are looked at for fixes that make progress too slowly.
const SLOW_CHURN: usize = 4;

/// Go on, or why not. If several endings apply: stale first, then escalate, then the cap.
///
/// The order decides what a person reads. A pattern says more than "the budget is spent", so it is looked for even in
/// the last round.
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
    // Last: a pass costs as much as a review, so it is held only in a loop that would go on anyway.
    if course.pass.is_none() && turnover(&rounds) { Next::Exhaust } else { Next::GoOn }
}

/// The records in counts, one for each round.
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
        // By ids alone: a finding with another severity is still the same finding.
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

/// Whether a check holds the finding, alone or together with reviewers.
fn by_check(entry: &Entry) -> bool {
    entry.by.iter().any(|source| matches!(source, Source::Check(_)))
}

/// The regions that came back in the last of these rounds, counted over all their findings.
///
/// A region counts once for each finding that was settled before and is there again. It also counts once if it was
/// clean in the round before, had an open finding earlier, and has a new one now. A finding on code that nobody
/// touched was there all along and brings nothing back.
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
    // A region that was open in the last round has not been away, and one that is counted as reopened must not count
    // twice.
    for seen in earlier.last().map(all).unwrap_or_default().iter().chain(&back) {
        gone.remove(seen);
    }
    let fresh: BTreeSet<String> = of(&[Mark::New, Mark::FixInduced]).into_iter().collect();
    back.extend(fresh.intersection(&gone).cloned());
    back
}

/// The last rounds: so many re-reviews, with the round before them.
fn tail(rounds: &[Round], re_reviews: usize) -> Option<&[Round]> {
    rounds.len().checked_sub(re_reviews + 1).map(|from| &rounds[from..])
}

/// Whether the same findings stood in all of the last rounds.
///
/// Only rounds with a complete panel count. If a reviewer was missing, an unchanged set may just mean that nobody
/// looked.
fn is_stale(rounds: &[Round], limit: u32) -> bool {
    let still = |rounds: &[Round]| {
        rounds.iter().all(|round| round.complete) && rounds.iter().skip(1).all(|round| round.unchanged)
    };
    tail(rounds, limit as usize).is_some_and(still)
}

/// The first pattern that applies, in the order of the table in `docs/design/convergence.md`.
fn pattern(course: &Course<'_>, rounds: &[Round]) -> Option<Pattern> {
    let open = || course.ledger.open();
    open()
        .find(|(_, entry)| entry.flipped)
        .map(|(id, _)| Pattern::Contested(id))
        .or_else(|| fundamental(rounds))
        // Before the patterns of rounds: more rounds cannot help a finding that nobody here can fix.
        .or_else(|| open().find(|(_, entry)| !entry.builders).map(|(id, _)| Pattern::NotTheBuilders(id)))
        .or_else(|| region(rounds))
        .or_else(|| survived(course, rounds))
        .or_else(|| moving_goalposts(course, rounds))
        .or_else(|| churn(rounds))
        .or_else(|| slow_churn(rounds))
        .or_else(|| growth(rounds))
}

/// Two rounds said so, not necessarily in a row.
fn fundamental(rounds: &[Round]) -> Option<Pattern> {
    (rounds.iter().filter(|round| round.fundamental).count() >= 2).then_some(Pattern::Fundamental)
}

/// A region that came back for the third time, in a loop that is not healthy throughout.
fn region(rounds: &[Round]) -> Option<Pattern> {
    // The first round has no fix before it, so it cannot be healthy or unhealthy.
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

/// A finding that two fixes did not cure. Two fixes that touched its code are an escalation in every loop.
///
/// A finding that was merely left waits its turn while the loop is healthy. It is named first in the next rework, and
/// escalates only if that rework did none of those named first.
fn survived(course: &Course<'_>, rounds: &[Round]) -> Option<Pattern> {
    let twice = || course.ledger.open().filter(|(_, entry)| entry.survived() >= SURVIVED_LIMIT);
    if let Some((id, _)) = twice().find(|(_, entry)| entry.survived_touched >= SURVIVED_LIMIT) {
        return Some(Pattern::SurvivedTouched(id));
    }
    if rounds.last().is_some_and(Round::is_healthy) {
        return left_again(course.series).map(Pattern::SurvivedUntouched);
    }
    twice().next().map(|(id, entry)| match entry.survived_touched {
        // One touch is enough to call it touched: somebody tried.
        0 => Pattern::SurvivedUntouched(id),
        _ => Pattern::SurvivedTouched(id),
    })
}

/// The first of the findings that the last rework named first, if it touched none of them.
fn left_again(series: &[RoundRecord]) -> Option<FindingId> {
    let [.., before, last] = series else { return None };
    let left = |(id, times): (&FindingId, &u32)| last.left.get(id).is_some_and(|now| now > times);
    // All of them: a rework that touched at least one has begun on the list.
    before.left.iter().all(left).then(|| before.left.keys().next().copied())?
}

/// Whether, in two re-reviews running, reviewers found at least half as many old faults as were resolved, and nothing
/// shrank.
fn turnover(rounds: &[Round]) -> bool {
    let Some(rounds) = tail(rounds, CHURN) else { return false };
    rounds[1..].iter().all(Round::turns_over) && rounds[CHURN].open >= rounds[0].open
}

/// After the exhaustive pass a late blocker goes to a person, because the pass missed it too.
///
/// A loop that shrinks below what was open before the pass will end by itself, so it is left alone.
fn moving_goalposts(course: &Course<'_>, rounds: &[Round]) -> Option<Pattern> {
    let pass = course.pass?;
    let (last, record) = (rounds.last()?, course.series.last()?);
    let blocks = |(id, mark): (&FindingId, &Mark)| {
        let entry = course.ledger.get(*id);
        *mark == Mark::Late
            && entry.is_some_and(|entry| entry.severity == Severity::Blocker && !by_check(entry))
    };
    let since = rounds.iter().position(|round| round.round == pass.round)?;
    // Or it has stopped shrinking: late findings replace what is resolved, and no fewer are open than a round before.
    let stands = last.open >= pass.open || (last.turns_over() && last.open >= rounds[rounds.len() - 2].open);
    // Late blockers of the pass itself are what it was held for.
    let missed = last.round > pass.round && record.must.iter().any(blocks);
    (missed && stands).then(|| Pattern::Turnover(stretch(&rounds[since..])))
}

/// Over two fixes nothing shrank, and they broke at least half of what they resolved.
fn churn(rounds: &[Round]) -> Option<Pattern> {
    let rounds = tail(rounds, CHURN)?;
    let sum = stretch(rounds);
    // Findings that were there all along and seen late are not a lack of progress.
    let late: u32 = rounds[1..].iter().map(|round| round.late).sum();
    let shrinks = sum.open_after.saturating_sub(late) < sum.open_before;
    // Without damage a stretch that does not shrink is stale or growth, which have rules of their own.
    (!shrinks && sum.broken > 0 && 2 * sum.broken >= sum.resolved).then_some(Pattern::Churn(sum))
}

/// Four fixes, each of which broke a third of what it resolved, and half of it together.
fn slow_churn(rounds: &[Round]) -> Option<Pattern> {
    let rounds = tail(rounds, SLOW_CHURN)?;
    let sum = stretch(rounds);
    // Every round must take part: one bad fix in four is not a pattern.
    let steady = |round: &Round| round.broken() > 0 && 3 * round.broken() >= round.resolved;
    (rounds[1..].iter().all(steady) && 2 * sum.broken >= sum.resolved).then_some(Pattern::SlowChurn(sum))
}

/// Both fixes left more open than they found, although none of it is marked as theirs.
fn growth(rounds: &[Round]) -> Option<Pattern> {
    let rounds = tail(rounds, CHURN)?;
    let grows = |pair: &[Round]| pair[1].open.saturating_sub(pair[1].late) > pair[0].open;
    rounds.windows(2).all(grows).then(|| Pattern::Growth(stretch(rounds)))
}

/// The counts of a tail's re-reviews. A tail is never empty.
fn stretch(rounds: &[Round]) -> Stretch {
    let (first, last) = (&rounds[0], &rounds[rounds.len() - 1]);
    Stretch {
        from: first.round,
        to: last.round,
        open_before: first.open,
        open_after: last.open,
        // Without the first round: it is the state before these fixes.
        resolved: rounds[1..].iter().map(|round| round.resolved).sum(),
        broken: rounds[1..].iter().map(Round::broken).sum(),
        late: rounds[1..].iter().map(|round| round.missed).sum(),
    }
}
