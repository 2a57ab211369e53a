//! Findings in numbers: `tribunal delta` against parsing both files and the one `git diff` it needs; triage against the
//! bare typed parse, and how it grows. Generated the same way every time.

use super::table::Table;
use super::{Bench, Result, drive, machine, median};
use serde::Deserialize;
use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;
use tribunal_core::finding::Source;
use tribunal_core::ids::Check;
use tribunal_findings::{Panel, Raised, read_sarif, triage};

/// Results and files of the reports that `delta` compares.
const RESULTS: u32 = 10_000;
const PER_FILE: u32 = 50;
const LINES: u32 = 400;

/// Measures `delta_x`, `triage_x` and `triage_growth_x`.
pub fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    delta(bench, table)?;
    growth(bench, table)
}

/// As much of SARIF as a finding is made of, typed and borrowed: what no reader can do without.
#[derive(Deserialize)]
struct Log<'a> {
    #[serde(borrow)]
    runs: Vec<Run<'a>>,
}

#[derive(Deserialize)]
struct Run<'a> {
    #[serde(borrow)]
    results: Vec<Res<'a>>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "parsed and dropped: that is the floor")]
struct Res<'a> {
    #[serde(borrow, rename = "ruleId")]
    rule: Cow<'a, str>,
    #[serde(borrow)]
    level: Cow<'a, str>,
    #[serde(borrow)]
    message: Message<'a>,
    #[serde(borrow)]
    locations: Vec<Location<'a>>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "parsed and dropped: that is the floor")]
struct Message<'a> {
    #[serde(borrow)]
    text: Cow<'a, str>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "parsed and dropped: that is the floor")]
struct Location<'a> {
    #[serde(borrow, rename = "physicalLocation")]
    physical: Physical<'a>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "parsed and dropped: that is the floor")]
struct Physical<'a> {
    #[serde(borrow, rename = "artifactLocation")]
    artifact: Artifact<'a>,
    region: Region,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "parsed and dropped: that is the floor")]
struct Artifact<'a> {
    #[serde(borrow)]
    uri: Cow<'a, str>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "parsed and dropped: that is the floor")]
struct Region {
    #[serde(rename = "startLine")]
    start: u32,
}

fn bare(text: &str) -> Result<usize> {
    let log: Log<'_> = serde_json::from_str(text)?;
    Ok(log.runs.iter().map(|run| run.results.len()).sum())
}

/// Whether the second commit puts a line on top of this file, and one of its results away.
fn is_changed(file: u32) -> bool {
    file.is_multiple_of(3)
}

fn log(results: u32, later: bool) -> String {
    let mut text =
        String::from(r#"{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"lint"}},"results":["#);
    for n in 0..results {
        let (file, rule) = (n / PER_FILE, n % 40);
        let gone = is_changed(file) && n % PER_FILE == 7;
        let shift = u32::from(later && is_changed(file));
        let line = n % PER_FILE * 7 + 1 + shift + if later && gone { 3 } else { 0 };
        let word = if later && gone { "set but never read" } else { "not used here" };
        let comma = if n > 0 { "," } else { "" };
        let _ = write!(
            text,
            r#"{comma}{{"ruleId":"R{rule}","level":"warning","message":{{"text":"value `v{n}` of rule {rule} is {word}"}},"locations":[{{"physicalLocation":{{"artifactLocation":{{"uri":"src/f{file}.rs"}},"region":{{"startLine":{line}}}}}}}]}}"#
        );
    }
    text + "]}]}"
}

/// A repository of two commits, the second with a new first line and a changed one in every third file.
fn repository(dir: &Path, results: u32) -> Result<()> {
    std::fs::create_dir_all(dir.join("src"))?;
    let body = |file: u32| {
        (0..LINES).fold(String::new(), |text, n| text + &format!("let v{n} = call_{file}({n});\n"))
    };
    let files = || 0..results.div_ceil(PER_FILE);
    for file in files() {
        std::fs::write(dir.join(format!("src/f{file}.rs")), body(file))?;
    }
    drive::git(dir, &["init", "-q", "-b", "main"])?;
    drive::git(dir, &["config", "user.name", "Bench"])?;
    drive::git(dir, &["config", "user.email", "bench@localhost"])?;
    drive::git(dir, &["add", "-A"])?;
    drive::git(dir, &["commit", "-q", "-m", "one"])?;
    for file in files().filter(|file| is_changed(*file)) {
        let changed = body(file).replacen(&format!("let v49 = call_{file}"), "let v49 = ask", 1);
        let text = format!("// begins anew\n{changed}");
        std::fs::write(dir.join(format!("src/f{file}.rs")), text)?;
    }
    drive::git(dir, &["commit", "-q", "-am", "two"])
}

fn delta(bench: &Bench, table: &mut Table) -> Result<()> {
    let (results, runs) = if bench.quick { (500, 3) } else { (RESULTS, 15) };
    let dir = tempfile::Builder::new().prefix("tribunal-bench-").tempdir()?;
    let repo = dir.path().join("repo");
    repository(&repo, results)?;
    let (before, after) = (dir.path().join("before.sarif"), dir.path().join("after.sarif"));
    std::fs::write(&before, log(results, false))?;
    std::fs::write(&after, log(results, true))?;
    let (mut ours, mut floor) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        let began = Instant::now();
        let read = bare(&std::fs::read_to_string(&before)?)? + bare(&std::fs::read_to_string(&after)?)?;
        let diff = drive::command("git")
            .arg("-C")
            .arg(&repo)
            .args(["diff", "-M", "-U0", "HEAD~1", "HEAD"])
            .output()?;
        floor.push(began.elapsed().as_secs_f64() * 1e3);
        if read != 2 * results as usize || diff.stdout.is_empty() {
            return Err("the floor of delta did not do its work".into());
        }
        let began = Instant::now();
        let mut program = drive::command(bench.binary.path());
        let program = program.arg("delta").args([&before, &after]).arg("--repo").arg(&repo);
        let status =
            program.args(["--from", "HEAD~1", "--to", "HEAD", "--json"]).stdout(Stdio::null()).status()?;
        ours.push(began.elapsed().as_secs_f64() * 1e3);
        if !status.success() {
            return Err(format!("tribunal delta ended with {status}").into());
        }
    }
    let (ours, floor) = (median(ours), median(floor));
    table.add("delta_x", ours / floor, 3.0, format!("{results} results each, median of {runs}, wall"));
    table.detail(format!("delta: tribunal {ours:.1} ms, parsing both and git diff {floor:.1} ms"));
    Ok(())
}

fn growth(bench: &Bench, table: &mut Table) -> Result<()> {
    let (small, large) = if bench.quick { (100, 1_000) } else { (1_000, 100_000) };
    let (few, _) = triaged(small, 31)?;
    let (many, floor) = triaged(large, 5)?;
    table.add("triage_x", many / floor, 3.0, format!("{large} results, median of 5, wall"));
    let grown = many / few / (f64::from(large) / f64::from(small));
    table.add("triage_growth_x", grown, 2.0, format!("{small} to {large} results; 1 is linear"));
    let peak = machine::peak_kb("self").unwrap_or(0) as f64 / 1024.0;
    table.add("triage_mb", peak, 500.0, "peak of this whole process");
    table.detail(format!(
        "triage: {large} results {many:.1} ms, bare typed parse {floor:.1} ms, {small} results {few:.2} ms"
    ));
    Ok(())
}

/// Milliseconds of reading and triage, and of the bare typed parse.
fn triaged(results: u32, runs: usize) -> Result<(f64, f64)> {
    let text = log(results, false);
    let (mut ours, mut floor) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        let began = Instant::now();
        bare(&text)?;
        floor.push(began.elapsed().as_secs_f64() * 1e3);
        let began = Instant::now();
        let tool = Check::new("lint");
        let raised = |claim| Raised { source: Source::Check(tool.clone()), claim };
        let found = triage(read_sarif(&text).findings.into_iter().map(raised).collect(), &Panel::default());
        ours.push(began.elapsed().as_secs_f64() * 1e3);
        if found.len() != results as usize {
            return Err(format!("{} of {results} findings came out of triage", found.len()).into());
        }
    }
    Ok((median(ours), median(floor)))
}
