//! Why a run cannot begin or go on, in words that name the thing and the way out.

use std::path::{Path, PathBuf};

/// What stands in the way of a run.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// Git.
    #[error("{0}{way_out}", way_out = way_out_of(.0))]
    Git(#[from] tribunal_git::GitError),
    /// The journal.
    #[error(transparent)]
    Journal(#[from] tribunal_journal::Error),
    /// The journal's content, or the event loop.
    #[error(transparent)]
    Engine(#[from] tribunal_engine::engine::EngineError),
    /// The process driver.
    #[error(transparent)]
    Process(#[from] tribunal_process::ProcessError),
    /// An adapter row.
    #[error(transparent)]
    Agent(#[from] tribunal_agent::AgentError),
    /// No planning folder.
    #[error("there is no planning folder: {path} does not exist\nhint: put plans into .planning/phases/01-name/01-01-PLAN.md, judge a change without plans by `tribunal review --diff main..HEAD`, or try `tribunal demo`", path = path.display())]
    NoPlanning {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// No such phase.
    #[error("there is no phase {wanted:?}{}", listed("the phases are", phases))]
    NoPhase {
        /// What was asked for.
        wanted: String,
        /// What there is.
        phases: Vec<String>,
    },
    /// A number that several phases have.
    #[error("phase {number} has {} folders: {}\nhint: give one of them another number; nothing was changed", folders.len(), folders.join(", "))]
    PhaseTwice {
        /// The number.
        number: String,
        /// Their names.
        folders: Vec<String>,
    },
    /// Several phases and none named.
    #[error("{}", if phases.is_empty() { "there is no phase in the planning folder\nhint: make .planning/phases/01-name/ with 01-01-PLAN.md in it".to_owned() } else { format!("which phase?{}", listed("name one of", phases)) })]
    WhichPhase {
        /// What there is.
        phases: Vec<String>,
    },
    /// A phase without plans.
    #[error(
        "{path} has no plan to run\nhint: a plan is a file NN-MM-PLAN.md; a plan with a valid SUMMARY counts as done"
    )]
    NoPlans {
        /// The phase's folder.
        path: String,
    },
    /// Everything that was asked for is built.
    #[error(
        "{what} is finished: its SUMMARY says so and holds\nhint: run the next phase; `tribunal status` says whether your branch has it; to build a plan anew, remove its SUMMARY"
    )]
    Finished {
        /// The phase's folder, or the plan.
        what: String,
    },
    /// Plans that cannot be run as they are.
    #[error("{}\nhint: mend the plans and run again; nothing was changed", problems.join("\n"))]
    Plans {
        /// What is wrong, each with file and line.
        problems: Vec<String>,
    },
    /// A planning document that is not one.
    #[error("{path}: {what}\nhint: {way_out}; nothing was changed")]
    Document {
        /// Which.
        path: String,
        /// What is wrong with it.
        what: String,
        /// What to do.
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
        /// That plan's number.
        number: String,
    },
    /// HEAD is not on a branch.
    #[error("HEAD is detached: a run needs a branch to bring its result to\nhint: git switch -c <name>")]
    Detached,
    /// No agent for a role that needs one.
    #[error("no agent is configured for the role {role:?}{}", way_to_an_agent(installed))]
    NoAgent {
        /// The role.
        role: String,
        /// The agents whose programs are here.
        installed: Vec<String>,
    },
    /// An agent that could never be launched.
    #[error("{key}: {problem}")]
    Roster {
        /// The setting at fault.
        key: String,
        /// What is wrong, with a way out.
        problem: String,
    },
    /// Agents must be kept to their own files, and cannot be.
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
    /// A commit hook of the user's cannot be asked while nobody is there.
    #[error("your {hook} hook cannot judge unattended: {why}\nhint: {way_out}; nothing was changed")]
    Hook {
        /// Which.
        hook: String,
        /// What it does instead.
        why: String,
        /// What to do.
        way_out: String,
    },
    /// A change that nobody here can judge.
    #[error(
        "nobody here can judge {target}: no tool is for what changed, and no agent is configured\nhint: add a tool as [tools.NAME], or set agents.default in tribunal.toml"
    )]
    NoJudge {
        /// What was to be reviewed.
        target: String,
    },
    /// A setting's value.
    #[error("{key} = {value:?} is not one of {allowed}")]
    Setting {
        /// Which.
        key: &'static str,
        /// What it is.
        value: String,
        /// What it may be.
        allowed: &'static str,
    },
    /// No such run.
    #[error("there is no run {wanted:?}\nhint: `tribunal status` lists the runs")]
    NoRun {
        /// What was asked for.
        wanted: String,
    },
    /// The run cannot do this now.
    #[error("{0}")]
    Refused(String),
    /// A person says that they fixed it, and what they left was judged before.
    #[error("nothing was changed in {}", place.display())]
    NothingMended {
        /// Where they should have.
        place: PathBuf,
    },
    /// A file.
    #[error("cannot {doing} {path}: {detail}{}", if *doing == "read" { READABLE } else { ROOM }, path = path.display())]
    Io {
        /// What.
        doing: &'static str,
        /// Which.
        path: PathBuf,
        /// Why.
        detail: String,
    },
}

const ROOM: &str = "\nhint: check that it can be written, by you and on this disk, and that there is room";

const READABLE: &str = "\nhint: check that you may read it: its permissions and those of its folder";

/// Git's own messages name a way out, but for a file that cannot be read or written.
fn way_out_of(error: &tribunal_git::GitError) -> &'static str {
    if matches!(error, tribunal_git::GitError::Io { .. }) { ROOM } else { "" }
}

/// What works where no agent is installed.
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

    /// 2 where the user's input is at fault, 3 where the machine is.
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
            | SetupError::NothingMended { .. }
            | SetupError::Agent(_) => 2,
            SetupError::Git(error) => {
                use tribunal_git::GitError as G;
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
