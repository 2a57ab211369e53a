//! Moves the user's branch and work tree forward at the end of a run: the only place that writes either. It does so only
//! from a state it has checked, holding the branch locked, and otherwise changes nothing and says why. Files git does
//! not track stay as they are; where one lies in the way, nothing moves.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::open::{changed, dirty, fields, paths};
use crate::refs::check_name;
use crate::run::{Output, Session};
use crate::{ChangeKind, GitError, GitPath, Oid, RefChange, RefsMoved, Repo};

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Forward {
    /// The branch and its work tree are at the new commit.
    Done,
    /// Nothing was changed: the branch contains the new commit, and has gone on from it. Whether it still has what the
    /// commit brought is [`Repo::arrival`]'s to say.
    Contained {
        /// Where it is.
        at: Oid,
    },
    /// Nothing was changed, and why not.
    Refused(Refusal),
}

/// A result to be brought to a branch of the user's.
///
/// What a run does by itself at its end is less than what it does when the user asked for it: only then are files left
/// alone that have changes elsewhere, is another worktree written, and a deleted branch made again.
#[derive(Clone, Copy, Debug)]
pub struct Bring<'a> {
    /// The branch.
    pub branch: &'a str,
    /// Where it must be.
    pub old: &'a Oid,
    /// Where it goes.
    pub new: &'a Oid,
    /// Folders whose changes do not matter.
    pub ignoring: &'a [GitPath],
    /// The user asked for it just now.
    pub asked: bool,
}

/// Why the user's branch was left alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The branch is not where it was when the run began.
    Moved {
        /// Where it is.
        found: Option<Oid>,
    },
    /// The new commit does not follow the old one.
    NotAhead,
    /// Another worktree has the branch checked out.
    Elsewhere {
        /// Its folder.
        folder: PathBuf,
    },
    /// A merge, rebase or the like is under way.
    Busy {
        /// What is under way.
        what: &'static str,
    },
    /// Files git tracks have changes, or the index has.
    Dirty {
        /// Where.
        paths: Vec<GitPath>,
    },
    /// Files git does not track (maybe ignored ones) lie where the new commit has files.
    InTheWay {
        /// Which.
        paths: Vec<GitPath>,
    },
    /// Changed files pass through a filter of the user's, which Tribunal does not run.
    Filtered {
        /// Which.
        paths: Vec<GitPath>,
    },
}

/// What is true of a fast-forward that may have been interrupted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForwardProbe {
    /// The branch is at the new commit.
    Done,
    /// The branch contains the new commit, and has gone on from it.
    Contained {
        /// Where it is.
        at: Oid,
    },
    /// The branch is still at the old commit; doing it again is right, also after half of it.
    NotDone,
    /// The branch is neither.
    Elsewhere,
}

impl Repo {
    /// The paths in which the user's work tree or index differs from HEAD, files git does not track included, but for
    /// those under `ignoring`. Empty means clean. Writes nothing, not even a refreshed index.
    pub fn dirty(&self, ignoring: &[GitPath]) -> Result<Vec<GitPath>, GitError> {
        let mut paths = dirty(self.user())?;
        paths.retain(|path| !ignoring.iter().any(|dir| path.is_under(dir)));
        Ok(paths)
    }

    /// Moves the user's branch from `old` to `new`, with the work tree that has it checked out. What git does not track
    /// stays as it is, and holds everything back only where a new file must go. Doing it again after a crash is right.
    pub fn fast_forward(&self, bring: &Bring<'_>) -> Result<Forward, GitError> {
        let Bring { branch, old, new, .. } = *bring;
        let name = format!("refs/heads/{branch}");
        check_name(&name)?;
        let found = self.ref_at(&name)?;
        let here = self.head()?.branch.as_deref() == Some(branch);
        let refused = |why| Ok(Forward::Refused(why));
        match &found {
            Some(found) if found == new => return Ok(Forward::Done),
            Some(found) if self.is_ancestor(new, found)? => {
                return Ok(Forward::Contained { at: found.clone() });
            }
            Some(found) if found == old => {}
            None if bring.asked && !here => return self.move_alone(&RefChange::create(name, new)),
            _ => return refused(Refusal::Moved { found }),
        }
        if !self.is_ancestor(old, new)? {
            return refused(Refusal::NotAhead);
        }
        if let Some(what) = self.busy_with(&name, here) {
            return refused(Refusal::Busy { what });
        }
        if !here {
            return match self.holder(&name)? {
                Some(folder) if bring.asked => Repo::open(&folder)?.fast_forward(bring),
                Some(folder) => refused(Refusal::Elsewhere { folder }),
                None => self.move_alone(&RefChange::forward(name, old, new)),
            };
        }
        self.drop_dead_lock();
        let half = match self.ready(bring)? {
            Ready::Yes => false,
            Ready::FilesAlready => true,
            Ready::No(why) => return refused(why),
        };
        self.forward_locked(bring, &name, half)
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

    /// Whether an interrupted fast-forward has happened.
    pub fn fast_forward_probe(&self, branch: &str, old: &Oid, new: &Oid) -> Result<ForwardProbe, GitError> {
        match self.ref_at(&format!("refs/heads/{branch}"))? {
            Some(found) if found == *new => Ok(ForwardProbe::Done),
            Some(found) if self.is_ancestor(new, &found)? => Ok(ForwardProbe::Contained { at: found }),
            Some(found) if found == *old => Ok(ForwardProbe::NotDone),
            _ => Ok(ForwardProbe::Elsewhere),
        }
    }

    /// The folder of another worktree that has a branch checked out. One whose folder is gone holds nothing.
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

    /// What the user is in the middle of with a branch, here or in another worktree, if anything. A rebase or bisection
    /// takes HEAD off the branch and puts it back at the end: until then the branch is theirs, though nothing has it
    /// checked out.
    fn busy_with(&self, name: &str, here: bool) -> Option<&'static str> {
        let of_here = || busy_in(&self.inner.git_dir);
        let worktrees = std::fs::read_dir(self.inner.common_dir.join("worktrees"));
        let others = worktrees.into_iter().flatten().flatten().map(|entry| entry.path());
        let mut all = std::iter::once(self.inner.common_dir.clone()).chain(others);
        if here { of_here() } else { all.find_map(|git_dir| detached_from(&git_dir, name)) }
    }

    fn ready(&self, bring: &Bring<'_>) -> Result<Ready, GitError> {
        let changes = self.changes_plain(bring.old, bring.new)?;
        let mut dirty = changed(self.user())?;
        dirty.retain(|path| !bring.ignoring.iter().any(|dir| path.is_under(dir)));
        let filtered = self.filtered(bring.new, &changes)?;
        if !filtered.is_empty() {
            return Ok(Ready::No(Refusal::Filtered { paths: filtered }));
        }
        if !dirty.is_empty() && self.files_are_at(bring.new, bring.ignoring)? {
            return Ok(Ready::FilesAlready);
        }
        if bring.asked {
            // The user knows of the changes. Those that the result does not touch stay as they are.
            dirty.retain(|path| changes.iter().any(|(_, changed)| changed.overlaps(path)));
        }
        if !dirty.is_empty() {
            return Ok(Ready::No(Refusal::Dirty { paths: dirty }));
        }
        let lying = in_the_way(&self.inner.work_tree, &changes);
        Ok(if lying.is_empty() { Ready::Yes } else { Ready::No(Refusal::InTheWay { paths: lying }) })
    }

    fn changes_plain(&self, old: &Oid, new: &Oid) -> Result<Vec<(ChangeKind, GitPath)>, GitError> {
        let call =
            self.objects().args(["diff-tree", "-r", "-z", "--no-renames", "--name-status"]).args([old, new]);
        let bytes = call.ok()?;
        let all: Vec<_> = fields(&bytes).collect();
        let one = |pair: &[&[u8]]| {
            let kind = match pair.first()? {
                [b'A'] => ChangeKind::Added,
                [b'D'] => ChangeKind::Deleted,
                [b'T'] => ChangeKind::Retyped,
                _ => ChangeKind::Modified,
            };
            Some((kind, GitPath::from(*pair.get(1)?)))
        };
        Ok(all.chunks(2).filter_map(one).collect())
    }

    /// Changed files whose content would have to go through one of the user's filters.
    fn filtered(&self, new: &Oid, changes: &[(ChangeKind, GitPath)]) -> Result<Vec<GitPath>, GitError> {
        if self.inner.filters.is_empty() || changes.is_empty() {
            return Ok(Vec::new());
        }
        let mut input = Vec::new();
        for (_, path) in changes {
            input.extend_from_slice(path.as_bytes());
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

    /// Changes files and index, then the branch, which is locked all the while. Should we die, git unlocks it.
    fn forward_locked(&self, bring: &Bring<'_>, name: &str, half: bool) -> Result<Forward, GitError> {
        let Bring { old, new, .. } = *bring;
        let args = ["update-ref", "--no-deref", "-m", "tribunal: fast-forward", "--stdin"];
        let mut refs = self.refs().args(args).session()?;
        let line = format!("start\nupdate {name} {new} {old}\nprepare\n");
        if !(refs.send(line.as_bytes()).is_ok() && says(&mut refs, "start") && says(&mut refs, "prepare")) {
            drop(refs);
            return Ok(Forward::Refused(Refusal::Moved { found: self.ref_at(name)? }));
        }
        if !half && let Err(refused) = self.files_forward(old, new)? {
            let _ = refs.send(b"abort\n");
            drop(refs);
            return Ok(Forward::Refused(refused));
        }
        refs.send(b"commit\n")?;
        let committed = says(&mut refs, "commit");
        if refs.finish()? && committed {
            return Ok(Forward::Done);
        }
        Err(GitError::odd(format!("{name} could not be moved although it was locked")))
    }

    /// Changes files and index. The inner error says what of the user's is in the way.
    fn files_forward(&self, old: &Oid, new: &Oid) -> Result<Result<(), Refusal>, GitError> {
        let mut output = self.user().args(["read-tree", "-m", "-u"]).args([old, new]).run()?;
        if output.complaint().contains(TOUCHED) {
            output = self.forward_touched(old, new)?;
        }
        if output.status.success() {
            return Ok(Ok(()));
        }
        let complaint = output.complaint();
        let paths = quoted_paths(&complaint);
        if complaint.contains(TOUCHED) {
            return Ok(Err(Refusal::Dirty { paths }));
        }
        if complaint.contains("would be overwritten") || complaint.contains("would be removed") {
            return Ok(Err(Refusal::InTheWay { paths }));
        }
        Err(crate::run::failed("read-tree -m -u", &output))
    }

    /// Changes files and index where files were touched and not changed, of which the index does not know. A copy of it
    /// finds out, and takes its place with all the rest or not at all. The index is locked all the while.
    fn forward_touched(&self, old: &Oid, new: &Oid) -> Result<Output, GitError> {
        let index = self.inner.git_dir.join("index");
        let [lock, copy] = self.while_forwarding();
        let mut held = File::create_new(&lock).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => {
                let detail = format!("Unable to create '{}': File exists", lock.display());
                GitError::Locked { command: "read-tree -m -u".to_owned(), detail }
            }
            _ => GitError::io(&lock)(error),
        })?;
        let named = write!(held, "{HOLDER}{}", std::process::id());
        let call = || self.user().env("GIT_INDEX_FILE", &copy);
        let copied = named.and_then(|()| copy_with_time(&index, &copy));
        let done = copied.map_err(GitError::io(&index)).and_then(|()| {
            // What it does not find as it was is left for the next step to refuse.
            call().args(["update-index", "-q", "--refresh"]).run()?;
            let mut to = OsString::from("--index-output=");
            to.push(&index);
            call().args(["read-tree", "-m", "-u"]).arg(to).args([old, new]).run()
        });
        for left in [&copy, &lock] {
            let _ = std::fs::remove_file(left);
        }
        done
    }

    /// The lock of the user's index, and the copy that is made of it under that lock.
    fn while_forwarding(&self) -> [PathBuf; 2] {
        ["index.lock", "index.tribunal"].map(|name| self.inner.git_dir.join(name))
    }

    /// Takes away what one of us left who died while the lock was held: nobody else would.
    fn drop_dead_lock(&self) {
        let [lock, copy] = self.while_forwarding();
        let held = std::fs::read_to_string(&lock).unwrap_or_default();
        let pid = held.strip_prefix(HOLDER).and_then(|pid| pid.parse::<u32>().ok());
        if pid.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            for left in [copy, lock] {
                let _ = std::fs::remove_file(left);
            }
        }
    }
}

/// The words by which a person moves the branch that is checked out forward to a commit, or changes nothing. Without
/// `--no-overwrite-ignore` git would overwrite files that it ignores.
pub fn forward_command(new: &Oid) -> String {
    format!("git merge --ff-only --no-overwrite-ignore {new}")
}

/// What stands in a lock of the index that we hold, before our number.
const HOLDER: &str = "tribunal ";

/// How git says that its index does not know a file as it is.
const TOUCHED: &str = "not uptodate";

/// Copies an index. What changed in the moment it was written is told by its time, so that is kept.
fn copy_with_time(index: &Path, copy: &Path) -> std::io::Result<()> {
    std::fs::copy(index, copy)?;
    let time = index.metadata()?.modified()?;
    File::options().write(true).open(copy)?.set_modified(time)
}

enum Ready {
    Yes,
    FilesAlready,
    No(Refusal),
}

/// What a worktree is in the middle of, by what git leaves in its git directory.
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

/// What lies where new files must go and is not taken away by the change itself. Git would overwrite it if it is
/// ignored; but it is the user's.
fn in_the_way(root: &Path, changes: &[(ChangeKind, GitPath)]) -> Vec<GitPath> {
    let leaving: BTreeSet<&GitPath> =
        changes.iter().filter(|(kind, _)| *kind != ChangeKind::Added).map(|(_, path)| path).collect();
    let mut found = BTreeSet::new();
    for (_, path) in changes.iter().filter(|(kind, _)| *kind == ChangeKind::Added) {
        let bytes = path.as_bytes();
        for at in bytes.iter().enumerate().filter(|(_, b)| **b == b'/').map(|(at, _)| at) {
            let parent = GitPath::from(bytes.get(..at).unwrap_or_default());
            let meta = parent.under(root).symlink_metadata();
            if meta.is_ok_and(|meta| !meta.is_dir()) && !leaving.contains(&parent) {
                found.insert(parent);
            }
        }
        lying(root, path, &leaving, &mut found);
    }
    found.into_iter().collect()
}

/// Notes the file at a path, or the files in the directory there, but for those that leave anyway.
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

/// The paths git names in quotes.
fn quoted_paths(complaint: &str) -> Vec<GitPath> {
    complaint.lines().filter_map(|line| line.split('\'').nth(1)).map(GitPath::from).collect()
}
