//! Everything that was said about one finding, and what triage noticed about it.
//!
//! Every reviewer's words are shown wherever the finding is. None stands for another.

use crate::facts::FindingView;
use crate::plain::{self, capped, clipped, line};
use crate::prompt::FindingLine;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt::Write;
use tribunal_core::finding::{Claim, Severity};
use tribunal_core::ids::{FindingId, Reviewer};
use tribunal_core::ledger::Entry;

/// The number of letters of one text that an agent is told.
const TOLD_MAX: usize = 600;

/// What one reviewer or check said about a finding, as an agent sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Voice {
    /// The name of the reviewer or check.
    pub by: String,
    /// What is wrong, in its words.
    pub claim: String,
    /// What to do about it; may be empty.
    pub suggestion: String,
    /// The rest of the text and the evidence; may be empty.
    pub details: String,
}

/// What one reviewer or check said about a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WordsView {
    /// Who.
    pub by: String,
    /// How bad it is to them.
    #[schemars(with = "String")]
    pub severity: Severity,
    /// What is wrong.
    pub claim: String,
    /// The rest of the text.
    pub details: String,
    /// What to do about it.
    pub suggestion: String,
}

/// What triage noticed about a finding.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RemarksView {
    /// Its reviewers gave different severities.
    pub disagree: bool,
    /// Its field has several owners on the panel: what each of them says is a finding of its own.
    pub overlapping: bool,
    /// The field it lies in, where nobody on the panel owns that; empty otherwise.
    pub unowned: String,
    /// Who could be added to the panel for that field.
    pub suggested: String,
    /// Findings that may be about the same defect.
    pub related: Vec<String>,
    /// Why it went where it went, where that is not plain.
    pub why: String,
}

/// Returns every text of an entry but this one, each once per author, in the order in which they were said.
fn others<'e>(entry: &'e Entry, than: &'e Claim) -> impl Iterator<Item = (String, &'e Claim)> {
    let mut seen = BTreeSet::new();
    let text = |claim: &Claim| (claim.claim.clone(), claim.details.clone(), claim.suggestion.clone());
    let own = text(than);
    entry.words().iter().filter_map(move |words| {
        // Once per author: equal words of two authors are agreement, and both are named.
        let new = text(&words.claim) != own && seen.insert((words.by.clone(), text(&words.claim)));
        new.then(|| (words.by.to_string(), &words.claim))
    })
}

fn rest(claim: &Claim) -> String {
    let parts = [claim.details.as_str(), claim.evidence.as_str()];
    parts.iter().filter(|text| !text.is_empty()).copied().collect::<Vec<_>>().join("\n")
}

impl FindingLine {
    /// Makes the line for a finding that is put to the reviewer who raised it, in that reviewer's own words. What
    /// others said about it stands beside them.
    ///
    /// Otherwise a reviewer would have to answer for words that are not its own.
    pub fn put_to(reviewer: &Reviewer, id: FindingId, entry: &Entry) -> FindingLine {
        let plain = FindingLine::of(id, entry);
        // A reviewer that said nothing about it gets the line that everybody gets.
        let Some(own) = entry.words_of(reviewer).last() else { return plain };
        FindingLine {
            claim: own.claim.clone(),
            suggestion: own.suggestion.clone(),
            details: rest(own),
            also: voices(entry, own),
            ..plain
        }
    }

    /// Writes what others said about it, for an agent.
    pub(crate) fn told_also(&self, out: &mut String) {
        for voice in &self.also {
            let todo = if voice.suggestion.trim().is_empty() { "" } else { " — " };
            let _ = writeln!(
                out,
                "  {} says: {}{todo}{}",
                line(&voice.by),
                clipped(&voice.claim, TOLD_MAX),
                clipped(&voice.suggestion, TOLD_MAX)
            );
            for detail in capped(&voice.details, TOLD_MAX).lines() {
                let _ = writeln!(out, "    {detail}");
            }
        }
    }
}

/// Returns what was said about a finding beside these words.
///
/// Texts equal to these words are left out, and every other text is told once per author.
pub(crate) fn voices(entry: &Entry, than: &Claim) -> Vec<Voice> {
    let voice = |(by, claim): (String, &Claim)| Voice {
        by,
        claim: claim.claim.clone(),
        suggestion: claim.suggestion.clone(),
        details: rest(claim),
    };
    others(entry, than).map(voice).collect()
}

/// Returns everything that was said about a finding, for people.
pub(crate) fn words(entry: &Entry) -> Vec<WordsView> {
    let view = |words: &tribunal_core::words::Words| WordsView {
        by: line(&words.by.to_string()),
        severity: words.claim.severity,
        claim: line(&words.claim.claim),
        details: plain::block(&rest(&words.claim)),
        suggestion: line(&words.claim.suggestion),
    };
    entry.words().iter().map(view).collect()
}

/// Returns what triage noticed, for people.
pub(crate) fn remarks(entry: &Entry) -> RemarksView {
    let remarks = &entry.remarks;
    let unowned = remarks.unowned.as_deref().map(line).unwrap_or_default();
    // The built-in personalities that own these fields; for others there is only the field's name.
    let suggested = match unowned.as_str() {
        "" => String::new(),
        "security" => "security-engineer".to_owned(),
        "performance" => "testing-performance-benchmarker".to_owned(),
        "api" => "testing-api-tester".to_owned(),
        other => format!("a reviewer for {other}"),
    };
    RemarksView {
        disagree: remarks.disagree,
        overlapping: remarks.overlapping,
        unowned,
        suggested,
        related: remarks.related.iter().map(ToString::to_string).collect(),
        why: line(&remarks.why),
    }
}

impl FindingView {
    /// Returns what its reviewers said beside its claim, and what was noticed about it, one line each.
    ///
    /// Disagreement is said as such: a severity that triage chose is not what every reviewer meant.
    pub fn more(&self) -> Vec<String> {
        // The claim itself is shown by the caller, so equal words are not repeated.
        let mut seen = BTreeSet::from([self.claim.as_str()]);
        let mut lines = Vec::new();
        for words in self.words.iter().filter(|words| seen.insert(&words.claim)) {
            let todo = if words.suggestion.is_empty() {
                String::new()
            } else {
                format!(" — {}", words.suggestion)
            };
            lines.push(format!("{} says: {}{todo}", words.by, words.claim));
        }
        let remarks = &self.remarks;
        if remarks.disagree {
            let said: Vec<String> =
                self.words.iter().map(|words| format!("{} {}", words.by, words.severity)).collect();
            lines.push(format!("its reviewers disagree on severity: {}", said.join(", ")));
        }
        if remarks.overlapping {
            lines.push("overlapping: its field has several owners, each keeps its finding".to_owned());
        }
        if !remarks.unowned.is_empty() {
            let (field, who) = (&remarks.unowned, &remarks.suggested);
            lines.push(format!("nobody on the panel owns {field}; {who} could be added"));
        }
        if !remarks.related.is_empty() {
            lines.push(format!("related, perhaps the same defect: {}", remarks.related.join(", ")));
        }
        lines
    }
}
