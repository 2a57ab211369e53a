//! The difference between two trees as data: files, renames and hunks. Maps places from one tree to the other.
//!
//! No git is run here: the text of a diff comes in. All arithmetic on lines is bounded, because the diff may be of a
//! hostile tree.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One changed stretch: `old_len` lines from `old_start` became `new_len` lines from `new_start`, counted from 1.
///
/// A length of 0 stands before its start line. Git counts that differently; `shrunk` converts, and nothing else has to
/// know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hunk {
    /// First line of the stretch in the earlier tree.
    pub old_start: u32,
    /// How many lines it had in the earlier tree.
    pub old_len: u32,
    /// First line of the stretch in the later tree.
    pub new_start: u32,
    /// How many lines it has in the later tree.
    pub new_len: u32,
}

/// One file that differs. Without an old path it was added, without a new path deleted, with two different ones
/// renamed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// Path in the earlier tree.
    pub old: Option<String>,
    /// Path in the later tree.
    pub new: Option<String>,
    /// Changed stretches, in line order; lookups rely on the order.
    pub hunks: Vec<Hunk>,
}

/// All files that differ between two trees, found by either path.
///
/// The default is an empty change, in which every place is where it was. Callers use it when the trees are the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    files: Vec<FileChange>,
    by_old: BTreeMap<String, usize>,
    by_new: BTreeMap<String, usize>,
}

/// Where a place of the earlier tree is in the later one.
///
/// A changed line still gets a position, because a finding on it has most likely stayed near.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mapped {
    /// The line is still there, with this number.
    Kept(u32),
    /// The line was changed or deleted; this is roughly where it was.
    Changed(f64),
}

impl Change {
    /// Indexes the changed files by both paths.
    pub fn new(files: Vec<FileChange>) -> Self {
        let index = |path: fn(&FileChange) -> &Option<String>| {
            files
                .iter()
                .enumerate()
                .filter_map(|(n, file)| path(file).clone().map(|path| (path, n)))
                .collect()
        };
        Self { by_old: index(|file| &file.old), by_new: index(|file| &file.new), files }
    }

    /// Reads the output of `git diff -M`.
    ///
    /// Context lines are not a change: a hunk with context becomes as many stretches as its added and removed lines
    /// make. Unreadable parts are skipped.
    pub fn from_unified(diff: &str) -> Self {
        parse(diff)
    }

    /// The changed files, in the order of the diff.
    pub fn files(&self) -> &[FileChange] {
        &self.files
    }

    /// Number of changed lines; of each hunk the longer side counts.
    pub fn lines_changed(&self) -> u32 {
        self.files.iter().flat_map(|file| &file.hunks).map(|hunk| hunk.old_len.max(hunk.new_len)).sum()
    }

    /// The path in the later tree; `None` when the file was deleted.
    pub fn new_path<'p>(&'p self, old: &'p str) -> Option<&'p str> {
        match self.by_old.get(old) {
            Some(n) => self.files[*n].new.as_deref(),
            // A file that the diff does not mention is where it was.
            None => Some(old),
        }
    }

    /// Whether the file was there in the earlier tree, as far as the diff shows.
    pub fn existed(&self, new: &str) -> bool {
        self.by_new.get(new).is_none_or(|n| self.files[*n].old.is_some())
    }

    /// Whether the file differs at all, by its path in the earlier tree.
    pub fn differs(&self, old: &str) -> bool {
        self.by_old.contains_key(old)
    }

    /// Where a line of the earlier tree is now.
    pub fn map_line(&self, old: &str, line: u32) -> Mapped {
        let Some(n) = self.by_old.get(old) else { return Mapped::Kept(line) };
        let hunks = &self.files[*n].hunks;
        let after = hunks.partition_point(|hunk| hunk.old_start <= line);
        let Some(hunk) = after.checked_sub(1).map(|n| hunks[n]) else { return Mapped::Kept(line.max(1)) };
        if line < hunk.old_start + hunk.old_len {
            // Proportionally within the hunk: the best guess where ten lines became twenty.
            let part = f64::from(line - hunk.old_start) / f64::from(hunk.old_len.max(1));
            return Mapped::Changed(f64::from(hunk.new_start) + part * f64::from(hunk.new_len));
        }
        let shift = i64::from(hunk.new_start + hunk.new_len) - i64::from(hunk.old_start + hunk.old_len);
        Mapped::Kept(u32::try_from(i64::from(line) + shift).unwrap_or(line).max(1))
    }

    /// Index of the first hunk that meets these old lines, widened by `slack` lines.
    pub fn old_hunk(&self, old: &str, from: u32, to: u32, slack: u32) -> Option<usize> {
        first_met(&self.file_from(old)?.hunks, |h| (h.old_start, h.old_len), (from, to), slack)
    }

    /// Index of the first hunk that added or changed one of these new lines, widened by `slack` lines.
    pub fn new_hunk(&self, new: &str, from: u32, to: u32, slack: u32) -> Option<usize> {
        first_met(&self.file_at(new)?.hunks, |h| (h.new_start, h.new_len), (from, to), slack)
    }

    /// The change of the file with this path in the earlier tree.
    pub fn file_from(&self, old: &str) -> Option<&FileChange> {
        self.by_old.get(old).map(|n| &self.files[*n])
    }

    /// The change of the file with this path in the later tree.
    pub fn file_at(&self, new: &str) -> Option<&FileChange> {
        self.by_new.get(new).map(|n| &self.files[*n])
    }
}

/// The first stretch that meets a range of lines. Stretches are in order, so this is a binary search.
fn first_met(
    hunks: &[Hunk],
    span: fn(&Hunk) -> (u32, u32),
    (from, to): (u32, u32),
    slack: u32,
) -> Option<usize> {
    let before = |hunk: &Hunk| {
        let (start, len) = span(hunk);
        start.saturating_add(len.max(1)).saturating_add(slack) <= from
    };
    let begin = hunks.partition_point(before);
    let reachable = hunks[begin..].iter().take_while(|hunk| span(hunk).0 <= to.saturating_add(slack));
    let meets = |hunk: &Hunk| meets(span(hunk).0, span(hunk).1, from, to, slack);
    reachable.enumerate().find(|(_, hunk)| meets(hunk)).map(|(n, _)| begin + n)
}

fn meets(start: u32, len: u32, from: u32, to: u32, slack: u32) -> bool {
    let end = start + len;
    let (from, to) = (from.saturating_sub(slack), to.saturating_add(slack));
    // An empty side lies between two lines: no line is in it, but slack can reach it.
    if len == 0 && slack == 0 { false } else { start <= to && from < end.max(start + u32::from(len == 0)) }
}

/// Reads a unified diff line by line.
fn parse(diff: &str) -> Change {
    let mut files: Vec<FileChange> = Vec::new();
    let mut body: Option<Body> = None;
    for line in diff.split('\n') {
        // A body takes its lines by count. Its text may itself look like a header: "--- a/fake".
        if let (Some(open), Some(file)) = (&mut body, files.last_mut()) {
            if open.takes(line, &mut file.hunks) {
                continue;
            }
            body = None;
        }
        if let Some(rest) = line.strip_prefix("diff --git ") {
            files.push(paths_of_header(rest));
        } else if let Some(file) = files.last_mut() {
            body = header(line, file);
        }
    }
    if let (Some(open), Some(file)) = (body, files.last_mut()) {
        open.ends(&mut file.hunks);
    }
    Change::new(files)
}

/// Reads one line between the stretches of a file; returns the body that this line announces, if it does.
fn header(line: &str, file: &mut FileChange) -> Option<Body> {
    if let Some(path) = line.strip_prefix("rename from ").or_else(|| line.strip_prefix("copy from ")) {
        file.old = Some(unquoted(path));
    } else if let Some(path) = line.strip_prefix("rename to ").or_else(|| line.strip_prefix("copy to ")) {
        file.new = Some(unquoted(path));
    } else if let Some(path) = line.strip_prefix("--- ") {
        file.old = side(path);
    } else if let Some(path) = line.strip_prefix("+++ ") {
        file.new = side(path);
    } else if line.starts_with("new file mode") {
        file.old = None;
    } else if line.starts_with("deleted file mode") {
        file.new = None;
    }
    line.strip_prefix("@@ -").and_then(hunk_of).map(Body::new)
}

/// A hunk whose lines are being read.
struct Body {
    /// Lines of either side that are still to come.
    left: (u32, u32),
    /// What was added and removed since the last line that stayed.
    run: Hunk,
}

impl Body {
    fn new(head: Hunk) -> Self {
        let left = (head.old_len, head.new_len);
        Self { left, run: Hunk { old_len: 0, new_len: 0, ..shrunk(head) } }
    }

    /// Takes one more line; false when the line is not the hunk's.
    fn takes(&mut self, line: &str, found: &mut Vec<Hunk>) -> bool {
        // "\ No newline at end of file" follows the last line and still belongs to the hunk.
        if self.left == (0, 0) && !line.starts_with('\\') {
            self.ends(found);
            return false;
        }
        match line.as_bytes().first() {
            Some(b'-') => {
                self.left.0 = self.left.0.saturating_sub(1);
                self.run.old_len += 1;
            }
            Some(b'+') => {
                self.left.1 = self.left.1.saturating_sub(1);
                self.run.new_len += 1;
            }
            Some(b'\\') => {}
            _ => {
                self.left = (self.left.0.saturating_sub(1), self.left.1.saturating_sub(1));
                self.ends(found);
                self.run.old_start += self.run.old_len + 1;
                self.run.new_start += self.run.new_len + 1;
                (self.run.old_len, self.run.new_len) = (0, 0);
            }
        }
        true
    }

    /// Keeps what was changed since the last line that stayed.
    fn ends(&self, found: &mut Vec<Hunk>) {
        if self.run.old_len + self.run.new_len > 0 {
            found.push(self.run);
        }
    }
}

/// Reads `a/x b/x`: enough for files whose other headers name no path (mode changes, empty files).
fn paths_of_header(rest: &str) -> FileChange {
    // A path may hold blanks, so the header can be split only in the middle, and only if both halves agree.
    let half = rest.len() / 2;
    let same = rest.get(..half).zip(rest.get(half + 1..));
    let path = same.and_then(|(a, b)| {
        let (a, b) = (unquoted(a), unquoted(b));
        (a.strip_prefix("a/")? == b.strip_prefix("b/")?).then(|| a[2..].to_owned())
    });
    FileChange { old: path.clone(), new: path, hunks: Vec::new() }
}

fn side(path: &str) -> Option<String> {
    let path = path.trim_end_matches(['\t', '\r']);
    if path == "/dev/null" {
        return None;
    }
    let path = unquoted(path);
    let inner = path.strip_prefix("a/").or_else(|| path.strip_prefix("b/")).unwrap_or(&path);
    Some(inner.to_owned())
}

/// Undoes git's quotes around names with odd bytes: `"a/na\303\257ve"`.
fn unquoted(path: &str) -> String {
    let Some(inner) = path.strip_prefix('"').and_then(|path| path.strip_suffix('"')) else {
        return path.to_owned();
    };
    let mut bytes = Vec::new();
    let mut rest = inner.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest.next() {
            Some(b'n') => bytes.push(b'\n'),
            Some(b't') => bytes.push(b'\t'),
            Some(digit @ b'0'..=b'3') => {
                let mut value = u32::from(digit - b'0');
                for _ in 0..2 {
                    value = value * 8 + u32::from(rest.next().unwrap_or(b'0').saturating_sub(b'0').min(7));
                }
                bytes.push(value as u8);
            }
            Some(other) => bytes.push(other),
            None => {}
        }
    }
    // A path that is not UTF-8 gets replacement characters: it matches no claim, and nothing fails.
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A number beyond this is not a line of any file.
const LINES_MAX: u32 = 1 << 30;

/// Reads a hunk's head after its first mark: `12,3 +14,2 @@ …`.
fn hunk_of(text: &str) -> Option<Hunk> {
    let (old, rest) = text.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let span = |text: &str| -> Option<(u32, u32)> {
        let (start, len) = text.split_once(',').unwrap_or((text, "1"));
        let (start, len) = (start.parse().ok()?, len.parse().ok()?);
        // Checked here once, so that sums of two such numbers never overflow.
        (start <= LINES_MAX && len <= LINES_MAX).then_some((start, len))
    };
    let ((old_start, old_len), (new_start, new_len)) = (span(old)?, span(new)?);
    Some(Hunk { old_start, old_len, new_start, new_len })
}

/// Git names the line before an empty side; here an empty side stands before its line.
fn shrunk(mut hunk: Hunk) -> Hunk {
    hunk.old_start += u32::from(hunk.old_len == 0);
    hunk.new_start += u32::from(hunk.new_len == 0);
    hunk
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "diff --git a/src/a.rs b/src/b.rs\nsimilarity index 90%\nrename from src/a.rs\nrename to src/b.rs\n--- a/src/a.rs\n+++ b/src/b.rs\n\
        @@ -2,0 +3,2 @@ fn x\n+one\n+--- a/fake\n@@ -10,3 +13,1 @@\n-a\n--- b/other\n-c\n+d\n@@ -20 +20,0 @@\n-gone\n\
        diff --git a/new.rs b/new.rs\nnew file mode 100644\n--- /dev/null\n+++ b/new.rs\n@@ -0,0 +1,2 @@\n+a\n+b\n\
        diff --git \"a/na\\303\\257ve\" \"b/na\\303\\257ve\"\ndeleted file mode 100644\n--- \"a/na\\303\\257ve\"\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n";

    #[test]
    fn diffs_are_read_with_renames_and_quotes() {
        let change = Change::from_unified(DIFF);
        assert_eq!(change.files().len(), 3, "{change:?}");
        assert_eq!(change.new_path("src/a.rs"), Some("src/b.rs"));
        assert_eq!(change.new_path("naïve"), None);
        assert_eq!(change.new_path("other"), Some("other"));
        assert!(!change.existed("new.rs") && change.existed("src/b.rs"));
        assert_eq!(change.files()[0].hunks.len(), 3);
        assert_eq!(change.lines_changed(), 2 + 3 + 1 + 2 + 1);
    }

    #[test]
    fn lines_are_mapped_through_hunks() {
        let change = Change::from_unified(DIFF);
        for (line, expect) in [
            (1, Mapped::Kept(1)),
            (2, Mapped::Kept(2)),
            (3, Mapped::Kept(5)),
            (9, Mapped::Kept(11)),
            (10, Mapped::Changed(13.0)),
            (13, Mapped::Kept(14)),
            (20, Mapped::Changed(21.0)),
            (21, Mapped::Kept(21)),
        ] {
            assert_eq!(change.map_line("src/a.rs", line), expect, "{line}");
        }
        assert_eq!(change.map_line("other", 7), Mapped::Kept(7));
        assert_eq!(change.new_hunk("src/b.rs", 3, 3, 0), Some(0));
        assert_eq!(change.new_hunk("src/b.rs", 5, 5, 0), None);
        assert_eq!(change.old_hunk("src/a.rs", 11, 11, 0), Some(1));
        assert_eq!(change.old_hunk("src/a.rs", 14, 14, 3), Some(1));
        assert_eq!(change.old_hunk("src/a.rs", 2, 2, 0), None);
    }

    #[test]
    fn lines_around_a_change_are_no_change() {
        let context = "diff --git a/a.sh b/a.sh\n--- a/a.sh\n+++ b/a.sh\n@@ -1,7 +1,7 @@ fn x\n one\n-two\n+2\n+2b\n three\n\n four\n-five\n six\n\\ No newline at end of file\n@@ -20,2 +20,3 @@\n a\n b\n+c\ndiff --git a/b b/b\nnew file mode 100644\n--- /dev/null\n+++ b/b\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n";
        let tight = "diff --git a/a.sh b/a.sh\n--- a/a.sh\n+++ b/a.sh\n@@ -2 +2,2 @@\n-two\n+2\n+2b\n@@ -6 +6,0 @@\n-five\n@@ -21,0 +22 @@\n+c\ndiff --git a/b b/b\nnew file mode 100644\n--- /dev/null\n+++ b/b\n@@ -0,0 +1 @@\n+x\n";
        let change = Change::from_unified(context);
        assert_eq!(change, Change::from_unified(tight));
        assert_eq!((change.lines_changed(), change.files().len()), (2 + 1 + 1 + 1, 2));
        assert_eq!(change.old_hunk("a.sh", 1, 1, 0), None);
        assert_eq!(change.map_line("a.sh", 3), Mapped::Kept(4));
        assert_eq!(change.map_line("a.sh", 7), Mapped::Kept(7));
    }

    #[test]
    fn a_diff_that_was_cut_off_keeps_what_it_had() {
        let cut = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -3,9 +3,9 @@\n x\n-y\n+z";
        let expect = Hunk { old_start: 4, old_len: 1, new_start: 4, new_len: 1 };
        assert_eq!(Change::from_unified(cut).files()[0].hunks, [expect]);
    }

    #[test]
    fn rubbish_is_passed_over() {
        for text in ["", "@@ -1 +1 @@", "diff --git ", "diff --git a/x b/x\n@@ -x,y +1 @@\n", "--- a\n+++ b"]
        {
            let _ = Change::from_unified(text);
        }
    }
}
