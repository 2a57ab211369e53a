//! Names of commits: HEAD, refs, and moving refs in one transaction, each only from the value the caller expects.
//!
//! No hook runs here. A ref moves without a known old value only where the caller says so with [`Expect::Anything`],
//! because a blind write would overwrite what the user or another process did in between.

use crate::open::fields;
use crate::run::failed;
use crate::{GitError, Oid, Repo};

/// Where the user's worktree stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The branch by its short name; `None` when HEAD is detached.
    pub branch: Option<String>,
    /// The commit that HEAD leads to.
    pub commit: Oid,
}

/// What a ref must be before a change.
///
/// Git checks this under the lock of the ref. That is the compare-and-swap on which every landing rests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expect {
    /// The ref must not exist yet.
    Absent,
    /// The ref must be at exactly this object.
    At(Oid),
    /// The old value does not matter.
    Anything,
}

/// One ref to be moved, made or deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefChange {
    /// The full name, which begins with `refs/`.
    pub name: String,
    /// The new value; `None` deletes the ref.
    pub new: Option<Oid>,
    /// What the ref must be now.
    pub old: Expect,
}

/// How a transaction of refs went.
///
/// A ref that somebody else moved is data and not an error: the caller decides what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RefsMoved {
    /// All refs were moved.
    Done,
    /// None was moved, because all of them are where they should go. A repeated call after a crash gets this.
    Already,
    /// None was moved, because this one is somewhere else.
    Elsewhere {
        /// The full name of that ref.
        name: String,
        /// Where the ref is; `None` when it does not exist.
        found: Option<Oid>,
    },
}

impl Repo {
    /// Where the user's worktree stands now.
    pub fn head(&self) -> Result<Head, GitError> {
        // The commit first: on an unborn branch this is the error that callers look for.
        let commit = self.resolve("HEAD")?;
        let output = self.refs().args(["symbolic-ref", "-q", "HEAD"]).run()?;
        let name = String::from_utf8_lossy(&output.stdout);
        let branch = name.trim_end().strip_prefix("refs/heads/").map(str::to_owned);
        // A detached HEAD is not a symbolic ref, and git says so by its exit code.
        Ok(Head { branch: branch.filter(|_| output.status.success()), commit })
    }

    /// The commit that a revision names; [`GitError::NoSuch`] when there is none.
    pub fn resolve(&self, rev: &str) -> Result<Oid, GitError> {
        let spec = format!("{rev}^{{commit}}");
        // Only plain ref names go to the long-lived process. Everything else needs the full syntax and its errors.
        if check_name(rev).is_ok()
            && let Ok(Some(commit)) = self.named(&spec)
        {
            return Ok(commit);
        }
        let call = self.refs().args(["rev-parse", "--verify", "-q", "--end-of-options", &spec]);
        let output = call.run()?;
        match output.code() {
            Some(0) => Oid::from_bytes(&output.stdout),
            Some(1 | 128) => Err(GitError::NoSuch { what: format!("revision {rev:?}") }),
            _ => Err(failed("rev-parse", &output)),
        }
    }

    /// The value of a ref by its full name, if it exists.
    pub fn ref_at(&self, name: &str) -> Result<Option<Oid>, GitError> {
        if check_name(name).is_ok()
            && let Ok(found) = self.named(name)
        {
            return Ok(found);
        }
        Ok(self.refs_under(name)?.into_iter().find(|(found, _)| found == name).map(|(_, oid)| oid))
    }

    /// All refs whose full name is `prefix` or begins with `prefix/`.
    pub fn refs_under(&self, prefix: &str) -> Result<Vec<(String, Oid)>, GitError> {
        let format = "--format=%(refname)%00%(objectname)";
        let bytes = self.refs().args(["for-each-ref", format, prefix.trim_end_matches('/')]).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        let line = |line: &str| {
            let (name, oid) = line.split_once('\0').ok_or_else(|| GitError::odd("for-each-ref: no name"))?;
            Ok((name.to_owned(), Oid::parse(oid)?))
        };
        text.lines().map(line).collect()
    }

    /// Moves refs in one transaction: all of them, or none. `reason` goes to the reflog.
    ///
    /// Everything the new values lead to is put where nobody prunes it first, so a ref never leads to an object that
    /// `git gc` may take.
    pub fn refs_update(&self, changes: &[RefChange], reason: &str) -> Result<RefsMoved, GitError> {
        let Some(zero) = zeros(changes) else { return Ok(RefsMoved::Done) };
        let tips: Vec<Oid> = changes.iter().filter_map(|change| change.new.clone()).collect();
        // Before the refs move; see `hold`.
        self.hold(&tips)?;
        let mut input = Vec::new();
        for change in changes {
            check_name(&change.name)?;
            change.write(&zero, &mut input);
        }
        // Our own refs have no reflog, so the reason would be lost anyway. If this fails, the slower call below says
        // why.
        let ours = |change: &RefChange| change.name.starts_with("refs/tribunal/");
        if changes.iter().all(ours) && self.move_refs(&input).is_ok() {
            return Ok(RefsMoved::Done);
        }
        let reason: String = reason.chars().filter(|c| !c.is_control()).collect();
        let call = self.refs().args(["update-ref", "--no-deref", "-m", &reason, "--stdin", "-z"]);
        let name = call.name();
        let output = call.input(input).run()?;
        if output.status.success() {
            return Ok(RefsMoved::Done);
        }
        self.why_not(changes)?.map_or_else(|| Err(failed(&name, &output)), Ok)
    }

    /// Why a transaction failed, if a ref is not where it should be.
    fn why_not(&self, changes: &[RefChange]) -> Result<Option<RefsMoved>, GitError> {
        // Being there already wins over being elsewhere: it is what a repeated call finds.
        let (mut already, mut elsewhere) = (true, None);
        for change in changes {
            let found = self.ref_at(&change.name)?;
            already &= found == change.new;
            let fits = match &change.old {
                Expect::Absent => found.is_none(),
                Expect::At(oid) => found.as_ref() == Some(oid),
                Expect::Anything => true,
            };
            if !fits && elsewhere.is_none() {
                elsewhere = Some(RefsMoved::Elsewhere { name: change.name.clone(), found });
            }
        }
        Ok(if already { Some(RefsMoved::Already) } else { elsewhere })
    }

    /// Whether `old` is `new` or one of its ancestors.
    pub fn is_ancestor(&self, old: &Oid, new: &Oid) -> Result<bool, GitError> {
        if let Some(known) = self.line_contains(new, old) {
            return Ok(known);
        }
        let output = self.objects().args(["merge-base", "--is-ancestor"]).args([old, new]).run()?;
        match output.code() {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            _ => Err(failed("merge-base --is-ancestor", &output)),
        }
    }

    /// The commits in `from..to`, oldest first, each with its subject, at most `max` of the newest.
    pub fn subjects(&self, from: &Oid, to: &Oid, max: usize) -> Result<Vec<(Oid, String)>, GitError> {
        self.subjects_of(std::slice::from_ref(to), from, max)
    }

    /// The full names of the branches and tags that are at one of these commits.
    pub fn names_at(&self, commits: &[Oid]) -> Result<Vec<String>, GitError> {
        let call = self.refs().args(["for-each-ref", "--format=%(objectname) %(*objectname) %(refname)"]);
        let bytes = call.args(["refs/heads", "refs/tags"]).ok()?;
        let at = |line: &&str| {
            // The second id is the commit behind an annotated tag, and empty for every other ref.
            let mut words = line.split(' ');
            let oids = [words.next(), words.next()];
            oids.into_iter().flatten().any(|word| commits.iter().any(|commit| commit.as_str() == word))
        };
        let text = String::from_utf8_lossy(&bytes);
        Ok(text.lines().filter(at).filter_map(|line| Some(line.rsplit_once(' ')?.1.to_owned())).collect())
    }

    pub(crate) fn subjects_of(
        &self,
        tips: &[Oid],
        not: &Oid,
        max: usize,
    ) -> Result<Vec<(Oid, String)>, GitError> {
        let max = format!("--max-count={max}");
        let call = self.objects().args(["log", "-z", "--no-color", "--reverse", "--topo-order", &max]);
        let call = call.args(["--no-show-signature", "--encoding=UTF-8", "--format=%H%n%s"]).args(tips);
        let bytes = call.arg(format!("^{not}")).arg("--").ok()?;
        let entry = |entry: &[u8]| {
            let text = String::from_utf8_lossy(entry);
            let (oid, subject) = text.split_once('\n').unwrap_or((&text, ""));
            // Subjects are printed on terminals, where a control character could do anything.
            let subject = subject.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
            Ok((Oid::parse(oid)?, subject))
        };
        fields(&bytes).map(entry).collect()
    }
}

impl RefChange {
    /// Moves a ref from one commit to another.
    pub fn forward(name: impl Into<String>, old: &Oid, new: &Oid) -> RefChange {
        RefChange { name: name.into(), new: Some(new.clone()), old: Expect::At(old.clone()) }
    }

    /// Makes a ref that must not exist yet.
    pub fn create(name: impl Into<String>, new: &Oid) -> RefChange {
        RefChange { name: name.into(), new: Some(new.clone()), old: Expect::Absent }
    }

    /// Sets a ref, wherever it was.
    pub fn set(name: impl Into<String>, new: &Oid) -> RefChange {
        RefChange { name: name.into(), new: Some(new.clone()), old: Expect::Anything }
    }

    /// Deletes a ref, provided that it is where the caller believes it to be.
    pub fn delete(name: impl Into<String>, old: &Oid) -> RefChange {
        RefChange { name: name.into(), new: None, old: Expect::At(old.clone()) }
    }

    /// Appends the line for `update-ref --stdin -z`.
    pub(crate) fn write(&self, zero: &str, into: &mut Vec<u8>) {
        let old = match &self.old {
            Expect::Absent => zero,
            Expect::At(oid) => oid.as_str(),
            Expect::Anything => "",
        };
        let line = match &self.new {
            Some(new) => format!("update {}\0{new}\0{old}\0", self.name),
            // Deleting a ref that must not exist is a check that it does not.
            None if self.old == Expect::Absent => format!("verify {}\0{old}\0", self.name),
            None => format!("delete {}\0{old}\0", self.name),
        };
        into.extend_from_slice(line.as_bytes());
    }
}

/// The all-zero id in the length in use; `None` when there is nothing to change.
fn zeros(changes: &[RefChange]) -> Option<String> {
    changes.first()?;
    let any = changes.iter().find_map(|change| match (&change.new, &change.old) {
        (Some(oid), _) | (None, Expect::At(oid)) => Some(oid.zero_like()),
        _ => None,
    });
    Some(any.unwrap_or_else(|| "0".repeat(40)))
}

/// Refuses everything that is not a full, plain ref name.
///
/// The rules are those of `git check-ref-format`. They are applied here because names reach git inside a stream of
/// commands, where a control character would begin another one.
pub(crate) fn check_name(name: &str) -> Result<(), GitError> {
    let bad = |c: char| c.is_control() || " ~^:?*[\\".contains(c);
    let part_bad = |part: &str| part.is_empty() || part.starts_with('.') || part.ends_with(".lock");
    if !name.starts_with("refs/")
        || name.contains(bad)
        || name.contains("..")
        || name.contains("@{")
        || name.ends_with('.')
        || name.split('/').any(part_bad)
    {
        return Err(GitError::odd(format!("not a full ref name: {name:?}")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::check_name;

    #[test]
    fn ref_names() {
        for (name, good) in [
            ("refs/heads/main", true),
            ("refs/tribunal/snap/a-1", true),
            ("main", false),
            ("refs/heads/a b", false),
            ("refs/heads/a..b", false),
            ("refs/heads/a\0b", false),
            ("refs/heads/x.lock", false),
            ("refs/heads//x", false),
        ] {
            assert_eq!(check_name(name).is_ok(), good, "{name}");
        }
    }
}
