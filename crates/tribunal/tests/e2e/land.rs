//! The way to the user's branch when it has moved: the result is rebased, what was approved stays approved where that is
//! proven, only the rest is judged again, and no plain merge is ever the way.

use crate::show::Show;
use crate::stage::program::Ended;
use crate::stage::scenes::{self, CHAIN, PLAIN, Scene, User};
use crate::stage::{Res, Stage};
use tribunal_core::run::Ending;

pub fn at_work() -> Scene {
    Scene { script: scenes::AT_WORK, ..PLAIN }
}

/// A plan that changes the notes, whose builder waits.
pub fn noted() -> Scene {
    Scene {
        plans: scenes::NOTED,
        change: &[("NOTES.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")],
        script: scenes::AT_WORK_ON_NOTES,
        ..PLAIN
    }
}

/// Runs a scene while the user does something, up to its end or its question.
pub fn run_while(scene: &Scene, args: &[&str], act: impl FnOnce(&Stage) -> Res<()>) -> (Show, Ended) {
    let mut show = Show::of(scene);
    let running = show.at_work_in(args);
    show.user_acts(act);
    show.stage.open("go").unwrap();
    let ended = running.wait().unwrap();
    let ended = show.after(args, ended);
    (show, ended)
}

pub fn commit(stage: &Stage, file: &str, text: &str) -> Res<()> {
    stage.write(file, text)?;
    stage.git(&["add", file])?;
    stage.git(&["commit", "-q", "-m", "chore: mine"]).map(drop)
}

/// Launches of agents in this step.
pub fn launches(show: &Show, step: &str) -> usize {
    show.stage.launched().iter().filter(|effect| effect.contains(step)).count()
}

#[track_caller]
pub fn main_has(show: &Show, path: &str, text: &str) {
    assert_eq!(show.stage.git(&["show", &format!("main:{path}")]).unwrap(), text.trim_end(), "{path}");
    let on_disk = std::fs::read_to_string(show.stage.project().join(path)).unwrap();
    assert_eq!(on_disk.trim_end(), text.trim_end(), "{path} on disk");
    assert_eq!(show.stage.git(&["status", "--porcelain", "-uno"]).unwrap(), "");
}

/// A rebase takes signatures away; what lands on the moved branch is signed again, and passed the user's hook.
#[test]
fn what_is_rebased_is_signed_again() {
    let scene = Scene { user: User::Rules, ..at_work() };
    let (mut show, ended) = run_while(&scene, &["run"], |stage| commit(stage, "user.txt", "mine\n"));
    assert_eq!(ended.code, Some(4), "{}", ended.said());
    show.expect(&["land"], 0);
    // A law looks at every signature.
    assert_eq!(show.ended(), Ending::Passed);
    let trailers = show.stage.git(&["log", "--format=%s: %(trailers:key=Ticket)", "main"]).unwrap();
    let task = trailers.lines().find(|line| line.contains("add bin/one.sh")).unwrap();
    assert!(task.ends_with("Ticket: 7"), "{trailers}");
}

/// A commit elsewhere in the tree: everything carries over, and no agent is asked.
#[test]
fn a_commit_elsewhere_costs_nobody_anything() {
    let (mut show, ended) = run_while(&at_work(), &["run"], |stage| commit(stage, "user.txt", "mine\n"));
    assert_eq!(ended.code, Some(4), "{}", ended.said());
    assert!(ended.stdout.contains("the branch has moved meanwhile"), "{}", ended.stdout);
    let before = show.stage.launched().len();
    let landed = show.expect(&["land"], 0);
    assert_eq!(show.stage.launched().len(), before, "no agent is asked again");
    assert_eq!(show.ended(), Ending::Passed);
    main_has(&show, "bin/one.sh", "echo one");
    main_has(&show, "user.txt", "mine");
    assert!(landed.stdout.contains("Landed"), "{}", landed.stdout);
    let subjects = show.stage.git(&["log", "--format=%s", "main"]).unwrap();
    let subjects: Vec<&str> = subjects.lines().collect();
    let at = |wanted: &str| subjects.iter().position(|subject| subject.contains(wanted));
    assert!(at("add bin/one.sh") < at("chore: mine"), "the user's commit comes first: {subjects:?}");
    assert_eq!(subjects.iter().filter(|subject| subject.contains("add bin/one.sh")).count(), 1);
    // A second time there is nothing to do, and it says so.
    let again = show.expect(&["land"], 0);
    assert!(again.stderr.contains("main has the result"), "{}", again.said());
}

/// The same by itself, where the run was told so.
#[test]
fn a_run_may_land_again_by_itself() {
    for args in [&["run", "--land-again"][..], &["run", "--set", "run.land_again=true"]] {
        let (show, ended) = run_while(&at_work(), args, |stage| commit(stage, "user.txt", "mine\n"));
        assert_eq!(ended.code, Some(0), "{}", ended.said());
        assert_eq!(show.ended(), Ending::Passed);
        main_has(&show, "bin/one.sh", "echo one");
    }
}

/// A commit to a file that the plan changes: the builder is not asked, the reviewer is, once, about the rebased change.
#[test]
fn a_commit_to_the_same_file_is_judged_again() {
    let users = "1\n2\n3\n4\n5\n6\n7\n8\nmine\n";
    let (mut show, ended) = run_while(&noted(), &["run"], |stage| commit(stage, "NOTES.txt", users));
    assert_eq!(ended.code, Some(4), "{}", ended.said());
    let (made, judged) = (launches(&show, "make:"), launches(&show, "judge:"));
    show.expect(&["land"], 0);
    assert_eq!(launches(&show, "make:"), made, "nothing is built again");
    assert_eq!(launches(&show, "judge:"), judged + 1, "one reviewer looks at it once more");
    main_has(&show, "NOTES.txt", "one\n2\n3\n4\n5\n6\n7\n8\nmine\n");
    assert_eq!(show.ended(), Ending::Passed);
}

/// A reviewer that does not like what came of both has it fixed before it lands.
#[test]
fn what_is_judged_again_may_be_rejected() {
    let rejects = r##"
[[turn]]
role = "reviewer"
use = "repair"
round = 1
do = [ { say = "[id:a] [severity:blocker] [confidence:95] [file:NOTES.txt:9] issue: the last line contradicts the first | suggestion: drop it\nVERDICT: reject" } ]

[[turn]]
role = "dev"
use = "repair"
plan = "01-01"
do = [ { write = "NOTES.txt", text = "one\n2\n3\n4\n5\n6\n7\n8\n" }, { say = "FIXED: {finding:1}\nSUMMARY: the line is gone.\nTASK: done" } ]

[[turn]]
role = "reviewer"
use = "repair"
round = 2
do = [ { say = "{finding:1}: resolved\nCHECKED: NOTES.txt: read it again, it reads one and then 2 to 8.\nVERDICT: approve" } ]
"##;
    let scene = Scene { more: rejects, ..noted() };
    let users = "1\n2\n3\n4\n5\n6\n7\n8\nmine\n";
    let (mut show, _) = run_while(&scene, &["run"], |stage| commit(stage, "NOTES.txt", users));
    show.expect(&["land"], 0);
    main_has(&show, "NOTES.txt", "one\n2\n3\n4\n5\n6\n7\n8\n");
    assert_eq!(show.ended(), Ending::Passed);
}

/// A commit that conflicts: the builder solves it in a repair loop, and that is judged.
#[test]
fn a_conflict_is_repaired() {
    let scene = Scene { more: scenes::NOTES_REPAIRED, ..noted() };
    let users = "mine\n2\n3\n4\n5\n6\n7\n8\n9\n";
    let (mut show, _) = run_while(&scene, &["run"], |stage| commit(stage, "NOTES.txt", users));
    let judged = launches(&show, "judge:");
    show.expect(&["land"], 0);
    assert_eq!(launches(&show, "judge:"), judged + 1);
    main_has(&show, "NOTES.txt", "one and mine\n2\n3\n4\n5\n6\n7\n8\n9\n");
    assert_eq!(show.ended(), Ending::Passed);
}

/// A branch whose history was rewritten: the result stands on what is there now.
#[test]
fn a_rewritten_branch_is_landed_on() {
    let (mut show, ended) = run_while(&at_work(), &["run"], |stage| {
        stage.write("README.md", "# other tools\n")?;
        stage.git(&["commit", "-q", "-a", "--amend", "-m", "chore: begin otherwise"]).map(drop)
    });
    assert_eq!(ended.code, Some(4), "{}", ended.said());
    show.expect(&["land"], 0);
    main_has(&show, "bin/one.sh", "echo one");
    main_has(&show, "README.md", "# other tools");
    let log = show.stage.git(&["log", "--format=%s", "main"]).unwrap();
    assert!(
        !log.contains("chore: begin\n") && !log.ends_with("chore: begin"),
        "what was taken back stays so: {log}"
    );
}

/// A branch that was deleted is made again at the result when the user asks for it.
#[test]
fn a_deleted_branch_is_made_again() {
    let (show, ended) = run_while(&at_work(), &["run"], |stage| {
        stage.git(&["switch", "-q", "-c", "other"])?;
        stage.git(&["branch", "-q", "-D", "main"]).map(drop)
    });
    assert_eq!(ended.code, Some(4), "{}", ended.said());
    assert!(ended.stdout.contains("the branch is gone"), "{}", ended.stdout);
    let landed = show.stage.tribunal(&["land"]).unwrap();
    assert_eq!(landed.code, Some(0), "{}", landed.said());
    assert_eq!(show.stage.git(&["show", "main:bin/one.sh"]).unwrap(), "echo one");
    assert_eq!(show.ended(), Ending::Passed);
}

/// A plan that was built on another is brought once, not twice, although the other has new commits.
#[test]
fn plans_that_stand_on_each_other_land_again() {
    let scene = Scene { plans: CHAIN, ..at_work() };
    let (mut show, ended) = run_while(&scene, &["run"], |stage| commit(stage, "user.txt", "mine\n"));
    assert_eq!(ended.code, Some(4), "{}", ended.said());
    let before = show.stage.launched().len();
    show.expect(&["land"], 0);
    assert_eq!(show.stage.launched().len(), before, "no agent is asked again");
    main_has(&show, "bin/two.sh", "#!/bin/sh\necho two");
    let subjects = show.stage.git(&["log", "--format=%s", "main"]).unwrap();
    for file in ["bin/one.sh", "bin/two.sh"] {
        let times = subjects.lines().filter(|subject| subject.contains(&format!("add {file}"))).count();
        assert_eq!(times, 1, "{file}: {subjects}");
    }
}

/// What the review of everything approved is carried over too.
#[test]
fn a_reviewed_phase_is_not_reviewed_twice() {
    let args = &["run", "--panel"];
    let (mut show, ended) = run_while(&at_work(), args, |stage| commit(stage, "user.txt", "mine\n"));
    assert_eq!(ended.code, Some(4), "{}", ended.said());
    assert!(launches(&show, "phase.") > 0, "{:?}", show.stage.launched());
    let before = show.stage.launched().len();
    show.expect(&["land"], 0);
    assert_eq!(show.stage.launched().len(), before, "no agent is asked again");
    main_has(&show, "bin/one.sh", "echo one");
}

/// A person who took the result by hand is believed: the branch has it.
#[test]
fn a_result_that_was_taken_by_hand_is_there() {
    let mut show = Show::of(&PLAIN);
    show.user_acts(|stage| stage.write("README.md", "mine\n"));
    show.expect(&["run"], 4);
    let head = format!("refs/tribunal/{}/head", show.run());
    show.user_acts(|stage| stage.git(&["merge", "-q", "--ff-only", &head]).map(drop));
    let again = show.expect(&["resume"], 0);
    assert!(again.stderr.contains("goes on"), "{}", again.said());
    assert_eq!(show.ended(), Ending::Passed);
}

/// The user may also do without it: the run ends, and says where the result is.
#[test]
fn a_held_result_may_be_given_up() {
    let mut show = Show::of(&PLAIN);
    show.user_acts(|stage| stage.write("README.md", "mine\n"));
    show.expect(&["run"], 4);
    assert_eq!(show.questions(), [("land".to_owned(), vec!["land", "stop"])]);
    let stopped = show.expect(&["decide", "land", "stop"], 1);
    assert!(stopped.stdout.contains("nothing yet: main does not have"), "{}", stopped.stdout);
    assert_eq!(show.ended(), Ending::Stopped);
    let nothing = show.tribunal(&["land"]);
    assert_eq!(nothing.code, Some(2), "{}", nothing.said());
    assert!(nothing.stderr.contains("nothing to land"), "{}", nothing.stderr);
}

/// The user takes one file of a held result by hand: the rest of it lands.
#[test]
fn the_rest_of_a_result_that_was_partly_taken_lands() {
    const TWO_FILES: &[scenes::Plan] = &[scenes::Plan {
        number: "01",
        wave: 1,
        depends_on: "",
        tasks: &[("bin/one.sh", "sh bin/one.sh"), ("bin/two.sh", "sh bin/two.sh")],
    }];
    let (mut show, ended) = run_while(&Scene { plans: TWO_FILES, ..at_work() }, &["run"], |stage| {
        commit(stage, "user.txt", "mine\n")
    });
    assert_eq!(ended.code, Some(4), "{}", ended.said());
    let head = format!("refs/tribunal/{}/head", show.run());
    show.user_acts(|stage| {
        stage.git(&["checkout", "-q", &head, "--", "bin/two.sh"])?;
        stage.git(&["commit", "-q", "-m", "chore: take the second tool"]).map(drop)
    });
    show.expect(&["land"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    main_has(&show, "bin/one.sh", "echo one");
}

/// What the QA reviewer says to a must-have that names a file by its old name.
const RENAMED: &str = r##"
[[turn]]
role = "reviewer"
use = "qa"
round = 1
do = [ { expect = "NOTES.txt prints a word" }, { say = "{finding:1}: not an issue because NOTICE.txt:1 is it under its new name, and `ls` passes\nCHECKED: every task serves a must-have; ran git show --stat, the files are those of the plan.\nVERDICT: approve" } ]
"##;

/// The user renames a file that the plan changes: the change lands in it, under its new name. The plan's must-have still
/// has the old name, so a reviewer is asked what shows it.
#[test]
fn a_file_that_the_user_renamed_is_still_the_plans() {
    const NOTES: &[scenes::Plan] =
        &[scenes::Plan { number: "01", wave: 1, depends_on: "", tasks: &[("NOTES.txt", "ls")] }];
    // The line says what the must-have says, or it would show nothing.
    let script = scenes::AT_WORK_ON_NOTES.replace("one\\n2", "one word that it prints\\n2").leak();
    let (mut show, ended) =
        run_while(&Scene { plans: NOTES, script, more: RENAMED, ..noted() }, &["run"], |stage| {
            stage.git(&["mv", "NOTES.txt", "NOTICE.txt"])?;
            stage.git(&["commit", "-q", "-m", "chore: rename"]).map(drop)
        });
    assert_eq!(ended.code, Some(4), "{}", ended.said());
    show.expect(&["land"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    main_has(&show, "NOTICE.txt", "one word that it prints\n2\n3\n4\n5\n6\n7\n8\n9\n");
}

/// A check that is red together with the user's commit shuts the way, though both were green alone.
#[test]
fn a_check_that_is_red_on_the_merged_tree_holds_it() {
    let settings = "[plan]\nreview = \"never\"\n[task]\nrounds_max = 1\n[checks.commands]\nalone = [\"sh\", \"-c\", \"! [ -e bin/one.sh ] || ! [ -e user.txt ]\"]\n";
    let scene = Scene { settings, more: GIVES_UP, ..at_work() };
    let (mut show, ended) = run_while(&scene, &["run"], |stage| commit(stage, "user.txt", "mine\n"));
    assert_eq!(ended.code, Some(4), "{}", ended.said());
    let refused = show.expect(&["land"], 4);
    assert!(refused.said().contains("fails"), "{}", refused.said());
    assert!(show.stage.git(&["show", "main:bin/one.sh"]).is_err(), "nothing red reaches the branch");
    show.expect(&["cancel"], 0);
    assert_eq!(show.ended(), Ending::Cancelled);
}

/// A builder that cannot repair what it is asked to.
const GIVES_UP: &str = r##"
[[turn]]
role = "dev"
use = "repair"
plan = "01-01"
do = [ { write = "bin/one.sh", text = "echo one more\n" }, { say = "SUMMARY: a try.\nTASK: done" } ]
"##;

/// A run that has nothing to land says so.
#[test]
fn nothing_to_land() {
    let mut show = Show::of(&PLAIN);
    let none = show.tribunal(&["land"]);
    assert_eq!(none.code, Some(2), "{}", none.said());
    show.expect(&["run"], 0);
    let done = show.expect(&["land"], 0);
    assert!(done.stderr.contains("main has the result of run"), "{}", done.said());
    let unknown = show.tribunal(&["land", "nowhere"]);
    assert_eq!(unknown.code, Some(2), "{}", unknown.said());
}

/// Fixes of a review that conflict with the branch are not there, however often they are asked for.
#[test]
fn fixes_that_conflict_stay_held() {
    let script = r##"
[[turn]]
role = "reviewer"
use = "phase"
round = 1
do = [ { say = "[id:a] [severity:blocker] [confidence:95] [file:api/users.py:2] issue: x is wrong | suggestion: make it 3\nVERDICT: reject" } ]

[[turn]]
role = "engineering-backend-architect"
use = "phase"
optional = true
do = [ { write = "api/users.py", text = "begin = 1\nx = 3\n" }, { run = ["sh", "-c", "echo > '{ROOT}/at-work'"] }, { wait = "file:go" }, { say = "FIXED: F-1\nSUMMARY: x is 3.\nTASK: done" } ]

[[turn]]
role = "reviewer"
use = "phase"
round = 2
optional = true
do = [ { say = "F-1: resolved\nCHECKED: api/users.py: read it again, x is 3 now.\nVERDICT: approve" } ]
"##;
    let panel = "testing-qa-verification-specialist";
    let args = ["review", "--diff", "HEAD~1", "--fix", "--yes", "--panel", panel];
    let scene = Scene {
        plans: &[],
        change: &[("api/users.py", "begin = 1\nx = 2\n")],
        script,
        settings: "",
        ..PLAIN
    };
    let (mut show, ended) =
        run_while(&scene, &args, |stage| commit(stage, "api/users.py", "begin = 1\nx = 77\n"));
    assert_eq!(ended.code, Some(4), "{}", ended.said());
    for command in ["land", "land", "resume"] {
        let again = show.expect(&[command], 4);
        assert!(again.said().contains("conflicts with the branch in api/users.py"), "{}", again.said());
        main_has(&show, "api/users.py", "begin = 1\nx = 77\n");
    }
    // When the user makes room for them, they land.
    show.user_acts(|stage| commit(stage, "api/users.py", "begin = 1\nx = 2\n"));
    show.expect(&["land"], 0);
    main_has(&show, "api/users.py", "begin = 1\nx = 3\n");
}

/// An artifact whose own document the user wrote meanwhile does not replace it.
#[test]
fn an_artifact_replaces_no_document_of_the_users() {
    let Some(scene) = Scene::named("artifact") else { panic!("there is no such scene") };
    let mut show = Show::of(scene);
    show.user_acts(|stage| stage.write("README.md", "mine\n"));
    let held = show.tribunal(scene.begin);
    assert_eq!(held.code, Some(4), "{}", held.said());
    let folder = show.run_state().about.chain.unwrap().folder;
    let spec = format!("{folder}/spec.md");
    show.user_acts(|stage| {
        stage.git(&["checkout", "-q", "--", "README.md"])?;
        commit(stage, &spec, "# My own spec\n")
    });
    for _ in 0..2 {
        let refused = show.expect(&["land"], 4);
        assert!(refused.said().contains("conflicts with the branch"), "{}", refused.said());
        main_has(&show, &spec, "# My own spec\n");
    }
}

/// A merge that keeps nothing of the result has its commits and not its files: `status` and `land` both say so.
#[test]
fn a_result_that_was_merged_away_is_not_there() {
    let mut show = Show::of(&PLAIN);
    show.user_acts(|stage| stage.write("README.md", "mine\n"));
    show.expect(&["run"], 4);
    let head = format!("refs/tribunal/{}/head", show.run());
    show.user_acts(|stage| {
        stage.git(&["add", "-A"])?;
        stage.git(&["commit", "-q", "-m", "docs: mine"])?;
        stage.git(&["merge", "-q", "-s", "ours", "-m", "chore: not that", &head]).map(drop)
    });
    let away = "it contains the result, and commits after it took it away again: bin/one.sh";
    let status = show.expect(&["status"], 0).stdout;
    assert!(status.contains(away), "{status}");
    let land = show.expect(&["land"], 4).said();
    assert!(land.contains(away), "{land}");
    assert!(show.expect(&["status"], 0).stdout.contains(away));
}

/// The same after a run that ended: what the branch had once proves nothing today.
#[test]
fn a_result_that_was_taken_back_is_told_by_status() {
    let mut show = Show::of(&PLAIN);
    show.expect(&["run"], 0);
    assert!(!show.expect(&["status"], 0).stdout.contains("has it no more"));
    let head = format!("refs/tribunal/{}/head", show.run());
    show.user_acts(|stage| {
        stage.git(&["reset", "-q", "--hard", "HEAD~2"])?;
        stage.git(&["commit", "-q", "--allow-empty", "-m", "docs: mine"])?;
        stage.git(&["merge", "-q", "-s", "ours", "-m", "chore: not that", &head]).map(drop)
    });
    let gone = "and has it no more: later commits took it away again (bin/one.sh)";
    assert!(show.expect(&["status"], 0).stdout.contains(gone));
    assert!(show.expect(&["land"], 2).said().contains(gone));
}

/// The user takes the test target away before the result lands: no pass is a bare one then.
#[test]
fn a_branch_that_lost_its_tests_lands_untested() {
    let mut show = Show::of(&PLAIN);
    show.user_commits(&[("Makefile", "test:\n\t@echo '1 passed'\n")]);
    show.user_acts(|stage| stage.write("README.md", "mine\n"));
    show.expect(&["run"], 4);
    show.user_acts(|stage| {
        stage.git(&["rm", "-q", "-f", "Makefile"])?;
        stage.git(&["add", "-A"])?;
        stage.git(&["commit", "-q", "-m", "chore: no tests"]).map(drop)
    });
    let land = show.expect(&["land"], 0).said();
    assert!(land.contains("passed in") && land.contains(", no tests ran"), "{land}");
    assert!(land.contains("no tests ran: no test command is known"), "{land}");
    assert!(show.expect(&["status"], 0).stdout.contains("no tests ran"));
    assert!(show.messages().contains("Tribunal-Not-Tested: no tests ran"), "{}", show.messages());
}
