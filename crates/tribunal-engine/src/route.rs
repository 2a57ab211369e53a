//! The facts of a plan and of the settings that decide how much care the plan gets. The rules are those of
//! `tribunal_core::policy::Effort` and of the tables.
//!
//! The functions here only translate documents into facts. A new rule about effort belongs in core, where the simulator
//! meets it.

use crate::settings::RunSettings;
use tribunal_core::policy::PlanCare;
use tribunal_core::tables::{self, Autonomy, Risk, RiskFacts};
use tribunal_docs::Plan;

/// The facts of a plan that decide how much care it gets.
fn care(plan: &Plan) -> PlanCare {
    PlanCare { tasks: plan.tasks.len(), risk: risk(plan), attended: plan.autonomous == Some(false) }
}

/// The risk of a plan, by the table of risks.
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
    run.effort.routes_to_turbo(care(plan))
}

/// Whether a person approves the builder's proposal before it starts.
pub fn asks_first(run: &RunSettings, plan: &Plan) -> bool {
    run.effort.asks_first(care(plan), autonomy(run))
}

/// Whether lanes may be built side by side.
pub fn has_team(run: &RunSettings) -> bool {
    run.effort.has_team(run.prefer_teams != "never")
}

fn autonomy(run: &RunSettings) -> Autonomy {
    // An unknown word counts as the setting that leaves least to the agents.
    Autonomy::parse(&run.autonomy).unwrap_or(Autonomy::Cautious)
}
