//! What a loop remembers, its states, and what others may read of it.
//!
//! The fields are private to this module, so that nothing but `apply` changes them. A new field must follow from
//! events alone: two folds of one journal have to be equal.

use super::fixers::{Fixer, assign_fixers};
use super::messages::{Opened, Opening};
use super::question::{Outcome, Question};
use crate::converge::{self, Pass, Round, RoundRecord};
use crate::cover::{Look, kept};
use crate::effect::{EffectId, Intents, Step, Try};
use crate::finding::Answer;
use crate::ids::{Check, FindingId, LoopId, Of, Reviewer, Revision};
use crate::ledger::{CarriedFinding, Delta, Ledger};
use crate::panel::{ReviewRound, Ruling};
use crate::policy::Policy;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// One subject and everything that was said about it: the fold of its events.
///
/// It is changed by [`Machine::apply`](crate::machine::Machine::apply) alone. Two loops with the same events are
/// equal, which is what makes recovery after a crash a fold and nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    pub(super) id: LoopId,
    // Shared, so that a change of state can read it while the rest of the loop is borrowed.
    pub(super) policy: Arc<Policy>,
    pub(super) state: State,
    /// Grows with every change of state, so that no effect id is used twice.
    pub(super) entry: u32,
    pub(super) intents: Intents,
    pub(super) round: u32,
    /// Rounds at most; a person's decision may add some.
    pub(super) rounds_max: u32,
    /// Runs of the builder so far, which the run's checkpoints count.
    pub(super) iterations: u32,
    /// The same since a person last gave it more rounds: only these are limited.
    pub(super) iterations_here: u32,
    pub(super) ledger: Ledger,
    /// What each round judged. A revision that comes back is stale, however long ago it was judged.
    pub(super) judged: Vec<Revision>,
    /// What the whole panel answered about: the next round shows the change since then.
    pub(super) seen: Vec<Revision>,
    /// The newest revision made or judged.
    pub(super) current: Option<Revision>,
    /// The revision whose lines the findings name.
    pub(super) tracked: Option<Revision>,
    /// Checks that failed when they last ran: where the policy says so, only these run again before a final pass.
    pub(super) failed_checks: BTreeSet<Check>,
    /// Checks that did not run and stopped nothing, and why.
    pub(super) unchecked: BTreeMap<Check, String>,
    /// The rounds that needed rework since the loop began or a person last sent it on, for the convergence controller.
    pub(super) series: Vec<RoundRecord>,
    /// The exhaustive pass of this series; there is at most one.
    pub(super) pass: Option<Pass>,
    pub(super) delta: Delta,
    /// A final pass confirms what passed.
    pub(super) confirming: bool,
    /// What each reviewer was shown in rounds that are over.
    pub(super) looks: BTreeMap<Reviewer, Vec<Look>>,
    /// What each reviewer said in the last round that is over.
    pub(super) stood: BTreeMap<Reviewer, Answer>,
}

/// Where the hearing of one finding stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Case {
    Open { tries: u32, reviewer: Reviewer },
    Closed,
}

/// Where a loop stands. Each state holds what it needs and nothing else.
///
/// `Made`, `Ruled` and `Closing` are left in the turn that enters them. They are states all the same, so that each
/// consequence is one event with one cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    Making { fixers: Vec<Fixer>, join_fails: u32, news: bool },
    Made { revision: Revision, news: bool },
    Checking { review_round: ReviewRound },
    Judging { review_round: ReviewRound },
    Tracking { review_round: ReviewRound, fails: u32 },
    Hearing { review_round: ReviewRound, cases: BTreeMap<FindingId, Case> },
    Ruled { review_round: ReviewRound, ruling: Ruling },
    Waiting { question: Question },
    Closing { outcome: Outcome },
    Ended { outcome: Outcome },
}

impl State {
    pub(super) fn stage(&self) -> LoopStage {
        match self {
            State::Making { .. } => LoopStage::Making,
            State::Made { .. } => LoopStage::Made,
            State::Checking { .. } => LoopStage::Checking,
            State::Judging { .. } => LoopStage::Judging,
            State::Tracking { .. } => LoopStage::Tracking,
            State::Hearing { .. } => LoopStage::Hearing,
            State::Ruled { .. } => LoopStage::Ruled,
            State::Waiting { .. } => LoopStage::Waiting,
            State::Closing { .. } => LoopStage::Closing,
            State::Ended { .. } => LoopStage::Ended,
        }
    }

    pub(super) fn name(&self) -> &'static str {
        self.stage().word()
    }
}

/// Where a loop stands, without what its state holds: what is shown to people.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LoopStage {
    /// Its builder or a fixer is at work.
    #[default]
    Making,
    /// A revision is there, and no round has begun for it.
    Made,
    /// The checks run.
    Checking,
    /// The reviewers are asked.
    Judging,
    /// Findings are matched to those of the rounds before.
    Tracking,
    /// Contested findings are heard.
    Hearing,
    /// The round has its ruling.
    Ruled,
    /// A person is asked.
    Waiting,
    /// It is about to end.
    Closing,
    /// It is over.
    Ended,
}

impl LoopStage {
    /// The name of the stage as people read it.
    pub fn word(self) -> &'static str {
        match self {
            LoopStage::Making => "making",
            LoopStage::Made => "made",
            LoopStage::Checking => "checking",
            LoopStage::Judging => "judging",
            LoopStage::Tracking => "tracking",
            LoopStage::Hearing => "hearing",
            LoopStage::Ruled => "ruled",
            LoopStage::Waiting => "waiting",
            LoopStage::Closing => "closing",
            LoopStage::Ended => "ended",
        }
    }
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
            None => State::Making { fixers: assign_fixers(&policy, &ledger), join_fails: 0, news: false },
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
            // Findings that were taken over name lines of an earlier revision.
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

    /// The id of an effect of the present state.
    pub(super) fn effect(&self, step: Step, n: Try) -> EffectId {
        let launch = self.intents.launch(&step, n);
        EffectId { of: Of::new(self.id.as_str()), entry: self.entry, step, n, launch }
    }

    pub(super) fn timeout_ms(&self, step: &Step) -> u64 {
        match step {
            // Only launches have a deadline, and in a loop those are builders and reviewers.
            Step::Make(_) => self.policy.timeouts.make_ms,
            _ => self.policy.timeouts.judge_ms,
        }
    }

    /// Changes the state. Nothing that was launched for the old one counts any more.
    pub(super) fn enter(&mut self, state: State) {
        self.state = state;
        // The counter is part of every effect id: reports for the old state are stale from here on.
        self.entry += 1;
        self.intents.reset();
    }

    /// Whether a report of this effect counts: the effect is wanted, and was launched if it needs an intent.
    pub(super) fn hears(&self, effect: &EffectId) -> bool {
        self.intents.is_launched(effect) && self.is_wanted(effect)
    }
}

impl Loop {
    /// Checks that did not run the last time, if that stopped nothing; each with why. They were never green.
    pub fn unchecked(&self) -> &BTreeMap<Check, String> {
        &self.unchecked
    }

    /// The name it was opened with.
    pub fn id(&self) -> &LoopId {
        &self.id
    }
    /// The rules it was opened with.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }
    /// The round being judged, or the last one judged.
    pub fn round(&self) -> u32 {
        self.round
    }
    /// How many rounds there may be, including those that a person granted.
    pub fn rounds_max(&self) -> u32 {
        self.rounds_max
    }
    /// How often the builder has run so far, for checkpoints.
    pub fn iterations(&self) -> u32 {
        self.iterations
    }
    /// All findings of the loop, settled ones too.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }
    /// The newest revision made or judged.
    pub fn revision(&self) -> Option<&Revision> {
        self.current.as_ref()
    }
    /// What each round judged, in order. A round that hears an argument judges the revision before it again.
    pub fn judged(&self) -> &[Revision] {
        &self.judged
    }
    /// What the whole panel has looked at, in order. If checks reject, it may not have been asked.
    pub fn seen(&self) -> &[Revision] {
        &self.seen
    }
    /// The revision whose lines the findings name: the one last tracked.
    pub fn tracked(&self) -> Option<&Revision> {
        self.tracked.as_ref()
    }
    /// Whether a final pass is under way: all checks, and the hunks that a reviewer has not been shown whole.
    pub fn is_confirming(&self) -> bool {
        self.confirming
    }
    /// The revision from which reviewers are shown the change: the one that the whole panel looked at last. `None` if
    /// they are shown the change from its beginning.
    ///
    /// It is what the whole panel saw, not what the last round judged: nothing that a reviewer was never shown may be
    /// left out.
    pub fn since(&self) -> Option<&Revision> {
        // A reviewer that confirms a pass, or looks for everything at once, is not shown one round alone.
        if self.confirming || self.is_exhaustive() {
            return None;
        }
        // Not the revision under review itself: a round that hears an argument would show an empty change.
        self.seen.iter().rev().find(|seen| Some(*seen) != self.current.as_ref())
    }
    /// What a final pass need not show to this reviewer again.
    ///
    /// It is empty in every other round, and if a finding is put to the reviewer: then it is shown everything.
    pub fn looks(&self, reviewer: &Reviewer) -> &[Look] {
        // A reviewer with an open finding sees everything, or it could not say that the finding is gone.
        let put = |review_round: &ReviewRound| !review_round.put_to(reviewer, &self.ledger).is_empty();
        if !self.confirming || self.is_exhaustive() || self.review_round().is_none_or(put) {
            return &[];
        }
        self.looks.get(reviewer).map(Vec::as_slice).unwrap_or_default()
    }
    /// Whether a reviewer's verdict of this round stands if the final pass has nothing to show to it.
    ///
    /// It stands for a reviewer that has said nothing since, never for an objection.
    pub fn keeps_verdict(&self, reviewer: &Reviewer, n: Try) -> bool {
        // Only on the first try: a reviewer that was launched and failed has confirmed nothing.
        n == Try::default() && !self.looks(reviewer).is_empty() && self.kept_verdict(reviewer).is_some()
    }
    /// The verdict that a reviewer may keep: it has said nothing in this pass and owes no answer.
    pub(super) fn kept_verdict(&self, reviewer: &Reviewer) -> Option<Answer> {
        let fresh = |review_round: &&ReviewRound| {
            !review_round.heard.contains_key(reviewer) && review_round.owed_by(reviewer, 0).is_none()
        };
        self.review_round().filter(fresh)?;
        kept(self.stood.get(reviewer)?)
    }
    /// Whether the reviewers asked now hold an exhaustive pass: they are shown all earlier findings and asked for
    /// everything.
    pub fn is_exhaustive(&self) -> bool {
        self.review_round().is_some_and(|review_round| !review_round.kept.is_empty())
    }
    /// The rounds of this series that needed rework, in counts.
    pub fn rounds(&self) -> Vec<Round> {
        converge::rounds(&self.ledger, &self.series)
    }
    /// What the last tracking report counted.
    pub fn delta(&self) -> Delta {
        self.delta
    }
    /// Where it stands.
    pub fn stage(&self) -> LoopStage {
        self.state.stage()
    }
    /// The name of its state, for people.
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
    /// The review round in progress.
    pub fn review_round(&self) -> Option<&ReviewRound> {
        match &self.state {
            State::Checking { review_round }
            | State::Judging { review_round }
            | State::Tracking { review_round, .. }
            | State::Hearing { review_round, .. }
            | State::Ruled { review_round, .. } => Some(review_round),
            _ => None,
        }
    }
    /// How many builders or fixers work on it, at once or in turn; 0 while nobody does.
    pub fn fixers_count(&self) -> usize {
        match &self.state {
            State::Making { fixers, .. } => fixers.len(),
            _ => 0,
        }
    }
    /// Intended effects that have not reported.
    pub fn intents(&self) -> &Intents {
        &self.intents
    }
    /// The open must-fix findings, for a new loop that takes them over under their ids.
    ///
    /// A retry is a new loop: an ended loop that comes to life again would break the law that nothing follows an end.
    pub fn carried(&self) -> Vec<CarriedFinding> {
        // The end of a loop has turned its open findings into unresolved ones.
        self.ledger
            .iter()
            .filter(|(_, entry)| entry.fate.is_open() && entry.severity.must_fix())
            .map(|(id, entry)| CarriedFinding { id, entry: entry.clone() })
            .collect()
    }
}
