//! `tribunal doctor`: shows what a run would find here. It spends nothing, unless `--contract` asks each agent for one
//! line.
//!
//! It uses the functions that a run uses (adapters, sandbox, agent checks) instead of tests of its own, so that a clean
//! bill of health means something. Problems stop a run and set the exit code; warnings do not.

use crate::args::{Doctor, Globals};
use crate::config;
use crate::exit::Done;
use crate::failure::Failure;
use crate::out;
use crate::place::Place;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use tribunal_agent::{Adapters, Login, Tested};
use tribunal_docs::project_commands::FoundCommand;
use tribunal_engine::settings::Settings;
use tribunal_process::Containment;
use tribunal_view::doctor::{AgentView, CommandView, CommandsView, DoctorView, KEPT};
use tribunal_view::{plain, sandbox};
use tribunal_world::doctor::{self, Environment, Installed, Probe};
use tribunal_world::{FOLDER, Sandbox, WITHOUT_AGENTS, trial};

/// Less free space than this earns a warning.
const ROOM_MIN: u64 = 1 << 30;

/// Looks at the machine and the project, and prints what it found.
pub fn run(globals: &Globals, args: &Doctor) -> Result<Done, Failure> {
    if args.schema {
        out::data(&tribunal_view::doctor::schema())?;
        return Ok(Done::Passed);
    }
    // Outside of a project the machine and the agents can be looked at all the same.
    let place = Place::here().ok();
    let config = config::here(place.as_ref(), &args.set)?;
    let untrusted = config.untrusted_note();
    let settings = config.settings;
    let (adapters, environment) = (doctor::adapters(&settings)?, doctor::environment());
    let scratch =
        tempfile::tempdir().map_err(|error| Failure::work(format!("no scratch folder: {error}")))?;
    let found = doctor::look(&adapters, &environment, &scratch.path().join("versions"));
    let plays = doctor::chosen(&settings);
    let mut view = DoctorView {
        agents: found.iter().map(|found| agent(found, &plays)).collect(),
        gates_off: settings.gates.off.clone(),
        commands: place.as_ref().and_then(|place| commands(&place.root, &settings, &environment)),
        ..machine(place.as_ref(), &settings)
    };
    let probe = Probe {
        settings: &settings,
        adapters: &adapters,
        environment: &environment,
        project: place.as_ref().map(|place| place.root.as_path()),
        scratch: &scratch.path().join("inside"),
    };
    in_the_sandbox(&mut view, &probe);
    if args.contract {
        if !globals.quiet && !globals.json {
            out::say("asking each installed agent for one line; this costs what one short answer costs");
        }
        let sandbox = Sandbox::of(&settings.agents.sandbox, || Containment::detect().can_sandbox());
        contracts(&mut view, &adapters, &environment, scratch.path(), (sandbox, &settings.agents.readable));
    }
    // The order matters: `launchable` looks only where no problem was found before it.
    judge(&mut view, &settings, &adapters, &environment);
    view.problems.extend(ground(place.as_ref()).into_iter().chain(untrusted));
    launchable(&mut view, place.as_ref(), &settings);
    view.problems.extend(unkept(place.as_ref(), &settings));
    if globals.json {
        out::json(&view)?;
    } else {
        out::data(&tribunal_view::doctor::text(&view, out::stdout_style(globals)))?;
    }
    Ok(if view.problems.is_empty() { Done::Passed } else { Done::Shut })
}

fn agent(found: &Installed, plays: &BTreeMap<String, BTreeSet<String>>) -> AgentView {
    let tested = match found.tested {
        Tested::Yes => "tested",
        Tested::Newer => "newer",
        Tested::Older => "older",
        Tested::Between => "between",
        Tested::Unknown => "unknown",
    };
    let login = match &found.login {
        Login::Variable(name) => format!("{name} is set"),
        Login::File(path) => format!("logged in by {}", path.display()),
        Login::None => "no sign of a login".to_owned(),
        Login::Unknown => "whether it is logged in cannot be told".to_owned(),
    };
    AgentView {
        name: found.agent.clone(),
        path: found.path.as_ref().map(|path| plain::line(&path.display().to_string())),
        version: found.version.clone(),
        tested: tested.to_owned(),
        known: found.known.clone(),
        login,
        plays: plays.get(&found.agent).into_iter().flatten().cloned().collect(),
        faults: found.faults.clone(),
        contract: None,
    }
}

/// Tries every program as a launch would start it.
///
/// An installed program may still fail inside the sandbox. For an agent with a role that is a problem; for a command it
/// is a warning, since perhaps no check of this project needs it.
fn in_the_sandbox(view: &mut DoctorView, probe: &Probe<'_>) {
    for agent in view.agents.iter_mut().filter(|agent| agent.path.is_some() && agent.faults.is_empty()) {
        // A name without a row is reported by `judge`.
        let Ok(row) = probe.adapters.get(&agent.name) else { continue };
        let fault = row.lint_commands.first().and_then(|argv| probe.fault(&agent.name, Some(row), argv));
        let Some(fault) = fault else { continue };
        // An agent without a role cannot stop a run; its fault is shown and nothing more.
        if agent.plays.is_empty() {
            agent.faults.push(fault);
        } else {
            view.problems.push(format!("{}: {fault}", agent.name));
        }
    }
    let programs = probe.project.map(|root| doctor::programs(root, probe.settings, probe.environment));
    for argv in programs.into_iter().flatten() {
        view.warnings.extend(probe.fault(&argv[0], None, &argv));
    }
}

/// The commands that build and test the project here, and where each was found.
fn commands(root: &Path, settings: &Settings, environment: &Environment) -> Option<CommandsView> {
    let found = doctor::commands(root, settings)?;
    let shown = |command: &FoundCommand| CommandView {
        command: plain::line(&command.shown()),
        found: plain::line(&command.found),
        missing: doctor::is_missing(command, root, environment),
    };
    Some(CommandsView {
        build: found.build.as_ref().map(shown),
        test: found.test.as_ref().map(shown),
        not_run: found.not_run.iter().map(shown).collect(),
        notes: found.notes.iter().map(|note| plain::line(note)).collect(),
    })
}

fn machine(place: Option<&Place>, settings: &Settings) -> DoctorView {
    let containment = Containment::detect();
    let sandbox = Sandbox::of(&settings.agents.sandbox, || containment.can_sandbox());
    let facts = tribunal_world::sandbox_facts(sandbox, &containment, settings);
    let root = place.map_or(Path::new("."), |place| place.root.as_path());
    let room = rustix::fs::statvfs(root).ok();
    DoctorView {
        containment: containment.name().to_owned(),
        containment_partial: containment.is_partial(),
        sandbox: sandbox::state_words(&facts),
        promises: sandbox::promises(&facts),
        sandbox_missing: sandbox != Sandbox::Raised,
        git: tribunal_git::git_version(root).unwrap_or_default(),
        disk_free: room.map_or(0, |room| room.f_bavail.saturating_mul(room.f_frsize)),
        kept: place.map_or(0, |place| size(&place.root.join(FOLDER), 0)),
        runs: place.map_or(0, |place| place.runs().len() as u64),
        warnings: place.map(journals).unwrap_or_default(),
        ..DoctorView::default()
    }
}

/// Faults of the journals of the runs kept here.
fn journals(place: &Place) -> Vec<String> {
    let mut wrong = Vec::new();
    for run in place.runs() {
        match tribunal_journal::verify(&place.run_dir(&run)) {
            Ok(health) => wrong.extend(health.problems.iter().map(|why| format!("journal of {run}: {why}"))),
            Err(error) => wrong.push(format!("journal of {run}: {error}")),
        }
    }
    wrong
}

/// The bytes below a folder. Links are not followed, and the depth is limited: agents write below it.
fn size(dir: &Path, depth: u32) -> u64 {
    let entries = std::fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok);
    entries
        .filter_map(|entry| Some((entry.path(), entry.metadata().ok()?)))
        .map(|(path, meta)| match meta.is_dir() {
            true if depth < 32 => size(&path, depth + 1),
            // Not an error: the number is only shown, and a rough one will do.
            true => 0,
            false => meta.len(),
        })
        .sum()
}

fn contracts(
    view: &mut DoctorView,
    adapters: &Adapters,
    environment: &Environment,
    scratch: &Path,
    (sandbox, readable): (Sandbox, &[String]),
) {
    for agent in view.agents.iter_mut().filter(|agent| agent.path.is_some()) {
        let Ok(row) = adapters.get(&agent.name) else { continue };
        let dir = scratch.join("contract").join(&agent.name);
        let said = match trial::contract(adapters, row, &dir, environment, sandbox, readable) {
            Ok(Ok(())) => KEPT.to_owned(),
            Ok(Err(failure)) => format!("not kept: {}: {}", word(failure.kind), failure.text),
            Err(error) => format!("not tried: {error}"),
        };
        // The answer is an agent's own words.
        agent.contract = Some(plain::clipped(&said, 300));
    }
}

/// The name of a failure as the journal writes it.
fn word(kind: tribunal_core::review_loop::FailureKind) -> String {
    let value = serde_json::to_value(kind).unwrap_or_default();
    value.as_str().unwrap_or_default().replace('_', " ")
}

/// Checks that every role of a run could be started.
fn launchable(view: &mut DoctorView, place: Option<&Place>, settings: &Settings) {
    // With other problems known, this would only report them again in other words.
    let project = place.filter(|_| view.problems.is_empty()).and_then(|place| place.project().ok());
    let wrong = project.and_then(|project| tribunal_world::check_agents(&project, settings).err());
    view.problems.extend(wrong.map(|error| error.to_string()));
}

/// The user's rules for commits that a run cannot follow while nobody is there.
fn unkept(place: Option<&Place>, settings: &Settings) -> Option<String> {
    let project = place.and_then(|place| place.project().ok())?;
    tribunal_world::check_rules(&project, settings, None).err().map(|error| error.to_string())
}

/// Problems with what a run needs before it has agents: git, and folders it can write to.
fn ground(place: Option<&Place>) -> Vec<String> {
    let root = place.map_or(Path::new("."), |place| place.root.as_path());
    let git = tribunal_git::check_version(root).err().map(|error| error.to_string());
    let folder = root.join(FOLDER);
    let folders = [if folder.exists() { folder } else { root.to_owned() }, root.join(".git")];
    // Outside of a project there is no folder to write to.
    let folders = folders.into_iter().filter(|path| place.is_some() && path.exists());
    let closed = folders.filter_map(|path| {
        let why = match rustix::fs::access(&path, rustix::fs::Access::WRITE_OK) {
            Err(errno) => std::io::Error::from(errno).to_string(),
            Ok(()) if path.ends_with(FOLDER) && !path.is_dir() => "it is not a folder".to_owned(),
            Ok(()) => return None,
        };
        Some(format!(
            "{} cannot be written: {why}\nhint: check its owner, its permissions and the mount",
            path.display()
        ))
    });
    git.into_iter().chain(closed).collect()
}

/// Adds the problems that stop a run and the warnings a person should know of.
fn judge(view: &mut DoctorView, settings: &Settings, adapters: &Adapters, environment: &Environment) {
    let chosen = doctor::chosen(settings);
    let installed = doctor::installed(adapters, environment);
    match (chosen.is_empty(), installed.is_empty()) {
        (true, true) => view.problems.push(WITHOUT_AGENTS.to_owned()),
        (true, false) => view.problems.push(format!(
            "no agent is configured\nhint: installed here: {}; `tribunal init` writes them into tribunal.toml",
            installed.join(", ")
        )),
        (false, _) => {}
    }
    for (name, roles) in &chosen {
        let roles: Vec<&str> = roles.iter().map(String::as_str).collect();
        match adapters.get(name).map(|row| doctor::program_of(row, environment)) {
            Err(error) => view.problems.push(error.to_string()),
            Ok(Err(program)) => view.problems.push(format!(
                "{name} ({}) is not installed: there is no program {program:?} on the PATH\nhint: install it, or choose \
                 another agent in tribunal.toml",
                roles.join(", ")
            )),
            Ok(Ok(_)) => {}
        }
    }
    let broken = view.agents.iter().filter(|agent| !agent.plays.is_empty());
    let broken =
        broken.filter_map(|agent| Some((agent, agent.contract.as_ref().filter(|said| *said != KEPT)?)));
    view.problems.extend(broken.map(|(agent, said)| format!("{}: {said}", agent.name)));
    for agent in view.agents.iter().filter(|agent| !agent.plays.is_empty() && agent.path.is_some()) {
        if agent.login == "no sign of a login" {
            view.warnings.push(format!("{}: {}; its first launch may fail", agent.name, agent.login));
        }
    }
    // 0 means that the system did not say.
    if view.disk_free > 0 && view.disk_free < ROOM_MIN {
        view.warnings.push("there is little room left on this disk".to_owned());
    }
}
