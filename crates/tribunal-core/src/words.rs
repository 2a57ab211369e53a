//! What was said about a finding, and by whom.
//!
//! Words are only ever added: an id never changes what it is about, and whoever raised a finding is asked about it in
//! its own words. Otherwise a reviewer could be made to confirm a claim that it never made.

use crate::finding::{Claim, Source};
use crate::ids::{FindingId, Reviewer};
use crate::ledger::{Entry, Ledger, Tracked};
use crate::panel::ReviewRound;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What one reviewer or check said about a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Words {
    /// The reviewer or check that said it.
    pub by: Source,
    /// What was said. Its place is where the finding was at that time.
    pub claim: Claim,
}

impl Words {
    /// Whether these are the same words by the same source, wherever they were said.
    fn is(&self, by: &Source, claim: &Claim) -> bool {
        let text = |claim: &Claim| {
            [&claim.claim, &claim.details, &claim.suggestion, &claim.evidence]
                .map(|part| part.trim().to_owned())
        };
        // The claim first: comparing it is cheap and rules most of them out before texts are copied.
        self.by == *by && self.claim.claim == claim.claim && text(&self.claim) == text(claim)
    }
}

/// What triage noticed about a finding, for people.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Remarks {
    /// Its reviewers gave different severities.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub disagree: bool,
    /// Its field has several owners on the panel.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub overlapping: bool,
    /// The field it lies in, if nobody on the panel owns that field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unowned: Option<String>,
    /// Findings at the same place that may be about the same thing: nobody could be sure, so both stay.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub related: BTreeSet<FindingId>,
    /// Why it got its fate, if that is not plain.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub why: String,
}

impl Remarks {
    /// Whether nothing was noticed.
    pub fn is_empty(&self) -> bool {
        *self == Remarks::default()
    }

    /// Adds what a later round noticed. Related findings stay related.
    fn take(&mut self, later: &Remarks) {
        self.disagree |= later.disagree;
        self.overlapping |= later.overlapping;
        self.related.extend(&later.related);
        self.unowned = later.unowned.clone().or_else(|| self.unowned.take());
        if !later.why.is_empty() {
            self.why.clone_from(&later.why);
        }
    }
}

/// Whether all sources are checks, or all are reviewers.
///
/// A check reports a fact, a reviewer an opinion. One finding is never both: a reviewer could otherwise take a red
/// check back.
pub fn is_one_kind<'s>(mut by: impl Iterator<Item = &'s Source>) -> bool {
    let check = |source: &Source| matches!(source, Source::Check(_));
    by.next().is_none_or(|first| by.all(|other| check(other) == check(first)))
}

impl Tracked {
    /// What was said about it in this round, the claim that stands for it first; nothing if nobody raised it.
    pub fn said(&self) -> impl Iterator<Item = (&Source, &Claim)> {
        let first = self.says.iter().map(|by| (by, &self.claim));
        first.chain(self.words.iter().map(|words| (&words.by, &words.claim)))
    }
}

impl Entry {
    /// Everything that was said about it, in the order it was said.
    pub fn words(&self) -> &[Words] {
        &self.words
    }

    /// What this reviewer said about it, in order: what it is asked about.
    pub fn words_of<'e>(&'e self, reviewer: &'e Reviewer) -> impl Iterator<Item = &'e Claim> {
        let own = move |words: &&Words| matches!(&words.by, Source::Reviewer(by) if by == reviewer);
        self.words.iter().filter(own).map(|words| &words.claim)
    }

    /// Adds what was said in this round. The claim that stands for the finding keeps its words.
    ///
    /// Only its place, its severity and the confidence in it follow the round.
    pub(crate) fn hear(&mut self, tracked: &Tracked) {
        for (by, claim) in tracked.said() {
            if !self.words.iter().any(|known| known.is(by, claim)) {
                self.words.push(Words { by: by.clone(), claim: claim.clone() });
            }
        }
        // A finding without an author belongs to all who hold it.
        if self.words.is_empty() {
            let by = tracked.by.iter();
            self.words.extend(by.map(|by| Words { by: by.clone(), claim: tracked.claim.clone() }));
        }
        self.remarks.take(&tracked.remarks);
        let now = &tracked.claim;
        let claim = &mut self.claim;
        // The place moves with the code. The words do not: they are what was claimed.
        claim.file.clone_from(&now.file);
        claim.section.clone_from(&now.section);
        (claim.line, claim.end) = (now.line, now.end);
        (claim.severity, claim.fixable_by) = (now.severity, now.fixable_by);
        (claim.confidence, claim.confidence_stated) = (now.confidence, now.confidence_stated);
    }
}

impl ReviewRound {
    /// Why a tracking report cannot be used, if so: it says that an opinion and a check are one finding, gives one id
    /// twice, or leaves out what was raised in this round.
    ///
    /// Nobody could put such a report right, so it counts as a lost attempt of the tracking.
    pub fn misheard(&self, ledger: &Ledger, findings: &[Tracked]) -> Option<&'static str> {
        let mixed = |tracked: &Tracked| {
            let known = ledger.get(tracked.id).into_iter().flat_map(|entry| &entry.by);
            let said = tracked.said().map(|(by, _)| by);
            !is_one_kind(tracked.by.iter().chain(known).chain(said))
        };
        if findings.iter().any(mixed) {
            return Some("a check's finding and a reviewer's are reported as one");
        }
        let mut ids = BTreeSet::new();
        // 0 stands for a finding that has no id yet; several may have it.
        if findings.iter().any(|tracked| tracked.id.0 != 0 && !ids.insert(tracked.id)) {
            return Some("one id is given to two findings");
        }
        // Indexed once: a review may raise tens of thousands of claims.
        let mut told: BTreeMap<&Source, BTreeSet<&str>> = BTreeMap::new();
        for (by, claim) in findings.iter().flat_map(Tracked::said) {
            told.entry(by).or_default().insert(&claim.claim);
        }
        let lost = |by: Source, claims: &[Claim]| {
            let told = told.get(&by);
            claims.iter().any(|claim| told.is_none_or(|told| !told.contains(claim.claim.as_str())))
        };
        let by_checks = self.failures().any(|(check, claims)| lost(Source::Check(check.clone()), claims));
        let by_reviewers =
            self.answers().any(|(reviewer, answer)| lost(Source::Reviewer(reviewer.clone()), &answer.raised));
        (by_checks || by_reviewers).then_some("what was raised is in no finding")
    }
}
