//! Sorts the lines of a message: which are its author's own words, and which are in a fence, quoted, or an echo of the
//! prompt. Also finds the JSON in it.
//!
//! A quoted verdict is not a verdict, and an agent can be made to print a file that holds one. All readers rely on this
//! sorting; no verdict or finding is read here.

use super::launch::{Carried, Unworded};
use super::loose;
use crate::text::{LINE_MAX, plain_words};
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The kind of text a line is.
///
/// Sorting comes before reading, so that no reader has to know what a quotation looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The author's own words; only these can approve.
    Own,
    /// A line without any text.
    Blank,
    /// Inside a code fence, or its mark.
    Fenced,
    /// Quoted, or echoed from the prompt.
    Quoted,
    /// Part of a JSON value.
    Data,
    /// Longer than any line a person writes.
    TooLong,
}

/// One line and its kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'a> {
    pub text: &'a str,
    pub kind: Kind,
    /// The launch word that stood on it.
    pub word: Carried,
}

/// The whole message, sorted.
///
/// Line numbers are those of the message, which is how readers mark what they took.
pub(crate) struct Scan<'a> {
    pub lines: Vec<Line<'a>>,
    /// JSON values that stand in the message itself.
    pub bare: Vec<Json<'a>>,
    /// Bodies of fences marked `json`, or unmarked and holding an object.
    pub fenced: Vec<Json<'a>>,
    /// The line from which a fence, tag or echo was never closed.
    pub unclosed: Option<usize>,
}

/// A JSON value, strict where it could be made so, and the lines it stands on.
pub(crate) struct Json<'a> {
    pub text: Cow<'a, str>,
    /// What its author wrote between the values.
    pub comments: Vec<String>,
    pub first: usize,
    pub last: usize,
}

impl Scan<'_> {
    /// Whether the message says anything behind a fence.
    pub fn goes_on_after(&self, part: &Json<'_>) -> bool {
        self.lines.iter().skip(part.last + 1).any(|line| line.kind != Kind::Blank)
    }

    /// Whether the line before a fence shows it as part of a file: it names one, or says what it holds.
    pub fn is_shown(&self, part: &Json<'_>) -> bool {
        let before = self.lines[..part.first].iter().rev().find(|line| line.kind != Kind::Blank);
        before.is_some_and(|line| {
            let words = plain_words(line.text);
            let verb = |word: &str| {
                matches!(
                    word,
                    "contains"
                        | "reads"
                        | "says"
                        | "holds"
                        | "prints"
                        | "printed"
                        | "returned"
                        | "returns"
                        | "quote"
                        | "quoting"
                        | "output"
                )
            };
            line.kind != Kind::Own
                || super::place::names_a_path(line.text)
                || words.split(|c: char| !c.is_alphanumeric()).any(verb)
        })
    }
}

/// After this many failed attempts at JSON the rest is taken for prose, as each may cost a pass over the text.
const JSON_TRIES: u32 = 32;

/// The sorter's state between two lines.
struct State<'a> {
    text: &'a str,
    fence: Option<Fence>,
    region: Option<String>,
    echo: Echo,
    data_end: usize,
    tries: u32,
    /// The line that is being read.
    at: usize,
    scan: Scan<'a>,
}

/// An open code fence.
struct Fence {
    mark: u8,
    length: usize,
    json: bool,
    body: usize,
    first: usize,
}

/// Whether the lines are an echoed example.
#[derive(Clone, Copy, PartialEq)]
enum Echo {
    No,
    /// The line before announced an example; the next paragraph is one.
    Next,
    Now,
}

/// Sorts the lines of a cleaned message.
pub(crate) fn scan(text: &str) -> Scan<'_> {
    let scan = Scan { lines: Vec::new(), bare: Vec::new(), fenced: Vec::new(), unclosed: None };
    let mut state =
        State { text, fence: None, region: None, echo: Echo::No, data_end: 0, tries: 0, at: 0, scan };
    let mut offset = 0;
    let mut opened = 0;
    for (at, line) in text.split('\n').enumerate() {
        let was_open = state.is_open();
        state.at = at;
        let kind = state.kind(line, offset);
        // Remembers where the part began that may never be closed.
        if !was_open {
            opened = at;
        }
        state.scan.lines.push(Line { text: line, kind, word: Carried::Nothing });
        offset += line.len() + 1;
    }
    state.scan.unclosed = state.is_open().then_some(opened);
    state.scan
}

/// Sorts the lines of a message whose launch words were cut out, and gives each line its word back.
pub(crate) fn worded<'a>(taken: &'a Unworded<'_>) -> Scan<'a> {
    let mut scan = scan(&taken.text);
    unwrap(&mut scan);
    for (at, line) in scan.lines.iter_mut().enumerate() {
        line.word = taken.of(at);
    }
    scan
}

/// Unwraps a message that is nothing but one fence or one quotation.
///
/// If it has the form of an answer, it is what its author says: there is nobody else who could be quoted.
fn unwrap(scan: &mut Scan<'_>) {
    let code =
        |line: &Line<'_>| line.text.trim_start().starts_with('`') && line.text.trim_end().ends_with('`');
    let foreign = |line: &Line<'_>| {
        line.kind == Kind::Own && !code(line) || matches!(line.kind, Kind::Data | Kind::TooLong)
    };
    // Anything else in the message makes the fence or quotation one part of it, and it stays quoted.
    if scan.unclosed.is_some() || scan.lines.iter().any(foreign) || scan.fenced.iter().any(|_| true) {
        return;
    }
    let marks = |line: &Line<'_>| {
        line.kind == Kind::Fenced && line.text.trim_start().starts_with(['`', '~']) && !code(line)
    };
    let fences = scan.lines.iter().filter(|line| marks(line)).count();
    let fenced = scan.lines.iter().any(|line| line.kind == Kind::Fenced);
    let quoted = scan.lines.iter().any(|line| line.kind == Kind::Quoted);
    // One fence or one quotation, never a mixture: then it would not be clear who speaks.
    if fenced && (quoted || fences != 2) || !fenced && !quoted {
        return;
    }
    let plain = |text: &str| text.trim_start_matches(['>', '`', ' ']).to_lowercase();
    let keyed = |key: &str| scan.lines.iter().any(|line| plain(line.text).starts_with(key));
    let quotes =
        |line: &Line<'_>| line.kind == Kind::Quoted && !line.text.trim_start().starts_with(['>', '`']);
    // Both keys of an answer: a file that happens to hold one of them is not enough.
    if !keyed("checked") || !keyed("verdict") || scan.lines.iter().any(quotes) {
        return;
    }
    for line in scan.lines.iter_mut().filter(|line| line.kind != Kind::Blank) {
        if marks(line) {
            line.kind = Kind::Blank;
            continue;
        }
        let text = line.text.trim();
        let text = text.strip_prefix('>').map_or(text, str::trim_start);
        line.text = text.strip_prefix('`').and_then(|text| text.strip_suffix('`')).unwrap_or(text);
        line.kind = Kind::Own;
    }
}

impl<'a> State<'a> {
    fn is_open(&self) -> bool {
        self.fence.is_some() || self.region.is_some()
    }

    /// The kind of the next line, given everything that is still open.
    fn kind(&mut self, line: &'a str, offset: usize) -> Kind {
        // The order matters: inside a JSON value or a fence nothing else is looked for.
        if offset < self.data_end {
            return Kind::Data;
        }
        if let Some(kind) = self.in_fence(line, offset) {
            return kind;
        }
        let trimmed = line.trim();
        // A blank line ends an echoed paragraph.
        if trimmed.is_empty() {
            if self.echo == Echo::Now {
                self.echo = Echo::No;
            }
            return Kind::Blank;
        }
        if self.in_region(trimmed) {
            // The tagged part is the example that was announced: what follows it is the author's again.
            self.echo = Echo::No;
            return Kind::Quoted;
        }
        if self.echo == Echo::Next {
            self.echo = Echo::Now;
        }
        if self.opens_fence(trimmed, offset + line.len() + 1) {
            return Kind::Fenced;
        }
        if self.echo == Echo::Now || is_quote(line) {
            return Kind::Quoted;
        }
        if trimmed.starts_with(['{', '[']) && self.json(offset + (line.len() - line.trim_start().len())) {
            return Kind::Data;
        }
        // After the JSON: a tool's log may be one long line.
        if line.len() > LINE_MAX {
            return Kind::TooLong;
        }
        if announces_an_example(trimmed) {
            self.echo = Echo::Next;
        }
        Kind::Own
    }

    /// The kind of a line inside an open fence; the line that closes it hands its JSON over. `None` outside of fences.
    fn in_fence(&mut self, line: &str, offset: usize) -> Option<Kind> {
        let fence = self.fence.as_ref()?;
        let trimmed = line.trim();
        let marks = trimmed.bytes().take_while(|b| *b == fence.mark).count();
        // A fence is closed by at least as many marks as opened it, with nothing behind them.
        if marks >= fence.length && marks == trimmed.len() {
            let body = self.text[fence.body.min(offset)..offset].trim();
            // An announced example is not an answer, even as JSON.
            if fence.json && body.starts_with(['{', '[']) && self.echo == Echo::No {
                let (text, comments) = strict(body);
                self.scan.fenced.push(Json { text, comments, first: fence.first, last: self.at });
            }
            self.fence = None;
            self.echo = Echo::No;
        }
        Some(Kind::Fenced)
    }

    /// Whether a line opens a fence, and remembers it.
    fn opens_fence(&mut self, trimmed: &str, body: usize) -> bool {
        let Some(mark) = trimmed.bytes().next().filter(|b| matches!(b, b'`' | b'~')) else { return false };
        let length = trimmed.bytes().take_while(|b| *b == mark).count();
        let info = trimmed[length..].trim();
        // Backticks behind the marks make it inline code.
        if length < 3 || (mark == b'`' && info.contains('`')) {
            return false;
        }
        let word = info.split_whitespace().next().unwrap_or("").to_lowercase();
        let json = matches!(word.as_str(), "" | "json" | "jsonc" | "json5" | "jsonl" | "ndjson");
        self.fence = Some(Fence { mark, length, json, body, first: self.at });
        true
    }

    /// Whether a line is in a tagged part (`<example>`), a comment, or a turn of the other speaker in a transcript.
    fn in_region(&mut self, trimmed: &str) -> bool {
        if let Some(end) = &self.region {
            let found = trimmed.to_lowercase();
            // A turn of the other speaker has no closing tag; it ends where the author's turn begins.
            if end == "assistant" {
                if is_own_turn(&found) {
                    self.region = None;
                }
            } else if found.contains(end.as_str()) {
                self.region = None;
            }
            return true;
        }
        let Some(end) = opens_region(trimmed) else { return false };
        let closed = trimmed.to_lowercase().contains(&end) && end != "assistant";
        self.region = (!closed).then_some(end);
        true
    }

    /// Takes a JSON value that begins here, if it ends at the end of a line.
    fn json(&mut self, start: usize) -> bool {
        if self.tries >= JSON_TRIES || !may_be_json(&self.text[start..]) {
            return false;
        }
        let mut values = serde_json::Deserializer::from_str(&self.text[start..]).into_iter::<&RawValue>();
        let (text, comments, end) = match values.next() {
            Some(Ok(value)) => (Cow::Borrowed(value.get()), Vec::new(), start + values.byte_offset()),
            _ => {
                self.tries += 1;
                match repaired(&self.text[start..]) {
                    Some(made) => (Cow::Owned(made.value), made.comments, start + made.length),
                    None => return false,
                }
            }
        };
        // Words behind the value on its line would be lost; then it is prose with braces in it.
        let rest_of_line = self.text[end..].split('\n').next().unwrap_or("");
        if !rest_of_line.trim().trim_end_matches(',').is_empty() {
            self.tries += 1;
            return false;
        }
        let last = self.at + self.text[start..end].matches('\n').count();
        self.scan.bare.push(Json { text, comments, first: self.at, last });
        self.data_end = end;
        true
    }
}

/// The value a text begins with, where it can be made strict JSON.
fn repaired(text: &str) -> Option<loose::Repaired> {
    loose::repair(text).filter(|made| serde_json::from_str::<IgnoredAny>(&made.value).is_ok())
}

/// The body of a fence as strict JSON, where it is one value that can be made so, and the comments in it.
fn strict(body: &str) -> (Cow<'_, str>, Vec<String>) {
    let mut values = serde_json::Deserializer::from_str(body).into_iter::<IgnoredAny>();
    if values.all(|value| value.is_ok()) {
        return (Cow::Borrowed(body), Vec::new());
    }
    match repaired(body) {
        Some(made) if body[made.length..].trim().is_empty() => (Cow::Owned(made.value), made.comments),
        _ => (Cow::Borrowed(body), Vec::new()),
    }
}

/// Whether a text may begin a JSON value: `{` with a name behind it, or `[` with an object. Spares `[id:1] …` and code
/// a failed attempt.
fn may_be_json(text: &str) -> bool {
    let mut chars = text.chars().filter(|c| !c.is_whitespace());
    match (chars.next(), chars.next()) {
        (Some('{'), Some('"' | '}' | '\'' | '/')) => true,
        // Keys without quotes count only in an answer; otherwise every block of code would be tried.
        (Some('{'), Some(c)) => c.is_ascii_alphabetic() && names_an_answer(text),
        (Some('['), Some(c)) => c == '{',
        _ => false,
    }
}

fn names_an_answer(text: &str) -> bool {
    let start: String = text.chars().take(200).filter(|c| !c.is_whitespace()).collect();
    ["{verdict:", "{findings:", "{issues:", ",verdict:", ",findings:"].iter().any(|key| start.contains(key))
}

/// Whether a line is quoted: a quote mark, quotation marks, or a line wholly in backticks.
///
/// A line that only begins with a quotation and goes on is the author's own.
fn is_quote(line: &str) -> bool {
    let trimmed = line.trim();
    let after_bullet = crate::text::strip_bullet(trimmed);
    let closed = |open: char, close: char| {
        after_bullet.starts_with(open)
            && after_bullet.len() > 1
            && after_bullet.trim_end_matches(['.', ',']).ends_with(close)
    };
    after_bullet.starts_with(['>', '“', '«', '‹', '「'])
        || closed('"', '"')
        || closed('\'', '\'')
        || (closed('`', '`') && !after_bullet.trim_matches('`').contains('`'))
}

/// Whether a line is code by indentation: four columns in Markdown. A verdict there is shown, not said.
pub(crate) fn is_indented(line: &str) -> bool {
    line.starts_with('\t') || line.starts_with("    ")
}

/// Tags whose content is not the author's answer: what it read, was given, or thought on the way.
const TAGS: &[&str] = &[
    "prompt",
    "example",
    "examples",
    "instructions",
    "system",
    "system-reminder",
    "quote",
    "blockquote",
    "user",
    "context",
    "input",
    "think",
    "thinking",
    "template",
    "output_format",
    "details",
    "scratchpad",
    "reasoning",
    "analysis",
    "reflection",
    "thoughts",
    "tool_result",
    "tool_call",
    "tool_output",
    "function_results",
    "file",
    "document",
    "documents",
    "diff",
    "log",
    "pre",
];

/// The text that will close the region a line opens; `None` when it opens none.
fn opens_region(trimmed: &str) -> Option<String> {
    if trimmed.starts_with("<!--") {
        return Some("-->".to_owned());
    }
    let lower = trimmed.to_lowercase();
    if let Some(rest) = lower.strip_prefix('<') {
        let name: String =
            rest.chars().take_while(|c| c.is_alphanumeric() || matches!(c, '-' | '_')).collect();
        return TAGS.contains(&name.as_str()).then(|| format!("</{name}>"));
    }
    // A transcript: what the other speaker said is not the author's.
    let role = lower.trim_matches(|c: char| !c.is_alphanumeric() && c != ':');
    matches!(role, "user:" | "human:" | "system:" | "prompt:").then(|| "assistant".to_owned())
}

/// Whether a line gives the turn back to the author.
fn is_own_turn(lower: &str) -> bool {
    let role = lower.trim_matches(|c: char| !c.is_alphanumeric() && c != ':');
    matches!(role, "assistant:" | "reviewer:" | "answer:" | "response:" | "me:")
}

/// Whether a line announces an example: "For example:", "You asked me to end with:". What follows is not a verdict.
fn announces_an_example(trimmed: &str) -> bool {
    let ending = trimmed.trim_end_matches(['*', '_', ' ']);
    // Only a colon announces; a sentence about examples is the author's own.
    if !ending.ends_with([':', '：']) || trimmed.len() > 300 {
        return false;
    }
    let words = plain_words(trimmed);
    const CUES: [&str; 15] = [
        "example",
        "e.g",
        "prompt",
        "instructions",
        "template",
        "you asked",
        "asked to answer",
        "format is",
        "would be",
        "would look",
        "such as",
        "exactly one of",
        "one of these",
        "must end with",
        "expected to end",
    ];
    CUES.iter().any(|cue| words.contains(cue))
}
