//! Adapter rows: an agent program described as data. Never knows a program by name; a new one is a new row.

use crate::error::AgentError;
use crate::parse::Parser;
use crate::template::{Arg, NAMES, Word};
use std::collections::BTreeMap;
use toml::{Table, Value};

const BUILT_IN: &str = include_str!("adapters.toml");
const TIMEOUT_MS: u64 = 600_000;
const REQUIRED: [&str; 10] = [
    "parallel_execution",
    "structured_messaging",
    "spawn_agent_personality",
    "collect_results",
    "model_execution",
    "commit_signature",
    "prompt",
    "parser",
    "read_only",
    "write",
];
const OPTIONAL: [&str; 4] = ["env", "keep_env", "lint_commands", "timeout_ms"];

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

/// One agent program: how it is launched and how its output is read.
#[derive(Debug, Clone, PartialEq)]
pub struct Adapter {
    /// The row's name.
    pub name: String,
    /// Whether several may run at once.
    pub parallel_execution: bool,
    /// Whether it can report through tools.
    pub structured_messaging: bool,
    /// How a personality reaches it: `prompt`.
    pub spawn_agent_personality: String,
    /// Where its results come from: `report`, `final` or `report_or_final`.
    pub collect_results: String,
    /// The model used when a brief names none.
    pub model_execution: String,
    /// The trailer of its commits.
    pub commit_signature: String,
    /// How it gets the prompt.
    pub prompt: PromptBy,
    /// What reads its output.
    pub parser: Parser,
    /// How long one launch may take when the role sets nothing else.
    pub timeout_ms: u64,
    /// Names passed on from the user's environment.
    pub keep_env: Vec<String>,
    /// Commands that `doctor` runs to check the program.
    pub lint_commands: Vec<String>,
    pub(crate) read_only: Vec<Arg>,
    pub(crate) write: Vec<Arg>,
    pub(crate) env: BTreeMap<String, Word>,
    row: Table,
}

/// All adapters of a run, by name.
#[derive(Debug, Clone, Default)]
pub struct Adapters(BTreeMap<String, Adapter>);

impl Adapters {
    /// The rows compiled in.
    pub fn built_in() -> Result<Self, AgentError> {
        let mut adapters = Self::default();
        adapters.add_toml("built-in adapters", BUILT_IN)?;
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
            match Reader::new(name, value, &mut problems) {
                Some(reader) => added.extend(reader.adapter()),
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
}

/// Reads one row and collects everything that is wrong with it.
struct Reader<'a> {
    name: &'a str,
    row: &'a Table,
    problems: &'a mut Vec<String>,
}

impl<'a> Reader<'a> {
    fn new(name: &'a str, value: &'a Value, problems: &'a mut Vec<String>) -> Option<Self> {
        let row = value.as_table()?;
        Some(Self { name, row, problems })
    }

    fn adapter(mut self) -> Option<Adapter> {
        let before = self.problems.len();
        self.names_of_keys();
        let adapter = Adapter {
            name: self.name.to_owned(),
            parallel_execution: self.flag("parallel_execution"),
            structured_messaging: self.flag("structured_messaging"),
            spawn_agent_personality: self.one_of("spawn_agent_personality", &["prompt"]),
            collect_results: self.one_of("collect_results", &["report", "final", "report_or_final"]),
            model_execution: self.text("model_execution"),
            commit_signature: self.text("commit_signature"),
            prompt: self.prompt(),
            parser: self.parser(),
            timeout_ms: self.timeout(),
            keep_env: self.texts("keep_env"),
            lint_commands: self.texts("lint_commands"),
            read_only: self.argv("read_only"),
            write: self.argv("write"),
            env: self.env(),
            row: self.row.clone(),
        };
        self.prompt_is_passed(&adapter);
        self.env_names(&adapter);
        (self.problems.len() == before).then_some(adapter)
    }

    fn problem(&mut self, text: &str) {
        self.problems.push(format!("adapter `{}`: {text}", self.name));
    }

    fn bad(&mut self, key: &str, expected: &str) {
        self.problem(&format!("`{key}` must be {expected}"));
    }

    fn names_of_keys(&mut self) {
        let missing: Vec<_> = REQUIRED.into_iter().filter(|key| !self.row.contains_key(*key)).collect();
        if !missing.is_empty() {
            let list = missing.join(", ");
            self.problem(&format!("missing required key(s): {list}"));
        }
        let known = |key: &str| REQUIRED.contains(&key) || OPTIONAL.contains(&key);
        let unknown: Vec<_> = self.row.keys().filter(|key| !known(key)).cloned().collect();
        if !unknown.is_empty() {
            let hint = [&REQUIRED[..], &OPTIONAL[..]].concat().join(", ");
            let list = unknown.join(", ");
            self.problem(&format!("unknown key(s): {list}\nhint: a row has {hint}"));
        }
    }

    fn flag(&mut self, key: &str) -> bool {
        match self.row.get(key) {
            Some(Value::Boolean(flag)) => *flag,
            Some(_) => {
                self.bad(key, "true or false");
                false
            }
            None => false,
        }
    }

    fn text(&mut self, key: &str) -> String {
        match self.row.get(key) {
            Some(Value::String(text)) if !text.is_empty() => text.clone(),
            Some(_) => {
                self.bad(key, "a text that is not empty");
                String::new()
            }
            None => String::new(),
        }
    }

    fn one_of(&mut self, key: &str, choices: &[&str]) -> String {
        let text = self.text(key);
        if !text.is_empty() && !choices.contains(&text.as_str()) {
            self.bad(key, &format!("one of {}, not `{text}`", choices.join(", ")));
        }
        text
    }

    fn prompt(&mut self) -> PromptBy {
        match self.one_of("prompt", &["stdin", "argument", "file"]).as_str() {
            "argument" => PromptBy::Argument,
            "file" => PromptBy::File,
            _ => PromptBy::Stdin,
        }
    }

    fn parser(&mut self) -> Parser {
        let names: Vec<_> = Parser::ALL.iter().map(|parser| parser.name()).collect();
        let name = self.one_of("parser", &names);
        Parser::named(&name).unwrap_or(Parser::Text)
    }

    fn timeout(&mut self) -> u64 {
        let Some(value) = self.row.get("timeout_ms") else {
            return TIMEOUT_MS;
        };
        let timeout = value.as_integer().and_then(|ms| u64::try_from(ms).ok());
        timeout.filter(|ms| *ms > 0).unwrap_or_else(|| {
            self.bad("timeout_ms", "a whole number of milliseconds above 0");
            TIMEOUT_MS
        })
    }

    fn texts(&mut self, key: &str) -> Vec<String> {
        let Some(value) = self.row.get(key) else {
            return Vec::new();
        };
        let texts =
            value.as_array().and_then(|list| list.iter().map(|v| v.as_str().map(str::to_owned)).collect());
        texts.unwrap_or_else(|| {
            self.bad(key, "a list of texts");
            Vec::new()
        })
    }

    fn argv(&mut self, key: &str) -> Vec<Arg> {
        let Some(value) = self.row.get(key) else {
            return Vec::new();
        };
        let list = value.as_array().map(Vec::as_slice).unwrap_or_default();
        if list.is_empty() {
            self.bad(key, "a list of arguments, the program first");
        }
        list.iter().filter_map(|entry| self.arg(key, entry)).collect()
    }

    fn arg(&mut self, key: &str, entry: &Value) -> Option<Arg> {
        match entry {
            Value::String(text) if text == "{args}" => Some(Arg::Args),
            Value::String(text) => self.word(key, text).map(Arg::One),
            Value::Array(group) if group.iter().all(Value::is_str) => {
                let texts = group.iter().filter_map(Value::as_str);
                let words: Option<Vec<_>> = texts.map(|text| self.word(key, text)).collect();
                words.map(Arg::Group)
            }
            _ => {
                self.bad(key, "a list of texts, or of lists of texts");
                None
            }
        }
    }

    fn word(&mut self, key: &str, text: &str) -> Option<Word> {
        if text.contains('\0') {
            self.bad(key, "free of NUL characters");
        }
        Word::parse(text)
            .inspect_err(|name| {
                let hint = NAMES.map(|name| format!("{{{name}}}")).join(" ");
                self.problem(&format!("`{key}` has an unknown placeholder {{{name}}}\nhint: known are {hint}, and {{args}} alone"));
            })
            .ok()
    }

    fn env(&mut self) -> BTreeMap<String, Word> {
        let Some(value) = self.row.get("env") else {
            return BTreeMap::new();
        };
        let Some(table) = value.as_table() else {
            self.bad("env", "a table of texts");
            return BTreeMap::new();
        };
        let mut env = BTreeMap::new();
        for (name, value) in table {
            match value.as_str() {
                Some(text) => env.extend(self.word("env", text).map(|word| (name.clone(), word))),
                None => self.bad(&format!("env.{name}"), "a text"),
            }
        }
        env
    }

    fn env_names(&mut self, adapter: &Adapter) {
        for name in adapter.env.keys().chain(&adapter.keep_env) {
            if name.is_empty() || name.contains(['=', '\0']) {
                self.problem(&format!("`{}` is no name of an environment variable", name.escape_debug()));
            } else if name.starts_with("TRIBUNAL_") {
                self.problem(&format!("`{name}` is Tribunal's own and cannot be set or kept by a row"));
            }
        }
    }

    fn prompt_is_passed(&mut self, adapter: &Adapter) {
        let needed = match adapter.prompt {
            PromptBy::Stdin => return,
            PromptBy::Argument => "prompt",
            PromptBy::File => "prompt_file",
        };
        for (key, argv) in [("read_only", &adapter.read_only), ("write", &adapter.write)] {
            if !argv.is_empty() && !argv.iter().any(|arg| arg.uses(needed)) {
                self.problem(&format!(
                    "`{key}` never uses {{{needed}}}, so the prompt would not reach the agent"
                ));
            }
        }
    }
}
