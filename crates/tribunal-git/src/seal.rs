//! A private repository as it was made, and the proof that nobody has touched it since: every change of a file or of what
//! a directory holds moves the time of change, which nobody can set back. Where that cannot be proven, it counts as
//! touched. Nothing of an agent's is read here but the state of entries.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Files of a private repository by their path in it, with what is in them.
pub(crate) type Files = Vec<(PathBuf, Vec<u8>)>;

/// What a private repository was when it was made.
#[derive(Clone, Debug)]
pub(crate) struct Seal {
    entries: Vec<(PathBuf, Stamp)>,
    files: Vec<(PathBuf, u64)>,
}

/// Time of change (seconds and nanoseconds), device, inode.
type Stamp = (i64, i64, u64, u64);

fn stamp(path: &Path) -> Option<Stamp> {
    path.symlink_metadata().ok().map(|meta| (meta.ctime(), meta.ctime_nsec(), meta.dev(), meta.ino()))
}

fn digest(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

/// Entries without their proof: another file must be changed, with [`Unsealed::seal`], before anybody else gets here.
pub(crate) struct Unsealed(Seal);

impl Unsealed {
    /// Looks at what was just made in the directory `git`: these files, and the index.
    pub(crate) fn look(git: &Path, files: &Files) -> Option<Unsealed> {
        let index = Path::new("index");
        let mut paths: BTreeSet<&Path> = BTreeSet::new();
        for path in files.iter().map(|(path, _)| path.as_path()).chain([index]) {
            paths.extend(path.ancestors());
        }
        let look = |path: &Path| Some((path.to_owned(), stamp(&git.join(path))?));
        let entries = paths.into_iter().map(look).collect::<Option<Vec<_>>>()?;
        let files = files.iter().map(|(path, bytes)| (path.clone(), digest(bytes))).collect();
        Some(Unsealed(Seal { entries, files }))
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
        self.entries.iter().all(|(path, was)| stamp(&git.join(path)) == Some(*was))
    }

    /// Which of these files are not in it as they should be; none when it holds others than these.
    pub(crate) fn stale<'a>(&self, files: &'a Files) -> Option<Vec<&'a (PathBuf, Vec<u8>)>> {
        let same_place = files.len() == self.files.len()
            && files.iter().zip(&self.files).all(|((new, _), (old, _))| new == old);
        let stale = files.iter().zip(&self.files).filter(|((_, bytes), (_, old))| digest(bytes) != *old);
        same_place.then(|| stale.map(|(file, _)| file).collect())
    }
}
