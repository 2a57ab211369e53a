//! The folders that launches may write to: temporary files, and a home in which what a launch needs appears. Making one
//! takes an entry for each of those, so one that a launch left as bare as it got it is given to the next; but only after a
//! moment in which no launch was there at all, for one can hand an open folder to another. Whatever else is in it, it
//! stays where it is, for people to look at. Links are never followed here.

use super::lock;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// How many bare folders are kept for launches to come.
const SPARE_MAX: usize = 64;

/// What is in a scratch folder while nobody has used it, by its path in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Skeleton(BTreeMap<PathBuf, Bone>);

/// One entry of it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Bone {
    /// A folder, made before the launch.
    Folder,
    /// What something is mounted on, made with the walls: an empty folder or file.
    Mount { folder: bool },
}

impl Skeleton {
    /// A folder is in it.
    pub(crate) fn folder(&mut self, path: &Path) {
        for above in path.ancestors().filter(|above| !above.as_os_str().is_empty()) {
            self.0.insert(above.to_owned(), Bone::Folder);
        }
    }

    /// Something is mounted in it, a folder or a file; folders that are not there yet are made with it.
    pub(crate) fn mount(&mut self, path: &Path, folder: bool) {
        for above in path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()) {
            self.0.entry(above.to_owned()).or_insert(Bone::Folder);
        }
        self.0.entry(path.to_owned()).or_insert(Bone::Mount { folder });
    }

    /// Makes it, but for what is made with the walls.
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

    /// Whether a folder holds this and nothing else, as it was made: folders have the owner and mode of the one above all of them.
    fn is_all_of(&self, scratch: &Path) -> bool {
        let model = scratch.parent().and_then(|own| own.symlink_metadata().ok());
        let fit = |path: &Path| model.as_ref().is_some_and(|model| is_plain(path, model));
        fit(scratch) && self.count(scratch, Path::new(""), &fit) == Some(self.0.len())
    }

    /// How many entries there are in a folder and below it; none when one is not as it should be.
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
                    meta.is_file() && meta.len() == 0 && meta.nlink() == 1 && has_no_attributes(&path)
                }
            };
            // What is mounted on in a folder of mounts is below it in the list, so all of them are looked into.
            let below = if meta.is_dir() { self.count(scratch, &name, fit)? } else { 0 };
            seen += right.then_some(1 + below)?;
        }
        Some(seen)
    }
}

/// A folder of the same owner and mode, with nothing written about it.
fn is_plain(path: &Path, model: &fs::Metadata) -> bool {
    let same = |meta: fs::Metadata| meta.mode() == model.mode() && meta.uid() == model.uid();
    has_no_attributes(path) && path.symlink_metadata().is_ok_and(same)
}

/// No access list that new files would get, and no message; but the label that the system gives to every file.
fn has_no_attributes(path: &Path) -> bool {
    let mut list = [0_u8; 1024];
    match rustix::fs::llistxattr(path, &mut list[..]) {
        Ok(length) => {
            let names = list.get(..length).unwrap_or(&list).split(|byte| *byte == 0);
            names.into_iter().all(|name| name.is_empty() || name == b"security.selinux")
        }
        Err(error) => error == rustix::io::Errno::OPNOTSUPP,
    }
}

/// The scratch folders of a run.
#[derive(Default)]
pub(crate) struct Scratches(Mutex<Folders>);

#[derive(Default)]
struct Folders {
    used: HashMap<PathBuf, Skeleton>,
    /// Left by their launch, which may have handed an open folder to another one that is still there.
    resting: Vec<(PathBuf, Skeleton)>,
    /// Nobody is left who could have them open.
    spare: Vec<(PathBuf, Skeleton)>,
}

impl Folders {
    /// A launch is gone. When no other is there either, nobody has anything open.
    fn gone(&mut self, scratch: &Path) -> Option<Skeleton> {
        let skeleton = self.used.remove(scratch);
        if self.used.is_empty() {
            self.spare.append(&mut self.resting);
        }
        skeleton
    }
}

impl Scratches {
    /// Makes a scratch folder, of one that was left bare if there is such a one.
    pub(crate) fn make(&self, scratch: &Path, skeleton: &Skeleton) -> io::Result<()> {
        let mut folders = lock(&self.0);
        // A check that is run again is in the same place: what was there is used now, not spare.
        folders.spare.retain(|(path, _)| path != scratch);
        folders.resting.retain(|(path, _)| path != scratch);
        folders.used.insert(scratch.to_owned(), skeleton.clone());
        drop(folders);
        if scratch.symlink_metadata().is_ok() {
            // Whoever had it could have left a link for us to follow.
            fs::remove_dir_all(scratch)?;
        }
        if self.take(scratch, skeleton) { Ok(()) } else { skeleton.make(scratch) }
    }

    fn take(&self, scratch: &Path, skeleton: &Skeleton) -> bool {
        loop {
            let spare = &mut lock(&self.0).spare;
            let Some(at) = spare.iter().rposition(|(_, had)| had == skeleton) else { return false };
            let (old, _) = spare.remove(at);
            if skeleton.is_all_of(&old) && fs::rename(&old, scratch).is_ok() {
                return true;
            }
        }
    }

    /// A launch has ended, and nothing of it is left: its folder may be used again, once nobody else is there.
    pub(crate) fn release(&self, scratch: &Path) {
        let mut folders = lock(&self.0);
        let Some(skeleton) = folders.used.get(scratch).cloned() else { return };
        if folders.resting.len() + folders.spare.len() < SPARE_MAX {
            folders.resting.push((scratch.to_owned(), skeleton));
        }
        folders.gone(scratch);
    }

    /// A launch never was: its folder is nobody's.
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
