//! Reads git's index file (versions 2 and 3), only as far as needed to see files, submodules and directories without
//! starting a process. It never writes one, and what it does not understand it refuses.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::{GitError, GitPath, Oid};

/// What the index says about the tree.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Index {
    /// Submodules, with the commit each is at.
    pub(crate) gitlinks: Vec<(GitPath, Oid)>,
    /// Every directory that holds a tracked file, without the root.
    pub(crate) dirs: Vec<GitPath>,
    /// What is known about every file.
    pub(crate) files: Vec<(GitPath, Stat)>,
}

/// What a file was when git wrote or last read it; numbers cut to 32 bits, as the index has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    /// Changed and modified (seconds and nanoseconds), device, inode.
    times_and_place: [u32; 6],
    mode: u32,
    /// Owner, group, size.
    owner_and_size: [u32; 3],
    /// The content, as the bytes of its id.
    pub(crate) oid: Vec<u8>,
}

impl Stat {
    /// Whether a file has not been touched in any way since: every change of content, mode, owner, name or links moves
    /// the time of change, which nobody can set back.
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
            && meta.nlink() == 1
    }
}

/// Reads the index; one that is missing is empty.
pub(crate) fn read(path: &Path, sha256: bool) -> Result<Index, GitError> {
    match std::fs::read(path) {
        Ok(bytes) => parse(&bytes, if sha256 { 32 } else { 20 })
            .ok_or_else(|| GitError::odd(format!("{}: not an index this version reads", path.display()))),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Index::default()),
        Err(e) => Err(GitError::io(path)(e)),
    }
}

fn parse(bytes: &[u8], oid_len: usize) -> Option<Index> {
    let word = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
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
        let path_at = flags_at + if flags & 0x4000 != 0 { 4 } else { 2 };
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
    Some(index)
}

/// Notes the directories above a path; entries come sorted, so most are those of the one before.
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
        assert_eq!(parse(b"DIRC\0\0\0\x02\0\0\0\0", 20), Some(Index::default()));
    }
}
