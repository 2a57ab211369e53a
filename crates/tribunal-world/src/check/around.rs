//! The gates around a task and a plan, as a run asks them. The facts are gathered here and core answers, exactly as it
//! answers `hard-gate` for the same facts.
//!
//! A gate before a task costs no agent: while one is shut nobody is launched. The gates after a plan are checks of its
//! delivery.

use super::Command;
use super::Commands;
use super::Found;
use super::NotRun;
use super::delivery::{Delivery, found, lint_for};
use crate::build::make::digest;
use crate::check;
use crate::context::base::fork;
use crate::context::subject;
use crate::context::{PlanText, RunContext, lock};
use std::collections::BTreeSet;
use std::sync::Arc;
use tribunal_core::finding::Claim;
use tribunal_core::gate::{self, BeforeTask, Gate, GateResult, Kept, Next, Verification};
use tribunal_core::ids::{LoopId, PlanId, Revision};
use tribunal_core::review_loop::{Failure, FailureKind};
use tribunal_core::run::{Job, Subject};
use tribunal_docs::qa::CommitFact;
use tribunal_engine::run_state::{GateNote, Note, RunState};
use tribunal_engine::world::Arrival;
use tribunal_git::{GitError, GitPath, Oid};

pub(crate) use tribunal_core::checks::COMMIT_HYGIENE as AFTER_TASK;
/// The gate that asks whether everything a plan made is still there.
pub(crate) const ARTIFACTS: &str = "artifact_persistence";
/// The gate that asks whether the plan's verification commands pass on the delivery.
pub(crate) const THRESHOLD: &str = "verification_threshold";
/// All gates after a plan.
pub(crate) const AFTER_PLAN: [&str; 2] = [ARTIFACTS, THRESHOLD];

/// The gates before a task, with the facts that the run state has.
pub(crate) struct Entry {
    of: LoopId,
    plan: PlanId,
    task: u32,
    revision: Revision,
    text: Arc<PlanText>,
    held: Vec<(String, String)>,
}

impl Entry {
    /// Gathers the gates of a subject; only tasks have any.
    pub(crate) fn gather(
        context: &RunContext,
        subject: &Subject,
        of: &LoopId,
        text: &Arc<PlanText>,
        run_state: &RunState,
    ) -> Option<Entry> {
        let Subject::Lane(plan, Job::Task(task)) = subject else { return None };
        let held = check::held(context, plan, run_state).into_iter();
        Some(Entry {
            of: of.clone(),
            plan: plan.clone(),
            task: *task,
            revision: subject::plan_revision(run_state, plan)?,
            text: Arc::clone(text),
            held: held.map(|(file, plan)| (file, plan.to_string())).collect(),
        })
    }

    /// Asks the gates. The error says why nobody may begin.
    ///
    /// They judge what was approved in the lane before this task. Faults of the task itself are for its builder to take
    /// back, so they must not keep it from starting.
    pub(crate) fn ask(&self, context: &RunContext, approved: &Oid) -> Result<(), Failure> {
        let facts = BeforeTask {
            contract: self.contract(context),
            phase: self.text.plan.id.phase.clone(),
            plan_id: self.plan.to_string(),
            task: Some(self.task),
            held: Ok(self.held.clone()),
            changed: changed(context, approved).map_err(|error| error.to_string()),
        };
        let gates = &context.settings.gates;
        let lenient = gates.errors == "continue";
        let mut notes = Vec::new();
        let mut shut = None;
        for (name, ruling) in gate::before_task(&facts) {
            // A gate that is switched off leaves no note here. Every report names it from the settings.
            if gates.off.iter().any(|off| off == name) {
                continue;
            }
            let next = gate::next(ruling.result, false, lenient);
            let kind = match next {
                Next::GoOn | Next::SayIt => None,
                Next::SendBack => Some(FailureKind::GateShut),
                Next::Ask => Some(FailureKind::DidNotRun),
            };
            // The first shut gate is the reason; the others are still asked, so that their answers are on record.
            if let Some(kind) = kind
                && shut.is_none()
            {
                shut = Some(Failure::new(kind, format!("{name}: {}", ruling.evidence)));
            }
            if next == Next::SayIt {
                notes.push(Note::Warning(format!(
                    "{name} did not run and stopped nothing: {}",
                    ruling.evidence
                )));
            }
            let gate = GateNote { of: self.of.clone(), gate: name.to_owned(), ruling };
            notes.push(Note::Gate(Box::new(gate)));
        }
        // The send fails only when the engine is gone, and then the next start asks the gates again.
        let _ = context.arrivals.send(Arrival::Notes(notes));
        shut.map_or(Ok(()), Err)
    }

    /// The contract of the plan as it was approved.
    ///
    /// The text under the approved revision's name must have the approved digest. Another text was put there by
    /// somebody else.
    fn contract(&self, context: &RunContext) -> Result<tribunal_core::contract::Contract, String> {
        let bytes = context.commit_of(&self.revision).and_then(|blob| context.repo.read_blob(&blob));
        let bytes = bytes.map_err(|error| format!("the plan it is made from cannot be read: {error}"))?;
        if digest(&[b"document", &bytes]) != self.revision {
            return Err(format!("the plan {} was changed after it was approved", self.plan));
        }
        Ok(tribunal_docs::contract_of(&self.text.plan))
    }
}

/// The files that a lane has changed up to a commit, without planning documents.
fn changed(context: &RunContext, at: &Oid) -> Result<Vec<String>, GitError> {
    let planning = context.project.planning_path();
    let paths = context.repo.changed_paths(&fork(context, at)?, at)?;
    Ok(paths.iter().filter(|path| !path.is_under(&planning)).map(ToString::to_string).collect())
}

/// Problems with the subject line of a task's commit.
///
/// It is the same rule as `commit-lint`, asked right after a task and not only for the whole delivery.
pub(crate) fn hygiene(context: &RunContext, commit: &Oid) -> Result<Vec<Claim>, GitError> {
    let message = String::from_utf8_lossy(&context.repo.message_of(commit)?).into_owned();
    let parents = context.repo.parents_of(commit)?.len();
    let fact = CommitFact {
        hash: commit.to_string(),
        subject: message.lines().next().unwrap_or_default().to_owned(),
        parents,
        files: Vec::new(),
    };
    Ok(lint_for(AFTER_TASK, &[fact]))
}

/// Files that a plan made or promised and does not deliver.
///
/// A fix of the delivery may change a file that the tasks made, so only absence counts and not another content.
pub(crate) fn artifacts(
    context: &RunContext,
    delivery: &Delivery,
    commit: &Oid,
) -> Result<Vec<Claim>, GitError> {
    let planning = context.project.planning_path();
    let plan = &delivery.plan.plan;
    let expected = plan.expected_artifacts.iter().chain(&plan.must_haves.artifacts);
    let expected = expected.filter_map(|one| tribunal_core::contract::clean(&one.path));
    let mut wanted: BTreeSet<String> =
        // A pattern or a folder names no single file whose absence could be seen.
        expected.filter(|path| !path.contains(['*', '?']) && !path.ends_with('/')).collect();
    // What the tasks made counts besides what the plan promised.
    let made = context.commit_of(&delivery.made)?;
    for path in changed(context, &made)? {
        if context.repo.file_at(&made, &GitPath::from(path.as_str()))?.is_some() {
            wanted.insert(path);
        }
    }
    let mut kept = Vec::new();
    for path in wanted {
        let at = GitPath::from(path.as_str());
        // Documents of the planning folder are not part of the delivered tree.
        if at.is_under(&planning) {
            continue;
        }
        // An artifact may be a folder, which git only knows by its files.
        let there = context.repo.file_at(commit, &at)?.is_some() || holds_files(context, commit, &at)?;
        kept.push((path, if there { Kept::Same } else { Kept::Gone }));
    }
    let summary = !delivery.account.summary(context, commit)?.body.trim().is_empty();
    let ruling = gate::artifact_persistence(summary, &kept);
    if ruling.result != GateResult::Fail {
        return Ok(Vec::new());
    }
    let gone: Vec<&String> =
        kept.iter().filter(|(_, kept)| *kept != Kept::Same).map(|(path, _)| path).collect();
    let fix = |path: &str| format!("write {path} again, or have the plan say that it goes");
    let each = gone.iter().map(|path| {
        let text = format!("{path} was made or promised by the plan, and is not in what is delivered");
        found(ARTIFACTS, path, text, fix(path)).at(path.as_str(), None)
    });
    let each: Vec<Claim> = each.collect();
    let whole = || {
        vec![found(
            ARTIFACTS,
            "SUMMARY",
            ruling.evidence.clone(),
            Gate::ArtifactPersistence.way_out().1.to_owned(),
        )]
    };
    Ok(if each.is_empty() { whole() } else { each })
}

/// Whether a path is a folder with files in it.
fn holds_files(context: &RunContext, commit: &Oid, path: &GitPath) -> Result<bool, GitError> {
    Ok(context.repo.list_tree(commit)?.iter().any(|one| one.path.is_under(path)))
}

/// Whether the plan's own commands pass on the delivery, with all of its tasks together and after every fix.
///
/// Commands that passed on exactly this commit are not run twice. A plan without such commands was verified by nobody,
/// so that is "did not run" and not a pass.
pub(crate) fn threshold(context: &RunContext, asked: &Commands<'_>, commit: &Oid) -> Result<Found, GitError> {
    let commands = asked.commands;
    let known = |command: &Command| lock(&context.passed).contains(&(commit.clone(), command.shown.clone()));
    let claims = match commands.iter().all(known) {
        true => Vec::new(),
        false => match asked.run(context, commit)? {
            Ok(claims) => claims,
            Err(why) => return Ok(Err(why.into())),
        },
    };
    let count = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
    let (total, failed) = (count(commands.len()), count(claims.len()));
    let report =
        Verification { status: None, passed: Some(total - failed), failed: Some(failed), total: Some(total) };
    let ruling = gate::verification_threshold(Some(&report));
    Ok(match ruling.result {
        GateResult::Pass => Ok(Vec::new()),
        GateResult::Fail => Ok(claims),
        GateResult::DidNotRun => {
            Err(NotRun { why: "there is no command that verifies the plan".to_owned(), nothing_there: true })
        }
    })
}
