//! Reads /proc: which processes are alive, their parents, start times and markers.
//!
//! It never signals anything, and a process that vanishes while being read is simply not there. Nothing read here
//! stays true, so whoever acts on it must check the identity again, see `tree::signal`.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;

use rustix::process::Pid;

/// The identity of a process: its number and its start time. A number alone may have been reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub pid: i32,
    pub start: u64,
}

/// One process as /proc showed it.
#[derive(Debug)]
pub(crate) struct Proc {
    pub key: Key,
    pub parent: i32,
    pub session: i32,
    pub state: u8,
    /// Processor time, its own and that of children it waited for.
    pub ticks: u64,
    // Read on demand: most processes are ruled out without it, and it takes a second file.
    marker: OnceCell<Option<String>>,
}

impl Proc {
    /// Reads one process; `None` if it is not there.
    pub fn read(pid: i32) -> Option<Self> {
        parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// Whether it is a zombie, which does nothing any more and only waits for its parent.
    pub fn is_dead(&self) -> bool {
        matches!(self.state, b'Z' | b'X' | b'x')
    }

    /// Whether it cannot fork now: it is stopped, dead, or held inside the kernel.
    pub fn is_still(&self) -> bool {
        self.is_dead() || matches!(self.state, b'T' | b't' | b'D')
    }

    /// The marker in its environment, if it can be read and carries one.
    pub fn marker(&self) -> Option<&str> {
        self.marker.get_or_init(|| marker_in(&environ(self.key.pid)?)).as_deref()
    }
}

/// Whether it is the first process of a PID namespace directly below ours.
pub(crate) fn is_init_below(pid: i32) -> bool {
    let own = namespaced_pids(own_pid()).len();
    namespaced_pids(pid).get(own) == Some(&1)
}

/// Its numbers from our namespace inwards.
fn namespaced_pids(pid: i32) -> Vec<i32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    line.into_iter().flat_map(str::split_ascii_whitespace).filter_map(|n| n.parse().ok()).collect()
}

/// Everything in /proc at about one moment.
pub(crate) struct Snapshot {
    pub procs: Vec<Proc>,
    /// Indices into `procs`, by parent.
    children: BTreeMap<i32, Vec<usize>>,
}

impl Snapshot {
    /// Reads all of /proc. A process born meanwhile may be missing: callers look again until nothing is new.
    pub fn take() -> Self {
        let mut procs = Vec::new();
        for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let pid = entry.file_name().to_str().and_then(|name| name.parse().ok());
            procs.extend(pid.and_then(Proc::read));
        }
        let mut children: BTreeMap<i32, Vec<usize>> = BTreeMap::new();
        for (place, p) in procs.iter().enumerate() {
            children.entry(p.parent).or_default().push(place);
        }
        Self { procs, children }
    }

    /// The processes whose parent it is.
    pub fn children(&self, pid: i32) -> impl Iterator<Item = &Proc> {
        let places = self.children.get(&pid).into_iter().flatten();
        places.filter_map(|place| self.procs.get(*place))
    }

    /// A process and all its ancestors.
    pub fn line_of(&self, pid: i32) -> BTreeSet<i32> {
        let mut line = BTreeSet::new();
        let mut at = pid;
        // The insert also ends a circle, which numbers that were reused during the read could form.
        while at > 0 && line.insert(at) {
            at = self.procs.iter().find(|p| p.key.pid == at).map_or(0, |p| p.parent);
        }
        line
    }
}

/// The start time of a process, in clock ticks since boot.
pub(crate) fn start_time(pid: i32) -> Option<u64> {
    Proc::read(pid).map(|p| p.key.start)
}

/// Which boot of the machine this is. Process numbers of another boot mean nothing.
pub(crate) fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|s| s.trim().to_owned()).unwrap_or_default()
}

/// The process number of this program.
pub(crate) fn own_pid() -> i32 {
    rustix::process::getpid().as_raw_nonzero().get()
}

/// Whether /proc shows processes as we number them.
///
/// In a container that kept the /proc of its host every number would name somebody else, and we would signal
/// strangers.
pub(crate) fn is_usable() -> bool {
    let to = fs::read_link("/proc/self").ok();
    to.is_some_and(|to| to.to_str().and_then(|pid| pid.parse().ok()) == Some(own_pid()))
}

/// A number as rustix wants it; `None` for what cannot be a process.
pub(crate) fn pid_of(raw: i32) -> Option<Pid> {
    // 0 and negative numbers address groups, and -1 addresses everybody.
    if raw > 0 { Pid::from_raw(raw) } else { None }
}

/// Parses a line of `/proc/<pid>/stat`. The command name may contain spaces and parentheses, so the fields are
/// searched from the last one.
fn parse(stat: &str) -> Option<Proc> {
    let pid = stat.split(' ').next()?.parse().ok()?;
    let rest = stat.get(stat.rfind(')')? + 1..)?;
    let field: Vec<&str> = rest.split_ascii_whitespace().collect();
    Some(Proc {
        key: Key { pid, start: field.get(19)?.parse().ok()? },
        state: *field.first()?.as_bytes().first()?,
        parent: field.get(1)?.parse().ok()?,
        session: field.get(3)?.parse().ok()?,
        ticks: field.get(11..15)?.iter().filter_map(|n| n.parse::<u64>().ok()).sum(),
        marker: OnceCell::new(),
    })
}

/// Reads an environment. It is usually a few pages; a process that made its own huge is read only so far.
fn environ(pid: i32) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = fs::File::open(format!("/proc/{pid}/environ")).ok()?;
    file.take(4 << 20).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

fn marker_in(environ: &[u8]) -> Option<String> {
    let entry = environ.split(|b| *b == 0).find_map(|entry| {
        entry.strip_prefix(crate::MARKER.as_bytes()).and_then(|rest| rest.strip_prefix(b"="))
    })?;
    String::from_utf8(entry.to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stat(pid: i32, name: &str, state: char, parent: i32, session: i32, start: u64) -> String {
        format!("{pid} ({name}) {state} {parent} 7 {session} 0 -1 0 0 0 0 0 1 2 3 4 20 0 1 0 {start} 99 5")
    }

    proptest! {
        #[test]
        fn no_command_name_can_forge_another_process(name in "\\PC{0,20}", pid in 1..i32::MAX, start: u64) {
            let p = parse(&stat(pid, &name, 'S', 42, 43, start)).unwrap();
            prop_assert_eq!(p.key, Key { pid, start });
            prop_assert_eq!((p.parent, p.session, p.state), (42, 43, b'S'));
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,80}") {
            let _ = parse(&text);
        }
    }

    #[test]
    fn names_that_look_like_fields() {
        let p = parse(&stat(9, ") Z 1 1 1 (", 'R', 2, 3, 4)).unwrap();
        assert_eq!((p.key, p.parent, p.state), (Key { pid: 9, start: 4 }, 2, b'R'));
    }

    #[test]
    fn marker_is_found_whole() {
        let check = |environ: &[u8], expect: Option<&str>| {
            assert_eq!(marker_in(environ).as_deref(), expect, "{}", String::from_utf8_lossy(environ));
        };
        check(b"A=1\0TRIBUNAL_MARKER=run/x\0B=2\0", Some("run/x"));
        check(b"TRIBUNAL_MARKER=run\0", Some("run"));
        check(b"TRIBUNAL_MARKER2=run\0", None);
        check(b"X=TRIBUNAL_MARKER=run\0", None);
        check(b"TRIBUNAL_MARKER=\xff\0", None);
        check(b"", None);
    }

    #[test]
    fn own_process_is_seen() {
        let snapshot = Snapshot::take();
        let me = snapshot.procs.iter().find(|p| p.key.pid == own_pid()).unwrap();
        assert!(!me.is_dead());
        assert!(!is_init_below(me.key.pid));
        assert_eq!(start_time(own_pid()), Some(me.key.start));
        assert!(!boot_id().is_empty());
        assert!(is_usable());
    }
}
