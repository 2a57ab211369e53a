//! Adapter rows: an agent program described as data. The code here knows no program by name; a new program is a new
//! row.
//!
//! Rows are TOML because users add their own in `tribunal.toml`, and the built-in ones have no privilege over those:
//! both go through the same reader and the same checks.

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

// The order matters: a row may be `like` one that stands before it.
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

/// How an agent program receives its prompt.
///
/// Standard input is the safest way: it has no limit of length, and no other process can read it from a list of
/// processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptBy {
    /// The prompt file becomes the program's standard input.
    Stdin,
    /// The whole prompt is one argument, which the system limits to 128 KiB.
    Argument,
    /// The path of the prompt file is an argument.
    File,
}

/// Something a launch may ask of a program beyond its prompt.
///
/// Whether a program supports a feature is not declared in the row: it follows from the placeholders its command line
/// uses, so the two cannot contradict each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Feature {
    /// Choosing the model by name.
    Model,
    /// A personality in the program's own instructions. Programs without a place for it get it behind the prompt.
    Personality,
    /// A cap on turns that the program enforces itself.
    TurnCap,
    /// An MCP server that the agent reports through.
    Mcp,
    /// An answer that follows a JSON schema.
    Schema,
    /// Continuing an earlier session of the program.
    Resume,
}

impl Feature {
    /// Every feature, in the order in which they are listed to people.
    pub const ALL: [Self; 6] =
        [Self::Model, Self::Personality, Self::TurnCap, Self::Mcp, Self::Schema, Self::Resume];

    /// The word for the feature in messages to people.
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

    /// The placeholders that pass the feature on; using any one of them is enough.
    fn names(self) -> &'static [&'static str] {
        match self {
            Self::Model => &["model"],
            Self::Personality => &["personality", "personality_file", "personality_json"],
            Self::TurnCap => &["turns"],
            // `mcp_name` and `mcp_args_json` do not count: without the command, the program has no server to start.
            Self::Mcp => &["mcp_command", "mcp_command_json", "mcp_argv_json"],
            Self::Schema => &["schema", "schema_file"],
            Self::Resume => &["session"],
        }
    }
}

/// The parts of the user's home that a sandboxed program can see.
///
/// A path begins with `~/` or `$NAME/`, or else is taken inside each of the `private` folders. A path with `/` at its
/// end is a folder, which is made when it is missing. Everything that is not named here does not exist for the program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Home {
    /// Folders the program has for itself: empty except for the paths named below, and removed afterwards.
    pub private: Vec<String>,
    /// Paths the program can read.
    pub read: Vec<String>,
    /// Paths the program can change: its logins and sessions.
    pub write: Vec<String>,
    /// Files of which the program gets a copy, because it replaces them instead of writing to them.
    pub copy: Vec<String>,
}

/// One agent program: how it is launched and how its output is read.
///
/// Templates are private: only `prepare` fills them, and it checks every value on the way.
#[derive(Debug, Clone, PartialEq)]
pub struct Adapter {
    /// The name of the row, which rosters and settings refer to.
    pub name: String,
    /// The program itself, `{program}`; `None` where the words configured for the agent name it.
    pub program: Option<String>,
    /// Whether several launches of the program may run at once.
    pub parallel_execution: bool,
    /// Whether the program can report through tools.
    pub structured_messaging: bool,
    /// How a personality reaches it: `prompt` (behind the prompt) or `system` (in its own instructions).
    pub spawn_agent_personality: String,
    /// Where its results come from: `report`, `final` or `report_or_final`.
    pub collect_results: String,
    /// The model used when a brief names none; `default` leaves it to the program.
    pub model_execution: String,
    /// The trailer that commits of this program carry.
    pub commit_signature: String,
    /// Who coordinates several launches at once: `engine` or `none`.
    pub coordinate_parallel: String,
    /// How a launch is ended early: `none` (killed) or `terminate` (asked first).
    pub shutdown_agents: String,
    /// What is tidied up after several launches at once: `none` or `engine`.
    pub cleanup_coordination: String,
    /// How the program receives its prompt.
    pub prompt: PromptBy,
    /// The parser for the program's output.
    pub parser: Parser,
    /// Where things are in the output, for the parser `json`.
    pub fields: JsonFields,
    /// What an exit code says went wrong. No exit code can say that something went well.
    pub exit_codes: BTreeMap<i32, ProblemKind>,
    /// How long one launch may take when the role sets no other limit.
    pub timeout_ms: u64,
    /// Names of variables that are passed on from the user's environment; all others are absent.
    pub keep_env: Vec<String>,
    /// Commands that `doctor` runs to check the program, each a program and its arguments. The first prints the
    /// version.
    pub lint_commands: Vec<Vec<String>>,
    /// Variables any one of which stands for a login.
    pub login_env: Vec<String>,
    /// Files any one of which stands for a login; `~/` is the home folder.
    pub login_files: Vec<String>,
    /// The versions it was tested with, oldest first.
    pub tested: Vec<String>,
    /// Names of files, or with `/` of folders, in a worktree that steer the program. Reviewers get those of the base
    /// commit, so that a change cannot instruct its own reviewer.
    pub config_files: Vec<String>,
    /// The parts of the user's home that the program needs.
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
///
/// Built-in rows are added first, those of the configuration after them, so that a user can replace or extend every
/// row.
#[derive(Debug, Clone, Default)]
pub struct Adapters(BTreeMap<String, Adapter>);

impl Adapters {
    /// Reads the rows that are compiled in.
    pub fn built_in() -> Result<Self, AgentError> {
        let mut adapters = Self::default();
        for (origin, text) in BUILT_IN {
            adapters.add_toml(origin, text)?;
        }
        Ok(adapters)
    }

    /// Adds the rows of a TOML text; `origin` names the text in errors.
    pub fn add_toml(&mut self, origin: &str, text: &str) -> Result<(), AgentError> {
        let rows = text.parse::<Table>().map_err(|error| AgentError::Rows {
            origin: origin.to_owned(),
            problems: vec![error.to_string()],
        })?;
        self.add(origin, &rows)
    }

    /// Adds rows, one table per name. A row replaces an earlier one of the same name.
    ///
    /// All faults of all rows are reported at once, and then nothing is added: a half-read configuration would launch
    /// agents that nobody described.
    pub fn add(&mut self, origin: &str, rows: &Table) -> Result<(), AgentError> {
        let mut problems = Vec::new();
        let mut added = Vec::new();
        for (name, value) in rows {
            match value.as_table().map(|row| self.inherited(name, row)) {
                Some(Ok(row)) => added.extend(Reader::new(name, &row, &mut problems).adapter()),
                // Collected and not returned at once: a user fixes a configuration faster with all faults in sight.
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

    /// Returns a row together with the keys it takes over from the row it is `like`.
    ///
    /// Keys are replaced as a whole. A list or a table in the new row does not add to that of the old one.
    fn inherited(&self, name: &str, row: &Table) -> Result<Table, String> {
        let Some(like) = row.get("like") else {
            return Ok(row.clone());
        };
        // Only rows added before count, so a cycle of rows that are like each other cannot arise.
        let base = like.as_str().and_then(|like| self.0.get(like));
        let Some(base) = base else {
            let known = self.names().collect::<Vec<_>>().join(", ");
            return Err(format!("adapter `{name}`: `like` must name an adapter known before: {known}"));
        };
        let mut whole = base.row.clone();
        // `like` itself is not kept: a third row that is like this one must not refer to the first one again.
        whole.extend(
            row.iter().filter(|(key, _)| *key != "like").map(|(key, value)| (key.clone(), value.clone())),
        );
        Ok(whole)
    }

    /// Returns the adapter of this name, or an error that lists the names there are.
    pub fn get(&self, name: &str) -> Result<&Adapter, AgentError> {
        self.0.get(name).ok_or_else(|| AgentError::NoAdapter {
            name: name.to_owned(),
            known: self.names().collect::<Vec<_>>().join(", "),
        })
    }

    /// Returns the names of all adapters in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

impl Adapter {
    /// Returns the row as text in a fixed order. The journal records its hash.
    pub fn canonical(&self) -> String {
        format!("[{}]\n{}", self.name, self.row)
    }

    /// Whether a launch with this access can pass a feature on. Otherwise Tribunal does the work itself or does
    /// without.
    ///
    /// The answer depends on the access, because a row may use a placeholder in only one of its command lines.
    pub fn can(&self, feature: Feature, access: Access) -> bool {
        feature.names().iter().any(|name| self.uses(name, access))
    }

    /// Compares a version, as the program prints it, with the versions the row was tested with.
    pub fn tested(&self, printed: &str) -> Tested {
        version::judge(&self.tested, printed)
    }

    /// Whether a launch with this access uses a placeholder anywhere.
    pub(crate) fn uses(&self, name: &str, access: Access) -> bool {
        // A placeholder in a variable or a file passes a feature on just as one in the command line does.
        let own_env = match access {
            Access::ReadOnly => &self.env_read_only,
            Access::Write => &self.env_write,
        };
        let mut choices = self.env.values().chain(own_env.values()).chain(self.files.values());
        self.argv(access).iter().any(|arg| arg.uses(name)) || choices.any(|choice| choice.uses(name))
    }

    /// Returns the command line for this access.
    pub(crate) fn argv(&self, access: Access) -> &[Arg] {
        match access {
            Access::ReadOnly => &self.read_only,
            Access::Write => &self.write,
        }
    }

    /// Returns the environment for this access; a value for one access wins over the general one.
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
