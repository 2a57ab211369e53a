//! Short walks to the places that the long ones do not reach: runs that review what exists, make an artifact or polish,
//! and checks that ask or do not run. They hold no law; they show which transitions there are.

use crate::asks;
use crate::book::Book;
use crate::rng::Rng;
use crate::specs;
use crate::transitions::{Which, run_moved, run_opened};
use tribunal_core::effect::{EffectId, FinishStep, Step};
use tribunal_core::failure::{Failure, FailureKind};
use tribunal_core::held::{Held, HeldChoice, HeldDecision};
use tribunal_core::ids::{Revision, Time};
use tribunal_core::ledger::Delta;
use tribunal_core::machine::Machine;
use tribunal_core::policy::{Policy, Use};
use tribunal_core::review_loop::{Checked, Loop, LoopEvent, LoopIn, LoopReport, Outcome};
use tribunal_core::run::{
    ChainSpec, Exists, LaneChoice, LaneDecision, LaneOffer, Refusal, Run, RunEvent, RunIn, RunReport,
    RunSpec, RunWant, Stuck,
};

const RUNS: u64 = 800;

/// All of them.
pub fn walk(book: &mut Book) {
    (0..RUNS).for_each(|seed| Journey::new(seed, book).walk(book));
    a_check_that_asks(book);
    a_check_that_does_not_run(book);
}

struct Journey {
    run: Run,
    rng: Rng,
    revisions: u32,
}

impl Journey {
    fn new(seed: u64, book: &mut Book) -> Journey {
        let mut rng = Rng::new(seed ^ 0x0005_ed00);
        let drawn = specs::spec(&mut rng);
        let none = || Vec::new();
        let exists = Exists { revision: Revision::new("there"), open: Vec::new(), since: None, last: None };
        let policy = Policy { unattended: true, ..Policy::of(Use::Phase) };
        let chain = ChainSpec { name: "spec".into(), policy: Policy::of(Use::Chain), goes_on: true };
        let spec = match seed % 4 {
            0 => RunSpec { plans: none(), exists: Some(exists), chain: None, ..drawn },
            1 => RunSpec { plans: none(), chain: Some(Box::new(chain)), ..drawn },
            2 => RunSpec { review: true, chain: None, ..drawn },
            _ => drawn,
        };
        let polish = rng.chance(50).then(|| Box::new(policy));
        let finish = vec![FinishStep::Boundary, FinishStep::Forward, FinishStep::Push];
        let run = Run::open(&RunSpec { polish, finish, ..spec });
        run_opened(&run, book);
        let mut journey = Journey { run, rng, revisions: 0 };
        journey.settle(book);
        journey
    }

    fn walk(&mut self, book: &mut Book) {
        for _ in 0..300 {
            let wants: Vec<(EffectId, RunWant)> = self.run.wants().into_iter().collect();
            let work: Vec<_> =
                wants.iter().filter(|(_, want)| !matches!(want, RunWant::Wake { .. })).collect();
            if work.is_empty() {
                return;
            }
            let (effect, want) = (*self.rng.pick(&work)).clone();
            let intended = self.run.intents().any(|(id, _)| *id == effect);
            let at = Time(1);
            let input = match effect.step.is_one_shot() && !intended {
                _ if self.rng.one_in(80) => RunIn::Cancel,
                true => RunIn::Intend { effect, at },
                false => RunIn::Report { effect, at, report: self.report(&want) },
            };
            if let Some(event) = self.run.decide(&input) {
                self.apply(&event, book);
                self.settle(book);
            }
        }
    }

    fn apply(&mut self, event: &RunEvent, book: &mut Book) {
        let before = self.run.clone();
        self.run.apply(event).unwrap();
        run_moved(&before, event, &self.run, book);
    }

    fn settle(&mut self, book: &mut Book) {
        while let Some(event) = self.run.settle() {
            self.apply(&event, book);
        }
    }

    fn fresh(&mut self) -> Revision {
        self.revisions += 1;
        Revision::new(format!("v{}", self.revisions))
    }

    fn report(&mut self, want: &RunWant) -> RunReport {
        let revision = self.fresh();
        let bad = self.rng.chance(25);
        let failed = RunReport::Failed(Failure::new(FailureKind::Crashed, "no"));
        let held = *self.rng.pick(&[true, false, false]);
        match want {
            RunWant::Loop { .. } => {
                let outcome = if bad {
                    self.rng.pick(&[Outcome::Exhausted, Outcome::Failed])
                } else {
                    &Outcome::Passed
                };
                RunReport::LoopEnded { outcome: outcome.clone(), revision: Some(revision), open: Vec::new() }
            }
            RunWant::Checkpoint { .. } => RunReport::Checkpointed { feedback: "go on".into() },
            RunWant::AskLane { stuck, .. } => RunReport::LaneDecided(self.lane_decision(stuck)),
            RunWant::AskHeld { .. } => {
                let choice = if bad { HeldChoice::Stop } else { HeldChoice::Land };
                RunReport::HeldDecided(HeldDecision { by: "ada".into(), choice, note: String::new() })
            }
            RunWant::Land { .. } if held && !bad => {
                RunReport::LandingRefused { refusal: Refusal::Conflict, findings: Vec::new() }
            }
            RunWant::Finish { .. } if held && !bad => RunReport::Held(Held::Moved),
            RunWant::Rebase | RunWant::Carry { .. } if held && !bad => RunReport::Held(Held::Gone),
            _ if bad => failed,
            RunWant::Summary { .. } => RunReport::Summarised { revision },
            RunWant::Land { .. } => RunReport::Landed { tip: revision },
            RunWant::Finish { .. } => RunReport::Finished { note: String::new() },
            RunWant::Rebase => RunReport::Rebased { onto: revision },
            RunWant::Carry { .. } if self.rng.chance(30) => RunReport::JudgeAgain { revision },
            RunWant::Carry { .. } => RunReport::Carried { tip: revision },
            RunWant::Wake { .. } => RunReport::Due,
        }
    }

    fn lane_decision(&mut self, stuck: &Stuck) -> LaneDecision {
        let offers = stuck.offers();
        let choice = match self.rng.pick(&offers) {
            LaneOffer::Retry => LaneChoice::Retry(1),
            LaneOffer::Fixed => LaneChoice::Fixed(self.fresh()),
            LaneOffer::Reask => LaneChoice::Reask,
            LaneOffer::Accept => LaneChoice::Accept,
            LaneOffer::Drop => LaneChoice::Drop,
            LaneOffer::Stop => LaneChoice::Stop,
        };
        LaneDecision { by: "ada".into(), choice, note: String::new() }
    }
}

/// What the check asks gets its id before the panel is asked.
fn a_check_that_asks(book: &mut Book) {
    let mut live = asks::delivery(&["qa"]);
    let findings = vec![asks::question(1)];
    tell(&mut live, |step| matches!(step, Step::Check(_)), LoopReport::Checked(Checked { findings }), book);
    let tracked = LoopReport::Tracked { findings: vec![asks::tracked(1)], delta: Delta::default() };
    tell(&mut live, |step| *step == Step::Track, tracked, book);
}

fn a_check_that_does_not_run(book: &mut Book) {
    let mut live = asks::delivery(&["qa"]);
    tell(
        &mut live,
        |step| matches!(step, Step::Check(_)),
        LoopReport::Unchecked("not installed".into()),
        book,
    );
}

fn tell(live: &mut Loop, is: impl Fn(&Step) -> bool, report: LoopReport, book: &mut Book) {
    let effect = live.wants().into_keys().find(|effect| is(&effect.step)).unwrap();
    let decided = live.decide(&LoopIn::Report { effect, at: Time(2), report }).unwrap();
    let mut next: Option<LoopEvent> = Some(decided);
    while let Some(event) = next {
        let from = live.state_name();
        live.apply(&event).unwrap();
        book.moved(Which::Loop, from, event.name(), live.state_name());
        next = live.settle();
    }
}
