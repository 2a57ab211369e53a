//! `cargo xtask bench`: what Tribunal costs, each time against a floor that does the same work without it. It
//! measures the release binary on this machine and asserts nothing: numbers are for comparing, by people and runs.

mod agents;
mod crowd;
mod disk;
mod drive;
mod findings;
mod fold;
mod instant;
mod lanes;
mod machine;
mod panel;
mod project;
mod protocol;
mod resume;
mod review;
mod round;
mod sarif;
mod serve;
mod starts;
mod startup;
mod strays;
mod table;

use crate::out;
use clap::ValueEnum;
use drive::Binary;
use project::Project;
use std::cell::RefCell;
use std::process::ExitCode;
use table::Table;

/// Whatever kept a measurement from being made.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// What to measure.
#[derive(clap::Args)]
pub struct Args {
    /// Print one JSON object instead of the table
    #[arg(long)]
    json: bool,
    /// Only these; may be given more than once
    #[arg(long, value_name = "NAME")]
    only: Vec<Name>,
    /// Small versions of everything: whether it works, not how fast it is
    #[arg(long)]
    quick: bool,
    /// Measure this binary instead of building one
    #[arg(long, value_name = "FILE")]
    binary: Option<std::path::PathBuf>,
}

/// The measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Name {
    /// One round with agents that take no time
    Round,
    /// One round of a panel with fixers, and what its prompts share
    Panel,
    /// 100, 300 and 1,000 lanes with agents that take a second
    Lanes,
    /// Starting the program
    Startup,
    /// Folding a journal
    Fold,
    /// Going on after a crash
    Resume,
    /// What old runs leave on the disk
    Disk,
    /// Comparing and sorting findings
    Findings,
    /// Reviews by tools: again, after one change, and with many findings
    Review,
    /// Commands of the protocol, contexts and metrics
    Protocol,
    /// Serving a journal of a million events to 50 clients
    Serve,
    /// 200 agents at once, and 5,000 one after the other
    Crowd,
    /// A builder that leaves 30,000 files nobody asked for
    Strays,
}

/// What every measurement is given.
struct Bench {
    binary: Binary,
    quick: bool,
    kept: RefCell<Vec<Project>>,
}

impl Bench {
    /// Keeps a project until everything is measured: deleting thousands of files makes file systems slow for a while.
    fn keep(&self, project: Project) {
        self.kept.borrow_mut().push(project);
    }
}

/// Runs the chore.
pub fn run(args: &Args) -> ExitCode {
    match measure(args) {
        Ok(table) => {
            out::line(if args.json { table.json() } else { table.text() });
            ExitCode::SUCCESS
        }
        Err(error) => {
            out::progress(format!("error: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn measure(args: &Args) -> Result<Table> {
    let binary = Binary::of(args.binary.as_deref())?;
    let bench = Bench { binary, quick: args.quick, kept: RefCell::default() };
    let mut table = Table::new(machine::describe());
    for name in Name::value_variants() {
        if !args.only.is_empty() && !args.only.contains(name) {
            continue;
        }
        out::progress(format!("measuring: {}", word(*name)));
        match name {
            Name::Round => round::measure(&bench, &mut table)?,
            Name::Panel => panel::measure(&bench, &mut table)?,
            Name::Lanes => lanes::measure(&bench, &mut table)?,
            Name::Startup => startup::measure(&bench, &mut table)?,
            Name::Fold => fold::measure(&bench, &mut table)?,
            Name::Resume => resume::measure(&bench, &mut table)?,
            Name::Disk => disk::measure(&bench, &mut table)?,
            Name::Findings => findings::measure(&bench, &mut table)?,
            Name::Review => review::measure(&bench, &mut table)?,
            Name::Serve => serve::measure(&bench, &mut table)?,
            Name::Crowd => crowd::measure(&bench, &mut table)?,
            Name::Strays => strays::measure(&bench, &mut table)?,
            Name::Protocol => protocol::measure(&bench, &mut table)?,
        }
    }
    Ok(table)
}

fn word(name: Name) -> String {
    name.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

/// The middle value: one slow run among several does not move it.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert!((median(vec![9.0, 1.0, 2.0]) - 2.0).abs() < f64::EPSILON);
        assert!(median(Vec::new()).is_nan());
    }
}
