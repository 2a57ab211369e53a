//! Turns a reviewer's final message into a verdict, findings and answers. Strict where it decides, tolerant where
//! people and models are sloppy.
//!
//! Each form has a reader of its own, and each reader marks the lines it took. Whatever no reader took has to be
//! plainly harmless, or the message does not approve: that is the work of `cover`. So a new form is added as a reader
//! here, and a mistake in it can cost an approval but never grant one.
//!
//! Nothing in here panics, follows a path, or makes an approval out of something unclear.

pub mod answer;
mod blocks;
mod check;
pub mod checked;
mod compiler;
mod cover;
mod front;
mod go;
mod head;
mod items;
mod json;
pub(crate) mod launch;
mod lines;
mod loose;
mod marks;
mod place;
mod places;
mod prose;
mod qa;
pub mod report;
mod results;
mod said;
mod sarif;
pub(crate) mod scan;
mod syntax;
mod table;
pub mod tool;
mod unread;
mod verdict;
mod xml;

pub use compiler::read_compiler_lines;
pub use sarif::read_sarif;

use crate::text::{Damage, LINE_MAX, clean, clip};
pub use checked::Judged;
use cover::Manner;
use launch::Carried;
use scan::{Kind, Line};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tribunal_core::defence::{Defence, stands};
use tribunal_core::evidence::{Lack, Refused};
use tribunal_core::finding::{Answer, Claim, Said, Severity, UnreadPart, Verdict};
use tribunal_core::ids::FindingId;

/// Why an approval without evidence does not count by itself.
pub const NO_EVIDENCE: &str = "an approval that does not say what was checked";
/// A larger message is refused as a whole.
const INPUT_MAX: usize = 64 * 1024 * 1024;
/// How much of an unreadable text is kept; below, how many such texts.
const UNREAD_TEXT_MAX: usize = 2_000;
const UNREAD_MAX: usize = 500;
/// How many unread parts a reviewer is asked about one by one; below, how much of each is shown.
const PARTS_MAX: usize = 30;
const PART_TEXT_MAX: usize = 600;
/// How much is kept of words that are not evidence.
const REFUSED_MAX: usize = 300;

/// The form in which a message was written, as far as it was recognized.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// No known form was recognized.
    #[default]
    None,
    /// Arguments of a reporting tool.
    Tool,
    /// JSON that follows the schema.
    Json,
    /// `VERDICT:` and `FINDINGS:` with tagged lines.
    Lines,
    /// A `QA REPORT:` block.
    Qa,
    /// Blocks titled `### Finding N`.
    Blocks,
    /// Approved or needs-revision, with blockers, warnings and notes as plain items.
    Plain,
    /// Rows of a Markdown table.
    Table,
    /// Tags such as `<finding>`.
    Xml,
    /// A SARIF 2.1.0 log.
    Sarif,
    /// Lines of the form `file:line: message`.
    Compiler,
}

/// A part of a message that could not be read, and why.
///
/// Nothing that a reviewer wrote is dropped in silence: it is either a finding, an answer, harmless, or one of these.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unread {
    /// The text as it was written, shortened when long.
    pub text: String,
    /// What was wrong with it.
    pub why: String,
    /// It may be a finding, so nothing that comes with it approves.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_be_finding: bool,
}

/// Everything that was read from one message.
///
/// `verdict` is set only if exactly one was given and nothing in the message speaks against believing it. Ask
/// `effective` for the verdict that counts: findings outrank the stated word.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intake {
    /// The verdict, if exactly one was given.
    pub verdict: Option<Verdict>,
    /// The words in which it was given.
    pub stated: Option<String>,
    /// The verdict was FAIL: patching will not do.
    pub fundamental: bool,
    /// The form the message had.
    pub form: Form,
    /// The claims, in the order in which they were made.
    pub findings: Vec<Claim>,
    /// Answers to findings that were put by id.
    pub said: BTreeMap<FindingId, Said>,
    /// What was checked, in the author's words; empty when nothing of substance was said.
    pub checked: String,
    /// Words about what was checked that are not evidence, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Refused>,
    /// What the author took the task to be for.
    pub intent: Option<String>,
    /// Whether the work serves that purpose.
    pub intent_satisfied: Option<bool>,
    /// Parts that could not be read.
    pub unread: Vec<Unread>,
    /// How many lines or JSON answers carried the launch word.
    ///
    /// Where a word is asked for and none carried it, nobody can tell whether the author speaks or a file that is
    /// quoted.
    #[serde(default)]
    pub worded: usize,
    /// Unread parts of an earlier answer that its author calls no finding, by their number, and why.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settled: BTreeMap<u32, String>,
    /// The stated verdict, where it is not believed only because something unread may be a finding.
    #[serde(skip)]
    doubted: Option<Verdict>,
}

impl Intake {
    /// The reviewer's answer; `None` when there is no usable verdict.
    pub fn answer(&self) -> Option<Answer> {
        Some(self.answer_of(self.verdict?))
    }

    /// The answer with the verdict as it was stated, even where something in it may be a finding and was not read.
    ///
    /// For whoever asks the reviewer again. With its unread parts it approves nothing.
    pub fn answer_in_doubt(&self) -> Option<Answer> {
        Some(self.answer_of(self.verdict.or(self.doubted)?))
    }

    /// Whether something in it may be a finding and could not be read.
    pub fn in_doubt(&self) -> bool {
        self.doubts().next().is_some()
    }

    /// The parts that may be findings and could not be read, in order.
    pub fn doubts(&self) -> impl Iterator<Item = &Unread> {
        self.unread.iter().filter(|unread| unread.may_be_finding)
    }

    fn answer_of(&self, verdict: Verdict) -> Answer {
        Answer {
            verdict,
            fundamental: self.fundamental,
            raised: self.findings.clone(),
            said: self.said.clone(),
            checked: self.checked.clone(),
            refused: self.refused.clone(),
            intent: self.intent.clone(),
            intent_satisfied: self.intent_satisfied,
            unread: self.unread_parts(),
            settled: self.settled.clone(),
            wordless: false,
        }
    }

    /// The doubts as parts that a reviewer can be asked about one by one; beyond the limit the rest is one part.
    fn unread_parts(&self) -> Vec<UnreadPart> {
        let part =
            |unread: &Unread| UnreadPart { text: clip(&unread.text, PART_TEXT_MAX), why: unread.why.clone() };
        let mut parts: Vec<UnreadPart> = self.doubts().take(PARTS_MAX).map(part).collect();
        let more = self.doubts().count().saturating_sub(PARTS_MAX);
        if let (Some(first), true) = (self.doubts().nth(PARTS_MAX), more > 0) {
            let why = format!("{more} more parts could not be read, from this one on");
            parts.push(UnreadPart { text: clip(&first.text, PART_TEXT_MAX), why });
        }
        parts
    }

    /// The verdict that counts by itself, by the rule of the loop: findings outrank the stated word, and an approval
    /// without evidence is not an approval.
    pub fn effective(&self) -> Option<Verdict> {
        self.answer().as_ref().and_then(tribunal_core::panel::effective)
    }

    /// Whether it approves without saying what was checked. That is enough to confirm a fix, but not for a first
    /// approval.
    pub fn lacks_evidence(&self) -> bool {
        self.verdict == Some(Verdict::Approve) && self.checked.is_empty()
    }

    /// Adds the reason why an approval does not count by itself, for whoever looks at one answer alone.
    pub fn explained(mut self) -> Intake {
        if self.lacks_evidence() {
            let why = self.refused.as_ref().map_or_else(|| NO_EVIDENCE.to_owned(), |refused| refused.words());
            self.note("", why);
        }
        self
    }

    /// Notes a part that may be a finding and cannot be read: nothing that comes with it is believed to approve.
    pub(crate) fn doubt(&mut self, text: &str, why: impl Into<String>) {
        self.keep(text, why.into(), true);
    }

    /// Notes a part that is only worth mentioning; it takes no trust away.
    pub(crate) fn note(&mut self, text: &str, why: impl Into<String>) {
        self.keep(text, why.into(), false);
    }

    /// Keeps the first parts. The last slot stands for all that follow, and is a doubt if any of them is one.
    fn keep(&mut self, text: &str, why: String, may_be_finding: bool) {
        if let Some(last) = self.unread.get_mut(UNREAD_MAX - 1) {
            last.may_be_finding |= may_be_finding;
            return;
        }
        // The limit must not become a hiding place: a doubt beyond it still counts.
        let (text, why) = match self.unread.len() + 1 == UNREAD_MAX {
            true => (String::new(), "more could not be read; only the first are kept".to_owned()),
            false => (clip(text.trim(), UNREAD_TEXT_MAX), why),
        };
        self.unread.push(Unread { text, why, may_be_finding });
    }
}

/// A verdict found somewhere in the message.
///
/// Votes that could not be read are kept among them: an unreadable last word must not be passed over for an earlier
/// approval.
#[derive(Clone, Debug)]
pub(crate) struct Vote {
    pub words: String,
    /// The line it stands on; beyond all lines when it is not on one.
    pub at: usize,
    /// `Err` says why the words are not a verdict.
    pub meaning: Result<(Verdict, bool), &'static str>,
}

/// Everything found so far, before it is weighed.
///
/// Readers only add to it. Whether a verdict is believed is decided at the end, in `weigh`, when all readers are done:
/// any of them may have found something that speaks against it.
#[derive(Default)]
pub(crate) struct Draft {
    pub intake: Intake,
    pub votes: Vec<Vote>,
    /// Findings that were answered in two different ways, and so not at all.
    pub contradicted: Vec<FindingId>,
    /// The launch word that is asked for.
    pub word: Option<String>,
    /// Whether the part that is being read carries the word.
    pub carried: Carried,
    /// Some part carries a wrong word, so somebody else may have written into the message.
    pub forged: bool,
    /// Findings that do not say how severe they are.
    pub unstated: Vec<String>,
    /// The line that is being read; beyond all lines when it is not on one.
    pub at: usize,
    /// Lines by which the author takes back what it said before.
    pub corrections: Vec<usize>,
    /// The strictest verdict that was given for a part of the work.
    pub strictest: Option<(Verdict, bool)>,
    /// Words outside of the lines that were taken; an approval must cover them.
    pub left: Vec<(String, Manner)>,
    /// Indexes of findings that stand in an overview; a finding with the same id further on is the same one.
    pub listed: Vec<usize>,
    /// Its frontmatter says that there are no findings.
    pub clean: bool,
    /// How many files the frontmatter lists as read.
    pub read_files: usize,
    /// The files of the change, where they are known.
    pub changed: Vec<String>,
    /// Words about what was checked that did not carry the launch word.
    pub unworded: String,
}

/// Longer words are not read by the covering reader; they are in doubt.
const LEFT_MAX: usize = 64 * 1024;

/// Why a line that loosens does not count.
const WORDLESS: &str = "without the launch word: taken for a quotation, so it does not count";

impl Draft {
    /// Whether the part that is being read may loosen (approve, close a finding). If not, it is noted as a quotation.
    pub fn may_loosen(&mut self, words: &str) -> bool {
        let may = self.word.is_none() || self.carried == Carried::Right;
        if !may {
            self.intake.note(words, WORDLESS);
        }
        may
    }

    /// Records a verdict. Only one that loosens needs the launch word: a rejection counts from anybody.
    pub fn vote(&mut self, words: &str, meaning: Result<(Verdict, bool), &'static str>) {
        let loosens = matches!(meaning, Ok((Verdict::Approve | Verdict::Conditional, _)));
        if loosens && !self.may_loosen(words) {
            return;
        }
        self.intake.worded += usize::from(self.carried == Carried::Right);
        self.votes.push(Vote { words: clip(words.trim(), 300), at: self.at, meaning });
    }

    /// Records an answer; two different answers to the same finding cancel each other.
    pub fn answer(&mut self, id: FindingId, said: Said) {
        // "Still there" needs no word, as it loosens nothing.
        if self.contradicted.contains(&id) || said != Said::StillThere && !self.may_loosen(&id.to_string()) {
            return;
        }
        self.intake.worded += usize::from(self.carried == Carried::Right);
        match self.intake.said.get(&id) {
            Some(before) if !same_answer(before, &said) => {
                // Removed, not kept: the finding then stays open.
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

    /// Records a verdict for a part of the work; the strictest of them bounds the whole.
    pub fn part(&mut self, words: &str, verdict: Verdict, fundamental: bool) {
        self.leave(words);
        // Verdicts are ordered, reject last.
        let stricter = self.strictest.is_none_or(|(before, _)| verdict > before);
        if stricter {
            self.strictest = Some((verdict, fundamental));
        }
    }

    /// Records words that no reader took: an approval must cover them.
    pub fn leave(&mut self, text: &str) {
        self.left.push((clip(text, LEFT_MAX), Manner::Prose));
    }

    /// Records words about what was checked: an approval must cover them, too.
    pub fn evidence(&mut self, text: &str) {
        self.cover(text, Manner::Checked);
    }

    /// Records words that a reader took and did not use.
    ///
    /// An approval must cover them, so that no part of a form is a place where a fault can stand unread.
    pub fn cover(&mut self, text: &str, manner: Manner) {
        if text.chars().any(char::is_alphanumeric) {
            self.left.push((clip(text, LEFT_MAX), manner));
        }
    }

    /// Notes a finding that does not say how severe it is.
    pub fn unstated(&mut self, raw: &str) {
        self.unstated.push(clip(raw.trim(), UNREAD_TEXT_MAX));
        self.intake.note(raw, "no severity given: taken as a warning");
    }

    /// Sets the form; the first reader that recognizes one wins.
    pub fn form(&mut self, form: Form) {
        if self.intake.form == Form::None {
            self.intake.form = form;
        }
    }
}

fn same_answer(a: &Said, b: &Said) -> bool {
    // By kind alone: the reasons of two refutations may differ.
    std::mem::discriminant(a) == std::mem::discriminant(b)
}

/// What a reader knows of the launch that wrote a message.
///
/// The default knows nothing: no word is asked for, and a place in any file counts. Calls over the report socket and
/// files given to `tribunal intake` are read this way; the final message of a launch never is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reading<'a> {
    /// The launch word of the prompt.
    ///
    /// With it, a line that loosens (an approval, evidence, an answer that closes a finding) counts only if it carries
    /// this word. A line with another word voids the message.
    pub word: Option<&'a str>,
    /// The files of the change that was judged; empty when they are not known.
    pub changed: &'a [String],
    /// What evidence may name; `None` when nobody knows what was judged.
    pub judged: Option<&'a Judged>,
}

/// Reads a reviewer's final message in any of the known forms.
pub fn read(text: &str) -> Intake {
    read_damaged(text, Damage::default(), &Reading::default())
}

/// Reads bytes that no launch wrote. Invalid UTF-8 is replaced and noted, and keeps the message from approving.
pub fn read_bytes(bytes: &[u8]) -> Intake {
    read_as(bytes, &Reading::default())
}

/// Reads the final message of a launch.
///
/// Use this, not `read`, wherever a launch word exists: without the word every quoted file could vote.
pub fn read_as(bytes: &[u8], reading: &Reading<'_>) -> Intake {
    if bytes.len() > INPUT_MAX {
        return refused(&format!("{} bytes", bytes.len()), "larger than any message; nothing of it was read");
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => read_damaged(text, Damage::default(), reading),
        Err(_) => read_damaged(&String::from_utf8_lossy(bytes), Damage { utf8: true, nul: false }, reading),
    }
}

fn refused(text: &str, why: &str) -> Intake {
    let mut intake = Intake::default();
    intake.note(text, why);
    intake
}

/// Reads a message whose bytes may be damaged.
///
/// Every message goes this way, whatever it came in by, so that no form has a gentler rule than the others.
fn read_damaged(text: &str, mut damage: Damage, reading: &Reading<'_>) -> Intake {
    if text.len() > INPUT_MAX {
        return refused(&format!("{} bytes", text.len()), "larger than any message; nothing of it was read");
    }
    let (text, found) = clean(text);
    // Damage is remembered beside the cleaned text, as the text no longer shows it.
    damage.nul |= found.nul;
    let (word, changed) = (reading.word.map(str::to_owned), reading.changed.to_vec());
    let mut draft = Draft { word, changed, at: usize::MAX, ..Draft::default() };
    let taken = launch::take_words(&text, reading.word);
    let scan = scan::worded(&taken);
    // Only on the author's own lines: a quoted prompt of another run holds its word, too.
    draft.forged = scan.lines.iter().any(|line| line.kind == Kind::Own && line.word == Carried::Wrong);
    // JSON first: a message that is one JSON value has no prose to read.
    if !json::read_whole(&scan, &mut draft) {
        read_prose(&scan.lines, &mut draft);
        json::read_parts(&scan, &mut draft);
        hear_what_was_swallowed(&scan, &mut draft);
    }
    // Last, because the form is so loose that it would match lines of every other one.
    if draft.votes.is_empty() && draft.intake.findings.is_empty() && draft.intake.form == Form::None {
        compiler::read_as_last_resort(&scan.lines, &mut draft);
    }
    weigh(draft, damage, &scan.lines, reading.judged)
}

/// Lets every reader of prose at the lines, in a fixed order.
fn read_prose(lines: &[Line<'_>], draft: &mut Draft) {
    // Each reader skips what an earlier one took, so the order decides who reads a line that two could read.
    let mut taken = vec![false; lines.len()];
    let front = front::read(lines, &mut taken, draft);
    qa::read(lines, &mut taken, draft);
    blocks::read(lines, &mut taken, draft);
    lines::read(lines, &mut taken, draft);
    xml::read(lines, &mut taken, draft);
    table::read(lines, &mut taken, draft);
    items::read(lines, &mut taken, draft);
    said::read(lines, &mut taken, draft);
    unread::read(lines, &mut taken, draft);
    verdict::read(lines, &mut taken, draft);
    verdict::read_remarks(lines, &mut taken, draft);
    // From here on nothing is read any more; what is left or quoted is only held against the verdict.
    note_what_looks_like_an_answer(lines, draft);
    doubt_what_is_quoted(lines, draft);
    doubt_bare_alarms(lines, draft);
    prose::read(lines, &taken, draft);
    if let Some(front) = front {
        front.settle(draft);
    }
}

/// Hears a verdict that an unclosed fence may have swallowed: a different one in there unsettles what was said.
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

/// Notes verdicts and findings in fences and quotes. They do not count, but they are shown.
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
        // A grave finding is more than a note: authors paste their own findings into fences.
        } else if line.kind == Kind::Fenced && lines::is_grave(line.text) {
            draft.intake.doubt(line.text, "a finding inside a code fence is not taken for this review's own");
        } else if lines::is_tagged(line.text) {
            draft.intake.note(line.text, format!("a finding {place} is not taken for this review's own"));
        }
    }
}

/// Doubts what is folded away or quoted. It is not a verdict, but may be a finding that its author put there.
fn doubt_what_is_quoted(lines: &[Line<'_>], draft: &mut Draft) {
    let (mut folded, mut alert) = (false, false);
    // Below a title of findings, a fence holds findings.
    let mut titled = false;
    for line in lines {
        let text = line.text.trim();
        let lower = text.to_lowercase();
        match line.kind {
            Kind::Own => titled = is_title_of_findings(text),
            Kind::Fenced if titled && tells_in_a_fence(text) => {
                draft.intake.doubt(text, "may be a finding inside a code fence");
            }
            Kind::Fenced if lower.starts_with("```suggestion") => {
                draft.intake.doubt(text, "proposes another text, and does not say how severe it is");
            }
            _ => {}
        }
        // A box ends with its quotation.
        alert &= line.kind == Kind::Quoted && text.starts_with('>');
        if line.kind == Kind::Fenced && names_a_grave_place(text) {
            draft.intake.doubt(text, "may be a finding inside a code fence");
        }
        if line.kind != Kind::Quoted {
            continue;
        }
        // A comment is shown to nobody either.
        let hidden = lower.starts_with("<!--") || lower.ends_with("-->");
        // A reader of the page sees a folded part only on request.
        folded |= lower.starts_with("<details");
        // A code host shows `> [!WARNING]` as a box of the author's own.
        alert |= lower.trim_start_matches(['>', ' ']).starts_with("[!");
        let words = text.trim_start_matches(['>', ' ', '\t']);
        let words = words.strip_prefix("<!--").unwrap_or(words);
        let words = words.strip_suffix("-->").unwrap_or(words).trim();
        let quoted = text.starts_with(['>', '<']) || lower.ends_with("-->");
        if let Some(why) = telling(words, folded || hidden, alert, quoted) {
            draft.intake.doubt(words, why);
        }
        if let Some(after) = after_region(text) {
            draft.leave(after);
        }
        folded &= !lower.contains("</details>");
    }
}

/// Doubts a sign of alarm without a word beside it: no reader takes it for a finding, but its author saw something.
fn doubt_bare_alarms(lines: &[Line<'_>], draft: &mut Draft) {
    for line in lines.iter().filter(|line| line.kind == Kind::Own) {
        let text = crate::text::strip_bullet(line.text).trim();
        // Signs may be written as names between colons, as code hosts do.
        let named = text.split_whitespace().all(|word| {
            word.len() > 2 && word.starts_with(':') && word.ends_with(':')
                || !word.chars().any(char::is_alphanumeric)
        });
        if !text.is_empty() && named && cover::is_alarm(text) {
            draft.intake.doubt(text, "a sign of alarm, and no word about what it is for");
        }
    }
}

/// Why a quoted line may be a finding; `None` if it cannot.
fn telling(words: &str, folded: bool, alert: bool, quoted: bool) -> Option<&'static str> {
    if words.is_empty() || verdict::is_verdict_line(words) || words.starts_with("[!") {
        return None;
    }
    let placed = place::find(words).iter().any(|found| found.lines.is_some());
    let doubtful = |manner| cover::doubtful(words, manner).is_some();
    // A box is the author's own and a folded part nearly so; a quoted line needs more to be in doubt.
    match () {
        () if alert && doubtful(Manner::Prose) => Some("may be a finding in a box"),
        () if folded && (placed && doubtful(Manner::Prose) || doubtful(Manner::Checked)) => {
            Some("may be a finding in a part that is folded away")
        }
        () if quoted && (placed && doubtful(Manner::Prose) || is_marked_grave(words)) => {
            Some("may be a finding in a quotation")
        }
        () => None,
    }
}

/// Whether a text opens with a severity that must be fixed.
fn is_marked_grave(text: &str) -> bool {
    matches!(marks::lead(text), Some(marks::Lead::Of(severity, true, _)) if severity.must_fix())
}

/// Whether a line of a fence below such a title says something that is not plainly harmless.
fn tells_in_a_fence(text: &str) -> bool {
    !text.starts_with(['`', '~'])
        && !check::is_no_item(text)
        && cover::doubtful(text, Manner::Prose).is_some()
}

/// Whether a line titles findings: `## Findings`, `Problems:`.
fn is_title_of_findings(text: &str) -> bool {
    const NAMES: &[&str] =
        &["findings", "issues", "problems", "blockers", "bugs", "defects", "concerns", "must fix"];
    let (title, bare) = match crate::text::heading(text) {
        Some((_, words)) => (words, true),
        None => (text, text.ends_with([':', '：']) || text.starts_with("**")),
    };
    let title = crate::text::plain_words(title.trim_matches(|c: char| !c.is_alphanumeric()));
    bare && NAMES.contains(&title.as_str())
}

/// Whether a fenced line names a place and a grave severity, as in `critical: src/a.rs:4 …`. Neither code nor the
/// output of a command that passed looks so.
fn names_a_grave_place(text: &str) -> bool {
    let Some(found) = place::find(text).into_iter().find(|found| found.lines.is_some()) else { return false };
    let behind = text[found.end..].trim_start_matches([':', ' ', '-', '—']);
    is_marked_grave(text) || found.start == 0 && is_marked_grave(behind)
}

/// What the author says behind the tag that closes a quoted part, on the same line.
fn after_region(text: &str) -> Option<&str> {
    let at = text.rfind("</")?;
    let (name, after) = text[at + 2..].split_once('>')?;
    let tag = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
    (tag && after.chars().any(char::is_alphanumeric)).then_some(after)
}

const DOUBT: &str = "something in it may be a finding and cannot be read";

/// Decides whether the verdict is believed.
///
/// All verdicts that were given must agree, and the last must be one. Then everything that makes the message doubtful
/// takes an approval away; a rejection stands, unless the message is forged.
fn weigh(mut draft: Draft, damage: Damage, lines: &[Line<'_>], judged: Option<&Judged>) -> Intake {
    settle_verdict(&mut draft);
    // Before the doubts are counted, because covering the rest adds some.
    cover_the_rest(&mut draft);
    if draft.forged {
        // "Still there" stays, since it loosens nothing.
        draft.intake.said.retain(|_, said| *said == Said::StillThere);
        draft.intake.checked.clear();
    }
    let intake = &mut draft.intake;
    note_reused_labels(intake);
    // A tool's log may be one long line; but nobody writes a verdict into such a line.
    let approves = intake.verdict.is_some_and(|verdict| verdict != Verdict::Reject);
    let oversized = lines.iter().any(|line| {
        line.kind == Kind::TooLong || approves && line.kind == Kind::Data && line.text.len() > LINE_MAX
    });
    for (broken, why) in [
        (draft.forged, "a line in it carries another word than its launch was given"),
        (damage.utf8 && stands(Defence::Utf8), "the message holds bytes that are not UTF-8"),
        (damage.nul, "the message holds NUL bytes"),
        (oversized, "the message holds a line too long to be read"),
        (intake.in_doubt(), DOUBT),
    ] {
        if broken {
            intake.note("", why);
            // Kept only for this reason: a reviewer can clear up a doubt, but not damage or forgery.
            intake.doubted = intake.verdict.filter(|_| why == DOUBT);
            // A rejection survives damage: believing it costs a round, losing it could let a fault land.
            if intake.verdict.is_some_and(|verdict| verdict != Verdict::Reject || draft.forged) {
                intake.verdict = None;
                intake
                    .note(intake.stated.clone().unwrap_or_default().as_str(), format!("not believed: {why}"));
            }
        }
    }
    let unworded = std::mem::take(&mut draft.unworded);
    weigh_evidence(intake, &unworded, judged);
    if draft.votes.is_empty() && draft.strictest.is_none() {
        note_why_there_is_none(&mut draft.intake, lines);
    }
    draft.intake
}

/// Keeps what was checked where it is evidence; otherwise records what it lacks.
fn weigh_evidence(intake: &mut Intake, unworded: &str, judged: Option<&Judged>) {
    let matter = judged.map(|judged| judged.matter).unwrap_or_default();
    let (line, lack) = match (intake.checked.trim().is_empty(), unworded.trim().is_empty()) {
        (true, true) => return,
        (true, false) => (unworded, Some(Lack::Wordless)),
        (false, _) => (intake.checked.as_str(), checked::lack(&intake.checked, judged)),
    };
    let Some(lack) = lack else { return };
    // On one line, as it is shown inside a message.
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    intake.refused = Some(Refused { lack, matter, line: clip(&line, REFUSED_MAX) });
    intake.checked.clear();
}

/// Holds the rest of the message against an approval: what no reader took must be plainly harmless.
fn cover_the_rest(draft: &mut Draft) {
    if draft.intake.verdict.is_none() {
        // No verdict: there is nothing to cover, but words against the work are remembered.
        return keep_objections(draft);
    }
    let approves = draft.intake.verdict.is_some_and(|verdict| verdict != Verdict::Reject);
    if !approves {
        return;
    }
    // Only a plain approval: a conditional one already expects warnings.
    if draft.intake.verdict == Some(Verdict::Approve) {
        for raw in std::mem::take(&mut draft.unstated) {
            draft.intake.doubt(&raw, "a finding that does not say how severe it is");
        }
    }
    // A suggestion does not stop an approval, so calling a hole a suggestion would hide it.
    let grave = |claim: &&Claim| claim.severity == Severity::Suggestion && prose::is_grave(&claim.claim);
    let graves: Vec<String> =
        draft.intake.findings.iter().filter(grave).map(|claim| claim.claim.clone()).collect();
    for claim in graves {
        draft.intake.doubt(&claim, "called a suggestion, and tells of something grave");
    }
    for (text, manner) in std::mem::take(&mut draft.left) {
        if let Some(part) = cover::doubtful(&text, manner) {
            let why = match manner {
                Manner::Prose | Manner::Tail => {
                    "may be a finding: it is in no form that is known, and not plainly harmless"
                }
                Manner::Checked if checked::is_nothing(&text) => {
                    "what was checked says that nothing was done"
                }
                Manner::Checked | Manner::List => {
                    "what was checked may tell of a fault: say first what was read or run, then what it showed"
                }
            };
            draft.intake.doubt(part, why);
        }
    }
}

/// Keeps words against the work that came without a verdict: whoever said them does not approve next.
///
/// An answer that says nothing of the kind, an empty or a broken-off one, binds nobody.
fn keep_objections(draft: &mut Draft) {
    let broken: Vec<String> = draft.intake.unread.iter().map(|unread| unread.text.clone()).collect();
    let left: Vec<String> = std::mem::take(&mut draft.left).into_iter().map(|(text, _)| text).collect();
    // Broken parts, too: a truncated answer may already have said what is wrong.
    for text in left.iter().chain(&broken) {
        if let Some(part) = cover::objection(text) {
            draft.intake.doubt(part, "speaks against the work, and came without a verdict");
        }
    }
}

/// Notes why there is no verdict: without one there is always a reason to show.
fn note_why_there_is_none(intake: &mut Intake, lines: &[Line<'_>]) {
    let why = match intake.form {
        Form::Sarif | Form::Compiler => "no verdict: what a tool reports has none",
        _ if lines.iter().all(|line| line.kind == Kind::Blank) => "no verdict: the message is empty",
        _ => "no verdict: no line of its own says `VERDICT: approve`, `conditional` or `reject`",
    };
    let like = lines.iter().find(|line| line.kind == Kind::Own && verdict::is_like_one(line.text));
    intake.note(like.map_or("", |line| line.text), why);
}

/// Notes an id of the author's that stands for two findings: it then stands for neither, and both are kept.
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

/// Makes one verdict of all that were given, or none.
fn settle_verdict(draft: &mut Draft) {
    let last = match (draft.votes.last().cloned(), draft.strictest) {
        (Some(last), _) => last,
        (None, Some((verdict, fundamental))) => {
            Vote { words: verdict.to_string(), at: usize::MAX, meaning: Ok((verdict, fundamental)) }
        }
        (None, None) => return,
    };
    let intake = &mut draft.intake;
    intake.stated = Some(last.words.clone());
    // A rejection that says it corrects the verdict before it stands alone; an approval never takes a rejection back.
    let rejects = matches!(last.meaning, Ok((Verdict::Reject, _)));
    let corrected =
        |vote: &&Vote| !rejects || !draft.corrections.iter().any(|line| vote.at < *line && *line <= last.at);
    let mut known = draft.votes.iter().filter(corrected).filter_map(|vote| vote.meaning.ok());
    let first = known.next();
    let contradiction = known.find(|vote| first.is_some_and(|first| vote.0 != first.0));
    if let (Some(first), Some(other)) = (first, contradiction.filter(|_| stands(Defence::OneVerdict))) {
        intake.note(&last.words, format!("two verdicts contradict each other: {} and {}", first.0, other.0));
        return;
    }
    match last.meaning {
        Ok((verdict, fundamental)) => {
            // A part that was judged more strictly bounds the whole.
            let (verdict, fundamental) = match draft.strictest {
                Some(part) if part.0 > verdict => part,
                _ => (verdict, fundamental),
            };
            intake.verdict = Some(verdict);
            intake.fundamental = fundamental;
        }
        Err(why) => intake.note(&last.words, format!("no verdict: {why}")),
    }
}

/// The place that a text is, if it is nothing else.
pub(crate) fn whole_place(text: &str) -> Option<place::Found> {
    let found = place::first(text)?;
    let rest = [&text[..found.start], &text[found.end..]].concat();
    (!rest.chars().any(char::is_alphanumeric)).then_some(found)
}

/// Makes a claim of loose text: the first line is the claim, the rest its details.
pub(crate) fn claim_of(severity: Severity, text: &str) -> Claim {
    let (first, rest) = claim_words(text);
    let mut claim = Claim::new(severity, first);
    claim.details = rest;
    claim
}

/// Splits loose text into the claim and its details.
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
