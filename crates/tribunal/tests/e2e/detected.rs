//! Commands that nobody configured, through the program: which one a run finds in the files of its base commit, that it is
//! the one that judges, and what `doctor` says of it.

use crate::show::Show;
use crate::stage::scenes::{APPROVES, NO_GATE, PLAIN, Scene, dev_also};
use std::os::unix::fs::PermissionsExt;

/// A project with these files, whose plan may also change `changed`, and a dev that does these steps besides.
fn project(files: &[(&str, &str)], changed: &str, steps: &str) -> Show {
    // A reviewer that is asked about tests believes that nothing is wrong with them.
    let believes = format!(
        "\n[[turn]]\nrole = \"reviewer\"\nuse = \"task\"\noptional = true\ndo = [ {{ say = \"{{finding}}: not an issue because \
         the others check it\", each = \"finding\" }}, {APPROVES} ]\n"
    );
    let script = format!("{}{believes}", dev_also(steps)).leak();
    let mut show = Show::of(&Scene { settings: NO_GATE, script, ..PLAIN });
    show.user_commits(files);
    show.claims(changed);
    show
}

/// `test` is a variable and a comment here; the target is `check`. Its script prints nothing.
const MAKEFILE: (&str, &str) =
    ("Makefile", "# test: no\ntest = tests/run.sh\n.PHONY: check test\ncheck:\n\t@sh $(test)\n");
const TESTS: (&str, &str) =
    ("tests/run.sh", "[ \"$(sh add.sh 1 2)\" = 3 ] || exit 1\n[ \"$(sh add.sh 2 2)\" = 4 ] || exit 1\n");
const ADD: (&str, &str) = ("add.sh", "echo $(($1 + $2))\n");

#[test]
fn a_makefile_with_tests_judges_the_change() {
    let fine = "{ write = \"add.sh\", text = \"# adds\\necho $(($1 + $2))\\n\" },";
    let said = project(&[MAKEFILE, TESTS, ADD], "add.sh", fine).passes();
    assert!(!said.contains("no tests ran"), "{said}");
    let broken = "{ write = \"add.sh\", text = \"echo $(($1 - $2))\\n\" },";
    let said = project(&[MAKEFILE, TESTS, ADD], "add.sh", broken).waits_and_lands_nothing();
    assert!(said.contains("`make check`: exit code 0 before, exit code 2 now"), "{said}");
}

/// The script counts nothing and ends with 0: its own lines are what is left to see it by.
#[test]
fn a_test_that_is_taken_out_of_a_silent_script_is_missed() {
    let (first, second) = TESTS.1.split_once('\n').unwrap();
    for (what, text, expect) in [
        ("taken out", format!("{first}\n"), "1 tests run, 2 before, counted in the files that changed"),
        ("made a comment", format!("{first}\n# {second}"), "1 tests run, 2 before"),
        ("skipped", format!("exit 0\n{first}\n{second}"), "1 tests are skipped, 0 before"),
    ] {
        let step = format!("{{ write = \"tests/run.sh\", text = {} }},", serde_json::Value::from(text));
        let said = project(&[MAKEFILE, TESTS, ADD], "tests/run.sh", &step).waits_and_lands_nothing();
        assert!(said.contains(expect), "{what}: {said}");
    }
}

/// A test with another name is the same test; one that is expected to fail, or cannot be started, is not asked any more.
#[test]
fn a_test_with_another_name_is_still_there() {
    const UNIT: &str = "import unittest\nimport calc\n\n\nclass CalcTest(unittest.TestCase):\n    def test_one(self):\n        \
        self.assertEqual(calc.add(1, 2), 3)\n\n\nif __name__ == '__main__':\n    unittest.main()\n";
    const FILES: [(&str, &str); 3] = [
        ("Makefile", "test:\n\t@python3 -m unittest -v test_calc\n"),
        ("calc.py", "def add(a, b):\n    return a + b\n"),
        ("test_calc.py", UNIT),
    ];
    let write =
        |text: String| format!("{{ write = \"test_calc.py\", text = {} }},", serde_json::Value::from(text));
    for (old, new) in [("test_one", "test_adds"), ("CalcTest", "AddTest")] {
        project(&FILES, "test_calc.py", &write(UNIT.replace(old, new))).passes();
    }
    let expected = UNIT.replace("    def test_one", "    @unittest.expectedFailure\n    def test_one");
    let broken = format!(
        "{} {{ write = \"calc.py\", text = \"def add(a, b):\\n    return 0\\n\" }},",
        write(expected)
    );
    let mut show = project(&FILES, "test_calc.py", &broken);
    show.claims("calc.py");
    let said = show.waits_and_lands_nothing();
    assert!(said.contains("it ran before and is skipped now"), "{said}");
}

/// A script that runs every program of a folder leaves out what is none, without a word.
#[test]
fn a_test_that_cannot_be_started_is_missed() {
    const FILES: [(&str, &str); 3] = [
        ("Makefile", "test:\n\t@for t in tests/t_*.sh; do [ ! -x $$t ] || ./$$t || exit 1; done\n"),
        ("tests/t_one.sh", "#!/bin/sh\n[ \"$(sh add.sh 1 2)\" = 3 ]\n"),
        ADD,
    ];
    let steps =
        "{ run = [\"chmod\", \"644\", \"tests/t_one.sh\"] }, { write = \"add.sh\", text = \"echo 0\\n\" },";
    let script = dev_also(steps).leak();
    let mut show = Show::of(&Scene { settings: NO_GATE, script, ..PLAIN });
    show.user_commits(&FILES);
    show.user_acts(|stage| {
        let test = stage.project().join("tests/t_one.sh");
        std::fs::set_permissions(test, std::fs::Permissions::from_mode(0o755)).unwrap();
        Ok(())
    });
    show.claims("tests/t_one.sh");
    show.claims("add.sh");
    let said = show.waits_and_lands_nothing();
    assert!(said.contains("it was a program before and cannot be started now"), "{said}");
}

/// A target that does nothing any more ends with 0, as before.
#[test]
fn a_target_that_is_made_to_do_nothing_is_missed() {
    let step = "{ write = \"Makefile\", text = \"check:\\n\\t@true\\n\" },";
    let said = project(&[MAKEFILE, TESTS, ADD], "Makefile", step).waits_and_lands_nothing();
    assert!(said.contains("before, does not now, and counts no tests"), "{said}");
}

/// What a change makes of the file that names the command is not asked: the base commit's command judges it.
#[test]
fn a_change_cannot_choose_its_judge() {
    let package = "{ write = \"package.json\", text = '{\"scripts\": {\"test\": \"true\"}}' }, \
                   { write = \"add.sh\", text = \"echo 7\\n\" },";
    let said =
        project(&[MAKEFILE, TESTS, ADD], "package.json\n  - add.sh", package).waits_and_lands_nothing();
    assert!(said.contains("`make check`: exit code 0 before, exit code 2 now"), "{said}");
}

/// A command that needs another one first, in the same tree: what fails there fails.
#[test]
fn a_command_is_run_after_what_it_needs() {
    const MESON: &str = "#!/bin/sh\nif [ \"$1\" = setup ]; then grep -q project meson.build && mkdir \"$2\"; exit; fi\n\
                         test -d build || exit 9\ngrep -q wrong meson.build && exit 1\necho ran\n";
    let file = ("meson.build", "project('x', 'c')\ntest('a', a)\n");
    for (text, expect) in [
        ("project('x', 'c')\\n# more\\ntest('a', a)\\n", None),
        ("project('x', 'c')\\ntest('wrong', a)\\n", Some("exit code 0 before, exit code 1 now")),
        ("test('a', a)\\n", Some("exit code 0 before, exit code 1 now")),
    ] {
        let step = format!("{{ write = \"meson.build\", text = \"{text}\" }},");
        let mut show = project(&[file], "meson.build", &step);
        let bin = show.stage.root().join("bin");
        std::fs::create_dir(&bin).unwrap();
        std::fs::write(bin.join("meson"), MESON).unwrap();
        std::fs::set_permissions(bin.join("meson"), PermissionsExt::from_mode(0o755)).unwrap();
        show.stage.program_mut().prepend_path(&bin);
        let said = match expect {
            None => show.passes(),
            Some(_) => show.waits_and_lands_nothing(),
        };
        assert!(said.contains(expect.unwrap_or("passed")), "{text}: {said}");
        assert!(!said.contains("no tests ran"), "{said}");
    }
}

/// A command that may not write where it must has not tested anything, before or now: nobody calls that "not made worse".
#[test]
fn a_command_that_lacked_something_did_not_run() {
    let lacks = ("Makefile", "test:\n\t@echo 'cache.lock: Read-only file system'; exit 1\n");
    let step = "{ write = \"add.sh\", text = \"echo 7\\n\" },";
    let said = project(&[lacks, TESTS, ADD], "add.sh", step).waits_and_lands_nothing();
    assert!(said.contains("cache.lock: Read-only file system"), "{said}");
    assert!(said.contains("agents.writable"), "{said}");
}

#[test]
fn doctor_says_which_commands_it_found_and_where() {
    let package =
        ("package.json", "{\"scripts\": {\"test\": \"node --test\", \"build\": \"node build.js\"}}");
    let cargo = ("Cargo.toml", "[package]\nname = \"x\"\n");
    let doctor = |files: &[(&str, &str)], settings: &str| {
        let mut show = Show::of(&PLAIN);
        show.user_commits(files);
        std::fs::write(show.stage.project().join("tribunal.toml"), settings).unwrap();
        let text = show.stage.tribunal(&["doctor"]).unwrap().stdout;
        let json = show.stage.tribunal(&["doctor", "--json"]).unwrap().stdout;
        (text, serde_json::from_str::<serde_json::Value>(&json).unwrap()["commands"].clone())
    };
    let (text, json) = doctor(&[MAKEFILE, TESTS], "");
    assert!(text.contains("tests      `make check` (target `check` of Makefile)"), "{text}");
    assert_eq!(json["test"]["command"], "make check");
    let (text, json) = doctor(&[cargo, package], "");
    assert!(text.contains("`cargo test --no-fail-fast` (Cargo.toml)"), "{text}");
    assert!(
        text.contains("`npm test --silent` (`scripts.test` of package.json) was seen and is not run"),
        "{text}"
    );
    assert_eq!(json["not_run"][0]["found"], "`scripts.test` of package.json");
    let (text, json) = doctor(&[package], "[checks]\ntest = [\"no-such-runner\"]\n");
    assert!(text.contains("`no-such-runner` (`checks.test`): its program is not on the PATH"), "{text}");
    assert_eq!(
        (&json["test"]["missing"], &json["build"]["command"]),
        (&true.into(), &"npm run build".into())
    );
    let (text, json) = doctor(&[("README.md", "# x\n")], "");
    assert!(text.contains("no command is known: every pass will say that no tests ran"), "{text}");
    assert!(json["test"].is_null(), "{json}");
}
