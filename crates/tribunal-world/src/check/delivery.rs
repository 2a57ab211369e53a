//! The checks of a delivery: facts from git and from the project's tests, given to the pure judgements of
//! `tribunal_docs::qa`.
//!
//! A check that had nothing to look at did not run; it never passed. The rules themselves are in `tribunal_docs`, so
//! that the protocol's commands answer the same.

use super::Found;
use super::NotRun;
use super::failing;
use crate::build::account::Account;
use crate::context::base::fork;
use crate::context::meanwhile::Meanwhile;
use crate::context::{PlanText, RunContext, lock};
use crate::tests_run::green::{
    Ask, KnownCommand, Runner, is_on, lost_in_source, switched_off, without_renamed,
};
use std::collections::BTreeSet;
use std::sync::Arc;
use tribunal_core::finding::{Claim, FixableBy, Severity};
use tribunal_core::green::ProjectCommand;
use tribunal_core::ids::Revision;
use tribunal_docs::qa::{
    self, DiffFacts, RequirementFacts, RequirementStatus, TestRun, compared, diff_against_plan,
};
use tribunal_docs::{FileChange, Plan, Summary};
use tribunal_git::{GitError, GitPath, Oid};

/// The check that the SUMMARY keeps its rules.
pub(crate) const COMPLETION: &str = "verify-plan-completion";
pub(crate) use tribunal_core::checks::REGRESSION;

/// A delivery to be judged, gathered from the run state.
///
/// A delivery is everything that a plan's tasks made together. Each task was judged before; these checks judge the sum.
pub(crate) struct Delivery {
    pub(crate) account: Account,
    pub(crate) plan: Arc<PlanText>,
    /// The command that runs the tests.
    pub(crate) tests: Option<KnownCommand>,
    /// The result of its tasks.
    pub(crate) made: Revision,
    /// It was fixed since, so its SUMMARY is written again.
    pub(crate) fixed: bool,
    /// What the user did on the branch since the run began.
    pub(crate) meanwhile: Meanwhile,
}

impl Delivery {
    /// The findings of one check; the inner error says why it did not run.
    pub(crate) fn findings(
        &self,
        context: &RunContext,
        check: &str,
        commit: &Oid,
    ) -> Result<Found, GitError> {
        match check {
            COMPLETION => self.completion(context, commit).map(Ok),
            "commit-lint" => Ok(Ok(lint(&context.work(commit)?.commits))),
            "diff-against-plan" => self.diff(context, commit).map(Ok),
            "validate-requirements" => self.requirements(context, commit).map(Ok),
            REGRESSION => self.regression(context, commit),
            other => Ok(Err(format!("there is no check named {other}").into())),
        }
    }

    fn completion(&self, context: &RunContext, commit: &Oid) -> Result<Vec<Claim>, GitError> {
        // The SUMMARY lists commits. After a fix the stored one would name those of before.
        if self.fixed {
            self.account.keep(context, commit)?;
        }
        let failed = self.account.failures(context, commit, &self.plan.plan)?.into_iter();
        let claims = failed.map(|check| {
            let text = format!("the SUMMARY does not keep its rules ({}): {}", check.name, check.detail);
            let fix = format!("write {} with what is missing", self.account.path);
            found(COMPLETION, check.name, text, fix).at(&self.account.path, None)
        });
        Ok(claims.collect())
    }

    /// Compares the files that the builder says it changed with those that did change.
    ///
    /// If it does not say, the plan's claims stand for its word: a claimed file that was left alone has to be
    /// explained.
    fn diff(&self, context: &RunContext, commit: &Oid) -> Result<Vec<Claim>, GitError> {
        const NAME: &str = "diff-against-plan";
        let work = context.work(commit)?;
        let (commits, changes) = (work.commits.len(), work.changes.clone());
        let facts = DiffFacts {
            commits,
            changes,
            unknown_commits: Vec::new(),
            brought: self.meanwhile.brought(context, &context.commit_of(&self.made)?, commit)?,
            renamed: self.meanwhile.renamed(context)?,
        };
        let own = self.account.declared(context)?;
        let (who, said) = match own {
            Some(own) => ("the SUMMARY", own),
            None => ("the plan", claimed(&self.plan.plan)),
        };
        let report = diff_against_plan(&said, &facts);
        let path = &self.account.path;
        let fix = format!("make the change, or say under Files Modified in {path} which files changed");
        let missing = report
            .missing
            .iter()
            .map(|file| found(NAME, file, format!("{who} names {file}, which did not change"), fix.clone()));
        let fix = format!("name it under Files Modified in {path}, or take the change back");
        // Files that the plan did not foresee are judged by the contract gate.
        let undeclared = report.undeclared.iter().filter(|_| who == "the SUMMARY").map(|file| {
            found(NAME, file, format!("{file} changed, and {who} does not name it"), fix.clone())
        });
        let nothing = report
            .reason
            .iter()
            .map(|why| found(NAME, "commits", why.clone(), "do the plan's work".to_owned()));
        Ok(missing.chain(undeclared).chain(nothing).collect())
    }

    /// Requirements that nothing shows to hold. They are questions to a reviewer first, and only then work for the
    /// builder.
    fn requirements(&self, context: &RunContext, commit: &Oid) -> Result<Vec<Claim>, GitError> {
        const NAME: &str = "validate-requirements";
        let work = context.work(commit)?;
        let changed: BTreeSet<String> = work.changes.iter().map(|file| file.path.clone()).collect();
        let file = |path: &str| {
            let bytes = context.repo.file_at(commit, &GitPath::from(path)).ok()??;
            Some(String::from_utf8_lossy(&bytes).into_owned())
        };
        // Only tests that ran already count. This check starts none.
        let known = lock(&context.suites).get(commit).cloned();
        let tests = match &known {
            Some(TestRun::Ran(report)) => Some(report),
            _ => None,
        };
        let facts = RequirementFacts { file: &file, changed: &changed, tests };
        let report = qa::validate_requirements(&self.plan.plan, &facts);
        let open = report.requirements.iter().filter(|one| one.status == RequirementStatus::Unverified);
        let claims = open.map(|one| {
            let text = format!("nothing shows that this holds: {}", one.requirement);
            let fix = format!("Add evidence for requirement: {}", one.requirement);
            let mut claim = found(NAME, &one.requirement, text, fix);
            claim.details = format!("looked for and not found: {}", one.evidence);
            // Not a defect: the check could not verify this and asks somebody to look.
            claim.asks = true;
            claim
        });
        Ok(claims.collect())
    }

    fn regression(&self, context: &RunContext, commit: &Oid) -> Result<Found, GitError> {
        worse(context, self.tests.as_ref(), &fork(context, commit)?, commit)
    }
}

/// Tests that passed before and do not pass any more, by what their runner counted. The inner error says why nobody can
/// count.
///
/// Where nothing can be counted, nobody is stopped for it: `project-tests` judges the same runs by their exit status,
/// unless it was switched off.
pub(crate) fn worse(
    context: &RunContext,
    tests: Option<&KnownCommand>,
    base: &Oid,
    commit: &Oid,
) -> Result<Found, GitError> {
    let Some(tests) = tests else {
        return Ok(Err("no test command is configured, and none is known for this project"
            .to_owned()
            .into()));
    };
    let (before, now) =
        (suite(context, base, tests, Ask::Remembered)?, suite(context, commit, tests, Ask::Remembered)?);
    match compared(&before, &now) {
        Ok(mut worse) => {
            // A renamed test looks like a lost one and a new one.
            if let (TestRun::Ran(was), TestRun::Ran(is)) = (&before, &now) {
                worse = without_renamed(context, (base, was), (commit, is), worse)?;
            }
            worse.extend(switched_off(context, base, commit)?);
            Ok(Ok(worse.iter().map(regressed).collect()))
        }
        // The exit status has its own check in the same loop. Results that cannot be counted add nothing to it, except
        // for tests that are no longer in the files.
        Err(why) => {
            match [lost_in_source(context, tests, base, commit)?, switched_off(context, base, commit)?]
                .concat()
            {
                lost if lost.is_empty() => {
                    Ok(Err(NotRun { why, nothing_there: is_on(context, ProjectCommand::Test) }))
                }
                lost => Ok(Ok(lost.iter().map(regressed).collect())),
            }
        }
    }
}

/// The plan's claims, as if its builder had declared them.
fn claimed(plan: &Plan) -> Summary {
    let file = |path: String| FileChange { path, ..FileChange::default() };
    Summary { files: plan.claimed_files().into_iter().map(file).collect(), ..Summary::default() }
}

fn regressed(one: &qa::Regression) -> Claim {
    let name = one.test.clone().unwrap_or_else(|| "tests".to_owned());
    let text = match &one.test {
        Some(test) => format!("{test}: {}", one.detail),
        None => one.detail.clone(),
    };
    found(REGRESSION, &name, text, "say whether the plan means to lose this test".to_owned())
}

fn lint(commits: &[qa::CommitFact]) -> Vec<Claim> {
    lint_for("commit-lint", commits)
}

/// Problems with the subjects of commits, reported by a check of this name.
pub(crate) fn lint_for(check: &str, commits: &[qa::CommitFact]) -> Vec<Claim> {
    let report = qa::commit_lint(commits);
    let claims = report.violations.into_iter().map(|wrong| {
        let short: String = wrong.hash.chars().take(12).collect();
        let text = format!("the subject of {short}: {}", wrong.issue);
        found(check, &short, text, format!("write `{}`", wrong.suggested_fix))
    });
    claims.collect()
}

/// A finding of one check, with who can fix it.
pub(crate) fn found(check: &str, what: &str, text: String, suggestion: String) -> Claim {
    let mut claim = failing(Severity::Blocker, text);
    // The rule names the check and the object, so that tracking can follow the same failure from round to round.
    claim.rule = Some(format!("{check}:{what}"));
    claim.suggestion = suggestion;
    claim.fixable_by = match qa::fixable_by(check) {
        "dev" => FixableBy::Dev,
        "architect" => FixableBy::Architect,
        _ => FixableBy::Manual,
    };
    claim
}

/// The tests at a commit, as the project's test command reported them for its tree.
fn suite(context: &RunContext, commit: &Oid, tests: &KnownCommand, ask: Ask) -> Result<TestRun, GitError> {
    let command = ProjectCommand::Test;
    let runner = Runner { context, command, known: tests, effect: None, judge: None, seen_flaky: false };
    let ran = runner.on(commit, ask)?.as_test_run(&tests.shown());
    // A run that broke off is not kept, so that the next check can try again.
    if matches!(ran, TestRun::Ran(_) | TestRun::Nothing(..)) {
        lock(&context.suites).insert(commit.clone(), ran.clone());
    }
    Ok(ran)
}
