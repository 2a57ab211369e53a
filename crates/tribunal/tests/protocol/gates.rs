//! Gates, repair, completion, the registry and the control plane.

use crate::{CONTRACT, Field, PHASE, PLAN, PLAN_TEXT};
use serde_json::{Value, json};

fn gate(field: &Field, gate: &str, code: i32) -> Value {
    field.ask(&["hard-gate", gate, "1", "01", "1", CONTRACT], code)
}

fn with_checks(field: &Field, check: &str) {
    field.write(PLAN, &PLAN_TEXT.replace("test -f src/parser.txt", check));
    field.ask(&["generate-contract", PLAN], 0);
}

#[test]
fn every_gate_has_its_answers() {
    let field = Field::new();
    field.ask(&["generate-contract", PLAN], 0);
    let open = gate(&field, "contract_compliance", 0);
    assert_eq!((&open["result"], &open["autonomy"]), (&json!("pass"), &json!("standard")));
    assert!(open["ts"].as_str().unwrap().ends_with('Z'));
    gate(&field, "protected_file", 0);
    gate(&field, "required_checks", 0);
    gate(&field, "forbidden_commands", 0);
    gate(&field, "commit_hygiene", 2);
    field.write("x", "1");
    field.commit("feat(01-01): fine");
    gate(&field, "commit_hygiene", 0);
    gate(&field, "artifact_persistence", 2);
    field.delivered();
    gate(&field, "artifact_persistence", 0);
    assert_eq!(gate(&field, "verification_threshold", 3)["result"], "did_not_run");
    field.write("secret", "x");
    assert!(gate(&field, "protected_file", 2)["evidence"].as_str().unwrap().contains("secret"));
    gate(&field, "no_such_gate", 2);
    for (plan, task) in [("02", "1"), ("01", "2"), ("01", "0")] {
        field.ask(&["hard-gate", "contract_compliance", "01", plan, task, CONTRACT], 2);
    }
    field.refused(&["hard-gate", "contract_compliance", "01", "01", "one", CONTRACT]);
    let names: Vec<String> = field.events().into_iter().map(|(name, _)| name).collect();
    assert!(names.contains(&"gate_passed".into()) && names.contains(&"gate_did_not_run".into()), "{names:?}");
}

#[test]
fn a_check_that_did_not_run_is_no_pass() {
    let field = Field::new();
    field.write("plain.sh", "true\n");
    for (check, code) in [
        ("true", 0),
        ("false", 2),
        ("nonexistent-program-x", 3),
        ("./plain.sh", 3),
        ("exit 126", 3),
        ("kill -9 $$", 3),
        ("kill -11 $$", 2),
        ("sudo true", 3),
    ] {
        with_checks(&field, check);
        gate(&field, "required_checks", code);
    }
}

#[test]
fn a_check_that_hangs_or_floods_is_ended() {
    let field = Field::new();
    field.write("tribunal.toml", "[checks]\ntimeout_s = 1\n");
    with_checks(&field, "tail -f /dev/null");
    let hung = gate(&field, "required_checks", 3);
    assert!(hung["evidence"].as_str().unwrap().contains("did not end"), "{hung}");
    field.write("tribunal.toml", "[checks]\ntimeout_s = 60\n");
    with_checks(&field, "yes");
    let flood = gate(&field, "required_checks", 3);
    assert!(flood["evidence"].as_str().unwrap().contains("bytes"), "{flood}");
}

#[test]
fn a_contract_edited_by_hand_opens_nothing() {
    let field = Field::new();
    field.ask(&["generate-contract", PLAN], 0);
    let text = field.read(CONTRACT);
    for (from, to) in [
        ("\"secret\"", "\"nothing\""),
        ("\"task_count\": 1", "\"task_count\": 9"),
        ("{\n", "{\n\"extra\": 1,\n"),
    ] {
        field.write(CONTRACT, &text.replacen(from, to, 1));
        for name in ["contract_compliance", "protected_file", "required_checks"] {
            assert!(gate(&field, name, 2)["evidence"].as_str().unwrap().contains("changed"), "{from}");
        }
    }
    field.write(CONTRACT, "{ half");
    gate(&field, "contract_compliance", 2);
    let repaired = field.ask(&["auto-repair", "contract_compliance", "1", "1", "1", CONTRACT], 0);
    assert_eq!((&repaired["repaired"], &repaired["attempts"]), (&json!(true), &json!(1)));
    gate(&field, "contract_compliance", 0);
}

/// Git shows neither what it is told to ignore nor what is committed already.
#[test]
fn a_forbidden_file_is_seen_wherever_it_hides() {
    let field = Field::new();
    field.write(".gitignore", "secret/\n");
    field.write("secret/old", "the user's own\n");
    field.commit("chore: ignore");
    field.ask(&["generate-contract", PLAN], 0);
    gate(&field, "protected_file", 0);
    field.write("secret/new", "mine\n");
    let seen = gate(&field, "protected_file", 2);
    assert!(seen["evidence"].as_str().unwrap().contains("secret/new"), "{seen}");
    assert!(!seen["evidence"].as_str().unwrap().contains("secret/old"), "{seen}");
    std::fs::remove_file(field.stage.project().join("secret/new")).unwrap();
    gate(&field, "protected_file", 0);
    let field = Field::new();
    field.write("secret", "as committed\n");
    field.commit("chore: a file that is forbidden");
    field.ask(&["generate-contract", PLAN], 0);
    field.write("secret", "as committed\n");
    gate(&field, "protected_file", 0);
    let field = Field::new();
    field.ask(&["generate-contract", PLAN], 0);
    field.write("secret", "mine\n");
    field.commit("feat(01-01): sneak it in");
    gate(&field, "protected_file", 2);
    field.ask(&["generate-contract", PLAN], 0);
    gate(&field, "protected_file", 2);
    // What is another plan's to change is no breach of this one.
    let other = ".planning/phases/01-tools/01-02-PLAN.md";
    field.write(
        other,
        &PLAN_TEXT
            .replace("plan: 01", "plan: 02")
            .replace("src/parser.txt", "secret")
            .replace("files_forbidden:\n  - secret\n", ""),
    );
    field.ask(&["generate-contract", other], 0);
    let text = field.read(CONTRACT);
    field.git(&["commit", "-q", "--allow-empty", "-m", "chore: x"]);
    std::fs::remove_file(field.stage.project().join(CONTRACT)).unwrap();
    field.write(CONTRACT, &text);
    gate(&field, "protected_file", 0);
}

/// A project with a contract that forbids `secret`, where `secret/key` is committed.
fn with_a_key() -> Field {
    let field = Field::new();
    field.write("secret/key", "one\ntwo\nthree\n");
    field.commit("chore: a key");
    field.ask(&["generate-contract", PLAN], 0);
    gate(&field, "protected_file", 0);
    field
}

/// The gate says no, and says what it saw.
fn seen(field: &Field, word: &str) {
    let ruling = gate(field, "protected_file", 2);
    assert!(ruling["evidence"].as_str().unwrap().contains(word), "{ruling}");
}

#[test]
fn a_forbidden_file_that_was_moved_away_is_seen() {
    let field = with_a_key();
    field.git(&["mv", "secret/key", "src/key"]);
    let commit = field.commit("feat(01-01): move it");
    seen(&field, "secret/key");
    let done = field.ask(&["two-phase-complete", "01-01-T1", "01", "01", CONTRACT, &commit], 2);
    assert!(done["errors"].to_string().contains("secret/key is forbidden"), "{done}");
}

#[test]
fn a_forbidden_file_that_git_was_told_not_to_look_at_is_seen() {
    for bit in ["--assume-unchanged", "--skip-worktree"] {
        let field = with_a_key();
        field.git(&["update-index", bit, "secret/key"]);
        gate(&field, "protected_file", 0);
        // Written again as it was, it is not changed.
        field.write("secret/key", "one\ntwo\nthree\n");
        gate(&field, "protected_file", 0);
        field.write("secret/key", "one\ntwo\nfour!\n");
        seen(&field, "secret/key");
        std::fs::remove_file(field.stage.project().join("secret/key")).unwrap();
        seen(&field, "secret/key");
        std::fs::create_dir(field.stage.project().join("secret/key")).unwrap();
        seen(&field, "secret/key");
    }
}

#[test]
fn a_contract_that_is_touched_is_no_younger() {
    let field = Field::new();
    field.write(".gitignore", "secret/\n");
    field.commit("chore: ignore");
    field.write("secret/old", "the user's own, a moment before\n");
    field.ask(&["generate-contract", PLAN], 0);
    field.write("secret/new", "a moment after\n");
    seen(&field, "secret/new");
    let text = field.read(CONTRACT);
    field.write(CONTRACT, &text);
    seen(&field, "secret/new");
    assert_eq!(field.read(CONTRACT), text);
    // Nor is one that is made again.
    field.write(PLAN, &PLAN_TEXT.replace("Quoted fields\n", "Fields in quotes\n"));
    field.ask(&["generate-contract", PLAN], 0);
    assert_ne!(field.read(CONTRACT), text);
    seen(&field, "secret/new");
    std::fs::remove_file(field.stage.project().join("secret/new")).unwrap();
    gate(&field, "protected_file", 0);
    field.write(CONTRACT, &text.replace("\"made_at_ms\": ", "\"made_at_ms\": 1"));
    seen(&field, "changed after it was sealed");
}

#[test]
fn a_base_that_is_gone_is_no_pass() {
    let field = with_a_key();
    field.write("secret/key", "mine\n");
    field.git(&["checkout", "-q", "--orphan", "other"]);
    field.git(&["add", "-A"]);
    field.git(&["commit", "-q", "-m", "feat(01-01): all anew"]);
    for line in ["branch -q -D main", "reflog expire --expire=now --all", "gc -q --prune=now"] {
        field.git(&line.split(' ').collect::<Vec<_>>());
    }
    // Asking twice makes nothing of it the ground to stand on.
    for _ in 0..2 {
        let lost = gate(&field, "protected_file", 3);
        assert!(lost["evidence"].as_str().unwrap().contains("generate-contract"), "{lost}");
        field.ask(&["generate-contract", PLAN], 0);
    }
}

#[test]
fn a_link_on_the_way_to_a_forbidden_place_is_seen() {
    let field = Field::new();
    let forbidding = |place: &str| PLAN_TEXT.replace("  - secret\n", &format!("  - \"{place}\"\n"));
    field.write(PLAN, &forbidding("secret/inner/**"));
    field.write(".gitignore", "/secret\n/real\n");
    field.commit("chore: ignore");
    field.write("secret/inner/key", "1\n");
    field.ask(&["generate-contract", PLAN], 0);
    gate(&field, "protected_file", 0);
    let root = field.stage.project();
    std::fs::rename(root.join("secret"), root.join("real")).unwrap();
    std::os::unix::fs::symlink("real", root.join("secret")).unwrap();
    field.write("real/inner/key", "2\n");
    seen(&field, "secret is a link");
    // One that the contract found there may be written again, and nothing else may be made of it.
    let field = Field::new();
    field.write(PLAN, &forbidding("secret/inner/**"));
    let link = field.stage.project().join("secret");
    let lead = |to: &str| std::os::unix::fs::symlink(to, &link).unwrap();
    lead("real");
    field.commit("chore: a link");
    field.ask(&["generate-contract", PLAN], 0);
    std::fs::remove_file(&link).unwrap();
    lead("real");
    gate(&field, "protected_file", 0);
    std::fs::remove_file(&link).unwrap();
    lead("src");
    seen(&field, "secret is a link");
    field.commit("feat(01-01): lead it elsewhere");
    seen(&field, "secret is a link");
}

#[test]
fn a_forbidden_file_that_is_named_and_ignored_is_missed() {
    let field = Field::new();
    field.write(".gitignore", "/secret\n");
    field.commit("chore: ignore");
    field.write("secret", "the user's own\n");
    field.ask(&["generate-contract", PLAN], 0);
    gate(&field, "protected_file", 0);
    std::fs::remove_file(field.stage.project().join("secret")).unwrap();
    seen(&field, "secret");
    field.ask(&["generate-contract", PLAN], 0);
    seen(&field, "secret");
}

#[test]
fn what_cannot_be_repaired_is_blocked_with_a_way_out() {
    let field = Field::new();
    with_checks(&field, "false");
    let shut = field.ask(&["auto-repair", "required_checks", "1", "1", "1", CONTRACT], 2);
    assert_eq!(
        (&shut["repaired"], &shut["attempts"], &shut["gate"]),
        (&json!(false), &json!(2), &json!("required_checks"))
    );
    let events = field.events();
    let (name, event) = events.last().unwrap();
    assert_eq!((name.as_str(), &event["plan"]), ("task_blocked", &json!("01-01")));
    for key in ["owner", "next_action", "attempts"] {
        assert!(!event["data"][key].is_null(), "{event}");
    }
    field.ask(&["auto-repair", "no_such_gate", "1", "1", "1", CONTRACT], 2);
    field.ask(&["auto-repair", "contract_compliance", "1", "9", "1", CONTRACT], 2);
}

#[test]
fn a_completion_is_confirmed_only_when_everything_holds() {
    let field = Field::new();
    field.ask(&["generate-contract", PLAN], 0);
    let commit = field.delivered();
    let ask = |rest: &[&str], code: i32| {
        field.ask(&[&["two-phase-complete", "01-01-T1", "01", "01", CONTRACT], rest].concat(), code)
    };
    let done = ask(&["src/parser.txt", &commit, "tests pass", "files_modified=src/parser.txt"], 0);
    assert_eq!(
        (&done["result"], &done["checks_failed"], &done["errors"]),
        (&json!("confirmed"), &json!(0), &json!([]))
    );
    for (rest, word) in [
        (&["src/gone.txt"][..], "src/gone.txt"),
        (&["src/parser.txt", "files_modified=src/parser.txt,secret"], "secret"),
        (&["src/parser.txt", "files_modified=../outside"], "outside"),
        (&["0123456789abcdef0123456789abcdef01234567"], "0123456789"),
    ] {
        let rejected = ask(rest, 2);
        assert_eq!(rejected["result"], "rejected");
        assert!(rejected["errors"].to_string().contains(word), "{rejected}");
    }
    field.ask(&["two-phase-complete", "01-01-T7", "01", "01", CONTRACT, "src/parser.txt"], 2);
    field.ask(&["two-phase-complete", "01-01-T1", "01", "02", CONTRACT, "src/parser.txt"], 2);
    with_checks(&field, "exit 127");
    assert!(ask(&["src/parser.txt"], 2)["errors"].to_string().contains("did not run"));
    let names: Vec<String> = field.events().into_iter().map(|(name, _)| name).collect();
    for name in ["task_completed_candidate", "task_completed_confirmed", "task_completion_rejected"] {
        assert!(names.contains(&name.to_owned()), "{name}");
    }
}

#[test]
fn a_completion_believes_no_word_that_git_contradicts() {
    let field = Field::new();
    field.ask(&["generate-contract", PLAN], 0);
    let commit = field.delivered();
    let ask = |rest: &[&str], code: i32| {
        field.ask(&[&["two-phase-complete", "01-01-T1", "01", "01", CONTRACT], rest].concat(), code)
    };
    for (rest, code) in [
        (&[][..], 2),
        (&["file:nowhere"], 2),
        (&["commit:nowhere"], 2),
        (&["file:src/parser.txt"], 0),
        (&["file:src/parser.txt, src/nowhere"], 2),
        (&[&format!("commit:{commit}")], 0),
        (&["the check passes"], 0),
        (&["README"], 0),
        (&["commit=nowhere"], 2),
        (&["commit:HEAD"], 2),
        (&[&format!("commit={commit}")], 0),
        (&["artifact=src/nowhere.txt"], 2),
        (&["files=src/parser.txt,src/nowhere.txt"], 2),
        (&["src/parser.txt:1", "tests=12/12", "tests_passed=true", "https://example.org/ci/1"], 0),
    ] {
        ask(rest, code);
    }
    for task in ["1-1-T1", "T1"] {
        field.ask(&["two-phase-complete", task, "1", "1", CONTRACT, "src/parser.txt"], 0);
    }
    field.ask(&["two-phase-complete", "01-02-T1", "1", "1", CONTRACT, "src/parser.txt"], 2);
    let none = field.ask(&["two-phase-complete", "01-01-T1", "1", "1", "none.json", "src/parser.txt"], 2);
    assert_eq!((&none["checks_passed"], &none["checks_failed"]), (&json!(0), &json!(1)));
    field.write("other.txt", "nobody asked");
    let declared = ["src/parser.txt", "files_modified=src/parser.txt"];
    assert!(ask(&declared, 2)["errors"].to_string().contains("other.txt"), "uncommitted");
    let beside = field.commit("feat(01-01): beside");
    ask(&["src/parser.txt"], 0);
    assert!(ask(&[&beside], 2)["errors"].to_string().contains("other.txt"), "committed");
    field.write("other.txt", "changed");
    assert!(ask(&["src/parser.txt"], 2)["errors"].to_string().contains("other.txt"), "changed");
    field.git(&["checkout", "-q", "other.txt"]);
    field.write("src/parser.txt", "third\n");
    let undeclared = ask(&["src/parser.txt", "files_modified="], 2);
    assert!(undeclared["errors"].to_string().contains("not declared"), "{undeclared}");
    ask(&["src/parser.txt", "files_modified=./src/parser.txt"], 0);
    // A repository that cannot be read contradicts nothing, and that is no yes.
    field.write("secret", "forbidden");
    assert!(ask(&["file:src/parser.txt"], 2)["errors"].to_string().contains("secret is forbidden"));
    field.write(".git/HEAD", "nowhere");
    assert!(ask(&["file:src/parser.txt"], 2)["errors"].to_string().contains("cannot be seen"));
    std::fs::remove_dir_all(field.stage.project().join(".git")).unwrap();
    field.write(".git", "gitdir: nowhere");
    assert!(ask(&["file:src/parser.txt"], 2)["errors"].to_string().contains("cannot be seen"));
}

#[test]
fn artifacts_are_registered_and_watched() {
    let field = Field::new();
    field.delivered();
    field.ask(&["generate-contract", PLAN], 0);
    let made = field.ask(&["artifact-registry", "register", "src/parser.txt", "e-1", "1", "01"], 0);
    assert_eq!(made["path"], "src/parser.txt");
    assert_eq!(made["sha256"], "480c2336b410f1ad5f8bf1b28944490255804b65350c527787e74ebdd511e3a4");
    assert_eq!(field.ask(&["artifact-registry", "query", "src/parser.txt"], 0)["count"], 1);
    field.ask(&["artifact-registry", "query", "src/none.txt"], 1);
    assert_eq!(field.ask(&["artifact-registry", "list"], 0)["count"], 1);
    assert_eq!(field.ask(&["artifact-registry", "list", "02"], 0)["count"], 0);
    field.ask(&["artifact-registry", "register", "src/none.txt", "e-1", "1", "01"], 1);
    field.refused(&["artifact-registry", "register", "src/parser.txt"]);
    field.refused(&["artifact-registry", "register", "../x", "e", "1", "1"]);
    gate(&field, "artifact_persistence", 0);
    field.write("src/parser.txt", "changed behind your back\n");
    gate(&field, "artifact_persistence", 2);
}

#[test]
fn the_control_plane_is_the_sum_of_the_others() {
    let field = Field::new();
    let control = |action: &str, rest: &[&str], code: i32| {
        field.ask(&[&["control-plane", action, "1", "01", "1"], rest].concat(), code)
    };
    let names = |answer: &Value| -> Vec<String> {
        let steps = answer["steps"].as_array().unwrap();
        steps
            .iter()
            .map(|s| format!("{} {}", s["name"].as_str().unwrap(), s["status"].as_str().unwrap()))
            .collect()
    };
    let full = control("full", &["--plan-path", PLAN, "--role=dev", "--phase-dir", PHASE], 0);
    assert_eq!(names(&full), ["generate-contract pass", "compile-context pass"]);
    assert!(full["contract_path"].as_str().unwrap().ends_with("01-01.json"));
    assert!(full["context_path"].as_str().unwrap().ends_with(".context-dev.md"));
    let pre = control("pre-task", &["--task-id=01-01-T1", "--claimed-files=src/parser.txt,src/b.txt"], 0);
    assert_eq!(names(&pre), ["contract_compliance pass", "lease pass", "protected_file pass"]);
    let held = control("pre-task", &["--task-id=other", "--claimed-files=src/b.txt"], 2);
    assert_eq!(names(&held)[1], "lease fail");
    field.write("src/parser.txt", "x");
    field.commit("feat(01-01): x");
    let post = control("post-task", &["--task-id=01-01-T1"], 0);
    assert_eq!(names(&post), ["required_checks pass", "commit_hygiene pass", "lease pass"]);
    control("pre-task", &["--task-id=other", "--claimed-files=src/b.txt"], 0);
    let none = control("post-task", &["--task-id=nobody"], 0);
    assert_eq!(none["steps"][2]["evidence"], "clear", "nothing was held: {none}");
    control("post-task", &["--task-id=other"], 0);
    // Without files named, the plan's task says what it takes; a gate that stays shut gives it back.
    let own = control("pre-task", &[], 0);
    assert_eq!(names(&own), ["contract_compliance pass", "lease pass", "protected_file pass"]);
    field.ask(&["lease-lock", "check", "other", "src/parser.txt"], 2);
    control("post-task", &[], 0);
    field.ask(&["lease-lock", "check", "other", "src/parser.txt"], 0);
    field.write("secret", "x");
    let shut = control("pre-task", &[], 2);
    assert_eq!(names(&shut)[2], "protected_file fail");
    field.ask(&["lease-lock", "check", "other", "src/parser.txt"], 0);
    std::fs::remove_file(field.stage.project().join("secret")).unwrap();
    let unknown =
        field.ask(&["control-plane", "pre-task", "1", "01", "7", "--claimed-files=src/parser.txt"], 2);
    assert_eq!(names(&unknown)[..2], ["contract_compliance fail", "lease did_not_run"]);
    field.ask(&["lease-lock", "check", "other", "src/parser.txt"], 0);
    for action in ["full", "pre-task", "post-task", "compile"] {
        field.refused(&["control-plane", action, "1", "01", "1", "--plan-path=nowhere.md"]);
    }
    assert_eq!(names(&control("compile", &[], 0)), ["compile-context pass"]);
    field.ask(&["control-plane", "compile", "1", "9", "1"], 0);
    field.refused(&["control-plane", "sideways", "1", "1", "1"]);
}
