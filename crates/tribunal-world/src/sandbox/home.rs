//! The folder that a launch may write to: temporary files, and a home that is empty except for what is mounted or
//! copied there.
//!
//! Whatever a program leaves in it is gone afterwards. So no agent can leave a hook or an instruction in a home for the
//! next one.

use super::plan::MountPlan;
use super::{SandboxHost, SandboxSpec, expand};
use crate::context::scratch::{Scratches, Skeleton};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::io::Write as _;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tribunal_process::{Mount, Mounts};

/// The home within the scratch folder, and the copies that belong elsewhere.
const HOME: &str = "home";
const COPIES: &str = "copies";

/// Files of git in a home, of which launches get a copy without credentials.
pub(crate) const GIT_FILES: [&str; 2] = [".gitconfig", ".config/git/config"];

/// What happens to a place that an agent's row names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Private,
    Read,
    Write,
    Copy,
}

/// The user's git settings, as launches may see them. A file that cannot be read has no copy.
pub(crate) fn git_settings(home: Option<&Path>) -> Vec<(PathBuf, String)> {
    let files = GIT_FILES.into_iter().filter_map(|name| Some((PathBuf::from(name), home?.join(name))));
    let there = files.filter(|(_, file)| file.is_file());
    there.filter_map(|(name, file)| Some((name, tribunal_git::public_config(&file).ok()?))).collect()
}

/// The scratch folder of a launch, before it is made.
///
/// The mounts are planned first, because the folder needs a mount point for each of them.
pub(super) struct HomeLayout {
    home: PathBuf,
    scratch: PathBuf,
    skeleton: Skeleton,
    /// Files to copy, and where to.
    copies: Vec<(PathBuf, PathBuf)>,
    /// Files that are written for it.
    texts: Vec<(PathBuf, String)>,
}

impl HomeLayout {
    pub(super) fn new(scratch: PathBuf, home: Option<&Path>) -> HomeLayout {
        let mut skeleton = Skeleton::default();
        skeleton.folder(Path::new("tmp"));
        skeleton.folder(Path::new(HOME));
        HomeLayout {
            home: home.unwrap_or(Path::new("/")).to_owned(),
            scratch,
            skeleton,
            copies: Vec::new(),
            texts: Vec::new(),
        }
    }

    /// The path of the scratch folder.
    pub(super) fn scratch(&self) -> &Path {
        &self.scratch
    }

    /// Puts the empty home, with git's settings, in the place of the user's.
    pub(super) fn mount(&mut self, plan: &mut MountPlan, settings: &[(PathBuf, String)]) {
        plan.put(&self.scratch.join(HOME), &self.home, true);
        for (name, text) in settings {
            name.parent().into_iter().for_each(|folder| self.skeleton.folder(&Path::new(HOME).join(folder)));
            self.texts.push((Path::new(HOME).join(name), text.clone()));
        }
    }

    /// Puts a text in the place of a file, wherever the file lies.
    pub(super) fn replace(&mut self, plan: &mut MountPlan, file: &Path, text: String) {
        let copy = Path::new(COPIES).join(self.texts.len().to_string());
        self.skeleton.folder(Path::new(COPIES));
        plan.put(&self.scratch.join(&copy), file, false);
        self.texts.push((copy, text));
    }

    /// Gives an agent the places that its row names.
    pub(super) fn give(&mut self, plan: &mut MountPlan, places: &BTreeMap<PathBuf, Place>) {
        for (path, place) in places {
            let at_home = path.starts_with(&self.home);
            let Ok(real) = path.canonicalize() else { continue };
            match place {
                // The agent's own folder is there, but it holds only what the row names.
                Place::Private => {
                    if at_home && real.is_dir() {
                        self.skeleton.folder(&self.inside(path));
                    }
                    if plan.shows(path) {
                        plan.hide(path.clone());
                    }
                }
                Place::Read => plan.put(&real, path, false),
                Place::Write => plan.put(&real, path, true),
                Place::Copy if at_home => {
                    let folder = self.inside(path.parent().unwrap_or(path));
                    self.skeleton.folder(&folder);
                    self.copies.push((real, self.inside(path)));
                }
                // Outside the home there is no folder to copy into, so the copy is mounted.
                Place::Copy => {
                    let copy = Path::new(COPIES).join(path.file_name().unwrap_or_default());
                    self.skeleton.folder(Path::new(COPIES));
                    plan.put(&self.scratch.join(&copy), path, true);
                    self.copies.push((real, copy));
                }
            }
        }
    }

    /// The path in the scratch folder for a path of the home.
    fn inside(&self, path: &Path) -> PathBuf {
        Path::new(HOME).join(path.strip_prefix(&self.home).unwrap_or(path))
    }

    /// Makes the folder. Everything that is mounted inside it needs a mount point, which is made here as well.
    pub(super) fn build(mut self, mounts: &Mounts, scratches: &Scratches) -> io::Result<()> {
        let rules: BTreeMap<&Path, &Mount> = mounts.0.iter().map(|mount| (mount.place(), mount)).collect();
        let above = |path: &Path| path.ancestors().skip(1).find_map(|above| rules.get(above).copied());
        for mount in &mounts.0 {
            let Mount::Show { from, to, .. } = mount else { continue };
            let Some(Mount::Show { from: own, to: around, .. }) = above(to) else { continue };
            if let (Ok(own), Ok(inside)) = (own.strip_prefix(&self.scratch), to.strip_prefix(around)) {
                // Our own folders do not exist yet when this is asked. They are folders, except for the copies.
                let ours = from.starts_with(&self.scratch) && !from.starts_with(self.scratch.join(COPIES));
                self.skeleton.mount(&own.join(inside), ours || is_dir(from));
            }
        }
        scratches.make(&self.scratch, &self.skeleton)?;
        for (from, to) in &self.copies {
            let copied = copy(from, &self.scratch.join(to));
            // A copy that fails in the home is simply missing, and the program that needs it will say so. A copy
            // outside is mounted, so it must exist.
            if !to.starts_with(HOME) {
                copied?;
            }
        }
        for (to, text) in &self.texts {
            let mut file = fs::File::options().write(true).create_new(true).open(self.scratch.join(to))?;
            file.write_all(text.as_bytes())?;
        }
        Ok(())
    }
}

impl SandboxHost<'_> {
    /// What happens to the places that the row of this launch names.
    pub(super) fn agent_places(
        &self,
        spec: &SandboxSpec<'_>,
        home: &Path,
    ) -> io::Result<BTreeMap<PathBuf, Place>> {
        let mut places: BTreeMap<PathBuf, Place> = BTreeMap::new();
        let find = |text: &str| expand(text, Some(home), spec.env);
        let Some(row) = spec.row else { return Ok(places) };
        let private: Vec<PathBuf> = row.home.private.iter().filter_map(|text| find(text)).collect();
        places.extend(private.iter().map(|path| (path.clone(), Place::Private)));
        let every = |text: &String| match text.starts_with(['~', '$']) {
            true => find(text).into_iter().collect::<Vec<_>>(),
            false => private.iter().map(|folder| folder.join(text.trim_end_matches('/'))).collect(),
        };
        // A program that never ran here makes its folder at the first launch, at the place that its variables name.
        let fresh = private.iter().all(|folder| !folder.is_dir()).then(|| private.last()).flatten();
        let used = |path: &Path| {
            private
                .iter()
                .any(|folder| path.starts_with(folder) && (folder.is_dir() || Some(folder) == fresh))
        };
        // The order matters: a later list overrides an earlier one for the same place.
        let lists = [
            (&row.login_files, Place::Read),
            (&row.home.read, Place::Read),
            (&row.home.write, Place::Write),
            (&row.home.copy, Place::Copy),
        ];
        for (texts, place) in lists {
            for (text, path) in
                texts.iter().flat_map(|text| every(text).into_iter().map(move |path| (text, path)))
            {
                // A folder that a session needs must exist outside, or nothing could be kept in it.
                if text.ends_with('/') && (text.starts_with('~') || used(&path)) {
                    fs::create_dir_all(&path)?;
                }
                places.insert(path, place);
            }
        }
        Ok(places)
    }
}

pub(super) fn is_dir(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|meta| meta.is_dir())
}

/// Copies a file to a place where nothing is yet, not even a link.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let mut file = fs::File::open(from)?;
    let mode = file.metadata()?.permissions().mode() & 0o777;
    io::copy(&mut file, &mut fs::File::options().write(true).create_new(true).mode(mode).open(to)?)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_copy_follows_no_link() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("from"), "text").unwrap();
        symlink(at("users"), at("to")).unwrap();
        assert!(copy(&at("from"), &at("to")).is_err());
        assert!(!at("users").exists());
        copy(&at("from"), &at("new")).unwrap();
        assert_eq!(fs::read_to_string(at("new")).unwrap(), "text");
    }
}
