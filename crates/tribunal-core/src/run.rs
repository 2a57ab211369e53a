//! The run machine: plans, waves, lanes, the landing queue and the ending. Loops are its effects; it speaks
//! with them by levels, never by messages, and knows neither their findings' text nor a clock.

use crate::effect::{EffectId, FinishStep, Intents, Step, Try};
use crate::held::{Held, HeldChoice, HeldDecision};
use crate::ids::{FindingId, LoopId, Of, PlanId, Revision, Time};
use crate::ledger::Handed;
use crate::r#loop::{Failure, FailureKind, Opening, Outcome};
use crate::machine::{Machine, OutOfOrder};
use crate::policy::Policy;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One plan of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanSpec {
    /// Its id.
    pub id: PlanId,
    /// Its wave, from 1.
    pub wave: u32,
    /// Plans of this run that must have landed first.
    pub depends_on: Vec<PlanId>,
    /// Plans of this run that hold files it claims: it begins when those have landed, or never will.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<PlanId>,
    /// How many tasks it has; at least 1.
    pub tasks: u32,
    /// The document as the run found it: what the plan gate judges first.
    pub revision: Revision,
    /// Tasks already committed by an earlier run, and what they left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done: Option<TasksDone>,
}

/// Where an earlier run left a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TasksDone {
    /// How many tasks.
    pub tasks: u32,
    /// What they left.
    pub head: Revision,
}

/// What a refused plan means for the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanGate {
    /// One refused plan stops the phase.
    All,
    /// The passed ones go on.
    Each,
}

/// How lanes land.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Land {
    /// A wave together, in plan order, when all of it is approved.
    Group,
    /// Each when it is approved.
    Each,
}

/// The policies of the loops a run opens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policies {
    /// Plan gate.
    pub plan: Policy,
    /// A task.
    pub task: Policy,
    /// A repair after a refused landing.
    pub repair: Policy,
    /// A plan's delivery.
    pub qa: Policy,
    /// The phase review.
    pub phase: Policy,
}

/// Everything a run needs to know before it begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSpec {
    /// The plans, in plan order.
    pub plans: Vec<PlanSpec>,
    /// The plan gate; `None` opens lanes at once.
    pub gate: Option<PlanGate>,
    /// How lanes land.
    pub land: Land,
    /// Whether deliveries are judged before they land.
    pub qa: bool,
    /// Lanes have no SUMMARY: what their last task left goes to the delivery gate, or to the landing queue. A lane that
    /// made nothing at all is dropped, because there is nothing that a person could decide about.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bare: bool,
    /// The result is not brought to the user's branch before a person orders it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hold: bool,
    /// Whether the phase is reviewed at the end.
    pub review: bool,
    /// How a polish of what the review passed is judged; none where nothing is polished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub polish: Option<Box<Policy>>,
    /// What exists already and is reviewed at once; nothing is built.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exists: Option<Exists>,
    /// An artifact to be made and judged; where plans are built, what judges them all against it at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chain: Option<Box<ChainSpec>>,
    /// When the user's branch has moved, the result is rebased onto it without asking.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub land_again: bool,
    /// Iterations between checkpoints.
    pub checkpoint_every: Option<u32>,
    /// Repairs per lane after refused landings.
    pub landing_rounds: u32,
    /// Tries at one step.
    pub attempts_max: u32,
    /// How loops judge.
    pub policies: Policies,
    /// What is done at the end, in order.
    pub finish: Vec<FinishStep>,
    /// Deadline of a summary, checkpoint or finishing step, in milliseconds.
    pub step_timeout_ms: u64,
}

/// One artifact of a chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainSpec {
    /// What it is called: `spec`. It names its loop.
    pub name: String,
    /// How it is judged.
    pub policy: Policy,
    /// Spent rounds do not shut the gate: it goes on, not approved, with what is open on record.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub goes_on: bool,
}

/// Something that is there to be reviewed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exists {
    /// What is judged.
    pub revision: Revision,
    /// Findings of an earlier review of it, under their ids.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<Handed>,
    /// The revision that the lines of those findings are of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Revision>,
    /// The highest id that reviews of it gave before: none is given twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<FindingId>,
}

/// What a lane's loop is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Job {
    /// The n-th task, from 1.
    Task(u32),
    /// After a refused landing, over the lane's whole diff.
    Repair,
    /// The delivery.
    Qa,
}

/// Where a lane got stuck.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Was {
    /// In a loop.
    Loop(Job),
    /// Writing its SUMMARY.
    Summary,
    /// Landing: repairs are spent, or the landing itself could not be done (its outcome is `Failed`).
    Landing,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// Everything landed and passed.
    Passed,
    /// An artifact was not approved and goes on all the same, with what is open on record.
    Concerns,
    /// A gate stayed shut.
    Shut,
    /// A person stopped it.
    Stopped,
    /// Called off.
    Cancelled,
}

impl Ending {
    /// Whether the user's branch is to have the result.
    pub fn is_good(self) -> bool {
        matches!(self, Ending::Passed | Ending::Concerns)
    }

    /// The word people read.
    pub fn word(self) -> &'static str {
        match self {
            Ending::Passed => "passed",
            Ending::Concerns => "concerns",
            Ending::Shut => "shut",
            Ending::Stopped => "stopped",
            Ending::Cancelled => "cancelled",
        }
    }
}

/// What a person can say about a stuck lane.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LaneChoice {
    /// Again, with so many rounds.
    Retry(u32),
    /// I fixed it: judge this.
    Fixed(Revision),
    /// Do the same again: what stood in its way is not the lane's work.
    Reask,
    /// Take it as it is.
    Accept,
    /// Drop the plan and what depends on it.
    Drop,
    /// Stop the run.
    Stop,
}

/// The kind of a lane choice, for offering it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LaneOffer {
    /// Again with n rounds.
    Retry,
    /// I fixed it.
    Fixed,
    /// The same again.
    Reask,
    /// Accept as is.
    Accept,
    /// Drop this plan and its dependents.
    Drop,
    /// Stop the run.
    Stop,
}

impl LaneChoice {
    /// Which offer it takes up.
    pub fn offer(&self) -> LaneOffer {
        match self {
            LaneChoice::Retry(_) => LaneOffer::Retry,
            LaneChoice::Fixed(_) => LaneOffer::Fixed,
            LaneChoice::Reask => LaneOffer::Reask,
            LaneChoice::Accept => LaneOffer::Accept,
            LaneChoice::Drop => LaneOffer::Drop,
            LaneChoice::Stop => LaneOffer::Stop,
        }
    }
}

/// A person's answer about a lane.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaneDecision {
    /// Who.
    pub by: String,
    /// What.
    pub choice: LaneChoice,
    /// In their words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

/// A stuck lane, as the person sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stuck {
    /// Where it stood.
    pub was: Was,
    /// How its loop ended, or `Failed`.
    pub outcome: Outcome,
    /// What it left.
    pub revision: Option<Revision>,
    /// What is open.
    pub open: Vec<Handed>,
}

impl Stuck {
    /// Whether a landing was not refused but could not be done: a signature, a hook or a command did not come about.
    ///
    /// Nothing is known to be wrong with the work, so no builder is asked to repair it. Once the person has put right what
    /// stood in the way, the same landing is tried again.
    pub fn landing_did_not_run(&self) -> bool {
        self.was == Was::Landing && self.outcome == Outcome::Failed
    }

    /// What the person may choose. A refused landing cannot be accepted, nor what was never made.
    pub fn offers(&self) -> Vec<LaneOffer> {
        let again = if self.landing_did_not_run() { LaneOffer::Reask } else { LaneOffer::Retry };
        let mut offers = vec![again, LaneOffer::Fixed];
        let refused = matches!(self.was, Was::Landing | Was::Loop(Job::Repair));
        if self.revision.is_some() && !refused {
            offers.push(LaneOffer::Accept);
        }
        offers.extend([LaneOffer::Drop, LaneOffer::Stop]);
        offers
    }

    fn takes(&self, choice: &LaneChoice) -> bool {
        self.offers().contains(&choice.offer()) && *choice != LaneChoice::Retry(0)
    }
}

/// How often a result is rebased for one order to land it: the branch may move again while the rest is judged again.
///
/// A branch that moves faster than that is asked about, so that a run ends or waits in bounded time.
pub const REBASES_MAX: u32 = 3;

/// Who drops a lane that made nothing: the reason that people read.
pub const UNCHANGED: &str = "nothing was changed";

/// Why a landing was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// It does not merge.
    Conflict,
    /// A check is red on the merged tree.
    RedCheck,
    /// The approval does not carry over to this rebased revision.
    JudgeAgain(Revision),
}

/// What an effect of the run reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunReport {
    /// A loop ended.
    LoopEnded {
        /// How.
        outcome: Outcome,
        /// What it left.
        revision: Option<Revision>,
        /// What is open.
        open: Vec<Handed>,
    },
    /// The SUMMARY is written and valid.
    Summarised {
        /// The lane's revision with it.
        revision: Revision,
    },
    /// The plan is on the run branch.
    Landed {
        /// The run branch's new head.
        tip: Revision,
    },
    /// It is not.
    LandingRefused {
        /// Why.
        refusal: Refusal,
        /// As findings.
        findings: Vec<Handed>,
    },
    /// A checkpoint was held.
    Checkpointed {
        /// For the next brief.
        feedback: String,
    },
    /// A person decided about a lane.
    LaneDecided(LaneDecision),
    /// A finishing step is done.
    Finished {
        /// What happened.
        note: String,
    },
    /// The user's branch cannot have the result now.
    Held(Held),
    /// A person decided about a held result.
    HeldDecided(HeldDecision),
    /// The run branch begins at the user's branch again, and nothing has landed on it.
    Rebased {
        /// Where the user's branch is.
        onto: Revision,
    },
    /// What the review approved holds for the rebased result.
    Carried {
        /// The rebased result.
        tip: Revision,
    },
    /// What the review approved is not proven for the rebased result.
    JudgeAgain {
        /// The rebased result.
        revision: Revision,
    },
    /// The attempt is lost.
    Failed(Failure),
    /// A deadline came.
    Due,
}

/// What comes in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunIn {
    /// An effect reports.
    Report {
        /// Which.
        effect: EffectId,
        /// When.
        at: Time,
        /// What.
        report: RunReport,
    },
    /// The engine is about to launch it.
    Intend {
        /// Which.
        effect: EffectId,
        /// When.
        at: Time,
    },
    /// An intended effect was proven not to have happened.
    Clear {
        /// Which.
        effect: EffectId,
    },
    /// A lane's loop has had so many iterations.
    Iterated {
        /// The loop.
        effect: EffectId,
        /// How many.
        n: u32,
    },
    /// A person drops a plan.
    Drop {
        /// Which.
        plan: PlanId,
        /// Who.
        by: String,
    },
    /// Called off.
    Cancel,
}

/// What is recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunEvent {
    /// It began.
    Opened(Box<RunSpec>),
    /// An effect is about to be launched.
    Intended {
        /// Which.
        effect: EffectId,
        /// When it must have reported.
        due: Option<Time>,
    },
    /// An intended effect had not happened.
    Cleared {
        /// Which.
        effect: EffectId,
    },
    /// A loop ended.
    LoopEnded {
        /// Which.
        effect: EffectId,
        /// How.
        outcome: Outcome,
        /// What it left.
        revision: Option<Revision>,
        /// What is open.
        open: Vec<Handed>,
    },
    /// All plans are judged.
    GateDecided {
        /// Building begins.
        open: bool,
    },
    /// A wave may build.
    WaveOpened {
        /// Which.
        wave: u32,
    },
    /// A plan's lane begins.
    LaneOpened {
        /// Which.
        plan: PlanId,
    },
    /// A plan will not be built.
    PlanDropped {
        /// Which.
        plan: PlanId,
        /// Who, or what, dropped it.
        by: String,
    },
    /// A SUMMARY is written.
    Summarised {
        /// Which.
        effect: EffectId,
        /// The lane's revision with it.
        revision: Revision,
    },
    /// A plan is on the run branch.
    Landed {
        /// Which.
        effect: EffectId,
        /// What was approved.
        revision: Revision,
        /// The run branch's new head.
        tip: Revision,
    },
    /// A landing was refused.
    LandingRefused {
        /// Which.
        effect: EffectId,
        /// Why.
        refusal: Refusal,
        /// As findings.
        findings: Vec<Handed>,
    },
    /// A person is asked about a stuck lane.
    LaneAsked {
        /// Which.
        plan: PlanId,
        /// What about.
        stuck: Stuck,
    },
    /// A person decided about it.
    LaneDecided {
        /// Which.
        plan: PlanId,
        /// What.
        decision: LaneDecision,
    },
    /// A lane's loop went on.
    Iterated {
        /// Which.
        plan: PlanId,
        /// Iterations of its loop so far.
        n: u32,
    },
    /// Lanes are judged on their progress.
    CheckpointDue {
        /// Which.
        plans: Vec<PlanId>,
    },
    /// A checkpoint was held, or given up.
    Checkpointed {
        /// Which.
        effect: EffectId,
        /// For the next brief.
        feedback: Option<String>,
    },
    /// An attempt was lost.
    Failed {
        /// Which.
        effect: EffectId,
        /// Why.
        failure: Failure,
    },
    /// The phase review begins.
    ReviewOpened,
    /// It will end like this.
    Closing {
        /// How.
        ending: Ending,
    },
    /// Nothing runs any more.
    FinishOrdered,
    /// A finishing step is done.
    Finished {
        /// Which.
        effect: EffectId,
        /// What happened.
        note: String,
    },
    /// The user's branch cannot have the result now.
    Held {
        /// Which step found out.
        effect: EffectId,
        /// Why.
        held: Held,
        /// Nobody is asked: the result is rebased onto the branch, because that was ordered beforehand.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        goes_on: bool,
    },
    /// The result is kept from the user's branch until a person orders it.
    Withheld,
    /// A person decided about a held result.
    HeldDecided(HeldDecision),
    /// The run branch begins at the user's branch again: what had landed is queued once more, or worked on again.
    Rebased {
        /// Which.
        effect: EffectId,
        /// Where the user's branch is.
        onto: Revision,
    },
    /// Everything is on the rebased run branch: what the review approved is carried over, if it can be.
    CarryOpened,
    /// What the review approved holds for the rebased result.
    Carried {
        /// Which.
        effect: EffectId,
        /// The rebased result.
        tip: Revision,
    },
    /// What the review approved is not proven for the rebased result: it is reviewed again.
    JudgeAgain {
        /// Which.
        effect: EffectId,
        /// The rebased result.
        revision: Revision,
    },
    /// It is over.
    Ended {
        /// How.
        ending: Ending,
    },
}

impl RunEvent {
    /// The effect whose report this is.
    fn answers(&self) -> Option<&EffectId> {
        match self {
            RunEvent::LoopEnded { effect, .. }
            | RunEvent::Summarised { effect, .. }
            | RunEvent::Landed { effect, .. }
            | RunEvent::LandingRefused { effect, .. }
            | RunEvent::Checkpointed { effect, .. }
            | RunEvent::Failed { effect, .. }
            | RunEvent::Held { effect, .. }
            | RunEvent::Rebased { effect, .. }
            | RunEvent::Carried { effect, .. }
            | RunEvent::JudgeAgain { effect, .. }
            | RunEvent::Finished { effect, .. } => Some(effect),
            _ => None,
        }
    }

    /// The lanes whose wants it may change (the run itself is one of them), besides the lane whose turn it is to land;
    /// `None` when it may be any.
    pub fn touches(&self) -> Option<Vec<Of>> {
        let lane = |plan: &PlanId| Of::new(plan.as_str());
        match self {
            RunEvent::Intended { effect, .. } | RunEvent::Cleared { effect } => Some(vec![effect.of.clone()]),
            // It ends the work of every lane.
            RunEvent::LaneDecided { decision, .. } if decision.choice == LaneChoice::Stop => None,
            RunEvent::LaneOpened { plan }
            | RunEvent::PlanDropped { plan, .. }
            | RunEvent::LaneAsked { plan, .. }
            | RunEvent::LaneDecided { plan, .. }
            | RunEvent::Iterated { plan, .. } => Some(vec![lane(plan)]),
            RunEvent::CheckpointDue { plans } => Some(plans.iter().map(lane).collect()),
            RunEvent::LoopEnded { effect, .. }
            | RunEvent::Summarised { effect, .. }
            | RunEvent::Landed { effect, .. }
            | RunEvent::LandingRefused { effect, .. }
            | RunEvent::Checkpointed { effect, .. }
            | RunEvent::Failed { effect, .. }
                if effect.of != Of::run() =>
            {
                Some(vec![effect.of.clone()])
            }
            _ => None,
        }
    }

    /// It moves a lane without being a report: only while plans are judged or built.
    fn is_of_a_lane(&self) -> bool {
        matches!(
            self,
            RunEvent::LaneOpened { .. }
                | RunEvent::PlanDropped { .. }
                | RunEvent::LaneAsked { .. }
                | RunEvent::LaneDecided { .. }
                | RunEvent::Iterated { .. }
                | RunEvent::CheckpointDue { .. }
        )
    }

    /// The event's name, as in the journal.
    pub fn name(&self) -> &'static str {
        match self {
            RunEvent::Opened(_) => "opened",
            RunEvent::Intended { .. } => "intended",
            RunEvent::Cleared { .. } => "cleared",
            RunEvent::LoopEnded { .. } => "loop_ended",
            RunEvent::GateDecided { .. } => "gate_decided",
            RunEvent::WaveOpened { .. } => "wave_opened",
            RunEvent::LaneOpened { .. } => "lane_opened",
            RunEvent::PlanDropped { .. } => "plan_dropped",
            RunEvent::Summarised { .. } => "summarised",
            RunEvent::Landed { .. } => "landed",
            RunEvent::LandingRefused { .. } => "landing_refused",
            RunEvent::LaneAsked { .. } => "lane_asked",
            RunEvent::LaneDecided { .. } => "lane_decided",
            RunEvent::Iterated { .. } => "iterated",
            RunEvent::CheckpointDue { .. } => "checkpoint_due",
            RunEvent::Checkpointed { .. } => "checkpointed",
            RunEvent::Failed { .. } => "failed",
            RunEvent::ReviewOpened => "review_opened",
            RunEvent::Closing { .. } => "closing",
            RunEvent::FinishOrdered => "finish_ordered",
            RunEvent::Finished { .. } => "finished",
            RunEvent::Held { .. } => "held",
            RunEvent::Withheld => "withheld",
            RunEvent::HeldDecided(_) => "held_decided",
            RunEvent::Rebased { .. } => "rebased",
            RunEvent::CarryOpened => "carry_opened",
            RunEvent::Carried { .. } => "carried",
            RunEvent::JudgeAgain { .. } => "judge_again",
            RunEvent::Ended { .. } => "ended",
        }
    }
}

/// What a loop of the run is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A plan before any code.
    Plan(PlanId),
    /// Work in a lane.
    Lane(PlanId, Job),
    /// Everything that landed.
    Phase,
    /// What the review passed, made better. It blocks nothing: what does not pass is dropped.
    Polish,
    /// An artifact of a chain, or what was built held against it.
    Chain,
}

/// What the world should be doing for a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunWant {
    /// Hold a loop.
    Loop {
        /// Its name.
        id: LoopId,
        /// What it is about.
        subject: Subject,
        /// How it begins.
        opening: Opening,
    },
    /// Write a SUMMARY.
    Summary {
        /// Of which plan.
        plan: PlanId,
        /// Of what.
        revision: Revision,
    },
    /// Judge a lane's progress.
    Checkpoint {
        /// Which.
        plan: PlanId,
    },
    /// Land a plan.
    Land {
        /// Which.
        plan: PlanId,
        /// What was approved.
        revision: Revision,
    },
    /// Ask a person about a stuck lane.
    AskLane {
        /// Which.
        plan: PlanId,
        /// What about.
        stuck: Stuck,
    },
    /// One thing done at the end.
    Finish {
        /// Which.
        step: FinishStep,
        /// How the run ends.
        ending: Ending,
        /// A person asked for it since the run was held: then more is done to bring the result to the branch.
        asked: bool,
    },
    /// Ask a person about a held result.
    AskHeld {
        /// What holds it.
        held: Held,
    },
    /// Begin the run branch at the user's branch again.
    Rebase,
    /// Carry what the review approved over to the rebased run branch.
    Carry {
        /// What was reviewed first; the fixes of the review stand on it. None where nothing was landed before it.
        from: Option<Revision>,
        /// What the review approved.
        tip: Revision,
    },
    /// Come back.
    Wake {
        /// When.
        at: Time,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum At {
    Loop { job: Job, opening: Opening },
    Summary { fails: u32 },
    Queued { ticket: u32, fails: u32 },
    Stuck { stuck: Box<Stuck>, asked: bool },
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Lane {
    at: At,
    head: Option<Revision>,
    repairs: u32,
    repairs_max: u32,
    iterated: u32,
    since: u32,
    checkpoint: Option<u32>,
    feedback: Option<String>,
}

impl Lane {
    fn new(at: At, head: Option<Revision>, repairs_max: u32) -> Lane {
        Lane { at, head, repairs: 0, repairs_max, iterated: 0, since: 0, checkpoint: None, feedback: None }
    }

    fn is_at_tasks(&self) -> bool {
        matches!(self.at, At::Loop { job: Job::Task(_), .. })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum PlanState {
    Gating,
    Ready,
    Lane(Box<Lane>),
    Landed(Revision),
    Refused(Outcome),
    Dropped(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct PlanRun {
    id: PlanId,
    wave: u32,
    needs: Vec<usize>,
    after: Vec<usize>,
    tasks: u32,
    revision: Revision,
    done: Option<TasksDone>,
    entry: u32,
    checkpoints: u32,
    intents: Intents,
    state: PlanState,
}

impl PlanRun {
    fn is_over(&self) -> bool {
        matches!(self.state, PlanState::Landed(_) | PlanState::Refused(_) | PlanState::Dropped(_))
    }

    fn lane(&self) -> Option<&Lane> {
        match &self.state {
            PlanState::Lane(lane) => Some(lane),
            _ => None,
        }
    }

    fn lane_mut(&mut self) -> Option<&mut Lane> {
        match &mut self.state {
            PlanState::Lane(lane) => Some(lane),
            _ => None,
        }
    }

    fn is_landing(&self) -> bool {
        self.intents.iter().any(|(effect, _)| effect.step == Step::Land)
    }

    fn is_due(&self, every: u32) -> bool {
        self.lane().is_some_and(|lane| lane.since >= every)
    }

    fn is_queued(&self) -> bool {
        matches!(self.lane(), Some(Lane { at: At::Queued { .. }, .. }))
    }

    /// Nothing works for it: stuck, waiting in the queue or for a plan it depends on, or over.
    fn rests(&self) -> bool {
        let stuck = matches!(self.lane(), Some(Lane { at: At::Stuck { .. }, .. }));
        self.waits() || stuck || (self.is_queued() && !self.is_landing())
    }

    /// It has no lane: over, or waiting for a plan it depends on.
    fn waits(&self) -> bool {
        self.is_over() || self.state == PlanState::Ready
    }

    fn effect(&self, step: Step, n: Try) -> EffectId {
        let launch = self.intents.launch(&step, n);
        let entry = match (&step, self.lane().and_then(|lane| lane.checkpoint)) {
            (Step::Checkpoint, Some(number)) => number,
            _ => self.entry,
        };
        EffectId { of: Of::new(self.id.as_str()), entry, step, n, launch }
    }

    /// A change of state: nothing of the old one counts. A checkpoint outlives it while the lane is at its tasks.
    fn enter(&mut self, state: PlanState) {
        self.state = state;
        self.entry += 1;
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

    fn move_lane(&mut self, change: impl FnOnce(&mut Lane)) -> Option<()> {
        let mut lane = self.lane()?.clone();
        change(&mut lane);
        lane.iterated = 0;
        self.enter(PlanState::Lane(Box::new(lane)));
        Some(())
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Stage {
    Gating,
    Building {
        wave: u32,
    },
    Reviewing,
    Polishing {
        ending: Ending,
    },
    Closing {
        ending: Ending,
    },
    Finishing {
        ending: Ending,
        step: usize,
        fails: u32,
        asked: bool,
    },
    /// `whole`: the run branch has the whole result. While it is rebased it has not.
    Held {
        ending: Ending,
        held: Held,
        whole: bool,
    },
    /// `again`: the lane works on what it landed, for so many rounds, before it lands once more.
    Rebasing {
        ending: Ending,
        fails: u32,
        again: Option<u32>,
    },
    Carrying {
        ending: Ending,
        fails: u32,
    },
    Ended {
        ending: Ending,
    },
}

impl Stage {
    fn name(&self) -> &'static str {
        match self {
            Stage::Gating => "gating",
            Stage::Building { .. } => "building",
            Stage::Reviewing => "reviewing",
            Stage::Polishing { .. } => "polishing",
            Stage::Closing { .. } => "closing",
            Stage::Finishing { .. } => "finishing",
            Stage::Held { .. } => "held",
            Stage::Rebasing { .. } => "rebasing",
            Stage::Carrying { .. } => "carrying",
            Stage::Ended { .. } => "ended",
        }
    }
}

/// The machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    spec: RunSpec,
    stage: Stage,
    entry: u32,
    intents: Intents,
    plans: Vec<PlanRun>,
    index: BTreeMap<PlanId, usize>,
    tickets: u32,
    tip: Option<Revision>,
    /// Plans in the order in which they landed: rebased, they land in that order again.
    landings: Vec<usize>,
    /// How often the result may still be rebased before a person is asked.
    rebases: u32,
    /// A person ordered the result to land, and has not been asked again since: the order holds through a rebase.
    ordered: bool,
    /// Where the user's branch was when the result was rebased last.
    ground: Option<Revision>,
    reviewed: Option<Reviewed>,
}

/// What the last loop of the run itself approved.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Reviewed {
    /// What it judged first.
    from: Option<Revision>,
    tip: Revision,
    ending: Ending,
}

/// A plan's standing, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing<'a> {
    /// Judged before any code.
    Gating,
    /// Waits for its wave or dependencies.
    Ready,
    /// In a loop of its lane.
    Working(Job),
    /// Its SUMMARY is written.
    Summary,
    /// In the landing queue.
    Queued,
    /// Waits for a person.
    Stuck(&'a Stuck),
    /// On the run branch.
    Landed(&'a Revision),
    /// Its plan was refused.
    Refused(&'a Outcome),
    /// Will not be built.
    Dropped(&'a str),
}

impl Run {
    /// The machine after its first event.
    pub fn open(spec: &RunSpec) -> Run {
        let index = |id: &PlanId| spec.plans.iter().position(|plan| plan.id == *id);
        let gated = spec.gate.is_some();
        let plans = spec.plans.iter().map(|plan| PlanRun {
            id: plan.id.clone(),
            wave: plan.wave,
            needs: plan.depends_on.iter().filter_map(index).collect(),
            after: plan.after.iter().filter_map(index).collect(),
            tasks: plan.tasks.max(1),
            revision: plan.revision.clone(),
            done: plan.done.clone(),
            entry: 1,
            checkpoints: 0,
            intents: Intents::default(),
            state: if gated { PlanState::Gating } else { PlanState::Ready },
        });
        let plans: Vec<PlanRun> = plans.collect();
        let stage = match &spec.exists {
            Some(_) => Stage::Reviewing,
            None if spec.chain.is_some() && spec.plans.is_empty() => Stage::Reviewing,
            None if gated => Stage::Gating,
            None => Stage::Building { wave: first_wave(spec) },
        };
        Run {
            spec: spec.clone(),
            stage,
            entry: 1,
            intents: Intents::default(),
            // Of two plans with one id the first counts.
            index: plans.iter().enumerate().rev().map(|(at, plan)| (plan.id.clone(), at)).collect(),
            plans,
            tickets: 0,
            tip: spec.exists.as_ref().map(|exists| exists.revision.clone()),
            landings: Vec::new(),
            rebases: if spec.land_again { REBASES_MAX } else { 0 },
            ordered: false,
            ground: None,
            reviewed: None,
        }
    }

    /// What it was opened with.
    pub fn spec(&self) -> &RunSpec {
        &self.spec
    }
    /// The word for its stage.
    pub fn stage_name(&self) -> &'static str {
        self.stage.name()
    }
    /// The wave being built.
    pub fn wave(&self) -> Option<u32> {
        match self.stage {
            Stage::Building { wave } => Some(wave),
            _ => None,
        }
    }
    /// How it ended, if it has.
    pub fn ending(&self) -> Option<Ending> {
        match self.stage {
            Stage::Ended { ending } => Some(ending),
            _ => None,
        }
    }
    /// How it is going to end, once that is settled.
    pub fn closing(&self) -> Option<Ending> {
        match self.stage {
            Stage::Closing { ending } | Stage::Finishing { ending, .. } | Stage::Ended { ending } => {
                Some(ending)
            }
            _ => None,
        }
    }
    /// The run branch's head as of the last landing.
    pub fn tip(&self) -> Option<&Revision> {
        self.tip.as_ref()
    }
    /// What keeps the result from the user's branch, while a person is asked about it.
    pub fn held(&self) -> Option<&Held> {
        match &self.stage {
            Stage::Held { held, .. } => Some(held),
            _ => None,
        }
    }
    /// Whether the lane may work on a held result again: only where one lane made all of it, and nothing was made of it
    /// since. A result of several lanes would have to name the one that is meant.
    pub fn may_work_again(&self) -> bool {
        let one_lane = self.plans.len() == 1 && self.landings.len() == 1 && self.spec.bare;
        matches!(self.stage, Stage::Held { .. }) && one_lane && !self.spec.review
    }
    /// Whether the run branch has the whole result, and only the user's branch lacks it.
    pub fn is_whole(&self) -> bool {
        matches!(self.stage, Stage::Held { whole: true, .. })
    }
    /// What the last loop of the run itself approved.
    pub fn reviewed_tip(&self) -> Option<&Revision> {
        self.reviewed.as_ref().map(|reviewed| &reviewed.tip)
    }
    /// Where the user's branch was when the result was rebased last; none where it never was.
    pub fn ground(&self) -> Option<&Revision> {
        self.ground.as_ref()
    }
    /// Where each plan stands.
    pub fn standings(&self) -> impl Iterator<Item = (&PlanId, Standing<'_>)> {
        self.plans.iter().map(|plan| (&plan.id, standing(plan)))
    }
    /// What the last checkpoint of a lane said.
    pub fn feedback(&self, plan: &PlanId) -> Option<&str> {
        self.plan(plan)?.lane()?.feedback.as_deref()
    }
    /// What was approved last of the lane, by a loop or a person: where the change of its task begins.
    pub fn lane_head(&self, plan: &PlanId) -> Option<&Revision> {
        self.plan(plan)?.lane()?.head.as_ref()
    }
    /// Intended effects that have not reported.
    pub fn intents(&self) -> impl Iterator<Item = (&EffectId, &Option<Time>)> {
        self.plans.iter().flat_map(|plan| plan.intents.iter()).chain(self.intents.iter())
    }
    /// The policy for a loop about this subject.
    pub fn policy(&self, subject: &Subject) -> &Policy {
        match subject {
            Subject::Plan(_) => &self.spec.policies.plan,
            Subject::Lane(_, Job::Task(_)) => &self.spec.policies.task,
            Subject::Lane(_, Job::Repair) => &self.spec.policies.repair,
            Subject::Lane(_, Job::Qa) => &self.spec.policies.qa,
            Subject::Phase => &self.spec.policies.phase,
            Subject::Polish => self.spec.polish.as_deref().unwrap_or(&self.spec.policies.phase),
            Subject::Chain => {
                self.spec.chain.as_ref().map_or(&self.spec.policies.phase, |chain| &chain.policy)
            }
        }
    }

    fn at(&self, plan: &str) -> Option<usize> {
        self.index.get(plan).copied()
    }

    fn plan(&self, id: &PlanId) -> Option<&PlanRun> {
        self.at(id.as_str()).map(|at| &self.plans[at])
    }

    fn plan_mut(&mut self, id: &PlanId) -> Option<&mut PlanRun> {
        self.at(id.as_str()).map(|at| &mut self.plans[at])
    }

    fn plan_of(&self, effect: &EffectId) -> Option<&PlanRun> {
        self.at(effect.of.as_str()).map(|at| &self.plans[at])
    }

    fn plan_of_mut(&mut self, effect: &EffectId) -> Option<&mut PlanRun> {
        self.at(effect.of.as_str()).map(|at| &mut self.plans[at])
    }

    fn effect(&self, step: Step, n: Try) -> EffectId {
        let launch = self.intents.launch(&step, n);
        EffectId { of: Of::run(), entry: self.entry, step, n, launch }
    }

    fn enter(&mut self, stage: Stage) {
        self.stage = stage;
        self.entry += 1;
        self.intents.reset();
        if let Stage::Closing { .. } = self.stage {
            // Whatever else was launched is called off; a landing is heard out.
            self.plans.iter_mut().for_each(|plan| plan.intents.retain(|effect| effect.step == Step::Land));
        }
    }

    fn is_intended(&self, effect: &EffectId) -> bool {
        let intents = self.plan_of(effect).map_or(&self.intents, |plan| &plan.intents);
        intents.has(effect)
    }

    fn intents_mut(&mut self, effect: &EffectId) -> &mut Intents {
        match self.at(effect.of.as_str()) {
            Some(at) => &mut self.plans[at].intents,
            None => &mut self.intents,
        }
    }

    /// The place behind everybody who is in the queue.
    fn next_ticket(&self) -> u32 {
        self.tickets.saturating_add(1)
    }

    fn finish_steps(&self, ending: Ending) -> &[FinishStep] {
        match ending {
            Ending::Passed | Ending::Concerns => &self.spec.finish,
            // Where nothing was built there is only the record of it to bring.
            Ending::Shut if self.spec.chain.is_some() && self.spec.plans.is_empty() => &self.spec.finish,
            Ending::Shut | Ending::Stopped => {
                let boundary = self.spec.finish.first() == Some(&FinishStep::Boundary);
                &self.spec.finish[..usize::from(boundary)]
            }
            Ending::Cancelled => &[],
        }
    }
}

fn first_wave(spec: &RunSpec) -> u32 {
    let waves = spec.plans.iter().map(|plan| plan.wave);
    match spec.land {
        Land::Group => waves.min().unwrap_or(1),
        Land::Each => waves.max().unwrap_or(1),
    }
}

fn standing(plan: &PlanRun) -> Standing<'_> {
    match &plan.state {
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

// What an input means.
impl Run {
    fn decide_report(&self, effect: &EffectId, at: Time, report: &RunReport) -> Option<RunEvent> {
        if let Some(guarded) = effect.guarded() {
            return self.decide_wake(&guarded, at, report);
        }
        let want = self.want(effect).filter(|_| self.is_launched(effect))?;
        let effect = effect.clone();
        match (want, report) {
            (RunWant::Loop { .. }, RunReport::LoopEnded { outcome, revision, open }) => {
                // A good end of nothing is none.
                let hollow = outcome.is_good() && revision.is_none();
                let outcome = if hollow { Outcome::Failed } else { outcome.clone() };
                // Only a stuck lane goes on with what is open, and the loop's own events hold it: of a review with many
                // findings it would be the largest thing in the journal, written when everything is over.
                let goes_on = effect.of != Of::run() && !outcome.is_good();
                let open = if goes_on { open.clone() } else { Vec::new() };
                Some(RunEvent::LoopEnded { effect, outcome, revision: revision.clone(), open })
            }
            (RunWant::Summary { .. }, RunReport::Summarised { revision }) => {
                Some(RunEvent::Summarised { effect, revision: revision.clone() })
            }
            (RunWant::Land { revision, .. }, RunReport::Landed { tip }) => {
                Some(RunEvent::Landed { effect, revision, tip: tip.clone() })
            }
            (RunWant::Land { .. }, RunReport::LandingRefused { refusal, findings }) => {
                let (refusal, findings) = (refusal.clone(), findings.clone());
                Some(RunEvent::LandingRefused { effect, refusal, findings })
            }
            (RunWant::Checkpoint { .. }, RunReport::Checkpointed { feedback }) => {
                Some(RunEvent::Checkpointed { effect, feedback: Some(feedback.clone()) })
            }
            (RunWant::Checkpoint { .. }, _) => Some(RunEvent::Checkpointed { effect, feedback: None }),
            (RunWant::AskLane { plan, stuck }, RunReport::LaneDecided(decision)) => {
                let taken = stuck.takes(&decision.choice);
                taken.then(|| RunEvent::LaneDecided { plan, decision: decision.clone() })
            }
            (RunWant::Finish { .. }, RunReport::Finished { note }) => {
                Some(RunEvent::Finished { effect, note: note.clone() })
            }
            (RunWant::Finish { ending, .. }, RunReport::Held(held)) if ending.is_good() => {
                Some(RunEvent::Held { effect, held: held.clone(), goes_on: self.rebases_for(held) })
            }
            (RunWant::Rebase | RunWant::Carry { .. }, RunReport::Held(held)) => {
                Some(RunEvent::Held { effect, held: held.clone(), goes_on: false })
            }
            (RunWant::AskHeld { .. }, RunReport::HeldDecided(decision)) => {
                self.takes_held(decision.choice).then(|| RunEvent::HeldDecided(decision.clone()))
            }
            (RunWant::Rebase, RunReport::Rebased { onto }) => {
                Some(RunEvent::Rebased { effect, onto: onto.clone() })
            }
            (RunWant::Carry { .. }, RunReport::Carried { tip }) => {
                Some(RunEvent::Carried { effect, tip: tip.clone() })
            }
            (RunWant::Carry { .. }, RunReport::JudgeAgain { revision }) => {
                Some(RunEvent::JudgeAgain { effect, revision: revision.clone() })
            }
            (
                RunWant::AskLane { .. }
                | RunWant::AskHeld { .. }
                | RunWant::Loop { .. }
                | RunWant::Wake { .. },
                _,
            ) => None,
            (_, RunReport::Failed(failure)) => Some(RunEvent::Failed { effect, failure: failure.clone() }),
            (_, _) => {
                let failure = Failure::new(FailureKind::Garbled, "the report answers another question");
                Some(RunEvent::Failed { effect, failure })
            }
        }
    }

    fn takes_held(&self, choice: HeldChoice) -> bool {
        match choice {
            HeldChoice::Land | HeldChoice::Stop => true,
            HeldChoice::Again(rounds) => rounds > 0 && self.may_work_again(),
        }
    }

    fn is_launched(&self, effect: &EffectId) -> bool {
        !effect.step.is_one_shot() || self.is_intended(effect)
    }

    /// It runs and is wanted, so what it reports counts.
    fn hears(&self, effect: &EffectId) -> bool {
        self.is_launched(effect) && self.want(effect).is_some()
    }

    fn decide_wake(&self, guarded: &EffectId, at: Time, report: &RunReport) -> Option<RunEvent> {
        let intents = self.plan_of(guarded).map_or(&self.intents, |plan| &plan.intents);
        let due = intents.due(guarded)??;
        if *report != RunReport::Due || at < due {
            return None;
        }
        let effect = guarded.clone();
        Some(match guarded.step {
            Step::Checkpoint => RunEvent::Checkpointed { effect, feedback: None },
            _ => RunEvent::Failed { effect, failure: Failure::new(FailureKind::TimedOut, "") },
        })
    }

    fn decide_intend(&self, effect: &EffectId, at: Time) -> Option<RunEvent> {
        let fresh = effect.step.is_one_shot() && !self.is_intended(effect);
        self.want(effect).filter(|_| fresh)?;
        let timed = effect.step.is_timed();
        let due = timed.then(|| Time(at.0.saturating_add(self.spec.step_timeout_ms)));
        Some(RunEvent::Intended { effect: effect.clone(), due })
    }

    fn decide_iterated(&self, effect: &EffectId, n: u32) -> Option<RunEvent> {
        let wanted = matches!(self.want(effect), Some(RunWant::Loop { .. }));
        let plan = self.plan_of(effect).filter(|_| wanted)?;
        let known = plan.lane()?.iterated;
        (n > known).then(|| RunEvent::Iterated { plan: plan.id.clone(), n })
    }

    fn is_live(&self) -> bool {
        matches!(self.stage, Stage::Gating | Stage::Building { .. })
    }

    fn decide_drop(&self, plan: &PlanId, by: &str) -> Option<RunEvent> {
        let live = self.is_live();
        let plan = self.plan(plan).filter(|plan| live && !plan.is_over() && !plan.is_landing())?;
        Some(RunEvent::PlanDropped { plan: plan.id.clone(), by: by.to_owned() })
    }

    fn decide_cancel(&self) -> Option<RunEvent> {
        match self.stage {
            Stage::Gating
            | Stage::Building { .. }
            | Stage::Reviewing
            | Stage::Polishing { .. }
            | Stage::Held { .. }
            | Stage::Rebasing { .. }
            | Stage::Carrying { .. } => Some(RunEvent::Closing { ending: Ending::Cancelled }),
            Stage::Closing { .. } | Stage::Finishing { .. } | Stage::Ended { .. } => None,
        }
    }
}

// What follows from the state alone.
impl Run {
    fn settle_gating(&self) -> Option<RunEvent> {
        if self.is_gating() {
            return None;
        }
        let refused = |plan: &PlanRun| matches!(plan.state, PlanState::Refused(_));
        let ready = self.plans.iter().any(|plan| plan.state == PlanState::Ready);
        let shut = match self.spec.gate {
            Some(PlanGate::All) => self.plans.iter().any(refused),
            Some(PlanGate::Each) | None => false,
        };
        Some(RunEvent::GateDecided { open: ready && !shut })
    }

    fn is_gating(&self) -> bool {
        self.plans.iter().any(|plan| plan.state == PlanState::Gating)
    }

    fn settle_building(&self, wave: u32) -> Option<RunEvent> {
        self.settle_dropped()
            .or_else(|| self.settle_lane_opened(wave))
            .or_else(|| self.settle_wave(wave))
            .or_else(|| self.settle_stranded(wave))
            .or_else(|| self.settle_checkpoint())
            .or_else(|| self.settle_asked())
            .or_else(|| self.settle_built())
    }

    fn settle_dropped(&self) -> Option<RunEvent> {
        let lost = |i: &usize| matches!(self.plans[*i].state, PlanState::Dropped(_) | PlanState::Refused(_));
        // A plan that landed before the result was rebased waits in the queue for what it depends on.
        let waits =
            |plan: &&PlanRun| plan.state == PlanState::Ready || (plan.is_queued() && !plan.is_landing());
        self.plans.iter().filter(waits).find_map(|plan| {
            let lost = plan.needs.iter().find(|i| lost(i))?;
            let by = format!("its dependency {} will not land", self.plans[*lost].id);
            Some(RunEvent::PlanDropped { plan: plan.id.clone(), by })
        })
    }

    fn settle_lane_opened(&self, wave: u32) -> Option<RunEvent> {
        let ready = |plan: &&PlanRun| self.may_open(plan, wave);
        self.plans.iter().find(ready).map(|plan| RunEvent::LaneOpened { plan: plan.id.clone() })
    }

    fn may_open(&self, plan: &PlanRun, wave: u32) -> bool {
        let landed = |i: &usize| matches!(self.plans[*i].state, PlanState::Landed(_));
        let free = plan.after.iter().all(|i| self.plans[*i].is_over());
        plan.state == PlanState::Ready && plan.wave <= wave && plan.needs.iter().all(landed) && free
    }

    fn settle_wave(&self, wave: u32) -> Option<RunEvent> {
        let next = self.plans.iter().map(|plan| plan.wave).filter(|w| *w > wave).min()?;
        self.is_over_before(next).then_some(RunEvent::WaveOpened { wave: next })
    }

    fn is_over_before(&self, wave: u32) -> bool {
        self.plans.iter().all(|plan| plan.wave >= wave || plan.is_over())
    }

    /// A plan that waits while nothing is built waits for ever: its dependencies go round, or come later.
    fn settle_stranded(&self, wave: u32) -> Option<RunEvent> {
        if self.plans.iter().any(|plan| plan.lane().is_some()) {
            return None;
        }
        let stranded = |plan: &&PlanRun| plan.state == PlanState::Ready && plan.wave <= wave;
        let by = "what it waits for can never land".to_owned();
        self.plans.iter().find(stranded).map(|plan| RunEvent::PlanDropped { plan: plan.id.clone(), by })
    }

    fn settle_checkpoint(&self) -> Option<RunEvent> {
        let every = self.spec.checkpoint_every?;
        let free =
            |plan: &&PlanRun| plan.lane().is_some_and(|lane| lane.is_at_tasks() && lane.checkpoint.is_none());
        let free: Vec<&PlanRun> = self.plans.iter().filter(free).collect();
        free.iter()
            .any(|plan| plan.is_due(every))
            .then(|| RunEvent::CheckpointDue { plans: free.iter().map(|plan| plan.id.clone()).collect() })
    }

    fn settle_asked(&self) -> Option<RunEvent> {
        self.plans.iter().find_map(|plan| match &plan.lane()?.at {
            At::Stuck { stuck, asked: false } if self.may_ask(plan) => {
                Some(RunEvent::LaneAsked { plan: plan.id.clone(), stuck: (**stuck).clone() })
            }
            _ => None,
        })
    }

    fn may_ask(&self, plan: &PlanRun) -> bool {
        match self.spec.land {
            Land::Each => true,
            Land::Group => self.plans.iter().all(|other| other.wave != plan.wave || other.rests()),
        }
    }

    fn settle_built(&self) -> Option<RunEvent> {
        if !self.plans.iter().all(PlanRun::is_over) {
            return None;
        }
        if self.is_reviewed_next() {
            return Some(if self.may_carry() { RunEvent::CarryOpened } else { RunEvent::ReviewOpened });
        }
        Some(RunEvent::Closing { ending: self.ending_by_landings() })
    }

    /// Whether the review of everything that landed comes next.
    fn is_reviewed_next(&self) -> bool {
        let landed = |plan: &PlanRun| matches!(plan.state, PlanState::Landed(_));
        self.spec.review && self.tip.is_some() && self.plans.iter().any(landed)
    }

    /// Whether what the review approved may hold for the rebased result: not where a plan of it is missing now.
    fn may_carry(&self) -> bool {
        self.reviewed.is_some() && self.ending_by_landings() == Ending::Passed
    }

    fn ending_by_landings(&self) -> Ending {
        let all = self.plans.iter().all(|plan| matches!(plan.state, PlanState::Landed(_)));
        if all { Ending::Passed } else { Ending::Shut }
    }

    fn settle_finishing(&self, ending: Ending, step: usize, asked: bool) -> Option<RunEvent> {
        if self.withholds(ending, step, asked) {
            return Some(RunEvent::Withheld);
        }
        (step >= self.finish_steps(ending).len()).then_some(RunEvent::Ended { ending })
    }

    /// Whether the result waits for an order before anything of it reaches the user's branch.
    fn withholds(&self, ending: Ending, step: usize, asked: bool) -> bool {
        let forwards = self.finish_steps(ending).contains(&FinishStep::Forward);
        self.spec.hold && !asked && step == 0 && ending.is_good() && forwards
    }
}

// How events change the state. Each returns `None` where the event cannot follow the state.
impl Run {
    fn apply_loop_ended(
        &mut self,
        effect: &EffectId,
        outcome: &Outcome,
        revision: Option<&Revision>,
        open: &[Handed],
    ) -> Option<()> {
        if effect.of == Of::run() {
            return self.apply_own_loop_ended(outcome, revision);
        }
        let (qa, bare) = (self.spec.qa, self.spec.bare);
        let ticket = self.next_ticket();
        let plan = self.plan_of_mut(effect)?;
        if plan.state == PlanState::Gating {
            let refused = || PlanState::Refused(outcome.clone());
            plan.enter(if outcome.is_good() { PlanState::Ready } else { refused() });
            return Some(());
        }
        let tasks = plan.tasks;
        let At::Loop { job, .. } = plan.lane()?.at else { return None };
        if bare && *outcome == Outcome::Stale && revision.is_none() {
            plan.enter(PlanState::Dropped(UNCHANGED.to_owned()));
            return Some(());
        }
        let next = match (outcome.is_good(), job) {
            (false, job) => At::stuck(Was::Loop(job), outcome, revision, open),
            (true, Job::Task(n)) if n < tasks => At::task(n + 1),
            (true, Job::Task(_) | Job::Repair) => match (bare, revision.cloned()) {
                (true, Some(revision)) => delivered(qa, revision, ticket),
                _ => At::Summary { fails: 0 },
            },
            (true, Job::Qa) => At::Queued { ticket, fails: 0 },
        };
        let queued = matches!(next, At::Queued { .. });
        plan.move_lane(|lane| {
            lane.at = next;
            if outcome.is_good() {
                lane.head = revision.cloned().or_else(|| lane.head.take());
            }
        })?;
        self.tickets += u32::from(queued);
        debug_assert!(qa || job != Job::Qa, "BUG: a QA loop ended in a run without QA");
        Some(())
    }

    /// The review of it all, or the polish after it: whose end changes what is taken, never how the run ends.
    fn apply_own_loop_ended(&mut self, outcome: &Outcome, revision: Option<&Revision>) -> Option<()> {
        let good = outcome.is_good();
        let goes_on = *outcome == Outcome::Exhausted && self.goes_on();
        let next = match self.stage {
            Stage::Reviewing if goes_on => Stage::Closing { ending: Ending::Concerns },
            Stage::Reviewing => match if good { self.ending_by_landings() } else { Ending::Shut } {
                Ending::Passed if self.spec.polish.is_some() => Stage::Polishing { ending: Ending::Passed },
                ending => Stage::Closing { ending },
            },
            Stage::Polishing { ending } => Stage::Closing { ending },
            _ => return None,
        };
        let from = match (&self.stage, &self.reviewed) {
            (Stage::Polishing { .. }, Some(reviewed)) => reviewed.from.clone(),
            _ => self.tip.clone(),
        };
        // What was built stays as its own panels approved it, where the last word on it is not a good one.
        if good || (goes_on && self.tip.is_none()) {
            // What the fixers made of it is what was approved.
            self.tip = revision.cloned().or_else(|| self.tip.take());
        }
        let (Stage::Polishing { ending } | Stage::Closing { ending }) = next else { return None };
        self.reviewed = self.tip.clone().map(|tip| Reviewed { from, tip, ending });
        self.enter(next);
        Some(())
    }

    /// Whether an artifact goes on when its rounds are spent; not where a plan is missing.
    fn goes_on(&self) -> bool {
        self.spec.chain.as_ref().is_some_and(|chain| chain.goes_on)
            && self.ending_by_landings() == Ending::Passed
    }

    fn apply_lane_opened(&mut self, plan: &PlanId) -> Option<()> {
        let Stage::Building { wave } = self.stage else { return None };
        let (qa, bare, ticket) = (self.spec.qa, self.spec.bare, self.next_ticket());
        let repairs_max = self.spec.landing_rounds;
        self.plan(plan).filter(|plan| self.may_open(plan, wave))?;
        let plan = self.plan_mut(plan)?;
        let next = plan.done.as_ref().map_or(0, |done| done.tasks) + 1;
        let head = plan.done.as_ref().map(|done| done.head.clone());
        let at = match (next > plan.tasks, &head) {
            (false, _) => At::task(next),
            (true, Some(head)) if bare => delivered(qa, head.clone(), ticket),
            (true, _) => At::Summary { fails: 0 },
        };
        let queued = matches!(at, At::Queued { .. });
        plan.enter(PlanState::Lane(Box::new(Lane::new(at, head, repairs_max))));
        self.tickets += u32::from(queued);
        Some(())
    }

    fn apply_summarised(&mut self, effect: &EffectId, revision: &Revision) -> Option<()> {
        let qa = self.spec.qa;
        let ticket = self.next_ticket();
        let plan = self.plan_of_mut(effect)?;
        let At::Summary { .. } = plan.lane()?.at else { return None };
        plan.move_lane(|lane| {
            lane.head = Some(revision.clone());
            lane.at = delivered(qa, revision.clone(), ticket);
        })?;
        self.tickets += u32::from(!qa);
        Some(())
    }

    fn apply_landed(&mut self, effect: &EffectId, revision: &Revision, tip: &Revision) -> Option<()> {
        let plan = self.plan_of_mut(effect)?;
        let queued = plan.is_queued() && plan.lane()?.head.as_ref() == Some(revision);
        queued.then(|| plan.enter(PlanState::Landed(revision.clone())))?;
        self.tip = Some(tip.clone());
        self.landings.extend(self.at(effect.of.as_str()));
        Some(())
    }

    fn apply_refused(&mut self, effect: &EffectId, refusal: &Refusal, findings: &[Handed]) -> Option<()> {
        let plan = self.plan_of_mut(effect)?;
        let lane = plan.lane().filter(|_| plan.is_queued())?;
        let spent = lane.repairs >= lane.repairs_max;
        let head = lane.head.clone();
        let opening = match refusal {
            Refusal::JudgeAgain(revision) => {
                Opening::Judge { revision: revision.clone(), open: findings.to_vec(), since: None }
            }
            Refusal::Conflict | Refusal::RedCheck => Opening::Make { rounds: None, open: findings.to_vec() },
        };
        plan.move_lane(|lane| {
            lane.at = if spent {
                At::stuck(Was::Landing, &Outcome::Exhausted, head.as_ref(), findings)
            } else {
                lane.repairs += 1;
                At::Loop { job: Job::Repair, opening }
            };
        })
    }

    fn apply_failed(&mut self, effect: &EffectId, failure: &Failure) -> Option<()> {
        let attempts_max = self.spec.attempts_max;
        let fails = effect.n.fails + 1;
        if effect.of == Of::run() {
            return self.apply_own_failed(effect, fails, failure);
        }
        let plan = self.plan_of_mut(effect)?;
        plan.intents.close(effect);
        let head = plan.lane()?.head.clone();
        let stuck = |was| At::stuck(was, &Outcome::Failed, head.as_ref(), &[]);
        let spent = fails >= attempts_max;
        match &mut plan.lane_mut()?.at {
            At::Summary { .. } if spent => plan.move_lane(|lane| lane.at = stuck(Was::Summary))?,
            At::Queued { .. } if spent => plan.move_lane(|lane| lane.at = stuck(Was::Landing))?,
            At::Summary { fails: n } | At::Queued { fails: n, .. } => *n = fails,
            At::Loop { .. } | At::Stuck { .. } => return None,
        }
        Some(())
    }

    /// A step on the way to the user's branch was lost. When it is given up, the result is held: a run never ends good
    /// without it on the branch.
    fn apply_own_failed(&mut self, effect: &EffectId, fails: u32, failure: &Failure) -> Option<()> {
        let spent = fails >= self.spec.attempts_max;
        let whole = matches!(self.stage, Stage::Finishing { .. });
        let held = |ending: Ending| Stage::Held { ending, held: Held::Failed(failure.text.clone()), whole };
        let next = match self.stage {
            Stage::Finishing { ending, .. } if spent && self.brings(&effect.step, ending) => held(ending),
            // Each step presumes the one before: when one is given up, so is the rest.
            Stage::Finishing { ending, asked, .. } if spent => {
                let step = self.finish_steps(ending).len();
                Stage::Finishing { ending, step, fails, asked }
            }
            Stage::Rebasing { ending, .. } | Stage::Carrying { ending, .. } if spent => held(ending),
            Stage::Finishing { ending, step, asked, .. } => Stage::Finishing { ending, step, fails, asked },
            Stage::Rebasing { ending, again, .. } => Stage::Rebasing { ending, fails, again },
            Stage::Carrying { ending, .. } => Stage::Carrying { ending, fails },
            _ => return None,
        };
        match next {
            Stage::Held { .. } => {
                self.ordered = false;
                self.enter(next);
            }
            next => {
                self.stage = next;
                self.intents.close(effect);
            }
        }
        Some(())
    }

    /// Whether the user's branch cannot have the result without this step.
    fn brings(&self, step: &Step, ending: Ending) -> bool {
        let forwards = self.spec.finish.contains(&FinishStep::Forward);
        ending.is_good() && forwards && *step != Step::Finish(FinishStep::Push)
    }

    /// Whether a result that is held for this reason is rebased without a question.
    fn rebases_for(&self, held: &Held) -> bool {
        matches!(self.stage, Stage::Finishing { .. }) && held.needs_rebase() && self.rebases > 0
    }

    fn apply_held(&mut self, held: &Held) -> Option<()> {
        let (Stage::Finishing { ending, .. }
        | Stage::Rebasing { ending, .. }
        | Stage::Carrying { ending, .. }) = self.stage
        else {
            return None;
        };
        if !ending.is_good() {
            return None;
        }
        if self.rebases_for(held) {
            self.rebases -= 1;
            self.enter(Stage::Rebasing { ending, fails: 0, again: None });
        } else {
            let whole = matches!(self.stage, Stage::Finishing { .. });
            self.ordered = false;
            self.enter(Stage::Held { ending, held: held.clone(), whole });
        }
        Some(())
    }

    fn apply_withheld(&mut self) -> Option<()> {
        let Stage::Finishing { ending, step, asked, .. } = self.stage else { return None };
        self.withholds(ending, step, asked).then(|| {
            self.enter(Stage::Held { ending, held: Held::Ordered, whole: true });
        })
    }

    fn apply_held_decided(&mut self, decision: &HeldDecision) -> Option<()> {
        if !self.takes_held(decision.choice) {
            return None;
        }
        let Stage::Held { ending, whole, ref held } = self.stage else { return None };
        let again = !whole || held.was_undone();
        self.ordered = decision.choice == HeldChoice::Land;
        match decision.choice {
            // What was held half way is not the result: it is rebased once more, onto the branch as it is now. What the
            // branch took away again is brought once more on top of that.
            HeldChoice::Land if again => {
                self.rebases = REBASES_MAX - 1;
                self.enter(Stage::Rebasing { ending, fails: 0, again: None });
            }
            HeldChoice::Land => {
                self.rebases = REBASES_MAX;
                self.enter(Stage::Finishing { ending, step: 0, fails: 0, asked: true });
            }
            // The run branch begins anew, so that what the lane makes of it is still one change.
            HeldChoice::Again(rounds) => {
                self.enter(Stage::Rebasing { ending, fails: 0, again: Some(rounds) });
            }
            HeldChoice::Stop => self.enter(Stage::Closing { ending: Ending::Stopped }),
        }
        Some(())
    }

    /// Everything that had landed is queued once more, in the order in which it landed; or, where a person asked for more,
    /// its one lane does its last task again, from what it left.
    fn apply_rebased(&mut self, onto: &Revision) -> Option<()> {
        let Stage::Rebasing { ending, again, .. } = self.stage else { return None };
        self.ground = Some(onto.clone());
        let landings = std::mem::take(&mut self.landings);
        if landings.is_empty() {
            self.enter(Stage::Carrying { ending, fails: 0 });
            return Some(());
        }
        let repairs_max = self.spec.landing_rounds;
        for at in &landings {
            let plan = &mut self.plans[*at];
            let PlanState::Landed(revision) = &plan.state else { return None };
            let lane = match again {
                Some(rounds) => {
                    let opening = Opening::Make { rounds: Some(rounds), open: Vec::new() };
                    // Nothing counts as approved any more: the whole change is judged again.
                    Lane::new(At::Loop { job: Job::Task(plan.tasks), opening }, None, repairs_max)
                }
                None => {
                    self.tickets += 1;
                    let queued = At::Queued { ticket: self.tickets, fails: 0 };
                    Lane::new(queued, Some(revision.clone()), repairs_max)
                }
            };
            plan.enter(PlanState::Lane(Box::new(lane)));
        }
        self.tip = None;
        let wave = self.plans.iter().map(|plan| plan.wave).max().unwrap_or(1);
        self.enter(Stage::Building { wave });
        Some(())
    }

    fn apply_carried(&mut self, tip: &Revision) -> Option<()> {
        let Stage::Carrying { .. } = self.stage else { return None };
        let reviewed = self.reviewed.take()?;
        let from = if self.plans.is_empty() { self.ground.clone() } else { self.tip.clone() };
        self.tip = Some(tip.clone());
        self.enter(Stage::Closing { ending: reviewed.ending });
        self.reviewed = Some(Reviewed { from, tip: tip.clone(), ..reviewed });
        Some(())
    }

    fn apply_judge_again(&mut self, revision: &Revision) -> Option<()> {
        let Stage::Carrying { .. } = self.stage else { return None };
        self.reviewed = None;
        self.tip = Some(revision.clone());
        self.enter(Stage::Reviewing);
        Some(())
    }

    fn apply_lane_decided(&mut self, plan: &PlanId, decision: &LaneDecision) -> Option<()> {
        let ticket = self.next_ticket();
        let (qa, bare) = (self.spec.qa, self.spec.bare);
        let plan = self.plan_mut(plan)?;
        let At::Stuck { stuck, asked: true } = &plan.lane()?.at else { return None };
        let stuck = (**stuck).clone();
        if !stuck.takes(&decision.choice) {
            return None;
        }
        match &decision.choice {
            LaneChoice::Drop => plan.enter(PlanState::Dropped(decision.by.clone())),
            LaneChoice::Stop => self.enter(Stage::Closing { ending: Ending::Stopped }),
            LaneChoice::Accept => {
                let next = after_accept(plan, &stuck, (qa, bare), ticket)?;
                let queued = matches!(next, At::Queued { .. });
                plan.move_lane(|lane| {
                    lane.head = stuck.revision.clone();
                    lane.at = next;
                })?;
                self.tickets += u32::from(queued);
            }
            LaneChoice::Reask => {
                plan.move_lane(|lane| lane.at = At::Queued { ticket, fails: 0 })?;
                self.tickets += 1;
            }
            LaneChoice::Retry(rounds) => {
                let opening = Opening::Make { rounds: Some(*rounds), open: stuck.open.clone() };
                plan.move_lane(|lane| lane.resume(&stuck, opening))?;
            }
            // Nobody has approved it yet: the lane's head stays where the change to judge begins.
            LaneChoice::Fixed(revision) => {
                let opening =
                    Opening::Judge { revision: revision.clone(), open: stuck.open.clone(), since: None };
                plan.move_lane(|lane| lane.resume(&stuck, opening))?;
            }
        }
        Some(())
    }

    fn apply_checkpoint_due(&mut self, plans: &[PlanId]) -> Option<()> {
        let every = self.spec.checkpoint_every?;
        plans.iter().find(|id| self.plan(id).is_some_and(|plan| plan.is_due(every)))?;
        for id in plans {
            let plan = self.plan_mut(id)?;
            plan.checkpoints += 1;
            let number = plan.checkpoints;
            let lane = plan.lane_mut().filter(|lane| lane.is_at_tasks() && lane.checkpoint.is_none())?;
            lane.checkpoint = Some(number);
            lane.since = 0;
        }
        Some(())
    }

    fn apply_checkpointed(&mut self, effect: &EffectId, feedback: Option<&String>) -> Option<()> {
        let plan = self.plan_of_mut(effect)?;
        plan.intents.close(effect);
        let lane = plan.lane_mut().filter(|lane| lane.checkpoint == Some(effect.entry))?;
        lane.checkpoint = None;
        if feedback.is_some() {
            lane.feedback = feedback.cloned();
        }
        Some(())
    }

    fn apply_iterated(&mut self, plan: &PlanId, n: u32) -> Option<()> {
        let lane = self.plan_mut(plan)?.lane_mut()?;
        lane.since += n.checked_sub(lane.iterated).filter(|more| *more > 0)?;
        lane.iterated = n;
        Some(())
    }

    fn apply_stage(&mut self, event: &RunEvent) -> Option<()> {
        let built = self.plans.iter().all(PlanRun::is_over);
        let next = match (&self.stage, event) {
            (Stage::Gating, RunEvent::GateDecided { open }) if !self.is_gating() => match open {
                true => Stage::Building { wave: first_wave(&self.spec) },
                false => Stage::Closing { ending: Ending::Shut },
            },
            (Stage::Building { wave: now }, RunEvent::WaveOpened { wave })
                if wave > now && self.is_over_before(*wave) && self.plans.iter().any(|p| p.wave == *wave) =>
            {
                Stage::Building { wave: *wave }
            }
            (Stage::Building { .. }, RunEvent::ReviewOpened) if built => Stage::Reviewing,
            (Stage::Building { .. }, RunEvent::CarryOpened) if built && self.may_carry() => {
                Stage::Carrying { ending: self.reviewed.as_ref()?.ending, fails: 0 }
            }
            (_, RunEvent::Closing { ending: Ending::Cancelled }) if self.decide_cancel().is_some() => {
                Stage::Closing { ending: Ending::Cancelled }
            }
            (Stage::Building { .. }, RunEvent::Closing { ending })
                if built && *ending == self.ending_by_landings() =>
            {
                Stage::Closing { ending: *ending }
            }
            (Stage::Closing { ending }, RunEvent::FinishOrdered) if self.wants().is_empty() => {
                Stage::Finishing { ending: *ending, step: 0, fails: 0, asked: self.ordered }
            }
            (Stage::Finishing { ending, step, asked, .. }, RunEvent::Finished { .. }) => {
                Stage::Finishing { ending: *ending, step: step + 1, fails: 0, asked: *asked }
            }
            (Stage::Finishing { ending, step, .. }, RunEvent::Ended { ending: said })
                if ending == said && *step >= self.finish_steps(*ending).len() =>
            {
                Stage::Ended { ending: *ending }
            }
            _ => return None,
        };
        self.enter(next);
        Some(())
    }
}

impl At {
    fn task(n: u32) -> At {
        At::Loop { job: Job::Task(n), opening: Opening::Make { rounds: None, open: Vec::new() } }
    }

    fn stuck(was: Was, outcome: &Outcome, revision: Option<&Revision>, open: &[Handed]) -> At {
        let (outcome, revision, open) = (outcome.clone(), revision.cloned(), open.to_vec());
        At::Stuck { stuck: Box::new(Stuck { was, outcome, revision, open }), asked: false }
    }
}

impl Lane {
    /// A new loop of the same kind; one more landing repair where that was it.
    fn resume(&mut self, stuck: &Stuck, opening: Opening) {
        let judged = matches!(opening, Opening::Judge { .. });
        self.at = match stuck.was {
            // What a person changed is judged before it is summed up.
            Was::Summary if judged => At::Loop { job: Job::Repair, opening },
            Was::Summary => At::Summary { fails: 0 },
            Was::Loop(Job::Repair) | Was::Landing => {
                self.repairs_max += 1;
                self.repairs += u32::from(stuck.was == Was::Landing);
                At::Loop { job: Job::Repair, opening }
            }
            Was::Loop(job) => At::Loop { job, opening },
        };
    }
}

/// What comes after a plan's work: the delivery gate, or the landing queue.
fn delivered(qa: bool, revision: Revision, ticket: u32) -> At {
    match qa {
        true => {
            At::Loop { job: Job::Qa, opening: Opening::Judge { revision, open: Vec::new(), since: None } }
        }
        false => At::Queued { ticket, fails: 0 },
    }
}

fn after_accept(plan: &PlanRun, stuck: &Stuck, (qa, bare): (bool, bool), ticket: u32) -> Option<At> {
    Some(match stuck.was {
        Was::Loop(Job::Task(n)) if n < plan.tasks => At::task(n + 1),
        Was::Loop(Job::Task(_)) if bare => delivered(qa, stuck.revision.clone()?, ticket),
        Was::Loop(Job::Task(_)) => At::Summary { fails: 0 },
        Was::Summary if qa => delivered(qa, stuck.revision.clone()?, ticket),
        Was::Summary | Was::Loop(Job::Qa) => At::Queued { ticket, fails: 0 },
        Was::Loop(Job::Repair) | Was::Landing => return None,
    })
}

// What the world should be doing.
impl Run {
    fn want(&self, effect: &EffectId) -> Option<RunWant> {
        let Some(at) = self.at(effect.of.as_str()) else {
            return self.own_want().filter(|(id, _)| id == effect).map(|(_, want)| want);
        };
        // Whose turn it is to land matters to landings alone, and takes a look at every lane.
        let head = if effect.step == Step::Land { self.head_of_queue() } else { None };
        self.plan_wants(at, head).into_iter().find(|(id, _)| id == effect).map(|(_, w)| w)
    }

    /// The lanes, and the run itself.
    pub fn parts(&self) -> impl Iterator<Item = Of> {
        self.plans.iter().map(|plan| Of::new(plan.id.as_str())).chain(std::iter::once(Of::run()))
    }

    /// What the world should be doing for one lane, or for the run itself: together, what [`Machine::wants`] says.
    pub fn wants_of(&self, of: &Of) -> BTreeMap<EffectId, RunWant> {
        match self.at(of.as_str()) {
            Some(at) => {
                with_wakes(self.plan_wants(at, self.head_of_queue()), &self.plans[at].intents).collect()
            }
            None if *of == Of::run() => {
                with_wakes(self.own_want().into_iter().collect(), &self.intents).collect()
            }
            None => BTreeMap::new(),
        }
    }

    /// The lane whose turn it is to land.
    pub fn lands_next(&self) -> Option<Of> {
        self.head_of_queue().map(|at| Of::new(self.plans[at].id.as_str()))
    }

    fn own_want(&self) -> Option<(EffectId, RunWant)> {
        match &self.stage {
            Stage::Reviewing if self.spec.chain.is_some() => self.chain_want(),
            Stage::Reviewing => {
                let effect = self.effect(Step::Loop, Try::default());
                let id = LoopId::new(format!("phase.{}", self.entry));
                // What an earlier review left open was settled before the result was rebased.
                let earlier = self.spec.exists.as_ref().filter(|_| self.ground.is_none());
                let (open, since) = earlier
                    .map_or_else(Default::default, |exists| (exists.open.clone(), exists.since.clone()));
                let opening = Opening::Judge { revision: self.tip.clone()?, open, since };
                Some((effect, RunWant::Loop { id, subject: Subject::Phase, opening }))
            }
            Stage::Polishing { .. } => {
                let effect = self.effect(Step::Loop, Try::default());
                let id = LoopId::new(format!("phase.polish.{}", self.entry));
                let opening = Opening::Make { rounds: None, open: Vec::new() };
                Some((effect, RunWant::Loop { id, subject: Subject::Polish, opening }))
            }
            Stage::Finishing { ending, step, fails, asked } => {
                let wanted = *self.finish_steps(*ending).get(*step)?;
                let effect = self.effect(Step::Finish(wanted), Try::nth(*fails));
                Some((effect, RunWant::Finish { step: wanted, ending: *ending, asked: *asked }))
            }
            Stage::Held { held, .. } => {
                Some((self.effect(Step::Ask, Try::default()), RunWant::AskHeld { held: held.clone() }))
            }
            Stage::Rebasing { fails, .. } => {
                Some((self.effect(Step::Rebase, Try::nth(*fails)), RunWant::Rebase))
            }
            Stage::Carrying { fails, .. } => {
                let Reviewed { from, tip, .. } = self.reviewed.clone()?;
                Some((self.effect(Step::Carry, Try::nth(*fails)), RunWant::Carry { from, tip }))
            }
            Stage::Gating | Stage::Building { .. } | Stage::Closing { .. } | Stage::Ended { .. } => None,
        }
    }

    /// The loop about an artifact: made first, or judged where it is what was built.
    fn chain_want(&self) -> Option<(EffectId, RunWant)> {
        let chain = self.spec.chain.as_ref()?;
        let id = LoopId::new(format!("chain.{}.{}", chain.name, self.entry));
        let opening = match &self.tip {
            Some(tip) => Opening::Judge { revision: tip.clone(), open: Vec::new(), since: None },
            None => Opening::Make { rounds: None, open: Vec::new() },
        };
        let effect = self.effect(Step::Loop, Try::default());
        Some((effect, RunWant::Loop { id, subject: Subject::Chain, opening }))
    }

    fn plan_wants(&self, at: usize, head: Option<usize>) -> Vec<(EffectId, RunWant)> {
        let plan = &self.plans[at];
        let id = plan.id.clone();
        let landing = || {
            let lane = plan.lane()?;
            let At::Queued { fails, .. } = lane.at else { return None };
            let want = RunWant::Land { plan: id.clone(), revision: lane.head.clone()? };
            Some((plan.effect(Step::Land, Try::nth(fails)), want))
        };
        match self.stage {
            Stage::Closing { .. } if plan.is_landing() => landing().into_iter().collect(),
            Stage::Gating if plan.state == PlanState::Gating => {
                let opening =
                    Opening::Judge { revision: plan.revision.clone(), open: Vec::new(), since: None };
                vec![loop_want(plan, "plan", Subject::Plan(id), opening)]
            }
            Stage::Building { .. } => {
                let mut wants = self.lane_wants(plan);
                if head == Some(at) {
                    wants.extend(landing());
                }
                wants
            }
            _ => Vec::new(),
        }
    }

    fn lane_wants(&self, plan: &PlanRun) -> Vec<(EffectId, RunWant)> {
        let Some(lane) = plan.lane() else { return Vec::new() };
        let id = plan.id.clone();
        let mut wants = match &lane.at {
            At::Loop { job, opening } => {
                let label = match job {
                    Job::Task(n) => format!("task-{n}"),
                    Job::Repair => "repair".to_owned(),
                    Job::Qa => "qa".to_owned(),
                };
                vec![loop_want(plan, &label, Subject::Lane(id.clone(), *job), opening.clone())]
            }
            At::Summary { fails } => lane
                .head
                .iter()
                .map(|head| {
                    let want = RunWant::Summary { plan: id.clone(), revision: head.clone() };
                    (plan.effect(Step::Summary, Try::nth(*fails)), want)
                })
                .collect(),
            At::Stuck { stuck, asked: true } => {
                let want = RunWant::AskLane { plan: id.clone(), stuck: (**stuck).clone() };
                vec![(plan.effect(Step::Ask, Try::default()), want)]
            }
            At::Stuck { asked: false, .. } | At::Queued { .. } => Vec::new(),
        };
        if lane.checkpoint.is_some() {
            let effect = plan.effect(Step::Checkpoint, Try::default());
            wants.push((effect, RunWant::Checkpoint { plan: id }));
        }
        wants
    }

    /// Only one lane lands at a time.
    fn head_of_queue(&self) -> Option<usize> {
        let queued = || self.plans.iter().enumerate().filter(|(_, plan)| plan.is_queued());
        // A landing that is out is heard out, whatever joins the queue or opens meanwhile.
        if let Some((at, _)) = queued().find(|(_, plan)| plan.is_landing()) {
            return Some(at);
        }
        match self.spec.land {
            Land::Group => {
                // After a rebase plans of several waves are queued at once.
                let (at, head) = queued().min_by_key(|(at, plan)| (plan.wave, *at))?;
                let together = |plan: &PlanRun| plan.wave > head.wave || plan.is_queued() || plan.waits();
                self.plans.iter().all(together).then_some(at)
            }
            Land::Each => queued().min_by_key(|(_, plan)| ticket(plan)).map(|(at, _)| at),
        }
    }
}

fn ticket(plan: &PlanRun) -> u32 {
    match plan.lane() {
        Some(Lane { at: At::Queued { ticket, .. }, .. }) => *ticket,
        _ => u32::MAX,
    }
}

/// Wants of one lane, and for those that are intended the deadline.
fn with_wakes(
    wants: Vec<(EffectId, RunWant)>,
    intents: &Intents,
) -> impl Iterator<Item = (EffectId, RunWant)> {
    let due = |(effect, _): &(EffectId, RunWant)| {
        let at = intents.due(effect).flatten()?;
        Some((effect.wake(), RunWant::Wake { at }))
    };
    let wakes: Vec<(EffectId, RunWant)> = wants.iter().filter_map(due).collect();
    wants.into_iter().chain(wakes)
}

fn loop_want(plan: &PlanRun, label: &str, subject: Subject, opening: Opening) -> (EffectId, RunWant) {
    let id = LoopId::new(format!("{}/{label}.{}", plan.id, plan.entry));
    (plan.effect(Step::Loop, Try::default()), RunWant::Loop { id, subject, opening })
}

impl Machine for Run {
    type In = RunIn;
    type Ev = RunEvent;
    type Want = RunWant;

    fn decide(&self, input: &RunIn) -> Option<RunEvent> {
        match input {
            RunIn::Report { effect, at, report } => self.decide_report(effect, *at, report),
            RunIn::Intend { effect, at } => self.decide_intend(effect, *at),
            RunIn::Clear { effect } => {
                self.is_intended(effect).then(|| RunEvent::Cleared { effect: effect.clone() })
            }
            RunIn::Iterated { effect, n } => self.decide_iterated(effect, *n),
            RunIn::Drop { plan, by } => self.decide_drop(plan, by),
            RunIn::Cancel => self.decide_cancel(),
        }
    }

    fn settle(&self) -> Option<RunEvent> {
        match self.stage {
            Stage::Gating => self.settle_gating(),
            Stage::Building { wave } => self.settle_building(wave),
            Stage::Closing { .. } => self.wants().is_empty().then_some(RunEvent::FinishOrdered),
            Stage::Finishing { ending, step, asked, .. } => self.settle_finishing(ending, step, asked),
            Stage::Reviewing
            | Stage::Polishing { .. }
            | Stage::Held { .. }
            | Stage::Rebasing { .. }
            | Stage::Carrying { .. }
            | Stage::Ended { .. } => None,
        }
    }

    fn apply(&mut self, event: &RunEvent) -> Result<(), OutOfOrder> {
        let met = self.stage.name();
        let applied = match event {
            RunEvent::Opened(_) => None,
            event if event.answers().is_some_and(|effect| !self.hears(effect)) => None,
            event if event.is_of_a_lane() && !self.is_live() => None,
            RunEvent::Intended { effect, due } => {
                let wanted = effect.step.is_one_shot() && self.want(effect).is_some();
                (wanted && self.intents_mut(effect).add(effect.clone(), *due)).then_some(())
            }
            RunEvent::Cleared { effect } => self.intents_mut(effect).clear(effect).then_some(()),
            RunEvent::LoopEnded { effect, outcome, revision, open } => {
                self.apply_loop_ended(effect, outcome, revision.as_ref(), open)
            }
            RunEvent::LaneOpened { plan } => self.apply_lane_opened(plan),
            RunEvent::PlanDropped { plan, by } => {
                let dropped = PlanState::Dropped(by.clone());
                let alive = |plan: &&mut PlanRun| !plan.is_over() && !plan.is_landing();
                self.plan_mut(plan).filter(alive).map(|plan| plan.enter(dropped))
            }
            RunEvent::Summarised { effect, revision } => self.apply_summarised(effect, revision),
            RunEvent::Landed { effect, revision, tip } => self.apply_landed(effect, revision, tip),
            RunEvent::LandingRefused { effect, refusal, findings } => {
                self.apply_refused(effect, refusal, findings)
            }
            RunEvent::LaneAsked { plan, .. } => self.apply_lane_asked(plan),
            RunEvent::LaneDecided { plan, decision } => self.apply_lane_decided(plan, decision),
            RunEvent::Iterated { plan, n } => self.apply_iterated(plan, *n),
            RunEvent::CheckpointDue { plans } => self.apply_checkpoint_due(plans),
            RunEvent::Checkpointed { effect, feedback } => self.apply_checkpointed(effect, feedback.as_ref()),
            RunEvent::Failed { effect, failure } => self.apply_failed(effect, failure),
            RunEvent::Held { held, .. } => self.apply_held(held),
            RunEvent::Withheld => self.apply_withheld(),
            RunEvent::HeldDecided(decision) => self.apply_held_decided(decision),
            RunEvent::Rebased { onto, .. } => self.apply_rebased(onto),
            RunEvent::Carried { tip, .. } => self.apply_carried(tip),
            RunEvent::JudgeAgain { revision, .. } => self.apply_judge_again(revision),
            RunEvent::GateDecided { .. }
            | RunEvent::CarryOpened
            | RunEvent::WaveOpened { .. }
            | RunEvent::ReviewOpened
            | RunEvent::Closing { .. }
            | RunEvent::FinishOrdered
            | RunEvent::Finished { .. }
            | RunEvent::Ended { .. } => self.apply_stage(event),
        };
        applied.ok_or_else(|| OutOfOrder { event: event.name().to_owned(), state: met.to_owned() })
    }

    fn wants(&self) -> BTreeMap<EffectId, RunWant> {
        let head = self.head_of_queue();
        let lanes = self.plans.iter().enumerate();
        let lanes = lanes.flat_map(|(at, plan)| with_wakes(self.plan_wants(at, head), &plan.intents));
        lanes.chain(with_wakes(self.own_want().into_iter().collect(), &self.intents)).collect()
    }
}

impl Run {
    fn apply_lane_asked(&mut self, plan: &PlanId) -> Option<()> {
        self.plan(plan).filter(|plan| self.may_ask(plan))?;
        let plan = self.plan_mut(plan)?;
        let At::Stuck { stuck, asked: false } = &plan.lane()?.at else { return None };
        let at = At::Stuck { stuck: stuck.clone(), asked: true };
        plan.move_lane(|lane| lane.at = at)
    }
}
