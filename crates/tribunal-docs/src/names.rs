//! Names in the planning folder: folders, phases, plans and files, understood from text alone.
//!
//! It never looks at a disk, and never takes a slug for a number. All spellings of one plan (`1-2`, `01-02`,
//! `01-02-PLAN.md`) become one `PlanId`, so that the rest of the program compares ids and not texts.

use std::fmt;

use serde::{Serialize, Serializer};

/// Names of folders that hold planning documents, the default first.
pub const PLANNING_FOLDERS: [&str; 3] = [".planning", ".yolo-planning", ".vbw-planning"];

/// The planning folder of a project: the first that exists, otherwise the default.
pub fn planning_folder(exists: &dyn Fn(&str) -> bool) -> &'static str {
    // A project keeps the folder that it has.
    let found = PLANNING_FOLDERS.into_iter().find(|name| exists(name));
    found.unwrap_or(PLANNING_FOLDERS[0])
}

/// The name of a plan across phases, normalised: `01-02`, `04.1-03`, `quick-260324-1nf`.
///
/// Two documents with equal ids are the same plan, however their authors wrote the numbers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlanId {
    /// The phase number with at least two digits, or the phase's slug if it has none; empty when unknown.
    pub phase: String,
    /// The plan number with at least two digits, or the plan's slug if it has none.
    pub plan: String,
}

impl PlanId {
    /// Makes a plan id from phase and plan as somebody wrote them.
    pub fn new(phase: &str, plan: &str) -> Self {
        let phase = normal(phase);
        PlanId { plan: normal_plan(plan, &phase), phase }
    }
}

impl fmt::Display for PlanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.phase.is_empty() {
            true => f.write_str(&self.plan),
            false => write!(f, "{}-{}", self.phase, self.plan),
        }
    }
}

impl Serialize for PlanId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Normalises a number: `1`, `01`, decimals and `01-slug` get at least two digits, anything else is put in lower case.
pub(crate) fn normal(written: &str) -> String {
    let text = written.trim().trim_matches(['"', '\'', '`']).trim();
    let text = strip_word(text, "phase");
    match leading_number(text) {
        Some((number, _)) => number,
        None => text.to_ascii_lowercase(),
    }
}

/// Like [`normal`], but `05-06` within phase 05 is plan 06.
pub(crate) fn normal_plan(written: &str, phase: &str) -> String {
    let text = written.trim().trim_matches(['"', '\'', '`']).trim();
    let text = strip_word(text, "plan");
    if let Some((first, rest)) = leading_number(text)
        && let Some((second, _)) = rest.strip_prefix('-').and_then(leading_number)
        && (first == phase || phase.is_empty())
    {
        return second;
    }
    normal(text)
}

fn strip_word<'a>(text: &'a str, word: &str) -> &'a str {
    let head = text.get(..word.len()).unwrap_or("");
    match head.eq_ignore_ascii_case(word) {
        true => match text[word.len()..].trim_start_matches([' ', ':', '-', '_']) {
            // `plan` alone is a slug, not a word before one.
            "" => text,
            rest => rest,
        },
        false => text,
    }
}

/// The number that a name starts with, padded, and what follows it: `9.1-library` gives `09.1` and `-library`.
///
/// More than four digits are a date or a serial number and not a phase.
pub(crate) fn leading_number(text: &str) -> Option<(String, &str)> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    if !(1..=4).contains(&digits) {
        return None;
    }
    // `007` and `7` are the same phase; `00` is padded again below.
    let whole = text[..digits].trim_start_matches('0');
    let mut rest = &text[digits..];
    let mut number = format!("{whole:0>2}");
    while let Some(part) = rest.strip_prefix('.') {
        let length = part.len() - part.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        // A trailing dot ends a sentence, and a long part is not a sub-phase.
        if length == 0 || length > 4 {
            break;
        }
        number.push('.');
        number.push_str(&part[..length]);
        rest = &part[length..];
    }
    // `3d-model` begins with a digit but not with a number.
    let ends = rest.is_empty() || rest.starts_with(['-', '_', ' ', ':', '(', ',', '.']);
    ends.then_some((number, rest))
}

/// The name of a phase folder, taken apart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PhaseDir {
    /// The phase number, with at least two digits.
    pub number: String,
    /// The words after the number.
    pub slug: String,
}

/// Reads `NN-slug` from the last part of a path.
pub fn phase_dir(path: &str) -> Option<PhaseDir> {
    let name = last_part(path.trim_end_matches(['/', '\\']));
    let (number, rest) = leading_number(name)?;
    let slug = rest.trim_start_matches(['-', '_']).to_owned();
    Some(PhaseDir { number, slug })
}

/// What a file name in the planning folder says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DocumentName {
    /// The phase number in the name, or in the folder's name.
    pub phase: Option<String>,
    /// The plan number or slug in the name.
    pub plan: Option<String>,
    /// The last words in upper case: `PLAN`, `SUMMARY`, `REVIEW-FIX`, `ROADMAP`.
    pub kind: String,
}

impl DocumentName {
    /// The id that the name spells, if it names a plan.
    pub fn id(&self) -> Option<PlanId> {
        let plan = self.plan.as_deref()?;
        let phase = self.phase.as_deref().unwrap_or("");
        Some(PlanId::new(phase, plan))
    }
}

/// Reads `NN-MM-PLAN.md` and its relatives: `02-PLAN.md` in `01-slug/`, `04-UAT.md`, `ROADMAP.md`.
///
/// The file's own numbers win over the folder's. A document that was copied into another phase keeps the id in its
/// name.
pub fn document_name(path: &str) -> Option<DocumentName> {
    let name = last_part(path);
    let stem = name.strip_suffix(".md").or_else(|| name.strip_suffix(".MD"))?;
    let folder = path[..path.len() - name.len()].trim_end_matches(['/', '\\']);
    let folder = phase_dir(folder).map(|dir| dir.number);
    let upper = |word: &str| {
        word.chars().any(|c| c.is_ascii_uppercase())
            && word.chars().all(|c| c.is_ascii_uppercase() || c == '_')
    };
    let words: Vec<&str> = stem.split('-').collect();
    // The kind may have several words, as in `REVIEW-FIX`, so all upper-case words at the end belong to it.
    let tail = words.iter().rev().take_while(|word| upper(word)).count();
    if tail == 0 {
        return None;
    }
    let kind = words[words.len() - tail..].join("-");
    let head = words[..words.len() - tail].join("-");
    let (phase, plan) = split_head(&head, folder, &kind);
    Some(DocumentName { phase, plan, kind })
}

fn split_head(head: &str, folder: Option<String>, kind: &str) -> (Option<String>, Option<String>) {
    if head.is_empty() {
        return (folder, None);
    }
    // Only these two kinds belong to one plan; the others are about a whole phase.
    let per_plan = matches!(kind, "PLAN" | "SUMMARY");
    let Some((first, rest)) = leading_number(head) else {
        return (folder, per_plan.then(|| head.to_owned()));
    };
    let rest = rest.strip_prefix('-').unwrap_or(rest);
    if !per_plan {
        return (Some(first), None);
    }
    match leading_number(rest) {
        Some((second, _)) => (Some(first), Some(second)),
        None if rest.is_empty() => (folder, Some(first)),
        // `17-correction` in `17-docs/` is a plan of that phase; `01-parsing` in `03-polish/` is plan 01.
        None if folder.as_ref() == Some(&first) => (folder, Some(rest.to_owned())),
        None => (folder, Some(first)),
    }
}

fn last_part(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// A phase or plan as it is given on the command line.
///
/// The same number means different things to different commands, so its meaning is left to the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanArgument {
    /// The phase, if the argument names one, as in `01-02`.
    pub phase: Option<String>,
    /// The number alone: a phase for commands that take a phase, a plan for those that take a plan.
    pub number: String,
}

/// Reads `1`, `01`, `01-02` and `04.1`; `None` for anything else.
pub fn plan_argument(argument: &str) -> Option<PlanArgument> {
    let (first, rest) = leading_number(argument.trim())?;
    if rest.is_empty() {
        let phase = None;
        return Some(PlanArgument { phase, number: first });
    }
    let (number, end) = leading_number(rest.strip_prefix('-')?)?;
    let phase = Some(first);
    end.is_empty().then_some(PlanArgument { phase, number })
}
