//! The protocol's commands: starting them (see `starts`), adding up a long event log against reading and parsing it,
//! compiling contexts against reading the files they are made of, and how much of a re-review prompt an agent's cache
//! already holds on the demo's phase.

use super::table::Table;
use super::{Bench, Result, drive, median, starts};
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

/// The phase's folder.
pub(super) const PHASE: &str = ".planning/phases/01-tools";
const PLANS: usize = 50;

/// Measures `protocol_start_x`, `metrics_x`, `context_x` and what a cache saves.
pub fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let dir = tempfile::Builder::new().prefix("tribunal-bench-").tempdir()?;
    starts::measure(bench, table)?;
    project(dir.path(), PLANS)?;
    metrics(bench, table, dir.path())?;
    context(bench, table, dir.path())?;
    cached(bench, table)
}

/// Writes a file of the project.
pub(super) fn put(root: &Path, path: &str, text: &str) -> Result<()> {
    let file = root.join(path);
    if let Some(parent) = file.parent() {
        fs::create_dir_all(parent)?;
    }
    Ok(fs::write(file, text)?)
}

/// A phase with so many plans; the first is built and delivered.
pub(super) fn project(root: &Path, plans: usize) -> Result<()> {
    let words = "Every field is read as it is written, and nothing is taken for what it is not. ".repeat(40);
    for n in 1..=plans {
        let text = format!(
            "---\nphase: \"01\"\nplan: \"{n:02}\"\ntitle: \"Tool {n}\"\nwave: 1\ndepends_on: []\nmust_haves:\n  - \"tool {n} works\"\n\
             files_modified:\n  - \"src/{n}.txt (new)\"\nfiles_forbidden:\n  - secret\n---\n# Plan\n\n### Task 1: Write tool {n}\ntool {n} works. {words}\n\n\
             **File:** `src/{n}.txt` (new)\n**Commit:** `feat(01-{n:02}): tool {n}`\n"
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
    put(root, &format!("{PHASE}/01-01-SUMMARY.md"), &summary)
}

/// Milliseconds of one start, whatever it answers.
pub(super) fn once(root: &Path, program: &Path, args: &[&str]) -> Result<f64> {
    let mut command = drive::command(program);
    command.args(args).current_dir(root).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let began = Instant::now();
    command.status()?;
    Ok(began.elapsed().as_secs_f64() * 1e3)
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
        ours.push(once(root, bench.binary.path(), &["metrics-report", "--json"])? / 1e3);
    }
    let (ours, floor) = (median(ours), median(floor));
    table.add("metrics_x", ours / floor, 3.0, format!("{events} events, median of {times}"));
    table.detail(format!("metrics: {events} events in {ours:.2} s, read and parsed alone in {floor:.2} s"));
    Ok(())
}

fn context(bench: &Bench, table: &mut Table, root: &Path) -> Result<()> {
    let times = if bench.quick { 1 } else { 10 };
    let files = ["PROJECT.md", "ROADMAP.md", "STATE.md", "codebase/CONVENTIONS.md", "codebase/PATTERNS.md"];
    let (mut ours, mut floor) = (vec![Vec::new(); PLANS], vec![Vec::new(); PLANS]);
    for _ in 0..times {
        for n in 1..=PLANS {
            let plan = format!("{PHASE}/01-{n:02}-PLAN.md");
            let names: Vec<String> = files.iter().map(|name| format!(".planning/{name}")).collect();
            let all: Vec<&str> = names.iter().map(String::as_str).chain([plan.as_str()]).collect();
            floor[n - 1].push(once(root, "/bin/cat".as_ref(), &all)?);
            ours[n - 1].push(once(
                root,
                bench.binary.path(),
                &["compile-context", "1", "dev", PHASE, &plan],
            )?);
        }
    }
    let sum = |times: &[Vec<f64>]| times.iter().map(|times| starts::quick(times)).sum::<f64>();
    let (ours, floor) = (sum(&ours), sum(&floor));
    let conditions =
        format!("{PLANS} plans one by one against `cat` of their files, the fastest of {times} each");
    table.add("context_x", ours / floor, 3.0, conditions);
    table.detail(format!("context: {PLANS} plans in {ours:.0} ms, their files read in {floor:.0} ms"));
    Ok(())
}

/// On the demo's phase, with project documents beside it: what the second review of a plan repeats of the first.
fn cached(bench: &Bench, table: &mut Table) -> Result<()> {
    let dir = tempfile::Builder::new().prefix("tribunal-bench-").tempdir()?;
    let demo = dir.path().join("demo");
    let place = demo.display().to_string();
    once(dir.path(), bench.binary.path(), &["demo", "--quiet", "--dir", &place])?;
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
