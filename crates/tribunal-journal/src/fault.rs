//! Failures on request, for simulations. Nothing here runs unless a caller injected a plan.

/// What shall go wrong with one append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inject {
    /// Nothing is written and the caller is told that it failed.
    FailBefore,
    /// Everything is committed, yet the caller is told that it failed.
    FailAfter,
    /// The disk is full in the middle of the transaction: nothing stays.
    DiskFull,
}

/// Answers, for the n-th append since it was injected (from 0), what shall go wrong with it.
type Plan = Box<dyn FnMut(u64) -> Option<Inject> + Send>;

/// The plan of a journal and how far it has come.
#[derive(Default)]
pub(crate) struct Faults {
    plan: Option<Plan>,
    asked: u64,
}

impl Faults {
    /// Starts counting anew with this plan.
    pub(crate) fn set(&mut self, plan: Plan) {
        *self = Faults { plan: Some(plan), asked: 0 };
    }

    /// What shall go wrong with the append that now begins.
    pub(crate) fn next(&mut self) -> Option<Inject> {
        let plan = self.plan.as_mut()?;
        let n = self.asked;
        self.asked += 1;
        plan(n)
    }
}
