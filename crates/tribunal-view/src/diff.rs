//! A diff for a person at a terminal or in a log. Every byte that is shown can be seen, whatever is invisible stands as
//! a mark, and lines that are left out are counted.
//!
//! It uses `plain::visible`, not `plain::line`: a reader of code must see what is in it, and not a cleaned version.

use crate::plain;
use crate::style::{Style, cut};

/// Writes a diff with at most this many lines. A line that does not fit the width is cut, because the rest of a wrapped
/// line would have no sign.
///
/// It shows a change that a person is about to accept, so nothing in it may hide: lines beyond the limit are counted,
/// and invisible characters are marks.
pub fn text(diff: &[u8], style: Style, max: usize) -> String {
    let visible = plain::visible(diff);
    let mut out = String::new();
    let mut lines = visible.lines();
    for line in lines.by_ref().take(max) {
        // Cut and never wrapped: the second half of a wrapped line would look like context.
        let shown = if style.width == 0 { line.to_owned() } else { cut(line, style.width) };
        out.push_str(&inked(&shown, style));
        out.push('\n');
    }
    // Counted after the loop has taken its share, so the number is exactly what is missing.
    let left = lines.count();
    if left > 0 {
        out.push_str(&style.faint(&format!("… {left} more lines")));
        out.push('\n');
    }
    out
}

/// Counts the files and lines that a diff changes: `2 files, 10 lines added, 3 removed`.
pub fn counts(diff: &[u8]) -> String {
    // Counted in bytes: a diff may hold text in any encoding.
    let lines = || diff.split(|byte| *byte == b'\n');
    let begins = |line: &&[u8], with: &[u8]| line.starts_with(with);
    let files = lines().filter(|line| begins(line, b"diff --git ")).count();
    let (mut added, mut removed, mut in_hunk) = (0, 0, false);
    for line in lines() {
        match line.first() {
            // Every line of a hunk has a sign or a space, so this is the next file.
            Some(b'd') => in_hunk = false,
            Some(b'@') => in_hunk = true,
            // Before a hunk the signs are those of `---` and `+++`; inside one, `--- x` is a removed comment of SQL.
            Some(b'+') if in_hunk => added += 1,
            Some(b'-') if in_hunk => removed += 1,
            _ => {}
        }
    }
    let lines = crate::words::count(added, "line");
    format!("{}, {lines} added, {removed} removed", crate::words::count(files, "file"))
}

fn inked(line: &str, style: Style) -> String {
    let code = match line.as_bytes().first() {
        // Headers first, because they begin with the same signs as changed lines.
        _ if line.starts_with("+++") || line.starts_with("---") => "1",
        _ if line.starts_with("diff --git ") || line.starts_with("index ") => "2",
        Some(b'+') => "32",
        Some(b'-') => "31",
        Some(b'@') => "36",
        _ => return line.to_owned(),
    };
    style.ink(code, line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_seen_and_what_is_left_out_is_counted() {
        let diff = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n-a\n+b\u{202e}c\u{1b}[31m\n+d\n";
        let plain = text(diff.as_bytes(), Style::PLAIN, 6);
        assert!(plain.contains("+b⟦U+202E⟧c⟦U+001B⟧[31m\n"), "{plain}");
        assert!(plain.ends_with("… 1 more lines\n"), "{plain}");
        assert_eq!(counts(diff.as_bytes()), "1 file, 2 lines added, 1 removed");
        let sql = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n--- old\n+++ new\ndiff --git a/y b/y\n--- a/y\n+++ b/y\n@@ -1 +0,0 @@\n-z\n";
        assert_eq!(counts(sql.as_bytes()), "2 files, 1 line added, 2 removed");
        let narrow = text(diff.as_bytes(), Style { colour: true, width: 12 }, 99);
        assert!(narrow.contains("\u{1b}[31m-a\u{1b}[0m"), "{narrow}");
        assert!(
            narrow.lines().all(|line| !line.contains("U+001B")),
            "a cut line keeps to the width: {narrow}"
        );
    }
}
