//! Why a run cannot begin or go on, in words that name the cause and a way out.
//!
//! A message says "nothing was changed" where a reader could think otherwise. Exit codes follow from the variant in one
//! function.

use std::path::{Path, PathBuf};

/// What stands in the way of a run.
///
/// A new variant is worth it only if a caller reacts differently; otherwise use `Refused` with its own text and hint.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// Git cannot do something.
    #[error("{0}{way_out}", way_out = way_out_of(.0))]
    Git(#[from] tribunal_git::GitError),
    /// The journal cannot be opened or written.
    #[error(transparent)]
    Journal(#[from] tribunal_journal::Error),
    /// The content of the journal, or the event loop itself.
    #[error(transparent)]
    Engine(#[from] tribunal_engine::engine::EngineError),
    /// The process driver cannot do something.
    #[error(transparent)]
    Process(#[from] tribunal_process::ProcessError),
    /// An adapter row is wrong.
    #[error(transparent)]
    Agent(#[from] tribunal_agent::AgentError),
    /// There is no planning folder.
    #[error("there is no planning folder: {path} does not exist\nhint: put plans into .planning/phases/01-name/01-01-PLAN.md, judge a change without plans by `tribunal review --diff main..HEAD`, or try `tribunal demo`", path = path.display())]
    NoPlanning {
        /// The path that was looked for.
        path: PathBuf,
    },
    /// There is no such phase.
    #[error("there is no phase {wanted:?}{}", listed("the phases are", phases))]
    NoPhase {
        /// The phase that was asked for.
        wanted: String,
        /// The phases that exist.
        phases: Vec<String>,
    },
    /// Several phases have the same number.
    #[error("phase {number} has {} folders: {}\nhint: give one of them another number; nothing was changed", folders.len(), folders.join(", "))]
    PhaseTwice {
        /// The number that they share.
        number: String,
        /// The names of their folders.
        folders: Vec<String>,
    },
    /// There are several phases, and none was named.
    #[error("{}", if phases.is_empty() { "there is no phase in the planning folder\nhint: make .planning/phases/01-name/ with 01-01-PLAN.md in it".to_owned() } else { format!("which phase?{}", listed("name one of", phases)) })]
    WhichPhase {
        /// The phases that exist.
        phases: Vec<String>,
    },
    /// The phase has no plans.
    #[error(
        "{path} has no plan to run\nhint: a plan is a file NN-MM-PLAN.md; a plan with a valid SUMMARY counts as done"
    )]
    NoPlans {
        /// The folder of the phase.
        path: String,
    },
    /// Everything that was asked for is built.
    #[error(
        "{what} is finished: its SUMMARY says so and holds\nhint: run the next phase; `tribunal status` says whether your branch has it; to build a plan anew, remove its SUMMARY"
    )]
    /// The folder of the phase, or the plan.
    Finished {
        /// The phase's folder, or the plan.
        what: String,
    },
    /// The plans cannot be run as they are.
    #[error("{}\nhint: fix the plans and run again; nothing was changed", problems.join("\n"))]
    Plans {
        /// The problems, each with file and line.
        problems: Vec<String>,
    },
    /// A planning document cannot be used.
    #[error("{path}: {what}\nhint: {way_out}; nothing was changed")]
    Document {
        /// The path of the document.
        path: String,
        /// What is wrong with it.
        what: String,
        /// What the user can do.
        way_out: &'static str,
    },
    /// A plan that waits for one which is neither finished nor run with it.
    #[error(
        "{plan} depends on {needs}, which is not finished\nhint: run the phase without --plan, or first {needs} with `--plan {number}`; nothing was changed"
    )]
    Unfinished {
        /// The plan that was asked for.
        plan: String,
        /// The plan it needs.
        needs: String,
        /// The number of that plan.
        number: String,
    },
    /// HEAD is not on a branch.
    #[error("HEAD is detached: a run needs a branch to bring its result to\nhint: git switch -c <name>")]
    Detached,
    /// No agent is configured for a role that needs one.
    #[error("no agent is configured for the role {role:?}{}", way_to_an_agent(installed))]
    NoAgent {
        /// The role without an agent.
        role: String,
        /// The agents whose programs are installed here.
        installed: Vec<String>,
    },
    /// An agent is configured that could never be launched.
    #[error("{key}: {problem}")]
    Roster {
        /// The setting at fault.
        key: String,
        /// What is wrong, with a way out.
        problem: String,
    },
    /// The settings require a sandbox, and this machine permits none.
    #[error(
        "agents.sandbox is \"required\", but this machine permits no sandbox\nhint: permit user namespaces (sysctl kernel.unprivileged_userns_clone=1 on Debian, kernel.apparmor_restrict_unprivileged_userns=0 on Ubuntu), or install bubblewrap where it may make them, or set agents.sandbox = \"auto\" and have every report say that an agent could forge"
    )]
    NoSandbox,
    /// Commits cannot be signed while nobody is there.
    #[error(
        "your git signs commits ({how}), and that does not work unattended: {why}\nhint: unlock the key in an agent, name one without a passphrase in user.signingkey, or set git.sign = \"never\" in your own settings and have every report and commit say that nothing is signed; nothing was changed"
    )]
    Signing {
        /// The format and the key.
        how: String,
        /// What went wrong.
        why: String,
    },
    /// A commit hook of the user's cannot judge while nobody is there.
    #[error("your {hook} hook cannot judge unattended: {why}\nhint: {way_out}; nothing was changed")]
    Hook {
        /// The name of the hook.
        hook: String,
        /// What it does instead of judging.
        why: String,
        /// What the user can do.
        way_out: String,
    },
    /// No tool and no agent here can judge the change.
    #[error(
        "nobody here can judge {target}: no tool is for what changed, and no agent is configured\nhint: add a tool as [tools.NAME], or set agents.default in tribunal.toml"
    )]
    NoJudge {
        /// The change that was to be reviewed.
        target: String,
    },
    /// A setting has a value that it cannot have.
    #[error("{key} = {value:?} is not one of {allowed}")]
    Setting {
        /// The key of the setting.
        key: &'static str,
        /// The value that it has.
        value: String,
        /// The values that it may have.
        allowed: &'static str,
    },
    /// There is no such run.
    #[error("there is no run {wanted:?}\nhint: `tribunal status` lists the runs")]
    NoRun {
        /// The run that was asked for.
        wanted: String,
    },
    /// The request cannot be met now.
    #[error("{0}")]
    Refused(String),
    /// A person says that they fixed it, and what they left was judged before.
    #[error("nothing was changed in {}", place.display())]
    NothingFixed {
        /// The folder in which the fix was expected.
        place: PathBuf,
    },
    /// A file cannot be read or written.
    #[error("cannot {doing} {path}: {detail}{}", if *doing == "read" { READABLE } else { ROOM }, path = path.display())]
    Io {
        /// What was attempted: a verb.
        doing: &'static str,
        /// The path of the file.
        path: PathBuf,
        /// What the system says.
        detail: String,
    },
}

const ROOM: &str = "\nhint: check that it can be written, by you and on this disk, and that there is room";

const READABLE: &str = "\nhint: check that you may read it: its permissions and those of its folder";

/// The hint for an error of git. Its own messages name a way out, except for files that cannot be read or written.
fn way_out_of(error: &tribunal_git::GitError) -> &'static str {
    if matches!(error, tribunal_git::GitError::Io { .. }) { ROOM } else { "" }
}

/// What works on a machine without an agent program.
pub const WITHOUT_AGENTS: &str = "no agent program is installed here (claude, codex, gemini, opencode, aider, or one of your own); what works \
     without one: `tribunal demo`, `tribunal review` by the linters installed here, the checks and gates that `tribunal \
     protocol` lists, `docs`, `intake`, `delta`, and reading every run";

pub(crate) fn way_to_an_agent(installed: &[String]) -> String {
    match installed {
        [] => format!("\nhint: {WITHOUT_AGENTS}"),
        names => format!(
            "\nhint: installed here: {}; set agents.default in tribunal.toml (`tribunal init` writes one), or try `tribunal demo`",
            names.join(", ")
        ),
    }
}

fn listed(lead: &str, names: &[String]) -> String {
    if names.is_empty() { String::new() } else { format!("\nhint: {lead} {}", names.join(", ")) }
}

impl SetupError {
    pub(crate) fn io(doing: &'static str, path: &Path, error: &std::io::Error) -> SetupError {
        SetupError::Io { doing, path: path.to_path_buf(), detail: error.to_string() }
    }

    /// The exit code: 2 where the user's input is at fault, 3 where the machine is, 70 for a bug.
    ///
    /// The match names every variant, so that a new one does not get a code by accident.
    pub fn exit_code(&self) -> u8 {
        match self {
            SetupError::NoPlanning { .. }
            | SetupError::NoPhase { .. }
            | SetupError::PhaseTwice { .. }
            | SetupError::WhichPhase { .. }
            | SetupError::NoPlans { .. }
            | SetupError::Finished { .. }
            | SetupError::Plans { .. }
            | SetupError::Document { .. }
            | SetupError::Unfinished { .. }
            | SetupError::Detached
            | SetupError::NoAgent { .. }
            | SetupError::Roster { .. }
            | SetupError::Setting { .. }
            | SetupError::NoSandbox
            | SetupError::Signing { .. }
            | SetupError::Hook { .. }
            | SetupError::NoRun { .. }
            | SetupError::Refused(_)
            | SetupError::NothingFixed { .. }
            | SetupError::Agent(_) => 2,
            SetupError::Git(error) => {
                use tribunal_git::GitError as G;
                // These three say that the command was started in the wrong place, which is the user's input.
                if matches!(error, G::NotARepository { .. } | G::Bare { .. } | G::NoCommits { .. }) {
                    2
                } else {
                    3
                }
            }
            SetupError::Engine(
                tribunal_engine::engine::EngineError::Bug(_) | tribunal_engine::engine::EngineError::Json(_),
            ) => 70,
            SetupError::NoJudge { .. }
            | SetupError::Journal(_)
            | SetupError::Engine(_)
            | SetupError::Process(_)
            | SetupError::Io { .. } => 3,
        }
    }
}
