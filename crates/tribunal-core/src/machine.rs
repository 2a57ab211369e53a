//! The shape both machines share: an input means one fact or nothing, facts follow from the state, and what the world
//! should be doing is read off the state.
//!
//! Nothing here starts, stops or waits for anything. That is what lets recovery, cancellation and resuming work
//! without code of their own: fold the events, then ask `wants`.

use crate::effect::EffectId;
use std::collections::BTreeMap;
use std::fmt;

/// An event met a state it cannot follow: a corrupt journal, or our bug.
///
/// It is never something that the world did: `decide` ignores a wrong report, or turns it into a failed attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutOfOrder {
    /// The event that could not be applied.
    pub event: String,
    /// The state it met.
    pub state: String,
}

impl OutOfOrder {
    /// The error for this event and the state that it met.
    pub fn new(event: &str, state: &str) -> OutOfOrder {
        OutOfOrder { event: event.to_owned(), state: state.to_owned() }
    }
}

impl fmt::Display for OutOfOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "event {} cannot follow state {}", self.event, self.state)
    }
}

impl std::error::Error for OutOfOrder {}

/// A deterministic machine: its state is the fold of its events.
///
/// A machine starts nothing and waits for nothing. The engine asks what it wants, compares that with what runs, and feeds
/// reports back. So a test, the simulator and the real world drive the same code.
pub trait Machine {
    /// What comes in: reports, decisions, deadlines.
    type In;
    /// What is recorded: facts, in the past tense.
    type Ev: Clone;
    /// What should be happening in the world.
    type Want;

    /// What an input means: one fact, or nothing. A stale or repeated one means nothing.
    ///
    /// It returns one event at most: a second one would be computed from a state that the first has changed.
    fn decide(&self, input: &Self::In) -> Option<Self::Ev>;
    /// What follows from the state alone, without any input.
    ///
    /// It must come to an end: `settle` below repeats it until it returns nothing, and its events are journaled like
    /// all others.
    fn settle(&self) -> Option<Self::Ev>;
    /// The only mutation. An error is a corrupt journal or our bug, never something that the world did.
    fn apply(&mut self, event: &Self::Ev) -> Result<(), OutOfOrder>;
    /// What the world should be doing now. The ids are deterministic: the same state wants the same effects.
    fn wants(&self) -> BTreeMap<EffectId, Self::Want>;
}

/// One turn: decide and apply, then settle and apply until nothing follows.
///
/// The events of a turn are one transaction. A reader of the journal never sees a state that `settle` would leave at
/// once.
pub fn turn<M: Machine>(machine: &mut M, input: &M::In) -> Result<Vec<M::Ev>, OutOfOrder> {
    // Nothing happened, so nothing can follow: the turn before ended settled.
    let Some(event) = machine.decide(input) else { return Ok(Vec::new()) };
    machine.apply(&event)?;
    let mut events = vec![event];
    events.extend(settle(machine)?);
    Ok(events)
}

/// Applies what follows from the state until nothing does.
pub fn settle<M: Machine>(machine: &mut M) -> Result<Vec<M::Ev>, OutOfOrder> {
    let mut events = Vec::new();
    while let Some(event) = machine.settle() {
        machine.apply(&event)?;
        events.push(event);
    }
    Ok(events)
}

/// Which waiting agents to launch: in the order of their ids, while fewer than `width` run.
///
/// The order is fixed so that a simulation and a replay launch the same agents.
pub fn launches<'a>(
    waiting: impl IntoIterator<Item = &'a EffectId>,
    running: usize,
    width: usize,
) -> Vec<EffectId> {
    waiting.into_iter().take(width.saturating_sub(running)).cloned().collect()
}
