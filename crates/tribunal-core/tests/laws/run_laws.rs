//! The laws of a run, read from its journal: a second, plain model of plans, lanes and the queue, written from
//! the tables of the design. After every turn the machine must want exactly what the model says.

use crate::book::Book;
use std::collections::{BTreeMap, BTreeSet};
use tribunal_core::effect::{EffectId, FinishStep, Step};
use tribunal_core::held::{Held, HeldChoice, HeldDecision};
use tribunal_core::ids::{PlanId, Revision, Time};
use tribunal_core::ledger::CarriedFinding;
use tribunal_core::review_loop::{Opening, Outcome};
use tribunal_core::run::{
    Ending, Job, Land, LaneChoice, LaneDecision, PlanGate, PlanSpec, REBASES_MAX, Refusal, RunEvent, RunIn,
    RunSpec, RunWant, Stuck, Subject, Was,
};

#[derive(Clone, Debug, PartialEq)]
enum Place {
    Loop(Job, Opening),
    Summary(u32),
    Queued { order: u64, fails: u32 },
    Stuck { stuck: Stuck, asked: bool },
}

#[derive(Clone, Debug, PartialEq)]
struct Lane {
    place: Place,
    tasks_done: u32,
    /// What was approved last: by a loop, or by a person who accepted it.
    approved: Option<Revision>,
    /// What may land.
    delivered: Option<Revision>,
    repairs: u32,
    repairs_max: u32,
    known: u32,
    since: u32,
    checkpoint: bool,
    landing: bool,
}

#[derive(Clone, Debug, PartialEq)]
enum Plan {
    Gating,
    Ready,
    Lane(Box<Lane>),
    Landed,
    Refused,
    Dropped,
}

#[derive(Clone, Debug, PartialEq)]
enum Stage {
    Gating,
    Building,
    Reviewing,
    Closing(Ending),
    Finishing { ending: Ending, left: Vec<FinishStep>, fails: u32, asked: bool },
    Held { ending: Ending, held: Held, whole: bool },
    Rebasing { ending: Ending, fails: u32, again: Option<u32> },
    Carrying { ending: Ending, fails: u32 },
    Ended,
}

/// The model and the laws of one run.
pub struct RunLaws {
    spec: RunSpec,
    stage: Stage,
    wave: u32,
    plans: BTreeMap<PlanId, Plan>,
    queue: u64,
    landed: BTreeSet<PlanId>,
    tip: Option<Revision>,
    /// What landed, in order.
    landings: Vec<(PlanId, Revision)>,
    /// What the last loop over everything judged first and approved, and how the run would end.
    reviewed: Option<(Option<Revision>, Revision, Ending)>,
    ground: Option<Revision>,
    /// Rebases that were granted, begun and done.
    granted: u64,
    rebasings: u64,
    rebased: u64,
    /// Rebases left of the last grant.
    rebases: u32,
    /// The person's last word about the result was to land it.
    ordered: bool,
    carryings: u64,
    held_decisions: u64,
    /// The user's branch has the result.
    there: bool,
    intended: BTreeSet<EffectId>,
    heard: BTreeSet<EffectId>,
    reports: u64,
    checkpoints: u64,
    decisions: BTreeMap<PlanId, u64>,
    now: Time,
    cancelled: bool,
}

/// A want as the model writes it.
type Wanted = BTreeSet<String>;

impl RunLaws {
    /// The laws of a run with this spec.
    pub fn new(spec: &RunSpec) -> RunLaws {
        let gated = spec.gate.is_some();
        let first = if gated { Plan::Gating } else { Plan::Ready };
        RunLaws {
            stage: if gated { Stage::Gating } else { Stage::Building },
            wave: spec.plans.iter().map(|plan| plan.wave).min().unwrap_or(1),
            plans: spec.plans.iter().map(|plan| (plan.id.clone(), first.clone())).collect(),
            spec: spec.clone(),
            queue: 0,
            landed: BTreeSet::new(),
            tip: None,
            landings: Vec::new(),
            reviewed: None,
            ground: None,
            granted: if spec.land_again { u64::from(REBASES_MAX) } else { 0 },
            rebasings: 0,
            rebased: 0,
            rebases: if spec.land_again { REBASES_MAX } else { 0 },
            ordered: false,
            carryings: 0,
            held_decisions: 0,
            there: false,
            intended: BTreeSet::new(),
            heard: BTreeSet::new(),
            reports: 0,
            checkpoints: 0,
            decisions: BTreeMap::new(),
            now: Time(0),
            cancelled: false,
        }
    }

    fn of(&self, effect: &EffectId) -> Option<PlanId> {
        self.plans.keys().find(|plan| plan.as_str() == effect.of.as_str()).cloned()
    }

    fn spec_of(&self, plan: &PlanId) -> &PlanSpec {
        self.spec.plans.iter().find(|spec| spec.id == *plan).unwrap()
    }

    fn lane(&mut self, plan: &PlanId) -> Option<&mut Lane> {
        match self.plans.get_mut(plan) {
            Some(Plan::Lane(lane)) => Some(lane),
            _ => None,
        }
    }

    fn is_over(plan: &Plan) -> bool {
        matches!(plan, Plan::Landed | Plan::Refused | Plan::Dropped)
    }

    /// An input that moved the machine.
    pub fn input(&mut self, input: &RunIn, events: &[RunEvent], book: &mut Book) {
        self.cancelled = *input == RunIn::Cancel;
        if let RunIn::Intend { at, .. } = input {
            self.now = *at;
        }
        let RunIn::Report { effect, .. } = input else { return };
        let own = effect.guarded().unwrap_or_else(|| effect.clone());
        self.reports += 1;
        book.run_reports += 1;
        let new = self.heard.insert(own.clone());
        book.hold("stale", new, || format!("{own} is heard twice: {events:?}"));
        let launched = !own.step.is_one_shot() || self.intended.contains(&own);
        book.hold("intent", launched, || format!("{own} reports and was never intended"));
        self.bounded(book);
    }

    /// Law `bounded`, see the test of that name.
    fn bounded(&self, book: &mut Book) {
        let a = u64::from(self.spec.attempts_max);
        let plans = self.spec.plans.iter().map(|plan| {
            let d = self.decisions.get(&plan.id).copied().unwrap_or(0);
            let passes = 1 + u64::from(self.spec.landing_rounds) + d;
            1 + u64::from(plan.tasks.max(1)) + 2 * d + passes * (2 * a + 2) + 1
        });
        // Whatever landed lands again after each rebase, and each order to land finishes once more.
        let passes = 1 + self.rebased;
        let finish = (passes + self.held_decisions) * self.spec.finish.len() as u64 * a;
        let ways = (self.rebasings + self.carryings) * a + self.held_decisions;
        let most = passes * (plans.sum::<u64>() + 1) + self.checkpoints + finish + ways;
        let granted = self.rebasings <= self.granted;
        book.hold("bounded", granted, || format!("{} rebases of {}", self.rebasings, self.granted));
        book.hold("bounded", self.reports <= most, || format!("{} reports of {most}", self.reports));
    }

    /// An event.
    pub fn observe(&mut self, event: &RunEvent, book: &mut Book) {
        book.saw(format!("run event/{}", event.name()));
        match event {
            RunEvent::Opened(_) => book.breach("closed", || "opened twice".into()),
            RunEvent::Intended { effect, due } => self.on_intended(effect, *due, book),
            RunEvent::Cleared { effect } => self.on_cleared(effect),
            RunEvent::LoopEnded { effect, outcome, revision, open } => {
                self.on_loop_ended(effect, outcome, revision.as_ref(), open, book);
            }
            RunEvent::GateDecided { open } => self.on_gate(*open, book),
            RunEvent::WaveOpened { wave } => self.on_wave(*wave, book),
            RunEvent::LaneOpened { plan } => self.on_lane_opened(plan, book),
            RunEvent::PlanDropped { plan, .. } => self.on_dropped(plan, book),
            RunEvent::Summarised { effect, revision } => self.on_summarised(effect, revision, book),
            RunEvent::Landed { effect, revision, tip } => {
                self.tip = Some(tip.clone());
                self.on_landed(effect, revision, book);
                self.landings.extend(self.of(effect).map(|plan| (plan, revision.clone())));
            }
            RunEvent::LandingRefused { effect, refusal, findings } => {
                self.on_refused(effect, refusal, findings, book);
            }
            RunEvent::LaneAsked { plan, stuck } => self.on_asked(plan, stuck, book),
            RunEvent::LaneDecided { plan, decision } => self.on_decided(plan, decision, book),
            RunEvent::Iterated { plan, n } => self.on_iterated(plan, *n, book),
            RunEvent::CheckpointDue { plans } => self.on_checkpoint(plans, book),
            RunEvent::Checkpointed { effect, feedback } => {
                book.saw(format!("checkpoint/{}", if feedback.is_some() { "held" } else { "given up" }));
                let plan = self.of(effect);
                if let Some(lane) = plan.and_then(|plan| self.lane(&plan)) {
                    lane.checkpoint = false;
                }
            }
            RunEvent::Failed { effect, failure } => self.on_failed(effect, &failure.text, book),
            RunEvent::ReviewOpened => self.on_review(book),
            RunEvent::Held { held, .. } => self.on_held(held, book),
            RunEvent::Withheld => self.on_withheld(book),
            RunEvent::HeldDecided(decision) => self.on_held_decided(decision, book),
            RunEvent::Rebased { onto, .. } => self.on_rebased(onto, book),
            RunEvent::CarryOpened => self.on_carry_opened(book),
            RunEvent::Carried { tip, .. } => self.on_carried(tip, book),
            RunEvent::JudgeAgain { revision, .. } => self.on_judge_again(revision, book),
            RunEvent::Closing { ending } => self.on_closing(*ending, book),
            RunEvent::FinishOrdered => self.on_finish(book),
            RunEvent::Finished { effect, .. } => {
                self.there |= effect.step == Step::Finish(FinishStep::Forward);
                if let Stage::Finishing { left, fails, .. } = &mut self.stage {
                    book.hold("order", !left.is_empty(), || "finishes a step too many".into());
                    left.drain(..1.min(left.len()));
                    *fails = 0;
                }
            }
            RunEvent::Ended { ending } => self.on_ended(*ending, book),
        }
    }

    fn on_intended(&mut self, effect: &EffectId, due: Option<Time>, book: &mut Book) {
        let new = self.intended.insert(effect.clone());
        book.hold("intent", new, || format!("{effect} is intended twice"));
        let wait = Time(self.now.0 + self.spec.step_timeout_ms);
        let untimed = matches!(effect.step, Step::Land | Step::Rebase | Step::Carry);
        let expected = (!untimed).then_some(wait);
        book.hold("intent", due == expected, || format!("{effect} is due at {due:?}"));
        let plan = self.of(effect);
        if effect.step == Step::Land
            && let Some(lane) = plan.and_then(|plan| self.lane(&plan))
        {
            lane.landing = true;
        }
    }

    fn on_cleared(&mut self, effect: &EffectId) {
        let plan = self.of(effect);
        if effect.step == Step::Land
            && let Some(lane) = plan.and_then(|plan| self.lane(&plan))
        {
            lane.landing = false;
        }
    }

    fn on_gate(&mut self, open: bool, book: &mut Book) {
        let refused = self.plans.values().any(|plan| *plan == Plan::Refused);
        let ready = self.plans.values().any(|plan| *plan == Plan::Ready);
        let waiting = self.plans.values().any(|plan| *plan == Plan::Gating);
        let expected = ready && !(refused && self.spec.gate == Some(PlanGate::All));
        let right = open == expected && !waiting && self.stage == Stage::Gating;
        book.hold("order", right, || format!("gate open: {open}, expected {expected}"));
        book.saw(format!("gate/{:?}/{}", self.spec.gate, if open { "open" } else { "shut" }));
        self.stage = if open { Stage::Building } else { Stage::Closing(Ending::Shut) };
    }

    fn on_wave(&mut self, wave: u32, book: &mut Book) {
        let waits = |spec: &PlanSpec| spec.wave < wave && !Self::is_over(&self.plans[&spec.id]);
        let early = self.spec.plans.iter().any(waits) || self.spec.land == Land::Each;
        book.hold("order", !early, || format!("wave {wave} opens early"));
        self.wave = wave;
    }

    fn on_lane_opened(&mut self, plan: &PlanId, book: &mut Book) {
        let spec = self.spec_of(plan).clone();
        let landed = |dep: &PlanId| self.landed.contains(dep) || !self.plans.contains_key(dep);
        let deps = spec.depends_on.iter().all(landed);
        let earlier = |other: &PlanSpec| other.wave < spec.wave && !Self::is_over(&self.plans[&other.id]);
        let turn = self.spec.land == Land::Each || !self.spec.plans.iter().any(earlier);
        let ready = self.plans[plan] == Plan::Ready && self.stage == Stage::Building;
        book.hold("order", deps && turn && ready, || format!("lane {plan} opens before its time"));
        let held = spec.after.iter().find(|other| !self.plans.get(*other).is_none_or(Self::is_over));
        book.hold("lease", held.is_none(), || format!("lane {plan} opens while {held:?} holds its files"));
        if !spec.after.is_empty() {
            book.saw("lease/waited".to_owned());
        }
        let (tasks_done, head) = spec.done.map_or((0, None), |done| (done.tasks, Some(done.head)));
        let opening = Opening::Make { rounds: None, open: Vec::new() };
        let (bare, qa) = (self.spec.bare, self.spec.qa);
        self.queue += 1;
        let (place, delivered) = match (tasks_done >= spec.tasks.max(1), &head) {
            (false, _) => (Place::Loop(Job::Task(tasks_done + 1), opening), None),
            (true, Some(head)) if bare => after_work(head, qa, self.queue),
            (true, _) => (Place::Summary(0), None),
        };
        let lane = Lane {
            place,
            tasks_done,
            approved: head,
            delivered,
            repairs: 0,
            repairs_max: self.spec.landing_rounds,
            known: 0,
            since: 0,
            checkpoint: false,
            landing: false,
        };
        self.plans.insert(plan.clone(), Plan::Lane(Box::new(lane)));
    }

    fn on_dropped(&mut self, plan: &PlanId, book: &mut Book) {
        let landing = self.lane(plan).is_some_and(|lane| lane.landing);
        let over = Self::is_over(&self.plans[plan]);
        book.hold("stability", !landing && !over, || format!("{plan} is dropped while it lands, or is over"));
        book.saw(format!("dropped/{}", kind_of(&self.plans[plan])));
        self.plans.insert(plan.clone(), Plan::Dropped);
    }

    /// A lane without a SUMMARY whose task ended and left nothing.
    fn made_nothing(&mut self, plan: &PlanId, outcome: &Outcome, revision: Option<&Revision>) -> bool {
        let bare = self.spec.bare;
        let is_task = self.lane(plan).is_some_and(|lane| matches!(lane.place, Place::Loop(Job::Task(_), _)));
        bare && is_task && *outcome == Outcome::Stale && revision.is_none()
    }

    /// The review of what the run built ended.
    fn on_review_ended(&mut self, outcome: &Outcome, revision: Option<&Revision>, book: &mut Book) {
        book.hold("order", self.stage == Stage::Reviewing, || "a phase loop and no review".into());
        book.saw(format!("review/{}", outcome.word()));
        let all = self.landed.len() == self.plans.len();
        let goes_on = *outcome == Outcome::Exhausted && self.spec.chain.as_ref().is_some_and(|c| c.goes_on);
        let ending = match (outcome.is_good(), goes_on) {
            (true, _) if all => Ending::Passed,
            (false, true) if all => Ending::Concerns,
            _ => Ending::Shut,
        };
        let from = self.tip.clone();
        if outcome.is_good() {
            self.tip = revision.cloned().or_else(|| self.tip.take());
        }
        self.reviewed = self.tip.clone().map(|tip| (from, tip, ending));
        self.stage = Stage::Closing(ending);
    }

    fn on_loop_ended(
        &mut self,
        effect: &EffectId,
        outcome: &Outcome,
        revision: Option<&Revision>,
        open: &[CarriedFinding],
        book: &mut Book,
    ) {
        let Some(plan) = self.of(effect) else { return self.on_review_ended(outcome, revision, book) };
        if self.plans[&plan] == Plan::Gating {
            let to = if outcome.is_good() { Plan::Ready } else { Plan::Refused };
            self.plans.insert(plan, to);
            return;
        }
        let tasks = self.spec_of(&plan).tasks.max(1);
        let order = self.queue + 1;
        let (bare, qa) = (self.spec.bare, self.spec.qa);
        if self.made_nothing(&plan, outcome, revision) {
            book.saw("lane loop/nothing made".into());
            self.plans.insert(plan, Plan::Dropped);
            return;
        }
        let Some(lane) = self.lane(&plan) else {
            return book.breach("order", || format!("{effect} ended and {plan} has no lane"));
        };
        let Place::Loop(job, _) = lane.place.clone() else {
            return book.breach("order", || format!("{effect} ended and its lane holds no loop"));
        };
        let good = outcome.is_good();
        book.hold("gate", !good || revision.is_some(), || format!("{effect} passed nothing"));
        book.saw(format!("lane loop/{job:?}/{}", if good { "good" } else { "bad" }));
        let spans = lane.checkpoint;
        if good {
            lane.approved = revision.cloned();
            lane.delivered = None;
        }
        lane.known = 0;
        lane.place = match (good, job) {
            (false, job) => stuck(Was::Loop(job), outcome, revision, open),
            (true, Job::Task(n)) => {
                lane.tasks_done = n;
                next_task(n, tasks)
            }
            (true, Job::Repair) => Place::Summary(0),
            (true, Job::Qa) if bare && !qa => {
                return book.breach("order", || "QA that nobody asked for".into());
            }
            (true, Job::Qa) => {
                lane.delivered = revision.cloned();
                Place::Queued { order, fails: 0 }
            }
        };
        // Without a SUMMARY, what was approved is what is delivered.
        if let (Place::Summary(_), true, Some(revision)) = (&lane.place, bare, revision) {
            (lane.place, lane.delivered) = after_work(revision, qa, order);
        }
        let at_tasks = matches!(lane.place, Place::Loop(Job::Task(_), _));
        lane.checkpoint &= at_tasks;
        if spans {
            book.saw(format!("checkpoint/{}", if at_tasks { "spans tasks" } else { "left behind" }));
        }
        self.queue += 1;
    }

    fn on_summarised(&mut self, effect: &EffectId, revision: &Revision, book: &mut Book) {
        let Some(plan) = self.of(effect) else { return };
        let (bare, qa) = (self.spec.bare, self.spec.qa);
        self.queue += 1;
        let order = self.queue;
        let tasks = self.spec_of(&plan).tasks.max(1);
        let Some(lane) = self.lane(&plan) else { return };
        let ready = matches!(lane.place, Place::Summary(_)) && lane.tasks_done >= tasks && !bare;
        book.hold("gate", ready, || format!("{plan} is summarised before its tasks are done"));
        let judge = Opening::Judge { revision: revision.clone(), open: Vec::new(), since: None };
        lane.approved = Some(revision.clone());
        lane.delivered = (!qa).then(|| revision.clone());
        lane.place = if qa { Place::Loop(Job::Qa, judge) } else { Place::Queued { order, fails: 0 } };
    }

    fn on_landed(&mut self, effect: &EffectId, revision: &Revision, book: &mut Book) {
        let Some(plan) = self.of(effect) else { return };
        let tasks = self.spec_of(&plan).tasks.max(1);
        let head = self.head();
        let first = self.landed.insert(plan.clone());
        book.hold("once", first, || format!("{plan} lands twice"));
        if let Some(lane) = self.lane(&plan) {
            let right = lane.delivered.as_ref() == Some(revision) && lane.tasks_done >= tasks;
            book.hold("gate", right, || {
                format!("{plan} lands {revision}, approved was {:?}", lane.delivered)
            });
        }
        let closing = matches!(self.stage, Stage::Closing(_));
        let turn = closing || head.as_ref() == Some(&plan);
        book.hold("order", turn, || format!("{plan} lands before {head:?}"));
        self.plans.insert(plan, Plan::Landed);
    }

    fn on_refused(
        &mut self,
        effect: &EffectId,
        refusal: &Refusal,
        findings: &[CarriedFinding],
        book: &mut Book,
    ) {
        let Some(plan) = self.of(effect) else { return };
        let Some(lane) = self.lane(&plan) else { return };
        lane.landing = false;
        let head = lane.delivered.take();
        let open = findings.to_vec();
        let spent = lane.repairs >= lane.repairs_max;
        let name = match refusal {
            Refusal::Conflict => "conflict",
            Refusal::RedCheck => "red check",
            Refusal::JudgeAgain(_) => "judge again",
        };
        book.saw(format!("refused/{name}{}", if spent { "/spent" } else { "" }));
        lane.place = if spent {
            stuck(Was::Landing, &Outcome::Exhausted, head.as_ref(), findings)
        } else {
            lane.repairs += 1;
            let opening = match refusal {
                Refusal::Conflict | Refusal::RedCheck => Opening::Make { rounds: None, open },
                Refusal::JudgeAgain(revision) => {
                    Opening::Judge { revision: revision.clone(), open, since: None }
                }
            };
            Place::Loop(Job::Repair, opening)
        };
    }

    fn on_asked(&mut self, plan: &PlanId, said: &Stuck, book: &mut Book) {
        let wave = self.spec_of(plan).wave;
        if self.spec.land == Land::Group {
            for other in self.spec.plans.iter().filter(|other| other.wave == wave) {
                let rests = match &self.plans[&other.id] {
                    Plan::Lane(lane) => match &lane.place {
                        Place::Loop(..) | Place::Summary(_) => false,
                        Place::Queued { .. } => !lane.landing,
                        Place::Stuck { .. } => true,
                    },
                    _ => true,
                };
                book.hold("asks", rests, || format!("{plan} asks while {} works", other.id));
            }
        }
        let Some(lane) = self.lane(plan) else { return };
        let Place::Stuck { stuck, asked } = &mut lane.place else {
            return book.breach("asks", || format!("{plan} asks and is not stuck"));
        };
        let right = !*asked && stuck == said;
        book.hold("asks", right, || format!("{plan} asks {said:?} and not {stuck:?}"));
        *asked = true;
        book.saw(format!("lane stuck/{:?}", said.was));
    }

    fn on_decided(&mut self, plan: &PlanId, decision: &LaneDecision, book: &mut Book) {
        *self.decisions.entry(plan.clone()).or_insert(0) += 1;
        let (bare, qa) = (self.spec.bare, self.spec.qa);
        self.queue += 1;
        let order = self.queue;
        let tasks = self.spec_of(plan).tasks.max(1);
        let Some(lane) = self.lane(plan) else { return };
        let Place::Stuck { stuck, asked: true } = lane.place.clone() else {
            return book.breach("progress", || format!("{plan} was not asked"));
        };
        book.saw(format!("lane decision/{}/{:?}", was_word(stuck.was), decision.choice.offer()));
        match &decision.choice {
            LaneChoice::Drop => drop(self.plans.insert(plan.clone(), Plan::Dropped)),
            LaneChoice::Stop => self.stage = Stage::Closing(Ending::Stopped),
            LaneChoice::Accept => accept(lane, &stuck, tasks, (qa, bare), order, book),
            // Law `landing`: what could not be done is tried again, and nobody is paid for it.
            LaneChoice::Reask => {
                let right = stuck.was == Was::Landing && stuck.outcome == Outcome::Failed;
                book.hold("landing", right, || format!("{plan} lands again, and was at {:?}", stuck.was));
                lane.delivered = stuck.revision.clone();
                lane.place = Place::Queued { order, fails: 0 };
            }
            LaneChoice::Retry(rounds) => {
                let opening = Opening::Make { rounds: Some(*rounds), open: stuck.open.clone() };
                let back = stuck.was == Was::Summary;
                resume(lane, stuck.was, opening);
                if back {
                    lane.place = Place::Summary(0);
                }
            }
            // What a person fixed is approved by nobody yet: the change to judge begins where it began.
            LaneChoice::Fixed(revision) => {
                let opening =
                    Opening::Judge { revision: revision.clone(), open: stuck.open.clone(), since: None };
                resume(lane, stuck.was, opening);
            }
        }
    }

    fn on_iterated(&mut self, plan: &PlanId, n: u32, book: &mut Book) {
        let Some(lane) = self.lane(plan) else { return };
        book.hold("stale", n > lane.known, || format!("{plan} counts iteration {n} twice"));
        lane.since += n.saturating_sub(lane.known);
        lane.known = n;
    }

    /// Law `checkpoint`: when one is due, all lanes at their tasks that have none get one.
    fn on_checkpoint(&mut self, plans: &[PlanId], book: &mut Book) {
        let free = |plan: &Plan| match plan {
            Plan::Lane(lane) => {
                (matches!(lane.place, Place::Loop(Job::Task(_), _)) && !lane.checkpoint).then_some(lane.since)
            }
            _ => None,
        };
        let expected: Vec<(PlanId, u32)> = self
            .spec
            .plans
            .iter()
            .filter_map(|spec| Some((spec.id.clone(), free(&self.plans[&spec.id])?)))
            .collect();
        let every = self.spec.checkpoint_every.unwrap_or(u32::MAX);
        let due = expected.iter().any(|(_, since)| *since >= every);
        let all = expected.iter().map(|(plan, _)| plan).eq(plans.iter());
        book.hold("checkpoint", due && all, || format!("{plans:?} and not {expected:?}"));
        self.checkpoints += plans.len() as u64;
        for plan in plans {
            if let Some(lane) = self.lane(plan) {
                lane.checkpoint = true;
                lane.since = 0;
            }
        }
    }

    fn on_failed(&mut self, effect: &EffectId, text: &str, book: &mut Book) {
        let attempts = self.spec.attempts_max;
        book.saw(format!("run failed/{}", if self.of(effect).is_some() { "lane" } else { "finish" }));
        let forwards = self.spec.finish.contains(&FinishStep::Forward);
        let mut held = None;
        match &mut self.stage {
            Stage::Finishing { left, fails, ending, .. } => {
                *fails += 1;
                let spent = *fails >= attempts;
                let pushes = left.first() == Some(&FinishStep::Push);
                if spent && forwards && !pushes && matches!(ending, Ending::Passed | Ending::Concerns) {
                    held = Some(*ending);
                } else if spent {
                    left.clear();
                    book.saw("finish/given up".into());
                }
            }
            Stage::Rebasing { ending, fails, .. } | Stage::Carrying { ending, fails } => {
                *fails += 1;
                held = (*fails >= attempts).then_some(*ending);
            }
            _ => {}
        }
        if let Some(ending) = held {
            book.saw("held/Failed".into());
            let whole = matches!(self.stage, Stage::Finishing { .. });
            self.stage = Stage::Held { ending, held: Held::Failed(text.to_owned()), whole };
            self.ordered = false;
        }
        let Some(plan) = self.of(effect) else { return };
        let Some(lane) = self.lane(&plan) else { return };
        lane.landing = false;
        let approved = lane.approved.clone();
        let (fails, was) = match &mut lane.place {
            Place::Summary(fails) => (fails, Was::Summary),
            Place::Queued { fails, .. } => (fails, Was::Landing),
            Place::Loop(..) | Place::Stuck { .. } => {
                return book.breach("order", || format!("{effect} fails and its lane is elsewhere"));
            }
        };
        *fails += 1;
        if *fails >= attempts {
            let head = if was == Was::Landing { lane.delivered.take() } else { approved };
            lane.place = stuck(was, &Outcome::Failed, head.as_ref(), &[]);
        }
    }

    fn on_review(&mut self, book: &mut Book) {
        let built = self.plans.values().all(Self::is_over) && self.stage == Stage::Building;
        let all = self.landed.len() == self.plans.len();
        let carried = all && self.reviewed.is_some();
        let right = built && self.spec.review && !self.landed.is_empty() && !carried;
        book.hold("order", right, || "the review opens early, or twice".into());
        self.stage = Stage::Reviewing;
    }

    fn on_held(&mut self, held: &Held, book: &mut Book) {
        book.saw(format!("held/{}", held_word(held)));
        let (ending, finishing) = match &self.stage {
            Stage::Finishing { ending, .. } => (*ending, true),
            Stage::Rebasing { ending, .. } | Stage::Carrying { ending, .. } => (*ending, false),
            other => return book.breach("order", || format!("held in {other:?}")),
        };
        let good = matches!(ending, Ending::Passed | Ending::Concerns);
        book.hold("there", good, || format!("a run that ends {ending:?} is held"));
        self.stage = if finishing && *held == Held::Moved && self.rebases > 0 {
            self.rebases -= 1;
            self.rebasings += 1;
            Stage::Rebasing { ending, fails: 0, again: None }
        } else {
            self.ordered = false;
            Stage::Held { ending, held: held.clone(), whole: finishing }
        };
    }

    /// Law `ordered`: what is to wait for an order reaches no branch without one.
    fn on_withheld(&mut self, book: &mut Book) {
        book.saw("held/Ordered".into());
        let Stage::Finishing { ending, left, asked, .. } = &self.stage else {
            return book.breach("ordered", || format!("withheld in {:?}", self.stage));
        };
        let whole = *left == self.spec.finish && left.contains(&FinishStep::Forward);
        let good = matches!(ending, Ending::Passed | Ending::Concerns);
        let right = self.spec.hold && !asked && whole && good && !self.there;
        book.hold("ordered", right, || "a result is withheld that nobody held back".into());
        self.stage = Stage::Held { ending: *ending, held: Held::Ordered, whole: true };
    }

    fn on_held_decided(&mut self, decision: &HeldDecision, book: &mut Book) {
        book.saw(format!("held decision/{:?}", decision.choice));
        self.held_decisions += 1;
        let Stage::Held { ending, whole, held } = self.stage.clone() else {
            return book.breach("progress", || "nobody was asked about a held result".into());
        };
        self.ordered = decision.choice == HeldChoice::Land;
        self.stage = match decision.choice {
            HeldChoice::Land => {
                self.granted += u64::from(REBASES_MAX);
                self.rebases = REBASES_MAX;
                if whole && !matches!(held, Held::Undone(_)) {
                    Stage::Finishing { ending, left: self.spec.finish.clone(), fails: 0, asked: true }
                } else {
                    self.rebases -= 1;
                    self.rebasings += 1;
                    Stage::Rebasing { ending, fails: 0, again: None }
                }
            }
            HeldChoice::Again(rounds) => {
                let alone = self.plans.len() == 1 && self.landings.len() == 1 && self.spec.bare;
                book.hold("order", alone && rounds > 0 && !self.spec.review, || {
                    "a result of more than one lane is worked on again".into()
                });
                self.granted += 1;
                self.rebasings += 1;
                Stage::Rebasing { ending, fails: 0, again: Some(rounds) }
            }
            HeldChoice::Stop => Stage::Closing(Ending::Stopped),
        };
    }

    /// Law `once`: after a rebase nothing of the result is on the run branch, and each plan lands once more.
    fn on_rebased(&mut self, onto: &Revision, book: &mut Book) {
        let Stage::Rebasing { ending, again, .. } = self.stage else {
            return book.breach("order", || "rebased and was not rebasing".into());
        };
        self.rebased += 1;
        self.there = false;
        self.ground = Some(onto.clone());
        book.saw(format!("rebased/{}", if self.landings.is_empty() { "no plan" } else { "plans" }));
        self.landed.clear();
        for (plan, revision) in std::mem::take(&mut self.landings) {
            self.queue += 1;
            let tasks = self.spec_of(&plan).tasks.max(1);
            let (place, tasks_done, approved) = match again {
                Some(rounds) => {
                    book.saw("worked on again".into());
                    let opening = Opening::Make { rounds: Some(rounds), open: Vec::new() };
                    (Place::Loop(Job::Task(tasks), opening), tasks - 1, None)
                }
                None => (Place::Queued { order: self.queue, fails: 0 }, tasks, Some(revision)),
            };
            let lane = Lane {
                place,
                tasks_done,
                delivered: approved.clone(),
                approved,
                repairs: 0,
                repairs_max: self.spec.landing_rounds,
                known: 0,
                since: 0,
                checkpoint: false,
                landing: false,
            };
            self.plans.insert(plan, Plan::Lane(Box::new(lane)));
            self.tip = None;
        }
        let lanes = self.plans.values().any(|plan| matches!(plan, Plan::Lane(_)));
        self.stage = if lanes { Stage::Building } else { Stage::Carrying { ending, fails: 0 } };
        self.carryings += u64::from(!lanes);
        self.wave = self.spec.plans.iter().map(|plan| plan.wave).max().unwrap_or(1);
    }

    fn on_carry_opened(&mut self, book: &mut Book) {
        let built = self.plans.values().all(Self::is_over) && self.stage == Stage::Building;
        let reviewed = self.reviewed.as_ref().map(|(_, _, ending)| *ending);
        let all = self.landed.len() == self.plans.len();
        let right = built && self.spec.review && all && reviewed.is_some();
        book.hold("order", right, || "an approval is carried over before everything landed".into());
        self.carryings += 1;
        self.stage = Stage::Carrying { ending: reviewed.unwrap_or(Ending::Shut), fails: 0 };
    }

    fn on_carried(&mut self, tip: &Revision, book: &mut Book) {
        let (Stage::Carrying { .. }, Some((_, _, ending))) = (&self.stage, self.reviewed.take()) else {
            return book.breach("order", || "carried over what was not approved".into());
        };
        book.saw("carried".into());
        let from = if self.plans.is_empty() { self.ground.clone() } else { self.tip.clone() };
        self.tip = Some(tip.clone());
        self.reviewed = Some((from, tip.clone(), ending));
        self.stage = Stage::Closing(ending);
    }

    fn on_judge_again(&mut self, revision: &Revision, book: &mut Book) {
        let carrying = matches!(self.stage, Stage::Carrying { .. });
        book.hold("order", carrying, || "reviewed again and nothing was to be carried over".into());
        book.saw("judged again".into());
        self.reviewed = None;
        self.tip = Some(revision.clone());
        self.stage = Stage::Reviewing;
    }

    fn on_closing(&mut self, ending: Ending, book: &mut Book) {
        let expected = match self.cancelled {
            true => Ending::Cancelled,
            false if self.landed.len() == self.plans.len() => Ending::Passed,
            false => Ending::Shut,
        };
        let over = self.cancelled || self.plans.values().all(Self::is_over);
        let unreviewed = !self.cancelled && self.spec.review && !self.landed.is_empty();
        let right = ending == expected && over && !unreviewed;
        book.hold("order", right, || format!("closes {ending:?} and not {expected:?}"));
        self.stage = Stage::Closing(ending);
    }

    fn on_finish(&mut self, book: &mut Book) {
        let landing = |plan: &Plan| matches!(plan, Plan::Lane(lane) if lane.landing);
        let busy = self.plans.values().any(landing);
        book.hold("stability", !busy, || "finishes while a landing is out".into());
        let Stage::Closing(ending) = self.stage else {
            return book.breach("order", || "finishes and was not closing".into());
        };
        let boundary = |step: &&FinishStep| **step == FinishStep::Boundary;
        let left = match ending {
            Ending::Passed | Ending::Concerns => self.spec.finish.clone(),
            Ending::Shut | Ending::Stopped => {
                self.spec.finish.iter().take(1).filter(boundary).copied().collect()
            }
            Ending::Cancelled => Vec::new(),
        };
        self.stage = Stage::Finishing { ending, left, fails: 0, asked: self.ordered };
    }

    fn on_ended(&mut self, said: Ending, book: &mut Book) {
        book.saw(format!("ending/{}", said.word()));
        let right = matches!(&self.stage, Stage::Finishing { ending, left, .. } if *ending == said && left.is_empty());
        book.hold("order", right, || format!("ends {said:?} from {:?}", self.stage));
        let all = !matches!(said, Ending::Passed | Ending::Concerns) || self.landed.len() == self.plans.len();
        book.hold("gate", all, || "passed and not everything landed".into());
        let forwards = self.spec.finish.contains(&FinishStep::Forward);
        let good = matches!(said, Ending::Passed | Ending::Concerns);
        book.hold("there", !good || !forwards || self.there, || {
            "ended good, and the user's branch does not have it".into()
        });
        let ordered = !self.spec.hold || !good || !forwards || self.held_decisions > 0;
        book.hold("ordered", ordered, || "brought to the branch without an order".into());
        self.stage = Stage::Ended;
    }

    /// Who lands next: one at a time, the head.
    fn head(&self) -> Option<PlanId> {
        let order = |spec: &PlanSpec| match &self.plans[&spec.id] {
            Plan::Lane(lane) => match lane.place {
                Place::Queued { order, .. } => Some(order),
                _ => None,
            },
            _ => None,
        };
        let queued = || self.spec.plans.iter().filter_map(|spec| Some((spec, order(spec)?)));
        let landing = |spec: &&PlanSpec| matches!(&self.plans[&spec.id], Plan::Lane(lane) if lane.landing);
        if let Some(spec) = self.spec.plans.iter().find(landing) {
            return Some(spec.id.clone());
        }
        match self.spec.land {
            Land::Each => queued().min_by_key(|(_, order)| *order).map(|(spec, _)| spec.id.clone()),
            Land::Group => {
                let (first, _) = queued().min_by_key(|(spec, _)| (spec.wave, spec.id.clone()))?;
                let waits = |spec: &PlanSpec| {
                    let works = matches!(&self.plans[&spec.id], Plan::Lane(_)) && order(spec).is_none();
                    spec.wave <= first.wave && works
                };
                (!self.spec.plans.iter().any(waits)).then(|| first.id.clone())
            }
        }
    }

    /// A plan that is to be built and never can be.
    pub fn stranded(&self) -> Option<&PlanId> {
        let lost = |dep: &PlanId| matches!(self.plans.get(dep), Some(Plan::Dropped | Plan::Refused));
        let waits = |spec: &&PlanSpec| match &self.plans[&spec.id] {
            Plan::Ready => true,
            Plan::Lane(lane) => matches!(lane.place, Place::Queued { .. }) && !lane.landing,
            _ => false,
        };
        let stranded = |spec: &&PlanSpec| {
            self.stage == Stage::Building && waits(spec) && spec.depends_on.iter().any(lost)
        };
        self.spec.plans.iter().find(stranded).map(|spec| &spec.id)
    }

    /// What was approved last of each lane, where there is one.
    pub fn approved(&self) -> impl Iterator<Item = (&PlanId, Option<&Revision>)> {
        self.plans.iter().filter_map(|(id, plan)| match plan {
            Plan::Lane(lane) => Some((id, lane.approved.as_ref())),
            _ => None,
        })
    }

    /// Everything that should be wanted now.
    pub fn expected(&self) -> Wanted {
        let mut all = Wanted::new();
        let head = self.head();
        for (id, plan) in &self.plans {
            match (&self.stage, plan) {
                (Stage::Gating, Plan::Gating) => {
                    let revision = self.spec_of(id).revision.clone();
                    let opening = Opening::Judge { revision, open: Vec::new(), since: None };
                    all.insert(format!("{id} gate {opening:?}"));
                }
                (Stage::Building, Plan::Lane(lane)) => {
                    all.extend(self.expected_of(id, lane, head.as_ref() == Some(id)));
                }
                (Stage::Closing(_), Plan::Lane(lane)) if lane.landing => {
                    all.insert(format!("{id} land {:?}", lane.delivered));
                }
                _ => {}
            }
        }
        match &self.stage {
            Stage::Reviewing => {
                let revision = self.tip.clone().unwrap_or_else(|| Revision::new("none"));
                let opening = Opening::Judge { revision, open: Vec::new(), since: None };
                let what = if self.spec.chain.is_some() { "chain" } else { "phase" };
                all.insert(format!("{what} {opening:?}"));
            }
            Stage::Finishing { ending, left, asked, .. } => {
                all.extend(left.first().map(|step| format!("finish {step:?} {ending:?} {asked}")));
            }
            Stage::Held { held, .. } => drop(all.insert(format!("ask held {held:?}"))),
            Stage::Rebasing { .. } => drop(all.insert("rebase".to_owned())),
            Stage::Carrying { .. } => {
                let carry =
                    |(from, tip, _): &(Option<Revision>, Revision, Ending)| format!("carry {from:?} {tip:?}");
                all.extend(self.reviewed.as_ref().map(carry));
            }
            _ => {}
        }
        all
    }

    fn expected_of(&self, id: &PlanId, lane: &Lane, head: bool) -> Vec<String> {
        let mut all = Vec::new();
        match &lane.place {
            Place::Loop(job, opening) => all.push(format!("{id} {job:?} {opening:?}")),
            Place::Summary(_) => all.push(format!("{id} summary {:?}", lane.approved)),
            Place::Queued { .. } if head => all.push(format!("{id} land {:?}", lane.delivered)),
            Place::Stuck { stuck, asked: true } => all.push(format!("{id} ask {stuck:?}")),
            Place::Queued { .. } | Place::Stuck { .. } => {}
        }
        if lane.checkpoint {
            all.push(format!("{id} checkpoint"));
        }
        all
    }
}

/// A want of the machine as the model writes it.
pub fn written(want: &RunWant) -> Option<String> {
    Some(match want {
        RunWant::Loop { subject: Subject::Plan(id), opening, .. } => format!("{id} gate {opening:?}"),
        RunWant::Loop { subject: Subject::Lane(id, job), opening, .. } => format!("{id} {job:?} {opening:?}"),
        RunWant::Loop { subject: Subject::Phase, opening, .. } => format!("phase {opening:?}"),
        RunWant::Loop { subject: Subject::Polish, opening, .. } => format!("polish {opening:?}"),
        RunWant::Loop { subject: Subject::Chain, opening, .. } => format!("chain {opening:?}"),
        RunWant::Summary { plan, revision } => format!("{plan} summary {:?}", Some(revision)),
        RunWant::Checkpoint { plan } => format!("{plan} checkpoint"),
        RunWant::Land { plan, revision } => format!("{plan} land {:?}", Some(revision)),
        RunWant::AskLane { plan, stuck } => format!("{plan} ask {stuck:?}"),
        RunWant::Finish { step, ending, asked } => format!("finish {step:?} {ending:?} {asked}"),
        RunWant::AskHeld { held } => format!("ask held {held:?}"),
        RunWant::Rebase => "rebase".to_owned(),
        RunWant::Carry { from, tip } => format!("carry {from:?} {tip:?}"),
        RunWant::Wake { .. } => return None,
    })
}

fn next_task(n: u32, tasks: u32) -> Place {
    if n < tasks {
        Place::Loop(Job::Task(n + 1), Opening::Make { rounds: None, open: Vec::new() })
    } else {
        Place::Summary(0)
    }
}

/// What comes after a plan's work, and what may land of it.
fn after_work(revision: &Revision, qa: bool, order: u64) -> (Place, Option<Revision>) {
    let judge = Opening::Judge { revision: revision.clone(), open: Vec::new(), since: None };
    match qa {
        true => (Place::Loop(Job::Qa, judge), None),
        false => (Place::Queued { order, fails: 0 }, Some(revision.clone())),
    }
}

fn stuck(was: Was, outcome: &Outcome, revision: Option<&Revision>, open: &[CarriedFinding]) -> Place {
    let stuck = Stuck { was, outcome: outcome.clone(), revision: revision.cloned(), open: open.to_vec() };
    Place::Stuck { stuck, asked: false }
}

/// As if that step had passed.
fn accept(lane: &mut Lane, stuck: &Stuck, tasks: u32, (qa, bare): (bool, bool), order: u64, book: &mut Book) {
    let revision = stuck.revision.clone();
    book.hold("gate", revision.is_some(), || "accepted what was never made".into());
    lane.approved = revision.clone();
    lane.place = match stuck.was {
        Was::Loop(Job::Task(n)) => {
            lane.tasks_done = n;
            match (next_task(n, tasks), &revision) {
                (Place::Summary(_), Some(revision)) if bare => {
                    let (place, delivered) = after_work(revision, qa, order);
                    lane.delivered = delivered;
                    place
                }
                (next, _) => next,
            }
        }
        Was::Summary if qa => {
            let revision = revision.unwrap_or_else(|| Revision::new("none"));
            Place::Loop(Job::Qa, Opening::Judge { revision, open: Vec::new(), since: None })
        }
        Was::Summary | Was::Loop(Job::Qa) => {
            lane.delivered = revision;
            Place::Queued { order, fails: 0 }
        }
        Was::Loop(Job::Repair) | Was::Landing => {
            return book.breach("gate", || "a refused landing is accepted".into());
        }
    };
}

/// A new loop of the same use; a person's fix of a summary is judged like a repair.
fn resume(lane: &mut Lane, was: Was, opening: Opening) {
    let job = match was {
        Was::Loop(job) => job,
        Was::Summary | Was::Landing => Job::Repair,
    };
    if job == Job::Repair && was != Was::Summary {
        lane.repairs_max += 1;
        lane.repairs += u32::from(was == Was::Landing);
    }
    lane.place = Place::Loop(job, opening);
}

fn kind_of(plan: &Plan) -> &'static str {
    match plan {
        Plan::Gating => "gating",
        Plan::Ready => "ready",
        Plan::Lane(lane) => match lane.place {
            Place::Loop(..) => "working",
            Place::Summary(_) => "summary",
            Place::Queued { .. } => "queued",
            Place::Stuck { .. } => "stuck",
        },
        Plan::Landed | Plan::Refused | Plan::Dropped => "over",
    }
}

fn held_word(held: &Held) -> String {
    format!("{held:?}").split(['(', '{', ' ']).next().unwrap_or_default().to_owned()
}

fn was_word(was: Was) -> &'static str {
    match was {
        Was::Loop(Job::Task(_)) => "task",
        Was::Loop(Job::Repair) => "repair",
        Was::Loop(Job::Qa) => "qa",
        Was::Summary => "summary",
        Was::Landing => "landing",
    }
}
