//! Checks whether the agents of a run can be launched at all: the adapters exist, their rows can be filled in, their
//! programs are there. It starts nothing and writes nothing.
//!
//! It is asked before anything else is done, so that a typo in the settings does not surface hours later, when the
//! first agent of that role is needed.

use super::doctor;
use crate::project::Project;
use crate::project::error::{SetupError, way_to_an_agent};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use tribunal_agent::{Access, Adapters, Brief};
use tribunal_engine::settings::Settings;

/// An agent that a run will or may launch: the names under which its settings are looked up, the first one first.
struct Place {
    names: Vec<String>,
    access: Access,
    /// The run cannot pass without it.
    needed: bool,
}

/// The adapter rows: those compiled in, and those of the settings.
pub fn adapters(settings: &Settings) -> Result<Adapters, SetupError> {
    let mut adapters = Adapters::built_in()?;
    for (name, row) in &settings.adapters {
        let rows = toml::Table::from_iter([(name.clone(), row.clone())]);
        adapters.add("tribunal.toml", &rows)?;
    }
    Ok(adapters)
}

/// Rejects settings with which an agent of the run could never be launched.
pub fn check(project: &Project, settings: &Settings) -> Result<(), SetupError> {
    check_places(project, settings, &places(settings))
}

fn check_places(project: &Project, settings: &Settings, places: &[Place]) -> Result<(), SetupError> {
    let adapters = adapters(settings)?;
    let own_binary =
        std::env::current_exe().map_err(|error| SetupError::io("find", Path::new("tribunal"), &error))?;
    let looking = Looking { settings, adapters: &adapters, root: project.root(), own_binary };
    places.iter().try_for_each(|place| looking.at(place))
}

/// The same for one step of an artifact chain: its builder, and its reviewer if there is one.
pub(crate) fn check_chain(
    project: &Project,
    settings: &Settings,
    reviewer: Option<&str>,
) -> Result<(), SetupError> {
    let place =
        |names: [&str; 2], access| Place { names: names.map(str::to_owned).to_vec(), access, needed: true };
    let builder = place(["executor", "dev"], Access::Write);
    let reviewer = reviewer.map(|reviewer| place([reviewer, "reviewer"], Access::ReadOnly));
    check_places(project, settings, &std::iter::once(builder).chain(reviewer).collect::<Vec<_>>())
}

fn places(settings: &Settings) -> Vec<Place> {
    let agents = &settings.agents;
    let builder = |name: &str, needed| Place { names: vec![name.to_owned()], access: Access::Write, needed };
    let mut places = vec![builder("dev", true), builder("architect", false)];
    let backups =
        ["dev-backup", "architect-backup"].into_iter().filter(|name| agents.roles.contains_key(*name));
    places.extend(backups.map(|name| builder(name, false)));
    let reviewers = agents.plan_reviewers.iter().chain(&agents.task_reviewers).chain(&agents.qa_reviewers);
    for reviewer in reviewers {
        let names = vec![reviewer.clone(), "reviewer".to_owned()];
        places.push(Place { names: names.clone(), access: Access::ReadOnly, needed: true });
        // A fallback reviewer without settings of its own uses those of the reviewer it stands in for.
        let names = [vec!["backup".to_owned()], names].concat();
        places.push(Place { names, access: Access::ReadOnly, needed: false });
    }
    if agents.roles.contains_key("adjudicator") {
        let names = vec!["adjudicator".to_owned(), "reviewer".to_owned()];
        places.push(Place { names, access: Access::ReadOnly, needed: true });
    }
    places
}

struct Looking<'a> {
    settings: &'a Settings,
    adapters: &'a Adapters,
    root: &'a Path,
    own_binary: PathBuf,
}

impl Looking<'_> {
    fn at(&self, place: &Place) -> Result<(), SetupError> {
        let roles = &self.settings.agents.roles;
        let own = place.names.iter().find_map(|name| Some((name, roles.get(name)?.adapter.clone()?)));
        let (key, adapter) = match own {
            Some((name, adapter)) => (format!("agents.roles.{}.adapter", quoted(name)), adapter),
            None => ("agents.default".to_owned(), self.settings.agents.default.clone()),
        };
        if adapter.is_empty() {
            let role = place.names.first().cloned().unwrap_or_default();
            let installed = || doctor::installed(self.adapters, &doctor::environment());
            // An optional agent that nobody configured is simply not used.
            return if place.needed {
                Err(SetupError::NoAgent { role, installed: installed() })
            } else {
                Ok(())
            };
        }
        let wrong = |key: &str, problem: String| SetupError::Roster { key: key.to_owned(), problem };
        let row = self.adapters.get(&adapter).map_err(|error| wrong(&key, error.to_string()))?;
        // The arguments come from the first name that has settings at all, the adapter from the first that sets one.
        let worded = place.names.iter().find(|name| roles.contains_key(*name));
        let args = worded.filter(|name| roles.get(*name).is_some_and(|role| !role.args.is_empty()));
        let key = match (args, &row.program) {
            (Some(name), None) => format!("agents.roles.{}.args", quoted(name)),
            _ => key,
        };
        let keep = |name: &str| std::env::var_os(name);
        let (program, env) = tribunal_agent::would_start(row, &self.brief(place, worded), &keep)
            .map_err(|error| wrong(&key, for_role(&error.to_string(), place)))?;
        // A relative path lies in the tree that the agent will work in, which does not exist yet.
        let elsewhere = program.as_encoded_bytes().contains(&b'/') && !Path::new(&program).is_absolute();
        if elsewhere {
            return Ok(());
        }
        let env: Vec<(OsString, OsString)> = env.into_iter().collect();
        match tribunal_process::find_program(&program, self.root, &env) {
            Ok(_) => Ok(()),
            Err(error) => {
                let here = doctor::installed(self.adapters, &doctor::environment());
                let way_out = way_to_an_agent(&here);
                Err(wrong(&key, format!("the adapter `{adapter}` cannot be launched: {error}{way_out}")))
            }
        }
    }

    /// A brief with everything that decides what the command line looks like.
    fn brief(&self, place: &Place, worded: Option<&String>) -> Brief {
        let agents = &self.settings.agents;
        let role = worded.and_then(|name| agents.roles.get(name));
        let name = place.names.first().cloned().unwrap_or_default();
        Brief {
            run: "run".to_owned(),
            effect: "effect".to_owned(),
            role: name.clone(),
            loop_use: "task".to_owned(),
            plan: Some("plan".to_owned()),
            task: Some("1".to_owned()),
            reviewer: Some(name),
            round: 1,
            attempt: 1,
            prompt: "prompt".to_owned(),
            word: None,
            dir: self.root.to_path_buf(),
            access: place.access,
            out_dir: self.root.to_path_buf(),
            model: role.and_then(|role| role.model.clone()),
            args: role.map(|role| role.args.iter().map(OsString::from).collect()).unwrap_or_default(),
            scenario: (!agents.scenario.is_empty()).then(|| self.root.join(&agents.scenario)),
            own_binary: self.own_binary.clone(),
            env: BTreeMap::new(),
        }
    }
}

/// Adds the role to a problem: several roles may share `agents.default`, and each needs arguments of its own.
fn for_role(problem: &str, place: &Place) -> String {
    let role = place.names.last().map_or("", String::as_str);
    let words = format!("no program to run as {role}\nhint: configure [agents.roles.{}] with", quoted(role));
    problem.replace("no program to run\nhint: configure the agent's words:", &words)
}

/// A name as part of a settings key, quoted if necessary.
fn quoted(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    if name.chars().all(plain) { name.to_owned() } else { format!("\"{name}\"") }
}
