//! Which turn is played, what its steps do, and what is marked.

use crate::stage::{Stage, command};
use std::io::{BufRead, BufReader};
use tribunal_agent::scripted::{EXIT_SCRIPT, Scenario, open_gate};

#[test]
fn the_most_exact_turn_is_played_and_the_first_of_equals() {
    let stage = Stage::new(
        r#"
        turn = [
          { do = [{ say = "anything" }] },
          { role = "dev", do = [{ say = "a dev" }] },
          { role = "dev", plan = "01-02", do = [{ say = "plan 2" }] },
          { role = "dev", round = 2, do = [{ say = "round 2" }] },
          { role = "dev", plan = "01-02", task = 1, round = "2", attempt = 1, do = [{ say = "exact" }] },
          { role = "qa", reviewer = "never", do = [] },
          { role = "qa", reviewer = "maybe", optional = true, do = [] },
        ]"#,
    );
    let check = |keys: &str, expect: &str| {
        let played = stage.play(keys);
        assert_eq!(played.status.code(), Some(0), "{keys}");
        assert_eq!(played.outcome.final_text.as_deref(), Some(expect), "{keys}");
    };
    check("role=reviewer", "anything");
    check("role=dev plan=01-01 round=1", "a dev");
    check("role=dev plan=01-02 round=1", "plan 2");
    check("role=dev plan=01-02 round=2", "plan 2");
    check("role=dev plan=01-03 round=2", "round 2");
    check("role=dev plan=01-02 task=1 round=2 attempt=1 reviewer=x", "exact");
    check("role=dev plan=01-02 task=1 round=2 attempt=1 reviewer=x", "exact");
    assert_eq!(stage.unused(), [6]);
}

/// What it is told and what its folder holds are keys like the others.
#[test]
fn a_turn_by_its_prompt_and_by_its_folder() {
    let stage = Stage::new(
        r#"
        turn = [
          { role = "dev", do = [{ say = "new" }] },
          { role = "dev", prompt = "F-", do = [{ say = "FIXED: {finding}", each = "finding" }, { say = "all" }] },
          { role = "dev", prompt = "F-", holds = ["test", "-e", "fixed"], do = [{ say = "fixed" }] },
        ]"#,
    );
    let check = |expect: &str| {
        assert_eq!(stage.play("role=dev").outcome.final_text.as_deref(), Some(expect));
    };
    check("new");
    std::fs::write(stage.at("prompt.md"), "F-3 one\nF-7 two\n").unwrap();
    check("FIXED: F-3\nFIXED: F-7\nall");
    std::fs::write(stage.at("tree/fixed"), "").unwrap();
    check("fixed");
    for wrong in ["prompt = 1", "holds = []", "holds = \"true\""] {
        assert!(Scenario::parse(&format!("[[turn]]\n{wrong}\ndo = []\n")).is_err(), "{wrong}");
    }
}

#[test]
fn beyond_its_script_it_fails_loudly() {
    let stage = Stage::new("[[turn]]\nrole = \"dev\"\ndo = []\n");
    let played = stage.play("role=reviewer plan=01-02 reviewer=security round=3");
    assert_eq!(played.status.code(), Some(i32::from(EXIT_SCRIPT)));
    assert!(!played.outcome.complete);
    let error = played.outcome.error.unwrap();
    assert!(error.contains("plan=01-02,reviewer=security,role=reviewer,round=3"), "{error}");
    assert!(error.contains("hint: add a [[turn]]"), "{error}");
    assert_eq!(stage.unused(), [1]);
}

#[test]
fn times_counts_launches_that_differ() {
    let stage = Stage::new("[[turn]]\ntimes = 2\ndo = []\n");
    assert_eq!(stage.play("role=dev plan=1").status.code(), Some(0));
    assert_eq!(stage.play("role=dev plan=1").status.code(), Some(0));
    assert_eq!(stage.unused(), [1]);
    assert_eq!(stage.play("role=dev plan=2").status.code(), Some(0));
    assert!(stage.unused().is_empty());
    let third = stage.play("role=dev plan=3");
    assert_eq!(third.status.code(), Some(i32::from(EXIT_SCRIPT)));
}

#[test]
fn steps_change_the_tree_and_a_repeated_launch_changes_nothing_twice() {
    let stage = Stage::doing(
        r#"
        { write = "src/{plan}.sh", text = "echo ${plan} {plan}\n", executable = true },
        { append = "log", text = "round {round}\n" },
        { write = "a", text = "moved" }, { move = "a", to = "deep/b" },
        { write = "gone/x", text = "" }, { delete = "gone" },
        { run = ["sh", "-c", "echo ran > ran; echo noise"] },
        { run = ["false"], may_fail = true },
        { usage = { input = 10, output = 1, cost_usd = 0.25 } }, { usage = { input = 5 } },
        { say = "one" }, { say = "two" },
        "#,
    );
    for _ in 0..2 {
        let played = stage.play("role=dev plan=01-02 round=2");
        assert_eq!(played.outcome.error, None);
        assert_eq!(played.outcome.final_text.as_deref(), Some("one\ntwo"));
        let usage = played.outcome.usage.unwrap();
        assert_eq!((usage.input, usage.output, usage.cost_usd), (15, 1, Some(0.25)));
        assert_eq!(stage.tree("src/01-02.sh").as_deref(), Some("echo ${plan} 01-02\n"));
        assert_eq!(stage.tree("log").as_deref(), Some("round 2\n"));
        assert_eq!(stage.tree("deep/b").as_deref(), Some("moved"));
        assert_eq!(stage.tree("a"), None);
        assert_eq!(stage.tree("ran").as_deref(), Some("ran\n"));
        assert!(!stage.at("tree/gone").exists());
    }
}

#[test]
fn it_commits_with_its_own_git() {
    let stage = Stage::doing(r#"{ write = "a", text = "1" }, { commit = "feat({plan}): a" }"#);
    let git = |args: &[&str]| {
        let output = command("git").args(args).current_dir(stage.at("tree")).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    git(&["init", "-q"]);
    assert_eq!(stage.play("role=dev plan=7").outcome.error, None);
    assert_eq!(git(&["log", "--format=%an: %s"]), "Scripted Agent: feat(7): a\n");
    assert_eq!(git(&["status", "--porcelain"]), "");
}

#[test]
fn reports_name_the_findings_of_the_prompt() {
    let stage = Stage::doing(
        r#"
        { expect = "Open findings" },
        { report = { tool = "report_fix", args = { id = "{finding}", fixed = true, note = ["{plan}"] } }, each = "finding" },
        { report = { tool = "escalate", args = { about = "{findings}", first = "{finding:1}" } } },
        "#,
    );
    std::fs::write(stage.at("prompt.md"), "Open findings:\nF-3 a\nF-11 b\n").unwrap();
    let outcome = stage.play("role=fixer plan=9").outcome;
    assert_eq!(outcome.error, None);
    let calls: Vec<_> = outcome.reports.iter().map(|call| serde_json::to_string(call).unwrap()).collect();
    assert_eq!(
        calls,
        [
            r#"{"tool":"report_fix","args":{"fixed":true,"id":"F-3","note":["9"]}}"#,
            r#"{"tool":"report_fix","args":{"fixed":true,"id":"F-11","note":["9"]}}"#,
            r#"{"tool":"escalate","args":{"about":"F-3 F-11","first":"F-3"}}"#,
        ]
    );
}

#[test]
fn a_step_that_cannot_be_done_ends_the_turn() {
    let check = |steps: &str, expect: &str| {
        let stage = Stage::doing(&format!("{steps}, {{ write = 'after', text = '' }}"));
        std::os::unix::fs::symlink(stage.root.path(), stage.at("tree/link")).unwrap();
        let played = stage.play("role=dev");
        assert_eq!(played.status.code(), Some(i32::from(EXIT_SCRIPT)), "{steps}");
        assert!(!played.outcome.complete, "{steps}");
        let error = played.outcome.error.unwrap();
        assert!(error.contains("turn 1, step 1: ") && error.contains(expect), "{steps}: {error}");
        assert_eq!(stage.tree("after"), None, "{steps}");
    };
    check("{ write = '../x', text = '' }", "leaves the working folder");
    check("{ write = '/tmp/x', text = '' }", "leaves the working folder");
    check("{ delete = 'a/../../x' }", "leaves the working folder");
    check("{ write = 'link/x', text = '' }", "passes the link");
    check("{ move = 'none', to = 'b' }", "No such file");
    check("{ run = ['false'] }", "failed");
    check("{ run = ['no-such-program'] }", "cannot run no-such-program");
    check("{ say = '{finding:1}' }", "no finding 1");
    check("{ say = '{reviewer}' }", "no {reviewer}");
    check("{ expect = 'words' }", "does not contain `words`");
    check("{ commit = 'x' }", "git did not commit");
}

#[test]
fn scenarios_with_faults_are_refused_with_their_place() {
    let check = |text: &str, expect: &str| {
        let error = Scenario::parse(text).unwrap_err();
        assert!(error.contains(expect), "{text}: {error}");
    };
    let step = |step: &str, expect: &str| check(&format!("[[turn]]\ndo = [{{ say = 'x' }}, {step}]"), expect);
    assert!(Scenario::parse("").unwrap().turns.is_empty());
    check("turn = 1", "`turn` must be a list");
    check("[[trun]]", "unknown key `trun`");
    check("[[turn]]\nrol = 'dev'\ndo = []", "turn 1: unknown key `rol`");
    check("[[turn]]\ndo = []\n[[turn]]", "turn 2: `do` must be a list");
    check("[[turn]]\nround = [1]\ndo = []", "`round` must be a text or a number");
    check("[[turn]]\ntimes = 0\ndo = []", "`times` must be");
    check("[[turn]\n", "TOML parse error");
    step("1", "turn 1: step 2: must be a table");
    step("{ wrte = 'x' }", "needs exactly one verb, has wrte");
    step("{ say = 'x', write = 'y' }", "needs exactly one verb");
    step("{ say = 'x', text = 'y' }", "`say` does not take `text`");
    step("{ write = 'x' }", "`text` must be a text");
    step("{ run = [] }", "`run` must be a list");
    step("{ report = { tool = 'vote' } }", "unknown tool `vote`");
    step("{ report = { tool = 'escalate', arg = {} } }", "does not take `arg`");
    step("{ wait = 'a while' }", "`wait` must be");
    step("{ pause_ms = -1 }", "`pause_ms` must be");
    step("{ usage = { input = 'x' } }", "`usage`");
    step("{ fault = 'explode' }", "unknown fault `explode`");
    step("{ fault = 'flood' }", "unknown fault `flood`");
    step("{ fault = 'crash:1' }", "unknown fault `crash:1`");
}

#[test]
fn the_documented_scenario_is_valid() {
    let source = include_str!("../../src/scripted/mod.rs");
    let from = source.split("//! ```toml\n").nth(1).unwrap();
    let example = from.split("//! ```").next().unwrap();
    let text = example.replace("//! ", "").replace("//!", "");
    assert_eq!(Scenario::parse(&text).unwrap().turns.len(), 3);
}

#[test]
fn it_waits_for_a_file_and_the_gate_stays_open() {
    let stage = Stage::doing(r#"{ wait = "file:go-{plan}" }, { say = "on" }"#);
    let child = stage.start("role=dev plan=1");
    open_gate(&stage.at("go-1")).unwrap();
    assert_eq!(stage.end(child).outcome.final_text.as_deref(), Some("on"));
    assert_eq!(stage.play("role=dev plan=1").outcome.final_text.as_deref(), Some("on"));
}

#[test]
fn a_shell_can_open_the_gate() {
    let stage = Stage::doing(r#"{ wait = "file:go" }, { say = "on" }"#);
    let child = stage.start("role=dev");
    assert!(command("sh").args(["-c", ": > go"]).current_dir(stage.root.path()).status().unwrap().success());
    assert_eq!(stage.end(child).outcome.final_text.as_deref(), Some("on"));
}

#[test]
fn it_waits_for_a_signal() {
    let stage = Stage::doing(r#"{ wait = "signal" }, { say = "on" }"#);
    let mut child = crate::stage::agent(&stage.scenario())
        .current_dir(stage.at("tree"))
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let waiting = lines.by_ref().map(Result::unwrap).any(|line| line.contains("waiting for a signal"));
    assert!(waiting);
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::USR1).unwrap();
    assert!(lines.map(Result::unwrap).any(|line| line == r#"{"type":"final","text":"on"}"#));
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_pause_takes_its_time() {
    let stage = Stage::doing("{ pause_ms = 120 }");
    let before = std::time::Instant::now();
    assert!(stage.play("role=dev").outcome.is_answer());
    assert!(before.elapsed().as_millis() >= 120);
}

#[test]
fn it_prints_typed_events() {
    let stage = crate::stage::Stage::doing(
        r#"
        { event = { type = "tool", name = "read", args = { path = "a" } } },
        { event = { type = "denied", name = "write", message = "read-only" } },
        { event = { type = "error", kind = "rate_limit", message = "slow down", retry_after_ms = 50 } },
        { say = "too late" },
        "#,
    );
    let outcome = stage.play("role=dev").outcome;
    let problem = outcome.why_not().unwrap();
    assert_eq!(problem.kind, tribunal_agent::ProblemKind::RateLimit);
    assert_eq!(problem.reset, Some(tribunal_agent::Reset::AfterMs(50)));
    assert_eq!((outcome.calls.len(), outcome.denials.len(), outcome.complete), (1, 1, true));
}
