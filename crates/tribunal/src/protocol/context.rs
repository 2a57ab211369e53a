//! `compile-context` and `token-budget`: write a role's context in its three tiers, and cut a text to its budget.
//!
//! The tiers go from shared to particular, so that agents of one family begin with the same text. Budgets only advise:
//! a text is cut and an event is written, but nothing stops because of them.

use super::{Answer, ground, plan, plan_id};
use crate::exit::Done;
use crate::failure::Failure;
use crate::out;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use tribunal_core::tables;
use tribunal_docs::{Plan, PlanId, phase_goal, roadmap_section};
use tribunal_protocol::{Folder, Ground};
use tribunal_view::context::{Material, Part, compile, family, held_to};
use tribunal_view::protocol as view;
use tribunal_world::read_plain;

const LOCK: &str = ".locks/tokens.lock";

/// `compile-context`: exit code 0, or 1 if there is no such folder or plan.
pub fn compiled(phase: &str, role: &str, dir: &Path, plan_path: Option<&Path>) -> Result<Answer, Failure> {
    let role = &role.to_ascii_lowercase();
    if tables::turns_base(role).is_none() {
        let hint = "one of scout, qa, architect, debugger, lead, dev, docs, researcher, reviewer";
        return Err(Failure::usage(format!("{role:?} is no role")).hint(hint));
    }
    let number =
        tribunal_docs::plan_argument(phase).map(|argument| argument.phase.unwrap_or(argument.number));
    let Some(number) = number else {
        return Err(Failure::usage(format!("{phase:?} is no phase")).hint("give its number: 1 or 01"));
    };
    let refused = |why: String| Ok(Answer::new(json!({ "error": why }), 1));
    if !dir.is_dir() {
        return refused(format!("{} is no folder", dir.display()));
    }
    // A context of another phase would be believed by the agent that reads it, so a mismatch is refused.
    if let Some(other) = of_folder(dir).filter(|other| *other != number) {
        return refused(format!("{} is the folder of phase {other}, not {number}", dir.display()));
    }
    let ground = ground(Some(dir))?;
    let plan = match plan_path {
        None => None,
        Some(path) => match plan_at(path, dir, &number) {
            Some(plan) => Some(plan),
            None => return refused(format!("there is no plan {} that can be read", path.display())),
        },
    };
    let material = material(&ground, &number, role, dir, plan.as_ref());
    let found = compile(role, &number, &material, budget(role, plan.as_ref()));
    let name = format!(".context-{role}.md");
    let folder = Folder::new(dir);
    folder.write(&name, found.text.as_bytes())?;
    let body = json!({
        "path": folder.path(&name).display().to_string(),
        "role": role,
        "family": family(role),
        "tokens": { "tier1": found.tokens[0], "tier2": found.tokens[1], "tier3": found.tokens[2] },
        "cut": found.cut,
    });
    Ok(Answer::new(body, 0))
}

/// The phase number in a folder's name.
fn of_folder(dir: &Path) -> Option<String> {
    // Scripts pass `.`, which has no name.
    let whole = std::path::absolute(dir).ok()?;
    Some(tribunal_docs::phase_dir(&whole.file_name()?.to_string_lossy())?.number)
}

/// A plan by its file, or by its number in the phase's folder.
fn plan_at(path: &Path, dir: &Path, phase: &str) -> Option<Plan> {
    if let Some(plan) = plan::read(path).ok().and_then(|read| read.value) {
        return Some(plan);
    }
    let argument = tribunal_docs::plan_argument(path.to_str()?)?;
    let id = PlanId::new(argument.phase.as_deref().unwrap_or(phase), &argument.number);
    let found = tribunal_protocol::documents(dir).ok()?.plans;
    found.into_iter().map(|(_, plan)| plan).find(|plan| plan.id == id)
}

fn budget(role: &str, plan: Option<&Plan>) -> u64 {
    let Some(plan) = plan else { return tables::tokens_base(role) };
    let contract = tribunal_docs::contract_of(plan);
    let score = tables::task_score(
        contract.must_haves.len(),
        contract.allowed_paths.len(),
        contract.depends_on.len(),
    );
    tables::tokens_for(role, score)
}

fn material(ground: &Ground, phase: &str, role: &str, dir: &Path, plan: Option<&Plan>) -> Material {
    let planning = |name: &str| ground.text(&format!("{}/{name}", ground.planning()));
    let section = planning("ROADMAP.md").and_then(|text| roadmap_section(&text, phase)).unwrap_or_default();
    let mut tail = Vec::new();
    let mut add = |name: String, text: Option<String>| {
        tail.extend(text.filter(|text| !text.trim().is_empty()).map(|text| Part { name, text }));
    };
    if let Some(plan) = plan {
        add(
            format!("Plan {}: {}", plan.id, plan.title.as_deref().unwrap_or_default()),
            Some(plan.body.clone()),
        );
        for skill in &plan.skills_used {
            add(format!("Skill {skill}"), skill_text(ground, skill));
        }
    }
    // The order of the parts is their importance: what comes last is cut first.
    add("Phase".to_owned(), Some(section.clone()));
    let context = read_plain(&dir.join(format!("{phase}-CONTEXT.md"))).ok();
    add("Phase context".to_owned(), context.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()));
    for (name, text) in research(dir) {
        add(format!("Research {name}"), Some(text));
    }
    add("State".to_owned(), planning("STATE.md"));
    let (shared, own) = tribunal_world::tiers(ground.root(), ground.planning(), family(role));
    Material {
        shared,
        family: own,
        goal: phase_goal(&section).unwrap_or_default(),
        must_haves: plan.map(|plan| plan.must_haves.entries()).unwrap_or_default(),
        tail,
    }
}

/// The research documents of the phase (`RESEARCH.md` and `NN-RESEARCH.md`), sorted by name.
fn research(dir: &Path) -> Vec<(String, String)> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> =
        names.filter(|name| name == "RESEARCH.md" || name.ends_with("-RESEARCH.md")).collect();
    names.sort();
    let read = |name: String| {
        let bytes = read_plain(&dir.join(&name)).ok()?;
        Some((name, String::from_utf8_lossy(&bytes).into_owned()))
    };
    names.into_iter().filter_map(read).collect()
}

/// The text of a skill: the project's, otherwise the user's.
///
/// The name comes from a plan, so a name that is a path is refused. It could read any file of the user's into a prompt.
fn skill_text(ground: &Ground, skill: &str) -> Option<String> {
    if skill.is_empty() || skill.starts_with('.') || skill.contains(['/', '\\', '\0']) {
        return None;
    }
    // The project's own skill wins over one of the same name of the user's.
    let own =
        ["skills", ".claude/skills"].iter().find_map(|dir| ground.text(&format!("{dir}/{skill}/SKILL.md")));
    own.or_else(|| {
        let home = PathBuf::from(std::env::var_os("HOME")?);
        let bytes = read_plain(&home.join(".claude/skills").join(skill).join("SKILL.md")).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    })
}

/// A budget in tokens: the role's own, or the task's by its contract, less what the plan overran before.
struct Budget {
    tokens: u64,
    source: &'static str,
    plan: Option<(PlanId, u64)>,
}

/// `token-budget`: within the budget JSON goes to stdout; beyond it the cut text goes to stdout and JSON to stderr. The
/// exit code is 0 in both cases.
pub fn held(role: &str, file: &Path, contract: Option<&Path>, task: Option<u32>) -> Result<Done, Failure> {
    let bytes = match read_plain(file) {
        Ok(bytes) => bytes,
        // Scripts write stdout back into the file unless it begins with a brace. An empty answer would empty their
        // file.
        Err(error) => {
            let why = format!("cannot read {}: {error}", file.display());
            return super::print("token-budget", Answer::new(view::reason(&why), 2));
        }
    };
    let text = String::from_utf8_lossy(&bytes);
    let ground = ground(Some(file))?;
    // Held over reading and writing the state: two tasks of one plan that overrun at once must both count.
    let _guard = contract.map(|_| ground.state().lock(LOCK)).transpose()?;
    let (budget, fallback) = budget_of(&ground, role, contract)?;
    let tokens = tables::tokens_of(&text);
    let mut body = json!({
        "ok": true,
        "cmd": "token-budget",
        "role": role,
        "budget": budget.tokens,
        "budget_source": budget.source,
        "tokens": tokens,
        "within": tokens <= budget.tokens,
        "result": if tokens <= budget.tokens { "within_budget" } else { "truncated" },
    });
    if let Some(why) = fallback {
        body["reason"] = why.into();
    }
    let Some((cut, lines)) = held_to(&text, budget.tokens) else {
        out::json(&body)?;
        return Ok(Done::Passed);
    };
    body["lines_cut"] = lines.into();
    overran(&ground, role, task, lines, &budget)?;
    out::data(&cut)?;
    out::say(&body.to_string());
    Ok(Done::Passed)
}

/// The budget, and a reason if it is not the task's although a contract was named.
fn budget_of(
    ground: &Ground,
    role: &str,
    contract: Option<&Path>,
) -> Result<(Budget, Option<String>), Failure> {
    let Some(path) = contract else {
        return Ok((Budget { tokens: tables::tokens_base(role), source: "role", plan: None }, None));
    };
    // A contract that is missing or cannot be believed costs the task its own budget and nothing more.
    let contract = match tribunal_protocol::load(&tribunal_protocol::meant(path)) {
        Ok(contract) => contract,
        Err(error) => {
            let budget = Budget { tokens: tables::tokens_base(role), source: "role", plan: None };
            return Ok((budget, Some(error.to_string())));
        }
    };
    let score = tables::task_score(
        contract.must_haves.len(),
        contract.allowed_paths.len(),
        contract.depends_on.len(),
    );
    let scaled = tables::tokens_for(role, score);
    let id = plan_id(&contract.phase_id, &contract.plan_id)?;
    let state = ground.state().read(&tribunal_protocol::token_state(&id.to_string())?)?;
    // A broken state counts as none: the budget is advisory.
    let state: Value = state.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    let remaining = state.get("remaining").and_then(Value::as_u64).unwrap_or(scaled);
    Ok((Budget { tokens: scaled.min(remaining), source: "task", plan: Some((id, remaining)) }, None))
}

/// Records an overrun as an event, and lowers what the plan has left. It is advisory: nothing stops.
fn overran(
    ground: &Ground,
    role: &str,
    task: Option<u32>,
    lines: usize,
    budget: &Budget,
) -> Result<(), Failure> {
    let (phase, plan) = match &budget.plan {
        Some((id, _)) => (id.phase.clone(), id.to_string()),
        None => Default::default(),
    };
    let data = |value: Value| value.as_object().cloned().unwrap_or_else(Map::new);
    let over =
        json!({ "role": role, "lines_truncated": lines, "budget_source": budget.source, "task": task });
    tribunal_protocol::append(&ground.state(), "token_overage", &phase, &plan, data(over))?;
    if let Some((_, remaining)) = &budget.plan {
        let left = tables::tokens_after_overage(*remaining);
        let state = json!({ "plan": plan, "remaining": left });
        ground.state().write(&tribunal_protocol::token_state(&plan)?, state.to_string().as_bytes())?;
        let capped = json!({ "role": role, "task": task, "remaining": left });
        tribunal_protocol::append(&ground.state(), "token_cap_escalated", &phase, &plan, data(capped))?;
    }
    Ok(())
}
