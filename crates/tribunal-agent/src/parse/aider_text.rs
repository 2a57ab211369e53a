//! Aider: `--no-pretty` text. The evidence of an end is a `Tokens:` line after the answer, no error after that line,
//! and exit code 0. The exit code alone proves nothing: it is 0 when the model's server failed, too.
//!
//! The output has no frame around the answer, so an answer can imitate a `Tokens:` line. It can add to the figures that
//! way, but it cannot hide an error that comes after it.

use super::lines::Line;
use super::outcome::{DriftKind, Outcome, TEXT_MAX, Usage};
use super::problem::{Problem, ProblemKind, Reset};
use super::reading::Reads;
use serde_json::Value;

/// Reads Aider's text. The answer is known only once a `Tokens:` line has followed it.
#[derive(Default)]
pub(super) struct Aider {
    place: Place,
    said: String,
    answer: usize,
    ended: bool,
    trouble: Option<Problem>,
}

/// The part of the output that a line belongs to.
#[derive(Default, PartialEq)]
enum Place {
    #[default]
    BeforeBanner,
    Banner,
    Talk,
}

impl Reads for Aider {
    fn line(&mut self, line: &Line<'_>, out: &mut Outcome) {
        let (text, replaced) = line.text();
        if replaced {
            let note = format!("line {}: not UTF-8, unreadable bytes replaced", line.number);
            out.drift(DriftKind::NotUtf8, note);
        }
        // The line may have held a part of the answer, and an answer read in part is not an answer.
        if line.too_long {
            let message = "a line is too long to be read whole";
            return out.fail(Problem::new(ProblemKind::Unreadable, message));
        }
        match self.place {
            Place::BeforeBanner if text.starts_with("Aider v") => self.place = Place::Banner,
            Place::Banner if text.trim().is_empty() => self.place = Place::Talk,
            Place::BeforeBanner | Place::Banner => {
                let named = text.strip_prefix("Main model: ").or_else(|| text.strip_prefix("Model: "));
                if let Some(name) = named.and_then(|rest| rest.split_whitespace().next()) {
                    out.by_model(name);
                }
            }
            // Nothing before the first blank line belongs to the answer: the banner may name anything.
            Place::Talk => self.talk(&text, out),
        }
    }

    fn end(&mut self, exit: Option<i32>, out: &mut Outcome) {
        if self.place == Place::BeforeBanner {
            out.drift(DriftKind::Malformed, "no banner, so no place where the answer begins".to_owned());
        }
        // Text after the last `Tokens:` line is not part of any answer.
        if self.ended {
            self.said.truncate(self.answer);
            out.say(self.said.trim().to_owned());
        }
        if let Some(problem) = self.trouble.take() {
            out.fail(problem);
        }
        out.complete = self.ended && exit == Some(0) && out.error.is_none();
    }
}

impl Aider {
    fn talk(&mut self, text: &str, out: &mut Outcome) {
        if let Some(usage) = tokens(text) {
            // A figure after an error means that the request was repeated and answered.
            self.trouble = None;
            self.ended = true;
            self.answer = self.said.len();
            out.turns += 1;
            out.usage.get_or_insert_default().add(&usage);
        } else if let Some(problem) = trouble(text) {
            // The first error is the cause; those after it only follow from it.
            if self.trouble.is_none() {
                self.trouble = Some(problem);
            }
        } else if let Some(rest) = text.strip_prefix("Retrying in ")
            && let Some(problem) = &self.trouble
        {
            out.retry(problem.clone().until(seconds(rest)));
        } else if let Some(file) = text.strip_prefix("Did not apply edit to ") {
            out.deny("edit", file);
        }
        // One byte over the bound is enough for `say` to refuse the message.
        if self.said.len() <= TEXT_MAX {
            self.said.push_str(text);
            self.said.push('\n');
        }
    }
}

/// Recognises an error of the model library, or Aider's own words for a full context.
///
/// Other lines that mention an error are ordinary text: an answer about errors must not fail for its subject.
fn trouble(text: &str) -> Option<Problem> {
    let full = text.contains("has hit a token limit") || text.contains("exhausted context window");
    if full {
        return Some(Problem::new(ProblemKind::ContextLength, text));
    }
    let text = library_words(text)?;
    let name = text.strip_prefix("litellm.")?.split(':').next()?;
    let named = name.ends_with("Error") || ["Timeout", "BadRequest"].contains(&name);
    let kind = match name {
        "NotFoundError" => ProblemKind::BadRequest,
        "Timeout" => ProblemKind::Overloaded,
        // A name the library does not use for errors is ordinary text of the answer.
        _ => return named.then(|| Problem::of_words(None, text)),
    };
    Some(Problem::new(kind, text))
}

/// Finds the words of the model library in a line. If an answer broke off, they stand in the answer's last line and
/// repeat their name.
///
/// The repeated name is required there, so that an answer which only mentions the library is not taken for an error.
fn library_words(text: &str) -> Option<&str> {
    if text.starts_with("litellm.") {
        return Some(text);
    }
    let words = text.get(text.find("litellm.")?..)?;
    let name = words.strip_prefix("litellm.")?.split(':').next()?;
    words.contains(&format!("{name}: {name}: ")).then_some(words)
}

fn seconds(rest: &str) -> Option<Reset> {
    let number: f64 = rest.split(' ').next()?.parse().ok()?;
    (0.0..1e9).contains(&number).then_some(Reset::AfterMs((number * 1000.0) as u64))
}

/// Reads a line like `Tokens: 8.3k sent, 2k cache hit, 345 received. Cost: $0.0065 message, $0.013 session.`
fn tokens(text: &str) -> Option<Usage> {
    let (figures, rest) = text.strip_prefix("Tokens: ")?.split_once(" received.")?;
    // Aider counts with a tokenizer of its own and rounds from 1,000 on.
    let mut usage = Usage { estimated: true, ..Usage::default() };
    let mut sent = false;
    for figure in format!("{figures} received").split(", ") {
        let (number, what) = figure.split_once(' ')?;
        let number = amount(number)?;
        match what {
            "sent" => {
                usage.input = number;
                sent = true;
            }
            "received" => usage.output = number,
            "cache hit" => usage.cached = number,
            "cache write" => {}
            // A figure of an unknown kind makes the line text of the answer: it must not end the answer by accident.
            _ => return None,
        }
    }
    let cost = rest.split_once("Cost: $").and_then(|(_, cost)| cost.split(' ').next()?.parse::<f64>().ok());
    sent.then(|| usage.costing(cost.and_then(|cost| super::reading::micros(&Value::from(cost)))))
}

/// Reads a number such as `345`, `8.3k` or `1.2M`.
fn amount(text: &str) -> Option<u64> {
    if let Ok(exact) = text.parse::<u64>() {
        return Some(exact);
    }
    let (number, factor) = match text.strip_suffix(['k', 'K']) {
        Some(number) => (number, 1e3),
        None => (text.strip_suffix(['m', 'M'])?, 1e6),
    };
    let value = number.parse::<f64>().ok()? * factor;
    (0.0..1e15).contains(&value).then_some(value.round() as u64)
}
