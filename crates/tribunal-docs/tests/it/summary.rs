//! Summaries and their gate.

use tribunal_docs::{CheckStatus, Plan, Summary, SummaryFacts, check_summary, read_plan, read_summary};

const GOOD: &str = "---\nphase: \"03\"\nplan: \"01\"\ntitle: \"Add parser\"\nstatus: complete\ncompleted: 2026-02-03\ntasks_completed: 2\ntasks_total: 2\ncommit_hashes:\n  - 84e9493\n  - 0802014\ndeviations: []\n---\n\n# Add parser\n\n## What Was Built\n\n- a parser\n\n## Files Modified\n\n- `src/parse.rs` -- created: the parser\n- `src/lib.rs` -- modified: wiring\n- `src/old.rs` — deleted: not needed\n- README.md\n\n## Deviations\n\nNone\n";

fn summary(text: &str) -> Summary {
    read_summary("phases/03-x/03-01-SUMMARY.md", text).value.unwrap()
}

fn plan() -> Plan {
    let text = "---\nphase: 3\nplan: 1\n---\n### Task 1: a\nx\n### Task 2: b\ny\n";
    read_plan("03-01-PLAN.md", text).value.unwrap()
}

#[test]
fn fields_and_file_lines() {
    let got = summary(GOOD);
    assert_eq!(got.id.to_string(), "03-01");
    assert_eq!(got.commit_hashes, ["84e9493", "0802014"]);
    assert!(got.is_complete() && got.deviations.is_empty());
    let files: Vec<_> =
        got.files.iter().map(|f| (f.path.as_str(), f.action.as_str(), f.purpose.as_str())).collect();
    assert_eq!(
        files,
        [
            ("src/parse.rs", "created", "the parser"),
            ("src/lib.rs", "modified", "wiring"),
            ("src/old.rs", "deleted", "not needed"),
            ("README.md", "", "")
        ]
    );
    assert_eq!(got.section("what was built").map(|s| s.text.as_str()), Some("- a parser"));
}

#[test]
fn hashes_in_every_form() {
    let check = |yaml: &str, expect: &[&str]| {
        assert_eq!(summary(&format!("---\n{yaml}\n---\n")).commit_hashes, expect, "{yaml}");
    };
    check("commit_hashes: [84e9493, 1234567]", &["84e9493", "1234567"]);
    check("commit_hashes: abc1234", &["abc1234"]);
    check("commits:\n  - d39ffa6: docs(x): fix: y", &["d39ffa6"]);
    check("commits:\n  - \"d39ffa6 words\"\n  - `abc1234`", &["d39ffa6", "abc1234"]);
    check("commits: 3", &[]);
    check("commit_hashes: []", &[]);
}

fn failed(text: &str) -> Vec<&'static str> {
    let known = |hash: &str| ["84e9493", "0802014"].contains(&hash);
    let facts = SummaryFacts { commit_exists: &known };
    let checks = check_summary(&summary(text), &plan(), &facts);
    assert_eq!(checks.len(), 5);
    checks.into_iter().filter(|c| c.status == CheckStatus::Fail).map(|c| c.name).collect()
}

#[test]
fn the_gate() {
    let check = |from: &str, to: &str, expect: &[&str]| {
        assert_eq!(failed(&GOOD.replace(from, to)), expect, "{from:?} → {to:?}");
    };
    check("", "", &[]);
    check("deviations: []\n", "", &["frontmatter_fields"]);
    check("status: complete", "status: done", &["frontmatter_fields"]);
    check("2026-02-03", "yesterday", &["frontmatter_fields"]);
    check("tasks_total: 2", "tasks_total: 3", &["task_count_match", "completion_match"]);
    check("tasks_completed: 2", "tasks_completed: 1", &["completion_match"]);
    check("tasks_completed: 2", "tasks_completed: many", &["completion_match"]);
    check("0802014", "ffffff1", &["commit_hashes"]);
    check("  - 84e9493\n  - 0802014\n", "", &["commit_hashes"]);
    check("## Deviations\n\nNone\n", "", &["body_sections"]);
    check("## What Was Built", "## Built", &["body_sections"]);
    check("status: complete\n", "status: partial\n", &[]);
}
