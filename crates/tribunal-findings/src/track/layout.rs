//! Tells whether code changed only in its layout: spaces and line breaks, and the brackets, commas, semicolons and
//! quotes that formatters put in and take out.
//!
//! It errs to one side: when in doubt, a change counts as layout. A tool's finding then stays open, which costs a
//! round; the other error would close a finding that nobody fixed.

use super::anchor::{Anchors, Side};
use super::change::{Change, FileChange, Hunk};

/// Lines around a finding's own that a formatter may have joined to them.
const JOINED: usize = 3;

/// Whether nothing but layout changed at these lines of the old file.
///
/// Where the lines themselves are unchanged, whether nothing but layout changed anywhere: then the tool fell silent
/// without a reason in the code.
pub(super) fn is_all(change: &Change, anchors: &mut Anchors<'_>, file: &str, lines: (u32, u32)) -> bool {
    let Some(changed) = change.file_from(file) else { return all_files(change, anchors) };
    // A deleted file is more than layout.
    if changed.new.is_none() {
        return false;
    }
    let meets = |hunk: &&Hunk| {
        hunk.old_len > 0 && hunk.old_start <= lines.1 && lines.0 < hunk.old_start + hunk.old_len
    };
    let hunks: Vec<&Hunk> = changed.hunks.iter().filter(meets).collect();
    if hunks.is_empty() {
        return all_files(change, anchors);
    }
    hunks.into_iter().all(|hunk| {
        let (old, new) = texts(changed, anchors, hunk);
        let first = lines.0.saturating_sub(hunk.old_start) as usize;
        let last = (lines.1.saturating_sub(hunk.old_start) as usize).min(old.len().saturating_sub(1));
        is_kept(&old, &new, first, last)
    })
}

fn all_files(change: &Change, anchors: &mut Anchors<'_>) -> bool {
    change.files().iter().all(|file| {
        let named = file.old.is_some() && file.old == file.new;
        named
            && file.hunks.iter().all(|hunk| {
                let (old, new) = texts(file, anchors, hunk);
                old.concat() == new.concat()
            })
    })
}

/// The bare words of a stretch, before and after.
fn texts(file: &FileChange, anchors: &mut Anchors<'_>, hunk: &Hunk) -> (Vec<String>, Vec<String>) {
    let mut read = |side: Side, path: Option<&String>, from: u32, len: u32| {
        let mut lines = Vec::new();
        if let Some(path) = path {
            anchors.each_line(side, path, from, len, &mut |_, text| lines.push(bare(text)));
        }
        lines
    };
    (
        read(Side::Before, file.old.as_ref(), hunk.old_start, hunk.old_len),
        read(Side::After, file.new.as_ref(), hunk.new_start, hunk.new_len),
    )
}

/// What is left of a line without everything that is layout.
fn bare(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && !"(){},;'\"`".contains(*c)).collect()
}

/// Whether the words of some lines are still there as whole lines, possibly joined with lines beside them.
fn is_kept(old: &[String], new: &[String], first: usize, last: usize) -> bool {
    let words = old.get(first..=last).unwrap_or_default().concat();
    // Nothing but brackets: they would be found anywhere.
    if words.is_empty() {
        return false;
    }
    let all: String = new.concat();
    // Matches must begin and end with a line, or `x = f(y)` would be found in `x = f(y)?`.
    let mut ends = std::collections::BTreeSet::from([0]);
    let mut at = 0;
    for line in new {
        at += line.len();
        ends.insert(at);
    }
    let starts = first.saturating_sub(JOINED)..=first;
    starts.into_iter().any(|from| {
        (last..=(last + JOINED).min(old.len().saturating_sub(1))).any(|to| {
            let words = old[from..=to].concat();
            all.match_indices(&words).any(|(at, _)| ends.contains(&at) && ends.contains(&(at + words.len())))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(old: &str, new: &str, first: usize, last: usize, expect: bool) {
        let lines = |text: &str| text.lines().map(bare).collect::<Vec<_>>();
        assert_eq!(is_kept(&lines(old), &lines(new), first, last), expect, "{old:?} {new:?}");
    }

    #[test]
    fn layout_is_told_from_a_fix() {
        check("if (a = b) return;", "if ((a = b)) return;", 0, 0, true);
        check("if (a = b) return;", "if (a === b) return;", 0, 0, false);
        check("f(a, b)", "f(\n  a,\n  b,\n)", 0, 0, true);
        check("f(a,\n  b)", "f(a, b);", 1, 1, true);
        check("x = 'a'", "x = \"a\"", 0, 0, true);
        check("x = f(y)", "x = f(y)?", 0, 0, false);
        check("x = f()", "", 0, 0, false);
        // The line beside it was fixed, it itself was not.
        check("var a = 1\nif (a = b) c()", "let a = 1;\nif ((a = b)) c();", 1, 1, true);
        check("var a = 1\nif (a = b) c()", "let a = 1;\nif ((a = b)) c();", 0, 0, false);
        check("}", "}\n}", 0, 0, false);
    }
}
