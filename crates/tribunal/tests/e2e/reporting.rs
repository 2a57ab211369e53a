//! Agents that report by tools: through the real server, the launch's own socket, and the engine behind it. What they may
//! not say is refused, told them, and recorded; it changes nothing.

use crate::show::Show;
use crate::stage::scenes::{PLAIN, Scene, TWO_PLANS};
use tribunal_core::run::Ending;
use tribunal_engine::run_state::Ran;

/// The agent of the stage is given the server as real ones are: by its row.
pub const SPEAKS: &str = "[plan]\nreview = \"never\"\n[agents]\ndefault = \"witness-speaks\"\n\
     [adapters.witness-speaks]\nlike = \"witness\"\nenv = { SCRIPTED_MCP = [\"{mcp_argv_json}\"] }\n";
pub const OPEN: &str = "[plan]\nreview = \"never\"\n[agents]\ndefault = \"witness-speaks\"\nsandbox = \"off\"\n\
     [adapters.witness-speaks]\nlike = \"witness\"\nenv = { SCRIPTED_MCP = [\"{mcp_argv_json}\"] }\n";

/// A round with a finding, a fix and an approval, all of it by tools.
const ROUNDS: &str = r##"
[[turn]]
role = "dev"
plan = "01-01"
round = 1
do = [
  { write = "bin/one.sh", text = "echo wrong\n" },
  { mcp = { tool = "cast_verdict", args = { verdict = "approve", checked = "all of it" } }, refused = true },
  { mcp = { tool = "report_fix", args = { id = "F-7", fixed = true } }, refused = true },
  { mcp = { tool = "escalate", args = { about = "the key is missing" } } },
  { mcp = { tool = "report_task_done", args = { done = true, summary = "one.sh by tools." } } },
  { say = "TASK: not done" },
]

[[turn]]
role = "reviewer"
use = "task"
round = 1
do = [
  { expect = "Reporting by tools" },
  { mcp = { tool = "get_context" } },
  { mcp = { tool = "run_checks" } },
  { mcp = { tool = "set_loop_review_result", args = { loopId = "01-02/task-1", passed = true } }, refused = true },
  { mcp = { tool = "cast_verdict", args = { verdict = "approve", revision = "another" } }, refused = true },
  { mcp = { tool = "report_findings", args = { findings = [ { severity = "blocker", confidence = 95, file = "bin/one.sh", line = 1, issue = "it prints the wrong word", suggestion = "print one" } ] } } },
  { mcp = { tool = "cast_verdict", args = { verdict = "reject", checked = "ran it" } } },
  { mcp = { tool = "cast_verdict", args = { verdict = "approve", checked = "ran it again" } }, refused = true },
  { say = "CHECKED: nothing.\nVERDICT: approve" },
]

[[turn]]
role = "dev"
plan = "01-01"
round = 2
do = [
  { write = "bin/one.sh", text = "echo one\n" },
  { mcp = { tool = "report_fix", args = { id = "{finding}", fixed = true } }, each = "finding" },
  { mcp = { tool = "report_task_done", args = { done = true, summary = "it prints one." } } },
]

[[turn]]
role = "reviewer"
use = "task"
round = 2
do = [
  { mcp = { tool = "run_checks" } },
  { mcp = { tool = "cast_verdict", args = { verdict = "approve", checked = "ran one.sh and read the change", said = [ { id = "{finding:1}", status = "resolved" } ] } } },
]
"##;

fn passes(settings: &'static str) -> Show {
    let mut show = Show::of(&Scene { script: ROUNDS, settings, ..PLAIN });
    show.expect(&["run"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    assert_eq!(show.landed("bin/one.sh").as_deref(), Some("echo one"));
    let launches = show.run_state().launches;
    let of = |role: &str, round| {
        launches.iter().find(|launch| launch.role == role && launch.round == round).cloned().unwrap()
    };
    for (role, round) in [("dev", 1), ("reviewer", 1), ("dev", 2), ("reviewer", 2)] {
        assert_eq!(of(role, round).told, "mcp", "{role} {round}");
    }
    let denied = of("dev", 1).denied;
    assert!(denied[0].contains("does not judge its own work"), "{denied:?}");
    assert!(denied[1].contains("was not put to you"), "{denied:?}");
    assert_eq!(of("dev", 1).escalated, ["the key is missing"]);
    assert_eq!(of("dev", 1).summary, "one.sh by tools.");
    let denied = of("reviewer", 1).denied;
    assert!(denied[0].contains("speaks for loop 01-01/task-1"), "{denied:?}");
    assert!(denied[1].contains("speaks for revision"), "{denied:?}");
    assert!(denied[2].contains("a second verdict"), "{denied:?}");
    assert_eq!(denied.len(), 3, "{denied:?}");
    let passed = Ran { command: "sh bin/one.sh".to_owned(), passed: true, early: false };
    assert_eq!(of("reviewer", 2).ran, [passed], "what it had run is on record");
    assert!(of("dev", 1).ran.is_empty());
    let report = show.expect(&["report", "--format", "markdown"], 0).stdout;
    let line = "It says it checked: ran one.sh and read the change. On record: 'sh bin/one.sh' passed";
    assert!(report.contains(line), "{report}");
    for command in ["report", "status", "log"] {
        let said = show.expect(&[command], 0).said();
        assert!(said.contains("the key is missing"), "{command}: {said}");
    }
    show
}

#[test]
fn a_round_is_reported_by_tools_alone() {
    passes(SPEAKS);
}

/// What is run for a reviewer fails, and the reviewer says that it passes.
const CONTRADICTED: &str = r##"
[[turn]]
role = "dev"
plan = "01-01"
task = 1
do = [
  { write = "bin/one.sh", text = "case \"$PWD\" in *.asked/*) exit 1 ;; esac\necho one\n" },
  { say = "SUMMARY: one.sh.\nTASK: done" },
]

[[turn]]
role = "reviewer"
use = "task"
attempt = 1
do = [
  { mcp = { tool = "run_checks" } },
  { mcp = { tool = "cast_verdict", args = { verdict = "approve", checked = "read the change; sh bin/one.sh passes by hand" } } },
]

[[turn]]
role = "reviewer"
use = "task"
attempt = 2
do = [
  { mcp = { tool = "cast_verdict", args = { verdict = "approve", checked = "read bin/one.sh, it prints one" } } },
]
"##;

#[test]
fn an_approval_is_void_when_what_was_run_for_it_contradicts_it() {
    let mut show = Show::of(&Scene { script: CONTRADICTED, settings: SPEAKS, ..PLAIN });
    show.expect(&["run"], 0);
    let launches = show.run_state().launches;
    let mut judged = launches.iter().filter(|launch| launch.role == "reviewer");
    let first = judged.next().unwrap();
    assert_eq!(first.ran, [Ran { command: "sh bin/one.sh".to_owned(), passed: false, early: false }]);
    assert!(judged.next().unwrap().ran.is_empty());
    let log = show.expect(&["log", "--all"], 0).stdout;
    assert!(log.contains("but sh bin/one.sh failed when it was run"), "{log}");
}

/// A reviewer asks for its checks, does not wait for them, and votes. What it asked for ends when somebody lets it.
const HASTY: &str = r##"
[[turn]]
role = "dev"
plan = "01-01"
task = 1
do = [
  { write = "bin/one.sh", text = "case \"$PWD\" in *.asked/*) : > '{ROOT}/scene/began'; n=0; until test -e '{ROOT}/scene/go' || test $n -gt 100; do sleep 0.05; n=$((n + 1)); done ;; esac\necho one\n" },
  { say = "SUMMARY: one.sh.\nTASK: done" },
]

[[turn]]
role = "reviewer"
use = "task"
attempt = 1
do = [
  { run = ["sh", "-c", """
    eval "set -- $(printf %s "$SCRIPTED_MCP" | tr -d '[]' | tr , ' ')"
    { printf '%s\\n' \
        '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}' \
        '{"jsonrpc":"2.0","method":"notifications/initialized"}' \
        '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"run_checks","arguments":{}}}'
      exec sleep 1000; } | "$@" > /dev/null 2>&1 &
  """] },
  { wait = "file:began" },
  VOTE
]

[[turn]]
role = "reviewer"
use = "task"
attempt = 2
optional = true
do = [
  { run = ["sh", "-c", ": > '{ROOT}/scene/go'"] },
  { mcp = { tool = "cast_verdict", args = { verdict = "approve", checked = "read bin/one.sh, it prints one" } } },
]
"##;

/// By the tool or in words, though it says nothing of them: an approval waits for what it asked for.
#[test]
fn an_approval_that_did_not_wait_for_its_checks_is_void() {
    let by_tool = r#"{ mcp = { tool = "cast_verdict", args = { verdict = "approve", checked = "read bin/one.sh, it prints one" } } },"#;
    let in_words = r#"{ say = "CHECKED: read bin/one.sh, it prints one.\nVERDICT: approve" },"#;
    for vote in [by_tool, in_words] {
        let script = HASTY.replace("VOTE", vote);
        let mut show = Show::of(&Scene { script: script.leak(), settings: OPEN, ..PLAIN });
        show.expect(&["run"], 0);
        let launches = show.run_state().launches;
        let judged: Vec<_> = launches.iter().filter(|launch| launch.role == "reviewer").collect();
        assert_eq!(judged.len(), 2, "{vote}");
        assert_eq!(judged[0].ran, [Ran { command: "sh bin/one.sh".to_owned(), passed: false, early: true }]);
        assert!(judged[1].ran.is_empty());
        let log = show.expect(&["log", "--all"], 0).stdout;
        assert!(
            log.contains("it voted while `sh bin/one.sh`, which it had asked for, had not ended"),
            "{log}"
        );
    }
}

/// What is run for a reviewer fails; the reviewer spoils the record, where no walls are, and has it run again until it passes.
const SPOILT: &str = r##"
[[turn]]
role = "dev"
plan = "01-01"
task = 1
do = [
  { write = "bin/one.sh", text = "case \"$PWD\" in *.asked/*) test -e '{ROOT}/scene/go' || exit 1 ;; esac\necho one\n" },
  { say = "SUMMARY: one.sh.\nTASK: done" },
]

[[turn]]
role = "reviewer"
use = "task"
attempt = 1
do = [
  { mcp = { tool = "run_checks" } },
  { run = ["sh", "-c", """
    : > '{ROOT}/scene/go'
    eval "set -- $(printf %s "$SCRIPTED_MCP" | tr -d '[]' | tr , ' ')"
    for last; do :; done
    echo spoilt > "$last.ran"
  """] },
  { mcp = { tool = "run_checks" } },
  { mcp = { tool = "cast_verdict", args = { verdict = "approve", checked = "read the change; all tests pass" } } },
]

[[turn]]
role = "reviewer"
use = "task"
attempt = 2
optional = true
do = [
  { mcp = { tool = "cast_verdict", args = { verdict = "approve", checked = "read bin/one.sh, it prints one" } } },
]
"##;

#[test]
fn a_record_that_cannot_be_read_is_not_written_over() {
    let mut show = Show::of(&Scene { script: SPOILT, settings: OPEN, ..PLAIN });
    show.expect(&["run"], 0);
    let launches = show.run_state().launches;
    let first = launches.iter().find(|launch| launch.role == "reviewer").unwrap();
    assert!(first.ran.iter().all(|ran| !ran.passed) && !first.ran.is_empty(), "{:?}", first.ran);
    let log = show.expect(&["log", "--all"], 0).stdout;
    assert!(log.contains("but tests and checks run for it failed when it was run"), "{log}");
}

#[test]
fn without_a_sandbox_it_is_said_that_a_report_could_be_forged() {
    let mut show = passes(OPEN);
    for command in ["status", "report"] {
        let said = show.expect(&[command], 0).said();
        assert!(said.contains("could forge"), "{command}: {said}");
    }
}

/// While a reviewer is at work, the dev of another plan votes for it at every socket it can find.
const ANOTHER: &str = r##"
[[turn]]
role = "reviewer"
use = "task"
plan = "01-01"
round = 1
do = [
  { run = ["sh", "-c", ": > '{ROOT}/scene/here'"] },
  { wait = "file:tried" },
  { mcp = { tool = "report_findings", args = { findings = [ { severity = "blocker", confidence = 95, file = "bin/one.sh", line = 1, issue = "it prints the wrong word" } ] } } },
  { mcp = { tool = "cast_verdict", args = { verdict = "reject", checked = "ran it" } } },
]

[[turn]]
role = "reviewer"
use = "task"
plan = "01-01"
round = 2
do = [
  { mcp = { tool = "cast_verdict", args = { verdict = "approve", checked = "ran it, read it", said = [ { id = "{finding:1}", status = "resolved" } ] } } },
]

[[turn]]
role = "dev"
plan = "01-01"
round = 2
do = [
  { write = "bin/one.sh", text = "echo fixed\n" },
  { mcp = { tool = "report_fix", args = { id = "{finding}", fixed = true } }, each = "finding" },
  { say = "SUMMARY: it prints another word.\nTASK: done" },
]

[[turn]]
role = "dev"
plan = "01-02"
task = 1
do = [
  { wait = "file:here" },
  { mcp = { tool = "cast_verdict", args = { verdict = "approve", checked = "all of it" } }, at = "*", refused = true },
  { run = ["sh", "-c", ": > '{ROOT}/scene/tried'"] },
  { write = "bin/two.sh", text = "echo two\n" },
  { say = "SUMMARY: two.sh prints two.\nTASK: done" },
]
"##;

/// The reviewer's own word counts, and it is the only one: what was refused at its socket.
fn another(settings: &'static str) -> Vec<String> {
    let mut show = Show::of(&Scene { script: ANOTHER, settings, plans: TWO_PLANS, ..PLAIN });
    show.expect(&["run"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    assert_eq!(show.landed("bin/one.sh").as_deref(), Some("echo fixed"));
    let launches = show.run_state().launches;
    let judged = launches.iter().filter(|launch| {
        launch.role == "reviewer" && launch.round == 1 && launch.effect.starts_with("01-01/task-1")
    });
    let judged: Vec<_> = judged.cloned().collect();
    assert_eq!(judged.len(), 1, "{judged:?}");
    assert_eq!((judged[0].told.as_str(), judged[0].failed), ("mcp", None), "{judged:?}");
    let refused = judged[0].denied.clone();
    if !refused.is_empty() {
        let said = show.expect(&["report"], 0).said();
        assert!(said.contains("a process of another launch"), "{said}");
    }
    refused
}

/// Nobody sees another launch's socket.
#[test]
fn hostile_dev_looks_for_the_reviewers_socket() {
    assert_eq!(another(SPEAKS), Vec::<String>::new());
}

/// Where everybody sees it, who knocks is looked at: refused, and on record.
#[test]
fn hostile_dev_speaks_at_the_reviewers_socket() {
    let refused = another(OPEN);
    assert!(!refused.is_empty() && refused.iter().all(|why| why.contains("another launch")), "{refused:?}");
}

/// A vote of a reviewer whose time is over, while another has its reviewer: refused, told it, on record, and without effect.
#[test]
fn hostile_reviewer_votes_after_its_time() {
    const LATE: &str = "[plan]\nreview = \"never\"\n[agents]\ndefault = \"witness-speaks\"\nreviewer_timeout_s = 8\n\
         [adapters.witness-speaks]\nlike = \"witness\"\nenv = { SCRIPTED_MCP = [\"{mcp_argv_json}\"] }\n";
    const SCRIPT: &str = r##"
[[turn]]
role = "reviewer"
use = "task"
round = 1
attempt = 1
do = [
  { wait = "term" },
  { mcp = { tool = "cast_verdict", args = { verdict = "approve", checked = "all of it" } }, refused = true },
  { say = "CHECKED: all of it.\nVERDICT: approve" },
]
"##;
    let script = format!("{SCRIPT}{ROUNDS}");
    let mut show = Show::of(&Scene { script: Box::leak(script.into_boxed_str()), settings: LATE, ..PLAIN });
    show.expect(&["run"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    assert_eq!(show.landed("bin/one.sh").as_deref(), Some("echo one"));
    let launches = show.run_state().launches;
    let late = launches.iter().find(|launch| launch.role == "reviewer").expect("it is on record");
    assert!(late.denied.iter().any(|why| why.contains("this round is closed")), "{late:?}");
    for command in ["report", "log"] {
        let said = show.expect(&[command], 0).said();
        assert!(said.contains("this round is closed"), "{command}: {said}");
    }
}

/// A vote after the run was called off: refused, told it, and on record before the end; nothing is recorded after that.
#[test]
fn hostile_reviewer_votes_after_the_run_was_called_off() {
    const SCRIPT: &str = r##"
[[turn]]
role = "dev"
plan = "01-01"
round = 1
do = [ { write = "bin/one.sh", text = "echo one\n" }, { say = "SUMMARY: one.sh.\nTASK: done" } ]

[[turn]]
role = "reviewer"
use = "task"
round = 1
do = [
  { run = ["sh", "-c", "echo > '{ROOT}/at-work'"] },
  { wait = "term" },
  { mcp = { tool = "cast_verdict", args = { verdict = "approve", checked = "all of it" } }, refused = true },
  { say = "CHECKED: all of it.\nVERDICT: approve" },
]
"##;
    let mut show = Show::of(&Scene { script: SCRIPT, settings: SPEAKS, ..PLAIN });
    let running = show.at_work();
    let cancel = show.stage.tribunal(&["cancel"]).unwrap();
    assert_eq!(cancel.code, Some(0), "{}", cancel.said());
    let ended = running.wait().unwrap();
    assert_eq!(show.after(&["run"], ended).code, Some(1));
    assert_eq!(show.ended(), Ending::Cancelled);
    assert_eq!(show.landed("bin/one.sh"), None);
    let launches = show.run_state().launches;
    let late = launches.iter().find(|launch| launch.role == "reviewer").expect("it is on record");
    assert!(late.denied.iter().any(|why| why.contains("this round is closed")), "{late:?}");
    let said = show.expect(&["log"], 0).said();
    let (refused, over) = (said.find("this round is closed"), said.rfind("cancelled"));
    assert!(refused.is_some() && refused < over, "{said}");
}

/// What was found by tools and what was said at the end belong together: nothing of it is lost.
#[test]
fn findings_by_tools_and_a_verdict_in_words() {
    const SCRIPT: &str = r##"
[[turn]]
role = "reviewer"
use = "task"
round = 1
do = [
  { mcp = { tool = "report_findings", args = { findings = [ { severity = "blocker", confidence = 95, file = "bin/one.sh", line = 1, issue = "it prints the wrong word" } ] } } },
  { say = "CHECKED: ran it.\nVERDICT: approve" },
]

[[turn]]
role = "reviewer"
use = "task"
do = [ { say = "F-1: resolved\nCHECKED: ran it, read it.\nVERDICT: approve" } ]

[[turn]]
role = "dev"
plan = "01-01"
round = 2
do = [
  { write = "bin/one.sh", text = "echo one\n" },
  { mcp = { tool = "report_fix", args = { id = "{finding}", fixed = true } }, each = "finding" },
  { say = "SUMMARY: it prints one.\nTASK: done" },
]
"##;
    let mut show = Show::of(&Scene { script: SCRIPT, settings: SPEAKS, ..PLAIN });
    show.expect(&["run"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    let told: Vec<_> = show.run_state().launches.iter().map(|launch| launch.told.clone()).collect();
    assert_eq!(told, ["final message", "mcp", "mcp", "final message"]);
}
