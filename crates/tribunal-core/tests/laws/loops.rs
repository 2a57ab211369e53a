//! Walks one loop through a simulated world: reports right, failed, garbled, late, repeated and foreign,
//! wakes early and due, clears, crashes, decisions offered and not, and a cancel at any point.

use crate::book::Book;
use crate::loop_laws::LoopLaws;
use crate::loop_world::{Rates, World};
use crate::rng::Rng;
use crate::transitions::{self, Which};
use std::collections::BTreeMap;
use tribunal_core::effect::{EffectId, Step, Try};
use tribunal_core::ids::{Of, Revision, Time};
use tribunal_core::machine::{Machine, settle, turn};
use tribunal_core::review_loop::{
    Choice, Decision, Failure, FailureKind, Loop, LoopEvent, LoopIn, LoopReport, LoopWant, Opened, Question,
};

/// What a turn is expected to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expect {
    /// It moves the machine (law `progress`).
    Moves,
    /// It means nothing and changes nothing (law `stale`).
    Nothing,
}

/// A loop in its simulated world.
pub struct LoopSim {
    /// The machine.
    pub live: Loop,
    /// Its journal as text, one line for each event.
    pub log: Vec<String>,
    /// What the walk draws from.
    pub rng: Rng,
    /// How bad this world is.
    pub rates: Rates,
    world: World,
    replica: Loop,
    laws: LoopLaws,
    clock: u64,
    old: Vec<EffectId>,
    decisions: u32,
    patience: u32,
}

/// Reads a journal back and folds it.
pub fn fold(log: &[String]) -> Result<Loop, String> {
    let mut folded: Option<Loop> = None;
    for line in log {
        let event: LoopEvent = serde_json::from_str(line).map_err(|e| e.to_string())?;
        match (&mut folded, &event) {
            (None, LoopEvent::Opened(opened)) => folded = Some(Loop::open(opened)),
            (None, _) => return Err("does not begin with its opening".to_owned()),
            (Some(machine), event) => machine.apply(event).map_err(|e| e.to_string())?,
        }
    }
    folded.ok_or_else(|| "empty".to_owned())
}

impl LoopSim {
    /// Opens the loop: its opening and what settles from it are the first transaction.
    pub fn open(opened: Opened, seed: u64, book: &mut Book) -> LoopSim {
        let mut rng = Rng::new(seed);
        let rates = Rates::draw(&mut rng);
        let live = Loop::open(&opened);
        let log = vec![serde_json::to_string(&LoopEvent::Opened(Box::new(opened.clone()))).unwrap()];
        let mut sim = LoopSim {
            replica: live.clone(),
            laws: LoopLaws::new(&opened, book.wild),
            world: World::new(&opened),
            log,
            patience: 1 + u32::try_from(rng.below(5)).unwrap(),
            rng,
            rates,
            clock: opened.at.0,
            old: Vec::new(),
            decisions: 0,
            live,
        };
        book.loops += 1;
        book.moved(Which::Loop, transitions::BEGIN, "opened", sim.live.state_name());
        match settle(&mut sim.live) {
            Ok(events) => sim.commit(&events, book),
            Err(e) => book.breach("closed", || e.to_string()),
        }
        sim
    }

    /// It has ended.
    pub fn is_over(&self) -> bool {
        self.live.outcome().is_some()
    }

    /// One step of the world. False when there was nothing to do but wait for a launch.
    pub fn step(&mut self, may_intend: bool, book: &mut Book) -> bool {
        if self.rng.chance(self.rates.noise) {
            self.noise(book);
        }
        if self.rng.chance(self.rates.crash) {
            self.crash(book);
        }
        if self.rng.chance(self.rates.cancel) && self.rng.one_in(4) {
            self.feed(LoopIn::Cancel, Expect::Moves, book);
            return true;
        }
        self.work(may_intend, book)
    }

    /// Walks to the end.
    pub fn walk(&mut self, book: &mut Book) {
        for _ in 0..5_000 {
            if self.is_over() {
                return self.absorbs(book);
            }
            self.step(true, book);
        }
        book.breach("bounded", || "5,000 steps and no end".to_owned());
    }

    /// Effects wanted that launch an agent, with whether they run.
    pub fn agents(&self) -> Vec<(EffectId, bool)> {
        let wants = self.live.wants().into_keys().filter(|effect| effect.step.is_agent());
        wants.map(|effect| (effect.clone(), self.live.intents().has(&effect))).collect()
    }

    /// Launches an effect.
    pub fn intend(&mut self, effect: EffectId, book: &mut Book) {
        let at = Time(self.clock);
        self.feed(LoopIn::Intend { effect, at }, Expect::Moves, book);
    }

    /// The run no longer wants it.
    pub fn cancel(&mut self, book: &mut Book) {
        let expect = if self.is_over() { Expect::Nothing } else { Expect::Moves };
        self.feed(LoopIn::Cancel, expect, book);
    }

    fn work(&mut self, may_intend: bool, book: &mut Book) -> bool {
        let wants: Vec<(EffectId, LoopWant)> = self.live.wants().into_iter().collect();
        let real = |(_, want): &&(EffectId, LoopWant)| !matches!(want, LoopWant::Wake { .. });
        let intended = |(effect, _): &&(EffectId, LoopWant)| {
            !effect.step.is_one_shot() || self.live.intents().has(effect)
        };
        let work: Vec<_> = wants.iter().filter(real).filter(|w| may_intend || intended(w)).cloned().collect();
        if work.is_empty() {
            return false;
        }
        let (effect, want) = self.rng.pick(&work).clone();
        if effect.step.is_one_shot() && !self.live.intents().has(&effect) {
            self.intend(effect, book);
            return true;
        }
        self.clock += 1;
        if let Some(Some(due)) = self.live.intents().due(&effect) {
            if self.rng.chance(self.rates.noise) {
                self.deliver(effect.wake(), Time(due.0 - 1), LoopReport::Due, Expect::Nothing, book);
                self.deliver(
                    effect.wake(),
                    due,
                    LoopReport::Joined { revision: "x".into() },
                    Expect::Nothing,
                    book,
                );
            }
            if self.rng.chance(self.rates.fail) && self.rng.chance(40) {
                self.clock = self.clock.max(due.0);
                self.deliver(effect.wake(), due, LoopReport::Due, Expect::Moves, book);
                self.deliver(effect.clone(), due, self.world.garbled(&want), Expect::Nothing, book);
                book.saw("wake/due".into());
                return true;
            }
        }
        self.answer(effect, &want, book);
        true
    }

    fn answer(&mut self, effect: EffectId, want: &LoopWant, book: &mut Book) {
        let at = Time(self.clock);
        if let LoopWant::Ask(question) = want {
            return self.person(effect, question, book);
        }
        let report = if self.rng.chance(self.rates.fail) {
            use FailureKind as K;
            let kind = *self.rng.pick(&[K::Crashed, K::Empty, K::Stalled, K::DidNotRun]);
            // What cannot pass is rarer, or most loops would end there.
            let kind = match self.clock % 7 {
                0 if self.clock.is_multiple_of(2) => K::Unchanged,
                0 => K::Auth,
                _ => kind,
            };
            LoopReport::Failed(Failure::new(kind, "no"))
        } else if self.rng.chance(self.rates.garble) {
            self.world.garbled(want)
        } else {
            self.world.right(&mut self.rng, &self.rates, &self.live, want)
        };
        self.deliver(effect.clone(), at, report.clone(), Expect::Moves, book);
        if self.rng.chance(self.rates.noise) {
            self.deliver(effect, at, report, Expect::Nothing, book);
        }
    }

    fn person(&mut self, effect: EffectId, question: &Question, book: &mut Book) {
        let at = Time(self.clock);
        let offers = question.offers();
        let fixed = self.world.fresh();
        let old = self.live.judged().first().cloned().unwrap_or_else(|| fixed.clone());
        let fixed = if self.rng.one_in(8) { old } else { fixed };
        let all = [
            Choice::Again(1 + u32::try_from(self.rng.below(3)).unwrap()),
            Choice::Fixed(fixed),
            Choice::Reask,
            Choice::Accept,
            Choice::Stop,
        ];
        let decided = |choice: &Choice| {
            LoopReport::Decided(Decision { by: "ada".into(), choice: choice.clone(), note: String::new() })
        };
        let refused: Vec<Choice> =
            all.iter().filter(|choice| !offers.contains(&choice.offer())).cloned().collect();
        for choice in refused.iter().chain([&Choice::Again(0)]) {
            self.deliver(effect.clone(), at, decided(choice), Expect::Nothing, book);
            book.saw(format!("refused/{:?}", choice.offer()));
        }
        let failed = LoopReport::Failed(Failure::new(FailureKind::Crashed, ""));
        self.deliver(effect.clone(), at, failed, Expect::Nothing, book);
        let garbled = LoopReport::Joined { revision: "x".into() };
        self.deliver(effect.clone(), at, garbled, Expect::Nothing, book);
        let done = self.decisions >= self.patience;
        let offered: Vec<&Choice> = all
            .iter()
            .filter(|choice| offers.contains(&choice.offer()))
            .filter(|choice| !done || matches!(choice, Choice::Accept | Choice::Stop))
            .collect();
        let choice = (*self.rng.pick(&offered)).clone();
        self.decisions += 1;
        self.deliver(effect, at, decided(&choice), Expect::Moves, book);
    }

    fn deliver(&mut self, effect: EffectId, at: Time, report: LoopReport, expect: Expect, book: &mut Book) {
        self.feed(LoopIn::Report { effect, at, report }, expect, book);
    }

    /// Inputs that must mean nothing.
    fn noise(&mut self, book: &mut Book) {
        let at = Time(self.clock);
        let report = LoopReport::Failed(Failure::new(FailureKind::Crashed, "late"));
        if !self.old.is_empty() {
            let old = self.rng.pick(&self.old).clone();
            self.deliver(old.clone(), at, report.clone(), Expect::Nothing, book);
            self.deliver(old.wake(), Time(u64::MAX), LoopReport::Due, Expect::Nothing, book);
            self.feed(LoopIn::Intend { effect: old.clone(), at }, Expect::Nothing, book);
            self.feed(LoopIn::Clear { effect: old }, Expect::Nothing, book);
        }
        for (effect, _) in self.live.wants() {
            for stranger in strangers(&effect) {
                self.deliver(stranger.clone(), at, report.clone(), Expect::Nothing, book);
                self.feed(LoopIn::Intend { effect: stranger.clone(), at }, Expect::Nothing, book);
                self.feed(LoopIn::Clear { effect: stranger }, Expect::Nothing, book);
            }
            let intended = self.live.intents().has(&effect);
            if !intended {
                self.feed(LoopIn::Clear { effect: effect.clone() }, Expect::Nothing, book);
                self.deliver(effect.wake(), Time(u64::MAX), LoopReport::Due, Expect::Nothing, book);
            }
            if intended || !effect.step.is_one_shot() {
                self.feed(LoopIn::Intend { effect, at }, Expect::Nothing, book);
            } else {
                self.deliver(effect, at, report.clone(), Expect::Nothing, book);
            }
        }
        book.saw("noise".into());
    }

    /// The process dies: the journal is folded anew, and what was intended is probed.
    fn crash(&mut self, book: &mut Book) {
        match fold(&self.log) {
            Ok(folded) => {
                book.hold("replay", folded == self.live, || format!("{folded:?}\n  live {:?}", self.live));
                self.live = folded;
            }
            Err(e) => book.breach("replay", || e),
        }
        let intents: Vec<EffectId> = self.live.intents().iter().map(|(effect, _)| effect.clone()).collect();
        for effect in intents {
            if self.is_over() || !self.live.intents().has(&effect) {
                continue;
            }
            match self.rng.below(3) {
                0 => book.saw("probe/done".into()),
                1 => {
                    self.feed(LoopIn::Clear { effect: effect.clone() }, Expect::Moves, book);
                    let zombie = LoopReport::Failed(Failure::new(FailureKind::Empty, "zombie"));
                    self.deliver(effect, Time(self.clock), zombie, Expect::Nothing, book);
                    book.saw("probe/not done".into());
                }
                _ => {
                    let report = LoopReport::Failed(Failure::new(FailureKind::Unproven, ""));
                    self.deliver(effect, Time(self.clock), report, Expect::Moves, book);
                    book.saw("probe/unproven".into());
                }
            }
        }
        book.saw("crash".into());
    }

    /// Law `absorbs`: after the end nothing is wanted and nothing means anything.
    fn absorbs(&mut self, book: &mut Book) {
        let idle = self.live.wants().is_empty() && self.live.intents().iter().next().is_none();
        book.hold("absorbs", idle, || format!("wants {:?} after the end", self.live.wants()));
        let before = self.live.clone();
        let at = Time(u64::MAX);
        let report = LoopReport::Failed(Failure::new(FailureKind::Crashed, ""));
        for effect in self.old.clone() {
            for input in [
                LoopIn::Report { effect: effect.clone(), at, report: report.clone() },
                LoopIn::Report { effect: effect.wake(), at, report: LoopReport::Due },
                LoopIn::Intend { effect: effect.clone(), at },
                LoopIn::Clear { effect },
                LoopIn::Cancel,
            ] {
                let means = self.live.decide(&input);
                book.hold("absorbs", means.is_none(), || format!("{input:?} means {means:?} after the end"));
            }
        }
        book.hold("absorbs", self.live == before, || "changed".into());
        let refused = self.live.clone().apply(&LoopEvent::Ended {
            outcome: tribunal_core::review_loop::Outcome::Cancelled,
            revision: None,
        });
        book.hold("absorbs", refused.is_err(), || "ends twice".into());
        match fold(&self.log) {
            Ok(folded) => book.hold("replay", folded == self.live, || "the whole journal".into()),
            Err(e) => book.breach("replay", || e),
        }
    }

    /// One input, one turn, every law.
    fn feed(&mut self, input: LoopIn, expect: Expect, book: &mut Book) {
        if expect == Expect::Nothing {
            // Deciding cannot change the machine: what means nothing changes nothing.
            let means = self.live.decide(&input);
            return book.hold("stale", means.is_none(), || format!("{input:?} means {means:?}"));
        }
        let before = self.live.clone();
        let wanted = before.wants();
        let events = match turn(&mut self.live, &input) {
            Ok(events) => events,
            Err(e) => return book.breach("closed", || format!("{input:?}: {e}")),
        };
        book.hold("progress", !events.is_empty(), || format!("{input:?} means nothing in {before:?}"));
        book.hold("progress", self.live != before, || format!("{input:?} changes nothing in {before:?}"));
        let meant = self.replica.decide(&input);
        book.hold("replay", meant.as_ref() == events.first(), || format!("{meant:?} is not {events:?}"));
        self.laws.input(&input, &events, book);
        self.stability(&input, &wanted, &events, book);
        self.commit(&events, book);
        if let LoopIn::Report { effect, .. } | LoopIn::Clear { effect } = input {
            self.old.push(effect.guarded().unwrap_or(effect));
        }
    }

    fn commit(&mut self, events: &[LoopEvent], book: &mut Book) {
        for (at, event) in events.iter().enumerate() {
            // Inside a transaction every further event follows from the state alone.
            if at > 0 {
                let follows = self.replica.settle();
                book.hold("replay", follows.as_ref() == Some(event), || format!("{follows:?} not {event:?}"));
            }
            let from = self.replica.state_name();
            if let Err(e) = self.replica.apply(event) {
                book.breach("closed", || e.to_string());
            }
            book.moved(Which::Loop, from, event.name(), self.replica.state_name());
            self.laws.observe(event, &self.replica, book);
            self.log.push(serde_json::to_string(event).unwrap());
        }
        book.hold("replay", self.replica == self.live, || {
            format!("{:?}\n  live {:?}", self.replica, self.live)
        });
        let wants = self.live.wants();
        book.digest(&(events, &wants));
        let hands = wants.values().filter_map(|want| match want {
            LoopWant::Make { findings, .. } => Some(findings.clone()),
            _ => None,
        });
        let asked = wants.keys().chain(self.old.iter().rev().take(4)).flat_map(|effect| {
            let again = EffectId { n: Try { again: !effect.n.again, ..effect.n }, ..effect.clone() };
            let backup = EffectId { n: Try { backup: !effect.n.backup, ..effect.n }, ..effect.clone() };
            strangers(effect).into_iter().chain([effect.clone(), effect.wake(), again, backup])
        });
        for effect in asked {
            let wanted = self.live.is_wanted(&effect);
            book.hold("wanted", wanted == wants.contains_key(&effect), || {
                format!("{effect} is {}wanted, says is_wanted alone", if wanted { "" } else { "not " })
            });
        }
        let hollow = wants.values().any(|want| matches!(want, LoopWant::Join { parts } if parts.is_empty()));
        book.hold("crew", !hollow, || "joins nothing".into());
        self.laws.builders_disjoint(&hands.collect::<Vec<_>>(), book);
        let rest = self.live.settle();
        book.hold("settled", rest.is_none(), || format!("{rest:?} is left after a turn"));
        let waits = self.is_over() || !wants.is_empty();
        book.hold("settled", waits, || format!("wants nothing in {}", self.live.state_name()));
    }

    /// Law `stability`: what was wanted is wanted until its own report or the end.
    fn stability(
        &self,
        input: &LoopIn,
        wanted: &BTreeMap<EffectId, LoopWant>,
        events: &[LoopEvent],
        book: &mut Book,
    ) {
        if events.iter().any(|event| matches!(event, LoopEvent::Ended { .. })) {
            return;
        }
        let own = match input {
            LoopIn::Report { effect, .. } | LoopIn::Clear { effect } => {
                Some(effect.guarded().unwrap_or_else(|| effect.clone()))
            }
            LoopIn::Intend { .. } | LoopIn::Cancel => None,
        };
        let wants = self.live.wants();
        for (effect, want) in wanted {
            let mine = Some(effect) == own.as_ref() || effect.guarded() == own;
            let kept = mine || wants.get(effect) == Some(want);
            book.hold("stability", kept, || format!("{effect} is no longer wanted after {events:?}"));
        }
    }
}

/// Ids that look like this one and are not.
pub fn strangers(effect: &EffectId) -> [EffectId; 5] {
    [
        EffectId { of: Of::new("elsewhere"), ..effect.clone() },
        EffectId { entry: effect.entry + 1, ..effect.clone() },
        EffectId { entry: effect.entry - 1, ..effect.clone() },
        EffectId { launch: effect.launch + 1, ..effect.clone() },
        EffectId {
            n: Try { fails: effect.n.fails + 1, ..effect.n },
            step: other(&effect.step),
            ..effect.clone()
        },
    ]
}

fn other(step: &Step) -> Step {
    if *step == Step::Track { Step::Join } else { Step::Track }
}

/// A revision by number.
pub fn revision(n: u32) -> Revision {
    Revision::new(format!("r{n}"))
}
