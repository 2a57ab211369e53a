//! Where a finding's lines came from: followed backwards through the changes between the judged versions, and from
//! the first one to what the work began with. Pure: what was read from git is handed in.

use crate::review::Origin;
use tribunal_findings::track::Change;

/// Lines of one finding that are followed.
const LINES_MAX: u32 = 40;

/// The changes a line is followed through.
pub(crate) struct Past<'a> {
    /// Between what the rounds judged, in order: the n-th is the fix that followed round n.
    pub(crate) fixes: &'a [Change],
    /// From what the work began with to the first judged version; none where that is unknown.
    pub(crate) first: Option<&'a Change>,
}

impl Past<'_> {
    /// The origin of lines of the newest version: that of the youngest of them.
    pub(crate) fn origin(&self, file: &str, from: u32, to: u32) -> Origin {
        let last = to.clamp(from, from.saturating_add(LINES_MAX));
        (from..=last).map(|line| self.of_line(file, line)).max_by_key(age).unwrap_or(Origin::Original)
    }

    fn of_line(&self, file: &str, line: u32) -> Origin {
        let mut at = (file.to_owned(), line);
        for (n, change) in (1u32..).zip(self.fixes).collect::<Vec<_>>().into_iter().rev() {
            match back(change, &at.0, at.1) {
                Some(earlier) => at = earlier,
                None => return Origin::Fix(n),
            }
        }
        let before = self.first.and_then(|change| back(change, &at.0, at.1));
        match before {
            Some(_) => Origin::PreExisting,
            None if self.fixes.is_empty() => Origin::Original,
            None => Origin::MissedEarlier,
        }
    }
}

fn age(origin: &Origin) -> u32 {
    match origin {
        Origin::PreExisting => 0,
        Origin::Original | Origin::MissedEarlier => 1,
        Origin::Fix(n) => n.saturating_add(1),
    }
}

/// Where a line was before a change; none when the change added it.
fn back(change: &Change, file: &str, line: u32) -> Option<(String, u32)> {
    let Some(changed) = change.file_at(file) else { return Some((file.to_owned(), line)) };
    let old = changed.old.clone()?;
    let mut shift = 0i64;
    for hunk in &changed.hunks {
        if line < hunk.new_start {
            break;
        }
        if line < hunk.new_start + hunk.new_len {
            return None;
        }
        shift = i64::from(hunk.old_start + hunk.old_len) - i64::from(hunk.new_start + hunk.new_len);
    }
    Some((old, u32::try_from(i64::from(line) + shift).unwrap_or(1).max(1)))
}

/// A patch without the lines around its changes: only what was added and removed counts as changed.
pub(crate) fn without_context(diff: &str) -> String {
    let mut out = String::with_capacity(diff.len());
    let mut hunk: Option<Hunk> = None;
    for line in diff.split_inclusive('\n') {
        if let Some(open) = &mut hunk
            && open.takes(line, &mut out)
        {
            continue;
        }
        if let Some(open) = hunk.take() {
            open.end(&mut out);
        }
        match Hunk::begin(line) {
            Some(begun) => hunk = Some(begun),
            None => out.push_str(line),
        }
    }
    if let Some(open) = hunk {
        open.end(&mut out);
    }
    out
}

/// A hunk while it is read.
struct Hunk {
    old: u32,
    new: u32,
    left: (u32, u32),
    removed: Vec<String>,
    added: Vec<String>,
}

impl Hunk {
    /// `@@ -12,3 +14,2 @@ …`
    fn begin(line: &str) -> Option<Hunk> {
        let (old, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
        let (new, _) = rest.split_once(" @@")?;
        let span = |text: &str| -> Option<(u32, u32)> {
            let (start, len) = text.split_once(',').unwrap_or((text, "1"));
            Some((start.parse().ok()?, len.parse().ok()?))
        };
        let ((old, old_len), (new, new_len)) = (span(old)?, span(new)?);
        // Git names the line before an empty side.
        let first = |start: u32, len: u32| start.saturating_add(u32::from(len == 0));
        Some(Hunk {
            old: first(old, old_len),
            new: first(new, new_len),
            left: (old_len, new_len),
            removed: Vec::new(),
            added: Vec::new(),
        })
    }

    /// Takes one more line; false when it is none of the hunk's.
    fn takes(&mut self, line: &str, out: &mut String) -> bool {
        if self.left == (0, 0) && !line.starts_with('\\') {
            return false;
        }
        match line.as_bytes().first() {
            Some(b'-') => {
                self.left.0 = self.left.0.saturating_sub(1);
                self.removed.push(line.to_owned());
            }
            Some(b'+') => {
                self.left.1 = self.left.1.saturating_sub(1);
                self.added.push(line.to_owned());
            }
            Some(b'\\') => {}
            _ => {
                self.left = (self.left.0.saturating_sub(1), self.left.1.saturating_sub(1));
                self.flush(out);
                self.old += 1;
                self.new += 1;
            }
        }
        true
    }

    fn end(mut self, out: &mut String) {
        self.flush(out);
    }

    fn flush(&mut self, out: &mut String) {
        let (minus, plus) = (self.removed.len() as u32, self.added.len() as u32);
        if minus + plus == 0 {
            return;
        }
        let start = |at: u32, len: u32| if len == 0 { at.saturating_sub(1) } else { at };
        let (old, new) = (start(self.old, minus), start(self.new, plus));
        out.push_str(&format!("@@ -{old},{minus} +{new},{plus} @@\n"));
        for line in self.removed.drain(..).chain(self.added.drain(..)) {
            out.push_str(line.trim_end_matches('\n'));
            out.push('\n');
        }
        self.old += minus;
        self.new += plus;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str =
        "diff --git a/a.sh b/a.sh\n--- a/a.sh\n+++ b/a.sh\n@@ -1,3 +1,4 @@\n one\n+two\n three\n four\n";
    const FIX: &str = "diff --git a/a.sh b/a.sh\n--- a/a.sh\n+++ b/a.sh\n@@ -1,4 +1,5 @@\n one\n two\n-three\n+3\n+3b\n four\n";

    fn change(diff: &str) -> Change {
        Change::from_unified(&without_context(diff))
    }

    #[test]
    fn context_is_no_change() {
        let tight = without_context(FIX);
        assert!(tight.contains("@@ -3,1 +3,2 @@\n-three\n+3\n+3b\n"), "{tight}");
        assert!(!tight.contains(" one"), "{tight}");
        let two = "@@ -1,5 +1,5 @@\n-a\n+b\n x\n x\n x\n-c\n+d\n\\ No newline at end of file\nnext\n";
        assert_eq!(without_context(two), "@@ -1,1 +1,1 @@\n-a\n+b\n@@ -5,1 +5,1 @@\n-c\n+d\nnext\n");
        let bare = "@@ -2,0 +3,2 @@ fn x\n+one\n+two\n@@ -20 +20,0 @@\n-gone\n";
        assert_eq!(without_context(bare), "@@ -2,0 +3,2 @@\n+one\n+two\n@@ -20,1 +20,0 @@\n-gone\n");
    }

    #[test]
    fn lines_are_followed_to_where_they_began() {
        let (first, fix) = (change(FIRST), change(FIX));
        let other = change(
            "diff --git a/b.sh b/b.sh\nnew file mode 100755\n--- /dev/null\n+++ b/b.sh\n@@ -0,0 +1,1 @@\n+x\n",
        );
        let fixes = [fix, other];
        let check = |fixes: &[Change], file: &str, from: u32, to: u32, expect: Origin| {
            let past = Past { fixes, first: Some(&first) };
            assert_eq!(past.origin(file, from, to), expect, "{file}:{from}-{to}");
        };
        check(&[], "a.sh", 1, 1, Origin::PreExisting);
        check(&[], "a.sh", 2, 2, Origin::Original);
        check(&[], "a.sh", 4, 4, Origin::PreExisting);
        check(&fixes, "a.sh", 2, 2, Origin::MissedEarlier);
        check(&fixes, "a.sh", 3, 3, Origin::Fix(1));
        check(&fixes, "a.sh", 5, 5, Origin::PreExisting);
        check(&fixes, "a.sh", 1, 5, Origin::Fix(1));
        check(&fixes, "b.sh", 1, 1, Origin::Fix(2));
        check(&fixes, "untouched", 7, 7, Origin::PreExisting);
        let unknown = Past { fixes: &[], first: None };
        assert_eq!(unknown.origin("PLAN.md", 3, 3), Origin::Original);
    }
}
