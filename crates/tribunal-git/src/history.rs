//! Commits as facts: which are in a range, what their subjects are, and which files they changed.
//!
//! Everything here only reads. A revision may come from a person's command line, so it is never allowed to be taken for
//! an option of git.

use std::collections::BTreeMap;

use crate::diff::raw_entry;
use crate::open::fields;
use crate::run::failed;
use crate::{Archive, ChangeKind, GitError, GitPath, Oid};

/// What is known of a commit without its contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// The full id of the commit.
    pub oid: Oid,
    /// How many parents it has.
    pub parents: usize,
    /// The subject on one line, with control characters replaced.
    pub subject: String,
}

/// A file that a commit changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touched {
    /// In which way the file changed.
    pub kind: ChangeKind,
    /// Where the file is, or was before it was deleted.
    pub path: GitPath,
    /// Where the file was before it was renamed.
    pub old_path: Option<GitPath>,
}

impl Archive {
    /// The commits of a range as git writes it (`a..b`, `a`), newest first; [`GitError::NoSuch`] when it names none.
    pub fn commits(&self, range: &str) -> Result<Vec<Commit>, GitError> {
        let none = || GitError::NoSuch { what: format!("range {range:?}") };
        // `--end-of-options` below covers the dash as well; a newline or NUL cannot be part of a revision.
        if range.is_empty() || range.starts_with('-') || range.contains(['\0', '\n', '\r']) {
            return Err(none());
        }
        let call = self.call().args(["log", "-z", "--no-color", "--no-show-signature", "--encoding=UTF-8"]);
        let call = call.args(["--format=%H%n%P%n%s", "--end-of-options", range, "--"]);
        let name = call.name();
        let output = call.run()?;
        match output.code() {
            Some(0) => fields(&output.stdout).map(commit).collect(),
            // Git ends with 128 when it does not know the revision.
            Some(128) => Err(none()),
            _ => Err(failed(&name, &output)),
        }
    }

    /// The commits that these hashes name, and the hashes that name none.
    pub fn known(&self, hashes: &[String]) -> Result<(Vec<Oid>, Vec<String>), GitError> {
        let (mut known, mut unknown) = (Vec::new(), Vec::new());
        for hash in hashes {
            // Git would also resolve a branch's name, which says nothing about a commit.
            let hex = hash.len() >= 4 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
            match self.commit(hash) {
                Ok(oid) if hex => known.push(oid),
                Ok(_) | Err(GitError::NoSuch { .. }) => unknown.push(hash.clone()),
                Err(error) => return Err(error),
            }
        }
        // The short and the long hash of one commit are the same commit.
        known.dedup();
        Ok((known, unknown))
    }

    /// The commit that is checked out; [`GitError::NoSuch`] when there is none yet.
    pub fn checked_out(&self) -> Result<Commit, GitError> {
        let call = self.call().args(["log", "-z", "--no-color", "--no-show-signature", "--encoding=UTF-8"]);
        let call = call.args(["--max-count=1", "--format=%H%n%P%n%s", "HEAD", "--"]);
        let name = call.name();
        let output = call.run()?;
        match output.code() {
            Some(0) => commit(output.stdout.strip_suffix(b"\0").unwrap_or(&output.stdout)),
            Some(128) => Err(GitError::NoSuch { what: "commit that is checked out".to_owned() }),
            _ => Err(failed(&name, &output)),
        }
    }

    /// The newest commits that lead to this one, without merges, newest first.
    pub fn latest(&self, at: &Oid, max: usize) -> Result<Vec<Commit>, GitError> {
        let call = self.call().args(["log", "-z", "--no-color", "--no-show-signature", "--encoding=UTF-8"]);
        let call =
            call.args(["--topo-order", "--no-merges", "--format=%H%n%P%n%s", &format!("--max-count={max}")]);
        fields(&call.arg(at).arg("--").ok()?).map(commit).collect()
    }

    /// The subject and parents of these commits, in this order.
    ///
    /// One process answers for all of them. An empty list is answered without git, which would take it for HEAD.
    pub fn commits_named(&self, oids: &[Oid]) -> Result<Vec<Commit>, GitError> {
        if oids.is_empty() {
            return Ok(Vec::new());
        }
        let call = self.call().args(["log", "-z", "--no-color", "--no-show-signature", "--encoding=UTF-8"]);
        let call = call.args(["--no-walk=unsorted", "--format=%H%n%P%n%s"]).args(oids).arg("--");
        fields(&call.ok()?).map(commit).collect()
    }

    /// The files that each commit changed against its first parent, with renames found.
    pub fn touched(&self, oids: &[Oid]) -> Result<BTreeMap<Oid, Vec<Touched>>, GitError> {
        if oids.is_empty() {
            return Ok(BTreeMap::new());
        }
        let call = self.call().args(["log", "-z", "--no-color", "--no-show-signature", "--no-walk=unsorted"]);
        let call = call.args(["--format=%H", "--raw", "-r", "-M", "--root", "--diff-merges=first-parent"]);
        let call = call.args(["--no-ext-diff", "--no-textconv", "--ignore-submodules=none"]);
        parse_touched(&call.args(oids).arg("--").ok()?)
    }

    /// The commit before all of these: the state in which the first of them was made. `None` before a first commit.
    ///
    /// The commits need not be in order or on one line, so the answer is the merge base of all their parents.
    pub fn before(&self, oids: &[Oid]) -> Result<Option<Oid>, GitError> {
        let mut parents = Vec::new();
        for oid in oids {
            match self.commit(&format!("{oid}^1")) {
                Ok(parent) => parents.push(parent),
                // A root commit has no parent, so nothing came before all of them.
                Err(GitError::NoSuch { .. }) => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        if parents.is_empty() {
            return Ok(None);
        }
        let output = self.call().args(["merge-base", "--octopus"]).args(&parents).run()?;
        match output.code() {
            Some(0) => Oid::from_bytes(&output.stdout).map(Some),
            Some(1) => Ok(None),
            _ => Err(failed("merge-base --octopus", &output)),
        }
    }
}

fn commit(entry: &[u8]) -> Result<Commit, GitError> {
    let text = String::from_utf8_lossy(entry);
    let mut lines = text.splitn(3, '\n');
    let oid = Oid::parse(lines.next().unwrap_or_default())?;
    let parents = lines.next().unwrap_or_default().split_whitespace().count();
    let subject = lines.next().unwrap_or_default();
    let subject = subject.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    Ok(Commit { oid, parents, subject })
}

/// Reads `log -z --format=%H --raw`: an id, then its entries.
fn parse_touched(bytes: &[u8]) -> Result<BTreeMap<Oid, Vec<Touched>>, GitError> {
    let odd = |field: &[u8]| GitError::odd(format!("log said {}", field.escape_ascii()));
    let mut found: BTreeMap<Oid, Vec<Touched>> = BTreeMap::new();
    let mut current: Option<Oid> = None;
    let mut parts = fields(bytes);
    while let Some(field) = parts.next() {
        // With `--raw`, git puts a newline between the id and its first entry, even with `-z`.
        let trimmed = field.strip_prefix(b"\n").unwrap_or(field);
        if !trimmed.starts_with(b":") {
            if trimmed.is_empty() {
                continue;
            }
            let oid = Oid::from_bytes(trimmed)?;
            // A commit without changes has no entries and must still be in the answer.
            found.entry(oid.clone()).or_default();
            current = Some(oid);
            continue;
        }
        let (kind, path, old_path) = raw_entry(trimmed, &mut parts).ok_or_else(|| odd(field))?;
        let touched = Touched { kind, path, old_path };
        let list = current.as_ref().and_then(|oid| found.get_mut(oid)).ok_or_else(|| odd(field))?;
        list.push(touched);
    }
    Ok(found)
}
