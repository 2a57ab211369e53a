//! Turns the words of reviewers, builders and tools into findings: intake, triage, tracking, delta.
//!
//! The crate is pure: no IO, no clock, no randomness. All text it reads was written by an agent or by a tool that ran
//! on an agent's code, so nothing here may panic on it, and nothing may take more than near-linear time on it. Reading
//! fails closed: doubtful text can withhold an approval, but it can never give one.

pub mod authority;
pub mod builder;
pub mod dedupe;
pub mod defect;
pub mod delta;
pub mod evidence;
pub mod excerpt;
pub mod fingerprint;
pub mod intake;
pub mod similar;
mod text;
pub mod track;
pub mod triage;
pub mod words;

pub use builder::{BuilderWords, Done, Hearing, read_builder, read_hearing};
pub use delta::{CycleDelta, cycle_delta};
pub use excerpt::Excerpt;
pub use intake::answer::{Manner, Run as ToolRun, read_answer};
pub use intake::report::{Place, Report, read_report};
pub use intake::tool::{ToolForm, ToolPart, ToolReport, read_rewrite};
pub use intake::{
    Form, Intake, Judged, NO_EVIDENCE, Reading, Unread, read, read_as, read_bytes, read_compiler_lines,
    read_sarif,
};
pub use track::{Change, Outcome, track};
pub use triage::{Panel, Raised, Triaged, triage};
