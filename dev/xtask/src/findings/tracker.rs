//! The tracker's table: built-in weights, weights fitted on one repository and tested on the others, the naive
//! fingerprint beside them.

use super::data::{Repos, Window, prepare, windows};
use super::fit::fitted;
use super::judge::{naive, tracked};
use super::{Result, TrackerArgs};
use crate::out;
use std::collections::BTreeSet;
use tribunal_findings::track::pair::Scorer;
use tribunal_findings::track::score::NAMES;

/// Windows and repositories, ready to be read; the folder lives as long as this does.
struct Ready {
    windows: Vec<Window>,
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
        Ok(Ready { windows: windows(&work)?, repos, _folder: folder })
    }

    fn pick(&self, keep: impl Fn(&Window) -> bool) -> Vec<&Window> {
        self.windows.iter().filter(|window| keep(window)).collect()
    }

    fn names(&self, of: impl Fn(&Window) -> &str) -> BTreeSet<String> {
        self.windows.iter().map(|window| of(window).to_owned()).collect()
    }
}

/// Prints the table.
pub fn eval(args: &TrackerArgs) -> Result<()> {
    let ready = Ready::new(args)?;
    let regimes = ready.names(|window| window.regime.as_str());
    let repos = ready.names(|window| window.truth.repo.as_str());
    for regime in &regimes {
        let all = ready.pick(|window| window.regime == *regime);
        out::line(format!("{regime:<5} naive fingerprint     {}", naive(&all)));
        let built_in = tracked(&all, &ready.repos, &Scorer::default(), args.misses)?;
        out::line(format!("{regime:<5} built-in weights      {built_in}"));
    }
    for test in &repos {
        out::progress(format!("fitting on everything but {test}"));
        let train = ready.pick(|window| window.truth.repo != *test);
        if train.is_empty() {
            continue;
        }
        let scorer = fitted(&train, &ready.repos)?;
        for regime in &regimes {
            let tested = ready.pick(|window| window.truth.repo == *test && window.regime == *regime);
            let score = tracked(&tested, &ready.repos, &scorer, false)?;
            out::line(format!("{regime:<5} {test:<8} fitted elsewhere {score}"));
        }
    }
    Ok(())
}

/// Fits on everything and prints the constants of `track/score.rs`.
pub fn fit(args: &TrackerArgs) -> Result<()> {
    let ready = Ready::new(args)?;
    let scorer = fitted(&ready.pick(|_| true), &ready.repos)?;
    for regime in ready.names(|window| window.regime.as_str()) {
        let score = tracked(&ready.pick(|window| window.regime == regime), &ready.repos, &scorer, false)?;
        out::line(format!("{regime:<5} fitted on all {score}"));
    }
    for (name, weights) in [("TOOL", &scorer.tool), ("REVIEWER", &scorer.reviewer)] {
        out::line(format!("{name}: cut {:.2}", weights.cut));
        for (feature, weight) in NAMES.iter().zip(weights.weights) {
            out::line(format!("        {weight:.3}, // {feature}"));
        }
    }
    Ok(())
}
