//! Runs coding agents: adapter rows as data, pure parsers for their output, and the scripted agent.
//!
//! This crate says how an agent is launched and what its output means. It never starts the agent itself (that is
//! `tribunal-process`), never decides what an answer is worth (that is `tribunal-core`), and never trusts an exit code
//! alone.
//!
//! Nothing outside `rows/` and `parse/` knows an agent program by name. To support a new program, add a row; only an
//! output format that no parser knows needs code. `docs/design/adapters.md` has the keys of a row and the traps of each
//! program.

pub mod acp;
mod adapter;
mod brief;
mod error;
mod parse;
mod prepare;
pub mod protected;
pub mod reporting;
pub mod roster;
pub mod scripted;
mod template;
pub mod tool;
pub mod word;

pub use adapter::{Adapter, Adapters, Feature, Home, Login, PromptBy, Tested};
pub use brief::{Access, Asks, Brief, Mcp, Prepared};
pub use error::AgentError;
pub use parse::{
    Denial, Drift, DriftKind, JsonFields, Left, Outcome, Parser, Problem, ProblemKind, Reading, Reset,
    SeenCall, TOOLS, ToolCall, Usage, open_plain, read, read_launch, read_streams,
};
pub use prepare::{PROMPT_FILE, REPORT_FILE, prepare, would_start};
