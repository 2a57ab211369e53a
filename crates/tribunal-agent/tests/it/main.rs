//! The crate from outside: rows and launches, and the scripted agent as a real process.

#![expect(clippy::unwrap_used, reason = "a test helper that fails ends its test")]

mod faults;
mod kinds;
mod launch;
mod laws;
mod orphans;
mod recorded;
mod rows;
mod samples;
mod stage;
mod turns;
