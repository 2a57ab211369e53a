//! What to run, and the one place where a process is started: an environment from nothing, a session of its own, no
//! file descriptor but 0, 1 and 2.
//!
//! It never runs a shell and never follows a symlink to an output file. The record on disk comes before the process,
//! so a crash at any line leaves something that the next orchestrator can find.

use std::collections::BTreeSet;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Seek};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::fs::{
    Access, CWD, MemfdFlags, Mode, OFlags, SealFlags, access, fcntl_add_seals, fcntl_setfl, memfd_create,
    openat,
};
use rustix::io::Errno;
use tribunal_core::defence::{Defence, stands};

use crate::error::ProcessError;
use crate::proc::{self, Key};
use crate::record::{self, EXIT_FILE, PROCESS_FILE, Running};
use crate::{Containment, MARKER, Mounts, Network, roots};

/// Where programs are looked for when the launch sets no PATH.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// What to run. The environment is built from nothing: only what is listed here is set.
///
/// So nothing of the user's environment, tokens above all, reaches a command by accident.
#[derive(Debug)]
pub struct Launch {
    /// Names the launch within its run.
    pub id: String,
    /// Names the run, unique on this machine for ever. A process that carries `TRIBUNAL_MARKER=<run_marker>/<id>`
    /// belongs to the launch and dies with it.
    pub run_marker: String,
    /// Program and arguments. A program with a slash is taken from `dir`; one without is looked for in the PATH of
    /// `env`.
    pub argv: Vec<OsString>,
    /// The whole environment, except for the marker.
    pub env: Vec<(OsString, OsString)>,
    /// The working directory of the command.
    pub dir: PathBuf,
    /// What the command reads as standard input.
    pub stdin: Stdin,
    /// Where `stdout`, `stderr`, `process.json` and `exit.json` go; created if missing.
    pub out_dir: PathBuf,
    /// Bytes of output allowed, standard output and error together. Beyond them the tree is stopped.
    pub output_max: u64,
    /// What the launch sees of the file system; everything as it is if `None`. A containment that cannot sandbox
    /// refuses to start it.
    pub mounts: Option<Mounts>,
    /// What the launch can reach by the network. A containment that cannot close the network refuses a launch that
    /// asks for none.
    pub network: Network,
}

/// What a command reads as standard input.
#[derive(Debug)]
pub enum Stdin {
    /// Nothing: it reads the end of file at once.
    Null,
    /// A copy of a file, for instance the prompt.
    File(PathBuf),
    /// An open descriptor, for instance a pipe that stays open.
    Given(OwnedFd),
}

/// A launch that has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Started {
    /// The root of its process tree, as this program numbers it.
    pub pid: i32,
    /// The start time of the root: number and start time together name one process for ever.
    pub start_time: u64,
}

/// A live root, and what its supervisor needs of it.
pub(crate) struct Born {
    pub root: Key,
    pub pidfd: OwnedFd,
    pub marker: String,
    pub stdout: File,
    pub stderr: File,
}

impl Launch {
    /// Starts the launch. Nothing is left running when this fails.
    pub(crate) fn start(self, containment: &Containment) -> Result<Born, ProcessError> {
        self.check()?;
        if self.mounts.is_some() && matches!(containment, Containment::Subreaper) {
            return Err(ProcessError::NoSandbox { id: self.id.clone() });
        }
        if self.network == Network::None && matches!(containment, Containment::Subreaper) {
            return Err(ProcessError::NoNetworkSandbox { id: self.id.clone() });
        }
        // Looked up before anything exists, so that a misspelled program is an error of its own and not a failed
        // launch.
        let program = find_program(&self.argv[0], &self.dir, &self.env)?;
        fs::create_dir_all(&self.out_dir).map_err(ProcessError::io("making", &self.out_dir))?;
        let stdout = open_output(&self.out_dir.join("stdout"))?;
        let stderr = open_output(&self.out_dir.join("stderr"))?;
        let marker = format!("{}/{}", self.run_marker, self.id);
        let running = self.announce(containment, &marker)?;

        let mut command = containment.command(&program, &self);
        command.env_clear().envs(self.env.iter().map(|(k, v)| (k, v))).env(MARKER, &marker);
        command.current_dir(&self.dir);
        command.stdin(open_input(self.stdin)?);
        command.stdout(clone(&stdout, &self.out_dir)?).stderr(clone(&stderr, &self.out_dir)?);
        containment.detach(&mut command);
        let (root, pidfd) = bear(&mut command, &program)?;
        let born = Born { root, pidfd, marker, stdout, stderr };
        let running = Running { pid: Some(root.pid), start_time: Some(root.start), ..running };
        let path = self.out_dir.join(PROCESS_FILE);
        if let Err(source) = record::write(&path, &running) {
            // Without its full record only the marker would find this process after a crash.
            born.abandon();
            return Err(ProcessError::Io { doing: "writing", path, source });
        }
        Ok(born)
    }

    fn check(&self) -> Result<(), ProcessError> {
        let bad = |what| Err(ProcessError::BadLaunch { id: self.id.clone(), what });
        // Checked here because the system calls would cut the text at the NUL, or fail with an error that names
        // nothing.
        let nul = |text: &OsStr| text.as_bytes().contains(&0);
        let strange = |name: &OsStr| name.is_empty() || nul(name) || name.as_bytes().contains(&b'=');
        if self.argv.first().is_none_or(|program| program.is_empty()) {
            return bad("no program given");
        }
        if self.id.is_empty() || self.run_marker.is_empty() {
            return bad("id and run marker must not be empty");
        }
        if nul(self.id.as_ref()) || nul(self.run_marker.as_ref()) || self.argv.iter().any(|a| nul(a)) {
            return bad("NUL byte in an argument or name");
        }
        if self.env.iter().any(|(name, value)| strange(name) || nul(value)) {
            return bad("environment name or value that no process can have");
        }
        if !self.dir.is_dir() {
            return Err(ProcessError::NoDirectory { dir: self.dir.clone() });
        }
        Ok(())
    }

    /// Records what is about to be started. If we die between the start and the full record, the marker still finds
    /// the process.
    fn announce(&self, containment: &Containment, marker: &str) -> Result<Running, ProcessError> {
        // The exit of an earlier launch with this directory must not be read as the end of this one.
        let old = self.out_dir.join(EXIT_FILE);
        match fs::remove_file(&old) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                return Err(ProcessError::io("removing", &old)(e));
            }
            _ => {}
        }
        let running = Running {
            id: self.id.clone(),
            pid: None,
            start_time: None,
            boot_id: proc::boot_id(),
            marker: marker.to_owned(),
            containment: containment.kind(),
        };
        let path = self.out_dir.join(PROCESS_FILE);
        record::write(&path, &running).map_err(ProcessError::io("writing", &path))?;
        Ok(running)
    }
}

impl Born {
    /// Ends and reaps a launch that no supervisor will look after.
    pub fn abandon(self) {
        let target = crate::tree::Target::Launch {
            root: Some(self.root),
            marker: self.marker.clone(),
            wrapped: false,
        };
        crate::tree::end(&target);
        self.reap();
    }

    /// Takes the dead root out of the process table and returns how it ended.
    pub fn reap(&self) -> Option<rustix::process::WaitIdStatus> {
        use rustix::process::{WaitId, WaitIdOptions, waitid};
        // Reaping and removing are one step: in between, the number could be given to a new root, which would then be
        // forgotten.
        let mut roots = roots::lock();
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        let status = waitid(WaitId::PidFd(std::os::fd::AsFd::as_fd(&self.pidfd)), options).ok().flatten();
        roots.remove(&self.root.pid);
        status
    }
}

/// Forks and registers the root as one step, so that nobody takes it for an orphan.
fn bear(command: &mut Command, program: &Path) -> Result<(Key, OwnedFd), ProcessError> {
    let mut roots = roots::lock();
    let child = command.spawn().map_err(ProcessError::io("starting", program))?;
    let pid = i32::try_from(child.id()).unwrap_or_default();
    roots.insert(pid);
    let handle = proc::pid_of(pid)
        .ok_or(rustix::io::Errno::SRCH)
        .and_then(|p| rustix::process::pidfd_open(p, rustix::process::PidfdFlags::empty()));
    match (handle, proc::start_time(pid)) {
        // Nobody has waited for the child, so even a dead one keeps its number until here.
        (Ok(pidfd), Some(start)) => Ok((Key { pid, start }, pidfd)),
        (handle, _) => {
            give_up(child, &mut roots);
            let source =
                handle.err().map_or_else(|| io::Error::other("/proc is not readable"), io::Error::from);
            Err(ProcessError::Io { doing: "taking a handle of", path: program.into(), source })
        }
    }
}

fn give_up(mut child: std::process::Child, roots: &mut BTreeSet<i32>) {
    let _ = child.kill();
    let _ = child.wait();
    roots.remove(&i32::try_from(child.id()).unwrap_or_default());
}

/// Gives the command a session of its own, so that neither Ctrl-C nor /dev/tty connects it with our terminal, and
/// closes every descriptor beyond 0, 1, 2 at exec.
#[expect(unsafe_code, reason = "std has no stable way to call setsid and close_range in the child")]
pub(crate) fn detach(command: &mut Command) {
    // SAFETY: between fork and exec the closure only makes system calls; it does not allocate or lock.
    unsafe {
        command.pre_exec(|| {
            rustix::process::setsid()?;
            keep_descriptors();
            Ok(())
        });
    }
}

/// Closes every descriptor beyond 0, 1, 2 at the next exec, even those that were opened without close-on-exec.
///
/// It only makes system calls, because it is called between fork and exec.
#[expect(unsafe_code, reason = "close_range has no safe wrapper")]
pub(crate) fn keep_descriptors() {
    let (first, last, flags) = (3_u32, u32::MAX, libc::CLOSE_RANGE_CLOEXEC);
    // SAFETY: numbers in, a number out; no descriptor is closed under anyone who still uses it.
    unsafe {
        if libc::syscall(libc::SYS_close_range, first, last, flags) != 0 {
            // Before Linux 5.11. Descriptors are handed out from the lowest free number, so this reaches all of a
            // usual table.
            (3..4096).for_each(|fd| _ = libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC));
        }
    }
}

/// Opens an output file to append, refusing everything but a regular file.
fn open_output(path: &Path) -> Result<File, ProcessError> {
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // NONBLOCK only for the opening: a FIFO planted there must not hang us, and is refused.
    let file = openat(CWD, path, flags | OFlags::NONBLOCK, Mode::from_raw_mode(0o600))
        .map(File::from)
        .map_err(ProcessError::io("opening", path))?;
    let is_file = file.metadata().map_err(ProcessError::io("reading", path))?.is_file();
    if !is_file {
        return Err(ProcessError::io("opening", path)(io::Error::other("not a regular file")));
    }
    fcntl_setfl(&file, OFlags::APPEND).map_err(ProcessError::io("opening", path))?;
    Ok(file)
}

fn open_input(stdin: Stdin) -> Result<Stdio, ProcessError> {
    match stdin {
        Stdin::Null if !stands(Defence::ClosedInput) => {
            let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
                .map_err(ProcessError::io("making", Path::new("a pipe")))?;
            // The end that this defence omits: the pipe stays open and nobody ever writes to it.
            std::mem::forget(write);
            Ok(read.into())
        }
        Stdin::Null => Ok(Stdio::null()),
        Stdin::Given(fd) => Ok(fd.into()),
        Stdin::File(path) => {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let fd = openat(CWD, &path, flags, Mode::empty()).map_err(ProcessError::io("opening", &path))?;
            if !stands(Defence::SealedInput) {
                return Ok(fd.into());
            }
            sealed_copy(File::from(fd)).map(Stdio::from).map_err(ProcessError::io("copying", &path))
        }
    }
}

/// A copy of a file in memory that nobody can change.
///
/// A process may open its standard input anew, for writing as well, by `/proc/self/fd/0`: no mount of the sandbox
/// stands in that way. With the file itself the launch could rewrite what was recorded of its own prompt.
fn sealed_copy(mut file: File) -> io::Result<File> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    // Before Linux 6.3 the kernel knows nothing of programs in memory, and some machines permit no others.
    let memory = match memfd_create("input", flags | MemfdFlags::NOEXEC_SEAL) {
        Err(Errno::INVAL) => memfd_create("input", flags),
        memory => memory,
    };
    let mut copy = File::from(memory?);
    io::copy(&mut file, &mut copy)?;
    copy.rewind()?;
    fcntl_add_seals(&copy, SealFlags::WRITE | SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
    Ok(copy)
}

fn clone(file: &File, dir: &Path) -> Result<Stdio, ProcessError> {
    file.try_clone().map(Stdio::from).map_err(ProcessError::io("opening output in", dir))
}

/// The file that `argv[0]` means, checked before anything is started.
///
/// It looks in the PATH of the launch, not in ours; `find_tool` is for programs that we run ourselves.
pub fn find_program(name: &OsStr, dir: &Path, env: &[(OsString, OsString)]) -> Result<PathBuf, ProcessError> {
    if name.as_bytes().contains(&b'/') {
        let path =
            std::path::absolute(dir.join(name)).map_err(ProcessError::io("finding", Path::new(name)))?;
        return match is_program(&path) {
            Some(true) => Ok(path),
            Some(false) => Err(ProcessError::NotExecutable { program: path }),
            None => {
                Err(ProcessError::NotFound { program: path.display().to_string(), looked: String::new() })
            }
        };
    }
    // The last one wins, as in `Command`, which sets the variables in order.
    let path =
        env.iter().rfind(|(key, _)| key == "PATH").map_or(OsStr::new(DEFAULT_PATH), |(_, value)| value);
    let candidates = || env::split_paths(path).map(|entry| dir.join(entry).join(name));
    if let Some(found) = candidates().find(|path| is_program(path) == Some(true)) {
        return std::path::absolute(&found).map_err(ProcessError::io("finding", &found));
    }
    if let Some(program) = candidates().find(|path| is_program(path) == Some(false) && !path.is_dir()) {
        return Err(ProcessError::NotExecutable { program });
    }
    let looked = format!(" in PATH {}", path.display());
    Err(ProcessError::NotFound { program: name.display().to_string(), looked })
}

/// `None`: nothing is there. `Some(false)`: something is there, but it is not an executable file.
fn is_program(path: &Path) -> Option<bool> {
    let meta = fs::metadata(path).ok()?;
    Some(meta.is_file() && access(path, Access::EXEC_OK).is_ok())
}

/// A program of the machine, looked for in our own PATH.
pub(crate) fn find_tool(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_else(|| DEFAULT_PATH.into());
    find_program(name.as_ref(), Path::new("/"), &[("PATH".into(), path)]).ok()
}
