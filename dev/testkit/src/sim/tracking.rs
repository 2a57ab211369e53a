//! Simulated tracking: matches this sitting's claims to the ledger by their words. Honest, unless told to lie.

use super::rng::Rng;
use std::collections::BTreeSet;
use tribunal_core::finding::{Claim, Fate, Said, Source};
use tribunal_core::ids::{Builder, FindingId, Reviewer};
use tribunal_core::ledger::{Delta, Entry, Mark, Tracked};
use tribunal_core::panel::{CheckState, ReviewRound};
use tribunal_core::policy::Use;
use tribunal_core::review_loop::{Loop, LoopReport};
use tribunal_core::words::{Remarks, Words, is_one_kind};

/// What the matcher says of this sitting.
pub fn track(review_loop: &Loop, rng: &mut Rng, lies: bool) -> LoopReport {
    let Some(review_round) = review_loop.review_round() else {
        return LoopReport::Tracked { findings: Vec::new(), delta: Delta::default() };
    };
    let mut findings = raised(review_loop, review_round);
    answered(review_loop, review_round, &mut findings);
    for tracked in &mut findings {
        triage(tracked, rng);
        decorate(review_loop, tracked, rng);
    }
    if lies {
        lie(&mut findings, rng);
    }
    let resolved = findings.iter().filter(|tracked| tracked.fate == Fate::Fixed).count() as u32;
    LoopReport::Tracked { findings, delta: Delta { resolved, ..Delta::default() } }
}

/// Every claim of this sitting, under its old id or as new.
fn raised(review_loop: &Loop, review_round: &ReviewRound) -> Vec<Tracked> {
    let checks = review_round
        .failures()
        .flat_map(|(check, claims)| claims.iter().map(|c| (Source::Check(check.clone()), c.clone())));
    let reviewers = review_round.voices().flat_map(|(reviewer, answer)| {
        answer.raised.iter().map(|claim| (Source::Reviewer(reviewer.clone()), claim.clone()))
    });
    let mut findings: Vec<Tracked> = Vec::new();
    for (source, claim) in checks.chain(reviewers) {
        let same = |tracked: &&mut Tracked| {
            tracked.claim.claim == claim.claim && is_one_kind(tracked.by.iter().chain([&source]))
        };
        match findings.iter_mut().find(same) {
            Some(known) => {
                known.by.insert(source.clone());
                known.severity = known.severity.max(claim.severity);
                known.words.push(Words { by: source, claim });
            }
            None => findings.push(one(review_loop, source, claim)),
        }
    }
    findings
}

fn one(review_loop: &Loop, source: Source, claim: Claim) -> Tracked {
    let same =
        |entry: &Entry| entry.claim.claim == claim.claim && is_one_kind(entry.by.iter().chain([&source]));
    let known = review_loop.ledger().iter().find(|(_, entry)| same(entry));
    let (id, mark) = match known {
        Some((id, entry)) if entry.fate == Fate::Open => (id, Mark::Persistent),
        Some((id, _)) => (id, Mark::Reopened),
        None => (FindingId(0), Mark::New),
    };
    let mut tracked = plain(id, claim, mark);
    tracked.by.insert(source.clone());
    tracked.says = Some(source);
    tracked
}

fn plain(id: FindingId, claim: Claim, mark: Mark) -> Tracked {
    Tracked {
        id,
        by: BTreeSet::new(),
        severity: claim.severity,
        claim,
        fate: Fate::Open,
        says: None,
        words: Vec::new(),
        remarks: Remarks::default(),
        referred: None,
        contested: false,
        mark,
        builders: true,
        touched: false,
        region: None,
        fixer: None,
    }
}

/// Open findings that nobody raised again: what became of them.
fn answered(review_loop: &Loop, review_round: &ReviewRound, findings: &mut Vec<Tracked>) {
    for (id, entry) in review_loop.ledger().open() {
        if findings.iter().any(|tracked| tracked.id == id) {
            continue;
        }
        if let Some(fate) = fate_of(review_loop, review_round, id, entry) {
            let mut tracked = plain(id, entry.claim.clone(), Mark::Persistent);
            tracked.by = entry.by.clone();
            tracked.severity = entry.severity;
            tracked.fate = fate;
            tracked.region = entry.region.clone();
            findings.push(tracked);
        }
    }
}

fn fate_of(review_loop: &Loop, review_round: &ReviewRound, id: FindingId, entry: &Entry) -> Option<Fate> {
    let words: Vec<Fate> = entry
        .by
        .iter()
        .filter_map(|source| match source {
            // Only the next landing can tell whether what refused the last one is gone.
            Source::Check(check) if !review_loop.policy().checks.contains(check) => Some(Fate::Fixed),
            Source::Check(check) => match review_round.checks.get(check)? {
                CheckState::Passed => Some(Fate::Fixed),
                CheckState::Failed(_) | CheckState::DidNotRun | CheckState::Asking(_) => None,
            },
            Source::Reviewer(reviewer) => {
                review_round.voices().find(|(s, _)| *s == reviewer).and_then(|(_, answer)| {
                    match answer.said.get(&id)? {
                        Said::Resolved => Some(Fate::Fixed),
                        Said::StillThere | Said::NoProof(_) => Some(Fate::Open),
                        Said::NotAnIssue(_) | Said::Shown(_) => Some(Fate::Refuted),
                    }
                })
            }
        })
        .collect();
    // All who hold it must let it go; a voice that is missing keeps it.
    if words.len() < entry.by.len() {
        return None;
    }
    let open = words.iter().find(|fate| **fate == Fate::Open);
    open.or_else(|| words.first()).cloned()
}

/// Confidence, authority and duplicates take a reviewer's new finding out now and then.
fn triage(tracked: &mut Tracked, rng: &mut Rng) {
    let by_reviewer = tracked.by.iter().all(|source| matches!(source, Source::Reviewer(_)));
    if !by_reviewer || tracked.fate != Fate::Open || !rng.chance(120) {
        return;
    }
    let other = FindingId(1);
    tracked.fate = rng
        .pick(&[
            Fate::Filtered,
            Fate::Deferred,
            Fate::Discarded,
            Fate::Advisory,
            Fate::DuplicateOf(other),
            Fate::SupersededBy(other),
        ])
        .clone();
}

fn decorate(review_loop: &Loop, tracked: &mut Tracked, rng: &mut Rng) {
    tracked.touched = rng.chance(500);
    tracked.contested = tracked.mark != Mark::New && rng.chance(60);
    tracked.builders = !rng.chance(30);
    if rng.chance(80) {
        tracked.referred = Some(Reviewer::new("owner"));
    }
    if rng.chance(300) {
        tracked.region = Some(format!("region {}", rng.below(2)));
    }
    if tracked.mark == Mark::New && rng.chance(150) {
        tracked.mark = *rng.pick(&[Mark::FixInduced, Mark::Late]);
    }
    if review_loop.policy().of == Use::Phase {
        tracked.fixer = Some(Builder::new(format!("fixer-{}", rng.below(3))));
    }
}

/// Says that things are settled which are not, or leaves them out.
fn lie(findings: &mut Vec<Tracked>, rng: &mut Rng) {
    for tracked in findings.iter_mut() {
        if rng.chance(600) {
            tracked.fate = Fate::Fixed;
        }
    }
    if rng.chance(400) {
        findings.pop();
    }
}
