//! The event loop. It waits at one place, turns each arrival into facts, commits them, and then starts the effects that
//! are wanted and stops those that are not. It makes no decisions: the machines do.
//!
//! The order inside `turns` carries the guarantees. Facts are committed before an effect starts, so a crash can lose an
//! effect but never the record that it was intended. Everything else the engine keeps in memory is derived from the
//! run state and from the machines' wants.

use crate::budget::{Caps, Spent};
use crate::crash;
use crate::mail::Body;
use crate::run_state::{Fact, LaunchNote, Note, RUN, RunState, RunStateError, Stamped};
use crate::world::{Arrival, Assignment, Probe, Report, Want, World};
use std::collections::{BTreeMap, BTreeSet};
use tribunal_core::effect::{EffectId, Step, Try};
use tribunal_core::finding::Fate;
use tribunal_core::ids::{FindingId, LoopId, Of, PlanId, Time};
use tribunal_core::ledger::{CarriedFinding, Tracked};
use tribunal_core::machine::{self, Machine, OutOfOrder};
use tribunal_core::policy;
use tribunal_core::review_loop::{
    Failure, FailureKind, Loop, LoopEvent, LoopIn, LoopReport, LoopWant, Opened,
};
use tribunal_core::run::{Ending, Run, RunEvent, RunIn, RunReport, RunSpec, RunWant};
use tribunal_journal::{Journal, NewRow, Turn};

/// Findings from here on (and 0) have no id yet: the engine gives them one when their report arrives.
///
/// The world cannot number findings itself, because two loops may report at the same time. It numbers the new findings
/// of one report from here up, so that they can refer to each other, and the engine replaces the numbers when it takes
/// the report.
pub const PROVISIONAL: u32 = 1 << 30;

/// Prefixes of the names of the run's own loops; the name of a lane's loop begins with the lane and a slash.
const OWN: [&str; 2] = ["phase.", "chain."];

/// Limits and pauses of the event loop, taken from the settings of the run.
///
/// They are not part of the journal: a resumed run may have other limits, and its machines do not notice.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// How many agents may run at the same time.
    pub width: usize,
    /// Keep waiting when only a person can move the run, instead of returning.
    pub attached: bool,
    /// How long agents may go on after the first interrupt, in milliseconds.
    pub grace_ms: u64,
    /// Pause before a second attempt of an agent; doubled for each further one, in milliseconds.
    pub backoff_ms: u64,
    /// The longest such pause, in milliseconds.
    pub backoff_max_ms: u64,
    /// What may be spent on the run, on one loop and on one round.
    pub caps: Caps,
}

/// A delay of up to `most`, derived from a text: equal texts give equal delays.
///
/// It is a hash and not a random number, so that a simulated run with the same seed pauses for the same time. The
/// spread keeps agents that failed together from retrying together.
pub fn jitter(text: &str, most: u64) -> u64 {
    let hash = tribunal_core::hash::fnv1a(text.bytes());
    // Without the lowest bits, which spread worst.
    if most == 0 { 0 } else { (hash >> 16) % most }
}

/// Why the engine returned.
///
/// Only `Ended` is final. After any other end the journal holds an unfinished run that `resume` continues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The run is over, with this ending.
    Ended(Ending),
    /// Nothing runs, and only a person can move the run.
    Waiting,
    /// A cap of the budget is reached. The run can be resumed with another cap.
    Spent(Spent),
    /// The user interrupted the run. It can be resumed.
    Suspended {
        /// The signal that interrupted it.
        signal: i32,
    },
}

/// Why the engine cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The journal cannot be written or read.
    #[error(transparent)]
    Journal(#[from] tribunal_journal::Error),
    /// The journal holds a row that cannot be read or cannot follow the rows before it.
    #[error(transparent)]
    RunState(#[from] RunStateError),
    /// A machine met an event it had itself emitted and refused it.
    #[error("bug: {0}")]
    Bug(#[from] OutOfOrder),
    /// A fact could not be written as JSON.
    #[error("bug: a fact cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// A landing was under way when the orchestrator died, and nobody can say whether the branch moved.
    ///
    /// Tribunal stops here instead of guessing. If the plan were landed again, its commits could be on the branch
    /// twice; if it were given up, they could be there unnoticed.
    #[error(
        "it cannot be told whether {plan} is merged into the run branch\nhint: see that git works in this repository, then resume the run"
    )]
    Unproven {
        /// The plan that was landing.
        plan: Of,
    },
    /// There is no run in this journal.
    #[error("the journal holds no run\nhint: it was created but never opened; remove it with `tribunal gc`")]
    Empty,
}

/// A reader of every committed fact, in the order of the journal.
///
/// It is called after the commit and not before, so nobody is shown a fact that a crash could take back.
pub trait Watch {
    /// Takes the facts of one commit, with the run state as it is after them.
    fn committed(&mut self, run_state: &RunState, facts: &[Stamped]);
}

impl Watch for () {
    fn committed(&mut self, _run_state: &RunState, _facts: &[Stamped]) {}
}

/// The engine of one run: the journal, the state folded from it, and the world that does the work.
///
/// The sets below are caches of what the machines want and of what runs. They are never written to the journal, because
/// a resumed engine builds them again from the wants.
pub struct Engine<W> {
    journal: Journal,
    run_state: RunState,
    world: W,
    options: Options,
    // Facts that are applied to the run state and not committed yet; `commit` writes all of them in one transaction.
    pending: Vec<(Time, Vec<Fact>)>,
    messages: Vec<u64>,
    /// Machines and lanes whose wants may have changed since they were last compared with what runs.
    dirty: BTreeSet<Of>,
    /// Lanes (the run itself among them) that moved since the loops were last brought in line with them.
    moved: BTreeSet<Of>,
    // The wants of each machine when it was last compared, and the effects that were started for them.
    wanted: BTreeMap<Of, BTreeMap<EffectId, Want>>,
    running: BTreeSet<EffectId>,
    agents: usize,
    // Agents that are ready but for a free place or the budget, and agents that may not start before a time.
    waiting: BTreeSet<EffectId>,
    held: BTreeMap<EffectId, Time>,
    /// What running agents may cost.
    reserved: BTreeMap<EffectId, u64>,
    /// The cap that kept a launch waiting when launches were last looked at.
    spent: Option<Spent>,
    /// Attempts that failed in this life of the engine and were not retried yet. Only their retries are delayed.
    lost: BTreeSet<EffectId>,
    alarms: BTreeSet<(Time, EffectId)>,
    mode: Mode,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Going,
    // The first interrupt lets running agents finish until a time; the second ends them at once.
    Draining { signal: i32, until: Time },
    Killing { signal: i32 },
}

impl<W: World> Engine<W> {
    /// Makes an engine over a fresh journal. The run is opened in the first transaction.
    pub fn begin(
        journal: Journal,
        world: W,
        options: Options,
        spec: &RunSpec,
        about: Note,
    ) -> Result<Engine<W>, EngineError> {
        let mut engine = Engine::empty(journal, world, options);
        let at = engine.world.now();
        let mut run = Run::open(spec);
        let mut facts = vec![Fact::Run(RunEvent::Opened(Box::new(spec.clone())))];
        facts.extend(machine::settle(&mut run)?.into_iter().map(Fact::Run));
        engine.run_state.run = Some(run);
        engine.run_state.apply_note(&about);
        facts.push(Fact::Note(about));
        engine.record(at, facts);
        engine.touch_all();
        Ok(engine)
    }

    /// Makes an engine over a journal that already holds a run.
    ///
    /// It folds the journal, ends processes that a dead orchestrator left, and asks the world about every intent
    /// without a report. The order matters: a process that still runs could change the answer of a probe.
    pub fn resume(journal: Journal, world: W, options: Options) -> Result<Engine<W>, EngineError> {
        let mut engine = Engine::empty(journal, world, options);
        let Engine { journal, run_state, .. } = &mut engine;
        journal.each(1, |row| run_state.take(&row))?;
        if engine.run_state.run.is_none() {
            return Err(EngineError::Empty);
        }
        // The wants of every machine count as changed: nothing runs yet in this life of the engine.
        engine.touch_all();
        engine.dirty.extend(engine.run_state.loops.keys().map(|id| Of::new(id.as_str())));
        let notes = engine.world.recover(&engine.run_state);
        engine.note(notes);
        engine.probe_intents()?;
        engine.read_mail()?;
        Ok(engine)
    }

    fn empty(journal: Journal, world: W, options: Options) -> Engine<W> {
        Engine {
            journal,
            run_state: RunState::default(),
            world,
            options,
            pending: Vec::new(),
            messages: Vec::new(),
            dirty: BTreeSet::new(),
            moved: BTreeSet::new(),
            wanted: BTreeMap::new(),
            running: BTreeSet::new(),
            agents: 0,
            waiting: BTreeSet::new(),
            held: BTreeMap::new(),
            reserved: BTreeMap::new(),
            spent: None,
            lost: BTreeSet::new(),
            alarms: BTreeSet::new(),
            mode: Mode::Going,
        }
    }

    /// The state folded from the journal so far.
    pub fn run_state(&self) -> &RunState {
        &self.run_state
    }

    /// The world, for the caller that made it.
    pub fn world(&self) -> &W {
        &self.world
    }

    /// The world, for a caller that has to change it.
    pub fn world_mut(&mut self) -> &mut W {
        &mut self.world
    }

    /// Gives the journal, the world and the run state back.
    pub fn into_parts(self) -> (Journal, W, RunState) {
        (self.journal, self.world, self.run_state)
    }

    /// Runs until the run is over, only a person can move it, or it is interrupted.
    ///
    /// The world is shut down however the loop ends, also on an error: an agent must not outlive the engine that would
    /// have taken its report.
    pub fn run(&mut self, watch: &mut dyn Watch) -> Result<End, EngineError> {
        let end = self.turns(watch);
        self.world.shutdown();
        end
    }

    fn turns(&mut self, watch: &mut dyn Watch) -> Result<End, EngineError> {
        loop {
            self.sync()?;
            let starts = self.reconcile()?;
            // Agents end before the end is committed. Nobody resumes an ended run, so nobody would find their cost
            // later.
            if self.run_state.run.as_ref().is_some_and(|run| run.ending().is_some()) {
                let notes = self.world.end_agents();
                self.note_before_the_end(notes);
            }
            self.commit(watch)?;
            // After the commit: no one-shot effect starts before its intent is in the journal.
            for effect in &starts {
                self.start(effect);
            }
            if let Some(end) = self.end() {
                return Ok(end);
            }
            let until = self.next_alarm();
            // The only place where the engine waits.
            for arrival in self.world.next(until) {
                self.take(arrival)?;
            }
            self.ring()?;
        }
    }

    fn end(&self) -> Option<End> {
        if let Some(ending) = self.run_state.run.as_ref().and_then(Run::ending) {
            return Some(End::Ended(ending));
        }
        match self.mode {
            Mode::Killing { signal } => Some(End::Suspended { signal }),
            Mode::Draining { signal, .. } if self.running.is_empty() => Some(End::Suspended { signal }),
            Mode::Draining { .. } => None,
            Mode::Going => {
                // A held retry is not idle. Its pause ends by itself, so the run does not wait for a person.
                let idle = self.running.is_empty() && self.held.is_empty();
                match self.spent {
                    Some(spent) if idle && !self.waiting.is_empty() => Some(End::Spent(spent)),
                    _ => (idle && self.waiting.is_empty() && !self.options.attached).then_some(End::Waiting),
                }
            }
        }
    }
}

/// The lane that a loop belongs to; the run itself for the review of the phase.
fn lane_of(id: &LoopId) -> Of {
    id.as_str().split_once('/').map_or_else(Of::run, |(lane, _)| Of::new(lane))
}

/// The ids that the engine gives to the findings of one report.
struct Ids {
    last: u32,
    given: BTreeMap<FindingId, FindingId>,
}

impl Ids {
    fn give(&mut self, id: &mut FindingId) {
        // An id in this range was given before: the finding is known, and it keeps its id.
        if id.0 != 0 && id.0 < PROVISIONAL {
            return;
        }
        self.last += 1;
        // Several findings may have the id 0. Nothing can refer to them, so there is nothing to translate.
        if id.0 != 0 {
            self.given.insert(*id, FindingId(self.last));
        }
        *id = FindingId(self.last);
    }

    fn refer(&self, tracked: &mut Tracked) {
        if let Fate::DuplicateOf(id) | Fate::SupersededBy(id) = &mut tracked.fate
            && let Some(given) = self.given.get(id)
        {
            *id = *given;
        }
        let given = |id: FindingId| self.given.get(&id).copied().unwrap_or(id);
        tracked.remarks.related =
            std::mem::take(&mut tracked.remarks.related).into_iter().map(given).collect();
    }
}

// Arrivals from outside.
impl<W: World> Engine<W> {
    fn take(&mut self, arrival: Arrival) -> Result<(), EngineError> {
        match arrival {
            Arrival::Report { effect, report, notes } => {
                self.note(notes);
                let heard = self.deliver(&effect, report)?;
                // An effect that was stopped is not running any more. Its report is what ends its reservation.
                if !self.running.contains(&effect) {
                    self.reserved.remove(&effect);
                }
                // An ignored report ends nothing: its effect runs on, until its own report or deadline.
                if heard {
                    self.reserved.remove(&effect);
                    self.over(&effect);
                    if effect.step == Step::Land {
                        return self.read_mail();
                    }
                }
                Ok(())
            }
            Arrival::Notes(notes) => {
                self.note(notes);
                Ok(())
            }
            Arrival::Mail => self.read_mail(),
            Arrival::Interrupt { signal } => {
                self.interrupt(signal);
                Ok(())
            }
        }
    }

    fn interrupt(&mut self, signal: i32) {
        let until = Time(self.world.now().0.saturating_add(self.options.grace_ms));
        self.mode = match self.mode {
            Mode::Going => Mode::Draining { signal, until },
            Mode::Draining { .. } | Mode::Killing { .. } => Mode::Killing { signal },
        };
    }

    /// Delivers a report to its machine. False if the machine ignored it.
    ///
    /// A machine ignores a report whose effect it does not want: a late one, a repeated one, or one from an unknown
    /// effect. Such a report leaves a note and changes nothing else.
    fn deliver(&mut self, effect: &EffectId, report: Report) -> Result<bool, EngineError> {
        let at = self.world.now();
        let report = self.with_ids(report);
        let heard = match report {
            Report::Loop(report) => {
                let id = LoopId::new(effect.of.as_str());
                self.turn_loop(&id, &LoopIn::Report { effect: effect.clone(), at, report })?
            }
            Report::Run(report) => self.turn_run(&RunIn::Report { effect: effect.clone(), at, report })?,
        };
        // An alarm may come too late: the effect that it guarded has reported meanwhile. That is no reason for a note.
        if !heard && effect.guarded().is_none() {
            self.note(vec![Note::Ignored { effect: effect.clone() }]);
        }
        Ok(heard)
    }

    /// Gives new findings their ids, in order, also where another finding refers to them.
    fn with_ids(&mut self, report: Report) -> Report {
        let mut ids = Ids { last: self.run_state.last_finding, given: BTreeMap::new() };
        match report {
            Report::Loop(LoopReport::Tracked { mut findings, delta }) => {
                // All ids first, then the references: a finding may refer to a later one of the same report.
                findings.iter_mut().for_each(|tracked| ids.give(&mut tracked.id));
                findings.iter_mut().for_each(|tracked| ids.refer(tracked));
                Report::Loop(LoopReport::Tracked { findings, delta })
            }
            Report::Run(RunReport::LandingRefused { refusal, mut findings }) => {
                findings.iter_mut().for_each(|carried: &mut CarriedFinding| ids.give(&mut carried.id));
                Report::Run(RunReport::LandingRefused { refusal, findings })
            }
            other => other,
        }
    }

    fn read_mail(&mut self) -> Result<(), EngineError> {
        for mail in self.journal.mail()? {
            // Taken in this turn and not committed as read yet.
            if self.messages.contains(&mail.id) {
                continue;
            }
            let body = Body::read(&mail.message);
            // If the landing succeeds there is nothing left to drop. The message waits until its result is known.
            if matches!(&body, Ok(Body::Drop { plan, .. }) if self.is_landing(plan)) {
                continue;
            }
            self.messages.push(mail.id);
            match body {
                Ok(body) => self.take_message(body)?,
                // Marked as read all the same. An unreadable message would otherwise come back in every turn.
                Err(error) => {
                    let text = format!("a message could not be read and was set aside: {error}");
                    self.note(vec![Note::Warning(text)]);
                }
            }
        }
        Ok(())
    }

    fn take_message(&mut self, body: Body) -> Result<(), EngineError> {
        match body {
            Body::Decide { effect, decision } => {
                self.deliver(&effect, Report::Loop(LoopReport::Decided(decision))).map(drop)
            }
            Body::DecideLane { effect, decision } => {
                self.deliver(&effect, Report::Run(RunReport::LaneDecided(decision))).map(drop)
            }
            Body::DecideHeld { effect, decision } => {
                self.deliver(&effect, Report::Run(RunReport::HeldDecided(decision))).map(drop)
            }
            Body::Cancel { .. } => self.turn_run(&RunIn::Cancel).map(drop),
            Body::Drop { plan, by } => {
                let late = format!("{by} asked to drop {plan}: it is over already, or there is no such plan");
                if !self.turn_run(&RunIn::Drop { plan, by })? {
                    self.note(vec![Note::Warning(late)]);
                }
                Ok(())
            }
            // Recorded only: an editor agent has no say in the run.
            Body::Editor(remark) => {
                self.note(vec![Note::Editor(Box::new(remark))]);
                Ok(())
            }
            // The waiver counts from the next review on. The waivers of this one were recorded when it began.
            Body::Waive(waiver) => {
                let text =
                    format!("{} is waived from the next review on ({})", waiver.finding, waiver.words());
                self.note(vec![Note::Warning(text)]);
                Ok(())
            }
        }
    }

    fn is_landing(&self, plan: &PlanId) -> bool {
        let mut intents = self.run_state.run.iter().flat_map(Run::intents);
        intents.any(|(effect, _)| effect.step == Step::Land && effect.of.as_str() == plan.as_str())
    }

    /// Delivers everything whose time has come: deadlines, pauses before a retry, the end of the grace period.
    ///
    /// An alarm is delivered like a report. If its effect has reported meanwhile, the machine ignores it.
    fn ring(&mut self) -> Result<(), EngineError> {
        let now = self.world.now();
        if let Mode::Draining { signal, until } = self.mode
            && now >= until
        {
            self.mode = Mode::Killing { signal };
        }
        let ripe: Vec<EffectId> =
            self.held.iter().filter(|(_, at)| **at <= now).map(|(effect, _)| effect.clone()).collect();
        for effect in ripe {
            self.held.remove(&effect);
            self.waiting.insert(effect);
        }
        let due: Vec<EffectId> =
            self.alarms.iter().take_while(|(at, _)| *at <= now).map(|(_, effect)| effect.clone()).collect();
        for effect in due {
            let report = match self.machine_of(&effect) {
                Some(_) => Report::Loop(LoopReport::Due),
                None => Report::Run(RunReport::Due),
            };
            self.deliver(&effect, report)?;
        }
        Ok(())
    }

    fn next_alarm(&self) -> Option<Time> {
        let drained = match self.mode {
            Mode::Draining { until, .. } => Some(until),
            Mode::Going | Mode::Killing { .. } => None,
        };
        let alarm = self.alarms.first().map(|(at, _)| *at);
        let held = self.held.values().min().copied();
        [alarm, held, drained].into_iter().flatten().min()
    }
}

// Turns of the machines.
impl<W: World> Engine<W> {
    fn machine_of(&self, effect: &EffectId) -> Option<&Loop> {
        self.run_state.loops.get(&LoopId::new(effect.of.as_str()))
    }

    fn turn_run(&mut self, input: &RunIn) -> Result<bool, EngineError> {
        let Some(run) = &mut self.run_state.run else { return Ok(false) };
        // Which lane lands next is the run's decision. A turn of one lane can change it for another one, so the lanes
        // before and after the turn are both compared again.
        let landing = run.lands_next();
        let events = machine::turn(run, input)?;
        let heard = !events.is_empty();
        if heard {
            let lands = [landing, run.lands_next()].into_iter().flatten();
            let touched: Option<Vec<Vec<Of>>> = events.iter().map(RunEvent::touches).collect();
            match touched {
                Some(touched) => self.touch(touched.into_iter().flatten().chain(lands).collect()),
                // An event that cannot name the lanes it touches may touch all of them.
                None => self.touch_all(),
            }
            self.record_now(events.into_iter().map(Fact::Run).collect());
        }
        Ok(heard)
    }

    fn touch(&mut self, lanes: Vec<Of>) {
        self.dirty.extend(lanes.iter().cloned());
        self.moved.extend(lanes);
    }

    fn touch_all(&mut self) {
        let lanes = self.run_state.run.iter().flat_map(Run::parts).collect();
        self.touch(lanes);
    }

    fn turn_loop(&mut self, id: &LoopId, input: &LoopIn) -> Result<bool, EngineError> {
        let Some(review_loop) = self.run_state.loops.get_mut(id) else { return Ok(false) };
        let events = machine::turn(review_loop, input)?;
        let heard = !events.is_empty();
        if heard {
            self.dirty.insert(Of::new(id.as_str()));
            self.record_now(events.into_iter().map(|event| Fact::Loop(id.clone(), event)).collect());
        }
        Ok(heard)
    }

    fn note(&mut self, notes: Vec<Note>) {
        if !notes.is_empty() {
            notes.iter().for_each(|note| self.run_state.apply_note(note));
            self.record_now(notes.into_iter().map(Fact::Note).collect());
        }
    }

    /// Records notes of the agents that were still there when the run ended.
    ///
    /// They go before the event that ends the run, because readers stop at that event.
    fn note_before_the_end(&mut self, notes: Vec<Note>) {
        let ends = |fact: &Fact| matches!(fact, Fact::Run(RunEvent::Ended { .. }));
        let Some(end) = self.pending.iter().position(|(_, facts)| facts.iter().any(ends)) else { return };
        if !notes.is_empty() {
            notes.iter().for_each(|note| self.run_state.apply_note(note));
            let at = self.pending[end].0;
            self.pending.insert(end, (at, notes.into_iter().map(Fact::Note).collect()));
        }
    }

    fn record_now(&mut self, facts: Vec<Fact>) {
        let at = self.world.now();
        self.record(at, facts);
    }

    fn record(&mut self, at: Time, facts: Vec<Fact>) {
        for fact in &facts {
            self.run_state.stamp(at, fact);
            if let Fact::Loop(_, LoopEvent::Failed { effect, .. }) = fact {
                // Without the launch number, because `queue` looks for the attempt, whichever launch of it failed.
                self.lost.insert(EffectId { launch: 0, ..effect.clone() });
            }
        }
        self.pending.push((at, facts));
    }

    /// Brings the loops in line with the run: opens the loops it wants, reports the ended ones to it, and cancels the
    /// rest.
    ///
    /// The sync is level-triggered: it compares states instead of passing messages, so that repeating it changes
    /// nothing and a crash between two steps loses nothing. Only lanes and loops that moved are compared, because a run
    /// may have a thousand of them.
    fn sync(&mut self) -> Result<(), EngineError> {
        let loops = self.dirty.iter().map(|of| LoopId::new(of.as_str()));
        let mut changed: BTreeSet<LoopId> =
            loops.filter(|id| self.run_state.loops.contains_key(id)).collect();
        // A report to the run can move lanes, and a moved lane can open or cancel loops: repeat until nothing moves.
        while !self.moved.is_empty() || !changed.is_empty() {
            for lane in std::mem::take(&mut self.moved) {
                let wanted = self.loops_wanted(&lane);
                changed.extend(self.open_loops(&wanted)?);
                changed.extend(self.cancel_loops(&lane, &wanted)?);
            }
            self.tell_run(&changed)?;
            changed.clear();
        }
        Ok(())
    }

    fn loops_wanted(&self, lane: &Of) -> BTreeMap<LoopId, (EffectId, RunWant)> {
        let wants = self.run_state.run.iter().flat_map(|run| run.wants_of(lane));
        wants
            .filter_map(|(effect, want)| match &want {
                RunWant::Loop { id, .. } => Some((id.clone(), (effect, want))),
                _ => None,
            })
            .collect()
    }

    fn open_loops(
        &mut self,
        wanted: &BTreeMap<LoopId, (EffectId, RunWant)>,
    ) -> Result<Vec<LoopId>, EngineError> {
        let mut opened = Vec::new();
        for (id, (_, want)) in wanted {
            let RunWant::Loop { subject, opening, .. } = want else { continue };
            if self.run_state.loops.contains_key(id) {
                continue;
            }
            // Assemble the panel first. Its note is part of the run state from which the situation is read.
            let notes = self.world.assemble(subject, &self.run_state);
            self.note(notes);
            let Some(run) = &self.run_state.run else { continue };
            let situation = self.world.situation(subject, &self.run_state);
            let policy = policy::for_subject(subject, run.policy(subject), &situation);
            let at = self.world.now();
            let first = Opened { id: id.clone(), policy, opening: opening.clone(), at };
            let mut review_loop = Loop::open(&first);
            let mut events = vec![LoopEvent::Opened(Box::new(first))];
            events.extend(machine::settle(&mut review_loop)?);
            self.run_state.loops.insert(id.clone(), review_loop);
            self.dirty.insert(Of::new(id.as_str()));
            self.record(at, events.into_iter().map(|event| Fact::Loop(id.clone(), event)).collect());
            opened.push(id.clone());
        }
        Ok(opened)
    }

    fn cancel_loops(
        &mut self,
        lane: &Of,
        wanted: &BTreeMap<LoopId, (EffectId, RunWant)>,
    ) -> Result<Vec<LoopId>, EngineError> {
        // Loops are named after their lane, so those of one lane stand together.
        let prefixes = match lane.as_str() {
            RUN => OWN.map(str::to_owned).to_vec(),
            lane => vec![format!("{lane}/")],
        };
        let loops = &self.run_state.loops;
        let named = |first: &String| {
            let first = first.clone();
            loops.range(LoopId::new(&first)..).take_while(move |(id, _)| id.as_str().starts_with(&first))
        };
        let unwanted: Vec<LoopId> = prefixes
            .iter()
            .flat_map(named)
            .filter(|(id, review_loop)| review_loop.outcome().is_none() && !wanted.contains_key(*id))
            .map(|(id, _)| id.clone())
            .collect();
        for id in &unwanted {
            self.turn_loop(id, &LoopIn::Cancel)?;
        }
        Ok(unwanted)
    }

    fn tell_run(&mut self, changed: &BTreeSet<LoopId>) -> Result<(), EngineError> {
        for id in changed {
            let wanted = self.loops_wanted(&lane_of(id));
            let (Some((effect, _)), Some(review_loop)) = (wanted.get(id), self.run_state.loops.get(id))
            else {
                continue;
            };
            let (effect, n) = (effect.clone(), review_loop.iterations());
            let ended = review_loop.outcome().cloned().map(|outcome| RunReport::LoopEnded {
                outcome,
                revision: review_loop.revision().cloned(),
                open: review_loop.carried(),
            });
            // Before the end: the run counts the iterations of a loop while it still wants the loop.
            self.turn_run(&RunIn::Iterated { effect: effect.clone(), n })?;
            if let Some(report) = ended {
                let at = self.world.now();
                self.turn_run(&RunIn::Report { effect, at, report })?;
            }
        }
        Ok(())
    }

    /// Asks the world, after a crash, what became of each intended effect.
    ///
    /// This is what keeps a one-shot effect from running twice. An effect that is proven not done is cleared and
    /// launched again; one that is proven done reports. An unknown result counts as failed, except for a landing, which
    /// stops the engine.
    fn probe_intents(&mut self) -> Result<(), EngineError> {
        for (effect, want) in self.open_intents() {
            let assignment = Assignment { effect: &effect, want: &want, run_state: &self.run_state };
            match self.world.probe(assignment) {
                Probe::Done(report, notes) => {
                    self.note(notes);
                    self.deliver(&effect, report)?;
                }
                Probe::NotDone => self.clear(&effect, &want)?,
                Probe::Lost(notes) => {
                    self.note(notes);
                    self.clear(&effect, &want)?;
                }
                // A landing of unknown result is never counted as failed. The plan could be given up or dropped next,
                // and its commits could be on the branch all the same.
                Probe::Unknown if effect.step == Step::Land => {
                    return Err(EngineError::Unproven { plan: effect.of });
                }
                Probe::Unknown => {
                    let failure =
                        Failure::new(FailureKind::Unproven, "it cannot be told whether it happened");
                    // Its cost is unknown, too. The whole reservation counts, so that a crash makes no room under a
                    // cap.
                    if effect.step.is_agent() {
                        let reserved = self.world.reserve(&effect);
                        self.note(vec![Note::Lost(Box::new(LaunchNote::unknown(&effect, reserved)))]);
                    }
                    let report = match want {
                        Want::Loop(_) => Report::Loop(LoopReport::Failed(failure)),
                        Want::Run(_) => Report::Run(RunReport::Failed(failure)),
                    };
                    self.deliver(&effect, report)?;
                }
            }
        }
        Ok(())
    }

    fn clear(&mut self, effect: &EffectId, want: &Want) -> Result<(), EngineError> {
        match want {
            Want::Loop(_) => {
                let id = LoopId::new(effect.of.as_str());
                self.turn_loop(&id, &LoopIn::Clear { effect: effect.clone() }).map(drop)
            }
            Want::Run(_) => self.turn_run(&RunIn::Clear { effect: effect.clone() }).map(drop),
        }
    }

    fn open_intents(&self) -> Vec<(EffectId, Want)> {
        let mut open = Vec::new();
        for review_loop in self.run_state.loops.values() {
            let mut wants = review_loop.wants();
            let intents = review_loop.intents().iter().filter_map(|(effect, _)| wants.remove_entry(effect));
            open.extend(intents.map(|(effect, want)| (effect, Want::Loop(want))));
        }
        if let Some(run) = &self.run_state.run {
            let mut wants = run.wants();
            let intents = run.intents().filter_map(|(effect, _)| wants.remove_entry(effect));
            open.extend(intents.map(|(effect, want)| (effect, Want::Run(want))));
        }
        open
    }
}

// Reconciling the wants with what runs.
impl<W: World> Engine<W> {
    /// Brings the running effects in line with the wants of the machines that moved, and picks what starts now.
    ///
    /// The intents of one-shot effects are recorded here. The effects themselves start after the commit.
    fn reconcile(&mut self) -> Result<Vec<EffectId>, EngineError> {
        let mut ready = Vec::new();
        while let Some(machine) = self.dirty.pop_first() {
            ready.extend(self.refresh(machine));
        }
        // After an interrupt running work may finish, but nothing new starts.
        if self.mode != Mode::Going {
            return Ok(Vec::new());
        }
        self.hold_parked();
        ready.extend(machine::launches(&self.waiting, self.agents, self.options.width));
        self.spent = None;
        let mut starts = Vec::new();
        for effect in ready {
            // The budget is asked before the intent: an intent that is not launched would have to be cleared.
            if self.fits(&effect) && self.intend(&effect)? {
                self.waiting.remove(&effect);
                self.agents += usize::from(effect.step.is_agent());
                self.running.insert(effect.clone());
                starts.push(effect);
            }
        }
        self.tell_spent();
        // An intent adds a deadline to what its machine wants, so those machines moved again.
        while let Some(machine) = self.dirty.pop_first() {
            self.refresh(machine);
        }
        Ok(starts)
    }

    /// Holds agents back until the time from which their account takes requests again.
    ///
    /// They are moved out of the queue, so that a used-up account does not keep other agents from starting.
    fn hold_parked(&mut self) {
        let now = self.world.now();
        let Engine { waiting, held, world, .. } = self;
        waiting.retain(|effect| match world.not_before(effect).filter(|at| *at > now) {
            Some(at) => {
                held.insert(effect.clone(), at);
                false
            }
            None => true,
        });
    }

    /// Whether the budget has room for a launch. Reserves the cost if it has.
    ///
    /// The reservation counts agents that still run, so several launches in one turn cannot exceed a cap together.
    fn fits(&mut self, effect: &EffectId) -> bool {
        let caps = self.run_state.raised.unwrap_or(self.options.caps);
        if !effect.step.is_agent() || !caps.is_any() {
            return true;
        }
        let needed = self.world.reserve(effect);
        if let Some(spent) = caps.refuses(&self.run_state, &self.reserved, effect, needed) {
            // The first refusal is kept: it names the cap that a person would have to raise.
            self.spent.get_or_insert(spent);
            return false;
        }
        self.reserved.insert(effect.clone(), needed);
        true
    }

    /// Records once that a cap stopped the run.
    fn tell_spent(&mut self) {
        // While something still runs its real cost may turn out lower than the reservation, and the launch may fit
        // then.
        let stops = self.running.is_empty() && self.held.is_empty();
        if let Some(spent) = self.spent.filter(|spent| stops && self.run_state.spent != Some(*spent)) {
            self.note(vec![Note::Spent(spent)]);
        }
    }

    /// Gives the run other caps, on a person's order.
    ///
    /// The new caps are a note of the journal, so a later resume keeps them.
    pub fn raise(&mut self, caps: Caps) {
        self.note(vec![Note::Raised(caps)]);
    }

    /// Takes in the wants of one machine. Returns the effects that need no agent and can start at once.
    ///
    /// It compares the machine's wants before and now. New wants are started or queued, and those that are gone are
    /// stopped.
    fn refresh(&mut self, machine: Of) -> Vec<EffectId> {
        let now = self.wants_of(&machine);
        let before = self.wanted.remove(&machine).unwrap_or_default();
        for (effect, want) in before.iter().filter(|(effect, _)| !now.contains_key(*effect)) {
            self.unwant(effect, want);
        }
        let mut ready = Vec::new();
        for (effect, want) in now.iter().filter(|(effect, _)| !before.contains_key(*effect)) {
            match want {
                Want::Loop(LoopWant::Wake { at }) | Want::Run(RunWant::Wake { at }) => {
                    self.alarms.insert((*at, effect.clone()));
                }
                // Questions and loops have no process. A person answers the first, and `sync` opens the second.
                Want::Loop(LoopWant::Ask(_))
                | Want::Run(RunWant::AskLane { .. } | RunWant::AskHeld { .. } | RunWant::Loop { .. }) => {}
                _ if self.running.contains(effect) => {}
                _ if effect.step.is_agent() => self.queue(effect),
                _ => ready.push(effect.clone()),
            }
        }
        if !now.is_empty() {
            self.wanted.insert(machine, now);
        }
        ready
    }

    fn wants_of(&self, machine: &Of) -> BTreeMap<EffectId, Want> {
        if let Some(review_loop) = self.run_state.loops.get(&LoopId::new(machine.as_str())) {
            return review_loop
                .wants()
                .into_iter()
                .map(|(effect, want)| (effect, Want::Loop(want)))
                .collect();
        }
        let wants = self.run_state.run.iter().flat_map(|run| run.wants_of(machine));
        wants.map(|(effect, want)| (effect, Want::Run(want))).collect()
    }

    fn unwant(&mut self, effect: &EffectId, want: &Want) {
        if let Want::Loop(LoopWant::Wake { at }) | Want::Run(RunWant::Wake { at }) = want {
            self.alarms.remove(&(*at, effect.clone()));
            return;
        }
        self.waiting.remove(effect);
        self.held.remove(effect);
        if self.over(effect) {
            // An effect that reported already is not stopped: its process is gone.
            self.world.stop(effect);
        }
    }

    /// Marks an effect as not running. False if it was not running before.
    ///
    /// The reservation stays until the report. An agent that was stopped goes on for a moment, and its cost is not
    /// known before.
    fn over(&mut self, effect: &EffectId) -> bool {
        let ran = self.running.remove(effect);
        if ran && effect.step.is_agent() {
            self.agents -= 1;
        }
        ran
    }

    /// Queues an agent. A retry after a failure waits a little, longer each time.
    ///
    /// Only agents are queued, because only they have a limit on how many run at once. Checks and landings start as
    /// soon as they are wanted.
    fn queue(&mut self, effect: &EffectId) {
        let tried = |fails| EffectId { n: Try { fails, ..effect.n }, launch: 0, ..effect.clone() };
        let before = effect.n.fails.checked_sub(1).map(tried);
        // Failures from before a resume are not in `lost`, so their retries start at once.
        let lost = before.is_some_and(|before| self.lost.remove(&before));
        if !lost || self.options.backoff_ms == 0 {
            self.waiting.insert(effect.clone());
            return;
        }
        // The shift is bounded, so that many failures cannot overflow it.
        let pause = (self.options.backoff_ms << (effect.n.fails - 1).min(6)).min(self.options.backoff_max_ms);
        let pause = pause.saturating_add(jitter(&effect.to_string(), pause / 4));
        let at = Time(self.world.now().0.saturating_add(pause));
        self.held.insert(effect.clone(), at);
    }

    fn intend(&mut self, effect: &EffectId) -> Result<bool, EngineError> {
        if !effect.step.is_one_shot() {
            return Ok(true);
        }
        let at = self.world.now();
        // An intent is an event of the machine. The machine may refuse it, and then the effect does not start.
        match self.machine_of(effect).map(|review_loop| review_loop.id().clone()) {
            Some(id) => self.turn_loop(&id, &LoopIn::Intend { effect: effect.clone(), at }),
            None => self.turn_run(&RunIn::Intend { effect: effect.clone(), at }),
        }
    }

    fn start(&mut self, effect: &EffectId) {
        let Some(want) = self.wanted.get(&effect.of).and_then(|wants| wants.get(effect)) else { return };
        self.world.start(Assignment { effect, want, run_state: &self.run_state });
    }

    fn commit(&mut self, watch: &mut dyn Watch) -> Result<(), EngineError> {
        let pending = std::mem::take(&mut self.pending);
        let messages = std::mem::take(&mut self.messages);
        if pending.is_empty() && messages.is_empty() {
            return Ok(());
        }
        let mut rows = Vec::with_capacity(pending.len());
        for (at, facts) in &pending {
            let encoded: Result<Vec<_>, _> = facts.iter().map(Fact::encode).collect();
            rows.push((*at, encoded?));
        }
        let rows: Vec<(Time, Vec<NewRow<'_>>)> = rows
            .iter()
            .map(|(at, rows)| (*at, rows.iter().map(|(of, kind, body)| NewRow { of, kind, body }).collect()))
            .collect();
        let turns: Vec<Turn<'_>> = rows.iter().map(|(at, rows)| Turn { at: at.0, rows }).collect();
        crash::point("append:before");
        // One transaction for the facts and for the messages they answer: a message is never taken twice, nor lost.
        let last = self.journal.append_reading(&turns, &messages)?;
        crash::point("append:after");
        let count: usize = pending.iter().map(|(_, facts)| facts.len()).sum();
        let first = last + 1 - u64::try_from(count).unwrap_or(last);
        let facts: Vec<Stamped> = pending
            .into_iter()
            .flat_map(|(at, facts)| facts.into_iter().map(move |fact| (at, fact)))
            .zip(first..)
            .map(|((at, fact), seq)| Stamped { seq, at, fact })
            .collect();
        watch.committed(&self.run_state, &facts);
        Ok(())
    }
}
