//! `tribunal hook`: answers the hooks of an editor agent. A call arrives as JSON on standard input; the answer is an
//! exit code and a message on standard error, as Claude Code reads them.
//!
//! 0 lets the agent go on, 2 stops what it was about to do and tells the agent why, and 1 is shown to the person and
//! stops nothing. A hook runs at every tool call, so it reads only files, starts no process except git for reading, and
//! never waits without a limit.

mod shell;

use crate::exit::Done;
use crate::failure::Failure;
use crate::out;
use crate::place::Place;
use serde::Deserialize;
use serde_json::{Map, Value};
use shell::Message;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;
use std::time::Duration;
use tribunal_docs::qa::subject_issue;
use tribunal_docs::{CheckStatus, Diagnostic, Plan, PlanId, read_plan, read_summary};
use tribunal_git::Archive;
use tribunal_protocol::{Delivery, Ground};
use tribunal_view::plain;
use tribunal_world::read_plain;

/// The largest call that is read, in bytes.
const CALL_MAX: u64 = 16 << 20;
/// How long to wait for the call. An editor that holds the pipe open must not hang its session.
const PATIENCE: Duration = Duration::from_secs(10);
/// How many of the newest runs are checked for a live one.
const RUNS: usize = 20;

/// The answer of a hook.
#[derive(Debug, PartialEq, Eq)]
enum Said {
    /// Let the agent go on.
    Fine,
    /// Stop it, for this reason.
    Block(String),
}

/// The fields of a call that matter here; all others are ignored, because editors add new ones.
#[derive(Debug, Default, Deserialize)]
struct Call {
    #[serde(default)]
    cwd: Option<PathBuf>,
    #[serde(default)]
    tool_name: String,
    #[serde(default)]
    tool_input: Value,
    #[serde(default)]
    stop_hook_active: bool,
}

/// The events at which something is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HookEvent {
    PreToolUse,
    PostToolUse,
    Stop,
}

/// Events of Claude Code at which nothing is checked.
///
/// They are listed so that a misspelt event is noticed: a hook that checks nothing, for ever and silently, looks like
/// one that always passes.
const IGNORED: &[&str] = &[
    "configchange",
    "cwdchanged",
    "elicitation",
    "elicitationresult",
    "filechanged",
    "instructionsloaded",
    "notification",
    "permissiondenied",
    "permissionrequest",
    "postcompact",
    "posttoolbatch",
    "posttoolusefailure",
    "precompact",
    "sessionend",
    "sessionstart",
    "setup",
    "stopfailure",
    "subagentstart",
    "subagentstop",
    "taskcompleted",
    "taskcreated",
    "teammateidle",
    "userpromptexpansion",
    "userpromptsubmit",
    "worktreecreate",
    "worktreeremove",
];

/// What is known of the name of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    /// Something is checked at this event.
    Checked(HookEvent),
    /// The editor has this event, and nothing is checked at it.
    Ignored,
    /// No editor has this event: whoever wrote it expects a check that would never happen.
    Unknown,
}

impl Name {
    /// Reads the name in any spelling: editors write `PreToolUse`, our help `pre-tool-use`.
    fn parse(name: &str) -> Name {
        // Dashes, underscores and blanks all count as nothing.
        let bare: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        match bare.to_ascii_lowercase().as_str() {
            "pretooluse" => Name::Checked(HookEvent::PreToolUse),
            "posttooluse" => Name::Checked(HookEvent::PostToolUse),
            "stop" => Name::Checked(HookEvent::Stop),
            other if IGNORED.contains(&other) => Name::Ignored,
            _ => Name::Unknown,
        }
    }
}

/// Answers one call.
///
/// A name that no editor has is reported to the person with exit code 1 and blocks nothing. An editor reads exit code 2
/// as a veto of the tool call.
pub fn run(event: &str) -> Result<Done, Failure> {
    let shown = plain::clipped(event, 60);
    let event = match Name::parse(event) {
        Name::Checked(event) => event,
        Name::Ignored => {
            out::say(&format!("tribunal hook: nothing is checked at {shown:?}"));
            return Ok(Done::Passed);
        }
        Name::Unknown => {
            out::say(&format!(
                "tribunal hook: no event is called {shown:?}; nothing was checked\n\
                 hint: pre-tool-use, post-tool-use and stop are checked; `tribunal init --plugin claude` writes hooks for them"
            ));
            return Ok(Done::Answer(1));
        }
    };
    let call = match input().and_then(|bytes| read(&bytes)) {
        Ok(call) => call,
        Err(why) => {
            // Nobody can tell what the call was about, and a session must not be stuck because of it.
            out::say(&format!("tribunal hook: {why}; nothing was checked"));
            return Ok(Done::Answer(1));
        }
    };
    let said = match event {
        HookEvent::PreToolUse => before_tool(&call),
        HookEvent::PostToolUse => after_tool(&call),
        HookEvent::Stop => stop(&call),
    };
    match said {
        Said::Fine => Ok(Done::Passed),
        // Documents may bring texts of any length, and the agent has to read all of it.
        Said::Block(why) => {
            out::say(&plain::capped(&why, 8_000));
            Ok(Done::Answer(2))
        }
    }
}

/// Reads standard input whole, and gives up on a caller that holds it open and sends nothing.
fn input() -> Result<Vec<u8>, String> {
    let (tell, told) = sync_channel(1);
    // A blocking read cannot be interrupted, so it has a thread of its own, which ends with the process.
    let reader = std::thread::Builder::new().name("input".to_owned()).spawn(move || {
        let mut bytes = Vec::new();
        let read = std::io::stdin().lock().take(CALL_MAX + 1).read_to_end(&mut bytes).map(|_| bytes);
        let _ = tell.send(read);
    });
    reader.map_err(|error| format!("standard input cannot be read: {error}"))?;
    let read = told.recv_timeout(PATIENCE).map_err(|_| "no call came on standard input".to_owned())?;
    let bytes = read.map_err(|error| format!("standard input cannot be read: {error}"))?;
    match u64::try_from(bytes.len()).is_ok_and(|len| len <= CALL_MAX) {
        true => Ok(bytes),
        false => Err(format!("the call has more than {CALL_MAX} bytes")),
    }
}

fn read(bytes: &[u8]) -> Result<Call, String> {
    let unread =
        |why: &str| format!("the call on standard input cannot be read: {}", plain::clipped(why, 200));
    // Read as an object first: serde would also take a list, as a call with its fields in order.
    let call: Map<String, Value> =
        serde_json::from_slice(bytes).map_err(|error| unread(&error.to_string()))?;
    serde_json::from_value(Value::Object(call)).map_err(|error| unread(&error.to_string()))
}

impl Call {
    fn dir(&self) -> PathBuf {
        let here = || std::env::current_dir().unwrap_or_default();
        // The session's folder, not ours: the editor may start hooks from elsewhere.
        self.cwd.clone().filter(|dir| dir.is_absolute()).unwrap_or_else(here)
    }

    /// The project, if it has a planning folder. Without one there are no rules to hold anybody to.
    fn ground(&self) -> Option<Ground> {
        Ground::around(&self.dir()).filter(|ground| ground.root().join(ground.planning()).is_dir())
    }

    fn field(&self, name: &str) -> &str {
        self.tool_input.get(name).and_then(Value::as_str).unwrap_or_default()
    }
}

/// Checks the messages of commits before a shell command runs.
fn before_tool(call: &Call) -> Said {
    // Other tools make no commits.
    if call.tool_name != "Bash" || call.ground().is_none() {
        return Said::Fine;
    }
    let wrong: Vec<String> = shell::commits(call.field("command"))
        .into_iter()
        .filter_map(|message| unfit(call, message))
        .collect();
    match wrong.is_empty() {
        true => Said::Fine,
        false => Said::Block(format!(
            "tribunal: this commit is not made: {}\nhint: git commit -m 'type(scope): what it does'",
            wrong.join("; ")
        )),
    }
}

/// What is wrong with the message of a commit. A message that cannot be read is wrong, or an editor would be a way
/// around the check.
fn unfit(call: &Call, message: Message) -> Option<String> {
    let text = match message {
        Message::Kept => return None,
        Message::Editor => {
            return Some("its message would be written in an editor, where nobody can check it".to_owned());
        }
        Message::Text(text) => text,
        Message::File(name) => match read_plain(&call.dir().join(&name)) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) => {
                return Some(format!(
                    "its message in {} cannot be read: {error}",
                    plain::clipped(&name, 100)
                ));
            }
        },
    };
    // Git drops empty lines at the top of a message, too.
    let subject = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    subject_issue(subject).map(|issue| format!("{:?}: {issue}", plain::clipped(subject, 100)))
}

/// Checks a SUMMARY after it was written.
fn after_tool(call: &Call) -> Said {
    if !matches!(call.tool_name.as_str(), "Write" | "Edit" | "MultiEdit") {
        return Said::Fine;
    }
    let path = call.dir().join(call.field("file_path"));
    let named = path.file_name().is_some_and(|name| name.to_string_lossy().ends_with("-SUMMARY.md"));
    let Some(ground) = call.ground().filter(|_| named) else { return Said::Fine };
    // A file of this name elsewhere is not a summary of the protocol.
    let Some(inside) = ground.relative(&path).filter(|inside| inside.starts_with(ground.planning())) else {
        return Said::Fine;
    };
    match summary_problems(&ground, &path) {
        problems if problems.is_empty() => Said::Fine,
        problems => Said::Block(format!("tribunal: {inside} is not complete:\n{}", problems.join("\n"))),
    }
}

/// What is wrong with a SUMMARY. One that cannot be read is wrong.
fn summary_problems(ground: &Ground, path: &Path) -> Vec<String> {
    let text = match read_plain(path) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) => return vec![format!("- it cannot be read: {error}")],
    };
    let read = read_summary(&path.display().to_string(), &text);
    let line = |one: &Diagnostic| format!("- line {}: {}", one.line, plain::clipped(&one.message, 300));
    let Some(summary) = read.value else {
        return read.diagnostics.iter().take(10).map(line).collect();
    };
    let Some(plan) = plan_beside(path) else {
        return vec!["- there is no PLAN beside it that it is about".to_owned()];
    };
    let archive = match Archive::open(ground.root()) {
        Ok(archive) => archive,
        Err(error) => return vec![format!("- its commits cannot be looked up: {error}")],
    };
    let checks =
        tribunal_protocol::summary_checks(&Delivery { archive: &archive, plan: &plan, summary: &summary });
    let failed = checks.into_iter().filter(|check| check.status != CheckStatus::Pass);
    failed.map(|check| format!("- {}: {}", check.name, plain::clipped(&check.detail, 300))).collect()
}

fn plan_beside(summary: &Path) -> Option<Plan> {
    let name = summary.file_name()?.to_str()?.strip_suffix("-SUMMARY.md")?;
    let path = summary.with_file_name(format!("{name}-PLAN.md"));
    let text = String::from_utf8_lossy(&read_plain(&path).ok()?).into_owned();
    read_plan(&path.display().to_string(), &text).value
}

/// The stop gate: an agent that builds a phase by hand does not leave plans half done.
///
/// An agent that was sent back once is let go, so that no session runs in a circle.
fn stop(call: &Call) -> Said {
    // The editor sets this flag when it has sent the agent back before.
    let Some(ground) = call.ground().filter(|_| !call.stop_hook_active) else { return Said::Fine };
    if a_run_lives(&call.dir()) {
        // Tribunal itself builds the phase and judges it.
        return Said::Fine;
    }
    let problems = match ground.state().read(tribunal_protocol::STATE) {
        Ok(None) => return Said::Fine,
        Ok(Some(bytes)) => unfinished(&ground, &bytes),
        Err(error) => vec![format!("- {} cannot be read: {error}", tribunal_protocol::STATE)],
    };
    match problems.is_empty() {
        true => Said::Fine,
        false => Said::Block(format!(
            "tribunal: the phase is not done:\n{}\nhint: finish it, or say in the SUMMARY why it is partial or failed",
            problems.join("\n")
        )),
    }
}

fn a_run_lives(dir: &Path) -> bool {
    let Some(place) = Place::around(dir) else { return false };
    let lives = |run: &String| tribunal_journal::is_live(&place.run_dir(run)).unwrap_or(false);
    place.runs().iter().take(RUNS).any(lives)
}

/// Plans that were begun by the execution state and whose SUMMARY is missing or does not hold.
fn unfinished(ground: &Ground, bytes: &[u8]) -> Vec<String> {
    let Ok(state) = serde_json::from_slice::<Value>(bytes) else {
        return vec![format!("- {} is broken: nobody can tell what is done", tribunal_protocol::STATE)];
    };
    // A phase that nobody executes has nothing to finish.
    if state["status"].as_str() != Some("running") {
        return Vec::new();
    }
    let phase = match &state["phase"] {
        Value::String(phase) => phase.clone(),
        other => other.to_string(),
    };
    let begun = |plan: &&Value| matches!(plan["status"].as_str(), Some("running" | "complete"));
    let plans = state["plans"].as_array().map(Vec::as_slice).unwrap_or_default();
    let ids = plans.iter().filter(begun).filter_map(|plan| plan["id"].as_str());
    // The file may say anything; a hook has to answer soon.
    ids.take(50).filter_map(|id| plan_problem(ground, &PlanId::new(&phase, id))).collect()
}

fn plan_problem(ground: &Ground, id: &PlanId) -> Option<String> {
    let (path, _) = ground.plan(id)?;
    let name = path.file_name()?.to_str()?.strip_suffix("-PLAN.md")?;
    let summary = path.with_file_name(format!("{name}-SUMMARY.md"));
    if !summary.is_file() {
        return Some(format!("- plan {id} was begun and has no {name}-SUMMARY.md"));
    }
    let problems = summary_problems(ground, &summary);
    (!problems.is_empty()).then(|| format!("- {name}-SUMMARY.md:\n  {}", problems.join("\n  ")))
}
