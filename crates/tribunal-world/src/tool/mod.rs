//! Linters and other tools as checks, and answers that may be used again.

pub(crate) mod cache;
pub(crate) mod tool_settings;
pub(crate) mod tools;
