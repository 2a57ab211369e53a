//! Events, metrics, the execution state and messages.

use crate::{CONTRACT, Field, PLAN};
use serde_json::{Value, json};
use std::ffi::OsString;

#[test]
fn events_are_lines_with_their_belongings() {
    let field = Field::new();
    field.write(".planning/.execution-state.json", "{\"correlation_id\": \"from-state\"}");
    let made = field.ask(
        &["log-event", "review_loop_start", "1", "plan=01-02", "max_cycles=3", "note=$(id) \"x\"\n=y"],
        0,
    );
    let (name, event) = field.events().pop().unwrap();
    assert_eq!((name.as_str(), &event["event_id"]), ("review_loop_start", &made["event_id"]));
    assert_eq!((&event["phase"], &event["plan"]), (&json!(1), &json!("01-02")));
    assert_eq!(event["correlation_id"], "from-state");
    assert_eq!(event["data"], json!({ "plan": "01-02", "max_cycles": "3", "note": "$(id) \"x\"\n=y" }));
    for (name, value, expect) in
        [("YOLO_CORRELATION_ID", "yolo", "yolo"), ("TRIBUNAL_CORRELATION_ID", "own", "own")]
    {
        let value = OsString::from(value);
        field.stage.program().run(&["log-event", "x", "1", "2"], &[(name, &value)]).unwrap();
        let (_, event) = field.events().pop().unwrap();
        assert_eq!((&event["correlation_id"], &event["plan"]), (&json!(expect), &json!("01-02")), "{name}");
    }
    field.refused(&["log-event", "x y", "1"]);
    field.refused(&["log-event", "x"]);
    field.refused(&["log-event", "x", "1", "a=b", "c"]);
}

#[test]
fn metrics_are_counted_from_the_log() {
    let field = Field::new();
    for event in ["gate_passed", "gate_failed", "lease_conflict", "agent_launched", "smart_route"] {
        field.ask(&["log-event", event, "1", "1"], 0);
    }
    field.ask(&["log-event", "gate_failed", "2", "1"], 0);
    let found = field.ask(&["metrics-report", "1", "--json"], 0);
    assert_eq!((&found["events"], &found["gate_failure_rate"]), (&json!(5), &json!(0.5)));
    assert_eq!((&found["lease_conflicts"], &found["fallback_share"]), (&json!(1), &json!(1.0)));
    let (code, stdout, _) = field.run(&["metrics-report"]);
    assert_eq!(code, 0);
    assert!(
        stdout.starts_with("# Metrics: all phases\n") && stdout.contains("| gate failure rate | 66.7 % |"),
        "{stdout}"
    );
    assert_eq!(Field::new().run(&["metrics-report"]).0, 0, "no log is no failure");
}

#[test]
fn the_execution_state_is_edited_not_rewritten() {
    let field = Field::new();
    let state = |field: &Field| -> Value {
        serde_json::from_str(&field.read(".planning/.execution-state.json")).unwrap()
    };
    field.write(
        ".planning/.execution-state.json",
        "{\"phase\": 1, \"mine\": [1], \"plans\": [{\"id\": \"01-01\", \"title\": \"t\", \"status\": \"pending\"}]}",
    );
    field.ask(&["update-exec-state", "1", "status=complete"], 0);
    field.ask(&["update-exec-state", "01-02", "status=running"], 1);
    field.write(".planning/phases/01-tools/01-02-PLAN.md", "---\nphase: 1\nplan: 2\n---\n");
    field.ask(&["update-exec-state", "01-02", "status=running", "wave=2"], 0);
    field.ask(
        &[
            "update-exec-state",
            "01-01",
            "review_loops.cycle=1",
            "review_loops.max=3",
            "review_loops.status=running",
        ],
        0,
    );
    let cycle = "review_loops.findings_per_cycle+={\"verdict\":\"reject\",\"finding_count\":2,\"high\":1}";
    field.ask(&["update-exec-state", "01-01", cycle], 0);
    field.ask(&["update-exec-state", "01-01", "qa_loops.status=passed"], 0);
    field.ask(&["update-exec-state", "-", "status=complete", "wave=3", "steps_completed+=plan_gate"], 0);
    let found = state(&field);
    assert_eq!(found["plans"][0], json!({ "id": "01-01", "title": "t", "status": "complete" }));
    assert_eq!(found["plans"][1], json!({ "id": "01-02", "status": "running", "wave": 2 }));
    assert_eq!(found["review_loops"]["01-01"]["findings_per_cycle"][0]["high"], 1);
    assert_eq!(found["qa_loops"]["01-01"]["status"], "passed");
    assert_eq!(
        (&found["status"], &found["wave"], &found["mine"]),
        (&json!("complete"), &json!(3), &json!([1]))
    );
    assert_eq!(found["steps_completed"], json!(["plan_gate"]));
    field.refused(&["update-exec-state", "01-01", "nonsense"]);
    for (plan, change) in [
        ("01-01", "a.b.c=1"),
        ("01-01", "status=bogus"),
        ("-", "status=bogus"),
        ("-", "status=pending"),
        ("-", "invented=1"),
        ("01-01", "review_loops.invented=1"),
        ("01-01", "review_loops.cycle=soon"),
        ("-", "plans.0=1"),
        ("-", "plans=5"),
        ("-", "plans=[1]"),
        ("-", "steps_completed=done"),
        ("01-01", "status+=complete"),
        ("-", "status+=complete"),
        ("-", "review_loops=1"),
        ("-", "wave=-1"),
        ("99-99", "status=complete"),
        ("banana", "status=complete"),
    ] {
        field.ask(&["update-exec-state", plan, change], 1);
    }
    field.ask(&["update-exec-state", "-", "mine+=2"], 0);
    field.ask(&["update-exec-state", "-", "mine=[1]"], 0);
    assert_eq!(state(&field), found, "a change that makes no sense changes nothing");
    field.write(".planning/.execution-state.json", "{ half");
    field.ask(&["update-exec-state", "01-01", "status=complete"], 1);
    assert_eq!(field.read(".planning/.execution-state.json"), "{ half");
}

#[test]
fn a_state_that_is_not_there_yet_is_begun() {
    let field = Field::new();
    assert_eq!(field.ask(&["update-exec-state", "1", "status=running"], 0)["plan"], "01-01");
    field.write(".planning/phases/02-more/02-01-PLAN.md", "---\nphase: 2\nplan: 1\n---\n");
    field.ask(&["update-exec-state", "1", "status=complete"], 1);
    field.ask(&["update-exec-state", "02-01", "status=running"], 0);
    field.ask(&["update-exec-state", "-", "phase=1", "status=running"], 0);
    assert_eq!(field.ask(&["update-exec-state", "1", "status=complete"], 0)["plan"], "01-01");
}

#[test]
fn many_writers_of_the_state_lose_nothing() {
    let field = Field::new();
    std::thread::scope(|scope| {
        for n in 0..8 {
            let program = field.stage.program().clone();
            scope.spawn(move || {
                let change = format!("steps_completed+=s{n}");
                assert_eq!(program.run(&["update-exec-state", "-", &change], &[]).unwrap().code, Some(0));
            });
        }
    });
    let state: Value = serde_json::from_str(&field.read(".planning/.execution-state.json")).unwrap();
    assert_eq!(state["steps_completed"].as_array().unwrap().len(), 8);
}

/// Other tools of the protocol write phase and plan as numbers.
#[test]
fn numbers_are_numbers_however_they_are_written() {
    let field = Field::new();
    let line =
        |phase: &str| format!("{{\"event\":\"gate_passed\",\"phase\":{phase},\"plan\":1,\"data\":{{}}}}\n");
    let log: String = ["1", "\"1\"", "\"01\"", "2", "\"10\"", "null"].map(line).concat();
    field.write(".planning/.events/event-log.jsonl", &log);
    for phase in ["1", "01"] {
        let (code, stdout, _) = field.run(&["metrics-report", phase, "--json"]);
        let found: Value = serde_json::from_str(&stdout).unwrap();
        assert_eq!((code, &found["events"]), (0, &json!(3)), "{found}");
    }
    field.ask(&["generate-contract", PLAN], 0);
    let text = field.read(CONTRACT);
    let mut contract: Value = serde_json::from_str(&text).unwrap();
    (contract["phase"], contract["plan"]) = (json!(1), json!(1));
    contract["contract_hash"] = tribunal_protocol::hash_of(&contract).into();
    field.write(CONTRACT, &contract.to_string());
    field.ask(&["hard-gate", "contract_compliance", "1", "1", "1", CONTRACT], 0);
}

/// A message on stdin, from a file.
fn message(field: &Field, message: &Value, code: i32) -> Vec<String> {
    field.write("m.json", &message.to_string());
    let args: Vec<OsString> = ["-c", "exec \"$0\" validate-message < m.json", env!("CARGO_BIN_EXE_tribunal")]
        .map(OsString::from)
        .into();
    let ended = field.stage.program().launch("sh".as_ref(), &args, &[]).unwrap().wait().unwrap();
    assert_eq!(ended.code, Some(code), "{message} {}", ended.stdout);
    let found: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(found["valid"], code == 0);
    found["errors"].as_array().unwrap().iter().map(|e| e.as_str().unwrap().to_owned()).collect()
}

#[test]
fn messages_are_held_to_their_kind_their_roles_and_the_contract() {
    let field = Field::new();
    field.ask(&["generate-contract", PLAN], 0);
    assert!(field.read(CONTRACT).contains("src/parser.txt"));
    let good = json!({
        "id": "m1", "type": "execution_update", "phase": "01", "task": "01-01-T1", "author_role": "dev",
        "timestamp": "2026-11-15T00:00:00Z", "schema_version": "2.0", "confidence": "high", "target_role": "lead",
        "payload": { "plan_id": "01-01", "task_id": "01-01-T1", "status": "complete", "commit": "abc",
                     "files_modified": ["src/parser.txt"] },
    });
    assert_eq!(message(&field, &good, 0), Vec::<String>::new());
    let edits: [(&str, Value, &str); 8] = [
        ("/id", Value::Null, "envelope: id"),
        ("/schema_version", json!("1.0"), "envelope: schema_version"),
        ("/type", json!("gossip"), "type: "),
        ("/payload/commit", Value::Null, "payload: commit"),
        ("/payload", json!("words"), "payload: "),
        ("/author_role", json!("qa"), "author_role: qa"),
        ("/target_role", json!("scout"), "target_role: scout"),
        ("/payload/files_modified", json!(["secret/x"]), "files: secret/x"),
    ];
    for (at, value, error) in edits {
        let mut bad = good.clone();
        *bad.pointer_mut(at).unwrap() = value;
        let errors = message(&field, &bad, 2);
        assert!(errors.iter().any(|said| said.starts_with(error)), "{at}: {errors:?}");
    }
    for (tier, code) in
        [(json!("quick"), 0), (json!("deep"), 0), (json!("skip"), 2), (json!("huge"), 2), (json!(1), 2)]
    {
        let mut verdict = good.clone();
        (verdict["type"], verdict["author_role"]) = (json!("qa_verdict"), json!("qa"));
        verdict["payload"] = json!({ "tier": tier, "result": "pass", "checks": [] });
        message(&field, &verdict, code);
    }
    message(&field, &json!([]), 2);
}
