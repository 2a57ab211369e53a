//! The history of a run: one fold of its journal for everybody who shows it. Each row is decoded once.
//!
//! The run state is the state. The chronicle adds times and what was said, for which the facts alone are enough; the record
//! adds what each round changed, for which it looks at the run state after each fact. So nothing keeps a copy of a machine.
//! It only reads: reports, pages, the terminal and the editor's tools are functions of a `History`.

use crate::review::{Origins, Record, command_verdict};
use crate::run_state::{Fact, Note, RunState, RunStateError, Stamped};
use std::collections::{BTreeMap, BTreeSet};
use tribunal_core::effect::{EffectId, FinishStep, Step};
use tribunal_core::finding::{Answer, Source, Verdict};
use tribunal_core::held::Held;
use tribunal_core::ids::{LoopId, Time};
use tribunal_core::ledger::{Mark, Tracked};
use tribunal_core::machine::OutOfOrder;
use tribunal_core::review_loop::LoopEvent;
use tribunal_core::run::RunEvent;
use tribunal_journal::{Reader, RowRef};
use tribunal_view::events::{self, Kind};
use tribunal_view::facts::RoundView;
use tribunal_view::{plain, question, words};

/// The subject of a decision about the held result.
const HELD: &str = "the result";

/// A run as its journal has it.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// The state of the machines, and what was noted beside them.
    pub run_state: RunState,
    /// When things happened, and what was said.
    pub chronicle: Chronicle,
    /// What each round changed.
    pub record: Record,
}

impl History {
    /// Reads a journal from its first row.
    pub fn read(reader: &Reader) -> Result<History, RunStateError> {
        let mut history = History::default();
        reader.each(1, |row| history.take(&row).map(drop))?;
        Ok(history)
    }

    /// Takes the next row and returns it decoded, so that no caller decodes it again.
    pub fn take(&mut self, row: &RowRef<'_>) -> Result<Fact, RunStateError> {
        let fact = Fact::decode(row)?;
        self.apply(Time(row.at), &fact).map_err(RunStateError::at(row))?;
        Ok(fact)
    }

    /// Takes the next fact.
    pub fn apply(&mut self, at: Time, fact: &Fact) -> Result<(), OutOfOrder> {
        self.run_state.apply(at, fact)?;
        self.chronicle.take(at.0, fact);
        // Last: what a round changed is read from the state after the fact.
        self.record.take(&self.run_state, fact);
        Ok(())
    }
}

/// What people want to know of a run and the fold does not keep: times, counts, and what was said in each round.
///
/// It decides nothing and needs no state. Feed it every fact in order, from the first one or from a `History` that was
/// read before; a run that is watched feeds it as facts are committed.
#[derive(Clone, Debug, Default)]
pub struct Chronicle {
    /// Attempts that were lost.
    pub failures: u64,
    /// What the closing steps said.
    pub finish: Vec<String>,
    /// The user's branch was moved to the result.
    pub forwarded: bool,
    /// The user's branch has other commits than the result stands on.
    pub moved: bool,
    /// Landings that were refused, and why.
    pub refused: Vec<String>,
    /// What people decided, in order.
    pub decisions: Vec<Decided>,
    /// The loops in the order in which they were opened.
    pub order: Vec<LoopId>,
    /// When each loop began, and when it ended.
    pub spans: BTreeMap<LoopId, (u64, Option<u64>)>,
    /// What was said in each round of each loop.
    pub rounds: BTreeMap<LoopId, Vec<RoundView>>,
    /// What reviewers said in the round that is not tracked yet.
    spoken: BTreeMap<LoopId, Vec<Spoken>>,
    /// What is said of checks that ran a command of the project and did not simply pass.
    commands: BTreeMap<String, String>,
    /// When each effect was started.
    pub started: BTreeMap<EffectId, u64>,
    /// Where each finding came from.
    pub origins: Origins,
}

/// A decision of a person, in words.
#[derive(Clone, Debug)]
pub struct Decided {
    /// The decision is about the held result, and not about what was judged.
    pub of_result: bool,
    /// What was decided, by whom, and what they said.
    pub words: String,
}

/// A reviewer's findings, of which only tracking can tell how many are new.
#[derive(Clone, Debug)]
struct Spoken {
    reviewer: Source,
    /// The place of the reviewer's line in what was said in the round.
    at: usize,
    claims: usize,
    words: String,
}

impl Chronicle {
    /// Takes facts as they are committed.
    pub fn extend(&mut self, facts: &[Stamped]) {
        facts.iter().for_each(|stamped| self.take(stamped.at.0, &stamped.fact));
    }

    /// Takes the next fact.
    pub fn take(&mut self, at: u64, fact: &Fact) {
        self.origins.take(fact);
        match fact {
            Fact::Loop(id, event) => self.take_loop(at, id, event),
            Fact::Run(event) => self.take_run(at, event),
            // Parts of an answer that could not be read are shown with the round, where their absence would mislead.
            Fact::Note(Note::Launch(launch)) => {
                let of = LoopId::new(launch.of());
                for what in &launch.unread {
                    self.say(&of, format!("not read: {}", plain::clipped(what, 300)));
                }
            }
            Fact::Note(Note::Command(note)) => {
                self.commands.extend(command_verdict(note).map(|word| (note.effect.clone(), word)));
            }
            Fact::Note(_) => {}
        }
    }

    fn take_loop(&mut self, at: u64, id: &LoopId, event: &LoopEvent) {
        match event {
            LoopEvent::Opened(_) => {
                self.order.push(id.clone());
                self.spans.insert(id.clone(), (at, None));
            }
            LoopEvent::Intended { effect, .. } => {
                self.started.insert(effect.clone(), at);
            }
            LoopEvent::RoundBegan { round, .. } => {
                self.rounds
                    .entry(id.clone())
                    .or_default()
                    .push(RoundView { round: *round, ..RoundView::default() });
            }
            LoopEvent::Failed { effect, failure } => {
                self.failures += 1;
                let why = events::of_loop(id, event);
                let why = match &why {
                    Some(Kind::Failed { why, .. }) => why.words(),
                    _ => failure.text.clone(),
                };
                if matches!(effect.step, Step::Judge(_) | Step::Check(_)) {
                    self.say(id, format!("{}: {why}", events::who(&effect.step)));
                }
            }
            LoopEvent::Checked { effect, checked } => {
                let who = events::who(&effect.step);
                let said = match checked.findings.first() {
                    // The note about the command is journaled before the check's result, so it is known here.
                    None => self.commands.remove(&effect.to_string()).unwrap_or_else(|| "passed".to_owned()),
                    Some(first) => format!("failed, {}", plain::clipped(&first.claim, 200)),
                };
                self.say(id, format!("{who}: {said}"));
            }
            LoopEvent::Unchecked { effect, why } => {
                let who = events::who(&effect.step);
                self.say(id, format!("{who}: did not run and stopped nothing: {}", plain::clipped(why, 200)));
            }
            LoopEvent::NotCovered { effect, shown, .. }
            | LoopEvent::TooLarge { effect, shown }
            | LoopEvent::VerdictKept { effect, shown } => {
                let kept = matches!(event, LoopEvent::VerdictKept { .. });
                let words = if kept { question::verdict_kept } else { question::not_covered };
                self.say(id, words(&events::who(&effect.step), *shown));
            }
            LoopEvent::Answered { effect, answer, shown, .. } => {
                let who = events::who(&effect.step);
                match answer.verdict {
                    Verdict::Approve if !answer.checked.is_empty() => {
                        let checked = plain::clipped(&answer.checked, 200);
                        self.say(id, format!("{who}: approve, was shown {shown}, says it checked {checked}"));
                    }
                    verdict => self.spoke(id, &effect.step, answer, format!("{who}: {verdict}")),
                }
            }
            LoopEvent::Tracked { findings, .. } => self.tracked(id, findings),
            LoopEvent::Ruled { ruling } => {
                if let Some(round) = self.rounds.get_mut(id).and_then(|rounds| rounds.last_mut()) {
                    round.ruling = Some(ruling.clone());
                }
            }
            LoopEvent::Decided(decision) => {
                self.decided(&question::subject(id.as_str()), events::of_loop(id, event), &decision.by);
            }
            LoopEvent::Ended { .. } => {
                if let Some(span) = self.spans.get_mut(id) {
                    span.1 = Some(at);
                }
            }
            _ => {}
        }
    }

    fn take_run(&mut self, at: u64, event: &RunEvent) {
        match event {
            RunEvent::Intended { effect, .. } => {
                self.started.insert(effect.clone(), at);
            }
            RunEvent::Failed { .. } => self.failures += 1,
            RunEvent::LandingRefused { effect, .. } => {
                if let Some(Kind::Failed { why, .. }) = events::of_run(event) {
                    self.refused.push(format!("{} ({})", effect.of, why.words()));
                }
            }
            RunEvent::LaneDecided { plan, decision } => {
                self.decided(&format!("plan {plan}"), events::of_run(event), &decision.by);
            }
            RunEvent::HeldDecided(decision) => {
                self.decided(HELD, events::of_run(event), &decision.by);
            }
            // The last hold counts: a branch that had moved may have been brought back.
            RunEvent::Held { held, .. } => self.moved = matches!(held, Held::Moved | Held::Conflict(_)),
            // The closing steps were done for the result before the rebase. They are done again for the rebased one.
            RunEvent::Rebased { .. } => {
                (self.forwarded, self.moved) = (false, false);
                self.finish.clear();
            }
            RunEvent::PlanDropped { plan, by } => {
                let words = plain::line(&format!("plan {plan} {}", words::dropped(by)));
                self.decisions.push(Decided { of_result: false, words });
            }
            RunEvent::Finished { effect, note } => {
                self.forwarded |= effect.step == Step::Finish(FinishStep::Forward);
                self.finish.extend((!note.is_empty()).then(|| note.clone()));
            }
            _ => {}
        }
    }

    fn spoke(&mut self, id: &LoopId, step: &Step, answer: &Answer, words: String) {
        // A reviewer that words one finding twice has raised it once.
        let claims: BTreeSet<&str> = answer.raised.iter().map(|claim| claim.claim.as_str()).collect();
        let at = self.rounds.get(id).and_then(|rounds| rounds.last()).map_or(0, |round| round.said.len());
        let raised = claims.len();
        self.say(id, format!("{words}, {raised} raised"));
        if let Step::Judge(reviewer) = step {
            let spoken = Spoken { reviewer: Source::Reviewer(reviewer.clone()), at, claims: raised, words };
            self.spoken.entry(id.clone()).or_default().push(spoken);
        }
    }

    /// Rewrites the lines of the round once tracking has told new findings from those of the round before.
    ///
    /// A reviewer that repeats a finding has not raised it again; without this a round would look worse than it is.
    fn tracked(&mut self, id: &LoopId, findings: &[Tracked]) {
        let round = self.rounds.get_mut(id).and_then(|rounds| rounds.last_mut());
        let (Some(round), Some(spoken)) = (round, self.spoken.remove(id)) else { return };
        for Spoken { reviewer, at, claims, words } in spoken {
            let is_new =
                |finding: &&Tracked| finding.mark != Mark::Persistent && finding.by.contains(&reviewer);
            // A finding may be held by several reviewers; one of them never gets credit for more than it raised.
            let new = findings.iter().filter(is_new).count().min(claims);
            let again = match claims - new {
                0 => String::new(),
                n => format!(", {n} again"),
            };
            if let Some(said) = round.said.get_mut(at) {
                *said = format!("{words}, {new} raised{again}");
            }
        }
    }

    fn say(&mut self, id: &LoopId, text: String) {
        // Before the first round there is no line to add to, and nothing is lost: the journal has the fact.
        if let Some(round) = self.rounds.get_mut(id).and_then(|rounds| rounds.last_mut()) {
            round.said.push(text);
        }
    }

    fn decided(&mut self, subject: &str, kind: Option<Kind>, by: &str) {
        let Some(Kind::Decided { choice, note, .. }) = kind else { return };
        let note = if note.is_empty() { String::new() } else { format!(" ({note})") };
        let words = plain::line(&format!("{subject}: {choice}, by {by}{note}"));
        self.decisions.push(Decided { of_result: subject == HELD, words });
    }
}
