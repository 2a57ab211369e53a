//! What every job of a run shares: the project, the settings, the drivers, and small services such as naming revisions
//! and sending reports. Jobs run on worker threads and report through one channel.
//!
//! Everything behind a lock here is a cache or bookkeeping of what runs now. Nothing of it may decide anything that the
//! journal or git does not hold, because it is gone after a crash.

pub(crate) mod base;
pub(crate) mod base_settings;
pub(crate) mod meanwhile;
pub(crate) mod pool;
pub(crate) mod scratch;
pub(crate) mod situation;
pub(crate) mod subject;
pub(crate) mod two_sides;

use crate::context::pool::Jobs;
use crate::launch::report_server::ReportServer;
use crate::launch::watch::Watch;
use crate::project::Project;
use crate::sandbox::Sandbox;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};
use tribunal_agent::tool::Tools;
use tribunal_agent::{Adapters, Brief};
use tribunal_core::effect::EffectId;
use tribunal_core::ids::{PlanId, Revision, Time};
use tribunal_core::policy::Effort;
use tribunal_core::review_loop::{Failure, FailureKind, LoopReport};
use tribunal_core::run::RunReport;
use tribunal_docs::Plan;
use tribunal_engine::crash;
use tribunal_engine::run_state::{Note, RunState};
use tribunal_engine::settings::Settings;
use tribunal_engine::world::{Arrival, Report};
use tribunal_git::{GitError, Oid, RefChange, Repo, Signature, WorktreePool};
pub(crate) use tribunal_process::lock;
use tribunal_process::{Exit, Supervisor};

/// How long an unwanted agent may clean up before it is killed.
pub(crate) const STOP_GRACE: Duration = Duration::from_secs(3);

/// Called when a launch has ended and no process of it is left.
pub(crate) type Then = Box<dyn FnOnce(Exit) + Send>;

/// What every job of a run needs.
///
/// It is shared by all worker threads. The locks are small and independent of each other, one for each kind of fact.
pub(crate) struct RunContext {
    pub(crate) project: Project,
    pub(crate) repo: Repo,
    pub(crate) run: String,
    /// Marks the run's processes. It is unique on the machine, not only in the project.
    pub(crate) marker: String,
    pub(crate) dir: PathBuf,
    pub(crate) settings: Settings,
    pub(crate) adapters: Adapters,
    pub(crate) tools: Tools,
    pub(crate) worktree_pool: WorktreePool,
    pub(crate) supervisor: Arc<Supervisor>,
    /// Who reviews and fixes what.
    pub(crate) roster: std::sync::OnceLock<tribunal_core::roster::Roster>,
    /// Whether launches are confined to their own files.
    pub(crate) sandbox: Sandbox,
    /// What the reports may claim about the sandbox.
    pub(crate) promised: tribunal_view::sandbox::SandboxFacts,
    /// The folders that launches may write to.
    pub(crate) scratches: crate::context::scratch::Scratches,
    /// Git settings that are put into the home of every launch.
    pub(crate) git_settings: std::sync::OnceLock<Vec<(PathBuf, String)>>,
    pub(crate) jobs: Jobs,
    pub(crate) slow: Jobs,
    pub(crate) arrivals: Sender<Arrival>,
    pub(crate) thens: Arc<Mutex<BTreeMap<String, Then>>>,
    pub(crate) unwanted: Mutex<BTreeSet<EffectId>>,
    /// Accounts that accept no requests, and until when.
    pub(crate) parked: Mutex<BTreeMap<String, Time>>,
    /// Versions of agents' programs that were asked for; none while the answer is outstanding.
    pub(crate) versions: Mutex<BTreeMap<String, Option<String>>>,
    pub(crate) watch: Watch,
    /// The report server of the agents.
    pub(crate) report_server: ReportServer,
    pub(crate) commits: Mutex<BTreeMap<Revision, Oid>>,
    pub(crate) plans: Mutex<BTreeMap<Revision, Arc<PlanText>>>,
    /// What git says of the work up to a commit.
    pub(crate) works: Mutex<BTreeMap<Oid, Arc<crate::build::account::Work>>>,
    /// Commands that passed on a commit.
    pub(crate) passed: Mutex<BTreeSet<(Oid, String)>>,
    /// The result of the tests at a commit.
    pub(crate) suites: Mutex<BTreeMap<Oid, tribunal_docs::qa::TestRun>>,
    /// The detected build and test commands, by the commit they are read from.
    pub(crate) detected: Mutex<BTreeMap<String, tribunal_docs::project_commands::FoundCommands>>,
    /// The settings of checks that came with a rebase.
    pub(crate) checks_by_base: crate::context::base_settings::ByBase,
    /// What build and test commands said of each tree.
    pub(crate) seen: crate::tests_run::green::Memory,
    /// What commands were seen to read, by tree, command and watched files.
    pub(crate) read: crate::tests_run::reads::Memory,
    /// The SUMMARY that each builder wrote itself, if it did.
    pub(crate) words: Mutex<BTreeMap<PlanId, Option<Oid>>>,
    /// The text that prompts begin with, by family.
    pub(crate) contexts: Mutex<BTreeMap<&'static str, Arc<str>>>,
    /// Commits of imported tasks, by the refs that keep them.
    pub(crate) taken: std::sync::OnceLock<Vec<(String, Oid)>>,
    pub(crate) reviewers: Mutex<BTreeMap<String, Arc<Mutex<crate::review::judge::ReviewerTree>>>>,
    /// The commits whose versions of judging programs are used.
    pub(crate) base_programs: Mutex<BTreeSet<Oid>>,
    pub(crate) environment: BTreeMap<String, OsString>,
    pub(crate) own_binary: PathBuf,
    /// Changes that the user's pre-commit hook passed, as pairs of parent and tree.
    pub(crate) hooked: Mutex<BTreeSet<(Oid, Oid)>>,
    /// The commit that the change under review begins from, according to the run state. It is set whenever an effect
    /// starts.
    pub(crate) judged_from: Mutex<Option<String>>,
    /// The paths of the user's signing keys, which no launch may see.
    pub(crate) keys: Vec<PathBuf>,
}

/// The text of a plan, and the plan read from it.
pub(crate) struct PlanText {
    pub(crate) text: String,
    pub(crate) plan: Plan,
}

/// Text as a file name. Effect ids stay unique in this form.
pub(crate) fn slug(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || ".-+".contains(c) { c } else { '_' };
    text.chars().map(plain).collect()
}

/// The current time in milliseconds since the epoch.
pub(crate) fn now() -> Time {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Time(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

impl RunContext {
    /// The full name of a ref of this run.
    pub(crate) fn name(&self, rest: &str) -> String {
        format!("refs/tribunal/{}/{rest}", self.run)
    }

    /// The commit that the run branch is at.
    pub(crate) fn run_head(&self) -> Result<Oid, GitError> {
        self.repo.resolve(&self.name("head"))
    }

    /// The author of Tribunal's commits.
    pub(crate) fn signature(&self) -> Signature {
        crate::check::rules::identity(&self.settings.git, &self.repo)
    }

    /// The commit of a revision; for a plan its blob.
    pub(crate) fn commit_of(&self, revision: &Revision) -> Result<Oid, GitError> {
        if let Some(known) = lock(&self.commits).get(revision) {
            return Ok(known.clone());
        }
        let name = self.name(&format!("rev/{revision}"));
        let found = self.repo.ref_at(&name)?;
        let commit = found.ok_or_else(|| GitError::NoSuch { what: format!("revision {revision}") })?;
        // A revision never gets another commit, so the answer can be cached for good.
        lock(&self.commits).insert(revision.clone(), commit.clone());
        Ok(commit)
    }

    /// Whether a revision is known.
    pub(crate) fn has(&self, revision: &Revision) -> bool {
        self.commit_of(revision).is_ok()
    }

    /// Gives a revision's commit its ref, for good, with other refs in the same transaction.
    ///
    /// Whoever makes a commit that a report mentions has to call this first: without a ref, `git gc` may delete it.
    pub(crate) fn keep(
        &self,
        revision: &Revision,
        commit: &Oid,
        others: Vec<RefChange>,
    ) -> Result<(), GitError> {
        self.keep_all(BTreeMap::from([(revision.clone(), commit.clone())]), others)
    }

    /// Gives the commits (or blobs) of many revisions their refs in one transaction.
    pub(crate) fn keep_all(
        &self,
        revisions: BTreeMap<Revision, Oid>,
        others: Vec<RefChange>,
    ) -> Result<(), GitError> {
        let named =
            |(revision, at): (&Revision, &Oid)| RefChange::set(self.name(&format!("rev/{revision}")), at);
        let changes: Vec<RefChange> = revisions.iter().map(named).chain(others).collect();
        crash::point("revision:before");
        self.repo.refs_update(&changes, "tribunal: revision")?;
        crash::point("revision:after");
        // After the refs are written: a revision in the cache must never lack its ref.
        lock(&self.commits).extend(revisions);
        Ok(())
    }

    /// A plan as of a revision.
    pub(crate) fn plan_text(&self, path: &str, revision: &Revision) -> Result<Arc<PlanText>, GitError> {
        if let Some(known) = lock(&self.plans).get(revision) {
            return Ok(Arc::clone(known));
        }
        let bytes = self.repo.read_blob(&self.commit_of(revision)?)?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        // The words of `tribunal do` are a plan without a form that could be read.
        let plan = match path == tribunal_docs::words::PATH {
            true => tribunal_docs::words::plan(&text),
            false => tribunal_docs::read_plan(path, &text).value.unwrap_or_default(),
        };
        let read = Arc::new(PlanText { text, plan });
        lock(&self.plans).insert(revision.clone(), Arc::clone(&read));
        Ok(read)
    }

    /// Runs a job. A panic in it becomes a lost attempt of the effect.
    pub(crate) fn guard(&self, effect: &EffectId, job: impl FnOnce()) {
        // What jobs share lies behind locks, and `lock` copes with one that a panic poisoned.
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(job));
        if done.is_err() {
            let text = "bug: the work on it broke off; the message above says where";
            self.fail(effect, Failure::new(FailureKind::DidNotRun, text), Vec::new());
        }
    }

    /// Sends a report to the engine.
    pub(crate) fn report(&self, effect: &EffectId, report: Report, notes: Vec<Note>) {
        // Sending only fails when the engine is gone, and then the next start finds out what happened.
        let _ = self.arrivals.send(Arrival::Report { effect: effect.clone(), report, notes });
    }

    /// Warns the user, whatever else is reported.
    pub(crate) fn warn(&self, text: String) {
        self.note(Note::Warning(text));
    }

    /// Adds a note to the journal, whatever else is reported.
    pub(crate) fn note(&self, note: Note) {
        let _ = self.arrivals.send(Arrival::Notes(vec![note]));
    }

    /// Reports a lost attempt.
    pub(crate) fn fail(&self, effect: &EffectId, failure: Failure, notes: Vec<Note>) {
        // The name tells which of the two machines waits for the report.
        let of_loop = crate::context::subject::is_loop(effect.of.as_str());
        let report = match of_loop {
            true => Report::Loop(LoopReport::Failed(failure)),
            false => Report::Run(RunReport::Failed(failure)),
        };
        self.report(effect, report, notes);
    }

    /// Whether the effect was stopped meanwhile.
    pub(crate) fn is_unwanted(&self, effect: &EffectId) -> bool {
        lock(&self.unwanted).contains(effect)
    }

    /// The folder of one launch.
    pub(crate) fn launch_dir(&self, effect: &EffectId) -> PathBuf {
        self.dir.join("launches").join(slug(&effect.to_string()))
    }

    /// The name of the adapter for a role, by the first of these names that is configured.
    pub(crate) fn adapter_for(&self, names: &[&str]) -> Option<String> {
        self.settings.agents.adapter_for(names)
    }

    /// A brief with everything that all briefs have in common.
    pub(crate) fn brief(&self, effect: &EffectId, role: &str, names: &[&str]) -> Brief {
        let settings = names.iter().find_map(|name| self.settings.agents.roles.get(*name));
        let scenario = &self.settings.agents.scenario;
        Brief {
            run: self.run.clone(),
            effect: effect.to_string(),
            role: role.to_owned(),
            loop_use: String::new(),
            plan: None,
            task: None,
            reviewer: None,
            round: 1,
            attempt: effect.n.fails + 1,
            prompt: String::new(),
            // `try_launch` refuses a launch without a word.
            word: crate::launch::word::fresh().ok(),
            dir: self.dir.clone(),
            // The safe default. Whoever launches a builder sets it to `Write`.
            access: tribunal_agent::Access::ReadOnly,
            out_dir: self.launch_dir(effect),
            model: settings.and_then(|role| role.model.clone()),
            args: settings.map(|role| role.args.iter().map(OsString::from).collect()).unwrap_or_default(),
            scenario: (!scenario.is_empty()).then(|| self.project.root().join(scenario)),
            own_binary: self.own_binary.clone(),
            env: BTreeMap::new(),
        }
    }

    /// Ends an effect that is no longer wanted.
    pub(crate) fn stop(&self, effect: &EffectId) {
        lock(&self.unwanted).insert(effect.clone());
        // Closed before the process is stopped: reports that it sends while being stopped come too late.
        self.report_server.close(&slug(&effect.to_string()));
        self.supervisor.stop(&slug(&effect.to_string()), STOP_GRACE);
    }

    /// How much care a plan gets: the least if it is small and safe, otherwise the run's setting.
    pub(crate) fn effort_of(&self, plan: Option<&PlanId>, run_state: &RunState) -> Effort {
        match plan {
            Some(plan) if run_state.about.turbo.contains(plan) => Effort::Turbo,
            _ => self.settings.run.effort,
        }
    }

    /// The folder of a lane.
    pub(crate) fn lane_dir(&self, plan: &PlanId) -> PathBuf {
        self.dir.join("lanes").join(slug(plan.as_str()))
    }
}
