//! The scratch folders of launches: temporary files, and a home in which the entries that a launch needs appear as
//! mounts. Making one takes a file or folder for each mount, so a folder that a launch left unchanged is reused.
//!
//! A folder is reused only after a moment in which no launch of the run was alive, because a process can pass an open
//! directory handle to another launch. A folder with anything else in it stays where it is, for people to look at.
//! Links are never followed here.

use super::lock;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// How many unchanged folders are kept for later launches.
const SPARE_MAX: usize = 64;

/// The content of an unused scratch folder, by path.
///
/// A folder that one launch left unchanged fits another exactly if their skeletons are equal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Skeleton(BTreeMap<PathBuf, Bone>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Bone {
    /// A folder, made before the launch.
    Folder,
    /// The target of a mount, made with the sandbox: an empty folder or file.
    Mount { folder: bool },
}

impl Skeleton {
    /// Adds a folder and the folders above it.
    pub(crate) fn folder(&mut self, path: &Path) {
        for above in path.ancestors().filter(|above| !above.as_os_str().is_empty()) {
            self.0.insert(above.to_owned(), Bone::Folder);
        }
    }

    /// Adds the target of a mount, a folder or a file. Folders above it that are missing are made with it.
    pub(crate) fn mount(&mut self, path: &Path, folder: bool) {
        for above in path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()) {
            self.0.entry(above.to_owned()).or_insert(Bone::Folder);
        }
        self.0.entry(path.to_owned()).or_insert(Bone::Mount { folder });
    }

    /// Makes the folders. The targets of mounts are made with the sandbox.
    fn make(&self, scratch: &Path) -> io::Result<()> {
        fs::create_dir_all(scratch)?;
        for (path, bone) in &self.0 {
            match bone {
                Bone::Folder => fs::create_dir_all(scratch.join(path))?,
                Bone::Mount { .. } => {}
            }
        }
        Ok(())
    }

    /// Whether a folder holds exactly this, as it was made. All folders must have the owner and mode of the folder
    /// above them all.
    fn is_all_of(&self, scratch: &Path) -> bool {
        let model = scratch.parent().and_then(|own| own.symlink_metadata().ok());
        let fit = |path: &Path| model.as_ref().is_some_and(|model| is_plain(path, model));
        fit(scratch) && self.count(scratch, Path::new(""), &fit) == Some(self.0.len())
    }

    /// How many entries are in a folder and below it; none if one of them is not as it should be.
    fn count(&self, scratch: &Path, inside: &Path, fit: &dyn Fn(&Path) -> bool) -> Option<usize> {
        let mut seen = 0;
        for entry in fs::read_dir(scratch.join(inside)).ok()? {
            let entry = entry.ok()?;
            let (path, name) = (entry.path(), inside.join(entry.file_name()));
            let meta = path.symlink_metadata().ok()?;
            let right = match self.0.get(&name)? {
                Bone::Folder => meta.is_dir() && fit(&path),
                Bone::Mount { folder: true } => meta.is_dir() && fit(&path),
                Bone::Mount { folder: false } => {
                    // A second hard link would be a way to write into the file from elsewhere.
                    meta.is_file() && meta.len() == 0 && meta.nlink() == 1 && has_no_attributes(&path)
                }
            };
            // The targets inside a mounted folder are entries of their own, so every folder is looked into.
            let below = if meta.is_dir() { self.count(scratch, &name, fit)? } else { 0 };
            seen += right.then_some(1 + below)?;
        }
        Some(seen)
    }
}

/// Whether a folder has the same owner and mode as the model, and no extended attributes.
fn is_plain(path: &Path, model: &fs::Metadata) -> bool {
    let same = |meta: fs::Metadata| meta.mode() == model.mode() && meta.uid() == model.uid();
    has_no_attributes(path) && path.symlink_metadata().is_ok_and(same)
}

/// Whether a path has no extended attributes, except for the label that SELinux gives to every file.
///
/// A default access list would apply to the files of the next launch, and any other attribute could carry a message to
/// it.
fn has_no_attributes(path: &Path) -> bool {
    let mut list = [0_u8; 1024];
    match rustix::fs::llistxattr(path, &mut list[..]) {
        Ok(length) => {
            let names = list.get(..length).unwrap_or(&list).split(|byte| *byte == 0);
            names.into_iter().all(|name| name.is_empty() || name == b"security.selinux")
        }
        // A file system without extended attributes cannot have any. Every other error counts as a doubt.
        Err(error) => error == rustix::io::Errno::OPNOTSUPP,
    }
}

/// The scratch folders of a run.
#[derive(Default)]
pub(crate) struct Scratches(Mutex<Folders>);

#[derive(Default)]
struct Folders {
    used: HashMap<PathBuf, Skeleton>,
    /// Left by their launches. Another launch that is still alive may have been given an open handle.
    resting: Vec<(PathBuf, Skeleton)>,
    /// Nobody is left who could have them open.
    spare: Vec<(PathBuf, Skeleton)>,
}

impl Folders {
    /// Records that a launch is gone. If no other is alive, nobody has anything open, and the resting folders become
    /// spare.
    fn gone(&mut self, scratch: &Path) -> Option<Skeleton> {
        let skeleton = self.used.remove(scratch);
        if self.used.is_empty() {
            self.spare.append(&mut self.resting);
        }
        skeleton
    }
}

impl Scratches {
    /// Makes a scratch folder, from an unchanged one if there is one.
    pub(crate) fn make(&self, scratch: &Path, skeleton: &Skeleton) -> io::Result<()> {
        let mut folders = lock(&self.0);
        // A repeated check uses the same path. What is there now belongs to the new launch and is not spare.
        folders.spare.retain(|(path, _)| path != scratch);
        folders.resting.retain(|(path, _)| path != scratch);
        folders.used.insert(scratch.to_owned(), skeleton.clone());
        drop(folders);
        if scratch.symlink_metadata().is_ok() {
            // The earlier user could have left a link for us to follow.
            fs::remove_dir_all(scratch)?;
        }
        if self.take(scratch, skeleton) { Ok(()) } else { skeleton.make(scratch) }
    }

    fn take(&self, scratch: &Path, skeleton: &Skeleton) -> bool {
        loop {
            let spare = &mut lock(&self.0).spare;
            let Some(at) = spare.iter().rposition(|(_, had)| had == skeleton) else { return false };
            let (old, _) = spare.remove(at);
            // Compared again at the last moment: between its release and now nothing proves that it is still unchanged.
            if skeleton.is_all_of(&old) && fs::rename(&old, scratch).is_ok() {
                return true;
            }
        }
    }

    /// Releases the folder of a launch of which nothing is left. It may be reused once nobody else is alive.
    pub(crate) fn release(&self, scratch: &Path) {
        let mut folders = lock(&self.0);
        let Some(skeleton) = folders.used.get(scratch).cloned() else { return };
        if folders.resting.len() + folders.spare.len() < SPARE_MAX {
            folders.resting.push((scratch.to_owned(), skeleton));
        }
        folders.gone(scratch);
    }

    /// Releases the folder of a launch that never began.
    pub(crate) fn unused(&self, scratch: &Path) {
        lock(&self.0).gone(scratch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn skeleton() -> Skeleton {
        let mut skeleton = Skeleton::default();
        skeleton.folder(Path::new("tmp"));
        skeleton.folder(Path::new("home/.config"));
        skeleton.mount(Path::new("home/.profile"), false);
        skeleton.mount(Path::new("home/src/project"), true);
        skeleton
    }

    /// A note in an extended attribute; where there are none, something else that is not bare.
    fn note(path: &Path) {
        let flags = rustix::fs::XattrFlags::empty();
        if rustix::fs::setxattr(path, "user.note", b"for the next", flags).is_err() {
            fs::write(path.parent().unwrap().join("note"), "").unwrap();
        }
    }

    /// A folder as walls would leave it, when this was done in it; is it used again?
    fn again(deed: impl FnOnce(&Path)) -> bool {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (folder.path().join("one/scratch"), folder.path().join("two/scratch"));
        [&one, &two].iter().for_each(|scratch| fs::create_dir_all(scratch.parent().unwrap()).unwrap());
        let (scratches, skeleton) = (Scratches::default(), skeleton());
        scratches.make(&one, &skeleton).unwrap();
        fs::create_dir_all(one.join("home/src/project")).unwrap();
        fs::write(one.join("home/.profile"), "").unwrap();
        let inode = |path: &Path| fs::metadata(path).unwrap().ino();
        let before = inode(&one.join("home"));
        deed(&one);
        scratches.release(&one);
        scratches.make(&two, &skeleton).unwrap();
        assert!(two.join("home/.config").is_dir() && two.join("tmp").is_dir());
        let used = inode(&two.join("home")) == before;
        assert_eq!(one.exists(), !used);
        used
    }

    #[test]
    fn a_bare_folder_is_used_again_and_no_other() {
        assert!(again(|_| {}));
        type Deed<'a> = &'a dyn Fn(&Path);
        let other: [(&str, Deed<'_>); 12] = [
            ("a note on a folder", &|root| note(&root.join("tmp"))),
            ("a note on a file", &|root| note(&root.join("home/.profile"))),
            ("a file", &|root| fs::write(root.join("home/new"), "").unwrap()),
            ("a hidden folder", &|root| fs::create_dir(root.join("tmp/.x")).unwrap()),
            ("below", &|root| fs::write(root.join("home/.config/x"), "").unwrap()),
            ("in a mount", &|root| fs::write(root.join("home/src/project/x"), "").unwrap()),
            ("bytes", &|root| fs::write(root.join("home/.profile"), "evil").unwrap()),
            ("links", &|root| fs::hard_link(root.join("home/.profile"), root.join("../p")).unwrap()),
            ("gone", &|root| fs::remove_dir(root.join("home/.config")).unwrap()),
            ("mode", &|root| {
                fs::set_permissions(root.join("tmp"), fs::Permissions::from_mode(0o1777)).unwrap();
            }),
            ("a link", &|root| symlink("/", root.join("home/link")).unwrap()),
            ("a link for a folder", &|root| {
                fs::rename(root.join("tmp"), root.join("../tmp")).unwrap();
                symlink("../tmp", root.join("tmp")).unwrap();
            }),
        ];
        for (name, deed) in other {
            // The folder stays, with what was left in it.
            assert!(!again(deed), "{name}");
        }
    }

    #[test]
    fn a_folder_in_use_is_never_spare() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| {
            fs::create_dir_all(folder.path().join(name)).unwrap();
            folder.path().join(name).join("scratch")
        };
        let (one, two, three) = (at("one"), at("two"), at("three"));
        let (scratches, mut skeleton) = (Scratches::default(), Skeleton::default());
        skeleton.folder(Path::new("home"));
        let make = |scratch: &Path| scratches.make(scratch, &skeleton).unwrap();
        make(&one);
        make(&two);
        scratches.release(&one);
        // The other one may have been handed something of it.
        make(&three);
        assert!(one.exists() && three.exists());
        scratches.release(&three);
        scratches.release(&two);
        // The same check again: its old folder is deleted first.
        fs::remove_dir_all(one.parent().unwrap()).unwrap();
        fs::create_dir_all(one.parent().unwrap()).unwrap();
        make(&one);
        make(&three);
        assert!(one.exists() && three.exists());
        // And again, where it was left.
        scratches.release(&one);
        make(&one);
        make(&two);
        assert!(one.exists() && two.exists());
    }

    #[test]
    fn a_folder_for_something_else_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).join("scratch");
        ["one", "two"].iter().for_each(|name| fs::create_dir(folder.path().join(name)).unwrap());
        let (scratches, mut skeleton) = (Scratches::default(), Skeleton::default());
        skeleton.folder(Path::new("home"));
        scratches.make(&at("one"), &skeleton).unwrap();
        scratches.release(&at("one"));
        skeleton.mount(Path::new("home/.profile"), false);
        scratches.make(&at("two"), &skeleton).unwrap();
        assert!(at("one").exists() && at("two").exists());
    }
}
