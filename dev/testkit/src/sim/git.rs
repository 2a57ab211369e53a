//! A simulated repository: revisions are names, the run branch is a list of landings. It survives the process
//! and keeps count of what really happened.

use super::agents::new_revision;
use super::fault::Fault;
use super::rng::{Rng, effect_dice};
use super::scene::Scene;
use std::collections::{BTreeMap, BTreeSet};
use tribunal_core::effect::{EffectId, FinishStep};
use tribunal_core::finding::{Claim, Severity, Source};
use tribunal_core::ids::{Check, FindingId, PlanId, Revision};
use tribunal_core::ledger::{Entry, Handed};
use tribunal_core::r#loop::{Failure, FailureKind};
use tribunal_core::run::{Refusal, RunReport};

/// One move of the run branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Landing {
    /// By which effect.
    pub effect: EffectId,
    /// Which plan.
    pub plan: PlanId,
    /// The revision that landed.
    pub revision: Revision,
    /// The branch's new head.
    pub tip: Revision,
}

/// The repository.
#[derive(Clone, Debug, Default)]
pub struct Git {
    /// Moves of the run branch, in order.
    pub landings: Vec<Landing>,
    /// How often each finishing step changed something.
    pub finished: BTreeMap<FinishStep, u32>,
}

/// What an attempt at something in the repository came to.
pub struct Attempt {
    /// What it reports.
    pub report: RunReport,
    /// It changed something outside.
    pub changed: bool,
    /// What went wrong.
    pub struck: Vec<Fault>,
}

/// The files of a revision, whatever its planning documents say.
pub fn tree_of(revision: &Revision) -> &str {
    revision.as_str().split('+').next().unwrap_or_default()
}

fn strikes(scene: &Scene, rng: &mut Rng, fault: Fault) -> bool {
    rng.chance(scene.dials.rate(fault))
}

fn lost(text: &str, fault: Fault) -> Attempt {
    let report = RunReport::Failed(Failure::new(FailureKind::Crashed, text));
    Attempt { report, changed: false, struck: vec![fault] }
}

impl Git {
    /// Tries to land. The driver looks first whether the plan is there already, and never moves the ref twice.
    pub fn land(&mut self, scene: &Scene, effect: &EffectId, plan: &PlanId, revision: &Revision) -> Attempt {
        if let Some(done) = self.landings.iter().find(|landing| landing.plan == *plan) {
            let report = RunReport::Landed { tip: done.tip.clone() };
            return Attempt { report, changed: false, struck: Vec::new() };
        }
        let mut rng = effect_dice(scene.seed, "land", effect);
        if strikes(scene, &mut rng, Fault::WorktreeDeleted) {
            return lost("the lane's worktree is gone", Fault::WorktreeDeleted);
        }
        if strikes(scene, &mut rng, Fault::RefRaced) {
            return lost("the run branch moved under the landing", Fault::RefRaced);
        }
        if let Some(refused) = refused(scene, effect, &mut rng) {
            return refused;
        }
        let tip = Revision::new(format!("tip-{}-{plan}", self.landings.len() + 1));
        let (effect, plan, revision) = (effect.clone(), plan.clone(), revision.clone());
        self.landings.push(Landing { effect, plan, revision, tip: tip.clone() });
        Attempt { report: RunReport::Landed { tip }, changed: true, struck: Vec::new() }
    }

    /// Writes a SUMMARY beside the lane's files; the files stay what they are.
    pub fn summarise(&self, scene: &Scene, effect: &EffectId, head: &Revision) -> Attempt {
        let mut rng = effect_dice(scene.seed, "summary", effect);
        if strikes(scene, &mut rng, Fault::SummaryFails) {
            return lost("the SUMMARY is not valid", Fault::SummaryFails);
        }
        let revision = Revision::new(format!("{}+s{}", tree_of(head), effect.entry));
        Attempt { report: RunReport::Summarised { revision }, changed: false, struck: Vec::new() }
    }

    /// Tries one finishing step; what is done already is not done again.
    pub fn finish(&mut self, scene: &Scene, effect: &EffectId, step: FinishStep) -> Attempt {
        let mut rng = effect_dice(scene.seed, "finish", effect);
        if strikes(scene, &mut rng, Fault::FinishFails) {
            return lost("it could not be done", Fault::FinishFails);
        }
        let done = self.finished.entry(step).or_insert(0);
        if *done > 0 {
            let report = RunReport::Finished { note: "it was done already".to_owned() };
            return Attempt { report, changed: false, struck: Vec::new() };
        }
        if step == FinishStep::Forward && strikes(scene, &mut rng, Fault::TargetMoved) {
            let note = "the branch has moved: merge the run branch yourself".to_owned();
            let report = RunReport::Finished { note };
            return Attempt { report, changed: false, struck: vec![Fault::TargetMoved] };
        }
        *done += 1;
        Attempt { report: RunReport::Finished { note: "done".to_owned() }, changed: true, struck: Vec::new() }
    }
}

fn refused(scene: &Scene, effect: &EffectId, rng: &mut Rng) -> Option<Attempt> {
    let ways = [Fault::Conflict, Fault::RedCheck, Fault::JudgeAgain];
    let fault = ways.into_iter().find(|fault| strikes(scene, rng, *fault))?;
    let refusal = match fault {
        Fault::Conflict => Refusal::Conflict,
        Fault::RedCheck => Refusal::RedCheck,
        _ => Refusal::JudgeAgain(new_revision(effect)),
    };
    let findings = match refusal {
        Refusal::JudgeAgain(_) => Vec::new(),
        Refusal::Conflict | Refusal::RedCheck => vec![handed(fault.word())],
    };
    let report = RunReport::LandingRefused { refusal, findings };
    Some(Attempt { report, changed: false, struck: vec![fault] })
}

/// A finding of the landing; the engine gives it its id.
fn handed(text: &str) -> Handed {
    let by = BTreeSet::from([Source::Check(Check::new("landing"))]);
    let entry = Entry::new(Claim::new(Severity::Blocker, text), by, 0);
    Handed { id: FindingId(0), entry }
}
