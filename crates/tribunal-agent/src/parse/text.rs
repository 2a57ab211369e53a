//! Plain text: the whole output is the final message. Without events the only evidence of an end is exit code 0 with
//! something said, so both are needed.

use super::Outcome;
use std::io::{self, BufRead, Read};

const TEXT_MAX: usize = 4 * 1024 * 1024;

pub(super) fn read(mut input: impl BufRead, exit: Option<i32>) -> io::Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut bytes = Vec::new();
    (&mut input).take(TEXT_MAX as u64).read_to_end(&mut bytes)?;
    let rest = io::copy(&mut input, &mut io::sink())?;
    if rest > 0 {
        // A judgement read in part could drop its worst finding.
        let total = bytes.len() as u64 + rest;
        outcome.fail(format!("the output has {total} bytes, more than {TEXT_MAX}: it cannot be read whole"));
    }
    let text = String::from_utf8_lossy(&bytes);
    if matches!(text, std::borrow::Cow::Owned(_)) {
        outcome.drift("the output is not UTF-8, unreadable bytes replaced".to_owned());
    }
    let text = text.trim();
    let said = text.chars().any(|c| !c.is_whitespace() && !c.is_control());
    outcome.complete = exit == Some(0) && said;
    if said {
        outcome.final_text = Some(text.to_owned());
    }
    match exit {
        Some(0) | None => {}
        Some(code) => outcome.fail(format!("exit code {code}")),
    }
    Ok(outcome)
}
