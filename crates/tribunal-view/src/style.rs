//! How words look on a terminal: symbols, colours, columns. Colour never carries a meaning of its own.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// What a symbol says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    /// Under way.
    Running,
    /// Done, and good.
    Complete,
    /// Not good.
    Failed,
    /// Not done, on purpose or not yet.
    Skipped,
    /// A person should look.
    Warning,
}

impl Mark {
    /// The symbol.
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

/// Whether and how to colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Colours are wanted.
    pub colour: bool,
    /// Columns there are; 0 means that lines may be as long as they like.
    pub width: usize,
}

impl Style {
    /// Without colours, of any width.
    pub const PLAIN: Style = Style { colour: false, width: 0 };

    /// The symbol, coloured where that is wanted.
    pub fn mark(self, mark: Mark) -> String {
        self.ink(mark.ink(), &mark.symbol().to_string())
    }

    /// Emphasised.
    pub fn bold(self, text: &str) -> String {
        self.ink("1", text)
    }

    /// Of less interest.
    pub fn faint(self, text: &str) -> String {
        self.ink("2", text)
    }

    pub(crate) fn ink(self, code: &str, text: &str) -> String {
        if self.colour && !text.is_empty() {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }

    /// A line cut to the width; only for lines without colours in them.
    pub fn fit(self, line: &str) -> String {
        if self.width == 0 { line.to_owned() } else { cut(line, self.width) }
    }

    /// Text wrapped at words to the width, every line after the first indented. The first one stands after something as
    /// wide, a mark or a margin. A command in backticks is one word: who copies it must not copy a line break.
    pub fn wrap(self, text: &str, indent: &str) -> String {
        if self.width == 0 {
            return text.to_owned();
        }
        let mut out = String::new();
        let mut column = indent.width();
        for word in words(text) {
            let wide = word.width();
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

/// The words of a text, in which a command in backticks is one.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text.trim_start();
    std::iter::from_fn(move || {
        let (word, after) = rest.split_at(word_end(rest));
        rest = after.trim_start();
        (!word.is_empty()).then_some(word)
    })
}

/// Where the first word ends. A name within a command may be in backticks too, which come in pairs.
fn word_end(text: &str) -> usize {
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
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
    if in_code { end } else { text.len() }
}

/// Whether a text is a command to copy.
pub(crate) fn is_command(text: &str) -> bool {
    text.starts_with("git ") || text.starts_with("tribunal ")
}

/// The text in at most so many columns; what is cut is marked.
pub fn cut(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut left = columns.saturating_sub(1);
    let mut out = String::new();
    for c in text.chars() {
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

/// The text filled with blanks to so many columns.
pub fn pad(text: &str, columns: usize) -> String {
    let fill = columns.saturating_sub(text.width());
    format!("{text}{}", " ".repeat(fill))
}

/// Columns a text takes.
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
