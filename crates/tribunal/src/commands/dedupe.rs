//! `tribunal dedupe`: says which findings of a list describe the same defect. It changes nothing and needs no project.
//!
//! It calls the function that a review uses, so people can try a merge on findings of their own, and see why two were
//! or were not joined.

use crate::args::{Dedupe, Globals};
use crate::exit::Done;
use crate::failure::Failure;
use crate::given::Given;
use crate::out;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use tribunal_core::finding::{Claim, Severity, Source};
use tribunal_core::ids::{Check, Reviewer};
use tribunal_findings::dedupe::decide;
use tribunal_view::dedupe::DedupeView;

const BYTES_MAX: u64 = 64 * 1024 * 1024;

/// One finding of the list, as other tools write it; only `id`, `by` and `claim` are required.
#[derive(Deserialize)]
struct Listed {
    id: String,
    by: String,
    claim: String,
    #[serde(default)]
    details: String,
    file: Option<String>,
    line: Option<u32>,
    end: Option<u32>,
    section: Option<String>,
    #[serde(default)]
    severity: Option<String>,
    confidence: Option<u8>,
    rule: Option<String>,
}

/// Reads a list of findings and prints which of them are one.
pub fn run(globals: &Globals, args: &Dedupe) -> Result<Done, Failure> {
    let stdin = Path::new("stdin");
    let path = args.file.as_deref().filter(|path| *path != Path::new("-")).unwrap_or(stdin);
    let text = if path == stdin {
        input(path, std::io::stdin().lock())?
    } else {
        input(path, std::fs::File::open(path).map_err(|error| unread(path, &error))?)?
    };
    let listed: Vec<Listed> =
        serde_json::from_str(&text).map_err(|error| unread(path, &std::io::Error::other(error)))?;
    let ids: Vec<String> = listed.iter().map(|one| one.id.clone()).collect();
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, id) in ids.iter().enumerate() {
        // The answer refers to findings by id, so an id that occurs twice would make it ambiguous.
        if known.insert(id, at).is_some() {
            return Err(unread(path, &std::io::Error::other(format!("the id {id} is there twice"))));
        }
    }
    let sources: Vec<Source> = listed.iter().map(source).collect();
    let claims: Vec<Claim> = listed.iter().map(claim).collect();
    let pairs: Vec<(&Source, &Claim)> = sources.iter().zip(&claims).collect();
    let view = DedupeView::of(&ids, &claims, &decide(&pairs, &|_, _| false));
    if globals.json {
        out::json(&view)?;
    } else {
        out::data(&view.text(|id| known.get(id).map(|at| claims[*at].claim.clone()).unwrap_or_default()))?;
    }
    Ok(Done::Passed)
}

fn source(one: &Listed) -> Source {
    match one.by.strip_prefix("check:") {
        Some(check) => Source::Check(Check::new(check)),
        None => Source::Reviewer(Reviewer::new(&one.by)),
    }
}

fn claim(one: &Listed) -> Claim {
    // Other tools use other words; an unknown one counts as a warning, neither hidden nor blocking.
    let severity = match one.severity.as_deref().map(str::to_lowercase).as_deref() {
        Some("blocker" | "critical" | "high" | "error") => Severity::Blocker,
        Some("suggestion" | "low" | "info" | "note" | "nit") => Severity::Suggestion,
        _ => Severity::Warning,
    };
    let mut claim = Claim::new(severity, one.claim.clone());
    claim.details.clone_from(&one.details);
    claim.file.clone_from(&one.file);
    claim.section.clone_from(&one.section);
    claim.rule.clone_from(&one.rule);
    (claim.line, claim.end) = (one.line, one.end);
    // Other tools count differently; more than certain is certain.
    claim.confidence = one.confidence.unwrap_or(claim.confidence).min(100);
    claim.confidence_stated = one.confidence.is_some();
    claim
}

fn input(name: &Path, from: impl Read) -> Result<String, Failure> {
    let mut text = String::new();
    from.take(BYTES_MAX).read_to_string(&mut text).map_err(|error| unread(name, &error))?;
    Ok(text)
}

fn unread(path: &Path, error: &std::io::Error) -> Failure {
    let hint = "give a JSON list of findings, each with `id`, `by` and `claim`, and its `file` and `line` where it has them";
    Given { path, flag: None, hint }.failed("read", error)
}
