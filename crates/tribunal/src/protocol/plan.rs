//! Commands about a plan before it is built: its structure, its dependencies, its contract and its risk.
//!
//! A plan that cannot be read is an answer here, not a failure: scripts branch on the verdict, and "rejected, because
//! …" is what they can use.

use super::{Answer, ground, settings};
use crate::failure::Failure;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use tribunal_core::tables::{Risk, RiskFacts, risk as risk_of};
use tribunal_docs::{
    Completions, Phase, Plan, PlanFacts, PlanId, PlanVerdict, Read, StructuralReport, missing_plan,
    phase_dir, read_plan, structural_check, unreadable_plan, validate_plan,
};
use tribunal_protocol::Ground;
use tribunal_view::protocol as view;
use tribunal_world::read_plain;

/// Reads a plan; the error says why the file could not be read.
pub fn read(path: &Path) -> std::io::Result<Read<Plan>> {
    let label = path.display().to_string();
    Ok(read_plan(&label, &String::from_utf8_lossy(&read_plain(path)?)))
}

/// `review-plan`: exit code 0 approve, 1 reject, 2 conditional.
pub fn review(path: &Path, dir: Option<&Path>) -> Result<Answer, Failure> {
    let report = structure(path, dir)?;
    let code = match report.verdict {
        PlanVerdict::Approve => 0,
        PlanVerdict::Reject => 1,
        PlanVerdict::Conditional => 2,
    };
    Ok(Answer::new(view::review_plan(&report), code))
}

fn structure(path: &Path, dir: Option<&Path>) -> Result<StructuralReport, Failure> {
    let label = path.display().to_string();
    if let Some(dir) = dir.filter(|dir| !dir.is_dir()) {
        return Err(Failure::usage(format!("{} is no folder", dir.display())));
    }
    let read = match read(path) {
        Ok(read) => read,
        // A missing plan is a verdict of the protocol, with its own words.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(missing_plan(&label)),
        Err(error) => {
            let said = tribunal_docs::Overview::refused(&label, 1, 1, &error.to_string());
            return Ok(unreadable_plan(&label, &said.diagnostics));
        }
    };
    let Some(plan) = read.value else { return Ok(unreadable_plan(&label, &read.diagnostics)) };
    let ground = ground(Some(path))?;
    let dir = dir.or(path.parent()).unwrap_or(Path::new("."));
    let others = others(path, dir);
    let others: Vec<&Plan> = others.iter().collect();
    // Listing folders of the user's home only pays off for a plan that names a skill.
    let skills = (!plan.skills_used.is_empty()).then(|| skills(&ground));
    let exists = |path: &str| ground.exists(path);
    let tasks_max = settings(&ground)?.settings.plan.tasks_max as usize;
    let facts = PlanFacts { exists: &exists, tasks_max, others: &others, known_skills: skills.as_ref() };
    Ok(structural_check(&plan, &facts))
}

/// The other plans of the folder; none if the folder does not exist.
fn others(path: &Path, dir: &Path) -> Vec<Plan> {
    tribunal_protocol::plans_beside(path, if dir.as_os_str().is_empty() { Path::new(".") } else { dir })
}

/// The names of all skills of the project and of the user.
fn skills(ground: &Ground) -> BTreeSet<String> {
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".claude/skills"));
    let places = [ground.root().join("skills"), ground.root().join(".claude/skills")];
    let places = places.into_iter().chain(home);
    let entries = places.flat_map(|place| std::fs::read_dir(place).into_iter().flatten().flatten());
    entries
        .filter(|entry| entry.path().join("SKILL.md").is_file())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect()
}

/// `validate-plan`: exit code 0 all dependencies are satisfied, 1 all failed or the plan is unreadable, 2 some failed.
pub fn validate(path: &Path, dir: &Path) -> Result<Answer, Failure> {
    let refused = |why: String| Ok(Answer::new(view::no_validation(&format!("depends_on: {why}")), 1));
    let read = match read(path) {
        Ok(read) => read,
        Err(error) => {
            return refused(format!("cannot read {}: {error}. Fix: correct the path", path.display()));
        }
    };
    let Some(plan) = read.value else {
        let said = read.diagnostics.first();
        let said = said.map(|d| format!("{}:{}: {}", d.line, d.column, d.message)).unwrap_or_default();
        return refused(format!("{}:{said}. Fix: fix the frontmatter", path.display()));
    };
    if !plan.has_frontmatter {
        return refused(format!("{}: no frontmatter. Fix: begin it with `---`", path.display()));
    }
    if !dir.is_dir() {
        return Err(Failure::usage(format!("{} is no folder", dir.display())));
    }
    let here = std::path::absolute(dir).ok().and_then(|dir| phase_dir(&dir.file_name()?.to_string_lossy()));
    // Dependencies are looked up beside the folder, so the wrong folder would give the wrong answer.
    if let Some(here) = here.filter(|here| here.number != plan.id.phase) {
        let (own, other) = (&plan.id, &here.number);
        return refused(format!("plan {own} is not of phase {other}. Fix: name the folder of its own phase"));
    }
    let mut plans = others(path, dir);
    let id = plan.id.clone();
    plans.push(plan);
    let name = dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let (completions, twice) = completions(&plans, &id, dir);
    let phase = Phase { number: id.phase.clone(), name, plans };
    let mut answer = validate_plan(&id, &phase, &completions);
    answer.errors.extend(twice);
    let code = answer.exit_code();
    Ok(Answer::new(view::plan_validation(&answer), code))
}

/// Which plans of other phases are complete, as far as a plan here waits for them, and errors about phase numbers that
/// two folders share.
fn completions(plans: &[Plan], own: &PlanId, dir: &Path) -> (Completions, Vec<String>) {
    let whole = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
    let phases = whole.parent().map(Path::to_owned).unwrap_or_default();
    let wanted: BTreeSet<String> = plans
        .iter()
        .flat_map(|plan| plan.depends_on.iter().chain(&plan.cross_phase_deps))
        .filter_map(|dependency| dependency.phase.clone())
        .filter(|phase| *phase != own.phase)
        .collect();
    let mut folders: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for entry in std::fs::read_dir(&phases).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if let Some(found) = phase_dir(&name).filter(|found| wanted.contains(&found.number)) {
            folders.entry(found.number).or_default().push(entry.path());
        }
    }
    let mut known: BTreeMap<PlanId, bool> = BTreeMap::new();
    let mut twice = Vec::new();
    for (number, dirs) in folders {
        if dirs.len() > 1 {
            twice.push(format!(
                "cross_phase: phase {number} has {} folders. Fix: give one of them another number",
                dirs.len()
            ));
        }
        for found in dirs.iter().filter_map(|dir| tribunal_protocol::documents(dir).ok()) {
            for (_, plan) in &found.plans {
                let complete = found.summary(&plan.id).is_some_and(|(_, summary)| summary.is_complete());
                let entry = known.entry(plan.id.clone()).or_insert(true);
                // Two folders may claim one number: only if both are complete is the dependency satisfied.
                *entry &= complete;
            }
        }
    }
    let mut completions = Completions::default();
    known.into_iter().for_each(|(id, complete)| completions.note(id, complete));
    (completions, twice)
}

/// `generate-contract`: exit code 0, or 1 if there is no plan to make the contract from.
pub fn contract(path: &Path) -> Result<Answer, Failure> {
    let plan = match read(path) {
        Ok(read) => read.value.filter(|plan| plan.has_frontmatter),
        Err(error) => {
            return Ok(Answer::new(view::reason(&format!("cannot read {}: {error}", path.display())), 1));
        }
    };
    let Some(plan) = plan else {
        return Ok(Answer::new(
            view::reason(&format!("{} has no frontmatter that can be read", path.display())),
            1,
        ));
    };
    let ground = ground(Some(path))?;
    let (path, contract) = tribunal_protocol::generate(&ground, &plan)?;
    Ok(Answer::new(view::contract(&path.display().to_string(), &contract), 0))
}

/// `assess-risk`: the exit code is always 0; a plan that cannot be read is a high risk.
pub fn risk(path: &Path) -> Result<Answer, Failure> {
    let Some(plan) = read(path).ok().and_then(|read| read.value).filter(|plan| plan.has_frontmatter) else {
        return Ok(Answer::new(view::risk(Risk::High, 0, &["the plan cannot be read"]), 0));
    };
    let foreign =
        plan.depends_on.iter().filter(|d| d.phase.as_ref().is_some_and(|phase| *phase != plan.id.phase));
    let facts = RiskFacts {
        tasks: plan.tasks.len(),
        files: plan.claimed_files().len(),
        cross_phase: plan.cross_phase_deps.len() + foreign.count(),
        must_haves: plan.must_haves.count(),
    };
    let (risk, score, reasons) = risk_of(facts);
    Ok(Answer::new(view::risk(risk, score, &reasons), 0))
}
