//! `validate-message`: checks one message on stdin against the tables of kinds and roles and the plan's contract.
//!
//! All errors are reported, not only the first: the sender is an agent and should correct its message in one go.

use super::{Answer, ground};
use crate::failure::Failure;
use serde_json::{Map, Value, json};
use std::io::Read;
use tribunal_core::message::{ENVELOPE, Kind, TIERS, VERSION, kind};

/// Not more than this is read of a message.
const BYTES_MAX: u64 = 16 << 20;

/// Validates the message. Exit code 0 valid, 2 not.
pub fn validate() -> Result<Answer, Failure> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(BYTES_MAX).read_to_end(&mut bytes);
    read.map_err(|error| Failure::work(format!("cannot read stdin: {error}")))?;
    let errors = match serde_json::from_slice::<Value>(&bytes) {
        Ok(Value::Object(message)) => errors(&message),
        Ok(_) => vec!["the message is no JSON object".to_owned()],
        Err(error) => vec![format!("the message is not JSON: {error}")],
    };
    let valid = errors.is_empty();
    Ok(Answer::new(json!({ "valid": valid, "errors": errors }), if valid { 0 } else { 2 }))
}

fn errors(message: &Map<String, Value>) -> Vec<String> {
    let missing = ENVELOPE.iter().filter(|field| message.get(**field).is_none_or(Value::is_null));
    let mut errors: Vec<String> = missing.map(|field| format!("envelope: {field} is missing")).collect();
    let word = |field: &str| message.get(field).and_then(Value::as_str).unwrap_or_default();
    if message.contains_key("schema_version") && word("schema_version") != VERSION {
        errors.push(format!("envelope: schema_version must be \"{VERSION}\""));
    }
    let Some(kind) = kind(word("type")) else {
        errors.push(format!("type: there is no message {:?}", word("type")));
        // Without a kind nothing is known about the payload and the roles.
        return errors;
    };
    let empty = Map::new();
    let payload = match message.get("payload") {
        Some(Value::Object(payload)) => payload,
        Some(_) => {
            errors.push("payload: it is no object".to_owned());
            &empty
        }
        None => &empty,
    };
    let missing = kind.payload.iter().filter(|field| payload.get(**field).is_none_or(Value::is_null));
    errors.extend(missing.map(|field| format!("payload: {field} is missing")));
    let tier = payload.get("tier").filter(|tier| kind.payload.contains(&"tier") && !tier.is_null());
    if let Some(tier) = tier.filter(|tier| !tier.as_str().is_some_and(|tier| TIERS.contains(&tier))) {
        errors.push(format!("payload: tier is {tier}: one of {}", TIERS.join(", ")));
    }
    errors.extend(roles(kind, word("author_role"), message.get("target_role").and_then(Value::as_str)));
    errors.extend(files(payload));
    errors
}

fn roles(kind: &Kind, sender: &str, receiver: Option<&str>) -> Vec<String> {
    let mut errors = Vec::new();
    if !sender.is_empty() && !kind.senders.contains(&sender) {
        errors.push(format!("author_role: {sender} may not send {}", kind.name));
    }
    if let Some(receiver) = receiver.filter(|receiver| !kind.receivers.contains(receiver)) {
        errors.push(format!("target_role: {receiver} may not get {}", kind.name));
    }
    errors
}

/// Files that a message names and its plan's contract does not allow.
fn files(payload: &Map<String, Value>) -> Vec<String> {
    let named = payload.get("files_modified").and_then(Value::as_array);
    let plan = payload.get("plan_id").and_then(Value::as_str);
    let (Some(named), Some(plan)) = (named, plan) else { return Vec::new() };
    let Ok(ground) = ground(None) else { return Vec::new() };
    let id = tribunal_docs::PlanId::new("", plan);
    let id = match tribunal_docs::plan_argument(plan) {
        Some(argument) => format!("{}-{}", argument.phase.unwrap_or_default(), argument.number),
        None => id.to_string(),
    };
    // The id becomes a part of a path.
    if id.contains(['/', '\0']) {
        return vec![format!("payload: {plan:?} is no plan")];
    }
    let contract = match tribunal_protocol::load(&ground.state().path(&format!(".contracts/{id}.json"))) {
        Ok(contract) => contract,
        // A plan without a contract restricts nothing. A contract that cannot be believed is an error of its own.
        Err(tribunal_protocol::ContractError::Missing(_)) => return Vec::new(),
        Err(error) => return vec![format!("files: {error}")],
    };
    let names = named.iter().map(|file| file.as_str().unwrap_or_default());
    names.filter_map(|file| Some(format!("files: {file} {}", contract.breach(file)?.words()))).collect()
}
