//! The short simulation: some seeds of `cargo xtask sim`, on every test run. It passes or fails by the seeds alone,
//! never by the machine.

use testkit::sim::{self, Tally};

/// Seeds of the short run; `cargo xtask sim` takes thousands.
const SEEDS: std::ops::Range<u64> = 0..120;

#[test]
fn every_law_holds() {
    let mut tally = Tally::default();
    for seed in SEEDS {
        let outcome = sim::simulate(seed);
        if let Some(violation) = outcome.violation {
            let trace = sim::traced(seed).trace.join("\n");
            panic!("{trace}\nseed {seed}: {}: {}", violation.law, violation.text);
        }
        tally.merge(&outcome.tally);
    }
    for ending in ["passed", "shut", "stopped", "cancelled"] {
        assert!(tally.count("ending", ending) > 0, "no run ended {ending}");
    }
    assert!(tally.count("engine", "killed") > 100, "hardly anything was killed");
}

/// Seeds that once broke a law, and which.
#[test]
fn what_was_fixed_stays_fixed() {
    let seeds = [
        (19, "a report that meant nothing freed a place: too many agents ran"),
        (102, "a report that meant nothing left an agent running that nobody wanted"),
        (152, "a report that meant nothing made the engine wait for a person it had not asked"),
        (1202, "a landing that nobody could tell about was given up, though it was on the branch"),
        (11066, "the same, called off by a letter"),
        (21296, "the same, dropped by a letter"),
        (850, "a plan whose landing failed went on, though a letter that came meanwhile dropped it"),
    ];
    for (seed, what) in seeds {
        assert_eq!(sim::simulate(seed).violation, None, "seed {seed} again: {what}");
    }
}

#[test]
fn a_death_changes_nothing() {
    // Long runs with letters, landings and agents at work, so that there is much to lose.
    for seed in [10, 13, 24, 33, 40] {
        let (_, points, failed) = sim::sweep(seed);
        assert!(points >= 30, "seed {seed} has only {points} points to die at");
        if let Some(failed) = failed {
            panic!("{}\nseed {seed}: {:?}", failed.trace.join("\n"), failed.violation);
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    for seed in SEEDS.step_by(20) {
        let (first, second) = (sim::traced(seed), sim::traced(seed));
        assert!(first.trace.len() > 3, "seed {seed} left no trace");
        assert_eq!(first.trace, second.trace, "seed {seed}");
        assert_eq!(first.tally, second.tally, "seed {seed}");
        assert_eq!(first.tally, sim::simulate(seed).tally, "seed {seed}, with and without a trace");
        let digest = sim::digested(seed).digest;
        assert_ne!(digest, 0, "seed {seed}");
        assert_eq!(digest, sim::digested(seed).digest, "seed {seed}");
    }
}
