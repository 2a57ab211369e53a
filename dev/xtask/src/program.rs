//! The program that chores play with, and how they start programs: as a user would, outside any launch.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The program that was named, otherwise built in release beside this one.
pub fn tribunal(given: Option<&Path>) -> Result<PathBuf, String> {
    if let Some(given) = given {
        return given.canonicalize().map_err(|error| format!("{}: {error}", given.display()));
    }
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let target = own.parent().and_then(Path::parent).ok_or("this program lies nowhere")?;
    let built = cargo()
        .args(["build", "--quiet", "--release", "--locked", "--package", "tribunal"])
        .env("CARGO_TARGET_DIR", target)
        .status();
    match built {
        Ok(status) if status.success() => Ok(target.join("release/tribunal")),
        Ok(_) => Err("the program does not build".to_owned()),
        Err(error) => Err(format!("cargo: {error}")),
    }
}

/// The cargo that started us.
pub fn cargo() -> Command {
    command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// A command, not yet run.
#[expect(clippy::disallowed_methods, reason = "a chore starts programs as a user would")]
pub fn command(program: impl AsRef<OsStr>) -> Command {
    Command::new(program)
}
