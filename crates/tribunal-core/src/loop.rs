//! The loop machine: one subject made by a maker and judged until it ends. Read [`Loop::decide`],
//! [`Loop::settle`] and [`Loop::apply`] top to bottom. It never asks which use it serves, and knows no clock.

use crate::converge::{self, Course, Next, Pass, Pattern, Round, RoundRecord};
use crate::cover::{Heard, Look, NotShown, Shown, Weight, kept};
use crate::effect::{EffectId, Intents, Step, Try};
use crate::finding::{Answer, Claim, Fate, Reply, Said, UnreadPart};
use crate::ids::{Check, FindingId, LoopId, Maker, Of, Revision, Seat, Time};
use crate::ledger::{Delta, Handed, Ledger, Mark, Tracked};
use crate::machine::{Machine, OutOfOrder};
use crate::panel::{self, Bench, CheckState, Ruling, SeatState, Unusable};
use crate::policy::{AtTheCap, Policy};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How a loop begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Opening {
    /// With a maker.
    Make {
        /// Rounds at most, where a person gave another number than the policy.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rounds: Option<u32>,
        /// Findings taken over under their ids.
        #[serde(default)]
        open: Vec<Handed>,
    },
    /// With the judging of something that exists.
    Judge {
        /// What is judged.
        revision: Revision,
        /// Findings taken over under their ids.
        #[serde(default)]
        open: Vec<Handed>,
        /// The revision that the lines of those findings are of, where it is another one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        since: Option<Revision>,
    },
}

/// The first event of a loop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opened {
    /// Its name.
    pub id: LoopId,
    /// How it judges.
    pub policy: Policy,
    /// How it begins.
    pub opening: Opening,
    /// When.
    pub at: Time,
}

/// Why an attempt was lost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What kind.
    pub kind: FailureKind,
    /// What is known, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// What a reviewer found in an answer that has no verdict: its next answer may not approve over it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<UnreadPart>,
}

/// Kinds of lost attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The process died or ended without its final event.
    Crashed,
    /// The deadline passed.
    TimedOut,
    /// The answer could not be read, or answers something else.
    Garbled,
    /// There was no answer.
    Empty,
    /// The account is out of quota.
    Quota,
    /// A check or gate could not run.
    DidNotRun,
    /// A gate before the work is shut: nobody is launched, and asking again changes nothing.
    GateShut,
    /// A reviewer changed what it judged.
    Tampered,
    /// After a crash, neither done nor undone could be proven.
    Unproven,
    /// It says that it is not done.
    NotDone,
    /// It says that it is done, and nothing is there that was not there before. Asking again changes nothing.
    Unchanged,
    /// The answer breaks off: its final event is missing.
    Truncated,
    /// Too many requests; the account is parked until the limit ends.
    RateLimited,
    /// The model's server has trouble.
    Overloaded,
    /// Not logged in, or not allowed.
    Auth,
    /// More text than the model takes.
    TooLong,
    /// It took more turns than it may.
    TurnCap,
    /// It ran but made no progress.
    Stalled,
    /// It waits for somebody to answer a prompt, and nobody is there.
    PromptWait,
    /// The model refused.
    Refused,
    /// A budget of the program's own is spent.
    Budget,
    /// The program would not begin as it was launched, or the request is wrong.
    Setup,
}

impl FailureKind {
    /// Whether the same asker may succeed when it is asked again. Where it cannot, another asker is next, or nobody.
    pub fn may_pass(self) -> bool {
        !matches!(
            self,
            FailureKind::Quota
                | FailureKind::Auth
                | FailureKind::TooLong
                | FailureKind::Budget
                | FailureKind::Setup
                | FailureKind::GateShut
                | FailureKind::Unchanged
        )
    }
}

impl Failure {
    /// A failure with its text.
    pub fn new(kind: FailureKind, text: impl Into<String>) -> Failure {
        Failure { kind, text: text.into(), unread: Vec::new() }
    }
}

/// What one check answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checked {
    /// What it found; empty is a pass.
    pub findings: Vec<Claim>,
}

/// How a loop ended.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Approved as it stands.
    Passed,
    /// Approved, with warnings carried on.
    PassedWithWarnings,
    /// Accepted by a named person.
    Accepted(String),
    /// The budget is spent.
    Exhausted,
    /// Nothing moves.
    Stale,
    /// The maker never finished, or a person ended an escalation.
    Stuck,
    /// A step could not be done.
    Failed,
    /// Called off.
    Cancelled,
}

impl Outcome {
    /// Passed, with warnings, or accepted.
    pub fn is_good(&self) -> bool {
        matches!(self, Outcome::Passed | Outcome::PassedWithWarnings | Outcome::Accepted(_))
    }

    /// The word people read.
    pub fn word(&self) -> &'static str {
        match self {
            Outcome::Passed => "passed",
            Outcome::PassedWithWarnings => "passed with warnings",
            Outcome::Accepted(_) => "accepted",
            Outcome::Exhausted => "exhausted",
            Outcome::Stale => "stale",
            Outcome::Stuck => "stuck",
            Outcome::Failed => "failed",
            Outcome::Cancelled => "cancelled",
        }
    }
}

/// Why a person is asked.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// Nobody can say whether it is good.
    NoQuorum,
    /// A check could not run.
    ChecksDidNotRun,
    /// The budget is spent.
    Exhausted,
    /// Nothing moves.
    Stale,
    /// More rounds will not mend it.
    Escalated(Pattern),
    /// It is good, and a person has the last word.
    Approval,
}

/// An open question to a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// Why.
    pub why: Why,
    /// What it is about.
    pub revision: Option<Revision>,
    /// Reviewers that have no verdict because they were not shown all of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_shown: Vec<NotShown>,
}

/// What a person can say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// Run again with so many rounds.
    Again(u32),
    /// I fixed it: judge this.
    Fixed(Revision),
    /// Ask the same again.
    Reask,
    /// Take it as it is.
    Accept,
    /// End it.
    Stop,
}

/// The kind of a choice, for offering it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Offer {
    /// Run again with n rounds.
    Again,
    /// I fixed it.
    Fixed,
    /// Ask again.
    Reask,
    /// Accept as is.
    Accept,
    /// Stop.
    Stop,
}

impl Choice {
    /// Which offer it takes up.
    pub fn offer(&self) -> Offer {
        match self {
            Choice::Again(_) => Offer::Again,
            Choice::Fixed(_) => Offer::Fixed,
            Choice::Reask => Offer::Reask,
            Choice::Accept => Offer::Accept,
            Choice::Stop => Offer::Stop,
        }
    }
}

/// A person's answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// Who.
    pub by: String,
    /// What.
    pub choice: Choice,
    /// In their words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

impl Question {
    /// What the person may choose.
    pub fn offers(&self) -> Vec<Offer> {
        let mut offers = match self.why {
            Why::NoQuorum | Why::ChecksDidNotRun => vec![Offer::Reask, Offer::Fixed],
            Why::Exhausted | Why::Stale | Why::Escalated(_) | Why::Approval => {
                vec![Offer::Again, Offer::Fixed]
            }
        };
        if self.revision.is_some() {
            offers.push(Offer::Accept);
        }
        offers.push(Offer::Stop);
        offers
    }

    /// How the loop ends if the person says stop.
    pub fn outcome_of_stop(&self) -> Outcome {
        match self.why {
            Why::NoQuorum | Why::ChecksDidNotRun => Outcome::Failed,
            Why::Exhausted => Outcome::Exhausted,
            Why::Stale => Outcome::Stale,
            Why::Escalated(_) | Why::Approval => Outcome::Stuck,
        }
    }

    fn takes(&self, choice: &Choice) -> bool {
        self.offers().contains(&choice.offer()) && *choice != Choice::Again(0)
    }
}

/// What an effect reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoopReport {
    /// A maker ended.
    Made {
        /// What it left.
        revision: Revision,
        /// It says that its task is done.
        done: bool,
        /// What it says about open findings.
        replies: BTreeMap<FindingId, Reply>,
    },
    /// Several makers' work is one revision.
    Joined {
        /// The union.
        revision: Revision,
    },
    /// A check ran.
    Checked(Checked),
    /// A check did not run, and by the settings that stops nothing.
    Unchecked(String),
    /// A seat answered.
    Judged {
        /// What it said.
        answer: Box<Answer>,
        /// What it has been shown by now.
        shown: Shown,
        /// Findings that were put to this part of it.
        put: Vec<FindingId>,
    },
    /// Nobody was launched: of what the final pass would show, this reviewer has been shown every hunk before.
    AllShown(Shown),
    /// Findings were matched to the ledger.
    Tracked {
        /// All findings of this sitting.
        findings: Vec<Tracked>,
        /// Against the round before.
        delta: Delta,
    },
    /// A hearing was held.
    Heard {
        /// The finding stands.
        upheld: bool,
        /// Why.
        reason: String,
    },
    /// A person decided.
    Decided(Decision),
    /// The attempt is lost.
    Failed(Failure),
    /// A deadline came.
    Due,
}

/// What comes in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoopIn {
    /// An effect reports.
    Report {
        /// Which.
        effect: EffectId,
        /// When.
        at: Time,
        /// What.
        report: LoopReport,
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
    /// It is no longer wanted.
    Cancel,
}

/// One maker's share of a rework.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// Who.
    pub maker: Maker,
    /// What to mend.
    pub findings: Vec<FindingId>,
    /// Starts when this earlier one is over: they share a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Maker>,
}

/// What is recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoopEvent {
    /// It began.
    Opened(Box<Opened>),
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
    /// A maker's run ended without its task done.
    Iterated {
        /// Which.
        effect: EffectId,
        /// What it left.
        revision: Revision,
    },
    /// A maker is done.
    Made {
        /// Which.
        effect: EffectId,
        /// What it left.
        revision: Revision,
        /// What it says about open findings.
        replies: BTreeMap<FindingId, Reply>,
    },
    /// Several makers' work is one revision.
    Joined {
        /// Which.
        effect: EffectId,
        /// The union.
        revision: Revision,
    },
    /// An attempt was lost.
    Failed {
        /// Which.
        effect: EffectId,
        /// Why.
        failure: Failure,
    },
    /// A revision is judged.
    RoundBegan {
        /// Which round.
        round: u32,
        /// What is judged.
        revision: Revision,
    },
    /// A check ran.
    Checked {
        /// Which.
        effect: EffectId,
        /// What it found.
        checked: Checked,
    },
    /// A check did not run, and by the settings that stops nothing. It is no pass.
    Unchecked {
        /// Which.
        effect: EffectId,
        /// Why it did not run.
        why: String,
    },
    /// The checks are done and the panel is seated.
    PanelSeated {
        /// Who sits; may be nobody.
        seats: Vec<Seat>,
    },
    /// A seat's answer counts.
    Answered {
        /// Which.
        effect: EffectId,
        /// What it said, in all its parts together.
        answer: Answer,
        /// What it was shown: all of it.
        shown: Shown,
        /// What this part of it said alone, where there are several.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        part: Option<Box<Answer>>,
    },
    /// One part of a large change was answered, and there are more.
    PartAnswered {
        /// Which.
        effect: EffectId,
        /// What it said of this part.
        answer: Answer,
        /// What it has been shown by now.
        shown: Shown,
    },
    /// No more parts may be asked, and not everything was shown: the seat has no verdict.
    NotCovered {
        /// Which.
        effect: EffectId,
        /// What it said of the last part.
        answer: Answer,
        /// What it was shown.
        shown: Shown,
    },
    /// The final pass has nothing to show to a reviewer: its verdict of the same round stands.
    VerdictKept {
        /// Which.
        effect: EffectId,
        /// What it was shown, over all its rounds: all of it.
        shown: Shown,
    },
    /// A seat's answer alone does not count.
    AskedAgain {
        /// Which seat.
        seat: Seat,
        /// Why.
        why: Unusable,
        /// The answer, kept.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer: Option<Answer>,
    },
    /// Every seat has answered or is gone.
    PanelClosed,
    /// Findings were matched to the ledger.
    Tracked {
        /// All findings of this sitting, put right.
        findings: Vec<Tracked>,
        /// Against the round before.
        delta: Delta,
    },
    /// A hearing was held.
    Heard {
        /// Which.
        effect: EffectId,
        /// The finding.
        finding: FindingId,
        /// It stands.
        upheld: bool,
        /// Why.
        reason: String,
    },
    /// What the sitting adds up to.
    Ruled {
        /// That.
        ruling: Ruling,
    },
    /// A pass is confirmed: all checks, and what a reviewer has not been shown whole.
    Confirming,
    /// Reviewers find other old faults each round: these are asked for everything at once, in the same round.
    ExhaustiveOrdered {
        /// Who.
        seats: Vec<Seat>,
    },
    /// The maker gets it back.
    ReworkOrdered {
        /// Who mends what.
        crew: Vec<Share>,
    },
    /// A person is asked.
    Asked(Question),
    /// A person decided.
    Decided(Decision),
    /// It is over.
    Ended {
        /// How.
        outcome: Outcome,
        /// What it is about.
        revision: Option<Revision>,
    },
}

/// What the world should be doing for a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoopWant {
    /// Make or revise.
    Make {
        /// Who.
        maker: Maker,
        /// What to mend; empty at first.
        findings: Vec<FindingId>,
        /// What the one it comes after left: it begins from there.
        onto: Option<Revision>,
    },
    /// Unite what these made.
    Join {
        /// Each one's revision, in order.
        parts: Vec<(Maker, Revision)>,
    },
    /// Run a check.
    Check {
        /// Which.
        check: Check,
        /// On what.
        revision: Revision,
    },
    /// Ask a seat.
    Judge {
        /// Which.
        seat: Seat,
        /// The backup is asked.
        backup: bool,
        /// On what.
        revision: Revision,
        /// Findings put to it by id.
        put: Vec<FindingId>,
        /// Its last answer was not usable.
        again: bool,
        /// Which part of it, from 0.
        part: u32,
    },
    /// Match findings to the ledger.
    Track {
        /// On what.
        revision: Revision,
    },
    /// Hear a finding.
    Hear {
        /// Which.
        finding: FindingId,
        /// Who hears it.
        seat: Seat,
        /// On what.
        revision: Revision,
    },
    /// Ask a person.
    Ask(Question),
    /// Come back.
    Wake {
        /// When.
        at: Time,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum HandState {
    Working(Try),
    Done(Revision),
    Gone,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Hand {
    share: Share,
    state: HandState,
}

impl Hand {
    fn is_over(&self) -> bool {
        !matches!(self.state, HandState::Working(_))
    }

    fn does(&self, effect: &EffectId) -> bool {
        matches!(&effect.step, Step::Make(maker) if *maker == self.share.maker)
            && self.state == HandState::Working(effect.n)
    }

    /// It works, and the one it comes after is over.
    fn may_start(&self, crew: &[Hand]) -> bool {
        let over = |maker: &Maker| crew.iter().any(|hand| hand.share.maker == *maker && hand.is_over());
        !self.is_over() && self.share.after.as_ref().is_none_or(over)
    }

    /// What the nearest of those it comes after left, who left anything.
    fn stands_on(&self, crew: &[Hand]) -> Option<Revision> {
        let before = |maker: &Maker| crew.iter().find(|hand| hand.share.maker == *maker);
        let mut at = self.share.after.as_ref().and_then(before);
        for _ in 0..crew.len() {
            match &at?.state {
                HandState::Done(revision) => return Some(revision.clone()),
                HandState::Working(_) | HandState::Gone => at = at?.share.after.as_ref().and_then(before),
            }
        }
        None
    }
}

/// Where one hearing stands.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Case {
    Open { tries: u32, seat: Seat },
    Closed,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Making { crew: Vec<Hand>, join_fails: u32, news: bool },
    Made { revision: Revision, news: bool },
    Checking { bench: Bench },
    Judging { bench: Bench },
    Tracking { bench: Bench, fails: u32 },
    Hearing { bench: Bench, cases: BTreeMap<FindingId, Case> },
    Ruled { bench: Bench, ruling: Ruling },
    Waiting { question: Question },
    Closing { outcome: Outcome },
    Ended { outcome: Outcome },
}

impl State {
    fn name(&self) -> &'static str {
        match self {
            State::Making { .. } => "making",
            State::Made { .. } => "made",
            State::Checking { .. } => "checking",
            State::Judging { .. } => "judging",
            State::Tracking { .. } => "tracking",
            State::Hearing { .. } => "hearing",
            State::Ruled { .. } => "ruled",
            State::Waiting { .. } => "waiting",
            State::Closing { .. } => "closing",
            State::Ended { .. } => "ended",
        }
    }
}

/// The machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    id: LoopId,
    // Shared, so that a change of state can read it without a copy.
    policy: Arc<Policy>,
    state: State,
    entry: u32,
    intents: Intents,
    round: u32,
    rounds_max: u32,
    iterations: u32,
    iterations_here: u32,
    ledger: Ledger,
    judged: Vec<Revision>,
    seen: Vec<Revision>,
    current: Option<Revision>,
    tracked: Option<Revision>,
    failed_checks: BTreeSet<Check>,
    /// Checks that did not run and stopped nothing, and why.
    unchecked: BTreeMap<Check, String>,
    series: Vec<RoundRecord>,
    pass: Option<Pass>,
    delta: Delta,
    confirming: bool,
    /// What each reviewer was shown in sittings that are over.
    looks: BTreeMap<Seat, Vec<Look>>,
    /// What each reviewer said in the last sitting that is over.
    stood: BTreeMap<Seat, Answer>,
}

impl Loop {
    /// The machine after its first event.
    pub fn open(opened: &Opened) -> Loop {
        let policy = Arc::new(opened.policy.clone());
        let (ledger, rounds, revision, since) = match &opened.opening {
            Opening::Make { rounds, open } => (Ledger::opened_with(open), *rounds, None, None),
            Opening::Judge { revision, open, since } => {
                (Ledger::opened_with(open), None, Some(revision.clone()), since.clone())
            }
        };
        let state = match &revision {
            Some(revision) => State::Made { revision: revision.clone(), news: false },
            None => State::Making { crew: crew_for(&policy, &ledger), join_fails: 0, news: false },
        };
        Loop {
            id: opened.id.clone(),
            rounds_max: rounds.unwrap_or(policy.rounds_max),
            policy,
            state,
            entry: 1,
            intents: Intents::default(),
            round: 0,
            iterations: 0,
            iterations_here: 0,
            ledger,
            judged: Vec::new(),
            seen: Vec::new(),
            current: None,
            tracked: since,
            failed_checks: BTreeSet::new(),
            unchecked: BTreeMap::new(),
            series: Vec::new(),
            pass: None,
            delta: Delta::default(),
            confirming: false,
            looks: BTreeMap::new(),
            stood: BTreeMap::new(),
        }
    }

    /// Checks whose last answer is that they did not run, where that stopped nothing; each with why. They were never green.
    pub fn unchecked(&self) -> &BTreeMap<Check, String> {
        &self.unchecked
    }

    /// Its name.
    pub fn id(&self) -> &LoopId {
        &self.id
    }
    /// Its policy.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }
    /// The round being judged, or the last one judged.
    pub fn round(&self) -> u32 {
        self.round
    }
    /// Rounds at most, decisions counted in.
    pub fn rounds_max(&self) -> u32 {
        self.rounds_max
    }
    /// Runs of the maker so far, for checkpoints.
    pub fn iterations(&self) -> u32 {
        self.iterations
    }
    /// All its findings.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }
    /// The newest revision made or judged.
    pub fn revision(&self) -> Option<&Revision> {
        self.current.as_ref()
    }
    /// What each round judged, in order: a round that hears an argument judges the revision before it again.
    pub fn judged(&self) -> &[Revision] {
        &self.judged
    }
    /// What the whole panel has looked at, in this order: where checks reject, it may not have been asked.
    pub fn seen(&self) -> &[Revision] {
        &self.seen
    }
    /// The revision that the lines of its findings are of: the one last tracked.
    pub fn tracked(&self) -> Option<&Revision> {
        self.tracked.as_ref()
    }
    /// A final pass confirms what passed: all checks, and the hunks that a reviewer has not been shown whole.
    pub fn is_confirming(&self) -> bool {
        self.confirming
    }
    /// What reviewers are shown begins there: the revision that the whole panel looked at last, so that nothing it was
    /// never shown is left out. `None` where they are shown the change from its beginning.
    pub fn since(&self) -> Option<&Revision> {
        // Who confirms a pass, or looks for everything at once, is not told of one round alone.
        if self.confirming || self.is_exhaustive() {
            return None;
        }
        self.seen.iter().rev().find(|seen| Some(*seen) != self.current.as_ref())
    }
    /// What a final pass need not show to this reviewer again. Empty in every other sitting, and where a finding is put
    /// to it: then it is shown everything.
    pub fn looks(&self, seat: &Seat) -> &[Look] {
        let put = |bench: &Bench| !bench.put_to(seat, &self.ledger).is_empty();
        if !self.confirming || self.is_exhaustive() || self.bench().is_none_or(put) {
            return &[];
        }
        self.looks.get(seat).map(Vec::as_slice).unwrap_or_default()
    }
    /// Whether a reviewer's verdict of this round stands where the final pass has nothing to show to it. It stands for
    /// who has said nothing since, never for an objection.
    pub fn keeps_verdict(&self, seat: &Seat, n: Try) -> bool {
        n == Try::default() && !self.looks(seat).is_empty() && self.kept_verdict(seat).is_some()
    }
    fn kept_verdict(&self, seat: &Seat) -> Option<Answer> {
        let fresh = |bench: &&Bench| !bench.heard.contains_key(seat) && bench.owed_by(seat, 0).is_none();
        self.bench().filter(fresh)?;
        kept(self.stood.get(seat)?)
    }
    /// The reviewers asked now hold an exhaustive pass: they are shown all earlier findings and asked for everything.
    pub fn is_exhaustive(&self) -> bool {
        self.bench().is_some_and(|bench| !bench.kept.is_empty())
    }
    /// The rounds of this series that needed rework, in counts.
    pub fn rounds(&self) -> Vec<Round> {
        converge::rounds(&self.ledger, &self.series)
    }
    /// What the last tracking report counted.
    pub fn delta(&self) -> Delta {
        self.delta
    }
    /// The word for its state.
    pub fn state_name(&self) -> &'static str {
        self.state.name()
    }
    /// How it ended, if it has.
    pub fn outcome(&self) -> Option<&Outcome> {
        match &self.state {
            State::Ended { outcome } => Some(outcome),
            _ => None,
        }
    }
    /// The open question, if it waits for a person.
    pub fn question(&self) -> Option<&Question> {
        match &self.state {
            State::Waiting { question } => Some(question),
            _ => None,
        }
    }
    /// The bench of the sitting in progress.
    pub fn bench(&self) -> Option<&Bench> {
        match &self.state {
            State::Checking { bench }
            | State::Judging { bench }
            | State::Tracking { bench, .. }
            | State::Hearing { bench, .. }
            | State::Ruled { bench, .. } => Some(bench),
            _ => None,
        }
    }
    /// How many work on it at once or in turn; 0 while nobody does.
    pub fn crew_size(&self) -> usize {
        match &self.state {
            State::Making { crew, .. } => crew.len(),
            _ => 0,
        }
    }
    /// Intended effects that have not reported.
    pub fn intents(&self) -> &Intents {
        &self.intents
    }
    /// Open findings as a new loop takes them over.
    pub fn handed(&self) -> Vec<Handed> {
        let left = |fate: &Fate| matches!(fate, Fate::Open | Fate::Unresolved);
        self.ledger
            .iter()
            .filter(|(_, entry)| left(&entry.fate) && entry.severity.must_fix())
            .map(|(id, entry)| Handed { id, entry: entry.clone() })
            .collect()
    }

    fn effect(&self, step: Step, n: Try) -> EffectId {
        let launch = self.intents.launch(&step, n);
        EffectId { of: Of::new(self.id.as_str()), entry: self.entry, step, n, launch }
    }

    fn timeout_ms(&self, step: &Step) -> u64 {
        match step {
            Step::Make(_) => self.policy.timeouts.make_ms,
            _ => self.policy.timeouts.judge_ms,
        }
    }

    fn enter(&mut self, state: State) {
        self.state = state;
        self.entry += 1;
        self.intents.reset();
    }

    fn convene(&self, revision: Revision) -> Bench {
        let failed = |check: &&Check| self.failed_checks.contains(check);
        let narrow = self.policy.recheck_failed_only && self.policy.checks.iter().any(|check| failed(&check));
        let full = self.round <= 1 || self.confirming || !narrow;
        let checks = self.policy.checks.iter().filter(|check| full || failed(check));
        Bench::convene(revision, checks.cloned())
    }

    fn case_seat(&self, bench: &Bench, id: FindingId) -> Option<Seat> {
        let entry = self.ledger.get(id)?;
        if !entry.is_open_must_fix() || bench.failing_check_holds(entry) {
            return None;
        }
        let referral = entry.referred.clone().filter(|_| !entry.heard_referral);
        let contest =
            || (entry.contested && !entry.heard_contest).then(|| self.policy.adjudicator.clone())?;
        referral.or_else(contest)
    }

    fn cases(&self, bench: &Bench) -> BTreeMap<FindingId, Case> {
        self.ledger
            .open()
            .filter_map(|(id, _)| Some((id, Case::Open { tries: 0, seat: self.case_seat(bench, id)? })))
            .collect()
    }
}

/// Who mends what: by the finding's fixer, else the policy's maker. Those that share a file, directly or through
/// others, go one after the other, each seeing what the one before left.
fn crew_for(policy: &Policy, ledger: &Ledger) -> Vec<Hand> {
    let mut shares: BTreeMap<Maker, (Vec<FindingId>, Reach)> = BTreeMap::new();
    for (id, entry) in ledger.open() {
        let maker = entry.fixer.clone().unwrap_or_else(|| policy.maker.clone());
        let share = shares.entry(maker).or_default();
        share.0.push(id);
        share.1.take(entry.claim.file.as_ref());
    }
    if shares.is_empty() {
        shares.entry(policy.maker.clone()).or_default();
    }
    let chains = chains(&shares);
    let mut last: BTreeMap<usize, Maker> = BTreeMap::new();
    shares
        .into_iter()
        .zip(chains)
        .map(|((maker, (findings, _)), chain)| {
            let after = last.insert(chain, maker.clone());
            Hand { share: Share { maker, findings, after }, state: HandState::Working(Try::default()) }
        })
        .collect()
}

/// Which files a share may touch.
#[derive(Default)]
struct Reach {
    files: BTreeSet<String>,
    /// A finding without a place may be mended anywhere.
    anywhere: bool,
}

impl Reach {
    fn take(&mut self, file: Option<&String>) {
        self.anywhere |= file.is_none();
        self.files.extend(file.cloned());
    }

    fn meets(&self, other: &Reach) -> bool {
        self.anywhere || other.anywhere || !self.files.is_disjoint(&other.files)
    }
}

/// For each share the number of its chain: shares that touch each other's files have the same.
fn chains(shares: &BTreeMap<Maker, (Vec<FindingId>, Reach)>) -> Vec<usize> {
    let mut chain: Vec<usize> = Vec::new();
    for (at, (_, reach)) in shares.values().enumerate() {
        chain.push(at);
        for (other, (_, theirs)) in shares.values().take(at).enumerate() {
            if reach.meets(theirs) {
                let (old, new) = (chain[at], chain[other]);
                chain.iter_mut().filter(|number| **number == old).for_each(|number| *number = new);
            }
        }
    }
    chain
}

// What an input means.
impl Loop {
    fn is_launched(&self, effect: &EffectId) -> bool {
        !effect.step.is_one_shot() || self.intents.has(effect)
    }

    /// It runs and is wanted, so what it reports counts.
    fn hears(&self, effect: &EffectId) -> bool {
        self.is_launched(effect) && self.is_wanted(effect)
    }

    /// Whether [`Machine::wants`] has this effect, without building what it has.
    pub fn is_wanted(&self, effect: &EffectId) -> bool {
        if let Some(guarded) = effect.guarded() {
            return self.intents.due(&guarded).flatten().is_some();
        }
        let n = effect.n;
        effect.of.as_str() == self.id.as_str()
            && effect.entry == self.entry
            && effect.launch == self.intents.launch(&effect.step, n)
            && match (&self.state, &effect.step) {
                (State::Making { crew, .. }, Step::Make(_)) => {
                    hand(crew, effect).is_some_and(|hand| hand.may_start(crew))
                }
                (State::Making { crew, join_fails, .. }, Step::Join) => {
                    crew.iter().all(Hand::is_over) && n == Try::nth(*join_fails)
                }
                (State::Checking { bench }, Step::Check(check)) => {
                    bench.checks.get(check).is_some_and(|state| {
                        self.may_run(state) && *state == CheckState::Asking(n.fails) && n == Try::nth(n.fails)
                    })
                }
                (State::Judging { bench }, Step::Judge(seat)) => {
                    bench.seats.get(seat) == Some(&SeatState::Asking(n))
                }
                (State::Tracking { fails, .. }, Step::Track) => n == Try::nth(*fails),
                (State::Hearing { cases, .. }, Step::Hear(finding)) => match cases.get(finding) {
                    Some(Case::Open { tries, .. }) => n == Try::nth(*tries),
                    Some(Case::Closed) | None => false,
                },
                (State::Waiting { .. }, Step::Ask) => n.is_first(),
                _ => false,
            }
    }

    fn decide_report(&self, effect: &EffectId, at: Time, report: &LoopReport) -> Option<LoopEvent> {
        if let Some(guarded) = effect.guarded() {
            return self.decide_wake(&guarded, at, report);
        }
        let want = self.wants().remove(effect).filter(|_| self.is_launched(effect))?;
        if let LoopReport::Failed(failure) = report {
            let asked = matches!(want, LoopWant::Ask(_));
            return (!asked).then(|| LoopEvent::Failed { effect: effect.clone(), failure: failure.clone() });
        }
        self.decide_answer(effect, &want, report)
    }

    fn decide_wake(&self, guarded: &EffectId, at: Time, report: &LoopReport) -> Option<LoopEvent> {
        let due = self.intents.due(guarded)??;
        (*report == LoopReport::Due && at >= due).then(|| LoopEvent::Failed {
            effect: guarded.clone(),
            failure: Failure::new(FailureKind::TimedOut, ""),
        })
    }

    fn decide_answer(&self, effect: &EffectId, want: &LoopWant, report: &LoopReport) -> Option<LoopEvent> {
        let effect = effect.clone();
        let garbled = |text: &str| {
            let failure = Failure::new(FailureKind::Garbled, text);
            Some(LoopEvent::Failed { effect: effect.clone(), failure })
        };
        match (want, report) {
            (LoopWant::Make { .. }, LoopReport::Made { revision, done, replies }) => {
                self.decide_made(effect, revision, *done, replies)
            }
            (LoopWant::Join { .. }, LoopReport::Joined { revision }) => {
                Some(LoopEvent::Joined { effect, revision: revision.clone() })
            }
            (LoopWant::Check { .. }, LoopReport::Checked(checked)) => {
                Some(LoopEvent::Checked { effect, checked: checked.clone() })
            }
            (LoopWant::Check { .. }, LoopReport::Unchecked(why)) => {
                Some(LoopEvent::Unchecked { effect, why: why.clone() })
            }
            (LoopWant::Judge { seat, .. }, LoopReport::Judged { answer, shown, put }) => {
                self.decide_judged(effect, seat, answer, *shown, put)
            }
            (LoopWant::Judge { seat, .. }, LoopReport::AllShown(shown)) => {
                match shown.is_whole() && self.keeps_verdict(seat, effect.n) {
                    true => Some(LoopEvent::VerdictKept { effect, shown: *shown }),
                    false => garbled("there is no verdict that could stand"),
                }
            }
            (LoopWant::Track { .. }, LoopReport::Tracked { findings, delta }) => {
                if let Some(why) = self.bench()?.misheard(&self.ledger, findings) {
                    return garbled(why);
                }
                let corrected = self.bench()?.correct(&self.policy, &self.ledger, findings);
                match corrected {
                    Some(findings) => Some(LoopEvent::Tracked { findings, delta: *delta }),
                    None => garbled("a failing check is left without its finding"),
                }
            }
            (LoopWant::Hear { finding, .. }, LoopReport::Heard { upheld, reason }) => {
                let (finding, upheld, reason) = (*finding, *upheld, reason.clone());
                Some(LoopEvent::Heard { effect, finding, upheld, reason })
            }
            (LoopWant::Ask(question), LoopReport::Decided(decision)) => {
                question.takes(&decision.choice).then(|| LoopEvent::Decided(decision.clone()))
            }
            (LoopWant::Ask(_) | LoopWant::Wake { .. }, _) => None,
            (_, _) => garbled("the report answers another question"),
        }
    }

    fn decide_judged(
        &self,
        effect: EffectId,
        seat: &Seat,
        answer: &Answer,
        shown: Shown,
        put: &[FindingId],
    ) -> Option<LoopEvent> {
        let told = (effect.n, answer, shown);
        let weight = self.bench()?.weigh(&self.policy, &self.ledger, seat, told, put, self.round);
        let answer = answer.clone();
        Some(match weight {
            Weight::Whole(whole, shown) => {
                let part = (shown.parts > 1).then(|| Box::new(answer));
                LoopEvent::Answered { effect, answer: whole, shown, part }
            }
            Weight::Part => LoopEvent::PartAnswered { effect, answer, shown },
            Weight::NotCovered => LoopEvent::NotCovered { effect, answer, shown },
            Weight::Unusable(why) => LoopEvent::AskedAgain { seat: seat.clone(), why, answer: Some(answer) },
            Weight::Garbled => {
                let failure = Failure::new(FailureKind::Garbled, "what was shown does not add up");
                LoopEvent::Failed { effect, failure }
            }
        })
    }

    fn decide_made(
        &self,
        effect: EffectId,
        revision: &Revision,
        done: bool,
        replies: &BTreeMap<FindingId, Reply>,
    ) -> Option<LoopEvent> {
        Some(match (done, self.policy.iterations_max) {
            (true, _) => LoopEvent::Made { effect, revision: revision.clone(), replies: replies.clone() },
            (false, Some(_)) => LoopEvent::Iterated { effect, revision: revision.clone() },
            (false, None) => LoopEvent::Failed { effect, failure: Failure::new(FailureKind::NotDone, "") },
        })
    }

    fn decide_intend(&self, effect: &EffectId, at: Time) -> Option<LoopEvent> {
        let wanted = effect.step.is_one_shot() && self.is_wanted(effect);
        (wanted && !self.intents.has(effect)).then(|| {
            let due = Some(Time(at.0.saturating_add(self.timeout_ms(&effect.step))));
            LoopEvent::Intended { effect: effect.clone(), due }
        })
    }
}

// What follows from the state alone.
impl Loop {
    fn settle_making(&self, crew: &[Hand], join_fails: u32) -> Option<LoopEvent> {
        let spent = self.policy.iterations_max.is_some_and(|max| self.iterations_here >= max);
        if spent && crew.iter().any(|hand| !hand.is_over()) {
            return Some(self.end(Outcome::Stuck));
        }
        let all_gone = crew.iter().all(|hand| hand.state == HandState::Gone);
        (all_gone || join_fails >= self.policy.attempts_max).then(|| self.end(Outcome::Failed))
    }

    fn settle_made(&self, revision: &Revision, news: bool) -> LoopEvent {
        let changed = !self.judged.contains(revision);
        let argued = news && self.judged.last() == Some(revision);
        if changed || argued {
            return LoopEvent::RoundBegan { round: self.round + 1, revision: revision.clone() };
        }
        self.stop_or_ask(Outcome::Stale, Why::Stale)
    }

    fn settle_checking(&self, bench: &Bench) -> Option<LoopEvent> {
        // Every check is heard before a person is asked about one that did not run.
        if bench.checks.values().any(|state| self.may_run(state)) {
            return None;
        }
        if !bench.checks_done() {
            return Some(self.ask(Why::ChecksDidNotRun));
        }
        // What a check asks gets its id first; then it is put to the panel by it.
        if !bench.put_forward(&self.policy, &self.ledger).is_empty() {
            return Some(LoopEvent::PanelSeated { seats: Vec::new() });
        }
        let mut seated = bench.clone();
        seated.seat_panel(&self.policy, &self.ledger);
        Some(LoopEvent::PanelSeated { seats: seated.seats.into_keys().collect() })
    }

    fn may_run(&self, state: &CheckState) -> bool {
        matches!(state, CheckState::Asking(fails) if *fails < self.policy.attempts_max)
    }

    fn settle_hearing(&self, bench: &Bench, cases: &BTreeMap<FindingId, Case>) -> Option<LoopEvent> {
        if cases.values().any(|case| matches!(case, Case::Open { .. })) {
            return None;
        }
        let seats = bench.put_forward(&self.policy, &self.ledger);
        if !seats.is_empty() {
            return Some(LoopEvent::PanelSeated { seats });
        }
        if let Some((seat, _)) = bench.groundless(&self.policy, &self.ledger) {
            // A ground that could not be read is not a missing one.
            let unread = bench
                .lacks_ground(&self.policy, seat)
                .is_some_and(|heard| !heard.answer.unread.is_empty() || panel::is_mute(&heard.answer));
            let why = if unread { Unusable::Unread } else { Unusable::Groundless };
            return Some(LoopEvent::AskedAgain { seat: seat.clone(), why, answer: None });
        }
        Some(LoopEvent::Ruled { ruling: bench.rule(&self.policy, &self.ledger) })
    }

    /// A pass after delta rounds, or with a check left out, is confirmed by one final pass.
    fn needs_confirming(&self, bench: &Bench) -> bool {
        let left_out = self.policy.checks.iter().any(|check| !bench.checks.contains_key(check));
        self.round > 1 && !self.confirming && (self.policy.confirm || left_out)
    }

    fn settle_ruled(&self, bench: &Bench, ruling: &Ruling) -> LoopEvent {
        match ruling {
            Ruling::Pass { .. } | Ruling::PassWithWarnings { .. } if self.needs_confirming(bench) => {
                LoopEvent::Confirming
            }
            Ruling::Pass { .. } | Ruling::PassWithWarnings { .. } if self.policy.approval => {
                self.ask(Why::Approval)
            }
            Ruling::Pass { .. } => self.end(Outcome::Passed),
            Ruling::PassWithWarnings { .. } => self.end(Outcome::PassedWithWarnings),
            Ruling::NoQuorum => self.ask(Why::NoQuorum),
            Ruling::Rework { .. } => self.settle_rework(bench),
        }
    }

    fn settle_rework(&self, bench: &Bench) -> LoopEvent {
        let course = Course {
            policy: &self.policy,
            ledger: &self.ledger,
            series: &self.series,
            pass: self.pass,
            round: self.round,
            rounds_max: self.rounds_max,
        };
        let seats = self.exhaustive_seats(bench);
        match converge::next(&course) {
            Next::Exhaust if !seats.is_empty() => LoopEvent::ExhaustiveOrdered { seats },
            // Where no reviewer of this sitting is left, nobody can hold the pass.
            Next::GoOn | Next::Exhaust => {
                let crew = crew_for(&self.policy, &self.ledger).into_iter().map(|hand| hand.share);
                LoopEvent::ReworkOrdered { crew: crew.collect() }
            }
            Next::Stale => self.stop_or_ask(Outcome::Stale, Why::Stale),
            Next::Escalate(_) if self.policy.at_the_cap == AtTheCap::Leave => self.end(Outcome::Stale),
            Next::Escalate(pattern) => self.ask(Why::Escalated(pattern)),
            Next::Cap => self.stop_or_ask(Outcome::Exhausted, Why::Exhausted),
        }
    }

    fn exhaustive_seats(&self, bench: &Bench) -> Vec<Seat> {
        let must = self.series.last().map(|record| &record.must);
        let late = must.into_iter().flatten().filter(|(_, mark)| **mark == Mark::Late).map(|(id, _)| *id);
        bench.exhaustive_seats(&self.policy, &late.collect(), &self.ledger)
    }

    fn stop_or_ask(&self, outcome: Outcome, why: Why) -> LoopEvent {
        match self.policy.at_the_cap {
            AtTheCap::End | AtTheCap::Leave => self.end(outcome),
            AtTheCap::Ask => self.ask(why),
        }
    }

    fn ask(&self, why: Why) -> LoopEvent {
        let not_shown = match why {
            Why::NoQuorum => self.bench().map(Bench::not_shown).unwrap_or_default(),
            _ => Vec::new(),
        };
        let question = Question { why, revision: self.current.clone(), not_shown };
        match self.policy.unattended {
            true => self.end(question.outcome_of_stop()),
            false => LoopEvent::Asked(question),
        }
    }

    fn end(&self, outcome: Outcome) -> LoopEvent {
        LoopEvent::Ended { outcome, revision: self.current.clone() }
    }
}

// How events change the state. Each returns `None` where the event cannot follow the state.
impl Loop {
    fn count_run(&mut self, effect: &EffectId) {
        self.intents.close(effect);
        self.iterations += 1;
        self.iterations_here += 1;
    }

    fn apply_making(&mut self, event: &LoopEvent) -> Option<()> {
        let policy = self.policy.clone();
        let State::Making { crew, join_fails, news } = &mut self.state else { return None };
        match event {
            LoopEvent::Made { effect, revision, replies } => {
                hand_mut(crew, effect)?.state = HandState::Done(revision.clone());
                *news |= self.ledger.is_news(replies);
                let made = (crew.len() == 1).then(|| State::Made { revision: revision.clone(), news: *news });
                self.ledger.reply(replies);
                self.count_run(effect);
                if let Some(made) = made {
                    self.current = Some(revision.clone());
                    self.enter(made);
                }
            }
            LoopEvent::Joined { revision, .. } => {
                let made = State::Made { revision: revision.clone(), news: *news };
                self.current = Some(revision.clone());
                self.enter(made);
            }
            LoopEvent::Iterated { effect, revision } => {
                let n = Try { fails: effect.n.fails + 1, ..effect.n };
                hand_mut(crew, effect)?.state = HandState::Working(n);
                self.current = Some(revision.clone());
                self.count_run(effect);
            }
            LoopEvent::Failed { effect, .. } if effect.step == Step::Join => *join_fails += 1,
            // There is nothing to judge, and nothing to revise: whoever else is asked begins where this one did.
            LoopEvent::Failed { effect, failure }
                if failure.kind == FailureKind::Unchanged && crew.len() == 1 =>
            {
                hand_mut(crew, effect)?.state = HandState::Gone;
                self.count_run(effect);
                self.enter(State::Closing { outcome: Outcome::Stale });
            }
            LoopEvent::Failed { effect, failure } => {
                let next = panel::after_making(&policy, effect.n, failure.kind);
                hand_mut(crew, effect)?.state = next.map_or(HandState::Gone, HandState::Working);
                self.count_run(effect);
            }
            _ => return None,
        }
        Some(())
    }

    fn apply_round_began(&mut self, round: u32, revision: &Revision) -> Option<()> {
        let State::Made { revision: made, .. } = &self.state else { return None };
        if made != revision || round != self.round + 1 {
            return None;
        }
        self.begin_round(revision.clone());
        Some(())
    }

    fn begin_round(&mut self, revision: Revision) {
        self.round += 1;
        self.confirming = false;
        self.judged.push(revision.clone());
        self.sit(revision);
    }

    /// A sitting begins: checks first.
    fn sit(&mut self, revision: Revision) {
        self.current = Some(revision.clone());
        let bench = self.convene(revision);
        self.enter(State::Checking { bench });
    }

    fn apply_checking(&mut self, event: &LoopEvent) -> Option<()> {
        let State::Checking { bench } = &mut self.state else { return None };
        match event {
            LoopEvent::Checked { effect, checked } => {
                let Step::Check(check) = &effect.step else { return None };
                let state = bench.checks.get_mut(check)?;
                self.unchecked.remove(check);
                if checked.findings.is_empty() {
                    *state = CheckState::Passed;
                    self.failed_checks.remove(check);
                } else {
                    *state = CheckState::Failed(checked.findings.clone());
                    self.failed_checks.insert(check.clone());
                }
            }
            LoopEvent::Unchecked { effect, why } => {
                let Step::Check(check) = &effect.step else { return None };
                *bench.checks.get_mut(check)? = CheckState::DidNotRun;
                self.unchecked.insert(check.clone(), why.clone());
            }
            LoopEvent::Failed { effect, .. } => {
                let Step::Check(check) = &effect.step else { return None };
                match bench.checks.get_mut(check)? {
                    CheckState::Asking(fails) => *fails += 1,
                    CheckState::Passed | CheckState::DidNotRun | CheckState::Failed(_) => return None,
                }
            }
            LoopEvent::PanelSeated { seats } if bench.checks_done() => {
                let mut bench = bench.clone();
                let asking = |seat: &Seat| (seat.clone(), SeatState::Asking(Try::default()));
                bench.seats = seats.iter().map(asking).collect();
                self.enter(State::Judging { bench });
            }
            _ => return None,
        }
        Some(())
    }

    /// A reviewer that the final pass has nothing to show to keeps its verdict.
    fn apply_kept(&mut self, effect: &EffectId, shown: Shown) -> Option<()> {
        let Step::Judge(seat) = &effect.step else { return None };
        let may = shown.is_whole() && self.keeps_verdict(seat, effect.n);
        let answer = self.kept_verdict(seat).filter(|_| may)?;
        let State::Judging { bench } = &mut self.state else { return None };
        let seat = seat_of(bench, effect)?;
        bench.hear(&seat, Heard { n: effect.n, answer: answer.clone(), shown });
        bench.seats.insert(seat, SeatState::Answered(effect.n, answer));
        self.intents.close(effect);
        Some(())
    }

    fn apply_judging(&mut self, event: &LoopEvent) -> Option<()> {
        if let LoopEvent::VerdictKept { effect, shown } = event {
            return self.apply_kept(effect, *shown);
        }
        let policy = Arc::clone(&self.policy);
        let State::Judging { bench } = &mut self.state else { return None };
        match event {
            LoopEvent::Answered { effect, answer, shown, part } => {
                let seat = seat_of(bench, effect)?;
                let own = part.as_deref().unwrap_or(answer).clone();
                bench.hear(&seat, Heard { n: effect.n, answer: own, shown: *shown });
                let whole = shown.is_whole() && bench.merged(&seat).as_ref() == Some(answer);
                whole.then_some(())?;
                bench.seats.insert(seat, SeatState::Answered(effect.n, answer.clone()));
                self.intents.close(effect);
            }
            LoopEvent::PartAnswered { effect, answer, shown } => {
                let seat = seat_of(bench, effect)?;
                bench.hear(&seat, Heard { n: effect.n, answer: answer.clone(), shown: *shown });
                let next = SeatState::Asking(bench.next_part(&seat));
                bench.seats.insert(seat, next);
                self.intents.close(effect);
            }
            LoopEvent::NotCovered { effect, answer, shown } => {
                let seat = seat_of(bench, effect)?;
                bench.hear(&seat, Heard { n: effect.n, answer: answer.clone(), shown: *shown });
                bench.lose(&seat, &self.ledger);
                self.intents.close(effect);
            }
            LoopEvent::AskedAgain { seat, why, answer: Some(answer) } => {
                let SeatState::Asking(n) = *bench.seats.get(seat)? else { return None };
                let next = panel::after_unusable(&policy, n, *why);
                bench.go_on(seat, next, &self.ledger);
                bench.owe(seat, (n, next), panel::objection(answer));
                let effect = self.effect(Step::Judge(seat.clone()), n);
                self.intents.close(&effect).then_some(())?;
            }
            LoopEvent::Failed { effect, failure } => {
                let seat = seat_of(bench, effect)?;
                let next = panel::after_failure(&policy, effect.n, failure.kind);
                bench.go_on(&seat, next, &self.ledger);
                bench.owe(&seat, (effect.n, next), panel::lost_objection(failure));
                self.intents.close(effect);
            }
            LoopEvent::PanelClosed if bench.seats_done() => {
                let mut bench = bench.clone();
                bench.end_pass();
                if bench.answers().count() == policy.seats.len() {
                    self.seen.push(bench.revision.clone());
                }
                self.enter(State::Tracking { bench, fails: 0 });
            }
            _ => return None,
        }
        Some(())
    }

    fn apply_tracking(&mut self, event: &LoopEvent) -> Option<()> {
        let State::Tracking { bench, fails } = &mut self.state else { return None };
        match event {
            LoopEvent::Tracked { findings, delta } => {
                let bench = bench.clone();
                self.ledger.track(findings, self.round, self.policy.adjudicator.is_some());
                self.delta = *delta;
                self.tracked = Some(bench.revision.clone());
                self.take_proofs(&bench);
                let asked_first = !bench.put_forward(&self.policy, &self.ledger).is_empty();
                let cases = if asked_first { BTreeMap::new() } else { self.cases(&bench) };
                self.enter(State::Hearing { bench, cases });
            }
            LoopEvent::Failed { .. } => *fails += 1,
            _ => return None,
        }
        Some(())
    }

    /// Proofs that were named and found hold for this revision, and are not asked for twice.
    fn take_proofs(&mut self, bench: &Bench) {
        for (id, said) in bench.answers().flat_map(|(_, answer)| &answer.said) {
            let asks = self.ledger.get(*id).is_some_and(|entry| entry.claim.asks);
            match said {
                Said::Shown(proof) if asks => self.ledger.prove(*id, &bench.revision, proof),
                Said::NoProof(missing) if asks => self.ledger.unproven(*id, missing),
                _ => {}
            }
        }
    }

    fn apply_hearing(&mut self, event: &LoopEvent) -> Option<()> {
        let policy = Arc::clone(&self.policy);
        let State::Hearing { bench, cases } = &mut self.state else { return None };
        let all_heard = cases.values().all(|case| *case == Case::Closed);
        match event {
            LoopEvent::Heard { effect, finding, upheld, .. } => {
                *cases.get_mut(finding)? = Case::Closed;
                self.ledger.heard(*finding, Some(*upheld));
                self.intents.close(effect);
            }
            LoopEvent::Failed { effect, failure } => {
                let Step::Hear(finding) = effect.step else { return None };
                let case = cases.get_mut(&finding)?;
                let Case::Open { tries, .. } = case else { return None };
                *tries += 1;
                if *tries >= policy.attempts_max || !failure.kind.may_pass() {
                    *case = Case::Closed;
                    self.ledger.heard(finding, None);
                }
                self.intents.close(effect);
            }
            LoopEvent::PanelSeated { seats }
                if all_heard && bench.put_forward(&policy, &self.ledger) == *seats =>
            {
                if seats.is_empty() {
                    return None;
                }
                let mut bench = bench.clone();
                let asking = |seat: &Seat| (seat.clone(), SeatState::Asking(Try::default()));
                bench.seats = seats.iter().map(asking).collect();
                self.enter(State::Judging { bench });
            }
            LoopEvent::AskedAgain { seat, why, .. } if all_heard => {
                let SeatState::Answered(..) = bench.seats.get(seat)? else { return None };
                let heard = bench.take_back(&policy, seat)?;
                let next = panel::after_unusable(&policy, heard.n, *why);
                bench.go_on(seat, next, &self.ledger);
                if next.is_some() {
                    // What was read and came to nothing binds nobody: then the verdict may change.
                    let objection = panel::objection(&heard.answer).filter(|_| *why == Unusable::Unread);
                    bench.owe(seat, (heard.n, next), objection);
                    let bench = bench.clone();
                    self.enter(State::Judging { bench });
                }
            }
            // A seat without a ground is asked again first, or given up.
            LoopEvent::Ruled { ruling } if all_heard && bench.groundless(&policy, &self.ledger).is_none() => {
                let state = State::Ruled { bench: bench.clone(), ruling: ruling.clone() };
                self.record(ruling);
                self.note_looks();
                self.enter(state);
            }
            _ => return None,
        }
        Some(())
    }

    /// The sitting is over: who answered has been shown what it judged.
    fn note_looks(&mut self) {
        let Some(bench) = self.bench() else { return };
        let look = Look { since: self.since().cloned(), revision: bench.revision.clone() };
        let stood: BTreeMap<Seat, Answer> =
            bench.answers().map(|(seat, answer)| (seat.clone(), answer.clone())).collect();
        for seat in stood.keys() {
            let looks = self.looks.entry(seat.clone()).or_default();
            if !looks.contains(&look) {
                looks.push(look.clone());
            }
        }
        self.stood = stood;
    }

    /// The series keeps one record for each round that needed rework.
    fn record(&mut self, ruling: &Ruling) {
        let (Ruling::Rework { must }, Some(bench)) = (ruling, self.bench()) else { return };
        let marked = |id: &FindingId| (*id, self.ledger.mark(*id, self.round));
        let left = |id: &FindingId| Some((*id, self.ledger.get(*id)?.left_twice()?));
        let record = RoundRecord {
            round: self.round,
            must: must.iter().map(marked).collect(),
            left: must.iter().filter_map(left).collect(),
            complete: bench.is_complete(),
            fundamental: bench.is_fundamental(),
        };
        self.series.retain(|earlier| earlier.round != record.round);
        self.series.push(record);
    }

    fn apply_ruled(&mut self, event: &LoopEvent) -> Option<()> {
        let State::Ruled { bench, ruling } = &self.state else { return None };
        let passed = matches!(ruling, Ruling::Pass { .. } | Ruling::PassWithWarnings { .. });
        match event {
            LoopEvent::Confirming if passed && !self.confirming => {
                let revision = bench.revision.clone();
                self.confirming = true;
                self.sit(revision);
            }
            LoopEvent::ExhaustiveOrdered { seats } => {
                let Ruling::Rework { must } = ruling else { return None };
                if self.pass.is_some() || *seats != self.exhaustive_seats(bench) || seats.is_empty() {
                    return None;
                }
                let mut bench = bench.clone();
                bench.exhaust(&self.policy, seats);
                self.pass =
                    Some(Pass { round: self.round, open: u32::try_from(must.len()).unwrap_or(u32::MAX) });
                self.enter(State::Judging { bench });
            }
            LoopEvent::ReworkOrdered { crew } => {
                let Ruling::Rework { must } = ruling else { return None };
                self.ledger.order(&must.clone());
                self.make(crew.clone());
            }
            _ => return None,
        }
        Some(())
    }

    fn make(&mut self, crew: Vec<Share>) {
        let working = |share| Hand { share, state: HandState::Working(Try::default()) };
        let crew = crew.into_iter().map(working).collect();
        self.enter(State::Making { crew, join_fails: 0, news: false });
    }

    fn apply_asked(&mut self, question: &Question) -> Option<()> {
        let may = match (&self.state, &question.why) {
            (State::Made { .. }, Why::Stale) => true,
            (State::Checking { bench }, Why::ChecksDidNotRun) => {
                !bench.checks_done() && !bench.checks.values().any(|state| self.may_run(state))
            }
            (State::Ruled { ruling, .. }, why) => match ruling {
                Ruling::NoQuorum => *why == Why::NoQuorum,
                Ruling::Rework { .. } => matches!(why, Why::Exhausted | Why::Stale | Why::Escalated(_)),
                Ruling::Pass { .. } | Ruling::PassWithWarnings { .. } => {
                    *why == Why::Approval && self.policy.approval
                }
            },
            _ => false,
        };
        let may = may && !self.policy.unattended;
        may.then(|| self.enter(State::Waiting { question: question.clone() }))
    }

    fn apply_decided(&mut self, decision: &Decision) -> Option<()> {
        let State::Waiting { question } = &self.state else { return None };
        if !question.takes(&decision.choice) {
            return None;
        }
        let stopped = question.outcome_of_stop();
        let revision = question.revision.clone();
        match &decision.choice {
            Choice::Fixed(revision) => {
                self.new_series();
                self.begin_round(revision.clone());
                self.rounds_max = self.rounds_max.max(self.round);
            }
            Choice::Again(rounds) => {
                self.new_series();
                self.rounds_max = self.round + rounds;
                self.iterations_here = 0;
                let crew = crew_for(&self.policy, &self.ledger);
                self.enter(State::Making { crew, join_fails: 0, news: false });
            }
            Choice::Reask => self.sit(revision?),
            Choice::Accept => {
                let outcome = Outcome::Accepted(decision.by.clone());
                self.enter(State::Closing { outcome });
            }
            Choice::Stop => self.enter(State::Closing { outcome: stopped }),
        }
        Some(())
    }

    fn new_series(&mut self) {
        self.series.clear();
        self.pass = None;
        self.ledger.new_series();
    }

    fn may_end(&self, outcome: &Outcome) -> bool {
        match (&self.state, outcome) {
            (State::Ended { .. }, _) => false,
            (State::Closing { outcome: settled }, said) => settled == said,
            (_, Outcome::Cancelled) => true,
            (State::Checking { .. } | State::Ruled { .. }, said) if self.policy.unattended => {
                matches!(self.settle(), Some(LoopEvent::Ended { outcome, .. }) if outcome == *said)
            }
            (State::Ruled { ruling, .. }, said) => match ruling {
                Ruling::Pass { .. } | Ruling::PassWithWarnings { .. } if self.policy.approval => false,
                Ruling::Pass { .. } => *said == Outcome::Passed,
                Ruling::PassWithWarnings { .. } => *said == Outcome::PassedWithWarnings,
                Ruling::Rework { .. } => matches!(said, Outcome::Stale | Outcome::Exhausted),
                Ruling::NoQuorum => false,
            },
            (State::Made { .. }, said) => *said == Outcome::Stale,
            (State::Making { .. } | State::Tracking { .. }, said) => {
                matches!(self.settle(), Some(LoopEvent::Ended { outcome, .. }) if outcome == *said)
            }
            _ => false,
        }
    }

    fn apply_ended(&mut self, outcome: &Outcome) -> Option<()> {
        if !self.may_end(outcome) {
            return None;
        }
        let left = match outcome {
            Outcome::PassedWithWarnings => Fate::Carried,
            Outcome::Accepted(by) => Fate::Waived(by.clone()),
            // It is about something that nobody has.
            _ if self.policy.unattended => Fate::Discarded,
            _ => Fate::Unresolved,
        };
        self.ledger.close(&left);
        self.enter(State::Ended { outcome: outcome.clone() });
        Some(())
    }
}

fn hand<'a>(crew: &'a [Hand], effect: &EffectId) -> Option<&'a Hand> {
    crew.iter().find(|hand| hand.does(effect))
}

fn hand_mut<'a>(crew: &'a mut [Hand], effect: &EffectId) -> Option<&'a mut Hand> {
    crew.iter_mut().find(|hand| hand.does(effect))
}

/// The seat that this effect asks.
fn seat_of(bench: &Bench, effect: &EffectId) -> Option<Seat> {
    let Step::Judge(seat) = &effect.step else { return None };
    (bench.seats.get(seat) == Some(&SeatState::Asking(effect.n))).then(|| seat.clone())
}

// What the world should be doing, state by state.
impl Loop {
    fn wants_making(&self, crew: &[Hand], join_fails: u32) -> Vec<(EffectId, LoopWant)> {
        if crew.iter().all(Hand::is_over) {
            let part = |hand: &Hand| match &hand.state {
                HandState::Done(revision) => Some((hand.share.maker.clone(), revision.clone())),
                HandState::Working(_) | HandState::Gone => None,
            };
            let parts = crew.iter().filter_map(part).collect();
            return vec![(self.effect(Step::Join, Try::nth(join_fails)), LoopWant::Join { parts })];
        }
        crew.iter()
            .filter(|hand| hand.may_start(crew))
            .filter_map(|hand| match hand.state {
                HandState::Working(n) => {
                    let share = hand.share.clone();
                    let effect = self.effect(Step::Make(share.maker.clone()), n);
                    let onto = hand.stands_on(crew);
                    Some((effect, LoopWant::Make { maker: share.maker, findings: share.findings, onto }))
                }
                HandState::Done(_) | HandState::Gone => None,
            })
            .collect()
    }

    fn wants_checking(&self, bench: &Bench) -> Vec<(EffectId, LoopWant)> {
        let asking = |(check, state): (&Check, &CheckState)| match state {
            CheckState::Asking(fails) if self.may_run(state) => {
                let effect = self.effect(Step::Check(check.clone()), Try::nth(*fails));
                let want = LoopWant::Check { check: check.clone(), revision: bench.revision.clone() };
                Some((effect, want))
            }
            CheckState::Asking(_) | CheckState::Passed | CheckState::DidNotRun | CheckState::Failed(_) => {
                None
            }
        };
        bench.checks.iter().filter_map(asking).collect()
    }

    fn wants_judging(&self, bench: &Bench) -> Vec<(EffectId, LoopWant)> {
        let asking = |(seat, state): (&Seat, &SeatState)| match state {
            SeatState::Asking(n) => {
                let want = LoopWant::Judge {
                    seat: seat.clone(),
                    backup: n.backup,
                    revision: bench.revision.clone(),
                    put: bench.put_to_part(&self.ledger, seat, n.part),
                    again: n.again,
                    part: n.part,
                };
                Some((self.effect(Step::Judge(seat.clone()), *n), want))
            }
            SeatState::Answered(..) | SeatState::Gone => None,
        };
        bench.seats.iter().filter_map(asking).collect()
    }

    fn wants_hearing(&self, bench: &Bench, cases: &BTreeMap<FindingId, Case>) -> Vec<(EffectId, LoopWant)> {
        let open = |(finding, case): (&FindingId, &Case)| match case {
            Case::Open { tries, seat } => {
                let (finding, seat, revision) = (*finding, seat.clone(), bench.revision.clone());
                let effect = self.effect(Step::Hear(finding), Try::nth(*tries));
                Some((effect, LoopWant::Hear { finding, seat, revision }))
            }
            Case::Closed => None,
        };
        cases.iter().filter_map(open).collect()
    }
}

impl Machine for Loop {
    type In = LoopIn;
    type Ev = LoopEvent;
    type Want = LoopWant;

    fn decide(&self, input: &LoopIn) -> Option<LoopEvent> {
        match input {
            LoopIn::Report { effect, at, report } => self.decide_report(effect, *at, report),
            LoopIn::Intend { effect, at } => self.decide_intend(effect, *at),
            LoopIn::Clear { effect } => {
                self.intents.has(effect).then(|| LoopEvent::Cleared { effect: effect.clone() })
            }
            LoopIn::Cancel => self.outcome().is_none().then(|| self.end(Outcome::Cancelled)),
        }
    }

    fn settle(&self) -> Option<LoopEvent> {
        match &self.state {
            State::Making { crew, join_fails, .. } => self.settle_making(crew, *join_fails),
            State::Made { revision, news } => Some(self.settle_made(revision, *news)),
            State::Checking { bench } => self.settle_checking(bench),
            State::Judging { bench } => bench.seats_done().then_some(LoopEvent::PanelClosed),
            State::Tracking { fails, .. } => {
                (*fails >= self.policy.attempts_max).then(|| self.end(Outcome::Failed))
            }
            State::Hearing { bench, cases } => self.settle_hearing(bench, cases),
            State::Ruled { bench, ruling } => Some(self.settle_ruled(bench, ruling)),
            State::Closing { outcome } => Some(self.end(outcome.clone())),
            State::Waiting { .. } | State::Ended { .. } => None,
        }
    }

    fn apply(&mut self, event: &LoopEvent) -> Result<(), OutOfOrder> {
        let met = self.state.name();
        let applied = match event {
            LoopEvent::Opened(_) => None,
            event if event.answers().is_some_and(|effect| !self.hears(effect)) => None,
            LoopEvent::Intended { effect, due } => {
                let wanted = effect.step.is_one_shot() && self.is_wanted(effect);
                (wanted && self.intents.add(effect.clone(), *due)).then_some(())
            }
            LoopEvent::Cleared { effect } => self.intents.clear(effect).then_some(()),
            LoopEvent::RoundBegan { round, revision } => self.apply_round_began(*round, revision),
            LoopEvent::Asked(question) => self.apply_asked(question),
            LoopEvent::Decided(decision) => self.apply_decided(decision),
            LoopEvent::Ended { outcome, .. } => self.apply_ended(outcome),
            event => match self.state {
                State::Making { .. } => self.apply_making(event),
                State::Checking { .. } => self.apply_checking(event),
                State::Judging { .. } => self.apply_judging(event),
                State::Tracking { .. } => self.apply_tracking(event),
                State::Hearing { .. } => self.apply_hearing(event),
                State::Ruled { .. } => self.apply_ruled(event),
                State::Made { .. } | State::Waiting { .. } | State::Closing { .. } | State::Ended { .. } => {
                    None
                }
            },
        };
        applied.ok_or_else(|| OutOfOrder { event: event.name().to_owned(), state: met.to_owned() })
    }

    fn wants(&self) -> BTreeMap<EffectId, LoopWant> {
        let mut wants: BTreeMap<EffectId, LoopWant> = match &self.state {
            State::Making { crew, join_fails, .. } => self.wants_making(crew, *join_fails),
            State::Checking { bench } => self.wants_checking(bench),
            State::Judging { bench } => self.wants_judging(bench),
            State::Tracking { bench, fails } => {
                let want = LoopWant::Track { revision: bench.revision.clone() };
                vec![(self.effect(Step::Track, Try::nth(*fails)), want)]
            }
            State::Hearing { bench, cases } => self.wants_hearing(bench, cases),
            State::Waiting { question } => {
                vec![(self.effect(Step::Ask, Try::default()), LoopWant::Ask(question.clone()))]
            }
            State::Made { .. } | State::Ruled { .. } | State::Closing { .. } | State::Ended { .. } => vec![],
        }
        .into_iter()
        .collect();
        for (effect, due) in self.intents.iter() {
            if let Some(at) = due {
                wants.insert(effect.wake(), LoopWant::Wake { at: *at });
            }
        }
        wants
    }
}

impl LoopEvent {
    /// The effect whose report this is.
    fn answers(&self) -> Option<&EffectId> {
        match self {
            LoopEvent::Iterated { effect, .. }
            | LoopEvent::Made { effect, .. }
            | LoopEvent::Joined { effect, .. }
            | LoopEvent::Failed { effect, .. }
            | LoopEvent::Checked { effect, .. }
            | LoopEvent::Unchecked { effect, .. }
            | LoopEvent::Answered { effect, .. }
            | LoopEvent::PartAnswered { effect, .. }
            | LoopEvent::NotCovered { effect, .. }
            | LoopEvent::VerdictKept { effect, .. }
            | LoopEvent::Heard { effect, .. } => Some(effect),
            _ => None,
        }
    }

    /// The event's name, as in the journal.
    pub fn name(&self) -> &'static str {
        match self {
            LoopEvent::Opened(_) => "opened",
            LoopEvent::Intended { .. } => "intended",
            LoopEvent::Cleared { .. } => "cleared",
            LoopEvent::Iterated { .. } => "iterated",
            LoopEvent::Made { .. } => "made",
            LoopEvent::Joined { .. } => "joined",
            LoopEvent::Failed { .. } => "failed",
            LoopEvent::RoundBegan { .. } => "round_began",
            LoopEvent::Checked { .. } => "checked",
            LoopEvent::Unchecked { .. } => "unchecked",
            LoopEvent::PanelSeated { .. } => "panel_seated",
            LoopEvent::Answered { .. } => "answered",
            LoopEvent::PartAnswered { .. } => "part_answered",
            LoopEvent::NotCovered { .. } => "not_covered",
            LoopEvent::VerdictKept { .. } => "verdict_kept",
            LoopEvent::AskedAgain { .. } => "asked_again",
            LoopEvent::PanelClosed => "panel_closed",
            LoopEvent::Tracked { .. } => "tracked",
            LoopEvent::Heard { .. } => "heard",
            LoopEvent::Ruled { .. } => "ruled",
            LoopEvent::Confirming => "confirming",
            LoopEvent::ExhaustiveOrdered { .. } => "exhaustive_ordered",
            LoopEvent::ReworkOrdered { .. } => "rework_ordered",
            LoopEvent::Asked(_) => "asked",
            LoopEvent::Decided(_) => "decided",
            LoopEvent::Ended { .. } => "ended",
        }
    }
}
