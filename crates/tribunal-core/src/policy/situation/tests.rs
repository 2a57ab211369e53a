//! One test for each rule by which a row becomes a policy.

use super::*;
use crate::ids::{Builder, PlanId};

fn task() -> Subject {
    Subject::Lane(PlanId::new("01-01"), Job::Task(1))
}

fn row(of: Use, checks: &[&str], reviewers: &[&str]) -> Policy {
    Policy {
        checks: checks.iter().map(|name| Check::new(*name)).collect(),
        reviewers: reviewers.iter().map(|name| Reviewer::new(*name)).collect(),
        ..Policy::of(of)
    }
}

fn everybody() -> Staff {
    Staff { everybody: true, named: BTreeSet::new() }
}

fn names(policy: &Policy) -> Vec<&str> {
    policy.checks.iter().map(Check::as_str).collect()
}

#[test]
fn a_review_that_nobody_can_hold_is_put_to_a_person() {
    let check = |panel: &[&str], staff: Staff, reviewers: usize, approval: bool| {
        let reviewers_found = panel.iter().map(|id| Reviewer::new(*id)).collect();
        let situation = Situation {
            panel: Some(Panel { tools: vec![Check::new("ruff")], reviewers: reviewers_found }),
            staff,
            ..Situation::default()
        };
        let policy = for_subject(&Subject::Phase, &row(Use::Phase, &[], &["of the row"]), &situation);
        assert_eq!((policy.reviewers.len(), policy.approval), (reviewers, approval), "{panel:?}");
        assert_eq!(policy.confirm, reviewers > 0, "{panel:?}");
    };
    check(&["a", "b"], everybody(), 2, false);
    check(&[], everybody(), 0, true);
    // Reviewers whom no agent can play are nobody.
    check(&["a", "b"], Staff::default(), 0, true);
    check(&["a", "b"], Staff { named: BTreeSet::from([Reviewer::new("b")]), ..Staff::default() }, 1, false);
}

#[test]
fn a_polish_is_never_approved_by_its_checks_alone() {
    let review = row(Use::Phase, &[], &[]);
    let polish = Policy::polish(&review, Builder::new("polisher"));
    for reviewers in [Vec::new(), vec![Reviewer::new("a")]] {
        let situation = Situation {
            panel: Some(Panel { tools: Vec::new(), reviewers }),
            has_tests: true,
            staff: everybody(),
            ..Situation::default()
        };
        let policy = for_subject(&Subject::Polish, &polish, &situation);
        assert_eq!(policy.reviewers.len(), 1);
        assert!(!policy.approval && policy.unattended && !policy.confirm);
        assert!(names(&policy).contains(&checks::REGRESSION));
    }
}

#[test]
fn checks_that_have_nothing_to_look_at_are_left_out() {
    let all = [checks::STRUCTURE, checks::ARTIFACT, checks::VERIFICATION, checks::COMMIT_HOOKS, "lint"];
    let row = row(Use::Task, &all, &[]);
    let bare = for_subject(&task(), &row, &Situation { is_code: true, ..Situation::default() });
    assert_eq!(names(&bare), ["lint", "project-tests"]);
    let full = Situation {
        has_verification: true,
        has_hooks: true,
        has_build: true,
        is_code: true,
        ..Situation::default()
    };
    let policy = for_subject(&task(), &row, &full);
    let expected = [checks::VERIFICATION, checks::COMMIT_HOOKS, "lint", "project-build", "project-tests"];
    assert_eq!(names(&policy), expected);
}

#[test]
fn only_what_the_user_switched_off_is_off() {
    let row = row(Use::Task, &[checks::VERIFICATION, checks::CONTRACT], &[]);
    let off = |names: &[&str]| Situation {
        has_verification: true,
        is_code: true,
        switched_off: names.iter().map(|name| (*name).to_owned()).collect(),
        ..Situation::default()
    };
    let check = |names_off: &[&str], expected: &[&str]| {
        assert_eq!(names(&for_subject(&task(), &row, &off(names_off))), expected, "{names_off:?}");
    };
    check(&[], &[checks::VERIFICATION, checks::CONTRACT, "project-tests"]);
    check(&[checks::REQUIRED_CHECKS], &[checks::CONTRACT, "project-tests"]);
    check(&[checks::VERIFICATION], &[checks::CONTRACT, "project-tests"]);
    check(&["project-tests", checks::CONTRACT], &[checks::VERIFICATION]);
}

#[test]
fn rounds_follow_the_effort_unless_the_user_set_them() {
    let row = Policy { rounds_max: 9, ..row(Use::Task, &[], &[]) };
    let with = |effort| Situation { effort, ..Situation::default() };
    assert_eq!(for_subject(&task(), &row, &with(None)).rounds_max, 9);
    assert_eq!(for_subject(&task(), &row, &with(Some(Effort::Max))).rounds_max, 6);
    let plan = Subject::Plan(PlanId::new("01-01"));
    assert_eq!(for_subject(&plan, &row, &with(Some(Effort::Max))).rounds_max, 9, "a plan has its own");
}

#[test]
fn a_plan_is_approved_by_a_person_where_that_was_asked_for() {
    let plan = Subject::Plan(PlanId::new("01-01"));
    for needs_approval in [false, true] {
        let situation = Situation { needs_approval, ..Situation::default() };
        assert_eq!(for_subject(&plan, &row(Use::Plan, &[], &[]), &situation).approval, needs_approval);
    }
}

#[test]
fn a_document_of_the_chain_is_not_held_to_the_projects_tests() {
    let row = row(Use::Chain, &[checks::ARTIFACT], &["reviewer"]);
    let policy = |is_code| {
        let situation = Situation { is_code, has_tests: true, staff: everybody(), ..Situation::default() };
        for_subject(&Subject::Chain, &row, &situation)
    };
    assert_eq!(names(&policy(false)), [checks::ARTIFACT]);
    assert_eq!(names(&policy(true)), [checks::ARTIFACT, "project-tests"]);
}
