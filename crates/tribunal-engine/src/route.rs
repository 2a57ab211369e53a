//! How much care a plan gets: its risk, the effort it runs at, and what the gate policy asks for it. Tables and
//! settings in, answers out; nothing is read or started here.

use crate::settings::{Effort, RunSettings};
use tribunal_core::tables::{self, Autonomy, GatePolicy, Risk, RiskFacts};
use tribunal_docs::Plan;

/// Tasks a plan may have at most to be routed to turbo.
const SMALL: usize = 3;

/// The risk of a plan.
pub fn risk(plan: &Plan) -> Risk {
    let facts = RiskFacts {
        tasks: plan.tasks.len(),
        files: plan.claimed_files().len(),
        cross_phase: plan.cross_phase_deps.len(),
        must_haves: plan.must_haves.count(),
    };
    tables::risk(facts).0
}

/// How much a plan asks of a task, by the table of token budgets.
pub fn score(plan: &Plan) -> usize {
    let contract = tribunal_docs::contract_of(plan);
    let (must, paths) = (contract.must_haves.len(), contract.allowed_paths.len());
    tables::task_score(must, paths, contract.depends_on.len())
}

/// Whether a plan is small and safe enough to run at the least effort, whatever the run's is.
pub fn is_turbo(run: &RunSettings, plan: &Plan) -> bool {
    run.effort < Effort::Thorough && plan.tasks.len() <= SMALL && risk(plan) == Risk::Low
}

/// What is asked of a plan and its tasks.
pub fn gate_policy(run: &RunSettings, plan: &Plan) -> GatePolicy {
    tables::gate_policy(table_effort(run.effort), risk(plan), autonomy(run))
}

/// Whether a person approves the dev's proposal before it starts.
pub fn asks_first(run: &RunSettings, plan: &Plan) -> bool {
    let (effort, autonomy) = (table_effort(run.effort), autonomy(run));
    plan.autonomous == Some(false)
        || gate_policy(run, plan).approval_required
        || tables::plan_approval(effort, autonomy)
}

/// Whether lanes may be built side by side.
pub fn has_team(run: &RunSettings) -> bool {
    run.effort != Effort::Turbo && run.prefer_teams != "never"
}

fn autonomy(run: &RunSettings) -> Autonomy {
    Autonomy::parse(&run.autonomy).unwrap_or(Autonomy::Cautious)
}

fn table_effort(effort: Effort) -> tables::Effort {
    match effort {
        Effort::Turbo => tables::Effort::Turbo,
        Effort::Fast => tables::Effort::Fast,
        Effort::Balanced => tables::Effort::Balanced,
        Effort::Thorough | Effort::Max => tables::Effort::Thorough,
    }
}
