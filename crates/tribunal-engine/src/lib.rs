//! The one event loop: report, turn, journal, reconcile. Decisions are the core's; this crate keeps them in
//! the journal, starts what is wanted and stops what is not.

pub mod budget;
pub mod crash;
pub mod docket;
pub mod editor;
pub mod engine;
pub mod inbox;
pub mod mail;
pub mod replay;
pub mod review;
pub mod route;
pub mod settings;
pub mod spoken;
pub mod tokens;
pub mod tries;
pub mod waiver;
pub mod who;
pub mod world;

pub use docket::{Docket, DocketError, Fact, Note, Stamped};
pub use engine::{End, Engine, EngineError, Options, Watch};
pub use world::{Arrival, Assignment, Probe, Report, Want, World};
