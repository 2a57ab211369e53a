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
