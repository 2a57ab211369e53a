//! Reads one row and collects everything that is wrong with it. A missing required key is reported, never filled in.
//!
//! The reader goes on after a fault with a harmless value, so that one pass names all of them. No such value is ever
//! used: a row with a fault gives no adapter.

use super::{Adapter, Feature, Home, PromptBy};
use crate::brief::Access;
use crate::parse::{JsonFields, Parser, ProblemKind};
use crate::prepare::RESERVED;
use crate::template::{Arg, Choice, NAMES, Word};
use std::collections::BTreeMap;
use toml::{Table, Value};

// Ten minutes, for programs whose row sets no limit. `docs/design/adapters.md` states it.
const TIMEOUT_MS: u64 = 600_000;
const REQUIRED: [&str; 8] = [
    "parallel_execution",
    "structured_messaging",
    "spawn_agent_personality",
    "collect_results",
    "model_execution",
    "commit_signature",
    "read_only",
    "write",
];
/// Keys that a program needs on top when each launch is one process.
const OF_PROCESS: [&str; 2] = ["prompt", "parser"];
const OPTIONAL: [&str; 23] = [
    "cleanup_coordination",
    "config_files",
    "coordinate_parallel",
    "defaults",
    "env",
    "env_read_only",
    "env_write",
    "exit_codes",
    "fields",
    "files",
    "home_copy",
    "home_private",
    "home_read",
    "home_write",
    "keep_env",
    "like",
    "lint_commands",
    "login_env",
    "login_files",
    "program",
    "shutdown_agents",
    "tested",
    "timeout_ms",
];

/// Reads one row and adds its faults to those of the other rows.
pub(super) struct Reader<'a> {
    name: &'a str,
    row: &'a Table,
    problems: &'a mut Vec<String>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(name: &'a str, row: &'a Table, problems: &'a mut Vec<String>) -> Self {
        Self { name, row, problems }
    }

    /// Returns the adapter, unless something is wrong with the row.
    ///
    /// The checks at the end concern several keys at once, so they run after all keys were read.
    pub(super) fn adapter(mut self) -> Option<Adapter> {
        // Faults of earlier rows are in the same list, and must not refuse this one.
        let before = self.problems.len();
        self.names_of_keys();
        let program = self.row.contains_key("program").then(|| self.text("program"));
        let adapter = Adapter {
            name: self.name.to_owned(),
            parallel_execution: self.flag("parallel_execution"),
            structured_messaging: self.flag("structured_messaging"),
            spawn_agent_personality: self.one_of("spawn_agent_personality", &["prompt", "system"]),
            collect_results: self.one_of("collect_results", &["report", "final", "report_or_final"]),
            model_execution: self.text("model_execution"),
            commit_signature: self.text("commit_signature"),
            coordinate_parallel: self.coordination(),
            shutdown_agents: self.method("shutdown_agents", &["none", "terminate"]),
            cleanup_coordination: self.method("cleanup_coordination", &["none", "engine"]),
            prompt: self.prompt(),
            parser: self.parser(),
            fields: self.fields(),
            exit_codes: self.exit_codes(),
            timeout_ms: self.timeout(),
            keep_env: self.texts("keep_env"),
            lint_commands: self.commands(program.as_deref()),
            login_env: self.texts("login_env"),
            login_files: self.texts("login_files"),
            tested: self.texts("tested"),
            config_files: self.config_files(),
            home: Home {
                private: self.texts("home_private"),
                read: self.texts("home_read"),
                write: self.texts("home_write"),
                copy: self.texts("home_copy"),
            },
            read_only: self.argv("read_only"),
            write: self.argv("write"),
            env: self.choices("env"),
            env_read_only: self.choices("env_read_only"),
            env_write: self.choices("env_write"),
            files: self.files(),
            defaults: self.defaults(),
            row: self.row.clone(),
            program,
        };
        self.prompt_is_passed(&adapter);
        self.personality_is_passed(&adapter);
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
        // All missing keys in one message, so that a new row is completed in one step.
        let missing: Vec<_> =
            REQUIRED.into_iter().chain(OF_PROCESS).filter(|key| !self.row.contains_key(*key)).collect();
        if !missing.is_empty() {
            let list = missing.join(", ");
            self.problem(&format!("missing required key(s): {list}"));
        }
        // Unknown keys are refused because a misspelt optional key would otherwise be ignored in silence.
        let all = [&REQUIRED[..], &OF_PROCESS[..], &OPTIONAL[..]].concat();
        let unknown: Vec<_> = self.row.keys().filter(|key| !all.contains(&key.as_str())).cloned().collect();
        if !unknown.is_empty() {
            let (list, hint) = (unknown.join(", "), all.join(", "));
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
            // A missing key was reported with all the others; a second message would only repeat it.
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

    /// Reads a method that may be left out. The first choice is the default.
    fn method(&mut self, key: &str, choices: &[&str]) -> String {
        match self.row.contains_key(key) {
            true => self.one_of(key, choices),
            false => choices[0].to_owned(),
        }
    }

    /// Programs that run several launches at once are coordinated by the engine unless the row says otherwise.
    fn coordination(&mut self) -> String {
        // Read from the row directly: a wrong value was reported by `flag` and must not be reported twice.
        let several = self.row.get("parallel_execution") == Some(&Value::Boolean(true));
        self.method("coordinate_parallel", if several { &["engine", "none"] } else { &["none", "engine"] })
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
        // Zero would mean that every launch times out before it begins.
        timeout.filter(|ms| *ms > 0).unwrap_or_else(|| {
            self.bad("timeout_ms", "a whole number of milliseconds above 0");
            TIMEOUT_MS
        })
    }

    fn texts(&mut self, key: &str) -> Vec<String> {
        let Some(value) = self.row.get(key) else {
            return Vec::new();
        };
        texts_of(value).unwrap_or_else(|| {
            self.bad(key, "a list of texts");
            Vec::new()
        })
    }

    fn table(&mut self, key: &str) -> &'a Table {
        static EMPTY: std::sync::LazyLock<Table> = std::sync::LazyLock::new(Table::new);
        match self.row.get(key) {
            Some(Value::Table(table)) => table,
            Some(_) => {
                self.bad(key, "a table");
                &EMPTY
            }
            None => &EMPTY,
        }
    }

    /// Reads names of files and folders. Paths are refused, because the names are looked for at every depth of a
    /// worktree.
    fn config_files(&mut self) -> Vec<String> {
        let names = self.texts("config_files");
        if names
            .iter()
            .any(|name| name.trim_end_matches('/').is_empty() || name.trim_end_matches('/').contains('/'))
        {
            self.bad("config_files", "a list of names of files, or of folders with `/` at their end");
        }
        names
    }

    /// Reads commands that run without a shell: each is a program and its arguments.
    fn commands(&mut self, program: Option<&str>) -> Vec<Vec<String>> {
        let Some(value) = self.row.get("lint_commands") else {
            return Vec::new();
        };
        let lists = value.as_array().and_then(|list| list.iter().map(texts_of).collect::<Option<Vec<_>>>());
        let Some(lists) = lists.filter(|lists| lists.iter().all(|command| !command.is_empty())) else {
            self.bad("lint_commands", "a list of lists of texts, the program first");
            return Vec::new();
        };
        // Only the whole word is replaced: these commands are no templates, and have no launch whose values could fill
        // them.
        let fill = |word: String| match program {
            Some(program) if word == "{program}" => program.to_owned(),
            _ => word,
        };
        lists.into_iter().map(|command| command.into_iter().map(fill).collect()).collect()
    }

    fn fields(&mut self) -> JsonFields {
        let mut fields = JsonFields::default();
        for (name, value) in self.table("fields") {
            let pointer = value.as_str().filter(|text| text.starts_with('/'));
            if !pointer.is_some_and(|pointer| fields.set(name, pointer)) {
                let names = JsonFields::NAMES.join(", ");
                self.bad("fields", &format!("JSON pointers (`/a/b`) by the names {names}"));
            }
        }
        fields
    }

    fn exit_codes(&mut self) -> BTreeMap<i32, ProblemKind> {
        let mut codes = BTreeMap::new();
        for (code, value) in self.table("exit_codes") {
            // Code 0 names no failure; whether it comes with an answer is read from the output.
            let number = code.parse::<i32>().ok().filter(|code| *code != 0);
            match (number, value.as_str().and_then(ProblemKind::named)) {
                (Some(number), Some(kind)) => drop(codes.insert(number, kind)),
                _ => {
                    let names = ProblemKind::ALL.map(ProblemKind::name).join(", ");
                    self.bad("exit_codes", &format!("codes other than 0, each with one of {names}"));
                }
            }
        }
        codes
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
            // `{args}` stands for any number of arguments, so it must be a word of its own.
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
        // The system ends an argument at a NUL, so the program would see something else than the row says.
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

    /// Reads a table of texts, or of lists of texts. Of a list, the first text whose placeholders all have a value
    /// counts.
    fn choices(&mut self, key: &str) -> BTreeMap<String, Choice> {
        let mut choices = BTreeMap::new();
        for (name, value) in self.table(key) {
            let list = value.as_str().map(|text| vec![text.to_owned()]).or_else(|| texts_of(value));
            let Some(list) = list else {
                self.bad(&format!("{key}.{name}"), "a text, or a list of texts");
                continue;
            };
            let words: Option<Vec<_>> = list.iter().map(|text| self.word(key, text)).collect();
            // A list is optional as a whole; a single text that cannot be filled is a fault of the launch.
            let optional = value.is_array();
            choices.extend(words.map(|words| (name.clone(), Choice { words, optional })));
        }
        choices
    }

    fn files(&mut self) -> BTreeMap<String, Choice> {
        let files = self.choices("files");
        for name in files.keys() {
            // These become files in the launch's folder: no path may lead out of it, and none may replace one of our
            // own.
            let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
            if !plain || name.is_empty() || name.starts_with('.') || RESERVED.contains(&name.as_str()) {
                self.problem(&format!("`files`: {} is no name for a file of a launch", name.escape_debug()));
            }
        }
        files
    }

    fn defaults(&mut self) -> BTreeMap<&'static str, String> {
        let mut defaults = BTreeMap::new();
        for (name, value) in self.table("defaults") {
            match (NAMES.iter().find(|known| **known == name.as_str()), value.as_str()) {
                (Some(known), Some(text)) => drop(defaults.insert(*known, text.to_owned())),
                _ => self.bad("defaults", "texts by the names of placeholders"),
            }
        }
        defaults
    }

    fn env_names(&mut self, adapter: &Adapter) {
        let set = adapter.env.keys().chain(adapter.env_read_only.keys()).chain(adapter.env_write.keys());
        for name in set.chain(&adapter.keep_env) {
            if name.is_empty() || name.contains(['=', '\0']) {
                self.problem(&format!("`{}` is no name of an environment variable", name.escape_debug()));
            // These names carry facts about the launch, and a row must not contradict them.
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
            // An empty command line was reported before.
            if !argv.is_empty() && !argv.iter().any(|arg| arg.uses(needed)) {
                self.problem(&format!(
                    "`{key}` never uses {{{needed}}}, so the prompt would not reach the agent"
                ));
            }
        }
    }

    /// Checks that a personality reaches the program the way the row says, and only that way.
    ///
    /// Without this check, a personality could be passed twice, or be dropped in silence.
    fn personality_is_passed(&mut self, adapter: &Adapter) {
        let system = adapter.spawn_agent_personality == "system";
        for (key, access) in [("read_only", Access::ReadOnly), ("write", Access::Write)] {
            if !adapter.argv(access).is_empty() && adapter.can(Feature::Personality, access) != system {
                let word = if system { "never" } else { "also" };
                self.problem(&format!(
                    "`spawn_agent_personality` is `{}`, but `{key}` {word} uses {{personality}}",
                    adapter.spawn_agent_personality
                ));
            }
        }
    }
}

fn texts_of(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|text| text.as_str().map(str::to_owned)).collect()
}
