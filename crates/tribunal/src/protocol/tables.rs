//! The protocol's tables as commands: model and turns of a role, and the gate policy.

use super::Answer;
use crate::exit::Done;
use crate::failure::Failure;
use crate::out;
use serde_json::Value;
use std::path::Path;
use tribunal_core::tables::{self, Autonomy, Effort, ModelClass, Risk, TurnsSet};
use tribunal_engine::gates::read_plain;
use tribunal_view::protocol as view;

/// `gate-policy`.
pub fn gate_policy(effort: &str, risk: &str, autonomy: &str) -> Result<Answer, Failure> {
    let bad = |what: &str, word: &str, words: &str| {
        Failure::usage(format!("{word:?} is no {what}")).hint(format!("one of {words}"))
    };
    let effort =
        Effort::parse(effort).ok_or_else(|| bad("effort", effort, "turbo, fast, balanced, thorough"))?;
    let risk = Risk::parse(risk).ok_or_else(|| bad("risk", risk, "low, medium, high"))?;
    let autonomy = Autonomy::parse(autonomy)
        .ok_or_else(|| bad("autonomy", autonomy, "cautious, standard, confident, pure-vibe"))?;
    Ok(Answer::new(view::plain(&tables::gate_policy(effort, risk, autonomy)), 0))
}

/// A JSON file, or why it is none.
fn json(path: &Path) -> Result<Value, String> {
    let bytes = read_plain(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    serde_json::from_slice(&bytes).map_err(|error| format!("{} is not JSON: {error}", path.display()))
}

/// One bare word on stdout, or the reason on stderr and code 1.
fn bare(word: Result<String, String>) -> Result<Done, Failure> {
    match word {
        Ok(word) => {
            out::data(&word)?;
            Ok(Done::Passed)
        }
        Err(why) => {
            out::say(&format!("error: {why}"));
            Ok(Done::Shut)
        }
    }
}

/// `resolve-model`: the role's own model, otherwise the profile's.
pub fn model(role: &str, config: &Path, profiles: Option<&Path>) -> Result<Done, Failure> {
    bare(model_of(role, config, profiles))
}

fn model_of(role: &str, config: &Path, profiles: Option<&Path>) -> Result<String, String> {
    let config = json(config)?;
    let own = config.pointer(&format!("/model_overrides/{role}")).and_then(Value::as_str);
    if let Some(own) = own.filter(|own| !own.trim().is_empty()) {
        return one_word(own);
    }
    let profile = config.get("model_profile").and_then(Value::as_str).unwrap_or("quality");
    if let Some(path) = profiles {
        let table = json(path)?;
        let row =
            table.get(profile).ok_or_else(|| format!("{} has no profile {profile:?}", path.display()))?;
        let name = row.get(role).and_then(Value::as_str);
        return one_word(name.ok_or_else(|| format!("profile {profile:?} has no model for {role:?}"))?);
    }
    let class = tables::model_class(profile, role)
        .ok_or_else(|| format!("there is no profile {profile:?} for role {role:?}"))?;
    // The names agents written for this protocol know the three classes by.
    let name = match class {
        ModelClass::Large => "opus",
        ModelClass::Medium => "sonnet",
        ModelClass::Small => "haiku",
    };
    Ok(name.to_owned())
}

/// A name that fits on one line and into one argument.
fn one_word(name: &str) -> Result<String, String> {
    let name = name.trim();
    let bad = name.is_empty() || name.chars().any(|c| c.is_control() || c.is_whitespace());
    if bad { Err(format!("{name:?} is no model")) } else { Ok(name.to_owned()) }
}

/// `resolve-turns`: 0 is unlimited.
pub fn turns(role: &str, config: &Path, effort: Option<&str>) -> Result<Done, Failure> {
    bare(turns_of(role, config, effort))
}

fn turns_of(role: &str, config: &Path, effort: Option<&str>) -> Result<String, String> {
    let config = json(config)?;
    let word = effort.or_else(|| config.get("effort").and_then(Value::as_str)).unwrap_or("balanced");
    let effort = Effort::parse(word).ok_or_else(|| format!("{word:?} is no effort"))?;
    let number = |value: &Value| match value {
        Value::Bool(false) => Some(0),
        value => value.as_i64(),
    };
    let set = match config.pointer(&format!("/agent_max_turns/{role}")) {
        None | Some(Value::Null) => TurnsSet::Unset,
        Some(Value::Object(by_effort)) => match by_effort.get(effort.word()) {
            None => TurnsSet::Unset,
            Some(value) => TurnsSet::Exact(number(value).ok_or("agent_max_turns holds no number")?),
        },
        Some(value) => TurnsSet::Scaled(number(value).ok_or("agent_max_turns holds no number")?),
    };
    let turns = tables::turns(role, effort, set).ok_or_else(|| format!("there is no role {role:?}"))?;
    Ok(turns.to_string())
}
