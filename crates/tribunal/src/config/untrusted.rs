//! Settings of the repository's own files that reach beyond the sandbox. A clone is a stranger's: they count once the user
//! trusts them (`tribunal trust`), and a changed value is not trusted. The same holds for limits that are looser than the
//! user's own. What needs trust is decided in `tribunal-core`.

use super::{Config, Entry, Key, Layer, Sources};
use std::collections::{BTreeMap, BTreeSet};
use tribunal_core::defence::{Defence, stands};
use tribunal_core::trust::{Reach, counts, is_widening, loosens, reach};
use tribunal_world::trusted;

/// Trusts the settings with this digest, all at once: for machines that are new every time.
const VARIABLE: &str = "TRIBUNAL_TRUST";

/// How far an entry reaches.
fn reach_of(entry: &Entry) -> Option<Reach> {
    reach(&parts(&entry.key), &entry.value.to_string())
}

fn parts(key: &Key) -> Vec<&str> {
    key.parts().iter().map(String::as_str).collect()
}

fn number(value: &toml::Value) -> Option<u64> {
    value.as_integer().and_then(|number| u64::try_from(number).ok())
}

/// What the user's own file sets, as numbers. The repository's file comes later and would win.
fn limits_of_the_user(entries: &[Entry]) -> BTreeMap<Key, Option<u64>> {
    let of_user = entries.iter().filter(|entry| entry.origin.layer == Layer::User);
    of_user.map(|entry| (entry.key.clone(), number(&entry.value))).collect()
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
/// is trusted. Of a row, only the fields that widen the sandbox are taken out: the rest runs inside of it.
pub(super) fn sift(entries: &mut Vec<Entry>, sources: &Sources) -> Vec<(Entry, bool)> {
    let of_repository = |entry: &Entry| matches!(entry.origin.layer, Layer::Project | Layer::Planning);
    let own = |entry: &&Entry| matches!(entry.origin.layer, Layer::Defaults | Layer::User);
    let without: BTreeMap<Key, toml::Value> =
        entries.iter().filter(own).map(|entry| (entry.key.clone(), entry.value.clone())).collect();
    // What holds without the repository's word needs no trust.
    let adds = |entry: &Entry| !entry.is_nothing() && without.get(&entry.key) != Some(&entry.value);
    let limits = limits_of_the_user(entries);
    let is_looser = |entry: &Entry| {
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
    needing.sort_by_key(|entry| entry.origin.place);
    let digests: BTreeSet<String> = needing.iter().map(digest).collect();
    let named = sources.env.iter().find(|(name, _)| name == VARIABLE).map(|(_, value)| value.trim());
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
}
