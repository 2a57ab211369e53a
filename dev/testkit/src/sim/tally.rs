//! What the simulation reached, counted, and what it must reach: a law that was never tempted proves nothing.

use super::fault::Fault;
use std::collections::BTreeMap;

/// How often everything was reached, by kind and name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally(BTreeMap<(&'static str, String), u64>);

const USES: &[&str] = &["plan", "task", "repair", "qa", "phase"];
const OUTCOMES: &[&str] =
    &["passed", "passed with warnings", "accepted", "exhausted", "stale", "stuck", "failed", "cancelled"];

/// Everything besides faults and outcomes that must be reached, by kind.
const MUST: &[(&str, &[&str])] = &[
    ("ending", &["passed", "shut", "stopped", "cancelled"]),
    (
        "engine",
        &[
            "ended",
            "waiting",
            "suspended",
            "suspended, grace over",
            "failed",
            "killed",
            "no answer about a landing",
        ],
    ),
    (
        "ruling",
        &[
            "pass",
            "pass, checks only",
            "pass with warnings",
            "pass with warnings, checks only",
            "rework",
            "no quorum",
        ],
    ),
    (
        "question",
        &[
            "no quorum",
            "checks did not run",
            "exhausted",
            "stale",
            "contested",
            "fundamental",
            "not the builder's",
            "region",
            "survived, touched",
            "survived, untouched",
        ],
    ),
    (
        "policy",
        &[
            "reviewers",
            "checks alone",
            "nobody reviews, a person decides",
            "a person approves the plan",
            "a reviewer for a polish",
        ],
    ),
    ("decision", &["again", "fixed", "reask", "accept", "stop"]),
    ("lane question", &["task", "repair", "qa", "summary", "landing"]),
    ("lane decision", &["retry", "ask again", "fixed", "accept", "drop", "stop"]),
    ("hearing", &["upheld", "refuted", "given up"]),
    ("asked again", &["incomplete", "bare", "groundless", "unread", "flipped", "unsettled", "wordless"]),
    ("shown", &["at once", "in parts", "not all", "before"]),
    ("probe", &["done", "not done", "unknown"]),
    ("landing", &["red, by a person", "green or red before"]),
    (
        "lost attempt",
        &[
            "crashed",
            "timed out",
            "garbled",
            "empty",
            "quota",
            "did not run",
            "tampered",
            "unproven",
            "not done",
        ],
    ),
    ("refusal", &["conflict", "red check", "judge again"]),
    (
        "fate",
        &[
            "fixed",
            "refuted",
            "filtered",
            "deferred",
            "discarded",
            "duplicate",
            "superseded",
            "advisory",
            "carried",
            "waived",
            "unresolved",
        ],
    ),
    ("finish", &["boundary commit", "fast-forward", "push"]),
    ("held decision", &["land", "stop"]),
    (
        "fact",
        &[
            "gate opened",
            "gate shut",
            "wave opened",
            "plan dropped",
            "checkpoint",
            "checkpoint given up",
            "landed",
            "confirming",
            "joined",
            "iterated",
            "cleared",
            "review opened",
            "held",
            "rebased",
            "carried over",
            "reviewed again",
            "ignored report",
        ],
    ),
    ("store", &["memory", "directory"]),
    ("sweep", &["killed at every point"]),
];

/// A use and an outcome that cannot come together, and why.
fn impossible(of: &str, outcome: &str) -> bool {
    match (of, outcome) {
        // Where no warning passes, none is carried.
        ("qa" | "phase", "passed with warnings") => true,
        _ => false,
    }
}

impl Tally {
    /// Something was reached.
    pub fn saw(&mut self, kind: &'static str, name: impl Into<String>) {
        *self.0.entry((kind, name.into())).or_insert(0) += 1;
    }

    /// A fault struck.
    pub fn struck(&mut self, fault: Fault) {
        self.saw("fault", fault.word());
    }

    /// How often something was reached.
    pub fn count(&self, kind: &'static str, name: &str) -> u64 {
        self.0.get(&(kind, name.to_owned())).copied().unwrap_or(0)
    }

    /// Takes another tally in.
    pub fn merge(&mut self, other: &Tally) {
        for ((kind, name), count) in &other.0 {
            *self.0.entry((kind, name.clone())).or_insert(0) += count;
        }
    }

    /// What must be reached and was not, as `kind: name`.
    pub fn missing(&self) -> Vec<String> {
        let faults = Fault::ALL.iter().map(|fault| ("fault", fault.word().to_owned()));
        let ends = USES.iter().flat_map(|of| {
            let possible = OUTCOMES.iter().filter(|outcome| !impossible(of, outcome));
            possible.map(move |outcome| ("outcome", format!("{of}: {outcome}")))
        });
        let named =
            MUST.iter().flat_map(|(kind, names)| names.iter().map(|name| (*kind, (*name).to_owned())));
        let all = faults.chain(ends).chain(named);
        all.filter(|(kind, name)| self.count(kind, name) == 0)
            .map(|(kind, name)| format!("{kind}: {name}"))
            .collect()
    }

    /// The table: one line for each name, kinds in order.
    pub fn table(&self) -> String {
        let width = self.0.keys().map(|(_, name)| name.chars().count()).max().unwrap_or(0);
        let mut text = String::new();
        let mut last = "";
        for ((kind, name), count) in &self.0 {
            let shown = if *kind == last { "" } else { kind };
            last = kind;
            text.push_str(&format!("{shown:<14} {name:<width$} {count:>10}\n"));
        }
        text
    }
}
