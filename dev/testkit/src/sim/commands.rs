//! The project's test command in a simulated world: how it ends on a tree is a fact of the seed and the tree, the same
//! whoever asks. What follows from that is decided by the core, as in the real world; the law about it is not.

use super::fault::Fault;
use super::git::tree_of;
use super::rng::dice;
use super::scene::Scene;
use std::collections::BTreeSet;
use tribunal_core::finding::{Claim, FixableBy, Severity};
use tribunal_core::green::{self, Answer, BaseJudge, CommandState, Compared, ProjectCommand};
use tribunal_core::ids::{LoopId, PlanId, Revision};
use tribunal_core::review_loop::{Checked, Failure, FailureKind, LoopReport};
use tribunal_engine::RunState;

/// The tree that the run began with.
pub const BASE: &str = "base";

/// How the command ends on a tree, and what was done to it there.
pub fn state(scene: &Scene, tree: &str) -> (CommandState, Option<Fault>) {
    let mut rng = dice(scene.seed, "tests", tree);
    let strikes = |rng: &mut super::rng::Rng, fault: Fault| rng.chance(scene.dials.rate(fault));
    if tree != BASE && strikes(&mut rng, Fault::TestsRed) {
        return (red(), Some(Fault::TestsRed));
    }
    if tree != BASE && strikes(&mut rng, Fault::TestsFlaky) {
        return (CommandState::Flaky { how: "exit code 1".to_owned() }, Some(Fault::TestsFlaky));
    }
    let states = [
        CommandState::Green,
        CommandState::Green,
        CommandState::Green,
        red(),
        CommandState::Flaky { how: "exit code 1".to_owned() },
        CommandState::NoTest,
    ];
    (dice(scene.seed, "tests", BASE).pick(&states).clone(), None)
}

fn red() -> CommandState {
    CommandState::Red { how: "exit code 1".to_owned(), broke: false }
}

/// What a merged tree is called: that of the lane alone where nothing landed before.
pub fn merged(revision: &Revision, landed: usize) -> String {
    match landed {
        0 => tree_of(revision).to_owned(),
        landed => format!("{}~{landed}", tree_of(revision)),
    }
}

/// How the command ends on a merged tree: what was wrong in the lane is wrong there too.
pub fn merged_state(scene: &Scene, revision: &Revision, landed: usize) -> (CommandState, Option<Fault>) {
    match state(scene, &merged(revision, landed)) {
        (_, None) => state(scene, tree_of(revision)),
        struck => struck,
    }
}

/// Whether a change also changes what judges it, so that it ends with 0 whatever it does.
pub fn is_gutted(scene: &Scene, tree: &str) -> bool {
    tree != BASE && dice(scene.seed, "judge", tree).chance(scene.dials.rate(Fault::JudgeGutted))
}

/// What follows from how it ends on two trees. How it ends is what the base's judge says; a change that guts its judge has
/// another one that says 0.
pub fn answer(before: &CommandState, now: &CommandState, gutted: bool) -> Answer {
    let base = || BaseJudge { state: now.clone(), files: vec!["Makefile".to_owned()], new: BTreeSet::new() };
    green::answer(&Compared {
        before: before.clone(),
        now: if gutted { CommandState::Green } else { now.clone() },
        configured: false,
        has_tests: true,
        same_tree: false,
        with_base_judge: gutted.then(base),
    })
}

/// The tree that a loop's change is held against: what was approved of its lane before, otherwise the base.
pub fn before(run_state: &RunState, id: &LoopId) -> String {
    let lane = id.as_str().split_once('/').filter(|(_, label)| !label.starts_with("repair"));
    let head = lane.and_then(|(plan, _)| run_state.run.as_ref()?.lane_head(&PlanId::new(plan)));
    head.map_or(BASE, tree_of).to_owned()
}

/// What the check reports of a revision, and what was done to its tree.
pub fn check(
    scene: &Scene,
    run_state: &RunState,
    id: &LoopId,
    revision: &Revision,
) -> (LoopReport, Option<Fault>) {
    let (was, _) = state(scene, &before(run_state, id));
    let (now, struck) = state(scene, tree_of(revision));
    let gutted = is_gutted(scene, tree_of(revision));
    let report = match answer(&was, &now, gutted) {
        Answer::Broken(text) | Answer::NewlyFlaky(text) => {
            LoopReport::Checked(Checked { findings: vec![claim(&text)] })
        }
        Answer::JudgeChanged(text) => {
            let claim = Claim { fixable_by: FixableBy::Manual, ..claim(&text) };
            LoopReport::Checked(Checked { findings: vec![claim] })
        }
        Answer::NotRun(why) => LoopReport::Failed(Failure::new(FailureKind::DidNotRun, why)),
        Answer::NoTests(why) => LoopReport::Unchecked(why),
        Answer::Green | Answer::RedBefore(_) | Answer::FlakyBefore(_) => {
            LoopReport::Checked(Checked { findings: Vec::new() })
        }
    };
    (report, if gutted { Some(Fault::JudgeGutted) } else { struck })
}

/// A finding of the command.
pub fn claim(text: &str) -> Claim {
    let claim = Claim::new(Severity::Blocker, text);
    Claim { rule: Some(ProjectCommand::Test.name().to_owned()), ..claim }
}

/// The law's own idea of a change that broke the tests. It asks nobody else.
pub fn is_broken(before: &CommandState, now: &CommandState) -> bool {
    let bad =
        matches!(now, CommandState::Red { .. } | CommandState::Flaky { .. } | CommandState::Unknown { .. });
    *before == CommandState::Green && bad
}
