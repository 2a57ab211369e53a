//! Planning documents people and models write, into types and back: plans, summaries, phases.
//! Must never do IO, know the time, panic on a document, or turn a scalar into something it was not written as.

pub mod chain;
mod contract;
mod front;
pub mod hidden;
pub mod import;
mod install_script;
pub mod integrity;
mod kind;
mod markdown;
mod names;
mod overview;
mod phase;
mod plan;
mod progress;
pub mod project_commands;
pub mod qa;
mod report;
mod review;
pub mod secret;
mod summary;
mod task;
mod uat;
pub mod words;
mod yaml;

pub use contract::{contract_of, task_id};
pub use front::{canonical_key, set_frontmatter};
pub use install_script::{changed_install_scripts, is_install_manifest};
pub use kind::{Kind, kind_of};
pub use names::{
    DocumentName, PLANNING_FOLDERS, PhaseDir, PlanArgument, PlanId, document_name, phase_dir, plan_argument,
    planning_folder,
};
pub use overview::{Overview, overview};
pub use phase::{
    Completion, Completions, Counted, Phase, PlanValidation, Problem, ProblemKind, same_wave_claims,
    validate, validate_plan, waves,
};
pub use plan::{Artifact, Dependency, KeyLink, MustHaves, Plan, read_plan, write_plan};
pub use progress::{PhaseProgress, update_roadmap, update_state};
pub use report::{phase_goal, read_verification, roadmap_section};
pub use review::{
    Check, CheckStatus, PlanFacts, PlanFinding, PlanSeverity, PlanVerdict, StructuralReport, check_revision,
    missing_plan, structural_check, unreadable_plan,
};
pub use summary::{
    FileChange, Section, Summary, SummaryCheck, SummaryFacts, check_summary, read_summary, write_summary,
};
pub use task::{PlannedFile, Task};
pub use uat::{Uat, UatAnswer, UatTest, read_uat, uat_answer, write_uat};
pub use yaml::Value;

use serde::Serialize;

/// Something about a document worth telling: where, counted in the whole file from 1, and what.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Diagnostic {
    /// Line in the file, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// What was found and what was expected.
    pub message: String,
    /// What is read there is not what was written: something never closes, is left out, or is given twice. Of a plan only
    /// where it is a key that steers a run.
    #[serde(skip)]
    pub misread: bool,
}

impl Diagnostic {
    pub(crate) fn new(line: u32, column: u32, message: impl Into<String>) -> Self {
        Diagnostic { line, column, message: message.into(), misread: false }
    }

    pub(crate) fn misread(line: u32, column: u32, message: impl Into<String>) -> Self {
        Diagnostic { misread: true, ..Diagnostic::new(line, column, message) }
    }
}

/// Diagnostics kept of one document; a document with more is beyond listing.
const DIAGNOSTICS_MAX: usize = 200;

/// In the order of the file, and no more than anybody would read.
fn in_order(mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    diagnostics.sort();
    diagnostics.dedup();
    let more = diagnostics.len().saturating_sub(DIAGNOSTICS_MAX);
    if more > 0 {
        diagnostics.truncate(DIAGNOSTICS_MAX);
        let (line, column) = diagnostics.last().map_or((1, 1), |d| (d.line, d.column));
        let message = format!("and {more} more from here on");
        diagnostics.push(Diagnostic::new(line, column, message));
    }
    diagnostics
}

/// Keys and values as one JSON object instead of a list of pairs.
fn as_object<S: serde::Serializer>(entries: &[(String, Value)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(entries.iter().map(|(key, value)| (key, value)))
}

/// What reading a document gave; without a value the diagnostics say why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Read<T> {
    /// The document, unless it could not be read.
    pub value: Option<T>,
    /// Whether it took repairs to read it; the diagnostics name each.
    pub recovered: bool,
    /// Everything noticed, in the order of the file.
    pub diagnostics: Vec<Diagnostic>,
}
