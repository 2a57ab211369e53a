//! Death and failing appends. It decides when the simulated process dies and how an append fails; it knows
//! nothing of what the process was doing.

use super::fault::{Dials, Fault};
use super::rng::Rng;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, PoisonError};
use tribunal_journal::Inject;

/// What unwinds the engine when the process dies: nothing of it is left but what is outside.
pub struct Killed(pub Fault);

/// When the process dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Death {
    /// By the seed's dials.
    ByDials,
    /// Once, at this point, counted from 0.
    At(u64),
}

/// Decides over life and death; the journal's fault plan holds a copy.
#[derive(Clone)]
pub struct Reaper(Arc<Mutex<State>>);

struct State {
    rng: Rng,
    dials: Dials,
    death: Death,
    points: u64,
    left: u32,
    doomed: bool,
    struck: Vec<Fault>,
}

impl Reaper {
    /// The reaper of a seed: so many deaths and failures at most.
    pub fn new(seed: u64, dials: Dials, death: Death, at_most: u32) -> Reaper {
        let rng = Rng::new(seed ^ 0xDEAD_DEAD_DEAD_DEAD);
        let state = State { rng, dials, death, points: 0, left: at_most, doomed: false, struck: Vec::new() };
        Reaper(Arc::new(Mutex::new(state)))
    }

    fn with<T>(&self, f: impl FnOnce(&mut State) -> T) -> T {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A point where the process may die. Does not return if it does.
    pub fn point(&self, fault: Fault) {
        if let Some(fault) = self.with(|state| state.dies(fault)) {
            resume_unwind(Box::new(Killed(fault)));
        }
    }

    /// The process dies at its next append: for moments from which the journal could not be handed back.
    pub fn doom(&self, fault: Fault) {
        self.with(|state| {
            if state.left > 0 && state.rng.chance(state.dials.rate(fault)) {
                state.left -= 1;
                state.doomed = true;
                state.struck.push(fault);
            }
        });
    }

    /// How appends fail: by dying, or by an error.
    pub fn appends(&self) -> impl FnMut(u64) -> Option<Inject> + Send + 'static {
        let reaper = self.clone();
        move |_| {
            if reaper.with(|state| std::mem::take(&mut state.doomed)) {
                resume_unwind(Box::new(Killed(Fault::KilledInRecovery)));
            }
            reaper.point(Fault::KilledBeforeAppend);
            reaper.with(State::append_fails)
        }
    }

    /// Points passed so far.
    pub fn points(&self) -> u64 {
        self.with(|state| state.points)
    }

    /// What struck so far; forgotten when told.
    pub fn take_struck(&self) -> Vec<Fault> {
        self.with(|state| std::mem::take(&mut state.struck))
    }
}

impl State {
    fn dies(&mut self, fault: Fault) -> Option<Fault> {
        let here = self.points;
        self.points += 1;
        let dies = match self.death {
            Death::ByDials => self.left > 0 && self.rng.chance(self.dials.rate(fault)),
            Death::At(point) => here == point,
        };
        if !dies {
            return None;
        }
        self.left = self.left.saturating_sub(1);
        self.struck.push(fault);
        Some(fault)
    }

    fn append_fails(&mut self) -> Option<Inject> {
        if self.death != Death::ByDials || self.left == 0 {
            return None;
        }
        let ways = [
            (Fault::AppendFailsBefore, Inject::FailBefore),
            (Fault::AppendFailsAfter, Inject::FailAfter),
            (Fault::DiskFull, Inject::DiskFull),
        ];
        let (fault, inject) = ways.into_iter().find(|(f, _)| self.rng.chance(self.dials.rate(*f)))?;
        self.left -= 1;
        self.struck.push(fault);
        Some(inject)
    }
}
