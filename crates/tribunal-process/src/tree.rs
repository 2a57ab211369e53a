//! Which processes belong to a launch, and how to end all of them although they fork while being killed.
//!
//! Stop every process found, look again until nothing new appears, then kill, and look until nobody is left. Killing
//! at once would miss a child that is forked between the look and the kill and has shed the marker. It never signals
//! this program, its ancestors, or a process whose start time has changed.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::process::{PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tribunal_core::defence::{Defence, stands};

use crate::proc::{Key, Proc, Snapshot, is_init_below, own_pid, pid_of};
use crate::roots;

/// Rounds of stopping before killing anyway. A tree that keeps still is ready after two.
const FREEZE_ROUNDS: u32 = 20;
/// How long one chase after strays may take.
const CHASE_MAX: Duration = Duration::from_millis(500);
/// How long no stray must come for a chase to be over.
const CHASE_QUIET: Duration = Duration::from_millis(20);
/// A process that has not died of SIGKILL after this time hangs in the kernel, or is not ours to signal.
pub(crate) const UNKILLABLE_AFTER: Duration = Duration::from_secs(10);

/// A set of processes that end together.
#[derive(Debug, Clone)]
pub(crate) enum Target {
    /// One launch: its root if it is known to be ours, its exact marker, and whether wrappers stand around it.
    Launch { root: Option<Key>, marker: String, wrapped: bool },
    /// Everything of a run, and the unmarked orphans that were reparented to this program.
    Run { marker: String },
}

impl Target {
    /// The processes of the target: by marker, root and session, those known before, and all their descendants.
    pub fn members<'a>(&self, snapshot: &'a Snapshot, known: &BTreeSet<Key>) -> Vec<&'a Proc> {
        // Tribunal may itself run inside a launch, and then it and its ancestors are found among the members.
        let spared = snapshot.line_of(own_pid());
        let seeds = self.seeds(snapshot);
        let mut queue: Vec<&Proc> =
            snapshot.procs.iter().filter(|p| known.contains(&p.key) || seeds.contains(&p.key)).collect();
        let mut found = BTreeMap::new();
        while let Some(p) = queue.pop() {
            if p.key.pid > 1 && !spared.contains(&p.key.pid) && found.insert(p.key, p).is_none() {
                queue.extend(snapshot.children(p.key.pid));
            }
        }
        found.into_values().collect()
    }

    /// Whether it is one of our processes around the command, which must outlive a polite signal.
    ///
    /// If the wrapper died of SIGTERM, the kernel would kill the command at once, and the grace would be none.
    pub fn is_wrapper(&self, p: &Proc) -> bool {
        match self {
            Self::Launch { root, wrapped: true, .. } => *root == Some(p.key) || is_init_below(p.key.pid),
            Self::Launch { .. } | Self::Run { .. } => false,
        }
    }

    /// Whether an init that was reparented to us may be dying.
    ///
    /// It has lost its environment by then, so nobody can say whose it was, and its namespace may not be empty yet.
    /// It is nobody's to signal, but worth waiting for.
    fn may_be_dying(&self, snapshot: &Snapshot) -> bool {
        let (me, session, roots) = (own_pid(), roots::own_session(), roots::lock());
        let dying =
            |p: &&Proc| !p.is_dead() && roots::is_adopted(p, me, session, &roots) && p.marker().is_none();
        matches!(self, Self::Launch { wrapped: true, .. })
            && snapshot.procs.iter().filter(dying).any(|p| is_init_below(p.key.pid))
    }

    /// The processes that belong to the target by themselves, before descendants are added.
    fn seeds(&self, snapshot: &Snapshot) -> BTreeSet<Key> {
        let procs = snapshot.procs.iter();
        match self {
            Self::Launch { root, marker, .. } => {
                // While the root is there, even as a zombie, its number names its session and no other.
                let root = root.filter(|r| snapshot.procs.iter().any(|p| p.key == *r));
                procs
                    .filter(|p| {
                        root.is_some_and(|r| p.key == r || p.session == r.pid)
                            || p.marker().is_some_and(|m| m == marker)
                    })
                    .map(|p| p.key)
                    .collect()
            }
            Self::Run { marker } => {
                let (me, session, roots) = (own_pid(), roots::own_session(), roots::lock());
                procs
                    .filter(|p| match p.marker() {
                        Some(m) => is_of_run(m, marker),
                        None => roots::is_adopted(p, me, session, &roots),
                    })
                    .map(|p| p.key)
                    .collect()
            }
        }
    }
}

/// Whether a process's marker says that it belongs to the run.
pub(crate) fn is_of_run(marker: &str, run: &str) -> bool {
    // An empty run would be a prefix of every marker; and `run-1` must not match the processes of `run-10`.
    !run.is_empty() && marker.strip_prefix(run).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Signals exactly this process: the handle is taken first, then its identity is checked, then it is used.
///
/// In any other order the number could be given to another process in between.
pub(crate) fn signal(key: Key, sig: Signal) -> bool {
    open(key).is_some_and(|fd| pidfd_send_signal(&fd, sig).is_ok())
}

fn open(key: Key) -> Option<OwnedFd> {
    let fd = pidfd_open(pid_of(key.pid)?, PidfdFlags::empty()).ok()?;
    Proc::read(key.pid).filter(|p| p.key == key).map(|_| fd)
}

/// The ending of one tree, a step at a time, so that one thread can end many.
#[derive(Debug, Default)]
pub(crate) struct Ending {
    known: BTreeSet<Key>,
    seen: BTreeSet<Key>,
    wrappers: BTreeSet<Key>,
    rounds: u32,
    empty_rounds: u32,
    left: Vec<Key>,
}

impl Ending {
    /// Starts with processes already known to belong to the tree, wherever they have been reparented since.
    pub fn knowing(known: BTreeSet<Key>) -> Self {
        Self { known, ..Self::default() }
    }

    /// Looks once and signals once. True when two looks in a row found nobody.
    ///
    /// One empty look is not proof: /proc is not read at one moment, and a process that forks and exits can be missed
    /// together with its child.
    pub fn step(&mut self, snapshot: &Snapshot, target: &Target) -> bool {
        if !stands(Defence::Sweep) {
            return true;
        }
        self.known.extend(&self.seen);
        let mut live = target.members(snapshot, &self.known);
        live.retain(|p| !p.is_dead());
        self.left = live.iter().map(|p| p.key).collect();
        if live.is_empty() {
            // A dying init may still hold a namespace with somebody in it, so this look does not count.
            self.empty_rounds += u32::from(!target.may_be_dying(snapshot));
            return self.empty_rounds > 1;
        }
        self.empty_rounds = 0;
        self.rounds += 1;
        let fresh: Vec<&&Proc> = live.iter().filter(|p| self.seen.insert(p.key)).collect();
        self.wrappers.extend(fresh.iter().filter(|p| target.is_wrapper(p)).map(|p| p.key));
        let restless = !fresh.is_empty() || live.iter().any(|p| !p.is_still());
        // Stop first: a process that is stopped cannot fork, and a child of a killed one could escape. The limit is
        // for a tree that never keeps still.
        if restless && self.rounds < FREEZE_ROUNDS {
            live.iter().filter(|p| !p.is_still()).for_each(|p| _ = signal(p.key, Signal::STOP));
        } else {
            live.iter().for_each(|p| _ = signal(p.key, Signal::KILL));
        }
        false
    }

    /// The processes that were alive at the last look.
    pub fn left(&self) -> Vec<i32> {
        self.left.iter().map(|key| key.pid).collect()
    }

    /// How many processes had to be ended, wrappers not counted.
    pub fn ended(&self) -> usize {
        self.seen.difference(&self.wrappers).count().saturating_sub(self.left.len())
    }

    /// How long to wait before the next step: briefly at first, longer when something is stuck.
    pub fn pause(&self) -> Duration {
        Duration::from_millis(u64::from(self.rounds.saturating_sub(FREEZE_ROUNDS).clamp(1, 50)))
    }

    /// Waits until one of those left has died, or the pause is over.
    fn wait(&self) {
        let handles: Vec<OwnedFd> = self.left.iter().filter_map(|key| open(*key)).collect();
        let mut fds: Vec<PollFd<'_>> = handles.iter().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
        let _ = poll(&mut fds, Timespec::try_from(self.pause()).ok().as_ref());
    }
}

/// Ends a whole target here and now; returns how many were ended, and which could not be.
pub(crate) fn end(target: &Target) -> (usize, Vec<i32>) {
    let mut ending = Ending::default();
    let began = Instant::now();
    loop {
        let chased = matches!(target, Target::Run { marker } if chase(marker));
        let snapshot = Snapshot::take();
        roots::reap_adopted(&snapshot);
        let done = ending.step(&snapshot, target) && !chased;
        if done || began.elapsed() > UNKILLABLE_AFTER {
            return (ending.ended(), ending.left());
        }
        if !ending.left.is_empty() {
            ending.wait();
        }
    }
}

/// Stops orphans of a run as they come, until none comes; true if there were any.
///
/// A line of orphans, each living only to start the next in a new session, outruns a look at all of /proc. But each
/// in turn is reparented to us, and our own children are read in microseconds.
fn chase(run: &str) -> bool {
    let (me, session) = (own_pid(), roots::own_session());
    let began = Instant::now();
    let mut last: Option<Instant> = None;
    while began.elapsed() < CHASE_MAX {
        let strays = children_of(me).filter(|p| {
            roots::is_adopted(p, me, session, &roots::lock())
                && !p.is_still()
                && p.marker().is_none_or(|marker| is_of_run(marker, run))
        });
        if strays.filter(|p| signal(p.key, Signal::STOP)).count() > 0 {
            last = Some(Instant::now());
        } else if last.is_none_or(|at| at.elapsed() > CHASE_QUIET) {
            break;
        }
    }
    last.is_some()
}

/// The children of a process. Orphans are reparented to its first thread, whose number is the process's.
fn children_of(pid: i32) -> impl Iterator<Item = Proc> {
    let list = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let pids: Vec<i32> = list.split_ascii_whitespace().filter_map(|n| n.parse().ok()).collect();
    pids.into_iter().filter_map(Proc::read)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_owns_its_launches_and_no_namesake() {
        let check = |marker: &str, run: &str, expect: bool| {
            assert_eq!(is_of_run(marker, run), expect, "{marker} of {run}");
        };
        check("run", "run", true);
        check("run/launch", "run", true);
        check("run/launch", "run/launch", true);
        check("runner/launch", "run", false);
        check("other/run", "run", false);
        check("anything", "", false);
        check("", "", false);
    }

    #[test]
    fn a_changed_start_time_is_not_signalled() {
        let me = Proc::read(own_pid()).unwrap().key;
        assert!(open(me).is_some());
        assert!(!signal(Key { start: me.start + 1, ..me }, Signal::KILL));
    }

    #[test]
    fn this_program_and_its_ancestors_are_spared() {
        let snapshot = Snapshot::take();
        let me = Proc::read(own_pid()).unwrap().key;
        let target = Target::Launch { root: Some(me), marker: "none".into(), wrapped: false };
        let found = target.members(&snapshot, &BTreeSet::new());
        let spared = snapshot.line_of(own_pid());
        assert!(spared.len() > 1);
        assert!(found.iter().all(|p| !spared.contains(&p.key.pid)));
    }
}
