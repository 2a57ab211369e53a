//! What an input means to a loop: one event, or nothing. Reports with a stale effect id are ignored.
//!
//! `decide` changes nothing. It returns one event at most, because a second one would be computed from a state that
//! no longer exists when it is applied; everything that follows is left to `settle`.

use super::events::LoopEvent;
use super::messages::{LoopReport, LoopWant};
use super::state::Loop;
use crate::cover::{Shown, Weight};
use crate::effect::EffectId;
use crate::failure::{Failure, FailureKind};
use crate::finding::{Answer, Reply};
use crate::ids::{FindingId, Reviewer, Revision, Time};
use crate::machine::Machine;
use std::collections::BTreeMap;

impl Loop {
    /// What a report means. A report of an effect that is not wanted, or was never launched, means nothing.
    ///
    /// Late, repeated and foreign reports all end here: their ids are not among the wants.
    pub(super) fn decide_report(
        &self,
        effect: &EffectId,
        at: Time,
        report: &LoopReport,
    ) -> Option<LoopEvent> {
        // Before the wants: a wake-up is about another effect, whose intent has the deadline.
        if let Some(guarded) = effect.guarded() {
            return self.decide_wake(&guarded, at, report);
        }
        let want = self.wants().remove(effect).filter(|_| self.intents.is_launched(effect))?;
        if let LoopReport::Failed(failure) = report {
            let asked = matches!(want, LoopWant::Ask(_));
            // A question has no attempts to lose. It stays open until a person answers.
            return (!asked).then(|| LoopEvent::Failed { effect: effect.clone(), failure: failure.clone() });
        }
        self.decide_answer(effect, &want, report)
    }

    /// A wake-up costs the effect it guards an attempt, if its deadline has really passed.
    fn decide_wake(&self, guarded: &EffectId, at: Time, report: &LoopReport) -> Option<LoopEvent> {
        let late = *report == LoopReport::Due && self.intents.is_overdue(guarded, at);
        late.then(|| LoopEvent::Failed { effect: guarded.clone(), failure: Failure::timed_out() })
    }

    /// What the report of a wanted effect means. One that answers something else costs an attempt.
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
            (LoopWant::Judge { reviewer, .. }, LoopReport::Judged { answer, shown, put }) => {
                self.decide_judged(effect, reviewer, answer, *shown, put)
            }
            (LoopWant::Judge { reviewer, .. }, LoopReport::AllShown(shown)) => {
                // The world claims that nothing is left to show. Whether that is enough for a verdict is decided
                // here.
                match shown.is_whole() && self.keeps_verdict(reviewer, effect.n) {
                    true => Some(LoopEvent::VerdictKept { effect, shown: *shown }),
                    false => garbled("there is no verdict that could stand"),
                }
            }
            (LoopWant::Judge { reviewer, .. }, LoopReport::TooLarge(shown)) => {
                match self.review_round()?.is_too_large(&self.policy, reviewer, *shown) {
                    true => Some(LoopEvent::TooLarge { effect, shown: *shown }),
                    false => garbled("the change takes no more parts than may be asked about"),
                }
            }
            (LoopWant::Track { .. }, LoopReport::Tracked { findings, delta }) => {
                // Before the correction, which cannot put right a report that mixes kinds of findings or loses what
                // was raised.
                if let Some(why) = self.review_round()?.misheard(&self.ledger, findings) {
                    return garbled(why);
                }
                let corrected = self.review_round()?.correct(&self.policy, &self.ledger, findings);
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
            // No attempt is lost by a wrong answer to a question: the question is still there.
            (LoopWant::Ask(_) | LoopWant::Wake { .. }, _) => None,
            (_, _) => Some(LoopEvent::Failed { effect: effect.clone(), failure: Failure::off_topic() }),
        }
    }

    /// What a reviewer's answer counts for. The panel weighs it; an unusable one is asked for again.
    fn decide_judged(
        &self,
        effect: EffectId,
        reviewer: &Reviewer,
        answer: &Answer,
        shown: Shown,
        put: &[FindingId],
    ) -> Option<LoopEvent> {
        let told = (effect.n, answer, shown);
        let weight = self.review_round()?.weigh(&self.policy, &self.ledger, reviewer, told, put, self.round);
        let answer = answer.clone();
        Some(match weight {
            Weight::Whole(whole, shown) => {
                // The last part alone, too: `apply` adds the parts up again and compares.
                let part = (shown.parts > 1).then(|| Box::new(answer));
                LoopEvent::Answered { effect, answer: whole, shown, part }
            }
            Weight::Part => LoopEvent::PartAnswered { effect, answer, shown },
            Weight::NotCovered => LoopEvent::NotCovered { effect, answer, shown },
            Weight::Unusable(why) => {
                LoopEvent::AskedAgain { reviewer: reviewer.clone(), why, answer: Some(answer) }
            }
            Weight::Garbled => {
                let failure = Failure::new(FailureKind::Garbled, "what was shown does not add up");
                LoopEvent::Failed { effect, failure }
            }
        })
    }

    /// A builder that is not done iterates if runs are counted; otherwise that is a lost attempt.
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

    /// Whether the engine may launch this effect, and until when it has time.
    pub(super) fn decide_intend(&self, effect: &EffectId, at: Time) -> Option<LoopEvent> {
        let may = self.intents.may_add(effect) && self.is_wanted(effect);
        let due = effect.step.deadline(at, self.timeout_ms(&effect.step));
        may.then(|| LoopEvent::Intended { effect: effect.clone(), due })
    }
}
