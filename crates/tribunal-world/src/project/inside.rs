//! Reads and writes files in a tree that an agent or a tool could write to, from outside its sandbox. No symbolic link
//! is followed, neither one that was left there nor one that appears meanwhile: each folder is opened relative to the
//! one above it. A link in the place of a file is replaced, never written through.
//!
//! Use these functions instead of `std::fs` for every path below such a tree. We have the user's rights, so a link that
//! we followed would let an agent read or overwrite any file of the user.

use rustix::fs::{AtFlags, CWD, Mode, OFlags, mkdirat, openat, statat, symlinkat, unlinkat};
use rustix::io::Errno;
use std::fs::{self, File};
use std::io::{self, Error, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Component, Path};
use tribunal_core::defence::{Defence, stands};
use tribunal_git::GitError;

/// A longer document is refused: nobody wrote it.
pub const DOCUMENT_MAX: u64 = 64 << 20;

/// What happens to a folder that does not exist.
#[derive(Clone, Copy)]
enum Missing {
    Refused,
    Made,
}

/// Reads a regular file of a tree, if no part of its path is a link.
pub(crate) fn read(tree: &Path, path: &str) -> Option<Vec<u8>> {
    if !stands(Defence::NoFollow) {
        return fs::read(tree.join(path)).ok();
    }
    let (folder, name) = place(tree, path, Missing::Refused).ok()?;
    plain(&folder, name)
}

/// Writes a file of a tree as a new file; the executable bits of the old one stay. A part of the path that is not a
/// folder is an error.
///
/// The file is created anew rather than overwritten: the old one could be a hard link to a file outside the tree.
pub(crate) fn write(tree: &Path, path: &str, bytes: &[u8]) -> Result<(), GitError> {
    let at = tree.join(path);
    let io = |source| GitError::Io { path: at.clone(), source };
    if !stands(Defence::NoFollow) {
        let made = at.parent().map_or(Ok(()), fs::create_dir_all);
        return made.and_then(|()| fs::write(&at, bytes)).map_err(io);
    }
    let written =
        place(tree, path, Missing::Made).and_then(|(folder, name)| anew(&folder, name)?.write_all(bytes));
    written.map_err(io)
}

/// Creates a symbolic link in a tree, unless the name is taken.
pub(crate) fn link(tree: &Path, path: &str, target: &Path) -> io::Result<()> {
    let (folder, name) = place(tree, path, Missing::Refused)?;
    match statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => Ok(symlinkat(target, &folder, name)?),
        // Whatever has the name keeps it.
        other => Ok(other.map(drop)?),
    }
}

/// Whether anything exists at a path, dangling links included.
pub(crate) fn is_taken(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Reads a regular file as text, replacing invalid UTF-8.
pub(crate) fn text(path: &Path) -> Option<String> {
    let bytes = plain(CWD, path)?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The bytes of a regular file. A link, a folder, a pipe and an oversized file are errors.
pub fn read_plain(path: &Path) -> std::io::Result<Vec<u8>> {
    // `NONBLOCK` so that a pipe does not block us; it is refused below.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(openat(CWD, path, flags, Mode::empty())?);
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(std::io::Error::other("it is not a file"));
    }
    if meta.len() > DOCUMENT_MAX {
        return Err(std::io::Error::other(format!("it has more than {DOCUMENT_MAX} bytes")));
    }
    // The file may have grown since it was measured.
    let mut bytes = Vec::new();
    file.take(DOCUMENT_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Creates the folders that a file lies in. A part of the path that is not a folder is an error.
pub(crate) fn folders(tree: &Path, path: &str) -> io::Result<()> {
    place(tree, path, Missing::Made).map(drop)
}

/// Fails if a path of a tree is not a folder any more, or is reached through a link.
pub(crate) fn is_folder(tree: &Path, path: &str) -> io::Result<()> {
    walk(tree, Path::new(path), Missing::Refused).map(drop)
}

/// The open folder that a path of a tree lies in, and the file's name there.
fn place<'a>(tree: &Path, path: &'a str, missing: Missing) -> io::Result<(OwnedFd, &'a Path)> {
    let path = Path::new(path);
    let name = path.file_name().ok_or_else(|| Error::other(format!("{} names no file", path.display())))?;
    Ok((walk(tree, path.parent().unwrap_or(Path::new("")), missing)?, Path::new(name)))
}

/// Opens a folder of a tree, one path component at a time.
///
/// The tree itself may be opened by its path: it lies in a folder that no agent can write to.
fn walk(tree: &Path, path: &Path, missing: Missing) -> io::Result<OwnedFd> {
    const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
    if let Missing::Made = missing {
        fs::create_dir_all(tree)?;
    }
    let mut at = openat(CWD, tree, FOLDER, Mode::empty())?;
    for part in path.components() {
        let name = match part {
            Component::Normal(name) => name,
            Component::CurDir => continue,
            _ => return Err(Error::other(format!("{} leads out of the tree", path.display()))),
        };
        if let Missing::Made = missing {
            match mkdirat(&at, name, Mode::from_raw_mode(0o777)) {
                // Whatever exists may be a link; the `openat` below refuses it.
                Ok(()) | Err(Errno::EXIST) => {}
                // A root or `..` would leave the folder that was just opened without following a link.
                Err(errno) => return Err(errno.into()),
            }
        }
        at = match openat(&at, name, FOLDER | OFlags::NOFOLLOW, Mode::empty()) {
            Ok(folder) => folder,
            Err(Errno::NOTDIR | Errno::LOOP) => {
                return Err(Error::other(format!("{} is no folder any more", tree.join(path).display())));
            }
            Err(errno) => return Err(errno.into()),
        };
    }
    Ok(at)
}

/// Reads a regular file. `NONBLOCK` keeps a pipe in its place from blocking us.
fn plain(folder: impl std::os::fd::AsFd, name: &Path) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut file = File::from(openat(folder, name, flags, Mode::empty()).ok()?);
    let mut bytes = Vec::new();
    // Asked of the open file and not of the path, which may lead elsewhere by now.
    file.metadata().ok()?.is_file().then(|| file.read_to_end(&mut bytes).ok())??;
    Some(bytes)
}

/// Creates a new file in the place of whatever is there.
fn anew(folder: &OwnedFd, name: &Path) -> io::Result<File> {
    let mode = match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(old) => {
            unlinkat(folder, name, AtFlags::empty())?;
            let plain = rustix::fs::FileType::from_raw_mode(old.st_mode).is_file();
            if plain { Mode::from_raw_mode(old.st_mode & 0o777) } else { NEW }
        }
        Err(_) => NEW,
    };
    // `EXCL`, because somebody could put a link there again after the `unlink`.
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(File::from(openat(folder, name, flags, mode)?))
}

/// The mode of a file that did not exist before.
const NEW: Mode = Mode::from_raw_mode(0o644);

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn nothing_leaves_a_tree_by_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let (tree, out) = (dir.path().join("tree"), dir.path().join("out"));
        fs::create_dir_all(tree.join("src")).unwrap();
        fs::create_dir(&out).unwrap();
        fs::write(out.join("mine"), "mine").unwrap();
        symlink(out.join("mine"), tree.join("src/link")).unwrap();
        symlink(out.join("new"), tree.join("src/nowhere")).unwrap();
        symlink(&out, tree.join("folder")).unwrap();
        fs::hard_link(out.join("mine"), tree.join("src/hard")).unwrap();
        fs::write(tree.join("src/run"), "old").unwrap();
        fs::set_permissions(tree.join("src/run"), fs::Permissions::from_mode(0o755)).unwrap();
        for name in ["src/link", "src/nowhere", "src/hard", "src/run", "a/b/new"] {
            write(&tree, name, b"ours").unwrap();
            assert_eq!(read(&tree, name).as_deref(), Some(&b"ours"[..]), "{name}");
        }
        assert!(write(&tree, "folder/mine", b"ours").is_err());
        assert_eq!(read(&tree, "folder/mine"), None);
        assert!(link(&tree, "folder/deep", &out).is_err() && is_folder(&tree, "folder").is_err());
        assert!(is_folder(&tree, "src").is_ok() && is_folder(&tree, "").is_ok());
        assert!(is_folder(&tree, "../out").is_err() && write(&tree, "../out/new", b"ours").is_err());
        link(&tree, "src/borrowed", &out).unwrap();
        link(&tree, "src/run", &out).unwrap();
        assert_eq!(fs::read_link(tree.join("src/borrowed")).unwrap(), out);
        assert_eq!(read(&tree, "src/run").as_deref(), Some(&b"ours"[..]), "what has the name keeps it");
        assert_eq!(text(&tree.join("src/borrowed")), None);
        let names: Vec<_> = fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["mine"]);
        assert_eq!(fs::read_to_string(out.join("mine")).unwrap(), "mine");
        assert_eq!(fs::metadata(tree.join("src/run")).unwrap().permissions().mode() & 0o777, 0o755);
    }
}
