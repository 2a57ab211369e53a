//! Tries of reviewers that did not count: why each was lost, and which parts of its answer could not be read.
//!
//! They are folded from the journal. The next try is told the reason, so that it does not repeat the mistake, and so is
//! the person who is asked in the end. Nothing is decided here.

use std::collections::BTreeMap;
use tribunal_core::effect::{EffectId, Step};
use tribunal_core::evidence::Refused;
use tribunal_core::finding::{Answer, UnreadPart, Verdict};
use tribunal_core::ids::{FindingId, LoopId, Reviewer};
use tribunal_core::panel::Unusable;
use tribunal_core::review_loop::{Choice, Failure, LoopEvent};
use tribunal_view::events::unusable_words;
use tribunal_view::plain;

/// How many characters of an unread part a reason quotes.
const UNREAD_WORDS_MAX: usize = 160;

/// One try that did not count.
///
/// It is either an answer that was unusable or a launch that failed; `unusable` tells them apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostTry {
    /// The launch that made it. Its note has the words of the answer.
    pub effect: EffectId,
    /// Why an answer did not count; none where there was no answer.
    pub unusable: Option<Unusable>,
    /// The same reason, in words.
    pub why: String,
    /// Parts that may be findings and could not be read.
    pub unread: Vec<UnreadPart>,
    /// The findings put to the reviewer that it answered.
    pub answered: Vec<FindingId>,
    /// Statements about what was checked that are not evidence.
    pub refused: Option<Refused>,
}

/// The lost tries of all loops and reviewers.
///
/// Each review round starts with none, because the reasons of an earlier round bind nobody any more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tries {
    reviewers: BTreeMap<LoopId, BTreeMap<Reviewer, ReviewerTries>>,
    /// Tries of earlier rounds. They are kept for people, who still want to know why each was lost.
    past: BTreeMap<LoopId, Vec<(Reviewer, LostTry)>>,
    /// Reviewers whose answer counts in the current or the last round, and the launch that gave it.
    judged: BTreeMap<LoopId, BTreeMap<Reviewer, (EffectId, Verdict)>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct ReviewerTries {
    /// The launch that was asked last.
    asked: Option<EffectId>,
    /// An answer that counted, until its grounds fall away.
    counted: Option<(EffectId, Vec<UnreadPart>, Vec<FindingId>)>,
    lost: Vec<LostTry>,
}

impl Tries {
    /// The tries of a reviewer that did not count, in order.
    pub fn of(&self, id: &LoopId, reviewer: &Reviewer) -> &[LostTry] {
        self.reviewers
            .get(id)
            .and_then(|reviewers| reviewers.get(reviewer))
            .map_or(&[], |tries| tries.lost.as_slice())
    }

    /// All lost tries of a loop, with their reviewers.
    pub fn of_loop(&self, id: &LoopId) -> impl Iterator<Item = (&Reviewer, &LostTry)> {
        let reviewers = self.reviewers.get(id).into_iter().flatten();
        reviewers.flat_map(|(reviewer, tries)| tries.lost.iter().map(move |lost| (reviewer, lost)))
    }

    /// All lost tries of a loop, those of earlier rounds first.
    pub fn of_all_judged_rounds(&self, id: &LoopId) -> impl Iterator<Item = (&Reviewer, &LostTry)> {
        let past = self.past.get(id).into_iter().flatten().map(|(reviewer, lost)| (reviewer, lost));
        past.chain(self.of_loop(id))
    }

    /// The answers that count in the last round of a loop: the launch that gave each, and its verdict.
    pub fn judged(&self, id: &LoopId) -> impl Iterator<Item = (&Reviewer, &EffectId, Verdict)> {
        let reviewers = self.judged.get(id).into_iter().flatten();
        reviewers.map(|(reviewer, (effect, verdict))| (reviewer, effect, *verdict))
    }

    /// Moves the lost tries of a round that is over to the past.
    fn archive(&mut self, id: &LoopId, over: impl Fn(&Reviewer) -> bool) {
        let Some(reviewers) = self.reviewers.get_mut(id) else { return };
        for (reviewer, tries) in reviewers.iter_mut().filter(|(reviewer, _)| over(reviewer)) {
            let lost = std::mem::take(&mut tries.lost).into_iter().map(|lost| (reviewer.clone(), lost));
            self.past.entry(id.clone()).or_default().extend(lost);
        }
        reviewers.retain(|reviewer, _| !over(reviewer));
    }

    /// Takes one event of a loop, in the order of the journal.
    pub(crate) fn take(&mut self, id: &LoopId, event: &LoopEvent) {
        let sits_anew = match event {
            LoopEvent::RoundBegan { .. } | LoopEvent::Confirming => true,
            LoopEvent::Decided(decision) => matches!(decision.choice, Choice::Fixed(_) | Choice::Reask),
            _ => false,
        };
        if sits_anew {
            self.archive(id, |_| true);
        }
        // A final pass keeps the verdicts of reviewers that it does not ask.
        if sits_anew && !matches!(event, LoopEvent::Confirming) {
            self.judged.remove(id);
        }
        match event {
            // Only the reviewers that are asked again start afresh; the others keep what was said.
            LoopEvent::ExhaustiveOrdered { reviewers } => {
                self.archive(id, |reviewer| reviewers.contains(reviewer));
            }
            LoopEvent::Intended { effect, .. } => {
                if let Some(tries) = self.tries(id, effect) {
                    tries.asked = Some(effect.clone());
                }
            }
            LoopEvent::Failed { effect, failure } => {
                if let Some(tries) = self.tries(id, effect) {
                    tries.lost.push(failed(effect, failure));
                }
            }
            LoopEvent::Answered { effect, answer, .. } => {
                if let Some(tries) = self.tries(id, effect) {
                    tries.counted = Some((effect.clone(), answer.unread.clone(), said(answer)));
                }
                if let Step::Judge(reviewer) = &effect.step {
                    let judged = self.judged.entry(id.clone()).or_default();
                    judged.insert(reviewer.clone(), (effect.clone(), answer.verdict));
                }
            }
            LoopEvent::AskedAgain { reviewer, why, answer, .. } => {
                let tries =
                    self.reviewers.entry(id.clone()).or_default().entry(reviewer.clone()).or_default();
                tries.asked_again(*why, answer.as_ref());
                // An answer that had counted lost its grounds. The reviewer has to answer anew.
                if let (None, Some(judged)) = (answer, self.judged.get_mut(id)) {
                    judged.remove(reviewer);
                }
            }
            _ => {}
        }
    }

    fn tries(&mut self, id: &LoopId, effect: &EffectId) -> Option<&mut ReviewerTries> {
        let Step::Judge(reviewer) = &effect.step else { return None };
        Some(self.reviewers.entry(id.clone()).or_default().entry(reviewer.clone()).or_default())
    }
}

impl ReviewerTries {
    fn asked_again(&mut self, why: Unusable, answer: Option<&Answer>) {
        let now = answer.map(|answer| (answer.unread.clone(), said(answer)));
        // With an answer, the try that was just asked is lost. Without one, it is an earlier answer that had counted.
        let lost = match (now, self.counted.take()) {
            (Some((unread, answered)), _) => self.asked.clone().map(|effect| (effect, unread, answered)),
            (None, counted) => counted,
        };
        let Some((effect, unread, answered)) = lost else { return };
        let refused = answer.and_then(|answer| answer.refused.clone());
        let mut words = unusable_words(why, refused.as_ref());
        // Name what could not be read, so that nobody has to look for it.
        if let Some(first) = unread.first().filter(|_| why == Unusable::Unread) {
            let more =
                if unread.len() > 1 { format!(", and {} more", unread.len() - 1) } else { String::new() };
            let text = plain::clipped(&first.text, UNREAD_WORDS_MAX);
            words = format!("{words}: {text:?}, {}{more}", plain::clipped(&first.why, UNREAD_WORDS_MAX));
        }
        self.lost.push(LostTry { effect, unusable: Some(why), why: words, unread, answered, refused });
    }
}

fn failed(effect: &EffectId, failure: &Failure) -> LostTry {
    // The serialized name is the public word for the kind.
    let kind = serde_json::to_value(failure.kind).ok();
    let kind = kind.as_ref().and_then(|kind| kind.as_str()).unwrap_or("lost").replace('_', " ");
    let why = match plain::clipped(&failure.text, 600) {
        text if text.is_empty() => kind,
        text => format!("{kind}: {text}"),
    };
    let unread = failure.unread.clone();
    LostTry { effect: effect.clone(), unusable: None, why, unread, answered: Vec::new(), refused: None }
}

fn said(answer: &Answer) -> Vec<FindingId> {
    answer.said.keys().copied().collect()
}
