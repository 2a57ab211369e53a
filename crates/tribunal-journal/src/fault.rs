//! Failures on request, for simulations. Nothing here runs unless a caller injected a plan.
//!
//! The faults are injected at this level, around a real transaction, so that a simulation meets the same rollback and
//! the same poisoned journal as a full disk would cause.

/// How one append fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inject {
    /// Nothing is written and the caller gets an error.
    FailBefore,
    /// Everything is committed, yet the caller gets an error.
    ///
    /// This is the case that a careless writer gets wrong: repeating the append would write the rows twice.
    FailAfter,
    /// The disk fills up in the middle of the transaction, and nothing remains.
    DiskFull,
}

/// Decides the fault of the n-th append since the plan was injected, counted from 0.
type Plan = Box<dyn FnMut(u64) -> Option<Inject> + Send>;

/// The fault plan of a journal, and how many appends it has been asked about.
#[derive(Default)]
pub(crate) struct Faults {
    plan: Option<Plan>,
    asked: u64,
}

impl Faults {
    /// Replaces the plan and starts counting anew.
    pub(crate) fn set(&mut self, plan: Plan) {
        *self = Faults { plan: Some(plan), asked: 0 };
    }

    /// The fault of the append that now begins.
    pub(crate) fn next(&mut self) -> Option<Inject> {
        let plan = self.plan.as_mut()?;
        let n = self.asked;
        self.asked += 1;
        plan(n)
    }
}
