//! Every scene ends as it says, and every law holds on the way.

use crate::stage::play::{Deaths, play};
use crate::stage::scenes::{SCENES, Scene};

fn check(name: &str) {
    let scene = Scene::named(name).unwrap();
    let (_folder, stage) = crate::stage();
    scene.set(&stage).unwrap();
    let played = play(&stage, scene, &Deaths::new()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(played.violations, Vec::<String>::new());
}

macro_rules! scenes {
    ($($test:ident: $name:literal,)*) => {
        $(#[test] fn $test() { check($name); })*

        #[test]
        fn no_scene_is_left_out() {
            let names: Vec<&str> = SCENES.iter().map(|scene| scene.name).collect();
            assert_eq!(names, [$($name),*]);
        }
    };
}

scenes! {
    clean: "clean",
    plan_revised: "plan-revised",
    task_revised: "task-revised",
    reviewer_lost: "reviewer-lost",
    red_check: "red-check",
    delivery_fixed: "delivery-fixed",
    summary_asked: "summary-asked",
    conflict: "conflict",
    each: "each",
    half_done: "half-done",
    stuck_again: "stuck-again",
    stuck_fixed: "stuck-fixed",
    stuck_accept: "stuck-accept",
    stuck_drop: "stuck-drop",
    no_quorum: "no-quorum",
    cancel_waiting: "cancel-waiting",
    cancel_live: "cancel-live",
    branch_moved: "branch-moved",
    branch_moved_same_file: "branch-moved-same-file",
    branch_moved_conflict: "branch-moved-conflict",
    branch_moved_chain: "branch-moved-chain",
    untracked: "untracked",
    dirty: "dirty",
    signed: "signed",
    review_fixed: "review-fixed",
    fast_forward: "fast-forward",
    artifact: "artifact",
}
