//! Plans of a phase together.

use tribunal_docs::{
    Completions, Phase, Plan, PlanId, ProblemKind, read_plan, same_wave_claims, validate, validate_plan,
    waves,
};

/// A plan of phase 01: number, wave, depends_on, files.
fn plan(number: &str, wave: &str, depends_on: &str, files: &str) -> Plan {
    let text = format!(
        "---\nphase: 1\nplan: {number}\ntitle: T\nwave: {wave}\ndepends_on: {depends_on}\nfiles_modified: {files}\n---\n"
    );
    read_plan(&format!("01-{number}-PLAN.md"), &text).value.unwrap()
}

fn phase(plans: Vec<Plan>) -> Phase {
    Phase { number: "01".into(), name: "base".into(), plans }
}

fn problems(plans: Vec<Plan>) -> Vec<(String, ProblemKind, String)> {
    let found = validate(&phase(plans), &done());
    found.into_iter().map(|p| (p.plan.to_string(), p.kind, p.subject)).collect()
}

/// Phase 00: plan 01 complete, plan 02 open.
fn done() -> Completions {
    let mut known = Completions::default();
    known.note(PlanId::new("0", "1"), true);
    known.note(PlanId::new("0", "2"), false);
    known.note(PlanId::new("9", "1"), true);
    known
}

fn row(plan: &str, kind: ProblemKind, subject: &str) -> (String, ProblemKind, String) {
    (plan.to_owned(), kind, subject.to_owned())
}

#[test]
fn a_sound_phase_has_no_problems() {
    let plans = vec![
        plan("01", "1", "[]", "[a.rs]"),
        plan("02", "1", "[00-01]", "[b.rs]"),
        plan("03", "2", "[01, 01-02]", "[a.rs, b.rs]"),
        plan("04", "3", "[phase:01:plan:03]", "[a.rs]"),
    ];
    assert_eq!(problems(plans), []);
}

#[test]
fn missing_and_self_dependencies() {
    use ProblemKind::*;
    let plans = vec![plan("01", "1", "[1]", "[]"), plan("02", "1", "[07]", "[]")];
    assert_eq!(
        problems(plans),
        [row("01-01", SelfDependency, "01-01"), row("01-02", MissingDependency, "01-07")]
    );
}

#[test]
fn cycles_are_named() {
    let name = "01-02 → 01-03 → 01-02";
    let plans =
        vec![plan("01", "1", "[]", "[]"), plan("03", "2", "[2]", "[]"), plan("02", "2", "[3, 1]", "[]")];
    assert_eq!(
        problems(plans),
        [row("01-02", ProblemKind::Cycle, name), row("01-03", ProblemKind::Cycle, name)]
    );
    let long = vec![plan("1", "1", "[3]", "[]"), plan("2", "1", "[1]", "[]"), plan("3", "1", "[2]", "[]")];
    let name = "01-01 → 01-03 → 01-02 → 01-01";
    assert!(problems(long).iter().all(|(_, kind, subject)| *kind == ProblemKind::Cycle && subject == name));
}

#[test]
fn every_plan_of_entangled_cycles_hears_of_one() {
    let plans =
        vec![plan("1", "1", "[2, 3]", "[]"), plan("2", "1", "[1]", "[]"), plan("3", "1", "[2]", "[]")];
    let said: Vec<_> = problems(plans).into_iter().map(|(plan, ..)| plan).collect();
    for id in ["01-01", "01-02", "01-03"] {
        assert!(said.contains(&id.to_owned()), "{id}");
    }
}

#[test]
fn waves_duplicates_and_claims() {
    use ProblemKind::*;
    let plans = vec![plan("1", "1", "[]", "[a.rs]"), plan("2", "1", "[1]", "[b.rs]")];
    assert_eq!(problems(plans), [row("01-02", WaveOrder, "01-01")]);
    let plans = vec![plan("1", "1", "[]", "[./a.rs]"), plan("2", "1", "[]", "[a.rs (new)]")];
    assert_eq!(problems(plans), [row("01-02", FileClaim, "a.rs")]);
    let plans = vec![plan("1", "1", "[]", "[a.rs]"), plan("2", "2", "[]", "[a.rs]")];
    assert_eq!(problems(plans), []);
    for (one, two, subject) in [
        ("[src/]", "[src/a.rs]", "src/a.rs"),
        ("[src/deep/a.rs]", "[src]", "src/deep/a.rs"),
        ("[src/*.rs]", "[src/a.rs]", "src/a.rs"),
        ("[src]", "[./src/]", "src"),
    ] {
        let plans = vec![plan("1", "1", "[]", one), plan("2", "1", "[]", two)];
        assert_eq!(problems(plans), [row("01-02", FileClaim, subject)], "{one} {two}");
    }
    for (one, two) in [("[src]", "[srcs/a.rs]"), ("[src/a]", "[src/a.rs]"), ("[src/*.rs]", "[src/deep/a.rs]")]
    {
        assert_eq!(problems(vec![plan("1", "1", "[]", one), plan("2", "1", "[]", two)]), [], "{one} {two}");
    }
    let plans = vec![plan("1", "1", "[]", "[]"), plan("01", "1", "[]", "[]")];
    assert_eq!(problems(plans), [row("01-01", DuplicateId, "01-01")]);
}

#[test]
fn a_file_both_call_sequential_is_shared() {
    let with = |number: &str| {
        let text = format!(
            "---\nphase: 1\nplan: {number}\nwave: 1\nfiles_modified: [a.rs]\nsequential_files: [a.rs]\n---\n"
        );
        read_plan("x.md", &text).value.unwrap()
    };
    assert_eq!(problems(vec![with("1"), with("2")]), []);
    assert_eq!(problems(vec![with("1"), plan("2", "1", "[]", "[a.rs]")]).len(), 1);
}

#[test]
fn files_of_tasks_count_as_claims() {
    let text = "---\nphase: 1\nplan: 2\nwave: 1\n---\n### Task 1: x\n**File:** `a.rs`\n";
    let tasked = read_plan("x.md", text).value.unwrap();
    let listed = plan("1", "1", "[]", "[a.rs]");
    let claims = same_wave_claims(&tasked, &[&listed]);
    assert_eq!(claims["a.rs"], [PlanId::new("1", "1")]);
}

#[test]
fn cross_phase_needs_a_complete_summary() {
    let check = |yaml: &str, expect: &[&str]| {
        let text = format!("---\nphase: 1\nplan: 1\nwave: 1\n{yaml}\n---\n");
        let plan = read_plan("x.md", &text).value.unwrap();
        let found = problems(vec![plan]);
        let subjects: Vec<_> = found.iter().map(|(_, _, subject)| subject.as_str()).collect();
        assert_eq!(subjects, expect, "{yaml}");
    };
    check("cross_phase_deps: [{phase: 0, plan: 1}]", &[]);
    check("cross_phase_deps: [00-02]", &["plan 00-02"]);
    check("cross_phase_deps:\n  - phase: 5\n    plan: 1\n    artifact: x", &["plan 05-01"]);
    check("cross_phase_deps: [{phase: 9}]", &[]);
    check("cross_phase_deps: [{phase: 0}]", &["phase 00"]);
    check("depends_on: [00-02]", &["plan 00-02"]);
}

#[test]
fn waves_are_computed_when_not_given() {
    let plans = vec![
        plan("3", "", "[2]", "[]"),
        plan("1", "", "[]", "[]"),
        plan("2", "", "[1]", "[]"),
        plan("4", "7", "[]", "[]"),
        plan("5", "", "[4]", "[]"),
    ];
    let got: Vec<_> = waves(&plans).into_iter().map(|(id, wave)| (id.plan, wave)).collect();
    let expect = [("01", 1), ("02", 2), ("03", 3), ("04", 7), ("05", 8)];
    assert_eq!(got, expect.map(|(id, wave)| (id.to_owned(), wave)));
    let cycle = vec![plan("1", "", "[2]", "[]"), plan("2", "", "[1]", "[]")];
    assert_eq!(waves(&cycle).len(), 2);
}

#[test]
fn one_plan_answers_with_an_exit_code() {
    let check = |depends_on: &str, code: u8, errors: &[&str]| {
        let phase = phase(vec![
            plan("1", "1", "[]", "[]"),
            plan("2", "2", depends_on, "[]"),
            plan("3", "2", "[2]", "[]"),
        ]);
        let got = validate_plan(&PlanId::new("1", "2"), &phase, &done());
        assert_eq!(got.exit_code(), code, "{depends_on}: {got:?}");
        let starts: Vec<_> = got.errors.iter().map(|e| e.split(". Fix: ").next().unwrap()).collect();
        assert_eq!(starts, errors, "{depends_on}");
    };
    check("[]", 0, &[]);
    check("[1, 00-01]", 0, &[]);
    check("[7]", 1, &["depends_on: plan 01-02 depends on 01-07 (written `7`), which is not in the phase"]);
    check("[1, 00-02]", 2, &["cross_phase: plan 01-02 needs plan 00-02, which is not complete"]);
    check("[2]", 1, &["depends_on: plan 01-02 depends on itself"]);
    check("[3]", 1, &["depends_on: dependency cycle 01-02 → 01-03 → 01-02"]);
    let unknown = validate_plan(&PlanId::new("1", "9"), &phase(Vec::new()), &done());
    assert_eq!((unknown.exit_code(), unknown.errors.len()), (1, 1));
}

#[test]
fn large_phases_are_quick() {
    let chain: Vec<Plan> =
        (1..2_000).map(|n| plan(&n.to_string(), "", &format!("[{}]", n % 1_999 + 1), "[]")).collect();
    let found = validate(&phase(chain), &done());
    assert_eq!(found.len(), 1_999, "one cycle, said of each");
}
