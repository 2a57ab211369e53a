//! Builders that change what judges them: the script or the Makefile behind the test command, a module that stands in a
//! runner's place, a script that a hook calls, the program of a reviewer. Each case has a twin that changes the same
//! files harmlessly and lands, so that no test holds by accident.

use crate::show::Show;
use crate::stage::scenes::{NO_GATE, PLAIN, Scene, dev_also};
use std::os::unix::fs::PermissionsExt;
use tribunal_core::run::Ending;

/// Files by path.
pub(crate) type Files<'a> = &'a [(&'a str, &'a str)];

/// Written for a file that the dev deletes.
pub(crate) const GONE: &str = "GONE";

/// A project with these files, whose dev also writes those. `src.txt` is what its tests look at.
pub(crate) fn project(settings: &str, files: Files<'_>, writes: Files<'_>) -> Show {
    let settings: &'static str = format!("{NO_GATE}{settings}").leak();
    let steps: String = writes
        .iter()
        .map(|(path, text)| match *text {
            GONE => format!("{{ delete = {path:?} }},\n"),
            text => format!("{{ write = {path:?}, text = {} }},\n", serde_json::Value::from(text)),
        })
        .collect();
    let mut show = Show::of(&Scene { settings, script: dev_also(&steps).leak(), ..PLAIN });
    show.user_commits(&[&[("src.txt", "right\n")], files].concat());
    for (path, _) in writes {
        show.claims(path);
    }
    show
}

/// A case: its settings, the project's files, what guts the judge, and which file is named for it.
struct Gut<'a> {
    name: &'a str,
    settings: &'a str,
    files: Files<'a>,
    guts: Files<'a>,
    /// What changes the same file and guts nothing.
    harmless: Files<'a>,
    named: &'a str,
}

impl Gut<'_> {
    /// How the files are named that were put back.
    fn told(&self) -> String {
        let first = self.named.split(", ").next().unwrap();
        match self.files.iter().any(|(path, _)| *path == first) {
            true => format!("with {} of the base", self.named),
            false => format!("without {}, which the base does not have", self.named),
        }
    }

    /// The change breaks the project and makes the judge say otherwise: a person is asked. Its twin lands.
    fn play(&self) {
        let breaks: Files<'_> = &[("src.txt", "wrong\n")];
        let mut show = project(self.settings, self.files, &[self.guts, breaks].concat());
        let said = show.waits_and_lands_nothing();
        let expect = "exit code 0 only because the change also changes what judges it: ";
        assert!(said.contains(expect), "{}: {said}", self.name);
        assert!(said.contains(&self.told()), "{}: {said}", self.name);
        let mut show = project(self.settings, self.files, self.harmless);
        let said = show.passes();
        assert!(!said.contains("what judges it"), "{}: {said}", self.name);
        let (path, text) = self.harmless[0];
        assert_eq!(show.landed(path).as_deref(), Some(text.trim_end()), "{}", self.name);
    }
}

const CHECKS: &str = "grep -q right src.txt || exit 3\n";
const MAKEFILE: &str = "include rules.mk\ntest:\n\tsh ci/check.sh\n";
const MADE: Files<'_> = &[("Makefile", MAKEFILE), ("rules.mk", "X = 1\n"), ("ci/check.sh", CHECKS)];
const UNITTEST: &str = "import unittest\n\nclass A(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(open('src.txt').read(), 'right\\n')\n";
const RAN: &str = "import sys\nprint('Ran 1 test in 0.0s\\n\\nOK', file=sys.stderr)\nsys.exit(0)\n";

const GUTS: &[Gut<'_>] = &[
    Gut {
        name: "the script that checks.test names",
        settings: "[checks]\ntest = [\"sh\", \"check.sh\"]\n",
        files: &[("check.sh", CHECKS)],
        guts: &[("check.sh", "exit 0\n")],
        harmless: &[("check.sh", "grep -q right src.txt || exit 4\n")],
        named: "check.sh",
    },
    Gut {
        name: "make ignores every error",
        settings: "",
        files: MADE,
        guts: &[("Makefile", "include rules.mk\n.IGNORE:\ntest:\n\tsh ci/check.sh\n")],
        harmless: &[("Makefile", "include rules.mk\ntest:\n\tsh ci/check.sh\nlint:\n\ttrue\n")],
        named: "Makefile",
    },
    Gut {
        name: "make has another shell",
        settings: "",
        files: MADE,
        guts: &[("rules.mk", "SHELL = /bin/true\n")],
        harmless: &[("rules.mk", "X = 2\n")],
        named: "rules.mk",
    },
    Gut {
        name: "a script that the target calls",
        settings: "",
        files: MADE,
        guts: &[("ci/check.sh", "grep -q right src.txt || exit 0\n")],
        harmless: &[("ci/check.sh", "grep -q right src.txt || exit 5\n")],
        named: "ci/check.sh",
    },
    Gut {
        name: "a module in the runner's place",
        settings: "[checks]\ntest = [\"python3\", \"-m\", \"unittest\", \"discover\"]\n",
        files: &[("test_a.py", UNITTEST)],
        guts: &[("unittest/__init__.py", "class TestCase: pass\n"), ("unittest/__main__.py", RAN)],
        harmless: &[("unit_test_data.py", "X = 1\n")],
        named: "unittest/__init__.py, unittest/__main__.py",
    },
];

/// A person decides, whatever the reviewers say.
#[test]
fn hostile_dev_guts_its_test_command() {
    GUTS.iter().for_each(Gut::play);
}

const INNER: Files<'_> = &[("t/run.sh", "sh t/inner.sh\n"), ("t/inner.sh", CHECKS)];
const EACH: &str = "test:\n\tfor t in t/*.sh; do sh $$t || exit 1; done\n";

/// Files that the command does not name, and that its scripts start.
const REACHED: &[Gut<'_>] = &[
    Gut {
        name: "a script that a script calls",
        settings: "[checks]\ntest = [\"sh\", \"t/run.sh\"]\n",
        files: INNER,
        guts: &[("t/inner.sh", "exit 0\n")],
        harmless: &[("t/inner.sh", "grep -q right src.txt || exit 4\n")],
        named: "t/inner.sh",
    },
    Gut {
        name: "scripts that a loop of the target finds",
        settings: "",
        files: &[("Makefile", EACH), ("t/one.sh", CHECKS)],
        guts: &[("t/one.sh", "grep -q right src.txt || exit 0\n")],
        harmless: &[("t/one.sh", "grep -q right src.txt || exit 4\n")],
        named: "t/one.sh",
    },
    Gut {
        name: "a script named from the folder that the command goes to",
        settings: "[checks]\ntest = [\"sh\", \"-c\", \"cd ci && exec sh ./run.sh\"]\n",
        files: &[("ci/run.sh", "cd .. && grep -q right src.txt || exit 3\n")],
        guts: &[("ci/run.sh", "true\n")],
        harmless: &[("ci/run.sh", "cd .. && grep -q right src.txt || exit 4\n")],
        named: "ci/run.sh",
    },
];

#[test]
fn hostile_dev_guts_what_its_test_command_reaches() {
    REACHED.iter().for_each(Gut::play);
}

const WEAK: &str = "grep -q right src.txt || exit 0\n";
const OTHER_CODE: &str = "grep -q right src.txt || exit 4\n";

/// Files that no text names: the base's run is seen to read them.
const READ: &[Gut<'_>] = &[
    Gut {
        name: "a pattern with brackets",
        settings: "",
        files: &[
            ("Makefile", "test:\n\tfor t in t/t[0-9]*.sh; do sh $$t || exit 1; done\n"),
            ("t/t1.sh", CHECKS),
        ],
        guts: &[("t/t1.sh", WEAK)],
        harmless: &[("t/t1.sh", OTHER_CODE)],
        named: "t/t1.sh",
    },
    Gut {
        name: "what a program lists",
        settings: "",
        files: &[
            ("Makefile", "test:\n\tfor t in $$(ls t); do sh t/$$t || exit 1; done\n"),
            ("t/one.sh", CHECKS),
        ],
        guts: &[("t/one.sh", WEAK)],
        harmless: &[("t/one.sh", OTHER_CODE)],
        named: "t/one.sh",
    },
    Gut {
        name: "a list of scripts",
        settings: "",
        files: &[
            ("Makefile", "test:\n\txargs -n1 sh < t/list.txt\n"),
            ("t/list.txt", "t/one.sh\nt/two.sh\n"),
            ("t/one.sh", CHECKS),
            ("t/two.sh", "[ -f src.txt ] || exit 1\n"),
        ],
        guts: &[("t/list.txt", "t/two.sh\n")],
        harmless: &[("t/list.txt", "t/two.sh\nt/one.sh\n")],
        named: "t/list.txt",
    },
    Gut {
        name: "a command of the settings",
        settings: "[checks.commands]\nlint = [\"sh\", \"-c\", \"n=one; sh tools/$n.sh\"]\n",
        files: &[("tools/one.sh", CHECKS)],
        guts: &[("tools/one.sh", WEAK)],
        harmless: &[("tools/one.sh", OTHER_CODE)],
        named: "tools/one.sh",
    },
];

/// Whether a read of a file can be seen here.
fn reads_are_seen() -> bool {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    std::fs::write(&path, "x").unwrap();
    let times = std::fs::FileTimes::new().set_accessed(std::time::UNIX_EPOCH);
    std::fs::File::options().write(true).open(&path).unwrap().set_times(times).unwrap();
    std::fs::read(&path).unwrap();
    std::fs::metadata(&path).unwrap().accessed().unwrap() != std::time::UNIX_EPOCH
}

#[test]
fn hostile_dev_guts_what_its_test_command_is_seen_to_read() {
    if !reads_are_seen() {
        eprintln!("access times do not move here: what a command reads cannot be seen");
        return;
    }
    READ.iter().for_each(Gut::play);
}

/// Commands of the settings and of the plan.
const OTHERS: &[Gut<'_>] = &[
    Gut {
        name: "a command of the settings",
        settings: "[checks.commands]\nlint = [\"sh\", \"tools/lint.sh\"]\n",
        files: &[("tools/lint.sh", CHECKS)],
        guts: &[("tools/lint.sh", "exit 0\n")],
        harmless: &[("tools/lint.sh", "grep -q right src.txt || exit 4\n")],
        named: "tools/lint.sh",
    },
    Gut {
        name: "a target behind a command of the settings",
        settings: "[checks.commands]\nlint = [\"make\", \"-s\", \"lint\"]\n",
        files: &[("Makefile", "lint:\n\tgrep -q right src.txt\n")],
        guts: &[("Makefile", "lint:\n\ttrue\n")],
        harmless: &[("Makefile", "lint:\n\tgrep -q right src.txt\nmore:\n\ttrue\n")],
        named: "Makefile",
    },
];

#[test]
fn hostile_dev_guts_a_command_of_the_settings() {
    OTHERS.iter().for_each(Gut::play);
}

/// The plan verifies itself by a target. The dev empties it; a plan that brings its target is not asked about.
#[test]
fn hostile_dev_guts_what_a_plan_is_verified_by() {
    let right = "verify:\n\tgrep -q right src.txt\n";
    for (base, source, target, lands) in [
        (right, "wrong\n", "verify:\n\ttrue\n", false),
        (right, "right, too\n", "verify:\n\tgrep -q right src.txt\nmore:\n\ttrue\n", true),
        ("other:\n\ttrue\n", "right, too\n", right, true),
    ] {
        let writes: Files<'_> = &[("src.txt", source), ("Makefile", target)];
        let mut show = project(
            "[checks]\nno_tests = true\n[gates]\noff = [\"project-tests\", \"project-build\"]\n",
            &[("Makefile", base)],
            writes,
        );
        show.verifies("make -s verify");
        if lands {
            show.passes();
            assert_eq!(show.landed("Makefile").as_deref(), Some(target.trim_end()));
        } else {
            let said = show.waits_and_lands_nothing();
            let expect =
                "`make -s verify`: exit code 0 only because the change also changes what judges it: ";
            assert!(said.contains(expect), "{said}");
        }
    }
}

/// What a person takes of another command's judge lands with no further question, and says so.
#[test]
fn a_person_may_take_another_judge_of_a_command_of_the_settings() {
    let writes: Files<'_> = &[("src.txt", "other\n"), ("tools/lint.sh", "grep -q other src.txt || exit 3\n")];
    let mut show = project(OTHERS[0].settings, OTHERS[0].files, writes);
    let said = show.expect(&["run"], 4).said();
    let id = show.questions()[0].0.clone();
    show.expect(&["decide", &id, "accept"], 0);
    assert_eq!(show.ended(), Ending::Passed, "{said}");
    assert!(show.messages().contains("Tribunal-Judge-Changed: tools/lint.sh"), "{}", show.messages());
    let report = show.expect(&["report"], 0).stdout;
    assert!(report.contains("judge changed: `sh tools/lint.sh`"), "{report}");
}

/// A tool in shell, and scripts that test it.
const GREETS: Files<'_> = &[
    ("Makefile", "test:\n\tsh t/run.sh\n"),
    ("bin/greet.sh", "echo hello\n"),
    ("t/run.sh", "for t in t/*_test.sh; do sh $t || exit 1; done\n"),
    ("t/greet_test.sh", "[ \"$(sh bin/greet.sh)\" = hello ] || exit 1\n"),
];

/// Files by which Python's runners can be steered, besides those that are in the table above.
const PYTHON: &[Gut<'_>] = &[Gut {
    name: "a function in another form",
    settings: "[checks]\ntest = [\"python3\", \"-m\", \"unittest\", \"discover\"]\n",
    files: &[("test_a.py", UNITTEST), ("test_b.py", "import unittest\n")],
    guts: &[(
        "test_b.py",
        "import unittest\n\nload_tests = lambda loader, tests, pattern: tests\nunittest.TestCase.run = lambda self, result=None: result.startTest(self)\n",
    )],
    harmless: &[("test_b.py", "import unittest\n\nload_tests = lambda loader, tests, pattern: tests\n")],
    named: "test_b.py",
}];

#[test]
fn hostile_dev_steers_pythons_runner() {
    PYTHON.iter().for_each(Gut::play);
}

/// Ordinary work on a tool in shell lands without a question: an expectation more, and one that changed with the tool.
#[test]
fn tests_in_shell_change_with_what_they_test() {
    let more = "[ \"$(sh bin/greet.sh)\" = hello ] || exit 1\n[ \"$(sh bin/greet.sh Bob)\" = \"hello Bob\" ] || exit 1\n";
    let greets = "[ $# -gt 0 ] && echo \"hello $1\" || echo hello\n";
    let other = "[ \"$(sh bin/greet.sh)\" = goodbye ] || exit 1\n";
    let weaker = "[ -n \"$(sh bin/greet.sh)\" ] || exit 1\n";
    for (code, test, lands) in
        [(greets, more, true), ("echo goodbye\n", other, true), ("echo goodbye\n", weaker, false)]
    {
        let writes: Files<'_> = &[("bin/greet.sh", code), ("t/greet_test.sh", test)];
        let mut show = project("", GREETS, writes);
        if lands {
            let said = show.passes();
            assert!(!said.contains("what judges it"), "{said}");
            assert_eq!(show.landed("t/greet_test.sh").as_deref(), Some(test.trim_end()));
        } else {
            let said = show.waits_and_lands_nothing();
            assert!(said.contains("with t/greet_test.sh of the base"), "{said}");
        }
    }
}

/// What a named person takes is the judge from then on: it lands with no further question, and says so.
#[test]
fn a_person_may_take_another_judge() {
    let writes: Files<'_> = &[("src.txt", "other\n"), ("check.sh", "grep -q other src.txt || exit 3\n")];
    let mut show = project(GUTS[0].settings, GUTS[0].files, writes);
    let said = show.expect(&["run"], 4).said();
    assert_eq!(show.questions().len(), 1, "{said}");
    let id = show.questions()[0].0.clone();
    let said = show.expect(&["decide", &id, "accept"], 0).said();
    assert_eq!(show.ended(), Ending::Passed, "{said}");
    assert_eq!(show.landed("src.txt").as_deref(), Some("other"));
    assert!(show.messages().contains("Tribunal-Accepted-By: "), "{}", show.messages());
    assert!(show.messages().contains("Tribunal-Judge-Changed: check.sh"), "{}", show.messages());
    let report = show.expect(&["report"], 0).stdout;
    assert!(report.contains("judge changed: `sh check.sh`"), "{report}");
}

/// Hooks of the user's own that call a script of the tree: each text, and the files of the base.
const HOOKS: &[(&str, Files<'_>)] = &[
    ("#!/bin/sh\nexec sh ci/lint.sh\n", &[]),
    ("#!/bin/sh\nroot=$(git rev-parse --show-toplevel)\n\"$root/ci/lint.sh\"\n", &[]),
    ("#!/bin/sh\ncd ci && ./lint.sh\n", &[]),
    ("#!/bin/sh\nexec make -s lint\n", &[("Makefile", "lint:\n\tsh ci/lint.sh\n")]),
    (
        "#!/usr/bin/env python3\nimport subprocess, sys\nsys.exit(subprocess.call(['sh', 'ci/lint.sh']))\n",
        &[],
    ),
    (
        "#!/bin/sh\nexec sh ci/all.sh\n",
        &[("ci/all.sh", "sh ci/some.sh\n"), ("ci/some.sh", "sh ci/lint.sh\n")],
    ),
];

/// It is the base's, whatever the change makes of it.
#[test]
fn hostile_dev_guts_a_script_that_a_hook_calls() {
    const LINT: &str =
        "#!/bin/sh\ncd \"$(git rev-parse --show-toplevel)\" && grep -q right src.txt || exit 1\n";
    let harmless = format!("{LINT}# more\n");
    for (hook, files) in HOOKS {
        for (text, source, lands) in
            [("#!/bin/sh\nexit 0\n", "wrong\n", false), (&harmless, "right, too\n", true)]
        {
            let writes: Files<'_> = &[("ci/lint.sh", text), ("src.txt", source)];
            let mut show = project("", files, writes);
            show.user_acts(|stage| {
                let run = |path: &std::path::Path| {
                    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
                };
                stage.write("ci/lint.sh", LINT)?;
                run(&stage.project().join("ci/lint.sh"));
                stage.git(&["add", "-A"])?;
                stage.git(&["commit", "-q", "-m", "chore: lint"])?;
                let path = stage.project().join(".git/hooks/pre-commit");
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(&path, hook).unwrap();
                run(&path);
                Ok(())
            });
            if lands {
                show.passes();
                assert_eq!(show.landed("ci/lint.sh").as_deref(), Some(text.trim_end()), "{hook}");
            } else {
                let said = show.waits_and_lands_nothing();
                assert!(said.contains("your pre-commit hook refuses the commit"), "{hook}: {said}");
            }
        }
    }
}

/// A hook that looks at a script of the tree sees it as the change has it, though it is also what the hook calls.
#[test]
fn a_hook_sees_the_script_that_it_looks_at() {
    for (text, lands) in [("if then\n", false), ("echo more\n", true)] {
        let writes: Files<'_> = &[("scripts/tool.sh", text)];
        let mut show = project("", &[("scripts/tool.sh", "echo one\n")], writes);
        show.user_acts(|stage| {
            let path = stage.project().join(".git/hooks/pre-commit");
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "#!/bin/sh\nfor f in scripts/*.sh; do sh -n $f || exit 1; done\n").unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
            Ok(())
        });
        if lands {
            show.passes();
            assert_eq!(show.landed("scripts/tool.sh").as_deref(), Some(text.trim_end()));
        } else {
            let said = show.waits_and_lands_nothing();
            assert!(said.contains("your pre-commit hook refuses the commit"), "{said}");
        }
    }
}

/// A judge that approves nothing while `src.txt` is wrong.
const JUDGE: &str = "#!/bin/sh\nword=$(sed -n 's/^Launch word: //p' | tail -1)\nif grep -q right src.txt; then\n\
    echo \"CHECKED $word: read src.txt, the word right is there, and bin/one.sh prints one\"\necho \"VERDICT $word: approve\"\nelse\n\
    echo \"[id:1] [severity:blocker] [confidence:95] [file:src.txt:1] issue: it is wrong | suggestion: put it right\"\n\
    echo \"VERDICT $word: reject\"\nfi\n";
const APPROVES: &str = "#!/bin/sh\nword=$(sed -n 's/^Launch word: //p' | tail -1)\n\
    echo \"CHECKED $word: read src.txt, the word right is there, and bin/one.sh prints one\"\necho \"VERDICT $word: approve\"\n";

/// The reviewer is a program of the repository. The dev rewrites it, and is judged by the one that was there.
#[test]
fn hostile_dev_rewrites_the_program_that_judges_it() {
    for words in ["\"./ci/judge\"", "\"sh\", \"ci/judge\""] {
        let settings = format!(
            "[task]\nrounds_max = 1\n[qa]\nreview = \"never\"\n[agents.roles.reviewer]\nadapter = \"command\"\nargs = [{words}]\n"
        );
        for (source, lands) in [("wrong\n", false), ("right, too\n", true)] {
            let mut show = project(&settings, &[], &[("src.txt", source), ("ci/judge", APPROVES)]);
            show.user_acts(|stage| {
                stage.write("ci/judge", JUDGE)?;
                let path = stage.project().join("ci/judge");
                std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
                stage.git(&["add", "-A"])?;
                stage.git(&["commit", "-q", "-m", "chore: a judge"]).map(drop)
            });
            if lands {
                show.passes();
                assert_eq!(show.landed("src.txt").as_deref(), Some("right, too"));
            } else {
                let said = show.waits_and_lands_nothing();
                assert!(said.contains("it is wrong"), "{said}");
            }
        }
    }
}

/// A program that only the change brings judges nothing.
#[test]
fn a_judge_that_the_base_does_not_have_did_not_run() {
    let settings = "[qa]\nreview = \"never\"\n[agents]\nbackup = false\n[agents.roles.reviewer]\nadapter = \"command\"\nargs = [\"sh\", \"ci/judge\"]\n";
    let mut show = project(settings, &[], &[("ci/judge", APPROVES)]);
    let said = show.waits_and_lands_nothing();
    let log = show.expect(&["log"], 0).stdout;
    assert!(format!("{said}{log}").contains("ci/judge is not in "), "{said}{log}");
}

/// A reviewer by command, with nobody who steps in for it.
fn judged_by(words: &str) -> String {
    format!(
        "[task]\nrounds_max = 1\n[qa]\nreview = \"never\"\n[agents]\nbackup = false\n[agents.roles.reviewer]\nadapter = \"command\"\nargs = [{words}]\n"
    )
}

/// How a judge is started, the files it is made of, what the dev makes of them, and the file that is named for it.
const ORDERED: &[(&str, Files<'_>, Files<'_>, &str)] = &[
    (
        "\"make\", \"-s\", \"judge\"",
        &[("Makefile", "judge:\n\t@sh ci/judge\n"), ("ci/judge", JUDGE)],
        &[("Makefile", "judge:\n\t@sh ci/yes\n"), ("ci/yes", APPROVES)],
        "Makefile",
    ),
    (
        "\"make\", \"-s\", \"judge\"",
        &[("Makefile", "judge:\n\t@sh ci/judge\n"), ("ci/judge", JUDGE)],
        &[("ci/judge", APPROVES)],
        "ci/judge",
    ),
    (
        "\"sh\", \"ci/judge\"",
        &[("ci/judge", ". ./ci/lib.sh\n"), ("ci/lib.sh", JUDGE)],
        &[("ci/lib.sh", APPROVES)],
        "ci/lib.sh",
    ),
];

/// The program that judges comes from the machine, or from the base, and does what a file of the change says: it has not
/// judged. A change that leaves these files alone is judged by it.
#[test]
fn hostile_dev_rewrites_the_orders_of_its_judge() {
    for (words, files, guts, named) in ORDERED {
        let settings = judged_by(words);
        let mut show = project(&settings, files, &[guts, &[("src.txt", "wrong\n")][..]].concat());
        let said = show.waits_and_lands_nothing();
        let log = show.expect(&["log"], 0).stdout;
        let told = format!("takes its orders from {named}");
        assert!(format!("{said}{log}").contains(&told), "{words}: {said}{log}");

        let mut show = project(&settings, files, &[("src.txt", "right, too\n")]);
        show.passes();
        assert_eq!(show.landed("src.txt").as_deref(), Some("right, too"), "{words}");
    }
}

/// The judge is looked for by its name, and a folder of the tree is among those it is looked for in: what lies there is
/// the dev's. The same program in a folder of the user's own judges.
#[test]
fn hostile_dev_puts_its_judge_on_the_search_path() {
    let run = |path: &std::path::Path, text: &str| {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    let settings = judged_by("\"the-judge\"");
    for entry in ["tools", "", "./tools"] {
        let file = if entry.is_empty() { "the-judge" } else { "tools/the-judge" };
        let mut show = project(&settings, &[], &[("src.txt", "wrong\n"), (file, APPROVES)]);
        show.user_acts(|stage| {
            run(&stage.project().join(file), JUDGE);
            stage.git(&["add", "-A"])?;
            stage.git(&["commit", "-q", "-m", "chore: a judge"]).map(drop)
        });
        show.stage.program_mut().prepend_path(std::path::Path::new(entry));
        let said = show.waits_and_lands_nothing();
        let log = show.expect(&["log"], 0).stdout;
        assert!(format!("{said}{log}").contains("the-judge"), "{entry:?}: {said}{log}");
    }
    let mut show = project(&settings, &[], &[("src.txt", "right, too\n")]);
    let bin = show.stage.root().join("own-bin");
    run(&bin.join("the-judge"), JUDGE);
    show.stage.program_mut().prepend_path(&bin);
    show.passes();
    assert_eq!(show.landed("src.txt").as_deref(), Some("right, too"));
}

/// A command that counts nothing is green, and everybody is told that nothing was counted.
#[test]
fn a_test_command_that_counts_nothing_says_so() {
    let mut show = project(GUTS[0].settings, GUTS[0].files, &[]);
    let said = show.passes();
    assert!(said.contains("tests not counted: `sh check.sh` exit code 0, no count"), "{said}");
    assert!(show.expect(&["status"], 0).stdout.contains("tests not counted"));
    assert!(show.messages().contains("Tribunal-Not-Counted: sh check.sh: exit code 0, no count"));
}

/// `true` is no test command, whoever configures it.
#[test]
fn a_test_command_that_tests_nothing_is_none() {
    let mut show = project("[checks]\ntest = [\"true\"]\n", &[], &[]);
    let doctor = show.tribunal(&["doctor"]).stdout;
    assert!(doctor.contains("`true` (`checks.test`) tests nothing"), "{doctor}");
    let said = show.passes();
    assert!(
        said.contains("`true` (checks.test) tests nothing: every pass will say that no tests ran"),
        "{said}"
    );
    assert!(said.contains("no tests ran: `true` tests nothing (checks.test)"), "{said}");
    assert!(show.expect(&["status"], 0).stdout.contains("no tests ran"));
    assert!(show.messages().contains("Tribunal-Not-Tested: no tests ran"), "{}", show.messages());
}
