//! Findings in numbers: `tribunal delta` against parsing both files and the one `git diff` it needs; triage against the
//! bare typed parse, and how it grows. Generated the same way every time.

use super::sarif::{bare, bare_owned};
use super::table::Table;
use super::{Bench, Result, drive, machine};
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
/// How often each measurement of triage is made.
const RUNS: usize = 9;

/// Measures `delta_x`, `delta_blind_*`, `triage_x` and `triage_growth_x`.
pub fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    delta(bench, table)?;
    delta_blind(bench, table)?;
    growth(bench, table)
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

/// One of two logs of which nothing but the text is known: a tenth of each is its own, and in the later one every second
/// result is seven lines further down.
fn moved_log(results: u32, later: bool) -> String {
    let mut text =
        String::from(r#"{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"lint"}},"results":["#);
    for n in 0..results {
        let (comma, file, rule) = (if n > 0 { "," } else { "" }, n / PER_FILE, n % 40);
        let line = n % PER_FILE * 11 + 1 + if later && n % 2 == 1 { 7 } else { 0 };
        let (rule, words) = match (matches!(n % 20, 3 | 14), later) {
            (false, _) => (rule, format!("value `v{n}` is not used here")),
            (true, false) => (rule + 100, format!("`a{n}` shadows an argument")),
            (true, true) => (rule + 200, format!("the call of `f{n}` cannot fail")),
        };
        let _ = write!(
            text,
            r#"{comma}{{"ruleId":"R{rule}","level":"warning","message":{{"text":"{words}"}},"locations":[{{"physicalLocation":{{"artifactLocation":{{"uri":"src/f{file}.rs"}},"region":{{"startLine":{line}}}}}}}]}}"#
        );
    }
    text + "]}]}"
}

/// `tribunal delta` without a repository: what is new must be exactly what is new.
fn delta_blind(bench: &Bench, table: &mut Table) -> Result<()> {
    let results = if bench.quick { 5_000 } else { 100_000 };
    let dir = tempfile::Builder::new().prefix("tribunal-bench-").tempdir()?;
    for (name, later) in [("before.sarif", false), ("after.sarif", true)] {
        std::fs::write(dir.path().join(name), moved_log(results, later))?;
    }
    let args = ["delta", "before.sarif", "after.sarif", "--json"];
    let told = drive::command(bench.binary.path()).args(args).current_dir(dir.path()).output()?;
    let found: serde_json::Value = serde_json::from_slice(&told.stdout)?;
    let new = found["after"].as_array().map_or(0, Vec::len);
    let (mut sandbox, mut peak) = (f64::INFINITY, 0);
    for _ in 0..3 {
        let finished = bench.binary.run(dir.path(), &args)?;
        sandbox = sandbox.min(finished.sandbox.as_secs_f64());
        peak = peak.max(finished.peak_kb);
    }
    let wrong = (new as f64 - f64::from(results / 10)).abs();
    let of = format!("two logs of {results}, half moved seven lines, no repository");
    table.add("delta_blind_wrong", wrong, 0.0, format!("{of}: {new} new"));
    table.add("delta_blind_s", sandbox, 2.0, format!("{of}, best of three, wall"));
    table.add("delta_blind_mb", peak as f64 / 1024.0, 250.0, format!("{of}, peak"));
    Ok(())
}

fn delta(bench: &Bench, table: &mut Table) -> Result<()> {
    let (results, runs) = if bench.quick { (500, 3) } else { (RESULTS, 25) };
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
    let (ours, floor) = (least(&ours), least(&floor));
    table.add("delta_x", ours / floor, 3.0, format!("{results} results each, best of {runs} in turn, wall"));
    table.detail(format!("delta: tribunal {ours:.1} ms, parsing both and git diff {floor:.1} ms"));
    Ok(())
}

fn growth(bench: &Bench, table: &mut Table) -> Result<()> {
    let (small, large) = if bench.quick { (100, 1_000) } else { (1_000, 100_000) };
    let texts = [(log(small, false), small), (log(large, false), large), (crowd(large), large)];
    let [few, many, crowd] = triaged(&texts)?;
    table.add(
        "triage_x",
        many.ours / many.owned,
        3.0,
        format!("{large} results, bare parse into owned structs, best of {RUNS} in turn, CPU"),
    );
    let scale = f64::from(large) / f64::from(small);
    let (grown, floor) = (many.ours / few.ours / scale, many.owned / few.owned / scale);
    table.add(
        "triage_growth_x",
        grown / floor,
        1.5,
        format!("{small} to {large}, per result, over the growth of the bare parse; 1 is linear"),
    );
    table.add(
        "triage_crowd_x",
        crowd.ours / crowd.owned,
        3.0,
        format!("{large} results of one rule in three files"),
    );
    let peak = machine::peak_kb("self").unwrap_or(0) as f64 / 1024.0;
    table.add("triage_mb", peak, 500.0, "peak of this whole process");
    table.detail(format!(
        "triage: grows {grown:.2} times per result, the bare parse {floor:.2} (want of cache)"
    ));
    for (name, one) in [("few", few), ("many", many), ("crowd", crowd)] {
        table.detail(format!(
            "triage, {name}: {:.2} ms, bare typed parse {:.2} ms owned, {:.2} ms borrowed from the text",
            one.ours, one.owned, one.borrowed
        ));
    }
    Ok(())
}

/// Many results of one rule in three files, many of them on one line and word for word the same.
fn crowd(results: u32) -> String {
    let mut text =
        String::from(r#"{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"lint"}},"results":["#);
    for n in 0..results {
        let (comma, file, line) = (if n > 0 { "," } else { "" }, n % 3, n * 7 % 4_000 + 1);
        let _ = write!(
            text,
            r#"{comma}{{"ruleId":"E501","level":"warning","message":{{"text":"line too long ({} > 79)"}},"locations":[{{"physicalLocation":{{"artifactLocation":{{"uri":"src/f{file}.rs"}},"region":{{"startLine":{line}}}}}}}]}}"#,
            80 + n / 40_000
        );
    }
    text + "]}]}"
}

/// Milliseconds, the best of several runs.
struct Times {
    ours: f64,
    owned: f64,
    borrowed: f64,
}

/// A clock of this thread's own work, in milliseconds: what others do on the machine does not count. Coarse, so what is
/// measured must take a while.
fn worked() -> Result<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds: f64 = text.split_whitespace().next().unwrap_or_default().parse()?;
    Ok(nanoseconds / 1e6)
}

/// The time one call takes, over so many calls.
fn each(calls: u32, work: &mut dyn FnMut() -> Result<()>) -> Result<f64> {
    let began = worked()?;
    for _ in 0..calls {
        work()?;
    }
    Ok((worked()? - began) / f64::from(calls))
}

/// Reading and triage, and the bare typed parse, of all texts in turn: a machine that slows down slows all of them. Of
/// each the best: whatever else runs only ever adds.
fn triaged<const N: usize>(texts: &[(String, u32); N]) -> Result<[Times; N]> {
    let mut best =
        [const { Times { ours: f64::INFINITY, owned: f64::INFINITY, borrowed: f64::INFINITY } }; N];
    for _ in 0..RUNS {
        for (best, (text, results)) in best.iter_mut().zip(texts) {
            let calls = (100_000 / results).clamp(1, 200);
            best.owned = best.owned.min(each(calls, &mut || Ok(bare_owned(text).map(drop)?))?);
            best.borrowed = best.borrowed.min(each(calls, &mut || Ok(bare(text).map(drop)?))?);
            best.ours = best.ours.min(each(calls, &mut || sorted(text, *results))?);
        }
    }
    Ok(best)
}

/// The least of some times.
fn least(times: &[f64]) -> f64 {
    times.iter().copied().fold(f64::INFINITY, f64::min)
}

fn sorted(text: &str, results: u32) -> Result<()> {
    let tool = Check::new("lint");
    let raised = |claim| Raised { source: Source::Check(tool.clone()), claim };
    let found = triage(read_sarif(text).findings.into_iter().map(raised), &Panel::default());
    let claims: usize = found.iter().map(|one| 1 + one.others.len()).sum();
    if claims == results as usize {
        return Ok(());
    }
    Err(format!("{claims} of {results} findings came out of triage").into())
}
