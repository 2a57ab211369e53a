//! The crate from outside: rows and launches, and the scripted agent as a real process.

#![expect(clippy::unwrap_used, reason = "a test helper that fails ends its test")]

mod faults;
mod launch;
mod orphans;
mod rows;
mod stage;
mod turns;
