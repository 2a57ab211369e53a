//! How words look on a terminal: symbols, colours, columns. Colour never carries a meaning of its own.
//!
//! Widths are columns and not characters, because some characters take two. Wrap or cut a text first and colour it
//! afterwards: an escape sequence would be counted as text.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The meaning of a symbol.
///
/// Every mark has its own character, so that it can be told apart without colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    /// The work is under way.
    Running,
    /// The work is done, and good.
    Complete,
    /// The work is not good.
    Failed,
    /// The work is not done, on purpose or not yet.
    Skipped,
    /// A person should look at it.
    Warning,
}

impl Mark {
    /// The character that is shown.
    pub fn symbol(self) -> char {
        match self {
            Mark::Running => '◆',
            Mark::Complete => '✓',
            Mark::Failed => '✗',
            Mark::Skipped => '○',
            Mark::Warning => '⚠',
        }
    }

    fn ink(self) -> &'static str {
        match self {
            Mark::Running => "36",
            Mark::Complete => "32",
            Mark::Failed => "31",
            Mark::Skipped => "2",
            Mark::Warning => "33",
        }
    }
}

/// Whether and how to colour, and how wide the terminal is.
///
/// A caller finds out once what the terminal can do and passes this value to every view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Whether colours are wanted, which also means that the terminal has some.
    pub colour: bool,
    /// The number of columns; 0 means that lines may have any length.
    pub width: usize,
}

impl Style {
    /// No colours and any width, for files and pipes.
    pub const PLAIN: Style = Style { colour: false, width: 0 };

    /// Returns the symbol, coloured if that is wanted.
    pub fn mark(self, mark: Mark) -> String {
        self.ink(mark.ink(), &mark.symbol().to_string())
    }

    /// Emphasises a text, as in a headline.
    pub fn bold(self, text: &str) -> String {
        self.ink("1", text)
    }

    /// Shows a text as less important.
    pub fn faint(self, text: &str) -> String {
        self.ink("2", text)
    }

    pub(crate) fn ink(self, code: &str, text: &str) -> String {
        // An empty text stays empty: escapes around nothing would still be bytes in a log.
        if self.colour && !text.is_empty() {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }

    /// Cuts a line to the width. It is only for lines without colours in them.
    pub fn fit(self, line: &str) -> String {
        if self.width == 0 { line.to_owned() } else { cut(line, self.width) }
    }

    /// Wraps a text at words to the width, with every line after the first indented.
    ///
    /// The first line stands behind something as wide as the indent, a mark or a margin. A command in backticks counts
    /// as one word: whoever copies it must not copy a line break.
    pub fn wrap(self, text: &str, indent: &str) -> String {
        if self.width == 0 {
            return text.to_owned();
        }
        let mut out = String::new();
        let mut column = indent.width();
        for word in words(text) {
            let wide = word.width();
            // The first word is never wrapped: a word that is too long would otherwise leave an empty line.
            if !out.is_empty() && column + 1 + wide > self.width {
                out.push('\n');
                out.push_str(indent);
                column = indent.width();
            } else if !out.is_empty() {
                out.push(' ');
                column += 1;
            }
            out.push_str(word);
            column += wide;
        }
        out
    }
}

/// Splits a text into words, in which a command in backticks is one.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text.trim_start();
    std::iter::from_fn(move || {
        let (word, after) = rest.split_at(word_end(rest));
        rest = after.trim_start();
        (!word.is_empty()).then_some(word)
    })
}

/// Finds the end of the first word. A name within a command may be in backticks, too, and backticks come in pairs.
fn word_end(text: &str) -> usize {
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    // A command may stand in parentheses.
    let code = text.trim_start_matches('(').strip_prefix('`').unwrap_or_default();
    if !is_command(code) {
        return end;
    }
    let mut in_code = false;
    for (at, c) in text.char_indices() {
        in_code ^= c == '`';
        if !in_code && c.is_whitespace() {
            return at;
        }
    }
    // A backtick that is never closed is an ordinary character.
    if in_code { end } else { text.len() }
}

/// Whether a text is a command to copy.
///
/// Only programs that our own hints name are recognised. A command of anybody else is wrapped like other text.
pub(crate) fn is_command(text: &str) -> bool {
    text.starts_with("git ") || text.starts_with("tribunal ")
}

/// Cuts a text to this many columns, and marks the cut.
///
/// The mark of the cut takes a column of its own, so the result is never wider than allowed.
pub fn cut(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    // One column is for the mark of the cut.
    let mut left = columns.saturating_sub(1);
    let mut out = String::new();
    for c in text.chars() {
        // A character without a width, such as a combining mark, takes no column of its own.
        let wide = c.width().unwrap_or(0);
        if wide > left {
            break;
        }
        left -= wide;
        out.push(c);
    }
    if columns > 0 {
        out.push('…');
    }
    out
}

/// Fills a text with blanks to this many columns.
pub fn pad(text: &str, columns: usize) -> String {
    let fill = columns.saturating_sub(text.width());
    format!("{text}{}", " ".repeat(fill))
}

/// The number of columns that a text takes.
pub fn columns(text: &str) -> usize {
    text.width()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_to_columns_not_bytes() {
        for (text, columns, expect) in [
            ("plain", 5, "plain"),
            ("plainer", 5, "plai…"),
            ("日本語", 4, "日…"),
            ("abc", 0, ""),
            ("é✓x", 3, "é✓x"),
        ] {
            assert_eq!(cut(text, columns), expect, "{text} in {columns}");
        }
    }

    #[test]
    fn text_is_wrapped_at_words() {
        let style = Style { colour: false, width: 10 };
        assert_eq!(style.wrap("aa bb ccc", "  "), "aa bb\n  ccc");
        assert_eq!(style.wrap("aa bb cc dd ee", "  "), "aa bb cc\n  dd ee");
        assert_eq!(Style::PLAIN.wrap("aa bb", "  "), "aa bb");
        for (text, expect) in [
            ("so (`git a b c d`) e", "so\n  (`git a b c d`)\n  e"),
            ("`tribunal a 'b `c` d'`, e", "`tribunal a 'b `c` d'`,\n  e"),
            ("`git never ends here", "`git\n  never\n  ends\n  here"),
            ("`code that is none` x", "`code\n  that is\n  none` x"),
        ] {
            assert_eq!(style.wrap(text, "  "), expect);
        }
    }
}
