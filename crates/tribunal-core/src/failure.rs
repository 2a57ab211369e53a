//! Lost attempts: what kind of trouble cost one, and whether the same agent may be asked again.
//!
//! Both machines and the panel count with it. It never decides who is asked next: that depends on the step, and
//! belongs to the machine.

use crate::finding::UnreadPart;
use serde::{Deserialize, Serialize};

/// Why an attempt was lost.
///
/// A mistake of an agent is data, never an error of ours: it costs one of a bounded number of attempts, and the
/// journal keeps the reason for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The kind decides whether the same agent is asked again.
    pub kind: FailureKind,
    /// What is known about it, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// What a reviewer found in an answer without a verdict. Its next answer may not approve over it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<UnreadPart>,
}

/// The kinds of lost attempts, from a crash to a spent budget.
///
/// They are in journals, so a kind may be added but never renamed without an alias.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The process died or ended without its final event.
    Crashed,
    /// The deadline passed before it reported.
    TimedOut,
    /// The answer could not be read, or answers something else.
    Garbled,
    /// It ended in order and said nothing.
    Empty,
    /// The account has no quota left.
    Quota,
    /// A check or gate could not run.
    DidNotRun,
    /// A gate before the work is shut. Nobody is launched, and asking again changes nothing.
    GateShut,
    /// A reviewer changed what it judged.
    Tampered,
    /// After a crash, neither done nor undone could be proven.
    Unproven,
    /// The agent says that it is not done.
    NotDone,
    /// The agent says that it is done, and nothing has changed. Asking again changes nothing.
    Unchanged,
    /// The answer breaks off: its final event is missing.
    Truncated,
    /// Too many requests; the account is parked until the limit ends.
    RateLimited,
    /// The model's server has trouble.
    Overloaded,
    /// Not logged in, or not allowed.
    Auth,
    /// The prompt is longer than the model takes.
    TooLong,
    /// It took more turns than it may.
    TurnCap,
    /// It ran but made no progress.
    Stalled,
    /// It waits for somebody to answer a prompt, and nobody is there.
    PromptWait,
    /// The model refused to do what was asked.
    Refused,
    /// A budget of the agent's own program is spent.
    Budget,
    /// The program would not start as it was launched, or the request is wrong.
    Setup,
}

impl FailureKind {
    /// Whether the same agent may succeed when it is asked again. If not, another one is next, or nobody.
    ///
    /// A kind belongs in the list only if nothing can change between two attempts.
    pub fn may_pass(self) -> bool {
        // A list of the hopeless kinds: a new one gets its second attempt until somebody knows better.
        !matches!(
            self,
            FailureKind::Quota
                | FailureKind::Auth
                | FailureKind::TooLong
                | FailureKind::Budget
                | FailureKind::Setup
                | FailureKind::GateShut
                | FailureKind::Unchanged
        )
    }
}

impl Failure {
    /// The failure of a report that answers something else than was asked.
    pub fn off_topic() -> Failure {
        Failure::new(FailureKind::Garbled, "the report answers another question")
    }
    /// The failure of an effect whose deadline passed before a report came.
    pub fn timed_out() -> Failure {
        Failure::new(FailureKind::TimedOut, "")
    }
    /// A failure with its text.
    pub fn new(kind: FailureKind, text: impl Into<String>) -> Failure {
        Failure { kind, text: text.into(), unread: Vec::new() }
    }
}
