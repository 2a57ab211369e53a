//! One layer of settings: a file, the environment or flags, read into entries that know where they stand.
//!
//! Only syntax is judged here. Whether a key exists and may hold its value is decided in `keys`, when all layers have
//! been read, so that every problem can be reported at once.

use super::keys::Key;
use crate::failure::Failure;
use serde::Deserialize;
use std::fmt;
use std::path::{Path, PathBuf};
use toml::de::{DeTable, DeValue, ValueDeserializer};
use toml::{Spanned, Value};
use tribunal_world::SettingsBase;

/// A larger file is not a configuration, and is not read into memory.
const FILE_MAX: u64 = 1024 * 1024;

/// The layers, lowest first.
///
/// The order of the variants is the order of precedence; `Project` comes after `User`, which is why settings of a
/// repository need trust.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// The compiled-in file.
    Defaults,
    /// Files of the planning folder that other tools write, too.
    Planning,
    /// The user's own file.
    User,
    /// The project's `tribunal.toml`.
    Project,
    /// Variables such as `TRIBUNAL_RUN_EFFORT`.
    Environment,
    /// Flags of the command line.
    Flag,
}

impl Layer {
    /// The layer's name in messages and in `--json`.
    pub fn word(self) -> &'static str {
        match self {
            Layer::Defaults => "default",
            Layer::Planning => "planning folder",
            Layer::User => "user",
            Layer::Project => "project",
            Layer::Environment => "environment",
            Layer::Flag => "flag",
        }
    }
}

/// The place a value came from, exact enough to open an editor there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The layer that set the value.
    pub layer: Layer,
    /// The file, if the layer is one.
    pub file: Option<PathBuf>,
    /// Line and column of the value, from 1.
    pub place: Option<(usize, usize)>,
    /// The name of the variable or flag.
    pub name: Option<String>,
    /// The commit, if the file was not read from the worktree.
    pub at: Option<String>,
}

impl Origin {
    /// The origin of a variable or a flag.
    fn named(layer: Layer, name: &str) -> Origin {
        Origin { layer, file: None, place: None, name: Some(name.to_owned()), at: None }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, &self.name, self.place) {
            // The form that editors and terminals turn into a link.
            (Some(file), _, Some((line, column))) => write!(f, "{}:{line}:{column}", super::shown(file))?,
            (Some(file), _, None) => write!(f, "{}", super::shown(file))?,
            (None, Some(name), _) => write!(f, "{name}")?,
            (None, None, _) => f.write_str(self.layer.word())?,
        }
        self.at.iter().try_for_each(|at| write!(f, " ({at})"))
    }
}

/// A key as one layer sets it.
///
/// Several entries may set the same key; the merge decides which one holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub key: Key,
    pub value: Value,
    pub origin: Origin,
}

impl Entry {
    /// True for an empty table, which sets nothing.
    pub fn is_nothing(&self) -> bool {
        self.value.as_table().is_some_and(toml::Table::is_empty)
    }
}

/// Something wrong with a setting, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    place: String,
    message: String,
    hint: Option<String>,
}

impl Problem {
    /// A problem with an entry, at its place.
    pub fn at(entry: &Entry, message: String) -> Problem {
        Problem { place: entry.origin.to_string(), message, hint: None }
    }

    fn of(origin: &Origin, message: String) -> Problem {
        Problem { place: origin.to_string(), message, hint: None }
    }

    /// Adds a hint to the problem.
    pub fn hint(self, hint: String) -> Problem {
        Problem { hint: Some(hint), ..self }
    }

    /// All problems as one failure. With several, each hint stands behind its problem, because a list at the end would
    /// not say what it belongs to.
    pub fn failure(problems: &[Problem]) -> Failure {
        let line = |problem: &Problem| format!("{}: {}", problem.place, problem.message);
        match problems {
            [one] => {
                let failure = Failure::config(line(one));
                one.hint.iter().fold(failure, |failure, hint| failure.hint(hint.clone()))
            }
            many => {
                let lines = many.iter().map(|problem| match &problem.hint {
                    Some(hint) => format!("{} ({hint})", line(problem)),
                    None => line(problem),
                });
                let all: Vec<String> = lines.collect();
                Failure::config(format!("{} settings are wrong\n{}", many.len(), all.join("\n")))
            }
        }
    }
}

type Entries = Result<Vec<Entry>, Problem>;

/// Where the text of a settings file comes from: the disk, or the commit that the change of a review begins from.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Files<'a> {
    /// The project's root, to which the paths of `base` are relative.
    pub(super) root: Option<&'a Path>,
    /// What a review reads instead of the worktree.
    pub(super) base: Option<&'a SettingsBase>,
}

/// The text of a file and where it was found.
pub(super) struct Found {
    pub(super) text: String,
    /// The commit; `None` for the file on the disk.
    pub(super) at: Option<String>,
}

impl Files<'_> {
    /// The entries of a settings file; `None` if there is no file.
    pub(super) fn settings(&self, path: &Path, layer: Layer) -> Option<Entries> {
        self.read(path, layer).map(|read| {
            let found = read?;
            text(&found.text, layer, Some(path), found.at.as_deref())
        })
    }

    /// The text of a small file; `None` if there is no file.
    ///
    /// A file that the base names is never read from the disk, even if the base says that it does not exist there.
    /// Otherwise a change could bring the settings it is judged by as a new file.
    pub(super) fn read(&self, path: &Path, layer: Layer) -> Option<Result<Found, Problem>> {
        // A file outside of the project cannot be part of a commit, so it is always read from the disk.
        let inside = self.root.and_then(|root| path.strip_prefix(root).ok()).and_then(Path::to_str);
        let base = self.base.and_then(|base| Some((base, base.files.get(inside?)?)));
        let Some((base, text)) = base else {
            return read_text(path, layer).map(|read| Ok(Found { text: read?, at: None }));
        };
        let at = Some(base.commit.clone());
        let origin = Origin { layer, file: Some(path.to_owned()), place: None, name: None, at: at.clone() };
        let wrong = |why: &str| Some(Err(Problem::of(&origin, why.to_owned())));
        // `None` here means that the base has no such file: that is the answer, not a reason to look at the disk.
        match text.clone()? {
            bytes if bytes.len() as u64 > FILE_MAX => wrong("is too large to be a configuration"),
            bytes => match String::from_utf8(bytes) {
                Ok(text) => Some(Ok(Found { text, at })),
                Err(_) => wrong("is not UTF-8"),
            },
        }
    }
}

/// The text of a small file on the disk; `None` if there is no file.
fn read_text(path: &Path, layer: Layer) -> Option<Result<String, Problem>> {
    let origin = Origin { layer, file: Some(path.to_owned()), place: None, name: None, at: None };
    let wrong = |why: String| Some(Err(Problem::of(&origin, why)));
    match std::fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        // A file where a folder of the path should be means the same: there are no settings here.
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => None,
        Err(error) => wrong(format!("cannot be read: {error}")),
        // A pipe or a device would block or never end.
        Ok(found) if !found.is_file() => wrong("is not a file".to_owned()),
        Ok(found) if found.len() > FILE_MAX => wrong("is too large to be a configuration".to_owned()),
        Ok(_) => match std::fs::read(path) {
            Err(error) => wrong(format!("cannot be read: {error}")),
            Ok(bytes) => match String::from_utf8(bytes) {
                Ok(text) => Some(Ok(text)),
                Err(_) => wrong("is not UTF-8".to_owned()),
            },
        },
    }
}

/// Reads settings from TOML text.
pub fn text(text: &str, layer: Layer, path: Option<&Path>, commit: Option<&str>) -> Entries {
    // Places count from after the mark, as editors do.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let origin = |at: usize| Origin {
        layer,
        file: path.map(Path::to_owned),
        place: path.is_some().then(|| place(text, at)),
        name: None,
        at: commit.map(str::to_owned),
    };
    let table = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let problem = Problem::of(&origin(at), error.message().trim().to_owned());
        // The commonest mistake: a second table of the same name at the end of the file.
        match error.message().contains("duplicate key") {
            true => {
                problem.hint("it stands above already; a key goes below the table that is there".to_owned())
            }
            false => problem,
        }
    })?;
    let mut entries = Vec::new();
    flatten(&Key::root(), table.into_inner(), &origin, &mut entries)?;
    Ok(entries)
}

fn flatten(
    under: &Key,
    table: DeTable<'_>,
    origin: &impl Fn(usize) -> Origin,
    entries: &mut Vec<Entry>,
) -> Result<(), Problem> {
    for (name, value) in table {
        let key = under.join(name.get_ref());
        let start = name.span().start;
        let span = value.span();
        match value.into_inner() {
            // An empty table sets nothing and is kept as an entry: where a value should be, it is a mistake worth
            // naming.
            DeValue::Table(inner) if !key.is_whole() && !inner.is_empty() => {
                flatten(&key, inner, origin, entries)?;
            }
            other => {
                let value = Value::deserialize(ValueDeserializer::from(Spanned::new(span, other)))
                    .map_err(|error| Problem::of(&origin(start), error.message().to_owned()))?;
                entries.push(Entry { key, value, origin: origin(start) });
            }
        }
    }
    Ok(())
}

/// Line and column of a byte, both from 1; columns count characters, as editors do.
pub(super) fn place(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |rest| rest.chars().count()) + 1;
    (line, column)
}

/// Reads variables such as `TRIBUNAL_RUN_EFFORT=fast`: the first word is the table, the rest the key.
///
/// Other variables with this prefix pass between Tribunal and its agents and are not settings, so they are skipped
/// without a word.
pub fn environment(env: &[(String, String)]) -> Entries {
    let mut entries = Vec::new();
    for (name, value) in env {
        let lower = name.strip_prefix("TRIBUNAL_").unwrap_or_default().to_lowercase();
        let Some((table, key)) = lower.split_once('_').filter(|(table, _)| TABLES.contains(table)) else {
            continue;
        };
        let key = match (table, key.strip_prefix("commands_")) {
            // The only table within a table that a variable can reach; an underscore cannot tell `a.b` from `a_b` in
            // general.
            ("checks", Some(name)) => Key::new(&["checks", "commands", name]),
            _ => Key::new(&[table, key]),
        };
        let origin = Origin::named(Layer::Environment, name);
        entries.push(Entry { key, value: loose(value), origin });
    }
    Ok(entries)
}

/// The tables of settings that a variable can reach. Rows of adapters and tools are tables within tables, and cannot be named.
pub(super) const TABLES: [&str; 11] =
    ["run", "plan", "task", "qa", "phase", "chain", "gates", "checks", "git", "agents", "budget"];

/// Reads flags in the order given; the last one counts.
pub fn flags(flags: &[(String, String, String)]) -> Entries {
    flags
        .iter()
        .map(|(key, value, name)| {
            let origin = Origin::named(Layer::Flag, name);
            let parsed = Key::parse(key).ok_or_else(|| {
                Problem::of(&origin, format!("`{key}` is no key; keys look like run.effort"))
            })?;
            Ok(Entry { key: parsed, value: loose(value), origin })
        })
        .collect()
}

/// A value as TOML, else as a string: nobody should have to write quotes within quotes in a shell.
fn loose(text: &str) -> Value {
    let plain = || Value::String(text.to_owned());
    match DeValue::parse(text.trim()) {
        Ok(value) => Value::deserialize(ValueDeserializer::from(value)).unwrap_or_else(|_| plain()),
        Err(_) => plain(),
    }
}
