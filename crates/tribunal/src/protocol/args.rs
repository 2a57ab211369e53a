//! The command line of the protocol: names and arguments as the scripts and prompts written for it use them.
//!
//! It only describes; what a command does is in the files beside it. Names, positions and exit codes are given by those
//! scripts and must not be improved. The commands are hidden from the help, which lists them under `tribunal protocol`.

use crate::args::Globals;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// What `tribunal protocol` prints, and `tribunal help protocol` with it.
pub const LIST: &str = "\
Commands (each prints one JSON object; exit codes in brackets):
  review-plan PLAN [PHASE_DIR]                     structural check [0 approve, 1 reject, 2 conditional]
  validate-plan PLAN PHASE_DIR                     dependencies [0 satisfied, 1 all failed, 2 some]
  verify-plan-completion SUMMARY PLAN              the summary's gate [0, 1]
  commit-lint RANGE                                type(scope): text [0, 1]
  diff-against-plan SUMMARY [--commits a,b]        declared against changed files [0, 1]
  validate-requirements PLAN PHASE_DIR             what shows each must_have [0, 1]
  check-regression PHASE_DIR                       tests at the base against now [0, 1, 3 did not run]
  qa-suite SUMMARY PLAN [--commit-range R] [--phase-dir D]   all five [0, 1]
  generate-contract PLAN                           .contracts/NN-MM.json [0, 1]
  hard-gate GATE PHASE PLAN TASK CONTRACT          [0 pass, 2 fail, 3 did not run]
  auto-repair GATE PHASE PLAN TASK CONTRACT        [0 repaired, 2 not]
  two-phase-complete TASK_ID PHASE PLAN CONTRACT [EVIDENCE...] [files_modified=a,b]   [0 confirmed, 2 rejected]
  lease-lock acquire|renew|release|check|cleanup TASK_ID [--ttl=300] [FILES...]       [0, 2 conflict]
  lock-lite                                        as lease-lock, without an end
  artifact-registry register FILE EVENT_ID PHASE PLAN | query FILE | list             [0, 1]
  control-plane full|pre-task|post-task|compile PHASE PLAN TASK [--plan-path= --role= --phase-dir= --task-id=
                --claimed-files=]                  the others in order [0, 2 a step failed]
  compile-context PHASE ROLE PHASE_DIR [PLAN]      .context-ROLE.md [0, 1]
  token-budget ROLE FILE [CONTRACT TASK]           within: JSON; over: the cut text, JSON on stderr [0]
  resolve-model ROLE CONFIG [PROFILES]             the bare name; --all or --with-cost: an object [0, 1]
  resolve-turns ROLE CONFIG [EFFORT]               the bare number, 0 is unlimited [0, 1]
  gate-policy EFFORT RISK AUTONOMY                 [0]
  assess-risk PLAN                                 [0]
  validate-message < MESSAGE                       [0 valid, 2 not]
  log-event TYPE PHASE [PLAN] [k=v...]             .events/event-log.jsonl [0]
  metrics-report [PHASE]                           markdown, or --json [0]
  planning-git commit-boundary ACTION CONFIG | push-after-phase CONFIG | sync-ignore CONFIG   [0, 1]
  suggest-next CMD [RESULT]                        [0]
  update-exec-state PLAN KEY=VALUE...              .execution-state.json [0, 1]

Usage errors are exit 2, what could not be done is 3. Phase and plan are given as 1, 01 or 01-02.

Examples:
  tribunal review-plan .planning/phases/01-tools/01-01-PLAN.md
  tribunal qa-suite .planning/phases/01-tools/01-01-SUMMARY.md .planning/phases/01-tools/01-01-PLAN.md";

/// `tribunal docs`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tribunal docs .planning\n  tribunal docs .planning --json | jq 'select(.ok | not)'\n  \
    tribunal docs specs/001-login\n\n\
    Folders are searched for .md files and for tasks.json of Task Master. Task documents of spec-kit, OpenSpec, Kiro and \
    Task Master are shown with their tasks and what was not used. With --json there is one object per file and line. A \
    document that cannot be read is shown with line and column; the exit code is 0 unless a path itself cannot be read."
)]
pub struct Docs {
    /// Documents, or folders of documents
    #[arg(required = true)]
    pub paths: Vec<PathBuf>,
}

/// The command line when its first word is a command of the protocol.
#[derive(Debug, Parser)]
#[command(name = "tribunal", max_term_width = 100)]
pub struct Lean {
    /// For all commands.
    #[command(flatten)]
    pub globals: Globals,
    /// The command.
    #[command(subcommand)]
    pub command: Protocol,
}

/// The commands of the protocol.
#[derive(Debug, Subcommand)]
pub enum Protocol {
    /// Check a plan's structure
    #[command(hide = true)]
    ReviewPlan { plan: PathBuf, phase_dir: Option<PathBuf> },
    /// Check a plan's dependencies
    #[command(hide = true)]
    ValidatePlan { plan: PathBuf, phase_dir: PathBuf },
    /// Check a plan's summary
    #[command(hide = true)]
    VerifyPlanCompletion { summary: PathBuf, plan: PathBuf },
    /// Check commit subjects
    #[command(hide = true)]
    CommitLint { range: String },
    /// Compare declared with changed files
    #[command(hide = true)]
    DiffAgainstPlan {
        summary: PathBuf,
        /// The commits; the summary's own without it
        #[arg(long, value_delimiter = ',')]
        commits: Vec<String>,
    },
    /// Look for what shows each must_have
    #[command(hide = true)]
    ValidateRequirements { plan: PathBuf, phase_dir: PathBuf },
    /// Compare the tests at the base commit with the tests now
    #[command(hide = true)]
    CheckRegression {
        phase_dir: PathBuf,
        /// The base commit; the one before the phase's first without it
        #[arg(long)]
        base: Option<String>,
    },
    /// All five checks of a delivery
    #[command(hide = true)]
    QaSuite(QaSuite),
    /// Write a plan's contract
    #[command(hide = true)]
    GenerateContract { plan: PathBuf },
    /// Ask a gate
    #[command(hide = true)]
    HardGate(GateArgs),
    /// Try to open a gate
    #[command(hide = true)]
    AutoRepair(GateArgs),
    /// Confirm or reject a finished task
    #[command(hide = true)]
    TwoPhaseComplete(Complete),
    /// Leases over files
    #[command(hide = true)]
    LeaseLock(Lease),
    /// Locks over files, without an end
    // Scripts use the short names of the original as well.
    #[command(hide = true, alias = "lock")]
    LockLite(Lease),
    /// Register files that were made
    #[command(hide = true, alias = "artifact")]
    ArtifactRegistry {
        action: ArtifactAction,
        /// register: FILE EVENT_ID PHASE PLAN; query: FILE
        args: Vec<String>,
    },
    /// The gates around a task, in order
    #[command(hide = true)]
    ControlPlane(Control),
    /// Write a role's context
    #[command(hide = true)]
    CompileContext { phase: String, role: String, phase_dir: PathBuf, plan: Option<PathBuf> },
    /// Hold a text to its role's budget
    #[command(hide = true)]
    TokenBudget { role: String, file: PathBuf, contract: Option<PathBuf>, task: Option<u32> },
    /// The model of a role
    #[command(hide = true)]
    ResolveModel(ResolveModel),
    /// The turns of a role
    #[command(hide = true)]
    ResolveTurns { role: String, config: PathBuf, effort: Option<String> },
    /// What is asked at this effort, risk and autonomy
    #[command(hide = true)]
    GatePolicy { effort: String, risk: String, autonomy: String },
    /// The risk of a plan
    #[command(hide = true)]
    AssessRisk { plan: PathBuf },
    /// Check a message on stdin
    #[command(hide = true)]
    ValidateMessage,
    /// Add to the event log
    #[command(hide = true)]
    LogEvent {
        r#type: String,
        phase: String,
        /// The plan, then key=value
        rest: Vec<String>,
    },
    /// The seven metrics
    #[command(hide = true)]
    MetricsReport { phase: Option<String> },
    /// Commit and push planning files
    #[command(hide = true)]
    PlanningGit {
        action: PlanningAction,
        /// commit-boundary: ACTION CONFIG; otherwise CONFIG
        #[arg(required = true, num_args = 1..=2)]
        args: Vec<String>,
    },
    /// What to run next
    #[command(hide = true)]
    SuggestNext { cmd: String, result: Option<String> },
    /// Change the execution state
    #[command(hide = true)]
    UpdateExecState {
        plan: String,
        /// KEY=VALUE, KEY+=VALUE adds to a list
        #[arg(required = true)]
        changes: Vec<String>,
    },
}

/// `resolve-model`.
#[derive(Debug, Args)]
pub struct ResolveModel {
    /// ROLE CONFIG [PROFILES]; CONFIG [PROFILES] with --all
    #[arg(required = true, num_args = 1..=3)]
    pub words: Vec<String>,
    /// Every role, as an object
    #[arg(long)]
    pub all: bool,
    /// Each model's weight of cost beside it, as an object
    #[arg(long)]
    pub with_cost: bool,
}

/// `qa-suite`.
#[derive(Debug, Args)]
pub struct QaSuite {
    /// The summary
    pub summary: PathBuf,
    /// The plan
    pub plan: PathBuf,
    /// The commits to lint; the summary's own without it
    #[arg(long)]
    pub commit_range: Option<String>,
    /// The phase's folder; the summary's own without it
    #[arg(long)]
    pub phase_dir: Option<PathBuf>,
}

/// `hard-gate` and `auto-repair`.
#[derive(Debug, Args)]
pub struct GateArgs {
    /// The gate
    pub gate: String,
    /// The phase
    pub phase: String,
    /// The plan
    pub plan: String,
    /// The task's number
    pub task: String,
    /// The contract's file
    pub contract: PathBuf,
}

/// `two-phase-complete`.
#[derive(Debug, Args)]
pub struct Complete {
    /// The task
    pub task_id: String,
    /// The phase
    pub phase: String,
    /// The plan
    pub plan: String,
    /// The contract's file
    pub contract: PathBuf,
    /// Files, commits and words that show it; files_modified=a,b names what was changed
    pub evidence: Vec<String>,
}

/// What to do with a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LeaseAction {
    /// Take files
    Acquire,
    /// Take new time
    Renew,
    /// Give files back
    Release,
    /// Ask whether files are free
    Check,
    /// Drop what is over
    Cleanup,
}

/// `lease-lock` and `lock-lite`.
#[derive(Debug, Args)]
pub struct Lease {
    /// What to do
    pub action: LeaseAction,
    /// The task; cleanup needs none
    pub task_id: Option<String>,
    /// Seconds it lasts
    #[arg(long)]
    pub ttl: Option<u64>,
    /// The task, where the words after the action are all files
    #[arg(long)]
    pub owner: Option<String>,
    /// The files
    pub files: Vec<String>,
}

/// What to do with the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ArtifactAction {
    /// Add a file
    Register,
    /// Show a file's entries
    Query,
    /// Show all entries
    List,
}

/// What to do around a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ControlAction {
    /// Contract and context
    Full,
    /// The gates before a task
    PreTask,
    /// The gates after a task
    PostTask,
    /// Context alone
    Compile,
}

/// `control-plane`.
#[derive(Debug, Args)]
pub struct Control {
    /// What to do
    pub action: ControlAction,
    /// The phase
    pub phase: String,
    /// The plan
    pub plan: String,
    /// The task's number
    pub task: String,
    /// The plan's file
    #[arg(long)]
    pub plan_path: Option<PathBuf>,
    /// Whose context
    #[arg(long, default_value = "dev")]
    pub role: String,
    /// The phase's folder
    #[arg(long)]
    pub phase_dir: Option<PathBuf>,
    /// The task's name
    #[arg(long)]
    pub task_id: Option<String>,
    /// Files the task takes
    #[arg(long, value_delimiter = ',')]
    pub claimed_files: Vec<String>,
}

/// What to do with planning files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PlanningAction {
    /// Commit them
    CommitBoundary,
    /// Push the branch
    PushAfterPhase,
    /// Keep them out of git, or their transient part
    SyncIgnore,
}
