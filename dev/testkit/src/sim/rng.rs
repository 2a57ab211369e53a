//! All the chance there is: a small generator seeded by a number, and dice that belong to one thing. Nothing in
//! the simulation may take randomness, order or time from anywhere else.

use tribunal_core::effect::{EffectId, Step};
use tribunal_core::ids::FindingId;

/// A stream of numbers out of one seed (splitmix64).
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        scramble(self.0)
    }

    /// A number below `n`; 0 where `n` is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        if n == 0 { 0 } else { self.next() % n }
    }

    /// A number from `from` to `to`, both included.
    pub fn within(&mut self, from: u64, to: u64) -> u64 {
        from + self.below(to.saturating_sub(from) + 1)
    }

    /// True so many times in a thousand.
    pub fn chance(&mut self, per_mille: u16) -> bool {
        self.below(1000) < u64::from(per_mille)
    }

    /// One of several; the first where there is nothing to choose.
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        let at = self.below(of.len() as u64) as usize;
        &of[at]
    }
}

fn scramble(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// A number that stands for a text.
pub fn digest(text: &str) -> u64 {
    scramble(tribunal_core::hash::fnv1a(text.bytes()))
}

/// The dice of one text under one seed: the same in every life of the process.
pub fn dice(seed: u64, salt: &str, text: &str) -> Rng {
    Rng::new(scramble(seed ^ digest(salt)) ^ digest(text))
}

/// The dice of one effect, whichever launch of it: a crash does not change what an agent would have said.
pub fn effect_dice(seed: u64, salt: &str, effect: &EffectId) -> Rng {
    // Ids of findings depend on who reported first; what is said of them must not.
    let step = match &effect.step {
        Step::Hear(_) => Step::Hear(FindingId(0)),
        step => step.clone(),
    };
    let first = EffectId { launch: 0, step, ..effect.clone() };
    dice(seed, salt, &first.to_string())
}
