//! Imports what an earlier run, of Tribunal or of another tool, left half done: its correlation id, and tasks that are
//! committed on the user's branch.
//!
//! Only what git proves counts: a commit with the task's subject that touched the task's files, and the files still
//! there. Everything else begins anew.

use super::make::digest;
use crate::context::RunContext;
use crate::project::Project;
use crate::project::inside;
use serde_json::Value;
use tribunal_core::run::TasksDone;
use tribunal_docs::{Plan, Task};
use tribunal_git::{Archive, Commit, GitError, GitPath, Oid, RefChange, Touched};

/// The execution state of the protocol, in the planning folder.
pub const EXECUTION_STATE: &str = ".execution-state.json";

/// How many commits are looked at, newest first. A run that stopped longer ago begins anew.
const COMMITS_MAX: usize = 500;

/// The recent history with the files of each commit, read once for all plans.
pub(crate) struct History {
    base: Oid,
    /// The commits with their files, oldest first.
    commits: Vec<(Commit, Vec<Touched>)>,
}

impl History {
    /// Reads the history, if any plan has tasks to look for.
    pub(crate) fn read(context: &RunContext, base: &Oid, plans: &[&Plan]) -> Result<History, GitError> {
        let none = History { base: base.clone(), commits: Vec::new() };
        // The last task is never imported, so a plan with one task has nothing to look for.
        let wanted = |plan: &&&Plan| plan.tasks.len() > 1;
        let subjects: Vec<String> = plans
            .iter()
            .filter(wanted)
            .flat_map(|plan| plan.tasks.iter().map(|task| subject(plan, task)))
            .collect();
        if subjects.is_empty() {
            return Ok(none);
        }
        let archive = Archive::open(context.project.root())?;
        let mut commits = archive.latest(base, COMMITS_MAX)?;
        commits.retain(|commit| subjects.contains(&commit.subject));
        commits.reverse();
        let oids: Vec<Oid> = commits.iter().map(|commit| commit.oid.clone()).collect();
        let mut touched = archive.touched(&oids)?;
        let with = commits.into_iter().map(|commit| {
            let files = touched.remove(&commit.oid).unwrap_or_default();
            (commit, files)
        });
        Ok(History { commits: with.collect(), ..none })
    }

    /// The first tasks of a plan that are committed, and where they left the branch.
    ///
    /// The last task never counts as done. Without a SUMMARY nobody said that the plan is finished, so that task is
    /// built once more and reviewed.
    pub(crate) fn tasks_done(
        &self,
        context: &RunContext,
        plan: &Plan,
    ) -> Result<Option<TasksDone>, GitError> {
        let mut rest = self.commits.iter();
        let mut taken = Vec::new();
        for task in plan.tasks.iter().take(plan.tasks.len().saturating_sub(1)) {
            let wanted = subject(plan, task);
            // `rest` is used up as it goes: tasks must have been committed in their order.
            let found = rest.find(|(commit, touched)| commit.subject == wanted && serves(task, touched));
            // A task that names neither files nor a message proves nothing by its title alone.
            let Some((commit, _)) = found.filter(|_| !task.files.is_empty() || task.commit.is_some()) else {
                break;
            };
            if !self.has_files(context, task)? {
                break;
            }
            let name = context.name(&format!("taken/{}/{:04}", plan.id, taken.len() + 1));
            taken.push(RefChange::set(name, &commit.oid));
        }
        let tasks = u32::try_from(taken.len()).unwrap_or(0);
        if tasks == 0 {
            return Ok(None);
        }
        // A delivery consists of all its tasks, so the gates look at the imported commits, too.
        context.repo.refs_update(&taken, "tribunal: tasks taken over")?;
        let head = digest(&[b"taken over", self.base.as_str().as_bytes()]);
        context.keep(&head, &self.base, Vec::new())?;
        Ok(Some(TasksDone { tasks, head }))
    }

    /// Whether the files of a task still exist. A commit that was reverted proves nothing.
    fn has_files(&self, context: &RunContext, task: &Task) -> Result<bool, GitError> {
        for file in &task.files {
            if context.repo.file_at(&self.base, &GitPath::from(file.path.as_str()))?.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The subject that a task's commit has: as its plan asks, or as the protocol writes it.
fn subject(plan: &Plan, task: &Task) -> String {
    let asked = task.commit.clone();
    let text = asked.unwrap_or_else(|| format!("feat({}): {}", plan.id, task.title));
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a commit changed a file of the task, if the task names any.
fn serves(task: &Task, touched: &[Touched]) -> bool {
    let names = |file: &Touched, path: &str| file.path == GitPath::from(path);
    task.files.is_empty()
        || touched.iter().any(|file| task.files.iter().any(|planned| names(file, &planned.path)))
}

/// The imported commits of the plan that a commit was made for.
pub(crate) fn taken(context: &RunContext, commit: &Oid) -> Result<Vec<Oid>, GitError> {
    // Most runs import nothing, and then no message has to be read.
    if known(context)?.is_empty() {
        return Ok(Vec::new());
    }
    let message = context.repo.message_of(commit)?;
    let message = String::from_utf8_lossy(&message);
    let Some(plan) = message.lines().rev().find_map(|line| line.strip_prefix("Tribunal-Plan: ")) else {
        return Ok(Vec::new());
    };
    of_plan(context, plan)
}

/// The imported commits of a plan, oldest first.
pub(crate) fn of_plan(context: &RunContext, plan: &str) -> Result<Vec<Oid>, GitError> {
    let prefix = format!("{}/", context.name(&format!("taken/{plan}")));
    let own = known(context)?.iter().filter(|(name, _)| name.starts_with(&prefix));
    Ok(own.map(|(_, oid)| oid.clone()).collect())
}

/// The refs of all imported commits, read once.
fn known(context: &RunContext) -> Result<&[(String, Oid)], GitError> {
    if let Some(known) = context.taken.get() {
        return Ok(known);
    }
    let found = context.repo.refs_under(&context.name("taken"))?;
    Ok(context.taken.get_or_init(|| found))
}

/// The correlation id of a phase that another run left unfinished.
pub(crate) fn correlation(project: &Project, phase: &str) -> Option<String> {
    let path = format!("{}/{EXECUTION_STATE}", project.planning());
    let state: Value = serde_json::from_slice(&inside::read(project.root(), &path)?).ok()?;
    let said =
        state.get("phase").map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))?;
    // `01` and `1` name the same phase.
    let same = said.trim_start_matches('0') == phase.trim_start_matches('0');
    let open = state.get("status").and_then(Value::as_str) != Some("complete");
    let id = state.get("correlation_id")?.as_str()?.trim();
    // The id comes from a file and goes into logs, so only short, visible text is taken.
    let plain = !id.is_empty() && id.len() <= 100 && id.chars().all(|c| c.is_ascii_graphic());
    (same && open && plain).then(|| id.to_owned())
}
