//! Reads and writes blobs, trees and commits by plumbing. Nothing here looks at a work tree.
//!
//! Reading goes through one long-lived `cat-file`. A commit object is written byte by byte, so that the same facts give
//! the same id.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::open::fields;
use crate::run::Session;
use crate::{GitError, GitPath, Mode, Oid, Repo, Signature};
use tribunal_process::lock;

/// The largest object that is read into memory.
const OBJECT_MAX: usize = 64 << 20;

/// One file, link or submodule of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What kind of entry this is.
    pub mode: Mode,
    /// The object that holds its content.
    pub oid: Oid,
    /// The path from the root of the tree.
    pub path: GitPath,
}

/// How many commits are remembered, and how long one may be for that.
const KNOWN_MAX: usize = 1024;
const KNOWN_BYTES_MAX: usize = 4096;

/// Bytes of file lists that are remembered. Every round asks for the list of the commit it began with.
const LISTED_MAX: usize = 4 << 20;

/// Commits read lately. An id names its bytes for ever, so no entry can be out of date.
pub(crate) type Known = BTreeMap<Oid, Arc<[u8]>>;

/// The long-lived process that reads objects.
///
/// It answers in the order of the questions. A caller that gets an error must drop it, because the rest of the answer
/// may still be in the pipe.
pub(crate) struct Reader(pub(crate) Session);

/// An object as `cat-file` gave it.
pub(crate) struct Object {
    pub(crate) oid: Oid,
    pub(crate) kind: String,
    pub(crate) bytes: Vec<u8>,
}

impl Reader {
    /// Reads one object by a name without newline; `None` when there is no such object.
    pub(crate) fn read(&mut self, name: &[u8]) -> Result<Option<Object>, GitError> {
        self.0.send(&[name, b"\n"].concat())?;
        self.answer()
    }

    /// Reads the answer to a name that was sent before.
    pub(crate) fn answer(&mut self) -> Result<Option<Object>, GitError> {
        let line = self.0.line()?;
        let line = String::from_utf8_lossy(&line).into_owned();
        let mut words = line.split(' ');
        let (oid, kind, size) = (words.next(), words.next(), words.next());
        let (Some(oid), Some(kind), Some(size), None) = (oid, kind, size, words.next()) else {
            return missing(&line);
        };
        let (Ok(oid), Ok(size)) = (Oid::parse(oid), size.parse::<usize>()) else { return missing(&line) };
        if size > OBJECT_MAX {
            // The answer is on its way; only a new process is in step again.
            return Err(GitError::TooLarge { command: format!("cat-file {oid}"), cap: OBJECT_MAX });
        }
        // `cat-file` ends every object with a newline that is not part of it.
        let mut bytes = self.0.exactly(size + 1)?;
        bytes.pop();
        Ok(Some(Object { oid, kind: kind.to_owned(), bytes }))
    }
}

/// Tells an object that is missing from an answer that makes no sense.
fn missing(line: &str) -> Result<Option<Object>, GitError> {
    match line.ends_with(" missing") || line.ends_with(" ambiguous") {
        true => Ok(None),
        false => Err(GitError::odd(format!("cat-file said {:.200}", line.escape_debug()))),
    }
}

impl Repo {
    pub(crate) fn object(&self, name: &[u8]) -> Result<Option<Object>, GitError> {
        // The name goes to `cat-file` as one line; a second line would be a second question.
        if name.contains(&b'\n') {
            return Err(GitError::odd("an object name with a newline"));
        }
        let mut reader = lock(&self.inner.reader);
        let mut open = match reader.take() {
            Some(open) => open,
            None => Reader(self.objects().args(["cat-file", "--batch"]).session()?),
        };
        // Put back only when it is in step: after an error the next read starts a new process.
        let answer = open.read(name)?;
        *reader = Some(open);
        Ok(answer)
    }

    fn expect(&self, oid: &Oid, kind: &str) -> Result<Vec<u8>, GitError> {
        match self.object(oid.as_str().as_bytes())? {
            Some(object) if object.kind == kind => Ok(object.bytes),
            _ => Err(GitError::NoSuch { what: format!("{kind} {oid}") }),
        }
    }

    /// The bytes of a blob; an error when the id is something else.
    pub fn read_blob(&self, oid: &Oid) -> Result<Vec<u8>, GitError> {
        self.expect(oid, "blob")
    }

    /// The bytes of a commit object.
    pub(crate) fn raw_commit(&self, oid: &Oid) -> Result<Arc<[u8]>, GitError> {
        let known = || lock(&self.inner.known);
        if let Some(bytes) = known().get(oid) {
            return Ok(Arc::clone(bytes));
        }
        let bytes: Arc<[u8]> = self.expect(oid, "commit")?.into();
        if bytes.len() <= KNOWN_BYTES_MAX {
            // Dropping everything keeps the bound without a record of what was used last.
            let mut known = known();
            if known.len() >= KNOWN_MAX {
                known.clear();
            }
            known.insert(oid.clone(), Arc::clone(&bytes));
        }
        Ok(bytes)
    }

    /// The bytes of a tree object.
    pub(crate) fn raw_tree(&self, oid: &Oid) -> Result<Vec<u8>, GitError> {
        self.expect(oid, "tree")
    }

    /// The bytes of a file (or the target of a link) in a commit or tree, if it is there.
    ///
    /// A path that leads out of the tree counts as absent.
    pub fn file_at(&self, at: &Oid, path: &GitPath) -> Result<Option<Vec<u8>>, GitError> {
        if !path.is_inside() {
            return Ok(None);
        }
        let Some(blob) = self.blob_at(at, path)? else { return Ok(None) };
        Ok(self
            .object(blob.as_str().as_bytes())?
            .filter(|object| object.kind == "blob")
            .map(|object| object.bytes))
    }

    /// The tree of a commit.
    pub fn tree_of(&self, commit: &Oid) -> Result<Oid, GitError> {
        // The tree is always the first line of a commit object.
        let raw = self.raw_commit(commit)?;
        let line = raw.split(|b| *b == b'\n').next().unwrap_or_default();
        Oid::from_bytes(line.strip_prefix(b"tree ").unwrap_or_default())
    }

    /// The parents of a commit.
    pub fn parents_of(&self, commit: &Oid) -> Result<Vec<Oid>, GitError> {
        let raw = self.raw_commit(commit)?;
        let lines = raw.split(|b| *b == b'\n').take_while(|line| !line.is_empty());
        lines.filter_map(|line| line.strip_prefix(b"parent ")).map(Oid::from_bytes).collect()
    }

    /// The message of a commit as bytes: nothing says that it is UTF-8.
    pub fn message_of(&self, commit: &Oid) -> Result<Vec<u8>, GitError> {
        let raw = self.raw_commit(commit)?;
        let at = raw.windows(2).position(|pair| pair == b"\n\n");
        Ok(at.and_then(|at| raw.get(at + 2..)).unwrap_or_default().to_vec())
    }

    /// The author and committer lines of a commit with their addresses, as bytes.
    pub fn people_of(&self, commit: &Oid) -> Result<Vec<u8>, GitError> {
        let raw = self.raw_commit(commit)?;
        let lines = raw.split(|b| *b == b'\n').take_while(|line| !line.is_empty());
        let named = lines.filter(|line| line.starts_with(b"author ") || line.starts_with(b"committer "));
        Ok(named.collect::<Vec<_>>().join(&b'\n'))
    }

    /// Stores a blob and returns its id.
    pub fn write_blob(&self, bytes: &[u8]) -> Result<Oid, GitError> {
        self.write("blob", bytes)
    }

    pub(crate) fn write(&self, kind: &str, bytes: &[u8]) -> Result<Oid, GitError> {
        if let Some(oid) = self.store(kind, bytes) {
            return Ok(oid);
        }
        let call = self.objects().args(["hash-object", "-w", "-t", kind, "--stdin"]);
        Oid::from_bytes(&call.input(bytes).ok()?)
    }

    /// Stores a commit. The same arguments always give the same commit.
    ///
    /// The object is written here and not by `git commit-tree`, so neither the environment nor the user's settings have
    /// a part in it.
    pub fn commit(
        &self,
        tree: &Oid,
        parents: &[Oid],
        message: &str,
        author: &Signature,
        committer: &Signature,
    ) -> Result<Oid, GitError> {
        let mut raw = format!("tree {tree}\n");
        for parent in parents {
            raw.push_str(&format!("parent {parent}\n"));
        }
        raw.push_str(&format!("author {}\ncommitter {}\n\n", author.line(), committer.line()));
        // Git refuses a commit object with a NUL byte in it.
        let body = message.replace('\0', "");
        raw.push_str(body.trim_end());
        raw.push('\n');
        self.write("commit", raw.as_bytes())
    }

    /// All files of a commit or tree, with submodules as gitlinks.
    pub fn list_tree(&self, at: &Oid) -> Result<Vec<Entry>, GitError> {
        let known = || lock(&self.inner.listed);
        if let Some(bytes) = known().get(at) {
            return parse_entries(bytes);
        }
        let bytes = self.objects().args(["ls-tree", "-r", "-z", "--full-tree"]).arg(at).ok()?;
        let entries = parse_entries(&bytes)?;
        let mut known = known();
        if known.values().map(|bytes| bytes.len()).sum::<usize>() + bytes.len() > LISTED_MAX {
            known.clear();
        }
        if bytes.len() <= LISTED_MAX {
            known.insert(at.clone(), bytes.into());
        }
        Ok(entries)
    }

    /// The files at or under the given paths.
    pub(crate) fn entries(&self, at: &Oid, paths: &[GitPath]) -> Result<Vec<Entry>, GitError> {
        // Literal, so that a file called `*.rs` stands for itself and not for all Rust files.
        let call = self.objects().env("GIT_LITERAL_PATHSPECS", "1");
        let call = call.args(["ls-tree", "-r", "-z", "--full-tree"]).arg(at).arg("--");
        parse_entries(&call.args(paths.iter().map(GitPath::os)).ok()?)
    }

    /// Whether a path is the same directory in both, or absent from both.
    fn same_dir(&self, at: &Oid, from: &Oid, path: &GitPath) -> Result<bool, GitError> {
        if !path.is_inside() || path.as_bytes().contains(&b'\n') || path.as_bytes().ends_with(b"\r") {
            return Ok(false);
        }
        let find = |at: &Oid| self.object(&[at.as_str().as_bytes(), b":", path.as_bytes()].concat());
        Ok(match (find(at)?, find(from)?) {
            (None, None) => true,
            // The modes of files are not compared here.
            (Some(one), Some(other)) => one.kind == "tree" && other.kind == "tree" && one.oid == other.oid,
            _ => false,
        })
    }

    /// The tree of `at` with the given files and directories as they are in `from`, or without those that `from` lacks.
    pub fn tree_with(&self, at: &Oid, from: &Oid, paths: &[GitPath]) -> Result<Oid, GitError> {
        let kind = self.object(at.as_str().as_bytes())?.map(|object| object.kind);
        let tree = if kind.as_deref() == Some("commit") { self.tree_of(at)? } else { at.clone() };
        if paths
            .iter()
            .try_fold(true, |same, path| Ok::<_, GitError>(same && self.same_dir(at, from, path)?))?
        {
            return Ok(tree);
        }
        // Directories that are the same were found above by their ids alone, which saves two processes.
        let (now, then) = (self.entries(at, paths)?, self.entries(from, paths)?);
        if now == then {
            return Ok(tree);
        }
        let mut input = Vec::new();
        // Mode 0 removes a path. All removals come first, since a new file may stand where a directory was.
        for entry in &now {
            line(&mut input, "0", &"0".repeat(entry.oid.as_str().len()), &entry.path);
        }
        for entry in &then {
            line(&mut input, entry.mode.as_str(), entry.oid.as_str(), &entry.path);
        }
        self.tree_edited(&tree, input)
    }

    /// The tree of a commit with these files placed in it as ordinary files, whatever was there before.
    pub fn tree_placing(&self, at: &Oid, files: &[(GitPath, Oid)]) -> Result<Oid, GitError> {
        let tree = self.tree_of(at)?;
        if let Some((path, _)) = files.iter().find(|(path, _)| !path.is_inside()) {
            return Err(GitError::odd(format!("{path} is no path in a repository")));
        }
        let mut input = Vec::new();
        for (path, blob) in files {
            line(&mut input, Mode::File.as_str(), blob.as_str(), path);
        }
        if input.is_empty() { Ok(tree) } else { self.tree_edited(&tree, input) }
    }

    /// Applies lines of `update-index --index-info` to a tree.
    ///
    /// It works in an index file of its own below the engine directory, so several calls can run at once and the user's
    /// index is not involved.
    fn tree_edited(&self, tree: &Oid, input: Vec<u8>) -> Result<Oid, GitError> {
        let index = self.inner.engine.join(crate::files::unique("index"));
        let call = || self.objects().env("GIT_INDEX_FILE", &index);
        let made = (|| {
            call().arg("read-tree").arg(tree).ok()?;
            call().args(["update-index", "-z", "--replace", "--index-info"]).input(input).ok()?;
            Oid::from_bytes(&call().arg("write-tree").ok()?)
        })();
        let _ = std::fs::remove_file(&index);
        made
    }
}

/// Appends one line for `update-index --index-info`.
pub(crate) fn line(into: &mut Vec<u8>, mode: &str, oid: &str, path: &GitPath) {
    into.extend_from_slice(format!("{mode} {oid}\t").as_bytes());
    into.extend_from_slice(path.as_bytes());
    into.push(0);
}

pub(crate) fn parse_entries(bytes: &[u8]) -> Result<Vec<Entry>, GitError> {
    let entry = |field: &[u8]| {
        let odd = || GitError::odd(format!("ls-tree said {}", field.escape_ascii()));
        let tab = field.iter().position(|b| *b == b'\t').ok_or_else(odd)?;
        let (head, path) = (field.get(..tab).unwrap_or_default(), field.get(tab + 1..).unwrap_or_default());
        let mut words = head.split(|b| *b == b' ').filter(|word| !word.is_empty());
        let mode = Mode::parse(words.next().ok_or_else(odd)?)?;
        let oid = Oid::from_bytes(words.nth(1).ok_or_else(odd)?)?;
        Ok(Entry { mode, oid, path: GitPath::from(path) })
    };
    fields(bytes).map(entry).collect()
}
