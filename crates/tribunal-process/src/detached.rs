//! Starts this program once more for a piece of work that outlives whoever asked for it: a run that an editor agent
//! began continues when the editor is closed.
//!
//! It is never used for agents, nor for anything that an agent named: the process is not contained.

use std::ffi::OsString;
use std::io::PipeReader;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::error::ProcessError;
use crate::record::ExitHow;

/// A process that continues without us.
#[derive(Debug)]
pub struct Detached {
    /// Everything it writes, on either stream. It goes on even if nobody reads any more.
    pub output: PipeReader,
    child: Child,
}

/// Starts a program in a process group of its own and without input, so that no signal to our group or terminal
/// reaches it.
pub fn start_detached(program: &Path, args: &[OsString], dir: &Path) -> Result<Detached, ProcessError> {
    let failed = |source| ProcessError::io("starting", program)(source);
    let (output, ours) = std::io::pipe().map_err(failed)?;
    let theirs = ours.try_clone().map_err(failed)?;
    let mut command = Command::new(program);
    command.args(args).current_dir(dir).process_group(0).stdin(Stdio::null()).stdout(ours).stderr(theirs);
    let child = command.spawn().map_err(failed)?;
    // The command holds the writing ends too. While it lives, a reader would never see the end of the output.
    drop(command);
    Ok(Detached { output, child })
}

impl Detached {
    /// Waits until the process has ended.
    pub fn wait(mut self) -> ExitHow {
        match self.child.wait() {
            Ok(status) => match (status.code(), status.signal()) {
                (Some(code), _) => ExitHow::Code(code),
                (None, Some(signal)) => ExitHow::Signal(signal),
                (None, None) => ExitHow::NotStarted("it ended without a code".to_owned()),
            },
            Err(error) => ExitHow::NotStarted(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn it_is_in_a_group_of_its_own_and_both_streams_are_heard() {
        let script = "cut -d' ' -f5 /proc/$$/stat; echo $$ >&2; read line; exit 7";
        let args = ["-c", script].map(OsString::from);
        let mut started = start_detached(Path::new("/bin/sh"), &args, Path::new("/")).unwrap();
        let mut text = String::new();
        started.output.read_to_string(&mut text).unwrap();
        let words: Vec<&str> = text.split_whitespace().collect();
        assert_eq!(words.len(), 2, "{text}");
        assert_eq!(words[0], words[1], "it leads its group");
        assert_eq!(started.wait(), ExitHow::Code(7));
    }

    #[test]
    fn what_cannot_be_started_is_named() {
        let told = start_detached(Path::new("/no/such"), &[], Path::new("/")).unwrap_err().to_string();
        assert!(told.contains("/no/such"), "{told}");
    }
}
