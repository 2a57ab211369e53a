//! What should shut each gate of a run, and does: a check that did not run, a file outside the contract, and what a
//! SUMMARY says of it. What passes here would be green without anybody having looked.

use crate::show::Show;
use crate::stage::PHASE;
use crate::stage::scenes::{NO_GATE, PLAIN, Scene, dev_also};
use serde_json::Value;
use tribunal_core::run::Ending;

/// The events of one gate, by name.
fn events_of(show: &Show, gate: &str) -> Vec<String> {
    let path = show.stage.project().join(".planning/.events/event-log.jsonl");
    let log = std::fs::read_to_string(path).unwrap();
    let events = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let of_it = events.filter(|event| {
        let named = event["data"]["gate"].as_str().unwrap_or_default();
        named.trim_start_matches("check:") == gate
    });
    of_it.map(|event| event["event"].as_str().unwrap_or_default().to_owned()).collect()
}

type NoTests = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

/// What stands in for a suite, and why no test of it ran: the settings' command (or none: it is detected), the files
/// the project has.
const NO_TESTS: [NoTests; 7] = [
    ("a program that is not there", "test = [\"no-such-runner\"]", &[]),
    ("exit code 126", "test = [\"sh\", \"-c\", \"exit 126\"]", &[]),
    ("a runner that counts no test", "test = [\"cat\", \"tests/list\"]", &[("tests/list", NONE)]),
    ("a command that does not end", "test = [\"sleep\", \"600\"]\ntimeout_s = 1", &[]),
    (
        "a detected runner that cannot be imported",
        "",
        &[("pytest.ini", "[pytest]\n"), ("pytest.py", "import there_is_no_such_module\n")],
    ),
    (
        "a detected runner that is not there, with a test",
        "",
        &[
            ("setup.py", "\n"),
            ("pytest.py", "import there_is_no_such_module\n"),
            ("test_a.py", "def test_a(): pass\n"),
        ],
    ),
    (
        "a detected command that is not there",
        "",
        &[("package.json", "{\"scripts\": {\"test\": \"no-such-runner\"}}"), ("a.test.js", "test\n")],
    ),
];

/// A runner of our own that is started as pytest is: it counts files of tests, and runs none.
const PYTEST: &str = "import pathlib, sys\nnames = sorted(p.name for p in pathlib.Path('.').glob('test_*.py'))\n\
    for name in names:\n    print(f'PASSED {name}::test')\n\
    print(f'= {len(names)} passed in 0.01s =' if names else '= no tests ran in 0.01s =')\n\
    sys.exit(0 if names else 5)\n";

/// New projects, where a test command is detected and there is nothing that it could run.
const NEW_PROJECTS: [(&str, &[(&str, &str)]); 3] = [
    ("a runner that finds no test", &[("setup.py", "\n"), ("pytest.py", PYTEST)]),
    (
        "a runner that is not installed",
        &[("setup.py", "\n"), ("pytest.py", "import there_is_no_such_module\n")],
    ),
    (
        "a runner that counts none",
        &[("package.json", "{\"scripts\": {\"test\": \"cat list\"}}"), ("list", NONE)],
    ),
];

/// Nobody is asked at every plan of a new project, and nothing is called green: the terminal, the report, the log and the
/// landed commit say that no tests ran. Whoever configures the command asked for it, and is stopped.
#[test]
fn a_new_project_without_tests_is_told_so_and_not_stopped() {
    for (what, files) in NEW_PROJECTS {
        let mut show = Show::of(&PLAIN);
        show.user_commits(files);
        let said = show.expect(&["run"], 0).said();
        assert!(said.contains("no tests ran: `"), "{what}: {said}");
        assert_eq!(show.ended(), Ending::Passed, "{what}");
        for check in ["project-tests", "check-regression"] {
            let events = events_of(&show, check);
            let none = events.iter().all(|event| event == "gate_did_not_run") && !events.is_empty();
            assert!(none, "{what}: {check} {events:?}");
        }
        let report = show.expect(&["report", "--format", "markdown"], 0).stdout;
        assert!(
            report.contains("no tests ran")
                && !report.contains("check-regression: passed")
                && !report.contains("project-tests: passed"),
            "{what}: {report}"
        );
        assert!(show.messages().contains("Tribunal-Not-Tested: no tests ran"), "{what}: {}", show.messages());
        show.user_acts(|stage| {
            let alone = stage.tribunal(&["check-regression", PHASE, "--base", "HEAD"])?;
            assert_eq!(alone.code, Some(3), "{what}: {}", alone.said());
            Ok(())
        });
    }
    let settings = format!("{NO_GATE}[checks]\ntest = [\"python3\", \"-m\", \"pytest\"]\n");
    let mut show = Show::of(&Scene { settings: settings.leak(), ..PLAIN });
    show.user_commits(&[("pytest.py", PYTEST)]);
    show.expect(&["run"], 4);
    assert_eq!(show.landed("bin/one.sh"), None);
}

/// The first tests of a project are compared with none, and land; the commit then says nothing of missing tests. Whoever
/// takes the last test away is stopped.
#[test]
fn the_first_test_counts_and_the_last_one_is_missed() {
    let first = dev_also("{ write = \"test_a.py\", text = \"def test_a(): pass\\n\" },");
    let mut show = Show::script(&first);
    show.user_commits(&[("setup.py", "\n"), ("pytest.py", PYTEST)]);
    show.claims("test_a.py");
    show.expect(&["run"], 0);
    assert_eq!(events_of(&show, "check-regression"), ["gate_passed"]);
    assert!(!show.messages().contains("Tribunal-Not-Tested"), "{}", show.messages());
    let last = dev_also("{ delete = \"test_a.py\" },");
    let mut show = Show::script(&last);
    show.user_commits(&[("setup.py", "\n"), ("pytest.py", PYTEST), ("test_a.py", "def test_a(): pass\n")]);
    show.claims("test_a.py");
    let said = show.expect(&["run"], 4).said();
    assert_eq!(events_of(&show, "project-tests"), ["gate_failed"], "{said}");
    assert_eq!(show.landed("bin/one.sh"), None);
}

/// A runner that breaks with the change is no project without tests.
#[test]
fn a_runner_that_the_change_breaks_stops_the_run() {
    let breaks = dev_also(
        "{ write = \"test_a.py\", text = \"x\\n\" }, { write = \"pytest.py\", text = \"import no_such_thing\\n\" },",
    );
    let mut show = Show::script(&breaks);
    show.user_commits(&[("setup.py", "\n"), ("pytest.py", PYTEST)]);
    show.claims("test_a.py\n  - pytest.py");
    show.expect(&["run"], 4);
    assert_eq!(show.landed("bin/one.sh"), None);
}
const NONE: &str =
    "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n";

/// Backs "A check that did not run is not green" (docs/concepts.md) and "A gate that could not look did not run"
/// (docs/protocol.md): the run stops and asks, and says what the command says on the same files.
#[test]
fn tests_that_did_not_run_stop_the_run() {
    for (what, test, files) in NO_TESTS {
        let settings = format!("{NO_GATE}[checks]\n{test}\n");
        let mut show = Show::of(&Scene { settings: settings.leak(), ..PLAIN });
        if !files.is_empty() {
            show.user_commits(files);
        }
        let said = show.expect(&["run"], 4).said();
        assert!(said.contains("did not run") || said.contains("ran no test"), "{what}: {said}");
        let (id, offers) = show.questions().remove(0);
        for offer in ["ask-again", "fixed", "accept", "stop"] {
            assert!(offers.contains(&offer), "{what}: {offers:?}");
        }
        assert_eq!(show.landed("bin/one.sh"), None, "{what}");
        let events = events_of(&show, "project-tests");
        assert!(
            events.iter().all(|event| event == "gate_did_not_run") && !events.is_empty(),
            "{what}: {events:?}"
        );
        show.user_acts(|stage| {
            let alone = stage.tribunal(&["check-regression", PHASE, "--base", "HEAD"])?;
            assert_eq!(alone.code, Some(3), "{what}: {}", alone.said());
            Ok(())
        });
        show.expect(&["decide", &id, "accept"], 0);
        assert_eq!(show.ended(), Ending::Passed, "{what}: a person may take it");
    }
}

/// Where the settings say that it stops nothing, it is still no pass: not in the events, not in the report.
#[test]
fn what_stops_nothing_is_no_pass() {
    let settings =
        format!("{NO_GATE}[gates]\nerrors = \"continue\"\n[checks]\ntest = [\"no-such-runner\"]\n");
    let mut show = Show::of(&Scene { settings: settings.leak(), ..PLAIN });
    show.expect(&["run"], 0);
    assert_eq!(events_of(&show, "check-regression"), ["gate_did_not_run"]);
    let report = show.expect(&["report", "--format", "markdown"], 0).stdout;
    assert!(!report.contains("check-regression: passed"), "{report}");
    assert!(
        report.contains("**check check-regression** on plan 01-01, its delivery: did not run"),
        "{report}"
    );
}

/// Before the change the project's tests ran; the change breaks them before the first one runs.
#[test]
fn a_suite_that_breaks_is_worse_whatever_it_prints() {
    let settings = format!("{NO_GATE}[checks]\ntest = [\"sh\", \"tests/run.sh\"]\n");
    let dev = dev_also("{ write = \"tests/run.sh\", text = \"echo cannot build; exit 101\\n\" },");
    let mut show = Show::with(settings.leak(), &dev);
    let list = "echo 'test a ... ok'; echo; echo 'test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out'\n";
    show.user_commits(&[("tests/run.sh", list)]);
    show.claims("tests/run.sh");
    let said = show.expect(&["run"], 4).said();
    assert!(said.contains("exit code 0 before, exit code 101 now"), "{said}");
    assert_eq!(show.landed("bin/one.sh"), None);
    assert!(events_of(&show, "project-tests").iter().all(|event| event == "gate_failed"), "{said}");
}

const OUTSIDE: &str = "{ write = \"other.txt\", text = \"mine\\n\" },";

/// Backs "what they may change is fixed by the plan" (docs/concepts.md): a file outside the contract is sent back.
#[test]
fn a_file_outside_the_contract_is_sent_back() {
    let first = dev_also(OUTSIDE).replace("task = 1", "task = 1\nround = 1");
    let second = dev_also(
        "{ expect = \"other.txt is not among the contract's allowed paths\" }, { delete = \"other.txt\" },",
    );
    let second = second
        .replace("task = 1", "task = 1\nround = 2")
        .replace("SUMMARY: one.sh.", "FIXED: {finding:1}\\nSUMMARY: one.sh.");
    let mut show = Show::script(&format!("{first}{second}"));
    show.expect(&["run"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    assert_eq!(show.landed("other.txt"), None);
    let summary = show.landed(&format!("{PHASE}/01-01-SUMMARY.md")).unwrap();
    assert!(summary.contains("## Deviations\n\nNone"), "what was taken back is none: {summary}");
}

/// Whoever fixes a delivery is held to the same contract.
#[test]
fn a_file_outside_the_contract_is_a_blocker_in_a_fixed_delivery_too() {
    const SCRIPT: &str = r##"
[[turn]]
role = "reviewer"
use = "qa"
round = 1
do = [ { say = "{finding:1}: still there\nCHECKED: every task serves a must-have; ran git show --stat, the files are those of the plan.\nVERDICT: reject" } ]

[[turn]]
role = "dev"
use = "qa"
round = 2
do = [
  { write = "bin/one.sh", text = "#!/bin/sh\necho one\n# everybody rejoices\n" },
  { write = "other.txt", text = "mine\n" },
  { say = "FIXED: {finding:1}\nSUMMARY: it says so.\nTASK: done" },
]

[[turn]]
role = "reviewer"
use = "qa"
round = 2
optional = true
do = [ { say = "{finding:1}: not an issue because bin/one.sh:3 says it\nCHECKED: every task serves a must-have; ran git show --stat, the files are those of the plan.\nVERDICT: approve" } ]

[[turn]]
role = "dev"
use = "qa"
round = 3
do = [
  { expect = "other.txt is not among the contract's allowed paths" },
  { delete = "other.txt" },
  { say = "FIXED: {finding:1}\nSUMMARY: taken back.\nTASK: done" },
]

[[turn]]
role = "reviewer"
use = "qa"
round = 3
optional = true
do = [ { say = "{finding:1}: not an issue because bin/one.sh:3 says it\nCHECKED: every task serves a must-have; ran git show --stat, the files are those of the plan.\nVERDICT: approve" } ]
"##;
    let mut show = Show::with_plan(&Scene { script: SCRIPT, ..PLAIN }, |text| {
        text.replace("must_haves:\n", "must_haves:\n  - \"everybody rejoices\"\n")
    });
    show.tribunal(&["run"]);
    assert_eq!(show.landed("other.txt"), None, "nobody claimed it");
}

/// A person may let it in; the SUMMARY then says so, whatever the dev says.
#[test]
fn a_deviation_a_person_accepts_stands_in_the_summary() {
    let dev = dev_also(OUTSIDE).replace("task = 1\n", "task = 1\ntimes = 2\n");
    let mut show = Show::script(&dev);
    show.expect(&["run"], 4);
    assert_eq!(show.landed("other.txt"), None);
    let (id, offers) = show.questions().remove(0);
    assert!(offers.contains(&"accept"), "{offers:?}");
    show.expect(&["decide", &id, "accept"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    let summary = show.landed(&format!("{PHASE}/01-01-SUMMARY.md")).unwrap();
    let (_, deviations) = summary.split_once("## Deviations\n\n").unwrap();
    assert!(
        deviations.contains("other.txt is not among the contract's allowed paths (left open)"),
        "{summary}"
    );
    assert!(!summary.contains("deviations: []"), "{summary}");
}

/// A plan that names no paths is held to none but the protected ones.
#[test]
fn a_plan_without_paths_has_no_path_contract() {
    let mut show = Show::script(&dev_also(OUTSIDE)).without_paths();
    show.expect(&["run"], 0);
    assert_eq!(show.landed("other.txt").as_deref(), Some("mine"));
}
