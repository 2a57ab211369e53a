//! Reading an agent's output piece by piece while it arrives. The reading is bounded in memory, never fails, and knows
//! no program: each parser is one [`Reads`].
//!
//! The watchdog reads a running launch with it, and the same code reads the finished output. So both see the same
//! turns, calls and retries.

use super::lines::{Line, Splitter, quote};
use super::outcome::{DriftKind, Outcome, Usage};
use super::problem::{Problem, ProblemKind};
use super::{
    Parser, aider_text, claude_stream_json, codex_jsonl, events, gemini_json, gemini_stream, json_document,
    opencode_json, text,
};
use crate::adapter::Adapter;
use serde_json::Value;
use tribunal_core::usage::SessionTotals;

// A longer line is skipped with a note.
pub(super) const LINE_MAX: usize = 8 * 1024 * 1024;
const STDERR_LINE_MAX: usize = 64 * 1024;

/// Reads one program's output, line by line.
///
/// A parser only adds to the outcome. The conclusions that all programs share, about session counters, schemas and exit
/// codes, are drawn by `Reading` afterwards.
pub(super) trait Reads: Send {
    /// Takes a line of standard output.
    fn line(&mut self, line: &Line<'_>, out: &mut Outcome);

    /// Takes a line of standard error.
    fn stderr(&mut self, _line: &str, _out: &mut Outcome) {}

    /// Draws the conclusions at the end. `exit` is the exit code, if it is known and no signal ended the agent.
    fn end(&mut self, _exit: Option<i32>, _out: &mut Outcome) {}
}

/// An agent's output that is being read.
///
/// Feed it pieces in any size, ask `so_far` at any time, and call `finish` once the process has ended.
pub struct Reading {
    reader: Box<dyn Reads>,
    stdout: Splitter,
    stderr: Splitter,
    out: Outcome,
    parser: Parser,
    adapter: Option<Adapter>,
    before: SessionTotals,
    wants_structured: bool,
}

impl Reading {
    /// Reads with this parser and the parser's own defaults.
    pub fn new(parser: Parser) -> Self {
        Self::with(parser, None)
    }

    /// Reads the output of this program, with its fields and exit codes.
    pub fn of(adapter: &Adapter) -> Self {
        Self::with(adapter.parser, Some(adapter))
    }

    fn with(parser: Parser, adapter: Option<&Adapter>) -> Self {
        Self {
            reader: reader(parser, adapter),
            stdout: Splitter::new(LINE_MAX),
            stderr: Splitter::new(STDERR_LINE_MAX),
            out: Outcome::default(),
            parser,
            adapter: adapter.cloned(),
            before: SessionTotals::default(),
            wants_structured: false,
        }
    }

    /// Says that a session continues: counters that grow over it began at these totals.
    ///
    /// Some programs count over the whole session. Without these totals a resumed launch would be charged for the
    /// earlier ones.
    pub fn resuming(mut self, before: SessionTotals) -> Self {
        self.before = before;
        self
    }

    /// Says that an answer by schema was asked for, so that there is no answer without one.
    pub fn wanting_structured(mut self, wanted: bool) -> Self {
        self.wants_structured = wanted;
        self
    }

    /// Takes the next piece of standard output, cut anywhere.
    pub fn stdout(&mut self, piece: &[u8]) {
        let (reader, out) = (&mut self.reader, &mut self.out);
        self.stdout.push(piece, |line| reader.line(&line, out));
    }

    /// Takes the next piece of standard error, cut anywhere.
    pub fn stderr(&mut self, piece: &[u8]) {
        let (reader, out) = (&mut self.reader, &mut self.out);
        self.stderr.push(piece, |line| reader.stderr(&line.text().0, out));
    }

    /// Returns what is known so far. Turns, calls, retries and denials are correct at any time; everything else only at
    /// the end.
    ///
    /// The watchdog asks this while the launch runs, to see whether the agent still makes progress.
    pub fn so_far(&self) -> &Outcome {
        &self.out
    }

    /// Ends the reading and draws the conclusions.
    pub fn finish(mut self, exit: Option<i32>) -> Outcome {
        let (reader, out) = (&mut self.reader, &mut self.out);
        self.stdout.end(|line| reader.line(&line, out));
        self.stderr.end(|line| reader.stderr(&line.text().0, out));
        reader.end(exit, out);
        // The exit code comes last: what it means depends on whether an answer was found.
        self.subtract();
        self.structure();
        self.exit(exit);
        self.out
    }

    /// Turns session counters into the figures of this launch.
    fn subtract(&mut self) {
        let Some(now) = self.out.totals else { return };
        let before = self.before;
        let mut backwards = false;
        let mut minus = |now: u64, before: u64| {
            // The program began a new session, or counts anew; then its own figure is the best there is.
            now.checked_sub(before).unwrap_or_else(|| {
                backwards = true;
                now
            })
        };
        let left = SessionTotals {
            input: minus(now.input, before.input),
            output: minus(now.output, before.output),
            cached: minus(now.cached, before.cached),
            cost_micros: minus(now.cost_micros, before.cost_micros),
        };
        if backwards {
            // Noted, because the figures of this launch may then be too high.
            let note = format!("the session's counters went down: {before:?}, then {now:?}");
            self.out.drift(DriftKind::Counter, note);
        }
        let told = self.out.usage.is_some();
        let mut usage = self.out.usage.unwrap_or_default();
        // A program may tell tokens per launch and only the cost per session; then its tokens stay.
        if !told || now.input + now.output > 0 {
            usage = Usage { input: left.input, output: left.output, cached: left.cached, ..usage };
        }
        if now.cost_micros > 0 {
            usage = usage.costing(Some(left.cost_micros));
        }
        self.out.usage = Some(usage);
    }

    /// Demands that what was asked for by schema is there.
    fn structure(&mut self) {
        if !self.wants_structured || !self.out.complete || self.out.structured.is_some() {
            return;
        }
        let text = self.out.final_text.as_deref().unwrap_or_default();
        // Claude has a place of its own for it, and its text is not the answer. Elsewhere the text must be JSON.
        let by_text = self.parser != Parser::ClaudeStreamJson;
        match serde_json::from_str::<Value>(text) {
            Ok(value) if by_text => self.out.structured = Some(value),
            _ => {
                let message = "an answer by schema was asked for and did not come";
                self.out.fail(Problem::new(ProblemKind::Unstructured, message));
            }
        }
    }

    /// Takes the exit code, which can name a failure or raise a doubt, but never makes a success.
    fn exit(&mut self, exit: Option<i32>) {
        let Some(code) = exit.filter(|code| *code != 0) else { return };
        if self.out.is_answer() {
            let note = format!("exit code {code} after a final event without an error");
            return self.out.drift(DriftKind::Exit, note);
        }
        let kind = self.adapter.as_ref().and_then(|row| row.exit_codes.get(&code).copied());
        // An error in the output is more exact than a code.
        if let Some(kind) = kind.filter(|_| self.out.error.is_none()) {
            self.out.fail(Problem::new(kind, format!("exit code {code}: {}", kind.name())));
        }
    }
}

fn reader(parser: Parser, adapter: Option<&Adapter>) -> Box<dyn Reads> {
    match parser {
        Parser::Events => Box::<events::Events>::default(),
        Parser::Text => Box::<text::Text>::default(),
        Parser::Json => {
            let fields = adapter.map(|row| row.fields.clone()).unwrap_or_default();
            Box::new(json_document::JsonDocument::new(fields))
        }
        Parser::ClaudeStreamJson => Box::<claude_stream_json::Claude>::default(),
        Parser::CodexJsonl => Box::<codex_jsonl::Codex>::default(),
        Parser::GeminiStream => Box::<gemini_stream::GeminiStream>::default(),
        Parser::GeminiJson => Box::<gemini_json::GeminiJson>::default(),
        Parser::OpencodeJson => Box::<opencode_json::Opencode>::default(),
        Parser::AiderText => Box::<aider_text::Aider>::default(),
    }
}

/// Takes the model that an event names as its author's. A helper of the agent may use another one.
fn model_of(event: &Value, out: &mut Outcome) {
    if event["parent_tool_use_id"].is_string() {
        return;
    }
    for name in [&event["model"], &event["message"]["model"]] {
        if let Some(name) = name.as_str() {
            out.by_model(name);
        }
    }
}

/// Parses the event on a line; anything else leaves a drift note.
pub(super) fn event(line: &Line<'_>, out: &mut Outcome) -> Option<Value> {
    if line.is_blank() {
        return None;
    }
    let at = format!("line {}", line.number);
    if line.too_long {
        out.drift(DriftKind::TooLong, format!("{at}: longer than {LINE_MAX} bytes, skipped"));
        return None;
    }
    let (text, replaced) = line.text();
    if replaced {
        out.drift(DriftKind::NotUtf8, format!("{at}: not UTF-8, unreadable bytes replaced"));
    }
    match serde_json::from_str::<Value>(&text) {
        Ok(value) if value["type"].is_string() => {
            model_of(&value, out);
            Some(value)
        }
        Err(_) if line.unfinished => {
            out.drift(DriftKind::CutOff, format!("{at}: cut off, {}", quote(&text)));
            None
        }
        _ => {
            out.drift(DriftKind::NoEvent, format!("{at}: no event, {}", quote(&text)));
            None
        }
    }
}

/// Notes an event of a kind that the parser does not know.
pub(super) fn unknown(line: &Line<'_>, what: &str, kind: &str, out: &mut Outcome) {
    out.drift(DriftKind::UnknownEvent, format!("line {}: unknown {what} {}", line.number, quote(kind)));
}

/// Notes a known event in a form that the parser does not know.
pub(super) fn malformed(line: &Line<'_>, what: &str, out: &mut Outcome) {
    out.drift(DriftKind::Malformed, format!("line {}: {what}", line.number));
}

/// Returns a text in an event; empty if it is not a text.
pub(super) fn words(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Returns a count in an event; 0 if it is not a count.
pub(super) fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

/// Converts dollars to millionths; `None` if the value is not a sum of money.
pub(super) fn micros(value: &Value) -> Option<u64> {
    let micros = (value.as_f64()? * 1e6).round();
    (micros.is_finite() && (0.0..1e15).contains(&micros)).then_some(micros as u64)
}

/// Returns a status of a model's server that means a failure.
pub(super) fn status(value: &Value) -> Option<u16> {
    let code = value.as_u64().or_else(|| value.as_str()?.parse().ok())?;
    u16::try_from(code).ok().filter(|code| (400..600).contains(code))
}

/// Counts the model's replies in outputs that do not number them. Whatever comes after a tool result is a new reply.
///
/// A turn cap that the program does not keep is enforced by this count.
#[derive(Default)]
pub(super) struct Turns {
    open: bool,
}

impl Turns {
    /// Notes that the model said or asked something.
    pub(super) fn acts(&mut self, out: &mut Outcome) {
        if !self.open {
            self.open = true;
            out.turns += 1;
        }
    }

    /// Notes that a tool answered.
    pub(super) fn answered(&mut self) {
        self.open = false;
    }
}
