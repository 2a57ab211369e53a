//! What was changed since a contract was made: committed, not committed, and in files that git is told to ignore. It
//! looks; what a contract says to it is core's. No link is followed.

use super::{GatesError, Ground, contract};
use std::collections::{BTreeSet, VecDeque};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use tribunal_core::contract::{Breach, Contract, clean, covers};
use tribunal_git::{Archive, GitPath};

/// Entries that are looked at, those near the top first; more are nobody's secrets.
const ENTRIES_MAX: usize = 200_000;

/// Paths changed since the contract was made; `path` is its file.
pub(super) fn since(ground: &Ground, contract: &Contract, path: &Path) -> Result<Vec<String>, GatesError> {
    let archive = Archive::open(ground.root())?;
    let mut changed: BTreeSet<String> = archive.dirty(ground.root())?.iter().map(text).collect();
    changed.extend(committed(ground, &archive, contract)?);
    // What git tracks it has told already: a checkout writes files without changing them.
    let head = archive.commit("HEAD").ok();
    let tracked = |file: &str| {
        head.as_ref()
            .is_some_and(|head| archive.file_at(head, &GitPath::from(file)).is_ok_and(|file| file.is_some()))
    };
    changed.extend(touched(ground, contract, path).into_iter().filter(|file| !tracked(file)));
    Ok(changed.into_iter().collect())
}

fn text(path: &GitPath) -> String {
    String::from_utf8_lossy(path.as_bytes()).into_owned()
}

/// Files of the commits since then, but for what another plan's contract allows.
fn committed(
    ground: &Ground,
    archive: &Archive,
    contract: &Contract,
) -> Result<BTreeSet<String>, GatesError> {
    if contract.base_commit.is_empty() || archive.commit(&contract.base_commit).is_err() {
        return Ok(BTreeSet::new());
    }
    let commits = archive.commits(&format!("{}..HEAD", contract.base_commit))?;
    let oids: Vec<_> = commits.into_iter().map(|commit| commit.oid).collect();
    let touched = archive.touched(&oids)?;
    let mut files: BTreeSet<String> = touched.values().flatten().map(|file| text(&file.path)).collect();
    files.retain(|file| contract.breach(file) == Some(Breach::Forbidden));
    if !files.is_empty() {
        let others = others(ground, contract);
        files.retain(|file| !is_of(&others, file));
    }
    Ok(files)
}

/// Whether a file is another plan's to change.
pub(super) fn is_of(others: &[Contract], file: &str) -> bool {
    others.iter().any(|other| !other.allowed_paths.is_empty() && other.breach(file).is_none())
}

/// The contracts of other plans that are whole.
pub(super) fn others(ground: &Ground, own: &Contract) -> Vec<Contract> {
    let dir = ground.state().path(".contracts");
    let paths = std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let contracts = paths.filter_map(|path| contract::load(&path).ok());
    contracts.filter(|other| other.plan_id != own.plan_id).collect()
}

/// Forbidden files that lie there and were written after the contract was: git says nothing of those it is to ignore. The
/// time is that of the inode, which nobody can set.
fn touched(ground: &Ground, contract: &Contract, path: &Path) -> Vec<String> {
    touched_of(ground, contract, path, ENTRIES_MAX)
}

fn touched_of(ground: &Ground, contract: &Contract, path: &Path, entries_max: usize) -> Vec<String> {
    let time = |meta: &std::fs::Metadata| (meta.ctime(), meta.ctime_nsec());
    let Ok(made) = path.symlink_metadata().map(|meta| time(&meta)) else { return Vec::new() };
    let mut open: VecDeque<PathBuf> = VecDeque::new();
    // What would lie outside of the project is nobody's here.
    for pattern in contract.forbidden_paths.iter().filter_map(|pattern| clean(pattern)) {
        let fixed = pattern.split(['*', '?']).next().unwrap_or_default();
        let fixed = match fixed.len() < pattern.len() {
            true => fixed.rsplit_once('/').map_or("", |(dir, _)| dir),
            false => fixed,
        };
        open.push_back(up_to_a_link(ground.root(), fixed));
    }
    let (mut found, mut seen) = (Vec::new(), 0);
    while let Some(path) = open.pop_front().filter(|_| seen < entries_max) {
        seen += 1;
        let Ok(meta) = path.symlink_metadata() else { continue };
        if meta.is_dir() {
            let entries = std::fs::read_dir(&path).into_iter().flatten().flatten();
            open.extend(entries.filter(|entry| entry.file_name() != ".git").map(|entry| entry.path()));
        } else if time(&meta) > made {
            let name = path.strip_prefix(ground.root()).ok().and_then(Path::to_str);
            let forbidden =
                |name: &&str| contract.forbidden_paths.iter().any(|pattern| covers(pattern, name));
            found.extend(name.filter(forbidden).map(str::to_owned));
        }
    }
    found
}

/// A place below the root; where a link is on the way, the link: what it leads to is not looked at.
fn up_to_a_link(root: &Path, below: &str) -> PathBuf {
    let mut path = root.to_owned();
    for part in Path::new(below).components() {
        path.push(part);
        if path.is_symlink() {
            break;
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// A contract that is older than everything written after it: files of one tick of the clock are of one time.
    fn contract_at(root: &Path) {
        let time = |name: &str| {
            let meta = root.join(name).symlink_metadata().expect("there");
            (meta.ctime(), meta.ctime_nsec())
        };
        std::fs::write(root.join("contract.json"), "").expect("written");
        loop {
            std::fs::write(root.join("later"), "").expect("written");
            if time("later") > time("contract.json") {
                return;
            }
        }
    }

    fn found(root: &Path, forbidden: &str) -> Vec<String> {
        let contract = Contract { forbidden_paths: vec![forbidden.to_owned()], ..Contract::default() };
        touched(&Ground::new(root), &contract, &root.join("contract.json"))
    }

    #[test]
    fn what_lies_near_the_top_is_looked_at_before_what_lies_deep() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        contract_at(root);
        // More than are looked at in all; names of folders are read in any order, so there is one on either side.
        for name in ["a", "z"] {
            let dir = root.join(name).join("deep");
            std::fs::create_dir_all(&dir).expect("made");
            (0..300).for_each(|n| drop(std::fs::File::create(dir.join(n.to_string())).expect("made")));
        }
        std::fs::create_dir(root.join("m")).expect("made");
        std::fs::write(root.join("m/.env"), "KEY=1").expect("written");
        let contract = Contract { forbidden_paths: vec!["**/.env".to_owned()], ..Contract::default() };
        let seen = touched_of(&Ground::new(root), &contract, &root.join("contract.json"), 50);
        assert_eq!(seen, ["m/.env"]);
    }

    #[test]
    fn no_link_is_followed() {
        let (folder, other) =
            (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let root = folder.path();
        contract_at(root);
        std::fs::create_dir_all(other.path().join("inner")).expect("made");
        std::fs::write(other.path().join("inner/key"), "1").expect("written");
        symlink(other.path(), root.join("secrets")).expect("linked");
        let check =
            |forbidden: &str, expect: &[&str]| assert_eq!(found(root, forbidden), expect, "{forbidden}");
        check("secrets/inner/**", &[]);
        check("secrets/inner/key", &[]);
        check("secrets", &["secrets"]);
        check("../**", &[]);
    }
}
