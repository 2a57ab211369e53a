//! `tribunal review`: judges existing code, shows the findings, and with `--fix` has them fixed. `resume` and `decide`
//! show the result of such a run through this file, too.
//!
//! A review is a run without plans; this file chooses the target, asks a person about the panel and prints. Everything
//! it shows comes from the journal, so a review that was interrupted and resumed looks like one that was not.

use super::run::Stay;
use crate::args::{Globals, Review, ReviewForm};
use crate::exit::Done;
use crate::failure::Failure;
use crate::given::Given;
use crate::place::Place;
use crate::{config, out};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{BufRead, IsTerminal};
use tribunal_core::finding::Claim;
use tribunal_core::ids::FindingId;
use tribunal_core::ledger::Entry;
use tribunal_core::review_loop::{Loop, Outcome};
use tribunal_core::run::Ending;
use tribunal_engine::RunState;
use tribunal_engine::history::{Chronicle, History};
use tribunal_engine::review::{commands, last_word};
use tribunal_engine::run_state::ReviewNote;
use tribunal_engine::spoken::identities;
use tribunal_view::examined::{self, Examined, Filtered, Judge, Row, Since, Stands};
use tribunal_view::facts::RunView;
use tribunal_view::log::NOBODY;
use tribunal_view::sarif::{self, Item};
use tribunal_view::style::Style;
use tribunal_view::{annotations, plain, review as reviewed};
use tribunal_world::{ReviewAsk, ReviewPlan, Target};

/// A larger patch is refused: it is read into memory whole.
const PATCH_BYTES_MAX: u64 = 256 << 20;

/// How the result of a review is shown.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shown {
    /// The form; `None` means text, or JSON with the global `--json`.
    pub form: Option<ReviewForm>,
    /// Also show findings of low confidence, and settled ones.
    pub verbose: bool,
}

/// Reviews a diff, the index, a patch or a phase.
pub fn run(globals: &Globals, args: &Review) -> Result<Done, Failure> {
    let place = Place::to_work_on()?;
    let project = place.project()?;
    let target = target(args)?;
    // The settings come from the base of the change: a branch must not bring the rules it is judged by.
    let (config, base) = config::for_review(&place, &project, &args.set, &target)?;
    if !globals.quiet {
        base.into_iter().chain(config.untrusted_note()).for_each(|line| out::say(&format!("note: {line}")));
    }
    let ask = ReviewAsk {
        target,
        fix: args.fix,
        rounds_max: args.max_rounds,
        panel: args.panel.clone(),
        include_filtered: args.include_filtered,
        attached: args.waiting.attach,
    };
    let mut plan = tribunal_world::plan_review(&project, &config.settings, &ask)
        .map_err(|error| config.located(error))?;
    // Before the panel is shown: nobody should confirm reviewers for nothing.
    if plan.is_empty() {
        return nothing(globals, args, &plan.note);
    }
    if !globals.quiet {
        out::say(panel(&plan.note).trim_end());
    }
    if !confirmed(args, &project, &mut plan)? {
        return Err(
            Failure::usage("nothing was reviewed").hint("--yes asks no question, --panel names who judges")
        );
    }
    // Those of the plan, and not of the configuration: planning a review may change them.
    let settings = plan.settings.clone();
    let (id, engine) = tribunal_world::begin_review(&project, plan).map_err(|error| config.located(error))?;
    if !globals.quiet {
        out::say(&format!("run {id}"));
        super::run::tell_noticed(engine.run_state());
    }
    let shown = Shown { form: args.format, verbose: args.verbose };
    let (waiting, settings) = (args.waiting, &settings);
    let stay =
        Stay { globals, project: &project, id: &id, settings, waiting, uat: false, shown, asks: false };
    stay.with(engine, Chronicle::default())
}

fn target(args: &Review) -> Result<Target, Failure> {
    Ok(match (&args.diff, args.staged, &args.pr_file) {
        (Some(range), _, _) => Target::Diff(range.clone()),
        (None, true, _) => Target::Staged,
        (None, false, Some(path)) => {
            let hint = "name a patch, as `git diff` or a code host writes it";
            let bytes = Given { path, flag: Some("--pr-file"), hint }.read(PATCH_BYTES_MAX)?;
            Target::Patch { path: path.clone(), bytes }
        }
        (None, false, None) => Target::Phase(args.phase.clone()),
    })
}

/// The result for a target without any change: passed, and nobody is launched.
///
/// If there are uncommitted files, it is an error instead. The person most likely meant those, and "passed" would claim
/// that they were judged.
fn nothing(globals: &Globals, args: &Review, note: &ReviewNote) -> Result<Done, Failure> {
    let target = plain::line(&note.target);
    if let Some(files) = &note.uncommitted {
        let text = format!("nothing was judged: {target} changes nothing, and there are {files}");
        return Err(Failure::usage(text)
            .hint("commit them and review again, or `git add` them and `tribunal review --staged`"));
    }
    let one = Examined {
        target: target.clone(),
        end: Stands::Over(Ending::Passed),
        reason: "nothing changed".to_owned(),
        notes: vec!["nothing changed: nobody had anything to judge".to_owned()],
        ..Examined::default()
    };
    let form = args.format.or(globals.json.then_some(ReviewForm::Json));
    show(form.unwrap_or(ReviewForm::Text), &one, out::stdout_style(globals))?;
    Ok(Done::Passed)
}

/// The tools and reviewers of the review, in a few lines.
fn panel(note: &ReviewNote) -> String {
    let mut text = format!("review of {}", plain::line(&note.target));
    if !note.types.is_empty() {
        text.push_str(&format!(" ({})", note.types.join(", ")));
    }
    text.push('\n');
    for tool in &note.tools {
        let why = tool.configured.as_ref().map(|file| format!(" ({file})")).unwrap_or_default();
        let missing = match tool.missing.is_empty() {
            true => String::new(),
            false => format!(", not installed: {}", tool.missing.join(", ")),
        };
        text.push_str(&format!("  tool      {}{why}{missing}\n", plain::line(&tool.name)));
    }
    for reviewer in &note.reviewers {
        text.push_str(&format!(
            "  reviewer  {} — {} ({})\n",
            plain::line(&reviewer.id),
            plain::line(&reviewer.why),
            reviewer.found
        ));
    }
    for absent in note.absent.iter().chain(&note.uncommitted) {
        text.push_str(&format!("  left out  {}\n", plain::line(absent)));
    }
    text
}

/// Asks a person at a terminal whether the panel is right, and lets them replace reviewers. Reviewers cost money; tools
/// do not, so without reviewers nobody is asked.
fn confirmed(
    args: &Review,
    project: &tribunal_world::Project,
    plan: &mut ReviewPlan,
) -> Result<bool, Failure> {
    // A panel that the person named needs no confirmation.
    let asks = !args.yes && args.panel.is_empty() && !plan.note.reviewers.is_empty();
    if !asks || !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Ok(true);
    }
    loop {
        out::say("Is this panel right? Enter or y: yes; n: no; or `old=new` replaces a reviewer");
        let mut line = String::new();
        // The end of input is not a yes.
        if std::io::stdin().lock().read_line(&mut line)? == 0 {
            return Ok(false);
        }
        match line.trim() {
            "" | "y" | "yes" => return Ok(true),
            "n" | "no" => return Ok(false),
            answer => match answer.split_once('=') {
                Some((old, new)) => {
                    match tribunal_world::replace_reviewer(project, plan, old.trim(), new.trim()) {
                        Ok(()) => out::say(panel(&plan.note).trim_end()),
                        Err(error) => out::say(&error.to_string()),
                    }
                }
                None => out::say("write it as old=new, by the names above"),
            },
        }
    }
}

/// Shows the result of a review, from the history of its run.
pub fn tell(
    globals: &Globals,
    shown: &Shown,
    history: &History,
    review: reviewed::Review,
    view: &RunView,
) -> Result<(), Failure> {
    let run_state = &history.run_state;
    let Some(note) = run_state.about.review.as_deref() else { return Ok(()) };
    let form = shown.form.unwrap_or(if globals.json { ReviewForm::Json } else { ReviewForm::Text });
    let last = last_word(run_state);
    // These two print findings alone, so nothing else is built for them.
    if matches!(form, ReviewForm::Sarif | ReviewForm::Github) {
        return as_items(history, note, &last, |items| show_items(form, items));
    }
    let mut one = Examined {
        run: review.run.clone(),
        target: plain::line(&note.target),
        end: end_of(view),
        reason: reason(run_state, view),
        rounds: review.rounds(),
        judges: judges(&review, note),
        previous: note.previous.clone(),
        filtered: filtered(run_state, note),
        commands: commands(run_state),
        notes: notes(run_state, note),
        take: run_state.left.clone(),
        done: view.finish.clone(),
        next: unapproved(run_state, note, &review.run).into_iter().collect(),
        verbose: shown.verbose,
        findings: rows(review.findings, run_state, note, &last),
    };
    // Without a finding in the way `--fix` would change nothing.
    if one.end == Stands::Over(Ending::Shut) && !note.fix && one.findings.iter().any(|row| row.in_the_way) {
        one.next.push("the same command with --fix has it fixed".to_owned());
    }
    show(form, &one, out::stdout_style(globals))
}

/// Every finding with the loop that has the last word on it.
type LastWord<'a> = (FindingId, Cow<'a, Entry>, &'a Loop);

/// The findings as they are shown, each with its rule and how it compares with the last review.
fn rows(
    stories: Vec<reviewed::Story>,
    run_state: &RunState,
    note: &ReviewNote,
    last: &[LastWord<'_>],
) -> Vec<Row> {
    // Once: searching the list for every finding took seconds with thousands of them.
    let entries: HashMap<FindingId, &Entry> =
        last.iter().map(|(id, entry, _)| (*id, entry.as_ref())).collect();
    let filtered = said_filtered(run_state);
    let row = |story: reviewed::Story| {
        let entry = entries.get(&story.finding.id).copied();
        let rule = entry.and_then(|entry| entry.claim.rule.as_deref());
        Row {
            rule: rule.map(plain::line).unwrap_or_default(),
            since: entry.map_or(Since::Unknown, |entry| since(entry, &filtered, note)),
            in_the_way: story.is_in_the_way(),
            finding: story.finding,
        }
    };
    stories.into_iter().map(row).collect()
}

/// Passes the findings to `show` in the form that SARIF and annotations are made from.
///
/// It copies every entry, so only those two forms come here.
fn as_items(
    history: &History,
    note: &ReviewNote,
    last: &[LastWord<'_>],
    show: impl FnOnce(&[Item<'_>]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let earlier = note.previous.is_some();
    let compared: Vec<Entry> = last.iter().map(|(_, entry, _)| compared(entry, earlier)).collect();
    let round = |review_loop: &Loop| review_loop.round() + u32::from(earlier);
    let who: Vec<_> = last
        .iter()
        .map(|(_, entry, review_loop)| identities(&history.run_state, review_loop.id(), entry))
        .collect();
    let items: Vec<Item<'_>> = last
        .iter()
        .zip(&compared)
        .zip(&who)
        .map(|(((id, _, review_loop), entry), who)| Item {
            id: *id,
            entry,
            round: round(review_loop),
            provenance: history.provenance(*id),
            who,
        })
        .collect();
    show(&items)
}

/// The command that shows what fixers made and nobody approved.
fn unapproved(run_state: &RunState, note: &ReviewNote, id: &str) -> Option<String> {
    let review_loop = run_state.examined()?;
    // The first judged revision is what was given; only a later one is a fixer's work.
    let made = review_loop.revision().filter(|made| review_loop.judged().first() != Some(made))?;
    let approved = review_loop.outcome().is_some_and(Outcome::is_good);
    let head = note.head.get(..12).unwrap_or(&note.head);
    (!approved).then(|| {
        format!("git diff {head} refs/tribunal/{id}/rev/{made} shows what was fixed and not approved")
    })
}

/// The entry with its first round counted from the earlier review: a carried finding is a round older than a new one.
fn compared(entry: &Entry, earlier: bool) -> Entry {
    Entry { first_round: entry.first_round + u32::from(earlier), ..entry.clone() }
}

fn show(form: ReviewForm, one: &Examined, style: Style) -> Result<(), Failure> {
    match form {
        ReviewForm::Text => out::data(&examined::text(one, style)),
        ReviewForm::Json => out::json(one),
        ReviewForm::Markdown => out::data(&examined::markdown(one)),
        // Reached only without any change: an empty log is still a valid answer for a program.
        ReviewForm::Sarif | ReviewForm::Github => show_items(form, &[]),
    }
}

fn show_items(form: ReviewForm, items: &[Item<'_>]) -> Result<(), Failure> {
    match form {
        ReviewForm::Github => out::data(&annotations::github(items)),
        _ => out::json(&sarif::log(items, env!("CARGO_PKG_VERSION"))),
    }
}

/// Why the review ended as it did, in a few words.
fn reason(run_state: &RunState, view: &RunView) -> String {
    // The findings are settled, but a person is asked about the way to the branch: that question is the reason.
    let held = run_state.run.as_ref().is_some_and(|run| run.held().is_some());
    let outcome = run_state.examined().and_then(|review_loop| review_loop.outcome()).filter(|_| !held);
    let words = match outcome {
        None => view.questions.first().map_or("it is not over", |question| question.why.as_str()),
        Some(Outcome::Passed | Outcome::PassedWithWarnings) => "nothing is in the way",
        Some(Outcome::Accepted(by)) => return format!("accepted by {}", plain::line(by)),
        Some(Outcome::Exhausted) => "not everything is settled, and no more rounds are left",
        Some(Outcome::Stale) => "nothing moved any more",
        Some(Outcome::Stuck) => "a person ended it",
        Some(Outcome::Failed) => "a step could not be done",
        Some(Outcome::Cancelled) => "it was called off",
    };
    plain::line(words)
}

fn end_of(view: &RunView) -> Stands {
    match view.ending {
        Some(ending) => Stands::Over(ending),
        None if !view.questions.is_empty() => Stands::Waits,
        None => Stands::Running,
    }
}

/// Every tool and reviewer of the panel with its verdict. One that never answered is listed without a verdict, so that
/// its absence is seen.
fn judges(review: &reviewed::Review, note: &ReviewNote) -> Vec<Judge> {
    let said = review.loops.iter().flat_map(|part| &part.words);
    let mut judges: Vec<Judge> = said
        .map(|word| Judge {
            // The panel names a tool without the prefix; both must meet below.
            name: word.who.strip_prefix("check ").unwrap_or(&word.who).to_owned(),
            is_check: word.is_check,
            verdict: Some(word.verdict.clone()),
            checked: word.checked.clone(),
        })
        .collect();
    let tools = note.tools.iter().map(|tool| (&tool.name, true));
    for (name, is_check) in tools.chain(note.reviewers.iter().map(|reviewer| (&reviewer.id, false))) {
        if !judges.iter().any(|judge| judge.name == *name) {
            judges.push(Judge { name: name.clone(), is_check, ..Judge::default() });
        }
    }
    judges
}

fn filtered(run_state: &RunState, note: &ReviewNote) -> Vec<Filtered> {
    let row = |claim: &Claim| {
        let place = match (&claim.file, claim.line) {
            (Some(file), Some(line)) => format!("{file}:{line} "),
            (Some(file), None) => format!("{file} "),
            (None, _) => String::new(),
        };
        let rule = claim.rule.as_ref().map(|rule| format!(" ({rule})")).unwrap_or_default();
        plain::line(&format!("{place}{}: {}{rule}", claim.severity, claim.claim))
    };
    let each = run_state.filtered.values().filter(|filtered| filtered.count > 0);
    each.map(|filtered| Filtered {
        by: filtered.check.to_string(),
        count: filtered.count,
        // The count is always shown, so that nobody takes "filtered" for "clean".
        rows: if note.include_filtered { filtered.claims.iter().map(row).collect() } else { Vec::new() },
    })
    .collect()
}

/// How a finding compares with the last review of the same target.
fn since(entry: &Entry, filtered: &HashSet<Words<'_>>, note: &ReviewNote) -> Since {
    if note.previous.is_none() {
        return Since::Unknown;
    }
    // Round 0 is before the first round of this review, so the finding was carried over.
    let taken_over = entry.first_round == 0;
    let gone = entry.fate.is_gone();
    match (taken_over, gone) {
        (false, _) => Since::New,
        (true, false) => Since::Persisting,
        (true, true) if is_filtered(entry, filtered) => Since::Elsewhere,
        (true, true) => Since::Resolved,
    }
}

/// What identifies a tool's finding without its line: file, rule and message.
type Words<'a> = (Option<&'a str>, Option<&'a str>, &'a str);

fn words_of(claim: &Claim) -> Words<'_> {
    (claim.file.as_deref(), claim.rule.as_deref(), &claim.claim)
}

/// True if a tool still reports the finding, but on lines that did not change.
///
/// Such a finding is filtered, not fixed, and must not be shown as resolved.
fn is_filtered(entry: &Entry, filtered: &HashSet<Words<'_>>) -> bool {
    let file = entry.claim.file.as_deref();
    let mut said = entry.words().iter().map(|words| &words.claim);
    said.any(|claim| filtered.contains(&(file, claim.rule.as_deref(), &claim.claim)))
}

/// The findings that were filtered because their lines did not change.
fn said_filtered(run_state: &RunState) -> HashSet<Words<'_>> {
    run_state.filtered.values().flat_map(|filtered| &filtered.claims).map(words_of).collect()
}

/// Notes about tools that were not run again, because the tree, the tool and the settings are unchanged.
fn known(run_state: &RunState) -> Vec<String> {
    let mut by_run: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for filtered in run_state.filtered.values() {
        let Some(run) = &filtered.known else { continue };
        by_run.entry(run).or_default().push(filtered.check.to_string());
    }
    let line = |(run, tools): (&str, Vec<String>)| {
        format!("not run again: {}; tree, tool and settings are as in {run}", tools.join(", "))
    };
    by_run.into_iter().map(line).collect()
}

/// The result of the polish loop, if there was one.
fn polished(run_state: &RunState) -> Option<String> {
    let review_loop = run_state.polish()?;
    Some(match review_loop.outcome()? {
        outcome if outcome.is_good() => "it was polished, and the polish was judged".to_owned(),
        outcome => format!("a polish was dropped ({}): what passed before it stands", outcome.word()),
    })
}

fn notes(run_state: &RunState, note: &ReviewNote) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    if note.reviewers.is_empty() {
        notes.push("judged by tools and checks alone: no reviewer is configured".to_owned());
    }
    let left = |review_loop: &Loop| {
        review_loop
            .ledger()
            .iter()
            .any(|(_, entry)| entry.fixer.as_ref().is_some_and(|fixer| fixer.as_str() == NOBODY))
    };
    if note.fix && run_state.loops.values().any(left) {
        notes.push("what no tool fixes was left: no agent is configured".to_owned());
    }
    notes.extend(known(run_state));
    notes.extend(note.uncommitted.iter().map(|files| format!("not judged: {files}")));
    notes.extend(polished(run_state));
    notes.extend(note.absent.iter().map(|absent| format!("did not judge: {absent}")));
    let unread = note.unread.iter().map(|one| {
        format!("an earlier review could not be read, so what it left open is not known here: {one}")
    });
    notes.extend(unread);
    notes.extend(note.unasked.iter().map(|one| format!("was not looked at again: {one}")));
    notes.extend(run_state.lost.values().map(|lost| plain::clipped(lost, 600)));
    notes.extend(run_state.warnings.iter().map(|warning| plain::clipped(warning, 600)));
    notes
}
