//! Counts how common words are in reviews: the background of the tracker's word weights.

use super::Result;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use tribunal_findings::track::prose::stems;

/// A stem in fewer texts is left out: that few may be one project's word.
const TEXTS_MIN: u32 = 4;
/// Letters of a line of the table.
const WIDTH: usize = 120;

/// The lines of `track/prose.txt`, counted over comments and findings of reviews.
pub fn count(files: &[PathBuf]) -> Result<Vec<String>> {
    let mut texts: BTreeSet<String> = BTreeSet::new();
    for file in files {
        let all = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        for line in all.lines().filter(|line| !line.trim().is_empty()) {
            texts.extend(texts_of(&serde_json::from_str(line)?));
        }
    }
    Ok(table(&texts))
}

/// A pair of comments `a` and `b`, or two lists of findings `A` and `B` with `title` and `issue`.
fn texts_of(row: &Value) -> Vec<String> {
    let word = |of: &Value, key: &str| of[key].as_str().unwrap_or_default().to_owned();
    let comments = ["a", "b"].iter().filter(|_| row["A"].is_null()).map(|key| word(row, key));
    let lists = ["A", "B"].iter().filter_map(|key| row[*key].as_array()).flatten();
    let findings = lists.map(|finding| format!("{}. {}", word(finding, "title"), word(finding, "issue")));
    comments.chain(findings).filter(|text| !text.is_empty()).collect()
}

fn table(texts: &BTreeSet<String>) -> Vec<String> {
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    for stem in texts.iter().flat_map(|text| stems(text)).filter(|stem| stem.len() > 1) {
        *counts.entry(stem).or_default() += 1;
    }
    let mut levels: BTreeMap<u32, Vec<&str>> = BTreeMap::new();
    for (stem, count) in counts.iter().filter(|(_, count)| **count >= TEXTS_MIN) {
        let share = f64::from(*count) * 1000.0 / texts.len() as f64;
        levels.entry(share.round() as u32).or_default().push(stem);
    }
    let mut lines = vec![
        "# How common stems are in reviews: of a thousand texts so many have the stem. Counted over comments and findings".to_owned(),
        format!("# of {} texts by `cargo xtask count-prose`; stems in fewer than {TEXTS_MIN} of them are left out.", texts.len()),
    ];
    for (level, stems) in levels.iter().rev() {
        let mut line = format!("{level}:");
        for stem in stems {
            if line.len() + stem.len() >= WIDTH {
                lines.push(std::mem::replace(&mut line, format!("{level}:")));
            }
            line.push(' ');
            line.push_str(stem);
        }
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::shared;

    #[test]
    fn stems_are_counted_once_for_each_text() {
        let texts = ["a leak, a leak", "leaks `x`", "leak_all leaked", "the leaking one", "another"];
        let lines = table(&texts.map(String::from).into());
        assert_eq!(lines[2..], ["800: leak"], "{lines:?}");
    }

    /// The shipped table is what the command makes of the data beside the project.
    #[test]
    fn the_shipped_table_is_the_counted_one() {
        let files = ["tracking/dedupe_dev.jsonl", "tracking/rereview_dev.jsonl"].map(shared);
        let Some(files) = files.into_iter().collect::<Option<Vec<_>>>() else { return };
        let shipped = include_str!("../../../../crates/tribunal-findings/src/track/prose.txt");
        assert_eq!(shipped.lines().collect::<Vec<_>>(), count(&files).unwrap());
    }
}
