//! Settings of the repository's own files that reach beyond the sandbox. A clone is a stranger's: they count once the user
//! trusts them (`tribunal trust`), and a changed value is not trusted. What needs trust is decided in `tribunal-core`.

use super::{Config, Entry, Key, Layer, Sources};
use crate::failure::Failure;
use std::collections::{BTreeMap, BTreeSet};
use tribunal_core::defence::{Defence, stands};
use tribunal_core::trust::{Reach, counts, reach};
use tribunal_engine::real::trusted;

/// Trusts the settings with this digest, all at once: for machines that are new every time.
const VARIABLE: &str = "TRIBUNAL_TRUST";

/// How far an entry reaches.
fn reach_of(entry: &Entry) -> Option<Reach> {
    let key: Vec<&str> = entry.key.parts().iter().map(String::as_str).collect();
    let fields = entry.value.as_table().map(|table| table.keys().map(String::as_str).collect());
    let fields: Vec<&str> = fields.unwrap_or_default();
    reach(&key, &entry.value.to_string(), &fields)
}

/// The digest by which an entry is trusted.
pub fn digest(entry: &Entry) -> String {
    trusted::digest(&entry.key.to_string(), &entry.value.to_string())
}

/// The digest of all of them.
pub fn all_digest<'a>(entries: impl Iterator<Item = &'a Entry>) -> String {
    trusted::digest_of_all(&entries.map(digest).collect())
}

/// Takes out what does not count, and gives everything of the repository's that reaches beyond the sandbox, with whether it
/// is trusted.
pub(super) fn sift(entries: &mut Vec<Entry>, sources: &Sources) -> Vec<(Entry, bool)> {
    let of_repository = |entry: &Entry| matches!(entry.origin.layer, Layer::Project | Layer::Planning);
    let own = |entry: &&Entry| matches!(entry.origin.layer, Layer::Defaults | Layer::User);
    let without: BTreeMap<Key, toml::Value> =
        entries.iter().filter(own).map(|entry| (entry.key.clone(), entry.value.clone())).collect();
    // What holds without the repository's word needs no trust.
    let adds = |entry: &Entry| !entry.is_nothing() && without.get(&entry.key) != Some(&entry.value);
    let needs = |entry: &&Entry| of_repository(entry) && adds(entry) && !counts(reach_of(entry), false);
    let needing: BTreeSet<String> = entries.iter().filter(needs).map(digest).collect();
    let named = sources.env.iter().find(|(name, _)| name == VARIABLE).map(|(_, value)| value.trim());
    let all = named == Some(trusted::digest_of_all(&needing).as_str()) || !stands(Defence::Trust);
    let mut found = Vec::new();
    entries.retain(|entry| {
        if !needs(&entry) {
            return true;
        }
        let trusted = all || sources.trusted.contains(&digest(entry));
        found.push((entry.clone(), trusted));
        trusted
    });
    found.sort_by_key(|(entry, _)| entry.origin.place);
    found
}

impl Config {
    /// What does not count and why, in one line; none where everything does.
    pub fn untrusted_note(&self) -> Option<String> {
        let first = self.untrusted.first()?;
        let more = match self.untrusted.len() - 1 {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        };
        Some(format!(
            "{}: `{}` is not used{more}, because you have not trusted this repository: `tribunal trust --show` lists what it sets, `tribunal trust` trusts it",
            first.origin, first.key
        ))
    }

    /// Refuses to work with other agents than the repository means: where it says what they are, and nobody trusts that.
    pub fn agents_are_trusted(&self) -> Result<(), Failure> {
        let roles = self.settings.agents.roles.values().filter_map(|role| role.adapter.as_deref());
        let adapters: Vec<&str> =
            roles.chain([self.settings.agents.default.as_str()]).filter(|name| !name.is_empty()).collect();
        let used = |key: &Key| match key.parts() {
            [table, name] if table == "adapters" => adapters.contains(&name.as_str()),
            _ => !adapters.is_empty(),
        };
        let missing = |entry: &&Entry| reach_of(entry) == Some(Reach::Agents) && used(&entry.key);
        let Some(entry) = self.untrusted.iter().find(missing) else { return Ok(()) };
        let text = format!(
            "{}: `{}` says what an agent is, and you have not trusted this repository; nothing was begun",
            entry.origin, entry.key
        );
        Err(Failure::config(text)
            .hint("`tribunal trust --show` lists what it sets, `tribunal trust` trusts it; your own file needs no trust"))
    }
}
