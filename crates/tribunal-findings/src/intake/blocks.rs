//! Reads findings written as `### Finding N` blocks with one named field per line.
//!
//! A block without an issue is kept as a doubt instead of being dropped: its author meant to report something.

use super::lines::{append, from_fields};
use super::scan::{Kind, Line};
use super::{Draft, Form};
use crate::text::{field, heading, is_bullet, plain_words, unbold};

/// A block while it is being read: its text, and its fields in order.
struct Block {
    raw: String,
    fields: Vec<(String, String)>,
}

/// Reads every block and marks its lines as taken.
pub(crate) fn read(lines: &[Line<'_>], taken: &mut [bool], draft: &mut Draft) {
    let mut block: Option<Block> = None;
    for (at, line) in lines.iter().enumerate() {
        // Lines that an earlier reader took end a block, so that no line is read twice.
        let own = line.kind == Kind::Own && !taken[at];
        if own && let Some((number, title)) = block_title(line.text) {
            close(block.take(), draft);
            taken[at] = true;
            block = Some(opened(line.text, number, title));
            continue;
        }
        let Some(open) = &mut block else { continue };
        let ends = own
            && (heading(line.text).is_some()
                || super::verdict::is_keyed_verdict(line.text)
                || is_rule(line.text));
        if ends || taken[at] || matches!(line.kind, Kind::Data | Kind::TooLong) {
            close(block.take(), draft);
            continue;
        }
        if line.kind != Kind::Blank {
            taken[at] = true;
            take(open, line);
        }
    }
    close(block, draft);
}

fn opened(line: &str, number: String, title: &str) -> Block {
    // The number becomes the author's own id, so that "Finding 3" can be referred to.
    let mut fields = vec![("id".to_owned(), number)];
    if !title.is_empty() {
        fields.push(("title".to_owned(), title.to_owned()));
    }
    Block { raw: line.to_owned(), fields }
}

fn is_rule(line: &str) -> bool {
    let line = line.trim();
    line.len() >= 3 && line.chars().all(|c| matches!(c, '-' | '=' | '_'))
}

/// The number and title of a block: `### Finding 3`, `#### Finding #3: title`, `**Finding 3** (Unresolved)`.
fn block_title(line: &str) -> Option<(String, &str)> {
    let words = match heading(line) {
        Some((_, words)) => words,
        None => line.trim().strip_prefix("**").filter(|rest| rest.contains("**"))?,
    };
    let words = words.trim_start_matches(['*', '_', ' ']);
    let lower = words.get(..8)?.to_lowercase();
    let rest = lower.starts_with("finding ").then(|| words[8..].trim_start_matches(['#', ' ']))?;
    let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '-' || c == '.')).unwrap_or(rest.len());
    let number = rest[..end].trim_end_matches(['.', '-']);
    // "Finding the cause" is a sentence.
    if !number.contains(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let rest = rest[end..].trim_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '_'));
    let title = rest.trim_start_matches([':', '—', '–', '-', ' ']);
    // A word in parentheses is a state, not a title.
    let title = if title.starts_with('(') {
        title.split_once(')').map_or("", |(_, after)| after.trim())
    } else {
        title
    };
    Some((number.to_owned(), title.trim_start_matches([':', '—', '–', '-', ' ', '*'])))
}

/// Keys that are fields of a block; any other key belongs to the text of the field above.
const KEYS: [&str; 27] = [
    "file",
    "files",
    "path",
    "file path",
    "location",
    "line",
    "lines",
    "line/section",
    "line / section",
    "section",
    "severity",
    "issue",
    "problem",
    "details",
    "detail",
    "description",
    "suggested fix",
    "suggestion",
    "fix",
    "recommendation",
    "confidence",
    "evidence",
    "domain",
    "rule",
    "type",
    "status",
    "fixable by",
];

/// Adds a line to a block: a field of its own, or more of the field above.
fn take(block: &mut Block, line: &Line<'_>) {
    append(&mut block.raw, line.text);
    if line.kind == Kind::Own && !is_continuation(line.text) {
        let own = field(line.text).map(|(key, value)| (plain_words(&key).replace(" / ", "/"), value));
        if let Some((key, value)) =
            own.filter(|(key, _)| KEYS.contains(&key.as_str()) || key == "id" || key == "same as")
        {
            block.fields.push((key, unbold(value).to_owned()));
            return;
        }
    }
    match block.fields.last_mut().filter(|(key, _)| key != "id" && key != "title") {
        // A fence or a second line belongs to the field above; the legend below a confidence does not.
        Some((key, value))
            if !matches!(key.as_str(), "confidence" | "severity" | "file" | "status" | "domain") =>
        {
            append(value, line.text);
        }
        Some(_) => {}
        None => block.fields.push(("issue".to_owned(), line.text.trim().to_owned())),
    }
}

/// Whether this is a deeper item, which is a detail of the field above.
fn is_continuation(text: &str) -> bool {
    is_bullet(text) && text.starts_with("    ")
}

fn close(block: Option<Block>, draft: &mut Draft) {
    let Some(block) = block else { return };
    draft.form(Form::Blocks);
    if let Some(claim) = from_fields(&block.raw, block.fields, draft) {
        draft.intake.findings.push(claim);
    }
}
