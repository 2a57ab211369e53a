//! Gemini CLI: `-o stream-json`. The final event is `result`; the answer is the model's text after the last tool
//! result.
//!
//! The reason for an early end is only on standard error, or in the exit code. Both count only when the output itself
//! came to no result, because the program also reports failed requests that it repeated with success.

use super::lines::Line;
use super::outcome::{DriftKind, Outcome, TEXT_MAX, Usage};
use super::problem::{Problem, ProblemKind};
use super::reading::{Reads, Turns, count, event, malformed, status, unknown, words};
use serde_json::Value;
use std::collections::BTreeMap;

const TOOLS_MAX: usize = 10_000;
const BLOCK_MAX: usize = 64 * 1024;

/// Reads Gemini CLI's events, and keeps the text since the last tool result.
#[derive(Default)]
pub(super) struct GeminiStream {
    said: String,
    tools: BTreeMap<String, String>,
    turns: Turns,
    beside: Beside,
}

/// Reads what Gemini CLI writes to standard error: a JSON block when it gives up, and a line for every failed request.
///
/// A failed request that the program repeated with success leaves a line here, too. So nothing here fails a launch by
/// itself.
#[derive(Default)]
pub(super) struct Beside {
    block: String,
    last: Option<Problem>,
    retries: u64,
}

impl Reads for GeminiStream {
    fn line(&mut self, line: &Line<'_>, out: &mut Outcome) {
        let Some(event) = event(line, out) else { return };
        match words(&event["type"]) {
            "init" => {
                out.complete = false;
                out.in_session(words(&event["session_id"]));
            }
            "message" => self.message(&event, out),
            "tool_use" => {
                self.turns.acts(out);
                out.complete = false;
                let name = words(&event["tool_name"]);
                out.call(name, &event["parameters"]);
                if self.tools.len() < TOOLS_MAX {
                    self.tools.insert(words(&event["tool_id"]).to_owned(), name.to_owned());
                }
            }
            "tool_result" => self.tool_result(&event, out),
            "error" => told(&event, out),
            "result" => self.result(&event, line, out),
            kind => unknown(line, "event", kind, out),
        }
    }

    fn stderr(&mut self, line: &str, _out: &mut Outcome) {
        self.beside.line(line);
    }

    fn end(&mut self, _exit: Option<i32>, out: &mut Outcome) {
        self.beside.conclude(out);
    }
}

impl GeminiStream {
    fn message(&mut self, event: &Value, out: &mut Outcome) {
        if event["role"] != "assistant" {
            return;
        }
        self.turns.acts(out);
        out.complete = false;
        // One byte over the bound is enough for `say` to refuse the message.
        if self.said.len() <= TEXT_MAX {
            self.said.push_str(words(&event["content"]));
        }
    }

    fn tool_result(&mut self, event: &Value, out: &mut Outcome) {
        self.turns.answered();
        // Text before a tool result announces the call; it is not part of the answer.
        self.said.clear();
        let error = &event["error"];
        // Other errors of a tool are the model's own business; only refusals are facts about our rules.
        let refused = ["permission", "policy"].iter().any(|word| words(&error["type"]).contains(word))
            || words(&error["message"]).starts_with("Access denied");
        if event["status"] == "error" && refused {
            let id = words(&event["tool_id"]);
            let tool = self.tools.get(id).map_or(id, String::as_str);
            out.deny(tool, words(&error["message"]));
        }
    }

    fn result(&mut self, event: &Value, line: &Line<'_>, out: &mut Outcome) {
        if out.complete {
            let note = format!("line {}: a second result; the last one counts", line.number);
            out.drift(DriftKind::Repeated, note);
        }
        let stats = &event["stats"];
        if stats["input_tokens"].is_u64() {
            let input = count(&stats["input_tokens"]);
            // Thoughts are part of the total only.
            let output =
                count(&stats["total_tokens"]).saturating_sub(input).max(count(&stats["output_tokens"]));
            out.usage = Some(Usage { input, output, cached: count(&stats["cached"]), ..Usage::default() });
        }
        match words(&event["status"]) {
            "success" => {
                out.complete = true;
                out.say(std::mem::take(&mut self.said));
            }
            "error" => out.fail(named(&event["error"])),
            _ => malformed(line, "a result that does not say its status", out),
        }
    }
}

/// Takes an error or a warning. A model caught in a loop has given no answer, whatever the result says.
fn told(event: &Value, out: &mut Outcome) {
    let text = words(&event["message"]);
    let looped = text.to_lowercase().contains("loop detected");
    if event["severity"] == "error" || looped {
        out.fail(named(event));
    }
}

/// Finds the problem that an error object names by its type, its code or its words.
pub(super) fn named(error: &Value) -> Problem {
    let text = words(&error["message"]);
    let kind = match words(&error["type"]) {
        "FatalTurnLimitedError" => ProblemKind::MaxTurns,
        "FatalAuthenticationError" => ProblemKind::Auth,
        "FatalCancellationError" => ProblemKind::Interrupted,
        "FatalInputError" | "FatalConfigError" | "FatalSandboxError" | "FatalUntrustedWorkspaceError" => {
            ProblemKind::Setup
        }
        _ if text.to_lowercase().contains("max session turns")
            || text.starts_with("Maximum session turns") =>
        {
            ProblemKind::MaxTurns
        }
        _ => return Problem::of_words(status(&error["code"]), text),
    };
    Problem::new(kind, text)
}

impl Beside {
    /// Takes a line of standard error.
    pub(super) fn line(&mut self, line: &str) {
        // A block begins with a brace on a line of its own.
        if line == "{" {
            self.block.clear();
            self.block.push_str(line);
        } else if !self.block.is_empty() {
            self.block.push_str(line);
            if line == "}" {
                self.given_up();
            }
            // A block that never ends is given up, so that memory stays bounded.
            if self.block.len() > BLOCK_MAX {
                self.block.clear();
            }
        }
        let Some((before, sent)) = line.split_once("_ApiError: ") else { return };
        if let Ok(sent) = serde_json::from_str::<Value>(sent) {
            self.retries += u64::from(before.contains("Retrying"));
            self.last = Some(named(&sent["error"]));
        }
    }

    /// Takes a block that is complete. A block that is not yet valid may go on.
    fn given_up(&mut self) {
        let Ok(block) = serde_json::from_str::<Value>(&self.block) else { return };
        self.block.clear();
        if !block["error"].is_object() {
            return;
        }
        let problem = named(&block["error"]);
        // The block knows less about a failed request than the line before it.
        if problem.kind != ProblemKind::Other || self.last.is_none() {
            self.last = Some(problem);
        }
    }

    /// Draws the conclusion. Standard error counts only if the output itself came to no end.
    pub(super) fn conclude(&mut self, out: &mut Outcome) {
        out.retries += self.retries;
        if self.retries > 0 {
            out.last_retry = self.last.clone();
        }
        if let Some(problem) = self.last.take().filter(|_| !out.complete) {
            out.fail(problem);
        }
    }
}
