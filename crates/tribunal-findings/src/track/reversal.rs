//! Finds fixes that undo fixes: a stretch that an earlier fix removed and this one puts back.
//!
//! A finding there is contested: somebody wants the code one way and somebody else the other way, and another fix would
//! not end that. This file only compares lines; what to do about it is decided elsewhere.

use super::Input;
use super::anchor::{Anchors, Side};
use serde::{Deserialize, Serialize};

/// Findings within this many lines of a reversed stretch are contested by it.
const SLACK: u32 = 3;
/// Letters and digits a stretch must have to be recognized; braces come and go with every fix.
const TELLING: usize = 12;
const FILES_MAX: usize = 2_000;

/// A stretch of lines that a fix removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// Path in the tree it was removed from.
    pub path: String,
    /// Its lines, trimmed, without blank ones, so that a new indentation does not hide a reversal.
    pub lines: Vec<String>,
}

/// What this fix removed, and where it put back what an earlier one had removed.
#[derive(Default)]
pub(super) struct Changed {
    pub removed: Vec<Block>,
    reversed: Vec<(String, u32, u32)>,
}

impl Changed {
    /// Compares this change with everything that earlier fixes removed.
    pub fn new(input: &Input<'_>, anchors: &mut Anchors<'_>) -> Self {
        let mut changed = Self::default();
        // The first round has no fix before it.
        if input.round <= 1 {
            return changed;
        }
        for file in input.change.files().iter().take(FILES_MAX) {
            for hunk in &file.hunks {
                if let Some(old) = &file.old {
                    let lines = telling(anchors.lines(Side::Before, old, hunk.old_start, hunk.old_len));
                    changed.removed.extend(lines.map(|lines| Block { path: old.clone(), lines }));
                }
                let Some(new) = file.new.as_ref().filter(|_| !input.removed.is_empty()) else { continue };
                let Some(added) = telling(anchors.lines(Side::After, new, hunk.new_start, hunk.new_len))
                else {
                    continue;
                };
                // A renamed file is still the file the code was taken from.
                let ours = |block: &&Block| block.path == *new || Some(&block.path) == file.old.as_ref();
                if input.removed.iter().filter(ours).any(|block| holds(&added, &block.lines)) {
                    changed.reversed.push((new.clone(), hunk.new_start, hunk.new_start + hunk.new_len));
                }
            }
        }
        changed
    }

    /// Whether a place lies in or beside a stretch that was put back.
    pub fn reverses(&self, file: Option<&str>, line: Option<u32>) -> bool {
        let (Some(file), Some(line)) = (file, line) else { return false };
        self.reversed
            .iter()
            .any(|(path, from, to)| path == file && *from <= line + SLACK && line < *to + SLACK)
    }
}

fn telling(lines: Vec<String>) -> Option<Vec<String>> {
    let lines: Vec<String> = lines.into_iter().filter(|line| !line.is_empty()).collect();
    let letters: usize = lines.iter().map(|line| line.chars().filter(|c| c.is_alphanumeric()).count()).sum();
    (letters >= TELLING).then_some(lines)
}

/// Whether the added lines contain the removed ones, in a row.
fn holds(added: &[String], removed: &[String]) -> bool {
    !removed.is_empty() && added.windows(removed.len()).any(|window| window == removed)
}
