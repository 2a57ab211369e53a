//! The public events: fourteen kinds, projected from the facts of the journal.
//!
//! The facts that the machines record may change with a version. These names and fields are a promise, written down in
//! `docs/schema/events.json`, so programs read these and never the journal. The doc comments of the types are part of
//! that schema.

use crate::plain::{block, clipped, line};
use crate::words;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use tribunal_core::cover::Shown;
use tribunal_core::effect::{EffectId, Step};
use tribunal_core::evidence::Refused;
use tribunal_core::finding::{Answer, Claim, Said};
use tribunal_core::held::{Held, HeldChoice};
use tribunal_core::ids::{LoopId, Seat};
use tribunal_core::ledger::Tracked;
use tribunal_core::panel::Ruling;
use tribunal_core::panel::Unusable;
use tribunal_core::review_loop::{Choice, LoopEvent, Outcome, Share};
use tribunal_core::run::{LaneChoice, Refusal, RunEvent, Was};

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
        subject: String,
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
    /// A maker left a revision.
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
        replies: BTreeMap<String, String>,
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
    /// A seat answered.
    Answered {
        /// Which.
        seat: String,
        /// `approve`, `conditional` or `reject`.
        verdict: String,
        /// What it raised.
        raised: Vec<ClaimView>,
        /// What it says about findings put to it.
        said: BTreeMap<String, String>,
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
        why: String,
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
        finding: String,
        /// It stands.
        upheld: bool,
        /// Why.
        reason: String,
    },
    /// What a round adds up to.
    Ruled {
        /// `pass`, `pass_with_warnings`, `rework` or `no_quorum`.
        ruling: String,
        /// The findings behind it.
        findings: Vec<String>,
        /// A seat was lost and the checks' verdict stands.
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
        outcome: String,
        /// What it left.
        #[serde(skip_serializing_if = "Option::is_none")]
        revision: Option<String>,
    },
    /// Something worth knowing that decides nothing by itself.
    Note {
        /// A stable word for what it is about: `round`, `rework`, `gate`, `wave`, `lane`, `dropped`, `launch`, …
        topic: String,
        /// In words.
        text: String,
        /// Figures, where there are any.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        figures: BTreeMap<String, u64>,
    },
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
    pub severity: String,
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
    pub id: String,
    /// Its fate after this round.
    pub fate: String,
    /// `new`, `reopened`, `fix_induced`, `late` or `persistent`.
    pub mark: String,
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
pub fn note(topic: &str, text: &str) -> Kind {
    // Bounded, because notes carry words of agents and programs keep whole logs.
    Kind::Note { topic: topic.to_owned(), text: clipped(text, 2_000), figures: BTreeMap::new() }
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
            subject: opened.policy.of.word().to_owned(),
            plans: Vec::new(),
            rounds_max: Some(opened.policy.rounds_max),
        },
        LoopEvent::Intended { effect, due } => launched(effect, due.map(|due| due.0)),
        // Told, because the same effect is launched again and would otherwise appear twice without a reason.
        LoopEvent::Cleared { effect } => cleared(effect),
        // Not done yet: the builder goes on in another launch.
        LoopEvent::Iterated { effect, revision } => made(effect, revision.as_str(), false),
        LoopEvent::Made { effect, revision, replies } => {
            let words = replies.iter().map(|(id, reply)| (id.to_string(), reply_words(reply))).collect();
            with_replies(made(effect, revision.as_str(), true), words)
        }
        // Several fixers worked side by side; their work is one revision from here on.
        LoopEvent::Joined { effect, revision } => made(effect, revision.as_str(), true),
        LoopEvent::Failed { effect, failure } => failed(effect, &snake(&failure.kind), &failure.text),
        LoopEvent::RoundBegan { round, .. } => note("round", &format!("round {round} is judged")),
        LoopEvent::Checked { effect, checked } => Kind::Checked {
            check: who(&effect.step),
            passed: checked.findings.is_empty(),
            claims: checked.findings.iter().map(claim).collect(),
        },
        // A check that did not run counts as a failure, never as a pass.
        LoopEvent::Unchecked { effect, why } => failed(effect, "did_not_run", why),
        LoopEvent::Answered { effect, answer, shown, .. } => answered(effect, answer, *shown),
        LoopEvent::PartAnswered { effect, answer, shown } => {
            note("part", &part_words(effect, answer, *shown))
        }
        LoopEvent::NotCovered { effect, shown, .. } | LoopEvent::TooLarge { effect, shown } => {
            note("not_covered", &crate::question::not_covered(&who(&effect.step), *shown))
        }
        LoopEvent::VerdictKept { effect, shown } => {
            note("verdict_kept", &crate::question::verdict_kept(&who(&effect.step), *shown))
        }
        LoopEvent::AskedAgain { seat, why, answer } => {
            let refused = answer.as_ref().and_then(|answer| answer.refused.as_ref());
            let why = unusable_words(*why, refused);
            note("asked_again", &format!("the answer of {seat} could not be used: {why}"))
        }
        LoopEvent::Tracked { findings, delta } => {
            Kind::Tracked { findings: findings.iter().map(tracked).collect(), delta: DeltaView::of(delta) }
        }
        LoopEvent::Heard { finding, upheld, reason, .. } => {
            Kind::Heard { finding: finding.to_string(), upheld: *upheld, reason: block(reason) }
        }
        LoopEvent::Ruled { ruling } => ruled(ruling),
        LoopEvent::Confirming => {
            note("confirming", "a final pass: all checks, and what a reviewer was not shown whole")
        }
        LoopEvent::ExhaustiveOrdered { seats } => note("exhaustive_ordered", &exhaustive(seats)),
        LoopEvent::ReworkOrdered { crew } => reworked(crew),
        LoopEvent::Asked(question) => Kind::Asked {
            subject: crate::question::subject(id.as_str()),
            // The fact does not carry the limit of rounds, so the sentence must not name one.
            why: crate::question::asked(question, 0).replace("its 0 rounds", "its rounds"),
        },
        LoopEvent::Decided(decision) => decided(&decision.by, choice_word(&decision.choice), &decision.note),
        LoopEvent::Ended { outcome, revision } => Kind::Ended {
            outcome: outcome.word().to_owned(),
            revision: revision.as_ref().map(|r| line(r.as_str())),
        },
        // A seated panel is visible by its answers; these facts add nothing for a reader.
        LoopEvent::PanelSeated { .. } | LoopEvent::PanelClosed => return None,
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
        seat: who(&effect.step),
        verdict: answer.verdict.to_string(),
        raised: answer.raised.iter().map(claim).collect(),
        said: answer.said.iter().map(|(id, said)| (id.to_string(), said_words(said))).collect(),
        checked: clipped(&answer.checked, 2_000),
        shown: ShownView::of(shown),
    }
}

fn exhaustive(seats: &[Seat]) -> String {
    let names: Vec<String> = seats.iter().map(|seat| line(seat.as_str())).collect();
    format!(
        "reviewers find other old faults each round: one exhaustive pass, in the place of {}",
        names.join(", ")
    )
}

fn reworked(crew: &[Share]) -> Kind {
    let share = |share: &Share| {
        let ids: Vec<String> = share.findings.iter().map(ToString::to_string).collect();
        format!("{} mends {}", share.maker, words::and(&ids))
    };
    note("rework", &crew.iter().map(share).collect::<Vec<_>>().join("; "))
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
            subject: "run".to_owned(),
            plans: spec.plans.iter().map(|plan| line(plan.id.as_str())).collect(),
            rounds_max: None,
        },
        RunEvent::Intended { effect, due } => launched(effect, due.map(|due| due.0)),
        RunEvent::Cleared { effect } => cleared(effect),
        RunEvent::GateDecided { open } => {
            note("gate", if *open { "the plan gate is open" } else { "the plan gate stayed shut" })
        }
        RunEvent::WaveOpened { wave } => note("wave", &format!("wave {wave} is built")),
        RunEvent::LaneOpened { plan } => note("lane", &format!("plan {plan} is built")),
        RunEvent::PlanDropped { plan, by } => {
            note("dropped", &format!("plan {plan} was {}", words::dropped(by)))
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
            let claims: Vec<String> = findings.iter().map(|handed| line(&handed.entry.claim.claim)).collect();
            failed(effect, refusal_word(refusal), &claims.join("; "))
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
            note("checkpoint", &format!("plan {}: {text}", effect.of))
        }
        RunEvent::Failed { effect, failure } => failed(effect, &snake(&failure.kind), &failure.text),
        RunEvent::ReviewOpened => note("review", "the whole change is reviewed"),
        RunEvent::Closing { ending } => note("closing", &format!("it will end {}", ending.word())),
        RunEvent::Finished { effect, note: text } => {
            note("finished", &format!("{}: {text}", who(&effect.step)))
        }
        // The run helps itself by a rebase, so this is a note and not a question.
        RunEvent::Held { held, goes_on: true, .. } => {
            note("held", &format!("the branch: {}; the result is rebased onto it", crate::branch::held(held)))
        }
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
            note("rebased", "the run branch begins anew at your branch, for what was approved so far")
        }
        RunEvent::CarryOpened => note("carry", "everything is merged again: does the review hold for it?"),
        RunEvent::Carried { .. } => note("carried", "what the review approved holds for the rebased result"),
        // The branch moved under an approved result, and an approval holds only for what was shown.
        RunEvent::JudgeAgain { .. } => {
            note("review", "the branch has changed what was reviewed: it is reviewed again")
        }
        RunEvent::Ended { ending } => Kind::Ended { outcome: ending.word().to_owned(), revision: None },
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
        Step::Make(maker) => line(maker.as_str()),
        Step::Check(check) => line(check.as_str()),
        Step::Judge(seat) => line(seat.as_str()),
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
    note("cleared", &format!("{effect} had not happened before the interruption; it is launched again"))
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

fn with_replies(kind: Kind, words: BTreeMap<String, String>) -> Kind {
    match kind {
        Kind::Made { effect, who, revision, done, .. } => {
            Kind::Made { effect, who, revision, done, replies: words }
        }
        other => other,
    }
}

fn failed(effect: &EffectId, why: &str, text: &str) -> Kind {
    Kind::Failed {
        effect: line(&effect.to_string()),
        who: who(&effect.step),
        why: why.to_owned(),
        text: clipped(text, 2_000),
    }
}

fn decided(by: &str, choice: &str, note: &str) -> Kind {
    Kind::Decided { by: clipped(by, 100), choice: choice.to_owned(), note: clipped(note, 2_000) }
}

/// Writes a ruling with the findings behind it, which are those to fix or those that went on.
fn ruled(ruling: &Ruling) -> Kind {
    let (word, ids, checks_only) = match ruling {
        Ruling::Pass { checks_only } => ("pass", &[][..], *checks_only),
        Ruling::PassWithWarnings { carried, checks_only } => {
            ("pass_with_warnings", &carried[..], *checks_only)
        }
        Ruling::Rework { must } => ("rework", &must[..], false),
        Ruling::NoQuorum => ("no_quorum", &[][..], false),
    };
    Kind::Ruled {
        ruling: word.to_owned(),
        findings: ids.iter().map(ToString::to_string).collect(),
        checks_only,
    }
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
        severity: claim.severity.word().to_owned(),
        confidence: claim.confidence,
        file: claim.file.as_deref().map(line),
        line: claim.line,
        claim: clipped(&claim.claim, 1_000),
    }
}

fn tracked(tracked: &Tracked) -> TrackedView {
    let severity = tracked.severity.word().to_owned();
    TrackedView {
        id: tracked.id.to_string(),
        fate: tracked.fate.word().to_owned(),
        mark: snake(&tracked.mark),
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
    use tribunal_core::finding::Reply;
    match reply {
        Reply::Fixed => "fixed".to_owned(),
        Reply::Refuted(why) => format!("refuted: {}", clipped(why, 600)),
        Reply::CannotFix(why) => format!("cannot fix: {}", clipped(why, 600)),
        Reply::Unseen(why) => format!("perhaps fixed: {}", clipped(why, 600)),
    }
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
