//! The rebase of a run's result after the user's branch has moved: the run branch begins at the user's branch again,
//! the plans that had landed are queued once more, and the review's approval is carried over where it provably still
//! holds.
//!
//! Only refs of Tribunal move, in one transaction that includes a proof for the probe after a crash. The user's branch
//! is moved by the fast-forward alone.

use super::ADVANCED;
use super::BOUNDARY_BEFORE;
use crate::build::make::digest;
use crate::check::{self, Command, Commands, VERIFICATION};
use crate::context::RunContext;
use crate::context::subject;
use crate::tests_run::base_judge::TrustedJudge;
use crate::tests_run::green::{self, KnownCommand, Runner};
use std::sync::Arc;
use tribunal_core::effect::EffectId;
use tribunal_core::green::{ProjectCommand, may_land};
use tribunal_core::held::Held;
use tribunal_core::ids::{Check, PlanId, Revision};
use tribunal_core::review_loop::{Failure, FailureKind};
use tribunal_core::run::{RunReport, Standing, Subject};
use tribunal_docs::chain::Artifact;
use tribunal_engine::crash;
use tribunal_engine::run_state::{ChainNote, Note, RunState};
use tribunal_engine::world::{Probe, Report};
use tribunal_git::{GitError, GitPath, Oid, Rebased, RefChange, RefsMoved};

/// The refs of a plan that landed before a rebase, by its approved revision: what its commits stood on, and the last of
/// them.
fn before(context: &RunContext, revision: &Revision) -> [String; 2] {
    ["from", "head"].map(|end| context.name(&format!("again/{revision}/{end}")))
}

/// The ref with the commit that a reviewed result stands on. It is set once: a rebase that could not carry the result
/// over leaves it where it was.
fn stands_on(context: &RunContext, tip: &Revision) -> String {
    context.name(&format!("stands-on/{tip}"))
}

/// The ref that proves that a rebase has happened.
fn proof(context: &RunContext, effect: &EffectId) -> String {
    context.name(&format!("rebased/{}", effect.entry))
}

/// The commits that a lane brings: the commit they stand on, and the last of them.
///
/// A plan that landed before the rebase is brought as it landed then. Its lane stood on plans that landed before it,
/// under commits that the rebased run branch does not have. Taken from the common ancestor, those would be brought a
/// second time.
pub(crate) fn brought(context: &RunContext, revision: &Revision, onto: &Oid) -> Result<(Oid, Oid), GitError> {
    let [from, head] = before(context, revision);
    if let (Some(from), Some(head)) = (context.repo.ref_at(&from)?, context.repo.ref_at(&head)?) {
        return Ok((from, head));
    }
    let commit = context.commit_of(revision)?;
    let base = context.repo.merge_base(&commit, onto)?.unwrap_or_else(|| onto.clone());
    Ok((base, commit))
}

/// A rebase, gathered from the run state.
pub(crate) struct Rebasing {
    effect: EffectId,
    branch: String,
    /// The branch did not exist when the run began. It is created when the result lands.
    new_branch: bool,
    base: String,
    /// The commit the run began with. The run keeps the settings of that commit.
    began: String,
    /// The revision that the review of the whole run approved.
    reviewed: Option<Revision>,
    landed: Vec<(PlanId, Revision)>,
}

impl Rebasing {
    /// Gathers what the rebase needs from the run state.
    pub(crate) fn gather(effect: &EffectId, run_state: &RunState) -> Rebasing {
        let landed = run_state.run.iter().flat_map(|run| run.standings());
        let landed = landed.filter_map(|(plan, standing)| match standing {
            Standing::Landed(revision) => Some((plan.clone(), revision.clone())),
            _ => None,
        });
        Rebasing {
            effect: effect.clone(),
            branch: run_state.about.branch.clone(),
            new_branch: run_state.about.asked.as_ref().is_some_and(|asked| asked.new_branch),
            base: run_state.base().to_owned(),
            began: run_state.about.base.clone(),
            reviewed: run_state.run.as_ref().and_then(|run| run.reviewed_tip().cloned()),
            landed: landed.collect(),
        }
    }

    /// Rebases, on a worker, and reports the result.
    pub(crate) fn run(self, context: &Arc<RunContext>) {
        match self.rebase(context) {
            Ok((report, notes)) => context.report(&self.effect, Report::Run(report), notes),
            Err(error) => {
                let failure = Failure::new(FailureKind::Crashed, error.to_string());
                context.fail(&self.effect, failure, Vec::new());
            }
        }
    }

    /// Moves the run branch onto the user's branch and queues what had landed.
    ///
    /// All refs change in one transaction. A crash therefore finds the run either before the rebase or after it.
    fn rebase(&self, context: &RunContext) -> Result<(RunReport, Vec<Note>), GitError> {
        let onto = match context.repo.ref_at(&format!("refs/heads/{}", self.branch))? {
            Some(onto) => onto,
            // A branch that the run is to create may not exist yet; the result still belongs on the base.
            None if self.new_branch => Oid::parse(&self.base)?,
            None => return Ok((RunReport::Held(Held::Gone), Vec::new())),
        };
        let notes = match context.settings_change(&self.began, &onto) {
            Ok(note) => note.into_iter().collect(),
            // Settings of the branch that cannot be read hold the result: it must not be judged by others in their
            // place.
            Err(why) => return Ok((RunReport::Held(Held::Failed(why)), Vec::new())),
        };
        let mut changes = vec![
            RefChange::forward(context.name("head"), &context.run_head()?, &onto),
            RefChange::create(proof(context, &self.effect), &onto),
        ];
        if let Some(tip) = &self.reviewed {
            let name = stands_on(context, tip);
            if context.repo.ref_at(&name)?.is_none() {
                changes.push(RefChange::create(name, &Oid::parse(&self.base)?));
            }
        }
        // The planning documents are rendered again, on top of what the user's branch has now.
        let boundary = context.name("boundary");
        if let Some(commit) = context.repo.ref_at(&boundary)? {
            changes.push(RefChange::set(context.name(BOUNDARY_BEFORE), &commit));
            changes.push(RefChange::delete(boundary, &commit));
        }
        // The approved fixes are not part of what the user's branch has now.
        let advanced = context.name(ADVANCED);
        if let Some(commit) = context.repo.ref_at(&advanced)? {
            changes.push(RefChange::delete(advanced, &commit));
        }
        for (plan, revision) in &self.landed {
            changes.extend(self.requeued(context, plan, revision)?);
        }
        crash::point("rebase:before");
        let moved = context.repo.refs_update(&changes, "tribunal: the branch has moved")?;
        crash::point("rebase:after");
        match moved {
            RefsMoved::Done | RefsMoved::Already => {
                Ok((RunReport::Rebased { onto: keep_ground(context, &onto)? }, notes))
            }
            RefsMoved::Elsewhere { name, .. } => {
                let failure = Failure::new(FailureKind::Crashed, format!("{name} has moved"));
                Ok((RunReport::Failed(failure), Vec::new()))
            }
        }
    }

    /// Keeps a plan's landed commits under its revision, and deletes the proof that it landed.
    fn requeued(
        &self,
        context: &RunContext,
        plan: &PlanId,
        revision: &Revision,
    ) -> Result<Vec<RefChange>, GitError> {
        let mut changes = Vec::new();
        let landed = ["from", "head"].map(|end| landed_ref(context, plan, end));
        for (landed, before) in landed.into_iter().zip(before(context, revision)) {
            let missing = || GitError::NoSuch { what: landed.clone() };
            let commit = context.repo.ref_at(&landed)?.ok_or_else(missing)?;
            changes.push(RefChange::set(before, &commit));
            changes.push(RefChange::delete(landed, &commit));
        }
        Ok(changes)
    }
}

/// The ref with the beginning or the end of a landed plan's commits on the run branch. The end is the proof that it
/// landed.
pub(crate) fn landed_ref(context: &RunContext, plan: &PlanId, end: &str) -> String {
    match end {
        "from" => context.name(&format!("landed-from/{plan}")),
        _ => context.name(&format!("landed/{plan}")),
    }
}

/// Keeps the commit of the user's branch as a revision, named by the commit's id.
fn keep_ground(context: &RunContext, onto: &Oid) -> Result<Revision, GitError> {
    let ground = Revision::new(onto.as_str());
    context.keep(&ground, onto, Vec::new())?;
    Ok(ground)
}

/// Whether a rebase that was intended before a crash has happened.
pub(crate) fn probe(context: &RunContext, effect: &EffectId, run_state: &RunState) -> Probe {
    let kept = |onto: Option<Oid>| {
        // Determined again, because the first note may not have reached the journal.
        let note = |onto: &Oid| context.settings_change(&run_state.about.base, onto).ok().flatten();
        onto.map(|onto| Ok((note(&onto), keep_ground(context, &onto)?))).transpose()
    };
    match context.repo.ref_at(&proof(context, effect)).and_then(kept) {
        Ok(Some((note, onto))) => {
            Probe::Done(Report::Run(RunReport::Rebased { onto }), note.into_iter().collect())
        }
        Ok(None) => Probe::NotDone,
        Err(_) => Probe::Unknown,
    }
}

/// The approval of a review, to be carried over to the rebased run branch. Gathered from the run state.
///
/// It is carried over only if the patch is the same, none of its files changed on the branch, and all commands pass on
/// the rebased tree. In every other case the result is reviewed again.
pub(crate) struct Carrying {
    effect: EffectId,
    from: Option<Revision>,
    tip: Revision,
    declared: Vec<GitPath>,
    commands: Vec<Command>,
    project: Vec<(ProjectCommand, KnownCommand)>,
    /// The source of trusted judge files.
    judge: TrustedJudge,
    /// Nothing was built, so there is no landing queue that could solve a conflict.
    alone: bool,
    /// Tools judge it, and they have to look at the rebased result themselves.
    tools: bool,
    artifact: Option<Box<ChainNote>>,
}

impl Carrying {
    /// Gathers what is needed from the run state.
    pub(crate) fn gather(
        context: &RunContext,
        effect: &EffectId,
        from: Option<&Revision>,
        tip: &Revision,
        run_state: &RunState,
    ) -> Carrying {
        let mut commands = check::commands(context, &Subject::Phase, &Check::new(VERIFICATION), run_state);
        for name in context.check_settings(run_state).commands.keys() {
            commands.extend(check::commands(context, &Subject::Phase, &Check::new(name), run_state));
        }
        let claimed = |(plan, path): (&PlanId, &String)| {
            let revision = subject::plan_revision(run_state, plan)?;
            Some(context.plan_text(path, &revision).ok()?.plan.claimed_files())
        };
        let declared = run_state.about.paths.iter().filter_map(claimed).flatten();
        let chain = run_state.about.chain.clone();
        let project = ProjectCommand::ALL.into_iter().filter(|command| green::is_on(context, *command));
        let project =
            project.filter_map(|command| Some((command, green::known(context, run_state, command)?)));
        Carrying {
            effect: effect.clone(),
            from: from.cloned(),
            tip: tip.clone(),
            declared: declared.map(|file| GitPath::from(file.as_str())).collect(),
            commands,
            project: project.collect(),
            judge: TrustedJudge::of(run_state),
            alone: run_state.run.as_ref().is_none_or(|run| run.spec().plans.is_empty()),
            tools: run_state.about.review.as_ref().is_some_and(|review| !review.tools.is_empty()),
            artifact: chain.filter(|note| note.artifact != Artifact::Implementation),
        }
    }

    /// Carries the approval over, on a worker, and reports the result.
    pub(crate) fn run(self, context: &Arc<RunContext>) {
        match self.carry(context) {
            Ok(report) => context.report(&self.effect, Report::Run(report), Vec::new()),
            Err(error) => {
                let failure = Failure::new(FailureKind::Crashed, error.to_string());
                context.fail(&self.effect, failure, Vec::new());
            }
        }
    }

    /// Rebases the reviewed fixes and proves that the approval still holds for the result.
    fn carry(&self, context: &Arc<RunContext>) -> Result<RunReport, GitError> {
        let name = stands_on(context, &self.tip);
        let base = context.repo.ref_at(&name)?.ok_or(GitError::NoSuch { what: name })?;
        let onto = context.run_head()?;
        if let Some(note) = &self.artifact {
            return self.carry_artifact(context, note, &base, &onto);
        }
        let tip = context.commit_of(&self.tip)?;
        // Only the review's own fixes are moved here: the plans that they stand on have landed again by themselves.
        let from = self.from.as_ref().map_or_else(|| Ok(base.clone()), |from| context.commit_of(from))?;
        let head = match context.repo.replay(&from, &tip, &onto, &context.signature())? {
            Rebased::Clean { head, .. } => head,
            Rebased::Conflict { files, .. } if self.alone => {
                return Ok(RunReport::Held(Held::Conflict(files.iter().map(ToString::to_string).collect())));
            }
            // The review starts from the branch without the fixes, and finds again what they had cured.
            Rebased::Conflict { .. } => return self.judge_again(context, &onto),
        };
        // The run branch has the landed plans by now, so the comparison begins where it stood before them.
        let ground = if self.alone { onto.clone() } else { self.ground(context, &onto)? };
        let holds = context.repo.carries_over(&base, &tip, &ground, &head, &self.declared)?;
        if !holds || self.tools {
            return self.judge_again(context, &head);
        }
        for (command, known) in &self.project {
            let judge = Some(&self.judge);
            let runner = Runner {
                context,
                command: *command,
                known,
                effect: Some(&self.effect),
                judge,
                seen_flaky: false,
            };
            let looked = runner.compare(&ground, &head)?;
            if !may_land(&looked.answer, looked.worse().is_some(), None, &looked.now.state) {
                // The review runs the command as well, and then finds it red or asks a person.
                return self.judge_again(context, &head);
            }
        }
        let judge = Some(&self.judge);
        let commands = &self.commands;
        let asked = Commands { effect: &self.effect, end: ".merged", commands, judge, revision: None };
        match asked.run(context, &head)? {
            Ok(red) if red.is_empty() => {
                let tip = self.keep(context, &head)?;
                Ok(RunReport::Carried { tip })
            }
            Ok(_) => self.judge_again(context, &head),
            Err(why) => Ok(RunReport::Failed(Failure::new(FailureKind::DidNotRun, why))),
        }
    }

    /// The commit that the rebased run branch began at, before its plans landed.
    fn ground(&self, context: &RunContext, onto: &Oid) -> Result<Oid, GitError> {
        let newest = context.repo.refs_under(&context.name("rebased/"))?;
        let entry = |name: &str| name.rsplit('/').next().and_then(|n| n.parse::<u32>().ok());
        let newest = newest.into_iter().max_by_key(|(name, _)| entry(name));
        Ok(newest.map_or_else(|| onto.clone(), |(_, ground)| ground))
    }

    /// Carries an artifact over. It is made from the documents of its feature, so it holds if the user changed none of
    /// them.
    fn carry_artifact(
        &self,
        context: &RunContext,
        note: &ChainNote,
        base: &Oid,
        onto: &Oid,
    ) -> Result<RunReport, GitError> {
        let own: Vec<GitPath> = std::iter::once(&note.folder)
            .chain(&note.earlier)
            .filter(|path| !path.is_empty())
            .map(|path| GitPath::from(path.as_str()))
            .collect();
        let changed = context.repo.changed_paths(base, onto)?;
        let touched: Vec<String> = changed
            .iter()
            .filter(|path| own.iter().any(|own| own.overlaps(path)))
            .map(ToString::to_string)
            .collect();
        Ok(match touched.is_empty() {
            true => RunReport::Carried { tip: self.tip.clone() },
            false => RunReport::Held(Held::Conflict(touched)),
        })
    }

    /// Asks for another review of the rebased result.
    fn judge_again(&self, context: &RunContext, head: &Oid) -> Result<RunReport, GitError> {
        Ok(RunReport::JudgeAgain { revision: self.keep(context, head)? })
    }

    fn keep(&self, context: &RunContext, head: &Oid) -> Result<Revision, GitError> {
        let revision = digest(&[b"carried", head.as_str().as_bytes()]);
        context.keep(&revision, head, Vec::new())?;
        Ok(revision)
    }
}
