//! Facts to words: prompts, lines, summaries, reports, public events. Pure: no IO, no clock, no randomness, and it
//! knows neither the engine nor the journal.

pub mod plain;
pub mod prompt;
