//! The files of the project as the rules see them: names from the root, and text where it is text.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// One file.
pub struct File {
    /// Its size in bytes.
    pub size: u64,
    /// Its text; none where it is not UTF-8 or too large to be read by people.
    pub text: Option<String>,
}

/// All files.
pub struct Tree {
    /// The root.
    pub root: PathBuf,
    /// Files by their names from the root.
    pub files: BTreeMap<String, File>,
}

/// What is made, not written; and what belongs to others.
const SKIPPED: &[&str] = &["target", ".git", ".tribunal", "mutants.out", "mutants.out.old"];
const TEXT_MAX: u64 = 4 << 20;

impl Tree {
    /// Reads all files below the root. No symlink is followed.
    pub fn read(root: &Path) -> std::io::Result<Tree> {
        let mut tree = Tree { root: root.to_owned(), files: BTreeMap::new() };
        let mut left = vec![root.to_owned()];
        while let Some(dir) = left.pop() {
            for entry in std::fs::read_dir(&dir)? {
                let entry = entry?;
                let skipped = entry.file_name().to_str().is_some_and(|name| SKIPPED.contains(&name));
                let kind = entry.file_type()?;
                if skipped {
                    continue;
                }
                if kind.is_dir() {
                    left.push(entry.path());
                } else if kind.is_file() {
                    tree.add(&entry.path())?;
                }
            }
        }
        Ok(tree)
    }

    fn add(&mut self, path: &Path) -> std::io::Result<()> {
        // A file that another process has just removed is no file of the project.
        let Ok(size) = path.metadata().map(|data| data.len()) else { return Ok(()) };
        let name = path.strip_prefix(&self.root).unwrap_or(path).to_string_lossy().into_owned();
        let text = if size > TEXT_MAX { None } else { String::from_utf8(std::fs::read(path)?).ok() };
        self.files.insert(name, File { size, text });
        Ok(())
    }

    /// Text files, with their names.
    pub fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().filter_map(|(name, file)| Some((name.as_str(), file.text.as_deref()?)))
    }

    /// The text of one file.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.files.get(name)?.text.as_deref()
    }

    /// Entries of the root, without what is made and the repository itself.
    pub fn root_entries(&self) -> std::collections::BTreeSet<&str> {
        self.files.keys().filter_map(|name| name.split('/').next()).collect()
    }
}
