//! `report.md` of a run: everything that was judged, found and decided, for a reader who was not there.
//!
//! The report is a document for people; programs read `status --json` or the events.

use crate::facts::{CommandView, FindingView, LoopView, RunView};
use crate::style::Style;
use crate::typed::ruling_word;
use crate::{plain, sandbox, spoken, status, summary, words};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The number of bytes of each reviewer's words in a report.
pub(crate) const SPOKEN_MAX: usize = 4_000;

/// Writes the report as markdown.
///
/// It begins with the result and two to four sentences, because most readers stop there. Empty lists are left out.
pub fn markdown(run: &RunView) -> String {
    let mut out = String::new();
    let result = run.ending.map(|ending| ending.word().to_owned()).unwrap_or_else(|| {
        let waits = !run.questions.is_empty();
        // Asked before the open questions: a held result is one, but a better sentence.
        if let Some(why) = &run.held {
            format!("approved, and not on {} yet: {}", text(&run.branch), text(why))
        } else if waits {
            "escalated: it waits for a person".to_owned()
        } else {
            format!("not over ({})", run.stands())
        }
    });
    let it = match &run.artifact {
        Some(artifact) => text(artifact),
        None => format!("phase {}", text(&run.phase)),
    };
    let _ = writeln!(out, "# Run {}: {it}\n", run.id);
    let _ = writeln!(out, "**Result:** {result}\n");
    let _ = writeln!(out, "{}\n", summary::sentences(run));
    table(&mut out, &["", ""], &facts(run));
    plans(&mut out, run);
    // Grouped once: searching all findings for every loop would be quadratic.
    let mut held: BTreeMap<&str, Vec<&FindingView>> = BTreeMap::new();
    run.findings.iter().for_each(|finding| held.entry(&finding.of).or_default().push(finding));
    for review_loop in &run.loops {
        one_loop(&mut out, review_loop, held.get(review_loop.id.as_str()).map_or(&[], Vec::as_slice));
    }
    findings(&mut out, run);
    list(
        &mut out,
        "Open questions",
        run.questions.iter().map(|q| {
            let first = q.offers.first().map(|offer| format!("; `{}`", offer.command)).unwrap_or_default();
            format!("{} ({}): {}{first}", q.subject, q.id, q.why)
        }),
    );
    list(&mut out, "Told to a person", run.escalated.iter().cloned());
    list(&mut out, "Decisions", run.decisions.iter().cloned());
    list(&mut out, "Refused landings", run.refused_landings.iter().cloned());
    // Among what was done at the end, because it is the step that is still missing.
    let take = run.take.iter().map(|command| format!("the result is not on the branch yet: `{command}`"));
    list(&mut out, "At the end", run.finish.iter().cloned().chain(take));
    list(&mut out, "Build and tests", run.commands.iter().map(CommandView::line));
    list(&mut out, "Who built and judged", run.who.lines().into_iter());
    list(&mut out, "Not reviewed", run.unreviewed.iter().cloned());
    list(&mut out, "Warnings", run.warnings.iter().cloned());
    // Bounded: an agent can be refused as often as it likes.
    list(&mut out, "Refused to agents", run.refused.iter().take(20).cloned());
    list(&mut out, "Found on the way, left alone", run.discovered.iter().take(20).cloned());
    out
}

/// Shows the report on a terminal: its words without the escapes that keep markdown from reading them.
///
/// `tribunal show` prints the same report to a terminal, so there is only one place where it is put together.
pub fn text_of(markdown: &str, style: Style) -> String {
    let mut out = String::new();
    for line in markdown.lines() {
        let mut words = String::new();
        let mut chars = line.chars().peekable();
        while let Some(c) = chars.next() {
            match chars.peek() {
                // The escapes that `text` wrote; a backslash before a letter is a backslash.
                Some(next) if c == '\\' && next.is_ascii_punctuation() => words.extend(chars.next()),
                _ => words.push(c),
            }
        }
        let words = words.replace("&lt;", "<");
        let margin = words.len() - words.trim_start().len();
        let shown = match words.get(margin..).unwrap_or_default() {
            "" => String::new(),
            heading if heading.starts_with('#') => style.bold(&style.wrap(heading, "  ")),
            rest => format!("{}{}", " ".repeat(margin), style.wrap(rest, &" ".repeat(margin + 2))),
        };
        let _ = writeln!(out, "{shown}");
    }
    out
}

fn facts(run: &RunView) -> Vec<Vec<String>> {
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let mut rows = vec![
        row("began", crate::calendar::timestamp(run.began)),
        row("took", words::duration(run.ms())),
        row("branch", text(&run.branch)),
        row("base", text(&run.base)),
        row("containment", text(sandbox::contained(&run.containment))),
        row("sandbox", text(&run.sandbox)),
        row("agents", words::count(usize::try_from(run.effort.launches).unwrap_or(usize::MAX), "launch")),
        row("lost attempts", run.effort.failures.to_string()),
        row("tokens", format!("{} in, {} out", run.effort.tokens_in, run.effort.tokens_out)),
        row("cost", run.effort.money()),
        row("findings", status::findings_words(run)),
    ];
    run.tip.iter().for_each(|tip| rows.push(row("run branch", text(tip))));
    rows
}

fn plans(out: &mut String, run: &RunView) {
    out.push_str("## Plans\n\n");
    let rows: Vec<Vec<String>> = run
        .plans
        .iter()
        .map(|plan| {
            let symbol = plan.mark().symbol();
            vec![
                format!("{symbol} {}", plan.id),
                text(&plan.title),
                plan.wave.to_string(),
                text(&plan.gate),
                text(&plan.verdict),
            ]
        })
        .collect();
    table(out, &["plan", "title", "wave", "gate", "verdict"], &rows);
}

fn one_loop(out: &mut String, review_loop: &LoopView, held: &[&FindingView]) {
    let _ = writeln!(out, "## {}: {}\n", text(&review_loop.id), review_loop.stands());
    let cost = if review_loop.cost_micros > 0 {
        format!(", {}", words::money(review_loop.cost_micros))
    } else {
        String::new()
    };
    let _ = writeln!(
        out,
        "{} gate, round {} of {}, {}{cost}\n",
        review_loop.of,
        review_loop.round,
        review_loop.rounds_max,
        words::duration(review_loop.ms)
    );
    for round in &review_loop.rounds {
        let _ = writeln!(out, "- round {}: **{}**", round.round, ruling_word(round.ruling.as_ref()));
        round.said.iter().for_each(|said| {
            let _ = writeln!(out, "  - {}", text(said));
        });
    }
    if !held.is_empty() {
        out.push('\n');
    }
    for finding in held {
        let _ = writeln!(out, "- {}: {}", text(&finding.line()), finding.fate_words());
        for more in finding.more() {
            let _ = writeln!(out, "  - {}", text(&more));
        }
    }
    if !review_loop.spoken.is_empty() {
        out.push_str("\nReviewers in their own words:\n\n");
        spoken::markdown(out, &review_loop.spoken, SPOKEN_MAX);
    }
    out.push('\n');
}

fn findings(out: &mut String, run: &RunView) {
    if run.findings.is_empty() {
        return;
    }
    out.push_str("## Findings by fate\n\n");
    let rows: Vec<Vec<String>> =
        run.fates().into_iter().map(|(fate, n)| vec![fate.to_owned(), n.to_string()]).collect();
    table(out, &["fate", "count"], &rows);
}

fn list(out: &mut String, title: &str, items: impl Iterator<Item = String>) {
    let items: Vec<String> = items.collect();
    if items.is_empty() {
        return;
    }
    let _ = writeln!(out, "## {title}\n");
    items.iter().for_each(|item| {
        let _ = writeln!(out, "- {}", text(item));
    });
    out.push('\n');
}

pub(crate) fn table(out: &mut String, head: &[&str], rows: &[Vec<String>]) {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let head: Vec<String> = head.iter().map(|cell| (*cell).to_owned()).collect();
    out.push_str(&line(&head));
    out.push_str(&format!("|{}\n", "---|".repeat(head.len())));
    for row in rows {
        // A bar in a cell would begin a new one.
        let cells: Vec<String> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
        out.push_str(&line(&cells));
    }
    out.push('\n');
}

/// Makes one line that cannot become markup of the report's own.
///
/// Every text of an agent goes through here. A heading or a table that it forged could otherwise pass for the report's
/// own.
pub(crate) fn text(raw: &str) -> String {
    let mut out = String::new();
    for c in plain::clipped(raw, 600).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            // A backtick cannot be escaped inside a code span, so it is replaced.
            '`' => out.push('\''),
            '[' | ']' | '*' | '_' | '#' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}
