//! One run as it goes: where it stands, its lanes, what runs now, loops with their rounds, findings, cost, and what
//! happened.
//!
//! Parts that change are marked, so that the script can replace them one by one and leave the rest of the page alone.

use super::finding::table_of;
use super::html::Html;
use super::{Root, Shell, cell, fact, mark, pages, table, table_end};
use crate::events::Event;
use crate::facts::{CommandView, LoopView, PlanState, RunView};
use crate::html::{PARTS, picture, total};
use crate::review::{self, Part, Review};
use crate::style::Mark;
use crate::typed::ruling_word;
use crate::{log, words};
use serde::Serialize;
use std::collections::BTreeSet;
use tribunal_core::finding::Fate;
use tribunal_core::ids::FindingId;

/// The number of loops and findings on the page of a run.
const SHOWN: usize = 30;
/// The number of plans on the page of a run.
const PLANS_SHOWN: usize = 200;
/// The number of loops on a page of their own.
const LOOPS_SHOWN: usize = 100;

/// An event in the form in which the page shows it and the stream sends it.
///
/// Page and stream use the same words, so a line does not change when the page is loaded again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Told {
    /// The place of the event in the journal.
    pub seq: u64,
    /// The time since the run began.
    pub when: String,
    /// The loop or plan it belongs to.
    pub of: String,
    /// The style class of its symbol.
    pub kind: &'static str,
    /// What happened, in the words of the log.
    pub text: String,
}

/// Writes an event in the words of the page. `began` is when the run began.
pub fn told(event: &Event, began: u64) -> Told {
    let (sign, text) = log::words_of(&event.what);
    // The symbol is part of the text, because the script writes text and no markup.
    let symbol = sign.map(|sign| format!("{} ", sign.symbol())).unwrap_or_default();
    let of = event.of.rsplit_once('.').map_or(event.of.as_str(), |(short, _)| short);
    Told {
        seq: event.seq,
        when: words::clock(event.at.saturating_sub(began)),
        of: crate::plain::clipped(of, 80),
        kind: sign.map(super::class).unwrap_or_default(),
        text: crate::plain::clipped(&format!("{symbol}{text}"), 600),
    }
}

/// Writes the page of a run. `events` are its last ones, the newest of which is at `seq`.
///
/// It can be read without the script; loading the page again then shows what happened since.
pub fn run(view: &RunView, review: &Review, events: &[Told], seq: u64, waiting: usize) -> String {
    let title = format!("Run {}", view.id);
    let shell = Shell { title: &title, waiting, run: Some(&view.id), live: Some(seq), root: Root::Up(1) };
    shell.around(|html| {
        html.raw("<h1>").text(&title).raw("</h1>\n<p id=\"live-state\" role=\"status\">");
        // Empty while it runs, because the script writes here whether the page is live.
        html.raw(if view.live { "" } else { "Nobody runs it now." }).raw("</p>\n");
        html.raw(
            "<noscript><p class=\"note\">Load the page again to see what happened since.</p></noscript>\n",
        );
        live(html, "where", |html| head(html, view));
        live(html, "asks", |html| asks(html, view));
        live(html, "plans", |html| plans(html, view));
        live(html, "now", |html| now(html, view));
        live(html, "rounds", |html| rounds(html, review));
        live(html, "found", |html| found(html, view));
        html.raw("<h2 id=\"what\">What happened</h2>\n<ol class=\"events\" id=\"events\" tabindex=\"0\" ");
        html.raw("aria-labelledby=\"what\">\n");
        events.iter().for_each(|told| {
            html.raw("<li data-seq=\"").text(told.seq).raw("\"><time>").text(&told.when).raw("</time>");
            html.raw("<span class=\"faint\">").text(&told.of).raw("</span><span class=\"").text(told.kind);
            html.raw("\">").text(&told.text).raw("</span></li>\n");
        });
        html.raw("</ol>\n");
    })
}

fn live(html: &mut Html, id: &'static str, part: impl FnOnce(&mut Html)) {
    html.raw("<div data-live id=\"").raw(id).raw("\">\n");
    part(html);
    html.raw("</div>\n");
}

fn head(html: &mut Html, view: &RunView) {
    html.raw("<p>");
    mark(html, view.mark(), view.stands());
    html.raw(" ").text(view.artifact.as_ref().unwrap_or(&view.phase)).raw("</p>\n");
    if !view.happened.is_empty() {
        html.raw("<p>").text(&view.happened).raw("</p>\n");
    }
    let landed = view.plans.iter().filter(|plan| plan.state == PlanState::Landed).count();
    let queued = view.plans.iter().filter(|plan| plan.state == PlanState::Landing).count();
    let open = view.open_findings();
    let effort = &view.effort;
    let tiles = [
        (
            format!("{landed} of {}", view.plans.len()),
            // Only a run that ended well has brought its plans to the user's branch.
            if view.is_there() { "plans landed" } else { "plans merged" },
        ),
        (queued.to_string(), "in the landing queue"),
        (view.running.len().to_string(), "at work now"),
        (format!("{open} of {}", view.findings.len()), "findings open"),
        (effort.money(), "cost"),
        (
            format!("{} / {}", words::amount(effort.tokens_in), words::amount(effort.tokens_out)),
            "tokens in / out",
        ),
        (yielded(view), "findings settled per launch"),
        (words::duration(view.ms()), if view.ending.is_some() { "in all" } else { "so far" }),
    ];
    html.raw("<ul class=\"tiles\">\n");
    for (value, name) in tiles {
        html.raw("<li><strong>").text(value).raw("</strong> ").text(name).raw("</li>\n");
    }
    html.raw("</ul>\n");
    let commands: Vec<String> = view.commands.iter().map(CommandView::line).collect();
    // What every reader must know stands on the page itself and not behind a link.
    for note in commands.iter().chain(&view.unreviewed).chain(&view.warnings).chain(&view.unkept) {
        html.raw("<p class=\"note\">").text(note).raw("</p>\n");
    }
}

/// Says what the launches brought: findings that ended well, per launch.
fn yielded(view: &RunView) -> String {
    let settled = view.findings.iter().filter(|finding| finding.fate.is_gone());
    // Nothing was launched yet, so there is no ratio to show.
    match view.effort.launches {
        0 => "—".to_owned(),
        n => format!("{:.2}", settled.count() as f64 / n as f64),
    }
}

fn asks(html: &mut Html, view: &RunView) {
    if view.questions.is_empty() {
        return;
    }
    html.raw("<h2>Waits for you</h2>\n<ul>\n");
    for question in &view.questions {
        html.raw("<li>").text(format!("{}: {} ", question.subject, question.why));
        match &question.answered {
            Some(answer) => html.text(format!("(answered: {answer})")),
            None => html
                .raw("<a href=\"")
                .place(&["inbox"])
                .raw("#q-")
                .text(&question.id)
                .raw("\">Decide ")
                .text(&question.id)
                .raw("</a>"),
        };
        html.raw("</li>\n");
    }
    html.raw("</ul>\n");
}

fn plans(html: &mut Html, view: &RunView) {
    if view.plans.is_empty() {
        return;
    }
    html.raw("<h2>Lanes</h2>\n");
    table(html, "One line for each plan", &["plan", "title", "wave", "stands", "gate", "verdict", "round"]);
    for plan in view.plans.iter().take(PLANS_SHOWN) {
        html.raw("<tr><th scope=\"row\">").text(&plan.id).raw("</th>");
        cell(html, &plan.title);
        cell(html, plan.wave);
        html.raw("<td>");
        mark(html, plan.mark(), state(plan.state, view.is_there()));
        html.raw("</td>");
        cell(html, &plan.gate);
        cell(html, &plan.verdict);
        cell(html, of_max(plan.round, plan.rounds_max));
        html.raw("</tr>\n");
    }
    table_end(html);
    if view.plans.len() > PLANS_SHOWN {
        html.raw("<p>and ").text(view.plans.len() - PLANS_SHOWN).raw(" more</p>\n");
    }
}

fn of_max(round: u32, max: u32) -> String {
    if max == 0 { String::new() } else { format!("{round} of {max}") }
}

fn state(state: PlanState, there: bool) -> &'static str {
    match state {
        PlanState::Waiting => "waits",
        PlanState::Gating => "judged before any code",
        PlanState::Building => "being built",
        PlanState::Landing => "in the landing queue",
        PlanState::Stuck => "stuck",
        PlanState::Landed if there => "landed",
        PlanState::Landed => "merged into the run branch",
        PlanState::Refused => "refused",
        PlanState::Dropped => "dropped",
        PlanState::Abandoned => "abandoned",
    }
}

fn now(html: &mut Html, view: &RunView) {
    if view.running.is_empty() {
        return;
    }
    html.raw("<h2>At work now</h2>\n");
    table(html, "What runs now", &["who", "on", "since"]);
    for activity in view.running.iter().take(SHOWN) {
        html.raw("<tr>");
        cell(html, &activity.who);
        cell(html, &activity.of);
        cell(html, words::clock(activity.since.saturating_sub(view.began)));
        html.raw("</tr>\n");
    }
    table_end(html);
}

fn rounds(html: &mut Html, review: &Review) {
    if review.loops.is_empty() {
        return;
    }
    html.raw("<h2>Loops</h2>\n");
    // The newest first: on a long run, the first loops are long settled.
    let newest: Vec<&Part> = review.loops.iter().rev().take(SHOWN).collect();
    loops_table(html, &review.run, "The newest loops first", &newest);
    if review.loops.len() > SHOWN {
        let words = format!("All {}", words::count(review.loops.len(), "loop"));
        html.raw("<p>").link(&["runs", &review.run, "loops"], words).raw("</p>\n");
    }
}

fn loops_table(html: &mut Html, run: &str, caption: &str, parts: &[&Part]) {
    table(html, caption, &["loop", "about", "stands", "rounds", "last ruling", "open after the last round"]);
    for part in parts {
        html.raw("<tr><th scope=\"row\">").link(&["runs", run, "loops", &part.id], &part.id).raw("</th>");
        cell(html, &part.subject);
        html.raw("<td>");
        mark(html, standing_mark(part), &part.stands());
        html.raw("</td>");
        cell(html, of_max(u32::try_from(part.rounds.len()).unwrap_or(u32::MAX), part.rounds_max));
        let last = part.rounds.last();
        cell(html, ruling_word(last.and_then(|round| round.ruling.as_ref())));
        cell(html, last.map(|round| round.open.iter().sum::<usize>().to_string()).unwrap_or_default());
        html.raw("</tr>\n");
    }
    table_end(html);
}

fn standing_mark(part: &Part) -> Mark {
    match &part.outcome {
        None if part.waits.is_empty() => Mark::Running,
        // It waits for a person.
        None => Mark::Warning,
        Some(outcome) if outcome.is_good() => Mark::Complete,
        Some(_) => Mark::Failed,
    }
}

fn found(html: &mut Html, view: &RunView) {
    if view.findings.is_empty() {
        return;
    }
    html.raw("<h2>Findings</h2>\n<p>");
    let fates: Vec<String> = view.fates().into_iter().map(|(fate, n)| format!("{n} {fate}")).collect();
    html.text(words::and(&fates)).raw("</p>\n");
    let open = view.findings.iter().filter(|finding| finding.fate == Fate::Open);
    // The newest of the settled ones, because the list is short.
    let rest = view.findings.iter().rev().filter(|finding| finding.fate != Fate::Open);
    // Open findings come first, however old they are.
    table_of(html, &view.id, "Open findings first, then the newest", open.chain(rest).take(SHOWN));
    if view.findings.len() > SHOWN {
        let words = format!("All {}", words::count(view.findings.len(), "finding"));
        html.raw("<p>").link(&["runs", &view.id, "findings"], words).raw("</p>\n");
    }
}

/// Writes a page of all loops of a run.
pub fn loops(review: &Review, from: usize, waiting: usize) -> String {
    let title = format!("Loops of run {}", review.run);
    Shell { title: &title, waiting, run: Some(&review.run), live: None, root: Root::Up(2) }.around(|html| {
        html.raw("<h1>").text(&title).raw("</h1>\n");
        let some: Vec<&Part> = review.loops.iter().skip(from).take(LOOPS_SHOWN).collect();
        loops_table(html, &review.run, "In the order they were opened", &some);
        pages(html, &["runs", &review.run, "loops"], from, LOOPS_SHOWN, review.loops.len());
    })
}

/// Writes one loop, round by round; `None` if the run has no such loop.
pub fn one_loop(view: &RunView, review: &Review, id: &str, waiting: usize) -> Option<String> {
    let review_loop = view.loops.iter().find(|review_loop| review_loop.id == id)?;
    let part = review.loops.iter().find(|part| part.id == id);
    let title = format!("Loop {id}");
    let page =
        Shell { title: &title, waiting, run: Some(&view.id), live: None, root: Root::Up(3) }.around(|html| {
            html.raw("<h1>").text(&title).raw("</h1>\n");
            facts(html, review_loop, part);
            if let Some(part) = part {
                shape(html, review, part);
            }
            timeline(html, review_loop);
            if !review_loop.spoken.is_empty() {
                html.raw("<h2>Reviewers in their own words</h2>\n");
                super::inbox::spoken(html, &review_loop.spoken);
            }
            html.raw("<h2>Findings</h2>\n");
            let held: BTreeSet<FindingId> = review_loop.findings.iter().copied().collect();
            let held = view.findings.iter().filter(|finding| held.contains(&finding.id));
            table_of(html, &view.id, "Findings this loop held", held);
        });
    Some(page)
}

fn facts(html: &mut Html, review_loop: &LoopView, part: Option<&Part>) {
    html.raw("<dl class=\"facts\">\n");
    fact(html, "about", part.map(|part| part.subject.as_str()).unwrap_or_default());
    fact(html, "stands", &review_loop.stands());
    fact(html, "rounds", &format!("{} of {}", review_loop.round, review_loop.rounds_max));
    fact(html, "runs of the builder", &review_loop.iterations.to_string());
    fact(html, "took", &words::duration(review_loop.ms));
    fact(
        html,
        "cost",
        &if review_loop.cost_micros > 0 { words::money(review_loop.cost_micros) } else { String::new() },
    );
    fact(html, "revision", review_loop.revision.as_deref().unwrap_or_default());
    html.raw("</dl>\n");
}

/// Shows whether the loop gets better: the picture, and the table that says the same in numbers.
fn shape(html: &mut Html, review: &Review, part: &Part) {
    // A loop without findings has no shape to show.
    if part.rounds.iter().all(|round| total(&round.bar) == 0) {
        return;
    }
    html.raw("<h2>Convergence</h2>\n<p>");
    for (name, colour) in PARTS {
        html.raw("<svg class=\"swatch\" viewBox=\"0 0 10 10\" aria-hidden=\"true\"><rect width=\"10\" height=\"10\" fill=\"");
        html.text(colour).raw("\"/></svg>").text(name).raw(" &nbsp; ");
    }
    html.raw("</p>\n").draw(|out| picture(out, part));
    for change in review::changes(&review.by_id(), part) {
        html.raw("<h3>").text(change.title).raw("</h3>\n");
        table(html, change.title, change.head);
        for row in &change.rows {
            html.raw("<tr>");
            // The cells were escaped for markdown; `cell` escapes them again for HTML.
            row.iter().for_each(|text| cell(html, crate::account::unescaped(text)));
            html.raw("</tr>\n");
        }
        table_end(html);
    }
}

fn timeline(html: &mut Html, review_loop: &LoopView) {
    html.raw("<h2>Round by round</h2>\n");
    if review_loop.rounds.is_empty() {
        html.raw("<p>No round was judged yet.</p>\n");
    }
    for round in &review_loop.rounds {
        let ruling = round.ruling_words();
        html.raw("<h3>Round ").text(round.round).raw(": ").text(ruling).raw("</h3>\n<ul>\n");
        round.said.iter().for_each(|said| {
            html.raw("<li>").text(said).raw("</li>\n");
        });
        html.raw("</ul>\n");
    }
}
