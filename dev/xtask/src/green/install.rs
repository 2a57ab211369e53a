//! What a project needs on this machine, and how to get it.

use super::project::Project;
use crate::crash::stage::Res;
use crate::out;
use crate::program::command;
use std::ffi::OsStr;
use std::path::Path;
use std::process::Stdio;
use tribunal_process::find_program;

/// The tools of a project that are not on the PATH.
pub fn lacks(project: &Project) -> Vec<String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let env = [("PATH".into(), path)];
    let is_there = |tool: &&String| find_program(OsStr::new(tool), Path::new("/"), &env).is_ok();
    project.tools.iter().filter(|tool| !is_there(tool)).cloned().collect()
}

/// Installs them by whoever has them.
pub fn install(project: &Project) -> Res<()> {
    let Some((by, packages)) = project.install.split_first() else {
        return Err("nobody here has its tools".to_owned());
    };
    let args: &[&str] = match by.as_str() {
        "apt" => &["apt-get", "install", "-y", "-qq", "--no-install-recommends"],
        "npm" => &["npm", "install", "--global", "--silent", "--foreground-scripts"],
        "pip" => &["python3", "-m", "pip", "install", "--quiet"],
        other => return Err(format!("nobody knows how {other} installs")),
    };
    out::progress(format!("{}: {by} installs {}", project.name, packages.join(" ")));
    let mut call = command(args[0]);
    call.args(&args[1..]).args(packages).env("DEBIAN_FRONTEND", "noninteractive");
    call.stdin(Stdio::null()).stdout(Stdio::null());
    match call.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{by} could not install {}: {status}", packages.join(" "))),
        Err(error) => Err(format!("{}: {error}", args[0])),
    }
}
