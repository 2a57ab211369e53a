//! Measures and fits the tracker on labelled windows. Prepares nothing: the folder holds, per regime and seed
//! (`tool-1`, `llm-1`, `omit-2`, …), files `<repo>-….before.sarif`, `.after.sarif` and `.truth.json`; REPOS holds bare
//! repositories by name. Prints precision, recall and F1 with weights fitted on one repository and tested on the other,
//! and, with `--weights`, the constants for `src/track/score.rs`.
//!
//! cargo run --release --example eval_tracker -- PREPARED REPOS [REREVIEWS.jsonl] [--weights] [--deltas]
#![expect(clippy::print_stdout, reason = "a measuring tool speaks on stdout")]
#![expect(clippy::disallowed_methods, reason = "a measuring tool reads files and runs git")]
#![expect(clippy::unwrap_used, reason = "a measuring tool stops at the first surprise")]

use serde_json::{Value, json};
use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use tribunal_core::finding::Claim;
use tribunal_findings::read_sarif;
use tribunal_findings::track::compare::{Fresh, Gone, compare};
use tribunal_findings::track::pair::{Scorer, candidates};
use tribunal_findings::track::score::{FEATURES, NAMES, Weights};
use tribunal_findings::track::{Change, Side};

struct Window {
    stem: PathBuf,
    repo: String,
    regime: String,
    before: Vec<Claim>,
    after: Vec<Claim>,
    truth: Value,
    pairs: BTreeMap<usize, (usize, Vec<String>)>,
    amb_before: BTreeSet<usize>,
    amb_after: BTreeSet<usize>,
}

#[derive(Default)]
struct Git {
    files: RefCell<BTreeMap<(String, String, String), Option<String>>>,
    diffs: RefCell<BTreeMap<(String, String, String), Change>>,
    root: PathBuf,
}

impl Git {
    fn run(&self, repo: &str, args: &[&str]) -> Option<String> {
        let out = Command::new("git").arg("--git-dir").arg(self.root.join(repo)).args(args).output().unwrap();
        out.status.success().then(|| String::from_utf8_lossy(&out.stdout).into_owned())
    }

    fn file(&self, repo: &str, revision: &str, path: &str) -> Option<String> {
        let key = (repo.to_owned(), revision.to_owned(), path.to_owned());
        if let Some(known) = self.files.borrow().get(&key) {
            return known.clone();
        }
        let text = self.run(repo, &["show", &format!("{revision}:{path}")]);
        self.files.borrow_mut().insert(key, text.clone());
        text
    }

    fn diff(&self, repo: &str, from: &str, to: &str) -> Change {
        let key = (repo.to_owned(), from.to_owned(), to.to_owned());
        if let Some(known) = self.diffs.borrow().get(&key) {
            return known.clone();
        }
        let change = Change::from_unified(&self.run(repo, &["diff", "-M", "-U0", from, to]).unwrap());
        self.diffs.borrow_mut().insert(key, change.clone());
        change
    }
}

fn indexes(value: &Value) -> BTreeSet<usize> {
    value.as_array().unwrap().iter().map(|n| n.as_u64().unwrap() as usize).collect()
}

fn load(root: &Path) -> Vec<Window> {
    let mut windows = Vec::new();
    let mut folders: Vec<PathBuf> =
        std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    for folder in folders {
        let regime = folder.file_name().unwrap().to_string_lossy().split('-').next().unwrap().to_owned();
        let mut files: Vec<PathBuf> =
            std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        for file in files.iter().filter(|file| file.to_string_lossy().ends_with(".truth.json")) {
            let stem = PathBuf::from(file.to_string_lossy().strip_suffix(".truth.json").unwrap());
            windows.push(window(&stem, &regime));
        }
    }
    windows
}

fn window(stem: &Path, regime: &str) -> Window {
    let text = |ending: &str| std::fs::read_to_string(format!("{}{ending}", stem.display())).unwrap();
    let truth: Value = serde_json::from_str(&text(".truth.json")).unwrap();
    let number = |value: &Value| value.as_u64().unwrap() as usize;
    let pairs = truth["pairs"].as_array().unwrap().iter().map(|pair| {
        let strata =
            pair["strata"].as_array().unwrap().iter().map(|s| s.as_str().unwrap().to_owned()).collect();
        (number(&pair["before"]), (number(&pair["after"]), strata))
    });
    let pairs = pairs.collect();
    let (amb_before, amb_after) = (indexes(&truth["amb_before"]), indexes(&truth["amb_after"]));
    Window {
        stem: stem.to_owned(),
        repo: truth["repo"].as_str().unwrap().to_owned(),
        regime: regime.to_owned(),
        before: read_sarif(&text(".before.sarif")).findings,
        after: read_sarif(&text(".after.sarif")).findings,
        pairs,
        amb_before,
        amb_after,
        truth,
    }
}

impl Window {
    fn revisions(&self) -> (String, String) {
        (self.truth["from"].as_str().unwrap().to_owned(), self.truth["to"].as_str().unwrap().to_owned())
    }
}

#[derive(Default, Clone)]
struct Score {
    tp: f64,
    fp: f64,
    r#fn: f64,
    strata: BTreeMap<String, (u32, u32)>,
    classes: BTreeMap<String, (u32, u32)>,
}

impl Score {
    fn f1(&self) -> (f64, f64, f64) {
        let p = self.tp / (self.tp + self.fp).max(1e-9);
        let r = self.tp / (self.tp + self.r#fn).max(1e-9);
        (p, r, 2.0 * p * r / (p + r).max(1e-9))
    }

    fn class(&mut self, name: &str, ok: bool) {
        let slot = self.classes.entry(name.to_owned()).or_default();
        slot.0 += u32::from(ok);
        slot.1 += 1;
    }
}

fn judge(window: &Window, git: &Git, scorer: &Scorer, score: &mut Score, write: bool) {
    let (from, to) = window.revisions();
    let change = git.diff(&window.repo, &from, &to);
    let read =
        |side: Side, path: &str| git.file(&window.repo, if side == Side::Before { &from } else { &to }, path);
    let before: Vec<&Claim> = window.before.iter().collect();
    let after: Vec<&Claim> = window.after.iter().collect();
    let found = compare(&before, &after, &change, &read, scorer);
    let matched: BTreeMap<usize, usize> =
        found.pairs.iter().map(|(pair, _)| (pair.before, pair.after)).collect();
    for n in (0..before.len()).filter(|n| !window.amb_before.contains(n)) {
        let want = window.pairs.get(&n);
        let got = matched.get(&n);
        if got.is_some_and(|got| window.amb_after.contains(got) && want.map(|(after, _)| after) != Some(got))
        {
            continue;
        }
        match want {
            Some((after, strata)) => {
                let ok = got == Some(after);
                score.tp += f64::from(u8::from(ok));
                score.r#fn += f64::from(u8::from(!ok));
                score.fp += f64::from(u8::from(!ok && got.is_some()));
                for name in strata {
                    let slot = score.strata.entry(name.clone()).or_default();
                    slot.0 += u32::from(ok);
                    slot.1 += 1;
                }
                if !ok && std::env::var_os("MISSES").is_some() {
                    println!(
                        "MISS {} {n} want {after} got {got:?}: {:?} | {:?}",
                        window.stem.display(),
                        before[n].claim,
                        window.after[*after].claim
                    );
                }
            }
            None => {
                score.fp += f64::from(u8::from(got.is_some()));
                if let Some(got) = got.filter(|_| std::env::var_os("MISSES").is_some()) {
                    println!(
                        "WRONG {} {n} {got}: {:?}:{:?} {:?} | {:?}:{:?} {:?}",
                        window.stem.display(),
                        before[n].file,
                        before[n].line,
                        before[n].claim,
                        after[*got].file,
                        after[*got].line,
                        after[*got].claim
                    );
                }
            }
        }
    }
    judge_classes(window, &found, score);
    if write {
        std::fs::write(format!("{}.delta.json", window.stem.display()), delta_json(&found).to_string())
            .unwrap();
    }
}

fn gone_word(gone: Gone) -> &'static str {
    if gone == Gone::Resolved { "resolved" } else { "not_reported" }
}

fn fresh_word(fresh: Fresh) -> &'static str {
    match fresh {
        Fresh::New => "new",
        Fresh::Late => "late",
        Fresh::FixInduced => "fix_induced",
    }
}

fn judge_classes(window: &Window, found: &tribunal_findings::track::Comparison, score: &mut Score) {
    let gone: BTreeMap<usize, &str> = found.gone.iter().map(|(n, gone)| (*n, gone_word(*gone))).collect();
    let fresh: BTreeMap<usize, &str> =
        found.fresh.iter().map(|(n, fresh)| (*n, fresh_word(*fresh))).collect();
    for (side, amb, got) in [("before", &window.amb_before, &gone), ("after", &window.amb_after, &fresh)] {
        for row in window.truth[side].as_array().unwrap() {
            let (n, class) = (row["index"].as_u64().unwrap() as usize, row["class"].as_str().unwrap());
            if class != "open" && !amb.contains(&n) {
                score.class(class, got.get(&n) == Some(&class));
            }
        }
    }
}

fn delta_json(found: &tribunal_findings::track::Comparison) -> Value {
    let class = |order: Ordering| match order {
        Ordering::Less => "downgraded",
        Ordering::Equal => "unchanged",
        Ordering::Greater => "upgraded",
    };
    json!({
        "pairs": found.pairs.iter().map(|(p, o)| json!({"before": p.before, "after": p.after, "class": class(*o), "score": p.score})).collect::<Vec<_>>(),
        "before": found.gone.iter().map(|(n, g)| json!({"index": n, "class": gone_word(*g)})).collect::<Vec<_>>(),
        "after": found.fresh.iter().map(|(n, f)| json!({"index": n, "class": fresh_word(*f)})).collect::<Vec<_>>(),
    })
}

type Rows = Vec<([f64; FEATURES], f64)>;

/// Labelled candidate pairs of some windows: one row per pair.
fn rows(windows: &[&Window], git: &Git) -> Rows {
    let mut rows = Vec::new();
    for window in windows {
        let (from, to) = window.revisions();
        let change = git.diff(&window.repo, &from, &to);
        let read = |side: Side, path: &str| {
            git.file(&window.repo, if side == Side::Before { &from } else { &to }, path)
        };
        let before: Vec<&Claim> = window.before.iter().collect();
        let after: Vec<&Claim> = window.after.iter().collect();
        for candidate in candidates(&before, &after, &change, &read) {
            if window.amb_before.contains(&candidate.before) || window.amb_after.contains(&candidate.after) {
                continue;
            }
            let same =
                window.pairs.get(&candidate.before).is_some_and(|(after, _)| *after == candidate.after);
            rows.push((candidate.features, if same { 1.0 } else { 0.0 }));
        }
    }
    rows
}

/// What a feature may say: for (1), against (-1), either (0), nothing (2). Small data would teach nonsense otherwise;
/// severity would be learned from the simulation, where it hangs on the rule.
const SIGNS: [i8; FEATURES] = [0, 1, 1, 1, 1, 1, -1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, -1, -1, 2, 1, 1, -1];

/// How strongly.
const RIDGE: f64 = 5.0;

/// What reviewers are known to do where the data is thin: equal words and equal lines speak for a pair. The ridge pulls
/// towards these instead of towards nothing.
const PRIOR: [f64; FEATURES] = [
    -6.0, 0.3, 3.0, 2.0, 0.5, 1.0, -0.5, 0.7, 0.5, 2.0, 0.2, 0.2, 3.0, 2.0, 1.0, 1.0, 0.0, 1.0, -4.0, -2.0,
    0.0, 2.0, 1.0, -0.5,
];

/// Fits, leaves out what came out with the wrong sign, and fits again until all signs are right.
fn fit(rows: &Rows, ridge: f64) -> [f64; FEATURES] {
    let mut out: BTreeSet<usize> = (0..FEATURES).filter(|n| SIGNS[*n] == 2).collect();
    loop {
        let weights = newton(rows, ridge, &out);
        let wrong = |n: &usize| f64::from(SIGNS[*n]) * weights[*n] < -1e-9;
        let worst = (0..FEATURES).filter(wrong).min_by(|a, b| {
            (f64::from(SIGNS[*a]) * weights[*a]).total_cmp(&(f64::from(SIGNS[*b]) * weights[*b]))
        });
        match worst {
            Some(worst) => out.insert(worst),
            None => return weights,
        };
    }
}

/// Logistic regression by Newton's method with a ridge; features in `out` keep no weight.
fn newton(rows: &Rows, ridge: f64, out: &BTreeSet<usize>) -> [f64; FEATURES] {
    let mut weights = [0.0; FEATURES];
    for _ in 0..30 {
        let mut gradient = [0.0; FEATURES];
        let mut hessian = [[0.0; FEATURES]; FEATURES];
        for (features, label) in rows {
            let odds: f64 = weights.iter().zip(features).map(|(w, f)| w * f).sum();
            let p = 1.0 / (1.0 + (-odds).exp());
            for i in 0..FEATURES {
                gradient[i] += (label - p) * features[i];
                for j in 0..FEATURES {
                    hessian[i][j] += p * (1.0 - p) * features[i] * features[j];
                }
            }
        }
        for i in 0..FEATURES {
            gradient[i] -= ridge * (weights[i] - PRIOR[i]);
            hessian[i][i] += ridge;
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

fn solve(mut a: [[f64; FEATURES]; FEATURES], mut b: [f64; FEATURES]) -> [f64; FEATURES] {
    for i in 0..FEATURES {
        let pivot = (i..FEATURES).max_by(|x, y| a[*x][i].abs().total_cmp(&a[*y][i].abs())).unwrap();
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

fn scored(windows: &[&Window], git: &Git, scorer: &Scorer, write: bool) -> Score {
    let mut score = Score::default();
    windows.iter().for_each(|window| judge(window, git, scorer, &mut score, write));
    score
}

/// Fits both kinds of weights on some windows, with the cut that does best there.
fn fitted(train: &[&Window], git: &Git) -> Scorer {
    let of = |tool: bool| -> Vec<&Window> {
        train.iter().copied().filter(|w| (w.regime == "tool") == tool).collect()
    };
    let mut scorer = Scorer::default();
    let tool = of(true);
    if !tool.is_empty() {
        scorer.tool = Weights { weights: fit(&rows(&tool, git), RIDGE), cut: 0.0 };
        scorer.tool.cut = best_cut(&tool, git, &scorer, true);
    }
    let reviewer = of(false);
    if !reviewer.is_empty() {
        scorer.reviewer = Weights { weights: fit(&rows(&reviewer, git), RIDGE), cut: 0.0 };
        scorer.reviewer.cut = best_cut(&reviewer, git, &scorer, false);
    }
    scorer
}

fn best_cut(windows: &[&Window], git: &Git, scorer: &Scorer, tool: bool) -> f64 {
    let mut best = (0.0, 0.0);
    for step in -12..=6 {
        let cut = f64::from(step) * 0.25;
        let mut tried = scorer.clone();
        if tool {
            tried.tool.cut = cut
        } else {
            tried.reviewer.cut = cut
        }
        let f1 = scored(windows, git, &tried, false).f1().2;
        if f1 > best.0 {
            best = (f1, cut);
        }
    }
    best.1
}

/// Real re-reviews, without trees: how many of the labelled pairs are found, and how many wrong ones.
fn rereviews(file: &str, scorer: &Scorer) {
    let (mut found, mut all, mut wrong) = (0, 0, 0);
    for line in std::fs::read_to_string(file).unwrap().lines() {
        let review: Value = serde_json::from_str(line).unwrap();
        let claims = |side: &str| -> Vec<(String, Claim)> {
            review[side].as_array().unwrap().iter().map(finding).collect()
        };
        let (before, after) = (claims("A"), claims("B"));
        let pairs = |name: &str| -> BTreeSet<(String, String)> {
            let ids =
                |pair: &Value| (pair[0].as_str().unwrap().to_owned(), pair[1].as_str().unwrap().to_owned());
            review[name].as_array().unwrap().iter().map(ids).collect()
        };
        let (same, related) = (pairs("same"), pairs("related"));
        let (left, right): (Vec<&Claim>, Vec<&Claim>) =
            (before.iter().map(|f| &f.1).collect(), after.iter().map(|f| &f.1).collect());
        all += same.len();
        for (pair, _) in compare(&left, &right, &Change::default(), &|_, _| None, scorer).pairs {
            let ids = (before[pair.before].0.clone(), after[pair.after].0.clone());
            if same.contains(&ids) {
                found += 1;
            } else if !related.contains(&ids) {
                wrong += 1;
                println!(
                    "  wrong: {:?}:{:?} {} | {:?}:{:?} {}",
                    left[pair.before].file,
                    left[pair.before].line,
                    left[pair.before].claim,
                    right[pair.after].file,
                    right[pair.after].line,
                    right[pair.after].claim
                );
            }
        }
    }
    println!("real re-reviews: {found} of {all} found, {wrong} wrong");
}

fn finding(value: &Value) -> (String, Claim) {
    let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let severity = tribunal_findings::words::severity(&text("sev")).unwrap();
    let mut claim = Claim::new(severity, text("title"));
    claim.file = Some(text("file")).filter(|file| !file.is_empty());
    let line = |key: &str| value[key].as_u64().map(|n| n as u32);
    (claim.line, claim.end) = (line("line"), line("end").or(line("line")));
    claim.details = text("issue");
    claim.suggestion = text("fix");
    (text("id"), claim)
}

fn print(name: &str, score: &Score) {
    let (p, r, f1) = score.f1();
    print!("{name:<28} P {p:.4}  R {r:.4}  F1 {f1:.4} ");
    for (name, (ok, all)) in score.strata.iter().chain(&score.classes) {
        print!(" {name} {:.3} ({all})", f64::from(*ok) / f64::from(*all));
    }
    println!();
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let git = Git { root: PathBuf::from(&args[1]), ..Git::default() };
    let windows = load(Path::new(&args[0]));
    let regimes: BTreeSet<&str> = windows.iter().map(|w| w.regime.as_str()).collect();
    let pick = |repo: Option<&str>, regime: Option<&str>| -> Vec<&Window> {
        windows
            .iter()
            .filter(|w| repo.is_none_or(|r| w.repo == r) && regime.is_none_or(|r| w.regime == r))
            .collect()
    };
    println!("built-in weights");
    for regime in &regimes {
        print(
            regime,
            &scored(
                &pick(None, Some(regime)),
                &git,
                &Scorer::default(),
                args.iter().any(|a| a == "--deltas"),
            ),
        );
    }
    if let Some(file) = args.get(2).filter(|file| file.ends_with(".jsonl")) {
        rereviews(file, &Scorer::default());
    }
    if !args.iter().any(|a| a == "--weights" || a == "--cross") {
        return;
    }
    let crossed = [("celery", "dokku"), ("dokku", "celery")]
        .map(|(train, test)| (fitted(&pick(Some(train), None), &git), test));
    for regime in &regimes {
        let mut both = Score::default();
        for (scorer, test) in &crossed {
            let tested = pick(Some(test), Some(regime));
            print(&format!("{regime} on {test}, cross-fitted"), &scored(&tested, &git, scorer, false));
            tested.iter().for_each(|window| judge(window, &git, scorer, &mut both, false));
        }
        print(&format!("{regime}, cross-fitted"), &both);
    }
    let all = fitted(&pick(None, None), &git);
    for regime in &regimes {
        print(&format!("{regime}, fitted on all"), &scored(&pick(None, Some(regime)), &git, &all, false));
    }
    if let Some(file) = args.get(2).filter(|file| file.ends_with(".jsonl")) {
        rereviews(file, &all);
    }
    for (name, weights) in [("TOOL", &all.tool), ("REVIEWER", &all.reviewer)] {
        println!("{name} cut {:.2}", weights.cut);
        for (feature, weight) in NAMES.iter().zip(weights.weights) {
            println!("        {weight:.3}, // {feature}");
        }
    }
}
