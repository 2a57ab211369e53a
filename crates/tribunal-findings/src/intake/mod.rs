//! From a reviewer's final message to a verdict, findings and answers. Strict where it decides, tolerant where people
//! and models are sloppy. Never panics, never follows a path, never makes an approval out of something unclear.

mod blocks;
mod check;
mod compiler;
mod json;
mod lines;
mod qa;
pub mod report;
mod results;
mod said;
mod sarif;
pub(crate) mod scan;
pub mod tool;
mod verdict;

pub use compiler::read_compiler_lines;
pub use sarif::read_sarif;

use crate::text::{Damage, LINE_MAX, clean, clip};
use scan::{Kind, Line};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tribunal_core::defence::{Defence, stands};
use tribunal_core::finding::{Answer, Claim, Said, Severity, Verdict};
use tribunal_core::ids::FindingId;

/// Larger messages are refused as a whole.
const INPUT_MAX: usize = 64 * 1024 * 1024;
/// How much of an unreadable text is kept, and how many such texts.
const UNREAD_TEXT_MAX: usize = 2_000;
const UNREAD_MAX: usize = 500;

/// Which of the known forms a message had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// Nothing was recognized.
    #[default]
    None,
    /// Arguments of a reporting tool.
    Tool,
    /// JSON against the schema.
    Json,
    /// `VERDICT:` / `FINDINGS:` with tagged lines.
    Lines,
    /// A `QA REPORT:` block.
    Qa,
    /// `### Finding N` blocks.
    Blocks,
    /// Approved or needs-revision, with blockers, warnings and notes as plain items.
    Plain,
    /// SARIF 2.1.0.
    Sarif,
    /// `file:line: message`.
    Compiler,
}

/// Something that could not be read, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unread {
    /// The text as it was (shortened when long).
    pub text: String,
    /// What was wrong with it.
    pub why: String,
}

/// What Tribunal reads from one message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intake {
    /// The verdict, when exactly one was given.
    pub verdict: Option<Verdict>,
    /// Its words.
    pub stated: Option<String>,
    /// FAIL: patching will not do.
    pub fundamental: bool,
    /// The form the message had.
    pub form: Form,
    /// The claims, in the order they were made.
    pub findings: Vec<Claim>,
    /// Answers to findings put by id.
    pub said: BTreeMap<FindingId, Said>,
    /// What was checked, in the author's words; empty when nothing of substance was said.
    pub checked: String,
    /// What the author took the task to be for.
    pub intent: Option<String>,
    /// Whether the work serves that.
    pub intent_satisfied: Option<bool>,
    /// What could not be read.
    pub unread: Vec<Unread>,
    /// Something unread may be a finding.
    #[serde(skip)]
    doubtful: bool,
}

impl Intake {
    /// The seat's answer; `None` when there is no usable verdict.
    pub fn answer(&self) -> Option<Answer> {
        Some(Answer {
            verdict: self.verdict?,
            fundamental: self.fundamental,
            raised: self.findings.clone(),
            said: self.said.clone(),
            checked: self.checked.clone(),
            intent: self.intent.clone(),
            intent_satisfied: self.intent_satisfied,
        })
    }

    /// Notes what may be a finding and cannot be read: nothing that comes with it is believed to approve.
    pub(crate) fn doubt(&mut self, text: &str, why: impl Into<String>) {
        self.doubtful = true;
        self.note(text, why);
    }

    pub(crate) fn note(&mut self, text: &str, why: impl Into<String>) {
        match self.unread.len() {
            UNREAD_MAX.. => {}
            n if n + 1 == UNREAD_MAX => {
                self.unread.push(Unread {
                    text: String::new(),
                    why: "more could not be read; only the first are kept".into(),
                });
            }
            _ => self.unread.push(Unread { text: clip(text.trim(), UNREAD_TEXT_MAX), why: why.into() }),
        }
    }
}

/// A verdict found somewhere in the message.
#[derive(Clone, Debug)]
pub(crate) struct Vote {
    pub words: String,
    /// `Err` says why the words are no verdict.
    pub meaning: Result<(Verdict, bool), &'static str>,
}

/// Everything found so far, before it is weighed.
#[derive(Default)]
pub(crate) struct Draft {
    pub intake: Intake,
    pub votes: Vec<Vote>,
    pub contradicted: Vec<FindingId>,
}

impl Draft {
    pub fn vote(&mut self, words: &str, meaning: Result<(Verdict, bool), &'static str>) {
        self.votes.push(Vote { words: clip(words.trim(), 300), meaning });
    }

    /// Records an answer; two different ones to the same finding are none.
    pub fn answer(&mut self, id: FindingId, said: Said) {
        if self.contradicted.contains(&id) {
            return;
        }
        match self.intake.said.get(&id) {
            Some(before) if !same_answer(before, &said) => {
                self.intake.said.remove(&id);
                self.contradicted.push(id);
                self.intake.note(&id.to_string(), "answered in two different ways, so not answered");
            }
            Some(_) => {}
            None => {
                self.intake.said.insert(id, said);
            }
        }
    }

    pub fn form(&mut self, form: Form) {
        if self.intake.form == Form::None {
            self.intake.form = form;
        }
    }
}

fn same_answer(a: &Said, b: &Said) -> bool {
    std::mem::discriminant(a) == std::mem::discriminant(b)
}

/// Reads a reviewer's final message in any of the known forms.
pub fn read(text: &str) -> Intake {
    read_damaged(text, Damage::default())
}

/// Reads bytes; invalid UTF-8 is replaced, noted, and keeps the message from approving.
pub fn read_bytes(bytes: &[u8]) -> Intake {
    if bytes.len() > INPUT_MAX {
        return refused(&format!("{} bytes", bytes.len()), "larger than any message; nothing of it was read");
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => read(text),
        Err(_) => read_damaged(&String::from_utf8_lossy(bytes), Damage { utf8: true, nul: false }),
    }
}

fn refused(text: &str, why: &str) -> Intake {
    let mut intake = Intake::default();
    intake.note(text, why);
    intake
}

fn read_damaged(text: &str, mut damage: Damage) -> Intake {
    if text.len() > INPUT_MAX {
        return refused(&format!("{} bytes", text.len()), "larger than any message; nothing of it was read");
    }
    let (text, found) = clean(text);
    damage.nul |= found.nul;
    let mut draft = Draft::default();
    let scan = scan::scan(&text);
    if !json::read_whole(&scan, &mut draft) {
        read_prose(&scan.lines, &mut draft);
        json::read_parts(&scan, &mut draft);
        hear_what_was_swallowed(&scan, &mut draft);
    }
    if draft.votes.is_empty() && draft.intake.findings.is_empty() && draft.intake.form == Form::None {
        compiler::read_as_last_resort(&scan.lines, &mut draft);
    }
    weigh(draft, damage, &scan.lines)
}

fn read_prose(lines: &[Line<'_>], draft: &mut Draft) {
    let mut taken = vec![false; lines.len()];
    qa::read(lines, &mut taken, draft);
    blocks::read(lines, &mut taken, draft);
    lines::read(lines, &mut taken, draft);
    said::read(lines, &mut taken, draft);
    verdict::read(lines, draft);
    verdict::read_remarks(lines, &taken, draft);
    note_what_looks_like_an_answer(lines, draft);
}

/// A fence that is never closed may have swallowed the real verdict: a different one in there unsettles what was said.
fn hear_what_was_swallowed(scan: &scan::Scan<'_>, draft: &mut Draft) {
    let Some(from) = scan.unclosed else { return };
    let Some(stated) = draft.votes.last().and_then(|vote| vote.meaning.ok()) else { return };
    let other = scan.lines[from..]
        .iter()
        .find(|line| verdict::quoted_verdict(line.text).is_some_and(|found| found != stated.0));
    if let Some(line) = other {
        draft.vote(line.text, Err("a different verdict stands behind a fence or tag that is never closed"));
    }
}

/// Verdicts and findings in fences and quotes do not count, but they are shown.
fn note_what_looks_like_an_answer(lines: &[Line<'_>], draft: &mut Draft) {
    for line in lines {
        let place = match line.kind {
            Kind::Fenced => "inside a code fence",
            Kind::Quoted => "quoted or echoed",
            Kind::TooLong => "",
            Kind::Own if verdict::is_quoted_item(line.text) => "in quotes",
            _ => continue,
        };
        if line.kind == Kind::TooLong {
            draft.intake.note(line.text, "a line too long to be read");
        } else if line.kind == Kind::Own || verdict::is_verdict_line(line.text) {
            draft.intake.note(line.text, format!("a verdict {place} is no verdict"));
        } else if line.kind == Kind::Fenced && lines::is_grave(line.text) {
            draft.intake.doubt(line.text, "a finding inside a code fence is not taken for this review's own");
        } else if lines::is_tagged(line.text) {
            draft.intake.note(line.text, format!("a finding {place} is not taken for this review's own"));
        }
    }
}

/// One verdict or none: all that were given must agree, and the last must be one.
fn weigh(mut draft: Draft, damage: Damage, lines: &[Line<'_>]) -> Intake {
    settle_verdict(&mut draft);
    let intake = &mut draft.intake;
    note_reused_labels(intake);
    // A log of a tool may be one long line; a verdict in one is nothing anybody wrote.
    let approves = intake.verdict.is_some_and(|verdict| verdict != Verdict::Reject);
    let oversized = lines.iter().any(|line| {
        line.kind == Kind::TooLong || approves && line.kind == Kind::Data && line.text.len() > LINE_MAX
    });
    for (broken, why) in [
        (damage.utf8 && stands(Defence::Utf8), "the message holds bytes that are not UTF-8"),
        (damage.nul, "the message holds NUL bytes"),
        (oversized, "the message holds a line too long to be read"),
        (intake.doubtful, "something in it may be a finding and cannot be read"),
    ] {
        if broken {
            intake.note("", why);
            if intake.verdict.is_some_and(|verdict| verdict != Verdict::Reject) {
                intake.verdict = None;
                intake
                    .note(intake.stated.clone().unwrap_or_default().as_str(), format!("not believed: {why}"));
            }
        }
    }
    if !crate::intake::verdict::has_substance(&intake.checked) {
        intake.checked.clear();
    }
    if draft.votes.is_empty() {
        note_why_there_is_none(&mut draft.intake, lines);
    }
    draft.intake
}

/// Without a verdict there is always a reason.
fn note_why_there_is_none(intake: &mut Intake, lines: &[Line<'_>]) {
    let why = match intake.form {
        Form::Sarif | Form::Compiler => "no verdict: what a tool reports has none",
        _ if lines.iter().all(|line| line.kind == Kind::Blank) => "no verdict: the message is empty",
        _ => "no verdict: no line of its own says `VERDICT: approve`, `conditional` or `reject`",
    };
    let like = lines.iter().find(|line| line.kind == Kind::Own && verdict::is_like_one(line.text));
    intake.note(like.map_or("", |line| line.text), why);
}

/// An author's id that stands for two findings stands for neither: both are kept, and it is said.
fn note_reused_labels(intake: &mut Intake) {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for label in intake.findings.iter().filter_map(|claim| claim.label.as_deref()) {
        *seen.entry(label).or_default() += 1;
    }
    let reused: Vec<(String, usize)> =
        seen.into_iter().filter(|(_, n)| *n > 1).map(|(label, n)| (label.to_owned(), n)).collect();
    for (label, n) in reused {
        intake.note(&label, format!("the same id for {n} findings: all are kept"));
    }
}

fn settle_verdict(draft: &mut Draft) {
    let Some(last) = draft.votes.last().cloned() else { return };
    let intake = &mut draft.intake;
    intake.stated = Some(last.words.clone());
    let mut known = draft.votes.iter().filter_map(|vote| vote.meaning.ok());
    let first = known.next();
    let contradiction = known.find(|vote| first.is_some_and(|first| vote.0 != first.0));
    if let (Some(first), Some(other)) = (first, contradiction.filter(|_| stands(Defence::OneVerdict))) {
        intake.note(&last.words, format!("two verdicts contradict each other: {} and {}", first.0, other.0));
        return;
    }
    match last.meaning {
        Ok((verdict, fundamental)) => {
            intake.verdict = Some(verdict);
            intake.fundamental = fundamental;
        }
        Err(why) => intake.note(&last.words, format!("no verdict: {why}")),
    }
}

/// Makes a claim out of loose text: the first line is the claim, the rest details.
pub(crate) fn claim_of(severity: Severity, text: &str) -> Claim {
    let (first, rest) = claim_words(text);
    let mut claim = Claim::new(severity, first);
    claim.details = rest;
    claim
}

/// The claim and the details in loose text.
pub(crate) fn claim_words(text: &str) -> (String, String) {
    let text = text.trim();
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    (clip(crate::text::unbold(first), 4_000), rest.trim().to_owned())
}

pub(crate) fn said_id(line: &str) -> Option<(FindingId, &str)> {
    said::id_and_words(line)
}

pub(crate) fn said_reason(words: &str) -> String {
    said::reason(words)
}
