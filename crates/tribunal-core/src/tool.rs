//! Tools that judge a change: linters, type checkers and the like.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A tool that has something to look at.
///
/// It is journaled, so that a resumed run asks the same tools about the same files, whatever is installed by then.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DetectedTool {
    /// The name of its row.
    pub name: String,
    /// The folders it runs in, each with the changed files below it, from that folder.
    pub places: BTreeMap<String, Vec<String>>,
    /// The file by which the project says that it uses the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configured: Option<String>,
    /// Programs that are not installed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}
