//! The one event loop: report, turn, journal, reconcile. The core makes the decisions; this crate keeps them in the
//! journal, starts the effects that are wanted and stops those that are not.
//!
//! Read `engine` for the loop, `run state` for the state it folds from the journal, and `world` for the seam to everything
//! outside. `real` is the world that runs agents and git; the simulator implements the same trait, so the engine is
//! tested against both.

pub mod budget;
pub mod crash;
pub mod editor;
pub mod engine;
pub mod history;
pub mod inbox;
pub mod mail;
pub mod replay;
pub mod review;
pub mod route;
pub mod run_state;
pub mod settings;
pub mod spoken;
pub mod tokens;
pub mod tries;
pub mod waiver;
pub mod who;
pub mod world;

pub use engine::{End, Engine, EngineError, Options, Watch};
pub use run_state::{Fact, Note, RunState, RunStateError, Stamped};
pub use world::{Arrival, Assignment, Probe, Report, Want, World};
