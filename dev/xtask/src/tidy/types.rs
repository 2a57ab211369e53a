//! Types stay types to the edge: no code decides by comparing the printed word of one of our own enums.
//!
//! A word that is compared breaks in silence when it is spelled otherwise, and the compiler cannot say which cases were
//! forgotten. Code that reads text of others compares words by its nature; its places are listed here.

use super::Wrong;
use super::tree::Tree;

/// Where the rule holds.
const PLACES: &[&str] = &[
    "crates/tribunal-view/src/",
    "crates/tribunal-world/src/",
    "crates/tribunal-server/src/",
    "crates/tribunal/src/",
];

/// Code that reads words somebody else wrote, and whose they are.
const FOREIGN: &[(&str, &str)] = &[
    ("crates/tribunal-view/src/context.rs", "roles of the protocol"),
    ("crates/tribunal-view/src/question.rs", "answers on the command line"),
    ("crates/tribunal-protocol/src/projection/", "the protocol's log"),
    ("crates/tribunal/src/commands/dedupe.rs", "findings of any program"),
    ("crates/tribunal/src/commands/do_.rs", "what a person types"),
    ("crates/tribunal/src/protocol/", "arguments and files of the protocol"),
];

/// The words of severities, fates, outcomes, endings, verdicts, rulings, provenances and stages.
const WORDS: &[&str] = &[
    "accepted",
    "advisory",
    "approve",
    "blocker",
    "building",
    "cancelled",
    "carried",
    "carrying",
    "checking",
    "closing",
    "concerns",
    "conditional",
    "deferred",
    "discarded",
    "duplicate",
    "ended",
    "exhausted",
    "failed",
    "filtered",
    "finishing",
    "fixed",
    "gating",
    "hearing",
    "held",
    "judging",
    "making",
    "missed earlier",
    "no quorum",
    "no_quorum",
    "open",
    "original",
    "pass",
    "pass with warnings",
    "pass_with_warnings",
    "passed",
    "passed with warnings",
    "polishing",
    "pre-existing",
    "rebasing",
    "refuted",
    "reject",
    "reviewing",
    "rework",
    "ruled",
    "shut",
    "stale",
    "stopped",
    "stuck",
    "suggestion",
    "superseded",
    "tracking",
    "unresolved",
    "waiting",
    "waived",
    "warning",
];

/// Looks through the code of views, world and faces.
pub fn check(tree: &Tree) -> Vec<Wrong> {
    tree.texts()
        .filter(|(file, _)| file.ends_with(".rs") && PLACES.iter().any(|place| file.starts_with(place)))
        .filter(|(file, _)| !FOREIGN.iter().any(|(place, _)| file.starts_with(place)) && !is_test(file))
        .flat_map(|(file, text)| check_file(file, text))
        .collect()
}

fn is_test(file: &str) -> bool {
    file.rsplit('/').next().is_some_and(|name| name.starts_with("tests")) || file.contains("/tests/")
}

fn check_file(file: &str, text: &str) -> Vec<Wrong> {
    let lines = text.lines().enumerate().take_while(|(_, line)| line.trim() != "#[cfg(test)]");
    let code = lines.filter(|(_, line)| !line.trim_start().starts_with("//"));
    let hint = "compare the type (Severity, Fate, Outcome, ...); its word is for printing. A reader of foreign text is listed in tidy/types.rs";
    code.filter_map(|(at, line)| {
        let word = compared(line)?;
        Some(Wrong::new(file, at + 1, format!("a word of our own types is compared: {word:?}"), hint))
    })
    .collect()
}

/// The first word of ours on a line that is compared, or that is a pattern.
fn compared(line: &str) -> Option<&str> {
    let quotes: Vec<usize> = line.match_indices('"').map(|(at, _)| at).collect();
    quotes.chunks_exact(2).find_map(|pair| {
        let (word, before, after) =
            (&line[pair[0] + 1..pair[1]], line[..pair[0]].trim_end(), line[pair[1] + 1..].trim_start());
        let equal = |text: &str, at_end: bool| {
            ["==", "!="].iter().any(|sign| if at_end { text.ends_with(sign) } else { text.starts_with(sign) })
        };
        let is_pattern = before.contains("matches!(")
            || after.split_once("=>").is_some_and(|(rest, _)| !rest.contains(['{', '.', ';']));
        let is_compared =
            equal(before.trim_end_matches("Some(").trim_end(), true) || equal(after, false) || is_pattern;
        (WORDS.contains(&word) && is_compared).then_some(word)
    })
}
