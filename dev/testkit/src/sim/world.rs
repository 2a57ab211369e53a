//! The simulated world behind the engine's seam: starts, stops and reports what the outside does, on a virtual
//! clock. It checks at every call what must be true there, and dies where the reaper says so.

use super::agents::{Act, Actor};
use super::fault::Fault;
use super::outside::{Due, Job, Outside, Phase};
use super::reaper::Killed;
use super::rng::effect_dice;
use super::situation;
use std::cell::RefCell;
use std::panic::resume_unwind;
use std::rc::Rc;
use tribunal_core::effect::{EffectId, Step};
use tribunal_core::ids::{Of, PlanId, Time};
use tribunal_core::policy::Situation;
use tribunal_core::review_loop::LoopReport;
use tribunal_core::run::{RunReport, RunWant, Subject};
use tribunal_engine::mail::Body;
use tribunal_engine::run_state::LaunchNote;
use tribunal_engine::{Arrival, Assignment, Note, Probe, Report, RunState, Want, World};
use tribunal_journal::{Message, Posted};

/// Waits after which a run is held to go on for ever.
const WAITS_MAX: u64 = 20_000;

/// The world of one life of the process.
pub struct SimWorld {
    outside: Rc<RefCell<Outside>>,
}

impl SimWorld {
    /// The world as one life of the process meets it.
    pub fn new(outside: Rc<RefCell<Outside>>) -> SimWorld {
        SimWorld { outside }
    }

    fn die_at(&self, fault: Fault) {
        let reaper = self.outside.borrow().reaper.clone();
        reaper.point(fault);
    }
}

impl World for SimWorld {
    fn now(&mut self) -> Time {
        self.outside.borrow().now()
    }

    fn situation(&mut self, subject: &Subject, _run_state: &RunState) -> Situation {
        situation::draw(self.outside.borrow().scene.seed, subject)
    }

    fn recover(&mut self, _run_state: &RunState) -> Vec<Note> {
        let mut out = self.outside.borrow_mut();
        let left: Vec<EffectId> = out.running.iter().cloned().collect();
        out.dying.clear();
        for effect in &left {
            out.say(|| format!("~ {effect} was left behind and is ended"));
            out.leave(effect, false);
        }
        let reaper = out.reaper.clone();
        drop(out);
        reaper.doom(Fault::KilledInRecovery);
        if left.is_empty() {
            Vec::new()
        } else {
            vec![Note::Warning(format!("ended {} orphans", left.len()))]
        }
    }

    fn probe(&mut self, assignment: Assignment<'_>) -> Probe {
        self.outside.borrow_mut().probe(assignment.effect)
    }

    fn start(&mut self, assignment: Assignment<'_>) {
        self.die_at(Fault::KilledBeforeEffect);
        self.outside.borrow_mut().start(&assignment);
        self.die_at(Fault::KilledAfterEffect);
    }

    fn stop(&mut self, effect: &EffectId) {
        self.outside.borrow_mut().stop(effect);
    }

    fn next(&mut self, until: Option<Time>) -> Vec<Arrival> {
        self.outside.borrow_mut().check_waiting();
        self.give_up_on_violation();
        self.die_at(Fault::KilledWaiting);
        loop {
            let step = self.outside.borrow_mut().step(until);
            match step {
                Step1::Came(arrivals) => return arrivals,
                Step1::Nothing => {}
                Step1::Changed => self.die_at(Fault::KilledAfterHappening),
                Step1::Stuck => self.give_up_on_violation(),
            }
        }
    }

    fn end_agents(&mut self) -> Vec<Note> {
        self.outside.borrow_mut().end_agents();
        Vec::new()
    }

    fn shutdown(&mut self) {
        self.outside.borrow_mut().shutdown();
    }
}

impl SimWorld {
    fn give_up_on_violation(&self) {
        if self.outside.borrow().violation().is_some() {
            resume_unwind(Box::new(Killed(Fault::KilledWaiting)));
        }
    }
}

/// What one step of time brought.
enum Step1 {
    Came(Vec<Arrival>),
    Nothing,
    Changed,
    Stuck,
}

// Starting and stopping.
impl Outside {
    fn start(&mut self, assignment: &Assignment<'_>) {
        let effect = assignment.effect;
        self.say(|| format!("~ start {effect}"));
        self.check_start(effect);
        let number = self.number();
        let (report, after_ms, happens) = match assignment.want {
            Want::Run(RunWant::Checkpoint { .. }) => {
                self.act(Actor::new(&self.scene, effect).act_checkpoint())
            }
            Want::Loop(want) => {
                self.act(Actor::new(&self.scene, effect).act_loop(want, assignment.run_state))
            }
            Want::Run(_) => self.deed(effect),
        };
        let ends_at = (report.is_some() || happens.is_some()).then_some(self.t + after_ms);
        let want = assignment.want.clone();
        let job =
            Job { want, number, report, changed: false, happened: false, phase: Phase::Running, ends_at };
        let earlier = self.jobs.insert(effect.clone(), job);
        let twice = earlier.is_some() && effect.step.is_one_shot();
        self.hold("I7 once", !twice, || format!("{effect} was started twice"));
        self.running.insert(effect.clone());
        self.check_width();
        if let Some(at) = happens {
            self.later(at, Due::Happens(effect.clone(), number));
        }
        if ends_at.is_some() {
            self.later(after_ms, Due::Ends(effect.clone(), number));
        }
        self.mischief(effect);
        if effect.step == Step::Land {
            self.regret(effect);
        }
    }

    /// Somebody wants a plan dropped while it is just landing.
    fn regret(&mut self, effect: &EffectId) {
        let mut rng = effect_dice(self.scene.seed, "regret", effect);
        if self.dir.is_some() && rng.chance(self.scene.dials.rate(Fault::Drop) / 2) {
            self.tally.struck(Fault::Drop);
            let (plan, by) = (PlanId::new(effect.of.as_str()), "grace".to_owned());
            self.later(rng.within(0, 5) * 1_000, Due::Posts(Body::Drop { plan, by }));
        }
    }

    fn act(&mut self, act: Act) -> (Option<Report>, u64, Option<u64>) {
        act.struck.iter().for_each(|fault| self.tally.struck(*fault));
        (act.report, act.after_ms, None)
    }

    /// Work in the repository: done somewhere between its start and its report.
    fn deed(&mut self, effect: &EffectId) -> (Option<Report>, u64, Option<u64>) {
        let mut rng = effect_dice(self.scene.seed, "deed", effect);
        let hangs = effect.step.is_timed() && rng.chance(self.scene.dials.rate(Fault::AgentHang));
        let happens = rng.within(1, 5) * 1_000;
        let ends = happens + rng.below(3) * 1_000;
        if hangs {
            self.tally.struck(Fault::AgentHang);
            return (None, ends, None);
        }
        (None, ends, Some(happens))
    }

    /// What others do while something starts.
    fn mischief(&mut self, effect: &EffectId) {
        let after_ms = self.rng.within(1, 200) * 1_000;
        if self.strikes(Fault::ClockForward) {
            self.later(after_ms, Due::Jump(self.rng.clone().within(1_000, 4_000_000) as i64));
        }
        if self.strikes(Fault::ClockBackward) {
            self.later(after_ms, Due::Jump(-(self.rng.clone().within(1_000, 4_000_000) as i64)));
        }
        if self.strikes(Fault::StrangerReport) {
            let stranger = if self.rng.chance(500) {
                EffectId { of: Of::new("99-99/task-1.2"), ..effect.clone() }
            } else {
                EffectId { entry: effect.entry + 1_000, ..effect.clone() }
            };
            self.later(after_ms, Due::Says(stranger, Report::Loop(LoopReport::Due)));
        }
    }

    fn stop(&mut self, effect: &EffectId) {
        self.say(|| format!("~ stop {effect}"));
        let landing = effect.step == Step::Land;
        self.hold("stability", !landing, || format!("an intended landing was stopped: {effect}"));
        let ran = self.running.contains(effect);
        self.hold("stop", ran, || format!("{effect} was stopped and did not run"));
        self.leave(effect, false);
        if effect.step.is_agent() {
            let grace_ms = effect_dice(self.scene.seed, "grace", effect).within(1, 10) * 1_000;
            self.dying.insert(effect.clone(), self.t + grace_ms);
        }
        let said = self.jobs.get(effect).and_then(|job| job.report.clone());
        if let Some(report) = said
            && self.strikes(Fault::LateReport)
        {
            let after_ms = self.rng.within(0, 100) * 1_000;
            self.later(after_ms, Due::Says(effect.clone(), report));
        }
    }

    fn end_agents(&mut self) {
        let left: Vec<&EffectId> = self.running.iter().filter(|effect| effect.step.is_agent()).collect();
        let text = format!("the end is about to be journaled and {left:?} still run");
        self.hold("ended", left.is_empty(), || text);
        self.dying.clear();
    }

    fn shutdown(&mut self) {
        self.say(|| "~ shutdown".to_owned());
        self.shut = true;
        self.left = self.running.len();
        self.dying.clear();
        let left: Vec<EffectId> = self.running.iter().cloned().collect();
        let over = self.laws.ended();
        self.hold("ended", !over || left.is_empty(), || format!("the run has ended and {left:?} still run"));
        for effect in left {
            let lives = !effect.step.is_agent() && self.outlives(&effect, self.t);
            self.leave(&effect, lives);
        }
        self.forget();
    }
}

// After a crash.
impl Outside {
    fn probe(&mut self, effect: &EffectId) -> Probe {
        let probe = self.look(effect);
        let word = match &probe {
            Probe::Done(..) => {
                self.laws.prove(effect);
                "done"
            }
            Probe::NotDone | Probe::Lost(_) => "not done",
            Probe::Unknown => "unknown",
        };
        self.say(|| format!("~ probe {effect}: {word}"));
        self.tally.saw("probe", word);
        probe
    }

    fn look(&mut self, effect: &EffectId) -> Probe {
        // Never launched: there is no trace of it, and that is proof.
        let Some(job) = self.jobs.get(effect).cloned() else { return Probe::NotDone };
        // Without an answer about a landing the engine gives its journal up: only one on disk can be had again.
        let answers = effect.step != Step::Land || self.dir.is_some();
        if answers && self.strikes(Fault::ProbeUnknown) {
            return Probe::Unknown;
        }
        let complete = match effect.step {
            Step::Land | Step::Rebase | Step::Finish(_) => job.changed,
            // It changes nothing: it is asked again.
            Step::Carry => false,
            Step::Summary => job.happened,
            _ => job.phase == Phase::Ended,
        };
        match job.report {
            Some(report) if complete => Probe::Done(report, vec![launch_note(effect)]),
            Some(_) | None => Probe::NotDone,
        }
    }
}

fn launch_note(effect: &EffectId) -> Note {
    Note::Launch(Box::new(LaunchNote { effect: effect.to_string(), ms: 1, ..LaunchNote::default() }))
}

// Time.
impl Outside {
    /// Lets time pass to the next thing that comes about, or to `until`.
    fn step(&mut self, until: Option<Time>) -> Step1 {
        let limit = until.map(|at| u64::try_from(at.0 as i64 - self.skew).unwrap_or(0));
        let first = self.queue.first_key_value().map(|(key, _)| *key);
        let key = match (first, limit) {
            (Some(key), Some(limit)) if key.0 > limit => None,
            (Some(key), _) => Some(key),
            (None, Some(_)) => None,
            (None, None) => {
                self.violate("I8 bounded", "the engine waits and nothing will ever come".to_owned());
                return Step1::Stuck;
            }
        };
        let Some(key) = key else {
            self.t = self.t.max(limit.unwrap_or(0));
            return Step1::Came(Vec::new());
        };
        self.t = self.t.max(key.0);
        let Some(due) = self.queue.remove(&key) else { return Step1::Nothing };
        match due {
            Due::Happens(effect, number) => self.happens(&effect, number),
            due => {
                let arrivals = self.come(due);
                if arrivals.is_empty() { Step1::Nothing } else { Step1::Came(arrivals) }
            }
        }
    }

    fn happens(&mut self, effect: &EffectId, number: u64) -> Step1 {
        if self.is_current(effect, number) {
            self.happen(effect);
            return Step1::Changed;
        }
        Step1::Nothing
    }

    fn is_current(&self, effect: &EffectId, number: u64) -> bool {
        self.running.contains(effect) && self.jobs.get(effect).is_some_and(|job| job.number == number)
    }

    fn come(&mut self, due: Due) -> Vec<Arrival> {
        match due {
            Due::Happens(..) => Vec::new(),
            Due::Ends(effect, number) => self.ends(&effect, number),
            Due::Says(effect, report) => {
                self.say(|| format!("~ somebody says as {effect}: {}", short(&report)));
                vec![Arrival::Report { effect, report, notes: Vec::new() }]
            }
            Due::Posts(body) => match body.message(self.now()) {
                Ok(message) => self.post(&message),
                Err(_) => Vec::new(),
            },
            Due::PostsNonsense => self.post(&nonsense(self.now())),
            Due::Interrupt => {
                self.say(|| "~ interrupt".to_owned());
                self.interrupts += 1;
                vec![Arrival::Interrupt { signal: 2 }]
            }
            Due::Jump(by) => {
                self.say(|| format!("~ the clock jumps by {by} ms"));
                // Never before the epoch's first day: a clock has a bottom.
                self.skew = (self.skew + by).max(86_400_000);
                Vec::new()
            }
        }
    }

    fn ends(&mut self, effect: &EffectId, number: u64) -> Vec<Arrival> {
        if !self.is_current(effect, number) {
            return Vec::new();
        }
        let Some(report) = self.jobs.get(effect).and_then(|job| job.report.clone()) else {
            return Vec::new();
        };
        let mut arrivals = self.impostors(effect, &report);
        self.running.remove(effect);
        if let Some(job) = self.jobs.get_mut(effect) {
            job.phase = Phase::Ended;
        }
        if self.strikes(Fault::RepeatedReport) {
            let after_ms = self.rng.within(0, 30) * 1_000;
            self.later(after_ms, Due::Says(effect.clone(), report.clone()));
        }
        self.say(|| format!("~ {effect} reports: {}", short(&report)));
        let notes = if effect.step.is_agent() { vec![launch_note(effect)] } else { Vec::new() };
        arrivals.push(Arrival::Report { effect: effect.clone(), report, notes });
        arrivals
    }

    /// Reports under names that are not the speaker's.
    fn impostors(&mut self, effect: &EffectId, report: &Report) -> Vec<Arrival> {
        let mut arrivals = Vec::new();
        if self.strikes(Fault::ForeignReport) {
            let over = |(id, job): &(&EffectId, &Job)| id.of != effect.of && job.phase != Phase::Running;
            let foreign = self.jobs.iter().find(over).map(|(id, _)| id.clone());
            if let Some(foreign) = foreign.filter(|id| !self.laws.is_live(id)) {
                self.say(|| format!("~ {effect} speaks as {foreign}"));
                arrivals.push(Arrival::Report { effect: foreign, report: report.clone(), notes: Vec::new() });
            }
        }
        if self.strikes(Fault::WrongMachine) {
            let victim = self.running.iter().find(|id| *id != effect).cloned();
            if let Some(victim) = victim {
                self.say(|| format!("~ {effect} speaks as {victim} to the wrong machine"));
                let report = match self.jobs.get(&victim).map(|job| &job.want) {
                    Some(Want::Loop(_)) => Report::Run(RunReport::Due),
                    Some(Want::Run(_)) | None => Report::Loop(LoopReport::Due),
                };
                arrivals.push(Arrival::Report { effect: victim, report, notes: Vec::new() });
            }
        }
        arrivals
    }
}

/// The first words of a report.
fn short(report: &Report) -> String {
    let text = match report {
        Report::Loop(report) => format!("{report:?}"),
        Report::Run(report) => format!("{report:?}"),
    };
    text.chars().take(120).collect()
}

// Letters.
impl Outside {
    fn post(&mut self, message: &Message) -> Vec<Arrival> {
        let Some(dir) = self.dir.clone() else { return Vec::new() };
        self.posted(message, tribunal_journal::post(&dir, message));
        vec![Arrival::Mail]
    }

    /// Somebody has put a letter into the mailbox.
    pub fn posted(&mut self, message: &Message, posted: tribunal_journal::Result<Posted>) {
        self.say(|| format!("~ letter {} ({})", message.key, message.body));
        match posted {
            Ok(posted) => {
                if let Err(text) = self.mailbox.posted(message, &posted) {
                    self.violate("first answer wins", text);
                }
            }
            Err(error) => self.violate("mailbox", format!("{} could not be posted: {error}", message.key)),
        }
    }
}

/// A letter that nobody can read.
pub fn nonsense(at: Time) -> Message {
    Message {
        key: "nonsense".to_owned(),
        kind: "decide".to_owned(),
        body: "{\"surprise\":1}".to_owned(),
        at: at.0,
    }
}

// What must be true at the seam.
impl Outside {
    fn check_start(&mut self, effect: &EffectId) {
        let wanted = self.laws.wants().contains_key(effect);
        self.hold("wanted", wanted, || format!("{effect} was started and nobody wants it"));
        let intended = !effect.step.is_one_shot() || self.laws.is_intended(effect);
        self.hold("intent", intended, || format!("{effect} was started without a committed intent"));
        let over = self.laws.ended();
        self.hold("ended", !over, || format!("{effect} was started after the end"));
        let leaving = self.interrupts > 0;
        self.hold("interrupt", !leaving, || format!("{effect} was started after an interrupt"));
        let again = self.laws.repeats(effect);
        self.hold("I7 once", !again, || format!("{effect} was proven done and is started again"));
    }

    fn check_width(&mut self) {
        let (agents, width) = (self.agents(), self.scene.options.width);
        self.hold("width", agents <= width, || format!("{agents} agents run, {width} may"));
    }

    /// After an interrupt the engine waits for what still runs, after a second one for nothing.
    fn check_leaving(&mut self) {
        let (presses, left) = (self.interrupts, self.running.len());
        self.hold("interrupt", presses == 1 && left > 0, || {
            format!("interrupted {presses} times, {left} effects run, and the engine still waits")
        });
    }

    /// Before the engine waits, what runs is what is wanted, and nothing that could start is left lying.
    fn check_waiting(&mut self) {
        self.waits += 1;
        let waits = self.waits;
        self.hold("I8 bounded", waits < WAITS_MAX, || format!("still going after {waits} waits"));
        let wants = self.laws.wants();
        let unwanted = self.running.iter().find(|effect| !wants.contains_key(*effect)).cloned();
        if let Some(effect) = unwanted {
            self.violate("stopped", format!("{effect} runs and nobody wants it"));
        }
        if self.interrupts > 0 {
            return self.check_leaving();
        }
        let starts = |want: &Want| {
            use tribunal_core::review_loop::LoopWant as L;
            !matches!(
                want,
                Want::Loop(L::Ask(_) | L::Wake { .. })
                    | Want::Run(
                        RunWant::AskLane { .. }
                            | RunWant::AskHeld { .. }
                            | RunWant::Loop { .. }
                            | RunWant::Wake { .. }
                    )
            )
        };
        let idle = |(effect, want): &(&EffectId, &Want)| starts(want) && !self.running.contains(*effect);
        let lying = wants.iter().filter(idle).map(|(effect, _)| effect.clone()).collect::<Vec<_>>();
        let full = self.agents() >= self.scene.options.width;
        let paused = |id: &EffectId| self.scene.options.backoff_ms > 0 && self.laws.follows_a_loss(id);
        let left = lying.into_iter().find(|effect| !effect.step.is_agent() || (!full && !paused(effect)));
        if let Some(effect) = left {
            self.violate("width", format!("{effect} is wanted, there is room, and it does not run"));
        }
    }
}
