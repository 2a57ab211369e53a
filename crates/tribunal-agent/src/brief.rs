//! The facts about one launch, and the launch that is made of them. Plain data: nothing here reads the environment or a
//! file.
//!
//! A `Brief` is the same for every program. `prepare` turns it into a `Prepared` by the row of the program, so the
//! engine never handles a flag of any of them.

use crate::adapter::Feature;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

/// What an agent may do in its working directory.
///
/// The row has a command line for each access. The sandbox enforces the access in any case: a program is not trusted to
/// keep to its own read-only mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// The agent only reads. Reviewers have this access.
    ReadOnly,
    /// The agent may change files. Builders and fixers have this access.
    Write,
}

/// Everything one launch needs to know, whichever program it starts.
///
/// It says what is to be done and nothing about how a program is told. Keys that differ between programs belong into a
/// row.
#[derive(Debug, Clone)]
pub struct Brief {
    /// The id of the run.
    pub run: String,
    /// The effect this launch serves, as printed.
    pub effect: String,
    /// The role of the agent: architect, dev, reviewer, qa, fixer, checkpoint, hearing …
    pub role: String,
    /// The use of the loop that wants this launch: plan, task, phase …
    pub loop_use: String,
    /// The plan, if the loop belongs to one.
    pub plan: Option<String>,
    /// The task of the plan, if the loop builds one.
    pub task: Option<String>,
    /// The reviewer's place in the panel.
    pub reviewer: Option<String>,
    /// The review round, counted from 1.
    pub round: u32,
    /// The attempt at this step, counted from 1.
    pub attempt: u32,
    /// The prompt without personality and launch word, which `prepare` adds.
    pub prompt: String,
    /// The launch word, which becomes the last line of the prompt. `None` where no answer is read as a verdict or as
    /// work done.
    pub word: Option<String>,
    /// The working directory, which is the checkout the agent works in or judges.
    pub dir: PathBuf,
    /// What the agent may do in its working directory.
    pub access: Access,
    /// The folder of this launch alone, for prompt, output and report.
    pub out_dir: PathBuf,
    /// The model, if it is not the adapter's own.
    pub model: Option<String>,
    /// The words configured for this agent, which replace `{args}`.
    pub args: Vec<OsString>,
    /// The scenario of a scripted agent; other programs have none.
    pub scenario: Option<PathBuf>,
    /// The Tribunal program itself, which replaces `{self}`.
    pub own_binary: PathBuf,
    /// More variables for the launch. Tribunal's own names win over them.
    pub env: BTreeMap<OsString, OsString>,
}

/// What a launch asks of the program beyond its brief.
///
/// None of it is guaranteed: a row that cannot pass something on reports it in [`Prepared::left_out`], and the caller
/// has to do the work itself or go without.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asks {
    /// The full text of the personality that the agent is to take on.
    pub personality: Option<String>,
    /// The number of turns the agent may take.
    pub turns: Option<u32>,
    /// The MCP server that the agent reports through.
    pub mcp: Option<Mcp>,
    /// The JSON schema that the answer has to follow.
    pub schema: Option<String>,
    /// The session to continue: [`crate::Outcome::session`] of an earlier launch.
    pub session: Option<String>,
}

/// An MCP server that the agent starts itself, over standard input and output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mcp {
    /// The name of the server: small letters, digits, `-` and `_`.
    pub name: String,
    /// The program that the agent starts.
    pub command: PathBuf,
    /// The arguments of that program.
    pub args: Vec<String>,
}

/// A launch that is ready to be started.
///
/// The process driver gets this and nothing else, so everything that reaches the agent can be seen here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepared {
    /// The command line: the program and its arguments.
    pub argv: Vec<OsString>,
    /// The agent's own program. It is the first argument, unless a driver of ours stands before it.
    pub program: OsString,
    /// The whole environment. Nothing is inherited from ours.
    pub env: BTreeMap<OsString, OsString>,
    /// The file that becomes standard input; `/dev/null` if there is none.
    pub stdin_file: Option<PathBuf>,
    /// The working directory of the process.
    pub dir: PathBuf,
    /// The file in which the agent leaves its reported tool calls.
    pub report_file: PathBuf,
    /// What was asked for and cannot be passed to this program. Tribunal does it itself or does without.
    pub left_out: Vec<Feature>,
}
