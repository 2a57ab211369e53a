//! Settings of the repository's own files that reach beyond the sandbox, and limits that are looser than the user's
//! own. They count only once the user trusts them (`tribunal trust`).
//!
//! A clone is a stranger's, and its file comes after the user's own in the order of settings. Trust belongs to a value:
//! a changed value is not trusted. `tribunal-core` decides what needs trust; this file only takes the entries out.

use super::{Config, Entry, Key, Layer, Sources};
use std::collections::{BTreeMap, BTreeSet};
use tribunal_core::defence::{Defence, stands};
use tribunal_core::trust::{Reach, counts, is_widening, loosens, reach};
use tribunal_world::trusted;

/// The variable that trusts all settings of a repository by one digest, for CI machines that are new every time.
const VARIABLE: &str = "TRIBUNAL_TRUST";

/// How far beyond the sandbox an entry reaches.
fn reach_of(entry: &Entry) -> Option<Reach> {
    reach(&parts(&entry.key), &entry.value.to_string())
}

fn parts(key: &Key) -> Vec<&str> {
    key.parts().iter().map(String::as_str).collect()
}

fn number(value: &toml::Value) -> Option<u64> {
    value.as_integer().and_then(|number| u64::try_from(number).ok())
}

/// The numbers of the user's own file. The repository's file comes later and would win over them.
fn limits_of_the_user(entries: &[Entry]) -> BTreeMap<Key, Option<u64>> {
    let of_user = entries.iter().filter(|entry| entry.origin.layer == Layer::User);
    of_user.map(|entry| (entry.key.clone(), number(&entry.value))).collect()
}

/// The digest by which an entry is trusted; it covers the key and the value.
pub fn digest(entry: &Entry) -> String {
    trusted::digest(&entry.key.to_string(), &entry.value.to_string())
}

/// One digest for all entries, for the variable.
pub fn all_digest<'a>(entries: impl Iterator<Item = &'a Entry>) -> String {
    trusted::digest_of_all(&entries.map(digest).collect())
}

/// Removes the entries that do not count, and returns everything of the repository that reaches beyond the sandbox,
/// each with whether it is trusted.
///
/// Of an adapter or tool row, only the fields that widen the sandbox are removed. The rest runs inside the sandbox and
/// needs no trust.
pub(super) fn sift(entries: &mut Vec<Entry>, sources: &Sources) -> Vec<(Entry, bool)> {
    let of_repository = |entry: &Entry| matches!(entry.origin.layer, Layer::Project | Layer::Planning);
    let own = |entry: &&Entry| matches!(entry.origin.layer, Layer::Defaults | Layer::User);
    let without: BTreeMap<Key, toml::Value> =
        entries.iter().filter(own).map(|entry| (entry.key.clone(), entry.value.clone())).collect();
    // A value that holds without the repository's file needs no trust: it changes nothing.
    let adds = |entry: &Entry| !entry.is_nothing() && without.get(&entry.key) != Some(&entry.value);
    let limits = limits_of_the_user(entries);
    let is_looser = |entry: &Entry| {
        // The planning layer comes before the user's, so it cannot loosen a limit of theirs.
        entry.origin.layer == Layer::Project
            && limits
                .get(&entry.key)
                .is_some_and(|own| loosens(&parts(&entry.key), *own, number(&entry.value)))
    };
    let needs = |entry: &Entry| {
        of_repository(entry) && adds(entry) && (!counts(reach_of(entry), false) || is_looser(entry))
    };
    let mut needing: Vec<Entry> = entries
        .iter()
        .filter(|entry| of_repository(entry))
        .flat_map(|entry| std::iter::once(entry.clone()).chain(widening(entry)))
        .filter(needs)
        .collect();
    // In the order of the file, as a person reads it.
    needing.sort_by_key(|entry| entry.origin.place);
    let digests: BTreeSet<String> = needing.iter().map(digest).collect();
    let named = sources.env.iter().find(|(name, _)| name == VARIABLE).map(|(_, value)| value.trim());
    // One digest over everything: a single added value makes the variable worthless, which is the point.
    let all = named == Some(trusted::digest_of_all(&digests).as_str()) || !stands(Defence::Trust);
    let is_trusted = |entry: &Entry| all || sources.trusted.contains(&digest(entry));
    entries.retain(|entry| !needs(entry) || is_trusted(entry));
    for entry in entries.iter_mut().filter(|entry| of_repository(entry)) {
        let taken: Vec<Entry> = widening(entry).filter(|field| !is_trusted(field)).collect();
        if let Some(row) = entry.value.as_table_mut() {
            taken.iter().filter_map(|field| field.key.parts().last()).for_each(|name| _ = row.remove(name));
        }
    }
    needing.into_iter().map(|entry| (entry.clone(), is_trusted(&entry))).collect()
}

/// The fields of a row that widen the sandbox, each as an entry of its own.
fn widening(row: &Entry) -> impl Iterator<Item = Entry> + use<> {
    let fields = match row.key.parts() {
        [table, _] if table == "adapters" || table == "tools" => row.value.as_table().cloned(),
        _ => None,
    };
    let (key, origin) = (row.key.parts().to_vec(), row.origin.clone());
    fields.into_iter().flatten().filter(|(name, _)| is_widening(name)).map(move |(name, value)| {
        let parts: Vec<&str> = key.iter().map(String::as_str).chain([name.as_str()]).collect();
        Entry { key: Key::new(&parts), value, origin: origin.clone() }
    })
}

impl Config {
    /// One line about what does not count and why; `None` if everything counts.
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
}
