//! The edits of `.execution-state.json` that scripts of the protocol make (`update-exec-state`), each as one atomic
//! change under a lock. Keys that are not known here are kept.
//!
//! The file belongs to the scripts; Tribunal only helps them to change it without losing each other's edits. A broken
//! file is reported and left as it is, so that nothing of a person's is overwritten.

use crate::{Folder, Ground, ProtocolError, STATE};
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use tribunal_docs::PlanId;

const LOCK: &str = ".locks/state.lock";
/// The lists that `+=` adds to.
const LISTS: [&str; 3] = ["findings_per_cycle", "failed_checks_per_cycle", "steps_completed"];
/// Keys of the phase that may be set; any other key only if the state has it already.
const PHASE: [&str; 8] = [
    "phase",
    "phase_name",
    "status",
    "started_at",
    "wave",
    "total_waves",
    "correlation_id",
    "steps_completed",
];
/// Keys of a loop of a plan.
const LOOP: [&str; 5] = ["cycle", "max", "status", "findings_per_cycle", "failed_checks_per_cycle"];
/// The statuses of a plan; those of a phase follow.
const PLAN_STATUS: [&str; 4] = ["pending", "running", "complete", "failed"];
const PHASE_STATUS: [&str; 4] = ["running", "awaiting_approval", "complete", "failed"];

/// Applies KEY=VALUE and KEY+=VALUE. `status` is the plan's, `review_loops.…` and `qa_loops.…` are its loops', anything
/// else is the phase's. Returns the file and the plan; the plan is empty for a change of the phase.
///
/// All changes are applied or none: the file is written after the last one fits. The inner error says why the state or
/// a change makes no sense.
pub fn update_execution_state(
    ground: &Ground,
    plan: &str,
    changes: &[String],
) -> Result<Result<(PathBuf, String), String>, ProtocolError> {
    let folder = ground.state();
    // Before the read: the change is made to what the file holds under the lock.
    let _guard = folder.lock(LOCK)?;
    let mut state = match read(&folder)? {
        Ok(state) => state,
        Err(why) => return Ok(Err(why)),
    };
    let phase = state.get("phase").map(|phase| phase.as_str().map_or(phase.to_string(), str::to_owned));
    let id = match plan {
        // Both words are used by scripts for a change of the phase itself.
        "-" | "phase" => String::new(),
        plan => match known(ground, &state, plan, phase.as_deref()) {
            Some(id) => id.to_string(),
            None => return Ok(Err(format!("there is no plan {plan:?}"))),
        },
    };
    if let Some(why) = changes.iter().find_map(|change| apply(&mut state, &id, change).err()) {
        return Ok(Err(why));
    }
    let mut text = serde_json::to_vec_pretty(&state).unwrap_or_default();
    text.push(b'\n');
    folder.write(STATE, &text)?;
    Ok(Ok((folder.path(STATE), id)))
}

/// The plan that an argument names, if the state lists it or it has a document.
///
/// A bare number belongs to the state's phase. Without one, it belongs to the only phase with such a plan; if several
/// have it, there is no answer.
fn known(ground: &Ground, state: &Map<String, Value>, plan: &str, phase: Option<&str>) -> Option<PlanId> {
    let argument = tribunal_docs::plan_argument(plan)?;
    let Some(phase) = argument.phase.as_deref().or(phase) else {
        let named = ground.phases().into_iter().map(|phase| PlanId::new(&phase, plan));
        let mut found = named.filter(|id| ground.plan(id).is_some());
        return found.next().filter(|_| found.next().is_none());
    };
    let id = PlanId::new(phase, plan);
    let listed = state.get("plans").and_then(Value::as_array).into_iter().flatten();
    let mut listed = listed.filter_map(|entry| entry.get("id")?.as_str());
    (listed.any(|known| known == id.to_string()) || ground.plan(&id).is_some()).then_some(id)
}

/// The state as it is. A missing file is an empty state; a broken one is an error and is left alone.
fn read(folder: &Folder) -> Result<Result<Map<String, Value>, String>, ProtocolError> {
    let Some(bytes) = folder.read(STATE)? else { return Ok(Ok(Map::new())) };
    let path = folder.path(STATE);
    Ok(match serde_json::from_slice(&bytes) {
        Ok(Value::Object(state)) => Ok(state),
        Ok(_) => Err(format!("{} is no JSON object", path.display())),
        Err(error) => Err(format!("{} is broken: {error}", path.display())),
    })
}

fn apply(state: &mut Map<String, Value>, plan: &str, change: &str) -> Result<(), String> {
    let (key, value) = change.split_once('=').ok_or_else(|| format!("{change:?} is not KEY=VALUE"))?;
    let (key, adds) = key.strip_suffix('+').map_or((key, false), |key| (key, true));
    let parts: Vec<&str> = key.split('.').collect();
    let value = typed(value);
    match (plan.is_empty(), parts.as_slice()) {
        (false, ["status" | "wave" | "title"]) => {
            fits(key, &value, adds, &PLAN_STATUS)?;
            plan_entry(state, plan)?.insert(key.to_owned(), value);
            Ok(())
        }
        (false, [loops @ ("review_loops" | "qa_loops"), field]) if LOOP.contains(field) => {
            fits(field, &value, adds, &[])?;
            set(object(object(state, loops)?, plan)?, field, value, adds)
        }
        // A key that the state already has may be changed: the scripts of a project may keep keys of their own.
        (_, [field])
            if PHASE.contains(field) || state.get(*field).is_some_and(|there| !there.is_object()) =>
        {
            fits(field, &value, adds, &PHASE_STATUS)?;
            set(state, field, value, adds)
        }
        _ => Err(format!("there is no key {key:?} to set")),
    }
}

/// Checks that a value can be the key's, or one of its list.
fn fits(key: &str, value: &Value, adds: bool, statuses: &[&str]) -> Result<(), String> {
    let is_plan = |entry: &Value| entry.get("id").is_some_and(Value::is_string);
    let good = match (key, adds) {
        ("status", false) => {
            value.as_str().is_some_and(|word| statuses.is_empty() || statuses.contains(&word))
        }
        ("wave" | "total_waves" | "cycle" | "max", false) => value.is_u64(),
        ("status" | "wave" | "total_waves" | "cycle" | "max" | "title", true) => {
            return Err(format!("{key} is no list"));
        }
        ("plans", true) => is_plan(value),
        ("plans", false) => value.as_array().is_some_and(|plans| plans.iter().all(is_plan)),
        (key, false) if LISTS.contains(&key) => value.is_array(),
        _ => true,
    };
    let one_of = match (key, statuses.is_empty()) {
        ("status", false) => format!(": one of {}", statuses.join(", ")),
        _ => String::new(),
    };
    if good { Ok(()) } else { Err(format!("{value} is no {key}{one_of}")) }
}

/// The value as JSON if it is JSON, otherwise as text.
fn typed(value: &str) -> Value {
    match serde_json::from_str::<Value>(value) {
        // `01` and `1.10` are names of phases and plans. As numbers they would lose their zeros.
        Ok(Value::Number(number)) if number.to_string() != value => value.into(),
        Ok(parsed) => parsed,
        Err(_) => value.into(),
    }
}

fn set(map: &mut Map<String, Value>, field: &str, value: Value, adds: bool) -> Result<(), String> {
    if !adds {
        map.insert(field.to_owned(), value);
        return Ok(());
    }
    match map.entry(field).or_insert_with(|| Value::Array(Vec::new())) {
        Value::Array(list) => list.push(value),
        // The protocol knows this key as a list; anything else that stood there is replaced.
        _ if LISTS.contains(&field) => _ = map.insert(field.to_owned(), Value::Array(vec![value])),
        _ => return Err(format!("{field} is no list")),
    }
    Ok(())
}

fn object<'a>(map: &'a mut Map<String, Value>, key: &str) -> Result<&'a mut Map<String, Value>, String> {
    let entry = map.entry(key).or_insert_with(|| Value::Object(Map::new()));
    entry.as_object_mut().ok_or_else(|| format!("{key} is no object"))
}

/// The entry of a plan in `plans`, made if it is missing.
fn plan_entry<'a>(
    state: &'a mut Map<String, Value>,
    plan: &str,
) -> Result<&'a mut Map<String, Value>, String> {
    let plans = state.entry("plans").or_insert_with(|| Value::Array(Vec::new()));
    let plans = plans.as_array_mut().ok_or("plans is no list")?;
    let is_it = |entry: &Value| entry.get("id").and_then(Value::as_str) == Some(plan);
    let at = match plans.iter().position(is_it) {
        Some(at) => at,
        None => {
            plans.push(json!({ "id": plan, "status": "pending" }));
            plans.len() - 1
        }
    };
    plans[at].as_object_mut().ok_or_else(|| format!("the entry of {plan} is no object"))
}
