//! The gates of a run: what a task may touch, what a SUMMARY must say, and what a delivery must show before it lands.

use crate::show::Show;
use crate::stage::PHASE;
use crate::stage::scenes::{
    APPROVES, DELIVERY_WRONG, NO_GATE, ONE, PLAIN, Plan, SILENT, SUMMARY_ASKED, Scene, TWO_PLANS, dev_also,
    reviewer_does,
};
use tribunal_core::run::Ending;

fn launches(show: &Show, of: &str) -> usize {
    show.stage.launched().iter().filter(|effect| effect.contains(of)).count()
}

fn summary(show: &Show) -> String {
    show.landed(&format!("{PHASE}/01-01-SUMMARY.md")).unwrap_or_default()
}

#[test]
fn a_clean_delivery_needs_no_agent() {
    let mut show = Show::of(&PLAIN);
    show.expect(&["run"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    assert_eq!(launches(&show, "/qa"), 0, "{:?}", show.stage.launched());
    let log = show.expect(&["log", "--json"], 0).stdout;
    for check in ["verify-plan-completion", "commit-lint", "diff-against-plan", "validate-requirements"] {
        assert!(log.contains(check), "{check}: {log}");
    }
    let text = summary(&show);
    for words in ["title:", "deviations:", "tasks_total: 1", "one.sh prints one.", "`bin/one.sh` -- created"]
    {
        assert!(text.contains(words), "{words}: {text}");
    }
}

/// A dev that fixes its wrong delivery wrongly, and then right.
const FIXED_IN_TWO: &str = r###"
[[turn]]
role = "dev"
use = "qa"
round = 2
do = [
  { expect = "bin/other.sh" },
  { write = "{SUMMARY}", text = "## What Was Built\n\n- one.sh\n\n## Files Modified\n\n- `bin/one.sh` -- created: prints one\n- `bin/more.sh` -- created: no\n" },
  { say = "FIXED: {finding:1}\nFIXED: {finding:2}\nTASK: done" },
]

[[turn]]
role = "reviewer"
use = "qa"
round = 2
do = [ { say = "CHECKED: ran git show --stat, the files are those of the plan.\nVERDICT: approve" } ]

[[turn]]
role = "dev"
use = "qa"
round = 3
do = [
  { expect = "bin/more.sh" },
  { write = "{SUMMARY}", text = "## What Was Built\n\n- one.sh\n\n## Files Modified\n\n- `bin/one.sh` -- created: prints one\n" },
  { say = "FIXED: {finding:1}\nTASK: done" },
]
"###;

#[test]
fn a_delivery_is_fixed_in_two_rounds() {
    let mut show = Show::of(&Scene { script: DELIVERY_WRONG, more: FIXED_IN_TWO, ..PLAIN });
    show.expect(&["run"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    assert!(summary(&show).contains("`bin/one.sh` -- created: prints one"), "{}", summary(&show));
    assert!(
        !show.messages().contains("fix what the delivery"),
        "no commit without a change: {}",
        show.messages()
    );
    let report = show.expect(&["report"], 0).stdout;
    assert!(report.contains("bin/other.sh"), "{report}");
}

/// A dev that says it fixed its delivery, and did nothing; then it does.
const FIXED_LATE: &str = r###"
[[turn]]
role = "dev"
use = "qa"
round = 2
do = [ { expect = "bin/other.sh" }, { say = "FIXED: {finding:1}\nFIXED: {finding:2}\nTASK: done" } ]

[[turn]]
role = "reviewer"
use = "qa"
round = 2
do = [ { say = "CHECKED: nothing was fixed.\nVERDICT: approve" } ]

[[turn]]
role = "dev"
use = "qa"
round = 3
do = [
  { expect = "bin/other.sh" },
  { write = "{SUMMARY}", text = "## What Was Built\n\n- one.sh\n\n## Files Modified\n\n- `bin/one.sh` -- created: prints one\n" },
  { say = "FIXED: {finding:1}\nFIXED: {finding:2}\nTASK: done" },
]
"###;

/// What was not fixed is the same finding, not a new one.
#[test]
fn a_failed_check_keeps_its_id_until_it_is_fixed() {
    let mut show = Show::of(&Scene { script: DELIVERY_WRONG, more: FIXED_LATE, ..PLAIN });
    show.expect(&["run"], 0);
    let run_state = show.run_state();
    let (_, review_loop) = run_state.loops.iter().find(|(id, _)| id.as_str().contains("/qa")).unwrap();
    let ids: Vec<String> = review_loop.ledger().iter().map(|entry| format!("{entry:?}")).collect();
    assert_eq!(ids.len(), 2, "{ids:#?}");
}

/// The project has tests; the dev takes one out.
const LOSES_A_TEST: &str = r##"
[[turn]]
role = "dev"
use = "task"
plan = "01-01"
task = 1
do = [
  { write = "bin/one.sh", text = "echo one\n" },
  { write = "tests/list", text = "test a ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n" },
  { say = "SUMMARY: one.sh prints one.\nTASK: done" },
]

[[turn]]
role = "reviewer"
use = "qa"
do = [ { expect = "check-regression" }, { say = "CHECKED: ran git show --stat, the files are those of the plan.\nVERDICT: approve" } ]
"##;

#[test]
fn a_lost_test_is_a_hard_stop() {
    let settings = format!("{NO_GATE}[checks]\ntest = [\"cat\", \"tests/list\"]\n");
    let scene = Scene { script: LOSES_A_TEST, settings: settings.leak(), ..PLAIN };
    let before = "test a ... ok\ntest b ... ok\n\ntest result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n";
    let mut show = Show::of(&scene);
    show.user_commits(&[("tests/list", before)]);
    show.claims("tests/list");
    let said = show.expect(&["run"], 4).stdout;
    assert!(said.contains("not the dev's to fix") || said.contains("architect"), "{said}");
    assert_eq!(show.questions().len(), 1);
    assert_eq!(launches(&show, "/qa"), 1, "no dev is sent: {:?}", show.stage.launched());
    let asked = show.expect(&["inbox"], 0).stdout;
    assert!(asked.contains("b: "), "the test is named: {asked}");
    let state =
        std::fs::read_to_string(show.stage.project().join(".planning/.execution-state.json")).unwrap();
    let state: serde_json::Value = serde_json::from_str(&state).unwrap();
    let cycle = &state["qa_loops"]["01-01"]["failed_checks_per_cycle"][0];
    assert_eq!((&cycle["hard_stop"], &cycle["dev_fixable"]), (&1.into(), &0.into()), "{state}");
    let id = show.questions()[0].0.clone();
    show.expect(&["decide", &id, "accept"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    let log =
        std::fs::read_to_string(show.stage.project().join(".planning/.events/event-log.jsonl")).unwrap();
    for event in ["qa_loop_start", "qa_loop_cycle", "qa_loop_end"] {
        assert_eq!(log.matches(event).count(), 1, "{event}: {log}");
    }
}

/// A delivery that a person fixed is held against where the plan began, not against what they left out.
#[test]
fn a_delivery_fixed_by_hand_is_judged_whole() {
    let settings = format!("{NO_GATE}[checks]\ntest = [\"cat\", \"tests/list\"]\n");
    let scene = Scene { script: LOSES_A_TEST, settings: settings.leak(), ..PLAIN };
    let before = "test a ... ok\ntest b ... ok\n\ntest result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n";
    let mut show = Show::of(&scene);
    show.user_commits(&[("tests/list", before)]);
    show.claims("tests/list");
    show.expect(&["run"], 4);
    let id = show.questions()[0].0.clone();
    show.expect(&["decide", &id, "fixed"], 2);
    show.put(&show.place(&id).join("bin/one.sh"), "echo one, by hand\n");
    show.expect(&["decide", &id, "fixed"], 4);
    let id = show.questions()[0].0.clone();
    // The plan claims the list, so the delivery changes it.
    let after = format!("by hand\n{before}");
    show.put(&show.place(&id).join("tests/list"), &after);
    show.expect(&["decide", &id, "fixed"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    assert_eq!(show.landed("tests/list").as_deref(), Some(after.trim_end()));
    assert_eq!(show.landed("bin/one.sh").as_deref(), Some("echo one, by hand"));
}

/// Every test it names passes, and the command that runs them fails all the same.
#[test]
fn a_test_command_that_fails_is_no_pass() {
    let settings = format!("{NO_GATE}[checks]\ntest = [\"sh\", \"tests/run.sh\"]\n");
    let script = LOSES_A_TEST.replace("tests/list", "tests/run.sh").replace(
        "test a ... ok\\n\\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\\n",
        "cat tests/list; exit 1\\n",
    );
    let mut show = Show::of(&Scene { script: script.leak(), settings: settings.leak(), ..PLAIN });
    let list =
        "test a ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n";
    show.user_commits(&[("tests/list", list), ("tests/run.sh", "cat tests/list\n")]);
    show.claims("tests/run.sh");
    show.expect(&["run"], 4);
    let asked = show.expect(&["inbox"], 0).stdout;
    assert!(asked.contains("`sh tests/run.sh`: exit code 0 before, exit code 1 now"), "{asked}");
}

/// Without a command that runs tests none was compared, and everybody is told.
#[test]
fn tests_that_nobody_ran_are_told() {
    let mut show = Show::of(&PLAIN);
    let said = show.expect(&["run"], 0).stdout;
    assert!(said.contains("no tests ran: no test command is known for this project"), "{said}");
    assert!(show.expect(&["report"], 0).stdout.contains("no tests ran"));
}

/// A SUMMARY that says complete and does not hold is neither believed nor built over.
#[test]
fn a_summary_of_empty_words_finishes_no_plan() {
    let path = ".planning/phases/01-tools/01-01-SUMMARY.md";
    let mut show = Show::of(&PLAIN);
    show.user_commits(&[(path, "---\nphase: \"01\"\nplan: \"01\"\nstatus: complete\n---\n")]);
    let said = show.expect(&["run"], 2).said();
    assert!(
        said.contains("01-01-SUMMARY.md: it says complete, but frontmatter_fields does not hold"),
        "{said}"
    );
    assert!(said.contains("remove it and the plan is built anew"), "{said}");
}

#[test]
fn tests_that_cannot_run_are_no_pass() {
    let settings = format!("{NO_GATE}[checks]\ntest = [\"no-such-runner\"]\n");
    let mut show = Show::of(&Scene { settings: settings.leak(), ..PLAIN });
    let said = show.expect(&["run"], 4).stdout;
    assert!(said.contains("no-such-runner"), "{said}");
    // Whoever wants to go on without it says so, and every report repeats it.
    let settings =
        format!("{NO_GATE}[gates]\nerrors = \"continue\"\n[checks]\ntest = [\"no-such-runner\"]\n");
    let mut show = Show::of(&Scene { settings: settings.leak(), ..PLAIN });
    show.expect(&["run"], 0);
    let report = show.expect(&["report"], 0).stdout;
    assert!(report.contains("did not stop anything"), "{report}");
}

#[test]
fn a_dev_that_says_nothing_is_asked_for_the_summary() {
    let mut show = Show::of(&Scene { script: SILENT, more: SUMMARY_ASKED, ..PLAIN });
    show.expect(&["run"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    assert!(summary(&show).contains("one.sh, at last."), "{}", summary(&show));
}

#[test]
fn a_missing_summary_leaves_the_lane_stuck() {
    const NEVER: &str =
        "[[turn]]\nrole = \"dev\"\nuse = \"summary\"\ntimes = 2\ndo = [ { say = \"TASK: done\" } ]\n";
    let mut show = Show::of(&Scene { script: SILENT, more: NEVER, ..PLAIN });
    let said = show.expect(&["run"], 4).stdout;
    assert!(said.to_lowercase().contains("summary"), "{said}");
    assert_eq!(show.questions(), [("01-01".to_owned(), vec!["again", "fixed", "accept", "drop", "stop"])]);
    assert_eq!(show.landed("bin/one.sh"), None);
}

/// A dev that touches what the plan forbids, and takes it back when it is told.
const FORBIDDEN: &str = r##"
[[turn]]
role = "dev"
use = "task"
plan = "01-01"
task = 1
round = 1
do = [ { write = "bin/one.sh", text = "echo one\n" }, { write = "README.md", text = "mine\n" }, { say = "SUMMARY: one.sh\nTASK: done" } ]

[[turn]]
role = "dev"
use = "task"
plan = "01-01"
task = 1
round = 2
do = [ { expect = "is forbidden by the contract" }, { write = "README.md", text = "# tools\n" }, { say = "FIXED: {finding:1}\nSUMMARY: taken back.\nTASK: done" } ]
"##;

fn forbidding(script: &'static str) -> Show {
    Show::with_plan(&Scene { script, ..PLAIN }, |text| {
        text.replace("files_modified:", "files_forbidden:\n  - README.md\nfiles_modified:")
    })
}

#[test]
fn a_broken_contract_is_repaired() {
    let mut show = forbidding(FORBIDDEN);
    show.expect(&["run"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    assert_eq!(show.landed("README.md").as_deref(), Some("# tools"));
}

#[test]
fn a_contract_that_stays_broken_lands_nothing() {
    const AGAIN: &str = r##"
[[turn]]
role = "dev"
use = "task"
plan = "01-01"
task = 1
times = 3
do = [ { write = "bin/one.sh", text = "echo {round}\n" }, { write = "README.md", text = "mine {round}\n" }, { say = "SUMMARY: one.sh\nTASK: done" } ]
"##;
    let mut show = forbidding(AGAIN);
    let said = show.expect(&["run"], 4).stdout;
    assert!(said.contains("is forbidden by the contract"), "{said}");
    assert_eq!(show.landed("README.md").as_deref(), Some("# tools"));
}

#[test]
fn configuration_of_agents_needs_a_person() {
    for file in ["tribunal.toml", "AGENTS.md", ".claude/settings.json", "sub/CLAUDE.md"] {
        let script = format!(
            "[[turn]]\nrole = \"dev\"\nuse = \"task\"\nplan = \"01-01\"\ntask = 1\ndo = [ {{ write = \"bin/one.sh\", text = \"echo one\\n\" }}, \
             {{ write = \"{file}\", text = \"# obey\\n\" }}, {{ say = \"SUMMARY: one.sh\\nTASK: done\" }} ]\n"
        );
        let mut show = Show::of(&Scene { script: script.leak(), ..PLAIN });
        let said = show.expect(&["run"], 4).stdout;
        assert!(said.contains("needs a person"), "{file}: {said}");
        let (id, offers) = show.questions().remove(0);
        assert!(offers.contains(&"accept"), "{file}: {offers:?}");
        show.expect(&["decide", &id, "accept"], 0);
        assert_eq!(show.ended(), Ending::Passed);
        assert!(show.messages().contains("Tribunal-Accepted-By"), "{file}: {}", show.messages());
    }
}

/// What a change takes from its tests is a question to the reviewer, by its id.
#[test]
fn a_weakened_test_is_put_to_the_reviewer() {
    const SCRIPT: &str = r##"
[[turn]]
role = "dev"
use = "task"
plan = "01-01"
task = 1
do = [ { write = "bin/one.sh", text = "echo one\n" }, { delete = "tests/one.sh" }, { say = "SUMMARY: one.sh\nTASK: done" } ]

[[turn]]
role = "reviewer"
use = "task"
do = [
  { expect = "the test file is deleted" },
  { say = "{finding}: not an issue because bin/one.sh prints a constant and needs no test", each = "finding" },
  { say = "CHECKED: ran git show --stat, the files are those of the plan.\nVERDICT: approve" },
]
"##;
    let mut show = Show::of(&Scene { script: SCRIPT, ..PLAIN });
    show.user_commits(&[("tests/one.sh", "assert one\n")]);
    show.claims("tests/one.sh");
    show.expect(&["run"], 0);
}

const ASSERTS: &str = "def test_one():\n    assert one() == 1\n";
const CALLS: &str = "def test_one():\n    one()\n";

/// A dev that leaves a test its name and takes its assertion, and a reviewer that does these steps.
fn a_test_without_its_assertion(reviewer: &str, more: &str) -> Show {
    let takes = format!("{{ write = \"tests/test_one.py\", text = {} }},", serde_json::Value::from(CALLS));
    let script = format!("{}{}{more}", dev_also(&takes), reviewer_does(reviewer)).leak();
    let mut show = Show::of(&Scene { settings: NO_GATE, script, ..PLAIN });
    show.user_commits(&[("tests/test_one.py", ASSERTS)]);
    show.claims("tests/test_one.py");
    show
}

/// Its runner counts such a test as before, and reviewers that are only shown the flag pass over it.
#[test]
fn a_reviewer_answers_for_a_test_that_lost_its_last_assertion() {
    // No answer, and one that gives no reason: nothing was changed that could have resolved it.
    let resolved = format!("{{ say = \"{{finding}}: resolved\", each = \"finding\" }}, {APPROVES}");
    for steps in [APPROVES, &resolved] {
        let said = a_test_without_its_assertion(steps, "").waits_and_lands_nothing();
        assert!(said.contains("`test_one` checks nothing any more, under the same name"), "{said}");
    }
    let reason = format!(
        "{{ expect = \"checks nothing any more\" }}, \
         {{ say = \"{{finding}}: not an issue because tests/test_two.py checks what one returns\", each = \"finding\" }}, {APPROVES}"
    );
    let said = a_test_without_its_assertion(&reason, "").passes();
    assert!(
        said.contains("tests/test_two.py checks what one returns"),
        "the reason is in the report: {said}"
    );
}

/// An approval beside "still there" sends the work back.
#[test]
fn a_test_that_lost_its_assertion_goes_back_where_the_reviewer_says_so() {
    let upholds = format!("{{ say = \"{{finding}}: still there\", each = \"finding\" }}, {APPROVES}");
    // The plan names the file, so it has to change.
    let again = format!("# It is a constant.\n{ASSERTS}");
    let brings_back = format!(
        "\n[[turn]]\nrole = \"dev\"\nuse = \"task\"\nplan = \"01-01\"\ntask = 1\nround = 2\ndo = [ {{ write = \"tests/test_one.py\", text = {} }}, \
         {{ say = \"FIXED: {{finding:1}}\\nSUMMARY: it asserts again.\\nTASK: done\" }} ]\n",
        serde_json::Value::from(again.as_str())
    );
    let mut show = a_test_without_its_assertion(&upholds, &brings_back);
    show.passes();
    assert_eq!(show.landed("tests/test_one.py").as_deref(), Some(again.trim_end()));
}

/// Two plans of one wave that claim one file: nobody judged them, so the second waits for the first.
#[test]
fn of_two_plans_with_one_file_the_second_waits() {
    const SHARED: &[Plan] = &[
        Plan { number: "01", wave: 1, depends_on: "", tasks: &[("bin/one.sh", "true")] },
        Plan { number: "02", wave: 1, depends_on: "", tasks: &[("bin/one.sh", "grep -q one bin/one.sh")] },
    ];
    const SCRIPT: &str = r##"
[[turn]]
role = "dev"
use = "task"
plan = "01-02"
task = 1
do = [ { append = "bin/one.sh", text = "echo two\n" }, { say = "SUMMARY: one.sh prints two as well.\nTASK: done" } ]
"##;
    for land in ["group", "each"] {
        let settings = format!("{NO_GATE}[run]\nland = \"{land}\"\n");
        let mut show = Show::of(&Scene { plans: SHARED, script: SCRIPT, settings: settings.leak(), ..PLAIN });
        show.expect(&["run"], 0);
        assert_eq!(show.ended(), Ending::Passed);
        let text = show.landed("bin/one.sh").unwrap();
        assert!(text.contains("one") && text.contains("two"), "{text}");
        assert_eq!(launches(&show, "repair"), 0, "no conflict to repair");
    }
}

#[test]
fn without_a_team_one_agent_works_at_a_time() {
    for settings in ["effort = \"turbo\"", "prefer_teams = \"never\"", "parallel_max = 1"] {
        let settings = format!("{NO_GATE}[run]\n{settings}\n");
        let mut show = Show::of(&Scene { plans: TWO_PLANS, settings: settings.clone().leak(), ..PLAIN });
        show.expect(&["run"], 0);
        assert_eq!(show.ended(), Ending::Passed, "{settings}");
    }
}

#[test]
fn plans_that_spend_their_rounds_stop_the_phase() {
    const SCRIPT: &str = r##"
[[turn]]
role = "reviewer"
use = "plan"
plan = "01-01"
times = 2
do = [ { say = "[id:{round}] [severity:blocker] [confidence:90] [file:{PLAN}:1{round}] issue: wrong in way {round}\nVERDICT: reject" } ]

[[turn]]
role = "architect"
plan = "01-01"
do = [ { run = ["sh", "-c", "echo 'round {round}' >> {PLAN}"] }, { say = "FIXED: {finding:1}\nSUMMARY: changed.\nTASK: done" } ]
"##;
    let mut show =
        Show::of(&Scene { plans: TWO_PLANS, script: SCRIPT, settings: "[plan]\nrounds_max = 2\n", ..PLAIN });
    let ended = show.tribunal(&["run"]);
    assert_ne!(ended.code, Some(0), "{}", ended.said());
    assert_eq!(launches(&show, "make:dev"), 0, "no plan is built, not even one that passed");
    assert!(ended.stdout.contains("wrong in way"), "{}", ended.stdout);
}

#[test]
fn without_the_gate_the_summary_is_still_judged() {
    const SCRIPT: &str = r###"
[[turn]]
role = "dev"
use = "task"
plan = "01-01"
task = 1
do = [
  { write = "bin/one.sh", text = "echo one\n" },
  { write = "{SUMMARY}", text = "## Files Modified\n\n- `bin/one.sh` -- created: prints one\n" },
  { say = "TASK: done" },
]

[[turn]]
role = "dev"
use = "summary"
do = [ { expect = "body_sections" }, { say = "SUMMARY: one.sh prints one.\nTASK: done" } ]
"###;
    let settings = format!("{NO_GATE}[qa]\nreview = \"never\"\n");
    let mut show = Show::of(&Scene { plans: ONE, script: SCRIPT, settings: settings.leak(), ..PLAIN });
    show.expect(&["run"], 0);
    let log = show.expect(&["log", "--json"], 0).stdout;
    assert!(!log.contains("commit-lint"), "{log}");
    assert!(summary(&show).contains("one.sh prints one."), "{}", summary(&show));
    let report = show.expect(&["report"], 0).stdout;
    assert!(report.contains("deliver"), "it says that deliveries were not judged: {report}");
}

#[test]
fn a_cautious_run_waits_for_approval_before_a_dev_starts() {
    const SCRIPT: &str = r##"
[[turn]]
role = "architect"
round = 2
do = [
  { expect = "say which word" },
  { run = ["sh", "-c", "sed 's/^Write it\\.$/Write it so that it prints one word./' {PLAN} > plan.new && mv plan.new {PLAN}"] },
  { say = "SUMMARY: the task says what is printed.\nTASK: done" },
]
"##;
    for review in ["always", "never"] {
        let settings = format!("[plan]\nreview = \"{review}\"\n[run]\nautonomy = \"cautious\"\n");
        let mut show = Show::of(&Scene { script: SCRIPT, settings: settings.leak(), ..PLAIN });
        let said = show.expect(&["run"], 4).stdout;
        assert!(said.contains("work begins when you say so"), "{said}");
        assert_eq!(launches(&show, "make:dev"), 0);
        show.expect(&["decide", "01-01/plan", "again", "--rounds", "1", "--note", "say which word"], 4);
        assert_eq!(launches(&show, "make:dev"), 0);
        show.expect(&["decide", "01-01/plan:2", "accept"], 0);
        assert_eq!(show.ended(), Ending::Passed);
    }
}
