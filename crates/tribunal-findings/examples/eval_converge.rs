//! Reads rounds as JSON lines (`{"loop","round","tree","open",…}`) and prints the controller's decision after each:
//! `{"loop","round","decision","reason"}`.
//!
//! cargo run --release --example eval_converge -- ROUNDS.jsonl
#![expect(clippy::print_stdout, reason = "a measuring tool speaks on stdout")]
#![expect(clippy::disallowed_methods, reason = "a measuring tool reads files")]
#![expect(clippy::unwrap_used, reason = "a measuring tool stops at the first surprise")]

use serde_json::{Value, json};
use std::collections::BTreeMap;
use tribunal_findings::converge::{Round, converge};

fn main() {
    let file = std::env::args().nth(1).unwrap();
    let mut loops: BTreeMap<String, Vec<Round>> = BTreeMap::new();
    for line in std::fs::read_to_string(file).unwrap().lines() {
        let value: Value = serde_json::from_str(line).unwrap();
        let name = value["loop"].as_str().unwrap().to_owned();
        let series = loops.entry(name.clone()).or_default();
        series.push(serde_json::from_value(value).unwrap());
        let advice = converge(series);
        let round = series.last().unwrap().round;
        println!(
            "{}",
            json!({"loop": name, "round": round, "decision": advice.decision, "reason": advice.reason})
        );
    }
}
