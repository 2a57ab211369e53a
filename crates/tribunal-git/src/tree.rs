//! The trees that agents work in: made from a commit, and taken back as a tree object.
//!
//! A tree's own `.git` is a private repository that borrows our objects. It belongs to the agent and is never read
//! here, nor are its configuration, index or refs: an agent could have pointed any of them at a program of its own.
//! Only the files are taken, through an index of ours that lies beside the tree.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::fs::Permissions;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tribunal_core::defence::{Defence, stands};

use crate::files::unique;
use crate::open::{MARKER, paths};
use crate::run::{Call, Output, STDERR_CAP, failed};
use crate::{GitError, GitPath, Oid, Repo, index};
use tribunal_process::lock;

/// How deep repositories inside repositories are followed.
const NESTED_DEPTH: usize = 8;

/// How many files are examined for things that git must not open.
const DEFUSE_MAX: usize = 100_000;

/// Up to this many changed files are flushed to the disk one by one. For more, git gathers them in a directory of its
/// own, which costs a dozen files and directories that live for an instant.
const FEW: usize = 8;

/// From this many changed files on, git puts their contents into one pack instead of a file each: making tens of
/// thousands of files takes longer than everything else that is done with them.
const MANY: usize = 500;
/// A file that git considers big goes into a pack as it is read, unless it must be converted first.
const INTO_A_PACK: &str = "core.bigFileThreshold=1";

/// Files of a private repository by their path in it, with their content.
pub(crate) type Files = Vec<(PathBuf, Vec<u8>)>;

/// The files of one agent or reviewer. Only one caller may use a tree at a time.
///
/// The value is a handle and owns nothing: dropping it leaves the directory. Use [`crate::WorktreePool`] to take a tree away.
#[derive(Clone)]
pub struct Tree {
    repo: Repo,
    path: PathBuf,
    index: PathBuf,
    base: Oid,
}

/// The files of a tree, as they were taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captured {
    /// The tree object that holds the files.
    pub tree: Oid,
    /// Files that could not be taken exactly as they lay there.
    pub problems: Vec<Problem>,
}

/// Something in an agent's tree that a commit cannot hold as it is.
///
/// These are data for the report and no reason to fail: a capture takes what it can and names the rest.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Problem {
    /// A repository that the agent made inside its tree. Its files are taken as ordinary files, its history is not.
    Nested {
        /// The directory of that repository.
        path: GitPath,
    },
    /// A submodule whose directory was filled, removed or replaced. It stays at the commit it was at.
    Submodule {
        /// The path of the submodule.
        path: GitPath,
    },
    /// A file that git cannot or will not store. The tree object has its old version, or none.
    Unstorable {
        /// The file or directory; empty when git did not name one.
        path: GitPath,
        /// Why it was not stored, mostly in git's words.
        why: String,
    },
    /// The tree's own `.gitattributes` made git fail, so those of the base commit were used.
    Attributes {
        /// What git wrote when it failed.
        why: String,
    },
}

impl Captured {
    /// What is in the tree and not in what was taken. As long as there is any, the tree must not be deleted.
    pub fn left(&self) -> Vec<String> {
        left(&self.problems)
    }
}

/// The problems that leave bytes behind which no commit holds.
pub(crate) fn left(problems: &[Problem]) -> Vec<String> {
    let leaves = |p: &&Problem| matches!(p, Problem::Unstorable { .. } | Problem::Submodule { .. });
    problems.iter().filter(leaves).map(ToString::to_string).collect()
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Nested { path } => {
                write!(f, "{path} is a repository: its files are taken, its history is not")
            }
            Problem::Submodule { path } => write!(f, "{path} is a submodule, and stays at the commit it was"),
            Problem::Unstorable { path, why } if path.as_bytes().is_empty() => f.write_str(why),
            Problem::Unstorable { path, why } => write!(f, "{path}: {why}"),
            Problem::Attributes { why } => write!(f, ".gitattributes broke git, and had no say: {why}"),
        }
    }
}

impl Repo {
    /// Puts the files of a commit into a new directory, with a private repository whose branch is `branch`. The index
    /// file lies outside the tree and is ours.
    ///
    /// `dest` appears complete or not at all: the files are made in a directory beside it, which is renamed last.
    pub fn checkout(&self, dest: &Path, index: &Path, commit: &Oid, branch: &str) -> Result<Tree, GitError> {
        self.checkout_as(dest, index, commit, commit, branch)
    }

    /// Like [`Repo::checkout`], but with the files of `tree` (see [`Repo::tree_with`]).
    pub fn checkout_as(
        &self,
        dest: &Path,
        index: &Path,
        commit: &Oid,
        tree: &Oid,
        branch: &str,
    ) -> Result<Tree, GitError> {
        if dest.symlink_metadata().is_ok() {
            let source = std::io::ErrorKind::AlreadyExists.into();
            return Err(GitError::Io { path: dest.to_owned(), source });
        }
        // The tree's own repository borrows the user's store, so its commit has to be there.
        self.hold(std::slice::from_ref(commit))?;
        let name = dest.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let partial = dest.with_file_name(unique(&format!(".{name}")));
        std::fs::create_dir_all(&partial).map_err(GitError::io(&partial))?;
        drop_index(index)?;
        let call = self.engine(&partial).env("GIT_INDEX_FILE", index);
        let files = self.private_files(commit, branch);
        let made = call
            .args(["read-tree", "-m", "-u"])
            .arg(tree)
            .ok()
            .and_then(|_| self.hand_over(&partial, dest, index, files.iter()));
        if made.is_err() {
            let _ = std::fs::remove_dir_all(&partial);
        }
        made.map(|()| self.tree(dest, index, commit))
    }

    /// Gives files their private repository, of which some files have to be written, and moves them to their place.
    pub(crate) fn hand_over<'a>(
        &self,
        from: &Path,
        dest: &Path,
        index: &Path,
        to_write: impl Iterator<Item = &'a (PathBuf, Vec<u8>)>,
    ) -> Result<(), GitError> {
        let git = from.join(".git");
        for (path, bytes) in to_write {
            let path = git.join(path);
            path.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(GitError::io(&path))?;
            std::fs::write(&path, bytes).map_err(GitError::io(path))?;
        }
        // The agent gets a copy; ours is never given away.
        let copy = git.join("index");
        std::fs::copy(index, &copy).map_err(GitError::io(copy))?;
        // The change time of the index is moved beyond that of every file. The time was just looked at, and newer
        // kernels then give the next change a time of its own.
        let mode = index.symlink_metadata().map_err(GitError::io(index))?.permissions();
        std::fs::set_permissions(index, mode).map_err(GitError::io(index))?;
        std::fs::rename(from, dest).map_err(GitError::io(dest))
    }

    /// A handle to a tree that exists already, made from `base`; for a run that goes on after a restart.
    pub fn tree(&self, path: &Path, index: &Path, base: &Oid) -> Tree {
        Tree { repo: self.clone(), path: path.to_owned(), index: index.to_owned(), base: base.clone() }
    }

    /// The `.git` that the agent may use, without its index: its own refs and configuration, with our objects as
    /// alternate.
    pub(crate) fn private_files(&self, commit: &Oid, branch: &str) -> Files {
        // A name that is not valid for a branch must not stop the checkout.
        let branch =
            if crate::refs::check_name(&format!("refs/heads/{branch}")).is_ok() { branch } else { "work" };
        let head = format!("refs/heads/{branch}");
        let mut settings = self.inner.settings.clone();
        for (key, value) in [("user.name", "agent"), ("user.email", "agent@localhost"), ("gc.auto", "0")] {
            settings.push((key.to_owned(), value.as_bytes().to_vec()));
        }
        let mut files = vec![
            ("HEAD".into(), format!("ref: {head}\n").into_bytes()),
            (head.into(), format!("{commit}\n").into_bytes()),
            ("config".into(), self.inner.config_text(&settings)),
            ("objects/info/alternates".into(), alternate(&self.inner.objects)),
            (
                MARKER.into(),
                b"Tribunal made this repository; it takes the files, never this directory.\n".to_vec(),
            ),
        ];
        if let Ok(shallow) = std::fs::read(self.inner.common_dir.join("shallow")) {
            files.push(("shallow".into(), shallow));
        }
        let ours = |name: &str| std::fs::read(self.inner.engine.join(name)).unwrap_or_default();
        files.push(("info/exclude".into(), ours("info/exclude")));
        files.extend(
            Some(ours("info/attributes"))
                .filter(|bytes| !bytes.is_empty())
                .map(|bytes| ("info/attributes".into(), bytes)),
        );
        files
    }
}

/// How many indexes are remembered with their tree.
const KNOWN_MAX: usize = 4096;

impl Repo {
    /// The tree that the entries of an index make, if git noted it there or it was made from it before.
    fn tree_known(&self, index: &index::Index) -> Option<Oid> {
        let known = || lock(&self.inner.known_trees);
        let tree = index.tree.clone().or_else(|| known().get(index.digest.as_ref()?).cloned());
        // Knowing the id is not having the object: a tree that is gone by now is made again.
        tree.filter(|tree| matches!(self.object(tree.as_str().as_bytes()), Ok(Some(_))))
    }

    /// Remembers the tree of an index. The digest names the entries for ever, so no entry can be out of date.
    fn know_tree(&self, index: &index::Index, tree: &Oid) {
        let mut known = lock(&self.inner.known_trees);
        if known.len() >= KNOWN_MAX {
            known.clear();
        }
        if let Some(digest) = &index.digest {
            known.insert(digest.clone(), tree.clone());
        }
    }
}

/// The line of an alternates file, quoted where the path would be misread.
fn alternate(objects: &Path) -> Vec<u8> {
    let bytes = objects.as_os_str().as_bytes();
    let mut line = Vec::with_capacity(bytes.len() + 1);
    if bytes.contains(&b'\n') || bytes.contains(&b'"') {
        line.push(b'"');
        for byte in bytes {
            match byte {
                b'\n' => line.extend_from_slice(b"\\n"),
                b'"' | b'\\' => line.extend_from_slice(&[b'\\', *byte]),
                byte => line.push(*byte),
            }
        }
        line.push(b'"');
    } else {
        line.extend_from_slice(bytes);
    }
    line.push(b'\n');
    line
}

/// Removes our index and the lock beside it. If a link lies there, the link is removed and not its target.
pub(crate) fn drop_index(index: &Path) -> Result<(), GitError> {
    drop_lock(index);
    match std::fs::remove_file(index) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(GitError::io(index)(e)),
        _ => Ok(()),
    }
}

/// Removes the lock that a killed git left on our index. Nobody else uses it, and a tree has one caller at a time.
fn drop_lock(index: &Path) {
    let mut lock = index.as_os_str().to_owned();
    lock.push(".lock");
    let _ = std::fs::remove_file(lock);
}

impl Tree {
    /// The directory with the agent's files.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Our index file, which lies beside the tree.
    pub fn index(&self) -> &Path {
        &self.index
    }

    /// The commit that the tree was made from.
    pub fn base(&self) -> &Oid {
        &self.base
    }

    /// The repository that the tree belongs to.
    pub fn repo(&self) -> &Repo {
        &self.repo
    }

    fn call(&self) -> Call {
        let call = self.repo.engine(&self.path).env("GIT_INDEX_FILE", &self.index);
        call.stopped_by(&self.repo.inner.stop)
    }

    /// Stores the files, tracked and new but not ignored, as a tree object.
    ///
    /// Nothing in the tree is run. Nothing is changed either, with two exceptions: pipes are removed from where git
    /// would wait for them, and folders of ours that were closed to us are opened.
    pub fn capture(&self) -> Result<Captured, GitError> {
        // A link here would make us take the files of wherever it leads.
        let meta = self.path.symlink_metadata().map_err(GitError::io(&self.path))?;
        if !meta.is_dir() {
            return Err(GitError::odd(format!("{} is not a directory", self.path.display())));
        }
        if !stands(Defence::NoDiscovery) {
            let _ = Call::new(&self.path).args(["status", "--porcelain"]).run();
        }
        drop_lock(&self.index);
        let (changed, known) = self.look();
        if let Some(tree) = known.filter(|_| changed == 0).and_then(|index| self.repo.tree_known(&index)) {
            return Ok(Captured { tree, problems: Vec::new() });
        }
        let flush = if changed <= FEW { "core.fsyncMethod=fsync" } else { "core.fsyncMethod=batch" };
        let many = (MANY..usize::MAX).contains(&changed);
        let settings: Vec<&str> = [flush].into_iter().chain(many.then_some(INTO_A_PACK)).collect();
        // Read again after the quick look: from here on the index has to exist, and `look` does not make one.
        let before = self.read_index()?;
        let mut problems = Vec::new();
        defuse(&self.path, &GitPath::default(), &mut { DEFUSE_MAX }, &mut problems);
        let known: Vec<_> = before.gitlinks.iter().map(|(path, _)| path.clone()).collect();
        problems.extend(self.touched_submodules(&known));
        let large = self.too_large(&before)?;
        let passed_over: Vec<_> =
            known.iter().cloned().chain(large.iter().map(|(path, _)| path.clone())).collect();
        problems.extend(large.into_iter().map(|(path, size)| self.larger(path, size)));
        let added = self.add(&passed_over, &settings, &mut problems)?;
        let after = index::read(&self.index, self.repo.inner.sha256)?;
        let mut nested: Vec<GitPath> = after
            .gitlinks
            .iter()
            .map(|(path, _)| path.clone())
            .filter(|path| !known.contains(path))
            .collect();
        if !is_content(&added) {
            self.left_over(&passed_over, &added, &mut nested, &mut problems)?;
        }
        for path in &nested {
            self.absorb(path, 0, &mut problems)?;
        }
        self.known_nested(&after.dirs, &mut problems);
        problems.sort();
        // With a nested repository, `after` is older than what was absorbed, so the short cut would miss its files.
        let tree = match nested.is_empty().then(|| self.few_changed(&before, &after)).flatten() {
            Some(tree) => tree,
            None => Oid::from_bytes(&self.call().config(flush).arg("write-tree").ok()?)?,
        };
        Ok(Captured { tree, problems })
    }

    /// The tree of our index, if little has changed since its tree was known. If anything is in the way of that, git
    /// still writes it.
    fn few_changed(&self, before: &index::Index, after: &index::Index) -> Option<Oid> {
        let tree = self.repo.tree_known(before).filter(|_| !before.odd && !after.odd)?;
        let changes = Some(before.changes(after)).filter(|changes| changes.len() <= FEW)?;
        let tree = self.repo.tree_changed(&tree, &changes).ok().flatten()?;
        self.repo.know_tree(after, &tree);
        Some(tree)
    }

    /// Our index. One that is missing or broken is made anew from the base commit.
    ///
    /// A link in its place is removed, because git would write through it into somebody else's index.
    fn read_index(&self) -> Result<index::Index, GitError> {
        let sha256 = self.repo.inner.sha256;
        match index::read(&self.index, sha256) {
            Ok(index) if self.index.exists() => return Ok(index),
            Ok(_) | Err(GitError::Odd { .. }) => {}
            Err(error) => return Err(error),
        }
        let _ = std::fs::remove_file(&self.index);
        self.call().arg("read-tree").arg(&self.base).ok()?;
        index::read(&self.index, sha256)
    }

    /// The number of files that are not provably as they were when our index was written, removed and new ones
    /// included, counted up to [`MANY`]; and the index.
    ///
    /// An unknown state counts as the largest number, so whatever cannot be examined is captured in full.
    fn look(&self) -> (usize, Option<index::Index>) {
        const UNKNOWN: (usize, Option<index::Index>) = (usize::MAX, None);
        let index = index::read(&self.index, self.repo.inner.sha256);
        let (Ok(written), Ok(index)) = (self.index.symlink_metadata(), index) else { return UNKNOWN };
        let real = self.path.symlink_metadata().is_ok_and(|meta| meta.is_dir());
        // A submodule's directory is not in the index file by file, so nothing can be proven about it.
        if !index.gitlinks.is_empty() || !real {
            return UNKNOWN;
        }
        let mut look = Look {
            files: index.files.iter().map(|(path, stat)| (path.as_bytes(), stat)).collect(),
            dirs: index.dirs.iter().map(GitPath::as_bytes).collect(),
            // Nobody writes in the tree while we have it, so it was like this when the index came to its place.
            written: (written.ctime(), written.ctime_nsec()),
            same: 0,
            other: 0,
        };
        if look.directory(&self.path, &[]).is_none() {
            return UNKNOWN;
        }
        // Files that are gone were not met on the way; they show in how many are missing from the same ones.
        let changed = look.other.max(look.files.len().saturating_sub(look.same));
        (changed, Some(index))
    }

    /// Files that are larger than those we take, with their size.
    ///
    /// Git would read them to their end, and a sparse file can claim to be larger than any disk. Files that git ignores
    /// or that have not changed do not count.
    fn too_large(&self, before: &index::Index) -> Result<Vec<(GitPath, u64)>, GitError> {
        let max = self.repo.inner.file_max.load(std::sync::atomic::Ordering::Relaxed);
        let mut found = Vec::new();
        if max > 0 {
            larger_than(&self.path, &GitPath::default(), max, &mut { DEFUSE_MAX }, &mut found);
        }
        if found.is_empty() {
            return Ok(Vec::new());
        }
        let known: HashMap<&[u8], &index::Stat> =
            before.files.iter().map(|(path, stat)| (path.as_bytes(), stat)).collect();
        let same = |path: &GitPath, meta: &std::fs::Metadata| {
            known.get(path.as_bytes()).is_some_and(|stat| stat.is_untouched(meta))
        };
        // A large file of the base commit is nothing that the agent brought.
        found.retain(|(path, meta)| !same(path, meta));
        let input = found.iter().flat_map(|(path, _)| [path.as_bytes(), b"\0"].concat()).collect::<Vec<u8>>();
        let asked = self.call().args(["check-ignore", "-z", "--stdin"]).input(input).run()?;
        let ignored: HashSet<GitPath> = paths(&asked.stdout).into_iter().collect();
        let left = found.into_iter().filter(|(path, _)| !ignored.contains(path));
        Ok(left.map(|(path, meta)| (path, meta.len())).collect())
    }

    fn larger(&self, path: GitPath, size: u64) -> Problem {
        let max = self.repo.inner.file_max.load(std::sync::atomic::Ordering::Relaxed);
        let why = format!("{} MB, and files of more than {} MB are not taken", size >> 20, max >> 20);
        Problem::Unstorable { path, why }
    }

    /// Submodules whose place is no longer the empty directory it was.
    fn touched_submodules(&self, known: &[GitPath]) -> Vec<Problem> {
        let untouched = |path: &GitPath| {
            let place = path.under(&self.path);
            let real = place.symlink_metadata().is_ok_and(|meta| meta.is_dir());
            real && std::fs::read_dir(&place).is_ok_and(|mut entries| entries.next().is_none())
        };
        known
            .iter()
            .filter(|path| !untouched(path))
            .map(|path| Problem::Submodule { path: path.clone() })
            .collect()
    }

    /// Takes all files into the index except those of submodules, and goes on when a file cannot be taken.
    ///
    /// If folders were closed to us, they are opened and everything is tried once more.
    fn add(
        &self,
        known: &[GitPath],
        settings: &[&str],
        problems: &mut Vec<Problem>,
    ) -> Result<Output, GitError> {
        let before = problems.len();
        let first = self.add_once(known, settings, problems);
        if first.as_ref().is_ok_and(is_content) || !open_folders(&self.path) {
            return first;
        }
        // The complaints of the first attempt may be settled now.
        problems.truncate(before);
        drop_lock(&self.index);
        self.add_once(known, settings, problems)
    }

    fn add_once(
        &self,
        known: &[GitPath],
        settings: &[&str],
        problems: &mut Vec<Problem>,
    ) -> Result<Output, GitError> {
        let call = |attributes: Option<&Oid>| {
            let mut call = settings.iter().fold(self.call(), |call, setting| call.config(setting));
            if let Some(commit) = attributes {
                call = call.option(format!("--attr-source={commit}"));
            }
            let call = call.args(["add", "-A", "--ignore-errors", "--no-warn-embedded-repo"]);
            if known.is_empty() {
                return call;
            }
            // Exclusions alone would match nothing, so the list begins with everything.
            let mut specs = b".\0".to_vec();
            for path in known {
                specs.extend_from_slice(b":(top,exclude,literal)");
                specs.extend_from_slice(path.as_bytes());
                specs.push(0);
            }
            call.args(["--pathspec-from-file=-", "--pathspec-file-nul"]).input(specs)
        };
        let first = call(None).run()?;
        if matches!(first.code(), Some(0 | 1)) {
            return Ok(first);
        }
        // The agent's attributes may be what made git fail. Those of the base commit were good enough to check it out.
        drop_lock(&self.index);
        let second = call(Some(&self.base)).run()?;
        if matches!(second.code(), Some(0 | 1)) {
            problems.push(Problem::Attributes { why: first.complaint() });
            return Ok(second);
        }
        Err(failed("add -A", &second))
    }

    /// Finds out what `git add` could not take.
    fn left_over(
        &self,
        known: &[GitPath],
        added: &Output,
        nested: &mut Vec<GitPath>,
        problems: &mut Vec<Problem>,
    ) -> Result<(), GitError> {
        let complaint = added.complaint();
        let call = self.call().args(["ls-files", "-z", "--others", "--modified", "--exclude-standard"]);
        let mut left = paths(&call.ok()?);
        left.sort();
        left.dedup();
        let before = problems.len() + nested.len();
        problems.extend(unopened(&added.stderr, &GitPath::default()));
        for path in left {
            // Git lists a repository inside the tree as a directory, with a slash at its end.
            let dir = path.as_bytes().strip_suffix(b"/").map(GitPath::from);
            if known.contains(dir.as_ref().unwrap_or(&path)) {
                continue;
            }
            match dir {
                Some(dir) if nested.contains(&dir) => {}
                Some(dir) => nested.push(dir),
                None => problems.push(Problem::Unstorable { why: reason(&complaint, &path), path }),
            }
        }
        // A warning of one of the user's filters is no reason to doubt that all files were taken.
        let failed = !added.status.success() || added.stderr.len() >= STDERR_CAP;
        // Git failed and named nothing: the capture must not look complete.
        if failed && problems.len() + nested.len() == before {
            let path = GitPath::default();
            problems.push(Problem::Unstorable { path, why: complaint });
        }
        Ok(())
    }

    /// Takes the files of a repository inside the tree as ordinary files.
    fn absorb(&self, dir: &GitPath, depth: usize, problems: &mut Vec<Problem>) -> Result<(), GitError> {
        if depth > NESTED_DEPTH {
            let why = "repositories inside repositories, too deep".to_owned();
            problems.push(Problem::Unstorable { path: dir.clone(), why });
            return Ok(());
        }
        problems.push(Problem::Nested { path: dir.clone() });
        // The directory is a root of its own here, so its `.git` is skipped; the index of that name never exists.
        let none = self.index.with_file_name(unique("none"));
        let call = self.repo.engine(&dir.under(&self.path)).env("GIT_INDEX_FILE", none);
        let listed = call.args(["ls-files", "-z", "--others", "--exclude-per-directory=.gitignore"]).run()?;
        if !listed.status.success() {
            return Err(failed("ls-files --others", &listed));
        }
        problems.extend(unopened(&listed.stderr, dir));
        let found = paths(&listed.stdout);
        let many = found.len() >= MANY;
        let inside = |path: &[u8]| GitPath::new([dir.as_bytes(), b"/", path].concat());
        let mut input = Vec::new();
        let mut deeper = Vec::new();
        for path in found {
            match path.as_bytes().strip_suffix(b"/") {
                Some(repository) => deeper.push(inside(repository)),
                None => {
                    input.extend_from_slice(inside(path.as_bytes()).as_bytes());
                    input.push(0);
                }
            }
        }
        // If `git add` made a submodule of the directory, that entry has to go first.
        let gone = [b"0 ", self.base.zero_like().as_bytes(), b"\t", dir.as_bytes(), b"\0"].concat();
        self.call().args(["update-index", "-z", "--index-info"]).input(gone).ok()?;
        if !input.is_empty() {
            let call = if many { self.call().config(INTO_A_PACK) } else { self.call() };
            let call = call.args(["update-index", "--add", "--replace", "-z", "--stdin"]);
            let output = call.input(input).run()?;
            if !output.status.success() {
                problems.push(Problem::Unstorable { path: dir.clone(), why: output.complaint() });
            }
        }
        for path in deeper {
            self.absorb(&path, depth + 1, problems)?;
        }
        Ok(())
    }

    /// Names the repositories inside the tree whose files an earlier capture has already taken.
    fn known_nested(&self, dirs: &[GitPath], problems: &mut Vec<Problem>) {
        for dir in dirs {
            let problem = Problem::Nested { path: dir.clone() };
            let git = dir.under(&self.path).join(".git");
            if git.symlink_metadata().is_ok() && !problems.contains(&problem) {
                problems.push(problem);
            }
        }
    }

    /// Everything in the tree that git ignores: files, and folders without tracked files as a whole.
    pub fn ignored(&self) -> Result<Vec<GitPath>, GitError> {
        let call = self.call().args([
            "ls-files",
            "-z",
            "--others",
            "--ignored",
            "--exclude-standard",
            "--directory",
        ]);
        let bare =
            |path: GitPath| path.as_bytes().strip_suffix(b"/").map_or_else(|| path.clone(), GitPath::from);
        Ok(paths(&call.ok()?).into_iter().map(bare).filter(GitPath::is_inside).collect())
    }

    /// The paths in which the files differ from what was checked out, ignored files included: it shows whether a
    /// checkout that should only be read was touched.
    ///
    /// It changes nothing beyond what [`Tree::capture`] has to change too.
    pub fn compare(&self) -> Result<Vec<GitPath>, GitError> {
        drop_lock(&self.index);
        if let (0, Some(_)) = self.look() {
            return Ok(Vec::new());
        }
        self.read_index()?;
        let call = self.call().args(["ls-files", "-z", "--others", "--modified", "--deleted"]);
        let mut problems = Vec::new();
        defuse(&self.path, &GitPath::default(), &mut { DEFUSE_MAX }, &mut problems);
        let listed = call.run()?;
        if !listed.status.success() {
            return Err(failed("ls-files --modified", &listed));
        }
        problems.extend(unopened(&listed.stderr, &GitPath::default()));
        let mut touched = paths(&listed.stdout);
        for problem in problems {
            // A folder that cannot be opened counts as touched: nobody knows what is in it.
            if let Problem::Unstorable { path, .. } = problem {
                touched.push(path);
            }
        }
        touched.sort();
        touched.dedup();
        Ok(touched)
    }
}

/// A look at all files of a tree, compared with what the index knows of them.
struct Look<'a> {
    files: HashMap<&'a [u8], &'a index::Stat>,
    dirs: HashSet<&'a [u8]>,
    written: (i64, i64),
    /// Files that have not changed since the index was written.
    same: usize,
    /// Files that have changed, or that the index does not know.
    other: usize,
}

impl Look<'_> {
    /// Counts the files of a directory until many have changed; `None` when it cannot be examined.
    ///
    /// A file that changed in the very moment in which the index was written proves nothing: the same moment may hold
    /// another change.
    fn directory(&mut self, dir: &Path, inside: &[u8]) -> Option<()> {
        let (len, mut below) = (inside.len(), Vec::new());
        for entry in std::fs::read_dir(dir).ok()? {
            let entry = entry.ok()?;
            let name = entry.file_name();
            if len == 0 && name == ".git" {
                continue;
            }
            let path = joined(inside, &name);
            if entry.file_type().ok()?.is_dir() {
                self.other += usize::from(!self.dirs.contains(path.as_slice()));
                below.push(name);
            } else {
                // The metadata of the entry itself; a link is not followed.
                let meta = entry.metadata().ok()?;
                let same = self.files.get(path.as_slice()).is_some_and(|stat| {
                    stat.is_untouched(&meta) && stat.is_older_than(self.written.0, self.written.1)
                });
                self.same += usize::from(same);
                self.other += usize::from(!same);
            }
            if self.other >= MANY {
                return Some(());
            }
        }
        // Only now that this directory is closed: there can be more levels than files that may be open.
        for name in below {
            self.directory(&dir.join(&name), &joined(inside, &name))?;
            if self.other >= MANY {
                break;
            }
        }
        Some(())
    }
}

/// Removes pipes, sockets and devices from where git would open them and wait for ever: ignore and attribute files, and
/// the git directories of repositories inside the tree. They hold no bytes. Links are not followed.
fn defuse(dir: &Path, inside: &GitPath, left: &mut usize, problems: &mut Vec<Problem>) {
    let mut below = Vec::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let Some(fewer) = left.checked_sub(1) else { return };
        *left = fewer;
        let (name, Ok(kind)) = (entry.file_name(), entry.file_type()) else { continue };
        if inside.as_bytes().is_empty() && name == ".git" {
            continue;
        }
        let path = GitPath::new(joined(inside.as_bytes(), &name));
        if kind.is_dir() {
            below.push((entry.path(), path));
        } else if !kind.is_file() && !kind.is_symlink() && opened_by_git(&path) {
            let why = match std::fs::remove_file(entry.path()) {
                Ok(()) => "not a regular file; removed, because git would wait for it".to_owned(),
                Err(error) => format!("not a regular file, and not to be removed: {error}"),
            };
            problems.push(Problem::Unstorable { path, why });
        }
    }
    for (dir, path) in below {
        defuse(&dir, &path, left, problems);
    }
}

/// The files below a directory that are larger than `max` bytes. Links are not followed.
fn larger_than(
    dir: &Path,
    inside: &GitPath,
    max: u64,
    left: &mut usize,
    found: &mut Vec<(GitPath, std::fs::Metadata)>,
) {
    let mut below = Vec::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let Some(fewer) = left.checked_sub(1) else { return };
        *left = fewer;
        let (name, Ok(meta)) = (entry.file_name(), entry.metadata()) else { continue };
        if name == ".git" {
            continue;
        }
        let path = GitPath::new(joined(inside.as_bytes(), &name));
        if meta.is_dir() {
            below.push((entry.path(), path));
        } else if meta.is_file() && meta.len() > max {
            found.push((path, meta));
        }
    }
    for (dir, path) in below {
        larger_than(&dir, &path, max, left, found);
    }
}

/// The path of a name inside a directory of the tree.
fn joined(inside: &[u8], name: &std::ffi::OsStr) -> Vec<u8> {
    let slash = if inside.is_empty() { &b""[..] } else { b"/" };
    [inside, slash, name.as_bytes()].concat()
}

fn opened_by_git(path: &GitPath) -> bool {
    let mut parts = path.as_bytes().split(|b| *b == b'/');
    let last = parts.clone().next_back().unwrap_or_default();
    matches!(last, b".gitignore" | b".gitattributes" | b".gitmodules") || parts.any(|part| part == b".git")
}

/// How git says that it skipped a folder. It says nothing else about it, and exits with success.
const UNOPENED: &str = "warning: could not open directory '";

/// Whether git took everything: nothing failed, and nothing was skipped.
///
/// Other warnings are harmless. A line that is not a warning may name a file that could not be examined.
fn is_content(output: &Output) -> bool {
    let harmless = |line: &[u8]| {
        let said = line.starts_with(b"warning: ") || line.starts_with(b"hint: ") || line.is_empty();
        said && !line.starts_with(UNOPENED.as_bytes())
    };
    let whole = output.stderr.len() < STDERR_CAP;
    output.status.success() && whole && output.stderr.split(|b| *b == b'\n').all(harmless)
}

/// The folders that git could not open, below the one it was started in.
fn unopened(stderr: &[u8], inside: &GitPath) -> Vec<Problem> {
    let one = |line: &[u8]| {
        let said = line.strip_prefix(UNOPENED.as_bytes())?;
        // The end of a very long line is missing.
        let end = said.windows(3).rposition(|bytes| bytes == b"': ").unwrap_or(said.len());
        let (path, why) = said.split_at(end);
        let path = path.strip_suffix(b"/").unwrap_or(path);
        let why = String::from_utf8_lossy(why.get(3..).unwrap_or_default()).into_owned();
        let why = if why.is_empty() { "the path is too long".to_owned() } else { why };
        let path = GitPath::new(joined(inside.as_bytes(), std::ffi::OsStr::from_bytes(path)));
        Some(Problem::Unstorable { path, why })
    };
    stderr.split(|b| *b == b'\n').filter_map(one).collect()
}

/// Opens the folders of ours that an agent closed to us; true if there was one. Links are not followed.
fn open_folders(dir: &Path) -> bool {
    let Ok(meta) = dir.symlink_metadata() else { return false };
    let mut opened = false;
    // Changing a folder of somebody else would fail anyway, and is not ours to do.
    let ours = meta.uid() == rustix::process::geteuid().as_raw();
    if meta.is_dir() && ours && meta.mode() & 0o700 != 0o700 {
        let mode = Permissions::from_mode(meta.mode() & 0o7777 | 0o700);
        opened = std::fs::set_permissions(dir, mode).is_ok();
    }
    // All names first: a folder is not held open while those below it are examined.
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let folders: Vec<PathBuf> = folders.map(|entry| entry.path()).collect();
    folders.iter().fold(opened, |opened, dir| open_folders(dir) | opened)
}

/// The lines of git's complaint that name a path, or the whole complaint.
fn reason(complaint: &str, path: &GitPath) -> String {
    let shown = path.to_string();
    let lines: Vec<_> = complaint.lines().filter(|line| line.contains(&shown)).collect();
    if lines.is_empty() { complaint.to_owned() } else { lines.join("\n") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    /// Folders in folders, so many that one open directory for each would be too many.
    #[test]
    fn depth_takes_no_descriptors() {
        const ALONE: &str = "TRIBUNAL_TEST_ALONE";
        if std::env::var_os(ALONE).is_none() {
            let own = std::env::current_exe().expect("this test");
            let args = ["--exact", "tree::tests::depth_takes_no_descriptors"];
            let alone = std::process::Command::new(own).args(args).env(ALONE, "1").status();
            return assert!(alone.expect("runs").success());
        }
        let root = tempfile::tempdir().expect("a folder");
        let mut deep = root.path().to_owned();
        (0..200).for_each(|_| deep.push("d"));
        std::fs::create_dir_all(&deep).expect("mkdir");
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        let (place, kind) = (deep.join(".gitignore"), rustix::fs::FileType::Fifo);
        rustix::fs::mknodat(rustix::fs::CWD, &place, kind, mode, 0).expect("a pipe");
        let all = getrlimit(Resource::Nofile);
        setrlimit(Resource::Nofile, Rlimit { current: Some(100), ..all }).expect("fewer");
        let mut problems = Vec::new();
        defuse(root.path(), &GitPath::default(), &mut { DEFUSE_MAX }, &mut problems);
        assert!(problems.len() == 1 && place.symlink_metadata().is_err(), "{problems:?}");
        let inside: Vec<u8> = ["d"; 200].join("/").into_bytes();
        let dirs = (0..200).filter_map(|n| inside.get(..2 * n + 1)).collect();
        let mut look = Look { files: HashMap::new(), dirs, written: (0, 0), same: 0, other: 0 };
        assert_eq!(look.directory(root.path(), &[]), Some(()));
        assert_eq!(look.other, 0);
    }
}
