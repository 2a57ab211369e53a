//! Trees that are no longer needed are kept for a while and made over into new ones, which costs a tenth of a fresh
//! checkout: creating and deleting a thousand files is the dearest thing a lane does, and some file systems get slower
//! the more was deleted lately. Of what an agent leaves behind, only files that are provably untouched since Tribunal
//! wrote them are used again, its git directory as a whole or not at all; anything else is deleted.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::files::unique;
use crate::index::{self, Index, Stat};
use crate::seal::Seal;
use crate::tree::{drop_index, made_index};
use crate::{GitError, GitPath, Oid, Repo, Trash, Tree};

/// Makes trees, takes them away, and uses them again. It must be on the file system of the trees.
pub struct Shelf {
    repo: Repo,
    dir: PathBuf,
    max: usize,
    kept: Mutex<Vec<Kept>>,
    /// Of trees in use, by their place.
    seals: Mutex<HashMap<PathBuf, Seal>>,
    trash: Trash,
}

/// A tree on the shelf.
struct Kept {
    place: PathBuf,
    seal: Option<Seal>,
}

/// A tree that is wanted.
struct Wanted<'a> {
    dest: &'a Path,
    index: &'a Path,
    commit: &'a Oid,
    tree: &'a Oid,
    branch: &'a str,
}

impl Shelf {
    /// Opens a shelf that keeps at most `max` trees; what an earlier process left in it is deleted in the background.
    pub fn open(repo: &Repo, dir: &Path, max: usize) -> Result<Shelf, GitError> {
        let (kept, trash) = (dir.join("kept"), dir.join("trash"));
        std::fs::create_dir_all(&kept).map_err(GitError::io(&kept))?;
        let trash = Trash::open(&trash)?;
        for entry in std::fs::read_dir(&kept).map_err(GitError::io(&kept))? {
            trash.take(&entry.map_err(GitError::io(&kept))?.path())?;
        }
        // There a write through mapped memory moves no time, so nothing would be proven by one.
        let max = if is_memory(&kept)? { 0 } else { max };
        let (repo, empty) = (repo.clone(), Mutex::new(Vec::new()));
        Ok(Shelf { repo, dir: kept, max, kept: empty, seals: Mutex::default(), trash })
    }

    /// Takes a tree and its index away. Save what is in it first ([`Repo::snapshot`]).
    pub fn retire(&self, tree: &Tree) -> Result<(), GitError> {
        let made = made_index(tree.index());
        let seal = lock(&self.seals).remove(tree.path());
        let mut kept = lock(&self.kept);
        if kept.len() >= self.max || !made.exists() || !tree.path().exists() {
            drop(kept);
            self.trash.take(tree.path())?;
            return drop_index(tree.index());
        }
        let place = self.dir.join(unique("tree"));
        std::fs::create_dir_all(&place).map_err(GitError::io(&place))?;
        std::fs::rename(&made, place.join("made")).map_err(GitError::io(&made))?;
        std::fs::rename(tree.path(), place.join("tree")).map_err(GitError::io(tree.path()))?;
        kept.push(Kept { place, seal });
        drop(kept);
        drop_index(tree.index())
    }

    /// Takes any other directory away, to be deleted in the background; true when it was there.
    pub fn discard(&self, path: &Path) -> Result<bool, GitError> {
        lock(&self.seals).retain(|tree, _| !tree.starts_with(path));
        self.trash.take(path)
    }

    /// Like [`Repo::checkout`], from a tree on the shelf if there is one.
    pub fn checkout(&self, dest: &Path, index: &Path, commit: &Oid, branch: &str) -> Result<Tree, GitError> {
        self.checkout_as(dest, index, commit, commit, branch)
    }

    /// Like [`Repo::checkout_as`], from a tree on the shelf if there is one.
    pub fn checkout_as(
        &self,
        dest: &Path,
        index: &Path,
        commit: &Oid,
        tree: &Oid,
        branch: &str,
    ) -> Result<Tree, GitError> {
        let wanted = Wanted { dest, index, commit, tree, branch };
        let kept = lock(&self.kept).pop();
        if let Some(kept) = kept
            && dest.symlink_metadata().is_err()
        {
            let again = self.make_over(&kept, &wanted);
            self.trash.take(&kept.place)?;
            if let Ok(true) = again {
                return Ok(self.repo.tree(dest, index, commit));
            }
        }
        // Whatever was wrong with the old tree, a fresh one does not depend on it.
        let seal = self.repo.checkout_sealed(dest, index, commit, tree, branch)?;
        self.sealed(dest, seal);
        Ok(self.repo.tree(dest, index, commit))
    }

    fn sealed(&self, dest: &Path, seal: Option<Seal>) {
        let mut seals = lock(&self.seals);
        match seal {
            Some(seal) => seals.insert(dest.to_owned(), seal),
            None => seals.remove(dest),
        };
    }

    /// Makes an old tree into a new one; false when it is not fit for it.
    fn make_over(&self, kept: &Kept, wanted: &Wanted<'_>) -> Result<bool, GitError> {
        let (old, made) = (kept.place.join("tree"), kept.place.join("made"));
        let sha256 = self.repo.inner.sha256;
        let before = index::read(&made, sha256)?;
        let files = self.repo.private_files(wanted.commit, wanted.branch);
        let seal = kept.seal.as_ref().filter(|seal| seal.holds(&old.join(".git")));
        let stale = seal.and_then(|seal| seal.stale(&files));
        if !before.gitlinks.is_empty() || !scrub(&old, &before, stale.is_some(), &self.trash)? {
            return Ok(false);
        }
        let index = wanted.index;
        drop_index(index)?;
        // A copy is newer than every file it knows, so git need not read them all again to be sure.
        std::fs::copy(&made, index).map_err(GitError::io(index))?;
        let call = self.repo.engine(&old).env("GIT_INDEX_FILE", index);
        call.args(["read-tree", "--reset", "-u"]).arg(wanted.tree).ok()?;
        // With other attributes the files that stayed might have to look different.
        if attributes(&before) != attributes(&index::read(index, sha256)?) {
            return Ok(false);
        }
        let to_write = stale.unwrap_or_else(|| files.iter().collect());
        let seal = self.repo.hand_over(&old, wanted.dest, index, &files, to_write.into_iter())?;
        self.sealed(wanted.dest, seal);
        Ok(true)
    }

    /// Deletes everything, and waits for it.
    pub fn empty(self) {
        for kept in lock(&self.kept).drain(..) {
            // What cannot be taken now is swept at the next start.
            let _ = self.trash.take(&kept.place);
        }
        self.trash.empty();
    }
}

/// Whether a directory is kept in memory alone.
fn is_memory(dir: &Path) -> Result<bool, GitError> {
    const TMPFS: i64 = 0x0102_1994;
    const RAMFS: i64 = 0x8584_58f6;
    let kind = rustix::fs::statfs(dir).map_err(|errno| GitError::io(dir)(errno.into()))?.f_type;
    Ok([TMPFS, RAMFS].contains(&kind))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn attributes(index: &Index) -> Vec<(&GitPath, &[u8])> {
    let named = |path: &GitPath| path.as_bytes().rsplit(|b| *b == b'/').next() == Some(b".gitattributes");
    let found = index.files.iter().filter(|(path, _)| named(path));
    found.map(|(path, stat)| (path, stat.oid.as_slice())).collect()
}

/// Takes away all but untouched files and the directories they are in, and the git directory unless it is to be kept;
/// false when a directory was tampered with.
fn scrub(root: &Path, index: &Index, keep_git: bool, trash: &Trash) -> Result<bool, GitError> {
    let files: BTreeMap<&[u8], &Stat> =
        index.files.iter().map(|(path, stat)| (path.as_bytes(), stat)).collect();
    let dirs: BTreeSet<&[u8]> = index.dirs.iter().map(GitPath::as_bytes).collect();
    let meta = root.symlink_metadata().map_err(GitError::io(root))?;
    let scrubber = Scrubber { files, dirs, keep_git, trash, mode: meta.mode(), uid: meta.uid() };
    Ok(meta.is_dir() && scrubber.fit(root, &meta) && scrubber.directory(root, &mut Vec::new())?)
}

struct Scrubber<'a> {
    files: BTreeMap<&'a [u8], &'a Stat>,
    dirs: BTreeSet<&'a [u8]>,
    keep_git: bool,
    trash: &'a Trash,
    mode: u32,
    uid: u32,
}

impl Scrubber<'_> {
    /// Whether a directory has the mode and owner of the others, and no access list that new files would inherit.
    fn fit(&self, path: &Path, meta: &std::fs::Metadata) -> bool {
        let mut list = [0u8; 4096];
        let usual = meta.mode() == self.mode && meta.mode() & 0o7000 == 0 && meta.mode() & 0o700 == 0o700;
        let plain = match rustix::fs::llistxattr(path, &mut list[..]) {
            Ok(len) => !list.get(..len).unwrap_or(&list).windows(9).any(|word| word == b"posix_acl"),
            Err(rustix::io::Errno::OPNOTSUPP) => true,
            Err(_) => false,
        };
        usual && meta.uid() == self.uid && plain
    }

    fn directory(&self, dir: &Path, inside: &mut Vec<u8>) -> Result<bool, GitError> {
        for entry in std::fs::read_dir(dir).map_err(GitError::io(dir))? {
            let entry = entry.map_err(GitError::io(dir))?;
            let (path, name) = (entry.path(), entry.file_name());
            let meta = path.symlink_metadata().map_err(GitError::io(&path))?;
            if self.keep_git && inside.is_empty() && name == ".git" && meta.is_dir() {
                continue;
            }
            let len = inside.len();
            if len > 0 {
                inside.push(b'/');
            }
            inside.extend_from_slice(name.as_bytes());
            if !meta.is_dir() {
                if !self.files.get(inside.as_slice()).is_some_and(|stat| stat.is_untouched(&meta)) {
                    std::fs::remove_file(&path).map_err(GitError::io(&path))?;
                }
            } else if !self.dirs.contains(inside.as_slice()) {
                // It may be a whole build directory: deleting can wait, its place is free at once.
                self.trash.take(&path)?;
            } else if !self.fit(&path, &meta) || !self.directory(&path, inside)? {
                return Ok(false);
            }
            inside.truncate(len);
        }
        Ok(true)
    }
}
