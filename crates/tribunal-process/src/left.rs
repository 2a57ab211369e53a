//! What a dead orchestrator left behind, and the last sweep of a run.
//!
//! It ends only processes that prove to be ours, by marker, or by number, start time and boot together. A reused
//! process number is nobody's.

use std::path::Path;

use crate::error::ProcessError;
use crate::proc::{self, Key, Proc, Snapshot};
use crate::record::{self, Exit, Kind, PROCESS_FILE, Running, exit_of};
use crate::tree::{self, Target, is_of_run};

/// What was found of a launch whose orchestrator died.
///
/// The engine decides by it whether an intended launch has to be repeated, so `NeverLaunched` is reported only when
/// no record exists at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Left {
    /// Nothing was ever launched with this output directory.
    NeverLaunched,
    /// It was already gone; how it ended, if that was recorded.
    Gone(Option<Exit>),
    /// It was alive and has been ended.
    Ended(Swept),
}

/// The result of a sweep.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Swept {
    /// How many processes were ended.
    pub killed: usize,
    /// Processes that even SIGKILL did not end: stuck in the kernel, or not ours to signal.
    pub left: Vec<i32>,
}

/// Ends what is left of a launch of a dead orchestrator, and returns when it is gone.
pub fn end_left_behind(out_dir: &Path) -> Result<Left, ProcessError> {
    if !proc::is_usable() {
        return Err(ProcessError::NoProc);
    }
    let path = out_dir.join(PROCESS_FILE);
    let Some(running) = record::read::<Running>(&path) else {
        return match path.symlink_metadata() {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Left::NeverLaunched),
            Err(e) => Err(ProcessError::io("reading", &path)(e)),
            Ok(_) => {
                // A record that cannot be read is an error and not "never launched": something may be running that it
                // would have named.
                Err(ProcessError::io("reading", &path)(std::io::Error::other("not a record of a launch")))
            }
        };
    };
    // No process survives a boot, and its number may be anybody's now.
    if running.boot_id != proc::boot_id() || running.marker.is_empty() {
        return Ok(Left::Gone(exit_of(out_dir)));
    }
    let root = running.root().filter(|root| is_ours(*root, &running));
    let wrapped = running.containment != Kind::Subreaper;
    let (killed, left) = tree::end(&Target::Launch { root, marker: running.marker, wrapped });
    if killed == 0 && left.is_empty() {
        return Ok(Left::Gone(exit_of(out_dir)));
    }
    Ok(Left::Ended(Swept { killed, left }))
}

/// Whether the recorded root is still that process: same number and start time and, in a namespace, the marker too.
///
/// A wrapper never sheds the marker. Without a namespace the root is the agent itself, which may have started over
/// with another environment.
fn is_ours(root: Key, running: &Running) -> bool {
    let Some(now) = Proc::read(root.pid).filter(|p| p.key == root) else { return false };
    running.containment == Kind::Subreaper || now.marker() == Some(&running.marker)
}

/// Every live process that carries the run's marker.
pub fn survivors(run_marker: &str) -> Vec<i32> {
    let snapshot = Snapshot::take();
    let of_run = |p: &&Proc| {
        !p.is_dead() && p.key.pid != proc::own_pid() && p.marker().is_some_and(|m| is_of_run(m, run_marker))
    };
    snapshot.procs.iter().filter(of_run).map(|p| p.key.pid).collect()
}

/// Whether a process belongs to a launch: it, or one of its ancestors, carries the launch's marker.
///
/// The ancestors count because agents start servers with an environment of their own.
pub fn belongs(pid: i32, run_marker: &str, id: &str) -> bool {
    let marker = format!("{run_marker}/{id}");
    let mut at = pid;
    // The process table changes while it is walked, so reused numbers could form a circle. No real line is this long.
    for _ in 0..256 {
        let Some(found) = Proc::read(at).filter(|found| found.key.pid > 1) else { return false };
        if found.marker() == Some(&marker) {
            return true;
        }
        at = found.parent;
    }
    false
}

/// Processor time that a launch's processes have used so far, in clock ticks. It includes children that they waited
/// for.
pub fn processor_ticks(run_marker: &str, id: &str) -> u64 {
    let marker = format!("{run_marker}/{id}");
    let snapshot = Snapshot::take();
    let of_launch = snapshot.procs.iter().filter(|p| p.marker() == Some(&marker));
    of_launch.map(|p| p.ticks).sum()
}

/// Ends every process of a run, and the unmarked orphans that were reparented to us.
///
/// Call it at the end of a run, when nothing else of this program runs launches: an orphan without a marker may be
/// anybody's.
pub fn sweep(run_marker: &str) -> Swept {
    let (killed, left) = tree::end(&Target::Run { marker: run_marker.to_owned() });
    Swept { killed, left }
}
