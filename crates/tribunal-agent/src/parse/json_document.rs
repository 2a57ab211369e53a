//! One JSON document as the whole output. A row says by JSON pointers where things are in it.
//!
//! The evidence of an end is a whole document with its text in place, no error, and exit code 0. The exit code is
//! needed here because a foreign program's document has no event that would mark the end.

use super::lines::Line;
use super::outcome::{DriftKind, Outcome, Usage};
use super::problem::{Problem, ProblemKind};
use super::reading::{Reads, micros};
use super::text::Whole;
use serde_json::Value;

/// Where things are in the document, as JSON pointers.
///
/// The defaults fit programs that print a `result` with a `usage` beside it, and a row sets only those that differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonFields {
    /// Points to the final message, which must be a text.
    pub text: String,
    /// Points to the error. It is present, and neither null, false nor empty, only if something went wrong.
    pub error: String,
    /// Points to the session id.
    pub session: String,
    /// Points to the number of tokens read.
    pub input: String,
    /// Points to the number of tokens written.
    pub output: String,
    /// Points to the number of tokens from a cache.
    pub cached: String,
    /// Points to the cost in dollars.
    pub cost_usd: String,
    /// Points to the answer by schema.
    pub structured: String,
}

impl Default for JsonFields {
    fn default() -> Self {
        Self {
            text: "/result".to_owned(),
            error: "/error".to_owned(),
            session: "/session_id".to_owned(),
            input: "/usage/input_tokens".to_owned(),
            output: "/usage/output_tokens".to_owned(),
            cached: "/usage/cached_tokens".to_owned(),
            cost_usd: "/cost_usd".to_owned(),
            structured: "/structured_output".to_owned(),
        }
    }
}

impl JsonFields {
    /// The names that a row may set.
    pub(crate) const NAMES: [&'static str; 8] =
        ["text", "error", "session", "input", "output", "cached", "cost_usd", "structured"];

    /// Sets a pointer by its name; `false` if there is no such name.
    pub(crate) fn set(&mut self, name: &str, pointer: &str) -> bool {
        let place = match name {
            "text" => &mut self.text,
            "error" => &mut self.error,
            "session" => &mut self.session,
            "input" => &mut self.input,
            "output" => &mut self.output,
            "cached" => &mut self.cached,
            "cost_usd" => &mut self.cost_usd,
            "structured" => &mut self.structured,
            _ => return false,
        };
        pointer.clone_into(place);
        true
    }
}

/// Reads an output that is one JSON document.
pub(super) struct JsonDocument {
    whole: Whole,
    fields: JsonFields,
}

impl JsonDocument {
    pub(super) fn new(fields: JsonFields) -> Self {
        Self { whole: Whole::default(), fields }
    }
}

impl Reads for JsonDocument {
    fn line(&mut self, line: &Line<'_>, _out: &mut Outcome) {
        self.whole.take(line);
    }

    fn end(&mut self, exit: Option<i32>, out: &mut Outcome) {
        if let Some(document) = document(&self.whole, out) {
            self.read(&document, exit, out);
        }
        if let Some(code) = exit.filter(|code| *code != 0) {
            out.fail(Problem::new(ProblemKind::Other, format!("exit code {code}")));
        }
    }
}

impl JsonDocument {
    fn read(&self, document: &Value, exit: Option<i32>, out: &mut Outcome) {
        let at = |pointer: &str| document.pointer(pointer).filter(|value| !value.is_null());
        if let Some(id) = at(&self.fields.session).and_then(Value::as_str) {
            out.in_session(id);
        }
        let number = |pointer: &str| at(pointer).and_then(Value::as_u64);
        let cost = at(&self.fields.cost_usd).and_then(micros);
        let (input, output) = (number(&self.fields.input), number(&self.fields.output));
        // No figure at all means unknown, which must not be shown as zero.
        if input.is_some() || output.is_some() || cost.is_some() {
            let cached = number(&self.fields.cached).unwrap_or(0);
            let usage =
                Usage { input: input.unwrap_or(0), output: output.unwrap_or(0), cached, ..Usage::default() };
            out.usage = Some(usage.costing(cost));
        }
        out.structured = at(&self.fields.structured).cloned();
        if let Some(error) = at(&self.fields.error).filter(|value| is_set(value)) {
            let text =
                error.as_str().or(error["message"].as_str()).map_or_else(|| error.to_string(), str::to_owned);
            out.fail(Problem::of_words(super::reading::status(&error["code"]), &text));
        }
        match at(&self.fields.text).and_then(Value::as_str) {
            // The text is kept in any case, but only with exit code 0 is it an answer.
            Some(text) => {
                out.complete = exit == Some(0);
                out.say(text.to_owned());
            }
            None => out.drift(DriftKind::Malformed, format!("no text at {}", self.fields.text)),
        }
    }
}

fn is_set(value: &Value) -> bool {
    // Programs write "no error" in all of these forms.
    !matches!(value, Value::Null | Value::Bool(false)) && value != "" && value != &Value::Array(Vec::new())
}

/// Parses the output as a document; anything else leaves a drift note.
pub(super) fn document(whole: &Whole, out: &mut Outcome) -> Option<Value> {
    let text = whole.text(out);
    if text.trim().is_empty() {
        return None;
    }
    match serde_json::from_str::<Value>(&text) {
        Ok(value) if value.is_object() => Some(value),
        Ok(_) => {
            out.drift(DriftKind::NoEvent, "the output is no JSON object".to_owned());
            None
        }
        Err(error) => {
            // An early end is told apart from other text, because it hints at a killed program.
            let kind = if error.is_eof() { DriftKind::CutOff } else { DriftKind::NoEvent };
            out.drift(kind, format!("the output is no JSON document: {error}"));
            None
        }
    }
}
