//! The review of a run, from its history: what each round of each loop changed, what was tried for each finding, and
//! where each finding came from.
//!
//! The run state keeps the present state; a report also needs the past, so this file keeps what the state forgets. The
//! wording is left to `tribunal-view`.

use crate::history::History;
use crate::run_state::{CommandNote, Fact, LaunchNote, Note, Ran, RunState};
use crate::settings::{GateSettings, GitSettings};
use crate::spoken;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use tribunal_core::cover::Shown;
use tribunal_core::effect::{EffectId, Step};
use tribunal_core::finding::{Fate, Reply, Severity, Verdict};
use tribunal_core::green::{self, Answer, ProjectCommand};
use tribunal_core::ids::{Builder, FindingId, LoopId, PlanId};
use tribunal_core::ledger::{Entry, Mark};
use tribunal_core::panel::Ruling;
use tribunal_core::policy::Use;
use tribunal_core::review_loop::{Choice, FixAssignment, Loop, LoopEvent, Outcome, Why};
use tribunal_core::run::{Ending, Run, RunEvent};
use tribunal_docs::chain::Artifact;
use tribunal_findings::delta::{Now, Standing, cycle_delta};
use tribunal_findings::{CycleDelta, Excerpt};
use tribunal_view::bars::Bar;
use tribunal_view::chain::{Answered, Found, Iteration, PhaseOfChain};
use tribunal_view::facts::{CommandView, FindingView, QuestionView};
use tribunal_view::provenance::Provenance;
use tribunal_view::review::{self, Code, LastWord, Part, Review, Round, Story, Word};
use tribunal_view::typed::{reply_with, reply_words};
use tribunal_view::{events, plain, question, words};

/// How many refused actions a report lists.
const REFUSED_MAX: usize = 20;

/// Facts about every finding: where it came from, the code it is about, and the fix that settled it.
///
/// A page or a report never reads git: what it shows was recorded when the finding was tracked.
#[derive(Clone, Debug, Default)]
pub struct Origins {
    traced: BTreeMap<LoopId, Traced>,
    known: BTreeMap<FindingId, Provenance>,
    code: BTreeMap<FindingId, Excerpt>,
    fixed: BTreeMap<FindingId, String>,
}

/// One `Traced` note, kept until the findings it is about are known.
#[derive(Clone, Debug, Default)]
struct Traced {
    origins: Vec<Option<Provenance>>,
    code: Vec<Option<Excerpt>>,
    fixed: Vec<Option<String>>,
}

impl Origins {
    /// Takes facts in their order.
    ///
    /// The note with the facts comes before the event with the findings, because the engine gives the ids only when it
    /// takes the report.
    pub fn take(&mut self, fact: &Fact) {
        match fact {
            Fact::Note(Note::Traced { of, origins, code, fixed }) => {
                let (origins, code, fixed) = (origins.clone(), code.clone(), fixed.clone());
                self.traced.insert(of.clone(), Traced { origins, code, fixed });
            }
            // The facts of an ignored report are dropped with it.
            Fact::Note(Note::Ignored { effect }) => {
                self.traced.remove(&LoopId::new(effect.of.as_str()));
            }
            // A refused landing finds faults of the work itself, so they are as old as the work.
            Fact::Run(RunEvent::LandingRefused { findings, .. }) => {
                for carried in findings {
                    self.known.entry(carried.id).or_insert(Provenance::Original);
                }
            }
            Fact::Loop(id, LoopEvent::Tracked { findings, .. }) => {
                // Facts and findings are matched by position. With different lengths nothing can be matched.
                let traced = self.traced.remove(id).filter(|one| one.origins.len() == findings.len());
                let Traced { origins, code, fixed } = traced.unwrap_or_default();
                let ids = || findings.iter().map(|finding| finding.id);
                for (id, origin) in ids().zip(origins).filter_map(|(id, one)| Some((id, one?))) {
                    self.known.entry(id).or_insert(origin);
                }
                for (id, code) in ids().zip(code).filter_map(|(id, one)| Some((id, one?))) {
                    self.code.entry(id).or_insert(code);
                }
                // A finding may come back and be settled again. The later fix is the one that settled it.
                self.fixed.extend(ids().zip(fixed).filter_map(|(id, one)| Some((id, one?))));
            }
            _ => {}
        }
    }

    /// The code a finding is about, as it was when it was first seen.
    pub fn code(&self, id: FindingId) -> Option<&Excerpt> {
        self.code.get(&id)
    }

    /// The part of a fix that settled a finding; empty where unknown.
    pub fn fixed(&self, id: FindingId) -> &str {
        self.fixed.get(&id).map_or("", String::as_str)
    }

    /// Where one finding came from; none where unknown.
    pub fn of(&self, id: FindingId) -> Option<Provenance> {
        self.known.get(&id).copied()
    }
}

/// One fix, and the answers that came with it.
#[derive(Clone, Debug)]
struct Try {
    round: u32,
    effect: String,
    findings: BTreeSet<FindingId>,
    replies: BTreeMap<FindingId, Reply>,
    by: Option<String>,
}

/// The past of one loop, which its state does not keep.
///
/// Each round is compared with the one before when it is ruled, because the ledger changes afterwards.
#[derive(Clone, Debug, Default)]
struct Told {
    rounds: Vec<Round>,
    tries: Vec<Try>,
    ordered: BTreeSet<FindingId>,
    shares: BTreeMap<Builder, BTreeSet<FindingId>>,
    settled: BTreeMap<FindingId, u32>,
    /// The last answer of each reviewer and check, with its effect.
    words: Vec<(String, Word)>,
    before: BTreeMap<FindingId, Severity>,
    marks: BTreeMap<FindingId, Mark>,
    raised: BTreeSet<String>,
    /// What each round of a chain's review found, or found again, as it was then.
    found: BTreeMap<u32, Vec<Found>>,
}

/// What the rounds of a run changed, and what was tried in them.
///
/// It is a part of a [`History`], which shows it the run state after each fact.
#[derive(Clone, Debug, Default)]
pub struct Record {
    loops: BTreeMap<LoopId, Told>,
    /// What each agent said about its work, by effect.
    said: BTreeMap<String, String>,
}

impl Record {
    /// Takes a fact that the run state has taken already.
    pub(crate) fn take(&mut self, run_state: &RunState, fact: &Fact) {
        match fact {
            Fact::Loop(id, event) => {
                let Some(review_loop) = run_state.loops.get(id) else { return };
                self.loops
                    .entry(id.clone())
                    .or_insert_with(|| Told::new(review_loop))
                    .take(review_loop, event);
            }
            Fact::Note(Note::Launch(launch)) if !launch.summary.is_empty() => {
                self.said.insert(launch.effect.clone(), launch.summary.clone());
            }
            Fact::Run(_) | Fact::Note(_) => {}
        }
    }
}

impl History {
    /// Where a finding came from; none where unknown.
    pub fn provenance(&self, id: FindingId) -> Option<Provenance> {
        self.chronicle.origins.of(id)
    }

    /// The loops in the order in which they were opened, each with its past.
    fn told(&self) -> impl DoubleEndedIterator<Item = (&Loop, &Told)> {
        let both = |id| Some((self.run_state.loops.get(id)?, self.record.loops.get(id)?));
        self.chronicle.order.iter().filter_map(both)
    }

    /// The review as it stands now. `questions` are those open for people.
    ///
    /// The same review is made for a live run and for an ended one, so a report during the run and the last one read
    /// the same.
    pub fn review(&self, run: &str, notes: Vec<String>, questions: &[QuestionView]) -> Review {
        let run_state = &self.run_state;
        let loops: Vec<Part> =
            self.told().map(|(review_loop, told)| told.part(run_state, review_loop)).collect();
        let tellers = self.tellers();
        let story = |(id, entry, review_loop): (FindingId, Cow<'_, Entry>, &Loop)| {
            self.story(id, &entry, review_loop, tellers.get(&id).map_or(&[], Vec::as_slice))
        };
        let findings: Vec<Story> = last_word(run_state).into_iter().map(story).collect();
        // A run that is closing already has its ending, before the last steps are done.
        let ending = run_state.run.as_ref().and_then(ending);
        let waits: Vec<String> =
            questions.iter().map(|open| format!("{}: {}", open.subject, open.why)).collect();
        let (end, reason) = review::ended(ending, &waits, &loops, &findings);
        let about = &run_state.about;
        // The folder holds the number and the name; older journals have only the number.
        let folder = Path::new(&about.phase_path).file_name().map(|name| name.to_string_lossy().into_owned());
        let folder = folder.unwrap_or_else(|| about.phase.clone());
        let made = about.artifact().filter(|_| about.phase.is_empty());
        let (number, name) = match &made {
            Some(made) => ("", made.as_str()),
            None => folder.split_once('-').unwrap_or((folder.as_str(), folder.as_str())),
        };
        // Without fixes there is nothing to bring to the branch, and the next steps must not offer it.
        let brings = about.review.as_ref().is_none_or(|note| note.fix);
        let next = review::next_steps(end, run, &about.again(), brings, questions, &findings);
        Review {
            run: run.to_owned(),
            phase: plain::line(number),
            name: plain::line(name),
            end,
            reason,
            at: run_state.at.0,
            loops,
            findings,
            notes,
            who: crate::who::of_run(run_state),
            decisions: self.decisions(),
            next,
        }
    }

    /// What people decided about what was judged, in order.
    fn decisions(&self) -> Vec<String> {
        let of_work = self.chronicle.decisions.iter().filter(|decided| !decided.of_result);
        of_work.map(|decided| decided.words.clone()).collect()
    }

    /// For each finding the loops that hold it, in their order; only loops in which something was tried.
    fn tellers(&self) -> BTreeMap<FindingId, Vec<(&Loop, &Told)>> {
        let mut tellers: BTreeMap<FindingId, Vec<(&Loop, &Told)>> = BTreeMap::new();
        for (review_loop, told) in self.told().filter(|(_, told)| !told.tries.is_empty()) {
            review_loop
                .ledger()
                .iter()
                .for_each(|(id, _)| tellers.entry(id).or_default().push((review_loop, told)));
        }
        tellers
    }

    fn story(&self, id: FindingId, entry: &Entry, review_loop: &Loop, tellers: &[(&Loop, &Told)]) -> Story {
        let mut finding = FindingView::of(id, entry, review_loop.id().as_str());
        finding.identities = spoken::identities(&self.run_state, review_loop.id(), entry);
        finding.provenance = self.provenance(id);
        let tried = tellers.iter().flat_map(|(other, told)| {
            // A fix in an earlier loop is named with that loop, because its round is counted there.
            let elsewhere = (other.id() != review_loop.id()).then(|| question::subject(other.id().as_str()));
            told.tries.iter().filter_map(move |one| self.tried(one, id, elsewhere.as_deref()))
        });
        let told = self.record.loops.get(review_loop.id());
        let settled = told.and_then(|told| told.settled.get(&id).copied());
        let returned = told.is_some_and(|told| told.returned(review_loop));
        let story = Story::of(finding, entry, settled, tried.collect(), returned);
        let origins = &self.chronicle.origins;
        let code = origins.code(id).map(Code::of);
        Story { code, fix: plain::visible(origins.fixed(id).as_bytes()), ..story }
    }

    /// One line on what a fix did for a finding; none where the fix was not about it.
    fn tried(&self, one: &Try, id: FindingId, elsewhere: Option<&str>) -> Option<String> {
        if !one.findings.contains(&id) {
            return None;
        }
        let summary = self.record.said.get(&one.effect).map(|text| plain::clipped(text, 300));
        let said = match (&one.by, one.replies.get(&id)) {
            (Some(by), _) => format!("fixed by {}", plain::line(by)),
            (None, Some(Reply::Fixed)) => summary.unwrap_or_else(|| "said to be fixed".to_owned()),
            (None, Some(reply)) => reply_with(reply, |why| plain::clipped(why, 300)),
            // The builder worked on this finding and did not answer it. Its summary may still say something.
            (None, None) => match summary {
                Some(summary) => format!("{summary} (no word about this one)"),
                None => "no word about it".to_owned(),
            },
        };
        let place = elsewhere.map(|subject| format!("{subject}, ")).unwrap_or_default();
        // Round 0 is work that was handed over from another loop: nothing was judged here before it.
        Some(match one.round {
            0 => format!("{place}at the start: {said}"),
            round => format!("{place}round {round}: {said}"),
        })
    }
}

// The artifact of a chain.
impl History {
    /// What one phase of a chain came to; none where the run makes no artifact.
    pub fn chain(&self, run: &str, ending: Ending) -> Option<PhaseOfChain> {
        let run_state = &self.run_state;
        let note = run_state.about.chain.as_ref()?;
        // An implementation has other loops before the one that compares it with the spec.
        let told = self.told().rev().find(|(review_loop, _)| review_loop.policy().of == Use::Chain);
        let outcome = told.and_then(|(review_loop, _)| review_loop.outcome());
        let notes = told.into_iter().flat_map(|(review_loop, _)| review_loop.ledger().iter());
        let notes = notes
            .filter(|(_, entry)| entry.fate.stands())
            .map(|(id, entry)| format!("{id} [{}] {}", entry.severity, plain::line(&entry.claim.claim)));
        Some(PhaseOfChain {
            feature: note.feature.clone(),
            name: note.artifact.command().to_owned(),
            run: run.to_owned(),
            mode: note.mode.clone(),
            started: run_state.began.unwrap_or_default().0,
            completed: run_state.at.0,
            outcome: chain_outcome(outcome, ending, note.skipped.is_some()),
            // Without reviewers nothing was approved, even if its checks passed.
            approved: outcome.is_some_and(Outcome::is_good) && note.skipped.is_none(),
            skipped: note.skipped.clone(),
            iterations_max: told.map_or(0, |(review_loop, _)| review_loop.rounds_max()),
            iterations: told
                .map(|(review_loop, told)| told.iterations(review_loop, &self.record.said))
                .unwrap_or_default(),
            notes: notes.collect(),
        })
    }
}

fn chain_outcome(outcome: Option<&Outcome>, ending: Ending, skipped: bool) -> String {
    match outcome {
        // With no reviewer a pass means only that its checks passed.
        Some(Outcome::Passed | Outcome::PassedWithWarnings) if skipped => {
            "not reviewed; its checks passed".to_owned()
        }
        Some(Outcome::Passed) => "approved".to_owned(),
        Some(Outcome::PassedWithWarnings) => "approved with warnings".to_owned(),
        Some(Outcome::Accepted(by)) => format!("accepted as it is by {}", plain::line(by)),
        Some(Outcome::Exhausted) if ending == Ending::Concerns => {
            "not approved, its rounds are spent; it goes on with open concerns".to_owned()
        }
        Some(Outcome::Exhausted) => "not approved: its rounds are spent".to_owned(),
        Some(other) => format!("not approved: {}", other.word()),
        None => format!("not judged: the run is {}", ending.word()),
    }
}

/// The ruling of a round, in the words of a chain.
fn decision(ruling: Option<&Ruling>, alone: bool) -> &'static str {
    match ruling {
        Some(Ruling::Rework { .. }) => "needs revision",
        None | Some(Ruling::NoQuorum) => "no verdict",
        _ if alone => "checks passed, not reviewed",
        Some(Ruling::PassWithWarnings { .. }) => "approved with warnings",
        Some(Ruling::Pass { checks_only: false }) => "approved",
        Some(Ruling::Pass { checks_only: true }) => "approved by checks only",
    }
}

fn found(id: FindingId, entry: &Entry) -> Found {
    let view = FindingView::of(id, entry, "");
    Found {
        id: id.to_string(),
        severity: entry.severity.to_string(),
        place: tribunal_view::prompt::FindingLine::of(id, entry).place,
        claim: view.claim,
        by: entry.by.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    }
}

/// How the run ends or has ended.
fn ending(run: &Run) -> Option<Ending> {
    run.ending().or_else(|| run.closing())
}

/// Every finding once, with the loop that has the last word on it.
///
/// A finding that is carried from one loop to the next stands in several ledgers. If a person accepted the lane, its
/// unresolved findings count as waived by that person.
pub fn last_word(run_state: &RunState) -> Vec<(FindingId, Cow<'_, Entry>, &Loop)> {
    let mut last: BTreeMap<FindingId, (u32, &Entry, &Loop)> = BTreeMap::new();
    for review_loop in run_state.loops.values() {
        let number = entry_number(review_loop.id());
        for (id, entry) in review_loop.ledger().iter() {
            // `<=`: of two loops with the same number the later one in the map counts.
            if last.get(&id).is_none_or(|(known, _, _)| *known <= number) {
                last.insert(id, (number, entry, review_loop));
            }
        }
    }
    last.into_iter()
        .map(|(id, (_, entry, review_loop))| (id, waived(run_state, entry, review_loop), review_loop))
        .collect()
}

fn waived<'a>(run_state: &RunState, entry: &'a Entry, review_loop: &Loop) -> Cow<'a, Entry> {
    match run_state.accepter(review_loop.id()) {
        Some(by) if entry.fate == Fate::Unresolved => {
            Cow::Owned(Entry { fate: Fate::Waived(by.to_owned()), ..entry.clone() })
        }
        _ => Cow::Borrowed(entry),
    }
}

/// The number of a loop within its lane, in the order of opening: 3 in `01-02/task-1.3`.
pub fn entry_number(id: &LoopId) -> u32 {
    id.as_str().rsplit_once('.').and_then(|(_, number)| number.parse().ok()).unwrap_or(0)
}

/// The name of what a loop is about, without its number.
pub fn subject_name(id: &LoopId) -> &str {
    let (name, number) = id.as_str().rsplit_once('.').unwrap_or((id.as_str(), ""));
    if number.parse::<u32>().is_ok() { name } else { id.as_str() }
}

/// What every report says about gates: which are switched off, and whether a gate that cannot run stops anything.
///
/// A switched-off defence is never silent, because a reader would take the report for one of a fully guarded run.
pub fn gate_notes(gates: &GateSettings) -> Vec<String> {
    let mut notes = Vec::new();
    if !gates.off.is_empty() {
        let off: Vec<String> = gates.off.iter().map(|gate| plain::line(gate)).collect();
        notes.push(format!("gates switched off (gates.off): {}", off.join(", ")));
    }
    if gates.errors == "continue" {
        notes
            .push("a gate that could not run did not stop anything (gates.errors = \"continue\")".to_owned());
    }
    notes
}

/// What every report says about the user's commit rules that are switched off.
pub fn rule_notes(git: &GitSettings) -> Vec<String> {
    let unsigned = (git.sign == "never").then_some("nothing is signed (git.sign = \"never\")");
    let unhooked = (git.hooks == "skip").then_some("your commit hooks do not run (git.hooks = \"skip\")");
    [unsigned, unhooked].into_iter().flatten().map(str::to_owned).collect()
}

/// Messages of agents to a person: `dev of 01-01/task-1: the key is missing`.
pub fn escalated(run_state: &RunState) -> Vec<String> {
    of_launches(run_state, |launch| &launch.escalated)
}

/// Actions that agents attempted and were refused.
pub fn refused(run_state: &RunState) -> Vec<String> {
    of_launches(run_state, |launch| &launch.denied)
}

/// Messages and refused actions, as every report lists them.
pub fn from_agents(run_state: &RunState) -> Vec<String> {
    let told = escalated(run_state).into_iter().map(|text| format!("for you: {text}"));
    let refused = refused(run_state).into_iter().take(REFUSED_MAX).map(|text| format!("refused: {text}"));
    told.chain(refused).collect()
}

/// Lines of all launches, each once.
fn of_launches(run_state: &RunState, list: impl Fn(&LaunchNote) -> &Vec<String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let lines = run_state.launches.iter().flat_map(|launch| {
        let who = format!("{} of {}", launch.role, launch.of());
        list(launch).iter().map(move |text| format!("{who}: {}", plain::line(text)))
    });
    lines.filter(|line| seen.insert(line.clone())).collect()
}

/// What nobody reviewed. Every report says so.
///
/// An approval by checks alone, or a skipped gate, must not read like a full review.
pub fn unreviewed(run_state: &RunState) -> Vec<String> {
    let Some(run) = &run_state.run else { return Vec::new() };
    let mut notes = Vec::new();
    // Where nothing was planned there was no plan to judge.
    let planned = run_state.about.review.is_none() && run_state.about.asked.is_none();
    let built = planned && !run.spec().plans.is_empty();
    if built && run.spec().gate.is_none() {
        notes.push("plans were not judged before any code".to_owned());
    }
    if built && !run.spec().qa {
        notes.push("deliveries were not judged (no QA gate)".to_owned());
    }
    if let Some((note, why)) =
        run_state.about.chain.as_ref().and_then(|note| Some((note, note.skipped.as_ref()?)))
    {
        notes.push(format!("nobody reviewed the {} ({})", note.artifact.word(), plain::line(why)));
    }
    if run.closing() == Some(Ending::Concerns) {
        notes.push(
            "it was not approved: its rounds are spent, and chain.on_exhausted lets it go on".to_owned(),
        );
    }
    // A chain that skips its reviews says why above; it needs no second note.
    let skipped = run_state.about.chain.as_ref().is_some_and(|note| note.skipped.is_some());
    let mut alone: Vec<&str> = run_state
        .loops
        .values()
        .filter(|review_loop| {
            review_loop.policy().reviewers.is_empty() && !(skipped && review_loop.policy().of == Use::Chain)
        })
        .map(|review_loop| review_loop.policy().of.word())
        .collect();
    alone.sort_unstable();
    alone.dedup();
    if !alone.is_empty() {
        notes.push(format!("judged by checks only, no reviewer is configured: {}", alone.join(", ")));
    }
    notes.extend(not_read(run_state));
    notes
}

/// What every report says about the project's own commands: where no tests ran, then what was not simply green.
///
/// A red test that somebody accepted, a flaky one, or no test at all must not disappear behind an approval.
pub fn commands(run_state: &RunState) -> Vec<CommandView> {
    let none = untested(run_state).into_iter();
    let none = none.map(|text| CommandView { word: "no tests ran".to_owned(), text });
    none.chain(uncounted(run_state)).chain(not_green(run_state)).chain(other_judges(run_state)).collect()
}

/// Commands of the settings or of a plan that pass only with the change's own judging files, where a person accepted
/// that.
fn other_judges(run_state: &RunState) -> Vec<CommandView> {
    let texts: BTreeSet<String> = run_state.judges_taken().map(|note| plain::line(&note.text)).collect();
    let view = |text| CommandView { word: "judge changed".to_owned(), text };
    texts.into_iter().map(view).collect()
}

/// Test commands that ended with 0 and counted no test, so nobody knows whether a test ran.
///
/// Each is named once, as of its last run: on a branch that moved it may be red, and the report says that instead.
fn uncounted(run_state: &RunState) -> Vec<CommandView> {
    let last: BTreeMap<&str, bool> =
        run_state.commands.iter().map(|note| (note.shown.as_str(), note.uncounted)).collect();
    let shown = last.into_iter().filter(|(_, uncounted)| *uncounted).map(|(shown, _)| shown);
    let view = |shown| CommandView {
        word: "tests not counted".to_owned(),
        text: format!("`{}` exit code 0, no count", plain::line(shown)),
    };
    shown.map(view).collect()
}

/// Why no tests ran on code that was judged, once for each reason.
fn untested(run_state: &RunState) -> BTreeSet<String> {
    let check = ProjectCommand::Test.check();
    let is_code = |review_loop: &&Loop| {
        let artifact = run_state.about.chain.as_ref().map(|note| note.artifact);
        green::judges(review_loop.policy().of, artifact.is_none_or(|made| made == Artifact::Implementation))
    };
    // A check that is switched off has no result, so its reason comes from the settings.
    let why = |review_loop: &Loop| match review_loop.policy().checks.contains(&check) {
        true => review_loop.unchecked().get(&check).map(|why| plain::line(why)),
        false => Some(format!("{check} is switched off (gates.off)")),
    };
    // The last landing counts: a branch that moved may have lost its test command, or got one.
    let tests = run_state.commands.iter().filter(|note| note.command == ProjectCommand::Test);
    let last: BTreeMap<&str, &CommandNote> = tests.map(|note| (note.of(), note)).collect();
    let landed = last.into_values().filter_map(|note| match &note.answer {
        Answer::NoTests(why) if note.shown.is_empty() => Some(plain::line(why)),
        _ => None,
    });
    run_state.loops.values().filter(is_code).filter_map(why).chain(landed).collect()
}

/// Results of the project's own commands other than green: red before the change, flaky, or red and accepted by a
/// person.
///
/// Each is named once, with the number of trees on which it was so.
fn not_green(run_state: &RunState) -> Vec<CommandView> {
    let mut trees: BTreeMap<(&'static str, &str), (BTreeSet<&str>, &str)> = BTreeMap::new();
    for note in &run_state.commands {
        let word = match &note.answer {
            Answer::Green | Answer::NoTests(_) | Answer::NotRun(_) => continue,
            Answer::RedBefore(_) => "red before",
            Answer::FlakyBefore(_) | Answer::NewlyFlaky(_) => "flaky",
            // If it was fixed, its finding says so. Only what landed is listed here.
            Answer::Broken(_) if taken_red(run_state, note) => "red",
            Answer::JudgeChanged(_) if taken_red(run_state, note) => "judge changed",
            Answer::Broken(_) | Answer::JudgeChanged(_) => continue,
        };
        let (of_it, text) = trees.entry((word, &note.shown)).or_default();
        of_it.insert(&note.tree);
        *text = note.answer.text();
    }
    let view = |((word, shown), (trees, text)): (&(&'static str, &str), &(BTreeSet<&str>, &str))| {
        let on = words::count(trees.len(), "tree");
        let text = format!("`{}` on {on}: {}", plain::line(shown), plain::line(text));
        CommandView { word: (*word).to_owned(), text }
    };
    trees.iter().map(view).collect()
}

/// Whether a person accepted a command that the change broke.
fn taken_red(run_state: &RunState, note: &CommandNote) -> bool {
    let (id, plan) = (LoopId::new(note.of()), PlanId::new(note.of()));
    // Only the last run of the command counts. An earlier red one was put right.
    let last =
        run_state.commands.iter().rev().find(|one| one.of() == note.of() && one.command == note.command);
    let by_person = run_state.accepter(&id).is_some() || !run_state.accepters(&plan).is_empty();
    last == Some(note) && by_person
}

/// How many unread answers a report lists.
const UNREAD_SHOWN: usize = 10;

/// Parts of reviewers' answers that could not be read.
fn not_read(run_state: &RunState) -> Vec<String> {
    let of = |launch: &LaunchNote| question::subject(launch.of());
    let each = run_state.launches.iter().flat_map(|launch| {
        let of = of(launch);
        let line =
            move |what: &String| format!("an answer about {of} was not read whole: {}", plain::line(what));
        launch.unread.iter().map(line)
    });
    let mut notes: Vec<String> = Vec::new();
    // A reviewer that is asked again often repeats itself.
    for note in each {
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    let more = notes.len().saturating_sub(UNREAD_SHOWN);
    notes.truncate(UNREAD_SHOWN);
    if more > 0 {
        notes.push(format!("and {more} more that could not be read; `tribunal log` shows them"));
    }
    notes
}

/// How much of the change a reviewer was shown, in words.
fn shown_words(shown: Shown) -> String {
    match shown.parts {
        0 | 1 => shown.to_string(),
        parts => format!("{shown}, in {parts} parts"),
    }
}

impl Told {
    fn new(review_loop: &Loop) -> Told {
        // Carried findings are the first thing that the loop's builder works on.
        Told { ordered: review_loop.ledger().iter().map(|(id, _)| id).collect(), ..Told::default() }
    }

    /// Takes an event that the loop has taken already.
    fn take(&mut self, review_loop: &Loop, event: &LoopEvent) {
        match event {
            LoopEvent::RoundBegan { .. } => {
                // The round is compared with the ledger as it is now: no finding changes when a round begins.
                let live = review_loop.ledger().iter().filter(|(_, entry)| entry.fate.is_live());
                self.before = live.map(|(id, entry)| (id, entry.severity)).collect();
                self.marks.clear();
                self.raised.clear();
            }
            LoopEvent::Decided(decision) if matches!(decision.choice, Choice::Fixed(_)) => {
                // A person's fix counts as tried for everything that was open, because nobody says what it was for.
                let findings = review_loop.ledger().open().map(|(id, _)| id).collect();
                let by = Some(decision.by.clone());
                // The fix begins a round of its own, and was made in the one before.
                let round = review_loop.round().saturating_sub(1);
                self.tries.push(Try { round, effect: String::new(), findings, replies: BTreeMap::new(), by });
            }
            event => self.applied(review_loop, event),
        }
    }

    fn applied(&mut self, review_loop: &Loop, event: &LoopEvent) {
        match event {
            LoopEvent::Checked { effect, checked } => {
                // Collected to tell silence from a repeated claim when the round is compared.
                self.raised.extend(checked.findings.iter().map(|claim| claim.claim.clone()));
                let verdict = if checked.findings.is_empty() { LastWord::Passed } else { LastWord::Failed };
                self.word(effect, Word { verdict, is_check: true, ..Word::default() });
            }
            LoopEvent::Unchecked { effect, .. } => {
                let verdict = LastWord::DidNotRun;
                self.word(effect, Word { verdict, is_check: true, ..Word::default() });
            }
            LoopEvent::Answered { effect, answer, shown, .. } => {
                self.raised.extend(answer.raised.iter().map(|claim| claim.claim.clone()));
                let verdict = match answer.verdict {
                    Verdict::Reject if answer.fundamental => LastWord::Fundamental,
                    verdict => LastWord::Verdict(verdict),
                };
                let checked = plain::clipped(&answer.checked, 300);
                self.word(effect, Word { verdict, checked, shown: shown_words(*shown), ..Word::default() });
            }
            LoopEvent::VerdictKept { effect, shown } => self.kept_word(effect, *shown),
            LoopEvent::PartAnswered { answer, .. } => {
                self.raised.extend(answer.raised.iter().map(|claim| claim.claim.clone()));
            }
            LoopEvent::NotCovered { effect, answer, shown } => {
                self.raised.extend(answer.raised.iter().map(|claim| claim.claim.clone()));
                let word = Word { shown: shown_words(*shown), ..Word::default() };
                self.word(effect, word);
            }
            LoopEvent::TooLarge { effect, shown } => {
                let word = Word { shown: shown_words(*shown), ..Word::default() };
                self.word(effect, word);
            }
            LoopEvent::Tracked { findings, .. } => {
                self.marks.extend(findings.iter().map(|finding| (finding.id, finding.mark)));
            }
            LoopEvent::ReworkOrdered { fixers } => {
                self.ordered =
                    fixers.iter().flat_map(|assignment| assignment.findings.iter().copied()).collect();
                let assignment = |assignment: &FixAssignment| {
                    (assignment.builder.clone(), assignment.findings.iter().copied().collect())
                };
                self.shares = fixers.iter().map(assignment).collect();
            }
            LoopEvent::Made { effect, replies, .. } => {
                // With several fixers each one answers for its own share only.
                let own = match &effect.step {
                    Step::Make(builder) => self.shares.get(builder).cloned(),
                    _ => None,
                };
                let findings = own.unwrap_or_else(|| self.ordered.clone());
                let (round, replies) = (review_loop.round(), replies.clone());
                self.tries.push(Try { round, effect: effect.to_string(), findings, replies, by: None });
            }
            LoopEvent::Ruled { ruling } => self.ruled(review_loop, ruling),
            LoopEvent::Ended { .. } => self.settle(review_loop),
            _ => {}
        }
    }

    /// A verdict that a final pass leaves standing covers everything that earlier rounds showed.
    fn kept_word(&mut self, effect: &EffectId, shown: Shown) {
        let who = plain::line(&events::who(&effect.step));
        for (_, word) in self.words.iter_mut().filter(|(_, word)| word.who == who) {
            word.shown = format!("{}, in earlier rounds", shown_words(shown));
        }
    }

    /// Keeps the last answer of a reviewer or check.
    fn word(&mut self, effect: &EffectId, word: Word) {
        let who = plain::line(&events::who(&effect.step));
        // A reviewer that is asked again replaces its earlier answer.
        self.words.retain(|(_, known)| known.who != who);
        self.words.push((effect.to_string(), Word { who, ..word }));
    }

    fn ruled(&mut self, review_loop: &Loop, ruling: &Ruling) {
        let round = Round {
            // A first round has nothing to be compared with.
            delta: if review_loop.round() > 1 { self.delta(review_loop) } else { CycleDelta::default() },
            open: [0; 3],
            bar: self.bar(review_loop),
            ruling: Some(ruling.clone()),
        };
        let open = open_after(review_loop, &round.delta);
        // A round that is judged again, after a question or in full, is still one round.
        self.rounds.retain(|known| known.bar.round != round.bar.round);
        self.rounds.push(Round { open, ..round });
        // Only the record of a chain lists them round by round, and wording every finding takes a while.
        if review_loop.policy().of == Use::Chain {
            self.found.insert(review_loop.round(), standing(review_loop));
        }
        self.settle(review_loop);
    }

    fn settle(&mut self, review_loop: &Loop) {
        let round = review_loop.round();
        for (id, entry) in review_loop.ledger().iter() {
            if entry.fate.is_settled() {
                self.settled.entry(id).or_insert(round);
            } else {
                // A finding can come back. Then it is settled no longer.
                self.settled.remove(&id);
            }
        }
    }

    /// Every review round of an artifact, as its chain records it.
    fn iterations(&self, review_loop: &Loop, said: &BTreeMap<String, String>) -> Vec<Iteration> {
        let alone = review_loop.policy().reviewers.is_empty();
        let one = |round: &Round| {
            let number = round.bar.round;
            // The fix for a round is made in the round before it.
            let tries: Vec<&Try> = self.tries.iter().filter(|one| one.round + 1 == number).collect();
            let changes = tries.iter().filter_map(|one| match &one.by {
                Some(by) => Some(format!("fixed by {}", plain::line(by))),
                None => said.get(&one.effect).cloned(),
            });
            let mut changes: Vec<String> = changes.collect();
            if tries.is_empty() {
                changes.push("what the plans built, as it landed".to_owned());
            }
            Iteration {
                number,
                decision: decision(round.ruling.as_ref(), alone).to_owned(),
                changes: changes.join(" "),
                answers: tries.iter().flat_map(|one| answers(review_loop, one)).collect(),
                findings: self.found.get(&number).cloned().unwrap_or_default(),
            }
        };
        self.rounds.iter().map(one).collect()
    }

    /// What the round changed, from the ledger before it and after it.
    fn delta(&self, review_loop: &Loop) -> CycleDelta {
        let mut now = BTreeMap::new();
        for (id, entry) in review_loop.ledger().iter() {
            let known = self.before.contains_key(&id);
            if !known && !entry.fate.is_live() {
                continue;
            }
            let said = entry.words().iter().any(|words| self.raised.contains(&words.claim.claim));
            // Silent: advisory or deferred, and nobody repeated it in this round. An open must-fix finding counts as
            // present.
            let silent = !entry.is_open_must_fix() && !said;
            let standing = match &entry.fate {
                fate if fate.is_gone() => Standing::Gone,
                _ if known && silent => Standing::Silent,
                _ => Standing::Present,
            };
            let mark = self.marks.get(&id).copied().filter(|mark| *mark != Mark::Persistent);
            now.insert(id, Now { severity: entry.severity, standing, mark: mark.unwrap_or(Mark::New) });
        }
        cycle_delta(&self.before, &now)
    }

    fn bar(&self, review_loop: &Loop) -> Bar {
        let mut bar = Bar { round: review_loop.round(), ..Bar::default() };
        for (id, entry) in review_loop.ledger().iter() {
            let fresh = entry.first_round == bar.round || self.marks.get(&id) == Some(&Mark::Reopened);
            match &entry.fate {
                fate if fate.is_settled() => bar.settled += 1,
                _ if entry.is_open_must_fix() && fresh => bar.new += 1,
                _ if entry.is_open_must_fix() => bar.old += 1,
                _ => bar.aside += 1,
            }
        }
        bar
    }

    /// Whether the last version was never judged because the same version was judged before.
    fn returned(&self, review_loop: &Loop) -> bool {
        // The loop may have ended so, or still ask a person about it.
        let stale = review_loop.outcome() == Some(&Outcome::Stale)
            || review_loop.question().is_some_and(|asked| asked.why == Why::Stale);
        stale && self.tries.last().is_some_and(|last| last.round == review_loop.round())
    }

    fn part(&self, run_state: &RunState, review_loop: &Loop) -> Part {
        let waits = review_loop.question().map(|asked| question::asked(asked, review_loop.rounds_max()));
        let outcome = run_state.outcome(review_loop.id());
        Part {
            id: review_loop.id().to_string(),
            subject: question::subject(review_loop.id().as_str()),
            outcome,
            waits: waits.unwrap_or_default(),
            rounds_max: review_loop.rounds_max(),
            rounds: self.rounds.clone(),
            words: self.words.iter().map(|(effect, word)| on_record(run_state, effect, word)).collect(),
            spoken: spoken::of_loop(run_state, review_loop.id()),
        }
    }
}

/// What is there after a round, or was found in it.
fn standing(review_loop: &Loop) -> Vec<Found> {
    let round = review_loop.round();
    let here = |entry: &Entry| entry.first_round == round || entry.fate.is_live() || entry.is_open_must_fix();
    let entries = review_loop.ledger().iter().filter(|(_, entry)| here(entry));
    entries.map(|(id, entry)| found(id, entry)).collect()
}

/// The answer to each finding that one version was made for.
fn answers(review_loop: &Loop, one: &Try) -> Vec<Answered> {
    let fate = |id: &FindingId| review_loop.ledger().get(*id).map(|entry| &entry.fate);
    let word = |id: &FindingId| match (one.replies.get(id), fate(id)) {
        (Some(Reply::CannotFix(why)), _) => format!("cannot be fixed: {}", plain::line(why)),
        (Some(reply), _) => reply_words(reply),
        (None, Some(Fate::Fixed)) => "fixed (the builder said nothing of it)".to_owned(),
        (None, _) => "not answered".to_owned(),
    };
    one.findings.iter().map(|id| Answered { id: id.to_string(), word: word(id) }).collect()
}

/// How many findings are open after a round, by severity.
///
/// After the first round they are the sum of the table's rows, so that the table and the totals cannot disagree.
fn open_after(review_loop: &Loop, delta: &CycleDelta) -> [usize; 3] {
    let severities = [Severity::Blocker, Severity::Warning, Severity::Suggestion];
    if review_loop.round() > 1 {
        let after = delta.progression();
        return severities
            .map(|severity| after.iter().find(|row| row.severity == severity).map_or(0, |row| row.after));
    }
    let live = || review_loop.ledger().iter().filter(|(_, entry)| entry.fate.is_live());
    severities.map(|severity| live().filter(|(_, entry)| entry.severity == severity).count())
}

/// An answer, with the commands that were run for it and with who gave it.
fn on_record(run_state: &RunState, effect: &str, word: &Word) -> Word {
    // The last launch of the effect gave the answer; earlier ones were lost.
    let launch = run_state.launches_for(effect).next_back();
    let ran = launch.into_iter().flat_map(|launch| &launch.ran);
    let line = |ran: &Ran| {
        let how = match (ran.early, ran.passed) {
            (true, _) => "had not ended when it voted",
            (false, true) => "passed",
            (false, false) => "failed",
        };
        format!("`{}` {how}", plain::line(&ran.command))
    };
    let identity = launch.and_then(|launch| launch.identity.clone());
    let verdict = of_command(run_state, effect).map_or_else(|| word.verdict.clone(), LastWord::Command);
    Word { ran: ran.map(line).collect(), identity, verdict, ..word.clone() }
}

/// The verdict of a check that ran one of the project's commands and is not simply passed or failed.
fn of_command(run_state: &RunState, effect: &str) -> Option<String> {
    command_verdict(run_state.commands.iter().rev().find(|note| note.effect == effect)?)
}

/// The verdict for one command's note; none where it simply passed or failed.
pub fn command_verdict(note: &CommandNote) -> Option<String> {
    let word = match &note.answer {
        Answer::RedBefore(_) => "red before",
        Answer::FlakyBefore(_) | Answer::NewlyFlaky(_) => "flaky",
        Answer::NoTests(_) => "no tests ran",
        Answer::Green | Answer::Broken(_) | Answer::JudgeChanged(_) | Answer::NotRun(_) => return None,
    };
    Some(format!("{word} ({})", plain::line(note.answer.text())))
}
