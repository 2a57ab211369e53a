//! What was changed since a contract was made: committed, not committed, and in files that git ignores.
//!
//! It only looks; core says what a contract allows. No link is followed, because a link could make forbidden files seem
//! to lie elsewhere. Git alone is not enough: it says nothing about ignored files, and a task can tell it not to look.

use crate::clock::changed_ms;
use crate::{Ground, ProtocolError, contract};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::Metadata;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use tribunal_core::contract::{Breach, Contract, clean, covers, leads_to};
use tribunal_core::gate::{self, GateResult, GateRuling};
use tribunal_git::{Archive, GitError, GitPath, Oid};

/// How many entries are looked at, those near the top first. With more than that, nobody knows what is in the rest.
const ENTRIES_MAX: usize = 500_000;

/// Whether nothing forbidden was changed since the contract was made; `path` is the contract's file.
///
/// Places that could not be looked at never make the gate pass: it did not run.
pub(crate) fn protected(
    ground: &Ground,
    contract: &Contract,
    path: &Path,
) -> Result<GateRuling, ProtocolError> {
    protected_of(ground, contract, path, ENTRIES_MAX)
}

fn protected_of(
    ground: &Ground,
    contract: &Contract,
    path: &Path,
    entries_max: usize,
) -> Result<GateRuling, ProtocolError> {
    let mut touched = touched(ground, contract, path, entries_max)?;
    let archive = Archive::open(ground.root())?;
    let base = base_of(&archive, contract)?;
    // Without the commit nobody can say what was committed since. That counts as unseen and not as unchanged.
    if base.is_none() && !contract.base_commit.is_empty() {
        touched.unseen = Some(format!(
            "the contract was made at {}, a commit that is gone, and nobody can say what was committed since: bring it \
             back (`git fetch`), or look through the history, delete {} and make it anew with \
             `tribunal generate-contract`",
            contract.base_commit,
            path.display()
        ));
    }
    let changed = since(ground, &archive, contract, base.as_ref(), &touched.files)?;
    let links = new_links(ground, &archive, base.as_ref(), touched.links)?;
    let ruling = gate::protected_file(contract, &changed, &links);
    // A breach that was found counts more than a place that was not seen.
    Ok(match touched.unseen {
        Some(why) if ruling.result == GateResult::Pass => GateRuling::did_not_run(why),
        _ => ruling,
    })
}

/// The commit at which the contract was made; none if it is gone.
fn base_of(archive: &Archive, contract: &Contract) -> Result<Option<Oid>, ProtocolError> {
    match archive.commit(&contract.base_commit) {
        Ok(base) => Ok(Some(base)),
        Err(GitError::NoSuch { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The paths that changed since the contract was made. `touched` are files on disk that were written since.
fn since(
    ground: &Ground,
    archive: &Archive,
    contract: &Contract,
    base: Option<&Oid>,
    touched: &[GitPath],
) -> Result<Vec<String>, ProtocolError> {
    let mut changed: BTreeSet<String> = archive.dirty(ground.root())?.iter().map(text).collect();
    if let Some(base) = base {
        changed.extend(committed(ground, archive, contract, base)?);
    }
    changed.extend(unlike_head(ground, archive, contract, touched)?.iter().map(text));
    // Git never tracked these files, so their removal shows only here.
    let gone = |path: &&String| is_gone(&ground.root().join(path));
    changed.extend(contract.untracked_forbidden.iter().filter(gone).cloned());
    Ok(changed.into_iter().collect())
}

/// Of the files written since, those that differ from HEAD, and forbidden files of HEAD that are gone.
///
/// A checkout writes files without changing them, so the time alone proves nothing. Git does not report files that it
/// was told not to look at (`assume-unchanged`), so they are compared here.
fn unlike_head(
    ground: &Ground,
    archive: &Archive,
    contract: &Contract,
    touched: &[GitPath],
) -> Result<Vec<GitPath>, ProtocolError> {
    let tracked = match archive.commit("HEAD") {
        Ok(head) => archive.files(&head)?,
        Err(GitError::NoSuch { .. }) => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    // Emptied below by every tracked file, so that only the files HEAD does not have are left.
    let mut new: BTreeSet<&GitPath> = touched.iter().collect();
    let gone = |path: &GitPath| {
        let place = ground.root().join(path.to_path());
        contract.breach(&text(path)) == Some(Breach::Forbidden) && (is_gone(&place) || place.is_dir())
    };
    let suspect = tracked.into_iter().filter(|file| new.remove(&file.path) || gone(&file.path));
    let mut unlike = archive.differing(ground.root(), &suspect.collect::<Vec<_>>())?;
    // Whatever HEAD does not have is new.
    unlike.extend(new.into_iter().cloned());
    Ok(unlike)
}

/// Of the links written since, those that differ from the contract's commit. As with files, a checkout may have written
/// them.
fn new_links(
    ground: &Ground,
    archive: &Archive,
    base: Option<&Oid>,
    mut links: BTreeSet<GitPath>,
) -> Result<Vec<String>, ProtocolError> {
    if let Some(base) = base.filter(|_| !links.is_empty()) {
        let mut known = archive.files(base)?;
        known.retain(|file| links.contains(&file.path));
        let differing = archive.differing(ground.root(), &known)?;
        links.retain(|link| differing.contains(link) || known.iter().all(|file| file.path != *link));
    }
    Ok(links.iter().map(text).collect())
}

/// Whether nothing lies at a path.
pub(crate) fn is_gone(path: &Path) -> bool {
    // Any other error means that nobody knows, and that is not absence.
    path.symlink_metadata().is_err_and(|error| is_absence(&error))
}

fn is_absence(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

fn text(path: &GitPath) -> String {
    String::from_utf8_lossy(path.as_bytes()).into_owned()
}

/// Forbidden files in the commits since then, without those that another plan's contract allows.
fn committed(
    ground: &Ground,
    archive: &Archive,
    contract: &Contract,
    base: &Oid,
) -> Result<BTreeSet<String>, ProtocolError> {
    let commits = archive.commits(&format!("{base}..HEAD"))?;
    let oids: Vec<_> = commits.into_iter().map(|commit| commit.oid).collect();
    let mut files = names(archive.touched(&oids)?);
    files.retain(|file| contract.breach(file) == Some(Breach::Forbidden));
    if !files.is_empty() {
        let others = others(ground, contract);
        files.retain(|file| !is_of(&others, file));
    }
    Ok(files)
}

/// The names of files in commits. A moved file has two.
pub(crate) fn names(touched: BTreeMap<Oid, Vec<tribunal_git::Touched>>) -> BTreeSet<String> {
    let files = touched.into_values().flatten();
    files.flat_map(|file| [Some(file.path), file.old_path]).flatten().map(|path| text(&path)).collect()
}

/// Whether a file is another plan's to change.
pub(crate) fn is_of(others: &[Contract], file: &str) -> bool {
    // A contract without allowed paths allows nothing here, although it restricts nothing for its own plan.
    others.iter().any(|other| !other.allowed_paths.is_empty() && other.breach(file).is_none())
}

/// The contracts of other plans that are intact.
pub(crate) fn others(ground: &Ground, own: &Contract) -> Vec<Contract> {
    let dir = ground.state().path(".contracts");
    let paths = std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let contracts = paths.filter_map(|path| contract::load(&path).ok());
    contracts.filter(|other| other.plan_id != own.plan_id).collect()
}

/// What looking at the files found.
#[derive(Default)]
struct Touched {
    files: Vec<GitPath>,
    /// Links on the way to something forbidden.
    links: BTreeSet<GitPath>,
    /// Why not everything was looked at.
    unseen: Option<String>,
}

/// Forbidden files, and links on the way to them, that were written after the contract was made.
///
/// Git says nothing about ignored files. The time is the inode's change time, which no program can set.
fn touched(
    ground: &Ground,
    contract: &Contract,
    path: &Path,
    entries_max: usize,
) -> Result<Touched, ProtocolError> {
    let made = contract::made_at(contract, path)?;
    let (mut found, mut seen) = (Touched::default(), 0);
    // Breadth first: what lies near the top is seen before a deep folder uses up the limit.
    let mut open = places(ground, contract);
    while let Some(path) = open.pop_front() {
        seen += 1;
        if seen > entries_max {
            found.unseen = Some(format!(
                "there are more than {entries_max} files and folders where something is forbidden, and not all were \
                 looked at: forbid places that hold less, or take away what nobody needs"
            ));
            break;
        }
        match entries(&path) {
            Err(error) => found.missed(&path, &error),
            Ok(Entry::Folder(inside)) => open.extend(inside),
            Ok(Entry::Other(meta)) if changed_ms(&meta) >= made => {
                let name = path.strip_prefix(ground.root()).unwrap_or(&path);
                let shown = name.to_string_lossy();
                let any =
                    |is: fn(&str, &str) -> bool| contract.forbidden_paths.iter().any(|it| is(it, &shown));
                let path = GitPath::from(name.as_os_str().as_bytes());
                if any(covers) {
                    found.files.push(path);
                } else if meta.is_symlink() && any(leads_to) {
                    found.links.insert(path);
                }
            }
            Ok(Entry::Other(_)) => {}
        }
    }
    Ok(found)
}

/// What lies at a place.
enum Entry {
    /// A folder with these entries.
    Folder(Vec<PathBuf>),
    /// Anything but a folder.
    Other(Metadata),
}

fn entries(path: &Path) -> std::io::Result<Entry> {
    let meta = path.symlink_metadata()?;
    if !meta.is_dir() {
        return Ok(Entry::Other(meta));
    }
    let mut inside = Vec::new();
    for entry in std::fs::read_dir(path)? {
        let entry = entry?;
        // Git writes there all the time.
        if entry.file_name() != ".git" {
            inside.push(entry.path());
        }
    }
    Ok(Entry::Folder(inside))
}

impl Touched {
    /// Records a place that could not be looked at. A place that does not exist need not be.
    fn missed(&mut self, path: &Path, error: &std::io::Error) {
        if !is_absence(error) {
            self.unseen.get_or_insert_with(|| format!("cannot look at {}: {error}", path.display()));
        }
    }
}

/// The places where something forbidden can lie. Places outside the project are left out.
fn places(ground: &Ground, contract: &Contract) -> VecDeque<PathBuf> {
    let place = |pattern: &str| {
        let fixed = pattern.split(['*', '?']).next().unwrap_or_default();
        // A pattern begins to vary somewhere in a name, so the whole folder of that name is searched.
        let fixed = match fixed.len() < pattern.len() {
            true => fixed.rsplit_once('/').map_or("", |(dir, _)| dir),
            false => fixed,
        };
        up_to_a_link(ground.root(), fixed)
    };
    let patterns = contract.forbidden_paths.iter().filter_map(|pattern| clean(pattern));
    patterns.map(|pattern| place(&pattern)).collect()
}

/// A place below the root, or the first link on the way to it. What a link leads to is not looked at.
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

    /// A contract that does not say when it was made: its file does.
    fn contract_at(root: &Path) {
        std::fs::write(root.join("contract.json"), "").expect("written");
    }

    fn found(root: &Path, forbidden: &str, entries_max: usize) -> Vec<String> {
        let contract = Contract { forbidden_paths: vec![forbidden.to_owned()], ..Contract::default() };
        found_since(root, &contract, entries_max)
    }

    fn found_since(root: &Path, contract: &Contract, entries_max: usize) -> Vec<String> {
        let path = root.join("contract.json");
        let found = touched(&Ground::new(root), contract, &path, entries_max).expect("looked at");
        found.files.iter().chain(&found.links).map(text).collect()
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
        assert_eq!(found(root, "**/.env", 50), ["m/.env"]);
    }

    /// What the gate says when it looks at so many entries at most.
    fn ruled(root: &Path, forbidden: &str, entries_max: usize) -> (GateResult, String) {
        let contract = Contract { forbidden_paths: vec![forbidden.to_owned()], ..Contract::default() };
        let path = root.join("contract.json");
        let ruling = protected_of(&Ground::new(root), &contract, &path, entries_max).expect("a ruling");
        (ruling.result, ruling.evidence)
    }

    #[test]
    fn what_was_not_looked_at_passes_no_gate() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        std::fs::write(root.join(".gitignore"), "a\n.env\n").expect("written");
        let who = tribunal_git::Signature::new("A", "a@example.org", 0);
        tribunal_git::Repo::create(root, "chore: begin", &who).expect("a repository");
        contract_at(root);
        let dir = root.join("a/deep");
        std::fs::create_dir_all(&dir).expect("made");
        (0..60).for_each(|n| drop(std::fs::File::create(dir.join(n.to_string())).expect("made")));
        assert_eq!(ruled(root, "**/.env", 1000).0, GateResult::Pass);
        std::fs::create_dir(dir.join("deeper")).expect("made");
        std::fs::write(dir.join("deeper/.env"), "KEY=1").expect("written");
        assert_eq!(ruled(root, "**/.env", 1000).0, GateResult::Fail);
        let (result, why) = ruled(root, "**/.env", 50);
        assert_eq!(result, GateResult::DidNotRun, "{why}");
        assert!(why.contains("more than 50"), "{why}");
        // What was seen is told, however much was not.
        std::fs::write(root.join(".env"), "KEY=1").expect("written");
        assert_eq!(ruled(root, "**/.env", 50).0, GateResult::Fail);
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
        let check = |forbidden: &str, expect: &[&str]| {
            assert_eq!(found(root, forbidden, 1000), expect, "{forbidden}")
        };
        check("secrets/inner/**", &["secrets"]);
        check("secrets/inner/key", &["secrets"]);
        check("secret?/*/key", &["secrets"]);
        check("**/key", &[]);
        check("secrets", &["secrets"]);
        // One that was there before is nobody's doing.
        let made = crate::clock::tick(&crate::Folder::new(root)).expect("a moment");
        let forbidden_paths = vec!["secrets/inner/**".to_owned()];
        let contract = Contract { forbidden_paths, made_at_ms: Some(made), ..Contract::default() };
        assert_eq!(found_since(root, &contract, 1000), [""; 0]);
        check("../**", &[]);
        // A name that is no text is no way around.
        std::fs::create_dir(root.join("keys")).expect("made");
        std::fs::write(root.join("keys").join(std::ffi::OsStr::from_bytes(b"\xff")), "1").expect("written");
        check("keys/**", &["keys/\u{fffd}"]);
    }
}
