//! Chores about findings: how well the tracker, dedupe and the convergence controller do on labelled data, and a
//! fuzzer for everything that reads what agents write. Measures and prints; changes no file of the project.

mod answers;
mod converge;
mod data;
mod dedupe;
mod fit;
mod fuzz;
mod judge;
#[cfg(test)]
mod moved;
mod pairs;
mod planted;
mod prose;
mod rereview;
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
    /// Groups of different defects at one place, one JSON object per line
    #[arg(long, value_name = "FILE", default_value = "../shared/data/pairs/dev.jsonl")]
    pairs: PathBuf,
}

/// Where texts of reviews are.
#[derive(clap::Args)]
pub struct ProseArgs {
    /// Comments or findings, one JSON object per line
    #[arg(default_values = ["../shared/data/tracking/dedupe_dev.jsonl", "../shared/data/tracking/rereview_dev.jsonl"])]
    files: Vec<PathBuf>,
}

/// Where rounds are.
#[derive(clap::Args)]
pub struct ConvergeArgs {
    /// Rounds, one JSON object per line
    file: PathBuf,
    /// Labels of the series, one JSON object per line: prints how often the loop stopped in time, and nothing else
    #[arg(long, value_name = "FILE")]
    truth: Option<PathBuf>,
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
    /// Plant one fault in answers that approve, instead: none of them may count as an approval
    #[arg(long)]
    planted: bool,
}

/// Where labelled answers are.
#[derive(clap::Args)]
pub struct AnswersArgs {
    /// Answers with their labels, one JSON object per line
    #[arg(default_value = "../shared/data/answers/dev.jsonl")]
    file: PathBuf,
    /// Print every answer that was read in another way than its label
    #[arg(long)]
    misses: bool,
}

/// `eval-answers`: how labelled answers of reviewers are read.
pub fn eval_answers(args: &AnswersArgs) -> ExitCode {
    told(answers::eval(&args.file, args.misses).and_then(|(lines, open)| {
        lines.iter().for_each(out::line);
        if open == 0 { Ok(()) } else { Err(format!("{open} answers were approved that must not be").into()) }
    }))
}

/// `eval-tracker`: the table.
pub fn eval_tracker(args: &TrackerArgs) -> ExitCode {
    told(tracker::eval(args))
}

/// `fit-tracker`: the weights.
pub fn fit_tracker(args: &TrackerArgs) -> ExitCode {
    told(tracker::fit(args))
}

/// `count-prose`: how common words are in reviews.
pub fn count_prose(args: &ProseArgs) -> ExitCode {
    told(prose::count(&args.files).map(|lines| lines.iter().for_each(out::line)))
}

/// `eval-dedupe`: the table.
pub fn eval_dedupe(args: &DedupeArgs) -> ExitCode {
    let both = dedupe::eval(&args.file).and_then(|lines| Ok([lines, pairs::eval(&args.pairs)?].concat()));
    told(both.map(|lines| lines.iter().for_each(out::line)))
}

/// `converge`: what the loop does after each round.
pub fn converge(args: &ConvergeArgs) -> ExitCode {
    told(converge_lines(args).map(|lines| lines.iter().for_each(out::line)))
}

fn converge_lines(args: &ConvergeArgs) -> Result<Vec<String>> {
    let read = |file: &PathBuf| {
        std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))
    };
    let decisions = converge::decisions(&read(&args.file)?)?;
    let Some(truth) = &args.truth else { return Ok(decisions) };
    let score = converge::score(&decisions, &read(truth)?)?;
    Ok(vec![serde_json::to_string(&score)?])
}

/// `fuzz`: everything that reads agents' words, on inputs nobody meant well.
pub fn fuzz(args: &FuzzArgs) -> ExitCode {
    if args.planted {
        let tally = planted::run(args.seed, args.cases);
        out::line(tally.to_string());
        return if tally.approved + tally.refused == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
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
