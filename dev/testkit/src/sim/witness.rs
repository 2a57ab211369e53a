//! The witness: shown every commit, folds it from rows, holds the laws against it, and wakes the people who are
//! asked. It never sees more than what is committed.

use super::commands;
use super::counting;
use super::fault::Fault;
use super::git::tree_of;
use super::outside::{Due, Outside};
use super::people;
use super::rng::effect_dice;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use tribunal_core::effect::EffectId;
use tribunal_core::ids::{LoopId, Revision};
use tribunal_core::machine::Machine;
use tribunal_core::policy::Use;
use tribunal_core::review_loop::{LoopEvent, LoopReport, LoopWant, Outcome};
use tribunal_core::run::RunEvent;
use tribunal_engine::{Fact, Report, RunState, Stamped, Want, Watch};
use tribunal_journal::{Journal, Options, RowRef, Synchronous};

/// Watches one life of the process.
pub struct Witness {
    outside: Rc<RefCell<Outside>>,
}

impl Witness {
    /// A witness of this outside.
    pub fn new(outside: Rc<RefCell<Outside>>) -> Witness {
        Witness { outside }
    }
}

impl Watch for Witness {
    fn committed(&mut self, run_state: &RunState, facts: &[Stamped]) {
        let mut out = self.outside.borrow_mut();
        for stamped in facts {
            out.row_of(stamped);
        }
        out.after_commit(facts);
        let same = out.laws.shadow == *run_state;
        out.hold("replay", same, || "the fold of the journal is not the live run state".to_owned());
        if out.scene.options.attached {
            out.wake_people();
        }
        out.second_orchestrator();
        out.keys();
        let reaper = out.reaper.clone();
        drop(out);
        reaper.point(Fault::KilledAfterAppend);
    }
}

impl Outside {
    /// Folds a fact as the row it was written as.
    fn row_of(&mut self, stamped: &Stamped) {
        match stamped.fact.encode() {
            Ok((of, kind, body)) => {
                let (seq, turn, at) = (self.laws.rows + 1, 1, stamped.at.0);
                self.fold(&RowRef { seq, turn, at, of: &of, kind, body: &body });
            }
            Err(error) => self.violate("replay", format!("a fact has no row: {error}")),
        }
    }

    /// Folds one row and holds the laws against it.
    pub fn fold(&mut self, row: &RowRef<'_>) {
        self.laws.rows += 1;
        self.say(|| format!("  {:<18} {:<16} {}", row.of, row.kind, brief(row.body)));
        self.digest(|_| format!("{} {} {}", row.of, row.kind, row.body));
        let fact = match Fact::decode(row) {
            Ok(fact) => fact,
            Err(error) => return self.violate("replay", error.to_string()),
        };
        if let Err(text) = self.mailbox.check(&self.laws.shadow, &fact) {
            self.violate("mailbox", text);
        }
        if let Err(error) = self.laws.shadow.take(row) {
            return self.violate("replay", error.to_string());
        }
        counting::count(&mut self.tally, &self.laws.shadow, &fact);
        for (law, text) in self.laws.take(&fact) {
            self.violate(law, text);
        }
        if let Fact::Loop(id, LoopEvent::Ended { outcome, revision }) = &fact {
            self.tests_hold(id, outcome, revision.as_ref());
        }
        let honest = self.is_true(&fact);
        self.hold("truth", honest, || "the journal says what nobody did or said".to_owned());
    }

    /// Nothing passes whose tests are red and were not, whatever anybody says; only a named person takes it so.
    fn tests_hold(&mut self, id: &LoopId, outcome: &Outcome, revision: Option<&Revision>) {
        let passed = matches!(outcome, Outcome::Passed | Outcome::PassedWithWarnings);
        let judged = self.laws.shadow.loops.get(id);
        let is_code = judged.is_some_and(|review_loop| review_loop.policy().of != Use::Plan);
        let Some(revision) = revision.filter(|_| passed && is_code) else { return };
        let before = commands::state(&self.scene, &commands::before(&self.laws.shadow, id)).0;
        let now = commands::state(&self.scene, tree_of(revision)).0;
        self.hold("green", !commands::is_broken(&before, &now), || {
            format!("{id} passed {revision} with red tests")
        });
    }

    /// What counts is what the one who was asked really said, of what it was really shown; what landed is there.
    fn is_true(&self, fact: &Fact) -> bool {
        let said = |effect: &EffectId, report: Report| {
            self.jobs.get(effect).is_some_and(|job| job.report.as_ref() == Some(&report))
        };
        match fact {
            Fact::Loop(
                id,
                event @ (LoopEvent::Answered { effect, .. }
                | LoopEvent::PartAnswered { effect, .. }
                | LoopEvent::NotCovered { effect, .. }),
            ) => {
                let shown = match self.jobs.get(effect).map(|job| &job.want) {
                    Some(Want::Loop(LoopWant::Judge { revision, .. })) => Some(revision),
                    _ => None,
                };
                let judged = shown.is_some() && shown == self.laws.gate.judged(id);
                judged && self.is_heard(effect, event)
            }
            Fact::Loop(_, LoopEvent::Checked { effect, checked }) => {
                said(effect, Report::Loop(LoopReport::Checked(checked.clone())))
            }
            Fact::Loop(_, LoopEvent::Unchecked { effect, why }) => {
                said(effect, Report::Loop(LoopReport::Unchecked(why.clone())))
            }
            Fact::Run(RunEvent::Landed { effect, revision, tip }) => {
                self.git.landings.iter().any(|landing| {
                    landing.plan.as_str() == effect.of.as_str()
                        && landing.revision == *revision
                        && landing.tip == *tip
                })
            }
            _ => true,
        }
    }

    /// Whether the one who was asked about this part said this of it, having been shown that.
    fn is_heard(&self, effect: &EffectId, event: &LoopEvent) -> bool {
        let Some(Report::Loop(LoopReport::Judged { answer, shown, .. })) =
            self.jobs.get(effect).and_then(|job| job.report.as_ref())
        else {
            return false;
        };
        match event {
            LoopEvent::Answered { answer: whole, shown: all, part, .. } => {
                let own = part.as_deref().unwrap_or(whole);
                own == &**answer && (all.parts, all.of) == (shown.parts, shown.of)
            }
            LoopEvent::PartAnswered { answer: own, shown: now, .. }
            | LoopEvent::NotCovered { answer: own, shown: now, .. } => own == &**answer && now == shown,
            _ => false,
        }
    }

    /// Rows that were committed while nobody could be told, as after a failed append.
    pub fn catch_up(&mut self, journal: &Journal) {
        let from = self.laws.rows + 1;
        let mut rows = Vec::new();
        let read: Result<(), tribunal_journal::Error> = journal.each(from, |row| {
            rows.push(row.to_row());
            Ok(())
        });
        self.hold("replay", read.is_ok(), || format!("the journal cannot be read: {read:?}"));
        for row in rows {
            let (of, kind, body) = (row.of.as_str(), row.kind.as_str(), row.body.as_str());
            self.fold(&RowRef { seq: row.seq, turn: row.turn, at: row.at, of, kind, body });
        }
    }

    fn after_commit(&mut self, facts: &[Stamped]) {
        let loops: BTreeSet<LoopId> = facts
            .iter()
            .filter_map(|stamped| match &stamped.fact {
                Fact::Loop(id, _) => Some(id.clone()),
                Fact::Run(_) | Fact::Note(_) => None,
            })
            .collect();
        for (law, text) in self.laws.settled(&loops) {
            self.violate(law, text);
        }
        self.digest(|laws| {
            let of_loops = loops.iter().filter_map(|id| Some(laws.shadow.loops.get(id)?.wants()));
            let of_run = laws.shadow.run.as_ref().map(Machine::wants);
            format!("{of_run:?} {:?}", of_loops.collect::<Vec<_>>())
        });
    }

    /// Somebody answers every question, sooner or later; now and then badly first, or twice.
    pub fn wake_people(&mut self) {
        let open = people::questions(&self.laws.shadow);
        for (effect, asked) in open {
            if !self.asked.insert(effect.clone()) {
                continue;
            }
            let mut rng = effect_dice(self.scene.seed, "person", &effect);
            let after_ms = rng.within(1, 600) * 1_000;
            if rng.chance(self.scene.dials.rate(Fault::UnofferedAnswer)) {
                self.tally.struck(Fault::UnofferedAnswer);
                self.speak(after_ms / 2, people::unoffered(&effect, &asked));
            }
            self.tell(after_ms, people::answer(&self.scene, &effect, &asked, "answer"));
            if rng.chance(self.scene.dials.rate(Fault::RepeatedAnswer)) {
                self.tally.struck(Fault::RepeatedAnswer);
                let other = people::answer(&self.scene, &effect, &asked, "second thoughts");
                self.tell(after_ms + rng.below(2) * 5_000, other);
            }
        }
    }

    /// By letter where there is a mailbox that others can reach; a spoken word dies with the one who hears it.
    fn tell(&mut self, after_ms: u64, body: tribunal_engine::mail::Body) {
        if self.dir.is_some() {
            self.later(after_ms, Due::Posts(body));
        } else {
            self.speak(after_ms, body);
        }
    }

    fn speak(&mut self, after_ms: u64, body: tribunal_engine::mail::Body) {
        if let Some((effect, report)) = people::spoken(body) {
            self.later(after_ms, Due::Says(effect, report));
        }
    }

    /// A second orchestrator must be turned away while the first one lives.
    fn second_orchestrator(&mut self) {
        let Some(dir) = self.dir.clone() else { return };
        if !self.rng.chance(self.scene.dials.rate(Fault::LockHeld) / 10) {
            return;
        }
        self.tally.struck(Fault::LockHeld);
        let second = Journal::open_with(&dir, Options { synchronous: Synchronous::Off });
        let refused = matches!(second, Err(tribunal_journal::Error::Locked { .. }));
        self.hold("one orchestrator", refused, || "a second orchestrator was let in".to_owned());
    }

    /// Live letters, signals: planned once, with the first commit of each life.
    fn keys(&mut self) {
        if self.planned() {
            return;
        }
        let twice = self.strikes(Fault::InterruptTwice);
        if twice || self.strikes(Fault::InterruptOnce) {
            let at = self.rng.within(1, 600) * 1_000;
            self.later(at, Due::Interrupt);
            if twice {
                self.later(at + self.rng.clone().below(3) * 1_000, Due::Interrupt);
            }
        }
        if self.dir.is_none() {
            return;
        }
        let at = self.rng.within(1, 900) * 1_000;
        if self.strikes(Fault::UnreadableMessage) {
            self.later(at, Due::PostsNonsense);
        }
        for body in self.messages() {
            self.later(at, Due::Posts(body));
        }
    }

    /// Letters that somebody writes to the run unasked.
    pub fn messages(&mut self) -> Vec<tribunal_engine::mail::Body> {
        use tribunal_engine::mail::Body;
        let mut messages = Vec::new();
        let by = "grace".to_owned();
        if self.rng.chance(250) && self.strikes(Fault::Cancel) {
            messages.push(Body::Cancel { by: by.clone() });
        }
        if self.strikes(Fault::Drop) {
            let plan = self.rng.clone().pick(&self.scene.spec.plans).id.clone();
            messages.push(Body::Drop { plan, by });
        }
        if self.strikes(Fault::StrangeMessage) {
            let effect = EffectId {
                of: tribunal_core::ids::Of::new("01-01/task-1.2"),
                entry: 4_000,
                step: tribunal_core::effect::Step::Ask,
                n: Default::default(),
                launch: 0,
            };
            let decision = tribunal_core::review_loop::Decision {
                by: "mallory".to_owned(),
                choice: tribunal_core::review_loop::Choice::Accept,
                note: String::new(),
            };
            messages.push(Body::Decide { effect, decision });
        }
        messages
    }
}

fn brief(body: &str) -> String {
    let short: String = body.chars().take(150).collect();
    if short.len() < body.len() { format!("{short}…") } else { short }
}
