//! Servers that speak a protocol: the MCP servers that agents start, to report or to look at runs, and HTTP for the
//! browser.
//!
//! They hold no state of a run and decide nothing. An MCP call goes to the engine through the launch's own socket, or
//! to a [`EditorTools`]. A page comes from a [`web::Site`]; this crate knows only who may ask, and how an answer is written on
//! the wire.
//!
//! Nothing here starts a process. Nothing but the protocol is written to standard output, because a client reads every
//! other byte there as a broken message.

mod editor_tools;
mod engine;
mod mcp;
pub mod web;

pub use editor_tools::{EditorTools, serve_editor_tools};
pub use engine::{ServerError, ask};
pub use mcp::serve;
