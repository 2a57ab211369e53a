//! Small tools for text that models wrote: cleaning, clipping, removing markup.
//!
//! Nothing here decides what a text means. Every reader of the crate calls `clean` first, so that escapes and control
//! characters cannot show a person another text than the one that was judged.

use std::borrow::Cow;
use tribunal_core::defence::{Defence, stands};

/// Longest line of prose that is read; a longer one is noted and skipped, never cut in the middle of a sentence.
pub(crate) const LINE_MAX: usize = 256 * 1024;

/// Damage to the bytes themselves.
///
/// Damaged text is still read, since it may speak against the work. It is only kept from approving.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Damage {
    /// A NUL byte was removed.
    pub nul: bool,
    /// Bytes that are not UTF-8 were replaced.
    pub utf8: bool,
}

/// Removes terminal escapes, control characters and direction overrides; ends every line with `\n`.
///
/// Without this a text could look harmless on a terminal and say something else to a reader of the bytes. Text without
/// any of them, which is nearly all, is borrowed and not copied.
pub(crate) fn clean(text: &str) -> (Cow<'_, str>, Damage) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if !stands(Defence::Escapes) {
        return (Cow::Borrowed(text), Damage::default());
    }
    // Whole chunks without an early exit: the compiler turns that into many bytes at once.
    let suspect = |chunk: &[u8]| chunk.iter().fold(false, |any, byte| any | may_begin_unwanted(*byte));
    if !text.as_bytes().chunks(1 << 12).any(suspect) || !text.chars().any(is_unwanted) {
        return (Cow::Borrowed(text), Damage::default());
    }
    // An escape may swallow the NUL that follows it; the damage is there all the same.
    let damage = Damage { nul: text.contains('\0'), utf8: false };
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => skip_escape(&mut chars),
            '\u{9b}' => skip_csi(&mut chars),
            '\r' => {
                // A lone CR would let one line hide another on a terminal: here both are lines.
                if chars.peek() != Some(&'\n') {
                    out.push('\n');
                }
            }
            c if is_unwanted(c) => {}
            c => out.push(c),
        }
    }
    (Cow::Owned(out), damage)
}

/// Whether a byte may begin something that `is_unwanted` matches. Most text has none of them, and bytes are cheap to
/// test.
fn may_begin_unwanted(byte: u8) -> bool {
    // 0xc2 leads the C1 controls in UTF-8, 0xe2 the direction overrides; both lead harmless characters, too.
    let control = (byte < b' ') & (byte != b'\n') & (byte != b'\t');
    control | (byte == 0x7f) | (byte == 0xc2) | (byte == 0xe2)
}

fn is_unwanted(c: char) -> bool {
    let control = c.is_control() && c != '\n' && c != '\t';
    control || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Skips what belongs to an escape character: a control sequence, a string, or a single character.
fn skip_escape(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match chars.peek() {
        Some('[') => {
            chars.next();
            skip_csi(chars);
        }
        Some(']' | 'P' | '_' | '^' | 'X') => skip_string(chars),
        Some(c) if c.is_ascii() && *c != '\n' => {
            chars.next();
        }
        _ => {}
    }
}

/// Skips a control sequence up to its final character.
fn skip_csi(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    // Stops at a line end or a character outside ASCII: an unended sequence must not swallow what follows.
    while let Some(c) = chars.peek().copied() {
        if c == '\n' || !c.is_ascii() {
            return;
        }
        chars.next();
        if ('@'..='~').contains(&c) {
            return;
        }
    }
}

/// Skips OSC and its kin, which end at BEL or ESC `\`. An unended one ends with its line, so it cannot swallow a
/// report.
fn skip_string(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    chars.next();
    while let Some(c) = chars.peek().copied() {
        if c == '\n' {
            return;
        }
        chars.next();
        if c == '\u{7}' {
            return;
        }
        if c == '\u{1b}' {
            if chars.peek() == Some(&'\\') {
                chars.next();
            }
            return;
        }
    }
}

/// The first `max` bytes, cut at a character boundary, with a note when something is missing.
pub(crate) fn clip(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let mut end = max;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}… ({} bytes in all)", &text[..end], text.len())
}

/// The line without its list mark: `- `, `* `, `+ `, `• `, `1. `, `1) `, or a check box.
pub(crate) fn strip_bullet(line: &str) -> &str {
    let line = line.trim_start();
    let rest = strip_mark(line).unwrap_or(line);
    for boxed in ["[ ] ", "[x] ", "[X] "] {
        if let Some(rest) = rest.strip_prefix(boxed) {
            return rest.trim_start();
        }
    }
    rest
}

/// The line behind its list mark; `None` when it has none.
fn strip_mark(line: &str) -> Option<&str> {
    for mark in ["- ", "* ", "+ ", "• ", "– ", "— "] {
        if let Some(rest) = line.strip_prefix(mark) {
            return Some(rest.trim_start());
        }
    }
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = &line[digits..];
    // A longer number is a year or a count, not the number of a list item.
    if (1..=4).contains(&digits) && (rest.starts_with(". ") || rest.starts_with(") ")) {
        return Some(rest[2..].trim_start());
    }
    None
}

/// Whether the line is an item of a list.
pub(crate) fn is_bullet(line: &str) -> bool {
    let line = line.trim_start();
    strip_mark(line).is_some()
}

/// The level and the words of a heading such as `## Words`.
///
/// Up to six marks and a blank, as Markdown has it.
pub(crate) fn heading(line: &str) -> Option<(usize, &str)> {
    let line = line.trim_start();
    let level = line.bytes().take_while(|b| *b == b'#').count();
    let rest = &line[level..];
    // `#include` and `#1` are not headings: a blank has to follow.
    ((1..=6).contains(&level) && rest.starts_with([' ', '\t']))
        .then(|| (level, rest.trim().trim_end_matches('#').trim_end()))
}

/// Strips bold, italics, code marks and space from both ends.
pub(crate) fn bare(value: &str) -> &str {
    value.trim_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '_' | '`'))
}

/// Strips one matched pair of bold marks, and nothing else. Use it where an underscore or a backtick belongs to the
/// value.
pub(crate) fn unbold(value: &str) -> &str {
    let value = value.trim();
    for mark in ["**", "__"] {
        let inner = value.strip_prefix(mark).and_then(|v| v.strip_suffix(mark));
        if let Some(inner) = inner.filter(|v| !v.contains(mark)) {
            return inner.trim();
        }
    }
    value
}

/// A `Key: value` line, bold or not, in a list or not; the key in lower case.
///
/// The key must be short and plain, so that code and sentences with a colon are not taken for fields.
pub(crate) fn field(line: &str) -> Option<(String, &str)> {
    let line = strip_bullet(line);
    // A colon further on belongs to a sentence.
    let (at, colon) = line.char_indices().take(60).find(|(_, c)| matches!(c, ':' | '：'))?;
    let raw = &line[..at];
    let key = raw.trim_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '_' | '#' | '`'));
    let plain =
        |c: char| c.is_alphanumeric() || matches!(c, ' ' | '/' | '_' | '-' | '(' | ')' | '\'' | '’' | '#');
    if key.is_empty() || !key.chars().all(plain) {
        return None;
    }
    let mut value = line[at + colon.len_utf8()..].trim();
    // `**Key:** value` closes its bold after the colon.
    if raw.trim_start().starts_with("**") && !raw.trim_end().ends_with("**") {
        value = value.strip_prefix("**").unwrap_or(value).trim();
    }
    Some((key.to_lowercase(), value))
}

/// Lower case, with `_` and `-` as spaces and one space between words, so that one table entry matches every spelling.
pub(crate) fn plain_words(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split(|c: char| c.is_whitespace() || c == '_' || c == '-').filter(|w| !w.is_empty()) {
        if !out.is_empty() {
            out.push(' ');
        }
        out.extend(word.chars().flat_map(char::to_lowercase));
    }
    out
}

/// The rest of a text that starts with the phrase, where the phrase ends there: "passable" does not start with "pass".
pub(crate) fn starts_with_phrase<'a>(text: &'a str, phrase: &str) -> Option<&'a str> {
    let rest = text.strip_prefix(phrase)?;
    rest.chars().next().is_none_or(|c| !c.is_alphanumeric()).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cleaning_keeps_words_and_takes_escapes() {
        for (input, expect) in [
            ("plain", "plain"),
            ("\u{1b}[1;31mred\u{1b}[0m", "red"),
            ("a\r\nb\rc", "a\nb\nc"),
            ("\u{1b}]0;title\u{7}x", "x"),
            ("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
            ("\u{1b}]never ended\nVERDICT: reject", "\nVERDICT: reject"),
            ("\u{9b}31mred", "red"),
            ("nul\0here", "nulhere"),
            ("\u{feff}bom", "bom"),
            ("tür ✓ 日本", "tür ✓ 日本"),
            ("a\u{202e}b", "ab"),
            ("\u{1b}", ""),
            ("\u{1b}[", ""),
        ] {
            assert_eq!(clean(input).0, expect, "{input:?}");
        }
        assert!(clean("a\0").1.nul);
    }

    #[test]
    fn fields_are_read_with_any_markup() {
        for line in ["File: a", "- **File**: a", "* **File:** a", "__File__: a", "1. File : a", "### File: a"]
        {
            assert_eq!(field(line), Some(("file".to_owned(), "a")), "{line}");
        }
        assert_eq!(field("no colon"), None);
        assert_eq!(field("fn a() { b: c }"), None);
    }
}
