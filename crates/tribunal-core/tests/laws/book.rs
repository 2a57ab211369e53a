//! What the walks found: breaches of laws by name, what was reached, and counts.

use crate::transitions::{Row, Which};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

const KEPT: usize = 5;

/// What the walks found.
#[derive(Default)]
pub struct Book {
    breaches: BTreeMap<&'static str, Vec<String>>,
    seen: BTreeMap<String, u64>,
    /// Walk in progress, for messages.
    pub walk: String,
    /// The policy is no row of the table.
    pub wild: bool,
    /// Loops walked.
    pub loops: u64,
    /// Runs walked.
    pub runs: u64,
    /// Reports that loops heard.
    pub loop_reports: u64,
    /// Reports that runs heard.
    pub run_reports: u64,
    /// The most reports one loop heard.
    pub most: u64,
    digest: DefaultHasher,
    rows: BTreeSet<Row>,
}

impl Book {
    /// A law does not hold.
    pub fn breach(&mut self, law: &'static str, text: impl FnOnce() -> String) {
        let all = self.breaches.entry(law).or_default();
        if all.len() < KEPT {
            all.push(format!("{}: {}", self.walk, text()));
        }
    }

    /// A law must hold.
    pub fn hold(&mut self, law: &'static str, holds: bool, text: impl FnOnce() -> String) {
        if !holds {
            self.breach(law, text);
        }
    }

    /// Something was reached.
    pub fn saw(&mut self, what: String) {
        *self.seen.entry(what).or_insert(0) += 1;
    }

    /// A machine went from one kind of state to another, or an event left it there.
    pub fn moved(&mut self, which: Which, from: &'static str, event: &'static str, to: &'static str) {
        self.rows.insert(Row { which, from, event, to });
    }

    /// Every transition that was walked.
    pub fn rows(&self) -> &BTreeSet<Row> {
        &self.rows
    }

    /// Takes events or wants into the digest.
    pub fn digest(&mut self, decided: &impl std::fmt::Debug) {
        format!("{decided:?}").hash(&mut self.digest);
    }

    /// One number over all events and wants of all walks: the same number means the same decisions.
    pub fn digested(&self) -> u64 {
        self.digest.finish()
    }

    /// How often it was reached.
    fn count(&self, what: &str) -> u64 {
        self.seen.get(what).copied().unwrap_or(0)
    }

    /// Everything reached, with counts.
    pub fn seen(&self) -> impl Iterator<Item = (&String, &u64)> {
        self.seen.iter()
    }

    /// What should have been reached and was not, or should not and was.
    pub fn unlike(&self, what: impl Into<String>, reached: bool) -> Option<String> {
        let what = what.into();
        let times = self.count(&what);
        ((times > 0) != reached).then(|| format!("{what}: {times} times"))
    }

    /// Fails if any law was broken.
    pub fn assert_all(&self) {
        self.breaches.keys().for_each(|law| self.assert(law));
    }

    /// Fails the test of this law if it was broken.
    pub fn assert(&self, law: &str) {
        if let Some(all) = self.breaches.get(law) {
            panic!("law `{law}` is broken:\n{}", all.join("\n"));
        }
    }
}
