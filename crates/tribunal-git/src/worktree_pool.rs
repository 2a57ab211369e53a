//! The worktree pool: trees that are no longer needed are kept for a while and recycled into new ones. That costs a
//! tenth of a fresh checkout, because creating and deleting a thousand files is the most expensive thing a lane does,
//! and some file systems get slower the more was deleted lately.
//!
//! No look at a file proves that its bytes are as they were, and whoever was handed an open directory can write in it
//! for ever. So trees for reviewers and checks are recycled only from trees that nobody could write, and a tree that an
//! agent worked in is only ever given to another builder. Files that are not as they were left are deleted in either
//! case.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use tribunal_process::lock;

use crate::files::unique;
use crate::index::{self, Index, Stat};
use crate::tree::{Files, drop_index};
use crate::{GitError, GitPath, Oid, Repo, Trash, Tree};

/// Makes trees, takes them away, and recycles them. It must be on the same file system as the trees.
///
/// Which of `retire`, `shelve` and `recycle_worked` to call depends on who could write the tree. When in doubt, call
/// `retire`.
pub struct WorktreePool {
    repo: Repo,
    dir: PathBuf,
    max: usize,
    /// Folders with a tree and its index each, which nobody could write.
    untouched: Mutex<Vec<PathBuf>>,
    /// Such folders with trees that agents worked in.
    worked: Mutex<Vec<PathBuf>>,
    trash: Trash,
}

/// A tree that is wanted, and where.
struct Wanted<'a> {
    dest: &'a Path,
    index: &'a Path,
    commit: &'a Oid,
    tree: &'a Oid,
    branch: &'a str,
}

impl WorktreePool {
    /// Opens a pool that keeps at most `max` trees of each kind. Trees that an earlier process left in it are deleted
    /// in the background.
    pub fn open(repo: &Repo, dir: &Path, max: usize) -> Result<WorktreePool, GitError> {
        let (kept, trash) = (dir.join("kept"), dir.join("trash"));
        std::fs::create_dir_all(&kept).map_err(GitError::io(&kept))?;
        // Trees of an earlier process are not recycled: only that process knew which of them nobody could write.
        let trash = Trash::open(&trash)?;
        for entry in std::fs::read_dir(&kept).map_err(GitError::io(&kept))? {
            trash.take(&entry.map_err(GitError::io(&kept))?.path())?;
        }
        let (untouched, worked) = (Mutex::default(), Mutex::default());
        Ok(WorktreePool { repo: repo.clone(), dir: kept, max, untouched, worked, trash })
    }

    /// Takes a tree away with its index, without recycling anything. Save what is in it first ([`Repo::snapshot`]).
    pub fn retire(&self, tree: &Tree) -> Result<(), GitError> {
        self.trash.take(tree.path())?;
        drop_index(&made_index(tree.index()))?;
        drop_index(tree.index())
    }

    /// Takes away a tree that nobody could ever write, its git directory included, to recycle it.
    pub fn recycle(&self, tree: &Tree) -> Result<(), GitError> {
        self.keep(tree, tree.index(), &self.untouched)
    }

    /// Takes away a tree that an agent worked in, to recycle it for another builder. Save what is in it first.
    pub fn recycle_worked(&self, tree: &Tree) -> Result<(), GitError> {
        self.keep(tree, &made_index(tree.index()), &self.worked)?;
        drop_index(tree.index())
    }

    /// Keeps a tree, with an index that says how its files should look.
    fn keep(&self, tree: &Tree, index: &Path, kept: &Mutex<Vec<PathBuf>>) -> Result<(), GitError> {
        let there = |path: &Path| path.symlink_metadata().is_ok();
        let mut kept = lock(kept);
        // An agent may have deleted its own tree.
        if kept.len() >= self.max || !there(tree.path()) || !there(index) {
            drop(kept);
            return self.retire(tree);
        }
        let place = self.dir.join(unique("tree"));
        std::fs::create_dir_all(&place).map_err(GitError::io(&place))?;
        std::fs::rename(tree.path(), place.join("tree")).map_err(GitError::io(tree.path()))?;
        std::fs::rename(index, place.join("index")).map_err(GitError::io(index))?;
        kept.push(place);
        Ok(())
    }

    /// Takes any other directory away, to be deleted in the background; true if it existed.
    pub fn discard(&self, path: &Path) -> Result<bool, GitError> {
        self.trash.take(path)
    }

    /// Like [`Repo::checkout`], for an agent to work in. It recycles a tree that an agent worked in, if there is one.
    pub fn checkout_to_work(
        &self,
        dest: &Path,
        index: &Path,
        commit: &Oid,
        branch: &str,
    ) -> Result<Tree, GitError> {
        let tree = self.made(&self.worked, &Wanted { dest, index, commit, tree: commit, branch })?;
        let made = made_index(index);
        drop_index(&made)?;
        // Git replaces an index file and never writes into one, so this link keeps the state in which the files were
        // made.
        std::fs::hard_link(index, &made).map_err(GitError::io(&made))?;
        Ok(tree)
    }

    /// Like [`Repo::checkout`]. It recycles a tree that nobody could write, if there is one.
    pub fn checkout(&self, dest: &Path, index: &Path, commit: &Oid, branch: &str) -> Result<Tree, GitError> {
        self.checkout_as(dest, index, commit, commit, branch)
    }

    /// Like [`Repo::checkout_as`]. It recycles a tree that nobody could write, if there is one.
    pub fn checkout_as(
        &self,
        dest: &Path,
        index: &Path,
        commit: &Oid,
        tree: &Oid,
        branch: &str,
    ) -> Result<Tree, GitError> {
        self.made(&self.untouched, &Wanted { dest, index, commit, tree, branch })
    }

    fn made(&self, kept: &Mutex<Vec<PathBuf>>, wanted: &Wanted<'_>) -> Result<Tree, GitError> {
        let Wanted { dest, index, commit, tree, branch } = *wanted;
        let kept = lock(kept).pop();
        if let Some(kept) = kept
            && dest.symlink_metadata().is_err()
        {
            let again = self.make_over(&kept, wanted);
            self.trash.take(&kept)?;
            if let Ok(true) = again {
                return Ok(self.repo.tree(dest, index, commit));
            }
        }
        // Whatever was wrong with the old tree, a fresh one does not depend on it.
        self.repo.checkout_as(dest, index, commit, tree, branch)
    }

    /// Makes an old tree into a new one; false when it is not fit for that.
    fn make_over(&self, place: &Path, wanted: &Wanted<'_>) -> Result<bool, GitError> {
        let (old, made) = (place.join("tree"), place.join("index"));
        let git = old.join(".git");
        let sha256 = self.repo.inner.sha256;
        let before = index::read(&made, sha256)?;
        let files = self.repo.private_files(wanted.commit, wanted.branch);
        let scrubber = Scrubber::new(place, &before, &self.trash)?;
        // A submodule's directory is not described by the index, so nothing could prove it clean.
        if !before.gitlinks.is_empty() || !scrubber.tree(&old)? {
            return Ok(false);
        }
        if !scrubber.holds_only(&git, &files) {
            self.trash.take(&git)?;
        }
        let index = wanted.index;
        drop_index(index)?;
        // A copy is newer than every file it knows, so git need not read them all again to be sure.
        std::fs::copy(&made, index).map_err(GitError::io(index))?;
        let call = self.repo.engine(&old).env("GIT_INDEX_FILE", index);
        call.args(["read-tree", "--reset", "-u"]).arg(wanted.tree).ok()?;
        // With other attributes, files that stayed might have to be converted differently.
        if attributes(&before) != attributes(&index::read(index, sha256)?) {
            return Ok(false);
        }
        let stale = files
            .iter()
            .filter(|(path, bytes)| std::fs::read(git.join(path)).ok().as_deref() != Some(bytes.as_slice()));
        self.repo.hand_over(&old, wanted.dest, index, stale)?;
        Ok(true)
    }

    /// Deletes everything and waits until it is done.
    pub fn empty(self) {
        for kept in lock(&self.untouched).drain(..).chain(lock(&self.worked).drain(..)) {
            // A tree that cannot be taken now is swept at the next start.
            let _ = self.trash.take(&kept);
        }
        self.trash.empty();
    }
}

/// Where the index is kept as it was when an agent was given its tree.
fn made_index(index: &Path) -> PathBuf {
    let mut made = index.as_os_str().to_owned();
    made.push(".made");
    PathBuf::from(made)
}

fn attributes(index: &Index) -> Vec<(&GitPath, &[u8])> {
    let named = |path: &GitPath| path.as_bytes().rsplit(|b| *b == b'/').next() == Some(b".gitattributes");
    let found = index.files.iter().filter(|(path, _)| named(path));
    found.map(|(path, stat)| (path, stat.oid.as_slice())).collect()
}

/// Takes away everything that is not as it was made.
struct Scrubber<'a> {
    files: BTreeMap<&'a [u8], &'a Stat>,
    dirs: BTreeSet<&'a [u8]>,
    trash: &'a Trash,
    mode: u32,
    uid: u32,
}

impl<'a> Scrubber<'a> {
    /// A scrubber for a tree in this place, whose mode and owner every directory of the tree must share.
    fn new(place: &Path, index: &'a Index, trash: &'a Trash) -> Result<Scrubber<'a>, GitError> {
        let files = index.files.iter().map(|(path, stat)| (path.as_bytes(), stat)).collect();
        let dirs = index.dirs.iter().map(GitPath::as_bytes).collect();
        let meta = place.symlink_metadata().map_err(GitError::io(place))?;
        Ok(Scrubber { files, dirs, trash, mode: meta.mode(), uid: meta.uid() })
    }

    /// Takes away everything except files that look untouched, the directories they are in, and the git directory;
    /// false when a directory was tampered with.
    fn tree(&self, root: &Path) -> Result<bool, GitError> {
        let meta = root.symlink_metadata().map_err(GitError::io(root))?;
        Ok(meta.is_dir() && self.fit(root, &meta) && self.directory(root, &mut Vec::new())?)
    }

    /// Whether a git directory holds no other files than these and its index. Their content may differ; it is written
    /// anew.
    fn holds_only(&self, git: &Path, files: &Files) -> bool {
        let names: BTreeSet<&Path> =
            files.iter().map(|(path, _)| path.as_path()).chain([Path::new("index")]).collect();
        let dirs: BTreeSet<&Path> = names.iter().flat_map(|name| name.ancestors().skip(1)).collect();
        let mut left = vec![git.to_owned()];
        while let Some(path) = left.pop() {
            let Ok(inside) = path.strip_prefix(git) else { return false };
            let Ok(meta) = path.symlink_metadata() else { return false };
            let fits = match meta.is_dir() {
                true => dirs.contains(inside) && self.fit(&path, &meta),
                false => names.contains(inside) && meta.is_file() && meta.nlink() == 1,
            };
            if !fits {
                return false;
            }
            if meta.is_dir() {
                let Ok(entries) = std::fs::read_dir(&path) else { return false };
                left.extend(entries.flatten().map(|entry| entry.path()));
            }
        }
        true
    }

    /// Whether a directory has the mode and owner of the others, and no access list that new files would inherit.
    fn fit(&self, path: &Path, meta: &std::fs::Metadata) -> bool {
        let mut list = [0u8; 4096];
        let usual = meta.mode() == self.mode && meta.mode() & 0o7000 == 0 && meta.mode() & 0o700 == 0o700;
        let plain = match rustix::fs::llistxattr(path, &mut list[..]) {
            Ok(len) => !list.get(..len).unwrap_or(&list).windows(9).any(|word| word == b"posix_acl"),
            // A file system without extended attributes has no access lists. Any other error counts as one.
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
            if inside.is_empty() && name == ".git" {
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
                // This may be a whole build directory. Deleting it can wait, and its place is free at once.
                self.trash.take(&path)?;
            } else if !self.fit(&path, &meta) || !self.directory(&path, inside)? {
                return Ok(false);
            }
            inside.truncate(len);
        }
        Ok(true)
    }
}
