//! Gemini CLI: `-o json`, one document. The evidence of an end is a whole document with its response and no error.
//!
//! The document carries less than the stream: refused calls are only counted in it. The built-in row uses the stream.

use super::gemini_stream::{Beside, named};
use super::json_document::document;
use super::lines::Line;
use super::outcome::{DriftKind, Outcome, Usage};
use super::reading::{Reads, count, words};
use super::text::Whole;
use serde_json::Value;

/// Reads Gemini CLI's document, which is complete only at the end of the output.
#[derive(Default)]
pub(super) struct GeminiJson {
    whole: Whole,
    beside: Beside,
}

impl Reads for GeminiJson {
    fn line(&mut self, line: &Line<'_>, _out: &mut Outcome) {
        self.whole.take(line);
    }

    fn stderr(&mut self, line: &str, _out: &mut Outcome) {
        self.beside.line(line);
    }

    fn end(&mut self, _exit: Option<i32>, out: &mut Outcome) {
        if let Some(document) = document(&self.whole, out) {
            read(&document, out);
        }
        // Last, because what stands beside the output counts only if the document gave no answer.
        self.beside.conclude(out);
    }
}

fn read(document: &Value, out: &mut Outcome) {
    if let Some(id) = document["session_id"].as_str() {
        out.in_session(id);
    }
    // The program may use several models in one launch, and their figures add up.
    if let Some(models) = document["stats"]["models"].as_object() {
        let mut usage = Usage::default();
        let names: Vec<&str> = models.keys().map(String::as_str).collect();
        out.by_model(&names.join(", "));
        models.values().for_each(|model| usage.add(&tokens(&model["tokens"])));
        out.usage = Some(usage);
        let requests = models.values().map(|model| count(&model["api"]["totalRequests"]));
        out.turns = requests.fold(0, u64::saturating_add);
    }
    for (name, tool) in document["stats"]["tools"]["byName"].as_object().into_iter().flatten() {
        // The document says how often, not what. The bound is that of the denials that are kept.
        for _ in 0..count(&tool["decisions"]["reject"]).min(100) {
            out.deny(name, "rejected");
        }
    }
    // A document can hold an error and a response; then the error decides.
    if document["error"].is_object() {
        return out.fail(named(&document["error"]));
    }
    match document["response"].is_string() {
        true => {
            out.complete = true;
            out.say(words(&document["response"]).to_owned());
        }
        false => out.drift(DriftKind::Malformed, "a document without its response".to_owned()),
    }
}

fn tokens(tokens: &Value) -> Usage {
    Usage {
        input: count(&tokens["prompt"]),
        output: count(&tokens["candidates"]).saturating_add(count(&tokens["thoughts"])),
        cached: count(&tokens["cached"]),
        ..Usage::default()
    }
}
