//! The list of runs: one line each, newest first.
//!
//! A run that cannot be read has a line, too, with the reason: a damaged journal must not make a run disappear.

use super::{Shell, cell, mark, table, table_end};
use crate::style::Mark;
use crate::words;

/// A run on one line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunLine {
    /// The id of the run.
    pub id: String,
    /// The phase that the run builds, or what it makes or judges.
    pub phase: String,
    /// The symbol of its state; `None` if it cannot be read.
    pub mark: Option<Mark>,
    /// Where it stands, in a word or two, or why it cannot be read.
    pub stands: String,
    /// Whether an orchestrator runs it now.
    pub live: bool,
    /// When it began, in milliseconds since 1970.
    pub began: u64,
    /// The number of plans that landed, and of all plans.
    pub plans: (usize, usize),
    /// The number of open findings, and of all findings.
    pub findings: (usize, usize),
    /// The number of questions that wait for a person.
    pub questions: usize,
    /// The cost in words, with a note if a part of it is unknown.
    pub cost: String,
    /// Whether it will not change any more.
    pub over: bool,
}

/// Writes the list of runs. `older` says how many are not shown.
///
/// Older runs are only counted; `tribunal status RUN` shows one.
pub fn runs(lines: &[RunLine], older: usize, waiting: usize) -> String {
    Shell { title: "Runs", waiting, ..Shell::default() }.around(|html| {
        html.raw("<h1>Runs</h1>\n");
        if lines.is_empty() {
            html.raw("<p>There is no run here yet. <code>tribunal run</code> starts one.</p>\n");
            return;
        }
        let head =
            ["run", "phase", "stands", "plans merged", "findings open", "waits for you", "cost", "began"];
        table(html, "Runs of this project, newest first", &head);
        for line in lines {
            html.raw("<tr><th scope=\"row\">").link(&["runs", &line.id], &line.id).raw("</th>");
            cell(html, &line.phase);
            html.raw("<td>");
            let live = if line.live { ", live" } else { "" };
            mark(html, line.mark.unwrap_or(Mark::Failed), &format!("{}{live}", line.stands));
            html.raw("</td>");
            cell(html, format!("{} of {}", line.plans.0, line.plans.1));
            cell(html, format!("{} of {}", line.findings.0, line.findings.1));
            cell(html, line.questions);
            cell(html, &line.cost);
            cell(html, if line.began == 0 { String::new() } else { crate::calendar::timestamp(line.began) });
            html.raw("</tr>\n");
        }
        table_end(html);
        if older > 0 {
            html.raw("<p>").text(words::count(older, "older run"));
            html.raw(": <code>tribunal status RUN</code> shows one.</p>\n");
        }
    })
}
