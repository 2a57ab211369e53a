//! What simulated agents and checks answer. A pure function of the seed and the effect: the same effect gives
//! the same answer in every life of the process, whichever launch it is.

use super::commands;
use super::fault::Fault;
use super::rng::{Rng, dice, effect_dice};
use super::scene::Scene;
use super::tracking;
use std::collections::BTreeMap;
use tribunal_core::cover::Shown;
use tribunal_core::effect::{EffectId, Step};
use tribunal_core::finding::{Answer, Claim, Reply, Said, Severity, UnreadPart, Verdict};
use tribunal_core::green::ProjectCommand;
use tribunal_core::ids::{Check, FindingId, LoopId, Revision};
use tribunal_core::review_loop::{Checked, Failure, FailureKind, Loop, LoopReport, LoopWant};
use tribunal_core::run::RunReport;
use tribunal_engine::{Report, RunState};

/// What an agent, a check or a matcher will do once started.
pub struct Act {
    /// What it reports; nothing when it hangs.
    pub report: Option<Report>,
    /// How long it takes.
    pub after_ms: u64,
    /// What goes wrong with it.
    pub struck: Vec<Fault>,
}

/// The actor of one effect.
pub struct Actor<'a> {
    scene: &'a Scene,
    effect: &'a EffectId,
    rng: Rng,
    struck: Vec<Fault>,
}

impl<'a> Actor<'a> {
    /// The actor that carries out this effect.
    pub fn new(scene: &'a Scene, effect: &'a EffectId) -> Actor<'a> {
        Actor { scene, effect, rng: effect_dice(scene.seed, "act", effect), struck: Vec::new() }
    }

    /// Does what a loop wants.
    pub fn act_loop(mut self, want: &LoopWant, run_state: &RunState) -> Act {
        let after_ms = self.rng.within(1, 90) * 1_000;
        let Some(review_loop) = run_state.loops.get(&LoopId::new(self.effect.of.as_str())) else {
            return self.done(None, after_ms);
        };
        let report = match want {
            LoopWant::Make { findings, .. } => self.agent(|actor| actor.make(review_loop, findings)),
            LoopWant::Judge { reviewer, put, part, revision, .. } => {
                let owed = review_loop
                    .review_round()
                    .and_then(|review_round| review_round.owed_by(reviewer, *part))
                    .map_or(0, |owed| owed.parts);
                let (shown, put) = showing(review_loop, revision, *part, put);
                // Of half of all revisions earlier rounds have shown everything.
                match shown.of.is_multiple_of(2) && review_loop.keeps_verdict(reviewer, self.effect.n) {
                    true => Some(LoopReport::AllShown(Shown::whole(shown.of))),
                    false => self.agent(|actor| actor.judge(shown, &put, owed)),
                }
            }
            LoopWant::Hear { .. } => self.agent(Actor::hear),
            LoopWant::Check { check, revision } if ProjectCommand::of(check).is_some() => {
                Some(self.tests(run_state, review_loop, revision))
            }
            LoopWant::Check { check, revision } => Some(self.check(check, revision)),
            LoopWant::Join { parts } => Some(self.join(parts)),
            LoopWant::Track { .. } => Some(self.track(review_loop)),
            LoopWant::Ask(_) | LoopWant::Wake { .. } => None,
        };
        self.done(report.map(Report::Loop), after_ms)
    }

    /// Judges a lane's progress.
    pub fn act_checkpoint(mut self) -> Act {
        let after_ms = self.rng.within(1, 90) * 1_000;
        let report = match self.agent(|_| LoopReport::Heard { upheld: true, reason: String::new() }) {
            None => None,
            Some(LoopReport::Failed(failure)) => Some(RunReport::Failed(failure)),
            Some(_) => Some(RunReport::Checkpointed { feedback: "mind the tests".to_owned() }),
        };
        self.done(report.map(Report::Run), after_ms)
    }

    fn done(self, report: Option<Report>, after_ms: u64) -> Act {
        Act { report, after_ms, struck: self.struck }
    }

    fn strikes(&mut self, fault: Fault) -> bool {
        let strikes = self.rng.chance(self.scene.dials.rate(fault));
        if strikes {
            self.struck.push(fault);
        }
        strikes
    }

    /// What any agent may do wrong, before it does anything right.
    fn agent(&mut self, well: impl FnOnce(&mut Self) -> LoopReport) -> Option<LoopReport> {
        if self.strikes(Fault::AgentHang) {
            return None;
        }
        if self.strikes(Fault::AgentCrash) {
            let kinds = [FailureKind::Crashed, FailureKind::Empty, FailureKind::Quota, FailureKind::Tampered];
            let kind = *self.rng.pick(&kinds);
            // A builder that is done and made nothing, now and then.
            let nothing = kind == FailureKind::Empty && matches!(self.effect.step, Step::Make(_));
            let kind = if nothing && self.effect.entry == 1 { FailureKind::Unchanged } else { kind };
            return Some(LoopReport::Failed(Failure::new(kind, "simulated")));
        }
        if self.strikes(Fault::WorktreeDeleted) {
            return Some(LoopReport::Failed(Failure::new(FailureKind::Crashed, "its worktree is gone")));
        }
        if self.strikes(Fault::Garbage) {
            return Some(self.garbage());
        }
        Some(well(self))
    }

    /// A report that answers another question.
    fn garbage(&mut self) -> LoopReport {
        let reports = [
            LoopReport::Joined { revision: Revision::new("nonsense") },
            LoopReport::Checked(Checked { findings: Vec::new() }),
            LoopReport::Tracked { findings: Vec::new(), delta: Default::default() },
            LoopReport::Due,
        ];
        self.rng.pick(&reports).clone()
    }

    fn make(&mut self, review_loop: &Loop, findings: &[FindingId]) -> LoopReport {
        let done = !self.strikes(Fault::NotDone);
        let fresh = new_revision(self.effect);
        let same = review_loop.revision().filter(|_| self.strikes(Fault::SameRevision)).cloned();
        let old = review_loop.judged().first().filter(|_| self.strikes(Fault::OldRevision)).cloned();
        let revision = same.or(old).unwrap_or(fresh);
        let replies = findings.iter().filter_map(|id| Some((*id, self.reply()?))).collect();
        LoopReport::Made { revision, done, replies }
    }

    fn reply(&mut self) -> Option<Reply> {
        match self.rng.below(8) {
            0 => None,
            1 => Some(Reply::Refuted("it is meant so".to_owned())),
            2 => Some(Reply::Refuted(format!("reason {}", self.rng.below(1000)))),
            3 => Some(Reply::CannotFix("not here".to_owned())),
            _ => Some(Reply::Fixed),
        }
    }

    fn judge(&mut self, shown: Shown, put: &[FindingId], owed: u32) -> LoopReport {
        if self.strikes(Fault::NoVerdict) {
            let failure = Failure::new(FailureKind::Garbled, "there is no verdict in it");
            return LoopReport::Failed(Failure { unread: vec![unread_part()], ..failure });
        }
        let mut answer = if self.rng.chance(self.scene.approve) { self.approval() } else { self.objection() };
        answer.said = put.iter().map(|id| (*id, self.said())).collect();
        if !put.is_empty() && self.strikes(Fault::HalfAnswer) {
            let keep = self.rng.below(put.len() as u64) as usize;
            answer.said = put.iter().take(keep).map(|id| (*id, Said::Resolved)).collect();
        }
        answer.settled =
            (1..=owed).filter(|_| self.rng.chance(800)).map(|n| (n, "names".to_owned())).collect();
        if self.strikes(Fault::UnreadPart) {
            answer.unread.push(unread_part());
        }
        answer.wordless = self.strikes(Fault::Wordless);
        LoopReport::Judged { answer: Box::new(answer), shown, put: put.to_vec() }
    }

    fn said(&mut self) -> Said {
        match self.rng.below(6) {
            0 => Said::StillThere,
            1 => Said::NotAnIssue("it is by design".to_owned()),
            _ => Said::Resolved,
        }
    }

    fn approval(&mut self) -> Answer {
        let checked =
            if self.strikes(Fault::BareAnswer) { String::new() } else { "read it, ran the tests".to_owned() };
        let raised = if checked.is_empty() || self.rng.chance(850) {
            Vec::new()
        } else {
            vec![self.claim(&[
                Severity::Suggestion,
                Severity::Suggestion,
                Severity::Warning,
                Severity::Blocker,
            ])]
        };
        let verdict = if self.rng.chance(80) { Verdict::Conditional } else { Verdict::Approve };
        let intent_satisfied = *self.rng.pick(&[None, Some(true), Some(true), Some(true)]);
        Answer {
            verdict,
            fundamental: false,
            raised,
            said: BTreeMap::new(),
            checked,
            intent: None,
            refused: None,
            intent_satisfied,
            unread: Vec::new(),
            settled: std::collections::BTreeMap::new(),
            wordless: false,
        }
    }

    fn objection(&mut self) -> Answer {
        let groundless = self.strikes(Fault::Groundless);
        let count = if groundless { 0 } else { self.rng.within(1, 3) };
        let severities = [Severity::Warning, Severity::Warning, Severity::Blocker, Severity::Suggestion];
        let raised = (0..count).map(|_| self.claim(&severities)).collect();
        let verdicts = [Verdict::Reject, Verdict::Reject, Verdict::Conditional, Verdict::Approve];
        let verdict = if groundless { Verdict::Reject } else { *self.rng.pick(&verdicts) };
        Answer {
            verdict,
            fundamental: verdict == Verdict::Reject && self.rng.chance(150),
            raised,
            said: BTreeMap::new(),
            checked: "read it".to_owned(),
            intent: None,
            refused: None,
            intent_satisfied: None,
            unread: Vec::new(),
            settled: std::collections::BTreeMap::new(),
            wordless: false,
        }
    }

    /// Few different claims, so that they come back.
    fn claim(&mut self, severities: &[Severity]) -> Claim {
        let severity = *self.rng.pick(severities);
        let what = self.rng.below(5);
        Claim::new(severity, format!("claim {what}"))
            .at(format!("src/{}.rs", what % 3), Some(what as u32 + 1))
    }

    fn hear(&mut self) -> LoopReport {
        LoopReport::Heard { upheld: self.rng.chance(500), reason: "heard both sides".to_owned() }
    }

    /// A check says the same of the same revision, whoever asks and when, and in whatever order its plans landed.
    fn check(&mut self, check: &Check, revision: &Revision) -> LoopReport {
        if self.strikes(Fault::CheckDidNotRun) {
            let failure = Failure::new(FailureKind::DidNotRun, "no such program");
            return LoopReport::Failed(failure);
        }
        let mut rng = dice(self.scene.seed, check.as_str(), &super::git::unordered(revision));
        let mut findings = Vec::new();
        if !rng.chance(self.scene.green) {
            let severity = *rng.pick(&[Severity::Blocker, Severity::Blocker, Severity::Warning]);
            let claim = Claim::new(severity, format!("{check} fails {}", rng.below(2)));
            findings.push(Claim { rule: Some(check.to_string()), ..claim });
        }
        LoopReport::Checked(Checked { findings })
    }

    /// The project's tests, by how they end on the tree.
    fn tests(&mut self, run_state: &RunState, review_loop: &Loop, revision: &Revision) -> LoopReport {
        if self.strikes(Fault::TestsNotRun) {
            return LoopReport::Failed(Failure::new(FailureKind::DidNotRun, "no such runner"));
        }
        let (report, struck) = commands::check(self.scene, run_state, review_loop.id(), revision);
        self.struck.extend(struck);
        report
    }

    fn join(&mut self, parts: &[(tribunal_core::ids::Builder, Revision)]) -> LoopReport {
        if self.strikes(Fault::JoinFails) {
            return LoopReport::Failed(Failure::new(FailureKind::Crashed, "the parts do not merge"));
        }
        let same = parts.windows(2).all(|two| two[0].1 == two[1].1);
        let revision = match parts.first() {
            Some((_, only)) if same => only.clone(),
            Some(_) | None => new_revision(self.effect),
        };
        LoopReport::Joined { revision }
    }

    fn track(&mut self, review_loop: &Loop) -> LoopReport {
        if self.strikes(Fault::TrackingFails) {
            return LoopReport::Failed(Failure::new(FailureKind::Crashed, "the matcher died"));
        }
        let lies = self.strikes(Fault::TrackingLies);
        tracking::track(review_loop, &mut self.rng, lies)
    }
}

/// The revision an effect leaves: its own, whichever launch it was.
pub fn new_revision(effect: &EffectId) -> Revision {
    let mut rng = effect_dice(0, "revision", effect);
    Revision::new(format!("r{:012x}", rng.next() >> 16))
}

fn unread_part() -> UnreadPart {
    UnreadPart { text: "| leak | src/a.rs |".to_owned(), why: "a row of a table".to_owned() }
}

/// What a part of a revision shows, and which findings are put to it. A quarter of all revisions take several parts.
fn showing(review_loop: &Loop, revision: &Revision, part: u32, put: &[FindingId]) -> (Shown, Vec<FindingId>) {
    let number = revision.as_str().bytes().fold(7_u32, |sum, byte| sum.wrapping_mul(31) + u32::from(byte));
    let parts = if number.is_multiple_of(4) { 2 + number / 4 % 3 } else { 1 };
    let of = 2 * parts + number % 3;
    let hunks = if part + 1 >= parts { of } else { 2 * (part + 1) };
    let last = part + 1 >= parts.min(review_loop.policy().parts_max);
    // Shared by their order: ids depend on which loop reported first, and a death may change that.
    let put = (0..).zip(put).filter(|(n, _)| last || n % parts == part).map(|(_, id)| *id).collect();
    (Shown { parts, hunks, of, ..Shown::default() }, put)
}
