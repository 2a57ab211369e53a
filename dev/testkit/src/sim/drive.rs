//! Drives one seed: lives of the process one after the other, over the same journal and the same outside, until
//! the run has ended.

use super::fault::Fault;
use super::mailbox;
use super::outside::{Keep, Outside, Violation};
use super::people;
use super::reaper::{Death, Killed, Reaper};
use super::rng::dice;
use super::scene::{Scene, Size};
use super::tally::Tally;
use super::witness::Witness;
use super::world::{SimWorld, nonsense};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use tempfile::TempDir;
use tribunal_core::effect::FinishStep;
use tribunal_core::run::Ending;
use tribunal_engine::run_state::RunNote;
use tribunal_engine::{End, Engine, EngineError, Note, RunState};
use tribunal_journal::{Head, Journal, Mail, Options, Synchronous};

/// Lives after which a run is held to go on for ever.
const LIVES_MAX: u32 = 400;

/// What one seed came to.
pub struct Outcome {
    /// The seed.
    pub seed: u64,
    /// The first law that did not hold.
    pub violation: Option<Violation>,
    /// What was reached.
    pub tally: Tally,
    /// One line per fact and per event outside; empty unless asked for.
    pub trace: Vec<String>,
    /// One number over every fact and every want; 0 unless asked for.
    pub digest: u64,
    /// Rows in the journal at the end.
    pub rows: u64,
    /// Points where the process could have died.
    pub points: u64,
    /// How plans and loops ended, for comparing.
    pub ends: BTreeMap<String, String>,
}

/// Simulates one seed.
pub fn simulate(seed: u64) -> Outcome {
    drive(Scene::draw(seed, Size::Any), Death::ByDials, Keep::End)
}

/// Simulates one seed and digests every event and every want of both machines.
///
/// Two builds with the same digests decided the same. That proves a refactoring of the core, where a law would only
/// prove that the new decisions are lawful too.
pub fn digested(seed: u64) -> Outcome {
    drive(Scene::draw(seed, Size::Any), Death::ByDials, Keep::Digest)
}

/// Simulates one seed and keeps its trace.
pub fn traced(seed: u64) -> Outcome {
    drive(Scene::draw(seed, Size::Any), Death::ByDials, Keep::Trace)
}

/// Kills a small run of the seed once at every point there is, and compares its end with the run that nobody
/// killed. Returns the tally of all lives and the first outcome that differs or breaks a law.
pub fn sweep(seed: u64) -> (Tally, u64, Option<Outcome>) {
    let scene = || Scene::draw(seed, Size::Small);
    let calm = drive(scene(), Death::At(u64::MAX), Keep::End);
    let mut tally = calm.tally.clone();
    if calm.violation.is_some() {
        return (tally, 0, Some(drive(scene(), Death::At(u64::MAX), Keep::Trace)));
    }
    // A person's stop, and what it interrupts, depends on when it comes.
    let timed = ["stopped", "cancelled"].iter().any(|ending| calm.tally.count("ending", ending) > 0);
    for point in 0..calm.points {
        let mut killed = drive(scene(), Death::At(point), Keep::End);
        tally.merge(&killed.tally);
        if killed.violation.is_none() && !timed && killed.ends != calm.ends {
            let text = format!("killed at point {point}, it ends otherwise: {}", differ(&calm, &killed));
            killed.violation = Some(Violation { law: "crash changes nothing", text });
        }
        if killed.violation.is_some() {
            killed.trace = drive(scene(), Death::At(point), Keep::Trace).trace;
            return (tally, calm.points, Some(killed));
        }
    }
    tally.saw("sweep", "killed at every point");
    (tally, calm.points, None)
}

fn differ(calm: &Outcome, killed: &Outcome) -> String {
    let names: std::collections::BTreeSet<&String> = calm.ends.keys().chain(killed.ends.keys()).collect();
    let differs = |name: &&&String| calm.ends.get(**name) != killed.ends.get(**name);
    let lines = names
        .iter()
        .filter(differs)
        .map(|name| format!("{name}: {:?} became {:?}", calm.ends.get(*name), killed.ends.get(*name)));
    lines.collect::<Vec<_>>().join("; ")
}

/// How one life ended.
enum Life {
    Returned(Result<End, EngineError>),
    Died(Fault),
    Panicked(String),
}

struct Drive {
    outside: Rc<RefCell<Outside>>,
    journal: Option<Journal>,
    run_state: RunState,
    // Removed when the seed is over.
    _dir: Option<TempDir>,
}

fn drive(scene: Scene, death: Death, keep: Keep) -> Outcome {
    let seed = scene.seed;
    let reaper = Reaper::new(seed, scene.dials.clone(), death, scene.crashes_max);
    let mut outside = Outside::new(scene, reaper.clone(), keep);
    outside.say(|| format!("seed {seed}"));
    let (plans, faults) = (outside.scene.describe(), outside.scene.dials.describe());
    outside.say(|| plans);
    outside.say(|| faults);
    match open(outside) {
        Ok(mut drive) => {
            drive.lives();
            drive.finish(&reaper)
        }
        Err(text) => Outcome {
            seed,
            violation: Some(Violation { law: "journal", text }),
            tally: Tally::default(),
            trace: Vec::new(),
            digest: 0,
            rows: 0,
            points: 0,
            ends: BTreeMap::new(),
        },
    }
}

fn open(mut outside: Outside) -> Result<Drive, String> {
    let head = Head {
        run_id: format!("sim-{}", outside.scene.seed),
        product_version: "0".to_owned(),
        created_at: outside.now().0,
    };
    let (journal, dir) = if outside.scene.on_disk {
        let shm = std::path::Path::new("/dev/shm");
        let made = if shm.is_dir() { tempfile::tempdir_in(shm) } else { tempfile::tempdir() };
        let dir = made.or_else(|_| tempfile::tempdir()).map_err(|e| e.to_string())?;
        let options = Options { synchronous: Synchronous::Off };
        let journal = Journal::create_with(dir.path(), &head, options).map_err(|e| e.to_string())?;
        outside.dir = Some(dir.path().to_owned());
        outside.tally.saw("store", "directory");
        (journal, Some(dir))
    } else {
        outside.tally.saw("store", "memory");
        (Journal::in_memory(&head).map_err(|e| e.to_string())?, None)
    };
    let outside = Rc::new(RefCell::new(outside));
    Ok(Drive { outside, journal: Some(journal), run_state: RunState::default(), _dir: dir })
}

impl Drive {
    fn lives(&mut self) {
        for _ in 0..LIVES_MAX {
            let Some(life) = self.live() else { return };
            let goes_on = self.after(life);
            if !goes_on || self.outside.borrow().violation().is_some() {
                return;
            }
        }
        self.violate("I8 bounded", format!("still going after {LIVES_MAX} lives"));
    }

    fn violate(&self, law: &'static str, text: String) {
        self.outside.borrow_mut().violate(law, text);
    }

    /// One life of the process, from its start to its end or death.
    fn live(&mut self) -> Option<Life> {
        let mut journal = self.journal.take()?;
        let fresh = journal.last_seq() == 0;
        self.outside.borrow_mut().begin_life();
        let (options, spec, reaper) = {
            let out = self.outside.borrow();
            (out.scene.options.clone(), out.scene.spec.clone(), out.reaper.clone())
        };
        journal.inject(reaper.appends());
        let world = SimWorld::new(self.outside.clone());
        let made = if fresh {
            let about =
                Note::Run(Box::new(RunNote { phase: "01 simulated".to_owned(), ..RunNote::default() }));
            Engine::begin(journal, world, options, &spec, about)
        } else {
            Engine::resume(journal, world, options)
        };
        let mut engine = match made {
            Ok(engine) => engine,
            Err(error) => return self.not_made(&error),
        };
        let mut witness = Witness::new(self.outside.clone());
        let ran = catch_unwind(AssertUnwindSafe(|| engine.run(&mut witness)));
        let (journal, _, run_state) = engine.into_parts();
        self.run_state = run_state;
        match journal.reopen() {
            Ok(journal) => self.journal = Some(journal),
            Err(error) => self.violate("journal", format!("it cannot be opened again: {error}")),
        }
        Some(match ran {
            Ok(end) => Life::Returned(end),
            Err(payload) => match payload.downcast::<Killed>() {
                Ok(killed) => Life::Died(killed.0),
                Err(other) => Life::Panicked(words(other.as_ref())),
            },
        })
    }

    /// The engine could not even begin. Without an answer about a landing that is as it should be: try later.
    fn not_made(&mut self, error: &EngineError) -> Option<Life> {
        let mut out = self.outside.borrow_mut();
        out.say(|| format!("~ the engine does not begin: {error}"));
        let dir = out.dir.clone().filter(|_| matches!(error, EngineError::Unproven { .. }));
        let Some(dir) = dir else {
            out.violate("resume", error.to_string());
            return None;
        };
        out.tally.saw("engine", "no answer about a landing");
        drop(out);
        match Journal::open_with(&dir, Options { synchronous: Synchronous::Off }) {
            Ok(journal) => self.journal = Some(journal),
            Err(error) => self.violate("journal", format!("it cannot be opened again: {error}")),
        }
        Some(Life::Died(Fault::ProbeUnknown))
    }

    /// What follows on a life; false when the run is over.
    fn after(&mut self, life: Life) -> bool {
        let mut out = self.outside.borrow_mut();
        if let Some(journal) = &self.journal {
            out.catch_up(journal);
        }
        match life {
            Life::Panicked(text) => {
                out.violate("panic", text);
                false
            }
            Life::Died(fault) => {
                out.tally.saw("engine", "killed");
                out.say(|| format!("~ {}", fault.word()));
                out.nothing_is_forgotten();
                let downtime = out.downtime();
                out.orphan(downtime);
                drop(out);
                self.between_lives();
                true
            }
            Life::Returned(end) => {
                out.said_goodbye();
                drop(out);
                if end.is_ok() {
                    self.check_mail();
                }
                self.returned(end)
            }
        }
    }

    /// A letter is consumed in the transaction of what it led to.
    fn check_mail(&self) {
        let left = self.journal.as_ref().map(Journal::mail);
        let wait = |mail: &Mail| mailbox::may_wait(&self.outside.borrow().laws.shadow, mail);
        let done = match &left {
            None => true,
            Some(Ok(left)) => left.iter().all(wait),
            Some(Err(_)) => false,
        };
        if !done {
            self.violate("mailbox", format!("letters were read and not consumed: {left:?}"));
        }
    }

    fn returned(&mut self, end: Result<End, EngineError>) -> bool {
        let mut out = self.outside.borrow_mut();
        match end {
            Ok(End::Ended(ending)) => {
                out.tally.saw("engine", "ended");
                out.check_ending(ending);
                return false;
            }
            Ok(End::Waiting) => {
                out.tally.saw("engine", "waiting");
                drop(out);
                self.answer();
            }
            Ok(End::Spent(spent)) => {
                out.violate("budget", format!("there is no cap, and yet: {spent}"));
                return false;
            }
            Ok(End::Suspended { .. }) => {
                out.tally.saw("engine", "suspended");
                out.was_suspended();
                drop(out);
                self.between_lives();
            }
            Err(EngineError::Journal(error)) => {
                out.tally.saw("engine", "failed");
                // The folder has another name each time, and a trace has the same words.
                let dir = out.dir.as_ref().map(|dir| dir.display().to_string()).unwrap_or_default();
                let words = error.to_string();
                let words = if dir.is_empty() { words } else { words.replace(&dir, "RUN") };
                out.say(|| format!("~ the engine failed: {words}"));
                drop(out);
                self.between_lives();
            }
            Err(error) => {
                out.violate("engine", error.to_string());
                return false;
            }
        }
        true
    }

    /// Only people can move the run: one or all of them do, by letter.
    fn answer(&mut self) {
        let mut out = self.outside.borrow_mut();
        let open = people::questions(&out.laws.shadow);
        out.hold("waiting", !open.is_empty(), || "the engine waits for a person and asks nothing".to_owned());
        out.t += 3_600_000;
        let all = out.rng.chance(500);
        let (scene, now) = (out.scene.clone(), out.now());
        let twice = out.strikes(Fault::RepeatedAnswer);
        drop(out);
        let Some(journal) = &mut self.journal else { return };
        for (effect, asked) in open.iter().take(if all { open.len() } else { 1 }) {
            let second = twice.then_some("second thoughts");
            for salt in ["answer"].into_iter().chain(second) {
                let Ok(message) = people::answer(&scene, effect, asked, salt).message(now) else { continue };
                let posted = journal.post(&message);
                self.outside.borrow_mut().posted(&message, posted);
            }
        }
    }

    /// While nothing runs, somebody may write.
    fn between_lives(&mut self) {
        let mut out = self.outside.borrow_mut();
        if out.laws.rows == 0 {
            return;
        }
        let now = out.now();
        let unreadable = out.dir.is_none() && out.strikes(Fault::UnreadableMessage);
        let messages = if out.dir.is_none() { out.messages() } else { Vec::new() };
        drop(out);
        let Some(journal) = &mut self.journal else { return };
        let written = messages.iter().filter_map(|body| body.message(now).ok());
        for message in unreadable.then(|| nonsense(now)).into_iter().chain(written) {
            let posted = journal.post(&message);
            self.outside.borrow_mut().posted(&message, posted);
        }
    }

    fn finish(mut self, reaper: &Reaper) -> Outcome {
        let (rows, folded) = self.refold();
        let mut out = self.outside.borrow_mut();
        if let Some(folded) = folded {
            let same = folded == out.laws.shadow && folded == self.run_state;
            let whole = out.violation().is_some() || same;
            out.hold("replay", whole, || "folding the whole journal gives another run state".to_owned());
        }
        reaper.take_struck().into_iter().for_each(|fault| out.tally.struck(fault));
        Outcome {
            seed: out.scene.seed,
            violation: out.violation().cloned(),
            tally: std::mem::take(&mut out.tally),
            rows,
            points: reaper.points(),
            ends: ends(&out.laws.shadow),
            trace: out.take_trace(),
            digest: out.digested(),
        }
    }

    fn refold(&mut self) -> (u64, Option<RunState>) {
        let Some(journal) = &self.journal else { return (0, None) };
        let mut run_state = RunState::default();
        let read: Result<(), tribunal_engine::RunStateError> = journal.each(1, |row| run_state.take(&row));
        if let Err(error) = read {
            self.violate("replay", error.to_string());
            return (journal.last_seq(), None);
        }
        (journal.last_seq(), Some(run_state))
    }
}

fn words(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic".to_owned())
}

/// How everything ended, without what depends on the order of events: names of findings, tips.
fn ends(run_state: &RunState) -> BTreeMap<String, String> {
    let mut ends = BTreeMap::new();
    for (id, review_loop) in &run_state.loops {
        let outcome = review_loop.outcome().map_or("open", |outcome| outcome.word());
        let revision = review_loop.revision().map(super::git::unordered);
        ends.insert(id.to_string(), format!("{outcome} in round {}, {revision:?}", review_loop.round()));
    }
    if let Some(run) = &run_state.run {
        ends.insert("run".to_owned(), run.ending().map_or("open", Ending::word).to_owned());
        for (plan, standing) in run.standings() {
            ends.insert(plan.to_string(), format!("{standing:?}"));
        }
    }
    ends
}

impl Outside {
    fn begin_life(&mut self) {
        self.say(|| "~ an orchestrator starts".to_owned());
        self.shut = false;
        self.new_life();
        if self.scene.options.attached {
            self.wake_people();
        }
    }

    /// The engine returned by itself: then it has ended everything it started.
    fn said_goodbye(&mut self) {
        let (shut, left) = (self.shut, self.running.len());
        self.hold("I5 shutdown", shut, || "the engine returned without shutting the world down".to_owned());
        self.hold("I5 shutdown", left == 0, || format!("{left} effects still run"));
    }

    /// Nobody resumes a run that is over: what still runs then runs for ever.
    fn nothing_is_forgotten(&mut self) {
        let dying = self.dying.values().filter(|until| **until > self.t).count();
        let (over, left) = (self.laws.ended(), self.running.len() + dying);
        self.hold("I5 shutdown", !over || left == 0, || {
            format!("by its journal the run is over, it died, and {left} effects still run")
        });
    }

    fn downtime(&mut self) -> u64 {
        let mut rng = dice(self.scene.seed, "downtime", &self.t.to_string());
        if rng.chance(500) { rng.below(5_000) } else { rng.below(600_000) }
    }

    fn was_suspended(&mut self) {
        let interrupted = self.interrupts > 0;
        if self.left > 0 && self.interrupts == 1 {
            self.tally.saw("engine", "suspended, grace over");
        }
        self.hold("interrupt", interrupted, || "suspended by nobody".to_owned());
    }

    fn check_ending(&mut self, ending: Ending) {
        let by_rows = self.laws.shadow.run.as_ref().and_then(tribunal_core::run::Run::ending);
        self.hold("replay", by_rows == Some(ending), || format!("it says {ending:?}, the rows {by_rows:?}"));
        let forwards = self.scene.spec.finish.contains(&FinishStep::Forward);
        let there = self.git.finished.get(&FinishStep::Forward).is_some_and(|times| *times == 1);
        self.hold("there", !ending.is_good() || !forwards || there, || {
            format!("it ended {ending:?}, and the user's branch does not have the result")
        });
        let outside = self.git.landings.len();
        let told = self.landed_by_rows();
        self.hold("I7 once", outside == told, || {
            format!("{outside} plans are on the branch, the journal says {told}")
        });
    }

    fn landed_by_rows(&self) -> usize {
        let run = self.laws.shadow.run.iter();
        run.flat_map(|run| run.standings())
            .filter(|(_, standing)| matches!(standing, tribunal_core::run::Standing::Landed(_)))
            .count()
    }
}
