//! The data that the views show: plain structs, filled from the folded journal. `status --json` prints them as they
//! are, so a field's name is a promise, and the doc comments below are part of the published schema.
//!
//! What is one of a few cases keeps its type (`Severity`, `Fate`, `Outcome`, `Ending`) and is printed as its word. So no
//! view compares words, and what programs read stays as it is.

use crate::plain;
use crate::provenance::Provenance;
use crate::spoken::{Identity, Spoken};
use crate::style::Mark;
use crate::typed;
use crate::voices::{self, RemarksView, WordsView};
use crate::who::Who;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use tribunal_core::finding::{Fate, Reply, Severity};
use tribunal_core::ids::FindingId;
use tribunal_core::ledger::Entry;
use tribunal_core::panel::Ruling;
use tribunal_core::review_loop::{LoopStage, Outcome};
use tribunal_core::run::{Ending, RunStage};

/// What every report says of the project's build and test commands beside a pass.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CommandView {
    /// `no tests ran`, `tests not counted`, `red before`, `flaky`, `red` or `judge changed`.
    pub word: String,
    /// Which command, and how it ended.
    pub text: String,
}

impl CommandView {
    /// Returns the remark as one line.
    pub fn line(&self) -> String {
        format!("{}: {}", self.word, self.text)
    }
}

/// Returns the words of these remarks, each once, to stand behind a pass: `, no tests ran`.
///
/// A pass that was not tested is never a bare one, wherever it is shown.
pub fn beside_a_pass(commands: &[CommandView]) -> String {
    let mut words: Vec<&str> = Vec::new();
    for command in commands {
        // Each word once: two commands that were red before do not make a pass twice as bad.
        if !words.contains(&command.word.as_str()) {
            words.push(&command.word);
        }
    }
    words.iter().map(|word| format!(", {word}")).collect()
}

/// A run as people see it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RunView {
    /// Its id.
    pub id: String,
    /// The phase's number and name.
    pub phase: String,
    /// What it makes or judges, where it builds no phase: `spec of login`, `review of main..HEAD`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<String>,
    /// What somebody asked for in plain words is its only plan, and its name.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asked: bool,
    /// `empty`, `gating`, `building`, `reviewing`, `closing`, `finishing`, `held`, `rebasing`, `carrying` or `ended`.
    #[serde(serialize_with = "typed::stage")]
    #[schemars(with = "String")]
    pub stage: Option<RunStage>,
    /// `passed`, `concerns`, `shut`, `stopped` or `cancelled`, once it has ended.
    #[schemars(with = "Option<String>")]
    pub ending: Option<Ending>,
    /// An orchestrator runs it now.
    pub live: bool,
    /// The user's branch.
    pub branch: String,
    /// Its commit when the run began.
    pub base: String,
    /// The run branch's head.
    pub tip: Option<String>,
    /// How processes are contained.
    pub containment: String,
    /// Whether agents are kept to their own files, in words.
    pub sandbox: String,
    /// What a reader must know of it: each promise that was not kept, processes that could escape first.
    pub unkept: Vec<String>,
    /// What the settings let through: gates switched off, commit rules not kept.
    pub let_through: Vec<String>,
    /// When it began, in milliseconds since 1970.
    pub began: u64,
    /// Time of its last fact.
    pub at: u64,
    /// Its plans, in order.
    pub plans: Vec<PlanView>,
    /// Its loops, in the order they were opened.
    pub loops: Vec<LoopView>,
    /// Every finding once, with its last state.
    pub findings: Vec<FindingView>,
    /// What runs now.
    pub running: Vec<Activity>,
    /// Open questions to people.
    pub questions: Vec<QuestionView>,
    /// What people decided, in order.
    pub decisions: Vec<String>,
    /// What agents did and cost.
    pub effort: EffortView,
    /// Landings that were refused.
    pub refused_landings: Vec<String>,
    /// What was done at the end: commits, fast-forward, push.
    pub finish: Vec<String>,
    /// Why the user's branch does not have the result, where a person is asked about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<String>,
    /// The one command that takes what landed, where the user's branch does not have it.
    pub take: Option<String>,
    /// Plans whose work the branch had already, brought there by hand.
    pub already_there: Vec<String>,
    /// What is to be said of the project's own build and test commands: nothing where they ran and were green.
    pub commands: Vec<CommandView>,
    /// What was not reviewed, and so says every report.
    pub unreviewed: Vec<String>,
    /// Who built and who judged.
    pub who: Who,
    /// Warnings, in order.
    pub warnings: Vec<String>,
    /// What agents want a person to know.
    pub escalated: Vec<String>,
    /// What agents wanted and were refused.
    pub refused: Vec<String>,
    /// Problems agents came upon and left alone.
    pub discovered: Vec<String>,
    /// Where the report is.
    pub report: Option<String>,
    /// Where the review of its findings is.
    pub review: Option<String>,
    /// What to run next.
    pub next: Vec<String>,
    /// Effort and autonomy, in the configuration's words.
    pub care: String,
    /// What happened, in two to four plain sentences.
    pub happened: String,
}

/// Where a plan stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlanState {
    /// Waits for its wave or dependencies.
    #[default]
    Waiting,
    /// Judged before any code.
    Gating,
    /// Being built.
    Building,
    /// In the landing queue.
    Landing,
    /// A person is asked.
    Stuck,
    /// On the run branch.
    Landed,
    /// Its plan was refused.
    Refused,
    /// Will not be built.
    Dropped,
    /// The run ended before it landed.
    Abandoned,
}

/// A plan as people see it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PlanView {
    /// `01-02`.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Its wave.
    pub wave: u32,
    /// Where it stands.
    pub state: PlanState,
    /// The gate it is at: `plan`, `task 1/3`, `repair`, `qa`, `summary`, `landing`.
    pub gate: String,
    /// What is known there: `making`, `judging`, `rework`, `waits for you`, `passed` …
    pub verdict: String,
    /// The round.
    pub round: u32,
    /// Rounds at most; 0 where rounds do not count.
    pub rounds_max: u32,
    /// It passed only with warnings, or by a person's word.
    pub with_warnings: bool,
    /// What its devs say they built.
    pub built: String,
}

/// A loop as people see it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LoopView {
    /// `01-02/task-1.3`.
    pub id: String,
    /// Its plan.
    pub plan: Option<String>,
    /// `plan`, `task`, `qa`, `phase` or `chain`.
    #[serde(rename = "use")]
    pub of: String,
    /// The word for its state.
    #[schemars(with = "String")]
    pub state: LoopStage,
    /// How it ended.
    #[serde(serialize_with = "typed::outcome")]
    #[schemars(with = "Option<String>")]
    pub outcome: Option<Outcome>,
    /// The round.
    pub round: u32,
    /// Rounds at most.
    pub rounds_max: u32,
    /// Runs of the builder.
    pub iterations: u32,
    /// What it is about, as it stands.
    pub revision: Option<String>,
    /// Findings it held.
    #[schemars(with = "Vec<String>")]
    pub findings: Vec<FindingId>,
    /// What each round came to.
    pub rounds: Vec<RoundView>,
    /// How long it took so far, in milliseconds.
    pub ms: u64,
    /// What its agents cost, in millionths of a dollar.
    pub cost_micros: u64,
    /// Its reviewers in their own words, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spoken: Vec<Spoken>,
}

/// One round as people see it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RoundView {
    /// Which.
    pub round: u32,
    /// What each check and reviewer said, in order.
    pub said: Vec<String>,
    /// What it added up to.
    #[serde(serialize_with = "typed::ruling")]
    #[schemars(with = "String")]
    pub ruling: Option<Ruling>,
}

/// A finding as people see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FindingView {
    /// `F-12`.
    #[schemars(with = "String")]
    pub id: FindingId,
    /// `blocker`, `warning` or `suggestion`.
    #[schemars(with = "String")]
    pub severity: Severity,
    /// `open`, or where it ended.
    #[serde(serialize_with = "typed::word")]
    #[schemars(with = "String")]
    pub fate: Fate,
    /// Why, where a fate has a reason.
    pub fate_note: String,
    /// `src/a.rs:12`.
    pub place: String,
    /// The claim.
    pub claim: String,
    /// The rest of the text.
    pub details: String,
    /// What to do about it.
    pub suggestion: String,
    /// 0 to 100.
    pub confidence: u8,
    /// Who holds it.
    pub by: Vec<String>,
    /// The round it was first seen in.
    pub first_round: u32,
    /// The last loop that held it.
    #[serde(rename = "loop")]
    pub of: String,
    /// The builder's last word on it.
    #[serde(serialize_with = "typed::reply")]
    #[schemars(with = "String")]
    pub reply: Option<Reply>,
    /// `original`, `introduced by the fix of round 2`, `missed earlier` or `pre-existing`; empty where unknown.
    #[serde(serialize_with = "typed::word_or_empty")]
    #[schemars(with = "String")]
    pub provenance: Option<Provenance>,
    /// Who the reviewers behind it were.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub identities: Vec<Identity>,
    /// Everything that was said about it, and by whom, in the order it was said.
    pub words: Vec<WordsView>,
    /// What triage noticed about it.
    pub remarks: RemarksView,
}

/// Something that runs now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Activity {
    /// The loop or plan.
    pub of: String,
    /// Who or what: `dev`, `loop-reviewer`, `landing`.
    pub who: String,
    /// When it began, in milliseconds since 1970.
    pub since: u64,
}

/// An open question as people see it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct QuestionView {
    /// What `tribunal decide` takes.
    pub id: String,
    /// The run.
    pub run: String,
    /// What it is about.
    pub subject: String,
    /// Why it is open.
    pub why: String,
    /// What may be answered: the word and what it does.
    pub offers: Vec<OfferView>,
    /// The open findings behind it.
    pub findings: Vec<FindingView>,
    /// Where a person may fix it before answering `fixed`.
    pub place: Option<String>,
    /// The answer that is recorded and not yet read by the run.
    pub answered: Option<String>,
    /// What its reviewers said in the last round, in their own words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spoken: Vec<Spoken>,
}

/// One answer on offer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OfferView {
    /// The word.
    pub word: String,
    /// The whole command.
    pub command: String,
    /// What it does.
    pub meaning: String,
}

/// What agents did and cost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EffortView {
    /// Launches that ended.
    pub launches: u64,
    /// Attempts that were lost.
    pub failures: u64,
    /// Agents' time, in milliseconds.
    pub agent_ms: u64,
    /// Tokens in.
    pub tokens_in: u64,
    /// Tokens out.
    pub tokens_out: u64,
    /// Dollars in millionths, as far as agents tell.
    pub cost_micros: u64,
    /// Launches that used tokens and do not say what they cost.
    pub unpriced: u64,
}

impl EffortView {
    /// Returns the cost for people, with a note if a part of it is unknown.
    ///
    /// A sum of known prices is a lower bound as soon as one launch tells no price, and the words say so.
    pub fn money(&self) -> String {
        let cost = crate::words::money(self.cost_micros);
        let launches = crate::words::count(usize::try_from(self.unpriced).unwrap_or(usize::MAX), "launch");
        match (self.cost_micros, self.unpriced) {
            (_, 0) => cost,
            // Zero would read as free; a launch that tells no price was not free.
            (0, _) => format!("not known: {launches} did not say"),
            _ => format!("{cost} at least: {launches} did not say"),
        }
    }
}

/// Returns the JSON schema of [`RunView`], which is what `status --json` prints.
pub fn schema() -> String {
    let schema = schemars::schema_for!(RunView);
    let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    text.push('\n');
    text
}

impl PlanView {
    /// Returns the symbol of the plan's state.
    pub fn mark(&self) -> Mark {
        match self.state {
            PlanState::Waiting | PlanState::Dropped => Mark::Skipped,
            // It is at work, but the next move is the user's.
            PlanState::Gating | PlanState::Building | PlanState::Landing if self.verdict == WAITS => {
                Mark::Warning
            }
            PlanState::Gating | PlanState::Building | PlanState::Landing => Mark::Running,
            PlanState::Stuck => Mark::Warning,
            PlanState::Landed => Mark::Complete,
            PlanState::Refused | PlanState::Abandoned => Mark::Failed,
        }
    }
}

/// The verdict of something that waits for a person.
pub const WAITS: &str = "waits for you";

impl LoopView {
    /// Says how it ended, or where it stands.
    pub fn stands(&self) -> String {
        self.outcome.as_ref().map_or_else(|| self.state.word().to_owned(), typed::outcome_words)
    }
}

impl RoundView {
    /// The name of its ruling; a round without one has not ended.
    pub fn ruling_words(&self) -> &'static str {
        self.ruling.as_ref().map_or("under way", |ruling| typed::ruling_word(Some(ruling)))
    }
}

impl QuestionView {
    /// Rewrites the commands so that they work from another folder.
    pub fn from_elsewhere(&mut self, dir: &str) {
        for offer in &mut self.offers {
            offer.command = crate::words::from_elsewhere(&offer.command, dir);
        }
    }
}

impl RunView {
    /// Whether the user's branch has what was approved. Only a run that ended well has brought it there.
    ///
    /// The run branch is not the user's branch. Every face that says "landed" asks this first.
    pub fn is_there(&self) -> bool {
        self.ending.is_some_and(Ending::is_good)
    }

    /// Rewrites the commands and files it names so that they work from another folder.
    ///
    /// Whoever ran a command with `-C DIR` is not in that folder, so commands and relative paths would not work as they
    /// are.
    pub fn from_elsewhere(&mut self, dir: &str) {
        // An absolute path is the same from everywhere.
        let near = |path: &&mut String| !path.starts_with('/');
        for path in self.report.iter_mut().chain(&mut self.review).filter(near) {
            *path = format!("{}/{path}", dir.trim_end_matches('/'));
        }
        for command in self.next.iter_mut().chain(&mut self.take) {
            *command = crate::words::from_elsewhere(command, dir);
        }
        self.questions.iter_mut().for_each(|open| open.from_elsewhere(dir));
    }

    /// Returns the symbol of the run's state.
    pub fn mark(&self) -> Mark {
        match self.ending {
            Some(Ending::Passed) => Mark::Complete,
            // It ended and is on the branch, but not approved.
            Some(Ending::Concerns) => Mark::Warning,
            Some(_) => Mark::Failed,
            // The run may be alive, but nothing moves until the person answers.
            None if !self.questions.is_empty() => Mark::Warning,
            None if self.never_began() => Mark::Skipped,
            None => Mark::Running,
        }
    }

    /// Whether the run died before anything was recorded.
    ///
    /// Such a run has an empty journal and no orchestrator; `tribunal gc` removes it.
    pub fn never_began(&self) -> bool {
        !self.live && self.stage.is_none()
    }

    /// Counts findings by fate, the most frequent first. Equal counts are sorted by name.
    pub fn fates(&self) -> Vec<(&'static str, usize)> {
        fates(self.findings.iter())
    }

    /// How many findings are open.
    pub fn open_findings(&self) -> usize {
        self.findings.iter().filter(|finding| finding.fate == Fate::Open).count()
    }

    /// Where it stands, in a word: how it ended, or how far it has come.
    pub fn stands(&self) -> &'static str {
        self.ending.map_or_else(|| typed::stage_word(self.stage), Ending::word)
    }

    /// How long the run has taken so far, in milliseconds.
    pub fn ms(&self) -> u64 {
        self.at.saturating_sub(self.began)
    }
}

impl FindingView {
    /// Makes the view of a finding from a loop's ledger, with every text made harmless.
    ///
    /// Provenance and identities are not in the ledger. The caller adds them if it knows them.
    pub fn of(id: FindingId, entry: &Entry, of: &str) -> FindingView {
        // The same line that agents get, so that people and agents speak of the same place and claim.
        let line = crate::prompt::FindingLine::of(id, entry);
        let fate_note = match &entry.fate {
            Fate::DuplicateOf(other) | Fate::SupersededBy(other) => format!("of {other}"),
            Fate::Waived(who) => format!("by {}", plain::line(who)),
            _ => String::new(),
        };
        FindingView {
            id,
            severity: entry.severity,
            fate: entry.fate.clone(),
            fate_note,
            place: plain::line(&line.place),
            claim: plain::line(&line.claim),
            details: plain::block(&line.details),
            suggestion: plain::line(&line.suggestion),
            confidence: entry.claim.confidence,
            by: entry.by.iter().map(|by| plain::line(&by.to_string())).collect(),
            first_round: entry.first_round,
            of: of.to_owned(),
            reply: entry.reply.clone(),
            // Only the history knows where a finding came from, and a ledger is one moment of it.
            provenance: None,
            identities: Vec::new(),
            words: voices::words(entry),
            remarks: voices::remarks(entry),
        }
    }

    /// Says where its lines came from; empty where that is unknown.
    pub fn provenance_words(&self) -> String {
        self.provenance.map(|provenance| provenance.to_string()).unwrap_or_default()
    }

    /// Says how it stands, with the reason: `waived by ann`.
    pub fn fate_words(&self) -> String {
        format!("{} {}", self.fate, self.fate_note).trim_end().to_owned()
    }

    /// Writes the finding as one line: `F-12 [blocker] src/a.rs:12 claim`.
    pub fn line(&self) -> String {
        let place = if self.place.is_empty() { String::new() } else { format!(" {}", self.place) };
        format!("{} [{}]{place} {}", self.id, self.severity, self.claim)
    }
}

/// Counts findings by fate, the most frequent first. Equal counts are sorted by name, so that the same findings always
/// read the same.
pub fn fates<'a>(findings: impl Iterator<Item = &'a FindingView>) -> Vec<(&'static str, usize)> {
    let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
    findings.for_each(|finding| *counts.entry(finding.fate.word()).or_default() += 1);
    let mut fates: Vec<(&'static str, usize)> = counts.into_iter().collect();
    fates.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    fates
}
