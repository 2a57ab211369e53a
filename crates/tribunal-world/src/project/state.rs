//! The user's own state outside of every project: the state folder in their home, and in it the key by which a run
//! folder is known as made here.
//!
//! A run folder that came with a branch, a clone or an archive has no mark of that key. Its journal is not believed
//! just because it lies in the right place; otherwise a branch could bring its own approvals.

use super::FOLDER;
use super::error::SetupError;
use crate::project::inside::read_plain;
use crate::write_atomic;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use tribunal_core::defence::{Defence, stands};

/// The file in a run's folder that says who made it.
pub(crate) const MARK: &str = "owner";
/// The file with the user's key, in their state folder.
const KEY: &str = "runs.key";
/// The variable with a key for machines that are new every time, such as those of CI.
const KEY_VARIABLE: &str = "TRIBUNAL_STATE_KEY";

/// The user's state folder: `$XDG_STATE_HOME/tribunal`, otherwise below `~/.local/state`.
pub fn state_folder() -> Option<PathBuf> {
    let named = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = named("XDG_STATE_HOME").or_else(|| named("HOME").map(|home| home.join(".local/state")));
    state.map(|state| state.join("tribunal"))
}

/// Makes the user's state folder, readable by nobody else.
pub fn make_state_folder() -> io::Result<PathBuf> {
    let none = || io::Error::new(io::ErrorKind::NotFound, "neither HOME nor XDG_STATE_HOME names a folder");
    let folder = state_folder().ok_or_else(none)?;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
    Ok(folder)
}

/// The user as the owner of runs.
///
/// It holds the key with which run folders are marked. The mark covers the folder's name, so it cannot be copied to a
/// run of another name.
pub struct Owner([u8; 32]);

impl Owner {
    /// The user whose key exists; none if no run was ever made here.
    pub fn known() -> Option<Owner> {
        match std::env::var_os(KEY_VARIABLE).filter(|words| !words.is_empty()) {
            Some(words) => Some(Owner::of(words.as_encoded_bytes())),
            None => Owner::kept_in(&state_folder()?),
        }
    }

    /// The owner whose key is derived from these bytes.
    pub fn of(words: &[u8]) -> Owner {
        Owner(*blake3::hash(words).as_bytes())
    }

    /// The owner whose key lies in a state folder.
    pub fn kept_in(folder: &Path) -> Option<Owner> {
        let text = read_plain(&folder.join(KEY)).ok()?;
        let bytes = blake3::Hash::from_hex(text.trim_ascii()).ok()?;
        Some(Owner(*bytes.as_bytes()))
    }

    /// Marks the folder of a run as made by this owner.
    pub fn sign(&self, dir: &Path) -> io::Result<()> {
        let run = dir.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        write_atomic(&dir.join(MARK), self.mark(run).as_bytes())
    }

    /// The user, with a new key if there is none.
    fn or_new() -> io::Result<Owner> {
        if let Some(owner) = Owner::known() {
            return Ok(owner);
        }
        let mut bytes = [0; 32];
        fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        let path = make_state_folder()?.join(KEY);
        // `create_new`, so that of two runs that begin together only one writes the key.
        let made = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        match made {
            Ok(mut file) => file.write_all(blake3::Hash::from_bytes(bytes).to_hex().as_bytes())?,
            // Another run was quicker, or the existing file is not a key.
            Err(error) => return Owner::known().ok_or(error),
        }
        Ok(Owner(bytes))
    }

    fn mark(&self, run: &str) -> String {
        blake3::keyed_hash(&self.0, run.as_bytes()).to_hex().to_string()
    }

    /// Whether this owner made the run in a folder.
    pub fn made(&self, dir: &Path) -> bool {
        let Some(run) = dir.file_name().and_then(|name| name.to_str()) else { return false };
        // A missing mark reads as empty, which is nobody's mark.
        let mark = read_plain(&dir.join(MARK)).unwrap_or_default();
        mark.trim_ascii() == self.mark(run).as_bytes()
    }
}

/// Makes a run's folder and marks it as the user's.
pub(crate) fn mark(dir: &Path) -> Result<(), SetupError> {
    let owner = owner()?;
    if owner.made(dir) {
        return Ok(());
    }
    // Prompts and outputs of agents lie in it, so nobody else may read it.
    let folder = fs::DirBuilder::new().recursive(true).mode(0o700).create(dir);
    let made = folder.and_then(|()| owner.sign(dir));
    made.map_err(|error| SetupError::io("write", &dir.join(MARK), &error))
}

/// Makes a folder that is kept between runs the user's own. One that somebody else made is emptied first, because its
/// content would be believed.
pub(crate) fn claim(dir: &Path) -> Result<(), SetupError> {
    let owner = owner()?;
    if owner.made(dir) || !stands(Defence::OwnRuns) {
        return Ok(());
    }
    let emptied = match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => fs::create_dir_all(dir).and_then(|()| owner.sign(dir)),
    };
    emptied.map_err(|error| SetupError::io("make", dir, &error))
}

fn owner() -> Result<Owner, SetupError> {
    Owner::or_new().map_err(|error| {
        let place = state_folder().map_or("your folder for state".to_owned(), |at| at.display().to_string());
        SetupError::Refused(format!(
            "cannot keep the key of your runs in {place}: {error}\nhint: XDG_STATE_HOME names another folder of yours"
        ))
    })
}

/// The runs in a project, newest first because their names begin with the time, and how many others lie there that the
/// user did not make.
pub fn runs_in(root: &Path) -> (Vec<String>, usize) {
    let folder = root.join(FOLDER).join("runs");
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    // A link is not a run, wherever it leads.
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let found = folders.filter(|entry| entry.path().join(tribunal_journal::FILE).is_file());
    let owner = Owner::known();
    let (own, others): (Vec<_>, Vec<_>) = found.partition(|entry| is_believed(owner.as_ref(), &entry.path()));
    let mut runs: Vec<String> = own.iter().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    runs.sort_unstable_by(|a, b| b.cmp(a));
    (runs, others.len())
}

/// Whether a project has a run of this name that the user made.
pub fn is_own_run(root: &Path, run: &str) -> bool {
    let path = root.join(FOLDER).join("runs").join(run);
    let is_folder = path.symlink_metadata().is_ok_and(|meta| meta.is_dir());
    is_folder && path.join(tribunal_journal::FILE).is_file() && is_believed(Owner::known().as_ref(), &path)
}

fn is_believed(owner: Option<&Owner>, run: &Path) -> bool {
    owner.is_some_and(|owner| owner.made(run)) || !stands(Defence::OwnRuns)
}

/// Rejects a `.tribunal` folder that is a link or holds one.
///
/// Runs would otherwise be written, and old ones removed, wherever a branch points.
pub fn check_folder(root: &Path) -> Result<(), SetupError> {
    let folder = root.join(FOLDER);
    let entries =
        fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path());
    let is_link = |path: &PathBuf| path.symlink_metadata().is_ok_and(|meta| meta.is_symlink());
    let linked = std::iter::once(folder.clone()).chain(entries).find(is_link);
    match linked.filter(|_| stands(Defence::NoFollow)) {
        None => Ok(()),
        Some(path) => {
            let shown = path.strip_prefix(root).unwrap_or(&path).display();
            Err(SetupError::Refused(format!(
                "{shown} is a symbolic link: runs are kept beneath your project and nowhere else\nhint: `rm {shown}` removes the link; `git log -- {FOLDER}` says whether a branch brought it; nothing was changed"
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_users_own_mark_counts() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("20260101-120000-01");
        fs::create_dir(&dir).unwrap();
        let (own, other) = (Owner([1; 32]), Owner([2; 32]));
        assert!(!own.made(&dir));
        own.sign(&dir).unwrap();
        assert!(own.made(&dir) && !other.made(&dir));
        // A mark does not go with another run.
        let moved = folder.path().join("20260101-120000-02");
        fs::rename(&dir, &moved).unwrap();
        assert!(!own.made(&moved));
    }

    #[test]
    fn a_link_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("project");
        let elsewhere = folder.path().join("elsewhere");
        fs::create_dir(&root).unwrap();
        fs::create_dir(&elsewhere).unwrap();
        assert!(check_folder(&root).is_ok());
        std::os::unix::fs::symlink(&elsewhere, root.join(FOLDER)).unwrap();
        assert!(check_folder(&root).is_err());
        fs::remove_file(root.join(FOLDER)).unwrap();
        fs::create_dir(root.join(FOLDER)).unwrap();
        assert!(check_folder(&root).is_ok());
        std::os::unix::fs::symlink(&elsewhere, root.join(FOLDER).join("runs")).unwrap();
        let error = check_folder(&root).unwrap_err().to_string();
        assert!(error.contains(".tribunal/runs is a symbolic link"), "{error}");
    }
}
