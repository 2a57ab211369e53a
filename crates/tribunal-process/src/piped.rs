//! A child with pipes to its input and from its output, for a program that is itself inside a launch and stands
//! between it and an agent.
//!
//! The child stays in that launch's tree, session and environment. This is never a way to start anything outside a
//! launch, and the child never outlives the program that started it.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Signal, set_parent_process_death_signal};

use crate::error::ProcessError;

/// How often to check whether a child has ended.
const LOOK: Duration = Duration::from_millis(20);

/// A live child with its two pipes; standard error is ours.
#[derive(Debug)]
pub struct Piped {
    /// The pipe to its standard input.
    pub stdin: ChildStdin,
    /// The pipe from its standard output.
    pub stdout: ChildStdout,
    /// The child process, to wait for or to kill.
    pub child: PipedChild,
}

/// The child process behind the pipes.
#[derive(Debug)]
pub struct PipedChild(Child);

impl Piped {
    /// Starts a command with the working directory and the environment of this program.
    ///
    /// Call it on the main thread: the child is killed when the thread that started it ends.
    pub fn start(argv: &[OsString]) -> Result<Piped, ProcessError> {
        let Some((program, args)) = argv.split_first().filter(|(program, _)| !program.is_empty()) else {
            return Err(ProcessError::BadLaunch { id: "piped".to_owned(), what: "no program given" });
        };
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped());
        dies_with_us(&mut command);
        let mut child = command.spawn().map_err(|source| refused(program.into(), source))?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(stdin), Some(stdout)) => Ok(Piped { stdin, stdout, child: PipedChild(child) }),
            _ => Err(refused(program.into(), io::Error::other("it has no pipes"))),
        }
    }
}

impl PipedChild {
    /// Waits a while for the child to end by itself, then kills it; returns how it ended, as text.
    pub fn end(mut self, patience: Duration) -> String {
        // A channel that nobody writes to: waiting on it is a pause. The sender must stay alive, or every wait
        // returns at once.
        let (_wakeup, never) = std::sync::mpsc::channel::<()>();
        let began = Instant::now();
        while began.elapsed() < patience && matches!(self.0.try_wait(), Ok(None)) {
            let _timeout = never.recv_timeout(LOOK);
        }
        let _gone = self.0.kill();
        self.0.wait().map(|status| status.to_string()).unwrap_or_default()
    }
}

fn refused(program: PathBuf, source: io::Error) -> ProcessError {
    match source.kind() {
        io::ErrorKind::NotFound => {
            ProcessError::NotFound { program: program.display().to_string(), looked: String::new() }
        }
        io::ErrorKind::PermissionDenied => ProcessError::NotExecutable { program },
        _ => ProcessError::io("starting", Path::new(&program))(source),
    }
}

#[expect(unsafe_code, reason = "std has no stable way to make a system call in the child")]
fn dies_with_us(command: &mut Command) {
    // SAFETY: between fork and exec the closure makes one system call; it does not allocate or lock.
    unsafe {
        command.pre_exec(|| Ok(set_parent_process_death_signal(Some(Signal::KILL))?));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    fn words(argv: &[&str]) -> Vec<OsString> {
        argv.iter().map(OsString::from).collect()
    }

    #[test]
    fn what_is_written_can_be_read_and_the_end_of_input_is_seen() {
        let mut piped = Piped::start(&words(&["cat"])).unwrap();
        piped.stdin.write_all(b"hello\n").unwrap();
        drop(piped.stdin);
        let mut text = String::new();
        piped.stdout.read_to_string(&mut text).unwrap();
        assert_eq!(text, "hello\n");
        assert_eq!(piped.child.end(Duration::from_secs(60)), "exit status: 0");
    }

    #[test]
    fn who_does_not_end_is_killed() {
        let piped = Piped::start(&words(&["cat"])).unwrap();
        let told = piped.child.end(Duration::ZERO);
        assert!(told.contains("signal: 9"), "{told}");
    }

    #[test]
    fn what_cannot_be_started_is_named() {
        let check = |argv: &[&str], expect: &str| {
            let told = Piped::start(&words(argv)).unwrap_err().to_string();
            assert!(told.contains(expect), "{argv:?}: {told}");
        };
        check(&[], "no program given");
        check(&[""], "no program given");
        check(&["/no/such/agent"], "/no/such/agent: no such program");
        check(&["/"], "not an executable file");
    }
}
