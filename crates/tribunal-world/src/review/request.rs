//! The request that a panel gets before it reviews: gathered from plans, summaries, the roadmap and git, once for all
//! reviewers.
//!
//! This file only collects the facts; `tribunal_view` words them. What is missing is left out, because a project need
//! not have planning documents to be reviewed.

use crate::build::account::summary_path;
use crate::context::RunContext;
use crate::context::subject;
use crate::project::inside::read_plain;
use tribunal_core::review_loop::Loop;
use tribunal_core::run::Subject;
use tribunal_docs::{read_plan, read_summary};
use tribunal_engine::run_state::{ReviewNote, RunState};
use tribunal_git::{GitError, GitPath, Oid};
use tribunal_view::prompt::Document;
use tribunal_view::request::{self, Request};

/// How many commits a request names at most.
const COMMITS_MAX: usize = 50;

/// What the request needs of the run state.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    review: ReviewNote,
    phase: String,
    phase_path: String,
}

impl Asked {
    /// Gathers it for a review; none if the loop does not review something that exists.
    pub(crate) fn of(context: &RunContext, review_loop: &Loop, run_state: &RunState) -> Option<Asked> {
        let mut review = run_state.review()?.clone();
        if subject::of(review_loop.id())? == Subject::Polish {
            // Only the polish is reviewed; everything before it has passed.
            review.base = context.commit_of(run_state.run.as_ref()?.tip()?).ok()?.to_string();
            review.target = format!("the polish of {}", review.target);
        }
        let about = &run_state.about;
        Some(Asked { review, phase: about.phase.clone(), phase_path: about.phase_path.clone() })
    }

    /// The base of the change under review.
    pub(crate) fn base(&self) -> &str {
        &self.review.base
    }

    /// The request as a document.
    pub(crate) fn document(&self, context: &RunContext, commit: &Oid) -> Result<Document, GitError> {
        let base = Oid::parse(&self.review.base)?;
        let subjects = context.repo.subjects(&base, commit, COMMITS_MAX)?;
        let changes = context.repo.changes(&base, commit)?;
        let files = changes.iter().map(|change| {
            let lines = match (change.added, change.deleted) {
                (Some(added), Some(deleted)) => format!("+{added} -{deleted}"),
                _ => "binary".to_owned(),
            };
            let kind = format!("{:?}", change.kind).to_lowercase();
            format!("{} ({kind}, {lines})", change.path)
        });
        let mut request = Request {
            target: self.review.target.clone(),
            kinds: self.review.types.clone(),
            commits: subjects
                .into_iter()
                .map(|(oid, subject)| format!("{} {subject}", oid.short()))
                .collect(),
            files: files.collect(),
            ..Request::default()
        };
        if !self.phase_path.is_empty() {
            self.phase(context, commit, &mut request);
        }
        Ok(Document { path: "review request".to_owned(), text: request::text(&request) })
    }

    fn phase(&self, context: &RunContext, commit: &Oid, request: &mut Request) {
        let root = context.project.root();
        let read = |path: &str| {
            let bytes = read_plain(&root.join(path)).ok()?;
            Some(String::from_utf8_lossy(&bytes).into_owned())
        };
        let context_file = format!("{}/{}-CONTEXT.md", self.phase_path, self.phase);
        request.goal = read(&context_file).unwrap_or_default();
        let roadmap = read(&format!("{}/ROADMAP.md", context.project.planning())).unwrap_or_default();
        request.criteria = criteria(&roadmap, &self.phase);
        let Ok(files) = context.project.phase(Some(&self.phase)) else { return };
        // SUMMARY files that the change brings come first. Those that git does not track lie beside the plans.
        let brought = files.plans.iter().filter_map(|plan| {
            let path = summary_path(&plan.path);
            let bytes = context.repo.file_at(commit, &GitPath::from(path.as_str())).ok()??;
            read_summary(&path, &String::from_utf8_lossy(&bytes)).value
        });
        let mut summaries: Vec<_> = brought.collect();
        let beside = files.summaries.iter().filter_map(|doc| read_summary(&doc.path, &doc.text).value);
        for summary in beside {
            if !summaries.iter().any(|known| known.id == summary.id) {
                summaries.push(summary);
            }
        }
        for plan in files.plans.iter().filter_map(|doc| read_plan(&doc.path, &doc.text).value) {
            let summary = summaries.iter().find(|summary| summary.id == plan.id);
            let status = summary.and_then(|s| s.status.clone()).unwrap_or_else(|| "no summary".to_owned());
            let title = plan.title.clone().unwrap_or_default();
            request.plans.push(format!("{}: {title} — {status}", plan.id));
            request.requirements.extend(plan.requirements.iter().cloned());
            request.criteria.extend(plan.must_haves.entries());
        }
        for summary in summaries {
            request.risks.extend(summary.deviations.iter().cloned());
            request.built.push(format!("{}\n{}", summary.id, summary.body.trim()));
        }
        request.requirements.sort();
        request.requirements.dedup();
    }
}

/// The points under a phase's heading in the roadmap.
fn criteria(roadmap: &str, phase: &str) -> Vec<String> {
    // `01` and `1` name the same phase.
    let number = phase.trim_start_matches('0');
    let is_heading = |line: &str| line.starts_with('#');
    let names = |line: &str| {
        let lower = line.to_lowercase();
        lower
            .split_once("phase ")
            .map(|(_, rest)| rest.chars().take_while(char::is_ascii_digit).collect::<String>())
            .is_some_and(|found| found.trim_start_matches('0') == number)
    };
    let mut inside = false;
    let mut points = Vec::new();
    for line in roadmap.lines() {
        if is_heading(line) {
            inside = names(line);
        } else if let Some(point) = line.trim_start().strip_prefix("- ").filter(|_| inside) {
            points.push(point.trim_start_matches("[ ] ").trim_start_matches("[x] ").to_owned());
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::criteria;

    #[test]
    fn criteria_of_one_phase() {
        let roadmap =
            "# Roadmap\n- not this\n## Phase 1: first\n- one\n- [x] two\n## Phase 12: other\n- no\n";
        assert_eq!(criteria(roadmap, "01"), ["one", "two"]);
        assert_eq!(criteria(roadmap, "12"), ["no"]);
        assert!(criteria("", "01").is_empty());
    }
}
