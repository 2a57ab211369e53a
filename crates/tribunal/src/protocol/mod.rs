//! The protocol's commands: each gathers its facts through the engine's gates, lets core and docs decide, and prints one
//! JSON object. They keep no logic of their own and load nothing they do not need.

pub mod args;
mod artifacts;
mod context;
mod control;
mod docs;
mod events;
mod exec_state;
mod gates;
mod leases;
mod messages;
mod plan;
mod planning;
mod qa;
mod tables;

use crate::args::{Globals, SetArgs};
use crate::config::{self, Config};
use crate::exit::Done;
use crate::failure::Failure;
use crate::out;
use crate::place::Place;
use args::Protocol;
use serde_json::{Map, Value};
use std::path::Path;
use tribunal_docs::PlanId;
use tribunal_world::gates::{GatesError, Ground};

pub use docs::run as docs;

/// What a command answers: an object and an exit code.
pub struct Answer {
    body: Map<String, Value>,
    code: u8,
}

impl Answer {
    /// An object; `ok` is whether the code is 0 unless the object says otherwise.
    fn new(body: Value, code: u8) -> Answer {
        let mut body = match body {
            Value::Object(map) => map,
            other => Map::from_iter([("value".to_owned(), other)]),
        };
        body.entry("ok").or_insert(Value::Bool(code == 0));
        Answer { body, code }
    }
}

impl From<GatesError> for Failure {
    fn from(error: GatesError) -> Failure {
        Failure::work(error)
    }
}

impl From<tribunal_git::GitError> for Failure {
    fn from(error: tribunal_git::GitError) -> Failure {
        match error {
            tribunal_git::GitError::NoSuch { .. } => Failure::usage(error),
            other => Failure::work(other),
        }
    }
}

/// Prints the list of commands.
pub fn list() -> Result<Done, Failure> {
    out::data(args::LIST)?;
    Ok(Done::Passed)
}

/// Runs a command of the protocol.
pub fn run(globals: &Globals, command: Protocol) -> Result<Done, Failure> {
    let (name, answer) = match command {
        Protocol::ReviewPlan { plan, phase_dir } => {
            ("review-plan", plan::review(&plan, phase_dir.as_deref()))
        }
        Protocol::ValidatePlan { plan, phase_dir } => ("validate-plan", plan::validate(&plan, &phase_dir)),
        Protocol::GenerateContract { plan } => ("generate-contract", plan::contract(&plan)),
        Protocol::AssessRisk { plan } => ("assess-risk", plan::risk(&plan)),
        Protocol::VerifyPlanCompletion { summary, plan } => {
            ("verify-plan-completion", qa::completion(&summary, &plan))
        }
        Protocol::CommitLint { range } => ("commit-lint", qa::lint(&range)),
        Protocol::DiffAgainstPlan { summary, commits } => ("diff-against-plan", qa::diff(&summary, &commits)),
        Protocol::ValidateRequirements { plan, phase_dir } => {
            ("validate-requirements", qa::requirements(&plan, &phase_dir))
        }
        Protocol::CheckRegression { phase_dir, base } => {
            ("check-regression", qa::regression(&phase_dir, base.as_deref()))
        }
        Protocol::QaSuite(args) => ("qa-suite", qa::suite(&args)),
        Protocol::HardGate(args) => ("hard-gate", gates::hard_gate(&args)),
        Protocol::AutoRepair(args) => ("auto-repair", gates::auto_repair(&args)),
        Protocol::TwoPhaseComplete(args) => ("two-phase-complete", gates::two_phase(&args)),
        Protocol::LeaseLock(args) => ("lease-lock", leases::run(&args, true)),
        Protocol::LockLite(args) => ("lock-lite", leases::run(&args, false)),
        Protocol::ArtifactRegistry { action, args } => ("artifact-registry", artifacts::run(action, &args)),
        Protocol::GatePolicy { effort, risk, autonomy } => {
            ("gate-policy", tables::gate_policy(&effort, &risk, &autonomy))
        }
        Protocol::ControlPlane(args) => ("control-plane", control::run(&args)),
        Protocol::CompileContext { phase, role, phase_dir, plan } => {
            ("compile-context", context::compiled(&phase, &role, &phase_dir, plan.as_deref()))
        }
        Protocol::ValidateMessage => ("validate-message", messages::validate()),
        Protocol::LogEvent { r#type, phase, rest } => ("log-event", events::log(&r#type, &phase, &rest)),
        Protocol::PlanningGit { action, args } => ("planning-git", planning::run(action, &args)),
        Protocol::SuggestNext { cmd, result } => ("suggest-next", planning::suggest(&cmd, result.as_deref())),
        Protocol::UpdateExecState { plan, changes } => {
            ("update-exec-state", exec_state::run(&plan, &changes))
        }
        Protocol::TokenBudget { role, file, contract, task } => {
            return context::held(&role, &file, contract.as_deref(), task);
        }
        Protocol::MetricsReport { phase } => return events::metrics(globals.json, phase.as_deref()),
        Protocol::ResolveModel(args) => return tables::model(&args),
        Protocol::ResolveTurns { role, config, effort } => {
            return tables::turns(&role, &config, effort.as_deref());
        }
    };
    print(name, answer?)
}

/// The name of the program that the protocol was written for.
const ORIGINAL: &str = "yolo";

/// Whether the program was started under the original's name, as by a link in its place.
fn is_original() -> bool {
    let name = std::env::args_os().next();
    name.as_deref().map(Path::new).and_then(Path::file_name).is_some_and(|name| name == ORIGINAL)
}

/// What the original's own prompts expect of four commands: a path and a word that stand alone, and a verdict in the
/// object alone. Their lines go `… || echo '{"valid":true}'`, so that an exit code would turn a refusal into a pass.
fn as_original(name: &str, answer: &mut Answer) -> Option<String> {
    let word = |key: &str| answer.body.get(key).and_then(Value::as_str).map(str::to_owned);
    match name {
        "generate-contract" => word("path"),
        "assess-risk" => word("risk"),
        "validate-message" | "control-plane" => {
            answer.code = 0;
            None
        }
        _ => None,
    }
}

/// Prints an answer under its command's name.
fn print(name: &str, mut answer: Answer) -> Result<Done, Failure> {
    if is_original()
        && let Some(bare) = as_original(name, &mut answer)
    {
        out::data(&bare)?;
        return Ok(Done::Answer(answer.code));
    }
    answer.body.insert("cmd".to_owned(), name.into());
    if is_original() {
        // Its scripts look for `"verdict":"approve"`, and at the last line.
        out::data(&Value::Object(answer.body).to_string())?;
        return Ok(Done::Answer(answer.code));
    }
    out::json(&answer.body)?;
    Ok(Done::Answer(answer.code))
}

/// The project a path lies in, otherwise the one we stand in.
fn ground(near: Option<&Path>) -> Result<Ground, Failure> {
    let dir = near.map(|path| if path.is_dir() { path } else { path.parent().unwrap_or(path) });
    let dir = dir.map(|dir| if dir.as_os_str().is_empty() { Path::new(".") } else { dir });
    let found = dir.and_then(Ground::around).or_else(|| Ground::around(Path::new(".")));
    found.ok_or_else(|| {
        Failure::usage("there is no git repository and no planning folder around here")
            .hint("change to your project, or name it with -C DIR")
    })
}

/// The project's settings.
fn settings(ground: &Ground) -> Result<Config, Failure> {
    config::here(Some(&Place { root: ground.root().to_owned() }), &SetArgs::default())
}

/// A plan as two arguments name it.
fn plan_id(phase: &str, plan: &str) -> Result<PlanId, Failure> {
    let id = PlanId::new(phase, plan);
    let strange = |part: &str| part.is_empty() || part.contains(['/', '\\', '\0']) || part.starts_with('.');
    if strange(&id.phase) || strange(&id.plan) {
        return Err(
            Failure::usage(format!("{phase:?} {plan:?} names no plan")).hint("give them as 1 2, or 01 01-02")
        );
    }
    Ok(id)
}

/// A list given with commas, with blanks, or as several arguments; a file whose name has a comma stays one.
fn listed(ground: &Ground, args: &[String]) -> Vec<String> {
    let parts = |arg: &String| -> Vec<String> {
        if ground.exists(arg) {
            return vec![arg.clone()];
        }
        arg.split(',').map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
    };
    args.iter().flat_map(parts).collect()
}
