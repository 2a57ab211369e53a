//! The list of runs: one line each, newest first.

use super::{Shell, cell, mark, table, table_end};
use crate::style::Mark;
use crate::words;

/// A run on one line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunLine {
    /// Its id.
    pub id: String,
    /// The phase.
    pub phase: String,
    /// Its symbol; none when it cannot be read.
    pub mark: Option<Mark>,
    /// Where it stands, in a word or two; why it cannot be read.
    pub stands: String,
    /// An orchestrator runs it now.
    pub live: bool,
    /// When it began, in milliseconds since 1970.
    pub began: u64,
    /// Plans that landed, and all of them.
    pub plans: (usize, usize),
    /// Findings that are open, and all of them.
    pub findings: (usize, usize),
    /// Questions that wait for a person.
    pub questions: usize,
    /// What it cost, in words.
    pub cost: String,
    /// It will not change any more.
    pub over: bool,
}

/// The list of runs; `older` says how many are not shown.
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
