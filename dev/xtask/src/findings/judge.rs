//! How well pairs of findings agree with the truth: precision, recall, F1, by kind of pair and by class.

use super::Result;
use super::data::{Repos, Window};
use crate::out;
use std::collections::{BTreeMap, VecDeque};
use tribunal_core::finding::Claim;
use tribunal_findings::fingerprint;
use tribunal_findings::track::pair::Scorer;
use tribunal_findings::track::{Comparison, Side, compare};

/// Counts over some windows.
#[derive(Default, Clone)]
pub struct Score {
    tp: u32,
    fp: u32,
    missed: u32,
    parts: BTreeMap<String, (u32, u32)>,
}

impl Score {
    /// Precision, recall and F1.
    pub fn f1(&self) -> (f64, f64, f64) {
        let (tp, fp, missed) = (f64::from(self.tp), f64::from(self.fp), f64::from(self.missed));
        let (p, r) = (tp / (tp + fp).max(1e-9), tp / (tp + missed).max(1e-9));
        (p, r, 2.0 * p * r / (p + r).max(1e-9))
    }

    fn part(&mut self, name: &str, ok: bool) {
        let slot = self.parts.entry(name.to_owned()).or_default();
        slot.0 += u32::from(ok);
        slot.1 += 1;
    }
}

impl Score {
    /// Counts of other windows beside these.
    pub fn add(&mut self, other: &Score) {
        (self.tp, self.fp, self.missed) =
            (self.tp + other.tp, self.fp + other.fp, self.missed + other.missed);
        for (kind, (ok, all)) in &other.parts {
            let slot = self.parts.entry(kind.clone()).or_default();
            (slot.0, slot.1) = (slot.0 + ok, slot.1 + all);
        }
    }

    /// The share of one kind that came out right, and how many there are.
    pub fn of(&self, kind: &str) -> Option<(f64, u32)> {
        self.parts.get(kind).map(|(ok, all)| (f64::from(*ok) / f64::from(*all), *all))
    }
}

/// The tracker on some windows.
pub fn tracked(windows: &[&Window], repos: &Repos, scorer: &Scorer, misses: bool) -> Result<Score> {
    let mut score = Score::default();
    for window in windows {
        let change = repos.change(&window.truth)?;
        let read = |side: Side, path: &str| repos.file(&window.truth, side, path);
        let (before, after): (Vec<&Claim>, Vec<&Claim>) =
            (window.before.iter().collect(), window.after.iter().collect());
        let found = compare(&before, &after, &change, &read, scorer);
        let pairs = found.pairs.iter().map(|(pair, _)| (pair.before, pair.after)).collect();
        judge(window, &pairs, &mut score, misses);
        judge_classes(window, &found, &mut score);
    }
    Ok(score)
}

/// The naive fingerprint on the same windows: equal file, lines and words.
pub fn naive(windows: &[&Window]) -> Score {
    let mut score = Score::default();
    for window in windows {
        let mut waiting: BTreeMap<String, VecDeque<usize>> = BTreeMap::new();
        for (n, claim) in window.after.iter().enumerate() {
            waiting.entry(fingerprint::location(claim)).or_default().push_back(n);
        }
        let partner = |(n, claim): (usize, &Claim)| {
            Some((n, waiting.get_mut(&fingerprint::location(claim))?.pop_front()?))
        };
        let pairs = window.before.iter().enumerate().filter_map(partner).collect();
        judge(window, &pairs, &mut score, false);
    }
    score
}

fn judge(window: &Window, found: &BTreeMap<usize, usize>, score: &mut Score, misses: bool) {
    let truth = &window.truth;
    let want: BTreeMap<usize, _> = truth.pairs.iter().map(|pair| (pair.before, pair)).collect();
    for n in (0..window.before.len()).filter(|n| !truth.amb_before.contains(n)) {
        let (want, got) = (want.get(&n), found.get(&n));
        let right = want.map(|pair| pair.after);
        if got.is_some_and(|got| truth.amb_after.contains(got) && right != Some(*got)) {
            continue;
        }
        let ok = right == got.copied();
        score.fp += u32::from(got.is_some() && !ok);
        if let Some(pair) = want {
            score.tp += u32::from(ok);
            score.missed += u32::from(!ok);
            pair.strata.iter().for_each(|name| score.part(name, ok));
        }
        if misses && !ok {
            let text = |n: Option<usize>| n.and_then(|n| window.after.get(n)).map(|claim| &claim.claim);
            let old = window.before.get(n).map(|claim| (&claim.file, claim.line, &claim.claim));
            out::line(format!(
                "{} {n}: {old:?} should be {:?}, is {:?}",
                window.name,
                text(right),
                text(got.copied())
            ));
        }
    }
}

fn judge_classes(window: &Window, found: &Comparison, score: &mut Score) {
    let gone: BTreeMap<usize, &str> = found.gone.iter().map(|(n, gone)| (*n, gone.word())).collect();
    let fresh: BTreeMap<usize, &str> = found.fresh.iter().map(|(n, fresh)| (*n, fresh.word())).collect();
    let truth = &window.truth;
    for (rows, ambiguous, got) in
        [(&truth.before, &truth.amb_before, &gone), (&truth.after, &truth.amb_after, &fresh)]
    {
        for row in rows.iter().filter(|row| row.class != "open" && !ambiguous.contains(&row.index)) {
            score.part(&row.class, got.get(&row.index) == Some(&row.class.as_str()));
        }
    }
}
