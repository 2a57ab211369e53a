//! Policies for the walks: the five rows as they are, and wild ones with every value changed.

use crate::rng::Rng;
use tribunal_core::ids::{Builder, Check, Reviewer};
use tribunal_core::policy::{Asked, AtTheCap, NoVerdict, Policy, Timeouts, Use};

/// The five uses.
pub const USES: [Use; 5] = [Use::Plan, Use::Task, Use::Qa, Use::Phase, Use::Chain];

/// A row with judges; `wild` changes the values that make the row.
pub fn policy(rng: &mut Rng, of: Use, wild: bool) -> Policy {
    let row = Policy::of(of);
    let reviewers = ["alpha", "beta", "gamma"];
    let checks = ["lint", "tests", "types"];
    let most = if of == Use::Phase { 3 } else { 2 };
    let mut policy = Policy {
        builder: Builder::new("dev"),
        reviewers: reviewers[..=rng.below(most)].iter().map(Reviewer::new).collect(),
        checks: checks[..rng.below(4)].iter().map(Check::new).collect(),
        backup: rng.chance(40),
        adjudicator: rng.chance(50).then(|| Reviewer::new("judge")),
        timeouts: Timeouts { make_ms: 1_000, judge_ms: 100 },
        ..row
    };
    if let Some(max) = &mut policy.iterations_max {
        *max = 2 + u32::try_from(rng.below(9)).unwrap();
    }
    if of == Use::Qa && policy.checks.is_empty() && !rng.one_in(20) {
        policy.checks.push(Check::new("lint"));
    }
    let mut beside = rng.beside();
    if beside.one_in(4) {
        policy.parts_max = 1 + u32::try_from(beside.below(4)).unwrap();
    }
    if rng.one_in(25) {
        policy.reviewers.clear();
    }
    if wild {
        shake(rng, &mut policy);
    }
    policy
}

fn shake(rng: &mut Rng, policy: &mut Policy) {
    policy.asked = *rng.pick(&[Asked::Always, Asked::UnlessChecksReject, Asked::OnlyIfChecksFail]);
    policy.warnings_pass = rng.chance(50);
    policy.rounds_max = 1 + u32::try_from(rng.below(6)).unwrap();
    policy.attempts_max = 1 + u32::try_from(rng.below(3)).unwrap();
    policy.iterations_max = rng.chance(40).then(|| 1 + u32::try_from(rng.below(10)).unwrap());
    policy.stale_limit = 1 + u32::try_from(rng.below(3)).unwrap();
    policy.no_verdict = *rng.pick(&[NoVerdict::Escalate, NoVerdict::ChecksOnly]);
    policy.at_the_cap = *rng.pick(&[AtTheCap::End, AtTheCap::Ask, AtTheCap::Leave]);
    policy.confirm = rng.chance(40);
    policy.recheck_failed_only = rng.chance(40);
    policy.approval = rng.one_in(10);
}
