//! Scenario files: how they are read, and how the turn for a launch is found.
//!
//! Finding looks at the launch's keys, its prompt and its folder, and never at what was played before. So a launch that
//! is repeated after a crash gets the same turn.

use super::fault::Fault;
use super::problem;
use crate::error::AgentError;
use crate::parse::{TOOLS, Usage};
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use toml::{Table, Value};

const KEYS: [&str; 7] = ["role", "use", "plan", "task", "reviewer", "round", "attempt"];
const OTHERS: [&str; 5] = ["prompt", "holds", "times", "optional", "do"];
const VERBS: [&str; 15] = [
    "write", "append", "delete", "move", "run", "commit", "say", "report", "mcp", "wait", "pause_ms",
    "usage", "event", "expect", "fault",
];

/// A scenario file that was read and checked.
///
/// All of it is checked before the first step: a mistake in a late turn must not show up in the middle of a test.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// The turns, in the order of the file.
    pub turns: Vec<Turn>,
}

/// A turn: the steps for all launches that match its keys.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// The place of the turn in the file, counted from 1.
    pub index: usize,
    /// The keys of the launch that must match.
    pub when: BTreeMap<&'static str, String>,
    /// A text that the prompt must contain.
    pub prompt: Option<String>,
    /// A command that must succeed in the launch's folder.
    pub holds: Option<Vec<String>>,
    /// How many different launches must play the turn; one or more if not set.
    pub times: Option<u32>,
    /// Whether the turn may stay unused.
    pub optional: bool,
    /// The steps, in the order in which they are played.
    pub steps: Vec<Step>,
}

/// One thing to do.
///
/// Steps describe a result and not an action where possible, so that a launch repeated after a crash changes nothing
/// twice.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "the fields are named as in the file, which the module documents")]
pub enum Step {
    /// Writes a whole file, and the folders above it.
    Write { path: String, text: String, executable: bool },
    /// Adds to the end of a file, unless the file already ends with the text.
    Append { path: String, text: String },
    /// Removes a file or a folder, if it exists.
    Delete { path: String },
    /// Renames a file or a folder.
    Move { path: String, to: String },
    /// Runs a program in the folder.
    Run { argv: Vec<String>, may_fail: bool },
    /// Commits everything in the worktree with the agent's own git.
    Commit { message: String },
    /// Says something, once or for each open finding. The final text is everything that was said. Unless it is `raw`,
    /// the launch word is put into its lines, as an honest agent does.
    Say { text: String, each_finding: bool, raw: bool },
    /// Reports a tool call, once or for each open finding.
    Report { tool: String, args: serde_json::Value, each_finding: bool },
    /// Calls a tool of the MCP server it was given, or of another launch's, and expects the call to be accepted or
    /// refused.
    Mcp { tool: String, args: serde_json::Value, each_finding: bool, refused: bool, at: Option<String> },
    /// Waits for SIGUSR1 from the test.
    WaitSignal,
    /// Waits until it is asked to end, and does not end by that.
    WaitTerm,
    /// Waits until somebody writes this file.
    WaitFile { path: String },
    /// Waits for a span of time.
    Pause { ms: u32 },
    /// Prints an event line: a tool call, a refusal, a retry or an error with its kind.
    Event(serde_json::Value),
    /// Adds to the usage that it will claim.
    Usage(Usage),
    /// Demands that the prompt contains this text.
    Expect { text: String },
    /// Goes wrong in one of the known ways.
    Fault(Fault),
}

/// The keys by which a launch asks for its turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked(BTreeMap<&'static str, String>);

impl Asked {
    /// Reads `TRIBUNAL_ROLE` and the like. An empty value counts as absent.
    pub fn from_env(get: &dyn Fn(&str) -> Option<String>) -> Self {
        let value = |key: &&str| get(&format!("TRIBUNAL_{}", key.to_uppercase()));
        let keys = KEYS.into_iter().filter_map(|key| Some((key, value(&key).filter(|v| !v.is_empty())?)));
        Self(keys.collect())
    }

    /// Returns the value of a key; `None` if the launch has no such thing.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// Whether this is the name of a key.
    pub(super) fn is_key(name: &str) -> bool {
        KEYS.contains(&name)
    }
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<_> = self.0.iter().map(|(key, value)| format!("{key}={value}")).collect();
        f.pad(&if keys.is_empty() { "no keys at all".to_owned() } else { keys.join(",") })
    }
}

impl Scenario {
    /// Reads and checks a whole scenario file.
    pub fn load(path: &Path) -> Result<Self, AgentError> {
        let text = std::fs::read_to_string(path).map_err(|source| AgentError::io("read", path, source))?;
        Self::parse(&text).map_err(|fault| problem(path, fault))
    }

    /// Reads and checks the text of a scenario. The error says where and what.
    pub fn parse(text: &str) -> Result<Self, String> {
        let table = text.parse::<Table>().map_err(|error| error.to_string())?;
        if let Some(key) = table.keys().find(|key| *key != "turn") {
            return Err(format!("unknown key `{key}`\nhint: a scenario is a list of [[turn]]"));
        }
        let list = match table.get("turn") {
            Some(Value::Array(list)) => list.as_slice(),
            None => &[],
            Some(_) => return Err("`turn` must be a list: [[turn]]".to_owned()),
        };
        let turns = list.iter().zip(1..).map(|(value, index)| {
            let at = |fault| format!("turn {index}: {fault}");
            turn(index, value).map_err(at)
        });
        Ok(Self { turns: turns.collect::<Result<_, _>>()? })
    }

    /// Whether some turn depends on the prompt.
    pub(super) fn reads_prompts(&self) -> bool {
        self.turns.iter().any(|turn| turn.prompt.is_some())
    }

    /// Finds the turn for a launch: of those that match, the one with most keys, then the first in the file. The prompt
    /// and the folder's content count as keys, too.
    pub fn find(&self, asked: &Asked, prompt: &str, holds: &dyn Fn(&[String]) -> bool) -> Option<&Turn> {
        let told = |turn: &&Turn| turn.prompt.as_ref().is_none_or(|text| prompt.contains(text));
        let matching = self.turns.iter().filter(|turn| turn.matches(asked)).filter(told);
        let mut matching: Vec<&Turn> = matching.collect();
        // The sort is stable, so of two turns with as many keys the first one stays first.
        matching.sort_by_key(|turn| std::cmp::Reverse(turn.keys()));
        // Commands run last and one at a time: they may be slow, and none may run for a turn that does not match
        // anyway.
        matching.into_iter().find(|turn| turn.holds.as_ref().is_none_or(|argv| holds(argv)))
    }
}

impl Turn {
    fn keys(&self) -> usize {
        self.when.len() + usize::from(self.prompt.is_some()) + usize::from(self.holds.is_some())
    }

    fn matches(&self, asked: &Asked) -> bool {
        self.when.iter().all(|(key, value)| asked.get(key) == Some(value))
    }
}

fn turn(index: usize, value: &Value) -> Result<Turn, String> {
    let table = value.as_table().ok_or("must be a table")?;
    // A misspelt key would match every launch, and the test would play the wrong turn.
    let known = |key: &str| KEYS.contains(&key) || OTHERS.contains(&key);
    if let Some(key) = table.keys().find(|key| !known(key)) {
        return Err(format!(
            "unknown key `{key}`\nhint: a turn has {}, {}",
            KEYS.join(", "),
            OTHERS.join(", ")
        ));
    }
    let mut when = BTreeMap::new();
    for key in KEYS {
        if let Some(value) = table.get(key) {
            when.insert(key, key_text(value).ok_or_else(|| format!("`{key}` must be a text or a number"))?);
        }
    }
    let steps = table.get("do").and_then(Value::as_array).ok_or("`do` must be a list of steps")?;
    let steps =
        steps.iter().zip(1..).map(|(value, at)| step(value).map_err(|fault| format!("step {at}: {fault}")));
    Ok(Turn {
        index,
        when,
        prompt: table.get("prompt").map(|_| text(table, "prompt")).transpose()?,
        holds: table.get("holds").map(|value| argv("holds", value)).transpose()?,
        times: times(table)?,
        optional: flag(table, "optional")?,
        steps: steps.collect::<Result<_, _>>()?,
    })
}

fn key_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        _ => None,
    }
}

fn times(table: &Table) -> Result<Option<u32>, String> {
    let Some(value) = table.get("times") else {
        return Ok(None);
    };
    let times = value.as_integer().and_then(|n| u32::try_from(n).ok()).filter(|n| *n > 0);
    times.map(Some).ok_or_else(|| "`times` must be a whole number above 0".to_owned())
}

fn flag(table: &Table, key: &str) -> Result<bool, String> {
    match table.get(key) {
        None => Ok(false),
        Some(value) => value.as_bool().ok_or_else(|| format!("`{key}` must be true or false")),
    }
}

fn text(table: &Table, key: &str) -> Result<String, String> {
    let value = table.get(key).and_then(Value::as_str);
    value.map(str::to_owned).ok_or_else(|| format!("`{key}` must be a text"))
}

/// The keys that may stand beside a verb.
fn companions(verb: &str) -> &'static [&'static str] {
    match verb {
        "write" => &["text", "executable"],
        "append" => &["text"],
        "move" => &["to"],
        "run" => &["may_fail"],
        "say" => &["each", "raw"],
        "report" => &["each"],
        "mcp" => &["each", "refused", "at"],
        _ => &[],
    }
}

fn step(value: &Value) -> Result<Step, String> {
    let table = value.as_table().ok_or("must be a table such as { say = \"…\" }")?;
    let mut verbs = VERBS.into_iter().filter(|verb| table.contains_key(*verb));
    // Exactly one verb: a step with two would do only one of them, and nobody would notice.
    let (Some(verb), None) = (verbs.next(), verbs.next()) else {
        let keys = table.keys().cloned().collect::<Vec<_>>().join(", ");
        return Err(format!("needs exactly one verb, has {keys}\nhint: verbs are {}", VERBS.join(", ")));
    };
    let allowed = companions(verb);
    if let Some(key) = table.keys().find(|key| *key != verb && !allowed.contains(&key.as_str())) {
        return Err(format!("`{verb}` does not take `{key}`"));
    }
    match verb {
        "run" | "report" | "mcp" | "wait" | "pause_ms" | "usage" | "event" | "fault" => complex(verb, table),
        _ => simple(verb, table),
    }
}

fn simple(verb: &str, table: &Table) -> Result<Step, String> {
    let main = text(table, verb)?;
    Ok(match verb {
        "write" => {
            Step::Write { path: main, text: text(table, "text")?, executable: flag(table, "executable")? }
        }
        "append" => Step::Append { path: main, text: text(table, "text")? },
        "delete" => Step::Delete { path: main },
        "move" => Step::Move { path: main, to: text(table, "to")? },
        "commit" => Step::Commit { message: main },
        "expect" => Step::Expect { text: main },
        _ => Step::Say { text: main, each_finding: each_finding(table)?, raw: flag(table, "raw")? },
    })
}

fn complex(verb: &str, table: &Table) -> Result<Step, String> {
    let value = &table[verb];
    match verb {
        "run" => run(table, value),
        "report" => report(table, value),
        "mcp" => mcp(table, value),
        "wait" => wait(value),
        "pause_ms" => {
            let ms = value.as_integer().and_then(|ms| u32::try_from(ms).ok());
            let ms = ms.ok_or("`pause_ms` must be a whole number of milliseconds")?;
            Ok(Step::Pause { ms })
        }
        "usage" => value.clone().try_into().map(Step::Usage).map_err(|error| format!("`usage`: {error}")),
        "event" => event(value),
        _ => Fault::parse(value.as_str().unwrap_or_default()).map(Step::Fault),
    }
}

fn event(value: &Value) -> Result<Step, String> {
    // `start`, `message` and `final` are not among them: the agent prints those itself.
    const TYPES: [&str; 4] = ["tool", "denied", "retry", "error"];
    let known = value.get("type").and_then(Value::as_str).is_some_and(|kind| TYPES.contains(&kind));
    if !known {
        return Err(format!("`event` must be a table whose `type` is one of {}", TYPES.join(", ")));
    }
    value.clone().try_into().map(Step::Event).map_err(|error| format!("`event`: {error}"))
}

fn run(table: &Table, value: &Value) -> Result<Step, String> {
    Ok(Step::Run { argv: argv("run", value)?, may_fail: flag(table, "may_fail")? })
}

fn argv(key: &str, value: &Value) -> Result<Vec<String>, String> {
    let list = value.as_array().filter(|list| !list.is_empty());
    let argv = list.and_then(|list| list.iter().map(|word| word.as_str().map(str::to_owned)).collect());
    argv.ok_or_else(|| format!("`{key}` must be a list of texts, the program first"))
}

fn report(table: &Table, value: &Value) -> Result<Step, String> {
    let (tool, args, each_finding) = call(table, value)?;
    if !TOOLS.contains(&tool.as_str()) {
        return Err(format!("unknown tool `{tool}`\nhint: the tools are {}", TOOLS.join(", ")));
    }
    Ok(Step::Report { tool, args, each_finding })
}

fn mcp(table: &Table, value: &Value) -> Result<Step, String> {
    let (tool, args, each_finding) = call(table, value)?;
    let at = table.get("at").map(|_| text(table, "at")).transpose()?;
    Ok(Step::Mcp { tool, args, each_finding, refused: flag(table, "refused")?, at })
}

/// Reads a tool, its arguments, and whether it is called for each finding.
fn call(table: &Table, value: &Value) -> Result<(String, serde_json::Value, bool), String> {
    let call = value.as_table().ok_or("a call must be { tool = …, args = {…} }")?;
    if let Some(key) = call.keys().find(|key| !["tool", "args"].contains(&key.as_str())) {
        return Err(format!("a call does not take `{key}`"));
    }
    let tool = text(call, "tool")?;
    let args = match call.get("args") {
        Some(args @ Value::Table(_)) => serde_json::to_value(args).map_err(|error| error.to_string())?,
        Some(_) => return Err("`args` must be a table".to_owned()),
        None => serde_json::json!({}),
    };
    Ok((tool, args, each_finding(table)?))
}

fn each_finding(table: &Table) -> Result<bool, String> {
    match table.get("each").map(Value::as_str) {
        None => Ok(false),
        Some(Some("finding")) => Ok(true),
        Some(_) => Err("`each` can only be \"finding\"".to_owned()),
    }
}

fn wait(value: &Value) -> Result<Step, String> {
    match value.as_str() {
        Some("signal") => Ok(Step::WaitSignal),
        Some("term") => Ok(Step::WaitTerm),
        Some(text) if text.len() > 5 && text.starts_with("file:") => {
            Ok(Step::WaitFile { path: text["file:".len()..].to_owned() })
        }
        _ => Err("`wait` must be \"signal\", \"term\" or \"file:PATH\"".to_owned()),
    }
}
