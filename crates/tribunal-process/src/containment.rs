//! How a launch is held together: a PID namespace where the kernel permits, else subreaper, marker and sweep.
//! It decides how the command line is wrapped and nothing else; sandbox arguments belong here too. It never
//! ties a launch's life to ours: agents outlive a killed orchestrator, and the next one ends or collects them.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{PidfdFlags, pidfd_open};
use tribunal_core::defence::{Defence, stands};

use crate::enforced::{Around, Enforced, PROBE_HIDES};
use crate::inside::{self, Stage};
use crate::launch::{Launch, detach, find_tool};
use crate::proc::pid_of;
use crate::record::{EXIT_FILE, Kind};
use crate::seal::{Network, Seal};
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
    Bubblewrap {
        program: PathBuf,
        /// A program that calls `contained()` and stands inside as the first process; none leaves that to bubblewrap,
        /// which closes less.
        init: Option<PathBuf>,
        stage: Stage,
    },
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
                let init = inside::is_hooked().then(std::env::current_exe).and_then(Result::ok);
                own.or_else(|| Self::bubblewrap(init.as_deref())).unwrap_or(Self::Subreaper)
            })
            .clone()
    }

    /// A namespace made by `exe`, a program that calls `contained()`; `None` if the kernel forbids it.
    pub fn own(exe: &Path) -> Option<Self> {
        // A fresh /proc matters more than which user namespace: without it the agent sees foreign numbers.
        let stages = [(false, true), (true, true), (false, false), (true, false)];
        let stage = |(user, proc)| Stage { user, proc, seal: Seal::here(), network: Network::Host };
        stages.into_iter().map(stage).find_map(|stage| {
            let mut command = Command::new(exe);
            command.args(inside::probe_args(stage, None));
            let exe = exe.to_path_buf();
            Enforced::from_code(code_of(command))
                .is_some()
                .then_some(Self::Namespace(Namespace(Maker::Own { exe, stage })))
        })
    }

    /// A namespace made by bubblewrap, with `init` as its first process: a program that calls `contained()`, without
    /// which less is closed. `None` if bubblewrap is missing or forbidden.
    pub fn bubblewrap(init: Option<&Path>) -> Option<Self> {
        let (program, noop) = (find_tool("bwrap")?, find_tool("true")?);
        let mut command = Command::new(&program);
        command.args(BWRAP_ARGS).arg(noop);
        let stage = Stage { user: false, proc: true, seal: Seal::here(), network: Network::Host };
        let init = init.map(Path::to_path_buf);
        let made = Self::Namespace(Namespace(Maker::Bubblewrap { program, init, stage }));
        (code_of(command) == Some(0)).then_some(made)
    }

    /// Whether launches can be walled in here.
    pub fn can_wall(&self) -> bool {
        self.enforced().walls
    }

    /// What is enforced around launches here: tried out on a command that looks around from inside.
    pub fn enforced(&self) -> Enforced {
        static LAST: Mutex<Option<(Containment, Enforced)>> = Mutex::new(None);
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = last.as_ref().filter(|(of, _)| of == self) {
            return *known;
        }
        // Where there can be no network namespace, the rest may still be had.
        let tries = [Network::None, Network::Host].into_iter();
        let found = tries.filter_map(|network| self.looked(network)).next().unwrap_or_default();
        *last = Some((self.clone(), found));
        found
    }

    /// What a command that looks around inside sees; none if it cannot be walled in.
    fn looked(&self, network: Network) -> Option<Enforced> {
        let walls = Walls(vec![Wall::Hide(PROBE_HIDES.into())]);
        match self {
            Self::Subreaper => None,
            Self::Namespace(Namespace(Maker::Own { exe, stage })) => {
                let mut command = Command::new(exe);
                command.args(inside::probe_args(Stage { network, ..*stage }, Some(&walls)));
                Enforced::from_code(code_of(command)).filter(|_| stage.proc)
            }
            Self::Namespace(Namespace(Maker::Bubblewrap { program, init, stage })) => {
                let mut command = Command::new(program);
                let stage = Stage { network, ..*stage };
                command.args(bubblewrap_args(Some((&walls, "/".as_ref())), init.as_deref(), stage));
                match init {
                    Some(_) => command
                        .args(inside::init_args(stage, "probe"))
                        .args(inside::look_args(INIT, Around::Walls)),
                    None => command.arg(find_tool("true")?),
                };
                let plain = Enforced { walls: true, callers: true, ..Enforced::default() };
                match (init, code_of(command)) {
                    (Some(_), code) => Enforced::from_code(code),
                    // Nobody looked; bubblewrap did what it was told.
                    (None, Some(0)) => Some(Enforced { network: network == Network::None, ..plain }),
                    (None, _) => None,
                }
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
            Self::Namespace(Namespace(Maker::Bubblewrap { program: bwrap, init, stage })) => {
                let stage = Stage { network: launch.network, ..*stage };
                let mut command = Command::new(bwrap);
                let init = init.as_deref().filter(|_| launch.walls.is_some());
                let walls = launch.walls.as_ref().map(|walls| (walls, launch.dir.as_path()));
                command.args(bubblewrap_args(walls, init, stage));
                if init.is_some() {
                    command.args(inside::init_args(stage, &launch.id)).arg(&launch.argv[0]);
                }
                command.arg(program).args(rest);
                command
            }
            Self::Namespace(Namespace(Maker::Own { exe, stage })) => {
                let mut command = Command::new(exe);
                let record = launch.out_dir.join(EXIT_FILE);
                let record = std::path::absolute(&record).unwrap_or(record);
                command.arg0("tribunal-contain");
                let stage = Stage { network: launch.network, ..*stage };
                command.args(inside::monitor_args(stage, launch.walls.as_ref(), &launch.id, &record));
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

/// Where our program stands inside, whatever of the file system is shown.
const INIT: &str = "/dev/tribunal-init";

/// What bubblewrap is told, up to the command: walls with the folder to work in, and who is the first process.
fn bubblewrap_args(walls: Option<(&Walls, &Path)>, init: Option<&Path>, stage: Stage) -> Vec<OsString> {
    let alone = (stage.network == Network::None).then(|| OsString::from("--unshare-net"));
    let Some((walls, dir)) = walls else {
        return alone.into_iter().chain(BWRAP_ARGS.map(OsString::from)).collect();
    };
    let mut args = walls.bubblewrap(dir, stage.seal);
    args.extend(alone);
    if let Some(init) = init {
        args.extend(["--ro-bind".into(), init.into(), INIT.into(), "--as-pid-1".into()]);
    }
    args.extend(["--unshare-pid", "--new-session", "--"].map(OsString::from));
    args.extend(init.map(|_| OsString::from(INIT)));
    args
}

/// Runs a probe in bounded time: the code it ended with by itself.
fn code_of(mut command: Command) -> Option<i32> {
    // Walls may cover the folder we stand in.
    command.current_dir("/").env_clear().stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    detach(&mut command);
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
