//! What holds of a finding's words, whoever speaks and whatever the tracking effect reports: they only grow, the first
//! ones stand, no opinion is a check's, and who raised a finding is asked about it in words of its own.

use crate::book::Book;
use crate::loop_world::named;
use std::collections::{BTreeMap, BTreeSet};
use tribunal_core::finding::{Claim, Source};
use tribunal_core::ids::{FindingId, Reviewer};
use tribunal_core::ledger::{CarriedFinding, Entry};
use tribunal_core::review_loop::Loop;
use tribunal_core::words::{Words, is_one_kind};

/// What is known of every finding's words.
#[derive(Default)]
pub struct WordLaws {
    known: BTreeMap<FindingId, (String, Vec<Words>)>,
}

impl WordLaws {
    /// Knows what the loop was opened with.
    pub fn new(open: &[CarriedFinding]) -> WordLaws {
        let known = open.iter().map(|carried| (carried.id, Self::of(&carried.entry)));
        WordLaws { known: known.collect() }
    }

    fn of(entry: &Entry) -> (String, Vec<Words>) {
        (entry.claim.claim.clone(), entry.words().to_vec())
    }

    /// A tracking report was taken in. `raised` is what was said in the sitting.
    pub fn tracked(&mut self, after: &Loop, raised: &[(Source, Claim)], book: &mut Book) {
        for (id, entry) in after.ledger().iter() {
            let (lead, words) = Self::of(entry);
            if let Some((known, said)) = self.known.get(&id) {
                book.hold("words", *known == lead, || format!("{id} was {known:?}, now it is {lead:?}"));
                book.hold("words", words.starts_with(said), || format!("{id} lost words of {said:?}"));
            }
            let voices: BTreeSet<&Source> = words.iter().map(|words| &words.by).collect();
            book.hold("words", is_one_kind(entry.by.iter().chain(voices)), || {
                format!("{id} is of {:?}", entry.by)
            });
            if words.iter().map(|words| &words.claim.claim).collect::<BTreeSet<_>>().len() > 1 {
                book.saw("words/several wordings of one".into());
            }
            if entry.by.len() > 1 {
                book.saw("words/several voices for one".into());
            }
            self.known.insert(id, (lead, words));
        }
        for (by, claim) in raised {
            let id = named(claim);
            let kept = after.ledger().get(id).is_some_and(|entry| {
                entry.words().iter().any(|words| words.by == *by && words.claim.claim == claim.claim)
            });
            book.hold("words", kept, || format!("{id} has not the words {:?} of {by}", claim.claim));
        }
    }

    /// A reviewer is asked: about each finding in words that it said itself.
    pub fn asked(after: &Loop, reviewer: &Reviewer, book: &mut Book) {
        for id in after.ledger().put_to(reviewer) {
            let own = after.ledger().get(id).is_some_and(|entry| entry.words_of(reviewer).next().is_some());
            book.hold("words", own, || format!("{reviewer} is asked about {id} and never said a word of it"));
        }
    }
}
