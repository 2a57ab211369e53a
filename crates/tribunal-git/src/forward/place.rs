//! Moves files between the user's work tree and a folder of ours, each in one step of the file system.
//!
//! At every moment a path is the old file or the new one, and the old one is kept until everything is done. No link is
//! followed below either root: folders are opened one part at a time.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, RenameFlags, StatxAttributes, StatxFlags, linkat, mkdirat, openat,
    readlinkat, renameat, renameat_with, statat, statx, symlinkat, unlinkat,
};
use rustix::io::Errno;

use crate::GitPath;

/// Up to this many files or folders are flushed one by one; for more, the whole file system is.
const FLUSHED_SINGLY: usize = 64;

/// A folder below which files are moved.
pub(super) struct Place {
    root: OwnedFd,
    path: PathBuf,
}

/// A file as it was when it was examined. Another file, or a changed one, is not equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Looked {
    dev: u64,
    ino: u64,
    size: i64,
    mtime: (i64, i64),
    is_dir: bool,
}

impl Looked {
    pub(super) fn is_dir(&self) -> bool {
        self.is_dir
    }
}

impl Place {
    /// Opens the folder, and makes it if it does not exist.
    pub(super) fn new(path: &Path) -> io::Result<Place> {
        std::fs::create_dir_all(path)?;
        Place::open(path)
    }

    pub(super) fn open(path: &Path) -> io::Result<Place> {
        // The root itself may be reached through a link: it is the user's own path to their work tree.
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Place { root: rustix::fs::open(path, flags, Mode::empty())?, path: path.to_owned() })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The folder that a path lies in, and its name there.
    fn parent<'a>(&self, path: &'a GitPath) -> io::Result<(OwnedFd, &'a [u8])> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut dir = openat(&self.root, ".", flags, Mode::empty())?;
        let mut rest = path.as_bytes();
        while let Some(at) = rest.iter().position(|byte| *byte == b'/') {
            let (name, after) = (rest.get(..at).unwrap_or_default(), rest.get(at + 1..).unwrap_or_default());
            dir = openat(&dir, name, flags, Mode::empty())?;
            rest = after;
        }
        Ok((dir, rest))
    }

    /// What lies at a path. Something other than a folder above the path counts as nothing there.
    pub(super) fn look(&self, path: &GitPath) -> io::Result<Option<Looked>> {
        let found = self
            .parent(path)
            .and_then(|(dir, name)| statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW).map_err(io::Error::from));
        match found {
            Ok(stat) => Ok(Some(Looked {
                dev: stat.st_dev,
                ino: stat.st_ino,
                size: stat.st_size,
                mtime: (stat.st_mtime, stat.st_mtime_nsec as i64),
                is_dir: FileType::from_raw_mode(stat.st_mode) == FileType::Directory,
            })),
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Why a path could not be written, removed or replaced, as far as that can be told without trying.
    ///
    /// It is asked for every path before the first one is written, so that most fast-forwards that would fail half-way
    /// do not begin.
    pub(super) fn refuses(&self, path: &GitPath) -> io::Result<()> {
        let mut above = path.clone();
        let found = loop {
            above = up(&above);
            if above.as_bytes().is_empty() || self.look(&above)?.is_some_and(|found| found.is_dir()) {
                break above;
            }
        };
        let dir = if found.as_bytes().is_empty() { self.path.clone() } else { found.under(&self.path) };
        let needed = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
        rustix::fs::accessat(rustix::fs::CWD, &dir, needed, AtFlags::EACCESS)?;
        fixed(&dir)?;
        let file = path.under(&self.path);
        let (Ok(there), Ok(of)) = (file.symlink_metadata(), dir.metadata()) else { return Ok(()) };
        fixed(&file)?;
        // In a sticky folder everybody may write, but only the owner of a file may remove it.
        use std::os::unix::fs::MetadataExt;
        let me = rustix::process::geteuid();
        let sticky = of.mode() & 0o1000 != 0 && !me.is_root();
        if sticky && there.uid() != me.as_raw() && of.uid() != me.as_raw() {
            return Err(Errno::PERM.into());
        }
        Ok(())
    }

    /// Makes the folders above a path. Those that exist stay as they are.
    pub(super) fn make_above(&self, path: &GitPath) -> io::Result<()> {
        let above = up(path);
        if above.as_bytes().is_empty() || self.look(&above)?.is_some_and(|found| found.is_dir()) {
            return Ok(());
        }
        self.make_above(&above)?;
        self.make(&above)
    }

    /// Makes one folder, unless it exists.
    pub(super) fn make(&self, path: &GitPath) -> io::Result<()> {
        let (dir, name) = self.parent(path)?;
        match mkdirat(&dir, name, Mode::from_raw_mode(0o777)) {
            // Somebody else may have made the folder, but only a real folder will do.
            Err(Errno::EXIST) if self.look(path)?.is_some_and(|found| found.is_dir()) => Ok(()),
            other => Ok(other?),
        }
    }

    /// Removes a folder if nothing is in it; true if it did.
    pub(super) fn remove_empty(&self, path: &GitPath) -> bool {
        self.parent(path).is_ok_and(|(dir, name)| unlinkat(&dir, name, AtFlags::REMOVEDIR).is_ok())
    }

    /// Moves what lies here to the same path elsewhere. On another file system it is removed, because git has its
    /// content.
    pub(super) fn take_away(&self, path: &GitPath, to: &Place) -> io::Result<()> {
        to.make_above(path)?;
        let ((dir, name), (there, same)) = (self.parent(path)?, to.parent(path)?);
        match renameat(&dir, name, &there, same) {
            // The file was compared with the old commit before, so its content can be made again.
            Err(Errno::XDEV) => Ok(unlinkat(&dir, name, AtFlags::empty())?),
            other => Ok(other?),
        }
    }

    /// Moves an empty folder, or one with nothing but empty folders in it, to the same path elsewhere.
    pub(super) fn take_folder_away(&self, path: &GitPath, to: &Place) -> io::Result<()> {
        to.make_above(path)?;
        let ((dir, name), (there, same)) = (self.parent(path)?, to.parent(path)?);
        match renameat(&dir, name, &there, same) {
            Err(Errno::XDEV) => Ok(unlinkat(&dir, name, AtFlags::REMOVEDIR)?),
            other => Ok(other?),
        }
    }

    /// Puts the file of another place at a path where nothing is.
    ///
    /// It never replaces a file: one that appeared since the path was examined is the user's.
    pub(super) fn put(&self, path: &GitPath, from: &Place) -> io::Result<()> {
        self.make_above(path)?;
        let ((dir, name), (there, same)) = (self.parent(path)?, from.parent(path)?);
        match renameat_with(&there, same, &dir, name, RenameFlags::NOREPLACE) {
            // This file system cannot rename without replacing, so the check comes right before the rename.
            Err(Errno::INVAL | Errno::NOSYS) if self.look(path)?.is_none() => {
                Ok(renameat(&there, same, &dir, name)?)
            }
            Err(Errno::XDEV) => {
                let beside = beside(name);
                copy(&there, same, &dir, &beside)?;
                // A hard link fails where the name is taken, which a rename would not.
                match linkat(&dir, beside.as_slice(), &dir, name, AtFlags::empty()) {
                    Ok(()) => Ok(unlinkat(&dir, beside.as_slice(), AtFlags::empty())?),
                    Err(Errno::EXIST) => Err(Errno::EXIST.into()),
                    Err(_) => Ok(renameat(&dir, beside.as_slice(), &dir, name)?),
                }
            }
            other => Ok(other?),
        }
    }

    /// Puts the file of another place where the examined file is, which goes to the other place. If another file lies
    /// there by now, it stays.
    pub(super) fn swap(&self, path: &GitPath, from: &Place, looked: &Looked) -> io::Result<()> {
        let ((dir, name), (there, same)) = (self.parent(path)?, from.parent(path)?);
        let exchange = || renameat_with(&there, same, &dir, name, RenameFlags::EXCHANGE);
        match exchange() {
            // Looked at after the exchange, since before it another file could still take the place.
            Ok(()) if from.look(path)?.as_ref() == Some(looked) => Ok(()),
            Ok(()) => {
                exchange()?;
                Err(changed_meanwhile())
            }
            Err(Errno::INVAL | Errno::NOSYS | Errno::XDEV) => self.replace(path, from, looked),
            Err(errno) => Err(errno.into()),
        }
    }

    /// The same where two files cannot change places: the new one is written beside the old one and takes its name.
    fn replace(&self, path: &GitPath, from: &Place, looked: &Looked) -> io::Result<()> {
        let ((dir, name), (there, same)) = (self.parent(path)?, from.parent(path)?);
        let beside = beside(name);
        copy(&there, same, &dir, &beside)?;
        if self.look(path)?.as_ref() != Some(looked) {
            unlinkat(&dir, beside.as_slice(), AtFlags::empty())?;
            return Err(changed_meanwhile());
        }
        Ok(renameat(&dir, beside.as_slice(), &dir, name)?)
    }

    /// Removes what a crash may have left beside a path.
    pub(super) fn sweep_beside(&self, path: &GitPath) {
        if let Ok((dir, name)) = self.parent(path) {
            let _ = unlinkat(&dir, beside(name).as_slice(), AtFlags::empty());
        }
    }

    /// Flushes these files, or the folders they lie in, to the disk.
    pub(super) fn flush<'a>(&self, paths: impl Iterator<Item = &'a GitPath>) -> io::Result<()> {
        let paths: std::collections::BTreeSet<&GitPath> = paths.collect();
        if paths.len() > FLUSHED_SINGLY {
            let dir = File::open(&self.path)?;
            return Ok(rustix::fs::syncfs(&dir)?);
        }
        for path in paths {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let opened = match path.as_bytes() {
                [] => File::open(&self.path).map(OwnedFd::from),
                _ => self.parent(path).and_then(|(dir, name)| Ok(openat(&dir, name, flags, Mode::empty())?)),
            };
            match opened {
                Ok(file) => rustix::fs::fsync(&file)?,
                // A link has no content of its own, and a folder that is gone has nothing to flush.
                Err(error) if is_absent(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Whether an error says that nothing is there, or only a link.
fn is_absent(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    matches!(errno, Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP))
}

fn changed_meanwhile() -> io::Error {
    io::Error::other("it changed meanwhile")
}

/// The folder above a path; empty for the root.
pub(super) fn up(path: &GitPath) -> GitPath {
    let bytes = path.as_bytes();
    let at = bytes.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
    GitPath::from(bytes.get(..at).unwrap_or_default())
}

/// The name under which a file is written before it takes its place.
fn beside(name: &[u8]) -> Vec<u8> {
    // Cut, so that the whole is not longer than a file name may be.
    [b".", name.get(..name.len().min(200)).unwrap_or_default(), b".tribunal-forward"].concat()
}

/// Copies a file or a link to a name that is free, or was ours.
fn copy(from: &OwnedFd, name: &[u8], to: &OwnedFd, copy: &[u8]) -> io::Result<()> {
    let _ = unlinkat(to, copy, AtFlags::empty());
    let stat = statat(from, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
        let target = readlinkat(from, name, Vec::new())?;
        return Ok(symlinkat(target.as_c_str(), to, copy)?);
    }
    let read = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let write = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let mut source = File::from(openat(from, name, read, Mode::empty())?);
    let mut target = File::from(openat(to, copy, write, Mode::from_raw_mode(stat.st_mode & 0o777))?);
    io::copy(&mut source, &mut target)?;
    target.sync_all()
}

/// Refuses what nobody may change, root included: immutable and append-only files.
fn fixed(path: &Path) -> io::Result<()> {
    let flags = AtFlags::SYMLINK_NOFOLLOW;
    let Ok(found) = statx(rustix::fs::CWD, path, flags, StatxFlags::empty()) else { return Ok(()) };
    match found.stx_attributes.intersects(StatxAttributes::IMMUTABLE | StatxAttributes::APPEND) {
        true => Err(Errno::PERM.into()),
        false => Ok(()),
    }
}
