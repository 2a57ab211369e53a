//! Chores of the project, one module each: `cargo xtask <chore>`. The dispatcher knows their names and nothing
//! of what they do.

mod bench;
mod crash;
mod out;
mod sim;
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
    /// Kills the real program at every crash point and starts it again
    Crash(crash::Args),
    /// Simulates runs with faults, seed by seed
    Sim(sim::Args),
    /// Checks the rules of the house that no compiler checks
    Tidy(tidy::Args),
}

fn main() -> ExitCode {
    match Cli::parse().chore {
        Chore::Bench(args) => bench::run(&args),
        Chore::Crash(args) => crash::run(&args),
        Chore::Sim(args) => sim::run(&args),
        Chore::Tidy(args) => tidy::run(&args),
    }
}
