//! The run state: the state of a run, folded from its journal. Nothing else is state. The engine and all readers build it
//! the same way, from rows alone.
//!
//! The note types at the top are the journal's vocabulary beside the two machines. They are serialized, and old
//! journals must stay readable: a new field needs a serde default, and a renamed one keeps its serialized name.

use crate::budget::{Caps, Spent};
use crate::editor::Remark;
use crate::review::{entry_number, subject_name};
use crate::tokens::Tokens;
use crate::tries::Tries;
use crate::waiver::Waiver;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use tribunal_core::cover::Shown;
use tribunal_core::effect::{EffectId, Step};
use tribunal_core::finding::Claim;
use tribunal_core::gate::GateRuling;
use tribunal_core::green::{self, ProjectCommand};
use tribunal_core::held::HeldChoice;
use tribunal_core::ids::{Check, FindingId, LoopId, PlanId, Reviewer, Revision, Time};
use tribunal_core::machine::{Machine, OutOfOrder};
use tribunal_core::policy::Use;
use tribunal_core::review_loop::{Choice, Decision, FailureKind, Loop, LoopEvent, Outcome};
use tribunal_core::run::{LaneChoice, LaneDecision, Run, RunEvent};
use tribunal_core::tool::DetectedTool;
use tribunal_core::usage::SessionTotals;
use tribunal_docs::chain::Artifact;
use tribunal_findings::Excerpt;
use tribunal_journal::RowRef;
use tribunal_view::plain;
use tribunal_view::provenance::Provenance;
use tribunal_view::sandbox::{self, SandboxFacts};
use tribunal_view::spoken::Identity;

/// The name under which rows of the run's machine stand in the journal.
pub const RUN: &str = "run";
/// The name under which notes stand in the journal.
pub const NOTE: &str = "note";

/// One fact of the journal, which is one row.
///
/// Events move a machine and can be refused by it; notes are only recorded.
#[derive(Clone, Debug, PartialEq)]
pub enum Fact {
    /// An event of the run.
    Run(RunEvent),
    /// An event of one of its loops.
    Loop(LoopId, LoopEvent),
    /// A record beside the machines.
    Note(Note),
}

/// A fact with its row and its time.
#[derive(Clone, Debug, PartialEq)]
pub struct Stamped {
    /// The number of its row in the journal.
    pub seq: u64,
    /// When it was recorded.
    pub at: Time,
    /// The fact itself.
    pub fact: Fact,
}

/// A record that no machine reads: costs, warnings, and everything that reports show.
///
/// The engine and the world read some notes back from the run state, for example the panel of `Assembled` and the caps of
/// `Raised`. They are notes because they come from outside and change no machine's state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Note {
    /// What the run is about: its phase, plans and settings.
    Run(Box<RunNote>),
    /// An agent's launch ended.
    Launch(Box<LaunchNote>),
    /// A launch had begun when the orchestrator died, and gave no answer. Its cost still counts.
    Lost(Box<LaunchNote>),
    /// The run was resumed, and its sandbox is not the one it had before.
    Promised {
        /// How processes are contained now.
        containment: String,
        /// What the sandbox enforces now.
        facts: SandboxFacts,
    },
    /// Something a person should know.
    Warning(String),
    /// A cap of the budget is reached. Nothing more is launched.
    Spent(Spent),
    /// A person gave the run other caps.
    Raised(Caps),
    /// Facts about the findings of a loop's next tracking, in the order of the findings; none where they are unknown.
    Traced {
        /// The loop.
        of: LoopId,
        /// Where each finding came from.
        origins: Vec<Option<Provenance>>,
        /// The code that each new finding is about.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        code: Vec<Option<Excerpt>>,
        /// The part of the last fix that settled each finding.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        fixed: Vec<Option<String>>,
    },
    /// A remark of an editor agent on a finding. It settles nothing.
    Editor(Box<Remark>),
    /// The branch already had the work of a plan, brought there by hand. Nothing of it was left to land.
    AlreadyThere {
        /// The plan that had nothing left to land.
        plan: PlanId,
    },
    /// The user's branch does not have the result; one command takes it.
    Left {
        /// The command that takes the result.
        command: String,
    },
    /// The panel that reviews what the run built, chosen by what changed.
    Assembled(Box<ReviewNote>),
    /// A fixer made out-of-scope edits; they were put back.
    OutOfScope(Box<OutOfScopeNote>),
    /// Findings of a tool outside the reviewed change: shown on request, counted nowhere else.
    Filtered(Box<FilteredNote>),
    /// The answer of a gate before a task.
    Gate(Box<GateNote>),
    /// How one of the project's own commands ended on what was judged or landed.
    Command(Box<CommandNote>),
    /// Commands of the settings or of a plan that pass only with files of the change that judge it.
    Judge(Box<JudgeNote>),
    /// The run goes on after an interruption, a crash or an answer.
    Resumed,
    /// An ignored report: late, repeated, or from an unknown effect.
    Ignored {
        /// The effect it named.
        effect: EffectId,
    },
}

/// The answer of a gate before a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GateNote {
    /// The loop of the task.
    pub of: LoopId,
    /// The name of the gate.
    pub gate: String,
    /// The answer of the gate.
    pub ruling: GateRuling,
}

/// How one of the project's own commands ended.
///
/// Reports and commit trailers are written from this note. So a command that was red before the change, or is flaky,
/// never passes silently.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CommandNote {
    /// The effect it ran for: a check of a loop, or a landing.
    pub effect: String,
    /// Whether it is the build or the test command.
    pub command: ProjectCommand,
    /// The command, as it is written.
    pub shown: String,
    /// The tree it ran on.
    pub tree: String,
    /// What follows from its result.
    pub answer: green::Answer,
    /// The files by which the change judges itself, where a person is asked about them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub judge: Vec<String>,
    /// The command ended with 0, and its output counts no test.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub uncounted: bool,
}

/// Commands of the settings or of a plan that pass only because the change also changes the files that judge it.
///
/// A person who accepts the revision accepts these files with it, so reports name them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JudgeNote {
    /// The effect they ran for: a check of a loop.
    pub effect: String,
    /// The revision that was judged.
    pub revision: Revision,
    /// The tree of that revision.
    pub tree: String,
    /// The commands, and their result with the base's files.
    pub text: String,
    /// The files of the change that judge it.
    pub files: Vec<String>,
}

impl JudgeNote {
    /// The loop it is about.
    pub fn of(&self) -> &str {
        machine_of(&self.effect)
    }
}

impl CommandNote {
    /// The loop or the plan it ran for.
    pub fn of(&self) -> &str {
        machine_of(&self.effect)
    }
}

/// What the run is about, recorded when it begins.
///
/// A resumed run reads its phase, plans and promises from here and not from the project, which may have changed since.
/// Fields with a serde default are younger than the first journals.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunNote {
    /// The phase's number and name.
    pub phase: String,
    /// The user's branch.
    pub branch: String,
    /// The commit of that branch when the run began.
    pub base: String,
    /// The phase's folder, from the project's root.
    #[serde(default)]
    pub phase_path: String,
    /// The titles of the plans.
    pub titles: BTreeMap<PlanId, String>,
    /// The files of the plans, from the project's root.
    #[serde(default)]
    pub paths: BTreeMap<PlanId, String>,
    /// Whether git tracks the planning folder.
    #[serde(default)]
    pub planning_tracked: bool,
    /// Plans small and safe enough for the least effort.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub turbo: Vec<PlanId>,
    /// How much each plan asks of a task, by the table of token budgets.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub scores: BTreeMap<PlanId, usize>,
    /// Plans that a person approves before a builder starts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approval: Vec<PlanId>,
    /// How processes are contained.
    pub containment: String,
    /// Whether agents and checks are kept to their own files, in words.
    #[serde(default)]
    pub sandbox: String,
    /// The same as facts; none in older journals, which have only the words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promised: Option<SandboxFacts>,
    /// Digest of the configuration, adapters and personalities as read at the start.
    pub configuration: String,
    /// Digest of the file in the run's folder that keeps its settings; empty in journals that are older than the
    /// digest.
    ///
    /// A file with another digest is not used. Otherwise whoever can write the file could change the settings of a run
    /// before it is resumed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub settings: String,
    /// `TRIBUNAL_CORRELATION_ID`, what a half-run execution state says, or the run's own id.
    pub correlation: String,
    /// How much the run spends on care.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub effort: String,
    /// How much the run leaves to the agents.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub autonomy: String,
    /// Problems in its plans that stopped nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The review of existing work, where nothing is built.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<Box<ReviewNote>>,
    /// The artifact of a chain that the run makes or judges its work against.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chain: Option<Box<ChainNote>>,
    /// A request in plain words, where that is the only plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Box<AskedNote>>,
}

/// A request in plain words, from which `tribunal do` makes one plan.
///
/// The run continues to show these words, because the plan made from them is a document of the run and not of the
/// user's tree.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AskedNote {
    /// The words, as they were given.
    pub words: String,
    /// The same words in one line.
    pub title: String,
    /// The message of the commit.
    pub message: String,
    /// The requests of the runs that this one continues, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<String>,
    /// Tools that judge the change, by the names of their checks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<DetectedTool>,
    /// The branch did not exist when the run began. It is created when the result lands.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub new_branch: bool,
}

impl RunNote {
    /// Takes in the sandbox under which the run is resumed.
    ///
    /// From now on the run claims only what held before and still holds: a promise that was broken once is not made
    /// again. An older journal has only words, and those stay if they claim nothing.
    fn go_on_under(&mut self, containment: &str, facts: SandboxFacts) {
        // The weakest of both: launches before the resume may have had the weaker sandbox, and their work is part of
        // the result.
        let facts = self.promised.map_or(facts, |before| before.weakest(facts));
        // Older journals have words alone. Words that say "unsandboxed" must not turn into a claim.
        if self.promised.is_some() || !self.sandbox.starts_with(sandbox::UNSANDBOXED) {
            self.sandbox = sandbox::words(&facts);
        }
        self.promised = Some(facts);
        // Partial containment is final. Processes may have escaped before, and a better sandbox now does not bring them
        // back.
        if self.containment != sandbox::PARTIAL {
            self.containment = containment.to_owned();
        }
    }

    /// The promises of the sandbox that were not kept. Every report lists them.
    pub fn unkept(&self) -> Vec<String> {
        match &self.promised {
            Some(facts) => sandbox::unkept(&self.containment, facts),
            None if self.sandbox.starts_with(sandbox::UNSANDBOXED) => vec![self.sandbox.clone()],
            None => Vec::new(),
        }
    }

    /// Whether the run builds something: a phase, or a request in plain words.
    pub fn builds(&self) -> bool {
        self.asked.is_some() || (self.review.is_none() && !self.phase.is_empty())
    }

    /// What the run makes or judges, where it builds no phase: `spec of login`, `review of main..HEAD`, or the request.
    pub fn artifact(&self) -> Option<String> {
        if let Some(asked) = &self.asked {
            return Some(plain::line(&asked.title));
        }
        // An implementation is named like the phase that it builds, so it falls through.
        if let Some(chain) = self.chain.as_ref().filter(|chain| chain.artifact != Artifact::Implementation) {
            return Some(format!("{} of {}", chain.artifact.word(), plain::line(&chain.feature)));
        }
        let review = self.review.as_ref().filter(|_| self.phase.is_empty())?;
        Some(format!("review of {}", plain::line(&review.target)))
    }

    /// The command that does the same in a new run, as a sentence names it.
    ///
    /// Messages use it where a run cannot be continued, so it has to be a command that the reader can type.
    pub fn afresh(&self) -> String {
        if self.asked.is_some() {
            return "`tribunal do` with the same words".to_owned();
        }
        match (&self.chain, &self.review) {
            // A review always judges anew. Only builds and chains resume their last run unless they are told not to.
            (None, Some(_)) => self.again(),
            _ => format!("`{} --fresh`", self.again()),
        }
    }

    /// The command that does the same again.
    pub fn again(&self) -> String {
        if self.asked.is_some() {
            return "tribunal do".to_owned();
        }
        match (&self.chain, &self.review) {
            (Some(chain), _) => format!("tribunal {} {}", chain.artifact.command(), chain.feature),
            (None, Some(_)) => "the same `tribunal review`".to_owned(),
            (None, None) => format!("tribunal run {}", self.phase),
        }
    }
}

/// One artifact of a feature's chain.
///
/// Everything that decides how the artifact is made and judged is fixed here when the run begins, so that a resumed run
/// does not read the folder again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChainNote {
    /// The feature.
    pub feature: String,
    /// Which artifact of the chain it is.
    pub artifact: Artifact,
    /// The feature's folder, from the project's root.
    pub folder: String,
    /// The folder of its plans, now or later; empty where it needs none.
    #[serde(default)]
    pub plans: String,
    /// What a person wants, in their words.
    #[serde(default)]
    pub wanted: String,
    /// The earlier artifacts, from the project's root.
    #[serde(default)]
    pub earlier: Vec<String>,
    /// The revision it is made on: the run branch, with the feature's documents as they lay in the user's folder.
    pub ground: Revision,
    /// The mode: `hotfix`, `quick`, `standard` or `full`.
    pub mode: String,
    /// Why nobody reviews it; none where somebody does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
    /// What reviewers of earlier artifacts left open, from the record in the folder.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub concerns: Vec<String>,
    /// What should have come before it and is missing; it stopped nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl ChainNote {
    /// The file of the artifact, from the project's root; none where it has several files, or is code.
    pub fn path(&self) -> Option<String> {
        Some(format!("{}/{}", self.folder, self.artifact.file()?))
    }
}

/// The subject and the panel of a review.
///
/// A review of existing work has it from the start. A run that builds has it from the moment when its panel is
/// assembled.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReviewNote {
    /// The subject in words: `main..HEAD`, `what is staged`, `phase 01`.
    pub target: String,
    /// A key that is the same for every review of the same subject. It finds the earlier review to continue.
    pub key: String,
    /// The commit the change begins from.
    pub base: String,
    /// The commit that is judged first.
    pub head: String,
    /// Whether findings are fixed, too.
    #[serde(default)]
    pub fix: bool,
    /// Whether to show findings on unchanged lines and findings dropped by ownership rules.
    #[serde(default)]
    pub include_filtered: bool,
    /// The tools that judge it, by the names of their checks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<DetectedTool>,
    /// Tools that could judge something here and are not installed, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<String>,
    /// The reviewers on the panel.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reviewers: Vec<ReviewerNote>,
    /// The kinds of things that the change holds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<String>,
    /// The earlier review of the same subject, whose findings this one took over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<String>,
    /// Findings of the earlier review whose reviewer is not on this panel: nobody looked at them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unasked: Vec<String>,
    /// The waivers of single findings that hold in this review.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waivers: Vec<Waiver>,
    /// Earlier reviews that could not be read, and why. What they left open is unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<String>,
    /// Changes in the user's worktree that are not part of the review, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncommitted: Option<String>,
    /// The verification commands of a phase's plans, as they were when the review began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verification: Vec<String>,
}

/// One reviewer of a panel.
///
/// The reason is kept with the reviewer: a report shows why each one was chosen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReviewerNote {
    /// The id of the reviewer.
    pub id: String,
    /// Its role on the panel.
    #[serde(default)]
    pub role: String,
    /// Why it is on the panel.
    pub why: String,
    /// The fields that it owns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub owns: Vec<String>,
    /// Where its personality was found: `project`, `user`, `built-in`, or `settings`.
    #[serde(default)]
    pub found: String,
}

/// Out-of-scope edits: files that a fixer changed although they were not assigned to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutOfScopeNote {
    /// The loop.
    pub of: LoopId,
    /// The fixer that made them.
    pub builder: String,
    /// The round whose findings it was to fix.
    pub round: u32,
    /// The files, which were put back.
    pub files: Vec<String>,
}

/// Findings of a tool outside the reviewed change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FilteredNote {
    /// The loop.
    pub of: LoopId,
    /// The tool's check.
    pub check: Check,
    /// How many there are.
    pub count: u32,
    /// The first of them, to be shown.
    pub claims: Vec<Claim>,
    /// The run in which the tool reported all this, where its answer was reused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<String>,
}

/// How one agent's launch ended, with its cost and everything a report shows of it.
///
/// A fold over these notes gives the costs, the sessions to continue and the last words of every agent. Fields that an
/// agent does not report stay at their defaults.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LaunchNote {
    /// The effect, as text.
    pub effect: String,
    /// The role in which it ran.
    pub role: String,
    /// The agent that ran.
    pub agent: String,
    /// The round it worked for.
    #[serde(default)]
    pub round: u32,
    /// What was reserved for it, in millionths of a dollar.
    #[serde(default)]
    pub reserved_micros: u64,
    /// When it was launched.
    #[serde(default)]
    pub began: Time,
    /// How long it took, in milliseconds.
    pub ms: u64,
    /// Tokens of its prompt beyond the first two tiers, estimated.
    #[serde(default)]
    pub tokens_told: u64,
    /// Tokens in, as the agent reports them.
    pub tokens_in: u64,
    /// Tokens out, as the agent reports them.
    pub tokens_out: u64,
    /// How many of the tokens in came from a cache.
    #[serde(default)]
    pub tokens_cached: u64,
    /// Dollars in millionths, so that sums are exact.
    pub cost_micros: u64,
    /// The agent does not report its cost.
    #[serde(default)]
    pub cost_unknown: bool,
    /// The figures are rounded or incomplete.
    #[serde(default)]
    pub estimated: bool,
    /// Its session, with which a later launch can continue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The counters of the whole session, where the agent reports only those.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub totals: Option<SessionTotals>,
    /// It continued an earlier session.
    #[serde(default)]
    pub resumed: bool,
    /// How many replies the model gave.
    #[serde(default)]
    pub turns: u64,
    /// Why the launch failed; also set where an answer came and was refused for its content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<FailureKind>,
    /// How its answer came: `mcp`, `report` (a file in its folder) or `final message`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub told: String,
    /// Actions that were refused to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denied: Vec<String>,
    /// Unexpected things in its output.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drift: Vec<String>,
    /// Settings that its program cannot be given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// The time until which its account takes no more requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parked_until: Option<Time>,
    /// Its own summary of its work.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// Messages of the agent to a person.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub escalated: Vec<String>,
    /// Issues that it came upon.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub discovered: Vec<String>,
    /// Commits it made itself, which Tribunal did not take.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own_commits: Vec<String>,
    /// Processes it left behind, ended by Tribunal.
    #[serde(default)]
    pub left_behind: u32,
    /// Parts of its answer that could not be read, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<String>,
    /// The program, model and prompt behind the launch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<Identity>,
    /// A reviewer's answer in its own words, without terminal escapes; where it is long, the cut says how much is missing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub words: String,
    /// The commands that Tribunal ran for it on what it judged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ran: Vec<Ran>,
}

/// A command that Tribunal ran because an agent asked for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ran {
    /// The command, as it is shown.
    pub command: String,
    /// Whether it passed every time it was asked for.
    pub passed: bool,
    /// It had not ended when the agent voted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub early: bool,
}

impl LaunchNote {
    /// The loop or plan it was for.
    pub fn of(&self) -> &str {
        machine_of(&self.effect)
    }
}

/// A stuck lane that a person accepted as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acceptance {
    /// The plan of the lane.
    pub plan: PlanId,
    /// The loop that had not ended well; none where something else was in the way.
    pub of: Option<LoopId>,
    /// The person who accepted it.
    pub by: String,
}

/// What went wrong while folding a journal.
///
/// Both row errors mean that the state cannot be known, so no command continues with a partly folded run state.
#[derive(Debug, thiserror::Error)]
pub enum RunStateError {
    /// A row cannot be read.
    #[error(
        "journal row {seq} ({machine}, {kind}) cannot be read: {detail}\nhint: the journal is damaged or was written by another version; `tribunal doctor` checks it"
    )]
    Unreadable {
        /// The number of the row.
        seq: u64,
        /// The machine that the row belongs to.
        machine: String,
        /// The kind of the row.
        kind: String,
        /// What is wrong with it.
        detail: String,
    },
    /// A row cannot follow the rows before it.
    #[error(
        "journal row {seq} ({machine}): {source}\nhint: the journal is damaged; `tribunal doctor` checks it"
    )]
    OutOfOrder {
        /// The number of the row.
        seq: u64,
        /// The machine that refused the row.
        machine: String,
        /// What the machine said.
        source: OutOfOrder,
    },
    /// The journal itself cannot be read.
    #[error(transparent)]
    Journal(#[from] tribunal_journal::Error),
}

impl RunStateError {
    /// Adds the row to the error of a machine that refused its event.
    pub fn at(row: &RowRef<'_>) -> impl FnOnce(OutOfOrder) -> RunStateError {
        let (seq, machine) = (row.seq, row.of.to_owned());
        move |source| RunStateError::OutOfOrder { seq, machine, source }
    }
}

/// The state of a run: both machines, and everything that was noted beside them.
///
/// It is rebuilt from rows and never stored. Everything here must follow from the journal alone, so that a reader in
/// another process sees the same state as the engine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunState {
    /// The run; none before its first event.
    pub run: Option<Run>,
    /// Its loops, also those that ended.
    pub loops: BTreeMap<LoopId, Loop>,
    /// What the run is about.
    pub about: RunNote,
    /// How agents' launches ended, in order.
    pub launches: Vec<LaunchNote>,
    /// Launches that were lost with an orchestrator. They answered nothing; only their cost counts.
    pub killed: Vec<LaunchNote>,
    /// Positions in `launches` by the loop or lane of a launch. Reports ask for them once for every finding.
    pub(crate) by_loop: BTreeMap<String, Vec<usize>>,
    /// The token budgets of the plans' prompts.
    pub tokens: Tokens,
    /// Warnings for people, in order, each once.
    pub warnings: Vec<String>,
    /// The command that takes a result which the user's branch does not have.
    pub left: Option<String>,
    /// The cap that stopped the run, if one did and nobody raised it.
    pub spent: Option<Spent>,
    /// The caps that a person set later; none while those of the settings hold.
    pub raised: Option<Caps>,
    /// The highest finding id that was given.
    pub last_finding: u32,
    /// Questions asked so far, by the short name of what they are about.
    pub asked: BTreeMap<String, u32>,
    /// Stuck lanes that were accepted as they are, in order.
    pub accepted: Vec<Acceptance>,
    /// Tries of reviewers that did not count, in the current or the last review round.
    pub tries: Tries,
    /// What each reviewer of a loop was shown, over all its rounds.
    pub shown: BTreeMap<(LoopId, Reviewer), Shown>,
    /// Who stopped each loop that asked.
    pub stopped: BTreeMap<LoopId, String>,
    /// What people said when they let a loop continue, in their words.
    pub said: BTreeMap<LoopId, String>,
    /// What people added when they had the work done again, in order.
    pub more: Vec<String>,
    /// The last failure of each loop or lane: the step, and why it failed.
    pub lost: BTreeMap<String, String>,
    /// The panel that reviews what this run built.
    pub assembled: Option<Box<ReviewNote>>,
    /// Out-of-scope edits of fixers that were put back, in order.
    pub out_of_scope: Vec<OutOfScopeNote>,
    /// Findings of tools outside the reviewed change, as of each tool's last run.
    pub filtered: BTreeMap<(LoopId, Check), FilteredNote>,
    /// Plans whose work the branch already had when they were to land.
    pub already_there: BTreeSet<PlanId>,
    /// How the project's own commands ended, in order.
    pub commands: Vec<CommandNote>,
    /// Changes that pass other commands only with their own judging files, in order.
    pub judges: Vec<JudgeNote>,
    /// Whether the run asked about a held result at its last event.
    pub(crate) was_held: bool,
    /// The time of the first fact.
    pub began: Option<Time>,
    /// The time of the last fact.
    pub at: Time,
}

impl Fact {
    /// The machine it belongs to, its kind, and its body as JSON: a journal row.
    pub fn encode(&self) -> Result<(String, &'static str, String), serde_json::Error> {
        Ok(match self {
            Fact::Run(event) => (RUN.to_owned(), event.name(), serde_json::to_string(event)?),
            Fact::Loop(id, event) => (id.as_str().to_owned(), event.name(), serde_json::to_string(event)?),
            Fact::Note(note) => (NOTE.to_owned(), note.name(), serde_json::to_string(note)?),
        })
    }

    /// Reads a fact from a journal row.
    pub fn decode(row: &RowRef<'_>) -> Result<Fact, RunStateError> {
        let fact = match row.of {
            RUN => serde_json::from_str(row.body).map(Fact::Run),
            NOTE => serde_json::from_str(row.body).map(Fact::Note),
            of => serde_json::from_str(row.body).map(|event| Fact::Loop(LoopId::new(of), event)),
        };
        fact.map_err(|error| RunStateError::Unreadable {
            seq: row.seq,
            machine: row.of.to_owned(),
            kind: row.kind.to_owned(),
            detail: error.to_string(),
        })
    }
}

impl Note {
    /// The kind of the note's row in the journal.
    pub fn name(&self) -> &'static str {
        match self {
            Note::Run(_) => "run",
            Note::Launch(_) => "launch",
            Note::Lost(_) => "lost",
            Note::Promised { .. } => "promised",
            Note::Warning(_) => "warning",
            Note::Spent(_) => "spent",
            Note::Raised(_) => "raised",
            Note::Traced { .. } => "traced",
            Note::Editor(_) => "editor",
            Note::AlreadyThere { .. } => "already_there",
            Note::Left { .. } => "left",
            Note::Filtered(_) => "filtered",
            Note::OutOfScope(_) => "out_of_scope",
            Note::Assembled(_) => "convened",
            Note::Gate(_) => "gate",
            Note::Command(_) => "command",
            Note::Judge(_) => "judge",
            Note::Resumed => "resumed",
            Note::Ignored { .. } => "ignored",
        }
    }
}

impl Note {
    /// The loop or plan that it is about.
    pub fn of(&self) -> &str {
        match self {
            Note::Launch(launch) | Note::Lost(launch) => launch.of(),
            Note::Gate(gate) => gate.of.as_str(),
            Note::Command(command) => command.of(),
            Note::Judge(note) => note.of(),
            _ => RUN,
        }
    }
}

/// The loop or lane of an effect: the part before `/e3/` in `01-01/task-1.1/e3/judge:wire#2`.
fn machine_of(effect: &str) -> &str {
    // A plan's name may itself contain `/e`. Only a number and another slash make it the effect's own counter.
    let is_entry = |at: &usize| {
        // The counter's digits, and at least one of them, between `/e` and the next slash.
        let rest = effect[at + 2..].trim_start_matches(|c: char| c.is_ascii_digit());
        rest.starts_with('/') && rest.len() < effect.len() - at - 2
    };
    effect.match_indices("/e").map(|(at, _)| at).find(is_entry).map_or("", |at| &effect[..at])
}

/// Whether a command ran for the same plan as a loop or a plan with this name, in whichever of its loops.
fn is_of(note: &CommandNote, of: &str) -> bool {
    note.of().split('/').next() == of.split('/').next()
}

fn is_polish(id: &LoopId) -> bool {
    id.as_str().starts_with("phase.polish.")
}

impl RunState {
    /// Folds a whole journal.
    pub fn read(reader: &tribunal_journal::Reader) -> Result<RunState, RunStateError> {
        let mut run_state = RunState::default();
        reader.each(1, |row| run_state.take(&row))?;
        Ok(run_state)
    }

    /// The launches for a loop or lane, in order.
    ///
    /// It uses the index, because scanning all launches for every finding made large reports slow.
    pub fn launches_of(&self, id: &str) -> impl DoubleEndedIterator<Item = &LaunchNote> + Clone {
        self.by_loop.get(id).into_iter().flatten().filter_map(|at| self.launches.get(*at))
    }

    /// The launches for an effect, in order.
    pub fn launches_for(&self, effect: &str) -> impl DoubleEndedIterator<Item = &LaunchNote> {
        self.launches_of(machine_of(effect)).filter(move |launch| launch.effect == effect)
    }

    /// The subject and panel of the review: of existing work, or of what this run built.
    pub fn review(&self) -> Option<&ReviewNote> {
        self.about.review.as_deref().or(self.assembled.as_deref())
    }

    /// The tools among the checks of this run.
    pub fn tools(&self) -> &[DetectedTool] {
        // A request in plain words has no review note of its own, so its tools come first.
        match (&self.about.asked, self.review()) {
            (Some(asked), _) => &asked.tools,
            (None, Some(review)) => &review.tools,
            (None, None) => &[],
        }
    }

    /// The base commit of the result: the user's branch when the run began, or when it was last rebased.
    pub fn base(&self) -> &str {
        let ground = self.run.as_ref().and_then(Run::ground);
        ground.map_or(&self.about.base, |ground| ground.as_str())
    }

    /// The commit from which the change as a whole is reviewed.
    ///
    /// It is also the commit whose judging files and settings are trusted.
    pub fn reviewed_from(&self) -> &str {
        self.about.review.as_ref().map_or_else(|| self.base(), |review| &review.base)
    }

    /// The last loop that is not a polish: in a review, the one that judged the subject.
    pub fn examined(&self) -> Option<&Loop> {
        self.last_loop(|id| !is_polish(id))
    }

    /// The loop that polished what a review passed.
    pub fn polish(&self) -> Option<&Loop> {
        self.last_loop(is_polish)
    }

    /// The last loop of those with such a name.
    ///
    /// Subjects come in the order of their names: the whole (`phase`) is judged after every plan. Of one subject the
    /// number decides, and not the text, in which `phase.10` comes before `phase.9`.
    fn last_loop(&self, is_meant: impl Fn(&LoopId) -> bool) -> Option<&Loop> {
        let meant = self.loops.iter().filter(|(id, _)| is_meant(id));
        meant.max_by_key(|(id, _)| (subject_name(id), entry_number(id))).map(|(_, review_loop)| review_loop)
    }

    /// Folds one row of the journal.
    pub fn take(&mut self, row: &RowRef<'_>) -> Result<(), RunStateError> {
        self.take_fact(row, &Fact::decode(row)?)
    }

    /// Folds one row that is decoded already.
    ///
    /// A reader that folds several models from one journal decodes each row once and passes it to all of them.
    pub fn take_fact(&mut self, row: &RowRef<'_>, fact: &Fact) -> Result<(), RunStateError> {
        self.apply(Time(row.at), fact).map_err(RunStateError::at(row))
    }

    /// Folds one fact into its machine and into the records beside it.
    pub fn apply(&mut self, at: Time, fact: &Fact) -> Result<(), OutOfOrder> {
        match fact {
            Fact::Run(event) => self.apply_run(event)?,
            Fact::Loop(id, event) => self.apply_loop(id, event)?,
            Fact::Note(note) => self.apply_note(note),
        }
        self.stamp(at, fact);
        Ok(())
    }

    /// Records everything that a fact leaves behind besides its machine's change.
    ///
    /// The engine applies its own events to the machines and then calls this; a reader gets here through `apply`. So
    /// every derived record must be made here, or the two would differ.
    pub(crate) fn stamp(&mut self, at: Time, fact: &Fact) {
        self.began.get_or_insert(at);
        // The clock can go back. The time of the run state does not.
        self.at = self.at.max(at);
        if let Some(id) = highest_finding(fact) {
            self.last_finding = self.last_finding.max(id.0);
        }
        // Count the questions by what they are about. The inbox numbers them from this count.
        let about = match fact {
            Fact::Loop(id, LoopEvent::Asked(_)) => Some(crate::inbox::short(id)),
            Fact::Run(RunEvent::LaneAsked { plan, .. }) => Some(plan.as_str()),
            Fact::Run(_) if self.is_newly_held() => Some(crate::inbox::HELD),
            _ => None,
        };
        if let Some(about) = about {
            *self.asked.entry(about.to_owned()).or_insert(0) += 1;
        }
        // Tries are folded here and not with the machine, because the engine's own turns come through here as well.
        if let Fact::Loop(id, event) = fact {
            self.tries.take(id, event);
        }
        match fact {
            Fact::Run(RunEvent::LaneDecided { plan, decision }) => {
                self.note_acceptance(plan, decision);
                self.note_more(matches!(decision.choice, LaneChoice::Retry(_)), &decision.note);
            }
            // The branch may have changed since. The command is found anew when the result is held again.
            Fact::Run(RunEvent::HeldDecided(decision)) => {
                self.left = None;
                self.note_more(matches!(decision.choice, HeldChoice::Again(_)), &decision.note);
            }
            Fact::Loop(
                id,
                LoopEvent::Answered { effect, shown, .. }
                | LoopEvent::NotCovered { effect, shown, .. }
                | LoopEvent::TooLarge { effect, shown }
                | LoopEvent::VerdictKept { effect, shown },
            ) => self.note_shown(id, effect, *shown),
            Fact::Loop(id, LoopEvent::Decided(decision)) => self.note_decision(id, decision),
            Fact::Loop(id, LoopEvent::Failed { effect, failure }) => {
                self.lost.insert(id.as_str().to_owned(), format!("{}: {}", effect.step, failure.text));
            }
            Fact::Run(RunEvent::Failed { effect, failure }) => {
                self.lost.insert(effect.of.as_str().to_owned(), format!("{}: {}", effect.step, failure.text));
            }
            _ => {}
        }
    }

    /// Keeps what a person adds when they have the work done again.
    fn note_more(&mut self, again: bool, note: &str) {
        if again && !note.trim().is_empty() {
            self.more.push(note.to_owned());
        }
    }

    /// Whether the last event of the run asked about a held result for the first time.
    fn is_newly_held(&mut self) -> bool {
        let held = self.run.as_ref().is_some_and(|run| run.held().is_some());
        // The question is no event of its own: it is open as long as the run is held, so only the change counts.
        std::mem::replace(&mut self.was_held, held) != held && held
    }

    fn note_shown(&mut self, id: &LoopId, effect: &EffectId, shown: Shown) {
        let Step::Judge(reviewer) = &effect.step else { return };
        // The report of a final pass already counts what earlier rounds showed.
        let last = self.loops.get(id).is_some_and(Loop::is_confirming);
        let all = self.shown.entry((id.clone(), reviewer.clone())).or_default();
        *all = if last { shown } else { all.and(shown) };
    }

    fn note_decision(&mut self, id: &LoopId, decision: &Decision) {
        if decision.choice == Choice::Stop {
            self.stopped.insert(id.clone(), decision.by.clone());
        }
        self.note_more(matches!(decision.choice, Choice::Again(_)), &decision.note);
        if !decision.note.is_empty() {
            self.said.insert(id.clone(), decision.note.clone());
        }
    }

    /// The loop of a plan that ended last.
    pub(crate) fn last_ended(&self, plan: &PlanId) -> Option<&Loop> {
        let prefix = format!("{plan}/");
        let ended = self.loops.values().filter(|review_loop| review_loop.id().as_str().starts_with(&prefix));
        ended
            .filter(|review_loop| review_loop.outcome().is_some())
            .max_by_key(|review_loop| entry_number(review_loop.id()))
    }

    /// Records who accepted a stuck lane. That person answers for the loop that had not ended well.
    fn note_acceptance(&mut self, plan: &PlanId, decision: &LaneDecision) {
        if decision.choice != LaneChoice::Accept {
            return;
        }
        // The lane may be stuck at its summary or its landing. Then no loop ended badly, and nobody answers for one.
        let of = self
            .last_ended(plan)
            .filter(|review_loop| review_loop.outcome().is_some_and(|outcome| !outcome.is_good()));
        let of = of.map(|review_loop| review_loop.id().clone());
        self.accepted.push(Acceptance { plan: plan.clone(), of, by: decision.by.clone() });
    }

    /// The person who accepted the work of a loop, in the loop itself or when its lane was stuck.
    ///
    /// An accepted loop is not a passed one. Reports and commit trailers name the person.
    pub fn accepter(&self, id: &LoopId) -> Option<&str> {
        if let Some(Outcome::Accepted(by)) = self.loops.get(id).and_then(Loop::outcome) {
            return Some(by);
        }
        // The last acceptance counts: a lane can be stuck more than once.
        self.accepted.iter().rev().find(|one| one.of.as_ref() == Some(id)).map(|one| one.by.as_str())
    }

    /// How a loop ended. An end that was not good is accepted if its lane was accepted as it is.
    pub fn outcome(&self, id: &LoopId) -> Option<Outcome> {
        let outcome = self.loops.get(id).and_then(Loop::outcome)?;
        Some(match self.accepter(id) {
            Some(by) => Outcome::Accepted(by.to_owned()),
            None => outcome.clone(),
        })
    }

    /// Changes with judging files of their own that a named person accepted.
    ///
    /// Only the last judged revision of a loop counts: an earlier one was put right before anybody accepted it.
    pub fn judges_taken(&self) -> impl Iterator<Item = &JudgeNote> {
        self.judges.iter().filter(|note| {
            let id = LoopId::new(note.of());
            let is_last =
                self.loops.get(&id).is_some_and(|review_loop| review_loop.revision() == Some(&note.revision));
            is_last && self.accepter(&id).is_some()
        })
    }

    /// Whether one of the project's commands was seen to become flaky by the work of a plan, or of a loop outside plans.
    pub fn was_flaky(&self, of: &str, command: ProjectCommand) -> bool {
        self.flaky_notes(of).any(|note| note.command == command)
    }

    /// The commands that the work of a plan made flaky, and on how many trees, where they were not so the last time.
    pub fn seen_flaky(&self, of: &str) -> BTreeMap<String, usize> {
        let mut trees: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
        for note in self.flaky_notes(of) {
            let same = |one: &&CommandNote| is_of(one, of) && one.command == note.command;
            let last = self.commands.iter().rev().find(same);
            if last.is_some_and(|last| !matches!(last.answer, green::Answer::NewlyFlaky(_))) {
                trees.entry(note.shown.clone()).or_default().insert(&note.tree);
            }
        }
        trees.into_iter().map(|(shown, trees)| (shown, trees.len())).collect()
    }

    fn flaky_notes(&self, of: &str) -> impl Iterator<Item = &CommandNote> {
        let is_flaky = |note: &&CommandNote| matches!(note.answer, green::Answer::NewlyFlaky(_));
        self.commands.iter().filter(move |note| is_of(note, of)).filter(is_flaky)
    }

    /// Whether a named person accepted work of a plan. An accepted plan document says nothing about the work.
    pub fn took_work(&self, plan: &PlanId) -> bool {
        let prefix = format!("{plan}/");
        let is_work =
            |id: &LoopId| self.loops.get(id).is_some_and(|review_loop| review_loop.policy().of != Use::Plan);
        let mut loops = self.loops.keys().filter(|id| id.as_str().starts_with(&prefix) && is_work(id));
        loops.any(|id| self.accepter(id).is_some())
            || self.accepted.iter().any(|one| one.plan == *plan && one.of.as_ref().is_none_or(is_work))
    }

    /// Everybody who accepted something of a plan, each once.
    pub fn accepters(&self, plan: &PlanId) -> Vec<String> {
        let prefix = format!("{plan}/");
        let of_loops = self.loops.keys().filter(|id| id.as_str().starts_with(&prefix));
        let of_loops = of_loops.filter_map(|id| self.accepter(id));
        let of_lane = self.accepted.iter().filter(|one| one.plan == *plan).map(|one| one.by.as_str());
        let mut names: Vec<String> = Vec::new();
        for by in of_loops.chain(of_lane) {
            if !names.iter().any(|name| name == by) {
                names.push(by.to_owned());
            }
        }
        names
    }

    fn apply_run(&mut self, event: &RunEvent) -> Result<(), OutOfOrder> {
        match (&mut self.run, event) {
            (None, RunEvent::Opened(spec)) => {
                self.run = Some(Run::open(spec));
                Ok(())
            }
            (Some(run), event) => run.apply(event),
            // An event before the first `opened` cannot be applied to anything: the journal is damaged.
            (None, event) => Err(OutOfOrder { event: event.name().to_owned(), state: "no run".to_owned() }),
        }
    }

    fn apply_loop(&mut self, id: &LoopId, event: &LoopEvent) -> Result<(), OutOfOrder> {
        match (self.loops.get_mut(id), event) {
            (None, LoopEvent::Opened(opened)) => {
                self.loops.insert(id.clone(), Loop::open(opened));
                Ok(())
            }
            (Some(review_loop), event) => review_loop.apply(event),
            (None, event) => Err(OutOfOrder { event: event.name().to_owned(), state: "no loop".to_owned() }),
        }
    }

    pub(crate) fn apply_note(&mut self, note: &Note) {
        match note {
            Note::Run(about) => {
                // The budgets follow from the scores, so they are built again here and not stored.
                self.tokens = Tokens::new(&about.scores);
                self.warnings.extend(about.warnings.iter().cloned());
                self.about = (**about).clone();
            }
            Note::Launch(launch) => {
                let plan = launch.effect.split_once('/').map_or("", |(plan, _)| plan);
                // Only the lowered budget matters here. The projection reports the overage.
                let _ = self.tokens.told(&launch.role, &PlanId::new(plan), launch.tokens_told);
                self.by_loop
                    .entry(machine_of(&launch.effect).to_owned())
                    .or_default()
                    .push(self.launches.len());
                self.launches.push((**launch).clone());
            }
            Note::Lost(launch) => self.killed.push((**launch).clone()),
            Note::Promised { containment, facts } => self.about.go_on_under(containment, *facts),
            // A warning may come up in every round. People read it once.
            Note::Warning(text) if self.warnings.contains(text) => {}
            Note::Warning(text) => self.warnings.push(text.clone()),
            // No empty commit is made for such a plan, so the run has to say it in words.
            Note::AlreadyThere { plan } => {
                self.warnings
                    .push(format!("the branch had it already: nothing of plan {plan} was left to land"));
                self.already_there.insert(plan.clone());
            }
            Note::Left { command } => self.left = Some(command.clone()),
            Note::Spent(spent) => self.spent = Some(*spent),
            Note::Raised(caps) => {
                // The cap that stopped the run may not hold any more, so the run has to meet it again.
                self.raised = Some(*caps);
                self.spent = None;
            }
            Note::OutOfScope(out_of_scope) => self.out_of_scope.push((**out_of_scope).clone()),
            Note::Assembled(review) => self.assembled = Some(review.clone()),
            Note::Filtered(filtered) => {
                // The last look of a tool replaces its earlier one.
                self.filtered.insert((filtered.of.clone(), filtered.check.clone()), (**filtered).clone());
            }
            Note::Command(command) => self.commands.push((**command).clone()),
            // A check that runs once more reports the same note.
            Note::Judge(note) if self.judges.contains(note) => {}
            Note::Judge(note) => self.judges.push((**note).clone()),
            // These notes are read from the journal by reports and change no state.
            Note::Traced { .. } | Note::Editor(_) | Note::Ignored { .. } | Note::Gate(_) | Note::Resumed => {}
        }
    }
}

/// The highest finding id in a fact.
///
/// Ids continue after it, also after a resume. Otherwise two findings could have the same id.
fn highest_finding(fact: &Fact) -> Option<FindingId> {
    match fact {
        Fact::Loop(_, LoopEvent::Tracked { findings, .. }) => findings.iter().map(|f| f.id).max(),
        Fact::Run(RunEvent::LandingRefused { findings, .. }) => findings.iter().map(|f| f.id).max(),
        // Findings of an earlier review keep their ids.
        Fact::Run(RunEvent::Opened(spec)) => {
            let exists = spec.exists.as_ref()?;
            exists.open.iter().map(|f| f.id).chain(exists.last).max()
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_are_found_by_what_they_were_for() {
        let mut run_state = RunState::default();
        let effects = [
            "01-01/task-1.1/e3/judge:wire#1",
            "01-01/task-1.1/e3/judge:wire#b2a",
            "01-01/task-1.10/e3/make:dev#1",
            "01-01/e5/summary#1",
            "phase.1/e2/judge:x/e9#1",
            "no effect at all",
        ];
        for effect in effects {
            let note = LaunchNote { effect: effect.to_owned(), ..LaunchNote::default() };
            run_state.apply_note(&Note::Launch(Box::new(note)));
        }
        let of =
            |id: &str| run_state.launches_of(id).map(|launch| launch.effect.as_str()).collect::<Vec<_>>();
        assert_eq!(of("01-01/task-1.1"), effects[..2]);
        assert_eq!(of("01-01/task-1.10"), effects[2..3]);
        assert_eq!(of("01-01"), effects[3..4]);
        assert_eq!(of("phase.1"), effects[4..5]);
        assert_eq!(of("01"), [""; 0]);
        assert_eq!(run_state.launches_for(effects[1]).count(), 1);
        assert_eq!(run_state.launches_for("01-01/task-1.1/e3/judge:wire#2").count(), 0);
    }
}
