//! One test binary: tables of messy answers, and laws.

mod bad_input;
mod delta;
mod intake;
mod maker;
mod pairs;
mod qa;
mod track;
mod triage;
mod unbelieved;
