//! Finds out which files of a checkout a command reads, by their access times. Before the run they are set to the
//! epoch, which is older than any change of a file. The first read therefore moves them even on a file system mounted
//! with `relatime`.
//!
//! On a file system with `noatime` nothing moves, and no file is reported as read. Callers must treat an empty answer
//! as "not known", not as "nothing was read".

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_OMIT, utimensat};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Mutex;
use tribunal_git::Oid;

/// The reads that were seen, by tree, command and files. It is kept for one run only: answers kept from an earlier run
/// do not say what was read.
pub(crate) type Memory = Mutex<BTreeMap<(Oid, Vec<Vec<String>>, Vec<String>), BTreeSet<String>>>;

/// Files of a tree that are being watched.
pub(crate) struct Reads<'a> {
    tree: &'a Path,
    files: Vec<&'a str>,
}

impl<'a> Reads<'a> {
    /// Begins to watch. `dir` is a folder of ours on the same file system, where it is tried whether a read shows.
    pub(crate) fn begin(dir: &Path, tree: &'a Path, files: &'a [String]) -> Reads<'a> {
        let moves = moves_in(dir).unwrap_or(false);
        let begun = |path: &&String| moves && set_unread(&tree.join(path)).is_ok();
        Reads { tree, files: files.iter().filter(begun).map(String::as_str).collect() }
    }

    /// The files that were read since. A file that is gone was at least looked at.
    pub(crate) fn read(&self) -> BTreeSet<String> {
        let is_read = |path: &&&str| is_read(&self.tree.join(path)).unwrap_or(true);
        self.files.iter().filter(is_read).map(|path| (*path).to_owned()).collect()
    }
}

/// Whether the access time of a file moves when the file is read.
fn moves_in(dir: &Path) -> io::Result<bool> {
    let probe = dir.join("read-probe");
    fs::write(&probe, "x")?;
    set_unread(&probe)?;
    fs::read(&probe)?;
    let moves = is_read(&probe);
    fs::remove_file(&probe)?;
    moves
}

fn set_unread(path: &Path) -> io::Result<()> {
    let at = |tv_nsec| Timespec { tv_sec: 0, tv_nsec };
    // `UTIME_OMIT` leaves the modification time alone: build tools decide by it what to rebuild.
    let times = Timestamps { last_access: at(0), last_modification: at(UTIME_OMIT) };
    Ok(utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW)?)
}

fn is_read(path: &Path) -> io::Result<bool> {
    let meta = path.symlink_metadata()?;
    Ok((meta.atime(), meta.atime_nsec()) != (0, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_read_is_seen() {
        let dir = tempfile::tempdir().unwrap();
        let tree = dir.path().join("tree");
        fs::create_dir_all(tree.join("t")).unwrap();
        let names = ["t/a.sh", "t/b.sh", "t/gone.sh"].map(str::to_owned);
        names.iter().for_each(|name| fs::write(tree.join(name), "exit 0\n").unwrap());
        let reads = Reads::begin(dir.path(), &tree, &names);
        if !moves_in(dir.path()).unwrap() {
            assert!(reads.read().is_empty(), "nothing is said to be read");
            eprintln!("access times do not move here: the rest is not looked at");
            return;
        }
        assert!(reads.read().is_empty());
        fs::read(tree.join("t/a.sh")).unwrap();
        fs::remove_file(tree.join("t/gone.sh")).unwrap();
        assert_eq!(reads.read(), BTreeSet::from(["t/a.sh".to_owned(), "t/gone.sh".to_owned()]));
    }
}
