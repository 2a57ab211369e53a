//! The fast-forward itself: every new file is made in a folder of ours first, then everything is written down, and only
//! then do files change places, one step of the file system for each.
//!
//! The index follows and the branch comes last. Keep this order: whatever stops it half-way, the branch tells whether
//! to finish or to put back. Git's own `read-tree -m -u` is not let loose on the user's files, because it replaces each
//! one in two steps and stops at the first that it cannot write.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::lock::IndexLock;
use super::place::{Looked, Place, up};
use super::record::{Change, Leaf, Record};
use super::{Bring, Forward, Refusal, settle};
use tribunal_core::defence::{Defence, stands};

use crate::open::{fields, on_work_tree};
use crate::run::Call;
use crate::{GitError, GitPath, Mode, Oid, Repo};

/// Where the new files wait. The old files of the same paths take their places here.
pub(super) const NEW: &str = "new";
/// Where files go that the result does not have.
pub(super) const OLD: &str = "old";
/// Where empty folders go that must leave their place to a file.
pub(super) const FOLDERS: &str = "folders";
/// A copy of the user's index as it was.
pub(super) const INDEX: &str = "index";

/// Everything is ready to be written, or something of the user's is in the way.
type Prepared = Result<(Record, Vec<Option<Looked>>), Refusal>;

impl Repo {
    /// Brings files, index and branch forward, or leaves all of them as they were.
    ///
    /// The branch moves last. Until then nothing has promised the result, so every failure is put back instead of
    /// finished.
    pub(super) fn write_forward(
        &self,
        bring: &Bring<'_>,
        name: &str,
        changes: Vec<Change>,
    ) -> Result<Forward, GitError> {
        // Taken before anything is looked at, and held to the end: no commit of the user's can come in between.
        let lock = IndexLock::take(self)?;
        let prepared = self.prepare(bring, changes, &lock);
        let (record, looked) = match prepared {
            Ok(Ok(ready)) => ready,
            other => {
                clear(bring.notes);
                return other.map(|refused| Forward::Refused(refused.err().unwrap_or(Refusal::NotAhead)));
            }
        };
        // From here on a crash leaves traces, and the record says which.
        record.write(bring.notes)?;
        (bring.passed)("forward:noted");
        let moved = self
            .place_all(bring, &record, &looked)
            .and_then(|()| self.place_index(bring, &lock))
            .and_then(|()| self.move_checked_out(bring, name));
        let refusal = match moved {
            Ok(true) => {
                settle::tidy(self, bring.notes, &record)?;
                return Ok(Forward::Done);
            }
            Ok(false) => self.not_moved(bring, name),
            Err(error) => Err(error),
        };
        // A failure to put back hides the first one: the user has to know that files are half-way.
        settle::put_back(self, bring.notes, &record)?;
        refusal
    }

    /// Why the branch did not move: it is elsewhere, or somebody has it locked.
    fn not_moved(&self, bring: &Bring<'_>, name: &str) -> Result<Forward, GitError> {
        match self.ref_at(name)? {
            Some(found) if found == *bring.old => {
                let detail = format!("{name} did not move, though it is where it was");
                Err(GitError::Locked { who: "`git update-ref`".to_owned(), detail })
            }
            found => Ok(Forward::Refused(Refusal::Moved { found })),
        }
    }

    /// Makes the new files and the new index beside the user's, and examines everything that is to be written.
    ///
    /// A full disk or a missing permission shows here, where nothing of the user's has changed yet.
    fn prepare(
        &self,
        bring: &Bring<'_>,
        changes: Vec<Change>,
        lock: &IndexLock,
    ) -> Result<Prepared, GitError> {
        clear(bring.notes);
        let io = |path: &Path| GitError::io(path.to_owned());
        let stage = Place::new(&bring.notes.join(NEW)).map_err(io(bring.notes))?;
        let index = self.inner.git_dir.join("index");
        // One copy to restore byte for byte, and one for git to change.
        copy_with_time(&index, &bring.notes.join(INDEX)).map_err(io(&index))?;
        copy_with_time(&index, &lock.copy).map_err(io(&index))?;
        // Git writes the files below the stage, as if it were the work tree. A full disk shows now.
        let call = on_work_tree(&self.inner.git_dir, stage.path(), &self.inner.filters);
        let call = call.env("GIT_INDEX_FILE", &lock.copy).args(["read-tree", "-m", "-u"]);
        let output = call.args([bring.old, bring.new]).run()?;
        let complaint = output.complaint();
        // Git has one exit code for all failures; only its words tell the user's changes from the rest.
        if complaint.contains("would be overwritten") || complaint.contains("not uptodate") {
            return Ok(Err(Refusal::Dirty { paths: super::quoted_paths(&complaint) }));
        }
        if !output.status.success() {
            return Err(crate::run::failed("read-tree -m -u", &output));
        }
        let user = Place::open(&self.inner.work_tree).map_err(io(&self.inner.work_tree))?;
        let (record, looked) = match self.look_at(bring, changes, &user, &stage)? {
            Ok(ready) => ready,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let written = record.changes.iter().filter(|change| change.after().is_some());
        // The new files are on the disk before the first one takes its place.
        stage.flush(written.map(|change| &change.path)).map_err(io(bring.notes))?;
        Ok(Ok((record, looked)))
    }

    /// Examines what is on the disk: each file must be the old one, and everything must be writable.
    fn look_at(
        &self,
        bring: &Bring<'_>,
        mut changes: Vec<Change>,
        user: &Place,
        stage: &Place,
    ) -> Result<Prepared, GitError> {
        let mut looked = Vec::new();
        for change in &mut changes {
            let io = || GitError::io(change.path.under(user.path()));
            // A directory where the old commit has a file means that the file is gone.
            let found = user.look(&change.path).map_err(io())?.filter(|found| !found.is_dir());
            change.was = change.old.is_some() && found.is_some();
            let staged = stage.look(&change.path).map_err(io())?.is_some_and(|found| !found.is_dir());
            // Git staged only what belongs into the work tree: a sparse checkout leaves the rest out.
            change.will = change.new.is_some() && staged;
            if change.was
                && !change.will
                && change.new.as_ref().is_some_and(|leaf| leaf.mode != Mode::Gitlink)
            {
                return Err(GitError::odd(format!(
                    "{} is outside of the sparse checkout, and is there all the same\nhint: git sparse-checkout reapply",
                    change.path
                )));
            }
            looked.push(found.filter(|_| change.was));
        }
        let before: Vec<_> = changes.iter().filter_map(|c| Some((&c.path, c.before()?))).collect();
        let dirty = self.unlike(&before, None, user.path(), bring.notes)?;
        if !dirty.is_empty() {
            return Ok(Err(Refusal::Dirty { paths: dirty.into_iter().collect() }));
        }
        // Every path is asked before the first one is written, so that a refusal changes nothing.
        let tried = |change: &&Change| stands(Defence::ForwardChecked) && (change.was || change.will);
        for change in changes.iter().filter(tried) {
            user.refuses(&change.path).map_err(|error| unwritable(&change.path, &error))?;
        }
        let made = folders_to_make(&changes, user);
        let record = Record {
            work_tree: self.inner.work_tree.clone(),
            branch: bring.branch.to_owned(),
            old: bring.old.clone(),
            new: bring.new.clone(),
            changes,
            made,
        };
        Ok(Ok((record, looked)))
    }

    /// Moves every file to its place. Files that leave go first, because a folder may come where a file was.
    fn place_all(
        &self,
        bring: &Bring<'_>,
        record: &Record,
        looked: &[Option<Looked>],
    ) -> Result<(), GitError> {
        let io = |path: &Path| GitError::io(path.to_owned());
        let user = Place::open(&self.inner.work_tree).map_err(io(&self.inner.work_tree))?;
        let [stage, old, folders] = places(bring.notes, [NEW, OLD, FOLDERS])?;
        let each = || record.changes.iter().zip(looked);
        for (change, looked) in
            each().filter(|(change, _)| change.before().is_some() && change.after().is_none())
        {
            let failed = |error: io::Error| unwritable(&change.path, &error);
            if user.look(&change.path).map_err(failed)?.as_ref() != looked.as_ref() {
                return Err(unwritable(&change.path, &io::Error::other("it changed meanwhile")));
            }
            user.take_away(&change.path, &old).map_err(|error| unwritable(&change.path, &error))?;
            (bring.passed)("forward:path");
        }
        for (change, looked) in each().filter(|(change, _)| change.after().is_some()) {
            let failed = |error: io::Error| unwritable(&change.path, &error);
            match looked.as_ref().filter(|_| change.before().is_some()) {
                Some(looked) => user.swap(&change.path, &stage, looked).map_err(failed)?,
                None => put_new(&user, &stage, &folders, &change.path).map_err(failed)?,
            }
            (bring.passed)("forward:path");
        }
        // The folder of a new submodule has no file that would have made it.
        for dir in record.made.iter() {
            user.make_above(dir).and_then(|()| user.make(dir)).map_err(|error| unwritable(dir, &error))?;
        }
        let above: BTreeSet<GitPath> = record.changes.iter().map(|change| up(&change.path)).collect();
        // Renames are on the disk only when their folders are.
        user.flush(above.iter()).map_err(io(&self.inner.work_tree))
    }

    /// Refreshes the new index from the files as they lie there now, and puts it in its place.
    fn place_index(&self, bring: &Bring<'_>, lock: &IndexLock) -> Result<(), GitError> {
        // The files changed places since the index was made, so its stat data are of other inodes.
        self.refresh(&lock.copy)?;
        let index = self.inner.git_dir.join("index");
        let placed = File::open(&lock.copy).and_then(|copy| copy.sync_all());
        placed.and_then(|()| std::fs::rename(&lock.copy, &index)).map_err(GitError::io(&index))?;
        (bring.passed)("forward:index");
        Ok(())
    }

    /// Lets an index learn what the files of the user's work tree are.
    pub(super) fn refresh(&self, index: &Path) -> Result<(), GitError> {
        let call = self.user().env("GIT_INDEX_FILE", index);
        // Its exit code only says that files have changes, and some of the user's may have.
        call.args(["update-index", "-q", "--ignore-submodules", "--refresh"]).run().map(drop)
    }

    /// The files below a folder that are not what they should be.
    ///
    /// They are compared after the conversions that git would do, such as line endings: with the attributes that lie
    /// there, or with those of a commit.
    pub(super) fn unlike(
        &self,
        files: &[(&GitPath, &Leaf)],
        attributes: Option<&Oid>,
        root: &Path,
        notes: &Path,
    ) -> Result<BTreeSet<GitPath>, GitError> {
        if files.is_empty() {
            return Ok(BTreeSet::new());
        }
        let index = notes.join(crate::files::unique("compared"));
        let call = || {
            let call = on_work_tree(&self.inner.git_dir, root, &self.inner.filters);
            let call = call.env("GIT_INDEX_FILE", &index).config("core.sparseCheckout=false");
            match attributes {
                Some(commit) => call.env("GIT_ATTR_SOURCE", commit.as_str()),
                None => call,
            }
        };
        let found = (|| {
            fill(call(), files)?;
            call().args(["update-index", "-q", "--refresh"]).run()?;
            let args = ["diff-files", "-z", "--name-only", "--ignore-submodules=all"];
            Ok(fields(&call().args(args).ok()?).map(GitPath::from).collect())
        })();
        let _ = std::fs::remove_file(&index);
        found
    }
}

/// Puts files into an empty index.
pub(super) fn fill(call: Call, files: &[(&GitPath, &Leaf)]) -> Result<(), GitError> {
    let mut input = Vec::new();
    for (path, leaf) in files {
        crate::objects::line(&mut input, leaf.mode.as_str(), leaf.oid.as_str(), path);
    }
    call.args(["update-index", "-z", "--index-info"]).input(input).ok().map(drop)
}

/// Puts a new file where none was. An empty folder that is there goes aside.
pub(super) fn put_new(user: &Place, from: &Place, folders: &Place, path: &GitPath) -> io::Result<()> {
    if user.look(path)?.is_some_and(|found| found.is_dir()) {
        if !only_folders(&path.under(user.path())) {
            return Err(io::Error::from(io::ErrorKind::DirectoryNotEmpty));
        }
        user.take_folder_away(path, folders)?;
    }
    user.put(path, from)
}

/// Whether a folder holds nothing but empty folders.
fn only_folders(dir: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(dir) else { return false };
    let empty = |entry: io::Result<std::fs::DirEntry>| {
        entry.is_ok_and(|entry| {
            entry.file_type().is_ok_and(|kind| kind.is_dir()) && only_folders(&entry.path())
        })
    };
    entries.into_iter().all(empty)
}

/// Folders of ours in the folder of a fast-forward.
pub(super) fn places<const N: usize>(notes: &Path, names: [&str; N]) -> Result<[Place; N], GitError> {
    let mut all = Vec::new();
    for name in names {
        all.push(Place::new(&notes.join(name)).map_err(GitError::io(notes))?);
    }
    all.try_into().map_err(|_| GitError::odd("a folder too few"))
}

/// The error for a path that cannot be written.
pub(super) fn unwritable(path: &GitPath, error: &io::Error) -> GitError {
    GitError::Unwritable { path: PathBuf::from(path.os()), why: error.to_string() }
}

/// The folders that the new files need and that do not exist, each after the one it lies in. A submodule is an empty
/// one.
fn folders_to_make(changes: &[Change], user: &Place) -> Vec<GitPath> {
    let (mut wanted, mut known) = (BTreeSet::new(), BTreeSet::new());
    for change in changes {
        let link = change.new.as_ref().is_some_and(|leaf| leaf.mode == Mode::Gitlink) && change.old.is_none();
        let mut dir = if link { change.path.clone() } else { up(&change.path) };
        if !link && change.after().is_none() {
            continue;
        }
        while !dir.as_bytes().is_empty() && known.insert(dir.clone()) {
            if !user.look(&dir).is_ok_and(|found| found.is_some_and(|found| found.is_dir())) {
                wanted.insert(dir.clone());
            }
            dir = up(&dir);
        }
    }
    wanted.into_iter().collect()
}

/// Copies an index with its modification time, by which git tells files that changed in the moment it was written.
pub(super) fn copy_with_time(index: &Path, copy: &Path) -> io::Result<()> {
    std::fs::copy(index, copy)?;
    let time = index.metadata()?.modified()?;
    File::options().write(true).open(copy)?.set_modified(time)
}

/// Empties the folder of a fast-forward that wrote nothing, or that is settled.
pub(super) fn clear(notes: &Path) {
    // Leftovers are found and removed the next time.
    let _ = std::fs::remove_dir_all(notes);
}
