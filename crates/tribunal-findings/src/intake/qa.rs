//! Reads a `QA REPORT:` block: `passed:`, `checks:` in any of the ways people and models list them, reasons.
//!
//! A failed check is a blocker, and one that cannot be read keeps the report from approving. A report decides nothing
//! else. The block has no closing mark, so where it ends is a guess; a line too many is read as a check that does not
//! say it passed.

use super::check::{Check, cells, is_no_item, read_json, read_json_reasons, reason};
use super::cover::{Manner, doubtful};
use super::launch::Carried;
use super::scan::{Kind, Line};
use super::{Draft, Form};
use crate::text::{bare, field, heading, is_bullet, plain_words, strip_bullet};
use serde::de::IgnoredAny;
use tribunal_core::finding::{FixableBy, Verdict};

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
        draft.carried = line.word;
        at = body(lines, at, taken, draft);
        draft.carried = Carried::Nothing;
    }
}

fn is_title(text: &str) -> bool {
    let words = heading(text).map_or(text, |(_, words)| words);
    plain_words(bare(bare(words).trim_end_matches(':'))) == "qa report"
}

/// The part of the report that is being read.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Head,
    Checks,
    Reasons(FixableBy),
    Notes,
    /// Words behind the lists: only what speaks against the work is still heard.
    After,
}

/// Reads the body of a report; returns the line behind it.
fn body(lines: &[Line<'_>], from: usize, taken: &mut [bool], draft: &mut Draft) -> usize {
    let mut report = Report::default();
    let mut end = lines.len();
    for (at, line) in lines.iter().enumerate().skip(from) {
        match line.kind {
            Kind::Blank => report.blank = true,
            // The JSON reader takes it for the checks it is.
            Kind::Data => report.listed = true,
            Kind::Own if heading(line.text).is_some() || super::verdict::is_keyed_verdict(line.text) => {
                end = at;
                break;
            }
            Kind::Own => {
                // The word may stand on any line of the report, as the report is one statement.
                if line.word == Carried::Right {
                    draft.carried = Carried::Right;
                }
                taken[at] = report.line(line.text, draft);
                report.blank = false;
            }
            // A quotation outside of a list ends the report; inside of one it may be a check.
            Kind::Fenced | Kind::Quoted | Kind::TooLong if !report.is_listing() => {
                end = at;
                break;
            }
            Kind::Fenced | Kind::Quoted | Kind::TooLong => report.foreign(line.text, draft),
        }
    }
    report.close(draft);
    if !report.passed {
        draft.intake.note("QA REPORT", "the report does not say passed: true or false");
    }
    end
}

/// A report while it is being read.
struct Report {
    part: Part,
    /// The check that goes on, and how deep its first line is indented.
    open: Option<(Check, usize)>,
    /// Titles of the table in which the checks stand.
    titles: Vec<String>,
    /// The line before was blank.
    blank: bool,
    /// Something of the present list was read.
    listed: bool,
    /// The report said whether it passed.
    passed: bool,
}

impl Default for Report {
    fn default() -> Self {
        Report {
            part: Part::Head,
            open: None,
            titles: Vec::new(),
            blank: false,
            listed: false,
            passed: false,
        }
    }
}

impl Report {
    fn is_listing(&self) -> bool {
        matches!(self.part, Part::Checks | Part::Reasons(_))
    }

    fn close(&mut self, draft: &mut Draft) {
        if let Some((check, _)) = self.open.take() {
            check.judge(draft);
        }
    }

    /// Reads one of the author's own lines; returns whether it was part of the report.
    fn line(&mut self, text: &str, draft: &mut Draft) -> bool {
        if self.goes_on(text) {
            return true;
        }
        if let Some((key, value)) = field(text).filter(|_| !text.contains('|'))
            && let Some(part) = self.key(&key, value, draft)
        {
            return part;
        }
        match self.part {
            Part::Checks => self.check(text, draft),
            Part::Reasons(who) => self.reason(text, who, draft),
            Part::Head => is_metadata(text),
            Part::Notes | Part::After => false,
        }
    }

    /// Takes a key of the report itself; `None` when the key is another's.
    fn key(&mut self, key: &str, value: &str, draft: &mut Draft) -> Option<bool> {
        let part = match plain_words(key).as_str() {
            // Behind the lists "passed" may begin a sentence.
            "passed" if self.part == Part::After && self.passed && truth(value).is_none() => return None,
            "passed" => {
                self.passed = true;
                vote(value, draft);
                Part::Head
            }
            "remediation eligible" => Part::Head,
            "checks" => Part::Checks,
            "hard stop reasons" => Part::Reasons(FixableBy::Manual),
            "dev fixable failures" => Part::Reasons(FixableBy::Dev),
            "evidence" | "notes" | "summary" | "checked" if self.part != Part::After => Part::Notes,
            _ => return None,
        };
        self.close(draft);
        (self.part, self.listed) = (part, false);
        self.titles.clear();
        match part {
            Part::Checks => self.checks_beside(value, draft),
            Part::Reasons(who) => read_json_reasons(value, who, draft),
            Part::Head | Part::Notes | Part::After => {}
        }
        Some(part != Part::Notes)
    }

    /// Reads what stands on the line of `checks:` itself.
    fn checks_beside(&mut self, value: &str, draft: &mut Draft) {
        if is_no_item(value) {
            return;
        }
        self.listed = true;
        if serde_json::from_str::<IgnoredAny>(value).is_ok() {
            read_json(value, draft);
        } else if !all_passed(value) {
            draft.intake.doubt(value, "checks that cannot be read: they are not taken for passed");
        }
    }

    /// Takes a line that belongs to the check before it; returns whether it did.
    fn goes_on(&mut self, text: &str) -> bool {
        let Some((check, depth)) = &mut self.open else { return false };
        let deeper = indent(text) > *depth;
        if is_bullet(text) {
            // A list inside a check is its evidence, unless it is a list of checks.
            let nested = deeper && Check::of_item(strip_bullet(text)).is_none();
            if nested {
                check.say(strip_bullet(text));
            }
            return nested;
        }
        let Some((key, value)) = field(text).filter(|_| !text.trim_start().starts_with('|')) else {
            if deeper {
                check.say(text);
            }
            return deeper;
        };
        let words = plain_words(&key);
        let named = matches!(words.as_str(), "name" | "check");
        // Without indentation, only what a report has no key for, or what the check still lacks.
        let own = match words.as_str() {
            _ if deeper => true,
            "passed" | "notes" | "summary" | "checked" => false,
            "evidence" => !self.blank && !check.has_evidence(),
            _ => !self.blank,
        };
        if !own || named && check.has_name() {
            return false;
        }
        if check.set(&key, value) {
            return true;
        }
        // An unknown key, unless it is the next check: `commit-lint: pass`.
        let other = Check::of_result(text).is_some() || value.is_empty();
        if deeper && !other {
            check.say(text);
        }
        deeper && !other
    }

    /// Reads a line of the list of checks, which begins one or none.
    fn check(&mut self, text: &str, draft: &mut Draft) -> bool {
        let words = strip_bullet(text).trim();
        if is_marks(text) || is_ruler(text) || is_no_item(words) {
            return true;
        }
        let row = !is_bullet(text) && text.trim_start().starts_with('|');
        if row && self.titles.is_empty() && is_titles(text) {
            self.titles = cells(text).map(plain_words).collect();
            return true;
        }
        let found = if row { Check::of_cells(text, &self.titles) } else { Check::of_item(words) };
        let key = words.strip_suffix(':').filter(|key| !key.contains(' ') && !key.is_empty());
        let begun = found.or_else(|| key.map(Check::named));
        self.close(draft);
        match begun {
            Some(check) => self.open = Some((check, indent(text))),
            // An item without a status: it is a check all the same, and did not say that it passed.
            None if is_bullet(text) => self.open = Some((Check::named(words), indent(text))),
            None if self.listed && !speaks_of_failure(words) => {
                self.part = Part::After;
                return false;
            }
            None => draft.intake.doubt(text, "a check that cannot be read: it is not taken for passed"),
        }
        self.listed = true;
        true
    }

    /// Reads a line under a list of reasons: an item, or the only words there are.
    fn reason(&mut self, text: &str, who: FixableBy, draft: &mut Draft) -> bool {
        if is_bullet(text) {
            self.listed = true;
            reason(strip_bullet(text), who, draft);
        } else if is_marks(text) || self.listed && indent(text) > 0 {
            // The rest of an item, or brackets.
        } else if self.listed || self.blank {
            self.part = Part::After;
            return false;
        } else {
            self.listed = true;
            reason(text, who, draft);
        }
        true
    }

    /// Takes a fence or a quotation inside a list: nothing in it is believed, for or against.
    fn foreign(&mut self, text: &str, draft: &mut Draft) {
        if !self.listed || speaks_of_failure(text) {
            draft.intake.doubt(text, "a part of the report that is fenced or quoted is not read");
        }
        self.listed = true;
    }
}

/// Whether an unknown key has a value that says nothing about the work: `plan: 01-02`.
fn is_metadata(text: &str) -> bool {
    let short = field(text).is_some_and(|(_, value)| value.split_whitespace().count() <= 3);
    short && doubtful(text, Manner::Checked).is_none()
}

/// Whether a line has only brackets and dashes that hold a list together.
fn is_marks(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || matches!(c, '[' | ']' | '{' | '}' | ',' | '*' | '_' | '`'))
}

/// Whether a line separates the head of a table: `|---|:--|`.
fn is_ruler(text: &str) -> bool {
    let row = text.contains('|') || text.contains("---");
    row && text.chars().all(|c| c.is_whitespace() || matches!(c, '|' | '-' | ':' | '+'))
}

/// Whether a row names the columns.
fn is_titles(text: &str) -> bool {
    let title = |cell: &str| matches!(plain_words(bare(cell)).as_str(), "status" | "result");
    cells(text).any(title)
}

/// Whether all checks are said to have passed: `all passed`, `5/5 passed`.
fn all_passed(value: &str) -> bool {
    let words = plain_words(bare(value));
    let (count, rest) = words.split_once(' ').unwrap_or((&words, ""));
    let whole =
        count == "all" || count.split_once('/').is_some_and(|(n, of)| n == of && n.parse::<u32>().is_ok());
    whole && matches!(rest.trim_end_matches('.'), "pass" | "passed" | "passing" | "ok" | "green")
}

fn speaks_of_failure(text: &str) -> bool {
    // "status" is among them: a line about a status that was not read as a check may be one.
    let words = text.to_lowercase();
    ["fail", "error", "status", "✗", "❌", "did not", "not run", "skipped", "broken"]
        .iter()
        .any(|cue| words.contains(cue))
}

fn indent(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

fn truth(value: &str) -> Option<bool> {
    match bare(value).trim_matches(['"', '\'']).to_lowercase().as_str() {
        "true" | "yes" => Some(true),
        "false" | "no" => Some(false),
        _ => None,
    }
}

fn vote(value: &str, draft: &mut Draft) {
    let words = format!("passed: {}", bare(value));
    match truth(value) {
        Some(true) => draft.vote(&words, Ok((Verdict::Approve, false))),
        Some(false) => draft.vote(&words, Ok((Verdict::Reject, false))),
        None => draft.vote(&words, Err("passed is neither true nor false")),
    }
}
