//! The agent's operations in its working folder. Paths stay inside it and pass no link.
//!
//! Whatever leaves the folder is a fault with a name of its own here, so that a scenario cannot escape by mistake.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

/// Turns a path of the scenario into one inside the folder.
pub(super) fn inside(dir: &Path, path: &str) -> Result<PathBuf, String> {
    let mut full = dir.to_path_buf();
    let mut parts = Path::new(path).components().peekable();
    if parts.peek().is_none() {
        return Err("an empty path".to_owned());
    }
    while let Some(part) = parts.next() {
        let Component::Normal(name) = part else {
            return Err(format!(
                "`{path}` leaves the working folder\nhint: that is what the fault write-outside is for"
            ));
        };
        full.push(name);
        // Looked at without following: a scenario must not write through a link it left itself.
        let is_link = fs::symlink_metadata(&full).is_ok_and(|found| found.is_symlink());
        // A link as the last part is fine: it is replaced or removed, not followed.
        if is_link && parts.peek().is_some() {
            return Err(format!("`{path}` passes the link {}", full.display()));
        }
    }
    Ok(full)
}

/// Writes a whole file and the folders above it. A link at its place is replaced, not followed.
pub(super) fn write(path: &Path, bytes: &[u8], executable: bool) -> io::Result<()> {
    make_parent(path)?;
    if fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink()) {
        fs::remove_file(path)?;
    }
    fs::write(path, bytes)?;
    if executable {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
    }
    Ok(())
}

/// Adds to a file, unless an earlier launch did.
pub(super) fn append(path: &Path, bytes: &[u8]) -> io::Result<()> {
    make_parent(path)?;
    match fs::read(path) {
        Ok(there) if there.ends_with(bytes) => return Ok(()),
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    append_always(path, bytes)
}

/// Adds to a file in a single write, so that a reader never sees half a line.
pub(super) fn append_always(path: &Path, bytes: &[u8]) -> io::Result<()> {
    fs::OpenOptions::new().append(true).create(true).open(path)?.write_all(bytes)
}

/// Removes a file or a folder. It is fine if there is none.
pub(super) fn delete(path: &Path) -> io::Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Renames, unless an earlier launch did.
pub(super) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    if fs::symlink_metadata(from).is_err() && fs::symlink_metadata(to).is_ok() {
        return Ok(());
    }
    make_parent(to)?;
    fs::rename(from, to)
}

/// Runs a program in the folder. Its output goes to standard error, where no parser looks.
#[expect(clippy::disallowed_methods, reason = "it plays an agent, whose processes Tribunal does not start")]
pub(super) fn run(dir: &Path, argv: &[String]) -> Result<bool, String> {
    let (program, args) = argv.split_first().ok_or("nothing to run")?;
    let status = Command::new(program)
        .args(args)
        .current_dir(dir)
        .stdin(Stdio::null())
        .stdout(io::stderr())
        .status()
        .map_err(|error| format!("cannot run {program}: {error}"))?;
    Ok(status.success())
}

/// Commits everything, with an identity of its own, so that the user's git configuration does not matter.
pub(super) fn commit(dir: &Path, message: &str) -> Result<(), String> {
    const IDENTITY: [&str; 6] = [
        "-c",
        "user.name=Scripted Agent",
        "-c",
        "user.email=scripted@tribunal.invalid",
        "-c",
        "commit.gpgSign=false",
    ];
    let git = |args: &[&str]| {
        let words = ["git"].iter().chain(&IDENTITY).chain(args);
        run(dir, &words.map(|word| (*word).to_owned()).collect::<Vec<_>>())
    };
    // An empty commit is allowed: a launch repeated after a crash finds its work committed.
    let done = git(&["add", "-A"])? && git(&["commit", "-q", "--allow-empty", "-m", message])?;
    done.then_some(()).ok_or_else(|| format!("git did not commit `{message}`"))
}

/// Fault: writes outside the working folder.
pub(super) fn write_outside(dir: &Path, path: &str) -> io::Result<()> {
    fs::write(dir.join(path), b"written outside the working folder\n")
}

/// Fault: leaves a link that leads out of the folder.
pub(super) fn link_outside(dir: &Path, target: &str) -> io::Result<()> {
    let link = dir.join("escape");
    delete(&link)?;
    symlink(target, link)
}

/// Fault: leaves a git directory whose configuration and hooks run `.trap/run`, which leaves `.trap/sprung`.
///
/// A test then looks for `.trap/sprung`. If it exists, somebody ran git carelessly in an agent's tree.
pub(super) fn edit_git(dir: &Path) -> io::Result<()> {
    let trap = dir.join(".trap");
    let script = trap.join("run");
    let text = format!("#!/bin/sh\n: > '{}'\nexit 0\n", trap.join("sprung").display());
    write(&script, text.as_bytes(), true)?;
    let dot_git = dir.join(".git");
    let git_dir = if dot_git.is_dir() { dot_git } else { trap.join("git") };
    for folder in ["hooks", "objects", "refs/heads"] {
        fs::create_dir_all(git_dir.join(folder))?;
    }
    if git_dir.starts_with(&trap) {
        // A linked worktree's `.git` is a file: point it at a repository that is all trap.
        fs::write(git_dir.join("HEAD"), "ref: refs/heads/main\n")?;
        delete(&dir.join(".git"))?;
        fs::write(dir.join(".git"), format!("gitdir: {}\n", git_dir.display()))?;
    }
    let config = format!(
        "[core]\n\tfsmonitor = \"'{0}'\"\n[filter \"trap\"]\n\tclean = \"'{0}'\"\n\tsmudge = \"'{0}'\"\n",
        script.display()
    );
    append(&git_dir.join("config"), config.as_bytes())?;
    for hook in ["pre-commit", "post-checkout", "reference-transaction"] {
        fs::copy(&script, git_dir.join("hooks").join(hook))?;
    }
    append(&dir.join(".gitattributes"), b"* filter=trap\n")
}

fn make_parent(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)
}
