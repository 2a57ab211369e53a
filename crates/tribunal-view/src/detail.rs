//! One finding or one loop in full, for `tribunal show`.
//!
//! Other views shorten their texts; this one has the rest.

use crate::facts::{FindingView, LoopView, RunView};
use crate::style::Style;
use crate::{plain, spoken, typed, words};
use std::collections::BTreeSet;
use std::fmt::Write;
use tribunal_core::ids::FindingId;

/// Writes everything that is known about a finding.
pub fn finding(finding: &FindingView, style: Style) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{}", style.bold(&style.wrap(&finding.line(), "  ")));
    let rows = [
        ("state", finding.fate_words()),
        ("raised by", finding.by.join(", ")),
        ("first seen", format!("round {} of {}", finding.first_round, finding.of)),
        ("origin", finding.provenance_words()),
        ("confidence", finding.confidence.to_string()),
        ("suggestion", finding.suggestion.clone()),
        ("builder", finding.reply.as_ref().map(typed::reply_words).unwrap_or_default()),
    ];
    for (name, value) in rows {
        // A row without a value is left out, because an empty label would raise a question without an answer.
        if !value.trim().is_empty() {
            let _ = writeln!(
                out,
                "  {} {}",
                style.faint(&format!("{name:<11}")),
                style.wrap(value.trim(), "              ")
            );
        }
    }
    for identity in &finding.identities {
        let _ = writeln!(
            out,
            "  {} {}",
            style.faint("reviewer   "),
            style.wrap(&identity.line(), "              ")
        );
    }
    for more in finding.more() {
        let _ = writeln!(out, "  {}", style.wrap(&more, "              "));
    }
    // Said only where the way of a finding is not plain from its state.
    if !finding.remarks.why.is_empty() {
        let _ = writeln!(
            out,
            "  {} {}",
            style.faint("why        "),
            style.wrap(&finding.remarks.why, "              ")
        );
    }
    if !finding.details.trim().is_empty() {
        out.push('\n');
        // Details may be the output of a whole test run, so even this view has a bound.
        for line in plain::capped(&finding.details, 8_000).lines() {
            let _ = writeln!(out, "  {line}");
        }
    }
    out
}

/// Writes everything that is known about a loop.
pub fn one_loop(review_loop: &LoopView, run: &RunView, style: Style) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{}", style.bold(&format!("{}: {}", review_loop.id, review_loop.stands())));
    let mut facts = format!(
        "{} gate, round {} of {}, {}",
        review_loop.of,
        review_loop.round,
        review_loop.rounds_max,
        words::duration(review_loop.ms)
    );
    if review_loop.iterations > 0 {
        let _ = write!(facts, ", {} of the builder", words::count(review_loop.iterations as usize, "run"));
    }
    if review_loop.cost_micros > 0 {
        let _ = write!(facts, ", {}", words::money(review_loop.cost_micros));
    }
    let _ = writeln!(out, "  {}", style.wrap(&facts, "  "));
    if let Some(revision) = &review_loop.revision {
        let _ = writeln!(out, "  revision {}", plain::line(revision));
    }
    for round in &review_loop.rounds {
        let _ = writeln!(out, "  round {}: {}", round.round, round.ruling_words());
        for said in &round.said {
            let _ = writeln!(out, "    {}", style.wrap(&plain::line(said), "      "));
        }
    }
    let held: BTreeSet<FindingId> = review_loop.findings.iter().copied().collect();
    let held: Vec<&FindingView> = run.findings.iter().filter(|f| held.contains(&f.id)).collect();
    if !held.is_empty() {
        let _ = writeln!(out, "  findings");
        for finding in held {
            let _ = writeln!(
                out,
                "    {}",
                style.wrap(&format!("{}: {}", finding.line(), finding.fate), "      ")
            );
        }
    }
    if !review_loop.spoken.is_empty() {
        let _ = writeln!(out, "  reviewers in their own words");
        // Reviewers' words are shown whole here; summaries of a run refer to this view for them.
        spoken::text(&mut out, &review_loop.spoken, usize::MAX, style);
    }
    out
}
