//! The request that a panel reads before a change: what it is for, what was asked, what was built, what is known to be
//! risky, and what to look at.
//!
//! It is the same bytes for every reviewer, so that they judge the same thing. Facts come in; nothing is looked up or
//! judged here.

use crate::plain::{capped, line};
use std::fmt::Write;

/// The number of files that are named; more are counted, and are in the checkout.
const FILES_MAX: usize = 400;
/// The number of characters of one document's text.
const TEXT_MAX: usize = 6_000;

/// The facts that a panel is told.
///
/// Lists may be empty; their sections are then left out, because a heading without content invites guesses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// What is reviewed: `main..HEAD`, `phase 01`.
    pub target: String,
    /// The kinds of things it contains.
    pub kinds: Vec<String>,
    /// The goal of the phase, as its documents say.
    pub goal: String,
    /// What must be true at the end, as the roadmap says.
    pub criteria: Vec<String>,
    /// The plans with their status.
    pub plans: Vec<String>,
    /// The requirements that the plans address.
    pub requirements: Vec<String>,
    /// What was built, plan by plan, in the builders' words.
    pub built: Vec<String>,
    /// Deviations and open questions that the builders reported.
    pub risks: Vec<String>,
    /// The subjects of the commits.
    pub commits: Vec<String>,
    /// The files, with lines added and removed.
    pub files: Vec<String>,
}

/// Writes the request as a document.
pub fn text(request: &Request) -> String {
    let mut out = format!("Under review: {}\n", line(&request.target));
    if !request.kinds.is_empty() {
        let _ = writeln!(out, "It holds: {}", request.kinds.join(", "));
    }
    if !request.goal.trim().is_empty() {
        let _ = writeln!(out, "\nGoal:\n{}", capped(request.goal.trim(), TEXT_MAX));
    }
    items(&mut out, "Success criteria", &request.criteria);
    items(&mut out, "Plans", &request.plans);
    items(&mut out, "Requirements addressed", &request.requirements);
    for built in &request.built {
        let _ = writeln!(out, "\nWhat was built:\n{}", capped(built.trim(), TEXT_MAX));
    }
    items(&mut out, "Known risks and deviations", &request.risks);
    items(&mut out, "Commits", &request.commits);
    let shown: Vec<String> = request.files.iter().take(FILES_MAX).cloned().collect();
    items(&mut out, "Files to review", &shown);
    if request.files.len() > FILES_MAX {
        let _ = writeln!(out, "- and {} more, all in the checkout", request.files.len() - FILES_MAX);
    }
    // The thresholds are those of triage: `DISCARD_BELOW` and `DEFER_BELOW`.
    out.push_str(
        "\nJudge what was built against what was asked for, not against what could be. Every finding names a file and a line and how \
         sure you are; below 50 it is none, below 80 it is kept aside. Breach of a stated convention is a warning unless the plan asks for it.\n",
    );
    out
}

fn items(out: &mut String, title: &str, items: &[String]) {
    if !items.is_empty() {
        let _ = writeln!(out, "\n{title}:");
        items.iter().for_each(|item| {
            let _ = writeln!(out, "- {}", line(item));
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_known_is_said() {
        let text = text(&Request { target: "main..HEAD".to_owned(), ..Request::default() });
        assert!(!text.contains("Goal") && !text.contains("Plans") && !text.contains("part"), "{text}");
    }
}
