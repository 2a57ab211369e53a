//! Recognizes one fault under new words each round.
//!
//! Its author calls the old finding resolved and raises the next at the same place, although nothing changed there.
//! Then nothing can have been resolved, and it is the same finding. Without this rule a reviewer could reject forever:
//! every round would show one finding resolved and one new.

use super::fates::{changed_under, changed_within, lines, moved};
use super::pair::How;
use super::{Input, Match};
use crate::triage::Triaged;
use tribunal_core::finding::{Claim, Fate, Said, Source};
use tribunal_core::ids::FindingId;
use tribunal_core::ledger::Entry;

/// Lines that may lie between two citations of one place.
const NEAR: u32 = 2;

/// Joins what is still unmatched to the earlier finding that its author calls resolved, each to the nearest, one to
/// one.
pub(super) fn join(input: &Input<'_>, entries: &[(FindingId, &Entry)], matches: &mut [Option<Match>]) {
    let mut free: Vec<&(FindingId, &Entry)> = entries.iter().filter(|(_, e)| e.is_open_must_fix()).collect();
    let taken: Vec<FindingId> = matches.iter().flatten().map(Match::id).collect();
    free.retain(|(id, _)| !taken.contains(id));
    for (triaged, found) in input.triaged.iter().zip(matches) {
        let open = triaged.fate == Fate::Open && triaged.severity.must_fix();
        if found.is_some() || !open {
            continue;
        }
        let apart = |at: usize| {
            let (id, entry) = free[at];
            let far =
                is_called_resolved(input, triaged, *id).then(|| apart(input, &entry.claim, triaged.claim()));
            Some((far??, at))
        };
        if let Some((_, at)) = (0..free.len()).filter_map(apart).min() {
            let (id, _) = free.remove(at);
            // Neither sure nor unlikely: no words were compared.
            *found = Some(Match::Known { id: *id, score: 0.5, how: How::Reworded });
        }
    }
}

/// Whether a reviewer that raises this finding says that the earlier one is gone.
fn is_called_resolved(input: &Input<'_>, triaged: &Triaged, id: FindingId) -> bool {
    triaged.texts().any(|raised| match &raised.source {
        Source::Reviewer(reviewer) => {
            input.said.get(reviewer).and_then(|said| said.get(&id)) == Some(&Said::Resolved)
        }
        Source::Check(_) => false,
    })
}

/// How many lines two claims are apart; `None` unless both are about one place and nothing changed there.
fn apart(input: &Input<'_>, before: &Claim, now: &Claim) -> Option<u32> {
    let then = moved(input, before, None);
    if then.file.is_none() || then.file != now.file {
        return None;
    }
    match (lines(&then), lines(now)) {
        (Some(a), Some(b)) => {
            let far = b.0.saturating_sub(a.1).max(a.0.saturating_sub(b.1));
            // Both trees are asked: the old lines may have been removed, or new ones added among them.
            let changed = changed_under(input, before) || changed_within(input, now);
            (far <= NEAR && !changed).then_some(far)
        }
        (None, None) => {
            let same = then.section == now.section && !input.change.differs(before.file.as_deref()?);
            same.then_some(0)
        }
        _ => None,
    }
}
