//! One review round of a panel: who is asked, which answers count, and what they add up to.
//!
//! The rule behind every function here: a missing answer is never an approval. A lost reviewer, a check that did not
//! run, an answer that could not be read and an empty panel must each end in rework, in another try, or with a
//! person.

use crate::cover::{HeardParts, Partly};
use crate::defence::{Defence, stands};
use crate::effect::Try;
use crate::failure::{Failure, FailureKind};
use crate::finding::{Answer, Claim, Fate, Said, Severity, Source, Verdict};
use crate::ids::{Check, FindingId, Reviewer, Revision};
use crate::ledger::{Entry, Ledger, Mark, Tracked};
use crate::policy::{Asked, NoVerdict, Policy};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Where one check of the round stands.
///
/// A check that did not run is a state of its own. It is neither a pass nor a failure, and nothing may treat it as
/// one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckState {
    /// It runs; so many attempts are lost.
    Asking(u32),
    /// It ran and found nothing.
    Passed,
    /// It did not run, and by the settings that stops nothing. It settles nothing either.
    DidNotRun,
    /// It ran and found these; never empty.
    Failed(Vec<Claim>),
}

impl CheckState {
    /// The worst severity that it found.
    pub fn worst(&self) -> Option<Severity> {
        match self {
            CheckState::Failed(claims) => claims.iter().map(|claim| claim.severity).max(),
            CheckState::Asking(_) | CheckState::Passed | CheckState::DidNotRun => None,
        }
    }
}

/// Where one reviewer of the round stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReviewerState {
    /// It is being asked.
    Asking(Try),
    /// It gave a usable answer.
    Answered(Try, Answer),
    /// Nobody is left to ask in its place.
    Gone,
}

/// One review round over one revision.
///
/// A new round gets a new value, so no answer to an old revision can be counted for a new one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewRound {
    /// The revision that is judged.
    pub revision: Revision,
    /// The checks of the round.
    pub checks: BTreeMap<Check, CheckState>,
    /// The reviewers of the round; those not asked are not in it.
    pub reviewers: BTreeMap<Reviewer, ReviewerState>,
    /// The answers to each part, if a change is shown in several.
    pub heard: HeardParts,
    /// What reviewers without a verdict objected to in the parts they answered.
    pub partly: BTreeMap<Reviewer, Partly>,
    /// What reviewers whose answer about a part did not count have to settle when they are asked again.
    pub owed: BTreeMap<(Reviewer, u32), Owed>,
    /// During an exhaustive pass: what the reviewers that hold it had answered before.
    ///
    /// The pass adds to these answers. It takes nothing back and answers for no finding.
    pub kept: BTreeMap<Reviewer, (Try, Answer)>,
}

/// What a reviewer's discarded answer leaves its next one to settle, in the same round.
///
/// Nothing was changed in between, so words that were lost on the way cannot have become wrong: the next answer may
/// not be milder than the one it replaces, and has to say what became of each part that was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owed {
    /// The mildest verdict that counts.
    pub floor: Verdict,
    /// How many unread parts have to be answered, numbered from 1, for anything but a reject.
    pub parts: u32,
}

/// What verdicts and findings add up to.
///
/// There is no ruling for "probably good": if nobody can vouch for the revision, it is `NoQuorum`, and a person
/// decides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ruling {
    /// Good as it stands.
    Pass {
        /// A reviewer was lost and the checks' verdict stands.
        checks_only: bool,
    },
    /// Good, with warnings carried on.
    PassWithWarnings {
        /// The warnings that are carried on.
        carried: Vec<FindingId>,
        /// A reviewer was lost and the checks' verdict stands.
        checks_only: bool,
    },
    /// Not good; these must be fixed.
    Rework {
        /// Every open must-fix finding.
        must: Vec<FindingId>,
    },
    /// Nobody can say, so a person decides.
    NoQuorum,
}

/// Why an answer does not count by itself.
///
/// The answer is asked for once more with the reason in the prompt. Each variant is therefore something that its
/// author can put right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unusable {
    /// A finding put to it by id was not answered.
    Incomplete,
    /// A first-round approval that says nothing about what was checked.
    Bare,
    /// A reject, or a condition where none passes, without an open finding behind it.
    Groundless,
    /// Something in it may be a finding and could not be read, and nothing that was read speaks for it.
    Unread,
    /// It is milder than the reviewer's answer before it, of which something could not be read.
    Flipped,
    /// It does not say what became of each part of the answer before it that could not be read.
    Unsettled,
    /// Nothing in it carries the launch word, so nobody can tell whether the reviewer or a quoted file speaks.
    Wordless,
}

/// Whether a severity causes rework under this policy.
pub fn needs_rework(policy: &Policy, severity: Severity) -> bool {
    severity == Severity::Blocker || (severity == Severity::Warning && !policy.warnings_pass)
}

/// Whether an answer counts by itself, and against what the reviewer's answer before it left to settle.
///
/// The order matters. A reviewer that takes its objection back must be told that, and not that it forgot a finding.
pub fn unusable(answer: &Answer, put: &[FindingId], round: u32, owed: Option<&Owed>) -> Option<Unusable> {
    let settled = |owed: &Owed| rejects(answer) || (1..=owed.parts).all(|n| answer.settles(n));
    // First: an objection that was lost on the way must not be replaced by a milder answer that happens to be well
    // formed.
    if owed.is_some_and(|owed| stated(answer) < owed.floor) {
        return Some(Unusable::Flipped);
    }
    if is_in_doubt(answer) {
        return Some(Unusable::Unread);
    }
    // A reject counts without the word: a quoted file gains nothing by making an answer stricter.
    if answer.wordless && !rejects(answer) {
        return Some(Unusable::Wordless);
    }
    if owed.is_some_and(|owed| !settled(owed)) {
        return Some(Unusable::Unsettled);
    }
    // A finding that was put to the reviewer and not answered is neither confirmed nor closed.
    if put.iter().any(|id| !answer.said.contains_key(id)) {
        return Some(Unusable::Incomplete);
    }
    // Only a first approval needs its evidence. In later rounds the reviewer confirms fixes, and answers by id.
    (round <= 1 && is_bare(answer)).then_some(Unusable::Bare)
}

/// Whether it is an approval that says nothing about what was checked.
fn is_bare(answer: &Answer) -> bool {
    // A finding shows that somebody looked.
    let evident = !answer.checked.trim().is_empty() || !answer.raised.is_empty();
    answer.verdict == Verdict::Approve && !evident && stands(Defence::Evidence)
}

/// The verdict that an answer amounts to by itself, in a first round and before any policy. `None` if it does not
/// count.
///
/// Findings outrank the stated word: an approval beside a blocker, beside a finding that is said to be still there,
/// or of work that does not serve its intent is a reject. Both verdicts are recorded; this one decides.
pub fn effective(answer: &Answer) -> Option<Verdict> {
    let blocked = answer.raised.iter().any(|claim| claim.severity == Severity::Blocker);
    let upheld = answer.said.values().any(|said| *said == Said::StillThere);
    match answer.verdict {
        _ if blocked || upheld || answer.intent_satisfied == Some(false) => Some(Verdict::Reject),
        // After the line above: a bare word with a blocker beside it is not bare.
        _ if is_bare(answer) => None,
        verdict => Some(verdict),
    }
}

/// Whether something that was not read keeps the answer from counting. A reject stands on one ground that was read.
fn is_in_doubt(answer: &Answer) -> bool {
    let ground = raises_must_fix(answer) || answer.said.values().any(|said| *said == Said::StillThere);
    let stands = rejects(answer) && ground;
    !answer.unread.is_empty() && !stands
}

/// Whether the answer raises a finding that must be fixed.
fn raises_must_fix(answer: &Answer) -> bool {
    answer.raised.iter().any(|claim| claim.severity.must_fix())
}

/// What an answer that does not count leaves to settle; none if it named nothing.
pub fn objection(answer: &Answer) -> Option<Owed> {
    // It rejected for a reason that was read; the answer did not count for another one.
    let lost = rejects(answer) && raises_must_fix(answer);
    let parts = u32::try_from(answer.unread.len()).unwrap_or(u32::MAX);
    (parts > 0 || lost || is_mute(answer)).then(|| Owed { floor: stated(answer), parts })
}

/// Whether it does not approve and no reason for that was read. A reviewer that rejects has a reason, so it was lost
/// on the way.
pub(crate) fn is_mute(answer: &Answer) -> bool {
    let upheld = answer.said.values().any(|said| *said == Said::StillThere);
    answer.verdict != Verdict::Approve && answer.raised.is_empty() && !upheld
}

/// What an answer without a verdict leaves to settle.
///
/// A reviewer that named something and forgot the verdict may still set a condition, but does not approve.
pub fn lost_objection(failure: &Failure) -> Option<Owed> {
    (!failure.unread.is_empty()).then_some(Owed { floor: Verdict::Conditional, parts: 0 })
}

/// The next try after a lost attempt; `None` if nobody is left to ask. A failure that cannot pass is not tried twice
/// with the same agent.
pub fn after_failure(policy: &Policy, n: Try, kind: FailureKind) -> Option<Try> {
    if kind.may_pass() && n.fails + 1 < policy.attempts_max {
        return Some(Try { fails: n.fails + 1, ..n });
    }
    next_reviewer(policy, n)
}

/// The next try after a builder failed; `None` if nobody is left to build.
///
/// A builder that iterates has no attempts to lose. One that cannot go on is followed by its fallback.
pub fn after_making(policy: &Policy, n: Try, kind: FailureKind) -> Option<Try> {
    let more = policy.iterations_max.is_some() || n.fails + 1 < policy.attempts_max;
    if kind.may_pass() && more {
        return Some(Try { fails: n.fails + 1, ..n });
    }
    // A gate that is shut for one builder is shut for another.
    let another = policy.builder_backup && !n.backup && kind != FailureKind::GateShut;
    another.then_some(Try { backup: true, ..Try::default() })
}

/// The next try after an answer that does not count by itself; `None` if nobody is left to ask.
///
/// A reviewer that was shown what was lost and took it back is not asked a third time.
pub fn after_unusable(policy: &Policy, n: Try, why: Unusable) -> Option<Try> {
    match n.again || matches!(why, Unusable::Flipped | Unusable::Unsettled) {
        true => next_reviewer(policy, n),
        false => Some(Try { again: true, ..n }),
    }
}

/// The fallback reviewer, once, for the part that was asked.
fn next_reviewer(policy: &Policy, n: Try) -> Option<Try> {
    (policy.backup && !n.backup).then_some(Try { part: n.part, backup: true, ..Try::default() })
}

/// One answer out of two by the same reviewer to the same revision: the stricter verdict, and everything both raised.
fn joined(before: &Answer, more: &Answer) -> Answer {
    let mut all = before.clone();
    all.verdict = before.verdict.max(more.verdict);
    all.fundamental |= more.fundamental;
    all.raised.extend(more.raised.iter().cloned());
    all.unread.extend(more.unread.iter().cloned());
    // One pass that finds the intent not served is enough: it is a reject, whatever the verdict says.
    all.intent_satisfied = match (before.intent_satisfied, more.intent_satisfied) {
        (Some(before), Some(now)) => Some(before && now),
        (before, now) => before.or(now),
    };
    all
}

/// The parts of a claim that must be equal for it to be the same finding: words or a rule, and maybe a file.
type Key = fn(&Claim) -> Option<(&str, Option<&str>)>;

impl ReviewRound {
    /// Begins a new round: its checks are asked first.
    pub fn assemble(revision: Revision, checks: impl IntoIterator<Item = Check>) -> ReviewRound {
        let checks = checks.into_iter().map(|check| (check, CheckState::Asking(0))).collect();
        ReviewRound {
            revision,
            checks,
            reviewers: BTreeMap::new(),
            heard: BTreeMap::new(),
            partly: BTreeMap::new(),
            owed: BTreeMap::new(),
            kept: BTreeMap::new(),
        }
    }

    /// What a reviewer has to settle when it is asked about this part again.
    pub fn owed_by(&self, reviewer: &Reviewer, part: u32) -> Option<&Owed> {
        self.owed.get(&(reviewer.clone(), part))
    }

    /// Records what a reviewer has to settle after an answer that does not count.
    ///
    /// A fallback reviewer does not know what was meant, so it settles no part; but it looks for itself, and rejects
    /// or leaves the question to a person. An objection that nobody could read is never outvoted by whoever comes
    /// next.
    pub(crate) fn owe(
        &mut self,
        reviewer: &Reviewer,
        (n, next): (Try, Option<Try>),
        objection: Option<Owed>,
    ) {
        let key = (reviewer.clone(), n.part);
        let before = self.owed.remove(&key);
        let Some(next) = next else { return };
        let owed = [before, objection]
            .into_iter()
            .flatten()
            // The stricter of both: a second unusable answer must not lower what the first one left.
            .reduce(|a, b| Owed { floor: a.floor.max(b.floor), parts: a.parts.max(b.parts) });
        let owed = match next.backup == n.backup {
            true => owed,
            false => owed.filter(|owed| owed.floor > Verdict::Approve).map(|owed| Owed { parts: 0, ..owed }),
        };
        self.owed.extend(owed.map(|owed| (key, owed)));
    }

    /// Who holds an exhaustive pass: the fallback reviewer in the place of the reviewer with the most late findings,
    /// so that somebody else looks. Without a fallback reviewer, everybody who has answered.
    pub fn exhaustive_reviewers(
        &self,
        policy: &Policy,
        late: &BTreeSet<FindingId>,
        ledger: &Ledger,
    ) -> Vec<Reviewer> {
        let answered: Vec<&Reviewer> = self.answers().map(|(reviewer, _)| reviewer).collect();
        if !policy.backup {
            return answered.into_iter().cloned().collect();
        }
        let held = |reviewer: &&Reviewer| {
            let holds = |id: &&FindingId| ledger.get(**id).is_some_and(|entry| entry.is_of(reviewer));
            late.iter().filter(holds).count()
        };
        // The first of those with the most: `max_by_key` returns the last one, hence the reversal.
        answered.into_iter().rev().max_by_key(held).cloned().into_iter().collect()
    }

    /// Asks these reviewers for everything at once; what they had answered is kept.
    pub fn exhaust(&mut self, policy: &Policy, reviewers: &[Reviewer]) {
        // With a fallback reviewer somebody else looks; that is the point of the pass.
        let first = Try { backup: policy.backup, ..Try::default() };
        for reviewer in reviewers {
            if let Some(state) = self.reviewers.get_mut(reviewer)
                && let ReviewerState::Answered(n, answer) =
                    std::mem::replace(state, ReviewerState::Asking(first))
            {
                self.kept.insert(reviewer.clone(), (n, answer));
                // Whatever that answer had to settle is settled. The pass begins anew, and with the first part.
                self.forget(reviewer);
            }
        }
    }

    /// Ends the pass: its answers are added to those before it. A reviewer that gave none keeps what it had said.
    pub fn end_pass(&mut self) {
        for (reviewer, (n, before)) in std::mem::take(&mut self.kept) {
            // A pass that was lost takes nothing away: the earlier answer still stands.
            let added = match self.reviewers.get(&reviewer) {
                Some(ReviewerState::Answered(_, more)) => joined(&before, more),
                Some(ReviewerState::Asking(_) | ReviewerState::Gone) | None => before,
            };
            self.forget(&reviewer);
            self.stands_whole(&reviewer, n, &added);
            self.reviewers.insert(reviewer, ReviewerState::Answered(n, added));
        }
    }

    /// Whether every check has an answer.
    pub fn checks_done(&self) -> bool {
        !self.checks.values().any(|state| matches!(state, CheckState::Asking(_)))
    }

    /// Whether every reviewer that was asked has answered or is gone.
    pub fn reviewers_done(&self) -> bool {
        !self.reviewers.values().any(|state| matches!(state, ReviewerState::Asking(_)))
    }

    /// Whether a check found something that causes rework.
    pub fn checks_reject(&self, policy: &Policy) -> bool {
        self.checks.values().any(|state| state.worst().is_some_and(|worst| needs_rework(policy, worst)))
    }

    /// Whether a check found something, not counting questions that are answered.
    fn checks_fail(&self, ledger: &Ledger) -> bool {
        self.failures().any(|(check, claims)| {
            claims.iter().any(|claim| !claim.asks || self.is_unanswered(check, claim, ledger))
        })
    }

    /// Whether a check cannot tell and asks a reviewer.
    pub fn a_check_asks(&self, ledger: &Ledger) -> bool {
        self.failures().any(|(check, claims)| {
            claims.iter().any(|claim| claim.asks && self.is_unanswered(check, claim, ledger))
        })
    }

    /// Whether nobody has shown yet, on this revision, what a check asks about.
    fn is_unanswered(&self, check: &Check, claim: &Claim, ledger: &Ledger) -> bool {
        let source = Source::Check(check.clone());
        // By words and rule: a claim of this round has no id yet.
        let same = |entry: &Entry| {
            entry.by.contains(&source) && entry.claim.rule == claim.rule && entry.claim.claim == claim.claim
        };
        !ledger.iter().any(|(id, entry)| same(entry) && ledger.is_proven(id, &self.revision))
    }

    /// What is put to a reviewer by id: its own open must-fix findings, and what a check asks.
    pub fn put_to(&self, reviewer: &Reviewer, ledger: &Ledger) -> Vec<FindingId> {
        let asked = |entry: &Entry| entry.claim.asks && self.failing_check_holds(entry);
        let put = ledger.open().filter(|(_, entry)| entry.is_of(reviewer) || asked(entry));
        put.map(|(id, _)| id).collect()
    }

    /// Who is asked what the checks ask, once each question has its id; nobody if there is no question, or the panel
    /// was asked already.
    pub fn put_forward(&self, policy: &Policy, ledger: &Ledger) -> Vec<Reviewer> {
        if !self.reviewers.is_empty() || !self.a_check_asks(ledger) {
            return Vec::new();
        }
        // On a copy: this only answers who would be asked. `apply` reviewers the panel when the event says so.
        let mut assembled = self.clone();
        assembled.assemble_panel(policy, ledger);
        assembled.reviewers.into_keys().collect()
    }

    /// Whether a reviewer was lost in this round.
    fn a_reviewer_is_gone(&self) -> bool {
        self.reviewers.values().any(|state| *state == ReviewerState::Gone)
    }

    /// Whether all reviewers that were asked have answered. Only such rounds count towards stale.
    pub fn is_complete(&self) -> bool {
        !self.a_reviewer_is_gone()
    }

    /// Whether a reviewer said that patching is not enough.
    pub fn is_fundamental(&self) -> bool {
        self.voices().any(|(_, answer)| answer.fundamental)
    }

    /// The usable answers of this round.
    pub fn answers(&self) -> impl Iterator<Item = (&Reviewer, &Answer)> {
        self.reviewers.iter().filter_map(|(reviewer, state)| match state {
            ReviewerState::Answered(_, answer) => Some((reviewer, answer)),
            ReviewerState::Asking(_) | ReviewerState::Gone => None,
        })
    }

    /// What the failing checks found.
    pub fn failures(&self) -> impl Iterator<Item = (&Check, &[Claim])> {
        self.checks.iter().filter_map(|(check, state)| match state {
            CheckState::Failed(claims) => Some((check, claims.as_slice())),
            CheckState::Asking(_) | CheckState::Passed | CheckState::DidNotRun => None,
        })
    }

    /// Decides who is asked, once the checks have answered.
    ///
    /// A reviewer with an open must-fix finding of its own is always asked, unless checks rejected and spare the
    /// panel: nobody else can say that the finding is resolved.
    pub fn assemble_panel(&mut self, policy: &Policy, ledger: &Ledger) {
        let (rejected, failed) = (self.checks_reject(policy), self.checks_fail(ledger));
        let sits = |reviewer: &&Reviewer| match policy.asked {
            Asked::Always => true,
            // The work goes back anyway, so a review would only cost.
            Asked::UnlessChecksReject => !rejected,
            Asked::OnlyIfChecksFail => failed || !ledger.put_to(reviewer).is_empty(),
        };
        self.reviewers = policy
            .reviewers
            .iter()
            .filter(sits)
            .map(|reviewer| (reviewer.clone(), ReviewerState::Asking(Try::default())))
            .collect();
    }

    /// Whether a check that fails in this round stands behind the finding.
    pub fn failing_check_holds(&self, entry: &Entry) -> bool {
        self.failures().any(|(check, _)| entry.by.contains(&Source::Check(check.clone())))
    }

    /// Whether a reviewer says that what a failing check asks about is so. The check could not tell, and the reviewer
    /// can, so its answer sends the work back even where a warning alone would pass.
    fn is_upheld(&self, id: FindingId, entry: &Entry) -> bool {
        let says_so = |(_, answer): (&Reviewer, &Answer)| answer.said.get(&id) == Some(&Said::StillThere);
        entry.claim.asks && self.failing_check_holds(entry) && self.voices().any(says_so)
    }

    /// Whether a check that fails in this round holds something open that causes rework.
    fn a_check_is_ground(&self, policy: &Policy, ledger: &Ledger) -> bool {
        ledger
            .open()
            .filter(|(_, entry)| self.failing_check_holds(entry))
            .any(|(id, entry)| needs_rework(policy, entry.severity) || self.is_upheld(id, entry))
    }

    /// A reviewer that rejected (or set a condition where none passes) with no open must-fix finding of its own, and
    /// no failing check whose finding is its ground.
    ///
    /// Such a verdict would send the work back with nothing to fix, so its author is asked again.
    pub fn groundless(&self, policy: &Policy, ledger: &Ledger) -> Option<(&Reviewer, &Answer)> {
        self.reviewers.iter().find_map(|(reviewer, state)| match state {
            ReviewerState::Answered(_, answer)
                if wants_a_ground(policy, answer)
                    && ledger.put_to(reviewer).is_empty()
                    && !self.a_check_is_ground(policy, ledger) =>
            {
                Some((reviewer, answer))
            }
            _ => None,
        })
    }

    /// Corrects what a tracking report may not say: a finding that a failing check or its author upholds stays open.
    /// `None` if the report leaves a failing check without the finding it stands for.
    ///
    /// Tracking matches texts and can be wrong. It must never be the reason that a red check or an upheld objection
    /// disappears.
    pub fn correct(&self, policy: &Policy, ledger: &Ledger, findings: &[Tracked]) -> Option<Vec<Tracked>> {
        let repeated = self.repeated(findings);
        let corrected: Vec<Tracked> = findings
            .iter()
            .enumerate()
            .map(|(at, tracked)| {
                let upheld = repeated.contains(&at) || self.author_upholds(tracked);
                // Only the end of a loop, or a person, carries, waives or gives up.
                let early = matches!(tracked.fate, Fate::Carried | Fate::Waived(_) | Fate::Unresolved);
                // A check that still reports what a person waived must not open it again.
                let waived = is_waived(ledger, tracked.id, &tracked.fate);
                let fate = if (upheld || early) && !waived { Fate::Open } else { tracked.fate.clone() };
                match self.is_shown(tracked, ledger) {
                    // `Persistent`, so that an answered question does not count as new or reopened.
                    true => Tracked { fate: Fate::Refuted, mark: Mark::Persistent, ..tracked.clone() },
                    false => Tracked { fate, ..tracked.clone() },
                }
            })
            .collect();
        let accounted = |check: &Check, worst: Severity| {
            let source = Source::Check(check.clone());
            let holds = |id: FindingId, by: &BTreeSet<Source>, fate: &Fate, severity: Severity| {
                let stands = *fate == Fate::Open || is_waived(ledger, id, fate);
                // At least as bad as the check reported: a milder finding in its place would let a blocker pass.
                by.contains(&source) && stands && severity >= worst
            };
            let named = |id: FindingId| corrected.iter().any(|tracked| tracked.id == id);
            corrected.iter().any(|t| holds(t.id, &t.by, &t.fate, t.severity))
                // A finding that the report does not mention keeps what the ledger says.
                || ledger.iter().any(|(id, e)| !named(id) && holds(id, &e.by, &e.fate, e.severity))
        };
        let all_accounted =
            self.failures().all(|(check, claims)| match self.unshown(check, claims, &corrected, ledger) {
                Some(worst) if needs_rework(policy, worst) => accounted(check, worst),
                Some(_) | None => true,
            });
        all_accounted.then_some(corrected)
    }

    /// Whether somebody named a proof for what a check asks about, and the proof was there.
    fn is_shown(&self, tracked: &Tracked, ledger: &Ledger) -> bool {
        let shows = |(_, answer): (&Reviewer, &Answer)| matches!(answer.said.get(&tracked.id), Some(Said::Shown(proof)) if !proof.trim().is_empty());
        tracked.claim.asks && (self.answers().any(shows) || ledger.is_proven(tracked.id, &self.revision))
    }

    /// The worst of what a failing check found, not counting questions that were answered: each needs a proof of its
    /// own.
    fn unshown(&self, check: &Check, claims: &[Claim], all: &[Tracked], ledger: &Ledger) -> Option<Severity> {
        let source = Source::Check(check.clone());
        let shown = all.iter().filter(|one| one.by.contains(&source) && self.is_shown(one, ledger)).count();
        let asked = claims.iter().filter(|claim| claim.asks).count();
        // By number: which question a proof answers is known by the finding, and a claim has no id.
        let left = claims.iter().filter(|claim| !claim.asks || asked > shown);
        left.map(|claim| claim.severity).max()
    }

    /// Which closed findings a failing check raises again.
    ///
    /// Every claim of the check needs a finding of its own: one with its words in its file, else of its rule there,
    /// else with its words; an open one before a closed one. So a check that reports the same text twice keeps two
    /// findings open.
    fn repeated(&self, findings: &[Tracked]) -> BTreeSet<usize> {
        let keys: [Key; 3] = [
            |claim| Some((claim.claim.as_str(), claim.file.as_deref())),
            |claim| claim.rule.as_deref().map(|rule| (rule, claim.file.as_deref())),
            |claim| Some((claim.claim.as_str(), None)),
        ];
        let mut repeated = BTreeSet::new();
        for (check, claims) in self.failures() {
            let source = Source::Check(check.clone());
            let mut left: Vec<&Claim> = claims.iter().collect();
            let mut taken = BTreeSet::new();
            for (open, key) in keys.into_iter().flat_map(|key| [(true, key), (false, key)]) {
                let mut free: BTreeMap<_, Vec<usize>> = BTreeMap::new();
                // Reversed, so that `pop` below takes the first one.
                for (at, one) in findings.iter().enumerate().rev() {
                    let fits = one.by.contains(&source) && (one.fate == Fate::Open) == open;
                    if let (true, Some(key)) = (fits && !taken.contains(&at), key(&one.claim)) {
                        free.entry(key).or_default().push(at);
                    }
                }
                left.retain(|claim| match key(claim).and_then(|key| free.get_mut(&key)?.pop()) {
                    None => true,
                    Some(at) => {
                        taken.insert(at);
                        repeated.extend((!open).then_some(at));
                        false
                    }
                });
            }
        }
        repeated
    }

    /// Whether the reviewer that holds a finding says that it is still there.
    fn author_upholds(&self, tracked: &Tracked) -> bool {
        self.voices().any(|(reviewer, answer)| {
            tracked.by.contains(&Source::Reviewer(reviewer.clone()))
                && answer.said.get(&tracked.id) == Some(&Said::StillThere)
        })
    }

    /// What this round adds up to. The first rule that fits counts.
    ///
    /// The order is from strict to mild: a ground for rework first, then everything that leaves nobody to approve,
    /// then the passes. A new rule belongs before the first one that it must be able to overrule.
    pub fn rule(&self, policy: &Policy, ledger: &Ledger) -> Ruling {
        let open: Vec<(FindingId, &Entry)> = ledger.open().collect();
        // If there is no reviewer who could show it, a check's question is a person's.
        let for_nobody = |entry: &Entry| entry.claim.asks && policy.reviewers.is_empty();
        let grounds = |id: FindingId, entry: &Entry| {
            self.is_present(id, entry)
                && !for_nobody(entry)
                && (needs_rework(policy, entry.severity)
                    || self.author_rejected(entry)
                    || self.is_upheld(id, entry))
        };
        if open.iter().any(|(id, entry)| grounds(*id, entry)) {
            return Ruling::Rework { must: open.iter().map(|(id, _)| *id).collect() };
        }
        let gone = self.a_reviewer_is_gone();
        // Silence approves nothing, not even where the checks' verdict would stand: there is none.
        let looked = self.checks.values().any(|state| *state != CheckState::DidNotRun);
        let nobody = (!looked || self.a_check_asks(ledger)) && self.answers().next().is_none();
        if nobody || (gone && policy.no_verdict == NoVerdict::Escalate) {
            return Ruling::NoQuorum;
        }
        // Something must be fixed, but nobody behind it spoke in this round. Nobody has said either that it is gone.
        if open.iter().any(|(_, entry)| needs_rework(policy, entry.severity)) {
            return Ruling::NoQuorum;
        }
        // A conditional verdict is never a plain pass, even if no finding of it is left.
        let conditional = self.answers().any(|(_, answer)| answer.verdict == Verdict::Conditional);
        if conditional || !open.is_empty() {
            let carried = open.iter().map(|(id, _)| *id).collect();
            return Ruling::PassWithWarnings { carried, checks_only: gone };
        }
        Ruling::Pass { checks_only: gone }
    }

    /// Whether somebody behind the finding spoke in this round: its check failed, or its reviewer answered.
    fn is_present(&self, id: FindingId, entry: &Entry) -> bool {
        // A reviewer without a verdict counts only for findings that it was heard on.
        let objects = |reviewer: &Reviewer| {
            self.partly.get(reviewer).is_some_and(|partly| !partly.unheard.contains(&id))
        };
        entry.by.iter().any(|source| match source {
            Source::Check(check) => matches!(self.checks.get(check), Some(CheckState::Failed(_))),
            Source::Reviewer(reviewer) => {
                matches!(self.reviewers.get(reviewer), Some(ReviewerState::Answered(..))) || objects(reviewer)
            }
        })
    }

    /// Whether a reviewer that holds the finding rejected the work.
    fn author_rejected(&self, entry: &Entry) -> bool {
        self.voices().any(|(reviewer, answer)| rejects(answer) && entry.is_of(reviewer))
    }
}

/// Whether a person waived it before this loop began, and tracking found it as it was.
fn is_waived(ledger: &Ledger, id: FindingId, fate: &Fate) -> bool {
    matches!(fate, Fate::Waived(_)) && ledger.get(id).is_some_and(|entry| entry.fate == *fate)
}

/// Whether the answer rejects. Work that does not serve its purpose is rejected, whatever verdict is stated.
pub(crate) fn rejects(answer: &Answer) -> bool {
    answer.verdict == Verdict::Reject || answer.intent_satisfied == Some(false)
}

/// The verdict as it counts before findings do.
fn stated(answer: &Answer) -> Verdict {
    if rejects(answer) { Verdict::Reject } else { answer.verdict }
}

/// Whether the verdict sends work back, and so needs an open finding as its ground.
pub(crate) fn wants_a_ground(policy: &Policy, answer: &Answer) -> bool {
    rejects(answer) || (answer.verdict == Verdict::Conditional && !policy.warnings_pass)
}
