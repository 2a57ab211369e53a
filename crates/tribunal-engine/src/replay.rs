//! Replay: folds a journal once more and asks the machines, before each row, what they would decide. It changes
//! nothing.
//!
//! So each row is known as a decision or as a fact from outside, and each decision with the facts that caused it. It
//! also shows whether this version would still decide the same, which is what makes a change of the core safe for
//! stored journals.

use crate::run_state::{Fact, RunState, RunStateError};
use std::collections::BTreeMap;
use tribunal_core::ids::Time;
use tribunal_core::machine::Machine;
use tribunal_journal::RowRef;

/// What a row of the journal is.
///
/// `tribunal explain` shows each decision with the facts that caused it.
#[derive(Clone, Debug, PartialEq)]
pub enum Row {
    /// It followed from the state: a machine's decision, caused by these rows.
    Decision {
        /// The rows of the same machine since its last decision; if there are none, that decision.
        because: Vec<u64>,
    },
    /// It came from outside: a report, a launch, a person's answer.
    Fact,
    /// It is a note, beside the machines.
    Note,
    /// The machine would have decided otherwise. Another version wrote the row, or the journal was changed.
    Differs {
        /// What the machine decides now.
        expected: Box<Fact>,
    },
}

/// A journal that is being folded again.
#[derive(Debug, Default)]
pub struct Replay {
    /// The state folded so far.
    pub run_state: RunState,
    causes: BTreeMap<String, Causes>,
}

#[derive(Debug, Default)]
struct Causes {
    since: Vec<u64>,
    decided: Option<u64>,
}

impl Replay {
    /// Folds one row, and says what it is.
    pub fn take(&mut self, row: &RowRef<'_>) -> Result<(Fact, Row), RunStateError> {
        let fact = Fact::decode(row)?;
        // Before the row is applied: what follows from a state can only be asked while the machine is in it.
        let expected = self.expected(&fact);
        self.run_state.apply(Time(row.at), &fact).map_err(|source| RunStateError::OutOfOrder {
            seq: row.seq,
            machine: row.of.to_owned(),
            source,
        })?;
        let kind = match expected {
            Some(expected) if expected == fact => Row::Decision { because: self.decided(row) },
            Some(expected) => Row::Differs { expected: Box::new(expected) },
            // Notes are no cause: no machine reads them.
            None if matches!(fact, Fact::Note(_)) => Row::Note,
            None => {
                self.causes.entry(row.of.to_owned()).or_default().since.push(row.seq);
                Row::Fact
            }
        };
        Ok((fact, kind))
    }

    /// What the machine of this fact would decide now, if anything.
    fn expected(&self, fact: &Fact) -> Option<Fact> {
        match fact {
            Fact::Run(_) => self.run_state.run.as_ref()?.settle().map(Fact::Run),
            Fact::Loop(id, _) => {
                self.run_state.loops.get(id)?.settle().map(|event| Fact::Loop(id.clone(), event))
            }
            Fact::Note(_) => None,
        }
    }

    fn decided(&mut self, row: &RowRef<'_>) -> Vec<u64> {
        let causes = self.causes.entry(row.of.to_owned()).or_default();
        let because = std::mem::take(&mut causes.since);
        let before = causes.decided.replace(row.seq);
        // A decision that follows directly from another one has no fact of its own as its cause.
        if because.is_empty() { before.into_iter().collect() } else { because }
    }

    /// Machines that still had something to decide when the journal ended.
    ///
    /// A turn is one transaction, so a sound journal has none. A name here means that the journal was cut or changed.
    pub fn unsettled(&self) -> Vec<String> {
        let run = self.run_state.run.as_ref().filter(|run| run.settle().is_some()).map(|_| "run".to_owned());
        let loops = self.run_state.loops.values().filter(|review_loop| review_loop.settle().is_some());
        run.into_iter().chain(loops.map(|review_loop| review_loop.id().to_string())).collect()
    }
}
