//! `tribunal run`: begins a run and stays with it until it ends, waits or is interrupted.
//!
//! `Stay` is shared by every command that begins or resumes a run (`do`, `review`, `resume`, `decide`, `land`), so that
//! signals, progress, notices and the report at the end work alike in all of them.

use super::{resume, trust};
use crate::args::{Globals, Run, WaitArgs};
use crate::exit::Done;
use crate::facts::{self, Around};
use crate::failure::Failure;
use crate::notice::Notices;
use crate::place::Place;
use crate::progress::Progress;
use crate::{config, out, signals, test_command};
use std::io::IsTerminal;
use std::path::Path;
use tribunal_core::run::Ending;
use tribunal_engine::history::{Chronicle, History};
use tribunal_engine::run_state::RunNote;
use tribunal_engine::settings::Settings;
use tribunal_engine::{End, Engine, RunState, RunStateError, Stamped, Watch};
use tribunal_journal::Reader;
use tribunal_protocol::projection::Projection;
use tribunal_view::facts::RunView;
use tribunal_view::review::Review;
use tribunal_view::{plain, report, status, summary, words};
use tribunal_world::{Ask, Project, RealWorld};

/// Runs a phase, or goes on with the run of this phase that is not over.
pub fn run(globals: &Globals, args: &Run) -> Result<Done, Failure> {
    if let (Some(first), false) = (&args.phase, args.words.is_empty()) {
        let words = std::iter::once(first).chain(&args.words).cloned().collect::<Vec<_>>().join(" ");
        return Err(offer_do(Failure::usage("`tribunal run` takes one phase, not a sentence"), &words));
    }
    let place = Place::to_work_on()?;
    let mut config = config::here(Some(&place), &args.set)?;
    if trust::offer(globals, &place, &config)? {
        // Read again: what has just been trusted counts only from now on.
        config = config::here(Some(&place), &args.set)?;
    }
    config.settings.run.land_again |= args.land_again;
    let project = place.project()?;
    let settings = &config.settings;
    test_command::asked_once(globals, &place, &project, settings)?;
    // A second run of the same phase would build the same plans again, beside the first.
    if !args.fresh {
        let files = project.phase(args.phase.as_deref()).map_err(|error| unknown_phase(args, error))?;
        // Looked for even with `--plan`: an unreadable run of this phase is reported before anything begins.
        let open = resume::of_phase(&place, &files.number)?;
        if let Some(id) = open.filter(|_| args.plan.is_none()) {
            out::say(&format!("run {id} of this phase is not over: it goes on (--fresh begins another)"));
            resume::check_agents(&place, &project, &id)?;
            return resume::go_on(globals, &place, &id, args.waiting, None);
        }
    }
    let ask = Ask {
        phase: args.phase.clone(),
        plan: args.plan.clone(),
        review: asked(args.review, args.no_review),
        qa: asked(args.qa, args.no_qa),
        panel: asked(args.panel, args.no_panel),
        attached: args.waiting.attach,
    };
    // A refused setting is reported with the file and line it stands in.
    let (id, engine) =
        tribunal_world::begin(&project, settings, &ask).map_err(|error| config.located(error))?;
    if !globals.quiet {
        out::say(&format!("run {id}"));
        tell_noticed(engine.run_state());
        tell_taken_over(engine.run_state());
    }
    let (waiting, uat) = (args.waiting, args.uat);
    let shown = Default::default();
    let stay = Stay { globals, project: &project, id: &id, settings, waiting, uat, shown, asks: false };
    stay.with(engine, Chronicle::default())
}

/// Adds the hint for a person who typed a sentence where a phase is expected.
fn offer_do(failure: Failure, words: &str) -> Failure {
    // The hint is meant to be copied into a shell: nothing in it may end the quotes or be expanded.
    let words = plain::clipped(words, 200).replace(['"', '\\', '`', '$'], "'");
    failure.hint(format!("`tribunal do \"{words}\"` has it built, judged and landed"))
}

fn unknown_phase(args: &Run, error: tribunal_world::SetupError) -> Failure {
    use tribunal_world::SetupError as E;
    let unknown = matches!(error, E::NoPhase { .. } | E::NoPlanning { .. });
    match args.phase.as_ref().filter(|_| unknown) {
        Some(word) => offer_do(Failure::from(error), word),
        None => error.into(),
    }
}

pub fn asked(yes: bool, no: bool) -> Option<bool> {
    (yes || no).then_some(yes)
}

/// Everything a command needs to stay with a run.
///
/// The engine is passed to `with` separately, because it is consumed: after the run nothing may use it, and its lock is
/// given up before anything else is started.
pub struct Stay<'a> {
    pub globals: &'a Globals,
    pub project: &'a Project,
    pub id: &'a str,
    /// The settings the run began with, which need not be those of now.
    pub settings: &'a Settings,
    /// Whether to stay while the run waits for a person.
    pub waiting: WaitArgs,
    /// The person asked to try the result out as soon as the run passes.
    pub uat: bool,
    /// How the result of a review is shown.
    pub shown: super::review::Shown,
    /// The command asks right afterwards what becomes of the result, so the report prints no commands for that.
    pub asks: bool,
}

/// The state after the engine has stopped, from which the report is made.
struct Stayed {
    engine: Engine<RealWorld>,
    chronicle: Chronicle,
    history: Option<History>,
    end: End,
    warnings: Vec<String>,
}

impl Stay<'_> {
    /// Stays with the run until it is over, waits for a person, or is interrupted; then reports the result.
    pub fn with(&self, engine: Engine<RealWorld>, before: Chronicle) -> Result<Done, Failure> {
        self.told(self.stay(engine, before)?)
    }

    fn stay(&self, mut engine: Engine<RealWorld>, before: Chronicle) -> Result<Stayed, Failure> {
        let handle = engine.world().handle();
        let progress = Progress::new(self.globals, self.id, engine.run_state(), before, self.waiting.attach);
        let interrupt = move |signal| handle.interrupt(signal);
        let caught =
            signals::catch(self.settings.run.grace_s, interrupt, progress.at_work(), progress.speaker())?;
        // Scripts of the protocol follow only runs that build plans.
        let files = builds(&engine.run_state().about).then(|| Projection::open(self.project, self.id));
        let (run, root) = (&self.settings.run, self.project.root());
        let notices = Notices::new(run, self.id, root, engine.run_state());
        // A single review may find very much, so its history is folded as it comes and nothing is left to read at the
        // end. A run of a thousand loops would hold all of that in memory a second time; there the journal is read
        // instead.
        let single = engine.run_state().about.review.is_some();
        let history = single.then(|| self.history().ok()).flatten();
        let mut watching = Watching { progress, files, notices, history };
        let ended = engine.run(&mut watching);
        let Watching { progress, files, notices, history } = watching;
        // The run has stopped: from here on Ctrl-C ends the command as usual.
        drop(caught);
        let why = files.and_then(|files| files.map_or_else(Some, |files| files.finish(engine.run_state())));
        // The user's own commands may take a while; a log names them as what it waits for.
        let told = notices.filter(|_| ended.is_ok()).map(|notices| {
            progress.waits_for("run.on_end and run.on_escalation");
            notices.finish()
        });
        let chronicle = progress.finish();
        // Only now: the block must leave the screen and the files must be closed, even if the engine failed.
        let end = ended?;
        let warnings = why.into_iter().chain(told.into_iter().flatten()).collect();
        Ok(Stayed { engine, chronicle, history, end, warnings })
    }

    fn told(&self, stayed: Stayed) -> Result<Done, Failure> {
        let Stayed { engine, chronicle, history, end, warnings } = stayed;
        warnings.iter().for_each(|why| out::say(&format!("warning: {why}")));
        let done = self.tell(engine.run_state(), &chronicle, history, &end)?;
        self.tried_out(engine, done)
    }

    /// Like `with`, but shown on the whole terminal as `tribunal watch` does; the report follows when the person leaves
    /// that.
    pub fn watched(&self, place: &crate::place::Place, engine: Engine<RealWorld>) -> Result<Done, Failure> {
        // Progress lines would be written across the full-screen display.
        let quiet = Globals { quiet: true, ..self.globals.clone() };
        let silent = Stay { globals: &quiet, shown: self.shown, ..*self };
        let colour = out::stdout_style(self.globals).colour;
        let id = self.id.to_owned();
        let stayed = std::thread::scope(|scope| {
            let working = scope.spawn(|| silent.stay(engine, Chronicle::default()));
            let shown = crate::tui::watch(place, id, colour);
            // The panic hook has reported it; here the panic only becomes a failure.
            let stayed = working.join().unwrap_or_else(|_| Err(Failure::already_told()));
            // A display that failed is the error to show, but only after the run has come to its end.
            shown.and(stayed)
        })?;
        self.told(stayed)
    }

    /// Starts the acceptance test if the person asked for it or sits at a terminal; otherwise it stays in the inbox.
    fn tried_out(&self, engine: Engine<RealWorld>, done: Done) -> Result<Done, Failure> {
        let about = engine.run_state().about.clone();
        // The lock of the run goes with the engine: the test that follows may take minutes.
        drop(engine);
        let terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
        let wanted =
            super::uat::wanted(Some(Ending::Passed), &about.autonomy) && terminal && !self.globals.quiet;
        let built = builds(&about);
        // A script that reads JSON has nobody who could try anything out.
        if done != Done::Passed || self.globals.json || !built || !(self.uat || wanted) {
            return Ok(done);
        }
        let phase = about.phase_path.rsplit('/').next().unwrap_or(&about.phase);
        super::uat::walk(self.globals, self.project, self.settings, Some(phase))
    }

    /// The review of the findings and the history it is made from, which is read from the journal if nobody kept it.
    fn reviewed(&self, history: Option<History>, dir: &Path) -> Result<(Review, History), RunStateError> {
        let history = match history {
            Some(history) => history,
            None => self.history()?,
        };
        Ok((super::report::of(&history, self.id, dir), history))
    }

    /// The history of the run as far as it is in the journal.
    fn history(&self) -> Result<History, RunStateError> {
        History::read(&Reader::open(&self.project.run_dir(self.id))?)
    }

    fn tell(
        &self,
        run_state: &RunState,
        chronicle: &Chronicle,
        history: Option<History>,
        end: &End,
    ) -> Result<Done, Failure> {
        let dir = self.project.run_dir(self.id);
        let path = dir.join("report.md");
        let review = dir.join(super::status::review_name(run_state));
        let around = Around {
            id: self.id.to_owned(),
            live: false,
            report: Some(path.clone()),
            review: Some(review.clone()),
            gates: super::status::gates(&dir),
            next_phase: next_phase(self.project, &run_state.about.phase),
        };
        let mut view = facts::run_view(run_state, chronicle, &around);
        add_places(&mut view, &dir, run_state);
        if let Err(error) = tribunal_world::write_atomic(&path, report::markdown(&view).as_bytes()) {
            out::say(&format!("warning: the report could not be written: {error}"));
            // The output must not name a file that is not there.
            view.report = None;
        }
        // Made once, for the file and for the output.
        let told = self.reviewed(history, &dir);
        if let Err(why) = write_review(&told, &review) {
            out::say(&format!("warning: the review could not be written: {why}"));
            view.review = None;
        }
        // After the report is written: it lies in the project, but the output is read where the command was given.
        self.globals.elsewhere().iter().for_each(|dir| view.from_elsewhere(dir));
        let said = if run_state.about.review.is_some() {
            let (review, history) = told?;
            super::review::tell(self.globals, &self.shown, &history, review, &view)
        } else if run_state.about.asked.is_some()
            && !matches!(end, End::Suspended { .. })
            && !self.globals.quiet
        {
            super::do_::tell(self, run_state, &view)
        } else if self.globals.json {
            out::json(&view)
        } else if matches!(end, End::Suspended { .. }) {
            out::say(&status::headline(&view));
            Ok(())
        } else if self.globals.quiet {
            out::data(&result(&view))
        } else {
            let style = out::stdout_style(self.globals);
            let mut text = summary::text(&view, style);
            if self.settings.run.plain_summary {
                text.push_str(&format!("\n{}\n", style.wrap(&summary::sentences(&view), "")));
            }
            out::data(&text)
        };
        // The exit code of the run counts more than a reader of stdout who has gone.
        match said {
            Err(failure) if failure.is_news() => Err(failure),
            _ => {
                if let End::Spent(spent) = end {
                    let command = format!("tribunal resume {} --set {}", self.id, spent.more());
                    let command = match self.globals.elsewhere() {
                        Some(dir) => words::from_elsewhere(&command, &dir),
                        None => command,
                    };
                    out::say(&format!("{spent}\nhint: `{command}` goes on"));
                }
                // The summary names the commands; these three forms do not have it.
                let untold = self.globals.quiet || self.globals.json || run_state.about.review.is_some();
                if *end == End::Waiting && untold {
                    tell_answers(&view);
                }
                Ok(Done::of(end, run_state.left.is_some()))
            }
        }
    }
}

/// The result in one line, for `--quiet`.
fn result(view: &RunView) -> String {
    let report = view.report.iter().map(|path| format!("; report: {path}"));
    std::iter::once(status::headline(view)).chain(report).collect()
}

/// True if the run builds plans.
fn builds(about: &RunNote) -> bool {
    about.review.is_none() && !about.phase.is_empty()
}

/// Prints what was noticed in the plans, before anybody works on them.
pub fn tell_noticed(run_state: &RunState) {
    run_state
        .about
        .warnings
        .iter()
        .for_each(|noticed| out::say(&format!("warning: {}", plain::line(noticed))));
}

/// Prints which tasks an earlier run has committed, so that nobody wonders why they are not built.
pub fn tell_taken_over(run_state: &RunState) {
    for plan in run_state.run.iter().flat_map(|run| run.spec().plans.iter()) {
        if let Some(done) = &plan.done {
            let (id, tasks, next) = (&plan.id, done.tasks, done.tasks + 1);
            out::say(&format!(
                "plan {id}: {tasks} of {} tasks are committed; it goes on with task {next}",
                plan.tasks
            ));
        }
    }
}

/// The number of the phase that follows this one.
fn next_phase(project: &Project, phase: &str) -> Option<String> {
    let phases = project.phases().ok()?;
    phases.into_iter().map(|(number, _)| number).find(|number| number.as_str() > phase)
}

/// Everybody who is shown what the engine commits.
struct Watching {
    progress: Progress,
    files: Option<Result<Projection, String>>,
    notices: Option<Notices>,
    /// What the report is made from; `None` if it is read from the journal at the end.
    history: Option<History>,
}

impl Watch for Watching {
    fn committed(&mut self, run_state: &RunState, facts: &[Stamped]) {
        self.progress.committed(run_state, facts);
        if let Some(history) = &mut self.history
            && facts.iter().any(|stamped| history.apply(stamped.at, &stamped.fact).is_err())
        {
            // The journal is read instead at the end, and that error says what is wrong with it.
            self.history = None;
        }
        if let Some(Ok(files)) = &mut self.files {
            files.committed(run_state, facts);
        }
        if let Some(notices) = &mut self.notices {
            notices.committed(run_state, facts);
        }
    }
}

/// Prints the commands that answer, for those who get no summary.
fn tell_answers(view: &RunView) {
    for open in &view.questions {
        out::say(&format!("{}: {}", open.subject, open.why));
        open.offers.iter().for_each(|offer| out::say(&format!("  {}", offer.command)));
    }
}

/// Adds to each question the checkout in which a person may fix things, if it is still there.
pub fn add_places(view: &mut RunView, run_dir: &Path, run_state: &RunState) {
    let open = tribunal_engine::inbox::questions(run_state);
    for question in &mut view.questions {
        let effect = open.iter().find(|open| open.id == question.id).map(|open| &open.effect);
        let place = effect.and_then(|effect| tribunal_world::place_to_fix(run_dir, run_state, effect));
        // A checkout may have been cleaned up meanwhile.
        question.place = place.filter(|place| place.exists()).map(|place| place.display().to_string());
    }
}

/// Writes the review into the run's folder: no file of the user's is written while a run lives.
fn write_review(told: &Result<(Review, History), RunStateError>, path: &Path) -> Result<(), String> {
    let (review, _) = told.as_ref().map_err(ToString::to_string)?;
    let text = tribunal_view::review::markdown(review);
    tribunal_world::write_atomic(path, text.as_bytes()).map_err(|error| error.to_string())
}
