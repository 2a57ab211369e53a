//! The demo: a small real project, agents that follow a script, and the very commands a user would type.
//!
//! It starts this program again for each command, so what is shown is what everybody gets. A scene states how each
//! command must end, and every scripted turn must be played; the demo is therefore a test of the whole program, too.

use crate::args::{Demo, Globals, Scenario};
use crate::commands::{resume, trust};
use crate::exit::Done;
use crate::failure::Failure;
use crate::out;
use crate::place::Place;
use crate::signals::{self, Relay};
use clap::ValueEnum;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use tribunal_git::{Repo, Signature};
use tribunal_process::ExitHow;
use tribunal_view::words::from_elsewhere;

const PHASE: &str = ".planning/phases/01-tools";

/// The files of the demo's project, by path.
const FILES: [(&str, &str); 9] = [
    ("README.md", include_str!("files/README.md")),
    ("NOTES.txt", include_str!("files/NOTES.txt")),
    ("tribunal.toml", include_str!("files/tribunal.toml")),
    ("tests/run.sh", include_str!("files/run.sh")),
    ("tests/notes.sh", include_str!("files/notes.sh")),
    (".planning/phases/01-tools/01-01-PLAN.md", include_str!("files/01-01-PLAN.md")),
    (".planning/phases/01-tools/01-02-PLAN.md", include_str!("files/01-02-PLAN.md")),
    (".planning/phases/01-tools/01-03-PLAN.md", include_str!("files/01-03-PLAN.md")),
    (".planning/phases/01-tools/01-04-PLAN.md", include_str!("files/01-04-PLAN.md")),
];

/// The turns that all scenes share; a scene's own turns come before them.
const COMMON: &str = include_str!("scenes/common.toml");

/// The number of the journal append at which the crash scene kills itself.
const CRASH_AT: &str = "60";

/// Builds the project and plays one scene.
pub fn run(args: &Demo, globals: &Globals) -> Result<Done, Failure> {
    let dir = place(args)?;
    let stage = Stage { dir, globals, relay: Relay::new()? };
    if let Err(failure) = stage.build(args.scenario) {
        // Half a project is of no use. A folder that the person named is theirs and stays.
        if args.dir.is_none() {
            let _ = std::fs::remove_dir_all(&stage.dir);
        }
        return Err(failure);
    }
    stage.say(&format!("{}\nThe project is in {}.", intro(args.scenario), stage.dir.display()));
    match stage.play(args.scenario) {
        Ok(()) => stage.played()?,
        Err(Halt::Stopped { signal, command }) => {
            // Even with `--quiet`: a person who stops the demo wants to know what is left of it.
            out::say(&stage.stopped(signal, &command));
            return Ok(Done::Signal(signal));
        }
        Err(Halt::Failed(failure)) => return Err(failure),
    }
    stage.say(&format!("\nTry next:\n{}", next(args.scenario, &stage.dir)));
    Ok(Done::Passed)
}

/// The folder for the project: the one named, or a new one among the temporary files.
fn place(args: &Demo) -> Result<PathBuf, Failure> {
    let dir = match &args.dir {
        Some(dir) => std::path::absolute(dir).map_err(|error| Failure::usage(error.to_string()))?,
        None => {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            // Time and process, so that two demos at once do not share a folder.
            let name = format!("tribunal-demo-{}-{}", since.as_millis(), std::process::id());
            std::env::temp_dir().join(name)
        }
    };
    let taken = dir.read_dir().is_ok_and(|mut entries| entries.next().is_some());
    if taken {
        return Err(Failure::usage(format!("{} is not empty", dir.display()))
            .hint("name a new folder with --dir, or leave it out"));
    }
    Ok(dir)
}

fn scene(scenario: Scenario) -> &'static str {
    match scenario {
        Scenario::Pass => include_str!("scenes/demo.toml"),
        Scenario::Stale => include_str!("scenes/stale.toml"),
        Scenario::Exhausted => include_str!("scenes/exhausted.toml"),
        Scenario::Escalated => include_str!("scenes/escalated.toml"),
        Scenario::Blocked => include_str!("scenes/blocked.toml"),
        Scenario::Oscillating => include_str!("scenes/oscillating.toml"),
        // The same agents: after the crash everything has to end as without it.
        Scenario::Crash => include_str!("scenes/demo.toml"),
        Scenario::Hostile => {
            concat!(include_str!("scenes/hostile.toml"), include_str!("scenes/hostile_ci.toml"))
        }
    }
}

fn intro(scenario: Scenario) -> &'static str {
    match scenario {
        Scenario::Pass => {
            "Four plans in two waves. One plan is rejected and revised, one task fails its review and is fixed,\n\
             one reviewer crashes and is asked again, one landing conflicts and is repaired."
        }
        Scenario::Stale => "A plan is rejected, and the architect hands it back as it was: nothing moves.",
        Scenario::Exhausted => "A plan is rejected in every round, until its three rounds are spent.",
        Scenario::Escalated => "A reviewer is lost for good. No answer is not a yes: a person is asked.",
        Scenario::Blocked => {
            "One lane never gets right. Its sibling finishes and waits; the group is blocked."
        }
        Scenario::Oscillating => {
            "Two demands that cannot both be met: every fix of the one brings the other back. A third opinion\n\
             hears it once; when it comes back again, a person is asked instead of another round."
        }
        Scenario::Hostile => {
            "Agents that do not play by the rules: one says that it is approved, reaches for\n\
             keys, leaves processes, a secret and a link behind; one deletes its working\n\
             folder; a reviewer says yes and no; one changes what CI runs. None of it lands."
        }
        Scenario::Crash => "The orchestrator kills itself with -9 in the middle, and goes on.",
    }
}

fn next(scenario: Scenario, dir: &Path) -> String {
    let third = match scenario {
        Scenario::Blocked => "tribunal decide 01-02 drop",
        Scenario::Pass | Scenario::Crash | Scenario::Escalated | Scenario::Hostile => {
            "git log --oneline --stat"
        }
        Scenario::Stale => "tribunal show F-1",
        Scenario::Exhausted => "tribunal report",
        Scenario::Oscillating => "tribunal report --format markdown",
    };
    let dir = dir.display().to_string();
    let lines = ["tribunal show", "tribunal log", third];
    lines.map(|command| format!("  {}", from_elsewhere(command, &dir))).join("\n")
}

/// The folder in which the demo plays, and the way to run commands there.
struct Stage<'a> {
    dir: PathBuf,
    globals: &'a Globals,
    relay: Relay,
}

/// Why the demo does not go on.
enum Halt {
    /// A signal stopped it at this command.
    Stopped { signal: i32, command: String },
    /// A command failed, or did not end as the scene says.
    Failed(Failure),
}

impl From<Failure> for Halt {
    fn from(failure: Failure) -> Halt {
        Halt::Failed(failure)
    }
}

impl Stage<'_> {
    fn say(&self, text: &str) {
        if !self.globals.quiet {
            out::say(text);
        }
    }

    fn build(&self, scenario: Scenario) -> Result<(), Failure> {
        for (path, text) in FILES {
            self.write(path, text)?;
        }
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let at = i64::try_from(since).unwrap_or(0);
        let who = Signature::new("Demo", "demo@example.org", at);
        let repo = Repo::create(&self.dir, "chore: begin", &who)
            .map_err(|error| Failure::work(error.to_string()))?;
        // The script changes between commands; a run would take it for a change of the user's.
        repo.exclude("/scene.toml*").map_err(|error| Failure::work(error.to_string()))?;
        // The project's file names the script of its agents, which needs trust, and we wrote that file a moment ago.
        trust::own(&Place { root: self.dir.clone() })?;
        self.scene(scene(scenario))
    }

    fn scene(&self, own: &str) -> Result<(), Failure> {
        let text = format!("{own}\n{COMMON}").replace("{plan_path}", &format!("{PHASE}/01-01-PLAN.md"));
        self.write("scene.toml", &text)
    }

    fn write(&self, path: &str, text: &str) -> Result<(), Failure> {
        let file = self.dir.join(path);
        let failed =
            |error: std::io::Error| Failure::work(format!("cannot write {}: {error}", file.display()));
        if let Some(parent) = file.parent() {
            std::fs::create_dir_all(parent).map_err(failed)?;
        }
        std::fs::write(&file, text).map_err(failed)
    }

    fn play(&self, scenario: Scenario) -> Result<(), Halt> {
        match scenario {
            Scenario::Pass => self.tribunal(&["run"], &[], &ExitHow::Code(0)),
            Scenario::Stale | Scenario::Exhausted => self.tribunal(&["run"], &[], &ExitHow::Code(1)),
            Scenario::Blocked => {
                self.tribunal(&["run"], &[], &ExitHow::Code(4))?;
                self.tribunal(&["inbox"], &[], &ExitHow::Code(0))
            }
            Scenario::Oscillating => {
                self.tribunal(&["run", "--effort", "max"], &[], &ExitHow::Code(4))?;
                self.tribunal(&["report"], &[], &ExitHow::Code(0))
            }
            Scenario::Escalated => {
                self.tribunal(&["run"], &[], &ExitHow::Code(4))?;
                self.tribunal(&["inbox"], &[], &ExitHow::Code(0))?;
                self.played()?;
                self.say("\nThe reviewer is back; a person decides that it is asked again.");
                self.scene("")?;
                self.tribunal(&["decide", "01-01/task-1", "ask-again"], &[], &ExitHow::Code(0))
            }
            Scenario::Hostile => {
                self.tribunal(&["run"], &[], &ExitHow::Code(4))?;
                self.played()?;
                self.say("\nA person has it taken back, and asks for another round.");
                self.scene(include_str!("scenes/hostile_after.toml"))?;
                self.tribunal(&["decide", "01-03", "again", "--rounds", "2"], &[], &ExitHow::Code(0))?;
                self.tribunal(&["status"], &[], &ExitHow::Code(0))
            }
            Scenario::Crash => {
                // The program kills itself from inside, so the crash falls on the same journal row every time.
                let crash = [(tribunal_engine::crash::AT, OsString::from(CRASH_AT))];
                self.tribunal(&["run"], &crash, &ExitHow::Signal(9))?;
                self.say("\nKilled. The journal has every fact up to that moment; nothing is done twice.");
                self.tribunal(&["resume"], &[], &ExitHow::Code(0))
            }
        }
    }

    /// Runs one command as a user would, and insists that it ends as expected.
    fn tribunal(&self, args: &[&str], env: &[(&str, OsString)], expected: &ExitHow) -> Result<(), Halt> {
        let own = std::env::current_exe().map_err(|error| Failure::work(error.to_string()))?;
        // With `-C`, every command that the output suggests works where the person is.
        let mut argv = vec!["-C".into(), self.dir.clone().into()];
        argv.extend(args.iter().map(OsString::from));
        argv.extend(self.globals.quiet.then(|| "--quiet".into()));
        argv.extend(self.globals.json.then(|| "--json".into()));
        argv.extend(
            self.globals.color.to_possible_value().map(|when| format!("--color={}", when.get_name()).into()),
        );
        let command = args.join(" ");
        self.say(&format!("\n$ tribunal -C {} {command}", self.dir.display()));
        let how = self.relay.run(&own, &argv, &self.dir, env)?;
        match signals::stopped_by(&how) {
            // The scene comes first: an end that it expects is right, whatever caused it.
            _ if how == *expected => Ok(()),
            Some(signal) => Err(Halt::Stopped { signal, command }),
            None => Err(Halt::Failed(unexpected(&command, &how, expected))),
        }
    }

    /// What is left of a demo that was stopped, and the command that goes on with it.
    fn stopped(&self, signal: i32, command: &str) -> String {
        let open = resume::unfinished(&Place { root: self.dir.clone() }).is_ok();
        // `inbox` and `report` only read; they are simply given again.
        let steers = ["run", "resume", "decide"].iter().any(|verb| command.split(' ').next() == Some(verb));
        let next = if open && steers { "resume" } else { command };
        let next = from_elsewhere(&format!("tribunal {next}"), &self.dir.display().to_string());
        format!(
            "\nthe demo was stopped by {} at `tribunal {command}`; its project stays in {}\nTo go on:\n  {next}",
            signals::name(signal),
            self.dir.display()
        )
    }

    /// Fails if a turn of the scene that must be played was not.
    fn played(&self) -> Result<(), Failure> {
        let unused = tribunal_agent::scripted::unused(&self.dir.join("scene.toml"))
            .map_err(|error| Failure::work(error.to_string()))?;
        match unused.first() {
            None => Ok(()),
            Some(turn) => Err(Failure::bug(format!("the demo did not play its turn {turn:?}"))),
        }
    }
}

/// The failure for a command that did not end as it should. Its exit code tells whose fault it is, so the demo fails in
/// the same way.
fn unexpected(command: &str, how: &ExitHow, expected: &ExitHow) -> Failure {
    let text =
        format!("the demo did not end as it should: `tribunal {command}` gave {how:?}, not {expected:?}");
    match how {
        ExitHow::Code(2) => Failure::usage(text).hint("what it said above tells why"),
        ExitHow::Code(3) => Failure::work(text).hint("what it said above tells why"),
        ExitHow::Signal(_) => Failure::work(text).hint("somebody killed it, or there was no memory left"),
        ExitHow::Code(_) | ExitHow::NotStarted(_) => Failure::bug(text),
    }
}
