//! Claude Code: `--output-format stream-json`, and `json`, which is its last event alone. The final event is `result`.
//! Its `subtype` says `success` even if the model's server failed, so `is_error` decides.
//!
//! Figures come from the result, because those of single messages are placeholders. They are added up from the messages
//! only for a launch that never came to its result.

use super::lines::Line;
use super::outcome::{DriftKind, Outcome, Usage};
use super::problem::{Problem, ProblemKind, Reset};
use super::reading::{Reads, count, event, malformed, micros, status, unknown, words};
use serde_json::Value;
use std::collections::BTreeMap;
use tribunal_core::usage::SessionTotals;

// Messages are kept only for launches that never come to their result, so a bound loses nothing of a finished one.
const MESSAGES_MAX: usize = 10_000;
// Known and without meaning for us. An event that is in neither list becomes a drift note, so new ones are noticed.
const SYSTEM: [&str; 12] = [
    "status",
    "task_started",
    "task_progress",
    "task_updated",
    "task_notification",
    "compact_boundary",
    "hook_started",
    "hook_progress",
    "hook_response",
    "session_state_changed",
    "files_persisted",
    "local_command_output",
];
const SILENT: [&str; 6] = [
    "tool_progress",
    "tool_use_summary",
    "auth_status",
    "keep_alive",
    "control_response",
    "prompt_suggestion",
];

/// Reads Claude Code's events, and keeps what a launch without a result would lose.
#[derive(Default)]
pub(super) struct Claude {
    messages: BTreeMap<String, Usage>,
    streamed: String,
    turn: Option<String>,
    told: Option<Usage>,
    turns_told: u64,
    limit: Option<Problem>,
    interrupted: bool,
    refusal: Option<Problem>,
}

impl Reads for Claude {
    fn line(&mut self, line: &Line<'_>, out: &mut Outcome) {
        let Some(event) = event(line, out) else { return };
        if let Some(id) = event["session_id"].as_str() {
            out.in_session(id);
        }
        match words(&event["type"]) {
            "system" => system(&event, line, out),
            "assistant" => self.assistant(&event, out),
            "user" => self.user(&event),
            "stream_event" => self.partial(&event["event"]),
            "rate_limit_event" => self.limited(&event["rate_limit_info"]),
            "result" => self.result(&event, line, out),
            kind if SILENT.contains(&kind) => {}
            kind => unknown(line, "event", kind, out),
        }
    }

    fn stderr(&mut self, line: &str, _out: &mut Outcome) {
        // These failures are reported here only. Every other line of standard error is ignored.
        const SETUP: [&str; 3] = ["No conversation found", "is already in use", "cannot be used with root"];
        if SETUP.iter().any(|words| line.contains(words)) {
            self.refusal.get_or_insert_with(|| Problem::new(ProblemKind::Setup, line));
        }
    }

    fn end(&mut self, _exit: Option<i32>, out: &mut Outcome) {
        // The figures of the result are exact; those of the messages are an estimate for a launch without one.
        out.usage = self.told.or_else(|| self.so_far());
        if out.complete || out.error.is_some() {
            return;
        }
        // A limit is the cause if it was announced; the interruption may only follow from it.
        let stopped = self.interrupted.then(|| Problem::new(ProblemKind::Interrupted, "it was interrupted"));
        if let Some(problem) = self.limit.take().or(self.refusal.take()).or(stopped) {
            out.fail(problem);
        }
    }
}

fn system(event: &Value, line: &Line<'_>, out: &mut Outcome) {
    match words(&event["subtype"]) {
        // Another prompt begins, so what was final no longer is.
        "init" => out.complete = false,
        // The program repeats the request by itself; that is a sign of life and not a failure.
        "api_retry" => {
            let after = event["retry_delay_ms"].as_f64().filter(|ms| (0.0..1e15).contains(ms));
            let problem = Problem::of_words(status(&event["error_status"]), words(&event["error"]));
            out.retry(problem.until(after.map(|ms| Reset::AfterMs(ms as u64))));
        }
        kind if SYSTEM.contains(&kind) => {}
        kind => unknown(line, "system event", kind, out),
    }
}

impl Claude {
    fn assistant(&mut self, event: &Value, out: &mut Outcome) {
        let message = &event["message"];
        let blocks = message["content"].as_array().map(Vec::as_slice).unwrap_or_default();
        for block in blocks.iter().filter(|block| block["type"] == "tool_use") {
            out.call(words(&block["name"]), &block["input"]);
        }
        // Messages of a helper are neither turns of this agent nor its final message.
        if !event["parent_tool_use_id"].is_null() {
            return;
        }
        // The model goes on, so an earlier result was not the end.
        out.complete = false;
        let id = words(&message["id"]);
        // One message arrives as several events with the same id; it counts as one turn.
        if self.turn.as_deref() != Some(id) {
            self.turn = Some(id.to_owned());
            out.turns += 1;
        }
        self.spent(id, &message["usage"]);
    }

    fn user(&mut self, event: &Value) {
        let blocks = event["message"]["content"].as_array().map(Vec::as_slice).unwrap_or_default();
        self.interrupted |=
            blocks.iter().any(|block| words(&block["text"]).starts_with("[Request interrupted"));
    }

    /// Takes the figures of a streamed message. The figure at its start is a placeholder; the last one of its stream is
    /// real.
    fn partial(&mut self, event: &Value) {
        match words(&event["type"]) {
            "message_start" => {
                words(&event["message"]["id"]).clone_into(&mut self.streamed);
                self.spent(words(&event["message"]["id"]), &event["message"]["usage"]);
            }
            "message_delta" => {
                if let Some(message) = self.messages.get_mut(&self.streamed) {
                    message.output = count(&event["usage"]["output_tokens"]);
                }
            }
            _ => {}
        }
    }

    fn spent(&mut self, id: &str, usage: &Value) {
        // The first figure of a message is kept: later events of the same message repeat it.
        if self.messages.len() < MESSAGES_MAX {
            self.messages.entry(id.to_owned()).or_insert_with(|| tokens(usage));
        }
    }

    fn so_far(&self) -> Option<Usage> {
        let mut sum = Usage { estimated: true, ..Usage::default() };
        self.messages.values().for_each(|usage| sum.add(usage));
        (!self.messages.is_empty()).then_some(sum)
    }

    fn limited(&mut self, info: &Value) {
        let at = info["resetsAt"].as_u64().map(|seconds| Reset::AtMs(seconds.saturating_mul(1000)));
        self.limit = (info["status"] == "rejected").then(|| {
            let which = words(&info["rateLimitType"]);
            Problem::new(ProblemKind::RateLimit, format!("rate limit reached {which}").trim()).until(at)
        });
    }

    fn result(&mut self, event: &Value, line: &Line<'_>, out: &mut Outcome) {
        if out.complete {
            let note = format!("line {}: a second result in a row; the last one counts", line.number);
            out.drift(DriftKind::Repeated, note);
        }
        self.figures(event, out);
        for denial in event["permission_denials"].as_array().into_iter().flatten() {
            out.deny(words(&denial["tool_name"]), &denial["tool_input"].to_string());
        }
        match event["is_error"].as_bool() {
            Some(false) if event["subtype"] == "success" => {}
            // Covers an error and also `is_error: false` with another subtype than success, which is no answer either.
            Some(_) => return out.fail(self.failed(event)),
            None => return malformed(line, "a result that does not say is_error", out),
        }
        // A refused or cut answer also comes as a success, so the stop reason is checked on top.
        if let Some(problem) = stopped(words(&event["stop_reason"])) {
            out.fail(problem);
        }
        let Some(text) = event["result"].as_str() else {
            return malformed(line, "a result without its text", out);
        };
        out.complete = true;
        // Only this key counts as the answer by schema: the text beside it is a remark of the model.
        out.structured = Some(event["structured_output"].clone()).filter(|value| !value.is_null());
        out.say(text.to_owned());
    }

    fn figures(&mut self, event: &Value, out: &mut Outcome) {
        self.told.get_or_insert_default().add(&tokens(&event["usage"]));
        self.turns_told = self.turns_told.saturating_add(count(&event["num_turns"]));
        out.turns = out.turns.max(self.turns_told);
        // The tokens are those of this launch, but the cost is that of the whole session.
        if let Some(cost_micros) = micros(&event["total_cost_usd"]) {
            out.totals = Some(SessionTotals { cost_micros, ..SessionTotals::default() });
        }
    }

    fn failed(&mut self, event: &Value) -> Problem {
        let listed = event["errors"].as_array().and_then(|list| list.first()).and_then(Value::as_str);
        let said = event["result"].as_str().or(listed).unwrap_or("the result is an error");
        let kind = match (words(&event["subtype"]), words(&event["terminal_reason"])) {
            ("error_max_turns", _) => ProblemKind::MaxTurns,
            ("error_max_budget_usd", _) => ProblemKind::Budget,
            ("error_max_structured_output_retries", _) => ProblemKind::Unstructured,
            (_, reason) if reason.starts_with("aborted") => ProblemKind::Interrupted,
            _ => return self.refused(Problem::of_words(status(&event["api_error_status"]), said)),
        };
        Problem::new(kind, said)
    }

    /// Adds to a failed request the limit that an event before it announced.
    fn refused(&mut self, problem: Problem) -> Problem {
        // The event knows when the limit ends, which the message of the failed request does not always say.
        let limit = self.limit.take().filter(|_| {
            matches!(problem.kind, ProblemKind::RateLimit | ProblemKind::Quota | ProblemKind::Other)
        });
        match limit {
            Some(limit) => Problem { kind: ProblemKind::RateLimit, ..problem }.until(limit.reset),
            None => problem,
        }
    }
}

fn stopped(reason: &str) -> Option<Problem> {
    let (kind, text) = match reason {
        "refusal" => (ProblemKind::Refusal, "the model refused"),
        "max_tokens" => (ProblemKind::Truncated, "the answer is longer than the model may write"),
        "model_context_window_exceeded" => (ProblemKind::ContextLength, "the context window is full"),
        _ => return None,
    };
    Some(Problem::new(kind, text))
}

fn tokens(usage: &Value) -> Usage {
    let cached = count(&usage["cache_read_input_tokens"]);
    let written = count(&usage["cache_creation_input_tokens"]);
    // The program counts cached tokens apart; our `input` is everything that was read.
    let input = count(&usage["input_tokens"]).saturating_add(cached).saturating_add(written);
    Usage { input, cached, output: count(&usage["output_tokens"]), ..Usage::default() }
}
