//! `tribunal dedupe`: what findings of a list are one, and why. It shows decisions of `tribunal-findings` and makes
//! none.
//!
//! The scores of pairs are shown as well, so that a person can see how close a decision was.

use crate::plain;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write;
use tribunal_core::finding::Claim;
use tribunal_findings::dedupe::Decision;
use tribunal_findings::triage::DEFER_BELOW;

/// Which findings are one, and why.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct DedupeView {
    /// Every id is in exactly one set; the first of a set is the one whose words lead.
    pub sets: Vec<Vec<String>>,
    /// Findings of different authors that were compared.
    pub pairs: Vec<PairView>,
}

/// Two findings that were compared.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PairView {
    /// One.
    pub a: String,
    /// The other.
    pub b: String,
    /// How sure it is that both describe one defect, 0 to 1.
    pub score: f64,
    /// They are one finding.
    pub same: bool,
    /// They may describe one defect: both stay, linked.
    pub related: bool,
    /// Why.
    pub why: String,
}

impl DedupeView {
    /// The decision about findings of these ids.
    pub fn of(ids: &[String], claims: &[Claim], decision: &Decision) -> DedupeView {
        let lead = |at: &usize| {
            let claim = &claims[*at];
            // Certain findings lead over uncertain ones, then the more severe, then the more confident; the order of
            // the list decides last.
            (claim.confidence < DEFER_BELOW, std::cmp::Reverse((claim.severity, claim.confidence)), *at)
        };
        let set = |mut set: Vec<usize>| {
            set.sort_by_key(lead);
            set.into_iter().map(|at| ids[at].clone()).collect()
        };
        let pair = |pair: &tribunal_findings::dedupe::Compared| PairView {
            a: ids[pair.a].clone(),
            b: ids[pair.b].clone(),
            // Three digits: more would promise a precision that the score does not have.
            score: (pair.score * 1_000.0).round() / 1_000.0,
            same: pair.same,
            related: pair.related,
            why: pair.why.clone(),
        };
        DedupeView {
            sets: decision.groups().into_iter().map(set).collect(),
            pairs: decision.pairs.iter().map(pair).collect(),
        }
    }

    /// Writes the sets for people: each finding with its text, then the pairs that may be the same.
    pub fn text(&self, claim_of: impl Fn(&str) -> String) -> String {
        let mut out = String::new();
        for set in &self.sets {
            for (n, id) in set.iter().enumerate() {
                let mark = if n == 0 { "" } else { "  = " };
                let _ = writeln!(out, "{mark}{}  {}", plain::line(id), plain::clipped(&claim_of(id), 200));
            }
        }
        let doubts: Vec<&PairView> = self.pairs.iter().filter(|pair| pair.related).collect();
        if !doubts.is_empty() {
            out.push_str("\nrelated, perhaps the same defect:\n");
        }
        for pair in doubts {
            let (a, b) = (plain::line(&pair.a), plain::line(&pair.b));
            let _ = writeln!(out, "  {a} and {b} ({:.2}): {}", pair.score, plain::line(&pair.why));
        }
        out
    }
}
