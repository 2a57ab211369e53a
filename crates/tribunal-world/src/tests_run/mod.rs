//! The project's own build and test commands, and the files that judge with them.

pub(crate) mod base_judge;
pub(crate) mod command_memo;
pub(crate) mod green;
pub(crate) mod prepare;
pub(crate) mod reads;
