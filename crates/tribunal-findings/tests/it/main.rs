//! One test binary: tables of messy answers, and laws.

mod intake;
mod maker;
