//! Specs of runs for the walks.

use crate::policies::policy;
use crate::rng::Rng;
use tribunal_core::effect::FinishStep;
use tribunal_core::ids::{PlanId, Revision};
use tribunal_core::policy::{Policy, Use};
use tribunal_core::run::{ChainSpec, Land, PlanGate, PlanSpec, Policies, RunSpec, TasksDone};

/// A spec of one to five plans.
pub fn spec(rng: &mut Rng) -> RunSpec {
    let many = 1 + rng.below(5);
    let mut plans: Vec<PlanSpec> = Vec::new();
    // A spec that was not checked before: dependencies that no wave can meet must not hang the run.
    let odd = rng.one_in(12);
    for at in 0..many {
        let wave = 1 + u32::try_from(if rng.chance(50) { at / 2 } else { 0 }).unwrap();
        let tasks = 1 + u32::try_from(rng.below(3)).unwrap();
        let before = |other: &&PlanSpec| other.wave < wave || rng_free(at, odd);
        let mut depends_on: Vec<PlanId> = plans.iter().filter(before).map(|other| other.id.clone()).collect();
        depends_on.retain(|_| rng.chance(50));
        if odd && rng.chance(30) {
            depends_on.push(PlanId::new(format!("01-{:02}", 1 + rng.below(many))));
        }
        if rng.one_in(10) {
            depends_on.push(PlanId::new("00-99"));
        }
        let sibling = |other: &&PlanSpec| other.wave == wave || odd;
        let mut after: Vec<PlanId> = plans.iter().filter(sibling).map(|other| other.id.clone()).collect();
        after.retain(|_| rng.one_in(6));
        let done = rng.one_in(8).then(|| TasksDone {
            tasks: 1 + u32::try_from(rng.below(3)).unwrap(),
            head: Revision::new("earlier"),
        });
        let id = PlanId::new(format!("01-{:02}", at + 1));
        let revision = Revision::new(format!("{id} as found"));
        plans.push(PlanSpec { id, wave, depends_on, after, tasks, revision, done });
    }
    let gate = *rng.pick(&[None, Some(PlanGate::All), Some(PlanGate::Each)]);
    let land = *rng.pick(&[Land::Group, Land::Each]);
    let (qa, review) = (rng.chance(60), rng.chance(40));
    // Drawn aside, so that the walks without one stay as they were.
    let filtered = &mut rng.clone();
    let chain = (review && filtered.chance(70)).then(|| {
        Box::new(ChainSpec {
            name: "code".into(),
            policy: small(filtered, Use::Chain),
            goes_on: filtered.chance(80),
        })
    });
    let finish = [FinishStep::Boundary, FinishStep::Forward, FinishStep::Push];
    let beside = &mut rng.beside();
    RunSpec {
        plans,
        gate,
        land,
        qa,
        bare: beside.one_in(3),
        hold: beside.one_in(4),
        review,
        polish: None,
        exists: None,
        chain,
        land_again: filtered.one_in(3),
        checkpoint_every: rng.chance(60).then(|| 1 + u32::try_from(rng.below(3)).unwrap()),
        landing_rounds: u32::try_from(rng.below(3)).unwrap(),
        attempts_max: 1 + u32::try_from(rng.below(3)).unwrap(),
        policies: Policies {
            plan: small(rng, Use::Plan),
            task: small(rng, Use::Task),
            repair: small(rng, Use::Task),
            qa: small(rng, Use::Qa),
            phase: small(rng, Use::Phase),
        },
        finish: finish[rng.below(2)..1 + rng.below(3)].to_vec(),
        step_timeout_ms: 50,
    }
}

fn rng_free(at: usize, odd: bool) -> bool {
    odd && at.is_multiple_of(2)
}

fn small(rng: &mut Rng, of: Use) -> Policy {
    let mut policy = policy(rng, of, false);
    policy.reviewers.truncate(2);
    policy
}
