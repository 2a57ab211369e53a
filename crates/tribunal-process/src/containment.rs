//! How a launch is held together: a PID namespace where the kernel permits, else subreaper, marker and sweep.
//! It decides how the command line is wrapped and nothing else; sandbox arguments belong here too. It never
//! ties a launch's life to ours: agents outlive a killed orchestrator, and the next one ends or collects them.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{PidfdFlags, pidfd_open};
use tribunal_core::defence::{Defence, stands};

use crate::inside::{self, Stage};
use crate::launch::{Launch, detach, find_tool};
use crate::proc::pid_of;
use crate::record::{EXIT_FILE, Kind};
use crate::walls::{Wall, Walls};

/// A probe that takes longer than this does not work here.
const PROBE_MAX: Duration = Duration::from_secs(5);

/// What holds a launch's processes together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Containment {
    /// A PID namespace: when its first process dies, the kernel kills all of it.
    Namespace(Namespace),
    /// Orphans fall to us and are found by marker, parent, session: partial, for a process can shed them all.
    Subreaper,
}

/// Who makes the namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Namespace(Maker);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Maker {
    /// This crate, in a program that calls `contained()`.
    Own { exe: PathBuf, stage: Stage },
    /// Bubblewrap, which some systems permit what they forbid others.
    Bubblewrap { program: PathBuf },
}

impl Containment {
    /// The best that works on this machine, tried out once per process.
    pub fn detect() -> Self {
        static FOUND: OnceLock<Containment> = OnceLock::new();
        FOUND
            .get_or_init(|| {
                if !stands(Defence::Namespace) {
                    return Self::Subreaper;
                }
                let own = inside::is_hooked().then(|| Self::own("/proc/self/exe".as_ref())).flatten();
                own.or_else(Self::bubblewrap).unwrap_or(Self::Subreaper)
            })
            .clone()
    }

    /// A namespace made by `exe`, a program that calls `contained()`; `None` if the kernel forbids it.
    pub fn own(exe: &Path) -> Option<Self> {
        // A fresh /proc matters more than which user namespace: without it the agent sees foreign numbers.
        let stages = [(false, true), (true, true), (false, false), (true, false)];
        stages.into_iter().map(|(user, proc)| Stage { user, proc }).find_map(|stage| {
            let mut command = Command::new(exe);
            command.args(inside::probe_args(stage, None));
            let exe = exe.to_path_buf();
            works(command).then_some(Self::Namespace(Namespace(Maker::Own { exe, stage })))
        })
    }

    /// A namespace made by bubblewrap; `None` if it is missing or forbidden.
    pub fn bubblewrap() -> Option<Self> {
        let (program, noop) = (find_tool("bwrap")?, find_tool("true")?);
        let mut command = Command::new(&program);
        command.args(BWRAP_ARGS).arg(noop);
        works(command).then_some(Self::Namespace(Namespace(Maker::Bubblewrap { program })))
    }

    /// Whether launches can be walled in here: tried out on a command that does nothing.
    pub fn can_wall(&self) -> bool {
        let walls = Walls(vec![Wall::Hide("/tmp".into())]);
        match self {
            Self::Subreaper => false,
            Self::Namespace(Namespace(Maker::Own { exe, stage })) => {
                let mut command = Command::new(exe);
                command.args(inside::probe_args(*stage, Some(&walls)));
                stage.proc && works(command)
            }
            Self::Namespace(Namespace(Maker::Bubblewrap { program })) => {
                let mut command = Command::new(program);
                command.args(walls.bubblewrap("/".as_ref())).args(BWRAP_PIDS);
                find_tool("true").is_some_and(|noop| {
                    command.arg(noop);
                    works(command)
                })
            }
        }
    }

    /// True when a process can escape by shedding marker, parent and session: the run must say so.
    pub fn is_partial(&self) -> bool {
        matches!(self, Self::Subreaper)
    }

    /// One word for reports.
    pub fn name(&self) -> &'static str {
        match self.kind() {
            Kind::Namespace => "namespace",
            Kind::Bubblewrap => "bubblewrap",
            Kind::Subreaper => "partial",
        }
    }

    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Namespace(Namespace(Maker::Own { .. })) => Kind::Namespace,
            Self::Namespace(Namespace(Maker::Bubblewrap { .. })) => Kind::Bubblewrap,
            Self::Subreaper => Kind::Subreaper,
        }
    }

    /// The command line that runs `program` contained.
    pub(crate) fn command(&self, program: &Path, launch: &Launch) -> Command {
        let rest = &launch.argv[1..];
        match self {
            Self::Subreaper => {
                let mut command = Command::new(program);
                command.arg0(&launch.argv[0]).args(rest);
                command
            }
            Self::Namespace(Namespace(Maker::Bubblewrap { program: bwrap })) => {
                let mut command = Command::new(bwrap);
                match &launch.walls {
                    Some(walls) => command.args(walls.bubblewrap(&launch.dir)).args(BWRAP_PIDS),
                    None => command.args(BWRAP_ARGS),
                };
                command.arg(program).args(rest);
                command
            }
            Self::Namespace(Namespace(Maker::Own { exe, stage })) => {
                let mut command = Command::new(exe);
                let record = launch.out_dir.join(EXIT_FILE);
                let record = std::path::absolute(&record).unwrap_or(record);
                command.arg0("tribunal-contain");
                command.args(inside::monitor_args(*stage, launch.walls.as_ref(), &launch.id, &record));
                command.arg(&launch.argv[0]).arg(program).args(rest);
                command
            }
        }
    }

    /// Cuts a launch off from our terminal and our descriptors. Our own monitor sees to its descriptors itself, and its
    /// init to a session: so nothing is left to do between fork and exec, and starting it does not copy our memory.
    pub(crate) fn detach(&self, command: &mut Command) {
        match self {
            Self::Namespace(Namespace(Maker::Own { .. })) => _ = command.process_group(0),
            Self::Namespace(Namespace(Maker::Bubblewrap { .. })) | Self::Subreaper => detach(command),
        }
    }
}

/// The whole file system as it is, a fresh /proc, and a new session, so that `kill 0` stays inside.
const BWRAP_ARGS: [&str; 8] =
    ["--dev-bind", "/", "/", "--proc", "/proc", "--unshare-pid", "--new-session", "--"];

/// The same where the file system has walls.
const BWRAP_PIDS: [&str; 3] = ["--unshare-pid", "--new-session", "--"];

/// Runs a probe in bounded time: did it end well?
fn works(mut command: Command) -> bool {
    // Walls may cover the folder we stand in.
    command.current_dir("/").env_clear().stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    detach(&mut command);
    let _roots = crate::roots::lock();
    let Ok(mut child) = command.spawn() else { return false };
    let handle = i32::try_from(child.id()).ok().and_then(pid_of);
    let handle = handle.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
    let ended = handle.is_some_and(|fd| {
        let mut fds = [PollFd::new(&fd, PollFlags::IN)];
        poll(&mut fds, Timespec::try_from(PROBE_MAX).ok().as_ref()).is_ok_and(|ready| ready > 0)
    });
    if !ended {
        let _ = child.kill();
    }
    child.wait().is_ok_and(|status| ended && status.success())
}
