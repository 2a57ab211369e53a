//! `tribunal docs`: one object per file, never a crash.

use crate::Field;
use serde_json::Value;

fn lines(stdout: &str) -> Vec<Value> {
    stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn one_object_per_file() {
    let field = Field::new();
    field.write(
        ".planning/phases/01-tools/01-02-SUMMARY.md",
        "---\nphase: 01\nplan: 08\nstatus: a: b\n---\n# Done\n",
    );
    field.write(".planning/ROADMAP.md", "# Roadmap\n");
    field.write(".planning/notes.txt", "no document");
    let (code, stdout, stderr) = field.run(&["docs", ".planning", "--json"]);
    assert_eq!(code, 0, "{stderr}");
    let found = lines(&stdout);
    let shown: Vec<_> = found
        .iter()
        .map(|d| (d["kind"].as_str().unwrap(), d["ok"] == true, d["recovered"] == true))
        .collect();
    assert_eq!(shown, [("ROADMAP", true, false), ("PLAN", true, false), ("SUMMARY", true, true)]);
    assert_eq!(
        (&found[1]["phase"], &found[1]["tasks"], &found[1]["must_haves"]),
        (&"01".into(), &1.into(), &1.into())
    );
    assert_eq!(found[2]["plan"], "08");
    assert!(found[2]["diagnostics"][0]["line"].as_u64() > Some(1), "{}", found[2]);
    assert_eq!(found[0]["diagnostics"], Value::Array(vec![]));
}

#[test]
fn what_is_no_document_is_told_and_the_rest_is_read() {
    let field = Field::bare();
    field.write("01-01-PLAN.md", "---\nphase: [1\n  x: ]]\n\t- {\n---\n");
    std::fs::write(field.stage.project().join("bytes.md"), b"---\nphase: 1\n---\n\xff\xfe\n").unwrap();
    field.write("empty.md", "");
    let (code, stdout, stderr) =
        field.run(&["docs", "01-01-PLAN.md", "missing.md", "bytes.md", "empty.md", "--json"]);
    assert_eq!(code, 2, "{stdout}");
    assert!(stderr.contains("missing.md"), "{stderr}");
    let found = lines(&stdout);
    assert_eq!(found.len(), 3);
    let place = &found[1]["diagnostics"][0];
    assert_eq!((place["line"].as_u64(), place["column"].as_u64()), (Some(4), Some(1)), "{}", found[1]);
    assert!(field.run(&["docs", "bytes.md"]).1.starts_with("⚠ "));
    field.refused(&["docs"]);
}

#[test]
fn task_documents_of_other_tools_are_shown() {
    let field = Field::bare();
    field.write(
        "specs/001-login/tasks.md",
        "## Setup\n\n- [x] T001 [P] Add `src/a.rs`\n- [ ] T002 Test\n- [ ] All good\n",
    );
    field.write("specs/001-login/spec.md", "# Login\n");
    field.write("openspec/changes/a/tasks.md", "## 1. A\n\n- [ ] 1.1 Do\n");
    field.write(".kiro/specs/a/tasks.md", "- [ ]* 1. Do\n  - _Requirements: 1.1_\n");
    field.write(
        ".taskmaster/tasks/tasks.json",
        r#"{"master": {"tasks": [{"id": 1, "title": "Do", "status": "done"}]}}"#,
    );
    field.write(".vscode/tasks.json", r#"{"version": "2.0.0", "tasks": [{"label": "build"}]}"#);
    field.write("package.json", "{}");
    let (code, stdout, stderr) = field.run(&["docs", ".", "--json"]);
    assert_eq!(code, 0, "{stderr}");
    let found = lines(&stdout);
    let shown: Vec<_> = found
        .iter()
        .filter(|one| one["kind"] == "TASKS")
        .map(|one| {
            (
                one["doc"].as_str().unwrap(),
                one["format"].as_str().unwrap(),
                one["tasks"].as_array().unwrap().len(),
            )
        })
        .collect();
    let expect = [
        ("./.kiro/specs/a/tasks.md", "kiro", 1),
        ("./.taskmaster/tasks/tasks.json", "taskmaster", 1),
        ("./openspec/changes/a/tasks.md", "openspec", 1),
        ("./specs/001-login/tasks.md", "speckit", 2),
    ];
    assert_eq!(shown, expect);
    let first = &found.iter().find(|one| one["format"] == "speckit").unwrap()["tasks"][0];
    assert_eq!(
        (&first["id"], &first["line"], &first["paths"][0]),
        (&"T001".into(), &3.into(), &"src/a.rs".into())
    );
    assert!(
        !stdout.contains("package.json") && !stdout.contains(".vscode") && stdout.contains("spec.md"),
        "{stdout}"
    );
}

#[test]
fn a_task_document_is_shown_with_what_was_not_used() {
    let field = Field::bare();
    field.write(
        "specs/001-login/tasks.md",
        "## Setup\n\n- [x] T001 [P] [FND] Add `src/a.rs`\n- [ ] T002 Test\n- [ ] All good\n",
    );
    let (code, stdout, stderr) = field.run(&["docs", "specs"]);
    assert_eq!(code, 0, "{stderr}");
    let expect = "✓ TASKS specs/001-login/tasks.md: spec-kit, 2 tasks, 1 done, 1 parallel, 0 optional, 1 checks\n    \
        3:1: the mark [FND] is not used (marks like it: 1)\n    5:1: boxes that are checks, not tasks under \"Setup\": 1\n";
    assert_eq!(stdout, expect);
    field.write(".taskmaster/tasks/tasks.json", "{\"tasks\": [\n{]}");
    let (code, stdout, _) = field.run(&["docs", ".taskmaster"]);
    assert!(
        code == 0 && stdout.starts_with("✗ TASKS") && stdout.contains("2:2: this is not JSON"),
        "{stdout}"
    );
}
