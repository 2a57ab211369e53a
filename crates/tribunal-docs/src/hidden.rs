//! Characters that a reader of code cannot see, or that make the code read otherwise than it runs: controls, direction
//! marks, zero-width characters. It says where a change adds some; what that means is decided elsewhere.

use std::collections::BTreeSet;

/// What lines of a file hold that cannot be seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hidden {
    /// The first of the lines.
    pub line: u32,
    /// How many lines.
    pub lines: usize,
    /// The characters.
    pub chars: BTreeSet<char>,
}

impl Hidden {
    /// The characters by their numbers: `U+001B, U+202E`.
    pub fn numbers(&self) -> String {
        let number = |c: &char| format!("U+{:04X}", u32::from(*c));
        self.chars.iter().map(number).collect::<Vec<_>>().join(", ")
    }
}

/// Whether a character cannot be seen, or moves or joins what can. Newlines and tabs are seen well enough.
pub fn is_hidden(c: char, before: char) -> bool {
    match c {
        '\n' | '\t' => false,
        // Part of an emoji, or of a script that needs it.
        '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}' => before.is_ascii(),
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' => true,
        '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' => true,
        '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0d}' | '\u{feff}' => true,
        '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}' => true,
        c => c.is_control(),
    }
}

/// Hidden characters on lines of a file that it did not have before. A file that is no text holds none. Carriage returns
/// at the end of lines, form feeds and the mark that a text begins with are how some programs write texts.
pub fn hidden(old: &[u8], new: &[u8]) -> Option<Hidden> {
    if !is_text(new) {
        return None;
    }
    let known: BTreeSet<&[u8]> = old.split(|byte| *byte == b'\n').collect();
    let mut found: Option<Hidden> = None;
    for (line, number) in new.split(|byte| *byte == b'\n').zip(1..) {
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

/// Hidden characters of one line, or of a name.
pub fn hidden_in(line: &[u8], is_first: bool) -> BTreeSet<char> {
    let text = String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line));
    let text = text.strip_prefix('\u{feff}').filter(|_| is_first).unwrap_or(&text);
    let mut before = '\n';
    let hides = |c: &char| {
        let hides = *c != '\u{c}' && is_hidden(*c, before);
        before = *c;
        hides
    };
    text.chars().filter(hides).collect()
}

/// Whether bytes are a text, but for a few of them.
pub fn is_text(bytes: &[u8]) -> bool {
    let strange = |byte: &&u8| byte.is_ascii_control() && !b"\t\n\r\x08\x0c\x1b".contains(byte);
    let controls = bytes.iter().filter(strange).count();
    let invalid: usize = bytes.utf8_chunks().map(|chunk| chunk.invalid().len()).sum();
    (controls + invalid).saturating_mul(20) <= bytes.len()
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
        check("", "fine\nlet a = \u{202e}x\u{202c};\nb\u{200b}\n", Some((2, 2, "U+200B, U+202C, U+202E")));
        check("a\u{200b}\n", "a\u{200b}\nmore\n", None);
        check("a\u{200b}\n", "a\u{200b}!\n", Some((1, 1, "U+200B")));
        check("", "first\rsecond\n", Some((1, 1, "U+000D")));
        check("", "x\u{feff}y\n", Some((1, 1, "U+FEFF")));
        check("", "hidden\u{e0041} instruction\n", Some((1, 1, "U+E0041")));
        check("", &format!("{}\0\necho\n", "a long script\n".repeat(9)), Some((10, 1, "U+0000")));
        check("", "\0\u{1}\u{2}", None);
    }

    #[test]
    fn names_hide_nothing_either() {
        assert_eq!(hidden_in(b"src/a.rs", false).len(), 0);
        assert_eq!(hidden_in("src/\u{202e}sr.a".as_bytes(), false).len(), 1);
        assert_eq!(hidden_in(b"a\nb\x1b", false).into_iter().collect::<String>(), "\u{1b}");
    }
}
