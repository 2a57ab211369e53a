//! What a run would find on this machine: which agent programs are installed, in which version, and which of them the
//! settings need.
//!
//! It runs the commands that an adapter row names for this, contained, and asks no model. `tribunal doctor` shows what
//! is found here, and messages about a missing agent list it.

use crate::tests_run::green::commands_at;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tribunal_agent::tool::Tools;
use tribunal_agent::{Adapter, Adapters, Login, Tested};
use tribunal_core::green::tests_nothing;
use tribunal_docs::project_commands::{FoundCommand, FoundCommands};
use tribunal_engine::settings::Settings;
use tribunal_git::Repo;
use tribunal_process::{Containment, ExitHow, Launch, Network, Stdin, find_program, run_to_end};

pub use super::roster::adapters;
pub use crate::sandbox::Probe;

/// How long a command that checks a program may take.
const LINT_MAX: Duration = Duration::from_secs(60);
const GRACE: Duration = Duration::from_secs(1);
const OUTPUT_MAX: u64 = 1 << 20;
const VERSION_MAX: usize = 80;

/// The user's environment variables, by name.
pub type Environment = BTreeMap<String, OsString>;

/// An agent program as it is installed here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    /// The name of the adapter.
    pub agent: String,
    /// The name of the program.
    pub program: String,
    /// Its path; none if it is not installed.
    pub path: Option<PathBuf>,
    /// The version that it reports.
    pub version: Option<String>,
    /// How that version compares with those it was tested with.
    pub tested: Tested,
    /// The versions that it was tested with.
    pub known: Vec<String>,
    /// Signs that the user is logged in.
    pub login: Login,
    /// Problems with the program.
    pub faults: Vec<String>,
}

/// The environment of this process.
pub fn environment() -> Environment {
    std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value))).collect()
}

/// The path of an adapter's program.
///
/// `Err` holds the name of a program that is not installed. None is fine where the settings name the program.
pub fn program_of(row: &Adapter, environment: &Environment) -> Result<Option<PathBuf>, String> {
    let Some(program) = &row.program else { return Ok(None) };
    let path = environment.get("PATH").cloned().unwrap_or_default();
    let found = find_program(program.as_ref(), Path::new("/"), &[("PATH".into(), path)]);
    found.map(Some).map_err(|_| program.clone())
}

/// The adapters whose programs are installed, in the order in which they are offered.
pub fn installed(adapters: &Adapters, environment: &Environment) -> Vec<String> {
    const FIRST: [&str; 5] = ["claude", "codex", "gemini", "opencode", "aider"];
    let there = |name: &&str| {
        let row = adapters.get(name).ok();
        row.is_some_and(|row| matches!(program_of(row, environment), Ok(Some(_))))
    };
    let others = adapters.names().filter(|name| !FIRST.contains(name));
    FIRST.into_iter().chain(others).filter(there).map(str::to_owned).collect()
}

/// The adapters that the settings choose, each with its roles and reviewers.
pub fn chosen(settings: &Settings) -> BTreeMap<String, BTreeSet<String>> {
    let agents = &settings.agents;
    let reviewers =
        [&agents.plan_reviewers, &agents.task_reviewers, &agents.qa_reviewers, &agents.phase_reviewers];
    // By the order in which a launch looks for its adapter: the reviewer's own name, then its role.
    let reviewers = reviewers.into_iter().flatten().map(|reviewer| vec![reviewer.as_str(), "reviewer"]);
    let builders = ["dev", "architect"].into_iter().map(|role| vec![role]);
    let mut chosen: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for names in builders.chain(reviewers) {
        if let Some(adapter) = agents.adapter_for(&names) {
            chosen.entry(adapter).or_default().insert(names[0].to_owned());
        }
    }
    chosen
}

/// The build and test commands of a project, as a run that begins now would find them.
///
/// The settings come first, then what the files of the newest commit name. None where there is no commit to look at.
pub fn commands(root: &Path, settings: &Settings) -> Option<FoundCommands> {
    let configured = |argv: &[String], key: &str| {
        let found = format!("`{key}`");
        (!argv.is_empty()).then(|| FoundCommand { argv: argv.to_vec(), found, ..FoundCommand::default() })
    };
    let repo = Repo::open(root).ok()?;
    let mut found = commands_at(&repo, &repo.head().ok()?.commit).ok()?;
    let checks = &settings.checks;
    if let Some(build) = configured(&checks.build, "checks.build") {
        found.build = Some(build);
    }
    match configured(&checks.test, "checks.test") {
        // A command such as `true` would make every change pass. It is named instead of used.
        Some(test) if tests_nothing(&test.argv) => {
            let note = format!("`{}` ({}) tests nothing", test.shown(), test.found);
            found = FoundCommands { build: found.build, notes: vec![note], ..FoundCommands::default() };
        }
        Some(test) => {
            found.test = Some(test);
            (found.not_run, found.notes) = (Vec::new(), Vec::new());
        }
        None if checks.no_tests => found = FoundCommands { build: found.build, ..FoundCommands::default() },
        None => {}
    }
    Some(found)
}

/// The programs that a run would start as commands, each with the words that make it print its version.
///
/// They are those of the project's build and tests, of `checks.commands`, and of the installed tools.
pub fn programs(root: &Path, settings: &Settings, environment: &Environment) -> Vec<Vec<String>> {
    let found = commands(root, settings).unwrap_or_default();
    let of_project =
        found.build.iter().chain(&found.test).filter_map(|command| command.argv.first().cloned());
    let of_settings = settings.checks.commands.values().filter_map(|argv| argv.first().cloned());
    let tools = Tools::load(&settings.tools).ok();
    let path = environment.get("PATH");
    let of_tools = tools.iter().flat_map(|tools| tools.names().filter_map(|name| tools.get(name)));
    let of_tools = of_tools.filter_map(|tool| crate::tool::tools::program(root, path, tool.program()));
    let of_tools = of_tools.map(|program| program.display().to_string());
    // A program in the tree is the project's own, and asking it for its version would run the project's code.
    let plain = |program: &String| program.starts_with('/') || !program.contains('/');
    let all: BTreeSet<String> = of_project.chain(of_settings).chain(of_tools).filter(plain).collect();
    // `go` has a subcommand instead of a flag.
    let version = |program: &str| if program.ends_with("go") { "version" } else { "--version" };
    all.into_iter().map(|program| vec![program.clone(), version(&program).to_owned()]).collect()
}

/// Whether the program of a command cannot be found from the project's root.
pub fn is_missing(command: &FoundCommand, root: &Path, environment: &Environment) -> bool {
    let path = environment.get("PATH").cloned().unwrap_or_default();
    let program = command.argv.first().map(String::as_str).unwrap_or_default();
    find_program(program.as_ref(), root, &[("PATH".into(), path)]).is_err()
}

/// Looks at every adapter with a program of its own. `scratch` is a folder for the commands' output.
pub fn look(adapters: &Adapters, environment: &Environment, scratch: &Path) -> Vec<Installed> {
    let rows = adapters.names().filter_map(|name| adapters.get(name).ok());
    rows.filter_map(|row| look_at(row, environment, &scratch.join(&row.name))).collect()
}

fn look_at(row: &Adapter, environment: &Environment, scratch: &Path) -> Option<Installed> {
    let program = row.program.clone()?;
    let mut found = Installed {
        agent: row.name.clone(),
        program,
        path: program_of(row, environment).ok().flatten(),
        version: None,
        tested: Tested::Unknown,
        known: row.tested.clone(),
        login: row.login(&|name| environment.get(name).cloned()),
        faults: Vec::new(),
    };
    if found.path.is_none() {
        return Some(found);
    }
    for (n, command) in row.lint_commands.iter().enumerate() {
        match said(row, command, environment, &scratch.join(n.to_string())) {
            // The first command of a row prints the version; the others only have to succeed.
            Ok(said) if n == 0 => {
                found.tested = row.tested(&said);
                let line = said.lines().next().unwrap_or_default();
                found.version = Some(tribunal_view::plain::clipped(line, VERSION_MAX));
            }
            Ok(_) => {}
            Err(why) => found.faults.push(format!("{}: {why}", command.join(" "))),
        }
    }
    Some(found)
}

/// The version of a row's program: the first line of the first command that the row names for this.
pub(crate) fn version(row: &Adapter, environment: &Environment, scratch: &Path) -> Option<String> {
    program_of(row, environment).ok().flatten()?;
    let said = said(row, row.lint_commands.first()?, environment, scratch).ok()?;
    said.lines().next().map(|line| tribunal_view::plain::clipped(line, VERSION_MAX))
}

/// The output of a row's command.
fn said(
    row: &Adapter,
    command: &[String],
    environment: &Environment,
    out_dir: &Path,
) -> Result<String, String> {
    std::fs::create_dir_all(out_dir).map_err(|error| error.to_string())?;
    // Only these variables and the row's own: the check has to see what a launch would see.
    let names = ["PATH", "LANG", "TMPDIR"].into_iter().map(str::to_owned).chain(row.keep_env.iter().cloned());
    let env = names.filter_map(|name| Some((name.clone().into(), environment.get(&name)?.clone())));
    let launch = Launch {
        id: format!("doctor-{}", row.name),
        run_marker: format!("doctor-{}", std::process::id()),
        argv: command.iter().map(OsString::from).collect(),
        env: env.collect(),
        dir: out_dir.to_path_buf(),
        stdin: Stdin::Null,
        out_dir: out_dir.to_path_buf(),
        output_max: OUTPUT_MAX,
        mounts: None,
        network: Network::Host,
    };
    let exit =
        run_to_end(Containment::detect(), launch, LINT_MAX, GRACE).map_err(|error| error.to_string())?;
    match exit.how {
        ExitHow::Code(0) => {
            let bytes = std::fs::read(out_dir.join("stdout")).map_err(|error| error.to_string())?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        }
        ExitHow::Code(code) => Err(format!("exit code {code}")),
        ExitHow::Signal(signal) => Err(format!("signal {signal}, or longer than {} s", LINT_MAX.as_secs())),
        ExitHow::NotStarted(why) => Err(why),
    }
}
