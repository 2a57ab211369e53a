//! The public events: fourteen kinds, projected from the facts of the journal.
//!
//! The facts that the machines record may change with a version. These names and fields are a promise, written down in
//! `docs/schema/events.json`, so programs read these and never the journal. The doc comments of the types are part of
//! that schema.

use crate::plain::{block, clipped, line};
use crate::typed::{self, reply_with};
use crate::words;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use tribunal_core::cover::Shown;
use tribunal_core::effect::{EffectId, Step};
use tribunal_core::evidence::Refused;
use tribunal_core::finding::{Answer, Claim, Fate, Said, Severity, Verdict};
use tribunal_core::held::{Held, HeldChoice};
use tribunal_core::ids::{FindingId, LoopId, Reviewer};
use tribunal_core::ledger::{Mark, Tracked};
use tribunal_core::panel::Ruling;
use tribunal_core::panel::Unusable;
use tribunal_core::policy::Use;
use tribunal_core::review_loop::{Choice, FailureKind, FixAssignment, LoopEvent, Outcome};
use tribunal_core::run::{Ending, LaneChoice, Refusal, RunEvent, Was};

/// One public event: one line of `tribunal log --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Event {
    /// The run.
    pub run: String,
    /// Its place in the journal; grows, with gaps.
    pub seq: u64,
    /// When, in milliseconds since 1970.
    pub at: u64,
    /// When, as a UTC time.
    pub time: String,
    /// `run`, or the loop's id.
    pub of: String,
    /// What.
    #[serde(flatten)]
    pub what: Kind,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Kind {
    /// A run or a loop began.
    Opened {
        /// `run`, `plan`, `task`, `qa`, `phase` or `chain`.
        #[serde(serialize_with = "typed::word")]
        #[schemars(with = "String")]
        subject: Began,
        /// Its plans, for a run.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        plans: Vec<String>,
        /// Judgings at most, for a loop.
        #[serde(skip_serializing_if = "Option::is_none")]
        rounds_max: Option<u32>,
    },
    /// An effect that must not be repeated is about to start: an agent, a landing, a finishing step.
    Launched {
        /// The effect.
        effect: String,
        /// Who or what.
        who: String,
        /// When it must have reported, in milliseconds since 1970.
        #[serde(skip_serializing_if = "Option::is_none")]
        due: Option<u64>,
    },
    /// A builder left a revision.
    Made {
        /// The effect.
        effect: String,
        /// Who.
        who: String,
        /// What it left.
        revision: String,
        /// It says that its work is done.
        done: bool,
        /// What it says about open findings.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        #[schemars(with = "BTreeMap<String, String>")]
        replies: BTreeMap<FindingId, String>,
    },
    /// A check ran.
    Checked {
        /// Which.
        check: String,
        /// It found nothing.
        passed: bool,
        /// What it found.
        claims: Vec<ClaimView>,
    },
    /// A reviewer answered.
    Answered {
        /// Which.
        reviewer: String,
        /// `approve`, `conditional` or `reject`.
        #[schemars(with = "String")]
        verdict: Verdict,
        /// What it raised.
        raised: Vec<ClaimView>,
        /// What it says about findings put to it.
        #[schemars(with = "BTreeMap<String, String>")]
        said: BTreeMap<FindingId, String>,
        /// What it looked at.
        checked: String,
        /// What of the change it was shown.
        shown: ShownView,
    },
    /// An attempt was lost, or a landing refused.
    Failed {
        /// The effect.
        effect: String,
        /// Who or what.
        who: String,
        /// `crashed`, `timed_out`, `garbled`, `empty`, `quota`, `did_not_run`, `tampered`, `unproven`, `not_done`,
        /// `truncated`, `rate_limited`, `overloaded`, `auth`, `too_long`, `turn_cap`, `stalled`, `prompt_wait`, `refused`,
        /// `budget`, `setup`, `conflict`, `red_check` or `judge_again`.
        #[serde(serialize_with = "typed::word")]
        #[schemars(with = "String")]
        why: Lost,
        /// What is known.
        text: String,
    },
    /// Findings were matched to the ledger.
    Tracked {
        /// All findings of this round.
        findings: Vec<TrackedView>,
        /// Counts against the round before.
        delta: DeltaView,
    },
    /// A hearing was held.
    Heard {
        /// The finding.
        #[schemars(with = "String")]
        finding: FindingId,
        /// It stands.
        upheld: bool,
        /// Why.
        reason: String,
    },
    /// What a round adds up to.
    Ruled {
        /// `pass`, `pass_with_warnings`, `rework` or `no_quorum`.
        #[schemars(with = "String")]
        ruling: Ruled,
        /// The findings behind it.
        #[schemars(with = "Vec<String>")]
        findings: Vec<FindingId>,
        /// A reviewer was lost and the checks' verdict stands.
        checks_only: bool,
    },
    /// A person is asked.
    Asked {
        /// What about.
        subject: String,
        /// Why.
        why: String,
    },
    /// A person decided.
    Decided {
        /// Who.
        by: String,
        /// `again`, `fixed`, `ask-again`, `accept`, `drop` or `stop`.
        choice: String,
        /// In their words.
        note: String,
    },
    /// A plan is on the run branch.
    Landed {
        /// Which.
        plan: String,
        /// What was approved.
        revision: String,
        /// The run branch's new head.
        tip: String,
    },
    /// A loop or the run is over.
    Ended {
        /// A loop: `passed`, `passed with warnings`, `accepted`, `exhausted`, `stale`, `stuck`, `failed`, `cancelled`;
        /// the run: `passed`, `shut`, `stopped`, `cancelled`.
        #[serde(serialize_with = "typed::word")]
        #[schemars(with = "String")]
        outcome: Over,
        /// What it left.
        #[serde(skip_serializing_if = "Option::is_none")]
        revision: Option<String>,
    },
    /// Something worth knowing that decides nothing by itself.
    Note {
        /// A stable word for what it is about: `round`, `rework`, `gate`, `wave`, `lane`, `dropped`, `launch`, …
        #[schemars(with = "String")]
        topic: Topic,
        /// In words.
        text: String,
        /// Figures, where there are any.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        figures: BTreeMap<String, u64>,
    },
}

/// What has begun: the run, or a loop of this use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Began {
    /// The run.
    Run,
    /// A loop.
    Loop(Use),
}

impl fmt::Display for Began {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Began::Run => f.write_str("run"),
            Began::Loop(of) => f.write_str(of.word()),
        }
    }
}

/// What is over, and how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Over {
    /// The run.
    Run(Ending),
    /// A loop.
    Loop(Outcome),
}

impl Over {
    /// Whether it ended approved, or accepted by a person.
    pub fn is_good(&self) -> bool {
        match self {
            Over::Run(ending) => *ending == Ending::Passed,
            Over::Loop(outcome) => outcome.is_good(),
        }
    }
}

impl fmt::Display for Over {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Over::Run(ending) => ending.word(),
            Over::Loop(outcome) => outcome.word(),
        })
    }
}

/// Why an attempt came to nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lost {
    /// An attempt was lost.
    Attempt(FailureKind),
    /// A landing was refused.
    Landing(Refusal),
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&match self {
            Lost::Attempt(kind) => snake(kind),
            Lost::Landing(refusal) => refusal_word(refusal).to_owned(),
        })
    }
}

impl Lost {
    /// The reason as people read it: `timed out`.
    pub fn words(&self) -> String {
        self.to_string().replace('_', " ")
    }
}

/// A ruling without the findings behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ruled {
    /// Good as it stands.
    Pass,
    /// Good, with warnings carried on.
    PassWithWarnings,
    /// Not good.
    Rework,
    /// Nobody can say.
    NoQuorum,
}

/// What a note is about. Its names are a promise, like those of the kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "each name says what it is")]
pub enum Topic {
    Asked,
    AskedAgain,
    Budget,
    Carried,
    Carry,
    Checkpoint,
    Cleared,
    Closing,
    Command,
    Confirming,
    Dropped,
    Editor,
    ExhaustiveOrdered,
    Filtered,
    Finished,
    Gate,
    Held,
    Ignored,
    Lane,
    Launch,
    Left,
    Lost,
    NotCovered,
    Panel,
    Part,
    Rebased,
    Resumed,
    Review,
    Rework,
    Round,
    Run,
    Sandbox,
    OutOfScope,
    VerdictKept,
    Warning,
    Wave,
}

/// What of a change a reviewer was shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ShownView {
    /// In so many parts.
    pub parts: u32,
    /// Hunks it was shown whole.
    pub hunks: u32,
    /// Of so many.
    pub of: u32,
}

impl ShownView {
    fn of(shown: Shown) -> ShownView {
        ShownView { parts: shown.parts, hunks: shown.hunks, of: shown.of }
    }
}

/// A claim, in short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ClaimView {
    /// `blocker`, `warning` or `suggestion`.
    #[schemars(with = "String")]
    pub severity: Severity,
    /// 0 to 100.
    pub confidence: u8,
    /// The file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The claim.
    pub claim: String,
}

/// A finding with its id, in short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TrackedView {
    /// `F-12`.
    #[schemars(with = "String")]
    pub id: FindingId,
    /// Its fate after this round.
    #[serde(serialize_with = "typed::word")]
    #[schemars(with = "String")]
    pub fate: Fate,
    /// `new`, `reopened`, `fix_induced`, `late` or `persistent`.
    #[schemars(with = "String")]
    pub mark: Mark,
    /// Who holds it.
    pub by: Vec<String>,
    /// The claim that stands for it.
    #[serde(flatten)]
    pub claim: ClaimView,
}

/// Counts against the round before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DeltaView {
    /// Gone with evidence.
    pub resolved: u32,
    /// Not there before.
    pub new: u32,
    /// As before.
    pub unchanged: u32,
    /// Less severe.
    pub downgraded: u32,
    /// More severe.
    pub upgraded: u32,
    /// Simply not repeated.
    pub not_reported: u32,
    /// Settled before, there again.
    pub reopened: u32,
    /// On lines the fix added.
    pub fix_induced: u32,
}

/// Returns the JSON schema of [`Event`], as it is published.
pub fn schema() -> String {
    let schema = schemars::schema_for!(Event);
    let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    text.push('\n');
    text
}

/// Writes an event as one line of JSON.
pub fn json(event: &Event) -> String {
    serde_json::to_string(event).unwrap_or_default()
}

/// Makes an event of a note.
///
/// Use a note for everything that decides nothing by itself. A new kind would have to be kept for ever, while a topic
/// is only a word.
pub fn note(topic: Topic, text: &str) -> Kind {
    // Bounded, because notes carry words of agents and programs keep whole logs.
    Kind::Note { topic, text: clipped(text, 2_000), figures: BTreeMap::new() }
}

/// Puts an event into its envelope.
///
/// The time is given twice, as a number for programs and as UTC for people who read the lines.
pub fn event(run: &str, seq: u64, at: u64, of: &str, what: Kind) -> Event {
    Event { run: run.to_owned(), seq, at, time: crate::calendar::timestamp(at), of: of.to_owned(), what }
}

/// Says what a fact of a loop means to the public; `None` if it only moves the machine.
///
/// The match names every variant, so a new fact of the machine does not compile until somebody decides what it says
/// here.
pub fn of_loop(id: &LoopId, fact: &LoopEvent) -> Option<Kind> {
    Some(match fact {
        LoopEvent::Opened(opened) => Kind::Opened {
            subject: Began::Loop(opened.policy.of),
            plans: Vec::new(),
            rounds_max: Some(opened.policy.rounds_max),
        },
        LoopEvent::Intended { effect, due } => launched(effect, due.map(|due| due.0)),
        // Told, because the same effect is launched again and would otherwise appear twice without a reason.
        LoopEvent::Cleared { effect } => cleared(effect),
        // Not done yet: the builder goes on in another launch.
        LoopEvent::Iterated { effect, revision } => made(effect, revision.as_str(), false),
        LoopEvent::Made { effect, revision, replies } => {
            let words = replies.iter().map(|(id, reply)| (*id, reply_words(reply))).collect();
            with_replies(made(effect, revision.as_str(), true), words)
        }
        // Several fixers worked side by side; their work is one revision from here on.
        LoopEvent::Joined { effect, revision } => made(effect, revision.as_str(), true),
        LoopEvent::Failed { effect, failure } => failed(effect, Lost::Attempt(failure.kind), &failure.text),
        LoopEvent::RoundBegan { round, .. } => note(Topic::Round, &format!("round {round} is judged")),
        LoopEvent::Checked { effect, checked } => Kind::Checked {
            check: who(&effect.step),
            passed: checked.findings.is_empty(),
            claims: checked.findings.iter().map(claim).collect(),
        },
        // A check that did not run counts as a failure, never as a pass.
        LoopEvent::Unchecked { effect, why } => failed(effect, Lost::Attempt(FailureKind::DidNotRun), why),
        LoopEvent::Answered { effect, answer, shown, .. } => answered(effect, answer, *shown),
        LoopEvent::PartAnswered { effect, answer, shown } => {
            note(Topic::Part, &part_words(effect, answer, *shown))
        }
        LoopEvent::NotCovered { effect, shown, .. } | LoopEvent::TooLarge { effect, shown } => {
            note(Topic::NotCovered, &crate::question::not_covered(&who(&effect.step), *shown))
        }
        LoopEvent::VerdictKept { effect, shown } => {
            note(Topic::VerdictKept, &crate::question::verdict_kept(&who(&effect.step), *shown))
        }
        LoopEvent::AskedAgain { reviewer, why, answer } => {
            let refused = answer.as_ref().and_then(|answer| answer.refused.as_ref());
            let why = unusable_words(*why, refused);
            note(Topic::AskedAgain, &format!("the answer of {reviewer} could not be used: {why}"))
        }
        LoopEvent::Tracked { findings, delta } => {
            Kind::Tracked { findings: findings.iter().map(tracked).collect(), delta: DeltaView::of(delta) }
        }
        LoopEvent::Heard { finding, upheld, reason, .. } => {
            Kind::Heard { finding: *finding, upheld: *upheld, reason: block(reason) }
        }
        LoopEvent::Ruled { ruling } => ruled(ruling),
        LoopEvent::Confirming => {
            note(Topic::Confirming, "a final pass: all checks, and what a reviewer was not shown whole")
        }
        LoopEvent::ExhaustiveOrdered { reviewers } => note(Topic::ExhaustiveOrdered, &exhaustive(reviewers)),
        LoopEvent::ReworkOrdered { fixers } => reworked(fixers),
        LoopEvent::Asked(question) => Kind::Asked {
            subject: crate::question::subject(id.as_str()),
            // The fact does not carry the limit of rounds, so the sentence must not name one.
            why: crate::question::asked(question, 0).replace("its 0 rounds", "its rounds"),
        },
        LoopEvent::Decided(decision) => decided(&decision.by, choice_word(&decision.choice), &decision.note),
        LoopEvent::Ended { outcome, revision } => Kind::Ended {
            outcome: Over::Loop(outcome.clone()),
            revision: revision.as_ref().map(|r| line(r.as_str())),
        },
        // A seated panel is visible by its answers; these facts add nothing for a reader.
        LoopEvent::PanelAssembled { .. } | LoopEvent::PanelClosed => return None,
    })
}

fn part_words(effect: &EffectId, answer: &Answer, shown: Shown) -> String {
    let (who, part) = (who(&effect.step), effect.n.part + 1);
    let raised = match answer.raised.len() {
        0 => String::new(),
        many => format!(", {}", words::count(many, "finding")),
    };
    format!("{who} on part {part} of {}: {}{raised}; shown so far: {shown}", shown.parts, answer.verdict)
}

fn answered(effect: &EffectId, answer: &Answer, shown: Shown) -> Kind {
    Kind::Answered {
        reviewer: who(&effect.step),
        verdict: answer.verdict,
        raised: answer.raised.iter().map(claim).collect(),
        said: answer.said.iter().map(|(id, said)| (*id, said_words(said))).collect(),
        checked: clipped(&answer.checked, 2_000),
        shown: ShownView::of(shown),
    }
}

fn exhaustive(reviewers: &[Reviewer]) -> String {
    let names: Vec<String> = reviewers.iter().map(|reviewer| line(reviewer.as_str())).collect();
    format!(
        "reviewers find other old faults each round: one exhaustive pass, in the place of {}",
        names.join(", ")
    )
}

fn reworked(fixers: &[FixAssignment]) -> Kind {
    let assignment = |assignment: &FixAssignment| {
        let ids: Vec<String> = assignment.findings.iter().map(ToString::to_string).collect();
        format!("{} fixes {}", assignment.builder, words::and(&ids))
    };
    note(Topic::Rework, &fixers.iter().map(assignment).collect::<Vec<_>>().join("; "))
}

fn choice_word(choice: &Choice) -> &'static str {
    match choice {
        Choice::Again(_) => "again",
        Choice::Fixed(_) => "fixed",
        Choice::Reask => "ask-again",
        Choice::Accept => "accept",
        Choice::Stop => "stop",
    }
}

/// Says what a fact of the run means to the public; `None` if an event of a loop says it, or if it only moves the
/// machine.
///
/// Facts that events of a loop repeat are left out, so that nothing is told twice.
pub fn of_run(fact: &RunEvent) -> Option<Kind> {
    Some(match fact {
        RunEvent::Opened(spec) => Kind::Opened {
            subject: Began::Run,
            plans: spec.plans.iter().map(|plan| line(plan.id.as_str())).collect(),
            rounds_max: None,
        },
        RunEvent::Intended { effect, due } => launched(effect, due.map(|due| due.0)),
        RunEvent::Cleared { effect } => cleared(effect),
        RunEvent::GateDecided { open } => {
            note(Topic::Gate, if *open { "the plan gate is open" } else { "the plan gate stayed shut" })
        }
        RunEvent::WaveOpened { wave } => note(Topic::Wave, &format!("wave {wave} is built")),
        RunEvent::LaneOpened { plan } => note(Topic::Lane, &format!("plan {plan} is built")),
        RunEvent::PlanDropped { plan, by } => {
            note(Topic::Dropped, &format!("plan {plan} was {}", words::dropped(by)))
        }
        // A summary is work of a builder, too, and a reader should not need another kind for it.
        RunEvent::Summarised { effect, revision } => made(effect, revision.as_str(), true),
        RunEvent::Landed { effect, revision, tip } => Kind::Landed {
            plan: line(effect.of.as_str()),
            revision: line(revision.as_str()),
            tip: line(tip.as_str()),
        },
        RunEvent::LandingRefused { effect, refusal, findings } => {
            // The refusal itself has no text; the findings it brings say what is wrong.
            let claims: Vec<String> =
                findings.iter().map(|carried| line(&carried.entry.claim.claim)).collect();
            failed(effect, Lost::Landing(refusal.clone()), &claims.join("; "))
        }
        RunEvent::LaneAsked { plan, stuck } => Kind::Asked {
            subject: format!("plan {plan}, {}", crate::question::was(stuck.was)),
            why: match (stuck.was, &stuck.outcome) {
                // The loop's own events say who or what ended it.
                (Was::Loop(_), outcome @ (Outcome::Stuck | Outcome::Failed)) => {
                    format!("its loop ended {}", outcome.word())
                }
                (was, outcome) => crate::question::stuck(was, outcome),
            },
        },
        RunEvent::LaneDecided { decision, .. } => {
            let choice = match decision.choice {
                LaneChoice::Retry(_) => "again",
                LaneChoice::Reask => "ask-again",
                LaneChoice::Fixed(_) => "fixed",
                LaneChoice::Accept => "accept",
                LaneChoice::Drop => "drop",
                LaneChoice::Stop => "stop",
            };
            decided(&decision.by, choice, &decision.note)
        }
        RunEvent::Checkpointed { effect, feedback } => {
            // A checkpoint without feedback is told as well, so that nobody waits for one.
            let text = feedback.as_deref().unwrap_or("no feedback");
            note(Topic::Checkpoint, &format!("plan {}: {text}", effect.of))
        }
        RunEvent::Failed { effect, failure } => failed(effect, Lost::Attempt(failure.kind), &failure.text),
        RunEvent::ReviewOpened => note(Topic::Review, "the whole change is reviewed"),
        RunEvent::Closing { ending } => note(Topic::Closing, &format!("it will end {}", ending.word())),
        RunEvent::Finished { effect, note: text } => {
            note(Topic::Finished, &format!("{}: {text}", who(&effect.step)))
        }
        // The run helps itself by a rebase, so this is a note and not a question.
        RunEvent::Held { held, goes_on: true, .. } => note(
            Topic::Held,
            &format!("the branch: {}; the result is rebased onto it", crate::branch::held(held)),
        ),
        RunEvent::Held { held, .. } => {
            Kind::Asked { subject: "the result".to_owned(), why: crate::branch::held(held) }
        }
        // The run was told to wait for an order, so a person is asked for it.
        RunEvent::Withheld => {
            Kind::Asked { subject: "the result".to_owned(), why: crate::branch::held(&Held::Ordered) }
        }
        RunEvent::HeldDecided(decision) => {
            let choice = match decision.choice {
                HeldChoice::Land => "land",
                HeldChoice::Again(_) => "again",
                HeldChoice::Stop => "stop",
            };
            decided(&decision.by, choice, &decision.note)
        }
        RunEvent::Rebased { .. } => {
            note(Topic::Rebased, "the run branch begins anew at your branch, for what was approved so far")
        }
        RunEvent::CarryOpened => {
            note(Topic::Carry, "everything is merged again: does the review hold for it?")
        }
        RunEvent::Carried { .. } => {
            note(Topic::Carried, "what the review approved holds for the rebased result")
        }
        // The branch moved under an approved result, and an approval holds only for what was shown.
        RunEvent::JudgeAgain { .. } => {
            note(Topic::Review, "the branch has changed what was reviewed: it is reviewed again")
        }
        RunEvent::Ended { ending } => Kind::Ended { outcome: Over::Run(*ending), revision: None },
        RunEvent::LoopEnded { .. }
        | RunEvent::Iterated { .. }
        | RunEvent::CheckpointDue { .. }
        | RunEvent::FinishOrdered => return None,
    })
}

/// Names who or what works on a step.
///
/// The name is the one that people configured or read elsewhere, not the id of the effect.
pub fn who(step: &Step) -> String {
    match step {
        Step::Make(builder) => line(builder.as_str()),
        Step::Check(check) => line(check.as_str()),
        Step::Judge(reviewer) => line(reviewer.as_str()),
        Step::Hear(finding) => format!("hearing of {finding}"),
        Step::Summary => "summary".to_owned(),
        Step::Checkpoint => "checkpoint".to_owned(),
        Step::Land => "landing".to_owned(),
        Step::Rebase => "rebase".to_owned(),
        Step::Carry => "carrying the review over".to_owned(),
        Step::Finish(step) => step.word().to_owned(),
        // The remaining steps have no name of their own that people know.
        other => other.to_string(),
    }
}

fn launched(effect: &EffectId, due: Option<u64>) -> Kind {
    Kind::Launched { effect: line(&effect.to_string()), who: who(&effect.step), due }
}

fn cleared(effect: &EffectId) -> Kind {
    note(Topic::Cleared, &format!("{effect} had not happened before the interruption; it is launched again"))
}

fn made(effect: &EffectId, revision: &str, done: bool) -> Kind {
    Kind::Made {
        effect: line(&effect.to_string()),
        who: who(&effect.step),
        revision: line(revision),
        done,
        replies: BTreeMap::new(),
    }
}

fn with_replies(kind: Kind, words: BTreeMap<FindingId, String>) -> Kind {
    match kind {
        Kind::Made { effect, who, revision, done, .. } => {
            Kind::Made { effect, who, revision, done, replies: words }
        }
        other => other,
    }
}

fn failed(effect: &EffectId, why: Lost, text: &str) -> Kind {
    Kind::Failed {
        effect: line(&effect.to_string()),
        who: who(&effect.step),
        why,
        text: clipped(text, 2_000),
    }
}

fn decided(by: &str, choice: &str, note: &str) -> Kind {
    Kind::Decided { by: clipped(by, 100), choice: choice.to_owned(), note: clipped(note, 2_000) }
}

/// Writes a ruling with the findings behind it, which are those to fix or those that went on.
fn ruled(ruling: &Ruling) -> Kind {
    let (ruling, ids, checks_only) = match ruling {
        Ruling::Pass { checks_only } => (Ruled::Pass, &[][..], *checks_only),
        Ruling::PassWithWarnings { carried, checks_only } => {
            (Ruled::PassWithWarnings, &carried[..], *checks_only)
        }
        Ruling::Rework { must } => (Ruled::Rework, &must[..], false),
        Ruling::NoQuorum => (Ruled::NoQuorum, &[][..], false),
    };
    Kind::Ruled { ruling, findings: ids.to_vec(), checks_only }
}

fn refusal_word(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::Conflict => "conflict",
        Refusal::RedCheck => "red_check",
        Refusal::JudgeAgain(_) => "judge_again",
    }
}

/// Makes the short form of a claim, with every text cleaned and bounded.
fn claim(claim: &Claim) -> ClaimView {
    ClaimView {
        severity: claim.severity,
        confidence: claim.confidence,
        file: claim.file.as_deref().map(line),
        line: claim.line,
        claim: clipped(&claim.claim, 1_000),
    }
}

fn tracked(tracked: &Tracked) -> TrackedView {
    let severity = tracked.severity;
    TrackedView {
        id: tracked.id,
        fate: tracked.fate.clone(),
        mark: tracked.mark,
        by: tracked.by.iter().map(|by| line(&by.to_string())).collect(),
        // The severity of the ledger counts: triage may have changed the one that was claimed.
        claim: ClaimView { severity, ..claim(&tracked.claim) },
    }
}

impl DeltaView {
    fn of(delta: &tribunal_core::ledger::Delta) -> DeltaView {
        DeltaView {
            resolved: delta.resolved,
            new: delta.new,
            unchanged: delta.unchanged,
            downgraded: delta.downgraded,
            upgraded: delta.upgraded,
            not_reported: delta.not_reported,
            reopened: delta.reopened,
            fix_induced: delta.fix_induced,
        }
    }
}

fn reply_words(reply: &tribunal_core::finding::Reply) -> String {
    reply_with(reply, |why| clipped(why, 600))
}

/// The name of a mark, as events have it: `fix_induced`.
pub fn mark_word(mark: Mark) -> String {
    snake(&mark)
}

fn said_words(said: &Said) -> String {
    match said {
        Said::Resolved => "resolved".to_owned(),
        Said::StillThere => "still there".to_owned(),
        Said::NotAnIssue(why) => format!("not an issue: {}", clipped(why, 600)),
        Said::Shown(proof) => format!("shown: {}", clipped(proof, 600)),
        Said::NoProof(missing) => format!("no proof: {}", clipped(missing, 600)),
    }
}

/// Returns the name of a plain variant, as the journal writes it.
///
/// The public word is thereby the one that serde knows, and there is no second table that could differ.
fn snake(value: &impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|json| json.as_str().map(str::to_owned)).unwrap_or_default()
}

/// Says why an answer could not be used. If its words about what was checked are not evidence, they are quoted together
/// with what is missing in them.
///
/// Each sentence names the rule that the answer broke, because a person reads it to see why somebody was asked again.
pub fn unusable_words(why: Unusable, refused: Option<&Refused>) -> String {
    let words = match why {
        Unusable::Incomplete => "its answer left out a finding it was asked about",
        Unusable::Bare => match refused {
            Some(refused) => return format!("it approved, and {}", clipped(&refused.words(), 600)),
            None => "it approved without saying what it checked (CHECKED must name what was looked at)",
        },
        Unusable::Groundless => "its verdict had no open finding behind it",
        Unusable::Unread => "it names something that may be a finding in a form that could not be read",
        // A milder answer must not take back an objection that nobody could read.
        Unusable::Flipped => "it is milder than its answer before, of which not everything could be read",
        Unusable::Unsettled => {
            "it does not say what became of each part of its answer before that could not be read"
        }
        Unusable::Wordless => "no line of it carries the launch word of its prompt",
    };
    words.to_owned()
}
