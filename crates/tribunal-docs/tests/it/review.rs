//! The structural check and the check of revisions.

use std::collections::BTreeSet;

use tribunal_docs::{
    CheckStatus, Diagnostic, Plan, PlanFacts, PlanSeverity, PlanVerdict, StructuralReport, check_revision,
    missing_plan, read_plan, structural_check, unreadable_plan,
};

/// A plan in the documented form: six keys, tasks with file and commit.
pub const TEMPLATE: &str = "---\nphase: \"02\"\nplan: \"01\"\ntitle: \"Put a retry loop into the gate step\"\nwave: 1\ndepends_on: []\nmust_haves:\n  - \"The gate step has a full loop: reject → revise → judge again\"\n  - \"The loop reads gate_max_rounds from the configuration with default 3\"\n  - \"Events are logged: loop_start, loop_round, loop_end\"\n---\n# Plan 02-01: retry loop\n\n## Context\nThe gate stops on the first reject.\n\n## Tasks\n\n### Task 1: Replace the reject path with a loop\nRead the gate's file. On reject start a loop that revises and judges again while rounds remain; read\n`gate_max_rounds` from the configuration, 3 when it is not set.\n\n**File:** `skills/gate/STEP.md`\n**Commit:** `feat(02-01): loop in the gate step`\n\n### Task 2: Log events at the loop's edges\nLog `loop_start`, `loop_round` and `loop_end`.\n\n```bash\nlog loop_start {phase}\n```\n\n**File:** `skills/gate/STEP.md` (same file)\n**Commit:** `feat(02-01): log loop events`\n";

fn plan(text: &str) -> Plan {
    read_plan("phases/02-gate/02-01-PLAN.md", text).value.unwrap()
}

fn review_with(text: &str, others: &[&Plan]) -> StructuralReport {
    let skills = BTreeSet::from(["rust".to_owned()]);
    let facts = PlanFacts {
        exists: &|path| path == "skills/gate/STEP.md",
        tasks_max: 5,
        others,
        known_skills: Some(&skills),
    };
    structural_check(&plan(text), &facts)
}

/// Replaces `from` in the template and gives the findings as `severity id`.
fn check(from: &str, to: &str, verdict: PlanVerdict, expect: &[&str]) {
    assert!(from.is_empty() || TEMPLATE.contains(from), "{from}");
    let report = review_with(&TEMPLATE.replace(from, to), &[]);
    let severity = |s: PlanSeverity| match s {
        PlanSeverity::High => "high",
        PlanSeverity::Medium => "medium",
        PlanSeverity::Low => "low",
    };
    let found: Vec<_> =
        report.findings.iter().map(|f| format!("{} {}", severity(f.severity), f.id)).collect();
    assert_eq!(found, expect, "{from:?} → {to:?}");
    assert_eq!(report.verdict, verdict, "{from:?} → {to:?}");
}

#[test]
fn the_documented_form_is_approved() {
    check("", "", PlanVerdict::Approve, &[]);
    let report = review_with(TEMPLATE, &[]);
    assert!(report.checks.iter().all(|check| check.status == CheckStatus::Pass));
}

#[test]
fn every_row_of_the_table() {
    use PlanVerdict::*;
    check("wave: 1\n", "", Reject, &["high frontmatter:wave"]);
    check("depends_on: []\n", "", Reject, &["high frontmatter:depends_on"]);
    check("title: \"Put a retry loop into the gate step\"\n", "", Reject, &["high frontmatter:title"]);
    check("phase: \"02\"\n", "phase:\n", Reject, &["high frontmatter:phase"]);
    check("wave: 1", "wave: 0", Reject, &["high wave"]);
    check("wave: 1", "wave: first", Reject, &["high wave"]);
    check("depends_on: []", "depends_on: [1]", Reject, &["high dependency_cycle:02-01"]);
    check("(same file)", "", Approve, &[]);
    check("`skills/gate/STEP.md` (same file)", "`other.md`", Conditional, &["low files_exist:other.md"]);
    check("`skills/gate/STEP.md` (same file)", "`other.md` (new)", Approve, &[]);
    check("`skills/gate/STEP.md` (same file)", "`../x` (new)", Conditional, &["low files_exist:../x"]);
    check(
        "`skills/gate/STEP.md` (same file)",
        "`/etc/passwd` (new)",
        Conditional,
        &["low files_exist:/etc/passwd"],
    );
    check(
        "title: \"Put a retry loop into the gate step\"",
        "title: \"\"",
        Conditional,
        &["medium empty_text:title"],
    );
    check("wave: 1", "wave: 1\nskills_used: [rust, cobol]", Conditional, &["low skills:cobol"]);
    check(
        "  - \"Events",
        "  - \"Bananas ripen under violet lamps\"\n  - \"Events",
        Conditional,
        &["medium must_haves_served:bananas-ripen-under-violet-lamps"],
    );
}

#[test]
fn the_title_of_the_body_does_not_replace_the_key() {
    let report = review_with(&TEMPLATE.replace("title: \"Put a retry loop into the gate step\"\n", ""), &[]);
    assert!(report.findings[0].auto_fixable, "but it can be filled in");
}

#[test]
fn empty_must_haves_and_missing_frontmatter() {
    let text =
        "---\nphase: 1\nplan: 1\ntitle: T\nwave: 1\ndepends_on: []\nmust_haves: []\n---\n### Task 1: x\ny\n";
    let report = review_with(text, &[]);
    assert_eq!(
        (report.findings.len(), report.findings[0].check, report.findings[0].line),
        (1, "must_haves", 7)
    );
    let report = review_with("# Plan\n", &[]);
    assert_eq!((report.verdict, report.findings[0].check), (PlanVerdict::Reject, "frontmatter"));
    let report = missing_plan("x-PLAN.md");
    assert_eq!((report.verdict, report.findings[0].check), (PlanVerdict::Reject, "file"));
    let why = Diagnostic { line: 3, column: 4, message: "odd".into(), misread: false };
    let report = unreadable_plan("x-PLAN.md", &[why]);
    assert_eq!((report.verdict, report.findings[0].line), (PlanVerdict::Reject, 3));
}

#[test]
fn too_many_and_empty_tasks() {
    let mut text = TEMPLATE.to_owned();
    for n in 3..=6 {
        text.push_str(&format!("\n### Task {n}: more\nmore of it\n"));
    }
    let report = review_with(&text, &[]);
    assert_eq!((report.findings.len(), report.findings[0].check), (1, "task_count"));
    let report = review_with(&format!("{TEMPLATE}\n### Task 3: nothing below\n"), &[]);
    assert_eq!(report.findings[0].id, "empty_text:task-3-body");
}

#[test]
fn no_tasks_serve_nothing() {
    let text = TEMPLATE.split("### Task 1").next().unwrap();
    let report = review_with(text, &[]);
    assert_eq!((report.findings.len(), report.findings[0].check), (1, "must_haves_served"));
}

#[test]
fn the_other_plans_of_the_phase_count() {
    let other = |yaml: &str| {
        let text = format!("---\nphase: 2\n{yaml}\n---\n");
        read_plan("other.md", &text).value.unwrap()
    };
    let found = |from: &str, to: &str, other: &Plan| -> Vec<String> {
        let report = review_with(&TEMPLATE.replace(from, to), &[other]);
        assert!(report.findings.iter().all(|f| f.severity == PlanSeverity::High));
        report.findings.into_iter().map(|f| f.id).collect()
    };
    let rival = other("plan: 2\nwave: 1\nfiles_modified: [skills/gate/STEP.md]");
    assert_eq!(found("", "", &rival), ["file_claims:skills/gate/STEP.md"]);
    let twin = other("plan: 1\nwave: 1");
    assert_eq!(found("", "", &twin), ["plan_id:02-01"]);
    let below = other("plan: 2\nwave: 3");
    assert_eq!(found("depends_on: []", "depends_on: [2]", &below), ["wave_order:02-02"]);
    let mutual = other("plan: 2\nwave: 1\ndepends_on: [1]");
    assert_eq!(
        found("depends_on: []", "depends_on: [2]", &mutual),
        ["dependency_cycle:02-01 → 02-02 → 02-01"]
    );
    let bystander = other("plan: 2\nwave: 1\ndepends_on: [2]");
    assert_eq!(found("", "", &bystander), [] as [&str; 0], "the trouble of others is not this plan's");
}

#[test]
fn revisions_keep_what_nobody_asked_to_drop() {
    let before = plan(&TEMPLATE.replace("wave: 1", "wave: 1\nrequirements: [R-1, R-2]"));
    let check = |from: &str, to: &str, asked: &[&str], expect: &[&str]| {
        let text = TEMPLATE.replace("wave: 1", "wave: 1\nrequirements: [R-1, R-2]");
        assert!(text.contains(from));
        let found = check_revision(&before, &plan(&text.replace(from, to)), asked);
        let ids: Vec<_> = found.iter().map(|f| f.id.as_str()).collect();
        assert_eq!(ids, expect, "{from:?} → {to:?}");
    };
    check("wave: 1", "wave: 2", &[], &[]);
    check("phase: \"02\"", "phase: 2-gate", &[], &[]);
    check("phase: \"02\"", "phase: 3", &[], &["revision:phase"]);
    check("plan: \"01\"", "plan: 2", &[], &["revision:plan"]);
    check("[R-1, R-2]", "[R-2]", &[], &["revision:requirement-r-1"]);
    let line = "  - \"Events are logged: loop_start, loop_round, loop_end\"\n";
    let lost = "revision:must-have-events-are-logged-loop_start-loop_round-loop_end";
    check(line, "", &[], &[lost]);
    check(
        line,
        "",
        &["drop \"Events are logged: loop_start, loop_round, loop_end\": nobody reads them"],
        &[],
    );
    check(line, "", &["events are useless"], &[lost]);
    check("Events are logged:", "events  are logged", &[], &[]);
}
