//! What a simulated project is like: which checks are switched off, who can review, what is known of its commands.
//! Drawn for each subject from the seed, so that the rules of `tribunal_core::policy` are met by every kind of project.

use super::rng::{Rng, dice};
use super::scene::{CHECKS, REVIEWERS};
use std::collections::BTreeSet;
use tribunal_core::ids::{Check, Reviewer};
use tribunal_core::policy::{Effort, Panel, Situation, Staff};
use tribunal_core::run::Subject;

const EFFORTS: &[Option<Effort>] =
    &[None, None, Some(Effort::Turbo), Some(Effort::Balanced), Some(Effort::Max)];

/// The situation of a subject: the same in every life of the process.
pub fn draw(seed: u64, subject: &Subject) -> Situation {
    let mut rng = dice(seed, "policy", &format!("{subject:?}"));
    Situation {
        switched_off: few(&mut rng, CHECKS, 120).map(str::to_owned).collect(),
        commands: few(&mut rng, &["extra"], 150).map(Check::new).collect(),
        has_verification: rng.chance(500),
        has_tests: rng.chance(700),
        has_build: rng.chance(200),
        has_hooks: rng.chance(200),
        has_fixers: rng.chance(800),
        is_code: true,
        needs_approval: rng.chance(80),
        effort: *rng.pick(EFFORTS),
        panel: rng.chance(400).then(|| panel(&mut rng)),
        staff: staff(&mut rng),
    }
}

fn panel(rng: &mut Rng) -> Panel {
    let tools = few(rng, &["linter"], 500).map(Check::new).collect();
    Panel { tools, reviewers: few(rng, REVIEWERS, 450).map(Reviewer::new).collect() }
}

fn staff(rng: &mut Rng) -> Staff {
    let named: BTreeSet<Reviewer> = few(rng, REVIEWERS, 500).map(Reviewer::new).collect();
    Staff { everybody: rng.chance(850), named }
}

/// Some of several names, each by its chance in a thousand.
fn few<'a>(rng: &mut Rng, names: &'a [&'a str], per_mille: u16) -> impl Iterator<Item = &'a str> {
    let chosen: Vec<&str> = names.iter().copied().filter(|_| rng.chance(per_mille)).collect();
    chosen.into_iter()
}
