//! Reads SARIF 2.1.0: typed, borrowed where it can be, each result made a claim as it is met, because a linter's log
//! can hold a hundred thousand of them.
//!
//! Nothing that a log points at is opened; external property files are named as unread. A field of the wrong type
//! spoils one result, not the log.

use super::report::Place;
use super::results::{First, Results, Text};
use super::{Draft, Form, Intake, claim_of, claim_words};
use crate::text::clean;
use crate::words;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::BTreeMap;
use tribunal_core::finding::{Claim, Severity};

/// A log, reduced to the fields that a finding is made of. Everything else is skipped while parsing.
#[derive(Deserialize)]
struct Log<'a> {
    #[serde(borrow, default)]
    runs: Vec<Run<'a>>,
    #[serde(borrow, default, rename = "inlineExternalProperties")]
    inline: Vec<Inline<'a>>,
}

#[derive(Deserialize)]
struct Inline<'a> {
    #[serde(borrow, default)]
    results: Results<'a>,
}

/// One run of a tool: its results, and the rules and files that they refer to.
#[derive(Deserialize, Default)]
pub(super) struct Run<'a> {
    #[serde(borrow, default)]
    results: Option<Results<'a>>,
    #[serde(borrow, default)]
    tool: Option<Tool<'a>>,
    #[serde(borrow, default)]
    artifacts: Vec<Artifact<'a>>,
    #[serde(default, rename = "externalPropertyFileReferences")]
    external: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
struct Tool<'a> {
    #[serde(borrow, default)]
    driver: Option<Driver<'a>>,
}

#[derive(Deserialize)]
struct Driver<'a> {
    #[serde(borrow, default)]
    rules: Vec<Rule<'a>>,
}

#[derive(Deserialize)]
struct Rule<'a> {
    #[serde(borrow, default)]
    id: Cow<'a, str>,
    #[serde(borrow, default, rename = "shortDescription")]
    short: Option<Message<'a>>,
    #[serde(borrow, default, rename = "defaultConfiguration")]
    config: Option<Config<'a>>,
}

#[derive(Deserialize)]
struct Config<'a> {
    #[serde(borrow, default)]
    level: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Artifact<'a> {
    #[serde(borrow, default)]
    location: Option<ArtifactLocation<'a>>,
}

/// One result as the log has it.
#[derive(Deserialize)]
pub(super) struct Res<'a> {
    #[serde(borrow, default, rename = "ruleId")]
    rule: Option<Text<'a>>,
    #[serde(default, rename = "ruleIndex")]
    rule_index: Option<i64>,
    #[serde(borrow, default)]
    level: Option<Text<'a>>,
    #[serde(borrow, default)]
    kind: Option<Text<'a>>,
    #[serde(borrow, default)]
    message: Option<Message<'a>>,
    #[serde(borrow, default)]
    locations: First<Location<'a>>,
    #[serde(borrow, default, rename = "baselineState")]
    baseline: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default)]
    text: Option<Text<'a>>,
    #[serde(borrow, default)]
    markdown: Option<Text<'a>>,
}

#[derive(Deserialize)]
pub(super) struct Location<'a> {
    #[serde(borrow, default, rename = "physicalLocation")]
    physical: Option<Physical<'a>>,
    #[serde(borrow, default, rename = "logicalLocations")]
    logical: First<Logical<'a>>,
}

#[derive(Deserialize)]
pub(super) struct Logical<'a> {
    #[serde(borrow, default, rename = "fullyQualifiedName")]
    full: Option<Text<'a>>,
    #[serde(borrow, default)]
    name: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Physical<'a> {
    #[serde(borrow, default, rename = "artifactLocation")]
    artifact: Option<ArtifactLocation<'a>>,
    #[serde(default)]
    region: Option<Region>,
}

#[derive(Deserialize)]
struct ArtifactLocation<'a> {
    #[serde(borrow, default)]
    uri: Option<Text<'a>>,
    #[serde(default)]
    index: Option<i64>,
}

#[derive(Deserialize)]
struct Region {
    #[serde(default, rename = "startLine")]
    start: Option<f64>,
    #[serde(default, rename = "endLine")]
    end: Option<f64>,
}

impl Res<'_> {
    /// Whether the result says that all is well.
    pub(super) fn is_no_finding(&self) -> bool {
        matches!(self.kind.as_deref().unwrap_or("fail"), "pass" | "notApplicable" | "informational")
    }

    /// Whether the log itself calls it gone.
    pub(super) fn is_settled(&self) -> bool {
        self.baseline.as_deref() == Some("absent")
    }

    /// Whether it says everything itself, so that nothing of its run is needed to understand it.
    ///
    /// A result with its own level, rule and message never waits, which keeps memory small.
    fn is_whole(&self) -> bool {
        let artifact = self.locations.0.as_ref().and_then(|l| l.physical.as_ref()?.artifact.as_ref());
        self.level.is_some()
            && self.rule.as_ref().is_some_and(|rule| !rule.is_empty())
            && message(self.message.as_ref()).is_some()
            // An index refers to the run's artifacts, which may follow the results.
            && artifact.is_none_or(|artifact| artifact.uri.is_some() || artifact.index.is_none())
    }
}

/// Reads a SARIF log; every result of every run becomes a claim, in order.
pub fn read_sarif(text: &str) -> Intake {
    let (text, _) = clean(text);
    let mut draft = Draft::default();
    read_into(&text, &mut draft);
    draft.intake
}

/// Reads a log into a draft; text that is not SARIF is noted.
pub(crate) fn read_into(text: &str, draft: &mut Draft) {
    draft.form(Form::Sarif);
    let mut fixed = String::new();
    let log: Log<'_> = match read_or_fix(text, &mut fixed, draft) {
        Ok(log) => log,
        Err(error) => return draft.intake.note(text, format!("not SARIF 2.1.0: {error}")),
    };
    for run in log.runs {
        take(run, draft);
    }
    for inline in log.inline {
        take(Run { results: Some(inline.results), ..Run::default() }, draft);
    }
}

/// Reads a log, if need be without its bad results.
///
/// One bad result does not take the others with it: it is kept as it was, with the reason, and an empty one holds its
/// place in `mended`, which is read instead.
pub(super) fn read_or_fix<'a, T: Deserialize<'a>>(
    text: &'a str,
    fixed: &'a mut String,
    draft: &mut Draft,
) -> Result<T, serde_json::Error> {
    // The fast way first: the repair parses the log twice more.
    let error = match serde_json::from_str(text) {
        Ok(log) => return Ok(log),
        Err(error) => error,
    };
    // Not JSON at all: there is nothing to save.
    let Ok(mut log) = serde_json::from_str::<Value>(text) else { return Err(error) };
    let mut unread = Vec::new();
    for results in results_of(&mut log) {
        for (n, result) in results.iter_mut().enumerate() {
            if let Err(why) = Res::deserialize(&*result) {
                unread.push((
                    std::mem::replace(result, Value::Object(Map::new())),
                    format!("result {n}: {why}"),
                ));
            }
        }
    }
    // Nothing was wrong with a result, so the log itself is broken.
    if unread.is_empty() {
        return Err(error);
    }
    *fixed = log.to_string();
    let log = serde_json::from_str(fixed)?;
    unread.iter().for_each(|(result, why)| draft.intake.note(&result.to_string(), why));
    Ok(log)
}

/// Every list of results in a log.
fn results_of(log: &mut Value) -> impl Iterator<Item = &mut Vec<Value>> {
    let parts = log.as_object_mut().into_iter().flat_map(|log| log.iter_mut());
    let parts = parts.filter(|(key, _)| matches!(key.as_str(), "runs" | "inlineExternalProperties"));
    let parts = parts.filter_map(|(_, parts)| parts.as_array_mut()).flatten();
    parts.filter_map(|part| part.get_mut("results")?.as_array_mut())
}

/// Notes results in other files; none of these is opened.
fn note_external(run: &Run<'_>, draft: &mut Draft) {
    if run.external.is_some() {
        draft.intake.note("externalPropertyFileReferences", "results in other files are not read");
    }
}

/// Makes claims of one run's results.
fn take(mut run: Run<'_>, draft: &mut Draft) {
    note_external(&run, draft);
    let results = run.results.take().unwrap_or_default();
    let rules = Rules::of(&run);
    let finish = |_: usize, result: &Res<'_>, draft: &mut Draft| {
        let made = claim(result, &run, &rules, draft);
        if made.is_none() {
            draft.intake.note("a SARIF result", "a result with neither message nor rule says nothing");
        }
        made
    };
    let found = results.finished(draft, finish).0;
    // Moved where possible: the list may be very long.
    if draft.intake.findings.is_empty() {
        draft.intake.findings = found;
    } else {
        draft.intake.findings.extend(found);
    }
}

/// The results of one run with their indexes, for callers that speak of a log by index. A result that says nothing is
/// still one of them.
pub(super) fn placed(run: &mut Run<'_>, draft: &mut Draft) -> (Vec<Claim>, Vec<Place>) {
    note_external(run, draft);
    let results = run.results.take().unwrap_or_default();
    let rules = Rules::of(run);
    let finish = |index: usize, result: &Res<'_>, draft: &mut Draft| {
        Some(claim(result, run, &rules, draft).unwrap_or_else(|| {
            draft.intake.note(&format!("result {index}"), "it has neither message nor rule");
            claim_of(Severity::Warning, "(no message)")
        }))
    };
    results.finished(draft, finish)
}

/// Makes the claim of a result that needs nothing of its run; false when it must wait for rules and artifacts.
pub(super) fn fill_whole(claim: &mut Claim, result: &Res<'_>, draft: &mut Draft) -> bool {
    result.is_whole() && fill(claim, result, None, draft)
}

/// A run's rules, found by index or by id.
#[derive(Default)]
struct Rules<'r> {
    all: &'r [Rule<'r>],
    by_id: BTreeMap<&'r str, usize>,
}

impl<'r> Rules<'r> {
    fn of(run: &'r Run<'r>) -> Rules<'r> {
        let driver = run.tool.as_ref().and_then(|tool| tool.driver.as_ref());
        let all = driver.map_or(&[][..], |driver| &driver.rules);
        // Reversed, so that of two rules with one id the first stays.
        let by_id = all.iter().enumerate().rev().map(|(n, rule)| (rule.id.as_ref(), n)).collect();
        Rules { all, by_id }
    }

    fn find(&self, result: &Res<'_>) -> Option<&'r Rule<'r>> {
        let index = result.rule_index.and_then(|index| usize::try_from(index).ok());
        // The index is exact; ids may repeat.
        let by_index = index.and_then(|index| self.all.get(index));
        by_index.or_else(|| self.all.get(*self.by_id.get(result.rule.as_deref()?)?))
    }
}

fn claim(result: &Res<'_>, run: &Run<'_>, rules: &Rules<'_>, draft: &mut Draft) -> Option<Claim> {
    let mut claim = Claim::new(Severity::Warning, "");
    fill(&mut claim, result, Some((run, rules)), draft).then_some(claim)
}

/// Fills an empty claim in place; false when the result says nothing. A result that says everything itself needs no
/// run.
fn fill(claim: &mut Claim, result: &Res<'_>, run: Option<(&Run<'_>, &Rules<'_>)>, draft: &mut Draft) -> bool {
    let rule = run.and_then(|(_, rules)| rules.find(result));
    let level = result.level.as_deref().or_else(|| rule?.config.as_ref()?.level.as_deref());
    let text = message(result.message.as_ref()).or_else(|| message(rule?.short.as_ref()));
    let given = result.rule.as_deref().or_else(|| rule.map(|rule| rule.id.as_ref()));
    let name = given.filter(|id| !id.is_empty());
    let Some(text) = text.or(name) else { return false };
    // The default of the standard is "warning".
    claim.severity = match level.unwrap_or("warning") {
        "error" => Severity::Blocker,
        "note" | "none" => Severity::Suggestion,
        _ => Severity::Warning,
    };
    (claim.claim, claim.details) = claim_words(text);
    // A tool is certain of what it reports.
    (claim.confidence, claim.confidence_stated) = (100, true);
    claim.rule = name.map(str::to_owned);
    if let Some(location) = &result.locations.0 {
        locate(claim, location, run.map(|(run, _)| run), draft);
    }
    true
}

fn message<'m>(message: Option<&'m Message<'_>>) -> Option<&'m str> {
    let message = message?;
    message.text.as_deref().or(message.markdown.as_deref()).filter(|text| !text.trim().is_empty())
}

/// Sets file, lines and section of a claim. A path outside of the subject is noted, and the claim goes on without it.
fn locate(claim: &mut Claim, location: &Location<'_>, run: Option<&Run<'_>>, draft: &mut Draft) {
    let logical = location.logical.0.as_ref().and_then(|l| l.full.as_deref().or(l.name.as_deref()));
    // A logical location without a physical one still says where.
    if logical.is_some() {
        claim.section = logical.map(str::to_owned);
    }
    let Some(physical) = &location.physical else { return };
    let artifact = physical.artifact.as_ref();
    let index = artifact.and_then(|a| a.index).and_then(|index| usize::try_from(index).ok());
    let by_index = || run?.artifacts.get(index?)?.location.as_ref()?.uri.as_deref();
    if let Some(uri) = artifact.and_then(|a| a.uri.as_deref()).or_else(by_index) {
        match words::path_inside(&unescaped(uri)) {
            Ok(path) => claim.file = Some(path),
            Err(why) => draft.intake.note(uri, why),
        }
    }
    let Some(region) = &physical.region else { return };
    // Read as a float: a number too large for a line must not fail the whole log.
    let line = |n: Option<f64>| n.filter(|n| (1.0..=10_000_000.0).contains(n)).map(|n| n as u32);
    claim.line = line(region.start);
    // An end before the start is taken for a single line.
    claim.end = claim.line.map(|start| line(region.end).unwrap_or(start).max(start));
    if let (Some(start), None) = (region.start, claim.line) {
        draft.intake.note(&format!("startLine {start}"), "not a line of any file");
    }
}

/// Decodes percent escapes; a sequence that is not UTF-8 stays as written.
pub(super) fn unescaped(uri: &str) -> Cow<'_, str> {
    if !uri.contains('%') {
        return Cow::Borrowed(uri);
    }
    let bytes = uri.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = bytes.get(at + 1..at + 3).and_then(|pair| std::str::from_utf8(pair).ok());
        match hex.filter(|_| bytes[at] == b'%').and_then(|pair| u8::from_str_radix(pair, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8(out).map_or(Cow::Borrowed(uri), Cow::Owned)
}
