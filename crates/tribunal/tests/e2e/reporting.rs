//! Agents that report by tools: through the real server, the launch's own socket, and the engine behind it. What they may
//! not say is refused, told them, and recorded; it changes nothing.

use crate::show::Show;
use crate::stage::scenes::{PLAIN, Scene};
use tribunal_core::run::Ending;

/// The agent of the stage is given the server as real ones are: by its row.
const SPEAKS: &str = "[plan]\nreview = \"never\"\n[agents]\ndefault = \"witness-speaks\"\n\
     [adapters.witness-speaks]\nlike = \"witness\"\nenv = { SCRIPTED_MCP = [\"{mcp_argv_json}\"] }\n";
const OPEN: &str = "[plan]\nreview = \"never\"\n[agents]\ndefault = \"witness-speaks\"\nsandbox = \"off\"\n\
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
  { mcp = { tool = "cast_verdict", args = { verdict = "approve", checked = "ran it, read it", said = [ { id = "{finding:1}", status = "resolved" } ] } } },
]
"##;

fn passes(settings: &'static str) -> Show {
    let mut show = Show::of(&Scene { script: ROUNDS, settings, ..PLAIN });
    show.expect(&["run"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    assert_eq!(show.landed("bin/one.sh").as_deref(), Some("echo one"));
    let launches = show.docket().launches;
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
    show
}

#[test]
fn a_round_is_reported_by_tools_alone() {
    passes(SPEAKS);
}

#[test]
fn without_a_sandbox_it_is_said_that_a_report_could_be_forged() {
    let mut show = passes(OPEN);
    for command in ["status", "report"] {
        let said = show.expect(&[command], 0).said();
        assert!(said.contains("could forge"), "{command}: {said}");
    }
}

/// A folder without a socket, and a reviewer that reports nowhere: there is no verdict, and nothing lands.
#[test]
fn a_verdict_where_no_socket_is_counts_for_nothing() {
    const SCRIPT: &str = r##"
[[turn]]
role = "reviewer"
use = "task"
do = [
  { mcp = { tool = "cast_verdict", args = { verdict = "approve", checked = "all of it" } }, at = "{ROOT}/scene", refused = true },
]
"##;
    let mut show = Show::of(&Scene { script: SCRIPT, settings: SPEAKS, ..PLAIN });
    show.expect(&["run"], 4);
    assert_eq!(show.landed("bin/one.sh"), None);
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
    let told: Vec<_> = show.docket().launches.iter().map(|launch| launch.told.clone()).collect();
    assert_eq!(told, ["final message", "mcp", "mcp", "final message"]);
}
