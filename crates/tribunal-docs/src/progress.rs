//! Notes the progress of a run in `STATE.md` and `ROADMAP.md`: check boxes, table cells and the few fields that a tool
//! may fill.
//!
//! It never touches any other byte, since these are documents that people write, and it gives the same text when it is
//! asked twice. Nothing is rendered anew: every change is a small replacement at a known place.

use crate::markdown::{self, Line, heading};
use crate::names::{PlanId, leading_number};
use crate::{document_name, front};

/// Where a phase stands.
///
/// The caller counts it from the summaries; the day comes in, because nothing here knows the time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PhaseProgress {
    /// The phase number, with at least two digits.
    pub number: String,
    /// The name of the phase for readers; empty if it has none.
    pub name: String,
    /// The plans of the phase, and whether each is complete.
    pub plans: Vec<(PlanId, bool)>,
    /// The day, as `2026-01-31`.
    pub date: String,
    /// The effort level of the run; empty when unknown.
    pub effort: String,
    /// How many issues people found when they tried it out.
    pub issues: usize,
}

impl PhaseProgress {
    /// Whether every plan is complete and nobody found an issue.
    pub fn is_complete(&self) -> bool {
        // A phase without plans is not complete: nothing was done.
        self.issues == 0 && self.done() == self.plans.len() && !self.plans.is_empty()
    }

    fn done(&self) -> usize {
        self.plans.iter().filter(|(_, done)| *done).count()
    }

    fn count(&self) -> String {
        format!("{}/{}", self.done(), self.plans.len())
    }

    fn percent(&self) -> String {
        format!("{}%", (self.done() * 100).checked_div(self.plans.len()).unwrap_or(0))
    }

    /// The status in one or two words, for a table cell.
    fn word(&self) -> &'static str {
        match (self.is_complete(), self.issues) {
            (true, _) => "Complete",
            (false, 0) => "In progress",
            (false, _) => "Issues found",
        }
    }

    /// The status with its counts: `Complete (2/2 plans)`.
    fn words(&self) -> String {
        let issues = match self.issues {
            0 => String::new(),
            1 => ", 1 issue".to_owned(),
            many => format!(", {many} issues"),
        };
        format!("{} ({} plans{issues})", self.word(), self.count())
    }

    /// Whether a text that begins with a number means this phase.
    fn is_it(&self, text: &str) -> bool {
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let number = text[..end].trim_end_matches('.');
        leading_number(number).is_some_and(|(number, _)| number == self.number)
    }

    /// Whether a text says `Phase 1…` of this phase, behind bold marks, brackets or backticks.
    fn is_named(&self, text: &str) -> bool {
        let text = text.trim_start_matches(['*', '[', '`', '_', ' ']);
        let word = text.get(..5).is_some_and(|word| word.eq_ignore_ascii_case("phase"));
        word && self.is_it(text[5..].trim_start_matches([' ', ':']))
    }

    fn plan(&self, text: &str) -> Option<bool> {
        let id = plan_named(text, &self.number)?;
        self.plans.iter().find(|(plan, _)| *plan == id).map(|(_, done)| *done)
    }
}

/// The plan that a list item begins with: `01-02-PLAN.md`, `**01-02**: words`, `[01-02](x)`, `Plan 01-02`.
fn plan_named(text: &str, phase: &str) -> Option<PlanId> {
    let text = text.trim_start_matches(['*', '[', '`', '_', ' ']);
    let text = match text.get(..5) {
        Some(word) if word.eq_ignore_ascii_case("plan ") => text[5..].trim_start(),
        _ => text,
    };
    let word = text.split([' ', ':', '*', ']', '`', '—', '–', ')']).next().unwrap_or("");
    if let Some(name) = document_name(word).filter(|name| name.kind == "PLAN") {
        return name.id();
    }
    let (first, rest) = leading_number(word)?;
    let (second, end) = leading_number(rest.strip_prefix('-')?)?;
    (first == phase && end.is_empty()).then(|| PlanId::new(&first, &second))
}

/// Updates a roadmap: the boxes of this phase and its row of the progress table.
///
/// Everything else in the document is left byte for byte as it was.
pub fn update_roadmap(text: &str, phase: &PhaseProgress) -> String {
    edited(text, |lines| {
        let mut edits = Edits::default();
        edits.boxes(lines, phase);
        edits.tables(lines, phase);
        edits
    })
}

/// Updates a state document: the fields of the current phase, and the line of this phase.
///
/// A document that says nothing of this phase anywhere gets a section at its end, so that the progress is never lost
/// without a word.
pub fn update_state(text: &str, phase: &PhaseProgress) -> String {
    let mut told = false;
    let mut updated = edited(text, |lines| {
        let mut edits = Edits::default();
        edits.fields(lines, phase);
        edits.list(lines, phase);
        edits.boxes(lines, phase);
        edits.tables(lines, phase);
        told = edits.told;
        edits
    });
    if !told {
        // Line ends follow the document.
        let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let gap = match updated.trim_end_matches(['\n', '\r']).len() {
            0 => String::new(),
            _ if updated.ends_with('\n') => end.to_owned(),
            _ => end.repeat(2),
        };
        let name = if phase.name.is_empty() { String::new() } else { format!(" ({})", phase.name) };
        let line = format!("- **Phase {}{name}:** {}", phase.number, phase.words());
        updated.push_str(&format!("{gap}## Phase Status{end}{line}{end}"));
    }
    updated
}

/// Places in a body, and what goes there.
#[derive(Default)]
struct Edits {
    found: Vec<(usize, usize, String)>,
    told: bool,
}

fn edited(text: &str, find: impl FnOnce(&[Line<'_>]) -> Edits) -> String {
    // The frontmatter is left alone: its keys are not part of the progress that people read.
    let body = front::read(text, &|_| false).body;
    let from = text.len() - body.len();
    let lines = markdown::lines(body, 1);
    let mut found = find(&lines).found;
    found.sort();
    found.dedup();
    let mut out = text[..from].to_owned();
    let mut at = 0;
    for (start, end, new) in found.into_iter().filter(|(start, end, _)| start <= end && *end <= body.len()) {
        // Two readings of one place: the first one counts.
        if start < at {
            continue;
        }
        out.push_str(&body[at..start]);
        out.push_str(&new);
        at = end;
    }
    out.push_str(&body[at..]);
    out
}

impl Edits {
    /// Replaces a part of a line. `part` must be a slice of that line.
    fn put(&mut self, line: &Line<'_>, part: &str, new: impl Into<String>) {
        let from = line.start + (part.as_ptr() as usize - line.text.as_ptr() as usize);
        self.found.push((from, from + part.len(), new.into()));
    }

    /// Updates `- [ ] 01-02-PLAN.md` and `- [ ] **Phase 1: Name**`.
    fn boxes(&mut self, lines: &[Line<'_>], phase: &PhaseProgress) {
        for line in lines.iter().filter(|line| !line.hidden) {
            let Some((mark, item)) = boxed(line.text) else { continue };
            let done = phase.plan(item).or_else(|| phase.is_named(item).then(|| phase.is_complete()));
            let Some(done) = done else { continue };
            self.told |= phase.is_named(item);
            // A box that is right already keeps its own mark, `x` or `X`.
            if (mark != " ") != done {
                self.put(line, mark, if done { "x" } else { " " });
            }
        }
    }

    /// Updates rows of this phase in tables whose first column is the phase's.
    fn tables(&mut self, lines: &[Line<'_>], phase: &PhaseProgress) {
        let mut columns: Option<Vec<String>> = None;
        for line in lines {
            let row = (!line.hidden).then(|| cells(line.text)).flatten();
            let Some(row) = row else {
                // Any other line ends the table.
                columns = None;
                continue;
            };
            let Some(columns) = &columns else {
                columns = Some(row.iter().map(|cell| cell.trim().to_ascii_lowercase()).collect());
                continue;
            };
            let first = columns.first().is_some_and(|name| matches!(name.as_str(), "phase" | "#"));
            let head = row.first().map_or("", |cell| cell.trim()).trim_start_matches(['*', '[', '`']);
            // Tables of other things may have a row that begins with the same number.
            if first && (phase.is_it(head) || phase.is_named(head)) {
                self.row(line, columns, &row, phase);
            }
        }
    }

    fn row(&mut self, line: &Line<'_>, columns: &[String], row: &[&str], phase: &PhaseProgress) {
        for (column, cell) in columns.iter().zip(row).skip(1) {
            let old = cell.trim();
            let new = match column.as_str() {
                "status" => phase.word().to_owned(),
                // A cell is only filled in the form that it has; anything else in it is somebody's own words.
                "plans complete" | "plans" if is_count(old) => phase.count(),
                "plans complete" | "plans" if is_number(old) => phase.plans.len().to_string(),
                // A date that is there stays: the phase was completed then, and not today.
                "completed" | "date" => match (phase.is_complete(), is_date(old)) {
                    (true, true) => continue,
                    (true, false) => phase.date.clone(),
                    (false, true) => "-".to_owned(),
                    (false, false) => continue,
                },
                _ => continue,
            };
            // Only the status tells a reader where the phase stands; a date alone does not.
            self.told |= column == "status";
            if new != old && !old.is_empty() {
                self.put(line, old, new);
            }
        }
    }

    /// Updates `Status: …` and the like, above the first section and in the one about the current phase.
    fn fields(&mut self, lines: &[Line<'_>], phase: &PhaseProgress) {
        let mut current = true;
        for line in lines.iter().filter(|line| !line.hidden) {
            if let Some((level, title)) = heading(line.text) {
                let title = title.to_ascii_lowercase();
                // Sections about history keep their old values.
                current = level == 1 || title.starts_with("current");
                continue;
            }
            let Some((key, value)) = field(line.text).filter(|_| current) else { continue };
            let new = match key.as_str() {
                "phase" | "current phase" => at_phase(value, phase),
                "plans" if is_count(value) => Some(phase.count()),
                "progress" if value.strip_suffix('%').is_some_and(is_number) => Some(phase.percent()),
                "status" => Some(format!("Phase {} {}", phase.number, lower_first(&phase.words()))),
                "effort" if !phase.effort.is_empty() => Some(phase.effort.clone()),
                // Otherwise the date would change at every run that has nothing new to say.
                "last activity" if !value.contains(&phase.words()) => {
                    Some(format!("{}: phase {}, {}", phase.date, phase.number, phase.words()))
                }
                _ => None,
            };
            self.told |= key == "status";
            if let Some(new) = new.filter(|new| new != value) {
                self.put(line, value, new);
            }
        }
    }

    /// Updates `- **Phase 1 (Name):** Pending`.
    fn list(&mut self, lines: &[Line<'_>], phase: &PhaseProgress) {
        for line in lines.iter().filter(|line| !line.hidden) {
            let Some(item) =
                item(line.text).filter(|item| boxed(line.text).is_none() && phase.is_named(item))
            else {
                continue;
            };
            let Some((_, value)) = item.split_once(":**").or_else(|| item.split_once("**:")) else {
                continue;
            };
            let value = value.trim();
            self.told = true;
            if !value.is_empty() && value != phase.words() {
                self.put(line, value, phase.words());
            }
        }
    }
}

/// `1 of 6 (Name)` with this phase's number and name in it; `None` where it already says so.
fn at_phase(value: &str, phase: &PhaseProgress) -> Option<String> {
    let word = value.get(..5).filter(|word| word.eq_ignore_ascii_case("phase")).map_or("", |_| &value[..5]);
    let gap = value[word.len()..].len() - value[word.len()..].trim_start().len();
    let (before, rest) = value.split_at(word.len() + gap);
    let (number, after) = leading_number(rest)?;
    if number == phase.number {
        return None;
    }
    let width = rest.len() - after.len();
    // The number keeps its width: an author who writes `1` does not want `02`.
    let short = phase.number.trim_start_matches('0');
    let number = if width == 1 { short.to_owned() } else { phase.number.clone() };
    let after = match (after.find('('), after.rfind(')')) {
        (Some(open), Some(close)) if open < close && !phase.name.is_empty() => {
            format!("{}{}{}", &after[..=open], phase.name, &after[close..])
        }
        _ => after.to_owned(),
    };
    Some(format!("{before}{number}{after}"))
}

fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// What follows the dash of a list item.
fn item(line: &str) -> Option<&str> {
    let line = line.trim_start();
    line.strip_prefix("- ").or_else(|| line.strip_prefix("* ")).map(str::trim_start)
}

/// The mark in a list item's box, and what follows the box.
fn boxed(line: &str) -> Option<(&str, &str)> {
    let rest = item(line)?.strip_prefix('[')?;
    let mark = rest.get(..1).filter(|mark| matches!(*mark, " " | "x" | "X"))?;
    Some((mark, rest[1..].strip_prefix(']')?.trim_start()))
}

/// The cells of a table row that begins and ends with a bar.
fn cells(line: &str) -> Option<Vec<&str>> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    Some(inner.split('|').collect())
}

/// Reads `Key: value`, `**Key:** value` or `**Key**: value`, with or without a dash before it: the key in lower case,
/// and the value.
fn field(line: &str) -> Option<(String, &str)> {
    let text = line.trim();
    let text = text.strip_prefix("- ").unwrap_or(text).trim_start();
    let (key, value) = text.split_once(':')?;
    let key = key.trim_matches(['*', '_', ' ']);
    let value = value.trim_start_matches('*').trim();
    // A short key of plain words; otherwise every sentence with a colon would be a field.
    let plain = !key.is_empty() && key.len() <= 20 && key.chars().all(|c| c.is_alphabetic() || c == ' ');
    (plain && !value.is_empty()).then(|| (key.to_ascii_lowercase(), value))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.len() <= 6 && text.bytes().all(|b| b.is_ascii_digit())
}

fn is_count(text: &str) -> bool {
    text.split_once('/').is_some_and(|(done, all)| is_number(done.trim()) && is_number(all.trim()))
}

fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    parts.len() == 3 && parts.iter().all(|part| is_number(part))
}
