//! The QA checks with their facts gathered: commits and files from git, other files through the caller, tests by
//! running them.
//!
//! The judgements themselves are in `tribunal_docs::qa`. A run has other sources for the same facts (see `check/delivery`
//! in `tribunal-world`) and calls the same judgements.

use crate::ProtocolError;
use crate::documents::{self, Ground};
use crate::suite::{self, Baseline};
use std::collections::BTreeSet;
use std::path::Path;
use tribunal_docs::qa::{
    ChangedFile, CommitFact, DiffFacts, DiffReport, LintReport, Regression, RequirementFacts,
    RequirementsReport, TestReport, TestRun, compared, diff_against_plan, validate_requirements,
};
use tribunal_docs::{Plan, Summary, SummaryCheck, SummaryFacts, check_summary};
use tribunal_git::{Archive, ChangeKind, Commit, Oid};
use tribunal_world::Bounds;

/// A delivery to be judged.
pub struct Delivery<'a> {
    /// The repository with its commits.
    pub archive: &'a Archive,
    /// The plan that was to be done.
    pub plan: &'a Plan,
    /// The summary of what was done.
    pub summary: &'a Summary,
}

/// The check `verify-plan-completion`.
pub fn summary_checks(delivery: &Delivery<'_>) -> Vec<SummaryCheck> {
    let commit_exists = |hash: &str| delivery.archive.commit(hash).is_ok();
    check_summary(delivery.summary, delivery.plan, &SummaryFacts { commit_exists: &commit_exists })
}

/// The check `commit-lint` over a range as git writes it.
pub fn commit_lint(archive: &Archive, range: &str) -> Result<LintReport, ProtocolError> {
    lint(archive, archive.commits(range)?)
}

/// The check `commit-lint` over the commits that a summary names.
pub fn lint_of(archive: &Archive, hashes: &[String]) -> Result<LintReport, ProtocolError> {
    let (known, _) = archive.known(hashes)?;
    lint(archive, archive.commits_named(&known)?)
}

/// The check `commit-lint` over these commits.
pub(crate) fn lint(archive: &Archive, commits: Vec<Commit>) -> Result<LintReport, ProtocolError> {
    let fact = |commit: &Commit, files| CommitFact {
        hash: commit.oid.to_string(),
        subject: commit.subject.clone(),
        parents: commit.parents,
        files,
    };
    // Files are needed only to suggest a better subject, so they are read only for commits that need one.
    let bare: Vec<CommitFact> = commits.iter().map(|commit| fact(commit, Vec::new())).collect();
    let first = tribunal_docs::qa::commit_lint(&bare);
    if first.violations.is_empty() {
        return Ok(first);
    }
    let wrong: BTreeSet<&str> = first.violations.iter().map(|violation| violation.hash.as_str()).collect();
    let oids: Vec<Oid> =
        commits.iter().filter(|c| wrong.contains(c.oid.as_str())).map(|c| c.oid.clone()).collect();
    let touched = archive.touched(&oids)?;
    let facts: Vec<CommitFact> = commits
        .iter()
        .map(|commit| {
            let files = touched.get(&commit.oid).into_iter().flatten();
            fact(commit, files.map(|file| text_of(&file.path)).collect())
        })
        .collect();
    Ok(tribunal_docs::qa::commit_lint(&facts))
}

fn text_of(path: &tribunal_git::GitPath) -> String {
    String::from_utf8_lossy(path.as_bytes()).into_owned()
}

/// The check `diff-against-plan` over these commits.
pub fn diff(archive: &Archive, summary: &Summary, hashes: &[String]) -> Result<DiffReport, ProtocolError> {
    let (known, unknown_commits) = archive.known(hashes)?;
    let touched = archive.touched(&known)?;
    let changes = touched.values().flatten().map(|file| ChangedFile {
        path: text_of(&file.path),
        old_path: file.old_path.as_ref().map(text_of),
        added: file.kind == ChangeKind::Added,
        deleted: file.kind == ChangeKind::Deleted,
    });
    let facts = DiffFacts {
        commits: known.len(),
        changes: changes.collect(),
        unknown_commits,
        ..DiffFacts::default()
    };
    Ok(diff_against_plan(summary, &facts))
}

/// The check `validate-requirements`; `file` gives the text of a file as the delivery has it.
pub fn requirements(
    archive: &Archive,
    plan: &Plan,
    summary: Option<&Summary>,
    file: &dyn Fn(&str) -> Option<String>,
    tests: Option<&TestReport>,
) -> Result<RequirementsReport, ProtocolError> {
    let hashes = summary.map(|summary| summary.commit_hashes.as_slice()).unwrap_or_default();
    let (known, _) = archive.known(hashes)?;
    let touched = archive.touched(&known)?;
    let changed: BTreeSet<String> = touched.values().flatten().map(|file| text_of(&file.path)).collect();
    Ok(validate_requirements(plan, &RequirementFacts { file, changed: &changed, tests }))
}

/// The answer of `check-regression`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judged {
    /// Both runs are known and compared.
    Compared {
        /// The tests at the base commit.
        baseline: Baseline,
        /// The tests as they are now.
        current: TestReport,
        /// The tests that got worse.
        regressions: Vec<Regression>,
    },
    /// One of the two runs is unknown, for this reason.
    DidNotRun(String),
}

/// The check `check-regression`: the tests before the phase compared with the tests now.
pub fn check_regression(
    ground: &Ground,
    archive: &Archive,
    phase_dir: &Path,
    base: Option<&str>,
    command: Option<&[String]>,
    bounds: &Bounds,
) -> Result<Judged, ProtocolError> {
    let base = match base {
        Some(rev) => Some(archive.commit(rev)?),
        None => base_of(archive, phase_dir)?,
    };
    // Without a base nothing was compared. That is not a pass.
    let Some(base) = base else {
        let why = "no commit of this phase is known, so there is nothing to compare with";
        return Ok(Judged::DidNotRun(why.to_owned()));
    };
    // The command comes from the base, so that a change cannot choose an easier one.
    let Some(argv) = suite::test_command(ground, &base, command)? else {
        let why = "no test command is configured, and none is known for this project";
        return Ok(Judged::DidNotRun(why.to_owned()));
    };
    let name = phase_dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let phase = tribunal_docs::phase_dir(&name).map_or(name, |dir| dir.number);
    let baseline = match suite::baseline(ground, &phase, &base, &argv, bounds)? {
        Ok(baseline) => baseline,
        Err(why) => return Ok(Judged::DidNotRun(why)),
    };
    let now = suite::run_tests(ground.root(), &argv, bounds);
    Ok(match (compared(&baseline.as_run(), &now), now) {
        (Ok(regressions), TestRun::Ran(current) | TestRun::Nothing(current, _)) => {
            Judged::Compared { baseline, current, regressions }
        }
        // The command broke off before its first test. Everything that ran before is lost, which `compared` reports.
        (Ok(regressions), TestRun::Broke(_) | TestRun::DidNotRun(_) | TestRun::Silent(_)) => {
            Judged::Compared { baseline, current: TestReport::default().ended_badly(), regressions }
        }
        (Err(why), _) => Judged::DidNotRun(why),
    })
}

/// The commit before the first one that any summary of the phase names.
fn base_of(archive: &Archive, phase_dir: &Path) -> Result<Option<Oid>, ProtocolError> {
    let found = documents::documents(phase_dir)?;
    let hashes: Vec<String> =
        found.summaries.iter().flat_map(|(_, summary)| summary.commit_hashes.clone()).collect();
    let (known, _) = archive.known(&hashes)?;
    Ok(archive.before(&known)?)
}
