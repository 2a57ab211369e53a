//! Adapter rows: an agent program described as data. Never knows a program by name; a new one is a new row.

mod login;
mod reader;
mod version;

use crate::brief::Access;
use crate::error::AgentError;
use crate::parse::{JsonFields, Parser, ProblemKind};
use crate::template::{Arg, Choice};
use reader::Reader;
use std::collections::BTreeMap;
use toml::Table;

pub use login::Login;
pub use version::Tested;

const BUILT_IN: [(&str, &str); 8] = [
    ("claude.toml", include_str!("../rows/claude.toml")),
    ("codex.toml", include_str!("../rows/codex.toml")),
    ("gemini.toml", include_str!("../rows/gemini.toml")),
    ("opencode.toml", include_str!("../rows/opencode.toml")),
    ("aider.toml", include_str!("../rows/aider.toml")),
    ("acp.toml", include_str!("../rows/acp.toml")),
    ("command.toml", include_str!("../rows/command.toml")),
    ("scripted.toml", include_str!("../rows/scripted.toml")),
];

/// How an agent program gets its prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptBy {
    /// The prompt file is its standard input.
    Stdin,
    /// The prompt is one argument.
    Argument,
    /// The prompt file's path is an argument.
    File,
}

/// Something a launch may ask of a program beyond its prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Feature {
    /// A model by name.
    Model,
    /// A personality in the program's own instructions; elsewhere it goes behind the prompt.
    Personality,
    /// A cap on turns that the program keeps itself.
    TurnCap,
    /// An MCP server to report by.
    Mcp,
    /// An answer by a schema.
    Schema,
    /// Going on in an earlier session.
    Resume,
}

impl Feature {
    /// Every feature there is.
    pub const ALL: [Self; 6] =
        [Self::Model, Self::Personality, Self::TurnCap, Self::Mcp, Self::Schema, Self::Resume];

    /// The word people read.
    pub fn word(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Personality => "personality",
            Self::TurnCap => "turn cap",
            Self::Mcp => "MCP server",
            Self::Schema => "schema",
            Self::Resume => "resume",
        }
    }

    /// The placeholders that pass it.
    fn names(self) -> &'static [&'static str] {
        match self {
            Self::Model => &["model"],
            Self::Personality => &["personality", "personality_file", "personality_json"],
            Self::TurnCap => &["turns"],
            Self::Mcp => &["mcp_command", "mcp_command_json", "mcp_argv_json"],
            Self::Schema => &["schema", "schema_file"],
            Self::Resume => &["session"],
        }
    }
}

/// What a walled-in program gets of the user's home. A path begins with `~/` or `$NAME/`, or is one in each of the
/// `private` folders; with `/` at its end it is a folder that is made when it is missing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Home {
    /// Folders it has for itself: empty but for what is named below, and gone afterwards.
    pub private: Vec<String>,
    /// What it reads there.
    pub read: Vec<String>,
    /// What it changes: logins and sessions.
    pub write: Vec<String>,
    /// Files of which it gets a copy, as they are replaced rather than written.
    pub copy: Vec<String>,
}

/// One agent program: how it is launched and how its output is read.
#[derive(Debug, Clone, PartialEq)]
pub struct Adapter {
    /// The row's name.
    pub name: String,
    /// The program itself, `{program}`; `None` where the words configured for the agent name it.
    pub program: Option<String>,
    /// Whether several may run at once.
    pub parallel_execution: bool,
    /// Whether it can report through tools.
    pub structured_messaging: bool,
    /// How a personality reaches it: `prompt` (behind the prompt) or `system` (in its own instructions).
    pub spawn_agent_personality: String,
    /// Where its results come from: `report`, `final` or `report_or_final`.
    pub collect_results: String,
    /// The model used when a brief names none; `default` leaves it to the program.
    pub model_execution: String,
    /// The trailer of its commits.
    pub commit_signature: String,
    /// Who coordinates several at once: `engine` or `none`.
    pub coordinate_parallel: String,
    /// How it is ended early: `none` (killed) or `terminate` (asked first).
    pub shutdown_agents: String,
    /// What is tidied up after several at once: `none` or `engine`.
    pub cleanup_coordination: String,
    /// How it gets the prompt.
    pub prompt: PromptBy,
    /// What reads its output.
    pub parser: Parser,
    /// Where things are in its output, for the parser `json`.
    pub fields: JsonFields,
    /// What its exit codes say went wrong; none of them says that something went well.
    pub exit_codes: BTreeMap<i32, ProblemKind>,
    /// How long one launch may take when the role sets nothing else.
    pub timeout_ms: u64,
    /// Names passed on from the user's environment.
    pub keep_env: Vec<String>,
    /// Commands that `doctor` runs to check the program, each a program and its arguments; the first prints its version.
    pub lint_commands: Vec<Vec<String>>,
    /// Variables any one of which stands for a login.
    pub login_env: Vec<String>,
    /// Files any one of which stands for a login; `~/` is the home folder.
    pub login_files: Vec<String>,
    /// The versions it was tested with, oldest first.
    pub tested: Vec<String>,
    /// Names of files, and with `/` of folders, in a tree that steer the program: reviewers get those of the base.
    pub config_files: Vec<String>,
    /// What it needs of the user's home.
    pub home: Home,
    pub(crate) read_only: Vec<Arg>,
    pub(crate) write: Vec<Arg>,
    pub(crate) env: BTreeMap<String, Choice>,
    pub(crate) env_read_only: BTreeMap<String, Choice>,
    pub(crate) env_write: BTreeMap<String, Choice>,
    pub(crate) files: BTreeMap<String, Choice>,
    pub(crate) defaults: BTreeMap<&'static str, String>,
    row: Table,
}

/// All adapters of a run, by name.
#[derive(Debug, Clone, Default)]
pub struct Adapters(BTreeMap<String, Adapter>);

impl Adapters {
    /// The rows compiled in.
    pub fn built_in() -> Result<Self, AgentError> {
        let mut adapters = Self::default();
        for (origin, text) in BUILT_IN {
            adapters.add_toml(origin, text)?;
        }
        Ok(adapters)
    }

    /// Adds the rows of a TOML text; `origin` names it in errors.
    pub fn add_toml(&mut self, origin: &str, text: &str) -> Result<(), AgentError> {
        let rows = text.parse::<Table>().map_err(|error| AgentError::Rows {
            origin: origin.to_owned(),
            problems: vec![error.to_string()],
        })?;
        self.add(origin, &rows)
    }

    /// Adds rows, one table per name; a row replaces an earlier one of its name. On error nothing is added.
    pub fn add(&mut self, origin: &str, rows: &Table) -> Result<(), AgentError> {
        let mut problems = Vec::new();
        let mut added = Vec::new();
        for (name, value) in rows {
            match value.as_table().map(|row| self.inherited(name, row)) {
                Some(Ok(row)) => added.extend(Reader::new(name, &row, &mut problems).adapter()),
                Some(Err(problem)) => problems.push(problem),
                None => problems.push(format!("adapter `{name}` is not a table")),
            }
        }
        if !problems.is_empty() {
            let origin = origin.to_owned();
            return Err(AgentError::Rows { origin, problems });
        }
        self.0.extend(added.into_iter().map(|row| (row.name.clone(), row)));
        Ok(())
    }

    /// A row with what it takes over from the one it is `like`.
    fn inherited(&self, name: &str, row: &Table) -> Result<Table, String> {
        let Some(like) = row.get("like") else {
            return Ok(row.clone());
        };
        let base = like.as_str().and_then(|like| self.0.get(like));
        let Some(base) = base else {
            let known = self.names().collect::<Vec<_>>().join(", ");
            return Err(format!("adapter `{name}`: `like` must name an adapter known before: {known}"));
        };
        let mut whole = base.row.clone();
        whole.extend(
            row.iter().filter(|(key, _)| *key != "like").map(|(key, value)| (key.clone(), value.clone())),
        );
        Ok(whole)
    }

    /// The adapter of this name.
    pub fn get(&self, name: &str) -> Result<&Adapter, AgentError> {
        self.0.get(name).ok_or_else(|| AgentError::NoAdapter {
            name: name.to_owned(),
            known: self.names().collect::<Vec<_>>().join(", "),
        })
    }

    /// The names there are, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

impl Adapter {
    /// The row as text in a fixed order, for hashing into the journal.
    pub fn canonical(&self) -> String {
        format!("[{}]\n{}", self.name, self.row)
    }

    /// Whether a launch with this access can pass a feature on. What it cannot, Tribunal does itself or does without.
    pub fn can(&self, feature: Feature, access: Access) -> bool {
        feature.names().iter().any(|name| self.uses(name, access))
    }

    /// Whether a version, as the program prints it, is one it was tested with.
    pub fn tested(&self, printed: &str) -> Tested {
        version::judge(&self.tested, printed)
    }

    /// Whether a launch with this access uses a placeholder anywhere.
    pub(crate) fn uses(&self, name: &str, access: Access) -> bool {
        let own_env = match access {
            Access::ReadOnly => &self.env_read_only,
            Access::Write => &self.env_write,
        };
        let mut choices = self.env.values().chain(own_env.values()).chain(self.files.values());
        self.argv(access).iter().any(|arg| arg.uses(name)) || choices.any(|choice| choice.uses(name))
    }

    /// The command line by access.
    pub(crate) fn argv(&self, access: Access) -> &[Arg] {
        match access {
            Access::ReadOnly => &self.read_only,
            Access::Write => &self.write,
        }
    }

    /// The environment by access: what is set for this access wins.
    pub(crate) fn env(&self, access: Access) -> impl Iterator<Item = (&String, &Choice)> {
        let own = match access {
            Access::ReadOnly => &self.env_read_only,
            Access::Write => &self.env_write,
        };
        self.env.iter().filter(|(name, _)| !own.contains_key(*name)).chain(own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A launch's home shows nothing that its row does not name: a variable that points to a file would point nowhere.
    #[test]
    fn a_file_that_a_kept_variable_names_is_shown() {
        let adapters = Adapters::built_in().unwrap();
        let names_a_file = |name: &&String| {
            ["_FILE", "_CERTS", "_CREDENTIALS", "_CONFIG"].iter().any(|end| name.ends_with(end))
        };
        for row in adapters.names().map(|name| adapters.get(name).unwrap()) {
            for name in row.keep_env.iter().filter(names_a_file) {
                assert!(row.home.read.contains(&format!("${name}")), "{}: {name}", row.name);
            }
        }
    }
}
