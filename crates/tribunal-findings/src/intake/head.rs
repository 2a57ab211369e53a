//! Reads what one line of a list or one heading holds: a severity, a place, the reviewer's own id, and the words that
//! are left.
//!
//! It knows nothing of the lines around it, except what a heading announces. The order in which parts are cut off
//! matters, since each cut exposes the next: id, lines, severity, place, severity behind the place.

use super::items::Section;
use super::marks::{self, Lead};
use super::place::{self, Found};
use super::scan::{Kind, Line};
use crate::text::{bare, field, heading, is_bullet, plain_words, strip_bullet};
use crate::words;
use tribunal_core::finding::Severity;

/// The parts of one line.
///
/// A line is taken apart once, and the reader of lists decides by the parts whether it begins a finding.
#[derive(Clone, Debug, Default)]
pub(super) struct Head {
    pub severity: Option<Severity>,
    /// The mark can mean nothing but a severity.
    pub sure: bool,
    /// The severity stands in front.
    pub leads: bool,
    pub place: Option<Found>,
    /// The place stands in front.
    pub leads_with_place: bool,
    /// Lines without a file, as in `L44: …`.
    pub lines: Option<(u32, u32)>,
    /// The reviewer's own id, as in `CR-01`.
    pub label: Option<String>,
    /// The line praises something, so it is not a finding.
    pub praise: bool,
    /// The words that are left.
    pub rest: String,
}

impl Head {
    pub fn has_words(&self) -> bool {
        self.rest.chars().any(char::is_alphabetic)
    }
}

/// Takes a line apart. `in_file` says that a file is being listed, so that `12: …` may be a line of it.
pub(super) fn head(text: &str, in_file: bool) -> Head {
    let words = heading(text).map_or_else(|| strip_bullet(text), |(_, words)| strip_bullet(words));
    // A number inside the bold: `**1. title**`.
    let words = words
        .strip_prefix("**")
        .map(strip_bullet)
        .filter(|bold| bold.len() + 2 < words.len())
        .unwrap_or(words);
    let mut head = Head::default();
    let mut rest = words.trim();
    // Only a heading may leave out the colon behind an id: in a sentence the letters may name something else.
    let titled = heading(text).is_some();
    if let Some((label, severity, after)) = own_id(rest).or_else(|| loose_id(rest).filter(|_| titled)) {
        (head.label, head.severity, rest) = (Some(label), severity, after);
        head.leads = severity.is_some();
    }
    if let Some((lines, after)) = line_lead(rest, in_file) {
        (head.lines, rest) = (Some(lines), after);
    }
    match marks::lead(rest) {
        Some(Lead::Of(severity, sure, after)) => {
            // `issue: …` opens a finding without saying how severe it is.
            let stated = (!marks::names_a_fault(rest)).then_some(severity);
            // The letters of an id say how severe it is; a word behind it is part of the title.
            if head.severity.is_none() {
                (head.severity, head.sure, rest) = (stated, sure || stated.is_none(), after);
            }
            head.leads = true;
        }
        Some(Lead::Praise) => head.praise = true,
        None => {}
    }
    // A badge has its severity in the alternative text, and nothing else of it is words.
    if is_image(words) {
        head.severity = image_severity(words);
        head.sure = head.severity.is_some();
        rest = words.split_once(')').map_or("", |(_, after)| after);
    }
    // Lines behind the severity: `[blocker] lines 3-9: …`.
    if head.lines.is_none()
        && head.leads
        && let Some((lines, after)) = line_lead(rest, in_file)
    {
        (head.lines, rest) = (Some(lines), after);
    }
    if let Some((severity, after)) = marks::shouted(rest).filter(|_| head.severity.is_none()) {
        (head.severity, head.leads, rest) = (Some(severity), true, after);
    }
    let mut rest = rest.to_owned();
    if let Some((severity, without)) = marks::within(&rest).filter(|_| head.severity.is_none()) {
        (head.severity, rest) = (Some(severity), without);
    }
    head.place = place::first(&rest);
    if let Some(found) = &head.place {
        let before = marks::after_group(&rest[..found.start]);
        head.leads_with_place = !before.chars().any(char::is_alphanumeric);
        rest = without_place(&rest, found);
        // The severity behind the place: `src/a.rs:3: error: …`.
        if head.severity.is_none()
            && let Some(Lead::Of(severity, sure, after)) = marks::lead(&rest)
        {
            (head.severity, head.sure, rest) = (Some(severity), sure, after.to_owned());
        }
    }
    if let Some(severity) = marks::only(&rest) {
        (head.severity, rest) = (severity.or(head.severity), String::new());
    }
    head.rest = tidy(&rest).to_owned();
    head
}

fn tidy(rest: &str) -> &str {
    let rest =
        rest.trim_matches(|c: char| c.is_whitespace() || matches!(c, '—' | '–' | '|' | ':' | '：' | '*'));
    rest.strip_prefix("- ").unwrap_or(rest)
}

/// The text without its place, where the place stands beside the words and not among them.
fn without_place(text: &str, found: &Found) -> String {
    let (before, after) = (&text[..found.start], &text[found.end..]);
    let open = before.trim_end_matches(['`', '*', '_', '[', '(', '（', '"', ' ']);
    let close = after.trim_start_matches(['`', '*', '_', ']', ')', '）', '"']);
    let enclosed = before.trim_end_matches(['`', '*', '_']).ends_with(['(', '[', '（']);
    let lettered = |text: &str| text.chars().any(char::is_alphabetic);
    // Words on both sides: the sentence needs its place.
    if lettered(open) && lettered(close) && !enclosed {
        return text.to_owned();
    }
    // `passwords in init.sql`, `src/a.rs uses …`: the place is part of the sentence.
    let joint = ["in", "of", "at", "for", "from", "to", "on", "by", "with", "and", "the"];
    let joined = open.len() == before.trim_end_matches(['`', ' ']).len()
        && open.split_whitespace().next_back().is_some_and(|word| joint.contains(&word));
    let goes_on = found.lines.is_none()
        && !lettered(open)
        && close.strip_prefix(' ').is_some_and(|close| close.starts_with(|c: char| c.is_ascii_lowercase()));
    if joined && !lettered(close) || goes_on {
        return text.to_owned();
    }
    let open = open.trim_end_matches([' ', '—', '–', '-', ',', ':']);
    let close = close.trim_start_matches([' ', ':', '：', '—', '–', ',']);
    let close = close.strip_prefix("- ").unwrap_or(close);
    match (lettered(open), lettered(close)) {
        (true, true) => format!("{open}: {close}"),
        (true, false) => open.to_owned(),
        _ => close.to_owned(),
    }
}

/// Splits `CR-01: title` into the id, the severity its letters stand for, and the rest.
pub(super) fn own_id(text: &str) -> Option<(String, Option<Severity>, &str)> {
    let text = text.trim_start_matches(['*', '[', '`']);
    let letters = text.bytes().take_while(u8::is_ascii_uppercase).count();
    let digits = text.get(letters + 1..)?.bytes().take_while(u8::is_ascii_digit).count();
    if !(1..=5).contains(&letters)
        || digits == 0
        || text.as_bytes()[letters] != b'-'
        // `F-1` is one of our ids: an answer, not an id of the reviewer's own.
        || letters == 1 && text.starts_with('F')
    {
        return None;
    }
    let end = letters + 1 + digits;
    let rest = text[end..].trim_start_matches(['*', ']', '`']);
    let severity = match &text[..letters] {
        "CR" | "BL" | "CRIT" | "HIGH" | "HR" | "HI" => Some(Severity::Blocker),
        "WR" | "WARN" | "MED" | "MR" | "ME" => Some(Severity::Warning),
        "IN" | "INFO" | "LOW" | "NIT" | "LR" | "LO" => Some(Severity::Suggestion),
        _ => None,
    };
    let after = rest.trim_start().strip_prefix([':', '：', '—', '–', '-', '.'])?;
    Some((text[..end].to_owned(), severity, after.trim_start_matches(['*', ' '])))
}

/// Reads `HR-01 title`: in a heading a known id needs no colon behind it.
fn loose_id(text: &str) -> Option<(String, Option<Severity>, &str)> {
    let (id, title) = text.split_once(' ')?;
    let parted = format!("{id}:");
    let (label, severity, _) = own_id(&parted)?;
    severity.is_some().then(|| (label, severity, title.trim_start_matches(['*', ' '])))
}

/// Which lines stand below a heading that opens with its own id, up to the next heading or rule: everything there tells
/// of that one finding.
pub(super) fn below_an_id(lines: &[Line<'_>]) -> Vec<bool> {
    let mut inside = false;
    let below = |line: &Line<'_>| {
        if line.kind == Kind::Own {
            match heading(line.text) {
                Some((_, words)) => {
                    let words = strip_bullet(words);
                    // Every heading starts anew; one without an id ends the finding before it.
                    inside = own_id(words).is_some() || loose_id(words).is_some();
                    return false;
                }
                None => inside &= !is_underline(line.text),
            }
        }
        inside
    };
    lines.iter().map(below).collect()
}

/// Reads lines in front: `L44 (high): …`, `L83: …`, `Line 12: …`.
fn line_lead(text: &str, in_file: bool) -> Option<((u32, u32), &str)> {
    let text = text.trim_start_matches(['*', '`', '[', '(']);
    let lower = text.get(..6).unwrap_or(text).to_lowercase();
    let digits = match () {
        () if lower.starts_with("lines ") => &text[6..],
        () if lower.starts_with("line ") => &text[5..],
        () if lower.starts_with('l') => &text[1..],
        // A bare number is a line only where a file is being listed.
        () if in_file => text,
        () => return None,
    };
    let (lines, rest) = place::numbers(digits)?;
    let rest = rest.trim_start_matches(['*', '`', ']', ')']);
    let joined = rest.trim_start();
    (joined.starts_with([':', '：', '(', '—', '–', '-', '[']))
        .then(|| (lines, joined.trim_start_matches([':', '：', '—', '–', '-', ' '])))
}

/// Whether a line opens with a badge instead of a word: `![critical](…)`.
pub(super) fn is_image(text: &str) -> bool {
    strip_bullet(text).trim_start().starts_with("![")
}

fn image_severity(text: &str) -> Option<Severity> {
    let (name, _) = text.trim_start().strip_prefix("![")?.split_once(']')?;
    marks::word(name)
}

/// Whether the author asks and dismisses its own question: `a.go:20 might leak? No, there is a defer`.
pub(super) fn is_dismissed(text: &str) -> bool {
    // A question mark inside code asks nothing.
    let mut code = false;
    let asked = text.char_indices().find(|(at, c)| {
        code ^= *c == '`';
        let ends = text[at + c.len_utf8()..]
            .chars()
            .next()
            .is_none_or(|c| c.is_whitespace() || matches!(c, '*' | '_' | ')' | '"'));
        !code && (*c == '？' || *c == '?' && ends)
    });
    asked.is_some_and(|(at, c)| {
        let (question, answer) = (&text[..at], &text[at + c.len_utf8()..]);
        // A lone mark asks nothing, and a question without an answer dismisses nothing.
        question.chars().any(char::is_alphabetic) && answer.chars().filter(|c| c.is_alphabetic()).count() >= 2
    })
}

/// The section that a line announces if it says nothing else: `## Critical Issues (2 found)`, `**Must fix**`,
/// `Findings:`.
pub(super) fn label(text: &str, after: &[Line<'_>]) -> Option<Section> {
    let titled = heading(text).is_some();
    let underlined = after.first().is_some_and(|next| is_underline(next.text)) && !is_bullet(text);
    let words = match heading(text) {
        Some((_, words)) => words,
        None => strip_bullet(text).trim(),
    };
    let (words, colon) = match field(words) {
        Some((_, value)) if bare(value).is_empty() || words::is_nothing(value) => {
            (words.split([':', '：']).next().unwrap_or(words), true)
        }
        _ => (words, words.ends_with([':', '：'])),
    };
    let bold = words.trim_start().starts_with("**") && words.trim_end().ends_with("**");
    let item = is_bullet(text);
    if !(titled || underlined || colon || bold || item) {
        return None;
    }
    let name = plain_words(bare(words.split(['(', '（']).next().unwrap_or(words)));
    let name = name.trim_matches(|c: char| !c.is_alphanumeric());
    let section = named_section(name);
    // An item that is only a word needs a list below it to be a title.
    let has_list = || {
        let next = after.iter().find(|line| line.kind != Kind::Blank);
        next.is_some_and(|next| is_bullet(next.text) && next.text.starts_with([' ', '\t']))
    };
    match section {
        Some(Section::Other) if item || !(titled || underlined || colon || bold) => None,
        Some(_) if item && !colon && !has_list() => None,
        Some(section) => Some(section),
        // Below "What I checked" nothing is a finding by its place alone.
        None if titled && !item && super::verdict::is_checked_title(name) => Some(Section::Other),
        None if titled && !item && head_is_empty(text) => Some(Section::Outside),
        None => None,
    }
}

/// Whether a heading holds neither severity nor place nor id, and so names a part of the message.
fn head_is_empty(text: &str) -> bool {
    let head = head(text, false);
    head.severity.is_none() && head.place.is_none() && head.label.is_none() && head.lines.is_none()
}

/// Whether this is `=====` or `-----` under a title.
pub(super) fn is_underline(text: &str) -> bool {
    let text = text.trim();
    text.len() >= 3 && (text.bytes().all(|b| b == b'=') || text.bytes().all(|b| b == b'-'))
}

/// The section with this name, in the languages that reviewers write in.
fn named_section(name: &str) -> Option<Section> {
    #[rustfmt::skip]
    const FINDINGS: &[&str] = &[
        "findings", "finding", "issues", "problems", "new findings", "open findings", "review comments",
        "full review comments", "review comment", "comments", "observations", "bugs", "concerns",
        "issues found", "problems found", "defects", "remarks", "befunde", "probleme", "mängel",
        "anmerkungen", "hallazgos", "problemas", "observaciones", "problèmes", "constats", "remarques",
        "问题", "发现的问题", "发现", "评审意见", "指摘事項", "指摘", "問題点", "problemi", "замечания", "проблемы",
    ];
    #[rustfmt::skip]
    const OTHER: &[&str] = &[
        "strengths", "praise", "positives", "what works", "what is good", "next steps",
        "recommended action", "recommended actions", "patch", "suggested change", "conclusion",
        "correctness",
    ];
    if FINDINGS.contains(&name) {
        return Some(Section::Findings);
    }
    if OTHER.contains(&name) {
        return Some(Section::Other);
    }
    if name.starts_with("found ")
        && [" issue", " problem", " finding", " bug"].iter().any(|word| name.contains(word))
    {
        return Some(Section::Findings);
    }
    let bare_name = [
        " issues",
        " issue",
        " findings",
        " finding",
        " problems",
        " items",
        " comments",
        " remarks",
        " points",
    ]
    .iter()
    .find_map(|end| name.strip_suffix(end))
    .unwrap_or(name);
    let slight = ["optional ", "minor ", "small ", "some ", "a few ", "two ", "three ", "tiny "];
    let kind = slight.iter().find_map(|lead| bare_name.strip_prefix(lead)).unwrap_or(bare_name);
    marks::word(bare_name).or_else(|| marks::word(kind)).map(Section::Of)
}
