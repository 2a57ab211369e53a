//! Rebases commits without a work tree, and tells whether an approval of the old commits holds for the new ones.
//!
//! It moves no ref and decides nothing about landing. The caller checks the result and then moves the refs in one
//! transaction.

use crate::open::fields;
use crate::run::failed;
use crate::{GitError, GitPath, Oid, Repo, Signature};

/// How many bytes of conflict text are shown in all.
const CONFLICT_TEXT: usize = 64 << 10;

/// How many commits are rebased at most.
const LINE_MAX: usize = 10_000;

/// How a rebase went.
///
/// A conflict is a result and not an error: its text goes to the builder, which resolves it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rebased {
    /// All commits apply to the new base.
    Clean {
        /// The last of the new commits, or the new base if there was none.
        head: Oid,
        /// Every commit with the one that it became, oldest first.
        commits: Vec<(Oid, Oid)>,
    },
    /// One commit does not apply, and nothing was kept.
    Conflict {
        /// The commit that does not apply.
        commit: Oid,
        /// The files in which it conflicts.
        files: Vec<GitPath>,
        /// What git says about each file, and the files with conflict markers, cut to a readable length.
        text: String,
    },
}

impl Repo {
    /// Rebases `base..head` (a line without merges) onto another commit.
    ///
    /// Messages and authors are kept and the committer is given, so the same call gives the same commits again. Commits
    /// whose changes the other commit has already are left out, as git's own rebase does.
    pub fn replay(
        &self,
        base: &Oid,
        head: &Oid,
        onto: &Oid,
        committer: &Signature,
    ) -> Result<Rebased, GitError> {
        let line = self.line(base, head)?;
        // Nothing moves, so the commits keep their ids and with them their signatures.
        if base == onto {
            let commits = line.iter().map(|(_, commit)| (commit.clone(), commit.clone())).collect();
            return Ok(Rebased::Clean { head: head.clone(), commits });
        }
        let (mut at, mut commits) = (onto.clone(), Vec::new());
        for (parent, commit) in line {
            let tree = match self.merge(&parent, &at, &commit)? {
                Merged::Clean(tree) => tree,
                Merged::Conflict { files, text } => return Ok(Rebased::Conflict { commit, files, text }),
            };
            // The new base has these changes already. An empty commit would claim that it made them.
            if tree == self.tree_of(&at)? && self.tree_of(&commit)? != self.tree_of(&parent)? {
                continue;
            }
            let raw = rewritten(&self.raw_commit(&commit)?, &tree, &at, committer);
            at = self.write("commit", &raw)?;
            commits.push((commit, at.clone()));
        }
        Ok(Rebased::Clean { head: at, commits })
    }

    /// The commits in `base..head`, oldest first, each with its parent.
    pub(crate) fn line(&self, base: &Oid, head: &Oid) -> Result<Vec<(Oid, Oid)>, GitError> {
        let (mut line, mut at) = (Vec::new(), head.clone());
        while at != *base {
            // An empty list fails the pattern below, so a line that is too long ends in the same error.
            let parents = if line.len() < LINE_MAX { self.parents_of(&at)? } else { Vec::new() };
            let [parent] = parents.as_slice() else {
                return Err(GitError::odd(format!("{head} does not follow {base} in a line without merges")));
            };
            line.push((parent.clone(), std::mem::replace(&mut at, parent.clone())));
        }
        line.reverse();
        Ok(line)
    }

    /// Applies to `ours` what `theirs` changed since `base`.
    fn merge(&self, base: &Oid, ours: &Oid, theirs: &Oid) -> Result<Merged, GitError> {
        let ours_tree = self.tree_of(ours)?;
        // The usual case, and no process is needed for it: nothing changed under the commit.
        if ours_tree == self.tree_of(base)? {
            return self.tree_of(theirs).map(Merged::Clean);
        }
        let call = self.objects().args(["merge-tree", "--write-tree", "-z", "--name-only", "--messages"]);
        let call = call.arg(format!("--merge-base={base}")).args([ours, theirs]);
        let name = call.name();
        let output = call.run()?;
        let mut parts = fields(&output.stdout);
        let tree = || GitError::odd("merge-tree named no tree");
        match output.code() {
            Some(0) => Ok(Merged::Clean(Oid::from_bytes(parts.next().ok_or_else(tree)?)?)),
            Some(1) => {
                let tree = Oid::from_bytes(parts.next().ok_or_else(tree)?)?;
                let files: Vec<_> = parts.by_ref().take_while(|f| !f.is_empty()).map(GitPath::from).collect();
                let text = self.conflict_text(&tree, &files, &messages(parts))?;
                Ok(Merged::Conflict { files, text })
            }
            _ => Err(failed(&name, &output)),
        }
    }

    /// What a person or an agent needs to see to resolve the conflict.
    fn conflict_text(&self, tree: &Oid, files: &[GitPath], said: &str) -> Result<String, GitError> {
        let mut text = said.to_owned();
        for path in files {
            let bytes = self.file_at(tree, path)?.unwrap_or_default();
            let content = String::from_utf8_lossy(&bytes);
            // A file without markers conflicts by its existence or kind, which git's message says.
            if !content.contains("<<<<<<< ") {
                continue;
            }
            text.push_str(&format!("--- {path}\n{content}\n"));
            if text.len() > CONFLICT_TEXT {
                break;
            }
        }
        let cut = (0..=CONFLICT_TEXT.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
        text.truncate(cut.unwrap_or(0));
        Ok(text)
    }

    /// Whether the approval of `base..head` holds for its rebase `onto..new_head`: the patch is the same, and no file
    /// that it changes or declares differs between the two bases. A declared directory stands for everything in it.
    ///
    /// Contents count and not history: the approval holds as well when the new base does not follow the old one.
    pub fn carries_over(
        &self,
        base: &Oid,
        head: &Oid,
        onto: &Oid,
        new_head: &Oid,
        declared: &[GitPath],
    ) -> Result<bool, GitError> {
        if base == onto && head == new_head {
            return Ok(true);
        }
        if !self.is_ancestor(onto, new_head)? {
            return Ok(false);
        }
        let between = self.changed_paths(base, onto)?;
        let (before, after) = (self.differing(base, head)?, self.differing(onto, new_head)?);
        if !between.is_empty() {
            let mut own: Vec<GitPath> = before.iter().map(|file| file.path.clone()).collect();
            own.extend_from_slice(declared);
            if between.iter().any(|path| own.iter().any(|mine| mine.overlaps(path))) {
                return Ok(false);
            }
        }
        // The same files changed from the same content to the same content, so no patch could tell the two apart.
        Ok(before == after || self.patch_id(base, head)? == self.patch_id(onto, new_head)?)
    }
}

enum Merged {
    Clean(Oid),
    Conflict { files: Vec<GitPath>, text: String },
}

/// The messages of `merge-tree -z`: a count of paths, the paths, a kind and a sentence.
fn messages<'a>(mut parts: impl Iterator<Item = &'a [u8]>) -> String {
    let mut text = String::new();
    while let Some(count) = parts.next() {
        let count = String::from_utf8_lossy(count).parse::<usize>().unwrap_or(0);
        let Some(sentence) = parts.nth(count + 1) else { break };
        let sentence = String::from_utf8_lossy(sentence);
        let sentence: String =
            sentence.trim_end().chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        text.push_str(&sentence);
        text.push('\n');
    }
    text
}

/// A commit object with another tree, parent and committer, and without signatures that would no longer be valid.
pub(crate) fn rewritten(raw: &[u8], tree: &Oid, parent: &Oid, committer: &Signature) -> Vec<u8> {
    let at = raw.windows(2).position(|pair| pair == b"\n\n").unwrap_or(raw.len());
    let (head, body) = raw.split_at(at);
    let mut out = format!("tree {tree}\nparent {parent}\n").into_bytes();
    let mut keep = false;
    for line in head.split(|b| *b == b'\n') {
        // A line that begins with a space continues the header before it.
        if !line.starts_with(b" ") {
            keep = line.starts_with(b"author ") || line.starts_with(b"encoding ");
        }
        if keep {
            out.extend_from_slice(line);
            out.push(b'\n');
        }
        if line.starts_with(b"author ") {
            out.extend_from_slice(format!("committer {}\n", committer.line()).as_bytes());
        }
    }
    out.extend_from_slice(body.strip_prefix(b"\n").unwrap_or(body));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_go_and_messages_stay() {
        let oid = |c: &str| Oid::parse(&c.repeat(40)).expect("an id");
        let raw = b"tree x\nparent y\nauthor A <a> 1 +0200\ncommitter B <b> 2 +0000\nencoding latin1\n\
            gpgsig -----BEGIN\n more\n -----END\n\nsubject \xe9\n\nbody\n";
        let new = rewritten(raw, &oid("1"), &oid("2"), &Signature::new("T", "t@t", 9));
        let expected = format!("tree {}\nparent {}\n", oid("1"), oid("2")).into_bytes();
        let rest =
            b"author A <a> 1 +0200\ncommitter T <t@t> 9 +0000\nencoding latin1\n\nsubject \xe9\n\nbody\n";
        assert_eq!(new, [&expected[..], rest].concat());
    }
}
