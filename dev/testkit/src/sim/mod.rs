//! The simulation: the real engine and the real journal on a virtual clock, in a world made of dice. One seed is
//! one run with its own faults, deaths and people; the same seed gives the same trace.

mod agents;
mod commands;
mod counting;
mod drive;
mod fault;
mod gate;
mod git;
mod laws;
mod mailbox;
mod outside;
mod people;
mod reaper;
mod rng;
mod scene;
mod situation;
mod tally;
mod tracking;
mod witness;
mod world;

pub use drive::{Outcome, digested, simulate, sweep, traced};
pub use fault::{Dials, Fault};
pub use outside::Violation;
pub use scene::{Scene, Size};
pub use tally::Tally;
