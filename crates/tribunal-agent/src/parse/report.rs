//! The report file: one tool call per JSON line. A line that cannot be read is an error of the launch and never skipped
//! in silence, because it may have held a finding.
//!
//! An agent without the MCP server writes this file itself. So it proves nothing about who wrote it, in contrast to the
//! calls that the report socket accepted.

use super::lines::{Line, Splitter, quote};
use super::outcome::{DriftKind, Outcome, ToolCall};
use super::problem::{Problem, ProblemKind};
use std::io::{self, BufRead};

/// The tools that an agent may report with. `reporting.rs` describes them.
pub const TOOLS: [&str; 9] = [
    "set_loop_review_result",
    "set_review_result",
    "report_findings",
    "cast_verdict",
    "report_fix",
    "report_task_done",
    "escalate",
    "get_context",
    "run_checks",
];

const LINE_MAX: usize = 1024 * 1024;
const CALLS_MAX: usize = 10_000;

pub(super) fn read(mut input: impl BufRead, outcome: &mut Outcome) -> io::Result<()> {
    let mut lines = Splitter::new(LINE_MAX);
    super::each_piece(&mut input, |piece| lines.push(piece, |line| call(&line, outcome)))?;
    lines.end(|line| call(&line, outcome));
    Ok(())
}

fn call(line: &Line<'_>, outcome: &mut Outcome) {
    if line.is_blank() {
        return;
    }
    let at = format!("report line {}", line.number);
    // Unlike in the output, this is fatal: a call that is cut or missing changes the report's meaning.
    if line.too_long {
        return outcome.fail(unreadable(format!("{at}: longer than {LINE_MAX} bytes")));
    }
    if outcome.reports.len() >= CALLS_MAX {
        return outcome.fail(unreadable(format!("{at}: more than {CALLS_MAX} tool calls")));
    }
    let (text, replaced) = line.text();
    if replaced {
        outcome.drift(DriftKind::NotUtf8, format!("{at}: not UTF-8, unreadable bytes replaced"));
    }
    match serde_json::from_str::<ToolCall>(&text) {
        Ok(call) if TOOLS.contains(&call.tool.as_str()) => outcome.reports.push(call),
        // The call has no effect, but its author may have meant a verdict; the note lists the right names.
        Ok(call) => outcome.drift(
            DriftKind::UnknownTool,
            format!("{at}: unknown tool {}; the tools are {}", quote(&call.tool), TOOLS.join(", ")),
        ),
        Err(_) if line.unfinished => outcome.fail(unreadable(format!("{at}: cut off"))),
        Err(error) => outcome.fail(unreadable(format!("{at}: no tool call, {error}"))),
    }
}

fn unreadable(message: String) -> Problem {
    Problem::new(ProblemKind::Unreadable, message)
}
