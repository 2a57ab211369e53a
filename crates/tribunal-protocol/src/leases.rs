//! The lease table on disk: `.locks/leases.json`, changed only under the lock beside it.
//!
//! Of two callers at the same moment one waits and then sees the other's lease. A broken table grants nothing, because
//! nobody can say what was leased.

use crate::{Folder, ProtocolError, clock};
use tribunal_core::lease::{Leases, Moment};

const TABLE: &str = ".locks/leases.json";
const LOCK: &str = ".locks/leases.lock";

/// The result of a change to the table.
pub struct Leased<T> {
    /// The answer of the change.
    pub answer: T,
    /// The time of the answer.
    pub now: Moment,
}

/// Reads the table, applies `change`, and writes it back if it changed. All of this happens under one lock.
pub fn with_leases<T>(
    folder: &Folder,
    change: impl FnOnce(&mut Leases, &Moment) -> T,
) -> Result<Leased<T>, ProtocolError> {
    let guard = folder.lock(LOCK)?;
    let before = read(folder)?;
    let mut leases = before.clone();
    // The clock is read under the lock: waiting for the lock must not make a lease older than it is.
    let now = clock::moment();
    let answer = change(&mut leases, &now);
    // A question changes nothing, and the file's times should say so.
    if leases != before {
        let text = serde_json::to_vec_pretty(&leases).unwrap_or_default();
        folder.write(TABLE, &text)?;
    }
    drop(guard);
    Ok(Leased { answer, now })
}

fn read(folder: &Folder) -> Result<Leases, ProtocolError> {
    let Some(bytes) = folder.read(TABLE)? else { return Ok(Leases::default()) };
    serde_json::from_slice(&bytes).map_err(|error| ProtocolError::Broken {
        path: folder.path(TABLE),
        why: error.to_string(),
        hint: "nothing is leased while it is broken: make sure no task is at work, then remove the file",
    })
}
