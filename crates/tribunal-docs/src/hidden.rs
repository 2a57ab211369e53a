//! Finds characters that a reader of code cannot see, or that make code read otherwise than it runs: controls,
//! direction marks and zero-width characters.
//!
//! It says where a change adds some; the consequence is decided elsewhere. Scripts and emoji that are ordinarily
//! written with such characters are spared, or every Persian or Hindi text would be reported.

use std::collections::BTreeSet;

/// The characters in a file that cannot be seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hidden {
    /// The first line that holds one.
    pub line: u32,
    /// How many lines hold one.
    pub lines: usize,
    /// The characters, each once.
    pub chars: BTreeSet<char>,
}

impl Hidden {
    /// The characters by their code points: `U+001B, U+202E`.
    pub fn numbers(&self) -> String {
        let number = |c: &char| format!("U+{:04X}", u32::from(*c));
        self.chars.iter().map(number).collect::<Vec<_>>().join(", ")
    }
}

/// Whether a character cannot be seen, or moves or joins what can be seen. Newlines and tabs are visible enough.
///
/// Characters that some scripts and emoji are ordinarily written with show in their effect there. Anywhere else they
/// are hidden, so the neighbours decide.
pub fn is_hidden(c: char, before: char, after: Option<char>) -> bool {
    match c {
        '\n' | '\t' => false,
        '\u{200c}' => !has_joiners(before),
        '\u{200d}' => !has_joiners(before) && !is_picture(before) && before != '\u{fe0f}',
        // As in a keycap: a digit, this mark, and the box around them.
        '\u{fe0f}' if after == Some('\u{20e3}') => !(before.is_ascii_digit() || matches!(before, '#' | '*')),
        '\u{fe0e}' | '\u{fe0f}' => !is_picture(before),
        // A variant form of the same ideograph.
        '\u{fe00}'..='\u{fe02}' | '\u{e0100}'..='\u{e01ef}' => !is_ideograph(before),
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' => true,
        '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' => true,
        '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0d}' | '\u{feff}' => true,
        '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}' => true,
        // An empty cell of braille is drawn as a space; the other cells are not.
        '\u{2800}' | '\u{16fe4}' | '\u{1d159}' => true,
        // Controls of hieroglyphs, of shorthand and of musical notation.
        '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' => true,
        // What no text has: the last two of each plane, and a block in the first.
        '\u{fdd0}'..='\u{fdef}' => true,
        c if u32::from(c) & 0xfffe == 0xfffe => true,
        c => c.is_control(),
    }
}

/// Whether a letter belongs to a script whose letters join, and where a character between two letters says whether they
/// do: from Arabic to Khmer, and Mongolian.
fn has_joiners(c: char) -> bool {
    matches!(c, '\u{600}'..='\u{8ff}' | '\u{900}'..='\u{dff}' | '\u{f00}'..='\u{109f}' | '\u{1780}'..='\u{18af}')
        // The direction mark of Arabic lies in the same block and joins nothing.
        && c != '\u{61c}'
}

/// Whether a character is a symbol or a picture, skin tones included.
fn is_picture(c: char) -> bool {
    matches!(c, '\u{a9}' | '\u{ae}' | '\u{203c}'..='\u{205f}' | '\u{2070}'..='\u{2bff}')
        || matches!(c, '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}' | '\u{1f000}'..='\u{1faff}')
}

fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// The hidden characters on lines that a file did not have before. A file that is not text has none.
///
/// Carriage returns at line ends, form feeds and a byte order mark at the start are spared, because some programs write
/// texts that way.
pub fn hidden(old: &[u8], new: &[u8]) -> Option<Hidden> {
    if !is_text(new) {
        return None;
    }
    let known: BTreeSet<&[u8]> = old.split(|byte| *byte == b'\n').collect();
    let mut found: Option<Hidden> = None;
    for (line, number) in new.split(|byte| *byte == b'\n').zip(1..) {
        // Moved lines were there before and are not what the change adds.
        if known.contains(line) {
            continue;
        }
        let chars = hidden_in(line, number == 1);
        if let Some(all) = found.as_mut().filter(|_| !chars.is_empty()) {
            all.lines += 1;
            all.chars.extend(chars);
        } else if !chars.is_empty() {
            found = Some(Hidden { line: number, lines: 1, chars });
        }
    }
    found
}

/// The hidden characters of one line, or of a file name.
pub fn hidden_in(line: &[u8], is_first: bool) -> BTreeSet<char> {
    let text = String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line));
    let text = text.strip_prefix('\u{feff}').filter(|_| is_first).unwrap_or(&text);
    let (mut before, mut chars, mut found) = ('\n', text.chars().peekable(), BTreeSet::new());
    while let Some(c) = chars.next() {
        if c != '\u{c}' && is_hidden(c, before, chars.peek().copied()) {
            found.insert(c);
        }
        before = c;
    }
    found
}

/// Whether bytes are a text, apart from a few of them.
///
/// A single zero byte makes git call a file binary and show nothing of it. This is how such a file is still recognised
/// as code. A shell reads a script up to its end and never what comes after it, so bytes that begin as a text are one,
/// whatever follows.
pub fn is_text(bytes: &[u8]) -> bool {
    if begins_as_text(bytes) {
        return true;
    }
    let strange = |byte: &&u8| byte.is_ascii_control() && !b"\t\n\r\x08\x0c\x1b".contains(byte);
    let controls = bytes.iter().filter(strange).count();
    let invalid: usize = bytes.utf8_chunks().map(|chunk| chunk.invalid().len()).sum();
    // One strange byte in twenty is the limit; images and archives have far more.
    (controls + invalid).saturating_mul(20) <= bytes.len()
}

/// Whether the first line is one of a text: complete and without a strange byte, or one that names an interpreter.
fn begins_as_text(bytes: &[u8]) -> bool {
    /// Formats of data that begin with a line of text: documents, images.
    const DATA: [&[u8]; 8] = [b"%PDF-", b"%!PS", b"P1", b"P2", b"P4", b"P5", b"P6", b"PF"];
    /// A name of a format is shorter than this.
    const LINE_MIN: usize = 2;
    let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else {
        return bytes.starts_with(b"#!");
    };
    let line = bytes[..end].strip_suffix(b"\r").unwrap_or(&bytes[..end]);
    let plain =
        std::str::from_utf8(line).is_ok_and(|line| line.chars().all(|c| c == '\t' || !c.is_control()));
    let data = DATA.iter().any(|begin| line.starts_with(begin));
    bytes.starts_with(b"#!") || (plain && line.len() >= LINE_MIN && !data)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(old: &str, new: &str, expect: Option<(u32, usize, &str)>) {
        let found = hidden(old.as_bytes(), new.as_bytes());
        let found = found.map(|hidden| (hidden.line, hidden.lines, hidden.numbers()));
        let expect = expect.map(|(line, lines, chars)| (line, lines, chars.to_owned()));
        assert_eq!(found, expect, "{new:?}");
    }

    #[test]
    fn only_what_a_change_adds_and_nobody_sees_is_found() {
        check("", "plain\tand ünï ✓\n", None);
        check("", "\u{feff}a\r\nb\r\n\u{c}\n", None);
        check("", "wave 👩\u{200d}💻 ⚠\u{fe0f} and नमस्\u{200d}ते\n", None);
        check(
            "",
            "می\u{200c}خواهم, שָׁלוֹם, e\u{301}, 1\u{fe0f}\u{20e3} ❤\u{fe0f}\u{200d}🔥 👍🏽 葛\u{e0100}\n",
            None,
        );
        check("", "let n = 1\u{fe0f}0;\n", Some((1, 1, "U+FE0F")));
        check("", "caf\u{e9}\u{200d}s = \u{e9}\u{200c}\n", Some((1, 1, "U+200C, U+200D")));
        check("", "😀\u{fe0f}\u{fe0e}\u{e0101}\u{200d}\u{200d}\n", Some((1, 1, "U+200D, U+FE0E, U+E0101")));
        check("", "left\u{61c}\u{200d}\u{85}\n", Some((1, 1, "U+0085, U+061C, U+200D")));
        check("", "fine\nlet a = \u{202e}x\u{202c};\nb\u{200b}\n", Some((2, 2, "U+200B, U+202C, U+202E")));
        check("a\u{200b}\n", "a\u{200b}\nmore\n", None);
        check("a\u{200b}\n", "a\u{200b}!\n", Some((1, 1, "U+200B")));
        check("", "a\u{1bca0}\u{1d173}\n", Some((1, 1, "U+1BCA0, U+1D173")));
        check("", "first\rsecond\n", Some((1, 1, "U+000D")));
        check("", "x\u{feff}y\n", Some((1, 1, "U+FEFF")));
        check("", "hidden\u{e0041} instruction\n", Some((1, 1, "U+E0041")));
        check("", &format!("{}\0\necho\n", "a long script\n".repeat(9)), Some((10, 1, "U+0000")));
        check("", "\0\u{1}\u{2}", None);
        check("", "#!/bin/sh\necho\nexit 0\n\0\0\n", Some((4, 1, "U+0000")));
        check("", &format!("echo\nexit 0\n{}\n", "\0".repeat(99)), Some((3, 1, "U+0000")));
        check("", &format!("%PDF-1.4\n{}", "\0".repeat(99)), None);
        // Nobody sees an empty braille cell, a filler, a mark of notation or of hieroglyphs, or what is no character.
        let blank = "a\u{2800}b\u{16fe4}c\u{1d159}d\u{13430}e\u{fffe}\n";
        check("", blank, Some((1, 1, "U+2800, U+FFFE, U+13430, U+16FE4, U+1D159")));
    }

    #[test]
    fn names_hide_nothing_either() {
        assert_eq!(hidden_in(b"src/a.rs", false).len(), 0);
        assert_eq!(hidden_in("src/\u{202e}sr.a".as_bytes(), false).len(), 1);
        assert_eq!(hidden_in(b"a\nb\x1b", false).into_iter().collect::<String>(), "\u{1b}");
    }
}
