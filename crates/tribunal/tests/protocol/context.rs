//! Contexts in three tiers, and texts held to their budgets.

use crate::{CONTRACT, Field, PHASE, PLAN, PLAN_TEXT};
use serde_json::json;

fn project() -> Field {
    let field = Field::new();
    field.write(".planning/PROJECT.md", "# Project\nWe build parsers.\n");
    field.write(".planning/codebase/PATTERNS.md", "# Patterns\nSmall functions.\n");
    field.write(".planning/ROADMAP.md", "# Roadmap\n\n### Phase 1: Tools\n**Goal**: parse everything\n");
    field.write("skills/parsing/SKILL.md", "Parse from left to right.\n");
    field.write(PLAN, &PLAN_TEXT.replace("wave: 1", "wave: 1\nskills_used: [parsing, ../evil]"));
    field
}

#[test]
fn a_family_shares_its_prefix_byte_by_byte() {
    let field = project();
    let prefix = |role: &str| {
        let made = field.ask(&["compile-context", "1", role, PHASE, PLAN], 0);
        assert!(made["tokens"]["tier1"].as_u64() > Some(0), "{made}");
        let text = field.read(&format!("{PHASE}/.context-{role}.md"));
        let (before, tail) = text.split_once("--- TIER 3: VOLATILE TAIL (phase=1) ---").unwrap();
        assert!(
            tail.contains("parse everything") && tail.contains("- the parser accepts quoted fields"),
            "{tail}"
        );
        assert!(tail.contains("Parse from left to right."), "{tail}");
        before.to_owned()
    };
    let (dev, qa, lead, reviewer) = (prefix("dev"), prefix("qa"), prefix("lead"), prefix("reviewer"));
    assert_eq!(dev, qa);
    assert_eq!(lead, reviewer);
    assert!(
        dev.starts_with("--- TIER 1: SHARED BASE ---\n")
            && dev.contains("--- TIER 2: ROLE FAMILY (execution) ---")
    );
    assert!(lead.contains("--- TIER 2: ROLE FAMILY (planning) ---"));
    let one = |text: &str| text.split("--- TIER 2").next().unwrap().to_owned();
    assert_eq!(one(&dev), one(&lead));
}

#[test]
fn what_does_not_fit_is_named_and_the_goal_stays() {
    let field = project();
    field.write(PLAN, &format!("{PLAN_TEXT}\n{}", "many words of a long plan\n".repeat(5_000)));
    let made = field.ask(&["compile-context", "1", "scout", PHASE, PLAN], 0);
    assert!(
        made["cut"].as_array().unwrap().iter().any(|cut| cut["part"].as_str().unwrap().starts_with("Plan")),
        "{made}"
    );
    assert!(field.read(&format!("{PHASE}/.context-scout.md")).contains("parse everything"));
    assert!(made["tokens"]["tier3"].as_u64().unwrap() <= 1_200, "a scout's budget for a small plan: {made}");
    for (phase, plan, code) in
        [("1", "01", 0), ("01", "1", 0), ("1", "01-01", 0), ("1", "7", 1), ("2", "01", 1)]
    {
        field.ask(&["compile-context", phase, "Dev", PHASE, plan], code);
    }
    field.refused(&["compile-context", "banana", "dev", PHASE]);
    field.refused(&["compile-context", "1", "banana", PHASE]);
    field.ask(&["compile-context", "1", "dev", "nowhere"], 1);
    field.ask(&["compile-context", "1", "dev", PHASE, "gone.md"], 1);
    field.refused(&["compile-context", "1", "../dev", PHASE]);
}

#[test]
fn a_budget_cuts_the_old_and_remembers_the_overage() {
    let field = project();
    field.write("small.md", "short\n");
    let within = field.ask(&["token-budget", "dev", "small.md"], 0);
    assert_eq!(
        (&within["within"], &within["budget"], &within["budget_source"]),
        (&json!(true), &json!(8000), &json!("role"))
    );
    field.write("large.md", &format!("## Goal\nship\n## Rest\n{}last line\n", "old words\n".repeat(9_000)));
    let (code, stdout, stderr) = field.run(&["token-budget", "dev", "large.md"]);
    assert_eq!(code, 0);
    assert!(stdout.starts_with("## Goal\nship\n"), "{}", &stdout[..60]);
    assert!(stdout.ends_with("last line\n") && stdout.contains("lines cut"));
    let said: serde_json::Value = serde_json::from_str(&stderr).unwrap();
    assert_eq!((&said["cmd"], &said["within"]), (&json!("token-budget"), &json!(false)));
    field.ask(&["generate-contract", PLAN], 0);
    let with_contract = || field.run(&["token-budget", "dev", "large.md", CONTRACT, "1"]).2;
    let first: serde_json::Value = serde_json::from_str(&with_contract()).unwrap();
    assert_eq!((&first["budget"], &first["budget_source"]), (&json!(4800), &json!("task")));
    let second: serde_json::Value = serde_json::from_str(&with_contract()).unwrap();
    assert_eq!(second["budget"], 4080);
    let state: serde_json::Value =
        serde_json::from_str(&field.read(".planning/.token-state/01-01.json")).unwrap();
    assert_eq!(state["remaining"], 3468);
    let names: Vec<String> = field.events().into_iter().map(|(name, _)| name).collect();
    assert_eq!(&names[..3], ["token_overage", "token_overage", "token_cap_escalated"]);
    let gone = field.ask(&["token-budget", "dev", "gone.md"], 2);
    assert!(gone["error"].as_str().unwrap().contains("gone.md"), "{gone}");
}
