//! Saves everything an agent has not handed in, before its tree is taken away: the files, and the commits it made in
//! its private repository.
//!
//! The agent owns that repository, so git is never pointed at it. Refs are read by hand, object files are copied by
//! hand without following a link, and git hashes every object anew that it takes from the copy.

use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::io::Errno;

use crate::files::{names, open_dir, open_dir_at, read_at, unique};
use crate::open::quoted;
use crate::tree::left;
use crate::{GitError, Oid, Problem, RefChange, Repo, Signature, Tree};

/// How many refs of an agent are examined.
const REFS_MAX: usize = 256;
/// How many object files of an agent are examined.
const OBJECTS_MAX: usize = 200_000;
/// How many bytes of objects are taken from an agent.
const BYTES_MAX: u64 = 512 << 20;
/// How many subjects of an agent's own commits are shown.
const SUBJECTS_MAX: usize = 200;

/// What a snapshot of an agent's tree saved.
///
/// Delete the tree only when `left` is empty: otherwise something in it exists nowhere else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The commit that holds everything, now at the ref; `None` when the base commit holds it all already.
    pub commit: Option<Oid>,
    /// The files, as a tree object.
    pub tree: Oid,
    /// Files that could not be taken exactly as they lay there.
    pub problems: Vec<Problem>,
    /// Commits the agent made itself, oldest first, with their subjects.
    pub own_commits: Vec<(Oid, String)>,
    /// Why commits of the agent could not be saved, if that failed.
    pub unsaved: Option<String>,
}

impl Snapshot {
    /// What is in the tree and in no commit. As long as there is any, the tree must not be deleted.
    pub fn left(&self) -> Vec<String> {
        left(&self.problems).into_iter().chain(self.unsaved.clone()).collect()
    }
}

impl Repo {
    /// Saves a tree's files and its agent's own commits as one commit at `name` (under `refs/tribunal/`).
    ///
    /// Doing it twice gives the same commit, so a crash in between does no harm. The agent's commits become further
    /// parents, which keeps them reachable.
    pub fn snapshot(
        &self,
        tree: &Tree,
        name: &str,
        message: &str,
        who: &Signature,
    ) -> Result<Snapshot, GitError> {
        if !name.starts_with("refs/tribunal/") {
            return Err(GitError::odd(format!("a snapshot belongs under refs/tribunal/, not at {name:?}")));
        }
        let captured = tree.capture()?;
        let (tips, unsaved) = match self.own_tips(tree) {
            Ok(tips) => (tips, None),
            // A broken repository of the agent must not cost its files, which are the larger part of the work.
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        let own_commits =
            if tips.is_empty() { Vec::new() } else { self.subjects_of(&tips, tree.base(), SUBJECTS_MAX)? };
        let mut commit = None;
        if !tips.is_empty() || captured.tree != self.tree_of(tree.base())? {
            let mut parents = vec![tree.base().clone()];
            parents.extend(tips);
            let made = self.commit(&captured.tree, &parents, message, who, who)?;
            self.refs_update(&[RefChange::set(name, &made)], "tribunal: snapshot")?;
            commit = Some(made);
        }
        Ok(Snapshot { commit, tree: captured.tree, problems: captured.problems, own_commits, unsaved })
    }

    /// The agent's own commits, brought into our object store.
    fn own_tips(&self, tree: &Tree) -> Result<Vec<Oid>, GitError> {
        let git = tree.path().join(".git");
        let dir = match open_dir(&git) {
            Ok(dir) => dir,
            // An agent that removed or replaced its git directory has no commits left to save.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(Vec::new()),
            Err(errno) => return Err(GitError::io(&git)(errno.into())),
        };
        let mut tips = read_tips(&dir, tree.base().as_str().len());
        tips.retain(|tip| tip != tree.base());
        // The tips come in the order of a directory listing; sorted, the same commits give the same snapshot.
        tips.sort();
        tips.dedup();
        // An id that we have already needs no copy, whatever the agent's repository says about it.
        let mut new = tips.clone();
        new.retain(|tip| !matches!(self.object(tip.as_str().as_bytes()), Ok(Some(_))));
        if !new.is_empty() {
            let copy = tree.index().with_file_name(unique("objects"));
            let brought = copy_objects(&dir, &copy).map_err(GitError::io(&git));
            let brought = brought.and_then(|()| self.bring(&new, tree.base(), &copy));
            let _ = std::fs::remove_dir_all(&copy);
            brought?;
        }
        self.commits_beyond(&tips, tree.base())
    }

    /// The commits among the tips (or behind their tags) that the base commit does not contain.
    fn commits_beyond(&self, tips: &[Oid], base: &Oid) -> Result<Vec<Oid>, GitError> {
        let mut commits = Vec::new();
        for tip in tips {
            if let Some(object) = self.object(format!("{tip}^{{commit}}").as_bytes())?
                && !commits.contains(&object.oid)
                && !self.is_ancestor(&object.oid, base)?
            {
                commits.push(object.oid);
            }
        }
        Ok(commits)
    }

    /// Takes everything that `tips` reach and `base` does not from a copy of an object store.
    ///
    /// The pack in between makes git compute every id anew, and `--strict` makes it refuse what is malformed or
    /// incomplete.
    fn bring(&self, tips: &[Oid], base: &Oid, copy: &Path) -> Result<(), GitError> {
        let mut revs = String::new();
        for tip in tips {
            revs.push_str(&format!("{tip}\n"));
        }
        // The base is ours, so everything it leads to is left out of the pack.
        revs.push_str(&format!("--not\n{base}\n"));
        let mut stores = quoted(copy);
        stores.push(":");
        stores.push(quoted(&self.inner.objects));
        let call = self.objects().env("GIT_ALTERNATE_OBJECT_DIRECTORIES", stores);
        let pack = call.args(["pack-objects", "-q", "--revs", "--stdout"]).input(revs).ok()?;
        self.objects().args(["unpack-objects", "-q", "--strict"]).input(pack).ok()?;
        Ok(())
    }
}

/// All commit ids that the private repository names: HEAD, loose refs and packed refs. Anything odd is skipped.
fn read_tips(git: &OwnedFd, len: usize) -> Vec<Oid> {
    let mut tips = Vec::new();
    let mut note = |bytes: &[u8]| {
        // HEAD usually holds the name of a branch, which is not an id and is found among the refs.
        if let Ok(oid) = Oid::from_bytes(bytes)
            && oid.as_str().len() == len
            && tips.len() < REFS_MAX
        {
            tips.push(oid);
        }
    };
    if let Ok(head) = read_at(git, b"HEAD", 4096) {
        note(&head);
    }
    if let Ok(packed) = read_at(git, b"packed-refs", 1 << 20) {
        for line in packed.split(|b| *b == b'\n') {
            note(line.split(|b| *b == b' ').next().unwrap_or_default());
        }
    }
    if let Ok(refs) = open_dir_at(git, b"refs") {
        walk_refs(&refs, 0, &mut note);
    }
    tips
}

fn walk_refs(dir: &OwnedFd, depth: usize, note: &mut impl FnMut(&[u8])) {
    for name in names(dir, REFS_MAX).unwrap_or_default() {
        match open_dir_at(dir, &name) {
            // A depth limit, because the agent made these folders.
            Ok(sub) if depth < 8 => walk_refs(&sub, depth + 1, note),
            Ok(_) => {}
            Err(_) => note(&read_at(dir, &name, 4096).unwrap_or_default()),
        }
    }
}

/// Copies object files within bounds, and nothing else: no alternates and no links.
fn copy_objects(git: &OwnedFd, to: &Path) -> std::io::Result<()> {
    let objects = open_dir_at(git, b"objects")?;
    let mut budget = Budget { files: OBJECTS_MAX, bytes: BYTES_MAX };
    std::fs::create_dir_all(to)?;
    for name in names(&objects, 1024)? {
        let is_pack = name == b"pack";
        let is_fan = name.len() == 2 && name.iter().all(u8::is_ascii_hexdigit);
        // Everything else below `objects` is skipped, above all `info/alternates`, which could lead anywhere.
        if is_pack || is_fan {
            let Ok(dir) = open_dir_at(&objects, &name) else { continue };
            copy_files(&dir, &to.join(std::ffi::OsStr::from_bytes(&name)), is_pack, &mut budget)?;
        }
    }
    Ok(())
}

struct Budget {
    files: usize,
    bytes: u64,
}

fn copy_files(from: &OwnedFd, to: &Path, packs: bool, budget: &mut Budget) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for name in names(from, budget.files)? {
        let wanted = match packs {
            // Only packs and their indexes; `.keep` and other files of the agent mean nothing here.
            true => name.starts_with(b"pack-") && (name.ends_with(b".pack") || name.ends_with(b".idx")),
            false => name.iter().all(u8::is_ascii_hexdigit),
        };
        if wanted {
            let bytes = read_at(from, &name, budget.bytes)?;
            // The limit of the next read is what is left, so that all files together stay within the bound.
            budget.bytes -= bytes.len() as u64;
            budget.files = budget.files.saturating_sub(1);
            std::fs::write(to.join(std::ffi::OsStr::from_bytes(&name)), bytes)?;
        }
    }
    Ok(())
}
