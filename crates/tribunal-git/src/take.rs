//! The one command that takes a result that was not brought to the user's branch: words for a person to run, which must
//! work as they stand and lose nothing. Nothing here runs them.

use crate::{GitPath, Oid};

/// What is to be taken.
pub(crate) struct Take<'a> {
    /// The user's branch.
    pub(crate) branch: &'a str,
    /// The commit of the result.
    pub(crate) new: &'a Oid,
}

impl Take<'_> {
    /// The branch is where it was. What lies in the way goes to the stash first; changes to files that are changed by
    /// the result too are put aside by git, and brought back on top of it.
    pub(crate) fn forwarded(&self, in_the_way: &[GitPath], changed_by_both: bool) -> String {
        let aside = if in_the_way.is_empty() {
            String::new()
        } else {
            let names: Vec<_> = in_the_way.iter().map(top).collect();
            format!("git stash push --all -- {} && ", names.join(" "))
        };
        format!("{aside}git merge --ff-only {}{}", autostash(changed_by_both), self.new)
    }

    /// The branch went elsewhere, and is checked out.
    pub(crate) fn merged(&self, changed: bool) -> String {
        format!("git merge {}{}", autostash(changed), self.new)
    }

    /// The branch went elsewhere, and another one is checked out.
    pub(crate) fn elsewhere(&self) -> String {
        format!("git switch {} && git merge {}", shell_word(self.branch), self.new)
    }

    /// The branch is where it was, but not checked out.
    pub(crate) fn fetched(&self) -> String {
        format!("git fetch . {}:{}", self.new, shell_word(&format!("refs/heads/{}", self.branch)))
    }

    /// The branch is gone.
    pub(crate) fn as_branch(&self) -> String {
        format!("git branch {} {}", shell_word(self.branch), self.new)
    }
}

fn autostash(wanted: bool) -> &'static str {
    if wanted { "--autostash " } else { "" }
}

/// A path as git takes it in any folder of the work tree, with nothing in it meant as a pattern.
fn top(path: &GitPath) -> String {
    let text = String::from_utf8_lossy(path.as_bytes());
    let pattern = text.starts_with(['(', '!', '^', ':', '/']) || text.contains(['*', '?', '[', '\\']);
    if pattern { shell_word(&format!(":(top,literal){text}")) } else { shell_word(&format!(":/{text}")) }
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
            ("new/file", ":/new/file"),
            ("my own", "':/my own'"),
            ("it's", r"':/it'\''s'"),
            ("a*b", "':(top,literal)a*b'"),
            ("!x", "':(top,literal)!x'"),
            ("$(id)", "':/$(id)'"),
        ] {
            assert_eq!(top(&GitPath::from(path)), expect);
        }
    }
}
