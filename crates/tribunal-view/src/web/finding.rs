//! Findings: the list, and one finding's story. The story says what was claimed, where, by whom, what its builder said
//! and did, what the next round saw, and how it ended, each step with its place in the journal.
//!
//! A page reads nothing by itself: code and fix were recorded when the finding was tracked.

use super::html::Html;
use super::{Root, Shell, cell, fact, pages, table, table_end};
use crate::facts::{FindingView, RunView};
use crate::review::{Review, Story};
use crate::typed::reply_words;
use tribunal_core::ids::FindingId;

/// The number of findings on a page.
const SHOWN: usize = 200;

/// One step of a finding's story.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The place of the step in the journal.
    pub seq: u64,
    /// The time since the run began, as a clock.
    pub when: String,
    /// The loop it belongs to.
    pub of: String,
    /// What happened, in the words of the log.
    pub text: String,
}

pub(super) fn table_of<'a>(
    html: &mut Html,
    run: &str,
    caption: &str,
    findings: impl Iterator<Item = &'a FindingView>,
) {
    table(html, caption, &["finding", "severity", "stands", "where", "claim", "by"]);
    for finding in findings {
        let id = finding.id.to_string();
        html.raw("<tr><th scope=\"row\">").link(&["runs", run, "findings", &id], &id).raw("</th>");
        // The severity is the class as well; it is escaped like any text.
        html.raw("<td class=\"").text(finding.severity).raw("\">").text(finding.severity).raw("</td>");
        cell(html, format!("{} {}", finding.fate, finding.fate_note));
        html.raw("<td><code>").text(&finding.place).raw("</code></td>");
        cell(html, &finding.claim);
        cell(html, finding.by.join(", "));
        html.raw("</tr>\n");
    }
    table_end(html);
}

/// Writes a page of all findings of a run.
pub fn findings(view: &RunView, from: usize, waiting: usize) -> String {
    let title = format!("Findings of run {}", view.id);
    Shell { title: &title, waiting, run: Some(&view.id), live: None, root: Root::Up(2) }.around(|html| {
        html.raw("<h1>").text(&title).raw("</h1>\n");
        if view.findings.is_empty() {
            html.raw("<p>Nothing was found.</p>\n");
            return;
        }
        table_of(html, &view.id, "In the order they were found", view.findings.iter().skip(from).take(SHOWN));
        pages(html, &["runs", &view.id, "findings"], from, SHOWN, view.findings.len());
    })
}

/// Writes one finding's story; `None` if the run has no such finding.
pub fn finding(view: &RunView, review: &Review, steps: &[Step], id: &str, waiting: usize) -> Option<String> {
    // Only a name that is written as it is shown has a page.
    let known = FindingId::parse(id).filter(|known| known.to_string() == id)?;
    let finding = view.findings.iter().find(|finding| finding.id == known)?;
    // The review need not hold every finding of the run.
    let story = review.findings.iter().find(|story| story.finding.id == known);
    let title = format!("Finding {id}");
    let page =
        Shell { title: &title, waiting, run: Some(&view.id), live: None, root: Root::Up(3) }.around(|html| {
            html.raw("<h1>")
                .text(&title)
                .raw("</h1>\n<p>")
                .text(&finding.claim)
                .raw("</p>\n<dl class=\"facts\">\n");
            fact(html, "severity", finding.severity.word());
            fact(html, "stands", &format!("{} {}", finding.fate, finding.fate_note));
            fact(html, "where", &finding.place);
            fact(html, "raised by", &finding.by.join(", "));
            fact(html, "confidence", &format!("{} of 100", finding.confidence));
            fact(html, "first seen", &format!("round {}", finding.first_round));
            fact(html, "origin", &finding.provenance_words());
            fact(html, "suggestion", &finding.suggestion);
            let reply = finding.reply.as_ref().map(reply_words).unwrap_or_default();
            fact(html, "the builder says", &reply);
            let settled = story.and_then(|story| story.settled_in).map(|round| format!("round {round}"));
            fact(html, "settled in", &settled.unwrap_or_default());
            fact(html, "why it is open", story.map(|story| story.why.as_str()).unwrap_or_default());
            fact(html, "what would help", story.map(|story| story.advice.as_str()).unwrap_or_default());
            finding.more().iter().for_each(|more| fact(html, "also", more));
            fact(html, "why it went there", &finding.remarks.why);
            html.raw("<dt>held by</dt><dd>").link(&["runs", &view.id, "loops", &finding.of], &finding.of);
            html.raw("</dd>\n</dl>\n");
            if !finding.details.trim().is_empty() {
                html.raw("<h2>In full</h2>\n<pre tabindex=\"0\">").block(&finding.details).raw("</pre>\n");
            }
            if let Some(story) = story.filter(|story| !story.tried.is_empty()) {
                html.raw("<h2>What was tried</h2>\n<ul>\n");
                story.tried.iter().for_each(|tried| {
                    html.raw("<li>").text(tried).raw("</li>\n");
                });
                html.raw("</ul>\n");
            }
            if let Some(story) = story {
                with_code(html, story);
            }
            told(html, &view.id, steps);
        });
    Some(page)
}

/// Writes the code, the fix and what editor agents said, if they are known.
fn with_code(html: &mut Html, story: &Story) {
    if let Some(code) = &story.code {
        html.raw("<h2>The code</h2>\n<pre tabindex=\"0\">").block(&code.numbered()).raw("</pre>\n");
    }
    if !story.fix.is_empty() {
        html.raw("<h2>The fix it went away with</h2>\n<pre tabindex=\"0\">")
            .block(&story.fix)
            .raw("</pre>\n");
    }
    if !story.remarks.is_empty() {
        html.raw("<h2>What editor agents said</h2>\n<ul>\n");
        for said in &story.remarks {
            html.raw("<li>").text(said).raw("</li>\n");
        }
        html.raw("</ul>\n");
    }
}

fn told(html: &mut Html, run: &str, steps: &[Step]) {
    html.raw("<h2>Its story</h2>\n");
    table(html, "Step by step", &["event", "when", "loop", "what happened"]);
    for step in steps {
        // Each step links to its row, so that a reader can check the story against the journal.
        html.raw("<tr><th scope=\"row\"><a href=\"").place(&["runs", run, "journal"]).raw("?from=");
        html.text(step.seq).raw("\">#").text(step.seq).raw("</a></th>");
        cell(html, &step.when);
        cell(html, &step.of);
        cell(html, &step.text);
        html.raw("</tr>\n");
    }
    table_end(html);
}
