//! Dedupe on groups of different defects at one place: how many different ones become one finding, how many of the same
//! are recognised, and what a whole panel loses. How sure the numbers are is counted by snippets, not by groups.

use super::Result;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use tribunal_core::finding::{Claim, Severity, Source};
use tribunal_core::ids::{Check, Reviewer};
use tribunal_findings::dedupe::{decide, lines_apart};
use tribunal_findings::defect::{Between, FEATURES, Meaning, NAMES, SAME, WEIGHTS, features};

/// Parts the snippets are divided into: fitted on all but one, tested on that one.
const FOLDS: usize = 8;
const RESAMPLES: usize = 2_000;

#[derive(Deserialize)]
struct Group {
    file: String,
    descriptions: Vec<Described>,
}

#[derive(Deserialize)]
struct Described {
    by: String,
    line: u32,
    end: Option<u32>,
    severity: Severity,
    text: String,
    plain: String,
    style: String,
    defect: Option<String>,
    rule: Option<String>,
}

impl Described {
    fn source(&self) -> Source {
        match self.by.strip_prefix("check:") {
            Some(check) => Source::Check(Check::new(check)),
            None => Source::Reviewer(Reviewer::new(&self.by)),
        }
    }

    fn claim(&self, file: &str, plain: bool) -> Claim {
        let text = if plain { &self.plain } else { &self.text };
        let mut claim = Claim::new(self.severity, text).at(file, Some(self.line));
        (claim.end, claim.rule) = (self.end, self.rule.clone());
        claim
    }
}

/// One pair of different voices.
struct Row {
    snippet: usize,
    features: [f64; FEATURES],
    /// A check is one of the two.
    mixed: bool,
    gold: bool,
    /// What the product decides of the two alone.
    built_in: bool,
}

/// Wrong and right decisions.
#[derive(Clone, Copy, Default)]
struct Count {
    different: u32,
    merged: u32,
    same: u32,
    found: u32,
}

impl Count {
    fn take(&mut self, gold: bool, same: bool) {
        let (all, hit) =
            if gold { (&mut self.same, &mut self.found) } else { (&mut self.different, &mut self.merged) };
        *all += 1;
        *hit += u32::from(same);
    }

    fn add(&mut self, other: Count) {
        self.different += other.different;
        self.merged += other.merged;
        self.same += other.same;
        self.found += other.found;
    }

    fn rates(self) -> (f64, f64) {
        let share = |part: u32, all: u32| f64::from(part) / f64::from(all.max(1));
        (share(self.merged, self.different), share(self.found, self.same))
    }
}

/// The table.
pub fn eval(file: &Path) -> Result<Vec<String>> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let groups: Vec<Group> = text.lines().map(serde_json::from_str).collect::<std::result::Result<_, _>>()?;
    let snippets = snippets(&groups);
    let count = snippets.iter().collect::<BTreeSet<_>>().len();
    let mut lines = vec![format!("{} groups of {count} snippets; 95 % by resampling snippets", groups.len())];
    for (name, plain) in [("with quoted code", false), ("bare words", true)] {
        let rows = rows(&groups, &snippets, plain);
        lines.push(told(name, "built in", &rows, |row| row.built_in));
        let crossed = crossed(&rows);
        lines.push(told(name, "cross-fitted", &rows, |row| !row.mixed && crossed[&row.snippet](row)));
        lines.push(panel(name, &groups, plain));
    }
    let rows = rows(&groups, &snippets, true);
    let fitted = fit(rows.iter().filter(|row| !row.mixed));
    let words = NAMES.iter().zip(fitted).map(|(name, weight)| format!("{name} {weight:.2}"));
    lines.push(format!("fitted on all: {}", words.collect::<Vec<_>>().join(", ")));
    Ok(lines)
}

fn told(name: &str, which: &str, rows: &[Row], same: impl Fn(&Row) -> bool) -> String {
    let mut by_snippet: BTreeMap<usize, Count> = BTreeMap::new();
    for row in rows {
        by_snippet.entry(row.snippet).or_default().take(row.gold, same(row));
    }
    let counts: Vec<Count> = by_snippet.into_values().collect();
    let all = total(counts.iter());
    let (mut merged, mut recall) = (Vec::new(), Vec::new());
    let mut seed = 7u64;
    for _ in 0..RESAMPLES {
        let drawn = total((0..counts.len()).map(|_| &counts[draw(&mut seed, counts.len())]));
        let (m, r) = drawn.rates();
        merged.push(m);
        recall.push(r);
    }
    let (m, r) = all.rates();
    format!(
        "{name:<17} {which:<13} different merged {:>3} of {} = {:.1} % [{}], same found {:.3} [{}]",
        all.merged,
        all.different,
        100.0 * m,
        interval(&mut merged, 100.0, 1),
        r,
        interval(&mut recall, 1.0, 2)
    )
}

fn total<'c>(counts: impl Iterator<Item = &'c Count>) -> Count {
    let mut all = Count::default();
    counts.for_each(|count| all.add(*count));
    all
}

fn interval(values: &mut [f64], scale: f64, digits: usize) -> String {
    values.sort_by(f64::total_cmp);
    let at = |share: f64| scale * values[((values.len() - 1) as f64 * share) as usize];
    format!("{:.digits$} to {:.digits$}", at(0.025), at(0.975))
}

fn draw(seed: &mut u64, below: usize) -> usize {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    (*seed >> 11) as usize % below
}

/// Groups that share a wording are of one snippet.
fn snippets(groups: &[Group]) -> Vec<usize> {
    let mut of: Vec<usize> = (0..groups.len()).collect();
    let mut first: BTreeMap<&str, usize> = BTreeMap::new();
    for (n, group) in groups.iter().enumerate() {
        for described in group.descriptions.iter().filter(|one| one.style != "tool") {
            let known = of[*first.entry(&described.plain).or_insert(n)];
            let mine = of[n];
            of.iter_mut().filter(|one| **one == mine).for_each(|one| *one = known);
        }
    }
    of
}

fn rows(groups: &[Group], snippets: &[usize], plain: bool) -> Vec<Row> {
    let mut rows = Vec::new();
    for (group, snippet) in groups.iter().zip(snippets) {
        for (n, a) in group.descriptions.iter().enumerate() {
            for b in &group.descriptions[n + 1..] {
                let (Some(x), Some(y)) = (&a.defect, &b.defect) else { continue };
                if a.by == b.by {
                    continue;
                }
                let (one, other) = (a.claim(&group.file, plain), b.claim(&group.file, plain));
                let (from_a, from_b) = (a.source(), b.source());
                let decision = decide(&[(&from_a, &one), (&from_b, &other)], &|_, _| false);
                let (p, q) = (Meaning::of(&one.claim), Meaning::of(&other.claim));
                rows.push(Row {
                    snippet: *snippet,
                    features: features(&p, &q, between(&one, &other)),
                    mixed: a.style == "tool" || b.style == "tool",
                    gold: x == y,
                    built_in: decision.firsts == [0, 0],
                });
            }
        }
    }
    rows
}

fn between(a: &Claim, b: &Claim) -> Between {
    Between { apart: lines_apart(a, b), steps: (a.severity as u8).abs_diff(b.severity as u8) }
}

type Rule = Box<dyn Fn(&Row) -> bool>;

/// For every snippet a rule that was fitted without it.
fn crossed(rows: &[Row]) -> BTreeMap<usize, Rule> {
    let mut order: Vec<usize> =
        rows.iter().map(|row| row.snippet).collect::<BTreeSet<_>>().into_iter().collect();
    let mut seed = 11u64;
    for n in (1..order.len()).rev() {
        order.swap(n, draw(&mut seed, n + 1));
    }
    let mut rules: BTreeMap<usize, Rule> = BTreeMap::new();
    for fold in 0..FOLDS {
        let held: BTreeSet<usize> = order.iter().skip(fold).step_by(FOLDS).copied().collect();
        let weights = fit(rows.iter().filter(|row| !row.mixed && !held.contains(&row.snippet)));
        for snippet in held {
            rules.insert(snippet, Box::new(move |row| odds(&row.features, &weights) >= SAME));
        }
    }
    rules
}

fn odds(features: &[f64; FEATURES], weights: &[f64; FEATURES]) -> f64 {
    features.iter().zip(weights).map(|(value, weight)| value * weight).sum()
}

/// Logistic regression by Newton's method, with a ridge.
fn fit<'r>(rows: impl Iterator<Item = &'r Row>) -> [f64; FEATURES] {
    let rows: Vec<&Row> = rows.collect();
    let mut weights = WEIGHTS;
    for _ in 0..12 {
        let mut slope = [0.0; FEATURES];
        let mut bend = [[0.0; FEATURES]; FEATURES];
        for n in 1..FEATURES {
            slope[n] = -weights[n];
            bend[n][n] = 1.0;
        }
        bend[0][0] = 1e-6;
        for row in &rows {
            let p = 1.0 / (1.0 + (-odds(&row.features, &weights)).exp());
            let error = f64::from(u8::from(row.gold)) - p;
            for i in 0..FEATURES {
                slope[i] += error * row.features[i];
                for (cell, feature) in bend[i].iter_mut().zip(&row.features) {
                    *cell += p * (1.0 - p) * row.features[i] * feature;
                }
            }
        }
        let step = solved(bend, slope);
        (0..FEATURES).for_each(|n| weights[n] += step[n]);
    }
    weights
}

/// Gauss and Jordan.
fn solved(mut matrix: [[f64; FEATURES]; FEATURES], mut right: [f64; FEATURES]) -> [f64; FEATURES] {
    for n in 0..FEATURES {
        let best =
            (n..FEATURES).max_by(|a, b| matrix[*a][n].abs().total_cmp(&matrix[*b][n].abs())).unwrap_or(n);
        matrix.swap(n, best);
        right.swap(n, best);
        let pivot = matrix[n];
        for row in (0..FEATURES).filter(|row| *row != n) {
            let factor = matrix[row][n] / pivot[n];
            (0..FEATURES).for_each(|column| matrix[row][column] -= factor * pivot[column]);
            right[row] -= factor * right[n];
        }
    }
    std::array::from_fn(|n| right[n] / matrix[n][n])
}

/// What a whole panel loses: defects whose words lead no finding, and what a check says.
fn panel(name: &str, groups: &[Group], plain: bool) -> String {
    let (mut defects, mut lost, mut findings, mut mixed, mut own, mut gone) = (0, 0, 0, 0, 0, 0);
    for group in groups {
        let claims: Vec<(Source, Claim)> =
            group.descriptions.iter().map(|one| (one.source(), one.claim(&group.file, plain))).collect();
        let claims: Vec<(&Source, &Claim)> = claims.iter().map(|(source, claim)| (source, claim)).collect();
        let sets = decide(&claims, &|_, _| false).groups();
        let of = |n: &usize| group.descriptions[*n].defect.as_deref();
        let want: BTreeSet<&str> =
            (0..claims.len()).filter_map(|n| of(&n)).filter(|defect| *defect != "tool").collect();
        let left: BTreeSet<&str> = sets.iter().filter_map(|set| of(&set[0])).collect();
        defects += want.len();
        lost += want.difference(&left).count();
        findings += sets.len();
        let tool = |n: &usize| group.descriptions[*n].style == "tool";
        mixed += sets.iter().filter(|set| set.iter().any(tool) && !set.iter().all(tool)).count();
        own += (0..claims.len()).filter(|n| of(n) == Some("tool")).count();
        gone += sets.iter().flat_map(|set| &set[1..]).filter(|n| of(n) == Some("tool")).count();
    }
    format!(
        "{name:<17} whole panel   {lost} of {defects} defects lost, {findings} findings, {mixed} of a check and an opinion, \
         {gone} of {own} messages of tools lost"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bars: hardly anything different becomes one finding, a good part of the same does, and a panel loses nothing.
    #[test]
    fn different_defects_stay_apart_and_the_same_are_found() {
        let Some(file) = crate::findings::shared("pairs/dev.jsonl") else { return };
        let text = std::fs::read_to_string(file).unwrap();
        let groups: Vec<Group> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let snippets = snippets(&groups);
        for plain in [false, true] {
            let mut count = Count::default();
            rows(&groups, &snippets, plain).iter().for_each(|row| count.take(row.gold, row.built_in));
            let (merged, found) = count.rates();
            assert!(merged <= 0.01 && found >= 0.38, "{plain}: {merged} {found}");
            let panel = panel("", &groups, plain);
            assert!(panel.contains(" 0 of 488 defects lost") && panel.contains(" 0 of a check"), "{panel}");
        }
    }
}
