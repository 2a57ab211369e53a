//! The artifacts of a chain: what each is called, who works from it, and what must be in it before anybody reviews it.
//!
//! This file never judges what an artifact says, only whether there is something to judge. The check is cheap and
//! certain, so no reviewer is asked about a document with an empty section.

use crate::markdown::{heading, lines};
use crate::plan::Plan;
use serde::{Deserialize, Serialize};

/// How many bytes an artifact may have. Nobody reads more.
pub const BYTES_MAX: usize = 256 << 10;
/// How many characters a feature's name may have.
pub const NAME_MAX: usize = 64;

/// One artifact of a chain, in the order in which they are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Artifact {
    /// What is wanted, and how one would know that it is there.
    Spec,
    /// How the feature will be built.
    Design,
    /// The plans, in a form that can be run.
    Plan,
    /// The tasks of all plans in one list.
    Tasks,
    /// The code itself, which lies in the repository.
    Implementation,
}

impl Artifact {
    /// All artifacts, in the order in which they are made.
    pub const ALL: [Artifact; 5] =
        [Artifact::Spec, Artifact::Design, Artifact::Plan, Artifact::Tasks, Artifact::Implementation];

    /// The name of the artifact in texts and prompts.
    pub fn word(self) -> &'static str {
        match self {
            Artifact::Spec => "spec",
            Artifact::Design => "design",
            Artifact::Plan => "plan",
            Artifact::Tasks => "tasks",
            Artifact::Implementation => "implementation",
        }
    }

    /// The command that makes the artifact, which is also the name of its phase.
    pub fn command(self) -> &'static str {
        match self {
            Artifact::Spec => "specify",
            Artifact::Design => "design",
            Artifact::Plan => "create-plan",
            Artifact::Tasks => "create-tasks",
            Artifact::Implementation => "implement",
        }
    }

    /// Its file in the feature's folder. Plans and code lie elsewhere.
    pub fn file(self) -> Option<&'static str> {
        match self {
            Artifact::Spec => Some("spec.md"),
            Artifact::Design => Some("design.md"),
            Artifact::Tasks => Some("tasks.md"),
            Artifact::Plan | Artifact::Implementation => None,
        }
    }

    /// The headings that the document must have.
    pub fn sections(self) -> &'static [&'static str] {
        match self {
            Artifact::Spec => &["Problem", "Requirements", "Success criteria", "Out of scope"],
            Artifact::Design => &["Approach", "Components", "Decisions", "Risks"],
            Artifact::Tasks => &["Tasks"],
            Artifact::Plan | Artifact::Implementation => &[],
        }
    }

    /// Who works from the artifact, in words for a prompt.
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

/// Something that an artifact lacks.
///
/// It is found without a reviewer, before anybody judges the artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    /// The line, from 1; `None` when the whole document is meant.
    pub line: Option<u32>,
    /// What is missing, as a sentence.
    pub text: String,
    /// What would close the gap.
    pub suggestion: String,
}

impl Gap {
    fn new(line: Option<u32>, text: impl Into<String>, suggestion: impl Into<String>) -> Gap {
        Gap { line, text: text.into(), suggestion: suggestion.into() }
    }
}

/// What a document lacks to be this artifact. `None` stands for a document that does not exist.
///
/// A damaged document has a single gap. Its missing sections are not listed as well, because they would follow from the
/// same mistake.
pub fn gaps(artifact: Artifact, document: Option<&[u8]>) -> Vec<Gap> {
    let file = artifact.file().unwrap_or_default();
    let Some(bytes) = document else {
        return vec![Gap::new(
            None,
            format!("{file} is not there, or no plain file"),
            format!("write {file}"),
        )];
    };
    // Before it is decoded: an agent may have written a file of any size.
    if bytes.len() > BYTES_MAX {
        let text = format!("{file} has {} bytes; {BYTES_MAX} is the most", bytes.len());
        return vec![Gap::new(None, text, "say it in fewer words")];
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        // The place of the first bad byte is what an editor needs to find it.
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
    // One section of that name with words in it is enough.
    if named.iter().any(|section| section.words) {
        return None;
    }
    let text = format!("the section \"{wanted}\" of {file} is empty");
    Some(Gap::new(Some(first.line), text, "say it, or say that there is nothing and why"))
}

/// A heading, and whether anything stands under it before the next heading of its level or above.
struct Section {
    level: usize,
    title: String,
    line: u32,
    words: bool,
}

impl Section {
    /// Whether this is the wanted section. Numbering, case and punctuation do not matter.
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
            // Text in a subsection also belongs to the section above it.
            let mut level = usize::MAX;
            for section in found.iter_mut().rev() {
                if section.level < level {
                    level = section.level;
                    section.words = true;
                }
                // Level 1 is the top, so no section further up can hold the text.
                if level <= 1 {
                    break;
                }
            }
        }
    }
    found
}

/// Tasks of the plans that a list of tasks does not name. Each must be named by its plan's id and its title.
///
/// Only missing tasks are found here. Whether the list is a good one is for its reviewers to say.
pub fn unnamed_tasks(list: &str, plans: &[Plan]) -> Vec<String> {
    let list = list.to_lowercase();
    let mut missing = Vec::new();
    for plan in plans {
        let id = plan.id.to_string();
        for task in &plan.tasks {
            let title = task.title.trim().to_lowercase();
            // Both, since two plans may have tasks of the same title.
            if !list.contains(&id.to_lowercase()) || !list.contains(&title) {
                missing.push(format!("{id}: {}", task.title.trim()));
            }
        }
    }
    missing
}

/// Whether a name can be a feature's. It becomes a folder and a part of refs and prompts. The error says why it cannot.
pub fn feature_name(name: &str) -> Result<(), &'static str> {
    // ASCII only, because the name becomes a folder, a part of refs and a part of prompts.
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
