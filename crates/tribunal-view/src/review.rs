//! How the review of a phase ended, for a reader who was not there: what was wrong, what was done, what is open, and
//! what to do next.
//!
//! There is one set of facts for every form: `NN-REVIEW.md` here, the terminal in `account`, the page in `html`. Counts
//! are sums of the details below them and are never stored, so they cannot contradict them.

use crate::bars::{Bar, bars};
use crate::facts::{FindingView, QuestionView, fates};
use crate::plain;
use crate::report::{table, text};
use crate::spoken::{self, Identity, Spoken};
use crate::style::Style;
use crate::typed::{self, outcome_words};
use crate::who::Who;
use crate::words::{and, count};
use serde::{Serialize, Serializer};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};
use tribunal_core::finding::{Fate, Severity, Source, Verdict};
use tribunal_core::ids::FindingId;
use tribunal_core::ledger::{Entry, Mark};
use tribunal_core::panel::Ruling;
use tribunal_core::review_loop::Outcome;
use tribunal_core::run::Ending;
use tribunal_findings::delta::{Class, Row};
use tribunal_findings::{CycleDelta, Excerpt};

/// How the review ended.
///
/// The run has a finer word for its ending; `ended` maps it, and tells stale loops apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// Everything that must be fixed is fixed, or a named person accepted it.
    Passed,
    /// The rounds are spent, or only a person can decide.
    Escalated,
    /// Rounds went by and nothing changed.
    Stale,
    /// The run was called off.
    Cancelled,
    /// The review is not over.
    Running,
}

/// One round of a loop.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Round {
    /// The difference to the round before; empty in the first round.
    #[serde(serialize_with = "delta_json")]
    pub delta: CycleDelta,
    /// The number of open blockers, warnings and suggestions after it.
    pub open: [usize; 3],
    /// How it stood, for the picture.
    #[serde(flatten)]
    pub bar: Bar,
    /// The ruling that it added up to.
    #[serde(serialize_with = "typed::ruling")]
    pub ruling: Option<Ruling>,
}

/// One finding with its story.
///
/// Reasons and advice are there only for a finding that is in the way; code and fix only if they were recorded.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Story {
    /// The finding itself, with its last state.
    #[serde(flatten)]
    pub finding: FindingView,
    /// The round in which it was settled.
    pub settled_in: Option<u32>,
    /// What was tried, round by round, in the builders' words.
    pub tried: Vec<String>,
    /// Why it is not settled.
    pub why: String,
    /// What a person could do about it.
    pub advice: String,
    /// The code it is about, as it was when the finding was first seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    /// The part of the fix that it went away with, as a patch.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub fix: String,
    /// What editor agents said about it, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

/// Some lines of a file, as they were recorded with a finding.
///
/// It was recorded with the finding, so a page needs neither git nor the worktree to show it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Code {
    /// The number of the first line.
    pub from: u32,
    /// The lines, harmless to a terminal: invisible characters stand as marks.
    pub text: String,
}

impl Code {
    /// Takes lines that were kept with a finding.
    pub fn of(excerpt: &Excerpt) -> Code {
        Code { from: excerpt.from, text: plain::visible(excerpt.text.as_bytes()) }
    }

    /// Writes each line behind its number.
    pub fn numbered(&self) -> String {
        let lines = self.text.split('\n').enumerate();
        let line =
            |(at, line): (usize, &str)| format!("{:>5}  {line}\n", at.saturating_add(self.from as usize));
        lines.map(line).collect()
    }
}

/// What a reviewer or a check said last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum LastWord {
    /// A reviewer has no verdict: it was not shown everything.
    #[default]
    Nothing,
    /// A check found nothing.
    Passed,
    /// A check found something.
    Failed,
    /// A check did not run, and that stopped nothing.
    DidNotRun,
    /// A reviewer's verdict.
    Verdict(Verdict),
    /// A reviewer rejects, and says that patching is not enough.
    Fundamental,
    /// A command of the project neither simply passed nor simply failed; this says how it ended.
    Command(String),
}

impl fmt::Display for LastWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LastWord::Nothing => f.write_str("none"),
            LastWord::Passed => f.write_str("passed"),
            LastWord::Failed => f.write_str("failed"),
            LastWord::DidNotRun => f.write_str("did not run"),
            LastWord::Verdict(verdict) => write!(f, "{verdict}"),
            LastWord::Fundamental => f.write_str("reject, patching will not do"),
            LastWord::Command(how) => f.write_str(how),
        }
    }
}

/// The last word of one reviewer or check.
///
/// Claims and records stand apart: `checked` is what a reviewer says, `ran` is what Tribunal did for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Word {
    /// The name of the reviewer or check.
    pub who: String,
    /// The last verdict it gave.
    #[serde(serialize_with = "typed::word")]
    pub verdict: LastWord,
    /// What was checked, in the reviewer's words. It is a claim.
    pub checked: String,
    /// How much of the change a reviewer was shown, in words; empty for a check.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub shown: String,
    /// What Tribunal ran for it, and the results. These are on record.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ran: Vec<String>,
    /// Whether it is a check, and not a reviewer.
    pub is_check: bool,
    /// The program and model behind the reviewer, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity: Option<Identity>,
}

/// One loop of the review.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Part {
    /// The id of the loop, like `01-02/task-1.3`.
    pub id: String,
    /// What it judged, in words.
    pub subject: String,
    /// How it ended; empty while it goes on.
    #[serde(serialize_with = "typed::outcome_or_empty")]
    pub outcome: Option<Outcome>,
    /// Why it waits for a person; empty if it does not.
    pub waits: String,
    /// The largest number of rounds.
    pub rounds_max: u32,
    /// The rounds that were judged so far.
    pub rounds: Vec<Round>,
    /// The last word of each check and reviewer.
    pub words: Vec<Word>,
    /// The reviewers in their own words, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub spoken: Vec<Spoken>,
}

/// Everything that a report of findings says.
///
/// It is filled from the journal once, and every form is a function of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Review {
    /// The id of the run.
    pub run: String,
    /// The number of the phase, like `01`; empty if it builds no phase.
    pub phase: String,
    /// The name of the phase, or what was made or judged.
    pub name: String,
    /// How the review ended, or that it goes on.
    pub end: End,
    /// Why it ended this way, in sentences.
    pub reason: String,
    /// When it ended or was asked for, in milliseconds since 1970.
    pub at: u64,
    /// The loops, in the order in which they were opened.
    pub loops: Vec<Part>,
    /// Every finding once, with its story.
    pub findings: Vec<Story>,
    /// What every report must say: gates that are off, what nobody reviewed.
    pub notes: Vec<String>,
    /// Who built and who judged.
    pub who: Who,
    /// What people decided, in order.
    pub decisions: Vec<String>,
    /// What to do next, as commands or sentences.
    pub next: Vec<String>,
}

impl Story {
    /// Makes the story of a finding in a ledger. `returned` says that the last version came back unchanged.
    pub fn of(
        finding: FindingView,
        entry: &Entry,
        settled_in: Option<u32>,
        tried: Vec<String>,
        returned: bool,
    ) -> Story {
        let none = String::new;
        let (why, advice, fix) = (none(), none(), none());
        let story = Story { finding, settled_in, tried, why, advice, code: None, fix, remarks: Vec::new() };
        // Only a finding that is in the way owes the reader a reason and a piece of advice.
        if !story.is_in_the_way() {
            return story;
        }
        let (why, advice) = if returned { returned_words() } else { unsettled(entry) };
        Story { why, advice, ..story }
    }

    /// Whether it is fixed, refuted, waived or replaced.
    pub fn is_settled(&self) -> bool {
        self.finding.fate.is_settled()
    }

    fn must_fix(&self) -> bool {
        self.finding.severity.must_fix()
    }

    /// Whether it is open or unresolved, and in the way of a pass.
    ///
    /// Only blockers and warnings can be in the way. A suggestion never stops anything.
    pub fn is_in_the_way(&self) -> bool {
        self.must_fix() && self.finding.fate.is_open()
    }

    /// Whether it must be fixed one day, and went on as a warning.
    fn is_carried(&self) -> bool {
        self.must_fix() && self.finding.fate == Fate::Carried
    }
}

/// The words for a version in which nothing was changed and nothing answered.
fn returned_words() -> (String, String) {
    (
        "the builder handed back a version that had been judged before, and gave no answer to it".to_owned(),
        "say in the plan what is wanted, fix it yourself, or try another builder".to_owned(),
    )
}

/// Says why a finding is not settled, and what would help, from its past.
///
/// The first case that applies decides, and the more specific causes come first.
fn unsettled(entry: &Entry) -> (String, String) {
    let check = entry.by.iter().find_map(|source| match source {
        Source::Check(check) => Some(check.to_string()),
        Source::Reviewer(_) => None,
    });
    let (why, advice) = match entry {
        // First: fixes that undo each other need a decision, whatever else is true.
        _ if entry.flipped => (
            "fixes undo each other: what one fix removed, a later one put back".to_owned(),
            "decide which of the two is wanted, write it into the plan, and run again".to_owned(),
        ),
        // More rounds with the same builder cannot help here.
        _ if !entry.builders => (
            "it is not the builder's to fix".to_owned(),
            "change the plan, or fix it yourself and answer `fixed`".to_owned(),
        ),
        _ if entry.survived_touched >= 2 => (
            format!("{} touched its code and did not cure it", count(entry.survived_touched as usize, "fix")),
            "the cause may lie deeper than the lines that are named: look at the design, or try another builder"
                .to_owned(),
        ),
        _ if entry.survived_untouched >= 2 => (
            format!(
                "{} went by without touching its code",
                count(entry.survived_untouched as usize, "fix")
            ),
            "say in the plan where and how it is to be fixed, or fix it yourself and answer `fixed`".to_owned(),
        ),
        _ if entry.reopened > 0 => (
            format!("it came back {} after it was settled", times(entry.reopened)),
            "look at what brings it back: a test that holds the fix in place would end it".to_owned(),
        ),
        _ if check.is_some() => (
            "the check still fails".to_owned(),
            format!("run what the check `{}` runs, by hand", check.unwrap_or_default()),
        ),
        // Nobody had a chance to fix it yet, so no advice about the code would be fair.
        _ if entry.survived() == 0 => {
            ("no fix was judged after it was raised".to_owned(), "one more round would let it be fixed".to_owned())
        }
        _ => (
            "the reviewer does not see it resolved".to_owned(),
            "read the reviewer's words beside the last change; a targeted fix may do".to_owned(),
        ),
    };
    (why, advice)
}

fn times(n: u32) -> String {
    if n == 1 { "once".to_owned() } else { format!("{n} times") }
}

impl Review {
    /// Returns answers and attempts of reviewers that did not count.
    pub fn lost(&self) -> impl Iterator<Item = &Spoken> {
        self.loops.iter().flat_map(|part| &part.spoken).filter(|spoken| !spoken.lost.is_empty())
    }

    /// Returns the title: `Phase 01: tools`, or what was made or judged if no phase was built.
    pub fn title(&self) -> String {
        match self.phase.as_str() {
            "" => {
                let name = plain::line(&self.name);
                let (first, rest) = name.split_at(name.chars().next().map_or(0, char::len_utf8));
                format!("{}{rest}", first.to_uppercase())
            }
            phase => format!("Phase {}: {}", plain::line(phase), plain::line(&self.name)),
        }
    }

    /// Returns unresolved findings that must be fixed.
    pub fn in_the_way(&self) -> Vec<&Story> {
        self.findings.iter().filter(|story| story.is_in_the_way()).collect()
    }

    fn of(&self, severity: Severity) -> impl Iterator<Item = &Story> {
        self.findings.iter().filter(move |story| story.finding.severity == severity)
    }

    /// Counts the rounds of all loops.
    pub fn rounds(&self) -> usize {
        self.loops.iter().map(|part| part.rounds.len()).sum()
    }

    /// Returns loops that were judged more than once. The others have no delta.
    pub fn revised(&self) -> impl Iterator<Item = &Part> {
        self.loops.iter().filter(|part| part.rounds.len() > 1)
    }

    /// Counts findings by fate, the most frequent first. Equal counts are sorted by name.
    pub fn fates(&self) -> Vec<(&'static str, usize)> {
        fates(self.findings.iter().map(|story| &story.finding))
    }

    /// The findings by their ids, for whoever looks for more than one of them.
    pub fn by_id(&self) -> BTreeMap<FindingId, &Story> {
        self.findings.iter().map(|story| (story.finding.id, story)).collect()
    }

    /// Returns the reviewers, or the checks, each once and sorted by name: the order in which they ended says nothing.
    pub fn judges(&self, checks: bool) -> Vec<String> {
        let words = self.loops.iter().flat_map(|part| &part.words).filter(|word| word.is_check == checks);
        let who: BTreeSet<&String> = words.map(|word| &word.who).collect();
        who.into_iter().cloned().collect()
    }
}

/// Says how it ended, and why in words. `ending` is the run's own word, `None` while it goes on.
///
/// Stale is told apart from other failures, because more rounds would not help there.
pub fn ended(ending: Option<Ending>, waits: &[String], parts: &[Part], findings: &[Story]) -> (End, String) {
    // A loop that goes on has no outcome and has not failed.
    let bad = |outcome: &Outcome| !outcome.is_good() && *outcome != Outcome::Cancelled;
    let failed: Vec<(&Part, &Outcome)> = parts
        .iter()
        .filter_map(|part| Some((part, part.outcome.as_ref().filter(|outcome| bad(outcome))?)))
        .collect();
    // Stale only if every failed loop is: one that spent its rounds still moved.
    let stale = !failed.is_empty() && failed.iter().all(|(_, outcome)| **outcome == Outcome::Stale);
    let each = |parts: &[(&Part, &Outcome)]| -> String {
        let said: Vec<String> = parts
            .iter()
            .take(5)
            .map(|(part, outcome)| format!("{}: {}", part.subject, failed_words(part, outcome)))
            .collect();
        // Five are enough for a sentence; the list of loops has all of them.
        let more = if parts.len() > 5 { format!("; and {} more", parts.len() - 5) } else { String::new() };
        format!("{}{more}.", said.join("; "))
    };
    match ending {
        Some(Ending::Passed) => (End::Passed, passed_words(parts, findings)),
        Some(Ending::Cancelled) => (End::Cancelled, "The run was called off before it was over.".to_owned()),
        Some(_) if stale => (End::Stale, format!("Nothing moved any more: {}", each(&failed))),
        // The run goes on without an approval, and the sentence must not read like a pass.
        Some(Ending::Concerns) => {
            (End::Escalated, format!("It was not approved and goes on all the same: {}", each(&failed)))
        }
        Some(Ending::Stopped) => (End::Escalated, format!("A person stopped it: {}", each(&failed))),
        Some(Ending::Shut) => (End::Escalated, format!("The gate stayed shut: {}", each(&failed))),
        None if !waits.is_empty() => {
            let stuck = !failed.is_empty() && stale;
            let end = if stuck { End::Stale } else { End::Escalated };
            (end, format!("It waits for a person: {}.", waits.join("; ")))
        }
        None => (End::Running, "It is not over: what follows is how it stands.".to_owned()),
    }
}

/// Says how a loop failed.
fn failed_words(part: &Part, outcome: &Outcome) -> String {
    let rounds = count(part.rounds.len(), "round");
    match outcome {
        Outcome::Exhausted if part.rounds.len() == 1 => {
            "its only round is spent and not everything is settled".to_owned()
        }
        Outcome::Exhausted => format!("its {rounds} are spent and not everything is settled"),
        Outcome::Stale => format!("nothing changed any more after {rounds}"),
        Outcome::Stuck => "its builder never finished, or a person ended it".to_owned(),
        Outcome::Failed => "a step could not be done".to_owned(),
        other => format!("{} after {rounds}", outcome_words(other)),
    }
}

impl Part {
    /// Says how it ended, or why it waits, or that it goes on.
    pub fn stands(&self) -> String {
        match &self.outcome {
            Some(outcome) => outcome_words(outcome),
            None if self.waits.is_empty() => "goes on".to_owned(),
            None => self.waits.clone(),
        }
    }
}

fn passed_words(parts: &[Part], findings: &[Story]) -> String {
    let must: Vec<&Story> = findings.iter().filter(|story| story.must_fix()).collect();
    let settled = must.iter().filter(|story| story.is_settled()).count();
    let rounds: usize = parts.iter().map(|part| part.rounds.len()).sum();
    let accepted: Vec<String> = parts
        .iter()
        .filter_map(|part| {
            let accepted = part.outcome.as_ref().filter(|outcome| matches!(outcome, Outcome::Accepted(_)))?;
            Some(format!("{} was {}", part.subject, outcome_words(accepted)))
        })
        .collect();
    // Accepted work was not approved by anybody, and the sentence must not blur that.
    let how = if accepted.is_empty() { "approved as it stands" } else { "approved, or accepted by a person" };
    let mut out = format!("Everything that was built is {how}, after {} of judging", count(rounds, "round"));
    let _ = match settled {
        0 => write!(out, "; nothing that had to be fixed was found."),
        n => write!(out, ". {} that had to be fixed {} settled.", count(n, "finding"), was(n)),
    };
    // A pass with warnings must say so in the same sentence.
    let carried = must.iter().filter(|story| story.is_carried()).count();
    if carried > 0 {
        let _ = write!(out, " {} went on unfixed.", count(carried, "warning"));
    }
    if !accepted.is_empty() {
        let _ = write!(out, " Accepted, not approved: {}.", and(&accepted));
    }
    out
}

fn was(n: usize) -> &'static str {
    if n == 1 { "was" } else { "were" }
}

/// Writes the document.
///
/// The result stands first, because most readers look for it. The delta and the reviewers' own words come after the
/// findings.
pub fn markdown(review: &Review) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "# {} — Review Summary\n", text(&review.title()));
    head(&mut out, review);
    list(&mut out, "Said in Every Report", &review.notes);
    summary(&mut out, review);
    match review.end {
        End::Passed => passed(&mut out, review),
        End::Escalated | End::Stale | End::Cancelled | End::Running => not_passed(&mut out, review),
    }
    judged(&mut out, review);
    verdicts(&mut out, review);
    who(&mut out, review);
    suggestions(&mut out, review);
    list(&mut out, "Decisions", &review.decisions);
    own_words(&mut out, review);
    cycle_delta(&mut out, review);
    list(&mut out, "What to Do Next", &review.next);
    // Programs read these blocks of a review that needs a person; one that passed has none.
    if review.end != End::Passed {
        escalations(&mut out, review);
    }
    // Git's own sample hook refuses a blank line at the end of a file.
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

fn own_words(out: &mut String, review: &Review) {
    let spoken: Vec<&Part> = review.loops.iter().filter(|part| !part.spoken.is_empty()).collect();
    if !spoken.is_empty() {
        out.push_str("## Reviewers in Their Own Words\n\n");
    }
    for part in spoken {
        let _ = writeln!(out, "### {}\n", text(&part.subject));
        spoken::markdown(out, &part.spoken, crate::report::SPOKEN_MAX);
        out.push('\n');
    }
}

impl End {
    /// The word at the top of the review.
    pub fn title(self) -> &'static str {
        match self {
            End::Passed => "PASSED",
            End::Escalated => "ESCALATED",
            End::Stale => "STALE LOOP ABORTED",
            End::Cancelled => "CANCELLED",
            End::Running => "NOT OVER",
        }
    }
}

/// Writes the rounds used: `2 of 3`, or for several loops `7 in 5 loops`.
pub fn cycles(review: &Review) -> String {
    match review.loops.as_slice() {
        [part] => format!("{} of {}", part.rounds.len(), part.rounds_max),
        parts => format!("{} in {}", review.rounds(), count(parts.len(), "loop")),
    }
}

fn head(out: &mut String, review: &Review) {
    let _ = writeln!(out, "## Result: {}\n", review.end.title());
    let _ = writeln!(out, "{}\n", text(&review.reason));
    let _ = writeln!(out, "- **Cycles Used**: {}", cycles(review));
    for (name, checks) in [("Reviewers", false), ("Checks", true)] {
        let who: Vec<String> = review.judges(checks).iter().map(|who| text(who)).collect();
        let _ = writeln!(out, "- **{name}**: {}", if who.is_empty() { "none".to_owned() } else { and(&who) });
    }
    if review.end != End::Passed {
        let open = review.in_the_way();
        let blockers = open.iter().filter(|story| story.finding.severity == Severity::Blocker).count();
        let _ = writeln!(out, "- **Remaining Blockers**: {blockers}");
        let _ = writeln!(out, "- **Remaining Warnings**: {}", open.len() - blockers);
    }
    let word = if review.end == End::Passed { "Completed" } else { "As Of" };
    let _ = writeln!(out, "- **{word}**: {}", crate::calendar::timestamp(review.at));
    let _ = writeln!(out, "- **Run**: {}\n", text(&review.run));
}

fn summary(out: &mut String, review: &Review) {
    out.push_str("## Findings Summary\n\n");
    let settled = |severity: Severity| review.of(severity).filter(|story| story.is_settled()).count();
    let row = |name: &str, n: usize| vec![name.to_owned(), n.to_string()];
    let rows = [
        row("Total findings", review.findings.len()),
        row("Blockers found", review.of(Severity::Blocker).count()),
        row("Blockers resolved", settled(Severity::Blocker)),
        row("Warnings found", review.of(Severity::Warning).count()),
        row("Warnings resolved", settled(Severity::Warning)),
        row("Suggestions (noted)", review.of(Severity::Suggestion).count()),
    ];
    table(out, &["Metric", "Count"], &rows);
    let fates: Vec<String> = review.fates().iter().map(|(fate, n)| format!("{n} {fate}")).collect();
    if !fates.is_empty() {
        let _ = writeln!(out, "Where each of them ended: {}.\n", fates.join(", "));
    }
    for part in review.revised() {
        let rounds: Vec<Bar> = part.rounds.iter().map(|round| round.bar).collect();
        // The fence holds several bars if there are several loops, and each needs its name.
        let name =
            if review.loops.len() > 1 { format!("{}\n", fenceless(&part.subject)) } else { String::new() };
        let _ = writeln!(out, "```text\n{name}{}```\n", bars(&rounds, Style::PLAIN));
    }
}

/// Makes one line that cannot end the fence it stands in.
fn fenceless(raw: &str) -> String {
    crate::plain::line(raw).replace('`', "'")
}

fn passed(out: &mut String, review: &Review) {
    out.push_str("## Findings Detail\n\n");
    let rows: Vec<Vec<String>> =
        review.findings.iter().filter(|story| story.must_fix()).map(settled_row).collect();
    if rows.is_empty() {
        out.push_str("Nothing that had to be fixed was found.\n\n");
        return;
    }
    table(out, &DETAIL, &rows);
}

const DETAIL: [&str; 7] = ["#", "Severity", "File", "Issue", "Fix Applied", "Cycle Fixed", "Origin"];

fn settled_row(story: &Story) -> Vec<String> {
    let finding = &story.finding;
    let done = match (&finding.fate, story.tried.last()) {
        // The builder's own words about the fix; any other fate is explained by its note.
        (fate, Some(tried)) if fate.is_gone() => format!("{fate} ({})", text(tried)),
        (fate, _) => format!("{fate} {}", text(&finding.fate_note)).trim_end().to_owned(),
    };
    let round = story.settled_in.map(|round| round.to_string()).unwrap_or_default();
    vec![
        finding.id.to_string(),
        finding.severity.word().to_uppercase(),
        text(&finding.place),
        std::iter::once(finding.claim.clone())
            .chain(finding.more())
            .map(|one| text(&one))
            .collect::<Vec<_>>()
            .join("; "),
        done,
        round,
        text(&finding.provenance_words()),
    ]
}

fn not_passed(out: &mut String, review: &Review) {
    let open = review.in_the_way();
    let (title, each, advice) = match review.end {
        // A stalled loop owes an explanation of its own before the findings.
        End::Stale => {
            out.push_str("## Why the Loop Stalled\n\n");
            let _ = writeln!(out, "{}\n", text(&stall_words(review)));
            ("Persistent Findings", "Persistent", "Recommendations")
        }
        _ => ("Unresolved Findings", "Unresolved", "Recommendation"),
    };
    let _ = writeln!(out, "## {title}\n");
    if open.is_empty() {
        out.push_str("No finding that must be fixed is open.\n\n");
    }
    open.iter().for_each(|story| one(out, story, each));
    let done: Vec<Vec<String>> = review
        .findings
        .iter()
        // Carried warnings stand here as well, because they are not in the way and must not be lost.
        .filter(|story| story.must_fix() && (story.is_settled() || story.is_carried()))
        .map(settled_row)
        .collect();
    if !done.is_empty() {
        out.push_str("## Resolved Findings\n\n");
        table(out, &DETAIL, &done);
    }
    list(out, advice, &recommendations(review));
}

fn stall_words(review: &Review) -> String {
    let open = review.in_the_way();
    let returned = returned_words().0;
    if open.is_empty() {
        "A version came back that had been judged before.".to_owned()
    } else if open.iter().all(|story| story.why == returned) {
        "The builder handed back a version that had been judged before, without a word on what was open: another \
         round would have judged the same again."
            .to_owned()
    } else {
        format!(
            "{} outlived every fix that was tried, so that another round would have been the same again. \
             That may ask for another approach, or for a change in the design.",
            count(open.len(), "finding")
        )
    }
}

/// Returns what would help, one line for all findings with the same advice.
///
/// Equal advice is given once, with all findings it is for. A list of the same sentence would not be read.
pub fn recommendations(review: &Review) -> Vec<String> {
    let mut lines: Vec<(String, Vec<String>)> = Vec::new();
    for story in review.in_the_way() {
        let id = story.finding.id.to_string();
        match lines.iter_mut().find(|(advice, _)| *advice == story.advice) {
            Some((_, ids)) => ids.push(id),
            None => lines.push((story.advice.clone(), vec![id])),
        }
    }
    lines.retain(|(advice, _)| !advice.is_empty());
    lines.into_iter().map(|(advice, ids)| format!("{}: {advice}.", and(&ids))).collect()
}

fn one(out: &mut String, story: &Story, each: &str) {
    let finding = &story.finding;
    let _ = writeln!(out, "### {} ({each})\n", finding.id);
    let _ = writeln!(out, "- **File**: {}", text(&finding.place));
    let _ = writeln!(
        out,
        "- **Severity**: {}, raised by {} in round {} of {}",
        finding.severity.word().to_uppercase(),
        text(&and(&finding.by)),
        finding.first_round.max(1),
        text(&finding.of)
    );
    if let Some(provenance) = &finding.provenance {
        let _ = writeln!(out, "- **Origin**: {provenance}");
    }
    let _ = writeln!(out, "- **Original Issue**: {}", text(&finding.claim));
    finding.more().iter().for_each(|more| {
        let _ = writeln!(out, "  - {}", text(more));
    });
    if !finding.suggestion.is_empty() {
        let _ = writeln!(out, "- **Asked For**: {}", text(&finding.suggestion));
    }
    if story.tried.is_empty() {
        out.push_str("- **Fix Attempts**: none\n");
    } else {
        out.push_str("- **Fix Attempts**:\n");
        story.tried.iter().for_each(|tried| {
            let _ = writeln!(out, "  - {}", text(tried));
        });
    }
    if !story.why.is_empty() {
        let _ = writeln!(out, "- **Why Unresolved**: {}", text(&story.why));
    }
    out.push('\n');
}

/// Lists what was judged, if that is more than one thing.
fn judged(out: &mut String, review: &Review) {
    if review.loops.len() < 2 {
        return;
    }
    out.push_str("## What Was Judged\n\n");
    let rows: Vec<Vec<String>> = review
        .loops
        .iter()
        .map(|part| {
            let outcome = match (&part.outcome, part.waits.as_str()) {
                (None, waits) if !waits.is_empty() => format!("waits: {waits}"),
                _ => part.stands(),
            };
            vec![text(&part.subject), text(&outcome), format!("{} of {}", part.rounds.len(), part.rounds_max)]
        })
        .collect();
    table(out, &["What", "Result", "Cycles"], &rows);
}

fn verdicts(out: &mut String, review: &Review) {
    // A check that passed is not news; one that failed is.
    let news = |word: &&Word| !word.is_check || word.verdict != LastWord::Passed;
    if !review.loops.iter().flat_map(|part| &part.words).any(|word| news(&word)) {
        return;
    }
    out.push_str("## Reviewer Verdicts\n\n");
    let several = review.loops.len() > 1;
    for part in &review.loops {
        for word in part.words.iter().filter(news) {
            // The subject is named only where there is more than one.
            let on = if several { format!(" on {}", text(&part.subject)) } else { String::new() };
            let mut checked = String::new();
            if !word.shown.is_empty() {
                let _ = write!(checked, ". Shown: {}", text(&word.shown));
            }
            if !word.checked.is_empty() {
                let _ = write!(checked, ". It says it checked: {}", text(&word.checked));
            }
            if !word.ran.is_empty() {
                let _ = write!(checked, ". On record: {}", text(&word.ran.join(", ")));
            }
            let who = if word.is_check { format!("check {}", text(&word.who)) } else { text(&word.who) };
            let _ = writeln!(out, "- **{who}**{on}: {}{checked}", text(&word.verdict.to_string()));
        }
    }
    out.push('\n');
}

fn who(out: &mut String, review: &Review) {
    list(out, "Who Built and Judged", &review.who.lines());
}

fn suggestions(out: &mut String, review: &Review) {
    let rest: Vec<String> = review
        .findings
        .iter()
        .filter(|story| !story.is_settled() && !story.is_in_the_way() && !story.is_carried())
        .map(|story| format!("{} ({})", story.finding.line(), story.finding.fate))
        .collect();
    list(out, "Suggestions (Not Required)", &rest);
}

fn cycle_delta(out: &mut String, review: &Review) {
    if review.revised().next().is_none() {
        return;
    }
    out.push_str("## Cycle Delta\n\n");
    out.push_str("> What changed from round to round. A review of one round has none.\n\n");
    let several = review.loops.len() > 1;
    let known = review.by_id();
    for part in review.revised() {
        if several {
            let _ = writeln!(out, "### {}\n", text(&part.subject));
        }
        let mark = if several { "####" } else { "###" };
        let _ = writeln!(out, "{mark} Progression Summary\n");
        progression(out, part);
        for change in changes(&known, part) {
            let _ = writeln!(out, "{mark} {}\n", change.title);
            table(out, change.head, &change.rows);
        }
    }
}

/// One table of the delta.
pub struct Changes {
    /// What the rows have in common.
    pub title: &'static str,
    /// The titles of the columns.
    pub head: &'static [&'static str],
    /// The rows, which are never empty.
    pub rows: Vec<Vec<String>>,
}

/// Returns the tables of a loop's delta, without the empty ones.
///
/// Unchanged findings stand in a table of their own with all their rounds, because a row per round would repeat them.
///
/// `known` are the findings by their ids: looking through all of them for every row took a time that grew with the
/// square of their number.
pub fn changes(known: &BTreeMap<FindingId, &Story>, part: &Part) -> Vec<Changes> {
    let mut resolved = Vec::new();
    let mut new = Vec::new();
    let mut changed = Vec::new();
    let rows = || {
        // The first round has nothing to be compared with.
        let numbered = part.rounds.iter().enumerate().skip(1);
        numbered.flat_map(|(n, round)| round.delta.rows.iter().map(move |row| (n + 1, row)))
    };
    for (n, row) in rows() {
        let name = named(known, row.id);
        let cell = |extra: &[String]| [name.as_slice(), extra].concat();
        let cycle = format!("Cycle {n}");
        let word = |severity: Option<Severity>| severity.map_or("", Severity::word).to_uppercase();
        match row.class {
            Class::Resolved => resolved.push(cell(&[cycle])),
            Class::New(mark) => new.push(cell(&[cycle, word(row.to), mark_words(mark).to_owned()])),
            Class::Downgraded | Class::Upgraded => changed.push(cell(&[word(row.from), word(row.to), cycle])),
            Class::Unchanged | Class::NotReported => {}
        }
    }
    let same = unchanged(known, &rows().map(|(n, row)| (n, *row)).collect::<Vec<_>>());
    let all = [
        Changes { title: "Findings Resolved", head: &["Finding", "File", "Resolved In"], rows: resolved },
        Changes {
            title: "Findings New",
            head: &["Finding", "File", "Appeared In", "Severity", "Mark"],
            rows: new,
        },
        Changes {
            title: "Findings Unchanged",
            head: &["Finding", "File", "Severity", "Cycles Present", ""],
            rows: same,
        },
        Changes {
            title: "Severity Changes",
            head: &["Finding", "File", "From", "To", "Cycle"],
            rows: changed,
        },
    ];
    all.into_iter().filter(|change| !change.rows.is_empty()).collect()
}

/// Lists findings that a round left as they were: one row each, with the rounds they were in.
fn unchanged(known: &BTreeMap<FindingId, &Story>, rows: &[(usize, Row)]) -> Vec<Vec<String>> {
    let mut found: Vec<(Row, Vec<usize>)> = Vec::new();
    let mut places: BTreeMap<FindingId, usize> = BTreeMap::new();
    for (n, row) in rows.iter().filter(|(_, row)| matches!(row.class, Class::Unchanged | Class::NotReported))
    {
        match places.get(&row.id).and_then(|at| found.get_mut(*at)) {
            Some((last, rounds)) => {
                // The last state counts: a finding may be confirmed in one round and not in the next.
                *last = *row;
                rounds.push(*n);
            }
            // Unchanged means that it was in the round before as well.
            None => {
                places.insert(row.id, found.len());
                found.push((*row, vec![n - 1, *n]));
            }
        }
    }
    let line = |(row, rounds): &(Row, Vec<usize>)| {
        let mut rounds: Vec<usize> = rounds.clone();
        rounds.dedup();
        let present: Vec<String> = rounds.iter().map(ToString::to_string).collect();
        // That nobody repeated it does not make it go away.
        let said = if row.class == Class::NotReported { "not confirmed" } else { "" };
        let severity = row.to.map_or("", Severity::word).to_uppercase();
        let mut cells = named(known, row.id);
        cells.extend([severity, present.join(", "), said.to_owned()]);
        cells
    };
    found.iter().map(line).collect()
}

/// Returns the progression table: what was open after each round.
pub fn progress_rows(part: &Part) -> Vec<Vec<String>> {
    let row = |name: &str, count: &dyn Fn(&Round) -> usize| -> Vec<String> {
        let counts = part.rounds.iter().map(|round| count(round).to_string());
        std::iter::once(name.to_owned()).chain(counts).collect()
    };
    vec![
        row("Total findings", &|round| round.open.iter().sum()),
        row("BLOCKER", &|round| round.open[0]),
        row("WARNING", &|round| round.open[1]),
        row("SUGGESTION", &|round| round.open[2]),
    ]
}

fn progression(out: &mut String, part: &Part) {
    let last = part.rounds.len();
    let name = |n: usize| if n == last { format!("Cycle {n} (final)") } else { format!("Cycle {n}") };
    let rounds: Vec<String> = (1..=last).map(name).collect();
    let mut head = vec!["Open after"];
    head.extend(rounds.iter().map(String::as_str));
    table(out, &head, &progress_rows(part));
}

fn named(known: &BTreeMap<FindingId, &Story>, id: FindingId) -> Vec<String> {
    let found = known.get(&id);
    let claim = found.map(|story| crate::plain::clipped(&story.finding.claim, 80)).unwrap_or_default();
    let place = found.map(|story| text(&story.finding.place)).unwrap_or_default();
    vec![format!("{id} {}", text(&claim)), place]
}

/// Says what is special about a new finding.
pub fn mark_words(mark: Mark) -> &'static str {
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

/// Writes blocks that programs read: one per finding that is in the way.
///
/// The block has a fixed form, and texts of reviewers cannot end it; `what_a_reviewer_wrote_cannot_end_an_escalation`
/// tests that.
fn escalations(out: &mut String, review: &Review) {
    let rounds: BTreeMap<&str, usize> =
        review.loops.iter().map(|part| (part.id.as_str(), part.rounds.len())).collect();
    for story in review.in_the_way() {
        let finding = &story.finding;
        let rounds = count(rounds.get(finding.of.as_str()).copied().unwrap_or(0), "round");
        let tries = match story.tried.len() {
            0 => "No fix was tried".to_owned(),
            n => format!("{} to fix it did not settle it", count(n, "attempt")),
        };
        let how = match review.end {
            End::Stale => {
                format!("{tries}; the loop was stopped after {rounds} because nothing changed any more")
            }
            _ => format!("{tries}; the review ran {rounds}"),
        };
        // The block lists files, without the line.
        let file = finding.place.split(':').next().unwrap_or_default();
        let _ = writeln!(out, "<escalation>");
        let _ = writeln!(out, "severity: {}", finding.severity);
        out.push_str("type: quality\n");
        let _ =
            writeln!(out, "decision: {} in {}: {}", finding.id, yaml(&finding.place), yaml(&finding.claim));
        let why = if story.why.is_empty() { String::new() } else { format!(" Why: {}.", yaml(&story.why)) };
        let _ = writeln!(out, "context: {how}.{why}");
        out.push_str("affected_files:\n");
        if !file.is_empty() {
            let _ = writeln!(out, "  - {}", yaml(file));
        }
        out.push_str("</escalation>\n\n");
    }
}

/// Makes one line that cannot end the block it stands in.
fn yaml(raw: &str) -> String {
    crate::plain::clipped(raw, 400).replace('<', "(").replace('>', ")")
}

/// Writes the delta by class, with the ids that people know.
fn delta_json<S: Serializer>(delta: &CycleDelta, out: S) -> Result<S::Ok, S::Error> {
    let of = |class: Class| -> Vec<String> {
        delta.rows.iter().filter(|row| row.class == class).map(|row| row.id.to_string()).collect()
    };
    let new = delta.rows.iter().filter_map(|row| match row.class {
        Class::New(mark) => Some(json!({"id": row.id.to_string(), "mark": mark})),
        _ => None,
    });
    let shape = json!({
        "resolved": of(Class::Resolved),
        "new": new.collect::<Vec<_>>(),
        "unchanged": of(Class::Unchanged),
        "downgraded": of(Class::Downgraded),
        "upgraded": of(Class::Upgraded),
        "not_reported": of(Class::NotReported),
    });
    shape.serialize(out)
}

/// Says what to do next: the answers on offer, or how to go on from an ending.
///
/// Answers on offer come first: as long as a run waits, nothing else helps.
pub fn next_steps(
    end: End,
    run: &str,
    again: &str,
    brings: bool,
    questions: &[QuestionView],
    findings: &[Story],
) -> Vec<String> {
    let mut steps: Vec<String> = questions
        .iter()
        .flat_map(|open| &open.offers)
        .map(|offer| format!("{} — {}", offer.command, offer.meaning))
        .collect();
    match end {
        // A review that brings nothing to the branch has no next step after a pass.
        End::Passed if !brings => {}
        End::Passed => {
            steps.push("Look at the work: it comes to your branch together with this review".to_owned());
            steps.push(format!("If it did not, `tribunal show {run}` has the command that brings it"));
        }
        End::Escalated | End::Stale if questions.is_empty() => {
            steps.push(format!("Fix it yourself in the plan or the code, commit, then {again}"));
            steps.push(format!("Try other agents: name them under [agents] in tribunal.toml, then {again}"));
            // An example of a command that works, with a finding that matters.
            let one = findings.iter().find(|story| story.is_in_the_way()).or(findings.first());
            let one = one.map(|one| format!("; one finding in full: tribunal show {run} {}", one.finding.id));
            steps.push(format!("See why: tribunal log {run}{}", one.unwrap_or_default()));
        }
        End::Escalated | End::Stale => {
            steps.push(format!("To see why: tribunal log {run}"));
        }
        End::Cancelled => steps.push(format!("To begin again: {again}")),
        End::Running => steps.push(format!("To go on, if nobody runs it: tribunal resume {run}")),
    }
    steps
}

/// Returns the review for programs: everything it holds, and the findings by fate.
pub fn json(review: &Review) -> Result<serde_json::Value, serde_json::Error> {
    let mut value = serde_json::to_value(review)?;
    let fates: serde_json::Map<String, serde_json::Value> =
        review.fates().into_iter().map(|(fate, n)| (fate.to_owned(), n.into())).collect();
    value["fates"] = fates.into();
    Ok(value)
}
