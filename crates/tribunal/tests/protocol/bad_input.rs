//! Documents and paths nobody should have written: an answer, never a crash, and in bearable time.

use crate::{Field, PHASE, PLAN, PLAN_TEXT, SUMMARY};

#[test]
fn strange_plans_get_an_answer() {
    let field = Field::new();
    let many: String =
        (1..=10_000).map(|n| format!("\n### Task {n}: quoted fields\n\nThe parser.\n")).collect();
    let table = [
        ("no frontmatter", "# Plan\n".to_owned(), 1),
        ("tabs", PLAN_TEXT.replace("  - the", "\t- the"), -1),
        ("two documents", format!("{PLAN_TEXT}\n---\nphase: 02\nplan: 07\n---\n"), 0),
        ("5 MB of body", format!("{PLAN_TEXT}\n{}", "words and words\n".repeat(330_000)), 0),
        ("10,000 tasks", format!("{PLAN_TEXT}{many}"), 2),
        ("nothing", String::new(), 1),
        ("an id that is a path", PLAN_TEXT.replace("plan: 01", "plan: \"../../x\""), -1),
    ];
    for (name, text, code) in table {
        field.write(PLAN, &text);
        let (found, stdout, stderr) = field.run(&["review-plan", PLAN]);
        let fits = if code < 0 { (0..=2).contains(&found) } else { found == code };
        assert!(fits, "{name}: {found} {} {stderr}", &stdout[..stdout.len().min(600)]);
        assert!(serde_json::from_str::<serde_json::Value>(&stdout).is_ok(), "{name}");
        for args in
            [&["validate-plan", PLAN, PHASE][..], &["assess-risk", PLAN], &["generate-contract", PLAN]]
        {
            let (found, _, stderr) = field.run(args);
            assert!(found <= 3, "{name}: {args:?} {found} {stderr}");
        }
    }
    assert!(!field.stage.root().join("x.json").exists() && !field.stage.project().join("x.json").exists());
}

#[test]
fn a_phase_number_given_twice_is_told() {
    let field = Field::new();
    for name in ["02-one", "02-two"] {
        field.write(&format!(".planning/phases/{name}/02-01-PLAN.md"), "---\nphase: 2\nplan: 1\n---\n");
        field.write(
            &format!(".planning/phases/{name}/02-01-SUMMARY.md"),
            "---\nphase: 2\nplan: 1\nstatus: complete\n---\n",
        );
    }
    field.write(PLAN, &PLAN_TEXT.replace("depends_on: []", "depends_on: [\"02-01\"]"));
    let (code, stdout, _) = field.run(&["validate-plan", PLAN, PHASE]);
    assert!(code != 0 && stdout.contains("phase 02 has 2 folders"), "{code} {stdout}");
}

#[test]
fn a_summary_without_its_plan_and_a_folder_that_is_none() {
    let field = Field::new();
    field.delivered();
    std::fs::remove_file(field.stage.project().join(PLAN)).unwrap();
    field.ask(&["verify-plan-completion", SUMMARY, PLAN], 1);
    field.ask(&["qa-suite", SUMMARY, PLAN], 1);
    let (code, _, stderr) = field.run(&["validate-requirements", SUMMARY, "nowhere"]);
    assert!(code == 2 && stderr.contains("nowhere is no folder"), "{code} {stderr}");
}

#[test]
fn links_are_not_followed() {
    let field = Field::new();
    let project = field.stage.project();
    let outside = field.stage.root().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("01-09-PLAN.md"), PLAN_TEXT).unwrap();
    std::os::unix::fs::symlink(outside.join("01-09-PLAN.md"), project.join("link-PLAN.md")).unwrap();
    field.ask(&["review-plan", "link-PLAN.md"], 1);
    std::os::unix::fs::symlink(&outside, project.join(".planning/.contracts")).unwrap();
    let (code, _, stderr) = field.run(&["generate-contract", PLAN]);
    assert_eq!(code, 3, "{stderr}");
    std::os::unix::fs::symlink(&outside, project.join(".planning/.locks")).unwrap();
    assert_eq!(field.run(&["lease-lock", "acquire", "t", "a"]).0, 3);
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1);
}

#[test]
fn outside_of_any_project_there_is_a_hint() {
    let field = Field::bare();
    let (code, stdout, stderr) = field.run(&["lease-lock", "acquire", "t", "a"]);
    assert_eq!((code, stdout.as_str()), (2, ""));
    assert!(stderr.contains("hint: "), "{stderr}");
}

#[test]
fn the_list_of_commands_names_every_one() {
    let field = Field::bare();
    let (code, list, _) = field.run(&["protocol"]);
    assert_eq!(code, 0);
    let (_, help, _) = field.run(&["help", "protocol"]);
    let bare = field.run(&["gate-policy", "fast", "low", "standard"]);
    for behind in [&["protocol", "gate-policy"][..], &["-q", "protocol", "gate-policy"]] {
        let words = [behind, &["fast", "low", "standard"]].concat();
        assert_eq!(field.run(&words), bare, "{words:?}");
    }
    assert!(help.contains("review-plan PLAN [PHASE_DIR]"), "{help}");
    let (_, main, _) = field.run(&["--help"]);
    assert!(!main.contains("review-plan"), "{main}");
    for name in ["review-plan", "qa-suite", "hard-gate", "lease-lock", "token-budget", "update-exec-state"] {
        assert!(list.contains(name), "{name}");
        assert_eq!(field.run(&[name, "--help"]).0, 0, "{name}");
    }
}

#[test]
fn the_planning_folder_of_the_original_tool_is_used_in_place() {
    let field = Field::bare();
    let plan = ".yolo-planning/phases/01-tools/01-01-PLAN.md";
    field.write(plan, PLAN_TEXT);
    field.write("src/parser.txt", "x");
    field.write(".yolo-planning/config.json", "{\"max_tasks_per_plan\": 5, \"v2_hard_gates\": true}");
    field.stage.commit_all().unwrap();
    field.ask(&["review-plan", plan, ".yolo-planning/phases/01-tools"], 0);
    field.ask(&["generate-contract", plan], 0);
    field.ask(
        &["hard-gate", "contract_compliance", "1", "01", "1", ".yolo-planning/.contracts/01-01.json"],
        0,
    );
    field.ask(&["log-event", "shutdown_sent", "1", "team=t", "targets=2"], 0);
    assert!(field.read(".yolo-planning/.events/event-log.jsonl").contains("gate_passed"));
    assert!(!field.stage.project().join(".planning").exists());
}

#[test]
fn a_planning_folder_that_is_a_link_is_told() {
    let field = Field::new();
    let root = field.stage.project();
    std::fs::rename(root.join(".planning"), field.stage.root().join("elsewhere")).unwrap();
    std::os::unix::fs::symlink(field.stage.root().join("elsewhere"), root.join(".planning")).unwrap();
    for args in
        [&["generate-contract", PLAN][..], &["log-event", "x", "1"], &["lease-lock", "acquire", "t", "a"]]
    {
        let (code, _, stderr) = field.run(args);
        assert_eq!(code, 3, "{stderr}");
        assert!(stderr.contains(".planning is a symbolic link") && stderr.contains("hint: "), "{stderr}");
    }
}
