//! The protocol's tables as commands: the model and the turns of a role, and the gate policy.
//!
//! `resolve-model` and `resolve-turns` print a bare word, because scripts put it straight into a variable; an error
//! goes to stderr and leaves stdout empty.

use super::Answer;
use super::args::ResolveModel;
use crate::exit::Done;
use crate::failure::Failure;
use crate::out;
use serde_json::{Value, json};
use std::path::Path;
use tribunal_core::policy::Effort;
use tribunal_core::tables::{self, Autonomy, ModelClass, Risk, TurnsSet};
use tribunal_view::protocol as view;
use tribunal_world::read_plain;

/// The roles that have a model and turns.
const ROLES: [&str; 9] =
    ["lead", "dev", "qa", "scout", "debugger", "architect", "docs", "researcher", "reviewer"];

/// `gate-policy`: which gates hold for an effort, a risk and an autonomy.
pub fn gate_policy(effort: &str, risk: &str, autonomy: &str) -> Result<Answer, Failure> {
    let bad = |what: &str, word: &str, words: &str| {
        Failure::usage(format!("{word:?} is no {what}")).hint(format!("one of {words}"))
    };
    let effort =
        Effort::parse(effort).ok_or_else(|| bad("effort", effort, "turbo, fast, balanced, thorough"))?;
    // `assess-risk` answers with an object, and scripts pass it on as it is.
    let told = serde_json::from_str::<Value>(risk).ok();
    let risk = told.as_ref().and_then(|told| told.get("risk")?.as_str()).unwrap_or(risk);
    let risk = Risk::parse(risk).ok_or_else(|| bad("risk", risk, "low, medium, high"))?;
    let autonomy = Autonomy::parse(autonomy)
        .ok_or_else(|| bad("autonomy", autonomy, "cautious, standard, confident, pure-vibe"))?;
    Ok(Answer::new(view::plain(&tables::gate_policy(effort, risk, autonomy)), 0))
}

/// The content of a JSON file, or why it cannot be used.
fn read_json(path: &Path) -> Result<Value, String> {
    let bytes = read_plain(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    serde_json::from_slice(&bytes).map_err(|error| format!("{} is not JSON: {error}", path.display()))
}

/// Prints one bare word on stdout, or the reason on stderr with exit code 1.
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

/// `resolve-model`: the role's own model, otherwise the one of the profile.
pub fn model(args: &ResolveModel) -> Result<Done, Failure> {
    let words: Vec<&str> = args.words.iter().map(String::as_str).collect();
    let told = |role: &str, config: &str, profiles: Option<&&str>| {
        let model = model_of(role, Path::new(config), profiles.map(Path::new))?;
        Ok::<Value, String>(match args.with_cost {
            true => json!({ "cost_weight": cost_weight(&model), "model": model }),
            false => model.into(),
        })
    };
    let answer = match words.as_slice() {
        [config, rest @ ..] if args.all && rest.len() <= 1 => ROLES
            .iter()
            .map(|role| Ok(((*role).to_owned(), told(role, config, rest.first())?)))
            .collect::<Result<serde_json::Map<_, _>, String>>()
            .map(Value::Object),
        [role, config, rest @ ..] if !args.all => told(role, config, rest.first()),
        _ if args.all => return Err(Failure::usage("--all needs CONFIG [PROFILES]")),
        _ => return Err(Failure::usage("it needs ROLE CONFIG [PROFILES]")),
    };
    bare(answer.map(|answer| answer.as_str().map_or_else(|| answer.to_string(), str::to_owned)))
}

/// How expensive a model is, as the original counts it; `None` for other names.
fn cost_weight(model: &str) -> Option<u32> {
    match model {
        "opus" => Some(100),
        "sonnet" => Some(20),
        "haiku" => Some(2),
        _ => None,
    }
}

fn model_of(role: &str, config: &Path, profiles: Option<&Path>) -> Result<String, String> {
    let config = read_json(config)?;
    let own = config.pointer(&format!("/model_overrides/{role}")).and_then(Value::as_str);
    // An empty override counts as none.
    if let Some(own) = own.filter(|own| !own.trim().is_empty()) {
        return one_word(own);
    }
    let profile = config.get("model_profile").and_then(Value::as_str).unwrap_or("quality");
    if let Some(path) = profiles {
        let table = read_json(path)?;
        let row =
            table.get(profile).ok_or_else(|| format!("{} has no profile {profile:?}", path.display()))?;
        let name = row.get(role).and_then(Value::as_str);
        return one_word(name.ok_or_else(|| format!("profile {profile:?} has no model for {role:?}"))?);
    }
    let class = tables::model_class(profile, role)
        .ok_or_else(|| format!("there is no profile {profile:?} for role {role:?}"))?;
    // Agents that were written for this protocol know the three classes by these names.
    let name = match class {
        ModelClass::Large => "opus",
        ModelClass::Medium => "sonnet",
        ModelClass::Small => "haiku",
    };
    Ok(name.to_owned())
}

/// Checks that a name fits on one line and into one argument.
fn one_word(name: &str) -> Result<String, String> {
    let name = name.trim();
    let bad = name.is_empty() || name.chars().any(|c| c.is_control() || c.is_whitespace());
    if bad { Err(format!("{name:?} is no model")) } else { Ok(name.to_owned()) }
}

/// The value for an effort; the original's other words for the efforts are accepted, too.
fn named(by_effort: &serde_json::Map<String, Value>, effort: Effort) -> Option<&Value> {
    let other = match effort {
        Effort::Turbo => "low",
        Effort::Fast | Effort::Balanced => "medium",
        Effort::Thorough | Effort::Max => "high",
    };
    by_effort.get(effort.word()).or_else(|| by_effort.get(other))
}

/// `resolve-turns`: prints the turns of a role; 0 means unlimited.
pub fn turns(role: &str, config: &Path, effort: Option<&str>) -> Result<Done, Failure> {
    bare(turns_of(role, config, effort))
}

fn turns_of(role: &str, config: &Path, effort: Option<&str>) -> Result<String, String> {
    let config = read_json(config)?;
    let word = effort.or_else(|| config.get("effort").and_then(Value::as_str)).unwrap_or("balanced");
    let effort = Effort::parse(word).ok_or_else(|| format!("{word:?} is no effort"))?;
    let number = |value: &Value| match value {
        Value::Bool(false) => Some(0),
        Value::String(text) if text.trim().eq_ignore_ascii_case("false") => Some(0),
        Value::String(text) => text.trim().parse().ok(),
        value => value.as_i64(),
    };
    let set = match config.pointer(&format!("/agent_max_turns/{role}")) {
        None | Some(Value::Null) => TurnsSet::Unset,
        // A value per effort is exact; a single number is scaled by the effort.
        Some(Value::Object(by_effort)) => match named(by_effort, effort) {
            None => TurnsSet::Unset,
            Some(value) => TurnsSet::Exact(number(value).ok_or("agent_max_turns holds no number")?),
        },
        Some(value) => TurnsSet::Scaled(number(value).ok_or("agent_max_turns holds no number")?),
    };
    let turns = tables::turns(role, effort, set).ok_or_else(|| format!("there is no role {role:?}"))?;
    Ok(turns.to_string())
}
