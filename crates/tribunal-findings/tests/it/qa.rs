//! QA reports in every way people and models write them. A check that cannot be read never makes an approval.

use crate::intake::verdict_word;
use tribunal_core::finding::{FixableBy, Severity};
use tribunal_findings::read;

/// The verdict, then each finding as `rule by whom`.
fn told(text: &str) -> String {
    let intake = read(text);
    let mut told = vec![verdict_word(&intake).to_owned()];
    for claim in &intake.findings {
        assert_eq!(claim.severity, Severity::Blocker, "{text}");
        let who = match claim.fixable_by {
            FixableBy::Dev => "dev",
            FixableBy::Architect => "architect",
            FixableBy::Manual => "manual",
        };
        told.push(format!("{} {who}", claim.rule.as_deref().unwrap_or(&claim.claim)));
    }
    if intake.unread.iter().any(|unread| unread.why.starts_with("not believed")) {
        told.push("not believed".to_owned());
    }
    told.join(", ")
}

#[test]
fn checks_are_read_however_they_are_listed() {
    let failed = "reject, commit-lint dev, check-regression architect";
    for checks in [
        "checks:\n- name: commit-lint | status: fail | fixable_by: dev\n- name: check-regression | status: FAIL | fixable_by: architect",
        "checks:\n  - name: commit-lint\n    status: fail\n    fixable_by: dev\n    evidence: x\n\n  - name: check-regression\n    status: fail\n    fixable_by: architect\n    evidence: |\n      two tests\n      are gone\n  - name: other\n    status: pass",
        "checks:\n- name: commit-lint\nstatus: fail\nevidence: x\n- name: check-regression\nstatus: failed\nfixable_by: architect",
        "checks:\n  commit-lint: fail\n  check-regression:\n    status: fail\n    fixable_by: architect\n  other: pass",
        "checks: [{\"name\":\"commit-lint\",\"status\":\"fail\"},{\"name\":\"check-regression\",\"status\":\"fail\",\"fixable_by\":\"architect\"}]",
        "checks:\n[\n  {\"name\": \"commit-lint\", \"status\": \"fail\"},\n  {\"name\": \"check-regression\", \"passed\": false, \"fixable_by\": \"architect\"}\n]",
        "checks: [\n  {\"name\": \"commit-lint\", \"status\": \"fail\"},\n  {\"name\": \"check-regression\", \"status\": \"fail\", \"fixable_by\": \"architect\"}\n]",
        "checks:\n- {name: commit-lint, status: fail, evidence: \"a, b\"}\n- {\"name\":\"check-regression\",\"status\":\"fail\",\"fixable_by\":\"architect\"}",
        "checks:\n\n| name | status | fixable_by | evidence |\n|---|---|---|---|\n| commit-lint | fail | dev | x |\n| check-regression | ❌ fail | architect | y |\n| other | pass | | |",
        "checks:\n- commit-lint | fail | dev | x\n- check-regression | fail | architect",
        "checks:\n- [id:q-001] name: commit-lint | status: fail | fixable_by: dev\n- [id:q-002] name: check-regression | status: fail | fixable_by: architect",
        "checks:\n[id:q-001] name: commit-lint | status: fail\n[id:q-002] name: check-regression | status: fail | fixable_by: architect",
        "- **checks**:\n  - **commit-lint**: FAIL — `wip` is no subject\n  - **name**: check-regression\n    **status**: fail\n    **fixable_by**: architect\n    - one test is gone",
        "plan: 01-02\ntier: standard\nchecks:\n- name: commit-lint\n  status: fail\n- check: check-regression\n  result: fail\n  fixable_by: architect\n",
    ] {
        let report = format!("QA REPORT:\npassed: false\n{checks}\n");
        assert_eq!(told(&report), failed, "{report}");
        // The same findings stand beside a claim to have passed.
        let report = report.replace("passed: false\n", "passed: true\n");
        assert!(told(&report).ends_with("commit-lint dev, check-regression architect"), "{report}");
    }
}

#[test]
fn evidence_stays_with_its_check() {
    let report = "QA REPORT:\npassed: false\nchecks:\n  - name: commit-lint\n    status: fail\n    evidence: >\n      the subject\n      is too long\n    fixable_by: dev\n  - name: other\n    status: pass\n    evidence: fine\n";
    let intake = read(report);
    assert_eq!(intake.findings.len(), 1, "{intake:#?}");
    assert_eq!(intake.findings[0].evidence, "the subject\nis too long");
}

#[test]
fn a_clean_report_approves() {
    for checks in [
        "",
        "checks: []",
        "checks: none",
        "checks: 5/5 passed",
        "checks:\n- name: a | status: pass\n- name: b | status: ✓ pass",
        "checks:\n  - name: a\n    status: pass\n    evidence: 3 tests\n  - name: b\n    status: passed (12 tests)\nhard_stop_reasons: []\ndev_fixable_failures: none",
        "checks: [{\"name\":\"a\",\"status\":\"pass\"}]",
        "checks:\n[{\"name\":\"a\",\"status\":\"pass\"}]",
        "checks:\n  a: pass\n  b: ok\n\nEverything was looked at.",
        "checks:\n| check | status |\n|--|--|\n| a | pass |\n",
    ] {
        let report = format!("QA REPORT:\npassed: true\n{checks}\n");
        assert_eq!(told(&report), "approve", "{report}");
    }
    let json = r#"{"passed":true,"remediation_eligible":false,"checks":[{"name":"a","status":"pass","evidence":"x"}],"hard_stop_reasons":[],"dev_fixable_failures":[]}"#;
    assert_eq!(told(json), "approve");
}

#[test]
fn what_cannot_be_read_is_no_pass() {
    let none = "none, not believed";
    for (checks, expect) in [
        ("checks:\n- name: commit-lint", none),
        ("checks:\n- commit-lint", none),
        ("checks:\n- [x] commit-lint", none),
        ("checks:\n- ::::", none),
        ("checks:\n- ✗", none),
        ("checks:\ncommit-lint went well", none),
        ("checks: 4/5 passed", none),
        ("checks: unknown", none),
        ("checks: [{\"name\":\"a\",\"status\":\"fail\"}", none),
        ("checks: [{name: a, status: fail}]", none),
        ("checks:\n```yaml\n- name: a\n  status: fail\n```", none),
        ("checks:\n> - name: a | status: fail", none),
        ("checks:\n- name: a | status: pass\nand b failed", none),
        ("checks:\n- status: fail", none),
        ("checks:\n- name: a\n  status:", none),
        ("checks:\n[{\"name\":\"a\"}]", none),
        // A status that is no pass keeps the gate shut by a finding.
        ("checks:\n- name: a | status: skipped", "approve, a dev"),
        ("checks:\n- name: a\n  status: did_not_run", "approve, a dev"),
        ("checks:\n- name: a | status: pass|fail", "approve, a dev"),
        ("checks:\n- name: a\n  status: pass with warnings", "approve, a dev"),
        ("checks:\n- name: a\n  status: pass\n  status: fail", "approve, a dev"),
        ("checks:\n- name: a\n  status: fail\n  status: pass", "approve, a dev"),
        ("checks:\n- {\"name\":\"a\",\"status\":\"fail\",\"status\":\"pass\"}", "approve, a dev"),
        ("hard_stop_reasons: the base is gone", "approve, the base is gone manual"),
        ("hard_stop_reasons: [\"x is gone\", \"y\"]", "approve, x is gone manual, y manual"),
        ("hard_stop_reasons:\nthe base is gone\n", "approve, the base is gone manual"),
        ("foo: bar\nchecks:\n- name: a | status: fail", "approve, a dev"),
    ] {
        let report = format!("QA REPORT:\npassed: true\n{checks}\n");
        assert_eq!(told(&report), expect, "{report}");
    }
    // An object of one check is no verdict of the report.
    assert_eq!(told(r#"{"name":"a","passed":true}"#), "none");
    assert_eq!(
        told(r#"{"passed":true,"checks":{"a":"pass","b":{"status":"fail","fixable_by":"manual"}}}"#),
        "approve, b manual"
    );
    assert_eq!(told(r#"{"passed":true,"checks":["a"]}"#), none);
    assert_eq!(told(r#"{"passed":true,"checks":7}"#), none);
}
