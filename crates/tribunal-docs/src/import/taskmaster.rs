//! Reads Task Master's `tasks.json`: one list of tasks, or a list for each tag, with subtasks below their tasks.
//!
//! Two tasks of different tags are never taken for one: the same ids occur in several tags, so every lookup is by tag
//! and id.

use std::collections::{BTreeMap, BTreeSet};

use super::json::{Place, places};
use super::paths::add_paths;
use super::{Format, ImportedTask, Names, Shape, TaskDocument, clipped};
use crate::Diagnostic;

/// The object of a task, wherever it stands.
pub(super) struct Entry<'a> {
    /// The tag of its list, if it has one.
    pub tag: Option<&'a str>,
    /// Its id; for a subtask with the ids above it.
    pub id: Option<String>,
    /// The full id of the task that it is a part of.
    pub parent: Option<String>,
    /// Where its object stands in the document.
    pub place: &'a Place,
    /// The number of the list that it is an element of, in the order of the document.
    list: usize,
}

/// The keys that are read. The others are noted.
const KEYS: &[&str] = &["id", "title", "description", "status", "dependencies", "subtasks"];

/// How many bytes an id may have, because the id of every subtask begins with it.
const ID_MAX: usize = 100;

/// Whether a status says finished.
pub(super) fn is_done(status: &str) -> bool {
    matches!(status, "done" | "completed")
}

/// Reads the document.
pub(super) fn read(text: &str) -> TaskDocument {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (format, mut diagnostics) = (Format::TaskMaster, Vec::new());
    let root = match places(text) {
        Ok(root) => root,
        Err((line, column, why)) => {
            let diagnostics = vec![Diagnostic::misread(line, column, format!("this is not JSON: {why}"))];
            let (tasks, checks) = (Vec::new(), Vec::new());
            return TaskDocument { format, shape: Shape::Other, ok: false, tasks, checks, diagnostics };
        }
    };
    let lines = Lines::new(text);
    let lists = lists(&root);
    let shape = match (lists.first(), lists.iter().any(|(tag, _)| tag.is_some())) {
        (None, _) => Shape::Other,
        (_, true) => Shape::Tags,
        (_, false) => Shape::Plain,
    };
    note_unused(&root, &lists, &lines, &mut diagnostics);
    let entries = entries(text, &lists, &mut |place, message| diagnostics.push(lines.note(place, message)));
    note_keys(&entries, &lines, &mut diagnostics);
    let tasks = tasks(text, &entries, &lines, &mut diagnostics);
    TaskDocument { format, shape, ok: shape != Shape::Other, tasks, checks: Vec::new(), diagnostics }
}

/// The lists of tasks with their tags.
///
/// Both the tagged and the plain form are read, since projects keep the form that their version of the tool wrote.
pub(super) fn lists(root: &Place) -> Vec<(Option<&str>, &Place)> {
    // Older versions of the tool wrote a bare list, or one list under `tasks`.
    if root.elements().is_some() {
        return vec![(None, root)];
    }
    if let Some(tasks) = root.get("tasks").filter(|tasks| tasks.elements().is_some()) {
        return vec![(None, tasks)];
    }
    let tags = root.entries().unwrap_or_default().iter();
    let tagged = |(tag, value): &'_ (String, Place)| {
        value.get("tasks").is_some_and(|t| t.elements().is_some()) && !tag.is_empty()
    };
    tags.filter(|entry| tagged(entry))
        .filter_map(|(tag, value)| Some((Some(tag.as_str()), value.get("tasks")?)))
        .collect()
}

/// All tasks and subtasks, in order. Whatever is not a task is given to `note`.
pub(super) fn entries<'a>(
    text: &str,
    lists: &[(Option<&'a str>, &'a Place)],
    note: &mut dyn FnMut(&Place, &str),
) -> Vec<Entry<'a>> {
    let mut found = Vec::new();
    let mut count = 0;
    for (tag, list) in lists {
        add_list(text, *tag, None, list, &mut count, &mut found, note);
    }
    found
}

fn add_list<'a>(
    text: &str,
    tag: Option<&'a str>,
    parent: Option<&str>,
    list: &'a Place,
    count: &mut usize,
    found: &mut Vec<Entry<'a>>,
    note: &mut dyn FnMut(&Place, &str),
) {
    *count += 1;
    let number = *count;
    for place in list.elements().unwrap_or_default() {
        // One element that is not a task costs only itself.
        if place.entries().is_none() {
            note(place, "an element that is no object is not a task");
            continue;
        }
        let own = place.get("id").and_then(|id| id.word(text)).filter(|id| (1..=ID_MAX).contains(&id.len()));
        if own.is_none() {
            note(place, "a task without an id, or with one too long to be one");
        }
        let id = own.map(|id| full_id(&id, parent));
        let (above, subtasks) = (parent.map(str::to_owned), place.get("subtasks"));
        found.push(Entry { tag, id: id.clone(), parent: above, place, list: number });
        // Subtasks of a task without an id still belong to whatever is above it.
        if let Some(subtasks) = subtasks {
            add_list(text, tag, id.as_deref().or(parent), subtasks, count, found, note);
        }
    }
}

/// The id of a subtask below that of its task. Some files write it that way themselves.
fn full_id(id: &str, parent: Option<&str>) -> String {
    match parent {
        // Otherwise `1.2` below task 1 would become `1.1.2`.
        Some(above) if !id.strip_prefix(above).is_some_and(|rest| rest.starts_with('.')) => {
            format!("{above}.{id}")
        }
        _ => id.to_owned(),
    }
}

fn tasks(
    text: &str,
    entries: &[Entry<'_>],
    lines: &Lines,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<ImportedTask> {
    // By tag and id: the same id in another tag is another task.
    let known: BTreeSet<(Option<&str>, &str)> =
        entries.iter().filter_map(|entry| Some((entry.tag, entry.id.as_deref()?))).collect();
    let siblings: BTreeSet<(usize, &str)> =
        entries.iter().filter_map(|entry| Some((entry.list, entry.id.as_deref()?))).collect();
    let mut seen = BTreeSet::new();
    let mut tasks = Vec::new();
    for (entry, n) in entries.iter().zip(1..) {
        let deps = dependencies(text, entry, &siblings);
        for missing in deps.iter().filter(|one| !known.contains(&(entry.tag, one.as_str()))) {
            let message = format!("depends on {missing}, which is not in the document");
            diagnostics.push(lines.note(entry.place, message));
        }
        if let Some(id) = entry.id.as_deref().filter(|id| !seen.insert((entry.tag, *id))) {
            let line = lines.line(entry.place.start);
            diagnostics.push(Diagnostic::misread(line, 1, format!("the id {id} is given already")));
        }
        tasks.push(task(text, entry, n, deps, lines));
    }
    tasks
}

fn task(text: &str, entry: &Entry<'_>, n: usize, deps: Vec<String>, lines: &Lines) -> ImportedTask {
    let word = |key: &str| entry.place.get(key).and_then(|value| value.word(text));
    let (title, status) = (word("title"), word("status"));
    let mut paths = Names::default();
    for words in [title.as_deref(), word("description").as_deref()].into_iter().flatten() {
        words.lines().for_each(|line| add_paths(line, &mut paths));
    }
    let tag = entry.tag.map(|tag| clipped(tag).to_owned());
    ImportedTask {
        n,
        id: entry.id.clone(),
        line: lines.line(entry.place.start),
        // A task without a title is still one, and its description says what to do.
        text: title.or_else(|| word("description")).unwrap_or_default(),
        done: status.as_deref().is_some_and(is_done),
        status,
        phase: tag.clone(),
        section: tag,
        parent: entry.parent.clone(),
        paths: paths.list,
        deps,
        ..ImportedTask::default()
    }
}

/// What a task depends on. A bare number in a subtask names a sibling, if there is one.
fn dependencies(text: &str, entry: &Entry<'_>, siblings: &BTreeSet<(usize, &str)>) -> Vec<String> {
    let written = entry.place.get("dependencies").and_then(Place::elements).unwrap_or_default();
    let mut found = Names::default();
    for one in written.iter().filter_map(|one| one.word(text)) {
        let sibling = entry.parent.as_deref().map(|above| full_id(&one, Some(above)));
        // Only a sibling in the same list: another tag has the same numbers.
        match sibling.filter(|id| siblings.contains(&(entry.list, id.as_str()))) {
            Some(id) => found.add(&id),
            None => found.add(&one),
        }
    }
    found.list
}

fn note_unused(
    root: &Place,
    lists: &[(Option<&str>, &Place)],
    lines: &Lines,
    diagnostics: &mut Vec<Diagnostic>,
) {
    if lists.is_empty() {
        diagnostics.push(lines.note(root, "there is no list of tasks"));
    }
    let tags: BTreeSet<&str> = lists.iter().filter_map(|(tag, _)| *tag).collect();
    // Beside a plain list, every other key of the root is unused; beside tags, only those without tasks are.
    let plain = lists.first().is_some_and(|(tag, _)| tag.is_none());
    for (key, value) in root.entries().unwrap_or_default() {
        let used = if plain { key == "tasks" } else { tags.contains(key.as_str()) };
        if !used {
            diagnostics.push(lines.note(value, format!("`{key}` is not used")));
        }
    }
}

/// Notes each key of tasks from which nothing is read, once.
fn note_keys(entries: &[Entry<'_>], lines: &Lines, diagnostics: &mut Vec<Diagnostic>) {
    let mut unused: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for entry in entries {
        for (key, value) in entry.place.entries().unwrap_or_default() {
            if !KEYS.contains(&key.as_str()) {
                unused.entry(key).or_insert((value.start, 0)).1 += 1;
            }
        }
    }
    for (key, (start, times)) in unused {
        let message = format!("`{key}` is not used (tasks with it: {times})");
        diagnostics.push(Diagnostic::new(lines.line(start), 1, message));
    }
}

/// The offsets at which the lines of a text begin.
struct Lines {
    starts: Vec<usize>,
}

impl Lines {
    fn new(text: &str) -> Lines {
        let breaks = text.match_indices('\n').map(|(at, _)| at + 1);
        Lines { starts: std::iter::once(0).chain(breaks).collect() }
    }

    fn line(&self, at: usize) -> u32 {
        u32::try_from(self.starts.partition_point(|start| *start <= at)).unwrap_or(u32::MAX)
    }

    fn note(&self, place: &Place, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(self.line(place.start), 1, message)
    }
}
