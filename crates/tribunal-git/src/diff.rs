//! What changed between two commits or trees.
//!
//! Attributes of the trees have no effect, so nobody can hide a change by marking it binary or generated, nor by a zero
//! byte in a text. No external diff and no text conversion is ever run: a reviewer sees the bytes that would land.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::open::fields;
use crate::{GitError, GitPath, Oid, Repo};
use tribunal_docs::hidden::is_text;

/// In which way a file changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChangeKind {
    /// The file is new in the second tree.
    Added,
    /// The file is missing from the second tree.
    Deleted,
    /// The bytes or the mode of the file changed.
    Modified,
    /// The file moved, maybe with changes.
    Renamed,
    /// The file became something else: a link, an ordinary file or a submodule.
    Retyped,
}

/// One file that differs between two trees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// In which way it changed.
    pub kind: ChangeKind,
    /// Where the file is, or was before it was deleted.
    pub path: GitPath,
    /// Where the file was before it was renamed.
    pub old_path: Option<GitPath>,
    /// Lines added; `None` for binary files.
    pub added: Option<u64>,
    /// Lines deleted; `None` for binary files.
    pub deleted: Option<u64>,
}

/// A diff as text, possibly cut.
///
/// Look at `cut` before a diff is shown as complete: a reviewer that saw a part of a change cannot approve the whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffText {
    /// The patch as git prints it.
    pub bytes: Vec<u8>,
    /// Whether the patch was longer than allowed.
    pub cut: bool,
}

impl Repo {
    /// The files that differ, with renames found and lines counted.
    pub fn changes(&self, from: &Oid, to: &Oid) -> Result<Vec<Change>, GitError> {
        if from == to {
            return Ok(Vec::new());
        }
        let call = self.objects().args(["diff-tree", "-r", "-z", "-M", "--raw", "--numstat"]);
        parse_changes(&call.args(SAFE).args([from, to]).ok()?)
    }

    /// The paths that differ. A renamed file counts with both its names.
    pub fn changed_paths(&self, from: &Oid, to: &Oid) -> Result<Vec<GitPath>, GitError> {
        if from == to {
            return Ok(Vec::new());
        }
        Ok(self.differing(from, to)?.into_iter().map(|file| file.path).collect())
    }

    /// The difference as a patch, of all files or of the given ones, cut at `cap` bytes.
    ///
    /// Git calls a file binary for a single zero byte and then shows nothing of it. A text with a few such bytes is
    /// shown as the text it is, or a builder could hide code from the reviewer.
    pub fn diff_text(
        &self,
        from: &Oid,
        to: &Oid,
        only: &[GitPath],
        cap: usize,
    ) -> Result<DiffText, GitError> {
        let text = self.diff_as_git_does(from, to, only, cap)?;
        match text.cut || !contains(&text.bytes, BINARY) {
            true => Ok(text),
            false => self.with_texts(from, to, text.bytes, cap),
        }
    }

    /// The differences of several files in the order they are asked for, each cut at `cap` bytes.
    ///
    /// One process answers for many files instead of one for each.
    pub fn diff_texts(
        &self,
        from: &Oid,
        to: &Oid,
        paths: &[GitPath],
        cap: usize,
    ) -> Result<Vec<DiffText>, GitError> {
        let mut found = Vec::with_capacity(paths.len());
        for some in batches(paths) {
            let all = self.diff_text(from, to, some, TEXTS_MAX)?;
            // The header of a file without rename names it twice, which is what identifies it.
            let begins = |file: &[u8]| file.split(|byte| *byte == b'\n').next().map(<[u8]>::to_vec);
            // A file that changed its kind is shown twice, as removed and as new.
            let mut shown: HashMap<Vec<u8>, Vec<&[u8]>> = HashMap::new();
            for file in files(&all.bytes).into_iter().filter(|_| !all.cut) {
                shown.entry(begins(file).unwrap_or_default()).or_default().push(file);
            }
            for path in some {
                let name = path.as_bytes();
                let header = [b"diff --git a/", name, b" b/", name].concat();
                found.push(match shown.get(&header) {
                    Some(files) => {
                        let mut bytes = files.concat();
                        let cut = bytes.len() > cap;
                        bytes.truncate(cap);
                        DiffText { bytes, cut }
                    }
                    // Git quotes this name in its header, or the answer was too long for one call.
                    None => self.diff_text(from, to, std::slice::from_ref(path), cap)?,
                });
            }
        }
        Ok(found)
    }

    /// Puts the text of files in the place of git's remark that they are binary.
    fn with_texts(&self, from: &Oid, to: &Oid, patch: Vec<u8>, cap: usize) -> Result<DiffText, GitError> {
        let changes = self.changes(from, to)?;
        let binary = changes.iter().filter(|change| change.added.is_none());
        let texts = binary.filter(|change| {
            self.has_text(from, change.old_path.as_ref().unwrap_or(&change.path))
                && self.has_text(to, &change.path)
        });
        let paths: Vec<&GitPath> = texts.flat_map(|one| one.old_path.iter().chain([&one.path])).collect();
        if paths.is_empty() {
            return Ok(DiffText { bytes: patch, cut: false });
        }
        let call = self.objects().env("GIT_LITERAL_PATHSPECS", "1").cut_at(cap).args(PATCH).arg("--text");
        let call = call.args(SAFE).args([from, to]).arg("--").args(paths.into_iter().map(GitPath::os));
        let output = call.run()?;
        let shown = files(&output.stdout);
        let named = |file: &[u8]| file.split(|byte| *byte == b'\n').next().map(<[u8]>::to_vec);
        let mut bytes = Vec::with_capacity(patch.len() + output.stdout.len());
        for file in files(&patch) {
            // Only a section without text is replaced; everything else stays as git printed it.
            let hidden = contains(file, BINARY);
            let text = shown.iter().find(|text| hidden && named(text) == named(file));
            bytes.extend_from_slice(text.unwrap_or(&file));
        }
        // A failure counts as cut: an incomplete patch must never look complete.
        let cut = output.cut || !output.status.success() || bytes.len() > cap;
        bytes.truncate(cap);
        Ok(DiffText { bytes, cut })
    }

    /// Whether a file is text except for a few bytes. A file that is absent counts as text.
    fn has_text(&self, at: &Oid, path: &GitPath) -> bool {
        let few = |bytes: &[u8]| bytes.len() <= TEXT_MAX && is_text(bytes);
        self.file_at(at, path).is_ok_and(|bytes| bytes.is_none_or(|bytes| few(&bytes)))
    }

    fn diff_as_git_does(
        &self,
        from: &Oid,
        to: &Oid,
        only: &[GitPath],
        cap: usize,
    ) -> Result<DiffText, GitError> {
        if self.is_whole(from, to, only)
            && let Ok(bytes) = self.patch(from, to, cap)
        {
            return Ok(DiffText { bytes, cut: false });
        }
        let call = self.objects().env("GIT_LITERAL_PATHSPECS", "1").cut_at(cap);
        let call = call.args(PATCH).args(SAFE).args([from, to]).arg("--");
        let call = call.args(only.iter().map(GitPath::os));
        let name = call.name();
        let output = call.run()?;
        if output.status.success() || output.cut {
            return Ok(DiffText { bytes: output.stdout, cut: output.cut });
        }
        Err(crate::run::failed(&name, &output))
    }

    /// Whether only the given files differ. No files given means all.
    fn is_whole(&self, from: &Oid, to: &Oid, only: &[GitPath]) -> bool {
        let only: HashSet<&GitPath> = only.iter().collect();
        let given = |file: &crate::trees::Differs| only.contains(&file.path);
        // The long-lived process compares whole trees only, so it can answer when nothing else differs.
        only.is_empty() || self.differing(from, to).is_ok_and(|files| files.iter().all(given))
    }

    /// The difference between two blobs as a patch whose header names the blobs, cut at `cap` bytes.
    pub fn diff_blobs(&self, from: &Oid, to: &Oid, cap: usize) -> Result<Vec<u8>, GitError> {
        let call = self.objects().cut_at(cap).args(["diff", "-U3"]).args(SAFE).args([from, to]);
        let name = call.name();
        let output = call.run()?;
        if output.status.success() || output.cut {
            return Ok(output.stdout);
        }
        Err(crate::run::failed(&name, &output))
    }

    /// A digest of the change itself: the lines it adds and removes, in which files and surroundings, white space
    /// included. Line numbers and the rest of the files do not count.
    ///
    /// It is the same for a change and its clean rebase, which is how an approval can be carried over. White space
    /// counts, unlike in `git patch-id`, since it means something in some languages.
    pub fn patch_id(&self, from: &Oid, to: &Oid) -> Result<String, GitError> {
        let call = self.objects().args(["diff-tree", "-r", "-p", "--no-renames", "--binary", "-U3"]);
        Ok(digest(&call.args(SAFE).args([from, to]).ok()?))
    }
}

/// How git says that it does not show a file. No line of a hunk begins like this.
const BINARY: &[u8] = b"\nBinary files ";
/// Larger files are not examined for whether they are text.
const TEXT_MAX: usize = 8 << 20;

/// The limit of one answer about several files, in bytes.
const TEXTS_MAX: usize = 64 << 20;
/// Bytes of file names that go to git at once, because a command line is limited.
const NAMES_MAX: usize = 64 << 10;

/// Splits paths into groups that fit on a command line.
fn batches(paths: &[GitPath]) -> Vec<&[GitPath]> {
    let (mut all, mut rest) = (Vec::new(), paths);
    while !rest.is_empty() {
        let mut bytes = 0;
        let fits = |path: &&GitPath| {
            bytes += path.as_bytes().len() + 1;
            bytes <= NAMES_MAX
        };
        // At least one path, or a name that is too long would never be asked for.
        let (some, more) = rest.split_at(rest.iter().take_while(fits).count().max(1));
        all.push(some);
        rest = more;
    }
    all
}

fn contains(bytes: &[u8], what: &[u8]) -> bool {
    bytes.windows(what.len()).any(|window| window == what)
}

/// Splits a patch into its files.
fn files(patch: &[u8]) -> Vec<&[u8]> {
    const BEGIN: &[u8] = b"diff --git ";
    let mut all = Vec::new();
    let (mut start, mut at) = (0, 0);
    for line in patch.split_inclusive(|byte| *byte == b'\n') {
        if line.starts_with(BEGIN) && at > start {
            all.push(&patch[start..at]);
            start = at;
        }
        at += line.len();
    }
    if at > start {
        all.push(&patch[start..at]);
    }
    all
}

/// The command that turns a difference into text.
pub(crate) const PATCH: [&str; 5] = ["diff-tree", "-r", "-p", "-M", "-U3"];
/// Options that keep every diff free of foreign programs and settings.
pub(crate) const SAFE: [&str; 7] = [
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--ignore-submodules=none",
    "--diff-algorithm=histogram",
    "--src-prefix=a/",
    "--dst-prefix=b/",
];

/// Hashes a patch without the parts that a rebase may change: blob ids and line numbers.
fn digest(patch: &[u8]) -> String {
    let mut hash = blake3::Hasher::new();
    // The version keeps digests of another format from ever being equal to these.
    hash.update(b"tribunal patch 1\n");
    // Inside a hunk every line begins with a space, a sign or a backslash; so these two begin no content.
    for line in patch.split_inclusive(|b| *b == b'\n') {
        if line.starts_with(b"@@ -") {
            hash.update(b"@@\n");
        } else if !line.starts_with(b"index ") {
            hash.update(line);
        }
    }
    hash.finalize().to_hex().to_string()
}

/// Reads an entry of `--raw -z`: how a file changed, where it is, and where it was if it moved.
pub(crate) fn raw_entry<'a>(
    head: &[u8],
    names: &mut impl Iterator<Item = &'a [u8]>,
) -> Option<(ChangeKind, GitPath, Option<GitPath>)> {
    let mut path = || names.next().map(GitPath::from);
    let (kind, old_path) = match head.rsplit(|b| *b == b' ').next()?.first()? {
        b'A' => (ChangeKind::Added, None),
        b'D' => (ChangeKind::Deleted, None),
        b'M' => (ChangeKind::Modified, None),
        b'T' => (ChangeKind::Retyped, None),
        b'R' | b'C' => (ChangeKind::Renamed, Some(path()?)),
        _ => return None,
    };
    Some((kind, path()?, old_path))
}

/// Reads `--raw --numstat -z`: first all raw entries, then all counts.
fn parse_changes(bytes: &[u8]) -> Result<Vec<Change>, GitError> {
    let odd = |field: &[u8]| GitError::odd(format!("diff-tree said {}", field.escape_ascii()));
    let mut fields = fields(bytes).peekable();
    let mut changes = Vec::new();
    while let Some(head) = fields.next_if(|field| field.starts_with(b":")) {
        let (kind, path, old_path) = raw_entry(head, &mut fields).ok_or_else(|| odd(head))?;
        changes.push(Change { kind, path, old_path, added: None, deleted: None });
    }
    let mut counts = BTreeMap::new();
    while let Some(field) = fields.next() {
        let mut parts = field.splitn(3, |b| *b == b'\t');
        let (Some(added), Some(deleted), Some(path)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(odd(field));
        };
        // A rename has its two names in fields of their own.
        let path = if path.is_empty() { fields.nth(1).ok_or_else(|| odd(field))? } else { path };
        let number = |text: &[u8]| String::from_utf8_lossy(text).parse::<u64>().ok();
        counts.insert(path.to_vec(), (number(added), number(deleted)));
    }
    for change in &mut changes {
        if let Some((added, deleted)) = counts.get(change.path.as_bytes()) {
            (change.added, change.deleted) = (*added, *deleted);
        }
    }
    Ok(changes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_do_not_matter_and_white_space_does() {
        let patch = b"diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@ fn a\n-a\n+ b\n";
        let moved = b"diff --git a/x b/x\nindex 3..4 100644\n--- a/x\n+++ b/x\n@@ -7 +9 @@ fn b\n-a\n+ b\n";
        let spaced = b"diff --git a/x b/x\nindex 3..4 100644\n--- a/x\n+++ b/x\n@@ -7 +9 @@ fn b\n-a\n+  b\n";
        assert_eq!(digest(patch), digest(moved));
        assert_ne!(digest(patch), digest(spaced));
    }

    #[test]
    fn changes_with_odd_names() {
        let raw = b":100644 100644 a b M\0x\ny\0:100644 100644 a a R100\0o\0n\0\
            3\t1\tx\ny\x000\t0\t\0o\0n\0";
        let changes = parse_changes(raw).expect("parses");
        assert_eq!(changes.len(), 2);
        assert_eq!((changes[0].added, changes[0].deleted), (Some(3), Some(1)));
        assert_eq!(changes[1].old_path, Some(GitPath::from("o")));
        assert_eq!(changes[1].added, Some(0));
        assert!(parse_changes(b"rubbish\0").is_err());
    }
}
