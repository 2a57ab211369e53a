//! Policies: rows of values that make five uses of one loop machine. The machine never asks which use it is.
//!
//! [`for_subject`] turns a row into the policy of one loop, from facts about the project ([`Situation`]). [`Effort`] and
//! [`waits_for`] hold the rules on how much care a plan gets and who waits for whose files.

mod claims;
mod effort;
mod situation;

pub use claims::{Claims, waits_for};
pub use effort::{Effort, PlanCare};
pub use situation::{Panel, Situation, Staff, for_subject};

use crate::ids::{Check, Maker, Seat};
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
    /// A plan's delivery.
    Qa,
    /// Everything a phase built.
    Phase,
    /// An artifact of the chain.
    Chain,
}

impl Use {
    /// The word people read.
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

/// What a lost seat means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoVerdict {
    /// A person decides.
    Escalate,
    /// The checks' verdict stands, and every report says so.
    ChecksOnly,
}

/// What the end of the budget, or standing still, means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AtTheCap {
    /// The loop ends.
    End,
    /// A person is asked.
    Ask,
    /// The loop ends, also where a pattern would be put to a person: what was found is the answer.
    Leave,
}

/// How long one launch may take, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeouts {
    /// A maker.
    pub make_ms: u64,
    /// A reviewer, also in a hearing.
    pub judge_ms: u64,
}

/// One row: everything the loop machine needs to know about how to judge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// The row's name.
    #[serde(rename = "use")]
    pub of: Use,
    /// Who makes and revises; fixers named by findings come besides.
    pub maker: Maker,
    /// The panel.
    pub seats: Vec<Seat>,
    /// Whether each seat has a backup reviewer.
    pub backup: bool,
    /// Whether the maker has a backup.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub maker_backup: bool,
    /// The deterministic judges.
    pub checks: Vec<Check>,
    /// In a re-review only the checks that failed run again; the confirming pass runs all.
    pub recheck_failed_only: bool,
    /// When the panel is asked.
    pub asked: Asked,
    /// Warnings and conditional verdicts pass and are carried on.
    pub warnings_pass: bool,
    /// Judgings at most.
    pub rounds_max: u32,
    /// Tries at one step inside a round.
    pub attempts_max: u32,
    /// Parts of a large change that one reviewer is asked about in a round at most.
    #[serde(default = "parts_max")]
    pub parts_max: u32,
    /// Runs of the maker at most, where every run is an iteration and none an attempt.
    pub iterations_max: Option<u32>,
    /// Consecutive re-reviews with the same must-fix set before it is stale.
    pub stale_limit: u32,
    /// What a lost seat means.
    pub no_verdict: NoVerdict,
    /// What the end of the budget means.
    pub at_the_cap: AtTheCap,
    /// A pass after delta rounds needs one full sitting.
    pub confirm: bool,
    /// What is good is put to a person, who has the last word.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub approval: bool,
    /// Nobody is asked: where a person would be, it ends, and what it made is dropped with what was said of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unattended: bool,
    /// Who hears contested findings.
    pub adjudicator: Option<Seat>,
    /// Deadlines.
    pub timeouts: Timeouts,
}

/// Enough for about 1.5 MB of change.
fn parts_max() -> u32 {
    16
}

impl Policy {
    /// The row for a use with the seeds' defaults: no seats, no checks yet.
    pub fn of(of: Use) -> Policy {
        let base = Policy {
            of,
            maker: Maker::new("dev"),
            seats: Vec::new(),
            backup: false,
            maker_backup: false,
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
            Use::Plan => Policy { maker: Maker::new("architect"), ..base },
            Use::Chain => Policy { maker: Maker::new("executor"), ..base },
            Use::Task => Policy { rounds_max: 4, iterations_max: Some(10), ..base },
            Use::Qa => Policy {
                asked: Asked::OnlyIfChecksFail,
                warnings_pass: false,
                rounds_max: 4,
                recheck_failed_only: true,
                no_verdict: NoVerdict::ChecksOnly,
                confirm: true,
                ..base
            },
            Use::Phase => Policy {
                maker: Maker::new("fixer"),
                asked: Asked::Always,
                warnings_pass: false,
                at_the_cap: AtTheCap::Ask,
                confirm: true,
                ..base
            },
        }
    }
}
