//! The landing queue of a run: what waits to land, what lands now, what has landed, and what was refused and why.
//!
//! A review of something that exists has no plans, and the page says so instead of showing an empty table.

use super::html::Html;
use super::{Root, Shell, cell, mark, table, table_end};
use crate::facts::{PlanState, PlanView, RunView};
use crate::style::Mark;

/// Writes the queue of a run.
pub fn queue(view: &RunView, waiting: usize) -> String {
    let title = format!("Landing queue of run {}", view.id);
    Shell { title: &title, waiting, run: Some(&view.id), live: None, root: Root::Up(2) }.around(|html| {
        html.raw("<h1>").text(&title).raw("</h1>\n");
        if view.plans.is_empty() {
            html.raw("<p>This run builds no plans: nothing lands by a queue.</p>\n");
            return;
        }
        let of = |state: PlanState| view.plans.iter().filter(move |plan| plan.state == state);
        html.raw("<p>What is approved is merged into the run branch, one plan after the other, in the order of the waves. Your branch has it when the run has passed.</p>\n");
        section(html, view, "In the queue", of(PlanState::Landing), "Nothing waits to land.");
        section(html, view, "Merged into the run branch", of(PlanState::Landed), "Nothing is merged yet.");
        html.raw("<h2>Refused landings</h2>\n");
        list(html, &view.refused_landings, "No landing was refused.");
        html.raw("<h2>At the end</h2>\n");
        list(html, &view.finish, "Nothing was done yet on the branch the run began on.");
        if let Some(take) = &view.take {
            html.raw("<p>To take the result: <code>").text(take).raw("</code></p>\n");
        }
    })
}

fn section<'a>(
    html: &mut Html,
    view: &RunView,
    caption: &str,
    plans: impl Iterator<Item = &'a PlanView>,
    nothing: &str,
) {
    html.raw("<h2>").text(caption).raw("</h2>\n");
    let plans: Vec<&PlanView> = plans.collect();
    if plans.is_empty() {
        html.raw("<p>").text(nothing).raw("</p>\n");
        return;
    }
    table(html, caption, &["plan", "wave", "title", "stands"]);
    for plan in plans {
        // The queue lands one plan at a time; this is the one at work.
        let now = view.running.iter().any(|one| one.of == plan.id);
        let (symbol, word) = match (plan.state, now) {
            // Warnings that a review let pass stay visible after the merge.
            (PlanState::Landed, _) if plan.with_warnings => (Mark::Warning, "merged with warnings"),
            (PlanState::Landed, _) => (Mark::Complete, "merged"),
            (_, true) => (Mark::Running, "lands now"),
            (_, false) => (Mark::Skipped, "waits"),
        };
        html.raw("<tr><th scope=\"row\">").text(&plan.id).raw("</th>");
        cell(html, plan.wave);
        cell(html, &plan.title);
        html.raw("<td>");
        mark(html, symbol, word);
        html.raw("</td></tr>\n");
    }
    table_end(html);
}

fn list(html: &mut Html, lines: &[String], nothing: &str) {
    if lines.is_empty() {
        html.raw("<p>").text(nothing).raw("</p>\n");
        return;
    }
    html.raw("<ul>\n");
    for line in lines {
        html.raw("<li>").text(line).raw("</li>\n");
    }
    html.raw("</ul>\n");
}
