//! Names of effects: deterministic, never used twice, comparable as values.
//!
//! A report carries the id of the effect it answers, so reports that are late, repeated or foreign have a stale id
//! and are ignored. Everything that makes two launches different must be in the id; nothing that a replay could not
//! compute again may be.

use crate::ids::{Builder, Check, FindingId, Of, Reviewer, Time};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The id of one effect of one machine.
///
/// An id comes from the state alone. After a crash the folded journal wants the same ids as before, and that is how
/// the engine recognises what it has already launched.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EffectId {
    /// The machine, or the lane of the run.
    pub of: Of,
    /// Counter of the machine (in the run: of the lane), +1 at every change of state.
    pub entry: u32,
    /// What kind of work it is.
    pub step: Step,
    /// Which try inside this entry.
    #[serde(default, skip_serializing_if = "Try::is_first")]
    pub n: Try,
    /// How often this effect was proven not to have happened and launched again.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub launch: u32,
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// One of the things done at the end of a run, each at most once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishStep {
    /// Commits the planning files on the run branch.
    Boundary,
    /// Fast-forwards the user's branch.
    Forward,
    /// Pushes the user's branch.
    Push,
}

impl FinishStep {
    /// The name of the step as people read it.
    pub fn word(self) -> &'static str {
        match self {
            FinishStep::Boundary => "boundary commit",
            FinishStep::Forward => "fast-forward",
            FinishStep::Push => "push",
        }
    }
}

/// The kind of work that an effect is.
///
/// A step with a name in it (`Make`, `Judge`) can be wanted several times at once, one effect for each name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// A builder makes or revises the subject.
    Make(Builder),
    /// Unite what several builders did into one revision.
    Join,
    /// Run one deterministic check.
    Check(Check),
    /// Ask one reviewer for a verdict.
    Judge(Reviewer),
    /// Match this round's findings to the ledger.
    Track,
    /// Hear a referred or contested finding.
    Hear(FindingId),
    /// Put a question to a person.
    Ask,
    /// Write the SUMMARY of a plan.
    Summary,
    /// Run a loop to its end.
    Loop,
    /// Judge the progress of a lane.
    Checkpoint,
    /// Land a plan on the run branch.
    Land,
    /// Begin the run branch at the user's branch again.
    Rebase,
    /// Carry what the review approved over to the rebased run branch.
    Carry,
    /// One thing done at the end.
    Finish(FinishStep),
    /// Come back at a time, for the effect that this wraps.
    Wake(Box<Step>),
}

impl Step {
    /// Effects that must not be repeated blindly: an intent is journaled before they start.
    ///
    /// An agent costs money and a landing moves a branch. The others only read, or can be done twice with the same
    /// result.
    pub fn is_one_shot(&self) -> bool {
        match self {
            // Listed in full, so that a new step does not compile before somebody has decided this.
            Step::Make(_)
            | Step::Judge(_)
            | Step::Hear(_)
            | Step::Summary
            | Step::Checkpoint
            | Step::Land
            | Step::Rebase
            | Step::Carry
            | Step::Finish(_) => true,
            Step::Join | Step::Check(_) | Step::Track | Step::Ask | Step::Loop | Step::Wake(_) => false,
        }
    }

    /// Effects that have a deadline.
    ///
    /// An effect that moves our refs is bounded by its driver instead. It is never given up without an answer,
    /// because it may have happened.
    pub fn is_timed(&self) -> bool {
        !matches!(self, Step::Land | Step::Rebase | Step::Carry)
    }

    /// When an effect that is launched at this time must have reported; none if its driver bounds it.
    ///
    /// The deadline begins with the launch, not while the effect waits for a free place, and it survives a restart.
    pub fn deadline(&self, at: Time, timeout_ms: u64) -> Option<Time> {
        self.is_timed().then(|| Time(at.0.saturating_add(timeout_ms)))
    }

    /// Effects that launch an agent, and so count against the limit of parallel agents.
    pub fn is_agent(&self) -> bool {
        matches!(self, Step::Make(_) | Step::Judge(_) | Step::Hear(_) | Step::Summary | Step::Checkpoint)
    }
}

// As short as `Display`: ids are read in test failures and logs, many at a time.
impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Part of the printed effect id, which is also the key under which an answer to a question is posted.
            Step::Make(builder) => write!(f, "make:{builder}"),
            Step::Join => f.write_str("join"),
            Step::Check(check) => write!(f, "check:{check}"),
            Step::Judge(reviewer) => write!(f, "judge:{reviewer}"),
            Step::Track => f.write_str("track"),
            Step::Hear(finding) => write!(f, "hear:{finding}"),
            Step::Ask => f.write_str("ask"),
            Step::Summary => f.write_str("summary"),
            Step::Loop => f.write_str("loop"),
            Step::Checkpoint => f.write_str("checkpoint"),
            Step::Land => f.write_str("land"),
            Step::Rebase => f.write_str("rebase"),
            Step::Carry => f.write_str("carry"),
            Step::Finish(step) => write!(f, "finish:{step:?}"),
            Step::Wake(step) => write!(f, "wake:{step}"),
        }
    }
}

/// Which try at a step. It only grows within one entry.
///
/// Every kind of repetition has a field of its own, so that two launches never share an id and a reader of the
/// journal sees why there was a second one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Try {
    /// Which part of the change a reviewer is shown, from 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub part: u32,
    /// Asks the fallback reviewer instead of the first one.
    pub backup: bool,
    /// Attempts lost (for a builder in a lane: launches that ended without the task done).
    pub fails: u32,
    /// Asked again because the answer was not usable by itself.
    pub again: bool,
}

impl Try {
    /// Whether this is the first try.
    pub fn is_first(&self) -> bool {
        *self == Try::default()
    }
    /// The n-th attempt of the first one asked.
    pub fn nth(fails: u32) -> Self {
        Try { fails, ..Try::default() }
    }
}

impl fmt::Display for Try {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let backup = if self.backup { "b" } else { "" };
        let again = if self.again { "a" } else { "" };
        // From 1, as people count.
        write!(f, "#{backup}{}{again}", self.fails + 1)?;
        match self.part {
            0 => Ok(()),
            part => write!(f, "p{}", part + 1),
        }
    }
}

impl EffectId {
    /// The wake-up that guards this effect's deadline.
    pub fn wake(&self) -> EffectId {
        EffectId { step: Step::Wake(Box::new(self.step.clone())), ..self.clone() }
    }

    /// The effect that a wake-up guards.
    pub fn guarded(&self) -> Option<EffectId> {
        match &self.step {
            Step::Wake(step) => Some(EffectId { step: (**step).clone(), ..self.clone() }),
            _ => None,
        }
    }

    /// The same effect, launched once more.
    pub fn relaunched(&self) -> EffectId {
        EffectId { launch: self.launch + 1, ..self.clone() }
    }
}

impl fmt::Display for EffectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/e{}/{}{}", self.of.as_str(), self.entry, self.step, self.n)?;
        if self.launch > 0 {
            write!(f, "+{}", self.launch)?;
        }
        Ok(())
    }
}

impl fmt::Debug for EffectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// What was launched, and by when it must have reported.
///
/// The machine keeps these and not the engine, so that a folded journal knows which effects may have happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Intents {
    open: BTreeMap<EffectId, Option<Time>>,
    // Keyed without the launch number: it counts the launches of one try.
    cleared: BTreeMap<(Step, Try), u32>,
}

impl Intents {
    /// How often this try of the step was cleared.
    pub fn launch(&self, step: &Step, n: Try) -> u32 {
        // Most entries were never cleared: the key is not even built for those.
        if self.cleared.is_empty() {
            return 0;
        }
        self.cleared.get(&(step.clone(), n)).copied().unwrap_or(0)
    }
    /// Whether this effect was intended and has not reported.
    pub fn has(&self, effect: &EffectId) -> bool {
        self.open.contains_key(effect)
    }
    /// Whether a report of this effect can be true: the effect runs, or needs no intent.
    pub fn is_launched(&self, effect: &EffectId) -> bool {
        !effect.step.is_one_shot() || self.has(effect)
    }
    /// Whether a wanted effect may be intended: once, and only if it needs an intent at all.
    ///
    /// An id is intended at most once, ever. That makes a launch safe to repeat after a crash: either the intent is
    /// open and its driver is asked, or it was cleared and the next launch has another id.
    pub fn may_add(&self, effect: &EffectId) -> bool {
        effect.step.is_one_shot() && !self.has(effect)
    }
    /// Whether the deadline of an intended effect has passed at this time.
    pub fn is_overdue(&self, effect: &EffectId, at: Time) -> bool {
        self.due(effect).flatten().is_some_and(|due| at >= due)
    }
    /// These wants, and for each that was launched with a deadline the wake-up that guards it.
    pub fn with_wakes<W>(&self, wants: Vec<(EffectId, W)>, wake: fn(Time) -> W) -> Vec<(EffectId, W)> {
        // An effect that still waits for a free place has no intent and so no deadline yet.
        let due = |(effect, _): &(EffectId, W)| Some((effect.wake(), wake(self.due(effect).flatten()?)));
        let wakes: Vec<(EffectId, W)> = wants.iter().filter_map(due).collect();
        wants.into_iter().chain(wakes).collect()
    }
    /// The deadline of an intended effect. `None` inside means that it has none.
    pub fn due(&self, effect: &EffectId) -> Option<Option<Time>> {
        self.open.get(effect).copied()
    }
    /// All intended effects with their deadlines.
    pub fn iter(&self) -> impl Iterator<Item = (&EffectId, &Option<Time>)> {
        self.open.iter()
    }
    /// Records an intent. False if it is open already.
    pub fn add(&mut self, effect: EffectId, due: Option<Time>) -> bool {
        self.open.insert(effect, due).is_none()
    }
    /// Removes an intent: the effect reported, failed or is no longer wanted.
    pub fn close(&mut self, effect: &EffectId) -> bool {
        self.open.remove(effect).is_some()
    }
    /// Removes the intent of an effect that was proven not to have happened.
    ///
    /// The next launch gets the next number, so a report of the first one, should it still come, has a stale id.
    pub fn clear(&mut self, effect: &EffectId) -> bool {
        // An effect that was never intended has nothing to clear, and must not skip a launch number.
        let known = self.close(effect);
        if known {
            *self.cleared.entry((effect.step.clone(), effect.n)).or_insert(0) += 1;
        }
        known
    }
    /// Keeps the intents that the predicate names, when a new entry begins for a lane or machine.
    pub fn retain(&mut self, keep: impl Fn(&EffectId) -> bool) {
        self.open.retain(|effect, _| keep(effect));
    }
    /// Forgets all intents, when the machine itself changes state.
    pub fn reset(&mut self) {
        self.open.clear();
        self.cleared.clear();
    }
}
