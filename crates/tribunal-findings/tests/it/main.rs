//! One test binary: tables of messy answers, and laws.

mod delta;
mod intake;
mod maker;
mod pairs;
mod track;
mod triage;
