//! Launches agents and reads what they left: from a brief to a process, and from its output to an answer or a named
//! failure.
//!
//! An exit code alone never counts as success. What an answer means is not decided here but by the file that launched
//! the agent; this file only says whether there is one, and if not, why. Each kind of failure is handled differently by
//! the loop machine, so a new cause needs the right kind, not just a text.

pub(crate) mod ask_again;
pub(crate) mod base_program;
pub(crate) mod call_policy;
pub(crate) mod lost;
pub(crate) mod ran;
pub(crate) mod report_server;
pub mod trial;
pub(crate) mod watch;
pub(crate) mod word;

use crate::check::{Command, Commands};
use crate::context::{RunContext, Then, lock, now, slug};
use crate::launch::base_program::Judged;
use crate::launch::call_policy::{CallPolicy, Capability};
use crate::launch::ran::OnRecord;
use crate::launch::report_server::{Checks, Later, LaunchServices};
use crate::launch::watch::{Limits, Watched};
use crate::project::identity;
use crate::sandbox::SandboxSpec;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tribunal_agent::reporting::{self, Answer, HEARD_FILE, Part, VOTES};
use tribunal_agent::{
    Access, Adapter, Asks, Brief, Feature, Left, Mcp, Outcome, Prepared, Problem, ProblemKind, Reading,
    Reset, ToolCall,
};
use tribunal_core::defence::{Defence, stands};
use tribunal_core::effect::{EffectId, Step};
use tribunal_core::finding::{Claim, Verdict};
use tribunal_core::ids::{LoopId, Time};
use tribunal_core::review_loop::{Failure, FailureKind};
use tribunal_core::tables::{self, TurnsSet};
use tribunal_core::usage::SessionTotals;
use tribunal_engine::crash;
use tribunal_engine::run_state::{LaunchNote, RunState};
use tribunal_git::Oid;
use tribunal_process::{Callers, Cause, Exit, ExitHow, Launch, Mounts, Network, ProcessError, Stdin};
use tribunal_view::spoken::Identity;
use tribunal_view::{context, plain, prompt};

/// How many bytes an agent may write to its output.
const OUTPUT_MAX: u64 = 256 << 20;
/// How many refused calls and surprises of one launch are kept, and how long each may be.
const REMARKS_MAX: usize = 20;
const REMARK_MAX: usize = 200;

/// A launch that has ended.
pub(crate) struct Ended {
    pub(crate) outcome: Outcome,
    pub(crate) note: LaunchNote,
    /// Why there is no answer; none if there is one.
    pub(crate) failure: Option<Failure>,
    /// The launch word. Only lines that carry it are read as the agent's own.
    pub(crate) word: Option<String>,
}

/// A builder's session that a later launch may continue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Session {
    pub(crate) id: String,
    pub(crate) totals: SessionTotals,
}

/// What a launch begins with.
pub(crate) enum Begin {
    /// A builder, with the session that it continues, if there is one.
    Session(Option<Session>),
    /// A reviewer of a commit. Programs that lie in the tree are taken from the base.
    Judge {
        /// The commit that its programs are taken from.
        base: String,
        commit: Oid,
    },
}

/// What is known of a launch before it ends.
///
/// Together with the exit and the files of the launch's folder it is all that `read_back` needs, so that a launch of a
/// dead orchestrator can be read in the same way.
pub(crate) struct Flight {
    pub(crate) effect: EffectId,
    pub(crate) role: String,
    pub(crate) agent: String,
    pub(crate) out_dir: PathBuf,
    /// The review round it works for.
    pub(crate) round: u32,
    /// Tokens of its prompt beyond the first two tiers.
    pub(crate) told: u64,
    /// The cost reserved for it, in millionths of a dollar.
    pub(crate) reserved: u64,
    /// The session that it continues.
    pub(crate) session: Option<Session>,
    /// Features that were asked for and that its program does not have.
    pub(crate) left_out: Vec<Feature>,
    /// Its launch word; none in a trial.
    pub(crate) word: Option<String>,
    /// The identity of the agent.
    pub(crate) identity: Identity,
}

/// What a launch may report through its socket, and have done there.
pub(crate) struct Reporting {
    pub(crate) capability: Capability,
    /// The checks that it may ask for, and the commit they run on.
    pub(crate) checks: Option<(Oid, Vec<Command>)>,
}

impl RunContext {
    /// Launches an agent. `then` is called on a worker thread once no process of it is left.
    ///
    /// A launch that cannot begin is reported as a failed effect, and `then` is not called.
    pub(crate) fn launch(
        self: &Arc<Self>,
        effect: &EffectId,
        names: &[&str],
        brief: Brief,
        begin: Begin,
        reporting: Option<Reporting>,
        then: impl FnOnce(&Arc<RunContext>, Ended) + Send + 'static,
    ) {
        if let Err(text) = self.try_launch(effect, names, brief, begin, reporting, then) {
            self.report_server.shut(&slug(&effect.to_string()));
            self.fail(effect, Failure::new(FailureKind::Setup, text), Vec::new());
        }
    }

    fn try_launch(
        self: &Arc<Self>,
        effect: &EffectId,
        names: &[&str],
        mut brief: Brief,
        begin: Begin,
        reporting: Option<Reporting>,
        then: impl FnOnce(&Arc<RunContext>, Ended) + Send + 'static,
    ) -> Result<(), String> {
        let agent =
            self.adapter_for(names).ok_or_else(|| format!("no agent is configured for {}", brief.role))?;
        let row = self.adapters.get(&agent).map_err(|error| error.to_string())?.clone();
        // Without a launch word, text that the agent only quotes could pass for its own verdict. So there is no launch.
        if brief.word.is_none() {
            return Err("there is no launch word: /dev/urandom cannot be read".to_owned());
        }
        let (session, base) = match begin {
            Begin::Session(session) => (session, None),
            Begin::Judge { base, commit } => (None, Some((base, commit))),
        };
        let session = session.filter(|_| row.can(Feature::Resume, brief.access));
        let told = tribunal_core::tables::tokens_of(&brief.prompt);
        // A session that continues has read the context already.
        if session.is_none() {
            brief.prompt = self.with_context(&brief.role, &brief.prompt);
        }
        let mut asks = self.asks(names, session.as_ref());
        std::fs::create_dir_all(&brief.out_dir).map_err(|error| error.to_string())?;
        if let Some(reporting) = reporting.filter(|_| row.can(Feature::Mcp, brief.access)) {
            asks.mcp = self.receive(effect, &mut brief, reporting)?;
        }
        let keep = |name: &str| self.environment.get(name).cloned();
        let mut prepared =
            tribunal_agent::prepare(&row, &brief, &asks, &keep).map_err(|error| error.to_string())?;
        let programs = base.map(|(base, commit)| self.programs_from(&base, &commit, &mut prepared));
        let programs = programs.transpose()?.flatten();
        let flight = Flight {
            effect: effect.clone(),
            role: brief.role.clone(),
            agent,
            out_dir: brief.out_dir.clone(),
            round: brief.round,
            told,
            reserved: self.reserve(effect),
            session,
            left_out: prepared.left_out.clone(),
            word: brief.word.clone(),
            identity: identity::of_launch(
                &row,
                brief.model.as_deref(),
                asks.personality.as_deref(),
                &brief.prompt,
                (&self.words_of(names), self.login_of(&row)),
            ),
        };
        // Before the process starts: a crash after that must not forget what the launch may cost.
        lost::keep(&flight).map_err(|error| format!("{}: {error}", flight.out_dir.display()))?;
        self.ask_version(&row);
        let watched = self.watched(effect, &row, &flight, asks.turns);
        let sandboxed = row.clone();
        let context = Arc::clone(self);
        let began = Instant::now();
        let ended = move |exit: Exit| {
            // Read on a worker: the supervisor's thread has to go on with the other processes.
            let jobs = context.jobs.clone();
            jobs.run(move || {
                crash::point("launch:ended");
                let effect = flight.effect.clone();
                let id = slug(&effect.to_string());
                // The socket is closed before the answer is read, so that nothing can be added to it afterwards.
                let (stopped, refused) = (context.watch.end(&id), context.report_server.shut(&id));
                // A panic while reading costs an attempt, but the effect still gets its report.
                context.guard(&effect, || {
                    let mut ended = read_back(&row, &flight, &exit, stopped, began.elapsed());
                    ended.note.denied.extend(refused);
                    if let Some(identity) = &mut ended.note.identity {
                        identity.version = context.version(&flight.agent).unwrap_or_default();
                    }
                    context.left(&flight.out_dir, &exit);
                    then(&context, context.park(ended));
                });
            });
        };
        let mounts = agent_sandbox(&sandboxed, &brief, &prepared, |spec| {
            let shown = programs.map(|folder| (folder, false));
            self.mounts(&SandboxSpec { more: spec.more.iter().cloned().chain(shown).collect(), ..*spec })
        })?;
        self.spawn(effect, prepared, brief.out_dir, mounts, Box::new(ended))?;
        self.watch.begin(watched);
        Ok(())
    }

    /// Replaces programs in a reviewer's command line by the base's versions. Returns the folder that the sandbox must
    /// show.
    ///
    /// A builder could otherwise rewrite the program that reviews it.
    fn programs_from(
        &self,
        base: &str,
        commit: &Oid,
        prepared: &mut Prepared,
    ) -> Result<Option<PathBuf>, String> {
        let base = Oid::parse(base).map_err(|error| error.to_string())?;
        let at = prepared.argv.iter().position(|word| *word == prepared.program);
        let judged = Judged { base: &base, commit, tree: &prepared.dir };
        // Our own driver may stand before the program in the command line.
        self.takes_orders_elsewhere(judged, prepared.argv.get(at.unwrap_or(0)..).unwrap_or_default())?;
        let folder = self.lead_to_base(judged, &mut prepared.argv)?;
        if let Some(path) = prepared.env.get_mut(OsStr::new("PATH")) {
            // A relative folder on the search path would lead into the reviewed tree.
            *path = self.plain_path(path, &prepared.dir);
        }
        if let Some(program) = at.and_then(|at| prepared.argv.get(at)) {
            prepared.program.clone_from(program);
        }
        Ok(folder)
    }

    /// Opens the report socket of a launch and tells the agent about it.
    fn receive(
        self: &Arc<Self>,
        effect: &EffectId,
        brief: &mut Brief,
        reporting: Reporting,
    ) -> Result<Option<Mcp>, String> {
        let Some(mcp) = server(&self.own_binary, &brief.out_dir) else { return Ok(None) };
        let judges = reporting.capability.part == Part::Judge;
        brief.prompt.push_str(&prompt::by_tools(judges, &reporting.capability.of));
        let services = LaunchServices {
            context: context_of(&brief.prompt),
            checks: reporting.checks.map(|work| self.checks(effect, &brief.out_dir, work)),
        };
        let (id, call_policy) = (slug(&effect.to_string()), CallPolicy::new(reporting.capability));
        let opened = self.report_server.open(&id, &brief.out_dir, call_policy, services);
        opened.map_err(|error| format!("{}: {error}", brief.out_dir.display()))?;
        Ok(Some(mcp))
    }

    /// Runs the checks of a launch's work when the agent asks for them, in a throwaway copy, one after the other.
    fn checks(self: &Arc<Self>, effect: &EffectId, out_dir: &Path, work: (Oid, Vec<Command>)) -> Checks {
        // A weak reference: the report server belongs to the site and must not keep it alive.
        let (context, effect) = (Arc::downgrade(self), effect.clone());
        let record = Arc::new(OnRecord::new(out_dir, &work.1));
        let (work, busy) = (Arc::new(work), Arc::new(std::sync::Mutex::new(())));
        let (jobs, kept) = (self.slow.clone(), Arc::clone(&record));
        let run = Box::new(move |later: Later| {
            if let Err(text) = kept.asked() {
                return later.answer(Answer { accepted: false, text });
            }
            let (context, effect, kept) = (context.clone(), effect.clone(), Arc::clone(&kept));
            let (work, busy) = (Arc::clone(&work), Arc::clone(&busy));
            jobs.run(move || {
                // One at a time: all runs of a launch use the same folder.
                let _one = lock(&busy);
                let context = context.upgrade().filter(|context| !context.is_unwanted(&effect));
                let ran = context.map(|context| run_asked(&context, &effect, &work));
                let closed = || Err("this round is closed".to_owned());
                let ran: Result<Vec<Claim>, String> = ran.unwrap_or_else(closed);
                // The result is recorded before the agent learns it. It could otherwise vote on a result that a crash
                // then loses.
                later.answer(match kept.ended(ran.as_deref().ok()).and(ran) {
                    Ok(claims) => checked(&work.1, &claims),
                    Err(text) => Answer { accepted: false, text },
                });
            });
        });
        Checks { run, record }
    }

    fn watched(&self, effect: &EffectId, row: &Adapter, flight: &Flight, turns: Option<u32>) -> Watched {
        let agents = &self.settings.agents;
        let limits = Limits {
            // The watcher only counts turns for programs that cannot be given a cap themselves.
            turns_max: turns.filter(|_| flight.left_out.contains(&Feature::TurnCap)),
            silent: Duration::from_secs(agents.silent_s),
            stall: Duration::from_secs(agents.stall_s),
            same_call_max: agents.same_call_max,
            writes: matches!(effect.step, Step::Make(_)),
        };
        let id = slug(&effect.to_string());
        Watched::new(id, self.marker.clone(), Reading::of(row), row.parser, &flight.out_dir, limits)
    }

    /// The cost that is reserved for a launch, in millionths of a dollar.
    pub(crate) fn reserve(&self, effect: &EffectId) -> u64 {
        let budget = &self.settings.budget;
        let makes = matches!(effect.step, Step::Make(_));
        let cents = if makes { budget.builder_cents } else { budget.reviewer_cents };
        cents.saturating_mul(tribunal_engine::budget::MICROS_PER_CENT)
    }

    /// Leaves an account that is rate limited alone until it accepts requests again. If that takes too long, the
    /// failure becomes an exhausted quota.
    ///
    /// Retrying earlier would only fail again.
    fn park(&self, mut ended: Ended) -> Ended {
        let Some(failure) = &mut ended.failure else { return ended };
        if failure.kind != FailureKind::RateLimited {
            return ended;
        }
        let agents = &self.settings.agents;
        let at = now();
        let until = ended.note.parked_until.unwrap_or(Time(at.0.saturating_add(agents.park_s * 1000)));
        if until.0 > at.0.saturating_add(agents.park_max_s * 1000) {
            failure.kind = FailureKind::Quota;
            return ended;
        }
        // Spread out, so that not every waiting launch returns at the same moment.
        let spread = agents.park_s * 1000 / 4;
        let until = Time(until.0.saturating_add(tribunal_engine::engine::jitter(&ended.note.effect, spread)));
        ended.note.parked_until = Some(until);
        self.park_until(&ended.note.agent, until);
        ended
    }

    /// Leaves an account alone until a time. A later time that is already set stays.
    pub(crate) fn park_until(&self, agent: &str, until: Time) {
        let mut parked = lock(&self.parked);
        let at = parked.entry(agent.to_owned()).or_insert(until);
        *at = until.max(*at);
    }

    /// The time until which an agent's account is left alone.
    pub(crate) fn parked(&self, agent: &str) -> Option<Time> {
        lock(&self.parked).get(agent).copied()
    }

    /// The identity of an agent, from its configuration and its prompt.
    pub(crate) fn identity_of(&self, names: &[&str], row: &Adapter, prompt: &str) -> Identity {
        let role = names.iter().find_map(|name| self.settings.agents.roles.get(*name));
        let model = role.and_then(|role| role.model.as_deref());
        let personality = self.asks(names, None).personality;
        let own = (self.words_of(names), self.login_of(row));
        identity::of_launch(row, model, personality.as_deref(), prompt, (&own.0, own.1))
    }

    /// The arguments that the configuration adds to a program's own.
    fn words_of(&self, names: &[&str]) -> Vec<String> {
        let role = names.iter().find_map(|name| self.settings.agents.roles.get(*name));
        role.map(|role| role.args.clone()).unwrap_or_default()
    }

    /// What is asked of the program beyond its brief.
    fn asks(&self, names: &[&str], session: Option<&Session>) -> Asks {
        let roles = &self.settings.agents.roles;
        // A reviewer of one part of a large change is called after its owner, with an `@`, and uses the owner's
        // settings.
        let owner = |name: &&str| roles.get(*name).or_else(|| roles.get(name.split_once('@')?.0));
        let personality = names.iter().find_map(|name| owner(name)?.personality.clone());
        Asks {
            personality: personality.filter(|text| !text.trim().is_empty()),
            turns: self.turns(names),
            mcp: None,
            schema: None,
            session: session.map(|session| session.id.clone()),
        }
    }

    /// The number of turns that a role may take; none without a cap.
    fn turns(&self, names: &[&str]) -> Option<u32> {
        let roles = &self.settings.agents.roles;
        let of = |name: &&str| {
            let set = roles.get(*name).and_then(|role| role.turns);
            let set = set.map_or(TurnsSet::Unset, |turns| TurnsSet::Scaled(i64::from(turns)));
            tables::turns(name, self.settings.run.effort, set)
        };
        names.iter().find_map(of).filter(|turns| *turns > 0)
    }

    /// Starts the process.
    ///
    /// The callback is registered before the spawn, because the process may end before `spawn` returns.
    fn spawn(
        &self,
        effect: &EffectId,
        prepared: Prepared,
        out_dir: PathBuf,
        mounts: Option<Mounts>,
        then: Then,
    ) -> Result<(), String> {
        let id = slug(&effect.to_string());
        let own = out_dir.clone();
        let launch = Launch {
            id: id.clone(),
            run_marker: self.marker.clone(),
            argv: prepared.argv,
            env: prepared.env.into_iter().collect(),
            dir: prepared.dir,
            stdin: prepared.stdin_file.map_or(Stdin::Null, Stdin::File),
            out_dir,
            output_max: OUTPUT_MAX,
            mounts,
            network: Network::Host,
        };
        lock(&self.thens).insert(id.clone(), then);
        // Asked as late as possible: gathering the brief took time, and an unwanted launch costs money.
        let started = match self.is_unwanted(effect) {
            true => Err("no longer wanted".to_owned()),
            false => {
                crash::point("launch:before");
                let started = self.supervisor.spawn(launch);
                crash::point("launch:after");
                let heard = |started| Callers::of(started, self.supervisor.containment(), &self.marker, &id);
                started
                    .map(|started| self.report_server.begun(&id, heard(started)))
                    .map_err(|error: ProcessError| error.to_string())
            }
        };
        if started.is_err() {
            lock(&self.thens).remove(&id);
            self.never_began(&own);
        }
        started
    }
}

/// What an agent sees: its tree, writable for a builder, and its own folder.
pub(crate) fn agent_sandbox(
    row: &Adapter,
    brief: &Brief,
    prepared: &Prepared,
    raise: impl FnOnce(&SandboxSpec<'_>) -> Result<Option<Mounts>, String>,
) -> Result<Option<Mounts>, String> {
    // The report file must exist before the sandbox is set up: only this file of the folder is mounted writable.
    let report = std::fs::File::options().append(true).create(true).open(&prepared.report_file);
    report.map_err(|error| format!("{}: {error}", prepared.report_file.display()))?;
    let scene = brief.scenario.as_deref().and_then(Path::parent).map(|folder| (folder.to_path_buf(), true));
    let env: Vec<(OsString, OsString)> =
        prepared.env.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    raise(&SandboxSpec {
        tree: &prepared.dir,
        write: brief.access == Access::Write,
        own: &brief.out_dir,
        more: [(prepared.report_file.clone(), true)].into_iter().chain(scene).collect(),
        row: Some(row),
        env: &env,
        program: Some(&prepared.program),
    })
}

/// The session that a builder continues: that of its last launch in this loop, unless that session is the cause of a
/// failure.
pub(crate) fn session_of(run_state: &RunState, of: &LoopId, builder: &str, agent: &str) -> Option<Session> {
    let (prefix, step) = (format!("{of}/e"), format!("/make:{builder}#"));
    let of_builder = |note: &&LaunchNote| note.effect.starts_with(&prefix) && note.effect.contains(&step);
    let last = run_state.launches.iter().rev().find(of_builder).filter(|note| note.agent == agent)?;
    let spoilt = match last.failed {
        None => false,
        // Whatever filled the session or led the agent in a circle is still in it.
        Some(FailureKind::TooLong | FailureKind::Stalled | FailureKind::Refused) => true,
        // A resumed session that did not get to its first turn probably cannot be resumed at all.
        Some(_) => last.resumed && last.turns == 0,
    };
    let id = last.session.clone().filter(|_| !spoilt)?;
    Some(Session { id, totals: last.totals.unwrap_or_default() })
}

/// Reads what a launch left: its answer, or why there is none.
pub(crate) fn read_back(
    row: &Adapter,
    flight: &Flight,
    exit: &Exit,
    stopped: Option<Failure>,
    took: Duration,
) -> Ended {
    let at = |name: &str| flight.out_dir.join(name);
    let (stdout, stderr, heard) = (at("stdout"), at("stderr"), at(HEARD_FILE));
    let by_report_server = heard.symlink_metadata().is_ok_and(|file| file.len() > 0);
    // What came through the report socket is preferred: Tribunal wrote that file itself.
    let report = if by_report_server { heard } else { at(tribunal_agent::REPORT_FILE) };
    let left = Left {
        stdout: &stdout,
        stderr: &stderr,
        report: &report,
        exit: match exit.how {
            ExitHow::Code(code) => Some(code),
            ExitHow::Signal(_) | ExitHow::NotStarted(_) => None,
        },
        // A continued session keeps counting, so what it had used before is subtracted.
        before: flight.session.as_ref().map(|session| session.totals).unwrap_or_default(),
        structured: false,
    };
    let outcome = tribunal_agent::read_launch(row, &left)
        .unwrap_or_else(|error| Outcome { error: Some(error.to_string()), ..Outcome::default() });
    // An agent that had given its answer when it was stopped has answered.
    let failure = why_no_answer(&outcome, exit)
        .map(|failure| stopped.map_or(failure, |stopped| cause(stopped, &outcome)));
    let mut note = note_of(flight, &outcome, exit, took, failure.as_ref());
    note.ran = ran::of_launch(&flight.out_dir);
    if by_report_server && note.told == "report" {
        note.told = "mcp".to_owned();
    }
    note.escalated = escalated(&outcome);
    let failure = failure.map(|failure| match failure.kind {
        // The old session may be unusable. `Crashed` lets the same agent try again; `Setup` and `TooLong` do not.
        FailureKind::Setup | FailureKind::TooLong if flight.session.is_some() => {
            Failure::new(FailureKind::Crashed, format!("in its earlier session: {}", failure.text))
        }
        _ => failure,
    });
    let word = flight.word.clone().filter(|_| stands(Defence::LaunchWord));
    Ended { outcome, note, failure, word }
}

/// The journal's note of a launch.
fn note_of(
    flight: &Flight,
    outcome: &Outcome,
    exit: &Exit,
    took: Duration,
    failure: Option<&Failure>,
) -> LaunchNote {
    let usage = outcome.usage.unwrap_or_default();
    let denied = outcome.denials.iter().map(|denial| format!("{}: {}", denial.tool, denial.detail));
    let drift = outcome.drift.iter().map(ToString::to_string);
    let clip = |text: String| plain::clipped(&text, REMARK_MAX);
    let told = match (outcome.reports.iter().any(|call| call.tool != "escalate"), outcome.is_answer()) {
        (true, _) => "report",
        (false, true) => "final message",
        (false, false) => "",
    };
    LaunchNote {
        effect: flight.effect.to_string(),
        role: flight.role.clone(),
        agent: flight.agent.clone(),
        round: flight.round,
        reserved_micros: flight.reserved,
        began: Time(now().0.saturating_sub(took.as_millis().try_into().unwrap_or(0))),
        ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        tokens_told: flight.told,
        tokens_in: usage.input,
        tokens_out: usage.output,
        tokens_cached: usage.cached,
        cost_micros: usage.cost_micros.unwrap_or(0),
        // A process that never started cost nothing.
        cost_unknown: usage.cost_micros.is_none() && !matches!(exit.how, ExitHow::NotStarted(_)),
        estimated: usage.estimated,
        left_behind: u32::try_from(exit.killed).unwrap_or(u32::MAX),
        session: outcome.session.clone(),
        totals: outcome.totals,
        resumed: flight.session.is_some(),
        turns: outcome.turns,
        failed: failure.map(|failure| failure.kind),
        told: told.to_owned(),
        denied: denied.map(clip).take(REMARKS_MAX).collect(),
        drift: drift.map(clip).take(REMARKS_MAX).collect(),
        left_out: flight.left_out.iter().map(|feature| feature.word().to_owned()).collect(),
        parked_until: parked_until(outcome, now()),
        identity: Some(identity::ended(&flight.identity, outcome)),
        ..LaunchNote::default()
    }
}

/// The time until which the account accepts no requests, as the program was told.
fn parked_until(outcome: &Outcome, now: Time) -> Option<Time> {
    let problem = outcome.why_not().filter(|problem| problem.kind == ProblemKind::RateLimit)?;
    match problem.reset? {
        Reset::AfterMs(ms) => Some(Time(now.0.saturating_add(ms))),
        Reset::AtMs(at) => Some(Time(at)),
    }
}

/// The named failure of a launch without an answer. The loop machine handles each kind in its own way.
fn why_no_answer(outcome: &Outcome, exit: &Exit) -> Option<Failure> {
    // Asked first: the output was cut off, so nothing in it can be taken for complete.
    if exit.cause == Cause::OutputLimit {
        return Some(Failure::new(FailureKind::Garbled, "it wrote more than it may"));
    }
    let (how, clean) = match &exit.how {
        ExitHow::Code(code) => (format!("exit code {code}"), *code == 0),
        ExitHow::Signal(signal) => (format!("signal {signal}"), false),
        ExitHow::NotStarted(why) => return Some(Failure::new(FailureKind::Setup, why.clone())),
    };
    let problem = outcome.why_not().filter(|_| stands(Defence::FinalEvent) || !clean)?;
    let kind = match kind_of(&problem) {
        // Only the missing end speaks for a truncated output, so the way the process ended is the better reason.
        FailureKind::Truncated if outcome.error.is_none() && !clean => FailureKind::Crashed,
        kind => kind,
    };
    Some(Failure::new(kind, format!("{} ({how})", problem.message)))
}

/// The cause of a stop. An agent that stood still because a server did not answer failed for that reason.
fn cause(stopped: Failure, outcome: &Outcome) -> Failure {
    let idle = matches!(stopped.kind, FailureKind::Stalled | FailureKind::TimedOut);
    match outcome.last_retry.as_ref().filter(|_| idle) {
        Some(problem) => Failure::new(kind_of(problem), format!("{}; {}", problem.message, stopped.text)),
        None => stopped,
    }
}

/// The failure that a problem in an agent's output stands for.
fn kind_of(problem: &Problem) -> FailureKind {
    match problem.kind {
        ProblemKind::RateLimit => FailureKind::RateLimited,
        ProblemKind::Overloaded => FailureKind::Overloaded,
        ProblemKind::Auth => FailureKind::Auth,
        ProblemKind::Quota => FailureKind::Quota,
        ProblemKind::ContextLength => FailureKind::TooLong,
        ProblemKind::MaxTurns => FailureKind::TurnCap,
        ProblemKind::Budget => FailureKind::Budget,
        ProblemKind::Refusal => FailureKind::Refused,
        ProblemKind::Truncated => FailureKind::Truncated,
        ProblemKind::BadRequest | ProblemKind::Setup => FailureKind::Setup,
        ProblemKind::Unstructured | ProblemKind::Unreadable => FailureKind::Garbled,
        ProblemKind::Interrupted | ProblemKind::Other => FailureKind::Crashed,
    }
}

/// What an agent said: its tool calls, and its final message unless one of the calls ended the report.
///
/// A final message that does not approve is always included. Any program that a reviewer runs could have written the
/// report, and contradictory verdicts count as no verdict. A tool call needs no launch word, because the socket itself
/// is the capability; the word is added here so that calls and messages are read in the same way.
pub(crate) fn words(outcome: &Outcome, word: Option<&str>) -> String {
    let told = outcome.reports.iter().filter(|call| call.tool != "escalate");
    let ends = |tool: &str| VOTES.contains(&tool) || tool == "report_task_done";
    let ended = told.clone().any(|call| ends(&call.tool));
    let objects = |text: &String| stands(Defence::OneVerdict) && objection(text).is_some();
    let lines = told.filter_map(|call| called(call, word));
    let last = outcome.final_text.clone().filter(|text| !ended || objects(text));
    lines.chain(last).collect::<Vec<_>>().join("\n")
}

/// Whether an agent gave its verdict through a tool.
pub(crate) fn voted(outcome: &Outcome) -> bool {
    outcome.reports.iter().any(|call| VOTES.contains(&call.tool.as_str()))
}

/// The verdict of a message that does not approve, whoever may have written it.
pub(crate) fn objection(text: &str) -> Option<Verdict> {
    tribunal_findings::read(text).verdict.filter(|said| *said != Verdict::Approve)
}

/// A tool call as a line with the launch word.
fn called(call: &ToolCall, word: Option<&str>) -> Option<String> {
    let mut line = serde_json::to_value(call).ok()?;
    if let Some(word) = word {
        line["word"] = word.into();
    }
    // Calling the tool says that the task is done, unless the call says otherwise.
    if call.tool == "report_task_done" && line["args"].get("done").is_none() {
        line["args"]["done"] = true.into();
    }
    Some(line.to_string())
}

/// What is reported of a builder that did not say its task is done, with its last line.
pub(crate) fn not_done(ended: &Ended) -> String {
    let said = ended.outcome.final_text.as_deref().unwrap_or_default();
    let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    match plain::clipped(last, REMARK_MAX) {
        last if last.is_empty() => {
            "it did not report its task done: `TASK <its launch word>: done`".to_owned()
        }
        last => {
            format!("it did not report its task done (`TASK <its launch word>: done`); its last line: {last}")
        }
    }
}

/// What the agent wants a person to know.
fn escalated(outcome: &Outcome) -> Vec<String> {
    let asks = outcome.reports.iter().filter(|call| call.tool == "escalate");
    let about = asks.filter_map(reporting::escalation).map(|text| plain::clipped(text, REMARK_MAX));
    about.take(REMARKS_MAX).collect()
}

/// The MCP server that an agent starts to report by; none if the folder's path cannot be passed as an argument.
pub(crate) fn server(own_binary: &Path, out_dir: &Path) -> Option<Mcp> {
    let dir = out_dir.to_str()?.to_owned();
    let args = vec!["mcp".to_owned(), dir];
    Some(Mcp { name: reporting::SERVER.to_owned(), command: own_binary.to_path_buf(), args })
}

/// The answer to `get_context`.
pub(crate) fn context_of(prompt: &str) -> String {
    let [tier1_prefix, tier2_prefix, volatile_tail] = context::parted(prompt);
    serde_json::json!({
        "tier1_prefix": tier1_prefix, "tier2_prefix": tier2_prefix, "volatile_tail": volatile_tail,
    })
    .to_string()
}

/// Runs the checks that a launch asks for.
fn run_asked(
    context: &RunContext,
    effect: &EffectId,
    work: &(Oid, Vec<Command>),
) -> Result<Vec<Claim>, String> {
    let asked = Commands { effect, end: ".asked", commands: &work.1, judge: None, revision: None };
    asked.run(context, &work.0).map_err(|error| error.to_string())?
}

/// The results of the checks, for the agent that asked.
fn checked(commands: &[Command], claims: &[Claim]) -> Answer {
    let failing = |command: &Command| claims.iter().find(|claim| claim.rule.as_ref() == Some(&command.shown));
    let one = |command: &Command| match failing(command) {
        None => format!("`{}` passed", command.shown),
        Some(claim) => format!("`{}` failed: {}\n{}", command.shown, claim.details, claim.evidence),
    };
    Answer { accepted: true, text: commands.iter().map(one).collect::<Vec<_>>().join("\n") }
}
