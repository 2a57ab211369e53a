//! Starting the protocol's commands. The floor of each is `/bin/true` and the very calls of git it makes, with the same
//! arguments, environment and input, run bare in the same minute. Commands that run a project's own checks or tests are
//! measured where there are none to run.

use super::protocol::{self, PHASE};
use super::table::Table;
use super::{Bench, Result, drive, machine, median};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Instant;

/// Plans of the phase: as many as a phase has.
const PLANS: usize = 5;

/// Every command that can be started over and over. `{phase}`, `{plan}`, `{summary}` and `{contract}` are files.
const COMMANDS: [&str; 35] = [
    "review-plan {plan} {phase}",
    "validate-plan {plan} {phase}",
    "generate-contract {plan}",
    "assess-risk {plan}",
    "gate-policy balanced low standard",
    "lease-lock acquire t1 src/a.txt",
    "lease-lock renew t1",
    "lock-lite check t1 src/a.txt",
    "hard-gate contract_compliance 1 1 1 {contract}",
    "hard-gate protected_file 1 1 1 {contract}",
    "hard-gate required_checks 1 1 1 {contract}",
    "hard-gate commit_hygiene 1 1 1 {contract}",
    "hard-gate artifact_persistence 1 1 1 {contract}",
    "hard-gate verification_threshold 1 1 1 {contract}",
    "hard-gate forbidden_commands 1 1 1 {contract}",
    "auto-repair contract_compliance 1 1 1 {contract}",
    "two-phase-complete 01-01-T1 1 1 {contract} src/1.txt files_modified=src/1.txt",
    "control-plane pre-task 1 1 1 --plan-path={plan} --claimed-files=src/1.txt",
    "control-plane post-task 1 1 1 --plan-path={plan}",
    "artifact-registry list",
    "compile-context 1 dev {phase} {plan}",
    "token-budget dev {plan}",
    "resolve-model dev .planning/config.json",
    "resolve-turns dev .planning/config.json",
    "log-event noted 1",
    "update-exec-state 1 status=running",
    "suggest-next run",
    "validate-message",
    "metrics-report",
    "verify-plan-completion {summary} {plan}",
    "commit-lint HEAD~1..HEAD",
    "diff-against-plan {summary}",
    "validate-requirements {plan} {phase}",
    "check-regression {phase}",
    "planning-git commit-boundary x .planning/config.json",
];

/// One call of git as a command made it.
struct Call {
    cwd: PathBuf,
    env: Vec<(OsString, OsString)>,
    args: Vec<OsString>,
    input: PathBuf,
}

/// A command, what it calls, and how long both took.
struct Case {
    words: &'static str,
    args: Vec<String>,
    calls: Vec<Call>,
    ours: Vec<f64>,
    git: Vec<f64>,
    /// Its processor time against that of its floor.
    spent_x: f64,
}

/// Measures `protocol_start_x`.
pub fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let runs = if bench.quick { 5 } else { 100 };
    let dir = tempfile::Builder::new().prefix("tribunal-bench-").tempdir()?;
    let (root, kept) = (dir.path().join("project"), dir.path().join("calls"));
    protocol::project(&root, PLANS)?;
    let program = bench.binary.path();
    let real = drive::command("sh").args(["-c", "command -v git"]).output()?;
    let real = PathBuf::from(String::from_utf8(real.stdout)?.trim());
    protocol::once(&root, program, &["generate-contract", &filled("{plan}")])?;
    let mut cases = Vec::new();
    for (n, words) in COMMANDS.into_iter().enumerate() {
        let args: Vec<String> = words.split(' ').map(filled).collect();
        let calls = calls_of_git(&root, program, &args, &real, &kept.join(n.to_string()))?;
        cases.push(Case { words, args, calls, ours: Vec::new(), git: Vec::new(), spent_x: 0.0 });
    }
    let mut floor = Vec::new();
    for _ in 0..runs {
        floor.push(protocol::once(&root, "/bin/true".as_ref(), &[])?);
        for case in &mut cases {
            let args: Vec<&str> = case.args.iter().map(String::as_str).collect();
            case.git.push(replayed(&real, &case.calls)?);
            case.ours.push(fresh(&root, program, &args)?);
        }
    }
    // What waits for nothing takes as long as it computes, whatever else goes on.
    let batch = if bench.quick { 20 } else { 200 };
    let spent_floor = spent(batch, || protocol::once(&root, "/bin/true".as_ref(), &[]))?;
    for case in &mut cases {
        let args: Vec<&str> = case.args.iter().map(String::as_str).collect();
        let ours = spent(batch, || fresh(&root, program, &args))?;
        let git = if case.calls.is_empty() { 0.0 } else { spent(batch, || replayed(&real, &case.calls))? };
        case.spent_x = ours / (spent_floor + git);
    }
    told(table, &floor, &cases);
    Ok(())
}

/// One in twenty is faster. A process of a millisecond either has a processor to itself or waits for one several times as
/// long as it takes: where other work goes on, a median says more about that.
pub(super) fn quick(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 20).copied().unwrap_or(f64::NAN)
}

/// Milliseconds of one start in a project whose log does not grow with the measuring.
fn fresh(root: &Path, program: &Path, args: &[&str]) -> Result<f64> {
    let _ = fs::remove_file(root.join(".planning/.events/event-log.jsonl"));
    protocol::once(root, program, args)
}

/// Milliseconds of processor time one doing takes, with every process it starts and waits for.
fn spent(times: u32, mut doing: impl FnMut() -> Result<f64>) -> Result<f64> {
    let before = machine::spent_by_children();
    for _ in 0..times {
        doing()?;
    }
    Ok((machine::spent_by_children() - before).as_secs_f64() * 1e3 / f64::from(times))
}

fn filled(word: &str) -> String {
    word.replace("{phase}", PHASE)
        .replace("{plan}", &format!("{PHASE}/01-01-PLAN.md"))
        .replace("{summary}", &format!("{PHASE}/01-01-SUMMARY.md"))
        .replace("{contract}", ".planning/.contracts/01-01.json")
}

/// The calls of git a command makes, kept by a git that writes down what it is asked before the real one begins.
fn calls_of_git(root: &Path, program: &Path, args: &[String], real: &Path, kept: &Path) -> Result<Vec<Call>> {
    let bin = kept.join("bin");
    fs::create_dir_all(&bin)?;
    let git = bin.join("git");
    let text = format!(
        "#!/bin/sh\nd=$(mktemp -d '{}/call.XXXXXX')\npwd > $d/cwd\nenv -0 > $d/env\nprintf '%s\\0' \"$@\" > $d/args\n\
         tee $d/input | '{}' \"$@\"\n",
        kept.display(),
        real.display()
    );
    fs::write(&git, text)?;
    fs::set_permissions(&git, fs::Permissions::from_mode(0o755))?;
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    let mut command = drive::command(program);
    command.args(args).current_dir(root).env("PATH", path);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    let mut calls = Vec::new();
    for entry in fs::read_dir(kept)?.flatten().filter(|entry| entry.path() != bin) {
        calls.push(call(&entry.path())?);
    }
    Ok(calls)
}

fn call(dir: &Path) -> Result<Call> {
    let parts = |name: &str| -> Result<Vec<OsString>> {
        let bytes = fs::read(dir.join(name))?;
        let parts = bytes.split(|byte| *byte == 0).map(|part| OsString::from_vec(part.to_vec()));
        Ok(parts.take(bytes.iter().filter(|byte| **byte == 0).count()).collect())
    };
    let pair = |word: OsString| {
        let (name, value) = word.to_str()?.split_once('=')?;
        // What the shell in between added is not git's.
        let own = !matches!(name, "PWD" | "OLDPWD" | "SHLVL" | "_");
        own.then(|| (name.into(), value.into()))
    };
    let cwd = fs::read_to_string(dir.join("cwd"))?;
    Ok(Call {
        cwd: cwd.trim_end().into(),
        env: parts("env")?.into_iter().filter_map(pair).collect(),
        args: parts("args")?,
        input: dir.join("input"),
    })
}

/// Milliseconds of these calls, one after the other.
fn replayed(git: &Path, calls: &[Call]) -> Result<f64> {
    let mut spent = 0.0;
    for call in calls {
        let mut command = drive::command(git);
        command.args(&call.args).current_dir(&call.cwd).env_clear().envs(call.env.iter().cloned());
        command.stdin(fs::File::open(&call.input)?).stdout(Stdio::null()).stderr(Stdio::null());
        let began = Instant::now();
        command.status()?;
        spent += began.elapsed().as_secs_f64() * 1e3;
    }
    Ok(spent)
}

fn told(table: &mut Table, floor: &[f64], cases: &[Case]) {
    let (runs, slow, floor) = (floor.len(), median(floor.to_vec()), quick(floor));
    let (mut worst, mut spent) = ((0.0_f64, ""), (0.0_f64, ""));
    let mut text =
        format!("protocol: one in twenty is faster (median): /bin/true {floor:.2} ms ({slow:.2});");
    for case in cases {
        let (ms, git, middle) = (quick(&case.ours), quick(&case.git), median(case.ours.clone()));
        let ratio = ms / (floor + git);
        worst = if ratio > worst.0 { (ratio, case.words) } else { worst };
        spent = if case.spent_x > spent.0 { (case.spent_x, case.words) } else { spent };
        let name: Vec<&str> = case.words.split(' ').take(2).filter(|word| !word.starts_with('{')).collect();
        let _ = write!(text, " {} {ms:.2} ms ({middle:.2})", name.join(" "));
        if !case.calls.is_empty() {
            let _ = write!(text, ", {} of git {git:.2} ms", case.calls.len());
        }
        let _ = write!(text, ": {ratio:.1} x, {:.1} x of processor time;", case.spent_x);
    }
    let conditions = format!(
        "`{}`, the worst of {}, against /bin/true and its own calls of git run bare; of {runs} starts one in twenty is faster",
        worst.1,
        cases.len()
    );
    table.add("protocol_start_x", worst.0, 4.0, conditions);
    let conditions = format!("`{}`: the worst by processor time", spent.1);
    table.add_plain("protocol_cpu_x", spent.0, conditions);
    table.detail(text.trim_end_matches(';').to_owned());
}
