//! The artifact registry: which file was made by which event, and its sha256 at that time.
//!
//! Lines are only added, never rewritten, so the registry also shows how a file changed. The newest line of a file
//! counts.

use crate::{Folder, Ground, ProtocolError, clock};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::io::Read;
use tribunal_core::gate::Kept;

/// The path of the registry in the planning folder.
pub const REGISTRY: &str = ".artifacts/registry.jsonl";

/// One registered file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    /// Its path from the project's root.
    pub path: String,
    /// The sha256 of its bytes at that time.
    pub sha256: String,
    /// The event it belongs to.
    pub event_id: String,
    /// The phase it was made in.
    pub phase: String,
    /// The plan it was made for.
    pub plan: String,
    /// The time at which it was registered.
    #[serde(default)]
    pub ts: String,
}

/// Registers a file of the project; none if the file does not exist.
pub fn register(
    ground: &Ground,
    path: &str,
    event_id: &str,
    phase: &str,
    plan: &str,
) -> Result<Option<Artifact>, ProtocolError> {
    // There is nothing to compare a missing file with later, so it gets no entry.
    let Some(sha256) = sha256_of(ground, path) else { return Ok(None) };
    let artifact = Artifact {
        path: path.to_owned(),
        sha256,
        event_id: event_id.to_owned(),
        phase: phase.to_owned(),
        plan: plan.to_owned(),
        ts: tribunal_view::calendar::timestamp_with_ms(clock::moment().wall_ms),
    };
    ground.state().append(REGISTRY, &serde_json::to_string(&artifact).unwrap_or_default())?;
    Ok(Some(artifact))
}

/// Every entry, oldest first. A line that is not an entry is skipped.
pub fn registered(folder: &Folder) -> Result<Vec<Artifact>, ProtocolError> {
    let bytes = folder.read(REGISTRY)?.unwrap_or_default();
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    Ok(lines.filter_map(|line| serde_json::from_slice(line).ok()).collect())
}

/// The newest entry of each file of a plan, and whether the file is still as it was.
///
/// Unlike `registered` it fails on a line that it cannot read: the gate must not pass because the line about a lost
/// file is broken.
pub fn kept(ground: &Ground, phase: &str, plan: &str) -> Result<Vec<(String, Kept)>, ProtocolError> {
    let mut newest = std::collections::BTreeMap::new();
    // The broken line may be about a file that is gone.
    let bytes = ground.state().read(REGISTRY)?.unwrap_or_default();
    let mut lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    if let Some(why) = lines.find_map(|line| serde_json::from_slice::<Artifact>(line).err()) {
        let (path, hint) =
            (ground.state().path(REGISTRY), "take the broken line out, or register the files again");
        return Err(ProtocolError::Broken { path, why: why.to_string(), hint });
    }
    for artifact in registered(&ground.state())? {
        if artifact.phase == phase && artifact.plan == plan {
            newest.insert(artifact.path, artifact.sha256);
        }
    }
    let state = |path: &str, then: &str| match sha256_of(ground, path) {
        None => Kept::Gone,
        Some(now) if now == then => Kept::Same,
        Some(_) => Kept::Changed,
    };
    Ok(newest.into_iter().map(|(path, then)| (path.clone(), state(&path, &then))).collect())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The sha256 of a file beneath the root; none if it is not a regular file. The file is streamed, because artifacts can
/// be large.
fn sha256_of(ground: &Ground, path: &str) -> Option<String> {
    let mut file = ground.open(path)?;
    let mut hash = Sha256::new();
    let mut buffer = [0u8; 64 << 10];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => hash.update(&buffer[..n]),
            Err(_) => return None,
        }
    }
    Some(hex(hash.finalize().as_slice()))
}
