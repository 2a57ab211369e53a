//! `cargo xtask sim`: many seeds on all cores, the first violation with its trace, and the table of what was
//! reached. It passes only if everything that must be reached was.

use crate::out;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;
use testkit::sim::{self, Outcome, Tally};

/// As many seeds as it takes to reach everything.
const ALL_SEEDS: u64 = 5_000;

/// One seed in so many is also killed at every point.
const SWEEP_EVERY: u64 = 40;

/// What to simulate.
#[derive(clap::Args)]
pub struct Args {
    /// How many seeds
    #[arg(long, default_value_t = 1000)]
    seeds: u64,
    /// The first seed
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// This seed alone, with its whole trace
    #[arg(long, conflicts_with_all = ["seeds", "from"])]
    seed: Option<u64>,
    /// With --seed: kill it at every point instead
    #[arg(long, requires = "seed")]
    sweep: bool,
    /// Print one number over every event and every want instead: two builds with the same number decide the same
    #[arg(long, conflicts_with = "seed")]
    digest: bool,
    /// Threads; as many as there are cores if not given
    #[arg(long)]
    threads: Option<usize>,
}

#[derive(Default)]
struct Found {
    tally: Tally,
    seeds: u64,
    rows: u64,
    kills: u64,
    digest: u64,
    failed: Option<Failed>,
}

struct Failed {
    outcome: Outcome,
    rerun: String,
}

/// Runs the chore.
pub fn run(args: &Args) -> ExitCode {
    match args.seed {
        Some(seed) if args.sweep => one_sweep(seed),
        Some(seed) => one(seed),
        None => many(args),
    }
}

fn one(seed: u64) -> ExitCode {
    let outcome = sim::traced(seed);
    outcome.trace.iter().for_each(out::line);
    verdict(&outcome)
}

fn one_sweep(seed: u64) -> ExitCode {
    let (_, points, failed) = sim::sweep(seed);
    match failed {
        Some(outcome) => {
            outcome.trace.iter().for_each(out::line);
            verdict(&outcome)
        }
        None => {
            out::line(format!("seed {seed}: killed at each of {points} points, always the same end"));
            ExitCode::SUCCESS
        }
    }
}

fn verdict(outcome: &Outcome) -> ExitCode {
    match &outcome.violation {
        None => {
            out::line(format!("seed {}: {} rows, every law holds", outcome.seed, outcome.rows));
            ExitCode::SUCCESS
        }
        Some(violation) => {
            out::line(format!("seed {}: VIOLATED {}: {}", outcome.seed, violation.law, violation.text));
            ExitCode::FAILURE
        }
    }
}

fn many(args: &Args) -> ExitCode {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = args.threads.unwrap_or(cores).max(1);
    let (next, stop) = (AtomicU64::new(args.from), AtomicBool::new(false));
    let found = Mutex::new(Found::default());
    let began = Instant::now();
    let end = args.from.saturating_add(args.seeds);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| match args.digest {
                true => digest(&next, end, &found),
                false => work(&next, end, &stop, &found, began),
            });
        }
    });
    let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    if args.digest {
        out::line(format!(
            "{} seeds, {} journal rows, digest {:016x}",
            found.seeds, found.rows, found.digest
        ));
        return ExitCode::SUCCESS;
    }
    conclude(&found, began.elapsed().as_secs_f64())
}

/// Takes seeds until there are none and adds up their digests: a sum, so that the order of the threads does not count.
fn digest(next: &AtomicU64, end: u64, found: &Mutex<Found>) {
    loop {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        if seed >= end {
            return;
        }
        let outcome = sim::digested(seed);
        let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
        found.seeds += 1;
        found.rows += outcome.rows;
        found.digest = found.digest.wrapping_add(outcome.digest);
    }
}

/// Takes seeds until there are none or one has failed.
fn work(next: &AtomicU64, end: u64, stop: &AtomicBool, found: &Mutex<Found>, began: Instant) {
    while !stop.load(Ordering::Relaxed) {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        if seed >= end {
            return;
        }
        let outcome = sim::simulate(seed);
        let swept = seed.is_multiple_of(SWEEP_EVERY).then(|| sim::sweep(seed));
        let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
        found.seeds += 1;
        found.rows += outcome.rows;
        found.tally.merge(&outcome.tally);
        let mut failed = outcome.violation.is_some().then(|| {
            let rerun = format!("cargo xtask sim --seed {seed}");
            Failed { outcome: sim::traced(seed), rerun }
        });
        if let Some((tally, points, bad)) = swept {
            found.tally.merge(&tally);
            found.kills += points;
            let rerun = format!("cargo xtask sim --seed {seed} --sweep");
            failed = failed.or(bad.map(|outcome| Failed { outcome, rerun }));
        }
        if failed.is_some() {
            stop.store(true, Ordering::Relaxed);
            found.failed = found.failed.take().or(failed);
        }
        if found.seeds.is_multiple_of(500) {
            out::progress(format!("{} seeds, {:.0} s", found.seeds, began.elapsed().as_secs_f64()));
        }
    }
}

fn conclude(found: &Found, seconds: f64) -> ExitCode {
    if let Some(failed) = &found.failed {
        failed.outcome.trace.iter().for_each(out::line);
        let code = verdict(&failed.outcome);
        out::line(format!("run it again with: {}", failed.rerun));
        return code;
    }
    out::line(found.tally.table());
    out::line(format!(
        "{} seeds, {} journal rows, {} deaths in sweeps, {seconds:.1} s",
        found.seeds, found.rows, found.kills
    ));
    let missing = found.tally.missing();
    if missing.is_empty() {
        out::line("every law holds, and everything was reached");
        return ExitCode::SUCCESS;
    }
    out::line(format!("every law holds, but never reached: {}", missing.join("; ")));
    // A short run checks the laws; what is rare takes all seeds to be reached.
    if found.seeds < ALL_SEEDS {
        out::line(format!("from {ALL_SEEDS} seeds on, everything has to be reached"));
        return ExitCode::SUCCESS;
    }
    out::line("hint: simulate more seeds, or teach the world to get there");
    ExitCode::FAILURE
}
