//! What a later claim can be at all, before anybody asks how near it is: an id never changes its subject.
//!
//! A check's finding is never a reviewer's, nor another check's. Two reviewers have one finding only when both describe
//! the same defect. One sentence about another thing is another finding, whoever says it. Without these rules an id
//! could drift, round by round, from one defect to another, and its waiver or ruling would go with it.

use super::Input;
use super::fates::moved;
use crate::dedupe;
use crate::similar::{likeness_of, other_subject};
use crate::triage::{Raised, Triaged};
use std::collections::BTreeSet;
use tribunal_core::finding::{Claim, Source};
use tribunal_core::ids::FindingId;
use tribunal_core::ledger::Entry;
use tribunal_core::words::is_one_kind;

/// Whether what is raised now can be the finding of the ledger.
pub(super) fn may_be(input: &Input<'_>, id: FindingId, entry: &Entry, now: &Triaged) -> bool {
    let sources: BTreeSet<&Source> = now.texts().map(|raised| &raised.source).collect();
    if !is_one_kind(entry.by.iter().chain(sources.iter().copied())) {
        return false;
    }
    let pairs = || entry.words().iter().flat_map(|words| now.texts().map(move |raised| (words, raised)));
    let own = entry.by.iter().any(|by| sources.contains(by));
    if own {
        // At least one pair of wordings by the same source must be able to mean the same thing.
        let same = |claim: &Claim, raised: &Raised| {
            // A rule words its findings by a template, so there a changed name is not a changed subject.
            claim.rule.is_some() || !other_subject(&claim.claim, &raised.claim.claim)
        };
        let mut own = pairs().filter(|(words, raised)| words.by == raised.source).peekable();
        return own.peek().is_none() || own.any(|(words, raised)| same(&words.claim, raised));
    }
    // Another check, or a check where a reviewer was: never the same.
    if sources.iter().any(|by| matches!(by, Source::Check(_))) {
        return false;
    }
    let named = |raised: &Raised| raised.claim.same_as == Some(id);
    // Compared at its present place, as the old lines mean nothing in the new tree.
    let place = moved(input, &entry.claim, None);
    let here = |claim: &Claim| Claim {
        file: place.file.clone(),
        line: place.line,
        end: place.end,
        section: place.section.clone(),
        ..claim.clone()
    };
    now.texts().any(named) || pairs().any(|(words, raised)| dedupe::same(&here(&words.claim), &raised.claim))
}

/// The words of a finding that are nearest to what is raised now, at its present place.
///
/// A finding that was said in several ways may be repeated in any of them; matching against the first wording alone
/// would lose it. `None` when there is only one wording.
pub(super) fn nearest(entry: &Entry, now: &[Triaged]) -> Option<Claim> {
    let mut wordings: Vec<&Claim> = vec![&entry.claim];
    for words in entry.words() {
        if wordings.iter().all(|known| known.claim != words.claim.claim) {
            wordings.push(&words.claim);
        }
    }
    if wordings.len() < 2 {
        return None;
    }
    let near = |claim: &Claim| {
        let said = now.iter().flat_map(Triaged::texts).filter(|raised| entry.by.contains(&raised.source));
        said.map(|raised| likeness_of(&claim.claim, &raised.claim.claim)).fold(0.0, f64::max)
    };
    let mut best = (near(wordings[0]), wordings[0]);
    for claim in &wordings[1..] {
        let likeness = near(claim);
        if likeness > best.0 {
            best = (likeness, claim);
        }
    }
    let place = &entry.claim;
    Some(Claim {
        file: place.file.clone(),
        line: place.line,
        end: place.end,
        section: place.section.clone(),
        ..best.1.clone()
    })
}
