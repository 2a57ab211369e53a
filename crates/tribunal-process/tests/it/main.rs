//! Real processes, real kills: whatever a launch does, nothing of it survives its end.
//! No test waits for time: each waits for a process, a pipe or a record, within a bound.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails there")]

mod basics;
mod crash;
mod harness;
mod many;
mod mounts;
mod seal;
mod stopping;
