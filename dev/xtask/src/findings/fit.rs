//! Fits the tracker's weights to labelled candidate pairs: logistic regression towards a prior, with signs that make
//! sense. The same windows give the same weights.

use super::Result;
use super::data::{Repos, Window};
use super::judge::tracked;
use super::rereview::Twice;
use std::collections::BTreeSet;
use tribunal_core::finding::Claim;
use tribunal_findings::track::Side;
use tribunal_findings::track::pair::{Scorer, candidates};
use tribunal_findings::track::score::{FEATURES, Weights};

type Features = [f64; FEATURES];
/// Features, whether it is one finding, and how much the row counts.
type Rows = Vec<(Features, f64, f64)>;

/// What a feature may say: for (1), against (-1), either (0), nothing (2). Small data would teach nonsense otherwise;
/// severity would be learned from the simulation, where it hangs on the rule.
const SIGNS: [i8; FEATURES] =
    [0, 1, 1, 1, 1, 1, -1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, -1, -1, 2, 1, 1, -1, 1, -1, 1];

/// How strongly the prior pulls.
const RIDGE: f64 = 5.0;

/// What reviewers are known to do where the data is thin: equal words and equal lines speak for a pair. The ridge pulls
/// towards these instead of towards nothing.
const PRIOR: Features = [
    -6.0, 0.3, 3.0, 2.0, 0.5, 1.0, -0.5, 0.7, 0.5, 2.0, 0.2, 0.2, 3.0, 2.0, 1.0, 1.0, 0.0, 1.0, -4.0, -2.0,
    0.0, 2.0, 1.0, -0.5, 1.0, -0.5, 2.0,
];

/// A pair of a real review counts so many times a simulated one: there are few of them, and they are what is meant.
const REAL: f64 = 3.0;

/// The lowest cut, in quarters: a pair with odds of one to twenty is not taken, however seldom the data has new findings
/// in the place of old ones.
const CUT_MIN: i32 = -12;

/// Fits both kinds of weights on some windows and real re-reviews, with the cut that does best on the windows.
pub fn fitted(train: &[&Window], real: &[&Twice], repos: &Repos) -> Result<Scorer> {
    let (tool, reviewer): (Vec<&Window>, Vec<&Window>) =
        train.iter().copied().partition(|window| window.regime == "tool");
    let mut scorer = Scorer::default();
    if !tool.is_empty() {
        scorer.tool = Weights { weights: fit(&rows(&tool, repos)?), cut: 0.0 };
        scorer.tool.cut = best_cut(&tool, repos, |cut| {
            let tool = Weights { cut, ..scorer.tool.clone() };
            Scorer { tool, ..scorer.clone() }
        })?
        .0;
    }
    if !reviewer.is_empty() {
        let mut rows = rows(&reviewer, repos)?;
        for (one, same) in real.iter().flat_map(|twice| twice.rows()) {
            rows.push((one.features, f64::from(u8::from(same)), REAL));
        }
        scorer.reviewer = Weights { weights: fit(&rows), cut: 0.0 };
        scorer.reviewer.cut = best_cut(&reviewer, repos, |cut| {
            let reviewer = Weights { cut, ..scorer.reviewer.clone() };
            Scorer { reviewer, ..scorer.clone() }
        })?
        .1;
    }
    Ok(scorer)
}

/// The lowest and the highest of the cuts that do best. For reviewers the highest is taken: a new finding that passes for
/// an old one hides what was resolved.
fn best_cut(windows: &[&Window], repos: &Repos, with: impl Fn(f64) -> Scorer) -> Result<(f64, f64)> {
    let mut tried = Vec::new();
    for step in CUT_MIN..=6 {
        let cut = f64::from(step) * 0.25;
        tried.push((tracked(windows, repos, &with(cut), false)?.f1().2, cut));
    }
    let most = tried.iter().map(|(f1, _)| *f1).fold(0.0, f64::max);
    let mut best = tried.iter().filter(|(f1, _)| *f1 >= most).map(|(_, cut)| *cut);
    let lowest = best.next().unwrap_or(0.0);
    Ok((lowest, best.next_back().unwrap_or(lowest)))
}

/// Labelled candidate pairs of some windows: one row per pair.
fn rows(windows: &[&Window], repos: &Repos) -> Result<Rows> {
    let mut rows = Vec::new();
    for window in windows {
        let change = repos.change(&window.truth)?;
        let read = |side: Side, path: &str| repos.file(&window.truth, side, path);
        let (before, after): (Vec<&Claim>, Vec<&Claim>) =
            (window.before.iter().collect(), window.after.iter().collect());
        let truth = &window.truth;
        let same: BTreeSet<(usize, usize)> =
            truth.pairs.iter().map(|pair| (pair.before, pair.after)).collect();
        for one in candidates(&before, &after, &change, &read) {
            if !truth.amb_before.contains(&one.before) && !truth.amb_after.contains(&one.after) {
                let label = if same.contains(&(one.before, one.after)) { 1.0 } else { 0.0 };
                rows.push((one.features, label, 1.0));
            }
        }
    }
    Ok(rows)
}

/// Fits, leaves out what came out with the wrong sign, and fits again until all signs are right.
fn fit(rows: &Rows) -> Features {
    let mut out: BTreeSet<usize> = (0..FEATURES).filter(|n| SIGNS[*n] == 2).collect();
    loop {
        let weights = newton(rows, &out);
        let signed = |n: usize| f64::from(SIGNS[n]) * weights[n];
        let wrong = (0..FEATURES).filter(|n| signed(*n) < -1e-9);
        match wrong.min_by(|a, b| signed(*a).total_cmp(&signed(*b))) {
            Some(worst) => out.insert(worst),
            None => return weights,
        };
    }
}

/// Logistic regression by Newton's method with a ridge; features in `out` keep no weight.
fn newton(rows: &Rows, out: &BTreeSet<usize>) -> Features {
    let mut weights = [0.0; FEATURES];
    for _ in 0..30 {
        let (mut gradient, mut hessian) = ([0.0; FEATURES], [[0.0; FEATURES]; FEATURES]);
        for (features, label, times) in rows {
            let odds: f64 = weights.iter().zip(features).map(|(w, f)| w * f).sum();
            let p = 1.0 / (1.0 + (-odds).exp());
            for i in 0..FEATURES {
                gradient[i] += times * (label - p) * features[i];
                let part = times * p * (1.0 - p) * features[i];
                hessian[i].iter_mut().zip(features).for_each(|(cell, f)| *cell += part * f);
            }
        }
        for i in 0..FEATURES {
            gradient[i] -= RIDGE * (weights[i] - PRIOR[i]);
            hessian[i][i] += RIDGE;
        }
        for i in out {
            gradient[*i] = 0.0;
            hessian[*i] = [0.0; FEATURES];
            hessian.iter_mut().for_each(|row| row[*i] = 0.0);
            hessian[*i][*i] = 1.0;
        }
        let step = solve(hessian, gradient);
        weights.iter_mut().zip(step).for_each(|(w, s)| *w += s);
        if step.iter().all(|s| s.abs() < 1e-6) {
            break;
        }
    }
    weights
}

/// Elimination with the largest pivot.
fn solve(mut a: [Features; FEATURES], mut b: Features) -> Features {
    for i in 0..FEATURES {
        let pivot = (i..FEATURES).max_by(|x, y| a[*x][i].abs().total_cmp(&a[*y][i].abs())).unwrap_or(i);
        a.swap(i, pivot);
        b.swap(i, pivot);
        for row in 0..FEATURES {
            if row == i || a[row][i] == 0.0 {
                continue;
            }
            let factor = a[row][i] / a[i][i];
            let above = a[i];
            a[row].iter_mut().zip(above).skip(i).for_each(|(cell, above)| *cell -= factor * above);
            b[row] -= factor * b[i];
        }
    }
    std::array::from_fn(|i| b[i] / a[i][i])
}
