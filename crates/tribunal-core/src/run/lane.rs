//! The lane: one plan on its way to the run branch. It is a machine inside the run, with its own entries, intents and
//! wants.
//!
//! [`PlanRun::apply`] moves it and [`PlanRun::wants`] says what it needs. It never sees its siblings: the run decides
//! when it may begin, ask or land, and gives it a place in the queue.

use super::events::RunEvent;
use super::messages::{Refusal, RunWant, Subject};
use super::plan::{At, Lane, LaneRules, PlanRun, PlanState};
use super::question::{Job, LaneChoice, LaneDecision, Stuck, Was};
use super::state::UNCHANGED;
use crate::effect::{EffectId, Step, Try};
use crate::ids::{LoopId, Revision};
use crate::ledger::CarriedFinding;
use crate::review_loop::{Opening, Outcome};

impl PlanRun {
    /// Moves the lane: its share of the run's `apply`.
    pub(super) fn apply(&mut self, event: &RunEvent, rules: LaneRules) -> Option<()> {
        match event {
            RunEvent::LoopEnded { outcome, revision, open, .. } => {
                self.apply_loop_ended(outcome, revision.as_ref(), open, rules)
            }
            RunEvent::LaneOpened { .. } => self.apply_opened(rules),
            RunEvent::PlanDropped { by, .. } => self.apply_dropped(by),
            RunEvent::Summarised { revision, .. } => self.apply_summarised(revision, rules),
            RunEvent::Landed { revision, .. } => self.apply_landed(revision),
            RunEvent::LandingRefused { refusal, findings, .. } => self.apply_refused(refusal, findings),
            RunEvent::LaneAsked { .. } => self.apply_asked(),
            RunEvent::LaneDecided { decision, .. } => self.apply_decided(decision, rules),
            RunEvent::Iterated { n, .. } => self.apply_iterated(*n),
            RunEvent::CheckpointDue { .. } => self.apply_checkpoint_due(),
            RunEvent::Checkpointed { effect, feedback } => self.apply_checkpointed(effect, feedback.as_ref()),
            RunEvent::Failed { effect, .. } => self.apply_failed(effect, rules),
            // Events of the run itself never reach a lane.
            _ => None,
        }
    }

    /// What the world should be doing for a lane of a run that builds; without its landing, which waits for its turn.
    pub(super) fn wants(&self) -> Vec<(EffectId, RunWant)> {
        let Some(lane) = self.lane() else { return Vec::new() };
        let id = self.id.clone();
        let mut wants = match &lane.at {
            At::Loop { job, opening } => {
                let label = match job {
                    Job::Task(n) => format!("task-{n}"),
                    Job::Repair => "repair".to_owned(),
                    Job::Qa => "qa".to_owned(),
                };
                vec![self.loop_want(&label, Subject::Lane(id.clone(), *job), opening.clone())]
            }
            At::Summary { fails } => lane
                .head
                .iter()
                .map(|head| {
                    let want = RunWant::Summary { plan: id.clone(), revision: head.clone() };
                    (self.effect(Step::Summary, Try::nth(*fails)), want)
                })
                .collect(),
            At::Stuck { stuck, asked: true } => {
                let want = RunWant::AskLane { plan: id.clone(), stuck: (**stuck).clone() };
                vec![(self.effect(Step::Ask, Try::default()), want)]
            }
            // When a lane may ask or land is the run's decision, because only the run sees the others.
            At::Stuck { asked: false, .. } | At::Queued { .. } => Vec::new(),
        };
        // Beside the work and not instead of it: a builder goes on while its progress is judged.
        if lane.checkpoint.is_some() {
            let effect = self.effect(Step::Checkpoint, Try::default());
            wants.push((effect, RunWant::Checkpoint { plan: id }));
        }
        wants
    }

    /// The landing, for the lane whose turn it is.
    pub(super) fn landing_want(&self) -> Option<(EffectId, RunWant)> {
        let lane = self.lane()?;
        let At::Queued { fails, .. } = lane.at else { return None };
        let want = RunWant::Land { plan: self.id.clone(), revision: lane.head.clone()? };
        Some((self.effect(Step::Land, Try::nth(fails)), want))
    }

    /// The loop that judges the plan before anything is built.
    pub(super) fn gate_want(&self) -> (EffectId, RunWant) {
        let opening = Opening::Judge { revision: self.revision.clone(), open: Vec::new(), since: None };
        self.loop_want("plan", Subject::Plan(self.id.clone()), opening)
    }

    /// A loop of this lane. Its name carries the lane's entry, so that no name is used twice.
    fn loop_want(&self, label: &str, subject: Subject, opening: Opening) -> (EffectId, RunWant) {
        let id = LoopId::new(format!("{}/{label}.{}", self.id, self.entry));
        (self.effect(Step::Loop, Try::default()), RunWant::Loop { id, subject, opening })
    }
}

// How events change the lane. Each returns `None` where the event cannot follow the state.
impl PlanRun {
    /// A loop of the lane ended: the next task, the delivery, the queue, or stuck.
    fn apply_loop_ended(
        &mut self,
        outcome: &Outcome,
        revision: Option<&Revision>,
        open: &[CarriedFinding],
        rules: LaneRules,
    ) -> Option<()> {
        if self.state == PlanState::Gating {
            let refused = || PlanState::Refused(outcome.clone());
            self.enter(if outcome.is_good() { PlanState::Ready } else { refused() });
            return Some(());
        }
        let At::Loop { job, .. } = self.lane()?.at else { return None };
        // A repair that changes nothing leaves work that was approved: a person decides about that.
        let is_task = matches!(job, Job::Task(_));
        if rules.bare && is_task && *outcome == Outcome::Stale && revision.is_none() {
            self.enter(PlanState::Dropped(UNCHANGED.to_owned()));
            return Some(());
        }
        let next = match (outcome.is_good(), job) {
            (false, job) => At::stuck(Was::Loop(job), outcome, revision, open),
            // Tasks of one plan are built one after the other: each begins where the last one was approved.
            (true, Job::Task(n)) if n < self.tasks => At::task(n + 1),
            (true, Job::Task(_) | Job::Repair) => At::after_work(revision, rules),
            (true, Job::Qa) => At::Queued { ticket: rules.ticket, fails: 0 },
        };
        debug_assert!(rules.qa || job != Job::Qa, "BUG: a QA loop ended in a run without QA");
        self.move_lane(|lane| {
            lane.at = next;
            // The head is what was approved last. A loop that did not pass must not move it, or the next diff would
            // leave its work out.
            if outcome.is_good() {
                lane.head = revision.cloned().or_else(|| lane.head.take());
            }
        })
    }

    /// The lane begins, after what an earlier run has done of it.
    fn apply_opened(&mut self, rules: LaneRules) -> Option<()> {
        let next = self.done.as_ref().map_or(0, |done| done.tasks) + 1;
        let head = self.done.as_ref().map(|done| done.head.clone());
        // An earlier run may have done all tasks. Then only the delivery is left.
        let at = if next > self.tasks { At::after_work(head.as_ref(), rules) } else { At::task(next) };
        self.enter(PlanState::Lane(Box::new(Lane::new(at, head, rules.landing_rounds))));
        Some(())
    }

    /// The plan will not be built; not while it lands, because it may have landed.
    fn apply_dropped(&mut self, by: &str) -> Option<()> {
        let alive = !self.is_over() && !self.is_landing();
        alive.then(|| self.enter(PlanState::Dropped(by.to_owned())))
    }

    /// The SUMMARY is written: the delivery is judged, or the lane joins the queue.
    fn apply_summarised(&mut self, revision: &Revision, rules: LaneRules) -> Option<()> {
        let At::Summary { .. } = self.lane()?.at else { return None };
        self.move_lane(|lane| {
            lane.head = Some(revision.clone());
            lane.at = At::after_summary(revision, rules);
        })
    }

    /// The plan is on the run branch.
    fn apply_landed(&mut self, revision: &Revision) -> Option<()> {
        // Exactly the approved head lands. Another revision here means a corrupt journal.
        let queued = self.is_queued() && self.lane()?.head.as_ref() == Some(revision);
        queued.then(|| self.enter(PlanState::Landed(revision.clone())))
    }

    /// A landing was refused: a repair begins, or the lane is stuck when the repairs are spent.
    fn apply_refused(&mut self, refusal: &Refusal, findings: &[CarriedFinding]) -> Option<()> {
        let lane = self.lane().filter(|_| self.is_queued())?;
        let spent = lane.repairs >= lane.repairs_max;
        let head = lane.head.clone();
        let opening = match refusal {
            // The rebased work may be fine, so it is reviewed before anybody changes it.
            Refusal::JudgeAgain(revision) => {
                Opening::Judge { revision: revision.clone(), open: findings.to_vec(), since: None }
            }
            Refusal::Conflict | Refusal::RedCheck => Opening::Make { rounds: None, open: findings.to_vec() },
        };
        self.move_lane(|lane| {
            lane.at = if spent {
                At::stuck(Was::Landing, &Outcome::Exhausted, head.as_ref(), findings)
            } else {
                lane.repairs += 1;
                At::Loop { job: Job::Repair, opening }
            };
        })
    }

    /// A lost attempt at the summary or the landing; the lane is stuck when the attempts are spent.
    fn apply_failed(&mut self, effect: &EffectId, rules: LaneRules) -> Option<()> {
        let fails = effect.n.fails + 1;
        let spent = fails >= rules.attempts_max;
        self.intents.close(effect);
        let head = self.lane()?.head.clone();
        let stuck = |was| At::stuck(was, &Outcome::Failed, head.as_ref(), &[]);
        match &mut self.lane_mut()?.at {
            At::Summary { .. } if spent => self.move_lane(|lane| lane.at = stuck(Was::Summary))?,
            At::Queued { .. } if spent => self.move_lane(|lane| lane.at = stuck(Was::Landing))?,
            At::Summary { fails: n } | At::Queued { fails: n, .. } => *n = fails,
            // A loop counts its lost attempts by itself, and a question has none.
            At::Loop { .. } | At::Stuck { .. } => return None,
        }
        Some(())
    }

    /// A person is asked about the stuck lane.
    fn apply_asked(&mut self) -> Option<()> {
        let at = At::Stuck { stuck: Box::new(self.unasked()?.clone()), asked: true };
        self.move_lane(|lane| lane.at = at)
    }

    /// What a person decided about the stuck lane. A stop changes nothing here: it ends the whole run.
    fn apply_decided(&mut self, decision: &LaneDecision, rules: LaneRules) -> Option<()> {
        let At::Stuck { stuck, asked: true } = &self.lane()?.at else { return None };
        let stuck = (**stuck).clone();
        if !stuck.takes(&decision.choice) {
            return None;
        }
        match &decision.choice {
            LaneChoice::Stop => Some(()),
            LaneChoice::Drop => {
                self.enter(PlanState::Dropped(decision.by.clone()));
                Some(())
            }
            LaneChoice::Accept => {
                let next = self.after_accept(&stuck, rules)?;
                self.move_lane(|lane| {
                    lane.head = stuck.revision.clone();
                    lane.at = next;
                })
            }
            LaneChoice::Reask => {
                self.move_lane(|lane| lane.at = At::Queued { ticket: rules.ticket, fails: 0 })
            }
            LaneChoice::Retry(rounds) => {
                let opening = Opening::Make { rounds: Some(*rounds), open: stuck.open.clone() };
                self.move_lane(|lane| lane.resume(&stuck, opening))
            }
            // Nobody has approved the manual fix yet: the lane's head stays where the change to judge begins.
            LaneChoice::Fixed(revision) => {
                let opening =
                    Opening::Judge { revision: revision.clone(), open: stuck.open.clone(), since: None };
                self.move_lane(|lane| lane.resume(&stuck, opening))
            }
        }
    }

    /// Continues as if the step that a person accepts had passed. A refused landing cannot be accepted.
    fn after_accept(&self, stuck: &Stuck, rules: LaneRules) -> Option<At> {
        Some(match stuck.was {
            Was::Loop(Job::Task(n)) if n < self.tasks => At::task(n + 1),
            Was::Loop(Job::Task(_)) => At::after_work(stuck.revision.as_ref(), rules),
            Was::Summary => At::after_summary(stuck.revision.as_ref()?, rules),
            Was::Loop(Job::Qa) => At::Queued { ticket: rules.ticket, fails: 0 },
            Was::Loop(Job::Repair) | Was::Landing => return None,
        })
    }

    /// Counts runs of the builder towards the next checkpoint.
    fn apply_iterated(&mut self, n: u32) -> Option<()> {
        let lane = self.lane_mut()?;
        // A number that does not grow cannot follow the state; it would count runs twice.
        lane.since += n.checked_sub(lane.iterated).filter(|more| *more > 0)?;
        lane.iterated = n;
        Some(())
    }

    /// A checkpoint of this lane begins.
    fn apply_checkpoint_due(&mut self) -> Option<()> {
        self.checkpoints += 1;
        let number = self.checkpoints;
        let lane = self.lane_mut().filter(|lane| lane.is_at_tasks() && lane.checkpoint.is_none())?;
        lane.checkpoint = Some(number);
        lane.since = 0;
        Some(())
    }

    /// A checkpoint ended, with feedback for the next prompt or without.
    fn apply_checkpointed(&mut self, effect: &EffectId, feedback: Option<&String>) -> Option<()> {
        self.intents.close(effect);
        let lane = self.lane_mut().filter(|lane| lane.checkpoint == Some(effect.entry))?;
        lane.checkpoint = None;
        // A checkpoint that was given up leaves the feedback of the last one in place.
        if feedback.is_some() {
            lane.feedback = feedback.cloned();
        }
        Some(())
    }

    /// Puts the lane back to work after a rebase: it landed once.
    ///
    /// It is queued to land again on the user's branch as it is now. If a person asked for more rounds, it does its
    /// last task again from what it left.
    pub(super) fn reopen(&mut self, again: Option<u32>, rules: LaneRules) -> Option<()> {
        let PlanState::Landed(revision) = &self.state else { return None };
        let lane = match again {
            Some(rounds) => {
                let opening = Opening::Make { rounds: Some(rounds), open: Vec::new() };
                // Nothing counts as approved any more: the whole change is judged again.
                Lane::new(At::Loop { job: Job::Task(self.tasks), opening }, None, rules.landing_rounds)
            }
            None => {
                let queued = At::Queued { ticket: rules.ticket, fails: 0 };
                Lane::new(queued, Some(revision.clone()), rules.landing_rounds)
            }
        };
        self.enter(PlanState::Lane(Box::new(lane)));
        Some(())
    }
}
