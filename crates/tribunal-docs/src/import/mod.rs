//! Task documents of other tools, read as they are: spec-kit, OpenSpec, Kiro and Task Master.
//! Must never drop anything in silence (tasks, checks or a diagnostic with its line), never rewrite more than one mark, and
//! stay linear in the document.

mod boxes;
mod checklist;
mod detect;
mod json;
mod leading;
mod paths;
mod references;
mod taskmaster;
mod tick;

pub use detect::detect;
pub use tick::{tick, tick_task};

use std::collections::BTreeSet;

use serde::Serialize;

use crate::{Diagnostic, in_order};

/// The tool whose conventions a task document follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// `specs/NNN-name/tasks.md` of GitHub's spec-kit.
    SpecKit,
    /// `openspec/changes/<id>/tasks.md`.
    OpenSpec,
    /// `.kiro/specs/<name>/tasks.md`.
    Kiro,
    /// `.taskmaster/tasks/tasks.json`, or the older `tasks/tasks.json`.
    TaskMaster,
}

impl Format {
    /// The tool's name as its users write it.
    pub fn name(self) -> &'static str {
        match self {
            Format::SpecKit => "spec-kit",
            Format::OpenSpec => "OpenSpec",
            Format::Kiro => "Kiro",
            Format::TaskMaster => "Task Master",
        }
    }
}

/// How a document writes its tasks down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// List items with a box.
    Boxes,
    /// Headings such as `### Task 1.1: …`, in a document without any box.
    Headings,
    /// A table and neither boxes nor headings that name tasks; nothing is read from it.
    Table,
    /// None of these; nothing is read from it.
    Other,
    /// JSON with task lists by tag.
    Tags,
    /// JSON with one task list.
    Plain,
}

/// A task as its document states it. Nothing is inferred: ids, numbers and references are kept as written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ImportedTask {
    /// Place among the tasks of the document, from 1.
    pub n: usize,
    /// The id as written; a subtask of Task Master is `parent.id`.
    pub id: Option<String>,
    /// Line of the box, the heading or the JSON object.
    pub line: u32,
    /// What follows box, id and marks on that line.
    pub text: String,
    /// Whether the document says that it is finished. A claim to verify, never a proof.
    pub done: bool,
    /// The character in the box.
    #[serde(rename = "box")]
    pub box_mark: Option<char>,
    /// Task Master's status as written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Whether it may be left out.
    pub optional: bool,
    /// Whether it may run beside its neighbours.
    pub parallel: bool,
    /// The user story it belongs to: `US1`.
    pub story: Option<String>,
    /// The level-2 heading above it, or Task Master's tag.
    pub phase: Option<String>,
    /// The nearest heading above it, or Task Master's tag.
    pub section: Option<String>,
    /// The id of the task that it is a part of; `#n` names one without id by its place.
    pub parent: Option<String>,
    /// Files and folders that it names.
    pub paths: Vec<String>,
    /// Requirements that it names.
    pub reqs: Vec<String>,
    /// Tasks of the document that it says it needs.
    pub deps: Vec<String>,
}

/// A box that checks the document or the result instead of asking for work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ImportedCheck {
    /// Line of the box.
    pub line: u32,
    /// What follows the box.
    pub text: String,
    /// Whether it is ticked.
    pub done: bool,
}

/// Everything read from one task document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TaskDocument {
    /// Whose conventions it was read by.
    pub format: Format,
    /// How it writes tasks down.
    pub shape: Shape,
    /// Whether it could be read at all; without, the diagnostics say why.
    pub ok: bool,
    /// Its tasks, in order.
    pub tasks: Vec<ImportedTask>,
    /// Its boxes that are no tasks, in order.
    pub checks: Vec<ImportedCheck>,
    /// What was not used, and what looks wrong, in the order of the file.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads a task document of a format.
pub fn read_tasks(format: Format, text: &str) -> TaskDocument {
    let mut document = match format {
        Format::TaskMaster => taskmaster::read(text),
        Format::SpecKit | Format::OpenSpec | Format::Kiro => checklist::read(format, text),
    };
    document.diagnostics = in_order(document.diagnostics);
    document
}

/// Characters kept of a heading or a tag; every task below keeps a copy.
const HEADING_MAX: usize = 300;

/// The beginning of a heading or a tag.
fn clipped(text: &str) -> &str {
    text.char_indices().nth(HEADING_MAX).map_or(text, |(at, _)| &text[..at])
}

/// Names in the order in which they were found, each once.
#[derive(Debug, Default)]
struct Names {
    list: Vec<String>,
    seen: BTreeSet<String>,
}

impl Names {
    fn add(&mut self, name: &str) {
        if !self.seen.contains(name) {
            self.seen.insert(name.to_owned());
            self.list.push(name.to_owned());
        }
    }
}
