//! Transcripts recorded from the real programs, read where they lie beside the repository. Without them these tests say so
//! and check nothing.

use crate::samples::read_cut;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use tribunal_agent::ProblemKind::{self, *};
use tribunal_agent::{Outcome, Parser};
use tribunal_core::usage::SessionTotals;

const SAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/samples");

/// One recorded run: what it printed, and what it printed beside that.
struct Run {
    out: Vec<u8>,
    err: Vec<u8>,
}

fn runs(cli: &str) -> Option<BTreeMap<String, Run>> {
    let folder = Path::new(SAMPLES).join(cli);
    let Ok(entries) = std::fs::read_dir(&folder) else {
        let _ = writeln!(std::io::stderr(), "skipped: no recorded transcripts at {}", folder.display());
        return None;
    };
    let paths = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "cmd"));
    let read = |path: PathBuf| std::fs::read(path).unwrap_or_default();
    let run = |path: PathBuf| {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        (name, Run { out: read(path.with_extension("out")), err: read(path.with_extension("err")) })
    };
    Some(paths.map(run).collect())
}

fn parser(cli: &str, name: &str, run: &Run) -> Parser {
    match cli {
        "claude" => Parser::ClaudeStreamJson,
        "codex" if name == "k-text" => Parser::Text,
        "codex" => Parser::CodexJsonl,
        "gemini" if run.out.starts_with(b"{\n") || run.out.is_empty() => Parser::GeminiJson,
        "gemini" => Parser::GeminiStream,
        "opencode" => Parser::OpencodeJson,
        _ => Parser::AiderText,
    }
}

fn read(cli: &str, name: &str, run: &Run) -> Outcome {
    read_cut(parser(cli, name, run), &run.out, &run.err, &[], Some(0))
}

/// What must come out of every run that is not named: an answer without a surprise.
fn check(cli: &str, failures: &[(&str, ProblemKind)]) -> Option<BTreeMap<String, Outcome>> {
    let runs = runs(cli)?;
    let mut outcomes = BTreeMap::new();
    for (name, run) in &runs {
        let outcome = read(cli, name, run);
        let found = outcome.why_not().map(|problem| problem.kind);
        let expect = failures.iter().find(|(failed, _)| failed == name).map(|(_, kind)| *kind);
        assert_eq!(found, expect, "{cli}/{name}: {outcome:?}");
        assert!(outcome.drift.is_empty(), "{cli}/{name}: {:?}", outcome.drift);
        laws(cli, name, run, &outcome);
        outcomes.insert(name.clone(), outcome);
    }
    Some(outcomes)
}

/// Cut anywhere, the pieces mean the same; cut off, it is an answer only if the rest is nothing but a line's end.
fn laws(cli: &str, name: &str, run: &Run, whole: &Outcome) {
    let parser = parser(cli, name, run);
    for size in [1, 7, 1000] {
        let cuts: Vec<usize> = (0..run.out.len().max(run.err.len())).step_by(size).collect();
        assert_eq!(
            &read_cut(parser, &run.out, &run.err, &cuts, Some(0)),
            whole,
            "{cli}/{name} in pieces of {size}"
        );
    }
    // Text has no final event, Aider's comes before its last words, and one Claude stream has two results.
    let exempt = parser == Parser::Text || parser == Parser::AiderText || name == "k-streaminput";
    let needed = run.out.trim_ascii_end().len();
    for cut in (0..needed).step_by(97).chain(needed.saturating_sub(3)..needed) {
        let prefix = read_cut(parser, &run.out[..cut], &run.err, &[], Some(0));
        assert!(exempt || !prefix.is_answer(), "{cli}/{name} cut at {cut} of {needed}");
    }
}

fn says(outcomes: &BTreeMap<String, Outcome>, name: &str, text: &str) {
    assert_eq!(outcomes[name].final_text.as_deref(), Some(text), "{name}");
}

fn figures(
    outcomes: &BTreeMap<String, Outcome>,
    name: &str,
    input: u64,
    output: u64,
    cached: u64,
    micros: Option<u64>,
) {
    let usage = outcomes[name].usage.unwrap();
    assert_eq!(
        (usage.input, usage.output, usage.cached, usage.cost_micros),
        (input, output, cached, micros),
        "{name}"
    );
}

fn denied(outcomes: &BTreeMap<String, Outcome>, name: &str, tools: &[&str]) {
    let found: Vec<_> = outcomes[name].denials.iter().map(|denial| denial.tool.as_str()).collect();
    assert_eq!(found, tools, "{name}");
}

#[test]
fn claude_2_1_325() {
    let failures = [
        ("c-sessionid-again", Setup),
        ("k-nopersist-resume", Setup),
        ("f-bypass-root", Setup),
        ("f-disallowed", Setup),
        ("g-budget", Budget),
        ("g-maxturns", MaxTurns),
        ("h-400", BadRequest),
        ("h-401", Truncated),
        ("h-429-retries2", RateLimit),
        ("h-500-retries2", Overloaded),
        ("h-hang", Truncated),
        ("i-sigint-hang", Interrupted),
        ("i-sigint-tool", Interrupted),
        ("i-sigkill-tool", Truncated),
        ("i-sigterm-hang", Truncated),
        ("i-sigterm-tool", Truncated),
    ];
    let Some(outcomes) = check("claude", &failures) else { return };
    says(&outcomes, "a-plain-json", "The plain answer is 42.");
    figures(&outcomes, "a-plain-json", 21_615, 5, 0, Some(81_012));
    figures(&outcomes, "c-resume", 21_684, 3, 21_456, Some(88_218));
    assert_eq!(outcomes["d-schema"].structured.as_ref().unwrap()["verdict"], "approve");
    assert_eq!(outcomes["d-badschema"].structured, None);
    denied(&outcomes, "f-write-default", &["Write"]);
    denied(&outcomes, "f-shell-plan", &["Bash"]);
    denied(&outcomes, "e-mcp-noperm", &["mcp__review__submit_review"]);
    denied(&outcomes, "e-mcp", &[]);
    assert_eq!((outcomes["b-write-stream"].turns, outcomes["b-write-stream"].calls.len()), (2, 1));
    assert_eq!(outcomes["h-flaky"].retries, 2);
    assert_eq!(outcomes["c-resume"].session.as_deref(), Some("ccbcb758-31b3-4a0e-8050-37e3496af4d6"));
    // Two prompts in one stream: their tokens add up, and the cost is the session's.
    figures(&outcomes, "k-streaminput", 43_299, 8, 21_457, Some(88_216));
}

#[test]
fn codex_0_166_0() {
    let failures = [
        ("h-400", BadRequest),
        ("h-401", Auth),
        ("h-429", RateLimit),
        ("h-500", Overloaded),
        ("h-hang", Truncated),
        ("i-sigint-tool", Truncated),
        ("i-sigkill-nosandbox", Truncated),
        ("i-sigkill-tool", Truncated),
        ("i-sigterm-tool", Truncated),
        ("i-sigterm-tool-nosandbox", Truncated),
    ];
    let Some(outcomes) = check("codex", &failures) else { return };
    says(&outcomes, "b-write-json", "Done: handled hello.txt.");
    figures(&outcomes, "b-write-json", 19_924, 31, 10_038, None);
    denied(&outcomes, "f-write-readonly", &["apply_patch"]);
    assert!(outcomes["e-mcp"].denials.iter().all(|denial| denial.tool == "mcp__review__submit_review"));
    assert!(outcomes["e-mcp"].same_call_again() > 2);
    assert_eq!((outcomes["b-write-56"].turns, outcomes["b-write-56"].calls.len()), (2, 1));
    assert_eq!((outcomes["h-trunc"].retries, outcomes["k-openai-base"].retries), (1, 4));
}

#[test]
fn codex_sessions_are_not_counted_twice() {
    let Some(runs) = runs("codex") else { return };
    let mut before = SessionTotals::default();
    let mut inputs = Vec::new();
    for name in ["a-plain-json", "c-resume", "c-resume-exec-flags"] {
        let mut reading = tribunal_agent::Reading::new(Parser::CodexJsonl).resuming(before);
        reading.stdout(&runs[name].out);
        let outcome = reading.finish(Some(0));
        inputs.push(outcome.usage.unwrap().input);
        before = outcome.totals.unwrap();
    }
    assert_eq!(inputs, [9678, 9759, 9835]);
}

#[test]
fn claude_costs_are_not_counted_twice() {
    let Some(runs) = runs("claude") else { return };
    let mut before = SessionTotals::default();
    let mut costs = Vec::new();
    for name in ["a-plain-json", "c-resume", "c-continue", "c-resume-otherdir"] {
        let mut reading = tribunal_agent::Reading::new(Parser::ClaudeStreamJson).resuming(before);
        reading.stdout(&runs[name].out);
        let outcome = reading.finish(Some(0));
        costs.push(outcome.usage.unwrap().cost_micros.unwrap());
        before = outcome.totals.unwrap();
    }
    assert_eq!(costs, [81_012, 7206, 7260, 7538]);
}

#[test]
fn gemini_0_61_0() {
    let failures = [
        ("g-maxturns", MaxTurns),
        ("h-400", BadRequest),
        ("h-429", RateLimit),
        ("h-500", Overloaded),
        ("i-sigint-tool", Truncated),
        ("i-sigterm-norelaunch", Truncated),
        ("i-sigterm-tool", Truncated),
    ];
    let Some(outcomes) = check("gemini", &failures) else { return };
    says(&outcomes, "a-plain-json", "The plain answer is 42.");
    says(&outcomes, "e-mcp", "Review submitted.");
    figures(&outcomes, "b-write-stream", 19_768, 52, 9491, None);
    figures(&outcomes, "c-resume", 8387, 3, 8048, None);
    denied(&outcomes, "f-write-plan", &["write_file"]);
    assert_eq!((outcomes["b-write-stream"].turns, outcomes["b-write-stream"].calls.len()), (2, 1));
}

#[test]
fn opencode_1_18_33() {
    let failures = [
        ("f-ask", Truncated),
        ("f-outside", Truncated),
        ("g-steps", Truncated),
        ("h-400", BadRequest),
        ("h-429", RateLimit),
        ("h-500", Truncated),
        ("i-sigint-tool", Truncated),
        ("i-sigkill-tool", Truncated),
        ("i-sigterm-tool", Truncated),
    ];
    let Some(outcomes) = check("opencode", &failures) else { return };
    says(&outcomes, "a-stdin-json", "The plain answer is 42.");
    figures(&outcomes, "b-write-json", 15_647, 24, 7863, Some(26_071));
    denied(&outcomes, "f-ask", &["write"]);
    denied(&outcomes, "f-outside", &["write"]);
    denied(&outcomes, "f-plan-agent", &["write"]);
    assert_eq!(outcomes["e-mcp"].calls[0].name, "review_submit_review");
}

#[test]
fn aider_0_86_2() {
    let failures = [("h-400", BadRequest), ("h-429", RateLimit)];
    let Some(outcomes) = check("aider", &failures) else { return };
    says(&outcomes, "a-plain", "The plain answer is 42.");
    says(&outcomes, "c-restore", "I recall PLAIN.");
    says(&outcomes, "j-read", "persona in a user message");
    figures(&outcomes, "a-plain", 766, 7, 0, None);
    denied(&outcomes, "f-dryrun", &["edit"]);
    assert_eq!(outcomes["h-429"].retries, 7);
}
