//! Landing a plan, writing its SUMMARY, and the steps that end a run: planning documents, the user's branch, the push.
//!
//! Each step moves refs by compare-and-swap at most once and leaves a ref as proof, so that a later process can find
//! out whether it happened. The order within a step matters: everything that can be repeated comes before the ref
//! moves, because after a crash a step whose ref exists is taken as done.

pub(crate) mod rebase;

use crate::build::account::{Account, summary_path, take_words};
use crate::build::artifact::ArtifactFiles;
use crate::build::make::{digest, place_of, plan_brief, take_lane_away};
use crate::check::hooks::{self, Answer as HookAnswer, HOOKS, HookRules};
use crate::check::message::folded;
use crate::check::secrets;
use crate::check::{self, Command, Commands, LANDING, VERIFICATION};
use crate::context::subject;
use crate::context::{PlanText, RunContext, slug};
use crate::land::rebase::{brought, landed_ref};
use crate::launch::{Begin, Ended, not_done, words};
use crate::project::inside;
use crate::project::kept;
use crate::project::standing;
use crate::tests_run::base_judge::{self, TrustedJudge};
use crate::tests_run::green::{self, KnownCommand, Runner};
use crate::write_atomic;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use tribunal_agent::Access;
use tribunal_core::cover::Shown;
use tribunal_core::effect::{EffectId, FinishStep};
use tribunal_core::finding::{Claim, Source};
use tribunal_core::green::{Answer, Doubt, ProjectCommand, may_land};
use tribunal_core::held::{Arrival, Held};
use tribunal_core::ids::{Check, FindingId, PlanId, Reviewer, Revision};
use tribunal_core::ledger::{CarriedFinding, Entry};
use tribunal_core::policy::Use;
use tribunal_core::review_loop::{Failure, FailureKind, Loop};
use tribunal_core::run::{Ending, Job, Refusal, RunReport, Subject};
use tribunal_docs::chain::Artifact;
use tribunal_engine::crash;
use tribunal_engine::history::History;
use tribunal_engine::review::{self, from_agents, gate_notes, rule_notes, unreviewed};
use tribunal_engine::run_state::{ChainNote, CommandNote, LaunchNote, Note, RunState, RunStateError};
use tribunal_engine::who;
use tribunal_engine::world::{Probe, Report};
use tribunal_git::{
    Arrived, Bring, Forward, ForwardProbe, GitError, GitPath, Oid, Pushed, Rebased, RefChange, RefsMoved,
    Settled,
};
use tribunal_journal::Reader;
use tribunal_view::branch::left_alone;
use tribunal_view::chain::PhaseOfChain;
use tribunal_view::facts::CommandView;
use tribunal_view::plain;
use tribunal_view::prompt::{self, BuilderBrief, BuilderJob, Document};

/// The ref with the planning documents as they were committed before the last rebase. They may be on the user's branch.
pub(crate) const BOUNDARY_BEFORE: &str = "boundary-before";

/// The ref with the revision that the review approved. The run branch has the same work, perhaps as signed commits.
pub(crate) const ADVANCED: &str = "advanced";

/// The folder of a run in which its fast-forward is recorded while it is under way.
const FORWARD: &str = "forward";

/// Finishes or undoes a fast-forward that a dead orchestrator left unfinished. Returns a warning if there is something
/// to say.
///
/// A fast-forward that cannot be settled now stops nothing: the next attempt to land begins with settling it.
pub(crate) fn settle_forward(context: &RunContext) -> Option<Note> {
    let named = |theirs: &[GitPath], what: &str| {
        let names: Vec<String> = theirs.iter().map(ToString::to_string).collect();
        let files = tribunal_view::branch::named(&names);
        (!names.is_empty())
            .then(|| format!("{what}; left alone, because neither the old nor the new: {files}"))
    };
    let text = match context.repo.settle_forward(&context.dir.join(FORWARD)) {
        Ok(Settled::Nothing) => None,
        Ok(Settled::Finished { theirs }) => named(&theirs, "an interrupted fast-forward was finished"),
        Ok(Settled::PutBack { theirs }) => named(&theirs, "an interrupted fast-forward was put back"),
        Ok(Settled::LeftAlone) => Some(
            "a fast-forward was interrupted, and the branch went on from it; its files were left as they are"
                .to_owned(),
        ),
        Err(error) => Some(format!("an interrupted fast-forward could not be put back: {error}")),
    };
    text.map(Note::Warning)
}

/// The landing of one plan, gathered from the run state.
///
/// A landing rebases the lane onto the run branch, checks the merged tree, and moves the run branch. It decides nothing
/// about the quality of the work: that was approved before, and is asked again only if the rebase changed it.
pub(crate) struct Landing {
    effect: EffectId,
    plan: PlanId,
    revision: Revision,
    declared: Vec<GitPath>,
    /// The commands by which the plan verifies itself.
    verification: Vec<Command>,
    /// Commands of the settings, each with the check it belongs to.
    named: Vec<(Check, Command)>,
    /// Commands of the project that are known and not switched off.
    project: Vec<(ProjectCommand, KnownCommand)>,
    /// The run had a test command, and none is known where the plan lands. The commit then says that no tests ran.
    lost_tests: bool,
    /// No test command is known, and the one that the plan brings is run.
    may_bring: bool,
    /// The commands that an earlier version of the work made flaky.
    seen_flaky: Vec<ProjectCommand>,
    /// A named person accepted the lane's work as it is.
    taken: bool,
    /// The source of trusted judge files.
    judge: TrustedJudge,
    /// A command that did not run stops nothing.
    lenient: bool,
    trailers: Vec<String>,
    base: String,
    /// The user's branch.
    branch: String,
}

/// Why a merged tree may not land.
enum Shut {
    /// Commands are red. Holds the findings with the checks they belong to.
    Red(Vec<(Check, Claim)>),
    /// A command did not run. Says why.
    NotRun(String),
}

impl Landing {
    /// Gathers what the landing needs from the run state.
    pub(crate) fn gather(
        context: &RunContext,
        effect: &EffectId,
        plan: &PlanId,
        revision: &Revision,
        run_state: &RunState,
    ) -> Landing {
        // The commands are those by which a repair of this lane would be judged, so that a refusal can be repaired.
        let subject = Subject::Lane(plan.clone(), Job::Repair);
        let checks = context.check_settings(run_state);
        let named = checks.commands.keys().map(Check::new).flat_map(|check| {
            let commands = check::commands(context, &subject, &check, run_state).into_iter();
            commands.map(move |command| (check.clone(), command)).collect::<Vec<_>>()
        });
        let project = ProjectCommand::ALL.into_iter().filter(|command| green::is_on(context, *command));
        let project =
            project.filter_map(|command| Some((command, green::known(context, run_state, command)?)));
        let project: Vec<(ProjectCommand, KnownCommand)> = project.collect();
        let tests = ProjectCommand::Test;
        let is_known = project.iter().any(|(command, _)| *command == tests);
        let had_tests = run_state.commands.iter().any(|note| note.command == tests);
        let path = run_state.about.paths.get(plan);
        let text = path
            .zip(subject::plan_revision(run_state, plan))
            .and_then(|(p, r)| context.plan_text(p, &r).ok());
        // The plan's claimed files count as its own even where it did not change them.
        let declared = text.map(|text| text.plan.claimed_files()).unwrap_or_default();
        Landing {
            effect: effect.clone(),
            plan: plan.clone(),
            revision: revision.clone(),
            declared: declared.iter().map(|file| GitPath::from(file.as_str())).collect(),
            verification: check::commands(context, &subject, &Check::new(VERIFICATION), run_state),
            named: named.collect(),
            project,
            lost_tests: !is_known && had_tests && green::is_on(context, tests),
            may_bring: green::may_bring_tests(context, run_state),
            seen_flaky: ProjectCommand::ALL
                .into_iter()
                .filter(|c| run_state.was_flaky(plan.as_str(), *c))
                .collect(),
            taken: run_state.took_work(plan),
            judge: TrustedJudge::of(run_state),
            lenient: context.settings.gates.errors == "continue",
            trailers: trailers(run_state, plan),
            base: run_state.base().to_owned(),
            branch: run_state.about.branch.clone(),
        }
    }

    /// Lands the plan and reports the result. Blocks, so it runs on a worker.
    pub(crate) fn run(self, context: &Arc<RunContext>) {
        match self.land(context) {
            Ok((report, notes)) => context.report(&self.effect, Report::Run(report), notes),
            Err(error) => {
                let kind = match error {
                    // A key that does not sign is the user's to repair: a person is asked, who can have the same
                    // landing tried again.
                    GitError::Signing { .. } => FailureKind::DidNotRun,
                    _ => FailureKind::Crashed,
                };
                context.fail(&self.effect, Failure::new(kind, error.to_string()), Vec::new());
            }
        }
    }

    /// Rebases the lane, checks the merged tree, and moves the run branch.
    ///
    /// The steps go from cheap to costly: a conflict or a needed review is found before any command runs. No ref moves
    /// before everything has passed.
    fn land(&self, context: &Arc<RunContext>) -> Result<(RunReport, Vec<Note>), GitError> {
        let onto = context.run_head()?;
        let (base, commit) = brought(context, &self.revision, &onto)?;
        let new_head = match context.repo.replay(&base, &commit, &onto, &context.signature())? {
            Rebased::Clean { head, .. } => head,
            Rebased::Conflict { files, text, .. } => return Ok((conflicts(&files, &text), Vec::new())),
        };
        // Asked before `carries_over`: with nothing left to land there is nothing to judge again either.
        if base != onto && self.is_there_already(context, &base, &commit, &onto, &new_head)? {
            let (report, mut notes) = self.move_branch(context, &onto, &onto, &[])?;
            notes.push(Note::AlreadyThere { plan: self.plan.clone() });
            return Ok((report, notes));
        }
        // The lane was approved on another base. Unless its patch carries over unchanged, what would land was not
        // reviewed.
        if base != onto && !context.repo.carries_over(&base, &commit, &onto, &new_head, &self.declared)? {
            return Ok((self.judge_again(context, &onto, &new_head)?, Vec::new()));
        }
        let mut notes = Vec::new();
        let mut shut = self.commands_of_project(context, &onto, &commit, &new_head, &mut notes)?;
        // The project's commands come first. If one is red, the builder works on the lane again in any case.
        if shut.is_none() {
            shut = self.commands_of_settings(context, base != onto, &commit, &new_head, &mut notes)?;
        }
        match shut {
            Some(Shut::Red(red)) => return Ok((red_checks(red), notes)),
            Some(Shut::NotRun(why)) => {
                return Ok((RunReport::Failed(Failure::new(FailureKind::DidNotRun, why)), notes));
            }
            None => {}
        }
        let (report, moved) = self.move_branch(context, &onto, &new_head, &notes)?;
        notes.extend(moved);
        Ok((report, notes))
    }

    /// Whether everything that the lane did is on the branch already, because somebody brought it there by hand.
    ///
    /// Then nothing lands and nothing is judged. A lane that changed nothing at all is not such a case.
    fn is_there_already(
        &self,
        context: &RunContext,
        base: &Oid,
        commit: &Oid,
        onto: &Oid,
        new_head: &Oid,
    ) -> Result<bool, GitError> {
        let tree = |at: &Oid| context.repo.tree_of(at);
        Ok(tree(base)? != tree(commit)? && tree(onto)? == tree(new_head)?)
    }

    /// Runs the project's own commands on the merged tree. A tree on which this run saw a command green is not tested
    /// again.
    fn commands_of_project(
        &self,
        context: &Arc<RunContext>,
        onto: &Oid,
        commit: &Oid,
        new_head: &Oid,
        notes: &mut Vec<Note>,
    ) -> Result<Option<Shut>, GitError> {
        let tree = context.repo.tree_of(new_head)?;
        let mut red = Vec::new();
        let brought = if self.may_bring { green::brought_tests(context, new_head)? } else { None };
        let brought = brought.map(|known| (ProjectCommand::Test, known));
        if self.lost_tests && brought.is_none() {
            notes.push(green::no_command(context, &self.effect, &tree));
        }
        for (command, known) in self.project.iter().chain(&brought) {
            let judge = Some(&self.judge);
            let (command, effect) = (*command, Some(&self.effect));
            let seen_flaky = self.seen_flaky.contains(&command);
            let runner = Runner { context, command, known, effect, judge, seen_flaky };
            let looked = runner.compare(onto, new_head)?;
            // A person accepted the lane's tree, not the merged one, so only what was red there already is excused.
            let lane = if self.taken { Some(runner.on(commit, green::Ask::Remembered)?.state) } else { None };
            notes.push(runner.note(&self.effect, &tree, &looked));
            let worse = looked.worse();
            if may_land(&looked.answer, worse.is_some(), lane.as_ref(), &looked.now.state) {
                continue;
            }
            let text = format!("`{}`: {}", known.shown(), looked.answer.text());
            let worse = worse.map(|worse| looked.now.claim(command, &known.shown(), &worse));
            match worse.or_else(|| looked.claim(command, &known.shown())) {
                // The other commands still run, so that the builder gets all findings at once.
                Some(claim) => red.push((command.check(), claim)),
                None if self.lenient => {
                    notes.push(Note::Warning(format!("{command} did not run and stopped nothing: {text}")));
                }
                None => return Ok(Some(Shut::NotRun(text))),
            }
        }
        Ok((!red.is_empty()).then_some(Shut::Red(red)))
    }

    /// Runs the commands of the settings, and on a merged tree the plan's own as well. A command that passed on exactly
    /// this tree is not run again.
    ///
    /// Where a person accepted the lane as it is, a command that was red on the lane does not stop the landing.
    fn commands_of_settings(
        &self,
        context: &Arc<RunContext>,
        merged: bool,
        commit: &Oid,
        new_head: &Oid,
        notes: &mut Vec<Note>,
    ) -> Result<Option<Shut>, GitError> {
        let plan = self.verification.iter().filter(|_| merged);
        let plan = plan.map(|command| (Check::new(VERIFICATION), command.clone()));
        let mut red = Vec::new();
        for (n, (check, command)) in plan.chain(self.named.iter().cloned()).enumerate() {
            if check::has_passed(context, new_head, &command)? {
                continue;
            }
            let run = |end: &str, at: &Oid| {
                let end = format!(".{end}{n}");
                let commands = std::slice::from_ref(&command);
                let judge = Some(&self.judge);
                Commands { effect: &self.effect, end: &end, commands, judge, revision: None }.run(context, at)
            };
            let found = run("merged", new_head)?;
            let is_red = |found: &Result<Vec<Claim>, String>| !found.as_ref().is_ok_and(Vec::is_empty);
            if !is_red(&found) || (self.taken && is_red(&run("lane", commit)?)) {
                continue;
            }
            match found {
                Ok(claims) => red.extend(claims.into_iter().map(|claim| (check.clone(), claim))),
                Err(why) if self.lenient => {
                    notes.push(Note::Warning(format!("{check} did not run and stopped nothing: {why}")));
                }
                Err(why) => return Ok(Some(Shut::NotRun(why))),
            }
        }
        Ok((!red.is_empty()).then_some(Shut::Red(red)))
    }

    /// Records the rebased commit as a new revision and asks for another review of it.
    fn judge_again(&self, context: &RunContext, onto: &Oid, new_head: &Oid) -> Result<RunReport, GitError> {
        let tree = context.repo.tree_of(new_head)?;
        let revision = digest(&[b"rebased", tree.as_str().as_bytes(), onto.as_str().as_bytes()]);
        context.keep(&revision, new_head, Vec::new())?;
        Ok(refused(Refusal::JudgeAgain(revision), Vec::new()))
    }

    /// Moves the run branch to the landed commits, together with the refs that prove the landing.
    ///
    /// All refs move in one transaction. If the branch moved without its proof, a crash would let the plan land twice.
    fn move_branch(
        &self,
        context: &Arc<RunContext>,
        onto: &Oid,
        new_head: &Oid,
        notes: &[Note],
    ) -> Result<(RunReport, Vec<Note>), GitError> {
        let new_head = self.with_trailer(context, onto, new_head, notes)?;
        // The signed commits have no ref yet. After a crash here they are signed again, and nothing knows of the first
        // ones.
        let rules = HookRules { base: Oid::parse(&self.base)?, branch: self.branch.clone() };
        let new_head = match context.by_the_rules(&self.effect, &rules, onto, &new_head)? {
            Ok(new_head) => new_head,
            Err(answer) => return Ok((not_by_the_rules(answer), Vec::new())),
        };
        let changes = [
            RefChange::forward(context.name("head"), onto, &new_head),
            RefChange::create(landed_ref(context, &self.plan, "head"), &new_head),
            RefChange::set(landed_ref(context, &self.plan, "from"), onto),
        ];
        crash::point("landing:before");
        let moved = context.repo.refs_update(&changes, "tribunal: a plan landed")?;
        crash::point("landing:after");
        match moved {
            RefsMoved::Done | RefsMoved::Already => {}
            // Somebody else moved the ref. Nothing is overwritten, and the effect fails.
            RefsMoved::Elsewhere { name, .. } => {
                let failure = Failure::new(FailureKind::Crashed, format!("{name} has moved"));
                return Ok((RunReport::Failed(failure), Vec::new()));
            }
        }
        // Only after the ref moved: without the landing, the lane's worktree is still needed.
        let tip = keep_tip(context, &new_head)?;
        let notes = retire_lane(context, &self.plan);
        Ok((RunReport::Landed { tip }, notes))
    }

    /// Adds trailers to the landed commit that say what was not reviewed or not tested.
    fn with_trailer(
        &self,
        context: &RunContext,
        onto: &Oid,
        new_head: &Oid,
        notes: &[Note],
    ) -> Result<Oid, GitError> {
        let of_commands = of_commands(notes);
        let trailers: Vec<String> =
            self.trailers.iter().cloned().chain(of_commands).chain(context.rules_left_out()).collect();
        let message = String::from_utf8_lossy(&context.repo.message_of(new_head)?).into_owned();
        // A plan that lands again after a rebase has the trailers of its first landing, and an agent may have written
        // some of its own. Only Tribunal may say how a commit was judged, so all of them are removed.
        let theirs = without_judgements(&message);
        // With `new_head == onto` nothing lands, so there is no commit of ours to mark.
        if (trailers.is_empty() && theirs == message.trim_end()) || new_head == onto {
            return Ok(new_head.clone());
        }
        let tree = context.repo.tree_of(new_head)?;
        let parents = context.repo.parents_of(new_head)?;
        let message = theirs;
        let trailers: Vec<String> = match hooks::any(context) {
            // Hooks that limit the length of lines apply to Tribunal's lines, too.
            true => trailers.iter().map(|trailer| folded(trailer)).collect(),
            false => trailers,
        };
        let message = format!("{}\n{}\n", message.trim_end(), trailers.join("\n"));
        let who = context.signature();
        context.repo.commit(&tree, &parents, &message, &who, &who)
    }
}

/// A message without the trailers that say how its commit was judged, folded lines included.
fn without_judgements(message: &str) -> String {
    // These two name the work and say nothing about how it was judged.
    let names_the_work = ["Tribunal-Plan: ", "Tribunal-Run: "];
    let mut inside = false;
    let mut kept = Vec::new();
    for line in message.trim_end().lines() {
        let goes_on = inside && line.starts_with([' ', '\t']);
        inside = goes_on
            || (line.starts_with("Tribunal-") && !names_the_work.iter().any(|name| line.starts_with(name)));
        if !inside {
            kept.push(line);
        }
    }
    kept.join("\n")
}

/// The trailers of the landed commit: who accepted it as it is, what only checks judged, and how much of it each
/// reviewer was shown.
fn trailers(run_state: &RunState, plan: &PlanId) -> Vec<String> {
    let accepted = run_state.accepters(plan).into_iter();
    let accepted = accepted.map(|by| format!("Tribunal-Accepted-By: {}", plain::line(&by)));
    let judge = base_judge::taken_of(run_state, plan).into_iter();
    let judge = judge.map(|file| format!("Tribunal-Judge-Changed: {}", plain::line(&file)));
    let flaky = run_state.seen_flaky(plan.as_str()).into_iter().map(|(shown, trees)| {
        let trees = tribunal_view::words::count(trees, "tree");
        format!(
            "Tribunal-Flaky: {}: seen on {trees} of this work, then {} passes in a row",
            plain::line(&shown),
            Doubt::SEEN_FLAKY.passes
        )
    });
    accepted
        .chain(judge)
        .chain(flaky)
        .chain(not_reviewed(run_state, plan))
        .chain(shown(run_state, plan))
        .chain(who::of_work(run_state, subject::loops_of(run_state, plan)).trailers())
        .collect()
}

/// The trailers about the project's own commands, from their notes on the landed tree: that no tests ran, or what was
/// red or flaky.
fn of_commands(notes: &[Note]) -> Vec<String> {
    let of_commands = notes.iter().filter_map(|note| match note {
        Note::Command(note) => Some(note.as_ref()),
        _ => None,
    });
    let ran: Vec<&CommandNote> = of_commands.collect();
    let tests = ran.iter().find(|note| note.command == ProjectCommand::Test);
    // Without any note about tests none ran either.
    let tested = tests.is_some_and(|note| !matches!(note.answer, Answer::NoTests(_) | Answer::NotRun(_)));
    let not_tested = (!tested).then(|| "Tribunal-Not-Tested: no tests ran".to_owned());
    let line = |note: &&CommandNote| {
        let key = match note.answer {
            Answer::Green if note.uncounted => {
                return Some(format!(
                    "Tribunal-Not-Counted: {}: exit code 0, no count",
                    plain::line(&note.shown)
                ));
            }
            Answer::Green | Answer::NoTests(_) | Answer::NotRun(_) => return None,
            Answer::Broken(_) | Answer::JudgeChanged(_) | Answer::RedBefore(_) => "Tribunal-Red",
            Answer::NewlyFlaky(_) | Answer::FlakyBefore(_) => "Tribunal-Flaky",
        };
        Some(format!("{key}: {}: {}", plain::line(&note.shown), plain::line(note.answer.text())))
    };
    not_tested.into_iter().chain(ran.iter().filter_map(line)).collect()
}

/// The lines about the project's own commands that every report has.
fn tests_of(run_state: &RunState) -> Vec<String> {
    review::commands(run_state).iter().map(CommandView::line).collect()
}

/// How much of a plan's work each reviewer was shown, over all its loops and rounds.
fn shown(run_state: &RunState, plan: &PlanId) -> Option<String> {
    let mut reviewers: BTreeMap<&Reviewer, Shown> = BTreeMap::new();
    for review_loop in
        subject::loops_of(run_state, plan).filter(|review_loop| review_loop.policy().of != Use::Plan)
    {
        for ((_, reviewer), shown) in run_state.shown.iter().filter(|((id, _), _)| id == review_loop.id()) {
            let all = reviewers.entry(reviewer).or_default();
            *all = all.and(*shown);
        }
    }
    let each: Vec<String> = reviewers
        .iter()
        .map(|(reviewer, shown)| format!("{} {shown}", plain::line(reviewer.as_str())))
        .collect();
    (!each.is_empty()).then(|| format!("Tribunal-Shown: {}", each.join("; ")))
}

/// The trailer that names what nobody reviewed.
fn not_reviewed(run_state: &RunState, plan: &PlanId) -> Option<String> {
    let run = run_state.run.as_ref()?;
    // `tribunal do` works from a sentence. There is no plan that could have been reviewed before the code.
    let gate = run.spec().gate.is_none() && run_state.about.asked.is_none();
    let gate = gate.then_some("the plan, before any code");
    // A loop without reviewers was judged by checks alone.
    let alone = |review_loop: &Loop| {
        review_loop.policy().reviewers.is_empty() && review_loop.policy().of != Use::Plan
    };
    let work = subject::loops_of(run_state, plan).any(alone).then_some("the work, but for checks");
    let chain = run_state.about.chain.as_ref().filter(|note| note.skipped.is_some());
    let chain = chain.map(|_| "what was built, against its spec");
    let what: Vec<&str> = [gate, work, chain].into_iter().flatten().collect();
    (!what.is_empty()).then(|| format!("Tribunal-Not-Reviewed: {}", what.join("; ")))
}

/// Keeps the new head of the run branch as a revision.
fn keep_tip(context: &RunContext, head: &Oid) -> Result<Revision, GitError> {
    let tip = digest(&[b"tip", head.as_str().as_bytes()]);
    context.keep(&tip, head, Vec::new())?;
    Ok(tip)
}

/// Saves the worktree of a landed lane and removes it.
///
/// The plan has landed at this point, so a failure is only a warning.
fn retire_lane(context: &Arc<RunContext>, plan: &PlanId) -> Vec<Note> {
    let dir = context.lane_dir(plan);
    // After a crash the worktree may be gone already.
    let Some(at) = place_of(context, plan).filter(|_| dir.join("tree").exists()) else { return Vec::new() };
    let tree = context.repo.tree(&dir.join("tree"), &dir.join("index"), &at);
    let saved = take_lane_away(context, plan, &tree);
    crash::point("lane:retired");
    match saved {
        Ok(own) if own.is_empty() => Vec::new(),
        Ok(own) => {
            let own = own.join("; ");
            vec![Note::Warning(format!(
                "the agent of {plan} made commits of its own, which were not taken: {own}"
            ))]
        }
        Err(error) => vec![Note::Warning(format!("the tree of {plan} was left in place: {error}"))],
    }
}

fn conflicts(files: &[GitPath], text: &str) -> RunReport {
    let claim = |path: &GitPath| {
        let mut claim = check::conflict(path, None, "it conflicts with what landed meanwhile");
        claim.details = text.chars().take(4_000).collect();
        claim
    };
    refused(Refusal::Conflict, files.iter().map(claim).collect())
}

fn refused(refusal: Refusal, claims: Vec<Claim>) -> RunReport {
    refused_by(LANDING, refusal, claims)
}

/// The report of a landing with red checks. Each finding keeps its check, so that the repair is judged by the same one.
fn red_checks(red: Vec<(Check, Claim)>) -> RunReport {
    let findings = red.into_iter().map(|(check, claim)| carried(check, claim)).collect();
    RunReport::LandingRefused { refusal: Refusal::RedCheck, findings }
}

fn carried(check: Check, claim: Claim) -> CarriedFinding {
    let by = BTreeSet::from([Source::Check(check)]);
    // The engine replaces the id when the report arrives.
    CarriedFinding { id: FindingId(0), entry: Entry::new(claim, by, 0) }
}

fn refused_by(check: &str, refusal: Refusal, claims: Vec<Claim>) -> RunReport {
    let findings = claims.into_iter().map(|claim| carried(Check::new(check), claim)).collect();
    RunReport::LandingRefused { refusal, findings }
}

/// The report of a landing that the user's commit hooks refuse.
fn not_by_the_rules(answer: HookAnswer) -> RunReport {
    match answer {
        HookAnswer::Refused(claims) => refused_by(HOOKS, Refusal::RedCheck, claims),
        HookAnswer::Broken(why) => RunReport::Failed(Failure::new(FailureKind::DidNotRun, why)),
        // Callers only come here with an answer that is not `Fine`.
        HookAnswer::Fine(_) => RunReport::Failed(Failure::new(FailureKind::Crashed, "bug: nothing is wrong")),
    }
}

/// The same in words, for a step in which no builder can do anything about it.
fn rule_words(answer: HookAnswer) -> String {
    let claims = match answer {
        HookAnswer::Refused(claims) => claims,
        HookAnswer::Broken(why) => return why,
        HookAnswer::Fine(_) => Vec::new(),
    };
    let told = claims.iter().map(|claim| {
        let evidence = plain::clipped(&claim.evidence, 400);
        [claim.claim.as_str(), &claim.details, &evidence].join(": ")
    });
    format!(
        "{}\nhint: set git.message to a form that the hook takes, or git.hooks = \"skip\"",
        told.collect::<Vec<_>>().join("; ")
    )
}

/// Whether a landing that was intended before a crash has happened.
pub(crate) fn probe_landing(context: &Arc<RunContext>, plan: &PlanId) -> Probe {
    // The ref was created in the transaction that moved the run branch, so it proves both.
    match context.repo.ref_at(&context.name(&format!("landed/{plan}"))) {
        Ok(Some(head)) => match keep_tip(context, &head) {
            // The crash may have come before the lane's worktree was removed.
            Ok(tip) => Probe::Done(Report::Run(RunReport::Landed { tip }), retire_lane(context, plan)),
            Err(_) => Probe::Unknown,
        },
        Ok(None) => Probe::NotDone,
        Err(_) => Probe::Unknown,
    }
}

/// A SUMMARY to be written, gathered from the run state.
///
/// The builder usually says what it built while building. It is asked here only if it said nothing, or if its words
/// break the rules and no delivery gate follows.
pub(crate) struct Summarising {
    effect: EffectId,
    plan: PlanId,
    revision: Revision,
    account: Account,
    brief: BuilderBrief,
    /// The plan, if no delivery gate judges the SUMMARY. Then it is judged here.
    alone: Option<Arc<PlanText>>,
}

impl Summarising {
    /// Gathers what the SUMMARY needs from the run state.
    pub(crate) fn gather(
        context: &RunContext,
        effect: &EffectId,
        plan: &PlanId,
        revision: &Revision,
        run_state: &RunState,
    ) -> Option<Summarising> {
        let path = run_state.about.paths.get(plan)?;
        let text = context.plan_text(path, &subject::plan_revision(run_state, plan)?).ok()?;
        let document = Document { path: summary_path(path), text: String::new() };
        let brief = BuilderBrief {
            job: BuilderJob::Summary,
            plan: plan_brief(&text),
            document: Some(document),
            iteration: effect.n.fails + 1,
            ..BuilderBrief::default()
        };
        Some(Summarising {
            effect: effect.clone(),
            plan: plan.clone(),
            revision: revision.clone(),
            account: Account::gather(context, plan, run_state)?,
            brief,
            alone: (!run_state.run.as_ref()?.spec().qa).then_some(text),
        })
    }

    /// Writes the SUMMARY, on a worker. A builder that said nothing about its work is asked first.
    pub(crate) fn run(mut self, context: &Arc<RunContext>) {
        let effect = self.effect.clone();
        let done = match self.account.is_silent(context).and_then(|silent| Ok((silent, self.wrong(context)?)))
        {
            // What the builder said while building is enough, so no agent is launched.
            Ok((false, wrong)) if wrong.is_empty() => self.write(context, Vec::new()),
            Ok((_, wrong)) => {
                self.brief.before = wrong.join("\n");
                self.ask(context)
            }
            Err(error) => Err(error),
        };
        if let Err(error) = done {
            context.fail(&effect, Failure::new(FailureKind::Crashed, error.to_string()), Vec::new());
        }
    }

    /// The violations of the SUMMARY's rules, if nobody else judges it.
    fn wrong(&self, context: &RunContext) -> Result<Vec<String>, GitError> {
        let Some(plan) = &self.alone else { return Ok(Vec::new()) };
        let failed = self.account.failures(context, &context.commit_of(&self.revision)?, &plan.plan)?;
        Ok(failed.into_iter().map(|check| format!("{}: {}", check.name, check.detail)).collect())
    }

    /// Launches the builder once more, in a checkout of its own, to say what it built.
    fn ask(mut self, context: &Arc<RunContext>) -> Result<(), GitError> {
        let commit = context.commit_of(&self.revision)?;
        let dir = context.dir.join("summaries").join(slug(self.plan.as_str()));
        self.clear(context, &dir, &commit)?;
        fs::create_dir_all(&dir).map_err(|source| GitError::Io { path: dir.clone(), source })?;
        let tree =
            context.worktree_pool.checkout(&dir.join("tree"), &dir.join("index"), &commit, "summary")?;
        let mut brief = context.brief(&self.effect, "dev", &["dev"]);
        brief.loop_use = "summary".to_owned();
        brief.plan = Some(self.plan.to_string());
        self.brief.word = brief.word.clone().unwrap_or_default();
        brief.prompt = prompt::builder(&self.brief);
        brief.dir = tree.path().to_path_buf();
        brief.access = Access::Write;
        let effect = self.effect.clone();
        context.launch(&effect, &["dev"], brief, Begin::Session(None), None, move |context, ended| {
            let effect = self.effect.clone();
            if let Err(error) = self.told(context, &dir, &commit, ended) {
                context.fail(&effect, Failure::new(FailureKind::Crashed, error.to_string()), Vec::new());
            }
        });
        Ok(())
    }

    /// Removes the checkout. Whatever else the agent did there does not count, but is saved.
    fn clear(&self, context: &RunContext, dir: &Path, commit: &Oid) -> Result<(), GitError> {
        let (path, index) = (dir.join("tree"), dir.join("index"));
        if path.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
            let tree = context.repo.tree(&path, &index, commit);
            kept::take_away(context, &format!("summary-{}", self.plan), &tree)?;
        }
        context.worktree_pool.discard(dir).map(drop)
    }

    /// Takes the builder's answer and writes the SUMMARY, or fails the effect.
    fn told(
        mut self,
        context: &Arc<RunContext>,
        dir: &Path,
        commit: &Oid,
        ended: Ended,
    ) -> Result<(), GitError> {
        let written = take_words(context, &self.plan, &dir.join("tree"), commit, &self.account.path)?;
        // The document is taken before the checkout goes, and the checkout goes whatever the answer is worth.
        self.clear(context, dir, commit)?;
        let word = ended.word.as_deref();
        let said = tribunal_findings::read_builder(&words(&ended.outcome, word), word);
        let lacks = (!said.done).then(|| Failure::new(FailureKind::NotDone, not_done(&ended)));
        let said = said.summary;
        let notes = vec![Note::Launch(Box::new(LaunchNote { summary: said.clone(), ..ended.note }))];
        if let Some(failure) = ended.failure.or(lacks) {
            context.fail(&self.effect, failure, notes);
            return Ok(());
        }
        if !said.is_empty() {
            self.account.add(said);
        } else if written.is_none() {
            let text = format!("the dev did not say what it built, and wrote no {}", self.account.path);
            context.fail(&self.effect, Failure::new(FailureKind::Empty, text), notes);
            return Ok(());
        }
        let wrong = self.wrong(context)?;
        if !wrong.is_empty() {
            let text = format!("the SUMMARY does not keep its rules: {}", wrong.join("; "));
            context.fail(&self.effect, Failure::new(FailureKind::Garbled, text), notes);
            return Ok(());
        }
        self.write(context, notes)
    }

    fn write(self, context: &Arc<RunContext>, notes: Vec<Note>) -> Result<(), GitError> {
        self.account.keep(context, &context.commit_of(&self.revision)?)?;
        let report = RunReport::Summarised { revision: self.revision };
        context.report(&self.effect, Report::Run(report), notes);
        Ok(())
    }
}

/// Writes the result of one phase into a document that may exist already; the error says why it cannot.
type Render = fn(Option<&str>, &PhaseOfChain) -> Result<String, String>;

/// The records that a chain keeps beside its artifacts.
const RECORDS: [(&str, Render); 2] = [
    (".meta.json", tribunal_view::chain::meta),
    (".review-history.md", |before, phase| Ok(tribunal_view::chain::history(before, phase))),
];

/// One finishing step of a run, gathered from the run state.
///
/// The steps run in the order boundary, forward, push, each as an effect of its own with its own probe. A crash between
/// them therefore repeats none of them.
pub(crate) struct Finishing {
    effect: EffectId,
    step: FinishStep,
    ending: Ending,
    asked: bool,
    branch: String,
    /// The branch did not exist when the run began. It is created when the result lands.
    new_branch: bool,
    base: String,
    /// The commit the run began with. A document that differs from it was changed by the user meanwhile.
    began: String,
    tracked: bool,
    documents: Vec<(String, Revision, Revision)>,
    landed: Vec<(PlanId, String)>,
    phase: String,
    review: String,
    /// The revision that the review of the whole run approved.
    approved: Option<Revision>,
    /// The existing code that was reviewed, if the run is a review.
    target: Option<Reviewed>,
    /// The artifact of a chain, and the version of it that is taken.
    chain: Option<Box<ChainNote>>,
    tip: Option<Revision>,
}

/// Where the fixes of a review belong.
struct Reviewed {
    head: String,
    /// The user's branch is at this commit.
    on_branch: bool,
}

impl Finishing {
    /// Gathers what the step needs from the run state.
    pub(crate) fn gather(
        effect: &EffectId,
        step: FinishStep,
        ending: Ending,
        asked: bool,
        run_state: &RunState,
    ) -> Finishing {
        let about = &run_state.about;
        let revised = about.paths.iter().filter_map(|(plan, path)| {
            let found = subject::found_revision(run_state, plan)?;
            let now = subject::plan_revision(run_state, plan)?;
            // Only a plan that was revised in the run has to be written.
            (found != now).then(|| (path.clone(), found, now))
        });
        let landed = run_state.run.iter().flat_map(|run| run.standings());
        let landed = landed.filter_map(|(plan, standing)| {
            let path = about.paths.get(plan)?;
            matches!(standing, tribunal_core::run::Standing::Landed(_))
                .then(|| (plan.clone(), summary_path(path)))
        });
        Finishing {
            effect: effect.clone(),
            step,
            ending,
            asked,
            branch: about.branch.clone(),
            new_branch: about.asked.as_ref().is_some_and(|asked| asked.new_branch),
            base: run_state.base().to_owned(),
            began: about.base.clone(),
            tracked: about.planning_tracked,
            documents: revised.collect(),
            landed: landed.collect(),
            phase: about.phase.clone(),
            review: review_path(&about.phase_path),
            approved: run_state
                .run
                .as_ref()
                .filter(|run| run.spec().review)
                .and_then(|run| run.tip().cloned()),
            chain: about.chain.clone(),
            tip: run_state.run.as_ref().and_then(|run| run.tip().cloned()),
            target: about.review.as_ref().map(|review| Reviewed {
                head: review.head.clone(),
                on_branch: review.head == about.base && !about.branch.is_empty(),
            }),
        }
    }

    /// Runs the step and reports it. Blocks, so it runs on a worker.
    pub(crate) fn run(self, context: &Arc<RunContext>) {
        let mut notes = Vec::new();
        // Every step begins with it: repeating it changes nothing, and so no step depends on an earlier one having done
        // it.
        let advanced = if self.ending == Ending::Passed { self.advance(context) } else { Ok(()) };
        let done = advanced.map_err(|error| error.to_string()).and_then(|()| match self.step {
            FinishStep::Boundary => self.boundary(context, &mut notes).map(finished),
            FinishStep::Forward => self.forward(context, &mut notes),
            FinishStep::Push => Ok(finished(push(context, &self.branch, &mut notes))),
        });
        match done {
            Ok(report) => context.report(&self.effect, Report::Run(report), notes),
            Err(text) => {
                let text_note = Note::Warning(format!("{}: {text}", self.step.word()));
                context.fail(&self.effect, Failure::new(FailureKind::Crashed, text), vec![text_note]);
            }
        }
    }

    /// Brings fixes that the review approved to the run branch. Repeating it changes nothing.
    fn hook_rules(&self) -> Result<HookRules, GitError> {
        Ok(HookRules { base: Oid::parse(&self.base)?, branch: self.branch.clone() })
    }
    fn advance(&self, context: &RunContext) -> Result<(), GitError> {
        let Some(approved) = &self.approved else { return Ok(()) };
        let (head, tip) = (context.run_head()?, context.commit_of(approved)?);
        if head == tip || !context.repo.is_ancestor(&head, &tip)? {
            return Ok(());
        }
        let signed = match context.by_the_rules(&self.effect, &self.hook_rules()?, &head, &tip)? {
            Ok(signed) => signed,
            Err(answer) => return Err(GitError::Odd { what: rule_words(answer) }),
        };
        // Signing makes other commits than the approved one. The approved one gets a ref, so that it can be recognised
        // later.
        let changes = [
            RefChange::forward(context.name("head"), &head, &signed),
            RefChange::set(context.name(ADVANCED), &tip),
        ];
        context.repo.refs_update(&changes, "tribunal: what the review approved").map(drop)
    }

    /// Writes the planning documents: committed on the run branch if git tracks them, otherwise into the folder.
    fn boundary(&self, context: &Arc<RunContext>, notes: &mut Vec<Note>) -> Result<String, String> {
        let mut files = self.files(context).map_err(|error| error.to_string())?;
        match self.reviewed(context) {
            Ok(text) => files.extend(self.review_file(text)),
            // A REVIEW that cannot be rendered stops nothing: `tribunal report` can render it later.
            Err(error) => notes.push(Note::Warning(format!("{} was not written: {error}", self.review))),
        }
        match self.standing_files(context) {
            Ok(found) => files.extend(found),
            Err(error) => {
                notes.push(Note::Warning(format!("STATE.md and ROADMAP.md were left as they are: {error}")))
            }
        }
        if let Some(note) = &self.chain {
            files.extend(self.chain_files(context, note, notes)?);
        }
        // Agents wrote these documents, or the words in them, and may have put a secret there.
        let clean = |file: Written| Written {
            bytes: secrets::cleaned(&context.environment, file.before.as_deref(), file.bytes),
            ..file
        };
        let (mut tracked, untracked): (Vec<_>, Vec<_>) =
            files.into_iter().map(clean).partition(|file| file.tracked);
        notes.extend(self.leave_theirs(context, &mut tracked).map_err(|error| error.to_string())?);
        // The commit comes last. If a later process finds its ref, everything before it was done.
        let written = match untracked.is_empty() {
            true => None,
            false => Some(write_untracked(context.project.root(), &untracked)?),
        };
        // An implementation that goes on without approval says so in a commit, even if that commit brings nothing else.
        let committed = match tracked.is_empty() && !(self.ending == Ending::Concerns && self.is_code()) {
            true => None,
            false => Some(self.commit(context, &tracked).map_err(|error| error.to_string())?),
        };
        let done: Vec<String> = committed.into_iter().chain(written).collect();
        Ok(if done.is_empty() { "no planning document changed".to_owned() } else { done.join("; ") })
    }

    /// Takes out documents that the user changed on their branch since the run began. Returns a note for each, with the
    /// place of the run's own version.
    ///
    /// Text that people wrote is never replaced. A document counts as ours if it is what the run found, what the run
    /// writes, or what it committed before the last rebase.
    fn leave_theirs(&self, context: &RunContext, files: &mut Vec<Written>) -> Result<Vec<Note>, GitError> {
        // The documents are committed already, and `commit` will not commit them again.
        if context.repo.ref_at(&context.name("boundary"))?.is_some() {
            return Ok(Vec::new());
        }
        let (head, began) = (context.run_head()?, Oid::parse(&self.began)?);
        let earlier = context.repo.ref_at(&context.name(BOUNDARY_BEFORE))?;
        let mut theirs = Vec::new();
        for file in files.iter() {
            let path = GitPath::from(file.path.as_str());
            let now = context.repo.file_at(&head, &path)?;
            let mut ours = vec![file.before.clone(), Some(file.bytes.clone())];
            for at in std::iter::once(&began).chain(&earlier) {
                ours.push(context.repo.file_at(at, &path)?);
            }
            if now.is_some() && !ours.contains(&now) {
                theirs.push(file.path.clone());
            }
        }
        files.retain(|file| !theirs.contains(&file.path));
        Ok(theirs.iter().map(|path| Note::Warning(self.left_as_theirs(context, path))).collect())
    }

    /// The warning about a document that was left as the user has it.
    fn left_as_theirs(&self, context: &RunContext, path: &str) -> String {
        let summary = self.landed.iter().find(|(_, summary)| summary == path);
        let ours = match summary {
            Some((plan, _)) => {
                format!("; `git show {}` is the run's own", context.name(&format!("summary/{plan}")))
            }
            None if path == self.review => format!("; `tribunal report {}` is the run's own", context.run),
            None => String::new(),
        };
        format!("{path} was left as {} has it, because it changed there meanwhile{ours}", self.branch)
    }

    fn is_code(&self) -> bool {
        self.chain.as_ref().is_some_and(|note| note.artifact == Artifact::Implementation)
    }

    /// The files of an artifact, unless its gate stayed closed, and the record of how it was made.
    fn chain_files(
        &self,
        context: &RunContext,
        note: &ChainNote,
        notes: &mut Vec<Note>,
    ) -> Result<Vec<Written>, String> {
        let mut files = Vec::new();
        let text = |error: GitError| error.to_string();
        if let (Ending::Passed | Ending::Concerns, Some(tip), false) =
            (self.ending, &self.tip, self.is_code())
        {
            let (ground, tip) =
                (context.commit_of(&note.ground).map_err(text)?, context.commit_of(tip).map_err(text)?);
            for (path, bytes) in note.files_at(context, &tip).map_err(text)? {
                let before = context.repo.file_at(&ground, &GitPath::from(path.as_str())).map_err(text)?;
                if before.as_ref() != Some(&bytes) {
                    files.push(Written { before, ..self.written(&path, bytes) });
                }
            }
        }
        let head = context.run_head().map_err(text)?;
        let read = Reader::open(&context.dir).map_err(RunStateError::from);
        let read = read.and_then(|reader| History::read(&reader));
        let phase = read.map_err(|error| error.to_string())?.chain(&context.run, self.ending);
        for (name, render) in RECORDS {
            let path = format!("{}/{name}", note.folder);
            let before = match self.tracked {
                true => context.repo.file_at(&head, &GitPath::from(path.as_str())).map_err(text)?,
                false => inside::read(context.project.root(), &path),
            };
            let known = before.as_ref().map(|bytes| String::from_utf8_lossy(bytes).into_owned());
            match phase.as_ref().map(|phase| render(known.as_deref(), phase)) {
                Some(Ok(text)) => files.push(Written { before, ..self.written(&path, text.into_bytes()) }),
                Some(Err(why)) => notes.push(Note::Warning(format!("{path} was left as it is: {why}"))),
                None => {}
            }
        }
        Ok(files)
    }

    /// STATE.md and ROADMAP.md, if the project has them, with this run's entry about the phase and nothing else
    /// changed.
    fn standing_files(&self, context: &RunContext) -> Result<Vec<Written>, String> {
        // A review that did not pass does not advance the phase, and an artifact never does.
        let artifact = self.chain.is_some() && !self.is_code();
        if artifact || (self.target.is_some() && self.ending != Ending::Passed) {
            return Ok(Vec::new());
        }
        let landed: Vec<String> = self.landed.iter().map(|(plan, _)| plan.to_string()).collect();
        let progress = standing::of_phase(&context.project, &self.phase, &landed, &context.settings)?;
        let head = context.run_head().map_err(|error| error.to_string())?;
        let mut files = Vec::new();
        for (name, update) in standing::DOCUMENTS {
            let path = format!("{}/{name}", context.project.planning());
            let at_head =
                context.repo.file_at(&head, &GitPath::from(path.as_str())).map_err(|e| e.to_string())?;
            // Decided for each document, since git may track one and not the other.
            let tracked = at_head.is_some();
            let Some(before) = at_head.or_else(|| standing::read(&context.project, name)) else { continue };
            // A document that is not UTF-8 is left alone: editing it as text would damage it.
            let Ok(text) = std::str::from_utf8(&before) else { continue };
            let bytes = update(text, &progress).into_bytes();
            if bytes != before {
                files.push(Written { path, before: Some(before), rendered: false, tracked, bytes });
            }
        }
        Ok(files)
    }

    /// The plans that were revised and the SUMMARY of every plan that landed.
    fn files(&self, context: &RunContext) -> Result<Vec<Written>, GitError> {
        let mut files = Vec::new();
        for (path, found, now) in &self.documents {
            let before = context.repo.read_blob(&context.commit_of(found)?)?;
            let bytes = context.repo.read_blob(&context.commit_of(now)?)?;
            files.push(Written { before: Some(before), ..self.written(path, bytes) });
        }
        for (plan, path) in &self.landed {
            if let Some(blob) = context.repo.ref_at(&context.name(&format!("summary/{plan}")))? {
                let bytes = as_landed(context, plan, path, context.repo.read_blob(&blob)?)?;
                files.push(self.written(path, bytes));
            }
        }
        Ok(files)
    }

    /// The REVIEW document of the run, rendered from its journal.
    fn reviewed(&self, context: &RunContext) -> Result<String, RunStateError> {
        let history = History::read(&Reader::open(&context.dir)?)?;
        let (run_state, settings) = (&history.run_state, &context.settings);
        let notes = [
            tests_of(run_state),
            unreviewed(run_state),
            gate_notes(&settings.gates),
            rule_notes(&settings.git),
            run_state.about.unkept(),
            from_agents(run_state),
        ]
        .concat();
        let review = history.review(&context.run, notes, &[]);
        Ok(tribunal_view::review::markdown(&review))
    }

    fn review_file(&self, text: String) -> Option<Written> {
        let file = Written { rendered: true, ..self.written(&self.review, text.into_bytes()) };
        (!file.path.is_empty()).then_some(file)
    }

    fn written(&self, path: &str, bytes: Vec<u8>) -> Written {
        Written { path: path.to_owned(), before: None, rendered: false, tracked: self.tracked, bytes }
    }

    /// Commits planning documents on the run branch, and nothing else.
    fn commit(&self, context: &RunContext, files: &[Written]) -> Result<String, GitError> {
        let done = context.name("boundary");
        if context.repo.ref_at(&done)?.is_some() {
            // Committed before a crash; a second commit would bring nothing.
            return Ok("planning documents are on the run branch".to_owned());
        }
        let head = context.run_head()?;
        let dir = context.dir.join("boundary");
        context.worktree_pool.discard(&dir)?;
        fs::create_dir_all(&dir).map_err(|source| GitError::Io { path: dir.clone(), source })?;
        let tree =
            context.worktree_pool.checkout(&dir.join("tree"), &dir.join("index"), &head, "boundary")?;
        for file in files {
            inside::write(tree.path(), &file.path, &file.bytes)?;
        }
        let captured = tree.capture()?;
        let planning = [context.project.planning_path()];
        // Only the planning folder is taken from the checkout: the code must stay exactly what was approved.
        let only_planning = context.repo.tree_with(&head, &captured.tree, &planning)?;
        let who = context.signature();
        let message = context.message(context.own_message(self.message(context)));
        let made = |tree: &Oid| context.repo.commit(tree, std::slice::from_ref(&head), &message, &who, &who);
        let rules = self.hook_rules()?;
        // A formatter among the hooks would refuse our documents, so it may tidy them first.
        let tidied = hooks::tidied(context, &self.effect, &rules, &head, &only_planning, &planning[0])?;
        let commit = match context.by_the_rules(&self.effect, &rules, &head, &made(&tidied)?)? {
            Ok(commit) => commit,
            Err(answer) => return Err(GitError::Odd { what: rule_words(answer) }),
        };
        let changes =
            [RefChange::forward(context.name("head"), &head, &commit), RefChange::create(done, &commit)];
        crash::point("boundary:before");
        context.repo.refs_update(&changes, "tribunal: planning documents")?;
        crash::point("boundary:after");
        context.worktree_pool.discard(&dir)?;
        Ok(format!("{} committed on the run branch", documents(files.len())))
    }

    /// The message of the commit of planning documents. Work that nobody approved is marked as such.
    fn message(&self, context: &RunContext) -> String {
        let run = format!("Tribunal-Run: {}", context.run);
        let Some(note) = &self.chain else {
            return format!("docs({}): plans and summaries of the run\n\n{run}\n", self.phase);
        };
        let word = note.artifact.word();
        let what = match self.ending {
            Ending::Passed | Ending::Concerns => word.to_owned(),
            _ => format!("review of the {word}"),
        };
        let mut trailers = vec![run];
        trailers
            .extend(note.skipped.as_ref().map(|why| format!("Tribunal-Not-Reviewed: the {word} ({why})")));
        if self.ending == Ending::Concerns {
            trailers.push(format!("Tribunal-Not-Approved: the {word}, its rounds were spent"));
        }
        format!("docs({}): {what}\n\n{}\n", note.feature, trailers.join("\n"))
    }

    /// Brings the result to the user's branch, or says what holds it.
    ///
    /// A refusal is not an error: the branch and the files are the user's, so the run waits with its result (see
    /// `docs/design/landing.md`).
    fn forward(&self, context: &RunContext, notes: &mut Vec<Note>) -> Result<RunReport, String> {
        // The record of an artifact's review goes to the branch even if the artifact was not approved.
        let record = self.chain.is_some() && !self.is_code();
        if !self.ending.is_good() && !record {
            return Ok(finished("the run did not pass; the branch stays".to_owned()));
        }
        let text = |error: GitError| error.to_string();
        // A review of something that no branch has: there is no branch to move, so the fixes are offered as a command.
        if let Some(target) = self.target.as_ref().filter(|target| !target.on_branch) {
            return self.offer(context, target, notes).map(finished).map_err(text);
        }
        let old = Oid::parse(&self.base).map_err(text)?;
        let new = context.signed_result(&old).map_err(text)?;
        // Folders of ours that git does not track are not changes of the user.
        let mut ignoring = vec![GitPath::from(crate::project::FOLDER)];
        if !self.tracked {
            ignoring.push(context.project.planning_path());
        }
        // A branch that the run was asked to create needs no second order. Once it exists it is treated like any other.
        let makes = self.new_branch
            && context.repo.ref_at(&format!("refs/heads/{}", self.branch)).map_err(text)?.is_none();
        let bring = Bring {
            branch: &self.branch,
            old: &old,
            new: &new,
            ignoring: &ignoring,
            asked: self.asked || makes,
            notes: &context.dir.join(FORWARD),
            passed: &crash::point,
        };
        crash::point("forward:before");
        let forward = context.repo.fast_forward(&bring);
        crash::point("forward:after");
        let why = match forward {
            Ok(Forward::Done) => return Ok(finished(format!("{} is at {}", self.branch, new.short()))),
            Ok(Forward::Contained { at }) => match context.arrival(&old, &new, &at).map_err(text)? {
                Arrival::There(changed) => return Ok(finished(self.went_on(&new, &at, &changed))),
                Arrival::Undone(paths) => Held::Undone(paths),
            },
            Ok(Forward::Refused(why)) => held(why),
            // A failure of git may be temporary, so it is retried. At the last attempt the result is held instead, and
            // a person can order it again once the cause is gone.
            Err(error) if self.is_last(context) => Held::Failed(error.to_string()),
            Err(error) => return Err(error.to_string()),
        };
        notes.extend(whole_list(context, &why));
        // Tribunal never runs the user's filters, so the user's own git has to do this one.
        if let Held::Filtered(_) = why {
            notes.push(Note::Left { command: tribunal_git::forward_command(&new) });
        }
        // The record of an artifact that was not approved is not worth holding the run for.
        Ok(match self.ending.is_good() {
            true => RunReport::Held(why),
            false => finished(left_alone(&self.branch, &why)),
        })
    }

    /// Where a branch is that already has the result, because a person brought it there and went on from it.
    fn went_on(&self, new: &Oid, at: &Oid, changed: &[String]) -> String {
        let there = format!("{} contains {}, and is at {}", self.branch, new.short(), at.short());
        let there = match changed.is_empty() {
            true => there,
            false => format!("{there}; changed after: {}", tribunal_view::branch::named(changed)),
        };
        match new == at {
            true => there,
            false => format!("{there}. That commit was not judged, and not tested as merged"),
        }
    }

    /// Leaves the command that applies the fixes. Fixes of code that is on no branch are the user's to take.
    fn offer(
        &self,
        context: &RunContext,
        target: &Reviewed,
        notes: &mut Vec<Note>,
    ) -> Result<String, GitError> {
        let tip = self.approved.as_ref().map(|approved| context.commit_of(approved)).transpose()?;
        // The review approved exactly what it was given, so there are no fixes to offer.
        let Some(tip) = tip.filter(|tip| tip.as_str() != target.head) else {
            return Ok("nothing was changed".to_owned());
        };
        let command = format!("git diff {} {tip} | git apply --index", target.head);
        notes.push(Note::Left { command });
        Ok("the fixes are on no branch".to_owned())
    }

    /// Whether the next failure would use up the attempts.
    fn is_last(&self, context: &RunContext) -> bool {
        self.effect.n.fails + 1 >= context.settings.run.attempts_max
    }
}

fn finished(note: String) -> RunReport {
    RunReport::Finished { note }
}

/// Translates git's refusal into the reason that the run machine knows.
fn held(why: tribunal_git::Refusal) -> Held {
    use tribunal_git::Refusal as R;
    let texts = |paths: Vec<GitPath>| {
        paths.iter().map(|path| String::from_utf8_lossy(path.as_bytes()).into_owned()).collect()
    };
    match why {
        R::Moved { found: Some(_) } => Held::Moved,
        R::Moved { found: None } => Held::Gone,
        R::NotAhead => Held::Failed("the result does not follow the branch".to_owned()),
        R::Elsewhere { folder } => Held::Elsewhere(folder.to_string_lossy().into_owned()),
        R::Busy { what } => Held::Busy(what.to_owned()),
        R::Dirty { paths } => Held::Dirty(texts(paths)),
        R::InTheWay { paths } => Held::InTheWay(texts(paths)),
        R::Filtered { paths } => Held::Filtered(texts(paths)),
    }
}

/// Writes all the paths that hold a result to a file, if there are more than the message shows.
fn whole_list(context: &RunContext, why: &Held) -> Option<Note> {
    let (Held::Dirty(paths) | Held::InTheWay(paths) | Held::Filtered(paths)) = why else { return None };
    if paths.len() <= tribunal_view::branch::SHOWN {
        return None;
    }
    let place = context.dir.join("in-the-way.txt");
    let lines: String = paths.iter().map(|path| format!("{}\n", plain::line(path))).collect();
    write_atomic(&place, lines.as_bytes()).ok()?;
    Some(Note::Warning(format!(
        "all {} paths that hold the result are listed in {}",
        paths.len(),
        place.display()
    )))
}

fn documents(n: usize) -> String {
    tribunal_view::words::count(n, "planning document")
}

/// A planning document to be written, and what was there before.
pub(crate) struct Written {
    pub(crate) path: String,
    pub(crate) before: Option<Vec<u8>>,
    /// Every run renders it anew, so that the version of an earlier run is replaced.
    pub(crate) rendered: bool,
    /// Git tracks it on the run branch, or will.
    pub(crate) tracked: bool,
    pub(crate) bytes: Vec<u8>,
}

/// Pushes the user's branch if it is at the result. A failure is only a note: the branch has the result either way.
fn push(context: &RunContext, branch: &str, notes: &mut Vec<Note>) -> String {
    let pushed = || -> Result<Option<Pushed>, GitError> {
        let head = context.run_head()?;
        // Only the exact result is pushed. A branch that is elsewhere has commits that this run knows nothing about.
        if context.repo.ref_at(&format!("refs/heads/{branch}"))? != Some(head) {
            return Ok(None);
        }
        crash::point("push:before");
        let pushed = context.repo.push_branch(branch)?;
        crash::point("push:after");
        Ok(Some(pushed))
    };
    let (why, remote) = match pushed() {
        Ok(None) => return format!("{branch} was not pushed: it is not at the result"),
        Ok(Some(Pushed::Done { remote })) => {
            return format!("{branch} was pushed to {}", plain::line(&remote));
        }
        Ok(Some(Pushed::NoUpstream)) => return format!("{branch} was not pushed: it has no upstream"),
        Ok(Some(Pushed::Refused { remote, why })) => (why, remote),
        Err(error) => (error.to_string(), "origin".to_owned()),
    };
    let (why, remote) = (plain::clipped(&why, 300), plain::line(&remote));
    notes.push(Note::Warning(format!("{branch} could not be pushed: {why}")));
    format!("{branch} was not pushed ({why}); to push it: git push {remote} {branch}")
}

/// `NN-REVIEW.md` in the phase's folder; empty if the folder is unknown.
pub fn review_path(phase_path: &str) -> String {
    let folder = Path::new(phase_path).file_name().map(|name| name.to_string_lossy().into_owned());
    let number = folder.as_deref().map(|name| name.split_once('-').map_or(name, |(number, _)| number));
    number.map(|number| format!("{phase_path}/{number}-REVIEW.md")).unwrap_or_default()
}

/// A SUMMARY that names the commits as they landed: a landing may rebase them or add trailers to the last one.
///
/// The hashes are not part of what was approved. Nothing else in the text changes, and if old and new commits cannot be
/// matched one to one, the text stays as it is.
fn as_landed(context: &RunContext, plan: &PlanId, path: &str, bytes: Vec<u8>) -> Result<Vec<u8>, GitError> {
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let old = tribunal_docs::read_summary(path, &text).value.map(|summary| summary.commit_hashes);
    let (Some(mut old), Some(head)) = (old, context.repo.ref_at(&context.name(&format!("landed/{plan}")))?)
    else {
        return Ok(bytes);
    };
    // Commits that were on the branch before the run did not land again.
    let taken = crate::build::import::of_plan(context, plan.as_str())?;
    old.retain(|hash| !taken.iter().any(|oid| oid.as_str().starts_with(hash.as_str())));
    // A plan that the branch had already did not land. Its commits have other names there, which are not known here.
    if context.repo.ref_at(&landed_ref(context, plan, "from"))?.as_ref() == Some(&head) {
        return Ok(bytes);
    }
    let mut base = head.clone();
    // As many commits back as the SUMMARY names. A plan that landed as another number of commits is left alone below.
    for _ in 0..old.len() {
        match context.repo.parents_of(&base)?.into_iter().next() {
            Some(parent) => base = parent,
            None => return Ok(bytes),
        }
    }
    let new = context.repo.commits_between(&base, &head)?;
    if new.len() != old.len() {
        return Ok(bytes);
    }
    let renamed = old.iter().zip(&new).fold(text, |text, (old, new)| text.replace(old.as_str(), new.short()));
    Ok(renamed.into_bytes())
}

/// Writes documents that git does not track, each only if the original is still what the run copied.
fn write_untracked(root: &Path, files: &[Written]) -> Result<String, String> {
    let mut kept = Vec::new();
    for file in files {
        let path = root.join(&file.path);
        let now = fs::read(&path).ok();
        // Written already, perhaps before a crash.
        if now.as_deref() == Some(&file.bytes) {
            continue;
        }
        // The user changed the document since the run read it; their text wins.
        if now != file.before && now.is_some() && !file.rendered {
            kept.push(file.path.clone());
            continue;
        }
        if path.parent().is_some_and(|parent| !parent.is_dir()) {
            inside::folders(root, &file.path)
                .map_err(|error| format!("cannot make the folder of {}: {error}", file.path))?;
        }
        crash::point("document:before");
        write_atomic(&path, &file.bytes).map_err(|error| format!("cannot write {}: {error}", file.path))?;
        crash::point("document:after");
    }
    Ok(match kept.is_empty() {
        true => format!("{} written", documents(files.len())),
        false => format!("left as they are, because they changed meanwhile: {}", kept.join(", ")),
    })
}

impl RunContext {
    /// Whether a branch that contains a result still has it. Documents that accompany code do not decide.
    fn arrival(&self, old: &Oid, new: &Oid, at: &Oid) -> Result<Arrival, GitError> {
        self.repo.arrival(&Arrived { old, new, at, beside: &self.project.planning_path() })
    }
}

/// Whether the run branch has what the review approved. Until then, a branch at the run branch does not have the
/// result.
fn is_advanced(context: &RunContext, run_state: &RunState) -> Result<bool, GitError> {
    let run = run_state.run.as_ref().filter(|run| run.spec().review);
    match run.and_then(|run| run.tip()) {
        Some(tip) => {
            let tip = context.commit_of(tip)?;
            // A signed result does not descend from the approved commit, so the ref is asked first.
            let known = context.repo.ref_at(&context.name(ADVANCED))?.as_ref() == Some(&tip);
            Ok(known || context.repo.is_ancestor(&tip, &context.run_head()?)?)
        }
        None => Ok(true),
    }
}

/// Whether a finishing step that was intended before a crash has happened.
///
/// A probe that cannot tell answers `Unknown`, never `NotDone`: only a proven absence may lead to a second attempt.
pub(crate) fn probe_finish(context: &RunContext, step: FinishStep, run_state: &RunState) -> Probe {
    let done =
        |note: &str| Probe::Done(Report::Run(RunReport::Finished { note: note.to_owned() }), Vec::new());
    match step {
        FinishStep::Boundary => match context.repo.ref_at(&context.name("boundary")) {
            Ok(Some(_)) => done("planning documents are on the run branch"),
            Ok(None) => Probe::NotDone,
            Err(_) => Probe::Unknown,
        },
        FinishStep::Forward => {
            let is_done = || -> Result<bool, GitError> {
                if !is_advanced(context, run_state)? {
                    return Ok(false);
                }
                let (old, new) = (Oid::parse(run_state.base())?, context.run_head()?);
                Ok(match context.repo.fast_forward_probe(&run_state.about.branch, &old, &new)? {
                    ForwardProbe::Done => true,
                    ForwardProbe::Contained { at } => {
                        matches!(context.arrival(&old, &new, &at)?, Arrival::There(_))
                    }
                    ForwardProbe::NotDone | ForwardProbe::Elsewhere => false,
                })
            };
            match is_done() {
                Ok(true) => done("the branch has the result"),
                Ok(false) => Probe::NotDone,
                Err(_) => Probe::Unknown,
            }
        }
        FinishStep::Push => {
            let branch = &run_state.about.branch;
            let seen = || Ok::<_, GitError>(context.repo.upstream_seen(branch)? == Some(context.run_head()?));
            match seen() {
                Ok(true) => done(&format!("{branch} was pushed")),
                // Pushing what the remote already has does nothing, so a push that was not seen may be tried again.
                Ok(false) => Probe::NotDone,
                Err(_) => Probe::Unknown,
            }
        }
    }
}
