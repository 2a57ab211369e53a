//! The scene of one seed: which plans, which policies, how the engine is run. Drawn from the seed alone.

use super::fault::{Dials, Fault};
use super::rng::Rng;
use tribunal_core::effect::FinishStep;
use tribunal_core::ids::{Check, PlanId, Reviewer, Revision};
use tribunal_core::policy::{AtTheCap, NoVerdict, Policy, Timeouts, Use};
use tribunal_core::run::{Land, PlanGate, PlanSpec, Policies, RunSpec, TasksDone};
use tribunal_engine::Options;

/// How large a scene is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// As the seed likes.
    Any,
    /// One or two plans, for sweeps over every point of death.
    Small,
}

/// What one seed simulates.
#[derive(Clone, Debug)]
pub struct Scene {
    /// The seed.
    pub seed: u64,
    /// Which faults, how often.
    pub dials: Dials,
    /// The run.
    pub spec: RunSpec,
    /// The engine.
    pub options: Options,
    /// The journal is a file in a directory, not in memory.
    pub on_disk: bool,
    /// Approvals, in a thousand answers.
    pub approve: u16,
    /// Checks that pass, in a thousand.
    pub green: u16,
    /// Deaths and failing appends at most.
    pub crashes_max: u32,
}

/// Everybody who may review.
pub const REVIEWERS: &[&str] = &["security", "quality", "tests"];
/// Every check that a row may name.
pub const CHECKS: &[&str] = &["build", "lint"];

impl Scene {
    /// Draws the scene of a seed.
    pub fn draw(seed: u64, size: Size) -> Scene {
        let mut rng = Rng::new(seed ^ 0x5CE0_E5CE_0E5C_E0E5);
        let dials = Dials::draw(&mut rng);
        let dials = if size == Size::Small { dials.without(Fault::TIMED) } else { dials };
        let (width, attached) = (rng.within(1, 5) as usize, rng.chance(600));
        let options = Options {
            width,
            attached,
            grace_ms: *rng.pick(&[1_000, 20_000, 300_000]),
            backoff_ms: *rng.pick(&[0, 0, 2_000]),
            backoff_max_ms: 60_000,
            ..Options::default()
        };
        Scene {
            seed,
            dials,
            spec: spec(&mut rng, size),
            options,
            on_disk: match size {
                Size::Any => rng.chance(180),
                // Only there can people write to a live orchestrator, and a letter outlives it.
                Size::Small => attached,
            },
            approve: *rng.pick(&[300, 600, 850, 950]),
            green: *rng.pick(&[500, 800, 950]),
            crashes_max: rng.within(1, 12) as u32,
        }
    }

    /// The run in words, for the head of a trace.
    pub fn describe(&self) -> String {
        let plan = |plan: &PlanSpec| {
            let needs: Vec<&str> = plan.depends_on.iter().map(PlanId::as_str).collect();
            format!("{} (wave {}, {} tasks, needs [{}])", plan.id, plan.wave, plan.tasks, needs.join(" "))
        };
        let plans: Vec<String> = self.spec.plans.iter().map(plan).collect();
        format!(
            "{}; gate {:?}, land {:?}, qa {}, review {}, width {}, {}, {}",
            plans.join(", "),
            self.spec.gate,
            self.spec.land,
            self.spec.qa,
            self.spec.review,
            self.options.width,
            if self.options.attached { "attached" } else { "detached" },
            if self.on_disk { "on disk" } else { "in memory" },
        )
    }
}

fn spec(rng: &mut Rng, size: Size) -> RunSpec {
    // Drawn beside, so that the scenes of known seeds stay as they were otherwise.
    let beside = &mut rng.clone();
    let finish = [FinishStep::Boundary, FinishStep::Forward, FinishStep::Push];
    RunSpec {
        plans: plans(rng, size),
        gate: *rng.pick(&[None, Some(PlanGate::All), Some(PlanGate::Each)]),
        land: *rng.pick(&[Land::Group, Land::Each]),
        qa: rng.chance(500),
        bare: beside.chance(300),
        hold: beside.chance(250),
        review: rng.chance(500),
        polish: rng.chance(400).then(|| Box::new(polish(rng))),
        exists: None,
        chain: None,
        land_again: rng.chance(300),
        checkpoint_every: *rng.pick(&[None, Some(1), Some(2), Some(4)]),
        landing_rounds: rng.within(0, 2) as u32,
        attempts_max: rng.within(1, 3) as u32,
        policies: Policies {
            plan: policy(rng, Use::Plan),
            task: policy(rng, Use::Task),
            repair: policy(rng, Use::Task),
            qa: policy(rng, Use::Qa),
            phase: policy(rng, Use::Phase),
        },
        finish: finish.into_iter().filter(|_| rng.chance(700)).collect(),
        step_timeout_ms: 120_000,
    }
}

/// What a polish is judged by: nobody is asked, and what does not pass is dropped.
fn polish(rng: &mut Rng) -> Policy {
    let row = policy(rng, Use::Phase);
    Policy { unattended: true, at_the_cap: AtTheCap::End, confirm: false, ..row }
}

fn plans(rng: &mut Rng, size: Size) -> Vec<PlanSpec> {
    let count = match size {
        Size::Any => rng.within(1, 5),
        Size::Small => rng.within(1, 2),
    };
    let mut plans: Vec<PlanSpec> = Vec::new();
    for n in 1..=count {
        let needs: Vec<usize> = (0..plans.len()).filter(|_| rng.chance(300)).collect();
        let wave = needs.iter().map(|i| plans[*i].wave + 1).max().unwrap_or(1);
        let tasks = rng.within(1, if size == Size::Any { 3 } else { 1 }) as u32;
        let done = rng.chance(60).then(|| TasksDone {
            tasks: rng.within(1, u64::from(tasks)) as u32,
            head: Revision::new(format!("earlier-{n}")),
        });
        plans.push(PlanSpec {
            id: PlanId::new(format!("01-{n:02}")),
            wave,
            depends_on: needs.iter().map(|i| plans[*i].id.clone()).collect(),
            after: Vec::new(),
            tasks,
            revision: Revision::new(format!("plan-{n}")),
            done,
        });
    }
    plans
}

fn policy(rng: &mut Rng, of: Use) -> Policy {
    let mut row = Policy::of(of);
    let few = |rng: &mut Rng, names: &[&'static str]| -> Vec<&'static str> {
        names.iter().copied().filter(|_| rng.chance(550)).collect()
    };
    row.reviewers = few(rng, REVIEWERS).into_iter().map(Reviewer::new).collect();
    row.checks = few(rng, CHECKS).into_iter().map(Check::new).collect();
    row.backup = rng.chance(400);
    row.rounds_max = rng.within(1, 5) as u32;
    row.attempts_max = rng.within(1, 3) as u32;
    row.iterations_max = row.iterations_max.map(|_| rng.within(2, 6) as u32);
    row.stale_limit = rng.within(1, 2) as u32;
    row.adjudicator = rng.chance(500).then(|| Reviewer::new(*rng.pick(REVIEWERS)));
    row.recheck_failed_only |= rng.chance(200);
    if rng.chance(250) {
        row.no_verdict = NoVerdict::ChecksOnly;
    }
    row.timeouts = Timeouts { make_ms: 600_000, judge_ms: 300_000 };
    if rng.chance(300) {
        row.parts_max = rng.within(1, 3) as u32;
    }
    row
}
