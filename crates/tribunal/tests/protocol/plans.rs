//! Commands about a plan before it is built.

use crate::{CONTRACT, Field, PHASE, PLAN, PLAN_TEXT, texts};
use serde_json::json;

#[test]
fn review_plan_answers_in_three_ways() {
    let field = Field::new();
    let approved = field.ask(&["review-plan", PLAN, PHASE], 0);
    assert_eq!((&approved["verdict"], &approved["ok"]), (&json!("approve"), &json!(true)));
    assert_eq!(approved["findings"], json!([]));
    assert!(approved["checks"].as_array().unwrap().iter().all(|check| check["status"] == "pass"));

    field.write(PLAN, &PLAN_TEXT.replace("`src/parser.txt`", "`src/other.txt`"));
    let conditional = field.ask(&["review-plan", PLAN], 2);
    assert_eq!(conditional["verdict"], "conditional");
    let finding = &conditional["findings"][0];
    for key in
        ["id", "severity", "check", "file", "title", "description", "issue", "suggestion", "suggested_fix"]
    {
        assert!(finding[key].as_str().is_some_and(|text| !text.is_empty()), "{key}: {finding}");
    }
    assert_eq!((&finding["severity"], &finding["auto_fixable"]), (&json!("low"), &json!(false)));

    field.write(PLAN, &PLAN_TEXT.replace("wave: 1", "wave: soon"));
    assert_eq!(field.ask(&["review-plan", PLAN], 1)["verdict"], "reject");
    let missing = field.ask(&["review-plan", "nowhere-PLAN.md"], 1);
    assert_eq!(missing["findings"][0]["check"], "file");
    assert_eq!(
        missing["checks"],
        json!([{ "name": "file", "status": "fail" }]),
        "nothing else was looked at"
    );
    field.write(PLAN, &PLAN_TEXT.replace("- the parser accepts quoted fields", "- \"\"\n  - \" \""));
    let blank = field.ask(&["review-plan", PLAN], 1);
    assert_eq!(blank["findings"][0]["check"], "must_haves", "{blank}");
    field.refused(&["review-plan"]);
    field.refused(&["review-plan", PLAN, "nowhere"]);
}

#[test]
fn review_plan_sees_the_other_plans_and_the_limit_of_tasks() {
    let field = Field::new();
    field.write(".planning/phases/01-tools/01-02-PLAN.md", &PLAN_TEXT.replace("plan: 01", "plan: 02"));
    let claimed = field.ask(&["review-plan", PLAN], 1);
    assert_eq!(claimed["findings"][0]["check"], "file_claims");
    field.write(
        ".planning/phases/01-tools/01-02-PLAN.md",
        "---\nphase: 1\nplan: 2\nwave: 2\ndepends_on: [1]\n---\n",
    );
    field.write(PLAN, &PLAN_TEXT.replace("depends_on: []", "depends_on: [2]"));
    let cycle = field.ask(&["review-plan", PLAN], 1);
    assert!(
        cycle["findings"].as_array().unwrap().iter().any(|f| f["check"] == "dependency_cycle"),
        "{cycle}"
    );
    std::fs::remove_file(field.stage.project().join(".planning/phases/01-tools/01-02-PLAN.md")).unwrap();
    let tasks: String = (1..=3).map(|n| format!("\n### Task {n}: parser quoted fields\n\nwords\n")).collect();
    field.write(PLAN, &format!("{PLAN_TEXT}{tasks}"));
    field.write(".planning/config.json", "{\"max_tasks_per_plan\": 2}");
    let many = field.ask(&["review-plan", PLAN], 2);
    assert_eq!(many["findings"][0]["check"], "task_count", "{many}");
}

#[test]
fn validate_plan_passes_nothing_it_could_not_read() {
    let field = Field::new();
    let other = ".planning/phases/01-tools/01-07-PLAN.md";
    for text in ["", "no frontmatter\n", "\u{1}\u{2}\u{3}"] {
        field.write(other, text);
        assert_eq!(field.ask(&["validate-plan", other, PHASE], 1)["ok"], false, "{text:?}");
    }
    field.write(other, &PLAN_TEXT.replace("phase: 01", "phase: 02"));
    let strange = field.ask(&["validate-plan", other, PHASE], 1);
    assert!(strange.to_string().contains("not of phase 01"), "{strange}");
    field.refused(&["validate-plan", PLAN, "nowhere"]);
}

#[test]
fn validate_plan_names_what_is_missing_and_the_way_out() {
    let field = Field::new();
    let fine = field.ask(&["validate-plan", PLAN, PHASE], 0);
    assert_eq!(fine["depends_on"], json!({ "valid": true, "checked": 0 }));
    field.write(".planning/phases/02-next/02-01-PLAN.md", "---\nphase: 2\nplan: 1\n---\n");
    let table = [
        ("[\"02-01\"]", 1, "cross_phase: "),
        ("[\"phase:02:plan:01\"]", 1, "cross_phase: "),
        ("[{phase: 2, plan: 1}]", 1, "cross_phase: "),
        ("[\"01-09\"]", 1, "depends_on: "),
        ("[1]", 1, "depends_on: "),
    ];
    for (depends, code, prefix) in table {
        field.write(PLAN, &PLAN_TEXT.replace("depends_on: []", &format!("depends_on: {depends}")));
        let found = field.ask(&["validate-plan", PLAN, PHASE], code);
        let errors = texts(&found["errors"]);
        assert!(errors[0].starts_with(prefix) && errors[0].contains("Fix: "), "{depends}: {errors:?}");
    }
    field.write(
        ".planning/phases/02-next/02-01-SUMMARY.md",
        "---\nphase: 2\nplan: 1\nstatus: complete\n---\n",
    );
    field.write(PLAN, &PLAN_TEXT.replace("depends_on: []", "depends_on: [\"02-01\"]"));
    assert_eq!(field.ask(&["validate-plan", PLAN, PHASE], 0)["cross_phase"]["checked"], 1);
    field.write(PLAN, &PLAN_TEXT.replace("depends_on: []", "depends_on: [\"02-01\", \"01-09\"]"));
    assert_eq!(field.ask(&["validate-plan", PLAN, PHASE], 2)["cross_phase"]["valid"], true);
    assert_eq!(texts(&field.ask(&["validate-plan", "gone.md", PHASE], 1)["errors"]).len(), 1);
}

#[test]
fn a_contract_is_written_and_sealed() {
    let field = Field::new();
    let made = field.ask(&["generate-contract", PLAN], 0);
    assert!(made["path"].as_str().unwrap().ends_with("/.planning/.contracts/01-01.json"), "{made}");
    let contract: serde_json::Value = serde_json::from_str(&field.read(CONTRACT)).unwrap();
    assert_eq!(contract["task_ids"], json!(["01-01-T1"]));
    assert_eq!(contract["allowed_paths"], json!(["src/parser.txt"]));
    assert_eq!(contract["forbidden_paths"], json!(["secret"]));
    assert_eq!(contract["verification_checks"], json!(["test -f src/parser.txt"]));
    assert_eq!((&contract["phase_id"], &contract["plan_id"]), (&json!("01"), &json!("01-01")));
    for key in [
        "phase",
        "plan",
        "objective",
        "task_count",
        "depends_on",
        "must_haves",
        "max_token_budget",
        "timeout_seconds",
    ] {
        assert!(!contract[key].is_null(), "{key}");
    }
    let again = field.ask(&["generate-contract", PLAN], 0);
    assert_eq!(again["contract_hash"], made["contract_hash"]);
    assert_eq!(contract["contract_hash"].as_str().unwrap().len(), 64);
    field.ask(&["generate-contract", "gone.md"], 1);
    field.write("01-03-PLAN.md", "no frontmatter");
    field.ask(&["generate-contract", "01-03-PLAN.md"], 1);
}

#[test]
fn risk_is_read_from_the_plan() {
    let field = Field::new();
    assert_eq!(field.ask(&["assess-risk", PLAN], 0)["risk"], "low");
    let tasks: String =
        (1..=6).map(|n| format!("\n### Task {n}: x\n\n**Files:** `a{n}`, `b{n}`\n")).collect();
    field.write(
        PLAN,
        &format!("---\nphase: 1\nplan: 1\ndepends_on: [\"02-01\"]\nmust_haves: [a]\n---\n{tasks}"),
    );
    let high = field.ask(&["assess-risk", PLAN], 0);
    assert_eq!((&high["risk"], &high["score"]), (&json!("high"), &json!(3)));
    assert_eq!(field.ask(&["assess-risk", "gone.md"], 0)["risk"], "high");
}
