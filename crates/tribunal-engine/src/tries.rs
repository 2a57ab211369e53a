//! Tries of reviewers that did not count: why each was lost and what of it was not read. Folded from the journal; it tells
//! the next try, and the person who is asked, and decides nothing.

use std::collections::BTreeMap;
use tribunal_core::effect::{EffectId, Step};
use tribunal_core::finding::{Answer, UnreadPart};
use tribunal_core::ids::{FindingId, LoopId, Seat};
use tribunal_core::r#loop::{Choice, Failure, LoopEvent};
use tribunal_core::panel::Unusable;
use tribunal_view::events::unusable_words;
use tribunal_view::plain;

/// One try that did not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostTry {
    /// The launch that made it; its note has the words.
    pub effect: EffectId,
    /// Why an answer did not count; none where there was no answer.
    pub unusable: Option<Unusable>,
    /// Why, in words.
    pub why: String,
    /// What in it may be a finding and was not read.
    pub unread: Vec<UnreadPart>,
    /// Which findings put to it were answered.
    pub answered: Vec<FindingId>,
}

/// All of them, by loop and reviewer, of the sitting that is under way or was the last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tries {
    seats: BTreeMap<LoopId, BTreeMap<Seat, SeatTries>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct SeatTries {
    /// Who is asked now.
    asked: Option<EffectId>,
    /// An answer that counted, until its grounds fall away.
    counted: Option<(EffectId, Vec<UnreadPart>, Vec<FindingId>)>,
    lost: Vec<LostTry>,
}

impl Tries {
    /// The tries of a reviewer that did not count, in order.
    pub fn of(&self, id: &LoopId, seat: &Seat) -> &[LostTry] {
        self.seats.get(id).and_then(|seats| seats.get(seat)).map_or(&[], |tries| tries.lost.as_slice())
    }

    /// All of a loop, with the reviewer of each.
    pub fn of_loop(&self, id: &LoopId) -> impl Iterator<Item = (&Seat, &LostTry)> {
        let seats = self.seats.get(id).into_iter().flatten();
        seats.flat_map(|(seat, tries)| tries.lost.iter().map(move |lost| (seat, lost)))
    }

    /// Takes one event of a loop.
    pub(crate) fn take(&mut self, id: &LoopId, event: &LoopEvent) {
        let sits_anew = match event {
            LoopEvent::RoundBegan { .. } | LoopEvent::Confirming => true,
            LoopEvent::Decided(decision) => matches!(decision.choice, Choice::Fixed(_) | Choice::Reask),
            _ => false,
        };
        if sits_anew {
            self.seats.remove(id);
        }
        match event {
            LoopEvent::ExhaustiveOrdered { seats } => {
                let tries = self.seats.entry(id.clone()).or_default();
                tries.retain(|seat, _| !seats.contains(seat));
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
            }
            LoopEvent::AskedAgain { seat, why, answer, .. } => {
                let tries = self.seats.entry(id.clone()).or_default().entry(seat.clone()).or_default();
                tries.asked_again(*why, answer.as_ref());
            }
            _ => {}
        }
    }

    fn tries(&mut self, id: &LoopId, effect: &EffectId) -> Option<&mut SeatTries> {
        let Step::Judge(seat) = &effect.step else { return None };
        Some(self.seats.entry(id.clone()).or_default().entry(seat.clone()).or_default())
    }
}

impl SeatTries {
    fn asked_again(&mut self, why: Unusable, answer: Option<&Answer>) {
        let now = answer.map(|answer| (answer.unread.clone(), said(answer)));
        let lost = match (now, self.counted.take()) {
            (Some((unread, answered)), _) => self.asked.clone().map(|effect| (effect, unread, answered)),
            (None, counted) => counted,
        };
        let Some((effect, unread, answered)) = lost else { return };
        let why_words = unusable_words(why).to_owned();
        self.lost.push(LostTry { effect, unusable: Some(why), why: why_words, unread, answered });
    }
}

fn failed(effect: &EffectId, failure: &Failure) -> LostTry {
    let kind = serde_json::to_value(failure.kind).ok();
    let kind = kind.as_ref().and_then(|kind| kind.as_str()).unwrap_or("lost").replace('_', " ");
    let why = match plain::clipped(&failure.text, 600) {
        text if text.is_empty() => kind,
        text => format!("{kind}: {text}"),
    };
    let unread = failure.unread.clone();
    LostTry { effect: effect.clone(), unusable: None, why, unread, answered: Vec::new() }
}

fn said(answer: &Answer) -> Vec<FindingId> {
    answer.said.keys().copied().collect()
}
