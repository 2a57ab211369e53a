//! Which kind of planning document a file is, by its name first and its words second.
//!
//! The text comes in as an argument; no file is read here. The name wins, because the words of a summary and of a plan
//! overlap.

use serde::Serialize;

use crate::{front, markdown, names};

/// The kinds of planning documents.
///
/// Plans, summaries, acceptances and verification reports have readers of their own. The other kinds are recognised so
/// that they can be named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A plan, `NN-MM-PLAN.md`.
    Plan,
    /// The summary of a plan, `NN-MM-SUMMARY.md`.
    Summary,
    /// The list of all phases, `ROADMAP.md`.
    Roadmap,
    /// Where the project stands, `STATE.md`.
    State,
    /// What the project has to do, `REQUIREMENTS.md`.
    Requirements,
    /// The context in which a phase is planned, `NN-CONTEXT.md`.
    Context,
    /// The review of a phase, `NN-REVIEW.md`.
    Review,
    /// What was fixed after a review, `NN-REVIEW-FIX.md`.
    ReviewFix,
    /// The acceptance by a person, `NN-UAT.md`.
    Uat,
    /// The verification of a phase, `NN-VERIFICATION.md`.
    Verification,
    /// Notes on the code, `CODEBASE.md` and `codebase/*.md`.
    Codebase,
    /// Any other document, or one whose kind nothing tells.
    Other,
}

impl Kind {
    /// The kind as file names spell it.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Plan => "PLAN",
            Kind::Summary => "SUMMARY",
            Kind::Roadmap => "ROADMAP",
            Kind::State => "STATE",
            Kind::Requirements => "REQUIREMENTS",
            Kind::Context => "CONTEXT",
            Kind::Review => "REVIEW",
            Kind::ReviewFix => "REVIEW-FIX",
            Kind::Uat => "UAT",
            Kind::Verification => "VERIFICATION",
            Kind::Codebase => "CODEBASE",
            Kind::Other => "OTHER",
        }
    }
}

/// The kind of a document. The name decides, and only where it says nothing the text does.
pub fn kind_of(path: &str, text: &str) -> Kind {
    let by_name = names::document_name(path).map_or(Kind::Other, |name| named(&name.kind));
    if by_name != Kind::Other {
        return by_name;
    }
    // The folder names these documents, not their own names.
    if path.split(['/', '\\']).rev().nth(1) == Some("codebase") {
        return Kind::Codebase;
    }
    by_text(text)
}

fn named(word: &str) -> Kind {
    match word {
        "PLAN" => Kind::Plan,
        "SUMMARY" => Kind::Summary,
        "ROADMAP" => Kind::Roadmap,
        "STATE" => Kind::State,
        "REQUIREMENTS" => Kind::Requirements,
        "CONTEXT" => Kind::Context,
        "REVIEW" => Kind::Review,
        "REVIEW-FIX" => Kind::ReviewFix,
        "UAT" | "HUMAN-UAT" => Kind::Uat,
        "VERIFICATION" => Kind::Verification,
        "CODEBASE" => Kind::Codebase,
        _ => Kind::Other,
    }
}

fn by_text(text: &str) -> Kind {
    // No key is needed here, so a damaged one costs only itself.
    let mut front = front::read(text, &|_| false);
    let keys = front.take_fields(&[]).lines();
    let has = |key: &str| keys.contains_key(key);
    // Plans and summaries share these two keys; only a summary says how the work ended.
    if has("plan") && has("phase") {
        let done = ["status", "commit_hashes", "tasks_completed", "completed"];
        return match done.into_iter().any(has) {
            true => Kind::Summary,
            false => Kind::Plan,
        };
    }
    // A plan without numbers is still known by what must hold, and when.
    if has("must_haves") && (has("wave") || has("depends_on")) {
        return Kind::Plan;
    }
    let lines = markdown::lines(front.body, front.body_line);
    let title = markdown::first_title(&lines).unwrap_or_default();
    match title.split([' ', ':']).next().unwrap_or("") {
        "Roadmap" => Kind::Roadmap,
        "Requirements" => Kind::Requirements,
        "State" => Kind::State,
        _ if title == "Project State" => Kind::State,
        _ => Kind::Other,
    }
}
