//! The names of the checks that Tribunal brings itself. Policies, the world that runs them and the reports that name
//! them use the same constants.
//!
//! The names are in journals, in settings (`gates.off`) and in the protocol, so changing one would break runs that
//! exist. A check of the user's own is named after its command in the settings.

/// Checks that a plan has the form that it needs.
pub const STRUCTURE: &str = "structure";
/// Checks that the artifact of a chain is there, with its sections.
pub const ARTIFACT: &str = "artifact";
/// Checks that the change stays within its plan's contract.
pub const CONTRACT: &str = "contract_compliance";
/// Checks that the change weakens no test and touches no protected file.
pub const INTEGRITY: &str = "test_integrity";
/// Checks that the commits follow the project's rules.
pub const COMMIT_HYGIENE: &str = "commit_hygiene";
/// Runs the commands by which a plan verifies itself.
pub const VERIFICATION: &str = "verification";
/// The gate's name for [`VERIFICATION`] in the protocol and in `gates.off`.
pub const REQUIRED_CHECKS: &str = "required_checks";
/// Passes what a refused landing reported on to the repair.
pub const LANDING: &str = "landing";
/// Compares the tests of the base with the tests now.
pub const REGRESSION: &str = "check-regression";
/// Runs the user's own commit hooks.
pub const COMMIT_HOOKS: &str = "commit_hooks";
/// Looks for secrets in what a change adds.
pub const SECRETS: &str = "secret-scan";
/// Checks that fixers stay within the files of their findings.
pub const FIX_SCOPE: &str = "fix-scope";
