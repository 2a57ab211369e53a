//! The pages of `tribunal --help` and `tribunal help --all`: which commands are used daily, and how the rest is grouped.
//!
//! One line about each command comes from its description in `args.rs`, so a page cannot say anything else than the
//! command's own help. The daily page must fit a terminal of 80 columns and 24 lines; a test counts them.

use crate::args::Cli;
use clap::CommandFactory;
use std::fmt::Write as _;

/// Commands that are listed together, with the heading above them.
struct Group {
    heading: &'static str,
    commands: &'static [&'static str],
}

/// The commands of everyday work, in the order in which they are met.
const DAILY: Group = Group {
    heading: "Every day",
    commands: &[
        "do", "review", "run", "land", "status", "inbox", "decide", "resume", "cancel", "watch", "serve",
    ],
};

/// All other commands. A command that is in no group fails a test.
const OTHERS: [Group; 5] = [
    Group {
        heading: "Features",
        commands: &["specify", "design", "create-plan", "create-tasks", "implement", "uat"],
    },
    Group { heading: "Looking", commands: &["show", "log", "explain", "report"] },
    Group { heading: "Pull requests and hooks", commands: &["waive"] },
    Group { heading: "Setting up", commands: &["init", "doctor", "config", "trust", "completions"] },
    Group {
        heading: "For those who build on it",
        commands: &[
            "intake", "delta", "dedupe", "docs", "replay", "mcp", "hook", "map", "gc", "demo", "protocol",
        ],
    },
];

/// The first lines of both pages.
const HEAD: &str = "Agents do planned work; checks and reviewers judge it; only approved work lands.\n\n\
    Usage: tribunal [OPTIONS] COMMAND\n";

/// The last lines of the daily page.
const MORE: &str = "
Begin with `tribunal demo`. `tribunal help --all` lists every command,
`tribunal help COMMAND` explains one.
Options: -C DIR, --json, --color WHEN, -q, -h, -V
Exit codes: 0 passed, 1 not approved, 2 usage, 3 failed, 4 waits for you
";

/// The last lines of the page with every command.
const EVERYWHERE: &str = "
For every command:
  -C DIR           Work as if started in DIR
  --json           Print JSON on stdout
  --color WHEN     Colour the output: auto, always or never
  -q, --quiet      Say nothing but results and errors
  -h, --help       Print help
  -V, --version    Print version

Exit codes:
  0 passed, 1 a gate stayed shut, 2 usage or configuration, 3 could not work,
  4 waits for a person, 70 our bug, 128+n signal

`tribunal help COMMAND` explains one command.
";

/// The whole command line, with the daily page as its help.
pub fn command() -> clap::Command {
    let command = Cli::command();
    let page = daily(&command);
    command.override_help(page)
}

/// The page of everyday work.
fn daily(command: &clap::Command) -> String {
    let mut page = HEAD.to_owned();
    list(&mut page, command, &DAILY);
    page.push_str(MORE);
    page
}

/// The page with every command, in groups.
pub fn whole(command: &clap::Command) -> String {
    let mut page = HEAD.to_owned();
    for group in std::iter::once(&DAILY).chain(&OTHERS) {
        list(&mut page, command, group);
    }
    page.push_str(EVERYWHERE);
    page
}

/// Adds a group to a page: its heading, and a line for each command.
fn list(page: &mut String, command: &clap::Command, group: &Group) {
    let width = group.commands.iter().map(|name| name.len()).max().unwrap_or(0);
    let _ = writeln!(page, "\n{}:", group.heading);
    for name in group.commands {
        let about = command.find_subcommand(name).and_then(clap::Command::get_about);
        let about = about.map(ToString::to_string).unwrap_or_default();
        let _ = writeln!(page, "  {name:width$}  {about}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_listed_once() {
        let cli = Cli::command();
        let mut listed: Vec<&str> =
            std::iter::once(&DAILY).chain(&OTHERS).flat_map(|group| group.commands).copied().collect();
        let mut shown: Vec<&str> =
            cli.get_subcommands().filter(|c| !c.is_hide_set()).map(clap::Command::get_name).collect();
        // Both pages name it in their text.
        shown.retain(|name| *name != "help");
        listed.sort_unstable();
        shown.sort_unstable();
        assert_eq!(listed, shown);
        let page = whole(&cli);
        for name in listed {
            let lines = page.lines().filter(|line| line.starts_with(&format!("  {name} ")));
            assert_eq!(lines.count(), 1, "{name}");
        }
    }

    #[test]
    fn the_pages_fit_eighty_columns_and_the_daily_one_a_screen() {
        let cli = Cli::command();
        let (daily, whole) = (daily(&cli), whole(&cli));
        for line in daily.lines().chain(whole.lines()) {
            assert!(line.chars().count() <= 80, "{line}");
        }
        // The line that called it, and the prompt after it.
        assert!(daily.lines().count() + 2 <= 24, "{daily}");
        insta::assert_snapshot!(whole);
    }
}
