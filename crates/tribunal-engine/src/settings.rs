//! Settings as the engine uses them: one typed value, read once at the start.
//!
//! The command line knows where each value came from, and the defaults file which values exist. A run stores its
//! settings, and a resumed run uses the stored ones: a key that is younger than a run needs a serde default here.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tribunal_core::policy::Effort;

/// Everything that can be set, one field for each table of `tribunal.toml`.
///
/// Unknown keys are errors, so that a misspelled key is not silently a default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The table `[run]`: the run as a whole.
    pub run: RunSettings,
    /// The table `[plan]`: the review of plans.
    pub plan: PlanSettings,
    /// The table `[task]`: the loop of a task.
    pub task: TaskSettings,
    /// The table `[qa]`: the review of deliveries.
    pub qa: QaSettings,
    /// The table `[phase]`: the review of the phase.
    pub phase: PhaseSettings,
    /// The table `[chain]`: the artifact chain.
    pub chain: ChainSettings,
    /// The table `[gates]`: gates and leases.
    pub gates: GateSettings,
    /// The table `[checks]`: commands that judge.
    pub checks: CheckSettings,
    /// The table `[git]`: commits and how they are made.
    pub git: GitSettings,
    /// The table `[agents]`: which agent runs in which role.
    pub agents: AgentSettings,
    /// The table `[budget]`: what may be spent.
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
///
/// A gate that is never held is named in every report, so that its absence is not mistaken for a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// The gate is held in every run.
    Always,
    /// The gate is held when a flag asks for it.
    OnRequest,
    /// The gate is never held; every report says so.
    Never,
}

/// The table `[run]`.
///
/// Words such as `land` stay text here. They become types when a run is set up, where a wrong word is an error that
/// names its key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunSettings {
    /// How much the run spends on care.
    pub effort: Effort,
    /// `cautious`, `standard`, `confident` or `pure-vibe`.
    pub autonomy: String,
    /// How many agents may run at the same time.
    pub parallel_max: usize,
    /// `group`: the plans of a wave land together; `each`: a plan lands when it is approved.
    pub land: String,
    /// Whether to rebase the result without asking when the user's branch has moved.
    #[serde(default)]
    pub land_again: bool,
    /// How many repairs a lane gets after refused landings.
    pub landing_rounds: u32,
    /// `all`: one refused plan stops the phase; `each`: the plans that passed go on.
    pub plan_gate: String,
    /// `always`, `when_parallel`, `auto` or `never`.
    pub prefer_teams: String,
    /// Whether to say in plain sentences at the end what happened.
    pub plain_summary: bool,
    /// Seconds that agents may go on after the first interrupt.
    pub grace_s: u64,
    /// Pause before a second attempt, in milliseconds.
    pub backoff_ms: u64,
    /// The longest such pause, in milliseconds.
    #[serde(default = "minute_ms")]
    pub backoff_max_ms: u64,
    /// How many tries one step gets.
    pub attempts_max: u32,
    /// Days after which `gc` removes a finished run.
    pub keep_days: u32,
    /// The user's command when a person is asked; empty for none.
    #[serde(default)]
    pub on_escalation: Vec<String>,
    /// The user's command when the run has ended; empty for none.
    #[serde(default)]
    pub on_end: Vec<String>,
    /// Seconds that such a command may take.
    #[serde(default = "half_a_minute_s")]
    pub on_timeout_s: u64,
}

/// The table `[plan]`: the review of plans before any code.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanSettings {
    /// When plans are judged before any code.
    pub review: When,
    /// How many review rounds a plan may take.
    pub rounds_max: u32,
    /// How many tasks a plan may have.
    pub tasks_max: u32,
}

/// The table `[task]`: the loop of one task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskSettings {
    /// How many review rounds a task may take; 0 means by effort.
    pub rounds_max: u32,
    /// How many times the builder may run.
    pub iterations_max: u32,
    /// How many re-reviews in a row may find the same before the task is stale.
    pub stale_limit: u32,
    /// What happens without a verdict: `escalate` or `checks_only`.
    pub on_no_verdict: String,
}

/// The table `[qa]`: the review of a delivery.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QaSettings {
    /// When deliveries are judged.
    pub review: When,
    /// How many review rounds a delivery may take.
    pub rounds_max: u32,
}

/// The table `[phase]`: the review of everything that landed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PhaseSettings {
    /// When the phase is reviewed at the end of a run.
    pub review: When,
    /// How many review rounds the phase may take.
    pub rounds_max: u32,
    /// `classic`: reviewers by the kinds of things that changed; `domains`: by the fields they touch.
    #[serde(default = "classic")]
    pub panel: String,
    /// Whether one full pass comes before the final approval.
    pub final_pass: bool,
    /// Whether a polish comes after a pass.
    pub polish: bool,
    /// Which files the polish looks at: `changed`, `dependents` or `directory`.
    pub polish_scope: String,
}

/// The table `[chain]`: artifacts of a feature, one after the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChainSettings {
    /// The mode: `hotfix`, `quick`, `standard` or `full`.
    pub mode: String,
    /// When artifacts are reviewed.
    pub review: When,
    /// What happens when the rounds are spent: `block` or `warn`.
    pub on_exhausted: String,
}

/// The table `[gates]`: gates of the protocol.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GateSettings {
    /// Gates that are switched off; every report names them.
    pub off: Vec<String>,
    /// Whether to `stop` or `continue` when a gate could not run.
    pub errors: String,
    /// Seconds that a lease of the `lease-lock` command lasts.
    pub lease_ttl_s: u64,
}

/// The table `[checks]`: commands that judge a change.
///
/// Commands run without a shell, and without network unless `network` gives it to them. Commands that are detected come
/// from the base and never from the change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckSettings {
    /// Seconds that one command may take.
    pub timeout_s: u64,
    /// Megabytes that tools may keep for the next review; 0 keeps nothing.
    #[serde(default = "cache_mb")]
    pub cache_mb: u64,
    /// Megabytes that a file of an agent may have to be taken; 0 takes every file.
    #[serde(default = "file_mb")]
    pub file_mb: u64,
    /// The command that builds the project; if empty, it is detected from the repository.
    #[serde(default)]
    pub build: Vec<String>,
    /// The command that runs the project's tests; if empty, it is detected from the repository.
    #[serde(default)]
    pub test: Vec<String>,
    /// The project has no tests: no command is detected, and nobody is asked for one.
    #[serde(default)]
    pub no_tests: bool,
    /// Whether checks and tools may use the network.
    #[serde(default)]
    pub network: bool,
    /// The command that installs what checks need, with the network; empty if nothing has to be installed.
    #[serde(default)]
    pub prepare: Vec<String>,
    /// Commands that judge every task and every landing, by name: argv, no shell.
    #[serde(default)]
    pub commands: BTreeMap<String, Vec<String>>,
}

/// The table `[git]`: commits, signatures and hooks.
///
/// Signing and hooks follow the user's own git configuration by default. Switching one off is possible, and every
/// report says so.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GitSettings {
    /// The only branch that work may land on; empty for the one that is checked out.
    #[serde(default)]
    pub branch: String,
    /// `manual` or `commit`: whether planning files are committed at the end.
    pub planning: String,
    /// Whether to push the result: `never` or `after_phase`.
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
    /// Seconds that one hook may take.
    #[serde(default = "minute_s")]
    pub hooks_s: u64,
    /// The subject of commits whose message is Tribunal's own: `{type}`, `{scope}` and `{text}` stand for its parts.
    #[serde(default = "message")]
    pub message: String,
}

/// The table `[agents]`: who runs in which role, and within which limits.
///
/// Most limits default to 0, which means none, so stored settings from before a limit existed keep their meaning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentSettings {
    /// The profile of models: `quality`, `balanced` or `budget`.
    pub profile: String,
    /// The adapter for every role that names none; empty means that no agent is configured.
    pub default: String,
    /// The scenario file of the `scripted` adapter.
    #[serde(default)]
    pub scenario: String,
    /// Seconds that a builder may take.
    pub builder_timeout_s: u64,
    /// Seconds that a reviewer may take.
    pub reviewer_timeout_s: u64,
    /// How many parts of a large change one reviewer may be asked about in a round.
    #[serde(default = "parts_max")]
    pub parts_max: u32,
    /// Seconds that an agent may print nothing while its processes do nothing; 0 means no limit.
    #[serde(default)]
    pub silent_s: u64,
    /// Seconds that an agent may print without taking a step; 0 means no limit.
    #[serde(default)]
    pub stall_s: u64,
    /// How often an agent may make the same call in a row; 0 means no limit.
    #[serde(default)]
    pub same_call_max: usize,
    /// Megabytes that stay free on the disk, but at most a twentieth of it; 0 means no limit.
    #[serde(default)]
    pub disk_free_mb: u64,
    /// Seconds that an account is left alone after a rate limit that names no time.
    #[serde(default)]
    pub park_s: u64,
    /// Seconds that such a pause may last; a longer one counts as a used-up account.
    #[serde(default)]
    pub park_max_s: u64,
    /// `auto`, `required` or `off`: whether agents and checks are kept to their own files.
    #[serde(default = "auto")]
    pub sandbox: String,
    /// Folders that builders and checks may also write to; `~/` is the home folder.
    #[serde(default)]
    pub writable: Vec<String>,
    /// Files and folders that every launch may also read; `~/` is the home folder.
    #[serde(default)]
    pub readable: Vec<String>,
    /// The reviewers of a plan.
    pub plan_reviewers: Vec<String>,
    /// The reviewers of a task.
    pub task_reviewers: Vec<String>,
    /// The reviewers of a delivery for which a check failed.
    pub qa_reviewers: Vec<String>,
    /// The reviewers of a phase.
    pub phase_reviewers: Vec<String>,
    /// Whether a fallback reviewer is asked when a reviewer is lost.
    pub backup: bool,
    /// Roles and reviewers with an agent, model or arguments of their own.
    #[serde(default)]
    pub roles: BTreeMap<String, RoleSettings>,
}

impl AgentSettings {
    /// The adapter of a role or reviewer: of the first name with one of its own, else the default.
    ///
    /// Callers pass the most special name first, for example the reviewer and then its role.
    pub fn adapter_for(&self, names: &[&str]) -> Option<String> {
        let own = names.iter().find_map(|name| self.roles.get(*name)?.adapter.clone());
        // An empty default means that no agent is configured. It is not the name of an adapter.
        own.or_else(|| (!self.default.is_empty()).then(|| self.default.clone()))
    }
}

/// The table `[budget]`: caps in cents; 0 means that there is no cap.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BudgetSettings {
    /// What a run may spend, in cents.
    pub run_cents: u64,
    /// What one loop may spend, in cents.
    pub loop_cents: u64,
    /// What one round of a loop may spend, in cents.
    pub round_cents: u64,
    /// How many tokens a run may use, in and out.
    pub run_tokens: u64,
    /// What is reserved for a builder before its launch.
    pub builder_cents: u64,
    /// What is reserved for a reviewer before its launch.
    pub reviewer_cents: u64,
}

// The functions below are for stored settings that are older than their key. A new run takes its defaults from the
// defaults file.
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

/// The limit for a run whose settings are older than the key.
fn file_mb() -> u64 {
    100
}

fn cache_mb() -> u64 {
    4096
}

fn minute_ms() -> u64 {
    60_000
}

/// The table `[agents.roles.NAME]`: one role or reviewer with its own agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoleSettings {
    /// The adapter of the agent.
    #[serde(default)]
    pub adapter: Option<String>,
    /// The model that the agent uses.
    #[serde(default)]
    pub model: Option<String>,
    /// How many turns the agent may take.
    #[serde(default)]
    pub turns: Option<u32>,
    /// Further arguments for the agent's program.
    #[serde(default)]
    pub args: Vec<String>,
    /// Who the agent is to be, in words. They go to its own instructions if it takes them, else after the prompt.
    #[serde(default)]
    pub personality: Option<String>,
}
