//! S1's `QA REPORT:` block: `passed:`, `checks:` with one line per check, reasons. A failed check is a blocker;
//! a report can keep the gate shut and name who must act, it decides nothing else.

use super::scan::{Kind, Line};
use super::{Draft, Form};
use crate::text::{bare, field, heading, plain_words, strip_bullet};
use crate::words;
use tribunal_core::finding::{Claim, FixableBy, Severity, Verdict};

/// Reads every QA report of the message and marks its lines as taken.
pub(crate) fn read(lines: &[Line<'_>], taken: &mut [bool], draft: &mut Draft) {
    let mut at = 0;
    while at < lines.len() {
        let line = &lines[at];
        at += 1;
        if line.kind != Kind::Own || !is_title(line.text) {
            continue;
        }
        taken[at - 1] = true;
        draft.form(Form::Qa);
        at = body(lines, at, taken, draft);
    }
}

fn is_title(text: &str) -> bool {
    let words = heading(text).map_or(text, |(_, words)| words);
    plain_words(bare(bare(words).trim_end_matches(':'))) == "qa report"
}

#[derive(Clone, Copy, PartialEq)]
enum Part {
    Head,
    Checks,
    Reasons(FixableBy),
    Notes,
}

fn body(lines: &[Line<'_>], from: usize, taken: &mut [bool], draft: &mut Draft) -> usize {
    let mut part = Part::Head;
    let mut passed = false;
    for at in from..lines.len() {
        let line = &lines[at];
        if line.kind == Kind::Blank {
            continue;
        }
        let foreign = line.kind != Kind::Own
            || heading(line.text).is_some()
            || super::verdict::verdict_value(line.text).is_some();
        if foreign {
            return finish(passed, draft, at);
        }
        if let Some((key, value)) = field(line.text).filter(|_| !line.text.contains('|')) {
            match plain_words(&key).as_str() {
                "passed" => {
                    passed = true;
                    vote(value, draft);
                    part = Part::Head;
                }
                "remediation eligible" => part = Part::Head,
                "checks" => part = Part::Checks,
                "hard stop reasons" => part = Part::Reasons(FixableBy::Manual),
                "dev fixable failures" => part = Part::Reasons(FixableBy::Dev),
                "evidence" | "notes" | "summary" | "checked" => part = Part::Notes,
                _ if part == Part::Head => return finish(passed, draft, at),
                _ => {}
            }
        }
        taken[at] = part != Part::Notes;
        if part == Part::Checks && line.text.contains('|') {
            check(line.text, draft);
        }
        if let Part::Reasons(who) = part {
            reason(line.text, who, draft);
        }
    }
    finish(passed, draft, lines.len())
}

fn finish(passed: bool, draft: &mut Draft, at: usize) -> usize {
    if !passed {
        draft.intake.note("QA REPORT", "the report does not say passed: true or false");
    }
    at
}

fn vote(value: &str, draft: &mut Draft) {
    match bare(value).to_lowercase().as_str() {
        "true" | "yes" => draft.vote(&format!("passed: {}", bare(value)), Ok((Verdict::Approve, false))),
        "false" | "no" => draft.vote(&format!("passed: {}", bare(value)), Ok((Verdict::Reject, false))),
        _ => draft.vote(&format!("passed: {value}"), Err("passed is neither true nor false")),
    }
}

/// `- name: commit-lint | status: fail | fixable_by: dev | evidence: …`
fn check(text: &str, draft: &mut Draft) {
    let mut name = "";
    let mut failed = None;
    let mut who = FixableBy::Dev;
    let mut evidence = String::new();
    for part in split_fields(strip_bullet(text)) {
        let Some((key, value)) = part.split_once(':') else { continue };
        let value = value.trim();
        match plain_words(bare(key)).as_str() {
            "name" | "check" => name = bare(value),
            "status" | "result" => {
                failed =
                    Some(!matches!(plain_words(bare(value)).as_str(), "pass" | "passed" | "ok" | "skipped"))
            }
            "fixable by" => who = words::fixable_by(value).unwrap_or(who),
            "evidence" | "detail" | "details" | "reason" => evidence = value.to_owned(),
            _ => {}
        }
    }
    match failed {
        None => draft.intake.note(text, "a check without a status"),
        Some(false) => {}
        Some(true) if name.is_empty() => draft.intake.note(text, "a failed check without a name"),
        Some(true) => {
            let said = if evidence.is_empty() {
                format!("check {name} failed")
            } else {
                format!("{name}: {evidence}")
            };
            let mut claim = super::claim_of(Severity::Blocker, &said);
            claim.rule = Some(name.to_owned());
            claim.evidence = evidence;
            claim.fixable_by = who;
            draft.intake.findings.push(claim);
        }
    }
}

/// Pipes cut only where a known key follows, so evidence may hold them.
fn split_fields(text: &str) -> Vec<&str> {
    const KEYS: [&str; 10] = [
        "name",
        "check",
        "status",
        "result",
        "fixable by",
        "evidence",
        "detail",
        "details",
        "reason",
        "remediation",
    ];
    let mut parts = Vec::new();
    let mut start = 0;
    for (at, _) in text.match_indices('|') {
        let key = text[at + 1..].split(':').next().unwrap_or("");
        if key.len() < 30 && KEYS.contains(&plain_words(bare(key)).as_str()) {
            parts.push(&text[start..at]);
            start = at + 1;
        }
    }
    parts.push(&text[start..]);
    parts
}

/// A reason names a check already listed, or is a failure of its own.
fn reason(text: &str, who: FixableBy, draft: &mut Draft) {
    if !crate::text::is_bullet(text) {
        return;
    }
    let words = strip_bullet(text).trim();
    if words::is_nothing(words) || words == "[]" {
        return;
    }
    let known = |claim: &&mut Claim| claim.rule.as_deref().is_some_and(|rule| words.contains(rule));
    if let Some(claim) = draft.intake.findings.iter_mut().find(known) {
        if claim.evidence.is_empty() {
            claim.evidence = words.to_owned();
        }
        return;
    }
    let mut claim = super::claim_of(Severity::Blocker, words);
    claim.fixable_by = who;
    draft.intake.findings.push(claim);
}
