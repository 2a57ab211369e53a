//! The names of the checks that Tribunal brings itself. Policies, the world that runs them and the reports that name
//! them use the same constants; a check of the user's own has the name of its command in the settings.

/// A plan has the form that it needs.
pub const STRUCTURE: &str = "structure";
/// The artifact of a chain is there, with its sections.
pub const ARTIFACT: &str = "artifact";
/// The change stays within its plan's contract.
pub const CONTRACT: &str = "contract_compliance";
/// The change weakens no test and touches no protected file.
pub const INTEGRITY: &str = "test_integrity";
/// The commits follow the project's rules.
pub const COMMIT_HYGIENE: &str = "commit_hygiene";
/// The commands by which a plan verifies itself.
pub const VERIFICATION: &str = "verification";
/// The gate's name for [`VERIFICATION`] in the protocol and in `gates.off`.
pub const REQUIRED_CHECKS: &str = "required_checks";
/// What a refused landing said, put to the repair.
pub const LANDING: &str = "landing";
/// The tests of the base compared with the tests now.
pub const REGRESSION: &str = "check-regression";
/// The user's own commit hooks.
pub const COMMIT_HOOKS: &str = "commit_hooks";
/// Secrets in what a change adds.
pub const SECRETS: &str = "secret-scan";
/// Fixers stay within the files of their findings.
pub const FIX_SCOPE: &str = "fix-scope";
