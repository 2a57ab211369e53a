//! Why each decision was taken: a line for the decision, and below it the events it follows from, each with its number
//! in the journal.
//!
//! It only words what it is given. The caller finds the causes, and the numbers let a reader check them in the journal.

use crate::events::{Event, Kind, Over};
use crate::log;
use crate::style::{Style, cut, pad};
use serde::Serialize;
use tribunal_core::review_loop::Outcome;

/// A decision and the events it follows from.
///
/// Both are public events, so a reader finds their numbers in `tribunal log --json` as well.
#[derive(Clone, Debug)]
pub struct Decision {
    /// The event that is the decision.
    pub event: Event,
    /// The events it follows from, in order.
    pub because: Vec<Event>,
}

/// The form of one decision as a line of JSON.
#[derive(Debug, Serialize)]
struct Line<'a> {
    run: &'a str,
    seq: u64,
    time: &'a str,
    of: &'a str,
    decision: String,
    because: Vec<Cause>,
}

#[derive(Debug, Serialize)]
struct Cause {
    seq: u64,
    text: String,
}

/// Writes the decisions of one machine as text, under its name.
pub fn story(of: &str, decisions: &[Decision], style: Style) -> String {
    // The number behind the last dot counts entries of the same loop, and says nothing to a reader.
    let short = of.rsplit_once('.').map_or(of, |(short, _)| short);
    let mut text = format!("{}\n", style.bold(if of == "run" { "The run" } else { short }));
    let mut last = 0;
    for decision in decisions {
        let causes = causes(decision);
        text.push_str(&row(&decision.event, why(decision), "  ", style));
        // A decision that follows from the line above needs no cause repeated.
        if causes.iter().any(|cause| cause.seq != last) {
            causes.iter().for_each(|cause| text.push_str(&row(cause, "", "         ", style)));
        }
        last = decision.event.seq;
    }
    text
}

/// Says what the end of a loop means, if its name alone does not.
fn why(decision: &Decision) -> &'static str {
    let Kind::Ended { outcome, .. } = &decision.event.what else { return "" };
    let made = decision.because.iter().any(|cause| matches!(cause.what, Kind::Made { .. }));
    match outcome {
        // Two different ends have the same name; the causes tell them apart.
        Over::Loop(Outcome::Stale) if made => {
            ": not judged, for nothing was changed and no finding newly answered"
        }
        Over::Loop(Outcome::Stale) => ": the same findings stay open, round after round",
        Over::Loop(Outcome::Exhausted) => ": its rounds are spent",
        _ => "",
    }
}

/// Writes one line: number, symbol, words.
fn row(event: &Event, why: &str, indent: &str, style: Style) -> String {
    let (mark, words) = log::words_of(&event.what);
    // Appended to the words of the event, so that the meaning stands on the same line.
    let words = words + why;
    let symbol = mark.map_or(" ".to_owned(), |mark| style.mark(mark));
    // At least a dozen columns: on a very narrow terminal a line may wrap, but it stays readable.
    let room =
        if style.width == 0 { usize::MAX } else { style.width.saturating_sub(indent.len() + 9).max(12) };
    let number = style.faint(&pad(&format!("#{}", event.seq), 6));
    format!("{indent}{number} {symbol} {}\n", cut(&words, room))
}

/// Returns the causes of a decision without the beginnings of what has ended since.
///
/// A launch says that something began; its end, which is also among the causes, says more.
fn causes(decision: &Decision) -> Vec<&Event> {
    let begins = |event: &&Event| matches!(event.what, Kind::Launched { .. });
    let telling: Vec<&Event> = decision.because.iter().filter(|event| !begins(event)).collect();
    // If there are only beginnings, they are all that explains the decision.
    if telling.is_empty() { decision.because.iter().collect() } else { telling }
}

/// Writes a decision as one line of JSON.
pub fn json(decision: &Decision) -> String {
    let words = |event: &Event| log::words_of(&event.what).1;
    let event = &decision.event;
    let because = causes(decision).into_iter().map(|cause| Cause { seq: cause.seq, text: words(cause) });
    let line = Line {
        run: &event.run,
        seq: event.seq,
        time: &event.time,
        of: &event.of,
        decision: words(event) + why(decision),
        because: because.collect(),
    };
    serde_json::to_string(&line).unwrap_or_default()
}
