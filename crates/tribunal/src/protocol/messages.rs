//! `validate-message`: reads one message from stdin and says what is wrong with it.

use super::{Answer, ground};
use crate::failure::Failure;
use serde_json::{Value, json};
use std::io::Read;
use tribunal_protocol::message_errors;

/// Not more than this is read of a message.
const BYTES_MAX: u64 = 16 << 20;

/// Validates the message. Exit code 0 valid, 2 not.
pub fn validate() -> Result<Answer, Failure> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(BYTES_MAX).read_to_end(&mut bytes);
    read.map_err(|error| Failure::work(format!("cannot read stdin: {error}")))?;
    let errors = match serde_json::from_slice::<Value>(&bytes) {
        Ok(Value::Object(message)) => message_errors(&message, ground(None).ok().as_ref()),
        Ok(_) => vec!["the message is no JSON object".to_owned()],
        Err(error) => vec![format!("the message is not JSON: {error}")],
    };
    let valid = errors.is_empty();
    Ok(Answer::new(json!({ "valid": valid, "errors": errors }), if valid { 0 } else { 2 }))
}
