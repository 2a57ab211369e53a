//! `log-event` and `metrics-report`: add to the protocol's event log, and sum it up.
//!
//! The log is written for scripts of the protocol and people who read along. Nothing in Tribunal reads it back as
//! truth: that is the journal's part.

use super::{Answer, ground};
use crate::exit::Done;
use crate::failure::Failure;
use crate::out;
use serde_json::{Map, Value, json};
use std::io::{BufRead, BufReader};
use tribunal_docs::PlanId;
use tribunal_view::metrics::Metrics;

/// `log-event`: the first word without `=` is the plan, the rest is data.
pub fn log(event: &str, phase: &str, rest: &[String]) -> Result<Answer, Failure> {
    let word = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    if event.is_empty() || !event.chars().all(word) {
        return Err(Failure::usage(format!("{event:?} is no event")).hint("letters, digits and _"));
    }
    let ground = ground(None)?;
    let mut data = Map::new();
    let mut plan = String::new();
    for (at, item) in rest.iter().enumerate() {
        match item.split_once('=') {
            Some((key, value)) if !key.is_empty() => _ = data.insert(key.to_owned(), value.into()),
            // Only in the first place: a later word without `=` is a mistake, such as a value with a blank and no
            // quotes.
            None if at == 0 => plan = item.clone(),
            _ => return Err(Failure::usage(format!("{item:?} is not key=value"))),
        }
    }
    if plan.is_empty() {
        plan = data.get("plan").and_then(Value::as_str).unwrap_or_default().to_owned();
    }
    let phase = PlanId::new(phase, "").phase;
    let plan = if plan.is_empty() { plan } else { PlanId::new(&phase, &plan).to_string() };
    let event = tribunal_protocol::append(&ground.state(), event, &phase, &plan, data)?;
    Ok(Answer::new(
        json!({ "event_id": event.event_id, "ts": event.ts, "correlation_id": event.correlation_id }),
        0,
    ))
}

/// `metrics-report`: sums the log up in one pass.
pub fn metrics(as_json: bool, phase: Option<&str>) -> Result<Done, Failure> {
    let ground = ground(None)?;
    let phase = phase.map(|phase| PlanId::new(phase, "").phase);
    let mut metrics = Metrics::default();
    if let Some(file) = ground.open(&format!("{}/{}", ground.planning(), tribunal_protocol::LOG)) {
        let mut reader = BufReader::with_capacity(1 << 20, file);
        let mut line = Vec::new();
        loop {
            line.clear();
            // Bytes and not `lines()`: one line that is not UTF-8 must not end the report.
            let read = reader.read_until(b'\n', &mut line);
            if read.map_err(|error| Failure::work(format!("cannot read the event log: {error}")))? == 0 {
                break;
            }
            if !line.trim_ascii().is_empty() {
                metrics.take(&line, phase.as_deref());
            }
        }
    }
    if !as_json {
        out::data(&metrics.to_markdown(phase.as_deref()))?;
        return Ok(Done::Passed);
    }
    super::print("metrics-report", Answer::new(metrics.to_json(), 0))
}
