//! Reads the planning documents that people and models write into types, and writes them back: plans, summaries,
//! phases, and the formats that are imported.
//!
//! Nothing here does IO, knows the time, panics on a document, or turns a scalar into something it was not written as.
//! Reading is tolerant and says so: every repair is a diagnostic with its exact place, because a run must be able to
//! refuse a plan that was not read as it was written.

pub mod chain;
mod contract;
mod front;
pub mod gutted;
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
mod shell_checks;
mod summary;
mod task;
mod uat;
pub mod unsteady;
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

/// A remark about a document: where, counted in the whole file from 1, and what.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Diagnostic {
    /// The line in the file, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
    /// What was found, and what was expected instead.
    pub message: String,
    /// Whether the document was read otherwise than it was written: something never closes, is left out, or is given
    /// twice.
    ///
    /// In a plan this counts only for keys that steer a run. A caller that is about to act on the document refuses it
    /// then; one that only shows it need not care.
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

/// How many diagnostics of one document are kept. Nobody reads a longer list.
const DIAGNOSTICS_MAX: usize = 200;

/// Diagnostics in the order of the file, without repetitions, and not more than anybody would read.
fn in_order(mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    diagnostics.sort();
    // A strict and a tolerant reading may both report the same place.
    diagnostics.dedup();
    let more = diagnostics.len().saturating_sub(DIAGNOSTICS_MAX);
    // The cut is itself a diagnostic, so that a list of two hundred does not look complete.
    if more > 0 {
        diagnostics.truncate(DIAGNOSTICS_MAX);
        let (line, column) = diagnostics.last().map_or((1, 1), |d| (d.line, d.column));
        let message = format!("and {more} more from here on");
        diagnostics.push(Diagnostic::new(line, column, message));
    }
    diagnostics
}

/// Serialises keys and values as one JSON object instead of a list of pairs.
fn as_object<S: serde::Serializer>(entries: &[(String, Value)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(entries.iter().map(|(key, value)| (key, value)))
}

/// The result of reading a document. Without a value the diagnostics say why.
///
/// A value with `recovered` set is the best reading of a damaged document. Look at `misread` in the diagnostics before
/// it decides anything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Read<T> {
    /// The document, unless it could not be read.
    pub value: Option<T>,
    /// Whether it took repairs to read the document; the diagnostics name each.
    pub recovered: bool,
    /// Every remark, in the order of the file.
    pub diagnostics: Vec<Diagnostic>,
}
