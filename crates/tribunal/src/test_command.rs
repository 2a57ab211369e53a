//! Asks once which command runs the project's tests, and writes the answer into `tribunal.toml`.
//!
//! Only a person at a terminal is asked. In every other case the report says that no tests ran and which setting to
//! change.

use crate::args::Globals;
use crate::config::PROJECT_FILE;
use crate::failure::Failure;
use crate::out;
use crate::place::Place;
use std::io::{BufRead, IsTerminal};
use std::path::Path;
use toml_edit::{Array, DocumentMut, Item, Table, value};
use tribunal_engine::settings::Settings;
use tribunal_world::Project;

/// A person's answer to the question for the test command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// This command runs the tests.
    Runs(Vec<String>),
    /// The project has no tests.
    NoTests,
}

/// Asks for the test command if none is known, and remembers the answer in the project's file.
///
/// An answer ends the command with a failure, on purpose. The file is now changed and not committed, and a run does not
/// move a branch whose worktree has changes; so the user commits it before anything begins.
pub fn asked_once(
    globals: &Globals,
    place: &Place,
    project: &Project,
    settings: &Settings,
) -> Result<(), Failure> {
    let terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    // A script that reads JSON has nobody to answer, even if a terminal is attached.
    if globals.json || !terminal || is_known(project, settings) {
        return Ok(());
    }
    let Some(answer) = ask()? else { return Ok(()) };
    remember(&place.root.join(PROJECT_FILE), &answer)?;
    let text = format!("{PROJECT_FILE} remembers the answer, and nothing was begun: commit it and run again");
    Err(Failure::usage(text).hint("git commit -m \"chore: name the test command\" -- tribunal.toml"))
}

/// True if a setting or the project's files say how it is tested.
pub fn is_known(project: &Project, settings: &Settings) -> bool {
    let checks = &settings.checks;
    !checks.test.is_empty() || checks.no_tests || tribunal_world::detected_commands(project).test.is_some()
}

/// Asks at the terminal; `None` if the input ends without an answer.
pub fn ask() -> Result<Option<Answer>, Failure> {
    out::say("Which command runs the tests of this project? An empty line: there are none.");
    let mut line = String::new();
    // Ctrl-D is not an empty line: it must not be remembered as "there are no tests".
    if std::io::stdin().lock().read_line(&mut line)? == 0 {
        return Ok(None);
    }
    Ok(Some(read(&line)))
}

/// Reads a line as a person types it. A line with shell syntax becomes an argument of `sh -c`.
fn read(line: &str) -> Answer {
    let line = line.trim();
    // Any of these means something to a shell; splitting at blanks would silently run another command.
    let for_a_shell = line.contains(|c: char| "|&;<>()$`\\\"'*?[]{}~#=".contains(c));
    let words = line.split_whitespace().map(str::to_owned).collect();
    match (line.is_empty(), for_a_shell) {
        (true, _) => Answer::NoTests,
        (false, false) => Answer::Runs(words),
        (false, true) => Answer::Runs(vec!["sh".to_owned(), "-c".to_owned(), line.to_owned()]),
    }
}

/// Writes the answer into the project's file and keeps every other byte of it.
pub fn remember(path: &Path, answer: &Answer) -> Result<(), Failure> {
    let cannot = |what: &str, error: &dyn std::fmt::Display| {
        Failure::work(format!("cannot {what} {}: {error}", path.display()))
    };
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(cannot("read", &error)),
    };
    let with = with_answer(&text, answer).map_err(|error| cannot("read", &error))?;
    tribunal_world::write_atomic(path, with.as_bytes()).map_err(|error| cannot("write", &error))
}

fn with_answer(text: &str, answer: &Answer) -> Result<String, toml_edit::TomlError> {
    let mut document: DocumentMut = text.parse()?;
    // `toml_edit` keeps comments and order; a file written anew would lose the person's own.
    let checks = document.entry("checks").or_insert_with(|| Item::Table(Table::new()));
    let (key, item) = match answer {
        Answer::Runs(argv) => ("test", value(argv.iter().collect::<Array>())),
        Answer::NoTests => ("no_tests", value(true)),
    };
    if let Some(checks) = checks.as_table_like_mut() {
        checks.insert(key, item);
    }
    Ok(document.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_command_or_a_word_to_a_shell() {
        let runs = |words: &[&str]| Answer::Runs(words.iter().map(|word| (*word).to_owned()).collect());
        for (line, expect) in [
            ("\n", Answer::NoTests),
            ("make test\n", runs(&["make", "test"])),
            ("  ./run-tests.sh   --all ", runs(&["./run-tests.sh", "--all"])),
            ("cd web && npm test\n", runs(&["sh", "-c", "cd web && npm test"])),
            ("CI=1 npm test", runs(&["sh", "-c", "CI=1 npm test"])),
        ] {
            assert_eq!(read(line), expect, "{line:?}");
        }
    }

    #[test]
    fn the_answer_is_added_and_nothing_else_changes() {
        let make = Answer::Runs(vec!["make".to_owned(), "test".to_owned()]);
        for (before, answer, after) in [
            ("", &make, "[checks]\ntest = [\"make\", \"test\"]\n"),
            ("", &Answer::NoTests, "[checks]\nno_tests = true\n"),
            (
                "# mine\n[run]   # kept\neffort = 'fast'\n",
                &make,
                "# mine\n[run]   # kept\neffort = 'fast'\n\n[checks]\ntest = [\"make\", \"test\"]\n",
            ),
            (
                "[checks]\ntimeout_s = 9 # long\n\n[git]\npush = \"never\"\n",
                &Answer::NoTests,
                "[checks]\ntimeout_s = 9 # long\nno_tests = true\n\n[git]\npush = \"never\"\n",
            ),
            (
                "[checks.commands]\nlint = [\"x\"]\n",
                &make,
                "[checks.commands]\nlint = [\"x\"]\n\n[checks]\ntest = [\"make\", \"test\"]\n",
            ),
        ] {
            let found = with_answer(before, answer).unwrap();
            let all = before.lines().all(|line| found.lines().any(|one| one == line));
            assert!(all, "{before} became {found}");
            let read: toml::Table = toml::from_str(&found).unwrap();
            let expect: toml::Table = toml::from_str(after).unwrap();
            assert_eq!(read, expect, "{found}");
        }
        assert!(with_answer("[checks\n", &make).is_err(), "what cannot be read is not written over");
    }
}
