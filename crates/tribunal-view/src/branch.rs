//! What became of the user's branch at the end of a run, in words.
//!
//! The reasons are typed facts of `tribunal-core`; every face says them with the sentences made here.

use crate::plain;
use tribunal_core::held::Held;

/// The number of names that are listed; of more, only the count.
pub const SHOWN: usize = 3;

/// Says that the branch was left alone, and why: `main was left alone (the branch has moved meanwhile)`.
pub fn left_alone(branch: &str, why: &Held) -> String {
    format!("{branch} was left alone ({})", held(why))
}

/// Says why the user's branch does not have the result.
///
/// Each reason names what it is about, because callers put it behind the branch or behind the result.
pub fn held(why: &Held) -> String {
    match why {
        Held::Moved => "the branch has moved meanwhile".to_owned(),
        Held::Gone => "the branch is gone".to_owned(),
        Held::Elsewhere(folder) => format!("the branch is checked out in {}", plain::line(folder)),
        Held::Busy(what) => format!("a {what} is under way; end it first"),
        Held::Dirty(paths) => format!("changes that are not committed: {}", named(paths)),
        Held::InTheWay(paths) => format!("files git does not track are in the way: {}", named(paths)),
        Held::Filtered(paths) => format!("changed files pass through a filter: {}", named(paths)),
        Held::Conflict(paths) => format!("the result conflicts with the branch in {}", named(paths)),
        // The branch has the commit and not its content, so saying "it contains the result" alone would mislead.
        Held::Undone(paths) => {
            format!("it contains the result, and commits after it took it away again: {}", named(paths))
        }
        Held::Failed(said) => without_hints(said),
        // Not a refusal: the run was told to wait for an order.
        Held::Ordered => "the result waits for your word".to_owned(),
    }
}

/// Lists the first few of some paths, and how many more there are.
///
/// A branch may hold thousands of changed files, and these words stand in a single sentence.
pub fn named(paths: &[String]) -> String {
    let names: Vec<_> = paths.iter().take(SHOWN).map(|path| plain::line(path)).collect();
    match paths.len().saturating_sub(SHOWN) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

/// Returns a message of a failure in one line, without its hints.
fn without_hints(said: &str) -> String {
    // Hints are left out, because these words stand inside another sentence.
    let lines = said.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("hint:"));
    lines.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// People look for these sentences.
    #[test]
    fn why_a_branch_was_left_alone() {
        let paths = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        for (why, expect) in [
            (Held::Moved, "the branch has moved meanwhile"),
            (Held::Gone, "the branch is gone"),
            (Held::Elsewhere("a b".to_owned()), "the branch is checked out in a b"),
            (Held::Conflict(paths(&["a", "b"])), "the result conflicts with the branch in a, b"),
            (Held::Busy("rebase".to_owned()), "a rebase is under way; end it first"),
            (Held::Dirty(paths(&["a"])), "changes that are not committed: a"),
            (
                Held::InTheWay(paths(&["a", "b\n\u{1b}[1mc", "d", "e", "f"])),
                "files git does not track are in the way: a, b c, d and 2 more",
            ),
            (
                Held::Undone(paths(&["a"])),
                "it contains the result, and commits after it took it away again: a",
            ),
            (Held::Filtered(paths(&["a", "b"])), "changed files pass through a filter: a, b"),
            (Held::Failed("git failed:\n  no room\nhint: make some\n".to_owned()), "git failed: no room"),
        ] {
            assert_eq!(left_alone("main", &why), format!("main was left alone ({expect})"));
        }
    }
}
