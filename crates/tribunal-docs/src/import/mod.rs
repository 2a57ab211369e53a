//! Task documents of other tools, read as they are: spec-kit, OpenSpec, Kiro and Task Master.
//!
//! Nothing is dropped in silence: every line becomes a task, a check, or a diagnostic with its place. No more than one
//! mark is ever rewritten, and the work is linear in the document.

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
    /// GitHub's spec-kit, `specs/NNN-name/tasks.md`.
    SpecKit,
    /// OpenSpec, `openspec/changes/<id>/tasks.md`.
    OpenSpec,
    /// Kiro, `.kiro/specs/<name>/tasks.md`.
    Kiro,
    /// Task Master, `.taskmaster/tasks/tasks.json` or the older `tasks/tasks.json`.
    TaskMaster,
}

impl Format {
    /// The name of the tool as its users write it.
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
///
/// A shape from which nothing is read is reported as such, so that an empty import is never taken for an empty
/// document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// List items with a check box.
    Boxes,
    /// Headings such as `### Task 1.1: …`, in a document without any box.
    Headings,
    /// A table, and neither boxes nor headings that name tasks. Nothing is read from it.
    Table,
    /// None of these forms. Nothing is read from it.
    Other,
    /// JSON with task lists by tag.
    Tags,
    /// JSON with a single task list.
    Plain,
}

/// A task as its document states it.
///
/// Nothing is inferred: ids, numbers and references are kept as written. Their meaning is decided where the tasks
/// become a plan.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ImportedTask {
    /// The place among the tasks of the document, from 1.
    pub n: usize,
    /// The id as written. A subtask of Task Master has `parent.id`.
    pub id: Option<String>,
    /// The line of the box, the heading or the JSON object.
    pub line: u32,
    /// The text that follows box, id and marks on that line.
    pub text: String,
    /// Whether the document says that the task is finished. That is a claim to verify and never a proof.
    pub done: bool,
    /// The character in the box.
    #[serde(rename = "box")]
    pub box_mark: Option<char>,
    /// The status of a Task Master task, as written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Whether the task may be left out.
    pub optional: bool,
    /// Whether the task may run beside its neighbours.
    pub parallel: bool,
    /// The user story it belongs to, such as `US1`.
    pub story: Option<String>,
    /// The level-2 heading above it, or the tag of Task Master.
    pub phase: Option<String>,
    /// The nearest heading above it, or the tag of Task Master.
    pub section: Option<String>,
    /// The id of the task that it is a part of; `#n` names a task without id by its place.
    pub parent: Option<String>,
    /// Files and folders that the task names.
    pub paths: Vec<String>,
    /// Requirements that the task names.
    pub reqs: Vec<String>,
    /// Tasks of the document that it says it needs.
    pub deps: Vec<String>,
}

/// A box that checks the document or the result instead of asking for work.
///
/// Checks are kept apart from tasks: an agent that is asked to work on "all tests pass" would have nothing to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ImportedCheck {
    /// The line of the box in the file.
    pub line: u32,
    /// The text that follows the box.
    pub text: String,
    /// Whether the box is ticked.
    pub done: bool,
}

/// Everything that was read from one task document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TaskDocument {
    /// The tool by whose conventions it was read.
    pub format: Format,
    /// How the document writes its tasks down.
    pub shape: Shape,
    /// Whether it could be read at all. If not, the diagnostics say why.
    pub ok: bool,
    /// The tasks, in the order of the document.
    pub tasks: Vec<ImportedTask>,
    /// The boxes that are not tasks, in the order of the document.
    pub checks: Vec<ImportedCheck>,
    /// What was not used and what looks wrong, in the order of the file.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads a task document of a format.
pub fn read_tasks(format: Format, text: &str) -> TaskDocument {
    let mut document = match format {
        Format::TaskMaster => taskmaster::read(text),
        Format::SpecKit | Format::OpenSpec | Format::Kiro => checklist::read(format, text),
    };
    // The readers note things in several passes, and people read a file from its top.
    document.diagnostics = in_order(document.diagnostics);
    document
}

/// How many characters of a heading or tag are kept, because every task below keeps a copy.
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
