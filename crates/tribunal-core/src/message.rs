//! The typed messages that agents exchange: which there are, what each must carry, who may send it and who may
//! receive it.
//!
//! These are tables only; reading JSON is for the caller. They follow the protocol, whose scripts know the same
//! names.

/// The version that every envelope names.
pub const VERSION: &str = "2.0";

/// How deep a verdict of qa looked: the tiers of the gate policy at which somebody looks.
pub const TIERS: [&str; 3] = ["quick", "standard", "deep"];

/// The fields that every envelope must have.
pub const ENVELOPE: [&str; 9] =
    ["id", "type", "phase", "task", "author_role", "timestamp", "schema_version", "payload", "confidence"];

/// One kind of message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// The name of the kind, as in the field `type`.
    pub name: &'static str,
    /// The fields that its payload must have.
    pub payload: &'static [&'static str],
    /// The roles that may send it.
    pub senders: &'static [&'static str],
    /// The roles that may receive it.
    pub receivers: &'static [&'static str],
}

const BUILDERS: &[&str] = &["dev", "debugger", "docs"];
const LEADERS: &[&str] = &["lead", "architect"];
const TEAM: &[&str] = &["dev", "qa", "scout", "debugger", "docs", "reviewer", "researcher", "architect"];
const EVERYBODY: &[&str] =
    &["lead", "dev", "qa", "scout", "debugger", "docs", "reviewer", "researcher", "architect"];

/// Every kind of message there is.
pub const KINDS: [Kind; 12] = [
    Kind {
        name: "scout_findings",
        payload: &["domain", "documents"],
        senders: &["scout", "researcher"],
        receivers: LEADERS,
    },
    Kind {
        name: "plan_contract",
        payload: &["plan_id", "phase_id", "objective", "tasks", "allowed_paths", "must_haves"],
        senders: LEADERS,
        receivers: TEAM,
    },
    Kind {
        name: "execution_update",
        payload: &["plan_id", "task_id", "status", "commit"],
        senders: &["dev", "docs"],
        receivers: LEADERS,
    },
    Kind {
        name: "blocker_report",
        payload: &["plan_id", "task_id", "blocker", "needs"],
        senders: BUILDERS,
        receivers: LEADERS,
    },
    Kind {
        name: "debugger_report",
        payload: &["hypothesis", "evidence", "root_cause"],
        senders: &["debugger"],
        receivers: &["lead", "architect", "dev"],
    },
    Kind { name: "qa_verdict", payload: &["tier", "result", "checks"], senders: &["qa"], receivers: LEADERS },
    Kind {
        name: "review_verdict",
        payload: &["plan_id", "verdict", "findings"],
        senders: &["reviewer"],
        receivers: LEADERS,
    },
    Kind {
        name: "approval_request",
        payload: &["subject", "request_type", "evidence"],
        senders: &["dev", "lead"],
        receivers: LEADERS,
    },
    Kind {
        name: "approval_response",
        payload: &["request_id", "approved", "reason"],
        senders: LEADERS,
        receivers: &["dev", "docs", "lead"],
    },
    Kind {
        name: "hitl_approval",
        payload: &["request_id", "approved", "approver"],
        senders: LEADERS,
        receivers: EVERYBODY,
    },
    Kind {
        name: "shutdown_request",
        payload: &["reason", "team_name"],
        senders: &["lead"],
        receivers: EVERYBODY,
    },
    Kind {
        name: "shutdown_response",
        payload: &["request_id", "approved", "final_status"],
        senders: EVERYBODY,
        receivers: &["lead"],
    },
];

/// The kind with this name.
pub fn kind(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.name == name)
}
