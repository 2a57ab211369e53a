//! Ticks a task off in the document it came from.
//!
//! One mark or one status changes and no other byte, because the document belongs to another tool and to its users.
//! When in doubt about which mark is meant, nothing changes.

use super::boxes::box_line;
use super::json::{Kind, places};
use super::taskmaster::{entries, is_done, lists};
use crate::markdown::lines;

/// The document with the box at a line ticked; `None` if the line has no box, or has it inside a code block or a
/// comment.
///
/// A box that says done already stays as it is written.
pub fn tick(text: &str, line: u32) -> Option<String> {
    let (mark, body) = text.split_at(text.len() - text.trim_start_matches('\u{feff}').len());
    let at = usize::try_from(line).ok()?.checked_sub(1)?;
    // Read by the same rules as the tasks were, or a box in an example could be ticked.
    let found = lines(body, 1).into_iter().nth(at).filter(|line| !line.hidden)?;
    let boxed = box_line(found.text)?;
    if boxed.done() {
        return Some(text.to_owned());
    }
    let from = mark.len() + found.start;
    Some(replaced(text, from + boxed.mark_at.start, from + boxed.mark_at.end, "x"))
}

/// Task Master's document with the status of one task set to done; `None` if the tag has no such task or two of them,
/// or if the task has no status to replace.
pub fn tick_task(text: &str, tag: Option<&str>, id: &str) -> Option<String> {
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    let root = places(body).ok()?;
    let lists = lists(&root);
    let entries = entries(body, &lists, &mut |_, _| ());
    let mut named = entries.iter().filter(|entry| entry.tag == tag && entry.id.as_deref() == Some(id));
    // Two tasks with one id: nobody knows which one is meant.
    let (entry, None) = (named.next()?, named.next()) else { return None };
    let status = entry.place.get("status").filter(|status| matches!(status.kind, Kind::Scalar))?;
    if is_done(&status.word(body)?) {
        return Some(text.to_owned());
    }
    let from = text.len() - body.len();
    Some(replaced(text, from + status.start, from + status.end, "\"done\""))
}

fn replaced(text: &str, start: usize, end: usize, by: &str) -> String {
    [&text[..start], by, &text[end..]].concat()
}
