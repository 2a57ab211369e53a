//! Editing one frontmatter key in place.

use tribunal_docs::{Value, set_frontmatter};

fn check(text: &str, key: &str, value: Value, expect: &str) {
    assert_eq!(set_frontmatter(text, key, &value).as_deref(), Ok(expect), "{text:?}");
}

#[test]
fn only_the_asked_bytes_change() {
    let three = Value::text("3");
    check(
        "---\na: 1 # why\nb: 2\n---\nbody: 1\n",
        "a",
        three.clone(),
        "---\na: 3 # why\nb: 2\n---\nbody: 1\n",
    );
    check(
        "---\r\na: 1\r\n# note\r\n\r\nb: 2\r\n---\r\nx\r\n",
        "a",
        three.clone(),
        "---\r\na: 3\r\n# note\r\n\r\nb: 2\r\n---\r\nx\r\n",
    );
    check("\u{FEFF}---\na: \"x # y\"  # why\n---\n", "a", three.clone(), "\u{FEFF}---\na: 3  # why\n---\n");
    check("---\na:\n  - 1\n  - 2\n# next\nb: 2\n---\n", "a", three.clone(), "---\na: 3\n# next\nb: 2\n---\n");
    check("---\na: |\n  # text\n  two\nb: 2\n---\n", "a", three.clone(), "---\na: 3\nb: 2\n---\n");
    check("---\nTasks-Total: 1\n---\n", "tasks_total", three.clone(), "---\nTasks-Total: 3\n---\n");
    check("---\nb: 2\n---\nx", "a", three.clone(), "---\nb: 2\na: 3\n---\nx");
    check("---\n---\nx", "a", three.clone(), "---\na: 3\n---\nx");
    check("text\n", "a", three.clone(), "---\na: 3\n---\ntext\n");
    check(
        "---\na: 1\n--- \ntext",
        "a",
        Value::texts(["84e9493", "x: y"]),
        "---\na:\n  - \"84e9493\"\n  - \"x: y\"\n--- \ntext",
    );
    check("---\nc: @odd\na: 1\n---\n", "a", three, "---\nc: @odd\na: 3\n---\n");
    check("---\na: [1, 2] # two\nb: x\n---\n", "a", Value::List(Vec::new()), "---\na: [] # two\nb: x\n---\n");
}

#[test]
fn what_cannot_be_read_is_not_edited() {
    let broken = "---\na:\n   - 1\n  - 2\nb: 2\n---\n";
    let error = set_frontmatter(broken, "b", &Value::text("3")).unwrap_err();
    assert!(error.line >= 2, "{error:?}");
    assert!(set_frontmatter("---\na: 1\n", "b", &Value::text("3")).is_err(), "no closing fence");
}
