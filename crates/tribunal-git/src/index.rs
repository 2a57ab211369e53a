//! Reads git's index file (versions 2 and 3), as far as needed to see files, submodules and directories without
//! starting a process.
//!
//! It never writes an index and refuses what it does not understand; the caller then asks git. The engine's
//! configuration sets `index.version` to 2, so other versions do not occur in indexes that Tribunal made.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::files::read_own;
use crate::{GitError, GitPath, Oid};

/// What the index says about the tree.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Index {
    /// Submodules, with the commit each is at.
    pub(crate) gitlinks: Vec<(GitPath, Oid)>,
    /// Every directory that holds a tracked file, without the root.
    pub(crate) dirs: Vec<GitPath>,
    /// The stat data and content of every file.
    pub(crate) files: Vec<(GitPath, Stat)>,
    /// The tree object of all entries, where git noted it.
    pub(crate) tree: Option<Oid>,
    /// Git's digest of the whole file; `None` where git was told to leave it out.
    pub(crate) digest: Option<Vec<u8>>,
    /// Whether an entry is more than a file that is there, such as one side of a conflict or an intent to add.
    pub(crate) odd: bool,
}

/// The state of a file when git wrote or last read it. Numbers are cut to 32 bits, as the index has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    /// Change time and modification time (seconds and nanoseconds each), device and inode.
    times_and_place: [u32; 6],
    mode: u32,
    /// Owner, group and size of the file.
    owner_and_size: [u32; 3],
    /// The content, as the raw bytes of its id.
    pub(crate) oid: Vec<u8>,
}

impl Index {
    /// The files that differ between two indexes, with their mode and content in the other one, if they are there.
    pub(crate) fn changes<'a>(&'a self, other: &'a Index) -> Changes<'a> {
        let entry = |(path, stat): &'a (GitPath, Stat)| (path.as_bytes(), (stat.mode, stat.oid.as_slice()));
        let before: BTreeMap<_, _> = self.files.iter().map(entry).collect();
        let mut after: BTreeMap<_, _> = other.files.iter().map(entry).collect();
        let gone = before.keys().filter(|path| !after.contains_key(*path)).map(|path| (*path, None));
        let gone: Vec<_> = gone.collect();
        after.retain(|path, entry| before.get(path) != Some(entry));
        after.into_iter().map(|(path, entry)| (path, Some(entry))).chain(gone).collect()
    }
}

/// Files by path with the mode and raw id they shall have; `None` where the file shall be gone.
pub(crate) type Changes<'a> = BTreeMap<&'a [u8], Option<(u32, &'a [u8])>>;

impl Stat {
    /// Whether a file was last changed before a moment, so that a later change shows in its change time.
    ///
    /// Git calls the other case "racily clean": a file written in the same moment as the index could change again
    /// without a new time.
    pub(crate) fn is_older_than(&self, seconds: i64, nanoseconds: i64) -> bool {
        let [sec, nsec, ..] = self.times_and_place;
        (sec, nsec) < (seconds as u32, nanoseconds as u32)
    }

    /// Whether a file looks untouched since the index was written: every ordinary way to change a file moves its change
    /// time.
    ///
    /// There are ways that do not, such as swapped extents or mapped memory. So this only tells which files need not be
    /// read again, as git does it, and never that a file which somebody could write may be trusted.
    pub(crate) fn is_untouched(&self, meta: &Metadata) -> bool {
        let cut = |n: u64| n as u32;
        let signed = |n: i64| n as u32;
        let kind = if meta.is_symlink() {
            0o12
        } else if meta.is_file() {
            0o10
        } else {
            0
        };
        self.mode >> 12 == kind
            && self.times_and_place
                == [
                    signed(meta.ctime()),
                    signed(meta.ctime_nsec()),
                    signed(meta.mtime()),
                    signed(meta.mtime_nsec()),
                    cut(meta.dev()),
                    cut(meta.ino()),
                ]
            && self.owner_and_size == [meta.uid(), meta.gid(), cut(meta.size())]
            // A file with a second name could be written through that name, from outside the tree.
            && meta.nlink() == 1
    }
}

/// Reads the index. A missing one is empty, and anything but a regular file is refused.
pub(crate) fn read(path: &Path, sha256: bool) -> Result<Index, GitError> {
    let odd = || GitError::odd(format!("{}: not an index this version reads", path.display()));
    match read_own(path) {
        Ok(bytes) => parse(&bytes, if sha256 { 32 } else { 20 }).ok_or_else(odd),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Index::default()),
        // A link in its place is not followed: it leads to whatever somebody chose.
        Err(e) if e.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => Err(odd()),
        Err(e) => Err(GitError::io(path)(e)),
    }
}

fn parse(bytes: &[u8], oid_len: usize) -> Option<Index> {
    let word = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    // Version 4 compresses paths. Tribunal's own indexes never have it.
    let version = word(4)?;
    if bytes.get(..4)? != b"DIRC" || !(2..=3).contains(&version) {
        return None;
    }
    let mut index = Index::default();
    let mut at = 12;
    for _ in 0..word(8)? {
        let mode = word(at + 24)?;
        let oid = bytes.get(at + 40..at + 40 + oid_len)?;
        let flags_at = at + 40 + oid_len;
        let flags = u16::from_be_bytes(bytes.get(flags_at..flags_at + 2)?.try_into().ok()?);
        // The extended flag of version 3 adds two more bytes before the path.
        let path_at = flags_at + if flags & 0x4000 != 0 { 4 } else { 2 };
        // Stage bits are set in a conflict; the extended bits stand for skip-worktree and intent-to-add.
        index.odd |= flags & 0x7000 != 0;
        let len = bytes.get(path_at..)?.iter().position(|b| *b == 0)?;
        let path = bytes.get(path_at..path_at + len)?;
        if mode >> 12 == 0o16 {
            let hex: String = oid.iter().map(|byte| format!("{byte:02x}")).collect();
            index.gitlinks.push((GitPath::from(path), Oid::parse(&hex).ok()?));
        }
        let (times_and_place, owner_and_size) = (
            [word(at)?, word(at + 4)?, word(at + 8)?, word(at + 12)?, word(at + 16)?, word(at + 20)?],
            [word(at + 28)?, word(at + 32)?, word(at + 36)?],
        );
        let stat = Stat { times_and_place, mode, owner_and_size, oid: oid.to_vec() };
        index.files.push((GitPath::from(path), stat));
        note_dirs(&mut index.dirs, path);
        // Entries are padded with one to eight zeros to a multiple of eight.
        at += (path_at - at + len + 8) & !7;
    }
    index.dirs.sort();
    index.dirs.dedup();
    // The file ends with a checksum over everything before it.
    let end = bytes.len().checked_sub(oid_len)?;
    index.tree = noted_tree(bytes.get(at..end)?, oid_len);
    index.digest = bytes.get(end..).filter(|sum| sum.iter().any(|byte| *byte != 0)).map(<[u8]>::to_vec);
    Some(index)
}

/// The root of the `TREE` extension: an empty path, the number of entries (negative when git does not know the tree),
/// the number of subtrees, and the id.
fn noted_tree(mut extensions: &[u8], oid_len: usize) -> Option<Oid> {
    while let (Some(name), Some(len)) = (extensions.get(..4), extensions.get(4..8)) {
        let len = usize::try_from(u32::from_be_bytes(len.try_into().ok()?)).ok()?;
        let body = extensions.get(8..8 + len)?;
        if name == b"TREE" {
            let root = body.strip_prefix(b"\0")?;
            let line = root.iter().position(|b| *b == b'\n')?;
            let known = root.first().is_some_and(u8::is_ascii_digit);
            return known.then(|| root.get(line + 1..line + 1 + oid_len).map(Oid::from_raw)).flatten();
        }
        extensions = extensions.get(8 + len..)?;
    }
    None
}

/// Notes the directories above a path. Entries come sorted, so most are the same as those of the entry before.
fn note_dirs(dirs: &mut Vec<GitPath>, path: &[u8]) {
    let mut rest = path;
    while let Some(at) = rest.iter().rposition(|b| *b == b'/') {
        rest = rest.get(..at).unwrap_or_default();
        if dirs.last().is_some_and(|last| last.as_bytes() == rest) {
            return;
        }
        dirs.push(GitPath::from(rest));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rubbish_is_refused() {
        for bytes in [&b""[..], b"DIRC", b"DIRC\0\0\0\x04\0\0\0\0", b"DIRC\0\0\0\x02\0\0\0\x01abc"] {
            assert_eq!(parse(bytes, 20), None);
        }
        let empty = [&b"DIRC\0\0\0\x02\0\0\0\0"[..], &[0; 20]].concat();
        assert_eq!(parse(&empty, 20), Some(Index::default()));
    }

    #[test]
    fn the_noted_tree_is_found_behind_other_extensions() {
        let check = |extensions: &[u8], expect: Option<u8>| {
            let expect = expect.map(|byte| Oid::from_raw(&[byte; 20]));
            assert_eq!(noted_tree(extensions, 20), expect, "{}", extensions.escape_ascii());
        };
        let tree = [&b"TREE\0\0\0\x19\0\x32 0\n"[..], &[7; 20]].concat();
        check(&tree, Some(7));
        check(&[&b"REUC\0\0\0\x02xx"[..], &tree].concat(), Some(7));
        check(b"TREE\0\0\0\x06\0-1 0\n", None);
        check(b"TREE\0\0\0\x19\0", None);
        check(b"", None);
        check(b"REUC\xff\xff\xff\xff", None);
    }
}
