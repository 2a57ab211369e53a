//! The five QA checks of a delivery as pure functions over facts: what the summary says ([`crate::check_summary`]), how
//! commits are named, which files changed, what shows each must_have, and what the tests say.
//!
//! No check takes a word for a proof, and none that could not look counts as a pass. Facts come in as arguments, so the
//! same functions serve the run, the protocol's commands and the tests.

mod diff;
mod lint;
mod proof;
mod regression;
mod renamed;
mod requirements;
mod runners;
mod shadowed;
mod subtests;
mod summaries;
mod test_lines;
mod test_run;

pub use diff::{ChangedFile, DiffFacts, DiffReport, diff_against_plan};
pub use lint::{CommitFact, LintReport, LintViolation, TYPES, commit_lint, subject_issue, well_formed};
pub(crate) use lint::{guessed_type, is_conventional, lower_first};
pub use proof::{ProofFacts, named_proof};
pub use regression::{Outcome, Regression, RegressionKind, TestReport, newly_failing_lines, regressions};
pub use renamed::{ChangedText, without_renamed};
pub use requirements::{
    Requirement, RequirementFacts, RequirementStatus, RequirementsReport, validate_requirements,
};
pub use runners::{is_missing, lacks_network, missing_line, ran_no_test, read_tests, tests_started};
pub use shadowed::shadowed;
pub use test_run::{TestRun, compared, test_run};

/// Which role can fix what a check finds.
///
/// The names are those of the protocol's roles: a regression goes to the architect, other findings to the builder or to
/// a person.
pub fn fixable_by(check: &str) -> &'static str {
    match check {
        "check-regression" => "architect",
        "commit-lint" | "diff-against-plan" | "verify-plan-completion" | "validate-requirements" => "dev",
        "commit_hygiene" | "artifact_persistence" | "verification_threshold" => "dev",
        // An unknown check has nobody who could be sent to fix it.
        _ => "manual",
    }
}

/// The five checks, in the order in which they are run.
pub const CHECKS: [&str; 5] = [
    "verify-plan-completion",
    "commit-lint",
    "diff-against-plan",
    "validate-requirements",
    "check-regression",
];
