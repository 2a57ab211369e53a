//! Reads findings as people list them: items of nested lists, headings with a body, lines that open with a place or a
//! severity, grouped by file or by severity.
//!
//! One reader takes all of them, because they differ only in where a finding begins and what belongs to it; `head` says
//! what one line holds. When in doubt a line begins a finding: one too many is seen and refuted, one too few is lost.

use super::cover::Manner;
use super::head::{self, Head, head, is_dismissed, is_image, label};
use super::launch::Carried;
use super::lines::{append, pipe_fields, set_place};
use super::place;
use super::scan::{Kind, Line};
use super::{Draft, Form, claim_of, said, verdict};
use crate::text::{bare, clip, field, heading, is_bullet, plain_words, strip_bullet};
use crate::words;
use tribunal_core::finding::{Claim, Severity};

/// The part of the message that is being read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Section {
    /// Prose, outside of any list of findings.
    Outside,
    /// Below `FINDINGS:`, `Review comments:` and the like.
    Findings,
    /// Below a heading such as `Blockers`.
    Of(Severity),
    /// Below a heading that names something else: what was checked, strengths, next steps.
    Other,
}

/// How far a finding goes on.
#[derive(Clone, Copy, PartialEq)]
enum Style {
    /// Up to the next heading.
    Heading,
    /// As long as lines are indented deeper.
    Item,
    /// Up to the end of the paragraph.
    Paragraph,
    /// As long as lines are fields that it does not have yet.
    Record,
}

/// A finding that is still being read.
struct Open {
    /// It has the form of a compiler's line.
    compiler: bool,
    style: Style,
    depth: usize,
    raw: String,
    severity: Option<Severity>,
    place: Option<String>,
    label: Option<String>,
    claim: String,
    details: String,
    suggestion: String,
    evidence: String,
    confidence: Option<u8>,
    /// The field that the next loose line continues.
    last: Part,
}

/// The field of a finding that a loose line continues.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Details,
    Suggestion,
    Closed,
}

/// The reader's state between two lines.
pub(super) struct Items<'d> {
    draft: &'d mut Draft,
    section: Section,
    /// The file whose findings are listed, and how deep its own line is indented.
    file: Option<(String, usize)>,
    open: Option<Open>,
    blank: bool,
}

/// Reads all findings that are listed, and marks their lines as taken.
pub(crate) fn read(lines: &[Line<'_>], taken: &mut [bool], draft: &mut Draft) {
    let mut items = Items { draft, section: Section::Outside, file: None, open: None, blank: false };
    for at in 0..lines.len() {
        let line = &lines[at];
        if taken[at] {
            items.close();
            continue;
        }
        match line.kind {
            Kind::Blank => items.blank = true,
            // A stack trace names places like findings do.
            Kind::Own if is_trace(line.text) => items.close(),
            Kind::Own => {
                taken[at] = items.line(line, &lines[at + 1..]);
                items.blank = false;
            }
            Kind::Fenced => taken[at] = items.fenced(line.text),
            Kind::Quoted => taken[at] = items.quoted(line.text),
            Kind::Data | Kind::TooLong => items.close(),
        }
    }
    items.close();
}

/// Columns of indentation. A tab counts as four, as lists are often indented by either.
fn indent(text: &str) -> usize {
    let mut columns = 0;
    for byte in text.bytes() {
        match byte {
            b' ' => columns += 1,
            b'\t' => columns += 4,
            _ => break,
        }
    }
    columns
}

/// Whether a program printed this line when it died: it names places of the program, not of the work.
pub(super) fn is_trace(text: &str) -> bool {
    let line = text.trim();
    let frame = line.starts_with("File \"") && line.contains("\", line ");
    frame || line.starts_with("Traceback (most recent call last)") || line.starts_with("stack backtrace:")
}

/// Whether a line says something other than a finding: a verdict, a remark, an answer.
fn is_keyed(text: &str) -> bool {
    verdict::is_verdict(text) || verdict::is_remark(text) || said::is_answer(text)
}

impl Items<'_> {
    /// Reads one of the author's own lines; returns whether it was taken.
    fn line(&mut self, line: &Line<'_>, after: &[Line<'_>]) -> bool {
        let text = line.text;
        // A line with the launch word is never part of a finding, whatever it looks like.
        if is_keyed(text) || line.word == Carried::Right {
            self.close();
            self.section = Section::Outside;
            return false;
        }
        let depth = indent(text);
        // The open finding is asked first: inside of it, a field or an item does not begin another.
        if self.open.is_some() && (self.is_told_below(text) || self.takes_field(text, depth)) {
            return true;
        }
        if self.opens_record(text, depth, after) {
            return true;
        }
        if let Some(section) = label(text, after) {
            self.close();
            if let Some(words) = in_brackets(text) {
                self.draft.cover(words, Manner::Tail);
            }
            self.section = section;
            // A file's findings may be sorted by severity below it, but not under strengths.
            self.file = self.file.take().filter(|_| section != Section::Other);
            return !matches!(section, Section::Other | Section::Outside);
        }
        if self.takes_file(text, depth) {
            return true;
        }
        let head = head(text, self.file.is_some());
        let starts = self.starts(text, &head, after);
        if self.goes_on(text, depth, &head, starts) {
            return true;
        }
        self.close();
        if starts {
            self.begin(text, depth, head);
            return true;
        }
        // "None" below a title of findings is an answer, not a leftover.
        if words::is_nothing(strip_bullet(text)) && self.section != Section::Outside {
            return true;
        }
        if heading(text).is_some() || !is_bullet(text) {
            self.section = Section::Outside;
        }
        false
    }

    /// Whether a line begins a finding.
    ///
    /// A severity or an exact place is evidence enough almost anywhere; a plain item only below a title of findings.
    /// Below other titles, such as what was checked, it takes both.
    fn starts(&self, text: &str, head: &Head, after: &[Line<'_>]) -> bool {
        let item = is_bullet(text);
        let titled = heading(text).is_some();
        if is_image(text) {
            return head.severity.is_some();
        }
        // `Blockers: none` is an answer.
        let empty = words::is_nothing(&head.rest) && head.place.is_none() && head.lines.is_none();
        // A heading with its own id is a finding whatever it says, even praise by its words.
        if head.label.is_some() && titled && !empty {
            return true;
        }
        // Counts, praise and dismissed questions carry severities, too.
        if head.praise || is_dismissed(text) || empty || head.leads && is_count(&head.rest) {
            return false;
        }
        let placed = head.place.as_ref().is_some_and(|place| place.lines.is_some()) || head.lines.is_some();
        if self.section == Section::Other {
            return head.sure || head.severity.is_some() && placed;
        }
        let listed = matches!(self.section, Section::Findings | Section::Of(_));
        match head.severity {
            None if head.sure => head.has_words() || placed,
            Some(_) if titled => {
                (head.leads || placed && head.leads_with_place) && (head.has_words() || placed)
            }
            Some(_) => {
                let opens = head.place.is_some() && head.leads_with_place;
                (item || head.sure || placed || opens) && (head.has_words() || placed)
            }
            None if titled => head.lines.is_some() && self.file.is_some(),
            None if item => {
                (listed && (head.has_words() || placed))
                    || placed && head.leads_with_place
                    || has_fields_below(text, after)
                    || self.file.is_some() && head.lines.is_some()
            }
            None => {
                placed && (head.leads_with_place || listed && is_bold_title(text)) && head.has_words()
                    || head.lines.is_some() && self.file.is_some()
            }
        }
    }

    /// Takes a line below a heading with its own id: everything up to the next heading or rule tells of that one
    /// finding.
    fn is_told_below(&mut self, text: &str) -> bool {
        let labelled = |open: &Open| open.label.is_some() && open.style == Style::Heading;
        if !self.open.as_ref().is_some_and(labelled) || heading(text).is_some() {
            return false;
        }
        if head::is_underline(text) {
            self.close();
            return true;
        }
        if self.takes_field(text, 1) {
            return true;
        }
        let Some(open) = &mut self.open else { return false };
        append(&mut open.raw, text);
        open.add(strip_bullet(text), &head(text, false));
        true
    }

    /// Opens a finding that is a record of fields, each on its own line with nothing above: `Severity: high`, `File:
    /// a.rs`, `Description: …`.
    fn opens_record(&mut self, text: &str, depth: usize, after: &[Line<'_>]) -> bool {
        let name_of = |text: &str| field(text).and_then(|(key, _)| field_name(&plain_words(&key)));
        let Some(name) = name_of(text).filter(|name| matches!(*name, "place" | "severity" | "issue")) else {
            return false;
        };
        // A single field is a sentence with a colon; a record needs a place, a severity and words within a few lines.
        let below = after.iter().take(4).take_while(|line| line.kind == Kind::Own);
        let names: Vec<&str> = below.map_while(|line| name_of(line.text)).collect();
        let has = |wanted: &str| name == wanted || names.contains(&wanted);
        let told = has("issue") || has("details");
        if !told || !(has("place") && (has("severity") || has("lines"))) {
            return false;
        }
        self.close();
        self.begin(text, depth, Head::default());
        if let (Some(open), Some((_, value))) = (&mut self.open, field(text)) {
            (open.style, open.place) = (Style::Record, None);
            open.set(name, value.trim());
        }
        true
    }

    /// Opens a finding at this line; its style says how far it goes on.
    fn begin(&mut self, text: &str, depth: usize, head: Head) {
        let style = match () {
            () if heading(text).is_some() || is_image(text) => Style::Heading,
            () if is_bullet(text) => Style::Item,
            () => Style::Paragraph,
        };
        let place = self.place_of(&head, depth);
        let section = match self.section {
            // The heading's severity is the default for its items.
            Section::Of(severity) => Some(severity),
            _ => None,
        };
        let compiler = head.leads_with_place && !head.leads && self.section == Section::Outside;
        self.open = Some(Open {
            compiler,
            style,
            depth,
            raw: text.to_owned(),
            severity: head.severity.or(section),
            place,
            label: head.label,
            claim: head.rest,
            details: String::new(),
            suggestion: String::new(),
            evidence: String::new(),
            confidence: None,
            last: Part::Details,
        });
    }

    /// The place a line names, or its lines in the file that is being listed.
    fn place_of(&self, head: &Head, depth: usize) -> Option<String> {
        let named = head.place.as_ref().map(place::Found::spelled);
        named.or_else(|| {
            let (file, of) = self.file.as_ref()?;
            // A finding at the depth of the file's line is not below it.
            let inside = depth > *of || *of == 0;
            let lines = head.lines.map(|(first, last)| format!("{file}:{first}-{last}"));
            inside.then(|| lines.unwrap_or_else(|| file.clone()))
        })
    }

    /// Takes a line that is nothing but a file: what follows is about it.
    fn takes_file(&mut self, text: &str, depth: usize) -> bool {
        let words = heading(text).map_or_else(|| strip_bullet(text), |(_, words)| words);
        let named = match field(words) {
            Some((key, value))
                if matches!(plain_words(&key).as_str(), "file" | "path" | "datei" | "archivo") =>
            {
                value
            }
            _ => words,
        };
        // The open finding still lacks its place, so the file is its own and begins no list.
        let waiting = self.open.as_ref().is_some_and(|open| open.place.is_none() && depth > open.depth);
        let plain = text.trim().trim_end_matches(':');
        let bold = plain.len() > 4 && plain.starts_with("**") && plain.ends_with("**");
        let marked = heading(text).is_some() || is_bullet(text) || bold || named.len() != words.len();
        let Some(found) = place::first(named).filter(|_| marked && !waiting) else { return false };
        let beside = [&named[..found.start], &named[found.end..]].concat();
        let told = |c: char| c.is_alphanumeric() || matches!(c, '!' | '?' | '！' | '？');
        let alone = !beside.chars().any(told) && found.lines.is_none();
        if alone {
            self.close();
            self.file = Some((found.path, depth));
        }
        alone
    }

    /// Takes a named field of the open finding.
    fn takes_field(&mut self, text: &str, depth: usize) -> bool {
        let blank = self.blank;
        let Some(open) = &mut self.open else { return false };
        let inside = match open.style {
            Style::Heading => heading(text).is_none(),
            Style::Item => depth > open.depth,
            Style::Paragraph => !blank || open.is_empty(),
            Style::Record => !blank,
        };
        let Some((key, value)) = field(text).filter(|_| inside) else { return false };
        let Some(name) = field_name(&plain_words(&key)) else { return false };
        // A second severity or place begins the next record.
        if open.style == Style::Record && open.has(name) {
            return false;
        }
        append(&mut open.raw, text);
        open.set(name, value.trim());
        true
    }

    /// Takes a line that belongs to the open finding.
    ///
    /// Each style ends differently: a heading's body at the next heading, an item's with its indentation, a paragraph
    /// at a blank line.
    fn goes_on(&mut self, text: &str, depth: usize, head: &Head, starts: bool) -> bool {
        let blank = self.blank;
        let Some(open) = &mut self.open else { return false };
        // A line with nothing but the place, or the lines, that the finding still lacks.
        let exact = |place: &place::Found| place.lines.is_some() && !head.has_words();
        let vague = open.place.as_deref().is_some_and(|place| !place.contains(':'));
        let lacks = head.place.as_ref().is_some_and(|place| open.place.is_none() || vague && exact(place));
        let only_place = lacks && !head.has_words() && head.severity.is_none();
        // An exact place replaces a file that was only mentioned.
        if only_place && vague {
            open.place = None;
        }
        let inside = match open.style {
            Style::Heading => {
                heading(text).is_none() && !is_image(text) && (!starts || lacks && head.severity.is_none())
            }
            Style::Item => {
                depth > open.depth
                    && (!starts || head.severity.is_none() || open.claim.is_empty())
                    // After a gap, an item is a finding of its own, or nothing.
                    && (!blank || !is_bullet(text) || lacks)
                    || only_place && !starts
            }
            Style::Paragraph => {
                (!blank || open.is_empty()) && !starts && !is_bullet(text) && heading(text).is_none()
            }
            Style::Record => !blank && open.last == Part::Details && !starts,
        };
        if inside {
            append(&mut open.raw, text);
            open.add(strip_bullet(text), head);
        }
        inside
    }

    /// Takes a fence below a finding, which shows its code or how to fix it.
    fn fenced(&mut self, text: &str) -> bool {
        let Some(open) = &mut self.open else { return false };
        // Code below a fix is the fix; elsewhere it is the faulty code, which the tree has already.
        if open.last == Part::Suggestion {
            append(&mut open.suggestion, text);
        }
        true
    }

    /// Takes `> src/a.rs` and `> Comment on lines +3 to +9`, as a code host prints the head of a comment.
    fn quoted(&mut self, text: &str) -> bool {
        if self.open.as_ref().is_some_and(|open| open.label.is_some() && open.style == Style::Heading) {
            return self.takes_place(text) || self.is_told_below(text);
        }
        if !text.trim_start().starts_with('>') {
            // A path in code marks is not a quotation.
            return self.takes_place(text) || self.takes_file(text, indent(text));
        }
        let words = text.trim_start_matches(['>', ' ', '\t']);
        let lower = words.to_lowercase();
        if let Some(at) = lower.strip_prefix("comment on line") {
            let digits = at.trim_start_matches(|c: char| !c.is_ascii_digit());
            let Some(((first, last), _)) = place::numbers(digits) else { return false };
            let Some(place) = self.open.as_mut().and_then(|open| open.place.as_mut()) else { return false };
            *place = format!("{place}:{first}-{last}");
            return true;
        }
        let found =
            place::first(words).filter(|found| found.start == 0 && found.end == words.trim_end().len());
        // An ordinary quotation ends the finding above it.
        let Some(found) = found else {
            self.close();
            return false;
        };
        self.close();
        self.begin(text, 0, Head { place: Some(found), ..Head::default() });
        if let Some(open) = &mut self.open {
            open.style = Style::Heading;
        }
        true
    }

    /// Takes a line of code that is nothing but the place that the open finding still lacks.
    fn takes_place(&mut self, text: &str) -> bool {
        let Some(open) = self.open.as_mut().filter(|open| open.place.is_none()) else { return false };
        let words = bare(strip_bullet(text));
        let whole = |found: &place::Found| found.start == 0 && found.end == words.len();
        let Some(found) = place::first(words).filter(whole) else { return false };
        open.place = Some(found.spelled());
        true
    }

    /// Ends the open finding. One without words is a doubt, not nothing.
    fn close(&mut self) {
        let Some(mut open) = self.open.take() else { return };
        open.cut_fields();
        let mut claim = claim_of(open.severity.unwrap_or(Severity::Warning), open.words());
        // Only a place or a severity is left.
        if !claim.claim.chars().any(char::is_alphabetic) {
            if open.place.is_some() || open.severity.is_some() {
                self.draft.intake.doubt(&open.raw, "a finding without an issue says nothing");
            }
            return;
        }
        self.draft.form(if open.compiler { Form::Compiler } else { Form::Plain });
        if let Some(place) = &open.place {
            set_place(&mut claim, place, self.draft);
        }
        open.finish(&mut claim);
        if open.severity.is_none() {
            self.draft.unstated(&open.raw);
        }
        self.push(claim, open.style);
    }

    /// Keeps a finding. An overview and the details under the same id are one finding.
    ///
    /// Without this a review that lists its findings and then details them would count each twice.
    fn push(&mut self, claim: Claim, style: Style) {
        let draft = &mut *self.draft;
        let same = |before: &Claim| before.label.is_some() && before.label == claim.label;
        let known = draft.intake.findings.iter().position(same);
        let overview = |at: &usize| style == Style::Heading && draft.listed.contains(at);
        if let Some(at) = known.filter(overview) {
            let before = std::mem::replace(&mut draft.intake.findings[at], claim);
            let claim = &mut draft.intake.findings[at];
            if claim.file.is_none() {
                (claim.file, claim.line, claim.end) = (before.file, before.line, before.end);
            }
            // The graver of the two: an overview must not be toned down by its details, nor the other way round.
            claim.severity = claim.severity.max(before.severity);
            draft.listed.retain(|listed| *listed != at);
            return;
        }
        let of_form =
            claim.label.as_deref().is_some_and(|label| head::own_id(&format!("{label}:")).is_some());
        if style != Style::Heading && of_form {
            if let Some(at) = known.filter(|at| !draft.listed.contains(at)) {
                // A summary behind the details repeats an id; it adds words and no finding.
                return append(&mut draft.intake.findings[at].details, &claim.claim);
            }
            draft.listed.push(draft.intake.findings.len());
        }
        draft.intake.findings.push(claim);
    }
}

/// Whether this is a number of findings and not a finding: `3`, `2 | Warning: 4`, `1 (CR-01)`, `2 found`.
fn is_count(rest: &str) -> bool {
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let after = rest[digits..].trim_start();
    let word = plain_words(after.split(|c: char| !c.is_alphabetic()).next().unwrap_or(""));
    digits > 0
        && (after.is_empty()
            || after.starts_with(['|', '(', ',', ';', '/', '·', '•', '—', '–'])
            || matches!(
                word.as_str(),
                "found" | "open" | "total" | "remaining" | "issues" | "findings" | "new"
            ))
}

/// Whether a bold title goes on with its place: `**1. title** (src/a.rs:3)`.
fn is_bold_title(text: &str) -> bool {
    let inner = text.trim_start().strip_prefix("**").and_then(|rest| rest.split_once("**"));
    inner.is_some_and(|(title, _)| !title.ends_with(':') && title.split_whitespace().count() > 1)
}

/// The text in the brackets of a line, from the first one to the last.
fn in_brackets(text: &str) -> Option<&str> {
    let start = text.find(['(', '（'])?;
    let end = text.rfind([')', '）']).filter(|end| *end > start).unwrap_or(text.len());
    Some(text[start..end].trim_start_matches(['(', '（']))
}

/// The name under which a field of a listed finding is kept, from any of its usual names.
fn field_name(key: &str) -> Option<&'static str> {
    Some(match key {
        "file" | "files" | "path" | "location" | "where" | "place" | "datei" | "archivo" | "ort"
        | "dónde" | "文件" | "位置" | "ファイル" | "場所" => "place",
        "line" | "lines" | "zeile" | "zeilen" | "línea" | "líneas" | "行" | "行号" => "lines",
        "severity" | "level" | "priority" | "prio" | "impact" | "schweregrad" | "gravedad" | "severidad"
        | "严重程度" | "级别" | "重要度" => "severity",
        "issue" | "problem" | "title" | "claim" | "what" | "finding" | "bug" | "问题" | "問題" => "issue",
        "details" | "detail" | "description" | "why" | "reason" | "explanation" | "warum" | "por qué"
        | "原因" | "理由" => "details",
        "fix" | "suggestion" | "suggested fix" | "suggested change" | "recommendation" | "how to fix"
        | "lösung" | "solución" | "corrección" | "修复" | "修正" | "建议" | "対応" => "fix",
        "confidence" => "confidence",
        "evidence" | "proof" => "evidence",
        _ => return None,
    })
}

/// Whether the lines below an item are fields of a finding, or the place of one.
fn has_fields_below(text: &str, after: &[Line<'_>]) -> bool {
    let depth = indent(text);
    let mut below = after.iter().filter(|line| line.kind != Kind::Blank);
    let Some(next) = below.next().filter(|line| line.kind == Kind::Own) else { return false };
    let named = |line: &Line<'_>| {
        let name = field(line.text).and_then(|(key, _)| field_name(&plain_words(&key)));
        name.is_some_and(|name| matches!(name, "place" | "lines" | "severity"))
    };
    let link = || {
        let words = bare(next.text);
        place::first(words)
            .is_some_and(|found| found.start == 0 && found.end == words.len() && words.contains("://"))
    };
    let deeper = |line: &Line<'_>| line.kind == Kind::Own && indent(line.text) > depth;
    link() || deeper(next) && (named(next) || below.take(3).take_while(|line| deeper(line)).any(named))
}

impl Open {
    /// Moves fields that stand on the line itself, as in `… | suggestion: …`, to their places.
    fn cut_fields(&mut self) {
        let fields = pipe_fields(&self.claim);
        if fields.len() < 2 {
            return;
        }
        self.claim.clear();
        for (key, value) in fields {
            match field_name(&key) {
                Some(name) => self.set(name, &value),
                None => append(&mut self.details, &value),
            }
        }
    }

    /// Whether it says nothing yet.
    fn is_empty(&self) -> bool {
        self.claim.trim().is_empty() && self.details.trim().is_empty()
    }

    /// Whether a field with this name was already given.
    fn has(&self, name: &str) -> bool {
        match name {
            "place" => self.place.as_deref().is_some_and(|place| !place.starts_with(':')),
            // A severity may stand in front of its finding; only behind words does a second one begin another.
            "severity" => self.severity.is_some() && !self.is_empty(),
            "issue" => !self.claim.trim().is_empty() && self.place.is_some(),
            _ => false,
        }
    }

    fn words(&self) -> &str {
        let first = self.claim.trim();
        if first.is_empty() { self.details.trim() } else { first }
    }

    /// Sets a field. The first issue is the claim, and any further one belongs to the details.
    fn set(&mut self, name: &str, value: &str) {
        self.last = Part::Closed;
        match name {
            "place" => {
                let found = place::first(value);
                let lines =
                    // Lines may come before their file; they wait as `:3-9`.
                    self.place.as_deref().and_then(|place| place.strip_prefix(':')).map(str::to_owned);
                let spelled = found.map_or_else(|| bare(value).to_owned(), |found| found.spelled());
                self.place = Some(match lines {
                    Some(lines) => format!("{spelled}:{lines}"),
                    None => spelled,
                });
            }
            "lines" => self.set_lines(value),
            "severity" => {
                let word = value.split([',', ';', '(', '.', '—']).next().unwrap_or(value);
                self.severity = super::marks::word(word).or(self.severity);
            }
            "issue" if self.claim.trim().is_empty() => self.claim = value.to_owned(),
            "issue" | "details" => {
                append(&mut self.details, value);
                self.last = Part::Details;
            }
            "fix" => {
                append(&mut self.suggestion, value);
                self.last = Part::Suggestion;
            }
            "confidence" => self.confidence = words::confidence(value),
            _ => append(&mut self.evidence, value),
        }
    }

    fn set_lines(&mut self, value: &str) {
        let digits = value.trim_start_matches(|c: char| !c.is_ascii_digit());
        let Some(((first, last), _)) = place::numbers(digits) else { return };
        let file = self.place.as_deref().map_or("", |place| place.split(':').next().unwrap_or(""));
        self.place = Some(format!("{file}:{first}-{last}"));
    }

    /// Adds a loose line to whatever it belongs to.
    fn add(&mut self, text: &str, head: &Head) {
        if self.place.is_none() {
            self.place = head.place.as_ref().map(place::Found::spelled);
        }
        if self.severity.is_none() {
            self.severity = head.severity;
        }
        if self.claim.trim().is_empty() {
            self.claim = head.rest.clone();
        } else if self.last == Part::Suggestion {
            append(&mut self.suggestion, text);
        } else if head.has_words() {
            append(&mut self.details, text);
        }
    }

    fn finish(&self, claim: &mut Claim) {
        if !self.claim.trim().is_empty() && !self.details.is_empty() {
            append(&mut claim.details, &self.details);
        }
        append(&mut claim.suggestion, &self.suggestion);
        append(&mut claim.evidence, &self.evidence);
        claim.label = self.label.as_deref().map(|label| clip(label, 100));
        if let Some(confidence) = self.confidence {
            (claim.confidence, claim.confidence_stated) = (confidence, true);
        }
    }
}
