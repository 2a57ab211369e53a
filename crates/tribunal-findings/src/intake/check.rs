//! Reads one check of a QA report, however it is written: fields between pipes, a block of keys, a row of a table, a
//! map in braces, a JSON object.
//!
//! A check that does not say plainly that it passed did not pass. An odd status becomes a blocker for somebody to look
//! at, because a skipped check must not look like a green one.

use super::Draft;
use super::cover::Manner;
use super::json::Fields;
use crate::text::{bare, clip, plain_words, starts_with_phrase};
use crate::words;
use serde_json::Value;
use serde_json::value::RawValue;
use tribunal_core::finding::{Claim, FixableBy, Severity};

/// How much of a check's own words is kept.
const EVIDENCE_MAX: usize = 8_000;

/// A check while it is being read.
#[derive(Default)]
pub(super) struct Check {
    name: String,
    status: Option<String>,
    who: Option<FixableBy>,
    evidence: String,
    /// Text under keys that a check does not have; it still has to be harmless.
    beside: String,
    /// The check as it was written, as far as it was on one line.
    text: String,
}

impl Check {
    /// The check that an item begins; `None` when the words name none.
    pub fn of_item(words: &str) -> Option<Check> {
        let words = without_id(words);
        let mut check = Check { text: words.to_owned(), ..Check::default() };
        if let Some(inner) = words.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
            if let Some(check) = Check::of_json(words) {
                return Some(check);
            }
            // Not JSON after all: a map as YAML or a model writes it.
            split_fields(inner, ',').into_iter().for_each(|part| _ = check.add(part));
        } else if words.contains('|') {
            let parts = split_fields(words, '|');
            parts.iter().for_each(|part| _ = check.add(part));
            // Pipes without keys: a row of a table whose head was left out.
            if check.status.is_none() && check.name.is_empty() {
                return Check::of_cells(words, &[]);
            }
        } else if !check.add(words) {
            return Check::of_result(words);
        }
        (check.status.is_some() || !check.name.is_empty()).then_some(check)
    }

    /// Reads `commit-lint: fail — words`: a name and what became of it.
    pub fn of_result(words: &str) -> Option<Check> {
        let (name, rest) = words.split_once([':', '：'])?;
        let name = bare(name);
        if name.is_empty() || name.len() > 100 {
            return None;
        }
        let status = rest.trim().trim_matches(['*', '_', '`']);
        let first = status.split([' ', '(', '—', '–', ',', ';', '.']).next().unwrap_or_default();
        // Without a known status this is just a sentence with a colon.
        standing(first)?;
        // The status keeps its whole text, so that `pass, but …` is not read as a plain pass.
        let evidence = status[first.len()..].trim_start_matches(|c: char| !c.is_alphanumeric()).to_owned();
        let (name, text) = (name.to_owned(), words.to_owned());
        Some(Check { name, status: Some(status.to_owned()), evidence, text, ..Check::default() })
    }

    /// Reads a row of cells under some titles; without titles they are name, status, who and why, in this order.
    pub fn of_cells(row: &str, titles: &[String]) -> Option<Check> {
        const ORDER: [&str; 4] = ["name", "status", "fixable by", "evidence"];
        let mut check = Check { text: row.to_owned(), ..Check::default() };
        for (n, cell) in cells(row).enumerate() {
            let title = match titles {
                [] => ORDER.get(n).copied().unwrap_or("evidence"),
                _ => titles.get(n).map_or("evidence", String::as_str),
            };
            check.set(title, cell);
        }
        (check.status.is_some() || !check.name.is_empty()).then_some(check)
    }

    /// Reads `{"name": …, "status": …}`; an object with keys of another kind is not a check.
    pub fn of_json(text: &str) -> Option<Check> {
        // A finding and a whole answer have a status, too, so their keys rule a check out.
        const FOREIGN: [&str; 8] =
            ["verdict", "findings", "issues", "checks", "claim", "issue", "severity", "arguments"];
        let Fields(fields) = serde_json::from_str(text).ok()?;
        if fields.iter().any(|(key, _)| FOREIGN.contains(&key.as_ref())) {
            return None;
        }
        let mut check = Check { text: text.to_owned(), ..Check::default() };
        fields.iter().for_each(|(key, value)| check.set_json(key, value));
        (check.status.is_some() && !check.name.is_empty()).then_some(check)
    }

    fn set_json(&mut self, key: &str, value: &RawValue) {
        match serde_json::from_str(value.get()) {
            Ok(Value::Null) => {}
            Ok(Value::String(text)) => {
                if !self.set(key, &text) {
                    super::lines::append(&mut self.beside, &text);
                }
            }
            _ => _ = self.set(key, value.get()),
        }
    }

    /// A check that is only named so far; the rest is still to come.
    pub fn named(name: &str) -> Check {
        Check { name: bare(name).to_owned(), text: name.to_owned(), ..Check::default() }
    }

    /// Takes a value by its key; false when a check has no such key.
    pub fn set(&mut self, key: &str, value: &str) -> bool {
        let value = value.trim();
        match plain_words(bare(key)).as_str() {
            "name" | "check" => self.name = unquoted(bare(value)).to_owned(),
            "status" | "result" | "passed" => {
                // Given twice in two ways, the worse one counts.
                let word = unquoted(bare(value)).to_owned();
                if self.status.as_deref().is_none_or(|before| standing(before) == Some(true)) {
                    self.status = Some(word);
                }
            }
            "fixable by" => self.who = words::fixable_by(unquoted(value)).or(self.who),
            "evidence" | "detail" | "details" | "reason" | "remediation" => {
                // YAML's marks for a block of text below; they are not evidence.
                self.say(if matches!(value, "|" | ">" | "|-" | ">-") { "" } else { unquoted(value) });
            }
            _ => return false,
        }
        true
    }

    /// Adds words to its evidence, up to a limit.
    pub fn say(&mut self, words: &str) {
        if self.evidence.len() < EVIDENCE_MAX && !words.trim().is_empty() {
            if !self.evidence.is_empty() {
                self.evidence.push('\n');
            }
            self.evidence.push_str(&clip(words.trim(), EVIDENCE_MAX));
        }
    }

    /// Whether it already has a name, so that another name begins another check.
    pub fn has_name(&self) -> bool {
        !self.name.is_empty()
    }

    /// Whether it already gives a reason.
    pub fn has_evidence(&self) -> bool {
        !self.evidence.is_empty()
    }

    fn add(&mut self, part: &str) -> bool {
        part.split_once([':', '：']).is_some_and(|(key, value)| self.set(key, value))
    }

    /// Turns the check into its meaning: nothing when it passed, a blocker when it did not, a doubt when it does not
    /// say.
    ///
    /// Missing and odd statuses both fail closed, but differently: without a status nobody knows what was checked, with
    /// an odd one the check itself is known.
    pub fn judge(self, draft: &mut Draft) {
        let Some(status) = self.status.as_deref().filter(|status| !status.is_empty()) else {
            let text = if self.text.is_empty() { &self.name } else { &self.text };
            return draft.intake.doubt(text, "a check without a status: it is not taken for passed");
        };
        match standing(status) {
            Some(true) => self.cover(draft),
            // A failure nobody can name is a doubt: as a finding it could not be distinguished from others.
            _ if self.name.is_empty() => {
                draft.intake.doubt(&self.text, "a check without a name did not pass")
            }
            failed => {
                let claim = self.claim(failed.is_none().then_some(status));
                draft.intake.findings.push(claim);
            }
        }
    }

    /// Holds the words beside a passed check against an approval. The name alone is exempt: checks are named after
    /// faults.
    fn cover(&self, draft: &mut Draft) {
        let placed = |text: &str| super::place::find(text).iter().any(|found| found.lines.is_some());
        for text in [&self.name, &self.evidence, &self.beside] {
            // A long or foreign name may be a sentence, so it is covered like one.
            let is_name = text == &self.name && text.split_whitespace().count() <= 2 && text.is_ascii();
            if placed(text) || !is_name {
                draft.cover(text, if placed(text) { Manner::List } else { Manner::Checked });
            }
        }
    }

    /// The blocker; `odd` is a status that is neither passed nor failed.
    fn claim(&self, odd: Option<&str>) -> Claim {
        let said = match (odd, self.evidence.is_empty()) {
            (Some(status), true) => format!("check {} did not pass: {status}", self.name),
            (Some(status), false) => format!("{}: {status}: {}", self.name, self.evidence),
            (None, true) => format!("check {} failed", self.name),
            (None, false) => format!("{}: {}", self.name, self.evidence),
        };
        let mut claim = super::claim_of(Severity::Blocker, &said);
        // The check's name is the rule, so that its next failure is the same finding.
        claim.rule = Some(clip(&self.name, 200));
        claim.evidence.clone_from(&self.evidence);
        claim.fixable_by = self.who.unwrap_or(FixableBy::Dev);
        claim
    }
}

/// Whether a status means passed or failed; `None` when it is neither, such as one of a check that did not run.
pub(super) fn standing(status: &str) -> Option<bool> {
    const PASS: [&str; 12] = [
        "pass",
        "passed",
        "passes",
        "passing",
        "ok",
        "okay",
        "success",
        "succeeded",
        "true",
        "yes",
        "✓",
        "✅",
    ];
    const FAIL: [&str; 13] = [
        "fail", "failed", "fails", "failing", "failure", "error", "errors", "false", "no", "blocked", "✗",
        "❌", "rejected",
    ];
    let words = plain_words(bare(status));
    let words = words.trim_start_matches(['✓', '✅', '✔', '\u{fe0f}', ' ']);
    // Nothing but a tick was written.
    let words = if words.is_empty() { "pass" } else { words };
    // `pass (12 tests)` passed; `pass with warnings`, `pass/fail` and `passed, but …` are for somebody to look at.
    let plainly = |word: &str| {
        let rest = starts_with_phrase(words, word);
        rest.is_some_and(|rest| rest.is_empty() || rest.trim_start().starts_with(['(', '—', '–', '.', '!']))
    };
    match () {
        () if status.trim().is_empty() => None,
        () if PASS.iter().any(|word| plainly(word)) => Some(true),
        () if FAIL.iter().any(|word| starts_with_phrase(words, word).is_some()) => Some(false),
        () => None,
    }
}

/// The cells of a row, without the pipes at its ends.
pub(super) fn cells(row: &str) -> impl Iterator<Item = &str> {
    let row = row.trim();
    let row = row.strip_prefix('|').unwrap_or(row);
    row.strip_suffix('|').unwrap_or(row).split('|').map(str::trim)
}

/// Cuts a text at separators, but only where a known key follows, so that evidence may contain them.
fn split_fields(text: &str, separator: char) -> Vec<&str> {
    const KEYS: [&str; 11] = [
        "name",
        "check",
        "status",
        "result",
        "passed",
        "fixable by",
        "evidence",
        "detail",
        "details",
        "reason",
        "remediation",
    ];
    let mut parts = Vec::new();
    let mut start = 0;
    for (at, _) in text.match_indices(separator) {
        let key = text[at + 1..].split(':').next().unwrap_or("");
        if key.len() < 30 && KEYS.contains(&plain_words(bare(key)).as_str()) {
            parts.push(&text[start..at]);
            start = at + 1;
        }
    }
    parts.push(&text[start..]);
    parts
}

/// The words without the id in front of them: `[id:q-001] name: commit-lint | status: fail`.
fn without_id(words: &str) -> &str {
    let inner = words.trim_start_matches(['*', '`', ' ']).strip_prefix("[id");
    let after = inner
        .and_then(|inner| inner.split_once(']'))
        .map(|(_, after)| after.trim_start_matches(['*', '`', ' ']));
    after.filter(|after| !after.is_empty()).unwrap_or(words)
}

/// Strips one pair of quotes.
fn unquoted(value: &str) -> &str {
    let value = value.trim();
    for mark in ['"', '\''] {
        if let Some(inner) = value.strip_prefix(mark).and_then(|value| value.strip_suffix(mark)) {
            return inner.trim();
        }
    }
    value
}

/// Reads the `checks` of a JSON answer: a list of them, or an object by name.
pub(super) fn read_json(text: &str, draft: &mut Draft) {
    if let Ok(all) = serde_json::from_str::<Vec<&RawValue>>(text) {
        for one in all {
            let words = serde_json::from_str::<String>(one.get()).ok();
            let found = words.as_deref().map_or_else(|| Check::of_json(one.get()), Check::of_item);
            match found {
                Some(check) => check.judge(draft),
                None => draft.intake.doubt(one.get(), "not a check that can be read"),
            }
        }
    } else if let Ok(Fields(by_name)) = serde_json::from_str(text) {
        for (name, value) in by_name {
            let mut check = Check::named(&name);
            match serde_json::from_str::<Fields<'_>>(value.get()) {
                Ok(Fields(fields)) => fields.iter().for_each(|(key, value)| check.set_json(key, value)),
                Err(_) => check.set_json("status", value),
            }
            check.judge(draft);
        }
    } else if text != "null" {
        draft.intake.doubt(text, "not checks that can be read");
    }
}

/// Reads reasons for a failure: one text or several.
pub(super) fn read_json_reasons(text: &str, who: FixableBy, draft: &mut Draft) {
    match serde_json::from_str::<Vec<&RawValue>>(text) {
        Ok(all) => all.iter().for_each(|one| reason(&words_of(one.get()), who, draft)),
        Err(_) => reason(&words_of(text), who, draft),
    }
}

/// The text of a JSON string; anything else as it is written.
fn words_of(text: &str) -> String {
    serde_json::from_str(text).unwrap_or_else(|_| text.to_owned())
}

/// Whether these words say that a list is empty.
pub(super) fn is_no_item(words: &str) -> bool {
    let words = plain_words(bare(words));
    let words = words.trim_matches(|c: char| c.is_whitespace() || "[]{}()-.,'\"".contains(c));
    matches!(words, "" | "none" | "n/a" | "na" | "null" | "nil" | "nothing" | "empty")
}

/// Reads a reason, which either names a check already listed or is a failure of its own.
pub(super) fn reason(words: &str, who: FixableBy, draft: &mut Draft) {
    let words = words.trim();
    if is_no_item(words) {
        return;
    }
    let known = |claim: &&mut Claim| claim.rule.as_deref().is_some_and(|rule| words.contains(rule));
    if let Some(claim) = draft.intake.findings.iter_mut().find(known) {
        // The reason repeats a check that is already a finding; it must not become a second one.
        if claim.evidence.is_empty() {
            claim.evidence = words.to_owned();
        }
        return;
    }
    let mut claim = super::claim_of(Severity::Blocker, words);
    claim.fixable_by = who;
    draft.intake.findings.push(claim);
}
