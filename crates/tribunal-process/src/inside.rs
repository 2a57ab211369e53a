//! The two small processes around a contained command, both this program started anew: the monitor, which
//! makes the namespace, and the init, first process of it, which starts the command, reaps orphans, writes
//! `exit.json` and, by ending, has the kernel kill whatever is left. If the monitor dies the init dies.
//! Neither reads the command's output, and neither ever outlives its task.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::fstat;
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::process::{Signal, WaitOptions, WaitStatus, set_parent_process_death_signal, setsid, wait};
use rustix::thread::{UnshareFlags, unshare_unsafe};

use crate::launch::keep_descriptors;
use crate::proc::{Proc, own_pid};
use crate::record::{self, Cause, Exit, ExitHow};
use crate::walls::{Walls, here};

const HOOK: &str = "--tribunal-contain";
/// In place of the number of words about walls: there are none.
const OPEN: &str = "open";
static HOOKED: AtomicBool = AtomicBool::new(false);

/// Call first thing in `main`: in a process that is a stage of a contained launch it does that stage's whole
/// work, and `main` returns the code; in any other it returns `None`, and namespaces become available.
pub fn contained() -> Option<ExitCode> {
    let mut args = env::args_os().skip(1);
    if args.next().as_deref() != Some(OsStr::new(HOOK)) {
        HOOKED.store(true, Ordering::Relaxed);
        return None;
    }
    keep_descriptors();
    let stage = args.next().unwrap_or_default();
    let done = match stage.to_str() {
        Some("monitor") => monitor(args.collect()),
        Some("init") => init(args.collect()),
        Some("nothing") => Some(0),
        _ => None,
    };
    Some(ExitCode::from(done.unwrap_or(125)))
}

/// Has this program called `contained()`, so that it can be started anew as a stage?
pub(crate) fn is_hooked() -> bool {
    HOOKED.load(Ordering::Relaxed)
}

/// What the namespace needs on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stage {
    /// A user namespace around it: for ordinary users.
    pub user: bool,
    /// A fresh /proc inside.
    pub proc: bool,
}

impl Stage {
    fn word(self) -> &'static str {
        match (self.user, self.proc) {
            (true, true) => "user,proc",
            (true, false) => "user",
            (false, true) => "proc",
            (false, false) => "plain",
        }
    }

    fn from_word(word: &OsStr) -> Self {
        let has = |part| word.to_str().is_some_and(|w| w.split(',').any(|p| p == part));
        Self { user: has("user"), proc: has("proc") }
    }
}

/// Arguments of the monitor, before `argv[0]`, program and its arguments.
pub(crate) fn monitor_args(stage: Stage, walls: Option<&Walls>, id: &str, record: &Path) -> Vec<OsString> {
    let words = walls.map(Walls::words);
    let count = words.as_ref().map_or_else(|| OPEN.to_owned(), |words| words.len().to_string());
    let mut args = vec![HOOK.into(), "monitor".into(), stage.word().into(), count.into()];
    args.extend(words.unwrap_or_default());
    args.extend([id.into(), record.into()]);
    args
}

/// Arguments that try the whole chain on a command that does nothing.
pub(crate) fn probe_args(stage: Stage, walls: Option<&Walls>) -> Vec<OsString> {
    let mut args = monitor_args(stage, walls, "probe", Path::new(""));
    args.extend(["probe", "/proc/self/exe", HOOK, "nothing"].map(OsString::from));
    args
}

/// The command as both stages pass it on.
struct Task {
    id: OsString,
    record: PathBuf,
    arg0: OsString,
    program: OsString,
    args: Vec<OsString>,
}

impl Task {
    fn take(args: &mut impl Iterator<Item = OsString>) -> Option<Self> {
        let (id, record, arg0, program) = (args.next()?, args.next()?, args.next()?, args.next()?);
        Some(Self { id, record: record.into(), arg0, program, args: args.collect() })
    }

    fn exit(&self, how: ExitHow, killed: usize) -> Exit {
        let size = |stat: rustix::io::Result<rustix::fs::Stat>| {
            stat.ok().and_then(|s| u64::try_from(s.st_size).ok()).unwrap_or(0)
        };
        Exit {
            id: self.id.to_string_lossy().into_owned(),
            how,
            cause: Cause::Itself,
            killed,
            left: Vec::new(),
            stdout_bytes: size(fstat(io::stdout())),
            stderr_bytes: size(fstat(io::stderr())),
        }
    }

    /// We failed before the command began: say so in the record, which is all the keeper can see.
    fn not_started(&self, record: Option<fs::File>, doing: &str, error: &io::Error) -> Option<u8> {
        let how = ExitHow::NotStarted(format!("{doing}: {error}"));
        self.note(record, how, 0);
        Some(125)
    }

    /// Into the file that was opened before the walls: its path may lead nowhere by now.
    fn note(&self, record: Option<fs::File>, how: ExitHow, killed: usize) {
        if let (Some(mut file), Ok(bytes)) = (record, serde_json::to_vec(&self.exit(how, killed))) {
            file.write_all(&bytes).ok();
        }
    }
}

/// Makes the namespace, starts its init, waits for it.
fn monitor(args: Vec<OsString>) -> Option<u8> {
    let mut args = args.into_iter();
    let stage = Stage::from_word(&args.next()?);
    let walls = match args.next()?.to_str()? {
        OPEN => None,
        count => {
            let words: Vec<OsString> = args.by_ref().take(count.parse().ok()?).collect();
            Some(Walls::from_words(&words)?)
        }
    };
    let task = Task::take(&mut args)?;
    // Opened now, so that nothing the command does to the directory later leads us elsewhere; and outside the walls.
    let record = record::create_new(&task.record).ok();
    if let Err(e) = make_namespace(stage, walls.is_some()) {
        return task.not_started(record, "making a PID namespace", &e);
    }
    let mut command = Command::new("/proc/self/exe");
    let number = record.as_ref().map_or(-1, AsRawFd::as_raw_fd);
    command.arg0("tribunal-init").args([HOOK, "init", stage.word(), &number.to_string()]);
    command.args([&task.id, task.record.as_os_str(), &task.arg0, &task.program]).args(&task.args);
    settle_before_exec(&mut command, stage, walls, record.as_ref().map(AsRawFd::as_raw_fd));
    match command.spawn().and_then(|mut child| child.wait()) {
        Ok(status) => u8::try_from(status.code().unwrap_or(125)).ok(),
        Err(e) => task.not_started(record, "starting the init of a PID namespace", &e),
    }
}

#[expect(unsafe_code, reason = "unshare is unsafe for flags that are not used here")]
fn make_namespace(stage: Stage, walled: bool) -> io::Result<()> {
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let mut flags = UnshareFlags::NEWPID | UnshareFlags::NEWNS;
    if stage.user {
        flags |= UnshareFlags::NEWUSER;
    }
    if walled {
        flags |= UnshareFlags::NEWIPC;
    }
    // SAFETY: this process has one thread, and none of the flags unshares memory or descriptors.
    unsafe { unshare_unsafe(flags)? };
    if stage.user {
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/uid_map", format!("{uid} {uid} 1"))?;
        fs::write("/proc/self/gid_map", format!("{gid} {gid} 1"))?;
    }
    Ok(())
}

/// First process of the namespace.
fn init(args: Vec<OsString>) -> Option<u8> {
    let mut args = args.into_iter();
    let stage = Stage::from_word(&args.next()?);
    let record = inherited(&args.next()?);
    let task = Task::take(&mut args)?;
    // It has been set before the exec, and again here in case some exec forgets it.
    if let Err(e) = set_parent_process_death_signal(Some(Signal::KILL)) {
        return task.not_started(record, "preparing a PID namespace", &e.into());
    }
    let spawned = Command::new(&task.program).arg0(&task.arg0).args(&task.args).spawn();
    let (how, code) = match spawned {
        Ok(child) => reap_until(i32::try_from(child.id()).ok()?),
        Err(e) => (ExitHow::NotStarted(format!("{}: {e}", task.program.display())), 127),
    };
    let killed = if stage.proc { others_alive() } else { 0 };
    task.note(record, how, killed);
    Some(code)
}

/// The record that the monitor opened; what we start does not get it.
#[expect(unsafe_code, reason = "a descriptor by its number has no safe wrapper")]
fn inherited(number: &OsStr) -> Option<fs::File> {
    let number: i32 = number.to_str()?.parse().ok().filter(|number| *number > 2)?;
    // SAFETY: the monitor left this one descriptor open for us, and nothing else here knows of it.
    let file = unsafe { fs::File::from_raw_fd(number) };
    fcntl_setfd(&file, FdFlags::CLOEXEC).ok().map(|()| file)
}

/// Has the init die with the monitor, lead its own session (so that `kill 0` of the command stays inside) and see
/// its own /proc. Between fork and exec, for an exec takes the rights to mount from an ordinary user.
#[expect(unsafe_code, reason = "mounting must happen after the fork and before the exec")]
fn settle_before_exec(command: &mut Command, stage: Stage, walls: Option<Walls>, keep: Option<i32>) {
    let monitor = own_pid();
    // SAFETY: the monitor has one thread, so nothing that the closure needs can be held by another; the descriptor
    // that is kept is open as long as the monitor waits.
    unsafe {
        command.pre_exec(move || {
            if let Some(keep) = keep {
                fcntl_setfd(BorrowedFd::borrow_raw(keep), FdFlags::empty())?;
            }
            settle(stage, monitor)?;
            walls.as_ref().map_or(Ok(()), |walls| walls.raise(&here()?))
        });
    }
}

fn settle(stage: Stage, monitor: i32) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // The old /proc is still mounted and shows the monitor: if it died before the line above, so do we.
    let now = fs::read_to_string("/proc/self/stat").ok();
    let now = now.and_then(|stat| stat.split(' ').next()?.parse().ok()).and_then(Proc::read);
    if now.is_none_or(|me| me.parent != monitor) {
        return Err(rustix::io::Errno::SRCH.into());
    }
    setsid()?;
    if stage.proc {
        mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
        mount("proc", "/proc", "proc", MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC, None)?;
    }
    Ok(())
}

/// Reaps whoever ends, until the command has.
fn reap_until(command: i32) -> (ExitHow, u8) {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid.as_raw_nonzero().get() == command => return ended(status),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(e) => return (ExitHow::NotStarted(format!("waiting: {e}")), 125),
        }
    }
}

fn ended(status: WaitStatus) -> (ExitHow, u8) {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => (ExitHow::Code(code), u8::try_from(code).unwrap_or(255)),
        (None, signal) => {
            let signal = signal.unwrap_or(0);
            (ExitHow::Signal(signal), u8::try_from(signal.saturating_add(128)).unwrap_or(255))
        }
    }
}

/// Whom the kernel will kill when we end.
fn others_alive() -> usize {
    let snapshot = crate::proc::Snapshot::take();
    snapshot.procs.iter().filter(|p| p.key.pid != 1 && !p.is_dead()).count()
}
