//! What one launch came to, as data. Everything that an agent can make long is bounded here, and nothing is dropped
//! without a count.
//!
//! Every field has a default when it is read, so a record of an older version, which lacks a field, stays readable.

use super::lines::quote;
use super::problem::{Problem, ProblemKind, printable};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tribunal_core::usage::SessionTotals;

// The bounds keep the record of one launch small, whatever the agent does. `docs/design/adapters.md` lists them.
pub(super) const DRIFT_MAX: usize = 20;
const CALLS_MAX: usize = 10_000;
const DENIALS_MAX: usize = 100;
const NAME_MAX: usize = 200;
/// The largest final message in bytes. A longer one is refused as a whole.
pub(super) const TEXT_MAX: usize = 4 * 1024 * 1024;

/// What one launch came to, by the evidence it left.
///
/// It records facts and judges nothing: use `is_answer` to ask whether there is an answer, and `why_not` for the reason
/// why not. Whether an expected change or report exists is for the engine to find out.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Outcome {
    /// Whether the agent finished its answer: the final event exists.
    pub complete: bool,
    /// The final message, exactly as the agent wrote it.
    pub final_text: Option<String>,
    /// The answer by the schema it was given, where the program has a place for it.
    pub structured: Option<Value>,
    /// The tool calls that the agent reported, in order.
    pub reports: Vec<ToolCall>,
    /// What the agent says went wrong, or why its output cannot be read.
    pub error: Option<String>,
    /// The same failure as a kind with its details.
    pub problem: Option<Problem>,
    /// Tokens and cost of this launch, by the program's own account.
    pub usage: Option<Usage>,
    /// The session's counters, if the program tells only those. A resumed launch needs them to find its own share.
    pub totals: Option<SessionTotals>,
    /// The session id, for resuming.
    pub session: Option<String>,
    /// The model that answered, if the program names it.
    pub model: Option<String>,
    /// The number of the model's replies; the program's own count if it gives one.
    pub turns: u64,
    /// The tool calls seen in the output, in order.
    pub calls: Vec<SeenCall>,
    /// The number of calls beyond the bound.
    pub calls_more: u64,
    /// What the agent tried and was not allowed to do.
    pub denials: Vec<Denial>,
    /// The number of denials beyond the bound.
    pub denials_more: u64,
    /// How often the program repeated a request to its model.
    pub retries: u64,
    /// The reason for the last repeated request.
    pub last_retry: Option<Problem>,
    /// Surprises of the parser. They are warnings and never failures.
    pub drift: Vec<Drift>,
    /// The number of drift notes beyond the bound.
    pub drift_more: u64,
}

/// One tool call that the agent reported.
///
/// Its arguments are kept as JSON. What they mean is read by `tribunal-findings`, with the same rules as a final
/// message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The tool's name, one of [`super::TOOLS`].
    pub tool: String,
    /// The arguments of the call.
    #[serde(default)]
    pub args: serde_json::Map<String, Value>,
}

/// One tool call that an agent made. The sequence of calls shows whether the agent makes progress.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenCall {
    /// The tool's name as the program gives it.
    pub name: String,
    /// A digest of name and arguments: equal calls have equal digests.
    pub digest: u64,
}

/// Something that the agent tried and was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Denial {
    /// The tool's name as the program gives it.
    pub tool: String,
    /// What the agent wanted, or what it was told, in short.
    pub detail: String,
}

/// Tokens and cost of one launch. `input` counts everything read, `cached` the part of it that came from a cache, and
/// `output` everything written, thoughts included.
///
/// Programs count differently; every parser converts to this meaning. An unknown cost stays `None` and is never shown
/// as zero.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens read, including those from a cache.
    #[serde(default)]
    pub input: u64,
    /// Tokens written, with thoughts included.
    #[serde(default)]
    pub output: u64,
    /// The part of the tokens read that came from a cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cached: u64,
    /// The cost in dollars, if the program tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// The same cost in millionths of a dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
    /// Whether the figures are rounded or incomplete.
    #[serde(default, skip_serializing_if = "is_false")]
    pub estimated: bool,
}

/// The kind of surprise that a drift note reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DriftKind {
    /// An event, item or part of a kind the parser does not know.
    UnknownEvent,
    /// A line that is not an event at all.
    NoEvent,
    /// A last line that ends in the middle.
    CutOff,
    /// A known event that lacks something or has it in another shape.
    Malformed,
    /// A line that is longer than the bound.
    TooLong,
    /// Bytes that are not UTF-8 were replaced.
    NotUtf8,
    /// A second final event after the first.
    Repeated,
    /// A counter of the session went down.
    Counter,
    /// A reported tool that does not exist.
    UnknownTool,
    /// An exit code that contradicts the final event.
    Exit,
}

/// Something that a parser did not expect: a warning, never a failure.
///
/// Programs change their output without notice. A note makes that visible, while the launch goes on with the events
/// that are understood.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drift {
    /// The kind of surprise that the note reports.
    pub kind: DriftKind,
    /// Where it is and what it is, in printable words.
    pub note: String,
}

impl std::fmt::Display for Drift {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.note)
    }
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

fn is_false(flag: &bool) -> bool {
    !*flag
}

impl Usage {
    /// Sets the cost, in millionths of a dollar.
    pub(super) fn costing(mut self, micros: Option<u64>) -> Self {
        self.cost_micros = micros;
        self.cost_usd = micros.map(|micros| micros as f64 / 1e6);
        self
    }

    /// Adds the figures of another part of the same launch.
    pub(super) fn add(&mut self, other: &Usage) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cached = self.cached.saturating_add(other.cached);
        self.estimated |= other.estimated;
        // An unknown cost on both sides stays unknown; adding zeros would claim that it was free.
        let cost = match (self.cost_micros, other.cost_micros) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
        };
        *self = self.costing(cost);
    }
}

impl Outcome {
    /// Whether this is an answer: complete, and nothing went wrong.
    ///
    /// Both are needed: some programs print an error and then a final event all the same.
    pub fn is_answer(&self) -> bool {
        self.complete && self.error.is_none()
    }

    /// Returns the reason why this is not an answer; `None` if it is one.
    ///
    /// The kind decides what the engine does next, so an answer without a known kind still gets one.
    pub fn why_not(&self) -> Option<Problem> {
        if self.is_answer() {
            return None;
        }
        let known = self.problem.clone();
        let told = || self.error.as_ref().map(|text| Problem::new(ProblemKind::Other, text));
        // No error and no final event: the output broke off, or the process was killed.
        let cut = || Problem::new(ProblemKind::Truncated, "it ended without its final event");
        Some(known.or_else(told).unwrap_or_else(cut))
    }

    /// How many times in a row the last call was made; 0 if there was no call.
    ///
    /// A growing number is the sign of an agent that goes in circles, and the watchdog ends such a launch.
    pub fn same_call_again(&self) -> usize {
        let Some(last) = self.calls.last() else { return 0 };
        self.calls.iter().rev().take_while(|call| *call == last).count()
    }

    pub(super) fn drift(&mut self, kind: DriftKind, note: String) {
        if self.drift.len() < DRIFT_MAX {
            self.drift.push(Drift { kind, note });
        } else {
            self.drift_more += 1;
        }
    }

    // The first problem is the cause, and later ones are its consequences.
    pub(super) fn fail(&mut self, problem: Problem) {
        if self.error.is_none() {
            self.error = Some(problem.message.clone());
            self.problem = Some(problem);
        }
    }

    pub(super) fn retry(&mut self, problem: Problem) {
        self.retries += 1;
        self.last_retry = Some(problem);
    }

    pub(super) fn call(&mut self, name: &str, args: &Value) {
        if self.calls.len() < CALLS_MAX {
            let name = printable(name, NAME_MAX);
            let digest = digest(&name, args);
            self.calls.push(SeenCall { name, digest });
        } else {
            self.calls_more += 1;
        }
    }

    pub(super) fn deny(&mut self, tool: &str, detail: &str) {
        if self.denials.len() < DENIALS_MAX {
            let tool = printable(tool, NAME_MAX);
            let detail = printable(detail, NAME_MAX);
            self.denials.push(Denial { tool, detail });
        } else {
            self.denials_more += 1;
        }
    }

    /// Keeps the name of the model that answers, unless it is a program's label for messages of its own.
    pub(super) fn by_model(&mut self, name: &str) {
        // Claude Code labels its own messages `<synthetic>`.
        let fits = !name.is_empty() && name.len() <= 200 && !name.starts_with('<');
        if fits && self.model.as_deref() != Some(name) {
            self.model = Some(name.to_owned());
        }
    }

    /// Keeps a session id if it has the form of one, because it will be an argument of the next launch.
    pub(super) fn in_session(&mut self, id: &str) {
        if self.session.as_deref() == Some(id) {
            return;
        }
        match is_session(id) {
            true => self.session = Some(id.to_owned()),
            false => self.drift(DriftKind::Malformed, format!("{} is no session id", quote(id))),
        }
    }

    /// Keeps the final message, unless it is too long to be kept whole.
    pub(super) fn say(&mut self, text: String) {
        if text.len() > TEXT_MAX {
            // A verdict read in part could drop its worst finding.
            let message = format!("the final message has {} bytes, more than {TEXT_MAX}", text.len());
            return self.fail(Problem::new(ProblemKind::Unreadable, message));
        }
        self.final_text = Some(text);
    }
}

/// Whether a text can be a session id. It must never look like an option or a path.
pub(crate) fn is_session(id: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.:".contains(&b);
    !id.is_empty() && id.len() <= 128 && id.bytes().all(plain) && !id.starts_with(['-', '.'])
}

/// Hashes a call over its name and the JSON of its arguments with sorted keys.
///
/// The hash is stable over releases, which a journal needs. Sorting makes a call equal to one whose arguments come in
/// another order.
fn digest(name: &str, args: &Value) -> u64 {
    let mut args = args.clone();
    args.sort_all_objects();
    let args = args.to_string();
    // The zero byte keeps a name and its arguments apart: no two different pairs give the same bytes.
    tribunal_core::hash::fnv1a(name.bytes().chain([0]).chain(args.bytes()))
}
