//! Events as lines for people: `0:07  01-02/task-1  ✗ loop-reviewer rejects, 2 findings`.
//!
//! The words come from the public events alone. So the log of a run that is over reads like the lines that were printed
//! while it ran.

use crate::events::{Began, ClaimView, Event, Kind, Lost, Ruled, ShownView, Topic, TrackedView};
use crate::plain::clipped;
use crate::style::{Mark, Style, cut, pad};
use crate::words;
use tribunal_core::finding::{Fate, Verdict};
use tribunal_core::ids::FindingId;
use tribunal_core::review_loop::FailureKind;
use tribunal_core::run::Refusal;

/// Writes one line for an event. `began` is when the run began.
pub fn line(event: &Event, began: u64, style: Style) -> String {
    // The number behind the last dot counts entries of the same loop, and says nothing to a reader.
    let of = event.of.rsplit_once('.').map_or(event.of.as_str(), |(short, _)| short);
    let (mark, text) = words_of(&event.what);
    let when = pad(&words::clock(event.at.saturating_sub(began)), 6);
    let of = pad(of, 13);
    let room = if style.width == 0 { usize::MAX } else { style.width.saturating_sub(24).max(12) };
    let symbol = mark.map_or(" ".to_owned(), |mark| style.mark(mark));
    format!("{} {} {symbol} {}", style.faint(&when), style.faint(&of), cut(&text, room))
}

/// Whether an event matters to somebody who only watches.
///
/// `tribunal log --all` and JSON show every event; this choice is for lines on a screen.
pub fn matters(what: &Kind) -> bool {
    match what {
        Kind::Launched { .. } => false,
        // Green checks are the rule and would drown the rest.
        Kind::Checked { passed, .. } => !passed,
        // The findings behind it were told when they were raised.
        Kind::Tracked { .. } => false,
        // The end of the loop says that it passed.
        Kind::Ruled { ruling, .. } => matches!(ruling, Ruled::Rework | Ruled::NoQuorum),
        // The end of an agent is worth a line if there is more to say than that it ended.
        Kind::Note { topic: Topic::Launch, text, .. } => !text.ends_with(" ended"),
        Kind::Note { topic, .. } => {
            !matches!(topic, Topic::Lane | Topic::Rework | Topic::Closing | Topic::Ignored | Topic::Run)
        }
        Kind::Opened { subject, .. } => *subject == Began::Run,
        _ => true,
    }
}

/// The fixer of findings that no tool or agent here can fix.
pub const NOBODY: &str = "nobody";

/// The plan of a run whose plan is a sentence. The sentence stands in a line of its own, so the plan is not named.
const ASKED: &str = tribunal_docs::words::PLAN;

/// Says in words what an event means.
pub fn words(what: &Kind) -> String {
    words_of(what).1
}

/// Says in words what an event means, with its symbol.
///
/// The words depend on the event alone, so a line means the same in a log, on a page and in an explanation.
pub(crate) fn words_of(what: &Kind) -> (Option<Mark>, String) {
    use Mark::{Complete, Failed, Running, Warning};
    match what {
        Kind::Opened { subject: Began::Run, plans, .. } if plans.is_empty() || plans == &[ASKED] => {
            (Some(Running), "the run begins".to_owned())
        }
        Kind::Opened { subject: Began::Run, plans, .. } => {
            (Some(Running), format!("the run begins: {}", words::count(plans.len(), "plan")))
        }
        Kind::Opened { subject, .. } => (Some(Running), format!("{subject} gate opens")),
        Kind::Launched { who, .. } => (None, format!("{who} starts")),
        // The builder of this name stands for the case that nobody can fix what is left.
        Kind::Made { who, done: true, .. } if who == NOBODY => {
            (None, "no tool or agent here fixes what is left".to_owned())
        }
        Kind::Made { who, done: true, replies, .. } => {
            (None, format!("{who} is done{}", replied(replies.len())))
        }
        Kind::Made { who, .. } => (None, format!("{who} goes on")),
        Kind::Checked { check, passed: true, .. } => (None, format!("{check} passes")),
        Kind::Checked { check, claims, .. } => {
            (Some(Failed), format!("{check} fails: {}", claims_words(claims)))
        }
        Kind::Answered { reviewer, verdict, raised, shown, .. } => {
            answered(reviewer, *verdict, raised, *shown)
        }
        Kind::Failed { who, why, text, .. } => (Some(Warning), failed(who, why, text)),
        Kind::Tracked { findings, .. } => (None, tracked(findings)),
        Kind::Heard { finding, upheld, reason } => {
            let ruling = if *upheld { "upheld" } else { "refuted" };
            (None, format!("{finding} {ruling}: {}", clipped(reason, 200)))
        }
        Kind::Ruled { ruling, findings, checks_only } => ruled(*ruling, findings, *checks_only),
        Kind::Asked { subject, why } => (Some(Warning), format!("waits for you: {subject}: {why}")),
        Kind::Decided { by, choice, note } => {
            let note = if note.is_empty() { String::new() } else { format!(": {}", clipped(note, 200)) };
            (None, format!("{by} decided: {choice}{note}"))
        }
        Kind::Landed { plan, .. } if plan == ASKED => {
            (Some(Complete), "the change merged into the run branch".to_owned())
        }
        Kind::Landed { plan, .. } => (Some(Complete), format!("plan {plan} merged into the run branch")),
        Kind::Ended { outcome, .. } => {
            (Some(if outcome.is_good() { Complete } else { Failed }), outcome.to_string())
        }
        Kind::Note { topic: Topic::Warning, text, .. } => (Some(Warning), clipped(text, 400)),
        Kind::Note { text, .. } => (None, clipped(text, 400)),
    }
}

fn replied(n: usize) -> String {
    if n == 0 { String::new() } else { format!(", answers {}", words::count(n, "finding")) }
}

fn claims_words(claims: &[ClaimView]) -> String {
    let first = claims.first().map(|claim| clipped(&claim.claim, 120)).unwrap_or_default();
    match claims.len() {
        // One claim stands for itself; more than one would not fit a line.
        0 | 1 => first,
        n => format!("{first} (and {} more)", n - 1),
    }
}

fn answered(
    reviewer: &str,
    verdict: Verdict,
    raised: &[ClaimView],
    shown: ShownView,
) -> (Option<Mark>, String) {
    let (mark, word) = match verdict {
        Verdict::Approve => (Mark::Complete, "approves"),
        Verdict::Conditional => (Mark::Warning, "approves on conditions"),
        Verdict::Reject => (Mark::Failed, "rejects"),
    };
    let raised = if raised.is_empty() { String::new() } else { format!(": {}", claims_words(raised)) };
    // Only a change that was cut into parts needs to say how much of it was shown.
    let parts = match shown.parts {
        0 | 1 => String::new(),
        parts => format!(" (shown {} of {} hunks in {parts} parts)", shown.hunks, shown.of),
    };
    (Some(mark), format!("{reviewer} {word}{parts}{raised}"))
}

fn failed(who: &str, why: &Lost, text: &str) -> String {
    let text = clipped(text, 200);
    let said = match why {
        // A refused landing is not a failure of whoever tried it, so it is worded differently.
        Lost::Landing(refusal) => {
            let reason = match refusal {
                Refusal::Conflict => "it conflicts",
                Refusal::RedCheck => "a check is red",
                Refusal::JudgeAgain(_) => "it is judged again as rebased",
            };
            return format!("landing refused: {}", if text.is_empty() { reason } else { &text });
        }
        Lost::Attempt(FailureKind::Crashed | FailureKind::TimedOut | FailureKind::DidNotRun) => {
            format!("{who} {}", why.words())
        }
        Lost::Attempt(_) => format!("{who} failed, {}", why.words()),
    };
    if text.is_empty() { said } else { format!("{said}: {text}") }
}

fn tracked(findings: &[TrackedView]) -> String {
    let open = findings.iter().filter(|finding| finding.fate == Fate::Open).count();
    format!("{} tracked, {open} open", words::count(findings.len(), "finding"))
}

fn ruled(ruling: Ruled, findings: &[FindingId], checks_only: bool) -> (Option<Mark>, String) {
    let ids = || words::and(&findings.iter().map(ToString::to_string).collect::<Vec<_>>());
    let only = if checks_only { " (judged by checks only)" } else { "" };
    match ruling {
        Ruled::Pass => (Some(Mark::Complete), format!("pass{only}")),
        Ruled::PassWithWarnings => {
            let carried = if findings.is_empty() { String::new() } else { format!(": {}", ids()) };
            (Some(Mark::Complete), format!("pass with warnings{carried}{only}"))
        }
        Ruled::Rework => (Some(Mark::Failed), format!("rework: {}", ids())),
        Ruled::NoQuorum => (Some(Mark::Warning), "no quorum: nobody can say".to_owned()),
    }
}
