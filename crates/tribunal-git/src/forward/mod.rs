//! Moves the user's branch and work tree forward at the end of a run. This is the only place that writes either.
//!
//! It does so only from a state it has checked, with the index locked; otherwise it changes nothing and says why.
//! Untracked files stay as they are, and where one lies in the way, nothing moves. Every change is noted before it is
//! made (`record`), the files are written one by one (`write`), and after a crash the rest is finished or put back
//! (`settle`).

mod lock;
mod place;
mod record;
mod settle;
mod write;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::open::{changed, dirty, fields, paths};
use crate::refs::check_name;
use crate::run::Session;
use crate::{GitError, GitPath, Mode, Oid, RefChange, RefsMoved, Repo};
use record::{Change, Leaf};

pub(crate) use lock::{is_dead, own_process};
pub use settle::Settled;

/// How a fast-forward went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Forward {
    /// The branch and its work tree are at the new commit.
    Done,
    /// Nothing was changed: the branch contains the new commit and has gone on from it. [`Repo::arrival`] says whether
    /// it still has what the commit brought.
    Contained {
        /// The commit at which the branch is now.
        at: Oid,
    },
    /// Nothing was changed, for this reason.
    Refused(Refusal),
}

/// A result to be brought to a branch of the user's.
///
/// A run does less by itself at its end than when the user asks for it. Only then does it tolerate changes in files
/// that the result does not touch, write another worktree, or make a deleted branch again.
#[derive(Clone, Copy)]
pub struct Bring<'a> {
    /// The short name of the branch.
    pub branch: &'a str,
    /// The commit at which the branch must be.
    pub old: &'a Oid,
    /// The commit to which the branch goes.
    pub new: &'a Oid,
    /// Folders whose changes do not matter.
    pub ignoring: &'a [GitPath],
    /// Whether the user asked for it just now.
    pub asked: bool,
    /// A folder of ours, for the notes that are made before the first file is written, and for the files until they
    /// have their place.
    pub notes: &'a Path,
    /// Called with the name of each step when it is done, so that a test can stop there.
    pub passed: &'a dyn Fn(&str),
}

/// Why the user's branch was left alone.
///
/// Each variant is something that the user can change, and the run asks them about it. A failure of git is a
/// [`GitError`] instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The branch is not where it was when the run began.
    Moved {
        /// The commit at which the branch is; `None` when the branch is gone.
        found: Option<Oid>,
    },
    /// The new commit does not follow the old one.
    NotAhead,
    /// Another worktree has the branch checked out.
    Elsewhere {
        /// The root of that worktree.
        folder: PathBuf,
    },
    /// A merge, rebase or the like is under way.
    Busy {
        /// The operation, as git calls it.
        what: &'static str,
    },
    /// Tracked files or the index have changes.
    Dirty {
        /// The paths with changes.
        paths: Vec<GitPath>,
    },
    /// Untracked files, possibly ignored ones, lie where the new commit has files.
    InTheWay {
        /// The paths of those files.
        paths: Vec<GitPath>,
    },
    /// Changed files pass through a filter of the user's, which Tribunal does not run.
    Filtered {
        /// The paths of those files.
        paths: Vec<GitPath>,
    },
}

/// The state of a fast-forward that may have been interrupted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForwardProbe {
    /// The branch is at the new commit.
    Done,
    /// The branch contains the new commit, and has gone on from it.
    Contained {
        /// The commit at which the branch is now.
        at: Oid,
    },
    /// The branch is still at the old commit. Doing it again is right, even after half of it was done.
    NotDone,
    /// The branch is at neither commit.
    Elsewhere,
}

impl Repo {
    /// The paths in which the user's work tree or index differs from HEAD, untracked files included, except those under
    /// `ignoring`. Empty means clean.
    ///
    /// It writes nothing, not even a refreshed index.
    pub fn dirty(&self, ignoring: &[GitPath]) -> Result<Vec<GitPath>, GitError> {
        let mut paths = dirty(self.user())?;
        paths.retain(|path| !ignoring.iter().any(|dir| path.is_under(dir)));
        Ok(paths)
    }

    /// Moves the user's branch from `old` to `new`, with the work tree that has it checked out.
    ///
    /// Untracked files stay as they are, and stop it only where a new file must go. Doing it again after a crash is
    /// right, because a half-done attempt is settled first.
    pub fn fast_forward(&self, bring: &Bring<'_>) -> Result<Forward, GitError> {
        let Bring { branch, old, new, .. } = *bring;
        let name = format!("refs/heads/{branch}");
        check_name(&name)?;
        // An earlier attempt may have stopped half-way, and the checks below would take its files for the user's
        // changes.
        settle::settle(self, bring.notes)?;
        // Before the branch moves: afterwards it would lead to objects that `git gc` may already have taken.
        self.hold(std::slice::from_ref(new))?;
        let found = self.ref_at(&name)?;
        let here = self.head()?.branch.as_deref() == Some(branch);
        let refused = |why| Ok(Forward::Refused(why));
        match &found {
            Some(found) if found == new => return Ok(Forward::Done),
            Some(found) if self.is_ancestor(new, found)? => {
                return Ok(Forward::Contained { at: found.clone() });
            }
            Some(found) if found == old => {}
            // Only when the user asked: a run by itself never brings back a branch that somebody deleted.
            None if bring.asked && !here => return self.move_alone(&RefChange::create(name, new)),
            _ => return refused(Refusal::Moved { found }),
        }
        if !self.is_ancestor(old, new)? {
            return refused(Refusal::NotAhead);
        }
        // A merge or rebase would come back to a branch that is not where it left it.
        if let Some(what) = self.busy_with(&name, here) {
            return refused(Refusal::Busy { what });
        }
        if !here {
            return match self.holder(&name)? {
                // That worktree has an index and files of its own, so it is moved as a whole from there.
                Some(folder) if bring.asked => Repo::open(&folder)?.fast_forward(bring),
                Some(folder) => refused(Refusal::Elsewhere { folder }),
                None => self.move_alone(&RefChange::forward(name, old, new)),
            };
        }
        lock::drop_dead(self);
        let changes = self.changes_plain(old, new)?;
        match self.ready(bring, &changes)? {
            Ready::Yes => self.write_forward(bring, &name, changes),
            Ready::FilesAlready if self.move_checked_out(bring, &name)? => Ok(Forward::Done),
            Ready::FilesAlready => refused(Refusal::Moved { found: self.ref_at(&name)? }),
            Ready::No(why) => refused(why),
        }
    }

    /// Moves a branch that no work tree has checked out.
    fn move_alone(&self, change: &RefChange) -> Result<Forward, GitError> {
        let moved = self.refs_update(std::slice::from_ref(change), "tribunal: fast-forward")?;
        Ok(match moved {
            RefsMoved::Done | RefsMoved::Already => Forward::Done,
            RefsMoved::Elsewhere { .. } => {
                Forward::Refused(Refusal::Moved { found: self.ref_at(&change.name)? })
            }
        })
    }

    /// Whether an interrupted fast-forward has happened. It only reads.
    pub fn fast_forward_probe(&self, branch: &str, old: &Oid, new: &Oid) -> Result<ForwardProbe, GitError> {
        match self.ref_at(&format!("refs/heads/{branch}"))? {
            Some(found) if found == *new => Ok(ForwardProbe::Done),
            Some(found) if self.is_ancestor(new, &found)? => Ok(ForwardProbe::Contained { at: found }),
            Some(found) if found == *old => Ok(ForwardProbe::NotDone),
            _ => Ok(ForwardProbe::Elsewhere),
        }
    }

    /// The folder of another worktree that has a branch checked out. A worktree whose folder is gone does not count.
    fn holder(&self, name: &str) -> Result<Option<PathBuf>, GitError> {
        let list = self.user().args(["worktree", "list", "--porcelain", "-z"]).ok()?;
        let mut folder: &[u8] = b"";
        for field in list.split(|byte| *byte == 0) {
            if let Some(path) = field.strip_prefix(b"worktree ") {
                folder = path;
            } else if field.strip_prefix(b"branch ") == Some(name.as_bytes()) {
                let folder = PathBuf::from(OsStr::from_bytes(folder));
                return Ok(folder.is_dir().then_some(folder));
            }
        }
        Ok(None)
    }

    /// What the user is in the middle of with a branch, here or in another worktree, if anything.
    ///
    /// A rebase or bisection takes HEAD off the branch and puts it back at the end. Until then the branch is the
    /// user's, although nothing has it checked out.
    fn busy_with(&self, name: &str, here: bool) -> Option<&'static str> {
        let of_here = || busy_in(&self.inner.git_dir);
        let worktrees = std::fs::read_dir(self.inner.common_dir.join("worktrees"));
        let others = worktrees.into_iter().flatten().flatten().map(|entry| entry.path());
        let mut all = std::iter::once(self.inner.common_dir.clone()).chain(others);
        if here { of_here() } else { all.find_map(|git_dir| detached_from(&git_dir, name)) }
    }

    fn ready(&self, bring: &Bring<'_>, changes: &[Change]) -> Result<Ready, GitError> {
        let mut dirty = changed(self.user())?;
        dirty.retain(|path| !bring.ignoring.iter().any(|dir| path.is_under(dir)));
        // Asked before the changes: a file that passes through a filter cannot be compared without it.
        let filtered = self.filtered(bring.new, changes)?;
        if !filtered.is_empty() {
            return Ok(Ready::No(Refusal::Filtered { paths: filtered }));
        }
        // Files that are all at the new commit look dirty against the old one; they are the work of an earlier attempt.
        if !dirty.is_empty() && self.files_are_at(bring.new, bring.ignoring)? {
            return Ok(Ready::FilesAlready);
        }
        if bring.asked {
            // The user knows of the changes. Those that the result does not touch stay as they are.
            let touched = Touched::new(changes);
            dirty.retain(|path| touched.overlaps(path));
        }
        if !dirty.is_empty() {
            return Ok(Ready::No(Refusal::Dirty { paths: dirty }));
        }
        let lying = in_the_way(&self.inner.work_tree, changes);
        Ok(if lying.is_empty() { Ready::Yes } else { Ready::No(Refusal::InTheWay { paths: lying }) })
    }

    /// Each path in which two commits differ, with what both have there.
    fn changes_plain(&self, old: &Oid, new: &Oid) -> Result<Vec<Change>, GitError> {
        let call = self.objects().args(["diff-tree", "-r", "-z", "--no-renames", "--raw"]).args([old, new]);
        let bytes = call.ok()?;
        let all: Vec<_> = fields(&bytes).collect();
        let one = |pair: &[&[u8]]| {
            let odd = || GitError::odd("diff-tree said something else than differences");
            let (Some(head), Some(path)) = (pair.first(), pair.get(1)) else { return Err(odd()) };
            let head = String::from_utf8_lossy(head).into_owned();
            let words: Vec<&str> = head.trim_start_matches(':').split(' ').collect();
            let [old_mode, new_mode, old_oid, new_oid, _] = words[..] else { return Err(odd()) };
            let leaf = |mode: &str, oid: &str| match mode {
                "000000" => Ok(None),
                _ => Ok(Some(Leaf { mode: Mode::parse(mode.as_bytes())?, oid: Oid::parse(oid)? })),
            };
            let (old, new) = (leaf(old_mode, old_oid)?, leaf(new_mode, new_oid)?);
            Ok(Change { path: GitPath::from(*path), old, new, was: false, will: false })
        };
        all.chunks(2).map(one).collect()
    }

    /// Changed files whose content would have to go through one of the user's filters.
    ///
    /// The attributes of the new commit decide, because with them the files would be checked out.
    fn filtered(&self, new: &Oid, changes: &[Change]) -> Result<Vec<GitPath>, GitError> {
        if self.inner.filters.is_empty() || changes.is_empty() {
            return Ok(Vec::new());
        }
        let mut input = Vec::new();
        for change in changes {
            input.extend_from_slice(change.path.as_bytes());
            input.push(0);
        }
        let source = format!("--source={new}");
        let bytes = self.user().args(["check-attr", "-z", "--stdin", &source, "filter"]).input(input).ok()?;
        let all: Vec<_> = fields(&bytes).collect();
        let hit =
            |triple: &&[&[u8]]| triple.get(2).is_some_and(|v| self.inner.filters.iter().any(|f| f == v));
        Ok(all.chunks(3).filter(hit).filter_map(|triple| triple.first().map(|p| GitPath::from(*p))).collect())
    }

    /// Whether index and files are already those of the new commit, as after a crash before the branch moved.
    fn files_are_at(&self, new: &Oid, ignoring: &[GitPath]) -> Result<bool, GitError> {
        let args = ["diff-index", "--cached", "--quiet", "--ignore-submodules=all"];
        if self.user().args(args).arg(new).arg("--").run()?.code() != Some(0) {
            return Ok(false);
        }
        let left = paths(&self.user().args(["ls-files", "-z", "--modified", "--deleted"]).ok()?);
        Ok(left.iter().all(|path| ignoring.iter().any(|dir| path.is_under(dir))))
    }

    /// Moves the branch, which must still be where it was; false when it is not.
    fn move_checked_out(&self, bring: &Bring<'_>, name: &str) -> Result<bool, GitError> {
        let Bring { old, new, .. } = *bring;
        let args = ["update-ref", "--no-deref", "-m", "tribunal: fast-forward", "--stdin"];
        let mut refs = self.refs().args(args).session()?;
        std::fs::create_dir_all(bring.notes).map_err(GitError::io(bring.notes))?;
        // The git that takes the lock is noted before it does, or its lock could not be told from the user's.
        lock::note_mover(bring.notes, refs.pid())?;
        (bring.passed)("forward:moving");
        let lines = format!("start\nupdate {name} {new} {old}\nprepare\ncommit\n");
        let said = refs.send(lines.as_bytes()).is_ok()
            && ["start", "prepare", "commit"].iter().all(|step| says(&mut refs, step));
        let ended = refs.finish()?;
        // Git may have been killed after the move and before its answer, so the ref itself has the last word.
        Ok((said && ended) || self.ref_at(name)?.as_ref() == Some(new))
    }
}

/// The command by which a person moves the checked-out branch forward to a commit, or changes nothing.
///
/// Without `--no-overwrite-ignore` git would overwrite files that it ignores.
pub fn forward_command(new: &Oid) -> String {
    format!("git merge --ff-only --no-overwrite-ignore {new}")
}

/// The paths that a change touches, to ask whether another path is one of them, above one or below one.
struct Touched(BTreeSet<Vec<u8>>);

impl Touched {
    fn new(changes: &[Change]) -> Touched {
        let mut all = BTreeSet::new();
        for change in changes {
            let bytes = change.path.as_bytes();
            all.insert(bytes.to_vec());
            // With a slash: a folder that holds a touched path is touched itself, and its name alone is not.
            let slashes = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'/');
            all.extend(slashes.map(|(at, _)| bytes.get(..=at).unwrap_or_default().to_vec()));
        }
        Touched(all)
    }

    fn overlaps(&self, path: &GitPath) -> bool {
        let bytes = path.as_bytes();
        let folder = bytes.strip_suffix(b"/").unwrap_or(bytes);
        let above = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        self.0.contains(folder)
            || self.0.contains(&[folder, b"/"].concat())
            || above.map(|(at, _)| bytes.get(..at).unwrap_or_default()).any(|dir| self.0.contains(dir))
    }
}

enum Ready {
    Yes,
    FilesAlready,
    No(Refusal),
}

/// What a worktree is in the middle of, by the files that git leaves in its git directory.
fn busy_in(git_dir: &Path) -> Option<&'static str> {
    let signs = [
        ("MERGE_HEAD", "merge"),
        ("rebase-merge", "rebase"),
        ("rebase-apply", "rebase"),
        ("CHERRY_PICK_HEAD", "cherry-pick"),
        ("REVERT_HEAD", "revert"),
        ("BISECT_LOG", "bisect"),
    ];
    signs.into_iter().find(|(file, _)| git_dir.join(file).exists()).map(|(_, what)| what)
}

/// Whether a worktree left a branch for a rebase or a bisection that will come back to it.
fn detached_from(git_dir: &Path, name: &str) -> Option<&'static str> {
    let says = |file: &str| std::fs::read_to_string(git_dir.join(file)).unwrap_or_default();
    let rebased = ["rebase-merge/head-name", "rebase-apply/head-name"];
    if rebased.iter().any(|file| says(file).trim() == name) {
        return Some("rebase");
    }
    let bisected = says("BISECT_START");
    let branch = name.strip_prefix("refs/heads/").unwrap_or(name);
    [name, branch].contains(&bisected.trim()).then_some("bisect")
}

/// What lies where new files must go and is not removed by the change itself. Git would overwrite it if it is ignored,
/// but it is the user's.
fn in_the_way(root: &Path, changes: &[Change]) -> Vec<GitPath> {
    let leaving: BTreeSet<&GitPath> =
        changes.iter().filter(|change| change.old.is_some()).map(|change| &change.path).collect();
    let (mut found, mut seen) = (BTreeSet::new(), BTreeSet::new());
    for change in changes.iter().filter(|change| change.new.is_some()) {
        let (path, bytes) = (&change.path, change.path.as_bytes());
        for at in bytes.iter().enumerate().filter(|(_, b)| **b == b'/').map(|(at, _)| at) {
            let parent = GitPath::from(bytes.get(..at).unwrap_or_default());
            // A file that the change removes makes room for the folder.
            if leaving.contains(&parent) || !seen.insert(parent.clone()) {
                continue;
            }
            if parent.under(root).symlink_metadata().is_ok_and(|meta| !meta.is_dir()) {
                found.insert(parent);
            }
        }
        // The files of a submodule that stays a submodule are not part of this change.
        let stays = |leaf: &Leaf| leaf.mode == Mode::Gitlink && change.old.is_some();
        if !change.new.as_ref().is_some_and(stays) {
            lying(root, path, &leaving, &mut found);
        }
    }
    found.into_iter().collect()
}

/// Notes the file at a path, or the files in the directory there, except those that leave anyway.
fn lying(root: &Path, path: &GitPath, leaving: &BTreeSet<&GitPath>, found: &mut BTreeSet<GitPath>) {
    let place = path.under(root);
    let Ok(meta) = place.symlink_metadata() else { return };
    if !meta.is_dir() {
        if !leaving.contains(path) {
            found.insert(path.clone());
        }
        return;
    }
    for entry in std::fs::read_dir(&place).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let inside = GitPath::new([path.as_bytes(), b"/", name.as_bytes()].concat());
        lying(root, &inside, leaving, found);
    }
}

/// Whether `update-ref` agrees to a step.
fn says(refs: &mut Session, step: &str) -> bool {
    refs.line().is_ok_and(|line| line == format!("{step}: ok").as_bytes())
}

/// The paths that git names in quotes.
fn quoted_paths(complaint: &str) -> Vec<GitPath> {
    complaint.lines().filter_map(|line| line.split('\'').nth(1)).map(GitPath::from).collect()
}
