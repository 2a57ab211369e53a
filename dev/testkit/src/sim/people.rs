//! Simulated people: which questions are open, and what somebody answers. Everything offered is chosen sooner
//! or later; who is asked too often ends it.

use super::agents::new_revision;
use super::rng::{Rng, effect_dice};
use super::scene::Scene;
use tribunal_core::effect::EffectId;
use tribunal_core::held::{HeldChoice, HeldDecision};
use tribunal_core::ids::Revision;
use tribunal_core::machine::Machine;
use tribunal_core::review_loop::{Choice, Decision, LoopReport, LoopWant, Offer, Question};
use tribunal_core::run::{LaneChoice, LaneDecision, LaneOffer, Run, RunReport, RunWant, Stuck};
use tribunal_engine::mail::Body;
use tribunal_engine::{Report, RunState};

/// An open question.
#[derive(Clone, Debug)]
pub enum Asked {
    /// Of a loop.
    Loop(Question),
    /// About a lane.
    Lane(Stuck),
    /// About a result that the branch does not have; whether its lane may work on it again.
    Held(bool),
}

/// Entries of a machine after which people lose patience.
const PATIENCE: u32 = 22;

/// All open questions.
pub fn questions(run_state: &RunState) -> Vec<(EffectId, Asked)> {
    let waiting = run_state.loops.values().filter(|review_loop| review_loop.question().is_some());
    let loops = waiting.flat_map(|review_loop| review_loop.wants()).filter_map(|(effect, want)| match want {
        LoopWant::Ask(question) => Some((effect, Asked::Loop(question))),
        _ => None,
    });
    let again = run_state.run.as_ref().is_some_and(Run::may_work_again);
    let lanes = run_state.run.iter().flat_map(Machine::wants).filter_map(|(effect, want)| match want {
        RunWant::AskLane { stuck, .. } => Some((effect, Asked::Lane(stuck))),
        RunWant::AskHeld { .. } => Some((effect, Asked::Held(again))),
        _ => None,
    });
    loops.chain(lanes).collect()
}

/// What somebody answers, as a letter says it.
pub fn answer(scene: &Scene, effect: &EffectId, asked: &Asked, salt: &str) -> Body {
    let mut rng = effect_dice(scene.seed, salt, effect);
    let weary = effect.entry > PATIENCE;
    let (by, note) = ((*rng.pick(&["ada", "grace"])).to_owned(), String::new());
    let effect = effect.clone();
    match asked {
        Asked::Loop(question) => {
            let choice = choose(&mut rng, &effect, question, weary);
            Body::Decide { effect, decision: Decision { by, choice, note } }
        }
        Asked::Lane(stuck) => {
            let choice = choose_lane(&mut rng, &effect, stuck, weary);
            Body::DecideLane { effect, decision: LaneDecision { by, choice, note } }
        }
        Asked::Held(again) => {
            let lands = !weary && rng.chance(800);
            let choice = match lands {
                true if *again && rng.chance(300) => HeldChoice::Again(1 + rng.below(3) as u32),
                true => HeldChoice::Land,
                false => HeldChoice::Stop,
            };
            Body::DecideHeld { effect, decision: HeldDecision { by, choice, note } }
        }
    }
}

fn choose(rng: &mut Rng, effect: &EffectId, question: &Question, weary: bool) -> Choice {
    let ends = |offer: &Offer| matches!(offer, Offer::Accept | Offer::Stop);
    let offers: Vec<Offer> = question.offers().into_iter().filter(|offer| !weary || ends(offer)).collect();
    match rng.pick(&offers) {
        Offer::Again => Choice::Again(rng.within(1, 3) as u32),
        Offer::Fixed => Choice::Fixed(fixed(rng, effect, question.revision.as_ref())),
        Offer::Reask => Choice::Reask,
        Offer::Accept => Choice::Accept,
        Offer::Stop => Choice::Stop,
    }
}

fn choose_lane(rng: &mut Rng, effect: &EffectId, stuck: &Stuck, weary: bool) -> LaneChoice {
    let ends = |offer: &LaneOffer| matches!(offer, LaneOffer::Drop | LaneOffer::Stop);
    let offers: Vec<LaneOffer> = stuck.offers().into_iter().filter(|offer| !weary || ends(offer)).collect();
    match rng.pick(&offers) {
        LaneOffer::Retry => LaneChoice::Retry(rng.within(1, 3) as u32),
        LaneOffer::Fixed => LaneChoice::Fixed(fixed(rng, effect, stuck.revision.as_ref())),
        LaneOffer::Reask => LaneChoice::Reask,
        LaneOffer::Accept => LaneChoice::Accept,
        LaneOffer::Drop => LaneChoice::Drop,
        LaneOffer::Stop => LaneChoice::Stop,
    }
}

/// A person's own work, or now and then nothing new.
fn fixed(rng: &mut Rng, effect: &EffectId, before: Option<&Revision>) -> Revision {
    match before {
        Some(before) if rng.chance(150) => before.clone(),
        Some(_) | None => new_revision(effect),
    }
}

/// An answer that is not on offer.
pub fn unoffered(effect: &EffectId, asked: &Asked) -> Body {
    let by = "mallory".to_owned();
    let (effect, note) = (effect.clone(), String::new());
    match asked {
        Asked::Loop(question) => {
            let offers = question.offers();
            let choice = if offers.contains(&Offer::Reask) { Choice::Again(3) } else { Choice::Again(0) };
            Body::Decide { effect, decision: Decision { by, choice, note } }
        }
        Asked::Lane(stuck) => {
            let accept = stuck.offers().contains(&LaneOffer::Accept);
            let choice = if accept { LaneChoice::Retry(0) } else { LaneChoice::Accept };
            Body::DecideLane { effect, decision: LaneDecision { by, choice, note } }
        }
        Asked::Held(false) => {
            let choice = HeldChoice::Again(2);
            Body::DecideHeld { effect, decision: HeldDecision { by, choice, note } }
        }
        // A loop's answer to a question of the run.
        Asked::Held(true) => {
            Body::DecideLane { effect, decision: LaneDecision { by, choice: LaneChoice::Accept, note } }
        }
    }
}

/// The answer as it is given inside the orchestrator.
pub fn spoken(body: Body) -> Option<(EffectId, Report)> {
    match body {
        Body::Decide { effect, decision } => Some((effect, Report::Loop(LoopReport::Decided(decision)))),
        Body::DecideLane { effect, decision } => {
            Some((effect, Report::Run(RunReport::LaneDecided(decision))))
        }
        Body::DecideHeld { effect, decision } => {
            Some((effect, Report::Run(RunReport::HeldDecided(decision))))
        }
        Body::Cancel { .. } | Body::Drop { .. } | Body::Editor(_) | Body::Waive(_) => None,
    }
}
