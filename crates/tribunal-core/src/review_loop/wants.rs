//! What the world should be doing for a loop, state by state.
//!
//! The engine compares this with what runs after every turn. A want must stay the same until its effect reports, is
//! cleared or is cancelled; one that came and went would start and stop an agent.

use super::fixers::{Fixer, FixerState, fixer};
use super::messages::LoopWant;
use super::state::{Case, Loop, State};
use crate::effect::{EffectId, Step, Try};
use crate::ids::{Check, FindingId, Reviewer};
use crate::panel::{CheckState, ReviewRound, ReviewerState};
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
                (State::Making { fixers, .. }, Step::Make(_)) => {
                    fixer(fixers, effect).is_some_and(|fixer| fixer.may_start(fixers))
                }
                (State::Making { fixers, join_fails, .. }, Step::Join) => {
                    fixers.iter().all(Fixer::is_over) && n == Try::nth(*join_fails)
                }
                (State::Checking { review_round }, Step::Check(check)) => {
                    review_round.checks.get(check).is_some_and(|state| {
                        self.may_run(state) && *state == CheckState::Asking(n.fails) && n == Try::nth(n.fails)
                    })
                }
                (State::Judging { review_round }, Step::Judge(reviewer)) => {
                    review_round.reviewers.get(reviewer) == Some(&ReviewerState::Asking(n))
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
    pub(super) fn wants_making(&self, fixers: &[Fixer], join_fails: u32) -> Vec<(EffectId, LoopWant)> {
        if fixers.iter().all(Fixer::is_over) {
            // Fixers that were given up are left out. If all were, `settle` has ended the loop.
            let part = |fixer: &Fixer| match &fixer.state {
                FixerState::Done(revision) => Some((fixer.assignment.builder.clone(), revision.clone())),
                FixerState::Working(_) | FixerState::Gone => None,
            };
            let parts = fixers.iter().filter_map(part).collect();
            return vec![(self.effect(Step::Join, Try::nth(join_fails)), LoopWant::Join { parts })];
        }
        fixers
            .iter()
            .filter(|fixer| fixer.may_start(fixers))
            .filter_map(|fixer| match fixer.state {
                FixerState::Working(n) => {
                    let assignment = fixer.assignment.clone();
                    let effect = self.effect(Step::Make(assignment.builder.clone()), n);
                    let onto = fixer.stands_on(fixers);
                    Some((
                        effect,
                        LoopWant::Make { builder: assignment.builder, findings: assignment.findings, onto },
                    ))
                }
                FixerState::Done(_) | FixerState::Gone => None,
            })
            .collect()
    }

    /// Every check that has no answer yet, all at once.
    pub(super) fn wants_checking(&self, review_round: &ReviewRound) -> Vec<(EffectId, LoopWant)> {
        let asking = |(check, state): (&Check, &CheckState)| match state {
            CheckState::Asking(fails) if self.may_run(state) => {
                let effect = self.effect(Step::Check(check.clone()), Try::nth(*fails));
                let want = LoopWant::Check { check: check.clone(), revision: review_round.revision.clone() };
                Some((effect, want))
            }
            // A check without an attempt left wants nothing: `settle` asks a person about it.
            CheckState::Asking(_) | CheckState::Passed | CheckState::DidNotRun | CheckState::Failed(_) => {
                None
            }
        };
        review_round.checks.iter().filter_map(asking).collect()
    }

    /// Every reviewer that has not answered, all at once: none of them sees what another said.
    pub(super) fn wants_judging(&self, review_round: &ReviewRound) -> Vec<(EffectId, LoopWant)> {
        let asking = |(reviewer, state): (&Reviewer, &ReviewerState)| match state {
            ReviewerState::Asking(n) => {
                let want = LoopWant::Judge {
                    reviewer: reviewer.clone(),
                    backup: n.backup,
                    revision: review_round.revision.clone(),
                    put: review_round.put_to_part(&self.ledger, reviewer, n.part),
                    again: n.again,
                    part: n.part,
                };
                Some((self.effect(Step::Judge(reviewer.clone()), *n), want))
            }
            ReviewerState::Answered(..) | ReviewerState::Gone => None,
        };
        review_round.reviewers.iter().filter_map(asking).collect()
    }

    /// Every finding that has to be heard.
    pub(super) fn wants_hearing(
        &self,
        review_round: &ReviewRound,
        cases: &BTreeMap<FindingId, Case>,
    ) -> Vec<(EffectId, LoopWant)> {
        let open = |(finding, case): (&FindingId, &Case)| match case {
            Case::Open { tries, reviewer } => {
                let (finding, reviewer, revision) =
                    (*finding, reviewer.clone(), review_round.revision.clone());
                let effect = self.effect(Step::Hear(finding), Try::nth(*tries));
                Some((effect, LoopWant::Hear { finding, reviewer, revision }))
            }
            Case::Closed => None,
        };
        cases.iter().filter_map(open).collect()
    }
}
