//! The settings of a repository that its user trusts: a file in the user's state folder, by repository, with a digest
//! of every trusted value. `tribunal-core` decides which settings need trust.
//!
//! Values are trusted and not files, so that a change of one value revokes only that one. A changed value has another
//! digest and is no longer trusted.

use super::state::{make_state_folder, state_folder};
use crate::project::inside::read_plain;
use crate::write_atomic;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

const FILE: &str = "trust.json";

/// What the user trusts, by the git folder of the repository.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Book {
    repositories: BTreeMap<String, BTreeSet<String>>,
}

impl Book {
    /// Reads the file. One that cannot be read trusts nothing.
    fn read() -> Book {
        let text = state_folder().and_then(|folder| read_plain(&folder.join(FILE)).ok());
        text.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
    }

    fn write(&self) -> io::Result<()> {
        write_atomic(&make_state_folder()?.join(FILE), &serde_json::to_vec_pretty(self)?)
    }
}

/// The digest of one setting.
pub fn digest(key: &str, value: &str) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in [key, value] {
        // The lengths keep key and value apart: `a` with `bc` must not equal `ab` with `c`.
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finalize().to_hex().to_string()
}

/// The digest of several settings by their own digests, in any order.
pub fn digest_of_all(digests: &BTreeSet<String>) -> String {
    let all: Vec<&str> = digests.iter().map(String::as_str).collect();
    digest("all", &all.join(" "))
}

/// The digests of the values that the user trusts in the repository around a folder.
pub fn values(root: &Path) -> BTreeSet<String> {
    let known = |repository: String| Book::read().repositories.remove(&repository);
    repository(root).and_then(known).unwrap_or_default()
}

/// Trusts exactly these settings, by their digests, and none that was trusted here before. Repositories that are gone
/// are forgotten.
pub fn trust(root: &Path, values: BTreeSet<String>) -> io::Result<()> {
    let none = || io::Error::new(io::ErrorKind::NotFound, "there is no git repository");
    let repository = repository(root).ok_or_else(none)?;
    let mut book = Book::read();
    book.repositories.retain(|path, _| Path::new(path).exists());
    match values.is_empty() {
        true => book.repositories.remove(&repository),
        false => book.repositories.insert(repository, values),
    };
    book.write()
}

/// The git folder that all worktrees of a repository share, found by looking at files alone.
///
/// It is the key of the trust file, because neither a branch nor a clone can bring one.
fn repository(root: &Path) -> Option<String> {
    let git = root.join(".git");
    let dir = match git.is_dir() {
        true => git,
        false => {
            let text = String::from_utf8(read_plain(&git).ok()?).ok()?;
            root.join(text.trim_end().strip_prefix("gitdir: ")?)
        }
    };
    let common = read_plain(&dir.join("commondir")).ok().and_then(|text| String::from_utf8(text).ok());
    let common = common.map_or(dir.clone(), |text| dir.join(PathBuf::from(text.trim_end())));
    Some(common.canonicalize().ok()?.to_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_value_has_another_digest() {
        assert_eq!(digest("run.on_end", "[\"a\"]"), digest("run.on_end", "[\"a\"]"));
        assert_ne!(digest("run.on_end", "[\"a\"]"), digest("run.on_end", "[\"b\"]"));
        assert_ne!(digest("ab", "c"), digest("a", "bc"));
    }

    #[test]
    fn worktrees_share_a_repository() {
        let folder = tempfile::tempdir().unwrap();
        let (main, linked) = (folder.path().join("main"), folder.path().join("linked"));
        let own = main.join(".git/worktrees/linked");
        std::fs::create_dir_all(&own).unwrap();
        std::fs::create_dir_all(&linked).unwrap();
        std::fs::write(own.join("commondir"), "../..\n").unwrap();
        std::fs::write(linked.join(".git"), format!("gitdir: {}\n", own.display())).unwrap();
        assert!(repository(&main).is_some());
        assert_eq!(repository(&linked), repository(&main));
        assert_eq!(repository(folder.path()), None);
    }
}
