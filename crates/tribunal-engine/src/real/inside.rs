//! Files of a tree that an agent or a tool had: read and written by us, who stand outside its walls. No link that was left
//! there is ever followed; what stands in a file's place is taken away, never written through.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{Error, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tribunal_core::defence::{Defence, stands};
use tribunal_git::GitError;

/// Reads a file of a tree whose agent is gone, if it is a plain one in plain folders.
pub(crate) fn read(tree: &Path, path: &str) -> Option<Vec<u8>> {
    let mut at = tree.to_path_buf();
    let mut parts = Path::new(path).components().peekable();
    while let Some(part) = parts.next() {
        at.push(part);
        let meta = at.symlink_metadata().ok()?;
        let fits = if parts.peek().is_some() { meta.is_dir() } else { meta.is_file() };
        if !fits && stands(Defence::NoFollow) {
            return None;
        }
    }
    fs::read(at).ok()
}

/// Writes a file of a tree whose agent is gone, anew: nothing else that the old one was a name of changes. A folder on the
/// way that is none is refused; whether the file may be executed stays.
pub(crate) fn write(tree: &Path, path: &str, bytes: &[u8]) -> Result<(), GitError> {
    let at = tree.join(path);
    let io = |source| GitError::Io { path: at.clone(), source };
    if !stands(Defence::NoFollow) {
        let made = at.parent().map_or(Ok(()), fs::create_dir_all);
        return made.and_then(|()| fs::write(&at, bytes)).map_err(io);
    }
    folders(tree, path).and_then(|()| anew(&at)?.write_all(bytes)).map_err(io)
}

/// Whether there is anything at a path, a link that leads nowhere included.
pub(crate) fn is_taken(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Reads a file as text if it is a plain one.
pub(crate) fn text(path: &Path) -> Option<String> {
    let plain = path.symlink_metadata().ok()?.is_file();
    let bytes = plain.then(|| fs::read(path).ok())??;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Makes the folders a file lies in; one that is none is refused.
pub(crate) fn folders(tree: &Path, path: &str) -> std::io::Result<()> {
    fs::create_dir_all(tree)?;
    let mut at: PathBuf = tree.to_path_buf();
    for part in Path::new(path).parent().into_iter().flat_map(Path::components) {
        at.push(part);
        match at.symlink_metadata() {
            Ok(meta) if meta.is_dir() => {}
            Ok(_) => return Err(Error::other(format!("{} is no folder any more", at.display()))),
            Err(_) => fs::create_dir(&at)?,
        }
    }
    Ok(())
}

/// A new file in the place of whatever is there.
fn anew(at: &Path) -> std::io::Result<File> {
    let old: Option<Metadata> = at.symlink_metadata().ok();
    if old.is_some() {
        fs::remove_file(at)?;
    }
    let mode = old.filter(Metadata::is_file).map_or(0o644, |meta| meta.permissions().mode() & 0o777);
    OpenOptions::new().write(true).create_new(true).mode(mode).open(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

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
        let names: Vec<_> = fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["mine"]);
        assert_eq!(fs::read_to_string(out.join("mine")).unwrap(), "mine");
        assert_eq!(fs::metadata(tree.join("src/run")).unwrap().permissions().mode() & 0o777, 0o755);
    }
}
