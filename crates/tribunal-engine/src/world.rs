//! The seam between the engine and everything outside: git, processes, people and the clock. The real world
//! and the simulated one answer the same few calls.

use crate::docket::{Docket, Note};
use tribunal_core::effect::EffectId;
use tribunal_core::ids::Time;
use tribunal_core::policy::Situation;
use tribunal_core::review_loop::{LoopReport, LoopWant};
use tribunal_core::run::{RunReport, RunWant, Subject};

/// What a machine wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Want {
    /// A loop wants it.
    Loop(LoopWant),
    /// The run wants it.
    Run(RunWant),
}

/// What an effect reports. Findings with id 0 are new: the engine gives them their ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// To a loop.
    Loop(LoopReport),
    /// To the run.
    Run(RunReport),
}

/// Something to begin.
pub struct Assignment<'a> {
    /// Its id; the report carries it back.
    pub effect: &'a EffectId,
    /// What it is.
    pub want: &'a Want,
    /// Everything known so far.
    pub docket: &'a Docket,
}

/// What became of an effect that was intended before a crash.
#[derive(Clone, Debug, PartialEq)]
pub enum Probe {
    /// Proven done, with its report.
    Done(Report, Vec<Note>),
    /// Proven not done.
    NotDone,
    /// Proven not done, though it had begun: what it cost.
    Lost(Vec<Note>),
    /// Neither.
    Unknown,
}

/// Something that came from outside.
#[derive(Clone, Debug, PartialEq)]
pub enum Arrival {
    /// An effect reports.
    Report {
        /// Which.
        effect: EffectId,
        /// What.
        report: Report,
        /// What is worth keeping besides.
        notes: Vec<Note>,
    },
    /// What is worth keeping, whatever becomes of the effect it came up in.
    Notes(Vec<Note>),
    /// A letter may be in the mailbox.
    Mail,
    /// The user asks to stop: once gracefully, twice at once.
    Interrupt {
        /// The signal's number.
        signal: i32,
    },
}

/// Everything outside.
pub trait World {
    /// The time now.
    fn now(&mut self) -> Time;

    /// What is found out before a loop is opened, and belongs in the journal: who sits on it.
    fn convene(&mut self, _subject: &Subject, _docket: &Docket) -> Vec<Note> {
        Vec::new()
    }

    /// The facts that decide how a subject is judged. `tribunal_core::policy::for_subject` makes the policy of them.
    fn situation(&mut self, subject: &Subject, docket: &Docket) -> Situation;

    /// Ends what a dead orchestrator left running. Called once, before any probe.
    fn recover(&mut self, docket: &Docket) -> Vec<Note>;

    /// What became of an effect intended before a crash.
    fn probe(&mut self, assignment: Assignment<'_>) -> Probe;

    /// The time before which an effect is not begun: its agent's account takes no requests until then.
    fn not_before(&mut self, _effect: &EffectId) -> Option<Time> {
        None
    }

    /// What an effect's launch may cost, in millionths of a dollar.
    fn reserve(&mut self, _effect: &EffectId) -> u64 {
        0
    }

    /// Begins an effect. Its report arrives later, unless it is stopped before.
    fn start(&mut self, assignment: Assignment<'_>);

    /// The effect is no longer wanted: end it. No report need follow.
    fn stop(&mut self, effect: &EffectId);

    /// The run is over: ends every agent, and returns when none is left, with what is to be remembered of those that were
    /// still there. Called before the end is journaled, because nobody comes back to a run that has ended.
    fn end_agents(&mut self) -> Vec<Note>;

    /// Waits for what comes from outside, until a time at most. Empty when the time came first.
    fn next(&mut self, until: Option<Time>) -> Vec<Arrival>;

    /// Ends everything that still runs; returns when nothing is left.
    fn shutdown(&mut self);
}
