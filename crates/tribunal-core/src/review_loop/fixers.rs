//! The builder or the fixers of one round: who fixes which findings, who waits for whom, and where each of them
//! stands.
//!
//! Several fixers work at once only if their files are disjoint. Everything else would turn into conflicts when their
//! work is joined.

use super::messages::FixAssignment;
use crate::effect::{EffectId, Step, Try};
use crate::ids::{Builder, FindingId, Revision};
use crate::ledger::Ledger;
use crate::policy::Policy;
use std::collections::{BTreeMap, BTreeSet};

/// Where one builder or fixer stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FixerState {
    Working(Try),
    Done(Revision),
    Gone,
}

/// One builder or fixer with its part of the work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fixer {
    pub(super) assignment: FixAssignment,
    pub(super) state: FixerState,
}

impl Fixer {
    /// Whether it is done, or was given up.
    pub(super) fn is_over(&self) -> bool {
        !matches!(self.state, FixerState::Working(_))
    }

    /// Whether this effect is its present try.
    fn does(&self, effect: &EffectId) -> bool {
        matches!(&effect.step, Step::Make(builder) if *builder == self.assignment.builder)
            && self.state == FixerState::Working(effect.n)
    }

    /// Whether it may be launched: it has work left, and the one it waits for is over.
    pub(super) fn may_start(&self, fixers: &[Fixer]) -> bool {
        let over = |builder: &Builder| {
            fixers.iter().any(|fixer| fixer.assignment.builder == *builder && fixer.is_over())
        };
        !self.is_over() && self.assignment.after.as_ref().is_none_or(over)
    }

    /// The revision that it starts from: what the nearest of those before it left, skipping fixers that were given
    /// up.
    pub(super) fn stands_on(&self, fixers: &[Fixer]) -> Option<Revision> {
        let before = |builder: &Builder| fixers.iter().find(|fixer| fixer.assignment.builder == *builder);
        let mut at = self.assignment.after.as_ref().and_then(before);
        // A bound: `after` comes from the journal, and a corrupt one could lead in a circle.
        for _ in 0..fixers.len() {
            match &at?.state {
                FixerState::Done(revision) => return Some(revision.clone()),
                FixerState::Working(_) | FixerState::Gone => {
                    at = at?.assignment.after.as_ref().and_then(before)
                }
            }
        }
        None
    }
}

/// Who fixes what: each finding goes to its own fixer, or else to the policy's builder.
///
/// Fixers that share a file, directly or through others, work one after the other, and each sees what the one before
/// left. The others work at once, because their changes can be joined without a conflict.
pub(super) fn assign_fixers(policy: &Policy, ledger: &Ledger) -> Vec<Fixer> {
    let mut shares: BTreeMap<Builder, (Vec<FindingId>, Reach)> = BTreeMap::new();
    for (id, entry) in ledger.open() {
        // Routing names a fixer only where the policy has several.
        let builder = entry.fixer.clone().unwrap_or_else(|| policy.builder.clone());
        let assignment = shares.entry(builder).or_default();
        assignment.0.push(id);
        assignment.1.take(entry.claim.file.as_ref());
    }
    // The first round has no findings yet: the builder makes the subject.
    if shares.is_empty() {
        shares.entry(policy.builder.clone()).or_default();
    }
    let chains = chains(&shares);
    let mut last: BTreeMap<usize, Builder> = BTreeMap::new();
    shares
        .into_iter()
        .zip(chains)
        .map(|((builder, (findings, _)), chain)| {
            // `insert` returns who had the place before: the fixer to wait for.
            let after = last.insert(chain, builder.clone());
            Fixer {
                assignment: FixAssignment { builder, findings, after },
                state: FixerState::Working(Try::default()),
            }
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
fn chains(shares: &BTreeMap<Builder, (Vec<FindingId>, Reach)>) -> Vec<usize> {
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

pub(super) fn fixer<'a>(fixers: &'a [Fixer], effect: &EffectId) -> Option<&'a Fixer> {
    fixers.iter().find(|fixer| fixer.does(effect))
}

pub(super) fn fixer_mut<'a>(fixers: &'a mut [Fixer], effect: &EffectId) -> Option<&'a mut Fixer> {
    fixers.iter_mut().find(|fixer| fixer.does(effect))
}
