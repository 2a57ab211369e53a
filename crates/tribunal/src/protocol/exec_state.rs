//! `update-exec-state`: the edits of `.execution-state.json` that scripts of the protocol make, as one atomic change
//! under a lock. Keys it does not know are kept.

use super::{Answer, ground};
use crate::failure::Failure;
use serde_json::{Map, Value, json};
use tribunal_docs::PlanId;
use tribunal_engine::gates::{self, Folder};

const LOCK: &str = ".locks/state.lock";
/// Lists that `+=` adds to.
const LISTS: [&str; 3] = ["findings_per_cycle", "failed_checks_per_cycle", "steps_completed"];

/// Applies KEY=VALUE and KEY+=VALUE: `status` is the plan's, `review_loops.…` and `qa_loops.…` are its loops', anything
/// else is the phase's. 0, or 1 when the state or a change makes no sense.
pub fn run(plan: &str, changes: &[String]) -> Result<Answer, Failure> {
    let ground = ground(None)?;
    let folder = ground.state();
    let _guard = folder.lock(LOCK)?;
    let mut state = match read(&folder)? {
        Ok(state) => state,
        Err(why) => return Ok(Answer::new(json!({ "error": why }), 1)),
    };
    let phase = state.get("phase").map(|phase| phase.as_str().map_or(phase.to_string(), str::to_owned));
    let id = match plan {
        "-" | "phase" => String::new(),
        plan => PlanId::new(&plan_phase(plan).or(phase).unwrap_or_default(), plan).to_string(),
    };
    for change in changes {
        if let Err(why) = apply(&mut state, &id, change) {
            return Ok(Answer::new(json!({ "error": why }), 1));
        }
    }
    let mut text = serde_json::to_vec_pretty(&state).map_err(Failure::bug)?;
    text.push(b'\n');
    folder.write(gates::STATE, &text)?;
    let path = folder.path(gates::STATE).display().to_string();
    Ok(Answer::new(json!({ "path": path, "plan": id, "changes": changes.len() }), 0))
}

fn plan_phase(plan: &str) -> Option<String> {
    tribunal_docs::plan_argument(plan)?.phase
}

/// The state as it is; a missing one is empty, a broken one is left alone.
fn read(folder: &Folder) -> Result<Result<Map<String, Value>, String>, Failure> {
    let Some(bytes) = folder.read(gates::STATE)? else { return Ok(Ok(Map::new())) };
    let path = folder.path(gates::STATE);
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
        (false, ["status" | "wave" | "title"]) => plan_entry(state, plan)?.insert(key.to_owned(), value),
        (false, [loops @ ("review_loops" | "qa_loops"), field]) => {
            let entry = object(object(state, loops)?, plan)?;
            return set(entry, field, value, adds);
        }
        (_, [field]) if !field.is_empty() => return set(state, field, value, adds),
        _ => return Err(format!("there is no key {key:?} to set")),
    };
    Ok(())
}

/// JSON where it is JSON, otherwise the text itself; a plan's number is never made a float.
fn typed(value: &str) -> Value {
    match serde_json::from_str::<Value>(value) {
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
        _ if LISTS.contains(&field) => _ = map.insert(field.to_owned(), Value::Array(vec![value])),
        _ => return Err(format!("{field} is no list")),
    }
    Ok(())
}

fn object<'a>(map: &'a mut Map<String, Value>, key: &str) -> Result<&'a mut Map<String, Value>, String> {
    let entry = map.entry(key).or_insert_with(|| Value::Object(Map::new()));
    entry.as_object_mut().ok_or_else(|| format!("{key} is no object"))
}

/// A plan's own entry in `plans`, made if it is missing.
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
