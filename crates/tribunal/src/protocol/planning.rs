//! `planning-git` and `suggest-next`: commit and push planning files as the configuration says, and suggest what to run
//! next.
//!
//! Only the planning folder and CLAUDE.md are ever committed here, by their paths. A refusal by git is an answer with a
//! reason, because scripts go on with their work after it.

use super::args::PlanningAction;
use super::{Answer, ground};
use crate::failure::Failure;
use serde_json::{Value, json};
use std::path::Path;
use tribunal_git::{GitError, GitPath, Pushed, Repo, Sign, Signature};
use tribunal_protocol::{Ground, moment};
use tribunal_world::read_plain;

/// Files of the planning folder that are state of the moment and never belong into a commit.
const TRANSIENT: [&str; 24] = [
    ".execution-state.json",
    ".execution-state.json.tmp",
    ".events/",
    ".contracts/",
    ".locks/",
    ".artifacts/",
    ".token-state/",
    ".baseline/",
    ".context-*.md",
    "phases/*/.context-*.md",
    ".*.new",
    // What the original tool leaves behind while it runs.
    ".metrics/",
    ".baselines/",
    ".snapshots/",
    ".cache/",
    ".cost-ledger.json",
    ".yolo-session",
    ".active-agent*",
    ".agent-pids",
    ".task-verify-seen",
    ".compaction-marker",
    ".watchdog*",
    ".*-log.jsonl*",
    ".hook-errors.log",
];

/// The values of the two configuration keys.
const TRACKING: [&str; 3] = ["manual", "ignore", "commit"];
const PUSH: [&str; 3] = ["never", "after_phase", "always"];

/// Runs an action. Exit code 0 done or nothing to do, 1 it could not be done.
pub fn run(action: PlanningAction, args: &[String]) -> Result<Answer, Failure> {
    let (words, config) = match (action, args) {
        (PlanningAction::CommitBoundary, [words, config]) => (words.as_str(), config),
        (PlanningAction::CommitBoundary, _) => {
            return Err(Failure::usage("commit-boundary needs ACTION CONFIG"));
        }
        (_, [config]) => ("", config),
        _ => return Err(Failure::usage("it needs CONFIG alone")),
    };
    let config = match read_plain(Path::new(config)).map(|bytes| serde_json::from_slice::<Value>(&bytes)) {
        Ok(Ok(config)) => config,
        Ok(Err(error)) => return refused(format!("{config} is not JSON: {error}")),
        Err(error) => return refused(format!("cannot read {config}: {error}")),
    };
    let word = |key: &str, otherwise: &'static str| -> String {
        config.get(key).and_then(Value::as_str).unwrap_or(otherwise).to_owned()
    };
    let (tracking, push) = (word("planning_tracking", "manual"), word("auto_push", "never"));
    for (key, value, known) in [("planning_tracking", &tracking, &TRACKING), ("auto_push", &push, &PUSH)] {
        // An unknown word is refused: taking it for the default could push what somebody wanted to keep.
        if !known.contains(&value.as_str()) {
            return refused(format!("{key} is {value:?}: one of {}", known.join(", ")));
        }
    }
    let ground = ground(None)?;
    let done = match action {
        PlanningAction::CommitBoundary => boundary(&ground, words, &tracking, &push),
        PlanningAction::PushAfterPhase => pushed(&ground, push == "after_phase", &push),
        PlanningAction::SyncIgnore => ignored(&ground, &tracking),
    };
    match done {
        Ok(answer) => Ok(answer),
        Err(error) => refused(error.to_string()),
    }
}

fn refused(why: String) -> Result<Answer, Failure> {
    Ok(Answer::new(json!({ "done": "nothing", "error": why }), 1))
}

fn boundary(ground: &Ground, words: &str, tracking: &str, push: &str) -> Result<Answer, GitError> {
    if tracking != "commit" {
        let why = format!("planning_tracking is {tracking}");
        return Ok(Answer::new(json!({ "done": "nothing", "reason": why }), 0));
    }
    let repo = Repo::open(ground.root())?;
    let (name, email) = repo.identity()?.unwrap_or_else(|| ("tribunal".into(), "tribunal@localhost".into()));
    let at = i64::try_from(moment().wall_ms / 1000).unwrap_or(0);
    // The words are a script's argument and become the subject of a commit.
    let words = tribunal_view::plain::clipped(words, 120);
    let message = format!("chore(planning): {}", if words.is_empty() { "planning files" } else { &words });
    // Excluded before the commit: the state may not have been ignored yet.
    for pattern in TRANSIENT {
        repo.exclude(&format!("/{}/{pattern}", ground.planning()))?;
    }
    let paths = [GitPath::from(ground.planning()), GitPath::from("CLAUDE.md")];
    let commit =
        match repo.commit_paths(&paths, &message, &Signature::new(name, email, at), Sign::AsConfigured) {
            // Git has no exit code of its own for this, so its words are all there is to tell it by.
            Err(error) if error.to_string().contains("ignored by") => {
                let planning = ground.planning();
                let why = format!("planning_tracking is commit, and git ignores {planning}");
                let hint = format!(
                    "take {planning}/ out of .gitignore: `tribunal planning-git sync-ignore CONFIG` does"
                );
                return Ok(Answer::new(json!({ "done": "nothing", "error": why, "hint": hint }), 1));
            }
            other => other?,
        };
    let Some(commit) = commit else {
        return Ok(Answer::new(json!({ "done": "nothing", "reason": "planning files are as committed" }), 0));
    };
    let mut body = json!({ "done": "committed", "commit": commit.to_string(), "message": message });
    let mut code = 0;
    if push == "always" {
        let (words, failed) = push_words(repo.push_upstream()?);
        body["push"] = words;
        code = u8::from(failed);
    }
    Ok(Answer::new(body, code))
}

fn pushed(ground: &Ground, wanted: bool, push: &str) -> Result<Answer, GitError> {
    if !wanted {
        return Ok(Answer::new(json!({ "done": "nothing", "reason": format!("auto_push is {push}") }), 0));
    }
    let (words, failed) = push_words(Repo::open(ground.root())?.push_upstream()?);
    Ok(Answer::new(words, u8::from(failed)))
}

fn push_words(pushed: Pushed) -> (Value, bool) {
    match pushed {
        Pushed::Done { remote } => (json!({ "done": "pushed", "remote": remote }), false),
        Pushed::NoUpstream => (json!({ "done": "nothing", "reason": "the branch has no upstream" }), false),
        Pushed::Refused { why, .. } => (json!({ "done": "nothing", "error": why }), true),
    }
}

/// `ignore` keeps the whole folder out of git, `commit` keeps only the state of the moment out, and `manual` touches
/// nothing.
fn ignored(ground: &Ground, tracking: &str) -> Result<Answer, GitError> {
    let whole = format!("{}/", ground.planning());
    let (mut added, mut removed) = (Vec::new(), Vec::new());
    match tracking {
        "ignore" => added = add_lines(ground, ".gitignore", &[whole.as_str()])?,
        "commit" => {
            removed = drop_line(ground, ".gitignore", &whole)?;
            added = add_lines(ground, &format!("{}/.gitignore", ground.planning()), &TRANSIENT)?;
        }
        _ => {}
    }
    let done = match (added.is_empty() && removed.is_empty(), tracking) {
        (true, _) => "nothing",
        (_, "ignore") => "ignored",
        _ => "synced",
    };
    let mut body = json!({ "done": done, "added": added, "removed": removed, "planning_tracking": tracking });
    if done == "nothing" {
        let why = if tracking == "manual" { "planning_tracking is manual" } else { "every line is there" };
        body["reason"] = why.into();
    }
    if tracking == "ignore" && tracks(ground)? {
        let hint = format!(
            "git tracks files in {whole} already and goes on to: `git rm -r --cached {whole}` ends it"
        );
        body["hint"] = hint.into();
    }
    Ok(Answer::new(body, 0))
}

/// True if HEAD has files of the planning folder.
fn tracks(ground: &Ground) -> Result<bool, GitError> {
    let repo = Repo::open(ground.root())?;
    // A repository without a commit tracks nothing.
    let Ok(head) = repo.head() else { return Ok(false) };
    let folder = format!("{}/", ground.planning());
    let entries = repo.list_tree(&head.commit)?;
    Ok(entries.iter().any(|entry| entry.path.as_bytes().starts_with(folder.as_bytes())))
}

/// Removes a line from a file and keeps every other byte.
fn drop_line(ground: &Ground, file: &str, line: &str) -> Result<Vec<String>, GitError> {
    let io = |error: tribunal_protocol::ProtocolError| GitError::Odd { what: error.to_string() };
    let folder = tribunal_protocol::Folder::new(ground.root());
    let Some(before) = folder.read(file).map_err(io)? else { return Ok(Vec::new()) };
    let is_it = |there: &&[u8]| there.trim_ascii() == line.as_bytes();
    if !before.split_inclusive(|byte| *byte == b'\n').any(|there| is_it(&there)) {
        return Ok(Vec::new());
    }
    let kept = before.split_inclusive(|byte| *byte == b'\n').filter(|there| !is_it(there));
    folder.write_flushed(file, &kept.collect::<Vec<_>>().concat()).map_err(io)?;
    Ok(vec![line.to_owned()])
}

/// Adds the lines that a file does not have and keeps every other byte.
fn add_lines(ground: &Ground, file: &str, lines: &[&str]) -> Result<Vec<String>, GitError> {
    let io = |error: tribunal_protocol::ProtocolError| GitError::Odd { what: error.to_string() };
    let (folder, name) = match file.strip_prefix(&format!("{}/", ground.planning())) {
        Some(name) => (ground.state(), name),
        None => (tribunal_protocol::Folder::new(ground.root()), file),
    };
    let before = folder.read(name).map_err(io)?.unwrap_or_default();
    let text = String::from_utf8_lossy(&before);
    let missing: Vec<String> = lines
        .iter()
        .filter(|line| !text.lines().any(|there| there.trim() == **line))
        .map(|l| (*l).to_owned())
        .collect();
    if missing.is_empty() {
        return Ok(missing);
    }
    let mut bytes = before.clone();
    if bytes.last().is_some_and(|last| *last != b'\n') {
        bytes.push(b'\n');
    }
    missing.iter().for_each(|line| bytes.extend_from_slice(format!("{line}\n").as_bytes()));
    folder.write_flushed(name, &bytes).map_err(io)?;
    Ok(missing)
}

/// `suggest-next`: suggestions by what was done and how it went.
pub fn suggest(command: &str, result: Option<&str>) -> Result<Answer, Failure> {
    let result = result.unwrap_or("pass").to_lowercase();
    let good = matches!(result.as_str(), "pass" | "passed" | "ok" | "complete" | "approve" | "success");
    let table: &[(&str, &str)] = match (command.trim_start_matches('/'), good) {
        ("init", true) => {
            &[("tribunal doctor", "see whether everything is there"), ("tribunal run", "run the first phase")]
        }
        ("plan" | "create-plan" | "create-tasks", true) => &[
            ("tribunal run", "judge the plans and build them"),
            ("tribunal docs .planning", "see what is read from them"),
        ],
        ("execute" | "run" | "vibe" | "implement", true) => &[
            ("tribunal report", "read what was built and judged"),
            ("tribunal uat", "try it out"),
            ("tribunal run", "run the next phase"),
        ],
        ("execute" | "run" | "vibe" | "implement", false) => &[
            ("tribunal inbox", "see what waits for a person"),
            ("tribunal show", "see why it stopped"),
            ("tribunal resume", "go on where it stopped"),
        ],
        ("qa" | "verify" | "uat", true) => &[("tribunal run", "run the next phase")],
        ("qa" | "verify" | "uat", false) => {
            &[("tribunal show", "see what failed"), ("tribunal resume", "go on when it is fixed")]
        }
        ("review", false) | ("review-plan", false) => {
            &[("tribunal show", "read the findings"), ("tribunal run --review", "judge the revised plans")]
        }
        (_, true) => &[("tribunal status", "see where things stand")],
        (_, false) => &[
            ("tribunal status", "see where things stand"),
            ("tribunal inbox", "see what waits for a person"),
        ],
    };
    let suggestions: Vec<Value> =
        table.iter().map(|(command, reason)| json!({ "command": command, "reason": reason })).collect();
    Ok(Answer::new(json!({ "suggestions": suggestions }), 0))
}
