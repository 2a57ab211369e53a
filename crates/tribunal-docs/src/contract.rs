//! The contract of a plan: which paths its builder may change, what must hold, and which commands check it.
//!
//! It is derived from the plan's own words and never grants a path that the plan does not claim. The engine seals it
//! later; facts that are unknown here (base commit, time, hash) stay empty.

use std::collections::BTreeSet;

use tribunal_core::contract::Contract;
use tribunal_core::tables;

use crate::{Plan, PlanId};

/// How long a builder may take for a plan's tasks, in seconds, unless somebody says otherwise.
const TIMEOUT_S: u64 = 3_600;

/// The contract of a plan, unsealed.
///
/// Where the plan does not write its phase or number itself, those from its id stand in.
pub fn contract_of(plan: &Plan) -> Contract {
    let id = &plan.id;
    let forbidden: Vec<String> = plan.files_forbidden.iter().map(|file| path_in(file)).collect();
    let of_tasks = plan.tasks.iter().flat_map(|task| &task.verification);
    let mut checks: Vec<String> = Vec::new();
    // Tasks first, in their order, then the plan's own. A command that both name is run once.
    for check in of_tasks.chain(&plan.verification_commands) {
        if !checks.contains(check) {
            checks.push(check.clone());
        }
    }
    let depends_on = plan.depends_on.iter().chain(&plan.cross_phase_deps);
    let depends_on: Vec<String> = depends_on
        .map(|dependency| match dependency.id(&id.phase) {
            Some(id) => id.to_string(),
            // An entry that names a whole phase has no plan id; it is kept as the author wrote it.
            None => dependency.written.clone(),
        })
        .collect();
    let allowed = allowed_paths(plan);
    let must_haves = plan.must_haves.entries();
    // The budget follows from the size of the plan and not from its words.
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

/// The files that a plan claims, those it shares with others, and those it says must exist in the end.
///
/// A plan that claims no files names no paths and is held to none. The other lists alone would turn into a restriction
/// that its author never wrote.
fn allowed_paths(plan: &Plan) -> Vec<String> {
    let mut allowed: BTreeSet<String> = plan.claimed_files().into_iter().collect();
    if !allowed.is_empty() {
        let artifacts = plan.expected_artifacts.iter().chain(&plan.must_haves.artifacts);
        allowed.extend(artifacts.filter_map(|artifact| crate::task::clean_path(&artifact.path)));
        allowed.extend(plan.sequential_files.iter().map(|file| path_in(file)));
    }
    allowed.into_iter().collect()
}

/// The name of a task across phases: `01-02-T3`.
///
/// The contract lists the tasks of its plan in this form.
pub fn task_id(plan: &PlanId, number: u32) -> String {
    format!("{plan}-T{number}")
}

/// The path of a forbidden entry. An entry that is not a path is kept as it is, so that it still forbids what it names.
fn path_in(entry: &str) -> String {
    crate::plan::listed_path(entry).map_or_else(|| entry.trim().to_owned(), |file| file.path)
}

/// The text of `<objective>` or of a section `Objective`, otherwise the title.
fn objective(plan: &Plan) -> String {
    let tagged = plan.body.split_once("<objective>").and_then(|(_, rest)| rest.split_once("</objective>"));
    let headed = || {
        // A heading at a line's start; the same words in a sentence are prose.
        let at = plan.body.find("\n## Objective")?;
        let rest = plan.body[at + 1..].split_once('\n')?.1;
        Some(rest.split("\n## ").next().unwrap_or(rest))
    };
    let words = tagged.map(|(inner, _)| inner).or_else(headed).map(str::trim).filter(|text| !text.is_empty());
    words.map_or_else(|| plan.title.clone().unwrap_or_default(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read_plan;

    fn contract(front: &str) -> Contract {
        let text = format!(
            "---\nphase: 1\nplan: 1\ntitle: t\nmust_haves: [x]\n{front}\n---\n\n### Task 1: a\n\nDo it.\n"
        );
        contract_of(&read_plan("01-01-PLAN.md", &text).value.unwrap())
    }

    /// Files it shares and files that must be there are the plan's; a plan that claims none is held to none.
    #[test]
    fn what_a_plan_names_it_may_change() {
        let named = contract(
            "files_modified: [src/a.rs]\nsequential_files: [NOTES.txt]\nexpected_artifacts:\n  - path: out/report.txt",
        );
        assert_eq!(named.allowed_paths, ["NOTES.txt", "out/report.txt", "src/a.rs"]);
        assert!(named.breach("other.txt").is_some());
        let none = contract("expected_artifacts:\n  - path: out/report.txt");
        assert_eq!((none.allowed_paths.len(), none.breach("other.txt")), (0, None));
    }

    /// A pattern is not emphasis: what it forbids stays forbidden.
    #[test]
    fn a_pattern_that_begins_with_stars_forbids() {
        let forbids = contract("files_forbidden: [\"**/.env\", \"*.pem\", \"**src/b.rs**\", \"`keys/**`\"]");
        for path in ["a/.env", ".env", "key.pem", "src/b.rs", "keys/one"] {
            assert!(forbids.breach(path).is_some(), "{path}: {:?}", forbids.forbidden_paths);
        }
        assert!(forbids.breach("src/a.rs").is_none());
    }
}
