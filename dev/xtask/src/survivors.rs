//! What a test left running, ended: a proof takes defences away, so that agents survive which otherwise would not. It ends
//! only what shows that it belongs to the test's own folder, and what fell to this program when its parents died.

use rustix::event::{Timespec, poll};
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, wait};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// How often it is looked again: who forks while we look is found the next time.
const LOOKS_MAX: usize = 100;
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// From now on, processes whose parents die fall to this program, and [`end_orphans`] finds them.
pub fn adopt() {
    // Where it is refused, only those are ended that are known by their folder.
    let _ = set_child_subreaper(Some(getpid()));
}

/// Ends every process that works in the folder, has something of it open, or names it in its environment.
pub fn end_below(dir: &Path) -> usize {
    end(|process| is_below(process, dir))
}

/// Ends every child of this program, and theirs. For the end, when no test runs any more.
pub fn end_orphans() -> usize {
    let own = getpid().as_raw_nonzero().get().to_string();
    let ended = end(|process| parent(process).is_some_and(|parent| parent == own));
    while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
    ended
}

fn end(is_one: impl Fn(&Path) -> bool) -> usize {
    let own = getpid();
    let mut ended = std::collections::BTreeSet::new();
    for _ in 0..LOOKS_MAX {
        let found: Vec<Pid> =
            processes().filter(|(pid, at)| *pid != own && is_one(at)).map(|(pid, _)| pid).collect();
        if found.is_empty() {
            break;
        }
        for pid in found {
            let _gone = kill_process(pid, Signal::KILL);
            ended.insert(pid.as_raw_nonzero());
        }
        let _ = poll(&mut [], Some(&PAUSE));
    }
    ended.len()
}

fn processes() -> impl Iterator<Item = (Pid, std::path::PathBuf)> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok().and_then(Pid::from_raw)?;
        Some((pid, entry.path()))
    })
}

fn is_below(process: &Path, dir: &Path) -> bool {
    let open = std::fs::read_dir(process.join("fd")).into_iter().flatten().flatten().map(|fd| fd.path());
    let mut links = open.chain([process.join("cwd"), process.join("exe")]);
    let named = || {
        let environment = std::fs::read(process.join("environ")).unwrap_or_default();
        environment.windows(dir.as_os_str().len()).any(|part| part == dir.as_os_str().as_bytes())
    };
    links.any(|link| std::fs::read_link(link).is_ok_and(|to| to.starts_with(dir))) || named()
}

/// The number of a living process's parent; the name before it may hold anything.
fn parent(process: &Path) -> Option<String> {
    let stat = std::fs::read_to_string(process.join("stat")).ok()?;
    let mut words = stat.rsplit_once(')')?.1.split_whitespace();
    let state = words.next()?;
    let parent = words.next()?.to_owned();
    (state != "Z").then_some(parent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test needs somebody to end")]
    fn who_works_in_the_folder_or_names_it_is_ended_and_nobody_else() {
        let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let start = |at: &Path, name: &Path| {
            let mut command = Command::new("cat");
            command.current_dir(at).env("TMPDIR", name).stdin(Stdio::piped()).stdout(Stdio::null());
            command.spawn().unwrap()
        };
        let mut within = start(dir.path(), other.path());
        let mut naming = start(other.path(), dir.path());
        let mut neither = start(other.path(), other.path());
        assert!(end_below(dir.path()) >= 2);
        assert!(!within.wait().unwrap().success());
        assert!(!naming.wait().unwrap().success());
        assert!(neither.try_wait().unwrap().is_none());
        neither.kill().unwrap();
        neither.wait().unwrap();
    }
}
