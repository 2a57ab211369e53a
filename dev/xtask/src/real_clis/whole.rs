//! Whole runs of two plans with real programs, from `init` on.

use super::agents::{Agent, agent};
use super::install::PINS;
use super::server::{Server, honest, title};
use super::{Args, Res};
use crate::out;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};
use tribunal_engine::RunState;
use tribunal_journal::Reader;
use tribunal_process::survivors;
use tribunal_world::marker;

const PLANS: [(&str, &str); 2] = [("01", "one"), ("02", "two")];

/// Runs with two programs and with one, and says what came of it.
pub fn run(args: &Args, cache: &Path, ours: &Path) -> Res<bool> {
    let mut good = true;
    for names in [&["claude", "codex"][..], &["claude"]] {
        good &= play(args, cache, ours, names)?;
    }
    for signal in [Signal::TERM, Signal::INT, Signal::KILL] {
        good &= end_by(args, cache, ours, signal)?;
    }
    Ok(good)
}

/// Ends a run while a tool of its dev runs, which has left the session: nothing of it may be there afterwards.
fn end_by(args: &Args, cache: &Path, ours: &Path, signal: Signal) -> Res<bool> {
    let slow =
        json!({"match": {"prompt": "# Do one task"}, "answer": {"shell": "setsid sleep 600 & sleep 601"}});
    let approve = json!({"match": {"prompt": "# Review"}, "answer": {"text": "CHECKED: every task serves a must-have; ran git show --stat, the files are those of the plan.\nVERDICT: approve"}});
    let rules = json!({"models": ["claude-sonnet-4-5"], "rules": [title(), approve, slow], "default": {"text": "OK"}});
    let stage = stage(args, cache, "ended", &["claude"], &rules)?;
    expect(&stage.call(ours, &["init"])?, 0, "init")?;
    let mut child = start(ours, &["run", "01", "--set", "run.grace_s=1"], &stage.project, &stage.env)?;
    let marker = || newest_dir(&stage.project).map(|dir| marker(&dir, &name_of(&dir))).unwrap_or_default();
    let sleeps = |pid: &i32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line == b"sleep\x00601\x00"
    };
    let began = until(Duration::from_secs(90), || survivors(&marker()).iter().any(sleeps));
    let sent = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap_or(0))
        .map(|pid| rustix::process::kill_process(pid, signal));
    let _status = child.wait().map_err(|error| error.to_string())?;
    if signal == Signal::KILL {
        // Nobody is left to end its agents: whoever takes the run up next does.
        stage.call(ours, &["cancel"])?;
    }
    let gone = until(Duration::from_secs(10), || survivors(&marker()).is_empty());
    let good = began && gone && matches!(sent, Some(Ok(())));
    let left = survivors(&marker());
    let words = match (good, began) {
        (true, _) if signal == Signal::KILL => "nothing survives the next command".to_owned(),
        (true, _) => "nothing survives".to_owned(),
        (false, false) => "NO: its tool never ran".to_owned(),
        (false, true) => format!("NO: {left:?} survive"),
    };
    let name = format!("{signal:?}").replace("Signal::", "SIG");
    out::line(format!("Tribunal ended by {} while a tool runs: {words}", name.trim_matches('"')));
    Ok(good)
}

/// Looks every few milliseconds until it is so.
fn until(max: Duration, is_so: impl Fn() -> bool) -> bool {
    let (_bell, never) = std::sync::mpsc::channel::<()>();
    let began = Instant::now();
    while began.elapsed() < max {
        if is_so() {
            return true;
        }
        let _timeout = never.recv_timeout(Duration::from_millis(100));
    }
    is_so()
}

/// A project with its user, and a server for its agents.
pub(super) struct Stage {
    server: Server,
    pub(super) project: PathBuf,
    env: Vec<(OsString, OsString)>,
}

impl Stage {
    pub(super) fn call(&self, ours: &Path, args: &[&str]) -> Res<Output> {
        command(ours, args, &self.project, &self.env)
    }
}

/// A stage whose models are honest: what they say carries the launch word.
pub(super) fn stage(
    args: &Args,
    cache: &Path,
    name: &str,
    names: &[&'static str],
    rules: &Value,
) -> Res<Stage> {
    stage_as_told(args, cache, name, names, &honest(rules))
}

/// A stage whose models say what the rules say, word for word.
pub(super) fn stage_as_told(
    args: &Args,
    cache: &Path,
    name: &str,
    names: &[&'static str],
    rules: &Value,
) -> Res<Stage> {
    let dir = cache.join("played").join(name);
    let _old = std::fs::remove_dir_all(&dir);
    let server = Server::start(&args.server, &dir.join("server"), rules)?;
    let (mut agents, mut bins) = (Vec::new(), Vec::new());
    for name in names {
        let pin = PINS.iter().find(|pin| pin.agent == *name).ok_or("no such pin")?;
        let bin = pin.install(cache)?;
        agents.push(agent(name, &bin, &dir.join("home"), server.port)?);
        bins.push(bin);
    }
    Ok(Stage { project: project(&dir)?, env: environment(&agents, &bins)?, server })
}

/// `init`, `doctor` and `run` where only these are installed, without a setting of a person's own.
fn play(args: &Args, cache: &Path, ours: &Path, names: &[&'static str]) -> Res<bool> {
    let stage = stage(args, cache, &format!("whole-{}", names.join("-")), names, &rules())?;
    let (project, env) = (&stage.project, &stage.env);
    let call = |args: &[&str]| stage.call(ours, args);
    expect(&call(&["init"])?, 0, "init")?;
    expect(&call(&["doctor"])?, 0, "doctor")?;
    git(project, &["add", "-A"], env)?;
    git(project, &["commit", "-q", "-m", "chore: settings"], env)?;
    let ran = call(&["run", "01"])?;
    let run_state = newest(project)?;
    let mut wrong = judge(&run_state, project, names, ran.status.code());
    wrong.extend(super::echo::unnamed(&run_state, false));
    let roles =
        if names.len() == 2 { "claude as dev and codex as reviewer" } else { "claude as dev and reviewer" };
    let requests = stage.server.since(0).requests;
    match wrong.is_empty() {
        true => out::line(format!("A whole run, {roles}: passed, {requests} requests")),
        false => {
            out::line(format!("A whole run, {roles}: NO: {}", wrong.join("; ")));
            out::progress(String::from_utf8_lossy(&ran.stdout));
            out::progress(String::from_utf8_lossy(&ran.stderr));
        }
    }
    Ok(wrong.is_empty())
}

/// What is not as it should be after the run.
fn judge(run_state: &RunState, project: &Path, names: &[&str], code: Option<i32>) -> Vec<String> {
    let mut wrong = Vec::new();
    if code != Some(0) {
        wrong.push(format!("exit code {code:?}"));
    }
    for (_, name) in PLANS {
        let text = std::fs::read_to_string(project.join(format!("bin/{name}.sh"))).unwrap_or_default();
        if text != format!("#!/bin/sh\necho {name}\n") {
            wrong.push(format!("bin/{name}.sh did not land: {text:?}"));
        }
    }
    let failed = run_state
        .launches
        .iter()
        .filter_map(|launch| Some(format!("{} {:?}", launch.effect, launch.failed?)));
    wrong.extend(failed);
    for name in names.iter().filter(|name| !run_state.launches.iter().any(|launch| launch.agent == **name)) {
        wrong.push(format!("{name} was never launched"));
    }
    let made = run_state
        .launches
        .iter()
        .filter(|launch| launch.role == "dev" && launch.effect.starts_with("01-01/"));
    let resumed: Vec<bool> = made.map(|launch| launch.resumed).collect();
    if resumed != [false, true] {
        wrong.push(format!("the rework did not go on in the builder's session: {resumed:?}"));
    }
    let spoke = run_state.launches.iter().filter(|launch| launch.role != "dev" && launch.resumed);
    wrong.extend(spoke.map(|launch| format!("{} judged in an earlier session", launch.effect)));
    wrong
}

/// The dev writes what its plan names, the first one wrongly; the reviewer finds that, and approves what is fixed.
pub(super) fn rules() -> Value {
    let rule = |prompt: &str, answer: Value| json!({"match": {"prompt": prompt}, "answer": answer});
    let first =
        |prompt: &str, answer: Value| json!({"match": {"prompt": prompt, "turn": 0}, "answer": answer});
    let shell = |name: &str, word: &str| {
        let file = format!("bin/{name}.sh");
        json!({"shell": format!("mkdir -p bin && printf '#!/bin/sh\\necho {word}\\n' > {file} && chmod +x {file}")})
    };
    let text = |text: &str| json!({"text": text});
    json!({
        "models": ["claude-sonnet-4-5", "gpt-5.5"],
        "rules": [
            title(),
            rule("You judge one task.*Write bin/one.sh.*round 1 of \\d+", text(
                "[id:a] [severity:blocker] [confidence:95] [file:bin/one.sh:2] issue: it prints the wrong word | \
                 suggestion: print one\nVERDICT: reject",
            )),
            rule("# Review.*Findings put to you.*F-1", text(
                "F-1: resolved\nCHECKED: every task serves a must-have; ran git show --stat, the files are those of the plan.\nVERDICT: approve",
            )),
            rule("# Review", text("CHECKED: every task serves a must-have; ran git show --stat, the files are those of the plan.\nVERDICT: approve")),
            first("# Do one task.*Findings to fix.*F-1", shell("one", "one")),
            rule("# Do one task.*Findings to fix.*F-1", text("FIXED: F-1\nSUMMARY: it prints one.\nTASK: done")),
            first("# Do one task.*Write bin/one.sh", shell("one", "wrong")),
            rule("# Do one task.*Write bin/one.sh", text("SUMMARY: bin/one.sh is there.\nTASK: done")),
            first("# Do one task.*Write bin/two.sh", shell("two", "two")),
            rule("# Do one task.*Write bin/two.sh", text("SUMMARY: bin/two.sh prints two.\nTASK: done")),
        ],
        "default": {"text": "OK"},
    })
}

fn project(dir: &Path) -> Res<PathBuf> {
    let project = dir.join("project");
    let phase = project.join(".planning/phases/01-tools");
    std::fs::create_dir_all(&phase).map_err(|error| error.to_string())?;
    for (number, name) in PLANS {
        let text = format!(
            "---\nphase: \"01\"\nplan: \"{number}\"\ntitle: \"Tool {name}\"\nwave: 1\ndepends_on: []\nmust_haves:\n\
             \x20 - \"bin/{name}.sh prints {name}\"\nfiles_modified:\n  - \"bin/{name}.sh (new)\"\n---\n# Plan 01-{number}\n\n\
             ### Task 1: Write bin/{name}.sh\nWrite it.\nIn the end bin/{name}.sh prints {name}.\n\n\
             **File:** `bin/{name}.sh` (new)\n**Commit:** `feat(01-{number}): add bin/{name}.sh`\n\
             > verification: sh bin/{name}.sh\n"
        );
        let file = phase.join(format!("01-{number}-PLAN.md"));
        std::fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    let env: Vec<(OsString, OsString)> = std::env::vars_os().filter(|(name, _)| name == "PATH").collect();
    for args in [
        &["init", "-q", "-b", "main"][..],
        &["config", "user.name", "Tester"],
        &["config", "user.email", "tester@example.org"],
        &["add", "-A"],
        &["commit", "-q", "-m", "chore: begin"],
    ] {
        git(&project, args, &env)?;
    }
    Ok(project)
}

fn environment(agents: &[Agent], bins: &[PathBuf]) -> Res<Vec<(OsString, OsString)>> {
    let mut all: BTreeMap<String, OsString> = BTreeMap::new();
    agents.iter().for_each(|agent| all.extend(agent.environment.clone()));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let dirs = bins.iter().cloned().chain(std::env::split_paths(&path));
    all.insert("PATH".to_owned(), std::env::join_paths(dirs).map_err(|error| error.to_string())?);
    Ok(all.into_iter().map(|(name, value)| (name.into(), value)).collect())
}

fn newest_dir(project: &Path) -> Res<PathBuf> {
    let runs = std::fs::read_dir(project.join(".tribunal/runs")).map_err(|error| error.to_string())?;
    runs.filter_map(|entry| Some(entry.ok()?.path())).max().ok_or_else(|| "there is no run".to_owned())
}

fn name_of(dir: &Path) -> String {
    dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

pub(super) fn newest(project: &Path) -> Res<RunState> {
    let reader = Reader::open(&newest_dir(project)?).map_err(|error| error.to_string())?;
    RunState::read(&reader).map_err(|error| error.to_string())
}

pub(super) fn expect(ended: &Output, code: i32, what: &str) -> Res<()> {
    match ended.status.code() == Some(code) {
        true => Ok(()),
        false => Err(format!(
            "{what}: {}\n{}{}",
            ended.status,
            String::from_utf8_lossy(&ended.stdout),
            String::from_utf8_lossy(&ended.stderr)
        )),
    }
}

fn git(dir: &Path, args: &[&str], env: &[(OsString, OsString)]) -> Res<()> {
    expect(&command(Path::new("git"), args, dir, env)?, 0, &format!("git {args:?}"))
}

#[expect(clippy::disallowed_methods, reason = "a chore starts programs as a user would")]
fn command(program: &Path, args: &[&str], dir: &Path, env: &[(OsString, OsString)]) -> Res<Output> {
    std::process::Command::new(program)
        .args(args)
        .current_dir(dir)
        .env_clear()
        .envs(env.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{}: {error}", program.display()))
}

#[expect(clippy::disallowed_methods, reason = "a chore starts programs as a user would")]
fn start(program: &Path, args: &[&str], dir: &Path, env: &[(OsString, OsString)]) -> Res<Child> {
    std::process::Command::new(program)
        .args(args)
        .current_dir(dir)
        .env_clear()
        .envs(env.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("{}: {error}", program.display()))
}
