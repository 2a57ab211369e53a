//! The protocol's commands: starting them against `/bin/true`, adding up a long event log against reading and parsing it,
//! compiling contexts against reading the files they are made of, and how much of a re-review prompt an agent's cache
//! already holds on the demo's phase.

use super::table::Table;
use super::{Bench, Result, drive, median};
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

const PHASE: &str = ".planning/phases/01-tools";
const PLAN: &str = ".planning/phases/01-tools/01-01-PLAN.md";
const SUMMARY: &str = ".planning/phases/01-tools/01-01-SUMMARY.md";
const CONTRACT: &str = ".planning/.contracts/01-01.json";
const PLANS: usize = 50;

/// Every command that can be started over and over, with its arguments.
const COMMANDS: [&[&str]; 22] = [
    &["review-plan", PLAN, PHASE],
    &["validate-plan", PLAN, PHASE],
    &["generate-contract", PLAN],
    &["assess-risk", PLAN],
    &["gate-policy", "balanced", "low", "standard"],
    &["lease-lock", "acquire", "t1", "src/a.txt"],
    &["lock-lite", "check", "t1", "src/a.txt"],
    &["hard-gate", "contract_compliance", "1", "1", "1", CONTRACT],
    &["hard-gate", "protected_file", "1", "1", "1", CONTRACT],
    &["artifact-registry", "list"],
    &["compile-context", "1", "dev", PHASE, PLAN],
    &["token-budget", "dev", PLAN],
    &["resolve-model", "dev", ".planning/config.json"],
    &["resolve-turns", "dev", ".planning/config.json"],
    &["log-event", "noted", "1"],
    &["update-exec-state", "1", "status=running"],
    &["suggest-next", "run"],
    &["verify-plan-completion", SUMMARY, PLAN],
    &["commit-lint", "HEAD~1..HEAD"],
    &["diff-against-plan", SUMMARY],
    &["validate-requirements", PLAN, PHASE],
    &["planning-git", "commit-boundary", "x", ".planning/config.json"],
];

/// Measures `protocol_start_x`, `metrics_x`, `context_x` and what a cache saves.
pub fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let dir = tempfile::Builder::new().prefix("tribunal-bench-").tempdir()?;
    project(dir.path())?;
    starts(bench, table, dir.path())?;
    metrics(bench, table, dir.path())?;
    context(bench, table, dir.path())?;
    cached(bench, table)
}

fn put(root: &Path, path: &str, text: &str) -> Result<()> {
    let file = root.join(path);
    if let Some(parent) = file.parent() {
        fs::create_dir_all(parent)?;
    }
    Ok(fs::write(file, text)?)
}

fn project(root: &Path) -> Result<()> {
    let words = "Every field is read as it is written, and nothing is taken for what it is not. ".repeat(40);
    for n in 1..=PLANS {
        let text = format!(
            "---\nphase: \"01\"\nplan: \"{n:02}\"\ntitle: \"Tool {n}\"\nwave: 1\ndepends_on: []\nmust_haves:\n  - \"tool {n} works\"\n\
             files_modified:\n  - \"src/{n}.txt (new)\"\n---\n# Plan\n\n### Task 1: Write tool {n}\ntool {n} works. {words}\n\n\
             **File:** `src/{n}.txt` (new)\n**Commit:** `feat(01-{n:02}): tool {n}`\n> verification: true\n"
        );
        put(root, &format!("{PHASE}/01-{n:02}-PLAN.md"), &text)?;
    }
    for name in ["PROJECT.md", "ROADMAP.md", "STATE.md", "codebase/CONVENTIONS.md", "codebase/PATTERNS.md"] {
        put(root, &format!(".planning/{name}"), &format!("# {name}\n\n{}", words.repeat(4)))?;
    }
    put(root, ".planning/config.json", "{\"planning_tracking\": \"manual\"}\n")?;
    drive::git(root, &["init", "-q", "-b", "main"])?;
    for (key, value) in [("user.name", "Bench"), ("user.email", "bench@example.org")] {
        drive::git(root, &["config", key, value])?;
    }
    drive::git(root, &["add", "-A"])?;
    drive::git(root, &["commit", "-q", "-m", "chore: begin"])?;
    put(root, "src/1.txt", "one\n")?;
    drive::git(root, &["add", "-A"])?;
    drive::git(root, &["commit", "-q", "-m", "feat(01-01): tool 1"])?;
    let head = drive::command("git").args(["rev-parse", "--short", "HEAD"]).current_dir(root).output()?;
    let head = String::from_utf8(head.stdout)?;
    let summary = format!(
        "---\nphase: \"01\"\nplan: \"01\"\ntitle: Tool 1\nstatus: complete\ncompleted: 2026-01-01\ntasks_completed: 1\ntasks_total: 1\n\
         commit_hashes: [\"{}\"]\ndeviations: []\n---\n\n## What Was Built\n\n- tool 1\n\n## Files Modified\n\n- `src/1.txt` -- created: tool\n\n\
         ## Deviations\n\nNone\n",
        head.trim()
    );
    put(root, SUMMARY, &summary)
}

/// Milliseconds of one start, whatever it answers.
fn once(root: &Path, program: &Path, args: &[&str], path: Option<&Path>) -> Result<f64> {
    let mut command = drive::command(program);
    command.args(args).current_dir(root).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Some(path) = path {
        let rest = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{rest}", path.display()));
    }
    let began = Instant::now();
    command.status()?;
    Ok(began.elapsed().as_secs_f64() * 1e3)
}

/// How often a command calls git, counted once by a git that leaves a line before the real one begins.
fn calls_of_git(root: &Path, program: &Path, args: &[&str], real: &str) -> Result<usize> {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::Builder::new().prefix("tribunal-bench-").tempdir()?;
    let (git, log) = (dir.path().join("git"), dir.path().join("log"));
    fs::write(&git, format!("#!/bin/sh\necho x >> '{}'\nexec '{real}' \"$@\"\n", log.display()))?;
    fs::set_permissions(&git, fs::Permissions::from_mode(0o755))?;
    once(root, program, args, Some(dir.path()))?;
    Ok(fs::read_to_string(&log).unwrap_or_default().lines().count())
}

fn starts(bench: &Bench, table: &mut Table, root: &Path) -> Result<()> {
    let runs = if bench.quick { 5 } else { 100 };
    let program = bench.binary.path();
    let found = drive::command("sh").args(["-c", "command -v git"]).output()?;
    let git = String::from_utf8(found.stdout)?.trim().to_owned();
    once(root, program, &["generate-contract", PLAN], None)?;
    let mut needs = Vec::new();
    for args in COMMANDS {
        needs.push(calls_of_git(root, program, args, &git)?);
    }
    let (mut floor, mut call) = (Vec::new(), Vec::new());
    let mut ours = vec![Vec::new(); COMMANDS.len()];
    for _ in 0..runs {
        floor.push(once(root, "/bin/true".as_ref(), &[], None)?);
        call.push(once(root, git.as_ref(), &["cat-file", "-t", "HEAD"], None)?);
        for (args, times) in COMMANDS.iter().zip(&mut ours) {
            times.push(once(root, program, args, None)?);
        }
    }
    let (floor, call) = (median(floor), median(call));
    let mut worst: f64 = 0.0;
    let mut text = format!("protocol: /bin/true {floor:.2} ms, one call of git {call:.2} ms;");
    for ((args, times), needs) in COMMANDS.iter().zip(ours).zip(needs) {
        let ms = median(times);
        let own = (ms - needs as f64 * call) / floor;
        worst = worst.max(own);
        let _ = write!(text, " {} {ms:.2} ms", args[0]);
        if needs > 0 {
            let _ = write!(text, " with {needs} of git");
        }
        let _ = write!(text, " ({own:.1} x);");
    }
    table.add(
        "protocol_start_x",
        worst,
        4.0,
        format!("the slowest of {}, less its calls of git, median of {runs}", COMMANDS.len()),
    );
    table.detail(text.trim_end_matches(';').to_owned());
    Ok(())
}

fn metrics(bench: &Bench, table: &mut Table, root: &Path) -> Result<()> {
    let (events, times) = if bench.quick { (10_000, 1) } else { (1_000_000, 3) };
    let names = ["task_started", "gate_passed", "token_usage", "task_completed_confirmed", "agent_spawn"];
    let mut text = String::new();
    for n in 0..events {
        let (name, task) = (names[n % names.len()], n / names.len());
        let _ = writeln!(
            text,
            "{{\"ts\":\"2026-01-01T{:02}:{:02}:{:02}.000Z\",\"event_id\":\"r:{n}.0\",\"correlation_id\":\"r\",\"event\":\"{name}\",\
             \"phase\":\"01\",\"plan\":\"01-01\",\"data\":{{\"task_id\":\"01-01-T{task}\",\"tokens\":5200,\"effort\":\"balanced\"}}}}",
            n / 3600 % 24,
            n / 60 % 60,
            n % 60
        );
    }
    let log = root.join(".planning/.events/event-log.jsonl");
    put(root, ".planning/.events/event-log.jsonl", &text)?;
    drop(text);
    let (mut ours, mut floor) = (Vec::new(), Vec::new());
    for _ in 0..times {
        let began = Instant::now();
        let (mut reader, mut line, mut read) =
            (BufReader::with_capacity(1 << 20, fs::File::open(&log)?), Vec::new(), 0);
        while reader.read_until(b'\n', &mut line)? > 0 {
            std::hint::black_box(serde_json::from_slice::<serde_json::Value>(&line)?);
            read += 1;
            line.clear();
        }
        floor.push(began.elapsed().as_secs_f64());
        assert_eq!(read, events, "the log is whole");
        ours.push(once(root, bench.binary.path(), &["metrics-report", "--json"], None)? / 1e3);
    }
    let (ours, floor) = (median(ours), median(floor));
    table.add("metrics_x", ours / floor, 3.0, format!("{events} events, median of {times}"));
    table.detail(format!("metrics: {events} events in {ours:.2} s, read and parsed alone in {floor:.2} s"));
    Ok(())
}

fn context(bench: &Bench, table: &mut Table, root: &Path) -> Result<()> {
    let times = if bench.quick { 1 } else { 10 };
    let files = ["PROJECT.md", "ROADMAP.md", "STATE.md", "codebase/CONVENTIONS.md", "codebase/PATTERNS.md"];
    let (mut ours, mut floor) = (Vec::new(), Vec::new());
    for _ in 0..times {
        let (mut mine, mut read) = (0.0, 0.0);
        for n in 1..=PLANS {
            let plan = format!("{PHASE}/01-{n:02}-PLAN.md");
            let names: Vec<String> = files.iter().map(|name| format!(".planning/{name}")).collect();
            let all: Vec<&str> = names.iter().map(String::as_str).chain([plan.as_str()]).collect();
            read += once(root, "/bin/cat".as_ref(), &all, None)?;
            mine += once(root, bench.binary.path(), &["compile-context", "1", "dev", PHASE, &plan], None)?;
        }
        ours.push(mine);
        floor.push(read);
    }
    let (ours, floor) = (median(ours), median(floor));
    let conditions = format!("{PLANS} plans one by one against `cat` of their files, median of {times}");
    table.add("context_x", ours / floor, 3.0, conditions);
    table.detail(format!("context: {PLANS} plans in {ours:.0} ms, their files read in {floor:.0} ms"));
    Ok(())
}

/// On the demo's phase, with project documents beside it: what the second review of a plan repeats of the first.
fn cached(bench: &Bench, table: &mut Table) -> Result<()> {
    let dir = tempfile::Builder::new().prefix("tribunal-bench-").tempdir()?;
    let demo = dir.path().join("demo");
    let place = demo.display().to_string();
    once(dir.path(), bench.binary.path(), &["demo", "--quiet", "--dir", &place], None)?;
    let runs = fs::read_dir(demo.join(".tribunal/runs"))?.flatten().next().ok_or("the demo left no run")?;
    let (mut first, mut second) = (String::new(), String::new());
    for launch in fs::read_dir(runs.path().join("launches"))?.flatten() {
        let name = launch.file_name().to_string_lossy().into_owned();
        let Ok(prompt) = fs::read_to_string(launch.path().join("prompt.md")) else { continue };
        if name.starts_with("01-01_plan") && name.contains("judge") {
            if prompt.contains("round 1 of") {
                first = prompt;
            } else if prompt.contains("round 2 of") {
                second = prompt;
            }
        }
    }
    if first.is_empty() || second.is_empty() {
        return Err("the demo's plan was not reviewed twice".into());
    }
    let same = first.bytes().zip(second.bytes()).take_while(|(a, b)| a == b).count();
    let share = same as f64 / second.len() as f64;
    let tokens = |text: &str| text.len().div_ceil(4);
    table.add_plain(
        "cache_share",
        share,
        "of a re-review prompt, the same bytes as the review before it (demo, plan 01-01)",
    );
    table.add_plain(
        "delta_tokens_x",
        tokens(&second) as f64 / tokens(&first) as f64,
        "a re-review prompt against the full one (demo)",
    );
    table.detail(format!(
        "prompts: the re-review has {} tokens, {} of them a prefix of the first review, which has {}",
        tokens(&second),
        same / 4,
        tokens(&first)
    ));
    Ok(())
}
