//! `update-exec-state`: reads the changes that a script makes to `.execution-state.json`.

use super::{Answer, ground};
use crate::failure::Failure;
use serde_json::json;
use tribunal_protocol::update_execution_state;

/// Makes the changes. Exit code 1 means that the state or a change makes no sense.
pub fn run(plan: &str, changes: &[String]) -> Result<Answer, Failure> {
    if let Some(change) = changes.iter().find(|change| !change.contains('=')) {
        return Err(Failure::usage(format!("{change:?} is not KEY=VALUE")));
    }
    Ok(match update_execution_state(&ground(None)?, plan, changes)? {
        Ok((path, plan)) => {
            let path = path.display().to_string();
            Answer::new(json!({ "path": path, "plan": plan, "changes": changes.len() }), 0)
        }
        Err(why) => Answer::new(json!({ "error": why }), 1),
    })
}
