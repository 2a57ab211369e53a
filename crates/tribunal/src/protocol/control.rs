//! `control-plane`: calls the other commands in the order in which a task needs them, and reports what each answered.
//!
//! It has no logic of its own. A rule belongs into the command it calls, or the command alone and the sequence would
//! answer differently.

use super::args::{Control, ControlAction, GateArgs, Lease, LeaseAction};
use super::gates::task_number;
use super::{Answer, context, gates, ground, leases, plan, plan_id};
use crate::failure::Failure;
use serde_json::{Value, json};
use std::path::PathBuf;
use tribunal_docs::task_id;
use tribunal_protocol::Ground;

/// The steps so far, and whether one of them failed.
#[derive(Default)]
struct Steps {
    list: Vec<Value>,
    failed: bool,
}

impl Steps {
    /// Records what a command answered, and passes the answer on.
    fn note(&mut self, name: &str, answer: Result<Answer, Failure>) -> Option<Answer> {
        let (status, evidence) = match &answer {
            Ok(answer) => {
                let word = |key: &str| answer.body.get(key).and_then(Value::as_str).map(str::to_owned);
                let said = ["evidence", "error", "reason", "result", "path"].iter().find_map(|key| word(key));
                let status = match answer.code {
                    0 => "pass",
                    // The protocol's code for a check that could not run; it is kept apart, because it says nothing
                    // about the work.
                    3 => "did_not_run",
                    _ => "fail",
                };
                (status, said.unwrap_or_default())
            }
            Err(failure) => ("did_not_run", failure.message.clone()),
        };
        self.add(name, status, &evidence);
        answer.ok()
    }

    fn add(&mut self, name: &str, status: &str, evidence: &str) {
        // A step that did not run has not passed.
        self.failed |= status != "pass";
        self.list.push(json!({ "name": name, "status": status, "evidence": evidence }));
    }
}

/// Where the documents and files of one task are.
struct Task<'a> {
    args: &'a Control,
    plan: Option<PathBuf>,
    contract: PathBuf,
    id: String,
    /// The number of its phase: `01`.
    phase: String,
    /// The files it takes: those named, otherwise those of its plan.
    files: Vec<String>,
}

/// Runs the steps of one action. Exit code 0, or 2 if a step failed or did not run.
pub fn run(args: &Control) -> Result<Answer, Failure> {
    let ground = ground(args.plan_path.as_deref())?;
    let task = task(args, &ground)?;
    let mut steps = Steps::default();
    let (mut contract_path, mut context_path) = (Value::Null, Value::Null);
    let path = |answer: Option<Answer>| answer.and_then(|mut a| a.body.remove("path")).unwrap_or_default();
    if args.action == ControlAction::Full {
        contract_path = path(steps.note("generate-contract", contract(&task)));
    }
    match args.action {
        ControlAction::Full | ControlAction::Compile => {
            context_path = path(steps.note("compile-context", compiled(&task, &ground)));
        }
        ControlAction::PreTask => before(&task, &mut steps),
        ControlAction::PostTask => {
            for gate in ["required_checks", "commit_hygiene"] {
                steps.note(gate, gates::hard_gate(&gate_args(&task, gate)));
            }
            steps.note("lease", leases::run(&lease(&task, LeaseAction::Release), true));
        }
    }
    let action = match args.action {
        ControlAction::Full => "full",
        ControlAction::PreTask => "pre-task",
        ControlAction::PostTask => "post-task",
        ControlAction::Compile => "compile",
    };
    let body = json!({
        "action": action,
        "steps": steps.list,
        "contract_path": contract_path,
        "context_path": context_path,
    });
    Ok(Answer::new(body, if steps.failed { 2 } else { 0 }))
}

/// The gates before a task. Files are leased only for a task that its contract knows, and kept only while every gate is
/// open.
///
/// A lease that outlives a refused task would block its siblings until it expires, so it is given back at once.
fn before(task: &Task<'_>, steps: &mut Steps) {
    steps.note("contract_compliance", gates::hard_gate(&gate_args(task, "contract_compliance")));
    let taken = match (steps.failed, task.files.is_empty()) {
        (true, _) => {
            steps.add("lease", "did_not_run", "no files are taken: contract_compliance is not open");
            false
        }
        // Checked after the gate: a task without files needs no lease, but still has to be in the contract.
        (_, true) => {
            steps.add("lease", "pass", "the task claims no files");
            false
        }
        _ => {
            let answer = steps.note("lease", leases::run(&lease(task, LeaseAction::Acquire), true));
            answer.is_some_and(|answer| answer.code == 0)
        }
    };
    steps.note("protected_file", gates::hard_gate(&gate_args(task, "protected_file")));
    if steps.failed && taken {
        steps.note("lease", leases::run(&lease(task, LeaseAction::Release), true));
    }
}

fn task<'a>(args: &'a Control, ground: &Ground) -> Result<Task<'a>, Failure> {
    let id = plan_id(&args.phase, &args.plan)?;
    let found = match &args.plan_path {
        None => ground.plan(&id),
        Some(path) => {
            let read = plan::read(path)
                .map_err(|error| Failure::usage(format!("cannot read {}: {error}", path.display())))?;
            read.value.map(|plan| (path.clone(), plan))
        }
    };
    let number = task_number(&args.task)?;
    let claimed = || {
        let (_, plan) = found.as_ref()?;
        let task = plan.tasks.iter().find(|task| task.number == number)?;
        Some(task.files.iter().map(|file| file.path.clone()).collect())
    };
    let files = match args.claimed_files.is_empty() {
        true => claimed().unwrap_or_default(),
        false => args.claimed_files.clone(),
    };
    Ok(Task {
        args,
        files,
        phase: id.phase.clone(),
        plan: args.plan_path.clone().or(found.map(|(path, _)| path)),
        contract: ground.state().path(&format!(".contracts/{id}.json")),
        id: args.task_id.clone().unwrap_or_else(|| task_id(&id, number)),
    })
}

fn contract(task: &Task<'_>) -> Result<Answer, Failure> {
    match &task.plan {
        Some(path) => plan::contract(path),
        None => Err(Failure::work(format!("there is no plan {}-{}", task.args.phase, task.args.plan))),
    }
}

fn compiled(task: &Task<'_>, ground: &Ground) -> Result<Answer, Failure> {
    let own = task.args.phase_dir.clone();
    let of_plan = || task.plan.as_ref().and_then(|plan| plan.parent()).map(PathBuf::from);
    let dir = own.or_else(of_plan).or_else(|| ground.phase_dirs(&task.phase).into_iter().next());
    let dir = dir.ok_or_else(|| Failure::work(format!("there is no phase {}", task.args.phase)))?;
    context::compiled(&task.args.phase, &task.args.role, &dir, task.plan.as_deref())
}

fn gate_args(task: &Task<'_>, gate: &str) -> GateArgs {
    GateArgs {
        gate: gate.to_owned(),
        phase: task.args.phase.clone(),
        plan: task.args.plan.clone(),
        task: task.args.task.clone(),
        contract: task.contract.clone(),
    }
}

fn lease(task: &Task<'_>, action: LeaseAction) -> Lease {
    // After a task everything it holds is given back, whichever files are named.
    let files = match task.args.action {
        ControlAction::PostTask => Vec::new(),
        _ => task.files.clone(),
    };
    Lease { action, task_id: Some(task.id.clone()), ttl: None, owner: None, files }
}
