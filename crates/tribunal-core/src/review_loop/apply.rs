//! How events change a loop. Each function returns `None` if the event cannot follow the state: then the journal is
//! corrupt, or we have a bug.
//!
//! `apply` is used for live events and for folding old journals alike. It checks only that an event can follow the
//! state, not that `settle` would give it today: a journal outlives the rules.

use super::events::LoopEvent;
use super::fixers::{Fixer, FixerState, assign_fixers, fixer_mut};
use super::messages::FixAssignment;
use super::question::{Choice, Decision, Outcome, Question, Why};
use super::state::{Case, Loop, State};
use crate::converge::{Pass, RoundRecord};
use crate::cover::{Heard, Look, Shown};
use crate::effect::{EffectId, Step, Try};
use crate::failure::FailureKind;
use crate::finding::{Answer, Fate, Said};
use crate::ids::{Check, FindingId, Reviewer, Revision};
use crate::machine::Machine;
use crate::panel::{self, CheckState, ReviewRound, ReviewerState, Ruling, Unusable};
use std::collections::BTreeMap;
use std::sync::Arc;

impl Loop {
    /// Counts a run of the builder that is over, whatever came of it.
    fn count_run(&mut self, effect: &EffectId) {
        self.intents.close(effect);
        self.iterations += 1;
        self.iterations_here += 1;
    }

    /// Events while somebody builds.
    pub(super) fn apply_making(&mut self, event: &LoopEvent) -> Option<()> {
        let policy = self.policy.clone();
        let State::Making { fixers, join_fails, news } = &mut self.state else { return None };
        match event {
            LoopEvent::Made { effect, revision, replies } => {
                fixer_mut(fixers, effect)?.state = FixerState::Done(revision.clone());
                // Before the replies are recorded: afterwards none of them is new.
                *news |= self.ledger.is_news(replies);
                // A single builder's revision is the result. Several have to be joined first.
                let made =
                    (fixers.len() == 1).then(|| State::Made { revision: revision.clone(), news: *news });
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
                // An iteration is the next try and so has a new effect id, but it does not count as a failure here.
                let n = Try { fails: effect.n.fails + 1, ..effect.n };
                fixer_mut(fixers, effect)?.state = FixerState::Working(n);
                self.current = Some(revision.clone());
                self.count_run(effect);
            }
            LoopEvent::Failed { effect, .. } if effect.step == Step::Join => *join_fails += 1,
            // There is nothing to judge and nothing to revise: a fallback would begin where this builder did.
            LoopEvent::Failed { effect, failure }
                if failure.kind == FailureKind::Unchanged && fixers.len() == 1 =>
            {
                fixer_mut(fixers, effect)?.state = FixerState::Gone;
                self.count_run(effect);
                self.enter(State::Closing { outcome: Outcome::Stale });
            }
            LoopEvent::Failed { effect, failure } => {
                let next = panel::after_making(&policy, effect.n, failure.kind);
                fixer_mut(fixers, effect)?.state = next.map_or(FixerState::Gone, FixerState::Working);
                self.count_run(effect);
            }
            _ => return None,
        }
        Some(())
    }

    /// A round begins with the revision that was just made.
    pub(super) fn apply_round_began(&mut self, round: u32, revision: &Revision) -> Option<()> {
        let State::Made { revision: made, .. } = &self.state else { return None };
        if made != revision || round != self.round + 1 {
            return None;
        }
        self.begin_round(revision.clone());
        Some(())
    }

    /// Begins the next round with this revision.
    fn begin_round(&mut self, revision: Revision) {
        self.round += 1;
        self.confirming = false;
        // Also for a revision that was judged before: an argument about it is a round of its own.
        self.judged.push(revision.clone());
        self.sit(revision);
    }

    /// Begins a review: checks first.
    fn sit(&mut self, revision: Revision) {
        self.current = Some(revision.clone());
        let review_round = self.assemble(revision);
        self.enter(State::Checking { review_round });
    }

    /// Events while checks run.
    pub(super) fn apply_checking(&mut self, event: &LoopEvent) -> Option<()> {
        let State::Checking { review_round } = &mut self.state else { return None };
        match event {
            LoopEvent::Checked { effect, checked } => {
                let Step::Check(check) = &effect.step else { return None };
                let state = review_round.checks.get_mut(check)?;
                // Only the last answer counts: a check that ran now is not reported as missing.
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
                *review_round.checks.get_mut(check)? = CheckState::DidNotRun;
                self.unchecked.insert(check.clone(), why.clone());
            }
            LoopEvent::Failed { effect, .. } => {
                let Step::Check(check) = &effect.step else { return None };
                match review_round.checks.get_mut(check)? {
                    CheckState::Asking(fails) => *fails += 1,
                    CheckState::Passed | CheckState::DidNotRun | CheckState::Failed(_) => return None,
                }
            }
            LoopEvent::PanelAssembled { reviewers } if review_round.checks_done() => {
                let review_round = review_round.clone();
                self.assemble_panel(review_round, reviewers);
            }
            _ => return None,
        }
        Some(())
    }

    /// Asks these reviewers, each for the first time in this round.
    fn assemble_panel(&mut self, mut review_round: ReviewRound, reviewers: &[Reviewer]) {
        let asking = |reviewer: &Reviewer| (reviewer.clone(), ReviewerState::Asking(Try::default()));
        review_round.reviewers = reviewers.iter().map(asking).collect();
        self.enter(State::Judging { review_round });
    }

    /// A reviewer that the final pass has nothing to show to keeps its verdict.
    fn apply_kept(&mut self, effect: &EffectId, shown: Shown) -> Option<()> {
        let Step::Judge(reviewer) = &effect.step else { return None };
        // Checked again and not only in `decide`: no journal may bring a verdict into being that nobody gave.
        let may = shown.is_whole() && self.keeps_verdict(reviewer, effect.n);
        let answer = self.kept_verdict(reviewer).filter(|_| may)?;
        let State::Judging { review_round } = &mut self.state else { return None };
        let reviewer = reviewer_of(review_round, effect)?;
        review_round.hear(&reviewer, Heard { n: effect.n, answer: answer.clone(), shown });
        review_round.reviewers.insert(reviewer, ReviewerState::Answered(effect.n, answer));
        self.intents.close(effect);
        Some(())
    }

    /// Events while reviewers are asked.
    pub(super) fn apply_judging(&mut self, event: &LoopEvent) -> Option<()> {
        if let LoopEvent::VerdictKept { effect, shown } = event {
            return self.apply_kept(effect, *shown);
        }
        let policy = Arc::clone(&self.policy);
        let State::Judging { review_round } = &mut self.state else { return None };
        match event {
            LoopEvent::Answered { effect, answer, shown, part } => {
                let reviewer = reviewer_of(review_round, effect)?;
                let own = part.as_deref().unwrap_or(answer).clone();
                review_round.hear(&reviewer, Heard { n: effect.n, answer: own, shown: *shown });
                let whole = shown.is_whole() && review_round.merged(&reviewer).as_ref() == Some(answer);
                // The stored answer must be what its parts add up to, or the journal is corrupt.
                whole.then_some(())?;
                review_round.reviewers.insert(reviewer, ReviewerState::Answered(effect.n, answer.clone()));
                self.intents.close(effect);
            }
            LoopEvent::PartAnswered { effect, answer, shown } => {
                let reviewer = reviewer_of(review_round, effect)?;
                review_round.hear(&reviewer, Heard { n: effect.n, answer: answer.clone(), shown: *shown });
                let next = ReviewerState::Asking(review_round.next_part(&reviewer));
                review_round.reviewers.insert(reviewer, next);
                self.intents.close(effect);
            }
            LoopEvent::NotCovered { effect, answer, shown } => {
                let reviewer = reviewer_of(review_round, effect)?;
                review_round.hear(&reviewer, Heard { n: effect.n, answer: answer.clone(), shown: *shown });
                review_round.lose(&reviewer, &self.ledger);
                self.intents.close(effect);
            }
            LoopEvent::TooLarge { effect, shown } => {
                let reviewer = reviewer_of(review_round, effect)?;
                review_round.is_too_large(&policy, &reviewer, *shown).then_some(())?;
                review_round.leave_out(&policy, &reviewer, *shown, &self.ledger);
                self.intents.close(effect);
            }
            LoopEvent::AskedAgain { reviewer, why, answer: Some(answer) } => {
                let ReviewerState::Asking(n) = *review_round.reviewers.get(reviewer)? else { return None };
                let next = panel::after_unusable(&policy, n, *why);
                review_round.go_on(reviewer, next, &self.ledger);
                review_round.owe(reviewer, (n, next), panel::objection(answer));
                let effect = self.effect(Step::Judge(reviewer.clone()), n);
                // The event names a reviewer and not an effect, so the intent is looked for by its id.
                self.intents.close(&effect).then_some(())?;
            }
            LoopEvent::Failed { effect, failure } => {
                let reviewer = reviewer_of(review_round, effect)?;
                let next = panel::after_failure(&policy, effect.n, failure.kind);
                review_round.go_on(&reviewer, next, &self.ledger);
                review_round.owe(&reviewer, (effect.n, next), panel::lost_objection(failure));
                self.intents.close(effect);
            }
            LoopEvent::PanelClosed if review_round.reviewers_done() => {
                let mut review_round = review_round.clone();
                review_round.end_pass();
                // Only what everybody has looked at may be left out of the next round's diff.
                if review_round.answers().count() == policy.reviewers.len() {
                    self.seen.push(review_round.revision.clone());
                }
                self.enter(State::Tracking { review_round, fails: 0 });
            }
            _ => return None,
        }
        Some(())
    }

    /// Events while findings are matched.
    pub(super) fn apply_tracking(&mut self, event: &LoopEvent) -> Option<()> {
        let State::Tracking { review_round, fails } = &mut self.state else { return None };
        match event {
            LoopEvent::Tracked { findings, delta } => {
                let review_round = review_round.clone();
                self.ledger.track(findings, self.round, self.policy.adjudicator.is_some());
                self.delta = *delta;
                self.tracked = Some(review_round.revision.clone());
                // Before the panel is chosen below: a question that was answered is not put forward again.
                self.take_proofs(&review_round);
                let asked_first = !review_round.put_forward(&self.policy, &self.ledger).is_empty();
                // Questions of checks are put to the panel first; what it says may settle a case.
                let cases = if asked_first { BTreeMap::new() } else { self.cases(&review_round) };
                self.enter(State::Hearing { review_round, cases });
            }
            LoopEvent::Failed { .. } => *fails += 1,
            _ => return None,
        }
        Some(())
    }

    /// Records the proofs that were named and found. They hold for this revision, and are not asked for twice.
    fn take_proofs(&mut self, review_round: &ReviewRound) {
        for (id, said) in review_round.answers().flat_map(|(_, answer)| &answer.said) {
            let asks = self.ledger.get(*id).is_some_and(|entry| entry.claim.asks);
            match said {
                Said::Shown(proof) if asks => self.ledger.prove(*id, &review_round.revision, proof),
                Said::NoProof(missing) if asks => self.ledger.unproven(*id, missing),
                _ => {}
            }
        }
    }

    /// Events while findings are heard, up to the ruling.
    pub(super) fn apply_hearing(&mut self, event: &LoopEvent) -> Option<()> {
        let policy = Arc::clone(&self.policy);
        let State::Hearing { review_round, cases } = &mut self.state else { return None };
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
                    // Given up: the finding stays open, and it is not heard a second time.
                    *case = Case::Closed;
                    self.ledger.heard(finding, None);
                }
                self.intents.close(effect);
            }
            LoopEvent::PanelAssembled { reviewers }
                if all_heard && review_round.put_forward(&policy, &self.ledger) == *reviewers =>
            {
                if reviewers.is_empty() {
                    return None;
                }
                let review_round = review_round.clone();
                self.assemble_panel(review_round, reviewers);
            }
            LoopEvent::AskedAgain { reviewer, why, .. } if all_heard => {
                let ReviewerState::Answered(..) = review_round.reviewers.get(reviewer)? else { return None };
                let heard = review_round.take_back(&policy, reviewer)?;
                let next = panel::after_unusable(&policy, heard.n, *why);
                review_round.go_on(reviewer, next, &self.ledger);
                if next.is_some() {
                    // An objection that was read and came to nothing binds nobody: then the verdict may change.
                    let objection = panel::objection(&heard.answer).filter(|_| *why == Unusable::Unread);
                    review_round.owe(reviewer, (heard.n, next), objection);
                    let review_round = review_round.clone();
                    self.enter(State::Judging { review_round });
                }
            }
            // A reviewer without a ground is asked again first, or given up.
            LoopEvent::Ruled { ruling }
                if all_heard && review_round.groundless(&policy, &self.ledger).is_none() =>
            {
                let state = State::Ruled { review_round: review_round.clone(), ruling: ruling.clone() };
                self.record(ruling);
                self.note_looks();
                self.enter(state);
            }
            _ => return None,
        }
        Some(())
    }

    /// Records what each reviewer that answered has been shown, now that the round is over.
    fn note_looks(&mut self) {
        let Some(review_round) = self.review_round() else { return };
        let look = Look { since: self.since().cloned(), revision: review_round.revision.clone() };
        let stood: BTreeMap<Reviewer, Answer> =
            review_round.answers().map(|(reviewer, answer)| (reviewer.clone(), answer.clone())).collect();
        for reviewer in stood.keys() {
            let looks = self.looks.entry(reviewer.clone()).or_default();
            // A round may be ruled twice, before and after an exhaustive pass, and the look is the same.
            if !looks.contains(&look) {
                looks.push(look.clone());
            }
        }
        self.stood = stood;
    }

    /// Records a round that needed rework. The series keeps one record for each.
    fn record(&mut self, ruling: &Ruling) {
        let (Ruling::Rework { must }, Some(review_round)) = (ruling, self.review_round()) else { return };
        let marked = |id: &FindingId| (*id, self.ledger.mark(*id, self.round));
        let left = |id: &FindingId| Some((*id, self.ledger.get(*id)?.left_twice()?));
        let record = RoundRecord {
            round: self.round,
            must: must.iter().map(marked).collect(),
            left: must.iter().filter_map(left).collect(),
            complete: review_round.is_complete(),
            fundamental: review_round.is_fundamental(),
        };
        // A round may be ruled twice, before and after an exhaustive pass.
        self.series.retain(|earlier| earlier.round != record.round);
        self.series.push(record);
    }

    /// Events after a ruling.
    pub(super) fn apply_ruled(&mut self, event: &LoopEvent) -> Option<()> {
        let State::Ruled { review_round, ruling } = &self.state else { return None };
        let passed = matches!(ruling, Ruling::Pass { .. } | Ruling::PassWithWarnings { .. });
        match event {
            LoopEvent::Confirming if passed && !self.confirming => {
                let revision = review_round.revision.clone();
                self.confirming = true;
                self.sit(revision);
            }
            LoopEvent::ExhaustiveOrdered { reviewers } => {
                let Ruling::Rework { must } = ruling else { return None };
                // One pass per series, and held by those whom the rules name. A pass by nobody would settle nothing.
                if self.pass.is_some()
                    || *reviewers != self.exhaustive_reviewers(review_round)
                    || reviewers.is_empty()
                {
                    return None;
                }
                let mut review_round = review_round.clone();
                review_round.exhaust(&self.policy, reviewers);
                self.pass =
                    Some(Pass { round: self.round, open: u32::try_from(must.len()).unwrap_or(u32::MAX) });
                self.enter(State::Judging { review_round });
            }
            LoopEvent::ReworkOrdered { fixers } => {
                let Ruling::Rework { must } = ruling else { return None };
                self.ledger.order(&must.clone());
                self.make(fixers.clone());
            }
            _ => return None,
        }
        Some(())
    }

    /// Begins the work of everybody who has a share in the rework.
    fn make(&mut self, fixers: Vec<FixAssignment>) {
        let working = |assignment| Fixer { assignment, state: FixerState::Working(Try::default()) };
        let fixers = fixers.into_iter().map(working).collect();
        self.enter(State::Making { fixers, join_fails: 0, news: false });
    }

    /// Whether a question can follow this state.
    ///
    /// It is not compared with `settle`: a journal outlives the rules.
    pub(super) fn apply_asked(&mut self, question: &Question) -> Option<()> {
        let may = match (&self.state, &question.why) {
            (State::Made { .. }, Why::Stale) => true,
            (State::Checking { review_round }, Why::ChecksDidNotRun) => {
                // A check has no answer and no attempt left. As long as one may still run, nobody is asked.
                !review_round.checks_done() && !review_round.checks.values().any(|state| self.may_run(state))
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

    /// The answer of a person to the open question.
    pub(super) fn apply_decided(&mut self, decision: &Decision) -> Option<()> {
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
                // A manual fix is reviewed even if the rounds were spent; it does not buy the builder another one.
                self.rounds_max = self.rounds_max.max(self.round);
            }
            Choice::Again(rounds) => {
                self.new_series();
                self.rounds_max = self.round + rounds;
                // The person grants new rounds, and with them new runs of the builder.
                self.iterations_here = 0;
                let fixers = assign_fixers(&self.policy, &self.ledger);
                self.enter(State::Making { fixers, join_fails: 0, news: false });
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

    /// Starts a new series after a person sent the work on: survived fixes and reopenings count from zero, judged
    /// revisions stay known.
    fn new_series(&mut self) {
        self.series.clear();
        self.pass = None;
        self.ledger.new_series();
    }

    /// Whether this outcome can follow the state.
    fn may_end(&self, outcome: &Outcome) -> bool {
        match (&self.state, outcome) {
            (State::Ended { .. }, _) => false,
            (State::Closing { outcome: settled }, said) => settled == said,
            // A cancel may come at any moment, so it can follow every state but an end or a settled one.
            (_, Outcome::Cancelled) => true,
            (State::Checking { .. } | State::Ruled { .. }, said) if self.policy.unattended => {
                matches!(self.settle(), Some(LoopEvent::Ended { outcome, .. }) if outcome == *said)
            }
            (State::Ruled { ruling, .. }, said) => match ruling {
                // A person has the last word, so no pass ends such a loop by itself.
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

    /// Ends the loop and closes every open finding: none is left without a fate.
    pub(super) fn apply_ended(&mut self, outcome: &Outcome) -> Option<()> {
        if !self.may_end(outcome) {
            return None;
        }
        let left = match outcome {
            Outcome::PassedWithWarnings => Fate::Carried,
            Outcome::Accepted(by) => Fate::Waived(by.clone()),
            // The work is dropped, so its findings are about something that nobody has.
            _ if self.policy.unattended => Fate::Discarded,
            _ => Fate::Unresolved,
        };
        self.ledger.close(&left);
        self.enter(State::Ended { outcome: outcome.clone() });
        Some(())
    }

    /// The checks of this round: all of them, or, if the policy says so, only those that failed before.
    fn assemble(&self, revision: Revision) -> ReviewRound {
        let failed = |check: &&Check| self.failed_checks.contains(check);
        let narrow = self.policy.recheck_failed_only && self.policy.checks.iter().any(|check| failed(&check));
        // The final pass always runs all: a fix may have broken what passed before.
        let full = self.round <= 1 || self.confirming || !narrow;
        let checks = self.policy.checks.iter().filter(|check| full || failed(check));
        ReviewRound::assemble(revision, checks.cloned())
    }

    /// Who hears this finding, if it must be heard: the reviewer it was referred to, or the adjudicator of a contest.
    ///
    /// A finding of a check that fails now is never heard. Nobody can talk a red check away.
    fn case_reviewer(&self, review_round: &ReviewRound, id: FindingId) -> Option<Reviewer> {
        let entry = self.ledger.get(id)?;
        if !entry.is_open_must_fix() || review_round.failing_check_holds(entry) {
            return None;
        }
        let referral = entry.referred.clone().filter(|_| !entry.heard_referral);
        let contest =
            || (entry.contested && !entry.heard_contest).then(|| self.policy.adjudicator.clone())?;
        referral.or_else(contest)
    }

    /// The findings that are heard before the ruling.
    fn cases(&self, review_round: &ReviewRound) -> BTreeMap<FindingId, Case> {
        self.ledger
            .open()
            .filter_map(|(id, _)| {
                Some((id, Case::Open { tries: 0, reviewer: self.case_reviewer(review_round, id)? }))
            })
            .collect()
    }
}

/// The reviewer that this effect asks, if it is being asked with exactly this try.
fn reviewer_of(review_round: &ReviewRound, effect: &EffectId) -> Option<Reviewer> {
    let Step::Judge(reviewer) = &effect.step else { return None };
    (review_round.reviewers.get(reviewer) == Some(&ReviewerState::Asking(effect.n))).then(|| reviewer.clone())
}
