//! The account of a review on a terminal: how it ended, findings by fate, what each round changed, what is open, and
//! what to do next.
//!
//! Every line fits the columns of the terminal, except a command that is to be copied. A meaning is never in the colour
//! alone, because colours may be off or invisible to the reader.

use crate::bars::{Bar, bars};
use crate::plain;
use crate::review::{self, End, Part, Review, Story};
use crate::spoken;
use crate::style::{self, Style, columns, cut, pad};
use crate::words::count;
use std::fmt::Write;
use tribunal_core::ledger::Mark;
use tribunal_findings::delta::{Class, Row};

/// The number of rows of one kind that are shown; more are only counted.
const ROWS: usize = 50;
/// The number of bytes shown of an answer that did not count.
const LOST_MAX: usize = 2_000;

/// Writes the account.
///
/// The order is that of a reader's questions: how it ended, why, what is still open, what to do. Details of rounds
/// stand between.
pub fn text(review: &Review, style: Style) -> String {
    let mut out = String::new();
    let head = review.title();
    let _ = writeln!(
        out,
        "{} {}",
        style.mark(mark(review.end)),
        style.bold(&style.wrap(&format!("{head}: {}", review.end.title()), "  "))
    );
    let _ = writeln!(out, "  {}", indented(&plain::line(&review.reason), 2, style));
    for note in &review.notes {
        let _ = writeln!(
            out,
            "  {} {}",
            style.mark(style::Mark::Warning),
            indented(&plain::line(note), 4, style)
        );
    }
    let rounds = count(review.rounds(), "round");
    let loops = count(review.loops.len(), "loop");
    let _ = writeln!(out, "\n  {rounds} in {loops}, {}", count(review.findings.len(), "finding"));
    fates(&mut out, review, style);
    // Only loops with more than one round have something that changed between rounds.
    for part in review.revised() {
        delta(&mut out, review, part, style);
    }
    open(&mut out, review, style);
    let decided: Vec<String> = review.decisions.iter().map(|text| plain::clipped(text, 300)).collect();
    lines(&mut out, "Who built and judged", &review.who.lines(), style);
    lines(&mut out, "Decided", &decided, style);
    let lost: Vec<spoken::Spoken> = review.lost().cloned().collect();
    if !lost.is_empty() {
        let _ = writeln!(out, "\n  {}", style.bold("Answers that did not count"));
        spoken::text(&mut out, &lost, LOST_MAX, style);
    }
    lines(&mut out, "What would help", &review::recommendations(review), style);
    lines(&mut out, "Next", &review.next, style);
    out
}

fn mark(end: End) -> style::Mark {
    match end {
        End::Passed => style::Mark::Complete,
        // Not a failure: a person can still decide either way.
        End::Escalated => style::Mark::Warning,
        End::Stale | End::Cancelled => style::Mark::Failed,
        End::Running => style::Mark::Running,
    }
}

/// Wraps a text so that every line fits, with this many columns before it.
///
/// Callers print something before the first line, so all lines have that much less room.
fn indented(text: &str, columns: usize, style: Style) -> String {
    // Width 0 means that the output is not a terminal: nothing is wrapped there.
    if style.width == 0 {
        return text.to_owned();
    }
    let narrow = Style { width: style.width.saturating_sub(columns).max(1), ..style };
    narrow.wrap(text, "").replace('\n', &format!("\n{}", " ".repeat(columns)))
}

fn fates(out: &mut String, review: &Review, style: Style) {
    let fates = review.fates();
    if fates.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n  {}", style.bold("Findings by fate"));
    let most = fates.iter().map(|(_, n)| *n).max().unwrap_or(1).max(1);
    // Without a terminal, a fixed width keeps bars of several reviews comparable.
    let room = if style.width == 0 { 40 } else { style.width.saturating_sub(24).clamp(4, 40) };
    for (fate, n) in fates {
        // At least one sign: a fate with a single finding must not look like none.
        let long = (n * room).div_ceil(most).clamp(1, room);
        let _ = writeln!(out, "    {} {n:>4}  {}", pad(fate, 11), style.faint(&"▪".repeat(long)));
    }
}

fn delta(out: &mut String, review: &Review, part: &Part, style: Style) {
    let head = format!("{}: {}", plain::line(&part.subject), part.stands());
    let _ = writeln!(out, "\n  {}", style.bold(&indented(&head, 2, style)));
    let rounds: Vec<Bar> = part.rounds.iter().map(|round| round.bar).collect();
    let narrow = Style { width: style.width.saturating_sub(if style.width == 0 { 0 } else { 4 }), ..style };
    for line in bars(&rounds, narrow).lines() {
        let _ = writeln!(out, "    {line}");
    }
    let known = review.by_id();
    // The first round has nothing to be compared with.
    for (n, round) in part.rounds.iter().enumerate().skip(1) {
        let _ = writeln!(out, "    {}", style.faint(&format!("round {}", n + 1)));
        let mut rows: Vec<&Row> = round.delta.rows.iter().collect();
        rows.sort_by_key(|row| (class(row.class).0, row.id));
        for row in rows.iter().take(ROWS) {
            let (_, word, said) = class(row.class);
            let id = row.id.to_string();
            // A finding that the review does not hold any more still has its id.
            let line = known.get(&row.id).map_or(id, |story| story.finding.line());
            let said = if said.is_empty() { String::new() } else { format!(" ({said})") };
            let text = indented(&format!("{line}{said}"), 18, style);
            let _ = writeln!(out, "      {} {text}", pad(word, 11));
        }
        // What is cut is always counted, so that a short list cannot pass for a complete one.
        if rows.len() > ROWS {
            let _ = writeln!(out, "      … and {} more", rows.len() - ROWS);
        }
    }
}

/// The place of a class in the list, its word, and a remark about it.
fn class(class: Class) -> (u8, &'static str, &'static str) {
    match class {
        Class::Resolved => (0, "resolved", ""),
        Class::New(Mark::Reopened) => (1, "came back", ""),
        Class::New(mark) => (2, "new", review::mark_words(mark)),
        Class::Upgraded => (3, "worse", ""),
        Class::Downgraded => (4, "milder", ""),
        Class::Unchanged => (5, "unchanged", ""),
        // Silence is not evidence: a finding that nobody repeated stays open, and the remark says why.
        Class::NotReported => (6, "unchanged", "not confirmed"),
    }
}

/// Removes the escapes of a table cell. Cells are made for markdown, and a terminal needs no escapes.
///
/// The tables of `review` are shared with `NN-REVIEW.md`. Making them twice, once per form, could let the two differ.
pub(crate) fn unescaped(cell: &str) -> String {
    let mut out = String::with_capacity(cell.len());
    let mut chars = cell.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('\\', Some(next)) if "[]*_#\\|".contains(*next) => {}
            _ => out.push(c),
        }
    }
    out.replace("&lt;", "<")
}

fn open(out: &mut String, review: &Review, style: Style) {
    let open = review.in_the_way();
    if open.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n  {}", style.bold("Still open"));
    for story in open.iter().take(ROWS) {
        let _ = writeln!(out, "    {}", indented(&story.finding.line(), 6, style));
        for (name, value) in about(story) {
            let _ =
                writeln!(out, "      {} {}", style.faint(name), indented(&value, 7 + columns(name), style));
        }
    }
    if open.len() > ROWS {
        let _ = writeln!(out, "    … and {} more; --format markdown has them all", open.len() - ROWS);
    }
}

fn about(story: &Story) -> Vec<(&'static str, String)> {
    let mut rows = Vec::new();
    // The names are padded to one width by hand, so that their values stand below each other.
    rows.extend(story.finding.provenance.map(|provenance| ("origin", provenance.to_string())));
    story.tried.iter().for_each(|tried| rows.push(("tried ", cut(&plain::line(tried), 400))));
    if !story.why.is_empty() {
        rows.push(("why   ", story.why.clone()));
    }
    rows
}

fn lines(out: &mut String, title: &str, items: &[String], style: Style) {
    if items.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n  {}", style.bold(title));
    for item in items {
        let item = plain::line(item);
        // Four columns of indent stand before every item.
        let fits = style.width == 0 || style::columns(&item) + 4 <= style.width;
        match item.split_once(" — ").filter(|(command, _)| !fits && style::is_command(command)) {
            // The command stays on one line, to be copied; its meaning stands below.
            Some((command, meaning)) => {
                let _ = writeln!(out, "    {command}\n      {}", indented(meaning, 6, style));
            }
            None => {
                let _ = writeln!(out, "    {}", indented(&item, 6, style));
            }
        }
    }
}
