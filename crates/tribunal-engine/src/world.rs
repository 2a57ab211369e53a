//! The seam between the engine and everything outside: git, processes, people and the clock. The real world and the
//! simulated one answer the same few calls.
//!
//! The seam is narrow on purpose. The world starts and stops effects and reports facts; it never decides what a report
//! means. So the simulator can meet the engine with crashes, late reports and lost agents that no real run would show
//! in a test.

use crate::run_state::{Note, RunState};
use tribunal_core::effect::EffectId;
use tribunal_core::ids::Time;
use tribunal_core::policy::Situation;
use tribunal_core::review_loop::{LoopReport, LoopWant};
use tribunal_core::run::{RunReport, RunWant, Subject};

/// An effect that a machine wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Want {
    /// A loop wants it done.
    Loop(LoopWant),
    /// The run wants it done.
    Run(RunWant),
}

/// What an effect reports to the machine that wanted it.
///
/// Findings with id 0 are new: the engine gives them their ids. A world that has to refer to a new finding uses ids
/// from `engine::PROVISIONAL` up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// A report to a loop.
    Loop(LoopReport),
    /// A report to the run.
    Run(RunReport),
}

/// An effect to begin, with everything the world may need for it.
pub struct Assignment<'a> {
    /// The id of the effect; the report carries it back.
    pub effect: &'a EffectId,
    /// The work that is wanted.
    pub want: &'a Want,
    /// The state of the run at this moment.
    pub run_state: &'a RunState,
}

/// What became of an effect that was intended before a crash.
///
/// Every answer but `Unknown` is a proof. When in doubt answer `Unknown`: an effect that is launched although it
/// happened would happen twice.
#[derive(Clone, Debug, PartialEq)]
pub enum Probe {
    /// It is proven to be done, with its report.
    Done(Report, Vec<Note>),
    /// It is proven not to have happened.
    NotDone,
    /// It began and is proven not to be done. The notes say what it cost.
    Lost(Vec<Note>),
    /// Nothing proves either.
    Unknown,
}

/// Something that came from outside and wakes the engine.
///
/// Arrivals that come together are taken in one turn of the loop and share one commit.
#[derive(Clone, Debug, PartialEq)]
pub enum Arrival {
    /// An effect reports its end.
    Report {
        /// The effect that reports.
        effect: EffectId,
        /// What it reports.
        report: Report,
        /// Notes to record, also if the report is ignored.
        notes: Vec<Note>,
    },
    /// Notes to record, whatever becomes of the effect they came up in.
    Notes(Vec<Note>),
    /// A message may be in the mailbox.
    Mail,
    /// The user asks to stop: once gracefully, twice at once.
    Interrupt {
        /// The number of the signal.
        signal: i32,
    },
}

/// Everything outside the engine.
///
/// The engine calls it from one thread. `start` must not wait for the effect: while the loop runs only `next` may
/// block, because a blocked engine neither takes reports nor meets a deadline.
pub trait World {
    /// The time now. It is the engine's only clock, and a simulated world moves it as it likes.
    fn now(&mut self) -> Time;

    /// Finds out who reviews a subject, before its loop is opened. The notes go to the journal.
    ///
    /// The panel is chosen once and recorded, so a resumed run does not choose again when the settings or the
    /// installed agents are different by then.
    fn assemble(&mut self, _subject: &Subject, _run_state: &RunState) -> Vec<Note> {
        Vec::new()
    }

    /// The facts that decide how a subject is judged. `tribunal_core::policy::for_subject` makes the policy of them.
    ///
    /// The world only gathers the facts. The rule lives in core, where the simulator calls it too.
    fn situation(&mut self, subject: &Subject, run_state: &RunState) -> Situation;

    /// Ends what a dead orchestrator left running. Called once, before any probe.
    ///
    /// Agents that outlived their orchestrator could still write to a tree or spend money while a probe looks at them.
    fn recover(&mut self, run_state: &RunState) -> Vec<Note>;

    /// What became of an effect intended before a crash.
    fn probe(&mut self, assignment: Assignment<'_>) -> Probe;

    /// The time before which an effect must not start, because its agent's account takes no requests until then.
    fn not_before(&mut self, _effect: &EffectId) -> Option<Time> {
        None
    }

    /// What an effect's launch may cost, in millionths of a dollar.
    ///
    /// The engine reserves this amount from the budget until the effect reports its real cost.
    fn reserve(&mut self, _effect: &EffectId) -> u64 {
        0
    }

    /// Begins an effect. Its report arrives later, unless it is stopped before.
    ///
    /// A one-shot effect's intent is in the journal by now. Whatever goes wrong with starting it has to come as a
    /// report, because the machine waits for one.
    fn start(&mut self, assignment: Assignment<'_>);

    /// The effect is no longer wanted: end it. No report need follow.
    ///
    /// The engine stops only an effect that runs, and never an intended landing, because that may have happened
    /// already. The simulator checks both.
    fn stop(&mut self, effect: &EffectId);

    /// Ends every agent of a run that is over. Returns when none is left, with notes about those that were still there.
    ///
    /// It is called before the end is journaled: nobody resumes an ended run, so the cost of these agents could not be
    /// recorded later.
    fn end_agents(&mut self) -> Vec<Note>;

    /// Waits for arrivals, at most until a time. Empty if the time came first.
    fn next(&mut self, until: Option<Time>) -> Vec<Arrival>;

    /// Ends everything that still runs; returns when nothing is left.
    fn shutdown(&mut self);
}
