//! Tribunal's own event lines: `start`, `message`, `final`, `error`. An event it does not know is drift, not a failure.

use super::lines::{Line, each_line, quote};
use super::{Outcome, Usage};
use serde::Deserialize;
use serde_json::Value;
use std::io::{self, BufRead};

const LINE_MAX: usize = 8 * 1024 * 1024;
// Most of a long output is these, and nothing in them is needed.
const MESSAGE: &[u8] = br#"{"type":"message","#;

#[derive(Deserialize)]
struct Kind {
    r#type: String,
}

#[derive(Deserialize)]
struct Event {
    session: Option<String>,
    text: Option<String>,
    message: Option<String>,
    usage: Option<Value>,
}

pub(super) fn read(input: impl BufRead) -> io::Result<Outcome> {
    let mut outcome = Outcome::default();
    each_line(input, LINE_MAX, |line| event(&line, &mut outcome))?;
    Ok(outcome)
}

fn event(line: &Line<'_>, outcome: &mut Outcome) {
    if line.is_blank() || line.bytes.starts_with(MESSAGE) {
        return;
    }
    let at = format!("line {}", line.number);
    if line.too_long {
        return outcome.drift(format!("{at}: longer than {LINE_MAX} bytes, skipped"));
    }
    let (text, replaced) = line.text();
    if replaced {
        outcome.drift(format!("{at}: not UTF-8, unreadable bytes replaced"));
    }
    match serde_json::from_str::<Kind>(&text) {
        Ok(kind) => known(&kind.r#type, &text, &at, outcome),
        Err(_) if line.unfinished => outcome.drift(format!("{at}: cut off, {}", quote(&text))),
        Err(_) => outcome.drift(format!("{at}: no event, {}", quote(&text))),
    }
}

fn known(kind: &str, text: &str, at: &str, outcome: &mut Outcome) {
    if kind == "message" {
        return;
    }
    if !["start", "final", "error"].contains(&kind) {
        return outcome.drift(format!("{at}: unknown event {}", quote(kind)));
    }
    let event = match serde_json::from_str::<Event>(text) {
        Ok(event) => event,
        Err(error) => return outcome.drift(format!("{at}: malformed {kind} event, {error}")),
    };
    match kind {
        "start" => outcome.session = event.session,
        "error" => outcome.fail(event.message.unwrap_or_else(|| "unnamed error".to_owned())),
        _ => finish(event, at, outcome),
    }
}

fn finish(event: Event, at: &str, outcome: &mut Outcome) {
    let Some(text) = event.text else {
        return outcome.drift(format!("{at}: final event without text"));
    };
    if outcome.complete {
        outcome.drift(format!("{at}: a second final event; the last one counts"));
    }
    outcome.complete = true;
    outcome.final_text = Some(text);
    if let Some(value) = event.usage {
        match usage(value) {
            Some(usage) => outcome.usage = Some(usage),
            None => outcome.drift(format!("{at}: malformed usage")),
        }
    }
}

fn usage(value: Value) -> Option<Usage> {
    let usage: Usage = serde_json::from_value(value).ok()?;
    let sane = usage.cost_usd.is_none_or(|cost| cost.is_finite() && cost >= 0.0);
    sane.then_some(usage)
}
