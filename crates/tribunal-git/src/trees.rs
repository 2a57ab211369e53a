//! Which files differ between two trees, read from the tree objects without starting a process; and a tree with a few
//! files changed, written in the same way.
//!
//! It compares names, modes and ids, never contents, and finds no renames. A law in the tests holds the trees it writes
//! against `git write-tree`.

use std::collections::BTreeMap;

use crate::index::Changes;
use crate::{GitError, GitPath, Oid, Repo};

/// How deep directories are followed.
const DEPTH_MAX: usize = 1_000;
const SYMLINK: u32 = 0o120_000;
const DIRECTORY: u32 = 0o40_000;
/// The tree without entries, in both kinds of ids.
const EMPTY_TREES: [&str; 2] = [
    "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
];

/// What a tree says of one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Leaf {
    mode: u32,
    oid: Oid,
}

/// A file that differs between two trees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Differs {
    pub(crate) path: GitPath,
    before: Option<Leaf>,
    after: Option<Leaf>,
}

type Names = BTreeMap<Vec<u8>, Leaf>;

impl Leaf {
    fn is_dir(&self) -> bool {
        self.mode == DIRECTORY
    }

    /// Whether git writes such an entry today: other modes are from old versions, and an empty directory is left out.
    fn is_usual(&self) -> bool {
        let empty = self.is_dir() && EMPTY_TREES.contains(&self.oid.as_str());
        !empty && [DIRECTORY, 0o100_644, 0o100_755, SYMLINK, 0o160_000].contains(&self.mode)
    }
}

impl Repo {
    /// The tree without entries, in the kind of ids that a commit has. Git knows it whether or not it was ever stored.
    pub fn empty_tree(&self, beside: &Oid) -> Result<Oid, GitError> {
        let length = beside.as_str().len();
        let same = EMPTY_TREES.into_iter().find(|tree| tree.len() == length);
        Oid::parse(same.ok_or_else(|| GitError::odd(format!("{beside} is of no known kind of ids")))?)
    }

    /// The files in which two commits or trees differ, sorted by path.
    pub(crate) fn differing(&self, from: &Oid, to: &Oid) -> Result<Vec<Differs>, GitError> {
        let (from, to) = (self.peeled(from)?, self.peeled(to)?);
        let mut found = Vec::new();
        self.compare_dirs(Some(&from), Some(&to), &mut Vec::new(), 0, &mut found)?;
        // Directories are walked in the order of names, which is not the order of whole paths.
        found.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(found)
    }

    /// The links that are new or changed, with their targets.
    ///
    /// A link that an agent brings can lead out of the tree, so the caller looks at each.
    pub fn changed_links(&self, from: &Oid, to: &Oid) -> Result<Vec<(GitPath, Vec<u8>)>, GitError> {
        let mut links = Vec::new();
        for file in self.differing(from, to)? {
            if let Some(leaf) = file.after.filter(|leaf| leaf.mode == SYMLINK) {
                links.push((file.path, self.read_blob(&leaf.oid)?));
            }
        }
        Ok(links)
    }

    /// The tree of a commit, or the tree itself.
    pub(crate) fn peeled(&self, oid: &Oid) -> Result<Oid, GitError> {
        match self.tree_of(oid) {
            // Not a commit, so it is taken for a tree; whether it is one shows when it is read.
            Err(GitError::NoSuch { .. }) => Ok(oid.clone()),
            other => other,
        }
    }

    fn compare_dirs(
        &self,
        from: Option<&Oid>,
        to: Option<&Oid>,
        inside: &mut Vec<u8>,
        depth: usize,
        found: &mut Vec<Differs>,
    ) -> Result<(), GitError> {
        // Equal ids mean equal content, so unchanged directories cost nothing.
        if from == to {
            return Ok(());
        }
        if depth > DEPTH_MAX {
            return Err(GitError::odd("directories too deep"));
        }
        let read = |oid: Option<&Oid>| oid.map_or_else(|| Ok(Names::new()), |oid| self.names_in(oid));
        let (before, mut after) = (read(from)?, read(to)?);
        for (name, old) in before {
            let new = after.remove(&name);
            if new.as_ref() != Some(&old) {
                self.compare_names(&name, Some(old), new, inside, depth, found)?;
            }
        }
        for (name, new) in after {
            self.compare_names(&name, None, Some(new), inside, depth, found)?;
        }
        Ok(())
    }

    fn compare_names(
        &self,
        name: &[u8],
        old: Option<Leaf>,
        new: Option<Leaf>,
        inside: &mut Vec<u8>,
        depth: usize,
        found: &mut Vec<Differs>,
    ) -> Result<(), GitError> {
        let len = inside.len();
        if len > 0 {
            inside.push(b'/');
        }
        inside.extend_from_slice(name);
        // A file may become a directory of the same name: both sides are looked at separately.
        let dir = |leaf: &Option<Leaf>| leaf.as_ref().filter(|l| l.is_dir()).map(|l| l.oid.clone());
        let (old_dir, new_dir) = (dir(&old), dir(&new));
        let (before, after) = (old.filter(|l| !l.is_dir()), new.filter(|l| !l.is_dir()));
        if before.is_some() || after.is_some() {
            found.push(Differs { path: GitPath::from(inside.as_slice()), before, after });
        }
        if old_dir.is_some() || new_dir.is_some() {
            self.compare_dirs(old_dir.as_ref(), new_dir.as_ref(), inside, depth + 1, found)?;
        }
        inside.truncate(len);
        Ok(())
    }

    /// The tree with some files changed; `None` when no file is left.
    pub(crate) fn tree_changed(&self, tree: &Oid, changes: &Changes<'_>) -> Result<Option<Oid>, GitError> {
        self.dir_changed(Some(tree), changes, 0)
    }

    fn dir_changed(
        &self,
        dir: Option<&Oid>,
        changes: &Changes<'_>,
        depth: usize,
    ) -> Result<Option<Oid>, GitError> {
        if depth > DEPTH_MAX {
            return Err(GitError::odd("directories too deep"));
        }
        let mut names = dir.map_or_else(|| Ok(Names::new()), |dir| self.names_in(dir))?;
        // Copying an unusual entry would give another tree than `git write-tree` does. Then git has to do it.
        if let Some((name, _)) = names.iter().find(|(_, leaf)| !leaf.is_usual()) {
            return Err(GitError::odd(format!("git would write {} otherwise", name.escape_ascii())));
        }
        let mut below: BTreeMap<&[u8], Changes<'_>> = BTreeMap::new();
        for (path, entry) in changes {
            let slash = path.iter().position(|b| *b == b'/');
            match (slash.map(|at| path.split_at(at)), entry) {
                (Some((name, rest)), entry) => {
                    let inside = rest.get(1..).unwrap_or_default();
                    below.entry(name).or_default().insert(inside, *entry);
                }
                (None, Some((mode, oid))) => {
                    names.insert(path.to_vec(), Leaf { mode: *mode, oid: Oid::from_raw(oid) });
                }
                (None, None) => drop(names.remove(*path)),
            }
        }
        // Directories last: one may take the place of a removed file, or leave its own place to a file.
        for (name, changes) in below {
            let old = names.get(name).filter(|leaf| leaf.is_dir()).map(|leaf| leaf.oid.clone());
            match self.dir_changed(old.as_ref(), &changes, depth + 1)? {
                Some(oid) => drop(names.insert(name.to_vec(), Leaf { mode: DIRECTORY, oid })),
                None if old.is_some() => drop(names.remove(name)),
                None => {}
            }
        }
        // Git has no empty directories, so an empty one disappears from its parent.
        if names.is_empty() { Ok(None) } else { self.write("tree", &serialise(&names)).map(Some) }
    }

    fn names_in(&self, tree: &Oid) -> Result<Names, GitError> {
        let bytes = self.raw_tree(tree)?;
        let id_len = tree.as_str().len() / 2;
        parse(&bytes, id_len).ok_or_else(|| GitError::odd(format!("tree {tree} cannot be read")))
    }
}

/// Serialises a tree object: entries are sorted as if the names of directories ended with a slash.
fn serialise(names: &Names) -> Vec<u8> {
    let key = |name: &[u8], leaf: &Leaf| [name, if leaf.is_dir() { b"/" } else { b"" }].concat();
    let sorted: BTreeMap<Vec<u8>, _> =
        names.iter().map(|(name, leaf)| (key(name, leaf), (name, leaf))).collect();
    let mut bytes = Vec::new();
    for (name, leaf) in sorted.values() {
        bytes.extend_from_slice(format!("{:o} ", leaf.mode).as_bytes());
        bytes.extend_from_slice(name);
        bytes.push(0);
        bytes.extend_from_slice(&leaf.oid.to_raw());
    }
    bytes
}

/// Parses a tree object: mode in octal, space, name, NUL, the raw bytes of the id.
fn parse(mut bytes: &[u8], id_len: usize) -> Option<Names> {
    let mut names = Names::new();
    while !bytes.is_empty() {
        let space = bytes.iter().position(|b| *b == b' ')?;
        let mode = u32::from_str_radix(std::str::from_utf8(bytes.get(..space)?).ok()?, 8).ok()?;
        let rest = bytes.get(space + 1..)?;
        let nul = rest.iter().position(|b| *b == 0)?;
        let (name, rest) = (rest.get(..nul)?, rest.get(nul + 1..)?);
        names.insert(name.to_vec(), Leaf { mode, oid: Oid::from_raw(rest.get(..id_len)?) });
        bytes = rest.get(id_len..)?;
    }
    Some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_sorted_as_if_they_ended_with_a_slash() {
        let leaf = |mode| Leaf { mode, oid: Oid::from_raw(&[7; 20]) };
        let names =
            [("d", DIRECTORY), ("d-1", 0o100_644), ("d.x", 0o100_755), ("d0", SYMLINK), ("e", DIRECTORY)];
        let names: Names = names.into_iter().map(|(name, mode)| (name.into(), leaf(mode))).collect();
        let bytes = serialise(&names);
        let entries = bytes.split(|b| *b == 0).map(|part| String::from_utf8_lossy(part).replace('\u{7}', ""));
        let expect = ["100644 d-1", "100755 d.x", "40000 d", "120000 d0", "40000 e", ""];
        assert_eq!(entries.collect::<Vec<_>>(), expect);
    }

    #[test]
    fn half_a_tree_is_no_tree() {
        let whole = [&b"100644 a\0"[..], &[7; 20], b"40000 d\0", &[9; 20]].concat();
        let names = parse(&whole, 20).expect("reads");
        assert_eq!(names.keys().map(Vec::as_slice).collect::<Vec<_>>(), [b"a", b"d"]);
        assert!(names[&b"d"[..]].is_dir());
        for len in 1..whole.len() {
            let cut = parse(&whole[..len], 20);
            assert!(cut.is_none() || len == 29, "{len}");
        }
        assert_eq!(serialise(&names), whole);
        assert_eq!(parse(b"", 20), Some(Names::new()));
        assert_eq!(parse(b"x a\0", 20), None);
    }
}
