//! Building: the builder in its lane, and the architect at its plan.
//!
//! A lane's worktree follows from a revision. What an agent left half done stays for the next attempt, and nothing is
//! deleted that is not in git. Planning documents are not part of a revision: `keep_work` puts them back, so that a
//! builder cannot change the plan it is measured by.

use super::account::{Account, summary_path, take_words, words_of};
use super::carried::carried;
use crate::agent_names;
use crate::backup_of;
use crate::check::around::Entry;
use crate::check::message;
use crate::check::secrets;
use crate::context::base::fork;
use crate::context::subject;
use crate::context::{PlanText, RunContext, slug};
use crate::launch::ask_again;
use crate::launch::call_policy::Capability;
use crate::launch::{Begin, Ended, Reporting, Session, not_done, session_of, words};
use crate::project::inside;
use crate::project::kept;
use crate::setup::words as asked_words;
use crate::tests_run::prepare::{Judged, prepare};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tribunal_agent::Access;
use tribunal_agent::reporting::Part;
use tribunal_core::defence::{Defence, stands};
use tribunal_core::effect::EffectId;
use tribunal_core::finding::Reply;
use tribunal_core::ids::{FindingId, LoopId, PlanId, Revision};
use tribunal_core::review_loop::{Failure, FailureKind, Loop, LoopReport};
use tribunal_core::run::{Job, Subject};
use tribunal_engine::crash;
use tribunal_engine::run_state::{LaunchNote, Note, RunState};
use tribunal_engine::world::Report;
use tribunal_findings::BuilderWords;
use tribunal_git::{GitError, GitPath, Oid, Rebased, RefChange, RefsMoved, Tree};
use tribunal_view::plain;
use tribunal_view::prompt::{self, BuilderBrief, BuilderJob, Document, FindingLine, PlanBrief, TaskBrief};

/// Part of the message of a person's own fix.
pub(crate) const BY_HAND: &str = "fixed by hand";
/// The check that holds commit subjects to their form.
const COMMIT_LINT: &str = "commit-lint";
/// How much of an agent's plain words stands in for a summary that it did not give.
const PROSE_LINES: usize = 8;
const PROSE_MAX: usize = 800;
/// How much is kept of the output of a failed installation.
const UNPREPARED_MAX: usize = 2_000;

/// Everything that one build needs, gathered from the run state before it goes to a worker.
pub(crate) struct Make {
    effect: EffectId,
    loop_id: LoopId,
    subject: Subject,
    plan: PlanId,
    path: String,
    text: Arc<PlanText>,
    current: Option<Revision>,
    /// The revision of the lane that was approved last.
    head: Option<Revision>,
    /// The first revision that the loop judged.
    opened: Option<Revision>,
    starts_over: bool,
    findings: Vec<FindingId>,
    brief: BuilderBrief,
    /// The session of its last attempt or version.
    session: Option<Session>,
    /// The SUMMARY of a delivery.
    account: Option<Account>,
    /// A builder that ends before its task is done continues with it.
    iterates: bool,
    entry: Option<Entry>,
    /// The commit message, if somebody asked for the work in plain words.
    asked: Option<String>,
}

/// Where a building loop stands in git.
///
/// It is fixed with the loop's first build and kept in refs. If it followed the run branch, the same files would give
/// another revision after every landing.
pub(crate) struct Ground {
    /// The parent of the loop's commit.
    pub(crate) parent: Oid,
    /// The commit that its worktree is first made from.
    pub(crate) start: Oid,
    /// A build that changed nothing makes a commit all the same. False for fixes of a delivery, and for work that was
    /// asked for in plain words.
    pub(crate) may_be_empty: bool,
}

impl Make {
    /// Gathers what the build needs from the run state. `None` if the loop's subject is not built in this way.
    pub(crate) fn gather(
        context: &RunContext,
        effect: &EffectId,
        review_loop: &Loop,
        findings: &[FindingId],
        run_state: &RunState,
    ) -> Option<Make> {
        let subject = subject::of(review_loop.id())?;
        let plan = subject::plan_of(&subject)?.clone();
        let path = run_state.about.paths.get(&plan)?.clone();
        let text = context.plan_text(&path, &subject::plan_revision(run_state, &plan)?).ok()?;
        let run = run_state.run.as_ref()?;
        let mut brief = builder_brief(&subject, &text, review_loop, findings, effect, run_state, &plan);
        brief.asked = asked_words::brief(context, run_state);
        // A repair begins by moving the lane onto what landed meanwhile. Later rounds stay on that ground.
        let judged_first = matches!(subject, Subject::Lane(_, Job::Repair)) && review_loop.round() == 0;
        let role = role(&subject);
        let agent = context.adapter_for(&agent_names(effect));
        let session = agent.and_then(|agent| session_of(run_state, review_loop.id(), role, &agent));
        Some(Make {
            effect: effect.clone(),
            loop_id: review_loop.id().clone(),
            plan: plan.clone(),
            path,
            current: review_loop.revision().cloned(),
            head: run.lane_head(&plan).cloned(),
            opened: review_loop.judged().first().cloned(),
            starts_over: judged_first,
            findings: findings.to_vec(),
            iterates: review_loop.policy().iterations_max.is_some(),
            entry: Entry::gather(context, &subject, review_loop.id(), &text, run_state),
            asked: run_state.about.asked.as_ref().map(|asked| asked.message.clone()),
            account: match subject {
                Subject::Lane(_, Job::Qa) => Account::gather(context, &plan, run_state),
                _ => None,
            },
            text,
            subject,
            brief,
            session,
        })
    }

    /// Builds, on a worker.
    pub(crate) fn run(self, context: &Arc<RunContext>) {
        let effect = self.effect.clone();
        let done = match self.subject {
            Subject::Plan(_) => self.plan(context),
            Subject::Lane(..) | Subject::Phase | Subject::Polish | Subject::Chain => self.lane(context),
        };
        if let Err(error) = done {
            context.fail(&effect, Failure::new(FailureKind::Crashed, error.to_string()), Vec::new());
        }
    }
}

fn builder_brief(
    subject: &Subject,
    text: &PlanText,
    review_loop: &Loop,
    findings: &[FindingId],
    effect: &EffectId,
    run_state: &RunState,
    plan: &PlanId,
) -> BuilderBrief {
    let line = |id: &FindingId| review_loop.ledger().get(*id).map(|entry| FindingLine::of(*id, entry));
    let (job, task) = match subject {
        Subject::Plan(_) => (BuilderJob::Plan, None),
        Subject::Lane(_, Job::Task(n)) => (BuilderJob::Task, task_brief(text, *n)),
        Subject::Lane(_, Job::Repair) => (BuilderJob::Repair, None),
        Subject::Lane(_, Job::Qa) => (BuilderJob::Delivery, None),
        Subject::Phase | Subject::Polish | Subject::Chain => (BuilderJob::Phase, None),
    };
    let checkpoint = run_state.run.as_ref().and_then(|run| run.feedback(plan));
    // What a person adds to their own request is shown together with the request, not as feedback.
    let person =
        run_state.said.get(review_loop.id()).map(String::as_str).filter(|_| run_state.about.asked.is_none());
    let feedback: Vec<&str> = person.into_iter().chain(checkpoint).collect();
    BuilderBrief {
        job,
        plan: plan_brief(text),
        task,
        asked: None,
        document: None,
        artifact: None,
        round: review_loop.round() + 1,
        rounds_max: review_loop.rounds_max(),
        iteration: effect.n.fails + 1,
        findings: findings.iter().filter_map(line).collect(),
        carried: match subject {
            Subject::Lane(..) => carried(run_state, plan, review_loop.id()),
            Subject::Plan(_) | Subject::Phase | Subject::Polish | Subject::Chain => Vec::new(),
        },
        before: ask_again::last_run(run_state, review_loop, effect),
        feedback: feedback.join("\n"),
        unprepared: String::new(),
        lanes: subject::other_lanes(run_state, plan),
        budget: run_state.tokens.budget(role(subject), plan),
        word: String::new(),
    }
}

impl Make {
    /// Launches the builder in its folder; `take` handles what it left.
    fn send(
        mut self,
        context: &Arc<RunContext>,
        dir: PathBuf,
        take: impl FnOnce(Make, &Arc<RunContext>, Ended) -> Result<(), GitError> + Send + 'static,
    ) {
        let (effect, role) = (self.effect.clone(), role(&self.subject));
        let mut brief = context.brief(&effect, role, &agent_names(&effect));
        brief.loop_use = use_word(&self.subject).to_owned();
        brief.plan = Some(self.plan.to_string());
        brief.task = task_number(&self.subject).map(|n| n.to_string());
        brief.round = self.brief.round;
        self.brief.word = brief.word.clone().unwrap_or_default();
        brief.prompt = prompt::builder(&self.brief);
        brief.dir = dir;
        brief.access = Access::Write;
        brief.reviewer = effect.n.backup.then(|| backup_of(role).to_owned());
        let (session, reporting) = (self.session.take(), self.reporting());
        context.launch(
            &effect,
            &agent_names(&effect),
            brief,
            Begin::Session(session),
            Some(reporting),
            move |context, ended| {
                let effect = self.effect.clone();
                if let Err(error) = take(self, context, ended) {
                    context.fail(&effect, Failure::new(FailureKind::Crashed, error.to_string()), Vec::new());
                }
            },
        );
    }

    /// What the builder may report through tools. It runs checks itself, in its own folder.
    fn reporting(&self) -> Reporting {
        let capability = Capability {
            part: Part::Builder,
            of: self.loop_id.to_string(),
            task: task_number(&self.subject).map(|n| n.to_string()),
            reviewer: None,
            round: self.brief.round,
            revision: None,
            findings: self.findings.clone(),
            judged: None,
        };
        Reporting { capability, checks: None }
    }
}

/// The role that builds a subject.
fn role(subject: &Subject) -> &'static str {
    match subject {
        Subject::Plan(_) => "architect",
        Subject::Lane(..) | Subject::Phase | Subject::Polish | Subject::Chain => "dev",
    }
}

/// What a plan says of itself, for prompts.
pub(crate) fn plan_brief(text: &PlanText) -> PlanBrief {
    let plan = &text.plan;
    PlanBrief {
        id: plan.id.to_string(),
        title: plan.title.clone().unwrap_or_default(),
        goal: String::new(),
        must_haves: plan.must_haves.entries(),
        files: plan.claimed_files(),
        forbidden: plan.files_forbidden.clone(),
    }
}

/// One task of a plan, for prompts.
pub(crate) fn task_brief(text: &PlanText, number: u32) -> Option<TaskBrief> {
    let tasks = &text.plan.tasks;
    let task = tasks.get(usize::try_from(number).ok()?.checked_sub(1)?)?;
    let of = u32::try_from(tasks.len()).unwrap_or(u32::MAX);
    Some(TaskBrief { number, of, title: task.title.clone(), body: task.body.clone() })
}

// After a crash: the launch ended while no orchestrator was running.
impl Make {
    /// Takes what a builder left that ended while nobody watched.
    pub(crate) fn recovered(self, context: &RunContext, ended: Ended) -> Option<(LoopReport, Vec<Note>)> {
        let revision = match self.subject {
            Subject::Plan(_) => {
                let tree = context.dir.join("plans").join(slug(self.plan.as_str())).join("tree");
                keep_document(context, &inside::read(&tree, &self.path)?).ok()?
            }
            Subject::Lane(..) | Subject::Phase | Subject::Polish | Subject::Chain => {
                self.left_in_lane(context, &spoken(&ended))?
            }
        };
        Some(self.said(revision, ended))
    }

    fn left_in_lane(&self, context: &RunContext, said: &BuilderWords) -> Option<Revision> {
        let ground = self.ground(context).ok()?;
        let dir = context.lane_dir(&self.plan);
        // Without its `.git` the folder was taken away by the agent. Capturing it would record that as a deletion of
        // every file.
        if is_gone(&dir.join("tree")) {
            return None;
        }
        let at = place_of(context, &self.plan)?;
        let tree = context.repo.tree(&dir.join("tree"), &dir.join("index"), &at);
        self.keep_lane(context, &ground, &tree, said).ok()
    }
}

// The architect.
impl Make {
    /// Launches the architect in a worktree with the plan's current document.
    fn plan(mut self, context: &Arc<RunContext>) -> Result<(), GitError> {
        let dir = context.dir.join("plans").join(slug(self.plan.as_str()));
        let (tree, index) = (dir.join("tree"), dir.join("index"));
        // The next attempt continues with what an earlier architect left, unless its document is not a regular file any
        // more.
        if inside::read(&tree, &self.path).is_none() {
            if tree.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
                let left = context.repo.tree(&tree, &index, &context.run_head()?);
                kept::take_away(context, &format!("plan-{}", self.plan), &left)?;
            }
            context.worktree_pool.discard(&tree)?;
            context.worktree_pool.discard(&index)?;
            fs::create_dir_all(&dir).map_err(|source| GitError::Io { path: dir.clone(), source })?;
            context.worktree_pool.checkout(&tree, &index, &context.run_head()?, "plan")?;
        }
        // Always the current document: an earlier attempt may have left another one here.
        inside::write(&tree, &self.path, self.text.text.as_bytes())?;
        self.brief.document = Some(Document { path: self.path.clone(), text: self.text.text.clone() });
        self.send(context, tree.clone(), move |make, context, ended| make.plan_made(context, &tree, ended));
        Ok(())
    }

    fn plan_made(self, context: &Arc<RunContext>, tree: &Path, ended: Ended) -> Result<(), GitError> {
        if let Some(failure) = ended.failure {
            context.fail(&self.effect, failure, vec![Note::Launch(Box::new(ended.note))]);
            return Ok(());
        }
        let Some(bytes) = inside::read(tree, &self.path) else {
            let failure =
                Failure::new(FailureKind::Garbled, format!("{} is gone or no plain file", self.path));
            context.fail(&self.effect, failure, vec![Note::Launch(Box::new(ended.note))]);
            return Ok(());
        };
        let revision = keep_document(context, &bytes)?;
        self.report(context, revision, ended);
        Ok(())
    }
}

/// The folder with a plan's document: the architect's worktree, or a copy of the document before there is one.
pub(crate) fn document_tree(run_dir: &Path, plan: &PlanId) -> PathBuf {
    let dir = run_dir.join("plans").join(slug(plan.as_str()));
    let made = dir.join("tree");
    if made.exists() { made } else { dir.join("copy") }
}

/// Puts a plan's document where a person can edit it, unless it is there already.
pub(crate) fn lay_out(
    context: &RunContext,
    plan: &PlanId,
    path: &str,
    revision: &Revision,
) -> Result<(), GitError> {
    let tree = document_tree(&context.dir, plan);
    // An architect or a person may have changed it; their version is not replaced.
    if inside::is_taken(&tree.join(path)) {
        return Ok(());
    }
    inside::write(&tree, path, &context.repo.read_blob(&context.commit_of(revision)?)?)
}

/// Stores a document and names its revision.
pub(crate) fn keep_document(context: &RunContext, bytes: &[u8]) -> Result<Revision, GitError> {
    let revision = digest(&[b"document", bytes]);
    keep_documents(context, &[bytes])?;
    Ok(revision)
}

/// Stores documents and names their revisions, in the same order.
pub(crate) fn keep_documents(context: &RunContext, documents: &[&[u8]]) -> Result<Vec<Revision>, GitError> {
    let mut new = BTreeMap::new();
    let mut revisions = Vec::new();
    for bytes in documents {
        let revision = digest(&[b"document", bytes]);
        if !context.has(&revision) && !new.contains_key(&revision) {
            new.insert(revision.clone(), context.repo.write_blob(bytes)?);
        }
        revisions.push(revision);
    }
    if !new.is_empty() {
        context.keep_all(new, Vec::new())?;
    }
    Ok(revisions)
}

/// The digest of everything that is judged, as a revision.
///
/// The length of each part goes in before the part: otherwise moving bytes from one part to the next would not change
/// the digest.
pub(crate) fn digest(parts: &[&[u8]]) -> Revision {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    Revision::new(&hasher.finalize().to_hex()[..24])
}

// The builder in its lane.
impl Make {
    /// Launches the builder in its lane's worktree.
    fn lane(mut self, context: &Arc<RunContext>) -> Result<(), GitError> {
        let ground = self.ground(context)?;
        let wanted = match &self.current {
            Some(revision) => context.commit_of(revision)?,
            None => ground.start.clone(),
        };
        // The entry gates come before the worktree is made: a task that may not begin costs no checkout and no agent.
        if let Some(Err(failure)) = self.entry.as_ref().map(|entry| entry.ask(context, &ground.parent)) {
            context.fail(&self.effect, failure, Vec::new());
            return Ok(());
        }
        let tree = lane_tree(context, &self.plan, &wanted)?;
        self.brief.unprepared = unprepared(context, &self.plan);
        if let Some(account) = &self.account {
            let text = account.text(context, &wanted)?;
            self.brief.document = Some(Document { path: account.path.clone(), text });
        }
        let dir = tree.path().to_path_buf();
        self.send(context, dir, move |make, context, ended| make.lane_made(context, &ground, &tree, ended));
        Ok(())
    }

    /// Where this loop's commit stands. It is determined with the loop's first build and then read from refs.
    fn ground(&self, context: &RunContext) -> Result<Ground, GitError> {
        let slug = slug(self.loop_id.as_str());
        let (base, start) = (context.name(&format!("base/{slug}")), context.name(&format!("start/{slug}")));
        if let (Some(parent), Some(start)) = (context.repo.ref_at(&base)?, context.repo.ref_at(&start)?) {
            return Ok(Ground { parent, start, may_be_empty: self.may_be_empty() });
        }
        let ground = self.new_ground(context)?;
        // Both in one transaction, so that there is never a base without its start.
        let changes = [RefChange::set(base, &ground.parent), RefChange::set(start, &ground.start)];
        crash::point("ground:before");
        context.repo.refs_update(&changes, "tribunal: a loop begins")?;
        crash::point("ground:after");
        Ok(ground)
    }

    /// Determines the ground of a loop that has none yet.
    fn new_ground(&self, context: &RunContext) -> Result<Ground, GitError> {
        if let (Subject::Lane(_, Job::Repair), Some(revision)) = (&self.subject, self.begins_at())
            && self.starts_over
        {
            return rebased(context, revision);
        }
        let head = self.begins_at().map(|revision| context.commit_of(revision)).transpose()?;
        match (&self.subject, head) {
            (Subject::Lane(_, Job::Task(_)), head) => {
                let left = context.repo.ref_at(&context.name(&format!("lane/{}", self.plan)))?;
                let parent = match (head, &left) {
                    (Some(head), _) => head,
                    // What was left stands where the lane began, whatever landed since.
                    (None, Some(left)) => fork(context, left)?,
                    (None, None) => context.run_head()?,
                };
                let may_be_empty = self.may_be_empty();
                Ok(Ground { start: left.unwrap_or_else(|| parent.clone()), parent, may_be_empty })
            }
            (_, Some(head)) => {
                Ok(Ground { parent: head.clone(), start: head, may_be_empty: self.may_be_empty() })
            }
            (_, None) => {
                let parent = context.run_head()?;
                Ok(Ground { start: parent.clone(), parent, may_be_empty: true })
            }
        }
    }

    /// The revision that the loop's commit stands on: for a task the one approved before it, for any other the one that
    /// the loop was opened to judge.
    fn begins_at(&self) -> Option<&Revision> {
        match self.subject {
            Subject::Lane(_, Job::Task(_)) => self.head.as_ref(),
            _ => self.opened.as_ref().or(self.head.as_ref()),
        }
    }

    fn may_be_empty(&self) -> bool {
        !matches!(self.subject, Subject::Lane(_, Job::Qa)) && self.asked.is_none()
    }

    /// Whether the builder says that the requested work is done although nothing changed.
    fn is_nothing(
        &self,
        context: &RunContext,
        ground: &Ground,
        revision: &Revision,
        said: &BuilderWords,
    ) -> bool {
        let commit = context.commit_of(revision).ok();
        let task = matches!(self.subject, Subject::Lane(_, Job::Task(_)));
        self.asked.is_some() && task && said.done && commit.as_ref() == Some(&ground.parent)
    }

    /// Takes what the builder left, and reports it as a revision or as a failure.
    fn lane_made(
        self,
        context: &Arc<RunContext>,
        ground: &Ground,
        tree: &Tree,
        ended: Ended,
    ) -> Result<(), GitError> {
        // Capturing a folder that the agent took away would record a deletion of every file.
        if is_gone(tree.path()) {
            let text = "its working folder was taken away, and its git with it";
            let failure = ended.failure.unwrap_or_else(|| Failure::new(FailureKind::Crashed, text));
            let note = LaunchNote { failed: Some(failure.kind), ..ended.note };
            context.fail(&self.effect, failure, vec![Note::Launch(Box::new(note))]);
            return Ok(());
        }
        // Taking its files would fill the disk completely. They stay where they are.
        if let Some(short) = context.watch.is_short_of_disk() {
            let failure = ended.failure.unwrap_or(short);
            let note = LaunchNote { failed: Some(failure.kind), ..ended.note };
            context.fail(&self.effect, failure, vec![Note::Launch(Box::new(note))]);
            return Ok(());
        }
        // Taken even if the agent failed: what it left half done is where the next attempt continues.
        let kept = self.keep_lane(context, ground, tree, &spoken(&ended));
        match ended.failure {
            // Why the agent failed matters more than why its files could not be taken; they stay where they are.
            Some(failure) => {
                context.fail(&self.effect, failure, vec![Note::Launch(Box::new(ended.note))]);
                Ok(())
            }
            None => {
                let revision = kept?;
                let said = spoken(&ended);
                if self.is_nothing(context, ground, &revision, &said) {
                    let why =
                        if said.summary.is_empty() { prose(&ended.outcome, None) } else { said.summary };
                    let text = format!("the builder says that it is done, and changed nothing: {why}");
                    let notes = vec![Note::Warning(text.clone()), Note::Launch(Box::new(ended.note))];
                    context.fail(&self.effect, Failure::new(FailureKind::Unchanged, text), notes);
                    return Ok(());
                }
                self.report(context, revision, ended);
                Ok(())
            }
        }
    }

    /// Records a lane's files as its revision.
    fn keep_lane(
        &self,
        context: &RunContext,
        ground: &Ground,
        tree: &Tree,
        said: &BuilderWords,
    ) -> Result<Revision, GitError> {
        // The capture uses our own index beside the tree. The agent's `.git` is never asked.
        let captured = tree.capture()?;
        kept::tell(context, self.plan.as_str(), &captured);
        self.take_words(context, tree, ground)?;
        let message = self.message(context, ground, said)?;
        let (revision, commit) = keep_work(context, &self.plan, ground, &captured.tree, &message)?;
        note_place(context, &self.plan, &commit)?;
        Ok(revision)
    }

    fn take_words(&self, context: &RunContext, tree: &Tree, ground: &Ground) -> Result<(), GitError> {
        // Work that was asked for in plain words has no SUMMARY.
        if self.asked.is_some() {
            return Ok(());
        }
        let path = summary_path(&self.path);
        take_words(context, &self.plan, tree.path(), &ground.parent, &path).map(drop)
    }

    /// The commit message: the builder's own, the one it gave in an earlier round, or the one that the plan asks for.
    fn message(
        &self,
        context: &RunContext,
        ground: &Ground,
        said: &BuilderWords,
    ) -> Result<String, GitError> {
        let plan = match self.asked {
            Some(_) => format!("Tribunal-Run: {}", context.run),
            None => format!("Tribunal-Plan: {}", self.plan),
        };
        if let Some(given) = message::proposed(&said.commit) {
            let subject = given.lines().next().unwrap_or_default();
            let rest = given.get(subject.len()..).unwrap_or_default();
            let given = format!("{}{rest}", self.subject_line(context, subject));
            // An agent knows the values of secret variables, and a commit message reaches the user's branch.
            let given = secrets::cleaned(&context.environment, None, given.into_bytes());
            let given = String::from_utf8_lossy(&given).into_owned();
            return Ok(message::with_trailer(&given, &plan));
        }
        if let Some(given) = self.given_before(context, ground)? {
            return Ok(given);
        }
        // After a conflict the work is one commit again, and nothing else on the branch says what was asked for.
        let is_united = self.asked.is_some() && ground.start != ground.parent;
        if let (true, Subject::Lane(_, Job::Repair), Some(from)) =
            (is_united, &self.subject, self.begins_at())
        {
            let message = context.repo.message_of(&context.commit_of(from)?)?;
            return Ok(String::from_utf8_lossy(&message).into_owned());
        }
        if let (Some(asked), Subject::Lane(_, Job::Task(_))) = (&self.asked, &self.subject) {
            let clean = secrets::cleaned(&context.environment, None, asked.clone().into_bytes());
            return Ok(message::with_trailer(&String::from_utf8_lossy(&clean), &plan));
        }
        Ok(format!("{}\n\n{plan}\n", self.subject_line(context, &self.asked_subject(context))))
    }

    /// The message of this loop's commit as made before: a builder that gave one need not repeat it.
    fn given_before(&self, context: &RunContext, ground: &Ground) -> Result<Option<String>, GitError> {
        let Some(current) = &self.current else { return Ok(None) };
        let commit = context.commit_of(current)?;
        let ours =
            commit != ground.parent && context.repo.parents_of(&commit)?.first() == Some(&ground.parent);
        let given = String::from_utf8_lossy(&context.repo.message_of(&commit)?).into_owned();
        // The message of a person's fix is not the builder's to repeat.
        Ok(Some(given).filter(|given| ours && !given.contains(BY_HAND)))
    }

    /// Brings a subject into the form that the delivery is judged by.
    fn subject_line(&self, context: &RunContext, subject: &str) -> String {
        let subject = one_line(subject);
        // Without the lint, and in a run from plain words, the form of a subject is the repository's own.
        let own = context.settings.gates.off.iter().any(|off| off == COMMIT_LINT) || self.asked.is_some();
        match own {
            true => subject,
            false => tribunal_docs::qa::well_formed(&subject, self.plan.as_str()),
        }
    }

    /// The subject that the plan asks for, or one in Tribunal's own words.
    fn asked_subject(&self, context: &RunContext) -> String {
        match &self.subject {
            Subject::Lane(_, Job::Task(n)) => {
                let at = usize::try_from(*n).unwrap_or(0).saturating_sub(1);
                let task = self.text.plan.tasks.get(at);
                let asked = task.and_then(|task| task.commit.clone());
                let title = task.map(|task| task.title.clone()).unwrap_or_default();
                asked.unwrap_or_else(|| context.own_message(format!("feat({}): {title}", self.plan)))
            }
            Subject::Lane(_, Job::Qa) => {
                context.own_message(format!("fix({}): fix what the delivery gate found", self.plan))
            }
            _ => context.own_message(format!("fix({}): bring in line with what landed before", self.plan)),
        }
    }

    fn report(self, context: &RunContext, revision: Revision, ended: Ended) {
        let effect = self.effect.clone();
        let (report, notes) = self.said(revision, ended);
        context.report(&effect, Report::Loop(report), notes);
    }

    fn said(self, revision: Revision, ended: Ended) -> (LoopReport, Vec<Note>) {
        said(&self.findings, revision, ended, self.iterates)
    }
}

/// What a builder said at its end.
fn spoken(ended: &Ended) -> BuilderWords {
    let word = ended.word.as_deref();
    tribunal_findings::read_builder(&words(&ended.outcome, word), word)
}

/// Turns a builder's words into a report. Replies to findings that it was not given do not count.
///
/// A builder that does not say that its task is done continues with it if the loop `iterates`; otherwise it has used up
/// an attempt.
pub(crate) fn said(
    given: &[FindingId],
    revision: Revision,
    ended: Ended,
    iterates: bool,
) -> (LoopReport, Vec<Note>) {
    let word = ended.word.as_deref();
    let words: BuilderWords = tribunal_findings::read_builder(&words(&ended.outcome, word), word);
    let replies: BTreeMap<FindingId, Reply> =
        words.replies.into_iter().filter(|(id, _)| given.contains(id)).collect();
    let lacks = (!words.done).then(|| not_done(&ended));
    let summary = if words.summary.is_empty() { prose(&ended.outcome, word) } else { words.summary };
    let note = LaunchNote { summary, discovered: words.discovered, ..ended.note };
    let (role, mut notes) = (note.role.clone(), vec![Note::Launch(Box::new(note))]);
    let report = match lacks {
        Some(lacks) if !iterates => LoopReport::Failed(Failure::new(FailureKind::NotDone, lacks)),
        lacks => {
            notes.extend(lacks.map(|lacks| Note::Warning(format!("{role}: {lacks}"))));
            LoopReport::Made { revision, done: words.done, replies }
        }
    };
    (report, notes)
}

/// What an agent said in plain sentences, if it named no summary.
fn prose(outcome: &tribunal_agent::Outcome, word: Option<&str>) -> String {
    let mut text = words(outcome, None);
    if let Some(word) = word {
        // Keyed lines are only recognised below without the launch word in them.
        text = text.replace(&format!(" {word}:"), ":");
    }
    let is_word = |line: &&str| !line.is_empty() && !is_keyed(line);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(is_word).take(PROSE_LINES).collect();
    plain::clipped(&lines.join(" "), PROSE_MAX)
}

/// Lines such as `TASK: done` and `FIXED: F-1`, which are meant for us and not for readers.
fn is_keyed(line: &str) -> bool {
    let key = line.split_once(':').map_or("", |(key, _)| key);
    !key.is_empty()
        && key.chars().all(|c| c.is_ascii_uppercase() || c == ' ' || c == '-' || c.is_ascii_digit())
}

/// A subject as one plain line. Every git client shows it, so nothing in it may control a terminal.
fn one_line(text: &str) -> String {
    plain::line(text)
}

/// The word by which agents know a loop's use.
pub(crate) fn use_word(subject: &Subject) -> &'static str {
    match subject {
        Subject::Plan(_) => "plan",
        Subject::Lane(_, Job::Task(_)) => "task",
        Subject::Lane(_, Job::Repair) => "repair",
        Subject::Lane(_, Job::Qa) => "qa",
        Subject::Phase => "phase",
        Subject::Polish => "polish",
        Subject::Chain => "chain",
    }
}

/// The number of the task that a lane's loop is about.
pub(crate) fn task_number(subject: &Subject) -> Option<u32> {
    match subject {
        Subject::Lane(_, Job::Task(n)) => Some(*n),
        _ => None,
    }
}

/// The ground of a repair: rebased onto what landed meanwhile, with conflict markers if that does not work cleanly.
fn rebased(context: &RunContext, revision: &Revision) -> Result<Ground, GitError> {
    let onto = context.run_head()?;
    let (base, head) = crate::land::rebase::brought(context, revision, &onto)?;
    let who = context.signature();
    if let Rebased::Clean { head, .. } = context.repo.replay(&base, &head, &onto, &who)? {
        return Ok(Ground { parent: head.clone(), start: head, may_be_empty: true });
    }
    // The conflict markers are the work of the repair. Its commit stands on the run branch, so that it can land later.
    let united = context.repo.unite(&base, &onto, &head)?;
    let start =
        context.repo.commit(&united.tree, std::slice::from_ref(&onto), "conflicts to solve\n", &who, &who)?;
    Ok(Ground { parent: onto, start, may_be_empty: true })
}

/// The lane's worktree at a commit: the existing one if it came from there, otherwise it is saved and made anew.
pub(crate) fn lane_tree(context: &RunContext, plan: &PlanId, wanted: &Oid) -> Result<Tree, GitError> {
    let dir = context.lane_dir(plan);
    let (path, index) = (dir.join("tree"), dir.join("index"));
    if let Some(at) = &place_of(context, plan)
        && path.exists()
    {
        let tree = context.repo.tree(&path, &index, at);
        // The worktree stands there already, with whatever the last attempt left half done.
        if at == wanted && !is_gone(&path) {
            return Ok(tree);
        }
        take_lane_away(context, plan, &tree)?;
    }
    crash::point("lane:before");
    fs::create_dir_all(&dir).map_err(|source| GitError::Io { path: dir.clone(), source })?;
    context.worktree_pool.discard(&path)?;
    let tree = context.worktree_pool.checkout_to_work(&path, &index, wanted, &format!("tribunal/{plan}"))?;
    prepare_lane(context, plan, wanted, &path)?;
    // Noted last, once the tree is complete. A crash before this makes the tree anew.
    note_place(context, plan, wanted)?;
    write_note(&dir.join("from"), wanted)?;
    crash::point("lane:after");
    Ok(tree)
}

/// Installs packages in a lane's new worktree. A failure is a note for the builder and a warning for the user.
///
/// A builder can install what it needs itself, so an unprepared worktree costs time and nothing else. The note stays
/// for as long as the worktree does.
fn prepare_lane(context: &RunContext, plan: &PlanId, wanted: &Oid, tree: &Path) -> Result<(), GitError> {
    let note = unprepared_note(context, plan);
    context.worktree_pool.discard(&note)?;
    let judged = Judged { commit: wanted, tree: &context.repo.tree_of(wanted)? };
    let Err(why) = prepare(context, judged, tree) else { return Ok(()) };
    let why = plain::clipped(&why, UNPREPARED_MAX);
    context.warn(format!("{plan} is built without its packages, which could not be installed: {why}"));
    fs::write(&note, why).map_err(|source| GitError::Io { path: note, source })
}

fn unprepared_note(context: &RunContext, plan: &PlanId) -> PathBuf {
    context.lane_dir(plan).join("unprepared")
}

/// Why a lane's worktree has no packages; empty if it has them or nobody asked for any.
pub(crate) fn unprepared(context: &RunContext, plan: &PlanId) -> String {
    fs::read_to_string(unprepared_note(context, plan)).unwrap_or_default()
}

/// Whether an agent removed its working folder. Missing files are then not work.
pub(crate) fn is_gone(tree: &Path) -> bool {
    stands(Defence::TreeGone) && tree.join(".git").symlink_metadata().is_err()
}

/// Saves whatever in a lane's worktree is in no commit of ours, and removes the worktree. Returns the subjects of the
/// agent's own commits.
pub(crate) fn take_lane_away(
    context: &RunContext,
    plan: &PlanId,
    tree: &Tree,
) -> Result<Vec<String>, GitError> {
    let own = kept::take_away(context, plan.as_str(), tree)?;
    let from = read_note(&context.lane_dir(plan).join("from"));
    // The commit that the worktree was made from is not one that the agent made.
    let own = own.into_iter().filter(|(oid, _)| Some(oid) != from.as_ref());
    Ok(own.map(|(_, subject)| subject).collect())
}

/// Notes the commit that a lane's worktree is in line with.
pub(crate) fn note_place(context: &RunContext, plan: &PlanId, commit: &Oid) -> Result<(), GitError> {
    write_note(&context.lane_dir(plan).join("at"), commit)
}

fn write_note(file: &Path, commit: &Oid) -> Result<(), GitError> {
    fs::write(file, commit.as_str()).map_err(|source| GitError::Io { path: file.to_path_buf(), source })
}

fn read_note(file: &Path) -> Option<Oid> {
    fs::read_to_string(file).ok().and_then(|text| Oid::parse(text.trim()).ok())
}

/// The commit that a lane's worktree was last brought in line with.
pub(crate) fn place_of(context: &RunContext, plan: &PlanId) -> Option<Oid> {
    read_note(&context.lane_dir(plan).join("at"))
}

/// Commits a lane's files on its ground and names the revision. The same files with the same message give the same
/// revision.
pub(crate) fn keep_work(
    context: &RunContext,
    plan: &PlanId,
    ground: &Ground,
    tree: &Oid,
    message: &str,
) -> Result<(Revision, Oid), GitError> {
    let planning = [context.project.planning_path()];
    let message = &context.message(message.to_owned());
    // Planning documents are the parent's, whatever the builder did to them.
    let tree = context.repo.tree_with(tree, &ground.parent, &planning)?;
    let parent = ground.parent.as_str().as_bytes();
    let mut parts: Vec<&[u8]> = vec![b"work", tree.as_str().as_bytes(), parent, message.as_bytes()];
    // What the builder wrote for the SUMMARY is judged with the work, so it is part of the revision.
    let words = words_of(context, plan)?;
    parts.extend(words.as_ref().map(|words| words.as_str().as_bytes()));
    let revision = digest(&parts);
    // The same work was kept before, perhaps before a crash. A second commit would differ only in its time.
    if let Ok(commit) = context.commit_of(&revision) {
        return Ok((revision, commit));
    }
    let who = context.signature();
    let commit = match ground.may_be_empty || tree != context.repo.tree_of(&ground.parent)? {
        true => context.repo.commit(&tree, std::slice::from_ref(&ground.parent), message, &who, &who)?,
        // Nothing changed, so the revision is the parent itself.
        false => ground.parent.clone(),
    };
    let lane = RefChange::set(context.name(&format!("lane/{plan}")), &commit);
    context.keep(&revision, &commit, vec![lane])?;
    Ok((revision, commit))
}

/// The result of taking a person's fix from a lane's worktree.
pub(crate) enum Fixed {
    /// The fix is a revision of its own.
    Kept(Revision),
    /// Nothing differs from before, so there is no fix.
    Nothing,
    /// These files conflict with what landed meanwhile, and the person did not touch them.
    Conflicts(Vec<GitPath>),
    /// Git cannot take all of it. Says what is left over.
    Untakable(Vec<String>),
}

/// What a person left in a lane's worktree.
enum ByHand {
    /// Nothing differs from before.
    Nothing,
    /// The files, as a tree.
    Files(Oid),
    /// More than git can take.
    Untakable(Vec<String>),
}

/// Takes what a person left in a lane's worktree as a revision of their own. A SUMMARY that they wrote counts too.
pub(crate) fn keep_fix(
    context: &RunContext,
    plan: &PlanId,
    parent: &Oid,
    summary: &str,
    message: &str,
) -> Result<Fixed, GitError> {
    let left = match left_by_hand(context, plan, parent, summary)? {
        ByHand::Files(left) => left,
        ByHand::Nothing => return Ok(Fixed::Nothing),
        ByHand::Untakable(what) => return Ok(Fixed::Untakable(what)),
    };
    let ground = Ground { parent: parent.clone(), start: parent.clone(), may_be_empty: false };
    let (revision, commit) = keep_work(context, plan, &ground, &left, message)?;
    // A worktree on another ground does not contain what landed between, so it is not noted as being at the new commit.
    if stands_apart(context, plan, &commit)?.is_none() {
        note_place(context, plan, &commit)?;
    }
    Ok(Fixed::Kept(revision))
}

/// What a person left in a lane's worktree, as files on `parent`. `Nothing` if files and SUMMARY are the known ones.
///
/// A worktree on another ground than `parent` lacks what landed between. Only what was changed in it counts then, and
/// where both sides changed the same lines, the person's file wins.
fn left_by_hand(
    context: &RunContext,
    plan: &PlanId,
    parent: &Oid,
    summary: &str,
) -> Result<ByHand, GitError> {
    let dir = context.lane_dir(plan);
    let apart = stands_apart(context, plan, parent)?;
    let at = apart.clone().unwrap_or_else(|| parent.clone());
    let tree = context.repo.tree(&dir.join("tree"), &dir.join("index"), &at);
    let captured = tree.capture()?;
    // A person's work is taken completely or not at all.
    if !captured.left().is_empty() {
        return Ok(ByHand::Untakable(captured.left()));
    }
    let left = captured.tree;
    let known = words_of(context, plan)?;
    let said = take_words(context, plan, tree.path(), &at, summary)?;
    let same = context.repo.tree_with(&left, &at, &[context.project.planning_path()])?;
    if said == known && same == context.repo.tree_of(&at)? {
        return Ok(ByHand::Nothing);
    }
    if apart.is_none() {
        return Ok(ByHand::Files(left));
    }
    let united = context.repo.unite(&at, parent, &commit_by_hand(context, &left, &at)?)?;
    context.repo.tree_with(&united.tree, &left, &united.conflicts).map(ByHand::Files)
}

fn commit_by_hand(context: &RunContext, left: &Oid, at: &Oid) -> Result<Oid, GitError> {
    let who = context.signature();
    context.repo.commit(left, std::slice::from_ref(at), "left by hand\n", &who, &who)
}

/// The commit that a lane's worktree stands on, if it is on another ground than `commit`.
fn stands_apart(context: &RunContext, plan: &PlanId, commit: &Oid) -> Result<Option<Oid>, GitError> {
    let Some(at) = place_of(context, plan) else { return Ok(None) };
    Ok((fork(context, &at)? != fork(context, commit)?).then_some(at))
}

/// Gives a worktree that stays as a person left it a commit and a ref of its own, by which it is known.
fn note_hand(context: &RunContext, plan: &PlanId, left: &Oid, at: &Oid) -> Result<Oid, GitError> {
    let theirs = commit_by_hand(context, left, at)?;
    let kept = [RefChange::set(context.name(&format!("hand/{plan}")), &theirs)];
    context.repo.refs_update(&kept, "tribunal: left by hand")?;
    note_place(context, plan, &theirs)?;
    Ok(theirs)
}

/// Takes what a person left in the worktree of a lane that could not land, together with what landed meanwhile.
///
/// Where both sides changed the same lines, the person's file wins. A conflict in a file that the person did not touch
/// is theirs to solve first: taking their version would undo what landed.
pub(crate) fn keep_fix_on_head(
    context: &RunContext,
    plan: &PlanId,
    lane: &Oid,
    summary: &str,
    message: &str,
) -> Result<Fixed, GitError> {
    let onto = context.run_head()?;
    let base = fork(context, lane)?;
    // Nothing landed since the lane began.
    if base == onto {
        return keep_fix(context, plan, lane, summary, message);
    }
    let (left, fixed) = match left_by_hand(context, plan, lane, summary)? {
        ByHand::Files(left) => (left, true),
        ByHand::Nothing => (context.repo.tree_of(lane)?, false),
        ByHand::Untakable(what) => return Ok(Fixed::Untakable(what)),
    };
    let who = context.signature();
    let theirs = match stands_apart(context, plan, lane)? {
        Some(_) => context.repo.commit(&left, std::slice::from_ref(lane), message, &who, &who)?,
        None => note_hand(context, plan, &left, lane)?,
    };
    let united = context.repo.unite(&base, &onto, &theirs)?;
    let mut untouched = Vec::new();
    for path in &united.conflicts {
        if context.repo.file_at(lane, path)? == context.repo.file_at(&theirs, path)? {
            untouched.push(path.clone());
        }
    }
    if !untouched.is_empty() {
        return Ok(Fixed::Conflicts(untouched));
    }
    if !fixed {
        return Ok(Fixed::Nothing);
    }
    let tree = context.repo.tree_with(&united.tree, &left, &united.conflicts)?;
    // The worktree on disk stays as the person left it. Whoever continues from here gets a new one.
    let ground = Ground { parent: onto.clone(), start: onto, may_be_empty: true };
    keep_work(context, plan, &ground, &tree, message).map(|(revision, _)| Fixed::Kept(revision))
}

/// Creates the run branch at the user's commit.
pub(crate) fn begin_branch(context: &RunContext, base: &Oid) -> Result<RefsMoved, GitError> {
    crash::point("branch:before");
    let begun = context
        .repo
        .refs_update(&[RefChange::create(context.name("head"), base)], "tribunal: the run begins");
    crash::point("branch:after");
    begun
}

#[cfg(test)]
mod tests {
    use super::one_line;

    #[test]
    fn a_subject_steers_no_terminal() {
        let check = |text: &str, expect: &str| assert_eq!(one_line(text), expect, "{text:?}");
        check("feat: a\nb", "feat: a b");
        check("feat: \u{1b}[31mred\u{1b}[0m", "feat: red");
        check("feat: \u{1b}]0;title\u{7}x", "feat: x");
        check("feat: \u{9b}31mred", "feat: red");
        check("feat: \u{202e}txt\u{2066}y\u{7f}\u{8}", "feat: txty");
    }
}
