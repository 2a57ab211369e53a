//! One plan of a run: what it waits for, how far it has come, and where its lane stands.
//!
//! `lane.rs` has the transitions; this file has the data and the small questions that the run asks of it.

use super::question::{Job, Stuck, Was};
use super::spec::{PlanSpec, TasksDone};
use crate::effect::{EffectId, Intents, Step, Try};
use crate::ids::{Of, PlanId, Revision};
use crate::ledger::CarriedFinding;
use crate::review_loop::{Opening, Outcome};

/// One plan of the run, with its own counter of entries and its own intents.
///
/// The counter is the plan's, not the run's: an effect of one lane keeps its id while its siblings move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PlanRun {
    pub(super) id: PlanId,
    pub(super) wave: u32,
    /// Plans that must have landed first.
    pub(super) needs: Vec<usize>,
    /// Plans that hold files it claims, and must be over first.
    pub(super) after: Vec<usize>,
    pub(super) tasks: u32,
    /// The document that the plan gate judges.
    pub(super) revision: Revision,
    pub(super) done: Option<TasksDone>,
    /// Grows with every change of state, so that no effect id of the lane is used twice.
    pub(super) entry: u32,
    /// How many checkpoints it has had.
    pub(super) checkpoints: u32,
    pub(super) intents: Intents,
    pub(super) state: PlanState,
}

/// How far a plan has come; the last three are over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PlanState {
    Gating,
    Ready,
    Lane(Box<Lane>),
    Landed(Revision),
    Refused(Outcome),
    Dropped(String),
}

/// What a lane has to know about its run to move on.
///
/// They are copied into each call, so that a lane cannot see the run or its siblings.
#[derive(Clone, Copy, Debug)]
pub(super) struct LaneRules {
    /// Deliveries are judged before they land.
    pub(super) qa: bool,
    /// Lanes have no SUMMARY.
    pub(super) bare: bool,
    /// Attempts at one step before the lane is stuck.
    pub(super) attempts_max: u32,
    /// Repairs of a lane after refused landings.
    pub(super) landing_rounds: u32,
    /// The place behind everybody who is in the queue.
    pub(super) ticket: u32,
}

/// Where a lane stands.
///
/// The states are those of the lane's diagram in `docs/design/machines.md`; `Loop` is one of task, repair and QA.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum At {
    Loop { job: Job, opening: Opening },
    Summary { fails: u32 },
    Queued { ticket: u32, fails: u32 },
    Stuck { stuck: Box<Stuck>, asked: bool },
}

/// The work on a plan, from its first task to the landing queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lane {
    pub(super) at: At,
    /// What was approved last: the change of the next task begins there.
    pub(super) head: Option<Revision>,
    /// Repairs after refused landings, and how many there may be.
    pub(super) repairs: u32,
    pub(super) repairs_max: u32,
    /// Runs of the builder in the loop it is in, as far as the run knows.
    pub(super) iterated: u32,
    /// Runs of the builder since the last checkpoint.
    pub(super) since: u32,
    /// The number of the checkpoint that is being held.
    pub(super) checkpoint: Option<u32>,
    pub(super) feedback: Option<String>,
}

impl Lane {
    pub(super) fn new(at: At, head: Option<Revision>, repairs_max: u32) -> Lane {
        Lane { at, head, repairs: 0, repairs_max, iterated: 0, since: 0, checkpoint: None, feedback: None }
    }

    pub(super) fn is_at_tasks(&self) -> bool {
        matches!(self.at, At::Loop { job: Job::Task(_), .. })
    }

    /// Begins a new loop of the same kind. A person who retries a refused landing grants one more repair.
    pub(super) fn resume(&mut self, stuck: &Stuck, opening: Opening) {
        let judged = matches!(opening, Opening::Judge { .. });
        self.at = match stuck.was {
            // A person's change is judged before it is summed up.
            Was::Summary if judged => At::Loop { job: Job::Repair, opening },
            Was::Summary => At::Summary { fails: 0 },
            Was::Loop(Job::Repair) | Was::Landing => {
                self.repairs_max += 1;
                // A repair that got stuck was already counted when it began.
                self.repairs += u32::from(stuck.was == Was::Landing);
                At::Loop { job: Job::Repair, opening }
            }
            Was::Loop(job) => At::Loop { job, opening },
        };
    }
}

impl At {
    /// The loop of the n-th task.
    pub(super) fn task(n: u32) -> At {
        At::Loop { job: Job::Task(n), opening: Opening::Make { rounds: None, open: Vec::new() } }
    }

    /// What follows the last task, or the repair after a refused landing.
    pub(super) fn after_work(revision: Option<&Revision>, rules: LaneRules) -> At {
        match revision {
            Some(revision) if rules.bare => At::after_summary(revision, rules),
            Some(_) | None => At::Summary { fails: 0 },
        }
    }

    /// What follows a SUMMARY: the delivery is judged, or goes straight to the queue.
    pub(super) fn after_summary(revision: &Revision, rules: LaneRules) -> At {
        if !rules.qa {
            return At::Queued { ticket: rules.ticket, fails: 0 };
        }
        let opening = Opening::Judge { revision: revision.clone(), open: Vec::new(), since: None };
        At::Loop { job: Job::Qa, opening }
    }

    /// A lane that stopped. A person is asked later, when the run says so.
    pub(super) fn stuck(
        was: Was,
        outcome: &Outcome,
        revision: Option<&Revision>,
        open: &[CarriedFinding],
    ) -> At {
        let (outcome, revision, open) = (outcome.clone(), revision.cloned(), open.to_vec());
        At::Stuck { stuck: Box::new(Stuck { was, outcome, revision, open }), asked: false }
    }
}

impl PlanRun {
    /// The plan as the run found it; `needs` and `after` are places in the list of plans.
    pub(super) fn new(plan: &PlanSpec, needs: Vec<usize>, after: Vec<usize>, state: PlanState) -> PlanRun {
        PlanRun {
            id: plan.id.clone(),
            wave: plan.wave,
            needs,
            after,
            // A plan without tasks still has work to do: it counts as one task.
            tasks: plan.tasks.max(1),
            revision: plan.revision.clone(),
            done: plan.done.clone(),
            entry: 1,
            checkpoints: 0,
            intents: Intents::default(),
            state,
        }
    }

    /// Whether it landed, or never will.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.state, PlanState::Landed(_) | PlanState::Refused(_) | PlanState::Dropped(_))
    }

    pub(super) fn lane(&self) -> Option<&Lane> {
        match &self.state {
            PlanState::Lane(lane) => Some(lane),
            _ => None,
        }
    }

    pub(super) fn lane_mut(&mut self) -> Option<&mut Lane> {
        match &mut self.state {
            PlanState::Lane(lane) => Some(lane),
            _ => None,
        }
    }

    /// Whether its landing was launched and has not reported.
    pub(super) fn is_landing(&self) -> bool {
        self.intents.iter().any(|(effect, _)| effect.step == Step::Land)
    }

    /// Whether its builder has had so many runs since the last checkpoint.
    pub(super) fn is_due(&self, every: u32) -> bool {
        self.lane().is_some_and(|lane| lane.since >= every)
    }

    pub(super) fn is_queued(&self) -> bool {
        matches!(self.lane(), Some(Lane { at: At::Queued { .. }, .. }))
    }

    /// Whether nothing works for it: stuck, waiting in the queue or for a plan it depends on, or over.
    pub(super) fn rests(&self) -> bool {
        let stuck = matches!(self.lane(), Some(Lane { at: At::Stuck { .. }, .. }));
        self.waits() || stuck || (self.is_queued() && !self.is_landing())
    }

    /// Whether it has no lane: over, or waiting for a plan it depends on.
    pub(super) fn waits(&self) -> bool {
        self.is_over() || self.state == PlanState::Ready
    }

    /// The id of an effect of this lane.
    ///
    /// A checkpoint has a counter of its own, because it may outlive the task it began in.
    pub(super) fn effect(&self, step: Step, n: Try) -> EffectId {
        let launch = self.intents.launch(&step, n);
        let entry = match (&step, self.lane().and_then(|lane| lane.checkpoint)) {
            (Step::Checkpoint, Some(number)) => number,
            _ => self.entry,
        };
        EffectId { of: Of::new(self.id.as_str()), entry, step, n, launch }
    }

    /// Changes the state; nothing that was launched for the old one counts. A checkpoint outlives the change while
    /// the lane is at its tasks.
    pub(super) fn enter(&mut self, state: PlanState) {
        self.state = state;
        self.entry += 1;
        // A checkpoint may judge the work of the task before; its report still counts during the next one.
        let at_tasks = self.lane().is_some_and(Lane::is_at_tasks);
        if at_tasks {
            self.intents.retain(|effect| effect.step == Step::Checkpoint);
        } else {
            self.intents.reset();
            if let Some(lane) = self.lane_mut() {
                lane.checkpoint = None;
            }
        }
    }

    /// Moves the lane to its next step.
    pub(super) fn move_lane(&mut self, change: impl FnOnce(&mut Lane)) -> Option<()> {
        // On a copy, because `enter` replaces the state as a whole and counts it as a new entry.
        let mut lane = self.lane()?.clone();
        change(&mut lane);
        // The next loop counts its own runs from zero; `since` goes on counting for the checkpoint.
        lane.iterated = 0;
        self.enter(PlanState::Lane(Box::new(lane)));
        Some(())
    }

    /// Its place in the landing queue: the lowest lands first.
    pub(super) fn ticket(&self) -> u32 {
        match self.lane() {
            Some(Lane { at: At::Queued { ticket, .. }, .. }) => *ticket,
            // Behind everybody. Only queued lanes are compared.
            _ => u32::MAX,
        }
    }

    /// The question that a person has to be asked about it, if that was not done yet.
    pub(super) fn unasked(&self) -> Option<&Stuck> {
        match &self.lane()?.at {
            At::Stuck { stuck, asked: false } => Some(stuck),
            _ => None,
        }
    }

    /// Where it stands, for people.
    pub(super) fn standing(&self) -> Standing<'_> {
        match &self.state {
            PlanState::Gating => Standing::Gating,
            PlanState::Ready => Standing::Ready,
            PlanState::Landed(revision) => Standing::Landed(revision),
            PlanState::Refused(outcome) => Standing::Refused(outcome),
            PlanState::Dropped(by) => Standing::Dropped(by),
            PlanState::Lane(lane) => match &lane.at {
                At::Loop { job, .. } => Standing::Working(*job),
                At::Summary { .. } => Standing::Summary,
                At::Queued { .. } => Standing::Queued,
                At::Stuck { stuck, .. } => Standing::Stuck(stuck),
            },
        }
    }
}

/// Where a plan stands, as people are told.
///
/// It borrows from the machine, so that a status page copies nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing<'a> {
    /// The plan is judged before anything is built.
    Gating,
    /// It waits for its wave or its dependencies.
    Ready,
    /// It is in a loop of its lane.
    Working(Job),
    /// Somebody writes its SUMMARY.
    Summary,
    /// Approved, and waiting in the landing queue.
    Queued,
    /// Stopped; a person is or will be asked.
    Stuck(&'a Stuck),
    /// On the run branch, as this revision.
    Landed(&'a Revision),
    /// The plan gate did not approve it.
    Refused(&'a Outcome),
    /// Will not be built; says who or what dropped it.
    Dropped(&'a str),
}
