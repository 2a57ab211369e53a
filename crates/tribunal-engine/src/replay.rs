//! Replay: folds a journal once more and asks the machines, before each row, what they would have said. So every
//! decision is known from a fact that came from outside, and by which facts it was caused. It reads; it changes nothing.

use crate::docket::{Docket, DocketError, Fact};
use std::collections::BTreeMap;
use tribunal_core::ids::Time;
use tribunal_core::machine::Machine;
use tribunal_journal::RowRef;

/// What a row is.
#[derive(Clone, Debug, PartialEq)]
pub enum Row {
    /// It followed from the state: a machine's decision, caused by these rows.
    Decision {
        /// Rows of the same machine since its decision before, or that one.
        because: Vec<u64>,
    },
    /// It came from outside: a report, a launch, a person's word.
    Fact,
    /// It is beside the machines.
    Note,
    /// The machine would have decided otherwise: another version wrote it, or the journal was changed.
    Differs {
        /// What it says now.
        expected: Box<Fact>,
    },
}

/// A journal being folded again.
#[derive(Debug, Default)]
pub struct Replay {
    /// Everything folded so far.
    pub docket: Docket,
    causes: BTreeMap<String, Causes>,
}

#[derive(Debug, Default)]
struct Causes {
    since: Vec<u64>,
    decided: Option<u64>,
}

impl Replay {
    /// Folds one row, and says what it is.
    pub fn take(&mut self, row: &RowRef<'_>) -> Result<(Fact, Row), DocketError> {
        let fact = Fact::decode(row)?;
        let expected = self.expected(&fact);
        self.docket.apply(Time(row.at), &fact).map_err(|source| DocketError::OutOfOrder {
            seq: row.seq,
            machine: row.of.to_owned(),
            source,
        })?;
        let kind = match expected {
            Some(expected) if expected == fact => Row::Decision { because: self.decided(row) },
            Some(expected) => Row::Differs { expected: Box::new(expected) },
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
            Fact::Run(_) => self.docket.run.as_ref()?.settle().map(Fact::Run),
            Fact::Loop(id, _) => {
                self.docket.loops.get(id)?.settle().map(|event| Fact::Loop(id.clone(), event))
            }
            Fact::Note(_) => None,
        }
    }

    fn decided(&mut self, row: &RowRef<'_>) -> Vec<u64> {
        let causes = self.causes.entry(row.of.to_owned()).or_default();
        let because = std::mem::take(&mut causes.since);
        let before = causes.decided.replace(row.seq);
        if because.is_empty() { before.into_iter().collect() } else { because }
    }

    /// Machines that still had something to decide when the journal ended: a turn is one transaction, so there are none.
    pub fn unsettled(&self) -> Vec<String> {
        let run = self.docket.run.as_ref().filter(|run| run.settle().is_some()).map(|_| "run".to_owned());
        let loops = self.docket.loops.values().filter(|lp| lp.settle().is_some());
        run.into_iter().chain(loops.map(|lp| lp.id().to_string())).collect()
    }
}
