//! The real world behind the engine's seam: git, processes, agents and the clock. It starts what the engine asks for,
//! on worker threads, and reports what came of it.
//!
//! Nothing is decided here. For each want there is a type with a `gather` that copies what it needs from the run state, in
//! the event loop, and a `run` that does the work on a worker and reports once, unless it was stopped. To add a want,
//! write such a type, start it in `start_loop` or `start_run`, and say in `probe` how a crash is recovered from.

mod build;
mod check;
mod context;
mod land;
mod launch;
mod project;
mod review;
mod sandbox;
mod setup;
mod tests_run;
mod tool;

pub use crate::build::import::EXECUTION_STATE;
pub(crate) use crate::check::delivery::REGRESSION;
pub use crate::check::rules::check as check_rules;
pub use crate::check::script::{Bounds, Finished, PrivateFolder, run_argv, run_line, unique_id};
pub use crate::land::review_path;
pub use crate::launch::trial;
pub use crate::project::codebase::codebase;
pub use crate::project::context::{FAMILIES, tiers};
pub use crate::project::error::{SetupError, WITHOUT_AGENTS};
pub use crate::project::identity::sha256;
pub use crate::project::inside::{DOCUMENT_MAX, read_plain};
pub use crate::project::{FOLDER, PhaseFiles, Project};
pub use crate::project::{standing, state, trusted};
pub use crate::sandbox::enforced::facts as sandbox_facts;
pub use crate::setup::chain::{Artifact, ChainAsk, begin_chain, begin_implementation, plans_of};
pub use crate::setup::doctor;
pub use crate::setup::examine::{
    ReviewAsk, ReviewPlan, SettingsBase, Target, begin_review, plan_review, replace_reviewer, settings_base,
};
pub(crate) use crate::setup::roster::adapters;
pub use crate::setup::roster::check as check_agents;
pub use crate::setup::words::{DoAsk, begin_do, change_of};
pub use crate::setup::{
    Ask, GcAsk, GcReport, SETTINGS, arrived, begin, fixed, gc, kept_settings, marker, not_taken,
    place_to_fix, resume, settings_of,
};
pub use crate::tests_run::green::{commands_at, detected_commands};
pub use sandbox::Sandbox;
pub use tribunal_process::write_atomic;

use crate::build::artifact::Crafting;
use crate::build::fix;
use crate::build::fix::{Fix, Join, KeptToFiles};
use crate::build::make::Make;
use crate::check::Checking;
use crate::context::RunContext;
use crate::context::pool;
use crate::context::pool::Pool;
use crate::context::situation;
use crate::context::subject;
use crate::land::rebase;
use crate::land::rebase::{Carrying, Rebasing};
use crate::land::{Finishing, Landing, Summarising};
use crate::launch::lost;
use crate::launch::word;
use crate::launch::{Flight, read_back, session_of};
use crate::project::kept;
use crate::review::assemble;
use crate::review::judge::{Checkpoint, Judge};
use crate::review::track::Tracking;
use crate::tests_run::green::ProjectCheck;
use crate::tool::tools;
use crate::tool::tools::Looking;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;
use tribunal_agent::{Access, Feature};
use tribunal_core::effect::{EffectId, Step};
use tribunal_core::green::ProjectCommand;
use tribunal_core::ids::{LoopId, Time};
use tribunal_core::machine::Machine;
use tribunal_core::policy::Situation;
use tribunal_core::review_loop::{Failure, FailureKind, Loop, LoopWant};
use tribunal_core::run::{RunWant, Subject};
use tribunal_engine::run_state::{LaunchNote, Note, RunState};
use tribunal_engine::world::{Arrival, Assignment, Probe, Report, Want, World};
use tribunal_process::{Exit, ExitHow, Left, end_left_behind, survivors, sweep};

/// How long agents may clean up when the run is over.
const END_GRACE: Duration = Duration::from_secs(2);

/// The outside of a run: git, agents, commands, people and the clock.
///
/// Fast and slow jobs have separate threads. A check may take minutes, and must not delay the reading of an agent's
/// answer.
pub struct RealWorld {
    context: Arc<RunContext>,
    arrivals: Receiver<Arrival>,
    sender: Sender<Arrival>,
    /// Threads that read back what agents left, and do other short work.
    workers: Pool,
    /// Threads that run checks, which may take minutes.
    checkers: Pool,
}

/// A handle for the code that catches signals and watches the mailbox.
#[derive(Clone)]
pub struct Handle(Sender<Arrival>);

impl Handle {
    /// Tells the run that the user asks it to stop.
    pub fn interrupt(&self, signal: i32) {
        // Sending only fails when the run is over.
        let _ = self.0.send(Arrival::Interrupt { signal });
    }

    /// Tells the run that a message may be in the mailbox.
    pub fn mail(&self) {
        let _ = self.0.send(Arrival::Mail);
    }
}

impl RealWorld {
    /// A handle for signals and mail.
    pub fn handle(&self) -> Handle {
        Handle(self.sender.clone())
    }

    /// Settles a fast-forward that a dead orchestrator left unfinished, before anything else is done with the user's
    /// files.
    fn settle_forward(&self) {
        if let Some(note) = land::settle_forward(&self.context) {
            let _ = self.sender.send(Arrival::Notes(vec![note]));
        }
    }

    /// Queues a job for an effect. A job that panics is our bug and costs an attempt, but the run does not hang.
    fn work(&self, jobs: &pool::Jobs, effect: &EffectId, job: impl FnOnce() + Send + 'static) {
        let (context, effect) = (Arc::clone(&self.context), effect.clone());
        jobs.run(move || context.guard(&effect, job));
    }

    /// Starts an effect of a loop. `None` if what it is about cannot be found.
    ///
    /// The arms are ordered from special to general: a guard that moves below the general arm of its want is never
    /// reached.
    fn start_loop(&self, effect: &EffectId, want: &LoopWant, run_state: &RunState) -> Option<()> {
        let review_loop = run_state.loops.get(&LoopId::new(effect.of.as_str()))?;
        let context = Arc::clone(&self.context);
        match want {
            LoopWant::Make { builder, findings, onto } if is_fixed(review_loop) => {
                let fix = Fix::gather(effect, review_loop, builder, findings, onto.as_ref(), run_state)?;
                let jobs = if fix::is_agent(builder) { &self.context.jobs } else { &self.context.slow };
                self.work(jobs, effect, move || fix.run(&context));
            }
            LoopWant::Make { findings, .. } if subject::of(review_loop.id()) == Some(Subject::Chain) => {
                let crafting = Crafting::gather(&context, effect, review_loop, findings, run_state)?;
                self.work(&self.context.jobs, effect, move || crafting.run(&context));
            }
            LoopWant::Make { findings, .. } => {
                let make = Make::gather(&context, effect, review_loop, findings, run_state)?;
                self.work(&self.context.jobs, effect, move || make.run(&context));
            }
            LoopWant::Judge { reviewer, put, .. } => {
                let judge = Judge::gather(&context, effect, review_loop, reviewer, put, run_state)?;
                self.work(&self.context.jobs, effect, move || judge.run(&context));
            }
            LoopWant::Hear { finding, reviewer, .. } => {
                let judge = Judge::hearing(&context, effect, review_loop, reviewer, *finding, run_state)?;
                self.work(&self.context.jobs, effect, move || judge.run(&context));
            }
            LoopWant::Check { check, .. } if check.as_str() == fix::SCOPE => {
                // The strayed files are known already and only have to be reported, so this needs no worker.
                KeptToFiles::gather(effect, review_loop, run_state).run(&context);
            }
            LoopWant::Check { check, revision } if tools::is_one(check, run_state) => {
                let looking = Looking::gather(&context, effect, review_loop, check, revision, run_state)?;
                self.work(&self.context.slow, effect, move || looking.run(&context));
            }
            LoopWant::Check { check, revision } if ProjectCommand::of(check).is_some() => {
                let command = ProjectCommand::of(check)?;
                let looking =
                    ProjectCheck::gather(&context, effect, review_loop, command, revision, run_state)?;
                self.work(&self.context.slow, effect, move || looking.run(&context));
            }
            LoopWant::Check { check, revision } => {
                let checking = Checking::gather(&context, effect, review_loop, check, revision, run_state)?;
                self.work(&self.context.slow, effect, move || checking.run(&context));
            }
            LoopWant::Track { .. } => {
                let subject = subject::of(review_loop.id())?;
                let path =
                    subject::plan_of(&subject).and_then(|plan| run_state.about.paths.get(plan).cloned());
                let tracking = Tracking::gather(&context, effect, review_loop, path, run_state)?;
                self.work(&self.context.jobs, effect, move || tracking.run(&context));
            }
            LoopWant::Join { parts } => {
                let join = Join::gather(effect, review_loop, parts, run_state)?;
                self.work(&self.context.jobs, effect, move || join.run(&context));
            }
            // A question waits for a person and a wake for the clock: there is nothing to start.
            LoopWant::Ask(_) | LoopWant::Wake { .. } => return None,
        }
        Some(())
    }

    /// Starts an effect of the run. `None` if what it is about cannot be found.
    fn start_run(&self, effect: &EffectId, want: &RunWant, run_state: &RunState) -> Option<()> {
        let context = Arc::clone(&self.context);
        match want {
            RunWant::Summary { plan, revision } => {
                let summary = Summarising::gather(&context, effect, plan, revision, run_state)?;
                self.work(&self.context.jobs, effect, move || summary.run(&context));
            }
            RunWant::Checkpoint { plan } => {
                let checkpoint = Checkpoint::gather(&context, effect, plan, run_state)?;
                self.work(&self.context.jobs, effect, move || checkpoint.run(&context));
            }
            RunWant::Land { plan, revision } => {
                let landing = Landing::gather(&context, effect, plan, revision, run_state);
                self.work(&self.context.slow, effect, move || landing.run(&context));
            }
            RunWant::Finish { step, ending, asked } => {
                let finishing = Finishing::gather(effect, *step, *ending, *asked, run_state);
                self.work(&self.context.jobs, effect, move || finishing.run(&context));
            }
            RunWant::Rebase => {
                let rebasing = Rebasing::gather(effect, run_state);
                self.work(&self.context.jobs, effect, move || rebasing.run(&context));
            }
            RunWant::Carry { from, tip } => {
                let carrying = Carrying::gather(&context, effect, from.as_ref(), tip, run_state);
                self.work(&self.context.slow, effect, move || carrying.run(&context));
            }
            RunWant::Loop { .. }
            | RunWant::AskLane { .. }
            | RunWant::AskHeld { .. }
            | RunWant::Wake { .. } => return None,
        }
        Some(())
    }

    /// Finds out what became of an agent's launch of a dead orchestrator: the launch is ended, and its answer taken if
    /// it is complete.
    fn probe_launch(&self, effect: &EffectId, run_state: &RunState) -> Probe {
        let dir = self.context.launch_dir(effect);
        let exit = match end_left_behind(&dir) {
            Ok(Left::NeverLaunched) => return Probe::NotDone,
            Ok(Left::Gone(exit)) => exit,
            // It was still running and has just been ended, so how it ended says nothing about its answer.
            Ok(Left::Ended(_)) => None,
            Err(_) => return Probe::Unknown,
        };
        // How it ended is not known. A kill is assumed, so that only a complete answer can count.
        let unknown = || Exit {
            id: String::new(),
            how: ExitHow::Signal(9),
            cause: tribunal_process::Cause::Stopped,
            killed: 0,
            left: Vec::new(),
            stdout_bytes: 0,
            stderr_bytes: 0,
        };
        let exit = exit.unwrap_or_else(unknown);
        let adapter = self.context.adapter_for(&agent_names(effect)).unwrap_or_default();
        // The adapter is gone from the settings. Nobody can read the output, but what was reserved has been spent.
        let Ok(row) = self.context.adapters.get(&adapter) else {
            let unknown = LaunchNote::unknown(effect, self.context.reserve(effect));
            return Probe::Lost(vec![lost::note(&dir, unknown)]);
        };
        let flight = Flight {
            session: self.session(effect, &adapter, run_state),
            effect: effect.clone(),
            role: role_of(effect).to_owned(),
            agent: adapter,
            // The round is filled in by whoever takes the answer, or from the reservation.
            round: 0,
            told: self.context.told(role_of(effect), &dir),
            word: word::of_launch(&dir),
            identity: self.context.identity_of(&agent_names(effect), row, &prompt_of(&dir)),
            out_dir: dir,
            reserved: self.context.reserve(effect),
            left_out: Vec::new(),
        };
        // How long it took is not known any more.
        let ended = read_back(row, &flight, &exit, None, Duration::ZERO);
        let lost = Probe::Lost(vec![lost::note(&flight.out_dir, ended.note.clone())]);
        if ended.failure.is_some() {
            return lost;
        }
        self.take_over(effect, ended, run_state).unwrap_or(lost)
    }

    /// The session that a launch of a dead orchestrator continued. The run state gives the same answer as it gave then.
    fn session(&self, effect: &EffectId, agent: &str, run_state: &RunState) -> Option<launch::Session> {
        let Step::Make(builder) = &effect.step else { return None };
        let row = self.context.adapters.get(agent).ok()?;
        let session = session_of(run_state, &LoopId::new(effect.of.as_str()), builder.as_str(), agent)?;
        row.can(Feature::Resume, Access::Write).then_some(session)
    }

    /// Takes what a builder left that ended while nobody watched.
    fn made_meanwhile(
        &self,
        effect: &EffectId,
        review_loop: &Loop,
        ended: launch::Ended,
        run_state: &RunState,
    ) -> Option<Probe> {
        let mut wants = review_loop.wants();
        let LoopWant::Make { builder, findings, onto } = wants.remove(effect)? else { return None };
        let (report, notes) = if is_fixed(review_loop) {
            let fix = Fix::gather(effect, review_loop, &builder, &findings, onto.as_ref(), run_state)?;
            fix.recovered(&self.context, ended)?
        } else if subject::of(review_loop.id()) == Some(Subject::Chain) {
            Crafting::gather(&self.context, effect, review_loop, &findings, run_state)?
                .recovered(&self.context, ended)?
        } else {
            Make::gather(&self.context, effect, review_loop, &findings, run_state)?
                .recovered(&self.context, ended)?
        };
        Some(Probe::Done(Report::Loop(report), notes))
    }

    /// The answer of a launch that ended while nobody watched.
    fn take_over(&self, effect: &EffectId, ended: launch::Ended, run_state: &RunState) -> Option<Probe> {
        let review_loop = run_state.loops.get(&LoopId::new(effect.of.as_str()))?;
        match &effect.step {
            Step::Make(_) => self.made_meanwhile(effect, review_loop, ended, run_state),
            Step::Judge(_) | Step::Hear(_) => {
                Judge::recovered(&self.context, effect, review_loop, ended, run_state)
            }
            _ => None,
        }
    }
}

/// Whether a loop's findings go to fixers, each in a checkout of its own.
fn is_fixed(review_loop: &Loop) -> bool {
    matches!(subject::of(review_loop.id()), Some(Subject::Phase | Subject::Polish))
}

/// The role in which an effect's agent was launched.
fn role_of(effect: &EffectId) -> &str {
    match &effect.step {
        Step::Make(builder) => builder.as_str(),
        Step::Judge(_) if effect.n.backup => "backup",
        Step::Hear(_) => "hearing",
        _ => "reviewer",
    }
}

/// The role under which the fallback of a builder is configured.
pub(crate) fn backup_of(builder: &str) -> &'static str {
    if builder == "architect" { "architect-backup" } else { "dev-backup" }
}

/// The prompt of a launch, as it was written for the agent.
fn prompt_of(dir: &std::path::Path) -> String {
    std::fs::read_to_string(dir.join(tribunal_agent::PROMPT_FILE)).unwrap_or_default()
}

/// The names under which the agent of an effect is configured, the most specific first.
pub(crate) fn agent_names(effect: &EffectId) -> Vec<&str> {
    match &effect.step {
        Step::Make(builder) if effect.of.as_str().starts_with("phase.") => {
            vec![builder.as_str(), "fixer", "dev"]
        }
        Step::Make(builder) if effect.of.as_str().starts_with("chain.") && !effect.n.backup => {
            vec![builder.as_str(), "dev"]
        }
        Step::Make(builder) if effect.n.backup => vec![backup_of(builder.as_str()), builder.as_str()],
        Step::Make(builder) => vec![builder.as_str()],
        Step::Judge(reviewer) if effect.n.backup => vec!["backup", reviewer.as_str(), "reviewer"],
        Step::Judge(reviewer) => vec![reviewer.as_str(), "reviewer"],
        _ => vec!["reviewer"],
    }
}

impl World for RealWorld {
    fn now(&mut self) -> Time {
        context::now()
    }

    fn assemble(&mut self, subject: &Subject, run_state: &RunState) -> Vec<Note> {
        // The panel of a review of existing code was assembled when the review began.
        if *subject != Subject::Phase || run_state.review().is_some() {
            return Vec::new();
        }
        match assemble::assemble(&self.context, run_state) {
            Ok(note) => note.into_iter().map(|note| Note::Assembled(Box::new(note))).collect(),
            // Without a panel nobody can review, and then a person is asked.
            Err(error) => vec![Note::Warning(format!("no panel could be put together: {error}"))],
        }
    }

    fn situation(&mut self, subject: &Subject, run_state: &RunState) -> Situation {
        situation::gather(&self.context, subject, run_state)
    }

    fn recover(&mut self, run_state: &RunState) -> Vec<Note> {
        // Accounts that were rate limited stay so: a restart must not send them requests early.
        for launch in &run_state.launches {
            launch.parked_until.into_iter().for_each(|until| self.context.park_until(&launch.agent, until));
        }
        let launches = self.context.dir.join("launches");
        let entries = std::fs::read_dir(launches).into_iter().flatten().filter_map(Result::ok);
        let ended =
            entries.filter(|entry| matches!(end_left_behind(&entry.path()), Ok(Left::Ended(_)))).count();
        // The marker also finds processes that no launch folder knows of.
        let swept = sweep(&self.context.marker);
        let mut notes = vec![Note::Resumed];
        if ended + swept.killed > 0 {
            let text = format!("{} processes of an interrupted run were ended", ended.max(swept.killed));
            notes.push(Note::Warning(text));
        }
        if !swept.left.is_empty() {
            notes.push(Note::Warning(format!("processes that could not be ended: {:?}", swept.left)));
        }
        notes.extend(self.context.promised_since(&run_state.about));
        notes.extend(lost::unwanted(&self.context, run_state));
        notes.extend(kept::untold(&self.context, run_state).into_iter().map(Note::Warning));
        notes
    }

    fn probe(&mut self, assignment: Assignment<'_>) -> Probe {
        let Assignment { effect, want, run_state } = assignment;
        match want {
            Want::Loop(_) => self.probe_launch(effect, run_state),
            Want::Run(RunWant::Land { plan, .. }) => land::probe_landing(&self.context, plan),
            Want::Run(RunWant::Finish { step, .. }) => land::probe_finish(&self.context, *step, run_state),
            Want::Run(RunWant::Summary { .. }) => Probe::NotDone,
            Want::Run(RunWant::Checkpoint { .. }) => self.probe_launch(effect, run_state),
            Want::Run(RunWant::Rebase) => rebase::probe(&self.context, effect, run_state),
            // Carrying over moves nothing, so it can simply be proven again.
            Want::Run(
                RunWant::Carry { .. }
                | RunWant::Loop { .. }
                | RunWant::AskLane { .. }
                | RunWant::AskHeld { .. }
                | RunWant::Wake { .. },
            ) => Probe::NotDone,
        }
    }

    fn not_before(&mut self, effect: &EffectId) -> Option<Time> {
        // Tools and other fixers without an agent have no account that could be rate limited.
        if matches!(&effect.step, Step::Make(builder) if !fix::is_agent(builder)) {
            return None;
        }
        self.context.parked(&self.context.adapter_for(&agent_names(effect))?)
    }

    fn reserve(&mut self, effect: &EffectId) -> u64 {
        if matches!(&effect.step, Step::Make(builder) if !fix::is_agent(builder)) {
            return 0;
        }
        self.context.reserve(effect)
    }

    fn start(&mut self, assignment: Assignment<'_>) {
        let Assignment { effect, want, run_state } = assignment;
        // Set before the work begins: checkouts are prepared from the base of the change under review.
        *context::lock(&self.context.judged_from) = Some(run_state.reviewed_from().to_owned());
        let started = match want {
            Want::Loop(want) => self.start_loop(effect, want, run_state),
            Want::Run(want) => self.start_run(effect, want, run_state),
        };
        if started.is_none() {
            let text = "what it is about cannot be found";
            self.context.fail(effect, Failure::new(FailureKind::DidNotRun, text), Vec::new());
        }
    }

    fn stop(&mut self, effect: &EffectId) {
        self.context.stop(effect);
    }

    fn next(&mut self, until: Option<Time>) -> Vec<Arrival> {
        let first = match until {
            None => self.arrivals.recv().ok(),
            Some(until) => {
                let wait = Duration::from_millis(until.0.saturating_sub(context::now().0));
                self.arrivals.recv_timeout(wait).ok()
            }
        };
        // Bounded, so that a flood of reports cannot keep the engine from its next turn.
        first.into_iter().chain(self.arrivals.try_iter().take(256)).collect()
    }

    fn end_agents(&mut self) -> Vec<Note> {
        self.context.supervisor.shutdown(END_GRACE);
        // The workers still read what each agent left: its cost, and what it was refused. A check that still runs has
        // nothing to add, and does not delay the end.
        self.workers.finish();
        let left = self.arrivals.try_iter().filter_map(|arrival| match arrival {
            Arrival::Report { notes, .. } | Arrival::Notes(notes) => Some(notes),
            Arrival::Mail | Arrival::Interrupt { .. } => None,
        });
        left.flatten().collect()
    }

    fn shutdown(&mut self) {
        // Whoever resumes the run finds out what became of the agents, and reads what they left again.
        self.context.repo.stop_looking();
        let _ = self.end_agents();
        self.checkers.finish();
        // Packs that are kept a little longer than needed only cost disk space.
        let _ = self.context.repo.release();
        if !survivors(&self.context.marker).is_empty() || self.context.supervisor.containment().is_partial() {
            sweep(&self.context.marker);
        }
    }
}
