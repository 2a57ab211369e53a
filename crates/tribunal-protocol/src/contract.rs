//! Contracts on disk: made from a plan, sealed with a hash, and believed only while the hash fits.
//!
//! The seal shows that a contract was changed; it does not keep anybody from making a new one. That is why a renewed
//! contract keeps the commit and the time of the first one.

use crate::changed::is_gone;
use crate::{Folder, Ground, ProtocolError, clock};
use serde_json::Value;
use std::path::{Path, PathBuf};
use tribunal_core::contract::{Contract, clean};
use tribunal_docs::{Plan, PlanId};
use tribunal_git::{Archive, GitPath};
use tribunal_world::sha256;

/// Why a contract is not believed.
///
/// All of them shut the gate. They differ in what the user has to do next.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ContractError {
    /// The contract does not exist.
    #[error("{0} does not exist")]
    Missing(String),
    /// It is not JSON, or not a contract.
    #[error("{0} cannot be read: {1}")]
    Unreadable(String, String),
    /// Somebody changed it after it was sealed.
    #[error("{0} was changed after it was sealed")]
    Tampered(String),
    /// Its seal has another form: another tool made it.
    #[error("{0} was made by another tool; make it with `tribunal generate-contract PLAN`")]
    Foreign(String),
}

/// The sha256 of a contract's canonical JSON (sorted keys, no blanks) without its hash.
pub fn hash_of(contract: &Value) -> String {
    seal_of(contract, "contract_hash")
}

/// The sha256 of canonical JSON, without the key that holds it.
pub(crate) fn seal_of(value: &Value, key: &str) -> String {
    let mut bare = value.clone();
    if let Some(map) = bare.as_object_mut() {
        map.remove(key);
    }
    sha256(canonical(&bare).as_bytes())
}

/// JSON with sorted keys and no blanks, whatever order the map has.
///
/// The hash must not depend on the order in which a JSON library keeps its keys.
fn canonical(value: &Value) -> String {
    let joined = |parts: Vec<String>| parts.join(",");
    match value {
        Value::Array(items) => format!("[{}]", joined(items.iter().map(canonical).collect())),
        Value::Object(map) => {
            let sorted: std::collections::BTreeMap<&String, &Value> = map.iter().collect();
            let entry = |(key, value): (&&String, &&Value)| {
                format!("{}:{}", Value::String((*key).clone()), canonical(value))
            };
            format!("{{{}}}", joined(sorted.iter().map(entry).collect()))
        }
        scalar => scalar.to_string(),
    }
}

/// Writes a plan's contract, sealed. Returns its path and the contract.
///
/// A contract that is made again keeps the commit and the time of the first one. Otherwise a builder could ask for a
/// new contract and make its own changes the base they are judged from.
pub fn generate(ground: &Ground, plan: &Plan) -> Result<(PathBuf, Contract), ProtocolError> {
    let mut contract = tribunal_docs::contract_of(plan);
    let folder: Folder = ground.state();
    let name = format!(".contracts/{}.json", file_name(&contract.plan_id)?);
    let path = folder.path(&name);
    // Only an intact contract of the same plan is continued.
    let before = load(&path).ok().filter(|before| before.plan_id == contract.plan_id);
    let value = |contract: &Contract| serde_json::to_value(contract).unwrap_or_default();
    contract.base_commit = base_of(ground, before.as_ref());
    // Git cannot say later that a file it never tracked was there, so it is recorded now.
    contract.untracked_forbidden = untracked(ground, &contract, before.as_ref());
    contract.made_at_ms = Some(match &before {
        Some(before) => made_at(before, &path)?,
        None => clock::tick(&folder)?,
    });
    // The hash comes last, over everything else.
    contract.contract_hash = hash_of(&value(&contract));
    let mut text = serde_json::to_string_pretty(&value(&contract)).unwrap_or_default();
    text.push('\n');
    folder.write(&name, text.as_bytes())?;
    Ok((path, contract))
}

/// When a contract was made: by its own field, or by the time of its file if it has none.
pub(crate) fn made_at(contract: &Contract, path: &Path) -> Result<u64, ProtocolError> {
    match contract.made_at_ms {
        Some(made) => Ok(made),
        None => path
            .symlink_metadata()
            .map(|meta| clock::changed_ms(&meta))
            .map_err(ProtocolError::io("look at", path)),
    }
}

fn base_of(ground: &Ground, before: Option<&Contract>) -> String {
    // A commit that is gone is kept too. The gate reports it.
    if let Some(before) = before.filter(|before| !before.base_commit.is_empty()) {
        return before.base_commit.clone();
    }
    let head = Archive::open(ground.root()).and_then(|archive| archive.commit("HEAD"));
    head.map(|head| head.to_string()).unwrap_or_default()
}

/// Forbidden paths that exist and that git does not track, without patterns. Paths that were forbidden before stay as
/// they were recorded then.
fn untracked(ground: &Ground, contract: &Contract, before: Option<&Contract>) -> Vec<String> {
    let head = Archive::open(ground.root()).and_then(|archive| archive.files(&archive.commit("HEAD")?));
    let tracked = head.unwrap_or_default();
    let is_untracked = |path: &str| {
        let dir = GitPath::from(path);
        !path.contains(['*', '?'])
            && !is_gone(&ground.root().join(path))
            && !tracked.iter().any(|file| file.path.is_under(&dir))
    };
    let was_forbidden = |path: &str, before: &Contract| {
        before.forbidden_paths.iter().any(|forbidden| clean(forbidden).as_deref() == Some(path))
    };
    let named = contract.forbidden_paths.iter().filter_map(|path| clean(path));
    let noted = |path: &String| match before.filter(|before| was_forbidden(path, before)) {
        Some(before) => before.untracked_forbidden.contains(path),
        None => is_untracked(path),
    };
    named.filter(noted).collect()
}

/// The file in the planning folder that holds what a plan has left of its token budget.
pub fn token_state(plan: &str) -> Result<String, ProtocolError> {
    Ok(format!(".token-state/{}.json", file_name(plan)?))
}

/// A plan's id as part of a file name. Ids come from documents, so they may hold anything.
pub(crate) fn file_name(id: &str) -> Result<&str, ProtocolError> {
    let bad = id.is_empty() || id.starts_with('.') || id.contains(['/', '\\', '\0']) || id.len() > 120;
    if bad { Err(ProtocolError::BadName { name: id.to_owned() }) } else { Ok(id) }
}

/// The contract that a script's argument means: a file, or the answer of `generate-contract` passed on as it is.
///
/// `1-1.json` means `01-01.json`, because scripts write the numbers as they have them.
pub fn meant(argument: &Path) -> PathBuf {
    // Scripts pass the JSON answer on as it is. No path of a contract begins with a brace.
    let answer = argument.to_str().filter(|text| text.trim_start().starts_with('{'));
    if let Some(answer) = answer.and_then(|text| serde_json::from_str::<Value>(text).ok()) {
        return answer.get("path").and_then(Value::as_str).map_or_else(|| argument.to_owned(), PathBuf::from);
    }
    if argument.exists() {
        return argument.to_owned();
    }
    let named = argument.file_stem().and_then(|stem| stem.to_str()).and_then(tribunal_docs::plan_argument);
    let Some(phase) = named.as_ref().and_then(|named| named.phase.as_deref()) else {
        return argument.to_owned();
    };
    let id = PlanId::new(phase, named.as_ref().map_or("", |named| &named.number));
    argument.with_file_name(format!("{id}.json"))
}

/// Reads a contract. It is believed only if its hash fits.
///
/// The hash covers every key of the file, also those that this version does not know.
pub fn load(path: &Path) -> Result<Contract, ContractError> {
    let shown = path.display().to_string();
    let bytes = match tribunal_world::read_plain(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(ContractError::Missing(shown));
        }
        Err(error) => return Err(ContractError::Unreadable(shown, error.to_string())),
    };
    let unreadable = |error: serde_json::Error| ContractError::Unreadable(shown.clone(), error.to_string());
    let value: Value = serde_json::from_slice(&bytes).map_err(unreadable)?;
    // Contracts of this program say when they were made; those of other tools do not.
    let is_ours = value.get("made_at_ms").is_some();
    let contract: Contract = match serde_json::from_value(value.clone()) {
        Ok(contract) => contract,
        Err(_) if !is_ours && value.is_object() => return Err(ContractError::Foreign(shown)),
        Err(error) => return Err(unreadable(error)),
    };
    if contract.contract_hash != hash_of(&value) {
        return Err(if is_ours { ContractError::Tampered(shown) } else { ContractError::Foreign(shown) });
    }
    Ok(contract)
}
