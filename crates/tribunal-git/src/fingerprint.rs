//! A fingerprint of everything the user owns in a repository, so that a test can say that nothing of it changed.
//!
//! It is for tests only: it reads whole files and never writes. `index.lock` and `ORIG_HEAD` are part of it, because a
//! leftover lock or a moved marker is a trace in the user's repository too.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::{GitError, Repo};

/// The user's files, index, HEAD and refs at one moment, each as one line by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint(BTreeMap<String, String>);

/// Takes a fingerprint, without what lies under `.tribunal` or `refs/tribunal/`.
pub fn take(repo: &Repo) -> Result<Fingerprint, GitError> {
    let mut lines = BTreeMap::new();
    walk(repo.work_tree(), repo.work_tree(), &mut lines)?;
    // A file that is absent is noted as such, so that one that appears shows as a difference.
    for name in ["index", "HEAD", "MERGE_HEAD", "ORIG_HEAD", "index.lock"] {
        let bytes = std::fs::read(repo.inner.git_dir.join(name));
        let line = bytes.map_or_else(|_| "absent".to_owned(), |bytes| digest(&bytes));
        lines.insert(format!("git {name}"), line);
    }
    let config = std::fs::read(repo.common_dir().join("config")).unwrap_or_default();
    lines.insert("git config".to_owned(), digest(&config));
    for (name, oid) in repo.refs_under("refs")? {
        if !name.starts_with("refs/tribunal/") {
            lines.insert(format!("ref {name}"), oid.to_string());
        }
    }
    Ok(Fingerprint(lines))
}

impl Fingerprint {
    /// What differs, one line each; empty when nothing does.
    pub fn differences(&self, other: &Fingerprint) -> Vec<String> {
        let names: std::collections::BTreeSet<_> = self.0.keys().chain(other.0.keys()).collect();
        let shown =
            |print: &Fingerprint, name: &str| print.0.get(name).cloned().unwrap_or("absent".to_owned());
        names
            .into_iter()
            .filter(|name| self.0.get(*name) != other.0.get(*name))
            .map(|name| format!("{name}: {} -> {}", shown(self, name), shown(other, name)))
            .collect()
    }
}

fn digest(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

fn walk(root: &Path, dir: &Path, lines: &mut BTreeMap<String, String>) -> Result<(), GitError> {
    for entry in std::fs::read_dir(dir).map_err(GitError::io(dir))? {
        let entry = entry.map_err(GitError::io(dir))?;
        let (path, name) = (entry.path(), entry.file_name());
        // Only the folder at the root is Tribunal's; a `.tribunal` elsewhere belongs to the user.
        if name == ".git" || (dir == root && name == ".tribunal") {
            continue;
        }
        let meta = path.symlink_metadata().map_err(GitError::io(&path))?;
        let content = if meta.is_symlink() {
            let target = std::fs::read_link(&path).map_err(GitError::io(&path))?;
            target.as_os_str().as_bytes().escape_ascii().to_string()
        } else if meta.is_file() {
            digest(&std::fs::read(&path).map_err(GitError::io(&path))?)
        } else {
            String::new()
        };
        let relative =
            path.strip_prefix(root).unwrap_or(&path).as_os_str().as_bytes().escape_ascii().to_string();
        lines.insert(format!("file {relative}"), format!("{:o} {content}", meta.mode()));
        if meta.is_dir() {
            walk(root, &path, lines)?;
        }
    }
    Ok(())
}
