//! Agents that make something: builders, fixers, and the documents that a run writes itself.

pub(crate) mod account;
pub(crate) mod artifact;
pub(crate) mod carried;
pub(crate) mod fix;
pub(crate) mod import;
pub(crate) mod make;
pub(crate) mod polish;
pub(crate) mod routing;
