//! The laws of a loop, read from its journal. Written from the tables of the design, not from the machine: it
//! keeps its own small ledger, and its own idea of who sits, what a sitting adds up to and when to stop.

use crate::book::Book;
use crate::loop_world::{Hunk, hunks, shown_whole};
use crate::word_laws::WordLaws;
use std::collections::{BTreeMap, BTreeSet};
use tribunal_core::converge::{Pattern, Stretch};
use tribunal_core::cover::Shown;
use tribunal_core::effect::{EffectId, Step, Try};
use tribunal_core::finding::{Answer, Claim, Fate, Reply, Said, Severity, Source, Verdict};
use tribunal_core::ids::{Builder, Check, FindingId, Reviewer, Revision, Time};
use tribunal_core::ledger::{Mark, Tracked};
use tribunal_core::panel::{ReviewerState, Ruling, Unusable};
use tribunal_core::policy::{Asked, AtTheCap, NoVerdict, Policy};
use tribunal_core::review_loop::{
    Choice, Decision, FailureKind, FixAssignment, Loop, LoopEvent, LoopIn, Opened, Opening, Outcome,
    Question, Why,
};

/// One finding, as the journal tells it.
#[derive(Clone)]
struct Line {
    by: BTreeSet<Source>,
    severity: Severity,
    fate: Fate,
    file: Option<String>,
    reply: Option<Reply>,
    builders: bool,
    region: Option<String>,
    mark: (u32, Mark),
    fixer: Option<Builder>,
    referred: bool,
    heard_referral: bool,
    contested: bool,
    heard_contest: bool,
    flipped: bool,
    ordered: bool,
    touched: u32,
    untouched: u32,
}

/// One sitting, as the journal tells it.
#[derive(Default)]
struct JudgedRound {
    revision: Option<Revision>,
    confirming: bool,
    checks: BTreeMap<Check, Vec<Claim>>,
    assembled: BTreeSet<Reviewer>,
    words: BTreeMap<Reviewer, Answer>,
    /// Whether the fallback of a reviewer is asked.
    backup: BTreeMap<Reviewer, bool>,
    /// Answers that did not count, by who gave them on which part: a verdict, and how much of it was not read.
    lost: BTreeMap<(Reviewer, bool, u32), Vec<Lost>>,
    /// The part that each reviewer is asked about.
    asking: BTreeMap<Reviewer, u32>,
    /// What the reviewers that hold an exhaustive pass had said before it.
    kept: BTreeMap<Reviewer, Answer>,
    /// Reviewers that were shown nothing and keep their verdict.
    not_asked: BTreeSet<Reviewer>,
    /// What each part of a reviewer's said.
    parts: BTreeMap<Reviewer, BTreeMap<u32, Answer>>,
    /// Reviewers without a verdict: what they object to, and what was put to them and they did not uphold.
    partly: BTreeMap<Reviewer, (Answer, BTreeSet<FindingId>)>,
    /// Who was not asked, because the change takes too many parts.
    left_out: BTreeSet<Reviewer>,
}

impl JudgedRound {
    /// Everybody whose objections count.
    fn voices(&self) -> impl Iterator<Item = (&Reviewer, &Answer)> {
        self.words.iter().chain(self.partly.iter().map(|(reviewer, (answer, _))| (reviewer, answer)))
    }

    fn voice(&self, reviewer: &Reviewer) -> Option<&Answer> {
        self.words.get(reviewer).or_else(|| self.partly.get(reviewer).map(|(answer, _)| answer))
    }
}

/// An answer that did not count although it named something.
struct Lost {
    /// The mildest verdict that does not take it back.
    floor: Verdict,
    parts: u32,
}

impl JudgedRound {
    fn raised(&self) -> Vec<(Source, Claim)> {
        let checks = self.checks.iter().map(|(check, claims)| (Source::Check(check.clone()), claims));
        let reviewers =
            self.words.iter().map(|(reviewer, answer)| (Source::Reviewer(reviewer.clone()), &answer.raised));
        let all = checks.chain(reviewers);
        all.flat_map(|(by, claims)| claims.iter().map(move |claim| (by.clone(), claim.clone()))).collect()
    }
}

struct Record {
    round: u32,
    must: BTreeSet<FindingId>,
    broken: u32,
    late: Vec<FindingId>,
    /// Reopened, or of this round and not late.
    back: Vec<FindingId>,
    fresh: Vec<FindingId>,
    left: BTreeMap<FindingId, u32>,
    complete: bool,
    fundamental: bool,
}

#[derive(Default)]
struct Counts {
    reports: u64,
    makes: u64,
    joins: u64,
    judged_rounds: u64,
    decisions: u64,
    again_rounds: u64,
    agains: u64,
    fixed: u64,
    reasks: u64,
    hands: u64,
    passes: u64,
}

/// The laws of one loop.
pub struct LoopLaws {
    name: String,
    policy: Policy,
    lines: BTreeMap<FindingId, Line>,
    words: WordLaws,
    judged: Vec<Revision>,
    seen: Vec<Revision>,
    /// Hunks that each reviewer was shown whole, in sittings where it answered.
    hunks: BTreeMap<Reviewer, BTreeSet<Hunk>>,
    /// What each reviewer said in the last sitting that was ruled on.
    stood: BTreeMap<Reviewer, Answer>,
    made: Option<Revision>,
    parts: usize,
    fixers: usize,
    news: bool,
    round: u32,
    rounds_max: u32,
    rounds_given: u32,
    judged_round: JudgedRound,
    series: Vec<Record>,
    /// The round of the exhaustive pass, and what was open before it.
    pass: Option<(u32, usize)>,
    contests: BTreeSet<(FindingId, u32)>,
    ruling: Option<Ruling>,
    question: Option<Question>,
    accepted: Option<String>,
    intended: BTreeSet<EffectId>,
    heard: BTreeSet<EffectId>,
    counts: Counts,
    runs_here: u32,
    builders_gone: usize,
    given_up: bool,
    /// The builder is done, and there is nothing that was not there before.
    unchanged: bool,
    now: Time,
}

impl LoopLaws {
    /// The laws of a loop that was opened so.
    pub fn new(opened: &Opened, wild: bool) -> LoopLaws {
        let (rounds, open, made) = match &opened.opening {
            Opening::Make { rounds, open } => (*rounds, open, None),
            Opening::Judge { revision, open, .. } => (None, open, Some(revision.clone())),
        };
        let line = |entry: &tribunal_core::ledger::Entry| Line {
            by: entry.by.clone(),
            severity: entry.severity,
            fate: Fate::Open,
            file: entry.claim.file.clone(),
            reply: entry.reply.clone(),
            builders: entry.builders,
            region: entry.region.clone(),
            mark: (0, Mark::Persistent),
            fixer: entry.fixer.clone(),
            referred: entry.referred.is_some(),
            heard_referral: entry.heard_referral,
            contested: false,
            heard_contest: false,
            flipped: false,
            ordered: false,
            touched: 0,
            untouched: 0,
        };
        let rounds_max = rounds.unwrap_or(opened.policy.rounds_max);
        let mut laws = LoopLaws {
            name: if wild { "wild" } else { opened.policy.of.word() }.to_owned(),
            policy: opened.policy.clone(),
            lines: open.iter().map(|carried| (carried.id, line(&carried.entry))).collect(),
            words: WordLaws::new(open),
            judged: Vec::new(),
            seen: Vec::new(),
            hunks: BTreeMap::new(),
            stood: BTreeMap::new(),
            made,
            parts: 0,
            fixers: 1,
            news: false,
            round: 0,
            rounds_max,
            rounds_given: rounds_max,
            judged_round: JudgedRound::default(),
            series: Vec::new(),
            pass: None,
            contests: BTreeSet::new(),
            ruling: None,
            question: None,
            accepted: None,
            intended: BTreeSet::new(),
            heard: BTreeSet::new(),
            counts: Counts { hands: 1, ..Counts::default() },
            runs_here: 0,
            builders_gone: 0,
            given_up: false,
            unchanged: false,
            now: opened.at,
        };
        laws.fixers = laws.expected_fixers().len();
        laws.counts.hands = laws.fixers as u64;
        laws
    }

    /// An input that moved the machine.
    pub fn input(&mut self, input: &LoopIn, events: &[LoopEvent], book: &mut Book) {
        if let LoopIn::Intend { at, .. } = input {
            self.now = *at;
        }
        let LoopIn::Report { effect, .. } = input else { return };
        let own = effect.guarded().unwrap_or_else(|| effect.clone());
        self.counts.reports += 1;
        book.loop_reports += 1;
        book.most = book.most.max(self.counts.reports);
        match own.step {
            Step::Make(_) => {
                self.counts.makes += 1;
                self.runs_here += 1;
            }
            Step::Join => self.counts.joins += 1,
            _ => {}
        }
        let new = self.heard.insert(own.clone());
        book.hold("stale", new, || format!("{own} is heard twice: {events:?}"));
        let launched = !own.step.is_one_shot() || self.intended.contains(&own);
        book.hold("intent", launched, || format!("{own} reports and was never intended"));
    }

    /// An event, and the machine after it.
    pub fn observe(&mut self, event: &LoopEvent, after: &Loop, book: &mut Book) {
        book.saw(format!("event/{}", event.name()));
        match event {
            LoopEvent::Opened(_) => book.breach("closed", || "opened twice".into()),
            LoopEvent::Intended { effect, due } => {
                let new = self.intended.insert(effect.clone());
                book.hold("intent", new, || format!("{effect} is intended twice"));
                let make = matches!(effect.step, Step::Make(_));
                let timeouts = self.policy.timeouts;
                let wait = if make { timeouts.make_ms } else { timeouts.judge_ms };
                let right = *due == Some(Time(self.now.0 + wait));
                book.hold("intent", right, || format!("{effect} is due at {due:?}"));
                if let Step::Judge(reviewer) = &effect.step {
                    self.judged_round.backup.insert(reviewer.clone(), effect.n.backup);
                    self.judged_round.asking.insert(reviewer.clone(), effect.n.part);
                }
            }
            LoopEvent::Cleared { .. } => {}
            LoopEvent::Iterated { .. } => {
                let iterates = self.policy.iterations_max.is_some();
                book.hold("bounded", iterates, || "iterates without a limit".into());
            }
            LoopEvent::Made { revision, replies, .. } => self.made(revision, replies),
            LoopEvent::Joined { revision, .. } => self.made = Some(revision.clone()),
            LoopEvent::Failed { effect, failure } => {
                if let Step::Judge(reviewer) = &effect.step
                    && !failure.unread.is_empty()
                {
                    self.lose(reviewer, effect.n.part, Lost { floor: Verdict::Conditional, parts: 0 });
                }
                self.failed(effect, failure.kind, book);
            }
            LoopEvent::RoundBegan { round, revision } => self.round_began(*round, revision, book),
            LoopEvent::Checked { effect, checked } => {
                let Step::Check(check) = &effect.step else { return };
                self.judged_round.checks.insert(check.clone(), checked.findings.clone());
            }
            // The settings say that it stops nothing; it is no answer, and settles nothing.
            LoopEvent::Unchecked { .. } => {}
            LoopEvent::PanelAssembled { reviewers } => {
                self.assembled(reviewers, book);
                reviewers.iter().for_each(|reviewer| WordLaws::asked(after, reviewer, book));
            }
            LoopEvent::Answered { effect, answer, shown, part } => {
                let own = part.as_deref().unwrap_or(answer);
                self.part(effect, own, *shown, book);
                self.answered(effect, answer, *shown, book);
            }
            LoopEvent::PartAnswered { effect, answer, shown } => self.part(effect, answer, *shown, book),
            LoopEvent::NotCovered { effect, answer, shown } => {
                self.part(effect, answer, *shown, book);
                self.not_covered(effect, *shown, book);
            }
            LoopEvent::TooLarge { effect, shown } => self.too_large(effect, *shown, book),
            LoopEvent::VerdictKept { effect, shown } => self.kept(effect, *shown, book),
            LoopEvent::AskedAgain { reviewer, why, answer } => {
                self.asked_again(reviewer, *why, answer.as_ref(), after, book)
            }
            LoopEvent::PanelClosed => self.panel_closed(after, book),
            LoopEvent::Tracked { findings, .. } => self.tracked(findings, after, book),
            LoopEvent::Heard { finding, upheld, .. } => self.heard(*finding, *upheld, book),
            LoopEvent::Ruled { ruling } => self.ruled(ruling, book),
            LoopEvent::Confirming => self.confirming(book),
            LoopEvent::ReworkOrdered { fixers } => self.rework(fixers, book),
            LoopEvent::ExhaustiveOrdered { reviewers } => self.exhaustive(reviewers, book),
            LoopEvent::Asked(question) => self.asked(question, book),
            LoopEvent::Decided(decision) => self.decided(decision, book),
            LoopEvent::Ended { outcome, revision } => self.ended(outcome, revision.as_ref(), after, book),
        }
        self.bounded(book);
    }

    /// Builders at work at once share no file.
    pub fn builders_disjoint(&self, hands: &[Vec<FindingId>], book: &mut Book) {
        let files = |ids: &Vec<FindingId>| -> BTreeSet<String> {
            ids.iter().filter_map(|id| self.lines.get(id)?.file.clone()).collect()
        };
        let all: Vec<BTreeSet<String>> = hands.iter().map(files).collect();
        for (at, one) in all.iter().enumerate() {
            let apart = all[at + 1..].iter().all(|two| one.is_disjoint(two));
            book.hold("crew", apart, || format!("two builders at work on one file: {hands:?}"));
        }
        if all.len() > 1 {
            book.saw("crew/parallel".into());
        }
    }

    fn open(&self) -> impl Iterator<Item = (FindingId, &Line)> {
        let open = |line: &Line| line.fate == Fate::Open && line.severity.must_fix();
        self.lines.iter().filter(move |(_, line)| open(line)).map(|(id, line)| (*id, line))
    }

    fn of_reviewer(&self, reviewer: &Reviewer) -> Vec<FindingId> {
        let source = Source::Reviewer(reviewer.clone());
        self.open().filter(|(_, line)| line.by.contains(&source)).map(|(id, _)| id).collect()
    }

    fn rework_column(&self, severity: Severity) -> bool {
        match severity {
            Severity::Blocker => true,
            Severity::Warning => !self.policy.warnings_pass,
            Severity::Suggestion => false,
        }
    }

    fn made(&mut self, revision: &Revision, replies: &BTreeMap<FindingId, Reply>) {
        for (id, reply) in replies {
            let Some(line) = self.lines.get_mut(id) else { continue };
            let open = line.fate == Fate::Open && line.severity >= Severity::Warning;
            let reasoned = match reply {
                Reply::Fixed | Reply::Unseen(_) => false,
                Reply::Refuted(why) | Reply::CannotFix(why) => !why.is_empty(),
            };
            self.news |= open && reasoned && line.reply.as_ref() != Some(reply);
            line.reply = Some(reply.clone());
        }
        self.parts += 1;
        if self.fixers == 1 {
            self.made = Some(revision.clone());
        }
    }

    fn failed(&mut self, effect: &EffectId, why: FailureKind, book: &mut Book) {
        book.saw(format!("failed/{}", kind(&effect.step)));
        let make = matches!(effect.step, Step::Make(_));
        self.unchanged = make && why == FailureKind::Unchanged && self.fixers == 1;
        // What cannot pass is not tried again by the same builder or in the same hearing.
        let hopeless = !why.may_pass() && matches!(effect.step, Step::Make(_) | Step::Hear(_));
        if make && self.policy.iterations_max.is_some() && !hopeless {
            return;
        }
        let attempts = self.policy.attempts_max;
        let iterates = make && self.policy.iterations_max.is_some();
        let fits = iterates || effect.n.fails < attempts;
        book.hold("bounded", fits, || format!("{effect} is an attempt too many"));
        let last = hopeless || effect.n.fails + 1 >= attempts;
        self.builders_gone += usize::from(make && last);
        let lost = last && matches!(effect.step, Step::Join | Step::Track);
        self.given_up |= lost || self.builders_gone == self.fixers;
        if let Step::Hear(id) = effect.step
            && last
        {
            book.saw("hearing/unheard".into());
            self.case_closed(id);
        }
    }

    fn round_began(&mut self, round: u32, revision: &Revision, book: &mut Book) {
        let fresh = !self.judged.contains(revision);
        let argued = self.news && self.judged.last() == Some(revision);
        book.hold("moved", fresh || argued, || format!("round {round} judges {revision} again"));
        if !fresh {
            book.saw("round/argued".into());
        }
        book.hold("moved", self.made.as_ref() == Some(revision), || format!("{revision} was not made"));
        book.hold("moved", round == self.round + 1, || format!("round {round} after {}", self.round));
        self.round += 1;
        self.sit(revision.clone(), false);
    }

    fn sit(&mut self, revision: Revision, confirming: bool) {
        self.counts.judged_rounds += 1;
        self.news = false;
        self.judged.push(revision.clone());
        self.judged_round = JudgedRound { revision: Some(revision), confirming, ..JudgedRound::default() };
        self.ruling = None;
    }

    fn confirming(&mut self, book: &mut Book) {
        let passed = matches!(self.ruling, Some(Ruling::Pass { .. } | Ruling::PassWithWarnings { .. }));
        book.hold("confirm", passed && self.round > 1, || "confirms what did not pass".into());
        book.saw(format!("{}/confirming", self.name));
        if let Some(revision) = self.judged_round.revision.clone() {
            self.sit(revision, true);
        }
    }

    fn worst(&self, check: &Check) -> Option<Severity> {
        self.judged_round.checks.get(check)?.iter().map(|claim| claim.severity).max()
    }

    /// Who sits, by the table of uses.
    fn assembled(&mut self, reviewers: &[Reviewer], book: &mut Book) {
        let worst: Vec<Severity> =
            self.judged_round.checks.keys().filter_map(|check| self.worst(check)).collect();
        let rejected = worst.iter().any(|severity| self.rework_column(*severity));
        let sits = |reviewer: &&Reviewer| match self.policy.asked {
            Asked::Always => true,
            Asked::UnlessChecksReject => !rejected,
            Asked::OnlyIfChecksFail => !worst.is_empty() || !self.of_reviewer(reviewer).is_empty(),
        };
        let expected: BTreeSet<Reviewer> = self.policy.reviewers.iter().filter(sits).cloned().collect();
        self.judged_round.assembled = reviewers.iter().cloned().collect();
        let right = expected == self.judged_round.assembled;
        book.hold("gate", right, || format!("{reviewers:?} sit and not {expected:?}"));
        book.saw(format!("seated/{}", if reviewers.is_empty() { "nobody" } else { "somebody" }));
    }

    /// One part's answer: never more parts than the policy allows, and none without evidence.
    fn part(&mut self, effect: &EffectId, answer: &Answer, shown: Shown, book: &mut Book) {
        let Step::Judge(reviewer) = &effect.step else { return };
        let at = effect.n.part;
        let fits = at < shown.parts && at < self.policy.parts_max;
        book.hold("shown", fits, || format!("{reviewer} is asked about part {at} of {shown:?}"));
        let bare = answer.checked.trim().is_empty() && answer.raised.is_empty();
        let looked = self.round > 1 || answer.verdict != Verdict::Approve || !bare;
        book.hold("coverage", looked, || format!("{reviewer} approves a part without a word"));
        self.unread(reviewer, (effect.n.backup, at), answer, book);
        self.judged_round.parts.entry(reviewer.clone()).or_default().insert(at, answer.clone());
    }

    /// Law `shown`: nobody has a verdict who was not shown every hunk, and it is as strict as its strictest part.
    fn shown(&self, reviewer: &Reviewer, answer: &Answer, shown: Shown, book: &mut Book) {
        book.hold("shown", shown.hunks == shown.of, || {
            format!("{reviewer} was shown {shown:?} and has a verdict")
        });
        let parts = &self.judged_round.parts[reviewer];
        let all = parts.keys().copied().eq(0..shown.parts);
        book.hold("shown", all, || format!("{reviewer} was asked about {:?} of {shown:?}", parts.keys()));
        for part in parts.values() {
            let strict = answer.verdict >= part.verdict && answer.fundamental >= part.fundamental;
            let kept = part.raised.iter().all(|claim| answer.raised.contains(claim));
            let still = part.said.iter().filter(|(_, said)| **said == Said::StillThere);
            let upheld = still.into_iter().all(|(id, _)| answer.said.get(id) == Some(&Said::StillThere));
            let served = part.intent_satisfied != Some(false) || answer.intent_satisfied == Some(false);
            let right = strict && kept && upheld && served;
            book.hold("shown", right, || format!("{reviewer}: {answer:?} is softer than its part {part:?}"));
        }
        book.saw(format!("shown/{}", if shown.parts > 1 { "in parts" } else { "at once" }));
    }

    /// A reviewer keeps its verdict only in a final pass that has nothing to show to it, and never an objection.
    fn kept(&mut self, effect: &EffectId, shown: Shown, book: &mut Book) {
        let Step::Judge(reviewer) = &effect.step else { return };
        let first = effect.n == Try::default() && !self.judged_round.parts.contains_key(reviewer);
        let asked = !self.of_reviewer(reviewer).is_empty();
        let free = self.judged_round.confirming && first && !asked && shown.hunks == shown.of;
        book.hold("shown", free, || format!("{reviewer} is not asked in a sitting where it must be"));
        let Some(stood) = self.stood.get(reviewer).filter(|answer| !Self::rejects(answer)) else {
            return book.breach("shown", || format!("{reviewer} has no verdict that could stand"));
        };
        let answer = Answer {
            raised: Vec::new(),
            said: BTreeMap::new(),
            unread: Vec::new(),
            settled: BTreeMap::new(),
            ..stood.clone()
        };
        book.saw("shown/before".into());
        self.judged_round.not_asked.insert(reviewer.clone());
        self.judged_round.parts.insert(reviewer.clone(), [(0, answer.clone())].into());
        self.judged_round.words.insert(reviewer.clone(), answer);
    }

    /// Who answered has been shown what was judged: in a final pass all that it had not been shown before.
    fn looked(&mut self) {
        let Some(revision) = &self.judged_round.revision else { return };
        let since = self.seen.iter().rev().find(|seen| *seen != revision);
        let shown = shown_whole(since.filter(|_| !self.judged_round.confirming), revision);
        for reviewer in
            self.judged_round.words.keys().filter(|reviewer| !self.judged_round.not_asked.contains(reviewer))
        {
            self.hunks.entry(reviewer.clone()).or_default().extend(shown.iter().copied());
        }
        self.stood = self.judged_round.words.clone();
    }

    /// Law `shown`, at the end: every hunk of what passed was shown whole to every reviewer that counts.
    fn whole(&self, revision: &Revision, book: &mut Book) {
        for reviewer in self.judged_round.words.keys() {
            let shown = self.hunks.get(reviewer).cloned().unwrap_or_default();
            let left: Vec<Hunk> = hunks(revision).difference(&shown).copied().collect();
            book.hold("shown", left.is_empty(), || format!("{reviewer} counts and never saw {left:?} whole"));
        }
    }

    fn not_covered(&mut self, effect: &EffectId, shown: Shown, book: &mut Book) {
        let Step::Judge(reviewer) = &effect.step else { return };
        let limited = shown.parts > self.policy.parts_max || shown.hunks < shown.of;
        book.hold("shown", limited, || format!("{reviewer} was shown {shown:?} and has no verdict"));
        book.saw("shown/not all".into());
    }

    /// Nobody is left out of a change that the limit lets them see, or in the middle of it.
    fn too_large(&mut self, effect: &EffectId, shown: Shown, book: &mut Book) {
        let Step::Judge(reviewer) = &effect.step else { return };
        let unasked = !self.judged_round.parts.contains_key(reviewer);
        let limited = shown.parts > self.policy.parts_max && shown.hunks < shown.of;
        book.hold("shown", unasked && limited, || format!("{reviewer} is left out of {shown:?}"));
        book.saw("shown/too large".into());
        self.judged_round.left_out.insert(reviewer.clone());
    }

    /// What a reviewer without a verdict objected to; nothing, where it was not asked.
    fn objections(&self, reviewer: &Reviewer) -> Option<(Answer, BTreeSet<FindingId>)> {
        if self.judged_round.left_out.contains(reviewer) {
            let silent = Answer {
                verdict: Verdict::Approve,
                fundamental: false,
                raised: Vec::new(),
                said: BTreeMap::new(),
                checked: String::new(),
                intent: None,
                refused: None,
                intent_satisfied: None,
                unread: Vec::new(),
                settled: BTreeMap::new(),
                wordless: false,
            };
            return Some((silent, self.of_reviewer(reviewer).into_iter().collect()));
        }
        let parts = self.judged_round.parts.get(reviewer)?;
        let mut all = parts.values().next()?.clone();
        all.raised = parts.values().flat_map(|part| part.raised.clone()).collect();
        all.fundamental = parts.values().any(|part| part.fundamental);
        all.verdict = parts.values().map(|part| part.verdict).max()?;
        let still = |part: &Answer, id: FindingId| part.said.get(&id) == Some(&Said::StillThere);
        let put = self.of_reviewer(reviewer);
        all.said = put
            .iter()
            .filter(|id| parts.values().any(|part| still(part, **id)))
            .map(|id| (*id, Said::StillThere))
            .collect();
        let unserved = parts.values().any(|part| part.intent_satisfied == Some(false));
        all.intent_satisfied = unserved.then_some(false);
        let unheard = put.into_iter().filter(|id| !all.said.contains_key(id)).collect();
        Some((all, unheard))
    }

    fn answered(&mut self, effect: &EffectId, answer: &Answer, shown: Shown, book: &mut Book) {
        let Step::Judge(reviewer) = &effect.step else { return };
        self.shown(reviewer, answer, shown, book);
        let exhaustive = self.judged_round.kept.contains_key(reviewer);
        let put = if exhaustive { Vec::new() } else { self.of_reviewer(reviewer) };
        let covers = put.iter().all(|id| answer.said.contains_key(id));
        book.hold("coverage", covers, || format!("{reviewer} was put {put:?} and said {answer:?}"));
        let spoken = !answer.wordless || Self::rejects(answer);
        book.hold("coverage", spoken, || format!("{reviewer} counts without the word of its launch"));
        book.saw(format!("answer/{}{}", answer.verdict, if effect.n.backup { "/backup" } else { "" }));
        self.judged_round.words.insert(reviewer.clone(), answer.clone());
    }

    /// What a failing check holds open and causes rework is ground enough for whoever rejects.
    fn a_check_is_ground(&self) -> bool {
        self.open().any(|(_, line)| {
            let fails =
                |source: &Source| matches!(source, Source::Check(check) if self.worst(check).is_some());
            self.rework_column(line.severity) && line.by.iter().any(fails)
        })
    }

    /// Law `unread`: nothing passes over words that nobody read, and no reviewer takes back in one sitting what it said
    /// and nobody read.
    fn unread(&self, reviewer: &Reviewer, (backup, part): (bool, u32), answer: &Answer, book: &mut Book) {
        let rejects = Self::rejects(answer);
        let ground = answer.raised.iter().any(|claim| claim.severity >= Severity::Warning)
            || answer.said.values().any(|said| *said == Said::StillThere);
        let read = answer.unread.is_empty() || (rejects && ground);
        book.hold("unread", read, || format!("{reviewer} counts with {:?} unread", answer.unread));
        let mild = if rejects { Verdict::Reject } else { answer.verdict };
        let first = self.judged_round.lost.get(&(reviewer.clone(), false, part)).into_iter().flatten();
        for lost in first.filter(|_| backup) {
            book.hold("unread", mild >= lost.floor, || {
                format!("a fallback outvotes what {reviewer} said unread")
            });
            book.saw("unread/fallback bound".into());
        }
        for lost in self.judged_round.lost.get(&(reviewer.clone(), backup, part)).into_iter().flatten() {
            book.hold("unread", mild >= lost.floor, || format!("{reviewer} took back what was not read"));
            let named = |n: u32| answer.raised.iter().any(|claim| claim.label == Some(format!("U-{n}")));
            let settled = (1..=lost.parts).all(|n| answer.settled.contains_key(&n) || named(n));
            book.hold("unread", rejects || settled, || format!("{reviewer} leaves parts open: {answer:?}"));
            book.saw("unread/settled".into());
        }
    }

    /// No approval, and no reason that was read.
    fn is_mute(answer: &Answer) -> bool {
        let upheld = answer.said.values().any(|said| *said == Said::StillThere);
        answer.verdict > Verdict::Approve && answer.raised.is_empty() && !upheld
    }

    fn lose(&mut self, reviewer: &Reviewer, part: u32, lost: Lost) {
        let backup = self.judged_round.backup.get(reviewer).copied().unwrap_or(false);
        self.judged_round.lost.entry((reviewer.clone(), backup, part)).or_default().push(lost);
    }

    fn asked_again(
        &mut self,
        reviewer: &Reviewer,
        why: Unusable,
        answer: Option<&Answer>,
        after: &Loop,
        book: &mut Book,
    ) {
        book.saw(format!("asked again/{why:?}"));
        // Asked for a ground is the first part that lacks one.
        let parts = self.judged_round.parts.get(reviewer).into_iter().flatten();
        let lacks = parts.into_iter().find(|(_, answer)| self.needs_ground(answer));
        let lacks = lacks.map(|(at, answer)| (*at, answer.clone())).filter(|_| answer.is_none());
        let at = lacks.as_ref().map_or_else(|| self.judged_round.asking[reviewer], |(at, _)| *at);
        let lost = |answer: &&Answer| !answer.unread.is_empty() || Self::is_mute(answer);
        let heard = lacks.as_ref().map(|(_, answer)| answer).filter(lost);
        if let Some(answer) = answer.or(heard) {
            let rejects = Self::rejects(answer);
            let named = answer.raised.iter().any(|claim| claim.severity >= Severity::Warning);
            let parts = u32::try_from(answer.unread.len()).unwrap();
            let floor = if rejects { Verdict::Reject } else { answer.verdict };
            if parts > 0 || (rejects && named) || Self::is_mute(answer) {
                self.lose(reviewer, at, Lost { floor, parts });
            }
        }
        if answer.is_none() {
            let word = self.judged_round.words.remove(reviewer);
            let read =
                lacks.as_ref().is_some_and(|(_, answer)| answer.unread.is_empty() && !Self::is_mute(answer));
            book.hold("unread", read == (why == Unusable::Groundless), || format!("{reviewer}: {why:?}"));
            let needs = word.is_some_and(|answer| self.needs_ground(&answer));
            let groundless = needs && self.of_reviewer(reviewer).is_empty() && !self.a_check_is_ground();
            book.hold("gate", groundless, || format!("{reviewer} had its grounds and is asked again"));
            if let Some(parts) = self.judged_round.parts.get_mut(reviewer) {
                parts.remove(&at);
            }
            if after.review_round().is_some_and(|review_round| {
                review_round.reviewers.get(reviewer) == Some(&ReviewerState::Gone)
            }) {
                let left = self.objections(reviewer);
                self.judged_round.partly.extend(left.map(|left| (reviewer.clone(), left)));
            }
        }
    }

    /// Law `exhaustive`: once in a series, when late findings make up half of what two rounds running resolved and
    /// nothing shrank; by somebody else where there is somebody else.
    fn exhaustive(&mut self, reviewers: &[Reviewer], book: &mut Book) {
        let ruled = matches!(self.ruling, Some(Ruling::Rework { .. }));
        let stop = self.expected_stop();
        let due = ruled && stop.is_none() && self.turns_over();
        book.hold("exhaustive", due, || format!("an exhaustive pass, expected {stop:?}"));
        let expected = self.pass_reviewers();
        book.hold("exhaustive", reviewers == expected, || format!("{reviewers:?} and not {expected:?}"));
        book.saw(format!("exhaustive/{}", if self.policy.backup { "fallback" } else { "same reviewers" }));
        self.pass = self.series.last().map(|record| (record.round, record.must.len()));
        self.counts.judged_rounds += 1;
        self.counts.passes += 1;
        self.ruling = None;
        for reviewer in reviewers {
            let word = self.judged_round.words.remove(reviewer);
            self.judged_round.kept.extend(word.map(|word| (reviewer.clone(), word)));
            self.judged_round.lost.retain(|(name, _, _), _| name != reviewer);
            self.judged_round.parts.remove(reviewer);
        }
    }

    fn turns_over(&self) -> bool {
        let many = self.series.len();
        let turned = |at: usize| self.missed(at) > 0 && self.missed(at) * 2 >= self.resolved(at);
        self.pass.is_none()
            && many >= 3
            && (many - 2..many).all(turned)
            && self.series[many - 1].must.len() >= self.series[many - 3].must.len()
            && !self.judged_round.words.is_empty()
    }

    /// Late findings of a record that no check holds.
    fn missed(&self, at: usize) -> u32 {
        let opinion = |id: &&FindingId| {
            let by = &self.lines[*id].by;
            !by.iter().any(|source| matches!(source, Source::Check(_)))
        };
        u32::try_from(self.series[at].late.iter().filter(opinion).count()).unwrap()
    }

    fn pass_reviewers(&self) -> Vec<Reviewer> {
        let all: Vec<Reviewer> = self.judged_round.words.keys().cloned().collect();
        if !self.policy.backup {
            return all;
        }
        let late = self.series.last().map(|record| record.late.clone()).unwrap_or_default();
        let held = |reviewer: &Reviewer| {
            let source = Source::Reviewer(reviewer.clone());
            late.iter().filter(|id| self.lines[id].by.contains(&source)).count()
        };
        let most = all.iter().map(held).max();
        all.into_iter().find(|reviewer| Some(held(reviewer)) == most).into_iter().collect()
    }

    /// An exhaustive pass only adds: what its reviewers had said and raised before stands, and who gave no answer to it
    /// keeps the one before.
    fn pass_closed(&mut self, after: &Loop, book: &mut Book) {
        for (reviewer, before) in std::mem::take(&mut self.judged_round.kept) {
            let more = self.judged_round.words.get(&reviewer);
            book.saw(format!("exhaustive/{}", if more.is_some() { "answered" } else { "lost" }));
            let raised = more.map(|more| more.raised.as_slice()).unwrap_or_default();
            let answer = Answer {
                verdict: before.verdict.max(more.map_or(Verdict::Approve, |more| more.verdict)),
                fundamental: before.fundamental || more.is_some_and(|more| more.fundamental),
                raised: [&before.raised, raised].concat(),
                unread: [&before.unread, more.map(|more| more.unread.as_slice()).unwrap_or_default()]
                    .concat(),
                ..before
            };
            self.judged_round.lost.retain(|(name, _, _), _| *name != reviewer);
            self.judged_round.parts.insert(reviewer.clone(), [(0, answer.clone())].into());
            let now = after
                .review_round()
                .and_then(|review_round| review_round.answers().find(|(name, _)| **name == reviewer));
            let right = now.is_some_and(|(_, now)| *now == answer);
            book.hold("exhaustive", right, || format!("{reviewer}: {now:?} and not {answer:?}"));
            self.judged_round.words.insert(reviewer, answer);
        }
    }

    /// What the whole panel has looked at, and nothing else, is shown to it no more.
    fn panel_closed(&mut self, after: &Loop, book: &mut Book) {
        self.pass_closed(after, book);
        for reviewer in self.judged_round.assembled.clone() {
            let voiced = self.judged_round.voice(&reviewer).is_some();
            let left = self.objections(&reviewer).filter(|_| !voiced);
            self.judged_round.partly.extend(left.map(|left| (reviewer, left)));
        }
        if self.policy.reviewers.iter().all(|reviewer| self.judged_round.words.contains_key(reviewer)) {
            self.seen.extend(self.judged_round.revision.clone());
        }
        book.hold("coverage", after.seen() == self.seen, || format!("seen: {:?}", after.seen()));
        book.saw(format!("seen/{}", if self.seen.len() == self.judged.len() { "all" } else { "some" }));
    }

    fn rejects(answer: &Answer) -> bool {
        answer.verdict == Verdict::Reject || answer.intent_satisfied == Some(false)
    }

    fn needs_ground(&self, answer: &Answer) -> bool {
        Self::rejects(answer) || (answer.verdict == Verdict::Conditional && !self.policy.warnings_pass)
    }

    fn tracked(&mut self, findings: &[Tracked], after: &Loop, book: &mut Book) {
        for tracked in findings {
            self.check_correction(findings, tracked, book);
            self.take(tracked);
        }
        self.words.tracked(after, &self.judged_round.raised(), book);
        let rounds = u32::try_from(after.judged().len()).unwrap();
        book.hold("findings", rounds == self.round, || format!("{rounds} judged in round {}", self.round));
        let tracked = after.tracked();
        book.hold("findings", tracked == self.judged_round.revision.as_ref(), || {
            format!("tracked on {tracked:?}")
        });
        for id in self.lines.keys() {
            book.hold("findings", after.ledger().get(*id).is_some(), || format!("{id} is gone"));
        }
        // A failing check has at least one open finding as bad as what it found.
        for (check, claims) in &self.judged_round.checks {
            let Some(worst) = claims.iter().map(|claim| claim.severity).max() else { continue };
            let source = Source::Check(check.clone());
            let held = self.open().any(|(_, line)| line.by.contains(&source) && line.severity >= worst);
            let right = held || !self.rework_column(worst);
            book.hold("gate", right, || format!("{check} fails and holds nothing open"));
        }
    }

    fn check_correction(&self, all: &[Tracked], tracked: &Tracked, book: &mut Book) {
        let id = tracked.id;
        let open = tracked.fate == Fate::Open;
        let upheld = tracked.by.iter().any(|source| match source {
            Source::Reviewer(reviewer) => {
                let word = self.judged_round.voice(reviewer);
                word.is_some_and(|answer| answer.said.get(&id) == Some(&Said::StillThere))
            }
            Source::Check(check) => {
                let claims = self.judged_round.checks.get(check).map_or(&[][..], Vec::as_slice);
                let says =
                    |claim: &&Claim| claim.claim == tracked.claim.claim && claim.file == tracked.claim.file;
                let said = claims.iter().filter(says).count();
                let holds =
                    |one: &&Tracked| one.fate == Fate::Open && says(&&one.claim) && one.by.contains(source);
                // Each claim has one open finding that says it; more than that need not be open.
                all.iter().filter(holds).count() < said
            }
        });
        book.hold("gate", open || !upheld, || format!("{id} is {:?} against its author", tracked.fate));
        let early = matches!(tracked.fate, Fate::Carried | Fate::Waived(_) | Fate::Unresolved);
        book.hold("findings", !early, || format!("{id} is {:?} before the end", tracked.fate));
    }

    fn take(&mut self, tracked: &Tracked) {
        let id = tracked.id;
        let adjudicated = self.policy.adjudicator.is_some();
        let line = self.lines.entry(id).or_insert_with(|| Line {
            by: BTreeSet::new(),
            severity: tracked.severity,
            fate: Fate::Open,
            file: None,
            reply: None,
            builders: true,
            region: None,
            mark: (0, Mark::Persistent),
            fixer: None,
            referred: false,
            heard_referral: false,
            contested: false,
            heard_contest: false,
            flipped: false,
            ordered: false,
            touched: 0,
            untouched: 0,
        });
        if tracked.contested && self.contests.insert((id, self.round)) {
            let by_check = tracked.by.iter().any(|source| matches!(source, Source::Check(_)));
            line.contested = true;
            line.flipped |= by_check || line.heard_contest || !adjudicated;
        }
        if line.ordered && tracked.fate == Fate::Open {
            line.touched += u32::from(tracked.touched);
            line.untouched += u32::from(!tracked.touched);
        }
        line.ordered = false;
        line.referred |= tracked.referred.is_some();
        line.by.extend(tracked.by.iter().cloned());
        line.severity = tracked.severity;
        line.fate = tracked.fate.clone();
        line.file = tracked.claim.file.clone();
        line.builders = tracked.builders;
        line.region = tracked.region.clone().or(line.region.take());
        if line.mark.0 != self.round || line.mark.1 == Mark::Persistent {
            line.mark = (self.round, tracked.mark);
        }
        line.fixer = tracked.fixer.clone().or(line.fixer.take());
    }

    fn heard(&mut self, id: FindingId, upheld: bool, book: &mut Book) {
        book.saw(format!("hearing/{}", if upheld { "upheld" } else { "refuted" }));
        let due = self.lines.get(&id).is_some_and(|line| self.awaits_hearing(line));
        book.hold("gate", due, || format!("{id} is heard without a reason, twice, or against its check"));
        self.case_closed(id);
        if !upheld && let Some(line) = self.lines.get_mut(&id) {
            line.fate = Fate::Refuted;
        }
    }

    fn awaits_hearing(&self, line: &Line) -> bool {
        let failing = line.by.iter().any(|source| match source {
            Source::Check(check) => self.worst(check).is_some(),
            Source::Reviewer(_) => false,
        });
        let contest = line.contested && !line.heard_contest && self.policy.adjudicator.is_some();
        !failing && ((line.referred && !line.heard_referral) || contest)
    }

    fn case_closed(&mut self, id: FindingId) {
        let Some(line) = self.lines.get_mut(&id) else { return };
        line.heard_referral |= line.referred;
        line.heard_contest |= line.contested;
        line.contested = false;
    }

    /// The ruling by the five lines, first that fits.
    fn expected_ruling(&self) -> Ruling {
        let judged_round = &self.judged_round;
        let gone = judged_round.assembled.iter().any(|reviewer| !judged_round.words.contains_key(reviewer));
        let must: Vec<FindingId> = self.open().map(|(id, _)| id).collect();
        let objects = |reviewer: &Reviewer, id| {
            judged_round.partly.get(reviewer).is_some_and(|(_, unheard)| !unheard.contains(&id))
        };
        let ground = |id: FindingId, line: &Line| {
            let present = line.by.iter().any(|source| match source {
                Source::Check(check) => self.worst(check).is_some(),
                Source::Reviewer(reviewer) => {
                    judged_round.words.contains_key(reviewer) || objects(reviewer, id)
                }
            });
            let rejected = line.by.iter().any(|source| match source {
                Source::Check(_) => false,
                Source::Reviewer(reviewer) => judged_round.voice(reviewer).is_some_and(Self::rejects),
            });
            present && (self.rework_column(line.severity) || rejected)
        };
        if self.open().any(|(id, line)| ground(id, line)) {
            return Ruling::Rework { must };
        }
        let silence = judged_round.checks.is_empty() && judged_round.words.is_empty();
        let lost = gone && self.policy.no_verdict == NoVerdict::Escalate;
        let unanswered = self.open().any(|(_, line)| self.rework_column(line.severity));
        if silence || lost || unanswered {
            return Ruling::NoQuorum;
        }
        let conditional = judged_round.words.values().any(|answer| answer.verdict == Verdict::Conditional);
        if conditional || !must.is_empty() {
            return Ruling::PassWithWarnings { carried: must, checks_only: gone };
        }
        Ruling::Pass { checks_only: gone }
    }

    fn ruled(&mut self, ruling: &Ruling, book: &mut Book) {
        let expected = self.expected_ruling();
        book.hold("gate", *ruling == expected, || format!("{ruling:?} and not {expected:?}"));
        let name = match ruling {
            Ruling::Pass { checks_only: true } => "pass, checks only",
            Ruling::Pass { .. } => "pass",
            Ruling::PassWithWarnings { checks_only: true, .. } => "warnings, checks only",
            Ruling::PassWithWarnings { .. } => "warnings",
            Ruling::Rework { .. } => "rework",
            Ruling::NoQuorum => "no quorum",
        };
        book.saw(format!("{}/ruling/{name}", self.name));
        for (reviewer, answer) in &self.judged_round.words {
            let idle = self.needs_ground(answer)
                && self.of_reviewer(reviewer).is_empty()
                && !self.a_check_is_ground();
            book.hold("gate", !idle, || format!("{reviewer}'s groundless word is ruled on"));
        }
        let unheard = self.open().find(|(_, line)| self.awaits_hearing(line)).map(|(id, _)| id);
        book.hold("gate", unheard.is_none(), || format!("ruled, and {unheard:?} was not heard"));
        if let Ruling::Rework { must } = ruling {
            let round = self.round;
            let complete = self
                .judged_round
                .assembled
                .iter()
                .all(|reviewer| self.judged_round.words.contains_key(reviewer));
            let fundamental = self.judged_round.voices().any(|(_, answer)| answer.fundamental);
            self.series.retain(|record| record.round != round);
            let must: BTreeSet<FindingId> = must.iter().copied().collect();
            let marked = |mark: Mark| -> Vec<FindingId> {
                must.iter().copied().filter(|id| self.lines[id].mark == (round, mark)).collect()
            };
            let back = marked(Mark::Reopened);
            let broken = u32::try_from(marked(Mark::FixInduced).len() + back.len()).unwrap();
            let late = marked(Mark::Late);
            let fresh = [marked(Mark::New), marked(Mark::FixInduced)].concat();
            let left =
                must.iter().map(|id| (*id, self.lines[id].untouched)).filter(|(_, n)| *n > 1).collect();
            let record = Record { round, must, broken, late, back, fresh, left, complete, fundamental };
            self.series.push(record);
        }
        self.ruling = Some(ruling.clone());
        self.looked();
    }

    /// What the controller says on rework: `None` is go on.
    fn expected_stop(&self) -> Option<Why> {
        let wanted = self.policy.stale_limit as usize + 1;
        if self.series.len() >= wanted {
            let tail = &self.series[self.series.len() - wanted..];
            if tail.iter().all(|record| record.complete && record.must == tail[0].must) {
                return Some(Why::Stale);
            }
        }
        if let Some((id, _)) = self.open().find(|(_, line)| line.flipped) {
            return Some(Why::Escalated(Pattern::Contested(id)));
        }
        if self.series.iter().filter(|record| record.fundamental).count() > 1 {
            return Some(Why::Escalated(Pattern::Fundamental));
        }
        if let Some((id, _)) = self.open().find(|(_, line)| !line.builders) {
            return Some(Why::Escalated(Pattern::NotTheBuilders(id)));
        }
        if let Some(region) = self.restless_region() {
            return Some(Why::Escalated(Pattern::Region(region)));
        }
        if let Some(pattern) = self.survivor().or_else(|| self.goalposts()).or_else(|| self.churn()) {
            return Some(Why::Escalated(pattern));
        }
        (self.round >= self.rounds_max).then_some(Why::Exhausted)
    }

    /// What the revision judged in the record at this place had fixed.
    fn resolved(&self, at: usize) -> u32 {
        let gone = self.series[at - 1].must.difference(&self.series[at].must);
        u32::try_from(gone.count()).unwrap()
    }

    fn is_healthy(&self, at: usize) -> bool {
        self.resolved(at) > 2 * self.series[at].broken
    }

    /// Each round after the first fixed something, and more than twice what it broke: then regions may come back.
    fn restless_region(&self) -> Option<String> {
        let many = self.series.len();
        if (1..many).all(|at| self.is_healthy(at)) {
            return None;
        }
        let mut regions: Vec<&str> = (0..many).flat_map(|at| self.regions_back(at)).collect();
        regions.sort_unstable();
        regions.windows(3).find(|three| three[0] == three[2]).map(|three| three[0].to_owned())
    }

    /// Regions of what is there again, and, once, of what is new where all had been settled.
    fn regions_back(&self, at: usize) -> Vec<&str> {
        let region = |id: &FindingId| self.lines[id].region.as_deref();
        let in_round = |at: usize| self.series[at].must.iter().filter_map(region).collect::<BTreeSet<_>>();
        let record = &self.series[at];
        let again: Vec<&str> = record.back.iter().filter_map(region).collect();
        let fresh: BTreeSet<&str> = record.fresh.iter().filter_map(region).collect();
        let returns = |name: &&str| {
            let clean = at > 0 && !in_round(at - 1).contains(name) && !again.contains(name);
            clean && (0..at).any(|earlier| in_round(earlier).contains(name))
        };
        let fresh: Vec<&str> = fresh.into_iter().filter(returns).collect();
        [again, fresh].concat()
    }

    /// Twice touched and not cured; or left twice: at once where the last round was not healthy, otherwise when none
    /// of those that the last rework named first was done.
    fn survivor(&self) -> Option<Pattern> {
        if let Some((id, _)) = self.open().find(|(_, line)| line.touched > 1) {
            return Some(Pattern::SurvivedTouched(id));
        }
        let last = self.series.len() - 1;
        if last > 0 && self.is_healthy(last) {
            let (named, now) = (&self.series[last - 1].left, &self.series[last].left);
            let done = named.iter().any(|(id, times)| now.get(id).is_none_or(|again| again == times));
            let first = named.keys().next().filter(|_| !done)?;
            return Some(Pattern::SurvivedUntouched(*first));
        }
        let (id, line) = self.open().find(|(_, line)| line.touched + line.untouched > 1)?;
        Some(match line.touched {
            0 => Pattern::SurvivedUntouched(id),
            _ => Pattern::SurvivedTouched(id),
        })
    }

    /// A late blocker of reviewers in a round after the pass, while no less is open than before it, or while late
    /// ones still make up half and nothing shrinks.
    fn goalposts(&self) -> Option<Pattern> {
        let (round, before) = self.pass?;
        let last = self.series.len() - 1;
        let record = &self.series[last];
        let blocks = |id: &&FindingId| {
            let line = &self.lines[*id];
            line.severity == Severity::Blocker
                && !line.by.iter().any(|source| matches!(source, Source::Check(_)))
        };
        let late = record.late.iter().any(|id| blocks(&id));
        let from = self.series.iter().position(|record| record.round == round)?;
        if !late || from == last {
            return None;
        }
        let turns = self.missed(last) > 0 && self.missed(last) * 2 >= self.resolved(last);
        let flat = record.must.len() >= self.series[last - 1].must.len();
        let stands = record.must.len() >= before || (turns && flat);
        stands.then(|| Pattern::Turnover(self.stretch(from)))
    }

    fn stretch(&self, from: usize) -> Stretch {
        let (first, last) = (&self.series[from], &self.series[self.series.len() - 1]);
        let after = || from + 1..self.series.len();
        Stretch {
            from: first.round,
            to: last.round,
            open_before: u32::try_from(first.must.len()).unwrap(),
            open_after: u32::try_from(last.must.len()).unwrap(),
            resolved: after().map(|at| self.resolved(at)).sum(),
            broken: after().map(|at| self.series[at].broken).sum(),
            late: after().map(|at| self.missed(at)).sum(),
        }
    }

    /// Over two fixes nothing shrank, and over four it shrank too slowly, while half of it was broken or came back.
    fn churn(&self) -> Option<Pattern> {
        let over = |fixes: usize| {
            let from = self.series.len().checked_sub(fixes + 1)?;
            let after = || from + 1..self.series.len();
            let late: usize = after().map(|at| self.series[at].late.len()).sum();
            Some((after(), u32::try_from(late).unwrap(), self.stretch(from)))
        };
        if let Some((_, late, sum)) = over(2) {
            let costly = sum.broken > 0 && sum.broken * 2 >= sum.resolved;
            if costly && sum.open_after >= sum.open_before + late {
                return Some(Pattern::Churn(sum));
            }
        }
        if let Some((mut fixes, _, sum)) = over(4) {
            let steady = fixes.all(|at| {
                let broken = self.series[at].broken;
                broken > 0 && broken * 3 >= self.resolved(at)
            });
            if steady && sum.broken * 2 >= sum.resolved {
                return Some(Pattern::SlowChurn(sum));
            }
        }
        let (mut fixes, _, sum) = over(2)?;
        let open = |at: usize| self.series[at].must.len();
        fixes.all(|at| open(at) > open(at - 1) + self.series[at].late.len()).then_some(Pattern::Growth(sum))
    }

    /// Fixer by fixer in order of name, each with what was found for it.
    fn expected_fixers(&self) -> BTreeMap<Builder, Vec<FindingId>> {
        let mut fixers: BTreeMap<Builder, Vec<FindingId>> = BTreeMap::new();
        for (id, line) in self.open() {
            let builder = line.fixer.clone().unwrap_or_else(|| self.policy.builder.clone());
            fixers.entry(builder).or_default().push(id);
        }
        if fixers.is_empty() {
            fixers.insert(self.policy.builder.clone(), Vec::new());
        }
        fixers
    }

    fn rework(&mut self, fixers: &[FixAssignment], book: &mut Book) {
        let stop = self.expected_stop();
        let ruled = matches!(self.ruling, Some(Ruling::Rework { .. }));
        book.hold("bounded", stop.is_none() && ruled, || format!("goes on although {stop:?}"));
        book.hold("exhaustive", !self.turns_over(), || "goes on without the exhaustive pass".into());
        let given: BTreeMap<Builder, Vec<FindingId>> = fixers
            .iter()
            .map(|assignment| (assignment.builder.clone(), assignment.findings.clone()))
            .collect();
        let expected = self.expected_fixers();
        book.hold("crew", given == expected, || format!("{fixers:?} and not {expected:?}"));
        for id in expected.into_values().flatten() {
            if let Some(line) = self.lines.get_mut(&id) {
                line.ordered = true;
            }
        }
        self.makes(fixers.len());
    }

    fn makes(&mut self, hands: usize) {
        self.fixers = hands;
        self.builders_gone = 0;
        self.parts = 0;
        self.news = false;
        self.ruling = None;
        self.counts.hands = self.counts.hands.max(hands as u64);
    }

    fn asked(&mut self, question: &Question, book: &mut Book) {
        let kind = match &question.why {
            Why::Escalated(pattern) => format!("{pattern:?}").split('(').next().unwrap_or("").to_owned(),
            why => format!("{why:?}"),
        };
        book.saw(format!("{}/question/{kind}", self.name));
        book.saw(format!("question/{kind}"));
        let right = match (&self.ruling, &question.why) {
            (Some(Ruling::NoQuorum), why) => *why == Why::NoQuorum,
            (Some(Ruling::Rework { .. }), why) => self.expected_stop().as_ref() == Some(why),
            (None, Why::Stale) => self.stands_still(),
            (None, why) => *why == Why::ChecksDidNotRun && self.a_check_is_lost(),
            (Some(_), why) => *why == Why::Approval && self.policy.approval,
        };
        let lacking: Vec<&Reviewer> = question.not_shown.iter().map(|not| &not.reviewer).collect();
        let partly: Vec<&Reviewer> = self.judged_round.partly.keys().collect();
        let told = lacking == if question.why == Why::NoQuorum { partly } else { Vec::new() };
        book.hold("shown", told, || format!("{question:?} does not say who was not shown all"));
        book.hold("asks", right, || {
            format!("asks {question:?} after {:?}, expected {:?}", self.ruling, self.expected_stop())
        });
        let ends = match question.why {
            Why::Stale | Why::Exhausted => true,
            Why::Escalated(_) => self.policy.at_the_cap == AtTheCap::Leave,
            _ => false,
        };
        let may = !ends || self.policy.at_the_cap == AtTheCap::Ask;
        book.hold("asks", may, || format!("asks {question:?} where it should end"));
        self.question = Some(question.clone());
    }

    fn a_check_is_lost(&self) -> bool {
        self.policy.checks.iter().any(|check| !self.judged_round.checks.contains_key(check))
    }

    /// What was made is neither new nor argued.
    fn stands_still(&self) -> bool {
        let Some(made) = &self.made else { return false };
        let argued = self.news && self.judged.last() == Some(made);
        self.judged.contains(made) && !argued
    }

    fn decided(&mut self, decision: &Decision, book: &mut Book) {
        let Some(question) = self.question.take() else {
            return book.breach("progress", || "decided and not asked".into());
        };
        let offered = question.offers().contains(&decision.choice.offer());
        book.hold("progress", offered, || format!("{decision:?} was not offered by {question:?}"));
        book.saw(format!("{}/decision/{:?}", self.name, decision.choice.offer()));
        self.counts.decisions += 1;
        match &decision.choice {
            Choice::Fixed(revision) => {
                self.new_series();
                self.counts.fixed += 1;
                self.round += 1;
                self.rounds_max = self.rounds_max.max(self.round);
                self.made = Some(revision.clone());
                self.sit(revision.clone(), false);
            }
            Choice::Again(rounds) => {
                self.new_series();
                self.counts.agains += 1;
                self.runs_here = 0;
                self.counts.again_rounds += u64::from(*rounds);
                self.rounds_max = self.round + rounds;
                self.ruling = None;
                let hands = self.expected_fixers().len();
                self.makes(hands);
            }
            Choice::Reask => {
                self.counts.reasks += 1;
                let confirming = self.judged_round.confirming;
                if let Some(revision) = self.judged_round.revision.clone() {
                    self.sit(revision, confirming);
                }
            }
            Choice::Accept => self.accepted = Some(decision.by.clone()),
            Choice::Stop => {}
        }
        if decision.choice == Choice::Stop {
            self.question = Some(question);
        }
    }

    fn new_series(&mut self) {
        self.series.clear();
        self.pass = None;
        self.contests.clear();
        for line in self.lines.values_mut() {
            line.touched = 0;
            line.untouched = 0;
            line.ordered = false;
            line.flipped = false;
            line.contested = false;
            line.heard_contest = false;
        }
    }

    fn ended(&mut self, outcome: &Outcome, revision: Option<&Revision>, after: &Loop, book: &mut Book) {
        book.saw(format!("{}/outcome/{}", self.name, outcome.word()));
        match outcome {
            Outcome::Passed | Outcome::PassedWithWarnings => {
                book.hold("gate", !self.policy.approval, || "passed without a person's word".into());
                self.gate(outcome, revision, book);
            }
            Outcome::Accepted(by) => {
                let right = self.accepted.as_ref() == Some(by) && revision.is_some();
                book.hold("gate", right, || format!("accepted by {by} who did not"));
            }
            Outcome::Exhausted | Outcome::Stale => self.ended_at_the_cap(outcome, book),
            Outcome::Stuck => {
                let escalated =
                    |question: &Question| matches!(question.why, Why::Escalated(_) | Why::Approval);
                let stopped = self.question.as_ref().is_some_and(escalated);
                let spent = self.policy.iterations_max.is_some_and(|max| self.runs_here >= max);
                book.hold("bounded", stopped || spent, || "stuck without a reason".into());
            }
            Outcome::Failed => {
                let unsaid =
                    |question: &Question| matches!(question.why, Why::NoQuorum | Why::ChecksDidNotRun);
                let stopped = self.question.as_ref().is_some_and(unsaid);
                book.hold("bounded", stopped || self.given_up, || "failed without a reason".into());
            }
            Outcome::Cancelled => {}
        }
        book.hold("bounded", !self.given_up || !outcome.is_good(), || "given up, and good".into());
        if self.accepted.is_some() {
            let right = outcome.is_good() || *outcome == Outcome::Cancelled;
            book.hold("gate", right, || format!("accepted and {outcome:?}"));
        }
        for (id, line) in &self.lines {
            let fate = match (&line.fate, line.severity.must_fix(), outcome) {
                (Fate::Open, false, _) => Fate::Advisory,
                (Fate::Open, true, Outcome::PassedWithWarnings) => Fate::Carried,
                (Fate::Open, true, Outcome::Accepted(by)) => Fate::Waived(by.clone()),
                (Fate::Open, true, _) => Fate::Unresolved,
                (fate, _, _) => fate.clone(),
            };
            let last = after.ledger().get(*id).map(|entry| entry.fate.clone());
            book.hold("findings", last.as_ref() == Some(&fate), || {
                format!("{id}: {last:?} and not {fate:?}")
            });
        }
    }

    fn ended_at_the_cap(&self, outcome: &Outcome, book: &mut Book) {
        let why = if *outcome == Outcome::Stale { Why::Stale } else { Why::Exhausted };
        let stopped = self.question.as_ref().is_some_and(|question| question.why == why);
        let left = self.policy.at_the_cap == AtTheCap::Leave && *outcome == Outcome::Stale;
        let by_itself = self.policy.at_the_cap != AtTheCap::Ask
            && match self.ruling {
                Some(Ruling::Rework { .. }) => match self.expected_stop() {
                    Some(Why::Escalated(_)) => left,
                    stop => stop == Some(why),
                },
                _ => *outcome == Outcome::Stale && self.stands_still(),
            };
        let nothing = *outcome == Outcome::Stale && self.unchanged;
        book.hold("bounded", stopped || by_itself || nothing, || format!("{outcome:?} without its reason"));
    }

    /// Law `gate`: what passed is what was made, judged whole, and nothing in the rework column is open.
    fn gate(&self, outcome: &Outcome, revision: Option<&Revision>, book: &mut Book) {
        let judged_round = &self.judged_round;
        let same = revision.is_some()
            && revision == self.made.as_ref()
            && revision == judged_round.revision.as_ref();
        book.hold("gate", same, || format!("{revision:?} passed, {:?} was made", self.made));
        for check in &self.policy.checks {
            let ran = judged_round.checks.contains_key(check);
            let green = !self.worst(check).is_some_and(|worst| self.rework_column(worst));
            book.hold("gate", ran && green, || format!("passed, and {check} did not"));
        }
        let warned = *outcome == Outcome::PassedWithWarnings;
        let checks_only = match self.ruling {
            Some(Ruling::Pass { checks_only }) => (!warned).then_some(checks_only),
            Some(Ruling::PassWithWarnings { checks_only, .. }) => warned.then_some(checks_only),
            _ => None,
        };
        book.hold("gate", checks_only.is_some(), || format!("{outcome:?} by {:?}", self.ruling));
        let leave = checks_only == Some(true) && self.policy.no_verdict == NoVerdict::ChecksOnly;
        for reviewer in &judged_round.assembled {
            let good = match judged_round.words.get(reviewer) {
                None => leave,
                Some(answer) if answer.intent_satisfied == Some(false) => false,
                Some(answer) => match answer.verdict {
                    Verdict::Approve => true,
                    Verdict::Conditional => warned && self.policy.warnings_pass,
                    Verdict::Reject => false,
                },
            };
            book.hold("gate", good, || {
                format!("passed without {reviewer}: {:?}", judged_round.words.get(reviewer))
            });
        }
        let somebody = !judged_round.checks.is_empty() || !judged_round.words.is_empty();
        book.hold("gate", somebody, || "passed and nobody judged".into());
        let left = self.open().find(|(_, line)| !warned || self.rework_column(line.severity));
        book.hold("gate", left.is_none(), || format!("passed with {:?} open", left.map(|(id, _)| id)));
        let confirmed = judged_round.confirming || self.round < 2 || !self.policy.confirm;
        book.hold("confirm", confirmed, || "passed after delta rounds without a final pass".into());
        if let Some(revision) = revision.filter(|_| judged_round.confirming || self.round < 2) {
            self.whole(revision, book);
        }
    }

    /// Law `bounded`, see the test of that name.
    fn bounded(&self, book: &mut Book) {
        let policy = &self.policy;
        let c = &self.counts;
        let a = u64::from(policy.attempts_max);
        let reviewers = policy.reviewers.len() as u64 * (1 + u64::from(policy.backup));
        let rounds = u64::from(self.rounds_given) + c.again_rounds + c.fixed;
        let again = 1 + u64::from(policy.confirm || policy.recheck_failed_only);
        // One exhaustive pass in each series.
        let judged_rounds = rounds * again + c.reasks + 1 + c.agains + c.fixed;
        let makes = match policy.iterations_max {
            Some(max) => u64::from(max) * (1 + c.agains),
            None => (rounds + c.agains + 1) * a * c.hands,
        };
        let joins = (rounds + c.agains + 1) * a;
        let findings = self.lines.len() as u64;
        let reviewers = reviewers * u64::from(policy.parts_max);
        let judged_round = a * policy.checks.len() as u64 + reviewers * (a + 1) + (1 + 2 * reviewers) * a;
        let hearings = (2 + c.agains + c.fixed) * findings * a;
        let most = makes + joins + judged_rounds * judged_round + hearings + c.decisions + 1;
        book.hold("bounded", u64::from(self.round) <= rounds, || format!("round {} of {rounds}", self.round));
        book.hold("bounded", c.judged_rounds <= judged_rounds, || {
            format!("{} sittings of {judged_rounds}", c.judged_rounds)
        });
        let passes = 1 + c.agains + c.fixed;
        book.hold("bounded", c.passes <= passes, || format!("{} passes of {passes}", c.passes));
        book.hold("bounded", c.makes <= makes, || format!("{} makes of {makes}", c.makes));
        book.hold("bounded", c.joins <= joins, || format!("{} joins of {joins}", c.joins));
        book.hold("bounded", c.reports <= most, || format!("{} reports of {most}", c.reports));
    }
}

fn kind(step: &Step) -> &'static str {
    match step {
        Step::Make(_) => "make",
        Step::Join => "join",
        Step::Check(_) => "check",
        Step::Judge(_) => "judge",
        Step::Track => "track",
        Step::Hear(_) => "hear",
        _ => "other",
    }
}
