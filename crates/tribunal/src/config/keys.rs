//! Which keys there are and what they may hold. The keys themselves come from the defaults file; this file has only the
//! rules that a default value cannot show, such as choices and ranges.
//!
//! To add a setting, add it to `defaults.toml`: its name and type are known from there. Add it here only if not every
//! value of its type is allowed.

use super::source::{Entry, Layer, Problem};
use std::collections::BTreeMap;
use std::fmt;
use toml::Value;

/// A key of the configuration, as its parts, outermost first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key(Vec<String>);

impl Key {
    /// The key of the whole file, without any part.
    pub fn root() -> Key {
        Key(Vec::new())
    }

    /// A key from its parts.
    pub fn new(parts: &[impl AsRef<str>]) -> Key {
        Key(parts.iter().map(|part| part.as_ref().to_owned()).collect())
    }

    /// Parses a key such as `run.effort`; a part in double quotes may hold dots.
    pub fn parse(text: &str) -> Option<Key> {
        let mut parts = vec![String::new()];
        let mut quoted = false;
        for c in text.trim().chars() {
            match c {
                // Names of tools and adapters may hold dots.
                '"' => quoted = !quoted,
                '.' if !quoted => parts.push(String::new()),
                c => parts.last_mut()?.push(c),
            }
        }
        (!quoted && parts.iter().all(|part| !part.is_empty())).then_some(Key(parts))
    }

    /// The parts of the key, outermost first.
    pub fn parts(&self) -> &[String] {
        &self.0
    }

    /// The key with one more part.
    pub fn join(&self, part: &str) -> Key {
        let mut parts = self.0.clone();
        parts.push(part.to_owned());
        Key(parts)
    }

    /// True for a setting that users name themselves: its value is one value, however deep it is.
    ///
    /// A later layer replaces such a value whole. Merging two commands or two adapter rows key by key would make one
    /// that nobody wrote.
    pub fn is_whole(&self) -> bool {
        match self.0.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["checks", "commands", _] | ["adapters" | "tools", _] => true,
            ["agents", "roles", _, field] => ROLE_FIELDS.contains(&field),
            _ => false,
        }
    }

    /// True for a table whose keys users name themselves.
    fn is_open_table(&self) -> bool {
        let parts: Vec<&str> = self.0.iter().map(String::as_str).collect();
        matches!(
            parts[..],
            [] | ["checks", "commands"]
                | ["adapters" | "tools"]
                | ["agents", "roles"]
                | ["agents", "roles", _]
        )
    }
}

const ROLE_FIELDS: [&str; 5] = ["adapter", "model", "turns", "args", "personality"];

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = |part: &&String| part.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b));
        for (at, part) in self.0.iter().enumerate() {
            let dot = if at > 0 { "." } else { "" };
            match Some(part).filter(plain) {
                Some(part) => write!(f, "{dot}{part}")?,
                // A key may come from a stranger's file: no control character of it reaches the terminal.
                None => write!(f, "{dot}\"{}\"", tribunal_view::plain::line(part).replace('"', "'"))?,
            }
        }
        Ok(())
    }
}

/// The words a key may hold; `None` if it may hold any.
fn choices(key: &str) -> Option<&'static [&'static str]> {
    const WHEN: &[&str] = &["always", "on_request", "never"];
    Some(match key {
        "run.effort" => &["turbo", "fast", "balanced", "thorough", "max", "low", "medium", "high"],
        "run.autonomy" => &["cautious", "standard", "confident", "pure-vibe"],
        "run.land" => &["group", "each"],
        "run.plan_gate" => &["all", "each"],
        "run.prefer_teams" => &["always", "when_parallel", "auto", "never"],
        "plan.review" | "qa.review" | "phase.review" | "chain.review" => WHEN,
        "task.on_no_verdict" => &["escalate", "checks_only"],
        "phase.polish_scope" => &["changed", "dependents", "directory"],
        "chain.mode" => &["hotfix", "quick", "standard", "full"],
        "chain.on_exhausted" => &["block", "warn"],
        "gates.errors" => &["stop", "continue"],
        "git.planning" => &["manual", "commit"],
        "git.push" => &["never", "after_phase"],
        "agents.sandbox" => &["auto", "required", "off"],
        "agents.profile" => &["quality", "balanced", "budget"],
        _ => return None,
    })
}

/// The least and the largest number a key may hold.
///
/// A limit is there to catch a typing mistake early, not to decide how much is sensible; most numbers may be any that
/// fits.
fn range(key: &str) -> (i64, i64) {
    match key {
        "run.parallel_max" => (1, 1024),
        "run.attempts_max" => (1, 10),
        "agents.parts_max" => (1, 1000),
        "run.landing_rounds" => (0, 20),
        "plan.rounds_max" | "qa.rounds_max" | "phase.rounds_max" => (1, 100),
        "task.rounds_max" => (0, 100),
        "task.iterations_max" | "task.stale_limit" | "plan.tasks_max" => (1, 1000),
        "checks.timeout_s" | "agents.builder_timeout_s" | "agents.reviewer_timeout_s" => (1, 604_800),
        "gates.lease_ttl_s" => (1, 604_800),
        "run.grace_s" => (0, 3600),
        "run.on_timeout_s" => (1, 3600),
        "run.backoff_ms" | "run.backoff_max_ms" => (0, 3_600_000),
        "run.keep_days" => (0, 100_000),
        _ => (0, i64::from(u32::MAX)),
    }
}

/// The known keys with their defaults.
pub(super) struct Known(BTreeMap<Key, Value>);

impl Known {
    pub(super) fn from_defaults(entries: &[Entry]) -> Known {
        let settings = |entry: &&Entry| entry.origin.layer == Layer::Defaults && !entry.is_nothing();
        let defaults = entries.iter().filter(settings);
        Known(defaults.map(|entry| (entry.key.clone(), entry.value.clone())).collect())
    }

    /// Checks one entry, and returns what is wrong with it.
    ///
    /// An unknown key is an error, not a warning: a misspelt limit that is silently ignored is a limit that does not
    /// hold.
    pub(super) fn check(&self, entry: &Entry) -> Option<Problem> {
        match self.0.get(&entry.key) {
            Some(default) => self.check_value(entry, default),
            // Names that users choose cannot be in the defaults.
            None if entry.key.is_whole() => check_open(entry),
            // An empty table sets nothing, so it may stand there.
            None if entry.is_nothing() && self.is_table(&entry.key) => None,
            None => Some(self.unknown(entry)),
        }
    }

    fn check_value(&self, entry: &Entry, default: &Value) -> Option<Problem> {
        let key = entry.key.to_string();
        if !default.same_type(&entry.value) {
            return Some(wrong_type(entry, default.type_str()));
        }
        match &entry.value {
            Value::String(word) => {
                // A key without choices may hold any word, so there is no problem.
                let choices = choices(&key).filter(|choices| !choices.contains(&word.as_str()))?;
                let problem = Problem::at(entry, format!("`{key}` cannot be {}", quoted(word)));
                Some(problem.hint(format!("one of {}", choices.join(", "))))
            }
            Value::Integer(number) => {
                let (least, most) = range(&key);
                let outside = !(least..=most).contains(number);
                outside
                    .then(|| Problem::at(entry, format!("`{key}` must be {least} to {most}, not {number}")))
            }
            Value::Array(items) => {
                let strange = items.iter().find(|item| !item.is_str())?;
                Some(Problem::at(
                    entry,
                    format!("`{key}` is a list of strings, not of {}", strange.type_str()),
                ))
            }
            _ => None,
        }
    }

    fn unknown(&self, entry: &Entry) -> Problem {
        let key = entry.key.to_string();
        // `run = "fast"` is a table taken for a value: another mistake than a misspelt key.
        if self.is_table(&entry.key) {
            let found = entry.value.type_str();
            return Problem::at(
                entry,
                format!("`{key}` is a table of settings, not {} {found}", article(found)),
            );
        }
        let problem = Problem::at(entry, format!("there is no setting `{key}`"));
        match self.nearest(&key) {
            Some(nearest) => problem.hint(format!("did you mean `{nearest}`?")),
            None => problem.hint("`tribunal config show` lists all settings".to_owned()),
        }
    }

    fn is_table(&self, key: &Key) -> bool {
        key.is_open_table() || self.0.keys().any(|known| known.parts().starts_with(key.parts()))
    }

    fn nearest(&self, key: &str) -> Option<String> {
        let leaf = key.rsplit('.').next().unwrap_or(key);
        let distance = |known: &str| {
            let whole = edits(key, known);
            let last = known.rsplit('.').next().unwrap_or(known);
            // The right name in the wrong table is a better guess than a similar name.
            if last == leaf { whole.min(1) } else { whole }
        };
        let (best, known) = self.0.keys().map(ToString::to_string).map(|k| (distance(&k), k)).min()?;
        // Beyond a quarter of its letters a guess is more confusing than none.
        (best <= 1 + key.len() / 4).then_some(known)
    }
}

fn check_open(entry: &Entry) -> Option<Problem> {
    let parts: Vec<&str> = entry.key.parts().iter().map(String::as_str).collect();
    let strings = |value: &Value| value.as_array().is_some_and(|items| items.iter().all(Value::is_str));
    match parts[..] {
        ["checks", "commands", _] if !strings(&entry.value) => Some(wrong_type(entry, "list of strings")),
        ["checks", "commands", name] if entry.value.as_array().is_some_and(Vec::is_empty) => {
            Some(Problem::at(entry, format!("the command of check {} is empty", quoted(name))))
        }
        ["adapters" | "tools", _] if !entry.value.is_table() => Some(wrong_type(entry, "table")),
        ["agents", "roles", _, "args"] if !strings(&entry.value) => {
            Some(wrong_type(entry, "list of strings"))
        }
        ["agents", "roles", _, "adapter" | "model" | "personality"] if !entry.value.is_str() => {
            Some(wrong_type(entry, "string"))
        }
        ["agents", "roles", _, "turns"] => match entry.value.as_integer() {
            Some(0..=100_000) => None,
            _ => Some(wrong_type(entry, "integer from 0 to 100000")),
        },
        _ => None,
    }
}

fn wrong_type(entry: &Entry, expected: &str) -> Problem {
    let found = entry.value.type_str();
    Problem::at(
        entry,
        format!("`{}` is {} {expected}, not {} {found}", entry.key, article(expected), article(found)),
    )
}

fn article(word: &str) -> &'static str {
    if word.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" }
}

fn quoted(word: &str) -> String {
    format!("\"{}\"", tribunal_view::plain::clipped(word, 60))
}

/// The edit distance of two short words.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut before = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let cost = before + usize::from(ca != *cb);
            before = row[j + 1];
            row[j + 1] = cost.min(row[j] + 1).min(before + 1);
        }
    }
    row[b.len()]
}
