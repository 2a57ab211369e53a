//! Reporting by tools: which tools there are, their arguments, and the lines that go between the server an agent starts
//! and the engine behind its launch's socket. Plain data: nothing here decides what a call is worth.
//!
//! Descriptions are written for a model and are all that it knows about a tool.

use crate::parse::ToolCall;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The name of the MCP server that an agent is given.
pub const SERVER: &str = "tribunal";
/// The name of the socket in a launch's folder.
pub const SOCKET_FILE: &str = "report.sock";
/// The name of the file with the accepted calls, one per line. The agent cannot write it.
pub const HEARD_FILE: &str = "heard.jsonl";
/// The largest line in bytes, in either direction.
pub const LINE_MAX: usize = 1 << 20;

/// The purpose of a launch, which decides what tools it has.
///
/// A reviewer has none of the builder's tools and the other way round, so neither can speak for the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// It reviews: it reports findings and casts a verdict.
    Judge,
    /// It builds or fixes: it replies to findings and reports the end of a task.
    Builder,
}

/// A question of the server to the engine, as one line of JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// Which tools there are; the answer's text is a list of [`Tool`].
    Tools,
    /// A call of one of the tools.
    Call(ToolCall),
}

/// The engine's answer, as one line of JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// Whether the call counts as a report.
    pub accepted: bool,
    /// The text that the agent reads; on a refusal it says why.
    pub text: String,
}

/// One tool, as agents see it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    /// The name under which agents call it.
    pub name: String,
    /// What it is for, in words for a model.
    pub description: String,
    /// The JSON schema of its arguments.
    pub schema: Value,
}

/// The tools that cast a verdict. A launch can make one call of one of them, once.
pub const VOTES: [&str; 3] = ["cast_verdict", "set_loop_review_result", "set_review_result"];

/// Returns the tools of a launch in the order in which they are listed.
pub fn tools(part: Part) -> Vec<Tool> {
    let own = match part {
        Part::Judge => vec![findings(), verdict(), loop_result(), result()],
        Part::Builder => vec![fix(), done()],
    };
    // Anybody may ask a person, read the context again and run the checks.
    own.into_iter().chain([escalate(), context(), checks()]).collect()
}

fn tool(name: &str, description: &str, properties: Value, required: &[&str]) -> Tool {
    Tool {
        name: name.to_owned(),
        description: description.to_owned(),
        schema: json!({"type": "object", "properties": properties, "required": required}),
    }
}

fn text(description: &str) -> Value {
    json!({"type": "string", "description": description})
}

fn finding() -> Value {
    json!({"type": "object", "required": ["severity", "issue"], "properties": {
        "id": text("your own short name for it"),
        "severity": {"type": "string", "enum": ["blocker", "warning", "suggestion"]},
        "confidence": {"type": "integer", "minimum": 0, "maximum": 100},
        "file": text("the file"),
        "line": {"type": "integer"},
        "issue": text("what is wrong"),
        "evidence": text("what shows it"),
        "suggestion": text("what would fix it"),
    }})
}

fn said() -> Value {
    json!({"type": "array", "description": "one answer per finding that was put to you", "items": {
        "type": "object", "required": ["id", "status"], "properties": {
            "id": text("F-1, F-2, …"),
            "status": {"type": "string", "enum": ["resolved", "still_there", "not_an_issue"]},
            "why": text("why, where it is not an issue"),
    }}})
}

fn findings() -> Tool {
    let list = json!({"type": "array", "items": finding()});
    tool("report_findings", "Report findings, before the verdict.", json!({"findings": list}), &["findings"])
}

fn verdict() -> Tool {
    let properties = json!({
        "verdict": {"type": "string", "enum": ["approve", "conditional", "reject"]},
        "fundamental": {"type": "boolean", "description": "with reject: patching will not do"},
        "checked": text("what you checked, and how"),
        "said": said(),
    });
    tool("cast_verdict", "Give your verdict. Once; it ends your report.", properties, &["verdict"])
}

fn loop_result() -> Tool {
    let issue = json!({"type": "object", "required": ["description"], "properties": {
        "file": text("the file"),
        "line": {"type": "integer"},
        "type": text("over-engineering, missing-error-handling, pattern-violation, dead-code, spec-intent-mismatch"),
        "description": text("what is wrong"),
        "suggestion": text("what would fix it"),
    }});
    let properties = json!({
        "loopId": text("the loop being reviewed"),
        "taskId": text("the task that was reviewed"),
        "passed": {"type": "boolean"},
        "interpretedIntent": text("what it was really for"),
        "intentSatisfied": {"type": "boolean"},
        "checked": text("what you checked, and how"),
        "issues": {"type": "array", "items": issue},
        "said": said(),
    });
    let what =
        "Give findings and verdict of a loop in one call, instead of report_findings and cast_verdict.";
    tool("set_loop_review_result", what, properties, &["loopId", "passed"])
}

fn result() -> Tool {
    let properties = json!({
        "passed": {"type": "boolean"},
        "checked": text("what you checked, and how"),
        "findings": {"type": "array", "items": finding()},
        "said": said(),
    });
    let what = "Give findings and verdict in one call, instead of report_findings and cast_verdict.";
    tool("set_review_result", what, properties, &["passed"])
}

fn fix() -> Tool {
    let properties = json!({
        "id": text("the finding: F-1, F-2, …"),
        "fixed": {"type": "boolean"},
        "status": {"type": "string", "enum": ["fixed", "refuted", "cannot_fix"]},
        "why": text("why it is not fixed, or no issue"),
    });
    tool("report_fix", "Say what became of a finding you were given.", properties, &["id"])
}

fn done() -> Tool {
    let properties = json!({
        "done": {"type": "boolean", "description": "false when there is more to do"},
        "summary": text("what you did"),
        "discovered": {"type": "array", "items": {"type": "string"}, "description": "problems you left alone"},
        "commit_message": text("another message for the commit, only where a commit hook refused the one it has"),
    });
    tool("report_task_done", "Say that the task is done, and what you did.", properties, &["done", "summary"])
}

/// Returns what a call tells a person, under any of the names that agents give the argument.
pub fn escalation(call: &ToolCall) -> Option<&str> {
    ["about", "message", "reason", "issue"].iter().find_map(|name| call.args.get(*name)?.as_str())
}

fn escalate() -> Tool {
    let properties = json!({"about": text("what a person must know or decide")});
    tool("escalate", "Tell a person something that you cannot settle.", properties, &["about"])
}

fn context() -> Tool {
    tool("get_context", "The context of your work once more, in three tiers.", json!({}), &[])
}

fn checks() -> Tool {
    let what = "Run the checks of this work in a throwaway copy. What they say is recorded as evidence. Wait for \
                it: an approval that comes before they have ended is void.";
    tool("run_checks", what, json!({}), &[])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::TOOLS;

    #[test]
    fn every_tool_is_known_and_nobody_votes_on_its_own_work() {
        let names = |part| tools(part).into_iter().map(|tool| tool.name).collect::<Vec<_>>();
        let (judge, builder) = (names(Part::Judge), names(Part::Builder));
        assert!(judge.iter().chain(&builder).all(|name| TOOLS.contains(&name.as_str())));
        assert!(TOOLS.iter().all(|name| judge.iter().chain(&builder).any(|known| known == name)));
        assert!(VOTES.iter().all(|vote| judge.iter().any(|name| name == vote)));
        assert!(!VOTES.iter().any(|vote| builder.iter().any(|name| name == vote)));
    }

    #[test]
    fn lines_are_read_back() {
        let call = ToolCall { tool: "escalate".to_owned(), args: serde_json::Map::new() };
        for ask in [Ask::Tools, Ask::Call(call)] {
            let line = serde_json::to_string(&ask).unwrap();
            assert_eq!(serde_json::from_str::<Ask>(&line).unwrap(), ask, "{line}");
        }
    }
}
