//! The tasks of a plan's body: `### Task N: title` sections, or `<task>` blocks.
//!
//! A task inside a code fence is an example and never found, and prose is never taken for a command, since commands are
//! run. No line is looked at more than a few times, however long the body is.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::Diagnostic;
use crate::markdown::{Line, heading, without_ticks};

/// One task of a plan.
///
/// Everything in it is the author's word. Commands come only from places that are marked as commands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Task {
    /// The number as written, or its place if it has none.
    pub number: u32,
    /// The title without `Task N:`.
    pub title: String,
    /// Everything between this heading and the next. Of a block it is the `<action>`, or without one the whole block.
    pub body: String,
    /// The files that the task says it touches.
    pub files: Vec<PlannedFile>,
    /// The commit message that the task asks for.
    pub commit: Option<String>,
    /// Commands that verify the task.
    pub verification: Vec<String>,
    /// The text of `<verify>`, in words.
    pub verify: Option<String>,
    /// The text of `<done>`: when the task counts as done.
    pub done: Option<String>,
    /// The line of its heading in the file.
    pub line: u32,
}

/// A file that a task says it touches.
///
/// The claim counts for waves and contracts, so a file that is left out here may be out of scope for the builder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct PlannedFile {
    /// The path from the repository root.
    pub path: String,
    /// Whether it is marked `(new)`, so that it need not exist yet.
    pub new: bool,
}

/// All tasks of a body given as lines. If there are any blocks, headings are not read as tasks.
pub(crate) fn tasks(body: &str, lines: &[Line<'_>], diagnostics: &mut Vec<Diagnostic>) -> Vec<Task> {
    // Headings inside a plan of blocks are its sections.
    let blocks = block_tasks(body, lines, diagnostics);
    let tasks = match blocks.is_empty() {
        true => heading_tasks(body, lines),
        false => blocks,
    };
    let mut seen = std::collections::BTreeSet::new();
    for task in &tasks {
        if !seen.insert(task.number) {
            let message = format!("there are two tasks with number {}", task.number);
            diagnostics.push(Diagnostic::new(task.line, 1, message));
        }
    }
    tasks
}

/// Reads the heading of a task: its level, number and title.
fn task_heading(line: &str) -> Option<(usize, Option<u32>, &str)> {
    let (level, text) = heading(line)?;
    let word = text.get(..5).filter(|w| w.eq_ignore_ascii_case("task "))?;
    let rest = text[word.len()..].trim_start();
    let (number, title) = numbered(rest)?;
    (2..=4).contains(&level).then_some((level, number, title))
}

/// Reads `12: title`, `12 — title` or `1.2 title`. The number is missing if it is not a plain one.
fn numbered(text: &str) -> Option<(Option<u32>, &str)> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, mut rest) = text.split_at(digits);
    // `Task 2b` has no number that could be used.
    if digits == 0 || rest.starts_with(char::is_alphanumeric) {
        return None;
    }
    let mut number = number.parse().ok();
    if let Some(sub) = rest.strip_prefix('.')
        && sub.starts_with(|c: char| c.is_ascii_digit())
    {
        // `1.2` is not a plain number, and cutting it would give two tasks the number 1.
        number = None;
        rest = sub.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    }
    let title = rest.trim_start_matches([':', '-', '—', '–', '.', ')', ' ']);
    Some((number, title.trim()))
}

fn heading_tasks(body: &str, lines: &[Line<'_>]) -> Vec<Task> {
    let mut tasks: Vec<Task> = Vec::new();
    let mut open: Option<(Task, usize, usize)> = None; // the task, its level, the index of its first line
    let close = |open: Option<(Task, usize, usize)>, end: usize, tasks: &mut Vec<Task>| {
        if let Some((mut task, _, first)) = open {
            fill_section(&mut task, body, &lines[first..end]);
            tasks.push(task);
        }
    };
    for (at, line) in lines.iter().enumerate() {
        if line.hidden || !line.text.starts_with('#') {
            continue;
        }
        if let Some((level, number, title)) = task_heading(line.text) {
            close(open.take(), at, &mut tasks);
            let task = Task {
                number: number.unwrap_or_else(|| count(tasks.len() + 1)),
                title: title.to_owned(),
                line: line.number,
                ..Task::default()
            };
            open = Some((task, level, at + 1));
        } else if let (Some((level, _)), Some((_, task_level, _))) = (heading(line.text), &open)
            && level < *task_level
        {
            // A section above the tasks' level is not part of the task before it.
            close(open.take(), at, &mut tasks);
        }
    }
    close(open, lines.len(), &mut tasks);
    tasks
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// The text of consecutive lines, without blank lines around it.
fn text_of<'a>(body: &'a str, lines: &[Line<'a>]) -> &'a str {
    let (Some(first), Some(last)) = (lines.first(), lines.last()) else {
        return "";
    };
    let text = &body[first.start..last.start + last.text.len()];
    text.trim_start_matches(['\n', '\r']).trim_end()
}

fn fill_section(task: &mut Task, body: &str, lines: &[Line<'_>]) {
    task.body = text_of(body, lines).to_owned();
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at];
        at += 1;
        if line.hidden {
            continue;
        }
        if let Some(command) = verification(line.text) {
            task.verification.push(command);
        } else if let Some((name, value)) = bold_field(line.text) {
            match name.as_str() {
                // The first one counts, as a reader would take it.
                "commit" if task.commit.is_none() => {
                    let words = without_ticks(value);
                    task.commit = Some(words.to_owned()).filter(|words| !words.is_empty());
                }
                "file" | "files" | "files modified" | "files created" => {
                    let new = name.ends_with("created");
                    at = take_files(task, value, lines, at, new);
                }
                _ => {}
            }
        }
    }
    task.files = once_each(std::mem::take(&mut task.files));
}

/// Takes the files behind `**Files:**`, or in the list below it, and returns the line to go on with.
fn take_files(task: &mut Task, value: &str, lines: &[Line<'_>], mut at: usize, new: bool) -> usize {
    let mut files = planned_files(value);
    if value.trim().is_empty() {
        while let Some(line) = lines.get(at).filter(|line| !line.hidden) {
            let text = line.text.trim_start();
            let item = text.strip_prefix("- ").or_else(|| text.strip_prefix("* "));
            match item {
                Some(item) if bold_field(line.text).is_none() => files.extend(planned_files(item)),
                // Blank lines between the field and its list are skipped, but a blank line ends the list.
                None if text.is_empty() && files.is_empty() => {}
                _ => break,
            }
            at += 1;
        }
    }
    for mut file in files {
        file.new |= new;
        task.files.push(file);
    }
    at
}

/// The files in their order, each once; marked new if any mention of it is.
fn once_each(files: Vec<PlannedFile>) -> Vec<PlannedFile> {
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut kept: Vec<PlannedFile> = Vec::new();
    for file in files {
        match places.get(&file.path) {
            Some(place) => kept[*place].new |= file.new,
            None => {
                places.insert(file.path.clone(), kept.len());
                kept.push(file);
            }
        }
    }
    kept
}

/// Reads `> verification: command`, with or without backticks.
fn verification(line: &str) -> Option<String> {
    let quote = line.trim_start().strip_prefix('>')?.trim_start();
    let word = "verification:";
    let head = quote.get(..word.len())?;
    let command = without_ticks(&quote[word.len()..]);
    (head.eq_ignore_ascii_case(word) && !command.is_empty()).then(|| command.to_owned())
}

/// Reads `**Name:** value` or `- **Name**: value`; the name in lower case.
fn bold_field(line: &str) -> Option<(String, &str)> {
    let text = line.trim_start();
    let text = text.strip_prefix("- ").or_else(|| text.strip_prefix("* ")).unwrap_or(text);
    let inner = text.trim_start().strip_prefix("**")?;
    let end = inner.find("**")?;
    let (name, value) = (&inner[..end], &inner[end + 2..]);
    let (name, value) = match name.strip_suffix(':') {
        Some(name) => (name, value),
        None => (name, value.trim_start().strip_prefix(':')?),
    };
    Some((name.trim().to_ascii_lowercase(), value.trim()))
}

/// The paths in one line of a file list: in backticks, or separated by commas. `(new)` behind a path marks it.
///
/// Beside paths in backticks a bare word counts if it looks like a path, up to the first remark in words.
pub(crate) fn planned_files(text: &str) -> Vec<PlannedFile> {
    let file = |path: Option<String>, remark: &str| Some(PlannedFile { path: path?, new: is_new(remark) });
    // A single backtick marks nothing, so the line is read without them.
    if text.matches('`').count() < 2 {
        return parted(text)
            .into_iter()
            .filter_map(|(path, remark)| file(clean_path(path), remark))
            .collect();
    }
    // Both readings may find paths, so their places in the line bring them into order.
    let at = |part: &str| part.as_ptr() as usize - text.as_ptr() as usize;
    let mut files: Vec<(usize, PlannedFile)> = Vec::new();
    files.extend(
        ticked(text)
            .into_iter()
            .filter_map(|(path, remark)| Some((at(path), file(ticked_path(path), remark)?))),
    );
    for (path, remark) in parted(text) {
        if path.contains('`') {
            // A dash begins a remark, and words after it are not files.
            if remark.starts_with(['-', '—', '–']) {
                break;
            }
        } else if is_path(path) {
            files.extend(file(clean_path(path), remark).map(|file| (at(path), file)));
        }
    }
    files.sort_by_key(|(at, _)| *at);
    files.into_iter().map(|(_, file)| file).collect()
}

/// Whether a word can hardly be anything but a path.
fn is_path(word: &str) -> bool {
    let ending = word.rsplit_once('.').map_or("", |(_, ending)| ending);
    word.contains('/')
        || ((1..=8).contains(&ending.len()) && ending.bytes().all(|b| b.is_ascii_alphanumeric()))
}

/// Each backticked text, with what follows it up to the next comma or backtick.
fn ticked(text: &str) -> Vec<(&str, &str)> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(open) = rest.find('`') {
        let inner = &rest[open + 1..];
        let Some(close) = inner.find('`') else { break };
        let after = &inner[close + 1..];
        let end = after.find(['`', ',']).unwrap_or(after.len());
        parts.push((&inner[..close], &after[..end]));
        rest = after;
    }
    parts
}

/// Paths separated by commas, each with the remark in parentheses or after a blank.
fn parted(text: &str) -> Vec<(&str, &str)> {
    let mut parts = Vec::new();
    let (mut start, mut depth) = (0, 0usize);
    for (at, c) in text.char_indices().chain([(text.len(), ',')]) {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 || at == text.len() => {
                let part = text[start..at].trim();
                let cut = part.find(char::is_whitespace).unwrap_or(part.len());
                let (path, remark) = part.split_at(cut);
                // `several words` are not a path; `path (words)` and `path -- words` are.
                let remark = remark.trim_start();
                if remark.is_empty() || remark.starts_with(['(', '-', '—', '–', '+']) {
                    parts.push((path, remark));
                }
                start = at + 1;
            }
            _ => {}
        }
    }
    parts
}

fn is_new(remark: &str) -> bool {
    let words = remark.to_ascii_lowercase();
    let first = words.trim_start_matches([' ', '(', '[', '-', '—', '–', '*']);
    ["new", "create", "created", "to be created", "to create"].iter().any(|word| {
        let after = first.strip_prefix(word);
        after.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
    })
}

/// A path in backticks. It may have blanks in it if it ends like a file and does not look like a command.
pub(crate) fn ticked_path(text: &str) -> Option<String> {
    if let Some(path) = clean_path(text) {
        return Some(path);
    }
    let path = text.trim().trim_start_matches("./");
    let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
    let file = (1..=8).contains(&ending.len()) && ending.bytes().all(|b| b.is_ascii_alphanumeric());
    // `cargo test -p x.rs` ends like a file, but has an option in it.
    let command = path.contains(" -") || path.contains(['\n', '|', ';', '&', '$']);
    (file && !command && path.contains(char::is_whitespace)).then(|| path.to_owned())
}

/// A path without quotes, `./` and a line reference; `None` for words that are not a path.
pub(crate) fn clean_path(text: &str) -> Option<String> {
    let quotes = ['`', '"', '\'', '*'];
    let text = text.trim();
    // Stars before a word are emphasis; those of `**/.env` and `*.pem` are the pattern.
    let bare = text.trim_start_matches(&quotes[..3]);
    let text = match bare.starts_with("**/") || bare.starts_with("*.") {
        true => bare.trim_end_matches(quotes),
        false => text.trim_matches(quotes),
    };
    let text = text.trim().trim_end_matches([',', ';']);
    // `src/a.rs:10-20` names lines of the file.
    let bare = match text.rsplit_once(':') {
        Some((path, lines)) if !lines.is_empty() && lines.chars().all(|c| c.is_ascii_digit() || c == '-') => {
            path
        }
        _ => text,
    };
    let path = bare.trim_start_matches("./");
    let none = ["none", "n/a", "na", "-", "tbd", ""];
    let words = path.contains(char::is_whitespace);
    let known_none = none.iter().any(|word| path.eq_ignore_ascii_case(word));
    (!words && !known_none && path.contains(|c: char| c.is_alphanumeric())).then(|| path.to_owned())
}

/// Reads `<task …>` blocks at the start of lines.
fn block_tasks(body: &str, lines: &[Line<'_>], diagnostics: &mut Vec<Diagnostic>) -> Vec<Task> {
    let mut tasks = Vec::new();
    let mut open: Option<usize> = None;
    for (at, line) in lines.iter().enumerate() {
        if line.hidden {
            continue;
        }
        let text = line.text.trim_start();
        let starts = opens_task(text);
        let ends = text.contains("</task>") || text.starts_with("</tasks>");
        if let Some(first) = open
            && (starts || ends)
        {
            // The missing end tag is reported, and costs neither this task nor the next one.
            if starts || text.starts_with("</tasks>") {
                let message = "a <task> without </task>; it ends before the next";
                diagnostics.push(Diagnostic::new(lines[first].number, 1, message));
            }
            tasks.push(block_task(body, &lines[first..at], tasks.len()));
            open = None;
        }
        if starts {
            open = Some(at);
            if ends {
                tasks.push(block_task(body, &lines[at..=at], tasks.len()));
                open = None;
            }
        }
    }
    if let Some(first) = open {
        let message = "a <task> without </task>; it goes to the end";
        diagnostics.push(Diagnostic::new(lines[first].number, 1, message));
        tasks.push(block_task(body, &lines[first..], tasks.len()));
    }
    tasks
}

fn opens_task(text: &str) -> bool {
    text.strip_prefix("<task").is_some_and(|rest| rest.starts_with(['>', ' ', '\t']))
}

fn block_task(body: &str, lines: &[Line<'_>], before: usize) -> Task {
    let text = text_of(body, lines);
    let name = element(text, "name").unwrap_or("").trim();
    let (number, title) = match name.get(..5).map(str::to_ascii_lowercase).as_deref() {
        Some("task ") => numbered(name[5..].trim_start()).unwrap_or((None, name)),
        _ => (None, name),
    };
    let verify = element(text, "verify").map(str::trim);
    // Without an <action>, everything after the name is what is to be done.
    let inner = match text.find("</name>") {
        Some(at) => &text[at + "</name>".len()..],
        None => text.split_once('>').map_or("", |(_, inner)| inner),
    };
    let mut task = Task {
        number: number.unwrap_or_else(|| count(before + 1)),
        title: title.to_owned(),
        body: element(text, "action").unwrap_or(inner).trim().to_owned(),
        commit: element(text, "commit").map(|words| without_ticks(words).to_owned()),
        verification: verify.map(commands).unwrap_or_default(),
        verify: verify.filter(|v| !v.is_empty()).map(str::to_owned),
        done: element(text, "done").map(|words| words.trim().to_owned()),
        line: lines.first().map_or(0, |line| line.number),
        ..Task::default()
    };
    for line in element(text, "files").unwrap_or("").lines() {
        let line = line.trim();
        let line = line.strip_prefix("- ").unwrap_or(line);
        task.files.extend(planned_files(line));
    }
    task.files = once_each(task.files);
    task
}

/// The text of the first `<name>` up to its closing tag.
fn element<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let open = format!("<{name}>");
    let from = text.find(&open)? + open.len();
    let to = text[from..].find(&format!("</{name}>"))?;
    Some(&text[from..from + to])
}

/// The commands of a `<verify>`: its `<automated>` parts, or lines that are wholly in backticks. Prose is not a
/// command.
fn commands(verify: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = verify;
    while let Some(command) = element(rest, "automated") {
        let trimmed = without_ticks(command);
        if !trimmed.is_empty() {
            found.push(trimmed.to_owned());
        }
        let end = rest.find("</automated>").unwrap_or(rest.len());
        rest = rest.get(end + "</automated>".len()..).unwrap_or("");
    }
    // Without the tag, only a line that is nothing but code can be a command.
    if found.is_empty() {
        let ticked = verify.lines().map(str::trim).filter(|line| {
            line.len() > 2 && line.starts_with('`') && line.ends_with('`') && !line.contains("``")
        });
        found.extend(ticked.map(without_ticks).filter(|command| !command.contains('`')).map(str::to_owned));
    }
    found
}
