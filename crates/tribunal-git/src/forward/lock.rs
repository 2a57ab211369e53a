//! Locks of the user's repository while it is fast-forwarded.
//!
//! Tribunal makes the lock of the index itself, with its own process named in it, so that the next Tribunal can tell
//! the lock of a dead one from anybody else's. Git only ever writes a copy of the index.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::files::unique;
use crate::{GitError, Oid, Repo};

/// How a lock that we hold begins.
const HOLDER: &str = "tribunal ";
/// The file that names the git process which moves the branch.
const MOVER: &str = "moving";

/// The user's index, locked for as long as this value lives.
///
/// Dropping it releases the lock. Git honours `index.lock`, so the user's own commands fail for that moment instead of
/// writing in between.
pub(super) struct IndexLock {
    lock: PathBuf,
    /// The copy that takes the place of the index when everything is done.
    pub(super) copy: PathBuf,
}

impl IndexLock {
    /// Locks the index; an error when somebody else has locked it.
    pub(super) fn take(repo: &Repo) -> Result<IndexLock, GitError> {
        let [lock, copy] = paths(repo);
        drop_dead(repo);
        // Linked to its place with its content: a lock without content could never be taken back.
        let draft = lock.with_file_name(unique("index.tribunal"));
        let written = File::create_new(&draft)
            .and_then(|mut file| file.write_all(format!("{HOLDER}{}", own_process()).as_bytes()));
        let linked = written.and_then(|()| std::fs::hard_link(&draft, &lock));
        // The draft goes in any case; the link keeps the content.
        let _ = std::fs::remove_file(&draft);
        linked.map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => {
                let detail = format!("Unable to create '{}': File exists", lock.display());
                GitError::Locked { who: "the fast-forward".to_owned(), detail }
            }
            _ => GitError::io(&lock)(error),
        })?;
        Ok(IndexLock { lock, copy })
    }
}

impl Drop for IndexLock {
    fn drop(&mut self) {
        drop_copy(&self.copy);
        let _ = std::fs::remove_file(&self.lock);
    }
}

/// The lock of the user's index, and the copy that is made of it under that lock.
fn paths(repo: &Repo) -> [PathBuf; 2] {
    ["index.lock", "index.tribunal"].map(|name| repo.inner.git_dir.join(name))
}

fn drop_copy(copy: &Path) {
    let mut lock = copy.as_os_str().to_owned();
    lock.push(".lock");
    let _ = std::fs::remove_file(copy);
    let _ = std::fs::remove_file(lock);
}

/// Removes the lock that a Tribunal left which died while holding it, because nobody else would. True if there was one.
pub(super) fn drop_dead(repo: &Repo) -> bool {
    let [lock, copy] = paths(repo);
    let held = std::fs::read_to_string(&lock).unwrap_or_default();
    let dead = held.strip_prefix(HOLDER).is_some_and(is_dead);
    if dead {
        drop_copy(&copy);
        let _ = std::fs::remove_file(lock);
    }
    dead
}

/// Notes which git process is about to lock the branch.
pub(super) fn note_mover(folder: &Path, pid: u32) -> Result<(), GitError> {
    crate::files::write_atomic(&folder.join(MOVER), name_of(pid).as_bytes())
}

/// Takes back the locks that our own git left on the branch when it was killed while moving it.
///
/// They hold nothing but the new commit, and are younger than our note that this git would make them. A lock that fails
/// either test is somebody else's.
pub(super) fn drop_movers(repo: &Repo, folder: &Path, branch: &str, new: &Oid) {
    let marker = folder.join(MOVER);
    let (Ok(name), Ok(noted)) = (std::fs::read_to_string(&marker), marker.metadata()) else { return };
    if !is_dead(&name) {
        return;
    }
    let of_branch = repo.inner.common_dir.join(format!("refs/heads/{branch}.lock"));
    for lock in [of_branch, repo.inner.git_dir.join("HEAD.lock")] {
        let words = std::fs::read_to_string(&lock).unwrap_or_else(|_| "unreadable".to_owned());
        // A lock that git had just made and not yet written is empty.
        let ours = words.trim_end().is_empty() || words.trim_end() == new.as_str();
        let times = (lock.metadata().and_then(|of| of.modified()), noted.modified());
        if ours && matches!(times, (Ok(made), Ok(noted)) if made >= noted) {
            let _ = std::fs::remove_file(&lock);
        }
    }
    let _ = std::fs::remove_file(marker);
}

/// This process, as it is named in locks.
pub(crate) fn own_process() -> String {
    name_of(std::process::id())
}

/// A process by its number, its start and the start of the machine. The number alone is given out again.
fn name_of(pid: u32) -> String {
    format!("{pid} {} {}", began(pid).unwrap_or_default(), boot())
}

/// Whether the process with this name is gone. A name that cannot be read counts as alive, so its lock stays.
pub(crate) fn is_dead(name: &str) -> bool {
    let mut words = name.split_whitespace();
    let Some(pid) = words.next().and_then(|pid| pid.parse::<u32>().ok()) else { return false };
    let now = began(pid);
    match (words.next(), words.next()) {
        (Some(start), Some(of)) => of != boot() || now.as_deref() != Some(start),
        // Without a start time, the number is all there is to go by.
        _ => now.is_none(),
    }
}

/// When a process began, in the kernel's ticks; `None` when there is no such process, or it has ended.
fn began(pid: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in brackets may hold anything, brackets included.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut words = rest.split_whitespace();
    // A zombie does nothing any more.
    let gone = words.next().is_none_or(|state| ["Z", "X", "x"].contains(&state));
    words.nth(18).filter(|_| !gone).map(str::to_owned)
}

fn boot() -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_dead_leave_their_locks() {
        let own = name_of(std::process::id());
        let mut words = own.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert!(!is_dead(&own), "{own}");
        assert!(!is_dead(&std::process::id().to_string()));
        words[1] = "1".to_owned();
        assert!(is_dead(&words.join(" ")), "another process had the number");
        assert!(is_dead(&format!("{} {} another-boot", words[0], began(std::process::id()).expect("alive"))));
        assert!(is_dead("4294967295"));
        assert!(!is_dead("x") && !is_dead(""));
    }
}
