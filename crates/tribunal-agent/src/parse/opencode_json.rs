//! OpenCode: `run --format json`. The final event is a `step_finish` whose reason is `stop`.
//!
//! A step that ends with tool calls is followed by another step. If none follows, the run ended because a permission
//! was refused, and there is no answer.

use super::lines::Line;
use super::outcome::{Outcome, TEXT_MAX, Usage};
use super::problem::{Problem, ProblemKind, Reset};
use super::reading::{Reads, count, event, malformed, micros, status, unknown, words};
use serde_json::Value;

/// Reads OpenCode's events, and keeps the text of the current step.
#[derive(Default)]
pub(super) struct Opencode {
    said: Vec<String>,
    bytes: usize,
    asked: Vec<String>,
}

impl Reads for Opencode {
    fn line(&mut self, line: &Line<'_>, out: &mut Outcome) {
        let Some(event) = event(line, out) else { return };
        if let Some(id) = event["sessionID"].as_str() {
            out.in_session(id);
        }
        let part = &event["part"];
        match words(&event["type"]) {
            "step_start" => {
                out.complete = false;
                out.turns += 1;
                // Only the text of the last step is the answer.
                self.said.clear();
                self.bytes = 0;
            }
            "text" => {
                out.complete = false;
                self.text(words(&part["text"]));
            }
            "tool_use" => tool(part, out),
            "reasoning" => {}
            "step_finish" => self.finish(part, line, out),
            "error" => out.fail(failed(&event["error"])),
            kind => unknown(line, "event", kind, out),
        }
    }

    fn stderr(&mut self, line: &str, _out: &mut Outcome) {
        if let Some(at) = line.find("permission requested: ")
            && line.contains("auto-rejecting")
            // The bound is that of the denials that are kept.
            && self.asked.len() < 100
        {
            self.asked.push(line[at + "permission requested: ".len()..].to_owned());
        }
    }

    fn end(&mut self, _exit: Option<i32>, out: &mut Outcome) {
        // Tool events tell of the same refusals; these lines add something only if there is no such event.
        if out.denials.is_empty() {
            for asked in &self.asked {
                let tool = asked.split([' ', '(']).next().unwrap_or_default();
                out.deny(tool, asked);
            }
        }
    }
}

impl Opencode {
    fn text(&mut self, text: &str) {
        // One byte over the bound is enough for `say` to refuse the message.
        if self.bytes <= TEXT_MAX {
            self.bytes += text.len() + 1;
            self.said.push(text.to_owned());
        }
    }

    fn finish(&mut self, part: &Value, line: &Line<'_>, out: &mut Outcome) {
        // Every step has its own figures, so they are added up.
        match part["tokens"].is_object() {
            true => out.usage.get_or_insert_default().add(&tokens(part)),
            false => malformed(line, "step_finish without its tokens", out),
        }
        match words(&part["reason"]) {
            "stop" => {
                out.complete = true;
                out.say(self.said.join("\n"));
            }
            // Not an end: another step follows, or the launch has no final event.
            "tool-calls" => {}
            "length" => out
                .fail(Problem::new(ProblemKind::Truncated, "the answer is longer than the model may write")),
            "content-filter" => out.fail(Problem::new(ProblemKind::Refusal, "the answer was filtered")),
            reason => unknown(line, "reason of a step's end", reason, out),
        }
    }
}

fn tool(part: &Value, out: &mut Outcome) {
    let (name, state) = (words(&part["tool"]), &part["state"]);
    out.complete = false;
    out.call(name, &state["input"]);
    let error = words(&state["error"]);
    let refused = error.contains("rejected permission") || error.contains("rule which prevents you");
    if state["status"] == "error" && refused {
        out.deny(name, error);
    }
}

fn failed(error: &Value) -> Problem {
    let data = &error["data"];
    let text = data["message"].as_str().unwrap_or(words(&error["name"]));
    let kind = match words(&error["name"]) {
        "ProviderAuthError" => ProblemKind::Auth,
        "MessageOutputLengthError" => ProblemKind::Truncated,
        "MessageAbortedError" => ProblemKind::Interrupted,
        "ContextOverflowError" => ProblemKind::ContextLength,
        _ => {
            // The body often names the cause that the message leaves out, but people should read the message.
            let body = words(&data["responseBody"]);
            let by_body = Problem::of_words(status(&data["statusCode"]), &format!("{text} {body}"));
            return by_body.saying(text).until(reset(&data["responseHeaders"]));
        }
    };
    Problem::new(kind, text)
}

fn reset(headers: &Value) -> Option<Reset> {
    let number = |name: &str| headers[name].as_str().and_then(|text| text.parse::<f64>().ok());
    // A server may send either header; the one in milliseconds is more exact.
    let ms = number("retry-after-ms").or_else(|| number("retry-after").map(|seconds| seconds * 1000.0))?;
    (0.0..1e15).contains(&ms).then_some(Reset::AfterMs(ms as u64))
}

fn tokens(part: &Value) -> Usage {
    let tokens = &part["tokens"];
    let cached = count(&tokens["cache"]["read"]);
    let written = count(&tokens["cache"]["write"]);
    let usage = Usage {
        // OpenCode counts cached tokens and thoughts apart; ours are part of the input and the output.
        input: count(&tokens["input"]).saturating_add(cached).saturating_add(written),
        output: count(&tokens["output"]).saturating_add(count(&tokens["reasoning"])),
        cached,
        ..Usage::default()
    };
    usage.costing(micros(&part["cost"]))
}
