//! The five checks of a delivery.

use crate::{Field, PHASE, PLAN, SUMMARY, texts};
use serde_json::{Value, json};

fn status(report: &Value, name: &str) -> String {
    let check = report["checks"].as_array().unwrap().iter().find(|check| check["name"] == name);
    check.map(|check| check["status"].as_str().unwrap().to_owned()).unwrap_or_default()
}

#[test]
fn a_summary_is_held_to_its_plan_and_to_git() {
    let field = Field::new();
    field.delivered();
    let fine = field.ask(&["verify-plan-completion", SUMMARY, PLAN], 0);
    assert_eq!(fine["checks"].as_array().unwrap().len(), 5);
    let text = std::fs::read_to_string(field.stage.project().join(SUMMARY)).unwrap();
    let other = SUMMARY.replace("01-01", "01-07");
    field.write(&other, &text.replace("plan: 01", "plan: 07").replace("plan: \"01\"", "plan: \"07\""));
    let strange = field.ask(&["verify-plan-completion", &other, PLAN], 1);
    assert_eq!(status(&strange, "frontmatter_fields"), "fail", "{strange}");
    field.summary(&["deadbeefdeadbeefdeadbeefdeadbeefdeadbeef"], "- `src/parser.txt`");
    let foreign = field.ask(&["verify-plan-completion", SUMMARY, PLAN], 1);
    assert_eq!(
        (status(&foreign, "commit_hashes"), status(&foreign, "body_sections")),
        ("fail".into(), "pass".into())
    );
    let missing = field.ask(&["verify-plan-completion", "gone.md", PLAN], 1);
    assert_eq!(
        (status(&missing, "summary_exists"), status(&missing, "plan_exists")),
        ("fail".into(), "pass".into())
    );
    let no_plan = field.ask(&["verify-plan-completion", SUMMARY, "gone.md"], 1);
    assert_eq!(status(&no_plan, "plan_exists"), "fail");
}

#[test]
fn commits_are_linted_and_fixed_in_words() {
    let field = Field::new();
    field.write("src/a.txt", "1");
    field.commit("feat(01-01): fine");
    field.write("src/a.txt", "2");
    let wrong = field.commit("Add $(id) `x` \"quoted\"");
    let report = field.ask(&["commit-lint", "HEAD~2..HEAD"], 1);
    assert_eq!((&report["total"], &report["valid"]), (&json!(2), &json!(1)));
    let violation = &report["violations"][0];
    assert_eq!((&violation["hash"], &violation["fixable_by"]), (&json!(wrong), &json!("dev")));
    assert_eq!(violation["suggested_fix"], "feat(a): add $(id) `x` \"quoted\"");
    assert_eq!(field.ask(&["commit-lint", "HEAD~2..HEAD~1"], 0)["violations"], json!([]));
    let nothing = field.ask(&["commit-lint", "HEAD..HEAD"], 1);
    assert_eq!((&nothing["ok"], &nothing["total"]), (&json!(false), &json!(0)), "{nothing}");
    for range in ["nowhere..HEAD", "--all", ""] {
        field.refused(&["commit-lint", "--", range]);
    }
}

#[test]
fn declared_files_are_compared_with_changed_ones() {
    let field = Field::new();
    let commit = field.delivered();
    let fine = field.ask(&["diff-against-plan", SUMMARY], 0);
    assert_eq!(
        (&fine["declared"], &fine["actual"]),
        (&json!(["src/parser.txt"]), &json!(["src/parser.txt"]))
    );
    field.summary(&[&commit], "- `src/other file.txt` -- created: x");
    let wrong = field.ask(&["diff-against-plan", SUMMARY], 1);
    assert_eq!(
        (&wrong["undeclared"], &wrong["missing"]),
        (&json!(["src/parser.txt"]), &json!(["src/other file.txt"]))
    );
    assert_eq!(wrong["fixable_by"], "dev");
    field.summary(&[], "- `src/parser.txt`");
    field.ask(&["diff-against-plan", SUMMARY], 1);
    field.ask(&["diff-against-plan", SUMMARY, "--commits", &commit[..9]], 0);
    field.ask(&["diff-against-plan", SUMMARY, "--commits", &format!(" {commit}, {} ,", &commit[..9])], 0);
    let foreign =
        field.ask(&["diff-against-plan", SUMMARY, "--commits", &format!("{commit},0123456789abcdef")], 1);
    assert_eq!(texts(&foreign["unknown_commits"]), ["0123456789abcdef"]);
    field.ask(&["diff-against-plan", "gone.md"], 1);
}

#[test]
fn a_renamed_file_counts_once() {
    let field = Field::new();
    field.git(&["mv", "src/parser.txt", "src/reader ä.txt"]);
    let commit = field.commit("refactor(01-01): rename");
    field.summary(&[&commit], "- `src/reader ä.txt` -- renamed: from parser");
    field.ask(&["diff-against-plan", SUMMARY], 0);
    field.summary(&[&commit], "- `src/parser.txt` → `src/reader ä.txt` -- renamed: better");
    field.ask(&["diff-against-plan", SUMMARY], 0);
}

#[test]
fn must_haves_need_something_that_shows_them() {
    let field = Field::new();
    let open = field.ask(&["validate-requirements", PLAN, PHASE], 1);
    assert_eq!((&open["total"], &open["unverified"]), (&json!(1), &json!(1)));
    assert_eq!(open["requirements"][0]["fixable_by"], "dev");
    field.delivered();
    let shown = field.ask(&["validate-requirements", PLAN, PHASE], 0);
    assert_eq!(shown["requirements"][0]["status"], "verified");
    assert!(shown["requirements"][0]["evidence"].as_str().unwrap().contains("src/parser.txt"), "{shown}");
}

/// A test suite of two lines in a script, so that its past and present can differ.
fn suite(field: &Field, lines: &str) {
    field.write("run-tests", &format!("#!/bin/sh\nprintf '%s\\n' {lines}\n"));
    field.write("tribunal.toml", "[checks.commands]\ntest = [\"sh\", \"run-tests\"]\n");
}

#[test]
fn tests_are_compared_with_the_base_commit() {
    let field = Field::new();
    suite(&field, "'TAP version 13' 'ok 1 - one' 'ok 2 - two' '1..2'");
    field.commit("test(01): a suite");
    field.delivered();
    let same = field.ask(&["check-regression", PHASE], 0);
    assert_eq!((&same["baseline"]["passed"], &same["current"]["passed"]), (&json!(2), &json!(2)));
    assert_eq!(same["fixable_by"], "architect");
    for (lines, kind, test) in [
        ("'TAP version 13' 'ok 1 - one' '1..1'", "fewer_tests", "two"),
        ("'TAP version 13' 'ok 1 - one' 'ok 2 - three' 'ok 3 - four' '1..3'", "fewer_tests", "two"),
        ("'TAP version 13' 'ok 1 - one' 'not ok 2 - two' '1..2'", "newly_failing", "two"),
        ("'TAP version 13' 'ok 1 - one' 'ok 2 - two # SKIP' '1..2'", "newly_skipped", "two"),
    ] {
        suite(&field, lines);
        let worse = field.ask(&["check-regression", PHASE], 1);
        let found = worse["regressions"].as_array().unwrap();
        let named = found.iter().any(|one| one["kind"] == kind && one["test"] == test);
        assert!(named, "{lines}: {worse}");
    }
}

/// Whoever removes a test might also remove it from the record.
#[test]
fn a_record_of_tests_that_somebody_edited_is_made_anew() {
    let field = Field::new();
    suite(&field, "'TAP version 13' 'ok 1 - one' 'ok 2 - two' '1..2'");
    field.commit("test(01): a suite");
    field.delivered();
    field.ask(&["check-regression", PHASE], 0);
    let record = ".planning/.baseline/01.json";
    let text = field.read(record);
    suite(&field, "'TAP version 13' 'ok 1 - one' '1..1'");
    for edited in [
        text.replace("\"passed\": 2", "\"passed\": 1").replace("\"two\": \"passed\"", "\"two\": \"skipped\""),
        text.lines().filter(|line| !line.contains("seal")).collect::<String>().replace(",}", "}"),
        "{ half".to_owned(),
    ] {
        assert_ne!(edited, text);
        field.write(record, &edited);
        let worse = field.ask(&["check-regression", PHASE], 1);
        assert_eq!(worse["regressions"][0]["test"], "two", "{worse}");
        assert_eq!(field.read(record), text, "it is as the base commit says again");
    }
}

#[test]
fn a_regression_check_that_cannot_look_says_so() {
    let field = Field::new();
    let none = field.ask(&["check-regression", PHASE], 3);
    assert_eq!(none["result"], "did_not_run");
    suite(&field, "'TAP version 13' 'ok 1 - one' '1..1'");
    assert!(field.ask(&["check-regression", PHASE], 3)["reason"].as_str().unwrap().contains("no commit"));
    field.commit("test(01): a suite");
    field.delivered();
    for script in ["exit 127", "exit 0", "echo all tests pass", "nonexistent-program"] {
        field.write("run-tests", &format!("{script}\n"));
        let lost = field.ask(&["check-regression", PHASE, "--base", "HEAD"], 3);
        assert_eq!(lost["ok"], false, "{script}");
    }
    field.refused(&["check-regression", "nowhere"]);
    field.refused(&["check-regression", PHASE, "--base", "nowhere"]);
}

#[test]
fn the_suite_runs_all_five_and_counts_what_did_not_run_as_open() {
    let field = Field::new();
    suite(&field, "'TAP version 13' 'ok 1 - one' '1..1'");
    field.commit("test(01): a suite");
    field.delivered();
    let clean = field.ask(&["qa-suite", SUMMARY, PLAN], 0);
    assert_eq!(
        (&clean["checks_run"], &clean["checks_passed"], &clean["checks_failed"]),
        (&json!(5), &json!(5), &json!(0))
    );
    field.write("run-tests", "exit 127\n");
    field.write("src/parser.txt", "third\n");
    field.commit("whatever");
    let open =
        field.ask(&["qa-suite", SUMMARY, PLAN, "--commit-range", "HEAD~1..HEAD", "--phase-dir", PHASE], 1);
    assert_eq!(open["checks_passed"], 3, "{open}");
    assert_eq!(open["results"]["check-regression"]["status"], "did_not_run");
    assert_eq!(open["results"]["check-regression"]["fixable_by"], "architect");
    assert_eq!(open["results"]["commit-lint"]["status"], "fail");
    let nothing = field.ask(&["qa-suite", "gone.md", PLAN], 1);
    assert_eq!(nothing["checks_run"], 5);
}
