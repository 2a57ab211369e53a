//! A command in the foreground with this program's own terminal, for a program that starts itself again and waits.
//!
//! It is not contained and never used for agents. The command shares our terminal and session on purpose: Ctrl-C must
//! reach it.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::Arc;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::error::ProcessError;
use crate::record::ExitHow;

/// A command that runs in the foreground.
pub struct Foreground {
    child: Child,
    reach: Reach,
}

/// A way to send signals to a command in the foreground. After its end they reach nobody.
///
/// It holds a handle of the process and not its number, so a signal that comes late cannot hit a stranger.
#[derive(Clone, Default)]
pub struct Reach(Option<Arc<OwnedFd>>);

impl Foreground {
    /// Starts a program with the given additions to our environment.
    pub fn start(
        program: &Path,
        args: &[OsString],
        dir: &Path,
        env: &[(&str, OsString)],
    ) -> Result<Foreground, ProcessError> {
        let child = Command::new(program)
            .args(args)
            .current_dir(dir)
            .envs(env.iter().map(|(name, value)| (name, value)))
            .spawn()
            .map_err(ProcessError::io("starting", program))?;
        // Nobody has waited for it yet, so the number is still its own.
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let handle = pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        Ok(Foreground { child, reach: Reach(handle.map(Arc::new)) })
    }

    /// A way to send signals to the command from another thread.
    pub fn reach(&self) -> Reach {
        self.reach.clone()
    }

    /// Waits until the command has ended.
    pub fn wait(mut self) -> Result<ExitHow, ProcessError> {
        let status = self.child.wait().map_err(ProcessError::io("waiting for", "the command".as_ref()))?;
        Ok(match (status.code(), status.signal()) {
            (Some(code), _) => ExitHow::Code(code),
            (None, Some(signal)) => ExitHow::Signal(signal),
            (None, None) => ExitHow::NotStarted("it ended without a code".to_owned()),
        })
    }
}

impl Reach {
    /// Sends a signal. An unknown signal, or one that comes too late, reaches nobody.
    pub fn signal(&self, signal: i32) {
        if let (Some(handle), Some(signal)) = (&self.0, Signal::from_named_raw(signal)) {
            let _ = pidfd_send_signal(handle, signal);
        }
    }
}
