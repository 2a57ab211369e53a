//! What became of the findings of one report in a later one, as JSON and as a table.
//!
//! Nothing is counted twice and nothing is left out: every index of both reports is in exactly one place.
//! `tribunal-findings` compares the reports; this file only shows the comparison.

use crate::intake::place;
use crate::style::{Mark, Style};
use crate::{plain, words};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use tribunal_core::finding::Claim;
use tribunal_findings::Report;
use tribunal_findings::track::Comparison;
use tribunal_findings::track::compare::{Fresh, Gone, severity_word};

/// The number of rows of one kind that the table shows; the rest are counted.
const SHOWN: usize = 50;

/// The JSON that `tribunal delta --json` prints. Programs read it, so a field's name is a promise.
#[derive(Debug, Serialize)]
pub struct DeltaView {
    pairs: Vec<PairView>,
    before: Vec<Left>,
    after: Vec<Left>,
}

#[derive(Debug, Serialize)]
struct PairView {
    before: usize,
    after: usize,
    class: &'static str,
    score: f64,
}

#[derive(Debug, Serialize)]
struct Left {
    index: usize,
    class: &'static str,
}

impl DeltaView {
    /// Makes the view of a comparison.
    pub fn of(found: &Comparison) -> DeltaView {
        let pair = |(pair, went): &(tribunal_findings::track::pair::Pair, _)| PairView {
            before: pair.before,
            after: pair.after,
            class: severity_word(*went),
            score: (pair.score * 10_000.0).round() / 10_000.0,
        };
        DeltaView {
            pairs: found.pairs.iter().map(pair).collect(),
            before: found
                .gone
                .iter()
                .map(|(index, gone)| Left { index: *index, class: gone.word() })
                .collect(),
            after: found
                .fresh
                .iter()
                .map(|(index, fresh)| Left { index: *index, class: fresh.word() })
                .collect(),
        }
    }
}

/// Writes the comparison for people: new findings first, then changed ones, then those that are gone or were not
/// repeated.
///
/// Unchanged findings are only counted: whoever compares two reports wants to see what differs.
pub fn table(before: &Report, after: &Report, found: &Comparison, style: Style) -> String {
    let (old, new): (BTreeMap<usize, &Claim>, BTreeMap<usize, &Claim>) =
        (before.indexed().collect(), after.indexed().collect());
    let mut out = String::new();
    let _ = writeln!(out, "{}", style.bold(&headline(before, after, found)));
    let fresh =
        |kind: Fresh| found.fresh.iter().filter(move |(_, f)| *f == kind).map(|(n, _)| new.get(n).copied());
    for (kind, title) in [
        // Findings that the change itself caused come first.
        (Fresh::FixInduced, "New, on lines the change added"),
        (Fresh::Reopened, "Back again, though it was called gone"),
        (Fresh::New, "New"),
        (Fresh::Late, "New to the report, on lines that were there before"),
    ] {
        section(&mut out, title, Mark::Failed, fresh(kind).flatten().map(line), style);
    }
    for (word, title) in [("upgraded", "More severe now"), ("downgraded", "Less severe now")] {
        let rows =
            found.pairs.iter().filter(|(_, went)| severity_word(*went) == word).filter_map(|(pair, _)| {
                let (old, new) = (old.get(&pair.before)?, new.get(&pair.after)?);
                Some(format!("{} (was {})", line(new), old.severity))
            });
        section(&mut out, title, Mark::Warning, rows, style);
    }
    let gone =
        |kind: Gone| found.gone.iter().filter(move |(_, g)| *g == kind).map(|(n, _)| old.get(n).copied());
    section(&mut out, "Resolved", Mark::Complete, gone(Gone::Resolved).flatten().map(line), style);
    // A section of its own, apart from "Resolved": that nobody repeats a finding does not prove that it is gone.
    let title = "Not reported again, though nothing shows that it is gone";
    section(&mut out, title, Mark::Skipped, gone(Gone::NotReported).flatten().map(line), style);
    out
}

fn headline(before: &Report, after: &Report, found: &Comparison) -> String {
    let unchanged = found.pairs.iter().filter(|(_, went)| went.is_eq()).count();
    let resolved = found.gone.iter().filter(|(_, gone)| *gone == Gone::Resolved).count();
    let silent = found.gone.len() - resolved;
    format!(
        "{} before, {} after: {} new, {} resolved, {unchanged} unchanged, {} with another severity, {silent} not reported",
        words::count(before.claims.len(), "finding"),
        after.claims.len(),
        found.fresh.len(),
        resolved,
        found.pairs.len() - unchanged,
    )
}

fn section(out: &mut String, title: &str, mark: Mark, rows: impl Iterator<Item = String>, style: Style) {
    let rows: Vec<String> = rows.collect();
    if rows.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{title} ({})", rows.len());
    for row in rows.iter().take(SHOWN) {
        // Four columns stand before the text: the indent, the mark and a space.
        let narrow = Style { width: style.width.saturating_sub(4), ..style };
        let _ = writeln!(out, "  {} {}", style.mark(mark), narrow.wrap(row, "    "));
    }
    if rows.len() > SHOWN {
        let _ = writeln!(out, "    … and {} more (--json lists all)", rows.len() - SHOWN);
    }
}

/// Writes a finding as one line: severity, place, rule and claim.
fn line(claim: &Claim) -> String {
    let place = place(claim);
    let rule =
        claim.rule.as_deref().map(|rule| format!(" {}:", plain::clipped(rule, 60))).unwrap_or_default();
    let place = if place.is_empty() { String::new() } else { format!(" {place}") };
    format!("[{}]{place}{rule} {}", claim.severity, plain::clipped(&claim.claim, 300))
}
