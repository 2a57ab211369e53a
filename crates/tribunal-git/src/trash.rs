//! Takes directories away at once and deletes them later.
//!
//! A directory is renamed into the trash, which is quick and survives a crash; a thread empties the trash. It never
//! decides that something may go. Save first, with [`crate::Repo::snapshot`].

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use crate::GitError;
use crate::files::unique;

/// A directory of things to delete. It must be on the same file system as what is thrown into it.
pub struct Trash {
    dir: PathBuf,
    queue: Option<Sender<PathBuf>>,
    thread: Option<JoinHandle<()>>,
}

impl Trash {
    /// Opens the trash and begins to delete what an earlier process left in it.
    pub fn open(dir: &Path) -> Result<Trash, GitError> {
        std::fs::create_dir_all(dir).map_err(GitError::io(dir))?;
        let (queue, work) = channel::<PathBuf>();
        for entry in std::fs::read_dir(dir).map_err(GitError::io(dir))? {
            let path = entry.map_err(GitError::io(dir))?.path();
            let _ = queue.send(path);
        }
        let thread = std::thread::Builder::new()
            .name("trash".to_owned())
            .spawn(move || work.iter().for_each(|path| delete(&path)))
            .map_err(GitError::io(dir))?;
        Ok(Trash { dir: dir.to_owned(), queue: Some(queue), thread: Some(thread) })
    }

    /// Takes a file or directory away; true if it existed. It is gone from its place when this returns.
    pub fn take(&self, path: &Path) -> Result<bool, GitError> {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        // Unique against what an earlier process with our id may have left.
        let place =
            (0..).map(|_| self.dir.join(unique(&name))).find(|place| place.symlink_metadata().is_err());
        let place = place.unwrap_or_else(|| self.dir.join(&name));
        match rename(path, &place) {
            Ok(()) => {}
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(false),
            Err(e) => return Err(GitError::io(path)(e)),
        }
        if let Some(queue) = &self.queue {
            // Should the thread be gone, the next start sweeps.
            let _ = queue.send(place);
        }
        Ok(true)
    }

    /// Waits until everything is deleted.
    ///
    /// Without this call a process that ends leaves the rest to the next one that opens the trash.
    pub fn empty(mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Renames something of ours. Renaming a directory needs the right to write in it, which an agent may have removed.
fn rename(from: &Path, to: &Path) -> std::io::Result<()> {
    let is_dir = || from.symlink_metadata().is_ok_and(|meta| meta.is_dir());
    match std::fs::rename(from, to) {
        Err(e) if e.kind() == std::io::ErrorKind::PermissionDenied && is_dir() => {
            std::fs::set_permissions(from, Permissions::from_mode(0o700))?;
            std::fs::rename(from, to)
        }
        done => done,
    }
}

/// Deletes a file or directory without following links. Anything that cannot be deleted stays for the next sweep.
fn delete(path: &Path) {
    let is_dir = path.symlink_metadata().is_ok_and(|meta| meta.is_dir());
    if !is_dir {
        let _ = std::fs::remove_file(path);
    } else if std::fs::remove_dir_all(path).is_err() {
        // An agent may have removed our right to write its directories.
        unlock(path);
        let _ = std::fs::remove_dir_all(path);
    }
}

fn unlock(dir: &Path) {
    let _ = std::fs::set_permissions(dir, Permissions::from_mode(0o700));
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let dirs = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    // All names are collected first, so that only one directory is open at a time however deep they are nested.
    let dirs: Vec<PathBuf> = dirs.map(|entry| entry.path()).collect();
    dirs.iter().for_each(|dir| unlock(dir));
}
