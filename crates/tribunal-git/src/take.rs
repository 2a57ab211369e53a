//! The one command that takes a result that was not brought to the user's branch: words for a person to run, which must
//! work as they stand. Nothing here runs them. A fast-forward loses nothing, ignored files included: where one would
//! have to go, git refuses. A true merge (`merged`, `elsewhere`) keeps all that git tracks and all that is untracked, but
//! git overwrites ignored files in it whatever it is told: that much is not promised.

use crate::{GitPath, Oid};

/// What is to be taken.
pub(crate) struct Take<'a> {
    /// The user's branch.
    pub(crate) branch: &'a str,
    /// The commit of the result.
    pub(crate) new: &'a Oid,
}

/// Who has a branch checked out that is not checked out here.
pub(crate) enum Holder {
    /// No worktree has it.
    Nobody,
    /// The worktree in this folder.
    Worktree(Vec<u8>),
    /// A worktree whose folder is gone.
    Gone,
}

impl Take<'_> {
    /// The branch is where it was. What lies in the way goes to the stash first; changes to files that are changed by
    /// the result too are put aside by git, and brought back on top of it. Where a name cannot be written down nothing
    /// goes to the stash: it would take nothing, and say that all is well. Then the merge refuses and names the file.
    pub(crate) fn forwarded(&self, in_the_way: &[GitPath], changed_by_both: bool) -> String {
        let names: Option<Vec<_>> = in_the_way.iter().map(top).collect();
        let aside = match names.filter(|names| !names.is_empty()) {
            Some(names) => format!("git stash push --all -- {} && ", names.join(" ")),
            None => String::new(),
        };
        format!("{aside}{}", fast_forward(self.new, changed_by_both))
    }

    /// The branch went elsewhere, and is checked out. Where it went back, this is a fast-forward.
    pub(crate) fn merged(&self, changed: bool) -> String {
        format!("git merge {KEEPING}{}{}", autostash(changed), self.new)
    }

    /// The branch went elsewhere, and another one is checked out here.
    pub(crate) fn elsewhere(&self, holder: &Holder) -> String {
        let here = format!("git switch {} && git merge {KEEPING}{}", shell_word(self.branch), self.new);
        self.held(holder, "", here)
    }

    /// The branch is where it was, but not checked out here.
    pub(crate) fn fetched(&self, holder: &Holder) -> String {
        let name = shell_word(&format!("refs/heads/{}", self.branch));
        self.held(holder, "--ff-only ", format!("git fetch . {}:{name}", self.new))
    }

    /// A branch that another worktree holds is moved there, with what is changed there: from here git refuses. A folder
    /// that is gone holds nothing, as soon as git knows that it is.
    fn held(&self, holder: &Holder, how: &str, here: String) -> String {
        match holder {
            Holder::Nobody => here,
            Holder::Gone => format!("git worktree prune && {here}"),
            Holder::Worktree(dir) => match std::str::from_utf8(dir)
                .ok()
                .filter(|dir| is_written_as_it_is(dir))
            {
                Some(dir) => {
                    format!("git -C {} merge {how}{KEEPING}{}{}", shell_word(dir), autostash(true), self.new)
                }
                // A folder nobody can name: git will say where it is.
                None => here,
            },
        }
    }

    /// The branch is gone.
    pub(crate) fn as_branch(&self) -> String {
        format!("git branch {} {}", shell_word(self.branch), self.new)
    }
}

/// Without it a fast-forward overwrites what git ignores.
const KEEPING: &str = "--no-overwrite-ignore ";

/// The words that move the branch that is checked out forward to a commit, or change nothing.
pub fn forward_command(new: &Oid) -> String {
    fast_forward(new, false)
}

fn fast_forward(new: &Oid, changed: bool) -> String {
    format!("git merge --ff-only {KEEPING}{}{new}", autostash(changed))
}

fn autostash(wanted: bool) -> &'static str {
    if wanted { "--autostash " } else { "" }
}

/// A path as git takes it in any folder of the work tree, with nothing in it meant as a pattern. None where it would not
/// reach the person as it is.
fn top(path: &GitPath) -> Option<String> {
    let text = std::str::from_utf8(path.as_bytes()).ok()?;
    is_written_as_it_is(text).then(|| shell_word(&format!(":(top,literal){text}")))
}

/// Whether a text is shown to people unchanged: control and direction characters are taken out, white space is folded,
/// and what was not text has been replaced.
fn is_written_as_it_is(text: &str) -> bool {
    let direction =
        |c| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let changed = |c: char| {
        c.is_control()
            || (c.is_whitespace() && c != ' ')
            || direction(c)
            || matches!(c, '\u{feff}' | '\u{fffd}')
    };
    !text.contains(changed) && !text.contains("  ")
}

/// The text as one word of a shell.
fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:".contains(c);
    if text.chars().all(plain) { text.to_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_one_word_and_no_pattern() {
        for (path, expect) in [
            ("new/file", "':(top,literal)new/file'"),
            ("my own", "':(top,literal)my own'"),
            ("it's", r"':(top,literal)it'\''s'"),
            ("a*b", "':(top,literal)a*b'"),
            ("!x", "':(top,literal)!x'"),
            ("$(id)", "':(top,literal)$(id)'"),
            ("__init__.py", "':(top,literal)__init__.py'"),
            ("-dash", "':(top,literal)-dash'"),
            ("ünd", "':(top,literal)ünd'"),
        ] {
            assert_eq!(top(&GitPath::from(path)).as_deref(), Some(expect));
        }
    }

    #[test]
    fn a_name_that_would_not_arrive_is_not_written() {
        let names: [&[u8]; 8] = [
            b"ign\xff",
            b"a\nb",
            b"a\tb",
            b"a\x1b[1mb",
            b"a\x7f",
            b"a  b",
            "a\u{202e}b".as_bytes(),
            "a\u{fffd}".as_bytes(),
        ];
        for name in names {
            assert_eq!(top(&GitPath::from(name)), None, "{}", name.escape_ascii());
        }
    }

    #[test]
    fn one_name_that_cannot_be_written_leaves_all_out_of_the_stash() {
        let new = Oid::parse(&"1".repeat(40)).unwrap();
        let take = Take { branch: "main", new: &new };
        let names = [GitPath::from("fine"), GitPath::from(&b"ign\xff"[..])];
        assert_eq!(take.forwarded(&names, false), format!("git merge --ff-only --no-overwrite-ignore {new}"));
    }
}
