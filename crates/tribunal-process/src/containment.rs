//! How the processes of a launch are held together: by a PID namespace if the kernel permits one, otherwise by
//! subreaper, marker and sweep.
//!
//! This file decides how the command line is wrapped, sandbox arguments included, and nothing else. It never ties the
//! life of a launch to ours: agents outlive a killed orchestrator, and the next one ends or collects them.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{PidfdFlags, pidfd_open};
use tribunal_core::defence::{Defence, stands};

use crate::enforced::{Around, Enforced, PROBE_HIDES};
use crate::files::lock;
use crate::inside::{self, Stage};
use crate::launch::{Launch, detach, find_tool};
use crate::mounts::{Mount, Mounts};
use crate::proc::pid_of;
use crate::record::{EXIT_FILE, Kind};
use crate::seal::{Network, Seal};

/// A probe that takes longer than this counts as not working here.
const PROBE_MAX: Duration = Duration::from_secs(5);

/// What holds a launch's processes together.
///
/// Get one from `detect` and hand it to a `Supervisor`. The choice is part of what a run promises, so `is_partial` and
/// `name` report it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Containment {
    /// A PID namespace: when its first process dies, the kernel kills all of it.
    Namespace(Namespace),
    /// Orphans are reparented to us and found by marker, parent and session. It is partial, because a process can
    /// shed all three.
    Subreaper,
}

/// Who makes the namespace. The field is private, so that only a probed one exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Namespace(Builder);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Builder {
    /// This crate makes it, in a program that calls `contained()`.
    Own { exe: PathBuf, stage: Stage },
    /// Bubblewrap makes it. Some systems permit to bubblewrap what they forbid to other programs.
    Bubblewrap {
        program: PathBuf,
        /// A program that calls `contained()` and is the first process inside. Without one bubblewrap is, which
        /// closes less.
        init: Option<PathBuf>,
        stage: Stage,
    },
}

impl Containment {
    /// The best containment that works on this machine, tried out once per process.
    pub fn detect() -> Self {
        static FOUND: OnceLock<Containment> = OnceLock::new();
        FOUND
            .get_or_init(|| {
                if !stands(Defence::Namespace) {
                    return Self::Subreaper;
                }
                // A program that does not call `contained()` would start itself over and over instead of becoming a
                // monitor.
                let own = inside::is_hooked().then(|| Self::own("/proc/self/exe".as_ref())).flatten();
                let init = inside::is_hooked().then(std::env::current_exe).and_then(Result::ok);
                own.or_else(|| Self::bubblewrap(init.as_deref())).unwrap_or(Self::Subreaper)
            })
            .clone()
    }

    /// A namespace made by `exe`, a program that calls `contained()`; `None` if the kernel forbids it.
    pub fn own(exe: &Path) -> Option<Self> {
        // A fresh /proc matters more than avoiding a user namespace: without it the agent sees process numbers of
        // another namespace.
        let stages = [(false, true), (true, true), (false, false), (true, false)];
        let stage = |(user, proc)| Stage { user, proc, seal: Seal::here(), network: Network::Host };
        stages.into_iter().map(stage).find_map(|stage| {
            let mut command = Command::new(exe);
            command.args(inside::probe_args(stage, None));
            let exe = exe.to_path_buf();
            Enforced::from_code(code_of(command))
                .is_some()
                .then_some(Self::Namespace(Namespace(Builder::Own { exe, stage })))
        })
    }

    /// A namespace made by bubblewrap, with `init` as its first process. `None` if bubblewrap is missing or
    /// forbidden.
    ///
    /// `init` is a program that calls `contained()`. Less is closed without it.
    pub fn bubblewrap(init: Option<&Path>) -> Option<Self> {
        let (program, noop) = (find_tool("bwrap")?, find_tool("true")?);
        let mut command = Command::new(&program);
        command.args(BWRAP_ARGS).arg(noop);
        let stage = Stage { user: false, proc: true, seal: Seal::here(), network: Network::Host };
        let init = init.map(Path::to_path_buf);
        let made = Self::Namespace(Namespace(Builder::Bubblewrap { program, init, stage }));
        (code_of(command) == Some(0)).then_some(made)
    }

    /// Whether launches can be sandboxed here.
    pub fn can_sandbox(&self) -> bool {
        self.enforced().mounts
    }

    /// What is enforced around launches here, tried out with a command that looks around from inside.
    ///
    /// Reports promise only what this finds. Kernel versions and configuration say too little: a container around us
    /// may forbid anything.
    pub fn enforced(&self) -> Enforced {
        // The last answer is kept because it takes a process to get it. It belongs to the containment it was asked
        // of, and tests ask several.
        static LAST: Mutex<Option<(Containment, Enforced)>> = Mutex::new(None);
        let mut last = lock(&LAST);
        if let Some((_, known)) = last.as_ref().filter(|(of, _)| of == self) {
            return *known;
        }
        // If there can be no network namespace, the rest may still hold.
        let tries = [Network::None, Network::Host].into_iter();
        let found = tries.filter_map(|network| self.looked(network)).next().unwrap_or_default();
        *last = Some((self.clone(), found));
        found
    }

    /// What a command that looks around inside reports; none if it cannot be sandboxed.
    fn looked(&self, network: Network) -> Option<Enforced> {
        let mounts = Mounts(vec![Mount::Hide(PROBE_HIDES.into())]);
        match self {
            Self::Subreaper => None,
            Self::Namespace(Namespace(Builder::Own { exe, stage })) => {
                let mut command = Command::new(exe);
                command.args(inside::probe_args(Stage { network, ..*stage }, Some(&mounts)));
                // Without a fresh /proc the sandbox would show every process of the machine: do not call that a
                // sandbox.
                Enforced::from_code(code_of(command)).filter(|_| stage.proc)
            }
            Self::Namespace(Namespace(Builder::Bubblewrap { program, init, stage })) => {
                let mut command = Command::new(program);
                let stage = Stage { network, ..*stage };
                command.args(bubblewrap_args(Some((&mounts, "/".as_ref())), init.as_deref(), stage));
                match init {
                    Some(_) => command
                        .args(inside::init_args(stage, "probe"))
                        .args(inside::look_args(INIT, Around::Sandbox)),
                    None => command.arg(find_tool("true")?),
                };
                let plain = Enforced { mounts: true, callers: true, ..Enforced::default() };
                match (init, code_of(command)) {
                    (Some(_), code) => Enforced::from_code(code),
                    // Nobody looked around. Bubblewrap reported success, so what it was told to do is all that is
                    // claimed.
                    (None, Some(0)) => Some(Enforced { network: network == Network::None, ..plain }),
                    (None, _) => None,
                }
            }
        }
    }

    /// True when a process can escape by shedding marker, parent and session. The run must report it.
    pub fn is_partial(&self) -> bool {
        matches!(self, Self::Subreaper)
    }

    /// One word for reports: `namespace`, `bubblewrap` or `partial`.
    pub fn name(&self) -> &'static str {
        match self.kind() {
            Kind::Namespace => "namespace",
            Kind::Bubblewrap => "bubblewrap",
            Kind::Subreaper => "partial",
        }
    }

    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Namespace(Namespace(Builder::Own { .. })) => Kind::Namespace,
            Self::Namespace(Namespace(Builder::Bubblewrap { .. })) => Kind::Bubblewrap,
            Self::Subreaper => Kind::Subreaper,
        }
    }

    /// Builds the command line that runs `program` contained.
    pub(crate) fn command(&self, program: &Path, launch: &Launch) -> Command {
        let rest = &launch.argv[1..];
        match self {
            Self::Subreaper => {
                let mut command = Command::new(program);
                command.arg0(&launch.argv[0]).args(rest);
                command
            }
            Self::Namespace(Namespace(Builder::Bubblewrap { program: bwrap, init, stage })) => {
                let stage = Stage { network: launch.network, ..*stage };
                let mut command = Command::new(bwrap);
                // Without a sandbox bubblewrap's own init is enough; ours needs the mount that `bubblewrap_args` adds
                // only with one.
                let init = init.as_deref().filter(|_| launch.mounts.is_some());
                let mounts = launch.mounts.as_ref().map(|mounts| (mounts, launch.dir.as_path()));
                command.args(bubblewrap_args(mounts, init, stage));
                if init.is_some() {
                    command.args(inside::init_args(stage, &launch.id)).arg(&launch.argv[0]);
                }
                command.arg(program).args(rest);
                command
            }
            Self::Namespace(Namespace(Builder::Own { exe, stage })) => {
                let mut command = Command::new(exe);
                let record = launch.out_dir.join(EXIT_FILE);
                // The monitor starts in the launch's directory, where a relative path would lead elsewhere.
                let record = std::path::absolute(&record).unwrap_or(record);
                command.arg0("tribunal-contain");
                let stage = Stage { network: launch.network, ..*stage };
                command.args(inside::monitor_args(stage, launch.mounts.as_ref(), &launch.id, &record));
                command.arg(&launch.argv[0]).arg(program).args(rest);
                command
            }
        }
    }

    /// Cuts a launch off from our terminal and our descriptors.
    ///
    /// Our own monitor closes its descriptors itself, and its init makes a session. So nothing has to happen between
    /// fork and exec there, and starting the monitor does not copy our memory.
    pub(crate) fn detach(&self, command: &mut Command) {
        match self {
            Self::Namespace(Namespace(Builder::Own { .. })) => _ = command.process_group(0),
            Self::Namespace(Namespace(Builder::Bubblewrap { .. })) | Self::Subreaper => detach(command),
        }
    }
}

/// The whole file system as it is, a fresh /proc, and a new session, so that `kill 0` stays inside.
const BWRAP_ARGS: [&str; 8] =
    ["--dev-bind", "/", "/", "--proc", "/proc", "--unshare-pid", "--new-session", "--"];

/// Where our program is mounted inside, whatever of the file system is visible there.
const INIT: &str = "/dev/tribunal-init";

/// The arguments of bubblewrap up to the command: sandbox with working directory, network, first process.
fn bubblewrap_args(mounts: Option<(&Mounts, &Path)>, init: Option<&Path>, stage: Stage) -> Vec<OsString> {
    let alone = (stage.network == Network::None).then(|| OsString::from("--unshare-net"));
    let Some((mounts, dir)) = mounts else {
        return alone.into_iter().chain(BWRAP_ARGS.map(OsString::from)).collect();
    };
    let mut args = mounts.bubblewrap(dir, stage.seal);
    args.extend(alone);
    if let Some(init) = init {
        args.extend(["--ro-bind".into(), init.into(), INIT.into(), "--as-pid-1".into()]);
    }
    args.extend(["--unshare-pid", "--new-session", "--"].map(OsString::from));
    args.extend(init.map(|_| OsString::from(INIT)));
    args
}

/// Runs a probe in bounded time and returns its exit code, if it exited by itself.
fn code_of(mut command: Command) -> Option<i32> {
    // The sandbox may cover our working directory.
    command.current_dir("/").env_clear().stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    detach(&mut command);
    // Held until the probe is reaped, so that no supervisor takes it for an orphan and reaps it first.
    let _roots = crate::roots::lock();
    let mut child = command.spawn().ok()?;
    let handle = i32::try_from(child.id()).ok().and_then(pid_of);
    let handle = handle.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
    let ended = handle.is_some_and(|fd| {
        let mut fds = [PollFd::new(&fd, PollFlags::IN)];
        poll(&mut fds, Timespec::try_from(PROBE_MAX).ok().as_ref()).is_ok_and(|ready| ready > 0)
    });
    if !ended {
        let _ = child.kill();
    }
    child.wait().ok().filter(|_| ended)?.code()
}
