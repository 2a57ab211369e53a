//! The convergence controller on recorded rounds.

use super::Result;
use serde::Deserialize;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use tribunal_core::converge::{Next, Round, read};
use tribunal_view::question;

/// Equal re-reviews that make a loop stale, as in every policy.
const STALE_LIMIT: u32 = 2;

/// One round as it was written down: counts of must-fix findings, without the findings.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Line {
    r#loop: String,
    round: u32,
    tree: String,
    open: u32,
    new: u32,
    resolved: u32,
    reopened: u32,
    fix_induced: u32,
    late: u32,
    regions: BTreeSet<String>,
    reversal: bool,
    fundamental: bool,
}

/// What is known of a loop so far.
#[derive(Default)]
struct Series {
    lines: Vec<Line>,
    rounds: Vec<Round>,
}

impl Series {
    fn push(&mut self, line: Line) {
        let before = self.lines.last();
        let same = |earlier: &&Line| !line.tree.is_empty() && earlier.tree == line.tree;
        let still = line.new + line.resolved + line.reopened == 0;
        let seen = |region: &&String| self.lines.iter().any(|earlier| earlier.regions.contains(*region));
        let was_gone = |region: &&String| before.is_none_or(|before| !before.regions.contains(*region));
        let back = line.regions.iter().filter(|_| line.reopened > 0).filter(seen).filter(was_gone);
        self.rounds.push(Round {
            round: line.round,
            repeats: self.lines.iter().find(same).map(|earlier| earlier.round),
            open: line.open,
            unchanged: still && before.is_some_and(|before| before.regions == line.regions),
            complete: true,
            resolved: line.resolved,
            reopened: line.reopened,
            fix_induced: line.fix_induced,
            late: line.late,
            back: back.cloned().collect(),
            reversal: line.reversal,
            fundamental: line.fundamental,
        });
        self.lines.push(line);
    }
}

/// The decision after each round, one JSON object per line: `{"loop","round","decision","reason"}`.
pub fn decisions(text: &str) -> Result<Vec<String>> {
    let mut loops: BTreeMap<String, Series> = BTreeMap::new();
    let mut said = Vec::new();
    for (n, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let line: Line = serde_json::from_str(line).map_err(|error| format!("line {}: {error}", n + 1))?;
        if line.r#loop.is_empty() {
            return Err(format!("line {}: no loop", n + 1).into());
        }
        let (name, round) = (line.r#loop.clone(), line.round);
        let series = loops.entry(name.clone()).or_default();
        series.push(line);
        let next = read(&series.rounds, STALE_LIMIT);
        let reason = question::advice(&next, &series.rounds);
        let row = json!({"loop": name, "round": round, "decision": word(&next), "reason": reason});
        said.push(row.to_string());
    }
    Ok(said)
}

fn word(next: &Next) -> &'static str {
    match next {
        Next::GoOn => "continue",
        Next::Hear => "adjudicate",
        Next::Escalate(_) => "escalate",
        Next::Stale | Next::Cap => "stop",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::shared;
    use serde_json::Value;

    #[test]
    fn a_broken_line_is_named() {
        assert!(decisions("\n{\"loop\":1}").is_err_and(|error| error.to_string().starts_with("line 2")));
        assert_eq!(decisions("").ok(), Some(vec![]));
    }

    /// None missed, none stopped too early; late or early in at most 2 %.
    #[test]
    fn recorded_loops_are_stopped_when_they_must_be() {
        let (Some(rounds), Some(truth)) =
            (shared("convergence/dev.jsonl"), shared("convergence/dev.truth.jsonl"))
        else {
            return;
        };
        let rounds = std::fs::read_to_string(rounds).unwrap();
        let mut stopped: BTreeMap<String, u64> = BTreeMap::new();
        for line in decisions(&rounds).unwrap() {
            let said: Value = serde_json::from_str(&line).unwrap();
            if said["decision"] != "continue" {
                assert!(said["reason"].as_str().unwrap().contains(' '), "a sentence: {said}");
                stopped
                    .entry(said["loop"].as_str().unwrap().to_owned())
                    .or_insert(said["round"].as_u64().unwrap());
            }
        }
        let (mut all, mut missed, mut off, mut wrong) = (0, 0, 0, 0);
        for line in std::fs::read_to_string(truth).unwrap().lines() {
            let truth: Value = serde_json::from_str(line).unwrap();
            let at = stopped.get(truth["loop"].as_str().unwrap());
            all += 1;
            match (truth["kind"].as_str().unwrap(), at) {
                ("healthy", found) => wrong += u32::from(found.is_some()),
                (_, None) => missed += 1,
                (_, Some(at)) => {
                    let (from, by) =
                        (truth["stop_from"].as_u64().unwrap(), truth["stop_by"].as_u64().unwrap());
                    off += u32::from(*at < from || *at > by);
                }
            }
        }
        assert_eq!((missed, wrong), (0, 0));
        assert!(off * 50 <= all, "{off} of {all} late or early");
    }
}
