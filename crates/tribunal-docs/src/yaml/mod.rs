//! YAML as planning documents use it: a tree that keeps scalars as written, a strict reader, a repairing one, and a
//! writer.
//!
//! Nothing here guesses a type. Whether `08` is a number is for the field that reads it to say; a library that decides
//! for itself turns plan `08` into 8 and commit `84e9493` into infinity.

pub(crate) mod emit;
pub(crate) mod repair;
pub(crate) mod strict;
mod value;

pub use value::Value;
