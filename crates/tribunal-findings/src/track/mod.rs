//! Identity of findings over rounds (SPEC 3.4, 3.5). An id is given once; here claims of this round meet the ledger.
//! Never lets a must-fix finding go because nobody repeated it.
//!
//! ```text
//! track(&Input { round, next_id, ledger, triaged, said, ran, change, fix, removed, read, architect, tools }) -> Outcome
//! Outcome { tracked: Vec<Tracked>, delta: Delta, cycle: CycleDelta, matches: Vec<Match>, removed: Vec<Block> }
//! ```
//! New findings get `next_id`, `next_id + 1`, … in triage order. `change` is the diff between the tree the ledger
//! was last tracked on and this one, `fix` that between the round before and this one: they differ when a round is
//! tracked twice (both are empty in round 1 or when the tree is the same); `read` gives files of either tree, on demand. What a
//! round returns as `removed` is handed in, accumulated, with the rounds after it.

pub mod anchor;
pub mod assign;
pub mod change;
pub mod compare;
mod fates;
mod layout;
pub mod moves;
pub mod pair;
pub mod prose;
mod reversal;
mod reworded;
pub mod score;
mod subject;

pub use anchor::{Read, Side};
pub use change::{Change, FileChange, Hunk};
pub use compare::{Comparison, compare, compare_reports};
pub use reversal::Block;

use crate::delta::CycleDelta;
use crate::triage::Triaged;
use anchor::{Anchor, Anchors};
use pair::{Hints, How, Scorer, pair};
use prose::Voices;
use std::collections::{BTreeMap, BTreeSet};
use tribunal_core::finding::{Claim, Fate, FixableBy, Said, Source};
use tribunal_core::ids::{Check, FindingId, Seat};
use tribunal_core::ledger::{Delta, Entry, Ledger, Mark, Tracked};
use tribunal_core::words::Words;

/// Everything tracking needs to know of one round.
pub struct Input<'a> {
    /// Which round, from 1.
    pub round: u32,
    /// The first id that is free.
    pub next_id: FindingId,
    /// The ledger before this round.
    pub ledger: &'a Ledger,
    /// This round's findings after triage.
    pub triaged: &'a [Triaged],
    /// Answers to findings put by id.
    pub said: &'a BTreeMap<Seat, BTreeMap<FindingId, Said>>,
    /// Checks that ran in this round over their whole scope: their silence resolves.
    pub ran: &'a BTreeSet<Check>,
    /// The diff between the tree that the ledger's lines are of and this one.
    pub change: &'a Change,
    /// The diff between the tree of the round before and this one: what is on its added lines came with the fix.
    pub fix: &'a Change,
    /// What earlier fixes took out.
    pub removed: &'a [Block],
    /// Gives files of either tree.
    pub read: Read<'a>,
    /// The maker is the architect, so what an architect must mend is the maker's.
    pub architect: bool,
    /// Which checks are tools, and what those say beside the change.
    pub tools: &'a ToolWords,
}

/// What tools say that does not count, and which checks they are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolWords {
    /// Checks that are tools: their silence settles only what changed.
    pub names: BTreeSet<Check>,
    /// What they said of lines that did not change.
    pub aside: Vec<Claim>,
}

impl ToolWords {
    /// Whether a finding is still said, but of a line that is not part of the change.
    fn says_aside(&self, claim: &Claim) -> bool {
        let key = |claim: &'_ Claim| (claim.file.clone(), claim.rule.clone(), claim.claim.clone());
        self.aside.iter().any(|other| key(other) == key(claim))
    }
}

/// What became of one triaged finding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Match {
    /// It is a known one.
    Known {
        /// Which.
        id: FindingId,
        /// How sure, 0 to 1.
        score: f64,
        /// How it was found.
        how: How,
    },
    /// It is new, under this id.
    New(FindingId),
}

impl Match {
    /// The id it has now.
    pub fn id(&self) -> FindingId {
        match self {
            Match::Known { id, .. } | Match::New(id) => *id,
        }
    }
}

/// What tracking found.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Every finding this round says something about, in id order.
    pub tracked: Vec<Tracked>,
    /// Counts for the machine.
    pub delta: Delta,
    /// The delta itself.
    pub cycle: CycleDelta,
    /// One per triaged finding, in order.
    pub matches: Vec<Match>,
    /// What this fix took out, for later rounds.
    pub removed: Vec<Block>,
}

/// Matches this round's findings to the ledger.
pub fn track(input: &Input<'_>) -> Outcome {
    let matches = matched(input);
    let ids: BTreeMap<usize, FindingId> =
        input.triaged.iter().zip(&matches).map(|(triaged, found)| (triaged.key, found.id())).collect();
    let mut anchors = Anchors::new(input.read);
    let changed = reversal::Changed::new(input, &mut anchors);
    let mut tracked: BTreeMap<FindingId, Tracked> = BTreeMap::new();
    let mut silent: BTreeSet<FindingId> = BTreeSet::new();
    for (triaged, found) in input.triaged.iter().zip(&matches) {
        let anchor = anchors.of(Side::After, triaged.claim());
        let mut one = fates::repeated(input, triaged, found, &anchor, &changed);
        let related = triaged.related.iter().filter_map(|key| ids.get(key));
        one.remarks.related = related.copied().filter(|id| *id != one.id).collect();
        match tracked.get_mut(&one.id) {
            // Two groups of one round that match one entry cannot be: matching is one to one.
            Some(known) => {
                known
                    .words
                    .extend(one.said().map(|(by, claim)| Words { by: by.clone(), claim: claim.clone() }));
                known.by.extend(one.by);
            }
            None => {
                tracked.insert(one.id, one);
            }
        }
    }
    let speaks = |entry: &Entry| is_live(entry) || matches!(entry.fate, Fate::Waived(_));
    let unrepeated: Vec<(FindingId, &Entry)> =
        input.ledger.iter().filter(|(id, entry)| speaks(entry) && !tracked.contains_key(id)).collect();
    let moves = fates::moves(input, unrepeated.iter().map(|(_, entry)| &entry.claim), &mut anchors);
    for (id, entry) in unrepeated {
        let (one, was_silent) = fates::unrepeated(input, id, entry, &mut anchors, (&changed, &moves));
        if was_silent {
            silent.insert(id);
        }
        tracked.insert(id, one);
    }
    fates::credit(input, &mut tracked);
    let cycle = fates::cycle(input, &tracked, &silent);
    let delta = cycle.counts(input.change.lines_changed());
    Outcome { delta, cycle, matches, removed: changed.removed, tracked: tracked.into_values().collect() }
}

/// Entries that this round can speak about.
fn is_live(entry: &Entry) -> bool {
    matches!(entry.fate, Fate::Open | Fate::Deferred | Fate::Advisory)
}

/// How reluctantly a claim is taken for an entry: open ones first, settled ones when the words are clearly theirs.
fn reluctance(entry: &Entry) -> f64 {
    match entry.fate {
        Fate::Open | Fate::Deferred | Fate::Advisory => 0.0,
        Fate::Discarded | Fate::Filtered => 0.5,
        _ => 1.0,
    }
}

/// One assignment over the whole ledger, so that what came back is not mistaken for what is open beside it.
fn matched(input: &Input<'_>) -> Vec<Match> {
    let mut entries: Vec<(FindingId, &Entry)> = input.ledger.iter().collect();
    entries.sort_by(|a, b| reluctance(a.1).total_cmp(&reluctance(b.1)).then(a.0.cmp(&b.0)));
    let nearest: Vec<Option<Claim>> =
        entries.iter().map(|(_, entry)| subject::nearest(entry, input.triaged)).collect();
    let known = entries.iter().zip(&nearest);
    let before: Vec<&Claim> =
        known.map(|((_, entry), nearest)| nearest.as_ref().unwrap_or(&entry.claim)).collect();
    let after: Vec<&Claim> = input.triaged.iter().map(|triaged| triaged.claim()).collect();
    let may = |n: usize, now: usize| subject::may_be(input, entries[n].0, entries[n].1, &input.triaged[now]);
    let known: Vec<&Entry> = entries.iter().map(|(_, entry)| *entry).collect();
    let voices = Some(Voices::of_ledger(&known, &before, input.triaged));
    let hints = Hints { may: Some(&may), voices, ..hints(input, &entries) };
    let mut matches: Vec<Option<Match>> = vec![None; after.len()];
    for found in pair(&before, &after, &hints, input.change, input.read, &Scorer::default()) {
        let id = entries[found.before].0;
        matches[found.after] = Some(Match::Known { id, score: found.score, how: found.how });
    }
    reworded::join(input, &entries, &mut matches);
    let mut next = input.next_id.0;
    let fresh = |found: Option<Match>| {
        found.unwrap_or_else(|| {
            next += 1;
            Match::New(FindingId(next - 1))
        })
    };
    matches.into_iter().map(fresh).collect()
}

/// What the seats say about which is which: "same as F-12", F-12 called settled by the seat that raises this one, and
/// F-12 answered for by its id, so that this one is more likely another.
fn hints(input: &Input<'_>, entries: &[(FindingId, &Entry)]) -> Hints<'static> {
    let mut hints = Hints::default();
    hints.reluctance.extend(entries.iter().enumerate().map(|(n, (_, entry))| (n, reluctance(entry))));
    let places: BTreeMap<FindingId, usize> =
        entries.iter().enumerate().map(|(before, (id, _))| (*id, before)).collect();
    for (after, triaged) in input.triaged.iter().enumerate() {
        let named = triaged.texts().find_map(|raised| raised.claim.same_as);
        hints.same_as.extend(named.and_then(|id| places.get(&id)).map(|before| (after, *before)));
        for raised in triaged.texts() {
            let Source::Seat(seat) = &raised.source else { continue };
            for (id, said) in input.said.get(seat).into_iter().flatten() {
                let Some(before) = places.get(id) else { continue };
                let pairs = if *said == Said::StillThere { &mut hints.answered } else { &mut hints.settled };
                pairs.insert((*before, after));
            }
        }
    }
    hints
}

/// The region a finding lies in: file and enclosing definition, section, or a stretch of lines. What is about a whole
/// file has none: three different faults of one file are not the same place.
pub(crate) fn region(claim: &Claim, anchor: &Anchor) -> Option<String> {
    let file = claim.file.as_deref()?;
    if !anchor.symbol.is_empty() {
        return Some(format!("{file}:{}", anchor.symbol));
    }
    if let Some(section) = &claim.section {
        return Some(format!("{file}:{section}"));
    }
    claim.line.map(|line| format!("{file}:{}", line / 50 * 50))
}

pub(crate) fn makers(claim: &Claim, architect: bool) -> bool {
    match claim.fixable_by {
        FixableBy::Dev => true,
        FixableBy::Architect => architect,
        FixableBy::Manual => false,
    }
}

pub(crate) fn by_check(by: &BTreeSet<Source>) -> bool {
    by.iter().any(|source| matches!(source, Source::Check(_)))
}

pub(crate) fn is_new(mark: Mark) -> bool {
    mark != Mark::Persistent
}
