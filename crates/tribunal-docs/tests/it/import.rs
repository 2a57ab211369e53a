//! Task documents of other tools: what is read, what is noted, and what a tick changes.

use proptest::prelude::*;
use tribunal_docs::import::{Format, ImportedTask, Shape, TaskDocument, detect, read_tasks, tick, tick_task};

const MARKDOWN: [Format; 3] = [Format::SpecKit, Format::OpenSpec, Format::Kiro];

fn ids(document: &TaskDocument) -> Vec<&str> {
    document.tasks.iter().map(|task| task.id.as_deref().unwrap_or("-")).collect()
}

fn said(document: &TaskDocument, line: u32, words: &str) -> bool {
    document.diagnostics.iter().any(|one| one.line == line && one.message.contains(words))
}

#[test]
fn a_document_of_spec_kit() {
    let text = "# Tasks: [FEATURE NAME]\n\n- [P] = may run beside others\n\n## Phase 3: User Story 1 (P1) 🎯 MVP\n\n\
        - [x] T001 [P] [US2] Add `src/a.rs`\n  and FR-003 (depends on T002)\n- [ ] T002 [P1] Use src/a.rs\n\n\
        ```\n- [ ] T009 an example\n```\n<!--\n- [ ] T010 hidden\n-->\n\n## Validation Checklist\n\n- [x] All have paths\n";
    let read = read_tasks(Format::SpecKit, text);
    assert_eq!((read.shape, ids(&read)), (Shape::Boxes, vec!["T001", "T002"]));
    let expect = ImportedTask {
        n: 1,
        id: Some("T001".into()),
        line: 7,
        text: "Add `src/a.rs`".into(),
        done: true,
        box_mark: Some('x'),
        parallel: true,
        story: Some("US2".into()),
        phase: Some("Phase 3: User Story 1 (P1) 🎯 MVP".into()),
        section: Some("Phase 3: User Story 1 (P1) 🎯 MVP".into()),
        paths: vec!["src/a.rs".into()],
        reqs: vec!["FR-003".into()],
        deps: vec!["T002".into()],
        ..ImportedTask::default()
    };
    assert_eq!(read.tasks[0], expect);
    assert_eq!((read.tasks[1].parallel, read.tasks[1].story.as_deref()), (false, Some("US1")));
    assert_eq!((read.checks.len(), read.checks[0].line, read.checks[0].done), (1, 20, true));
    assert!(said(&read, 1, "template") && said(&read, 9, "[P1]"), "{:?}", read.diagnostics);
    assert!(said(&read, 12, "code block") && said(&read, 15, "comment") && said(&read, 20, "checks"));
}

#[test]
fn a_document_of_open_spec() {
    let text = "## 1. Build\n\n- [x] 1.1 Write `a.py`\n  - [ ] with a test\n- plain\n  - [ ] not below 1.1\n1. [~] A list\n\n\
        ## Acceptance\n\n- [ ] It works\n\n| a | b |\n|---|---|\n> - [ ] quoted\n- [] empty\n";
    let read = read_tasks(Format::OpenSpec, text);
    assert_eq!(ids(&read), ["1.1", "-", "-", "-"]);
    let parents: Vec<_> = read.tasks.iter().map(|task| task.parent.as_deref()).collect();
    assert_eq!(parents, [None, Some("1.1"), None, None]);
    assert_eq!((read.tasks[3].box_mark, read.tasks[3].done), (Some('~'), false));
    assert_eq!(read.checks.len(), 1);
    assert!(said(&read, 13, "table") && said(&read, 15, "quotation") && said(&read, 16, "no box"));
    assert!(said(&read, 4, "open, while"), "{:?}", read.diagnostics);
}

#[test]
fn a_document_of_kiro() {
    let text = "\u{feff}# Plan\r\n\r\n- [-] 1. Do it\r\n- [x] 1.1 Part\r\n  - _Requirements: 1.2, 2.1_\r\n- [ ]* 1.2 Tests\r\n\
        - [ ]\\* 1.3 More (P)\r\n- [ ] 2 Rest\r\n  - [ ] step\r\n- [ ] 2 Again\r\n";
    let read = read_tasks(Format::Kiro, text);
    assert_eq!(ids(&read), ["1", "1.1", "1.2", "1.3", "2", "-", "2"]);
    let parents: Vec<_> = read.tasks.iter().map(|task| task.parent.as_deref()).collect();
    assert_eq!(parents, [None, Some("1"), Some("1"), Some("1"), None, Some("2"), None]);
    assert_eq!(read.tasks[1].reqs, ["1.2", "2.1"]);
    let optional: Vec<_> = read.tasks.iter().map(|task| task.optional).collect();
    assert_eq!(optional, [false, false, true, true, false, false, false]);
    assert_eq!((read.tasks[0].done, read.tasks[0].phase.as_deref()), (false, None));
    assert!(said(&read, 10, "the id 2 is given on line 8"), "{:?}", read.diagnostics);
}

#[test]
fn headings_are_tasks_where_there_is_no_box() {
    let text =
        "# Tasks\n## 1. Setup\n### Task 1.1: Make `src/`\n- in a.py\n### ✅ T002 Done\n## Notes\nsee b.py\n";
    let read = read_tasks(Format::OpenSpec, text);
    assert_eq!((read.shape, ids(&read)), (Shape::Headings, vec!["1.1", "T002"]));
    assert_eq!(
        (&read.tasks[0].paths, read.tasks[0].done),
        (&vec!["src/".to_owned(), "a.py".to_owned()], false)
    );
    assert_eq!((read.tasks[1].done, read.tasks[1].section.as_deref()), (true, Some("1. Setup")));
    let table = read_tasks(Format::Kiro, "# Tasks\n\n| id | done |\n|---|---|\n| 1 | ✅ |\n");
    assert_eq!((table.shape, table.tasks.len()), (Shape::Table, 0));
    assert!(said(&table, 3, "table"));
    let other = read_tasks(Format::Kiro, "1. first\n2. second\n");
    assert_eq!((other.shape, other.diagnostics.len()), (Shape::Other, 2));
    assert_eq!(read_tasks(Format::Kiro, "").shape, Shape::Other);
}

const TASKS: &str = r#"{
  "master": {"tasks": [
    {"id": 1, "title": "Write src/a.rs", "description": "", "status": "done", "dependencies": [], "priority": "high",
     "subtasks": [{"id": 1, "title": "a", "status": "pending"}, {"id": "1.2", "title": "b", "dependencies": [1, 2], "status" : "review"}]},
    {"id": "2", "title": "Two", "status": "pending", "dependencies": ["1", 9]}
  ]},
  "other": {"tasks": [{"id": 1, "title": "Again", "status": "pending"}], "metadata": {}},
  "note": 1
}
"#;

#[test]
fn a_document_of_task_master() {
    let read = read_tasks(Format::TaskMaster, TASKS);
    assert_eq!((read.shape, read.ok, ids(&read)), (Shape::Tags, true, vec!["1", "1.1", "1.2", "2", "1"]));
    assert_eq!(read.tasks[2].deps, ["1.1", "1.2"].map(str::to_owned));
    let two = &read.tasks[3];
    assert_eq!((two.line, two.status.as_deref(), two.phase.as_deref()), (5, Some("pending"), Some("master")));
    assert_eq!((read.tasks[0].paths.as_slice(), read.tasks[0].done), (&["src/a.rs".to_owned()][..], true));
    assert!(said(&read, 3, "`priority`") && said(&read, 5, "depends on 9") && said(&read, 8, "`note`"));
    let empty = read_tasks(Format::TaskMaster, "{\"tasks\": []}");
    assert_eq!((empty.shape, empty.ok, empty.tasks.len()), (Shape::Plain, true, 0));
    let broken = read_tasks(Format::TaskMaster, "{\"tasks\": [\n{]}");
    assert!(!broken.ok && said(&broken, 2, "not JSON"), "{:?}", broken.diagnostics);
    assert!(!read_tasks(Format::TaskMaster, "{\"version\": 1}").ok);
}

#[test]
fn formats_are_known_by_path_then_by_text() {
    let check =
        |path: &str, text: &str, expect: Option<Format>| assert_eq!(detect(path, text), expect, "{path}");
    check("specs/001-a/tasks.md", "", Some(Format::SpecKit));
    check("/x/.specify/specs/auth/tasks.md", "", Some(Format::SpecKit));
    check("openspec/changes/a/tasks.md", "", Some(Format::OpenSpec));
    check("openspec/changes/archive/2026-01-01-a/tasks.md", "", Some(Format::OpenSpec));
    check(".kiro/specs/a/tasks.md", "", Some(Format::Kiro));
    check(".kiro/specs/001-a/tasks.md", "", Some(Format::Kiro));
    check("openspec/x/specs/001-a/tasks.md", "", Some(Format::SpecKit));
    check("tasks.md", "- [ ] T001 a\n", Some(Format::SpecKit));
    check("tasks.md", "- [ ] 1. a\n  - _Requirements: 1.1_\n", Some(Format::Kiro));
    check("tasks.md", "## 1. A\n- [ ] 1.1 a\n", Some(Format::OpenSpec));
    check("tasks.md", "- [ ] buy milk\n", None);
    check("specs/001-a/plan.md", "- [ ] T001 a\n", None);
    check(".taskmaster/tasks/tasks.json", "{", Some(Format::TaskMaster));
    check("tasks/tasks.json", TASKS, Some(Format::TaskMaster));
    check(".vscode/tasks.json", r#"{"version": "2.0.0", "tasks": [{"label": "a", "type": "shell"}]}"#, None);
    check("tasks/tasks.json", r#"{"tasks": [{"label": "a"}]}"#, None);
    check("package.json", TASKS, None);
    check("", "", None);
}

#[test]
fn a_tick_changes_one_mark() {
    let check = |text: &str, line: u32, expect: Option<&str>| {
        assert_eq!(tick(text, line).as_deref(), expect, "{text:?}");
    };
    check("- [ ] a\n- [ ] b\n", 2, Some("- [ ] a\n- [x] b\n"));
    check("\u{feff}- [ ] a\r\n- [ ] b\r\n", 1, Some("\u{feff}- [x] a\r\n- [ ] b\r\n"));
    check("- [ ]* 1.1 a", 1, Some("- [x]* 1.1 a"));
    check("- [ ]\\* 1.1 a", 1, Some("- [x]\\* 1.1 a"));
    check("  1. [-]Text  \n", 1, Some("  1. [x]Text  \n"));
    check("- [X] a", 1, Some("- [X] a"));
    check("- [✔\u{fe0f}] a", 1, Some("- [✔\u{fe0f}] a"));
    check("a\n", 1, None);
    check("- [ ] a\n", 0, None);
    check("- [ ] a\n", 9, None);
    check("```\n- [ ] a\n```\n", 2, None);
}

#[test]
fn a_tick_of_task_master_changes_one_status() {
    let check = |tag, id, from: &str, to: &str| {
        assert_eq!(tick_task(TASKS, Some(tag), id), Some(TASKS.replacen(from, to, 1)), "{tag} {id}");
    };
    check("master", "1", "", "");
    check("master", "1.1", "\"a\", \"status\": \"pending\"", "\"a\", \"status\": \"done\"");
    check("master", "1.2", "\"status\" : \"review\"", "\"status\" : \"done\"");
    check("other", "1", "\"Again\", \"status\": \"pending\"", "\"Again\", \"status\": \"done\"");
    assert_eq!(tick_task(TASKS, Some("other"), "2"), None);
    assert_eq!(tick_task(TASKS, None, "1"), None);
    assert_eq!(tick_task("{\"tasks\": [{\"id\": 1}]}", None, "1"), None);
    let twice = r#"{"tasks": [{"id": 1, "status": "a"}, {"id": "1", "status": "b"}]}"#;
    assert_eq!(tick_task(twice, None, "1"), None);
    let marked = "\u{feff}{\"tasks\":[{\"id\":1,\"status\":\"x\"}]}\r\n";
    assert_eq!(tick_task(marked, None, "1"), Some(marked.replace("\"x\"", "\"done\"")));
    assert_eq!(tick_task("no json", None, "1"), None);
}

/// Pieces that documents are made of, and pieces that break them.
fn odd_text() -> impl Strategy<Value = String> {
    let pieces = [
        "- [ ] ",
        "- [x] ",
        "* [X]",
        "1. [~] ",
        "- [ ]* ",
        "- [ ]\\* ",
        "T001 ",
        "T002-T009",
        "1.1 ",
        "1. ",
        "7a.1 ",
        "[P] ",
        "[US1] ",
        "(P) ",
        "# ",
        "## Task 1: ",
        "### 1.1 ",
        "## Validation\n",
        "\n",
        "\r\n",
        "  ",
        "\t",
        "```\n",
        "~~~",
        "<!--",
        "-->",
        "**",
        "`",
        "_Requirements: 1.1_",
        "Requirements: (",
        "depends on T001",
        "依赖：",
        "after ",
        "src/a.rs",
        "a/",
        "/",
        "*",
        "[",
        "]",
        "{",
        "}",
        "é",
        "✅",
        "\u{fe0f}",
        "\u{feff}",
        "|",
        "> ",
        ":",
        "：",
        "FR-",
        "FR-1",
        "\"",
        "\\",
        "{\"tasks\":[",
        "{\"id\":1,\"status\":\"a\"},",
        "]}",
    ];
    let piece =
        prop_oneof![6 => prop::sample::select(pieces.to_vec()).prop_map(str::to_owned), 1 => any::<String>()];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn no_text_is_beyond_reading(text in odd_text(), line in 0_u32..50) {
        for format in [Format::SpecKit, Format::OpenSpec, Format::Kiro, Format::TaskMaster] {
            let read = read_tasks(format, &text);
            let lines = u32::try_from(text.split('\n').count()).unwrap();
            prop_assert!(read.tasks.iter().all(|task| (1..=lines).contains(&task.line)));
            prop_assert!(read.diagnostics.iter().all(|one| (1..=lines).contains(&one.line)));
        }
        detect("tasks.md", &text);
        detect("tasks/tasks.json", &text);
        tick(&text, line);
        tick_task(&text, None, "1");
    }

    #[test]
    fn a_tick_finishes_one_task_and_leaves_the_rest(text in odd_text(), at in any::<prop::sample::Index>()) {
        for format in MARKDOWN {
            let before = read_tasks(format, &text);
            let boxes: Vec<&ImportedTask> = before.tasks.iter().filter(|task| task.box_mark.is_some()).collect();
            if boxes.is_empty() {
                continue;
            }
            let line = at.get(&boxes).line;
            let ticked = tick(&text, line).unwrap();
            let changed = text.split('\n').zip(ticked.split('\n')).filter(|(old, new)| old != new).count();
            prop_assert_eq!((text.split('\n').count(), changed <= 1), (ticked.split('\n').count(), true));
            let mut expect = before.tasks.clone();
            for task in expect.iter_mut().filter(|task| task.line == line && !task.done) {
                (task.done, task.box_mark) = (true, Some('x'));
            }
            prop_assert_eq!(read_tasks(format, &ticked).tasks, expect);
            prop_assert_eq!(tick(&ticked, line), Some(ticked.clone()));
        }
    }

    #[test]
    fn a_status_is_set_without_formatting_anew(titles in prop::collection::vec(any::<String>(), 1..6), pretty: bool, at in any::<prop::sample::Index>()) {
        let tasks: Vec<serde_json::Value> = titles
            .iter()
            .zip(1..)
            .map(|(title, id)| serde_json::json!({ "id": id, "title": title, "status": "pending" }))
            .collect();
        let mut value = serde_json::json!({ "tag": { "tasks": tasks } });
        let write = |value: &serde_json::Value| match pretty {
            true => serde_json::to_string_pretty(value).unwrap(),
            false => serde_json::to_string(value).unwrap(),
        };
        let place = at.index(titles.len());
        let ticked = tick_task(&write(&value), Some("tag"), &(place + 1).to_string());
        value["tag"]["tasks"][place]["status"] = "done".into();
        prop_assert_eq!(ticked, Some(write(&value)));
    }
}

/// Inputs of a megabyte that a careless reader takes the square of. They take seconds at most; a square would take hours.
#[test]
fn odd_megabytes_are_read_in_bounded_time() {
    let pieces = [
        "- [ ] T001 depends on T001-T002, ",
        "Requirements: 1 ",
        "Requirements: (",
        "a/",
        "a.h/",
        "`",
        "[",
        "**",
        "- [ ] 1.1\n",
        "  - [ ] a\n",
        "1.",
        "after T1, ",
        "<!--\n",
        "```\n",
        "{\"tasks\":",
        "[",
        "(x) ",
        "depends on on ",
        "src/a.rs ",
        "# a\n- [ ] b\n",
        "T1-",
        "{,",
        "- [ ] [US1] ",
    ];
    for piece in pieces {
        let body = piece.repeat(1_000_000 / piece.len());
        let text = format!("- [ ] T001 {body}\n- [ ] T002 b\n");
        read_tasks(Format::SpecKit, &text);
        tick(&text, 1);
        read_tasks(Format::TaskMaster, &body);
    }
    let title = format!("## {}\n{}", "a".repeat(500_000), "- [ ] T1 a\n".repeat(40_000));
    assert_eq!(read_tasks(Format::Kiro, &title).tasks.len(), 40_000);
    let word = "a".repeat(300_000);
    let list = "{\"id\": 1},".repeat(40_000);
    let long = format!("{{\"{word}\": {{\"tasks\": [{{\"id\": \"{word}\", \"subtasks\": [{list}{{}}]}}]}}}}");
    assert_eq!(read_tasks(Format::TaskMaster, &long).tasks.len(), 40_002);
    let tags: Vec<String> = (0..30_000).map(|n| format!("\"t{n}\": {{\"tasks\": []}}")).collect();
    assert!(read_tasks(Format::TaskMaster, &format!("{{{}}}", tags.join(","))).diagnostics.is_empty());
}
