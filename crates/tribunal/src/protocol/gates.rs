//! The gates around a task: asking one, repairing one, and the two steps of a completion. Every answer is an event in
//! the protocol's log, too.
//!
//! The rules are in `tribunal-engine` and `tribunal-core`; this file reads arguments and maps results to exit codes.
//! "Did not run" has a code of its own and is never a pass.

use super::args::{Complete, GateArgs};
use super::{Answer, ground, listed, plan_id, settings};
use crate::failure::Failure;
use serde_json::{Map, Value, json};
use tribunal_core::gate::{Gate, GateResult, GateRuling};
use tribunal_protocol::{Asked, Ground, Repair};
use tribunal_view::protocol as view;
use tribunal_world::Bounds;

/// The settings that gates need.
struct Settings {
    bounds: Bounds,
    autonomy: String,
}

fn of(ground: &Ground) -> Result<Settings, Failure> {
    let config = settings(ground)?;
    let autonomy = config.values.get(&crate::config::Key::new(&["run", "autonomy"]));
    Ok(Settings {
        bounds: Bounds::of(ground.root(), ground.planning(), &config.settings),
        autonomy: autonomy.and_then(|value| value.value.as_str()).unwrap_or_default().to_owned(),
    })
}

fn asked(args: &GateArgs, bounds: Bounds) -> Result<Asked, Failure> {
    Ok(Asked {
        plan: plan_id(&args.phase, &args.plan)?,
        task: task_number(&args.task)?,
        contract: tribunal_protocol::meant(&args.contract),
        bounds,
    })
}

/// The number of a task, which scripts name `1`, `T1` or `01-02-T1`.
pub(super) fn task_number(task: &str) -> Result<u32, Failure> {
    let word = task.rsplit(['T', 't', '-']).next().unwrap_or(task);
    word.parse().map_err(|_| Failure::usage(format!("{task:?} is no task")).hint("give its number, from 1"))
}

/// `hard-gate`: exit code 0 pass, 2 fail, 3 did not run.
pub fn hard_gate(args: &GateArgs) -> Result<Answer, Failure> {
    let ground = ground(None)?;
    let set = of(&ground)?;
    let asked = asked(args, set.bounds)?;
    let ruling = match Gate::parse(&args.gate) {
        Some(gate) => tribunal_protocol::rule(&ground, gate, &asked),
        // A misspelt gate fails like a shut one, with an answer and an event: it is never a pass.
        None => GateRuling::fail(format!("there is no gate {:?}", args.gate)),
    };
    let (event, code) = match ruling.result {
        GateResult::Pass => ("gate_passed", 0),
        GateResult::Fail => ("gate_failed", 2),
        GateResult::DidNotRun => ("gate_did_not_run", 3),
    };
    let data = json!({ "gate": args.gate, "task": asked.task, "evidence": ruling.evidence });
    let ts = note(&ground, event, &asked, data)?;
    Ok(Answer::new(view::gate(&args.gate, &ruling, &set.autonomy, &ts), code))
}

/// Adds an event about a task, and returns its time.
fn note(ground: &Ground, event: &str, asked: &Asked, data: Value) -> Result<String, Failure> {
    let data = match data {
        Value::Object(map) => map,
        _ => Map::new(),
    };
    let (phase, plan) = (&asked.plan.phase, asked.plan.to_string());
    Ok(tribunal_protocol::append(&ground.state(), event, phase, &plan, data)?.ts)
}

/// `auto-repair`: exit code 0 repaired, 2 not. A gate that cannot be repaired is logged with who has to act.
pub fn auto_repair(args: &GateArgs) -> Result<Answer, Failure> {
    let ground = ground(None)?;
    let asked = asked(args, of(&ground)?.bounds)?;
    let gate = Gate::parse(&args.gate);
    let repair = match gate {
        Some(gate) => tribunal_protocol::repair(&ground, gate, &asked),
        None => {
            let reason = format!("there is no gate {:?}", args.gate);
            Repair { repaired: false, attempts: 0, reason }
        }
    };
    if !repair.repaired {
        let (owner, next_action) = gate.map_or(("lead", "correct the gate's name"), Gate::way_out);
        let data = json!({
            "gate": args.gate,
            "task": asked.task,
            "owner": owner,
            "next_action": next_action,
            "attempts": repair.attempts,
            "reason": repair.reason,
        });
        note(&ground, "task_blocked", &asked, data)?;
    }
    let body = view::repair(&args.gate, repair.repaired, repair.attempts, &repair.reason);
    Ok(Answer::new(body, if repair.repaired { 0 } else { 2 }))
}

/// `two-phase-complete`: exit code 0 confirmed, 2 rejected.
///
/// The claim is logged before it is checked, so a rejected or interrupted completion leaves a trace.
pub fn two_phase(args: &Complete) -> Result<Answer, Failure> {
    let ground = ground(None)?;
    let asked = Asked {
        plan: plan_id(&args.phase, &args.plan)?,
        task: 0,
        contract: tribunal_protocol::meant(&args.contract),
        bounds: of(&ground)?.bounds,
    };
    let named = |item: &&String| item.starts_with("files_modified=");
    let declared: Vec<String> =
        args.evidence.iter().filter(named).map(|item| item["files_modified=".len()..].to_owned()).collect();
    // No declaration is not an empty list: without it the files are not compared.
    let files = (!declared.is_empty()).then(|| listed(&ground, &declared));
    let evidence: Vec<String> =
        args.evidence.iter().filter(|item| !named(item)).flat_map(|item| marked(&ground, item)).collect();
    let data = json!({ "task_id": args.task_id, "evidence": evidence, "files_modified": files });
    note(&ground, "task_completed_candidate", &asked, data)?;
    let (passed, failed, errors) =
        tribunal_protocol::complete(&ground, &args.task_id, &asked, &evidence, files.as_deref());
    let confirmed = failed == 0;
    let event = if confirmed { "task_completed_confirmed" } else { "task_completion_rejected" };
    let ts = note(&ground, event, &asked, json!({ "task_id": args.task_id, "errors": errors }))?;
    let body = view::completion(&args.task_id, confirmed, passed, failed, &errors, &ts);
    Ok(Answer::new(body, if confirmed { 0 } else { 2 }))
}

/// The items of a list of evidence. A mark before the list (`test:a,b`) belongs to each item.
fn marked(ground: &Ground, item: &str) -> Vec<String> {
    // A file's name may hold colons and commas.
    if ground.exists(item) {
        return vec![item.to_owned()];
    }
    let is_mark = |mark: &&str| {
        !mark.is_empty() && mark.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
    };
    let mark = item.find([':', '=']).filter(|at| is_mark(&&item[..*at]));
    let (mark, rest) = item.split_at(mark.map_or(0, |at| at + 1));
    listed(ground, &[rest.to_owned()]).into_iter().map(|one| format!("{mark}{one}")).collect()
}
