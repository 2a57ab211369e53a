//! Begins one step of an artifact chain: from a feature's folder and the settings to a run.
//!
//! Everything that can be wrong is found here, before anything is written: a refused request leaves no trace. How an
//! artifact is made and judged is in `artifact`.

use super::Ask;
use super::WORKTREE_POOL;
use super::begin_for;
use super::held;
use super::keep_settings;
use super::listen;
use super::one_of;
use super::open_journal;
use super::options;
use super::policies;
use super::roster;
use super::run_id;
use super::sandbox;
use super::told;
use super::world;
use crate::RealWorld;
use crate::build::artifact::ARTIFACT;
use crate::build::make::{begin_branch, digest};
use crate::check::delivery::REGRESSION;
use crate::check::guard::INTEGRITY;
use crate::check::hooks::HOOKS;
use crate::check::rules;
use crate::context::{RunContext, now};
use crate::project::Project;
use crate::project::context;
use crate::project::error::SetupError;
use crate::project::inside;
use crate::review::panel;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use tribunal_core::effect::FinishStep;
use tribunal_core::ids::{Check, Reviewer, Revision};
use tribunal_core::policy::{Policy, Use};
use tribunal_core::run::{ChainSpec, Land, RunSpec};
pub use tribunal_docs::chain::Artifact;
use tribunal_docs::chain::{BYTES_MAX, feature_name};
use tribunal_engine::engine::Engine;
use tribunal_engine::run_state::{ChainNote, Note, RunNote};
use tribunal_engine::settings::{Settings, When};
use tribunal_git::{GitError, GitPath, Oid};
use tribunal_process::Containment;

/// The reviewers of an artifact and of the finished feature.
const REVIEWER: &str = "chain-reviewer";
const FINAL: &str = "final-reviewer";
/// How many documents a feature's folder may hold.
const DOCUMENTS_MAX: usize = 50;

/// The user's request for one artifact.
#[derive(Clone, Debug)]
pub struct ChainAsk {
    /// The artifact that is wanted.
    pub artifact: Artifact,
    /// The name of the feature.
    pub feature: String,
    /// What the feature should be, in the user's words.
    pub wanted: String,
    /// The mode, where the user names one.
    pub mode: Option<String>,
    /// Whether it is reviewed, where the user says so.
    pub review: Option<bool>,
    /// Whether to stay and wait for a person.
    pub attached: bool,
}

/// A feature as it lies in the planning folder, with the request for it.
///
/// The documents are read once and kept as bytes, so that the run is made from what was checked here, whatever happens
/// to the folder meanwhile.
pub(crate) struct Feature {
    ask: ChainAsk,
    folder: String,
    /// The folder of its plans, existing or planned.
    plans: String,
    /// Its documents, with paths from the project's root.
    documents: Vec<(String, Vec<u8>)>,
    mode: String,
    skipped: Option<String>,
    concerns: Vec<String>,
    warnings: Vec<String>,
}

/// Begins the run that makes one artifact.
///
/// It is a run without plans: the run machine begins at its review, which makes the artifact first. The caller gets the
/// engine and drives it.
pub fn begin_chain(
    project: &Project,
    settings: &Settings,
    ask: &ChainAsk,
) -> Result<(String, Engine<RealWorld>), SetupError> {
    let head = project.repo().head()?;
    let branch = head.branch.clone().ok_or(SetupError::Detached)?;
    let feature = Feature::read(project, settings, ask)?;
    let mut settings = settings.clone();
    panel::personify(project, &mut settings, REVIEWER, &["reviewer"]);
    roster::check_chain(project, &settings, feature.reviewer())?;
    // Before the run's folder exists: a run that cannot keep its promise is not begun.
    if settings.agents.sandbox == "required" {
        sandbox(&settings, &Containment::detect())?;
    }
    let spec = feature.run_spec(&settings)?;
    rules::check(project, &settings, None)?;
    // Everything above only reads. From here on the run leaves traces.
    project.prepare()?;
    let at = now();
    let run = run_id(project, at.0, &format!("{}-{}", ask.artifact.word(), ask.feature));
    let dir = project.run_dir(&run);
    let journal = open_journal(project, &run, at)?;
    let world = world(project, &settings, &run, WORKTREE_POOL)?;
    let context = Arc::clone(&world.context);
    begin_branch(&context, &head.commit)?;
    let note = feature.note(&context, &head.commit)?;
    context::keep(project, &dir, "")?;
    let about = RunNote {
        chain: Some(Box::new(note)),
        settings: keep_settings(&dir, &settings)?,
        ..told(project, &settings, &context, &branch, &head.commit)?
    };
    let engine =
        Engine::begin(journal, world, options(&settings, ask.attached), &spec, Note::Run(Box::new(about)))?;
    listen(&dir, &engine)?;
    Ok((run, engine))
}

/// Begins the run that builds a feature's plans and compares the result with its spec.
pub fn begin_implementation(
    project: &Project,
    settings: &Settings,
    ask: &ChainAsk,
    run: &Ask,
) -> Result<(String, Engine<RealWorld>), SetupError> {
    let feature = Feature::read(project, settings, ask)?;
    let mut settings = settings.clone();
    panel::personify(project, &mut settings, FINAL, &["reviewer"]);
    roster::check_chain(project, &settings, feature.reviewer())?;
    // The final reviewer takes the place of a panel.
    let run = Ask { panel: Some(false), ..run.clone() };
    begin_for(project, &settings, &run, Some(&feature))
}

/// The folder of a feature's plans, named like a phase; none where there are no plans.
pub fn plans_of(project: &Project, feature: &str) -> Option<String> {
    let phases = project.phases().ok()?;
    let named = |name: &String| name.split_once('-').is_some_and(|(_, slug)| slug == feature);
    phases.into_iter().map(|(_, name)| name).find(named)
}

impl Feature {
    /// Reads the feature's folder, and refuses a step that cannot be begun.
    pub(crate) fn read(
        project: &Project,
        settings: &Settings,
        ask: &ChainAsk,
    ) -> Result<Feature, SetupError> {
        let name = ask.feature.as_str();
        feature_name(name).map_err(|why| {
            SetupError::Refused(format!(
                "{name:?} is no name for a feature: {why}\nhint: name it as login or 003-password-reset; nothing was changed"
            ))
        })?;
        let folder = format!("{}/features/{name}", project.planning());
        // A feature keeps the folder of its first plans, whatever numbers came after.
        let known = plans_of(project, name);
        let plans = known.clone().unwrap_or_else(|| next_folder(project, name));
        let plans = format!("{}/phases/{plans}", project.planning());
        let mut documents =
            documents(project.root(), &folder, |name| name.ends_with(".md") && !name.starts_with('.'))?;
        let planned = self::documents(project.root(), &plans, |name| name.ends_with("PLAN.md"))?;
        let has_plan = !planned.is_empty();
        // The plans of an implementation are read by the run itself, as those of every phase.
        if ask.artifact != Artifact::Implementation {
            documents.extend(planned);
        }
        let (mode, _) = rounds(ask.mode.as_deref().unwrap_or(&settings.chain.mode))?;
        let mut feature = Feature {
            ask: ask.clone(),
            folder,
            plans: if ask.artifact >= Artifact::Plan { plans } else { String::new() },
            documents,
            mode: mode.to_owned(),
            skipped: skipped(settings.chain.review, ask.review),
            concerns: Vec::new(),
            warnings: Vec::new(),
        };
        feature.recall(project);
        feature.prerequisites(has_plan)?;
        Ok(feature)
    }

    /// Reads from the record in the folder what earlier artifacts left open. The next builder is told.
    fn recall(&mut self, project: &Project) {
        let path = format!("{}/.meta.json", self.folder);
        // A missing or oversized record means that nothing is known, which is no reason to refuse the step.
        let Some(bytes) = inside::read(project.root(), &path).filter(|bytes| bytes.len() <= BYTES_MAX) else {
            return;
        };
        let before = Artifact::ALL.into_iter().filter(|before| *before < self.ask.artifact);
        let phases: Vec<&str> = before.map(Artifact::command).collect();
        let (open, unapproved) = tribunal_view::chain::concerns(&String::from_utf8_lossy(&bytes), &phases);
        self.concerns = open;
        let name = &self.ask.feature;
        let told = unapproved.iter().map(|phase| {
            format!("what `{phase}` made was not approved; `tribunal {phase} {name}` would make it anew")
        });
        self.warnings.extend(told);
    }

    fn has(&self, artifact: Artifact) -> bool {
        let path = artifact.file().map(|file| format!("{}/{file}", self.folder));
        path.is_some_and(|path| self.documents.iter().any(|(known, _)| *known == path))
    }

    /// Refuses a step without its essentials: code without a spec, tasks without plans. The rest becomes a warning.
    fn prerequisites(&mut self, has_plan: bool) -> Result<(), SetupError> {
        let (artifact, name) = (self.ask.artifact, self.ask.feature.clone());
        let refused = |what: &str, needs: Artifact| {
            let command = needs.command();
            Err(SetupError::Refused(format!(
                "{what}\nhint: `tribunal {command} {name}` makes it; nothing was changed"
            )))
        };
        if artifact == Artifact::Implementation && !self.has(Artifact::Spec) {
            return refused(
                &format!("{} has no spec: {}/spec.md does not exist", name, self.folder),
                Artifact::Spec,
            );
        }
        if artifact >= Artifact::Tasks && !has_plan {
            return refused(
                &format!("{} has no plan: there is none in {}", name, self.plans),
                Artifact::Plan,
            );
        }
        let mut before = vec![Artifact::Spec, Artifact::Design, Artifact::Tasks];
        before.retain(|before| *before < artifact && !self.has(*before));
        for missing in before {
            let (file, command) = (missing.file().unwrap_or_default(), missing.command());
            self.warnings.push(format!("{name} has no {file}; `tribunal {command} {name}` would make it"));
        }
        if artifact == Artifact::Spec && self.ask.wanted.trim().is_empty() && self.documents.is_empty() {
            self.warnings.push(format!(
                "nothing says what {name} is: `tribunal specify {name} WORDS…`, or a document in {}, would",
                self.folder
            ));
        }
        Ok(())
    }

    fn reviewer_name(&self) -> &'static str {
        if self.ask.artifact == Artifact::Implementation { FINAL } else { REVIEWER }
    }

    fn reviewer(&self) -> Option<&'static str> {
        self.skipped.is_none().then(|| self.reviewer_name())
    }

    /// The note about the chain for the run. It also keeps the revision that the artifact is made on.
    pub(crate) fn note(&self, context: &RunContext, head: &Oid) -> Result<ChainNote, SetupError> {
        let ask = &self.ask;
        // An earlier version of the same artifact is not one of the documents it builds on.
        let own = ask.artifact.file().map(|file| format!("{}/{file}", self.folder));
        let earlier = self.documents.iter().map(|(path, _)| path.clone());
        let earlier = earlier.filter(|path| Some(path) != own.as_ref() && is_earlier(ask.artifact, path));
        Ok(ChainNote {
            feature: ask.feature.clone(),
            artifact: ask.artifact,
            folder: self.folder.clone(),
            plans: self.plans.clone(),
            wanted: ask.wanted.trim().to_owned(),
            earlier: earlier.collect(),
            ground: self.ground(context, head)?,
            mode: self.mode.clone(),
            skipped: self.skipped.clone(),
            concerns: self.concerns.clone(),
            warnings: self.warnings.clone(),
        })
    }

    /// The user's commit with the feature's documents as they lie in the folder, tracked or not.
    ///
    /// A user writes a brainstorm or a spec and need not commit it: the builder has to see it all the same.
    fn ground(&self, context: &RunContext, head: &Oid) -> Result<Revision, GitError> {
        let mut blobs = Vec::new();
        for (path, bytes) in &self.documents {
            blobs.push((GitPath::from(path.as_str()), context.repo.write_blob(bytes)?));
        }
        let tree = context.repo.tree_placing(head, &blobs)?;
        let revision = digest(&[b"ground", tree.as_str().as_bytes(), head.as_str().as_bytes()]);
        // With everything committed no extra commit is made.
        let commit = if tree == context.repo.tree_of(head)? {
            head.clone()
        } else {
            let who = context.signature();
            let message = format!("docs({}): as it lay in the folder\n", self.ask.feature);
            context.repo.commit(&tree, std::slice::from_ref(head), &message, &who, &who)?
        };
        context.keep(&revision, &commit, Vec::new())?;
        Ok(revision)
    }

    /// The rules by which the loop of the chain judges.
    pub(crate) fn spec(&self, settings: &Settings) -> Result<ChainSpec, SetupError> {
        let (_, rounds_max) = rounds(&self.mode)?;
        let goes_on = one_of(
            "chain.on_exhausted",
            &settings.chain.on_exhausted,
            "block, warn",
            &[("block", false), ("warn", true)],
        )?;
        let like = policies(settings)?;
        let code = self.ask.artifact == Artifact::Implementation;
        let commands = settings.checks.commands.keys().map(Check::new);
        // Code gets the checks of code. A document only has a form that can be checked without a reviewer.
        let checks = match code {
            true => [INTEGRITY, REGRESSION, HOOKS].into_iter().map(Check::new).chain(commands).collect(),
            false => vec![Check::new(ARTIFACT)],
        };
        let policy = Policy {
            reviewers: self.reviewer().into_iter().map(Reviewer::new).collect(),
            checks,
            rounds_max,
            backup: like.task.backup,
            attempts_max: like.task.attempts_max,
            parts_max: like.task.parts_max,
            stale_limit: like.task.stale_limit,
            timeouts: like.task.timeouts,
            ..Policy::of(Use::Chain)
        };
        Ok(ChainSpec { name: self.ask.artifact.word().to_owned(), policy, goes_on })
    }

    fn run_spec(&self, settings: &Settings) -> Result<RunSpec, SetupError> {
        Ok(RunSpec {
            plans: Vec::new(),
            gate: None,
            land: Land::Group,
            qa: false,
            bare: false,
            hold: false,
            review: false,
            polish: None,
            exists: None,
            chain: Some(Box::new(self.spec(settings)?)),
            land_again: settings.run.land_again,
            checkpoint_every: None,
            // An artifact has no lane, so nothing can be repaired after a landing.
            landing_rounds: 0,
            attempts_max: settings.run.attempts_max,
            policies: policies(settings)?,
            finish: vec![FinishStep::Boundary, FinishStep::Forward],
            step_timeout_ms: settings.agents.reviewer_timeout_s * 1000,
        })
    }
}

/// Whether a document is none of the artifacts (a brainstorm), or an artifact before this one.
fn is_earlier(artifact: Artifact, path: &str) -> bool {
    let of = |known: &Artifact| match known.file() {
        Some(file) => path.rsplit('/').next() == Some(file),
        None => *known == Artifact::Plan && path.ends_with("PLAN.md"),
    };
    Artifact::ALL.iter().find(|known| of(known)).is_none_or(|known| *known < artifact)
}

/// Why nobody reviews the artifact; none where somebody does.
fn skipped(when: When, asked: Option<bool>) -> Option<String> {
    if held(when, asked) {
        return None;
    }
    Some(match (when, asked) {
        (_, Some(_)) => "--no-review".to_owned(),
        (When::OnRequest, None) => "chain.review = \"on_request\", and nobody asked".to_owned(),
        (_, None) => "chain.review = \"never\"".to_owned(),
    })
}

/// A mode and how many rounds it gives.
fn rounds(mode: &str) -> Result<(&'static str, u32), SetupError> {
    let modes = [
        ("hotfix", ("hotfix", 1)),
        ("quick", ("quick", 2)),
        ("standard", ("standard", 3)),
        ("full", ("full", 5)),
    ];
    one_of("chain.mode", mode, "hotfix, quick, standard, full", &modes)
}

/// The folder for the plans of a new feature: the next free number.
fn next_folder(project: &Project, feature: &str) -> String {
    let numbers = project.phases().unwrap_or_default().into_iter();
    let last = numbers.filter_map(|(number, _)| number.split('.').next()?.parse::<u32>().ok()).max();
    format!("{:02}-{feature}", last.unwrap_or(0) + 1)
}

/// The documents directly in a folder of the project.
///
/// No link is followed, so a folder cannot bring in files from elsewhere. A file that cannot be read as text is
/// refused, because an agent would be shown something else than the user wrote.
fn documents(
    root: &Path,
    folder: &str,
    wanted: impl Fn(&str) -> bool,
) -> Result<Vec<(String, Vec<u8>)>, SetupError> {
    // Each part of the path is looked at by itself: a link in the middle would lead out of the project, too.
    let mut at = root.to_path_buf();
    for part in Path::new(folder).components() {
        at.push(part);
        match at.symlink_metadata() {
            Ok(meta) if meta.is_dir() => {}
            Ok(_) => {
                let what = format!("{} is no folder, or a link to one", at.display());
                let way_out = "put the folder itself there";
                return Err(SetupError::Document { path: folder.to_owned(), what, way_out });
            }
            // A folder that does not exist yet is an empty one.
            Err(_) => return Ok(Vec::new()),
        }
    }
    let entries = fs::read_dir(&at).map_err(|error| SetupError::io("read", &at, &error))?;
    let names = entries.filter_map(Result::ok).filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| wanted(name)).collect();
    names.sort();
    if names.len() > DOCUMENTS_MAX {
        let what = format!("it holds more than {DOCUMENTS_MAX} documents");
        let way_out = "move those away that no agent needs";
        return Err(SetupError::Document { path: folder.to_owned(), what, way_out });
    }
    let mut found = Vec::new();
    for name in names {
        let path = format!("{folder}/{name}");
        let odd = |what: &str| SetupError::Document {
            path: path.clone(),
            what: what.to_owned(),
            way_out: "put the text itself there, in UTF-8",
        };
        let bytes = inside::read(root, &path).ok_or_else(|| odd("it is no plain file"))?;
        if bytes.len() > BYTES_MAX || std::str::from_utf8(&bytes).is_err() {
            return Err(odd("it is larger than 256 KiB, or not UTF-8"));
        }
        found.push((path, bytes));
    }
    Ok(found)
}
