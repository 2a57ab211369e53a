//! The protocol's commands, as scripts of the original tool call them. Each gathers facts through the engine's gates,
//! lets core and docs decide, and prints one JSON object.
//!
//! They keep no logic of their own and load nothing they do not need, because scripts call them in great numbers. Exit
//! codes differ from command to command and follow the original; each function's comment lists its own.

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
use tribunal_protocol::{Ground, ProtocolError};

pub use docs::run as docs;

/// The answer of a command: a JSON object and an exit code.
pub struct Answer {
    body: Map<String, Value>,
    code: u8,
}

impl Answer {
    /// An answer; `ok` says whether the code is 0, unless the object has one of its own.
    fn new(body: Value, code: u8) -> Answer {
        let mut body = match body {
            Value::Object(map) => map,
            other => Map::from_iter([("value".to_owned(), other)]),
        };
        // A command whose code does not mean success or failure sets `ok` itself.
        body.entry("ok").or_insert(Value::Bool(code == 0));
        Answer { body, code }
    }
}

impl From<ProtocolError> for Failure {
    fn from(error: ProtocolError) -> Failure {
        Failure::work(error)
    }
}

impl From<tribunal_git::GitError> for Failure {
    fn from(error: tribunal_git::GitError) -> Failure {
        match error {
            // A revision that does not exist was named by the caller.
            tribunal_git::GitError::NoSuch { .. } => Failure::usage(error),
            other => Failure::work(other),
        }
    }
}

/// Prints the list of the protocol's commands.
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
        // The commands from here on print more, or less, than one JSON object.
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

/// True if the program was started under the original's name, for instance by a link in its place.
fn is_original() -> bool {
    let name = std::env::args_os().next();
    name.as_deref().map(Path::new).and_then(Path::file_name).is_some_and(|name| name == ORIGINAL)
}

/// The form in which the original's prompts expect the answers of four commands: a bare path, a bare word, or a verdict
/// in the object alone.
///
/// Those prompts read `… || echo '{"valid":true}'`, so an exit code other than 0 would turn a refusal into a pass.
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

/// Prints an answer under the name of its command.
fn print(name: &str, mut answer: Answer) -> Result<Done, Failure> {
    if is_original()
        && let Some(bare) = as_original(name, &mut answer)
    {
        out::data(&bare)?;
        return Ok(Done::Answer(answer.code));
    }
    answer.body.insert("cmd".to_owned(), name.into());
    if is_original() {
        // On one line and without blanks: the original's scripts search for `"verdict":"approve"` and read the last
        // line.
        out::data(&Value::Object(answer.body).to_string())?;
        return Ok(Done::Answer(answer.code));
    }
    out::json(&answer.body)?;
    Ok(Done::Answer(answer.code))
}

/// The project that a path lies in, otherwise the one of the working directory.
fn ground(near: Option<&Path>) -> Result<Ground, Failure> {
    let dir = near.map(|path| if path.is_dir() { path } else { path.parent().unwrap_or(path) });
    // The parent of a bare file name is empty, which no call accepts as a folder.
    let dir = dir.map(|dir| if dir.as_os_str().is_empty() { Path::new(".") } else { dir });
    let found = dir.and_then(Ground::around).or_else(|| Ground::around(Path::new(".")));
    found.ok_or_else(|| {
        Failure::usage("there is no git repository and no planning folder around here")
            .hint("change to your project, or name it with -C DIR")
    })
}

/// The settings of the project.
fn settings(ground: &Ground) -> Result<Config, Failure> {
    config::here(Some(&Place { root: ground.root().to_owned() }), &SetArgs::default())
}

/// The plan that two arguments name. Its parts become names of files, so path characters are refused.
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

/// A list given with commas or as several arguments. A file whose name has a comma stays one item.
fn listed(ground: &Ground, args: &[String]) -> Vec<String> {
    let parts = |arg: &String| -> Vec<String> {
        if ground.exists(arg) {
            return vec![arg.clone()];
        }
        arg.split(',').map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
    };
    args.iter().flat_map(parts).collect()
}
