//! What went wrong where the protocol came from, one test each, named after the trap.

use crate::{CONTRACT, Field, PHASE, PLAN, PLAN_TEXT, SUMMARY};
use serde_json::json;

#[test]
fn the_documented_template_plan_is_approved() {
    let field = Field::new();
    assert_eq!(field.ask(&["review-plan", PLAN, PHASE], 0)["verdict"], "approve");
}

#[test]
fn a_template_summary_passes_diff_against_plan() {
    let field = Field::new();
    let commit = field.delivered();
    field.summary(&[&commit], "- `src/parser.txt` -- modified: accepts quotes");
    field.ask(&["diff-against-plan", SUMMARY], 0);
}

#[test]
fn existing_files_are_found_in_the_real_folder_layout() {
    let field = Field::new();
    // From another folder, and with the plan by its whole path: the root decides, not where we stand.
    let whole = field.stage.project().join(PLAN);
    let inside = field.stage.project().join("src");
    field.ask(&["review-plan", whole.to_str().unwrap(), "-C", inside.to_str().unwrap()], 0);
}

#[test]
fn file_in_the_singular_is_seen() {
    let field = Field::new();
    field.ask(&["generate-contract", PLAN], 0);
    assert!(PLAN_TEXT.contains("**File:**") && field.read(CONTRACT).contains("\"src/parser.txt\""));
}

#[test]
fn findings_of_agents_with_a_dash_or_a_status_tag_are_kept_and_a_quoted_verdict_does_not_win() {
    let field = Field::new();
    field.write(
        "answer.md",
        "The builder said \"VERDICT: approve\", which is wrong.\n\nVERDICT: reject\nFINDINGS:\n\
         - [id:f1] [severity:high] [file:a.rs] issue: one | suggestion: fix one\n\
         - [id:f2] [severity:medium] [file:b.rs] [status:new] issue: two | suggestion: fix two\n",
    );
    let (code, stdout, stderr) = field.run(&["intake", "answer.md", "--json"]);
    assert_eq!(code, 0, "{stderr}");
    let found: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    let text = found.to_string();
    assert!(text.contains("\"one\"") && text.contains("\"two\""), "{text}");
    assert!(found["verdict"].to_string().to_lowercase().contains("reject"), "{text}");
}

#[test]
fn a_qa_report_names_its_failed_checks() {
    let field = Field::new();
    let report = "QA REPORT:\npassed: false\nchecks:\n- name: commit-lint | status: fail | fixable_by: dev | evidence: bad\n\
        - name: check-regression | status: pass | fixable_by: architect\n";
    field.write("answer.md", report);
    let found: serde_json::Value =
        serde_json::from_str(&field.run(&["intake", "answer.md", "--json"]).1).unwrap();
    assert_eq!(found["verdict"], "reject", "{found}");
    assert_eq!(found["findings"][0]["rule"], "commit-lint", "{found}");
}

#[test]
fn findings_have_an_id_and_words_never_null() {
    let field = Field::new();
    field.write(PLAN, "no frontmatter at all\n");
    let report = field.ask(&["review-plan", PLAN], 1);
    let findings = report["findings"].as_array().unwrap();
    assert!(!findings.is_empty());
    for finding in findings {
        assert!(finding["id"].is_string() && finding["title"].is_string(), "{finding}");
    }
}

#[test]
fn the_state_of_a_loop_is_added_to_not_overwritten() {
    let field = Field::new();
    field.ask(&["update-exec-state", "01-01", "review_loops.findings_per_cycle+={\"high\":1}"], 0);
    field.ask(&["update-exec-state", "01-01", "review_loops.cycle=2", "review_loops.max=3"], 0);
    field.ask(&["update-exec-state", "01-01", "review_loops.findings_per_cycle+={\"high\":0}"], 0);
    let state: serde_json::Value =
        serde_json::from_str(&field.read(".planning/.execution-state.json")).unwrap();
    let entry = &state["review_loops"]["01-01"];
    assert_eq!(entry["findings_per_cycle"], json!([{ "high": 1 }, { "high": 0 }]));
}

#[test]
fn validate_requirements_does_not_pass_on_one_shared_word() {
    let field = Field::new();
    field.write(
        PLAN,
        &PLAN_TEXT.replace("the parser accepts quoted fields", "the parser is faster than light"),
    );
    field.delivered();
    let report = field.ask(&["validate-requirements", PLAN, PHASE], 1);
    assert_eq!(report["requirements"][0]["status"], "unverified");
}

#[test]
fn verification_threshold_does_not_take_checks_passed_for_a_pass() {
    let field = Field::new();
    field.ask(&["generate-contract", PLAN], 0);
    let gate = |code| field.ask(&["hard-gate", "verification_threshold", "1", "1", "1", CONTRACT], code);
    let report = format!("{PHASE}/01-VERIFICATION.md");
    for (text, code) in [
        ("---\nstatus: failed\nchecks_passed: 3\nchecks_failed: 2\n---\nAll else would pass.\n", 2),
        ("checks_passed: 3\nchecks_failed: 2\n", 2),
        ("# Report\n\nchecks_passed are many, everything should pass\n", 3),
        ("---\nstatus: passed\n---\n", 0),
    ] {
        field.write(&report, text);
        gate(code);
    }
}

#[test]
fn two_leases_over_one_file_do_not_both_succeed() {
    let field = Field::new();
    field.ask(&["lease-lock", "acquire", "01-01-T1", "src/parser.txt"], 0);
    field.ask(&["lease-lock", "acquire", "01-02-T1", "src/parser.txt"], 2);
}

#[test]
fn unknown_commands_are_refused() {
    let field = Field::new();
    let (code, stdout, stderr) = field.run(&["no-such-command"]);
    assert_eq!((code, stdout.as_str()), (2, ""));
    assert!(stderr.contains("no-such-command"), "{stderr}");
}

#[test]
fn evidence_with_commas_is_several_paths() {
    let field = Field::new();
    field.ask(&["generate-contract", PLAN], 0);
    field.write("src/more.txt", "x");
    let ask = |evidence: &str, code| {
        field.ask(&["two-phase-complete", "01-01-T1", "1", "1", CONTRACT, evidence], code)
    };
    ask("src/parser.txt,src/more.txt", 0);
    let rejected = ask("src/parser.txt,src/gone.txt", 2);
    assert_eq!(rejected["errors"], json!(["artifacts: src/gone.txt is not there"]));
    field.write("src/one,two.txt", "x");
    ask("src/one,two.txt", 0);
    field.ask(&["lease-lock", "acquire", "t1", "a.txt,b.txt"], 0);
    field.ask(&["lease-lock", "acquire", "t2", "b.txt"], 2);
}

#[test]
fn no_temporary_file_is_shared_or_left() {
    let field = Field::new();
    // Many at once write the same files; whoever reads one finds it whole.
    std::thread::scope(|scope| {
        for n in 0..12 {
            let program = field.stage.program().clone();
            scope.spawn(move || {
                let note = format!("phase_name={n}");
                for args in [&["generate-contract", PLAN][..], &["update-exec-state", "-", &note]] {
                    assert_eq!(program.run(args, &[]).unwrap().code, Some(0), "{args:?}");
                }
            });
        }
    });
    field.ask(&["hard-gate", "contract_compliance", "1", "1", "1", CONTRACT], 0);
    let state: serde_json::Value =
        serde_json::from_str(&field.read(".planning/.execution-state.json")).unwrap();
    assert!(state["phase_name"].is_number(), "{state}");
    for folder in ["", "/.contracts", "/.events"] {
        let entries = std::fs::read_dir(field.stage.project().join(format!(".planning{folder}"))).unwrap();
        let names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        assert!(names.iter().all(|name| !name.ends_with(".new")), "{names:?}");
    }
}

#[test]
fn shell_signs_in_titles_and_messages_are_only_text() {
    let field = Field::new();
    let title = "title: '$(touch pwned) `touch pwned` \"quoted\" ; touch pwned'";
    field.write(PLAN, &PLAN_TEXT.replace("title: Quoted fields", title));
    field.ask(&["review-plan", PLAN], 0);
    field.ask(&["generate-contract", PLAN], 0);
    field.write("x", "1");
    field.commit("$(touch pwned)\n\nbody `touch pwned`");
    field.ask(&["commit-lint", "HEAD~1..HEAD"], 1);
    field.ask(&["log-event", "x", "1", "phase_name=$(touch pwned)"], 0);
    field.ask(&["hard-gate", "commit_hygiene", "1", "1", "1", CONTRACT], 2);
    assert!(!field.stage.project().join("pwned").exists());
}
