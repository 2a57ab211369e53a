//! One document of any kind in a few facts, for `tribunal docs`: what it is, what it says of itself, what is odd in it.
//! Must never refuse a document of a kind that need not have frontmatter for having none.

use serde::Serialize;

use crate::{Diagnostic, Kind, kind_of, read_plan, read_summary};

/// A document in a few facts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Overview {
    /// The label it was read under.
    pub path: String,
    /// Its kind, as file names spell it: `PLAN`, `REVIEW-FIX`; `OTHER` when nothing says.
    pub kind: &'static str,
    /// Whether it could be read.
    pub ok: bool,
    /// Whether it took repairs.
    pub recovered: bool,
    /// `phase` as written.
    pub phase: Option<String>,
    /// `plan` as written.
    pub plan: Option<String>,
    /// Its title.
    pub title: Option<String>,
    /// How many tasks it has.
    pub tasks: usize,
    /// How many must_haves it has.
    pub must_haves: usize,
    /// `status` as written.
    pub status: Option<String>,
    /// Everything noticed.
    pub diagnostics: Vec<Diagnostic>,
}

impl Overview {
    /// A file that is no document, and why.
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
    let read = read_plan(path, text);
    let Some(plan) = read.value else {
        return Overview { diagnostics: read.diagnostics, ..Overview::refused(path, 1, 1, "") };
    };
    let must_have_front = matches!(kind, Kind::Plan | Kind::Summary);
    let mut diagnostics = read.diagnostics;
    if !plan.has_frontmatter && !must_have_front {
        diagnostics.retain(|said| (said.line, said.column) != (1, 1));
    }
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
