//! The docket: everything a run's journal says, folded. It is the state; nothing else is. Readers and the
//! engine build it alike, from rows alone.

use crate::budget::{Caps, Spent};
use crate::editor::Remark;
use crate::review::{Origin, entry_number};
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
use tribunal_core::ids::{Check, FindingId, LoopId, PlanId, Revision, Seat, Time};
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
use tribunal_view::sandbox::{self, SandboxFacts};
use tribunal_view::spoken::Identity;

/// The machine name of the run in the journal.
pub const RUN: &str = "run";
/// The machine name of notes in the journal.
pub const NOTE: &str = "note";

/// One fact of the journal.
#[derive(Clone, Debug, PartialEq)]
pub enum Fact {
    /// Of the run.
    Run(RunEvent),
    /// Of one of its loops.
    Loop(LoopId, LoopEvent),
    /// Beside the machines: it decides nothing.
    Note(Note),
}

/// A fact with its time.
#[derive(Clone, Debug, PartialEq)]
pub struct Stamped {
    /// Its row in the journal.
    pub seq: u64,
    /// When.
    pub at: Time,
    /// What.
    pub fact: Fact,
}

/// What is worth keeping but decides nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Note {
    /// What the run is about, for people.
    Run(Box<RunNote>),
    /// An agent's launch ended.
    Launch(Box<LaunchNote>),
    /// An agent's launch had begun when the orchestrator died, and gave no answer: it has cost something.
    Lost(Box<LaunchNote>),
    /// The run goes on, and what is enforced around its launches is not what it was.
    Promised {
        /// How processes are contained.
        containment: String,
        /// What is enforced.
        facts: SandboxFacts,
    },
    /// Something a person should know.
    Warning(String),
    /// A budget's cap is reached: nothing more is launched.
    Spent(Spent),
    /// A person gave the run other caps.
    Raised(Caps),
    /// What is known of the findings of a loop's next tracking beside their claims, in their order; none where it
    /// cannot be told.
    Traced {
        /// The loop.
        of: LoopId,
        /// Where each came from.
        origins: Vec<Option<Origin>>,
        /// The code each new one is about.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        code: Vec<Option<Excerpt>>,
        /// The part of the last fix that each settled one went away with.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        mended: Vec<Option<String>>,
    },
    /// An editor agent said something about a finding. It is data: it settles nothing.
    Editor(Box<Remark>),
    /// The branch had the work of a plan already, brought there by hand: nothing of it was left to land.
    AlreadyThere {
        /// The plan.
        plan: PlanId,
    },
    /// The user's branch does not have the result: this one command takes it.
    Left {
        /// The command.
        command: String,
    },
    /// Who reviews what the run built, chosen by what changed.
    Convened(Box<ReviewNote>),
    /// A fixer changed files that were not its own; they were put back.
    Strayed(Box<StrayNote>),
    /// What a tool found beside what is reviewed: shown on request, counted nowhere else.
    Aside(Box<AsideNote>),
    /// What a gate before a task answered.
    Gate(Box<GateNote>),
    /// How one of the project's own commands ended on what was judged or landed.
    Command(Box<CommandNote>),
    /// Commands of the settings or of a plan pass only with files that the change brings, and that judge it.
    Judge(Box<JudgeNote>),
    /// The run goes on after an interruption, a crash or an answer.
    Resumed,
    /// A report that meant nothing: late, repeated or from a stranger.
    Ignored {
        /// The effect it named.
        effect: EffectId,
    },
}

/// What a gate before a task answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GateNote {
    /// The loop of the task.
    pub of: LoopId,
    /// The gate.
    pub gate: String,
    /// Its answer.
    pub ruling: GateRuling,
}

/// How one of the project's own commands ended. Reports and trailers say it from here: a command that was red before the
/// change, or is flaky, passes no check silently.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CommandNote {
    /// The effect it ran for: a check of a loop, or a landing.
    pub effect: String,
    /// Which of them.
    pub command: ProjectCommand,
    /// As it is written.
    pub shown: String,
    /// The tree it ran on.
    pub tree: String,
    /// What follows from it.
    pub answer: green::Answer,
    /// Files by which the change judges itself, where that is what a person is asked about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub judge: Vec<String>,
    /// It ended with 0, and no test was counted in what it said.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub uncounted: bool,
}

/// Commands of the settings or of a plan that pass only because the change also changes what judges it. A person who takes the
/// revision takes the files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JudgeNote {
    /// The effect they ran for: a check of a loop.
    pub effect: String,
    /// What was judged.
    pub revision: Revision,
    /// Its tree.
    pub tree: String,
    /// The commands, and how they stand with the base's files.
    pub text: String,
    /// The files.
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

/// What the run is about.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunNote {
    /// The phase's number and name.
    pub phase: String,
    /// The user's branch.
    pub branch: String,
    /// Its commit when the run began.
    pub base: String,
    /// The phase's folder, from the project's root.
    #[serde(default)]
    pub phase_path: String,
    /// Titles of the plans.
    pub titles: BTreeMap<PlanId, String>,
    /// Their files, from the project's root.
    #[serde(default)]
    pub paths: BTreeMap<PlanId, String>,
    /// Git tracks the planning folder.
    #[serde(default)]
    pub planning_tracked: bool,
    /// Plans small and safe enough for the least effort.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub turbo: Vec<PlanId>,
    /// How much each plan asks of a task, by the table of token budgets.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub scores: BTreeMap<PlanId, usize>,
    /// Plans that a person approves before a dev starts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approval: Vec<PlanId>,
    /// How processes are contained.
    pub containment: String,
    /// Whether agents and checks are kept to their own files, in words.
    #[serde(default)]
    pub sandbox: String,
    /// The same as facts; none in journals that are older.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promised: Option<SandboxFacts>,
    /// Digest of the configuration, adapters and personalities as read at the start.
    pub configuration: String,
    /// Digest of the file in the run's folder that keeps its settings. A file that is not this one is not believed. Empty in
    /// the journal of a run that began before it was recorded.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub settings: String,
    /// `TRIBUNAL_CORRELATION_ID`, what a half-run execution state says, or the run's own id.
    pub correlation: String,
    /// How much is spent on care.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub effort: String,
    /// How much is left to the agents.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub autonomy: String,
    /// What was noticed in its plans and stopped nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// What exists and is reviewed, where nothing is built.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<Box<ReviewNote>>,
    /// The artifact of a chain that it makes, or judges what it built against.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chain: Option<Box<ChainNote>>,
    /// What somebody asked for in plain words, where those are the only plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Box<AskedNote>>,
}

/// What somebody asked for in plain words.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AskedNote {
    /// The words, as they were given.
    pub words: String,
    /// The same in one line.
    pub title: String,
    /// The message of the commit.
    pub message: String,
    /// What was asked for in the runs that this one goes on from, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<String>,
    /// Tools that judge the change, by the names of their checks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<DetectedTool>,
    /// The branch was not there when the run began: it is made when the result lands.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub new_branch: bool,
}

impl RunNote {
    /// The run goes on under this: from now on it claims what held before and holds still. What a journal without facts
    /// says in words stays where it is no claim.
    fn go_on_under(&mut self, containment: &str, facts: SandboxFacts) {
        let facts = self.promised.map_or(facts, |before| before.weakest(facts));
        if self.promised.is_some() || !self.sandbox.starts_with(sandbox::UNSANDBOXED) {
            self.sandbox = sandbox::words(&facts);
        }
        self.promised = Some(facts);
        if self.containment != sandbox::PARTIAL {
            self.containment = containment.to_owned();
        }
    }

    /// What a reader must know of the sandbox: each promise that was not kept.
    pub fn unkept(&self) -> Vec<String> {
        match &self.promised {
            Some(facts) => sandbox::unkept(&self.containment, facts),
            None if self.sandbox.starts_with(sandbox::UNSANDBOXED) => vec![self.sandbox.clone()],
            None => Vec::new(),
        }
    }

    /// Whether it builds something: a phase, or what somebody asked for.
    pub fn builds(&self) -> bool {
        self.asked.is_some() || (self.review.is_none() && !self.phase.is_empty())
    }

    /// What it makes or judges, where it builds no phase: `spec of login`, `review of main..HEAD`, or the words.
    pub fn artifact(&self) -> Option<String> {
        if let Some(asked) = &self.asked {
            return Some(plain::line(&asked.title));
        }
        if let Some(chain) = self.chain.as_ref().filter(|chain| chain.artifact != Artifact::Implementation) {
            return Some(format!("{} of {}", chain.artifact.word(), plain::line(&chain.feature)));
        }
        let review = self.review.as_ref().filter(|_| self.phase.is_empty())?;
        Some(format!("review of {}", plain::line(&review.target)))
    }

    /// The command that does the same in another run, as a sentence names it.
    pub fn afresh(&self) -> String {
        if self.asked.is_some() {
            return "`tribunal do` with the same words".to_owned();
        }
        match (&self.chain, &self.review) {
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChainNote {
    /// The feature.
    pub feature: String,
    /// Which artifact.
    pub artifact: Artifact,
    /// The feature's folder, from the project's root.
    pub folder: String,
    /// The folder its plans are in, or will be; empty where none is needed.
    #[serde(default)]
    pub plans: String,
    /// What a person says is wanted.
    #[serde(default)]
    pub wanted: String,
    /// Earlier artifacts, from the project's root.
    #[serde(default)]
    pub earlier: Vec<String>,
    /// What it is made on: the run branch, with the feature's documents as they lay in the user's folder.
    pub ground: Revision,
    /// `hotfix`, `quick`, `standard` or `full`.
    pub mode: String,
    /// Why nobody reviews it; none where somebody does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
    /// What the reviewers of earlier artifacts left open, as the record in the folder has it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub concerns: Vec<String>,
    /// What is missing before it, and stopped nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl ChainNote {
    /// The file it is, from the project's root; none where it is several, or code.
    pub fn path(&self) -> Option<String> {
        Some(format!("{}/{}", self.folder, self.artifact.file()?))
    }
}

/// What exists and is reviewed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReviewNote {
    /// What it is, in words: `main..HEAD`, `what is staged`, `phase 01`.
    pub target: String,
    /// The same for every review of the same thing.
    pub key: String,
    /// The commit the change begins from.
    pub base: String,
    /// The commit that is judged first.
    pub head: String,
    /// Whether findings are mended.
    #[serde(default)]
    pub fix: bool,
    /// What is on no changed line, or taken out by authority, is shown too.
    #[serde(default)]
    pub include_filtered: bool,
    /// Tools that judge it, by the names of their checks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<DetectedTool>,
    /// Tools that would have something to look at and are not installed, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<String>,
    /// The reviewers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seats: Vec<SeatNote>,
    /// What kinds of things the change holds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<String>,
    /// The earlier review of the same thing, whose findings this one took over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<String>,
    /// Findings of the earlier review whose judge does not sit in this one: they were not looked at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unasked: Vec<String>,
    /// Waivers of single findings that hold in this review.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waivers: Vec<Waiver>,
    /// Earlier reviews that could not be read, and why: what they left open is not known here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<String>,
    /// What lies in the user's work tree and is not part of what is judged, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncommitted: Option<String>,
    /// The commands by which the plans of a phase verify themselves, as they were when the review began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verification: Vec<String>,
}

/// One reviewer of a panel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SeatNote {
    /// Its id.
    pub id: String,
    /// Its part.
    #[serde(default)]
    pub role: String,
    /// Why it sits.
    pub why: String,
    /// The fields it owns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub owns: Vec<String>,
    /// Where its personality was found: `project`, `user`, `built-in`, or `settings`.
    #[serde(default)]
    pub found: String,
}

/// Files a fixer changed that were not its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StrayNote {
    /// The loop.
    pub of: LoopId,
    /// Who.
    pub maker: String,
    /// The round whose findings it was to mend.
    pub round: u32,
    /// Which; they were put back.
    pub files: Vec<String>,
}

/// What a tool found beside what is reviewed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AsideNote {
    /// The loop.
    pub of: LoopId,
    /// The tool's check.
    pub check: Check,
    /// How many.
    pub count: u32,
    /// The first of them.
    pub claims: Vec<Claim>,
    /// The run in which the tool said all this, where it was not asked again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<String>,
}

/// How one agent's launch ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LaunchNote {
    /// The effect, as text.
    pub effect: String,
    /// Its role.
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
    /// How long it took.
    pub ms: u64,
    /// Tokens of what it was told beyond the first two tiers, estimated.
    #[serde(default)]
    pub tokens_told: u64,
    /// Tokens in, as the agent reports them.
    pub tokens_in: u64,
    /// Tokens out.
    pub tokens_out: u64,
    /// Of the tokens in, those from a cache.
    #[serde(default)]
    pub tokens_cached: u64,
    /// Dollars in millionths, so that sums are exact.
    pub cost_micros: u64,
    /// The agent does not say what it cost.
    #[serde(default)]
    pub cost_unknown: bool,
    /// The figures are rounded or in part.
    #[serde(default)]
    pub estimated: bool,
    /// Its session, for going on in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The session's counters, where the agent tells only those.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub totals: Option<SessionTotals>,
    /// It went on in an earlier session.
    #[serde(default)]
    pub resumed: bool,
    /// Replies of the model.
    #[serde(default)]
    pub turns: u64,
    /// Why there is no answer; a launch whose answer was refused for what it says has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<FailureKind>,
    /// How its answer came: `mcp`, `report` (a file in its folder) or `final message`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub told: String,
    /// What it was not allowed to do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denied: Vec<String>,
    /// What its output had that nobody expected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drift: Vec<String>,
    /// What was asked for and the program cannot be told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// Until when its account takes no more requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parked_until: Option<Time>,
    /// What it says it did.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// What it wants a person to know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub escalated: Vec<String>,
    /// Issues it came upon.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub discovered: Vec<String>,
    /// Commits it made itself, which Tribunal did not take.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own_commits: Vec<String>,
    /// Processes it left behind, ended by Tribunal.
    #[serde(default)]
    pub left_behind: u32,
    /// What in its answer could not be read, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<String>,
    /// Who the agent was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<Identity>,
    /// A reviewer's answer in its own words, without terminal escapes; where it is long, the cut says how much is missing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub words: String,
    /// What it had Tribunal run on what it judged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ran: Vec<Ran>,
}

/// A command that was run because an agent asked for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ran {
    /// The command, as it is shown.
    pub command: String,
    /// It passed, every time it was asked for.
    pub passed: bool,
    /// It had not ended when the agent voted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub early: bool,
}

impl LaunchNote {
    /// The loop or plan it was for.
    pub fn of(&self) -> &str {
        self.effect.rsplit_once("/e").map_or("run", |(of, _)| of)
    }
}

/// A stuck lane that a person took as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acceptance {
    /// Whose lane.
    pub plan: PlanId,
    /// The loop that had not ended good; none when something else was in the way.
    pub of: Option<LoopId>,
    /// Who.
    pub by: String,
}

/// What went wrong while folding.
#[derive(Debug, thiserror::Error)]
pub enum DocketError {
    /// A row cannot be read.
    #[error(
        "journal row {seq} ({machine}, {kind}) cannot be read: {detail}\nhint: the journal is damaged or was written by another version; `tribunal doctor` checks it"
    )]
    Unreadable {
        /// Which.
        seq: u64,
        /// Of which machine.
        machine: String,
        /// What kind.
        kind: String,
        /// Why.
        detail: String,
    },
    /// A row cannot follow the ones before.
    #[error(
        "journal row {seq} ({machine}): {source}\nhint: the journal is damaged; `tribunal doctor` checks it"
    )]
    OutOfOrder {
        /// Which.
        seq: u64,
        /// Of which machine.
        machine: String,
        /// Why.
        source: OutOfOrder,
    },
    /// The journal itself.
    #[error(transparent)]
    Journal(#[from] tribunal_journal::Error),
}

impl DocketError {
    /// What a fold says of an event, with the row that holds it.
    pub fn at(row: &RowRef<'_>) -> impl FnOnce(OutOfOrder) -> DocketError {
        let (seq, machine) = (row.seq, row.of.to_owned());
        move |source| DocketError::OutOfOrder { seq, machine, source }
    }
}

/// Everything the journal says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Docket {
    /// The run; none before its first event.
    pub run: Option<Run>,
    /// Its loops, also those that ended.
    pub loops: BTreeMap<LoopId, Loop>,
    /// What the run is about.
    pub about: RunNote,
    /// How agents' launches ended, in order.
    pub launches: Vec<LaunchNote>,
    /// Launches that were lost with an orchestrator. They answered nothing, and only their cost counts.
    pub killed: Vec<LaunchNote>,
    /// The same by the loop or lane they were for: reports ask for them once for every finding.
    pub(crate) by_loop: BTreeMap<String, Vec<usize>>,
    /// What agents may be told.
    pub tokens: Tokens,
    /// Warnings, in order.
    pub warnings: Vec<String>,
    /// The command that takes a result which the user's branch does not have.
    pub left: Option<String>,
    /// The cap that stopped the run, if one did and nobody raised it.
    pub spent: Option<Spent>,
    /// The caps as a person set them later.
    pub raised: Option<Caps>,
    /// The highest finding id given.
    pub last_finding: u32,
    /// Questions asked so far, by the short name of what they are about.
    pub asked: BTreeMap<String, u32>,
    /// Stuck lanes that were accepted as they are, in order.
    pub accepted: Vec<Acceptance>,
    /// Tries of reviewers that did not count, in the sitting that is under way or was the last.
    pub tries: Tries,
    /// What each reviewer of a loop was shown, over all its rounds.
    pub shown: BTreeMap<(LoopId, Seat), Shown>,
    /// Who stopped a loop that asked.
    pub stopped: BTreeMap<LoopId, String>,
    /// What people said when they had a loop go on, in their words.
    pub said: BTreeMap<LoopId, String>,
    /// What people added when they had the work done again, in order.
    pub more: Vec<String>,
    /// What was lost last, by loop or lane: the step, and why.
    pub lost: BTreeMap<String, String>,
    /// Who reviews what this run built.
    pub convened: Option<Box<ReviewNote>>,
    /// Files that fixers changed and that were put back, in order.
    pub strayed: Vec<StrayNote>,
    /// What tools found beside what is reviewed, as of their last look.
    pub asides: BTreeMap<(LoopId, Check), AsideNote>,
    /// Plans whose work the branch had already when they were to land.
    pub already_there: BTreeSet<PlanId>,
    /// How the project's own commands ended, in order.
    pub commands: Vec<CommandNote>,
    /// Changes that other commands pass only with their own judge, in order.
    pub judges: Vec<JudgeNote>,
    /// A person is asked about a held result.
    pub(crate) was_held: bool,
    /// When it began.
    pub began: Option<Time>,
    /// Time of the last fact.
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

    /// Reads a journal row.
    pub fn decode(row: &RowRef<'_>) -> Result<Fact, DocketError> {
        let fact = match row.of {
            RUN => serde_json::from_str(row.body).map(Fact::Run),
            NOTE => serde_json::from_str(row.body).map(Fact::Note),
            of => serde_json::from_str(row.body).map(|event| Fact::Loop(LoopId::new(of), event)),
        };
        fact.map_err(|error| DocketError::Unreadable {
            seq: row.seq,
            machine: row.of.to_owned(),
            kind: row.kind.to_owned(),
            detail: error.to_string(),
        })
    }
}

impl Note {
    /// The note's name, as in the journal.
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
            Note::Aside(_) => "aside",
            Note::Strayed(_) => "strayed",
            Note::Convened(_) => "convened",
            Note::Gate(_) => "gate",
            Note::Command(_) => "command",
            Note::Judge(_) => "judge",
            Note::Resumed => "resumed",
            Note::Ignored { .. } => "ignored",
        }
    }
}

/// The loop or lane that an effect is of: what stands before `/e3/` in `01-01/task-1.1/e3/judge:wire#2`.
fn machine_of(effect: &str) -> &str {
    let is_entry = |at: &usize| {
        let rest = effect[at + 2..].trim_start_matches(|c: char| c.is_ascii_digit());
        rest.starts_with('/') && rest.len() < effect.len() - at - 2
    };
    effect.match_indices("/e").map(|(at, _)| at).find(is_entry).map_or("", |at| &effect[..at])
}

fn is_polish(id: &LoopId) -> bool {
    id.as_str().starts_with("phase.polish.")
}

impl Docket {
    /// Folds a whole journal.
    pub fn read(reader: &tribunal_journal::Reader) -> Result<Docket, DocketError> {
        let mut docket = Docket::default();
        reader.each(1, |row| docket.take(&row))?;
        Ok(docket)
    }

    /// The launches for a loop or lane, in order.
    pub fn launches_of(&self, id: &str) -> impl DoubleEndedIterator<Item = &LaunchNote> + Clone {
        self.by_loop.get(id).into_iter().flatten().filter_map(|at| self.launches.get(*at))
    }

    /// The launches for an effect, in order.
    pub fn launches_for(&self, effect: &str) -> impl DoubleEndedIterator<Item = &LaunchNote> {
        self.launches_of(machine_of(effect)).filter(move |launch| launch.effect == effect)
    }

    /// Who reviews it all, and how: what exists, or what this run built.
    pub fn review(&self) -> Option<&ReviewNote> {
        self.about.review.as_deref().or(self.convened.as_deref())
    }

    /// The tools among the checks of the run.
    pub fn tools(&self) -> &[DetectedTool] {
        match (&self.about.asked, self.review()) {
            (Some(asked), _) => &asked.tools,
            (None, Some(review)) => &review.tools,
            (None, None) => &[],
        }
    }

    /// The commit that the result stands on: that of the user's branch when the run began, or when it was rebased last.
    pub fn base(&self) -> &str {
        let ground = self.run.as_ref().and_then(Run::ground);
        ground.map_or(&self.about.base, |ground| ground.as_str())
    }

    /// The commit that the change begins from which is reviewed as a whole.
    pub fn reviewed_from(&self) -> &str {
        self.about.review.as_ref().map_or_else(|| self.base(), |review| &review.base)
    }

    /// The last loop that is not about a polish: of a review, the one that judged what was there.
    pub fn examined(&self) -> Option<&Loop> {
        self.loops.iter().rev().find(|(id, _)| !is_polish(id)).map(|(_, lp)| lp)
    }

    /// The loop that polished what a review passed.
    pub fn polish(&self) -> Option<&Loop> {
        self.loops.iter().rev().find(|(id, _)| is_polish(id)).map(|(_, lp)| lp)
    }

    /// Folds one row.
    pub fn take(&mut self, row: &RowRef<'_>) -> Result<(), DocketError> {
        self.take_fact(row, &Fact::decode(row)?)
    }

    /// Folds one row that was decoded before.
    pub fn take_fact(&mut self, row: &RowRef<'_>, fact: &Fact) -> Result<(), DocketError> {
        self.apply(Time(row.at), fact).map_err(DocketError::at(row))
    }

    /// Folds one fact.
    pub fn apply(&mut self, at: Time, fact: &Fact) -> Result<(), OutOfOrder> {
        match fact {
            Fact::Run(event) => self.apply_run(event)?,
            Fact::Loop(id, event) => self.apply_loop(id, event)?,
            Fact::Note(note) => self.apply_note(note),
        }
        self.stamp(at, fact);
        Ok(())
    }

    /// What every fact leaves behind besides its machine's change.
    pub(crate) fn stamp(&mut self, at: Time, fact: &Fact) {
        self.began.get_or_insert(at);
        self.at = self.at.max(at);
        if let Some(id) = highest_finding(fact) {
            self.last_finding = self.last_finding.max(id.0);
        }
        let about = match fact {
            Fact::Loop(id, LoopEvent::Asked(_)) => Some(crate::inbox::short(id)),
            Fact::Run(RunEvent::LaneAsked { plan, .. }) => Some(plan.as_str()),
            Fact::Run(_) if self.is_newly_held() => Some(crate::inbox::HELD),
            _ => None,
        };
        if let Some(about) = about {
            *self.asked.entry(about.to_owned()).or_insert(0) += 1;
        }
        if let Fact::Loop(id, event) = fact {
            self.tries.take(id, event);
        }
        match fact {
            Fact::Run(RunEvent::LaneDecided { plan, decision }) => {
                self.note_acceptance(plan, decision);
                self.note_more(matches!(decision.choice, LaneChoice::Retry(_)), &decision.note);
            }
            // What stood in the way then is looked at anew.
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

    /// What a person adds when they have the work done again.
    fn note_more(&mut self, again: bool, note: &str) {
        if again && !note.trim().is_empty() {
            self.more.push(note.to_owned());
        }
    }

    /// Whether the last event of the run asked about a held result.
    fn is_newly_held(&mut self) -> bool {
        let held = self.run.as_ref().is_some_and(|run| run.held().is_some());
        std::mem::replace(&mut self.was_held, held) != held && held
    }

    fn note_shown(&mut self, id: &LoopId, effect: &EffectId, shown: Shown) {
        let Step::Judge(seat) = &effect.step else { return };
        // A final pass counts all that was shown, in whichever round.
        let last = self.loops.get(id).is_some_and(Loop::is_confirming);
        let all = self.shown.entry((id.clone(), seat.clone())).or_default();
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
        let ended = self.loops.values().filter(|lp| lp.id().as_str().starts_with(&prefix));
        ended.filter(|lp| lp.outcome().is_some()).max_by_key(|lp| entry_number(lp.id()))
    }

    /// Who takes a stuck lane as it is answers for the loop that had not ended good.
    fn note_acceptance(&mut self, plan: &PlanId, decision: &LaneDecision) {
        if decision.choice != LaneChoice::Accept {
            return;
        }
        let of = self.last_ended(plan).filter(|lp| lp.outcome().is_some_and(|outcome| !outcome.is_good()));
        let of = of.map(|lp| lp.id().clone());
        self.accepted.push(Acceptance { plan: plan.clone(), of, by: decision.by.clone() });
    }

    /// Who took the work of a loop as it is, in the loop or when its lane was stuck.
    pub fn accepter(&self, id: &LoopId) -> Option<&str> {
        if let Some(Outcome::Accepted(by)) = self.loops.get(id).and_then(Loop::outcome) {
            return Some(by);
        }
        self.accepted.iter().rev().find(|one| one.of.as_ref() == Some(id)).map(|one| one.by.as_str())
    }

    /// Changes with a judge of their own that a named person took: as they were judged last, and none that was put right
    /// before.
    pub fn judges_taken(&self) -> impl Iterator<Item = &JudgeNote> {
        self.judges.iter().filter(|note| {
            let id = LoopId::new(note.of());
            let is_last = self.loops.get(&id).is_some_and(|lp| lp.revision() == Some(&note.revision));
            is_last && self.accepter(&id).is_some()
        })
    }

    /// Whether a named person took work of a plan as it is. An approved plan says nothing about its work.
    pub fn took_work(&self, plan: &PlanId) -> bool {
        let prefix = format!("{plan}/");
        let is_work = |id: &LoopId| self.loops.get(id).is_some_and(|lp| lp.policy().of != Use::Plan);
        let mut loops = self.loops.keys().filter(|id| id.as_str().starts_with(&prefix) && is_work(id));
        loops.any(|id| self.accepter(id).is_some())
            || self.accepted.iter().any(|one| one.plan == *plan && one.of.as_ref().is_none_or(is_work))
    }

    /// Everybody who took something of a plan as it is, each once.
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
            (None, event) => Err(OutOfOrder { event: event.name().to_owned(), state: "no run".to_owned() }),
        }
    }

    fn apply_loop(&mut self, id: &LoopId, event: &LoopEvent) -> Result<(), OutOfOrder> {
        match (self.loops.get_mut(id), event) {
            (None, LoopEvent::Opened(opened)) => {
                self.loops.insert(id.clone(), Loop::open(opened));
                Ok(())
            }
            (Some(lp), event) => lp.apply(event),
            (None, event) => Err(OutOfOrder { event: event.name().to_owned(), state: "no loop".to_owned() }),
        }
    }

    pub(crate) fn apply_note(&mut self, note: &Note) {
        match note {
            Note::Run(about) => {
                self.tokens = Tokens::new(&about.scores);
                self.warnings.extend(about.warnings.iter().cloned());
                self.about = (**about).clone();
            }
            Note::Launch(launch) => {
                let plan = launch.effect.split_once('/').map_or("", |(plan, _)| plan);
                let _ = self.tokens.told(&launch.role, &PlanId::new(plan), launch.tokens_told);
                self.by_loop
                    .entry(machine_of(&launch.effect).to_owned())
                    .or_default()
                    .push(self.launches.len());
                self.launches.push((**launch).clone());
            }
            Note::Lost(launch) => self.killed.push((**launch).clone()),
            Note::Promised { containment, facts } => self.about.go_on_under(containment, *facts),
            Note::Warning(text) if self.warnings.contains(text) => {}
            Note::Warning(text) => self.warnings.push(text.clone()),
            Note::AlreadyThere { plan } => {
                self.warnings
                    .push(format!("the branch had it already: nothing of plan {plan} was left to land"));
                self.already_there.insert(plan.clone());
            }
            Note::Left { command } => self.left = Some(command.clone()),
            Note::Spent(spent) => self.spent = Some(*spent),
            Note::Raised(caps) => {
                self.raised = Some(*caps);
                self.spent = None;
            }
            Note::Strayed(stray) => self.strayed.push((**stray).clone()),
            Note::Convened(review) => self.convened = Some(review.clone()),
            Note::Aside(aside) => {
                self.asides.insert((aside.of.clone(), aside.check.clone()), (**aside).clone());
            }
            Note::Command(command) => self.commands.push((**command).clone()),
            Note::Judge(note) if self.judges.contains(note) => {}
            Note::Judge(note) => self.judges.push((**note).clone()),
            Note::Traced { .. } | Note::Editor(_) | Note::Ignored { .. } | Note::Gate(_) | Note::Resumed => {}
        }
    }
}

fn highest_finding(fact: &Fact) -> Option<FindingId> {
    match fact {
        Fact::Loop(_, LoopEvent::Tracked { findings, .. }) => findings.iter().map(|f| f.id).max(),
        Fact::Run(RunEvent::LandingRefused { findings, .. }) => findings.iter().map(|f| f.id).max(),
        // What an earlier review found keeps its id.
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
        let mut docket = Docket::default();
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
            docket.apply_note(&Note::Launch(Box::new(note)));
        }
        let of = |id: &str| docket.launches_of(id).map(|launch| launch.effect.as_str()).collect::<Vec<_>>();
        assert_eq!(of("01-01/task-1.1"), effects[..2]);
        assert_eq!(of("01-01/task-1.10"), effects[2..3]);
        assert_eq!(of("01-01"), effects[3..4]);
        assert_eq!(of("phase.1"), effects[4..5]);
        assert_eq!(of("01"), [""; 0]);
        assert_eq!(docket.launches_for(effects[1]).count(), 1);
        assert_eq!(docket.launches_for("01-01/task-1.1/e3/judge:wire#2").count(), 0);
    }
}
