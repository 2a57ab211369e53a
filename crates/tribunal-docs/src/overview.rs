//! One document of any kind in a few facts, for `tribunal docs`: what it is, what it says of itself, and what is odd in
//! it.
//!
//! Only plans and summaries need frontmatter. A document of another kind is never refused, nor criticised, for having
//! none.

use serde::Serialize;

use crate::{Diagnostic, Kind, kind_of, read_plan, read_summary};

/// A document in a few facts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Overview {
    /// The label under which the document was read.
    pub path: String,
    /// Its kind as file names spell it, such as `PLAN` or `REVIEW-FIX`; `OTHER` when nothing says.
    pub kind: &'static str,
    /// Whether the document could be read.
    pub ok: bool,
    /// Whether it took repairs to read it.
    pub recovered: bool,
    /// The key `phase`, as written.
    pub phase: Option<String>,
    /// The key `plan`, as written.
    pub plan: Option<String>,
    /// The title, from the frontmatter or the first heading.
    pub title: Option<String>,
    /// How many tasks it has.
    pub tasks: usize,
    /// How many must_haves it has.
    pub must_haves: usize,
    /// The key `status`, as written.
    pub status: Option<String>,
    /// Every remark of the reader.
    pub diagnostics: Vec<Diagnostic>,
}

impl Overview {
    /// The overview of a file that is not a document, with the reason.
    pub fn refused(path: &str, line: u32, column: u32, why: &str) -> Overview {
        Overview {
            path: path.to_owned(),
            kind: kind_of(path, "").word(),
            ok: false,
            recovered: false,
            phase: None,
            plan: None,
            title: None,
            tasks: 0,
            must_haves: 0,
            status: None,
            diagnostics: vec![Diagnostic::new(line, column, why)],
        }
    }
}

/// Reads a document of any kind.
pub fn overview(path: &str, text: &str) -> Overview {
    let kind = kind_of(path, text);
    // The plan reader serves every kind: it keeps what it does not know and finds titles and tasks anywhere.
    let read = read_plan(path, text);
    let Some(plan) = read.value else {
        return Overview { diagnostics: read.diagnostics, ..Overview::refused(path, 1, 1, "") };
    };
    let must_have_front = matches!(kind, Kind::Plan | Kind::Summary);
    let mut diagnostics = read.diagnostics;
    // The remark about missing frontmatter is the one at the very start.
    if !plan.has_frontmatter && !must_have_front {
        diagnostics.retain(|said| (said.line, said.column) != (1, 1));
    }
    // Only the summary reader knows this key, and any kind of document may have it.
    let status = read_summary(path, text).value.and_then(|summary| summary.status);
    Overview {
        path: path.to_owned(),
        kind: kind.word(),
        ok: true,
        recovered: read.recovered,
        phase: plan.phase,
        plan: plan.plan,
        title: plan.title,
        tasks: plan.tasks.len(),
        must_haves: plan.must_haves.count(),
        status,
        diagnostics,
    }
}
