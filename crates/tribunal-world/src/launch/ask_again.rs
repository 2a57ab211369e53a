//! What a reviewer is told when its answer did not count and it is asked again, and what an answer without a verdict
//! had named.
//!
//! A reviewer that is only told "again" tends to repeat itself. So it is shown its own answer, why that did not count,
//! and which parts could not be read.

use tribunal_agent::Outcome;
use tribunal_core::effect::EffectId;
use tribunal_core::finding::{Claim, UnreadPart};
use tribunal_core::ids::{FindingId, Reviewer};
use tribunal_core::review_loop::{Failure, FailureKind, Loop};
use tribunal_engine::run_state::{LaunchNote, RunState};
use tribunal_engine::tries::LostTry;
use tribunal_findings::Intake;
use tribunal_view::plain;
use tribunal_view::prompt::{ANSWER_MAX, Again, Earlier, FindingLine};

/// How many findings of an answer without a verdict are kept.
const NAMED_MAX: usize = 30;
const NAMED_TEXT_MAX: usize = 600;

/// The failure for an answer without a verdict.
///
/// The findings in it are kept as unread parts, so that the same reviewer does not approve over them when it is asked
/// again.
pub(crate) fn without_verdict(intake: &Intake) -> Failure {
    let why = intake.unread.last().map_or("there is no verdict in it", |unread| unread.why.as_str());
    let doubts = intake.doubts().map(|unread| part(&unread.text, &unread.why));
    // A suggestion is no reason to withhold an approval.
    let claims = intake.findings.iter().filter(|claim| claim.severity.must_fix());
    let claims = claims.map(|claim| part(&named(claim), "it came without a verdict"));
    let unread = doubts.chain(claims).take(NAMED_MAX).collect();
    Failure { unread, ..Failure::new(FailureKind::Garbled, why) }
}

fn part(text: &str, why: &str) -> UnreadPart {
    UnreadPart { text: plain::clipped(text, NAMED_TEXT_MAX), why: why.to_owned() }
}

fn named(claim: &Claim) -> String {
    let place = match (&claim.file, claim.line) {
        (Some(file), Some(line)) => format!("{file}:{line} "),
        (Some(file), None) => format!("{file} "),
        (None, _) => String::new(),
    };
    format!("[{}] {place}{}", claim.severity, claim.claim)
}

/// A reviewer's answer, as it is kept with its launch.
///
/// The secret word of that launch is taken out, because it would be a wrong one in the prompt of another launch.
pub(crate) fn own_words(outcome: &Outcome, words: &str, word: Option<&str>) -> String {
    let text = outcome.final_text.as_deref().filter(|text| !text.trim().is_empty()).unwrap_or(words);
    match word {
        Some(word) => plain::capped(&text.replace(word, "<word>"), ANSWER_MAX),
        None => plain::capped(text, ANSWER_MAX),
    }
}

/// What a reviewer is told about the tries before this one.
pub(crate) struct Told {
    pub(crate) again: Option<Again>,
    pub(crate) earlier: Vec<Earlier>,
}

/// Splits the lost tries of this round into the one that is asked again and all others.
pub(crate) fn told(
    run_state: &RunState,
    review_loop: &Loop,
    reviewer: &Reviewer,
    effect: &EffectId,
    put: &[FindingId],
) -> Told {
    // An answer about another part of the change says nothing about this part.
    let of_part = |one: &&LostTry| one.effect.n.part == effect.n.part;
    let lost: Vec<&LostTry> = run_state.tries.of(review_loop.id(), reviewer).iter().filter(of_part).collect();
    let own = |one: &LostTry| one.effect.n.backup == effect.n.backup;
    // The fallback reviewer is not blamed for the tries of the reviewer it stands in for.
    let asked = lost.iter().rposition(|one| own(one) && one.unusable.is_some()).filter(|_| effect.n.again);
    let again = asked.and_then(|at| {
        let one = lost[at];
        Some(Again {
            why: one.unusable?,
            answer: words_of(run_state, &one.effect),
            unread: one.unread.clone(),
            left_out: put.iter().filter(|id| !one.answered.contains(id)).copied().collect(),
            became: became(review_loop, reviewer, one),
            refused: one.refused.clone(),
        })
    });
    let others = lost.iter().enumerate().filter(|(at, _)| Some(*at) != asked);
    let earlier = others.map(|(_, one)| Earlier {
        other: !own(one),
        why: one.why.clone(),
        answer: words_of(run_state, &one.effect),
        unread: one.unread.clone(),
    });
    Told { again, earlier: earlier.collect() }
}

/// The words of a launch's answer; empty where it gave none.
pub(crate) fn words_of(run_state: &RunState, effect: &EffectId) -> String {
    let name = effect.to_string();
    let note = |launch: &&LaunchNote| launch.effect == name;
    run_state.launches.iter().rev().find(note).map(|launch| launch.words.clone()).unwrap_or_default()
}

/// What became of the findings that a reviewer raised or answered in this round.
fn became(review_loop: &Loop, reviewer: &Reviewer, lost: &LostTry) -> Vec<String> {
    let of_now = |id: &FindingId, first: u32| first == review_loop.round() || lost.answered.contains(id);
    let entries = review_loop
        .ledger()
        .iter()
        .filter(|(id, entry)| entry.is_of(reviewer) && of_now(id, entry.first_round));
    entries
        .map(|(id, entry)| format!("{}: {}", FindingLine::of(id, entry).text(), entry.fate.word()))
        .collect()
}

/// What a builder that runs again is told about its last run: how it ended, and what it said.
pub(crate) fn last_run(run_state: &RunState, review_loop: &Loop, effect: &EffectId) -> String {
    // A first attempt has no run before it.
    if effect.n.fails == 0 && !effect.n.backup {
        return String::new();
    }
    let begins = format!("{}/e{}/{}#", review_loop.id(), effect.entry, effect.step);
    let last = run_state.launches.iter().rev().find(|launch| launch.effect.starts_with(&begins));
    let step = format!("{}: ", effect.step);
    let lost = run_state.lost.get(review_loop.id().as_str()).and_then(|lost| lost.strip_prefix(&step));
    let failed = last.is_none_or(|launch| launch.failed.is_some());
    let how = match lost.filter(|lost| failed && !lost.trim().is_empty()) {
        Some(lost) => format!("The run before this one was lost: {}", plain::clipped(lost, 600)),
        None if failed => "The run before this one was lost.".to_owned(),
        None => "The run before this one ended and did not report its task done.".to_owned(),
    };
    match last.map(|launch| launch.summary.trim()).filter(|said| !said.is_empty()) {
        Some(said) => format!("{how}\nIt said: {said}"),
        None => how,
    }
}
