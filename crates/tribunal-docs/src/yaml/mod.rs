//! YAML as planning documents use it: a tree that keeps scalars as written, a strict reader, a repairing one, a writer.
//! Must never guess a type: whether `08` is a number is for the field that reads it to say.

pub(crate) mod emit;
pub(crate) mod repair;
pub(crate) mod strict;
mod value;

pub use value::Value;
