//! The two small processes around a contained command. Both are this program, started anew.
//!
//! The monitor makes the namespace. The init is its first process: it starts the command, reaps orphans, writes
//! `exit.json` and, by ending, has the kernel kill whatever is left. If the monitor dies, the init dies. Neither
//! reads the command's output, and neither outlives its task.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::fstat;
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, pidfd_open, set_parent_process_death_signal, setsid,
    wait, waitpid,
};
use rustix::thread::{UnshareFlags, unshare_unsafe};

use crate::enforced::{Around, look};
use crate::launch::keep_descriptors;
use crate::mounts::{Mounts, here};
use crate::proc::{Proc, own_pid, pid_of};
use crate::record::{self, Cause, Exit, ExitHow};
use crate::seal::{self, Network, Seal};

/// The first argument that makes this program a stage of a launch.
const HOOK: &str = "--tribunal-contain";
/// Stands in place of the number of sandbox words when there is no sandbox.
const OPEN: &str = "open";
/// The stage that looks around where there must be a sandbox.
const SANDBOXED: &str = "look-walled";
/// Whether this program has called `contained()`, see `is_hooked`.
static HOOKED: AtomicBool = AtomicBool::new(false);

/// Call this first thing in `main`.
///
/// In a process that is a stage of a contained launch it does the whole work of that stage, and `main` returns the
/// code. In any other process it returns `None`, and namespaces become available. It must come before any thread is
/// started: making a namespace needs a process with one thread.
pub fn contained() -> Option<ExitCode> {
    let mut args = env::args_os().skip(1);
    if args.next().as_deref() != Some(OsStr::new(HOOK)) {
        HOOKED.store(true, Ordering::Relaxed);
        return None;
    }
    // The orchestrator starts us without closing anything, which keeps its own fork cheap; see `Containment::detach`.
    keep_descriptors();
    let stage = args.next().unwrap_or_default();
    let done = match stage.to_str() {
        Some("monitor") => monitor(args.collect()),
        Some("init") => init(args.collect()),
        Some("look") => Some(look(Around::Namespace)),
        Some(SANDBOXED) => Some(look(Around::Sandbox)),
        _ => None,
    };
    Some(ExitCode::from(done.unwrap_or(125)))
}

/// Whether this program has called `contained()`, so that it can be started anew as a stage.
pub(crate) fn is_hooked() -> bool {
    HOOKED.load(Ordering::Relaxed)
}

/// What the namespace needs on this machine, and what is closed in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Stage {
    /// Make a user namespace around it, as ordinary users need.
    pub user: bool,
    /// Mount a fresh /proc inside.
    pub proc: bool,
    /// What is closed besides files, if there is a sandbox.
    pub seal: Seal,
    /// What the launch can reach by the network.
    pub network: Network,
}

impl Stage {
    fn word(self) -> String {
        let alone = self.network == Network::None;
        let parts = [
            (self.user, "user"),
            (self.proc, "proc"),
            (alone, "alone"),
            (self.seal.kernel_files, "kernel"),
            (self.seal.init, "init"),
            (self.seal.scope, "scope"),
            (self.seal.calls, "calls"),
        ];
        let words: Vec<&str> = parts.into_iter().filter(|(given, _)| *given).map(|(_, word)| word).collect();
        words.join(",")
    }

    fn from_word(word: &OsStr) -> Self {
        let has = |part| word.to_str().is_some_and(|w| w.split(',').any(|p| p == part));
        let network = if has("alone") { Network::None } else { Network::Host };
        let seal =
            Seal { kernel_files: has("kernel"), init: has("init"), scope: has("scope"), calls: has("calls") };
        Self { user: has("user"), proc: has("proc"), seal, network }
    }

    /// What remains of the stage when only processes are contained.
    ///
    /// The init stays protected even so: without that, a tracer inside could delay the end of the launch.
    pub fn without_sandbox(self) -> Self {
        Self { seal: Seal { init: self.seal.init, ..Seal::default() }, ..self }
    }
}

/// Arguments of the monitor, before `argv[0]`, the program and its arguments.
pub(crate) fn monitor_args(stage: Stage, mounts: Option<&Mounts>, id: &str, record: &Path) -> Vec<OsString> {
    let words = mounts.map(Mounts::words);
    let stage = if mounts.is_some() { stage } else { stage.without_sandbox() };
    let count = words.as_ref().map_or_else(|| OPEN.to_owned(), |words| words.len().to_string());
    let mut args = vec![HOOK.into(), "monitor".into(), stage.word().into(), count.into()];
    args.extend(words.unwrap_or_default());
    args.extend([id.into(), record.into()]);
    args
}

/// Arguments of an init in a namespace that another program made, before `argv[0]`, the program and its arguments.
pub(crate) fn init_args(stage: Stage, id: &str) -> Vec<OsString> {
    let stage = Stage { user: false, proc: true, ..stage };
    vec![HOOK.into(), "init".into(), stage.word().into(), "-1".into(), id.into(), OsString::new()]
}

/// `argv[0]`, program and arguments of a command that looks at what is closed to it and reports it by its exit code.
pub(crate) fn look_args(exe: &str, around: Around) -> [OsString; 4] {
    let stage = match around {
        Around::Namespace => "look",
        Around::Sandbox => SANDBOXED,
    };
    ["probe", exe, HOOK, stage].map(OsString::from)
}

/// Arguments that try the whole chain on a command that only looks around.
pub(crate) fn probe_args(stage: Stage, mounts: Option<&Mounts>) -> Vec<OsString> {
    let mut args = monitor_args(stage, mounts, "probe", Path::new(""));
    let around = if mounts.is_some() { Around::Sandbox } else { Around::Namespace };
    args.extend(look_args("/proc/self/exe", around));
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

    /// Records that we failed before the command began. The record is all that the supervisor can see of it.
    fn not_started(&self, record: Option<fs::File>, doing: &str, error: &io::Error) -> Option<u8> {
        let how = ExitHow::NotStarted(format!("{doing}: {error}"));
        self.note(record, how, 0);
        // The code that `env` and `timeout` use for a failure of their own.
        Some(125)
    }

    /// Writes the record into the file that was opened before the sandbox: its path may lead nowhere by now.
    fn note(&self, record: Option<fs::File>, how: ExitHow, killed: usize) {
        if let (Some(mut file), Ok(bytes)) = (record, serde_json::to_vec(&self.exit(how, killed))) {
            file.write_all(&bytes).ok();
        }
    }
}

/// Makes the namespace, starts its init and waits for it.
fn monitor(args: Vec<OsString>) -> Option<u8> {
    let mut args = args.into_iter();
    let stage = Stage::from_word(&args.next()?);
    let mounts = match args.next()?.to_str()? {
        OPEN => None,
        count => {
            let words: Vec<OsString> = args.by_ref().take(count.parse().ok()?).collect();
            Some(Mounts::from_words(&words)?)
        }
    };
    let task = Task::take(&mut args)?;
    // Opened now, outside the sandbox, so that nothing the command does to the directory later can lead us elsewhere.
    let record = record::create_new(&task.record).ok();
    if let Err(e) = make_namespace(stage, mounts.is_some()) {
        return task.not_started(record, "making a PID namespace", &e);
    }
    let mut command = Command::new("/proc/self/exe");
    let number = record.as_ref().map_or(-1, AsRawFd::as_raw_fd);
    command.arg0("tribunal-init").args([HOOK, "init", &stage.word(), &number.to_string()]);
    command.args([&task.id, task.record.as_os_str(), &task.arg0, &task.program]).args(&task.args);
    settle_before_exec(&mut command, stage, mounts, record.as_ref().map(AsRawFd::as_raw_fd));
    match command.spawn().and_then(|mut child| child.wait()) {
        Ok(status) => u8::try_from(status.code().unwrap_or(125)).ok(),
        Err(e) => task.not_started(record, "starting the init of a PID namespace", &e),
    }
}

/// Moves this process into new namespaces. Its children will be in the PID namespace; it stays outside itself.
#[expect(unsafe_code, reason = "unshare is unsafe for flags that are not used here")]
fn make_namespace(stage: Stage, sandboxed: bool) -> io::Result<()> {
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let mut flags = UnshareFlags::NEWPID | UnshareFlags::NEWNS;
    if stage.user {
        flags |= UnshareFlags::NEWUSER;
    }
    if sandboxed {
        // System V memory and queues have no path, so mounts do not hide them.
        flags |= UnshareFlags::NEWIPC;
    }
    if stage.network == Network::None {
        flags |= UnshareFlags::NEWNET;
    }
    // SAFETY: this process has one thread, and none of the flags unshares memory or descriptors.
    unsafe { unshare_unsafe(flags)? };
    if stage.user {
        // The kernel takes a group map from an ordinary user only after this.
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/uid_map", format!("{uid} {uid} 1"))?;
        fs::write("/proc/self/gid_map", format!("{gid} {gid} 1"))?;
    }
    if stage.network == Network::None { seal::raise_loopback() } else { Ok(()) }
}

/// Runs as the first process of the namespace: starts the command and reaps until it has ended.
fn init(args: Vec<OsString>) -> Option<u8> {
    let mut args = args.into_iter();
    let stage = Stage::from_word(&args.next()?);
    let record = inherited(&args.next()?);
    let task = Task::take(&mut args)?;
    // It was set before the exec already; it is set again because some execs clear it.
    if let Err(e) = set_parent_process_death_signal(Some(Signal::KILL)) {
        return task.not_started(record, "preparing a PID namespace", &e.into());
    }
    // Before the command starts, so there is never anybody inside who could look.
    if let Err(e) = if stage.seal.init { seal::hide_self() } else { Ok(()) } {
        return task.not_started(record, "hiding the first process", &e);
    }
    let mut command = Command::new(&task.program);
    command.arg0(&task.arg0).args(&task.args);
    close_before_exec(&mut command, stage.seal);
    let (how, code) = match command.spawn() {
        Ok(child) => reap_until(&child, stage.seal),
        Err(e) => (ExitHow::NotStarted(format!("{}: {e}", task.program.display())), 127),
    };
    // Counted before we end: afterwards the kernel has killed them, and nobody can tell how many there were.
    let killed = if stage.proc { others_alive() } else { 0 };
    task.note(record, how, killed);
    Some(code)
}

/// Closes things to the command but not to the init around it, which so stays out of the command's reach.
#[expect(unsafe_code, reason = "it must happen after the fork and before the exec")]
fn close_before_exec(command: &mut Command, seal: Seal) {
    if seal.scope || seal.calls {
        // SAFETY: the init has one thread, so nothing that the closure needs can be held by another.
        unsafe {
            command.pre_exec(move || seal.close());
        }
    }
}

/// The record that the monitor opened. The processes we start do not inherit it.
#[expect(unsafe_code, reason = "a descriptor by its number has no safe wrapper")]
fn inherited(number: &OsStr) -> Option<fs::File> {
    let number: i32 = number.to_str()?.parse().ok().filter(|number| *number > 2)?;
    // SAFETY: the monitor left this one descriptor open for us, and nothing else here knows of it.
    let file = unsafe { fs::File::from_raw_fd(number) };
    fcntl_setfd(&file, FdFlags::CLOEXEC).ok().map(|()| file)
}

/// Makes the init die with the monitor, lead its own session (so that `kill 0` of the command stays inside) and see
/// its own /proc.
///
/// This happens between fork and exec, because an exec takes the right to mount from an ordinary user.
#[expect(unsafe_code, reason = "mounting must happen after the fork and before the exec")]
fn settle_before_exec(command: &mut Command, stage: Stage, mounts: Option<Mounts>, keep: Option<i32>) {
    let monitor = own_pid();
    // SAFETY: the monitor has one thread, so nothing that the closure needs can be held by another; the descriptor
    // that is kept is open as long as the monitor waits.
    unsafe {
        command.pre_exec(move || {
            if let Some(keep) = keep {
                fcntl_setfd(BorrowedFd::borrow_raw(keep), FdFlags::empty())?;
            }
            settle(stage, monitor)?;
            mounts.as_ref().map_or(Ok(()), |mounts| mounts.raise(&here()?, stage.seal))
        });
    }
}

fn settle(stage: Stage, monitor: i32) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // The old /proc is still mounted and shows the monitor. If the monitor died before the line above, no signal will
    // come, so we end here.
    let now = fs::read_to_string("/proc/self/stat").ok();
    let now = now.and_then(|stat| stat.split(' ').next()?.parse().ok()).and_then(Proc::read);
    if now.is_none_or(|me| me.parent != monitor) {
        return Err(Errno::SRCH.into());
    }
    setsid()?;
    if stage.proc {
        // First: otherwise the new /proc would also appear in the namespace of the user, whose mounts are usually
        // shared.
        mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
        mount("proc", "/proc", "proc", MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC, None)?;
    }
    Ok(())
}

/// Reaps every child that ends, until the command has.
///
/// A command that another process of the launch traces is dead before its parent can reap it, and stays so for as
/// long as its tracer likes. The handle of the command reports its death anyway, and the tracer is ended with all
/// others.
fn reap_until(child: &Child, seal: Seal) -> (ExitHow, u8) {
    let lost = |e: Errno| (ExitHow::NotStarted(format!("waiting: {e}")), 125);
    let Some(command) = i32::try_from(child.id()).ok().and_then(pid_of) else { return lost(Errno::SRCH) };
    let handles = pidfd_open(command, PidfdFlags::empty()).ok().zip(children_wakeup().ok());
    let handles = handles.filter(|_| seal.init);
    loop {
        // Without handles there is nothing to do but wait.
        let options = if handles.is_some() { WaitOptions::NOHANG } else { WaitOptions::empty() };
        match wait(options) {
            Ok(Some((pid, status))) if pid == command => return ended(status),
            Ok(Some(_)) | Err(Errno::INTR) => continue,
            Ok(None) => {}
            Err(e) => return lost(e),
        }
        let Some((handle, wakeup)) = &handles else { continue };
        let mut fds = [PollFd::new(handle, PollFlags::IN), PollFd::new(wakeup, PollFlags::IN)];
        let _ = poll(&mut fds, None);
        let is_dead = !fds[0].revents().is_empty();
        // One signal record at a time is enough: `wait` above asks for everybody who ended.
        let _ = rustix::io::read(wakeup, &mut [0_u8; size_of::<libc::signalfd_siginfo>()]);
        if is_dead {
            return end_of_dead(command);
        }
    }
}

/// How a dead command ended: as its parent is told, or once the tracer that keeps it from us is gone.
fn end_of_dead(command: Pid) -> (ExitHow, u8) {
    let lost = |e: Errno| (ExitHow::NotStarted(format!("waiting: {e}")), 125);
    match waitpid(Some(command), WaitOptions::NOHANG) {
        Ok(Some((_, status))) => return ended(status),
        Ok(None) => {}
        Err(e) => return lost(e),
    }
    loop {
        // Everybody in the namespace but us: the tracer could be any of them. Repeated, because they may fork
        // meanwhile.
        let _ = kill_all();
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == command => return ended(status),
            Ok(_) | Err(Errno::INTR) => {}
            Err(e) => return lost(e),
        }
    }
}

#[expect(unsafe_code, reason = "signalling everybody has no safe wrapper")]
fn kill_all() -> io::Result<()> {
    // SAFETY: numbers in, a number out; the first process of a namespace reaches nobody outside.
    let done = if own_pid() == 1 { unsafe { libc::kill(-1, libc::SIGKILL) } } else { 0 };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// A descriptor that becomes readable whenever a child has ended.
///
/// It is made after the command was started, because the blocked signal would be inherited.
#[expect(unsafe_code, reason = "signal descriptors have no safe wrapper")]
fn children_wakeup() -> io::Result<OwnedFd> {
    // SAFETY: an empty set is made of the zeroes, then the calls fill and read it; the descriptor is new and ours.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        if libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) != 0 {
            return Err(io::Error::last_os_error());
        }
        match libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) {
            fd if fd >= 0 => Ok(OwnedFd::from_raw_fd(fd)),
            _ => Err(io::Error::last_os_error()),
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

/// How many processes the kernel will kill when we end.
fn others_alive() -> usize {
    let snapshot = crate::proc::Snapshot::take();
    snapshot.procs.iter().filter(|p| p.key.pid != 1 && !p.is_dead()).count()
}
