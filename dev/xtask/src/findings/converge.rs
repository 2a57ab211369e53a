//! The convergence controller on recorded rounds.

use super::Result;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tribunal_findings::converge::{Round, converge};

/// The decision after each round, one JSON object per line: `{"loop","round","decision","reason"}`.
pub fn decisions(text: &str) -> Result<Vec<String>> {
    let mut loops: BTreeMap<String, Vec<Round>> = BTreeMap::new();
    let mut lines = Vec::new();
    for (n, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let at = |error: serde_json::Error| format!("line {}: {error}", n + 1);
        let value: Value = serde_json::from_str(line).map_err(at)?;
        let name = value["loop"].as_str().ok_or_else(|| format!("line {}: no loop", n + 1))?.to_owned();
        let round: Round = serde_json::from_value(value).map_err(at)?;
        let number = round.round;
        let series = loops.entry(name.clone()).or_default();
        series.push(round);
        let advice = converge(series);
        let said =
            json!({"loop": name, "round": number, "decision": advice.decision, "reason": advice.reason});
        lines.push(said.to_string());
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::shared;

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
