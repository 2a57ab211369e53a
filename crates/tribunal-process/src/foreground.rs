//! A command in the foreground, with this program's own terminal: for a program that starts itself again and
//! waits. It is not contained and never used for agents.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;

use crate::error::ProcessError;
use crate::record::ExitHow;

/// Runs a command with the given additions to the environment and waits for it.
pub fn run_in_foreground(
    argv: &[OsString],
    dir: &Path,
    env: &[(&str, OsString)],
) -> Result<ExitHow, ProcessError> {
    let Some((program, args)) = argv.split_first() else {
        return Ok(ExitHow::NotStarted("no command".to_owned()));
    };
    let status = Command::new(program)
        .args(args)
        .current_dir(dir)
        .envs(env.iter().map(|(name, value)| (name, value)))
        .status()
        .map_err(ProcessError::io("starting", program.as_ref()))?;
    Ok(match (status.code(), status.signal()) {
        (Some(code), _) => ExitHow::Code(code),
        (None, Some(signal)) => ExitHow::Signal(signal),
        (None, None) => ExitHow::NotStarted("it ended without a code".to_owned()),
    })
}
