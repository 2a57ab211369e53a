//! What an agent's output means. The parsers are pure over bytes, bounded in memory, and never fail on anything an
//! agent wrote: whatever cannot be read is a problem or a drift note inside the outcome.
//!
//! There is one small file per program. An answer exists only if its final event exists and nothing in the output is an
//! error; no parser may conclude a success from an exit code alone or from silence.

mod aider_text;
mod claude_stream_json;
mod codex_jsonl;
mod events;
mod files;
mod gemini_json;
mod gemini_stream;
mod json_document;
mod lines;
mod opencode_json;
mod outcome;
mod problem;
mod reading;
mod report;
mod text;

use std::io::{self, BufRead};

pub use files::{Left, open_plain, read_launch};
pub use json_document::JsonFields;
pub(crate) use outcome::is_session;
pub use outcome::{Denial, Drift, DriftKind, Outcome, SeenCall, ToolCall, Usage};
pub use problem::{Problem, ProblemKind, Reset};
pub use reading::Reading;
pub use report::TOOLS;

/// The parser that reads an agent's output.
///
/// Rows choose one by its name. A new one needs a variant here, a file with a `Reads`, and a recorded transcript among
/// the tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parser {
    /// Tribunal's own JSON lines: start, message, tool, denied, retry, final, error.
    Events,
    /// The whole output is the final message.
    Text,
    /// The whole output is one JSON document; the row's `fields` say where things are.
    Json,
    /// Claude Code's `stream-json` and `json` output.
    ClaudeStreamJson,
    /// The output of Codex's `exec --json`.
    CodexJsonl,
    /// Gemini CLI's `stream-json` output, which the built-in row uses.
    GeminiStream,
    /// Gemini CLI's `json` output, one document.
    GeminiJson,
    /// The output of OpenCode's `run --format json`.
    OpencodeJson,
    /// Aider's plain text, which has no events.
    AiderText,
}

impl Parser {
    /// Every parser, in the order in which errors list them.
    pub const ALL: [Self; 9] = [
        Self::Events,
        Self::Text,
        Self::Json,
        Self::ClaudeStreamJson,
        Self::CodexJsonl,
        Self::GeminiStream,
        Self::GeminiJson,
        Self::OpencodeJson,
        Self::AiderText,
    ];

    /// The name that rows use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Events => "events",
            Self::Text => "text",
            Self::Json => "json",
            Self::ClaudeStreamJson => "claude_stream_json",
            Self::CodexJsonl => "codex_jsonl",
            Self::GeminiStream => "gemini_stream",
            Self::GeminiJson => "gemini_json",
            Self::OpencodeJson => "opencode_json",
            Self::AiderText => "aider_text",
        }
    }

    /// Returns the parser of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|parser| parser.name() == name)
    }
}

/// Reads output and report held in memory. `exit` is the exit code, if it is known and no signal ended the agent.
///
/// A failure to read becomes a problem inside the outcome, because bytes in memory cannot fail for a reason of ours.
pub fn read(parser: Parser, stdout: &[u8], report: &[u8], exit: Option<i32>) -> Outcome {
    read_streams(parser, stdout, report, exit).unwrap_or_else(|error| {
        let mut outcome = Outcome::default();
        outcome.fail(Problem::new(ProblemKind::Unreadable, error.to_string()));
        outcome
    })
}

/// Reads output and report as streams, with bounded memory.
pub fn read_streams(
    parser: Parser,
    stdout: impl BufRead,
    report: impl BufRead,
    exit: Option<i32>,
) -> io::Result<Outcome> {
    read_with(Reading::new(parser), stdout, io::empty(), report, exit)
}

fn read_with(
    mut reading: Reading,
    mut stdout: impl BufRead,
    mut stderr: impl BufRead,
    report: impl BufRead,
    exit: Option<i32>,
) -> io::Result<Outcome> {
    // The report comes last: it adds calls and faults to what the output showed.
    each_piece(&mut stdout, |piece| reading.stdout(piece))?;
    each_piece(&mut stderr, |piece| reading.stderr(piece))?;
    let mut outcome = reading.finish(exit);
    report::read(report, &mut outcome)?;
    Ok(outcome)
}

fn each_piece(input: &mut impl BufRead, mut each: impl FnMut(&[u8])) -> io::Result<()> {
    loop {
        let piece = input.fill_buf()?;
        let taken = piece.len();
        if taken == 0 {
            return Ok(());
        }
        each(piece);
        input.consume(taken);
    }
}

#[cfg(test)]
mod tests;
