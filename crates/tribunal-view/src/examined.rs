//! The result of a review of something that exists: who judged it, what is in the way, what is new since the last time,
//! what was left out and why. There is a form for a terminal, one for a comment on a change, and one for programs.
//!
//! All counts are sums of the rows, so a headline cannot contradict the list below it.

use crate::facts::{CommandView, FindingView, beside_a_pass};
use crate::plain;
use crate::report::{table, text as marked};
use crate::review::LastWord;
use crate::style::{Mark, Style};
use crate::typed;
use crate::words::{and, count};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::{self, Write};
use tribunal_core::finding::{Fate, Reply, Severity};
use tribunal_core::run::Ending;

/// The number of rows of one kind that are shown; more are only counted.
const ROWS: usize = 200;

/// A reviewer or a tool that judged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Judge {
    /// The name of a tool or a reviewer: `clippy`, `testing-qa-verification-specialist`.
    pub name: String,
    /// Whether it is a tool or a command, and not a reviewer.
    pub is_check: bool,
    /// The verdict; empty if it never answered.
    #[serde(serialize_with = "typed::word_or_empty")]
    pub verdict: Option<LastWord>,
    /// What it looked at, in its own words.
    pub checked: String,
}

/// How a finding relates to the last review of the same thing.
///
/// A reader of a second review asks first what is new since the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Since {
    /// There was no earlier review to compare with.
    #[default]
    Unknown,
    /// The finding was not there before.
    New,
    /// The finding was there before.
    Persisting,
    /// The finding was there before and is gone now.
    Resolved,
    /// The finding is still there, but no longer on a line that changed.
    Elsewhere,
}

impl Since {
    /// The word that people read.
    pub fn word(self) -> &'static str {
        match self {
            Since::Unknown => "",
            Since::New => "new",
            Since::Persisting => "persisting",
            Since::Resolved => "resolved",
            Since::Elsewhere => "no longer on a changed line",
        }
    }
}

/// How a review of something that exists stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stands {
    /// It is not over, and nobody is asked.
    #[default]
    Running,
    /// A person is asked.
    Waits,
    /// It is over.
    Over(Ending),
}

impl fmt::Display for Stands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stands::Running => "running",
            Stands::Waits => "waits",
            Stands::Over(ending) => ending.word(),
        })
    }
}

/// One finding of the review.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The finding itself, with its fate.
    #[serde(flatten)]
    pub finding: FindingView,
    /// The rule of the tool that found it.
    pub rule: String,
    /// How it relates to the last review.
    pub since: Since,
    /// Whether it is in the way of a pass.
    pub in_the_way: bool,
}

/// Findings that are not on what is reviewed, and are therefore left out.
///
/// They are counted even if they are not listed. A review must not look more complete than it was.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Filtered {
    /// The tool or reviewer that found them.
    pub by: String,
    /// The number of such findings.
    pub count: u32,
    /// The first of them, if they were asked for.
    pub rows: Vec<String>,
}

/// A review of something that exists.
///
/// It is printed as JSON as it is, so the name of a field is a promise to programs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Examined {
    /// The id of the run.
    pub run: String,
    /// What was reviewed, like `main..HEAD`.
    pub target: String,
    /// `passed`, `shut`, `waits`, `stopped`, `cancelled` or `running`.
    #[serde(serialize_with = "typed::word")]
    pub end: Stands,
    /// Why the review ended this way.
    pub reason: String,
    /// The number of rounds of judging.
    pub rounds: usize,
    /// Everybody who judged, reviewers and tools.
    pub judges: Vec<Judge>,
    /// The earlier review that this one is compared with.
    pub previous: Option<String>,
    /// Every finding once, with those that an earlier review had.
    pub findings: Vec<Row>,
    /// Findings that were left out because they are not on a changed line.
    pub filtered: Vec<Filtered>,
    /// Remarks about the project's own build and test commands.
    pub commands: Vec<CommandView>,
    /// What every reader must know: who did not judge, what was not looked at.
    pub notes: Vec<String>,
    /// The command that takes the fixes, if the branch does not have them.
    pub take: Option<String>,
    /// What was done at the end of the review.
    pub done: Vec<String>,
    /// The commands to run next.
    pub next: Vec<String>,
    /// Whether deferred and settled findings are shown, too.
    #[serde(skip)]
    pub verbose: bool,
}

impl Examined {
    fn in_the_way(&self) -> impl Iterator<Item = &Row> {
        self.findings.iter().filter(|row| row.in_the_way)
    }

    /// Counts the findings that relate to the last review in this way.
    pub fn since(&self, since: Since) -> usize {
        self.findings.iter().filter(|row| row.since == since).count()
    }

    fn with_fate(&self, fate: &Fate) -> usize {
        self.findings.iter().filter(|row| row.finding.fate == *fate).count()
    }

    /// Says the result in a few words.
    ///
    /// What is in the way comes before everything else, and a pass says if no tests ran.
    fn headline(&self) -> String {
        let blockers = self.in_the_way().filter(|row| row.finding.severity == Severity::Blocker).count();
        let warnings = self.in_the_way().count() - blockers;
        let found = match (blockers, warnings) {
            (0, 0) => String::new(),
            (0, n) => count(n, "warning"),
            (n, 0) => count(n, "blocker"),
            (b, w) => format!("{} and {}", count(b, "blocker"), count(w, "warning")),
        };
        // Fixes are part of the headline, because they are what the command did to the work.
        let fixed = self.with_fate(&Fate::Fixed);
        let fixed = if fixed > 0 { format!(", {fixed} fixed") } else { String::new() };
        match (self.end, found.is_empty()) {
            // A pass is never bare if no tests ran: the remark about the commands is part of it.
            (Stands::Over(Ending::Passed), true) => format!("passed{fixed}{}", beside_a_pass(&self.commands)),
            (Stands::Waits, _) => format!("waits for you: {}", plain::line(&self.reason)),
            // Nothing is concluded about findings of a review that did not come to its end.
            (end @ (Stands::Running | Stands::Over(Ending::Cancelled | Ending::Stopped)), _) => {
                format!("{end}{fixed}")
            }
            // Nothing is in the way and it still did not pass; only the reason can explain that.
            (_, true) => format!("did not pass: {}", plain::line(&self.reason)),
            (_, false) => format!("{found} in the way{fixed}"),
        }
    }

    /// Says in one line how it relates to the last review; `None` if there was none.
    pub fn delta(&self) -> Option<String> {
        let previous = self.previous.as_ref()?;
        let mut parts = vec![
            format!("{} new", self.since(Since::New)),
            format!("{} persisting", self.since(Since::Persisting)),
            format!("{} resolved", self.since(Since::Resolved)),
        ];
        let elsewhere = self.since(Since::Elsewhere);
        if elsewhere > 0 {
            parts.push(format!("{elsewhere} no longer on a changed line"));
        }
        Some(format!("since {previous}: {}", parts.join(", ")))
    }

    /// Names findings that reviewers raised in a field whose owner did not, and what can be done about them; `None` if
    /// there are none.
    fn outside_a_field(&self) -> Option<String> {
        let filtered = self.findings.iter().filter(|row| row.finding.fate == Fate::Filtered);
        let ids: Vec<String> = filtered.map(|row| row.finding.id.to_string()).collect();
        (!ids.is_empty()).then(|| {
            format!(
                "filtered, not raised by the owner of its field: {} ({}). Leave it at that, look with --verbose, count it \
                 with --include-filtered, or run again with another owner in --panel",
                count(ids.len(), "finding"),
                ids.join(", ")
            )
        })
    }

    /// Lists who judged, with each verdict.
    fn judged_by(&self, checks: bool) -> Vec<String> {
        let judges = self.judges.iter().filter(|judge| judge.is_check == checks);
        let line = |judge: &Judge| match &judge.verdict {
            // A reviewer that never answered is named: its silence must not look like consent.
            None => format!("{} (no answer)", plain::line(&judge.name)),
            Some(verdict) => format!("{} ({verdict})", plain::line(&judge.name)),
        };
        judges.map(line).collect()
    }

    /// Selects the findings that are worth a line, the most severe first, file by file.
    ///
    /// Findings that an earlier review had and this one resolved are never listed: only their number is of interest.
    fn shown(&self) -> Vec<&Row> {
        let standing = |row: &&Row| {
            // A waived finding stays visible, so that a waiver cannot hide anything.
            row.in_the_way || matches!(row.finding.fate, Fate::Carried | Fate::Advisory | Fate::Waived(_))
        };
        // Resolved findings stay out even then: their number is in the line about the last review.
        let wanted = |row: &&Row| standing(row) || (self.verbose && row.since != Since::Resolved);
        let mut rows: Vec<&Row> = self.findings.iter().filter(wanted).collect();
        // Blocking findings first, then by place, so that a reader goes through each file once.
        rows.sort_by_cached_key(|row| (!row.in_the_way, place_key(&row.finding.place)));
        rows
    }
}

/// The number of lines shown of the output of a command that failed.
const OUTPUT_SHOWN: usize = 8;

/// Returns the end of a command's output if the finding is that the command fails. Such a finding has no place in a
/// file.
fn last_lines(row: &Row) -> Vec<String> {
    // A finding at a place is explained by the code there.
    if !row.finding.place.is_empty() || !row.in_the_way {
        return Vec::new();
    }
    let lines: Vec<&str> = row.finding.details.lines().filter(|line| !line.trim().is_empty()).collect();
    let from = lines.len().saturating_sub(OUTPUT_SHOWN);
    lines[from..].iter().map(|line| plain::clipped(line, 200)).collect()
}

/// Sorts by file, then by line as a number: as text, line 10 would come before line 9.
fn place_key(place: &str) -> (String, u64) {
    match place.rsplit_once(':') {
        Some((file, line)) => (file.to_owned(), line.parse().unwrap_or(0)),
        None => (place.to_owned(), 0),
    }
}

/// Writes the review for a terminal.
pub fn text(one: &Examined, style: Style) -> String {
    let mut out = String::new();
    let mark = match one.end {
        Stands::Over(Ending::Passed) => Mark::Complete,
        Stands::Waits => Mark::Warning,
        Stands::Running => Mark::Running,
        Stands::Over(_) => Mark::Failed,
    };
    let head = format!("Review of {}: {}", plain::line(&one.target), one.headline());
    let _ = writeln!(out, "{} {}", style.mark(mark), style.bold(&style.wrap(&head, "  ")));
    rows(&mut out, one, style);
    out.push('\n');
    for (title, names) in [("tools", one.judged_by(true)), ("reviewers", one.judged_by(false))] {
        if !names.is_empty() {
            let _ = writeln!(out, "  {}", style.wrap(&format!("{title}: {}", names.join(", ")), "    "));
        }
    }
    if let Some(delta) = one.delta() {
        let _ = writeln!(out, "  {delta}");
    }
    filtered(&mut out, one);
    if let Some(filtered) = one.outside_a_field() {
        let _ = writeln!(out, "  {}", style.wrap(&filtered, "    "));
    }
    let deferred = one.with_fate(&Fate::Deferred);
    if deferred > 0 && !one.verbose {
        let _ = writeln!(out, "  deferred: {deferred} of which nobody is sure (--verbose shows them)");
    }
    let commands: Vec<String> = one.commands.iter().map(CommandView::line).collect();
    for note in commands.iter().chain(&one.notes) {
        let _ = writeln!(out, "  {} {}", style.mark(Mark::Warning), style.wrap(&plain::line(note), "    "));
    }
    for done in &one.done {
        let _ = writeln!(out, "  {}", plain::line(done));
    }
    if let Some(take) = &one.take {
        let _ = writeln!(out, "  to take the fixes: {take}");
    }
    for next in &one.next {
        let _ = writeln!(out, "  next: {next}");
    }
    out
}

fn rows(out: &mut String, one: &Examined, style: Style) {
    let shown = one.shown();
    let mut file = None;
    for row in shown.iter().take(ROWS) {
        let (name, line) = place_key(&row.finding.place);
        if file.as_ref() != Some(&name) {
            let title = if name.is_empty() { "(no place)" } else { name.as_str() };
            let _ = writeln!(out, "\n  {}", style.bold(title));
            file = Some(name);
        }
        // A finding about a whole file has no line.
        let line = if line > 0 { line.to_string() } else { "-".to_owned() };
        let mut tags: Vec<&str> = Vec::new();
        // A reader knows a tool by its name and needs no prefix.
        let by: Vec<&str> = row.finding.by.iter().map(|by| by.strip_prefix("check ").unwrap_or(by)).collect();
        let by = by.join(", ");
        let id = row.finding.id.to_string();
        for tag in [row.rule.as_str(), by.as_str(), row.since.word(), &id] {
            if !tag.is_empty() {
                tags.push(tag);
            }
        }
        let fate = match &row.finding.fate {
            // These are the rule in this list; only other fates are worth a word.
            Fate::Open | Fate::Unresolved | Fate::Advisory => String::new(),
            _ => format!(" ({})", row.finding.fate_words()),
        };
        let said = format!("{}{fate}: {}", row.finding.severity, plain::clipped(&row.finding.claim, 300));
        let _ = writeln!(
            out,
            "  {line:>6}  {} {}",
            style.wrap(&said, "          "),
            style.faint(&format!("({})", tags.join(", ")))
        );
        if !row.finding.suggestion.is_empty() {
            let todo = format!("→ {}", plain::clipped(&row.finding.suggestion, 300));
            let _ = writeln!(out, "          {}", style.wrap(&todo, "            "));
        }
        for line in last_lines(row) {
            let _ = writeln!(out, "          | {}", style.fit(&line));
        }
        for more in row.finding.more() {
            let _ = writeln!(out, "          {}", style.wrap(&plain::clipped(&more, 600), "            "));
        }
        // The builder's reply matters only where the finding is still in the way in spite of it.
        if let Some(reply) = row.finding.reply.as_ref().filter(|_| row.in_the_way) {
            let said = match reply {
                // It is still in the way, so this is a claim and not a fact.
                Reply::Fixed => "says that it is fixed".to_owned(),
                reply => plain::clipped(&typed::reply_words(reply), 300),
            };
            let _ = writeln!(out, "          fixer: {said}");
        }
    }
    if shown.len() > ROWS {
        let _ = writeln!(out, "\n  … and {} more; `tribunal report` has them all", shown.len() - ROWS);
    }
}

fn filtered(out: &mut String, one: &Examined) {
    let total: u32 = one.filtered.iter().map(|filtered| filtered.count).sum();
    if total == 0 {
        return;
    }
    // Sorted by name, so that the sentence does not depend on who ended first.
    let by: BTreeMap<&str, u32> =
        one.filtered.iter().map(|filtered| (filtered.by.as_str(), filtered.count)).collect();
    let by: Vec<String> = by.iter().filter(|(_, n)| **n > 0).map(|(by, n)| format!("{n} of {by}")).collect();
    // The hint is left out where the reader has just used the option.
    let listed = one.filtered.iter().any(|filtered| !filtered.rows.is_empty());
    let hint = if listed { "" } else { " (--include-filtered shows them)" };
    let _ = writeln!(out, "  filtered, on lines that did not change: {}{hint}", and(&by));
    for row in one.filtered.iter().flat_map(|filtered| &filtered.rows) {
        let _ = writeln!(out, "    {}", plain::line(row));
    }
}

/// Writes the review as markdown, for a comment on a change.
///
/// Texts of agents are escaped here, because the host of the comment renders markup.
pub fn markdown(one: &Examined) -> String {
    let mut out = format!("# Review of {}: {}\n\n", marked(&one.target), marked(&one.headline()));
    // A comment is read without the terminal's output, so the reason stands in it.
    if !one.reason.is_empty() {
        let _ = writeln!(out, "{}\n", marked(&one.reason));
    }
    if let Some(delta) = one.delta() {
        let _ = writeln!(out, "{}\n", marked(&delta));
    }
    let shown = one.shown();
    if !shown.is_empty() {
        let cells = |row: &&Row| {
            let by = row.finding.by.join(", ");
            vec![
                row.finding.id.to_string(),
                row.finding.severity.to_string(),
                marked(&row.finding.place),
                marked(
                    &std::iter::once(row.finding.claim.clone())
                        .chain(row.finding.more())
                        .collect::<Vec<_>>()
                        .join("; "),
                ),
                marked(&format!("{} {}", by, row.rule)),
                row.since.word().to_owned(),
            ]
        };
        let lines: Vec<Vec<String>> = shown.iter().take(ROWS).map(cells).collect();
        table(&mut out, &["Id", "Severity", "Place", "Finding", "By", "Since"], &lines);
        if shown.len() > ROWS {
            let _ = writeln!(out, "and {} more\n", shown.len() - ROWS);
        }
    }
    for (title, names) in [("Tools", one.judged_by(true)), ("Reviewers", one.judged_by(false))] {
        if !names.is_empty() {
            let _ = writeln!(out, "**{title}**: {}\n", marked(&names.join(", ")));
        }
    }
    let total: u32 = one.filtered.iter().map(|filtered| filtered.count).sum();
    if total > 0 {
        let _ = writeln!(out, "Filtered, on lines that did not change: {total}\n");
        for row in one.filtered.iter().flat_map(|filtered| &filtered.rows) {
            let _ = writeln!(out, "- {}", marked(row));
        }
    }
    if let Some(filtered) = one.outside_a_field() {
        let _ = writeln!(out, "{}\n", marked(&filtered));
    }
    let commands: Vec<String> = one.commands.iter().map(CommandView::line).collect();
    for note in commands.iter().chain(&one.notes) {
        let _ = writeln!(out, "- ⚠ {}", marked(note));
    }
    if let Some(take) = &one.take {
        // A backtick would end the code span, and the command could then be read as markup.
        let _ = writeln!(out, "\nTo take the fixes: `{}`", take.replace('`', "'"));
    }
    out
}
