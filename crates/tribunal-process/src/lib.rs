//! Runs any command contained: its own process tree, output in files that outlive the orchestrator, a graceful stop
//! before the kill, and proof that nothing is left.
//!
//! This crate never decides when something has run long enough (the engine owns deadlines), never reads what a
//! command wrote, never signals a process it cannot prove to be its own, and never reaps a child that someone else in
//! this program started.
//!
//! A program that wants the full containment calls [`contained`] first thing in `main`; then [`Containment::detect`]
//! finds the best that the machine permits, and a [`Supervisor`] runs launches in it. Two small processes of the same
//! program stand around the command: a monitor outside and an init inside a PID namespace. `process.json` names the
//! monitor; when the monitor dies the init dies, and when the init dies the kernel kills everything else. After a
//! crash [`end_left_behind`] ends what one launch left; [`sweep`] ends what a run left, at its end. Linux only.

mod callers;
mod containment;
mod detached;
mod enforced;
mod error;
mod files;
mod foreground;
mod inside;
mod launch;
mod left;
mod mounts;
mod piped;
mod proc;
mod record;
mod roots;
mod seal;
mod supervisor;
mod syscalls;
mod tree;

pub use callers::Callers;
pub use containment::{Containment, Namespace};
pub use detached::{Detached, start_detached};
pub use enforced::Enforced;
pub use error::ProcessError;
pub use files::{Flush, lock, replace, tail, write_atomic};
pub use foreground::{Foreground, Reach};
pub use inside::contained;
pub use launch::{Launch, Started, Stdin, find_program};
pub use left::{Left, Swept, belongs, end_left_behind, processor_ticks, survivors, sweep};
pub use mounts::{Mount, Mounts};
pub use piped::{Piped, PipedChild};
pub use record::{Cause, Exit, ExitHow, exit_of};
pub use seal::Network;
pub use supervisor::{Supervisor, run_to_end};

/// The environment variable that marks every process of a launch: `<run_marker>/<id>`.
///
/// It finds processes after a crash. It does not authenticate anybody where there are namespaces: every process can
/// set it.
pub const MARKER: &str = "TRIBUNAL_MARKER";
