//! Events as lines for people: `0:07  01-02/task-1  ✗ loop-reviewer rejects, 2 findings`.
//!
//! The words come from the public events alone. So the log of a run that is over reads like the lines that were printed
//! while it ran.

use crate::events::{ClaimView, Event, Kind, ShownView, TrackedView};
use crate::plain::clipped;
use crate::style::{Mark, Style, cut, pad};
use crate::words;

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
        Kind::Ruled { ruling, .. } => !ruling.starts_with("pass"),
        // The end of an agent is worth a line if there is more to say than that it ended.
        Kind::Note { topic, text, .. } if topic == "launch" => !text.ends_with(" ended"),
        Kind::Note { topic, .. } => {
            !matches!(topic.as_str(), "lane" | "rework" | "closing" | "ignored" | "run")
        }
        Kind::Opened { subject, .. } => subject == "run",
        _ => true,
    }
}

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
        Kind::Opened { subject, plans, .. }
            if subject == "run" && (plans.is_empty() || plans == &[ASKED]) =>
        {
            (Some(Running), "the run begins".to_owned())
        }
        Kind::Opened { subject, plans, .. } if subject == "run" => {
            (Some(Running), format!("the run begins: {}", words::count(plans.len(), "plan")))
        }
        Kind::Opened { subject, .. } => (Some(Running), format!("{subject} gate opens")),
        Kind::Launched { who, .. } => (None, format!("{who} starts")),
        // The builder of this name stands for the case that nobody can fix what is left.
        Kind::Made { who, done: true, .. } if who == "nobody" => {
            (None, "no tool or agent here mends what is left".to_owned())
        }
        Kind::Made { who, done: true, replies, .. } => {
            (None, format!("{who} is done{}", replied(replies.len())))
        }
        Kind::Made { who, .. } => (None, format!("{who} goes on")),
        Kind::Checked { check, passed: true, .. } => (None, format!("{check} passes")),
        Kind::Checked { check, claims, .. } => {
            (Some(Failed), format!("{check} fails: {}", claims_words(claims)))
        }
        Kind::Answered { seat, verdict, raised, shown, .. } => answered(seat, verdict, raised, *shown),
        Kind::Failed { who, why, text, .. } => (Some(Warning), failed(who, why, text)),
        Kind::Tracked { findings, .. } => (None, tracked(findings)),
        Kind::Heard { finding, upheld, reason } => {
            let ruling = if *upheld { "upheld" } else { "refuted" };
            (None, format!("{finding} {ruling}: {}", clipped(reason, 200)))
        }
        Kind::Ruled { ruling, findings, checks_only } => ruled(ruling, findings, *checks_only),
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
            // `passed with warnings` is good as well.
            let good = outcome.starts_with("passed") || outcome == "accepted";
            (Some(if good { Complete } else { Failed }), outcome.clone())
        }
        Kind::Note { topic, text, .. } if topic == "warning" => (Some(Warning), clipped(text, 400)),
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

fn answered(seat: &str, verdict: &str, raised: &[ClaimView], shown: ShownView) -> (Option<Mark>, String) {
    let (mark, word) = match verdict {
        "approve" => (Mark::Complete, "approves"),
        "conditional" => (Mark::Warning, "approves on conditions"),
        _ => (Mark::Failed, "rejects"),
    };
    let raised = if raised.is_empty() { String::new() } else { format!(": {}", claims_words(raised)) };
    // Only a change that was cut into parts needs to say how much of it was shown.
    let parts = match shown.parts {
        0 | 1 => String::new(),
        parts => format!(" (shown {} of {} hunks in {parts} parts)", shown.hunks, shown.of),
    };
    (Some(mark), format!("{seat} {word}{parts}{raised}"))
}

fn failed(who: &str, why: &str, text: &str) -> String {
    let why = why.replace('_', " ");
    // A refused landing is not a failure of whoever tried it, so it is worded differently.
    let refused = match why.as_str() {
        "conflict" => Some("it conflicts"),
        "red check" => Some("a check is red"),
        "judge again" => Some("it is judged again as rebased"),
        _ => None,
    };
    let text = clipped(text, 200);
    match (refused, why.as_str()) {
        (Some(reason), _) => format!("landing refused: {}", if text.is_empty() { reason } else { &text }),
        (None, "crashed" | "timed out" | "did not run") if text.is_empty() => format!("{who} {why}"),
        (None, "crashed" | "timed out" | "did not run") => format!("{who} {why}: {text}"),
        (None, _) if text.is_empty() => format!("{who} failed, {why}"),
        (None, _) => format!("{who} failed, {why}: {text}"),
    }
}

fn tracked(findings: &[TrackedView]) -> String {
    let open = findings.iter().filter(|finding| finding.fate == "open").count();
    format!("{} tracked, {open} open", words::count(findings.len(), "finding"))
}

fn ruled(ruling: &str, findings: &[String], checks_only: bool) -> (Option<Mark>, String) {
    let only = if checks_only { " (judged by checks only)" } else { "" };
    match ruling {
        "pass" => (Some(Mark::Complete), format!("pass{only}")),
        "pass_with_warnings" => {
            let carried =
                if findings.is_empty() { String::new() } else { format!(": {}", words::and(findings)) };
            (Some(Mark::Complete), format!("pass with warnings{carried}{only}"))
        }
        "rework" => (Some(Mark::Failed), format!("rework: {}", words::and(findings))),
        // Anything else is no quorum, and nobody may take that for a pass.
        _ => (Some(Mark::Warning), "no quorum: nobody can say".to_owned()),
    }
}
