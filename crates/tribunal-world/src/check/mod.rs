//! Checks: judges that are not models. A command runs contained, in a throwaway checkout.
//!
//! A check that could not run is not green. It did not run, and only the settings can let such a result pass, in which
//! case every report says so.

pub(crate) mod around;
pub(crate) mod delivery;
pub(crate) mod guard;
pub(crate) mod hooks;
pub(crate) mod message;
pub(crate) mod protected;
pub(crate) mod rules;
pub mod script;
pub(crate) mod secrets;
pub(crate) mod unattended;

use crate::build::account::Account;
use crate::build::artifact::{self, ARTIFACT};
use crate::check::around::{AFTER_PLAN, AFTER_TASK};
use crate::check::delivery::{Delivery, REGRESSION, worse};
use crate::check::guard::{CONTRACT, Guard, INTEGRITY};
use crate::check::hooks::{HOOKS, Staged};
use crate::check::protected::PROTECTED;
use crate::check::secrets::SECRETS;
use crate::context::base::{Base, fork};
use crate::context::meanwhile::Meanwhile;
use crate::context::subject;
use crate::context::{PlanText, RunContext, lock, slug};
use crate::project::inside;
use crate::sandbox::enforced;
use crate::sandbox::{self, SandboxSpec};
use crate::tests_run::base_judge::{JudgingCommand, TrustedJudge};
use crate::tests_run::green::{self, KnownCommand};
use crate::tests_run::prepare::{Judged, prepare};
use crate::tests_run::reads::Reads;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
pub(crate) use tribunal_core::checks::{LANDING, STRUCTURE, VERIFICATION};
use tribunal_core::contract::Contract;
use tribunal_core::defence::{Defence, stands};
use tribunal_core::effect::EffectId;
use tribunal_core::finding::{Claim, FixableBy, Severity};
use tribunal_core::gate::{self, CommandRun, GateResult, Next};
use tribunal_core::green::{CommandState, ProjectCommand};
use tribunal_core::ids::{Check, PlanId, Revision};
use tribunal_core::judge_files::Named;
use tribunal_core::policy::Situation;
use tribunal_core::review_loop::{Checked, Failure, FailureKind, Loop, LoopReport};
use tribunal_core::run::{Job, Standing, Subject};
use tribunal_docs::qa::{CHECKS, ran_no_test};
use tribunal_docs::{PlanFacts, PlanFinding, PlanSeverity};
use tribunal_engine::crash;
use tribunal_engine::run_state::{ChainNote, JudgeNote, Note, RunState};
use tribunal_engine::world::Report;
use tribunal_git::{GitError, GitPath, Oid};
use tribunal_process::{Cause, ExitHow, Launch, Stdin, run_to_end};

/// How many bytes of output are kept as evidence.
pub(crate) const EVIDENCE_MAX: u64 = 4_000;
const OUTPUT_MAX: u64 = 64 << 20;
/// The variables of our environment that a command sees. No secret is among them.
pub(crate) const KEPT: [&str; 8] =
    ["PATH", "HOME", "LANG", "CARGO_HOME", "RUSTUP_HOME", "GOPATH", "GOMODCACHE", "VIRTUAL_ENV"];
const GRACE: Duration = Duration::from_secs(2);

/// One check to run, gathered from the run state.
///
/// A check has several kinds, and most fields belong to one of them. `findings` picks the kind by which field is
/// filled.
pub(crate) struct Checking {
    effect: EffectId,
    check: Check,
    revision: Revision,
    commands: Vec<Command>,
    /// The source of the judging files.
    judge: TrustedJudge,
    plan: Option<PlanChecking>,
    guard: Option<Guard>,
    /// The artifact that is checked.
    artifact: Option<Box<ChainNote>>,
    delivery: Option<Box<Delivery>>,
    /// What a polish is based on, and the command that runs the tests.
    polished: Option<(Revision, Option<KnownCommand>)>,
    /// The commit from which secrets and protected files are looked for.
    since: Option<String>,
    /// What the user's commit hooks are shown.
    hooks: Option<Staged>,
    /// A check that did not run stops nothing, and every report says so.
    lenient: bool,
}

/// A command, and how it was written.
///
/// The written form is what people see and what identifies the command in the journal. The words that are really run
/// may differ, for example with a shell around them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Command {
    pub(crate) argv: Vec<String>,
    pub(crate) shown: String,
    /// Variables besides those that every command gets.
    pub(crate) env: Vec<(OsString, OsString)>,
    /// Folders that it may write to besides its own.
    pub(crate) room: Vec<PathBuf>,
    /// Places that it may read besides what every command sees.
    pub(crate) reads: Vec<PathBuf>,
    /// The folder of the tree in which it runs; the root where this is empty.
    pub(crate) place: String,
    /// Why it is too dangerous to run; then it is not run.
    pub(crate) forbidden: Option<&'static str>,
    /// How long it may take, where that differs from other checks.
    pub(crate) limit: Option<Duration>,
    /// Whether a tool's row gives it the network; none for commands that are not tools.
    pub(crate) network: Option<bool>,
    /// Whether the files it names judge or are judged.
    pub(crate) named: Named,
}

/// Why a check has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NotRun {
    /// The reason in words.
    pub(crate) why: String,
    /// Nobody asked for the check, and there was nothing for it to look at.
    ///
    /// Only then is a missing answer harmless. Any other check that did not run stops the loop, unless `gates.errors`
    /// is `continue`.
    pub(crate) nothing_there: bool,
}

impl From<String> for NotRun {
    fn from(why: String) -> NotRun {
        NotRun { why, nothing_there: false }
    }
}

/// The findings of a check, or why it has no answer.
pub(crate) type Found = Result<Vec<Claim>, NotRun>;

struct PlanChecking {
    path: String,
    others: Vec<(String, Revision)>,
    found: Revision,
}

impl Checking {
    /// Gathers the check from the run state, on the engine's thread.
    pub(crate) fn gather(
        context: &RunContext,
        effect: &EffectId,
        review_loop: &Loop,
        check: &Check,
        revision: &Revision,
        run_state: &RunState,
    ) -> Option<Checking> {
        let subject = subject::of(review_loop.id())?;
        let plan = match &subject {
            Subject::Plan(plan) => Some(PlanChecking {
                path: run_state.about.paths.get(plan)?.clone(),
                others: others(run_state, plan),
                found: subject::found_revision(run_state, plan)?,
            }),
            Subject::Lane(..) | Subject::Phase | Subject::Polish | Subject::Chain => None,
        };
        let guard = if is_guarded(check) { guard(context, &subject, run_state) } else { None };
        let name = check.as_str();
        // Other loops have checks of the same name, such as the regression check of a polish.
        let judged = matches!(subject, Subject::Lane(_, Job::Qa))
            && (CHECKS.contains(&name) || AFTER_PLAN.contains(&name));
        let delivery =
            if judged { Some(Box::new(delivery(context, review_loop, &subject, run_state)?)) } else { None };
        Some(Checking {
            effect: effect.clone(),
            check: check.clone(),
            revision: revision.clone(),
            commands: match AFTER_PLAN.contains(&name) {
                true => {
                    subject::plan_of(&subject).map_or_else(Vec::new, |plan| held_to(context, plan, run_state))
                }
                false => commands(context, &subject, check, run_state),
            },
            // The judging files are fixed now: a person's later decision is for the next check.
            judge: TrustedJudge::of(run_state),
            plan,
            guard,
            artifact: run_state.about.chain.clone().filter(|_| check.as_str() == ARTIFACT),
            delivery,
            polished: match subject {
                Subject::Polish | Subject::Chain if check.as_str() == REGRESSION => {
                    Some((run_state.run.as_ref()?.tip()?.clone(), tests(context, run_state)))
                }
                _ => None,
            },
            since: matches!(name, SECRETS | PROTECTED).then(|| run_state.reviewed_from().to_owned()),
            hooks: (name == HOOKS).then(|| Staged::of(&subject, run_state)),
            lenient: context.settings.gates.errors == "continue",
        })
    }

    /// Runs the check. Runs on a worker.
    pub(crate) fn run(self, context: &RunContext) {
        match self.findings(context) {
            Ok(Ok(findings)) => {
                let report = LoopReport::Checked(Checked { findings });
                context.report(&self.effect, Report::Loop(report), Vec::new());
            }
            // The effect was stopped meanwhile. Nobody waits for the answer.
            Ok(Err(_)) if context.is_unwanted(&self.effect) => {}
            Ok(Err(NotRun { why, nothing_there })) => {
                match gate::next(GateResult::DidNotRun, nothing_there, self.lenient) {
                    Next::SayIt => {
                        // With the test command's own check switched on, its exit status was already judged. That the
                        // tests cannot be counted is then no news.
                        let counts =
                            self.check.as_str() == REGRESSION && green::is_on(context, ProjectCommand::Test);
                        let text = format!("{} did not run and stopped nothing: {why}", self.check);
                        let notes = if counts { Vec::new() } else { vec![Note::Warning(text)] };
                        context.report(&self.effect, Report::Loop(LoopReport::Unchecked(why)), notes);
                    }
                    // Only `SayIt` lets a missing answer pass. Everything else fails closed.
                    Next::GoOn | Next::SendBack | Next::Ask => {
                        context.fail(&self.effect, Failure::new(FailureKind::DidNotRun, why), Vec::new());
                    }
                }
            }
            Err(error) => {
                let failure = Failure::new(FailureKind::DidNotRun, error.to_string());
                context.fail(&self.effect, failure, Vec::new());
            }
        }
    }

    fn findings(&self, context: &RunContext) -> Result<Found, GitError> {
        if let Some(delivery) = &self.delivery {
            let commit = context.commit_of(&self.revision)?;
            return match self.check.as_str() {
                around::ARTIFACTS => around::artifacts(context, delivery, &commit).map(Ok),
                around::THRESHOLD => around::threshold(context, &self.asked(".threshold"), &commit),
                check => delivery.findings(context, check, &commit),
            };
        }
        if self.check.as_str() == AFTER_TASK {
            return around::hygiene(context, &context.commit_of(&self.revision)?).map(Ok);
        }
        if let Some(staged) = &self.hooks {
            return staged.findings(context, &self.effect, &context.commit_of(&self.revision)?);
        }
        if let Some(since) = &self.since {
            let (base, commit) = (Oid::parse(since)?, context.commit_of(&self.revision)?);
            return match self.check.as_str() {
                PROTECTED => protected::found(&context.repo, &base, &commit).map(Ok),
                _ => secrets::found(&context.repo, &context.environment, &base, &commit).map(Ok),
            };
        }
        if let Some((before, tests)) = &self.polished {
            let (before, now) = (context.commit_of(before)?, context.commit_of(&self.revision)?);
            return worse(context, tests.as_ref(), &before, &now);
        }
        if let Some(note) = &self.artifact {
            return artifact::gaps(context, note, &self.revision).map(Ok);
        }
        if let Some(guard) = &self.guard {
            return guard.findings(context, self.check.as_str(), &context.commit_of(&self.revision)?).map(Ok);
        }
        // The check needs the plan, and the plan could not be read. Without this line the check would fall through to
        // an empty list of commands, which passes.
        if is_guarded(&self.check) {
            return Ok(Err("the plan it goes by cannot be read".to_owned().into()));
        }
        match (self.check.as_str(), &self.plan) {
            (STRUCTURE, Some(plan)) => self.structure(context, plan).map(Ok),
            (LANDING, _) => self.landing(context).map(Ok),
            _ => {
                let commit = context.commit_of(&self.revision)?;
                Ok(self.asked("").run(context, &commit)?.map_err(NotRun::from))
            }
        }
    }

    /// Its commands, judged with the base's files.
    fn asked<'a>(&'a self, end: &'a str) -> Commands<'a> {
        Commands {
            effect: &self.effect,
            end,
            commands: &self.commands,
            judge: Some(&self.judge),
            revision: Some(&self.revision),
        }
    }

    fn structure(&self, context: &RunContext, plan: &PlanChecking) -> Result<Vec<Claim>, GitError> {
        let bytes = context.repo.read_blob(&context.commit_of(&self.revision)?)?;
        let text = String::from_utf8_lossy(&bytes);
        let read = tribunal_docs::read_plan(&plan.path, &text);
        let Some(document) = read.value else {
            let report = tribunal_docs::unreadable_plan(&plan.path, &read.diagnostics);
            return Ok(report.findings.iter().map(plan_claim).collect());
        };
        // Another plan that cannot be read is left out here. Its own check reports it.
        let others: Vec<_> = plan
            .others
            .iter()
            .filter_map(|(path, revision)| context.plan_text(path, revision).ok())
            .collect();
        let others: Vec<&tribunal_docs::Plan> = others.iter().map(|text| &text.plan).collect();
        let head = context.run_head()?;
        let exists = |path: &str| {
            let path = GitPath::from(path);
            context.repo.file_at(&head, &path).is_ok_and(|file| file.is_some())
        };
        let tasks_max = context.settings.plan.tasks_max as usize;
        let facts = PlanFacts { exists: &exists, tasks_max, others: &others, known_skills: None };
        let mut findings = tribunal_docs::structural_check(&document, &facts).findings;
        if plan.found != self.revision
            && let Ok(before) = context.plan_text(&plan.path, &plan.found)
        {
            findings.extend(tribunal_docs::check_revision(&before.plan, &document, &[]));
        }
        // Only what the revision adds counts: a secret that the plan had before is not the architect's.
        let before = context.repo.read_blob(&context.commit_of(&plan.found)?)?;
        let both = (Some(before.as_slice()), bytes.as_slice());
        let leaked = secrets::in_document(&context.environment, &plan.path, both, STRUCTURE);
        Ok(findings.iter().map(plan_claim).chain(leaked).collect())
    }

    /// Reports conflict markers that were left, and conflicts with what landed meanwhile.
    fn landing(&self, context: &RunContext) -> Result<Vec<Claim>, GitError> {
        let commit = context.commit_of(&self.revision)?;
        let (head, base) = (context.run_head()?, fork(context, &commit)?);
        let mut claims = Vec::new();
        for path in context.repo.changed_paths(&base, &commit)? {
            let bytes = context.repo.file_at(&commit, &path)?.unwrap_or_default();
            if let Some(line) = marker_line(&bytes) {
                claims.push(conflict(&path, Some(line), "a conflict marker is left in the file"));
            }
        }
        for path in context.repo.unite(&base, &head, &commit)?.conflicts {
            claims.push(conflict(&path, None, "it conflicts with what landed meanwhile"));
        }
        Ok(claims)
    }
}

/// A finding about a file that conflicts.
pub(crate) fn conflict(path: &GitPath, line: Option<u32>, text: &str) -> Claim {
    let mut claim = Claim::new(Severity::Blocker, text).at(path.to_string(), line);
    claim.rule = Some(LANDING.to_owned());
    claim.confidence = 100;
    claim.confidence_stated = true;
    claim
}

/// A finding of Tribunal's own, with full confidence.
pub(crate) fn failing(severity: Severity, text: impl Into<String>) -> Claim {
    let mut claim = Claim::new(severity, text);
    claim.confidence = 100;
    claim.confidence_stated = true;
    claim
}

/// The command that runs the project's tests.
fn tests(context: &RunContext, run_state: &RunState) -> Option<KnownCommand> {
    green::known(context, run_state, ProjectCommand::Test)
}

/// Whether a check is one of the gates around a change.
fn is_guarded(check: &Check) -> bool {
    matches!(check.as_str(), CONTRACT | INTEGRITY)
}

/// The gates of a change, with what they compare it with.
fn guard(context: &RunContext, subject: &Subject, run_state: &RunState) -> Option<Guard> {
    if *subject == Subject::Chain {
        return Some(Guard::of_all(context.project.planning_path(), run_state.reviewed_from()));
    }
    let plan = subject::plan_of(subject)?;
    let text = approved(context, run_state, plan)?;
    let contract = tribunal_docs::contract_of(&text.plan);
    Some(Guard {
        contract: if stands(Defence::ContractAsFound) {
            contract
        } else {
            in_tree(context, run_state, plan)?
        },
        meanwhile: Some(Meanwhile::of(run_state)),
        held: held(context, plan, run_state),
        planning: context.project.planning_path(),
        base: Base::of_gates(subject, run_state),
        began: run_state.reviewed_from().to_owned(),
    })
}

/// The files that other plans of the run claim, by pattern.
pub(crate) fn held(context: &RunContext, plan: &PlanId, run_state: &RunState) -> BTreeMap<String, PlanId> {
    let mut held = BTreeMap::new();
    for (other, standing) in run_state.run.iter().flat_map(|run| run.standings()) {
        if other != plan && is_live(&standing) {
            let claimed = approved(context, run_state, other).map(|text| text.plan.claimed_files());
            held.extend(claimed.into_iter().flatten().map(|file| (file, other.clone())));
        }
    }
    held
}

/// The contract from the plan in the lane's own tree, which its builder can change.
///
/// It is used only where the defence is switched off for a test, to show what the defence prevents.
fn in_tree(context: &RunContext, run_state: &RunState, plan: &PlanId) -> Option<Contract> {
    let path = run_state.about.paths.get(plan)?;
    let text = fs::read_to_string(context.lane_dir(plan).join("tree").join(path)).ok()?;
    Some(tribunal_docs::contract_of(&tribunal_docs::read_plan(path, &text).value?))
}

fn is_live(standing: &Standing<'_>) -> bool {
    // A plan that landed or was dropped claims nothing any more.
    matches!(standing, Standing::Working(_) | Standing::Summary | Standing::Queued | Standing::Stuck(_))
}

fn approved(context: &RunContext, run_state: &RunState, plan: &PlanId) -> Option<Arc<PlanText>> {
    let path = run_state.about.paths.get(plan)?;
    context.plan_text(path, &subject::plan_revision(run_state, plan)?).ok()
}

fn delivery(
    context: &RunContext,
    review_loop: &Loop,
    subject: &Subject,
    run_state: &RunState,
) -> Option<Delivery> {
    let plan = subject::plan_of(subject)?;
    let account = Account::gather(context, plan, run_state)?;
    let (tests, fixed) = (tests(context, run_state), review_loop.round() > 1);
    let made = subject_made(run_state, plan).or_else(|| review_loop.judged().first().cloned())?;
    Some(Delivery {
        account,
        plan: approved(context, run_state, plan)?,
        tests,
        fixed,
        made,
        meanwhile: Meanwhile::of(run_state),
    })
}

/// The result of a plan's tasks: the last approved revision of its lane.
fn subject_made(run_state: &RunState, plan: &PlanId) -> Option<Revision> {
    run_state.run.as_ref()?.lane_head(plan).cloned()
}

fn marker_line(bytes: &[u8]) -> Option<u32> {
    let starts = |line: &[u8]| line.starts_with(b"<<<<<<< ") || line.starts_with(b">>>>>>> ");
    let at = bytes.split(|byte| *byte == b'\n').position(starts)?;
    u32::try_from(at + 1).ok()
}

fn others(run_state: &RunState, plan: &PlanId) -> Vec<(String, Revision)> {
    let paths = run_state.about.paths.iter().filter(|(id, _)| *id != plan);
    paths.filter_map(|(id, path)| Some((path.clone(), subject::plan_revision(run_state, id)?))).collect()
}

/// A finding of the structural check, as a claim. Only the architect can fix a plan.
pub(crate) fn plan_claim(finding: &PlanFinding) -> Claim {
    let severity = match finding.severity {
        PlanSeverity::High => Severity::Blocker,
        PlanSeverity::Medium => Severity::Warning,
        PlanSeverity::Low => Severity::Suggestion,
    };
    let mut claim = Claim::new(severity, &finding.description).at(&finding.file, Some(finding.line));
    claim.suggestion = finding.suggestion.clone();
    claim.rule = Some(finding.id.clone());
    claim.confidence = 100;
    claim.confidence_stated = true;
    claim.fixable_by = FixableBy::Architect;
    claim
}

/// The commands of a check.
///
/// The commands of a plan come from the document as the run found it. An agent that revises the plan could otherwise
/// choose the commands that judge it.
pub(crate) fn commands(
    context: &RunContext,
    subject: &Subject,
    check: &Check,
    run_state: &RunState,
) -> Vec<Command> {
    let name = check.as_str();
    if matches!(
        name,
        STRUCTURE
            | LANDING
            | ARTIFACT
            | REGRESSION
            | CONTRACT
            | INTEGRITY
            | SECRETS
            | PROTECTED
            | AFTER_TASK
            | HOOKS
    ) || CHECKS.contains(&name)
        || AFTER_PLAN.contains(&name)
    {
        // These checks are functions of this crate. They have no commands.
        return Vec::new();
    }
    if check.as_str() != VERIFICATION {
        let argv =
            context.check_settings(run_state).commands.get(check.as_str()).cloned().unwrap_or_default();
        return vec![Command { shown: argv.join(" "), argv, ..Command::default() }];
    }
    // A review recorded the commands of its plans when it began. The change could have edited the plans since.
    if let Some(review) = &run_state.about.review {
        return review.verification.iter().map(|line| shell(line)).collect();
    }
    match subject::plan_of(subject) {
        Some(plan) => plan_commands(context, run_state, plan, subject),
        // A review of everything runs what all plans verify themselves by.
        None => {
            let plans = run_state.about.paths.keys();
            plans.flat_map(|plan| plan_commands(context, run_state, plan, subject)).collect()
        }
    }
}

/// The commands that a delivery has to pass: those of its tasks, without tasks that a person accepted as they are.
fn held_to(context: &RunContext, plan: &PlanId, run_state: &RunState) -> Vec<Command> {
    let Some(text) = approved(context, run_state, plan) else { return Vec::new() };
    let tasks = 1..=u32::try_from(text.plan.tasks.len()).unwrap_or(u32::MAX);
    let taken = |task: &u32| {
        let of_it = |review_loop: &&Loop| matches!(subject::of(review_loop.id()), Some(Subject::Lane(_, Job::Task(n))) if n == *task);
        subject::loops_of(run_state, plan)
            .filter(of_it)
            .any(|review_loop| run_state.accepter(review_loop.id()).is_some())
    };
    let of_task =
        |task: u32| plan_commands(context, run_state, plan, &Subject::Lane(plan.clone(), Job::Task(task)));
    tasks.filter(|task| !taken(task)).flat_map(of_task).collect()
}

/// Every command that judges this subject, for a reviewer that wants to run one itself.
pub(crate) fn askable(context: &RunContext, subject: &Subject, run_state: &RunState) -> Vec<Command> {
    // A document has nothing to build or test.
    if matches!(subject, Subject::Plan(_)) || (*subject == Subject::Chain && !artifact::is_code(run_state)) {
        return Vec::new();
    }
    let checks = context.check_settings(run_state);
    let named = checks.commands.keys().map(|name| Check::new(name.as_str()));
    let all = std::iter::once(Check::new(VERIFICATION)).chain(named);
    // The other facts cost processes to find out, and do not say anything about commands.
    let situation = Situation {
        switched_off: context.settings.gates.off.iter().cloned().collect(),
        has_verification: true,
        ..Situation::default()
    };
    all.filter(|check| situation.applies(subject, check))
        .flat_map(|check| commands(context, subject, &check, run_state))
        .collect()
}

fn plan_commands(
    context: &RunContext,
    run_state: &RunState,
    plan: &PlanId,
    subject: &Subject,
) -> Vec<Command> {
    let (Some(path), Some(found)) =
        (run_state.about.paths.get(plan), subject::found_revision(run_state, plan))
    else {
        return Vec::new();
    };
    // Switched off only in tests that show what the defence prevents.
    let found = match stands(Defence::CommandsAsFound) {
        true => found,
        false => subject::plan_revision(run_state, plan).unwrap_or(found),
    };
    let Ok(text) = context.plan_text(path, &found) else { return Vec::new() };
    let task = |n: u32| text.plan.tasks.get(usize::try_from(n).ok()?.checked_sub(1)?);
    let of_tasks: Vec<&String> = match subject {
        Subject::Lane(_, Job::Task(n)) => task(*n).into_iter().flat_map(|task| &task.verification).collect(),
        _ => text.plan.tasks.iter().flat_map(|task| &task.verification).collect(),
    };
    let whole = match subject {
        // The plan's own commands need all of its tasks, so only the last task has to pass them.
        Subject::Lane(_, Job::Task(n)) if (*n as usize) < text.plan.tasks.len() => Vec::new(),
        _ => text.plan.verification_commands.iter().collect(),
    };
    of_tasks.into_iter().chain(whole).map(|line| shell(line)).collect()
}

/// A command that its author wrote as a line for a shell.
fn shell(line: &str) -> Command {
    let argv = vec!["sh".to_owned(), "-c".to_owned(), line.to_owned()];
    let forbidden = gate::danger(line);
    Command { argv, shown: line.to_owned(), forbidden, named: Named::Subject, ..Command::default() }
}

/// Commands that judge a change, and for whom they run.
pub(crate) struct Commands<'a> {
    /// The effect; once it is no longer wanted, nothing new is started.
    pub(crate) effect: &'a EffectId,
    /// A suffix that tells several runs for one effect apart.
    pub(crate) end: &'a str,
    pub(crate) commands: &'a [Command],
    /// The source of the judging files; none where nothing follows from a pass.
    pub(crate) judge: Option<&'a TrustedJudge>,
    /// The revision that is judged, where a person could accept it as it is.
    pub(crate) revision: Option<&'a Revision>,
}

/// The findings of commands, or why one of them did not run.
type FoundBy = Result<Vec<Claim>, String>;

impl Commands<'_> {
    /// Runs the commands one after the other in a throwaway checkout of a commit.
    ///
    /// A pass counts only if the commands also pass with the judging files as they are in the base. Otherwise a change
    /// could make its own check pass by editing the test.
    pub(crate) fn run(&self, context: &RunContext, commit: &Oid) -> Result<FoundBy, GitError> {
        if self.commands.is_empty() {
            return Ok(Ok(Vec::new()));
        }
        let tree = context.repo.tree_of(commit)?;
        let found = self.run_on(context, commit, &tree, 0, None)?;
        let (true, Some(judge)) = (found.as_ref().is_ok_and(Vec::is_empty), self.judge) else {
            return Ok(found);
        };
        if stands(Defence::BaseJudge)
            && let Some(claims) = self.with_base_judge(context, judge, commit, &tree)?
        {
            return Ok(Ok(claims));
        }
        // By commit for the gates after a plan, and by tree for a landing that comes to the same tree under another
        // commit.
        let passed = self.commands.iter().flat_map(|command| {
            [(commit.clone(), command.shown.clone()), (tree.clone(), command.shown.clone())]
        });
        lock(&context.passed).extend(passed);
        Ok(found)
    }

    /// The finding about a change that passes only with its own judging files; none where it also passes with the
    /// base's.
    fn with_base_judge(
        &self,
        context: &RunContext,
        judge: &TrustedJudge,
        commit: &Oid,
        tree: &Oid,
    ) -> Result<Option<Vec<Claim>>, GitError> {
        let judging =
            |command: &Command| JudgingCommand { steps: vec![command.argv.clone()], named: command.named };
        let judging: Vec<JudgingCommand> = self.commands.iter().map(judging).collect();
        // Counts the runs, so that each has a folder of its own.
        let mut n = 0;
        let run = &mut |at: &Oid| {
            n += 1;
            let found = self.run_on(context, commit, at, n, None)?;
            let state = match &found {
                Ok(claims) => match claims.first() {
                    None => CommandState::Green,
                    Some(claim) => CommandState::Red { how: claim.details.clone(), broke: false },
                },
                Err(why) => CommandState::Unknown { why: why.clone() },
            };
            Ok((state, found))
        };
        let looked = judge.look(context, &judging, commit, run, &mut |at, files| {
            let mut read = BTreeSet::new();
            // Only the files that it reads count here. The result comes from the runs above.
            let _ = self.run_on(context, commit, at, 0, Some((files, &mut read)))?;
            Ok(read)
        })?;
        let Some(look) = looked.filter(|look| !look.judged.state.is_green()) else { return Ok(None) };
        let red = look.evidence.unwrap_or_default();
        // If nothing red is left, a command did not run at all, and every one of them is named.
        let shown: Vec<&str> = match red.is_empty() {
            true => self.commands.iter().map(|command| command.shown.as_str()).collect(),
            false => red.iter().filter_map(|claim| claim.rule.as_deref()).collect(),
        };
        let shown = shown.join("`, `");
        let text = format!("`{shown}`: {}", tribunal_core::green::judge_changed(&look.judged));
        if let Some(revision) = self.revision {
            let note = JudgeNote {
                effect: self.effect.to_string(),
                revision: revision.clone(),
                tree: tree.to_string(),
                text: text.clone(),
                files: look.files,
            };
            context.note(Note::Judge(Box::new(note)));
        }
        let mut claim = failing(Severity::Blocker, text);
        claim.evidence = red.into_iter().next().map(|claim| claim.evidence).unwrap_or_default();
        Ok(Some(vec![green::judge_changed(claim, &shown, &look.judged)]))
    }

    /// Runs the commands on a tree, checked out as if it were the commit's. Collects which of the watched files were
    /// read.
    fn run_on(
        &self,
        context: &RunContext,
        commit: &Oid,
        tree: &Oid,
        n: usize,
        watched: Option<(&[String], &mut BTreeSet<String>)>,
    ) -> Result<FoundBy, GitError> {
        // Each run has a folder of its own: their launches must not overwrite each other's output.
        let again = match (n, &watched) {
            (_, Some(_)) => ".reads".to_owned(),
            (0, None) => String::new(),
            (n, None) => format!(".base{n}"),
        };
        let name = &format!("{}{}{again}", slug(&self.effect.to_string()), self.end);
        let dir = context.dir.join("checks").join(name);
        let (path, index) = (dir.join("tree"), dir.join("index"));
        context.worktree_pool.discard(&dir)?;
        fs::create_dir_all(&dir).map_err(|source| GitError::Io { path: dir.clone(), source })?;
        context.worktree_pool.checkout_as(&path, &index, commit, tree, "check")?;
        let mut claims = Vec::new();
        let mut did_not_run = prepare(context, Judged { commit, tree }, &path).err();
        let watched = watched.map(|(files, read)| (Reads::begin(&dir, &path, files), read));
        for (n, command) in self.commands.iter().enumerate() {
            if did_not_run.is_some() {
                break;
            }
            // A stop between two commands: the remaining ones would only cost time.
            if context.is_unwanted(self.effect) {
                did_not_run = Some("no longer wanted".to_owned());
                break;
            }
            match run_one(context, name, n, &path, &dir, command) {
                Ok(claim) => claims.extend(claim),
                Err(why) => {
                    did_not_run = Some(why);
                    break;
                }
            }
        }
        if let Some((reads, read)) = watched {
            *read = reads.read();
        }
        context.worktree_pool.discard(&dir)?;
        Ok(did_not_run.map_or(Ok(claims), Err))
    }
}

/// Whether a command passed on exactly this commit's tree in this run.
pub(crate) fn has_passed(context: &RunContext, commit: &Oid, command: &Command) -> Result<bool, GitError> {
    let tree = context.repo.tree_of(commit)?;
    Ok(lock(&context.passed).contains(&(tree, command.shown.clone())))
}

fn run_one(
    context: &RunContext,
    name: &str,
    n: usize,
    tree: &Path,
    dir: &Path,
    command: &Command,
) -> Result<Option<Claim>, String> {
    let shown = &command.shown;
    if let Some(why) = command.forbidden {
        return Err(format!("`{shown}` did not run: it is forbidden: it {why}"));
    }
    let (how, out_dir) = contained(context, name, n, tree, dir, command)?;
    match went(&how, &out_dir) {
        CommandRun::Passed => Ok(None),
        CommandRun::Failed(_) => Ok(Some(failed(shown, &how, &out_dir, &lacks(context, command, &out_dir)))),
        CommandRun::DidNotRun(why) | CommandRun::NoTest(why) => {
            Err(format!("`{shown}` did not run: {why}{}", lacks(context, command, &out_dir)))
        }
    }
}

/// The meaning of a contained command's end.
pub(crate) fn went(how: &ExitHow, out_dir: &Path) -> CommandRun {
    let text = |name: &str| inside::text(&out_dir.join(name)).unwrap_or_default();
    // A test runner that finds no test ends with 0 in some languages. That is not a pass.
    let none = ran_no_test(&[text("stdout"), text("stderr")].concat());
    let said = tail(&out_dir.join("stderr")).lines().last().unwrap_or_default().to_owned();
    CommandRun::of(&script::end_of(how), none, &said)
}

/// The folder for temporary files of a command that runs in `dir/tree`.
///
/// Nothing else of `dir` is shown to the command. Whoever can write there can put a link in the tree's place for the
/// next command, or change the index by which the files are taken.
pub(crate) fn tmp_in(dir: &Path) -> PathBuf {
    dir.join("tmp")
}

/// The file in which a command may report its tests.
pub(crate) fn junit_in(dir: &Path) -> PathBuf {
    tmp_in(dir).join("junit.xml")
}

/// Runs one command contained. Returns how it ended and where its output is; the error says why it did not run.
///
/// Every judging command of a run comes through here, so none gets around the sandbox, the network rule or the time
/// limit.
pub(crate) fn contained(
    context: &RunContext,
    name: &str,
    n: usize,
    tree: &Path,
    dir: &Path,
    command: &Command,
) -> Result<(ExitHow, PathBuf), String> {
    let shown = &command.shown;
    let tmp = tmp_in(dir);
    // The command before this one had the tree to itself and may have put a link in the folder's place.
    inside::is_folder(tree, &command.place)
        .and_then(|()| fs::create_dir_all(&tmp))
        .map_err(|error| format!("`{shown}` did not run: {error}"))?;
    let at = if command.place.is_empty() { tree.to_path_buf() } else { tree.join(&command.place) };
    let out_dir = context.dir.join("launches").join(format!("{name}.{n}"));
    // A check may be repeated after a crash. Its old output says nothing about this run.
    let _ = fs::remove_dir_all(&out_dir);
    let env = |name: &str| context.environment.get(name).map(|value| (OsString::from(name), value.clone()));
    let mut kept: Vec<(OsString, OsString)> = KEPT.into_iter().filter_map(env).collect();
    kept.push(("TMPDIR".into(), tmp.clone().into()));
    kept.push(("TRIBUNAL_JUNIT".into(), junit_in(dir).into()));
    // Runners write missing snapshots and call them passed, unless they know that nobody looks at what they wrote.
    kept.push(("CI".into(), "true".into()));
    let network = context.network(command.network);
    kept.extend(enforced::offline(network));
    kept.extend(command.env.iter().cloned());
    // Last, so that a variable of the command itself cannot bring an entry of the tree back.
    for (_, path) in kept.iter_mut().filter(|(name, _)| name == "PATH") {
        *path = context.plain_path(path, tree);
    }
    let more = std::iter::once(tmp).chain(command.room.iter().cloned()).map(|path| (path, true));
    let more = more.chain(command.reads.iter().map(|path| (path.clone(), false)));
    let mounts = context.mounts(&SandboxSpec {
        tree,
        write: true,
        own: &out_dir,
        more: more.collect(),
        row: None,
        env: &kept,
        program: command.argv.first().map(OsStr::new),
    })?;
    let launch = Launch {
        id: format!("{name}.{n}"),
        run_marker: context.marker.clone(),
        argv: command.argv.iter().map(OsString::from).collect(),
        env: kept,
        dir: at,
        stdin: Stdin::Null,
        out_dir: out_dir.clone(),
        output_max: OUTPUT_MAX,
        mounts: mounts.clone(),
        network,
    };
    let timeout = command.limit.unwrap_or(Duration::from_secs(context.settings.checks.timeout_s));
    crash::point("check:before");
    let exit = run_to_end(context.supervisor.containment().clone(), launch, timeout, GRACE)
        .map_err(|error| format!("`{shown}` did not run: {error}"))?;
    crash::point("check:after");
    context.left(&out_dir, &exit);
    // A failure may come from the sandbox: add the hint to the output that people read.
    if let (Some(mounts), false) = (&mounts, exit.how == ExitHow::Code(0)) {
        let said = [tail(&out_dir.join("stdout")), tail(&out_dir.join("stderr"))].join("\n");
        sandbox::add_to(&out_dir.join("stderr"), mounts, &said);
    }
    match (&exit.how, exit.cause) {
        (_, Cause::Stopped) => Err(format!("`{shown}` did not end within {} s", timeout.as_secs())),
        (_, Cause::OutputLimit) => Err(format!("`{shown}` wrote more than {OUTPUT_MAX} bytes")),
        (ExitHow::NotStarted(why), _) => Err(format!("`{shown}` did not start: {why}")),
        // The shell's codes for "not executable" and "not found": nothing was judged.
        (ExitHow::Code(126 | 127), _) => Err(format!(
            "`{shown}` did not run: {}{}",
            tail(&out_dir.join("stderr")),
            lacks(context, command, &out_dir)
        )),
        (ExitHow::Code(_) | ExitHow::Signal(_), _) => Ok((exit.how.clone(), out_dir)),
    }
}

/// How a command ended, in words.
pub(crate) fn ended(how: &ExitHow) -> String {
    match how {
        ExitHow::Code(code) => format!("exit code {code}"),
        ExitHow::Signal(signal) => format!("signal {signal}"),
        ExitHow::NotStarted(why) => why.clone(),
    }
}

/// The hint for a command that has no network and whose output says so; empty for any other.
pub(crate) fn lacks(context: &RunContext, command: &Command, out_dir: &Path) -> String {
    let output = [tail(&out_dir.join("stdout")), tail(&out_dir.join("stderr"))].join("\n");
    let hint = enforced::way_out(context.network(command.network), &output);
    hint.map(|hint| format!(" ({hint})")).unwrap_or_default()
}

fn failed(shown: &str, how: &ExitHow, out_dir: &Path, hint: &str) -> Claim {
    let mut claim = Claim::new(Severity::Blocker, format!("`{shown}` fails{hint}"));
    claim.details = ended(how);
    claim.evidence = format!("{}{}", tail(&out_dir.join("stdout")), tail(&out_dir.join("stderr")));
    claim.rule = Some(shown.to_owned());
    claim.confidence = 100;
    claim.confidence_stated = true;
    claim
}

/// The end of a file, as text; empty where it cannot be read.
pub(crate) fn tail(path: &Path) -> String {
    // The end of an output is where tools summarize.
    let bytes = tribunal_process::tail(path, EVIDENCE_MAX).unwrap_or_default();
    String::from_utf8_lossy(&bytes).trim().to_owned()
}
