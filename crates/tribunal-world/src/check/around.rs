//! The gates around a task and a plan, as a run asks them: facts are gathered here, the answers are core's, and they are
//! the answers of `hard-gate` on the same facts. Before a task nobody is launched while a gate is shut.

use super::Command;
use super::Commands;
use super::Found;
use super::NotRun;
use super::delivery::{Delivery, found, lint_for};
use crate::build::make::digest;
use crate::check;
use crate::site::base::fork;
use crate::site::subject;
use crate::site::{PlanText, Site, lock};
use std::collections::BTreeSet;
use std::sync::Arc;
use tribunal_core::finding::Claim;
use tribunal_core::gate::{self, BeforeTask, Gate, GateResult, Kept, Next, Verification};
use tribunal_core::ids::{LoopId, PlanId, Revision};
use tribunal_core::review_loop::{Failure, FailureKind};
use tribunal_core::run::{Job, Subject};
use tribunal_docs::qa::CommitFact;
use tribunal_engine::docket::{Docket, GateNote, Note};
use tribunal_engine::world::Arrival;
use tribunal_git::{GitError, GitPath, Oid};

pub(crate) use tribunal_core::checks::COMMIT_HYGIENE as AFTER_TASK;
/// Whether everything that a plan made is still there.
pub(crate) const ARTIFACTS: &str = "artifact_persistence";
/// Whether the commands that verify a plan pass on what is delivered.
pub(crate) const THRESHOLD: &str = "verification_threshold";
/// The gates after a plan.
pub(crate) const AFTER_PLAN: [&str; 2] = [ARTIFACTS, THRESHOLD];

/// The gates before a task, gathered from the docket.
pub(crate) struct Entry {
    of: LoopId,
    plan: PlanId,
    task: u32,
    revision: Revision,
    text: Arc<PlanText>,
    held: Vec<(String, String)>,
}

impl Entry {
    /// Those of a subject; only tasks have any.
    pub(crate) fn gather(
        site: &Site,
        subject: &Subject,
        of: &LoopId,
        text: &Arc<PlanText>,
        docket: &Docket,
    ) -> Option<Entry> {
        let Subject::Lane(plan, Job::Task(task)) = subject else { return None };
        let held = check::held(site, plan, docket).into_iter();
        Some(Entry {
            of: of.clone(),
            plan: plan.clone(),
            task: *task,
            revision: subject::plan_revision(docket, plan)?,
            text: Arc::clone(text),
            held: held.map(|(file, plan)| (file, plan.to_string())).collect(),
        })
    }

    /// Asks them, with what was approved of the lane before: what the task itself did wrong is its builder's to take back.
    /// The error is why nobody may begin.
    pub(crate) fn ask(&self, site: &Site, approved: &Oid) -> Result<(), Failure> {
        let facts = BeforeTask {
            contract: self.contract(site),
            phase: self.text.plan.id.phase.clone(),
            plan_id: self.plan.to_string(),
            task: Some(self.task),
            held: Ok(self.held.clone()),
            changed: changed(site, approved).map_err(|error| error.to_string()),
        };
        let gates = &site.settings.gates;
        let lenient = gates.errors == "continue";
        let mut notes = Vec::new();
        let mut shut = None;
        for (name, ruling) in gate::before_task(&facts) {
            if gates.off.iter().any(|off| off == name) {
                continue;
            }
            let next = gate::next(ruling.result, false, lenient);
            let kind = match next {
                Next::GoOn | Next::SayIt => None,
                Next::SendBack => Some(FailureKind::GateShut),
                Next::Ask => Some(FailureKind::DidNotRun),
            };
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
        // It only fails when the engine is gone, and then the next start asks again.
        let _ = site.arrivals.send(Arrival::Notes(notes));
        shut.map_or(Ok(()), Err)
    }

    /// The contract of the plan as it was approved. What lies under the approved revision's name and is another text was
    /// put there by somebody else.
    fn contract(&self, site: &Site) -> Result<tribunal_core::contract::Contract, String> {
        let bytes = site.commit_of(&self.revision).and_then(|blob| site.repo.read_blob(&blob));
        let bytes = bytes.map_err(|error| format!("the plan it is made from cannot be read: {error}"))?;
        if digest(&[b"document", &bytes]) != self.revision {
            return Err(format!("the plan {} was changed after it was approved", self.plan));
        }
        Ok(tribunal_docs::contract_of(&self.text.plan))
    }
}

/// What a lane has changed up to a commit, planning documents left out.
fn changed(site: &Site, at: &Oid) -> Result<Vec<String>, GitError> {
    let planning = site.project.planning_path();
    let paths = site.repo.changed_paths(&fork(site, at)?, at)?;
    Ok(paths.iter().filter(|path| !path.is_under(&planning)).map(ToString::to_string).collect())
}

/// What is wrong with the subject of a task's commit.
pub(crate) fn hygiene(site: &Site, commit: &Oid) -> Result<Vec<Claim>, GitError> {
    let message = String::from_utf8_lossy(&site.repo.message_of(commit)?).into_owned();
    let parents = site.repo.parents_of(commit)?.len();
    let fact = CommitFact {
        hash: commit.to_string(),
        subject: message.lines().next().unwrap_or_default().to_owned(),
        parents,
        files: Vec::new(),
    };
    Ok(lint_for(AFTER_TASK, &[fact]))
}

/// What a plan made or promised and does not deliver. What its tasks made may be changed by whoever fixes the delivery,
/// and is then made anew; it may not be gone.
pub(crate) fn artifacts(site: &Site, delivery: &Delivery, commit: &Oid) -> Result<Vec<Claim>, GitError> {
    let planning = site.project.planning_path();
    let plan = &delivery.plan.plan;
    let expected = plan.expected_artifacts.iter().chain(&plan.must_haves.artifacts);
    let expected = expected.filter_map(|one| tribunal_core::contract::clean(&one.path));
    let mut wanted: BTreeSet<String> =
        expected.filter(|path| !path.contains(['*', '?']) && !path.ends_with('/')).collect();
    let made = site.commit_of(&delivery.made)?;
    for path in changed(site, &made)? {
        if site.repo.file_at(&made, &GitPath::from(path.as_str()))?.is_some() {
            wanted.insert(path);
        }
    }
    let mut kept = Vec::new();
    for path in wanted {
        let at = GitPath::from(path.as_str());
        // Documents of the planning folder are no part of the tree that is delivered.
        if at.is_under(&planning) {
            continue;
        }
        let there = site.repo.file_at(commit, &at)?.is_some() || holds_files(site, commit, &at)?;
        kept.push((path, if there { Kept::Same } else { Kept::Gone }));
    }
    let summary = !delivery.account.summary(site, commit)?.body.trim().is_empty();
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
fn holds_files(site: &Site, commit: &Oid, path: &GitPath) -> Result<bool, GitError> {
    Ok(site.repo.list_tree(commit)?.iter().any(|one| one.path.is_under(path)))
}

/// Whether the plan's own commands pass on what is delivered: all of its tasks together, and after every fix. What ran on
/// exactly this commit and passed is not run twice. A plan without such commands was verified by nobody.
pub(crate) fn threshold(site: &Site, asked: &Commands<'_>, commit: &Oid) -> Result<Found, GitError> {
    let commands = asked.commands;
    let known = |command: &Command| lock(&site.passed).contains(&(commit.clone(), command.shown.clone()));
    let claims = match commands.iter().all(known) {
        true => Vec::new(),
        false => match asked.run(site, commit)? {
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
