//! Reviews, hearings and checkpoints: builds the prompt, launches the agent, and turns its answer into a report.
//!
//! A reviewed revision is checked out once for all its reviewers. A reviewer that changed the checkout has no verdict,
//! and neither has anybody who used it after that, because they may have judged other files than those that would land.
//! An answer only approves if it can be read without doubt; everything unclear is a failure or a question, never a
//! pass.

use super::evidence::{self, Gathered};
use super::proof::Questions;
use super::request;
use super::show::{Material, Put, READ_MAX, Told};
use crate::build::account::Account;
use crate::build::artifact;
use crate::build::carried::carried;
use crate::build::make::{lay_out, plan_brief, task_brief, task_number, use_word};
use crate::build::polish;
use crate::check::protected::Steering;
use crate::check::{self, Command};
use crate::context::base::Base;
use crate::context::subject;
use crate::context::{PlanText, RunContext, lock, slug};
use crate::launch::ask_again;
use crate::launch::call_policy::Capability;
use crate::launch::{Begin, Ended, Reporting, objection, voted, words};
use crate::setup::words as asked_words;
use std::sync::{Arc, Mutex};
use tribunal_agent::reporting::Part;
use tribunal_agent::{DriftKind, Outcome};
use tribunal_core::cover::{Look, Shown};
use tribunal_core::defence::{Defence, stands};
use tribunal_core::effect::{EffectId, Step};
use tribunal_core::evidence::Matter;
use tribunal_core::finding::{Answer, Reply, Severity, Verdict};
use tribunal_core::ids::{Check, FindingId, PlanId, Reviewer, Revision};
use tribunal_core::ledger::Entry;
use tribunal_core::panel::CheckState;
use tribunal_core::policy::Policy;
use tribunal_core::review_loop::{Failure, FailureKind, Loop, LoopReport};
use tribunal_core::run::{Job, RunReport, Subject};
use tribunal_engine::crash;
use tribunal_engine::run_state::{LaunchNote, Note, RunState};
use tribunal_engine::world::{Probe, Report};
use tribunal_findings::evidence::{Record, contradicted};
use tribunal_findings::{Intake, Judged, Reading, Unread};
use tribunal_git::{GitError, GitPath, Oid, Tree};
use tribunal_view::parts::{Hunks, Showing};
use tribunal_view::plain;
use tribunal_view::prompt::{
    self, CheckLine, CheckpointBrief, DIFF_MAX, Document, FindingLine, HearBrief, JudgeBrief, JudgeJob,
};

// The two contents of the note that `note_reviewer` leaves. A crash can cut the note short, so anything else says nothing.
const TOUCHED: &str = "changed\n";
const UNTOUCHED: &str = "as it was\n";
/// How many files are named to a reviewer at most because they use what changed.
const CALLERS_MAX: usize = 40;

/// A read-only checkout and how many reviewers use it.
///
/// `spoilt` stays set until the checkout is made anew: a reviewer that leaves later may have read the changed files,
/// even if they look right again by then.
#[derive(Default)]
pub(crate) struct ReviewerTree {
    tree: Option<Tree>,
    users: usize,
    spoilt: bool,
}

/// What a reviewer or a hearing is asked about, gathered from the run state.
///
/// It is gathered in the event loop and runs on a worker, so it owns copies of all it needs from the run state.
pub(crate) struct Judge {
    effect: EffectId,
    reviewer: Reviewer,
    backup: bool,
    subject: Subject,
    plan: Option<PlanId>,
    /// The revision under review.
    revision: Revision,
    /// The revision that the panel looked at last, if it did: the diff is taken against it.
    before: Option<Revision>,
    /// Where the change begins. The diff is taken against it if the panel has not looked before.
    begins: Base,
    asked: Asked,
    /// Questions that checks put to the reviewer.
    questions: Questions,
    /// The SUMMARY of a delivery.
    delivery: Option<Account>,
    /// The user's commit when the run began, or the base of a change under review.
    base: String,
    /// The request to review something that exists.
    request: Option<request::Asked>,
    /// The revision that an artifact was made on.
    ground: Option<Revision>,
    /// What it may report through tools. A hearing has none: a ruling is not a verdict.
    capability: Option<Capability>,
    /// Commands that the reviewer may ask to have run.
    commands: Vec<Command>,
    /// Checks that were run on the revision, and how they ended.
    records: Vec<Record>,
    titles: Vec<String>,
    /// What its evidence may name; none if no evidence is asked for.
    judged: Option<Arc<Judged>>,
    /// Findings put to this reviewer that no other part of the review has answered.
    put: Vec<Put>,
    /// The loop's policy, which says among other things into how many parts a change may be cut.
    policy: Policy,
    /// What this reviewer was shown in earlier rounds; a final pass need not show it again.
    looks: Vec<Look>,
    /// With nothing new to show, the reviewer's verdict stands without a launch.
    keeps: bool,
}

enum Asked {
    Verdict(Box<JudgeBrief>),
    Ruling(Box<HearBrief>),
}

impl Judge {
    /// Gathers what a reviewer is asked.
    pub(crate) fn gather(
        context: &RunContext,
        effect: &EffectId,
        review_loop: &Loop,
        reviewer: &Reviewer,
        put: &[FindingId],
        run_state: &RunState,
    ) -> Option<Judge> {
        let subject = subject::of(review_loop.id())?;
        let revision = review_loop.revision()?.clone();
        let plan = subject::plan_of(&subject).cloned();
        let text = plan.as_ref().and_then(|plan| plan_text(context, run_state, plan));
        let line = |id: &FindingId| {
            review_loop.ledger().get(*id).map(|entry| FindingLine::put_to(reviewer, *id, entry))
        };
        // An exhaustive pass lists every finding, closed ones too, under `exhaustive`; here the open ones would be
        // repeated.
        let known =
            review_loop.ledger().open().filter(|(id, _)| !put.contains(id) && !review_loop.is_exhaustive());
        let told = ask_again::told(run_state, review_loop, reviewer, effect, put);
        let brief = JudgeBrief {
            job: judge_job(&subject, run_state),
            reviewer: reviewer.to_string(),
            depth: context.effort_of(plan.as_ref(), run_state).depth().to_owned(),
            plan: text.as_ref().map(|text| plan_brief(text)).unwrap_or_default(),
            task: task_number(&subject).and_then(|n| task_brief(text.as_ref()?, n)),
            asked: asked_words::brief(context, run_state),
            document: document(context, &subject, &revision, run_state),
            artifact: artifact::judged(&subject, run_state),
            // The diff, the files, the callers and the launch word are filled in on the worker: they need git or the
            // launch.
            diff: String::new(),
            files: Vec::new(),
            // Once the panel has looked, the diff shows only what changed since.
            part: review_loop.since().is_some(),
            exhaustive: review_loop.is_exhaustive().then(|| earlier(review_loop)),
            showing: Showing::default(),
            callers: Vec::new(),
            round: review_loop.round(),
            rounds_max: review_loop.rounds_max(),
            put: put.iter().filter_map(line).collect(),
            known: known.map(|(id, entry)| FindingLine::of(id, entry)).collect(),
            checks: review_loop.review_round().map(check_lines).unwrap_or_default(),
            carried: match (&subject, &plan) {
                (Subject::Lane(_, Job::Qa), Some(plan)) => carried(run_state, plan, review_loop.id()),
                _ => Vec::new(),
            },
            summary: last_words(run_state, review_loop),
            lanes: plan.as_ref().map(|plan| subject::other_lanes(run_state, plan)).unwrap_or_default(),
            again: told.again,
            earlier: told.earlier,
            budget: plan.as_ref().and_then(|plan| run_state.tokens.budget("reviewer", plan)),
            word: String::new(),
        };
        let delivery = match (&subject, &plan) {
            (Subject::Lane(_, Job::Qa), Some(plan)) => Account::gather(context, plan, run_state),
            _ => None,
        };
        let capability = Capability {
            part: Part::Judge,
            of: review_loop.id().to_string(),
            task: task_number(&subject).map(|n| n.to_string()),
            reviewer: Some(reviewer.to_string()),
            round: review_loop.round(),
            revision: Some(revision.to_string()),
            findings: put.to_vec(),
            // Filled in with the evidence, once the commit is known.
            judged: None,
        };
        Some(Judge {
            effect: effect.clone(),
            reviewer: reviewer.clone(),
            backup: effect.n.backup,
            plan,
            before: review_loop.since().cloned(),
            begins: Base::of(&subject, run_state),
            revision,
            capability: Some(capability),
            commands: check::askable(context, &subject, run_state),
            questions: questions(context, review_loop, &subject, run_state),
            delivery,
            subject,
            asked: Asked::Verdict(Box::new(brief)),
            base: base_of(run_state),
            request: request::Asked::of(context, review_loop, run_state),
            ground: artifact::ground(run_state),
            records: records(review_loop),
            titles: evidence::titles(text.as_deref()),
            judged: None,
            put: Put::of(review_loop, put),
            policy: review_loop.policy().clone(),
            looks: review_loop.looks(reviewer).to_vec(),
            keeps: review_loop.keeps_verdict(reviewer, effect.n),
        })
    }

    /// Gathers what a hearing is asked.
    ///
    /// A hearing decides about one finding only. It gets no tools and no commands, and does not see the other findings.
    pub(crate) fn hearing(
        context: &RunContext,
        effect: &EffectId,
        review_loop: &Loop,
        reviewer: &Reviewer,
        finding: FindingId,
        run_state: &RunState,
    ) -> Option<Judge> {
        let subject = subject::of(review_loop.id())?;
        let revision = review_loop.revision()?.clone();
        let plan = subject::plan_of(&subject).cloned();
        let entry = review_loop.ledger().get(finding)?;
        let text = plan.as_ref().and_then(|plan| plan_text(context, run_state, plan));
        let brief = HearBrief {
            reviewer: reviewer.to_string(),
            plan: text.as_ref().map(|text| plan_brief(text)).unwrap_or_default(),
            finding: FindingLine::of(finding, entry),
            contested: entry.contested,
            history: history(entry),
            diff: String::new(),
            word: String::new(),
        };
        Some(Judge {
            effect: effect.clone(),
            reviewer: reviewer.clone(),
            backup: false,
            plan,
            before: review_loop.since().cloned(),
            begins: Base::of(&subject, run_state),
            revision,
            capability: None,
            commands: Vec::new(),
            questions: Questions::default(),
            delivery: None,
            subject,
            asked: Asked::Ruling(Box::new(brief)),
            base: base_of(run_state),
            request: request::Asked::of(context, review_loop, run_state),
            ground: artifact::ground(run_state),
            records: Vec::new(),
            titles: Vec::new(),
            judged: None,
            put: Put::of(review_loop, &[finding]),
            policy: review_loop.policy().clone(),
            looks: Vec::new(),
            keeps: false,
        })
    }

    /// Asks, on a worker. An error of ours is reported as a crash of the effect, which the loop may retry.
    pub(crate) fn run(self, context: &Arc<RunContext>) {
        let effect = self.effect.clone();
        if let Err(error) = self.ask(context) {
            context.fail(&effect, Failure::new(FailureKind::Crashed, error.to_string()), Vec::new());
        }
    }

    /// Fills in the part of the brief that is the same for all parts. Returns the role that is asked.
    fn fill(
        &mut self,
        context: &RunContext,
        commit: &Oid,
        (diff, more): (&str, bool),
    ) -> Result<&'static str, GitError> {
        let callers = self.callers(context, commit)?;
        Ok(match &mut self.asked {
            Asked::Verdict(brief) => {
                brief.callers = callers;
                if let Some(account) = &self.delivery {
                    let text = account.text(context, commit)?;
                    brief.document = Some(Document { path: account.path.clone(), text });
                }
                // A review of something that exists shows its request in place of a delivery's SUMMARY.
                if let Some(request) = &self.request {
                    brief.document = Some(request.document(context, commit)?);
                }
                if self.backup { "backup" } else { "reviewer" }
            }
            Asked::Ruling(brief) => {
                let place = self.put.first().map(Put::place).unwrap_or_default();
                // The hearing is about one finding, so it is shown the part of the diff that the finding is in.
                brief.diff = Material::diff(diff, more).holding(place.0, place.1).to_owned();
                "hearing"
            }
        })
    }

    /// Builds the prompt and launches the reviewer.
    ///
    /// It ends with a report instead of a launch if there is nothing left to show, or more than may be shown: an
    /// approval after only some of the parts would cover code that nobody saw. Size does not matter to a hearing, which
    /// looks at one place.
    fn ask(mut self, context: &Arc<RunContext>) -> Result<(), GitError> {
        let commit = self.commit(context)?;
        let (diff, more) = self.diff(context, &commit)?;
        let role = self.fill(context, &commit, (&diff, more))?;
        self.prepare_evidence(context, &commit, &diff);
        let material = self.material(context, &diff, more);
        // Before the size is looked at: a reviewer with nothing left to see is not asked, however large the change is.
        if let Some(shown) = material.all_shown() {
            context.report(&self.effect, Report::Loop(LoopReport::AllShown(shown)), Vec::new());
            return Ok(());
        }
        if matches!(self.asked, Asked::Verdict(_))
            && let Some(share) = material.too_large(self.effect.n.part, &self.policy)
        {
            context.report(&self.effect, Report::Loop(LoopReport::TooLarge(share)), Vec::new());
            return Ok(());
        }
        let Some(told) = self.show(&material) else {
            let failure = Failure::new(FailureKind::Garbled, "the change is not cut into so many parts");
            context.fail(&self.effect, failure, Vec::new());
            return Ok(());
        };
        // Noted before the launch: after a crash, `recovered` must know which findings were put to this part.
        context.note_told(&self.effect, &told)?;
        if let (Subject::Plan(plan), Asked::Verdict(brief)) = (&self.subject, &self.asked)
            && let Some(document) = &brief.document
        {
            lay_out(context, plan, &document.path, &self.revision)?;
        }
        let shared = context.use_reviewer(&commit, &self.base)?;
        let names = [role, self.reviewer.as_str(), "reviewer"].map(str::to_owned);
        // A fallback reviewer is looked up under its own role first, and then like the reviewer it stands in for.
        let names: Vec<&str> = if self.backup {
            names.iter().map(String::as_str).collect()
        } else {
            names[1..].iter().map(String::as_str).collect()
        };
        let mut brief = context.brief(&self.effect, role, &names);
        brief.loop_use = use_word(&self.subject).to_owned();
        brief.plan = self.plan.as_ref().map(ToString::to_string).or_else(|| self.artifact());
        brief.task = task_number(&self.subject).map(|n| n.to_string());
        brief.reviewer = Some(self.reviewer.to_string());
        if self.effect.n.again {
            brief.role = format!("{role}-again");
        }
        brief.dir = context.reviewer_dir(&commit);
        let word = brief.word.clone().unwrap_or_default();
        brief.prompt = match &mut self.asked {
            Asked::Verdict(judge) => {
                brief.round = judge.round;
                judge.word = word;
                prompt::judge(judge)
            }
            Asked::Ruling(hear) => {
                hear.word = word;
                prompt::hear(hear)
            }
        };
        let effect = self.effect.clone();
        let commands = std::mem::take(&mut self.commands);
        let checks = (!commands.is_empty()).then(|| (commit.clone(), commands));
        let reporting = self.capability.take().map(|capability| Reporting { capability, checks });
        self.put.retain(|put| told.put.contains(&put.id));
        // A reviewer never continues an earlier session: whoever approves must not have watched the change being made.
        let begin = Begin::Judge { base: self.base.clone(), commit: commit.clone() };
        context.launch(&effect, &names, brief, begin, reporting, move |context, ended| {
            self.answered(context, &commit, &shared, &told, ended);
        });
        Ok(())
    }

    /// The plan that is judged as a document, which is one that nobody has judged yet. After that, its diff is judged.
    fn judged_document(&mut self) -> Option<&mut Document> {
        let Asked::Verdict(brief) = &mut self.asked else { return None };
        let whole = matches!(self.subject, Subject::Plan(_)) && !brief.part;
        brief.document.as_mut().filter(|_| whole)
    }

    /// What is shown to this reviewer, over all parts.
    ///
    /// A final pass leaves out what the reviewer was shown before. If nothing is left but the reviewer has to be asked
    /// anyway, it is shown everything.
    fn material(&mut self, context: &RunContext, diff: &str, more: bool) -> Material {
        if let Some(document) = self.judged_document() {
            return Material::document(&plain::visible(document.text.as_bytes()));
        }
        let rest = Material::rest(diff, more, &self.shown_before(context));
        match rest.all_shown() {
            Some(_) if !self.keeps => Material::diff(diff, more),
            _ => rest,
        }
    }

    /// The hunks that this reviewer was shown completely in earlier rounds.
    ///
    /// An earlier diff that cannot be read again, or only in part, counts as not shown: the reviewer then sees it once
    /// more.
    fn shown_before(&self, context: &RunContext) -> Hunks {
        let mut all = Hunks::default();
        for look in self.looks.iter().filter(|_| !matches!(self.subject, Subject::Plan(_))) {
            let looked = context.commit_of(&look.revision).and_then(|commit| {
                let from = self.from(context, look.since.as_ref(), &commit)?;
                context.repo.diff_text(&from, &commit, &[], READ_MAX)
            });
            if let Ok(text) = looked
                && !text.cut
            {
                all.add(Hunks::of(&plain::visible(&text.bytes)));
            }
        }
        all
    }

    /// Puts this launch's part of the material into its brief. None if there is no such part.
    fn show(&mut self, material: &Material) -> Option<Told> {
        let part = self.effect.n.part;
        let text = material.text(part)?.to_owned();
        let document = self.judged_document().map(|document| document.text.clone_from(&text));
        let Asked::Verdict(brief) = &mut self.asked else {
            // A hearing is about one place and is not cut into parts.
            return Some(Told { shown: Shown::whole(0), put: Vec::new() });
        };
        match document {
            Some(()) => {}
            None => brief.diff = text,
        }
        brief.showing = material.showing(part, &self.policy);
        let told = material.told(part, &self.put, &self.policy);
        let (here, elsewhere) =
            std::mem::take(&mut brief.put).into_iter().partition(|line| told.put.contains(&line.id));
        brief.put = here;
        if let Some(again) = &mut brief.again {
            again.left_out.retain(|id| told.put.contains(id));
        }
        // A finding that another part is asked about stays known here, so that it is not raised a second time.
        let elsewhere: Vec<FindingLine> = elsewhere;
        brief.known.extend(elsewhere);
        if let Some(capability) = &mut self.capability {
            capability.findings.clone_from(&told.put);
        }
        Some(told)
    }

    /// The name of the artifact under review.
    fn artifact(&self) -> Option<String> {
        match &self.asked {
            Asked::Verdict(brief) => Some(brief.artifact.as_ref()?.word.clone()),
            Asked::Ruling(_) => None,
        }
    }

    /// The commit that is checked out for the reviewer.
    fn commit(&self, context: &RunContext) -> Result<Oid, GitError> {
        match self.subject {
            // A plan under review is a document and not a commit; its reviewers look at the run branch around it.
            Subject::Plan(_) => context.run_head(),
            _ => context.commit_of(&self.revision),
        }
    }

    /// The diff of a plan's document since it was last judged.
    fn document_diff(&self, context: &RunContext) -> Result<String, GitError> {
        let Some(before) = &self.before else { return Ok(String::new()) };
        let (from, to) = (context.commit_of(before)?, context.commit_of(&self.revision)?);
        let diff = context.repo.diff_blobs(&from, &to, READ_MAX)?;
        // The header names blobs, which mean nothing to a reader.
        let text = plain::visible(&diff);
        Ok(text.find("@@ ").map_or_else(String::new, |at| text[at..].to_owned()))
    }

    /// The diff, and whether there is more of it than could be read.
    fn diff(&self, context: &RunContext, commit: &Oid) -> Result<(String, bool), GitError> {
        if let Subject::Plan(_) = self.subject {
            return Ok((self.document_diff(context)?, false));
        }
        let from = self.from(context, self.before.as_ref(), commit)?;
        let text = context.repo.diff_text(&from, commit, &[], READ_MAX)?;
        Ok((plain::visible(&text.bytes), text.cut))
    }

    /// Where a diff begins: at the revision judged before, or where the change begins.
    fn from(&self, context: &RunContext, before: Option<&Revision>, commit: &Oid) -> Result<Oid, GitError> {
        match (before, &self.request) {
            (Some(before), _) => context.commit_of(before),
            (None, Some(request)) => Oid::parse(request.base()),
            (None, None) => match self.subject {
                Subject::Chain => match &self.ground {
                    Some(ground) => context.commit_of(ground),
                    None => Oid::parse(&self.base),
                },
                _ => self.begins.commit(context, commit),
            },
        }
    }

    /// Files that use what was fixed since the panel last looked. Empty for a task, whose reviewer sees all of its
    /// change.
    fn callers(&self, context: &RunContext, commit: &Oid) -> Result<Vec<String>, GitError> {
        let (Subject::Phase | Subject::Polish, Some(before)) = (&self.subject, &self.before) else {
            return Ok(Vec::new());
        };
        let changed = context.repo.changed_paths(&context.commit_of(before)?, commit)?.into_iter().collect();
        let near = polish::dependents(context, commit, &changed)?;
        let named = near.iter().take(CALLERS_MAX).map(|path| plain::line(&path.to_string()));
        let more = near.len().saturating_sub(CALLERS_MAX);
        Ok(named.chain((more > 0).then(|| format!("and {more} more"))).collect())
    }

    /// Turns the end of a launch into a report: compares the checkout, reads the answer, and holds it against the
    /// records.
    ///
    /// A changed checkout outweighs everything that the agent said, and so does an error while comparing: without the
    /// proof that the files stayed as they were, there is no verdict.
    fn answered(
        self,
        context: &Arc<RunContext>,
        commit: &Oid,
        shared: &Arc<Mutex<ReviewerTree>>,
        told: &Told,
        ended: Ended,
    ) {
        let touched = context.leave_reviewer(&self.effect, shared);
        let changed = self.changed(context, commit);
        let judged = self.judged.clone();
        let reading = Reading { word: ended.word.as_deref(), changed: &changed, judged: judged.as_deref() };
        let mut note = ended.note;
        // A summary is the builder's: `last_words` finds it as the only launch that has one.
        note.summary = String::new();
        note.words = own_words(&ended.outcome, ended.word.as_deref());
        if ended.failure.is_none() {
            // An agent that broke off did not finish its answer, so its leftovers are not reported as unreadable.
            note.unread = not_read(&self.effect, &ended.outcome, &reading);
        }
        let failure = match (touched, ended.failure) {
            (Ok(true), _) => Some(tampered()),
            (Err(error), _) => Some(Failure::new(FailureKind::Tampered, error.to_string())),
            (Ok(false), failure) => failure,
        };
        let said = read(&self.effect, &ended.outcome, &reading, told);
        let trust = Trust::new(self.records, &note);
        let notes = vec![Note::Launch(Box::new(note))];
        match failure {
            Some(failure) => context.fail(&self.effect, failure, notes),
            None => match said.and_then(|said| trust.believed(said)) {
                Ok(report) => {
                    let report = self.questions.looked_up(context, &self.effect, commit, report);
                    context.report(&self.effect, Report::Loop(report), notes);
                }
                Err(failure) => context.fail(&self.effect, failure, notes),
            },
        }
    }

    /// The answer of a reviewer that ended while no orchestrator was running.
    ///
    /// It counts only if the checkout is known to be unchanged: from the note that was left when the checkout was
    /// removed, or because the checkout is still there. If neither is so, the effect is not settled here.
    pub(crate) fn recovered(
        context: &RunContext,
        effect: &EffectId,
        review_loop: &Loop,
        ended: Ended,
        run_state: &RunState,
    ) -> Option<Probe> {
        let subject = subject::of(review_loop.id())?;
        let questions = questions(context, review_loop, &subject, run_state);
        let commit = match subject {
            Subject::Plan(_) => context.run_head().ok()?,
            _ => context.commit_of(review_loop.revision()?).ok()?,
        };
        let trust = Trust::new(records(review_loop), &ended.note);
        // Gathered anew, since what the launch was asked about follows from the run state.
        let mut again = Judge::again(context, effect, review_loop, run_state);
        if let Some(judge) = &mut again {
            let (diff, _) = judge.diff(context, &commit).unwrap_or_default();
            judge.prepare_evidence(context, &commit, &diff);
        }
        let changed = again.as_ref().map(|judge| judge.changed(context, &commit)).unwrap_or_default();
        let judged = again.and_then(|judge| judge.judged);
        let reading = Reading { word: ended.word.as_deref(), changed: &changed, judged: judged.as_deref() };
        // Without this record nobody knows what the answer is about, so it cannot count.
        let told = context.told_to(effect)?;
        let report = match context.reviewer_noted(effect).or_else(|| context.reviewer_now(&commit))? {
            true => LoopReport::Failed(tampered()),
            false => read(effect, &ended.outcome, &reading, &told)
                .and_then(|said| trust.believed(said))
                .map(|report| questions.looked_up(context, effect, &commit, report))
                .unwrap_or_else(LoopReport::Failed),
        };
        let said = own_words(&ended.outcome, ended.word.as_deref());
        let unread = not_read(effect, &ended.outcome, &reading);
        let note = LaunchNote { unread, words: said, round: review_loop.round(), ..ended.note };
        Some(Probe::Done(Report::Loop(report), vec![Note::Launch(Box::new(note))]))
    }
}

impl Judge {
    /// What a launch of a dead orchestrator was asked about.
    fn again(
        context: &RunContext,
        effect: &EffectId,
        review_loop: &Loop,
        run_state: &RunState,
    ) -> Option<Judge> {
        match &effect.step {
            // Without findings: `told_to` knows which ones were put to the launch.
            Step::Judge(reviewer) => Judge::gather(context, effect, review_loop, reviewer, &[], run_state),
            _ => None,
        }
    }

    /// Gathers what evidence may name. Evidence is asked for in the first round only; later an approval confirms a fix.
    fn prepare_evidence(&mut self, context: &RunContext, commit: &Oid, diff: &str) {
        let Asked::Verdict(brief) = &self.asked else { return };
        let files = match brief.job.matter() {
            Matter::Plan => brief.plan.files.clone(),
            Matter::Change | Matter::Document => self.changed(context, commit),
        };
        let mut commands: Vec<String> = self.commands.iter().map(|command| command.shown.clone()).collect();
        commands.extend(self.records.iter().map(|record| record.name.clone()));
        if brief.round <= 1 {
            let gathered = Gathered { brief, titles: &self.titles, commands };
            let judged = Arc::new(gathered.judged(context, commit, files.clone(), diff));
            if let Some(capability) = &mut self.capability {
                capability.judged = Some(judged.clone());
            }
            self.judged = Some(judged);
        }
        if let Asked::Verdict(brief) = &mut self.asked {
            brief.files = files;
        }
    }

    /// The files under review. Empty if they cannot be determined, and then a place in any file counts.
    fn changed(&self, context: &RunContext, commit: &Oid) -> Vec<String> {
        if let (Subject::Plan(_), Asked::Verdict(brief)) = (&self.subject, &self.asked)
            && let Some(document) = &brief.document
        {
            return vec![document.path.clone()];
        }
        let from = self.from(context, self.before.as_ref(), commit);
        let paths = from.and_then(|from| context.repo.changed_paths(&from, commit));
        paths.unwrap_or_default().iter().map(ToString::to_string).collect()
    }
}

/// The questions that the checks of a delivery put to its reviewers.
fn questions(context: &RunContext, review_loop: &Loop, subject: &Subject, run_state: &RunState) -> Questions {
    let commands = match subject {
        Subject::Lane(_, Job::Qa) => check::askable(context, subject, run_state),
        _ => Vec::new(),
    };
    Questions::of(review_loop, commands)
}

/// The commit that files which steer agents are taken from: the base of a change under review, or the user's own
/// commit.
fn base_of(run_state: &RunState) -> String {
    run_state.reviewed_from().to_owned()
}

/// Every finding so far with its fate. No line begins with a finding's id, because nothing here is to be answered.
fn earlier(review_loop: &Loop) -> Vec<String> {
    let line = |(id, entry): (FindingId, &Entry)| {
        format!("- {} ({})", FindingLine::of(id, entry).text(), entry.fate.word())
    };
    review_loop.ledger().iter().map(line).collect()
}

/// Both sides of a finding that is heard: who raised it and when, and what its builder says.
fn history(entry: &Entry) -> Vec<String> {
    let by: Vec<String> = entry.by.iter().map(ToString::to_string).collect();
    let mut lines = vec![format!("first raised in round {} by {}", entry.first_round, by.join(", "))];
    match &entry.reply {
        Some(Reply::Fixed) => lines.push("the builder says that it is fixed".to_owned()),
        Some(Reply::Refuted(why)) => lines.push(format!("the builder says that it is no issue: {why}")),
        Some(Reply::CannotFix(why)) => lines.push(format!("the builder says that it cannot fix it: {why}")),
        Some(Reply::Unseen(why)) => {
            lines.push(format!("the builder could not look whether it is fixed: {why}"))
        }
        None => {}
    }
    if entry.contested {
        lines.push("a later fix put back what an earlier fix had taken out".to_owned());
    }
    lines
}

/// A reviewer's own words, as they are kept in the journal.
fn own_words(outcome: &Outcome, word: Option<&str>) -> String {
    ask_again::own_words(outcome, &words(outcome, None), word)
}

/// The failure of a reviewer that changed its checkout.
fn tampered() -> Failure {
    Failure::new(FailureKind::Tampered, "the reviewer changed what it judged")
}

/// Reads the answer of a launch as the report that its step asks for.
fn read(
    effect: &EffectId,
    outcome: &Outcome,
    reading: &Reading<'_>,
    told: &Told,
) -> Result<LoopReport, Failure> {
    match effect.step {
        Step::Hear(_) => read_ruling(outcome, reading.word),
        _ => read_verdict(outcome, reading, told),
    }
}

/// The checks that ran on the revision of this review round.
fn records(review_loop: &Loop) -> Vec<Record> {
    let ran = |(_, state): &(&Check, &CheckState)| **state != CheckState::DidNotRun;
    review_loop
        .review_round()
        .map(|review_round| review_round.checks.iter().filter(ran).map(record).collect())
        .unwrap_or_default()
}

/// The record of a check. One that found only suggestions did not fail.
fn record((check, state): (&Check, &CheckState)) -> Record {
    let suggests = state.worst() == Some(Severity::Suggestion);
    let passed = suggests || !matches!(state, CheckState::Failed(_));
    Record { name: check.to_string(), passed }
}

/// The facts that an answer is held against.
struct Trust {
    records: Vec<Record>,
    /// A command that it had asked for and did not wait for.
    early: Option<String>,
}

impl Trust {
    /// Combines the checks that ran on the revision with the commands that the launch itself had run.
    fn new(mut records: Vec<Record>, note: &LaunchNote) -> Trust {
        records.extend(note.ran.iter().map(|ran| Record { name: ran.command.clone(), passed: ran.passed }));
        Trust { records, early: note.ran.iter().find(|ran| ran.early).map(|ran| ran.command.clone()) }
    }

    /// Rejects an approval that the records contradict, or that did not wait for the commands it asked for.
    ///
    /// An objection is heard whatever it rests on: a wrong objection costs a round, a wrong approval lands bad code.
    fn believed(&self, said: LoopReport) -> Result<LoopReport, Failure> {
        let checked = match &said {
            LoopReport::Judged { answer, .. } if answer.verdict != Verdict::Reject => answer.checked.as_str(),
            // A hearing that overrules a finding is an approval, too.
            LoopReport::Heard { upheld: false, .. } => "",
            _ => return Ok(said),
        };
        let early = self.early.as_ref();
        let early = early.map(|run| format!("it voted while `{run}`, which it had asked for, had not ended"));
        match early.or_else(|| contradicted(checked, &self.records)) {
            Some(why) => Err(Failure::new(FailureKind::Garbled, why)),
            None => Ok(said),
        }
    }
}

/// Reads a verdict. Without one that can be believed, the failure says what was missing.
fn read_verdict(outcome: &Outcome, reading: &Reading<'_>, told: &Told) -> Result<LoopReport, Failure> {
    if words(outcome, None).trim().is_empty() {
        return Err(Failure::new(FailureKind::Empty, "it ended without a word"));
    }
    let intake = intake(outcome, reading);
    // A damaged message is read all or nothing: with bytes missing, nobody knows what a single part of it said.
    let answer = if is_damaged(outcome) { intake.answer() } else { intake.answer_in_doubt() };
    let answer = answer.or_else(|| wordless(outcome, reading));
    answer.map(|answer| told.judged(answer)).ok_or_else(|| ask_again::without_verdict(&intake))
}

/// The answer as read without asking for the launch word, if the word does not occur in the message at all.
///
/// The agent may have forgotten the word, so the answer is marked `wordless` and the agent is asked again. A message
/// that contains the word but not where it belongs gets no such doubt.
fn wordless(outcome: &Outcome, reading: &Reading<'_>) -> Option<Answer> {
    let said = words(outcome, None);
    reading.word.filter(|word| !said.contains(word) && !is_damaged(outcome))?;
    let without = Reading { word: None, ..*reading };
    let answer = tribunal_findings::read_as(said.as_bytes(), &without).answer_in_doubt()?;
    Some(Answer { wordless: true, ..answer })
}

/// Reads the ruling of a hearing.
fn read_ruling(outcome: &Outcome, word: Option<&str>) -> Result<LoopReport, Failure> {
    if is_damaged(outcome) {
        // Unlike a verdict, a damaged ruling is refused whatever it says.
        return Err(Failure::new(FailureKind::Garbled, DAMAGED));
    }
    tribunal_findings::read_hearing(&words(outcome, word), word)
        .map(|heard| LoopReport::Heard { upheld: heard.upheld, reason: heard.why })
        .ok_or_else(|| Failure::new(FailureKind::Garbled, "there is no ruling in it"))
}

const DAMAGED: &str = "not believed: it holds bytes that are not UTF-8";

/// Reads an answer. One with damaged bytes may object but not approve.
///
/// A verdict given by tool and a final message that objects contradict each other, so together they are no verdict.
fn intake(outcome: &Outcome, reading: &Reading<'_>) -> Intake {
    let mut intake = tribunal_findings::read_as(words(outcome, reading.word).as_bytes(), reading);
    if let Some(text) = outcome.final_text.as_deref().filter(|_| voted(outcome))
        && let (Some(Verdict::Approve), Some(said)) = (intake.verdict, objection(text))
        && stands(Defence::OneVerdict)
    {
        intake.verdict = None;
        let why = format!("not believed: it approves, and its final message says {said}");
        intake.unread.push(Unread { text: said.to_string(), why, may_be_finding: false });
    }
    if is_damaged(outcome) && intake.verdict.is_some_and(|verdict| verdict != Verdict::Reject) {
        intake.verdict = None;
        let text = intake.stated.clone().unwrap_or_default();
        intake.unread.push(Unread { text, why: DAMAGED.to_owned(), may_be_finding: false });
    }
    intake
}

/// Whether the agent's output held invalid bytes that had to be replaced. If not every remark about the output was
/// kept, a replacement character counts as proof.
fn is_damaged(outcome: &Outcome) -> bool {
    if !stands(Defence::Utf8) {
        return false;
    }
    let noted = outcome.drift.iter().any(|drift| drift.kind == DriftKind::NotUtf8);
    noted || (outcome.drift_more > 0 && words(outcome, None).contains(char::REPLACEMENT_CHARACTER))
}

/// How many unreadable passages are kept, and how long each may be.
const UNREAD_MAX: usize = 50;
const UNREAD_TEXT_MAX: usize = 300;

/// What could not be read, one line each.
fn not_read(effect: &EffectId, outcome: &Outcome, reading: &Reading<'_>) -> Vec<String> {
    if matches!(effect.step, Step::Hear(_)) {
        return Vec::new();
    }
    let line = |unread: Unread| match plain::clipped(&unread.text, UNREAD_TEXT_MAX) {
        text if text.is_empty() => plain::line(&unread.why),
        text => format!("{}: {text}", plain::line(&unread.why)),
    };
    intake(outcome, reading).unread.into_iter().take(UNREAD_MAX).map(line).collect()
}

/// The kind of review that a subject gets.
fn judge_job(subject: &Subject, run_state: &RunState) -> JudgeJob {
    match subject {
        Subject::Plan(_) => JudgeJob::Plan,
        Subject::Lane(_, Job::Task(_) | Job::Repair) => JudgeJob::Task,
        Subject::Lane(_, Job::Qa) => JudgeJob::Delivery,
        Subject::Phase | Subject::Polish => JudgeJob::Phase,
        Subject::Chain if artifact::is_code(run_state) => JudgeJob::Implementation,
        Subject::Chain => JudgeJob::Artifact,
    }
}

/// The document under review, if the subject is one.
fn document(
    context: &RunContext,
    subject: &Subject,
    revision: &Revision,
    run_state: &RunState,
) -> Option<Document> {
    if *subject == Subject::Chain {
        return artifact::document(context, revision, run_state);
    }
    let Subject::Plan(plan) = subject else { return None };
    let path = run_state.about.paths.get(plan)?;
    let text = context.plan_text(path, revision).ok()?;
    Some(Document { path: path.clone(), text: text.text.clone() })
}

fn plan_text(context: &RunContext, run_state: &RunState, plan: &PlanId) -> Option<Arc<PlanText>> {
    let path = run_state.about.paths.get(plan)?;
    context.plan_text(path, &subject::plan_revision(run_state, plan)?).ok()
}

/// The checks of this round with their findings, for the prompt.
fn check_lines(review_round: &tribunal_core::panel::ReviewRound) -> Vec<CheckLine> {
    let failed: Vec<CheckLine> = review_round
        .failures()
        .map(|(check, claims)| CheckLine {
            name: check.to_string(),
            passed: false,
            claims: claims.iter().map(placed).collect(),
        })
        .collect();
    let other = review_round
        .checks
        .iter()
        .filter(|(check, _)| !failed.iter().any(|line| line.name == check.as_str()));
    let other = other.map(|(check, state)| {
        let passed = *state == CheckState::Passed;
        let claims = if passed { Vec::new() } else { vec!["it did not run".to_owned()] };
        CheckLine { name: check.to_string(), passed, claims }
    });
    other.chain(failed.clone()).collect()
}

/// The text of a claim with its place, if it has one.
fn placed(claim: &tribunal_core::finding::Claim) -> String {
    match (&claim.file, claim.line) {
        (Some(file), Some(line)) => format!("{file}:{line} {}", claim.claim),
        (Some(file), None) => format!("{file} {}", claim.claim),
        (None, _) => claim.claim.clone(),
    }
}

/// The last summary that the builder of this loop gave.
fn last_words(run_state: &RunState, review_loop: &Loop) -> String {
    let prefix = format!("{}/", review_loop.id());
    let said = run_state
        .launches
        .iter()
        .rev()
        .find(|launch| launch.effect.starts_with(&prefix) && !launch.summary.is_empty());
    said.map(|launch| launch.summary.clone()).unwrap_or_default()
}

impl RunContext {
    fn reviewer_dir(&self, commit: &Oid) -> std::path::PathBuf {
        self.dir.join("reviewers").join(commit.short()).join("tree")
    }

    /// The tree of a commit as its reviewers get it: files that steer agents are those of the user's commit.
    ///
    /// A builder could otherwise instruct its reviewers through a file such as `AGENTS.md`. The diff in the prompt
    /// still shows what the builder changed in those files.
    fn judged_tree(&self, commit: &Oid, base: &str) -> Result<Oid, GitError> {
        if !stands(Defence::BaseConfiguration) {
            return self.repo.tree_of(commit);
        }
        let base = Oid::parse(base)?;
        let steers = Steering::of(self, &base)?;
        let changed = self.repo.changed_paths(&base, commit)?.into_iter();
        let paths: Vec<GitPath> = changed.filter(|path| steers.steers_agents(path)).collect();
        self.repo.tree_with(commit, &base, &paths)
    }

    /// The shared checkout of a reviewed commit; the first caller makes it.
    ///
    /// Every caller has to call `leave_reviewer` once, or the checkout is never removed.
    fn use_reviewer(&self, commit: &Oid, base: &str) -> Result<Arc<Mutex<ReviewerTree>>, GitError> {
        // The map is locked only for this line; making a checkout takes long and blocks just the reviewers of this
        // commit.
        let shared = Arc::clone(lock(&self.reviewers).entry(commit.as_str().to_owned()).or_default());
        let mut reviewer = lock(&shared);
        if reviewer.tree.is_none() {
            let path = self.reviewer_dir(commit);
            let index = path.with_file_name("index");
            let dir = path.with_file_name("");
            std::fs::create_dir_all(&dir).map_err(|source| GitError::Io { path: dir.clone(), source })?;
            // A checkout that a dead orchestrator left here may have been changed, so it is never taken over.
            self.worktree_pool.discard(&path)?;
            crash::point("reviewer:before");
            let tree = self.judged_tree(commit, base)?;
            reviewer.tree = Some(self.worktree_pool.checkout_as(&path, &index, commit, &tree, "review")?);
            crash::point("reviewer:after");
            reviewer.spoilt = false;
        }
        reviewer.users += 1;
        drop(reviewer);
        Ok(shared)
    }

    /// The path of the note on how a reviewer left its checkout. It is not in the launch's own folder, which the agent
    /// can write.
    fn reviewer_note(&self, effect: &EffectId) -> std::path::PathBuf {
        self.dir.join("left").join(slug(&effect.to_string()))
    }

    /// Notes how a reviewer left its checkout, before the checkout is removed: after a crash in between, the note is
    /// the proof.
    fn note_reviewer(&self, effect: &EffectId, touched: bool) -> Result<(), GitError> {
        let path = self.reviewer_note(effect);
        let dir = self.dir.join("left");
        let written = std::fs::create_dir_all(dir)
            .and_then(|()| std::fs::write(&path, if touched { TOUCHED } else { UNTOUCHED }));
        written.map_err(|source| GitError::Io { path, source })
    }

    /// Whether a reviewer changed its checkout, according to the note. A note that was cut short says nothing.
    fn reviewer_noted(&self, effect: &EffectId) -> Option<bool> {
        match std::fs::read_to_string(self.reviewer_note(effect)).ok()?.as_str() {
            TOUCHED => Some(true),
            UNTOUCHED => Some(false),
            _ => None,
        }
    }

    /// Whether a checkout that still exists was changed.
    fn reviewer_now(&self, commit: &Oid) -> Option<bool> {
        let path = self.reviewer_dir(commit);
        let tree = self.repo.tree(&path, &path.with_file_name("index"), commit);
        path.exists().then(|| tree.compare().ok().map(|touched| !touched.is_empty()))?
    }

    /// Ends a reviewer's use of the checkout. Returns true if the checkout was changed; the last user removes it.
    fn leave_reviewer(&self, effect: &EffectId, shared: &Arc<Mutex<ReviewerTree>>) -> Result<bool, GitError> {
        let mut reviewer = lock(shared);
        reviewer.users = reviewer.users.saturating_sub(1);
        // Without a tree nothing can be compared, and what cannot be proven unchanged counts as changed.
        let Some(tree) = &reviewer.tree else { return Ok(true) };
        let touched = stands(Defence::ReviewerCompare) && (reviewer.spoilt || !tree.compare()?.is_empty());
        reviewer.spoilt = touched;
        self.note_reviewer(effect, touched)?;
        crash::point("reviewer:left");
        if reviewer.users == 0 {
            let tree = reviewer.tree.take();
            match &tree {
                // Behind the sandbox nobody could write here, so the worktree pool may reuse it for the next reviewer.
                Some(tree) if !touched && self.reviewers_are_read_only() => {
                    self.worktree_pool.recycle(tree)?
                }
                // If somebody could write here, a comparison does not prove enough for the tree to be reused.
                Some(tree) => self.worktree_pool.retire(tree)?,
                None => {}
            }
        }
        Ok(touched)
    }
}

/// A look at a lane's progress while it goes on.
///
/// It gives the builder feedback and decides nothing, so a failure of it holds nothing up.
pub(crate) struct Checkpoint {
    effect: EffectId,
    plan: PlanId,
    brief: CheckpointBrief,
    revision: Option<Revision>,
    begins: Base,
    base: String,
}

impl Checkpoint {
    /// Gathers what the checkpoint is asked.
    pub(crate) fn gather(
        context: &RunContext,
        effect: &EffectId,
        plan: &PlanId,
        run_state: &RunState,
    ) -> Option<Checkpoint> {
        let review_loop = subject::loops_of(run_state, plan)
            .filter(|review_loop| review_loop.outcome().is_none())
            .last()?;
        let text = plan_text(context, run_state, plan)?;
        let number = subject::of(review_loop.id()).as_ref().and_then(task_number);
        let brief = CheckpointBrief {
            plan: plan_brief(&text),
            task: number.and_then(|n| task_brief(&text, n)),
            depth: context.effort_of(Some(plan), run_state).depth().to_owned(),
            iterations: review_loop.iterations(),
            diff: String::new(),
        };
        let revision = review_loop.revision().cloned();
        let begins = Base::of(&subject::of(review_loop.id())?, run_state);
        let base = run_state.base().to_owned();
        Some(Checkpoint { effect: effect.clone(), plan: plan.clone(), brief, revision, begins, base })
    }

    /// Launches the checkpoint, on a worker.
    pub(crate) fn run(mut self, context: &Arc<RunContext>) {
        let Some(commit) = self.revision.as_ref().and_then(|revision| context.commit_of(revision).ok())
        else {
            let failure = Failure::new(FailureKind::Empty, "the lane has made nothing yet");
            return context.fail(&self.effect, failure, Vec::new());
        };
        let Ok(shared) = context.use_reviewer(&commit, &self.base) else {
            let failure = Failure::new(FailureKind::Crashed, "no checkout for the checkpoint");
            return context.fail(&self.effect, failure, Vec::new());
        };
        // If the diff cannot be made, the agent still has the checkout to look at.
        let from = self.begins.commit(context, &commit);
        if let Ok(diff) = from.and_then(|from| context.repo.diff_text(&from, &commit, &[], DIFF_MAX)) {
            self.brief.diff = plain::visible(&diff.bytes);
        }
        let reviewer = context.settings.agents.task_reviewers.first().cloned().unwrap_or_default();
        let names = [reviewer.as_str(), "reviewer"];
        let mut brief = context.brief(&self.effect, "checkpoint", &names);
        brief.loop_use = "task".to_owned();
        brief.plan = Some(self.plan.to_string());
        brief.round = self.effect.entry;
        brief.dir = context.reviewer_dir(&commit);
        brief.prompt = prompt::checkpoint(&self.brief);
        let effect = self.effect.clone();
        let begin = Begin::Judge { base: self.base.clone(), commit: commit.clone() };
        context.launch(&effect, &names, brief, begin, None, move |context, ended| {
            // A checkpoint decides nothing, so a changed checkout only costs its feedback.
            let touched = context.leave_reviewer(&self.effect, &shared).unwrap_or(true);
            let notes = vec![Note::Launch(Box::new(ended.note))];
            match ended.failure {
                None if !touched => {
                    let feedback = words(&ended.outcome, None);
                    context.report(&self.effect, Report::Run(RunReport::Checkpointed { feedback }), notes);
                }
                failure => context.fail(&self.effect, failure.unwrap_or_else(tampered), notes),
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tribunal_agent::Drift;
    use tribunal_core::finding::Claim;

    #[test]
    fn bytes_that_were_replaced_approve_nothing() {
        let outcome = |verdict: &str, damaged: bool| Outcome {
            complete: true,
            final_text: Some(format!("CHECKED: the tests\u{fffd} and both callers\nVERDICT: {verdict}")),
            drift: damaged
                .then(|| Drift { kind: DriftKind::NotUtf8, note: String::new() })
                .into_iter()
                .collect(),
            ..Outcome::default()
        };
        let told = Told { shown: Shown::whole(1), put: Vec::new() };
        let read = |outcome: &Outcome| read_verdict(outcome, &Reading::default(), &told);
        assert!(read(&outcome("approve", false)).is_ok());
        assert!(read(&outcome("approve", true)).is_err_and(|why| why.text == DAMAGED));
        assert!(read(&outcome("conditional", true)).is_err());
        assert!(read(&outcome("reject", true)).is_ok(), "an objection is heard all the same");
    }

    #[test]
    fn a_check_that_only_suggests_contradicts_nobody() {
        let failed = |severities: &[Severity]| {
            CheckState::Failed(severities.iter().map(|one| Claim::new(*one, "a claim")).collect())
        };
        let lint = Check::new("lint");
        for (state, passed) in [
            (CheckState::Passed, true),
            (failed(&[Severity::Suggestion, Severity::Suggestion]), true),
            (failed(&[Severity::Suggestion, Severity::Warning]), false),
            (failed(&[Severity::Blocker]), false),
            (failed(&[]), false),
        ] {
            let records = vec![record((&lint, &state))];
            assert_eq!(records, [Record { name: "lint".to_owned(), passed }], "{state:?}");
            let void = contradicted("read it all, lint is clean", &records).is_some();
            assert_eq!(void, !passed, "{state:?}");
        }
    }
}
