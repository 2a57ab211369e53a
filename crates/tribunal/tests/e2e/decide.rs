//! Every answer to every kind of question does what it says.

use crate::show::Show;
use crate::stage::scenes::{self, PLAIN, Plan, Scene};
use std::os::unix::fs::PermissionsExt;
use tribunal_core::run::Ending;

const BY_HAND: &str = "#!/bin/sh\necho by hand\n";
const TASK: &str = "01-01/task-1";
const LANE: &str = "01-01";

/// Plays until the question is asked.
#[track_caller]
fn asked(scene: &Scene, question: &str, offers: &[&str]) -> Show {
    let mut show = Show::of(scene);
    show.expect(&["run"], 4);
    assert_eq!(show.questions(), [(question.to_owned(), offers.to_vec())]);
    show
}

/// The agents fix their ways: from now on they do what they do anyway.
fn fix(show: &Show) {
    PLAIN.give_script(&show.stage).unwrap();
}

/// A reviewer is lost.
fn no_quorum() -> Show {
    let scene = Scene { script: scenes::LOST_FOR_GOOD, ..PLAIN };
    asked(&scene, TASK, &["ask-again", "fixed", "accept", "stop"])
}

#[test]
fn no_quorum_ask_again() {
    let mut show = no_quorum();
    let made = show.stage.launched().len();
    fix(&show);
    show.expect(&["decide", TASK, "ask-again"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    assert_eq!(show.stage.launched().len(), made + 1, "only the reviewer was asked again");
}

#[test]
fn no_quorum_asked_again_in_vain() {
    let mut show = no_quorum();
    show.expect(&["decide", TASK, "ask-again"], 4);
    let again = format!("{TASK}:2");
    assert_eq!(show.questions()[0].0, again, "a new question has a new name");
    // Whoever still looks at the old question answers nothing.
    for (old, code) in [(TASK, 3), (LANE, 2)] {
        let refused = show.expect(&["decide", old, "stop"], code).stderr;
        assert!(refused.contains(&again), "{old}: {refused}");
    }
    assert_eq!(show.questions()[0].0, again, "nothing was answered");
    show.expect(&["decide", &again, "accept", "--by", "Ada"], 0);
    assert_eq!(show.ended(), Ending::Passed);
}

#[test]
fn no_quorum_fixed() {
    let mut show = no_quorum();
    fix(&show);
    show.put(&show.place(TASK).join("bin/one.sh"), BY_HAND);
    show.expect(&["decide", TASK, "fixed"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    assert_eq!(show.landed("bin/one.sh").as_deref(), Some(BY_HAND.trim_end()));
}

#[test]
fn no_quorum_accept() {
    let mut show = no_quorum();
    show.expect(&["decide", TASK, "accept", "--by", "Ada", "--note", "looked at it myself"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    assert!(show.messages().contains("Tribunal-Accepted-By: Ada"), "{}", show.messages());
    let report = show.expect(&["show"], 0).stdout;
    assert!(report.contains("looked at it myself") && report.contains("Ada"), "{report}");
}

#[test]
fn no_quorum_stop() {
    let mut show = no_quorum();
    // To stop the loop leaves its lane stuck, which is a question of its own.
    show.expect(&["decide", TASK, "stop"], 4);
    assert_eq!(show.questions(), [(LANE.to_owned(), vec!["again", "fixed", "accept", "drop", "stop"])]);
    show.expect(&["decide", LANE, "stop"], 1);
    assert_eq!(show.ended(), Ending::Stopped);
    assert_eq!(show.landed("bin/one.sh"), None);
}

/// The command that verifies the task is not there.
fn did_not_run() -> Show {
    const PLANS: &[Plan] =
        &[Plan { number: "01", wave: 1, depends_on: "", tasks: &[("bin/one.sh", "late-tool bin/one.sh")] }];
    let scene = Scene { plans: PLANS, ..PLAIN };
    let (folder, mut stage) = crate::stage();
    let tools = stage.root().join("tools");
    std::fs::create_dir(&tools).unwrap();
    stage.program_mut().prepend_path(&tools);
    scene.set(&stage).unwrap();
    let mut show = Show::on(folder, stage);
    show.expect(&["run"], 4);
    let offers = vec!["ask-again", "fixed", "accept", "stop"];
    assert_eq!(show.questions(), [(TASK.to_owned(), offers)]);
    show
}

fn install(show: &Show, text: &str) {
    let tool = show.stage.root().join("tools/late-tool");
    show.put(&tool, text);
    std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn check_did_not_run_ask_again() {
    let mut show = did_not_run();
    show.expect(&["decide", TASK, "ask-again"], 4);
    install(&show, "#!/bin/sh\nexec sh \"$1\"\n");
    show.expect(&["decide", &format!("{TASK}:2"), "ask-again"], 0);
    assert_eq!(show.ended(), Ending::Passed);
}

#[test]
fn check_did_not_run_fixed() {
    let mut show = did_not_run();
    install(&show, "#!/bin/sh\ngrep -q 'by hand' \"$1\"\n");
    show.put(&show.place(TASK).join("bin/one.sh"), BY_HAND);
    show.expect(&["decide", TASK, "fixed"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    assert_eq!(show.landed("bin/one.sh").as_deref(), Some(BY_HAND.trim_end()));
}

#[test]
fn check_did_not_run_accept() {
    let mut show = did_not_run();
    show.expect(&["decide", TASK, "accept", "--by", "Ada"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    assert!(show.messages().contains("Tribunal-Accepted-By: Ada"));
}

#[test]
fn check_did_not_run_stop() {
    let mut show = did_not_run();
    show.expect(&["decide", TASK, "stop"], 4);
    show.expect(&["decide", LANE, "stop"], 1);
    assert_eq!(show.ended(), Ending::Stopped);
}

/// Two reviews say that patching will not do.
fn escalated() -> Show {
    const SCRIPT: &str = r##"
[[turn]]
role = "reviewer"
use = "task"
round = 1
do = [ { say = "[id:a] [severity:blocker] [confidence:95] [file:bin/one.sh:2] issue: the wrong idea\nVERDICT: FAIL" } ]

[[turn]]
role = "dev"
use = "task"
round = 2
do = [ { write = "bin/one.sh", text = "#!/bin/sh\necho 2\n" }, { say = "FIXED: {finding:1}\nSUMMARY: 2.\nTASK: done" } ]

[[turn]]
role = "reviewer"
use = "task"
round = 2
do = [ { say = "{finding:1}: still there\nVERDICT: FAIL" } ]

[[turn]]
role = "dev"
use = "task"
round = 3
optional = true
do = [ { write = "bin/one.sh", text = "#!/bin/sh\necho 3\n" }, { say = "FIXED: {finding:1}\nSUMMARY: 3.\nTASK: done" } ]

[[turn]]
role = "reviewer"
use = "task"
round = 3
optional = true
do = [ { say = "{finding:1}: resolved\nCHECKED: another idea now, ran it by hand.\nVERDICT: approve" } ]
"##;
    let scene = Scene { script: SCRIPT, ..PLAIN };
    asked(&scene, TASK, &["again", "fixed", "accept", "stop"])
}

#[test]
fn escalated_again() {
    let mut show = escalated();
    show.expect(&["decide", TASK, "again", "--rounds", "1"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    assert_eq!(show.landed("bin/one.sh").as_deref(), Some("#!/bin/sh\necho 3"));
}

#[test]
fn escalated_fixed() {
    let mut show = escalated();
    show.put(&show.place(TASK).join("bin/one.sh"), BY_HAND);
    show.expect(&["decide", TASK, "fixed"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    assert_eq!(show.landed("bin/one.sh").as_deref(), Some(BY_HAND.trim_end()));
}

#[test]
fn escalated_accept() {
    let mut show = escalated();
    show.expect(&["decide", TASK, "accept", "--by", "Ada"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    assert_eq!(show.landed("bin/one.sh").as_deref(), Some("#!/bin/sh\necho 2"));
}

#[test]
fn escalated_stop() {
    let mut show = escalated();
    show.expect(&["decide", TASK, "stop"], 4);
    show.expect(&["decide", LANE, "drop"], 1);
    assert_eq!(show.ended(), Ending::Shut);
}

/// The lane's rounds are spent. `again`, `fixed`, `accept` and `drop` are scenes of their own.
#[test]
fn stuck_stop() {
    let scene = Scene { script: scenes::STUCK, settings: scenes::STUCK_SETTINGS, ..PLAIN };
    let mut show = asked(&scene, LANE, &["again", "fixed", "accept", "drop", "stop"]);
    show.expect(&["decide", LANE, "stop"], 1);
    assert_eq!(show.ended(), Ending::Stopped);
}

/// A plan is dropped, its sibling has landed: the user is told how to take what there is.
#[test]
fn what_landed_beside_a_dropped_plan_can_be_taken() {
    let settings = scenes::STUCK_SETTINGS;
    let scene = Scene { plans: scenes::TWO_PLANS, script: scenes::STUCK, settings, ..PLAIN };
    let mut show = asked(&scene, LANE, &["again", "fixed", "accept", "drop", "stop"]);
    let ended = show.expect(&["decide", LANE, "drop"], 1);
    assert_eq!(show.ended(), Ending::Shut);
    let command = format!("git merge --ff-only refs/tribunal/{}/head", show.run());
    assert!(ended.stdout.contains(&format!("main does not have the result: {command}")), "{}", ended.stdout);
    assert!(ended.stdout.contains(&format!("Next\n    {command}\n")), "{}", ended.stdout);
    assert!(show.stage.git(&["show", "main:bin/two.sh"]).is_err());
    let given = show.stage.program().other("sh", &["-c", &command]).unwrap();
    assert_eq!(given.code, Some(0), "{}", given.said());
    assert!(show.stage.git(&["show", "main:bin/two.sh"]).is_ok());
}

#[test]
fn more_rounds_than_anybody_waits_for() {
    let scene = Scene { script: scenes::STUCK, settings: scenes::STUCK_SETTINGS, ..PLAIN };
    let mut show = asked(&scene, LANE, &["again", "fixed", "accept", "drop", "stop"]);
    for rounds in ["4294967290", "101"] {
        let ended = show.expect(&["decide", LANE, "again", "--rounds", rounds], 2);
        assert!(ended.stderr.contains("at most 100"), "{}", ended.stderr);
    }
    show.expect(&["decide", LANE, "again", "--rounds", "100"], 0);
    assert_eq!(show.ended(), Ending::Passed);
}

#[test]
fn what_is_over_cannot_be_called_off() {
    let mut show = Show::of(&PLAIN);
    show.expect(&["run"], 0);
    let run = show.run();
    for args in [&["cancel", run.as_str()][..], &["cancel"]] {
        let ended = show.expect(args, 2);
        assert!(ended.stderr.contains("over") && ended.stderr.contains("hint: "), "{}", ended.stderr);
    }
    assert_eq!(show.ended(), Ending::Passed);
}

/// Who dies while the result is brought home has passed: calling that off is not possible, and it is said.
#[test]
fn what_has_come_to_its_end_cannot_be_called_off() {
    let mut show = Show::of(&PLAIN);
    let at = std::ffi::OsStr::new("forward:before");
    let died = show.stage.program().run(&["run"], &[("TRIBUNAL_CRASH_AT", at)]).unwrap();
    assert_eq!(show.after(&["run"], died).signal, Some(9));
    let ended = show.expect(&["cancel"], 2);
    assert!(ended.stderr.contains("its end already: passed"), "{}", ended.stderr);
    assert!(ended.stderr.contains("tribunal resume"), "{}", ended.stderr);
    show.expect(&["resume"], 0);
    assert_eq!(show.ended(), Ending::Passed);
}

/// Nothing has landed: there is nothing to take.
#[test]
fn nothing_landed_nothing_to_take() {
    let scene = Scene { script: scenes::STUCK, settings: scenes::STUCK_SETTINGS, ..PLAIN };
    let mut show = asked(&scene, LANE, &["again", "fixed", "accept", "drop", "stop"]);
    let ended = show.expect(&["decide", LANE, "drop"], 1);
    assert!(!ended.stdout.contains("git merge"), "{}", ended.stdout);
}

/// Who takes a stuck lane as it is answers for it by name, everywhere.
#[test]
fn stuck_accept() {
    let scene = Scene { script: scenes::STUCK, settings: scenes::STUCK_SETTINGS, ..PLAIN };
    let mut show = asked(&scene, LANE, &["again", "fixed", "accept", "drop", "stop"]);
    show.expect(&["decide", LANE, "accept", "--by", "Ada", "--note", "good enough"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    assert!(show.messages().contains("Tribunal-Accepted-By: Ada"), "{}", show.messages());
    let status = show.expect(&["status"], 0).stdout;
    assert!(status.contains("accepted by Ada"), "{status}");
    let report = show.expect(&["report"], 0).stdout;
    assert!(report.contains("accepted by Ada") && report.contains("good enough"), "{report}");
    assert!(!report.contains("approved as it stands") && !report.contains("unresolved"), "{report}");
    let json: serde_json::Value =
        serde_json::from_str(&show.expect(&["status", "--json"], 0).stdout).unwrap();
    let fates: Vec<(&str, &str)> = json["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| (finding["fate"].as_str().unwrap(), finding["fate_note"].as_str().unwrap()))
        .collect();
    assert_eq!(fates, [("waived", "by Ada")]);
}

/// A dev that changes what CI runs, in one commit with its work.
const CI: &str = ".github/workflows/ci.yml";

/// It is asked about by the loop of the last of these tasks, whose change holds it.
#[track_caller]
fn changed_ci(plans: &'static [Plan], task: u32, reviewer: &str) -> Show {
    let file = if task == 1 { "one" } else { "two" };
    let script = format!(
        r##"
[[turn]]
role = "dev"
plan = "01-01"
task = {task}
do = [
  {{ write = "bin/{file}.sh", text = "#!/bin/sh\necho {file}\n", executable = true }},
  {{ write = "{CI}", text = "on: push\n" }},
  {{ say = "SUMMARY: {file}.sh.\nTASK: done" }},
]
{reviewer}"##
    );
    let (folder, stage) = crate::stage();
    Scene { plans, ..PLAIN }.set(&stage).unwrap();
    stage.script_with(&script).unwrap();
    let mut show = Show::on(folder, stage);
    show.expect(&["run"], 4);
    let question = format!("01-01/task-{task}");
    assert_eq!(show.questions(), [(question, vec!["again", "fixed", "accept", "stop"])]);
    show
}

/// Sees the whole change, not only what a person made of it.
const SEES_ALL: &str = r###"
[[turn]]
role = "reviewer"
use = "task"
do = [ { expect = "+echo one" }, { expect = "## The change" }, { say = "CHECKED: every task serves a must-have; ran git show --stat, the files are those of the plan.\nVERDICT: approve" } ]
"###;

#[test]
fn fixed_beside_the_fault_is_judged_whole() {
    let mut show = changed_ci(scenes::ONE, 1, "");
    for n in 1..=2 {
        let question = if n == 1 { TASK.to_owned() } else { format!("{TASK}:{n}") };
        show.put(&show.place(&question).join("bin/one.sh"), &format!("#!/bin/sh\necho {n}\n"));
        show.expect(&["decide", &question, "fixed"], 4);
        let question = format!("{TASK}:{}", n + 1);
        assert_eq!(show.questions()[0].0, question);
        let open = &tribunal_engine::inbox::questions(&show.run_state())[0].findings;
        assert!(open.iter().any(|(_, entry)| entry.claim.file.as_deref() == Some(CI)), "{open:?}");
    }
    assert_eq!(show.landed(CI), None);
}

#[test]
fn fixed_by_taking_it_back_is_no_new_fault() {
    let mut show = changed_ci(scenes::ONE, 1, SEES_ALL);
    std::fs::remove_dir_all(show.place(TASK).join(".github")).unwrap();
    show.expect(&["decide", TASK, "fixed"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    assert_eq!(show.landed(CI), None);
    assert_eq!(show.landed("bin/one.sh").as_deref(), Some("#!/bin/sh\necho one"));
}

/// The lane asks, a new loop judges.
#[test]
fn a_stuck_lane_that_is_fixed_is_judged_whole() {
    for (fixes, code) in [(false, 4), (true, 0)] {
        let mut show = changed_ci(scenes::ONE, 1, if fixes { SEES_ALL } else { "" });
        show.expect(&["decide", TASK, "stop"], 4);
        let place = show.place(LANE);
        match fixes {
            true => std::fs::remove_dir_all(place.join(".github")).unwrap(),
            false => show.put(&place.join("bin/one.sh"), BY_HAND),
        }
        show.expect(&["decide", LANE, "fixed"], code);
        assert_eq!(show.landed(CI), None);
        if !fixes {
            let open = tribunal_engine::inbox::questions(&show.run_state()).remove(0);
            assert_eq!(open.id, format!("{TASK}:2"));
            assert_eq!(open.findings[0].1.claim.file.as_deref(), Some(CI));
        }
    }
}

/// What a person took as it is before is not held against the next task.
#[test]
fn a_task_is_judged_from_what_was_approved_before_it() {
    let mut show = changed_ci(scenes::TWO_TASKS, 2, "");
    let place = show.place("01-01/task-2");
    std::fs::remove_dir_all(place.join(".github")).unwrap();
    show.put(&place.join("bin/two.sh"), "#!/bin/sh\necho two by hand\n");
    show.expect(&["decide", "01-01/task-2", "fixed"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    let mut show = changed_ci(scenes::TWO_TASKS, 1, "");
    show.expect(&["decide", TASK, "accept", "--by", "Ada"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    assert_eq!(show.landed(CI).as_deref(), Some("on: push"), "Ada took it");
}

/// What a person leaves in the tree of a lane that cannot land is held against everything the lane did.
#[test]
fn a_repair_by_hand_is_judged_whole() {
    let mut show = cannot_land();
    let place = show.place("01-02");
    show.put(&place.join("NOTES.txt"), "Notes.\nnewest first: both\n");
    std::fs::create_dir_all(place.join(".github/workflows")).unwrap();
    show.put(&place.join(CI), "on: push\n");
    show.expect(&["decide", "01-02", "fixed"], 4);
    let question = "01-02/repair";
    assert_eq!(show.questions()[0].0, question);
    show.put(&show.place(question).join("bin/two.sh"), "echo two by hand\n");
    show.expect(&["decide", question, "fixed"], 4);
    let question = "01-02/repair:2";
    assert_eq!(show.questions()[0].0, question);
    std::fs::remove_dir_all(show.place(question).join(".github")).unwrap();
    show.expect(&["decide", question, "fixed"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    assert_eq!(show.landed(CI), None);
    assert_eq!(show.landed("bin/two.sh").as_deref(), Some("echo two by hand"));
    assert!(show.landed("bin/one.sh").is_some(), "what landed before stays");
}

/// To say that it is fixed fixes nothing.
#[test]
fn fixed_with_nothing_changed() {
    let mut stopped = no_quorum();
    stopped.expect(&["decide", TASK, "stop"], 4);
    let cases = [
        (no_quorum(), TASK, "ask-again, accept, stop"),
        (stopped, LANE, "again, accept, drop, stop"),
        (plan_no_quorum(), "01-01/plan", "ask-again, accept, stop"),
    ];
    for (mut show, question, others) in cases {
        let before = show.questions();
        let ended = show.expect(&["decide", question, "fixed"], 2);
        let place = show.place(question);
        let said = format!("nothing was changed in {}", place.display());
        assert!(ended.stderr.contains(&said), "{question}: {}", ended.stderr);
        assert!(ended.stderr.contains(others) && ended.stderr.contains("hint: "), "{}", ended.stderr);
        assert_eq!(show.questions(), before, "the question is still open");
    }
    let mut show = cannot_land();
    show.expect(&["decide", "01-02", "fixed"], 2);
}

/// No empty commit, and the same twice is not two fixes.
#[test]
fn fixed_once_more_with_nothing_more() {
    let mut show = changed_ci(scenes::ONE, 1, "");
    show.put(&show.place(TASK).join("bin/one.sh"), BY_HAND);
    show.expect(&["decide", TASK, "fixed"], 4);
    let again = format!("{TASK}:2");
    show.expect(&["decide", &again, "fixed"], 2);
    assert_eq!(show.questions()[0].0, again);
    show.expect(&["decide", &again, "accept"], 0);
    assert_eq!(show.messages().matches("fixed by hand").count(), 1, "{}", show.messages());
}

/// Who stops a loop is asked about its plan, in words that say what happened.
#[test]
fn a_loop_that_was_stopped_says_who_stopped_it() {
    for mut show in [no_quorum(), escalated()] {
        let text = show.expect(&["inbox"], 0).stdout;
        assert!(text.contains("end this loop; then it is asked what becomes of the plan"), "{text}");
        show.expect(&["decide", TASK, "stop", "--by", "Ada"], 4);
        let open = tribunal_engine::inbox::questions(&show.run_state()).remove(0);
        assert_eq!(open.why, "Ada stopped its loop, and what becomes of the plan is still to be said");
        let text = show.expect(&["inbox"], 0).stdout;
        assert!(text.contains("stop the run"), "{text}");
    }
}

#[test]
fn rounds_belong_to_again() {
    let mut show = no_quorum();
    for word in ["ask-again", "fixed", "accept", "stop"] {
        let ended = show.expect(&["decide", TASK, word, "--rounds", "3"], 2);
        let said = format!("`{word}` takes no --rounds");
        assert!(
            ended.stderr.contains(&said) && ended.stderr.contains("again --rounds N"),
            "{}",
            ended.stderr
        );
    }
    assert_eq!(show.questions()[0].0, TASK, "nothing was answered");
}

/// A landing was refused, and there are no repairs.
fn cannot_land() -> Show {
    const SETTINGS: &str = "[plan]\nreview = \"never\"\n[run]\nlanding_rounds = 0\n";
    let scene =
        Scene { plans: scenes::TWO_PLANS, script: scenes::CONFLICT_ONLY, settings: SETTINGS, ..PLAIN };
    asked(&scene, "01-02", &["again", "fixed", "drop", "stop"])
}

#[test]
fn cannot_land_again() {
    let mut show = cannot_land();
    show.stage.script_with(scenes::REPAIR).unwrap();
    show.expect(&["decide", "01-02", "again", "--rounds", "1"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    assert_eq!(show.landed("NOTES.txt").as_deref(), Some("Notes.\nnewest first: two\n  one"));
}

#[test]
fn cannot_land_fixed() {
    let mut show = cannot_land();
    show.put(&show.place("01-02").join("NOTES.txt"), "Notes.\nnewest first: both\n");
    show.expect(&["decide", "01-02", "fixed"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    assert_eq!(show.landed("NOTES.txt").as_deref(), Some("Notes.\nnewest first: both"));
    assert_eq!(show.landed("bin/two.sh").as_deref(), Some("echo two"));
}

#[test]
fn cannot_land_drop() {
    let mut show = cannot_land();
    show.expect(&["decide", "01-02", "drop"], 1);
    assert_eq!(show.ended(), Ending::Shut);
    assert_eq!(show.landed("NOTES.txt").as_deref(), Some("Notes.\nnewest first: one"));
}

#[test]
fn cannot_land_stop() {
    let mut show = cannot_land();
    show.expect(&["decide", "01-02", "stop"], 1);
    assert_eq!(show.ended(), Ending::Stopped);
}

#[test]
fn what_cannot_land_cannot_be_accepted() {
    let mut show = cannot_land();
    let refused = show.expect(&["decide", "01-02", "accept"], 2);
    assert!(refused.stderr.contains("again, fixed, drop, stop"), "{}", refused.stderr);
}

/// A reviewer of a plan is lost.
fn plan_no_quorum() -> Show {
    const SCRIPT: &str = "[[turn]]\nrole = \"reviewer\"\nuse = \"plan\"\ndo = [ { fault = \"crash\" } ]\n";
    let scene = Scene { script: SCRIPT, settings: "", ..PLAIN };
    asked(&scene, "01-01/plan", &["ask-again", "fixed", "accept", "stop"])
}

#[test]
fn plan_no_quorum_ask_again() {
    let mut show = plan_no_quorum();
    fix(&show);
    show.expect(&["decide", "01-01/plan", "ask-again"], 0);
    assert_eq!(show.ended(), Ending::Passed);
}

#[test]
fn plan_no_quorum_fixed() {
    let mut show = plan_no_quorum();
    fix(&show);
    let place = show.place("01-01/plan");
    let text = std::fs::read_to_string(&place).unwrap();
    show.put(&place, &text.replace("Write it.", "Write it by hand."));
    show.expect(&["decide", "01-01/plan", "fixed"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    let plan = format!("{}/01-01-PLAN.md", crate::stage::PHASE);
    assert!(show.landed(&plan).unwrap().contains("Write it by hand."));
}

#[test]
fn plan_no_quorum_accept() {
    let mut show = plan_no_quorum();
    show.expect(&["decide", "01-01/plan", "accept", "--by", "Ada"], 0);
    assert_eq!(show.ended(), Ending::Passed);
}

#[test]
fn plan_no_quorum_stop() {
    let mut show = plan_no_quorum();
    show.expect(&["decide", "01-01/plan", "stop"], 1);
    assert_eq!(show.ended(), Ending::Shut);
    assert_eq!(show.landed("bin/one.sh"), None);
}

#[test]
fn answers_that_cannot_be_given() {
    let mut show = no_quorum();
    let table: [(&[&str], i32, &str); 5] = [
        (&["decide", "09-09", "accept"], 2, TASK),
        (&["decide", TASK, "drop"], 2, "ask-again, fixed, accept, stop"),
        (&["decide", TASK, "perhaps"], 2, "again, fixed, ask-again, accept, drop, land, stop"),
        (&["decide", TASK, "again", "--rounds", "0"], 2, "ask-again"),
        (&["decide", TASK], 2, "Usage"),
    ];
    for (args, code, says) in table {
        let ended = show.expect(args, code);
        assert!(ended.stderr.contains(says), "{args:?}: {}", ended.stderr);
    }
    assert_eq!(show.questions().len(), 1, "the question is still open");
}

#[test]
fn the_first_answer_counts() {
    let mut show = no_quorum();
    show.expect(&["decide", TASK, "accept", "--by", "Ada", "--no-resume"], 0);
    let late = show.expect(&["decide", TASK, "stop", "--by", "Bob"], 3);
    assert!(late.stderr.contains("accept, by Ada"), "{}", late.stderr);
    show.expect(&["resume"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    let late = show.expect(&["decide", TASK, "stop"], 3);
    assert!(late.stderr.contains("accept, by Ada"), "{}", late.stderr);
}

#[test]
fn a_run_that_stays_goes_on_with_the_answer() {
    let mut show = Show::of(&Scene { script: scenes::LOST_FOR_GOOD, ..PLAIN });
    let running = show.stage.program().start(&["run", "--attach"], &[]).unwrap();
    show.stage
        .wait_for(&running, |run_state| !tribunal_engine::inbox::questions(run_state).is_empty())
        .unwrap();
    let decided = show.stage.tribunal(&["decide", TASK, "accept", "--by", "Ada"]).unwrap();
    assert_eq!(decided.code, Some(0), "{}", decided.said());
    let ended = running.wait().unwrap();
    let ended = show.after(&["run", "--attach"], ended);
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    assert_eq!(show.ended(), Ending::Passed);
}

/// Who wants to hear little still hears the result, and every command works from where it is read.
#[test]
fn quiet_and_from_elsewhere() {
    let mut show = Show::of(&Scene { script: scenes::LOST_FOR_GOOD, ..PLAIN });
    let dir = show.stage.project().display().to_string();
    let ended = show.stage.tribunal(&["-C", &dir, "-q", "run"]).unwrap();
    assert_eq!(ended.code, Some(4), "{}", ended.said());
    assert_eq!(ended.stdout.lines().count(), 1, "{}", ended.stdout);
    let report = show.stage.run_dir(&show.run()).join("report.md").display().to_string();
    assert!(ended.stdout.contains("waits for you") && ended.stdout.contains(&report), "{}", ended.stdout);
    let command = format!("tribunal -C '{dir}' decide 01-01/task-1 accept");
    assert!(ended.stderr.contains(&command), "{}", ended.stderr);
    for args in [&["inbox", "--json"][..], &["status", "--json"], &["report"]] {
        let said = show.expect(&[&["-C", &dir], args].concat(), 0).stdout;
        assert!(said.contains(&command), "{args:?}: {said}");
    }
    // Where a person may fix it is said wherever `fixed` is offered.
    let place = show.stage.run_dir(&show.run()).join("lanes/01-01/tree").display().to_string();
    let status = show.expect(&["status"], 0).stdout;
    assert!(!status.contains("fixed") || status.contains(&place), "{status}");
    show.expect(&["-q", "decide", "01-01/task-1", "stop"], 4);
    let ended = show.expect(&["-q", "decide", LANE, "stop"], 1);
    assert_eq!(ended.stdout.lines().count(), 1, "{}", ended.stdout);
    assert!(ended.stdout.contains("report.md"), "{}", ended.stdout);
    // The user's branch did not move, and nobody says that something was committed there.
    let status = show.expect(&["status", "--json"], 0).stdout;
    assert!(status.contains("committed on the run branch"), "{status}");
    let said = show.expect(&["show", "01-01"], 2).stderr;
    assert!(said.contains("01-01 is a plan") && said.contains("01-01/task-1"), "{said}");
}
