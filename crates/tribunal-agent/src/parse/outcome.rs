//! What one launch came to, as data. Everything an agent can make long is bounded here; nothing is dropped without a
//! count.

use super::lines::quote;
use super::problem::{Problem, ProblemKind, printable};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tribunal_core::usage::SessionTotals;

pub(super) const DRIFT_MAX: usize = 20;
const CALLS_MAX: usize = 10_000;
const DENIALS_MAX: usize = 100;
const NAME_MAX: usize = 200;
/// Bytes of a final message.
pub(super) const TEXT_MAX: usize = 4 * 1024 * 1024;

/// What one launch came to, by the evidence it left.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Outcome {
    /// Whether the agent finished its answer: the final event is there.
    pub complete: bool,
    /// The final message, as the agent wrote it.
    pub final_text: Option<String>,
    /// The answer by the schema it was given, where the program has a place for it.
    pub structured: Option<Value>,
    /// The tool calls it reported, in order.
    pub reports: Vec<ToolCall>,
    /// What it, or its unreadable output, says went wrong.
    pub error: Option<String>,
    /// The same, as a kind with its details.
    pub problem: Option<Problem>,
    /// Tokens and cost of this launch by its own account.
    pub usage: Option<Usage>,
    /// The session's counters where the program only tells those; a resumed launch needs them as [`SessionTotals`].
    pub totals: Option<SessionTotals>,
    /// Its session, for resuming.
    pub session: Option<String>,
    /// The model that answered, where the program names it.
    pub model: Option<String>,
    /// Replies of the model so far; the program's own count where it gives one.
    pub turns: u64,
    /// The tool calls seen in its output, in order.
    pub calls: Vec<SeenCall>,
    /// How many more calls there were.
    pub calls_more: u64,
    /// What it was not allowed to do.
    pub denials: Vec<Denial>,
    /// How many more denials there were.
    pub denials_more: u64,
    /// How often the program tried a model request again.
    pub retries: u64,
    /// Why it last tried again.
    pub last_retry: Option<Problem>,
    /// What the parser did not expect; warnings, never failures.
    pub drift: Vec<Drift>,
    /// How many more drift notes there were.
    pub drift_more: u64,
}

/// One reported tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The tool's name, one of [`super::TOOLS`].
    pub tool: String,
    /// Its arguments.
    #[serde(default)]
    pub args: serde_json::Map<String, Value>,
}

/// One tool call an agent made, for telling whether it makes progress.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenCall {
    /// The tool's name as the program gives it.
    pub name: String,
    /// A digest of name and arguments: equal calls have equal digests.
    pub digest: u64,
}

/// Something the agent tried and was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Denial {
    /// The tool's name as the program gives it.
    pub tool: String,
    /// What it wanted, or what it was told, in short.
    pub detail: String,
}

/// Tokens and cost of one launch. `input` counts everything read, `cached` the part of it that came from a cache,
/// `output` everything written, thoughts included.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens read.
    #[serde(default)]
    pub input: u64,
    /// Tokens written.
    #[serde(default)]
    pub output: u64,
    /// Of the tokens read, those from a cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cached: u64,
    /// Dollars, when the program tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// The same in millionths of a dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
    /// Whether these are rounded or partial figures.
    #[serde(default, skip_serializing_if = "is_false")]
    pub estimated: bool,
}

/// What kind of surprise a drift note tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DriftKind {
    /// An event, item or part of a kind the parser does not know.
    UnknownEvent,
    /// A line that is no event at all.
    NoEvent,
    /// A last line that ends in the middle.
    CutOff,
    /// A known event that lacks something or has it in another shape.
    Malformed,
    /// A line longer than is read.
    TooLong,
    /// Bytes that are no UTF-8 were replaced.
    NotUtf8,
    /// A final event after the final event.
    Repeated,
    /// A counter of the session that went down.
    Counter,
    /// A reported tool nobody knows.
    UnknownTool,
    /// An exit code that does not fit the final event.
    Exit,
}

/// Something a parser did not expect: a warning, never a failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drift {
    /// What kind of surprise.
    pub kind: DriftKind,
    /// Where and what, in printable words.
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
    /// With a cost in millionths of a dollar.
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
        let cost = match (self.cost_micros, other.cost_micros) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
        };
        *self = self.costing(cost);
    }
}

impl Outcome {
    /// Whether this is an answer: complete, and nothing went wrong.
    pub fn is_answer(&self) -> bool {
        self.complete && self.error.is_none()
    }

    /// Why this is no answer; `None` when it is one.
    pub fn why_not(&self) -> Option<Problem> {
        if self.is_answer() {
            return None;
        }
        let known = self.problem.clone();
        let told = || self.error.as_ref().map(|text| Problem::new(ProblemKind::Other, text));
        let cut = || Problem::new(ProblemKind::Truncated, "it ended without its final event");
        Some(known.or_else(told).unwrap_or_else(cut))
    }

    /// How often the last call in a row was made; 0 when there was none.
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

    // The first problem is the cause; later ones are its consequences.
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

    /// Keeps the name of the model that answers; what a program calls its own messages by is none.
    pub(super) fn by_model(&mut self, name: &str) {
        let fits = !name.is_empty() && name.len() <= 200 && !name.starts_with('<');
        if fits && self.model.as_deref() != Some(name) {
            self.model = Some(name.to_owned());
        }
    }

    /// Keeps a session id, if it can be one: it will be an argument of the next launch.
    pub(super) fn in_session(&mut self, id: &str) {
        if self.session.as_deref() == Some(id) {
            return;
        }
        match is_session(id) {
            true => self.session = Some(id.to_owned()),
            false => self.drift(DriftKind::Malformed, format!("{} is no session id", quote(id))),
        }
    }

    /// The final message, unless it is too long to be kept whole.
    pub(super) fn say(&mut self, text: String) {
        if text.len() > TEXT_MAX {
            // A judgement read in part could drop its worst finding.
            let message = format!("the final message has {} bytes, more than {TEXT_MAX}", text.len());
            return self.fail(Problem::new(ProblemKind::Unreadable, message));
        }
        self.final_text = Some(text);
    }
}

/// Whether a text can be a session id: it must never look like an option or a path.
pub(crate) fn is_session(id: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.:".contains(&b);
    !id.is_empty() && id.len() <= 128 && id.bytes().all(plain) && !id.starts_with(['-', '.'])
}

/// FNV-1a over the name and the arguments' JSON with sorted keys: stable over releases, which a journal needs, and the
/// same for a call whose arguments come in another order.
fn digest(name: &str, args: &Value) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let mut args = args.clone();
    args.sort_all_objects();
    let args = args.to_string();
    name.bytes().chain([0]).chain(args.bytes()).fold(0xcbf2_9ce4_8422_2325, step)
}
