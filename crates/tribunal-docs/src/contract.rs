//! A plan's contract, as the plan says it. Must never grant a path the plan does not claim.

use tribunal_core::contract::Contract;
use tribunal_core::tables;

use crate::{Plan, PlanId};

/// What a dev may take for a plan's tasks, unless somebody says otherwise.
const TIMEOUT_S: u64 = 3_600;

/// The contract of a plan, unsealed. `phase` stands in where the plan does not say its own.
pub fn contract_of(plan: &Plan) -> Contract {
    let id = &plan.id;
    let forbidden: Vec<String> = plan.files_forbidden.iter().map(|file| path_in(file)).collect();
    let of_tasks = plan.tasks.iter().flat_map(|task| &task.verification);
    let mut checks: Vec<String> = Vec::new();
    for check in of_tasks.chain(&plan.verification_commands) {
        if !checks.contains(check) {
            checks.push(check.clone());
        }
    }
    let depends_on = plan.depends_on.iter().chain(&plan.cross_phase_deps);
    let depends_on: Vec<String> = depends_on
        .map(|dependency| match dependency.id(&id.phase) {
            Some(id) => id.to_string(),
            None => dependency.written.clone(),
        })
        .collect();
    let allowed = plan.claimed_files();
    let must_haves = plan.must_haves.entries();
    let score = tables::task_score(must_haves.len(), allowed.len(), depends_on.len());
    Contract {
        phase_id: id.phase.clone(),
        plan_id: id.to_string(),
        phase: plan.phase.clone().unwrap_or_else(|| id.phase.clone()),
        plan: plan.plan.clone().unwrap_or_else(|| id.plan.clone()),
        objective: objective(plan),
        task_ids: plan.tasks.iter().map(|task| task_id(id, task.number)).collect(),
        task_count: plan.tasks.len(),
        allowed_paths: allowed,
        forbidden_paths: forbidden,
        depends_on,
        must_haves,
        verification_checks: checks,
        max_token_budget: tables::tokens_for("dev", score),
        timeout_seconds: TIMEOUT_S,
        base_commit: String::new(),
        made_at_ms: None,
        untracked_forbidden: Vec::new(),
        contract_hash: String::new(),
    }
}

/// A task's name across phases: `01-02-T3`.
pub fn task_id(plan: &PlanId, number: u32) -> String {
    format!("{plan}-T{number}")
}

/// A forbidden entry's path; an entry that is no path is kept as it is, so that it forbids what it names.
fn path_in(entry: &str) -> String {
    crate::plan::listed_path(entry).map_or_else(|| entry.trim().to_owned(), |file| file.path)
}

/// What `<objective>` or a section `Objective` says, otherwise the title.
fn objective(plan: &Plan) -> String {
    let tagged = plan.body.split_once("<objective>").and_then(|(_, rest)| rest.split_once("</objective>"));
    let headed = || {
        let at = plan.body.find("\n## Objective")?;
        let rest = plan.body[at + 1..].split_once('\n')?.1;
        Some(rest.split("\n## ").next().unwrap_or(rest))
    };
    let words = tagged.map(|(inner, _)| inner).or_else(headed).map(str::trim).filter(|text| !text.is_empty());
    words.map_or_else(|| plan.title.clone().unwrap_or_default(), str::to_owned)
}
