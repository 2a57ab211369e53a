//! What an approval's evidence may name, gathered from what is judged: the files and symbols of a change, the tasks and
//! files of a plan, the sections of a document.
//!
//! An approval has to name something that is really there, so the list comes from git and not from the answer. Core
//! decides whether the words are evidence.

use crate::context::{PlanText, RunContext};
use std::collections::BTreeSet;
use tribunal_core::evidence::Matter;
use tribunal_findings::Judged;
use tribunal_git::{GitPath, Oid};
use tribunal_view::prompt::JudgeBrief;

/// What is known about the subject, besides its files and its diff.
pub(crate) struct Gathered<'a> {
    pub(crate) brief: &'a JudgeBrief,
    /// The titles of a plan's tasks.
    pub(crate) titles: &'a [String],
    /// Commands that were run on it, or may be.
    pub(crate) commands: Vec<String>,
}

impl Gathered<'_> {
    /// What evidence may name.
    pub(crate) fn judged(self, context: &RunContext, commit: &Oid, files: Vec<String>, diff: &str) -> Judged {
        let brief = self.brief;
        match brief.job.matter() {
            Matter::Change => Judged::change(files, diff, self.commands),
            Matter::Plan => {
                // A plan names files that it will create. Nobody can have looked at those, so they are marked as
                // absent.
                let is_there = |file: &&String| {
                    context
                        .repo
                        .file_at(commit, &GitPath::from(file.as_str()))
                        .is_ok_and(|found| found.is_some())
                };
                let planned = &brief.plan.files;
                let absent = planned.iter().filter(|file| !is_there(file)).cloned().collect();
                // A title of one word would be found in any text by chance.
                let named = |title: &&String| title.split_whitespace().count() >= 2;
                let names = self.titles.iter().filter(named).cloned().collect();
                Judged { matter: Matter::Plan, files: planned.clone(), absent, names, commands: Vec::new() }
            }
            Matter::Document => {
                let sections = brief.artifact.as_ref().map(|artifact| artifact.sections.clone());
                let names: BTreeSet<String> = sections.into_iter().flatten().collect();
                Judged { matter: Matter::Document, files, names, ..Judged::default() }
            }
        }
    }
}

/// The titles of a plan's tasks.
pub(crate) fn titles(text: Option<&PlanText>) -> Vec<String> {
    let tasks = text.map(|text| text.plan.tasks.as_slice()).unwrap_or_default();
    tasks.iter().map(|task| task.title.clone()).collect()
}
