//! What people put into the mailbox, and what must become of it: a letter that was taken is never lost, whenever
//! the process dies. It keeps its own copy of every first letter and never asks the engine what it has read.

use super::people;
use std::collections::{BTreeMap, BTreeSet};
use tribunal_core::effect::{EffectId, Step};
use tribunal_core::ids::{LoopId, PlanId};
use tribunal_core::review_loop::LoopEvent;
use tribunal_core::run::{Run, RunEvent};
use tribunal_engine::mail::Body;
use tribunal_engine::{Fact, RunState};
use tribunal_journal::{Mail, Message, Posted};

/// The first letter with each key.
#[derive(Clone, Debug, Default)]
pub struct Mailbox {
    first: BTreeMap<String, Message>,
    /// Letters to drop a plan that came when it had landed: they were refused, and hold nothing back when it lands once more
    /// on a branch that has moved.
    late: BTreeSet<String>,
}

impl Mailbox {
    /// Takes in what became of a letter: the first with its key is taken, every later one is shown the first.
    pub fn posted(&mut self, message: &Message, posted: &Posted) -> Result<(), String> {
        let expect = match self.first.get(&message.key) {
            None => Posted::First,
            Some(first) => Posted::Already(first.clone()),
        };
        self.first.entry(message.key.clone()).or_insert_with(|| message.clone());
        if *posted == expect { Ok(()) } else { Err(format!("{} became {posted:?}", message.key)) }
    }

    /// Whether a fact goes against a letter that was taken before it; `run state` is as before the fact.
    pub fn check(&mut self, run_state: &RunState, fact: &Fact) -> Result<(), String> {
        match fact {
            Fact::Loop(id, LoopEvent::Decided(decision)) => {
                let said = self.answer(run_state, |effect| LoopId::new(effect.of.as_str()) == *id);
                let same = |body: &Body| matches!(body, Body::Decide { decision: d, .. } if d == decision);
                answered(said.as_ref(), same, || format!("{id} was decided otherwise: {decision:?}"))
            }
            Fact::Run(RunEvent::LaneDecided { plan, decision }) => {
                let said = self.answer(run_state, |effect| effect.of.as_str() == plan.as_str());
                let same =
                    |body: &Body| matches!(body, Body::DecideLane { decision: d, .. } if d == decision);
                answered(said.as_ref(), same, || format!("{plan} was decided otherwise: {decision:?}"))
            }
            Fact::Run(RunEvent::Intended { effect, .. }) if effect.step == Step::Land => {
                let plan = PlanId::new(effect.of.as_str());
                let key = drop_key(&plan);
                let dropped = self.first.contains_key(&key) && !self.late.contains(&key);
                if dropped { Err(format!("{plan} is landed after a letter to drop it")) } else { Ok(()) }
            }
            Fact::Run(RunEvent::Rebased { .. }) => {
                self.late.extend(self.first.keys().cloned());
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// What the first letter to an open question says.
    fn answer(&self, run_state: &RunState, of: impl Fn(&EffectId) -> bool) -> Option<Body> {
        let asked = people::questions(run_state).into_iter().map(|(effect, _)| effect).find(of)?;
        Body::read(self.first.get(&asked.to_string())?).ok()
    }
}

fn answered(
    message: Option<&Body>,
    same: impl Fn(&Body) -> bool,
    text: impl Fn() -> String,
) -> Result<(), String> {
    match message {
        Some(body) if !same(body) => Err(format!("{}, the letter says {body:?}", text())),
        Some(_) | None => Ok(()),
    }
}

fn drop_key(plan: &PlanId) -> String {
    format!("drop {plan}")
}

/// Whether a letter may still lie unread when the engine returns: only one to drop a plan that is just landing, for
/// nobody can say yet whether there is anything left to drop.
pub fn may_wait(run_state: &RunState, mail: &Mail) -> bool {
    let landing = |plan: &PlanId| {
        let intents = run_state.run.iter().flat_map(Run::intents);
        intents
            .into_iter()
            .any(|(effect, _)| effect.step == Step::Land && effect.of.as_str() == plan.as_str())
    };
    matches!(Body::read(&mail.message), Ok(Body::Drop { plan, .. }) if landing(&plan))
}
