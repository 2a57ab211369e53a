//! Turns the journal's facts into the views that people see. It copies and counts; the words belong to `tribunal-view`,
//! the decisions to `tribunal-core`.
//!
//! The state comes from the `RunState`; the `Chronicle` adds what that does not keep, such as times and what was said in
//! each round. Both are parts of a `History`, so a page, a report and a progress line made from one journal agree.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tribunal_core::gate::GateResult;
use tribunal_core::ids::{FindingId, LoopId, PlanId};
use tribunal_core::ledger::Entry;
use tribunal_core::review_loop::{Loop, LoopStage, Outcome};
use tribunal_core::run::{Ending, Job, Run, RunEvent, Standing};
use tribunal_engine::budget::dollars;
use tribunal_engine::history::Chronicle;
use tribunal_engine::inbox::{self, OpenQuestion, Reaction};
use tribunal_engine::mail::Body;
use tribunal_engine::review::{commands, entry_number, escalated, last_word, refused, unreviewed};
use tribunal_engine::run_state::ChainNote;
use tribunal_engine::spoken;
use tribunal_engine::who;
use tribunal_engine::{Fact, Note, RunState};
use tribunal_journal::Mail;
use tribunal_view::events::{self, Event, Kind, Topic};
use tribunal_view::facts::{
    Activity, EffortView, FindingView, LoopView, OfferView, PlanState, PlanView, QuestionView, RunView, WAITS,
};
use tribunal_view::provenance::Provenance;
use tribunal_view::{branch, plain, question, sandbox, summary, words};
use tribunal_world::Artifact;

/// The most discovered issues that a report lists.
const DISCOVERED_MAX: usize = 20;

/// What is known about the run beside its journal: files, settings and whether somebody runs it.
///
/// It is gathered by the caller, because looking at files is not the business of a fold.
#[derive(Clone, Debug, Default)]
pub struct Around {
    pub id: String,
    /// An orchestrator is running it now.
    pub live: bool,
    /// Where its report is, if there is one.
    pub report: Option<PathBuf>,
    /// Where the review of its findings is, if there is one.
    pub review: Option<PathBuf>,
    /// What its settings let through, in words.
    pub gates: Vec<String>,
    /// The phase after this one, if there is one.
    pub next_phase: Option<String>,
}

/// The run as people see it.
///
/// Every face shows a run from this one view: `status`, `show`, the report, the browser, the terminal and `--json`. Add
/// a fact here rather than in one of them.
pub fn run_view(run_state: &RunState, chronicle: &Chronicle, around: &Around) -> RunView {
    let run = run_state.run.as_ref();
    let findings = findings(run_state, chronicle);
    let discovered = discovered(run_state, &findings);
    let about = &run_state.about;
    let take = to_take(run_state, chronicle, &around.id);
    let phase = Path::new(&about.phase_path).file_name().map(|name| name.to_string_lossy().into_owned());
    // A run of a chain that makes a document has no phase; it is called by the command and the feature.
    let made = about.chain.as_ref().filter(|_| about.phase.is_empty());
    let made = made.map(|chain| format!("{}-{}", chain.artifact.command(), chain.feature));
    let mut view = RunView {
        id: around.id.clone(),
        phase: plain::line(&phase.or(made).unwrap_or_else(|| about.phase.clone())),
        artifact: about.artifact(),
        asked: about.asked.is_some(),
        stage: run.map(Run::stage),
        ending: run.and_then(Run::ending),
        live: around.live,
        branch: plain::line(&about.branch),
        base: about.base.clone(),
        tip: run.and_then(Run::tip).map(|tip| tip.as_str().to_owned()),
        containment: about.containment.clone(),
        sandbox: about.sandbox.clone(),
        unkept: about.unkept(),
        let_through: around.gates.clone(),
        began: run_state.began.map_or(0, |began| began.0),
        at: run_state.at.0,
        plans: run.map(|run| plans(run_state, run)).unwrap_or_default(),
        loops: chronicle.order.iter().filter_map(|id| loop_view(run_state, chronicle, id)).collect(),
        findings,
        running: running(run_state, chronicle),
        questions: questions(run_state, &around.id),
        decisions: chronicle.decisions.iter().map(|decided| decided.words.clone()).collect(),
        effort: effort(run_state, chronicle),
        refused_landings: chronicle.refused.clone(),
        finish: chronicle.finish.iter().map(|text| plain::line(text)).collect(),
        commands: commands(run_state),
        already_there: run_state.already_there.iter().map(ToString::to_string).collect(),
        who: who::of_run(run_state),
        unreviewed: [unreviewed(run_state), around.gates.clone()].concat(),
        warnings: run_state
            .warnings
            .iter()
            .map(|text| plain::line(text))
            .chain(left_behind(run_state))
            .collect(),
        escalated: escalated(run_state),
        refused: refused(run_state),
        discovered,
        report: around.report.as_deref().map(crate::config::shown),
        review: around.review.as_deref().map(crate::config::shown),
        next: next(run_state, take.as_ref(), around),
        held: run.and_then(Run::held).map(branch::held),
        take,
        care: [&about.effort, &about.autonomy]
            .map(String::as_str)
            .join(", ")
            .trim_matches([',', ' '])
            .to_owned(),
        happened: String::new(),
    };
    view.happened = summary::sentences(&view);
    view
}

/// Warnings about agents that left processes running, which were ended.
fn left_behind(run_state: &RunState) -> impl Iterator<Item = String> {
    let left = run_state.launches.iter().filter(|launch| launch.left_behind > 0);
    left.map(|launch| {
        let of = launch.effect.split('.').next().unwrap_or_default();
        format!("{} of {of} left processes running: {}, all ended", launch.role, launch.left_behind)
    })
}

/// Every finding once. A loop that took a finding over has the last word on it.
fn findings(run_state: &RunState, chronicle: &Chronicle) -> Vec<FindingView> {
    let view = |(id, entry, review_loop): (FindingId, Cow<'_, Entry>, &Loop)| FindingView {
        provenance: chronicle.origins.of(id),
        identities: spoken::identities(run_state, review_loop.id(), &entry),
        ..FindingView::of(id, &entry, review_loop.id().as_str())
    };
    last_word(run_state).into_iter().map(view).collect()
}

fn plans(run_state: &RunState, run: &Run) -> Vec<PlanView> {
    run.standings()
        .map(|(id, standing)| {
            let spec = run.spec().plans.iter().find(|plan| plan.id == *id);
            let title = run_state.about.titles.get(id).map(|title| plain::line(title)).unwrap_or_default();
            let (wave, tasks) = spec.map_or((0, 0), |spec| (spec.wave, spec.tasks));
            let built = built(run_state, id);
            let view = PlanView { id: id.to_string(), title, wave, built, ..PlanView::default() };
            let view = stand(view, run_state, id, tasks, &standing);
            if run.ending().is_some() { over(view) } else { view }
        })
        .collect()
}

/// What the builders of a plan say they built; a later report on a task replaces an earlier one.
fn built(run_state: &RunState, plan: &PlanId) -> String {
    let prefix = format!("{plan}/task-");
    let mut said: BTreeMap<&str, &str> = BTreeMap::new();
    for launch in
        run_state.launches.iter().filter(|launch| launch.role == "dev" && !launch.summary.is_empty())
    {
        let task = launch.effect.strip_prefix(&prefix).and_then(|rest| rest.split('.').next());
        // Launches come in the order of the journal, so a later report replaces an earlier one.
        task.into_iter().for_each(|task| _ = said.insert(task, &launch.summary));
    }
    let said: Vec<String> = said.values().map(|text| plain::clipped(text, 160)).collect();
    plain::clipped(&said.join(" "), 300)
}

fn stand(view: PlanView, run_state: &RunState, id: &PlanId, tasks: u32, standing: &Standing<'_>) -> PlanView {
    let with = |state: PlanState, gate: &str, verdict: &str| PlanView {
        state,
        gate: gate.to_owned(),
        verdict: verdict.to_owned(),
        ..view.clone()
    };
    match standing {
        Standing::Ready => with(PlanState::Waiting, "", "waiting"),
        Standing::Gating => at_loop(with(PlanState::Gating, "plan", "opening"), run_state, id),
        Standing::Working(job) => {
            let gate = match job {
                Job::Task(n) => format!("task {n}/{tasks}"),
                Job::Repair => "repair".to_owned(),
                Job::Qa => "qa".to_owned(),
            };
            at_loop(with(PlanState::Building, &gate, "making"), run_state, id)
        }
        Standing::Summary => with(PlanState::Building, "summary", "writing"),
        Standing::Queued => with(PlanState::Landing, "landing", "approved"),
        Standing::Stuck(stuck) => with(PlanState::Stuck, &short_was(stuck.was), stuck.outcome.word()),
        Standing::Landed(_) => {
            let (warned, names) = (warned(run_state, id), run_state.accepters(id));
            let verdict = match names.is_empty() {
                true if warned => "passed with warnings".to_owned(),
                true => "passed".to_owned(),
                false => format!("accepted by {}", plain::line(&words::and(&names))),
            };
            let with_warnings = warned || !names.is_empty();
            // A landing goes to the run's own branch. Only a good end means that the user's branch has it, so "landed"
            // before that would be wrong.
            let there = run_state.run.as_ref().and_then(|run| run.ending()).is_some_and(Ending::is_good);
            let landed = if there { "landed" } else { "merged" };
            PlanView { with_warnings, ..with(PlanState::Landed, landed, &verdict) }
        }
        Standing::Refused(outcome) => with(PlanState::Refused, "plan", outcome.word()),
        Standing::Dropped(_) => with(PlanState::Dropped, "", "dropped"),
    }
}

/// A plan of a run that is over: it landed, was refused or dropped, or is left behind.
fn over(view: PlanView) -> PlanView {
    match view.state {
        PlanState::Landed | PlanState::Refused | PlanState::Dropped | PlanState::Abandoned => view,
        PlanState::Waiting
        | PlanState::Gating
        | PlanState::Building
        | PlanState::Landing
        | PlanState::Stuck => {
            PlanView { state: PlanState::Abandoned, verdict: "not landed".to_owned(), ..view }
        }
    }
}

fn short_was(was: tribunal_core::run::Was) -> String {
    use tribunal_core::run::Was;
    match was {
        Was::Loop(Job::Task(n)) => format!("task {n}"),
        Was::Loop(Job::Repair) => "repair".to_owned(),
        Was::Loop(Job::Qa) => "qa".to_owned(),
        Was::Summary => "summary".to_owned(),
        Was::Landing => "landing".to_owned(),
    }
}

fn loops_of<'a>(run_state: &'a RunState, plan: &PlanId) -> impl Iterator<Item = &'a Loop> {
    let prefix = format!("{plan}/");
    run_state.loops.values().filter(move |review_loop| review_loop.id().as_str().starts_with(&prefix))
}

fn at_loop(view: PlanView, run_state: &RunState, id: &PlanId) -> PlanView {
    // The loop that still runs counts before one that has ended, and a later loop before an earlier one.
    let live = loops_of(run_state, id)
        .max_by_key(|review_loop| (review_loop.outcome().is_none(), entry_number(review_loop.id())));
    let Some(review_loop) = live else { return view };
    let verdict = match (review_loop.stage(), review_loop.round()) {
        (LoopStage::Making, 1..) => "rework",
        // People know these states as a part of the review.
        (LoopStage::Tracking | LoopStage::Ruled, _) => LoopStage::Judging.word(),
        (LoopStage::Waiting, _) => WAITS,
        (LoopStage::Ended | LoopStage::Closing, _) => review_loop.outcome().map_or("ending", Outcome::word),
        (stage, _) => stage.word(),
    };
    let verdict = verdict.to_owned();
    PlanView { verdict, round: review_loop.round(), rounds_max: review_loop.rounds_max(), ..view }
}

fn warned(run_state: &RunState, plan: &PlanId) -> bool {
    let with = |review_loop: &Loop| matches!(review_loop.outcome(), Some(Outcome::PassedWithWarnings));
    loops_of(run_state, plan).any(with)
}

fn loop_view(run_state: &RunState, chronicle: &Chronicle, id: &LoopId) -> Option<LoopView> {
    let review_loop = run_state.loops.get(id)?;
    let (began, ended) = chronicle.spans.get(id).copied().unwrap_or_default();
    let launches = run_state.launches_of(id.as_str());
    Some(LoopView {
        id: id.to_string(),
        plan: id.as_str().split_once('/').map(|(plan, _)| plan.to_owned()),
        of: review_loop.policy().of.word().to_owned(),
        state: review_loop.stage(),
        outcome: run_state.outcome(id),
        round: review_loop.round(),
        rounds_max: review_loop.rounds_max(),
        iterations: review_loop.iterations(),
        revision: review_loop.revision().map(|revision| revision.as_str().to_owned()),
        findings: review_loop.ledger().iter().map(|(id, _)| id).collect(),
        rounds: chronicle.rounds.get(id).cloned().unwrap_or_default(),
        // The last fact and not the clock: the same rows always give the same view.
        ms: ended.unwrap_or(run_state.at.0).saturating_sub(began),
        cost_micros: launches.map(|launch| launch.cost_micros).sum(),
        spoken: spoken::of_loop(run_state, id),
    })
}

fn running(run_state: &RunState, chronicle: &Chronicle) -> Vec<Activity> {
    let of_loops = run_state.loops.values().flat_map(|review_loop| review_loop.intents().iter());
    let of_run = run_state.run.iter().flat_map(|run| run.intents());
    of_loops
        .chain(of_run)
        .map(|(effect, _)| Activity {
            of: effect.of.to_string(),
            who: events::who(&effect.step),
            since: chronicle.started.get(effect).copied().unwrap_or(run_state.at.0),
        })
        .collect()
}

fn effort(run_state: &RunState, chronicle: &Chronicle) -> EffortView {
    let mut effort = EffortView { failures: chronicle.failures, ..EffortView::default() };
    // A launch that was killed cost something, too.
    for launch in run_state.launches.iter().chain(&run_state.killed) {
        effort.launches += 1;
        effort.agent_ms += launch.ms;
        effort.tokens_in += launch.tokens_in;
        effort.tokens_out += launch.tokens_out;
        effort.cost_micros += launch.cost_micros;
        // Counted, so that a report can say that the sum of the costs is too low.
        effort.unpriced += u64::from(launch.cost_unknown && launch.tokens_in + launch.tokens_out > 0);
    }
    effort
}

/// Issues that builders came upon and findings that are older than the change: each once, and not more than anybody
/// would read.
fn discovered(run_state: &RunState, findings: &[FindingView]) -> Vec<String> {
    let told = run_state.launches.iter().flat_map(|launch| launch.discovered.iter().cloned());
    let before = findings
        .iter()
        .filter(|finding| finding.provenance == Some(Provenance::PreExisting) && finding.fate.stands());
    let before = before.map(|finding| match finding.place.is_empty() {
        true => finding.claim.clone(),
        false => format!("{} ({})", finding.claim, finding.place),
    });
    let mut seen = std::collections::BTreeSet::new();
    let mut issues = Vec::new();
    for issue in told.chain(before).map(|issue| plain::clipped(&issue, 300)) {
        // Several agents report one issue with other punctuation; it is listed once.
        let key: String = issue.to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect();
        if !key.is_empty() && seen.insert(key) && issues.len() < DISCOVERED_MAX {
            issues.push(issue);
        }
    }
    issues
}

/// The one command that takes the landed result, if the user's branch does not have it.
fn to_take(run_state: &RunState, chronicle: &Chronicle, id: &str) -> Option<String> {
    let run = run_state.run.as_ref().filter(|run| run.ending().is_some() || run.held().is_some())?;
    let landed = run.standings().any(|(_, standing)| matches!(standing, Standing::Landed(_)));
    // A result that the review of the whole did not approve is not offered to anybody.
    let judged_whole = run.spec().review || run.spec().chain.is_some();
    let landed = landed && run.ending().is_some() && !chronicle.forwarded && !judged_whole;
    // Take exactly what was judged. If the branch is known to have moved, it cannot be fast-forwarded, so the result
    // can be kept on a branch of its own.
    let left = || {
        landed.then(|| match chronicle.moved {
            true => format!("git branch result-{id} refs/tribunal/{id}/head"),
            false => format!("git merge --ff-only refs/tribunal/{id}/head"),
        })
    };
    run_state.left.as_deref().map(plain::line).or_else(left)
}

/// The question of a run that its budget stopped: a person says whether more may be spent.
///
/// The machines do not ask it, so it is made here from the note, with commands in place of answers.
fn spent_question(run_state: &RunState, run: &str) -> Option<QuestionView> {
    let over = run_state.run.as_ref().is_some_and(|run| run.ending().is_some());
    // A run that is over needs no larger budget.
    let spent = run_state.spent.filter(|_| !over)?;
    let offer = |word: &str, command: String, meaning: &str| OfferView {
        word: word.to_owned(),
        command,
        meaning: meaning.to_owned(),
    };
    Some(QuestionView {
        spoken: Vec::new(),
        id: format!("{run}.budget"),
        run: run.to_owned(),
        subject: "budget".to_owned(),
        why: spent.to_string(),
        offers: vec![
            offer(
                "more",
                format!("tribunal resume {run} --set {}", spent.more()),
                "go on with a larger budget",
            ),
            offer(
                "cancel",
                format!("tribunal cancel {run}"),
                "end the run; what is merged stays in the run branch",
            ),
        ],
        ..QuestionView::default()
    })
}

fn next(run_state: &RunState, take: Option<&String>, around: &Around) -> Vec<String> {
    let (id, phase) = (&around.id, &run_state.about.phase);
    let show = format!("tribunal show {id}");
    let take = take.cloned();
    let ending = run_state.run.as_ref().and_then(Run::ending);
    match (ending, &run_state.about.chain) {
        // A document is followed by the next artifact of its feature, not by another phase.
        (Some(ending), Some(chain)) if chain.artifact != Artifact::Implementation => {
            return take.into_iter().chain([show, next_of_chain(chain, ending)]).collect();
        }
        _ => {}
    }
    match ending {
        None => Vec::new(),
        Some(ending) if run_state.about.asked.is_some() => {
            let good = ending.is_good().then(|| "tribunal do --continue \"more words\"".to_owned());
            take.into_iter().chain([show]).chain(good).collect()
        }
        Some(_) if run_state.about.review.is_some() => take.into_iter().chain([show]).collect(),
        Some(Ending::Passed) => {
            let first = take.unwrap_or_else(|| "git log --oneline -10".to_owned());
            let uat = crate::commands::uat::wanted(ending, &run_state.about.autonomy);
            let uat = uat.then(|| format!("tribunal uat {phase}"));
            let further = around.next_phase.as_ref().map(|phase| format!("tribunal run {phase}"));
            [first, show].into_iter().chain(uat).chain(further).collect()
        }
        Some(Ending::Concerns) => [take.unwrap_or_else(|| "git log --oneline -10".to_owned()), show].into(),
        // Taking the landed part comes first: the next run builds on the user's branch.
        Some(_) => take.into_iter().chain([show, format!("tribunal run {phase}")]).collect(),
    }
}

/// The command that comes after an artifact, or the same command if its gate stayed shut.
fn next_of_chain(chain: &ChainNote, ending: Ending) -> String {
    let goes_on = matches!(ending, Ending::Passed | Ending::Concerns);
    let after = Artifact::ALL.into_iter().find(|after| goes_on && *after > chain.artifact);
    format!("tribunal {} {}", after.unwrap_or(chain.artifact).command(), chain.feature)
}

/// Open questions as people see them, without the place where a person may fix things.
///
/// Finding that place means looking at the disk; `commands::run::add_places` does it for those who show it.
pub fn questions(run_state: &RunState, run: &str) -> Vec<QuestionView> {
    let open = inbox::questions(run_state);
    open.iter().map(|open| question_view(open, run)).chain(spent_question(run_state, run)).collect()
}

/// One open question with the commands that answer it.
pub fn question_view(open: &OpenQuestion, run: &str) -> QuestionView {
    let words: Vec<&str> = open.offers.iter().map(|offer| offer.word()).collect();
    let of = |(id, entry): &(FindingId, Entry)| FindingView::of(*id, entry, open.effect.of.as_str());
    QuestionView {
        id: open.id.clone(),
        run: run.to_owned(),
        subject: plain::line(&open.subject),
        why: plain::line(&open.why),
        offers: question::offers(&open.id, run, &words),
        findings: open.findings.iter().map(of).collect(),
        place: None,
        answered: None,
        spoken: open.spoken.clone(),
    }
}

/// Marks questions whose answer is in the mailbox and has not been read by the run.
///
/// Until the run reads it, the journal still shows the question as open; without the mark a person would answer twice.
pub fn mark_answered(view: &mut RunView, run_state: &RunState, mail: &[Mail]) {
    let open = inbox::questions(run_state);
    for question in &mut view.questions {
        let effect = open.iter().find(|open| open.id == question.id).map(|open| open.effect.to_string());
        // The key of an answer is the effect it answers.
        let message = mail.iter().find(|mail| !mail.done && Some(&mail.message.key) == effect.as_ref());
        question.answered =
            message.and_then(|mail| Body::read(&mail.message).ok()).map(|body| answer_words(&body));
    }
}

/// An answer in short: `again, by ann`.
pub fn answer_words(body: &Body) -> String {
    let (by, word) = match body {
        Body::Decide { decision, .. } => (&decision.by, Reaction::of_choice(&decision.choice).word()),
        Body::DecideLane { decision, .. } => {
            (&decision.by, Reaction::of_lane_choice(&decision.choice).word())
        }
        Body::DecideHeld { decision, .. } => (&decision.by, Reaction::of_held_choice(decision.choice).word()),
        Body::Cancel { by } => (by, "cancel"),
        Body::Drop { by, .. } => (by, "drop"),
        Body::Editor(remark) => (&remark.by, "a remark"),
        Body::Waive(waiver) => (&waiver.by, "waive"),
    };
    format!("{word}, by {}", plain::clipped(by, 100))
}

/// A committed fact as a public event; `None` if it is not part of the public vocabulary.
///
/// Public events are few and stable, while the journal's own may change with a migration. Nothing outside should read
/// facts directly.
pub fn event(run: &str, seq: u64, at: u64, fact: &Fact) -> Option<Event> {
    let (of, what) = match fact {
        Fact::Run(event) => ("run".to_owned(), events::of_run(event)?),
        Fact::Loop(id, event) => (id.to_string(), events::of_loop(id, event)?),
        Fact::Note(note) => (note.of().to_owned(), note_kind(note)?),
    };
    let of = match (&what, fact) {
        // Readers follow a plan, so its landings and questions are filed under it and not under the run.
        (_, Fact::Run(event)) => plan_of(event).map_or(of, |plan| plan.to_owned()),
        _ => of,
    };
    Some(events::event(run, seq, at, &of, what))
}

/// The plan that an event of the run is about.
fn plan_of(event: &RunEvent) -> Option<&str> {
    match event {
        RunEvent::LaneAsked { plan, .. }
        | RunEvent::LaneDecided { plan, .. }
        | RunEvent::LaneOpened { plan } => Some(plan.as_str()),
        RunEvent::Intended { effect, .. }
        | RunEvent::Cleared { effect }
        | RunEvent::Failed { effect, .. }
        | RunEvent::LandingRefused { effect, .. }
        | RunEvent::Landed { effect, .. }
        | RunEvent::Summarised { effect, .. }
        | RunEvent::Checkpointed { effect, .. } => Some(effect.of.as_str()),
        _ => None,
    }
}

fn note_kind(note: &Note) -> Option<Kind> {
    Some(match note {
        Note::Run(about) if about.asked.is_some() => {
            let it = about.artifact().unwrap_or_default();
            events::note(Topic::Asked, &format!("“{it}”, for the branch {}", about.branch))
        }
        Note::Run(about) => {
            let it = about.artifact().unwrap_or_else(|| format!("phase {}", about.phase));
            events::note(Topic::Run, &format!("{it} on branch {}", about.branch))
        }
        Note::Promised { facts, .. } => events::note(
            Topic::Sandbox,
            &format!("the run goes on under another sandbox: {}", sandbox::words(facts)),
        ),
        Note::Warning(text) => events::note(Topic::Warning, text),
        Note::AlreadyThere { plan } => {
            let text = format!("the branch had it already: nothing of plan {plan} was left to land");
            events::note(Topic::Warning, &text)
        }
        Note::Left { command } => events::note(Topic::Left, &format!("to take the result: {command}")),
        Note::Spent(spent) => events::note(Topic::Budget, &spent.to_string()),
        Note::Raised(_) => events::note(Topic::Budget, "a person changed what may be spent"),
        Note::Traced { .. } => return None,
        Note::Editor(remark) => events::note(Topic::Editor, &remark.words()),
        Note::OutOfScope(out_of_scope) => {
            let files = out_of_scope.files.join(", ");
            events::note(
                Topic::OutOfScope,
                &format!("{} changed {files}, which was put back", out_of_scope.builder),
            )
        }
        Note::Assembled(review) => {
            let reviewers: Vec<&str> = review.reviewers.iter().map(|reviewer| reviewer.id.as_str()).collect();
            events::note(Topic::Panel, &format!("{} is reviewed by {}", review.target, reviewers.join(", ")))
        }
        Note::Filtered(filtered) if filtered.count == 0 => return None,
        Note::Filtered(filtered) => {
            let text = format!("{}: {} on lines that did not change", filtered.check, filtered.count);
            events::note(Topic::Filtered, &text)
        }
        // A command that passed is no news; the check says so already.
        Note::Command(note) if note.answer.is_green() => return None,
        Note::Command(note) => {
            // If no command is known, there is nothing to show.
            let shown = match note.shown.is_empty() {
                true => String::new(),
                false => format!("`{}`: ", note.shown),
            };
            let text = format!("{}: {shown}{}", note.command, note.answer.text());
            events::note(Topic::Command, &text)
        }
        Note::Judge(note) => events::note(Topic::Command, &note.text),
        // The protocol's log records every gate; people want to know only which ones are shut.
        Note::Gate(gate) if gate.ruling.result == GateResult::Pass => return None,
        Note::Gate(gate) => {
            let word = match gate.ruling.result {
                GateResult::Pass => "passed",
                GateResult::Fail => "failed",
                GateResult::DidNotRun => "did not run",
            };
            events::note(
                Topic::Gate,
                &format!("{} before the task {word}: {}", gate.gate, gate.ruling.evidence),
            )
        }
        Note::Resumed => events::note(Topic::Resumed, "the run goes on"),
        Note::Ignored { effect } => {
            events::note(Topic::Ignored, &format!("{effect} reported when nobody asked any more"))
        }
        Note::Lost(launch) => {
            let counts = match launch.cost_unknown {
                true => format!("the {} reserved for it count", dollars(launch.reserved_micros)),
                false => format!("its {} count", dollars(launch.cost_micros)),
            };
            let who = if launch.role.is_empty() { "an agent" } else { launch.role.as_str() };
            events::note(Topic::Lost, &format!("{who} was lost before it answered; {counts}"))
        }
        Note::Launch(launch) => {
            let said = |what: &str, list: &[String]| match list.is_empty() {
                true => String::new(),
                false => format!("; {what}: {}", list.join("; ")),
            };
            let more = said("not read", &launch.unread)
                + &said("for a person", &launch.escalated)
                + &said("refused", &launch.denied);
            let text = format!("{} ({}) ended{more}", launch.role, launch.agent);
            let figures = [
                ("ms", launch.ms),
                ("tokens_in", launch.tokens_in),
                ("tokens_out", launch.tokens_out),
                ("cost_micros", launch.cost_micros),
            ];
            Kind::Note {
                topic: Topic::Launch,
                text: plain::clipped(&text, 2_000),
                figures: figures.into_iter().map(|(name, n)| (name.to_owned(), n)).collect(),
            }
        }
    })
}

#[cfg(test)]
pub mod tests;
