//! The protocol's own text and scripts of the tool it was written for, played as they stand: its pipes, its fallbacks,
//! its spellings. A line that worked there works here, or refuses without losing anything.

use super::{CONTRACT, Field, PHASE, PLAN, PLAN_TEXT};
use serde_json::{Value, json};
use std::path::PathBuf;

impl Field {
    /// A link to the program under the original's name, as `~/.cargo/bin/yolo` would be.
    fn yolo(&self) -> PathBuf {
        let home = self.stage.project().join("home");
        let link = home.join(".cargo/bin/yolo");
        std::fs::create_dir_all(link.parent().unwrap()).unwrap();
        if !link.exists() {
            std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_tribunal"), &link).unwrap();
        }
        home
    }

    /// Runs lines of a shell as the protocol's text has them: what they print.
    fn shell(&self, lines: &str) -> String {
        let home = self.yolo();
        let args = ["-c".into(), lines.into()];
        let program = self.stage.program();
        let ended =
            program.launch("bash".as_ref(), &args, &[("HOME", home.as_os_str())]).unwrap().wait().unwrap();
        assert_eq!(ended.code, Some(0), "{lines}\n{}", ended.stderr);
        ended.stdout
    }
}

/// A plan in the words of the original's contract.
fn guarded() -> Field {
    let field = Field::new();
    let front = "forbidden_paths: [\".env\"]\nverification_checks: [\"false\"]\nfiles_forbidden:";
    let text =
        PLAN_TEXT.replace("files_forbidden:\n  - secret\n", &front.replace("\nfiles_forbidden:", "\n"));
    field.write(PLAN, &text);
    field
}

/// Frontmatter that protects is not dropped for being spelled as the original spells it.
#[test]
fn what_a_plan_forbids_in_the_originals_words_is_forbidden() {
    let field = guarded();
    let contract = field.ask(&["generate-contract", PLAN], 0);
    let path = contract["path"].as_str().unwrap().to_owned();
    let sealed: Value = serde_json::from_str(&field.read(CONTRACT)).unwrap();
    assert_eq!(sealed["forbidden_paths"], json!([".env"]), "{sealed}");
    assert!(sealed["verification_checks"].as_array().unwrap().contains(&json!("false")), "{sealed}");
    field.ask(&["hard-gate", "required_checks", "1", "1", "1", &path], 2);
    field.write(".env", "KEY=1\n");
    field.git(&["add", "-f", ".env"]);
    field.ask(&["hard-gate", "protected_file", "1", "1", "1", &path], 2);
}

/// The protocol says `.contracts/{phase}-{plan}.json` with the numbers that it passes as arguments.
#[test]
fn a_contract_is_found_by_its_numbers_and_by_what_generate_contract_printed() {
    let field = Field::new();
    let printed = field.ask(&["generate-contract", PLAN], 0).to_string();
    for contract in [".planning/.contracts/1-1.json", ".planning/.contracts/01-1.json", CONTRACT, &printed] {
        field.ask(&["hard-gate", "contract_compliance", "1", "1", "1", contract], 0);
        field.ask(&["auto-repair", "contract_compliance", "1", "1", "1", contract], 0);
    }
    let (code, ..) =
        field.run(&["hard-gate", "contract_compliance", "1", "1", "1", ".planning/.contracts/1-2.json"]);
    assert_eq!(code, 2);
    // Under the original's name the path stands alone.
    let path = field.shell(&format!(
        "C=$(\"$HOME/.cargo/bin/yolo\" generate-contract {PLAN}); test -f \"$C\"; echo \"$C\""
    ));
    assert!(path.trim().ends_with(".contracts/01-01.json"), "{path}");
}

/// A contract of the other tool is not called changed; there is a way out.
#[test]
fn a_contract_of_another_tool_says_so() {
    let field = Field::new();
    field.ask(&["generate-contract", PLAN], 0);
    let mut contract: Value = serde_json::from_str(&field.read(CONTRACT)).unwrap();
    contract.as_object_mut().unwrap().remove("made_at_ms");
    field.write(CONTRACT, &contract.to_string());
    let said = field.ask(&["hard-gate", "contract_compliance", "1", "1", "1", CONTRACT], 2);
    assert!(said["evidence"].as_str().unwrap().contains("made by another tool"), "{said}");
}

const BUDGET: &str = r#"
  BUDGET_OUT=$("$HOME/.cargo/bin/yolo" token-budget dev CONTEXT CONTRACT 1)
  if echo "$BUDGET_OUT" | head -c 1 | grep -qv '{'; then
    echo "$BUDGET_OUT" > CONTEXT
  fi
"#;

/// The protocol writes back whatever does not begin with a brace: no answer may empty the context file.
#[test]
fn a_budget_without_a_contract_leaves_the_context_as_it_is() {
    let field = Field::new();
    let context = format!("{PHASE}/.context-dev.md");
    field.write(&context, "seventeen bytes!\n");
    field.write("lite.json", "{\"phase\": 1, \"plan\": 1}\n");
    for contract in ["none.json", ".planning/.contracts/1-1.json", "lite.json"] {
        field.shell(&BUDGET.replace("CONTEXT", &context).replace("CONTRACT", contract));
        assert_eq!(field.read(&context), "seventeen bytes!\n", "{contract}");
        let said = field.ask(&["token-budget", "dev", &context, contract, "1"], 0);
        assert_eq!(
            (&said["result"], &said["budget_source"]),
            (&json!("within_budget"), &json!("role")),
            "{said}"
        );
        assert!(said["reason"].is_string(), "{said}");
    }
    // A file that is not there is told in an object, too.
    let (code, stdout, _) = field.run(&["token-budget", "dev", "nowhere.md"]);
    assert!(code == 2 && stdout.starts_with('{'), "{code} {stdout}");
    let long: String = (0..4_000).map(|n| format!("line {n} of a context that is far too long\n")).collect();
    field.write(&context, &long);
    field.shell(&BUDGET.replace("CONTEXT", &context).replace("CONTRACT", "none.json"));
    let cut = field.read(&context);
    assert!(!cut.trim().is_empty() && cut.len() < long.len(), "{} of {}", cut.len(), long.len());
}

/// `|| echo '{"valid":true}'` after a refusal must not be a pass.
#[test]
fn a_message_that_is_refused_stays_refused_in_the_protocols_own_line() {
    let field = Field::new();
    let line = r#"
      MESSAGE_JSON='{"type":"nonsense"}'
      VALID=$(echo "$MESSAGE_JSON" | "$HOME/.cargo/bin/yolo" validate-message 2>/dev/null || echo '{"valid":true}')
      echo "$VALID"
    "#;
    let told: Value = serde_json::from_str(&field.shell(line)).unwrap();
    assert_eq!(told["valid"], json!(false), "{told}");
    // Under its own name the exit code is the verdict.
    let ended = field.shell(&format!(
        "echo '{{}}' | {} validate-message >/dev/null; echo $?",
        env!("CARGO_BIN_EXE_tribunal")
    ));
    assert_eq!(ended.trim(), "2");
}

/// A step that failed is in what the protocol's line keeps.
#[test]
fn a_control_plane_step_that_failed_is_kept_by_the_protocols_own_line() {
    let field = Field::new();
    let line = r#"
      CP_RESULT=$("$HOME/.cargo/bin/yolo" control-plane pre-task 1 1 1 \
        --plan-path=PLAN --task-id=1-1-T1 \
        --claimed-files=src/parser.txt 2>/dev/null || echo '{"action":"pre-task","steps":[]}')
      echo "$CP_RESULT"
    "#
    .replace("PLAN", PLAN);
    let told: Value = serde_json::from_str(&field.shell(&line)).unwrap();
    let steps = told["steps"].as_array().unwrap();
    assert!(steps.iter().any(|step| step["status"] == "fail"), "{told}");
    let full = field.shell(&format!(
        "\"$HOME/.cargo/bin/yolo\" control-plane full 1 1 1 --plan-path={PLAN} --role=dev --phase-dir={PHASE}"
    ));
    let full: Value = serde_json::from_str(&full).unwrap();
    assert!(full["contract_path"].is_string() && full["context_path"].is_string(), "{full}");
}

/// `assess-risk` into `gate-policy`, as an object and under the original's name as a word.
#[test]
fn a_risk_is_handed_on_as_it_was_printed() {
    let field = Field::new();
    let risk = field.ask(&["assess-risk", PLAN], 0).to_string();
    assert!(field.ask(&["gate-policy", "balanced", &risk, "standard"], 0)["qa_tier"].is_string());
    field.refused(&["gate-policy", "balanced", "{\"risk\":\"none\"}", "standard"]);
    let policy = field.shell(&format!(
        "RISK=$(\"$HOME/.cargo/bin/yolo\" assess-risk {PLAN} || echo medium); test \"$RISK\" = low; \
         \"$HOME/.cargo/bin/yolo\" gate-policy balanced \"$RISK\" standard"
    ));
    assert!(policy.contains("qa_tier"), "{policy}");
}

/// The execution family reads architecture and roadmap; research is in the tail; a phase is a number.
#[test]
fn a_context_holds_what_the_originals_held() {
    let field = Field::new();
    field.write(".planning/ROADMAP.md", "# Roadmap\n\nthe whole way\n");
    field.write(".planning/codebase/ARCHITECTURE.md", "one crate\n");
    field.write(&format!("{PHASE}/RESEARCH.md"), "what was found out\n");
    for role in ["dev", "qa", "debugger", "researcher", "architect", "lead", "reviewer"] {
        field.ask(&["compile-context", "1", role, PHASE], 0);
        let text = field.read(&format!("{PHASE}/.context-{role}.md"));
        let (family, tail) = text.split_once("--- TIER 3: VOLATILE TAIL (phase=1) ---").unwrap();
        assert!(family.contains("one crate") && family.contains("the whole way"), "{role}: {text}");
        assert!(tail.contains("what was found out"), "{role}: {text}");
    }
}

/// `lock` and `artifact` are the original's names, and `--owner` names the task.
#[test]
fn locks_and_artifacts_go_by_their_first_names() {
    let field = Field::new();
    let owned = |action: &str, owner: &str, code: i32| {
        let (found, stdout, stderr) =
            field.run(&["lock", action, "src/parser.txt", &format!("--owner={owner}")]);
        assert_eq!(found, code, "{action} {owner} {stdout} {stderr}");
    };
    owned("acquire", "t1", 0);
    owned("acquire", "t2", 2);
    owned("release", "t1", 0);
    owned("acquire", "t2", 0);
    let (code, stdout, _) = field.run(&["artifact", "register", "src/parser.txt", "e1", "1", "1"]);
    assert!(code == 0 && stdout.contains("sha256"), "{stdout}");
}

/// `jq 'select(.phase == 5)'`.
#[test]
fn a_phase_in_the_log_is_a_number() {
    let field = Field::new();
    field.ask(&["log-event", "phase_start", "5"], 0);
    field.ask(&["log-event", "phase_start", "02.1"], 0);
    let phases: Vec<Value> = field.events().into_iter().map(|(_, event)| event["phase"].clone()).collect();
    assert_eq!(phases, [json!(5), json!("02.1")]);
}

/// A must_have of two words is served by a task that has one of them.
#[test]
fn a_short_must_have_is_served_by_one_word() {
    let field = Field::new();
    for (must, title, code) in [
        ("Feature A works", "Implement feature A", 0),
        ("thing works", "Do thing", 0),
        ("parser works", "Paint", 2),
    ] {
        let text = PLAN_TEXT
            .replace("the parser accepts quoted fields", must)
            .replace("### Task 1: Accept quoted fields", &format!("### Task 1: {title}"))
            .replace("The parser accepts fields in quotes.", "As the title says.")
            .replace("src/parser.txt", "src/x.txt (new)");
        field.write(PLAN, &text);
        let (found, stdout, _) = field.run(&["review-plan", PLAN, PHASE]);
        assert_eq!(found, code, "{must}: {stdout}");
    }
}

/// The smaller ones: effort words, models of all roles, a gate that needs no contract, the other tool's leavings.
#[test]
fn the_originals_spellings_are_understood() {
    let field = Field::new();
    field.write(
        "config.json",
        "{\"effort\":\"balanced\",\"model_profile\":\"quality\",\"planning_tracking\":\"commit\"}\n",
    );
    let bare = |args: &[&str]| {
        let (code, stdout, stderr) = field.run(args);
        assert_eq!(code, 0, "{args:?} {stderr}");
        stdout.trim().to_owned()
    };
    assert_eq!(bare(&["resolve-turns", "dev", "config.json", "low"]), "45");
    let cost: Value =
        serde_json::from_str(&bare(&["resolve-model", "dev", "config.json", "--with-cost"])).unwrap();
    assert_eq!(cost, json!({ "model": "opus", "cost_weight": 100 }));
    let all: Value = serde_json::from_str(&bare(&["resolve-model", "--all", "config.json"])).unwrap();
    assert_eq!((all.as_object().unwrap().len(), &all["scout"]), (9, &json!("haiku")));
    field.refused(&["resolve-model", "dev"]);
    let (code, stdout, _) = field.run(&["hard-gate", "artifact_persistence", "01", "1", "1", "dummy.json"]);
    assert!(!stdout.contains("does not exist"), "{code} {stdout}");
    let (code, ..) = field.run(&["hard-gate", "required_checks", "01", "1", "1", "dummy.json"]);
    assert_eq!(code, 2);
    for file in [
        ".metrics/run.jsonl",
        ".agent-pids",
        ".yolo-session",
        ".execution-state.json.tmp",
        ".baselines/a.json",
    ] {
        field.write(&format!(".planning/{file}"), "x\n");
    }
    field.write(".planning/NOTES.md", "kept\n");
    field.ask(&["planning-git", "commit-boundary", "plan phase 1", "config.json"], 0);
    let tracked = field.git(&["ls-files", ".planning"]);
    assert!(
        tracked.contains("NOTES.md") && !tracked.contains(".metrics") && !tracked.contains(".yolo"),
        "{tracked}"
    );
    assert!(!tracked.contains(".agent-pids") && !tracked.contains(".baselines") && !tracked.contains(".tmp"));
}

/// A summary is checked where there is no repository; nobody has seen its commits.
#[test]
fn a_summary_outside_of_git_is_checked() {
    let field = Field::new();
    field.delivered();
    std::fs::rename(field.stage.project().join(".git"), field.stage.project().join("gone")).unwrap();
    let said = field.ask(&["verify-plan-completion", super::SUMMARY, PLAN], 1);
    let rows = said["checks"].as_array().unwrap();
    let hashes = rows.iter().find(|row| row["name"] == "commit_hashes").unwrap();
    assert_eq!(hashes["status"], "warn", "{said}");
}

/// Exit code 2 of a hook blocks the editor's tool call: an event in the other spelling is read, an unknown one passes.
#[test]
fn a_hook_in_the_old_spelling_blocks_nothing() {
    let field = Field::new();
    for event in ["PreToolUse", "pre-tool-use", "SessionStart", "pre-compact", "Stop"] {
        let ended = field.shell(&format!(
            "echo '{{\"tool_name\":\"Read\",\"tool_input\":{{}}}}' | \"$HOME/.cargo/bin/yolo\" hook {event} >/dev/null; echo $?"
        ));
        assert_eq!(ended.trim(), "0", "{event}");
    }
}
