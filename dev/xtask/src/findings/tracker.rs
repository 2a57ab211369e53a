//! The tracker's table: built-in weights, weights fitted on one repository and tested on the others, the naive
//! fingerprint beside them.

use super::data::{Repos, Window, prepare, windows};
use super::fit::fitted;
use super::judge::{Score, naive, tracked};
use super::rereview::{self, Twice};
use super::{Result, TrackerArgs};
use crate::out;
use std::collections::{BTreeMap, BTreeSet};
use tribunal_findings::track::pair::Scorer;
use tribunal_findings::track::score::NAMES;

/// Windows and repositories, ready to be read; the folder lives as long as this does.
struct Ready {
    windows: Vec<Window>,
    real: Vec<Twice>,
    repos: Repos,
    _folder: Option<tempfile::TempDir>,
}

impl Ready {
    fn new(args: &TrackerArgs) -> Result<Ready> {
        let folder = if args.work.is_none() { Some(tempfile::tempdir()?) } else { None };
        let work = args
            .work
            .clone()
            .or_else(|| folder.as_ref().map(|dir| dir.path().to_owned()))
            .unwrap_or_default();
        out::progress("preparing windows");
        let repos = prepare(&args.data, &work, args.quick)?;
        let real = rereview::load(&args.data.join("rereview_dev.jsonl"))?;
        Ok(Ready { windows: windows(&work)?, real, repos, _folder: folder })
    }

    fn pick(&self, keep: impl Fn(&Window) -> bool) -> Vec<&Window> {
        self.windows.iter().filter(|window| keep(window)).collect()
    }

    /// The real re-reviews but one.
    fn real(&self, without: Option<usize>) -> Vec<&Twice> {
        self.real.iter().enumerate().filter(|(n, _)| Some(*n) != without).map(|(_, twice)| twice).collect()
    }

    fn names(&self, of: impl Fn(&Window) -> &str) -> BTreeSet<String> {
        self.windows.iter().map(|window| of(window).to_owned()).collect()
    }
}

/// One row of the table: what is measured, on what, by which tracker.
fn row(regime: &str, tested: &str, tracker: &str, score: &Score) -> String {
    let (p, r, f1) = score.f1();
    let mut line = format!("{} {tested:<7} {tracker:<24} {p:.3} {r:.3} {f1:.3}", title(regime));
    for (kind, width) in KINDS {
        let cell = score.of(kind).map_or("-".to_owned(), |(share, all)| format!("{share:.3} ({all})"));
        line.push_str(&format!(" {cell:>width$}"));
    }
    line
}

/// Kinds of pairs, then classes, with the width of their columns.
const KINDS: [(&str, usize); 9] = [
    ("moved file", 11),
    ("same line", 12),
    ("shifted", 12),
    ("edited", 11),
    ("no line", 11),
    ("resolved", 11),
    ("fix_induced", 11),
    ("not_reported", 12),
    ("late", 11),
];

fn title(regime: &str) -> String {
    let word = match regime {
        "tool" => "stable text",
        "llm" => "simulated reviewer",
        "omit" => "omitting reviewer",
        other => other,
    };
    format!("{word:<18}")
}

fn head() -> String {
    let mut line =
        format!("{:<18} {:<7} {:<24} {:<5} {:<5} {:<5}", "reports", "tested", "tracker", "P", "R", "F1");
    KINDS.iter().for_each(|(kind, width)| line.push_str(&format!(" {kind:>width$}")));
    line
}

/// Prints the table: for each way of reporting the naive fingerprint, the weights fitted on every other repository
/// (both ways and together), and the built-in ones.
pub fn eval(args: &TrackerArgs) -> Result<()> {
    let ready = Ready::new(args)?;
    let repos = ready.names(|window| window.truth.repo.as_str());
    let mut fitted_without: BTreeMap<&str, Scorer> = BTreeMap::new();
    for test in &repos {
        out::progress(format!("fitting on everything but {test}"));
        let train = ready.pick(|window| window.truth.repo != *test);
        if !train.is_empty() {
            fitted_without.insert(test, fitted(&train, &ready.real(None), &ready.repos)?);
        }
    }
    out::line(head());
    for regime in ["tool", "llm", "omit"] {
        let all = ready.pick(|window| window.regime == regime);
        out::line(row(regime, "all", "naive fingerprint", &naive(&all)));
        let mut together = Score::default();
        for (test, scorer) in &fitted_without {
            let tested = ready.pick(|window| window.truth.repo == *test && window.regime == regime);
            let score = tracked(&tested, &ready.repos, scorer, false)?;
            out::line(row(regime, test, "fitted on the others", &score));
            together.add(&score);
        }
        out::line(row(regime, "all", "cross-fitted", &together));
        let built_in = tracked(&all, &ready.repos, &Scorer::default(), args.misses)?;
        out::line(row(regime, "all", "built in, fitted on all", &built_in));
    }
    real(&ready, args.misses)
}

/// The real re-reviews: each with weights that were fitted without it, then all with the built-in ones.
fn real(ready: &Ready, misses: bool) -> Result<()> {
    let (mut crossed, mut built_in) = (rereview::Score::default(), rereview::Score::default());
    for (n, twice) in ready.real.iter().enumerate() {
        out::progress(format!("fitting on everything but re-review {}", n + 1));
        let scorer = fitted(&ready.pick(|_| true), &ready.real(Some(n)), &ready.repos)?;
        crossed.add(&twice.score(&scorer, false)?);
        built_in.add(&twice.score(&Scorer::default(), misses)?);
    }
    if !ready.real.is_empty() {
        out::line(crossed.text("cross-fitted"));
        out::line(built_in.text("built in, fitted on all"));
    }
    Ok(())
}

/// Fits on everything and prints the constants of `track/score.rs`.
pub fn fit(args: &TrackerArgs) -> Result<()> {
    let ready = Ready::new(args)?;
    let scorer = fitted(&ready.pick(|_| true), &ready.real(None), &ready.repos)?;
    out::line(head());
    for regime in ready.names(|window| window.regime.as_str()) {
        let score = tracked(&ready.pick(|window| window.regime == regime), &ready.repos, &scorer, false)?;
        out::line(row(&regime, "all", "fitted on all", &score));
    }
    for (name, weights) in [("TOOL", &scorer.tool), ("REVIEWER", &scorer.reviewer)] {
        out::line(format!("{name}: cut {:.2}", weights.cut));
        for (feature, weight) in NAMES.iter().zip(weights.weights) {
            out::line(format!("        {weight:.3}, // {feature}"));
        }
    }
    Ok(())
}
