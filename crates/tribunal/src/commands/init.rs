//! `tribunal init`: a commented tribunal.toml with the agents that are installed, and `.tribunal/` kept out of commits.
//! Overwrites nothing, and starts no agent.

use crate::args::{Globals, Init, Plugin};
use crate::config::{DEFAULTS, PROJECT_FILE};
use crate::exit::Done;
use crate::failure::Failure;
use crate::place::Place;
use crate::{out, plugin};
use std::io::Write;
use tribunal_agent::Adapters;
use tribunal_engine::real::{Project, WITHOUT_AGENTS, doctor};

/// Prepares the project.
pub fn run(globals: &Globals, args: &Init) -> Result<Done, Failure> {
    match args.plugin {
        Some(Plugin::Claude) => return plugin_for_claude(globals),
        Some(Plugin::Agents) => {
            out::data(plugin::AGENTS)?;
            return Ok(Done::Passed);
        }
        None => {}
    }
    let dir = std::env::current_dir()
        .map_err(|error| Failure::work(format!("the working directory is gone: {error}")))?;
    let project = Project::open(&dir)?;
    project.prepare()?;
    let path = project.root().join(PROJECT_FILE);
    let agents = doctor::installed(&Adapters::built_in().map_err(Failure::bug)?, &doctor::environment());
    let made = match std::fs::OpenOptions::new().write(true).create_new(true).open(&path) {
        Ok(mut file) => {
            file.write_all(written(&agents).as_bytes())
                .map_err(|error| Failure::work(format!("cannot write {}: {error}", path.display())))?;
            true
        }
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => false,
        Err(error) => return Err(Failure::work(format!("cannot write {}: {error}", path.display()))),
    };
    if globals.json {
        let said = serde_json::json!({
            "config": path.display().to_string(),
            "written": made,
            "installed": agents,
            "chosen": if made { chosen(&agents) } else { Vec::new() },
        });
        out::json(&said)?;
        return Ok(Done::Passed);
    }
    let done = if made { "written" } else { "is there already and was left as it is" };
    out::say(&format!("{} {done}", path.display()));
    tell(&agents, made);
    if !project.root().join(project.planning()).is_dir() {
        out::say("hint: put plans into .planning/phases/01-name/01-01-PLAN.md, then `tribunal run 01`");
    }
    Ok(Done::Passed)
}

fn plugin_for_claude(globals: &Globals) -> Result<Done, Failure> {
    let written = plugin::write(&Place::here()?.root)?;
    if globals.json {
        out::json(&serde_json::json!({ "plugin": plugin::FOLDER, "written": written }))?;
        return Ok(Done::Passed);
    }
    match written.is_empty() {
        true => out::say(&format!("{} is there already", plugin::FOLDER)),
        false => written.iter().for_each(|path| out::say(&format!("{path} written"))),
    }
    out::say(&format!("hint: claude --plugin-dir {} loads it for one session", plugin::FOLDER));
    out::say(
        "hint: in a session, /plugin marketplace add ./.claude/plugins and /plugin install tribunal@tribunal-here keep it",
    );
    Ok(Done::Passed)
}

/// The maker, and the reviewer where there are two: who judges is better not the one who made.
fn chosen(agents: &[String]) -> Vec<&str> {
    agents.iter().take(2).map(String::as_str).collect()
}

fn tell(agents: &[String], made: bool) {
    match chosen(agents)[..] {
        [] => out::say(&format!("hint: {WITHOUT_AGENTS}")),
        _ if !made => out::say(&format!("installed here: {}", agents.join(", "))),
        [one] => out::say(&format!(
            "{one} makes and judges, each in a session of its own; `tribunal doctor` looks closer"
        )),
        [maker, judge, ..] => {
            out::say(&format!("{maker} makes, {judge} judges; `tribunal doctor` looks closer"));
        }
    }
}

/// The defaults with every setting commented out, but for the agents that are installed here.
fn written(agents: &[String]) -> String {
    let line = |line: &str| match chosen(agents)[..] {
        [maker, ..] if line.starts_with("default = ") => {
            let comment = line.find('#').map_or("", |at| &line[at..]);
            format!("{:30} {comment}\n", format!("default = \"{maker}\""))
        }
        [_, judge, ..] if line.starts_with("[agents.roles]") => {
            format!(
                "{line}\n\n[agents.roles.reviewer]        # whoever has no role of its own judges as this one\nadapter = \"{judge}\"\n"
            )
        }
        _ if line.is_empty() || line.starts_with(['#', '[']) => format!("{line}\n"),
        _ => format!("# {line}\n"),
    };
    let head = "# Settings of this project. Every line that is commented out shows the default.\n\n";
    let body = DEFAULTS.lines().skip_while(|line| line.starts_with('#') || line.is_empty());
    format!("{head}{}", body.map(line).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_agents_the_written_file_changes_nothing() {
        let table: toml::Table = toml::from_str(&written(&[])).unwrap();
        fn empty(value: &toml::Value) -> bool {
            value.as_table().is_some_and(|table| table.values().all(empty))
        }
        assert!(table.values().all(empty), "{table:?}");
        assert!(written(&[]).contains("# effort = \"balanced\""));
    }

    #[test]
    fn installed_agents_are_chosen() {
        let check = |agents: &[&str], maker: &str, judge: Option<&str>| {
            let agents: Vec<String> = agents.iter().map(|agent| (*agent).to_owned()).collect();
            let table: toml::Table = toml::from_str(&written(&agents)).unwrap();
            let agents = &table["agents"];
            assert_eq!(agents["default"].as_str(), Some(maker), "{table:?}");
            let reviewer = agents["roles"].get("reviewer").map(|role| role["adapter"].as_str().unwrap());
            assert_eq!(reviewer, judge, "{table:?}");
        };
        check(&["claude"], "claude", None);
        check(&["codex", "gemini", "aider"], "codex", Some("gemini"));
    }
}
