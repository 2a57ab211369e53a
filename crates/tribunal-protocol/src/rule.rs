//! Gates, repair and completion with their facts gathered. Core gives the answers.
//!
//! An error here means that the gate did not run, never that it passed.

use crate::contract::{self, ContractError};
use crate::documents::{Ground, summary_of};
use crate::{ProtocolError, artifacts, changed, qa};
use std::path::PathBuf;
use tribunal_core::contract::Contract;
use tribunal_core::gate::{self, CommandRun, Gate, GateResult, GateRuling, Verification};
use tribunal_docs::PlanId;
use tribunal_git::Archive;
use tribunal_world::read_plain;
use tribunal_world::{Bounds, run_line};

/// How many repairs are tried before a person must act.
const ATTEMPTS_MAX: u32 = 2;

/// The question to a gate: about which task.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The plan of the task.
    pub plan: PlanId,
    /// The number of the task.
    pub task: u32,
    /// The file of the contract.
    pub contract: PathBuf,
    /// The limits for every command.
    pub bounds: Bounds,
}

/// The result of a repair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repair {
    /// Whether the gate is open now.
    pub repaired: bool,
    /// How many times it was tried.
    pub attempts: u32,
    /// Why it did not help, or what did.
    pub reason: String,
}

/// Asks a gate.
///
/// Every gate needs an intact contract, except those that ask the project alone and find none at all. A changed
/// contract shuts all of them.
pub fn rule(ground: &Ground, gate: Gate, asked: &Asked) -> GateRuling {
    // Whoever changed the contract could have changed what any gate reads from it.
    let ruling = match contract::load(&asked.contract) {
        // A contract of another plan says nothing about this one.
        Ok(contract) if contract.plan_id != asked.plan.to_string() => {
            let (other, own) = (&contract.plan_id, &asked.plan);
            Ok(GateRuling::fail(format!("the contract is about plan {other}, not {own}")))
        }
        Ok(contract) => by_contract(ground, gate, asked, &contract),
        // Only a missing contract is excused. A broken one may have been broken on purpose.
        Err(ContractError::Missing(_)) if !gate.reads_contract() => by_project(ground, gate, &asked.plan),
        Err(error) => Ok(GateRuling::fail(error.to_string())),
    };
    ruling.unwrap_or_else(|error| GateRuling::did_not_run(error.to_string()))
}

fn by_contract(
    ground: &Ground,
    gate: Gate,
    asked: &Asked,
    contract: &Contract,
) -> Result<GateRuling, ProtocolError> {
    let id = &asked.plan;
    Ok(match gate {
        Gate::ContractCompliance => {
            gate::contract_compliance(contract, &id.phase, &id.to_string(), asked.task)
        }
        // Where nothing is forbidden there is nothing to look at.
        Gate::ProtectedFile if contract.forbidden_paths.is_empty() => {
            gate::protected_file(contract, &[], &[])
        }
        Gate::ProtectedFile => changed::protected(ground, contract, &asked.contract)?,
        Gate::RequiredChecks => gate::required_checks(&checks(ground, contract, &asked.bounds)),
        Gate::ForbiddenCommands => gate::forbidden_commands(&contract.verification_checks),
        Gate::CommitHygiene | Gate::ArtifactPersistence | Gate::VerificationThreshold => {
            by_project(ground, gate, id)?
        }
    })
}

/// The gates that ask only the repository and the planning folder.
fn by_project(ground: &Ground, gate: Gate, id: &PlanId) -> Result<GateRuling, ProtocolError> {
    Ok(match gate {
        Gate::CommitHygiene => hygiene(ground)?,
        Gate::ArtifactPersistence => {
            let there = ground.phase_dirs(&id.phase).iter().any(|dir| summary_of(dir, id).is_some());
            gate::artifact_persistence(there, &artifacts::kept(ground, &id.phase, &id.plan)?)
        }
        Gate::VerificationThreshold => gate::verification_threshold(verification(ground, id).as_ref()),
        _ => GateRuling::did_not_run("it needs a contract".to_owned()),
    })
}

/// Runs a contract's checks, each contained. A dangerous one is not run at all.
pub(crate) fn checks(ground: &Ground, contract: &Contract, bounds: &Bounds) -> Vec<(String, CommandRun)> {
    let run = |line: &String| match gate::danger(line) {
        Some(why) => (line.clone(), CommandRun::DidNotRun(format!("it is forbidden: it {why}"))),
        None => (line.clone(), run_line(ground.root(), line, bounds).run),
    };
    contract.verification_checks.iter().map(run).collect()
}

fn hygiene(ground: &Ground) -> Result<GateRuling, ProtocolError> {
    let archive = Archive::open(ground.root())?;
    let commit = archive.checked_out()?;
    let short = commit.oid.short().to_owned();
    let report = qa::lint(&archive, vec![commit])?;
    Ok(match report.violations.first() {
        None => GateRuling::pass(format!("{short} is well formed")),
        Some(wrong) => GateRuling::fail(format!(
            "{short} {:?}: {}; write `{}`",
            wrong.subject, wrong.issue, wrong.suggested_fix
        )),
    })
}

/// The verification report of a plan, else of its phase.
fn verification(ground: &Ground, id: &PlanId) -> Option<Verification> {
    let names =
        [format!("{id}-VERIFICATION.md"), format!("{}-VERIFICATION.md", id.phase), "VERIFICATION.md".into()];
    let dirs = ground.phase_dirs(&id.phase);
    // The report of the plan itself before that of its phase.
    let paths = names.iter().flat_map(|name| dirs.iter().map(move |dir| dir.join(name)));
    let bytes = paths.into_iter().find_map(|path| read_plain(&path).ok())?;
    Some(tribunal_docs::read_verification(&String::from_utf8_lossy(&bytes)))
}

/// Tries to open a gate: a contract is made anew from its plan, every other gate is asked again.
///
/// It never changes the work itself. A gate that needs another change stays shut.
pub fn repair(ground: &Ground, gate: Gate, asked: &Asked) -> Repair {
    let mut reason = String::new();
    for attempts in 1..=ATTEMPTS_MAX {
        if gate == Gate::ContractCompliance
            && let Err(why) = renew(ground, asked)
        {
            return Repair { repaired: false, attempts, reason: why };
        }
        let ruling = rule(ground, gate, asked);
        if ruling.result == GateResult::Pass {
            return Repair { repaired: true, attempts, reason: ruling.evidence };
        }
        reason = ruling.evidence;
        // These change only when a person or an agent acts, so asking again cannot help.
        if matches!(gate, Gate::ProtectedFile | Gate::CommitHygiene | Gate::ForbiddenCommands) {
            return Repair { repaired: false, attempts, reason };
        }
    }
    Repair { repaired: false, attempts: ATTEMPTS_MAX, reason }
}

fn renew(ground: &Ground, asked: &Asked) -> Result<(), String> {
    let (_, plan) = ground.plan(&asked.plan).ok_or_else(|| format!("there is no plan {}", asked.plan))?;
    let (path, _) = contract::generate(ground, &plan).map_err(|error| error.to_string())?;
    // A new contract at another path would leave the one that was asked about as it is.
    let same = |a: &PathBuf, b: &PathBuf| std::path::absolute(a).ok() == std::path::absolute(b).ok();
    match same(&path, &contract::meant(&asked.contract)) {
        true => Ok(()),
        false => Err(format!("the contract belongs at {}", path.display())),
    }
}
