//! Faces that speak a protocol: the MCP server that an agent starts to report by, and HTTP for the browser.
//!
//! They hold no state of a run and decide nothing. MCP: every call goes to the engine through the launch's own socket.
//! HTTP: every page comes from a [`web::Site`]; what is here is who may ask, and how it is said on the wire. Nothing
//! here starts a process, and nothing but the protocol is written to standard output.

mod engine;
mod mcp;
pub mod web;

pub use engine::{ServerError, ask};
pub use mcp::serve;
