//! The text of `doctor`: agents, roles, containment, git, disk space and runs. It only words what the engine found;
//! nothing is examined here.
//!
//! The doc comments of the types below are part of the published JSON schema.

use crate::plain::line;
use crate::sandbox::{self, PromiseView};
use crate::style::{Mark, Style, columns};
use crate::words;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write;

/// What a run would find here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DoctorView {
    /// The agents that have a program of their own.
    pub agents: Vec<AgentView>,
    /// How processes are held together.
    pub containment: String,
    /// Whether a process may escape it.
    pub containment_partial: bool,
    /// What keeps agents from files and the network.
    pub sandbox: String,
    /// Nothing does.
    pub sandbox_missing: bool,
    /// What else is promised of it, one by one, and whether it is kept here.
    pub promises: Vec<PromiseView>,
    /// Git's version; empty when there is no git.
    pub git: String,
    /// Bytes that are free where the project is.
    pub disk_free: u64,
    /// Bytes that Tribunal keeps in the project.
    pub kept: u64,
    /// The runs kept there.
    pub runs: u64,
    /// Gates that are switched off.
    pub gates_off: Vec<String>,
    /// What builds and tests the project; none outside of one.
    pub commands: Option<CommandsView>,
    /// What stands in the way of a run.
    pub problems: Vec<String>,
    /// What a person should know.
    pub warnings: Vec<String>,
}

/// The commands by which a run sees whether the project is green.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CommandsView {
    /// Builds it; none where the test command does, or where there is nothing to build.
    pub build: Option<CommandView>,
    /// Runs its tests; none where no file and no setting names a command.
    pub test: Option<CommandView>,
    /// Other test commands that were seen. They are not run.
    pub not_run: Vec<CommandView>,
    /// What else was seen, and why it is no command.
    pub notes: Vec<String>,
}

/// One command and its place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CommandView {
    /// As a person would type it.
    pub command: String,
    /// The file or the setting that says so.
    pub found: String,
    /// Whether its program is not on the PATH.
    pub missing: bool,
}

/// One agent program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AgentView {
    /// The adapter.
    pub name: String,
    /// Where its program is.
    pub path: Option<String>,
    /// Its version, as it prints it.
    pub version: Option<String>,
    /// `tested`, `newer`, `older`, `between` or `unknown`: against the versions Tribunal was tested with.
    pub tested: String,
    /// Those versions.
    pub known: Vec<String>,
    /// What can be told of a login.
    pub login: String,
    /// The roles and reviewers it plays by the settings.
    pub plays: Vec<String>,
    /// What is wrong with it.
    pub faults: Vec<String>,
    /// The contract test: `kept`, or why not; none when it was not asked for.
    pub contract: Option<String>,
}

/// The contract test's good end.
pub const KEPT: &str = "kept";

impl AgentView {
    fn mark(&self) -> Mark {
        // A contract test that was not asked for says nothing, neither good nor bad.
        let broken = !self.faults.is_empty() || self.contract.as_deref().is_some_and(|said| said != KEPT);
        // An agent that nobody uses may be missing; one that has a role may not.
        match (&self.path, broken) {
            (None, _) if self.plays.is_empty() => Mark::Skipped,
            (None, _) | (Some(_), true) => Mark::Failed,
            (Some(_), false) if self.tested == "tested" => Mark::Complete,
            // It works, but nobody has tried this version.
            (Some(_), false) => Mark::Warning,
        }
    }

    fn words(&self) -> String {
        let Some(_) = &self.path else { return "not installed".to_owned() };
        // A program that prints no version still works, so this is not a fault.
        let version = self.version.as_deref().map_or_else(|| "no version".to_owned(), line);
        let known = self.known.join(", ");
        let tested = match self.tested.as_str() {
            "tested" => "tested".to_owned(),
            "unknown" => "not known to have been tested".to_owned(),
            "between" => format!("between tested versions ({known})"),
            other => format!("{other} than tested ({known})"),
        };
        format!("{version}, {tested}; {}", self.login)
    }
}

/// Writes the whole view for people.
///
/// Problems stop a run and come before warnings, which do not.
pub fn text(view: &DoctorView, style: Style) -> String {
    let mut out = String::from("Agents\n");
    let widest = view.agents.iter().map(|agent| columns(&agent.name)).max().unwrap_or(0);
    for agent in &view.agents {
        let pad = " ".repeat(widest - columns(&agent.name));
        let _ = writeln!(out, "  {} {}{pad}  {}", style.mark(agent.mark()), agent.name, agent.words());
        // Lines about an agent stand below its words, behind the mark and the widest name.
        let under = " ".repeat(widest + 6);
        if !agent.plays.is_empty() {
            let _ = writeln!(out, "{under}plays {}", agent.plays.join(", "));
        }
        for fault in &agent.faults {
            let _ = writeln!(out, "{under}{}", line(fault));
        }
        if let Some(contract) = &agent.contract {
            let _ = writeln!(out, "{under}contract: {}", line(contract));
        }
    }
    machine(&mut out, view, style);
    for (mark, lines) in [(Mark::Failed, &view.problems), (Mark::Warning, &view.warnings)] {
        for text in lines {
            let _ = writeln!(out, "{} {}", style.mark(mark), text.replace('\n', "\n  "));
        }
    }
    // Warnings alone do not stop a run, so they do not take this line away.
    if view.problems.is_empty() {
        let _ = writeln!(out, "{} nothing stands in the way of a run", style.mark(Mark::Complete));
    }
    out
}

fn machine(out: &mut String, view: &DoctorView, style: Style) {
    let git = if view.git.is_empty() { "not found" } else { &view.git };
    let room = format!("{} free, {} kept in {}", bytes(view.disk_free), bytes(view.kept), runs(view.runs));
    let gates = if view.gates_off.is_empty() {
        "all on".to_owned()
    } else {
        format!("off: {}", view.gates_off.join(", "))
    };
    let held = [
        (
            if view.containment_partial { Mark::Warning } else { Mark::Complete },
            "processes",
            sandbox::contained(&view.containment).to_owned(),
        ),
        (if view.sandbox_missing { Mark::Warning } else { Mark::Complete }, "sandbox", view.sandbox.clone()),
    ];
    // A promise that does not hold is a warning: runs are possible, and every report will say so.
    let promises = view.promises.iter().map(|promise| {
        let mark = if promise.kept { Mark::Complete } else { Mark::Warning };
        (mark, promise.about.as_str(), promise.words.clone())
    });
    let rows = [
        (if view.git.is_empty() { Mark::Failed } else { Mark::Complete }, "git", git.to_owned()),
        (Mark::Complete, "room", room),
        (if view.gates_off.is_empty() { Mark::Complete } else { Mark::Warning }, "gates", gates),
    ];
    out.push_str("Here\n");
    let commands = view.commands.as_ref().map(command_rows).unwrap_or_default();
    for (mark, name, words) in held.into_iter().chain(promises).chain(rows).chain(commands) {
        let _ = writeln!(out, "  {} {name:9}  {}", style.mark(mark), line(&words));
    }
}

/// Lists the commands that say whether the project is green, and what was seen beside them.
fn command_rows(commands: &CommandsView) -> Vec<(Mark, &'static str, String)> {
    let row = |name, command: &CommandView| {
        let missing = if command.missing { ": its program is not on the PATH" } else { "" };
        let mark = if command.missing { Mark::Warning } else { Mark::Complete };
        (mark, name, format!("`{}` ({}){missing}", command.command, command.found))
    };
    let mut rows: Vec<_> = commands.build.iter().map(|build| row("build", build)).collect();
    rows.push(match &commands.test {
        Some(test) => row("tests", test),
        None => {
            // Said here and not only in the run: every pass without tests carries the same remark.
            let words = "no command is known: every pass will say that no tests ran; `checks.test` names one";
            (Mark::Warning, "tests", words.to_owned())
        }
    });
    let not_run = commands.not_run.iter().map(|other| {
        let words = format!("`{}` ({}) was seen and is not run", other.command, other.found);
        (Mark::Warning, "tests", format!("{words}: `checks.test` can name a command that runs both"))
    });
    rows.extend(not_run);
    rows.extend(commands.notes.iter().map(|note| (Mark::Warning, "tests", note.clone())));
    rows
}

fn runs(n: u64) -> String {
    words::count(usize::try_from(n).unwrap_or(usize::MAX), "run")
}

/// Writes a number of bytes for people: `12 MB`.
fn bytes(n: u64) -> String {
    const UNITS: [&str; 5] = ["B", "kB", "MB", "GB", "TB"];
    let mut unit = 0;
    let mut n = n;
    // Four digits are kept before the next unit, so that small numbers stay exact.
    while n >= 10_000 && unit + 1 < UNITS.len() {
        n /= 1000;
        unit += 1;
    }
    format!("{n} {}", UNITS[unit])
}

/// Returns the JSON schema of [`DoctorView`], which is what `doctor --json` prints.
pub fn schema() -> String {
    let schema = schemars::schema_for!(DoctorView);
    let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    text.push('\n');
    text
}
