//! Runs git within bounds: a deadline on every call, output captured up to a cap, and an environment built from
//! nothing.
//!
//! It never searches for a repository, inherits a variable it did not choose, or waits past its deadline. Git has this
//! small runner of its own instead of `tribunal-process`, because git is not an agent and a landing must not depend on
//! a namespace.

use std::ffi::{OsStr, OsString};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Access, access};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use crate::GitError;

/// How long one git command may take, unless its call says otherwise.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(120);
/// How many bytes one git command may write before it is an error.
pub(crate) const CAP: usize = 256 << 20;
/// How long a session that is dropped may take to end by itself.
const GRACE: Duration = Duration::from_secs(2);
/// How many bytes of git's error output are kept.
pub(crate) const STDERR_CAP: usize = 64 << 10;

/// One git command, not yet run.
///
/// Do not make one from nothing for work on a repository: `Repo` has constructors that add the options which keep
/// foreign programs out.
#[derive(Clone)]
pub(crate) struct Call {
    before: Vec<OsString>,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    cwd: PathBuf,
    input: Vec<u8>,
    timeout: Duration,
    cap: usize,
    cut: bool,
    stop: Option<Arc<AtomicBool>>,
}

/// How often a command that may be stopped checks whether it was.
const STOP_LOOK: Duration = Duration::from_millis(100);

/// The result of a git command that ran.
pub(crate) struct Output {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    /// The output was cut at the cap, and git was killed for it.
    pub(crate) cut: bool,
}

impl Output {
    pub(crate) fn code(&self) -> Option<i32> {
        self.status.code()
    }

    pub(crate) fn complaint(&self) -> String {
        let text = String::from_utf8_lossy(&self.stderr);
        // Git's hints would bury what went wrong under general advice.
        let said: Vec<&str> = text.lines().filter(|line| !line.starts_with("hint:")).collect();
        let text = if said.is_empty() { text.into_owned() } else { said.join("\n") };
        let mut line: String =
            text.trim().chars().map(|c| if c.is_control() && c != '\n' { ' ' } else { c }).collect();
        // Bounded, because the text ends up in messages for people.
        if let Some((at, _)) = line.char_indices().nth(2000) {
            line.truncate(at);
        }
        line
    }
}

impl Call {
    pub(crate) fn new(cwd: &Path) -> Call {
        Call {
            before: Vec::new(),
            args: Vec::new(),
            env: Vec::new(),
            cwd: cwd.to_owned(),
            input: Vec::new(),
            timeout: TIMEOUT,
            cap: CAP,
            cut: false,
            stop: None,
        }
    }

    /// An option of git itself, before the subcommand. Messages do not show it.
    pub(crate) fn option(mut self, option: impl Into<OsString>) -> Call {
        self.before.push(option.into());
        self
    }

    pub(crate) fn config(self, setting: &str) -> Call {
        self.option("-c").option(setting)
    }

    pub(crate) fn arg(mut self, arg: impl AsRef<OsStr>) -> Call {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    pub(crate) fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Call {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Call {
        self.env.push((name.into(), value.as_ref().to_owned()));
        self
    }

    pub(crate) fn input(mut self, input: impl Into<Vec<u8>>) -> Call {
        self.input = input.into();
        self
    }

    /// Cuts the output at `cap` bytes instead of failing beyond the general cap.
    pub(crate) fn cut_at(mut self, cap: usize) -> Call {
        self.cap = cap;
        self.cut = true;
        self
    }

    /// Gives the command its own deadline.
    pub(crate) fn within(mut self, timeout: Duration) -> Call {
        self.timeout = timeout;
        self
    }

    /// Kills the command and returns an error once this becomes true.
    pub(crate) fn stopped_by(mut self, stop: &Arc<AtomicBool>) -> Call {
        self.stop = Some(Arc::clone(stop));
        self
    }

    /// The subcommand with its first arguments, for messages.
    pub(crate) fn name(&self) -> String {
        let words: Vec<_> = self.args.iter().take(4).map(|arg| arg.to_string_lossy()).collect();
        let mut name: String =
            words.join(" ").chars().map(|c| if c.is_control() { '?' } else { c }).collect();
        if let Some((at, _)) = name.char_indices().nth(200) {
            name.truncate(at);
        }
        name
    }

    fn command(&self) -> Command {
        let mut command = Command::new(program());
        // Variables such as GIT_DIR or GIT_INDEX_FILE in the caller's environment would redirect every call.
        command.env_clear();
        let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
        // Errors are told apart by their English text, and nobody is there to answer a prompt.
        command.env("PATH", path).env("LC_ALL", "C").env("GIT_TERMINAL_PROMPT", "0");
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command.args(&self.before).args(&self.args).current_dir(&self.cwd);
        // A group of its own, so that killing git also ends the helpers it started.
        command.process_group(0);
        command
    }

    fn spawn(&self, mut command: Command) -> Result<(Child, OwnedFd), GitError> {
        let mut child = command.spawn().map_err(|source| match source.kind() {
            // A working directory that is missing gives NotFound as well.
            ErrorKind::NotFound if self.cwd.is_dir() => GitError::Missing,
            _ => GitError::Io { path: self.cwd.clone(), source },
        })?;
        // The child is not reaped before we wait for it, so its id cannot have been given to another process.
        let opened = pid_of(&child).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        match opened {
            Some(pidfd) => Ok((child, pidfd)),
            None => {
                end(&mut child);
                Err(GitError::odd("this kernel has no pidfd_open\nhint: Linux 5.3 or newer is needed"))
            }
        }
    }

    /// Runs the command to its end. Every exit code is an answer; an error means that it did not end.
    pub(crate) fn run(self) -> Result<Output, GitError> {
        let mut command = self.command();
        command.stdin(if self.input.is_empty() { Stdio::null() } else { Stdio::piped() });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let (mut child, pidfd) = self.spawn(command)?;
        let pumped = pump(&self, &mut child, &pidfd);
        if !matches!(pumped, Ok(Pumped { cut: false, .. })) {
            end(&mut child);
        }
        let pumped = pumped?;
        let status = child.wait().map_err(GitError::io(&self.cwd))?;
        Ok(Output { status, stdout: pumped.stdout, stderr: pumped.stderr, cut: pumped.cut })
    }

    /// Runs the command and takes only exit code 0 for success.
    pub(crate) fn ok(self) -> Result<Vec<u8>, GitError> {
        let name = self.name();
        let output = self.run()?;
        // Git was killed on purpose when the output was cut, so its status says nothing.
        if output.status.success() || output.cut { Ok(output.stdout) } else { Err(failed(&name, &output)) }
    }

    /// Starts a command that reads requests and answers them one after the other.
    pub(crate) fn session(self) -> Result<Session, GitError> {
        let mut command = self.command();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let (mut child, _pidfd) = self.spawn(command)?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        match (stdin, stdout) {
            (Some(stdin), Some(stdout)) => {
                nonblocking(&stdin)?;
                nonblocking(&stdout)?;
                let (name, timeout) = (self.name(), self.timeout);
                Ok(Session { child, stdin: Some(stdin), stdout, buffer: Vec::new(), start: 0, name, timeout })
            }
            _ => Err(GitError::odd("a pipe to git is missing")),
        }
    }
}

/// Where git is. It is looked up once, because a program given by its full path is started without copying this process
/// first and without a search through PATH.
///
/// Relative entries of PATH are skipped: they would mean another program in every directory that a call runs in.
fn program() -> &'static Path {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(|| {
        let dirs = std::env::var_os("PATH").unwrap_or_default();
        let found = std::env::split_paths(&dirs).filter(|dir| dir.is_absolute()).map(|dir| dir.join("git"));
        let runs = |path: &PathBuf| path.is_file() && access(path, Access::EXEC_OK).is_ok();
        found.into_iter().find(runs).unwrap_or_else(|| "git".into())
    })
}

/// The error for a command that ended badly.
pub(crate) fn failed(name: &str, output: &Output) -> GitError {
    let detail = output.complaint();
    let command = name.to_owned();
    // A lock that cannot be made for any other reason, as on a full disk, is nobody's.
    if detail.contains(".lock': File exists") {
        return GitError::Locked { who: format!("`git {command}`"), detail };
    }
    let code = match (output.status.code(), output.status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "no exit code".to_owned(),
    };
    GitError::Failed { command, code, detail }
}

struct Pumped {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    cut: bool,
}

/// Feeds and drains the child until it has ended and its pipes are closed.
///
/// Input and output are served from one poll loop. A git that blocks on a full output pipe would otherwise never read
/// the rest of its input.
fn pump(call: &Call, child: &mut Child, pidfd: &OwnedFd) -> Result<Pumped, GitError> {
    let deadline = Instant::now() + call.timeout;
    let (mut stdin, mut out, mut err) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    if let Some(stdin) = &stdin {
        nonblocking(stdin)?;
    }
    if let (Some(out), Some(err)) = (&out, &err) {
        nonblocking(out)?;
        nonblocking(err)?;
    }
    let mut got = Pumped { stdout: Vec::new(), stderr: Vec::new(), cut: false };
    let (mut fed, mut gone) = (0, false);
    while !gone || out.is_some() || err.is_some() {
        if call.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            return Err(GitError::odd(format!("`git {}` was stopped with the run", call.name())));
        }
        let slice = call.stop.as_ref().map_or(deadline, |_| deadline.min(Instant::now() + STOP_LOOK));
        let ready = match wait(&stdin, &out, &err, (!gone).then_some(pidfd), slice) {
            Some(ready) => ready,
            None if Instant::now() < deadline => continue,
            None => return Err(timeout(&call.name(), call.timeout)),
        };
        if ready.stdin && !feed(&mut stdin, &call.input, &mut fed) {
            stdin = None;
        }
        if ready.out {
            // One byte more than allowed is read, which is how an output of exactly the cap differs from a longer one.
            drain(&mut out, &mut got.stdout, call.cap.saturating_add(1));
        }
        if ready.err {
            // All of it is read although little is kept: a full pipe would stop git.
            drain(&mut err, &mut got.stderr, usize::MAX);
            got.stderr.truncate(STDERR_CAP);
        }
        gone |= ready.gone;
        if got.stdout.len() > call.cap {
            if !call.cut {
                return Err(GitError::TooLarge { command: call.name(), cap: call.cap });
            }
            got.stdout.truncate(call.cap);
            got.cut = true;
            break;
        }
    }
    Ok(got)
}

#[derive(Default)]
struct Ready {
    stdin: bool,
    out: bool,
    err: bool,
    gone: bool,
}

/// Waits until something can be done; `None` when the deadline has passed.
fn wait(
    stdin: &Option<ChildStdin>,
    out: &Option<ChildStdout>,
    err: &Option<std::process::ChildStderr>,
    pidfd: Option<&OwnedFd>,
    deadline: Instant,
) -> Option<Ready> {
    let mut fds = Vec::with_capacity(4);
    let mut roles = Vec::with_capacity(4);
    if let Some(fd) = stdin {
        fds.push(PollFd::new(fd, PollFlags::OUT));
        roles.push(0);
    }
    if let Some(fd) = out {
        fds.push(PollFd::new(fd, PollFlags::IN));
        roles.push(1);
    }
    if let Some(fd) = err {
        fds.push(PollFd::new(fd, PollFlags::IN));
        roles.push(2);
    }
    if let Some(fd) = pidfd {
        fds.push(PollFd::new(fd, PollFlags::IN));
        roles.push(3);
    }
    if !poll_until(&mut fds, deadline) {
        return None;
    }
    let mut ready = Ready::default();
    for (fd, role) in fds.iter().zip(roles) {
        let hit = !fd.revents().is_empty();
        match role {
            0 => ready.stdin = hit,
            1 => ready.out = hit,
            2 => ready.err = hit,
            _ => ready.gone = hit,
        }
    }
    Some(ready)
}

/// Polls until something is ready; false when the deadline has passed or polling is impossible.
fn poll_until(fds: &mut [PollFd<'_>], deadline: Instant) -> bool {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        let left =
            Timespec { tv_sec: left.as_secs().min(86_400) as i64, tv_nsec: left.subsec_nanos().into() };
        match poll(fds, Some(&left)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) => return true,
            Err(_) => return false,
        }
    }
}

/// Writes what fits; false when everything is written or nobody reads any longer.
fn feed(stdin: &mut Option<ChildStdin>, input: &[u8], fed: &mut usize) -> bool {
    let Some(pipe) = stdin else { return false };
    while let Some(rest) = input.get(*fed..).filter(|rest| !rest.is_empty()) {
        match pipe.write(rest) {
            Ok(n) => *fed += n,
            Err(e) if e.kind() == ErrorKind::WouldBlock => return true,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(_) => return false,
        }
    }
    false
}

/// Reads what is there, up to `cap` bytes in all, and closes the pipe at its end.
fn drain(pipe: &mut Option<impl Read>, into: &mut Vec<u8>, cap: usize) {
    let mut chunk = [0u8; 64 << 10];
    while into.len() < cap {
        let Some(open) = pipe else { return };
        match open.read(&mut chunk) {
            Ok(0) => *pipe = None,
            Ok(n) => into.extend_from_slice(chunk.get(..n).unwrap_or_default()),
            Err(e) if e.kind() == ErrorKind::WouldBlock => return,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(_) => *pipe = None,
        }
    }
}

fn nonblocking(fd: &impl AsFd) -> Result<(), GitError> {
    let nope = |errno: rustix::io::Errno| GitError::Io { path: "pipe".into(), source: errno.into() };
    let flags = rustix::fs::fcntl_getfl(fd).map_err(nope)?;
    rustix::fs::fcntl_setfl(fd, flags | rustix::fs::OFlags::NONBLOCK).map_err(nope)
}

fn pid_of(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}

/// Kills the child with its process group (a filter it started included) and reaps it.
fn end(child: &mut Child) {
    // Once reaped, the id may belong to somebody else.
    if matches!(child.try_wait(), Ok(Some(_))) {
        return;
    }
    if let Some(pid) = pid_of(child) {
        // A failure means it is gone already; the wait below settles it either way.
        let _ = kill_process_group(pid, Signal::KILL);
    }
    // Killing the group may have failed, and the process itself has to end in any case.
    let _ = child.kill();
    let _ = child.wait();
}

fn timeout(name: &str, limit: Duration) -> GitError {
    GitError::Timeout { command: name.to_owned(), seconds: limit.as_secs() }
}

/// A git process that answers one question after the other. Dropping it closes its input and ends it.
///
/// After an error its answers may be out of step with the questions. Throw the session away then and start another one.
pub(crate) struct Session {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: ChildStdout,
    buffer: Vec<u8>,
    start: usize,
    name: String,
    timeout: Duration,
}

impl Session {
    /// The id of the git process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Writes all of `bytes`, waiting for git to read them.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> Result<(), GitError> {
        let deadline = Instant::now() + self.timeout;
        let mut fed = 0;
        while feed(&mut self.stdin, bytes, &mut fed) {
            let Some(stdin) = &self.stdin else { break };
            if !poll_until(&mut [PollFd::new(stdin, PollFlags::OUT)], deadline) {
                return Err(timeout(&self.name, self.timeout));
            }
        }
        if fed == bytes.len() { Ok(()) } else { Err(self.ended()) }
    }

    /// Reads up to and including the next newline, and returns the line without it.
    pub(crate) fn line(&mut self) -> Result<Vec<u8>, GitError> {
        let deadline = Instant::now() + self.timeout;
        loop {
            let pending = self.buffer.get(self.start..).unwrap_or_default();
            if let Some(at) = pending.iter().position(|b| *b == b'\n') {
                let line = pending.get(..at).unwrap_or_default().to_vec();
                self.start += at + 1;
                return Ok(line);
            }
            self.more(deadline)?;
        }
    }

    /// Reads exactly `n` bytes, waiting for git to write them.
    pub(crate) fn exactly(&mut self, n: usize) -> Result<Vec<u8>, GitError> {
        let deadline = Instant::now() + self.timeout;
        loop {
            if let Some(bytes) = self.buffer.get(self.start..self.start.saturating_add(n)) {
                let bytes = bytes.to_vec();
                self.start += n;
                return Ok(bytes);
            }
            self.more(deadline)?;
        }
    }

    /// Reads up to and including the line `last`, and returns what comes before it.
    ///
    /// An answer of more than `cap` bytes is given up and the process with it, because the rest of the answer would
    /// still be on its way.
    pub(crate) fn until(&mut self, last: &str, cap: usize) -> Result<Vec<u8>, GitError> {
        let deadline = Instant::now() + self.timeout;
        let end_line = format!("\n{last}\n").into_bytes();
        let mut seen = 0;
        loop {
            let pending = self.buffer.get(self.start..).unwrap_or_default();
            let fresh = pending.get(seen..).unwrap_or_default();
            let found = fresh.windows(end_line.len()).position(|bytes| bytes == end_line);
            if let Some(len) = found.map(|at| seen + at + 1).filter(|len| *len <= cap) {
                let answer = pending.get(..len).unwrap_or_default().to_vec();
                self.start += len + last.len() + 1;
                return Ok(answer);
            }
            if found.is_some() || pending.len() > cap.saturating_add(end_line.len()) {
                end(&mut self.child);
                return Err(GitError::TooLarge { command: self.name.clone(), cap });
            }
            // The line may have begun in the bytes seen so far, so that many are searched again.
            seen = pending.len().saturating_sub(end_line.len());
            self.more(deadline)?;
        }
    }

    /// Closes the input and waits for the end; true when git exited with 0.
    pub(crate) fn finish(mut self) -> Result<bool, GitError> {
        self.stdin = None;
        let deadline = Instant::now() + self.timeout;
        while self.more(deadline).is_ok() {}
        if Instant::now() >= deadline {
            return Err(timeout(&self.name, self.timeout));
        }
        let status = self.child.wait().map_err(GitError::io(&self.name))?;
        Ok(status.success())
    }

    fn more(&mut self, deadline: Instant) -> Result<(), GitError> {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.start = 0;
        }
        if !poll_until(&mut [PollFd::new(&self.stdout, PollFlags::IN)], deadline) {
            return Err(timeout(&self.name, self.timeout));
        }
        let before = self.buffer.len();
        let mut pipe = Some(&mut self.stdout);
        drain(&mut pipe, &mut self.buffer, before.saturating_add(1));
        // Reading nothing while the pipe stays open is a spurious wake-up, not the end.
        if self.buffer.len() > before || pipe.is_some() { Ok(()) } else { Err(self.ended()) }
    }

    fn ended(&self) -> GitError {
        let (command, code) = (self.name.clone(), "ended early".to_owned());
        GitError::Failed { command, code, detail: String::new() }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // Closed input lets git tidy up (a killed `update-ref` would leave its locks behind).
        self.stdin = None;
        let deadline = Instant::now() + GRACE;
        while self.more(deadline).is_ok() {
            // The output is read and thrown away, because git does not end while its pipe is full.
            self.buffer.clear();
        }
        end(&mut self.child);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_hangs_is_killed() {
        let call = Call::new(Path::new("/")).args(["hash-object", "/dev/zero"]);
        let error = call.within(Duration::from_millis(100)).run().err().expect("must time out");
        assert!(matches!(error, GitError::Timeout { .. }), "{error}");
    }

    #[test]
    fn what_could_not_be_written_says_where_to_look() {
        let check = |said: &str, locked: bool, hint: &str| {
            let status = ExitStatus::from_raw(128 << 8);
            let output = Output { status, stdout: Vec::new(), stderr: said.as_bytes().to_vec(), cut: false };
            let error = failed("update-ref", &output);
            assert_eq!(matches!(error, GitError::Locked { .. }), locked, "{said}");
            let told = error.to_string();
            assert!(told.contains(said) && told.contains("\nhint: ") != hint.is_empty(), "{told}");
            assert!(told.contains(hint), "{told}");
        };
        check("fatal: Unable to create '/p/index.lock': File exists.", true, "delete the .lock file");
        check("fatal: Unable to create '/p/index.lock': No space left on device", false, "room on the disk");
        check("fatal: Unable to create '/p/index.lock': Permission denied", false, "you may write");
        check("fatal: cannot update ref 'r': couldn't write '/p/r.lock'", false, "room on the disk");
        check("error: unable to write file a.txt", false, "room on the disk");
        check("fatal: bad object", false, "");
    }

    #[test]
    fn output_is_cut_or_refused_at_the_cap() {
        let call = Call::new(Path::new("/")).args(["help", "-a"]);
        let output = call.clone().cut_at(10).run().expect("runs");
        assert!(output.cut && output.stdout.len() == 10);
        let mut small = call;
        small.cap = 10;
        assert!(matches!(small.run(), Err(GitError::TooLarge { .. })));
    }

    #[test]
    fn much_input_and_much_output_do_not_block_each_other() {
        let dir = tempfile::tempdir().expect("temp dir");
        let input = vec![b'x'; 8 << 20];
        let call = Call::new(dir.path()).args(["stripspace"]).input(input.clone());
        let mut expected = input;
        expected.push(b'\n');
        assert_eq!(call.ok().expect("runs"), expected);
    }
}
