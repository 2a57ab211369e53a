//! Codex: `exec --json`. The final event is `turn.completed`. Its figures are those of the whole thread, resumed parts
//! included, so they become totals. An `error` that says it reconnects is a retry, not a failure.
//!
//! Items arrive when they start and again when they end, in either combination. So a call is recognised by its id, and
//! counted once.

use super::lines::Line;
use super::outcome::{DriftKind, Outcome};
use super::problem::{Problem, ProblemKind};
use super::reading::{Reads, Turns, count, event, malformed, status, unknown, words};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use tribunal_core::usage::SessionTotals;

const ITEMS_MAX: usize = 20_000;
const RETRY: &str = "Reconnecting... ";

/// Reads Codex's events, and keeps the last message until the turn is complete.
#[derive(Default)]
pub(super) struct Codex {
    message: String,
    begun: BTreeSet<String>,
    turns: Turns,
}

impl Reads for Codex {
    fn line(&mut self, line: &Line<'_>, out: &mut Outcome) {
        let Some(event) = event(line, out) else { return };
        match words(&event["type"]) {
            "thread.started" => out.in_session(words(&event["thread_id"])),
            "turn.started" => {
                out.complete = false;
                // The answer is the last message of the last turn; one of an earlier turn must not stand in for it.
                self.message.clear();
            }
            "item.started" => self.item(&event["item"], false, line, out),
            "item.completed" => self.item(&event["item"], true, line, out),
            "item.updated" | "item.plan.delta" => {}
            "turn.completed" => self.completed(&event["usage"], line, out),
            "turn.failed" => out.fail(problem(words(&event["error"]["message"]))),
            "error" => match words(&event["message"]) {
                text if text.starts_with(RETRY) => out.retry(problem(&text[RETRY.len()..])),
                text => out.fail(problem(text)),
            },
            "request_user_input" => {
                // A launch has nobody who could answer, so waiting for an answer would only end in a timeout.
                out.fail(Problem::new(ProblemKind::Interrupted, "it asked a question nobody can answer"));
            }
            kind => unknown(line, "event", kind, out),
        }
    }

    // A patch that the sandbox refused appears in no event, only here.
    fn stderr(&mut self, line: &str, out: &mut Outcome) {
        if let Some(at) = line.find("patch rejected:") {
            out.deny("apply_patch", &line[at..]);
        }
    }
}

impl Codex {
    fn item(&mut self, item: &Value, ended: bool, line: &Line<'_>, out: &mut Outcome) {
        out.complete = false;
        let id = words(&item["id"]);
        let name = match words(&item["type"]) {
            "agent_message" => {
                self.turns.acts(out);
                if ended {
                    words(&item["text"]).clone_into(&mut self.message);
                }
                return;
            }
            "reasoning" | "todo_list" | "plan" => return self.turns.acts(out),
            // This is a notice to people and not fatal: the end of the turn says what came of it.
            "error" => return,
            "mcp_tool_call" => format!("mcp__{}__{}", words(&item["server"]), words(&item["tool"])),
            kind @ ("command_execution" | "file_change" | "web_search" | "collab_tool_call") => {
                kind.to_owned()
            }
            kind => return unknown(line, "item", kind, out),
        };
        let new = !self.begun.contains(id);
        if new {
            self.turns.acts(out);
            out.call(&name, &asked(item));
            // Over the bound a call may be counted twice, which is better than keeping ids without end.
            if self.begun.len() < ITEMS_MAX {
                self.begun.insert(id.to_owned());
            }
        }
        if ended {
            self.turns.answered();
            denied(item, &name, out);
        }
    }

    fn completed(&mut self, usage: &Value, line: &Line<'_>, out: &mut Outcome) {
        if out.complete {
            let note = format!("line {}: a second turn.completed in a row; the last one counts", line.number);
            out.drift(DriftKind::Repeated, note);
        }
        out.complete = true;
        out.say(self.message.clone());
        // The turn did end, so the answer stands; only its figures are missing.
        if !usage["input_tokens"].is_u64() {
            return malformed(line, "turn.completed without its usage", out);
        }
        out.totals = Some(SessionTotals {
            input: count(&usage["input_tokens"]),
            output: count(&usage["output_tokens"]),
            cached: count(&usage["cached_input_tokens"]),
            cost_micros: 0,
        });
    }
}

/// Returns the arguments of a call without its results, so that the same call has the same digest.
fn asked(item: &Value) -> Value {
    json!([item["command"], item["changes"], item["arguments"], item["query"], item["prompt"]])
}

fn denied(item: &Value, name: &str, out: &mut Outcome) {
    let message = words(&item["error"]["message"]);
    // Refusals have no code of their own, so their words are recognised.
    let by_policy = message.contains("requires approval") || message.contains("rejected by user");
    if item["status"] == "declined" || by_policy {
        let detail = if message.is_empty() { words(&item["command"]) } else { message };
        out.deny(name, detail);
    }
}

/// Classifies an error message, which is plain words or the JSON that the model's server sent.
fn problem(message: &str) -> Problem {
    let Ok(sent) = serde_json::from_str::<Value>(message) else {
        return Problem::of_words(None, message);
    };
    let error = &sent["error"];
    let code = [words(&error["code"]), words(&error["type"])].join(" ");
    let by_code = Problem::of_words(status(&sent["status"]), &format!("{} {code}", words(&error["message"])));
    by_code.saying(words(&error["message"]))
}
