//! The cases: each launches the real program with the very calls a run uses, and looks at what is left.

use super::agents::Agent;
use super::server::{Counted, Server};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tribunal_agent::reporting::Part;
use tribunal_agent::{Access, Adapter, Adapters, Asks, Feature};
use tribunal_core::review_loop::FailureKind;
use tribunal_core::usage::SessionTotals;
use tribunal_world::Sandbox;
use tribunal_world::trial::{self, Trial, Tried};

/// What came of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// As it should be.
    Good(String),
    /// Not for this program, and why.
    Not(&'static str),
    /// Not as it should be.
    Bad(String),
}

/// One program at its server.
pub struct Bench<'a> {
    /// All rows.
    pub adapters: &'a Adapters,
    /// Its row.
    pub row: &'a Adapter,
    /// How it is pointed at the server.
    pub agent: &'a Agent,
    /// The server.
    pub server: &'a Server,
    /// A folder for everything.
    pub dir: &'a Path,
    /// Whether it is walled in.
    pub sandbox: Sandbox,
    /// Our program, which agents report by.
    pub ours: &'a Path,
}

/// A case by name.
pub struct Case {
    /// The column's name.
    pub name: &'static str,
    /// Also in the short run.
    pub short: bool,
    /// What it does.
    pub run: fn(&Bench<'_>) -> Cell,
}

/// All cases, in the order of the table.
pub const CASES: [Case; 15] = [
    Case { name: "writes", short: true, run: writes },
    Case { name: "refused", short: true, run: refused },
    Case { name: "answers", short: true, run: answers },
    Case { name: "reports", short: true, run: reports },
    Case { name: "usage", short: true, run: usage },
    Case { name: "resumes", short: true, run: resumes },
    Case { name: "plugin", short: true, run: super::plugin::run },
    Case { name: "turn cap", short: false, run: turn_cap },
    Case { name: "401", short: false, run: |bench| fails(bench, "CASE401", &[FailureKind::Auth]) },
    Case { name: "429", short: false, run: |bench| fails(bench, "CASE429", &[FailureKind::RateLimited]) },
    Case { name: "500", short: false, run: |bench| fails(bench, "CASE500", &[FailureKind::Overloaded]) },
    Case { name: "529", short: false, run: |bench| fails(bench, "CASE529", &[FailureKind::Overloaded]) },
    Case { name: "truncated", short: false, run: truncated },
    Case { name: "hung", short: false, run: hung },
    Case { name: "no survivor", short: false, run: no_survivor },
];

const ANSWER: &str = "The plain answer is 42.";
/// What is cut off on its way.
pub const CUT: &str = "This answer is cut off somewhere in the middle of it.";
const WRITTEN: &str = "hello from the script";

impl Bench<'_> {
    fn tree(&self, case: &str) -> PathBuf {
        self.dir.join(case).join("tree")
    }

    fn trial(&self, case: &str, prompt: &str, access: Access) -> Trial {
        let dir = self.tree(case);
        Trial {
            prompt: prompt.to_owned(),
            out_dir: self.dir.join(case).join("launch"),
            dir,
            access,
            model: Some(self.agent.model.to_owned()),
            args: Vec::new(),
            asks: Asks::default(),
            before: SessionTotals::default(),
            environment: self.agent.environment.clone(),
            // One of them gives up only after more than a minute; others never do.
            deadline: Duration::from_secs(if self.agent.name.starts_with("opencode") { 110 } else { 60 }),
            silent: Duration::from_secs(40),
            readable: Vec::new(),
            sandbox: self.sandbox,
            own_binary: self.ours.to_path_buf(),
            reports: None,
        }
    }

    /// An agent that is spoken to by the Agent Client Protocol.
    fn is_acp(&self) -> bool {
        self.agent.name.ends_with("-acp")
    }

    fn launch(&self, trial: &Trial) -> Result<Tried, Cell> {
        // Some programs look for a repository upwards: each tree is one of its own.
        super::repository(&trial.dir).map_err(Cell::Bad)?;
        let tried =
            trial::run(self.adapters, self.row, trial).map_err(|error| Cell::Bad(error.to_string()))?;
        match tried.survivors.is_empty() {
            true => Ok(tried),
            false => Err(Cell::Bad(format!("processes {:?} survive", tried.survivors))),
        }
    }

    /// Where a program is told to write: some want the whole path, and codex none of it.
    fn target(&self, case: &str) -> String {
        match self.agent.name {
            "codex" | "codex-acp" | "aider" => "hello.txt".to_owned(),
            _ => self.tree(case).join("hello.txt").display().to_string(),
        }
    }

    fn write_prompt(&self, case: &str) -> String {
        let word = if self.agent.name == "aider" { "AIDERWRITE" } else { "CASEWRITE" };
        format!("{word} {}", self.target(case))
    }

    fn wrote(&self, case: &str) -> bool {
        let text = std::fs::read_to_string(self.tree(case).join("hello.txt")).unwrap_or_default();
        text.contains(WRITTEN)
    }
}

fn said(tried: &Tried) -> String {
    match &tried.failure {
        Some(failure) => format!("{:?}: {}", failure.kind, failure.text),
        None => format!("answered {:?}", tried.outcome.final_text.as_deref().unwrap_or_default()),
    }
}

fn or_cell(made: Result<Cell, Cell>) -> Cell {
    made.unwrap_or_else(|cell| cell)
}

fn writes(bench: &Bench<'_>) -> Cell {
    or_cell((|| {
        let tried = bench.launch(&bench.trial("writes", &bench.write_prompt("writes"), Access::Write))?;
        Ok(match (bench.wrote("writes"), &tried.failure) {
            (true, None) => Cell::Good(String::new()),
            (wrote, _) => Cell::Bad(format!("wrote: {wrote}; {}", said(&tried))),
        })
    })())
}

fn refused(bench: &Bench<'_>) -> Cell {
    or_cell((|| {
        let mark = bench.server.mark();
        let tried =
            bench.launch(&bench.trial("refused", &bench.write_prompt("refused"), Access::ReadOnly))?;
        if bench.server.since(mark).requests == 0 {
            return Err(Cell::Bad(format!("it was never asked; {}", said(&tried))));
        }
        Ok(match bench.wrote("refused") {
            false if !tried.outcome.denials.is_empty() => Cell::Good("told".to_owned()),
            false => Cell::Good(String::new()),
            true => Cell::Bad("a reviewer wrote".to_owned()),
        })
    })())
}

fn answers(bench: &Bench<'_>) -> Cell {
    or_cell((|| {
        let tried = bench.launch(&bench.trial("answers", "PLAIN question", Access::ReadOnly))?;
        let text = tried.outcome.final_text.clone().unwrap_or_default();
        Ok(match tried.failure.is_none() && text.trim() == ANSWER {
            true => Cell::Good(String::new()),
            false => Cell::Bad(said(&tried)),
        })
    })())
}

/// By tools as judge and as builder; in words where the program has no tools of ours.
fn reports(bench: &Bench<'_>) -> Cell {
    or_cell((|| {
        let tools = bench.row.can(Feature::Mcp, Access::ReadOnly);
        let word = if tools { "CASEVOTE" } else { "WORDSVOTE" };
        let told = reported(bench, word, Part::Judge, "cast_verdict")?;
        if tools {
            let done = reported(bench, "CASEDONE", Part::Builder, "report_task_done")?;
            if done != told {
                return Err(Cell::Bad(format!("as reviewer by {told}, as dev by {done}")));
            }
        }
        Ok(match (tools, told.as_str()) {
            (true, "mcp") => Cell::Good("by MCP".to_owned()),
            (false, "final message") => Cell::Good("in its final message".to_owned()),
            _ => Cell::Bad(format!("by {told:?}")),
        })
    })())
}

fn reported(bench: &Bench<'_>, word: &str, part: Part, tool: &str) -> Result<String, Cell> {
    let access = if part == Part::Judge { Access::ReadOnly } else { Access::Write };
    let mut trial = bench.trial(word, word, access);
    trial.reports = Some(part);
    let tried = bench.launch(&trial)?;
    if tried.failure.is_some() || !tried.refused.is_empty() {
        return Err(Cell::Bad(format!("{}; refused: {:?}", said(&tried), tried.refused)));
    }
    let calls: Vec<&str> = tried.outcome.reports.iter().map(|call| call.tool.as_str()).collect();
    let words = tried.outcome.final_text.as_deref().unwrap_or_default();
    match tried.told == "mcp" && calls != [tool] || tried.told != "mcp" && !words.contains("VERDICT: approve")
    {
        true => Err(Cell::Bad(format!("{calls:?}, {words:?}"))),
        false => Ok(tried.told),
    }
}

fn compare(tried: &Tried, counted: Counted) -> Cell {
    let usage = tried.outcome.usage.unwrap_or_default();
    let words = format!("{}+{} of {}+{}", usage.input, usage.output, counted.input, counted.output);
    let same = usage.input == counted.input && usage.output == counted.output;
    match () {
        () if counted.input == 0 => Cell::Bad(format!("it was never asked; {}", said(tried))),
        () if same => Cell::Good(String::new()),
        // Who counts by itself says so, and is not far off.
        () if usage.estimated && usage.input * 2 > counted.input && usage.input < counted.input * 2 => {
            Cell::Good(format!("its own estimate, {words}"))
        }
        () => Cell::Bad(words),
    }
}

fn usage(bench: &Bench<'_>) -> Cell {
    or_cell((|| {
        let mark = bench.server.mark();
        let tried = bench.launch(&bench.trial("usage", &bench.write_prompt("usage"), Access::Write))?;
        Ok(compare(&tried, bench.server.since(mark)))
    })())
}

fn resumes(bench: &Bench<'_>) -> Cell {
    if !bench.row.can(Feature::Resume, Access::ReadOnly) {
        return Cell::Not("no sessions");
    }
    or_cell((|| {
        let first = bench.launch(&bench.trial("resumes", "PLAIN question", Access::ReadOnly))?;
        let Some(session) = first.outcome.session.clone() else {
            return Err(Cell::Bad("no session id".to_owned()));
        };
        let mut again = bench.trial("resumes", "RECALL", Access::ReadOnly);
        again.out_dir = again.out_dir.with_file_name("launch-2");
        again.asks.session = Some(session);
        again.before = first.outcome.totals.unwrap_or_default();
        let mark = bench.server.mark();
        let second = bench.launch(&again)?;
        let text = second.outcome.final_text.clone().unwrap_or_default();
        if second.failure.is_some() || text.trim() != "It was the plain question." {
            return Err(Cell::Bad(said(&second)));
        }
        Ok(match compare(&second, bench.server.since(mark)) {
            // Some load a session with requests of their own, which they do not count.
            Cell::Bad(words) if bench.is_acp() => Cell::Good(format!("told in part, {words}")),
            Cell::Bad(words) => Cell::Bad(format!("usage {words}")),
            cell => cell,
        })
    })())
}

fn turn_cap(bench: &Bench<'_>) -> Cell {
    if bench.agent.name == "aider" {
        return Cell::Not("one turn");
    }
    or_cell((|| {
        let mut trial = bench.trial("turns", "CASELOOP", Access::Write);
        trial.asks.turns = Some(3);
        let mark = bench.server.mark();
        let tried = bench.launch(&trial)?;
        let requests = bench.server.since(mark).requests;
        let by = if tried.left_out.contains(&Feature::TurnCap) { "by us" } else { "by itself" };
        Ok(match tried.failure.as_ref().map(|failure| failure.kind) {
            Some(FailureKind::TurnCap) => Cell::Good(format!("{by}, {requests} requests")),
            _ => Cell::Bad(format!("{} after {requests} requests", said(&tried))),
        })
    })())
}

fn fails(bench: &Bench<'_>, prompt: &str, expected: &[FailureKind]) -> Cell {
    or_cell((|| {
        let mark = bench.server.mark();
        let tried = bench.launch(&bench.trial(prompt, prompt, Access::ReadOnly))?;
        let requests = bench.server.since(mark).requests;
        let kind = tried.failure.as_ref().map(|failure| failure.kind);
        let server = [FailureKind::Overloaded, FailureKind::RateLimited];
        if is_silent(bench, kind) && server.iter().any(|kind| expected.contains(kind)) {
            return Ok(Cell::Good("stalled: it does not say why".to_owned()));
        }
        Ok(match kind.is_some_and(|kind| expected.contains(&kind)) {
            true => Cell::Good(format!("{requests} requests, {} s", tried.took.as_secs())),
            false => {
                Cell::Bad(format!("{} after {requests} requests, {} s", said(&tried), tried.took.as_secs()))
            }
        })
    })())
}

/// Some ask again and again without a word, so that nobody can tell why they stand still.
fn is_silent(bench: &Bench<'_>, kind: Option<FailureKind>) -> bool {
    let silent = bench.agent.name.starts_with("opencode") || bench.agent.name == "gemini-acp";
    silent && kind == Some(FailureKind::Stalled)
}

fn truncated(bench: &Bench<'_>) -> Cell {
    if bench.agent.name == "gemini" {
        return Cell::Not("told as a success");
    }
    or_cell((|| {
        let tried = bench.launch(&bench.trial("truncated", "CASETRUNC", Access::ReadOnly))?;
        let text = tried.outcome.final_text.clone().unwrap_or_default();
        Ok(match tried.failure.as_ref().map(|failure| failure.kind) {
            kind if is_silent(bench, kind) => Cell::Good("stalled: it does not say why".to_owned()),
            None if text.trim() == CUT => Cell::Good("asked again, without a stream".to_owned()),
            Some(FailureKind::Truncated | FailureKind::Overloaded) => {
                Cell::Good(format!("{} s", tried.took.as_secs()))
            }
            _ => Cell::Bad(said(&tried)),
        })
    })())
}

fn hung(bench: &Bench<'_>) -> Cell {
    or_cell((|| {
        let mut trial = bench.trial("CASEHANG", "CASEHANG", Access::ReadOnly);
        trial.silent = Duration::from_secs(20);
        let tried = bench.launch(&trial)?;
        Ok(match tried.failure.as_ref().map(|failure| failure.kind) {
            Some(FailureKind::Stalled | FailureKind::Truncated) => {
                Cell::Good(format!("{} s", tried.took.as_secs()))
            }
            _ => Cell::Bad(said(&tried)),
        })
    })())
}

fn no_survivor(bench: &Bench<'_>) -> Cell {
    if bench.agent.name == "aider" {
        return Cell::Not("no tools");
    }
    or_cell((|| {
        let mut trial = bench.trial("survivors", "CASESLOW", Access::Write);
        trial.deadline = Duration::from_secs(15);
        let tried = bench.launch(&trial)?;
        Ok(match tried.failure.as_ref().map(|failure| failure.kind) {
            Some(FailureKind::TimedOut) => Cell::Good("stopped in the middle".to_owned()),
            // Some go on while their tool still runs; what the tool left is gone with them all the same.
            None => Cell::Good(format!("{} ended with it", tried.exit.killed)),
            _ => Cell::Bad(said(&tried)),
        })
    })())
}
