//! The real world behind the engine's seam: git, processes, agents and the clock. It starts what the engine asks for,
//! on worker threads, and reports what came of it.
//!
//! Nothing is decided here. For each want there is a type with a `gather` that copies what it needs from the docket, in
//! the event loop, and a `run` that does the work on a worker and reports once, unless it was stopped. To add a want,
//! write such a type, start it in `start_loop` or `start_run`, and say in `probe` how a crash is recovered from.

mod build;
mod check;
mod land;
mod launch;
mod project;
mod review;
mod sandbox;
mod setup;
mod site;
mod tests_run;
mod tool;

pub use crate::build::takeover::EXECUTION_STATE;
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
    ReviewAsk, ReviewPlan, SettingsBase, Target, begin_review, plan_review, replace_seat, settings_base,
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
use crate::land::rebase;
use crate::land::rebase::{Carrying, Rebasing};
use crate::land::{Finishing, Landing, Summarising};
use crate::launch::lost;
use crate::launch::word;
use crate::launch::{Flight, read_back, session_of};
use crate::project::kept;
use crate::review::convene;
use crate::review::judge::{Checkpoint, Judge};
use crate::review::track::Tracking;
use crate::site::Site;
use crate::site::pool;
use crate::site::pool::Pool;
use crate::site::situation;
use crate::site::subject;
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
use tribunal_engine::docket::{Docket, LaunchNote, Note};
use tribunal_engine::world::{Arrival, Assignment, Probe, Report, Want, World};
use tribunal_process::{Exit, ExitHow, Left, end_left_behind, survivors, sweep};

/// How long agents may clean up when the run is over.
const END_GRACE: Duration = Duration::from_secs(2);

/// The outside of a run: git, agents, commands, people and the clock.
///
/// Fast and slow jobs have separate threads. A check may take minutes, and must not delay the reading of an agent's
/// answer.
pub struct RealWorld {
    site: Arc<Site>,
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
        if let Some(note) = land::settle_forward(&self.site) {
            let _ = self.sender.send(Arrival::Notes(vec![note]));
        }
    }

    /// Queues a job for an effect. A job that panics is our bug and costs an attempt, but the run does not hang.
    fn work(&self, jobs: &pool::Jobs, effect: &EffectId, job: impl FnOnce() + Send + 'static) {
        let (site, effect) = (Arc::clone(&self.site), effect.clone());
        jobs.run(move || site.guard(&effect, job));
    }

    /// Starts an effect of a loop. `None` if what it is about cannot be found.
    ///
    /// The arms are ordered from special to general: a guard that moves below the general arm of its want is never
    /// reached.
    fn start_loop(&self, effect: &EffectId, want: &LoopWant, docket: &Docket) -> Option<()> {
        let lp = docket.loops.get(&LoopId::new(effect.of.as_str()))?;
        let site = Arc::clone(&self.site);
        match want {
            LoopWant::Make { maker, findings, onto } if is_mended(lp) => {
                let fix = Fix::gather(effect, lp, maker, findings, onto.as_ref(), docket)?;
                let jobs = if fix::is_agent(maker) { &self.site.jobs } else { &self.site.slow };
                self.work(jobs, effect, move || fix.run(&site));
            }
            LoopWant::Make { findings, .. } if subject::of(lp.id()) == Some(Subject::Chain) => {
                let crafting = Crafting::gather(&site, effect, lp, findings, docket)?;
                self.work(&self.site.jobs, effect, move || crafting.run(&site));
            }
            LoopWant::Make { findings, .. } => {
                let make = Make::gather(&site, effect, lp, findings, docket)?;
                self.work(&self.site.jobs, effect, move || make.run(&site));
            }
            LoopWant::Judge { seat, put, .. } => {
                let judge = Judge::gather(&site, effect, lp, seat, put, docket)?;
                self.work(&self.site.jobs, effect, move || judge.run(&site));
            }
            LoopWant::Hear { finding, seat, .. } => {
                let judge = Judge::hearing(&site, effect, lp, seat, *finding, docket)?;
                self.work(&self.site.jobs, effect, move || judge.run(&site));
            }
            LoopWant::Check { check, .. } if check.as_str() == fix::SCOPE => {
                // The strayed files are known already and only have to be reported, so this needs no worker.
                KeptToFiles::gather(effect, lp, docket).run(&site);
            }
            LoopWant::Check { check, revision } if tools::is_one(check, docket) => {
                let looking = Looking::gather(&site, effect, lp, check, revision, docket)?;
                self.work(&self.site.slow, effect, move || looking.run(&site));
            }
            LoopWant::Check { check, revision } if ProjectCommand::of(check).is_some() => {
                let command = ProjectCommand::of(check)?;
                let looking = ProjectCheck::gather(&site, effect, lp, command, revision, docket)?;
                self.work(&self.site.slow, effect, move || looking.run(&site));
            }
            LoopWant::Check { check, revision } => {
                let checking = Checking::gather(&site, effect, lp, check, revision, docket)?;
                self.work(&self.site.slow, effect, move || checking.run(&site));
            }
            LoopWant::Track { .. } => {
                let subject = subject::of(lp.id())?;
                let path = subject::plan_of(&subject).and_then(|plan| docket.about.paths.get(plan).cloned());
                let tracking = Tracking::gather(&site, effect, lp, path, docket)?;
                self.work(&self.site.jobs, effect, move || tracking.run(&site));
            }
            LoopWant::Join { parts } => {
                let join = Join::gather(effect, lp, parts, docket)?;
                self.work(&self.site.jobs, effect, move || join.run(&site));
            }
            // A question waits for a person and a wake for the clock: there is nothing to start.
            LoopWant::Ask(_) | LoopWant::Wake { .. } => return None,
        }
        Some(())
    }

    /// Starts an effect of the run. `None` if what it is about cannot be found.
    fn start_run(&self, effect: &EffectId, want: &RunWant, docket: &Docket) -> Option<()> {
        let site = Arc::clone(&self.site);
        match want {
            RunWant::Summary { plan, revision } => {
                let summary = Summarising::gather(&site, effect, plan, revision, docket)?;
                self.work(&self.site.jobs, effect, move || summary.run(&site));
            }
            RunWant::Checkpoint { plan } => {
                let checkpoint = Checkpoint::gather(&site, effect, plan, docket)?;
                self.work(&self.site.jobs, effect, move || checkpoint.run(&site));
            }
            RunWant::Land { plan, revision } => {
                let landing = Landing::gather(&site, effect, plan, revision, docket);
                self.work(&self.site.slow, effect, move || landing.run(&site));
            }
            RunWant::Finish { step, ending, asked } => {
                let finishing = Finishing::gather(effect, *step, *ending, *asked, docket);
                self.work(&self.site.jobs, effect, move || finishing.run(&site));
            }
            RunWant::Rebase => {
                let rebasing = Rebasing::gather(effect, docket);
                self.work(&self.site.jobs, effect, move || rebasing.run(&site));
            }
            RunWant::Carry { from, tip } => {
                let carrying = Carrying::gather(&site, effect, from.as_ref(), tip, docket);
                self.work(&self.site.slow, effect, move || carrying.run(&site));
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
    fn probe_launch(&self, effect: &EffectId, docket: &Docket) -> Probe {
        let dir = self.site.launch_dir(effect);
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
        let adapter = self.site.adapter_for(&agent_names(effect)).unwrap_or_default();
        // The adapter is gone from the settings. Nobody can read the output, but what was reserved has been spent.
        let Ok(row) = self.site.adapters.get(&adapter) else {
            let unknown = LaunchNote::unknown(effect, self.site.reserve(effect));
            return Probe::Lost(vec![lost::note(&dir, unknown)]);
        };
        let flight = Flight {
            session: self.session(effect, &adapter, docket),
            effect: effect.clone(),
            role: role_of(effect).to_owned(),
            agent: adapter,
            // The round is filled in by whoever takes the answer, or from the reservation.
            round: 0,
            told: self.site.told(role_of(effect), &dir),
            word: word::of_launch(&dir),
            identity: self.site.identity_of(&agent_names(effect), row, &prompt_of(&dir)),
            out_dir: dir,
            reserved: self.site.reserve(effect),
            left_out: Vec::new(),
        };
        // How long it took is not known any more.
        let ended = read_back(row, &flight, &exit, None, Duration::ZERO);
        let lost = Probe::Lost(vec![lost::note(&flight.out_dir, ended.note.clone())]);
        if ended.failure.is_some() {
            return lost;
        }
        self.take_over(effect, ended, docket).unwrap_or(lost)
    }

    /// The session that a launch of a dead orchestrator continued. The docket gives the same answer as it gave then.
    fn session(&self, effect: &EffectId, agent: &str, docket: &Docket) -> Option<launch::Session> {
        let Step::Make(maker) = &effect.step else { return None };
        let row = self.site.adapters.get(agent).ok()?;
        let session = session_of(docket, &LoopId::new(effect.of.as_str()), maker.as_str(), agent)?;
        row.can(Feature::Resume, Access::Write).then_some(session)
    }

    /// Takes what a builder left that ended while nobody watched.
    fn made_meanwhile(
        &self,
        effect: &EffectId,
        lp: &Loop,
        ended: launch::Ended,
        docket: &Docket,
    ) -> Option<Probe> {
        let mut wants = lp.wants();
        let LoopWant::Make { maker, findings, onto } = wants.remove(effect)? else { return None };
        let (report, notes) = if is_mended(lp) {
            let fix = Fix::gather(effect, lp, &maker, &findings, onto.as_ref(), docket)?;
            fix.recovered(&self.site, ended)?
        } else if subject::of(lp.id()) == Some(Subject::Chain) {
            Crafting::gather(&self.site, effect, lp, &findings, docket)?.recovered(&self.site, ended)?
        } else {
            Make::gather(&self.site, effect, lp, &findings, docket)?.recovered(&self.site, ended)?
        };
        Some(Probe::Done(Report::Loop(report), notes))
    }

    /// The answer of a launch that ended while nobody watched.
    fn take_over(&self, effect: &EffectId, ended: launch::Ended, docket: &Docket) -> Option<Probe> {
        let lp = docket.loops.get(&LoopId::new(effect.of.as_str()))?;
        match &effect.step {
            Step::Make(_) => self.made_meanwhile(effect, lp, ended, docket),
            Step::Judge(_) | Step::Hear(_) => Judge::recovered(&self.site, effect, lp, ended, docket),
            _ => None,
        }
    }
}

/// Whether a loop's findings go to fixers, each in a checkout of its own.
fn is_mended(lp: &Loop) -> bool {
    matches!(subject::of(lp.id()), Some(Subject::Phase | Subject::Polish))
}

/// The role in which an effect's agent was launched.
fn role_of(effect: &EffectId) -> &str {
    match &effect.step {
        Step::Make(maker) => maker.as_str(),
        Step::Judge(_) if effect.n.backup => "backup",
        Step::Hear(_) => "hearing",
        _ => "reviewer",
    }
}

/// The role under which the fallback of a builder is configured.
pub(crate) fn backup_of(maker: &str) -> &'static str {
    if maker == "architect" { "architect-backup" } else { "dev-backup" }
}

/// The prompt of a launch, as it was written for the agent.
fn prompt_of(dir: &std::path::Path) -> String {
    std::fs::read_to_string(dir.join(tribunal_agent::PROMPT_FILE)).unwrap_or_default()
}

/// The names under which the agent of an effect is configured, the most specific first.
pub(crate) fn agent_names(effect: &EffectId) -> Vec<&str> {
    match &effect.step {
        Step::Make(maker) if effect.of.as_str().starts_with("phase.") => vec![maker.as_str(), "fixer", "dev"],
        Step::Make(maker) if effect.of.as_str().starts_with("chain.") && !effect.n.backup => {
            vec![maker.as_str(), "dev"]
        }
        Step::Make(maker) if effect.n.backup => vec![backup_of(maker.as_str()), maker.as_str()],
        Step::Make(maker) => vec![maker.as_str()],
        Step::Judge(seat) if effect.n.backup => vec!["backup", seat.as_str(), "reviewer"],
        Step::Judge(seat) => vec![seat.as_str(), "reviewer"],
        _ => vec!["reviewer"],
    }
}

impl World for RealWorld {
    fn now(&mut self) -> Time {
        site::now()
    }

    fn convene(&mut self, subject: &Subject, docket: &Docket) -> Vec<Note> {
        // The panel of a review of existing code was assembled when the review began.
        if *subject != Subject::Phase || docket.review().is_some() {
            return Vec::new();
        }
        match convene::convene(&self.site, docket) {
            Ok(note) => note.into_iter().map(|note| Note::Convened(Box::new(note))).collect(),
            // Without a panel nobody can review, and then a person is asked.
            Err(error) => vec![Note::Warning(format!("no panel could be put together: {error}"))],
        }
    }

    fn situation(&mut self, subject: &Subject, docket: &Docket) -> Situation {
        situation::gather(&self.site, subject, docket)
    }

    fn recover(&mut self, docket: &Docket) -> Vec<Note> {
        // Accounts that were rate limited stay so: a restart must not send them requests early.
        for launch in &docket.launches {
            launch.parked_until.into_iter().for_each(|until| self.site.park_until(&launch.agent, until));
        }
        let launches = self.site.dir.join("launches");
        let entries = std::fs::read_dir(launches).into_iter().flatten().filter_map(Result::ok);
        let ended =
            entries.filter(|entry| matches!(end_left_behind(&entry.path()), Ok(Left::Ended(_)))).count();
        // The marker also finds processes that no launch folder knows of.
        let swept = sweep(&self.site.marker);
        let mut notes = vec![Note::Resumed];
        if ended + swept.killed > 0 {
            let text = format!("{} processes of an interrupted run were ended", ended.max(swept.killed));
            notes.push(Note::Warning(text));
        }
        if !swept.left.is_empty() {
            notes.push(Note::Warning(format!("processes that could not be ended: {:?}", swept.left)));
        }
        notes.extend(self.site.promised_since(&docket.about));
        notes.extend(lost::unwanted(&self.site, docket));
        notes.extend(kept::untold(&self.site, docket).into_iter().map(Note::Warning));
        notes
    }

    fn probe(&mut self, assignment: Assignment<'_>) -> Probe {
        let Assignment { effect, want, docket } = assignment;
        match want {
            Want::Loop(_) => self.probe_launch(effect, docket),
            Want::Run(RunWant::Land { plan, .. }) => land::probe_landing(&self.site, plan),
            Want::Run(RunWant::Finish { step, .. }) => land::probe_finish(&self.site, *step, docket),
            Want::Run(RunWant::Summary { .. }) => Probe::NotDone,
            Want::Run(RunWant::Checkpoint { .. }) => self.probe_launch(effect, docket),
            Want::Run(RunWant::Rebase) => rebase::probe(&self.site, effect, docket),
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
        if matches!(&effect.step, Step::Make(maker) if !fix::is_agent(maker)) {
            return None;
        }
        self.site.parked(&self.site.adapter_for(&agent_names(effect))?)
    }

    fn reserve(&mut self, effect: &EffectId) -> u64 {
        if matches!(&effect.step, Step::Make(maker) if !fix::is_agent(maker)) {
            return 0;
        }
        self.site.reserve(effect)
    }

    fn start(&mut self, assignment: Assignment<'_>) {
        let Assignment { effect, want, docket } = assignment;
        // Set before the work begins: checkouts are prepared from the base of the change under review.
        *site::lock(&self.site.judged_from) = Some(docket.reviewed_from().to_owned());
        let started = match want {
            Want::Loop(want) => self.start_loop(effect, want, docket),
            Want::Run(want) => self.start_run(effect, want, docket),
        };
        if started.is_none() {
            let text = "what it is about cannot be found";
            self.site.fail(effect, Failure::new(FailureKind::DidNotRun, text), Vec::new());
        }
    }

    fn stop(&mut self, effect: &EffectId) {
        self.site.stop(effect);
    }

    fn next(&mut self, until: Option<Time>) -> Vec<Arrival> {
        let first = match until {
            None => self.arrivals.recv().ok(),
            Some(until) => {
                let wait = Duration::from_millis(until.0.saturating_sub(site::now().0));
                self.arrivals.recv_timeout(wait).ok()
            }
        };
        // Bounded, so that a flood of reports cannot keep the engine from its next turn.
        first.into_iter().chain(self.arrivals.try_iter().take(256)).collect()
    }

    fn end_agents(&mut self) -> Vec<Note> {
        self.site.keeper.shutdown(END_GRACE);
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
        self.site.repo.stop_looking();
        let _ = self.end_agents();
        self.checkers.finish();
        // Packs that are kept a little longer than needed only cost disk space.
        let _ = self.site.repo.release();
        if !survivors(&self.site.marker).is_empty() || self.site.keeper.containment().is_partial() {
            sweep(&self.site.marker);
        }
    }
}
