//! The progress of a phase, read from its documents: what goes into `STATE.md` and `ROADMAP.md`. It reads the planning
//! folder and writes nothing.
//!
//! A plan is complete if its SUMMARY says so. While a run ends, the SUMMARY of a landed plan is not in the folder yet,
//! so the caller passes those plans in.

use super::PhaseFiles;
use super::Project;
use crate::project::inside::read_plain;
use tribunal_docs::{PhaseProgress, PlanId};
use tribunal_engine::settings::Settings;

/// Brings the text of a document up to date with a phase's progress.
pub type Update = fn(&str, &PhaseProgress) -> String;

/// The documents that show a phase's progress, each with the function that updates it.
pub const DOCUMENTS: [(&str, Update); 2] =
    [("STATE.md", tribunal_docs::update_state), ("ROADMAP.md", tribunal_docs::update_roadmap)];

/// Reads a document of the planning folder, if it exists and is a regular file.
pub fn read(project: &Project, name: &str) -> Option<Vec<u8>> {
    read_plain(&project.root().join(project.planning()).join(name)).ok()
}

/// The progress of a phase. `landed` holds plans that are complete although their SUMMARY is not in the folder yet.
pub fn of_phase(
    project: &Project,
    phase: &str,
    landed: &[String],
    settings: &Settings,
) -> Result<PhaseProgress, String> {
    let files = project.phase(Some(phase)).map_err(|error| error.to_string())?;
    let complete = completed(&files);
    let ids = files
        .plans
        .iter()
        .filter_map(|plan| tribunal_docs::read_plan(&plan.path, &plan.text).value.map(|plan| plan.id));
    let plans = ids.map(|id| {
        let done = landed.contains(&id.to_string()) || complete.contains(&id);
        (id, done)
    });
    Ok(PhaseProgress {
        number: files.number.clone(),
        name: tribunal_docs::phase_dir(&files.folder).map(|dir| dir.slug).unwrap_or_default(),
        plans: plans.collect(),
        date: tribunal_view::calendar::date(crate::context::now().0),
        effort: effort_word(settings),
        issues: 0,
    })
}

/// The configured effort, in the word of the configuration.
pub fn effort_word(settings: &Settings) -> String {
    let effort = serde_json::to_value(settings.run.effort).ok();
    effort.and_then(|effort| effort.as_str().map(str::to_owned)).unwrap_or_default()
}

/// The plans of a phase whose SUMMARY says complete.
pub fn completed(files: &PhaseFiles) -> Vec<PlanId> {
    let read = files
        .summaries
        .iter()
        .filter_map(|document| tribunal_docs::read_summary(&document.path, &document.text).value);
    read.filter(|summary| summary.is_complete()).map(|summary| summary.id).collect()
}
