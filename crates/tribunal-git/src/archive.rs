//! A repository to read from, with or without a work tree: revisions, their differences and their files.
//!
//! It writes nothing at all, not even the engine directory that [`crate::Repo`] makes, so it is safe on a bare mirror
//! that others use. Use it where a command only reads, such as comparing two reports.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::files::unique;
use crate::objects::{Entry, Object, Reader, line, parse_entries};
use crate::open::{Config, ask, dirty, neutral, on_work_tree, paths};
use crate::run::Call;
use crate::{GitError, GitPath, Mode, Oid};
use tribunal_process::lock;

/// Longer differences are refused: nobody compares two reports over them.
const DIFF_MAX: usize = 512 << 20;

/// How many questions are sent before the answers are read. They are few enough to fit into a pipe, so that neither
/// side waits for the other to read.
const QUESTIONS_MAX: usize = 32;

/// Options that keep the difference free of foreign programs and settings.
const SAFE: [&str; 7] = [
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--ignore-submodules=all",
    "--diff-algorithm=myers",
    "--src-prefix=a/",
    "--dst-prefix=b/",
];

/// A repository that is only read.
///
/// It has no engine directory. Safety comes from the calls instead: no system or global settings, and the git directory
/// in the place of a work tree.
pub struct Archive {
    git_dir: PathBuf,
    reader: Mutex<Option<Reader>>,
}

impl Archive {
    /// Finds the repository that a directory is in, or is.
    pub fn open(dir: &Path) -> Result<Archive, GitError> {
        let dir = std::fs::canonicalize(dir).map_err(GitError::io(dir))?;
        // Asking git takes a process, which is saved in the plain case.
        let git_dir = match own_git_dir(&dir) {
            Some(found) => found,
            None => PathBuf::from(ask(&dir, &["--absolute-git-dir"])?),
        };
        Ok(Archive { git_dir, reader: Mutex::new(None) })
    }

    /// The paths in which a work tree of this repository, or its index, differs from HEAD, untracked files included.
    /// Empty means clean.
    ///
    /// It writes nothing, not even a refreshed index.
    pub fn dirty(&self, work_tree: &Path) -> Result<Vec<GitPath>, GitError> {
        let filters = Config::read(work_tree)?.filters();
        dirty(on_work_tree(&self.git_dir, work_tree, &filters))
    }

    /// The files of a commit or tree, without submodules.
    pub fn files(&self, at: &Oid) -> Result<Vec<Entry>, GitError> {
        let bytes = self.call().args(["ls-tree", "-r", "-z", "--full-tree"]).arg(at).ok()?;
        Ok(parse_entries(&bytes)?.into_iter().filter(|entry| entry.mode != Mode::Gitlink).collect())
    }

    /// Which of these files the work tree has with other content, or not at all.
    ///
    /// The files themselves are read, as git would take them in: an index entry that tells git not to look at a file
    /// has no effect. Files that a sparse checkout may have left out are not reported.
    pub fn differing(&self, work_tree: &Path, files: &[Entry]) -> Result<Vec<GitPath>, GitError> {
        if files.is_empty() {
            return Ok(Vec::new());
        }
        let config = Config::read(work_tree)?;
        let room = Room::make()?;
        let index = room.0.join("index");
        let call = || on_work_tree(&self.git_dir, work_tree, &config.filters()).env("GIT_INDEX_FILE", &index);
        let mut lines = Vec::new();
        files.iter().for_each(|file| line(&mut lines, file.mode.as_str(), file.oid.as_str(), &file.path));
        // A fresh index has no stat data, so git has to read every file; `ignoreStat` would mark them as unchanged.
        let fill = call().config("core.ignoreStat=false").args(["update-index", "-z", "--index-info"]);
        fill.input(lines).ok()?;
        let diff = call().config("diff.autoRefreshIndex=true").args(["diff", "--name-only", "-z"]);
        let diff = diff.args(["--no-renames", "--no-ext-diff", "--no-textconv"]);
        // `d` leaves out deleted files: in a sparse checkout they are absent on purpose.
        let sparse = config.is_sparse().then_some("--diff-filter=d");
        Ok(paths(&diff.args(sparse).ok()?))
    }

    /// The commit that a revision names; [`GitError::NoSuch`] when there is none.
    pub fn commit(&self, rev: &str) -> Result<Oid, GitError> {
        let none = || GitError::NoSuch { what: format!("revision {rev:?}") };
        // The revision goes to `cat-file` as one line.
        if rev.is_empty() || rev.contains(['\n', '\r', '\0']) {
            return Err(none());
        }
        let found = self.object(format!("{rev}^{{commit}}").as_bytes())?;
        found.filter(|object| object.kind == "commit").map(|object| object.oid).ok_or_else(none)
    }

    /// The difference as a patch without context, with renames found and full ids in its `index` lines.
    pub fn diff_lines(&self, from: &Oid, to: &Oid) -> Result<Vec<u8>, GitError> {
        if from == to {
            return Ok(Vec::new());
        }
        let call = self.call().cut_at(DIFF_MAX).args(["diff-tree", "-r", "-p", "-M", "-U0", "--full-index"]);
        let call = call.args(SAFE).args([from, to]);
        let name = call.name();
        let output = call.run()?;
        // Half a difference would move findings to wrong lines, so it is an error and not a result.
        if output.cut {
            return Err(GitError::TooLarge { command: name, cap: DIFF_MAX });
        }
        if output.status.success() { Ok(output.stdout) } else { Err(crate::run::failed(&name, &output)) }
    }

    /// The bytes of a file in a commit or tree, if it is there.
    pub fn file_at(&self, at: &Oid, path: &GitPath) -> Result<Option<Vec<u8>>, GitError> {
        let Some(name) = name_of(at, path) else { return Ok(None) };
        Ok(self.object(&name)?.and_then(blob))
    }

    /// The bytes of several blobs, in the order they are asked for, until they are more than `cap` bytes; `None` where
    /// there is no such blob.
    ///
    /// Many questions go out before the first answer is read, so that git is seldom waited for. Asking by id also saves
    /// git from reading a tree for each.
    pub fn blobs(&self, oids: &[Oid], cap: usize) -> Result<Vec<Option<Vec<u8>>>, GitError> {
        let mut found: Vec<Option<Vec<u8>>> = Vec::with_capacity(oids.len());
        let mut size = 0;
        for some in oids.chunks(QUESTIONS_MAX) {
            let mut reader = lock(&self.reader);
            let mut open = self.taken(&mut reader)?;
            let lines: String = some.iter().map(|oid| format!("{oid}\n")).collect();
            open.0.send(lines.as_bytes())?;
            for _ in some {
                let bytes = open.answer()?.and_then(blob);
                size += bytes.as_ref().map_or(0, Vec::len);
                found.push(bytes);
            }
            *reader = Some(open);
            // Only between chunks, where the reader is in step with git.
            if size > cap {
                break;
            }
        }
        Ok(found)
    }

    fn taken(&self, reader: &mut Option<Reader>) -> Result<Reader, GitError> {
        match reader.take() {
            Some(open) => Ok(open),
            None => Ok(Reader(self.call().args(["cat-file", "--batch"]).session()?)),
        }
    }

    fn object(&self, name: &[u8]) -> Result<Option<Object>, GitError> {
        let mut reader = lock(&self.reader);
        let mut open = self.taken(&mut reader)?;
        // Put back only when it is in step: after an error the next read starts a new process.
        let answer = open.read(name)?;
        *reader = Some(open);
        Ok(answer)
    }

    /// A call on the git directory, which stands in for the work tree so that attributes of checked-out files have no
    /// effect.
    pub(crate) fn call(&self) -> Call {
        neutral(Call::new(&self.git_dir), &self.git_dir, &self.git_dir)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .config("core.attributesFile=/dev/null")
    }
}

/// A temporary folder for one index file, removed when dropped.
struct Room(PathBuf);

impl Room {
    fn make() -> Result<Room, GitError> {
        loop {
            let dir = std::env::temp_dir().join(unique("tribunal-index"));
            match std::fs::create_dir(&dir) {
                Ok(()) => return Ok(Room(dir)),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(GitError::io(&dir)(error)),
            }
        }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The git directory in a directory, where it is so plainly one, and the caller's own, that git need not be asked.
///
/// A directory of another user is left to git, which knows whom the user trusts.
fn own_git_dir(dir: &Path) -> Option<PathBuf> {
    let git = dir.join(".git");
    let me = rustix::process::geteuid().as_raw();
    let own =
        |path: &Path| std::fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir() && meta.uid() == me);
    let whole = git.join("HEAD").is_file() && git.join("objects").is_dir() && git.join("refs").is_dir();
    (own(dir) && own(&git) && whole).then_some(git)
}

/// The name by which a file in a tree is asked for. Questions are lines, so a path with a line end cannot be asked for.
fn name_of(at: &Oid, path: &GitPath) -> Option<Vec<u8>> {
    let askable = path.is_inside() && !path.as_bytes().contains(&b'\n') && !path.as_bytes().ends_with(b"\r");
    askable.then(|| [at.as_str().as_bytes(), b":", path.as_bytes()].concat())
}

fn blob(object: Object) -> Option<Vec<u8>> {
    (object.kind == "blob").then_some(object.bytes)
}
