//! `NN-REVIEW.md`: how the review of a phase ended, for a reader who was not there: what was wrong, what was done,
//! what is open, what to do next. Rendered from the ledger; counts are sums of the details below them, never kept.

use crate::bars::{Bar, bars};
use crate::facts::FindingView;
use crate::report::{table, text};
use crate::style::Style;
use crate::words::{self, and, count};
use std::fmt::Write;
use tribunal_core::finding::Severity;
use tribunal_core::ledger::Mark;
use tribunal_findings::CycleDelta;
use tribunal_findings::delta::Class;

/// How the review ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Everything that must be fixed is.
    Passed,
    /// The rounds are spent, or only a person can decide.
    Escalated,
    /// Rounds went by and nothing changed.
    Stale,
}

/// One round of the review.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Round {
    /// Its delta against the round before; empty in the first.
    pub delta: CycleDelta,
    /// Open blockers, warnings and suggestions after it.
    pub open: [usize; 3],
    /// How it stood, for the picture.
    pub bar: Bar,
}

/// One finding with its story.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Story {
    /// The finding.
    pub finding: FindingView,
    /// The round it was settled in.
    pub settled_in: Option<u32>,
    /// What was tried, round by round, in the makers' words.
    pub tried: Vec<String>,
    /// Why it is not settled.
    pub why: String,
}

/// What one reviewer came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Word {
    /// Who.
    pub who: String,
    /// The last verdict.
    pub verdict: String,
    /// What was checked, in the reviewer's words.
    pub checked: String,
}

/// Everything the document says.
#[derive(Clone, Debug, PartialEq)]
pub struct Review {
    /// `01`.
    pub phase: String,
    /// Its name.
    pub name: String,
    /// How it ended.
    pub end: End,
    /// Why it ended so, as a sentence.
    pub reason: String,
    /// When, in milliseconds since 1970.
    pub at: u64,
    /// Rounds at most.
    pub rounds_max: u32,
    /// Its rounds.
    pub rounds: Vec<Round>,
    /// Every finding once.
    pub stories: Vec<Story>,
    /// What each reviewer came to.
    pub words: Vec<Word>,
    /// What to do next, as commands or sentences.
    pub next: Vec<String>,
}

impl Story {
    fn is_settled(&self) -> bool {
        matches!(self.finding.fate.as_str(), "fixed" | "refuted" | "waived" | "superseded" | "duplicate")
    }

    fn must_fix(&self) -> bool {
        matches!(self.finding.severity.as_str(), "blocker" | "warning")
    }

    /// Open or unresolved, and in the way.
    fn is_in_the_way(&self) -> bool {
        self.must_fix() && matches!(self.finding.fate.as_str(), "open" | "unresolved")
    }
}

impl Review {
    fn in_the_way(&self) -> Vec<&Story> {
        self.stories.iter().filter(|story| story.is_in_the_way()).collect()
    }

    fn of<'a>(&'a self, severity: &'a str) -> impl Iterator<Item = &'a Story> {
        self.stories.iter().filter(move |story| story.finding.severity == severity)
    }
}

/// The document.
pub fn markdown(review: &Review) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "# Phase {}: {} — Review\n", text(&review.phase), text(&review.name));
    head(&mut out, review);
    summary(&mut out, review);
    match review.end {
        End::Passed => passed(&mut out, review),
        End::Escalated | End::Stale => not_passed(&mut out, review),
    }
    verdicts(&mut out, review);
    suggestions(&mut out, review);
    cycle_delta(&mut out, review);
    list(&mut out, "What to do next", &review.next);
    if review.end != End::Passed {
        escalations(&mut out, review);
    }
    out
}

fn head(out: &mut String, review: &Review) {
    let word = match review.end {
        End::Passed => "PASSED",
        End::Escalated => "ESCALATED",
        End::Stale => "STALE LOOP STOPPED",
    };
    let _ = writeln!(out, "## Result: {word}\n");
    let _ = writeln!(out, "{}\n", text(&review.reason));
    let _ = writeln!(out, "- **Rounds:** {} of {}", review.rounds.len(), review.rounds_max);
    let who: Vec<String> = review.words.iter().map(|word| text(&word.who)).collect();
    let _ = writeln!(out, "- **Reviewers:** {}", if who.is_empty() { "none".to_owned() } else { and(&who) });
    if review.end != End::Passed {
        let open = review.in_the_way();
        let blockers = open.iter().filter(|story| story.finding.severity == "blocker").count();
        let _ = writeln!(
            out,
            "- **Still open:** {} and {}",
            count(blockers, "blocker"),
            count(open.len() - blockers, "warning")
        );
    }
    let _ = writeln!(out, "- **Ended:** {}\n", words::timestamp(review.at));
}

fn summary(out: &mut String, review: &Review) {
    out.push_str("## Findings in numbers\n\n");
    let settled = |severity: &str| review.of(severity).filter(|story| story.is_settled()).count();
    let row = |name: &str, n: usize| vec![name.to_owned(), n.to_string()];
    let rows = [
        row("raised in all", review.stories.len()),
        row("blockers", review.of("blocker").count()),
        row("blockers settled", settled("blocker")),
        row("warnings", review.of("warning").count()),
        row("warnings settled", settled("warning")),
        row("suggestions", review.of("suggestion").count()),
    ];
    table(out, &["", "count"], &rows);
    if review.rounds.len() > 1 {
        let rounds: Vec<Bar> = review.rounds.iter().map(|round| round.bar).collect();
        let _ = writeln!(out, "```text\n{}```\n", bars(&rounds, Style::PLAIN));
    }
}

fn passed(out: &mut String, review: &Review) {
    out.push_str("## What was wrong, and what was done\n\n");
    let rows: Vec<Vec<String>> =
        review.stories.iter().filter(|story| story.must_fix()).map(settled_row).collect();
    if rows.is_empty() {
        out.push_str("Nothing that had to be fixed was found.\n\n");
        return;
    }
    table(out, &["finding", "severity", "place", "what was wrong", "what was done", "round"], &rows);
}

fn settled_row(story: &Story) -> Vec<String> {
    let finding = &story.finding;
    let done = match (finding.fate.as_str(), story.tried.last()) {
        (fate, Some(tried)) => format!("{fate} ({})", text(tried)),
        (fate, None) => format!("{fate} {}", text(&finding.fate_note)).trim_end().to_owned(),
    };
    let round = story.settled_in.map(|round| round.to_string()).unwrap_or_default();
    vec![
        finding.id.clone(),
        finding.severity.clone(),
        text(&finding.place),
        text(&finding.claim),
        done,
        round,
    ]
}

fn not_passed(out: &mut String, review: &Review) {
    let (title, each) = match review.end {
        End::Stale => ("Why the loop stalled", "unchanged"),
        _ => ("What is still open", "open"),
    };
    let _ = writeln!(out, "## {title}\n");
    let open = review.in_the_way();
    if open.is_empty() {
        out.push_str("No finding that must be fixed is open.\n\n");
    }
    for story in open {
        one(out, story, each);
    }
    let done: Vec<Vec<String>> = review
        .stories
        .iter()
        .filter(|story| story.must_fix() && story.is_settled())
        .map(settled_row)
        .collect();
    if !done.is_empty() {
        out.push_str("## What was settled before that\n\n");
        table(out, &["finding", "severity", "place", "what was wrong", "what was done", "round"], &done);
    }
}

fn one(out: &mut String, story: &Story, each: &str) {
    let finding = &story.finding;
    let _ = writeln!(out, "### {} ({each})\n", finding.id);
    let _ = writeln!(out, "- **Where:** {}", text(&finding.place));
    let _ = writeln!(
        out,
        "- **Severity:** {}, raised by {} in round {}",
        finding.severity,
        text(&and(&finding.by)),
        finding.first_round
    );
    let _ = writeln!(out, "- **What is wrong:** {}", text(&finding.claim));
    if !finding.suggestion.is_empty() {
        let _ = writeln!(out, "- **What the reviewer asks for:** {}", text(&finding.suggestion));
    }
    if story.tried.is_empty() {
        out.push_str("- **What was tried:** nothing yet\n");
    } else {
        out.push_str("- **What was tried:**\n");
        story.tried.iter().for_each(|tried| {
            let _ = writeln!(out, "  - {}", text(tried));
        });
    }
    if !story.why.is_empty() {
        let _ = writeln!(out, "- **Why it is not settled:** {}", text(&story.why));
    }
    out.push('\n');
}

fn verdicts(out: &mut String, review: &Review) {
    if review.words.is_empty() {
        return;
    }
    out.push_str("## What the reviewers say\n\n");
    for word in &review.words {
        let checked = if word.checked.is_empty() {
            String::new()
        } else {
            format!(". Checked: {}", text(&word.checked))
        };
        let _ = writeln!(out, "- **{}:** {}{checked}", text(&word.who), text(&word.verdict));
    }
    out.push('\n');
}

fn suggestions(out: &mut String, review: &Review) {
    let rest: Vec<String> = review
        .stories
        .iter()
        .filter(|story| !story.is_settled() && !story.is_in_the_way())
        .map(|story| format!("{} ({})", story.finding.line(), story.finding.fate))
        .collect();
    list(out, "Noted, not required", &rest);
}

fn cycle_delta(out: &mut String, review: &Review) {
    if review.rounds.len() < 2 {
        return;
    }
    out.push_str("## What changed from round to round\n\n");
    progression(out, review);
    let mut resolved = Vec::new();
    let mut new = Vec::new();
    let mut same = Vec::new();
    let mut changed = Vec::new();
    for (n, round) in review.rounds.iter().enumerate().skip(1) {
        for row in &round.delta.rows {
            let name = named(review, &row.id.to_string());
            let cell = |extra: &[String]| [name.as_slice(), extra].concat();
            let in_round = (n + 1).to_string();
            let word = |severity: Option<Severity>| severity.map_or("", Severity::word).to_owned();
            match row.class {
                Class::Resolved => resolved.push(cell(&[in_round])),
                Class::New(mark) => new.push(cell(&[in_round, word(row.to), mark_words(mark).to_owned()])),
                Class::Unchanged => same.push(cell(&[in_round, word(row.to), String::new()])),
                Class::NotReported => same.push(cell(&[in_round, word(row.to), "not confirmed".to_owned()])),
                Class::Downgraded | Class::Upgraded => {
                    changed.push(cell(&[in_round, word(row.from), word(row.to)]))
                }
            }
        }
    }
    for (title, head, rows) in [
        ("Resolved", &["finding", "place", "in round"][..], resolved),
        ("New", &["finding", "place", "in round", "severity", "mark"][..], new),
        ("Unchanged", &["finding", "place", "in round", "severity", ""][..], same),
        ("Severity changed", &["finding", "place", "in round", "from", "to"][..], changed),
    ] {
        if !rows.is_empty() {
            let _ = writeln!(out, "### {title}\n");
            table(out, head, &rows);
        }
    }
}

fn progression(out: &mut String, review: &Review) {
    let rounds: Vec<String> = (1..=review.rounds.len()).map(|n| format!("round {n}")).collect();
    let mut head = vec!["open after"];
    head.extend(rounds.iter().map(String::as_str));
    let names = ["blockers", "warnings", "suggestions"];
    let mut rows: Vec<Vec<String>> = names
        .iter()
        .enumerate()
        .map(|(n, name)| {
            let counts = review.rounds.iter().map(|round| round.open[n].to_string());
            std::iter::once((*name).to_owned()).chain(counts).collect()
        })
        .collect();
    let sums = review.rounds.iter().map(|round| round.open.iter().sum::<usize>().to_string());
    rows.push(std::iter::once("all".to_owned()).chain(sums).collect());
    table(out, &head, &rows);
}

fn named(review: &Review, id: &str) -> Vec<String> {
    let found = review.stories.iter().find(|story| story.finding.id == id);
    let claim = found.map(|story| crate::plain::clipped(&story.finding.claim, 80)).unwrap_or_default();
    let place = found.map(|story| text(&story.finding.place)).unwrap_or_default();
    vec![format!("{id} {}", text(&claim)), place]
}

fn mark_words(mark: Mark) -> &'static str {
    match mark {
        Mark::New | Mark::Persistent => "",
        Mark::Reopened => "was settled before",
        Mark::FixInduced => "on lines the fix added",
        Mark::Late => "on lines nobody had touched",
    }
}

fn list(out: &mut String, title: &str, items: &[String]) {
    if items.is_empty() {
        return;
    }
    let _ = writeln!(out, "## {title}\n");
    items.iter().for_each(|item| {
        let _ = writeln!(out, "- {}", text(item));
    });
    out.push('\n');
}

/// Blocks that programs read: one per finding that is in the way.
fn escalations(out: &mut String, review: &Review) {
    for story in review.in_the_way() {
        let finding = &story.finding;
        let rounds = count(review.rounds.len(), "round");
        let tries = match story.tried.len() {
            0 => "No fix was tried yet".to_owned(),
            n => format!("{} to fix it did not settle it", count(n, "attempt")),
        };
        let how = match review.end {
            End::Stale => {
                format!("{tries}; the loop was stopped after {rounds} because nothing changed any more")
            }
            _ => format!("{tries}; the review ran {rounds}"),
        };
        let file = finding.place.split(':').next().unwrap_or_default();
        let _ = writeln!(out, "<escalation>");
        let _ = writeln!(out, "severity: {}", finding.severity);
        out.push_str("type: quality\n");
        let _ =
            writeln!(out, "decision: {} in {}: {}", finding.id, yaml(&finding.place), yaml(&finding.claim));
        let why = if story.why.is_empty() { String::new() } else { format!(" {}", yaml(&story.why)) };
        let _ = writeln!(out, "context: {how}.{why}");
        out.push_str("affected_files:\n");
        if !file.is_empty() {
            let _ = writeln!(out, "  - {}", yaml(file));
        }
        out.push_str("</escalation>\n\n");
    }
}

/// One line that cannot end the block it stands in.
fn yaml(raw: &str) -> String {
    crate::plain::clipped(raw, 400).replace('<', "(").replace('>', ")")
}
