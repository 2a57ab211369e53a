//! Faces that speak a protocol: the MCP servers that agents start, to report by or to look at runs, and HTTP for the
//! browser.
//!
//! They hold no state of a run and decide nothing. MCP: every call goes to the engine through the launch's own socket,
//! or to a [`Desk`].
//! HTTP: every page comes from a [`web::Site`]; what is here is who may ask, and how it is said on the wire. Nothing
//! here starts a process, and nothing but the protocol is written to standard output.

mod desk;
mod engine;
mod mcp;
pub mod web;

pub use desk::{Desk, serve_desk};
pub use engine::{ServerError, ask};
pub use mcp::serve;
