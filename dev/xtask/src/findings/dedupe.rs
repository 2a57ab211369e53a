//! Dedupe on labelled pairs of review comments.

use super::Result;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use tribunal_findings::dedupe::{Alike, SAME_TEXT, alike, less_rivals};
use tribunal_findings::similar::Texts;

/// Two comments by different reviewers on one pull request.
#[derive(Deserialize)]
struct Pair {
    pr: String,
    t1: String,
    t2: String,
    a: String,
    b: String,
    same: bool,
}

type Scores = Vec<(f64, bool)>;

/// Precision, recall and F1 at the best cut and at the built-in one.
pub fn eval(file: &Path) -> Result<Vec<String>> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let pairs: Vec<Pair> = text.lines().map(serde_json::from_str).collect::<std::result::Result<_, _>>()?;
    let (plain, settled) = scores(&pairs);
    let mut lines = Vec::new();
    for (name, scores) in [("by words alone", &plain), ("after rivals", &settled)] {
        let cuts = (0..=40).map(|step| f64::from(step) * 0.01);
        let best = cuts.max_by(|a, b| at_cut(scores, *a).2.total_cmp(&at_cut(scores, *b).2));
        for (which, cut) in [("best", best.unwrap_or(SAME_TEXT)), ("built in", SAME_TEXT)] {
            let (p, r, f1) = at_cut(scores, cut);
            lines.push(format!("{name:<16} cut {cut:.2} ({which:<8})  P {p:.4}  R {r:.4}  F1 {f1:.4}"));
        }
    }
    Ok(lines)
}

/// Scores of all pairs, plain and after rivals; one space of texts per pull request, as in a real round.
fn scores(pairs: &[Pair]) -> (Scores, Scores) {
    let mut by_request: BTreeMap<&str, Vec<&Pair>> = BTreeMap::new();
    for pair in pairs {
        by_request.entry(&pair.pr).or_default().push(pair);
    }
    let (mut plain, mut settled) = (Vec::new(), Vec::new());
    for pairs in by_request.values() {
        let mut index: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for key in pairs.iter().flat_map(|pair| [(&*pair.t1, &*pair.a), (&*pair.t2, &*pair.b)]) {
            let next = index.len();
            index.entry(key).or_insert(next);
        }
        let mut known: Vec<(&str, &str)> = vec![("", ""); index.len()];
        index.iter().for_each(|(key, n)| known[*n] = *key);
        let texts: Vec<&str> = known.iter().map(|(_, text)| *text).collect();
        let space = Texts::with_letters(&texts);
        let scored: Vec<Alike> = pairs
            .iter()
            .map(|pair| (index[&(&*pair.t1, &*pair.a)], index[&(&*pair.t2, &*pair.b)]))
            .map(|(a, b)| Alike { a, b, score: alike(&space, (a, texts[a]), (b, texts[b])) })
            .collect();
        let after = less_rivals(&scored, |n| known[n].0);
        plain.extend(pairs.iter().zip(&scored).map(|(pair, one)| (one.score, pair.same)));
        settled.extend(pairs.iter().zip(&after).map(|(pair, one)| (one.score, pair.same)));
    }
    (plain, settled)
}

fn at_cut(scores: &[(f64, bool)], cut: f64) -> (f64, f64, f64) {
    let count = |keep: &dyn Fn(&(f64, bool)) -> bool| scores.iter().filter(|one| keep(one)).count() as f64;
    let tp = count(&|(score, same)| *score >= cut && *same);
    let fp = count(&|(score, same)| *score >= cut && !*same);
    let all = count(&|(_, same)| *same);
    let (p, r) = (tp / (tp + fp).max(1.0), tp / all.max(1.0));
    (p, r, 2.0 * p * r / (p + r).max(1e-9))
}
