//! What follows from a loop's state alone, without any input.
//!
//! Each function returns one event and is called again until nothing follows. So every consequence is an event with
//! one cause, and a reader of the journal can follow them one by one.

use super::events::LoopEvent;
use super::fixers::{Fixer, FixerState, assign_fixers};
use super::question::{Outcome, Question, Why};
use super::state::{Case, Loop};
use crate::converge::{self, Course, Next};
use crate::ids::Revision;
use crate::ids::{FindingId, Reviewer};
use crate::ledger::Mark;
use crate::panel::{self, CheckState, ReviewRound, Ruling, Unusable};
use crate::policy::AtTheCap;
use std::collections::BTreeMap;

impl Loop {
    /// Ends a loop whose builder has run out: of runs is stuck, of attempts is failed.
    pub(super) fn settle_making(&self, fixers: &[Fixer], join_fails: u32) -> Option<LoopEvent> {
        let spent = self.policy.iterations_max.is_some_and(|max| self.iterations_here >= max);
        // A builder that finished with its last run is not stuck.
        if spent && fixers.iter().any(|fixer| !fixer.is_over()) {
            return Some(self.end(Outcome::Stuck));
        }
        // Some fixers may be given up: what the others made is still joined.
        let all_gone = fixers.iter().all(|fixer| fixer.state == FixerState::Gone);
        (all_gone || join_fails >= self.policy.attempts_max).then(|| self.end(Outcome::Failed))
    }

    /// A round begins if there is something new to judge: a revision never judged, or new arguments about the last one.
    ///
    /// Without this rule a builder could hand in the same work until a reviewer gives in.
    pub(super) fn settle_made(&self, revision: &Revision, news: bool) -> LoopEvent {
        let changed = !self.judged.contains(revision);
        // Only about the revision judged last: what was said about an older one was answered then.
        let argued = news && self.judged.last() == Some(revision);
        if changed || argued {
            return LoopEvent::RoundBegan { round: self.round + 1, revision: revision.clone() };
        }
        self.stop_or_ask(Outcome::Stale, Why::Stale)
    }

    /// Asks the panel when every check has an answer. A check that could not run is a question for a person.
    pub(super) fn settle_checking(&self, review_round: &ReviewRound) -> Option<LoopEvent> {
        // Every check is heard before a person is asked about one that did not run.
        if review_round.checks.values().any(|state| self.may_run(state)) {
            return None;
        }
        if !review_round.checks_done() {
            return Some(self.ask(Why::ChecksDidNotRun));
        }
        // A question of a check gets its finding id first; then it is put to the panel by that id.
        if !review_round.put_forward(&self.policy, &self.ledger).is_empty() {
            return Some(LoopEvent::PanelAssembled { reviewers: Vec::new() });
        }
        let mut assembled = review_round.clone();
        assembled.assemble_panel(&self.policy, &self.ledger);
        Some(LoopEvent::PanelAssembled { reviewers: assembled.reviewers.into_keys().collect() })
    }

    /// Whether a check still has an attempt left.
    pub(super) fn may_run(&self, state: &CheckState) -> bool {
        matches!(state, CheckState::Asking(fails) if *fails < self.policy.attempts_max)
    }

    /// Rules when every case is closed and every objection has a ground.
    ///
    /// The order matters: triage and hearings can take a reviewer's last ground away, so grounds are judged after
    /// them.
    pub(super) fn settle_hearing(
        &self,
        review_round: &ReviewRound,
        cases: &BTreeMap<FindingId, Case>,
    ) -> Option<LoopEvent> {
        if cases.values().any(|case| matches!(case, Case::Open { .. })) {
            return None;
        }
        let reviewers = review_round.put_forward(&self.policy, &self.ledger);
        if !reviewers.is_empty() {
            return Some(LoopEvent::PanelAssembled { reviewers });
        }
        if let Some((reviewer, _)) = review_round.groundless(&self.policy, &self.ledger) {
            // A ground that could not be read is not a missing one.
            let unread = review_round
                .lacks_ground(&self.policy, reviewer)
                .is_some_and(|heard| !heard.answer.unread.is_empty() || panel::is_mute(&heard.answer));
            let why = if unread { Unusable::Unread } else { Unusable::Groundless };
            return Some(LoopEvent::AskedAgain { reviewer: reviewer.clone(), why, answer: None });
        }
        Some(LoopEvent::Ruled { ruling: review_round.rule(&self.policy, &self.ledger) })
    }

    /// Whether one final pass must confirm a pass: after delta rounds, or if a check was left out.
    ///
    /// Delta rounds show only what changed. Without the final pass nobody would have looked at the whole in its last
    /// form.
    fn needs_confirming(&self, review_round: &ReviewRound) -> bool {
        let left_out = self.policy.checks.iter().any(|check| !review_round.checks.contains_key(check));
        self.round > 1 && !self.confirming && (self.policy.confirm || left_out)
    }

    /// What the ruling leads to: a final pass, an end, a question or rework.
    pub(super) fn settle_ruled(&self, review_round: &ReviewRound, ruling: &Ruling) -> LoopEvent {
        match ruling {
            // Before the approval: a person is asked about what was confirmed, not about what still has to be.
            Ruling::Pass { .. } | Ruling::PassWithWarnings { .. } if self.needs_confirming(review_round) => {
                LoopEvent::Confirming
            }
            Ruling::Pass { .. } | Ruling::PassWithWarnings { .. } if self.policy.approval => {
                self.ask(Why::Approval)
            }
            Ruling::Pass { .. } => self.end(Outcome::Passed),
            Ruling::PassWithWarnings { .. } => self.end(Outcome::PassedWithWarnings),
            Ruling::NoQuorum => self.ask(Why::NoQuorum),
            Ruling::Rework { .. } => self.settle_rework(review_round),
        }
    }

    /// Whether rework may help. The convergence controller decides.
    fn settle_rework(&self, review_round: &ReviewRound) -> LoopEvent {
        let course = Course {
            policy: &self.policy,
            ledger: &self.ledger,
            series: &self.series,
            pass: self.pass,
            round: self.round,
            rounds_max: self.rounds_max,
        };
        let reviewers = self.exhaustive_reviewers(review_round);
        match converge::next(&course) {
            Next::Exhaust if !reviewers.is_empty() => LoopEvent::ExhaustiveOrdered { reviewers },
            // If no reviewer of this round is left, nobody can hold the pass.
            Next::GoOn | Next::Exhaust => {
                let fixers =
                    assign_fixers(&self.policy, &self.ledger).into_iter().map(|fixer| fixer.assignment);
                LoopEvent::ReworkOrdered { fixers: fixers.collect() }
            }
            Next::Stale => self.stop_or_ask(Outcome::Stale, Why::Stale),
            // The findings are the answer there, so nobody is asked about the pattern.
            Next::Escalate(_) if self.policy.at_the_cap == AtTheCap::Leave => self.end(Outcome::Stale),
            Next::Escalate(pattern) => self.ask(Why::Escalated(pattern)),
            Next::Cap => self.stop_or_ask(Outcome::Exhausted, Why::Exhausted),
        }
    }

    /// Who holds the exhaustive pass over the late findings of the last round.
    pub(super) fn exhaustive_reviewers(&self, review_round: &ReviewRound) -> Vec<Reviewer> {
        let must = self.series.last().map(|record| &record.must);
        let late = must.into_iter().flatten().filter(|(_, mark)| **mark == Mark::Late).map(|(id, _)| *id);
        review_round.exhaustive_reviewers(&self.policy, &late.collect(), &self.ledger)
    }

    /// At a limit the loop ends or asks, as its policy says.
    fn stop_or_ask(&self, outcome: Outcome, why: Why) -> LoopEvent {
        match self.policy.at_the_cap {
            AtTheCap::End | AtTheCap::Leave => self.end(outcome),
            AtTheCap::Ask => self.ask(why),
        }
    }

    /// A question to a person; if nobody can be asked, the end that a stop would give.
    fn ask(&self, why: Why) -> LoopEvent {
        // Only for a missing quorum does it explain why the question came up.
        let not_shown = match why {
            Why::NoQuorum => self.review_round().map(ReviewRound::not_shown).unwrap_or_default(),
            _ => Vec::new(),
        };
        let question = Question { why, revision: self.current.clone(), not_shown };
        match self.policy.unattended {
            true => self.end(question.outcome_of_stop()),
            false => LoopEvent::Asked(question),
        }
    }

    /// The end of the loop, about the newest revision.
    pub(super) fn end(&self, outcome: Outcome) -> LoopEvent {
        LoopEvent::Ended { outcome, revision: self.current.clone() }
    }
}
