//! A plan document ⇄ [`Plan`]: frontmatter into fields, body into tasks, unknown keys kept.
//!
//! It never loses a key, invents one when writing, or refuses a document whose intention is plain. Values are kept as
//! written (`wave`, `phase`) beside what they mean (`wave_number`, `id`), because a plan is written back in its
//! author's spelling.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::names::{self, PlanId};
use crate::yaml::{Value, emit};
use crate::{Diagnostic, Read, Task, front, markdown, task};

/// The keys that a plan knows, by canonical name, in the order in which they are written.
pub(crate) const KEYS: [&str; 17] = [
    "phase",
    "plan",
    "title",
    "wave",
    "depends_on",
    "cross_phase_deps",
    "autonomous",
    "agent",
    "effort",
    "requirements",
    "skills_used",
    "files_modified",
    "files_forbidden",
    "sequential_files",
    "expected_artifacts",
    "verification_commands",
    "must_haves",
];

/// The keys that say what is built when, and what it is held against. They are read exactly as written, or a run is
/// refused.
const STEERING: [&str; 7] = [
    "depends_on",
    "wave",
    "must_haves",
    "files_modified",
    "files_forbidden",
    "verification_commands",
    "autonomous",
];

// Names that other tools and older plans use for the same keys.
const SYNONYMS: [(&str, &str); 11] = [
    ("name", "title"),
    ("depends", "depends_on"),
    ("dependencies", "depends_on"),
    ("effort_override", "effort"),
    ("requirement_ids", "requirements"),
    ("skills", "skills_used"),
    ("files", "files_modified"),
    ("forbidden_files", "files_forbidden"),
    ("forbidden_paths", "files_forbidden"),
    ("verification_checks", "verification_commands"),
    ("cross_phase_dependencies", "cross_phase_deps"),
];

/// A plan: one `NN-MM-PLAN.md`.
///
/// Reading gives a plan even where much is missing. Whether it is good enough to run is for [`crate::structural_check`]
/// and [`crate::validate`] to say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// The name of the plan, from the frontmatter, otherwise from the path.
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
    /// The key `wave`, as written; see [`Plan::wave_number`].
    pub wave: Option<String>,
    /// The plans and phases it waits for.
    pub depends_on: Vec<Dependency>,
    /// The plans and phases it waits for that belong to other phases.
    pub cross_phase_deps: Vec<Dependency>,
    /// What must be true when the plan is done.
    pub must_haves: MustHaves,
    /// The files it may change.
    pub files_modified: Vec<String>,
    /// The files it must not change.
    pub files_forbidden: Vec<String>,
    /// Files that it shares with other plans, one plan after the other.
    pub sequential_files: Vec<String>,
    /// The requirements it serves.
    pub requirements: Vec<String>,
    /// The skills that its builder is given.
    pub skills_used: Vec<String>,
    /// Commands that verify the plan as a whole.
    pub verification_commands: Vec<String>,
    /// Files that must exist in the end.
    pub expected_artifacts: Vec<Artifact>,
    /// The key `autonomous`; false asks a person before each task.
    pub autonomous: Option<bool>,
    /// The agent that the plan asks for.
    pub agent: Option<String>,
    /// The effort that the plan asks for.
    pub effort: Option<String>,
    /// Every other key, as written.
    #[serde(serialize_with = "crate::as_object")]
    pub extra: Vec<(String, Value)>,
    /// The tasks, in the order of the body.
    pub tasks: Vec<Task>,
    /// The text below the frontmatter.
    pub body: String,
}

impl Default for PlanId {
    fn default() -> Self {
        PlanId::new("", "")
    }
}

impl Plan {
    /// The wave, if it is a positive integer.
    pub fn wave_number(&self) -> Option<u32> {
        let wave = self.wave.as_deref()?.trim();
        // `parse` alone would accept a leading `+`.
        let digits = wave.bytes().all(|b| b.is_ascii_digit());
        wave.parse().ok().filter(|n| digits && *n > 0)
    }

    /// Whether a key was given, by its canonical name.
    pub fn has(&self, key: &str) -> bool {
        self.lines.contains_key(key)
    }

    /// The line of a key, or of the start of the document if it was not given.
    pub fn line_of(&self, key: &str) -> u32 {
        self.lines.get(key).copied().unwrap_or(1)
    }

    /// Every file that the plan claims, from the frontmatter and from its tasks, each once.
    ///
    /// Two plans of one wave must not claim the same file, and a builder is held to what its plan claims.
    pub fn claimed_files(&self) -> Vec<String> {
        let listed = self.files_modified.iter().filter_map(|f| listed_path(f));
        let tasks = self.tasks.iter().flat_map(|task| &task.files);
        let all = listed.map(|file| file.path).chain(tasks.map(|file| file.path.clone()));
        all.collect::<std::collections::BTreeSet<_>>().into_iter().collect()
    }
}

/// The path of a frontmatter entry such as `src/a.rs (new)`.
pub(crate) fn listed_path(entry: &str) -> Option<crate::PlannedFile> {
    task::planned_files(entry).into_iter().next()
}

/// What a plan waits for: another plan, or a whole phase.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Dependency {
    /// The phase, normalised; `None` means the plan's own phase.
    pub phase: Option<String>,
    /// The plan, normalised; `None` means the whole phase.
    pub plan: Option<String>,
    /// The entry as its author wrote it.
    pub written: String,
    /// The file or feature of it that is needed.
    pub artifact: Option<String>,
    /// The reason for the dependency.
    pub reason: Option<String>,
}

impl Dependency {
    /// The plan it names, seen from a plan of `phase`.
    pub fn id(&self, phase: &str) -> Option<PlanId> {
        Some(PlanId {
            phase: self.phase.clone().unwrap_or_else(|| phase.to_owned()),
            plan: self.plan.clone()?,
        })
    }

    /// Reads `NN-MM`, `MM`, `phase:NN:plan:MM` and `NN-MM-PLAN.md`.
    ///
    /// It never fails. An entry that fits no form is taken for a slug, so that validation can report it with its own
    /// words.
    pub fn parse(written: &str) -> Self {
        // The author's spelling is kept in every case, because messages quote it.
        let dependency = Dependency { written: written.to_owned(), ..Dependency::default() };
        let text = written.trim().trim_matches(['"', '\'', '`']).trim();
        if let Some((phase, plan)) = spelled(text) {
            return Dependency { phase: Some(phase), plan, ..dependency };
        }
        if let Some(name) = names::document_name(text) {
            return Dependency {
                phase: name.phase,
                plan: name.plan.map(|plan| names::normal(&plan)),
                ..dependency
            };
        }
        // Numbers, or else a slug, which validation reports if no plan has it.
        let (phase, plan) = numbers(text);
        Dependency { phase, plan: Some(plan), ..dependency }
    }

    fn from_value(value: &Value) -> Self {
        let part = |key: &str| value.get(key).map(Value::to_words);
        let phase = part("phase").filter(|p| !p.is_empty());
        let plan = part("plan").filter(|p| !p.is_empty());
        if phase.is_none() && plan.is_none() {
            return Dependency::parse(&value.to_words());
        }
        let phase = phase.map(|phase| names::normal(&phase));
        // `plan: 05-06` below `phase: 05` is plan 06 of that phase.
        let own = phase.clone().unwrap_or_default();
        Dependency {
            plan: plan.map(|plan| names::normal_plan(&plan, &own)),
            phase,
            written: value.to_words(),
            artifact: part("artifact"),
            reason: part("reason"),
        }
    }

    fn to_value(&self) -> Value {
        // Written back as text only where reading that text gives the same dependency again.
        if self.artifact.is_none() && self.reason.is_none() && *self == Self::parse(&self.written) {
            return Value::text(&self.written);
        }
        let parts = [
            ("phase", &self.phase),
            ("plan", &self.plan),
            ("artifact", &self.artifact),
            ("reason", &self.reason),
        ];
        Value::Map(given(&parts))
    }
}

/// Reads `phase:NN:plan:MM`, `phase NN plan MM` or `phase NN`.
fn spelled(text: &str) -> Option<(String, Option<String>)> {
    let lower = text.to_ascii_lowercase();
    let rest = lower.strip_prefix("phase")?;
    let rest = rest.trim_start_matches([':', ' ', '-', '=']);
    let (phase, rest) = names::leading_number(rest)?;
    let rest = rest.trim_start_matches([':', ' ', '-', ',', '/']);
    let plan = rest.strip_prefix("plan").unwrap_or(rest);
    let plan = plan.trim_start_matches([':', ' ', '-', '=']);
    Some((phase, names::leading_number(plan).map(|(plan, _)| plan)))
}

/// Reads `NN-MM` and `MM`; anything else is the plan's slug.
fn numbers(text: &str) -> (Option<String>, String) {
    let lower = text.to_ascii_lowercase();
    let text = lower.strip_prefix("plan").unwrap_or(&lower);
    let text = text.trim_start_matches([':', ' ']);
    let Some((first, rest)) = names::leading_number(text) else {
        return (None, text.to_owned());
    };
    match rest.strip_prefix('-').and_then(names::leading_number) {
        Some((second, _)) => (Some(first), second),
        None => (None, first),
    }
}

/// What must be true when a plan is done.
///
/// It comes in two forms, a plain list of statements and a map of lists. `as_map` remembers which, so that writing does
/// not turn one into the other.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct MustHaves {
    /// Statements. A plain list of must_haves consists of statements only.
    pub truths: Vec<String>,
    /// Files that must exist.
    pub artifacts: Vec<Artifact>,
    /// Connections that must hold.
    pub key_links: Vec<KeyLink>,
    /// Other lists that were given under must_haves.
    #[serde(serialize_with = "crate::as_object")]
    pub other: Vec<(String, Value)>,
    /// Whether it was written as a map of lists.
    pub as_map: bool,
}

impl MustHaves {
    /// How many entries all lists have together.
    pub fn count(&self) -> usize {
        // A single value is a remark; only lists hold entries.
        let other = self.other.iter().map(|(_, value)| match value {
            Value::List(items) => items.len(),
            _ => 0,
        });
        self.statements().count() + self.artifacts.len() + self.key_links.len() + other.sum::<usize>()
    }

    /// The statements that are not blank.
    pub fn statements(&self) -> impl Iterator<Item = &String> {
        self.truths.iter().filter(|truth| !truth.trim().is_empty())
    }

    /// Whether no list has an entry.
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// Every entry as one line of words, statements first.
    pub fn entries(&self) -> Vec<String> {
        let artifacts = self.artifacts.iter().map(|artifact| artifact.path.clone());
        let links = self.key_links.iter().map(|link| format!("{} → {}", link.from, link.to));
        let truths = self.statements().cloned();
        truths.chain(artifacts).chain(links).collect()
    }

    fn from_value(value: &Value) -> Self {
        let Value::Map(entries) = value else {
            return MustHaves { truths: value.to_word_list(), ..MustHaves::default() };
        };
        let mut found = MustHaves { as_map: true, ..MustHaves::default() };
        for (key, value) in entries {
            let items = match value {
                Value::List(items) => items.as_slice(),
                Value::Null => &[],
                // A single value stands for a list of one, as authors often write it.
                single => std::slice::from_ref(single),
            };
            match crate::canonical_key(key).as_str() {
                "truths" => found.truths = value.to_word_list(),
                "artifacts" => found.artifacts = items.iter().map(Artifact::from_value).collect(),
                "key_links" => found.key_links = items.iter().map(KeyLink::from_value).collect(),
                // An unknown list under must_haves counts and is written back, although nothing checks it.
                _ => found.other.push((key.clone(), value.clone())),
            }
        }
        found
    }

    fn to_value(&self) -> Value {
        if !self.as_map {
            return Value::texts(&self.truths);
        }
        let mut entries = vec![("truths".to_owned(), Value::texts(&self.truths))];
        if !self.artifacts.is_empty() {
            let items = self.artifacts.iter().map(Artifact::to_value).collect();
            entries.push(("artifacts".to_owned(), Value::List(items)));
        }
        if !self.key_links.is_empty() {
            let items = self.key_links.iter().map(KeyLink::to_value).collect();
            entries.push(("key_links".to_owned(), Value::List(items)));
        }
        entries.extend(self.other.iter().cloned());
        Value::Map(entries)
    }
}

/// A file that must exist, and what must be in it.
///
/// A plain path in the document is an artifact without details.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Artifact {
    /// The path from the repository root.
    pub path: String,
    /// What the file provides to others.
    pub provides: Option<String>,
    /// A text that the file must contain.
    pub contains: Option<String>,
    /// Other keys, as written.
    #[serde(serialize_with = "crate::as_object")]
    pub extra: Vec<(String, Value)>,
}

impl Artifact {
    fn from_value(value: &Value) -> Self {
        let mut found = Artifact::default();
        let Value::Map(entries) = value else {
            found.path = value.to_words();
            return found;
        };
        for (key, value) in entries {
            match crate::canonical_key(key).as_str() {
                "path" => found.path = value.to_words(),
                "provides" => found.provides = Some(value.to_words()),
                "contains" => found.contains = Some(value.to_words()),
                _ => found.extra.push((key.clone(), value.clone())),
            }
        }
        found
    }

    fn to_value(&self) -> Value {
        // The short form, which is how an artifact without details was most likely written.
        if self.provides.is_none() && self.contains.is_none() && self.extra.is_empty() {
            return Value::text(&self.path);
        }
        let mut entries = match self.path.is_empty() {
            true => Vec::new(),
            false => vec![("path".to_owned(), Value::text(&self.path))],
        };
        let parts = [("provides", &self.provides), ("contains", &self.contains)];
        entries.extend(given(&parts));
        entries.extend(self.extra.iter().cloned());
        Value::Map(entries)
    }
}

/// A connection that must hold between two places.
///
/// It is checked by text: the place where it starts has to mention where it leads, or hold the pattern.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct KeyLink {
    /// The place where the connection starts.
    pub from: String,
    /// The place where the connection ends.
    pub to: String,
    /// The means by which the two are connected.
    pub via: Option<String>,
    /// A pattern whose presence shows the connection.
    pub pattern: Option<String>,
    /// Other keys, as written.
    #[serde(serialize_with = "crate::as_object")]
    pub extra: Vec<(String, Value)>,
}

impl KeyLink {
    fn from_value(value: &Value) -> Self {
        let mut found = KeyLink::default();
        let Value::Map(entries) = value else {
            found.from = value.to_words();
            return found;
        };
        for (key, value) in entries {
            match crate::canonical_key(key).as_str() {
                "from" => found.from = value.to_words(),
                "to" => found.to = value.to_words(),
                "via" => found.via = Some(value.to_words()),
                "pattern" => found.pattern = Some(value.to_words()),
                _ => found.extra.push((key.clone(), value.clone())),
            }
        }
        found
    }

    fn to_value(&self) -> Value {
        let text = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        let (from, to) = (text(&self.from), text(&self.to));
        let parts = [("from", &from), ("to", &to), ("via", &self.via), ("pattern", &self.pattern)];
        let mut entries = given(&parts);
        entries.extend(self.extra.iter().cloned());
        Value::Map(entries)
    }
}

/// The parts that are given, as map entries.
fn given(parts: &[(&str, &Option<String>)]) -> Vec<(String, Value)> {
    parts.iter().filter_map(|(key, part)| Some(((*key).to_owned(), Value::text(part.as_ref()?)))).collect()
}

/// Reads a plan. `path` is the label by which it is known, and may give phase and plan numbers.
///
/// A document without frontmatter is read too, with a diagnostic. Only a block that cannot be read at all leaves
/// `value` empty.
pub fn read_plan(path: &str, text: &str) -> Read<Plan> {
    let (front, mut fields, mut diagnostics) = match front::open(text, &KEYS, &SYNONYMS) {
        Ok(opened) => opened,
        Err(diagnostics) => return Read { value: None, recovered: false, diagnostics },
    };
    let lines = markdown::lines(front.body, front.body_line);
    let mut plan = Plan {
        path: path.to_owned(),
        has_frontmatter: front.present,
        lines: fields.lines(),
        phase: fields.take_text("phase"),
        plan: fields.take_text("plan"),
        title: fields.take_text("title"),
        wave: fields.take_text("wave"),
        depends_on: dependencies(fields.take("depends_on")),
        cross_phase_deps: dependencies(fields.take("cross_phase_deps")),
        requirements: fields.take_texts("requirements"),
        skills_used: fields.take_texts("skills_used"),
        files_modified: fields.take_texts("files_modified"),
        files_forbidden: fields.take_texts("files_forbidden"),
        sequential_files: fields.take_texts("sequential_files"),
        verification_commands: fields.take_texts("verification_commands"),
        autonomous: flag(&mut fields, &mut diagnostics),
        agent: fields.take_text("agent"),
        effort: fields.take_text("effort"),
        body: front.body.to_owned(),
        ..Plan::default()
    };
    // The remaining keys stay in `extra`, so every known one has to be taken before that.
    if let Some(value) = fields.take("must_haves") {
        plan.must_haves = MustHaves::from_value(&value);
    }
    if let Some(value) = fields.take("expected_artifacts") {
        plan.expected_artifacts = artifacts(&value);
    }
    plan.extra = fields.rest();
    if !plan.has("title") {
        plan.title = markdown::first_title(&lines);
    }
    plan.tasks = task::tasks(front.body, &lines, &mut diagnostics);
    plan.id = identity(path, plan.phase.as_deref(), plan.plan.as_deref());
    // Damage matters only under a key that steers a run; elsewhere it stays a remark.
    for found in diagnostics.iter_mut().filter(|found| found.misread) {
        match steered_at(text, found.line) {
            Some(key) => found.message = format!("{key}: {}", found.message),
            None => found.misread = false,
        }
    }
    Read { value: Some(plan), recovered: front.recovered, diagnostics: crate::in_order(diagnostics) }
}

/// The steering key to which a line of the frontmatter belongs, if it is one.
fn steered_at(text: &str, line: u32) -> Option<&'static str> {
    // A line that begins at the margin with a word starts an entry; everything below belongs to it.
    let begins = |line: &&str| !line.is_empty() && !line.starts_with([' ', '\t', '-', '#', ']', '}']);
    let above: Vec<&str> = text.lines().take(line as usize).collect();
    let word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let name = front::canonical_key(above.into_iter().rev().find(begins)?.split(|c| !word(c)).next()?);
    let named = SYNONYMS.iter().find(|(from, _)| *from == name).map_or(name.as_str(), |(_, to)| *to);
    STEERING.into_iter().find(|key| *key == named)
}

/// The plan id of a document: from the frontmatter first, from the path where that is silent.
pub(crate) fn identity(path: &str, phase: Option<&str>, plan: Option<&str>) -> PlanId {
    let name = names::document_name(path);
    let from_name = name.as_ref();
    let phase = phase.or_else(|| from_name.and_then(|n| n.phase.as_deref()));
    let plan = plan.or_else(|| from_name.and_then(|n| n.plan.as_deref()));
    PlanId::new(phase.unwrap_or(""), plan.unwrap_or(""))
}

/// The key `autonomous`. A value that is neither yes nor no is reported and read as no, so that a person is asked.
fn flag(fields: &mut front::Fields, diagnostics: &mut Vec<Diagnostic>) -> Option<bool> {
    let line = fields.lines().get("autonomous").copied().unwrap_or(1);
    let text = fields.take_text("autonomous")?;
    match text.trim().to_ascii_lowercase().as_str() {
        // Spellings that YAML readers take for a flag.
        "true" | "yes" | "on" => Some(true),
        "false" | "no" | "off" => Some(false),
        _ => {
            let message = format!("`{text}` is neither true nor false; read as false");
            diagnostics.push(Diagnostic::misread(line, 1, message));
            Some(false)
        }
    }
}

fn artifacts(value: &Value) -> Vec<Artifact> {
    match value {
        Value::List(items) => items.iter().map(Artifact::from_value).collect(),
        Value::Null => Vec::new(),
        single => vec![Artifact::from_value(single)],
    }
}

/// Reads dependencies from a list, a map, or a line such as `01, 02`; `none` is none.
fn dependencies(value: Option<Value>) -> Vec<Dependency> {
    match value {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::List(items)) => {
            items.iter().filter(|item| !item.is_empty()).map(Dependency::from_value).collect()
        }
        Some(map @ Value::Map(_)) => vec![Dependency::from_value(&map)],
        Some(Value::Text(text)) => text
            .split([',', ' '])
            .map(str::trim)
            .filter(|part| !part.is_empty())
            // Authors write these words instead of an empty list.
            .filter(|part| !["none", "n/a", "-", "[]"].contains(&part.to_ascii_lowercase().as_str()))
            .map(Dependency::parse)
            .collect(),
    }
}

/// Writes a plan: its frontmatter in canonical keys, then its body, or its tasks if it has no body.
///
/// Reading the result gives the same plan again. Comments in the frontmatter are lost, so use
/// [`crate::set_frontmatter`] to change one key of a person's document.
pub fn write_plan(plan: &Plan) -> String {
    let mut out = String::new();
    // A plan that was read without a block gets none, since nobody asked for it.
    if plan.has_frontmatter || plan.body.is_empty() {
        out.push_str("---\n");
        for key in KEYS {
            if let Some(value) = field(plan, key) {
                out.push_str(&emit::entry(key, &value, "\n"));
            }
        }
        for (key, value) in &plan.extra {
            out.push_str(&emit::entry(key, value, "\n"));
        }
        out.push_str("---\n");
    }
    out.push_str(&plan.body);
    if plan.body.is_empty() {
        out.push_str(&written_tasks(&plan.tasks));
    }
    out
}

/// A known field as it is written; `None` when it is empty and was not given either.
fn field(plan: &Plan, key: &str) -> Option<Value> {
    let text = |text: &Option<String>| text.as_deref().map_or(Value::Null, Value::text);
    let deps = |deps: &[Dependency]| Value::List(deps.iter().map(Dependency::to_value).collect());
    let value = match key {
        "phase" => text(&plan.phase),
        "plan" => text(&plan.plan),
        // The title came from the heading, which is in the body already.
        "title" if !plan.has(key) && !plan.body.is_empty() => Value::Null,
        "title" => text(&plan.title),
        "wave" => text(&plan.wave),
        "depends_on" => deps(&plan.depends_on),
        "cross_phase_deps" => deps(&plan.cross_phase_deps),
        "autonomous" => plan.autonomous.map_or(Value::Null, |flag| Value::text(flag.to_string())),
        "agent" => text(&plan.agent),
        "effort" => text(&plan.effort),
        "requirements" => Value::texts(&plan.requirements),
        "skills_used" => Value::texts(&plan.skills_used),
        "files_modified" => Value::texts(&plan.files_modified),
        "files_forbidden" => Value::texts(&plan.files_forbidden),
        "sequential_files" => Value::texts(&plan.sequential_files),
        "expected_artifacts" => Value::List(plan.expected_artifacts.iter().map(Artifact::to_value).collect()),
        "verification_commands" => Value::texts(&plan.verification_commands),
        _ => plan.must_haves.to_value(),
    };
    let empty = match key {
        "must_haves" => plan.must_haves.is_empty(),
        _ => value.is_empty(),
    };
    // A key that was given empty stays, because somebody wrote it on purpose.
    (!empty || plan.has(key)).then_some(value)
}

fn written_tasks(tasks: &[Task]) -> String {
    let mut out = String::from("\n## Tasks\n");
    for task in tasks {
        out.push_str(&format!("\n### Task {}: {}\n", task.number, task.title));
        if !task.body.is_empty() {
            out.push_str(&task.body);
            out.push_str("\n\n");
        }
        if !task.files.is_empty() {
            let files: Vec<_> = task
                .files
                .iter()
                .map(|file| match file.new {
                    true => format!("`{}` (new)", file.path),
                    false => format!("`{}`", file.path),
                })
                .collect();
            out.push_str(&format!("**Files:** {}\n", files.join(", ")));
        }
        for command in &task.verification {
            out.push_str(&format!("> verification: {command}\n"));
        }
        if let Some(commit) = &task.commit {
            out.push_str(&format!("**Commit:** `{commit}`\n"));
        }
    }
    out
}
