//! Names of effects: deterministic, never used twice, comparable as values. A report carries the id of the
//! effect it answers, so a late, repeated or foreign report is recognised and means nothing.

use crate::ids::{Check, FindingId, Maker, Of, Seat, Time};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// One effect of one machine.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EffectId {
    /// The machine, or the lane of the run.
    pub of: Of,
    /// Counter of the machine (in the run: of the lane), +1 at every change of state.
    pub entry: u32,
    /// What kind of work.
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
    /// Pushes it.
    Push,
}

impl FinishStep {
    /// The word people read.
    pub fn word(self) -> &'static str {
        match self {
            FinishStep::Boundary => "boundary commit",
            FinishStep::Forward => "fast-forward",
            FinishStep::Push => "push",
        }
    }
}

/// What kind of work an effect is.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Make or revise the subject.
    Make(Maker),
    /// Unite what several makers did into one revision.
    Join,
    /// Run one deterministic judge.
    Check(Check),
    /// Ask one reviewer.
    Judge(Seat),
    /// Match this round's findings to the ledger.
    Track,
    /// Hear a referred or contested finding.
    Hear(FindingId),
    /// Ask a person.
    Ask,
    /// Write a plan's SUMMARY.
    Summary,
    /// Hold a loop.
    Loop,
    /// Judge a lane's progress.
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
    pub fn is_one_shot(&self) -> bool {
        match self {
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

    /// Effects that have a deadline. One that moves our refs is bounded by its driver instead: it is never given up
    /// without an answer, because it may have happened.
    pub fn is_timed(&self) -> bool {
        !matches!(self, Step::Land | Step::Rebase | Step::Carry)
    }

    /// When an effect that is launched at this time must have reported; none where its driver bounds it.
    ///
    /// The deadline begins with the launch, not while the effect waits for a free place, and it survives a restart.
    pub fn deadline(&self, at: Time, timeout_ms: u64) -> Option<Time> {
        self.is_timed().then(|| Time(at.0.saturating_add(timeout_ms)))
    }

    /// Effects that launch an agent, and so count against the width.
    pub fn is_agent(&self) -> bool {
        matches!(self, Step::Make(_) | Step::Judge(_) | Step::Hear(_) | Step::Summary | Step::Checkpoint)
    }
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Make(maker) => write!(f, "make:{maker}"),
            Step::Join => f.write_str("join"),
            Step::Check(check) => write!(f, "check:{check}"),
            Step::Judge(seat) => write!(f, "judge:{seat}"),
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

/// Which try at a step: it only grows within one entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Try {
    /// Which part of what is judged a reviewer is shown, from 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub part: u32,
    /// The backup asker, not the first one.
    pub backup: bool,
    /// Attempts lost (for a dev in a lane: runs that ended without the task done).
    pub fails: u32,
    /// Asked again because the answer alone was not usable.
    pub again: bool,
}

impl Try {
    /// The first try.
    pub fn is_first(&self) -> bool {
        *self == Try::default()
    }
    /// The n-th attempt of the first asker.
    pub fn nth(fails: u32) -> Self {
        Try { fails, ..Try::default() }
    }
}

impl fmt::Display for Try {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let backup = if self.backup { "b" } else { "" };
        let again = if self.again { "a" } else { "" };
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

    /// The effect a wake-up guards.
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

/// What was launched and by when it must have reported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Intents {
    open: BTreeMap<EffectId, Option<Time>>,
    cleared: BTreeMap<(Step, Try), u32>,
}

impl Intents {
    /// How often this step's try was cleared.
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
    /// Whether what this effect reports can be true: it runs, or it is one that needs no intent.
    pub fn is_launched(&self, effect: &EffectId) -> bool {
        !effect.step.is_one_shot() || self.has(effect)
    }
    /// Whether a wanted effect may be intended: once, and only where an intent is needed at all.
    ///
    /// An id is intended at most once, ever. That is what makes a launch safe to repeat after a crash: either the intent
    /// is open and its driver is asked, or it was cleared and the next launch has another id.
    pub fn may_add(&self, effect: &EffectId) -> bool {
        effect.step.is_one_shot() && !self.has(effect)
    }
    /// Whether the deadline of an intended effect has passed at this time.
    pub fn is_overdue(&self, effect: &EffectId, at: Time) -> bool {
        self.due(effect).flatten().is_some_and(|due| at >= due)
    }
    /// These wants, and for each that was launched with a deadline the wake-up that guards it.
    pub fn with_wakes<W>(&self, wants: Vec<(EffectId, W)>, wake: fn(Time) -> W) -> Vec<(EffectId, W)> {
        let due = |(effect, _): &(EffectId, W)| Some((effect.wake(), wake(self.due(effect).flatten()?)));
        let wakes: Vec<(EffectId, W)> = wants.iter().filter_map(due).collect();
        wants.into_iter().chain(wakes).collect()
    }
    /// The deadline of an intended effect; `None` within means it has none.
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
    /// The effect reported, failed or is no longer wanted.
    pub fn close(&mut self, effect: &EffectId) -> bool {
        self.open.remove(effect).is_some()
    }
    /// The effect was proven not to have happened.
    pub fn clear(&mut self, effect: &EffectId) -> bool {
        let known = self.close(effect);
        if known {
            *self.cleared.entry((effect.step.clone(), effect.n)).or_insert(0) += 1;
        }
        known
    }
    /// A new entry begins for the lane or machine that the predicate names: nothing of the old one counts.
    pub fn retain(&mut self, keep: impl Fn(&EffectId) -> bool) {
        self.open.retain(|effect, _| keep(effect));
    }
    /// Forgets everything.
    pub fn reset(&mut self) {
        self.open.clear();
        self.cleared.clear();
    }
}
