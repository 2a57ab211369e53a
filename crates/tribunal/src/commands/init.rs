//! `tribunal init`: writes a short, commented tribunal.toml with the agents that are installed, and keeps `.tribunal/` out of
//! commits.
//!
//! It overwrites nothing and starts no agent, so it is safe to run in any project. The lines of the file are taken from
//! the compiled-in defaults.

use crate::args::{Globals, Init, Plugin, SetArgs};
use crate::config::{self, DEFAULTS, PROJECT_FILE};
use crate::exit::Done;
use crate::failure::Failure;
use crate::place::Place;
use crate::{out, plugin, test_command};
use std::io::{IsTerminal, Write};
use std::path::Path;
use tribunal_agent::Adapters;
use tribunal_world::{Project, WITHOUT_AGENTS, detected_commands, doctor};

/// Prepares the project, or writes the plugin for an editor.
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
    // Keeps `.tribunal/` out of commits, also where the settings file exists already.
    project.prepare()?;
    let path = project.root().join(PROJECT_FILE);
    let agents = doctor::installed(&Adapters::built_in().map_err(Failure::bug)?, &doctor::environment());
    // A test command that needs another one first does not fit into one setting; every run finds it anew.
    let tests = detected_commands(&project).test.filter(|test| test.setup.is_empty()).map(|test| test.argv);
    // `create_new` decides and creates in one step, so a file that appears meanwhile is not overwritten.
    let made = match std::fs::OpenOptions::new().write(true).create_new(true).open(&path) {
        Ok(mut file) => {
            file.write_all(written(&agents, tests.as_deref()).as_bytes())
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
            "test": tests,
        });
        out::json(&said)?;
        return Ok(Done::Passed);
    }
    let done = if made { "written" } else { "is there already and was left as it is" };
    out::say(&format!("{} {done}", path.display()));
    tell(&agents, made);
    test_command(&project, &path, tests.as_deref(), made)?;
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

/// The builder, and the reviewer if two agents are installed: another program makes other mistakes.
pub(super) fn chosen(agents: &[String]) -> Vec<&str> {
    agents.iter().take(2).map(String::as_str).collect()
}

fn tell(agents: &[String], made: bool) {
    if agents.is_empty() {
        return out::say(&format!("hint: {WITHOUT_AGENTS}"));
    }
    roles(agents, made).iter().for_each(|line| out::say(line));
}

/// Lines that say who builds and who reviews, or could. With one agent installed, they say what sharing both roles
/// means.
fn roles(agents: &[String], made: bool) -> Vec<String> {
    match chosen(agents)[..] {
        [] => Vec::new(),
        [one] => {
            let what = if made { "builds and judges" } else { "is the only agent program installed here" };
            let shared = "the same program in both roles judges in another launch, under the same login";
            let way = "install a second one, and [agents.roles.reviewer] adapter = \"…\" has it judge";
            vec![format!("{one} {what}; `tribunal doctor` looks closer"), format!("hint: {shared}; {way}")]
        }
        [builder, judge, ..] if made => {
            vec![format!("{builder} builds, {judge} judges; `tribunal doctor` looks closer")]
        }
        [_, judge, ..] => vec![
            format!("installed here: {}", agents.join(", ")),
            format!(
                "hint: [agents.roles.reviewer] adapter = \"{judge}\" has another program judge than the one that builds"
            ),
        ],
    }
}

/// Says which command runs the tests. If none is known, a person at a terminal is asked once.
fn test_command(project: &Project, path: &Path, tests: Option<&[String]>, made: bool) -> Result<(), Failure> {
    if let Some(argv) = tests {
        out::say(&format!("`{}` runs the tests (checks.test)", argv.join(" ")));
        return Ok(());
    }
    let terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    // A file that was there already is the person's: nothing is added to it.
    if made && terminal && !Place::here().is_ok_and(|place| is_set(&place, project)) {
        return test_command::ask()?.map_or(Ok(()), |answer| test_command::remember(path, &answer));
    }
    if made {
        out::say(
            "hint: no test command is known here; checks.test names it, or checks.no_tests says that there are none",
        );
    }
    Ok(())
}

/// True if another file of settings says how the project is tested.
fn is_set(place: &Place, project: &Project) -> bool {
    let config = config::here(Some(place), &SetArgs::default());
    config.is_ok_and(|config| test_command::is_known(project, &config.settings))
}

/// The few settings that most projects decide about: the lines of the defaults whose comment begins with a star.
///
/// A line that says what holds anyway is commented out, because commented defaults stay defaults: a project that never
/// changes the line follows them when they change in a later version. Everything else is left to `tribunal config show`
/// and the book, so that a newcomer can read the whole file.
fn written(agents: &[String], tests: Option<&[String]>) -> String {
    let chosen = chosen(agents);
    let mut text = "# Settings of this project. Every line that is commented out shows the default.\n\
                    # `tribunal config show` prints every key there is.\n"
        .to_owned();
    let (mut section, mut open) = ("", "");
    for line in DEFAULTS.lines() {
        if let Some((name, _)) = line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            section = name;
        }
        let Some((setting, comment)) = line.split_once("# * ") else { continue };
        let setting = setting.trim_end();
        let (table, setting, comment) = match (setting, &chosen[..], tests) {
            ("[agents.roles]", [.., reviewer], _) => {
                let is_default = chosen.len() < 2;
                let setting = format!("{}adapter = \"{reviewer}\"", if is_default { "# " } else { "" });
                ("agents.roles.reviewer", setting, REVIEWER)
            }
            ("[agents.roles]", [], _) => ("agents.roles.reviewer", "# adapter = \"\"".to_owned(), REVIEWER),
            (line, [builder, ..], _) if line.starts_with("default = ") => {
                (section, format!("default = \"{builder}\""), comment)
            }
            (line, _, Some(argv)) if line.starts_with("test = ") => {
                // A list of strings is written alike in JSON and TOML.
                let argv = serde_json::to_string(argv).unwrap_or_default().replace(",\"", ", \"");
                (section, format!("test = {argv}"), comment)
            }
            (line, _, _) => (section, format!("# {line}"), comment),
        };
        if table != open {
            text.push_str(&format!("\n[{table}]\n"));
            open = table;
        }
        text.push_str(&format!("{setting:30} # {comment}\n"));
    }
    text
}

/// What the line for the reviewer says. Its key is not in the defaults, because roles are named by the user.
const REVIEWER: &str = "the agent that reviews; another program than the builder makes other mistakes";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_agents_the_written_file_changes_nothing() {
        let table: toml::Table = toml::from_str(&written(&[], None)).unwrap();
        fn empty(value: &toml::Value) -> bool {
            value.as_table().is_some_and(|table| table.values().all(empty))
        }
        assert!(table.values().all(empty), "{table:?}");
        assert!(written(&[], None).contains("# effort = \"balanced\""));
    }

    #[test]
    fn six_settings_are_written() {
        let agents = ["claude", "codex"].map(str::to_owned);
        insta::assert_snapshot!(written(&agents, Some(&["npm", "test"].map(str::to_owned))));
        for agents in [&agents[..], &agents[..1], &[]] {
            let text = written(agents, None);
            assert_eq!(text.lines().filter(|line| line.contains(" = ")).count(), 6, "{text}");
        }
    }

    #[test]
    fn another_reviewer_is_proposed_or_its_lack_is_said() {
        let told = |agents: &[&str], made| {
            let agents: Vec<String> = agents.iter().map(|agent| (*agent).to_owned()).collect();
            roles(&agents, made).join("\n")
        };
        assert!(told(&["claude", "codex"], true).starts_with("claude builds, codex judges"));
        assert!(told(&["claude", "codex"], false).contains("adapter = \"codex\" has another program judge"));
        for made in [true, false] {
            let one = told(&["claude"], made);
            assert!(one.contains("judges in another launch, under the same login"), "{one}");
            assert!(one.contains("install a second one"), "{one}");
        }
        assert_eq!(told(&[], true), "");
    }

    #[test]
    fn installed_agents_are_chosen() {
        let check = |agents: &[&str], builder: &str, judge: Option<&str>| {
            let agents: Vec<String> = agents.iter().map(|agent| (*agent).to_owned()).collect();
            let table: toml::Table = toml::from_str(&written(&agents, None)).unwrap();
            let agents = &table["agents"];
            assert_eq!(agents["default"].as_str(), Some(builder), "{table:?}");
            let reviewer = agents["roles"]["reviewer"].get("adapter").map(|name| name.as_str().unwrap());
            assert_eq!(reviewer, judge, "{table:?}");
        };
        check(&["claude"], "claude", None);
        let tests = ["npm", "test", "--silent"].map(str::to_owned);
        let table: toml::Table = toml::from_str(&written(&[], Some(&tests))).unwrap();
        let test: Vec<&str> =
            table["checks"]["test"].as_array().unwrap().iter().filter_map(|word| word.as_str()).collect();
        assert_eq!(test, tests, "{table:?}");
        check(&["codex", "gemini", "aider"], "codex", Some("gemini"));
    }
}
