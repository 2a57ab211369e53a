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
use crate::launch::ask_again;
use crate::launch::clerk::Mandate;
use crate::launch::{Begin, Ended, Speech, objection, voted, words};
use crate::setup::words as asked_words;
use crate::site::base::Base;
use crate::site::subject;
use crate::site::{PlanText, Site, lock, slug};
use std::sync::{Arc, Mutex};
use tribunal_agent::reporting::Part;
use tribunal_agent::{DriftKind, Outcome};
use tribunal_core::cover::{Look, Shown};
use tribunal_core::defence::{Defence, stands};
use tribunal_core::effect::{EffectId, Step};
use tribunal_core::evidence::Matter;
use tribunal_core::finding::{Answer, Reply, Severity, Verdict};
use tribunal_core::ids::{Check, FindingId, PlanId, Revision, Seat};
use tribunal_core::ledger::Entry;
use tribunal_core::panel::CheckState;
use tribunal_core::policy::Policy;
use tribunal_core::review_loop::{Failure, FailureKind, Loop, LoopReport};
use tribunal_core::run::{Job, RunReport, Subject};
use tribunal_engine::crash;
use tribunal_engine::docket::{Docket, LaunchNote, Note};
use tribunal_engine::world::{Probe, Report};
use tribunal_findings::evidence::{Record, contradicted};
use tribunal_findings::{Intake, Judged, Reading, Unread};
use tribunal_git::{GitError, GitPath, Oid, Tree};
use tribunal_view::parts::{Hunks, Showing};
use tribunal_view::plain;
use tribunal_view::prompt::{
    self, CheckLine, CheckpointBrief, DIFF_MAX, Document, FindingLine, HearBrief, JudgeBrief, JudgeJob,
};

// The two contents of the note that `note_seat` leaves. A crash can cut the note short, so anything else says nothing.
const TOUCHED: &str = "changed\n";
const UNTOUCHED: &str = "as it was\n";
/// How many files are named to a reviewer at most because they use what changed.
const CALLERS_MAX: usize = 40;

/// A read-only checkout and how many reviewers use it.
///
/// `spoilt` stays set until the checkout is made anew: a reviewer that leaves later may have read the changed files,
/// even if they look right again by then.
#[derive(Default)]
pub(crate) struct SeatTree {
    tree: Option<Tree>,
    users: usize,
    spoilt: bool,
}

/// What a reviewer or a hearing is asked about, gathered from the docket.
///
/// It is gathered in the event loop and runs on a worker, so it owns copies of all it needs from the docket.
pub(crate) struct Judge {
    effect: EffectId,
    seat: Seat,
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
    mandate: Option<Mandate>,
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
        site: &Site,
        effect: &EffectId,
        lp: &Loop,
        seat: &Seat,
        put: &[FindingId],
        docket: &Docket,
    ) -> Option<Judge> {
        let subject = subject::of(lp.id())?;
        let revision = lp.revision()?.clone();
        let plan = subject::plan_of(&subject).cloned();
        let text = plan.as_ref().and_then(|plan| plan_text(site, docket, plan));
        let line = |id: &FindingId| lp.ledger().get(*id).map(|entry| FindingLine::put_to(seat, *id, entry));
        // An exhaustive pass lists every finding, closed ones too, under `exhaustive`; here the open ones would be
        // repeated.
        let known = lp.ledger().open().filter(|(id, _)| !put.contains(id) && !lp.is_exhaustive());
        let told = ask_again::told(docket, lp, seat, effect, put);
        let brief = JudgeBrief {
            job: judge_job(&subject, docket),
            seat: seat.to_string(),
            depth: site.effort_of(plan.as_ref(), docket).depth().to_owned(),
            plan: text.as_ref().map(|text| plan_brief(text)).unwrap_or_default(),
            task: task_number(&subject).and_then(|n| task_brief(text.as_ref()?, n)),
            asked: asked_words::brief(site, docket),
            document: document(site, &subject, &revision, docket),
            artifact: artifact::judged(&subject, docket),
            // The diff, the files, the callers and the launch word are filled in on the worker: they need git or the
            // launch.
            diff: String::new(),
            files: Vec::new(),
            // Once the panel has looked, the diff shows only what changed since.
            part: lp.since().is_some(),
            exhaustive: lp.is_exhaustive().then(|| earlier(lp)),
            showing: Showing::default(),
            callers: Vec::new(),
            round: lp.round(),
            rounds_max: lp.rounds_max(),
            put: put.iter().filter_map(line).collect(),
            known: known.map(|(id, entry)| FindingLine::of(id, entry)).collect(),
            checks: lp.bench().map(check_lines).unwrap_or_default(),
            carried: match (&subject, &plan) {
                (Subject::Lane(_, Job::Qa), Some(plan)) => carried(docket, plan, lp.id()),
                _ => Vec::new(),
            },
            summary: last_words(docket, lp),
            lanes: plan.as_ref().map(|plan| subject::other_lanes(docket, plan)).unwrap_or_default(),
            again: told.again,
            earlier: told.earlier,
            budget: plan.as_ref().and_then(|plan| docket.tokens.budget("reviewer", plan)),
            word: String::new(),
        };
        let delivery = match (&subject, &plan) {
            (Subject::Lane(_, Job::Qa), Some(plan)) => Account::gather(site, plan, docket),
            _ => None,
        };
        let mandate = Mandate {
            part: Part::Judge,
            of: lp.id().to_string(),
            task: task_number(&subject).map(|n| n.to_string()),
            seat: Some(seat.to_string()),
            round: lp.round(),
            revision: Some(revision.to_string()),
            findings: put.to_vec(),
            // Filled in with the evidence, once the commit is known.
            judged: None,
        };
        Some(Judge {
            effect: effect.clone(),
            seat: seat.clone(),
            backup: effect.n.backup,
            plan,
            before: lp.since().cloned(),
            begins: Base::of(&subject, docket),
            revision,
            mandate: Some(mandate),
            commands: check::askable(site, &subject, docket),
            questions: questions(site, lp, &subject, docket),
            delivery,
            subject,
            asked: Asked::Verdict(Box::new(brief)),
            base: base_of(docket),
            request: request::Asked::of(site, lp, docket),
            ground: artifact::ground(docket),
            records: records(lp),
            titles: evidence::titles(text.as_deref()),
            judged: None,
            put: Put::of(lp, put),
            policy: lp.policy().clone(),
            looks: lp.looks(seat).to_vec(),
            keeps: lp.keeps_verdict(seat, effect.n),
        })
    }

    /// Gathers what a hearing is asked.
    ///
    /// A hearing decides about one finding only. It gets no tools and no commands, and does not see the other findings.
    pub(crate) fn hearing(
        site: &Site,
        effect: &EffectId,
        lp: &Loop,
        seat: &Seat,
        finding: FindingId,
        docket: &Docket,
    ) -> Option<Judge> {
        let subject = subject::of(lp.id())?;
        let revision = lp.revision()?.clone();
        let plan = subject::plan_of(&subject).cloned();
        let entry = lp.ledger().get(finding)?;
        let text = plan.as_ref().and_then(|plan| plan_text(site, docket, plan));
        let brief = HearBrief {
            seat: seat.to_string(),
            plan: text.as_ref().map(|text| plan_brief(text)).unwrap_or_default(),
            finding: FindingLine::of(finding, entry),
            contested: entry.contested,
            history: history(entry),
            diff: String::new(),
            word: String::new(),
        };
        Some(Judge {
            effect: effect.clone(),
            seat: seat.clone(),
            backup: false,
            plan,
            before: lp.since().cloned(),
            begins: Base::of(&subject, docket),
            revision,
            mandate: None,
            commands: Vec::new(),
            questions: Questions::default(),
            delivery: None,
            subject,
            asked: Asked::Ruling(Box::new(brief)),
            base: base_of(docket),
            request: request::Asked::of(site, lp, docket),
            ground: artifact::ground(docket),
            records: Vec::new(),
            titles: Vec::new(),
            judged: None,
            put: Put::of(lp, &[finding]),
            policy: lp.policy().clone(),
            looks: Vec::new(),
            keeps: false,
        })
    }

    /// Asks, on a worker. An error of ours is reported as a crash of the effect, which the loop may retry.
    pub(crate) fn run(self, site: &Arc<Site>) {
        let effect = self.effect.clone();
        if let Err(error) = self.ask(site) {
            site.fail(&effect, Failure::new(FailureKind::Crashed, error.to_string()), Vec::new());
        }
    }

    /// Fills in the part of the brief that is the same for all parts. Returns the role that is asked.
    fn fill(
        &mut self,
        site: &Site,
        commit: &Oid,
        (diff, more): (&str, bool),
    ) -> Result<&'static str, GitError> {
        let callers = self.callers(site, commit)?;
        Ok(match &mut self.asked {
            Asked::Verdict(brief) => {
                brief.callers = callers;
                if let Some(account) = &self.delivery {
                    let text = account.text(site, commit)?;
                    brief.document = Some(Document { path: account.path.clone(), text });
                }
                // A review of something that exists shows its request in place of a delivery's SUMMARY.
                if let Some(request) = &self.request {
                    brief.document = Some(request.document(site, commit)?);
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
    fn ask(mut self, site: &Arc<Site>) -> Result<(), GitError> {
        let commit = self.commit(site)?;
        let (diff, more) = self.diff(site, &commit)?;
        let role = self.fill(site, &commit, (&diff, more))?;
        self.prepare_evidence(site, &commit, &diff);
        let material = self.material(site, &diff, more);
        // Before the size is looked at: a reviewer with nothing left to see is not asked, however large the change is.
        if let Some(shown) = material.all_shown() {
            site.report(&self.effect, Report::Loop(LoopReport::AllShown(shown)), Vec::new());
            return Ok(());
        }
        if matches!(self.asked, Asked::Verdict(_))
            && let Some(share) = material.too_large(self.effect.n.part, &self.policy)
        {
            site.report(&self.effect, Report::Loop(LoopReport::TooLarge(share)), Vec::new());
            return Ok(());
        }
        let Some(told) = self.show(&material) else {
            let failure = Failure::new(FailureKind::Garbled, "the change is not cut into so many parts");
            site.fail(&self.effect, failure, Vec::new());
            return Ok(());
        };
        // Noted before the launch: after a crash, `recovered` must know which findings were put to this part.
        site.note_told(&self.effect, &told)?;
        if let (Subject::Plan(plan), Asked::Verdict(brief)) = (&self.subject, &self.asked)
            && let Some(document) = &brief.document
        {
            lay_out(site, plan, &document.path, &self.revision)?;
        }
        let shared = site.use_seat(&commit, &self.base)?;
        let names = [role, self.seat.as_str(), "reviewer"].map(str::to_owned);
        // A fallback reviewer is looked up under its own role first, and then like the reviewer it stands in for.
        let names: Vec<&str> = if self.backup {
            names.iter().map(String::as_str).collect()
        } else {
            names[1..].iter().map(String::as_str).collect()
        };
        let mut brief = site.brief(&self.effect, role, &names);
        brief.loop_use = use_word(&self.subject).to_owned();
        brief.plan = self.plan.as_ref().map(ToString::to_string).or_else(|| self.artifact());
        brief.task = task_number(&self.subject).map(|n| n.to_string());
        brief.seat = Some(self.seat.to_string());
        if self.effect.n.again {
            brief.role = format!("{role}-again");
        }
        brief.dir = site.seat_dir(&commit);
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
        let speech = self.mandate.take().map(|mandate| Speech { mandate, checks });
        self.put.retain(|put| told.put.contains(&put.id));
        // A reviewer never continues an earlier session: whoever approves must not have watched the change being made.
        let begin = Begin::Judge { base: self.base.clone(), commit: commit.clone() };
        site.launch(&effect, &names, brief, begin, speech, move |site, ended| {
            self.answered(site, &commit, &shared, &told, ended);
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
    fn material(&mut self, site: &Site, diff: &str, more: bool) -> Material {
        if let Some(document) = self.judged_document() {
            return Material::document(&plain::visible(document.text.as_bytes()));
        }
        let rest = Material::rest(diff, more, &self.shown_before(site));
        match rest.all_shown() {
            Some(_) if !self.keeps => Material::diff(diff, more),
            _ => rest,
        }
    }

    /// The hunks that this reviewer was shown completely in earlier rounds.
    ///
    /// An earlier diff that cannot be read again, or only in part, counts as not shown: the reviewer then sees it once
    /// more.
    fn shown_before(&self, site: &Site) -> Hunks {
        let mut all = Hunks::default();
        for look in self.looks.iter().filter(|_| !matches!(self.subject, Subject::Plan(_))) {
            let looked = site.commit_of(&look.revision).and_then(|commit| {
                let from = self.from(site, look.since.as_ref(), &commit)?;
                site.repo.diff_text(&from, &commit, &[], READ_MAX)
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
        if let Some(mandate) = &mut self.mandate {
            mandate.findings.clone_from(&told.put);
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
    fn commit(&self, site: &Site) -> Result<Oid, GitError> {
        match self.subject {
            // A plan under review is a document and not a commit; its reviewers look at the run branch around it.
            Subject::Plan(_) => site.run_head(),
            _ => site.commit_of(&self.revision),
        }
    }

    /// The diff of a plan's document since it was last judged.
    fn document_diff(&self, site: &Site) -> Result<String, GitError> {
        let Some(before) = &self.before else { return Ok(String::new()) };
        let (from, to) = (site.commit_of(before)?, site.commit_of(&self.revision)?);
        let diff = site.repo.diff_blobs(&from, &to, READ_MAX)?;
        // The header names blobs, which mean nothing to a reader.
        let text = plain::visible(&diff);
        Ok(text.find("@@ ").map_or_else(String::new, |at| text[at..].to_owned()))
    }

    /// The diff, and whether there is more of it than could be read.
    fn diff(&self, site: &Site, commit: &Oid) -> Result<(String, bool), GitError> {
        if let Subject::Plan(_) = self.subject {
            return Ok((self.document_diff(site)?, false));
        }
        let from = self.from(site, self.before.as_ref(), commit)?;
        let text = site.repo.diff_text(&from, commit, &[], READ_MAX)?;
        Ok((plain::visible(&text.bytes), text.cut))
    }

    /// Where a diff begins: at the revision judged before, or where the change begins.
    fn from(&self, site: &Site, before: Option<&Revision>, commit: &Oid) -> Result<Oid, GitError> {
        match (before, &self.request) {
            (Some(before), _) => site.commit_of(before),
            (None, Some(request)) => Oid::parse(request.base()),
            (None, None) => match self.subject {
                Subject::Chain => match &self.ground {
                    Some(ground) => site.commit_of(ground),
                    None => Oid::parse(&self.base),
                },
                _ => self.begins.commit(site, commit),
            },
        }
    }

    /// Files that use what was fixed since the panel last looked. Empty for a task, whose reviewer sees all of its
    /// change.
    fn callers(&self, site: &Site, commit: &Oid) -> Result<Vec<String>, GitError> {
        let (Subject::Phase | Subject::Polish, Some(before)) = (&self.subject, &self.before) else {
            return Ok(Vec::new());
        };
        let changed = site.repo.changed_paths(&site.commit_of(before)?, commit)?.into_iter().collect();
        let near = polish::dependents(site, commit, &changed)?;
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
        site: &Arc<Site>,
        commit: &Oid,
        shared: &Arc<Mutex<SeatTree>>,
        told: &Told,
        ended: Ended,
    ) {
        let touched = site.leave_seat(&self.effect, shared);
        let changed = self.changed(site, commit);
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
            Some(failure) => site.fail(&self.effect, failure, notes),
            None => match said.and_then(|said| trust.believed(said)) {
                Ok(report) => {
                    let report = self.questions.looked_up(site, &self.effect, commit, report);
                    site.report(&self.effect, Report::Loop(report), notes);
                }
                Err(failure) => site.fail(&self.effect, failure, notes),
            },
        }
    }

    /// The answer of a reviewer that ended while no orchestrator was running.
    ///
    /// It counts only if the checkout is known to be unchanged: from the note that was left when the checkout was
    /// removed, or because the checkout is still there. If neither is so, the effect is not settled here.
    pub(crate) fn recovered(
        site: &Site,
        effect: &EffectId,
        lp: &Loop,
        ended: Ended,
        docket: &Docket,
    ) -> Option<Probe> {
        let subject = subject::of(lp.id())?;
        let questions = questions(site, lp, &subject, docket);
        let commit = match subject {
            Subject::Plan(_) => site.run_head().ok()?,
            _ => site.commit_of(lp.revision()?).ok()?,
        };
        let trust = Trust::new(records(lp), &ended.note);
        // Gathered anew, since what the launch was asked about follows from the docket.
        let mut again = Judge::again(site, effect, lp, docket);
        if let Some(judge) = &mut again {
            let (diff, _) = judge.diff(site, &commit).unwrap_or_default();
            judge.prepare_evidence(site, &commit, &diff);
        }
        let changed = again.as_ref().map(|judge| judge.changed(site, &commit)).unwrap_or_default();
        let judged = again.and_then(|judge| judge.judged);
        let reading = Reading { word: ended.word.as_deref(), changed: &changed, judged: judged.as_deref() };
        // Without this record nobody knows what the answer is about, so it cannot count.
        let told = site.told_to(effect)?;
        let report = match site.seat_noted(effect).or_else(|| site.seat_now(&commit))? {
            true => LoopReport::Failed(tampered()),
            false => read(effect, &ended.outcome, &reading, &told)
                .and_then(|said| trust.believed(said))
                .map(|report| questions.looked_up(site, effect, &commit, report))
                .unwrap_or_else(LoopReport::Failed),
        };
        let said = own_words(&ended.outcome, ended.word.as_deref());
        let unread = not_read(effect, &ended.outcome, &reading);
        let note = LaunchNote { unread, words: said, round: lp.round(), ..ended.note };
        Some(Probe::Done(Report::Loop(report), vec![Note::Launch(Box::new(note))]))
    }
}

impl Judge {
    /// What a launch of a dead orchestrator was asked about.
    fn again(site: &Site, effect: &EffectId, lp: &Loop, docket: &Docket) -> Option<Judge> {
        match &effect.step {
            // Without findings: `told_to` knows which ones were put to the launch.
            Step::Judge(seat) => Judge::gather(site, effect, lp, seat, &[], docket),
            _ => None,
        }
    }

    /// Gathers what evidence may name. Evidence is asked for in the first round only; later an approval confirms a fix.
    fn prepare_evidence(&mut self, site: &Site, commit: &Oid, diff: &str) {
        let Asked::Verdict(brief) = &self.asked else { return };
        let files = match brief.job.matter() {
            Matter::Plan => brief.plan.files.clone(),
            Matter::Change | Matter::Document => self.changed(site, commit),
        };
        let mut commands: Vec<String> = self.commands.iter().map(|command| command.shown.clone()).collect();
        commands.extend(self.records.iter().map(|record| record.name.clone()));
        if brief.round <= 1 {
            let gathered = Gathered { brief, titles: &self.titles, commands };
            let judged = Arc::new(gathered.judged(site, commit, files.clone(), diff));
            if let Some(mandate) = &mut self.mandate {
                mandate.judged = Some(judged.clone());
            }
            self.judged = Some(judged);
        }
        if let Asked::Verdict(brief) = &mut self.asked {
            brief.files = files;
        }
    }

    /// The files under review. Empty if they cannot be determined, and then a place in any file counts.
    fn changed(&self, site: &Site, commit: &Oid) -> Vec<String> {
        if let (Subject::Plan(_), Asked::Verdict(brief)) = (&self.subject, &self.asked)
            && let Some(document) = &brief.document
        {
            return vec![document.path.clone()];
        }
        let from = self.from(site, self.before.as_ref(), commit);
        let paths = from.and_then(|from| site.repo.changed_paths(&from, commit));
        paths.unwrap_or_default().iter().map(ToString::to_string).collect()
    }
}

/// The questions that the checks of a delivery put to its reviewers.
fn questions(site: &Site, lp: &Loop, subject: &Subject, docket: &Docket) -> Questions {
    let commands = match subject {
        Subject::Lane(_, Job::Qa) => check::askable(site, subject, docket),
        _ => Vec::new(),
    };
    Questions::of(lp, commands)
}

/// The commit that files which steer agents are taken from: the base of a change under review, or the user's own
/// commit.
fn base_of(docket: &Docket) -> String {
    docket.reviewed_from().to_owned()
}

/// Every finding so far with its fate. No line begins with a finding's id, because nothing here is to be answered.
fn earlier(lp: &Loop) -> Vec<String> {
    let line = |(id, entry): (FindingId, &Entry)| {
        format!("- {} ({})", FindingLine::of(id, entry).text(), entry.fate.word())
    };
    lp.ledger().iter().map(line).collect()
}

/// Both sides of a finding that is heard: who raised it and when, and what its builder says.
fn history(entry: &Entry) -> Vec<String> {
    let by: Vec<String> = entry.by.iter().map(ToString::to_string).collect();
    let mut lines = vec![format!("first raised in round {} by {}", entry.first_round, by.join(", "))];
    match &entry.reply {
        Some(Reply::Fixed) => lines.push("the maker says that it is fixed".to_owned()),
        Some(Reply::Refuted(why)) => lines.push(format!("the maker says that it is no issue: {why}")),
        Some(Reply::CannotFix(why)) => lines.push(format!("the maker says that it cannot fix it: {why}")),
        Some(Reply::Unseen(why)) => {
            lines.push(format!("the maker could not look whether it is fixed: {why}"))
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
fn records(lp: &Loop) -> Vec<Record> {
    let ran = |(_, state): &(&Check, &CheckState)| **state != CheckState::DidNotRun;
    lp.bench().map(|bench| bench.checks.iter().filter(ran).map(record).collect()).unwrap_or_default()
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
fn judge_job(subject: &Subject, docket: &Docket) -> JudgeJob {
    match subject {
        Subject::Plan(_) => JudgeJob::Plan,
        Subject::Lane(_, Job::Task(_) | Job::Repair) => JudgeJob::Task,
        Subject::Lane(_, Job::Qa) => JudgeJob::Delivery,
        Subject::Phase | Subject::Polish => JudgeJob::Phase,
        Subject::Chain if artifact::is_code(docket) => JudgeJob::Implementation,
        Subject::Chain => JudgeJob::Artifact,
    }
}

/// The document under review, if the subject is one.
fn document(site: &Site, subject: &Subject, revision: &Revision, docket: &Docket) -> Option<Document> {
    if *subject == Subject::Chain {
        return artifact::document(site, revision, docket);
    }
    let Subject::Plan(plan) = subject else { return None };
    let path = docket.about.paths.get(plan)?;
    let text = site.plan_text(path, revision).ok()?;
    Some(Document { path: path.clone(), text: text.text.clone() })
}

fn plan_text(site: &Site, docket: &Docket, plan: &PlanId) -> Option<Arc<PlanText>> {
    let path = docket.about.paths.get(plan)?;
    site.plan_text(path, &subject::plan_revision(docket, plan)?).ok()
}

/// The checks of this round with their findings, for the prompt.
fn check_lines(bench: &tribunal_core::panel::Bench) -> Vec<CheckLine> {
    let failed: Vec<CheckLine> = bench
        .failures()
        .map(|(check, claims)| CheckLine {
            name: check.to_string(),
            passed: false,
            claims: claims.iter().map(placed).collect(),
        })
        .collect();
    let other =
        bench.checks.iter().filter(|(check, _)| !failed.iter().any(|line| line.name == check.as_str()));
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
fn last_words(docket: &Docket, lp: &Loop) -> String {
    let prefix = format!("{}/", lp.id());
    let said = docket
        .launches
        .iter()
        .rev()
        .find(|launch| launch.effect.starts_with(&prefix) && !launch.summary.is_empty());
    said.map(|launch| launch.summary.clone()).unwrap_or_default()
}

impl Site {
    fn seat_dir(&self, commit: &Oid) -> std::path::PathBuf {
        self.dir.join("seats").join(commit.short()).join("tree")
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
    /// Every caller has to call `leave_seat` once, or the checkout is never removed.
    fn use_seat(&self, commit: &Oid, base: &str) -> Result<Arc<Mutex<SeatTree>>, GitError> {
        // The map is locked only for this line; making a checkout takes long and blocks just the reviewers of this
        // commit.
        let shared = Arc::clone(lock(&self.seats).entry(commit.as_str().to_owned()).or_default());
        let mut seat = lock(&shared);
        if seat.tree.is_none() {
            let path = self.seat_dir(commit);
            let index = path.with_file_name("index");
            let dir = path.with_file_name("");
            std::fs::create_dir_all(&dir).map_err(|source| GitError::Io { path: dir.clone(), source })?;
            // A checkout that a dead orchestrator left here may have been changed, so it is never taken over.
            self.shelf.discard(&path)?;
            crash::point("seat:before");
            let tree = self.judged_tree(commit, base)?;
            seat.tree = Some(self.shelf.checkout_as(&path, &index, commit, &tree, "review")?);
            crash::point("seat:after");
            seat.spoilt = false;
        }
        seat.users += 1;
        drop(seat);
        Ok(shared)
    }

    /// The path of the note on how a reviewer left its checkout. It is not in the launch's own folder, which the agent
    /// can write.
    fn seat_note(&self, effect: &EffectId) -> std::path::PathBuf {
        self.dir.join("left").join(slug(&effect.to_string()))
    }

    /// Notes how a reviewer left its checkout, before the checkout is removed: after a crash in between, the note is
    /// the proof.
    fn note_seat(&self, effect: &EffectId, touched: bool) -> Result<(), GitError> {
        let path = self.seat_note(effect);
        let dir = self.dir.join("left");
        let written = std::fs::create_dir_all(dir)
            .and_then(|()| std::fs::write(&path, if touched { TOUCHED } else { UNTOUCHED }));
        written.map_err(|source| GitError::Io { path, source })
    }

    /// Whether a reviewer changed its checkout, according to the note. A note that was cut short says nothing.
    fn seat_noted(&self, effect: &EffectId) -> Option<bool> {
        match std::fs::read_to_string(self.seat_note(effect)).ok()?.as_str() {
            TOUCHED => Some(true),
            UNTOUCHED => Some(false),
            _ => None,
        }
    }

    /// Whether a checkout that still exists was changed.
    fn seat_now(&self, commit: &Oid) -> Option<bool> {
        let path = self.seat_dir(commit);
        let tree = self.repo.tree(&path, &path.with_file_name("index"), commit);
        path.exists().then(|| tree.compare().ok().map(|touched| !touched.is_empty()))?
    }

    /// Ends a reviewer's use of the checkout. Returns true if the checkout was changed; the last user removes it.
    fn leave_seat(&self, effect: &EffectId, shared: &Arc<Mutex<SeatTree>>) -> Result<bool, GitError> {
        let mut seat = lock(shared);
        seat.users = seat.users.saturating_sub(1);
        // Without a tree nothing can be compared, and what cannot be proven unchanged counts as changed.
        let Some(tree) = &seat.tree else { return Ok(true) };
        let touched = stands(Defence::SeatCompare) && (seat.spoilt || !tree.compare()?.is_empty());
        seat.spoilt = touched;
        self.note_seat(effect, touched)?;
        crash::point("seat:left");
        if seat.users == 0 {
            let tree = seat.tree.take();
            match &tree {
                // Behind the sandbox nobody could write here, so the worktree pool may reuse it for the next reviewer.
                Some(tree) if !touched && self.seats_are_read_only() => self.shelf.shelve(tree)?,
                // If somebody could write here, a comparison does not prove enough for the tree to be reused.
                Some(tree) => self.shelf.retire(tree)?,
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
        site: &Site,
        effect: &EffectId,
        plan: &PlanId,
        docket: &Docket,
    ) -> Option<Checkpoint> {
        let lp = subject::loops_of(docket, plan).filter(|lp| lp.outcome().is_none()).last()?;
        let text = plan_text(site, docket, plan)?;
        let number = subject::of(lp.id()).as_ref().and_then(task_number);
        let brief = CheckpointBrief {
            plan: plan_brief(&text),
            task: number.and_then(|n| task_brief(&text, n)),
            depth: site.effort_of(Some(plan), docket).depth().to_owned(),
            iterations: lp.iterations(),
            diff: String::new(),
        };
        let revision = lp.revision().cloned();
        let begins = Base::of(&subject::of(lp.id())?, docket);
        let base = docket.base().to_owned();
        Some(Checkpoint { effect: effect.clone(), plan: plan.clone(), brief, revision, begins, base })
    }

    /// Launches the checkpoint, on a worker.
    pub(crate) fn run(mut self, site: &Arc<Site>) {
        let Some(commit) = self.revision.as_ref().and_then(|revision| site.commit_of(revision).ok()) else {
            let failure = Failure::new(FailureKind::Empty, "the lane has made nothing yet");
            return site.fail(&self.effect, failure, Vec::new());
        };
        let Ok(shared) = site.use_seat(&commit, &self.base) else {
            let failure = Failure::new(FailureKind::Crashed, "no checkout for the checkpoint");
            return site.fail(&self.effect, failure, Vec::new());
        };
        // If the diff cannot be made, the agent still has the checkout to look at.
        let from = self.begins.commit(site, &commit);
        if let Ok(diff) = from.and_then(|from| site.repo.diff_text(&from, &commit, &[], DIFF_MAX)) {
            self.brief.diff = plain::visible(&diff.bytes);
        }
        let seat = site.settings.agents.task_seats.first().cloned().unwrap_or_default();
        let names = [seat.as_str(), "reviewer"];
        let mut brief = site.brief(&self.effect, "checkpoint", &names);
        brief.loop_use = "task".to_owned();
        brief.plan = Some(self.plan.to_string());
        brief.round = self.effect.entry;
        brief.dir = site.seat_dir(&commit);
        brief.prompt = prompt::checkpoint(&self.brief);
        let effect = self.effect.clone();
        let begin = Begin::Judge { base: self.base.clone(), commit: commit.clone() };
        site.launch(&effect, &names, brief, begin, None, move |site, ended| {
            // A checkpoint decides nothing, so a changed checkout only costs its feedback.
            let touched = site.leave_seat(&self.effect, &shared).unwrap_or(true);
            let notes = vec![Note::Launch(Box::new(ended.note))];
            match ended.failure {
                None if !touched => {
                    let feedback = words(&ended.outcome, None);
                    site.report(&self.effect, Report::Run(RunReport::Checkpointed { feedback }), notes);
                }
                failure => site.fail(&self.effect, failure.unwrap_or_else(tampered), notes),
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
