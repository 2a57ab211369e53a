//! The scripted agent: it does what a scenario file says for the launch it was started for. It has no randomness and
//! never sleeps. Asked for something that its script does not hold, it fails loudly, so that a test cannot pass by
//! accident.
//!
//! A scenario is a list of turns:
//!
//! ```toml
//! [[turn]]
//! role = "dev"           # every key given must match the launch; keys left out match anything
//! plan = "01-02"         # role, use, plan, task, reviewer, round, attempt; most keys win, then the first
//! round = 1
//! prompt = "F-"          # a key too: the prompt contains this
//! holds = ["test", "-e", "a.txt"]   # and another: this succeeds in its folder
//! do = [
//!   { write = "src/a.sh", text = "echo {plan}\n", executable = true },
//!   { append = "log.txt", text = "round {round}\n" },
//!   { delete = "old.txt" },
//!   { move = "a.txt", to = "b.txt" },
//!   { run = ["sh", "-c", "exit 0"] },          # may_fail = true to go on whatever it says
//!   { commit = "feat: a" },                    # git in its own tree, as an agent would
//!   { say = "Done." },                         # all that is said is the final text
//!   { usage = { input = 1200, output = 80, cost_usd = 0.02 } },
//!   { report = { tool = "report_task_done", args = { task = "{task}" } } },
//!   { mcp = { tool = "escalate", args = { about = "…" } } },   # by the server its row names; refused = true, at = "DIR" or "*"
//! ]
//!
//! [[turn]]
//! role = "dev"
//! round = 2
//! times = 1              # exactly so many different launches; left out: one or more
//! do = [
//!   { expect = "F-" },                         # the prompt must contain this
//!   { report = { tool = "report_fix", args = { id = "{finding}", fixed = true } }, each = "finding" },
//!   { say = "first {finding:1}, all {findings}" },
//!   { say = "{finding}: resolved", each = "finding" },
//! ]
//!
//! [[turn]]
//! role = "reviewer"
//! optional = true        # may stay unused
//! do = [
//!   { wait = "signal" },                       # SIGUSR1
//!   { wait = "term" },                         # SIGTERM, and goes on
//!   { wait = "file:go" },                      # until somebody writes the file `go` beside the scenario
//!   { pause_ms = 1000 },
//!   { event = { type = "error", kind = "rate_limit", message = "slow down", retry_after_ms = 50 } },
//!   { fault = "half-answer" },
//! ]
//! ```
//!
//! Values `{role} {use} {plan} {task} {reviewer} {round} {attempt} {finding:n} {findings}` are filled in wherever text
//! stands, unless a `$` is before them; other braces are left alone. The open findings are the lines of the prompt that
//! start with `F-` and a number. Steps describe a result, so a launch that is repeated after a crash changes nothing
//! twice. Faults are listed at [`Fault`].

mod agent;
mod fault;
mod fill;
mod marks;
mod orphan;
mod scenario;
mod signals;
mod speak;
mod tree;
mod wait;

use crate::error::AgentError;
use agent::{Agent, End};
use std::ffi::OsString;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

pub use fault::Fault;
pub use marks::{Unused, unused};
pub use scenario::{Asked, Scenario, Step, Turn};
pub use wait::open_gate;

/// The exit code of a scripted agent that was asked for something beyond its script, or could not follow it.
pub const EXIT_SCRIPT: u8 = 70;

/// Runs the scripted agent: `[scripted-agent] --scenario FILE`. The launch is read from the `TRIBUNAL_*` environment.
///
/// It is part of the product and not of the test kit, because the demo ships it and because it is an adapter like any
/// other.
pub fn main(args: impl IntoIterator<Item = OsString>, stdin: impl Read, mut stdout: impl Write) -> u8 {
    // Tribunal's own program calls us as a verb; the program of this crate is called without one.
    let args: Vec<OsString> = args.into_iter().collect();
    let args = match args.split_first() {
        Some((verb, rest)) if verb == "scripted-agent" => rest,
        _ => &args,
    };
    // Orphans are started from the same program, and must not be taken for an agent without a scenario.
    if let Some(code) = orphan::main(args) {
        return code;
    }
    let asked = Asked::from_env(&|name| std::env::var(name).ok());
    let played = scenario_path(args).and_then(|path| play(&path, &asked, stdin, &mut stdout));
    match played {
        Ok(end) => end.exit,
        Err(error) => {
            // The error event is all that can still be reported; with a closed output, only the exit code is left.
            let _ = agent::event(&mut stdout, &serde_json::json!({"type": "error", "message": error}));
            EXIT_SCRIPT
        }
    }
}

fn scenario_path(args: &[OsString]) -> Result<PathBuf, String> {
    match args {
        [flag, path] if flag == "--scenario" => Ok(PathBuf::from(path)),
        _ => Err(format!("usage: scripted-agent --scenario FILE, not {args:?}")),
    }
}

fn play(path: &Path, asked: &Asked, mut stdin: impl Read, stdout: &mut impl Write) -> Result<End, String> {
    // A signal that arrives before the turn waits for it must not be lost.
    signals::hold_usr1();
    let dir = std::env::current_dir().map_err(|error| format!("no working directory: {error}"))?;
    let report = std::env::var_os("TRIBUNAL_REPORT").map(PathBuf::from);
    let scenario = Scenario::load(path).map_err(|error| error.to_string())?;
    // The prompt is read here only if a turn is chosen by it; otherwise a step reads it when it first needs it.
    let mut prompt = Vec::new();
    if scenario.reads_prompts() {
        let read = stdin.by_ref().take(agent::PROMPT_MAX).read_to_end(&mut prompt);
        read.map_err(|error| format!("cannot read the prompt: {error}"))?;
    }
    let holds = |argv: &[String]| tree::run(&dir, argv).unwrap_or(false);
    let turn = scenario.find(asked, &String::from_utf8_lossy(&prompt), &holds);
    let turn = turn.ok_or_else(|| beyond(path, asked))?;
    // The agent sees the whole prompt, whether or not it was read to find the turn.
    let stdin = prompt.as_slice().chain(stdin);
    if turn.steps.contains(&Step::WaitTerm) {
        signals::hold_term();
    }
    // The mark comes before the first step, so that a launch that is killed in the middle counts as well.
    marks::mark(path, turn, asked).map_err(|error| error.to_string())?;
    Agent::new(asked, dir, path, report, stdin, stdout).play(turn)
}

fn beyond(path: &Path, asked: &Asked) -> String {
    format!(
        "asked beyond its script: no turn for {asked}\nhint: add a [[turn]] with these keys to {}",
        path.display()
    )
}

fn problem(path: &Path, problem: impl Into<String>) -> AgentError {
    AgentError::Scenario { path: path.to_path_buf(), problem: problem.into() }
}
