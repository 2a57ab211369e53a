//! Tribunal's own event lines: `start`, `message`, `tool`, `denied`, `retry`, `final`, `error`. An unknown event is
//! drift, not a failure.
//!
//! The scripted agent and the driver of the Agent Client Protocol print these. A program that can print them needs no
//! parser of its own.

use super::lines::{Line, quote};
use super::outcome::{DriftKind, Outcome, Usage};
use super::problem::{Problem, ProblemKind, Reset};
use super::reading::{LINE_MAX, Reads};
use serde::Deserialize;
use serde_json::Value;

// Most of a long output consists of these lines, and nothing in them is needed, so they are not parsed at all.
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
    kind: Option<String>,
    retry_after_ms: Option<u64>,
    resets_at_ms: Option<u64>,
    name: Option<String>,
    #[serde(default)]
    args: Value,
}

/// Reads Tribunal's own events, which need no state between lines.
#[derive(Default)]
pub(super) struct Events;

impl Reads for Events {
    fn line(&mut self, line: &Line<'_>, out: &mut Outcome) {
        if line.is_blank() || line.bytes.starts_with(MESSAGE) {
            return;
        }
        let at = format!("line {}", line.number);
        if line.too_long {
            return out.drift(DriftKind::TooLong, format!("{at}: longer than {LINE_MAX} bytes, skipped"));
        }
        let (text, replaced) = line.text();
        if replaced {
            out.drift(DriftKind::NotUtf8, format!("{at}: not UTF-8, unreadable bytes replaced"));
        }
        match serde_json::from_str::<Kind>(&text) {
            Ok(kind) => known(&kind.r#type, &text, &at, out),
            // A last line without its end was cut, perhaps in the middle of a kill; that is told apart from garbage.
            Err(_) if line.unfinished => {
                out.drift(DriftKind::CutOff, format!("{at}: cut off, {}", quote(&text)))
            }
            Err(_) => out.drift(DriftKind::NoEvent, format!("{at}: no event, {}", quote(&text))),
        }
    }
}

fn known(kind: &str, text: &str, at: &str, out: &mut Outcome) {
    // Messages with another order of keys arrive here; they mean as little as the others.
    if kind == "message" {
        return;
    }
    // Known kinds only are parsed further: a new event may use the same keys for something else.
    if !["start", "tool", "denied", "retry", "final", "error"].contains(&kind) {
        return out.drift(DriftKind::UnknownEvent, format!("{at}: unknown event {}", quote(kind)));
    }
    let event = match serde_json::from_str::<Event>(text) {
        Ok(event) => event,
        Err(error) => {
            return out.drift(DriftKind::Malformed, format!("{at}: malformed {kind} event, {error}"));
        }
    };
    let name = event.name.as_deref().unwrap_or("unnamed");
    match kind {
        "start" => {
            // An agent without sessions says nothing of one.
            if let Some(id) = &event.session {
                out.in_session(id);
            }
        }
        "tool" => {
            out.turns += 1;
            out.call(name, &event.args);
        }
        "denied" => out.deny(name, event.message.as_deref().unwrap_or_default()),
        "retry" => out.retry(problem(event)),
        "error" => out.fail(problem(event)),
        _ => finish(event, at, out),
    }
}

fn problem(event: Event) -> Problem {
    let kind = event.kind.as_deref().and_then(ProblemKind::named).unwrap_or(ProblemKind::Other);
    let after = event.retry_after_ms.map(Reset::AfterMs);
    let problem = Problem::new(kind, event.message.unwrap_or_else(|| "unnamed error".to_owned()));
    // A point in time is exact, while a span counts from a moment that nobody recorded.
    problem.until(event.resets_at_ms.map(Reset::AtMs).or(after))
}

fn finish(event: Event, at: &str, out: &mut Outcome) {
    let Some(text) = event.text else {
        return out.drift(DriftKind::Malformed, format!("{at}: final event without text"));
    };
    if out.complete {
        out.drift(DriftKind::Repeated, format!("{at}: a second final event; the last one counts"));
    }
    out.complete = true;
    out.say(text);
    if let Some(value) = event.usage {
        match usage(value) {
            Some(usage) => out.usage = Some(usage),
            None => out.drift(DriftKind::Malformed, format!("{at}: malformed usage")),
        }
    }
}

fn usage(value: Value) -> Option<Usage> {
    let mut usage: Usage = serde_json::from_value(value).ok()?;
    if let Some(cost) = usage.cost_usd {
        usage.cost_micros = Some(super::reading::micros(&Value::from(cost))?);
    }
    Some(usage)
}
