//! One layer of settings: a file, the environment or flags, read into entries that know where they stand. It judges
//! nothing but syntax.

use super::keys::Key;
use crate::failure::Failure;
use serde::Deserialize;
use std::fmt;
use std::path::{Path, PathBuf};
use toml::de::{DeTable, DeValue, ValueDeserializer};
use toml::{Spanned, Value};
use tribunal_world::SettingsBase;

/// Files beyond this are no configuration.
const FILE_MAX: u64 = 1024 * 1024;

/// The layers, lowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// Compiled in.
    Defaults,
    /// The planning folder's own files.
    Planning,
    /// The user's file.
    User,
    /// The project's file.
    Project,
    /// `TRIBUNAL_…`.
    Environment,
    /// The command line.
    Flag,
}

impl Layer {
    /// The word people read.
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

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Which layer.
    pub layer: Layer,
    /// The file, where it is one.
    pub file: Option<PathBuf>,
    /// Line and column of the value, from 1.
    pub place: Option<(usize, usize)>,
    /// The variable or flag.
    pub name: Option<String>,
    /// The commit, where the file was not read from the worktree.
    pub at: Option<String>,
}

impl Origin {
    /// Of a variable or a flag.
    fn named(layer: Layer, name: &str) -> Origin {
        Origin { layer, file: None, place: None, name: Some(name.to_owned()), at: None }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, &self.name, self.place) {
            (Some(file), _, Some((line, column))) => write!(f, "{}:{line}:{column}", super::shown(file))?,
            (Some(file), _, None) => write!(f, "{}", super::shown(file))?,
            (None, Some(name), _) => write!(f, "{name}")?,
            (None, None, _) => f.write_str(self.layer.word())?,
        }
        self.at.iter().try_for_each(|at| write!(f, " ({at})"))
    }
}

/// One key set by one layer.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: Key,
    /// The value.
    pub value: Value,
    /// Where it stands.
    pub origin: Origin,
}

impl Entry {
    /// An empty table, which sets nothing.
    pub fn is_nothing(&self) -> bool {
        self.value.as_table().is_some_and(toml::Table::is_empty)
    }
}

/// What is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    place: String,
    message: String,
    hint: Option<String>,
}

impl Problem {
    /// A problem with an entry.
    pub fn at(entry: &Entry, message: String) -> Problem {
        Problem { place: entry.origin.to_string(), message, hint: None }
    }

    fn of(origin: &Origin, message: String) -> Problem {
        Problem { place: origin.to_string(), message, hint: None }
    }

    /// The same with a way out.
    pub fn hint(self, hint: String) -> Problem {
        Problem { hint: Some(hint), ..self }
    }

    /// All problems as one failure: the first hint counts for the whole where there is only one.
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

/// Where the text of a settings file comes from: the disk, or the commit that a review's change begins from.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Files<'a> {
    /// The project's root.
    pub(super) root: Option<&'a Path>,
    /// What a review reads instead of the worktree.
    pub(super) base: Option<&'a SettingsBase>,
}

/// A small text file, and where it was found.
pub(super) struct Found {
    pub(super) text: String,
    /// The commit, unless it is the file on the disk.
    pub(super) at: Option<String>,
}

impl Files<'_> {
    /// A file of settings; `None` when there is none.
    pub(super) fn settings(&self, path: &Path, layer: Layer) -> Option<Entries> {
        self.read(path, layer).map(|read| {
            let found = read?;
            text(&found.text, layer, Some(path), found.at.as_deref())
        })
    }

    /// A small text file, if it is there.
    pub(super) fn read(&self, path: &Path, layer: Layer) -> Option<Result<Found, Problem>> {
        let inside = self.root.and_then(|root| path.strip_prefix(root).ok()).and_then(Path::to_str);
        let base = self.base.and_then(|base| Some((base, base.files.get(inside?)?)));
        let Some((base, text)) = base else {
            return read_text(path, layer).map(|read| Ok(Found { text: read?, at: None }));
        };
        let at = Some(base.commit.clone());
        let origin = Origin { layer, file: Some(path.to_owned()), place: None, name: None, at: at.clone() };
        let wrong = |why: &str| Some(Err(Problem::of(&origin, why.to_owned())));
        match text.clone()? {
            bytes if bytes.len() as u64 > FILE_MAX => wrong("is too large to be a configuration"),
            bytes => match String::from_utf8(bytes) {
                Ok(text) => Some(Ok(Found { text, at })),
                Err(_) => wrong("is not UTF-8"),
            },
        }
    }
}

/// A small text file on the disk, if it is there.
fn read_text(path: &Path, layer: Layer) -> Option<Result<String, Problem>> {
    let origin = Origin { layer, file: Some(path.to_owned()), place: None, name: None, at: None };
    let wrong = |why: String| Some(Err(Problem::of(&origin, why)));
    match std::fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => None,
        Err(error) => wrong(format!("cannot be read: {error}")),
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

/// Settings as TOML text.
pub fn text(text: &str, layer: Layer, path: Option<&Path>, commit: Option<&str>) -> Entries {
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
            // An empty table says nothing, but where a value should be it is a mistake worth naming.
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

/// Line and column of a byte, from 1; columns count characters.
pub(super) fn place(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |rest| rest.chars().count()) + 1;
    (line, column)
}

/// `TRIBUNAL_RUN_EFFORT=fast`: the first word is the table, the rest the key. Other names that begin so are words
/// between Tribunal and its agents, and no settings.
pub fn environment(env: &[(String, String)]) -> Entries {
    let mut entries = Vec::new();
    for (name, value) in env {
        let lower = name.strip_prefix("TRIBUNAL_").unwrap_or_default().to_lowercase();
        let Some((table, key)) = lower.split_once('_').filter(|(table, _)| TABLES.contains(table)) else {
            continue;
        };
        let key = match (table, key.strip_prefix("commands_")) {
            ("checks", Some(name)) => Key::new(&["checks", "commands", name]),
            _ => Key::new(&[table, key]),
        };
        let origin = Origin::named(Layer::Environment, name);
        entries.push(Entry { key, value: loose(value), origin });
    }
    Ok(entries)
}

const TABLES: [&str; 10] =
    ["run", "plan", "task", "qa", "phase", "chain", "gates", "checks", "git", "agents"];

/// Flags in the order given: the last one counts.
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

/// A value as TOML, else as a string.
fn loose(text: &str) -> Value {
    let plain = || Value::String(text.to_owned());
    match DeValue::parse(text.trim()) {
        Ok(value) => Value::deserialize(ValueDeserializer::from(value)).unwrap_or_else(|_| plain()),
        Err(_) => plain(),
    }
}
