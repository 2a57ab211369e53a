//! A plan's SUMMARY: the builder's words, and beside them what Tribunal knows from git.
//!
//! Nothing that a builder writes about commits, counts or dates is believed: those fields are always written from git.
//! The delivery's checks judge whether the SUMMARY is good; this file only renders and reads it.

use super::import;
use crate::check::guard::{CONTRACT, INTEGRITY};
use crate::context::base::fork;
use crate::context::subject;
use crate::context::{RunContext, lock, now};
use crate::project::inside;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use tribunal_core::finding::{Fate, Source};
use tribunal_core::ids::{FindingId, PlanId};
use tribunal_core::ledger::Entry;
use tribunal_docs::qa::{ChangedFile, CommitFact};
use tribunal_docs::{CheckStatus, Plan, Summary, SummaryCheck, SummaryFacts, check_summary};
use tribunal_engine::crash;
use tribunal_engine::review::entry_number;
use tribunal_engine::run_state::RunState;
use tribunal_git::{ChangeKind, GitError, GitPath, Oid, RefChange};
use tribunal_view::plain;

/// How many bytes a builder's own SUMMARY may have.
const WORDS_MAX: usize = 256 << 10;
/// How many characters of one deviation a SUMMARY shows.
const DEVIATION_MAX: usize = 300;
/// How many commits of one plan are read.
const COMMITS_MAX: usize = 10_000;

/// What git says about a plan's work.
#[derive(Debug, Default)]
pub(crate) struct Work {
    /// The plan's commits, oldest first.
    pub(crate) commits: Vec<CommitFact>,
    /// Commits of its tasks from before the run, oldest first. Nobody can change them any more.
    pub(crate) taken: Vec<Oid>,
    /// The files that differ from where the plan began.
    pub(crate) changes: Vec<ChangedFile>,
}

/// The material of a SUMMARY.
///
/// It is gathered from the run state on the engine's thread. The parts that need git are read later, on a worker.
pub(crate) struct Account {
    /// The plan that it is about.
    pub(crate) plan: PlanId,
    /// The path of the SUMMARY.
    pub(crate) path: String,
    title: String,
    document: Summary,
    said: Vec<String>,
    /// Findings of gates that are in the work all the same, in words.
    seen: Vec<String>,
}

impl Account {
    /// Gathers the material from the run state.
    pub(crate) fn gather(context: &RunContext, plan: &PlanId, run_state: &RunState) -> Option<Account> {
        let path = run_state.about.paths.get(plan)?;
        let text = context.plan_text(path, &subject::plan_revision(run_state, plan)?).ok()?;
        let prefix = format!("{plan}/");
        // The words of fixers and reviewers are not the builder's account of its work.
        let by_dev = run_state.launches.iter().filter(|l| l.role == "dev" && l.effect.starts_with(&prefix));
        let said = by_dev.filter(|launch| !launch.summary.is_empty()).map(|l| l.summary.clone());
        Some(Account {
            plan: plan.clone(),
            path: summary_path(path),
            title: run_state.about.titles.get(plan).cloned().unwrap_or_default(),
            document: frame(&text.plan),
            said: said.collect(),
            seen: deviations(run_state, plan),
        })
    }

    /// Whether the builder said nothing about what it built.
    pub(crate) fn is_silent(&self, context: &RunContext) -> Result<bool, GitError> {
        Ok(self.said.is_empty() && words_of(context, &self.plan)?.is_none())
    }

    /// Adds words of the builder.
    pub(crate) fn add(&mut self, words: String) {
        self.said.push(words);
    }

    /// The SUMMARY that the builder wrote itself; empty where it wrote none.
    fn own(&self, context: &RunContext) -> Result<Summary, GitError> {
        let own = match words_of(context, &self.plan)? {
            Some(blob) => String::from_utf8_lossy(&context.repo.read_blob(&blob)?).into_owned(),
            None => String::new(),
        };
        Ok(tribunal_docs::read_summary(&self.path, &own).value.unwrap_or_default())
    }

    /// The files that the builder says it changed; none where it does not say.
    pub(crate) fn declared(&self, context: &RunContext) -> Result<Option<Summary>, GitError> {
        Ok(Some(self.own(context)?).filter(|own| !own.files.is_empty()))
    }

    /// The text of the SUMMARY for the work up to a commit.
    pub(crate) fn text(&self, context: &RunContext, commit: &Oid) -> Result<String, GitError> {
        let work = context.work(commit)?;
        let own = self.own(context)?;
        let mut summary = self.document.clone();
        let hashes = work.taken.iter().map(Oid::as_str).chain(work.commits.iter().map(|c| c.hash.as_str()));
        // Twelve characters, as people write commits. `failures` compares by prefix for the same reason.
        summary.commit_hashes = hashes.map(|hash| hash.chars().take(12).collect()).collect();
        summary.completed = Some(tribunal_view::calendar::date(now().0));
        summary.deviations = own.deviations.iter().chain(&self.seen).cloned().collect();
        summary.body = self.body(&own, &work);
        // The text goes to a branch, and half of it comes from an agent.
        Ok(tribunal_docs::secret::without_secrets(&tribunal_docs::write_summary(&summary)))
    }

    /// Writes the SUMMARY to a ref, where the end of the run finds it.
    pub(crate) fn keep(&self, context: &RunContext, commit: &Oid) -> Result<(), GitError> {
        let blob = context.repo.write_blob(self.text(context, commit)?.as_bytes())?;
        let name = context.name(&format!("summary/{}", self.plan));
        crash::point("summary:before");
        context.repo.refs_update(&[RefChange::set(name, &blob)], "tribunal: summary")?;
        crash::point("summary:after");
        Ok(())
    }

    /// The SUMMARY as a check sees it: written and read back.
    ///
    /// What a check judges must be what people will read, also where writing and reading change the text.
    pub(crate) fn summary(&self, context: &RunContext, commit: &Oid) -> Result<Summary, GitError> {
        let text = self.text(context, commit)?;
        Ok(tribunal_docs::read_summary(&self.path, &text).value.unwrap_or_default())
    }

    /// The rules of a SUMMARY that it breaks.
    pub(crate) fn failures(
        &self,
        context: &RunContext,
        commit: &Oid,
        plan: &Plan,
    ) -> Result<Vec<SummaryCheck>, GitError> {
        let work = context.work(commit)?;
        let commit_exists = |hash: &str| {
            work.commits.iter().any(|commit| commit.hash.starts_with(hash))
                || work.taken.iter().any(|oid| oid.as_str().starts_with(hash))
        };
        let facts = SummaryFacts { commit_exists: &commit_exists };
        let checks = check_summary(&self.summary(context, commit)?, plan, &facts);
        Ok(checks.into_iter().filter(|check| check.status == CheckStatus::Fail).collect())
    }

    fn body(&self, own: &Summary, work: &Work) -> String {
        let said: Vec<String> = self.said.iter().map(|words| format!("- {words}")).collect();
        let files: Vec<String> = work
            .changes
            .iter()
            .map(|file| format!("- `{}` -- {}: {}", file.path, action(file), self.plan))
            .collect();
        let section = |title: &str, ours: String| {
            // The builder's own section wins, unless it is empty. It knows what it meant to build.
            let theirs = own.section(title).map(|section| section.text.trim().to_owned());
            let text = theirs.filter(|text| !text.is_empty()).unwrap_or(ours);
            format!("## {title}\n\n{text}\n\n")
        };
        let mut body = format!("# Plan {}: {}\n\n", self.plan, self.title);
        body.push_str(&section("What Was Built", said.join("\n")));
        body.push_str(&section("Files Modified", files.join("\n")));
        body.push_str("## Deviations\n\n");
        body.push_str(&self.deviations(own));
        body.push('\n');
        body
    }
}

impl Account {
    /// The builder's deviations and those that the gates saw. "None" is written only where neither says anything.
    fn deviations(&self, own: &Summary) -> String {
        let theirs = own.section("Deviations").map(|section| section.text.trim().to_owned());
        // "None.", "- none" and an empty list all mean that there is nothing.
        let is_none = |text: &String| {
            let bare = text.trim_start_matches(['-', '*', ' ']).trim_end_matches('.');
            bare.is_empty() || bare.eq_ignore_ascii_case("none")
        };
        let mut lines: Vec<String> = theirs.filter(|text| !is_none(text)).into_iter().collect();
        lines.extend(self.seen.iter().map(|seen| format!("- {seen}")));
        if lines.is_empty() { "None".to_owned() } else { lines.join("\n") }
    }
}

/// Findings of the gates in a plan's tasks that were neither fixed nor refuted, so that the work has them.
///
/// A loop that continues another one has the same findings under the same ids, so the last loop's entry counts.
fn deviations(run_state: &RunState, plan: &PlanId) -> Vec<String> {
    let prefix = format!("{plan}/");
    let mut loops: Vec<_> =
        run_state.loops.iter().filter(|(id, _)| id.as_str().starts_with(&prefix)).collect();
    loops.sort_by_key(|(id, _)| entry_number(id));
    // Only gates compare the work with the plan, so only their findings are deviations from it.
    let is_gates = |source: &Source| matches!(source, Source::Check(check) if is_gate(check.as_str()));
    let mut last: BTreeMap<FindingId, &Entry> = BTreeMap::new();
    for (_, review_loop) in loops {
        last.extend(review_loop.ledger().iter().filter(|(_, entry)| entry.by.iter().any(is_gates)));
    }
    let mut lines: Vec<String> = Vec::new();
    for entry in last.into_values() {
        let how = match &entry.fate {
            Fate::Waived(who) => format!("accepted by {}", plain::line(who)),
            Fate::Advisory | Fate::Carried | Fate::Deferred => "told to the reviewer".to_owned(),
            fate if fate.is_open() => "left open".to_owned(),
            _ => continue,
        };
        let line = format!("{} ({how})", plain::clipped(&entry.claim.claim, DEVIATION_MAX));
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

/// Whether a check compares the work with what the plan allows.
fn is_gate(check: &str) -> bool {
    matches!(check, CONTRACT | INTEGRITY)
}

/// The parts of a SUMMARY that follow from the plan alone.
fn frame(plan: &Plan) -> Summary {
    let tasks = plan.tasks.len().to_string();
    Summary {
        id: plan.id.clone(),
        has_frontmatter: true,
        phase: Some(plan.id.phase.clone()),
        plan: Some(plan.id.plan.clone()),
        title: Some(plan.title.clone().unwrap_or_else(|| format!("Plan {}", plan.id))),
        // Both keys are written even where they have no value.
        lines: ["title", "deviations"].into_iter().map(|key| (key.to_owned(), 0)).collect(),
        status: Some("complete".to_owned()),
        tasks_completed: Some(tasks.clone()),
        tasks_total: Some(tasks),
        ..Summary::default()
    }
}

fn action(file: &ChangedFile) -> &'static str {
    match (file.added, file.deleted, file.old_path.is_some()) {
        (_, _, true) => "renamed",
        (true, _, _) => "created",
        (_, true, _) => "deleted",
        _ => "modified",
    }
}

/// The path of a plan's SUMMARY, beside the plan.
pub(crate) fn summary_path(plan_path: &str) -> String {
    plan_path
        .strip_suffix("PLAN.md")
        .map_or_else(|| format!("{plan_path}.SUMMARY.md"), |stem| format!("{stem}SUMMARY.md"))
}

/// The SUMMARY that the builder wrote, as a blob; none where it wrote none.
pub(crate) fn words_of(context: &RunContext, plan: &PlanId) -> Result<Option<Oid>, GitError> {
    // Only `take_words` changes the ref, and it updates this copy as well.
    if let Some(known) = lock(&context.words).get(plan) {
        return Ok(known.clone());
    }
    let found = context.repo.ref_at(&context.name(&format!("words/{plan}")))?;
    lock(&context.words).insert(plan.clone(), found.clone());
    Ok(found)
}

/// Takes the SUMMARY that a builder left in its tree, unless it is the one that was there before.
///
/// It is kept in a ref of its own and not in the commit: the SUMMARY that lands is written anew from git's facts.
pub(crate) fn take_words(
    context: &RunContext,
    plan: &PlanId,
    tree: &Path,
    parent: &Oid,
    path: &str,
) -> Result<Option<Oid>, GitError> {
    let known = words_of(context, plan)?;
    // Too large, a link, or not there: the words of an earlier attempt stay.
    let Some(bytes) = inside::read(tree, path).filter(|bytes| bytes.len() <= WORDS_MAX) else {
        return Ok(known);
    };
    if context.repo.file_at(parent, &GitPath::from(path))?.as_deref() == Some(&bytes) {
        return Ok(known);
    }
    let blob = context.repo.write_blob(&bytes)?;
    if known.as_ref() != Some(&blob) {
        let name = context.name(&format!("words/{plan}"));
        // Earlier versions stay reachable, as everything does that an agent left.
        let each = context.name(&format!("said/{plan}/{}", blob.short()));
        let changes = [RefChange::set(name, &blob), RefChange::set(each, &blob)];
        context.repo.refs_update(&changes, "tribunal: a dev's summary")?;
        lock(&context.words).insert(plan.clone(), Some(blob.clone()));
    }
    Ok(Some(blob))
}

impl RunContext {
    /// What git says about the work up to a commit. The answer is kept, because several checks ask for the same commit.
    pub(crate) fn work(&self, commit: &Oid) -> Result<Arc<Work>, GitError> {
        // The lock is not held while git runs. Two workers may compute the same answer, which does no harm.
        if let Some(known) = lock(&self.works).get(commit) {
            return Ok(Arc::clone(known));
        }
        let base = fork(self, commit)?;
        let subjects = self.repo.subjects(&base, commit, COMMITS_MAX)?;
        let mut changes = self.repo.changes(&base, commit)?;
        let taken = import::taken(self, commit)?;
        // Work from before the run is on the branch already, so the diff of the lane does not show it.
        for oid in &taken {
            let Some(parent) = self.repo.parents_of(oid)?.into_iter().next() else { continue };
            let earlier = self.repo.changes(&parent, oid)?;
            changes.extend(earlier.into_iter().filter(|change| {
                change.kind != ChangeKind::Deleted
                    && self.repo.file_at(commit, &change.path).is_ok_and(|f| f.is_some())
            }));
        }
        changes.sort_by(|a, b| a.path.cmp(&b.path));
        // A file that was changed before the run and in it is listed once, by its change in the run.
        changes.dedup_by(|later, first| later.path == first.path);
        let commits = subjects.into_iter().map(|(oid, subject)| CommitFact {
            hash: oid.to_string(),
            subject,
            parents: 1,
            files: Vec::new(),
        });
        let changes = changes.into_iter().map(|change| ChangedFile {
            path: change.path.to_string(),
            old_path: change.old_path.map(|path| path.to_string()),
            added: change.kind == ChangeKind::Added,
            deleted: change.kind == ChangeKind::Deleted,
        });
        let (commits, changes) = (commits.collect(), changes.collect());
        let work = Arc::new(Work { commits, taken, changes });
        lock(&self.works).insert(commit.clone(), Arc::clone(&work));
        Ok(work)
    }
}
