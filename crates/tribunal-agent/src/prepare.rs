//! From a row and a brief to a launch. Writes the prompt file and nothing else; never inherits an environment.

use crate::adapter::{Adapter, PromptBy};
use crate::brief::{Access, Brief, Prepared};
use crate::error::AgentError;
use crate::template::Values;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The name of the prompt's file in a launch's folder.
pub const PROMPT_FILE: &str = "prompt.md";
/// The name of the file an agent reports its tool calls to, as JSON lines.
pub const REPORT_FILE: &str = "report.jsonl";

const PATH: &str = "/usr/local/bin:/usr/bin:/bin";
const LANG: &str = "C.UTF-8";
// Linux refuses a single argument of 128 KiB or more.
const ARGUMENT_MAX: usize = 128 * 1024 - 1;

/// Builds the launch; `keep_env` looks up a name that may be passed on from the user's environment.
pub fn prepare(
    adapter: &Adapter,
    brief: &Brief,
    keep_env: &dyn Fn(&str) -> Option<OsString>,
) -> Result<Prepared, AgentError> {
    let prompt_file = brief.out_dir.join(PROMPT_FILE);
    let report_file = brief.out_dir.join(REPORT_FILE);
    let values = values(adapter, brief, &prompt_file, &report_file);
    let argv = argv(adapter, brief, &values)?;
    let env = environment(adapter, brief, &values, &report_file, keep_env)?;
    write_atomically(&prompt_file, brief.prompt.as_bytes())?;
    let stdin_file = (adapter.prompt == PromptBy::Stdin).then_some(prompt_file);
    Ok(Prepared { argv, env, stdin_file, dir: brief.dir.clone(), report_file })
}

fn values(adapter: &Adapter, brief: &Brief, prompt_file: &Path, report_file: &Path) -> Values {
    let model = brief.model.as_ref().unwrap_or(&adapter.model_execution);
    let mut values = Values::from([
        ("attempt", brief.attempt.to_string().into()),
        ("dir", brief.dir.clone().into()),
        ("effect", brief.effect.clone().into()),
        ("model", model.into()),
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
    let optional = [("plan", &brief.plan), ("task", &brief.task), ("seat", &brief.seat)];
    values.extend(optional.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?.into()))));
    values.extend(brief.scenario.as_ref().map(|path| ("scenario", path.into())));
    values
}

fn argv(adapter: &Adapter, brief: &Brief, values: &Values) -> Result<Vec<OsString>, AgentError> {
    let template = match brief.access {
        Access::ReadOnly => &adapter.read_only,
        Access::Write => &adapter.write,
    };
    let mut argv = Vec::new();
    for arg in template {
        arg.fill(values, &brief.args, &mut argv).map_err(|name| no_value(adapter, name))?;
    }
    if argv.first().is_none_or(|program| program.is_empty()) {
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

fn environment(
    adapter: &Adapter,
    brief: &Brief,
    values: &Values,
    report_file: &Path,
    keep_env: &dyn Fn(&str) -> Option<OsString>,
) -> Result<BTreeMap<OsString, OsString>, AgentError> {
    let mut env = BTreeMap::new();
    env.insert("PATH".into(), keep_env("PATH").unwrap_or_else(|| PATH.into()));
    env.insert("LANG".into(), keep_env("LANG").unwrap_or_else(|| LANG.into()));
    for name in &adapter.keep_env {
        env.extend(keep_env(name).map(|value| (name.into(), value)));
    }
    for (name, word) in &adapter.env {
        let value = word.fill(values).map_err(|name| no_value(adapter, name))?;
        env.insert(name.into(), value);
    }
    env.extend(brief.env.clone());
    let text = |value: &Option<String>| value.clone().unwrap_or_default().into();
    let own: [(&str, OsString); 9] = [
        ("TRIBUNAL_ROLE", brief.role.clone().into()),
        ("TRIBUNAL_USE", brief.loop_use.clone().into()),
        ("TRIBUNAL_PLAN", text(&brief.plan)),
        ("TRIBUNAL_TASK", text(&brief.task)),
        ("TRIBUNAL_SEAT", text(&brief.seat)),
        ("TRIBUNAL_ROUND", brief.round.to_string().into()),
        ("TRIBUNAL_ATTEMPT", brief.attempt.to_string().into()),
        ("TRIBUNAL_EFFECT", brief.effect.clone().into()),
        ("TRIBUNAL_REPORT", report_file.into()),
    ];
    env.extend(own.map(|(name, value)| (name.into(), value)));
    for (name, value) in &env {
        if name.is_empty() || name.as_bytes().contains(&b'=') {
            return Err(launch(adapter, &format!("{name:?} is no name of an environment variable")));
        }
        refuse_nul(adapter, name)?;
        refuse_nul(adapter, value)?;
    }
    Ok(env)
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

/// Writes a whole file or nothing, without following a link left at its place.
fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), AgentError> {
    let part: PathBuf = path.with_extension("part");
    let fail = |source| AgentError::io("write", path, source);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(fail)?;
    }
    // A launch's folder has one writer; a leftover is from a crash of ours.
    match fs::remove_file(&part) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(fail(error)),
        _ => {}
    }
    let mut file = fs::File::create_new(&part).map_err(fail)?;
    file.write_all(bytes).map_err(fail)?;
    fs::rename(&part, path).map_err(fail)
}
