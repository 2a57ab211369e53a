//! Making and checking an artifact of a chain. The builder works in a tree of its own, and only the artifact's files
//! are taken from it; other changes are put back and reported.
//!
//! Whether an artifact is good is for its reviewers. This file only checks that it is there and has its form, which
//! costs no agent.

use super::make::{Ground, digest, is_gone, keep_work, lane_tree, note_place, place_of, said, unprepared};
use crate::agent_names;
use crate::backup_of;
use crate::check::secrets;
use crate::check::{failing, plan_claim};
use crate::context::RunContext;
use crate::launch::call_policy::Capability;
use crate::launch::{Begin, Ended, Reporting, Session, session_of};
use crate::project::inside;
use crate::project::kept;
use std::path::Path;
use std::sync::Arc;
use tribunal_agent::Access;
use tribunal_agent::reporting::Part;
use tribunal_core::effect::{EffectId, Step};
use tribunal_core::finding::{Claim, Severity};
use tribunal_core::ids::{FindingId, LoopId, PlanId, Revision};
use tribunal_core::review_loop::{Failure, FailureKind, Loop, LoopReport};
use tribunal_core::run::Subject;
use tribunal_docs::chain::{self, Artifact};
use tribunal_docs::{Completions, Phase, Plan, PlanFacts, ProblemKind, document_name};
use tribunal_engine::crash;
use tribunal_engine::run_state::{ChainNote, LaunchNote, Note, OutOfScopeNote, RunState};
use tribunal_engine::world::Report;
use tribunal_git::{GitError, GitPath, Oid, Tree};
use tribunal_view::plain;
use tribunal_view::prompt::{self, ArtifactBrief, BuilderBrief, BuilderJob, Document, FindingLine};

pub(crate) use tribunal_core::checks::ARTIFACT;
/// The name of the tree in which an artifact is made; no plan has it.
pub(crate) const LANE: &str = "chain";
/// How many plans one feature may have.
const PLANS_MAX: usize = 50;

pub(crate) trait ArtifactFiles {
    fn owns(&self, path: &str) -> bool;
    fn files_at(&self, context: &RunContext, commit: &Oid) -> Result<Vec<(String, Vec<u8>)>, GitError>;
    fn paths_at(&self, context: &RunContext, commit: &Oid) -> Result<Vec<String>, GitError>;
    fn brief(&self) -> ArtifactBrief;
}
impl ArtifactFiles for ChainNote {
    /// Whether a path belongs to the artifact.
    fn owns(&self, path: &str) -> bool {
        match self.artifact {
            Artifact::Plan => is_plan(&self.plans, path),
            // Code may be anywhere in the tree.
            Artifact::Implementation => true,
            _ => self.path().as_deref() == Some(path),
        }
    }

    /// The artifact's files at a commit, from the project's root.
    fn files_at(&self, context: &RunContext, commit: &Oid) -> Result<Vec<(String, Vec<u8>)>, GitError> {
        let mut files = Vec::new();
        for path in self.paths_at(context, commit)? {
            if let Some(bytes) = context.repo.file_at(commit, &GitPath::from(path.as_str()))? {
                files.push((path, bytes));
            }
        }
        Ok(files)
    }

    fn paths_at(&self, context: &RunContext, commit: &Oid) -> Result<Vec<String>, GitError> {
        match self.artifact {
            Artifact::Plan => plans_at(context, commit, &self.plans),
            _ => Ok(self.path().into_iter().collect()),
        }
    }

    fn brief(&self) -> ArtifactBrief {
        ArtifactBrief {
            feature: self.feature.clone(),
            word: self.artifact.word().to_owned(),
            path: match self.artifact {
                Artifact::Plan => format!("{}/NN-MM-PLAN.md", self.plans),
                _ => self.path().unwrap_or_default(),
            },
            sections: self.artifact.sections().iter().map(|section| (*section).to_owned()).collect(),
            wanted: self.wanted.clone(),
            readers: self.artifact.readers().to_owned(),
            earlier: self.earlier.clone(),
            concerns: self.concerns.clone(),
            form: match self.artifact {
                Artifact::Plan => prompt::PLAN_FORM.to_owned(),
                Artifact::Tasks => prompt::TASKS_FORM.to_owned(),
                _ => String::new(),
            },
        }
    }
}

/// Whether a path is `folder/NN-MM-PLAN.md`, and not deeper.
fn is_plan(folder: &str, path: &str) -> bool {
    let name = path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/'));
    // A plan in a subfolder would not be found by a run.
    name.is_some_and(|name| !name.contains('/') && name.ends_with("PLAN.md"))
}

fn plans_at(context: &RunContext, commit: &Oid, folder: &str) -> Result<Vec<String>, GitError> {
    let paths = context.repo.list_tree(commit)?.into_iter().map(|entry| entry.path.to_string());
    Ok(paths.filter(|path| is_plan(folder, path)).collect())
}

/// Whether the subject of the review is code that the run built.
pub(crate) fn is_code(run_state: &RunState) -> bool {
    run_state.about.chain.as_ref().is_some_and(|note| note.artifact == Artifact::Implementation)
}

/// The revision that an artifact was made on; none for code, which was made on the run's base.
pub(crate) fn ground(run_state: &RunState) -> Option<Revision> {
    let note = run_state.about.chain.as_ref().filter(|note| note.artifact != Artifact::Implementation)?;
    Some(note.ground.clone())
}

/// What reviewers of an artifact are told about it.
pub(crate) fn judged(subject: &Subject, run_state: &RunState) -> Option<ArtifactBrief> {
    let note = run_state.about.chain.as_ref().filter(|_| *subject == Subject::Chain)?;
    // The form tells how to write it, which only its builder needs.
    Some(ArtifactBrief { form: String::new(), ..note.brief() })
}

/// The document that is reviewed; for code, the spec that it is compared with.
pub(crate) fn document(context: &RunContext, revision: &Revision, run_state: &RunState) -> Option<Document> {
    let note = run_state.about.chain.as_ref()?;
    let (path, at) = match note.artifact {
        // The spec as it was when the run began. The change could have edited the one in the tree.
        Artifact::Implementation => (format!("{}/spec.md", note.folder), &note.ground),
        _ => (note.path()?, revision),
    };
    let bytes = context.repo.file_at(&context.commit_of(at).ok()?, &GitPath::from(path.as_str())).ok()??;
    Some(Document { path, text: String::from_utf8_lossy(&bytes).into_owned() })
}

/// Missing parts that need no reviewer to be seen, and secrets in the artifact.
pub(crate) fn gaps(
    context: &RunContext,
    note: &ChainNote,
    revision: &Revision,
) -> Result<Vec<Claim>, GitError> {
    let commit = context.commit_of(revision)?;
    let mut claims = form_gaps(context, note, &commit)?;
    // Code has a check of its own for secrets.
    if note.artifact != Artifact::Implementation {
        let (ground, paths) = (context.commit_of(&note.ground)?, note.paths_at(context, &commit)?);
        let ends = (&ground, &commit);
        claims.extend(secrets::in_files(&context.repo, &context.environment, ends, &paths, ARTIFACT)?);
    }
    Ok(claims)
}

fn form_gaps(context: &RunContext, note: &ChainNote, commit: &Oid) -> Result<Vec<Claim>, GitError> {
    match (note.artifact, note.path()) {
        (Artifact::Plan, _) => plan_gaps(context, note, commit),
        (Artifact::Implementation, _) | (_, None) => Ok(Vec::new()),
        (artifact, Some(path)) => {
            let bytes = context.repo.file_at(commit, &GitPath::from(path.as_str()))?;
            let mut claims: Vec<Claim> = chain::gaps(artifact, bytes.as_deref())
                .into_iter()
                .map(|gap| claim(&path, gap.line, gap.text, gap.suggestion))
                .collect();
            // Only in a well-formed list: the gaps above already say what is wrong with another one.
            if artifact == Artifact::Tasks && claims.is_empty() {
                let list = String::from_utf8_lossy(bytes.as_deref().unwrap_or_default()).into_owned();
                let plans = read_plans(context, note, commit)?;
                claims.extend(chain::unnamed_tasks(&list, &plans).into_iter().map(|task| {
                    let suggestion = "name it with its plan's id and its title".to_owned();
                    claim(&path, None, format!("the task {task} of the plans is not in it"), suggestion)
                }));
            }
            Ok(claims)
        }
    }
}

fn claim(path: &str, line: Option<u32>, text: String, suggestion: String) -> Claim {
    let mut claim = failing(Severity::Blocker, plain::line(&text)).at(path, line);
    claim.suggestion = suggestion;
    claim.rule = Some(ARTIFACT.to_owned());
    claim
}

fn read_plans(context: &RunContext, note: &ChainNote, commit: &Oid) -> Result<Vec<Plan>, GitError> {
    let mut plans = Vec::new();
    for path in plans_at(context, commit, &note.plans)? {
        let bytes = context.repo.file_at(commit, &GitPath::from(path.as_str()))?.unwrap_or_default();
        plans.extend(tribunal_docs::read_plan(&path, &String::from_utf8_lossy(&bytes)).value);
    }
    Ok(plans)
}

/// The structural check of the plan gate, over every plan. Plans that pass here can be run.
///
/// A chain that ends with plans which the plan gate refuses would be found out only when they are to be built.
fn plan_gaps(context: &RunContext, note: &ChainNote, commit: &Oid) -> Result<Vec<Claim>, GitError> {
    let paths = plans_at(context, commit, &note.plans)?;
    if paths.is_empty() {
        let text = format!("there is no plan in {}", note.plans);
        return Ok(vec![claim(&note.plans, None, text, "write NN-MM-PLAN.md there".to_owned())]);
    }
    let mut claims = Vec::new();
    let mut plans = Vec::new();
    for path in paths {
        let bytes = context.repo.file_at(commit, &GitPath::from(path.as_str()))?.unwrap_or_default();
        // A reviewer could not be shown such a file, and a run could not read it.
        if std::str::from_utf8(&bytes).is_err() || bytes.len() > chain::BYTES_MAX {
            let text = format!("{path} is too large or not UTF-8");
            claims.push(claim(&path, None, text, "write it anew".to_owned()));
            continue;
        }
        let named = document_name(&path).and_then(|name| name.id());
        let read = tribunal_docs::read_plan(&path, &String::from_utf8_lossy(&bytes));
        match read.value {
            None => {
                let report = tribunal_docs::unreadable_plan(&path, &read.diagnostics);
                claims.extend(report.findings.iter().map(plan_claim));
            }
            // The name of the file and its frontmatter must mean the same plan.
            Some(plan) if named.as_ref() != Some(&plan.id) => {
                let text = format!("{path} says that it is plan {}", plan.id);
                claims.push(claim(&path, Some(1), text, "give file and frontmatter one number".to_owned()));
            }
            Some(plan) => plans.push(plan),
        }
    }
    claims.extend(structure(context, note, &plans)?);
    Ok(claims)
}

fn structure(context: &RunContext, note: &ChainNote, plans: &[Plan]) -> Result<Vec<Claim>, GitError> {
    let head = context.run_head()?;
    let exists =
        |path: &str| context.repo.file_at(&head, &GitPath::from(path)).is_ok_and(|file| file.is_some());
    let tasks_max = context.settings.plan.tasks_max as usize;
    let mut claims = Vec::new();
    for plan in plans {
        let others: Vec<&Plan> = plans.iter().filter(|other| other.id != plan.id).collect();
        let facts = PlanFacts { exists: &exists, tasks_max, others: &others, known_skills: None };
        claims.extend(tribunal_docs::structural_check(plan, &facts).findings.iter().map(plan_claim));
        if plan.tasks.is_empty() {
            let text = format!("plan {} has no task", plan.id);
            claims.push(claim(&plan.path, None, text, "write tasks as `### Task 1: title`".to_owned()));
        }
    }
    let name = note.plans.rsplit('/').next().unwrap_or_default().to_owned();
    let number = tribunal_docs::phase_dir(&name).map(|dir| dir.number).unwrap_or_default();
    let phase = Phase { number, name, plans: plans.to_vec() };
    // The structural check already reports the other kinds.
    let unsaid = [ProblemKind::MissingDependency, ProblemKind::CrossPhase];
    let problems = tribunal_docs::validate(&phase, &Completions::default()).into_iter();
    claims.extend(problems.filter(|problem| unsaid.contains(&problem.kind)).map(|problem| {
        let path = plans.iter().find(|plan| plan.id == problem.plan).map_or("", |plan| plan.path.as_str());
        claim(path, Some(problem.line), problem.message, problem.fix)
    }));
    Ok(claims)
}

/// One attempt at an artifact, gathered from the run state before it goes to a worker.
///
/// Gathering happens on the engine's thread, where the run state is. The launch itself is left to a worker.
pub(crate) struct Crafting {
    effect: EffectId,
    loop_id: LoopId,
    note: ChainNote,
    current: Option<Revision>,
    findings: Vec<FindingId>,
    brief: BuilderBrief,
    session: Option<Session>,
}

impl Crafting {
    /// Gathers the attempt from the run state.
    pub(crate) fn gather(
        context: &RunContext,
        effect: &EffectId,
        review_loop: &Loop,
        findings: &[FindingId],
        run_state: &RunState,
    ) -> Option<Crafting> {
        let note = run_state.about.chain.as_deref()?.clone();
        let code = note.artifact == Artifact::Implementation;
        let line = |id: &FindingId| review_loop.ledger().get(*id).map(|entry| FindingLine::of(*id, entry));
        // The first attempt sees the documents as the user has them, the next ones their own result.
        let at = review_loop.revision().unwrap_or(&note.ground);
        let brief = BuilderBrief {
            job: if code { BuilderJob::Implementation } else { BuilderJob::Artifact },
            document: document(context, at, run_state),
            artifact: Some(note.brief()),
            round: review_loop.round() + 1,
            rounds_max: review_loop.rounds_max(),
            iteration: effect.n.fails + 1,
            findings: findings.iter().filter_map(line).collect(),
            feedback: run_state.said.get(review_loop.id()).cloned().unwrap_or_default(),
            ..BuilderBrief::default()
        };
        let Step::Make(builder) = &effect.step else { return None };
        let agent = context.adapter_for(&agent_names(effect));
        Some(Crafting {
            effect: effect.clone(),
            loop_id: review_loop.id().clone(),
            current: review_loop.revision().cloned(),
            findings: findings.to_vec(),
            session: agent
                .and_then(|agent| session_of(run_state, review_loop.id(), builder.as_str(), &agent)),
            note,
            brief,
        })
    }

    /// Launches the builder. Runs on a worker.
    pub(crate) fn run(self, context: &Arc<RunContext>) {
        let effect = self.effect.clone();
        if let Err(error) = self.launch(context) {
            context.fail(&effect, Failure::new(FailureKind::Crashed, error.to_string()), Vec::new());
        }
    }

    /// The commit that its tree begins with.
    fn wanted(&self, context: &RunContext) -> Result<Oid, GitError> {
        match (&self.current, self.note.artifact) {
            (Some(revision), _) => context.commit_of(revision),
            (None, Artifact::Implementation) => context.run_head(),
            (None, _) => context.commit_of(&self.note.ground),
        }
    }

    fn launch(mut self, context: &Arc<RunContext>) -> Result<(), GitError> {
        let lane = PlanId::new(LANE);
        let tree = lane_tree(context, &lane, &self.wanted(context)?)?;
        self.brief.unprepared = unprepared(context, &lane);
        let names = agent_names(&self.effect);
        let role = names.first().copied().unwrap_or_default().to_owned();
        let mut brief = context.brief(&self.effect, &role, &names);
        brief.loop_use = "chain".to_owned();
        brief.plan = Some(self.note.artifact.word().to_owned());
        brief.round = self.brief.round;
        self.brief.word = brief.word.clone().unwrap_or_default();
        brief.prompt = prompt::builder(&self.brief);
        brief.dir = tree.path().to_path_buf();
        brief.access = Access::Write;
        brief.reviewer = self.effect.n.backup.then(|| backup_of(&role).to_owned());
        let capability = Capability {
            part: Part::Builder,
            of: self.loop_id.to_string(),
            task: None,
            reviewer: None,
            round: self.brief.round,
            revision: None,
            findings: self.findings.clone(),
            judged: None,
        };
        let reporting = Reporting { capability, checks: None };
        let (effect, session) = (self.effect.clone(), self.session.take());
        context.launch(
            &effect,
            &agent_names(&effect),
            brief,
            Begin::Session(session),
            Some(reporting),
            move |context, ended| {
                let effect = self.effect.clone();
                if let Err(error) = self.made(context, &tree, ended) {
                    context.fail(&effect, Failure::new(FailureKind::Crashed, error.to_string()), Vec::new());
                }
            },
        );
        Ok(())
    }

    fn made(self, context: &Arc<RunContext>, tree: &Tree, ended: Ended) -> Result<(), GitError> {
        // Without its folder nothing can be taken.
        if is_gone(tree.path()) {
            let text = "its working folder was taken away, and its git with it";
            let failure = ended.failure.unwrap_or_else(|| Failure::new(FailureKind::Crashed, text));
            let note = LaunchNote { failed: Some(failure.kind), ..ended.note };
            context.fail(&self.effect, failure, vec![Note::Launch(Box::new(note))]);
            return Ok(());
        }
        if let Some(failure) = ended.failure {
            context.fail(&self.effect, failure, vec![Note::Launch(Box::new(ended.note))]);
            return Ok(());
        }
        let effect = self.effect.clone();
        let (report, notes) = self.taken(context, tree, ended)?;
        context.report(&effect, Report::Loop(report), notes);
        Ok(())
    }

    /// Makes a report of what the builder left.
    fn taken(
        self,
        context: &RunContext,
        tree: &Tree,
        ended: Ended,
    ) -> Result<(LoopReport, Vec<Note>), GitError> {
        let (revision, out_of_scope) = keep(context, &self.note, tree)?;
        let (report, mut notes) = said(&self.findings, revision, ended, false);
        if !out_of_scope.is_empty() {
            let Step::Make(builder) = &self.effect.step else { return Ok((report, notes)) };
            notes.push(Note::OutOfScope(Box::new(OutOfScopeNote {
                of: self.loop_id,
                builder: builder.to_string(),
                round: self.brief.round.saturating_sub(1),
                files: out_of_scope,
            })));
        }
        Ok((report, notes))
    }

    /// Takes the files of a builder that ended while no orchestrator watched.
    pub(crate) fn recovered(self, context: &RunContext, ended: Ended) -> Option<(LoopReport, Vec<Note>)> {
        let lane = PlanId::new(LANE);
        let dir = context.lane_dir(&lane);
        let at = place_of(context, &lane).filter(|_| !is_gone(&dir.join("tree")))?;
        let tree = context.repo.tree(&dir.join("tree"), &dir.join("index"), &at);
        self.taken(context, &tree, ended).ok()
    }
}

/// Takes the artifact out of a tree as a revision, and names the changes that were not taken.
///
/// The revision is the base with the artifact's files placed in it, and not the captured tree. So nothing else that the
/// builder changed can come along.
fn keep(context: &RunContext, note: &ChainNote, tree: &Tree) -> Result<(Revision, Vec<String>), GitError> {
    let lane = PlanId::new(LANE);
    let captured = tree.capture()?;
    kept::tell(context, note.artifact.word(), &captured);
    let message = context.own_message(message(note));
    if note.artifact == Artifact::Implementation {
        let head = context.run_head()?;
        let ground = Ground { parent: head.clone(), start: head, may_be_empty: false };
        let (revision, commit) = keep_work(context, &lane, &ground, &captured.tree, &message)?;
        note_place(context, &lane, &commit)?;
        return Ok((revision, Vec::new()));
    }
    let ground = context.commit_of(&note.ground)?;
    let mut blobs = Vec::new();
    for path in written(note, tree.path()) {
        if let Some(bytes) = inside::read(tree.path(), &path) {
            blobs.push((GitPath::from(path.as_str()), context.repo.write_blob(&bytes)?));
        }
    }
    let made = context.repo.tree_placing(&ground, &blobs)?;
    let revision = digest(&[b"artifact", made.as_str().as_bytes(), ground.as_str().as_bytes()]);
    // The same artifact on the same base has the same revision, so a repeated attempt finds its commit.
    let commit = match context.commit_of(&revision) {
        Ok(commit) => commit,
        Err(_) => {
            let who = context.signature();
            let commit = context.repo.commit(&made, std::slice::from_ref(&ground), &message, &who, &who)?;
            context.keep(&revision, &commit, Vec::new())?;
            commit
        }
    };
    crash::point("artifact:kept");
    // This includes the artifact itself: one plan too many, an earlier one removed, a link in its place.
    let left = context.repo.changed_paths(&made, &captured.tree)?;
    // A file that git would store differently, or not at all, was taken as it lay there.
    let out_of_scope = left.iter().filter(|path| !blobs.iter().any(|(taken, _)| taken == *path));
    let out_of_scope: Vec<String> = out_of_scope.map(|path| plain::line(&path.to_string())).collect();
    if out_of_scope.is_empty() {
        // Otherwise the next version begins in a new tree, and this tree is saved with its out-of-scope edits.
        note_place(context, &lane, &commit)?;
    }
    Ok((revision, out_of_scope))
}

/// The artifact's paths as they lie in a tree.
fn written(note: &ChainNote, tree: &Path) -> Vec<String> {
    if let Some(path) = note.path() {
        return vec![path];
    }
    let entries = std::fs::read_dir(tree.join(&note.plans)).into_iter().flatten().filter_map(Result::ok);
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut paths: Vec<String> = names.map(|name| format!("{}/{name}", note.plans)).collect();
    paths.retain(|path| note.owns(path));
    paths.sort();
    // An agent can write any number of files. The rest is reported as not taken.
    paths.truncate(PLANS_MAX);
    paths
}

fn message(note: &ChainNote) -> String {
    match note.artifact {
        Artifact::Implementation => format!("fix({}): bring in line with the spec\n", note.feature),
        artifact => format!("docs({}): {}\n", note.feature, artifact.word()),
    }
}

/// Takes what a person left in the artifact's tree as a revision.
///
/// The same function takes a builder's work, so a person's out-of-scope edits are left out, too.
pub(crate) fn fixed(context: &RunContext, run_state: &RunState) -> Option<Result<Revision, GitError>> {
    let note = run_state.about.chain.as_deref()?;
    let lane = PlanId::new(LANE);
    let at = place_of(context, &lane)?;
    let dir = context.lane_dir(&lane);
    let tree = context.repo.tree(&dir.join("tree"), &dir.join("index"), &at);
    Some(keep(context, note, &tree).map(|(revision, _)| revision))
}
