//! What was said about a finding, and by whom. Words are only ever added: an id never changes what it is about, and
//! whoever raised a finding is asked about it in words of its own.

use crate::finding::{Claim, Source};
use crate::ids::{FindingId, Seat};
use crate::ledger::{Entry, Ledger, Tracked};
use crate::panel::Bench;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What one reviewer or check said about a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Words {
    /// Who.
    pub by: Source,
    /// What. Its place is where the finding was when this was said.
    pub claim: Claim,
}

impl Words {
    /// The same words by the same source, wherever they were said.
    fn is(&self, by: &Source, claim: &Claim) -> bool {
        let text = |claim: &Claim| {
            [&claim.claim, &claim.details, &claim.suggestion, &claim.evidence]
                .map(|part| part.trim().to_owned())
        };
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
    /// The field it lies in, where nobody on the panel owns that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unowned: Option<String>,
    /// Findings at the same place that may be about the same: nobody could be sure, so both stay.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub related: BTreeSet<FindingId>,
    /// Why it went where it went, where that is not plain.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub why: String,
}

impl Remarks {
    /// Nothing was noticed.
    pub fn is_empty(&self) -> bool {
        *self == Remarks::default()
    }

    /// Takes in what a later round noticed. What was related stays so.
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

/// A check's word is a fact, a reviewer's an opinion: one finding never is both.
pub fn is_one_kind<'s>(mut by: impl Iterator<Item = &'s Source>) -> bool {
    let check = |source: &Source| matches!(source, Source::Check(_));
    by.next().is_none_or(|first| by.all(|other| check(other) == check(first)))
}

impl Tracked {
    /// What was said about it in this round, the claim that stands for it first; nothing, where nobody raised it.
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

    /// What this seat said about it, the last of it last: what it is asked about.
    pub fn words_of<'e>(&'e self, seat: &'e Seat) -> impl Iterator<Item = &'e Claim> {
        let own = move |words: &&Words| matches!(&words.by, Source::Seat(by) if by == seat);
        self.words.iter().filter(own).map(|words| &words.claim)
    }

    /// Takes in what was said in this round: new words are added, and those that stand for it go on standing. Only
    /// where it is and how sure one is of it follow the round.
    pub(crate) fn hear(&mut self, tracked: &Tracked) {
        for (by, claim) in tracked.said() {
            if !self.words.iter().any(|known| known.is(by, claim)) {
                self.words.push(Words { by: by.clone(), claim: claim.clone() });
            }
        }
        // What is handed in without an author is the word of all who hold it.
        if self.words.is_empty() {
            let by = tracked.by.iter();
            self.words.extend(by.map(|by| Words { by: by.clone(), claim: tracked.claim.clone() }));
        }
        self.remarks.take(&tracked.remarks);
        let now = &tracked.claim;
        let claim = &mut self.claim;
        claim.file.clone_from(&now.file);
        claim.section.clone_from(&now.section);
        (claim.line, claim.end) = (now.line, now.end);
        (claim.severity, claim.fixable_by) = (now.severity, now.fixable_by);
        (claim.confidence, claim.confidence_stated) = (now.confidence, now.confidence_stated);
    }
}

impl Bench {
    /// What a tracking report may not do to words, and nobody could put right: say of an opinion and a check that they
    /// are one finding, give one id twice, or leave out what was raised in this sitting.
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
        if findings.iter().any(|tracked| tracked.id.0 != 0 && !ids.insert(tracked.id)) {
            return Some("one id is given to two findings");
        }
        let mut told: BTreeMap<&Source, BTreeSet<&str>> = BTreeMap::new();
        for (by, claim) in findings.iter().flat_map(Tracked::said) {
            told.entry(by).or_default().insert(&claim.claim);
        }
        let lost = |by: Source, claims: &[Claim]| {
            let told = told.get(&by);
            claims.iter().any(|claim| told.is_none_or(|told| !told.contains(claim.claim.as_str())))
        };
        let by_checks = self.failures().any(|(check, claims)| lost(Source::Check(check.clone()), claims));
        let by_seats = self.answers().any(|(seat, answer)| lost(Source::Seat(seat.clone()), &answer.raised));
        (by_checks || by_seats).then_some("what was raised is in no finding")
    }
}
