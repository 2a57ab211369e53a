//! The seven metrics from the protocol's event log: one pass, one line at a time, and a table.
//!
//! It counts what the log says and shows a dash where the log says nothing. Logs of other tools are read as well, so
//! several names and forms of the same event are known.

use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Running sums over a log.
///
/// Feed it every line with `take`, then ask for JSON or markdown. Of a line only figures are kept, never its text.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    started: BTreeMap<String, u64>,
    latencies_ms: Vec<u64>,
    tokens: u64,
    tokens_seen: bool,
    confirmed: u64,
    gates: u64,
    gates_failed: u64,
    lease_conflicts: u64,
    resumed: BTreeSet<String>,
    finished: BTreeSet<String>,
    escapes: u64,
    landed: u64,
    launches: u64,
    fallbacks: u64,
    efforts: BTreeMap<String, u64>,
    autonomies: BTreeMap<String, u64>,
    /// The number of lines that are not events.
    pub unread: u64,
    /// The number of events that were counted.
    pub events: u64,
}

/// Whether an event belongs to a phase, however the event writes its number.
fn is_phase(written: Option<&Value>, phase: &str) -> bool {
    let bare = |text: &str| text.trim_start_matches('0').to_owned();
    match written {
        Some(Value::String(written)) => written == phase || bare(written) == bare(phase),
        Some(number @ Value::Number(_)) => text(number) == bare(phase),
        _ => false,
    }
}

impl Metrics {
    /// Takes one line of the log. `phase` narrows the events to one phase.
    ///
    /// Lines may come from several runs and tools. Events nobody knows are counted and otherwise ignored, so a newer
    /// log stays readable.
    pub fn take(&mut self, line: &[u8], phase: Option<&str>) {
        let Ok(event) = serde_json::from_slice::<Value>(line) else {
            // A damaged line is counted and skipped: one of them must not cost the metrics of the whole log.
            self.unread += 1;
            return;
        };
        let word = |key: &str| event.get(key).and_then(Value::as_str).unwrap_or_default();
        if phase.is_some_and(|phase| !is_phase(event.get("phase"), phase)) {
            return;
        }
        self.events += 1;
        let empty = Map::new();
        let data = event.get("data").and_then(Value::as_object).unwrap_or(&empty);
        // Other tools write a plan as a number.
        let plan = event.get("plan").filter(|plan| plan.is_number()).map(text);
        let plan = plan.as_deref().unwrap_or(word("plan"));
        // The phase is part of the key, because every phase has a first plan.
        let plan = match event.get("phase") {
            Some(phase) => format!("{}/{plan}", text(phase)),
            None => plan.to_owned(),
        };
        self.count(
            word("event"),
            &plan,
            word("correlation_id"),
            crate::calendar::read_timestamp(word("ts")),
            data,
        );
    }

    fn count(&mut self, event: &str, plan: &str, run: &str, at: Option<u64>, data: &Map<String, Value>) {
        let number = |key: &str| data.get(key).and_then(whole);
        // Other tools write the task under another key.
        let task = ["task_id", "task"].iter().find_map(|key| data.get(*key)).map(text).unwrap_or_default();
        let task = format!("{plan}/{task}");
        match event {
            // A second start of the same task replaces the first: what counts is the attempt that was confirmed.
            "task_started" => _ = at.map(|at| self.started.insert(task, at)),
            "task_completed_confirmed" => {
                self.confirmed += 1;
                // A task that was confirmed without a start has no latency, but it counts as confirmed.
                let taken = self.started.remove(&task).zip(at);
                self.latencies_ms.extend(taken.map(|(from, to)| to.saturating_sub(from)));
            }
            // Noted that there are figures at all, so that a log without any shows a dash and not zero.
            "token_usage" => {
                self.tokens_seen = true;
                self.tokens += number("tokens").or_else(|| number("total_tokens")).unwrap_or(0);
            }
            "gate_passed" => self.gates += 1,
            // A gate that did not run guarded nothing, so it counts as failed.
            "gate_failed" | "gate_did_not_run" => {
                self.gates += 1;
                self.gates_failed += 1;
            }
            "lease_conflict" => self.lease_conflicts += 1,
            // By run and not by count: a run that was resumed three times succeeds or fails once.
            "phase_resumed" | "run_resumed" => _ = self.resumed.insert(run.to_owned()),
            "phase_completed" | "phase_complete" | "run_completed" => {
                _ = self.finished.insert(run.to_owned())
            }
            "regression_escape" => self.escapes += number("count").unwrap_or(1),
            "plan_landed" | "plan_end" | "plan_completed" => self.landed += 1,
            "agent_spawn" | "agent_launched" => self.launches += 1,
            "smart_route" => self.fallbacks += 1,
            other if other.ends_with("_agent_fallback") => self.fallbacks += 1,
            _ => {}
        }
        for (key, sums) in [("effort", &mut self.efforts), ("autonomy", &mut self.autonomies)] {
            if let Some(word) = data.get(key).and_then(Value::as_str) {
                *sums.entry(word.to_owned()).or_default() += 1;
            }
        }
    }

    /// Returns the middle value, or the mean of the two in the middle.
    fn median(&self) -> Option<u64> {
        let mut sorted = self.latencies_ms.clone();
        sorted.sort_unstable();
        let (low, high) = (sorted.get(sorted.len().checked_sub(1)? / 2)?, sorted.get(sorted.len() / 2)?);
        Some(low.midpoint(*high))
    }

    fn percentile(&self, share: f64) -> Option<u64> {
        let mut sorted = self.latencies_ms.clone();
        sorted.sort_unstable();
        let last = sorted.len().checked_sub(1)?;
        // Nearest rank: the smallest value that at least this share does not exceed.
        let rank = (share * sorted.len() as f64).ceil() as usize;
        sorted.get(rank.saturating_sub(1).min(last)).copied()
    }

    /// Returns the seven metrics; whatever the log does not tell is null.
    ///
    /// Null and zero differ: zero was measured, while null says that the log has nothing to measure it by.
    pub fn to_json(&self) -> Value {
        // A share of nothing is unknown, not zero.
        let share = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
        let resumed = self.resumed.len() as u64;
        // Counted by run: a run that was resumed and never finished is a failure of the resume.
        let came_through = self.resumed.intersection(&self.finished).count() as u64;
        let tokens = if self.tokens_seen { share(self.tokens, self.confirmed) } else { None };
        json!({
            "events": self.events,
            "unread_lines": self.unread,
            "tasks_confirmed": self.confirmed,
            "task_latency_ms": { "median": self.median(), "p95": self.percentile(0.95) },
            "tokens_per_task": tokens,
            "gate_failure_rate": share(self.gates_failed, self.gates),
            "lease_conflicts": self.lease_conflicts,
            "resume_success": share(came_through, resumed),
            "regression_escape": share(self.escapes, self.landed),
            "fallback_share": share(self.fallbacks, self.launches),
            "by_effort": self.efforts,
            "by_autonomy": self.autonomies,
        })
    }

    /// Writes the metrics as a markdown table.
    pub fn to_markdown(&self, phase: Option<&str>) -> String {
        let found = self.to_json();
        let title = phase.map_or("all phases".to_owned(), |phase| format!("phase {phase}"));
        let mut text = format!("# Metrics: {title}\n\n| metric | value |\n|---|---|\n");
        let latency = &found["task_latency_ms"];
        let rows = [
            ("task latency, median", seconds(&latency["median"])),
            ("task latency, p95", seconds(&latency["p95"])),
            ("tokens per task", rounded(&found["tokens_per_task"])),
            ("gate failure rate", percent(&found["gate_failure_rate"])),
            ("lease conflicts", text_or_dash(&found["lease_conflicts"])),
            ("resume success", percent(&found["resume_success"])),
            ("regression escape per plan", rounded(&found["regression_escape"])),
            ("fallback share", percent(&found["fallback_share"])),
        ];
        rows.iter().for_each(|(name, value)| text.push_str(&format!("| {name} | {value} |\n")));
        for (name, sums) in [("effort", &self.efforts), ("autonomy", &self.autonomies)] {
            for (word, count) in sums {
                text.push_str(&format!(
                    "| events at {name} {} | {count} |\n",
                    crate::plain::clipped(word, 30)
                ));
            }
        }
        text.push_str(&format!("\n{} events", self.events));
        if self.unread > 0 {
            text.push_str(&format!(", {} lines that are none", self.unread));
        }
        text.push('\n');
        text
    }
}

fn whole(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.trim().parse().ok())
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn text_or_dash(value: &Value) -> String {
    if value.is_null() { "–".to_owned() } else { text(value) }
}

fn rounded(value: &Value) -> String {
    value.as_f64().map_or("–".to_owned(), |number| format!("{number:.1}"))
}

fn percent(value: &Value) -> String {
    value.as_f64().map_or("–".to_owned(), |number| format!("{:.1} %", number * 100.0))
}

fn seconds(value: &Value) -> String {
    value.as_f64().map_or("–".to_owned(), |number| format!("{:.1} s", number / 1000.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seven_metrics_from_a_log() {
        let event = |at: &str, event: &str, data: &str| {
            format!(
                "{{\"ts\":\"2026-01-01T00:00:{at}Z\",\"event\":\"{event}\",\"phase\":\"01\",\"plan\":\"01-01\",\"correlation_id\":\"c\",\"data\":{data}}}"
            )
        };
        let log = [
            event("00", "task_started", "{\"task_id\":\"a\",\"effort\":\"fast\"}"),
            event("02", "task_completed_confirmed", "{\"task_id\":\"a\"}"),
            event("00", "task_started", "{\"task_id\":\"b\"}"),
            event("10", "task_completed_confirmed", "{\"task_id\":\"b\"}"),
            event("11", "token_usage", "{\"tokens\":\"900\"}"),
            event("12", "gate_passed", "{}"),
            event("12", "gate_failed", "{}"),
            event("13", "lease_conflict", "{}"),
            event("14", "run_resumed", "{}"),
            event("15", "run_completed", "{}"),
            event("16", "plan_landed", "{}"),
            event("17", "regression_escape", "{\"count\":2}"),
            event("18", "agent_launched", "{}"),
            event("19", "review_agent_fallback", "{}"),
            "not json".to_owned(),
        ];
        let mut metrics = Metrics::default();
        log.iter().for_each(|line| metrics.take(line.as_bytes(), Some("01")));
        let found = metrics.to_json();
        assert_eq!(found["task_latency_ms"], json!({ "median": 6000, "p95": 10000 }));
        assert_eq!(found["tokens_per_task"], json!(450.0));
        assert_eq!(found["gate_failure_rate"], json!(0.5));
        assert_eq!(found["lease_conflicts"], json!(1));
        assert_eq!(found["resume_success"], json!(1.0));
        assert_eq!(found["regression_escape"], json!(2.0));
        assert_eq!(found["fallback_share"], json!(1.0));
        assert_eq!((metrics.events, metrics.unread), (14, 1));
        let mut other = Metrics::default();
        log.iter().for_each(|line| other.take(line.as_bytes(), Some("02")));
        assert_eq!(other.events, 0);
        assert!(other.to_markdown(None).contains("| gate failure rate | – |"));
    }
}
