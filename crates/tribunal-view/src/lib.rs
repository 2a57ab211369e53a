//! Facts to words: prompts, lines, summaries, reports, public events. Pure: no IO, no clock, no randomness, and it
//! knows neither the engine nor the journal.
//!
//! A caller fills plain structs (`facts`, `review`, `examined`) and passes them to functions that return a `String`. So
//! every output can be tested as a whole, and a time or a width is always an argument.
//!
//! Text of agents becomes harmless in `plain`, and for pages in `web::html`. Nothing from outside may reach a reader by
//! another way.

pub mod account;
pub mod annotations;
pub mod bars;
pub mod branch;
pub mod calendar;
pub mod chain;
pub mod context;
pub mod dedupe;
pub mod delta;
pub mod detail;
pub mod diff;
pub mod doctor;
pub mod events;
pub mod examined;
pub mod explain;
pub mod facts;
pub mod html;
pub mod intake;
pub mod live;
pub mod log;
pub mod map;
pub mod metrics;
pub mod parts;
pub mod plain;
pub mod prompt;
pub mod protocol;
pub mod provenance;
pub mod question;
pub mod report;
pub mod request;
pub mod review;
pub mod sandbox;
pub mod sarif;
pub mod spoken;
pub mod status;
pub mod style;
pub mod summary;
pub mod typed;
pub mod voices;
pub mod web;
pub mod who;
pub mod words;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_findings;
