//! A review by tools: what the same commit costs again, what one changed file of a Rust workspace costs against the tool
//! itself where its last build is warm, and how long many findings take to be shown once the run is over.

use super::table::Table;
use super::{Bench, Result, drive, median};
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tempfile::TempDir;
use tribunal_journal::Reader;

/// A repository that nothing was reviewed in yet.
struct Repository(TempDir);

/// A review that has ended.
struct Reviewed {
    sandbox: Duration,
    /// From the last fact of the run to the end of the program.
    after: Duration,
    launches: usize,
}

/// Measures the reviews.
pub fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    again(bench, table)?;
    printing(bench, table)?;
    warm(bench, table)
}

/// A linter that says something of every line; it lies where a project keeps its own programs.
const LINT: &str = "#!/bin/sh\nawk '{ printf \"%s:%d: warning: line %d is not as it should be [L1]\\n\", FILENAME, FNR, FNR }' \"$@\"\nexit 1\n";
const ROW: &str = "[agents]\ndefault = \"\"\n[tools.mylint]\nfiles = [\"*.txt\"]\nprograms = [\"mylint\"]\nform = \"lines\"\nfound = [1]\ncheck = [\"{program}\", \"{files}\"]\n";

/// A repository whose last commit brings so many lines, of which each has a finding.
fn linted(lines: usize) -> Result<Repository> {
    let repository = Repository::new()?;
    let bin = repository.root().join(".venv/bin");
    fs::create_dir_all(&bin)?;
    fs::write(bin.join("mylint"), LINT)?;
    fs::set_permissions(bin.join("mylint"), fs::Permissions::from_mode(0o755))?;
    repository.write("tribunal.toml", ROW)?;
    repository.write(".gitignore", ".venv/\n")?;
    repository.commit("base")?;
    // Some lines to a file: a change is seldom one file of thousands of lines.
    for (n, from) in (0..lines).step_by(500).enumerate() {
        let text = (from..(from + 500).min(lines)).fold(String::new(), |mut text, line| {
            let _ = writeln!(text, "line {line} of it");
            text
        });
        repository.write(&format!("texts/t{n}.txt"), &text)?;
    }
    repository.commit("lines")?;
    Ok(repository)
}

fn again(bench: &Bench, table: &mut Table) -> Result<()> {
    let repository = linted(50)?;
    let first = repository.review(bench, &[])?;
    let second = repository.review(bench, &[])?;
    if first.launches == 0 {
        return Err("the first review ran no tool".into());
    }
    let conditions = "programs started by a second review of the same commit";
    table.add("review_again_tools", second.launches as f64, 0.0, conditions);
    let (first, second) = (first.sandbox.as_secs_f64() * 1e3, second.sandbox.as_secs_f64() * 1e3);
    table.detail(format!("review again: {first:.0} ms the first time, {second:.0} ms the second"));
    Ok(())
}

fn printing(bench: &Bench, table: &mut Table) -> Result<()> {
    let (few, many) = if bench.quick { (400, 1_600) } else { (4_000, 16_000) };
    let times = if bench.quick { 1 } else { 3 };
    let time = |lines: usize| -> Result<f64> {
        let mut all = Vec::new();
        for _ in 0..times {
            all.push(linted(lines)?.review(bench, &["--format", "json"])?.after.as_secs_f64());
        }
        Ok(median(all))
    };
    let (short, long) = (time(few)?, time(many)?);
    table.add("review_print_s", long, 1.0, format!("from the run's end to the program's, {many} findings"));
    let growth = (long / many as f64) / (short / few as f64);
    table.add("review_print_growth_x", growth, 1.5, format!("a finding among {many} over one among {few}"));
    table.detail(format!(
        "printing: {few} findings {short:.3} s, {many} findings {long:.3} s, median of {times}"
    ));
    Ok(())
}

fn warm(bench: &Bench, table: &mut Table) -> Result<()> {
    if drive::command("cargo").args(["clippy", "--version"]).stdout(Stdio::null()).status().is_err() {
        table.detail("review_warm_x: clippy is not installed; nothing was measured");
        return Ok(());
    }
    let (crates, functions) = if bench.quick { (2, 20) } else { (6, 400) };
    let repository = Repository::new()?;
    repository.write("Cargo.toml", "[workspace]\nresolver = \"3\"\nmembers = [\"c*\"]\n")?;
    for n in 0..crates {
        repository.write(&format!("c{n}/Cargo.toml"), &manifest(n))?;
        repository.write(&format!("c{n}/src/lib.rs"), &source(n, functions, 0))?;
    }
    repository.write("tribunal.toml", "[agents]\ndefault = \"\"\n")?;
    repository.write(".gitignore", "target/\n")?;
    repository.warm_tool()?;
    repository.commit("base")?;
    let last = crates - 1;
    let times = if bench.quick { 2 } else { 5 };
    let (mut ours, mut floors) = (Vec::new(), Vec::new());
    for n in 1..=times {
        repository.write(&format!("c{last}/src/lib.rs"), &source(last, functions, n))?;
        repository.commit("one file")?;
        let sandbox = repository.review(bench, &["--panel", "clippy"])?.sandbox.as_secs_f64();
        let floor = repository.warm_tool()?;
        // The first one has nothing warm.
        if n > 1 {
            ours.push(sandbox);
            floors.push(floor);
        }
    }
    let (ours, floor) = (median(ours), median(floors));
    let conditions = format!("one changed file of {crates} crates, clippy, median of {}", times - 1);
    table.add("review_warm_x", ours / floor, 2.0, conditions);
    table.detail(format!("warm review: {ours:.2} s, clippy in a warm target folder {floor:.2} s"));
    Ok(())
}

fn manifest(n: usize) -> String {
    let before = n.checked_sub(1).map(|before| format!("c{before} = {{ path = \"../c{before}\" }}\n"));
    format!(
        "[package]\nname = \"c{n}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\n{}",
        before.unwrap_or_default()
    )
}

/// Code that a compiler has something to do with.
fn source(n: usize, functions: usize, version: usize) -> String {
    let mut text = format!("//! Crate {n}.\n\n/// Which one.\npub const VERSION: usize = {version};\n");
    for f in 0..functions {
        let _ = writeln!(
            text,
            "\n/// Adds up.\npub fn f{f}(values: &[u64]) -> u64 {{\n    values.iter().map(|value| value.wrapping_mul({f})).filter(|value| value % 3 == 0).sum()\n}}"
        );
    }
    text
}

impl Repository {
    fn new() -> Result<Repository> {
        let repository = Repository(tempfile::Builder::new().prefix("tribunal-bench-").tempdir()?);
        repository.git(&["init", "-q", "-b", "main"])?;
        repository.git(&["config", "user.name", "Bench"])?;
        repository.git(&["config", "user.email", "bench@localhost"])?;
        Ok(repository)
    }

    fn root(&self) -> &Path {
        self.0.path()
    }

    fn git(&self, args: &[&str]) -> Result<()> {
        let status = drive::command("git").args(args).current_dir(self.root()).status()?;
        if status.success() { Ok(()) } else { Err(format!("git {args:?} ended with {status}").into()) }
    }

    fn write(&self, path: &str, text: &str) -> Result<()> {
        let path = self.root().join(path);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        Ok(fs::write(path, text)?)
    }

    fn commit(&self, message: &str) -> Result<()> {
        self.git(&["add", "-A"])?;
        self.git(&["commit", "-q", "-m", message])
    }

    /// Seconds of the tool alone, in the folder that it builds in anyway.
    fn warm_tool(&self) -> Result<f64> {
        let began = Instant::now();
        let args = ["clippy", "--quiet", "--message-format=json", "--workspace", "--all-targets"];
        let mut command = drive::command("cargo");
        command.args(args).current_dir(self.root()).env("CARGO_TARGET_DIR", self.root().join("target"));
        let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status()?;
        if status.success() { Ok(began.elapsed().as_secs_f64()) } else { Err("clippy failed".into()) }
    }

    fn review(&self, bench: &Bench, args: &[&str]) -> Result<Reviewed> {
        let began = Instant::now();
        let mut command = drive::command(bench.binary.path());
        command.args(["review", "--diff", "HEAD~1", "--quiet"]).args(args).current_dir(self.root());
        let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
        let (sandbox, ended) = (began.elapsed(), SystemTime::now().duration_since(UNIX_EPOCH)?);
        if !matches!(status.code(), Some(0 | 1)) {
            return Err(format!("a review ended with {status}").into());
        }
        let run = self.newest()?;
        let mut last = 0;
        Reader::open(&run)?.each(1, |row| {
            last = row.at;
            Ok::<(), tribunal_journal::Error>(())
        })?;
        let launches = fs::read_dir(run.join("launches")).map_or(0, |entries| entries.count());
        Ok(Reviewed { sandbox, after: ended.saturating_sub(Duration::from_millis(last)), launches })
    }

    fn newest(&self) -> Result<PathBuf> {
        let runs = fs::read_dir(self.root().join(".tribunal/runs"))?.flatten().map(|entry| entry.path());
        runs.max().ok_or_else(|| "there is no run".into())
    }
}
