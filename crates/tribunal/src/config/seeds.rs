//! Reads the planning folder's own `config.json` and `settings.json`: keys that other tools of the same protocol use,
//! as a lower layer.
//!
//! These files belong to other tools, so a key that means nothing here gets a note and is never an error. A known key
//! with a wrong value is an error like anywhere else.

use super::keys::Key;
use super::source::{Entry, Files, Layer, Origin, Problem, place};
use serde_json::Value as Json;
use std::path::Path;
use toml::Value;

/// Reads both files, in order; the second wins.
pub fn read(files: Files<'_>, planning: &Path, notes: &mut Vec<String>) -> Vec<Result<Vec<Entry>, Problem>> {
    NAMES.iter().filter_map(|name| file(files, &planning.join(name), notes)).collect()
}

/// The names of the files, in the order they are read.
pub const NAMES: [&str; 2] = ["config.json", "settings.json"];

fn file(files: Files<'_>, path: &Path, notes: &mut Vec<String>) -> Option<Result<Vec<Entry>, Problem>> {
    let found = match files.read(path, Layer::Planning)? {
        Ok(found) => found,
        Err(problem) => return Some(Err(problem)),
    };
    // Editors on Windows write a byte order mark, which is not JSON.
    let text = found.text.strip_prefix('\u{feff}').unwrap_or(&found.text);
    let origin = |place| Origin {
        layer: Layer::Planning,
        file: Some(path.to_owned()),
        place,
        name: None,
        at: found.at.clone(),
    };
    let json: Json = match serde_json::from_str(text) {
        Ok(json) => json,
        Err(error) => {
            let entry = Entry {
                key: Key::root(),
                value: Value::Boolean(false),
                origin: origin(Some((error.line(), error.column()))),
            };
            let words = error.to_string();
            // The place is in the origin; serde's own words for it would say it twice.
            let words = words.split(" at line ").next().unwrap_or_default().to_owned();
            return Some(Err(Problem::at(&entry, format!("is not JSON: {words}"))));
        }
    };
    let mut reading = Reading { entries: Vec::new(), off: Vec::new(), off_at: None, strange: Vec::new() };
    for (name, value) in json.as_object().into_iter().flatten() {
        let at = Some(key_place(text, name));
        reading.key(name, value, &origin(at));
    }
    if let Some(origin) = reading.off_at.take() {
        let off = reading.off.iter().map(|gate| Value::String(gate.clone())).collect();
        reading.entries.push(Entry { key: Key::new(&["gates", "off"]), value: Value::Array(off), origin });
    }
    if !reading.strange.is_empty() {
        let names = reading.strange.join(", ");
        notes.push(format!("{}: these keys mean nothing to Tribunal: {names}", super::shown(path)));
    }
    Some(Ok(reading.entries))
}

/// Line and column of a key: its first mention that a colon follows.
///
/// The JSON parser keeps no places, so this is a search, and a nested key of the same name may be found instead. It
/// only serves messages.
fn key_place(text: &str, name: &str) -> (usize, usize) {
    let quoted = Json::String(name.to_owned()).to_string();
    let is_key = |at: &usize| text[at + quoted.len()..].trim_start().starts_with(':');
    let at = text.match_indices(&quoted).map(|(at, _)| at).find(is_key).unwrap_or(0);
    place(text, at)
}

struct Reading {
    entries: Vec<Entry>,
    off: Vec<String>,
    off_at: Option<Origin>,
    strange: Vec<String>,
}

impl Reading {
    fn key(&mut self, name: &str, value: &Json, origin: &Origin) {
        match (name, value) {
            ("review", Json::Object(inner)) => {
                inner.iter().for_each(|(key, value)| self.key(&format!("review.{key}"), value, origin));
            }
            ("model_overrides", Json::Object(roles)) => {
                roles.iter().for_each(|(role, value)| self.role(role, "model", value, origin));
            }
            ("agent_max_turns", Json::Object(roles)) => {
                roles.iter().for_each(|(role, value)| self.role(role, "turns", &unlimited(value), origin));
            }
            // The other tools switch each gate by a key of its own; here the gates that are off are one list, collected
            // in `off`.
            (switch, Json::Bool(on)) if switch.starts_with("v2_") || switch.starts_with("v3_") => {
                if !on {
                    self.off.push(switch[3..].to_owned());
                    self.off_at = Some(origin.clone());
                }
            }
            _ => match here(name) {
                Some(key) => self.put(Key::new(&key), translated(name, value), origin),
                None => self.strange.push(name.to_owned()),
            },
        }
    }

    fn role(&mut self, role: &str, field: &str, value: &Json, origin: &Origin) {
        self.put(Key::new(&["agents", "roles", role, field]), value.clone(), origin);
    }

    fn put(&mut self, key: Key, value: Json, origin: &Origin) {
        // TOML has no null. Such a value becomes a string, and the check of the key refuses it as one.
        let value = Value::try_from(&value).unwrap_or_else(|_| Value::String(value.to_string()));
        self.entries.push(Entry { key, value, origin: origin.clone() });
    }
}

/// The key of ours for a key of theirs.
fn here(name: &str) -> Option<[&'static str; 2]> {
    Some(match name {
        "review_gate" => ["plan", "review"],
        "review_max_cycles" => ["plan", "rounds_max"],
        "qa_gate" => ["qa", "review"],
        "qa_max_cycles" => ["qa", "rounds_max"],
        "review.max_cycles" => ["phase", "rounds_max"],
        "review.polish" => ["phase", "polish"],
        "review.polish_scope" => ["phase", "polish_scope"],
        "mode" => ["chain", "mode"],
        "effort" => ["run", "effort"],
        "autonomy" => ["run", "autonomy"],
        "prefer_teams" => ["run", "prefer_teams"],
        "max_tasks_per_plan" => ["plan", "tasks_max"],
        "planning_tracking" => ["git", "planning"],
        "auto_push" => ["git", "push"],
        "plain_summary" => ["run", "plain_summary"],
        "model_profile" => ["agents", "profile"],
        "task_lease_ttl_secs" => ["gates", "lease_ttl_s"],
        "command_timeout_ms" => ["checks", "timeout_s"],
        _ => return None,
    })
}

/// The value of theirs in our words and units.
fn translated(name: &str, value: &Json) -> Json {
    match (name, value.as_str(), value.as_i64()) {
        // Theirs counts fixes, ours counts reviews: there is one review more.
        ("qa_max_cycles", _, Some(n)) => n.saturating_add(1).into(),
        // Rounded up: a limit of half a second must not become none.
        ("command_timeout_ms", _, Some(ms)) => (ms.max(0) as u64).div_ceil(1000).into(),
        ("mode", Some(word), _) => word.to_lowercase().into(),
        ("planning_tracking", Some("ignore"), _) => "manual".into(),
        ("auto_push", Some("always"), _) => "after_phase".into(),
        _ => value.clone(),
    }
}

/// Our 0 for their words for "unlimited": 0, false and negative numbers.
fn unlimited(value: &Json) -> Json {
    match value {
        Json::Bool(false) => 0.into(),
        Json::Number(n) if n.as_i64().is_some_and(|n| n < 0) => 0.into(),
        other => other.clone(),
    }
}
