//! Reviewers in their own words, from the notes of their launches: who each was, what it said, and why a try did not
//! count.
//!
//! A person who has to decide needs the answer itself and not only its findings. The words come from the journal, so
//! they are the same after the launch's folder is gone.

use crate::run_state::{LaunchNote, RunState};
use crate::tries::LostTry;
use tribunal_core::effect::EffectId;
use tribunal_core::finding::Source;
use tribunal_core::ids::{LoopId, Reviewer};
use tribunal_core::ledger::Entry;
use tribunal_view::spoken::{Identity, Spoken};

/// What the reviewers of a loop said, in order, with the tries that did not count.
pub fn of_loop(run_state: &RunState, id: &LoopId) -> Vec<Spoken> {
    let lost: Vec<(&Reviewer, &LostTry)> = run_state.tries.of_all_judged_rounds(id).collect();
    run_state
        .launches_of(id.as_str())
        .filter_map(|launch| {
            let (reviewer, nth) = judged(&launch.effect)?;
            // The fold knows why an answer did not count; the launch itself only knows why it failed.
            let lost = lost.iter().find(|(_, lost)| lost.effect.to_string() == launch.effect);
            let failed = launch.failed.map(|kind| words_of(&kind));
            Some(Spoken {
                reviewer: reviewer.to_owned(),
                round: launch.round,
                nth: nth_words(nth),
                lost: lost.map(|(_, lost)| lost.why.clone()).or(failed).unwrap_or_default(),
                identity: launch.identity.clone(),
                words: launch.words.clone(),
            })
        })
        .collect()
}

/// What the reviewers said in the last round of a loop.
pub fn of_last_round(run_state: &RunState, id: &LoopId) -> Vec<Spoken> {
    let mut all = of_loop(run_state, id);
    let last = all.iter().map(|spoken| spoken.round).max();
    all.retain(|spoken| Some(spoken.round) == last);
    all
}

/// Who the reviewers behind a finding were when it was first seen.
pub fn identities(run_state: &RunState, of: &LoopId, entry: &Entry) -> Vec<Identity> {
    let of_reviewer = |reviewer: &Reviewer| {
        let name = reviewer.as_str();
        let by = |launch: &&LaunchNote| judged(&launch.effect).is_some_and(|(reviewer, _)| reviewer == name);
        let mut said = run_state.launches_of(of.as_str()).filter(by).filter(|launch| launch.failed.is_none());
        let first = said.clone().find(|launch| launch.round == entry.first_round);
        // A carried finding was first seen in another loop, so this loop may have no launch of that round.
        first.or_else(|| said.next()).and_then(|launch| launch.identity.clone())
    };
    let reviewers = entry.by.iter().filter_map(|source| match source {
        Source::Reviewer(reviewer) => Some(reviewer),
        Source::Check(_) => None,
    });
    reviewers.filter_map(of_reviewer).collect()
}

/// The identity behind the last launch of an effect.
pub fn identity(run_state: &RunState, effect: &str) -> Option<Identity> {
    run_state.launches_for(effect).next_back()?.identity.clone()
}

/// The reviewer and the try in `01-01/task-1.1/e3/judge:wire#b2a`.
fn judged(effect: &str) -> Option<(&str, &str)> {
    effect.split_once("/judge:")?.1.split_once('#')
}

/// The try in words, for example `try 1, asked again`.
pub fn try_words(effect: &EffectId) -> String {
    nth_words(effect.n.to_string().trim_start_matches('#'))
}

/// The try in words: `b2a` is the second try of the fallback reviewer, asked again.
fn nth_words(nth: &str) -> String {
    let (nth, fallback) = nth.strip_prefix('b').map_or((nth, ""), |nth| (nth, "fallback, "));
    // ASCII digits, so the byte count is also a character boundary.
    let digits = nth.bytes().take_while(u8::is_ascii_digit).count();
    let again = if nth[digits..].starts_with('a') { ", asked again" } else { "" };
    format!("{fallback}try {}{again}", &nth[..digits])
}

fn words_of(kind: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(kind).ok();
    value.as_ref().and_then(|value| value.as_str()).unwrap_or("lost").replace('_', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_try_in_words() {
        for (effect, expect) in [
            ("01-01/task-1.1/e3/judge:wire#1", Some(("wire", "try 1"))),
            ("01-01/task-1.1/e3/judge:wire@2#b2a", Some(("wire@2", "fallback, try 2, asked again"))),
            ("01-01/task-1.1/e3/judge:wire#1a+1", Some(("wire", "try 1, asked again"))),
            ("01-01/task-1.1/e3/make:dev#1", None),
        ] {
            let found = judged(effect).map(|(reviewer, nth)| (reviewer, nth_words(nth)));
            assert_eq!(found, expect.map(|(reviewer, nth)| (reviewer, nth.to_owned())), "{effect}");
        }
    }
}
