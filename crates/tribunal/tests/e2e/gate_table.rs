//! One table over the gates around a task and a plan, and over what can become of each: asked by `hard-gate`, and in a
//! run. Both give the same answer, and one that did not run is green in neither.

use crate::show::Show;
use crate::stage::PHASE;
use crate::stage::scenes::{NO_GATE, PLAIN, Plan, Scene, TWO_TASKS};
use serde_json::Value;

/// What a gate answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Passes,
    Fails,
    DidNotRun,
}
use Answer::{DidNotRun, Fails, Passes};

/// How a cell is brought about. `None` where it cannot come to that, with the reason in the table below.
struct Cell {
    gate: &'static str,
    case: &'static str,
    expect: Answer,
    /// Changes the plan.
    plan: fn(&str) -> String,
    /// The plan's tasks.
    plans: &'static [Plan],
    settings: &'static str,
    /// What is done before the command is asked, beside making the contract.
    before: fn(&Show),
}

const CONTRACT: &str = ".planning/.contracts/01-01.json";

fn as_it_is(text: &str) -> String {
    format!("{text}\n")
}

fn nothing(_: &Show) {}

/// A check of the contract in the place of the plan's own.
macro_rules! check {
    ($line:expr) => {
        |text: &str| text.replace("> verification: sh bin/one.sh", concat!("> verification: ", $line))
    };
}

fn delivered(show: &Show) {
    let report = "---\nstatus: passed\nchecks_passed: 1\nchecks_failed: 0\nchecks_total: 1\n---\n";
    verified(show, report);
}

fn verified(show: &Show, report: &str) {
    put(show, &format!("{PHASE}/01-01-VERIFICATION.md"), report);
}

fn put(show: &Show, path: &str, text: &str) {
    let path = show.stage.project().join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

const BASE: Cell = Cell {
    gate: "",
    case: "passes",
    expect: Passes,
    plan: as_it_is,
    plans: PLAIN.plans,
    settings: NO_GATE,
    before: nothing,
};

/// The first task's check holds until the second task is done: it passes on its task and not on the delivery.
const UNTIL_TWO: &[Plan] = &[Plan {
    number: "01",
    wave: 1,
    depends_on: "",
    tasks: &[("bin/one.sh", "test ! -e bin/two.sh"), ("bin/two.sh", "true")],
}];
const LOST_AT_TWO: &[Plan] = &[Plan {
    number: "01",
    wave: 1,
    depends_on: "",
    tasks: &[("bin/one.sh", "test ! -e bin/two.sh || no-such-program"), ("bin/two.sh", "true")],
}];
const TIMEOUT: &str = "[plan]\nreview = \"never\"\n[checks]\ntimeout_s = 1\n";

/// The table. What is not in it cannot happen: a lease that is taken makes the run wait (`lease-lock` has its own
/// tests), a subject of a commit is written by Tribunal in a run, and gates that start no command cannot lose one.
fn table() -> Vec<Cell> {
    let mut cells = vec![
        Cell { gate: "contract_compliance", ..BASE },
        Cell {
            gate: "contract_compliance",
            case: "fails",
            expect: Fails,
            plan: |text| text.replace("must_haves:\n  - \"bin/one.sh prints a word\"\n", "must_haves: []\n"),
            ..BASE
        },
        Cell { gate: "protected_file", ..BASE },
        Cell {
            gate: "protected_file",
            case: "fails",
            expect: Fails,
            plan: |text| text.replace("files_modified:", "files_forbidden:\n  - bin\nfiles_modified:"),
            ..BASE
        },
        Cell {
            gate: "commit_hygiene",
            before: |show| {
                show.stage.git(&["commit", "-q", "--allow-empty", "-m", "feat(01-01): fine"]).unwrap();
            },
            ..BASE
        },
        Cell { gate: "artifact_persistence", before: |show| summary(show), ..BASE },
        Cell {
            gate: "artifact_persistence",
            case: "fails",
            expect: Fails,
            plan: |text| {
                text.replace("files_modified:", "expected_artifacts:\n  - out/report.txt\nfiles_modified:")
            },
            before: |show| {
                summary(show);
                registered(show, "gone.txt", true);
            },
            ..BASE
        },
        Cell { gate: "verification_threshold", before: delivered, ..BASE },
        Cell { gate: "verification_threshold", plans: TWO_TASKS, before: delivered, ..BASE },
        Cell {
            gate: "verification_threshold",
            case: "fails",
            expect: Fails,
            plans: UNTIL_TWO,
            before: |show| verified(show, "---\nchecks_passed: 1\nchecks_failed: 1\n---\n"),
            ..BASE
        },
        Cell {
            gate: "verification_threshold",
            case: "command missing",
            expect: DidNotRun,
            plans: LOST_AT_TWO,
            ..BASE
        },
    ];
    let required = |case, expect, plan| Cell { gate: "required_checks", case, expect, plan, ..BASE };
    cells.extend([
        required("passes", Passes, as_it_is),
        required("fails", Fails, check!("false")),
        required("command missing", DidNotRun, check!("no-such-program")),
        required("exit 126", DidNotRun, check!("exit 126")),
        required("exit 127", DidNotRun, check!("exit 127")),
        required("unreadable file", DidNotRun, check!("./README.md")),
        required("zero tests", DidNotRun, check!("echo running 0 tests; echo test result: ok. 0 passed")),
        required("killed", DidNotRun, check!("kill -9 $$")),
        required("a child is killed", DidNotRun, check!("sh -c 'kill -9 $$'")),
        required("forbidden", DidNotRun, check!("sudo true")),
        Cell { settings: TIMEOUT, ..required("timeout", DidNotRun, check!("sleep 600")) },
    ]);
    cells
}

fn summary(show: &Show) {
    let text = "---\nphase: \"01\"\nplan: \"01\"\ntitle: t\nstatus: complete\ncompleted: 2026-01-01\ntasks_completed: 1\n\
        tasks_total: 1\ncommit_hashes: []\ndeviations: []\n---\n\n## What Was Built\n\nx\n\n## Files Modified\n\nx\n\n## Deviations\n\nNone\n";
    put(show, &format!("{PHASE}/01-01-SUMMARY.md"), text);
}

fn registered(show: &Show, path: &str, gone: bool) {
    put(show, path, "made\n");
    let ended = show.stage.tribunal(&["artifact-registry", "register", path, "e-1", "01", "01"]).unwrap();
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    if gone {
        std::fs::remove_file(show.stage.project().join(path)).unwrap();
    }
}

fn show_of(cell: &Cell) -> Show {
    let mut show = Show::of(&Scene { plans: cell.plans, settings: cell.settings, ..PLAIN });
    let path = format!("{PHASE}/01-01-PLAN.md");
    let text = std::fs::read_to_string(show.stage.project().join(&path)).unwrap();
    let changed = (cell.plan)(&text);
    assert_ne!(changed, text, "{} {}: the plan is as it was", cell.gate, cell.case);
    show.user_commits(&[(&path, &changed)]);
    show
}

/// What `hard-gate` says.
fn asked(cell: &Cell) -> Answer {
    let show = show_of(cell);
    let ended = show.stage.tribunal(&["generate-contract", &format!("{PHASE}/01-01-PLAN.md")]).unwrap();
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    put(&show, "bin/one.sh", "echo one\n");
    (cell.before)(&show);
    let ended = show.stage.tribunal(&["hard-gate", cell.gate, "01", "01", "1", CONTRACT]).unwrap();
    match ended.code {
        Some(0) => Passes,
        Some(2) => Fails,
        Some(3) => DidNotRun,
        code => panic!("{} {}: {code:?} {}", cell.gate, cell.case, ended.said()),
    }
}

/// What a run says: the last event of the gate. Nothing lands where it is not open.
fn ran(cell: &Cell) -> Answer {
    let mut show = show_of(cell);
    let ended = show.tribunal(&["run"]);
    let path = show.stage.project().join(".planning/.events/event-log.jsonl");
    let log = std::fs::read_to_string(path).unwrap();
    let events = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let of_it = events.filter(|event| event["data"]["gate"] == cell.gate);
    let names: Vec<String> = of_it.map(|event| event["event"].as_str().unwrap().to_owned()).collect();
    // The first is about the first task: what a builder did about it is another matter.
    let first = names.iter().find(|name| *name != "gate_passed").or(names.first());
    let landed = show.landed("bin/one.sh").is_some();
    let what = format!("{} {}: {names:?} {}", cell.gate, cell.case, ended.said());
    match first.map(String::as_str) {
        Some("gate_passed") => {
            assert!(ended.code == Some(0) && landed, "{what}");
            Passes
        }
        Some("gate_failed") => {
            assert!(ended.code == Some(4) && !landed, "{what}");
            Fails
        }
        Some("gate_did_not_run") => {
            assert!(ended.code == Some(4) && !landed, "{what}");
            assert!(
                !names.contains(&"gate_passed".to_owned())
                    || cell.plans.len() > 1
                    || cell.plans[0].tasks.len() > 1,
                "{what}"
            );
            DidNotRun
        }
        _ => panic!("the gate was never asked: {what}"),
    }
}

/// Backs "A gate that could not look did not run" (docs/protocol.md): the command and the run agree, cell by cell.
#[test]
fn every_gate_answers_alike_in_the_command_and_in_a_run() {
    for cell in table() {
        let (asked, ran) = (asked(&cell), ran(&cell));
        assert_eq!((asked, ran), (cell.expect, cell.expect), "{} {}", cell.gate, cell.case);
    }
}

/// The gates before a task are asked in their order, before anybody is paid.
#[test]
fn nobody_is_launched_while_a_gate_before_the_task_is_shut() {
    let all = table();
    for gate in ["contract_compliance", "protected_file"] {
        let cell = all.iter().find(|cell| cell.gate == gate && cell.expect == Fails).unwrap();
        let mut show = show_of(cell);
        let said = show.expect(&["run"], 4).said();
        assert_eq!(show.stage.launched(), Vec::<String>::new(), "{said}");
        assert!(said.contains(gate), "the question says which gate: {said}");
    }
    let mut show = show_of(&all[0]);
    show.expect(&["run"], 0);
    let log =
        std::fs::read_to_string(show.stage.project().join(".planning/.events/event-log.jsonl")).unwrap();
    let at = |words: &str| log.find(words).unwrap_or_else(|| panic!("{words}: {log}"));
    assert!(at("\"contract_compliance\"") < at("\"lease\"") && at("\"lease\"") < at("\"protected_file\""));
    for gate in ["required_checks", "commit_hygiene", "artifact_persistence", "verification_threshold"] {
        assert!(at("\"protected_file\"") < at(&format!("\"{gate}\"")), "{gate}");
    }
}

/// The plan that was approved is the one that counts: another text under its name opens nothing.
#[test]
fn a_plan_that_was_changed_after_its_approval_is_no_contract() {
    let settings = "[plan]\nreview = \"never\"\n[run]\nautonomy = \"cautious\"\n";
    let mut show = Show::of(&Scene { settings, ..PLAIN });
    show.expect(&["run"], 4);
    let (_, run_state) = show.stage.newest().unwrap().unwrap();
    let plan = run_state.run.as_ref().unwrap().spec().plans[0].revision.to_string();
    let file = show.stage.root().join("other");
    let path = show.stage.project().join(format!("{PHASE}/01-01-PLAN.md"));
    let text = std::fs::read_to_string(path).unwrap();
    show.put(&file, &text.replace("bin/one.sh (new)", "bin/any.sh (new)"));
    let name = format!("refs/tribunal/{}/rev/{plan}", show.run());
    let blob = show.stage.git(&["hash-object", "-w", &file.display().to_string()]).unwrap();
    show.stage.git(&["update-ref", &name, &blob]).unwrap();
    let said = show.expect(&["decide", "01-01/plan", "accept"], 4).said();
    assert!(said.contains("was changed after it was approved"), "{said}");
    assert_eq!(show.landed("bin/one.sh"), None);
}

/// A registry that cannot be read says nothing of what is kept.
#[test]
fn a_registry_that_is_broken_is_no_pass() {
    let show = show_of(&BASE);
    let ended = show.stage.tribunal(&["generate-contract", &format!("{PHASE}/01-01-PLAN.md")]).unwrap();
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    summary(&show);
    registered(&show, "kept.txt", false);
    let ask =
        || show.stage.tribunal(&["hard-gate", "artifact_persistence", "01", "01", "1", CONTRACT]).unwrap();
    assert_eq!(ask().code, Some(0));
    put(&show, ".planning/.artifacts/registry.jsonl", "{\"path\": \"kept.t");
    let broken = ask();
    assert_eq!(broken.code, Some(3), "{}", broken.said());
}
