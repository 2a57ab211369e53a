//! Policies: rows of values that make five uses of one loop machine. The machine never asks which use it is.
//!
//! [`for_subject`] turns a row into the policy of one loop, from facts about the project ([`Situation`]). [`Effort`]
//! and [`waits_for`] hold the rules on how much care a plan gets and who waits for whose files. A new way to judge is
//! a new value in a row, never a branch on `Use` in the machine.

mod claims;
mod effort;
mod situation;

pub use claims::{Claims, waits_for};
pub use effort::{Effort, PlanCare};
pub use situation::{Panel, Situation, Staff, for_subject};

use crate::ids::{Builder, Check, Reviewer};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Which row of the table a policy came from. For people to read; the machine does not look at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Use {
    /// A PLAN.md before any code.
    Plan,
    /// A task's work in its lane.
    Task,
    /// The delivery of a plan.
    Qa,
    /// Everything that a phase built.
    Phase,
    /// An artifact of the chain.
    Chain,
}

impl Use {
    /// The name of the use as people read it.
    pub fn word(self) -> &'static str {
        match self {
            Use::Plan => "plan",
            Use::Task => "task",
            Use::Qa => "qa",
            Use::Phase => "phase",
            Use::Chain => "chain",
        }
    }
}

impl fmt::Display for Use {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// When the panel is asked.
///
/// A review costs more than a check, so most uses ask the panel only about work that the checks let through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Asked {
    /// In every round.
    Always,
    /// Not when a check found something that needs rework.
    UnlessChecksReject,
    /// Only when a check failed.
    OnlyIfChecksFail,
}

/// What a lost reviewer means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoVerdict {
    /// A person decides in its place.
    Escalate,
    /// The checks' verdict stands, and every report says so.
    ChecksOnly,
}

/// What the end of the budget, or standing still, means.
///
/// A loop inside a lane ends and leaves the question to its lane, which knows more choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AtTheCap {
    /// The loop ends without a pass.
    End,
    /// A person is asked.
    Ask,
    /// The loop ends, even if a pattern would be put to a person: the findings are the answer.
    Leave,
}

/// How long one launch may take, in milliseconds.
///
/// They bound a launch, not a round: a retry has its own deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeouts {
    /// The limit for a builder.
    pub make_ms: u64,
    /// The limit for a reviewer, also in a hearing.
    pub judge_ms: u64,
}

/// One row: everything the loop machine needs to know about how to judge.
///
/// It is journaled when the loop opens and never changes afterwards, so a run that is resumed judges as it did
/// before, whatever the settings say by then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// The name of the row.
    #[serde(rename = "use")]
    pub of: Use,
    /// Who makes and revises; fixers named by findings come in addition.
    pub builder: Builder,
    /// The reviewers of the panel.
    pub reviewers: Vec<Reviewer>,
    /// Whether each reviewer has a fallback reviewer.
    pub backup: bool,
    /// Whether the builder has a fallback.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub builder_backup: bool,
    /// The deterministic checks and tools.
    pub checks: Vec<Check>,
    /// In a re-review only the checks that failed run again; the confirming pass runs all.
    pub recheck_failed_only: bool,
    /// When the panel is asked.
    pub asked: Asked,
    /// Warnings and conditional verdicts pass and are carried on.
    pub warnings_pass: bool,
    /// How many review rounds there may be.
    pub rounds_max: u32,
    /// How many tries there may be at one step inside a round.
    pub attempts_max: u32,
    /// How many parts of a large change one reviewer may be asked about in a round.
    #[serde(default = "parts_max")]
    pub parts_max: u32,
    /// How many times the builder may run, if every run is an iteration and none an attempt.
    pub iterations_max: Option<u32>,
    /// How many consecutive re-reviews with the same must-fix set make it stale.
    pub stale_limit: u32,
    /// What a lost reviewer means.
    pub no_verdict: NoVerdict,
    /// What the end of the budget means.
    pub at_the_cap: AtTheCap,
    /// A pass after delta rounds needs one full review.
    pub confirm: bool,
    /// A passed result is put to a person, who has the last word.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub approval: bool,
    /// Nobody is asked. Where a person would be, the loop ends, and what it made is dropped with its findings.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unattended: bool,
    /// Who hears contested findings.
    pub adjudicator: Option<Reviewer>,
    /// How long each launch may take.
    pub timeouts: Timeouts,
}

/// The default limit on parts, enough for about 1.5 MB of change.
fn parts_max() -> u32 {
    16
}

impl Policy {
    /// The row for a use with the default values: no reviewers, no checks yet.
    pub fn of(of: Use) -> Policy {
        let base = Policy {
            of,
            builder: Builder::new("dev"),
            reviewers: Vec::new(),
            backup: false,
            builder_backup: false,
            checks: Vec::new(),
            recheck_failed_only: false,
            asked: Asked::UnlessChecksReject,
            warnings_pass: true,
            rounds_max: 3,
            attempts_max: 2,
            parts_max: parts_max(),
            iterations_max: None,
            stale_limit: 2,
            no_verdict: NoVerdict::Escalate,
            at_the_cap: AtTheCap::End,
            confirm: false,
            approval: false,
            unattended: false,
            adjudicator: None,
            timeouts: Timeouts { make_ms: 3_600_000, judge_ms: 600_000 },
        };
        match of {
            Use::Plan => Policy { builder: Builder::new("architect"), ..base },
            Use::Chain => Policy { builder: Builder::new("executor"), ..base },
            // A builder of a task works in iterations, so a launch that does not finish the task is not a lost
            // attempt.
            Use::Task => Policy { rounds_max: 4, iterations_max: Some(10), ..base },
            // A delivery is mostly checks. Reviewers come only if one fails, and a lost reviewer leaves the checks'
            // verdict.
            Use::Qa => Policy {
                asked: Asked::OnlyIfChecksFail,
                warnings_pass: false,
                rounds_max: 4,
                recheck_failed_only: true,
                no_verdict: NoVerdict::ChecksOnly,
                confirm: true,
                ..base
            },
            // The last look at everything: the panel in every round, no warning passes, and a person is asked before
            // giving up.
            Use::Phase => Policy {
                builder: Builder::new("fixer"),
                asked: Asked::Always,
                warnings_pass: false,
                at_the_cap: AtTheCap::Ask,
                confirm: true,
                ..base
            },
        }
    }
}
