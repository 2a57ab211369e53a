//! Honest work that touches files of its judge and lands without a question. Each case has a hostile neighbour that changes
//! the same files, weakens the judge, and does not land.

use crate::hostile_judge::{Files, GONE, project};
use std::os::unix::fs::PermissionsExt;

/// A project, what honest work makes of its files, and what a neighbour makes of them that weakens the judge.
struct Twins<'a> {
    name: &'a str,
    settings: &'a str,
    files: Files<'a>,
    honest: Files<'a>,
    /// None where another case has it.
    hostile: Option<Files<'a>>,
}

impl Twins<'_> {
    fn play(&self) {
        let mut show = project(self.settings, self.files, self.honest);
        let said = show.passes();
        assert!(!said.contains("what judges it"), "{}: {said}", self.name);
        let Some(hostile) = self.hostile else { return };
        let mut show = project(self.settings, self.files, hostile);
        let said = show.waits_and_lands_nothing();
        assert!(
            said.contains("what judges it") || said.contains("before, does not now"),
            "{}: {said}",
            self.name
        );
    }
}

const EACH: &str = "test:\n\tfor t in t/*.sh; do sh $$t || exit 1; done\n";
const TOOL: &str = "case $1 in a) echo one;; b) echo two;; esac\n";
const TOOL_NEW: &str = "case $1 in a) echo ONE;; b) echo two;; c) echo three;; esac\n";
const TOOL_BAD: &str = "case $1 in a) echo ONE;; b) echo wrong;; esac\n";
const TEST_A: &str = "[ \"$(sh bin/tool.sh a)\" = one ] || exit 1\n";
const TEST_A_NEW: &str = "[ \"$(sh bin/tool.sh a)\" = ONE ] || exit 1\n";
const TEST_B: &str = "[ \"$(sh bin/tool.sh b)\" = two ] || exit 1\n";

/// A weak script does not hide behind one that changed with the code.
#[test]
fn every_test_script_keeps_its_own_checks() {
    let files: Files<'_> =
        &[("Makefile", EACH), ("bin/tool.sh", TOOL), ("t/a.sh", TEST_A), ("t/b.sh", TEST_B)];
    let more = format!("{TEST_B}[ \"$(sh bin/tool.sh c)\" = three ] || exit 1\n");
    Twins {
        name: "one script of two is weaker",
        settings: "",
        files,
        honest: &[("bin/tool.sh", TOOL_NEW), ("t/a.sh", TEST_A_NEW), ("t/b.sh", &more)],
        hostile: Some(&[
            ("bin/tool.sh", TOOL_BAD),
            ("t/a.sh", TEST_A_NEW),
            ("t/b.sh", "[ -n \"$(sh bin/tool.sh b)\" ] || exit 1\n"),
        ]),
    }
    .play();
}

const STARTS: &str = "set -e\nsh lib.sh greet > out\n";
const LIB: &str = "greet() { echo hello; }\n\"$1\"\n";

/// A function of two files of code gets another name. A recipe starts one of the two.
#[test]
fn code_that_a_recipe_starts_is_renamed() {
    let files: Files<'_> = &[
        ("Makefile", "test:\n\tsh run.sh && sh check.sh\n"),
        ("run.sh", STARTS),
        ("lib.sh", LIB),
        ("check.sh", "grep -q hello out || exit 1\n"),
    ];
    let (run, lib) = (STARTS.replace("greet", "salute"), LIB.replace("greet", "salute"));
    Twins {
        name: "a function has another name",
        settings: "",
        files,
        honest: &[("run.sh", &run), ("lib.sh", &lib)],
        hostile: None,
    }
    .play();
    // Here the script that the recipe starts is the judge, and gets weaker under the cover of the new name.
    let judge = "set -e\nsh lib.sh greet | grep -x hello\n";
    Twins {
        name: "a judge has another name for what it calls",
        settings: "",
        files: &[("Makefile", "test:\n\tsh run.sh\n"), ("run.sh", judge), ("lib.sh", LIB)],
        honest: &[("run.sh", &judge.replace("greet", "salute")), ("lib.sh", &lib)],
        hostile: Some(&[
            ("run.sh", "set -e\nsh lib.sh salute | grep -v hello\n"),
            ("lib.sh", "salute() { echo wrong; }\n\"$1\"\n"),
        ]),
    }
    .play();
}

/// A script of tests moves, and the Makefile with it.
#[test]
fn a_test_script_moves() {
    let files: Files<'_> =
        &[("Makefile", "test:\n\tsh tests/a.sh\n"), ("bin/tool.sh", TOOL), ("tests/a.sh", TEST_A)];
    let moved = "test:\n\tsh tests/unit/a.sh\n";
    let gone = ("tests/a.sh", GONE);
    let mut show = project("", files, &[("Makefile", moved), ("tests/unit/a.sh", TEST_A), gone]);
    let said = show.passes();
    assert!(!said.contains("what judges it"), "{said}");
    for (test, code) in [("sh bin/tool.sh a\n", TOOL), (TEST_A_NEW, TOOL_BAD)] {
        let writes: Files<'_> =
            &[("Makefile", moved), ("tests/unit/a.sh", test), ("bin/tool.sh", code), gone];
        let mut show = project("", files, writes);
        show.waits_and_lands_nothing();
    }
}

/// The user's hook runs the tests, and a test changes with the code.
#[test]
fn a_hook_that_runs_the_tests_sees_them_change_with_the_code() {
    let files: Files<'_> =
        &[("Makefile", EACH), ("bin/tool.sh", TOOL), ("t/a.sh", TEST_A), ("t/b.sh", TEST_B)];
    for (writes, lands) in [
        (&[("bin/tool.sh", TOOL_NEW), ("t/a.sh", TEST_A_NEW)][..], true),
        (&[("bin/tool.sh", TOOL_NEW), ("t/a.sh", "[ -n \"$(sh bin/tool.sh a)\" ] || exit 1\n")][..], false),
    ] {
        // The hook alone judges: what the test command says is another test's.
        let settings = "[checks]\nno_tests = true\n[gates]\noff = [\"project-tests\", \"project-build\"]\n";
        let mut show = project(settings, files, writes);
        show.user_acts(|stage| {
            let path = stage.project().join(".git/hooks/pre-commit");
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "#!/bin/sh\nexec make -s test\n").unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
            Ok(())
        });
        if lands {
            show.passes();
        } else {
            let said = show.waits_and_lands_nothing();
            assert!(said.contains("your pre-commit hook refuses the commit"), "{said}");
        }
    }
}
