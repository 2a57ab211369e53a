//! What Tribunal reads from a reviewer's answer, as JSON and as a table, for people who write personalities and
//! adapters.
//!
//! Everything is shown, also what was not read and why: an author has to see where an answer lost its effect. It
//! decides nothing.

use crate::style::{Mark, Style, cut};
use crate::{plain, words};
use serde::Serialize;
use std::fmt::Write;
use tribunal_core::finding::{Claim, Verdict};
use tribunal_findings::{Form, Intake, Unread};

/// The JSON that `tribunal intake --json` prints. Programs read it, so a field's name is a promise.
#[derive(Debug, Serialize)]
pub struct IntakeView<'a> {
    /// The verdict that was read.
    verdict: &'static str,
    /// The words in which the verdict was stated.
    stated: Option<&'a str>,
    /// The verdict that counts: findings outrank the stated word, and an approval without evidence is not one.
    effective: &'static str,
    form: Form,
    checked: &'a str,
    findings: Vec<ClaimView<'a>>,
    unread: &'a [Unread],
}

#[derive(Debug, Serialize)]
struct ClaimView<'a> {
    id: Option<&'a str>,
    file: Option<&'a str>,
    line: Option<u32>,
    end: Option<u32>,
    severity: &'static str,
    confidence: u8,
    claim: &'a str,
    suggestion: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<&'a str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    details: &'a str,
}

impl<'a> IntakeView<'a> {
    /// Makes the view of what was read.
    pub fn of(intake: &'a Intake) -> IntakeView<'a> {
        IntakeView {
            verdict: word(intake.verdict),
            stated: intake.stated.as_deref(),
            effective: word(intake.effective()),
            checked: &intake.checked,
            form: intake.form,
            findings: intake.findings.iter().map(ClaimView::of).collect(),
            unread: &intake.unread,
        }
    }
}

impl<'a> ClaimView<'a> {
    fn of(claim: &'a Claim) -> ClaimView<'a> {
        ClaimView {
            id: claim.label.as_deref(),
            file: claim.file.as_deref(),
            line: claim.line,
            end: claim.end,
            severity: claim.severity.word(),
            confidence: claim.confidence,
            claim: &claim.claim,
            suggestion: &claim.suggestion,
            rule: claim.rule.as_deref(),
            details: &claim.details,
        }
    }
}

fn word(verdict: Option<Verdict>) -> &'static str {
    match verdict {
        Some(Verdict::Approve) => "approve",
        Some(Verdict::Conditional) => "conditional",
        Some(Verdict::Reject) => "reject",
        None => "none",
    }
}

/// Writes the same for people.
///
/// Unread parts come last and are never left out, because an author has to see them.
pub fn table(intake: &Intake, style: Style) -> String {
    let mut out = String::new();
    // The verdict that counts stands first, because that is what a run would act on.
    let counts = word(intake.effective());
    let _ = writeln!(out, "{}  verdict {counts}{}", style.mark(mark(intake)), stated(intake));
    if let Some(why) = why_not_as_stated(intake) {
        let _ = writeln!(out, "   {}", style.wrap(&why, "   "));
    }
    let _ = writeln!(out, "   {}", style.faint(form_words(intake.form)));
    if !intake.checked.is_empty() {
        let _ =
            writeln!(out, "   {}", style.wrap(&format!("checked: {}", plain::line(&intake.checked)), "   "));
    }
    for (id, said) in &intake.said {
        let words = match said {
            tribunal_core::finding::Said::Resolved => "resolved".to_owned(),
            tribunal_core::finding::Said::StillThere => "still there".to_owned(),
            tribunal_core::finding::Said::NotAnIssue(why) => format!("not an issue: {}", plain::line(why)),
            tribunal_core::finding::Said::Shown(proof) => format!("shown: {}", plain::line(proof)),
            tribunal_core::finding::Said::NoProof(missing) => format!("no proof: {}", plain::line(missing)),
        };
        let _ = writeln!(out, "   {}", style.wrap(&format!("{id}: {words}"), "   "));
    }
    findings(&mut out, intake, style);
    unread(&mut out, intake, style);
    out
}

fn mark(intake: &Intake) -> Mark {
    match intake.effective() {
        Some(Verdict::Approve) => Mark::Complete,
        Some(Verdict::Conditional) => Mark::Warning,
        Some(Verdict::Reject) => Mark::Failed,
        None => Mark::Skipped,
    }
}

fn stated(intake: &Intake) -> String {
    intake
        .stated
        .as_deref()
        .map(|words| format!(" (stated: {})", plain::clipped(words, 80)))
        .unwrap_or_default()
}

/// Says why the verdict that counts is not the one that was read.
///
/// A stated word counts for less than findings and evidence, and an author who does not know this rule cannot see why.
fn why_not_as_stated(intake: &Intake) -> Option<String> {
    let (read, counts) = (intake.verdict?, intake.effective());
    if counts == Some(read) {
        return None;
    }
    let why = match counts {
        Some(_) if intake.intent_satisfied == Some(false) => "it says that the intent is not satisfied",
        Some(_) => "a finding in it outranks the stated word",
        // Without evidence an approval counts for nothing, so there is no other verdict in its place.
        None => "an approval says what was checked, and this one does not",
    };
    Some(format!("read as {}: {why}", word(Some(read))))
}

fn form_words(form: Form) -> &'static str {
    match form {
        Form::None => "in no form that is known",
        Form::Tool => "as calls of the reporting tools",
        Form::Json => "as JSON",
        Form::Lines => "as VERDICT and FINDINGS lines",
        Form::Qa => "as a QA report",
        Form::Blocks => "as finding blocks",
        Form::Plain => "as plain words",
        Form::Table => "as a table",
        Form::Xml => "as tags",
        Form::Sarif => "as SARIF",
        Form::Compiler => "as compiler lines",
    }
}

fn findings(out: &mut String, intake: &Intake, style: Style) {
    if intake.findings.is_empty() {
        out.push_str("\nNo findings.\n");
        return;
    }
    let _ = writeln!(out, "\n{}", style.bold(&words::count(intake.findings.len(), "finding")));
    for (n, claim) in intake.findings.iter().enumerate() {
        let id =
            claim.label.as_deref().map_or_else(|| format!("#{}", n + 1), |label| plain::clipped(label, 20));
        // A confidence that the reviewer did not state is assumed, and a reader must be able to tell.
        let assumed = if claim.confidence_stated { "" } else { " (assumed)" };
        let head = format!("{} {}%{assumed} {}", claim.severity, claim.confidence, place(claim));
        let _ = writeln!(out, "  {}", style.fit(&format!("{id:<6} {}", head.trim_end())));
        let _ = writeln!(out, "         {}", style.wrap(&plain::line(&claim.claim), "         "));
        if !claim.suggestion.is_empty() {
            let words = format!("do: {}", plain::line(&claim.suggestion));
            let _ = writeln!(out, "         {}", style.wrap(&words, "         "));
        }
    }
}

/// Writes the place of a claim: `src/a.rs:3-7`, a section, or nothing.
pub fn place(claim: &Claim) -> String {
    let file = claim.file.as_deref().map(plain::line).unwrap_or_default();
    match (claim.line, claim.end) {
        // An end that does not lie behind the line is not a range.
        (Some(line), Some(end)) if end > line => format!("{file}:{line}-{end}"),
        (Some(line), _) => format!("{file}:{line}"),
        (None, _) => match claim.section.as_deref() {
            Some(section) if file.is_empty() => plain::line(section),
            Some(section) => format!("{file} ({})", plain::line(section)),
            None => file,
        },
    }
}

fn unread(out: &mut String, intake: &Intake, style: Style) {
    if intake.unread.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{}", style.bold("Not read"));
    for Unread { text, why, .. } in &intake.unread {
        let quoted = cut(&plain::line(text), 60);
        let words = if quoted.is_empty() { why.clone() } else { format!("{why}: {quoted}") };
        let _ = writeln!(out, "  {} {}", style.mark(Mark::Warning), style.wrap(&words, "    "));
    }
}
