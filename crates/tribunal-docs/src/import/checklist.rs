//! The one reader of Markdown task documents. The formats differ in three small rules; everything else is shared.
//!
//! A box inside a code fence or a comment is never read, and a line is looked at a bounded number of times. A new
//! format is a new row in `rules`, and not a reader of its own.

use std::collections::{BTreeMap, BTreeSet};

use super::boxes::{BoxLine, box_line, indent, is_tick, list_item};
use super::leading::{BareNumbers, Leading, leading};
use super::paths::add_paths;
use super::references::{add_requirements, dependencies};
use super::{Format, ImportedCheck, ImportedTask, Names, Shape, TaskDocument, clipped};
use crate::Diagnostic;
use crate::markdown::{Line, heading, lines};

/// Which boxes without an id check the result instead of asking for work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CheckRule {
    /// All of them, in a document that has ids such as `T001`.
    WithoutTaskId,
    /// Those below a heading such as "Validation", in a document that numbers its tasks.
    UnderCheckHeading,
}

/// How a format differs from the others.
#[derive(Debug, Clone, Copy)]
struct Rules {
    checks: CheckRule,
    bare_numbers: BareNumbers,
    /// Whether a heading "User Story 1" gives the tasks below it their story.
    story_headings: bool,
}

fn rules(format: Format) -> Rules {
    let (checks, bare_numbers) = match format {
        Format::SpecKit => (CheckRule::WithoutTaskId, BareNumbers::Words),
        Format::Kiro => (CheckRule::UnderCheckHeading, BareNumbers::Ids),
        Format::OpenSpec | Format::TaskMaster => (CheckRule::UnderCheckHeading, BareNumbers::Words),
    };
    Rules { checks, bare_numbers, story_headings: format == Format::SpecKit }
}

/// Words in headings above boxes that are checks.
const CHECK_HEADINGS: &[&str] = &[
    "checklist",
    "validation",
    "acceptance",
    "success criteria",
    "definition of done",
    "verification criteria",
    "exit criteria",
    "验收",
    "驗收",
    "检查清单",
    "验证清单",
    "檢查清單",
    "チェックリスト",
    "受け入れ",
    "成功基準",
    "完了条件",
];

/// A box or a heading that may be a task, with the lines that belong to it.
struct Item<'a> {
    line: u32,
    /// The mark in the box; headings have none.
    mark: Option<char>,
    done: bool,
    starred: bool,
    head: Leading<'a>,
    /// The line itself and the plain lines below it.
    block: Vec<&'a str>,
    phase: Option<&'a str>,
    section: Option<&'a str>,
    /// The index of the item below which it is indented.
    above: Option<usize>,
}

/// The headings that the reader is below, by level.
#[derive(Default)]
struct Headings<'a> {
    levels: [Option<&'a str>; 7],
}

impl<'a> Headings<'a> {
    fn enter(&mut self, level: usize, text: &'a str) {
        // A heading ends everything deeper than itself.
        self.levels[level..].fill(None);
        self.levels[level] = Some(clipped(text));
    }

    fn phase(&self) -> Option<&'a str> {
        self.levels[2]
    }

    /// The nearest heading. The title of the document does not count.
    fn section(&self) -> Option<&'a str> {
        self.levels[2..].iter().rev().find_map(|text| *text)
    }
}

/// Reads a Markdown task document.
pub(super) fn read(format: Format, text: &str) -> TaskDocument {
    let rules = rules(format);
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = lines(text, 1);
    let mut diagnostics = Vec::new();
    let mut items = box_items(&lines, rules, &mut diagnostics);
    let mut shape = Shape::Boxes;
    // Only in a document without any box: headings above boxes are groups and not tasks.
    if items.is_empty() {
        items = heading_items(&lines, rules);
        shape = match items.is_empty() {
            false => Shape::Headings,
            true if lines.iter().any(is_table_row) => Shape::Table,
            true => Shape::Other,
        };
    }
    note_unused(&lines, shape, &mut diagnostics);
    note_marks(&items, &mut diagnostics);
    let is_check = checks_of(&items, rules.checks);
    let tasks = tasks(&items, &is_check, rules);
    let chosen = items.iter().zip(&is_check).filter(|(_, check)| **check);
    let check =
        |item: &Item<'_>| ImportedCheck { line: item.line, text: item.head.text.clone(), done: item.done };
    let checks: Vec<ImportedCheck> = chosen.map(|(item, _)| check(item)).collect();
    note_checks(&items, &is_check, &mut diagnostics);
    note_ids(&tasks, &mut diagnostics);
    TaskDocument { format, shape, ok: true, tasks, checks, diagnostics }
}

fn box_items<'a>(lines: &[Line<'a>], rules: Rules, diagnostics: &mut Vec<Diagnostic>) -> Vec<Item<'a>> {
    let mut items: Vec<Item<'a>> = Vec::new();
    let mut headings = Headings::default();
    // The boxes that the reader is inside of, by indentation, and the one to which plain lines belong.
    let mut open: Vec<(usize, usize)> = Vec::new();
    let mut current: Option<(usize, usize)> = None;
    let mut after_blank = false;
    for line in lines.iter() {
        let found = box_line(line.text);
        // Reported, because a fence that never closes hides every task below it.
        if line.hidden {
            if found.is_some() {
                let message = "a box inside a code block or a comment is not a task";
                diagnostics.push(Diagnostic::new(line.number, 1, message));
            }
            continue;
        }
        if let Some((level, text)) = heading(line.text) {
            headings.enter(level, text);
            open.clear();
            current = None;
        } else if let Some(found) = found {
            leave(&mut open, found.indent);
            let above = open.last().map(|(_, item)| *item);
            open.push((found.indent, items.len()));
            current = Some((found.indent, items.len()));
            items.push(box_item(line, &found, above, &headings, rules));
        } else if line.text.trim().is_empty() {
            after_blank = true;
            continue;
        } else {
            let item = list_item(line.text).is_some();
            let column = indent(line.text);
            if item {
                leave(&mut open, column);
            }
            // A line that is indented belongs to the box above; flush left it does so only as a lazy continuation.
            current = current.filter(|(depth, _)| column > *depth || !(item || after_blank));
            if let Some(owner) = current.and_then(|(_, at)| items.get_mut(at)) {
                owner.block.push(line.text);
            }
        }
        after_blank = false;
    }
    items
}

/// Leaves the boxes that a line at some indentation is not inside of.
fn leave(open: &mut Vec<(usize, usize)>, indent: usize) {
    while open.last().is_some_and(|(depth, _)| *depth >= indent) {
        open.pop();
    }
}

fn box_item<'a>(
    line: &Line<'a>,
    found: &BoxLine<'a>,
    above: Option<usize>,
    headings: &Headings<'a>,
    rules: Rules,
) -> Item<'a> {
    Item {
        line: line.number,
        mark: Some(found.mark),
        done: found.done(),
        starred: found.starred,
        head: leading(found.rest, rules.bare_numbers),
        block: vec![found.rest],
        phase: headings.phase(),
        section: headings.section(),
        above,
    }
}

/// The headings that name tasks: `Task 1`, `T001`, `1.1`. `## 1. Setup` names a group.
fn heading_items<'a>(lines: &[Line<'a>], rules: Rules) -> Vec<Item<'a>> {
    let mut items: Vec<Item<'a>> = Vec::new();
    let mut headings = Headings::default();
    let mut is_inside = false;
    for line in lines.iter().filter(|line| !line.hidden) {
        let Some((level, text)) = heading(line.text) else {
            if let Some(owner) = items.last_mut().filter(|_| is_inside) {
                owner.block.push(line.text);
            }
            continue;
        };
        headings.enter(level, text);
        is_inside = level > 1 && names_task(text);
        if is_inside {
            // The heading is the task itself, and must not be its own section.
            headings.levels[level] = None;
            let head = leading(text.trim_start_matches(|c| is_tick(c) || c == ' '), rules.bare_numbers);
            let done = text.contains(is_tick) || text.contains("[x]");
            let (phase, section) = (headings.phase(), headings.section());
            let block = vec![text];
            items.push(Item {
                line: line.number,
                mark: None,
                done,
                starred: false,
                head,
                block,
                phase,
                section,
                above: None,
            });
        }
    }
    items
}

fn names_task(heading: &str) -> bool {
    let plain = heading.trim_start_matches(|c| is_tick(c) || matches!(c, ' ' | '*'));
    let Some(id) = leading(plain, BareNumbers::Words).id else { return false };
    let is_group = id.bytes().all(|b| b.is_ascii_digit()) && plain.starts_with(|c: char| c.is_ascii_digit());
    !is_group
}

fn is_table_row(line: &Line<'_>) -> bool {
    !line.hidden && line.text.trim_start().starts_with('|')
}

/// Which items are checks.
fn checks_of(items: &[Item<'_>], rule: CheckRule) -> Vec<bool> {
    // Numbers occur as ids in every format; a letter shows that the author follows spec-kit.
    let is_letter = |id: &String| !id.starts_with(|c: char| c.is_ascii_digit());
    let ids = || items.iter().filter_map(|item| item.head.id.as_ref());
    // In a document without ids, boxes without an id are its tasks, so the rule does not apply.
    let applies = match rule {
        CheckRule::WithoutTaskId => ids().any(is_letter),
        CheckRule::UnderCheckHeading => ids().next().is_some(),
    };
    let under = |item: &Item<'_>| {
        let above = [item.section, item.phase];
        above.into_iter().flatten().any(|text| {
            let text = text.to_lowercase();
            CHECK_HEADINGS.iter().any(|word| text.contains(word))
        })
    };
    let check = |item: &Item<'_>| {
        applies && item.head.id.is_none() && (rule == CheckRule::WithoutTaskId || under(item))
    };
    items.iter().map(check).collect()
}

fn tasks(items: &[Item<'_>], is_check: &[bool], rules: Rules) -> Vec<ImportedTask> {
    let mut places = vec![None; items.len()];
    let mut next = 0;
    for (at, _) in is_check.iter().enumerate().filter(|(_, check)| !**check) {
        next += 1;
        places[at] = Some(next);
    }
    let ids: BTreeSet<&str> = items.iter().filter_map(|item| item.head.id.as_deref()).collect();
    let chosen = items.iter().zip(&places).filter_map(|(item, n)| n.map(|n| (item, n)));
    chosen.map(|(item, n)| task(item, n, items, &places, &ids, rules)).collect()
}

fn task(
    item: &Item<'_>,
    n: usize,
    items: &[Item<'_>],
    places: &[Option<usize>],
    ids: &BTreeSet<&str>,
    rules: Rules,
) -> ImportedTask {
    let (mut paths, mut reqs) = (Names::default(), Names::default());
    for line in &item.block {
        add_paths(line, &mut paths);
        add_requirements(line, &mut reqs);
    }
    let id = item.head.id.as_deref();
    let mut deps = dependencies(&item.block.join(" "), ids);
    // A task that mentions its own id does not wait for itself.
    deps.retain(|one| Some(one.as_str()) != id);
    let named = item.section.and_then(story_of).or_else(|| item.phase.and_then(story_of));
    let story = item.head.story.clone().or(named.filter(|_| rules.story_headings));
    let words = item.block.first().map(|line| line.to_lowercase()).unwrap_or_default();
    ImportedTask {
        n,
        id: item.head.id.clone(),
        line: item.line,
        text: item.head.text.clone(),
        done: item.done,
        box_mark: item.mark,
        status: None,
        // Each tool has its own mark for it, and a formatter may have moved Kiro's.
        optional: item.starred || item.head.starred || words.contains("(optional)"),
        parallel: item.head.parallel,
        story,
        phase: item.phase.map(str::to_owned),
        section: item.section.map(str::to_owned),
        parent: parent(item, items, places, ids),
        paths: paths.list,
        reqs: reqs.list,
        deps,
    }
}

/// The task above: by number first, because sub-tasks often stand flush left, and then by indentation.
fn parent(
    item: &Item<'_>,
    items: &[Item<'_>],
    places: &[Option<usize>],
    ids: &BTreeSet<&str>,
) -> Option<String> {
    let number = item.head.id.as_deref().filter(|id| id.starts_with(|c: char| c.is_ascii_digit()));
    // Only if that number exists: `2.1` without a task 2 belongs to a heading.
    let by_number =
        number.and_then(|id| id.rsplit_once('.')).map(|(above, _)| above).filter(|id| ids.contains(id));
    if let Some(above) = by_number {
        return Some(above.to_owned());
    }
    let above = item.above?;
    let n = places.get(above).copied().flatten()?;
    Some(items[above].head.id.clone().unwrap_or_else(|| format!("#{n}")))
}

/// Reads `US1` from a heading with "User Story 1" or "US1".
fn story_of(heading: &str) -> Option<String> {
    let lower = heading.to_lowercase();
    let number = |after: &str| {
        let digits = after.trim_start_matches([' ', '-', '#']).chars().take_while(char::is_ascii_digit);
        Some(digits.collect::<String>())
            .filter(|number| !number.is_empty())
            .map(|number| format!("US{number}"))
    };
    let words = ["user story", "用户故事", "使用者故事", "ユーザーストーリー"];
    let spelled = words.into_iter().find_map(|word| lower.find(word).map(|at| &lower[at + word.len()..]));
    // `US1` in the middle of a word does not count.
    let short = || {
        let mut parts = heading.split(|c: char| !c.is_ascii_alphanumeric());
        parts.find_map(|part| part.strip_prefix("US").and_then(number))
    };
    spelled.and_then(number).or_else(short)
}

/// Notes the parts of a document from which nothing is read.
fn note_unused(lines: &[Line<'_>], shape: Shape, diagnostics: &mut Vec<Diagnostic>) {
    let mut in_table = false;
    for line in lines.iter().filter(|line| !line.hidden) {
        let text = line.text.trim_start();
        let mut note = |message: &str| diagnostics.push(Diagnostic::new(line.number, 1, message));
        let is_row = text.starts_with('|');
        if is_row && !in_table {
            note("a table is not read for tasks");
        }
        in_table = is_row;
        if text.starts_with("<<<<<<< ") || text.starts_with(">>>>>>> ") {
            diagnostics.push(Diagnostic::misread(line.number, 1, "a merge conflict is not resolved here"));
        } else if text.starts_with('>') && box_line(text.trim_start_matches(['>', ' '])).is_some() {
            note("a box in a quotation is not a task");
        } else if list_item(text).is_some_and(|item| item.starts_with("[]")) {
            note("`[]` is no box: a box holds a blank or a mark");
        } else if heading(line.text).is_some_and(|(_, text)| is_template(text)) {
            note("a template is not filled in here");
        } else if shape == Shape::Other
            && text.starts_with(|c: char| c.is_ascii_digit())
            && list_item(text).is_some()
        {
            note("a numbered item without a box is not a task");
        }
    }
}

/// Whether a heading still has a placeholder such as `[FEATURE NAME]`.
fn is_template(text: &str) -> bool {
    ["[FEATURE", "[PROJECT", "[###", "[NNN"].iter().any(|mark| text.contains(mark))
}

/// Notes each mark in brackets that has no meaning here once, at its first place.
fn note_marks(items: &[Item<'_>], diagnostics: &mut Vec<Diagnostic>) {
    let mut marks: BTreeMap<&str, (u32, usize)> = BTreeMap::new();
    for item in items {
        for mark in &item.head.unknown {
            marks.entry(mark).or_insert((item.line, 0)).1 += 1;
        }
    }
    for (mark, (line, times)) in marks {
        let message = format!("the mark [{mark}] is not used (marks like it: {times})");
        diagnostics.push(Diagnostic::new(line, 1, message));
    }
}

/// Notes checks once for each heading.
fn note_checks(items: &[Item<'_>], is_check: &[bool], diagnostics: &mut Vec<Diagnostic>) {
    let mut groups: Vec<(u32, Option<&str>, usize)> = Vec::new();
    for (item, _) in items.iter().zip(is_check).filter(|(_, check)| **check) {
        match groups.last_mut() {
            Some((_, section, times)) if *section == item.section => *times += 1,
            _ => groups.push((item.line, item.section, 1)),
        }
    }
    for (line, section, times) in groups {
        let place = section.map(|text| format!(" under \"{text}\"")).unwrap_or_default();
        let message = format!("boxes that are checks, not tasks{place}: {times}");
        diagnostics.push(Diagnostic::new(line, 1, message));
    }
}

/// Notes ids that are given twice, and finished tasks with open parts.
fn note_ids(tasks: &[ImportedTask], diagnostics: &mut Vec<Diagnostic>) {
    let mut first: BTreeMap<&str, &ImportedTask> = BTreeMap::new();
    for task in tasks {
        let Some(id) = task.id.as_deref() else { continue };
        match first.get(id) {
            Some(known) => {
                let message = format!("the id {id} is given on line {} already", known.line);
                diagnostics.push(Diagnostic::misread(task.line, 1, message));
            }
            None => drop(first.insert(id, task)),
        }
    }
    for task in tasks.iter().filter(|task| !task.done && !task.optional) {
        let above = task.parent.as_deref().and_then(|id| first.get(id)).filter(|above| above.done);
        if let Some(above) = above {
            let message = format!("open, while the task above it (line {}) is ticked", above.line);
            diagnostics.push(Diagnostic::new(task.line, 1, message));
        }
    }
}
