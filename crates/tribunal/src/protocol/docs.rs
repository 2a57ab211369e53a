//! `tribunal docs`: shows what Tribunal reads from planning documents, its own and those of other tools. It changes
//! nothing, needs no project, and goes on after a document it cannot read.
//!
//! Use it to find out why a plan is not understood: every diagnostic has its line and column. A run reads documents
//! with the same functions.

use super::args::Docs;
use crate::args::Globals;
use crate::exit::Done;
use crate::failure::Failure;
use crate::out;
use std::path::{Path, PathBuf};
use tribunal_docs::import::{Format, TaskDocument, detect, read_tasks};
use tribunal_docs::{Diagnostic, Overview, overview};
use tribunal_view::protocol;
use tribunal_world::read_plain;

/// How deep folders are searched.
const DEPTH_MAX: usize = 32;

/// Reads documents and prints each; fails at the end if some could not be read.
pub fn run(globals: &Globals, args: &Docs) -> Result<Done, Failure> {
    let mut unread = Vec::new();
    let mut text = String::new();
    for path in &args.paths {
        for file in files(path, &mut unread) {
            let Some(found) = read(&file, &mut unread) else { continue };
            text.push_str(&found.shown(globals.json).map_err(Failure::bug)?);
            text.push('\n');
        }
    }
    out::data(&text)?;
    match unread.is_empty() {
        true => Ok(Done::Passed),
        false => {
            let hint = "name documents that you may read, or folders of them; what else was named is shown";
            Err(Failure::usage(unread.join("\n")).hint(hint))
        }
    }
}

/// A document that was read.
enum Found {
    /// A planning document of our own format.
    Planning(Overview),
    /// A task document of another tool, with its label.
    Tasks(String, TaskDocument),
}

impl Found {
    fn shown(&self, json: bool) -> serde_json::Result<String> {
        match (self, json) {
            (Found::Planning(found), true) => serde_json::to_string(found),
            (Found::Planning(found), false) => Ok(protocol::document(found)),
            (Found::Tasks(label, found), true) => {
                serde_json::to_string(&protocol::task_document_json(label, found))
            }
            (Found::Tasks(label, found), false) => Ok(protocol::task_document(label, found)),
        }
    }
}

fn read(file: &Path, unread: &mut Vec<String>) -> Option<Found> {
    let label = file.display().to_string();
    let bytes = match read_plain(file) {
        Ok(bytes) => bytes,
        Err(error) => {
            unread.push(format!("cannot read {label}: {error}"));
            return None;
        }
    };
    let text = String::from_utf8_lossy(&bytes);
    let replaced = std::str::from_utf8(&bytes).err().map(|error| replacement(&bytes, error.valid_up_to()));
    Some(match format_of(file, &text) {
        Some(format) => {
            let mut found = read_tasks(format, &text);
            found.diagnostics.splice(0..0, replaced);
            Found::Tasks(label, found)
        }
        None => {
            let mut found = overview(&label, &text);
            found.recovered |= replaced.is_some();
            found.diagnostics.splice(0..0, replaced);
            Found::Planning(found)
        }
    })
}

/// The tool a task document belongs to.
fn format_of(file: &Path, text: &str) -> Option<Format> {
    // The folders above the working directory count as well: `tasks.md` alone says nothing,
    // `openspec/changes/x/tasks.md` does.
    let whole = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    detect(&whole.to_string_lossy(), text)
}

/// The place of the first bytes that are not UTF-8. The document is read with such bytes replaced.
fn replacement(bytes: &[u8], at: usize) -> Diagnostic {
    let before = String::from_utf8_lossy(&bytes[..at]);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    let place = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let message = "not UTF-8 from here; such bytes are replaced".to_owned();
    Diagnostic { line: place(line), column: place(column), message, misread: true }
}

/// True for a file of a folder that is read: Markdown, and `tasks.json` if it is Task Master's.
fn is_document(path: &Path) -> bool {
    let is_markdown = path.extension().is_some_and(|end| end.eq_ignore_ascii_case("md"));
    let is_tasks = || {
        let named = path.file_name().is_some_and(|name| name == "tasks.json");
        // A file that cannot be read is still reported if its folder alone says what it is.
        let text =
            || read_plain(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
        named && format_of(path, &text()).is_some()
    };
    is_markdown || is_tasks()
}

/// A file itself, or the documents below a folder, sorted. Links are not followed, so a circle cannot trap the search.
fn files(path: &Path, unread: &mut Vec<String>) -> Vec<PathBuf> {
    if !path.is_dir() {
        return vec![path.to_owned()];
    }
    let mut found = Vec::new();
    let mut open = vec![(path.to_owned(), 0)];
    while let Some((dir, depth)) = open.pop() {
        let entries = match std::fs::read_dir(&dir) {
            Ok(entries) => entries,
            Err(error) => {
                unread.push(format!("cannot read {}: {error}", dir.display()));
                continue;
            }
        };
        for entry in entries.filter_map(Result::ok) {
            let Ok(kind) = entry.file_type() else { continue };
            let path = entry.path();
            // `file_type` does not follow links, so a link to a folder is not a folder here.
            if kind.is_dir() && depth < DEPTH_MAX && entry.file_name() != ".git" {
                open.push((path, depth + 1));
            } else if kind.is_file() && is_document(&path) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}
