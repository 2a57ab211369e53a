//! Chores of the project, one module each: `cargo xtask <chore>`. The dispatcher knows their names and nothing
//! of what they do.

mod bench;
mod crash;
mod docs;
mod findings;
mod green;
mod hostile;
mod measure;
mod out;
mod program;
mod promises;
mod real_clis;
mod screenshots;
mod sim;
mod survivors;
mod tidy;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "xtask", about = "Chores of the project")]
struct Cli {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Measures what Tribunal costs against floors that do the same work without it
    Bench(bench::Args),
    /// Prints the convergence controller's decision after each round of a file
    Converge(findings::ConvergeArgs),
    /// Counts how common words are in reviews: the table of track/prose.txt
    CountProse(findings::ProseArgs),
    /// Kills the real program at every crash point and starts it again
    Crash(crash::Args),
    /// Checks the book: every command, flag and key exists, every example runs
    Docs(docs::Args),
    /// Measures dedupe on labelled pairs
    EvalDedupe(findings::DedupeArgs),
    /// Measures the tracker on labelled windows, beside the naive fingerprint
    EvalTracker(findings::TrackerArgs),
    /// Fits the tracker's weights to labelled windows
    FitTracker(findings::TrackerArgs),
    /// Tries everything that reads agents' words on inputs nobody meant well
    Fuzz(findings::FuzzArgs),
    /// How labelled answers of reviewers are read
    EvalAnswers(findings::AnswersArgs),
    /// Plays small projects of many ecosystems with tasks that break them: none may land
    Green(green::Args),
    /// Plays hostile agents; `--prove` takes each defence away and expects its test to fail
    Hostile(hostile::Args),
    /// Counts what says how readable the product is, per crate and whole
    Measure(measure::Args),
    /// Plays the real agent programs against a scripted model server
    RealClis(real_clis::Args),
    /// Takes the pictures of the README in a real browser
    Screenshots(screenshots::Args),
    /// Simulates runs with faults, seed by seed
    Sim(sim::Args),
    /// Checks the rules of the house that no compiler checks
    Tidy(tidy::Args),
}

fn main() -> ExitCode {
    // Programs that a chore starts are contained as those of a run are.
    if let Some(code) = tribunal_process::contained() {
        return code;
    }
    match Cli::parse().chore {
        Chore::Bench(args) => bench::run(&args),
        Chore::Converge(args) => findings::converge(&args),
        Chore::CountProse(args) => findings::count_prose(&args),
        Chore::Crash(args) => crash::run(&args),
        Chore::Docs(args) => docs::run(&args),
        Chore::EvalDedupe(args) => findings::eval_dedupe(&args),
        Chore::EvalTracker(args) => findings::eval_tracker(&args),
        Chore::FitTracker(args) => findings::fit_tracker(&args),
        Chore::Fuzz(args) => findings::fuzz(&args),
        Chore::EvalAnswers(args) => findings::eval_answers(&args),
        Chore::Green(args) => green::run(&args),
        Chore::Hostile(args) => hostile::run(&args),
        Chore::Measure(args) => measure::run(&args),
        Chore::RealClis(args) => real_clis::run(&args),
        Chore::Screenshots(args) => screenshots::run(&args),
        Chore::Sim(args) => sim::run(&args),
        Chore::Tidy(args) => tidy::run(&args),
    }
}
