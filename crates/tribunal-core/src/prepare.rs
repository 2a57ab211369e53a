//! What a checkout is prepared from before it is judged.
//!
//! `checks.prepare` installs packages, with the network, and runs code of whatever it installs for. So it runs on the
//! base if that gives the same packages: what it leaves there is no change's doing, and may serve every change. Only
//! a change that brings other lock files is prepared by itself, for itself.

use std::collections::BTreeMap;

/// Files that say exactly which packages a project has.
const LOCK_FILES: [&str; 24] = [
    "package-lock.json",
    "npm-shrinkwrap.json",
    "pnpm-lock.yaml",
    "yarn.lock",
    "bun.lock",
    "bun.lockb",
    "deno.lock",
    "Cargo.lock",
    "go.sum",
    "go.work.sum",
    "poetry.lock",
    "uv.lock",
    "pdm.lock",
    "pylock.toml",
    "Pipfile.lock",
    "Gemfile.lock",
    "composer.lock",
    "mix.lock",
    "pubspec.lock",
    "Package.resolved",
    "Podfile.lock",
    "packages.lock.json",
    "gradle.lockfile",
    "flake.lock",
];

/// The lock files of a tree: their paths, with what names their content.
pub type LockFiles = BTreeMap<String, String>;

/// Whose code a checkout is prepared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreparedFrom {
    /// The base: it has the same lock files, and its result may be kept for others.
    Base,
    /// The change itself, because its lock files differ. Its result is for this change alone.
    Change,
}

/// Whether a file says which packages a project has. Python's lists of requirements have many names.
pub fn is_lock_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let listed = name.starts_with("requirements") && name.ends_with(".txt");
    listed || LOCK_FILES.contains(&name)
}

/// What a change is prepared from, by the lock files of both sides.
pub fn prepared_from(base: &LockFiles, change: &LockFiles) -> PreparedFrom {
    // Any difference counts, also a file less: the packages would be others.
    if base == change { PreparedFrom::Base } else { PreparedFrom::Change }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_files_are_known_in_every_folder() {
        for path in
            ["package-lock.json", "web/pnpm-lock.yaml", "requirements-dev.txt", "a/b/go.sum", "Cargo.lock"]
        {
            assert!(is_lock_file(path), "{path}");
        }
        for path in ["package.json", "Cargo.toml", "docs/requirements.md", "src/lock.rs", "go.mod"] {
            assert!(!is_lock_file(path), "{path}");
        }
    }

    /// No code of a change has a hand in what others are judged with.
    #[test]
    fn only_a_change_with_other_lock_files_is_prepared_by_itself() {
        let locks = |files: &[(&str, &str)]| -> LockFiles {
            files.iter().map(|(path, id)| ((*path).to_owned(), (*id).to_owned())).collect()
        };
        let base = locks(&[("package-lock.json", "1")]);
        assert_eq!(prepared_from(&base, &base), PreparedFrom::Base);
        assert_eq!(prepared_from(&locks(&[]), &locks(&[])), PreparedFrom::Base);
        for change in [
            locks(&[("package-lock.json", "2")]),
            locks(&[]),
            locks(&[("package-lock.json", "1"), ("web/package-lock.json", "3")]),
        ] {
            assert_eq!(prepared_from(&base, &change), PreparedFrom::Change);
        }
    }
}
