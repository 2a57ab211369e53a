//! What an agent's session used, as far as its program tells.

use serde::{Deserialize, Serialize};

/// A session's counters, which grow over resumed launches.
///
/// Some programs report the session's sum after every launch. What one launch used is then the difference, so the sum of the
/// launch before is kept in the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionTotals {
    /// Tokens read.
    pub input: u64,
    /// Tokens written.
    pub output: u64,
    /// Of the tokens read, those from a cache.
    pub cached: u64,
    /// Millionths of a dollar.
    pub cost_micros: u64,
}
