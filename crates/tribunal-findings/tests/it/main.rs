//! One test binary: tables of messy answers, and laws.

mod bad_input;
mod builder;
mod carriers;
mod closing;
mod delta;
mod forms;
mod intake;
mod launch_word;
mod pairs;
mod qa;
mod sentences;
mod subjects;
mod track;
mod triage;
mod unbelieved;
