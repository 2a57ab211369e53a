//! Begins a run from plain words: one lane, one task, no planning documents. The words are the plan, and are kept with
//! the run.
//!
//! As in `setup`, everything that can be wrong is found before anything is written. Only the change itself reaches the
//! user's branch, so no document may be added to it here.

use super::WORKTREE_POOL;
use super::examine::{Assembled, reviewer_tools_of};
use super::keep_settings;
use super::listen;
use super::open_journal;
use super::options;
use super::policies;
use super::roster;
use super::run_id;
use super::sandbox;
use super::told;
use super::world;
use crate::RealWorld;
use crate::build::make::{begin_branch, keep_document};
use crate::check;
use crate::check::around::AFTER_TASK;
use crate::check::rules;
use crate::context::{RunContext, now};
use crate::project::Project;
use crate::project::context;
use crate::project::error::SetupError;
use crate::tests_run::green;
use std::collections::BTreeMap;
use std::sync::Arc;
use tribunal_core::effect::FinishStep;
use tribunal_core::green::ProjectCommand;
use tribunal_core::ids::{Check, PlanId, Revision};
use tribunal_core::run::{Job, Land, PlanSpec, Policies, RunSpec, Subject};
use tribunal_docs::words;
use tribunal_engine::engine::Engine;
use tribunal_engine::run_state::{AskedNote, Note, RunNote, RunState};
use tribunal_engine::settings::Settings;
use tribunal_git::{Archive, GitError, GitPath, Oid, Repo};
use tribunal_process::Containment;
use tribunal_view::prompt::AskedBrief;

/// How many commits are looked at to see whether their subjects have types.
const SUBJECTS: usize = 20;

/// What the user asks for in plain words.
#[derive(Clone, Debug, Default)]
pub struct DoAsk {
    /// The user's words.
    pub words: String,
    /// What the user asked for in the runs that this one continues, oldest first.
    pub earlier: Vec<String>,
    /// The branch that the result goes to; none for the one that is checked out.
    pub branch: Option<String>,
    /// The result waits for an order to land.
    pub hold: bool,
    /// Stay and wait for a person when there is a question.
    pub attached: bool,
}

/// Where the result goes, and the commit it begins from.
struct Goal {
    branch: String,
    base: Oid,
    is_new: bool,
}

/// Begins a run whose only plan is what the user says.
pub fn begin_do(
    project: &Project,
    settings: &Settings,
    ask: &DoAsk,
) -> Result<(String, Engine<RealWorld>), SetupError> {
    if ask.words.trim().is_empty() {
        return Err(SetupError::Refused("nothing is asked for: the words are empty".to_owned()));
    }
    // A branch that the command names counts before the one of the settings.
    let branch = ask.branch.as_deref().or(Some(settings.git.branch.as_str()).filter(|name| !name.is_empty()));
    let goal = goal(project.repo(), branch)?;
    let mut settings = settings.clone();
    // No plan is reviewed before the work and no delivery after it, so those reviewers need not be available.
    settings.agents.plan_reviewers.clear();
    settings.agents.qa_reviewers.clear();
    roster::check(project, &settings)?;
    if settings.agents.sandbox == "required" {
        // Asked before anything is written, although `world` asks again.
        sandbox(&settings, &Containment::detect())?;
    }
    let Assembled { tools, left_out } = reviewer_tools_of(project, &settings, &goal.base)?;
    let checks: Vec<Check> = tools.iter().map(|tool| Check::new(&tool.name)).collect();
    let policies = judged_by(policies(&settings)?, &checks);
    rules::check(project, &settings, Some(&goal.branch))?;
    project.prepare()?;
    let at = now();
    let run = run_id(project, at.0, words::PLAN);
    let dir = project.run_dir(&run);
    let journal = open_journal(project, &run, at)?;
    let world = world(project, &settings, &run, WORKTREE_POOL)?;
    let context = Arc::clone(&world.context);
    begin_branch(&context, &goal.base)?;
    let revision = keep_document(&context, ask.words.as_bytes())?;
    let spec = run_spec(&settings, ask, revision, policies);
    context::keep(project, &dir, "")?;
    let plan = PlanId::new(words::PLAN);
    let asked = AskedNote {
        words: ask.words.clone(),
        title: words::title(&ask.words),
        message: words::message(&ask.words, has_types(project, &goal.base)?),
        earlier: ask.earlier.clone(),
        tools,
        new_branch: goal.is_new,
    };
    let mut warnings: Vec<String> = left_out;
    warnings.extend(green::tests_nothing_warning(&settings));
    let about = RunNote {
        titles: BTreeMap::from([(plan.clone(), asked.title.clone())]),
        paths: BTreeMap::from([(plan, words::PATH.to_owned())]),
        asked: Some(Box::new(asked)),
        settings: keep_settings(&dir, &settings)?,
        warnings,
        ..told(project, &settings, &context, &goal.branch, &goal.base)?
    };
    let options = options(&settings, ask.attached);
    let engine = Engine::begin(journal, world, options, &spec, Note::Run(Box::new(about)))?;
    listen(&dir, &engine)?;
    Ok((run, engine))
}

/// At most this many bytes of a change are read for display.
const CHANGE_MAX: usize = 4 << 20;

/// The change that a run from words has made, as a diff: the approved one, or else what its builder left last.
pub fn change_of(project: &Project, run: &str, run_state: &RunState) -> Result<Vec<u8>, SetupError> {
    let repo = project.repo();
    let at = |name: &str| repo.ref_at(&format!("refs/tribunal/{run}/{name}"));
    let base = Oid::parse(run_state.base())?;
    // A run branch that is still at its base has nothing, but the lane may.
    let head = at("head")?.filter(|head| *head != base);
    let Some(head) = (match head {
        Some(head) => Some(head),
        None => at(&format!("lane/{}", words::PLAN))?,
    }) else {
        return Ok(Vec::new());
    };
    let from = repo.merge_base(&base, &head)?.unwrap_or(base);
    Ok(repo.diff_text(&from, &head, &[], CHANGE_MAX)?.bytes)
}

/// What builder and reviewer are told of the words; none in a run that has plans.
pub(crate) fn brief(context: &RunContext, run_state: &RunState) -> Option<AskedBrief> {
    let asked = run_state.about.asked.as_ref()?;
    let project = ProjectCommand::ALL.into_iter().filter(|command| green::is_on(context, *command));
    let project = project.filter_map(|command| Some(green::known(context, run_state, command)?.shown()));
    let subject = Subject::Lane(PlanId::new(words::PLAN), Job::Task(1));
    let named = check::askable(context, &subject, run_state).into_iter().map(|command| command.shown);
    Some(AskedBrief {
        words: asked.words.clone(),
        earlier: asked.earlier.clone(),
        more: run_state.more.clone(),
        commands: project.chain(named).collect(),
    })
}

/// A spec of one lane without a SUMMARY. Its result is all that reaches the branch.
fn run_spec(settings: &Settings, ask: &DoAsk, revision: Revision, policies: Policies) -> RunSpec {
    // No boundary step: there are no planning documents to commit.
    let mut finish = vec![FinishStep::Forward];
    if settings.git.push != "never" {
        finish.push(FinishStep::Push);
    }
    RunSpec {
        plans: vec![PlanSpec {
            id: PlanId::new(words::PLAN),
            wave: 1,
            depends_on: Vec::new(),
            after: Vec::new(),
            tasks: 1,
            revision,
            done: None,
        }],
        gate: None,
        land: Land::Each,
        qa: false,
        bare: true,
        hold: ask.hold,
        review: false,
        polish: None,
        exists: None,
        chain: None,
        land_again: settings.run.land_again,
        checkpoint_every: None,
        landing_rounds: settings.run.landing_rounds,
        attempts_max: settings.run.attempts_max,
        policies,
        finish,
        step_timeout_ms: settings.agents.reviewer_timeout_s * 1000,
    }
}

/// The policies with these tools as checks. The form of a commit's subject is left to the repository.
fn judged_by(mut policies: Policies, tools: &[Check]) -> Policies {
    for policy in [&mut policies.task, &mut policies.repair] {
        policy.checks.retain(|check| check.as_str() != AFTER_TASK);
        policy.checks.extend(tools.iter().cloned());
    }
    policies
}

/// The named branch, or the one that is checked out.
fn goal(repo: &Repo, named: Option<&str>) -> Result<Goal, SetupError> {
    let head = repo.head()?;
    let Some(name) = named else {
        let branch = head.branch.ok_or_else(|| {
            SetupError::Refused(
                "HEAD is detached: the result needs a branch to go to\nhint: --branch NAME makes one here; nothing was changed"
                    .to_owned(),
            )
        })?;
        return Ok(Goal { branch, base: head.commit, is_new: false });
    };
    if !is_branch_name(name) {
        let shown = tribunal_view::plain::clipped(name, 80);
        return Err(SetupError::Refused(format!(
            "{shown:?} is no name for a branch (--branch, git.branch)\nhint: git check-ref-format says what is one; nothing was changed"
        )));
    }
    let found = repo.ref_at(&format!("refs/heads/{name}"))?;
    // A new branch begins at the commit that is checked out.
    let (is_new, base) = (found.is_none(), found.unwrap_or(head.commit));
    Ok(Goal { branch: name.to_owned(), base, is_new })
}

/// Whether git accepts this as the name of a branch.
fn is_branch_name(name: &str) -> bool {
    let forbidden = |c: char| c.is_control() || c.is_whitespace() || "~^:?*[\\".contains(c);
    let part = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock");
    // A leading hyphen would be an option to git, and `refs/` a full name.
    !name.starts_with('-')
        && !name.starts_with("refs/")
        && !name.ends_with('.')
        && !name.contains("..")
        && !name.contains("@{")
        && name != "@"
        && name != "HEAD"
        && !name.contains(forbidden)
        && name.split('/').all(part)
}

/// Whether the repository's commits have types such as `fix:`, or one of its files demands them.
fn has_types(project: &Project, base: &Oid) -> Result<bool, GitError> {
    let repo = project.repo();
    let latest = Archive::open(project.root())?.latest(base, SUBJECTS)?;
    if words::are_conventional(latest.iter().map(|commit| commit.subject.as_str())) {
        return Ok(true);
    }
    for entry in repo.list_tree(base)? {
        let path = entry.path.to_string();
        if !words::may_demand_types(&path) {
            continue;
        }
        let text = repo.file_at(base, &GitPath::from(path.as_str()))?.unwrap_or_default();
        if words::demands_types(&path, &String::from_utf8_lossy(&text)) {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::is_branch_name;

    #[test]
    fn names_of_branches() {
        for name in ["topic", "fix/login-2", "日本", "a.b"] {
            assert!(is_branch_name(name), "{name}");
        }
        for name in ["", "-x", "a b", "a..b", "refs/heads/x", "x.lock", "a//b", "HEAD", "@", "a~1", "x."] {
            assert!(!is_branch_name(name), "{name}");
        }
    }
}
