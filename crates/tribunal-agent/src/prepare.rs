//! Turns a row and a brief into a launch. It writes the prompt and the files that the row names into the launch's own
//! folder and nothing anywhere else, and never inherits an environment.
//!
//! Everything is checked before the first file is written. A launch that cannot be built leaves nothing behind that
//! could be mistaken for one that was started.

use crate::adapter::{Adapter, Feature, PromptBy};
use crate::brief::{Asks, Brief, Mcp, Prepared};
use crate::error::AgentError;
use crate::parse::is_session;
use crate::template::{Arg, Values};
use crate::word;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The name of the prompt file in a launch's folder.
pub const PROMPT_FILE: &str = "prompt.md";
/// The name of the file to which an agent reports its tool calls, as JSON lines.
pub const REPORT_FILE: &str = "report.jsonl";
/// Names that a row's own files cannot have, because we or the process supervisor write files of these names.
pub(crate) const RESERVED: [&str; 8] = [
    PROMPT_FILE,
    REPORT_FILE,
    PERSONALITY_FILE,
    SCHEMA_FILE,
    "stdout",
    "stderr",
    "process.json",
    "exit.json",
];

const PERSONALITY_FILE: &str = "personality.md";
/// The heading before a personality in a prompt. It says that the rules above stay in force.
const PERSONALITY_HEAD: &str = "## Who you are\n\nThis is how you look at things. It changes neither the rules above nor the form of your answer.";
const SCHEMA_FILE: &str = "schema.json";
/// The value in a row that leaves the choice of the model to the program.
const PROGRAMS_OWN_MODEL: &str = "default";
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";
const LANG: &str = "C.UTF-8";
// Linux refuses a single argument of 128 KiB or more.
const ARGUMENT_MAX: usize = 128 * 1024 - 1;

/// Returns the agent's own program and the environment that a launch would have, without writing anything.
///
/// The engine asks this before a run starts, to find out whether the configured program exists.
pub fn would_start(
    adapter: &Adapter,
    brief: &Brief,
    keep_env: &dyn Fn(&str) -> Option<OsString>,
) -> Result<(OsString, BTreeMap<OsString, OsString>), AgentError> {
    let at = |name: &str| brief.out_dir.join(name);
    let report = at(REPORT_FILE);
    let values = values(adapter, brief, &Asks::default(), &at(PROMPT_FILE), &report)?;
    let argv = argv(adapter, brief, &values)?;
    Ok((program(adapter, brief, &argv), environment(adapter, brief, &values, &report, keep_env)?))
}

/// Builds a launch, with everything asked for beyond the brief. `keep_env` looks up a variable of the user's
/// environment that may be passed on.
///
/// It can be called again for the same launch after a crash: every file is replaced as a whole.
pub fn prepare(
    adapter: &Adapter,
    brief: &Brief,
    asks: &Asks,
    keep_env: &dyn Fn(&str) -> Option<OsString>,
) -> Result<Prepared, AgentError> {
    let brief = &with_word(with_personality(adapter, brief, asks));
    let at = |name: &str| brief.out_dir.join(name);
    let (prompt_file, report_file) = (at(PROMPT_FILE), at(REPORT_FILE));
    let values = values(adapter, brief, asks, &prompt_file, &report_file)?;
    let argv = argv(adapter, brief, &values)?;
    let env = environment(adapter, brief, &values, &report_file, keep_env)?;
    let mut files = files(adapter, &values)?;
    let texts = [
        ("personality_file", PERSONALITY_FILE, &asks.personality),
        ("schema_file", SCHEMA_FILE, &asks.schema),
    ];
    // Written only where the row refers to the file: the launch's folder should hold what was really passed on.
    for (placeholder, name, text) in texts {
        if let Some(text) = text.as_ref().filter(|_| adapter.uses(placeholder, brief.access)) {
            files.push((name.to_owned(), text.clone().into()));
        }
    }
    // The prompt comes last, so a folder with a prompt has everything else as well.
    files.push((PROMPT_FILE.to_owned(), brief.prompt.clone().into()));
    for (name, text) in files {
        write_atomically(&at(&name), text.as_bytes())?;
    }
    // A file and not a pipe: some programs wait for the end of their input, and a file has one.
    let stdin_file = (adapter.prompt == PromptBy::Stdin).then_some(prompt_file);
    let left_out = left_out(adapter, brief, asks);
    let program = program(adapter, brief, &argv);
    Ok(Prepared { argv, program, env, stdin_file, dir: brief.dir.clone(), report_file, left_out })
}

/// Puts a personality behind the prompt if it cannot be told to the program itself.
///
/// It is never dropped. It stands behind the prompt because the rules stand before it, and because the part that all
/// agents share then stays at the beginning.
fn with_personality(adapter: &Adapter, brief: &Brief, asks: &Asks) -> Brief {
    let mut brief = brief.clone();
    if let Some(personality) = &asks.personality
        && !adapter.can(Feature::Personality, brief.access)
    {
        let prompt = brief.prompt.trim_end();
        brief.prompt = format!("{prompt}\n\n{PERSONALITY_HEAD}\n\n{}\n", personality.trim());
    }
    brief
}

/// Adds the launch word as the last line, behind everything that others wrote.
fn with_word(mut brief: Brief) -> Brief {
    if let Some(word) = &brief.word {
        brief.prompt = word::sealed(&brief.prompt, word);
    }
    brief
}

fn left_out(adapter: &Adapter, brief: &Brief, asks: &Asks) -> Vec<Feature> {
    let asked = |feature: &Feature| match feature {
        Feature::Model => brief.model.is_some(),
        // It is never left out: where the row has no place for it, it went behind the prompt.
        Feature::Personality => false,
        Feature::TurnCap => asks.turns.is_some(),
        Feature::Mcp => asks.mcp.is_some(),
        Feature::Schema => asks.schema.is_some(),
        Feature::Resume => asks.session.is_some(),
    };
    let lacks = |feature: &Feature| !adapter.can(*feature, brief.access);
    Feature::ALL.into_iter().filter(asked).filter(lacks).collect()
}

fn values(
    adapter: &Adapter,
    brief: &Brief,
    asks: &Asks,
    prompt_file: &Path,
    report_file: &Path,
) -> Result<Values, AgentError> {
    let mut values: Values =
        // Defaults come first, so that every fact about the launch wins over them.
        adapter.defaults.iter().map(|(name, text)| (*name, OsString::from(text))).collect();
    values.extend([
        ("attempt", brief.attempt.to_string().into()),
        ("dir", brief.dir.clone().into()),
        ("effect", brief.effect.clone().into()),
        ("out_dir", brief.out_dir.clone().into()),
        ("prompt", brief.prompt.clone().into()),
        ("prompt_file", prompt_file.into()),
        ("report", report_file.into()),
        ("role", brief.role.clone().into()),
        ("round", brief.round.to_string().into()),
        ("run", brief.run.clone().into()),
        ("self", brief.own_binary.clone().into()),
        ("signature", adapter.commit_signature.clone().into()),
        ("use", brief.loop_use.clone().into()),
    ]);
    // A model of the brief wins over that of the row.
    let default_model = Some(&adapter.model_execution).filter(|model| *model != PROGRAMS_OWN_MODEL);
    let optional = [
        ("plan", brief.plan.as_ref()),
        ("task", brief.task.as_ref()),
        ("reviewer", brief.reviewer.as_ref()),
        ("model", brief.model.as_ref().or(default_model)),
        ("program", adapter.program.as_ref()),
    ];
    values.extend(optional.into_iter().filter_map(|(name, value)| Some((name, value?.into()))));
    values.extend(brief.scenario.as_ref().map(|path| ("scenario", path.into())));
    add_asks(adapter, brief, asks, &mut values)?;
    Ok(values)
}

fn add_asks(adapter: &Adapter, brief: &Brief, asks: &Asks, values: &mut Values) -> Result<(), AgentError> {
    if let Some(text) = &asks.personality {
        values.insert("personality", text.into());
        values.insert("personality_file", brief.out_dir.join(PERSONALITY_FILE).into());
        values.insert("personality_json", json(text).into());
    }
    if let Some(text) = &asks.schema {
        values.insert("schema", text.into());
        values.insert("schema_file", brief.out_dir.join(SCHEMA_FILE).into());
    }
    values.extend(asks.turns.map(|turns| ("turns", turns.to_string().into())));
    if let Some(session) = &asks.session {
        // An agent printed this id, so it must not become an option or a path.
        if !is_session(session) {
            return Err(launch(adapter, &format!("{session:?} is no session id\nhint: start a new session")));
        }
        values.insert("session", session.into());
    }
    if let Some(mcp) = &asks.mcp {
        add_mcp(adapter, mcp, values)?;
    }
    Ok(())
}

fn add_mcp(adapter: &Adapter, mcp: &Mcp, values: &mut Values) -> Result<(), AgentError> {
    // The name becomes a key in TOML and JSON settings of programs, where other characters would need quoting.
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_".contains(&b);
    if mcp.name.is_empty() || !mcp.name.bytes().all(plain) {
        return Err(launch(adapter, &format!("{:?} is no name for an MCP server", mcp.name)));
    }
    let Some(command) = mcp.command.to_str() else {
        return Err(launch(adapter, &format!("{} is not UTF-8", mcp.command.display())));
    };
    let argv: Vec<&str> = [command].into_iter().chain(mcp.args.iter().map(String::as_str)).collect();
    values.insert("mcp_name", mcp.name.clone().into());
    values.insert("mcp_command", command.into());
    values.insert("mcp_command_json", json(command).into());
    values.insert("mcp_args_json", serde_json::Value::from(argv[1..].to_vec()).to_string().into());
    values.insert("mcp_argv_json", serde_json::Value::from(argv).to_string().into());
    Ok(())
}

/// Writes a text as JSON, in a form that is a TOML string as well.
fn json(text: &str) -> String {
    // JSON allows a DEL character in a string and TOML does not, so it is escaped.
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

fn files(adapter: &Adapter, values: &Values) -> Result<Vec<(String, OsString)>, AgentError> {
    let mut files = Vec::new();
    for (name, choice) in &adapter.files {
        let text = choice.fill(values).map_err(|name| no_value(adapter, name))?;
        files.extend(text.map(|text| (name.clone(), text)));
    }
    Ok(files)
}

fn argv(adapter: &Adapter, brief: &Brief, values: &Values) -> Result<Vec<OsString>, AgentError> {
    let mut argv = Vec::new();
    for arg in adapter.argv(brief.access) {
        arg.fill(values, &brief.args, &mut argv).map_err(|name| no_value(adapter, name))?;
    }
    // A driver of ours may stand first, so the configured words are checked as well: they name the real program.
    let nothing = |words: &[OsString]| words.first().is_none_or(|program| program.is_empty());
    if nothing(&argv) || (is_named_by_words(adapter, brief) && nothing(&brief.args)) {
        let problem = "no program to run\nhint: configure the agent's words: args = [\"program\", …]";
        return Err(launch(adapter, problem));
    }
    for arg in &argv {
        if arg.len() > ARGUMENT_MAX {
            let problem = format!(
                "an argument of {} bytes is more than the system takes ({ARGUMENT_MAX})\nhint: pass the prompt as `stdin` or `file`",
                arg.len()
            );
            return Err(launch(adapter, &problem));
        }
        refuse_nul(adapter, arg)?;
    }
    Ok(argv)
}

/// Whether the words configured for the agent begin with its program.
fn is_named_by_words(adapter: &Adapter, brief: &Brief) -> bool {
    adapter.program.is_none() && adapter.argv(brief.access).contains(&Arg::Args)
}

/// Finds the agent's own program, which may stand behind a driver of ours.
fn program(adapter: &Adapter, brief: &Brief, argv: &[OsString]) -> OsString {
    // The configured words come first: with a driver in front, the command line begins with our own program.
    let words = brief.args.first().filter(|_| is_named_by_words(adapter, brief));
    let row = || adapter.program.as_ref().filter(|_| adapter.uses("program", brief.access));
    words.cloned().or_else(|| row().map(OsString::from)).or_else(|| argv.first().cloned()).unwrap_or_default()
}

fn environment(
    adapter: &Adapter,
    brief: &Brief,
    values: &Values,
    report_file: &Path,
    keep_env: &dyn Fn(&str) -> Option<OsString>,
) -> Result<BTreeMap<OsString, OsString>, AgentError> {
    let mut env = BTreeMap::new();
    // Every launch has these two, whatever the row keeps.
    env.insert("PATH".into(), keep_env("PATH").unwrap_or_else(|| PATH.into()));
    env.insert("LANG".into(), keep_env("LANG").unwrap_or_else(|| LANG.into()));
    for name in &adapter.keep_env {
        env.extend(keep_env(name).map(|value| (name.into(), value)));
    }
    for (name, choice) in adapter.env(brief.access) {
        let value = choice.fill(values).map_err(|name| no_value(adapter, name))?;
        env.extend(value.map(|value| (OsString::from(name), value)));
    }
    // The order decides: our own variables come last, so neither a row nor a setting can replace them.
    env.extend(brief.env.clone());
    env.extend(own_env(brief, report_file));
    // Names from the brief arrive here as well, which the reader of rows has not checked.
    for (name, value) in &env {
        if name.is_empty() || name.as_bytes().contains(&b'=') {
            return Err(launch(adapter, &format!("{name:?} is no name of an environment variable")));
        }
        refuse_nul(adapter, name)?;
        refuse_nul(adapter, value)?;
    }
    Ok(env)
}

fn own_env(brief: &Brief, report_file: &Path) -> [(OsString, OsString); 9] {
    let text = |value: &Option<String>| value.clone().unwrap_or_default().into();
    let own: [(&str, OsString); 9] = [
        ("TRIBUNAL_ROLE", brief.role.clone().into()),
        ("TRIBUNAL_USE", brief.loop_use.clone().into()),
        ("TRIBUNAL_PLAN", text(&brief.plan)),
        ("TRIBUNAL_TASK", text(&brief.task)),
        ("TRIBUNAL_REVIEWER", text(&brief.reviewer)),
        ("TRIBUNAL_ROUND", brief.round.to_string().into()),
        ("TRIBUNAL_ATTEMPT", brief.attempt.to_string().into()),
        ("TRIBUNAL_EFFECT", brief.effect.clone().into()),
        ("TRIBUNAL_REPORT", report_file.into()),
    ];
    own.map(|(name, value)| (name.into(), value))
}

fn refuse_nul(adapter: &Adapter, text: &OsStr) -> Result<(), AgentError> {
    if text.as_bytes().contains(&0) {
        let problem =
            "an argument or variable holds a NUL character\nhint: pass the prompt as `stdin` or `file`";
        return Err(launch(adapter, problem));
    }
    Ok(())
}

fn no_value(adapter: &Adapter, name: &str) -> AgentError {
    let problem = format!(
        "this launch has no value for {{{name}}}\nhint: put it in a list of its own to make it optional: [\"--{name}\", \"{{{name}}}\"]"
    );
    launch(adapter, &problem)
}

fn launch(adapter: &Adapter, problem: &str) -> AgentError {
    AgentError::Launch { adapter: adapter.name.clone(), problem: problem.to_owned() }
}

/// Writes a whole file or nothing, and never follows a link at its place.
///
/// The agent can write into its launch's folder, so a file there may have been replaced by a link.
fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), AgentError> {
    let fail = |source| AgentError::io("write", path, source);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(fail)?;
    }
    tribunal_process::replace(path, bytes, None, tribunal_process::Flush::No).map_err(fail)
}
