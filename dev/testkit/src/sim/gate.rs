//! The first law, read from the journal alone: what may land, and why. It keeps its own idea of what was judged,
//! by whom and how, and never asks a machine.

use super::git::tree_of;
use std::collections::{BTreeMap, BTreeSet};
use tribunal_core::effect::{EffectId, Step};
use tribunal_core::finding::{Answer, Claim, Verdict};
use tribunal_core::held::{HeldChoice, HeldDecision};
use tribunal_core::ids::{Check, LoopId, PlanId, Reviewer, Revision};
use tribunal_core::panel::{Ruling, needs_rework};
use tribunal_core::policy::{Asked, NoVerdict, Policy};
use tribunal_core::review_loop::{Choice, LoopEvent, Opening, Outcome};
use tribunal_core::run::{Job, LaneChoice, PlanSpec, RunEvent, RunSpec, Stuck, Was};

/// One sitting: what was judged, and every word that counted.
#[derive(Clone, Debug, Default)]
struct JudgedRound {
    revision: Option<Revision>,
    confirming: bool,
    checks: BTreeMap<Check, Vec<Claim>>,
    /// Checks that had nothing to look at, and say so.
    unchecked: BTreeSet<Check>,
    assembled: BTreeSet<Reviewer>,
    words: BTreeMap<Reviewer, Answer>,
    /// What each part of a reviewer's said.
    parts: BTreeMap<Reviewer, BTreeMap<u32, Answer>>,
    /// Answers of whoever is asked now that did not count and had something that nobody read.
    lost: BTreeMap<Reviewer, Vec<Answer>>,
    ruling: Option<Ruling>,
    /// What reviewers had said before an exhaustive pass, which only adds to it.
    kept: BTreeMap<Reviewer, Answer>,
    /// What reviewers had said in the sitting before this one, of the same revision.
    stood: BTreeMap<Reviewer, Answer>,
}

#[derive(Clone, Debug)]
struct LoopBook {
    policy: Policy,
    round: u32,
    made: Option<Revision>,
    judged_round: JudgedRound,
    accepted: Option<String>,
}

/// A lane, as the journal tells it.
#[derive(Clone, Debug, Default)]
struct LaneBook {
    tasks: u32,
    tasks_good: BTreeSet<u32>,
    /// The files somebody vouched for, and who.
    vouched: Option<(String, String)>,
    qa_good: bool,
    asked: Option<Stuck>,
    /// A named person took its work as it is.
    taken: bool,
}

/// Everything the first law needs to remember.
#[derive(Clone, Debug)]
pub struct Gate {
    qa: bool,
    loops: BTreeMap<LoopId, LoopBook>,
    ends: BTreeMap<LoopId, (Outcome, Option<Revision>)>,
    lanes: BTreeMap<PlanId, LaneBook>,
    /// A person ordered that the result is worked on again, and the run branch does not begin anew yet.
    works_again: bool,
}

impl Gate {
    /// Before anything happened.
    pub fn new(spec: &RunSpec) -> Gate {
        let lane = |plan: &PlanSpec| {
            let done = plan.done.as_ref();
            LaneBook {
                tasks: plan.tasks.max(1),
                tasks_good: (1..=done.map_or(0, |done| done.tasks)).collect(),
                vouched: done.map(|done| (tree_of(&done.head).to_owned(), "an earlier run".to_owned())),
                qa_good: false,
                asked: None,
                taken: false,
            }
        };
        let lanes = spec.plans.iter().map(|plan| (plan.id.clone(), lane(plan))).collect();
        Gate { qa: spec.qa, loops: BTreeMap::new(), ends: BTreeMap::new(), lanes, works_again: false }
    }

    /// Whether this revision of the plan may land.
    pub fn may_land(&self, plan: &PlanId, revision: &Revision) -> Result<(), String> {
        let lane = self.lanes.get(plan).ok_or("no such plan")?;
        if let Some(task) = (1..=lane.tasks).find(|n| !lane.tasks_good.contains(n)) {
            return Err(format!("task {task} never ended well"));
        }
        match &lane.vouched {
            None => return Err("nobody vouches for its files".to_owned()),
            Some((tree, by)) if tree != tree_of(revision) => {
                return Err(format!("{by} vouched for {tree}"));
            }
            Some(_) => {}
        }
        if self.qa && !lane.qa_good {
            return Err("its delivery was not judged since the last change".to_owned());
        }
        Ok(())
    }

    /// Whether a named person took work of a plan as it is.
    pub fn is_taken(&self, plan: &PlanId) -> bool {
        self.lanes.get(plan).is_some_and(|lane| lane.taken)
    }

    /// What the sitting of a loop judges.
    pub fn judged(&self, id: &LoopId) -> Option<&Revision> {
        self.loops.get(id)?.judged_round.revision.as_ref()
    }

    /// Takes in a fact of a loop.
    pub fn take_loop(&mut self, id: &LoopId, event: &LoopEvent) -> Result<(), String> {
        if let LoopEvent::Opened(opened) = event {
            let made = match &opened.opening {
                Opening::Judge { revision, .. } => Some(revision.clone()),
                Opening::Make { .. } => None,
            };
            let policy = opened.policy.clone();
            let book =
                LoopBook { policy, round: 0, made, judged_round: JudgedRound::default(), accepted: None };
            self.loops.insert(id.clone(), book);
            return Ok(());
        }
        let book = self.loops.get_mut(id).ok_or_else(|| format!("{id} was never opened"))?;
        let accepted = book.accepted.take();
        if let LoopEvent::Ended { outcome, revision } = event {
            self.ends.insert(id.clone(), (outcome.clone(), revision.clone()));
            return book.may_end(outcome, revision.as_ref(), accepted.as_deref());
        }
        book.take(event);
        Ok(())
    }

    /// Takes in a fact of the run.
    pub fn take_run(&mut self, event: &RunEvent) -> Result<(), String> {
        match event {
            RunEvent::LoopEnded { effect, outcome, revision, .. } => {
                self.loop_ended(effect, outcome, revision.as_ref())
            }
            RunEvent::Summarised { effect, revision } => {
                let lane = self.lane(effect)?;
                lane.qa_good = false;
                match &lane.vouched {
                    Some((tree, _)) if tree != tree_of(revision) => {
                        Err("a summary changed the lane's files".to_owned())
                    }
                    _ => Ok(()),
                }
            }
            RunEvent::LandingRefused { effect, .. } => {
                self.lane(effect)?.vouched = None;
                Ok(())
            }
            RunEvent::LaneAsked { plan, stuck } => {
                self.lanes.entry(plan.clone()).or_default().asked = Some(stuck.clone());
                Ok(())
            }
            RunEvent::HeldDecided(HeldDecision { choice, .. }) => {
                self.works_again = matches!(choice, HeldChoice::Again(_));
                Ok(())
            }
            // What is worked on again is approved by nobody. Until it is, the approval stands.
            RunEvent::Rebased { .. } if std::mem::take(&mut self.works_again) => {
                for lane in self.lanes.values_mut() {
                    (lane.vouched, lane.qa_good) = (None, false);
                    let last = lane.tasks;
                    lane.tasks_good.remove(&last);
                }
                Ok(())
            }
            RunEvent::LaneDecided { plan, decision } => {
                self.lanes.entry(plan.clone()).or_default().decided(&decision.choice, &decision.by)
            }
            RunEvent::Landed { effect, revision, .. } => {
                self.may_land(&PlanId::new(effect.of.as_str()), revision)
            }
            _ => Ok(()),
        }
    }

    fn lane(&mut self, effect: &EffectId) -> Result<&mut LaneBook, String> {
        let plan = PlanId::new(effect.of.as_str());
        self.lanes.get_mut(&plan).ok_or_else(|| format!("{effect} is of no plan"))
    }

    fn loop_ended(
        &mut self,
        effect: &EffectId,
        outcome: &Outcome,
        revision: Option<&Revision>,
    ) -> Result<(), String> {
        let Some((id, job)) = self.find(effect) else {
            return Err(format!("{effect} ended a loop that nobody opened"));
        };
        let said = self.ends.get(&id).ok_or_else(|| format!("{id} has not ended"))?;
        if said.0 != *outcome || said.1.as_ref() != revision {
            return Err(format!("the run was told another end of {id}"));
        }
        let (Some(job), true) = (job, outcome.is_good()) else { return Ok(()) };
        let revision = revision.ok_or_else(|| format!("{id} ended well with nothing"))?.clone();
        let by_person = matches!(outcome, Outcome::Accepted(by) if !by.is_empty());
        let lane = self.lane(effect)?;
        lane.taken |= by_person;
        lane.vouched = Some((tree_of(&revision).to_owned(), id.to_string()));
        match job {
            Job::Task(n) => {
                lane.tasks_good.insert(n);
            }
            Job::Repair => lane.qa_good = false,
            Job::Qa => lane.qa_good = true,
        }
        Ok(())
    }

    /// The loop an effect of the run holds, by the words of its name; without a job where it is no lane's.
    fn find(&self, effect: &EffectId) -> Option<(LoopId, Option<Job>)> {
        if effect.step != Step::Loop {
            return None;
        }
        let ending = format!(".{}", effect.entry);
        let of = effect.of.as_str();
        let ours = |id: &&LoopId| {
            let name = id.as_str();
            let begins =
                if of == "run" { name.starts_with("phase.") } else { name.starts_with(&format!("{of}/")) };
            begins && name.ends_with(&ending)
        };
        let id = self.loops.keys().find(ours)?.clone();
        let label = id.as_str().split('/').nth(1).unwrap_or_default();
        let label = label.split('.').next().unwrap_or_default();
        let job = match label {
            "repair" => Some(Job::Repair),
            "qa" => Some(Job::Qa),
            task => task.strip_prefix("task-").and_then(|n| n.parse().ok()).map(Job::Task),
        };
        Some((id, job))
    }
}

impl LaneBook {
    fn decided(&mut self, choice: &LaneChoice, by: &str) -> Result<(), String> {
        let stuck = self.asked.take().ok_or("a lane was decided that had not asked")?;
        match choice {
            LaneChoice::Accept => {
                if by.is_empty() {
                    return Err("accepted by nobody".to_owned());
                }
                let revision = stuck.revision.ok_or("accepted what was never made")?;
                self.taken = true;
                self.vouched = Some((tree_of(&revision).to_owned(), by.to_owned()));
                match stuck.was {
                    Was::Loop(Job::Task(n)) => {
                        self.tasks_good.insert(n);
                    }
                    Was::Loop(Job::Qa) => self.qa_good = true,
                    Was::Summary => {}
                    Was::Loop(Job::Repair) | Was::Landing => {
                        return Err("a refused landing was accepted".to_owned());
                    }
                }
            }
            LaneChoice::Fixed(_) => {
                self.vouched = None;
                self.qa_good = false;
            }
            LaneChoice::Reask if !stuck.landing_did_not_run() => {
                return Err("a landing that was refused is tried again as it is".to_owned());
            }
            LaneChoice::Reask | LaneChoice::Retry(_) | LaneChoice::Drop | LaneChoice::Stop => {}
        }
        Ok(())
    }
}

impl JudgedRound {
    /// A verdict stands only where a pass is confirmed.
    fn keep(&mut self, reviewer: &Reviewer) {
        let stood = self.stood.get(reviewer).filter(|_| self.confirming);
        let word = stood.map(|word| Answer { raised: Vec::new(), ..word.clone() });
        self.words.extend(word.map(|word| (reviewer.clone(), word)));
    }
}

impl LoopBook {
    fn take(&mut self, event: &LoopEvent) {
        match event {
            LoopEvent::Made { revision, .. } | LoopEvent::Joined { revision, .. } => {
                self.made = Some(revision.clone());
            }
            LoopEvent::RoundBegan { round, revision } => {
                self.round = *round;
                self.judged_round =
                    JudgedRound { revision: Some(revision.clone()), ..JudgedRound::default() };
            }
            LoopEvent::Confirming => {
                let JudgedRound { revision, words: stood, .. } = std::mem::take(&mut self.judged_round);
                self.judged_round =
                    JudgedRound { revision, confirming: true, stood, ..JudgedRound::default() };
            }
            LoopEvent::Checked { effect, checked } => {
                if let Step::Check(check) = &effect.step {
                    self.judged_round.checks.insert(check.clone(), checked.findings.clone());
                }
            }
            LoopEvent::Unchecked { effect, .. } => {
                if let Step::Check(check) = &effect.step {
                    self.judged_round.unchecked.insert(check.clone());
                }
            }
            LoopEvent::PanelAssembled { reviewers } => {
                self.judged_round.assembled = reviewers.iter().cloned().collect()
            }
            LoopEvent::Answered { effect, answer, shown, part } => {
                // Nobody has a word who was not shown everything.
                if let (Step::Judge(reviewer), true) = (&effect.step, shown.hunks == shown.of) {
                    let own = part.as_deref().unwrap_or(answer).clone();
                    self.judged_round.parts.entry(reviewer.clone()).or_default().insert(effect.n.part, own);
                    self.judged_round.words.insert(reviewer.clone(), answer.clone());
                }
            }
            LoopEvent::VerdictKept { effect, shown } => {
                if let (Step::Judge(reviewer), true) = (&effect.step, shown.hunks == shown.of) {
                    self.judged_round.keep(reviewer);
                }
            }
            LoopEvent::PartAnswered { effect, answer, .. } => {
                if let Step::Judge(reviewer) = &effect.step {
                    self.judged_round
                        .parts
                        .entry(reviewer.clone())
                        .or_default()
                        .insert(effect.n.part, answer.clone());
                }
            }
            LoopEvent::Intended { effect, .. } => {
                // The fallback has not said anything yet.
                if let (Step::Judge(reviewer), true, 0, false) =
                    (&effect.step, effect.n.backup, effect.n.fails, effect.n.again)
                {
                    self.judged_round.lost.remove(reviewer);
                }
            }
            LoopEvent::AskedAgain { reviewer, answer, .. } => {
                self.judged_round.words.remove(reviewer);
                let lost = answer
                    .clone()
                    .or_else(|| self.without_a_ground(reviewer))
                    .filter(|answer| !answer.unread.is_empty());
                self.judged_round.lost.entry(reviewer.clone()).or_default().extend(lost);
            }
            LoopEvent::ExhaustiveOrdered { reviewers } => {
                for reviewer in reviewers {
                    let word = self.judged_round.words.remove(reviewer);
                    self.judged_round.kept.extend(word.map(|word| (reviewer.clone(), word)));
                }
            }
            LoopEvent::PanelClosed => {
                for (reviewer, mut word) in std::mem::take(&mut self.judged_round.kept) {
                    let more = self.judged_round.words.get(&reviewer).map(|more| more.verdict);
                    word.verdict = word.verdict.max(more.unwrap_or(word.verdict));
                    self.judged_round.words.insert(reviewer, word);
                }
            }
            LoopEvent::Ruled { ruling } => self.judged_round.ruling = Some(ruling.clone()),
            LoopEvent::Decided(decision) => self.decided(&decision.choice, &decision.by),
            _ => {}
        }
    }

    /// The part that is asked for a ground, taken back.
    fn without_a_ground(&mut self, reviewer: &Reviewer) -> Option<Answer> {
        let strict = !self.policy.warnings_pass;
        let lacks = |answer: &Answer| {
            answer.verdict == Verdict::Reject
                || answer.intent_satisfied == Some(false)
                || (strict && answer.verdict == Verdict::Conditional)
        };
        let parts = self.judged_round.parts.get_mut(reviewer)?;
        let part = *parts.iter().find(|(_, answer)| lacks(answer))?.0;
        parts.remove(&part)
    }

    fn decided(&mut self, choice: &Choice, by: &str) {
        match choice {
            Choice::Accept => self.accepted = Some(by.to_owned()),
            Choice::Fixed(revision) => {
                self.round += 1;
                self.made = Some(revision.clone());
                self.judged_round =
                    JudgedRound { revision: Some(revision.clone()), ..JudgedRound::default() };
            }
            Choice::Reask => {
                let (revision, confirming) =
                    (self.judged_round.revision.clone(), self.judged_round.confirming);
                // Who was never ruled on said nothing that could stand.
                let ruled = self.judged_round.ruling.is_some();
                let words = std::mem::take(&mut self.judged_round.words);
                let stood = if ruled { words } else { std::mem::take(&mut self.judged_round.stood) };
                self.judged_round = JudgedRound { revision, confirming, stood, ..JudgedRound::default() };
            }
            Choice::Again(_) | Choice::Stop => {}
        }
    }

    fn may_end(
        &self,
        outcome: &Outcome,
        revision: Option<&Revision>,
        accepted: Option<&str>,
    ) -> Result<(), String> {
        match outcome {
            Outcome::Accepted(by) if by.is_empty() => Err("accepted by nobody".to_owned()),
            Outcome::Accepted(by) if accepted != Some(by) => Err(format!("{by} never accepted it")),
            Outcome::Passed | Outcome::PassedWithWarnings => {
                if revision.is_none() || self.judged_round.revision.as_ref() != revision {
                    return Err("what ended is not what was judged".to_owned());
                }
                if self.made.as_ref() != revision {
                    return Err("what ended is not what was made".to_owned());
                }
                self.may_pass(*outcome == Outcome::PassedWithWarnings)
            }
            _ => Ok(()),
        }
    }

    fn may_pass(&self, warnings: bool) -> Result<(), String> {
        let (policy, judged_round) = (&self.policy, &self.judged_round);
        if policy.confirm && self.round > 1 && !judged_round.confirming {
            return Err("it was not confirmed".to_owned());
        }
        if policy.reviewers.is_empty() && policy.checks.is_empty() {
            return Err("there was nobody to judge it".to_owned());
        }
        let full = self.round <= 1 || judged_round.confirming || !policy.recheck_failed_only;
        let said =
            |check: &Check| judged_round.checks.contains_key(check) || judged_round.unchecked.contains(check);
        if let Some(check) = policy.checks.iter().find(|check| full && !said(check)) {
            return Err(format!("check {check} never ran on it"));
        }
        let claims = || judged_round.checks.values().flatten();
        if let Some(claim) = claims().find(|claim| needs_rework(policy, claim.severity)) {
            return Err(format!("a check found: {}", claim.claim));
        }
        let all_sit = match policy.asked {
            Asked::Always | Asked::UnlessChecksReject => true,
            Asked::OnlyIfChecksFail => claims().next().is_some(),
        };
        if let Some(reviewer) =
            policy.reviewers.iter().find(|reviewer| all_sit && !judged_round.assembled.contains(reviewer))
        {
            return Err(format!("{reviewer} was not asked"));
        }
        judged_round.assembled.iter().try_for_each(|reviewer| self.consents(reviewer, warnings))
    }

    fn consents(&self, reviewer: &Reviewer, warnings: bool) -> Result<(), String> {
        let checks_only = match &self.judged_round.ruling {
            Some(Ruling::Pass { checks_only } | Ruling::PassWithWarnings { checks_only, .. }) => *checks_only,
            _ => return Err("the ruling was no pass".to_owned()),
        };
        for lost in self.judged_round.lost.get(reviewer).into_iter().flatten() {
            let answer = self.judged_round.words.get(reviewer);
            if answer.is_some_and(|answer| answer.verdict < lost.verdict) {
                return Err(format!("{reviewer} took back what nobody read"));
            }
            let mut parts = 1..=u32::try_from(lost.unread.len()).unwrap_or(u32::MAX);
            if answer.is_some_and(|answer| !parts.all(|n| answer.settles(n))) {
                return Err(format!("{reviewer} passed over what nobody read"));
            }
        }
        if self.judged_round.words.get(reviewer).is_some_and(|answer| !answer.unread.is_empty()) {
            return Err(format!("nobody read all that {reviewer} said"));
        }
        match self.judged_round.words.get(reviewer).map(|answer| answer.verdict) {
            Some(Verdict::Approve) => Ok(()),
            Some(Verdict::Conditional) if warnings && self.policy.warnings_pass => Ok(()),
            Some(verdict) => Err(format!("{reviewer} said {verdict}")),
            None if checks_only && self.policy.no_verdict == NoVerdict::ChecksOnly => Ok(()),
            None => Err(format!("{reviewer} never approved it")),
        }
    }
}
