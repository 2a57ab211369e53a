//! Messages between the agents of the protocol, checked against the tables of kinds and roles and the plan's contract.

use crate::{ContractError, Ground, contract};
use serde_json::{Map, Value};
use tribunal_core::message::{ENVELOPE, Kind, TIERS, VERSION, kind};

/// What is wrong with a message: every error, not only the first, because the sender is an agent and should correct its
/// message in one go. `ground` is the project, if there is one.
pub fn message_errors(message: &Map<String, Value>, ground: Option<&Ground>) -> Vec<String> {
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
    errors.extend(files(payload, ground));
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
fn files(payload: &Map<String, Value>, ground: Option<&Ground>) -> Vec<String> {
    let named = payload.get("files_modified").and_then(Value::as_array);
    let plan = payload.get("plan_id").and_then(Value::as_str);
    let (Some(named), Some(plan), Some(ground)) = (named, plan, ground) else { return Vec::new() };
    let id = tribunal_docs::PlanId::new("", plan);
    let id = match tribunal_docs::plan_argument(plan) {
        Some(argument) => format!("{}-{}", argument.phase.unwrap_or_default(), argument.number),
        None => id.to_string(),
    };
    // The id becomes a part of a path.
    if id.contains(['/', '\0']) {
        return vec![format!("payload: {plan:?} is no plan")];
    }
    let contract = match contract::load(&ground.state().path(&format!(".contracts/{id}.json"))) {
        Ok(contract) => contract,
        // A plan without a contract restricts nothing. A contract that cannot be believed is an error of its own.
        Err(ContractError::Missing(_)) => return Vec::new(),
        Err(error) => return vec![format!("files: {error}")],
    };
    let names = named.iter().map(|file| file.as_str().unwrap_or_default());
    names.filter_map(|file| Some(format!("files: {file} {}", contract.breach(file)?.words()))).collect()
}
