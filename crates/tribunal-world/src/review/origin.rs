//! The provenance of a finding's lines: each line is followed backwards through the changes between the reviewed
//! versions, and from the first version to the commit that the work began with.
//!
//! The code is pure: the changes are read from git by the caller and handed in.

use tribunal_findings::track::Change;
use tribunal_view::provenance::Provenance;

/// How many lines of one finding are followed at most.
const LINES_MAX: u32 = 40;

/// The changes that a line is followed through.
pub(crate) struct Past<'a> {
    /// The changes between the versions that the rounds judged, in order: the n-th is the fix that followed round n.
    pub(crate) fixes: &'a [Change],
    /// The change from the beginning of the work to the first judged version; none if that is unknown.
    pub(crate) first: Option<&'a Change>,
}

impl Past<'_> {
    /// The origin of lines of the newest version.
    ///
    /// The youngest line decides: a finding that spans old code and a new line was introduced with the new line.
    pub(crate) fn origin(&self, file: &str, from: u32, to: u32) -> Provenance {
        let last = to.clamp(from, from.saturating_add(LINES_MAX));
        (from..=last).map(|line| self.of_line(file, line)).max_by_key(age).unwrap_or(Provenance::Original)
    }

    fn of_line(&self, file: &str, line: u32) -> Provenance {
        let mut at = (file.to_owned(), line);
        for (n, change) in (1u32..).zip(self.fixes).collect::<Vec<_>>().into_iter().rev() {
            match back(change, &at.0, at.1) {
                Some(earlier) => at = earlier,
                None => return Provenance::Fix(n),
            }
        }
        let before = self.first.and_then(|change| back(change, &at.0, at.1));
        match before {
            Some(_) => Provenance::PreExisting,
            // Present in the first version and raised only after a fix: the earlier rounds missed it.
            None if self.fixes.is_empty() => Provenance::Original,
            None => Provenance::MissedEarlier,
        }
    }
}

fn age(origin: &Provenance) -> u32 {
    match origin {
        Provenance::PreExisting => 0,
        Provenance::Original | Provenance::MissedEarlier => 1,
        Provenance::Fix(n) => n.saturating_add(1),
    }
}

/// Where a line was before a change; none if the change added it.
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

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str =
        "diff --git a/a.sh b/a.sh\n--- a/a.sh\n+++ b/a.sh\n@@ -1,3 +1,4 @@\n one\n+two\n three\n four\n";
    const FIX: &str = "diff --git a/a.sh b/a.sh\n--- a/a.sh\n+++ b/a.sh\n@@ -1,4 +1,5 @@\n one\n two\n-three\n+3\n+3b\n four\n";

    #[test]
    fn lines_are_followed_to_where_they_began() {
        let (first, fix) = (Change::from_unified(FIRST), Change::from_unified(FIX));
        let other = Change::from_unified(
            "diff --git a/b.sh b/b.sh\nnew file mode 100755\n--- /dev/null\n+++ b/b.sh\n@@ -0,0 +1,1 @@\n+x\n",
        );
        let fixes = [fix, other];
        let check = |fixes: &[Change], file: &str, from: u32, to: u32, expect: Provenance| {
            let past = Past { fixes, first: Some(&first) };
            assert_eq!(past.origin(file, from, to), expect, "{file}:{from}-{to}");
        };
        check(&[], "a.sh", 1, 1, Provenance::PreExisting);
        check(&[], "a.sh", 2, 2, Provenance::Original);
        check(&[], "a.sh", 4, 4, Provenance::PreExisting);
        check(&fixes, "a.sh", 2, 2, Provenance::MissedEarlier);
        check(&fixes, "a.sh", 3, 3, Provenance::Fix(1));
        check(&fixes, "a.sh", 5, 5, Provenance::PreExisting);
        check(&fixes, "a.sh", 1, 5, Provenance::Fix(1));
        check(&fixes, "b.sh", 1, 1, Provenance::Fix(2));
        check(&fixes, "untouched", 7, 7, Provenance::PreExisting);
        let unknown = Past { fixes: &[], first: None };
        assert_eq!(unknown.origin("PLAN.md", 3, 3), Provenance::Original);
    }
}
