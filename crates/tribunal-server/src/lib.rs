//! Faces that speak a protocol. So far one: the MCP server that an agent starts to report by.
//!
//! It holds no state and decides nothing: every call goes to the engine through the launch's own socket, and what the
//! engine answers is what the agent is told. It never writes to standard output but for the protocol.

mod engine;
mod mcp;

pub use engine::{ServerError, ask};
pub use mcp::serve;
