//! Who built and who judged: program, version, model and login of each, and what a reviewer shares with the builder. It
//! is short enough for a trailer of a commit.
//!
//! Agents name their models themselves, so every word is made harmless. The doc comments of the types are part of the
//! published schemas.

use crate::plain;
use crate::spoken::Identity;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tribunal_core::who::{Party, kinship};

/// The number of characters of a name that are kept.
const NAME_MAX: usize = 60;
/// The number of lines of a kind in a trailer or a list; more are counted.
const LINES_MAX: usize = 8;

/// Everybody who built and judged some work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Who {
    /// Each agent that built, once: `claude 2.1.3, model opus-5, login ANTHROPIC_API_KEY`.
    pub builders: Vec<String>,
    /// Each reviewer, once for each agent that sat in its place.
    pub reviewers: Vec<Judge>,
}

/// One reviewer.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Judge {
    /// Its place.
    pub reviewer: String,
    /// Who it was.
    pub who: String,
    /// What it shares with the builder: `judged by the same model in another launch, under the same login`.
    #[serde(default)]
    pub shares: String,
}

impl Who {
    /// Adds who built and judged one piece of work.
    ///
    /// What a reviewer shares with the builder is found out for each piece of work, with the builders of that piece.
    pub fn add(&mut self, builders: &[Identity], reviewers: &[(String, Identity)]) {
        let parties: Vec<Party<'_>> = builders.iter().map(Identity::party).collect();
        for builder in builders.iter().map(Identity::short) {
            insert(&mut self.builders, builder);
        }
        for (reviewer, identity) in reviewers {
            let shares = kinship(&parties, identity.party()).and_then(|kinship| kinship.words());
            let judge = Judge {
                reviewer: harmless(reviewer, NAME_MAX),
                who: identity.short(),
                shares: shares.unwrap_or_default(),
            };
            insert(&mut self.reviewers, judge);
        }
    }

    /// Whether neither a builder nor a reviewer is known.
    pub fn is_empty(&self) -> bool {
        self.builders.is_empty() && self.reviewers.is_empty()
    }

    /// Writes one line for each of them.
    pub fn lines(&self) -> Vec<String> {
        let built = self.builders.iter().map(|who| format!("built by {who}"));
        let judged = self.reviewers.iter().map(|judge| format!("judged by {}", judge.line()));
        bounded(built).chain(bounded(judged)).collect()
    }

    /// Writes the trailers of a landed commit.
    ///
    /// They stay with the commit after the run's folder is gone.
    pub fn trailers(&self) -> Vec<String> {
        let built = self.builders.iter().map(|who| format!("Tribunal-Built-By: {who}"));
        let judged = self.reviewers.iter().map(|judge| format!("Tribunal-Reviewed-By: {}", judge.line()));
        bounded(built).chain(bounded(judged)).collect()
    }
}

impl Judge {
    fn line(&self) -> String {
        let shares = if self.shares.is_empty() { String::new() } else { format!(" ({})", self.shares) };
        format!("{}: {}{shares}", self.reviewer, self.who)
    }
}

/// Keeps the first lines of a kind. A trailer that is left out would hide a reviewer, so the last line says how many
/// more there are.
fn bounded(lines: impl ExactSizeIterator<Item = String>) -> impl Iterator<Item = String> {
    let more = lines.len().saturating_sub(LINES_MAX);
    lines.take(LINES_MAX).enumerate().map(move |(at, line)| match more {
        // The count stands in the last line that is kept, so the number of lines stays bounded.
        more if more > 0 && at + 1 == LINES_MAX => format!("{line}; and {more} more"),
        _ => line,
    })
}

fn insert<T: Ord>(all: &mut Vec<T>, one: T) {
    // Sorted and without duplicates, so that the same people always give the same trailers.
    if let Err(at) = all.binary_search(&one) {
        all.insert(at, one);
    }
}

/// Makes a name of an agent's own choosing harmless: one line of plain characters.
///
/// Letters of every script are allowed; other signs become a question mark, which shows that something was there.
fn harmless(name: &str, max: usize) -> String {
    // A line break in a name could forge another trailer.
    let plain = |c: char| if c.is_alphanumeric() || "-_.:/@+~[] ".contains(c) { c } else { '?' };
    plain::clipped(name, max).chars().map(plain).collect()
}

impl Identity {
    /// Writes the identity: `claude 2.1.3, model opus-5, login ANTHROPIC_API_KEY`.
    pub fn short(&self) -> String {
        let mut line = harmless(&self.adapter, NAME_MAX);
        if !self.version.is_empty() {
            line = format!("{line} {}", harmless(&self.version, NAME_MAX));
        }
        line += &match (self.model.as_str(), self.model_asked) {
            // An unknown model is said to be unknown: silence would look like the same model everywhere.
            ("", _) => ", model not reported".to_owned(),
            (model, true) => format!(", model {} asked for", harmless(model, NAME_MAX)),
            (model, false) => format!(", model {}", harmless(model, NAME_MAX)),
        };
        if !self.login.is_empty() {
            line += &format!(", login {}", harmless(&self.login, NAME_MAX));
        }
        line
    }

    /// Returns the parts that can be compared with another identity.
    pub fn party(&self) -> Party<'_> {
        Party {
            program: &self.program,
            login: &self.login,
            model: &self.model,
            model_asked: self.model_asked,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(adapter: &str, model: &str) -> Identity {
        Identity {
            adapter: adapter.to_owned(),
            program: adapter.to_owned(),
            version: "2.1".to_owned(),
            model: model.to_owned(),
            login: "KEY".to_owned(),
            ..Identity::default()
        }
    }

    #[test]
    fn who_judged_is_said_in_short() {
        let mut who = Who::default();
        let reviewer = |identity| ("loop-reviewer".to_owned(), identity);
        who.add(
            &[agent("claude", "opus")],
            &[reviewer(agent("claude", "opus")), reviewer(agent("claude", ""))],
        );
        who.add(&[agent("claude", "opus")], &[reviewer(agent("claude", "opus"))]);
        who.add(&[], &[("plan-reviewer".to_owned(), agent("codex", "o9"))]);
        assert_eq!(
            who.trailers(),
            [
                "Tribunal-Built-By: claude 2.1, model opus, login KEY",
                "Tribunal-Reviewed-By: loop-reviewer: claude 2.1, model not reported, login KEY (judged by the same program in \
                 another launch, perhaps the same model, under the same login)",
                "Tribunal-Reviewed-By: loop-reviewer: claude 2.1, model opus, login KEY (judged by the same model in another \
                 launch, under the same login)",
                "Tribunal-Reviewed-By: plan-reviewer: codex 2.1, model o9, login KEY",
            ]
        );
        assert_eq!(who.lines()[0], "built by claude 2.1, model opus, login KEY");
    }

    /// What an agent calls itself ends no line, opens no trailer and is bounded.
    #[test]
    fn a_hostile_name_stays_a_name() {
        let mut who = Who::default();
        let model = format!("x\nSigned-off-by: A <a@b>\u{1b}[2J\r\n\n{}", "y".repeat(5_000));
        let mut builder = agent("claude", &model);
        builder.version = "1\n\nTribunal-Accepted-By: me".to_owned();
        who.add(&[builder], &[("a\nb".to_owned(), agent("claude", &model))]);
        for line in who.trailers().iter().chain(&who.lines()) {
            assert!(line.len() < 600 && !line.contains(['\n', '\r', '\u{1b}', '<']), "{line:?}");
        }
        let many: Vec<Identity> = (0..50).map(|n| agent("claude", &format!("m{n}"))).collect();
        let mut who = Who::default();
        who.add(&many, &[]);
        assert_eq!(who.trailers().len(), LINES_MAX);
        assert!(who.trailers()[LINES_MAX - 1].ends_with("; and 42 more"));
    }
}
