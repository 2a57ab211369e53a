//! What a fast-forward is about to write, noted on the disk before the first file changes: each path with what it was
//! and what it will be.
//!
//! After a crash this record is the only evidence of whether a file is ours or the user's. It is a file of its own and
//! not an event of the journal, because it may have tens of thousands of lines, nobody needs it once it is settled, and
//! it must be readable without folding a journal.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::files::write_atomic;
use crate::{GitError, GitPath, Mode, Oid};

/// The first line of the file.
const FORMAT: &[u8] = b"tribunal forward 1";
/// The name of the file in the folder of a fast-forward.
const NAME: &str = "journal";

/// What a commit has at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Leaf {
    pub(super) mode: Mode,
    pub(super) oid: Oid,
}

/// One path that differs between the two commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) path: GitPath,
    /// What the old commit has at the path.
    pub(super) old: Option<Leaf>,
    /// What the new commit has at the path.
    pub(super) new: Option<Leaf>,
    /// Whether the file of the old commit was in the work tree. A sparse checkout may leave it out.
    pub(super) was: bool,
    /// Whether the file of the new commit goes to the work tree.
    pub(super) will: bool,
}

impl Change {
    /// The file that was in the work tree. A submodule is not a file.
    pub(super) fn before(&self) -> Option<&Leaf> {
        self.old.as_ref().filter(|leaf| self.was && leaf.mode != Mode::Gitlink)
    }

    /// The file that is to be in the work tree.
    pub(super) fn after(&self) -> Option<&Leaf> {
        self.new.as_ref().filter(|leaf| self.will && leaf.mode != Mode::Gitlink)
    }
}

/// One fast-forward, as it is written down.
///
/// Write it before the first file of the user's is touched, and forget it only when every path is settled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) work_tree: PathBuf,
    pub(super) branch: String,
    pub(super) old: Oid,
    pub(super) new: Oid,
    pub(super) changes: Vec<Change>,
    /// Folders that did not exist, each after the one it lies in.
    pub(super) made: Vec<GitPath>,
}

impl Record {
    /// Writes the record so that it survives a power cut.
    pub(super) fn write(&self, folder: &Path) -> Result<(), GitError> {
        let mut bytes = FORMAT.to_vec();
        let mut field = |name: &str, value: &[u8]| {
            bytes.extend_from_slice(&[b"\0", name.as_bytes(), b" ", value].concat());
        };
        // Fields end at NUL, the one byte that no path contains.
        field("work-tree", self.work_tree.as_os_str().as_bytes());
        field("branch", self.branch.as_bytes());
        field("old", self.old.as_str().as_bytes());
        field("new", self.new.as_str().as_bytes());
        self.made.iter().for_each(|dir| field("made", dir.as_bytes()));
        for change in &self.changes {
            let there = |on_disk| if on_disk { "there" } else { "not-there" };
            let leaf = |leaf: &Option<Leaf>| match leaf {
                Some(leaf) => format!("{} {}", leaf.mode.as_str(), leaf.oid),
                None => "none none".to_owned(),
            };
            let (old, new) = (leaf(&change.old), leaf(&change.new));
            let head = format!("{} {old} {} {new} ", there(change.was), there(change.will));
            field("path", &[head.as_bytes(), change.path.as_bytes()].concat());
        }
        // The last field tells a complete file from the beginning of one.
        field("end", b"");
        write_atomic(&folder.join(NAME), &bytes)?;
        // The folder is flushed too: a new name is not on the disk before that.
        File::open(folder).and_then(|dir| dir.sync_all()).map_err(GitError::io(folder))
    }

    /// The record, if there is one. One that cannot be read is an error, because nobody knows then whose files are
    /// whose.
    pub(super) fn read(folder: &Path) -> Result<Option<Record>, GitError> {
        let path = folder.join(NAME);
        match crate::files::read_own(&path) {
            Ok(bytes) => match parse(&bytes) {
                Some(record) => Ok(Some(record)),
                None => Err(GitError::odd(format!("{} cannot be read", path.display()))),
            },
            // Only a missing file means that nothing was begun; everything else has to be looked at by a person.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(GitError::io(path)(error)),
        }
    }

    /// Forgets the record, once what was begun is settled.
    pub(super) fn forget(folder: &Path) -> Result<(), GitError> {
        let path = folder.join(NAME);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(GitError::io(path)(error)),
            _ => Ok(()),
        }
    }
}

fn parse(bytes: &[u8]) -> Option<Record> {
    let mut fields = bytes.split(|byte| *byte == 0);
    if fields.next()? != FORMAT {
        return None;
    }
    let all: Vec<(&[u8], &[u8])> = fields.map(|field| split(field)).collect::<Option<_>>()?;
    if all.last()?.0 != b"end" {
        return None;
    }
    let one = |name: &[u8]| all.iter().find(|(found, _)| *found == name).map(|(_, value)| *value);
    let each = |name: &'static [u8]| all.iter().filter(move |(found, _)| *found == name).map(|(_, v)| *v);
    Some(Record {
        work_tree: PathBuf::from(OsStr::from_bytes(one(b"work-tree")?)),
        branch: String::from_utf8(one(b"branch")?.to_vec()).ok()?,
        old: Oid::from_bytes(one(b"old")?).ok()?,
        new: Oid::from_bytes(one(b"new")?).ok()?,
        changes: each(b"path").map(change).collect::<Option<_>>()?,
        made: each(b"made").map(GitPath::from).collect(),
    })
}

/// The parts before and after the first space.
fn split(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = text.iter().position(|byte| *byte == b' ')?;
    Some((text.get(..at)?, text.get(at + 1..)?))
}

fn change(text: &[u8]) -> Option<Change> {
    let there = |word: &[u8]| match word {
        b"there" => Some(true),
        b"not-there" => Some(false),
        _ => None,
    };
    let leaf = |mode: &[u8], oid: &[u8]| match (mode, oid) {
        (b"none", b"none") => Some(None),
        _ => Some(Some(Leaf { mode: Mode::parse(mode).ok()?, oid: Oid::from_bytes(oid).ok()? })),
    };
    let ((was, rest), mut words) = (split(text)?, [&b""[..]; 5]);
    let mut left = rest;
    for word in &mut words {
        (*word, left) = split(left)?;
    }
    let [old_mode, old_oid, will, new_mode, new_oid] = words;
    let path = GitPath::from(left);
    let (old, new) = (leaf(old_mode, old_oid)?, leaf(new_mode, new_oid)?);
    // The file lies in a run's folder. A path in it that leads out of the work tree is not believed.
    path.is_inside().then_some(())?;
    Some(Change { path, old, new, was: there(was)?, will: there(will)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf(mode: Mode, byte: u8) -> Option<Leaf> {
        Some(Leaf { mode, oid: Oid::from_raw(&[byte; 20]) })
    }

    #[test]
    fn what_is_written_down_is_read_again() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(Record::read(folder.path()).expect("reads"), None);
        let path = |text: &str| GitPath::from(text);
        let changes = vec![
            Change { path: path("a b\nc"), old: leaf(Mode::File, 1), new: None, was: true, will: false },
            Change { path: path("d/e"), old: None, new: leaf(Mode::Symlink, 2), was: false, will: true },
        ];
        let record = Record {
            work_tree: PathBuf::from("/a folder\nof mine"),
            branch: "main".to_owned(),
            old: Oid::from_raw(&[3; 20]),
            new: Oid::from_raw(&[4; 20]),
            changes,
            made: vec![path("d")],
        };
        record.write(folder.path()).expect("writes");
        assert_eq!(Record::read(folder.path()).expect("reads"), Some(record));
        // Half of it is nothing to go by.
        let file = folder.path().join(NAME);
        let bytes = std::fs::read(&file).expect("there");
        for len in [0, 10, bytes.len() / 2, bytes.len() - 1] {
            std::fs::write(&file, &bytes[..len]).expect("written");
            assert!(Record::read(folder.path()).is_err(), "{len}");
        }
        Record::forget(folder.path()).expect("forgotten");
        assert_eq!(Record::read(folder.path()).expect("reads"), None);
    }

    #[test]
    fn no_path_leads_out_of_the_work_tree() {
        let text = |path: &str| format!("there 100644 {} there none none {path}", "1".repeat(40));
        assert!(change(text("a/b").as_bytes()).is_some());
        for bad in ["../a", "/a", ".git/config", "a/../../b", ""] {
            assert!(change(text(bad).as_bytes()).is_none(), "{bad}");
        }
    }
}
