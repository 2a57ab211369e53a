//! Which kind of planning document a file is, by its name first and its words second.
//! Must never read the file: the text comes in.

use serde::Serialize;

use crate::{front, markdown, names};

/// The kinds of planning documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// `NN-MM-PLAN.md`.
    Plan,
    /// `NN-MM-SUMMARY.md`.
    Summary,
    /// `ROADMAP.md`.
    Roadmap,
    /// `STATE.md`.
    State,
    /// `REQUIREMENTS.md`.
    Requirements,
    /// `NN-CONTEXT.md`.
    Context,
    /// `NN-REVIEW.md`.
    Review,
    /// `NN-REVIEW-FIX.md`.
    ReviewFix,
    /// `NN-UAT.md`.
    Uat,
    /// `NN-VERIFICATION.md`.
    Verification,
    /// `CODEBASE.md` and `codebase/*.md`.
    Codebase,
    /// Anything else.
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

/// The kind of a document; the name decides, and only a name that says nothing lets the text decide.
pub fn kind_of(path: &str, text: &str) -> Kind {
    let by_name = names::document_name(path).map_or(Kind::Other, |name| named(&name.kind));
    if by_name != Kind::Other {
        return by_name;
    }
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
    let mut front = front::read(text, &|_| false);
    let keys = front.take_fields(&[]).lines();
    let has = |key: &str| keys.contains_key(key);
    if has("plan") && has("phase") {
        let done = ["status", "commit_hashes", "tasks_completed", "completed"];
        return match done.into_iter().any(has) {
            true => Kind::Summary,
            false => Kind::Plan,
        };
    }
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
