//! One line with a box: `- [ ] text`, `1. [x] text`, `- [ ]* text`.
//!
//! The readers and the code that ticks a box share it, so both agree about where the mark is.

use std::ops::Range;

/// A list item with a box.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BoxLine<'a> {
    /// The columns before the list marker.
    pub indent: usize,
    /// The character in the box.
    pub mark: char,
    /// The bytes of the line that hold the mark.
    pub mark_at: Range<usize>,
    /// Whether a star follows the box, which means optional in Kiro.
    pub starred: bool,
    /// The text of the line behind the box and its star.
    pub rest: &'a str,
}

impl BoxLine<'_> {
    /// Whether the mark says finished. `[-]`, `[~]` and `[/]` do not.
    pub(super) fn done(&self) -> bool {
        matches!(self.mark, 'x' | 'X') || is_tick(self.mark)
    }
}

/// Whether a character is one that people write for finished, besides the letter.
pub(super) fn is_tick(c: char) -> bool {
    matches!(c, '✓' | '✔' | '✅' | '☑')
}

/// The columns by which a line is indented. A tab leads to the next multiple of four.
pub(super) fn indent(line: &str) -> usize {
    let blank = line.chars().take_while(|c| matches!(c, ' ' | '\t'));
    blank.fold(0, |column, c| if c == '\t' { column / 4 * 4 + 4 } else { column + 1 })
}

/// The text that follows a list marker: `- `, `* `, `+ `, `1. `, `1) `.
pub(super) fn list_item(line: &str) -> Option<&str> {
    let line = line.trim_start_matches([' ', '\t']);
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let rest = match digits {
        0 => line.strip_prefix(['-', '*', '+'])?,
        // Markdown allows nine digits in a list marker.
        1..=9 => line[digits..].strip_prefix(['.', ')'])?,
        _ => return None,
    };
    rest.starts_with([' ', '\t']).then(|| rest.trim_start_matches([' ', '\t']))
}

/// Reads a line with a box. A letter other than x makes no box, and `[x](…)` is a link.
pub(super) fn box_line(line: &str) -> Option<BoxLine<'_>> {
    let item = list_item(line)?;
    let inner = item.strip_prefix('[')?;
    let mark = inner.chars().next()?;
    if (mark.is_alphanumeric() && !matches!(mark, 'x' | 'X')) || matches!(mark, '[' | ']') {
        return None;
    }
    let after = &inner[mark.len_utf8()..];
    // A tick may be followed by the mark that asks for its coloured form.
    let after = after.strip_prefix('\u{fe0f}').unwrap_or(after);
    let rest = after.strip_prefix(']')?;
    if rest.starts_with('(') && mark != ' ' {
        return None;
    }
    let start = line.len() - inner.len();
    let mark_at = start..line.len() - after.len();
    // Two stars are bold text and not Kiro's mark. A formatter may have escaped the one.
    let star =
        rest.strip_prefix("\\*").or_else(|| rest.strip_prefix('*')).filter(|more| !more.starts_with('*'));
    let mark = if mark == '\t' { ' ' } else { mark };
    Some(BoxLine { indent: indent(line), mark, mark_at, starred: star.is_some(), rest: star.unwrap_or(rest) })
}

#[cfg(test)]
mod tests {
    use super::box_line;

    #[test]
    fn boxes_as_people_write_them() {
        let check = |line: &str, expect: Option<(char, bool, bool, &str)>| {
            let found = box_line(line).map(|b| (b.mark, b.done(), b.starred, b.rest.trim()));
            assert_eq!(found, expect, "{line}");
        };
        check("- [ ] a", Some((' ', false, false, "a")));
        check("  * [x]a", Some(('x', true, false, "a")));
        check("12. [X] a", Some(('X', true, false, "a")));
        check("1) [✓] a", Some(('✓', true, false, "a")));
        check("+ [✔\u{fe0f}] a", Some(('✔', true, false, "a")));
        check("- [~] a", Some(('~', false, false, "a")));
        check("- [-] a", Some(('-', false, false, "a")));
        check("- [ ]* 1.1 a", Some((' ', false, true, "1.1 a")));
        check("- [ ]\\* 1.1 a", Some((' ', false, true, "1.1 a")));
        check("- [ ]**T1** a", Some((' ', false, false, "**T1** a")));
        check("- [P] parallel", None);
        check("- [] a", None);
        check("- [x](https://example.org)", None);
        check("-[ ] a", None);
        check("[ ] a", None);
        check("- [ ", None);
        check("", None);
    }
}
