//! What one launch is about, and the launch made of it. Plain data: never reads the environment or a file.

use crate::adapter::Feature;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

/// What an agent may do in its working directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// It only reads: reviewers.
    ReadOnly,
    /// It may change files: makers.
    Write,
}

/// Everything one launch needs to know.
#[derive(Debug, Clone)]
pub struct Brief {
    /// The run.
    pub run: String,
    /// The effect this launch serves, as printed.
    pub effect: String,
    /// What the agent is: architect, dev, reviewer, qa, fixer, checkpoint, hearing …
    pub role: String,
    /// The use of the loop: plan, task, phase …
    pub loop_use: String,
    /// The plan, when there is one.
    pub plan: Option<String>,
    /// The task of the plan.
    pub task: Option<String>,
    /// The reviewer's place.
    pub seat: Option<String>,
    /// The round, from 1.
    pub round: u32,
    /// The attempt at this step, from 1.
    pub attempt: u32,
    /// The prompt.
    pub prompt: String,
    /// The launch word: the prompt's last line. None where no answer is read as a verdict or as work done.
    pub word: Option<String>,
    /// The working directory.
    pub dir: PathBuf,
    /// What it may do there.
    pub access: Access,
    /// The launch's own folder: prompt, output, report.
    pub out_dir: PathBuf,
    /// The model, when it is not the adapter's own.
    pub model: Option<String>,
    /// Words configured for this agent: `{args}`.
    pub args: Vec<OsString>,
    /// The scenario of a scripted agent.
    pub scenario: Option<PathBuf>,
    /// The Tribunal program: `{self}`.
    pub own_binary: PathBuf,
    /// More environment; Tribunal's own names win over it.
    pub env: BTreeMap<OsString, OsString>,
}

/// What a launch asks of the program beyond its brief; a row that cannot pass something on says so in
/// [`Prepared::left_out`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asks {
    /// Who the agent is to be: the whole text.
    pub personality: Option<String>,
    /// How many turns it may take.
    pub turns: Option<u32>,
    /// The MCP server it reports by.
    pub mcp: Option<Mcp>,
    /// The JSON schema of its answer.
    pub schema: Option<String>,
    /// The session it goes on in: [`crate::Outcome::session`] of an earlier launch.
    pub session: Option<String>,
}

/// An MCP server the agent starts itself, over standard input and output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mcp {
    /// Its name: small letters, digits, `-` and `_`.
    pub name: String,
    /// The program.
    pub command: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
}

/// A launch ready to be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepared {
    /// Program and arguments.
    pub argv: Vec<OsString>,
    /// The agent's own program: the first argument, unless a driver of ours stands before it.
    pub program: OsString,
    /// The whole environment: nothing else is inherited.
    pub env: BTreeMap<OsString, OsString>,
    /// The file that is its standard input; `/dev/null` when there is none.
    pub stdin_file: Option<PathBuf>,
    /// The working directory.
    pub dir: PathBuf,
    /// Where its reported tool calls will be.
    pub report_file: PathBuf,
    /// What was asked for and this program has no way to be told: Tribunal does it itself or does without.
    pub left_out: Vec<Feature>,
}
