//! A chain with a real program: a spec that is rejected once and fixed, and a plan made from it, on a project that has
//! nothing yet. It must never need a person.

use super::server::title;
use super::whole::{expect, newest, stage};
use super::{Args, Res};
use crate::out;
use serde_json::{Value, json};
use std::path::Path;

const SPEC: &str = ".planning/features/hello/spec.md";
const PLAN: &str = ".planning/phases/02-hello/02-01-PLAN.md";

/// `specify` and `create-plan` with one program that makes and judges.
pub fn run(args: &Args, cache: &Path, ours: &Path) -> Res<bool> {
    let stage = stage(args, cache, "chain", &["claude"], &rules())?;
    expect(&stage.call(ours, &["init"])?, 0, "init")?;
    let mut wrong = Vec::new();
    let commands: [(&[&str], &[bool]); 2] = [
        (&["specify", "hello", "a script that greets by name"], &[false, true]),
        (&["create-plan", "hello"], &[false]),
    ];
    for (command, expected) in commands {
        let ran = stage.call(ours, command)?;
        let run_state = newest(&stage.project)?;
        let made = run_state.launches.iter().filter(|launch| launch.role == "executor");
        let resumed: Vec<bool> = made.map(|launch| launch.resumed).collect();
        if ran.status.code() != Some(0) || resumed != expected {
            wrong.push(format!("{}: {}, resumed {resumed:?}", command.join(" "), ran.status));
            out::progress(String::from_utf8_lossy(&ran.stderr));
        }
    }
    expect(&stage.call(ours, &["review-plan", PLAN])?, 0, "review-plan")?;
    let spec = std::fs::read_to_string(stage.project.join(SPEC)).unwrap_or_default();
    if !spec.contains("prints Hello, Ada!") {
        wrong.push(format!("the spec was not fixed: {spec:?}"));
    }
    let words = if wrong.is_empty() { "passed".to_owned() } else { format!("NO: {}", wrong.join("; ")) };
    out::line(format!("A spec and a plan, claude as executor and chain reviewer: {words}"));
    Ok(wrong.is_empty())
}

fn rules() -> Value {
    let rule = |prompt: &str, answer: Value| json!({"match": {"prompt": prompt}, "answer": answer});
    let first =
        |prompt: &str, answer: Value| json!({"match": {"prompt": prompt, "turn": 0}, "answer": answer});
    let text = |text: &str| json!({"text": text});
    let write = |path: &str, text: &str| json!({"shell": format!("mkdir -p $(dirname {path}) && cat > {path} <<'END'\n{text}END\n")});
    let approve = "CHECKED: read spec.md, the criteria cover the goals.\nVERDICT: approve";
    let approve_plan = "CHECKED: read 02-01-PLAN.md, its task covers the must-have.\nVERDICT: approve";
    let reject = format!(
        "[id:a] [severity:blocker] [confidence:95] [file:{SPEC}:8] issue: the criterion cannot be tested | \
         suggestion: say what is printed\nVERDICT: reject"
    );
    let spec = |criterion: &str| {
        format!(
            "# hello\n\n## Problem\nNobody is greeted.\n\n## Requirements\n- bin/hello.sh greets by name\n\n\
             ## Success criteria\n- {criterion}\n\n## Out of scope\n- everything else\n"
        )
    };
    json!({
        "models": ["claude-sonnet-4-5"],
        "rules": [
            title(),
            rule("# Review.*Findings put to you.*F-1", text(&format!("F-1: resolved\n{approve}"))),
            json!({"match": {"prompt": "# Review.*round 1 of", "unless": "02-hello"}, "answer": {"text": reject}}),
            rule("# Review.*02-hello", text(approve_plan)),
            rule("# Review", text(approve)),
            first("# Write one artifact.*Findings to fix.*F-1", write(SPEC, &spec("it prints Hello, Ada!"))),
            rule("# Write one artifact.*Findings to fix.*F-1", text("FIXED: F-1\nSUMMARY: it says what is printed.\nTASK: done")),
            first("# Write one artifact.*02-hello", write(PLAN, &plan())),
            first("# Write one artifact", write(SPEC, &spec("it greets"))),
            rule("# Write one artifact", text("SUMMARY: it is written.\nTASK: done")),
        ],
        "default": {"text": "OK"},
    })
}

fn plan() -> String {
    "---\nphase: \"02\"\nplan: \"01\"\ntitle: \"A greeting\"\nwave: 1\ndepends_on: []\nmust_haves:\n\
     \x20 - \"bin/hello.sh prints Hello, Ada! when it is given Ada\"\nfiles_modified:\n  - \"bin/hello.sh (new)\"\n---\n\
     # Plan 02-01\n\n### Task 1: Write bin/hello.sh\nIn the end bin/hello.sh prints Hello, Ada! when it is given Ada.\n\n\
     **File:** `bin/hello.sh` (new)\n**Commit:** `feat(02-01): add bin/hello.sh`\n\
     > verification: test \"$(sh bin/hello.sh Ada)\" = \"Hello, Ada!\"\n"
        .to_owned()
}
