//! Runs any command contained: its own process tree, output in files that outlive the orchestrator,
//! a graceful stop before the kill, and proof that nothing is left.
//!
//! It never decides when something has run long enough (the engine owns deadlines), never reads what a
//! command wrote, never signals a process it cannot prove to be its own, and never reaps a child that
//! someone else in this program started.
//!
//! Linux only. A program that wants the full containment calls [`contained`] first thing in `main`.

mod containment;
mod error;
mod inside;
mod keeper;
mod launch;
mod left;
mod proc;
mod record;
mod roots;
mod tree;

pub use containment::{Containment, Namespace};
pub use error::ProcessError;
pub use inside::contained;
pub use keeper::{Keeper, run_to_end};
pub use launch::{Launch, Started, Stdin};
pub use left::{Left, Swept, end_left_behind, survivors, sweep};
pub use record::{Cause, Exit, ExitHow, exit_of};

/// The environment variable that marks every process of a launch: `<run_marker>/<id>`.
pub const MARKER: &str = "TRIBUNAL_MARKER";
