//! One launch of one agent outside of any run, for `doctor --contract` and the conformance tests. It journals nothing.
//!
//! It uses the same calls as a run: the sandbox, the supervisor, the watcher and the parser. Otherwise a passing trial
//! would prove nothing about a run.

use super::Flight;
use super::Session;
use super::agent_sandbox;
use super::call_policy::{CallPolicy, Capability};
use super::context_of;
use super::read_back;
use super::report_server::{LaunchServices, ReportServer};
use super::server;
use super::watch::{Disk, Limits, Watch, Watched};
use crate::sandbox::{Sandbox, SandboxHost, git_settings, home_of};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};
use tribunal_agent::reporting::Part;
use tribunal_agent::{
    Access, Adapter, Adapters, AgentError, Asks, Brief, Feature, Outcome, Prepared, Reading,
};
use tribunal_core::effect::{EffectId, Step, Try};
use tribunal_core::ids::{Builder, Of};
use tribunal_core::review_loop::{Failure, FailureKind};
use tribunal_core::usage::SessionTotals;
use tribunal_process::{
    Callers, Containment, Exit, Launch, Mounts, Network, ProcessError, Stdin, Supervisor, survivors,
};

/// How many bytes an agent may write to its output.
const OUTPUT_MAX: u64 = 64 << 20;
const GRACE: Duration = Duration::from_secs(3);

/// The launch to be tried, and its limits.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The prompt that the agent gets.
    pub prompt: String,
    /// The working directory of the agent.
    pub dir: PathBuf,
    /// The launch's own folder, for prompt and output.
    pub out_dir: PathBuf,
    /// Whether the agent may write in its working directory.
    pub access: Access,
    /// The model to ask for; none for the row's own.
    pub model: Option<String>,
    /// Further arguments for the program.
    pub args: Vec<OsString>,
    /// What is asked of the program beyond the brief.
    pub asks: Asks,
    /// The counters of the session so far, if it continues one.
    pub before: SessionTotals,
    /// The environment that the row takes its variables from.
    pub environment: BTreeMap<String, OsString>,
    /// How long the launch may take before it is stopped.
    pub deadline: Duration,
    /// How long it may be silent and idle before it is stopped.
    pub silent: Duration,
    /// Further paths that it may read, as in `agents.readable`.
    pub readable: Vec<String>,
    /// Whether the launch is confined to its own files.
    pub sandbox: Sandbox,
    /// The Tribunal program, which rows may start and agents report through.
    pub own_binary: PathBuf,
    /// The part in which it reports through tools; without one it has no tools.
    pub reports: Option<Part>,
}

/// The result of a trial.
#[derive(Debug)]
pub struct Tried {
    /// What its output says.
    pub outcome: Outcome,
    /// Why there is no answer; none if there is one.
    pub failure: Option<Failure>,
    /// How the process ended.
    pub exit: Exit,
    /// Features that were asked for and that the program does not have.
    pub left_out: Vec<Feature>,
    /// The time from the start to the end of the process.
    pub took: Duration,
    /// Processes of the launch that are still alive. There should be none.
    pub survivors: Vec<i32>,
    /// How its answer came: `mcp`, `report` or `final message`.
    pub told: String,
    /// Reports that were refused.
    pub refused: Vec<String>,
}

/// Why a trial could not be run at all. A failure of the agent is not one of these.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// The command line or the environment cannot be built from the row.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// The process cannot be started.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// A folder cannot be made or a thread not started.
    #[error("cannot prepare a trial: {0}")]
    Io(#[from] std::io::Error),
    /// The sandbox cannot be set up.
    #[error("cannot wall in a trial: {0}")]
    Mounts(String),
    /// The supervisor ended without reporting how the process ended.
    #[error("bug: the process was lost")]
    Lost,
}

/// Launches the agent, waits for its end, and reads what it left.
pub fn run(adapters: &Adapters, row: &Adapter, trial: &Trial) -> Result<Tried, TrialError> {
    std::fs::create_dir_all(&trial.out_dir)?;
    // The marker must be unique on the machine: survivors are found by it.
    static TRIALS: AtomicU64 = AtomicU64::new(0);
    let marker = format!("trial-{}-{}", std::process::id(), TRIALS.fetch_add(1, Ordering::Relaxed));
    let id = "trial".to_owned();
    let (brief, mut asks, report_server) = (brief(trial), trial.asks.clone(), ReportServer::new()?);
    if let Some(part) = trial.reports.filter(|_| row.can(Feature::Mcp, trial.access)) {
        asks.mcp = server(&trial.own_binary, &trial.out_dir);
        let services = LaunchServices { context: context_of(&brief.prompt), checks: None };
        report_server.open(&id, &trial.out_dir, CallPolicy::new(capability(part)), services)?;
    }
    let keep = |name: &str| trial.environment.get(name).cloned();
    let prepared = tribunal_agent::prepare(row, &brief, &asks, &keep)?;
    let mounts = mounts(adapters, row, trial, &brief, &prepared)?;
    let (tell, told) = mpsc::channel();
    let supervisor = Arc::new(Supervisor::new(Containment::detect(), move |exit| _ = tell.send(exit))?);
    let stops = Arc::downgrade(&supervisor);
    // A reserve of zero switches the disk limit off.
    let watch = Watch::new(Disk { at: PathBuf::new(), free: 0 }, move |id, grace| {
        stops.upgrade().into_iter().for_each(|supervisor| supervisor.stop(id, grace));
    })?;
    let began = Instant::now();
    let limits = Limits {
        turns_max: trial.asks.turns.filter(|_| prepared.left_out.contains(&Feature::TurnCap)),
        silent: trial.silent,
        ..Limits::default()
    };
    let left_out = prepared.left_out.clone();
    let started = supervisor.spawn(launch(&id, &marker, trial, prepared, mounts))?;
    report_server.begun(&id, Callers::of(started, supervisor.containment(), &marker, &id));
    let (reading, out_dir) = (Reading::of(row), &trial.out_dir);
    watch.begin(Watched::new(id.clone(), marker.clone(), reading, row.parser, out_dir, limits));
    let (exit, late) = match told.recv_timeout(trial.deadline) {
        Ok(exit) => (exit, false),
        // After the stop the exit still has to arrive, since only then is nothing left of the launch.
        Err(_) => {
            supervisor.stop(&id, GRACE);
            (told.recv().map_err(|_| TrialError::Lost)?, true)
        }
    };
    let late = late.then(|| Failure::new(FailureKind::TimedOut, "the deadline passed"));
    let (stopped, refused) = (watch.end(&id).or(late), report_server.shut(&id));
    let took = began.elapsed();
    let flight = flight(row, trial, left_out);
    let ended = read_back(row, &flight, &exit, stopped, took);
    // Looked for after the launch has ended: whatever is alive now escaped the supervisor.
    let survivors = survivors(&marker);
    Ok(Tried {
        outcome: ended.outcome,
        failure: ended.failure,
        exit,
        left_out: flight.left_out,
        took,
        survivors,
        told: ended.note.told,
        refused,
    })
}

/// The process of a trial.
fn launch(id: &str, marker: &str, trial: &Trial, prepared: Prepared, mounts: Option<Mounts>) -> Launch {
    Launch {
        id: id.to_owned(),
        run_marker: marker.to_owned(),
        argv: prepared.argv,
        env: prepared.env.into_iter().collect(),
        dir: prepared.dir,
        stdin: prepared.stdin_file.map_or(Stdin::Null, Stdin::File),
        out_dir: trial.out_dir.clone(),
        output_max: OUTPUT_MAX,
        mounts,
        network: Network::Host,
    }
}

/// The sandbox that a run would set up, without a project behind it.
fn mounts(
    adapters: &Adapters,
    row: &Adapter,
    trial: &Trial,
    brief: &Brief,
    prepared: &Prepared,
) -> Result<Option<Mounts>, TrialError> {
    // There is no repository here whose configuration could name signing keys.
    let keys: Vec<PathBuf> = trial.environment.get("GNUPGHOME").map(PathBuf::from).into_iter().collect();
    let settings = git_settings(home_of(&trial.environment).as_deref());
    let host = SandboxHost {
        sandbox: trial.sandbox,
        environment: &trial.environment,
        adapters,
        readable: &trial.readable,
        writable: &[],
        keys: &keys,
        git_settings: &settings,
        own_binary: &brief.own_binary,
        project: None,
        within: &trial.dir,
        scratches: None,
    };
    agent_sandbox(row, brief, prepared, |spec| host.mounts(spec)).map_err(TrialError::Mounts)
}

/// What a trial may report: only about itself.
fn capability(part: Part) -> Capability {
    Capability {
        part,
        of: "trial".to_owned(),
        task: None,
        reviewer: None,
        round: 1,
        revision: None,
        findings: Vec::new(),
        judged: None,
    }
}

fn effect() -> EffectId {
    EffectId {
        of: Of::new("trial"),
        entry: 1,
        step: Step::Make(Builder::new("dev")),
        n: Try::default(),
        launch: 0,
    }
}

/// The launch in the form that `read_back` takes.
fn flight(row: &Adapter, trial: &Trial, left_out: Vec<Feature>) -> Flight {
    let session = trial.asks.session.clone().map(|id| Session { id, totals: trial.before });
    Flight {
        effect: effect(),
        role: "trial".to_owned(),
        agent: row.name.clone(),
        out_dir: trial.out_dir.clone(),
        round: 1,
        told: 0,
        reserved: 0,
        session,
        left_out,
        // A trial is asked for no verdict, so it needs no launch word.
        word: None,
        identity: tribunal_view::spoken::Identity::default(),
    }
}

fn brief(trial: &Trial) -> Brief {
    Brief {
        run: "trial".to_owned(),
        effect: effect().to_string(),
        role: if trial.access == Access::Write { "dev" } else { "reviewer" }.to_owned(),
        loop_use: "trial".to_owned(),
        plan: None,
        task: None,
        reviewer: None,
        round: 1,
        attempt: 1,
        prompt: trial.prompt.clone(),
        word: None,
        dir: trial.dir.clone(),
        access: trial.access,
        out_dir: trial.out_dir.clone(),
        model: trial.model.clone(),
        args: trial.args.clone(),
        scenario: None,
        own_binary: trial.own_binary.clone(),
        env: BTreeMap::new(),
    }
}

/// One turn with an agent that may only read. It must answer with the agreed line and leave the folder alone.
///
/// It costs a request to the model, so it is only run when the user asks for it.
pub fn contract(
    adapters: &Adapters,
    row: &Adapter,
    dir: &Path,
    environment: &BTreeMap<String, OsString>,
    sandbox: Sandbox,
    readable: &[String],
) -> Result<Result<(), Failure>, TrialError> {
    let trial = Trial {
        prompt: format!("Answer with this one line and nothing else, and use no tools:\n\n{CONTRACT}\n"),
        dir: dir.join("tree"),
        out_dir: dir.join("launch"),
        access: Access::ReadOnly,
        model: None,
        args: Vec::new(),
        asks: Asks { turns: Some(2), ..Asks::default() },
        before: SessionTotals::default(),
        environment: environment.clone(),
        deadline: Duration::from_secs(120),
        silent: Duration::from_secs(60),
        readable: readable.to_vec(),
        sandbox,
        own_binary: std::env::current_exe()?,
        reports: None,
    };
    std::fs::create_dir_all(&trial.dir)?;
    let tried = run(adapters, row, &trial)?;
    if let Some(failure) = tried.failure {
        return Ok(Err(failure));
    }
    let said = tried.outcome.final_text.unwrap_or_default();
    if !said.lines().any(|line| line.trim() == CONTRACT) {
        let text = format!("it said {:?}", tribunal_view::plain::clipped(&said, 80));
        return Ok(Err(Failure::new(FailureKind::Garbled, text)));
    }
    let left: Vec<_> = std::fs::read_dir(&trial.dir)?.filter_map(Result::ok).collect();
    if let Some(file) = left.first() {
        let text = format!("it only had to read, and left {}", file.path().display());
        return Ok(Err(Failure::new(FailureKind::Tampered, text)));
    }
    Ok(Ok(()))
}

/// The line that an agent has to answer with.
const CONTRACT: &str = "CONTRACT: kept";
