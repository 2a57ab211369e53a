//! The shapes that the protocol's commands print: decisions and reports as JSON objects, and a document as one line. It
//! arranges data and decides nothing.
//!
//! Scripts of the protocol read these objects, so keys stay as they are, also where two of them say the same.

use crate::plain;
use serde::Serialize;
use serde_json::{Map, Value, json};
use tribunal_core::contract::Contract;
use tribunal_core::gate::GateRuling;
use tribunal_core::lease::Conflict;
use tribunal_core::tables::Risk;
use tribunal_docs::import::{ImportedTask, TaskDocument};
use tribunal_docs::qa::{Regression, TestReport, fixable_by};
use tribunal_docs::{Overview, PlanFinding, PlanValidation, PlanVerdict, StructuralReport, SummaryCheck};

/// Returns any value as its own JSON.
pub fn plain(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// Says why there is no answer.
pub fn reason(why: &str) -> Value {
    json!({ "ok": false, "error": why })
}

/// Writes a document in a few lines: what it is, then what is odd about it.
pub fn document(found: &Overview) -> String {
    // A document that could be read only with repairs is not as good as one without.
    let mark = match (found.ok, found.recovered || !found.diagnostics.is_empty()) {
        (false, _) => "✗",
        (true, true) => "⚠",
        (true, false) => "✓",
    };
    let title = plain::clipped(found.title.as_deref().unwrap_or("-"), 60);
    let status = found.status.as_deref().map(|status| format!(", {}", plain::clipped(status, 30)));
    let mut text = format!(
        "{mark} {} {}: {title}, {} tasks, {} must_haves{}",
        found.kind,
        plain::line(&found.path),
        found.tasks,
        found.must_haves,
        status.unwrap_or_default()
    );
    for said in &found.diagnostics {
        text.push_str(&format!("\n    {}:{}: {}", said.line, said.column, plain::line(&said.message)));
    }
    text
}

/// Writes a task document of another tool in a few lines: whose it is, how far it is, and what was not used.
pub fn task_document(label: &str, found: &TaskDocument) -> String {
    let mark = match (found.ok, found.diagnostics.iter().any(|said| said.misread)) {
        (false, _) => "✗",
        (true, true) => "⚠",
        (true, false) => "✓",
    };
    let count = |fits: fn(&ImportedTask) -> bool| found.tasks.iter().filter(|task| fits(task)).count();
    let mut text = format!(
        "{mark} TASKS {}: {}, {} tasks, {} done, {} parallel, {} optional, {} checks",
        plain::line(label),
        found.format.name(),
        found.tasks.len(),
        count(|task| task.done),
        count(|task| task.parallel),
        count(|task| task.optional),
        found.checks.len(),
    );
    for said in &found.diagnostics {
        text.push_str(&format!("\n    {}:{}: {}", said.line, said.column, plain::line(&said.message)));
    }
    text
}

/// Returns the same for programs: everything that was read, under the document's label.
pub fn task_document_json(label: &str, found: &TaskDocument) -> Value {
    let mut value = plain(found);
    value["doc"] = label.into();
    value["kind"] = "TASKS".into();
    value
}

/// The JSON that `review-plan` prints.
pub fn review_plan(report: &StructuralReport) -> Value {
    let findings: Vec<Value> = report.findings.iter().map(plan_finding).collect();
    json!({
        "ok": report.verdict != PlanVerdict::Reject,
        "verdict": report.verdict,
        "checks": report.checks,
        "findings": findings,
    })
}

fn plan_finding(finding: &PlanFinding) -> Value {
    json!({
        "id": finding.id,
        "severity": finding.severity,
        "check": finding.check,
        "file": finding.file,
        "line": finding.line,
        "title": finding.title,
        "description": finding.description,
        // Two names for one thing: scripts read either of them.
        "issue": finding.description,
        "suggestion": finding.suggestion,
        "suggested_fix": finding.suggestion,
        "auto_fixable": finding.auto_fixable,
    })
}

/// The JSON that `validate-plan` prints.
pub fn plan_validation(answer: &PlanValidation) -> Value {
    json!({
        "depends_on": { "valid": answer.depends_on.valid, "checked": answer.depends_on.checked },
        "cross_phase": { "valid": answer.cross_phase.valid, "checked": answer.cross_phase.checked },
        "errors": answer.errors,
    })
}

/// The JSON that `validate-plan` prints for a plan it cannot read.
///
/// Its shape is that of a real validation, so a script needs no second way to read it.
pub fn no_validation(error: &str) -> Value {
    // Nothing was checked, and that is never valid.
    let none = json!({ "valid": false, "checked": 0 });
    json!({ "depends_on": none, "cross_phase": none, "errors": [error] })
}

/// The JSON that `verify-plan-completion` prints.
pub fn summary_checks(checks: &[SummaryCheck]) -> Value {
    json!({ "checks": checks })
}

/// The JSON that `verify-plan-completion` prints if a document is missing or cannot be read.
pub fn not_there(summary: bool, plan: bool) -> Value {
    let check = |name: &str, there: bool| {
        let (status, detail) = if there { ("pass", "") } else { ("fail", "it is missing or cannot be read") };
        json!({ "name": name, "status": status, "detail": detail, "fixable_by": "dev" })
    };
    json!({ "checks": [check("summary_exists", summary), check("plan_exists", plan)] })
}

/// The JSON that `check-regression` prints.
pub fn regression(commit: &str, before: &TestReport, now: &TestReport, found: &[Regression]) -> Value {
    let counts = |report: &TestReport| {
        json!({
            "runner": report.runner,
            "tests": report.executed() + report.skipped,
            "passed": report.passed,
            "failed": report.failed,
            "skipped": report.skipped,
        })
    };
    let mut baseline = counts(before);
    baseline["commit"] = commit.into();
    json!({
        "baseline": baseline,
        "current": counts(now),
        "regressions": found,
        "fixable_by": fixable_by("check-regression"),
    })
}

/// The JSON that `check-regression` prints if it did not run.
pub fn no_regression(why: &str) -> Value {
    json!({
        "result": "did_not_run",
        "reason": why,
        "baseline": null,
        "current": null,
        "regressions": [],
        "fixable_by": fixable_by("check-regression"),
    })
}

/// Wraps the report of one check within `qa-suite`.
///
/// A check that did not run has a status of its own. Whoever reads only pass and fail takes it for neither.
pub fn qa_result(check: &str, body: Value, code: u8) -> Value {
    let status = match code {
        0 => "pass",
        // The exit code for a check that did not run; every other code but 0 is a failure, also an unknown one.
        3 => "did_not_run",
        _ => "fail",
    };
    json!({ "status": status, "fixable_by": fixable_by(check), "report": body })
}

/// The JSON that `qa-suite` prints.
pub fn qa_suite(results: Map<String, Value>, passed: usize) -> Value {
    let run = results.len();
    json!({ "checks_run": run, "checks_passed": passed, "checks_failed": run - passed, "results": results })
}

/// The JSON that `generate-contract` prints.
pub fn contract(path: &str, contract: &Contract) -> Value {
    json!({
        "path": path,
        "plan_id": contract.plan_id,
        "task_count": contract.task_count,
        "contract_hash": contract.contract_hash,
    })
}

/// The JSON that `assess-risk` prints.
pub fn risk(risk: Risk, score: u32, reasons: &[&str]) -> Value {
    json!({ "risk": risk, "score": score, "reasons": reasons })
}

/// The JSON that `hard-gate` prints.
pub fn gate(gate: &str, ruling: &GateRuling, autonomy: &str, ts: &str) -> Value {
    json!({
        "gate": gate,
        "result": ruling.result,
        "evidence": plain::capped(&ruling.evidence, 8_000),
        "autonomy": autonomy,
        "ts": ts,
    })
}

/// The JSON that `auto-repair` prints.
pub fn repair(gate: &str, repaired: bool, attempts: u32, reason: &str) -> Value {
    json!({ "repaired": repaired, "attempts": attempts, "gate": gate, "reason": plain::capped(reason, 8_000) })
}

/// The JSON that `two-phase-complete` prints.
pub fn completion(
    task_id: &str,
    confirmed: bool,
    passed: usize,
    failed: usize,
    errors: &[String],
    ts: &str,
) -> Value {
    json!({
        "task_id": task_id,
        "result": if confirmed { "confirmed" } else { "rejected" },
        "checks_passed": passed,
        "checks_failed": failed,
        "errors": errors,
        "ts": ts,
    })
}

/// The JSON that `lease-lock` prints. Each conflict comes with the time when it ends, in words.
pub fn lease(
    action: &str,
    result: &str,
    task_id: &str,
    files: &[String],
    conflicts: &[(&Conflict, Option<String>)],
    count: usize,
) -> Value {
    let conflicts: Vec<Value> = conflicts
        .iter()
        .map(|(conflict, ends)| {
            json!({ "file": conflict.file, "held_by": conflict.held_by, "expires_at": ends })
        })
        .collect();
    json!({
        "action": action,
        "result": result,
        "task_id": task_id,
        "files": files,
        "conflicts": conflicts,
        "count": count,
    })
}

/// The JSON that `artifact-registry query` and `list` print.
pub fn artifacts(found: &[impl Serialize]) -> Value {
    json!({ "count": found.len(), "artifacts": found })
}
