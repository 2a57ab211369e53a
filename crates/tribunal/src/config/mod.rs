//! Configuration: ordered sources, one explicit merge, and the origin of every value.
//!
//! Files and the environment are read here, once at the start; nothing else in the program looks at either for
//! settings. The order of the layers is decided in `look` alone. Settings of the repository pass through
//! `untrusted::sift` before the merge, so no later code has to ask whether a value is trusted.

mod keys;
mod seeds;
mod source;
mod untrusted;

use crate::args::SetArgs;
use crate::failure::Failure;
use crate::place::Place;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use tribunal_engine::settings::Settings;
use tribunal_world::{Project, SettingsBase, SetupError, Target, trusted};

pub use keys::Key;
use source::Files;
pub use source::{Entry, Layer, Origin, Problem};
pub use untrusted::{all_digest, digest};

/// The compiled-in defaults: every key, with its comment.
///
/// This file is also the list of known keys and the source of the documentation, so a setting exists only if it is in
/// there. The keys whose comment begins with a star are what `tribunal init` writes.
pub const DEFAULTS: &str = include_str!("../defaults.toml");

/// The name of the project's own settings file.
pub const PROJECT_FILE: &str = "tribunal.toml";

/// Where settings may come from, gathered by the caller so that tests need no real environment.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The project's root, if there is a project.
    pub root: Option<PathBuf>,
    /// The planning folder of the project.
    pub planning: Option<PathBuf>,
    /// The user's own settings file.
    pub user: Option<PathBuf>,
    /// Variables whose names begin with `TRIBUNAL_`.
    pub env: Vec<(String, String)>,
    /// Flags: the key, the value as written, and the flag's name.
    pub flags: Vec<(String, String, String)>,
    /// What a review reads instead of the files in the worktree.
    pub base: Option<SettingsBase>,
    /// Digests of the settings that the user trusts.
    pub trusted: BTreeSet<String>,
}

/// A value and the place it came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    pub value: toml::Value,
    pub origin: Origin,
}

/// The settings that hold for a command.
///
/// `settings` is what the engine uses; `values` is kept beside it for messages, because a refusal should name the line
/// of the setting at fault.
#[derive(Clone, Debug)]
pub struct Config {
    pub settings: Settings,
    /// The same values by key, with their origins.
    pub values: BTreeMap<Key, Value>,
    /// Settings of the repository that reach beyond the sandbox and that the user has not trusted. They are not in
    /// `settings`.
    pub untrusted: Vec<Entry>,
}

impl Config {
    /// The failure for a run that could not begin, with the place of the setting at fault if it is known.
    pub fn located(&self, error: SetupError) -> Failure {
        let key = match &error {
            // Only this refusal is about one setting; the others have no place in a file.
            SetupError::Roster { key, .. } => Key::parse(key),
            _ => None,
        };
        match key.and_then(|key| self.values.get(&key)) {
            Some(value) => Failure::config(format!("{}: {error}", value.origin)),
            None => error.into(),
        }
    }
}

/// Every value that could be read, and what is wrong with the rest.
///
/// For commands that show the configuration. A command that acts on it uses `Config`, which does not exist if anything
/// is wrong.
pub struct Look {
    /// The values by key, with their origins.
    pub values: BTreeMap<Key, Value>,
    /// Notes for a person, such as keys of other tools that mean nothing here.
    pub notes: Vec<String>,
    /// Settings of the repository that reach beyond the sandbox, each with whether the user trusts it.
    pub reaching: Vec<(Entry, bool)>,
    /// All problems as one failure; `None` if there are none.
    pub wrong: Option<Failure>,
}

/// Reads all layers, lowest first, and merges them. Any problem in any layer is an error.
pub fn load(sources: &Sources) -> Result<Config, Failure> {
    let Look { values, wrong, reaching, .. } = look(sources);
    let untrusted = reaching.into_iter().filter(|(_, trusted)| !trusted).map(|(entry, _)| entry).collect();
    match wrong {
        Some(failure) => Err(failure),
        None => Ok(Config { settings: settings(&values)?, values, untrusted }),
    }
}

/// Reads all layers, lowest first, and merges what can be used of them.
fn look(sources: &Sources) -> Look {
    let mut problems = Vec::new();
    let mut notes = Vec::new();
    let files = Files { root: sources.root.as_deref(), base: sources.base.as_ref() };
    let mut layers = vec![source::text(DEFAULTS, Layer::Defaults, None, None)];
    if let Some(planning) = &sources.planning {
        layers.extend(seeds::read(files, planning, &mut notes));
    }
    // `Files::default()` has no base: the user's own file is read from the disk even for a review.
    layers.extend(sources.user.as_deref().and_then(|path| Files::default().settings(path, Layer::User)));
    let project = sources.root.as_deref().map(|root| root.join(PROJECT_FILE));
    layers.extend(project.as_deref().and_then(|path| files.settings(path, Layer::Project)));
    layers.push(source::environment(&sources.env));
    layers.push(source::flags(&sources.flags));

    let mut entries = Vec::new();
    for layer in layers {
        match layer {
            Ok(layer) => entries.extend(layer),
            Err(problem) => problems.push(problem),
        }
    }
    // The defaults are the first layer and are checked like the others, so a default that breaks its own rule shows at
    // once.
    let known = keys::Known::from_defaults(&entries);
    entries.retain(|entry| match known.check(entry) {
        Some(problem) => {
            problems.push(problem);
            false
        }
        None => true,
    });
    let wrong = (!problems.is_empty()).then(|| Problem::failure(&problems));
    // After the check and before the merge: once merged, a value no longer tells which layer it would have replaced.
    let reaching = untrusted::sift(&mut entries, sources);
    Look { values: merge(entries), notes, reaching, wrong }
}

/// Merges entries key by key; a later layer wins.
fn merge(entries: Vec<Entry>) -> BTreeMap<Key, Value> {
    let mut values: BTreeMap<Key, Value> = BTreeMap::new();
    for entry in entries.into_iter().filter(|entry| !entry.is_nothing()) {
        values.insert(entry.key, Value { value: entry.value, origin: entry.origin });
    }
    values
}

fn settings(values: &BTreeMap<Key, Value>) -> Result<Settings, Failure> {
    let mut root = toml::Table::new();
    for section in ["run", "plan", "task", "qa", "phase", "chain", "gates", "checks", "git", "agents"] {
        root.insert(section.to_owned(), toml::Value::Table(toml::Table::new()));
    }
    for (key, value) in values {
        put(&mut root, key.parts(), value.value.clone());
    }
    Settings::deserialize(toml::Value::Table(root)).map_err(|error| {
        let message = format!("the settings do not fit together: {}", error.message());
        Failure::config(message).hint("`tribunal config show --origin` says where each value comes from")
    })
}

fn put(table: &mut toml::Table, parts: &[String], value: toml::Value) {
    let Some((first, rest)) = parts.split_first() else { return };
    if rest.is_empty() {
        table.insert(first.clone(), value);
        return;
    }
    let inner = table.entry(first.clone()).or_insert_with(|| toml::Value::Table(toml::Table::new()));
    if let toml::Value::Table(inner) = inner {
        put(inner, rest, value);
    }
}

/// The user's own file: `$XDG_CONFIG_HOME/tribunal/config.toml`, else below `~/.config`.
pub fn user_file(env: impl Fn(&str) -> Option<std::ffi::OsString>) -> Option<PathBuf> {
    // A relative value would be taken from the working directory, which is a stranger's repository. The XDG rules
    // ignore it, too.
    let absolute = |path: PathBuf| path.is_absolute().then_some(path);
    let xdg = env("XDG_CONFIG_HOME").map(PathBuf::from).and_then(absolute);
    let home = || env("HOME").map(PathBuf::from).and_then(absolute).map(|home| home.join(".config"));
    xdg.or_else(home).map(|dir| dir.join("tribunal").join("config.toml"))
}

/// The settings for a command: its flags, this environment and this place.
pub fn here(place: Option<&Place>, set: &SetArgs) -> Result<Config, Failure> {
    load(&sources(place, set)?)
}

/// The settings for a review, and a note if they are not those of the worktree.
///
/// Nobody sets the rules they are judged by. If the change or the checked-out branch has settings of its own, the
/// settings of the commit it began from count.
pub fn for_review(
    place: &Place,
    project: &Project,
    set: &SetArgs,
    target: &Target,
) -> Result<(Config, Option<String>), Failure> {
    let base = base_of(place, project, target)?;
    let said = said(&base);
    let config = load(&Sources { base: Some(base), ..sources(Some(place), set)? })?;
    Ok((config, said))
}

/// The settings files that count for a review of `target`.
fn base_of(place: &Place, project: &Project, target: &Target) -> Result<SettingsBase, Failure> {
    let planning = place.planning();
    let planned = seeds::NAMES.iter().map(|name| planning.join(name));
    let paths = planned.chain([place.root.join(PROJECT_FILE)]);
    // Git knows files by their path in the repository.
    let inside = |path: PathBuf| Some(path.strip_prefix(&place.root).ok()?.to_str()?.to_owned());
    let paths: Vec<String> = paths.filter_map(inside).collect();
    Ok(tribunal_world::settings_base(project, target, &paths)?)
}

/// A note about the settings files that are not read from the worktree.
fn said(base: &SettingsBase) -> Option<String> {
    let files: Vec<&str> = base.files.keys().map(String::as_str).collect();
    let verb = if files.len() == 1 { "is" } else { "are" };
    let names = files.join(", ");
    (!files.is_empty()).then(|| format!("settings of {}; this branch's {names} {verb} not read", base.commit))
}

/// The settings for a command that only shows them: one problem does not hide the other values. With a range, they are
/// read as a review of that range would.
pub fn look_here(place: Option<&Place>, set: &SetArgs, range: Option<&str>) -> Result<Look, Failure> {
    let mut sources = sources(place, set)?;
    let mut told = None;
    if let (Some(range), Some(place)) = (range, place) {
        let base = base_of(place, &place.project()?, &Target::Diff(range.to_owned()))?;
        told = said(&base);
        sources.base = Some(base);
    }
    let mut look = look(&sources);
    look.notes.extend(told);
    // A value that fits its own key may still not fit the whole.
    let unfit = || settings(&look.values).err();
    Ok(Look { wrong: look.wrong.clone().or_else(unfit), ..look })
}

fn sources(place: Option<&Place>, set: &SetArgs) -> Result<Sources, Failure> {
    let mut flags = Vec::new();
    for text in &set.set {
        let (key, value) = text.split_once('=').ok_or_else(|| {
            Failure::usage(format!("--set {text}: there is no `=`")).hint("--set run.effort=fast")
        })?;
        flags.push((key.trim().to_owned(), value.to_owned(), "--set".to_owned()));
    }
    // After `--set`, so that a flag of its own wins over the general one: the last flag counts.
    let named = [("run.effort", &set.effort, "--effort"), ("run.parallel_max", &set.parallel, "--parallel")];
    for (key, value, flag) in named {
        flags.extend(value.iter().map(|value| (key.to_owned(), value.clone(), flag.to_owned())));
    }
    let env = std::env::vars_os().filter_map(|(name, value)| {
        let name = name.into_string().ok().filter(|name| name.starts_with("TRIBUNAL_"))?;
        Some((name, value.to_string_lossy().into_owned()))
    });
    Ok(Sources {
        root: place.map(|place| place.root.clone()),
        planning: place.map(Place::planning),
        user: user_file(|name| std::env::var_os(name)),
        env: env.collect(),
        flags,
        base: None,
        trusted: place.map(|place| trusted::values(&place.root)).unwrap_or_default(),
    })
}

/// A path as people read it: relative to the working directory if it lies below it.
pub fn shown(path: &Path) -> String {
    let here = std::env::current_dir().ok();
    let short = here.as_deref().and_then(|here| path.strip_prefix(here).ok()).unwrap_or(path);
    short.display().to_string()
}

#[cfg(test)]
mod tests;
