//! Walks one run with its loops through a simulated world, by levels: what the run wants and what there is are
//! compared, and nothing is remembered between. Half of the runs hold real loops, half are told how they end.

use crate::book::Book;
use crate::loops::{Expect, LoopSim, strangers};
use crate::rng::Rng;
use crate::run_laws::{RunLaws, written};
use crate::transitions;
use std::collections::{BTreeMap, BTreeSet};
use tribunal_core::effect::{EffectId, FinishStep, Step};
use tribunal_core::finding::{Claim, Severity, Source};
use tribunal_core::held::{Held, HeldChoice, HeldDecision};
use tribunal_core::ids::{Check, FindingId, LoopId, Of, PlanId, Revision, Time};
use tribunal_core::ledger::{CarriedFinding, Entry};
use tribunal_core::machine::{Machine, launches, settle, turn};
use tribunal_core::review_loop::{Failure, FailureKind, Opened, Opening, Outcome};
use tribunal_core::run::{
    LaneChoice, LaneDecision, Refusal, Run, RunEvent, RunIn, RunReport, RunSpec, RunWant, Stuck,
};

enum Child {
    Real(Box<LoopSim>),
    Told { iterations: u32, ended: Option<Told> },
}

#[derive(Clone)]
struct Told {
    outcome: Outcome,
    revision: Option<Revision>,
    open: Vec<CarriedFinding>,
}

impl Child {
    fn is_over(&self) -> bool {
        match self {
            Child::Real(sim) => sim.is_over(),
            Child::Told { ended, .. } => ended.is_some(),
        }
    }

    fn iterations(&self) -> u32 {
        match self {
            Child::Real(sim) => sim.live.iterations(),
            Child::Told { iterations, .. } => *iterations,
        }
    }

    fn told(&self) -> Option<Told> {
        match self {
            Child::Told { ended, .. } => ended.clone(),
            Child::Real(sim) => sim.live.outcome().map(|outcome| Told {
                outcome: outcome.clone(),
                revision: sim.live.revision().cloned(),
                open: sim.live.carried(),
            }),
        }
    }
}

/// How bad this world is, in percent.
struct Rates {
    noise: u32,
    crash: u32,
    cancel: u32,
    dropped: u32,
    fail: u32,
    refuse: u32,
    held: u32,
    bad: u32,
}

/// A run in its simulated world.
pub struct RunSim {
    /// The machine.
    pub run: Run,
    /// Its journal as text.
    pub log: Vec<String>,
    replica: Run,
    laws: RunLaws,
    rng: Rng,
    rates: Rates,
    real: bool,
    width: usize,
    loops: BTreeMap<LoopId, Child>,
    landings: BTreeMap<EffectId, Option<RunReport>>,
    moved: BTreeMap<PlanId, u32>,
    iterated: BTreeMap<EffectId, u32>,
    old: Vec<EffectId>,
    clock: u64,
    revisions: u32,
    findings: u32,
    decisions: u32,
    patience: u32,
}

/// Reads a journal back and folds it.
pub fn fold(log: &[String]) -> Result<Run, String> {
    let mut folded: Option<Run> = None;
    for line in log {
        let event: RunEvent = serde_json::from_str(line).map_err(|e| e.to_string())?;
        match (&mut folded, &event) {
            (None, RunEvent::Opened(spec)) => folded = Some(Run::open(spec)),
            (None, _) => return Err("does not begin with its opening".to_owned()),
            (Some(machine), event) => machine.apply(event).map_err(|e| e.to_string())?,
        }
    }
    folded.ok_or_else(|| "empty".to_owned())
}

impl RunSim {
    /// Opens the run: its opening and what settles from it are the first transaction.
    pub fn open(spec: &RunSpec, seed: u64, (real, kind): (bool, bool), book: &mut Book) -> RunSim {
        let mut rng = Rng::new(seed);
        let mut of = |values: [u32; 4]| *rng.pick(&values);
        let rates = Rates {
            noise: of([0, 2, 5, 20]),
            crash: of([0, 1, 3, 10]),
            cancel: of([0, 0, 0, 10]),
            dropped: of([0, 0, 0, 3]),
            fail: of([0, 5, 15, 40]),
            refuse: of([0, 10, 30, 80]),
            bad: of([0, 10, 25, 50]),
            // Not drawn, so that the walks without it stay as they were.
            held: [0, 20, 50, 80][usize::try_from(seed >> 40).unwrap_or(0) % 4],
        };
        let rates = match kind {
            true => Rates {
                held: 30 + rates.held / 2,
                cancel: 0,
                dropped: 0,
                fail: rates.fail / 8,
                refuse: rates.refuse / 8,
                bad: 3,
                ..rates
            },
            false => rates,
        };
        let run = Run::open(spec);
        let mut sim = RunSim {
            replica: run.clone(),
            log: vec![serde_json::to_string(&RunEvent::Opened(Box::new(spec.clone()))).unwrap()],
            laws: RunLaws::new(spec),
            rates,
            real,
            width: 1 + rng.below(4),
            patience: 1 + u32::try_from(rng.below(8)).unwrap() + if kind { 4 } else { 0 },
            rng,
            loops: BTreeMap::new(),
            landings: BTreeMap::new(),
            moved: BTreeMap::new(),
            iterated: BTreeMap::new(),
            old: Vec::new(),
            clock: 1_000,
            revisions: 0,
            findings: 0,
            decisions: 0,
            run,
        };
        book.runs += 1;
        transitions::run_opened(&sim.run, book);
        match settle(&mut sim.run) {
            Ok(events) => sim.commit(&events, book),
            Err(e) => book.breach("closed", || e.to_string()),
        }
        sim
    }

    /// Walks to the end.
    pub fn walk(&mut self, book: &mut Book) {
        for _ in 0..20_000 {
            self.reconcile(book);
            if self.run.ending().is_some() {
                return self.absorbs(book);
            }
            self.step(book);
        }
        book.breach("bounded", || format!("20,000 steps and no end: {:?}", self.run.wants()));
    }

    fn fresh(&mut self) -> Revision {
        self.revisions += 1;
        Revision::new(format!("v{}", self.revisions))
    }

    /// What the run wants against what there is.
    fn reconcile(&mut self, book: &mut Book) {
        let wants = self.run.wants();
        let mut held = BTreeSet::new();
        for (effect, want) in &wants {
            let RunWant::Loop { id, subject, opening } = want else { continue };
            held.insert(id.clone());
            let Some(child) = self.loops.get(id) else {
                let child = self.open_loop(id, subject, opening, book);
                self.loops.insert(id.clone(), child);
                continue;
            };
            if self.rng.chance(30) {
                continue;
            }
            let n = child.iterations();
            let told = child.told();
            let known = self.iterated.get(effect).copied().unwrap_or(0);
            let lane = effect.of.as_str() != "run" && self.run.stage_name() == "building";
            if n > known && lane {
                self.iterated.insert(effect.clone(), n);
                self.feed(RunIn::Iterated { effect: effect.clone(), n }, Expect::Moves, book);
                self.feed(RunIn::Iterated { effect: effect.clone(), n }, Expect::Nothing, book);
            }
            if let Some(Told { outcome, revision, open }) = told {
                self.report(effect, RunReport::LoopEnded { outcome, revision, open }, Expect::Moves, book);
                return;
            }
        }
        let out_of_scope: Vec<LoopId> = self.loops.keys().filter(|id| !held.contains(*id)).cloned().collect();
        for id in out_of_scope {
            if let Some(Child::Real(mut sim)) = self.loops.remove(&id)
                && !sim.is_over()
            {
                sim.cancel(book);
                book.saw("loop/called off".into());
            }
        }
    }

    fn open_loop(
        &mut self,
        id: &LoopId,
        subject: &tribunal_core::run::Subject,
        opening: &Opening,
        book: &mut Book,
    ) -> Child {
        if !self.real {
            return Child::Told { iterations: 0, ended: None };
        }
        let policy = self.run.policy(subject).clone();
        let opened = Opened { id: id.clone(), policy, opening: opening.clone(), at: Time(self.clock) };
        Child::Real(Box::new(LoopSim::open(opened, self.rng.next(), book)))
    }

    fn step(&mut self, book: &mut Book) {
        self.clock += 1;
        if self.rng.chance(self.rates.noise) {
            self.noise(book);
        }
        if self.rng.chance(self.rates.crash) {
            self.crash(book);
        }
        let landing = self.run.intents().any(|(effect, _)| effect.step == Step::Land);
        if self.rng.chance(self.rates.cancel) && self.rng.one_in(if landing { 2 } else { 10 }) {
            let live = self.run.closing().is_none();
            if live && landing {
                book.saw("cancel/while landing".into());
            }
            self.feed(RunIn::Cancel, if live { Expect::Moves } else { Expect::Nothing }, book);
        }
        if self.rng.chance(if landing { 2 * self.rates.dropped } else { self.rates.dropped }) {
            self.drop_one(book);
        }
        self.launch(book);
        match self.rng.below(3) {
            0 => self.own_work(book),
            _ => self.advance(book),
        }
    }

    /// Starts what may start. Law `width`: never more than the width run, and free width is used.
    fn launch(&mut self, book: &mut Book) {
        let mut all: Vec<(EffectId, bool)> = Vec::new();
        for child in self.loops.values() {
            if let Child::Real(sim) = child {
                all.extend(sim.agents());
            }
        }
        let intended: BTreeSet<EffectId> = self.run.intents().map(|(effect, _)| effect.clone()).collect();
        let own = self.run.wants().into_keys().filter(|effect| effect.step.is_agent());
        all.extend(own.map(|effect| (effect.clone(), intended.contains(&effect))));
        all.sort();
        let running = all.iter().filter(|(_, runs)| *runs).count();
        let waiting: Vec<EffectId> = all.into_iter().filter(|(_, runs)| !runs).map(|(id, _)| id).collect();
        book.hold("width", running <= self.width, || format!("{running} run of {}", self.width));
        let started = launches(&waiting, running, self.width);
        let first = started.iter().eq(waiting.iter().take(started.len()));
        book.hold("width", first, || format!("{started:?} start out of {waiting:?}"));
        let full = running + started.len() == self.width || started.len() == waiting.len();
        book.hold("width", full, || format!("{running} run, {started:?} start, {waiting:?} wait"));
        if started.len() < waiting.len() {
            book.saw("width/waits".into());
        }
        for effect in started {
            if matches!(effect.step, Step::Checkpoint | Step::Summary) {
                self.intend(&effect, book);
            } else {
                let of = LoopId::new(effect.of.as_str());
                if let Some(Child::Real(sim)) = self.loops.get_mut(&of) {
                    sim.intend(effect, book);
                }
            }
        }
    }

    fn advance(&mut self, book: &mut Book) {
        let ids: Vec<LoopId> =
            self.loops.iter().filter(|(_, child)| !child.is_over()).map(|(id, _)| id.clone()).collect();
        if ids.is_empty() {
            return self.own_work(book);
        }
        let id = self.rng.pick(&ids).clone();
        let bad = self.rng.chance(self.rates.bad);
        let goes_on = self.rng.chance(40);
        let outcome = self.outcome(bad);
        let nothing = self.rates.bad > 3 && self.rng.one_in(12);
        let revision = (!nothing).then(|| self.fresh());
        let open = if bad { self.carried() } else { Vec::new() };
        match self.loops.get_mut(&id) {
            Some(Child::Real(sim)) => {
                sim.step(false, book);
            }
            Some(Child::Told { iterations, ended }) => {
                *iterations += 1;
                if !goes_on {
                    *ended = Some(Told { outcome, revision, open });
                }
            }
            None => {}
        }
    }

    fn outcome(&mut self, bad: bool) -> Outcome {
        let good = [Outcome::Passed, Outcome::PassedWithWarnings, Outcome::Accepted("ada".into())];
        let not = [Outcome::Exhausted, Outcome::Stale, Outcome::Stuck, Outcome::Failed, Outcome::Cancelled];
        match if bad { self.rng.pick(&not).clone() } else { self.rng.pick(&good).clone() } {
            // An artifact that goes on unapproved is seldom met otherwise.
            Outcome::Stuck | Outcome::Stale if self.run.stage_name() == "reviewing" => Outcome::Exhausted,
            outcome => outcome,
        }
    }

    fn carried(&mut self) -> Vec<CarriedFinding> {
        (0..self.rng.below(3))
            .map(|_| {
                self.findings += 1;
                let claim = Claim::new(Severity::Blocker, format!("c{}", self.findings)).at("f1", Some(1));
                CarriedFinding { id: FindingId(self.findings), entry: entry(claim) }
            })
            .collect()
    }

    fn own_work(&mut self, book: &mut Book) {
        let real = |(effect, want): &(EffectId, RunWant)| {
            let agent = effect.step.is_agent() && !self.is_intended(effect);
            !agent && !matches!(want, RunWant::Loop { .. } | RunWant::Wake { .. })
        };
        let wants: Vec<(EffectId, RunWant)> = self.run.wants().into_iter().filter(real).collect();
        if wants.is_empty() {
            return;
        }
        let (effect, want) = self.rng.pick(&wants).clone();
        if effect.step.is_one_shot() && !self.is_intended(&effect) {
            return self.intend(&effect, book);
        }
        if let RunWant::AskLane { stuck, plan } = &want {
            if self.rng.one_in(20) {
                // The plan is dropped by another way than the question.
                let drop = RunIn::Drop { plan: plan.clone(), by: "ada".into() };
                return self.feed(drop, Expect::Moves, book);
            }
            return self.person(&effect, stuck, book);
        }
        if let RunWant::AskHeld { .. } = &want {
            return self.person_held(&effect, book);
        }
        let due = self.run.intents().find(|(id, _)| **id == effect).and_then(|(_, due)| *due);
        if let Some(due) = due {
            let early = Time(due.0 - 1);
            let wake = |at, report| RunIn::Report { effect: effect.wake(), at, report };
            self.feed(wake(early, RunReport::Due), Expect::Nothing, book);
            self.feed(wake(due, RunReport::Finished { note: String::new() }), Expect::Nothing, book);
            if self.rng.chance(self.rates.fail / 2) {
                self.feed(wake(due, RunReport::Due), Expect::Moves, book);
                book.saw("run wake/due".into());
                return;
            }
        }
        self.answer(&effect, &want, book);
    }

    fn answer(&mut self, effect: &EffectId, want: &RunWant, book: &mut Book) {
        let happened = matches!(self.landings.get(effect), Some(Some(_)));
        let fails = !happened && self.rng.chance(self.rates.fail);
        let report = match want {
            _ if fails && self.rng.chance(50) => RunReport::Failed(Failure::new(FailureKind::Crashed, "no")),
            _ if fails => RunReport::LaneDecided(decision(LaneChoice::Stop)),
            RunWant::Summary { .. } => RunReport::Summarised { revision: self.fresh() },
            RunWant::Checkpoint { .. } => RunReport::Checkpointed { feedback: "go on".into() },
            RunWant::Land { plan, .. } => self.land(effect, plan, book),
            RunWant::Finish { step, ending, .. } => self.finish(*step, ending.is_good()),
            RunWant::Rebase if self.rng.one_in(6) => RunReport::Held(Held::Gone),
            RunWant::Rebase => RunReport::Rebased { onto: self.fresh() },
            RunWant::Carry { .. } => match self.rng.below(4) {
                0 => RunReport::JudgeAgain { revision: self.fresh() },
                1 => RunReport::Held(Held::Conflict(vec!["a".into()])),
                _ => RunReport::Carried { tip: self.fresh() },
            },
            RunWant::Loop { .. }
            | RunWant::AskLane { .. }
            | RunWant::AskHeld { .. }
            | RunWant::Wake { .. } => return,
        };
        if let RunReport::Rebased { .. } = report {
            self.moved.clear();
        }
        self.report(effect, report.clone(), Expect::Moves, book);
        if self.rng.chance(self.rates.noise) {
            self.report(effect, report, Expect::Nothing, book);
        }
    }

    /// The world lands, or not: once, whatever is asked again. Law `once`.
    fn land(&mut self, effect: &EffectId, plan: &PlanId, book: &mut Book) -> RunReport {
        if let Some(Some(report)) = self.landings.get(effect) {
            return report.clone();
        }
        let report = if self.rng.chance(self.rates.refuse) {
            let refusal = match self.rng.below(3) {
                0 => Refusal::Conflict,
                1 => Refusal::RedCheck,
                _ => Refusal::JudgeAgain(self.fresh()),
            };
            RunReport::LandingRefused { refusal, findings: self.carried() }
        } else {
            let times = self.moved.entry(plan.clone()).or_insert(0);
            *times += 1;
            book.hold("once", *times == 1, || format!("{plan} moves the branch twice"));
            RunReport::Landed { tip: self.fresh() }
        };
        self.landings.insert(effect.clone(), Some(report.clone()));
        report
    }

    /// Something may hold the result; what has not passed is never held.
    fn finish(&mut self, step: FinishStep, good: bool) -> RunReport {
        if good && step == FinishStep::Forward && self.rng.chance(self.rates.held) {
            let held = [
                Held::Moved,
                Held::Moved,
                Held::Moved,
                Held::Moved,
                Held::Gone,
                Held::Elsewhere("there".into()),
                Held::Busy("merge".into()),
                Held::Dirty(vec!["a".into()]),
                Held::InTheWay(vec!["a".into()]),
                Held::Undone(vec!["a".into()]),
                Held::Filtered(vec!["a".into()]),
                Held::Failed("no room".into()),
            ];
            return RunReport::Held(self.rng.pick(&held).clone());
        }
        RunReport::Finished { note: "done".into() }
    }

    fn person_held(&mut self, effect: &EffectId, book: &mut Book) {
        let failed = RunReport::Failed(Failure::new(FailureKind::Crashed, ""));
        self.report(effect, failed, Expect::Nothing, book);
        let land = self.decisions < self.patience && !self.rng.one_in(5);
        let mut choice = if land { HeldChoice::Land } else { HeldChoice::Stop };
        let again = HeldChoice::Again(1 + u32::try_from(self.rng.below(2)).unwrap());
        if !self.run.may_work_again() {
            let decision = HeldDecision { by: "ada".into(), choice: again, note: String::new() };
            self.report(effect, RunReport::HeldDecided(decision), Expect::Nothing, book);
        } else if land && self.rng.one_in(3) {
            choice = again;
        }
        self.decisions += 1;
        let decision = HeldDecision { by: "ada".into(), choice, note: String::new() };
        self.report(effect, RunReport::HeldDecided(decision), Expect::Moves, book);
    }

    fn person(&mut self, effect: &EffectId, stuck: &Stuck, book: &mut Book) {
        let offers = stuck.offers();
        let all = [
            LaneChoice::Retry(1 + u32::try_from(self.rng.below(3)).unwrap()),
            LaneChoice::Fixed(self.fresh()),
            LaneChoice::Reask,
            LaneChoice::Accept,
            LaneChoice::Drop,
            LaneChoice::Stop,
        ];
        let refused = all.iter().filter(|choice| !offers.contains(&choice.offer()));
        for choice in refused.chain([&LaneChoice::Retry(0)]) {
            self.report(effect, RunReport::LaneDecided(decision(choice.clone())), Expect::Nothing, book);
        }
        let failed = RunReport::Failed(Failure::new(FailureKind::Crashed, ""));
        self.report(effect, failed, Expect::Nothing, book);
        let done = self.decisions >= self.patience;
        let offered: Vec<&LaneChoice> = all
            .iter()
            .filter(|choice| offers.contains(&choice.offer()))
            .filter(|choice| !done || matches!(choice, LaneChoice::Drop | LaneChoice::Stop))
            .filter(|choice| **choice != LaneChoice::Stop || self.rng.one_in(3))
            .collect();
        if offered.is_empty() {
            return;
        }
        let choice = (*self.rng.pick(&offered)).clone();
        self.decisions += 1;
        self.report(effect, RunReport::LaneDecided(decision(choice)), Expect::Moves, book);
    }

    fn drop_one(&mut self, book: &mut Book) {
        let plans: Vec<PlanId> = self.run.spec().plans.iter().map(|plan| plan.id.clone()).collect();
        let lands = self.run.intents().find(|(effect, _)| effect.step == Step::Land);
        let lands = lands.map(|(effect, _)| PlanId::new(effect.of.as_str())).filter(|_| self.rng.chance(50));
        let plan = lands.unwrap_or_else(|| self.rng.pick(&plans).clone());
        let over = |id: &PlanId| {
            use tribunal_core::run::Standing;
            let standing = self.run.standings().find(|(plan, _)| *plan == id).map(|(_, at)| at);
            matches!(standing, Some(Standing::Landed(_) | Standing::Refused(_) | Standing::Dropped(_)))
        };
        let landing = self.run.intents().any(|(e, _)| e.step == Step::Land && e.of.as_str() == plan.as_str());
        let stage = matches!(self.run.stage_name(), "gating" | "building");
        let may = stage && !landing && !over(&plan);
        if landing {
            book.saw("drop/while landing".into());
        }
        let expect = if may { Expect::Moves } else { Expect::Nothing };
        self.feed(RunIn::Drop { plan, by: "ada".into() }, expect, book);
    }

    fn is_intended(&self, effect: &EffectId) -> bool {
        self.run.intents().any(|(id, _)| id == effect)
    }

    fn intend(&mut self, effect: &EffectId, book: &mut Book) {
        let input = RunIn::Intend { effect: effect.clone(), at: Time(self.clock) };
        self.feed(input.clone(), Expect::Moves, book);
        self.feed(input, Expect::Nothing, book);
        let plan = match self.run.wants().get(effect) {
            Some(RunWant::Land { plan, .. }) => plan.clone(),
            _ => return,
        };
        self.landings.insert(effect.clone(), None);
        if self.rng.chance(50) {
            self.land(effect, &plan, book);
        }
    }

    fn report(&mut self, effect: &EffectId, report: RunReport, expect: Expect, book: &mut Book) {
        let input = RunIn::Report { effect: effect.clone(), at: Time(self.clock), report };
        self.feed(input, expect, book);
    }

    /// Inputs that must mean nothing.
    fn noise(&mut self, book: &mut Book) {
        let at = Time(self.clock);
        let failed = RunReport::Failed(Failure::new(FailureKind::Crashed, "late"));
        if !self.old.is_empty() {
            let old = self.rng.pick(&self.old).clone();
            self.report(&old, failed.clone(), Expect::Nothing, book);
            self.report(&old.wake(), RunReport::Due, Expect::Nothing, book);
            self.feed(RunIn::Intend { effect: old.clone(), at }, Expect::Nothing, book);
            self.feed(RunIn::Iterated { effect: old.clone(), n: 99 }, Expect::Nothing, book);
            self.feed(RunIn::Clear { effect: old }, Expect::Nothing, book);
        }
        for (effect, want) in self.run.wants() {
            for stranger in strangers(&effect) {
                self.report(&stranger, failed.clone(), Expect::Nothing, book);
                self.feed(RunIn::Intend { effect: stranger.clone(), at }, Expect::Nothing, book);
                self.feed(RunIn::Iterated { effect: stranger.clone(), n: 99 }, Expect::Nothing, book);
                self.feed(RunIn::Clear { effect: stranger }, Expect::Nothing, book);
            }
            if !self.is_intended(&effect) {
                self.feed(RunIn::Clear { effect: effect.clone() }, Expect::Nothing, book);
                let wake =
                    RunIn::Report { effect: effect.wake(), at: Time(u64::MAX), report: RunReport::Due };
                self.feed(wake, Expect::Nothing, book);
                if effect.step.is_one_shot() || matches!(want, RunWant::Loop { .. }) {
                    self.report(&effect, failed.clone(), Expect::Nothing, book);
                }
            }
            if !matches!(want, RunWant::Loop { .. }) {
                self.feed(RunIn::Iterated { effect: effect.clone(), n: 99 }, Expect::Nothing, book);
            }
            if !effect.step.is_one_shot() {
                self.feed(RunIn::Intend { effect, at }, Expect::Nothing, book);
            }
        }
        self.feed(RunIn::Drop { plan: PlanId::new("nowhere"), by: "ada".into() }, Expect::Nothing, book);
    }

    /// The process dies: the journal is folded anew, and what was intended is probed.
    fn crash(&mut self, book: &mut Book) {
        match fold(&self.log) {
            Ok(folded) => {
                book.hold("replay", folded == self.run, || format!("{folded:?}\n  live {:?}", self.run));
                self.run = folded;
            }
            Err(e) => book.breach("replay", || e),
        }
        let intents: Vec<EffectId> = self.run.intents().map(|(effect, _)| effect.clone()).collect();
        for effect in intents {
            if !self.is_intended(&effect) {
                continue;
            }
            let happened = matches!(self.landings.get(&effect), Some(Some(_)));
            match self.rng.below(3) {
                _ if happened => book.saw("run probe/done".into()),
                0 => {}
                1 => {
                    self.feed(RunIn::Clear { effect: effect.clone() }, Expect::Moves, book);
                    let zombie = RunReport::Finished { note: "zombie".into() };
                    self.report(&effect, zombie, Expect::Nothing, book);
                    book.saw("run probe/not done".into());
                }
                _ => {
                    let report = RunReport::Failed(Failure::new(FailureKind::Unproven, ""));
                    self.report(&effect, report, Expect::Moves, book);
                    book.saw("run probe/unproven".into());
                }
            }
        }
        book.saw("run crash".into());
    }

    /// Law `absorbs`: after the end nothing is wanted, nothing means anything, and no loop lives.
    fn absorbs(&mut self, book: &mut Book) {
        self.reconcile(book);
        let alive = self.loops.values().any(|child| !child.is_over());
        book.hold("absorbs", !alive, || "a loop outlives its run".into());
        let idle = self.run.wants().is_empty() && self.run.intents().next().is_none();
        book.hold("absorbs", idle, || format!("{:?} after the end", self.run));
        let failed = RunReport::Failed(Failure::new(FailureKind::Crashed, ""));
        let at = Time(u64::MAX);
        for effect in self.old.clone() {
            for input in [
                RunIn::Report { effect: effect.clone(), at, report: failed.clone() },
                RunIn::Report { effect: effect.wake(), at, report: RunReport::Due },
                RunIn::Intend { effect: effect.clone(), at },
                RunIn::Iterated { effect: effect.clone(), n: 99 },
                RunIn::Clear { effect },
                RunIn::Cancel,
            ] {
                let means = self.run.decide(&input);
                book.hold("absorbs", means.is_none(), || format!("{input:?} means {means:?} after the end"));
            }
        }
        for plan in self.run.spec().plans.clone() {
            let means = self.run.decide(&RunIn::Drop { plan: plan.id, by: "ada".into() });
            book.hold("absorbs", means.is_none(), || format!("{means:?} after the end"));
        }
        match fold(&self.log) {
            Ok(folded) => book.hold("replay", folded == self.run, || "the whole journal".into()),
            Err(e) => book.breach("replay", || e),
        }
    }

    /// One input, one turn, every law.
    fn feed(&mut self, input: RunIn, expect: Expect, book: &mut Book) {
        if expect == Expect::Nothing {
            let means = self.run.decide(&input);
            return book.hold("stale", means.is_none(), || format!("{input:?} means {means:?}"));
        }
        let before = self.run.clone();
        let events = match turn(&mut self.run, &input) {
            Ok(events) => events,
            Err(e) => return book.breach("closed", || format!("{input:?}: {e}")),
        };
        book.hold("progress", !events.is_empty(), || format!("{input:?} means nothing in {before:?}"));
        book.hold("progress", self.run != before, || format!("{input:?} changes nothing"));
        let meant = self.replica.decide(&input);
        book.hold("replay", meant.as_ref() == events.first(), || format!("{meant:?} is not {events:?}"));
        self.laws.input(&input, &events, book);
        self.stability(&input, &before, &events, book);
        self.parts(&before, &events, book);
        self.commit(&events, book);
        if let RunIn::Report { effect, .. } | RunIn::Clear { effect } = input {
            self.old.push(effect.guarded().unwrap_or(effect));
        }
    }

    fn commit(&mut self, events: &[RunEvent], book: &mut Book) {
        for (at, event) in events.iter().enumerate() {
            if at > 0 {
                let follows = self.replica.settle();
                book.hold("replay", follows.as_ref() == Some(event), || format!("{follows:?} not {event:?}"));
            }
            let before = self.replica.clone();
            if let Err(e) = self.replica.apply(event) {
                book.breach("closed", || e.to_string());
            }
            transitions::run_moved(&before, event, &self.replica, book);
            self.laws.observe(event, book);
            self.log.push(serde_json::to_string(event).unwrap());
        }
        book.hold("replay", self.replica == self.run, || "the replica is not the run".into());
        let rest = self.run.settle();
        book.hold("settled", rest.is_none(), || format!("{rest:?} is left after a turn"));
        let wants = self.run.wants();
        book.digest(&(events, &wants));
        let waits = self.run.ending().is_some() || !wants.is_empty();
        book.hold("settled", waits, || format!("wants nothing: {:?}", self.run));
        let written: BTreeSet<String> = wants.values().filter_map(written).collect();
        let expected = self.laws.expected();
        book.hold("order", written == expected, || {
            format!("wants {written:?}\n  and not {expected:?}\n  after {events:?}")
        });
        for (plan, approved) in self.laws.approved() {
            let head = self.run.lane_head(plan);
            book.hold("gate", head == approved, || format!("{plan} begins at {head:?}, not at {approved:?}"));
        }
        let stranded = self.laws.stranded();
        book.hold("order", stranded.is_none(), || format!("{stranded:?} waits for what will not land"));
        let lands = wants.values().filter(|want| matches!(want, RunWant::Land { .. })).count();
        book.hold("order", lands < 2, || "two landings at once".into());
        for (effect, due) in self.run.intents() {
            let untimed = matches!(effect.step, Step::Land | Step::Rebase | Step::Carry);
            let woken = due.is_none() == untimed && wants.contains_key(effect);
            let wake = due.is_none_or(|at| wants.get(&effect.wake()) == Some(&RunWant::Wake { at }));
            book.hold("intent", woken && wake, || format!("{effect} is out and nobody waits for it"));
        }
    }

    /// Law `stability`: what was wanted is wanted until its own report, end, drop or close; an intended landing
    /// even then.
    fn parts(&self, before: &Run, events: &[RunEvent], book: &mut Book) {
        let together: BTreeMap<_, _> = self.run.parts().flat_map(|of| self.run.wants_of(&of)).collect();
        book.hold("parts", together == self.run.wants(), || "the parts are not the whole".into());
        let touched: Option<Vec<Vec<Of>>> = events.iter().map(RunEvent::touches).collect();
        let Some(touched) = touched else { return };
        let heads = [before.lands_next(), self.run.lands_next()];
        let touched: BTreeSet<Of> =
            touched.into_iter().flatten().chain(heads.into_iter().flatten()).collect();
        for of in self.run.parts().filter(|of| !touched.contains(of)) {
            book.hold("parts", before.wants_of(&of) == self.run.wants_of(&of), || {
                format!("{of} is not touched and wants something else after {events:?}")
            });
        }
    }

    fn stability(&self, input: &RunIn, before: &Run, events: &[RunEvent], book: &mut Book) {
        let own = match input {
            RunIn::Report { effect, .. } | RunIn::Clear { effect } => {
                Some(effect.guarded().unwrap_or_else(|| effect.clone()))
            }
            _ => None,
        };
        let wants = self.run.wants();
        for (effect, want) in before.wants() {
            let mine = Some(&effect) == own.as_ref() || effect.guarded() == own && own.is_some();
            if mine || wants.get(&effect) == Some(&want) {
                continue;
            }
            let closing = before.closing().is_none() && self.run.closing().is_some();
            let landing = effect.step == Step::Land && before.intents().any(|(id, _)| *id == effect);
            let dropped = events.iter().any(|event| match event {
                RunEvent::PlanDropped { plan, .. } => plan.as_str() == effect.of.as_str(),
                _ => false,
            });
            // A checkpoint ends with its lane's tasks.
            let inner = effect.guarded().unwrap_or_else(|| effect.clone());
            let left = inner.step == Step::Checkpoint && own.as_ref().is_some_and(|own| own.of == inner.of);
            let may = !landing && (closing || dropped || left);
            book.hold("stability", may, || format!("{effect} is no longer wanted after {events:?}"));
        }
    }
}

fn decision(choice: LaneChoice) -> LaneDecision {
    LaneDecision { by: "ada".into(), choice, note: String::new() }
}

fn entry(claim: Claim) -> Entry {
    Entry::new(claim, BTreeSet::from([Source::Check(Check::new("lint"))]), 1)
}
