//! The artifacts of a chain: what each is called, who works from it, and what must be in it before anybody judges it.
//! Must never judge what an artifact says, only whether it is there to be judged.

use crate::markdown::{heading, lines};
use crate::plan::Plan;
use serde::{Deserialize, Serialize};

/// Bytes of an artifact at most: more, nobody reads.
pub const BYTES_MAX: usize = 256 << 10;
/// Characters of a feature's name at most.
pub const NAME_MAX: usize = 64;

/// One artifact of a chain, in the order they are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Artifact {
    /// What is wanted, and how one would know.
    Spec,
    /// How it will be built.
    Design,
    /// Plans that can be run.
    Plan,
    /// The tasks of the plans, in one list.
    Tasks,
    /// The code.
    Implementation,
}

impl Artifact {
    /// All of them, in order.
    pub const ALL: [Artifact; 5] =
        [Artifact::Spec, Artifact::Design, Artifact::Plan, Artifact::Tasks, Artifact::Implementation];

    /// What it is called.
    pub fn word(self) -> &'static str {
        match self {
            Artifact::Spec => "spec",
            Artifact::Design => "design",
            Artifact::Plan => "plan",
            Artifact::Tasks => "tasks",
            Artifact::Implementation => "implementation",
        }
    }

    /// The command that makes it, which is also the name of its phase.
    pub fn command(self) -> &'static str {
        match self {
            Artifact::Spec => "specify",
            Artifact::Design => "design",
            Artifact::Plan => "create-plan",
            Artifact::Tasks => "create-tasks",
            Artifact::Implementation => "implement",
        }
    }

    /// Its file in the feature's folder; plans and code lie elsewhere.
    pub fn file(self) -> Option<&'static str> {
        match self {
            Artifact::Spec => Some("spec.md"),
            Artifact::Design => Some("design.md"),
            Artifact::Tasks => Some("tasks.md"),
            Artifact::Plan | Artifact::Implementation => None,
        }
    }

    /// The sections it must have.
    pub fn sections(self) -> &'static [&'static str] {
        match self {
            Artifact::Spec => &["Problem", "Requirements", "Success criteria", "Out of scope"],
            Artifact::Design => &["Approach", "Components", "Decisions", "Risks"],
            Artifact::Tasks => &["Tasks"],
            Artifact::Plan | Artifact::Implementation => &[],
        }
    }

    /// Who works from it, in words.
    pub fn readers(self) -> &'static str {
        match self {
            Artifact::Spec => "whoever designs it",
            Artifact::Design => "whoever plans it",
            Artifact::Plan => "whoever lists its tasks and builds it",
            Artifact::Tasks => "whoever builds it",
            Artifact::Implementation => "whoever uses it",
        }
    }
}

/// Something an artifact lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    /// Line, from 1; none when the whole document is meant.
    pub line: Option<u32>,
    /// What is missing.
    pub text: String,
    /// What would close it.
    pub suggestion: String,
}

impl Gap {
    fn new(line: Option<u32>, text: impl Into<String>, suggestion: impl Into<String>) -> Gap {
        Gap { line, text: text.into(), suggestion: suggestion.into() }
    }
}

/// What a document lacks to be this artifact. `None` is a document that is not there.
pub fn gaps(artifact: Artifact, document: Option<&[u8]>) -> Vec<Gap> {
    let file = artifact.file().unwrap_or_default();
    let Some(bytes) = document else {
        return vec![Gap::new(
            None,
            format!("{file} is not there, or no plain file"),
            format!("write {file}"),
        )];
    };
    if bytes.len() > BYTES_MAX {
        let text = format!("{file} has {} bytes; {BYTES_MAX} is the most", bytes.len());
        return vec![Gap::new(None, text, "say it in fewer words")];
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
            let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
            let line = u32::try_from(line).ok();
            return vec![Gap::new(line, format!("{file} is not UTF-8"), "save it as UTF-8")];
        }
    };
    let found = sections(text);
    artifact.sections().iter().filter_map(|wanted| section_gap(file, wanted, &found)).collect()
}

fn section_gap(file: &str, wanted: &str, found: &[Section]) -> Option<Gap> {
    let named: Vec<&Section> = found.iter().filter(|section| section.is(wanted)).collect();
    let Some(first) = named.first() else {
        let suggestion = format!("add `## {wanted}` and say it there");
        return Some(Gap::new(None, format!("{file} has no section \"{wanted}\""), suggestion));
    };
    if named.iter().any(|section| section.words) {
        return None;
    }
    let text = format!("the section \"{wanted}\" of {file} is empty");
    Some(Gap::new(Some(first.line), text, "say it, or say that there is nothing and why"))
}

/// A heading, and whether anything stands under it before the next one of its level or above.
struct Section {
    level: usize,
    title: String,
    line: u32,
    words: bool,
}

impl Section {
    /// Whether this is the section meant: numbering, case and marks do not matter.
    fn is(&self, wanted: &str) -> bool {
        let plain = |text: &str| {
            let text = text.trim_start_matches(|c: char| !c.is_alphabetic());
            let text = text.trim_end_matches(|c: char| !c.is_alphanumeric());
            text.to_lowercase()
        };
        plain(&self.title) == plain(wanted)
    }
}

fn sections(text: &str) -> Vec<Section> {
    let mut found: Vec<Section> = Vec::new();
    for line in lines(text, 1) {
        let title = if line.hidden { None } else { heading(line.text) };
        if let Some((level, title)) = title {
            found.push(Section { level, title: title.to_owned(), line: line.number, words: false });
        } else if !line.text.trim().is_empty() {
            // What stands in a part of a section stands in the section.
            let mut level = usize::MAX;
            for section in found.iter_mut().rev() {
                if section.level < level {
                    level = section.level;
                    section.words = true;
                }
                if level <= 1 {
                    break;
                }
            }
        }
    }
    found
}

/// Tasks of the plans that a list of tasks does not name. Each is named by its plan's id and its title.
pub fn unnamed_tasks(list: &str, plans: &[Plan]) -> Vec<String> {
    let list = list.to_lowercase();
    let mut missing = Vec::new();
    for plan in plans {
        let id = plan.id.to_string();
        for task in &plan.tasks {
            let title = task.title.trim().to_lowercase();
            if !list.contains(&id.to_lowercase()) || !list.contains(&title) {
                missing.push(format!("{id}: {}", task.title.trim()));
            }
        }
    }
    missing
}

/// Whether a name can be a feature's: it becomes a folder, a part of refs and of prompts. The error says why not.
pub fn feature_name(name: &str) -> Result<(), &'static str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    match name {
        "" => Err("it is empty"),
        name if name.chars().count() > NAME_MAX => Err("it is longer than 64 characters"),
        name if name.contains(['/', '\\']) => Err("it is a path"),
        name if !name.chars().all(plain) => Err("it has other characters than letters, digits, - _ and ."),
        name if !name.starts_with(|c: char| c.is_ascii_alphanumeric()) => {
            Err("it does not begin with a letter or a digit")
        }
        name if name.contains("..") || name.ends_with('.') || name.ends_with(".lock") => {
            Err("it has dots where neither a folder nor git can have them")
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_features() {
        for name in ["login", "003-workflow", "a", "A_b.c", &"x".repeat(64)] {
            assert_eq!(feature_name(name), Ok(()), "{name}");
        }
        for name in [
            "", "../x", "a/b", "a\\b", "a b", "-x", "--help", ".", "..", ".x", "a..b", "x.", "x.lock", "ü",
            "a\nb", "a\0",
        ] {
            assert!(feature_name(name).is_err(), "{name:?}");
        }
        assert!(feature_name(&"x".repeat(65)).is_err());
    }

    #[test]
    fn a_document_has_its_sections_with_words_in_them() {
        let check = |text: &str, expect: &[&str]| {
            let found: Vec<String> =
                gaps(Artifact::Spec, Some(text.as_bytes())).into_iter().map(|gap| gap.text).collect();
            assert_eq!(found, expect, "{text}");
        };
        let whole = "# Login\n## 1. Problem\nx\n## Requirements:\n### First\ny\n## success Criteria\n- z\n## Out of scope\nnothing\n";
        check(whole, &[]);
        check(
            "# Login\n## Problem\n\n## Requirements\ny\n```\n## Out of scope\nx\n```\n## Success criteria\nz\n",
            &["the section \"Problem\" of spec.md is empty", "spec.md has no section \"Out of scope\""],
        );
        assert_eq!(gaps(Artifact::Spec, None).len(), 1);
        assert_eq!(gaps(Artifact::Spec, Some(b"# a\n\xff")).first().and_then(|gap| gap.line), Some(2));
        assert_eq!(gaps(Artifact::Spec, Some(&vec![b'x'; BYTES_MAX + 1])).len(), 1);
        assert_eq!(gaps(Artifact::Spec, Some(b"")).len(), 4);
    }
}
