//! Reviewers in their own words: who each one was, what it said, and why it did not count if it did not. Every text is
//! made harmless before it is shown.
//!
//! The doc comments of the types are part of the published schemas.

use crate::plain;
use crate::report::text as escaped;
use crate::style::Style;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// Who an agent was, exactly enough to tell two apart: evidence about a reviewer is worth nothing without it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Identity {
    /// The adapter's row.
    pub adapter: String,
    /// Digest of what was started: two rows that start the same words have the same.
    #[serde(default)]
    pub program: String,
    /// The name of the login it used, never the secret: a variable or a file; empty where none is known.
    #[serde(default)]
    pub login: String,
    /// What the program says its version is; empty where it was not told.
    #[serde(default)]
    pub version: String,
    /// The model that answered; empty where neither the program nor the configuration names one.
    #[serde(default)]
    pub model: String,
    /// The program did not say which model answered: this one was asked for.
    #[serde(default)]
    pub model_asked: bool,
    /// Digest of its personality; empty without one.
    #[serde(default)]
    pub personality: String,
    /// Digest of the rules that all prompts of its kind share: the version of the prompt.
    #[serde(default)]
    pub rules: String,
    /// Digest of the whole prompt.
    #[serde(default)]
    pub prompt: String,
}

impl Identity {
    /// `claude 2.1.0, model opus-5 (asked for), personality 1f2e3d4c5b6a, rules …`.
    ///
    /// The digest of the whole prompt stays out: a prompt names what the other lanes did at that moment, so it differs
    /// between two runs of the same work, and this line goes into documents that are committed. JSON has it.
    pub fn line(&self) -> String {
        let mut line = self.adapter.clone();
        if !self.version.is_empty() {
            let _ = write!(line, " {}", self.version);
        }
        if !self.model.is_empty() {
            let asked = if self.model_asked { " (asked for)" } else { "" };
            let _ = write!(line, ", model {}{asked}", self.model);
        }
        for (name, digest) in [("personality", &self.personality), ("rules", &self.rules)] {
            if !digest.is_empty() {
                let _ = write!(line, ", {name} {digest}");
            }
        }
        plain::clipped(&line, 300)
    }
}

/// One answer of a reviewer, or one try that came to none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Spoken {
    /// The reviewer's place.
    pub reviewer: String,
    /// The round.
    pub round: u32,
    /// `first try`, `second try`, `asked again`, each perhaps of the fallback.
    #[serde(rename = "try")]
    pub nth: String,
    /// Why it did not count; empty where it did.
    pub lost: String,
    /// Who it was.
    pub identity: Option<Identity>,
    /// Its own words; where they are long, the cut says how much is missing.
    pub words: String,
}

impl Spoken {
    /// Writes the heading of an answer: `loop-reviewer, round 1, asked again: did not count: …`.
    pub fn head(&self) -> String {
        let lost =
            if self.lost.is_empty() { String::new() } else { format!(": did not count, {}", self.lost) };
        plain::clipped(&format!("{}, round {}, {}{lost}", self.reviewer, self.round, self.nth), 600)
    }
}

/// Writes the words of each reviewer on a terminal, `max` bytes at most.
pub fn text(out: &mut String, spoken: &[Spoken], max: usize, style: Style) {
    for one in spoken {
        let _ = writeln!(out, "    {}", style.wrap(&one.head(), "      "));
        if let Some(identity) = &one.identity {
            let _ = writeln!(out, "      {}", style.faint(&style.wrap(&identity.line(), "      ")));
        }
        for line in plain::capped(&one.words, max).lines() {
            // The bar sets a reviewer's words apart from ours, also without colours.
            let _ = writeln!(out, "      | {line}");
        }
    }
}

/// Writes the words in Markdown, fenced, so that nothing in them becomes markup of the report.
///
/// The fence is longer than any in the words, so a reviewer cannot end it and write headings into the report.
pub fn markdown(out: &mut String, spoken: &[Spoken], max: usize) {
    for one in spoken {
        let _ = writeln!(out, "- {}", escaped(&one.head()));
        if let Some(identity) = &one.identity {
            let _ = writeln!(out, "  - {}", escaped(&identity.line()));
        }
        // A lost attempt may have no words at all; its heading says why.
        if !one.words.trim().is_empty() {
            let _ = write!(out, "\n{}\n", plain::fenced("text", &one.words, max));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_words() {
        let identity = Identity {
            adapter: "claude".to_owned(),
            version: "2.1.0".to_owned(),
            model: "opus".to_owned(),
            model_asked: true,
            rules: "0a1b2c3d4e5f".to_owned(),
            prompt: "ffffffffffff".to_owned(),
            ..Identity::default()
        };
        let one = Spoken {
            reviewer: "wire".to_owned(),
            round: 1,
            nth: "asked again".to_owned(),
            lost: "it is milder than before".to_owned(),
            identity: Some(identity),
            words: "\u{1b}[31mIt leaks\u{1b}[0m\n```\n# no heading\nVERDICT: reject".to_owned(),
        };
        let (mut plain_text, mut page) = (String::new(), String::new());
        text(&mut plain_text, std::slice::from_ref(&one), 2_000, Style::PLAIN);
        assert_eq!(
            plain_text,
            "    wire, round 1, asked again: did not count, it is milder than before\n      claude 2.1.0, model opus (asked \
             for), rules 0a1b2c3d4e5f\n      | It leaks\n      | ```\n      | # no heading\n      | VERDICT: reject\n"
        );
        markdown(&mut page, &[one], 2_000);
        assert!(page.contains("````text\nIt leaks\n```\n# no heading\nVERDICT: reject\n````\n"), "{page}");
    }
}
