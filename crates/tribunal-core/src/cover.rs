//! Coverage: what of a change a reviewer was shown. A change too large for one prompt is shown in parts, one launch
//! each; the answers of all parts are merged into one, as strict as the strictest.
//!
//! A reviewer that was not shown every hunk has no verdict: it may object to what it saw, and approves nothing. The
//! world decides how a change is cut; this file decides what the parts add up to.

use crate::effect::Try;
use crate::finding::{Answer, Said};
use crate::ids::{FindingId, Reviewer, Revision};
use crate::ledger::Ledger;
use crate::panel::{ReviewRound, ReviewerState, Unusable, rejects, unusable, wants_a_ground};
use crate::policy::Policy;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// How much of the change a reviewer has been shown, this part and those before it together.
///
/// The world fills it in when it builds a prompt. A reviewer's own statement about what it read is never used for
/// this.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Shown {
    /// How many parts it takes to show everything. With a limit, not all of them may be asked.
    pub parts: u32,
    /// How many hunks were shown whole so far.
    pub hunks: u32,
    /// How many hunks the change has.
    pub of: u32,
    /// How many of them are binary files, of which only the name can be shown.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub binary: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Shown {
    /// All hunks, shown in one part.
    pub fn whole(hunks: u32) -> Shown {
        Shown { parts: 1, hunks, of: hunks, binary: 0 }
    }

    /// The sum of both looks.
    #[must_use]
    pub fn and(self, more: Shown) -> Shown {
        Shown {
            parts: self.parts + more.parts,
            hunks: self.hunks + more.hunks,
            of: self.of + more.of,
            binary: self.binary + more.binary,
        }
    }

    /// Whether every hunk was shown.
    pub fn is_whole(self) -> bool {
        self.hunks == self.of
    }

    /// Whether such a count is impossible. A report that carries one proves nothing about what was shown.
    fn is_odd(self) -> bool {
        self.parts == 0 || self.hunks > self.of || self.binary > self.of
    }
}

impl fmt::Display for Shown {
    /// `all 640 hunks`, or `212 of 640 hunks`; binary files are named beside that.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hunks = if self.of == 1 { "hunk" } else { "hunks" };
        match (self.is_whole(), self.of) {
            (true, 0) => f.write_str("no hunks"),
            (true, 1) => f.write_str("the one hunk"),
            (true, of) => write!(f, "all {of} {hunks}"),
            (false, of) => write!(f, "{} of {of} {hunks}", self.hunks),
        }?;
        match self.binary {
            0 => Ok(()),
            1 => f.write_str(", 1 binary file by name only"),
            many => write!(f, ", {many} binary files by name only"),
        }
    }
}

/// What a reviewer was shown whole in one round: the change from `since`, or from its beginning, to a revision.
///
/// A final pass adds up what the reviewer was shown before, so that it shows only the rest. The world works that out
/// in hunks: a hunk of the approved change counts as shown if a look showed one just like it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    /// Where the change that was shown begins.
    pub since: Option<Revision>,
    /// The revision that was judged.
    pub revision: Revision,
}

/// The part of an answer that stands if its author is not asked again: the verdict and what it rests on.
///
/// What it raised and replied was heard in its own round. An objection never stands like this: a reviewer that
/// objects is asked.
pub(crate) fn kept(answer: &Answer) -> Option<Answer> {
    // Everything that belongs to one round is emptied: it was tracked there, and would count twice.
    (!rejects(answer)).then(|| Answer {
        raised: Vec::new(),
        said: BTreeMap::new(),
        unread: Vec::new(),
        settled: BTreeMap::new(),
        wordless: false,
        ..answer.clone()
    })
}

/// A reviewer that was not shown everything.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotShown {
    /// The reviewer that has no verdict.
    pub reviewer: Reviewer,
    /// What the reviewer was shown.
    pub shown: Shown,
    /// The limit on parts, if the change takes more. The reviewer was not asked at all then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// The answer to one part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heard {
    /// The try that gave the answer.
    pub n: Try,
    /// The answer of this part alone.
    pub answer: Answer,
    /// What had been shown by then.
    pub shown: Shown,
}

/// What a reviewer without a verdict said about what it did see: only its objections.
///
/// Its silence about a finding closes nothing: the finding may lie in the part that was never shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partly {
    /// Its objections: new findings, and those it says are still there. None if the reviewer was not asked.
    pub answer: Option<Answer>,
    /// Findings that were to be put to the reviewer and that it did not uphold. It was never heard on those.
    pub unheard: BTreeSet<FindingId>,
    /// What the reviewer was shown.
    pub shown: Shown,
    /// The limit on parts, if the change takes more.
    pub limit: Option<u32>,
}

/// What the answer of one part means for its reviewer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Weight {
    /// All parts are there. This is the reviewer's answer to everything that was shown.
    Whole(Answer, Shown),
    /// There are more parts to ask.
    Part,
    /// There are no more parts to ask, and not everything was shown.
    NotCovered,
    /// The answer does not count by itself.
    Unusable(Unusable),
    /// The report of what was shown is impossible.
    Garbled,
}

/// The answers of all parts as one: the strictest verdict, every finding, every reply. `None` without any.
///
/// Anything weaker would let a change pass because its fault lay in one part of many.
pub fn merge<'a>(answers: impl IntoIterator<Item = &'a Answer>) -> Option<Answer> {
    let mut answers = answers.into_iter();
    let mut whole = answers.next()?.clone();
    for part in answers {
        // Verdicts are ordered from approve to reject, so the maximum is the strictest.
        whole.verdict = whole.verdict.max(part.verdict);
        whole.fundamental |= part.fundamental;
        whole.wordless |= part.wordless;
        whole.raised.extend(part.raised.iter().cloned());
        whole.unread.extend(part.unread.iter().cloned());
        whole.settled.extend(part.settled.clone());
        for (id, said) in &part.said {
            let kept = whole.said.get(id);
            if kept.is_none_or(|kept| strictness(said) > strictness(kept)) {
                whole.said.insert(*id, said.clone());
            }
        }
        whole.checked = joined(&whole.checked, &part.checked);
        // One reason is enough to say why the evidence does not count.
        whole.refused = whole.refused.or_else(|| part.refused.clone());
        whole.intent = match (whole.intent.take(), &part.intent) {
            // Parts that understood the task alike need not say it twice.
            (Some(before), Some(intent)) if before != *intent => Some(joined(&before, intent)),
            (before, intent) => before.or_else(|| intent.clone()),
        };
        whole.intent_satisfied = match (whole.intent_satisfied, part.intent_satisfied) {
            // One part that does not serve the intent is enough.
            (Some(before), Some(now)) => Some(before && now),
            (before, now) => before.or(now),
        };
    }
    Some(whole)
}

fn joined(before: &str, more: &str) -> String {
    let texts: Vec<&str> = [before.trim(), more.trim()].into_iter().filter(|text| !text.is_empty()).collect();
    texts.join("\n")
}

/// Orders replies to one finding, so that a part that still sees it outweighs one that does not.
fn strictness(said: &Said) -> u8 {
    match said {
        Said::Resolved => 0,
        Said::NotAnIssue(_) | Said::Shown(_) | Said::NoProof(_) => 1,
        Said::StillThere => 2,
    }
}

/// How many parts are asked, of those it takes.
pub fn asked(policy: &Policy, shown: Shown) -> u32 {
    // A limit of 0 would ask nobody, and nothing could ever be approved.
    shown.parts.min(policy.parts_max.max(1))
}

/// Whether the limit lets a reviewer be shown everything.
///
/// If not, the reviewer is not asked at all: a look at a share of the change costs as much as a look at all of it,
/// and could not approve anything.
pub fn may_be_shown(policy: &Policy, shown: Shown) -> bool {
    asked(policy, shown) == shown.parts
}

impl ReviewRound {
    /// The parts that a reviewer has answered.
    fn parts_of(&self, reviewer: &Reviewer) -> impl Iterator<Item = (&u32, &Heard)> {
        self.heard.get(reviewer).into_iter().flatten()
    }

    /// Findings put to a reviewer that no other part of it has answered.
    ///
    /// An exhaustive pass answers for nothing: the reviewer already has, and what it said is kept.
    pub fn put_to_part(&self, ledger: &Ledger, reviewer: &Reviewer, part: u32) -> Vec<FindingId> {
        let mut put = if self.kept.is_empty() { self.put_to(reviewer, ledger) } else { Vec::new() };
        let others = || self.parts_of(reviewer).filter(|(at, _)| **at != part);
        put.retain(|id| !others().any(|(_, heard)| heard.answer.said.contains_key(id)));
        put
    }

    /// What the answer of one part means. `put` are the findings that were put to this part.
    pub fn weigh(
        &self,
        policy: &Policy,
        ledger: &Ledger,
        reviewer: &Reviewer,
        told: (Try, &Answer, Shown),
        put: &[FindingId],
        round: u32,
    ) -> Weight {
        let (n, answer, shown) = told;
        let last = asked(policy, shown);
        let same =
            |(_, heard): (&u32, &Heard)| (heard.shown.parts, heard.shown.of) == (shown.parts, shown.of);
        // Parts that disagree about the size of the change come from different cuts of it. Together they cover
        // nothing.
        if shown.is_odd() || n.part >= last || !self.parts_of(reviewer).all(same) {
            return Weight::Garbled;
        }
        let others = self.parts_of(reviewer).filter(|(at, _)| **at != n.part).count() as u32;
        let is_last = others + 1 == last;
        let left = self.put_to_part(ledger, reviewer, n.part);
        // Only the last part has to answer for everything still open: an earlier one may not have been shown the
        // place.
        let asked: Vec<FindingId> = left.into_iter().filter(|id| is_last || put.contains(id)).collect();
        if let Some(why) = unusable(answer, &asked, round, self.owed_by(reviewer, n.part)) {
            return Weight::Unusable(why);
        }
        if !is_last {
            return Weight::Part;
        }
        let mut parts = self.heard.get(reviewer).cloned().unwrap_or_default();
        parts.insert(n.part, Heard { n, answer: answer.clone(), shown });
        // Each part reports what has been shown by then, so the largest is the sum.
        let total = parts.values().map(|heard| heard.shown).max().unwrap_or(shown);
        match merge(parts.values().map(|heard| &heard.answer)) {
            // Both must hold: every hunk shown, and no part left unasked because of the limit.
            Some(whole) if total.is_whole() && last == shown.parts => Weight::Whole(whole, total),
            _ => Weight::NotCovered,
        }
    }

    /// Lets a reviewer begin anew, with the first part.
    pub(crate) fn forget(&mut self, reviewer: &Reviewer) {
        self.heard.remove(reviewer);
        self.partly.remove(reviewer);
        self.owed.retain(|(owes, _), _| owes != reviewer);
    }

    /// Records what a reviewer said in two passes as one answer. If asked again, it begins with the first part.
    pub(crate) fn stands_whole(&mut self, reviewer: &Reviewer, n: Try, answer: &Answer) {
        let n = Try { part: 0, ..n };
        self.hear(reviewer, Heard { n, answer: answer.clone(), shown: Shown::whole(0) });
    }

    /// Records the answer of one part.
    pub(crate) fn hear(&mut self, reviewer: &Reviewer, heard: Heard) {
        self.heard.entry(reviewer.clone()).or_default().insert(heard.n.part, heard);
    }

    /// The answers of a reviewer's parts as one.
    pub(crate) fn merged(&self, reviewer: &Reviewer) -> Option<Answer> {
        merge(self.parts_of(reviewer).map(|(_, heard)| &heard.answer))
    }

    /// The first part that was not answered.
    pub(crate) fn next_part(&self, reviewer: &Reviewer) -> Try {
        let heard = |part: &u32| self.parts_of(reviewer).any(|(at, _)| at == part);
        // The first gap and not the number heard: a part may have been taken back.
        Try { part: (0..).find(|part| !heard(part)).unwrap_or(0), ..Try::default() }
    }

    /// The first part whose verdict needs a ground.
    pub(crate) fn lacks_ground(&self, policy: &Policy, reviewer: &Reviewer) -> Option<&Heard> {
        let mut parts = self.parts_of(reviewer).map(|(_, heard)| heard);
        parts.find(|heard| wants_a_ground(policy, &heard.answer))
    }

    /// Removes that part's answer, so that it is asked again.
    pub(crate) fn take_back(&mut self, policy: &Policy, reviewer: &Reviewer) -> Option<Heard> {
        let part = self.lacks_ground(policy, reviewer)?.n.part;
        self.heard.get_mut(reviewer)?.remove(&part)
    }

    /// Continues after an answer that did not count: with the next try, or without the reviewer.
    pub(crate) fn go_on(&mut self, reviewer: &Reviewer, next: Option<Try>, ledger: &Ledger) {
        match next {
            Some(next) => drop(self.reviewers.insert(reviewer.clone(), ReviewerState::Asking(next))),
            None => self.lose(reviewer, ledger),
        }
    }

    /// Nobody is left to ask, so the reviewer has no verdict. Its objections from the parts it did answer are heard.
    pub(crate) fn lose(&mut self, reviewer: &Reviewer, ledger: &Ledger) {
        self.reviewers.insert(reviewer.clone(), ReviewerState::Gone);
        let shown = self.parts_of(reviewer).map(|(_, heard)| heard.shown).max();
        if let (Some(mut answer), Some(shown)) = (self.merged(reviewer), shown) {
            // A reply that closes a finding needs a reviewer that saw everything; one that keeps it open does not.
            answer.said.retain(|_, said| *said == Said::StillThere);
            let unheard =
                ledger.put_to(reviewer).into_iter().filter(|id| !answer.said.contains_key(id)).collect();
            self.partly
                .insert(reviewer.clone(), Partly { answer: Some(answer), unheard, shown, limit: None });
        }
    }

    /// Whether a reviewer may be left out because the change takes too many parts. Nobody may have asked it yet.
    pub(crate) fn is_too_large(&self, policy: &Policy, reviewer: &Reviewer, shown: Shown) -> bool {
        // Once a part was answered, leaving the reviewer out would lose what it objected to.
        let unasked = self.parts_of(reviewer).next().is_none();
        unasked && !shown.is_odd() && !shown.is_whole() && !may_be_shown(policy, shown)
    }

    /// Leaves a reviewer out because the change takes more parts than may be asked. It has no verdict and was heard
    /// on nothing.
    pub(crate) fn leave_out(&mut self, policy: &Policy, reviewer: &Reviewer, shown: Shown, ledger: &Ledger) {
        self.reviewers.insert(reviewer.clone(), ReviewerState::Gone);
        let (unheard, limit) = (ledger.put_to(reviewer).into_iter().collect(), Some(policy.parts_max));
        self.partly.insert(reviewer.clone(), Partly { answer: None, unheard, shown, limit });
    }

    /// Everybody who said something that counts: the answers, and the objections of those without a verdict.
    pub fn voices(&self) -> impl Iterator<Item = (&Reviewer, &Answer)> {
        let objections =
            self.partly.iter().filter_map(|(reviewer, partly)| Some((reviewer, partly.answer.as_ref()?)));
        self.answers().chain(objections)
    }

    /// The reviewers without a verdict because not everything was shown to them.
    pub fn not_shown(&self) -> Vec<NotShown> {
        let one = |(reviewer, partly): (&Reviewer, &Partly)| NotShown {
            reviewer: reviewer.clone(),
            shown: partly.shown,
            limit: partly.limit,
        };
        self.partly.iter().map(one).collect()
    }
}

/// The answers of parts, by reviewer and part.
pub type HeardParts = BTreeMap<Reviewer, BTreeMap<u32, Heard>>;
