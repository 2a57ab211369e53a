//! Trees that are no longer needed are kept for a while and made over into new ones, which costs a tenth of a fresh
//! checkout: creating and deleting a thousand files is the dearest thing a lane does, and some file systems get slower
//! the more was deleted lately. Of what an agent leaves behind, only files that are provably untouched since Tribunal
//! wrote them are used again; anything else is deleted, its git directory always.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::files::unique;
use crate::index::{self, Index, Stat};
use crate::tree::{drop_index, made_index};
use crate::{GitError, GitPath, Oid, Repo, Trash, Tree};

/// Makes trees, takes them away, and uses them again. It must be on the file system of the trees.
pub struct Shelf {
    repo: Repo,
    dir: PathBuf,
    max: usize,
    kept: Mutex<Vec<PathBuf>>,
    trash: Trash,
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
        Ok(Shelf { repo: repo.clone(), dir: kept, max, kept: Mutex::new(Vec::new()), trash })
    }

    /// Takes a tree and its index away. Save what is in it first ([`Repo::snapshot`]).
    pub fn retire(&self, tree: &Tree) -> Result<(), GitError> {
        let made = made_index(tree.index());
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= self.max || !made.exists() || !tree.path().exists() {
            drop(kept);
            self.trash.take(tree.path())?;
            return drop_index(tree.index());
        }
        let place = self.dir.join(unique("tree"));
        std::fs::create_dir_all(&place).map_err(GitError::io(&place))?;
        std::fs::rename(&made, place.join("made")).map_err(GitError::io(&made))?;
        std::fs::rename(tree.path(), place.join("tree")).map_err(GitError::io(tree.path()))?;
        kept.push(place);
        drop(kept);
        drop_index(tree.index())
    }

    /// Takes any other directory away, to be deleted in the background; true when it was there.
    pub fn discard(&self, path: &Path) -> Result<bool, GitError> {
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
        let place = self.kept.lock().unwrap_or_else(PoisonError::into_inner).pop();
        if let Some(place) = place
            && dest.symlink_metadata().is_err()
        {
            let again = self.make_over(&place, dest, index, commit, tree, branch);
            self.trash.take(&place)?;
            if let Ok(true) = again {
                return Ok(self.repo.tree(dest, index, commit));
            }
        }
        // Whatever was wrong with the old tree, a fresh one does not depend on it.
        self.repo.checkout_as(dest, index, commit, tree, branch)
    }

    /// Makes an old tree into a new one; false when it is not fit for it.
    fn make_over(
        &self,
        place: &Path,
        dest: &Path,
        index: &Path,
        commit: &Oid,
        tree: &Oid,
        branch: &str,
    ) -> Result<bool, GitError> {
        let (old, made) = (place.join("tree"), place.join("made"));
        let sha256 = self.repo.inner.sha256;
        let before = index::read(&made, sha256)?;
        if !before.gitlinks.is_empty() || !scrub(&old, &before, &self.trash)? {
            return Ok(false);
        }
        drop_index(index)?;
        // A copy is newer than every file it knows, so git need not read them all again to be sure.
        std::fs::copy(&made, index).map_err(GitError::io(index))?;
        let call = self.repo.engine(&old).env("GIT_INDEX_FILE", index);
        call.args(["read-tree", "--reset", "-u"]).arg(tree).ok()?;
        // With other attributes the files that stayed might have to look different.
        if attributes(&before) != attributes(&index::read(index, sha256)?) {
            return Ok(false);
        }
        self.repo.hand_over(&old, dest, index, commit, branch)?;
        Ok(true)
    }

    /// Deletes everything, and waits for it.
    pub fn empty(self) {
        for place in self.kept.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            // What cannot be taken now is swept at the next start.
            let _ = self.trash.take(&place);
        }
        self.trash.empty();
    }
}

fn attributes(index: &Index) -> Vec<(&GitPath, &[u8])> {
    let named = |path: &GitPath| path.as_bytes().rsplit(|b| *b == b'/').next() == Some(b".gitattributes");
    let found = index.files.iter().filter(|(path, _)| named(path));
    found.map(|(path, stat)| (path, stat.oid.as_slice())).collect()
}

/// Takes away all but untouched files and the directories they are in; false when a directory was tampered with.
fn scrub(root: &Path, index: &Index, trash: &Trash) -> Result<bool, GitError> {
    let files: BTreeMap<&[u8], &Stat> =
        index.files.iter().map(|(path, stat)| (path.as_bytes(), stat)).collect();
    let dirs: BTreeSet<&[u8]> = index.dirs.iter().map(GitPath::as_bytes).collect();
    let meta = root.symlink_metadata().map_err(GitError::io(root))?;
    let scrubber = Scrubber { files, dirs, trash, mode: meta.mode(), uid: meta.uid() };
    Ok(meta.is_dir() && scrubber.fit(root, &meta) && scrubber.directory(root, &mut Vec::new())?)
}

struct Scrubber<'a> {
    files: BTreeMap<&'a [u8], &'a Stat>,
    dirs: BTreeSet<&'a [u8]>,
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
