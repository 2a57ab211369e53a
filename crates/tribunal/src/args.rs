//! The command line: verbs, flags and their help. It only describes; what a command does is in `commands/`, and how the
//! commands are grouped on the page of `tribunal --help` is in `help.rs`.
//!
//! Doc comments on commands and arguments are the help text that users read, and a snapshot test holds them. Whatever
//! is meant for readers of the code goes into plain comments here.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use tribunal_engine::inbox::Reaction;

/// Agents do planned work; checks and reviewers judge it; only what is approved lands.
#[derive(Debug, Parser)]
#[command(
    name = "tribunal",
    version,
    max_term_width = 100,
    arg_required_else_help = true,
    subcommand_required = true,
    // `help` is a command of ours, because it also has the page with every command.
    disable_help_subcommand = true
)]
pub struct Cli {
    /// For all commands.
    #[command(flatten)]
    pub globals: Globals,
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// Over the flags that every command has, so that its own stand together.
const EVERYWHERE: &str = "For every command";

/// Flags of all commands.
#[derive(Clone, Debug, Default, Args)]
pub struct Globals {
    /// Work as if started in DIR
    #[arg(short = 'C', value_name = "DIR", global = true, help_heading = EVERYWHERE)]
    pub work_dir: Option<PathBuf>,
    /// Print JSON on stdout
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    pub json: bool,
    /// Colour the output: auto (on a terminal, unless NO_COLOR is set), always or never
    #[arg(long, value_name = "WHEN", value_enum, default_value_t, global = true, help_heading = EVERYWHERE)]
    #[arg(hide_possible_values = true, hide_default_value = true)]
    pub color: Colour,
    /// Say nothing but results and errors
    #[arg(short, long, global = true, help_heading = EVERYWHERE)]
    pub quiet: bool,
}

impl Globals {
    /// The folder that commands for a person must name, where this one was told to work elsewhere.
    pub fn elsewhere(&self) -> Option<String> {
        self.work_dir.as_ref().map(|dir| dir.display().to_string())
    }
}

/// When to colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Colour {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show it: a small real project, scripted agents, every ending
    Demo(Demo),
    /// Prepare this project: write a short tribunal.toml
    Init(Init),
    /// Check what a run needs here: agents, sandbox, git, disk space
    Doctor(Doctor),
    /// Make one change, said in words: build it, judge it, land it
    Do(Do),
    /// Run a phase: judge its plans, build them, judge the work, land it
    Run(Run),
    /// Review a range of commits, staged changes, a patch or a phase
    Review(Review),
    /// Write the spec of a feature, and have it reviewed
    Specify(Specify),
    /// Write a feature's design from its spec, and have it reviewed
    Design(Design),
    /// Write the plans of a feature, and have them reviewed
    CreatePlan(CreatePlan),
    /// List the tasks of a feature's plans, and have the list reviewed
    CreateTasks(CreateTasks),
    /// Build a feature's plans, and compare the result with its spec
    Implement(Implement),
    /// Show where a run stands
    Status(Status),
    /// Print what happened, event by event
    Log(Log),
    /// Explain why each decision of a run was made
    Explain(Explain),
    /// Fold a run's journal again, and compare every decision
    Replay(Replay),
    /// Show a run, a loop or a finding in full
    Show(Show),
    /// Report what was found in a run, and what became of it
    Report(Report),
    /// Continue a run that was interrupted or waited
    Resume(Resume),
    /// Land a result that had to wait: rebase, check, review where needed
    Land(Land),
    /// Cancel a run
    Cancel(Cancel),
    /// Watch a run live on this terminal, and answer its questions
    Watch(Watch),
    /// Show runs, findings and the inbox in a browser, live
    Serve(Serve),
    /// List the questions that wait for a person
    Inbox(Inbox),
    /// Answer a question
    Decide(Decide),
    /// Accept one finding of a review, permanently or until a date
    Waive(Waive),
    /// Try out what a phase built, one scenario at a time
    Uat(Uat),
    /// Write a page about the repository for agents: CODEBASE.md
    Map(Map),
    /// Remove old runs
    Gc(Gc),
    /// Show what is read from a reviewer's answer
    Intake(Intake),
    /// Show which findings of a list describe the same defect
    Dedupe(Dedupe),
    /// Compare two reports: what is new, gone, unchanged
    Delta(Delta),
    /// Show what is read from planning documents
    Docs(crate::protocol::args::Docs),
    /// Run a command that the protocol's scripts call, or list them
    #[command(after_help = crate::protocol::args::LIST)]
    Protocol {
        /// The command; the list without it
        #[command(subcommand)]
        command: Option<crate::protocol::args::Protocol>,
    },
    /// Show the configuration
    #[command(
        subcommand,
        after_help = "Examples:\n  tribunal config show --origin\n  tribunal config show run.effort"
    )]
    Config(Config),
    /// Trust this repository's settings that reach beyond the sandbox
    Trust(Trust),
    /// Print the completion script for a shell
    #[command(
        after_help = "Examples:\n  tribunal completions bash > ~/.local/share/bash-completion/completions/tribunal\n  \
        tribunal completions zsh > ~/.zfunc/_tribunal\n  \
        tribunal completions fish > ~/.config/fish/completions/tribunal.fish"
    )]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Serve editor agents over MCP: reviews, findings, the inbox
    Mcp(Mcp),
    /// Answer a hook of an editor agent, and check what it did
    Hook(Hook),
    /// Show the daily commands, every command, or the help of one
    #[command(after_help = "Examples:\n  tribunal help\n  tribunal help --all\n  tribunal help review")]
    Help(Help),
    // Scripts call the protocol's commands by their bare names, too.
    /// The protocol's own commands.
    #[command(flatten)]
    Step(crate::protocol::args::Protocol),
}

/// Settings on the command line.
#[derive(Clone, Debug, Default, Args)]
pub struct SetArgs {
    /// Set a key for this run, e.g. --set task.rounds_max=5
    #[arg(long, value_name = "KEY=VALUE", help_heading = "Settings")]
    pub set: Vec<String>,
    /// How much is spent on care: turbo, fast, balanced, thorough, max
    #[arg(long, value_name = "LEVEL", help_heading = "Settings")]
    pub effort: Option<String>,
    /// Agents at most at a time
    #[arg(long, value_name = "N", help_heading = "Settings")]
    pub parallel: Option<String>,
}

/// `tribunal do`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tribunal do \"greet people by name\"\n  \
    tribunal do -F task.md --check \"npm test\"      the words from a file, and a command that must pass\n  \
    tribunal do \"fix the login bug\" --branch fix-login\n  \
    tribunal do --no-land \"…\"; tribunal land       look at it first\n  \
    tribunal do --continue \"also handle an empty name\"\n\n\
    It needs no plans and no settings: a builder makes the change in a folder of its own, the project's tests and tools and \
    another agent judge it, and one commit comes to your branch. On a terminal you are asked before it does. \
    Exit codes: 0 your branch has it, 1 it was not made or not approved, 4 it waits for you.")]
pub struct Do {
    /// What to do, in your words; `-` reads them from standard input
    pub words: Vec<String>,
    /// Read the words from FILE
    #[arg(short = 'F', long = "file", value_name = "FILE", conflicts_with = "words")]
    pub file: Option<PathBuf>,
    /// Take the words from an issue of the code host
    #[arg(long, value_name = "N|URL", conflicts_with_all = ["words", "file"])]
    pub issue: Option<String>,
    /// These words are more about the last change: its builder goes on with it
    // The change goes on where it began, so another branch makes no sense.
    #[arg(long = "continue", conflicts_with = "branch")]
    pub goes_on: bool,
    /// The agent that builds, by its adapter's name
    #[arg(long, value_name = "NAME")]
    pub builder: Option<String>,
    /// The agent that reviews, by its adapter's name
    #[arg(long, value_name = "NAME")]
    pub reviewer: Option<String>,
    /// A command that must pass; may be given more than once
    #[arg(long, value_name = "CMD")]
    pub check: Vec<String>,
    /// Rounds of review at most
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub rounds: Option<u32>,
    /// Land on this branch; it is made where it does not exist
    // A name that begins with a dash is refused later, where the message can say that it is no branch.
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub branch: Option<String>,
    /// Watch it on this terminal, as `tribunal watch` does
    // The display takes the whole terminal and stays by itself.
    #[arg(long, conflicts_with_all = ["json", "attach"])]
    pub watch: bool,
    /// Leave the result for `tribunal land`
    #[arg(long)]
    pub no_land: bool,
    /// How it waits.
    #[command(flatten)]
    pub waiting: WaitArgs,
    /// Settings.
    #[command(flatten)]
    pub set: SetArgs,
}

/// `tribunal run`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tribunal run                     the only phase there is\n  \
    tribunal run 02                  phase 02\n  tribunal run 02 --plan 03        only plan 02-03\n  \
    tribunal run 02 --no-review      without judging the plans first\n  \
    tribunal run 02 --effort thorough --set checks.timeout_s=600")]
pub struct Run {
    /// The phase: its number or folder
    pub phase: Option<String>,
    /// More words: whoever gives them wants `tribunal do`
    // Accepted so that the error can name the right command; see `commands::run`.
    #[arg(hide = true)]
    pub words: Vec<String>,
    /// Only this plan
    #[arg(long, value_name = "NN")]
    pub plan: Option<String>,
    /// Begin a new run even if one of this phase is open or cannot be read
    #[arg(long)]
    pub fresh: bool,
    /// When your branch has moved, rebase the result onto it and land it without asking
    #[arg(long)]
    pub land_again: bool,
    /// Judge the plans before any code
    // Of a pair of opposite flags the last one counts, so a script can append to an alias.
    #[arg(long, overrides_with = "no_review")]
    pub review: bool,
    /// Do not judge the plans
    #[arg(long)]
    pub no_review: bool,
    /// Judge deliveries before they land
    #[arg(long, overrides_with = "no_qa")]
    pub qa: bool,
    /// Do not judge deliveries
    #[arg(long)]
    pub no_qa: bool,
    /// When everything has landed, have a panel review it all before it comes to your branch
    #[arg(long, overrides_with = "no_panel")]
    pub panel: bool,
    /// No such review
    #[arg(long)]
    pub no_panel: bool,
    /// When it passed, try it out at once
    #[arg(long)]
    pub uat: bool,
    /// How it waits.
    #[command(flatten)]
    pub waiting: WaitArgs,
    /// Settings.
    #[command(flatten)]
    pub set: SetArgs,
}

/// `tribunal review`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tribunal review --diff main..HEAD            what this branch changes\n  \
    tribunal review --staged                     what the next commit would change\n  \
    tribunal review --diff main --fix            and fix what can be fixed\n  \
    tribunal review 02                           what phase 02 built\n  \
    tribunal review --diff main --format sarif > review.sarif\n\n\
    Tools judge first (linters, type checkers, formatters that are installed and configured here), then the reviewers \
    that are configured. Only what is on changed lines counts. A tool that did not run is not green. \
    Exit codes: 0 passed, 1 findings are in the way, 4 a person is asked."
)]
pub struct Review {
    /// The phase: its number or folder
    pub phase: Option<String>,
    /// A range: main..HEAD, main...topic, or main for everything since
    #[arg(
        long,
        value_name = "RANGE",
        group = "target",
        conflicts_with = "phase",
        allow_hyphen_values = true
    )]
    pub diff: Option<String>,
    /// What is staged for the next commit
    #[arg(long, group = "target", conflicts_with = "phase")]
    pub staged: bool,
    /// What a patch would change here: as `git diff` or a code host writes it
    #[arg(long, value_name = "FILE", group = "target", conflicts_with = "phase")]
    pub pr_file: Option<PathBuf>,
    /// Fix what was found, judge again, and land what passes
    #[arg(long)]
    pub fix: bool,
    /// Judgings at most, with --fix
    #[arg(long, value_name = "N", requires = "fix", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_rounds: Option<u32>,
    /// Only these tools and reviewers, by name
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub panel: Vec<String>,
    /// Show what is on lines that did not change; keep what authority would take out
    #[arg(long)]
    pub include_filtered: bool,
    /// Show findings nobody is sure of, and those that are settled
    #[arg(long)]
    pub verbose: bool,
    /// Do not ask whether the panel is right
    #[arg(short, long)]
    pub yes: bool,
    /// The form of the result; --json is short for json
    #[arg(long, value_name = "FORM", value_enum, conflicts_with = "json")]
    pub format: Option<ReviewForm>,
    /// How it waits.
    #[command(flatten)]
    pub waiting: WaitArgs,
    /// Settings.
    #[command(flatten)]
    pub set: SetArgs,
}

/// What every step of an artifact chain takes.
#[derive(Debug, Args)]
pub struct ChainArgs {
    /// The feature: the name of its folder in the planning folder's `features`
    #[arg(allow_hyphen_values = true)]
    pub feature: String,
    /// How many rounds of review: hotfix 1, quick 2, standard 3, full 5; `chain.mode` without it
    #[arg(long, value_name = "MODE")]
    pub mode: Option<String>,
    /// Have it reviewed
    #[arg(long, overrides_with = "no_review")]
    pub review: bool,
    /// Skip the review; both files beside the artifact and the commit say so
    #[arg(long)]
    pub no_review: bool,
    /// Begin a new run even if one for this is not over
    #[arg(long)]
    pub fresh: bool,
    /// How it waits.
    #[command(flatten)]
    pub waiting: WaitArgs,
    /// Settings.
    #[command(flatten)]
    pub set: SetArgs,
}

/// `tribunal specify`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tribunal specify login People sign in with a link they get by mail\n  \
    tribunal specify login                       from brainstorm.md and the like in its folder\n  \
    tribunal specify login --mode quick          at most two rounds of review\n  \
    tribunal specify login --no-review           nobody judges it, and its files say so\n\n\
    It writes features/FEATURE/spec.md in the planning folder, and beside it .meta.json and .review-history.md. \
    Exit codes: 0 it is there, 1 it was not approved, 2 something is missing before it, 4 a person is asked.")]
pub struct Specify {
    /// What every step takes.
    #[command(flatten)]
    pub chain: ChainArgs,
    /// What is wanted, in your words
    pub wanted: Vec<String>,
}

/// `tribunal design`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tribunal design login\n  tribunal design login --mode full\n\n\
    It writes features/FEATURE/design.md from spec.md, which should be there.")]
pub struct Design {
    /// What every step takes.
    #[command(flatten)]
    pub chain: ChainArgs,
}

/// `tribunal create-plan`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tribunal create-plan login\n  tribunal create-plan login --set plan.tasks_max=3\n\n\
    It writes phases/NN-FEATURE/NN-MM-PLAN.md, NN the next free number. They pass the same structural check that \
    `tribunal run` makes before any code."
)]
pub struct CreatePlan {
    /// What every step takes.
    #[command(flatten)]
    pub chain: ChainArgs,
}

/// `tribunal create-tasks`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tribunal create-tasks login\n\n\
    It writes features/FEATURE/tasks.md, where every task of every plan is named. Without a plan it is refused.")]
pub struct CreateTasks {
    /// What every step takes.
    #[command(flatten)]
    pub chain: ChainArgs,
}

/// `tribunal implement`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tribunal implement login\n  tribunal implement login --no-review    without the final review\n  \
    tribunal implement login --effort thorough\n\n\
    It is `tribunal run` on the feature's plans; then the final reviewer holds everything that was built against spec.md, \
    and only what is approved comes to your branch. Without a spec or a plan it is refused."
)]
pub struct Implement {
    /// What every step takes.
    #[command(flatten)]
    pub chain: ChainArgs,
}

/// The forms of a review's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReviewForm {
    /// For a terminal
    Text,
    /// For programs
    Json,
    /// SARIF 2.1.0
    Sarif,
    /// For a comment on a change
    Markdown,
    /// Annotations for a workflow of GitHub
    Github,
}

/// `tribunal uat`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tribunal uat                     the only phase there is\n  \
    tribunal uat 02                  phase 02\n  printf 'pass\\nskip\\nthe title is wrong\\n' | tribunal uat 02 --json\n\n\
    Answers: pass, skip, or what is wrong. Each is saved in NN-UAT.md before the next is asked; an issue takes the \
    phase's completion back. Exit codes: 0 accepted, 1 issues, 4 not all were answered.")]
pub struct Uat {
    /// The phase: its number or folder
    pub phase: Option<String>,
    /// Settings.
    #[command(flatten)]
    pub set: SetArgs,
}

/// Whether a run that waits for a person stays.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct WaitArgs {
    /// Stay when it waits for a person, until the question is answered elsewhere
    #[arg(long, overrides_with = "detach")]
    pub attach: bool,
    /// Leave with code 4 when it waits for a person (the default)
    #[arg(long)]
    pub detach: bool,
}

/// `tribunal status`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tribunal status                  the newest run, and which others there are\n  \
    tribunal status --json | jq .questions"
)]
pub struct Status {
    /// The run; the newest without it
    pub run: Option<String>,
    /// Print the JSON schema of `--json` instead
    #[arg(long)]
    pub schema: bool,
}

/// `tribunal watch`.
#[derive(Debug, Args)]
#[command(
    after_help = "Keys: arrows select, Tab changes the list, Enter opens a run or answers a question (n: with a note), PgDn \
    and PgUp scroll, q quits; the run goes on.\n\nExamples:\n  tribunal watch                   the newest run\n  \
    tribunal watch 20260301-0915     another one"
)]
pub struct Watch {
    /// The run; the newest without it
    pub run: Option<String>,
}

/// `tribunal serve`.
#[derive(Debug, Args)]
#[command(
    after_help = "It listens on this machine only, starts no program, and shows a link that signs one browser in; \
    the next link is shown when that one was used. Sign-ins end with it.\n\nExamples:\n  \
    tribunal serve                   the link is on stdout\n  \
    tribunal serve --port 4517       to look at it from elsewhere, with\n  \
    ssh -L 4517:127.0.0.1:4517 host  on the machine you are at"
)]
pub struct Serve {
    /// The port; any free one without it, and another each time
    #[arg(long, value_name = "PORT")]
    pub port: Option<u16>,
}

/// `tribunal mcp`.
#[derive(Debug, Args)]
#[command(
    after_help = "It speaks the Model Context Protocol on standard input and output; an editor agent starts it. Reading \
    starts no program; an answer to a finding is recorded and settles nothing; questions are answered by people.\n\n\
    Examples:\n  tribunal mcp --serve\n  claude mcp add tribunal -- tribunal mcp --serve\n  \
    tribunal init --plugin claude    writes a plugin that starts it"
)]
pub struct Mcp {
    /// Serve editor agents
    // Exactly one of the two servers: the folder of a launch is passed by the engine, never by a person.
    #[arg(long, required_unless_present = "dir", conflicts_with = "dir")]
    pub serve: bool,
    /// The folder of a launch: what agents of a run are given to report by
    #[arg(hide = true)]
    pub dir: Option<PathBuf>,
}

/// `tribunal log`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tribunal log                     what mattered in the newest run\n  \
    tribunal log --all               every event\n  tribunal log --follow            and go on as it happens\n  \
    tribunal log --json | jq 'select(.kind == \"ruled\")'")]
pub struct Log {
    /// The run; the newest without it
    pub run: Option<String>,
    /// Go on as it happens, until the run ends
    #[arg(short, long)]
    pub follow: bool,
    /// Every event, not only those that matter
    #[arg(short, long)]
    pub all: bool,
    /// Print the JSON schema of `--json` instead
    #[arg(long)]
    pub schema: bool,
}

/// `tribunal explain`.
#[derive(Debug, Args)]
#[command(
    after_help = "Every decision is a line with its number in the journal; below it stand the events it follows \
    from.\n\nExamples:\n  tribunal explain                        the newest run\n  \
    tribunal explain --loop 01-02/task-1    one loop of it\n  \
    tribunal --json explain 20260301-0915   an older one, as JSON lines"
)]
pub struct Explain {
    /// The run, or the beginning of its id; the newest if not given
    pub run: Option<String>,
    /// Only this loop, or `run`
    #[arg(long = "loop", value_name = "LOOP")]
    pub of: Option<String>,
}

/// `tribunal replay`.
#[derive(Debug, Args)]
#[command(after_help = "Exit code 0 when every decision came out as recorded, 1 when not.\n\n\
    Examples:\n  tribunal replay            the newest run\n  \
    tribunal replay --steps    row by row: what was decided (=), what came from outside (<)\n  \
    tribunal replay --step     on this terminal, one row after the other, each in full")]
pub struct Replay {
    /// The run, or the beginning of its id; the newest if not given
    pub run: Option<String>,
    /// Print every row
    #[arg(long)]
    pub steps: bool,
    /// Step through the rows on this terminal
    #[arg(long, conflicts_with_all = ["steps", "json"])]
    pub step: bool,
}

/// `tribunal show`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tribunal show                    the report of the newest run\n  \
    tribunal show F-12               a finding of the newest run\n  \
    tribunal show 01-02/task-1       a loop of the newest run\n  \
    tribunal show 20261115-204340-01 F-12")]
pub struct Show {
    /// The run, or a loop or finding of the newest run
    pub run: Option<String>,
    /// A loop (01-02/task-1) or a finding (F-12)
    pub what: Option<String>,
}

/// `tribunal report`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tribunal report                              the newest run, on the terminal\n  \
    tribunal report --html --output review.html\n  \
    tribunal report --format sarif --output tribunal.sarif\n  \
    tribunal report --format github              annotations, for a workflow of GitHub\n\n\
    Reads the journal and starts nothing. `markdown` is what a run leaves as NN-REVIEW.md."
)]
pub struct Report {
    /// The run; the newest without it
    pub run: Option<String>,
    /// Its form; --json is short for json
    #[arg(long, value_name = "FORM", value_enum, conflicts_with = "json")]
    pub format: Option<ReportForm>,
    /// Short for --format html: one page that needs no other file
    #[arg(long, conflicts_with_all = ["json", "format"])]
    pub html: bool,
    /// Write it to FILE instead of stdout
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// The forms of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReportForm {
    /// For a terminal
    Text,
    /// For programs
    Json,
    /// As NN-REVIEW.md
    Markdown,
    /// SARIF 2.1.0
    Sarif,
    /// Annotations for a workflow of GitHub
    Github,
    /// One page with a picture
    Html,
    /// A trace of OpenTelemetry: one line of OTLP JSON
    #[cfg(feature = "otel")]
    Otlp,
}

/// `tribunal resume`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tribunal resume                  the newest run that is not over\n  \
    tribunal resume 20261115-204340-01 --attach")]
pub struct Resume {
    /// The run; the newest that is not over without it
    pub run: Option<String>,
    /// How it waits.
    #[command(flatten)]
    pub waiting: WaitArgs,
    /// Settings.
    #[command(flatten)]
    pub set: SetArgs,
}

/// `tribunal land`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tribunal land                    the newest run whose result your branch does not have\n  \
    tribunal land 20261115-204340-01\n\n\
    Where your branch has moved, the result is rebased onto it and checked there. What was approved stays approved\n\
    where that is proven; only the rest is judged again. Then your branch is fast-forwarded."
)]
pub struct Land {
    /// The run; the newest whose result is held without it
    pub run: Option<String>,
    /// Who asks for it; your user name without it
    #[arg(long, value_name = "NAME")]
    pub by: Option<String>,
    /// How it waits.
    #[command(flatten)]
    pub waiting: WaitArgs,
    /// Settings.
    #[command(flatten)]
    pub set: SetArgs,
}

/// `tribunal cancel`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tribunal cancel                  the newest run that is not over\n\n\
    What is merged into the run branch stays there; your own branch is not touched.")]
pub struct Cancel {
    /// The run; the newest that is not over without it
    pub run: Option<String>,
}

/// `tribunal inbox`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tribunal inbox\n  tribunal inbox --json | jq -r '.[].offers[].command'")]
pub struct Inbox {
    /// Only of this run
    pub run: Option<String>,
}

/// `tribunal decide`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tribunal decide 01-02/task-1 again --rounds 2\n  \
    tribunal decide 01-02/task-1 fixed --note 'the test was wrong'\n  \
    tribunal decide 01-02 drop\n\nThe first answer counts; later ones are told so. If nobody runs the run, it is resumed.")]
pub struct Decide {
    /// The question, as `tribunal inbox` shows it
    pub id: String,
    /// again, fixed, ask-again, accept, drop or stop
    // Parsed here, so that a misspelt answer is a usage error before a run is even looked for.
    #[arg(value_parser = reaction)]
    pub option: Reaction,
    /// Rounds, for `again`; one without it
    #[arg(long, value_name = "N")]
    pub rounds: Option<u32>,
    /// Why, in your words
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub note: String,
    /// Who decides; your user name without it
    #[arg(long, value_name = "NAME")]
    pub by: Option<String>,
    /// The run; without it the newest that has this question
    #[arg(long, value_name = "RUN")]
    pub run: Option<String>,
    /// Only record the answer
    #[arg(long)]
    pub no_resume: bool,
    /// How it waits afterwards.
    #[command(flatten)]
    pub waiting: WaitArgs,
    /// Settings.
    #[command(flatten)]
    pub set: SetArgs,
}

/// `tribunal waive`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tribunal waive F-3 --note 'the name is part of the interface'\n  \
    tribunal waive F-3 --note 'goes away with the old parser' --until 2030-06-30\n\nThe next review of the same thing knows it, \
    while the code it is about is as it was and it is no worse.")]
pub struct Waive {
    /// The finding, as the review shows it
    pub id: String,
    /// Why, in your words
    #[arg(long, value_name = "TEXT")]
    pub note: String,
    /// The last day on which it is waived, by UTC; without it there is none
    #[arg(long, value_name = "YYYY-MM-DD")]
    pub until: Option<String>,
    /// Who waives it; your user name without it
    #[arg(long, value_name = "NAME")]
    pub by: Option<String>,
    /// The review; without it the newest that has this finding
    #[arg(long, value_name = "RUN")]
    pub run: Option<String>,
}

/// An answer by its word.
pub fn reaction(word: &str) -> Result<Reaction, String> {
    let lower = word.to_lowercase().replace('_', "-");
    // Other words that people use for the same answers.
    let meant = match lower.as_str() {
        "retry" => "again",
        "reask" | "ask" => "ask-again",
        "i-fixed-it" => "fixed",
        other => other,
    };
    Reaction::ALL.into_iter().find(|reaction| reaction.word() == meant).ok_or_else(|| {
        let words: Vec<&str> = Reaction::ALL.iter().map(|reaction| reaction.word()).collect();
        format!("it is one of {}", words.join(", "))
    })
}

/// `tribunal map`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tribunal map\n  tribunal map --print\n\nLanguages, stack, conventions, entry points, tests and risk areas, from names, sizes and history; no model is asked."
)]
pub struct Map {
    /// Print it instead
    #[arg(long)]
    pub print: bool,
    /// Also over a CODEBASE.md that a person wrote
    #[arg(long)]
    pub force: bool,
}

/// `tribunal gc`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tribunal gc --dry-run\n  tribunal gc --older-than 7\n\nRuns that are not over are kept, and so are results that are on no branch of yours."
)]
pub struct Gc {
    /// Runs that ended at least so many days ago; `run.keep_days` without it
    #[arg(long, value_name = "DAYS")]
    pub older_than: Option<u32>,
    /// Only say what would be removed
    #[arg(long)]
    pub dry_run: bool,
    /// Also runs whose result is on no branch, or that keep what git could not take
    #[arg(long)]
    pub force: bool,
    /// Settings.
    #[command(flatten)]
    pub set: SetArgs,
}

/// `tribunal intake`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tribunal intake answer.md\n  my-agent 'review it' | tribunal intake --json\n  \
    tribunal intake answer.md --word k7f3q2xa\n\n\
    Forms: calls of the reporting tools, JSON, VERDICT/FINDINGS lines, QA reports, `### Finding` blocks, lists, tables, \
    tags, plain words, SARIF, compiler lines. What cannot be read is shown with the reason."
)]
pub struct Intake {
    /// The answer; `-` or nothing is stdin
    pub file: Option<PathBuf>,
    /// Read it as the answer of a launch whose prompt had this word
    #[arg(long, value_name = "WORD")]
    pub word: Option<String>,
}

/// `tribunal dedupe`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tribunal dedupe findings.json\n  tribunal dedupe findings.json --json | jq '.sets'\n\n\
    The list: [{\"id\",\"by\",\"claim\",\"file\",\"line\",\"end\",\"severity\",\"confidence\",\"rule\"}, …]; `by` is a \
    reviewer, or `check:NAME` for a tool. The first of a set leads; what may be the same is `related`, and both stay."
)]
pub struct Dedupe {
    /// The list; `-` or nothing is stdin
    pub file: Option<PathBuf>,
}

/// `tribunal delta`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tribunal delta old.sarif new.sarif --repo . --from main --to HEAD\n  \
    tribunal delta old.sarif new.sarif --json | jq '.after[] | select(.class == \"fix_induced\")'\n  \
    tribunal delta old.sarif new.sarif --repo mirror.git --from v1 --to v2 --sarif > marked.sarif\n\n\
    Reports are SARIF 2.1.0 (the first run), a JSON list of findings, or what `tribunal intake --json` prints.")]
pub struct Delta {
    /// The earlier report
    pub before: PathBuf,
    /// The later report
    pub after: PathBuf,
    /// The repository both are about; it may be bare
    #[arg(long, value_name = "DIR")]
    pub repo: Option<PathBuf>,
    /// The revision BEFORE was made on
    #[arg(long, value_name = "REV")]
    pub from: Option<String>,
    /// The revision AFTER was made on
    #[arg(long, value_name = "REV")]
    pub to: Option<String>,
    /// Print AFTER as SARIF with baselineState filled
    #[arg(long, conflicts_with = "json")]
    pub sarif: bool,
}

/// `tribunal config`.
#[derive(Debug, Subcommand)]
pub enum Config {
    /// Print every key and its value
    Show(ConfigShow),
}

/// `tribunal config show`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tribunal config show --origin\n  tribunal config show run.effort\n  \
    tribunal config show --json | jq '.\"run.effort\"'\n\nLayers, the later wins: defaults, the planning folder's \
    config.json and settings.json, your own file, tribunal.toml, TRIBUNAL_… variables, flags.")]
pub struct ConfigShow {
    /// Only keys that begin with this
    pub key: Option<String>,
    /// Say where each value comes from
    #[arg(long)]
    pub origin: bool,
    /// As a review of this range reads them
    #[arg(long, value_name = "RANGE")]
    pub diff: Option<String>,
    /// Settings.
    #[command(flatten)]
    pub set: SetArgs,
}

/// `tribunal trust`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tribunal trust --show\n  tribunal trust\n  tribunal trust --remove\n\n\
    Settings of your own file, of TRIBUNAL_… variables and of flags need no trust.")]
pub struct Trust {
    /// Only list what would be trusted
    #[arg(long, conflicts_with = "remove")]
    pub show: bool,
    /// Trust nothing of this repository any more
    #[arg(long)]
    pub remove: bool,
}

/// `tribunal init`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tribunal init\n  tribunal init --plugin claude\n  tribunal init --plugin agents >> AGENTS.md\n\n\
    An existing tribunal.toml is left as it is. `.tribunal/` is kept out of \
    your commits through .git/info/exclude."
)]
pub struct Init {
    /// Write what an editor agent needs instead: a plugin for claude, or a paragraph of AGENTS.md on stdout
    #[arg(long, value_name = "FOR", value_enum)]
    pub plugin: Option<Plugin>,
}

/// Whom a plugin is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Plugin {
    /// Claude Code: commands, hooks and tools, as files in .claude/plugins/tribunal
    Claude,
    /// Any agent that reads AGENTS.md: a paragraph, printed
    Agents,
}

/// `tribunal help`.
#[derive(Debug, Args)]
pub struct Help {
    /// Every command, in groups
    #[arg(long, conflicts_with = "command")]
    pub all: bool,
    /// The command
    pub command: Vec<String>,
}

/// `tribunal hook`.
#[derive(Debug, Args)]
#[command(
    after_help = "The call comes as JSON on standard input. Exit codes: 0 goes on, 2 stops it and tells the agent why on \
    stderr, 1 the call could not be read or no event has this name, and nothing was checked. Only projects with a planning folder have rules.\n\n\
    Examples:\n  tribunal hook stop < call.json\n  tribunal init --plugin claude    writes a plugin that calls it"
)]
pub struct Hook {
    /// What happened: pre-tool-use (the subject of a commit), post-tool-use (a SUMMARY that was written), stop (plans
    /// that were begun). PreToolUse is read too; nothing is checked at other events of the editor
    pub event: String,
}

/// `tribunal doctor`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tribunal doctor\n  tribunal doctor --contract       ask each installed agent for one line\n\n\
    Exit code 1 when something stands in the way of a run."
)]
pub struct Doctor {
    /// Ask each installed agent for one agreed line: costs one short answer each
    #[arg(long)]
    pub contract: bool,
    /// Print the JSON schema of `--json` instead
    #[arg(long)]
    pub schema: bool,
    /// Settings.
    #[command(flatten)]
    pub set: SetArgs,
}

/// `tribunal demo`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tribunal demo\n  tribunal demo --scenario escalated\n  tribunal demo --dir try-it"
)]
pub struct Demo {
    /// The ending to show
    #[arg(long, value_name = "NAME", value_enum, default_value_t)]
    pub scenario: Scenario,
    /// Make the project in DIR, which must be empty or missing
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

/// The endings the demo can show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Scenario {
    /// Everything lands in the end
    #[default]
    Pass,
    /// A plan comes back unchanged
    Stale,
    /// A plan spends its rounds
    Exhausted,
    /// A reviewer is lost and a person decides
    Escalated,
    /// A lane is stuck and its group is blocked
    Blocked,
    /// Fixes undo each other
    Oscillating,
    /// The orchestrator is killed and goes on
    Crash,
    /// Agents break the rules, and nothing comes of it
    Hostile,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_description_is_sound() {
        Cli::command().debug_assert();
    }

    /// What `--help` says for every command, whole.
    #[cfg(not(feature = "otel"))]
    #[test]
    fn the_help() {
        let mut cli = Cli::command().term_width(100).max_term_width(100);
        cli.build();
        let mut text = String::new();
        for command in cli.get_subcommands_mut() {
            text.push_str(&format!("\n━━━ {}\n{}", command.get_name(), command.clone().render_long_help()));
        }
        insta::assert_snapshot!(text);
    }

    #[test]
    fn every_command_has_examples() {
        let cli = Cli::command();
        let shown = cli.get_subcommands().filter(|command| !command.is_hide_set());
        for command in shown.filter(|command| command.get_name() != "config") {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("Examples:\n  tribunal "), "{}", command.get_name());
        }
    }

    /// A global flag and a command's own flag of the same name would be one: clap does not say so.
    #[test]
    fn no_flag_hides_a_global_one() {
        let mut cli = Cli::command();
        cli.build();
        for command in cli.get_subcommands() {
            let shorts: Vec<char> = command.get_arguments().filter_map(clap::Arg::get_short).collect();
            assert!(shorts.contains(&'C') && shorts.contains(&'q'), "{}", command.get_name());
        }
        let cli = Cli::try_parse_from(["tribunal", "demo", "--dir", "x"]).unwrap();
        assert_eq!(cli.globals.work_dir, None);
    }

    #[test]
    fn later_flags_win() {
        let run = |args: &[&str]| match Cli::try_parse_from(args).unwrap().command {
            Command::Run(run) => run,
            other => panic!("{other:?}"),
        };
        let both = run(&["tribunal", "run", "--no-review", "--review"]);
        assert!(both.review && !both.no_review);
        let waits = run(&["tribunal", "run", "--detach", "--attach"]).waiting;
        assert!(waits.attach && !waits.detach);
    }

    #[test]
    fn options_of_decide_have_their_words() {
        for (word, expect) in [
            ("again", Some(Reaction::Again)),
            ("retry", Some(Reaction::Again)),
            ("ask_again", Some(Reaction::AskAgain)),
            ("FIXED", Some(Reaction::Fixed)),
            ("drop", Some(Reaction::Drop)),
            ("maybe", None),
        ] {
            assert_eq!(reaction(word).ok(), expect, "{word}");
        }
    }
}
