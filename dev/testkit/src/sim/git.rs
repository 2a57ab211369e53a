//! A simulated repository: revisions are names, the run branch is a list of landings. It survives the process
//! and keeps count of what really happened.

use super::agents::new_revision;
use super::commands;
use super::fault::Fault;
use super::rng::{Rng, effect_dice};
use super::scene::Scene;
use std::collections::{BTreeMap, BTreeSet};
use tribunal_core::effect::{EffectId, FinishStep};
use tribunal_core::finding::{Claim, Severity, Source};
use tribunal_core::green::{self, CommandState, ProjectCommand};
use tribunal_core::held::Held;
use tribunal_core::ids::{Check, FindingId, PlanId, Revision};
use tribunal_core::ledger::{CarriedFinding, Entry};
use tribunal_core::review_loop::{Failure, FailureKind};
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
    /// How the project's tests end there.
    pub tests: CommandState,
    /// How they ended on what it landed on.
    pub tests_before: CommandState,
}

/// The repository.
#[derive(Clone, Debug, Default)]
pub struct Git {
    /// Moves of the run branch, in order.
    pub landings: Vec<Landing>,
    /// How often each finishing step changed something.
    pub finished: BTreeMap<FinishStep, u32>,
    /// How often the run branch was begun anew.
    pub rebases: u32,
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

/// Few runs come as far as their result: there, what can happen to it happens often.
fn strikes_often(scene: &Scene, rng: &mut Rng, fault: Fault) -> bool {
    rng.chance(scene.dials.rate(fault).max(300))
}

fn lost(text: &str, fault: Fault) -> Attempt {
    let report = RunReport::Failed(Failure::new(FailureKind::Crashed, text));
    Attempt { report, changed: false, struck: vec![fault] }
}

impl Git {
    /// Tries to land. The driver looks first whether the plan is there already, and never moves the ref twice.
    pub fn land(
        &mut self,
        scene: &Scene,
        effect: &EffectId,
        plan: &PlanId,
        revision: &Revision,
        taken: bool,
    ) -> Attempt {
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
        let tests_before = self.tests_at_the_tip(scene);
        let tests = match strikes(scene, &mut rng, Fault::TestsNotRun) {
            true => CommandState::Unknown { why: "no such runner".to_owned() },
            false => commands::merged_state(scene, revision, self.landings.len()).0,
        };
        if let Some(shut) = shut(scene, revision, taken, &tests_before, &tests) {
            return shut;
        }
        let tip = Revision::new(format!("tip-{}-{plan}~{}", self.landings.len() + 1, self.rebases));
        let (effect, plan, revision) = (effect.clone(), plan.clone(), revision.clone());
        self.landings.push(Landing { effect, plan, revision, tip: tip.clone(), tests, tests_before });
        Attempt { report: RunReport::Landed { tip }, changed: true, struck: Vec::new() }
    }

    /// How the project's tests end on the run branch.
    fn tests_at_the_tip(&self, scene: &Scene) -> CommandState {
        let last = self.landings.last().map(|landing| landing.tests.clone());
        last.unwrap_or_else(|| commands::state(scene, commands::BASE).0)
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
    pub fn finish(&mut self, scene: &Scene, effect: &EffectId, step: FinishStep, good: bool) -> Attempt {
        let mut rng = effect_dice(scene.seed, "finish", effect);
        if strikes(scene, &mut rng, Fault::FinishFails) {
            return lost("it could not be done", Fault::FinishFails);
        }
        let done = self.finished.entry(step).or_insert(0);
        if *done > 0 {
            let report = RunReport::Finished { note: "it was done already".to_owned() };
            return Attempt { report, changed: false, struck: Vec::new() };
        }
        let held = [(Fault::TargetMoved, Held::Moved), (Fault::InTheWay, Held::Dirty(vec!["a".to_owned()]))];
        for (fault, held) in held.into_iter().filter(|_| step == FinishStep::Forward && good) {
            if strikes_often(scene, &mut rng, fault) {
                return Attempt { report: RunReport::Held(held), changed: false, struck: vec![fault] };
            }
        }
        *done += 1;
        Attempt { report: RunReport::Finished { note: "done".to_owned() }, changed: true, struck: Vec::new() }
    }
}

impl Git {
    /// Begins the run branch at the user's branch again: nothing has landed on it.
    pub fn rebase(&mut self, scene: &Scene, effect: &EffectId) -> Attempt {
        let mut rng = effect_dice(scene.seed, "rebase", effect);
        if strikes(scene, &mut rng, Fault::FinishFails) {
            return lost("it could not be rebased", Fault::FinishFails);
        }
        if strikes_often(scene, &mut rng, Fault::BranchDeleted) {
            let report = RunReport::Held(Held::Gone);
            return Attempt { report, changed: false, struck: vec![Fault::BranchDeleted] };
        }
        self.landings.clear();
        self.finished.remove(&FinishStep::Boundary);
        self.rebases += 1;
        let onto = Revision::new(format!("ground-{}", self.rebases));
        Attempt { report: RunReport::Rebased { onto }, changed: true, struck: Vec::new() }
    }

    /// Says whether what the review approved holds for the rebased result.
    pub fn carry(&self, scene: &Scene, effect: &EffectId, tip: &Revision) -> Attempt {
        let mut rng = effect_dice(scene.seed, "carry", effect);
        if strikes(scene, &mut rng, Fault::FinishFails) {
            return lost("nobody could say whether it holds", Fault::FinishFails);
        }
        if strikes_often(scene, &mut rng, Fault::JudgeAgain) {
            let report = RunReport::JudgeAgain { revision: new_revision(effect) };
            return Attempt { report, changed: false, struck: vec![Fault::JudgeAgain] };
        }
        let tip = Revision::new(format!("{}~{}", tree_of(tip), self.rebases));
        Attempt { report: RunReport::Carried { tip }, changed: false, struck: Vec::new() }
    }
}

/// What the project's tests say against a merged tree; nothing where it may land.
fn shut(
    scene: &Scene,
    revision: &Revision,
    taken: bool,
    before: &CommandState,
    now: &CommandState,
) -> Option<Attempt> {
    // Whoever takes a change takes its judge with it.
    let gutted = !taken && commands::is_gutted(scene, tree_of(revision));
    let answer = commands::answer(before, now, gutted);
    let lane = taken.then(|| commands::state(scene, tree_of(revision)).0);
    if green::may_land(&answer, false, lane.as_ref(), now) {
        return None;
    }
    let report = match answer.blocker() {
        Some(text) => {
            let by = BTreeSet::from([Source::Check(ProjectCommand::Test.check())]);
            let entry = Entry::new(commands::claim(text), by, 0);
            let findings = vec![CarriedFinding { id: FindingId(0), entry }];
            RunReport::LandingRefused { refusal: Refusal::RedCheck, findings }
        }
        None => RunReport::Failed(Failure::new(FailureKind::DidNotRun, answer.text())),
    };
    Some(Attempt { report, changed: false, struck: Vec::new() })
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
        Refusal::Conflict | Refusal::RedCheck => vec![carried(fault.word())],
    };
    let report = RunReport::LandingRefused { refusal, findings };
    Some(Attempt { report, changed: false, struck: vec![fault] })
}

/// A finding of the landing; the engine gives it its id.
fn carried(text: &str) -> CarriedFinding {
    let by = BTreeSet::from([Source::Check(Check::new("landing"))]);
    let entry = Entry::new(Claim::new(Severity::Blocker, text), by, 0);
    CarriedFinding { id: FindingId(0), entry }
}

/// A tip is named after how many plans have landed and which was the last. Plans that need not wait for each other
/// land as they come, so a death may change which was the last, but never how many there are.
pub fn unordered(revision: &Revision) -> String {
    let mut words = revision.as_str().splitn(3, '-');
    match (words.next(), words.next(), words.next()) {
        (Some("tip"), Some(count), Some(_)) => format!("tip-{count}"),
        _ => revision.to_string(),
    }
}
