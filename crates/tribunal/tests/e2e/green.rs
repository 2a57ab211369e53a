//! The project's own build and test commands, through the program: what lands is green by their exit status, and what
//! was red before, is flaky or never ran is said in the report and in the landed commit.

use crate::show::Show;
use crate::stage::Stage;
use crate::stage::scenes::{NO_GATE, PLAIN, Scene, TWO_PLANS, dev_also};
use tribunal_core::run::Ending;

/// Settings without a plan gate, with these checks.
fn checks(text: &str) -> &'static str {
    format!("{NO_GATE}[checks]\n{text}\n").leak()
}

/// A project with these files, whose plan may also change `check.sh`.
fn project(settings: &'static str, script: &str, files: &[(&str, &str)]) -> Show {
    let mut show = Show::of(&Scene { settings, script: script.to_owned().leak(), ..PLAIN });
    show.user_commits(files);
    show.claims("check.sh");
    show
}

/// A dev whose change has this in `check.sh`.
fn writes(check: &str) -> String {
    dev_also(&format!("{{ write = \"check.sh\", text = \"{check}\" }},"))
}

/// A dev that fixes `check.sh` once it is told what broke.
fn fixes(told: &str) -> String {
    format!(
        "\n[[turn]]\nrole = \"dev\"\nuse = \"task\"\nplan = \"01-01\"\nround = 2\ndo = [ {{ expect = \"{told}\" }}, \
         {{ expect = \"boom\" }}, {{ write = \"check.sh\", text = \"echo fine again\\n\" }}, \
         {{ say = \"FIXED: {{finding:1}}\\nSUMMARY: fixed.\\nTASK: done\" }} ]\n"
    )
}

const TEST: &str = "test = [\"sh\", \"check.sh\"]";
const PACKAGE: (&str, &str) = ("package.json", "{\"scripts\": {\"test\": \"sh check.sh\"}}");

/// A case's name, its settings, and the files of its project.
type Case = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

/// A test command that says nothing of tests and ends with 0 is green; with 3 it is red, and nothing lands.
#[test]
fn a_test_command_that_the_change_breaks_stops_it() {
    let cases: [Case; 3] = [
        ("detected", "", &[PACKAGE, ("check.sh", "exit 0\n")]),
        ("configured", TEST, &[("check.sh", "exit 0\n")]),
        ("the build", "build = [\"sh\", \"check.sh\"]\nno_tests = true", &[("check.sh", "exit 0\n")]),
    ];
    for (what, settings, files) in cases {
        let mut show = project(checks(settings), &writes("echo boom; exit 3\\n"), files);
        let said = show.waits_and_lands_nothing();
        assert!(said.contains("exit code 0 before, exit code 3 now"), "{what}: {said}");
        assert!(!said.contains("project-tests: passed"), "{what}: {said}");
    }
}

#[test]
fn the_builder_is_told_what_broke_and_fixes_it() {
    let script = fixes("exit code 0 before, exit code 3 now") + &writes("echo boom; exit 3\\n");
    let mut show = project(checks(TEST), &script, &[("check.sh", "exit 0\n")]);
    let said = show.passes();
    assert_eq!(show.landed("check.sh").as_deref(), Some("echo fine again"), "{said}");
    assert!(!show.messages().contains("Tribunal-Not-Tested"), "{}", show.messages());
    assert!(!show.messages().contains("Tribunal-Red"), "{}", show.messages());
}

/// What a named person takes as it is lands, and says that it is red.
#[test]
fn a_named_person_may_take_what_is_red() {
    let mut show = project(checks(TEST), &writes("echo boom; exit 3\\n"), &[("check.sh", "exit 0\n")]);
    show.expect(&["run"], 4);
    let id = show.questions()[0].0.clone();
    let said = show.expect(&["decide", &id, "accept"], 0).said();
    assert_eq!(show.ended(), Ending::Passed, "{said}");
    let messages = show.messages();
    assert!(messages.contains("Tribunal-Accepted-By: "), "{messages}");
    assert!(
        messages.contains("Tribunal-Red: sh check.sh: exit code 0 before, exit code 3 now"),
        "{messages}"
    );
    let report = show.expect(&["report"], 0).stdout;
    assert!(report.contains("red: `sh check.sh`"), "{report}");
}

#[test]
fn red_before_is_said_and_stops_nothing() {
    let red = "echo boom; exit 1\n";
    let mut show = project(checks(TEST), &writes("echo boom; echo more; exit 1\\n"), &[("check.sh", red)]);
    let said = show.passes();
    assert!(said.contains("red before: `sh check.sh` on "), "{said}");
    assert!(said.contains("exit code 1 before, exit code 1 now"), "{said}");
    assert!(!said.contains("project-tests: passed"), "{said}");
    let messages = show.messages();
    assert!(messages.contains("Tribunal-Red: sh check.sh: exit code 1 before"), "{messages}");
}

/// A script that fails the first time it is run, and every second time after that.
/// A build that failed before the change and fails after it: nobody has to find that out on their own.
#[test]
fn a_build_that_was_red_before_is_said_too() {
    let detected: &[(&str, &str)] = &[("Makefile", "all:\n\tsh build.sh\n")];
    let lacks = "echo 'a.c:1: fatal error: x.h: No such file or directory' >&2; exit 3\n";
    for (settings, files, build) in [
        ("build = [\"sh\", \"build.sh\"]\nno_tests = true\n", &[][..], "exit 3\n"),
        ("", detected, "exit 3\n"),
        ("", detected, lacks),
    ] {
        let files = [files, &[("build.sh", build)]].concat();
        let mut show = project(checks(settings), &writes("exit 0\\n"), &files);
        let said = show.passes();
        assert!(said.contains("red before: `"), "{build}: {said}");
        assert!(show.messages().contains("Tribunal-Red: "), "{build}: {}", show.messages());
    }
}

fn every_second_time(count: &std::path::Path) -> String {
    let count = count.display();
    format!("echo x >> {count}; n=$(wc -l < {count}); if [ $((n % 2)) = 1 ]; then echo boom; exit 1; fi\n")
}

fn flaky(before: bool, more: &str) -> Show {
    let mut show = Show::of(&Scene { settings: NO_GATE, ..PLAIN });
    let folder = show.stage.root().join("counted");
    std::fs::create_dir(&folder).unwrap();
    let script = every_second_time(&folder.join("runs"));
    let settings = format!("{NO_GATE}[checks]\n{TEST}\n[agents]\nwritable = [\"{}\"]\n", folder.display());
    let own = if before { script.clone() } else { "exit 0\n".to_owned() };
    show.user_commits(&[("check.sh", &own), ("tribunal.toml", &settings)]);
    show.claims("check.sh");
    let escaped = format!("{script}# changed\n").replace('\n', "\\n");
    show.stage.script_with(&(more.to_owned() + &writes(&escaped))).unwrap();
    show
}

#[test]
fn a_command_that_becomes_flaky_stops_the_change() {
    let said = flaky(false, "").waits_and_lands_nothing();
    assert!(said.contains("exit code 0 before, flaky (exit code 1, and not another time) now"), "{said}");
}

/// Two passes after a flaky answer would be chance more often than a repair.
#[test]
fn what_was_flaky_has_to_be_green_ten_times_and_is_named() {
    let mut show = flaky(false, &fixes("10 times in a row"));
    let said = show.passes();
    let landed = show.landed("check.sh");
    assert_eq!(landed.as_deref(), Some("echo fine again"), "{said}");
    let messages = show.messages();
    assert!(
        messages
            .contains("Tribunal-Flaky: sh check.sh: seen on 1 tree of this work, then 10 passes in a row"),
        "{messages}"
    );
    assert!(said.contains("flaky: `sh check.sh` on 1 tree"), "{said}");
}

/// A project without a test command gets one by the change: it is run, and has to be green.
#[test]
fn the_first_test_command_of_a_project_is_run() {
    for (check, lands) in [("exit 3", false), ("exit 0", true)] {
        let brings = dev_also(&format!(
            "{{ write = \"Makefile\", text = \"test:\\n\\tsh check.sh\\n\" }}, \
             {{ write = \"check.sh\", text = \"{check}\\n\" }},"
        ));
        let mut show = project(NO_GATE, &brings, &[("check.sh", "# nothing yet\n")]);
        show.claims("Makefile");
        if lands {
            let said = show.passes();
            assert!(!show.messages().contains("Tribunal-Not-Tested"), "{said}");
        } else {
            let said = show.waits_and_lands_nothing();
            assert!(said.contains("`make test`: no test ran before, exit code 2 now"), "{said}");
        }
    }
}

/// Runners that write missing snapshots and call them passed have to know that nobody looks at what they wrote.
#[test]
fn a_check_runs_as_ci_does() {
    let mut show = project(checks(TEST), &writes("test \\\"$CI\\\" = true\\n"), &[("check.sh", "exit 0\n")]);
    show.passes();
}

/// A new test that passes the first time and fails the second: where tests change they run twice.
#[test]
fn a_new_test_that_is_green_by_chance_stops_the_change() {
    let mut show = Show::of(&Scene { settings: NO_GATE, ..PLAIN });
    let folder = show.stage.root().join("counted");
    std::fs::create_dir(&folder).unwrap();
    let script = every_second_time(&folder.join("runs")).replace("= 1 ]", "= 0 ]");
    let settings = format!(
        "{NO_GATE}[checks]\ntest = [\"sh\", \"-c\", \"for t in tests/t_*.sh; do sh $t || exit 1; done\"]\n\
         [agents]\nwritable = [\"{}\"]\n",
        folder.display()
    );
    show.user_commits(&[("tests/t_one.sh", "exit 0\n"), ("tribunal.toml", &settings)]);
    show.claims("tests/t_two.sh");
    let step = format!("{{ write = \"tests/t_two.sh\", text = {} }},", serde_json::Value::from(script));
    show.stage.script_with(&dev_also(&step)).unwrap();
    let said = show.waits_and_lands_nothing();
    assert!(said.contains("exit code 0 before, flaky (exit code 1, and not another time) now"), "{said}");
}

#[test]
fn a_command_that_was_flaky_before_is_named_and_counted() {
    let mut show = flaky(true, "");
    let said = show.passes();
    assert!(said.contains("flaky: `sh check.sh` on 1 tree: flaky (exit code 1"), "{said}");
    assert!(!said.contains("project-tests: passed"), "{said}");
    assert!(show.messages().contains("Tribunal-Flaky: sh check.sh: "), "{}", show.messages());
}

/// Each lane is green alone; together they are not. The merged tree does not land before it is repaired.
#[test]
fn two_green_lanes_that_are_red_together_do_not_land_so() {
    let repairs = |plan: &str, file: &str| {
        format!(
            "\n[[turn]]\nrole = \"dev\"\nuse = \"repair\"\nplan = \"{plan}\"\noptional = true\ndo = [ \
             {{ expect = \"exit code 0 before, exit code 4 now\" }}, \
             {{ write = \"bin/{file}.sh\", text = \"echo fits\\n\" }}, \
             {{ say = \"FIXED: {{finding:1}}\\nSUMMARY: they fit.\\nTASK: done\" }} ]\n"
        )
    };
    let script = (repairs("01-01", "one") + &repairs("01-02", "two")).leak();
    let together = "test ! -e bin/one.sh || test ! -e bin/two.sh || grep -qs fits bin/*.sh || exit 4\n";
    let scene = Scene { plans: TWO_PLANS, settings: checks(TEST), script, ..PLAIN };
    let mut show = Show::of(&scene);
    show.user_commits(&[("check.sh", together)]);
    let said = show.expect(&["run"], 0).said();
    assert_eq!(show.ended(), Ending::Passed, "{said}");
    let log = show.expect(&["log"], 0).stdout;
    assert!(log.contains("exit code 0 before, exit code 4 now"), "{log}");
    let both = [show.landed("bin/one.sh"), show.landed("bin/two.sh")].map(Option::unwrap_or_default);
    assert!(both.concat().contains("fits"), "{both:?}");
}

/// The tests are red before, so that the exit status says nothing: by name one that was green is red when both lanes come
/// together, and that does not land.
#[test]
fn a_landing_on_red_tests_breaks_none_that_is_green() {
    let repairs = |plan: &str, file: &str| {
        format!(
            "\n[[turn]]\nrole = \"dev\"\nuse = \"repair\"\nplan = \"{plan}\"\noptional = true\ndo = [ \
             {{ expect = \"it was red before, and fails now where it did not: together\" }}, \
             {{ write = \"bin/{file}.sh\", text = \"echo fits\\n\" }}, \
             {{ say = \"FIXED: {{finding:1}}\\nSUMMARY: they fit.\\nTASK: done\" }} ]\n"
        )
    };
    let script = (repairs("01-01", "one") + &repairs("01-02", "two")).leak();
    let named = "test ! -e bin/one.sh || test ! -e bin/two.sh || grep -qs fits bin/*.sh && echo ok 1 - together \
         || echo not ok 1 - together\necho not ok 2 - old\necho 1..2\nexit 4\n";
    let scene = Scene { plans: TWO_PLANS, settings: checks(TEST), script, ..PLAIN };
    let mut show = Show::of(&scene);
    show.user_commits(&[("check.sh", named)]);
    let said = show.expect(&["run"], 0).said();
    assert_eq!(show.ended(), Ending::Passed, "{said}");
    let both = [show.landed("bin/one.sh"), show.landed("bin/two.sh")].map(Option::unwrap_or_default);
    assert!(both.concat().contains("fits"), "{both:?}");
}

/// It does not depend on a delivery gate whether somebody is told that no tests ran.
#[test]
fn no_tests_is_said_whichever_gates_are_held() {
    let off = format!("{NO_GATE}[qa]\nreview = \"never\"\n");
    let none = format!("{off}[checks]\nno_tests = true\n");
    let switched = format!("{off}[checks]\n{TEST}\n[gates]\noff = [\"project-tests\"]\n");
    for (settings, why) in [
        (off.leak(), "no test command is known for this project; `checks.test` can name one"),
        (none.leak(), "the settings say that the project has none (checks.no_tests)"),
        (switched.leak(), "project-tests is switched off (gates.off)"),
    ] {
        let settings: &'static str = settings;
        let mut show = Show::of(&Scene { settings, ..PLAIN });
        let said = show.passes();
        assert!(said.contains(&format!("no tests ran: {why}")), "{said}");
        for form in ["markdown", "html", "json"] {
            let report = show.expect(&["report", "--format", form], 0).stdout;
            assert!(report.contains("no tests ran"), "{form}: {report}");
        }
        assert!(show.expect(&["status"], 0).stdout.contains("no tests ran"));
        assert!(show.messages().contains("Tribunal-Not-Tested: no tests ran"), "{}", show.messages());
    }
}

/// A review of a commit that breaks the tests says so and ends with 1, whatever its reviewers say.
#[test]
fn a_review_of_a_commit_that_breaks_the_tests_names_it() {
    let (_folder, stage) = crate::stage();
    stage.write("check.sh", "exit 0\n").unwrap();
    stage.write("tribunal.toml", "[checks]\ntest = [\"sh\", \"check.sh\"]\n").unwrap();
    stage.commit_all().unwrap();
    stage.write("check.sh", "echo boom; exit 3\n").unwrap();
    stage.git(&["commit", "-q", "-am", "feat: a change"]).unwrap();
    let approves = "[[turn]]\nrole = \"reviewer\"\noptional = true\ndo = [{ say = \"CHECKED: read check.sh, it prints one word and ends.\\nVERDICT: approve\" }]\n";
    stage.script(approves).unwrap();
    let ended = stage.tribunal(&["review", "--diff", "HEAD~1..HEAD", "--yes"]).unwrap();
    assert_eq!(ended.code, Some(1), "{}", ended.said());
    assert!(ended.stdout.contains("exit code 0 before, exit code 3 now"), "{}", ended.said());
    assert!(ended.stdout.contains("boom"), "{}", ended.said());
    stage.write("check.sh", "echo fine\n").unwrap();
    stage.git(&["commit", "-q", "-am", "fix: the change"]).unwrap();
    let ended = stage.tribunal(&["review", "--diff", "HEAD~2..HEAD", "--yes"]).unwrap();
    assert_eq!(ended.code, Some(0), "{}", ended.said());
}

/// How often the newest run ran the project's tests.
fn test_runs(stage: &Stage) -> usize {
    let run = stage.newest().unwrap().unwrap().0;
    let launches = std::fs::read_dir(stage.run_dir(&run).join("launches")).unwrap();
    let names = launches.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("project-tests-")).count()
}

/// The same commit reviewed again is not tested again, green or red; anything else is.
#[test]
fn the_same_commit_is_not_tested_twice() {
    let alone = "--set=agents.writable=[]";
    for (check, code) in [("echo fine\n", 0), ("echo boom; exit 3\n", 1)] {
        let (_folder, stage) = crate::stage();
        stage.write("check.sh", "exit 0\n").unwrap();
        stage.write("tribunal.toml", "[checks]\ntest = [\"sh\", \"check.sh\"]\n").unwrap();
        stage.commit_all().unwrap();
        stage.write("check.sh", check).unwrap();
        stage.git(&["commit", "-q", "-am", "feat: a change"]).unwrap();
        stage.script("[[turn]]\nrole = \"reviewer\"\noptional = true\ndo = [{ say = \"CHECKED: read check.sh, it prints one word and ends.\\nVERDICT: approve\" }]\n").unwrap();
        let review = |more: &[&str]| {
            let args = [&["review", "--diff", "HEAD~1..HEAD", "--yes"], more].concat();
            let ended = stage.tribunal(&args).unwrap();
            assert_eq!(ended.code, Some(code), "{more:?}: {}", ended.said());
            test_runs(&stage)
        };
        let first = review(&[alone]);
        assert!(first >= 2, "the base and the change");
        assert_eq!(review(&[alone]), 0, "{check}: both answers are known");
        assert_eq!(review(&[alone, "--set=checks.cache_mb=0"]), first, "{check}: it is switched off");
        // Where launches can write a folder together, code of another change may have had a hand in an answer.
        assert_eq!(review(&[]), first, "{check}: nothing is believed");
        stage.write("other.txt", "other\n").unwrap();
        stage.git(&["add", "other.txt"]).unwrap();
        stage.git(&["commit", "-q", "--amend", "--no-edit"]).unwrap();
        assert!(review(&[alone]) > 0, "{check}: another tree is tested");
    }
}
