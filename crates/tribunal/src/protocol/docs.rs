//! `tribunal docs`: what Tribunal reads from planning documents. Changes nothing, needs no project, and goes on after a
//! document it cannot read.

use super::args::Docs;
use crate::args::Globals;
use crate::exit::Done;
use crate::failure::Failure;
use crate::out;
use std::path::{Path, PathBuf};
use tribunal_docs::{Overview, overview};
use tribunal_engine::gates::read_plain;

/// Folders below each other that are searched.
const DEPTH_MAX: usize = 32;

/// Reads documents and shows each.
pub fn run(globals: &Globals, args: &Docs) -> Result<Done, Failure> {
    let mut unread = Vec::new();
    let mut text = String::new();
    for path in &args.paths {
        for file in files(path, &mut unread) {
            let Some(found) = read(&file, &mut unread) else { continue };
            match globals.json {
                true => text.push_str(&serde_json::to_string(&found).map_err(Failure::bug)?),
                false => text.push_str(&tribunal_view::protocol::document(&found)),
            }
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

fn read(file: &Path, unread: &mut Vec<String>) -> Option<Overview> {
    let label = file.display().to_string();
    let bytes = match read_plain(file) {
        Ok(bytes) => bytes,
        Err(error) => {
            unread.push(format!("cannot read {label}: {error}"));
            return None;
        }
    };
    Some(match std::str::from_utf8(&bytes) {
        Ok(text) => overview(&label, text),
        Err(error) => foreign(&label, &bytes, error.valid_up_to()),
    })
}

/// A document with bytes that are no text: read with them replaced, and told where the first is.
fn foreign(label: &str, bytes: &[u8], at: usize) -> Overview {
    let before = String::from_utf8_lossy(&bytes[..at]);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    let mut found = overview(label, &String::from_utf8_lossy(bytes));
    let place = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let said =
        Overview::refused(label, place(line), place(column), "not UTF-8 from here; such bytes are replaced");
    found.recovered = true;
    found.diagnostics.splice(0..0, said.diagnostics);
    found
}

/// A file itself, or the documents below a folder, in order; links are not followed.
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
            if kind.is_dir() && depth < DEPTH_MAX && entry.file_name() != ".git" {
                open.push((path, depth + 1));
            } else if kind.is_file() && path.extension().is_some_and(|end| end.eq_ignore_ascii_case("md")) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}
