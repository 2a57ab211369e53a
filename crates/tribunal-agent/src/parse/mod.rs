//! What an agent's output means. Pure over bytes and bounded in memory; never fails on anything an agent wrote: what
//! cannot be read is a problem or a drift note inside the outcome. One small file per program.

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

/// Which parser reads an agent's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parser {
    /// Tribunal's own JSON lines: start, message, tool, denied, retry, final, error.
    Events,
    /// The whole output is the final message.
    Text,
    /// The whole output is one JSON document; the row's `fields` say where things are.
    Json,
    /// Claude Code's `stream-json` and `json`.
    ClaudeStreamJson,
    /// Codex's `exec --json`.
    CodexJsonl,
    /// Gemini CLI's `stream-json`.
    GeminiStream,
    /// Gemini CLI's `json`.
    GeminiJson,
    /// OpenCode's `run --format json`.
    OpencodeJson,
    /// Aider's text.
    AiderText,
}

impl Parser {
    /// Every parser there is.
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

    /// The name rows use.
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

    /// The parser of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|parser| parser.name() == name)
    }
}

/// Reads output and report held in memory; `exit` is the exit code, when it is known and no signal ended the agent.
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
