//! The five checks of a delivery, one by one and together.
//!
//! A check that could not be made has not passed: an unreadable document, an empty range and a test command that did
//! not run all give a code other than 0.

use super::args::QaSuite;
use super::{Answer, ground, plan, settings};
use crate::failure::Failure;
use serde_json::{Map, Value};
use std::path::Path;
use tribunal_docs::qa::CHECKS;
use tribunal_docs::{CheckStatus, Plan, Summary, SummaryCheck, SummaryFacts, check_summary, read_summary};
use tribunal_git::{Archive, GitError};
use tribunal_protocol::{Delivery, Ground, Judged};
use tribunal_view::protocol as view;
use tribunal_world::Bounds;
use tribunal_world::read_plain;

fn summary(path: &Path) -> Option<Summary> {
    let bytes = read_plain(path).ok()?;
    read_summary(&path.display().to_string(), &String::from_utf8_lossy(&bytes)).value
}

fn planned(path: &Path) -> Option<Plan> {
    plan::read(path).ok()?.value
}

/// `verify-plan-completion`: exit code 0 if the summary shows that the plan is complete, otherwise 1.
pub fn completion(summary_path: &Path, plan_path: &Path) -> Result<Answer, Failure> {
    let (found, plan) = (summary(summary_path), planned(plan_path));
    let (Some(found), Some(plan)) = (&found, &plan) else {
        return Ok(Answer::new(view::not_there(found.is_some(), plan.is_some()), 1));
    };
    let checks = match Archive::open(ground(Some(summary_path))?.root()) {
        Ok(archive) => {
            tribunal_protocol::summary_checks(&Delivery { archive: &archive, plan, summary: found })
        }
        Err(GitError::NotARepository { .. }) => without_git(found, plan),
        Err(error) => return Err(error.into()),
    };
    let passed = checks.iter().all(|check| check.status == CheckStatus::Pass);
    Ok(Answer::new(view::summary_checks(&checks), u8::from(!passed)))
}

/// The checks of a summary outside of a repository. Its commits cannot be looked up, so that check is a warning: nobody
/// has contradicted them, and nobody has seen them.
fn without_git(summary: &Summary, plan: &Plan) -> Vec<SummaryCheck> {
    let mut checks = check_summary(summary, plan, &SummaryFacts { commit_exists: &|_| true });
    for check in checks.iter_mut().filter(|check| check.name == "commit_hashes") {
        check.status = CheckStatus::Warn;
        check.detail = "there is no git repository to look them up in".to_owned();
    }
    checks
}

/// `commit-lint`: exit code 0 if every subject of the range follows the rules.
pub fn lint(range: &str) -> Result<Answer, Failure> {
    let archive = Archive::open(ground(None)?.root())?;
    let report = tribunal_protocol::commit_lint(&archive, range).map_err(bad_revision)?;
    let mut body = view::plain(&report);
    // An empty range proves nothing, so it does not pass.
    if report.total == 0 {
        body["reason"] = format!("{range:?} has no commits").into();
    }
    Ok(Answer::new(body, u8::from(report.total == 0 || !report.violations.is_empty())))
}

/// A revision that does not exist is the caller's mistake, so it is a usage error.
fn bad_revision(error: tribunal_protocol::ProtocolError) -> Failure {
    match error {
        tribunal_protocol::ProtocolError::Git(error) => error.into(),
        other => other.into(),
    }
}

/// `diff-against-plan`: compares the files of the commits with those that the summary names.
pub fn diff(summary_path: &Path, commits: &[String]) -> Result<Answer, Failure> {
    let Some(found) = summary(summary_path) else {
        return Ok(Answer::new(view::reason(&format!("{} cannot be read", summary_path.display())), 1));
    };
    let archive = Archive::open(ground(Some(summary_path))?.root())?;
    let named = commits.iter().map(|hash| hash.trim().to_owned()).filter(|hash| !hash.is_empty());
    let named: Vec<String> = named.collect();
    // By the arguments, not by what is left of them: a variable that expanded to nothing must not select other commits.
    let hashes = if commits.is_empty() { &found.commit_hashes } else { &named };
    let report = tribunal_protocol::diff(&archive, &found, hashes)?;
    Ok(Answer::new(view::plain(&report), u8::from(!report.passes())))
}

/// `validate-requirements`: looks for evidence of every requirement of the plan.
pub fn requirements(plan_path: &Path, phase_dir: &Path) -> Result<Answer, Failure> {
    let Some(plan) = planned(plan_path) else {
        return Ok(Answer::new(view::reason(&format!("{} cannot be read", plan_path.display())), 1));
    };
    let ground = ground(Some(plan_path))?;
    let archive = Archive::open(ground.root())?;
    if !phase_dir.is_dir() {
        return Err(Failure::usage(format!("{} is no folder", phase_dir.display())));
    }
    let summary = tribunal_protocol::summary_of(phase_dir, &plan.id);
    let file = |path: &str| ground.text(path);
    let report = tribunal_protocol::requirements(&archive, &plan, summary.as_ref(), &file, None)?;
    Ok(Answer::new(view::plain(&report), u8::from(!report.passes())))
}

/// `check-regression`: exit code 0 no regression, 1 regressions, 3 did not run.
pub fn regression(phase_dir: &Path, base: Option<&str>) -> Result<Answer, Failure> {
    if !phase_dir.is_dir() {
        return Err(Failure::usage(format!("{} is no folder", phase_dir.display())));
    }
    let ground = ground(Some(phase_dir))?;
    let archive = Archive::open(ground.root())?;
    Ok(match compared(&ground, &archive, phase_dir, base)? {
        Judged::Compared { baseline, current, regressions } => {
            let code = u8::from(!regressions.is_empty());
            Answer::new(view::regression(&baseline.commit, &baseline.report, &current, &regressions), code)
        }
        Judged::DidNotRun(why) => Answer::new(view::no_regression(&why), 3),
    })
}

fn compared(ground: &Ground, archive: &Archive, dir: &Path, base: Option<&str>) -> Result<Judged, Failure> {
    let settings = settings(ground)?.settings;
    let checks = &settings.checks;
    // A project may name its tests as a check of its own instead of `checks.test`.
    let named = checks.commands.get("test").or_else(|| checks.commands.get("tests"));
    let command = Some(&checks.test).filter(|argv| !argv.is_empty()).or(named);
    tribunal_protocol::check_regression(
        ground,
        archive,
        dir,
        base,
        command.map(Vec::as_slice),
        &Bounds::of(ground.root(), ground.planning(), &settings),
    )
    .map_err(bad_revision)
}

/// `qa-suite`: runs all five checks; one that did not run has not passed.
pub fn suite(args: &QaSuite) -> Result<Answer, Failure> {
    let own = args.summary.parent().map(Path::to_owned).unwrap_or_default();
    let own = if own.as_os_str().is_empty() { ".".into() } else { own };
    let dir = args.phase_dir.clone().unwrap_or(own);
    let mut results = Map::new();
    let mut passed = 0;
    for check in CHECKS {
        let answer = match check {
            "verify-plan-completion" => completion(&args.summary, &args.plan),
            "commit-lint" => suite_lint(args),
            "diff-against-plan" => diff(&args.summary, &[]),
            "validate-requirements" => requirements(&args.plan, &dir),
            _ => regression(&dir, None),
        };
        // A failure of one check is that check's answer, so that the others still run.
        let answer = answer.unwrap_or_else(|failure| Answer::new(view::reason(&failure.message), 3));
        passed += usize::from(answer.code == 0);
        results.insert(check.to_owned(), view::qa_result(check, Value::Object(answer.body), answer.code));
    }
    Ok(Answer::new(view::qa_suite(results, passed), u8::from(passed < CHECKS.len())))
}

/// Lints the commits of the range, otherwise those that the summary names. A summary without commits fails: it has
/// nothing to show.
fn suite_lint(args: &QaSuite) -> Result<Answer, Failure> {
    if let Some(range) = &args.commit_range {
        return lint(range);
    }
    let hashes = summary(&args.summary).map(|summary| summary.commit_hashes).unwrap_or_default();
    if hashes.is_empty() {
        return Ok(Answer::new(view::reason("the summary names no commits"), 1));
    }
    let archive = Archive::open(ground(Some(&args.summary))?.root())?;
    let report = tribunal_protocol::lint_of(&archive, &hashes)?;
    let code = u8::from(!report.violations.is_empty() || report.total == 0);
    Ok(Answer::new(view::plain(&report), code))
}
