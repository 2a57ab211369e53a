//! The second, line-tolerant reading: finds the scalars that strict YAML refuses and quotes them as the text they are.
//!
//! It never changes the number of lines (diagnostics point into the original file), touches a line that is fine on its
//! own, or drops a keyed value. The result is YAML again and goes through the strict reader, which has the last word.

use super::{emit, strict};
use crate::Diagnostic;

/// How many lines a quoted scalar or an inline list may span before it counts as never closed.
const SPAN_MAX: usize = 400;

/// A repaired block, line for line, and what was repaired.
pub(crate) struct Repaired {
    pub text: String,
    pub diagnostics: Vec<Diagnostic>,
}

/// Repairs `yaml`, whose first line is line `first_line` of the file.
pub(crate) fn repair(yaml: &str, first_line: u32) -> Repaired {
    let mut worker = Worker { lines: Vec::new(), out: Vec::new(), diagnostics: Vec::new(), first_line };
    for (place, line) in yaml.lines().enumerate() {
        let line = worker.without_tabs(place, line.trim_end_matches('\r'));
        worker.lines.push(line);
    }
    let mut at = 0;
    while at < worker.lines.len() {
        at = worker.step(at);
    }
    let mut text = worker.out.join("\n");
    text.push('\n');
    worker.diagnostics.sort_by_key(|d| (d.line, d.column));
    Repaired { text, diagnostics: worker.diagnostics }
}

struct Worker {
    lines: Vec<String>,
    out: Vec<String>,
    diagnostics: Vec<Diagnostic>,
    first_line: u32,
}

/// The head of a line such as `  - key: value`, in byte offsets.
struct Head {
    /// The offset of the last `-`, if there is one.
    dash: Option<usize>,
    /// The offset of the text after the dashes.
    content: usize,
    /// The offset at which the key ends, if there is a key.
    key_end: Option<usize>,
    /// The offset at which the value starts.
    value: usize,
}

impl Head {
    /// Lines of the same scalar are indented deeper than this.
    fn parent_indent(&self) -> usize {
        match self.key_end {
            Some(_) => self.content,
            None => self.dash.unwrap_or(self.content),
        }
    }
}

impl Worker {
    fn without_tabs(&mut self, place: usize, line: &str) -> String {
        let blank = line.len() - line.trim_start_matches([' ', '\t']).len();
        // A line of nothing but blanks has no indentation to repair.
        if !line[..blank].contains('\t') || blank == line.len() {
            return line.to_owned();
        }
        self.report(place, 0, "a tab in the indentation; read as two spaces");
        format!("{}{}", line[..blank].replace('\t', "  "), &line[blank..])
    }

    /// Reports a place at which not everything that is written is read, as line index and byte offset.
    fn misread(&mut self, place: usize, offset: usize, message: impl Into<String>) {
        self.report(place, offset, message);
        self.diagnostics.iter_mut().last().into_iter().for_each(|last| last.misread = true);
    }

    /// Reports a place, as line index and byte offset.
    fn report(&mut self, place: usize, offset: usize, message: impl Into<String>) {
        let line = self.first_line.saturating_add(u32::try_from(place).unwrap_or(u32::MAX));
        let before = self.lines.get(place).and_then(|line| line.get(..offset));
        let column = before.map_or(offset, |text| text.chars().count()) + 1;
        let column = u32::try_from(column).unwrap_or(u32::MAX);
        self.diagnostics.push(Diagnostic::new(line, column, message));
    }

    fn keep(&mut self, from: usize, to: usize) -> usize {
        let kept: Vec<String> = self.lines[from..to].to_vec();
        self.out.extend(kept);
        to
    }

    /// Writes one line in place of `from..to`. Blank lines keep the number of lines.
    fn replace(&mut self, from: usize, to: usize, line: String) -> usize {
        self.out.push(line);
        self.out.extend(std::iter::repeat_n(String::new(), to - from - 1));
        to
    }

    /// Handles the scalar that starts at line `at`, and returns the line after it.
    fn step(&mut self, at: usize) -> usize {
        let line = self.lines[at].clone();
        let trimmed = line.trim_start();
        if trimmed.is_empty() || trimmed.starts_with('#') {
            return self.keep(at, at + 1);
        }
        let head = head_of(&line);
        // A stray line belongs to no key, so it is left out and marked as misread.
        if head.key_end.is_none() && head.dash.is_none() {
            self.misread(at, head.content, "expected `key: value`; the line is left out");
            return self.replace(at, at + 1, String::new());
        }
        let value = &line[head.value..];
        if value.is_empty() || value.starts_with('#') {
            return self.keep(at, at + 1);
        }
        // Text below `|` or `>` is taken literally, so nothing in it can be wrong.
        if is_block_mark(value) {
            let end = self.end_deeper(at, head.parent_indent());
            return self.keep(at, end);
        }
        let enclosed = self.end_enclosed(at, &head);
        if let Some(end) = enclosed
            && self.is_fine(at, end, &head)
        {
            return self.keep(at, end);
        }
        let (end, level) = self.end_plain(at, &head);
        // Everything inside the brackets belongs together, even where the indentation says otherwise.
        let end = end.max(enclosed.unwrap_or(end));
        if !level && self.is_fine(at, end, &head) {
            return self.keep(at, end);
        }
        self.fix(at, end, &head)
    }

    /// The line after the block of lines deeper than `indent` that follows `at`.
    fn end_deeper(&self, at: usize, indent: usize) -> usize {
        let mut end = at + 1;
        while let Some(line) = self.lines.get(end) {
            if !line.trim().is_empty() && indent_of(line) <= indent {
                break;
            }
            end += 1;
        }
        end
    }

    /// The line after a quoted scalar or inline collection that starts at `at`, if it closes.
    fn end_enclosed(&self, at: usize, head: &Head) -> Option<usize> {
        let line = &self.lines[at];
        let mut scan = Enclosed::open(line[head.value..].chars().next()?)?;
        if scan.feed(&line[head.value..]) {
            return Some(at + 1);
        }
        let limit = self.lines.len().min(at + SPAN_MAX);
        for place in at + 1..limit {
            let line = &self.lines[place];
            // A closing bracket may stand at the margin.
            let closing = line.trim_start().starts_with([']', '}']);
            // A key at the margin before the end: the quote was never meant to span lines.
            if !line.trim().is_empty() && indent_of(line) <= head.parent_indent() && !closing {
                return None;
            }
            if scan.feed(line) {
                return Some(place + 1);
            }
        }
        None
    }

    /// The line after a plain text that starts at `at`, and whether some of it stands no deeper than its key.
    fn end_plain(&self, at: usize, head: &Head) -> (usize, bool) {
        let mut end = at + 1;
        let mut level = false;
        while let Some(line) = self.lines.get(end) {
            let indent = indent_of(line);
            let text = line.trim_start();
            if text.is_empty() || text.starts_with('#') {
                break;
            }
            if indent > head.parent_indent() {
                end += 1;
                continue;
            }
            // `- Words: more words` goes on at the column of `Words`, which YAML takes for the next key.
            let goes_on =
                head.dash.is_some() && head.key_end.is_some() && indent == head.content && is_no_entry(text);
            // A line that YAML itself takes for the next entry is one.
            if !goes_on || self.is_next_entry(at, end, head) {
                break;
            }
            level = true;
            end += 1;
        }
        (end, level)
    }

    /// Whether strict YAML reads the line at `next` as an entry beside the one that `at` begins.
    fn is_next_entry(&self, at: usize, next: usize, head: &Head) -> bool {
        let text = self.lines[next].trim_start();
        head_of(text).key_end.is_some()
            && self.is_fine(at, next, head)
            && strict::is_valid(&format!("{text}\n"))
    }

    /// Whether strict YAML accepts the lines `at..end` on their own.
    fn is_fine(&self, at: usize, end: usize, head: &Head) -> bool {
        let mut alone = match head.key_end {
            Some(_) => String::new(),
            None => "- ".to_owned(),
        };
        alone.push_str(&self.lines[at][head.content..]);
        for line in &self.lines[at + 1..end] {
            alone.push_str("\n  ");
            alone.push_str(line.trim_start());
        }
        alone.push('\n');
        strict::is_valid(&alone)
    }

    fn fix(&mut self, at: usize, end: usize, head: &Head) -> usize {
        let line = self.lines[at].clone();
        let key = head.key_end.map(|to| &line[head.content..to]);
        let prose = key.is_some_and(|key| !is_name(key));
        // `- Users can: log in` is a sentence, although YAML sees a key in it.
        if prose && head.dash.is_some() {
            let text = self.joined(at, end, head.content);
            self.report(at, head.content, cause(&line[head.value..], true));
            let line = format!("{}{}", &line[..head.content], emit::quoted(&text));
            return self.replace(at, end, line);
        }
        let text = self.joined(at, end, head.value);
        let fixed = match key {
            Some(_) if text.starts_with('[') => self.fixed_list(at, head, &text),
            _ => None,
        };
        let fixed = fixed.unwrap_or_else(|| {
            // The text of an item is what it says; a key whose list is not a list says something else.
            match never_closes(&text)
                .or_else(|| (key.is_some() && text.starts_with(['[', '{'])).then_some(AROUND))
            {
                // Something that never closes may have swallowed what was meant as another entry.
                Some(cause) => self.misread(at, head.value, format!("{cause}; read as plain text")),
                None => self.report(at, head.value, cause(&text, false)),
            }
            emit::quoted(&lenient_scalar(&text))
        });
        let line = match (key, head.key_end) {
            (Some(key), Some(_)) if prose => {
                format!("{}{}: {fixed}", &line[..head.content], emit::quoted(key))
            }
            (_, Some(key_end)) => format!("{}: {fixed}", &line[..key_end]),
            _ => format!("{}{fixed}", &line[..head.value]),
        };
        self.replace(at, end, line)
    }

    /// The text from `offset` of line `at` to the end of the scalar, folded into one line.
    fn joined(&self, at: usize, end: usize, offset: usize) -> String {
        let mut text = without_comment(&self.lines[at][offset..]).to_owned();
        for line in &self.lines[at + 1..end] {
            text.push(' ');
            text.push_str(without_comment(line.trim_start()));
        }
        text
    }

    /// An inline list with quotes around every entry that strict YAML refuses.
    fn fixed_list(&mut self, at: usize, head: &Head, text: &str) -> Option<String> {
        let close = text.rfind(']')?;
        let rest = text[close + 1..].trim();
        let entries: Vec<String> = split_list(&text[1..close])
            .into_iter()
            .map(|entry| match strict::is_valid(&format!("[{entry}]\n")) {
                true => entry.to_owned(),
                false => emit::quoted(&lenient_scalar(entry)),
            })
            .collect();
        let line = format!("[{}]", entries.join(", "));
        // A list that is still refused is read as one text instead.
        if !strict::is_valid(&format!("k: {line}\n")) {
            return None;
        }
        match rest.is_empty() {
            true => self.report(
                at,
                head.value,
                "an entry of an inline list is no YAML; read as plain text; hint: put it in quotes",
            ),
            false => {
                self.misread(at, head.value, format!("text after the closing bracket is left out: {rest}"))
            }
        }
        Some(line)
    }
}

const AROUND: &str = "text around an inline list or map";

/// What a value opens and does not close, in words.
fn never_closes(value: &str) -> Option<&'static str> {
    match value.chars().next()? {
        quote @ ('"' | '\'') if closing_quote(value, quote).is_none() => {
            Some("a quote that never closes; expected it again at the end")
        }
        '[' if !value.contains(']') => Some("a list that never closes; expected `]`"),
        '{' if !value.contains('}') => Some("a map that never closes; expected `}`"),
        _ => None,
    }
}

/// Why a scalar was refused, for people.
fn cause(value: &str, prose: bool) -> String {
    let first = value.chars().next().unwrap_or(' ');
    let what = match first {
        '`' => "a plain text cannot start with a backtick".to_owned(),
        '@' | '%' => format!("a plain text cannot start with `{first}`"),
        '>' | '|' => format!("text after the block mark `{first}`"),
        '"' if lenient_double(value).is_some() => {
            return "an unknown escape in double quotes; kept as written; hint: use single quotes".to_owned();
        }
        '"' | '\'' => "text after a closing quote".to_owned(),
        '[' | '{' => AROUND.to_owned(),
        _ if value.contains(": ") => "a `: ` in a plain text".to_owned(),
        _ if prose => "a sentence that reads like `key: value`".to_owned(),
        _ => "a text that is no YAML scalar".to_owned(),
    };
    format!("{what}; read as plain text; hint: put it in quotes")
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Whether a value is `|` or `>` with its marks, and nothing but a comment after them.
fn is_block_mark(value: &str) -> bool {
    let marks = value.strip_prefix(['|', '>']).unwrap_or("x");
    let rest = marks.trim_start_matches(['+', '-', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
    rest.trim().is_empty() || rest.starts_with(" #")
}

fn head_of(line: &str) -> Head {
    let mut content = indent_of(line);
    let mut dash = None;
    // `- - a` is a list in a list.
    while let Some(rest) = line[content..].strip_prefix('-') {
        if !rest.is_empty() && !rest.starts_with(' ') {
            break;
        }
        dash = Some(content);
        content = line.len() - rest.trim_start_matches(' ').len();
    }
    let key_end = key_end(&line[content..]).map(|end| content + end);
    let value = match key_end {
        Some(end) => line.len() - line[end + 1..].trim_start_matches([' ', '\t']).len(),
        None => content,
    };
    Head { dash, content, key_end, value }
}

/// The offset of the colon at which the key of `key: value` ends.
fn key_end(text: &str) -> Option<usize> {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''));
    if let Some(quote) = quote {
        let colon = closing_quote(text, quote)? + 1;
        let rest = text.get(colon..)?.strip_prefix(':')?;
        return (rest.is_empty() || rest.starts_with([' ', '\t'])).then_some(colon);
    }
    // These characters begin something other than a key.
    if text.starts_with(['[', '{', '#', '&', '*', '!', '|', '>', '%']) {
        return None;
    }
    let comment = text.find(" #").unwrap_or(text.len());
    let text = &text[..comment];
    text.match_indices(':')
        .map(|(at, _)| at)
        .find(|at| *at > 0 && (at + 1 == text.len() || text[at + 1..].starts_with([' ', '\t'])))
}

/// The offset at which the quote that opens a text closes again.
fn closing_quote(text: &str, quote: char) -> Option<usize> {
    let mut marks = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = marks.next() {
        let doubled = marks.peek().is_some_and(|(_, next)| *next == quote);
        match c {
            '\\' if quote == '"' => drop(marks.next()),
            // Inside single quotes, two of them stand for one.
            '\'' if quote == c && doubled => drop(marks.next()),
            _ if c == quote => return Some(at),
            _ => {}
        }
    }
    None
}

/// Whether a key is a name rather than the beginning of a sentence.
fn is_name(key: &str) -> bool {
    let quoted = key.starts_with(['"', '\'']);
    let name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '$');
    quoted || !key.is_empty() && key.chars().all(name)
}

/// Whether a line is neither a list item nor `name: value`.
fn is_no_entry(text: &str) -> bool {
    let head = head_of(text);
    let named = head.key_end.is_some_and(|end| is_name(&text[..end]));
    head.dash.is_none() && !named
}

/// The text without ` # comment`. A `#12` inside a sentence is not a comment here.
fn without_comment(text: &str) -> &str {
    match text.find(" # ") {
        Some(at) => text[..at].trim_end(),
        None => text.trim_end(),
    }
}

/// Follows a quoted scalar or an inline collection over lines until it closes.
struct Enclosed {
    open: char,
    depth: usize,
    quote: Option<char>,
}

impl Enclosed {
    fn open(first: char) -> Option<Self> {
        matches!(first, '"' | '\'' | '[' | '{').then_some(Enclosed { open: first, depth: 0, quote: None })
    }

    /// Takes a line; true when everything that was opened is closed again.
    fn feed(&mut self, line: &str) -> bool {
        let mut before = ' ';
        let mut chars = line.chars();
        while let Some(c) = chars.next() {
            match self.quote {
                Some('"') if c == '\\' => {
                    chars.next();
                }
                Some(quote) if c == quote => {
                    self.quote = None;
                    if self.depth == 0 {
                        return true;
                    }
                }
                Some(_) => {}
                None => match c {
                    // An apostrophe inside a word opens nothing.
                    '"' | '\'' if " [{,:\t".contains(before) => self.quote = Some(c),
                    '[' | '{' if !matches!(self.open, '"' | '\'') => self.depth += 1,
                    ']' | '}' => {
                        self.depth = self.depth.saturating_sub(1);
                        if self.depth == 0 {
                            return true;
                        }
                    }
                    _ => {}
                },
            }
            before = c;
        }
        false
    }
}

/// The entries of an inline list. Commas inside brackets or quotes do not separate them.
fn split_list(inner: &str) -> Vec<&str> {
    let mut entries = Vec::new();
    let (mut depth, mut start, mut before) = (0usize, 0, ' ');
    let mut skip_to = 0;
    for (at, c) in inner.char_indices() {
        if at < skip_to {
            continue;
        }
        match c {
            '"' | '\'' if " [{(,\t".contains(before) => {
                if let Some(close) = inner[at + 1..].find(c) {
                    skip_to = at + 1 + close + 1;
                }
            }
            '[' | '{' | '(' => depth += 1,
            ']' | '}' | ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                entries.push(inner[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
        before = c;
    }
    entries.push(inner[start..].trim());
    entries.retain(|entry| !entry.is_empty());
    entries
}

/// The text of a refused scalar: without its quotes if only its escapes were wrong, otherwise as written.
fn lenient_scalar(text: &str) -> String {
    if let Some(inner) = lenient_double(text) {
        return inner;
    }
    let block = text.strip_prefix(['>', '|']);
    if let Some(rest) = block.and_then(|rest| rest.strip_prefix(' ')) {
        return rest.trim().to_owned();
    }
    text.to_owned()
}

/// Reads `"…"` with unknown escapes kept as they stand; `None` if it is not one closed quotation.
fn lenient_double(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut chars = text.strip_prefix('"')?.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => return chars.as_str().trim().is_empty().then_some(out),
            '\\' => match chars.next()? {
                'n' => out.push('\n'),
                't' => out.push('\t'),
                'r' => out.push('\r'),
                plain @ ('"' | '\\' | '/') => out.push(plain),
                other => {
                    out.push('\\');
                    out.push(other);
                }
            },
            other => out.push(other),
        }
    }
    None
}
