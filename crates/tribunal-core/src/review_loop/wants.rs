//! What the world should be doing for a loop, state by state.
//!
//! The engine compares this with what runs after every turn. A want must stay the same until its effect reports, is
//! cleared or is cancelled; one that came and went would start and stop an agent.

use super::crew::{Hand, HandState, hand};
use super::messages::LoopWant;
use super::state::{Case, Loop, State};
use crate::effect::{EffectId, Step, Try};
use crate::ids::{Check, FindingId, Seat};
use crate::panel::{Bench, CheckState, SeatState};
use std::collections::BTreeMap;

impl Loop {
    /// Whether [`Machine::wants`](crate::machine::Machine::wants) has this effect, without building all wants.
    ///
    /// A fold asks this for every report in the journal, so it must be cheap. The law
    /// `wanted` compares both.
    pub fn is_wanted(&self, effect: &EffectId) -> bool {
        if let Some(guarded) = effect.guarded() {
            // A wake-up is wanted exactly as long as the intent that it guards has a deadline.
            return self.intents.due(&guarded).flatten().is_some();
        }
        let n = effect.n;
        effect.of.as_str() == self.id.as_str()
            && effect.entry == self.entry
            // A launch that was proven not to have happened has an older number, and its late report is stale.
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

    /// Everybody who may start, and the join when all are over.
    pub(super) fn wants_making(&self, crew: &[Hand], join_fails: u32) -> Vec<(EffectId, LoopWant)> {
        if crew.iter().all(Hand::is_over) {
            // Fixers that were given up are left out. If all were, `settle` has ended the loop.
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

    /// Every check that has no answer yet, all at once.
    pub(super) fn wants_checking(&self, bench: &Bench) -> Vec<(EffectId, LoopWant)> {
        let asking = |(check, state): (&Check, &CheckState)| match state {
            CheckState::Asking(fails) if self.may_run(state) => {
                let effect = self.effect(Step::Check(check.clone()), Try::nth(*fails));
                let want = LoopWant::Check { check: check.clone(), revision: bench.revision.clone() };
                Some((effect, want))
            }
            // A check without an attempt left wants nothing: `settle` asks a person about it.
            CheckState::Asking(_) | CheckState::Passed | CheckState::DidNotRun | CheckState::Failed(_) => {
                None
            }
        };
        bench.checks.iter().filter_map(asking).collect()
    }

    /// Every reviewer that has not answered, all at once: none of them sees what another said.
    pub(super) fn wants_judging(&self, bench: &Bench) -> Vec<(EffectId, LoopWant)> {
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

    /// Every finding that has to be heard.
    pub(super) fn wants_hearing(
        &self,
        bench: &Bench,
        cases: &BTreeMap<FindingId, Case>,
    ) -> Vec<(EffectId, LoopWant)> {
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
