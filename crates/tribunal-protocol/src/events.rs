//! The protocol's event log: one JSON object per line in `.events/event-log.jsonl`.
//!
//! Lines are only added, never rewritten. Scripts follow the log while a run writes it.

use crate::{Folder, ProtocolError, STATE, clock};
use serde::Serialize;
use serde_json::{Map, Value};

/// The path of the log in the planning folder.
pub const LOG: &str = ".events/event-log.jsonl";

/// One line of the log.
#[derive(Clone, Debug, Serialize)]
pub struct Event {
    /// The time of the event.
    pub ts: String,
    /// The unique id of the event.
    pub event_id: String,
    /// The id of the work that it belongs to.
    pub correlation_id: String,
    /// The name of the event.
    pub event: String,
    /// The phase. Scripts compare it with a number, so a number is written as one.
    #[serde(serialize_with = "number_or_text")]
    pub phase: String,
    /// The plan; empty for the phase.
    pub plan: String,
    /// Everything else that is known about it.
    pub data: Map<String, Value>,
}

fn number_or_text<S: serde::Serializer>(phase: &str, out: S) -> Result<S::Ok, S::Error> {
    match phase.parse::<u32>() {
        Ok(number) => out.serialize_u32(number),
        Err(_) => out.serialize_str(phase),
    }
}

/// Adds an event to the log. Returns it with its id.
pub fn append(
    folder: &Folder,
    event: &str,
    phase: &str,
    plan: &str,
    data: Map<String, Value>,
) -> Result<Event, ProtocolError> {
    let event = Event {
        ts: tribunal_view::calendar::timestamp_with_ms(clock::moment().wall_ms),
        event_id: tribunal_world::unique_id(),
        correlation_id: correlation(folder),
        event: event.to_owned(),
        phase: phase.to_owned(),
        plan: plan.to_owned(),
        data,
    };
    let line = serde_json::to_string(&event).unwrap_or_default();
    folder.append(LOG, &line)?;
    Ok(event)
}

/// The id of the work that events belong to: from the environment, else from the execution state, else empty.
pub fn correlation(folder: &Folder) -> String {
    // Scripts of the protocol may set either name; Tribunal's own comes first.
    let said = ["TRIBUNAL_CORRELATION_ID", "YOLO_CORRELATION_ID"].iter().find_map(|name| {
        std::env::var(name).ok().map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
    });
    let state = || -> Option<String> {
        let bytes = folder.read(STATE).ok()??;
        let state: Value = serde_json::from_slice(&bytes).ok()?;
        Some(state.get("correlation_id")?.as_str()?.to_owned())
    };
    said.or_else(state).unwrap_or_default()
}
