//! Settings as the engine uses them: one typed value, read once at the start. Where each value came from is
//! the command line's business; which values exist is the defaults file's.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tribunal_core::policy::Effort;

/// Everything that can be set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The run.
    pub run: RunSettings,
    /// The plan gate.
    pub plan: PlanSettings,
    /// A task's loop.
    pub task: TaskSettings,
    /// The delivery gate.
    pub qa: QaSettings,
    /// The phase review.
    pub phase: PhaseSettings,
    /// The artifact chain.
    pub chain: ChainSettings,
    /// Gates and leases.
    pub gates: GateSettings,
    /// Checks: commands that judge.
    pub checks: CheckSettings,
    /// Git.
    pub git: GitSettings,
    /// Who runs in which role.
    pub agents: AgentSettings,
    /// What may be spent.
    #[serde(default)]
    pub budget: BudgetSettings,
    /// Adapter rows of the user's own, by name.
    #[serde(default)]
    pub adapters: BTreeMap<String, toml::Value>,
    /// Tools of the user's own that judge without a model, by name.
    #[serde(default)]
    pub tools: BTreeMap<String, toml::Value>,
}

/// When a gate is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// In every run.
    Always,
    /// When a flag asks for it.
    OnRequest,
    /// Never; every report says so.
    Never,
}

/// `[run]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunSettings {
    /// How much is spent on care.
    pub effort: Effort,
    /// `cautious`, `standard`, `confident` or `pure-vibe`.
    pub autonomy: String,
    /// Agents at most at a time.
    pub parallel_max: usize,
    /// `group` or `each`.
    pub land: String,
    /// The result is rebased without asking when the user's branch has moved.
    #[serde(default)]
    pub land_again: bool,
    /// Repairs per lane after refused landings.
    pub landing_rounds: u32,
    /// `all` or `each`.
    pub plan_gate: String,
    /// `always`, `when_parallel`, `auto` or `never`.
    pub prefer_teams: String,
    /// Say what happened in plain sentences at the end.
    pub plain_summary: bool,
    /// Seconds agents may go on after the first interrupt.
    pub grace_s: u64,
    /// Pause before a second attempt, in milliseconds.
    pub backoff_ms: u64,
    /// The longest such pause.
    #[serde(default = "minute_ms")]
    pub backoff_max_ms: u64,
    /// Tries at one step.
    pub attempts_max: u32,
    /// Days after which `gc` removes a finished run.
    pub keep_days: u32,
    /// The user's command when a person is asked; empty for none.
    #[serde(default)]
    pub on_escalation: Vec<String>,
    /// The user's command when the run has ended; empty for none.
    #[serde(default)]
    pub on_end: Vec<String>,
    /// Seconds such a command may take.
    #[serde(default = "half_a_minute_s")]
    pub on_timeout_s: u64,
}

/// `[plan]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanSettings {
    /// When plans are judged before any code.
    pub review: When,
    /// Judgings at most.
    pub rounds_max: u32,
    /// Tasks in a plan at most.
    pub tasks_max: u32,
}

/// `[task]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskSettings {
    /// Judgings at most; 0 means by effort.
    pub rounds_max: u32,
    /// Runs of the dev at most.
    pub iterations_max: u32,
    /// Consecutive re-reviews with the same findings before it is stale.
    pub stale_limit: u32,
    /// `escalate` or `checks_only`.
    pub on_no_verdict: String,
}

/// `[qa]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QaSettings {
    /// When deliveries are judged.
    pub review: When,
    /// Judgings at most.
    pub rounds_max: u32,
}

/// `[phase]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PhaseSettings {
    /// When the phase is reviewed at the end of a run.
    pub review: When,
    /// Judgings at most.
    pub rounds_max: u32,
    /// `classic`: reviewers by the kinds of things that changed; `domains`: by the fields they touch.
    #[serde(default = "classic")]
    pub panel: String,
    /// One full pass before the final approval.
    pub final_pass: bool,
    /// Polish after a pass.
    pub polish: bool,
    /// `changed`, `dependents` or `directory`.
    pub polish_scope: String,
}

/// `[chain]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChainSettings {
    /// `hotfix`, `quick`, `standard` or `full`.
    pub mode: String,
    /// When artifacts are reviewed.
    pub review: When,
    /// `block` or `warn`.
    pub on_exhausted: String,
}

/// `[gates]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GateSettings {
    /// Gates switched off; every report names them.
    pub off: Vec<String>,
    /// `stop` or `continue` when a gate did not run.
    pub errors: String,
    /// Seconds a lease of the `lease-lock` command lasts.
    pub lease_ttl_s: u64,
}

/// `[checks]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckSettings {
    /// Seconds one command may take.
    pub timeout_s: u64,
    /// Megabytes that tools may keep for the next review; 0 keeps nothing.
    #[serde(default = "cache_mb")]
    pub cache_mb: u64,
    /// Megabytes a file of an agent may have to be taken; 0 takes every file.
    #[serde(default = "file_mb")]
    pub file_mb: u64,
    /// The command that builds the project; empty means by what lies in the repository.
    #[serde(default)]
    pub build: Vec<String>,
    /// The command that runs the project's tests; empty means by what lies in the repository.
    #[serde(default)]
    pub test: Vec<String>,
    /// The project has no tests: no command is looked for, and nobody is asked for one.
    #[serde(default)]
    pub no_tests: bool,
    /// Checks and tools may use the network.
    #[serde(default)]
    pub network: bool,
    /// The command that installs what checks need, with the network; empty means that nothing is to be installed.
    #[serde(default)]
    pub prepare: Vec<String>,
    /// Commands that judge every task and every landing, by name: argv, no shell.
    #[serde(default)]
    pub commands: BTreeMap<String, Vec<String>>,
}

/// `[git]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GitSettings {
    /// `manual` or `commit`: whether planning files are committed at the end.
    pub planning: String,
    /// `never` or `after_phase`.
    pub push: String,
    /// Name on commits; empty takes the user's own.
    pub author_name: String,
    /// Address on commits; empty takes the user's own.
    pub author_email: String,
    /// `auto`: commits are signed as the user's git is configured; `never`, and every report says so.
    #[serde(default = "auto")]
    pub sign: String,
    /// Commits end with the user's `Signed-off-by`.
    #[serde(default)]
    pub signoff: bool,
    /// `run`: the user's commit hooks judge; `skip`, and every report says so.
    #[serde(default = "run")]
    pub hooks: String,
    /// Seconds one hook may take.
    #[serde(default = "minute_s")]
    pub hooks_s: u64,
    /// The subject of commits whose message is Tribunal's own: `{type}`, `{scope}` and `{text}` stand for its parts.
    #[serde(default = "message")]
    pub message: String,
}

/// `[agents]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentSettings {
    /// `quality`, `balanced` or `budget`.
    pub profile: String,
    /// The adapter for every role that names none; empty means that no agent is configured.
    pub default: String,
    /// Scenario of the `scripted` adapter.
    #[serde(default)]
    pub scenario: String,
    /// Seconds a maker may take.
    pub maker_timeout_s: u64,
    /// Seconds a reviewer may take.
    pub reviewer_timeout_s: u64,
    /// Parts of a large change that one reviewer is asked about in a round at most.
    #[serde(default = "parts_max")]
    pub parts_max: u32,
    /// Seconds an agent may print nothing while its processes do nothing; 0 is no limit.
    #[serde(default)]
    pub silent_s: u64,
    /// Seconds an agent may print without taking a step; 0 is no limit.
    #[serde(default)]
    pub stall_s: u64,
    /// How often an agent may make the same call in a row; 0 is no limit.
    #[serde(default)]
    pub same_call_max: usize,
    /// Megabytes that stay free on the disk, a twentieth of it at most; 0 is no limit.
    #[serde(default)]
    pub disk_free_mb: u64,
    /// Seconds an account is left alone after a rate limit that names no time.
    #[serde(default)]
    pub park_s: u64,
    /// Seconds of such a pause at most; longer ones count as a used-up account.
    #[serde(default)]
    pub park_max_s: u64,
    /// `auto`, `required` or `off`: whether agents and checks are kept to their own files.
    #[serde(default = "auto")]
    pub sandbox: String,
    /// Folders that makers and checks may also write to; `~/` is the home folder.
    #[serde(default)]
    pub writable: Vec<String>,
    /// Files and folders that every launch may also read; `~/` is the home folder.
    #[serde(default)]
    pub readable: Vec<String>,
    /// Seats that judge a plan.
    pub plan_seats: Vec<String>,
    /// Seats that judge a task.
    pub task_seats: Vec<String>,
    /// Seats that judge a delivery when a check failed.
    pub qa_seats: Vec<String>,
    /// Seats of the phase review.
    pub phase_seats: Vec<String>,
    /// A backup reviewer is asked when a seat is lost.
    pub backup: bool,
    /// Roles and seats with an agent, model or arguments of their own.
    #[serde(default)]
    pub roles: BTreeMap<String, RoleSettings>,
}

impl AgentSettings {
    /// The adapter for a role or seat: the first of these names that has one of its own, else the default.
    pub fn adapter_for(&self, names: &[&str]) -> Option<String> {
        let own = names.iter().find_map(|name| self.roles.get(*name)?.adapter.clone());
        own.or_else(|| (!self.default.is_empty()).then(|| self.default.clone()))
    }
}

/// `[budget]`: cents; 0 is no cap.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BudgetSettings {
    /// Spent in a run at most.
    pub run_cents: u64,
    /// Spent in one loop at most.
    pub loop_cents: u64,
    /// Spent in one round of a loop at most.
    pub round_cents: u64,
    /// Tokens in and out of a run at most.
    pub run_tokens: u64,
    /// Reserved for a maker before it is launched.
    pub maker_cents: u64,
    /// Reserved for a reviewer before it is launched.
    pub reviewer_cents: u64,
}

fn classic() -> String {
    "classic".to_owned()
}

fn parts_max() -> u32 {
    16
}

fn auto() -> String {
    "auto".to_owned()
}

fn run() -> String {
    "run".to_owned()
}

fn message() -> String {
    "{type}({scope}): {text}".to_owned()
}

fn minute_s() -> u64 {
    60
}

fn half_a_minute_s() -> u64 {
    30
}

/// What a run takes whose settings are older than the key.
fn file_mb() -> u64 {
    100
}

fn cache_mb() -> u64 {
    4096
}

fn minute_ms() -> u64 {
    60_000
}

/// `[agents.roles.NAME]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoleSettings {
    /// The adapter.
    #[serde(default)]
    pub adapter: Option<String>,
    /// The model.
    #[serde(default)]
    pub model: Option<String>,
    /// Turns at most.
    #[serde(default)]
    pub turns: Option<u32>,
    /// Further arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// Who the agent is to be, in words: in its own instructions where it takes them, else behind the prompt.
    #[serde(default)]
    pub personality: Option<String>,
}
