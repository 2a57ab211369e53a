//! The work site: what every job of a run needs, and the small services they share. Jobs run on worker
//! threads; they report through one channel and keep no state that the journal or git does not hold.

pub(crate) mod base;
pub(crate) mod base_settings;
pub(crate) mod meanwhile;
pub(crate) mod pool;
pub(crate) mod scratch;
pub(crate) mod situation;
pub(crate) mod subject;
pub(crate) mod two_sides;

use crate::launch::desk::Desk;
use crate::launch::watch::Watch;
use crate::project::Project;
use crate::sandbox::Sandbox;
use crate::site::pool::Jobs;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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
use tribunal_engine::docket::{Docket, Note};
use tribunal_engine::settings::Settings;
use tribunal_engine::world::{Arrival, Report};
use tribunal_git::{GitError, Oid, RefChange, Repo, Shelf, Signature};
use tribunal_process::{Exit, Keeper};

/// How long an unwanted agent may tidy up.
pub(crate) const STOP_GRACE: Duration = Duration::from_secs(3);

/// Called when a launch has ended and nothing of it is left.
pub(crate) type Then = Box<dyn FnOnce(Exit) + Send>;

/// What every job needs.
pub(crate) struct Site {
    pub(crate) project: Project,
    pub(crate) repo: Repo,
    pub(crate) run: String,
    /// Marks the run's processes: unique on the machine, not only in the project.
    pub(crate) marker: String,
    pub(crate) dir: PathBuf,
    pub(crate) settings: Settings,
    pub(crate) adapters: Adapters,
    pub(crate) tools: Tools,
    pub(crate) shelf: Shelf,
    pub(crate) keeper: Arc<Keeper>,
    /// Who reviews and mends what.
    pub(crate) roster: std::sync::OnceLock<tribunal_core::roster::Roster>,
    /// Whether launches are kept to their own files.
    pub(crate) sandbox: Sandbox,
    /// What is promised of that.
    pub(crate) promised: tribunal_view::sandbox::SandboxFacts,
    /// What launches have to write to.
    pub(crate) scratches: crate::site::scratch::Scratches,
    /// Settings of git that stand in the home of every launch.
    pub(crate) git_settings: std::sync::OnceLock<Vec<(PathBuf, String)>>,
    pub(crate) jobs: Jobs,
    pub(crate) slow: Jobs,
    pub(crate) arrivals: Sender<Arrival>,
    pub(crate) thens: Arc<Mutex<BTreeMap<String, Then>>>,
    pub(crate) unwanted: Mutex<BTreeSet<EffectId>>,
    /// Accounts that take no requests, and until when.
    pub(crate) parked: Mutex<BTreeMap<String, Time>>,
    /// Versions of agents' programs, as far as they were asked for and told.
    pub(crate) versions: Mutex<BTreeMap<String, Option<String>>>,
    pub(crate) watch: Watch,
    /// Where agents report.
    pub(crate) desk: Desk,
    pub(crate) commits: Mutex<BTreeMap<Revision, Oid>>,
    pub(crate) plans: Mutex<BTreeMap<Revision, Arc<PlanText>>>,
    /// What git says of the work up to a commit.
    pub(crate) works: Mutex<BTreeMap<Oid, Arc<crate::build::account::Work>>>,
    /// Commands that were run on a commit and passed.
    pub(crate) passed: Mutex<BTreeSet<(Oid, String)>>,
    /// What the tests said at a commit.
    pub(crate) suites: Mutex<BTreeMap<Oid, crate::gates::TestRun>>,
    /// The commands that build and test the project, as far as its files tell, by the commit they are read from.
    pub(crate) detected: Mutex<BTreeMap<String, tribunal_docs::project_commands::FoundCommands>>,
    /// The settings of checks that came with a rebase.
    pub(crate) checks_by_base: crate::site::base_settings::ByBase,
    /// What they said of each tree.
    pub(crate) seen: crate::tests_run::green::Memory,
    /// What commands were seen to read of trees, by tree, command and the files that were watched.
    pub(crate) read: crate::tests_run::reads::Memory,
    /// The SUMMARY each dev wrote itself, if it did.
    pub(crate) words: Mutex<BTreeMap<PlanId, Option<Oid>>>,
    /// What prompts begin with, by family.
    pub(crate) contexts: Mutex<BTreeMap<&'static str, Arc<str>>>,
    /// Commits of tasks that were taken over, by the refs that keep them.
    pub(crate) taken: std::sync::OnceLock<Vec<(String, Oid)>>,
    pub(crate) seats: Mutex<BTreeMap<String, Arc<Mutex<crate::review::judge::SeatTree>>>>,
    /// The commits that judging programs are started from.
    pub(crate) base_programs: Mutex<BTreeSet<Oid>>,
    pub(crate) environment: BTreeMap<String, OsString>,
    pub(crate) own_binary: PathBuf,
    /// Changes that the user's pre-commit hook let pass, by what they stand on and what they come to.
    pub(crate) hooked: Mutex<BTreeSet<(Oid, Oid)>>,
    /// The commit that what is judged begins from, as the docket says when something starts: none before that.
    pub(crate) judged_from: Mutex<Option<String>>,
    /// Where the user's signing keys lie.
    pub(crate) keys: Vec<PathBuf>,
}

/// A plan's text and what it says.
pub(crate) struct PlanText {
    pub(crate) text: String,
    pub(crate) plan: Plan,
}

/// A lock whose holder panicked is still a lock: the data are small and whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The effect's name as a file name: unique, because effect ids are.
pub(crate) fn slug(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || ".-+".contains(c) { c } else { '_' };
    text.chars().map(plain).collect()
}

/// The time now.
pub(crate) fn now() -> Time {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Time(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

impl Site {
    /// A ref of this run.
    pub(crate) fn name(&self, rest: &str) -> String {
        format!("refs/tribunal/{}/{rest}", self.run)
    }

    /// The run branch.
    pub(crate) fn run_head(&self) -> Result<Oid, GitError> {
        self.repo.resolve(&self.name("head"))
    }

    /// Who stands on Tribunal's commits.
    pub(crate) fn signature(&self) -> Signature {
        crate::check::rules::identity(&self.settings.git, &self.repo)
    }

    /// The commit (or for a plan the blob) of a revision.
    pub(crate) fn commit_of(&self, revision: &Revision) -> Result<Oid, GitError> {
        if let Some(known) = lock(&self.commits).get(revision) {
            return Ok(known.clone());
        }
        let name = self.name(&format!("rev/{revision}"));
        let found = self.repo.ref_at(&name)?;
        let commit = found.ok_or_else(|| GitError::NoSuch { what: format!("revision {revision}") })?;
        lock(&self.commits).insert(revision.clone(), commit.clone());
        Ok(commit)
    }

    /// Whether a revision is known.
    pub(crate) fn has(&self, revision: &Revision) -> bool {
        self.commit_of(revision).is_ok()
    }

    /// Names a revision's commit, for ever, with other refs in the same transaction.
    pub(crate) fn keep(
        &self,
        revision: &Revision,
        commit: &Oid,
        others: Vec<RefChange>,
    ) -> Result<(), GitError> {
        self.keep_all(BTreeMap::from([(revision.clone(), commit.clone())]), others)
    }

    /// Names many revisions' commits (or blobs) in one transaction.
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
        let plan = match path == tribunal_docs::words::PATH {
            true => tribunal_docs::words::plan(&text),
            false => tribunal_docs::read_plan(path, &text).value.unwrap_or_default(),
        };
        let read = Arc::new(PlanText { text, plan });
        lock(&self.plans).insert(revision.clone(), Arc::clone(&read));
        Ok(read)
    }

    /// Does a job; a panic in it becomes a lost attempt of the effect.
    pub(crate) fn guard(&self, effect: &EffectId, job: impl FnOnce()) {
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(job));
        if done.is_err() {
            let text = "bug: the work on it broke off; the message above says where";
            self.fail(effect, Failure::new(FailureKind::DidNotRun, text), Vec::new());
        }
    }

    /// Sends a report to the engine.
    pub(crate) fn report(&self, effect: &EffectId, report: Report, notes: Vec<Note>) {
        // It only fails when the engine is gone, and then the next start finds out for itself.
        let _ = self.arrivals.send(Arrival::Report { effect: effect.clone(), report, notes });
    }

    /// Says what people should know, whatever else is said.
    pub(crate) fn warn(&self, text: String) {
        self.note(Note::Warning(text));
    }

    /// Writes something down, whatever else is reported.
    pub(crate) fn note(&self, note: Note) {
        let _ = self.arrivals.send(Arrival::Notes(vec![note]));
    }

    /// Reports a lost attempt.
    pub(crate) fn fail(&self, effect: &EffectId, failure: Failure, notes: Vec<Note>) {
        let of_loop = crate::site::subject::is_loop(effect.of.as_str());
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

    /// The adapter's name for a role or seat.
    pub(crate) fn adapter_for(&self, names: &[&str]) -> Option<String> {
        self.settings.agents.adapter_for(names)
    }

    /// Fills in what every brief has in common.
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
            seat: None,
            round: 1,
            attempt: effect.n.fails + 1,
            prompt: String::new(),
            // A launch without one is refused.
            word: crate::launch::word::fresh().ok(),
            dir: self.dir.clone(),
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
        // What it says while it is being stopped comes too late.
        self.desk.close(&slug(&effect.to_string()));
        self.keeper.stop(&slug(&effect.to_string()), STOP_GRACE);
    }

    /// How much care a plan gets: the least where it is small and safe, otherwise the run's.
    pub(crate) fn effort_of(&self, plan: Option<&PlanId>, docket: &Docket) -> Effort {
        match plan {
            Some(plan) if docket.about.turbo.contains(plan) => Effort::Turbo,
            _ => self.settings.run.effort,
        }
    }

    /// The lane's own folder.
    pub(crate) fn lane_dir(&self, plan: &PlanId) -> PathBuf {
        self.dir.join("lanes").join(slug(plan.as_str()))
    }
}
