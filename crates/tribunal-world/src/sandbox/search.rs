//! Searches a shown folder for Tribunal's own folders, so that the journals, prompts and sockets of projects that lie
//! there are hidden.
//!
//! The search has a limit, because it is made for every launch. It fails closed: a folder that was not searched may
//! hold anything, and is not shown.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use tribunal_core::defence::{Defence, stands};

/// How far a search goes.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// How many folders are searched.
    pub(super) folders_max: usize,
    /// How many folders are hidden one by one. With more, the folders above them are hidden: each one costs every
    /// launch a mount.
    pub(super) unknown_max: usize,
}

/// The limits of every search except in tests: a few tenths of a second.
pub(super) const LIMITS: Limits = Limits { folders_max: 20_000, unknown_max: 100 };

/// Folders of many files in which hardly anybody keeps a project. They are searched after all others.
const DEEP: [&str; 5] = [".git", "node_modules", "target", ".venv", "site-packages"];

/// Folders that every launch is shown, and in which people keep projects as well.
const PERHAPS_PROJECTS: [&str; 4] = ["/etc", "/opt", "/usr/local", "/usr/src"];

/// The limits of a search that is made once for this program.
pub(super) const LIMITS_ONCE: Limits = Limits { folders_max: 200_000, unknown_max: 100 };
/// What makes a folder a project: journals and prompts lie in the one, settings with a credential in the other.
const PROJECT: [&str; 2] = [crate::FOLDER, ".git"];

/// The result of a search.
///
/// Both sets are hidden. They are kept apart because the settings can name an unknown folder, which is then searched by
/// itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Search {
    /// Folders of Tribunal that were found.
    pub(super) found: BTreeSet<PathBuf>,
    /// Folders of which nobody knows what lies in them.
    pub(super) unknown: BTreeSet<PathBuf>,
}

/// Searches a folder for those of Tribunal.
pub(super) fn below(folder: &Path, limits: Limits) -> Search {
    named(folder, &[crate::FOLDER], limits)
}

/// Searches a folder for folders of these names. No link is followed.
pub(super) fn named(folder: &Path, wanted: &[&str], limits: Limits) -> Search {
    let mut search = Search::default();
    let (mut next, mut later) = (vec![folder.to_path_buf()], Vec::new());
    let mut looked = 0;
    // Depth first, with the large package folders last: the limit is spent where projects are likely.
    while let Some(at) = next.pop().or_else(|| later.pop()) {
        looked += 1;
        if looked > limits.folders_max {
            search.unknown.insert(at);
            continue;
        }
        match folders_in(&at) {
            Ok(folders) => folders.into_iter().for_each(|path| match path.file_name() {
                Some(name) if wanted.iter().any(|wanted| name == *wanted) => _ = search.found.insert(path),
                Some(name) if DEEP.iter().any(|deep| name == *deep) => later.push(path),
                _ => next.push(path),
            }),
            // A file that is named itself, and a folder that somebody removed meanwhile, hold no folders.
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
            // Fail closed: nobody knows what lies there.
            Err(_) => _ = search.unknown.insert(at),
        }
    }
    search.unknown = fewer(search.unknown, folder, limits.unknown_max);
    search
}

/// The search of what every launch sees of the machine: once for this program, and its first level each time.
pub(super) fn of_machine() -> Search {
    static WHOLE: OnceLock<Search> = OnceLock::new();
    let whole = WHOLE.get_or_init(|| {
        let mut whole = Search::default();
        for place in PERHAPS_PROJECTS.map(Path::new).into_iter().filter(|place| is_folder(place)) {
            // What is not looked into is hidden, and programs of the machine lie there.
            let Search { found, unknown } = below(place, LIMITS_ONCE);
            whole.found.extend(found);
            whole.unknown.extend(unknown);
        }
        whole
    });
    let mut search = whole.clone();
    // A project may have begun its first run since the program started.
    for top in PERHAPS_PROJECTS.into_iter().chain(["/usr/local/src"]).map(Path::new) {
        let projects = folders_in(top).unwrap_or_default().into_iter().chain([top.to_path_buf()]);
        search.found.extend(projects.map(|path| path.join(crate::FOLDER)).filter(|path| is_folder(path)));
    }
    search
}

/// Folders of Tribunal, and repositories, in a folder of programs or a part of an installation, with the places of it
/// that could not be searched. None of them is shown.
///
/// The whole folder is searched once for this program, and its first two levels for every launch: installations hold
/// many thousands of folders, and rarely a project.
pub(super) fn of_programs(folder: &Path) -> Vec<PathBuf> {
    static KNOWN: Mutex<BTreeMap<PathBuf, Vec<PathBuf>>> = Mutex::new(BTreeMap::new());
    if !stands(Defence::ProgramSecrets) {
        return Vec::new();
    }
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let whole = known.entry(folder.to_path_buf()).or_insert_with(|| {
        let Search { found, unknown } = named(folder, &PROJECT, LIMITS_ONCE);
        found.into_iter().chain(unknown).collect()
    });
    let first = folders_in(folder).unwrap_or_default().into_iter().chain([folder.to_path_buf()]);
    let first = first.flat_map(|at| PROJECT.map(|name| at.join(name))).filter(|path| is_folder(path));
    whole.iter().cloned().chain(first).collect()
}

/// The same in the folder of a known tool. Some are repositories themselves and ask git for their version, so a
/// repository is hidden only where its settings hold a credential.
pub(super) fn of_tool(folder: &Path) -> Vec<PathBuf> {
    let quiet = |git: &Path| {
        let text = fs::read_to_string(git.join("config"));
        git.ends_with(".git") && text.is_ok_and(|text| !super::denied::holds_credential(&text))
    };
    // Each part has a search of its own: fetched packages are too many, and hidden only if somebody could work there.
    let parts = folders_in(folder).unwrap_or_default().into_iter().filter(|part| !part.ends_with("pkgs"));
    let own = PROJECT.map(|name| folder.join(name)).into_iter().filter(|path| is_folder(path));
    let below = parts.filter(|part| !PROJECT.iter().any(|name| part.ends_with(name)));
    below.flat_map(|part| of_programs(&part)).chain(own).filter(|place| !quiet(place)).collect()
}

/// The folders in a folder. One entry whose kind is unknown makes the whole folder unknown.
fn folders_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut folders = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            folders.push(entry.path());
        }
    }
    Ok(folders)
}

fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|meta| meta.is_dir())
}

/// The same folders, or those above them, until they are few enough; in the end the one that was searched.
///
/// Hiding a folder above hides more than necessary, which is the safe direction.
fn fewer(mut unknown: BTreeSet<PathBuf>, top: &Path, max: usize) -> BTreeSet<PathBuf> {
    let depth = |path: &Path| path.components().count();
    while unknown.len() > max {
        let deepest = unknown.iter().map(|path| depth(path)).max().unwrap_or_default();
        if deepest <= depth(top) {
            break;
        }
        let above = |path: PathBuf| match path.parent() {
            Some(parent) if depth(&path) == deepest => parent.to_path_buf(),
            _ => path,
        };
        unknown = unknown.into_iter().map(above).collect();
    }
    unknown
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn made(paths: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        paths.iter().for_each(|path| fs::create_dir_all(folder.path().join(path)).unwrap());
        folder
    }

    /// What a search found and what it does not know, from the folder that it looked through.
    fn looked(folder: &Path, folders_max: usize, unknown_max: usize) -> (Vec<String>, Vec<String>) {
        let Search { found, unknown } = below(folder, Limits { folders_max, unknown_max });
        let named = |paths: BTreeSet<PathBuf>| {
            paths.iter().map(|path| path.strip_prefix(folder).unwrap().display().to_string()).collect()
        };
        (named(found), named(unknown))
    }

    #[test]
    fn every_folder_of_tribunal_is_found_but_not_through_links() {
        let deep = "a/b/c/d/e/f/g/h/i/j/.tribunal";
        let folder = made(&["a/.tribunal/runs", "b/c/.tribunal", "node_modules/x/.tribunal", deep]);
        symlink(folder.path().join("a"), folder.path().join("link")).unwrap();
        let (found, unknown) = looked(folder.path(), 1_000, 100);
        assert_eq!(found, ["a/.tribunal", deep, "b/c/.tribunal", "node_modules/x/.tribunal"]);
        assert_eq!(unknown, [""; 0]);
    }

    #[test]
    fn a_folder_that_was_not_looked_into_is_unknown() {
        let folder = made(&["a/.tribunal", "node_modules/x/.tribunal", "target/y"]);
        // Folders of packages come last: those of projects are known first.
        let (found, unknown) = looked(folder.path(), 2, 100);
        assert_eq!(
            (found, unknown),
            (vec!["a/.tribunal".into()], vec!["node_modules".into(), "target".into()])
        );
        assert_eq!(looked(folder.path(), 0, 100).1, [""], "nothing of it is known");
    }

    #[test]
    fn a_folder_that_cannot_be_listed_is_unknown() {
        let folder = made(&["a/b"]);
        let closed = folder.path().join("a");
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o111)).unwrap();
        // Root lists it all the same.
        let expect = if fs::read_dir(&closed).is_ok() { vec![] } else { vec!["a".to_owned()] };
        assert_eq!(looked(folder.path(), 1_000, 100).1, expect);
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(looked(&folder.path().join("gone"), 1_000, 100), (vec![], vec![]));
    }

    #[test]
    fn many_unknown_folders_are_hidden_by_those_above_them() {
        let folder = made(&["a/b/1", "a/b/2", "a/b/3", "a/c", "d"]);
        let unknown = |max: usize| -> Vec<String> {
            let paths = ["a/b/1", "a/b/2", "a/b/3", "a/c", "d"].map(|path| folder.path().join(path));
            let few = fewer(paths.into_iter().collect(), folder.path(), max);
            few.iter().map(|path| path.strip_prefix(folder.path()).unwrap().display().to_string()).collect()
        };
        let check = |max: usize, expect: &[&str]| assert_eq!(unknown(max), expect);
        check(5, &["a/b/1", "a/b/2", "a/b/3", "a/c", "d"]);
        check(3, &["a/b", "a/c", "d"]);
        check(2, &["a", "d"]);
        check(1, &[""]);
        check(0, &[""]);
    }
}
