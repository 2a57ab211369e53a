//! The laws of the machines, one test for each, by name. One walk over many seeds feeds them all; the journal
//! is what they read. `TRIBUNAL_SEEDS` sets how many loops are walked (a fifth as many runs).

#[cfg(test)]
mod asks;
mod book;
#[cfg(test)]
mod cover;
#[cfg(test)]
mod green_laws;
#[cfg(test)]
mod journal;
#[cfg(test)]
mod journeys;
#[cfg(test)]
mod loop_laws;
#[cfg(test)]
mod loop_world;
#[cfg(test)]
mod loops;
#[cfg(test)]
mod policies;
#[cfg(test)]
mod rng;
#[cfg(test)]
mod run_laws;
#[cfg(test)]
mod runs;
#[cfg(test)]
mod scripts;
#[cfg(test)]
mod specs;
#[cfg(test)]
mod tables;
#[cfg(test)]
mod transitions;
#[cfg(test)]
mod walks;
#[cfg(test)]
mod word_laws;
