//! What a committed fact means for the table of what was reached. It judges nothing.

use super::laws::use_word;
use super::tally::Tally;
use tribunal_core::converge::Pattern;
use tribunal_core::effect::{EffectId, Step};
use tribunal_core::held::HeldChoice;
use tribunal_core::panel::{Ruling, Unusable};
use tribunal_core::policy::{Policy, Use};
use tribunal_core::review_loop::{FailureKind, LoopEvent, Offer, Why};
use tribunal_core::run::{Job, LaneOffer, Refusal, RunEvent, Was};
use tribunal_engine::{Fact, Note, RunState};

/// Counts one fact; `run state` has it folded in.
pub fn count(tally: &mut Tally, run_state: &RunState, fact: &Fact) {
    match fact {
        Fact::Run(event) => count_run(tally, event),
        Fact::Loop(id, event) => {
            if let (LoopEvent::Ended { outcome, .. }, Some(review_loop)) = (event, run_state.loops.get(id)) {
                tally.saw("outcome", format!("{}: {}", use_word(id, review_loop.policy()), outcome.word()));
                review_loop.ledger().iter().for_each(|(_, entry)| tally.saw("fate", entry.fate.word()));
            }
            if let LoopEvent::Failed { effect, .. } = event {
                count_unheard(tally, run_state, effect);
            }
            count_loop(tally, event);
        }
        Fact::Note(Note::Ignored { .. }) => tally.saw("fact", "ignored report"),
        Fact::Note(_) => {}
    }
}

/// A hearing whose last attempt was lost.
fn count_unheard(tally: &mut Tally, run_state: &RunState, effect: &EffectId) {
    let Step::Hear(_) = effect.step else { return };
    let id = tribunal_core::ids::LoopId::new(effect.of.as_str());
    let last = |max: u32| effect.n.fails + 1 >= max;
    if run_state.loops.get(&id).is_some_and(|review_loop| last(review_loop.policy().attempts_max)) {
        tally.saw("hearing", "given up");
    }
}

/// By which rule of the policy a loop is judged.
fn rule(policy: &Policy) -> &'static str {
    match (policy.of, policy.reviewers.is_empty(), policy.approval) {
        (Use::Plan, _, true) => "a person approves the plan",
        (Use::Phase, true, true) => "nobody reviews, a person decides",
        (Use::Phase, false, _) if policy.unattended => "a reviewer for a polish",
        (_, true, _) => "checks alone",
        (_, false, _) => "reviewers",
    }
}

fn count_loop(tally: &mut Tally, event: &LoopEvent) {
    match event {
        LoopEvent::Opened(opened) => tally.saw("policy", rule(&opened.policy)),
        LoopEvent::Cleared { .. } => tally.saw("fact", "cleared"),
        LoopEvent::Iterated { .. } => tally.saw("fact", "iterated"),
        LoopEvent::Joined { .. } => tally.saw("fact", "joined"),
        LoopEvent::Confirming => tally.saw("fact", "confirming"),
        LoopEvent::ExhaustiveOrdered { .. } => tally.saw("fact", "exhaustive pass"),
        LoopEvent::Failed { failure, .. } => tally.saw("lost attempt", kind(failure.kind)),
        LoopEvent::AskedAgain { why, .. } => tally.saw(
            "asked again",
            match why {
                Unusable::Incomplete => "incomplete",
                Unusable::Bare => "bare",
                Unusable::Groundless => "groundless",
                Unusable::Unread => "unread",
                Unusable::Flipped => "flipped",
                Unusable::Unsettled => "unsettled",
                Unusable::Wordless => "wordless",
            },
        ),
        LoopEvent::Answered { shown, .. } => {
            tally.saw("shown", if shown.parts > 1 { "in parts" } else { "at once" });
        }
        LoopEvent::NotCovered { .. } => tally.saw("shown", "not all"),
        LoopEvent::VerdictKept { .. } => tally.saw("shown", "before"),
        LoopEvent::Heard { upheld, .. } => {
            tally.saw("hearing", if *upheld { "upheld" } else { "refuted" });
        }
        LoopEvent::Ruled { ruling } => tally.saw("ruling", ruled(ruling)),
        LoopEvent::Asked(question) => tally.saw("question", why(&question.why)),
        LoopEvent::Decided(decision) => tally.saw(
            "decision",
            match decision.choice.offer() {
                Offer::Again => "again",
                Offer::Fixed => "fixed",
                Offer::Reask => "reask",
                Offer::Accept => "accept",
                Offer::Stop => "stop",
            },
        ),
        _ => {}
    }
}

fn kind(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::Crashed => "crashed",
        FailureKind::TimedOut => "timed out",
        FailureKind::Garbled => "garbled",
        FailureKind::Empty => "empty",
        FailureKind::Quota => "quota",
        FailureKind::DidNotRun => "did not run",
        FailureKind::Tampered => "tampered",
        FailureKind::Unproven => "unproven",
        FailureKind::NotDone => "not done",
        FailureKind::Unchanged => "unchanged",
        FailureKind::Truncated => "truncated",
        FailureKind::RateLimited => "rate limited",
        FailureKind::Overloaded => "overloaded",
        FailureKind::Auth => "auth",
        FailureKind::TooLong => "too long",
        FailureKind::TurnCap => "turn cap",
        FailureKind::Stalled => "stalled",
        FailureKind::PromptWait => "prompt wait",
        FailureKind::Refused => "refused",
        FailureKind::Budget => "budget",
        FailureKind::Setup => "setup",
        FailureKind::GateShut => "gate shut",
    }
}

fn ruled(ruling: &Ruling) -> &'static str {
    match ruling {
        Ruling::Pass { checks_only: false } => "pass",
        Ruling::Pass { checks_only: true } => "pass, checks only",
        Ruling::PassWithWarnings { checks_only: false, .. } => "pass with warnings",
        Ruling::PassWithWarnings { checks_only: true, .. } => "pass with warnings, checks only",
        Ruling::Rework { .. } => "rework",
        Ruling::NoQuorum => "no quorum",
    }
}

fn why(why: &Why) -> &'static str {
    match why {
        Why::NoQuorum => "no quorum",
        Why::ChecksDidNotRun => "checks did not run",
        Why::Exhausted => "exhausted",
        Why::Stale => "stale",
        Why::Approval => "approval",
        Why::Escalated(pattern) => match pattern {
            Pattern::Contested(_) => "contested",
            Pattern::Fundamental => "fundamental",
            Pattern::NotTheBuilders(_) => "not the builder's",
            Pattern::Region(_) => "region",
            Pattern::SurvivedTouched(_) => "survived, touched",
            Pattern::SurvivedUntouched(_) => "survived, untouched",
            Pattern::Turnover(_) => "turnover",
            Pattern::Churn(_) | Pattern::SlowChurn(_) | Pattern::Growth(_) => "churn",
        },
    }
}

fn count_run(tally: &mut Tally, event: &RunEvent) {
    match event {
        RunEvent::Cleared { .. } => tally.saw("fact", "cleared"),
        RunEvent::GateDecided { open } => {
            tally.saw("fact", if *open { "gate opened" } else { "gate shut" });
        }
        RunEvent::WaveOpened { .. } => tally.saw("fact", "wave opened"),
        RunEvent::PlanDropped { .. } => tally.saw("fact", "plan dropped"),
        RunEvent::Landed { .. } => tally.saw("fact", "landed"),
        RunEvent::Checkpointed { feedback, .. } => {
            tally.saw("fact", if feedback.is_some() { "checkpoint" } else { "checkpoint given up" });
        }
        RunEvent::ReviewOpened => tally.saw("fact", "review opened"),
        RunEvent::Failed { failure, .. } => tally.saw("lost attempt", kind(failure.kind)),
        RunEvent::LandingRefused { refusal, .. } => tally.saw(
            "refusal",
            match refusal {
                Refusal::Conflict => "conflict",
                Refusal::RedCheck => "red check",
                Refusal::JudgeAgain(_) => "judge again",
            },
        ),
        RunEvent::LaneAsked { stuck, .. } => tally.saw(
            "lane question",
            match stuck.was {
                Was::Loop(Job::Task(_)) => "task",
                Was::Loop(Job::Repair) => "repair",
                Was::Loop(Job::Qa) => "qa",
                Was::Summary => "summary",
                Was::Landing => "landing",
            },
        ),
        RunEvent::LaneDecided { decision, .. } => tally.saw(
            "lane decision",
            match decision.choice.offer() {
                LaneOffer::Retry => "retry",
                LaneOffer::Reask => "ask again",
                LaneOffer::Fixed => "fixed",
                LaneOffer::Accept => "accept",
                LaneOffer::Drop => "drop",
                LaneOffer::Stop => "stop",
            },
        ),
        RunEvent::Finished { effect, .. } => {
            if let Step::Finish(step) = effect.step {
                tally.saw("finish", step.word());
            }
        }
        RunEvent::Held { .. } => tally.saw("fact", "held"),
        RunEvent::Withheld => tally.saw("fact", "withheld"),
        RunEvent::HeldDecided(decision) => tally.saw(
            "held decision",
            match decision.choice {
                HeldChoice::Land => "land",
                HeldChoice::Again(_) => "again",
                HeldChoice::Stop => "stop",
            },
        ),
        RunEvent::Rebased { .. } => tally.saw("fact", "rebased"),
        RunEvent::Carried { .. } => tally.saw("fact", "carried over"),
        RunEvent::JudgeAgain { .. } => tally.saw("fact", "reviewed again"),
        RunEvent::Ended { ending } => tally.saw("ending", ending.word()),
        _ => {}
    }
}
