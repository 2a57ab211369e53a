//! The protocol's tables as commands.

use crate::Field;
use serde_json::json;

#[test]
fn turns_and_models_are_bare_words() {
    let field = Field::new();
    field.write(
        "c.json",
        "{\"effort\": \"fast\", \"agent_max_turns\": {\"dev\": 10, \"qa\": {\"fast\": 7}, \"lead\": false}, \
        \"model_overrides\": {\"qa\": \"my-model\"}}",
    );
    field.write("p.json", "{\"quality\": {\"dev\": \"opus\"}, \"budget\": {\"dev\": \"tiny\"}}");
    field.write("budget.json", "{\"model_profile\": \"budget\"}");
    field.write("bad.json", "{");
    for (args, expect) in [
        (&["resolve-turns", "dev", "c.json"][..], "8"),
        (&["resolve-turns", "dev", "c.json", "thorough"], "15"),
        (&["resolve-turns", "qa", "c.json"], "7"),
        (&["resolve-turns", "qa", "c.json", "balanced"], "25"),
        (&["resolve-turns", "lead", "c.json"], "0"),
        (&["resolve-turns", "reviewer", "c.json", "turbo"], "9"),
        (&["resolve-model", "dev", "c.json"], "opus"),
        (&["resolve-model", "qa", "c.json", "p.json"], "my-model"),
        (&["resolve-model", "dev", "budget.json", "p.json"], "tiny"),
        (&["resolve-model", "scout", "budget.json"], "haiku"),
    ] {
        let (code, stdout, stderr) = field.run(args);
        assert_eq!((code, stdout.trim_end()), (0, expect), "{args:?} {stderr}");
    }
    for args in [
        &["resolve-turns", "juggler", "c.json"][..],
        &["resolve-turns", "dev", "gone.json"],
        &["resolve-turns", "dev", "bad.json"],
        &["resolve-turns", "dev", "c.json", "heroic"],
        &["resolve-model", "dev", "gone.json"],
        &["resolve-model", "juggler", "budget.json"],
        &["resolve-model", "qa", "budget.json", "p.json"],
    ] {
        let (code, stdout, stderr) = field.run(args);
        assert_eq!((code, stdout.as_str()), (1, ""), "{args:?}");
        assert!(stderr.starts_with("error: "), "{stderr}");
    }
}

#[test]
fn the_gate_policy() {
    let field = Field::new();
    let strict = field.ask(&["gate-policy", "thorough", "low", "cautious"], 0);
    assert_eq!(
        (&strict["qa_tier"], &strict["approval_required"], &strict["two_phase"]),
        (&json!("deep"), &json!(true), &json!(true))
    );
    let loose = field.ask(&["gate-policy", "turbo", "high", "pure-vibe"], 0);
    assert_eq!((&loose["qa_tier"], &loose["communication_level"]), (&json!("skip"), &json!("none")));
    assert_eq!(loose["approval_required"], false);
    for words in [["heroic", "low", "standard"], ["fast", "none", "standard"], ["fast", "low", "wild"]] {
        field.refused(&[&["gate-policy"], &words[..]].concat());
    }
}
