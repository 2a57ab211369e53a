//! Begins, resumes and removes runs: from documents and settings to a spec, and from a folder to an engine. It also
//! takes fixes that a person made by hand.
//!
//! Everything that can be wrong with a run is found here, before its first file is written. A check that comes after
//! `project.prepare` leaves files behind when it fails, so new checks belong before it.

pub(crate) mod chain;
pub mod doctor;
pub(crate) mod examine;
pub(crate) mod roster;
pub(crate) mod words;

use crate::RealWorld;
use crate::build::account::summary_path;
use crate::build::artifact;
use crate::build::import::{self, History};
use crate::build::make::{
    BY_HAND, Fixed, begin_branch, digest, document_tree, keep_document, keep_documents, keep_fix,
    keep_fix_on_head, place_of,
};
use crate::build::polish;
use crate::check::around::{AFTER_PLAN, AFTER_TASK};
use crate::check::guard::{CONTRACT, INTEGRITY};
use crate::check::hooks::HOOKS;
use crate::check::rules;
use crate::check::{LANDING, STRUCTURE, VERIFICATION};
use crate::context::base::fork;
use crate::context::pool::Pool;
use crate::context::subject;
use crate::context::{RunContext, lock, now, slug};
use crate::project::context;
use crate::project::error::SetupError;
use crate::project::identity::sha256;
use crate::project::inside;
use crate::project::kept;
use crate::project::standing;
use crate::project::state;
use crate::project::{PhaseFiles, Project, noticed};
use crate::review::panel;
use crate::sandbox::Sandbox;
use crate::setup::chain::Feature;
use crate::setup::doctor::environment;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use tribunal_agent::tool::Tools;
use tribunal_core::defence::{Defence, stands};
use tribunal_core::effect::{EffectId, FinishStep};
use tribunal_core::green::ProjectCommand;
use tribunal_core::held::Arrival;
use tribunal_core::ids::{Builder, Check, LoopId, PlanId, Reviewer, Revision, Time};
use tribunal_core::policy::{Claims, NoVerdict, Policy, Timeouts, Use, waits_for};
use tribunal_core::review_loop::Loop;
use tribunal_core::roster::Roster;
use tribunal_core::run::{Ending, Job, Land, PlanGate, PlanSpec, Policies, RunSpec, Standing, Subject, Was};
use tribunal_docs::qa::CHECKS;
use tribunal_docs::{CheckStatus, Completions, Phase, Plan, SummaryFacts, check_summary};
use tribunal_engine::budget::Caps;
use tribunal_engine::engine::{Engine, Options};
use tribunal_engine::route::{self, asks_first, has_team, is_turbo};
use tribunal_engine::run_state::{Note, RunNote, RunState};
use tribunal_engine::settings::{RunSettings, Settings, When};
use tribunal_git::{Archive, Arrived, Oid, WorktreePool};
use tribunal_journal::{Head, Journal, Poke};
use tribunal_process::{Containment, Supervisor};

/// Worker threads for git and for reading what agents left.
const WORKERS: usize = 4;
/// Worker threads for checks and landings.
const SLOW_WORKERS: usize = 2;
/// How many worktrees the pool keeps for reuse.
const WORKTREE_POOL_MAX: usize = 64;
pub(crate) const WORKTREE_POOL: &str = "pool";
/// The file in a run's folder with the settings that the run began with.
pub const SETTINGS: &str = "settings.json";

/// What the user asks a run to do.
///
/// A gate that is `None` here follows the settings; a value given on the command line wins.
#[derive(Clone, Debug, Default)]
pub struct Ask {
    /// The phase to run; none if the project has only one.
    pub phase: Option<String>,
    /// The only plan to run; none for all of them.
    pub plan: Option<String>,
    /// Whether to hold the plan gate, if the user says so.
    pub review: Option<bool>,
    /// Whether to hold the delivery gate, if the user says so.
    pub qa: Option<bool>,
    /// Whether a panel reviews the whole phase, if the user says so.
    pub panel: Option<bool>,
    /// Stay and wait for a person when there is a question.
    pub attached: bool,
}

/// Begins a run: reads and checks everything, opens the journal, and returns an engine that is ready to go.
pub fn begin(
    project: &Project,
    settings: &Settings,
    ask: &Ask,
) -> Result<(String, Engine<RealWorld>), SetupError> {
    begin_for(project, settings, ask, None)
}

/// The same, with everything that was built held against a feature's spec at the end.
pub(crate) fn begin_for(
    project: &Project,
    settings: &Settings,
    ask: &Ask,
    last: Option<&Feature>,
) -> Result<(String, Engine<RealWorld>), SetupError> {
    let head = project.repo().head()?;
    // The result needs a branch to go to.
    let branch = head.branch.clone().ok_or(SetupError::Detached)?;
    let files = project.phase(ask.phase.as_deref())?;
    let (plans, noticed) = plans_to_run(project, &files, ask)?;
    roster::check(project, settings)?;
    if settings.agents.sandbox == "required" {
        // Asked here already, although `world` asks again: by then the run's folder exists.
        sandbox(settings, &Containment::detect())?;
    }
    let mut settings = settings.clone();
    let roster = match held(settings.phase.review, ask.panel) {
        true => Some(people(project, &head.commit, &mut settings)?),
        false => None,
    };
    // From here on the settings are fixed, personalities included.
    let settings = &settings;
    let policies = policies(settings)?;
    rules::check(project, settings, None)?;
    // All checks have passed. From here on the run's own files are written.
    project.prepare()?;
    let at = now();
    let run = run_id(project, at.0, &files.number);
    let dir = project.run_dir(&run);
    // The journal holds the run's lock, so it is opened before anything else uses the folder.
    let journal = open_journal(project, &run, at)?;
    let world = world(project, settings, &run, WORKTREE_POOL)?;
    let context = Arc::clone(&world.context);
    begin_branch(&context, &head.commit)?;
    let approved = plans.iter().any(|(_, _, plan)| asks_first(&settings.run, plan));
    let specs = plan_specs(&context, &plans, &head.commit)?;
    let mut spec = run_spec(settings, ask, specs, policies, approved)?;
    let mut about = about(project, settings, &files, &plans, &branch, &head.commit, &context)?;
    about.warnings = noticed;
    about.warnings.extend(crate::tests_run::green::tests_nothing_warning(settings));
    if let Some(feature) = last {
        about.chain = Some(Box::new(feature.note(&context, &head.commit)?));
        // The work is held against the spec at the end even if no panel was asked for.
        (spec.review, spec.chain) = (true, Some(Box::new(feature.spec(settings)?)));
    }
    context::keep(project, &dir, &files.number)?;
    // The digest goes into the journal, so that a file that was changed later is noticed.
    about.settings = keep_settings(&dir, settings)?;
    let about = Note::Run(Box::new(about));
    roster.iter().try_for_each(|roster| panel::keep(&dir, roster))?;
    // Last of all. Until the first event is journaled, the folder counts as a run that never began, which `gc` may
    // remove.
    let engine = Engine::begin(journal, world, options(settings, ask.attached), &spec, about)?;
    listen(&dir, &engine)?;
    Ok((run, engine))
}

/// The roster, and everybody's personality in the settings, as they are when the run begins.
fn people(project: &Project, at: &Oid, settings: &mut Settings) -> Result<Roster, SetupError> {
    panel::people(&panel::Ground { project, base: at, user: at, changed: &[], documents: "" }, settings)
}

/// Resumes a run from its journal.
///
/// Nothing is recovered here except the fast-forward: the engine folds the journal and probes what was under way.
pub fn resume(
    project: &Project,
    settings: &Settings,
    run: &str,
    attached: bool,
) -> Result<Engine<RealWorld>, SetupError> {
    let dir = project.run_dir(run);
    if !dir.join(tribunal_journal::FILE).exists() {
        return Err(SetupError::NoRun { wanted: run.to_owned() });
    }
    let journal = Journal::open(&dir)?;
    let world = world(project, settings, run, WORKTREE_POOL)?;
    // First of all: a fast-forward that stopped half-way left the user's files between two commits.
    world.settle_forward();
    let engine = Engine::resume(journal, world, options(settings, attached))?;
    listen(&dir, &engine)?;
    Ok(engine)
}

/// Opens the journal of a new run, in a folder that is marked as the user's.
pub(crate) fn open_journal(project: &Project, run: &str, at: Time) -> Result<Journal, SetupError> {
    let dir = project.run_dir(run);
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let head = Head { run_id: run.to_owned(), product_version: version, created_at: at.0 };
    // The mark comes first: a process that dies in between leaves a folder that is known as the user's.
    state::mark(&dir)?;
    // Later runs believe what is cached, so a folder that came with a branch is emptied.
    state::claim(&crate::tool::cache::folder(project))?;
    let journal = Journal::create(&dir, &head)?;
    // `gc` may have removed the folder before it was locked, and the mark with it.
    state::mark(&dir)?;
    Ok(journal)
}

/// Keeps the settings that a run begins with, whatever the files and the environment say later. Returns their digest
/// for the journal.
pub(crate) fn keep_settings(dir: &Path, settings: &Settings) -> Result<String, SetupError> {
    let path = dir.join(SETTINGS);
    let text = serde_json::to_string_pretty(settings).map_err(tribunal_engine::engine::EngineError::Json)?;
    crate::write_atomic(&path, text.as_bytes()).map_err(|error| SetupError::io("write", &path, &error))?;
    Ok(sha256(text.as_bytes()))
}

/// The settings that a run began with, if they can be read. Only for display; a run is resumed with `kept_settings`.
pub fn settings_of(run_dir: &Path) -> Option<Settings> {
    serde_json::from_slice(&std::fs::read(run_dir.join(SETTINGS)).ok()?).ok()
}

/// The settings that a run began with, checked against the digest in its journal.
///
/// Lost or changed settings are an error and are not replaced by the current ones. Those could come from a branch that
/// was checked out since, and would judge work that was begun under others.
pub fn kept_settings(run_dir: &Path, about: &RunNote) -> Result<Settings, String> {
    let bytes = std::fs::read(run_dir.join(SETTINGS)).map_err(|error| error.to_string())?;
    let known = about.settings.is_empty() || about.settings == sha256(&bytes);
    if !known && stands(Defence::KeptSettings) {
        return Err("it is not the file that the run wrote when it began".to_owned());
    }
    serde_json::from_slice(&bytes).map_err(|error| error.to_string())
}

/// Wakes the engine when somebody leaves a message.
pub(crate) fn listen(dir: &Path, engine: &Engine<RealWorld>) -> Result<(), SetupError> {
    let poke = Poke::listen(dir)?;
    let handle = engine.world().handle();
    // A message may have come before anybody listened.
    handle.mail();
    let spawned = std::thread::Builder::new().name("mail".to_owned()).spawn(move || {
        while poke.wait(None).is_ok() {
            if poke.drain().is_err() {
                return;
            }
            handle.mail();
        }
    });
    spawned.map(drop).map_err(|error| SetupError::io("listen in", dir, &error))
}

pub(crate) fn options(settings: &Settings, attached: bool) -> Options {
    Options {
        // Without a team, one lane at a time.
        width: if has_team(&settings.run) { settings.run.parallel_max.max(1) } else { 1 },
        attached,
        grace_ms: settings.run.grace_s * 1000,
        backoff_ms: settings.run.backoff_ms,
        backoff_max_ms: settings.run.backoff_max_ms,
        caps: Caps::of(&settings.budget),
    }
}

/// A run id such as `20261115-201530-01`: it sorts by time and names the phase.
pub(crate) fn run_id(project: &Project, ms: u64, phase: &str) -> String {
    let stem = later_stem(project.newest().as_deref().unwrap_or_default(), ms, phase);
    // The folder of a run that never began may have the name as well.
    let free = |name: &String| !project.run_dir(name).exists();
    let numbered = (2..).map(|n| format!("{stem}.{n}"));
    std::iter::once(stem.clone()).chain(numbered).find(free).unwrap_or(stem)
}

/// The first stem that does not sort before the newest run.
///
/// The newest run is found by its name, so a run that begins in the same second as another is named after a later
/// second. A clock that was set back by more than a minute is believed.
fn later_stem(newest: &str, ms: u64, phase: &str) -> String {
    let stems = (0..60).map(|second| run_stem(ms + 1000 * second, phase));
    stems.into_iter().find(|stem| stem.as_str() >= newest).unwrap_or_else(|| run_stem(ms, phase))
}

fn run_stem(ms: u64, phase: &str) -> String {
    let seconds = ms / 1000 % 86_400;
    let date = tribunal_view::calendar::date(ms).replace('-', "");
    let time = format!("{:02}{:02}{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{date}-{time}-{}", slug(phase))
}

/// A plan with its path and its text.
type Chosen = (String, String, Plan);

/// The plans to build, and what was noticed in them.
///
/// All problems of a phase are collected before anything is refused, so that the user sees them together.
fn plans_to_run(
    project: &Project,
    files: &PhaseFiles,
    ask: &Ask,
) -> Result<(Vec<Chosen>, Vec<String>), SetupError> {
    let mut problems = Vec::new();
    let mut plans = Vec::new();
    for document in &files.plans {
        let read = tribunal_docs::read_plan(&document.path, &document.text);
        match read.value {
            Some(plan) => plans.push((document.path.clone(), document.text.clone(), plan)),
            None => problems.extend(
                read.diagnostics
                    .iter()
                    .map(|d| format!("{}:{}:{}: {}", document.path, d.line, d.column, d.message)),
            ),
        }
    }
    let complete = standing::completed(files);
    let (done, open): (Vec<_>, Vec<_>) =
        plans.into_iter().partition(|(_, _, plan)| complete.contains(&plan.id));
    let to_build = |path: &str| open.iter().any(|(open, _, _)| open == path);
    let (notes, misread) = noticed(files.plans.iter().filter(|document| to_build(&document.path)));
    if !misread.is_empty() {
        // What these plans depend on and claim is not known, so nothing further can be said about them.
        return Err(SetupError::Plans { problems: problems.into_iter().chain(misread).collect() });
    }
    problems.extend(empty_words(project, files, &done)?);
    let mut completions = Completions::default();
    done.iter().for_each(|(_, _, plan)| completions.note(plan.id.clone(), true));
    let phase = Phase {
        number: files.number.clone(),
        name: files.folder.clone(),
        plans: open.iter().chain(&done).map(|(_, _, plan)| plan.clone()).collect(),
    };
    let found = tribunal_docs::validate(&phase, &completions);
    // What the plan gate judges is not refused here. Two plans that claim one file are a finding; a cycle cannot even
    // run.
    let fatal = found.iter().filter(|problem| problem.kind != tribunal_docs::ProblemKind::FileClaim);
    problems.extend(
        fatal.map(|problem| {
            format!("{}:{}: {}\n  {}", problem.path, problem.line, problem.message, problem.fix)
        }),
    );
    if !problems.is_empty() {
        problems.extend(phase.plans.iter().filter_map(called_otherwise));
        return Err(SetupError::Plans { problems });
    }
    let wanted = ask.plan.as_deref().and_then(tribunal_docs::plan_argument);
    let number = wanted.as_ref().map(|wanted| wanted.number.clone());
    let chosen: Vec<_> = match (&ask.plan, wanted) {
        (None, _) => open,
        (Some(_), Some(wanted)) => open.into_iter().filter(|(_, _, p)| p.id.plan == wanted.number).collect(),
        (Some(_), None) => Vec::new(),
    };
    if chosen.is_empty() {
        return Err(nothing_to_run(files, ask.plan.is_some(), number.as_deref(), &done));
    }
    nothing_is_skipped(&chosen, &done)?;
    if let Some((path, _, _)) = chosen.iter().find(|(_, _, plan)| plan.tasks.is_empty()) {
        let text = format!("{path}: it has no task\n  write tasks as `### Task 1: title`");
        return Err(SetupError::Plans { problems: vec![text] });
    }
    Ok((chosen, notes))
}

/// Names a plan whose number differs from its file's. Shown only when something is wrong with the plans: it may be the
/// cause.
fn called_otherwise(plan: &Plan) -> Option<String> {
    let named = tribunal_docs::document_name(&plan.path)?.plan?;
    let named = tribunal_docs::PlanId::new(&plan.id.phase, &named).plan;
    (named != plan.id.plan).then(|| {
        format!(
            "{}:{}: it says plan {}, its name says {named}",
            plan.path,
            plan.line_of("plan"),
            plan.id.plan
        )
    })
}

/// Why there is nothing to run: the plan is finished, or it does not exist.
fn nothing_to_run(
    files: &PhaseFiles,
    narrowed: bool,
    number: Option<&str>,
    done: &[(String, String, Plan)],
) -> SetupError {
    let asked = done.iter().find(|(_, _, plan)| number == Some(plan.id.plan.as_str()));
    match (narrowed, asked) {
        (true, Some((_, _, plan))) => SetupError::Finished { what: format!("plan {}", plan.id) },
        (false, _) if !done.is_empty() => SetupError::Finished { what: files.path.clone() },
        _ => SetupError::NoPlans { path: files.path.clone() },
    }
}

/// Summaries that say complete and do not hold. Whether such a plan is built is for a person to say.
fn empty_words(
    project: &Project,
    files: &PhaseFiles,
    done: &[(String, String, Plan)],
) -> Result<Vec<String>, SetupError> {
    let mut problems = Vec::new();
    for (_, _, plan) in done {
        let read = files.summaries.iter().filter_map(|document| {
            let summary = tribunal_docs::read_summary(&document.path, &document.text).value?;
            (summary.id == plan.id && summary.is_complete()).then_some((&document.path, summary))
        });
        for (path, summary) in read {
            let archive = Archive::open(project.root())?;
            let commit_exists = |hash: &str| archive.commit(hash).is_ok();
            let facts = SummaryFacts { commit_exists: &commit_exists };
            let wrong = check_summary(&summary, plan, &facts).into_iter();
            let wrong = wrong.filter(|check| check.status != CheckStatus::Pass);
            problems.extend(wrong.map(|check| {
                format!(
                    "{path}: it says complete, but {} does not hold: {}\n  fix it, or remove it and the plan is built anew",
                    check.name, check.detail
                )
            }));
        }
    }
    Ok(problems)
}

/// Fails unless every plan that a chosen plan depends on within its phase is finished or chosen, too.
fn nothing_is_skipped(
    chosen: &[(String, String, Plan)],
    done: &[(String, String, Plan)],
) -> Result<(), SetupError> {
    let there = |id: &tribunal_docs::PlanId| chosen.iter().chain(done).any(|(_, _, plan)| plan.id == *id);
    for (_, _, plan) in chosen {
        let needs = plan.depends_on.iter().filter_map(|dependency| dependency.id(&plan.id.phase));
        for id in needs.filter(|id| id.phase == plan.id.phase) {
            if !there(&id) {
                let (plan, needs, number) = (plan.id.to_string(), id.to_string(), id.plan.clone());
                return Err(SetupError::Unfinished { plan, needs, number });
            }
        }
    }
    Ok(())
}

/// The specs of the plans: waves, dependencies, and tasks that are done already.
fn plan_specs(
    context: &RunContext,
    plans: &[(String, String, Plan)],
    base: &Oid,
) -> Result<Vec<PlanSpec>, SetupError> {
    let documents: Vec<Plan> = plans.iter().map(|(_, _, plan)| plan.clone()).collect();
    let waves = tribunal_docs::waves(&documents);
    let here: Vec<String> = documents.iter().map(|plan| plan.id.to_string()).collect();
    let texts: Vec<&[u8]> = plans.iter().map(|(_, text, _)| text.as_bytes()).collect();
    let history = History::read(context, base, &documents.iter().collect::<Vec<_>>())?;
    let mut specs = Vec::new();
    for ((_, _, plan), revision) in plans.iter().zip(keep_documents(context, &texts)?) {
        let depends = plan.depends_on.iter().filter_map(|dependency| dependency.id(&plan.id.phase));
        // A dependency that is not part of this run is finished; `nothing_is_skipped` has made sure of that.
        let depends = depends.map(|id| id.to_string()).filter(|id| here.contains(id));
        specs.push(PlanSpec {
            id: PlanId::new(plan.id.to_string()),
            wave: waves.get(&plan.id).copied().unwrap_or(1),
            depends_on: depends.map(PlanId::new).collect(),
            after: Vec::new(),
            tasks: u32::try_from(plan.tasks.len()).unwrap_or(u32::MAX),
            revision,
            done: history.tasks_done(context, plan)?,
        });
    }
    specs.sort_by(|a, b| a.id.cmp(&b.id));
    hold_back(&mut specs, &documents);
    Ok(specs)
}

/// Makes plans wait for earlier plans that claim the same files.
fn hold_back(specs: &mut [PlanSpec], documents: &[Plan]) {
    let files: BTreeMap<String, Vec<String>> =
        documents.iter().map(|plan| (plan.id.to_string(), plan.claimed_files())).collect();
    let claims: Vec<Claims> = specs
        .iter()
        .map(|spec| Claims {
            plan: spec.id.clone(),
            wave: spec.wave,
            files: files.get(spec.id.as_str()).cloned().unwrap_or_default(),
        })
        .collect();
    let mut waits = waits_for(&claims);
    for spec in specs {
        spec.after = waits.remove(&spec.id).into_iter().flatten().collect();
    }
}

/// Whether a gate is held: the command line decides, otherwise the settings.
pub(crate) fn held(when: When, asked: Option<bool>) -> bool {
    match (when, asked) {
        (_, Some(asked)) => asked,
        (When::Always, None) => true,
        (When::OnRequest | When::Never, None) => false,
    }
}

/// Looks a setting's value up in a table; the error lists the allowed values.
pub(crate) fn one_of<T: Clone>(
    key: &'static str,
    value: &str,
    allowed: &'static str,
    table: &[(&str, T)],
) -> Result<T, SetupError> {
    let found = table.iter().find(|(name, _)| *name == value).map(|(_, meaning)| meaning.clone());
    found.ok_or_else(|| SetupError::Setting { key, value: value.to_owned(), allowed })
}

/// The spec of the run, from the settings and from what the user asks for.
fn run_spec(
    settings: &Settings,
    ask: &Ask,
    plans: Vec<PlanSpec>,
    mut policies: Policies,
    approved: bool,
) -> Result<RunSpec, SetupError> {
    let run = &settings.run;
    let gate = one_of(
        "run.plan_gate",
        &run.plan_gate,
        "all, each",
        &[("all", PlanGate::All), ("each", PlanGate::Each)],
    )?;
    let land = one_of("run.land", &run.land, "group, each", &[("group", Land::Group), ("each", Land::Each)])?;
    // In this order: the documents have to be on the run branch before the user's branch takes it.
    let mut finish = vec![FinishStep::Boundary, FinishStep::Forward];
    if settings.git.push != "never" {
        finish.push(FinishStep::Push);
    }
    let reviewed = held(settings.plan.review, ask.review);
    let panel = held(settings.phase.review, ask.panel);
    let polish = (panel && settings.phase.polish)
        .then(|| Box::new(Policy::polish(&policies.phase, Builder::new(polish::POLISHER))));
    if !reviewed {
        // A plan that only a person approves is checked for its form before, without reviewers.
        policies.plan.reviewers = Vec::new();
    }
    Ok(RunSpec {
        plans,
        gate: (reviewed || approved).then_some(gate),
        land,
        qa: held(settings.qa.review, ask.qa),
        bare: false,
        hold: false,
        review: panel,
        polish,
        exists: None,
        chain: None,
        land_again: run.land_again,
        checkpoint_every: run.effort.checkpoint_every(),
        landing_rounds: run.landing_rounds,
        attempts_max: run.attempts_max,
        policies,
        finish,
        step_timeout_ms: settings.agents.reviewer_timeout_s * 1000,
    })
}

/// The policies of a run's loops, from the settings.
///
/// They are fixed when the run begins. What is only known later, such as the panel of a phase, is added by
/// `tribunal_core::policy` from the situation. A user's check with the name of a project command is refused, because
/// the name decides what a check runs.
pub(crate) fn policies(settings: &Settings) -> Result<Policies, SetupError> {
    let agents = &settings.agents;
    let no_verdict = one_of(
        "task.on_no_verdict",
        &settings.task.on_no_verdict,
        "escalate, checks_only",
        &[("escalate", NoVerdict::Escalate), ("checks_only", NoVerdict::ChecksOnly)],
    )?;
    let timeouts =
        Timeouts { make_ms: agents.builder_timeout_s * 1000, judge_ms: agents.reviewer_timeout_s * 1000 };
    let base = |of: Use, reviewers: &[String], rounds_max: u32| Policy {
        reviewers: reviewers.iter().map(Reviewer::new).collect(),
        backup: agents.backup,
        // Fixes of a phase go to the fixers that the findings name, so there is no fallback for all of them.
        builder_backup: of != Use::Phase
            && agents.roles.contains_key(crate::backup_of(Policy::of(of).builder.as_str())),
        attempts_max: settings.run.attempts_max,
        parts_max: agents.parts_max,
        stale_limit: settings.task.stale_limit,
        rounds_max,
        timeouts,
        ..Policy::of(of)
    };
    if let Some(own) =
        settings.checks.commands.keys().map(Check::new).find_map(|name| ProjectCommand::of(&name))
    {
        let text = format!("a check of yours has the name {own}, which is Tribunal's own\nhint: rename it");
        return Err(SetupError::Refused(text));
    }
    let commands = settings.checks.commands.keys().map(Check::new);
    let gates = [CONTRACT, INTEGRITY, AFTER_TASK, VERIFICATION, HOOKS].into_iter().map(Check::new);
    let task_checks: Vec<Check> = gates.chain(commands).collect();
    let rounds = match settings.task.rounds_max {
        0 => settings.run.effort.task_rounds(),
        rounds => rounds,
    };
    let adjudicator = agents.roles.contains_key("adjudicator").then(|| Reviewer::new("adjudicator"));
    let task = Policy {
        checks: task_checks.clone(),
        iterations_max: Some(settings.task.iterations_max),
        no_verdict,
        adjudicator,
        ..base(Use::Task, &agents.task_reviewers, rounds)
    };
    let mut repair = task.clone();
    repair.checks.insert(0, Check::new(LANDING));
    let plan = Policy {
        checks: vec![Check::new(STRUCTURE)],
        ..base(Use::Plan, &agents.plan_reviewers, settings.plan.rounds_max)
    };
    Ok(Policies {
        plan,
        task,
        repair,
        qa: Policy {
            // Fixes of a delivery are bound by the same gates as a task.
            checks: CHECKS
                .into_iter()
                .chain(AFTER_PLAN)
                .chain([CONTRACT, INTEGRITY, HOOKS])
                .map(Check::new)
                .collect(),
            ..base(Use::Qa, &agents.qa_reviewers, settings.qa.rounds_max)
        },
        phase: Policy {
            confirm: settings.phase.final_pass,
            ..base(Use::Phase, &agents.phase_reviewers, settings.phase.rounds_max)
        },
    })
}

fn about(
    project: &Project,
    settings: &Settings,
    files: &PhaseFiles,
    plans: &[(String, String, Plan)],
    branch: &str,
    base: &Oid,
    context: &RunContext,
) -> Result<RunNote, SetupError> {
    let id = |plan: &Plan| PlanId::new(plan.id.to_string());
    let title = |plan: &Plan| plan.title.clone().unwrap_or_default();
    let said = |name: &str| context.environment.get(name).and_then(|value| value.clone().into_string().ok());
    // What the caller says comes first, then the id of an unfinished run, and at last this run's own.
    let correlation = said("TRIBUNAL_CORRELATION_ID").or_else(|| said("YOLO_CORRELATION_ID"));
    let correlation = correlation.or_else(|| import::correlation(project, &files.number));
    let those = |is: fn(&RunSettings, &Plan) -> bool| {
        plans.iter().filter(|(_, _, plan)| is(&settings.run, plan)).map(|(_, _, plan)| id(plan)).collect()
    };
    let told = told(project, settings, context, branch, base)?;
    Ok(RunNote {
        phase: files.number.clone(),
        phase_path: files.path.clone(),
        titles: plans.iter().map(|(_, _, plan)| (id(plan), title(plan))).collect(),
        paths: plans.iter().map(|(path, _, plan)| (id(plan), path.clone())).collect(),
        approval: those(asks_first),
        turbo: those(is_turbo),
        scores: plans.iter().map(|(_, _, plan)| (id(plan), route::score(plan))).collect(),
        correlation: correlation.unwrap_or(told.correlation),
        ..told
    })
}

/// What every run records about itself, whatever it is about.
pub(crate) fn told(
    project: &Project,
    settings: &Settings,
    context: &RunContext,
    branch: &str,
    base: &Oid,
) -> Result<RunNote, SetupError> {
    let tracked = project.repo().list_tree(base)?;
    let planning = project.planning_path();
    let canonical: Vec<String> = context
        .adapters
        .names()
        .filter_map(|name| Some(context.adapters.get(name).ok()?.canonical()))
        .collect();
    let configuration = format!("{settings:?}{canonical:?}");
    Ok(RunNote {
        branch: branch.to_owned(),
        base: base.as_str().to_owned(),
        planning_tracked: tracked.iter().any(|entry| entry.path.is_under(&planning)),
        containment: context.supervisor.containment().name().to_owned(),
        sandbox: context.sandbox_words(),
        promised: Some(context.promised),
        configuration: digest(&[configuration.as_bytes()]).to_string(),
        correlation: context.run.clone(),
        effort: standing::effort_word(settings),
        autonomy: settings.run.autonomy.clone(),
        ..RunNote::default()
    })
}

/// The world of a run. `pool` names the folder of its worktree pool; no two processes may share one.
pub(crate) fn world(
    project: &Project,
    settings: &Settings,
    run: &str,
    worktree_pool: &str,
) -> Result<RealWorld, SetupError> {
    let dir = project.run_dir(run);
    let pool =
        |name, n| Pool::new(name, n).map_err(|error| SetupError::io("start threads for", &dir, &error));
    let (workers, checkers) = (pool("worker", WORKERS)?, pool("check", SLOW_WORKERS)?);
    let (sender, arrivals) = channel();
    let thens: Arc<Mutex<BTreeMap<String, crate::context::Then>>> = Arc::default();
    let waiting = Arc::clone(&thens);
    let supervisor = Supervisor::new(Containment::detect(), move |exit| {
        // A statement of its own, so that the lock is released before the callback runs.
        let then = lock(&waiting).remove(&exit.id);
        if let Some(then) = then {
            then(exit);
        }
    })?;
    let supervisor = Arc::new(supervisor);
    let sandbox = sandbox(settings, supervisor.containment())?;
    let promised = crate::sandbox::enforced::facts(sandbox, supervisor.containment(), settings);
    // Weak, so that the watcher does not keep the supervisor alive.
    let stops = Arc::downgrade(&supervisor);
    let stop = move |id: &str, grace| {
        stops.upgrade().into_iter().for_each(|supervisor| supervisor.stop(id, grace));
    };
    let disk = crate::launch::watch::Disk { at: dir.clone(), free: settings.agents.disk_free_mb << 20 };
    let watch = crate::launch::watch::Watch::new(disk, stop)
        .map_err(|error| SetupError::io("start threads for", &dir, &error))?;
    let report_server = crate::launch::report_server::ReportServer::new()
        .map_err(|error| SetupError::io("start threads for", &dir, &error))?;
    let adapters = roster::adapters(settings)?;
    let environment = environment();
    let own_binary =
        std::env::current_exe().map_err(|error| SetupError::io("find", Path::new("tribunal"), &error))?;
    project.repo().limit_files(settings.checks.file_mb << 20);
    let context = RunContext {
        repo: project.repo().clone(),
        keys: project.repo().signing_secrets(),
        project: project.clone(),
        run: run.to_owned(),
        marker: marker(&dir, run),
        worktree_pool: WorktreePool::open(project.repo(), &dir.join(worktree_pool), WORKTREE_POOL_MAX)?,
        dir,
        settings: settings.clone(),
        adapters,
        tools: Tools::load(&settings.tools)?,
        roster: std::sync::OnceLock::new(),
        supervisor,
        sandbox,
        promised,
        scratches: crate::context::scratch::Scratches::default(),
        git_settings: std::sync::OnceLock::new(),
        jobs: workers.jobs(),
        slow: checkers.jobs(),
        arrivals: sender.clone(),
        thens,
        unwanted: Mutex::default(),
        parked: Mutex::default(),
        versions: Mutex::default(),
        watch,
        report_server,
        commits: Mutex::default(),
        plans: Mutex::default(),
        works: Mutex::default(),
        passed: Mutex::default(),
        suites: Mutex::default(),
        detected: Default::default(),
        checks_by_base: Default::default(),
        seen: Mutex::default(),
        read: Mutex::default(),
        words: Mutex::default(),
        contexts: Mutex::default(),
        taken: std::sync::OnceLock::new(),
        reviewers: Mutex::default(),
        base_programs: Mutex::default(),
        environment,
        own_binary,
        hooked: Mutex::default(),
        judged_from: Mutex::default(),
    };
    Ok(RealWorld { context: Arc::new(context), arrivals, sender, workers, checkers })
}

/// The sandbox of this machine. An error if the settings require one and there is none.
pub(crate) fn sandbox(settings: &Settings, containment: &Containment) -> Result<Sandbox, SetupError> {
    let setting = settings.agents.sandbox.as_str();
    match Sandbox::of(setting, || containment.can_sandbox()) {
        Sandbox::Missing if setting == "required" => Err(SetupError::NoSandbox),
        sandbox => Ok(sandbox),
    }
}

/// The marker of a run's processes. It includes the folder, because two projects may have runs of the same name.
pub fn marker(run_dir: &Path, run: &str) -> String {
    let dir = std::fs::canonicalize(run_dir).unwrap_or_else(|_| run_dir.to_path_buf());
    format!("{run}-{}", &digest(&[dir.as_os_str().as_encoded_bytes()]).as_str()[..12])
}

/// Where a person edits what a question is about, in the run's folder.
pub fn place_to_fix(dir: &Path, run_state: &RunState, effect: &EffectId) -> Option<PathBuf> {
    let of = effect.of.as_str();
    let subject = match run_state.loops.contains_key(&LoopId::new(of)) {
        true => subject::of(&LoopId::new(of))?,
        // A question of the run itself is about a lane and carries its plan's name.
        false => Subject::Lane(PlanId::new(of), Job::Repair),
    };
    match subject {
        Subject::Plan(plan) => Some(document_tree(dir, &plan).join(run_state.about.paths.get(&plan)?)),
        Subject::Lane(plan, _) => Some(dir.join("lanes").join(slug(plan.as_str())).join("tree")),
        Subject::Chain => Some(dir.join("lanes").join(slug(artifact::LANE)).join("tree")),
        Subject::Phase | Subject::Polish => None,
    }
}

/// Takes a person's fix as a revision of its own.
pub fn fixed(
    project: &Project,
    settings: &Settings,
    run: &str,
    run_state: &RunState,
    effect: &EffectId,
) -> Result<Revision, SetupError> {
    let place = place_to_fix(&project.run_dir(run), run_state, effect).ok_or_else(|| {
        SetupError::Refused("this question has no place where it could be fixed".to_owned())
    })?;
    if !place.exists() {
        let text = format!("{} does not exist\nhint: choose another option", place.display());
        return Err(SetupError::Refused(text));
    }
    // The orchestrator may be running and have its own worktree pool.
    let world = world(project, settings, run, "pool-of-a-person")?;
    match take_fix(&world.context, run_state, effect)? {
        Fixed::Kept(revision) => Ok(revision),
        Fixed::Nothing => Err(SetupError::NothingFixed { place }),
        Fixed::Untakable(what) => Err(SetupError::Refused(format!(
            "git cannot take all of it: {}\nhint: take that out of {}",
            tribunal_view::plain::clipped(&what.join("; "), 400),
            place.display()
        ))),
        Fixed::Conflicts(files) => {
            let files: Vec<String> = files.iter().map(ToString::to_string).collect();
            Err(SetupError::Refused(format!(
                "{} still conflicts with what landed meanwhile\nhint: write it as it should be in {}; what landed shows `git show {}:{}`",
                files.join(", "),
                place.display(),
                world.context.name("head"),
                files[0],
            )))
        }
    }
}

fn take_fix(context: &RunContext, run_state: &RunState, effect: &EffectId) -> Result<Fixed, SetupError> {
    let review_loop = run_state.loops.get(&LoopId::new(effect.of.as_str()));
    let subject = review_loop.and_then(|review_loop| subject::of(review_loop.id()));
    // What was judged already is not a fix of it.
    let kept = |revision: Revision| match review_loop.and_then(Loop::revision) == Some(&revision) {
        true => Fixed::Nothing,
        false => Fixed::Kept(revision),
    };
    if let Some(Subject::Plan(plan)) = &subject {
        let path = run_state.about.paths.get(plan).cloned().unwrap_or_default();
        let bytes = inside::read(&document_tree(&context.dir, plan), &path)
            .ok_or_else(|| SetupError::Refused(format!("{path} is gone or no plain file")))?;
        return Ok(kept(keep_document(context, &bytes)?));
    }
    if subject == Some(Subject::Chain) {
        let revision = artifact::fixed(context, run_state)
            .ok_or_else(|| SetupError::Refused("what was fixed cannot be taken".to_owned()))??;
        return Ok(kept(revision));
    }
    let plan = match &subject {
        Some(subject) => subject::plan_of(subject).cloned(),
        None => Some(PlanId::new(effect.of.as_str())),
    };
    let plan = plan.ok_or_else(|| SetupError::Refused("this question is about no plan".to_owned()))?;
    let parent = parent_of_fix(context, run_state, &plan)?;
    let summary = run_state.about.paths.get(&plan).map(|path| summary_path(path)).unwrap_or_default();
    let message = context.own_message(format!("fix({plan}): {BY_HAND}\n\nTribunal-Plan: {plan}\n"));
    // A lane that could not land is fixed together with what landed meanwhile; otherwise it would be refused again.
    Ok(match landing_was_refused(run_state, &plan) {
        true => keep_fix_on_head(context, &plan, &parent, &summary, &message)?,
        false => keep_fix(context, &plan, &parent, &summary, &message)?,
    })
}

/// Whether a plan is stuck because it could not land.
fn landing_was_refused(run_state: &RunState, plan: &PlanId) -> bool {
    let mut standings = run_state.run.iter().flat_map(|run| run.standings());
    standings.any(|(id, standing)| match standing {
        Standing::Stuck(stuck) => id == plan && matches!(stuck.was, Was::Landing | Was::Loop(Job::Repair)),
        _ => false,
    })
}

/// The commit that a person's fix stands on: what the lane made last.
fn parent_of_fix(context: &RunContext, run_state: &RunState, plan: &PlanId) -> Result<Oid, SetupError> {
    let standing = run_state.run.iter().flat_map(|run| run.standings()).find(|(id, _)| *id == plan);
    let stuck = match standing {
        Some((_, Standing::Stuck(stuck))) => stuck.revision.clone(),
        _ => None,
    };
    let live =
        subject::loops_of(run_state, plan).filter(|review_loop| review_loop.outcome().is_none()).last();
    let approved = || run_state.run.as_ref()?.lane_head(plan).cloned();
    // The newest work first: of the open loop, of the lane that got stuck, and then what was approved.
    let revision = live.and_then(|review_loop| review_loop.revision().cloned()).or(stuck).or_else(approved);
    Ok(match (revision, place_of(context, plan)) {
        (Some(revision), _) => context.commit_of(&revision)?,
        // Nothing was made yet. The fix stands where the lane began, whatever landed since.
        (None, Some(at)) => fork(context, &at)?,
        (None, None) => context.run_head()?,
    })
}

/// What `gc` removed, or would remove.
#[derive(Clone, Debug, Default)]
pub struct GcReport {
    /// The ids of the runs that were removed.
    pub runs: Vec<String>,
    /// The runs that were kept, each with the reason.
    pub kept: Vec<(String, String)>,
    /// The caches of tools that were removed.
    pub caches: Vec<String>,
    /// How many bytes were freed.
    pub bytes: u64,
}

/// What `gc` is asked to remove.
#[derive(Clone, Copy, Debug)]
pub struct GcAsk {
    /// Only runs that ended at least this many days ago.
    pub older_than_days: u32,
    /// Only report what would be removed.
    pub dry: bool,
    /// Also remove runs whose result is on no branch, or that keep files git could not take.
    pub force: bool,
}

/// Removes runs that ended long enough ago: folder, journal and refs.
///
/// A run that can be resumed is kept. A folder in which no run ever began can go at once.
pub fn gc(project: &Project, _settings: &Settings, asked: GcAsk) -> Result<GcReport, SetupError> {
    let mut report = GcReport::default();
    let limit = now().0.saturating_sub(u64::from(asked.older_than_days) * 86_400_000);
    // Folders rather than runs, so that those in which no run began are cleaned up as well.
    for run in project.folders() {
        let dir = project.run_dir(&run);
        let may = match began(&dir) {
            Ok(false) => nobody_begins(&dir),
            Ok(true) => removable(&dir, limit).and_then(|ending| match asked.force {
                true => Ok(()),
                false => taken(project, &run, ending).and_then(|()| nothing_kept(&dir)),
            }),
            Err(why) => Err(why),
        };
        match may {
            Ok(()) => {
                report.bytes += size_of(&dir);
                if !asked.dry {
                    remove(project, &run, &dir)?;
                }
                report.runs.push(run);
            }
            Err(why) => report.kept.push((run, why)),
        }
    }
    let (caches, bytes) = crate::tool::cache::gc(project, limit, asked.dry);
    report.caches = caches;
    report.bytes += bytes;
    Ok(report)
}

/// Whether a folder holds a run. A process that dies in the first moments leaves a folder without one.
fn began(dir: &Path) -> Result<bool, String> {
    match tribunal_journal::Reader::open(dir) {
        Ok(reader) => reader.last_seq().map(|seq| seq > 0).map_err(|error| error.to_string()),
        Err(tribunal_journal::Error::Missing { .. }) => Ok(false),
        Err(error) => Err(error.to_string()),
    }
}

/// Whether a folder without a run may be removed: it is ours, and nobody is about to begin a run in it.
fn nobody_begins(dir: &Path) -> Result<(), String> {
    // Anything else in it was put there by somebody else, so the folder is left alone.
    let ours = dir.join(tribunal_journal::FILE).is_file()
        || std::fs::read_dir(dir).is_ok_and(|mut left| {
            let own = |name: &std::ffi::OsStr| name == "lock" || name == state::MARK;
            left.all(|entry| entry.is_ok_and(|entry| own(&entry.file_name())))
        });
    if !ours {
        return Err("it is no run".to_owned());
    }
    match tribunal_journal::RunLock::take(dir) {
        Ok(_) => Ok(()),
        Err(tribunal_journal::Error::Locked { .. }) => Err("it is just beginning".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// How a run ended, if that was long enough ago.
fn removable(dir: &Path, limit: u64) -> Result<Ending, String> {
    let reader = tribunal_journal::Reader::open(dir).map_err(|error| error.to_string())?;
    let run_state = RunState::read(&reader).map_err(|error| error.to_string())?;
    let ending = run_state.run.as_ref().and_then(|run| run.ending()).ok_or("it has not ended")?;
    if run_state.at.0 > limit {
        return Err("it ended recently".to_owned());
    }
    Ok(ending)
}

/// Fails if no branch has the run's result, because the result would be lost with the run.
fn taken(project: &Project, run: &str, ending: Ending) -> Result<(), String> {
    match not_taken(project, run, ending).map_err(|error| error.to_string())? {
        None => Ok(()),
        Some(head) => {
            let at = project.repo().head().ok();
            let forward = at.is_some_and(|at| project.repo().is_ancestor(&at.commit, &head).unwrap_or(false));
            let keep = match forward {
                true => format!("`git merge --ff-only {head}` takes it"),
                false => format!("`git branch result-{run} {head}` keeps it"),
            };
            Err(format!("its result is on no branch: {keep}, `tribunal gc --force` gives it up"))
        }
    }
}

/// Whether the user's branch has the result of a run that is over or whose result is held. None if the branch does not
/// even contain the result's commit.
pub fn arrived(project: &Project, run: &str, run_state: &RunState) -> Result<Option<Arrival>, SetupError> {
    // During a rebase the run branch lacks the result, so it proves nothing.
    if !run_state.run.as_ref().is_some_and(|run| run.is_whole() || run.ending().is_some()) {
        return Ok(None);
    }
    let repo = project.repo();
    let branch = repo.ref_at(&format!("refs/heads/{}", run_state.about.branch))?;
    let head = repo.ref_at(&format!("refs/tribunal/{run}/head"))?;
    let (Some(at), Some(new)) = (branch, head) else { return Ok(None) };
    if !repo.is_ancestor(&new, &at)? {
        return Ok(None);
    }
    let (old, beside) = (Oid::parse(run_state.base())?, project.planning_path());
    Ok(Some(repo.arrival(&Arrived { old: &old, new: &new, at: &at, beside: &beside })?))
}

/// The result of a run with this ending, if no branch of the user has it.
pub fn not_taken(project: &Project, run: &str, ending: Ending) -> Result<Option<Oid>, SetupError> {
    let repo = project.repo();
    let at = |name: &str| repo.ref_at(&format!("refs/tribunal/{run}/{name}"));
    let Some(head) = at("head")? else { return Ok(None) };
    let mut landed = vec![head.clone()];
    // The record of a gate that stayed closed is not a result. Whatever landed before it is.
    if !matches!(ending, Ending::Passed | Ending::Concerns) && at("boundary")?.as_ref() == Some(&head) {
        landed = repo.parents_of(&head)?;
    }
    for (_, branch) in repo.refs_under("refs/heads")? {
        let mut on_it = true;
        for commit in &landed {
            on_it &= repo.is_ancestor(commit, &branch)?;
        }
        if on_it {
            return Ok(None);
        }
    }
    Ok(Some(head))
}

/// Fails if the run keeps files that git could not take: they exist nowhere else.
fn nothing_kept(dir: &Path) -> Result<(), String> {
    let place = kept::place(dir);
    match std::fs::read_dir(&place).is_ok_and(|mut left| left.next().is_some()) {
        true => Err(format!(
            "what git could not take of its work is only in {}: `tribunal gc --force` gives it up",
            place.display()
        )),
        false => Ok(()),
    }
}

/// Removes a run: first its refs, then its folder.
fn remove(project: &Project, run: &str, dir: &Path) -> Result<(), SetupError> {
    // Locked until the folder is gone, so that nobody resumes a run whose refs are being deleted.
    let lock = tribunal_journal::RunLock::take(dir)?;
    let mut changes = Vec::new();
    for prefix in [format!("refs/tribunal/{run}"), format!("refs/tribunal/snap/{run}")] {
        let refs = project.repo().refs_under(&prefix)?;
        changes.extend(refs.into_iter().map(|(name, at)| tribunal_git::RefChange::delete(name, &at)));
    }
    project.repo().refs_update(&changes, "tribunal: gc")?;
    let trash = tribunal_git::Trash::open(&project.folder().join("trash"))?;
    // Moved away in one step first, so that a crash cannot leave half a run folder.
    trash.take(dir)?;
    trash.empty();
    drop(lock);
    Ok(())
}

fn size_of(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok);
    entries
        // A link counts by itself, not by what it leads to.
        .map(|entry| match entry.path().symlink_metadata() {
            Ok(meta) if meta.is_dir() => size_of(&entry.path()),
            Ok(meta) => meta.len(),
            Err(_) => 0,
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_run_has_a_later_name() {
        let at = 1_794_838_815_000;
        let mut newest = String::new();
        for phase in ["specify", "design", "create-plan", "create-plan", "01", "review"] {
            let stem = later_stem(&newest, at, phase);
            assert!(stem >= newest, "{stem} after {newest}");
            newest = if stem == newest { format!("{stem}.2") } else { stem };
        }
        assert_eq!(
            later_stem("29990101-000000-01", at, "01"),
            run_stem(at, "01"),
            "a clock that was set back"
        );
    }
}
