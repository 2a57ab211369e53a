//! The builder or the fixers of one round: who fixes which findings, who waits for whom, and where each of them
//! stands.
//!
//! Several fixers work at once only if their files are disjoint. Everything else would turn into conflicts when their
//! work is joined.

use super::messages::Share;
use crate::effect::{EffectId, Step, Try};
use crate::ids::{FindingId, Maker, Revision};
use crate::ledger::Ledger;
use crate::policy::Policy;
use std::collections::{BTreeMap, BTreeSet};

/// Where one builder or fixer stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum HandState {
    Working(Try),
    Done(Revision),
    Gone,
}

/// One builder or fixer with its part of the work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hand {
    pub(super) share: Share,
    pub(super) state: HandState,
}

impl Hand {
    /// Whether it is done, or was given up.
    pub(super) fn is_over(&self) -> bool {
        !matches!(self.state, HandState::Working(_))
    }

    /// Whether this effect is its present try.
    fn does(&self, effect: &EffectId) -> bool {
        matches!(&effect.step, Step::Make(maker) if *maker == self.share.maker)
            && self.state == HandState::Working(effect.n)
    }

    /// Whether it may be launched: it has work left, and the one it waits for is over.
    pub(super) fn may_start(&self, crew: &[Hand]) -> bool {
        let over = |maker: &Maker| crew.iter().any(|hand| hand.share.maker == *maker && hand.is_over());
        !self.is_over() && self.share.after.as_ref().is_none_or(over)
    }

    /// The revision that it starts from: what the nearest of those before it left, skipping fixers that were given
    /// up.
    pub(super) fn stands_on(&self, crew: &[Hand]) -> Option<Revision> {
        let before = |maker: &Maker| crew.iter().find(|hand| hand.share.maker == *maker);
        let mut at = self.share.after.as_ref().and_then(before);
        // A bound: `after` comes from the journal, and a corrupt one could lead in a circle.
        for _ in 0..crew.len() {
            match &at?.state {
                HandState::Done(revision) => return Some(revision.clone()),
                HandState::Working(_) | HandState::Gone => at = at?.share.after.as_ref().and_then(before),
            }
        }
        None
    }
}

/// Who fixes what: each finding goes to its own fixer, or else to the policy's builder.
///
/// Fixers that share a file, directly or through others, work one after the other, and each sees what the one before
/// left. The others work at once, because their changes can be joined without a conflict.
pub(super) fn crew_for(policy: &Policy, ledger: &Ledger) -> Vec<Hand> {
    let mut shares: BTreeMap<Maker, (Vec<FindingId>, Reach)> = BTreeMap::new();
    for (id, entry) in ledger.open() {
        // Routing names a fixer only where the policy has several.
        let maker = entry.fixer.clone().unwrap_or_else(|| policy.maker.clone());
        let share = shares.entry(maker).or_default();
        share.0.push(id);
        share.1.take(entry.claim.file.as_ref());
    }
    // The first round has no findings yet: the builder makes the subject.
    if shares.is_empty() {
        shares.entry(policy.maker.clone()).or_default();
    }
    let chains = chains(&shares);
    let mut last: BTreeMap<usize, Maker> = BTreeMap::new();
    shares
        .into_iter()
        .zip(chains)
        .map(|((maker, (findings, _)), chain)| {
            // `insert` returns who had the place before: the fixer to wait for.
            let after = last.insert(chain, maker.clone());
            Hand { share: Share { maker, findings, after }, state: HandState::Working(Try::default()) }
        })
        .collect()
}

/// Which files a share may touch.
#[derive(Default)]
struct Reach {
    files: BTreeSet<String>,
    /// A finding without a place may be fixed anywhere.
    anywhere: bool,
}

impl Reach {
    fn take(&mut self, file: Option<&String>) {
        self.anywhere |= file.is_none();
        self.files.extend(file.cloned());
    }

    fn meets(&self, other: &Reach) -> bool {
        self.anywhere || other.anywhere || !self.files.is_disjoint(&other.files)
    }
}

/// For each share the number of its chain. Shares that touch each other's files have the same.
fn chains(shares: &BTreeMap<Maker, (Vec<FindingId>, Reach)>) -> Vec<usize> {
    let mut chain: Vec<usize> = Vec::new();
    for (at, (_, reach)) in shares.values().enumerate() {
        chain.push(at);
        for (other, (_, theirs)) in shares.values().take(at).enumerate() {
            if reach.meets(theirs) {
                // Two chains become one, because this share meets a file of each.
                let (old, new) = (chain[at], chain[other]);
                chain.iter_mut().filter(|number| **number == old).for_each(|number| *number = new);
            }
        }
    }
    chain
}

pub(super) fn hand<'a>(crew: &'a [Hand], effect: &EffectId) -> Option<&'a Hand> {
    crew.iter().find(|hand| hand.does(effect))
}

pub(super) fn hand_mut<'a>(crew: &'a mut [Hand], effect: &EffectId) -> Option<&'a mut Hand> {
    crew.iter_mut().find(|hand| hand.does(effect))
}
