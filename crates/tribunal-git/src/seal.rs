//! A private repository as it was made, and the proof that nobody has touched it since: a change of what a directory holds
//! or of an entry itself moves the time of change, which no agent behind walls can set back; and every file still holds
//! the same bytes, for there are file systems on which a write through mapped memory moves no time. What cannot be proven
//! counts as touched.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Files of a private repository by their path in it, with what is in them.
pub(crate) type Files = Vec<(PathBuf, Vec<u8>)>;

/// What a private repository was when it was made.
#[derive(Clone, Debug)]
pub(crate) struct Seal {
    entries: Vec<(PathBuf, Stamp)>,
    files: Vec<(PathBuf, blake3::Hash)>,
    index: blake3::Hash,
}

const INDEX: &str = "index";

/// Time of change (seconds and nanoseconds), device, inode.
type Stamp = (i64, i64, u64, u64);

fn stamp(path: &Path) -> Option<Stamp> {
    path.symlink_metadata().ok().map(|meta| (meta.ctime(), meta.ctime_nsec(), meta.dev(), meta.ino()))
}

/// The entry itself: with a slash at its end, a link would be followed.
fn at(git: &Path, path: &Path) -> PathBuf {
    if path.as_os_str().is_empty() { git.to_owned() } else { git.join(path) }
}

/// Entries without their proof: another file must be changed, with [`Unsealed::seal`], before anybody else gets here.
pub(crate) struct Unsealed(Seal);

impl Unsealed {
    /// Looks at what was just made in the directory `git`: these files, and the index.
    pub(crate) fn look(git: &Path, files: &Files) -> Option<Unsealed> {
        let mut paths: BTreeSet<&Path> = BTreeSet::new();
        for path in files.iter().map(|(path, _)| path.as_path()).chain([Path::new(INDEX)]) {
            paths.extend(path.ancestors());
        }
        let look = |path: &Path| Some((path.to_owned(), stamp(&at(git, path))?));
        let entries = paths.into_iter().map(look).collect::<Option<Vec<_>>>()?;
        let files = files.iter().map(|(path, bytes)| (path.clone(), blake3::hash(bytes))).collect();
        let index = blake3::hash(&std::fs::read(git.join(INDEX)).ok()?);
        Some(Unsealed(Seal { entries, files, index }))
    }

    /// Seals it, when all of it is older than a file that was changed afterwards: a change within the same tick of the
    /// clock would not show.
    pub(crate) fn seal(self, changed_later: &Path) -> Option<Seal> {
        let (seconds, nanoseconds, ..) = stamp(changed_later)?;
        let old = |(_, stamp): &(PathBuf, Stamp)| (stamp.0, stamp.1) < (seconds, nanoseconds);
        self.0.entries.iter().all(old).then_some(self.0)
    }
}

impl Seal {
    /// Whether a directory is provably what was sealed.
    pub(crate) fn holds(&self, git: &Path) -> bool {
        let same = |path: &Path, was: &blake3::Hash| {
            std::fs::read(git.join(path)).is_ok_and(|bytes| blake3::hash(&bytes) == *was)
        };
        // First what an entry is: no link is read, nor anything that is no file.
        self.entries.iter().all(|(path, was)| stamp(&at(git, path)) == Some(*was))
            && self.files.iter().all(|(path, was)| same(path, was))
            && same(Path::new(INDEX), &self.index)
    }

    /// Which of these files are not in it as they should be; none when it holds others than these.
    pub(crate) fn stale<'a>(&self, files: &'a Files) -> Option<Vec<&'a (PathBuf, Vec<u8>)>> {
        let same_place = files.len() == self.files.len()
            && files.iter().zip(&self.files).all(|((new, _), (old, _))| new == old);
        let stale =
            files.iter().zip(&self.files).filter(|((_, bytes), (_, old))| blake3::hash(bytes) != *old);
        same_place.then(|| stale.map(|(file, _)| file).collect())
    }
}
