//! Chores about findings: how well the tracker, dedupe and the convergence controller do on labelled data, and a
//! fuzzer for everything that reads what agents write. Measures and prints; changes no file of the project.

mod converge;
mod data;
mod dedupe;
mod fit;
mod fuzz;
mod judge;
#[cfg(test)]
mod moved;
mod samples;
mod tracker;

use crate::out;
use std::path::PathBuf;
use std::process::ExitCode;

/// Whatever kept a chore from being done.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Where labelled windows are.
#[derive(clap::Args)]
pub struct TrackerArgs {
    /// The folder with bundles, windows and noise.py
    #[arg(long, value_name = "DIR", default_value = "../shared/data/tracking")]
    data: PathBuf,
    /// Keep what is prepared in DIR and use it again; a temporary one if not given
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,
    /// One seed for each way of reporting instead of three
    #[arg(long)]
    quick: bool,
    /// Print every pair that was missed or wrong
    #[arg(long)]
    misses: bool,
}

/// Where labelled pairs are.
#[derive(clap::Args)]
pub struct DedupeArgs {
    /// Pairs of comments, one JSON object per line
    #[arg(default_value = "../shared/data/tracking/dedupe_dev.jsonl")]
    file: PathBuf,
}

/// Where rounds are.
#[derive(clap::Args)]
pub struct ConvergeArgs {
    /// Rounds, one JSON object per line
    file: PathBuf,
}

/// How much to try.
#[derive(clap::Args)]
pub struct FuzzArgs {
    /// So many inputs
    #[arg(long, default_value_t = 100_000)]
    cases: u64,
    /// Begin with this seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// `eval-tracker`: the table.
pub fn eval_tracker(args: &TrackerArgs) -> ExitCode {
    told(tracker::eval(args))
}

/// `fit-tracker`: the weights.
pub fn fit_tracker(args: &TrackerArgs) -> ExitCode {
    told(tracker::fit(args))
}

/// `eval-dedupe`: the table.
pub fn eval_dedupe(args: &DedupeArgs) -> ExitCode {
    told(dedupe::eval(&args.file).map(|lines| lines.iter().for_each(out::line)))
}

/// `converge`: the decision after each round.
pub fn converge(args: &ConvergeArgs) -> ExitCode {
    let read =
        std::fs::read_to_string(&args.file).map_err(|error| format!("{}: {error}", args.file.display()));
    told(
        read.map_err(Into::into)
            .and_then(|text| converge::decisions(&text))
            .map(|lines| lines.iter().for_each(out::line)),
    )
}

/// `fuzz`: everything that reads agents' words, on inputs nobody meant well.
pub fn fuzz(args: &FuzzArgs) -> ExitCode {
    told(fuzz::run(args.seed, args.cases).map(|tally| out::line(tally.to_string())))
}

fn told(result: Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            out::progress(format!("error: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// The labelled data beside the project, where it is; tests that need it say so and pass without it.
#[cfg(test)]
fn shared(path: &str) -> Option<PathBuf> {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(path);
    if file.exists() {
        return Some(file);
    }
    out::progress(format!("skipped: there is no ../shared/data/{path}"));
    None
}
