//! Settles a fast-forward that stopped half-way, at once or after a crash.
//!
//! Each path is compared with the record: it is old, new, or neither. The core decides what follows from that, and a
//! file that is neither is never written. Settling again is right, however often it is interrupted.

use std::collections::BTreeSet;
use std::path::Path;

use tribunal_core::defence::{Defence, stands};
use tribunal_core::forward::{BranchFound, FileAct, FileFound, Settle, settle as way_of};

use super::lock::{self, IndexLock};
use super::place::{Place, up};
use super::record::{Change, Leaf, Record};
use super::write::{self, FOLDERS, INDEX, NEW, OLD, fill, places, put_new, unwritable};
use crate::open::on_work_tree;
use crate::{GitError, GitPath, Mode, Oid, Repo};

/// Where files are made anew, and where files go that have lost their place.
const AGAIN: &str = "again";
const SPARE: &str = "spare";

/// How an interrupted fast-forward was settled.
///
/// The rule is that files follow the branch: where the branch has the result the rest is finished, where it is old
/// everything is put back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settled {
    /// There was no interrupted fast-forward.
    Nothing,
    /// The branch has the result, and now the files have it too.
    Finished {
        /// Files that are neither the old nor the new ones: the user's, and left alone.
        theirs: Vec<GitPath>,
    },
    /// Everything is as it was before the fast-forward.
    PutBack {
        /// Files that are neither the old nor the new ones: the user's, and left alone.
        theirs: Vec<GitPath>,
    },
    /// The user went on from the half-way state, so nothing was written.
    LeftAlone,
}

impl Repo {
    /// Finishes or puts back a fast-forward that was interrupted, by the folder in which it was written down.
    pub fn settle_forward(&self, notes: &Path) -> Result<Settled, GitError> {
        settle(self, notes)
    }
}

/// The function behind [`Repo::settle_forward`], which the fast-forward itself calls first.
pub(super) fn settle(repo: &Repo, notes: &Path) -> Result<Settled, GitError> {
    if !stands(Defence::ForwardSettled) {
        return Ok(Settled::Nothing);
    }
    let Some(record) = Record::read(notes)? else {
        // Everything was done and forgotten except the lock, and nobody else would remove it.
        lock::drop_dead(repo);
        return Ok(Settled::Nothing);
    };
    let other;
    let repo = match record.work_tree == repo.inner.work_tree {
        true => repo,
        false => {
            // The fast-forward was of another worktree, whose index and HEAD are the ones to settle.
            other = Repo::open(&record.work_tree)?;
            &other
        }
    };
    // A leftover lock would stop every later move of the branch.
    lock::drop_movers(repo, notes, &record.branch, &record.new);
    let way = way_of(branch_found(repo, &record)?);
    // The notes go too: whatever the user did from here on is theirs.
    if way == Settle::LeaveAlone {
        lock::drop_dead(repo);
        Record::forget(notes)?;
        write::clear(notes);
        return Ok(Settled::LeftAlone);
    }
    // While the lock of the dead process stood, nobody else wrote the index.
    let untouched = lock::drop_dead(repo);
    let lock = IndexLock::take(repo)?;
    if way == Settle::Finish {
        let theirs = finish(repo, notes, &record, &lock)?;
        tidy(repo, notes, &record)?;
        return Ok(Settled::Finished { theirs });
    }
    let theirs = files_back(repo, notes, &record)?;
    index_back(repo, notes, &record, &lock, untouched)?;
    // The record goes last. If anything before fails, the next attempt finds it and begins again.
    Record::forget(notes)?;
    write::clear(notes);
    Ok(Settled::PutBack { theirs })
}

/// Puts everything back at once, with the index still locked by the caller that failed.
pub(super) fn put_back(repo: &Repo, notes: &Path, record: &Record) -> Result<(), GitError> {
    if !stands(Defence::ForwardSettled) {
        return Ok(());
    }
    files_back(repo, notes, record)?;
    restore_index(repo, notes)?;
    Record::forget(notes)?;
    write::clear(notes);
    Ok(())
}

/// What remains when the branch has moved: removes folders that lost their last file, and the notes.
pub(super) fn tidy(repo: &Repo, notes: &Path, record: &Record) -> Result<(), GitError> {
    let user = Place::open(&repo.inner.work_tree).map_err(GitError::io(&repo.inner.work_tree))?;
    for change in record.changes.iter().filter(|change| change.old.is_some() && change.new.is_none()) {
        let link = change.old.as_ref().is_some_and(|leaf| leaf.mode == Mode::Gitlink);
        let mut dir = if link { change.path.clone() } else { up(&change.path) };
        // Git removes folders that lose their last file; an untracked file keeps them.
        while !dir.as_bytes().is_empty() && user.remove_empty(&dir) {
            dir = up(&dir);
        }
    }
    Record::forget(notes)?;
    write::clear(notes);
    Ok(())
}

fn branch_found(repo: &Repo, record: &Record) -> Result<BranchFound, GitError> {
    let found = repo.ref_at(&format!("refs/heads/{}", record.branch))?;
    let here = repo.head()?.branch.as_deref() == Some(record.branch.as_str());
    Ok(match found {
        // A worktree that left the branch is elsewhere, wherever the branch is.
        Some(found) if here && found == record.old => BranchFound::Old,
        Some(found) if here && repo.is_ancestor(&record.new, &found)? => BranchFound::New,
        _ => BranchFound::Elsewhere,
    })
}

/// What lies at each path now.
fn files_found(repo: &Repo, notes: &Path, record: &Record) -> Result<Vec<FileFound>, GitError> {
    let user = Place::open(&repo.inner.work_tree).map_err(GitError::io(&repo.inner.work_tree))?;
    let before: Vec<_> = record.changes.iter().filter_map(|c| Some((&c.path, c.before()?))).collect();
    let after: Vec<_> = record.changes.iter().filter_map(|c| Some((&c.path, c.after()?))).collect();
    let not_old = unlike_either(repo, &before, &record.old, user.path(), notes)?;
    let not_new = unlike_either(repo, &after, &record.new, user.path(), notes)?;
    let found = |change: &Change| {
        let there = user.look(&change.path).map_err(|error| unwritable(&change.path, &error))?;
        let there = there.is_some_and(|found| !found.is_dir());
        let is = |leaf: Option<&Leaf>, not: &BTreeSet<GitPath>| match leaf {
            Some(_) => there && !not.contains(&change.path),
            None => !there,
        };
        Ok(match (is(change.before(), &not_old), is(change.after(), &not_new)) {
            // A path that is the same in both counts as old; nothing has to be written for it either way.
            (true, _) => FileFound::Old,
            (false, true) => FileFound::New,
            (false, false) => FileFound::Neither,
        })
    };
    record.changes.iter().map(found).collect()
}

/// The files that are not what they should be, neither with the attributes that lie beside them nor with those of their
/// commit. Half-way, the attributes on the disk may be the other commit's.
fn unlike_either(
    repo: &Repo,
    files: &[(&GitPath, &Leaf)],
    commit: &Oid,
    root: &Path,
    notes: &Path,
) -> Result<BTreeSet<GitPath>, GitError> {
    let first = repo.unlike(files, None, root, notes)?;
    let left: Vec<_> = files.iter().filter(|(path, _)| first.contains(*path)).copied().collect();
    repo.unlike(&left, Some(commit), root, notes)
}

/// Makes the files what they were. A file that is neither old nor new is named, and stays.
fn files_back(repo: &Repo, notes: &Path, record: &Record) -> Result<Vec<GitPath>, GitError> {
    let found = files_found(repo, notes, record)?;
    let acts = || record.changes.iter().zip(found.iter().map(|file| Settle::PutBack.act(*file)));
    let user = Place::open(&repo.inner.work_tree).map_err(GitError::io(&repo.inner.work_tree))?;
    let [spare, folders] = places(notes, [SPARE, FOLDERS])?;
    record.changes.iter().for_each(|change| user.sweep_beside(&change.path));
    let written = || acts().filter(|(_, act)| *act == FileAct::WriteOld).map(|(change, _)| change);
    // Files that did not exist before go first: a folder may have to come back in their place.
    for change in written().filter(|change| change.before().is_none()) {
        user.take_away(&change.path, &spare).map_err(|error| unwritable(&change.path, &error))?;
    }
    for change in record.changes.iter().filter(|change| change.before().is_none()) {
        folder_back(&user, &folders, &change.path).map_err(|error| unwritable(&change.path, &error))?;
    }
    let old: Vec<_> = written().filter_map(|change| Some((&change.path, change.before()?))).collect();
    let sources = sources(repo, notes, &old, &record.old)?;
    for (path, source) in &sources {
        let failed = |error: std::io::Error| unwritable(path, &error);
        match user.look(path).map_err(failed)? {
            Some(looked) => user.swap(path, source, &looked).map_err(failed)?,
            None => user.put(path, source).map_err(failed)?,
        }
    }
    // In reverse, since each folder stands in the list after the one it lies in.
    for dir in record.made.iter().rev() {
        user.remove_empty(dir);
    }
    Ok(acts().filter(|(_, act)| *act == FileAct::Name).map(|(change, _)| change.path.clone()).collect())
}

/// Brings back a folder that had to leave its place to a file.
fn folder_back(user: &Place, folders: &Place, path: &GitPath) -> std::io::Result<()> {
    match folders.look(path)?.is_some() && user.look(path)?.is_none() {
        true => folders.take_folder_away(path, user),
        false => Ok(()),
    }
}

/// Where the content of each file is: kept from before, or made anew by git.
fn sources<'a>(
    repo: &Repo,
    notes: &Path,
    files: &[(&'a GitPath, &Leaf)],
    commit: &Oid,
) -> Result<Vec<(&'a GitPath, std::rc::Rc<Place>)>, GitError> {
    let mut found = Vec::new();
    let mut left = files.to_vec();
    // A swapped file is in the folder of the new ones, so both are searched before git is asked.
    for name in [OLD, NEW] {
        let place = std::rc::Rc::new(Place::new(&notes.join(name)).map_err(GitError::io(notes))?);
        let unlike = unlike_either(repo, &left, commit, place.path(), notes)?;
        let (missing, here): (Vec<_>, Vec<_>) =
            left.into_iter().partition(|(path, _)| unlike.contains(*path));
        found.extend(here.into_iter().map(|(path, _)| (path, std::rc::Rc::clone(&place))));
        left = missing;
    }
    if !left.is_empty() {
        let made = std::rc::Rc::new(make_again(repo, notes, &left, commit)?);
        found.extend(left.into_iter().map(|(path, _)| (path, std::rc::Rc::clone(&made))));
    }
    Ok(found)
}

/// Has git write files once more, into a folder of ours.
fn make_again(
    repo: &Repo,
    notes: &Path,
    files: &[(&GitPath, &Leaf)],
    commit: &Oid,
) -> Result<Place, GitError> {
    let folder = notes.join(AGAIN);
    write::clear(&folder);
    let place = Place::new(&folder).map_err(GitError::io(&folder))?;
    let index = notes.join(crate::files::unique("again-index"));
    let call = || {
        let call = on_work_tree(&repo.inner.git_dir, &folder, &repo.inner.filters);
        let call = call.env("GIT_INDEX_FILE", &index).env("GIT_ATTR_SOURCE", commit.as_str());
        call.config("core.sparseCheckout=false")
    };
    let made = fill(call(), files).and_then(|()| call().args(["checkout-index", "-a", "-q"]).ok());
    let _ = std::fs::remove_file(&index);
    made?;
    place.flush(files.iter().map(|(path, _)| *path)).map_err(GitError::io(&folder))?;
    Ok(place)
}

/// Makes the files what the branch has.
fn finish(repo: &Repo, notes: &Path, record: &Record, lock: &IndexLock) -> Result<Vec<GitPath>, GitError> {
    let found = files_found(repo, notes, record)?;
    let acts = || record.changes.iter().zip(found.iter().map(|file| Settle::Finish.act(*file)));
    let user = Place::open(&repo.inner.work_tree).map_err(GitError::io(&repo.inner.work_tree))?;
    let [spare, folders] = places(notes, [SPARE, FOLDERS])?;
    record.changes.iter().for_each(|change| user.sweep_beside(&change.path));
    let written = || acts().filter(|(_, act)| *act == FileAct::WriteNew).map(|(change, _)| change);
    for change in written().filter(|change| change.before().is_some() && change.after().is_none()) {
        user.take_away(&change.path, &spare).map_err(|error| unwritable(&change.path, &error))?;
    }
    let new: Vec<_> = written().filter_map(|change| Some((&change.path, change.after()?))).collect();
    if !new.is_empty() {
        let made = make_again(repo, notes, &new, &record.new)?;
        for (path, _) in &new {
            let failed = |error: std::io::Error| unwritable(path, &error);
            match user.look(path).map_err(failed)?.filter(|found| !found.is_dir()) {
                Some(looked) => user.swap(path, &made, &looked).map_err(failed)?,
                None => put_new(&user, &made, &folders, path).map_err(failed)?,
            }
        }
    }
    edit_index(repo, record, lock, |change| (change.old.as_ref(), change.new.as_ref()))?;
    Ok(acts().filter(|(_, act)| *act == FileAct::Name).map(|(change, _)| change.path.clone()).collect())
}

/// Makes the index what it was: byte for byte if nobody wrote it in the meantime, else only in the paths that we had
/// changed.
fn index_back(
    repo: &Repo,
    notes: &Path,
    record: &Record,
    lock: &IndexLock,
    untouched: bool,
) -> Result<(), GitError> {
    match untouched {
        true => restore_index(repo, notes),
        false => edit_index(repo, record, lock, |change| (change.new.as_ref(), change.old.as_ref())),
    }
}

/// Puts the kept index back, unless the index is the same already.
fn restore_index(repo: &Repo, notes: &Path) -> Result<(), GitError> {
    let (index, kept) = (repo.inner.git_dir.join("index"), notes.join(INDEX));
    let same = std::fs::read(&index).ok() == Some(std::fs::read(&kept).map_err(GitError::io(&kept))?);
    if same {
        return Ok(());
    }
    let back = index.with_file_name(crate::files::unique("index.tribunal"));
    let placed = write::copy_with_time(&kept, &back)
        .and_then(|()| std::fs::File::open(&back)?.sync_all())
        .and_then(|()| std::fs::rename(&back, &index));
    placed.map_err(GitError::io(&index))
}

/// Changes those entries of the index that still are what one side has to what the other side has.
fn edit_index(
    repo: &Repo,
    record: &Record,
    lock: &IndexLock,
    sides: fn(&Change) -> (Option<&Leaf>, Option<&Leaf>),
) -> Result<(), GitError> {
    let index = repo.inner.git_dir.join("index");
    write::copy_with_time(&index, &lock.copy).map_err(GitError::io(&index))?;
    let call = || repo.user().env("GIT_INDEX_FILE", &lock.copy);
    let listed = call().args(["ls-files", "-s", "-z"]).ok()?;
    let entries: std::collections::BTreeMap<&[u8], &[u8]> = listed
        .split(|byte| *byte == 0)
        .filter_map(|line| {
            let tab = line.iter().position(|byte| *byte == b'\t')?;
            Some((line.get(tab + 1..)?, line.get(..tab)?))
        })
        .collect();
    let mut input = Vec::new();
    for change in &record.changes {
        let (from, to) = sides(change);
        let now = entries.get(change.path.as_bytes()).copied();
        let expected = from.map(|leaf| format!("{} {} 0", leaf.mode.as_str(), leaf.oid));
        // Any other entry was staged by the user since, and stays.
        if now != expected.as_deref().map(str::as_bytes) || from == to {
            continue;
        }
        match to {
            Some(leaf) => {
                crate::objects::line(&mut input, leaf.mode.as_str(), leaf.oid.as_str(), &change.path);
            }
            None => crate::objects::line(&mut input, "0", &record.old.zero_like(), &change.path),
        }
    }
    if input.is_empty() {
        return Ok(());
    }
    call().args(["update-index", "-z", "--index-info"]).input(input).ok()?;
    repo.refresh(&lock.copy)?;
    std::fs::rename(&lock.copy, &index).map_err(GitError::io(&index))
}
