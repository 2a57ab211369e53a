//! A summary document ⇄ [`Summary`], and the gate that decides whether it may count.
//!
//! A plan is never complete on words alone: the commit hashes in a summary are checked by a fact that the caller
//! brings. The builder writes the summary itself, so every claim in it that can be checked is checked.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::markdown::{self, Line, heading};
use crate::names::PlanId;
use crate::yaml::{Value, emit};
use crate::{CheckStatus, Plan, Read, front, plan, task};

/// The nine frontmatter fields that a summary must have.
pub(crate) const FIELDS: [&str; 9] = [
    "phase",
    "plan",
    "title",
    "status",
    "completed",
    "tasks_completed",
    "tasks_total",
    "commit_hashes",
    "deviations",
];

/// The three body sections that a summary must have.
const SECTIONS: [&str; 3] = ["what was built", "files modified", "deviations"];

const SYNONYMS: [(&str, &str); 4] = [
    ("name", "title"),
    ("commits", "commit_hashes"),
    ("completed_date", "completed"),
    ("completed_at", "completed"),
];

/// A summary: one `NN-MM-SUMMARY.md`.
///
/// It is kept as written, claims included. Whether the claims hold is for [`check_summary`] to say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// The plan that it is about, from the frontmatter, otherwise from the path.
    pub id: PlanId,
    /// The label under which the document was read.
    pub path: String,
    /// Whether the document has frontmatter.
    pub has_frontmatter: bool,
    /// Canonical names of the keys given, with their lines.
    pub lines: BTreeMap<String, u32>,
    /// The key `phase`, as written.
    pub phase: Option<String>,
    /// The key `plan`, as written.
    pub plan: Option<String>,
    /// The title: `title` or `name`, or without either the first level-1 heading.
    pub title: Option<String>,
    /// The key `status`, as written: complete, partial or failed.
    pub status: Option<String>,
    /// The key `completed`, as written.
    pub completed: Option<String>,
    /// The key `tasks_completed`, as written.
    pub tasks_completed: Option<String>,
    /// The key `tasks_total`, as written.
    pub tasks_total: Option<String>,
    /// The commit hashes, one for each task.
    pub commit_hashes: Vec<String>,
    /// Where the work deviates from the plan.
    pub deviations: Vec<String>,
    /// Every other key, as written.
    #[serde(serialize_with = "crate::as_object")]
    pub extra: Vec<(String, Value)>,
    /// The sections of the body.
    pub sections: Vec<Section>,
    /// The files listed in the section `Files Modified`.
    pub files: Vec<FileChange>,
    /// The text below the frontmatter.
    pub body: String,
}

impl Summary {
    /// Whether it says that the plan is complete.
    pub fn is_complete(&self) -> bool {
        let status = self.status.as_deref().unwrap_or("").trim();
        status.eq_ignore_ascii_case("complete") || status.eq_ignore_ascii_case("completed")
    }

    /// The section with this heading, in any case.
    pub fn section(&self, title: &str) -> Option<&Section> {
        let named = |section: &&Section| section.title.eq_ignore_ascii_case(title);
        self.sections.iter().find(named)
    }
}

/// A `## Heading` and the text below it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Section {
    /// The text of the heading.
    pub title: String,
    /// The text up to the next heading of this level.
    pub text: String,
    /// The line of the heading in the file.
    pub line: u32,
}

/// One line of `Files Modified`: `path` -- action: purpose.
///
/// The list is the author's own claim. It is compared with what the commits really changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct FileChange {
    /// The path of the file.
    pub path: String,
    /// What was done (created, modified, deleted, renamed), in lower case; empty when not said.
    pub action: String,
    /// What the change is for.
    pub purpose: String,
    /// The line in the summary's file.
    pub line: u32,
}

/// Reads a summary. `path` is the label by which it is known, and may give phase and plan numbers.
pub fn read_summary(path: &str, text: &str) -> Read<Summary> {
    let (front, mut fields, diagnostics) = match front::open(text, &FIELDS, &SYNONYMS) {
        Ok(opened) => opened,
        Err(diagnostics) => return Read { value: None, recovered: false, diagnostics },
    };
    let lines = markdown::lines(front.body, front.body_line);
    let mut summary = Summary {
        path: path.to_owned(),
        has_frontmatter: front.present,
        lines: fields.lines(),
        phase: fields.take_text("phase"),
        plan: fields.take_text("plan"),
        title: fields.take_text("title"),
        status: fields.take_text("status"),
        completed: fields.take_text("completed"),
        tasks_completed: fields.take_text("tasks_completed"),
        tasks_total: fields.take_text("tasks_total"),
        commit_hashes: hashes(fields.take("commit_hashes")),
        deviations: deviations(fields.take("deviations")),
        body: front.body.to_owned(),
        ..Summary::default()
    };
    summary.extra = fields.rest();
    // The heading stands in, so a summary without the key still has a name.
    if !summary.has("title") {
        summary.title = markdown::first_title(&lines);
    }
    summary.id = plan::identity(path, summary.phase.as_deref(), summary.plan.as_deref());
    let (sections, files) = sections(front.body, &lines);
    summary.sections = sections;
    summary.files = files;
    Read { value: Some(summary), recovered: front.recovered, diagnostics: crate::in_order(diagnostics) }
}

/// The hash of each entry: `84e9493`, `d39ffa6: docs: words` (a map of one), `"84e9493 words"`. A count (`commits: 3`)
/// names no commit.
fn hashes(value: Option<Value>) -> Vec<String> {
    let listed = matches!(value, Some(Value::List(_)));
    let words = value.map(|value| value.to_word_list()).unwrap_or_default();
    words
        .iter()
        .flat_map(|entry| entry.split(','))
        .filter_map(|entry| entry.split([' ', ':', '(']).find(|word| !word.is_empty()))
        .map(|word| word.trim_matches(['`', '"', '\'']).to_owned())
        // An entry of a list was meant as a hash even if it is not one, and the gate reports it then.
        .filter(|word| listed || is_hash(word))
        .collect()
}

fn is_hash(word: &str) -> bool {
    // From git's shortest abbreviation to a full SHA-256 id.
    (4..=64).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_hexdigit())
}

/// The deviations, without `None`, `none` and the like.
fn deviations(value: Option<Value>) -> Vec<String> {
    let mut words = value.map(|value| value.to_word_list()).unwrap_or_default();
    words.retain(|entry| {
        let entry = entry.trim().trim_end_matches('.');
        !["none", "n/a", "no", "[]"].contains(&entry.to_ascii_lowercase().as_str())
    });
    words
}

fn sections(body: &str, lines: &[Line<'_>]) -> (Vec<Section>, Vec<FileChange>) {
    let heads: Vec<(usize, &str)> = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| !line.hidden)
        .filter_map(|(at, line)| heading(line.text).map(|(level, text)| (at, level, text)))
        // Deeper headings are part of their section. A level-1 heading ends one without beginning another.
        .filter(|(_, level, _)| *level <= 2)
        .map(|(at, level, text)| (at, if level == 2 { text } else { "" }))
        .collect();
    let mut files = Vec::new();
    let mut found = Vec::new();
    for (place, (at, title)) in heads.iter().enumerate() {
        if title.is_empty() {
            continue;
        }
        let end = heads.get(place + 1).map_or(lines.len(), |(next, _)| *next);
        let inner = &lines[at + 1..end];
        let from = inner.first().map_or(body.len(), |line| line.start);
        let to = lines.get(end).map_or(body.len(), |line| line.start);
        let text = body.get(from..to).unwrap_or("").trim();
        // Authors add words behind it, as in `Files Modified (3)`.
        if title.to_ascii_lowercase().starts_with("files modified") {
            files.extend(inner.iter().filter(|l| !l.hidden).filter_map(file_change));
        }
        found.push(Section { title: (*title).to_owned(), text: text.to_owned(), line: lines[*at].number });
    }
    (found, files)
}

/// Reads `- \`path\` -- action: purpose`, with any dash, and without action or purpose.
fn file_change(line: &Line<'_>) -> Option<FileChange> {
    let text = line.text.trim_start();
    let item = text.strip_prefix("- ").or_else(|| text.strip_prefix("* "))?.trim();
    let (path, rest) = match item.trim_start_matches("**").strip_prefix('`') {
        Some(ticked) => {
            let (path, rest) = ticked.split_once('`')?;
            (task::ticked_path(path)?, rest)
        }
        None => {
            let (path, rest) = item.split_once(' ').unwrap_or((item, ""));
            (task::clean_path(path)?, rest)
        }
    };
    let rest = rest.trim_start_matches(['*', ' ', '-', '—', '–', ':']);
    // Two words before a colon are the beginning of a sentence and not an action.
    let (action, purpose) = match rest.split_once(':') {
        Some((action, purpose)) if !action.contains(' ') => (action, purpose),
        _ => ("", rest),
    };
    Some(FileChange {
        path,
        action: action.to_ascii_lowercase(),
        purpose: purpose.trim().to_owned(),
        line: line.number,
    })
}

/// Writes a summary: its frontmatter in canonical keys, then its body, or its sections if it has no body.
pub fn write_summary(summary: &Summary) -> String {
    let mut out = String::new();
    if summary.has_frontmatter || summary.body.is_empty() {
        out.push_str("---\n");
        for key in FIELDS {
            if let Some(value) = field(summary, key) {
                out.push_str(&emit::entry(key, &value, "\n"));
            }
        }
        for (key, value) in &summary.extra {
            out.push_str(&emit::entry(key, value, "\n"));
        }
        out.push_str("---\n");
    }
    out.push_str(&summary.body);
    if summary.body.is_empty() {
        for section in &summary.sections {
            out.push_str(&format!("\n## {}\n\n{}\n", section.title, section.text));
        }
    }
    out
}

fn field(summary: &Summary, key: &str) -> Option<Value> {
    let text = |text: &Option<String>| text.as_deref().map_or(Value::Null, Value::text);
    let value = match key {
        "phase" => text(&summary.phase),
        "plan" => text(&summary.plan),
        "title" if !summary.has(key) && !summary.body.is_empty() => Value::Null,
        "title" => text(&summary.title),
        "status" => text(&summary.status),
        "completed" => text(&summary.completed),
        "tasks_completed" => text(&summary.tasks_completed),
        "tasks_total" => text(&summary.tasks_total),
        "commit_hashes" => Value::texts(&summary.commit_hashes),
        _ => Value::texts(&summary.deviations),
    };
    (!value.is_empty() || summary.has(key)).then_some(value)
}

impl Summary {
    /// Whether a key was given, by its canonical name.
    pub fn has(&self, key: &str) -> bool {
        self.lines.contains_key(key)
    }
}

/// What the gate must be told about the repository.
pub struct SummaryFacts<'a> {
    /// Whether a commit exists, by its full or abbreviated hash.
    pub commit_exists: &'a dyn Fn(&str) -> bool,
}

/// One check of the gate, with its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SummaryCheck {
    /// The name of the check in the protocol.
    pub name: &'static str,
    /// How the check went.
    pub status: CheckStatus,
    /// Why the check failed; empty when it passed.
    pub detail: String,
    /// The role that can fix it.
    pub fixable_by: &'static str,
}

/// The gate of a summary: fields, counts, completion, commits and sections.
///
/// All checks are always made, so that one answer names everything that is wrong.
pub fn check_summary(summary: &Summary, plan: &Plan, facts: &SummaryFacts<'_>) -> Vec<SummaryCheck> {
    vec![
        // A complete set of fields for another plan is not a summary of this one.
        check("frontmatter_fields", fields_problem(summary).or_else(|| other_plan(summary, plan))),
        check("task_count_match", count_problem(summary, plan)),
        check("completion_match", completion_problem(summary)),
        check("commit_hashes", commits_problem(summary, facts)),
        check("body_sections", sections_problem(summary)),
    ]
}

fn other_plan(summary: &Summary, plan: &Plan) -> Option<String> {
    (summary.id != plan.id).then(|| format!("it is of plan {}, not of {}", summary.id, plan.id))
}

fn check(name: &'static str, problem: Option<String>) -> SummaryCheck {
    SummaryCheck {
        name,
        status: match problem {
            Some(_) => CheckStatus::Fail,
            None => CheckStatus::Pass,
        },
        detail: problem.unwrap_or_default(),
        // Every problem of a summary is one of its author.
        fixable_by: "dev",
    }
}

fn fields_problem(summary: &Summary) -> Option<String> {
    let missing: Vec<_> = FIELDS.into_iter().filter(|key| !summary.has(key)).collect();
    if !missing.is_empty() {
        return Some(format!("missing: {}", missing.join(", ")));
    }
    let status = summary.status.as_deref().unwrap_or("").to_ascii_lowercase();
    if !["complete", "partial", "failed"].contains(&status.as_str()) {
        return Some(format!("status is `{status}`; expected complete, partial or failed"));
    }
    let date = summary.completed.as_deref().unwrap_or("");
    (!is_day(date)).then(|| format!("completed is `{date}`; expected YYYY-MM-DD"))
}

/// Whether a text is `YYYY-MM-DD`, with or without a time behind it.
fn is_day(text: &str) -> bool {
    let shape = |(place, b): (usize, u8)| match place {
        4 | 7 => b == b'-',
        _ => b.is_ascii_digit(),
    };
    let day = text.as_bytes().get(..10);
    // A time may follow; a longer number may not.
    let rest = text.get(10..).unwrap_or("");
    day.is_some_and(|day| day.iter().copied().enumerate().all(shape))
        && (rest.is_empty() || rest.starts_with(['T', ' ']))
}

fn number(text: &Option<String>) -> Option<usize> {
    text.as_deref()?.trim().parse().ok()
}

fn count_problem(summary: &Summary, plan: &Plan) -> Option<String> {
    let total = number(&summary.tasks_total);
    (total != Some(plan.tasks.len())).then(|| {
        let written = summary.tasks_total.as_deref().unwrap_or("missing");
        format!("tasks_total is {written}; the plan has {}", plan.tasks.len())
    })
}

fn completion_problem(summary: &Summary) -> Option<String> {
    let (done, total) = (number(&summary.tasks_completed), number(&summary.tasks_total));
    let (Some(done), Some(total)) = (done, total) else {
        return Some("tasks_completed and tasks_total must be numbers".to_owned());
    };
    // More done than planned is a mistake in the summary, whatever its status says.
    if done > total {
        return Some(format!("{done} of {total} tasks completed"));
    }
    // A partial summary may say any number; only "complete" is a claim that has to add up.
    (summary.is_complete() && done != total)
        .then(|| format!("status is complete, but {done} of {total} tasks are"))
}

fn commits_problem(summary: &Summary, facts: &SummaryFacts<'_>) -> Option<String> {
    // A plan that changed nothing committed nothing, and must not count as complete.
    if summary.commit_hashes.is_empty() {
        return Some("commit_hashes is empty".to_owned());
    }
    let unknown: Vec<_> = summary
        .commit_hashes
        .iter()
        .filter(|hash| !is_hash(hash) || !(facts.commit_exists)(hash))
        .cloned()
        .collect();
    (!unknown.is_empty()).then(|| format!("no such commit: {}", unknown.join(", ")))
}

fn sections_problem(summary: &Summary) -> Option<String> {
    let missing: Vec<_> = SECTIONS
        .into_iter()
        // A heading without text says nothing, so it counts as missing.
        .filter(|title| summary.section(title).is_none_or(|s| s.text.is_empty()))
        .collect();
    (!missing.is_empty()).then(|| format!("missing or empty: {}", missing.join(", ")))
}
