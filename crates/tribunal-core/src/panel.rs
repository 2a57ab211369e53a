//! The bench of one sitting: who is asked, which answers count, and what they add up to.

use crate::defence::{Defence, stands};
use crate::effect::Try;
use crate::finding::{Answer, Claim, Fate, Said, Severity, Source, Verdict};
use crate::ids::{Check, FindingId, Revision, Seat};
use crate::ledger::{Entry, Ledger, Tracked};
use crate::r#loop::FailureKind;
use crate::policy::{Asked, NoVerdict, Policy};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Where one check of the sitting stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckState {
    /// It runs; so many attempts are lost.
    Asking(u32),
    /// It ran and found nothing.
    Passed,
    /// It ran and found these; never empty.
    Failed(Vec<Claim>),
}

impl CheckState {
    /// The worst severity it found.
    pub fn worst(&self) -> Option<Severity> {
        match self {
            CheckState::Failed(claims) => claims.iter().map(|claim| claim.severity).max(),
            CheckState::Asking(_) | CheckState::Passed => None,
        }
    }
}

/// Where one seat of the sitting stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SeatState {
    /// It is being asked.
    Asking(Try),
    /// It gave a usable answer.
    Answered(Try, Answer),
    /// No asker is left.
    Gone,
}

/// One sitting over one revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bench {
    /// What is judged.
    pub revision: Revision,
    /// Its checks.
    pub checks: BTreeMap<Check, CheckState>,
    /// Its seats; those not asked are not in it.
    pub seats: BTreeMap<Seat, SeatState>,
}

/// What verdicts and findings add up to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ruling {
    /// Good as it stands.
    Pass {
        /// A seat was lost and the checks' verdict stands.
        checks_only: bool,
    },
    /// Good, with warnings carried on.
    PassWithWarnings {
        /// The warnings.
        carried: Vec<FindingId>,
        /// A seat was lost and the checks' verdict stands.
        checks_only: bool,
    },
    /// Not good; these must be mended.
    Rework {
        /// Every open must-fix finding.
        must: Vec<FindingId>,
    },
    /// Nobody can say.
    NoQuorum,
}

/// Why an answer alone is not usable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unusable {
    /// A finding put to it by id was not answered.
    Incomplete,
    /// A first-round approval that says nothing of what was checked.
    Bare,
    /// A reject, or a condition where none passes, without an open finding behind it.
    Groundless,
}

/// Whether a severity causes rework under this policy.
pub fn needs_rework(policy: &Policy, severity: Severity) -> bool {
    severity == Severity::Blocker || (severity == Severity::Warning && !policy.warnings_pass)
}

/// Whether an answer counts by itself.
pub fn unusable(answer: &Answer, put: &[FindingId], round: u32) -> Option<Unusable> {
    if put.iter().any(|id| !answer.said.contains_key(id)) {
        return Some(Unusable::Incomplete);
    }
    let bare = answer.checked.trim().is_empty() && answer.raised.is_empty();
    let evident = !bare || !stands(Defence::Evidence);
    (round <= 1 && answer.verdict == Verdict::Approve && !evident).then_some(Unusable::Bare)
}

/// The next try after a lost attempt; `None` when no asker is left. What cannot pass is not tried twice with one asker.
pub fn after_failure(policy: &Policy, n: Try, kind: FailureKind) -> Option<Try> {
    if kind.may_pass() && n.fails + 1 < policy.attempts_max {
        return Some(Try { fails: n.fails + 1, ..n });
    }
    next_asker(policy, n)
}

/// The next try after a maker failed; `None` when nobody is left to make it. A maker that iterates has no attempts to
/// lose; one that cannot go on is followed by its backup.
pub fn after_making(policy: &Policy, n: Try, kind: FailureKind) -> Option<Try> {
    let more = policy.iterations_max.is_some() || n.fails + 1 < policy.attempts_max;
    if kind.may_pass() && more {
        return Some(Try { fails: n.fails + 1, ..n });
    }
    (policy.maker_backup && !n.backup).then_some(Try { backup: true, ..Try::default() })
}

/// The next try after an answer that alone is not usable; `None` when no asker is left.
pub fn after_unusable(policy: &Policy, n: Try) -> Option<Try> {
    if n.again { next_asker(policy, n) } else { Some(Try { again: true, ..n }) }
}

fn next_asker(policy: &Policy, n: Try) -> Option<Try> {
    (policy.backup && !n.backup).then_some(Try { backup: true, fails: 0, again: false })
}

/// What of a claim must be equal for it to be the same finding: words or a rule, and maybe a file.
type Key = fn(&Claim) -> Option<(&str, Option<&str>)>;

impl Bench {
    /// The bench of a new sitting: its checks are asked first.
    pub fn convene(revision: Revision, checks: impl IntoIterator<Item = Check>) -> Bench {
        let checks = checks.into_iter().map(|check| (check, CheckState::Asking(0))).collect();
        Bench { revision, checks, seats: BTreeMap::new() }
    }

    /// Every check has an answer.
    pub fn checks_done(&self) -> bool {
        !self.checks.values().any(|state| matches!(state, CheckState::Asking(_)))
    }

    /// Every seat asked has answered or is gone.
    pub fn seats_done(&self) -> bool {
        !self.seats.values().any(|state| matches!(state, SeatState::Asking(_)))
    }

    /// A check found something in the rework column.
    pub fn checks_reject(&self, policy: &Policy) -> bool {
        self.checks.values().any(|state| state.worst().is_some_and(|worst| needs_rework(policy, worst)))
    }

    fn checks_fail(&self) -> bool {
        self.checks.values().any(|state| matches!(state, CheckState::Failed(_)))
    }

    /// A check cannot tell and asks whoever can.
    fn a_check_asks(&self) -> bool {
        self.failures().any(|(_, claims)| claims.iter().any(|claim| claim.asks))
    }

    fn a_seat_is_gone(&self) -> bool {
        self.seats.values().any(|state| *state == SeatState::Gone)
    }

    /// All seats asked have answered: only such rounds count towards stale.
    pub fn is_complete(&self) -> bool {
        !self.a_seat_is_gone()
    }

    /// A seat said that patching will not do.
    pub fn is_fundamental(&self) -> bool {
        self.answers().any(|(_, answer)| answer.fundamental)
    }

    /// The usable answers.
    pub fn answers(&self) -> impl Iterator<Item = (&Seat, &Answer)> {
        self.seats.iter().filter_map(|(seat, state)| match state {
            SeatState::Answered(_, answer) => Some((seat, answer)),
            SeatState::Asking(_) | SeatState::Gone => None,
        })
    }

    /// What the failing checks found.
    pub fn failures(&self) -> impl Iterator<Item = (&Check, &[Claim])> {
        self.checks.iter().filter_map(|(check, state)| match state {
            CheckState::Failed(claims) => Some((check, claims.as_slice())),
            CheckState::Asking(_) | CheckState::Passed => None,
        })
    }

    /// Who sits, once the checks have answered. A seat with an open must-fix finding of its own is always asked,
    /// unless checks rejected and spare the panel.
    pub fn seat_panel(&mut self, policy: &Policy, ledger: &Ledger) {
        let (rejected, failed) = (self.checks_reject(policy), self.checks_fail());
        let sits = |seat: &&Seat| match policy.asked {
            Asked::Always => true,
            Asked::UnlessChecksReject => !rejected,
            Asked::OnlyIfChecksFail => failed || !ledger.put_to(seat).is_empty(),
        };
        self.seats = policy
            .seats
            .iter()
            .filter(sits)
            .map(|seat| (seat.clone(), SeatState::Asking(Try::default())))
            .collect();
    }

    /// Whether a check that fails in this sitting stands behind the finding.
    pub fn failing_check_holds(&self, entry: &Entry) -> bool {
        self.failures().any(|(check, _)| entry.by.contains(&Source::Check(check.clone())))
    }

    /// A seat that rejected (or set a condition where none passes) with no open must-fix finding of its own.
    pub fn groundless(&self, policy: &Policy, ledger: &Ledger) -> Option<(&Seat, Try)> {
        self.seats.iter().find_map(|(seat, state)| match state {
            SeatState::Answered(n, answer)
                if wants_a_ground(policy, answer) && ledger.put_to(seat).is_empty() =>
            {
                Some((seat, *n))
            }
            _ => None,
        })
    }

    /// Puts right what a tracking report may not say: what a failing check or its author upholds stays open.
    /// `None` when the report leaves a failing check without the finding it stands for.
    pub fn correct(&self, policy: &Policy, ledger: &Ledger, findings: &[Tracked]) -> Option<Vec<Tracked>> {
        let repeated = self.repeated(findings);
        let corrected: Vec<Tracked> = findings
            .iter()
            .enumerate()
            .map(|(at, tracked)| {
                let upheld = repeated.contains(&at) || self.author_upholds(tracked);
                // Only the end of a loop, or a person, carries, waives or gives up.
                let early = matches!(tracked.fate, Fate::Carried | Fate::Waived(_) | Fate::Unresolved);
                let waived = is_waived(ledger, tracked.id, &tracked.fate);
                let fate = if (upheld || early) && !waived { Fate::Open } else { tracked.fate.clone() };
                Tracked { fate, ..tracked.clone() }
            })
            .collect();
        let accounted = |check: &Check, worst: Severity| {
            let source = Source::Check(check.clone());
            let holds = |id: FindingId, by: &BTreeSet<Source>, fate: &Fate, severity: Severity| {
                let stands = *fate == Fate::Open || is_waived(ledger, id, fate);
                by.contains(&source) && stands && severity >= worst
            };
            let named = |id: FindingId| corrected.iter().any(|tracked| tracked.id == id);
            corrected.iter().any(|t| holds(t.id, &t.by, &t.fate, t.severity))
                || ledger.iter().any(|(id, e)| !named(id) && holds(id, &e.by, &e.fate, e.severity))
        };
        let all_accounted = self.checks.iter().all(|(check, state)| match state.worst() {
            Some(worst) if needs_rework(policy, worst) => accounted(check, worst),
            Some(_) | None => true,
        });
        all_accounted.then_some(corrected)
    }

    /// Which closed findings a failing check raises again. Every claim of it needs a finding of its own: one
    /// with its words in its file, else of its rule there, else with its words; an open one before a closed one.
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

    fn author_upholds(&self, tracked: &Tracked) -> bool {
        self.answers().any(|(seat, answer)| {
            tracked.by.contains(&Source::Seat(seat.clone()))
                && answer.said.get(&tracked.id) == Some(&Said::StillThere)
        })
    }

    /// What this sitting adds up to. The first line that fits counts.
    pub fn rule(&self, policy: &Policy, ledger: &Ledger) -> Ruling {
        let open: Vec<(FindingId, &Entry)> = ledger.open().collect();
        let grounds = |entry: &Entry| {
            self.is_present(entry) && (needs_rework(policy, entry.severity) || self.author_rejected(entry))
        };
        if open.iter().any(|(_, entry)| grounds(entry)) {
            return Ruling::Rework { must: open.iter().map(|(id, _)| *id).collect() };
        }
        let gone = self.a_seat_is_gone();
        // Silence approves nothing, not even where the checks' verdict would stand: there is none.
        let nobody = (self.checks.is_empty() || self.a_check_asks()) && self.answers().next().is_none();
        if nobody || (gone && policy.no_verdict == NoVerdict::Escalate) {
            return Ruling::NoQuorum;
        }
        if open.iter().any(|(_, entry)| needs_rework(policy, entry.severity)) {
            return Ruling::NoQuorum;
        }
        let conditional = self.answers().any(|(_, answer)| answer.verdict == Verdict::Conditional);
        if conditional || !open.is_empty() {
            let carried = open.iter().map(|(id, _)| *id).collect();
            return Ruling::PassWithWarnings { carried, checks_only: gone };
        }
        Ruling::Pass { checks_only: gone }
    }

    /// Somebody behind the finding spoke in this sitting: its check failed, or its seat answered.
    fn is_present(&self, entry: &Entry) -> bool {
        entry.by.iter().any(|source| match source {
            Source::Check(check) => matches!(self.checks.get(check), Some(CheckState::Failed(_))),
            Source::Seat(seat) => matches!(self.seats.get(seat), Some(SeatState::Answered(..))),
        })
    }

    fn author_rejected(&self, entry: &Entry) -> bool {
        self.answers().any(|(seat, answer)| rejects(answer) && entry.is_of(seat))
    }
}

/// A person waived it before this loop began, and tracking found it as it was.
fn is_waived(ledger: &Ledger, id: FindingId, fate: &Fate) -> bool {
    matches!(fate, Fate::Waived(_)) && ledger.get(id).is_some_and(|entry| entry.fate == *fate)
}

/// Work that does not serve its purpose is rejected, whatever verdict is stated.
fn rejects(answer: &Answer) -> bool {
    answer.verdict == Verdict::Reject || answer.intent_satisfied == Some(false)
}

fn wants_a_ground(policy: &Policy, answer: &Answer) -> bool {
    rejects(answer) || (answer.verdict == Verdict::Conditional && !policy.warnings_pass)
}
