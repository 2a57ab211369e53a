//! Measures dedupe on labelled pairs of review comments (`{"pr","t1","t2","a","b","same"}` per line, no places): prints
//! precision, recall and F1 over cuts, and at the built-in one.
//!
//! cargo run --release --example eval_dedupe -- PAIRS.jsonl
#![expect(clippy::print_stdout, reason = "a measuring tool speaks on stdout")]
#![expect(clippy::disallowed_methods, reason = "a measuring tool reads files")]
#![expect(clippy::unwrap_used, reason = "a measuring tool stops at the first surprise")]

use serde_json::Value;
use std::collections::BTreeMap;
use tribunal_findings::dedupe::{Alike, SAME_TEXT, alike, less_rivals};
use tribunal_findings::similar::Texts;

type Scores = Vec<(f64, bool)>;

/// Scores of all pairs, plain and after rivals; one space of texts per pull request, as in a real round.
fn scores(lines: &[Value]) -> (Scores, Scores) {
    let mut by_request: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    for line in lines {
        by_request.entry(line["pr"].as_str().unwrap()).or_default().push(line);
    }
    let (mut plain, mut settled) = (Vec::new(), Vec::new());
    for pairs in by_request.values() {
        let mut index: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        let key = |pair: &'_ &'_ Value, side: &str| -> (String, String) {
            let (who, text) = if side == "a" { ("t1", "a") } else { ("t2", "b") };
            (pair[who].as_str().unwrap().to_owned(), pair[text].as_str().unwrap().to_owned())
        };
        for pair in pairs {
            for (who, text) in [("t1", "a"), ("t2", "b")] {
                let next = index.len();
                index.entry((pair[who].as_str().unwrap(), pair[text].as_str().unwrap())).or_insert(next);
            }
        }
        let mut known: Vec<(&str, &str)> = vec![("", ""); index.len()];
        index.iter().for_each(|(key, n)| known[*n] = *key);
        let texts: Vec<&str> = known.iter().map(|(_, text)| *text).collect();
        let space = Texts::with_letters(&texts);
        let at = |pair: &&Value, side: &str| {
            let (who, text) = key(pair, side);
            index[&(who.as_str(), text.as_str())]
        };
        let scored: Vec<Alike> = pairs
            .iter()
            .map(|pair| (at(pair, "a"), at(pair, "b")))
            .map(|(a, b)| Alike { a, b, score: alike(&space, (a, texts[a]), (b, texts[b])) })
            .collect();
        let after = less_rivals(&scored, |n| known[n].0);
        for ((pair, before), after) in pairs.iter().zip(&scored).zip(&after) {
            let same = pair["same"].as_bool().unwrap();
            plain.push((before.score, same));
            settled.push((after.score, same));
        }
    }
    (plain, settled)
}

fn at_cut(scores: &[(f64, bool)], cut: f64) -> (f64, f64, f64) {
    let tp = scores.iter().filter(|(score, same)| *score >= cut && *same).count() as f64;
    let fp = scores.iter().filter(|(score, same)| *score >= cut && !*same).count() as f64;
    let all = scores.iter().filter(|(_, same)| *same).count() as f64;
    let (p, r) = (tp / (tp + fp).max(1.0), tp / all.max(1.0));
    (p, r, 2.0 * p * r / (p + r).max(1e-9))
}

fn main() {
    let file = std::env::args().nth(1).unwrap();
    let lines: Vec<Value> = std::fs::read_to_string(file)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let (plain, settled) = scores(&lines);
    for (name, scores) in [("by words alone", &plain), ("after rivals", &settled)] {
        let best = (0..=40)
            .map(|step| f64::from(step) * 0.01)
            .max_by(|a, b| at_cut(scores, *a).2.total_cmp(&at_cut(scores, *b).2));
        for cut in [best.unwrap(), SAME_TEXT] {
            let (p, r, f1) = at_cut(scores, cut);
            println!("{name:<16} cut {cut:.2}  P {p:.4}  R {r:.4}  F1 {f1:.4}");
        }
    }
}
