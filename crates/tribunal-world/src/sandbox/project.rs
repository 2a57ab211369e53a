//! What a launch sees of its project: the objects that its private repository borrows, and the packages that the user
//! installed there.
//!
//! The user's worktree is absent, with all files that git ignores, and so is the repository. Only a command that runs
//! in the worktree itself gets the repository, with settings that hold no credential.

use super::allowed::Allowed;
use super::home::{HomeLayout, is_dir};
use super::plan::MountPlan;
use super::search;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use tribunal_core::defence::{Defence, stands};
use tribunal_process::lock;

/// Folders of a project for installed packages, which git does not have.
pub(crate) const BORROWED: [&str; 4] = ["node_modules", ".venv", "venv", "vendor"];
/// Files in them that may hold a password.
const IN_BORROWED: [&str; 2] = ["pip.conf", ".npmrc"];
/// Parts of a repository that git does not need for reading it.
const NOT_NEEDED: [&str; 3] = ["hooks", "credentials", "lfs/cache"];
/// How many object stores in a row may borrow from each other.
const ALTERNATES_MAX: usize = 8;
/// How deep submodules inside submodules are looked for.
const MODULES_MAX: u32 = 4;

/// The places of a project.
pub(crate) struct ProjectPlaces<'a> {
    /// The user's worktree.
    pub(crate) root: &'a Path,
    /// The repository, which all its worktrees share.
    pub(crate) common_dir: &'a Path,
    /// The object store of the repository.
    pub(crate) objects: &'a Path,
    /// The folder with the runs.
    pub(crate) runs: PathBuf,
    /// Whether the launch works in the user's own worktree, and so needs its repository.
    pub(crate) is_tested: bool,
}

impl ProjectPlaces<'_> {
    /// Allows what work in a checkout needs: objects and packages.
    ///
    /// The user's worktrees are taken back even if the settings open a folder around them. A launch that could write
    /// there would bypass every review.
    pub(super) fn allow(&self, allowed: &mut Allowed<'_>, tree: &Path) {
        self.work_trees().into_iter().for_each(|place| allowed.take_back(place));
        object_stores(self.objects).iter().for_each(|store| allowed.program(store));
        if self.is_tested {
            return;
        }
        for name in BORROWED {
            let packages = self.root.join(name);
            // Packages that the checkout has itself are part of the change, so those are used.
            if is_dir(&packages) && !is_dir(&tree.join(name)) {
                allowed.program(&packages);
                IN_BORROWED.iter().for_each(|name| allowed.hidden(packages.join(name)));
                repositories(&packages).into_iter().for_each(|place| allowed.hidden(place));
            }
        }
    }

    /// Puts the checkout, or the repository, in the place of the user's own files.
    pub(super) fn restrict(
        &self,
        plan: &mut MountPlan,
        layout: &mut HomeLayout,
        tree: &Path,
    ) -> io::Result<()> {
        if self.is_tested {
            self.show_repository(plan, layout)?;
        } else {
            self.show_checkout(plan, tree);
        }
        // A project in which nothing ever ran has nothing to hide.
        self.runs.canonicalize().into_iter().for_each(|runs| plan.hide(runs));
        Ok(())
    }

    /// Every worktree of the repository.
    fn work_trees(&self) -> Vec<PathBuf> {
        let linked = fs::read_dir(self.common_dir.join("worktrees")).into_iter().flatten();
        let linked = linked.filter_map(|entry| fs::read_to_string(entry.ok()?.path().join("gitdir")).ok());
        let linked = linked.filter_map(|text| Some(Path::new(text.trim_end()).parent()?.to_path_buf()));
        // A bare repository has no main worktree.
        let main =
            (self.common_dir.file_name() == Some(OsStr::new(".git"))).then(|| self.common_dir.parent());
        let all = linked.chain(main.flatten().map(Path::to_path_buf)).chain([self.root.to_path_buf()]);
        all.filter_map(|place| place.canonicalize().ok()).collect()
    }

    /// Shows the launch's own checkout at the path of the user's worktree.
    ///
    /// Packages name their project by its path: links of a workspace, environments that lead to the source. A launch
    /// must find its own files there, never the user's.
    fn show_checkout(&self, plan: &mut MountPlan, tree: &Path) {
        let Ok(root) = self.root.canonicalize() else { return };
        // Only needed where packages are borrowed.
        if !BORROWED.iter().any(|name| plan.shows(&root.join(name)) && is_dir(&root.join(name))) {
            return;
        }
        for entry in fs::read_dir(tree).into_iter().flatten().filter_map(Result::ok) {
            let name = entry.file_name();
            let ours = [".git", crate::FOLDER].iter().any(|own| name == *own);
            let plain = entry.file_type().is_ok_and(|kind| kind.is_dir() || kind.is_file());
            if plain && !ours && !plan.shows(&root.join(&name)) {
                plan.put(&tree.join(&name), &root.join(&name), false);
            }
        }
    }

    /// Shows the repository for reading, with settings that hold no credential.
    fn show_repository(&self, plan: &mut MountPlan, layout: &mut HomeLayout) -> io::Result<()> {
        let Ok(git) = self.common_dir.canonicalize() else { return Ok(()) };
        plan.show(&git, false);
        for name in NOT_NEEDED {
            let place = git.join(name);
            if place.symlink_metadata().is_ok_and(|meta| !meta.is_symlink()) {
                plan.hide(place);
            }
        }
        for file in settings_in(&git, 0) {
            // A settings file that git cannot read stops the command: its credentials could not be removed.
            let text = tribunal_git::public_config(&file).map_err(io::Error::other)?;
            layout.replace(plan, &file, text);
        }
        Ok(())
    }
}

/// The settings files of a repository, of its worktrees and of its submodules.
fn settings_in(git: &Path, depth: u32) -> Vec<PathBuf> {
    let mut found = vec![git.join("config"), git.join("config.worktree")];
    let below = |folder: &str| {
        let entries = fs::read_dir(git.join(folder)).into_iter().flatten().filter_map(Result::ok);
        entries.map(|entry| entry.path()).filter(|path| is_dir(path)).collect::<Vec<_>>()
    };
    found.extend(below("worktrees").into_iter().map(|path| path.join("config.worktree")));
    found.retain(|file| file.symlink_metadata().is_ok_and(|meta| meta.is_file()));
    if depth < MODULES_MAX {
        let modules = below("modules").into_iter();
        found.extend(modules.flat_map(|module| settings_in(&module, depth + 1)));
    }
    found
}

/// The repositories inside a folder of packages, whose settings may hold a password. Packages that were fetched with
/// git have one each.
///
/// The whole folder is searched once for this program, and its first level for every launch.
fn repositories(packages: &Path) -> Vec<PathBuf> {
    static KNOWN: Mutex<BTreeMap<PathBuf, Vec<PathBuf>>> = Mutex::new(BTreeMap::new());
    if !stands(Defence::ProgramSecrets) {
        return Vec::new();
    }
    let mut known = lock(&KNOWN);
    let whole = known.entry(packages.to_path_buf()).or_insert_with(|| {
        let search = search::named(packages, &[".git"], search::LIMITS_ONCE);
        // A folder that could not be searched is hidden like a repository.
        search.found.into_iter().chain(search.unknown).collect()
    });
    let entries = fs::read_dir(packages).into_iter().flatten().filter_map(Result::ok);
    let first = entries.map(|entry| entry.path().join(".git")).filter(|git| is_dir(git));
    whole.iter().cloned().chain(first).collect()
}

/// An object store and all stores that it borrows from.
fn object_stores(objects: &Path) -> Vec<PathBuf> {
    let mut stores = vec![objects.to_path_buf()];
    let mut at = 0;
    while let Some(store) = stores.get(at).filter(|_| at < ALTERNATES_MAX) {
        let text = fs::read_to_string(store.join("info/alternates")).unwrap_or_default();
        // Git's own format: comments, and quoted paths, which nothing here writes.
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with(['#', '"']));
        let more: Vec<PathBuf> = lines.map(|line| store.join(line)).collect();
        let new = more.into_iter().filter(|more| !stores.contains(more)).collect::<Vec<_>>();
        stores.extend(new);
        at += 1;
    }
    stores
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_store_that_objects_lean_on_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for (store, text) in
            [("a", format!("# no\n{}\n", at("b").display())), ("b", "../c\n".into()), ("c", String::new())]
        {
            fs::create_dir_all(at(store).join("info")).unwrap();
            fs::write(at(store).join("info/alternates"), text).unwrap();
        }
        assert_eq!(object_stores(&at("a")), [at("a"), at("b"), at("b").join("../c")]);
    }

    #[test]
    fn repositories_in_packages_are_found_at_any_depth() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for path in ["a/.git/objects", "@scope/b/node_modules/c/.git", "d/src"] {
            fs::create_dir_all(at(path)).unwrap();
        }
        let found: Vec<PathBuf> = repositories(folder.path());
        assert!(
            found.contains(&at("a/.git")) && found.contains(&at("@scope/b/node_modules/c/.git")),
            "{found:?}"
        );
        fs::create_dir_all(at("later/.git")).unwrap();
        assert!(repositories(folder.path()).contains(&at("later/.git")));
    }

    #[test]
    fn settings_of_modules_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let files =
            ["config", "worktrees/w/config.worktree", "modules/m/config", "modules/m/modules/n/config"];
        for file in files {
            let file = folder.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
        }
        assert_eq!(settings_in(folder.path(), 0), files.map(|file| folder.path().join(file)));
    }
}
