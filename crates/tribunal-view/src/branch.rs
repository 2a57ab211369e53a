//! What became of the user's branch at the end of a run, in words. The journal keeps the sentence as it is said here:
//! a sentence that changes leaves those of older runs as they were.

use crate::plain;

/// Names that are said; of more, only how many.
const SHOWN: usize = 3;

/// Why a branch was left alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Left {
    /// It is not where it was.
    Moved,
    /// It is no more.
    Gone,
    /// The result does not follow it.
    NotAhead,
    /// It is not checked out in this worktree.
    NotCheckedOutHere,
    /// A merge, a rebase or the like is under way.
    Busy(&'static str),
    /// These files have changes.
    Dirty(Vec<String>),
    /// These files, which git does not track, lie where new ones must go.
    InTheWay(Vec<String>),
    /// These files pass through a filter.
    Filtered(Vec<String>),
    /// Git could not do it: what it said.
    Failed(String),
}

/// `main was left alone (it has moved meanwhile)`.
pub fn left_alone(branch: &str, why: &Left) -> String {
    format!("{branch} was left alone ({})", reason(why))
}

fn reason(why: &Left) -> String {
    match why {
        Left::Moved => "it has moved meanwhile".to_owned(),
        Left::Gone => "it is gone".to_owned(),
        Left::NotAhead => "the result does not follow it".to_owned(),
        Left::NotCheckedOutHere => "it is not checked out here".to_owned(),
        Left::Busy(what) => format!("a {what} is under way; end it first"),
        Left::Dirty(paths) => format!("changes that are not committed: {}", named(paths)),
        Left::InTheWay(paths) => format!("files git does not track are in the way: {}", named(paths)),
        Left::Filtered(paths) => format!("changed files pass through a filter: {}", named(paths)),
        Left::Failed(said) => without_hints(said),
    }
}

/// The first few of some paths, and how many more there are.
fn named(paths: &[String]) -> String {
    let names: Vec<_> = paths.iter().take(SHOWN).map(|path| plain::line(path)).collect();
    match paths.len().saturating_sub(SHOWN) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

/// What went wrong, in one line, without the way out.
fn without_hints(said: &str) -> String {
    let lines = said.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("hint:"));
    lines.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Journals have these sentences in them, and people look for them.
    #[test]
    fn why_a_branch_was_left_alone() {
        let paths = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        for (why, expect) in [
            (Left::Moved, "it has moved meanwhile"),
            (Left::Gone, "it is gone"),
            (Left::NotAhead, "the result does not follow it"),
            (Left::NotCheckedOutHere, "it is not checked out here"),
            (Left::Busy("rebase"), "a rebase is under way; end it first"),
            (Left::Dirty(paths(&["a"])), "changes that are not committed: a"),
            (
                Left::InTheWay(paths(&["a", "b\n\u{1b}[1mc", "d", "e", "f"])),
                "files git does not track are in the way: a, b c, d and 2 more",
            ),
            (Left::Filtered(paths(&["a", "b"])), "changed files pass through a filter: a, b"),
            (Left::Failed("git failed:\n  no room\nhint: make some\n".to_owned()), "git failed: no room"),
        ] {
            assert_eq!(left_alone("main", &why), format!("main was left alone ({expect})"));
        }
    }
}
