//! When the user's branch has a result: it contains the commit, and no later commit took the result away. What the user
//! wrote or decided meanwhile stays as it is, and what the branch says by then is what the result is held against.

use crate::land::{at_work, commit, launches, main_has, noted, run_while};
use crate::show::Show;
use crate::stage::scenes::{PLAIN, Scene};
use crate::stage::{PHASE, Res, Stage};
use tribunal_core::run::Ending;

/// A run whose result is held by a changed file, which is put back: the user can take it now.
fn held() -> Show {
    let mut show = Show::of(&PLAIN);
    show.user_acts(|stage| stage.write("README.md", "mine\n"));
    show.expect(&["run"], 4);
    show.user_acts(|stage| stage.git(&["checkout", "-q", "--", "README.md"]).map(drop));
    show
}

/// The run branch of the newest run.
fn head(show: &Show) -> String {
    format!("refs/tribunal/{}/head", show.run())
}

/// How a user takes a result into the history of their branch, and not its files.
type Undo = (&'static str, fn(&Stage, &str) -> Res<()>);

const UNDONE: [Undo; 3] = [
    ("merged with ours", |stage, head| {
        stage.git(&["merge", "-q", "-s", "ours", "--no-ff", "-m", "merge: not this", head]).map(drop)
    }),
    ("reverted", |stage, head| {
        let base = stage.git(&["rev-parse", "main"])?;
        stage.git(&["merge", "-q", "--ff-only", head])?;
        stage.git(&["revert", "--no-commit", &format!("{base}..HEAD")])?;
        stage.git(&["commit", "-q", "-m", "revert: not this"]).map(drop)
    }),
    ("an older tree on top", |stage, head| {
        stage.git(&["merge", "-q", "--ff-only", head])?;
        stage.git(&["read-tree", "-u", "--reset", "main@{1}"])?;
        stage.git(&["commit", "-q", "-m", "chore: as it was"]).map(drop)
    }),
];

/// A branch that has the commit and not the files does not have the result: it is said so, and asked.
#[test]
fn a_result_that_was_taken_away_again_is_not_there() {
    for (name, undo) in UNDONE {
        let mut show = held();
        let head = head(&show);
        show.user_acts(|stage| undo(stage, &head));
        let ended = show.expect(&["resume"], 4);
        assert!(ended.stdout.contains("took it away again"), "{name}: {}", ended.stdout);
        assert!(ended.stdout.contains("bin/one.sh"), "{name}: {}", ended.stdout);
        assert_eq!(show.questions().len(), 1, "{name}");
        assert!(!show.stage.project().join("bin/one.sh").exists(), "{name}: nobody asked for it yet");
        // Whoever asks for it now knows that, and gets it.
        let before = show.stage.launched().len();
        show.expect(&["land"], 0);
        assert_eq!(show.stage.launched().len(), before, "{name}: what was approved stays approved");
        main_has(&show, "bin/one.sh", "#!/bin/sh\necho one");
        assert_eq!(show.ended(), Ending::Passed, "{name}");
    }
}

/// The order that was given beforehand does not bring back what the user took away.
#[test]
fn what_was_taken_away_is_not_brought_back_unasked() {
    let scene = Scene { settings: "[plan]\nreview = \"never\"\n[run]\nland_again = true\n", ..PLAIN };
    let mut show = Show::of(&scene);
    show.user_acts(|stage| stage.write("README.md", "mine\n"));
    show.expect(&["run"], 4);
    show.user_acts(|stage| stage.git(&["checkout", "-q", "--", "README.md"]).map(drop));
    let head = head(&show);
    show.user_acts(|stage| UNDONE[1].1(stage, &head));
    show.expect(&["resume"], 4);
    assert!(!show.stage.project().join("bin/one.sh").exists());
    let id = show.questions()[0].0.clone();
    show.expect(&["decide", &id, "stop"], 1);
    assert!(!show.stage.project().join("bin/one.sh").exists());
}

/// A merge that kept the user's side of a file which both changed has not taken the result either.
#[test]
fn a_merge_that_kept_only_the_users_side_is_not_the_result() {
    let users = "mine\n2\n3\n4\n5\n6\n7\n8\n9\n";
    let (mut show, _) = run_while(&noted(), &["run"], |stage| commit(stage, "NOTES.txt", users));
    let head = head(&show);
    show.user_acts(|stage| stage.git(&["merge", "-q", "-s", "ours", "-m", "merge: mine", &head]).map(drop));
    let ended = show.expect(&["resume"], 4);
    assert!(ended.stdout.contains("took it away again"), "{}", ended.stdout);
    main_has(&show, "NOTES.txt", users);
}

/// Whoever took the result by hand and went on from it has it, and is told what they changed of it.
#[test]
fn a_result_that_was_changed_after_is_there() {
    let mut show = held();
    let head = head(&show);
    show.user_acts(|stage| {
        stage.git(&["merge", "-q", "--ff-only", &head])?;
        commit(stage, "bin/one.sh", "#!/bin/sh\necho one and mine\n")?;
        stage.git(&["mv", "NOTES.txt", "notes.md"])?;
        stage.git(&["commit", "-q", "-m", "chore: rename"]).map(drop)
    });
    let ended = show.expect(&["resume"], 0);
    assert!(ended.said().contains("changed after: bin/one.sh"), "{}", ended.said());
    assert_eq!(show.ended(), Ending::Passed);
    main_has(&show, "bin/one.sh", "#!/bin/sh\necho one and mine");
}

/// A file of the result that the user moved elsewhere was not taken away.
#[test]
fn a_result_whose_file_was_renamed_is_there() {
    let mut show = held();
    let head = head(&show);
    show.user_acts(|stage| {
        stage.git(&["merge", "-q", "--ff-only", &head])?;
        stage.git(&["mv", "bin/one.sh", "bin/uno.sh"])?;
        stage.git(&["commit", "-q", "-m", "chore: rename"]).map(drop)
    });
    show.expect(&["resume"], 0);
    assert_eq!(show.ended(), Ending::Passed);
}

/// The same change by hand: there is nothing left to land, no empty commit is made, and the run ends good.
#[test]
fn a_change_that_the_branch_has_already_is_there() {
    let (mut show, ended) = run_while(&at_work(), &["run"], |stage| commit(stage, "user.txt", "mine\n"));
    assert_eq!(ended.code, Some(4), "{}", ended.said());
    let landed = format!("refs/tribunal/{}/landed/01-01", show.run());
    show.user_acts(|stage| stage.git(&["cherry-pick", &landed]).map(drop));
    let before = show.stage.launched().len();
    let ended = show.expect(&["land"], 0);
    assert_eq!(show.stage.launched().len(), before, "no agent is asked again");
    assert_eq!(show.ended(), Ending::Passed);
    assert!(ended.said().contains("had it already"), "{}", ended.said());
    assert!(ended.said().contains("nothing new: main had the only plan already"), "{}", ended.said());
    assert!(!ended.said().contains("Landed: the only plan"), "{}", ended.said());
    let subjects = show.stage.git(&["log", "--format=%s", "main"]).unwrap();
    let times = subjects.lines().filter(|subject| subject.contains("add bin/one.sh")).count();
    assert_eq!(times, 1, "{subjects}");
}

/// A branch that moved, with a changed file that the result does not touch: one order is enough.
#[test]
fn one_order_lands_on_a_branch_that_moved_and_is_dirty() {
    let (mut show, ended) = run_while(&at_work(), &["run"], |stage| {
        commit(stage, "user.txt", "mine\n")?;
        stage.write("README.md", "mine too\n")
    });
    assert_eq!(ended.code, Some(4), "{}", ended.said());
    let said = show.expect(&["land"], 0).said();
    assert!(!said.contains("was left as"), "the run's own documents are nobody else's: {said}");
    assert_eq!(show.ended(), Ending::Passed);
    let read = |path: &str| std::fs::read_to_string(show.stage.project().join(path)).unwrap();
    assert_eq!((read("README.md").as_str(), read("bin/one.sh").as_str()), ("mine too\n", "echo one\n"));
}

/// Documents that the user committed meanwhile are theirs: none is replaced, and each is named.
#[test]
fn documents_the_user_wrote_meanwhile_are_kept() {
    let files = [format!("{PHASE}/01-01-SUMMARY.md"), format!("{PHASE}/01-REVIEW.md")];
    for args in [&["run"][..], &["run", "--panel"]] {
        let (mut show, ended) = run_while(&at_work(), args, |stage| {
            files.iter().try_for_each(|file| commit(stage, file, "# Mine\n\nby hand\n"))
        });
        assert_eq!(ended.code, Some(4), "{}", ended.said());
        let landed = show.expect(&["land"], 0);
        for file in &files {
            main_has(&show, file, "# Mine\n\nby hand\n");
            assert!(landed.said().contains(file.as_str()), "{file}: {}", landed.said());
        }
        main_has(&show, "bin/one.sh", "echo one");
    }
}

/// A builder that does not repair what it is asked to.
const GIVES_UP: &str = r##"
[[turn]]
role = "dev"
use = "repair"
plan = "01-01"
do = [ { write = "bin/one.sh", text = "echo one more\n" }, { say = "SUMMARY: a try.\nTASK: done" } ]
"##;

/// The user's commit brings a test command: the result is tested by it, although the run began without any.
#[test]
fn a_test_command_that_came_with_the_branch_is_run() {
    let settings = "[plan]\nreview = \"never\"\n[task]\nrounds_max = 1\n";
    let red = "test:\n\t! [ -e bin/one.sh ]\n";
    let scene = Scene { settings, more: GIVES_UP, ..at_work() };
    let (mut show, ended) = run_while(&scene, &["run"], |stage| commit(stage, "Makefile", red));
    assert_eq!(ended.code, Some(4), "{}", ended.said());
    let refused = show.expect(&["land"], 4);
    assert!(refused.said().contains("make test"), "{}", refused.said());
    assert!(show.stage.git(&["show", "main:bin/one.sh"]).is_err(), "nothing red reaches the branch");
    show.expect(&["cancel"], 0);

    let green = "test:\n\tsh bin/one.sh || true\n";
    let scene = Scene { settings, ..at_work() };
    let (mut show, _) = run_while(&scene, &["run"], |stage| commit(stage, "Makefile", green));
    show.expect(&["land"], 0);
    main_has(&show, "bin/one.sh", "echo one");
    let messages = show.messages();
    assert!(!messages.contains("Tribunal-Not-Tested"), "it was tested this time: {messages}");
    assert_eq!(launches(&show, "judge:"), 1);
}

/// The same by the settings that the branch has now, and by name what of them is not read.
#[test]
fn check_settings_that_came_with_the_branch_are_read() {
    let settings = "[plan]\nreview = \"never\"\n[task]\nrounds_max = 1\n";
    let red = "[plan]\nreview = \"always\"\n[task]\nrounds_max = 1\n[checks]\ntest = [\"sh\", \"-c\", \"! [ -e bin/one.sh ]\"]\n";
    let scene = Scene { settings, more: GIVES_UP, ..at_work() };
    let (mut show, ended) = run_while(&scene, &["run"], |stage| commit(stage, "tribunal.toml", red));
    assert_eq!(ended.code, Some(4), "{}", ended.said());
    let refused = show.expect(&["land"], 4).said();
    assert!(refused.contains("read from now on: checks.test"), "{refused}");
    assert!(refused.contains("not read: plan.review"), "{refused}");
    assert!(show.stage.git(&["show", "main:bin/one.sh"]).is_err(), "nothing red reaches the branch");
    show.expect(&["cancel"], 0);

    let check = "[plan]\nreview = \"never\"\n[checks.commands]\nunit = [\"sh\", \"bin/one.sh\"]\n";
    let (mut show, _) = run_while(&at_work(), &["run"], |stage| commit(stage, "tribunal.toml", check));
    let landed = show.expect(&["land"], 0).said();
    assert!(landed.contains("read from now on: checks.commands.unit"), "{landed}");
    main_has(&show, "bin/one.sh", "echo one");
}

/// Settings of the branch that cannot be read are no settings: the result waits until they can.
#[test]
fn settings_of_the_branch_that_cannot_be_read_hold_the_result() {
    let args = ["run", "--land-again"];
    let (mut show, ended) = run_while(&at_work(), &args, |stage| {
        commit(stage, "tribunal.toml", "[checks]\ntest = \"make\"\n")?;
        commit(stage, "user.txt", "mine\n")
    });
    assert_eq!(ended.code, Some(4), "{}", ended.said());
    assert!(ended.stdout.contains("tribunal.toml of the branch cannot be read"), "{}", ended.stdout);
    assert!(show.stage.git(&["show", "main:bin/one.sh"]).is_err());
    show.user_acts(|stage| commit(stage, "tribunal.toml", "[plan]\nreview = \"never\"\n"));
    show.expect(&["land"], 0);
    main_has(&show, "bin/one.sh", "echo one");
}

/// That a branch had the result once proves nothing: `land` looks at the branch as it is.
#[test]
fn land_after_the_end_looks_at_the_branch() {
    let mut show = Show::of(&PLAIN);
    let base = show.stage.git(&["rev-parse", "main"]).unwrap();
    show.expect(&["run"], 0);
    assert!(show.expect(&["land"], 0).said().contains("main has the result"));
    let head = show.stage.git(&["rev-parse", "main"]).unwrap();
    show.user_acts(|stage| stage.git(&["reset", "-q", "--hard", base.trim()]).map(drop));
    let said = show.expect(&["land"], 2).said();
    assert!(said.contains("it no longer contains it") && said.contains("refs/tribunal/"), "{said}");
    show.user_acts(|stage| stage.git(&["reset", "-q", "--hard", head.trim()]).map(drop));
    show.user_acts(|stage| {
        stage.git(&["revert", "--no-commit", &format!("{}..HEAD", base.trim())])?;
        stage.git(&["commit", "-q", "-m", "revert: not this"]).map(drop)
    });
    let said = show.expect(&["land"], 2).said();
    assert!(said.contains("took it away again (bin/one.sh"), "{said}");
}
