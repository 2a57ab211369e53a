//! Plans: fields as written, must_haves in both forms, dependencies, tasks in every form.

use tribunal_docs::{Plan, PlannedFile, Value, read_plan};

fn plan(text: &str) -> Plan {
    let read = read_plan("phases/01-base/01-02-PLAN.md", text);
    read.value.unwrap_or_else(|| panic!("{:?}", read.diagnostics))
}

fn front(yaml: &str) -> Plan {
    plan(&format!("---\n{yaml}\n---\n"))
}

fn body(text: &str) -> Plan {
    plan(&format!("---\nphase: 1\n---\n{text}"))
}

#[test]
fn scalars_keep_their_text() {
    let got = front(
        "phase: \"02\"\nplan: 08\nversion: 1.10\ncommit: 84e9493\nday: 2026-01-02\nflag: yes\nempty: ~",
    );
    assert_eq!((got.phase.as_deref(), got.plan.as_deref()), (Some("02"), Some("08")));
    let extra = |key: &str| &got.extra.iter().find(|(name, _)| name == key).unwrap().1;
    assert_eq!(extra("version"), &Value::text("1.10"));
    assert_eq!(extra("commit"), &Value::text("84e9493"));
    assert_eq!(extra("day"), &Value::text("2026-01-02"));
    assert_eq!(extra("flag"), &Value::text("yes"));
    assert_eq!(extra("empty"), &Value::Null);
    assert_eq!(got.id.to_string(), "02-08");
}

#[test]
fn the_id_is_the_same_however_it_is_written() {
    let check = |phase: &str, number: &str, expect: &str| {
        let got = front(&format!("phase: {phase}\nplan: {number}"));
        assert_eq!(got.id.to_string(), expect, "{phase} / {number}");
    };
    check("1", "2", "01-02");
    check("\"01\"", "'02'", "01-02");
    check("01-foundation", "02", "01-02");
    check("05-popup", "05-06", "05-06");
    check("04.1", "3", "04.1-03");
    check("9.1-library", "01-slug", "09.1-01");
    check("quick", "260324-1nf", "quick-260324-1nf");
    check("17", "correction", "17-correction");
    assert_eq!(front("title: x").id.to_string(), "01-02", "from the path");
}

#[test]
fn keys_and_synonyms_meet() {
    let got =
        front("Depends-On: [1]\nmust-haves: [a]\neffort_override: fast\nname: N\nfiles modified: [a.rs]");
    assert_eq!(got.depends_on.len(), 1);
    assert_eq!(got.must_haves.truths, ["a"]);
    assert_eq!(got.effort.as_deref(), Some("fast"));
    assert_eq!(got.title.as_deref(), Some("N"));
    assert_eq!(got.files_modified, ["a.rs"]);
    let both = front("name: N\ntitle: T");
    assert_eq!(both.title.as_deref(), Some("T"), "the name itself wins over its synonym");
    assert_eq!(both.extra, [("name".to_owned(), Value::text("N"))], "and nothing is lost");
}

#[test]
fn must_haves_as_list_and_as_map() {
    let got = front("must_haves:\n  - one\n  - Two: with colon\n  - \"three\"");
    assert_eq!(got.must_haves.truths, ["one", "Two: with colon", "three"]);
    let got = front(
        "must_haves:\n  truths: [a, b]\n  artifacts:\n    - path: x.rs\n      provides: P\n      min_lines: 3\n    - y.rs\n  key_links:\n    - {from: x, to: y, via: z}\n  prohibitions: [q]",
    );
    let have = &got.must_haves;
    assert_eq!((have.truths.len(), have.artifacts.len(), have.key_links.len(), have.count()), (2, 2, 1, 6));
    assert_eq!(have.artifacts[0].provides.as_deref(), Some("P"));
    assert_eq!(have.artifacts[1].path, "y.rs");
    assert_eq!(have.key_links[0].via.as_deref(), Some("z"));
    assert!(front("must_haves:").must_haves.is_empty());
    assert!(front("must_haves: []").must_haves.is_empty());
    assert!(front("must_haves: {truths: []}").must_haves.is_empty());
}

#[test]
fn dependencies_in_every_form() {
    let ids = |yaml: &str| -> Vec<String> {
        let got = front(&format!("phase: 1\nplan: 9\ndepends_on: {yaml}"));
        let ids = got.depends_on.iter().map(|d| d.id("01").map(|id| id.to_string()));
        ids.map(|id| id.unwrap_or_default()).collect()
    };
    assert_eq!(ids("[01-02, 3, \"04\", 2-1]"), ["01-02", "01-03", "01-04", "02-01"]);
    assert_eq!(ids("[phase:01:plan:02, \"phase 3 plan 4\"]"), ["01-02", "03-04"]);
    assert_eq!(ids("\n  - {phase: 2, plan: 05}\n  - plan: 6"), ["02-05", "01-06"]);
    assert_eq!(ids("\n  phase: 02-slug\n  plan: 1"), ["02-01"]);
    assert_eq!(ids("01-02-PLAN.md"), ["01-02"]);
    assert_eq!(ids("01, 02"), ["01-01", "01-02"]);
    assert_eq!(ids("[08.1-02]"), ["08.1-02"]);
    assert_eq!(ids("none"), [] as [&str; 0]);
    assert_eq!(ids("[]"), [] as [&str; 0]);
    assert_eq!(ids(""), [] as [&str; 0]);
}

#[test]
fn autonomous_asks_a_person_when_in_doubt() {
    let check = |written: &str, expect: Option<bool>| {
        assert_eq!(front(&format!("autonomous: {written}")).autonomous, expect, "{written}");
    };
    check("true", Some(true));
    check("\"false\"", Some(false));
    check("No", Some(false));
    check("maybe", Some(false));
    check("", None);
}

#[test]
fn wave_is_a_positive_integer_or_nothing() {
    let check = |written: &str, expect: Option<u32>| {
        assert_eq!(front(&format!("wave: {written}")).wave_number(), expect, "{written}");
    };
    check("1", Some(1));
    check("\"2\"", Some(2));
    check("0", None);
    check("-1", None);
    check("+1", None);
    check("1.0", None);
    check("one", None);
    check("[1]", Some(1));
    check("99999999999", None);
}

#[test]
fn tasks_from_headings() {
    let got = body(
        "# Plan\n\n## Tasks\n\n### Task 1: First\ntext\n\n**File:** `src/a.rs`\n**Commit:** `feat(01-02): a`\n\n### Task 2 — Second\nmore\n> verification: `cargo test -p x`\n> Verification: make check\n\n## Verification\n**File:** `not/a/task.rs`\n",
    );
    assert_eq!(got.tasks.len(), 2);
    let (one, two) = (&got.tasks[0], &got.tasks[1]);
    assert_eq!((one.number, one.title.as_str(), one.line), (1, "First", 8));
    assert_eq!(one.commit.as_deref(), Some("feat(01-02): a"));
    assert!(one.body.starts_with("text\n"));
    assert_eq!((two.number, two.title.as_str()), (2, "Second"));
    assert_eq!(two.verification, ["cargo test -p x", "make check"]);
    assert!(two.files.is_empty(), "a section above the tasks is no part of one");
}

#[test]
fn what_is_no_task_heading() {
    for line in [
        "## Tasks",
        "## Task Commits",
        "### Task A: x",
        "# Task 1: x",
        "##### Task 1: x",
        "###Task 1: x",
        "Task 1: x",
        "### Task 1st",
        "<tasks>",
        "### Taskforce 1",
    ] {
        assert_eq!(body(&format!("{line}\n")).tasks.len(), 0, "{line}");
    }
    for line in ["## Task 1: x", "### Task 1", "#### task 12. x", "### Task 1.2: x", "### Task 3) x"] {
        assert_eq!(body(&format!("{line}\n")).tasks.len(), 1, "{line}");
    }
}

#[test]
fn fences_and_comments_hide_tasks() {
    let check = |text: &str, expect: usize| assert_eq!(body(text).tasks.len(), expect, "{text}");
    check("```\n### Task 1: x\n```\n### Task 2: y\n", 1);
    check("~~~md\n### Task 1: x\n```\n### Task 2: y\n~~~\n### Task 3: z\n", 1);
    check("````\n```\n### Task 1: x\n````\n### Task 2: y\n", 1);
    check("```inline```\n### Task 1: x\n", 1);
    check("  ```\n  <task>\n  ```\n### Task 1: x\n", 1);
    check("<!--\n### Task 1: x\n-->\n### Task 2: y\n", 1);
    check("<!-- note -->\n### Task 1: x\n", 1);
    check("<!-- never closed\n### Task 1: x\n", 1);
    check("### Task 1: x\n```\n### Task 2: y\n", 1);
    let hidden = body("### Task 1: x\n```\n**File:** `a.rs`\n> verification: rm -rf /\n```\n");
    assert!(hidden.tasks[0].files.is_empty() && hidden.tasks[0].verification.is_empty());
}

#[test]
fn files_in_every_form() {
    let files = |text: &str| -> Vec<(String, bool)> {
        let got = body(&format!("### Task 1: x\n{text}\n"));
        let files = got.tasks[0].files.iter();
        files.map(|PlannedFile { path, new }| (path.clone(), *new)).collect()
    };
    let path = |path: &str| (path.to_owned(), false);
    let new = |path: &str| (path.to_owned(), true);
    assert_eq!(files("**File:** `a.rs`"), [path("a.rs")]);
    assert_eq!(files("**Files:** `a.rs`, `b/c.rs` (new)"), [path("a.rs"), new("b/c.rs")]);
    assert_eq!(
        files("**Files:** a.rs, ./b.rs (new), c.rs (new file)"),
        [path("a.rs"), new("b.rs"), new("c.rs")]
    );
    assert_eq!(files("**File**: a.rs"), [path("a.rs")]);
    assert_eq!(files("- **File:** `a.tsx` + CSS module"), [path("a.tsx")]);
    assert_eq!(files("**File:** `a.md` (same file, within the loop)"), [path("a.md")]);
    assert_eq!(files("**File:** `a.go:41-47`, `b.go:51`"), [path("a.go"), path("b.go")]);
    assert_eq!(
        files("**Files:**\n- `a.rs`\n- `b.rs` (new)\n* c.rs\n\ntext `d.rs`"),
        [path("a.rs"), new("b.rs"), path("c.rs")]
    );
    assert_eq!(files("**Files created:** `a.rs`"), [new("a.rs")]);
    assert_eq!(files("**Files:** a.rs, `b.rs`"), [path("a.rs"), path("b.rs")]);
    assert_eq!(
        files("**Files:** `b.rs` (new), src/Makefile (new), `d.rs`, words, e.rs"),
        [new("b.rs"), new("src/Makefile"), path("d.rs"), path("e.rs")]
    );
    assert_eq!(files("**Files:** `a.rs` -- reads x, y.z and so on"), [path("a.rs")]);
    assert_eq!(files("**Files:** `a.rs` (see b.rs, c.rs)"), [path("a.rs")]);
    assert_eq!(files("**Files:** `a.rs`\n**Files:** `a.rs` (new)"), [new("a.rs")]);
    assert_eq!(files("**File:** `a.rs` (renewed)"), [path("a.rs")]);
    assert_eq!(files("**File:** none"), []);
    assert_eq!(files("**Files:** several words here"), []);
}

#[test]
fn tasks_from_blocks() {
    let got = body(
        "<tasks>\n<task type=\"auto\" tdd=\"true\">\n  <name>Task 1: Parse</name>\n  <files>\n    src/a.rs, src/b.rs (new)\n    - `c.rs`\n  </files>\n  <action>\nDo it.\n```\n<task>\n```\n  </action>\n  <verify>\n    <automated>cargo test</automated>\n    and look\n  </verify>\n  <done>it works</done>\n</task>\n<task type=\"auto\">\n  <name>Second</name>\n  <action>x</action>\n  <verify>Read it and confirm.</verify>\n</task>\n</tasks>\n### Task 9: not counted beside blocks\n",
    );
    assert_eq!(got.tasks.len(), 2);
    let (one, two) = (&got.tasks[0], &got.tasks[1]);
    assert_eq!((one.number, one.title.as_str(), one.line), (1, "Parse", 5));
    let files: Vec<_> = one.files.iter().map(|f| (f.path.as_str(), f.new)).collect();
    assert_eq!(files, [("src/a.rs", false), ("src/b.rs", true), ("c.rs", false)]);
    assert_eq!(one.verification, ["cargo test"]);
    assert_eq!(one.done.as_deref(), Some("it works"));
    assert!(one.body.starts_with("Do it."));
    assert_eq!((two.number, two.title.as_str()), (2, "Second"));
    assert!(two.verification.is_empty(), "prose is no command");
    assert_eq!(two.verify.as_deref(), Some("Read it and confirm."));
}

#[test]
fn an_unclosed_block_ends_at_the_next_and_is_reported() {
    let read = read_plan("p.md", "<task>\n<name>a</name>\n<task>\n<name>b</name>\n");
    assert_eq!(read.value.unwrap().tasks.len(), 2);
    let lines: Vec<_> = read.diagnostics.iter().map(|d| d.line).collect();
    assert_eq!(lines, [1, 1, 3], "no frontmatter, and both blocks");
}

#[test]
fn crlf_and_bom_change_nothing() {
    let text = "---\nphase: 1\ntitle: T\nmust_haves:\n  - a\n---\n### Task 1: x\nbody\n**File:** `a.rs`\n";
    let (unix, dos) = (plan(text), plan(&format!("\u{FEFF}{}", text.replace('\n', "\r\n"))));
    assert_eq!(unix.title, dos.title);
    assert_eq!(unix.must_haves, dos.must_haves);
    assert_eq!(unix.tasks[0].files, dos.tasks[0].files);
    assert_eq!((unix.tasks[0].line, dos.tasks[0].line), (7, 7));
}

#[test]
fn large_documents_stay_linear() {
    let mut text = String::from("---\nphase: 1\nplan: 1\nmust_haves:\n");
    for n in 0..5_000 {
        text.push_str(&format!("  - statement {n}: unquoted: twice\n"));
    }
    text.push_str("---\n");
    for n in 1..=10_000 {
        text.push_str(&format!("### Task {n}: do thing {n}\n"));
        text.push_str(&"words and `code` and more of it\n".repeat(15));
        text.push_str(&format!("**Files:** `src/f{n}.rs`, `src/g{n}.rs` (new)\n"));
    }
    assert!(text.len() > 5_000_000);
    let got = plan(&text);
    assert_eq!((got.tasks.len(), got.must_haves.count()), (10_000, 5_000));
    assert_eq!(got.tasks[9_999].files.len(), 2);
    let fenced = format!("---\nphase: 1\n---\n```\n{}", "### Task 1: x\n<task>\n".repeat(200_000));
    assert_eq!(plan(&fenced).tasks.len(), 0);
    let wide = format!("---\nphase: 1\n---\n### Task 1: x\n**Files:** {}\n", "a.rs, b.rs, ".repeat(100_000));
    assert_eq!(plan(&wide).tasks[0].files.len(), 2);
}

#[test]
fn diagnostics_stay_readable() {
    let many = "stray\n".repeat(10_000);
    let read = read_plan("p.md", &format!("---\nphase: 1\nplan: @x\n{many}---\n"));
    assert_eq!(read.diagnostics.len(), 201);
    assert!(read.diagnostics[200].message.contains("9801 more"), "{:?}", read.diagnostics[200]);
}

#[test]
fn a_plan_serialises_as_people_expect() {
    let got = front("phase: 1\nplan: 2\nodd: {a: [1, ~]}");
    let json = serde_json::to_value(&got).unwrap();
    assert_eq!(json["id"], "01-02");
    assert_eq!(json["extra"], serde_json::json!({"odd": {"a": ["1", null]}}));
}

#[test]
fn a_block_without_an_action_is_its_own_text() {
    let got = body("<task type=\"auto\">\n  <name>N</name>\n  <done>it is so</done>\n</task>\n");
    assert_eq!(got.tasks[0].body, "<done>it is so</done>");
}

#[test]
fn a_second_block_of_frontmatter_is_told() {
    let first = "---\nphase: 1\nplan: 2\ntitle: t\n---\n";
    for (rest, line) in [
        ("---\nphase: 2\nplan: 1\n---\n# Body\n", Some(6)),
        ("\n---\nphase: 2\n---\n", Some(7)),
        ("# Body\n\nwords\n\n---\nphase: 2\nplan: 7\n---\n", Some(10)),
        ("# Body\n\n---\n\nwords\n\n---\n", None),
        ("# Body\n\n---\nNote: words\n---\n", None),
        ("# Body\n\n```yaml\n---\nphase: 2\nplan: 7\n---\n```\n", None),
        ("# Body\n", None),
    ] {
        let read = read_plan("01-02-PLAN.md", &format!("{first}{rest}"));
        let told = read.diagnostics.iter().find(|one| one.message.contains("second block"));
        assert_eq!(told.map(|one| one.line), line, "{rest}");
        assert_eq!(read.value.unwrap().id.to_string(), "01-02", "{rest}");
    }
}
