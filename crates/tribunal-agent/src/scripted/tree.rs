//! The agent's hands in its working folder. Paths stay inside it and pass no link; what leaves it is a fault and has a
//! name of its own here.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

/// A path of the scenario as one inside the folder.
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
        let is_link = fs::symlink_metadata(&full).is_ok_and(|found| found.is_symlink());
        if is_link && parts.peek().is_some() {
            return Err(format!("`{path}` passes the link {}", full.display()));
        }
    }
    Ok(full)
}

/// Writes a whole file and the folders above it; a link at its place is replaced, not followed.
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

/// Adds to a file, unless a launch before did.
pub(super) fn append(path: &Path, bytes: &[u8]) -> io::Result<()> {
    make_parent(path)?;
    match fs::read(path) {
        Ok(there) if there.ends_with(bytes) => return Ok(()),
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    append_always(path, bytes)
}

/// Adds to a file in one write.
pub(super) fn append_always(path: &Path, bytes: &[u8]) -> io::Result<()> {
    fs::OpenOptions::new().append(true).create(true).open(path)?.write_all(bytes)
}

/// Removes a file or a folder; nothing there is fine.
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

/// Renames, unless a launch before did.
pub(super) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    if fs::symlink_metadata(from).is_err() && fs::symlink_metadata(to).is_ok() {
        return Ok(());
    }
    make_parent(to)?;
    fs::rename(from, to)
}

/// Runs a program in the folder; its output goes to stderr, where no parser looks.
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

/// Commits everything, with an identity of its own.
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
    // Empty is allowed: a launch repeated after a crash finds its work committed.
    let done = git(&["add", "-A"])? && git(&["commit", "-q", "--allow-empty", "-m", message])?;
    done.then_some(()).ok_or_else(|| format!("git did not commit `{message}`"))
}

/// Fault: writes where it must not.
pub(super) fn write_outside(dir: &Path, path: &str) -> io::Result<()> {
    fs::write(dir.join(path), b"written outside the working folder\n")
}

/// Fault: a link out of the folder.
pub(super) fn link_outside(dir: &Path, target: &str) -> io::Result<()> {
    let link = dir.join("escape");
    delete(&link)?;
    symlink(target, link)
}

/// Fault: a git directory whose configuration and hooks run `.trap/run`, which leaves `.trap/sprung`.
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
