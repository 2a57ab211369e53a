//! What a launch sees of its project: the objects that its private repository borrows, and the packages that the user
//! installed there. The user's work tree is absent, with all files that git ignores, and so is the repository, but
//! for a command that is run in the work tree itself: it gets the repository with settings that hold no credential.

use super::allowed::Allowed;
use super::home::{HomeLayout, is_dir};
use super::plan::MountPlan;
use super::search::{self, Limits};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use tribunal_core::defence::{Defence, stands};

/// Folders of a project that hold what was installed for it and git does not have.
pub(crate) const BORROWED: [&str; 4] = ["node_modules", ".venv", "venv", "vendor"];
/// What may lie in them with a password.
const IN_BORROWED: [&str; 2] = ["pip.conf", ".npmrc"];
/// How many folders of theirs are looked into for repositories: what lies beyond is not shown.
const REPOSITORIES: Limits = Limits { folders_max: 200_000, unknown_max: 100 };
/// What of a repository git does not need to look at it.
const NOT_NEEDED: [&str; 3] = ["hooks", "credentials", "lfs/cache"];
/// How many stores of objects in a row may lean on each other.
const ALTERNATES_MAX: usize = 8;
/// How deep modules in modules are looked for.
const MODULES_MAX: u32 = 4;

/// A project's places.
pub(crate) struct ProjectPlaces<'a> {
    /// The user's work tree.
    pub(crate) root: &'a Path,
    /// The repository, which all its work trees share.
    pub(crate) common_dir: &'a Path,
    /// Its objects.
    pub(crate) objects: &'a Path,
    /// The folder with the runs.
    pub(crate) runs: PathBuf,
    /// Whether the launch works in the user's own work tree, and needs its repository.
    pub(crate) is_tested: bool,
}

impl ProjectPlaces<'_> {
    /// Allows what the work in a checkout needs: objects, and packages. The work trees are the user's own, also where the
    /// settings open a folder that they lie in.
    pub(super) fn allow(&self, allowed: &mut Allowed<'_>, tree: &Path) {
        self.work_trees().into_iter().for_each(|place| allowed.take_back(place));
        object_stores(self.objects).iter().for_each(|store| allowed.program(store));
        if self.is_tested {
            return;
        }
        for name in BORROWED {
            let packages = self.root.join(name);
            if is_dir(&packages) && !is_dir(&tree.join(name)) {
                allowed.program(&packages);
                IN_BORROWED.iter().for_each(|name| allowed.hidden(packages.join(name)));
                repositories(&packages).into_iter().for_each(|place| allowed.hidden(place));
            }
        }
    }

    /// Puts the checkout, or the repository, in the place of what is the user's own.
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

    /// Every work tree of the repository.
    fn work_trees(&self) -> Vec<PathBuf> {
        let linked = fs::read_dir(self.common_dir.join("worktrees")).into_iter().flatten();
        let linked = linked.filter_map(|entry| fs::read_to_string(entry.ok()?.path().join("gitdir")).ok());
        let linked = linked.filter_map(|text| Some(Path::new(text.trim_end()).parent()?.to_path_buf()));
        let main =
            (self.common_dir.file_name() == Some(OsStr::new(".git"))).then(|| self.common_dir.parent());
        let all = linked.chain(main.flatten().map(Path::to_path_buf)).chain([self.root.to_path_buf()]);
        all.filter_map(|place| place.canonicalize().ok()).collect()
    }

    /// Packages name their project by its path: links of a workspace, environments that lead to the source. There the
    /// launch finds its own checkout, never the user's files.
    fn show_checkout(&self, plan: &mut MountPlan, tree: &Path) {
        let Ok(root) = self.root.canonicalize() else { return };
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

    /// The repository to be read, with settings that hold no credential.
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
            let text = tribunal_git::public_config(&file).map_err(io::Error::other)?;
            layout.replace(plan, &file, text);
        }
        Ok(())
    }
}

/// Files of settings in a repository, in its work trees and in its modules.
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

/// The repositories that lie in a folder of packages, whose settings may hold a password: packages that were fetched with git
/// have one each. All of it is looked through once for this program, and its first level for every launch.
fn repositories(packages: &Path) -> Vec<PathBuf> {
    static KNOWN: Mutex<BTreeMap<PathBuf, Vec<PathBuf>>> = Mutex::new(BTreeMap::new());
    if !stands(Defence::ProgramSecrets) {
        return Vec::new();
    }
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let whole = known.entry(packages.to_path_buf()).or_insert_with(|| {
        let search = search::named(packages, ".git", REPOSITORIES);
        search.found.into_iter().chain(search.unknown).collect()
    });
    let entries = fs::read_dir(packages).into_iter().flatten().filter_map(Result::ok);
    let first = entries.map(|entry| entry.path().join(".git")).filter(|git| is_dir(git));
    whole.iter().cloned().chain(first).collect()
}

/// A store of objects and all it leans on.
fn object_stores(objects: &Path) -> Vec<PathBuf> {
    let mut stores = vec![objects.to_path_buf()];
    let mut at = 0;
    while let Some(store) = stores.get(at).filter(|_| at < ALTERNATES_MAX) {
        let text = fs::read_to_string(store.join("info/alternates")).unwrap_or_default();
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
