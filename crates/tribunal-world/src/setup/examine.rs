//! Reviewing existing work: a range of commits, staged changes, a patch, or a phase. It goes from a target to a plan of
//! who judges it, and from the plan to a run that only reviews.
//!
//! Nothing of the user's is written. The plan is complete before the run's folder exists, so `plan_review` can be
//! called just to show what would happen.

use super::RealWorld;
use super::WORKTREE_POOL;
use super::doctor::environment;
use super::keep_settings;
use super::listen;
use super::open_journal;
use super::options;
use super::policies;
use super::run_id;
use super::told;
use super::world;
use crate::build::fix::SCOPE;
use crate::build::make::{begin_branch, digest};
use crate::build::polish;
use crate::check::VERIFICATION;
use crate::check::hooks::HOOKS;
use crate::check::protected::{self, PROTECTED};
use crate::check::rules;
use crate::check::secrets::{self, SECRETS};
use crate::context::{RunContext, now};
use crate::project::context;
use crate::project::error::SetupError;
use crate::project::{Document, PhaseFiles, Project, noticed};
use crate::review::earlier;
use crate::review::panel::{self, Ground};
use crate::tests_run::green::tests_nothing_warning;
use crate::tool::tools::{change_between, changed_files, names, program, text_of};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use tribunal_agent::tool::{self, Tools};
use tribunal_core::defence::{Defence, stands};
use tribunal_core::effect::FinishStep;
use tribunal_core::green::ProjectCommand;
use tribunal_core::ids::{Builder, Check, Reviewer, Revision};
use tribunal_core::policy::{AtTheCap, Policy};
use tribunal_core::roster::Roster;
use tribunal_core::run::{Exists, Land, RunSpec};
use tribunal_core::tool::DetectedTool;
use tribunal_core::trust::{self, Whose};
use tribunal_engine::engine::Engine;
use tribunal_engine::run_state::{Note, ReviewNote, RunNote};
use tribunal_engine::settings::Settings;
use tribunal_git::{GitError, GitPath, Head, Oid, Repo};

/// The subject of a review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A range: `A..B`, `A...B`, or `A` for everything since.
    Diff(String),
    /// The changes staged for the next commit.
    Staged,
    /// The changes of a patch on top of HEAD.
    Patch {
        /// The file that it was read from.
        path: PathBuf,
        /// The content of the patch.
        bytes: Vec<u8>,
    },
    /// What a phase built; the only phase where none is named.
    Phase(Option<String>),
}

/// The user's request for a review.
#[derive(Clone, Debug)]
pub struct ReviewAsk {
    /// The subject of the review.
    pub target: Target,
    /// Whether findings are fixed, too.
    pub fix: bool,
    /// How many review rounds there may be; by the settings if none.
    pub rounds_max: Option<u32>,
    /// Only these tools and reviewers; everybody who fits if empty.
    pub panel: Vec<String>,
    /// Whether to show filtered findings, too.
    pub include_filtered: bool,
    /// Whether to stay and wait for a person.
    pub attached: bool,
}

/// Who would judge what, before anything is written.
///
/// A face can show it and change a reviewer with `replace_reviewer`. `begin_review` turns it into a run.
#[derive(Clone, Debug)]
pub struct ReviewPlan {
    /// What the run will record about it.
    pub note: ReviewNote,
    /// The phase, where the subject is one.
    pub phase: Option<PhaseFiles>,
    /// The settings of the run: the user's, with the personalities of the panel.
    pub settings: Settings,
    /// The user's settings, without those personalities. A changed panel is planned from these.
    asked: Settings,
    branch: String,
    base: Oid,
    pub(crate) head: Oid,
    user: Oid,
    ask: ReviewAsk,
    roster: Roster,
}

/// Settings files of the repository, as a review reads them.
///
/// A change could otherwise bring the settings that judge it: switch a check off, or name another reviewer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SettingsBase {
    /// The commit that the change begins from, as people name it: `main at 1234567`.
    pub commit: String,
    /// The files whose text comes from that commit instead of the worktree, by path; none where the commit has no such
    /// file.
    pub files: BTreeMap<String, Option<Vec<u8>>>,
}

/// The settings files that a review takes from the base instead of the worktree.
pub fn settings_base(
    project: &Project,
    target: &Target,
    paths: &[String],
) -> Result<SettingsBase, SetupError> {
    let repo = project.repo();
    let user = repo.head()?;
    let ends = ends(project, &user, target)?;
    let mut files = BTreeMap::new();
    for path in paths.iter().filter(|_| stands(Defence::BaseSettings)) {
        let at = |commit: &Oid| repo.file_at(commit, &GitPath::from(path.as_str()));
        let base = at(&ends.base)?;
        // Only where the change or the checked-out branch differs from the base. An uncommitted edit is the user's own
        // order.
        if trust::whose(at(&ends.head)? == base, at(&user.commit)? == base) == Whose::Base {
            files.insert(path.clone(), base);
        }
    }
    let named = match target {
        Target::Diff(range) => {
            Some(range.split("..").next().unwrap_or_default()).filter(|from| lasting(from) != "*")
        }
        Target::Staged | Target::Patch { .. } | Target::Phase(_) => None,
    };
    let short = ends.base.short();
    let commit = named.map_or(short.to_owned(), |name| format!("{name} at {short}"));
    Ok(SettingsBase { commit, files })
}

/// The two ends of a change, and what it is called.
pub(crate) struct Ends {
    pub(crate) base: Oid,
    pub(crate) head: Oid,
    pub(crate) target: String,
    pub(crate) key: String,
    pub(crate) phase: Option<PhaseFiles>,
}

impl ReviewPlan {
    /// Whether nothing differs between the two ends.
    pub fn is_empty(&self) -> bool {
        self.base == self.head
    }

    /// Whether a check will run: a tool on the panel, a command of the settings, or what a phase verifies itself by.
    pub(crate) fn asks(&self, check: &Check) -> bool {
        let (note, name) = (&self.note, check.as_str());
        note.tools.iter().any(|tool| tool.name == name)
            // A panel that the user names leaves the commands of the settings out.
            || (self.ask.panel.is_empty() && self.settings.checks.commands.contains_key(name))
            || (name == VERIFICATION && !note.verification.is_empty())
            || matches!(name, SECRETS | PROTECTED)
            || ProjectCommand::of(check).is_some()
            || (name == HOOKS && self.ask.fix)
    }
}

/// Finds out what is reviewed and who can judge it. Writes nothing but git objects.
pub fn plan_review(
    project: &Project,
    settings: &Settings,
    ask: &ReviewAsk,
) -> Result<ReviewPlan, SetupError> {
    let repo = project.repo();
    let user = repo.head()?;
    let ends = ends(project, &user, &ask.target)?;
    let (_, misread) = noticed_in(ends.phase.as_ref());
    if !misread.is_empty() {
        return Err(SetupError::Plans { problems: misread });
    }
    // A check of the user's under this name would replace a defence.
    let taken =
        |name: &&str| settings.checks.commands.contains_key(*name) || settings.tools.contains_key(*name);
    if let Some(own) = [SECRETS, PROTECTED].into_iter().find(taken) {
        let text = format!("a check of yours has the name {own}, which is Tribunal's own\nhint: rename it");
        return Err(SetupError::Refused(text));
    }
    let asked = settings.clone();
    let mut settings = settings.clone();
    let (note, roster) = assembled(project, &mut settings, ask, &ends, &user.commit, None)?;
    let note = ReviewNote { uncommitted: uncommitted(repo, &ask.target, &ends, &user.commit)?, ..note };
    let plan = ReviewPlan {
        note,
        phase: ends.phase,
        settings,
        asked,
        branch: user.branch.unwrap_or_default(),
        base: ends.base,
        head: ends.head,
        user: user.commit,
        ask: ask.clone(),
        roster,
    };
    // An empty change needs no reviewer.
    let nobody = plan.note.tools.is_empty() && plan.note.reviewers.is_empty() && !plan.is_empty();
    // A change without a secret and without protected files is not judged by that alone. But if there is one, that
    // finding is worth a review.
    if nobody
        && secrets::found(repo, &environment(), &plan.base, &plan.head)?.is_empty()
        && protected::found(repo, &plan.base, &plan.head)?.is_empty()
    {
        return Err(SetupError::NoJudge { target: ends.target });
    }
    Ok(plan)
}

/// Uncommitted files that a review of commits does not see: how many, and the first of them.
///
/// A user who asks for a review usually means what is on the screen, so it is said that these files are left out.
fn uncommitted(repo: &Repo, target: &Target, ends: &Ends, user: &Oid) -> Result<Option<String>, SetupError> {
    const NAMED: usize = 3;
    let whole = match target {
        Target::Diff(_) | Target::Phase(_) => ends.head == *user,
        // Staged changes are judged. Where nothing is staged, everything that is changed is left out.
        Target::Staged => ends.base == ends.head,
        Target::Patch { .. } => false,
    };
    let dirty = if whole { repo.dirty(&[])? } else { Vec::new() };
    if dirty.is_empty() {
        return Ok(None);
    }
    let mut named: Vec<String> =
        dirty.iter().take(NAMED).map(|path| tribunal_view::plain::line(&path.to_string())).collect();
    if dirty.len() > NAMED {
        named.push(format!("{} more", dirty.len() - NAMED));
    }
    let many = tribunal_view::words::count(dirty.len(), "file");
    Ok(Some(format!("{many} with changes that are not committed: {}", named.join(", "))))
}

/// Chooses who judges a change: tools and reviewers. The settings get the personalities; a roster that is given is used
/// as it is.
pub(crate) fn assembled(
    project: &Project,
    settings: &mut Settings,
    ask: &ReviewAsk,
    ends: &Ends,
    user: &Oid,
    roster: Option<Roster>,
) -> Result<(ReviewNote, Roster), SetupError> {
    let repo = project.repo();
    let tools = Tools::load(&settings.tools)?;
    let change =
        change_between(repo, &ends.base, &ends.head)?.map_err(|why| SetupError::Refused(why.clone()))?;
    let changed = changed_files(&change);
    let found = detect(project, &tools, ends, &changed)?;
    let mut note = ReviewNote {
        target: ends.target.clone(),
        key: ends.key.clone(),
        base: ends.base.to_string(),
        head: ends.head.to_string(),
        fix: ask.fix,
        include_filtered: ask.include_filtered,
        verification: verification(repo, ends, user)?,
        ..ReviewNote::default()
    };
    reviewer_tools(&mut note, found, &tools, ask, settings)?;
    let documents = documents(project, ends.phase.as_ref());
    let ground = Ground { project, base: &ends.base, user, changed: &changed, documents: &documents };
    let roster = roster.map_or_else(|| ground.roster(), Ok)?;
    panel::compose(&ground, &roster, settings, &mut note, ask, &tools)?;
    Ok((note, roster))
}

/// Problems that were noticed in the plans of a phase.
fn noticed_in(phase: Option<&PhaseFiles>) -> (Vec<String>, Vec<String>) {
    noticed(phase.into_iter().flat_map(|files| &files.plans))
}

/// The commands by which the plans of a phase verify themselves, each once.
///
/// They are the base's where the base has the plan, also of a plan that the change removed: nobody sets the rules by
/// which they are judged.
fn verification(repo: &Repo, ends: &Ends, user: &Oid) -> Result<Vec<String>, GitError> {
    let Some(phase) = &ends.phase else { return Ok(Vec::new()) };
    let mut texts: BTreeMap<String, String> =
        phase.plans.iter().map(|plan| (plan.path.clone(), plan.text.clone())).collect();
    let within = format!("{}/", phase.path);
    let at_base = repo.list_tree(&ends.base)?.into_iter().map(|entry| entry.path.to_string());
    let is_plan = |path: &String| {
        path.strip_prefix(&within).is_some_and(|name| !name.contains('/') && name.ends_with("PLAN.md"))
    };
    for path in at_base.filter(is_plan).filter(|_| stands(Defence::BaseSettings)) {
        let at = |commit: &Oid| repo.file_at(commit, &GitPath::from(path.as_str()));
        let base = at(&ends.base)?;
        if trust::whose_commands(base.is_some(), at(&ends.head)? == base, at(user)? == base) == Whose::Base {
            texts.insert(path, String::from_utf8_lossy(&base.unwrap_or_default()).into_owned());
        }
    }
    let mut commands: Vec<String> = Vec::new();
    for plan in texts.iter().filter_map(|(path, text)| tribunal_docs::read_plan(path, text).value) {
        let of_tasks = plan.tasks.into_iter().flat_map(|task| task.verification);
        for command in of_tasks.chain(plan.verification_commands) {
            if !commands.contains(&command) {
                commands.push(command);
            }
        }
    }
    Ok(commands)
}

/// What a phase says about itself: its context and its summaries.
fn documents(project: &Project, phase: Option<&PhaseFiles>) -> String {
    let Some(files) = phase else { return String::new() };
    let context = format!("{}/{}-CONTEXT.md", files.path, files.number);
    let context = crate::project::inside::read_plain(&project.root().join(context)).unwrap_or_default();
    let mut text = String::from_utf8_lossy(&context).into_owned();
    for summary in &files.summaries {
        text.push('\n');
        text.push_str(&summary.text);
    }
    text
}

fn ends(project: &Project, user: &Head, target: &Target) -> Result<Ends, SetupError> {
    let repo = project.repo();
    let on = user.branch.clone().unwrap_or_else(|| "no branch".to_owned());
    // A fixed author and the time 0: the same content gives the same commit, and so the same revision in the next
    // review.
    let who = tribunal_git::Signature::new("Tribunal", "tribunal@localhost", 0);
    let proposed = |tree: &Oid, what: &str| {
        let message = format!("{what}\n");
        repo.commit(tree, std::slice::from_ref(&user.commit), &message, &who, &who)
    };
    match target {
        Target::Diff(range) => {
            let (base, head) = range_ends(repo, range)?;
            let from = range.split("..").next().unwrap_or_default();
            let key = format!("diff {} on {on}", lasting(from));
            Ok(Ends { base, head, target: range.clone(), key, phase: None })
        }
        Target::Staged => {
            let tree = repo.staged_tree()?.map_err(|why| {
                SetupError::Refused(format!("what is staged is no tree: {why}\nhint: finish the merge"))
            })?;
            let same = tree == repo.tree_of(&user.commit)?;
            let head = if same { user.commit.clone() } else { proposed(&tree, "what is staged")? };
            let (target, key) = ("what is staged".to_owned(), format!("staged on {on}"));
            Ok(Ends { base: user.commit.clone(), head, target, key, phase: None })
        }
        Target::Patch { path, bytes } => {
            let tree = repo.patched_tree(&user.commit, bytes)?.map_err(|why| {
                let shown = path.display();
                let why = why.lines().map(|line| line.strip_prefix("error: ").unwrap_or(line));
                let why = why.collect::<Vec<_>>().join("; ");
                SetupError::Refused(format!(
                    "{shown} does not apply to HEAD: {why}\nhint: check out the commit it was made for; a patch is what `git diff` writes"
                ))
            })?;
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let head = proposed(&tree, &format!("the patch {name}"))?;
            let key = format!("patch {name} on {on}");
            Ok(Ends {
                base: user.commit.clone(),
                head,
                target: format!("the patch {name}"),
                key,
                phase: None,
            })
        }
        Target::Phase(wanted) => {
            let files = project.phase(wanted.as_deref())?;
            let base = phase_base(project, &files)?;
            let (target, key) = (format!("phase {}", files.number), format!("phase {}", files.number));
            Ok(Ends { base, head: user.commit.clone(), target, key, phase: Some(files) })
        }
    }
}

/// A name for the start of a range that is the same in every review of it. A hash or a distance is another one
/// tomorrow.
fn lasting(from: &str) -> &str {
    let hash = from.len() >= 7 && from.bytes().all(|b| b.is_ascii_hexdigit());
    if hash || from.is_empty() || from.contains(['~', '^', '@']) { "*" } else { from }
}

/// The two ends of `A..B`, `A...B` (since they parted) or `A` (since then). A side left out is HEAD.
fn range_ends(repo: &Repo, range: &str) -> Result<(Oid, Oid), SetupError> {
    let resolve = |rev: &str| {
        repo.resolve(if rev.is_empty() { "HEAD" } else { rev }).map_err(|error| match error {
            GitError::NoSuch { what } => SetupError::Refused(format!(
                "there is no {what}\nhint: write a range as main..HEAD; a shallow clone needs `git fetch --unshallow`"
            )),
            other => other.into(),
        })
    };
    // It would reach git as an option.
    if range.starts_with('-') {
        return Err(SetupError::Refused(format!("{range:?} is no range\nhint: write it as main..HEAD")));
    }
    // Three dots first: two dots would match them as well.
    if let Some((from, to)) = range.split_once("...") {
        let (from, to) = (resolve(from)?, resolve(to)?);
        let parted = repo.merge_base(&from, &to)?;
        return parted
            .map(|base| (base, to))
            .ok_or_else(|| SetupError::Refused(format!("the two ends of {range} have no commit in common")));
    }
    let (from, to) = range.split_once("..").unwrap_or((range, ""));
    Ok((resolve(from)?, resolve(to)?))
}

/// The commit before the first one that a summary of the phase names.
fn phase_base(project: &Project, files: &PhaseFiles) -> Result<Oid, SetupError> {
    let archive = tribunal_git::Archive::open(project.root())?;
    let read = |document: &Document| tribunal_docs::read_summary(&document.path, &document.text).value;
    let hashes: Vec<String> =
        files.summaries.iter().filter_map(read).flat_map(|found| found.commit_hashes).collect();
    let (known, _) = archive.known(&hashes)?;
    archive.before(&known)?.ok_or_else(|| {
        SetupError::Refused(format!(
            "no SUMMARY in {} names a commit, so nothing says what the phase built\nhint: review a range instead: `tribunal review --diff main..HEAD`",
            files.path
        ))
    })
}

fn detect(
    project: &Project,
    tools: &Tools,
    ends: &Ends,
    changed: &[String],
) -> Result<Vec<DetectedTool>, SetupError> {
    let repo = project.repo();
    let files = names(repo, &ends.base, &ends.head)?;
    let path = std::env::var_os("PATH");
    let exists = |path: &str| files.contains(path);
    let text = |path: &str| text_of(repo, &ends.base, &ends.head, path);
    let installed = |name: &str| program(project.root(), path.as_ref(), name).is_some();
    Ok(tools.detect(&tool::Ground { exists: &exists, text: &text, installed: &installed, changed }))
}

/// Puts tools on the panel.
///
/// Installed tools judge. A tool that the project configures and that is not installed is on the panel too, so that the
/// report shows a check that did not run. If the user names a panel, only its tools count.
fn reviewer_tools(
    note: &mut ReviewNote,
    found: Vec<DetectedTool>,
    tools: &Tools,
    ask: &ReviewAsk,
    settings: &Settings,
) -> Result<(), SetupError> {
    let named = |name: &str| ask.panel.iter().any(|wanted| wanted == name);
    for wanted in ask.panel.iter().filter(|wanted| tools.get(wanted).is_some()) {
        if !found.iter().any(|reviewer| reviewer.name == **wanted) {
            note.absent.push(format!("{wanted}: nothing that changed is for it"));
        }
    }
    for reviewer in found {
        let picked = ask.panel.is_empty() || named(&reviewer.name);
        // A command of the same name in the settings replaces the tool.
        if !picked || settings.checks.commands.contains_key(&reviewer.name) {
            continue;
        }
        // A tool that nobody configured and nobody named is only mentioned.
        if !reviewer.missing.is_empty() && reviewer.configured.is_none() && !named(&reviewer.name) {
            let what = tools.get(&reviewer.name).map(|tool| tool.what.clone()).unwrap_or_default();
            note.absent.push(format!(
                "{} ({what}): {} not installed",
                reviewer.name,
                reviewer.missing.join(", ")
            ));
            continue;
        }
        // The places are found again for each revision, because a fix may add files.
        note.tools.push(DetectedTool { places: BTreeMap::new(), ..reviewer });
    }
    Ok(())
}

/// The tools for a change that is not made yet.
pub(crate) struct Assembled {
    pub(crate) tools: Vec<DetectedTool>,
    /// Configured tools that cannot judge, in words.
    pub(crate) left_out: Vec<String>,
}

/// Which tools can judge a change based on this commit: those that have files there and are installed.
///
/// A tool whose files a change does not touch passes it without running. A tool that is configured and not installed is
/// only named: it would stop every change, after the builder's work is spent.
pub(crate) fn reviewer_tools_of(
    project: &Project,
    settings: &Settings,
    base: &Oid,
) -> Result<Assembled, SetupError> {
    let tools = Tools::load(&settings.tools)?;
    let files: Vec<String> =
        project.repo().list_tree(base)?.into_iter().map(|entry| entry.path.to_string()).collect();
    let ends = Ends {
        base: base.clone(),
        head: base.clone(),
        target: String::new(),
        key: String::new(),
        phase: None,
    };
    // Every file counts as changed, because nobody knows yet what the change will be.
    let found = detect(project, &tools, &ends, &files)?.into_iter();
    let named = |reviewer: &DetectedTool| settings.checks.commands.contains_key(&reviewer.name);
    let (there, missing): (Vec<_>, Vec<_>) =
        found.filter(|reviewer| !named(reviewer)).partition(|reviewer| reviewer.missing.is_empty());
    let told = missing.into_iter().filter_map(|reviewer| {
        let file = reviewer.configured?;
        let missing = reviewer.missing.join(", ");
        Some(format!(
            "{} is configured here ({file}) and does not judge: {missing} is not installed",
            reviewer.name
        ))
    });
    let tools =
        there.into_iter().map(|reviewer| DetectedTool { places: BTreeMap::new(), ..reviewer }).collect();
    Ok(Assembled { tools, left_out: told.collect() })
}

/// Replaces one reviewer of a planned panel by another one.
pub fn replace_reviewer(
    project: &Project,
    plan: &mut ReviewPlan,
    old: &str,
    new: &str,
) -> Result<(), SetupError> {
    if !plan.note.reviewers.iter().any(|reviewer| reviewer.id == old) {
        return Err(SetupError::Refused(format!("{old:?} is not on the panel")));
    }
    let reviewers = plan
        .note
        .reviewers
        .iter()
        .map(|reviewer| if reviewer.id == old { new } else { reviewer.id.as_str() });
    let tools = plan.note.tools.iter().map(|tool| tool.name.as_str());
    let panel = tools.chain(reviewers).map(str::to_owned).collect();
    let ask = ReviewAsk { panel, ..plan.ask.clone() };
    // Planned anew from the user's own settings: those of the old plan hold the personality of the old reviewer.
    *plan = plan_review(project, &plan.asked, &ask)?;
    Ok(())
}

/// Begins the review that was planned.
pub fn begin_review(project: &Project, plan: ReviewPlan) -> Result<(String, Engine<RealWorld>), SetupError> {
    let settings = plan.settings.clone();
    if plan.ask.fix {
        rules::check_of_fixes(project, &settings)?;
    }
    // Everything above only reads. From here on the run leaves traces.
    project.prepare()?;
    let at = now();
    let label = plan.phase.as_ref().map_or("review".to_owned(), |files| format!("review-{}", files.number));
    let run = run_id(project, at.0, &label);
    let dir = project.run_dir(&run);
    let journal = open_journal(project, &run, at)?;
    let world = world(project, &settings, &run, WORKTREE_POOL)?;
    let context = Arc::clone(&world.context);
    // The run branch begins at the user's commit and not at the judged one, because fixes are brought to the user's
    // branch.
    begin_branch(&context, &plan.user)?;
    let revision = judged(&context, &plan)?;
    let (exists, note) = earlier::taken_over(project, &context, &plan, revision)?;
    let spec = spec(&plan, exists)?;
    let phase = plan.phase.as_ref().map_or("", |files| files.number.as_str());
    context::keep(project, &dir, phase)?;
    let kept = keep_settings(&dir, &settings)?;
    let about = RunNote { settings: kept, ..about(project, &plan, note, &context)? };
    panel::keep(&dir, &plan.roster)?;
    let engine = Engine::begin(
        journal,
        world,
        options(&settings, plan.ask.attached),
        &spec,
        Note::Run(Box::new(about)),
    )?;
    listen(&dir, &engine)?;
    Ok((run, engine))
}

/// Names the judged revision: the commit, and the base that it is a change of.
fn judged(context: &RunContext, plan: &ReviewPlan) -> Result<Revision, SetupError> {
    let revision = digest(&[b"review", plan.head.as_str().as_bytes(), plan.base.as_str().as_bytes()]);
    context.keep(&revision, &plan.head, Vec::new())?;
    Ok(revision)
}

fn spec(plan: &ReviewPlan, exists: Exists) -> Result<RunSpec, SetupError> {
    let settings = &plan.settings;
    let mut policies = policies(settings)?;
    policies.phase = policy(plan, policies.phase);
    let polished = settings.phase.polish && plan.ask.fix && !plan.note.reviewers.is_empty();
    let polish = polished.then(|| Box::new(Policy::polish(&policies.phase, Builder::new(polish::POLISHER))));
    let mut finish = Vec::new();
    if plan.phase.is_some() {
        finish.push(FinishStep::Boundary);
    }
    // Without fixes there is nothing to bring to the branch, except the review document of a phase.
    if plan.ask.fix || plan.phase.is_some() {
        finish.push(FinishStep::Forward);
    }
    Ok(RunSpec {
        plans: Vec::new(),
        gate: None,
        land: Land::Group,
        qa: false,
        bare: false,
        hold: false,
        review: true,
        polish,
        exists: Some(exists),
        chain: None,
        land_again: settings.run.land_again,
        checkpoint_every: None,
        landing_rounds: 0,
        attempts_max: settings.run.attempts_max,
        policies,
        finish,
        step_timeout_ms: settings.agents.reviewer_timeout_s * 1000,
    })
}

fn policy(plan: &ReviewPlan, row: Policy) -> Policy {
    let note = &plan.note;
    let commands = plan.settings.checks.commands.keys().filter(|_| plan.ask.panel.is_empty());
    let tools = note.tools.iter().map(|tool| tool.name.as_str());
    // Zero rounds would judge nothing.
    let rounds = plan.ask.rounds_max.unwrap_or(row.rounds_max).max(1);
    // Without fixes nobody waits for a person: the findings are the answer.
    let asks = plan.ask.fix && (plan.phase.is_some() || !note.reviewers.is_empty());
    let alone = note.reviewers.is_empty() && plan.phase.is_none();
    let agents = plan.ask.fix && plan.settings.agents.adapter_for(&["fixer", "dev"]).is_some();
    let kept = agents.then_some(SCOPE);
    // What a phase promised is checked whoever is on the panel.
    let promised = (!note.verification.is_empty()).then_some(VERIFICATION);
    // Without fixes nothing is committed, so the hooks have nothing to judge.
    let hooks = plan.ask.fix.then_some(HOOKS);
    let checks = tools.chain(commands.map(String::as_str)).chain(promised).chain(kept);
    let checks = checks.chain([SECRETS, PROTECTED]);
    let checks = checks.chain(hooks);
    Policy {
        checks: checks.map(Check::new).collect(),
        reviewers: note.reviewers.iter().map(|reviewer| Reviewer::new(&reviewer.id)).collect(),
        rounds_max: if plan.ask.fix { rounds } else { 1 },
        at_the_cap: match asks {
            true => AtTheCap::Ask,
            false if alone => AtTheCap::Leave,
            false => AtTheCap::End,
        },
        // Tools look at everything every time, so a confirming pass would only repeat them.
        confirm: row.confirm && !note.reviewers.is_empty(),
        ..row
    }
}

fn about(
    project: &Project,
    plan: &ReviewPlan,
    note: ReviewNote,
    context: &RunContext,
) -> Result<RunNote, SetupError> {
    let phase = plan.phase.as_ref();
    Ok(RunNote {
        phase: phase.map(|files| files.number.clone()).unwrap_or_default(),
        phase_path: phase.map(|files| files.path.clone()).unwrap_or_default(),
        warnings: noticed_in(phase).0.into_iter().chain(tests_nothing_warning(&plan.settings)).collect(),
        review: Some(Box::new(note)),
        ..told(project, &plan.settings, context, &plan.branch, &plan.user)?
    })
}

#[cfg(test)]
mod tests {
    use super::lasting;

    #[test]
    fn a_range_has_a_name_that_lasts() {
        let check = |from: &str, expect: &str| assert_eq!(lasting(from), expect, "{from}");
        check("main", "main");
        check("origin/main", "origin/main");
        check("HEAD~3", "*");
        check("58a7b41", "*");
        check("v1.2", "v1.2");
        check("", "*");
    }
}
