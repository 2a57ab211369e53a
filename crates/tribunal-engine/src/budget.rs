//! Budgets: what was spent, what is reserved, and whether a launch still fits.
//!
//! It is pure arithmetic over the run state and never stops anything itself: the engine asks before each launch. Costs are
//! whole millionths of a dollar, so that sums over many launches are exact.

use crate::run_state::{LaunchNote, RunState};
use crate::settings::BudgetSettings;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use tribunal_core::defence::{Defence, stands};
use tribunal_core::effect::{EffectId, Step};
use tribunal_core::ids::LoopId;
use tribunal_core::review_loop::{FailureKind, Loop};

/// Millionths of a dollar in a cent.
pub const MICROS_PER_CENT: u64 = 10_000;

/// What may be spent, in millionths of a dollar and in tokens; 0 means that there is no cap.
///
/// All caps hold at the same time, and the first one without room refuses a launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caps {
    /// Cap of the whole run, in millionths of a dollar.
    pub run: u64,
    /// Cap of each loop, in millionths of a dollar.
    pub one_loop: u64,
    /// Cap of each round of a loop, in millionths of a dollar.
    pub round: u64,
    /// Cap of the run in tokens, in and out together.
    pub tokens: u64,
}

/// The cap that was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cap {
    /// The cap of the run.
    Run,
    /// The cap of one loop.
    Loop,
    /// The cap of one round.
    Round,
    /// The cap of the run's tokens.
    Tokens,
}

/// A cap that leaves no room for a launch.
///
/// It holds all figures of the refusal, so that a message can say why and suggest a cap that is enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// The cap that has no room.
    pub cap: Cap,
    /// The cap: millionths of a dollar, or tokens.
    pub limit: u64,
    /// How much of the cap was spent.
    pub spent: u64,
    /// How much running agents have reserved.
    pub reserved: u64,
    /// How much the refused launch would have reserved.
    pub needed: u64,
}

impl Spent {
    /// A setting with which the run could go on, for the hint in a message.
    pub fn more(&self) -> String {
        // Twice the amount that is needed now: an exact amount would stop the run again at the next launch.
        let enough = self.limit.max(self.spent + self.reserved + self.needed).saturating_mul(2);
        let unit = if self.cap == Cap::Tokens { 1 } else { MICROS_PER_CENT };
        format!("{}={}", self.key(), enough.div_ceil(unit))
    }

    /// The setting that holds the cap.
    pub fn key(&self) -> &'static str {
        match self.cap {
            Cap::Run => "budget.run_cents",
            Cap::Loop => "budget.loop_cents",
            Cap::Round => "budget.round_cents",
            Cap::Tokens => "budget.run_tokens",
        }
    }
}

impl fmt::Display for Spent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = match self.cap {
            Cap::Run | Cap::Tokens => "the run",
            Cap::Loop => "one loop",
            Cap::Round => "one round",
        };
        if self.cap == Cap::Tokens {
            return write!(f, "the budget of {of} is reached: {} of {} tokens", self.spent, self.limit);
        }
        let (limit, spent, needed) = (dollars(self.limit), dollars(self.spent), dollars(self.needed));
        write!(
            f,
            "the budget of {of} is reached: {spent} of {limit} spent, the next launch reserves {needed}"
        )
    }
}

/// An amount in millionths of a dollar, as people write it.
pub fn dollars(micros: u64) -> String {
    format!("${}.{:02}", micros / 1_000_000, micros % 1_000_000 / MICROS_PER_CENT)
}

impl Caps {
    /// The caps that the settings name.
    pub fn of(budget: &BudgetSettings) -> Caps {
        Caps {
            run: budget.run_cents.saturating_mul(MICROS_PER_CENT),
            one_loop: budget.loop_cents.saturating_mul(MICROS_PER_CENT),
            round: budget.round_cents.saturating_mul(MICROS_PER_CENT),
            tokens: budget.run_tokens,
        }
    }

    /// Whether any cap is set.
    pub fn is_any(&self) -> bool {
        self.run + self.one_loop + self.round + self.tokens > 0
    }

    /// The cap that leaves no room for a launch; none if the launch fits.
    ///
    /// Running agents count with their reservation and ended ones with their cost. A launch whose cost nobody reports
    /// counts with its reservation for good, so an agent cannot exceed a cap by saying nothing.
    pub fn refuses(
        &self,
        run_state: &RunState,
        running: &BTreeMap<EffectId, u64>,
        effect: &EffectId,
        needed: u64,
    ) -> Option<Spent> {
        let review_loop = run_state.loops.get(&LoopId::new(effect.of.as_str()));
        let round = review_loop.map(|review_loop| round_of(review_loop, effect));
        let prefix = format!("{}/e", effect.of.as_str());
        let counts = |cap: Cap, note: &LaunchNote| match cap {
            Cap::Run | Cap::Tokens => true,
            Cap::Loop => note.effect.starts_with(&prefix),
            Cap::Round => note.effect.starts_with(&prefix) && Some(note.round) == round,
        };
        let scopes = [(Cap::Run, self.run), (Cap::Loop, self.one_loop), (Cap::Round, self.round)];
        // The caps of a loop and of a round have no meaning for an effect of the run itself.
        let set = |(cap, limit): &(Cap, u64)| *limit > 0 && (*cap == Cap::Run || review_loop.is_some());
        for (cap, limit) in scopes.into_iter().filter(set) {
            let spent = begun(run_state).filter(|note| counts(cap, note)).map(cost).sum();
            let of_scope = |id: &EffectId| cap == Cap::Run || id.of == effect.of;
            let reserved = running.iter().filter(|(id, _)| of_scope(id)).map(|(_, micros)| micros).sum();
            // Exactly the cap still fits.
            if spent + reserved + needed > limit {
                return Some(Spent { cap, limit, spent, reserved, needed });
            }
        }
        // Nobody can say beforehand how many tokens a launch takes, so this cap refuses only once it is reached.
        let used = begun(run_state).map(|note| note.tokens_in + note.tokens_out).sum();
        let short = Spent { cap: Cap::Tokens, limit: self.tokens, spent: used, reserved: 0, needed: 0 };
        (self.tokens > 0 && used >= self.tokens).then_some(short)
    }
}

/// Every launch that began and is over, also those whose end nobody saw.
fn begun(run_state: &RunState) -> impl Iterator<Item = &LaunchNote> {
    // A launch that died with its orchestrator has cost something, too. Without it each crash would raise the cap.
    let lost = run_state.killed.iter().filter(|_| stands(Defence::LostCost));
    run_state.launches.iter().chain(lost)
}

impl LaunchNote {
    /// A launch of which is known only that it may have begun.
    pub fn unknown(effect: &EffectId, reserved_micros: u64) -> LaunchNote {
        LaunchNote {
            effect: effect.to_string(),
            reserved_micros,
            cost_unknown: true,
            failed: Some(FailureKind::Unproven),
            ..LaunchNote::default()
        }
    }
}

/// The cost of a launch; its reservation where the agent reports no cost.
fn cost(note: &LaunchNote) -> u64 {
    if note.cost_unknown { note.reserved_micros } else { note.cost_micros }
}

fn round_of(review_loop: &Loop, effect: &EffectId) -> u32 {
    // A builder works for the round that comes after its work: the loop's counter grows when that round begins.
    review_loop.round() + u32::from(matches!(effect.step, Step::Make(_)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_state::Note;
    use proptest::prelude::*;
    use tribunal_core::effect::Try;
    use tribunal_core::ids::{Builder, Of};

    fn effect() -> EffectId {
        let step = Step::Make(Builder::new("dev"));
        EffectId { of: Of::new("01-01/task-1"), entry: 1, step, n: Try::default(), launch: 0 }
    }

    fn run_state(notes: Vec<LaunchNote>) -> RunState {
        RunState { launches: notes, ..RunState::default() }
    }

    #[test]
    fn a_launch_is_refused_when_it_does_not_fit() {
        let told =
            LaunchNote { cost_micros: 300, reserved_micros: 900, tokens_in: 40, ..LaunchNote::default() };
        let untold =
            LaunchNote { cost_unknown: true, reserved_micros: 200, tokens_out: 10, ..LaunchNote::default() };
        let run_state = run_state(vec![told, untold]);
        let running = BTreeMap::from([(effect(), 100)]);
        let check = |caps: Caps, needed: u64, expect: Option<Cap>| {
            let refused = caps.refuses(&run_state, &running, &effect(), needed);
            assert_eq!(refused.map(|spent| spent.cap), expect, "{caps:?} {needed}");
        };
        let run = |run: u64| Caps { run, ..Caps::default() };
        // 300 were told, 200 count because nobody told, 100 are reserved by who runs.
        check(run(0), 1_000_000, None);
        check(run(700), 100, None);
        check(run(700), 101, Some(Cap::Run));
        check(run(599), 0, Some(Cap::Run));
        check(Caps { tokens: 51, ..Caps::default() }, 1, None);
        check(Caps { tokens: 50, ..Caps::default() }, 1, Some(Cap::Tokens));
        // Without a loop there is no loop's cap.
        check(Caps { one_loop: 1, round: 1, ..Caps::default() }, 100, None);
    }

    /// What may happen to a run that has launches.
    #[derive(Clone, Debug)]
    enum Happens {
        /// One more is to begin.
        Begin(u64),
        /// The first one ends and says what it cost, a part of its reservation.
        Told(u64),
        /// The first one ends and does not say.
        Untold,
        /// Everything is killed, and the run goes on from its journal.
        Crash,
    }

    fn steps() -> impl Strategy<Value = Vec<Happens>> {
        let step = prop_oneof![
            4 => (1..120u64).prop_map(Happens::Begin),
            2 => (0..=100u64).prop_map(Happens::Told),
            1 => Just(Happens::Untold),
            1 => Just(Happens::Crash),
        ];
        proptest::collection::vec(step, 0..60)
    }

    proptest! {
        /// No crash lets a cap be passed: whatever agents do, all of them together spend no more than it, if each
        /// spends no more than was reserved for it.
        #[test]
        fn i4_spend_stays_below_the_cap(cap in 1..300u64, steps in steps()) {
            let caps = Caps { run: cap, ..Caps::default() };
            let (mut run_state, mut running, mut spent) = (RunState::default(), BTreeMap::new(), 0);
            for (step, launch) in steps.into_iter().zip(0..) {
                let first = running.first_key_value().map(|(effect, micros): (&EffectId, &u64)| (effect.clone(), *micros));
                match (step, first) {
                    (Happens::Begin(micros), _) => {
                        let effect = EffectId { launch, ..effect() };
                        if caps.refuses(&run_state, &running, &effect, micros).is_none() {
                            running.insert(effect, micros);
                        }
                    }
                    (Happens::Told(part), Some((effect, micros))) => {
                        let cost_micros = micros * part / 100;
                        running.remove(&effect);
                        spent += cost_micros;
                        run_state.launches.push(LaunchNote { cost_micros, reserved_micros: micros, ..LaunchNote::default() });
                    }
                    (Happens::Untold, Some((effect, micros))) => {
                        running.remove(&effect);
                        spent += micros;
                        run_state.launches.push(LaunchNote { cost_unknown: true, reserved_micros: micros, ..LaunchNote::default() });
                    }
                    (Happens::Crash, _) => for (effect, micros) in std::mem::take(&mut running) {
                        spent += micros;
                        run_state.apply_note(&Note::Lost(Box::new(LaunchNote::unknown(&effect, micros))));
                    },
                    (Happens::Told(_) | Happens::Untold, None) => {}
                }
                prop_assert!(spent + running.values().sum::<u64>() <= cap);
            }
        }
    }

    #[test]
    fn what_is_offered_is_enough_to_go_on() {
        let spent = |cap, limit, spent, needed| Spent { cap, limit, spent, reserved: 0, needed };
        assert_eq!(spent(Cap::Run, 500_000, 450_000, 100_000).more(), "budget.run_cents=110");
        assert_eq!(spent(Cap::Tokens, 500, 700, 0).more(), "budget.run_tokens=1400");
        let said = spent(Cap::Run, 500_000, 450_000, 100_000).to_string();
        assert_eq!(
            said,
            "the budget of the run is reached: $0.45 of $0.50 spent, the next launch reserves $0.10"
        );
    }
}
