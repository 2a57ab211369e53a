//! What builders, checks, reviewers and the tracking effect say in a simulated world. A claim `c7 so` is finding 7.

use crate::rng::Rng;
use std::collections::{BTreeMap, BTreeSet};
use tribunal_core::cover::{Look, Shown, may_be_shown};
use tribunal_core::effect::Try;
use tribunal_core::finding::{Answer, Claim, Fate, Reply, Said, Severity, Source, UnreadPart, Verdict};
use tribunal_core::ids::{Builder, Check, FindingId, Reviewer, Revision};
use tribunal_core::ledger::{Delta, Entry, Mark, Tracked};
use tribunal_core::panel::{CheckState, ReviewRound, ReviewerState};
use tribunal_core::review_loop::{
    Checked, Failure, FailureKind, Loop, LoopReport, LoopWant, Opened, Opening,
};
use tribunal_core::words::{Remarks, Words};

/// How bad a world is, in percent.
pub struct Rates {
    pub noise: u32,
    pub crash: u32,
    pub cancel: u32,
    pub fail: u32,
    pub garble: u32,
    pub check_fails: u32,
    pub raise: u32,
    pub cure: u32,
    pub blocker: u32,
    pub lie: u32,
    pub odd: u32,
    pub lazy: u32,
    pub contest: u32,
    pub triage: u32,
    pub foreign: u32,
    pub fixers: u32,
    pub reuse: u32,
    pub deep: u32,
    pub touch: u32,
    pub late: u32,
    /// Changes that take several parts to show.
    pub large: u32,
}

impl Rates {
    /// Each walk has its own.
    pub fn draw(rng: &mut Rng) -> Rates {
        if rng.chance(25) {
            return Rates::stubborn(rng);
        }
        if rng.chance(7) {
            // Everything is fixed and most of it comes back.
            return Rates { raise: 120, cure: 90, reuse: 85, lie: 0, ..Rates::stubborn(rng) };
        }
        if rng.chance(12) {
            // Everything is fixed, and as much that was there all along is found.
            let fail = *rng.pick(&[0, 0, 20, 35]);
            let moving = Rates {
                raise: 200,
                cure: 100,
                reuse: 0,
                lie: 0,
                late: 100,
                blocker: 100,
                triage: 0,
                ..Rates::stubborn(rng)
            };
            return Rates {
                fail,
                contest: 0,
                foreign: 0,
                deep: 0,
                check_fails: 0,
                odd: 0,
                lazy: 0,
                ..moving
            };
        }
        let mut beside = rng.beside();
        let mut large = |values: [u32; 4]| *beside.pick(&values);
        let mut of = |values: [u32; 4]| *rng.pick(&values);
        Rates {
            noise: of([0, 5, 10, 30]),
            crash: of([0, 2, 5, 15]),
            cancel: of([0, 0, 0, 3]),
            fail: of([0, 2, 10, 45]),
            garble: of([0, 0, 5, 15]),
            check_fails: of([0, 20, 50, 90]),
            raise: of([0, 20, 50, 90]),
            cure: of([5, 50, 80, 100]),
            blocker: of([0, 30, 60, 100]),
            lie: of([0, 0, 10, 40]),
            odd: of([0, 3, 10, 40]),
            lazy: of([0, 5, 15, 50]),
            contest: of([0, 0, 10, 40]),
            triage: of([0, 0, 10, 40]),
            foreign: of([0, 0, 0, 15]),
            fixers: of([0, 0, 50, 100]),
            reuse: 50,
            deep: of([0, 0, 10, 50]),
            touch: 50,
            late: of([25, 25, 25, 60]),
            large: large([0, 0, 0, 60]),
        }
    }
}

impl Rates {
    /// A world where steps work and findings do not go away.
    fn stubborn(rng: &mut Rng) -> Rates {
        let mut beside = rng.beside();
        let mut large = |values: [u32; 4]| *beside.pick(&values);
        let mut of = |values: [u32; 4]| *rng.pick(&values);
        Rates {
            noise: 2,
            crash: 2,
            cancel: 0,
            fail: of([0, 0, 0, 5]),
            garble: 0,
            check_fails: of([0, 30, 60, 90]),
            raise: of([50, 80, 90, 100]),
            cure: of([0, 5, 30, 60]),
            blocker: of([30, 60, 100, 100]),
            lie: 0,
            odd: of([0, 0, 10, 40]),
            lazy: of([0, 0, 5, 10]),
            contest: of([0, 0, 5, 20]),
            triage: of([0, 0, 10, 30]),
            foreign: of([0, 0, 0, 2]),
            fixers: of([0, 0, 50, 100]),
            reuse: of([30, 60, 90, 95]),
            deep: of([0, 0, 0, 90]),
            touch: of([0, 0, 50, 100]),
            late: of([0, 25, 25, 80]),
            large: large([0, 0, 0, 40]),
        }
    }
}

/// The world of one loop.
pub struct World {
    name: String,
    revisions: u32,
    findings: u32,
    contested: BTreeSet<(FindingId, Revision)>,
}

impl World {
    /// Knows what the loop was opened with.
    pub fn new(opened: &Opened) -> World {
        let (Opening::Make { open, .. } | Opening::Judge { open, .. }) = &opened.opening;
        let findings = open.iter().map(|carried| carried.id.0).max().unwrap_or(0);
        World { name: opened.id.to_string(), revisions: 1, findings, contested: BTreeSet::new() }
    }

    /// A revision that never was.
    pub fn fresh(&mut self) -> Revision {
        self.revisions += 1;
        Revision::new(format!("{}:r{}", self.name, self.revisions))
    }

    /// A report of another kind than the one asked for.
    pub fn garbled(&self, want: &LoopWant) -> LoopReport {
        match want {
            LoopWant::Join { .. } => LoopReport::Heard { upheld: true, reason: "what?".into() },
            _ => LoopReport::Joined { revision: Revision::new("nonsense") },
        }
    }

    /// A well-formed report. What it says may still be strange.
    pub fn right(&mut self, rng: &mut Rng, rates: &Rates, live: &Loop, want: &LoopWant) -> LoopReport {
        match want {
            LoopWant::Make { findings, .. } => self.made(rng, rates, live, findings),
            LoopWant::Join { .. } => LoopReport::Joined { revision: self.fresh() },
            LoopWant::Check { check, .. } => self.checked(rng, rates, live, check),
            LoopWant::Judge { .. } if rng.beside().chance(rates.odd / 8) => LoopReport::Failed(Failure {
                unread: unread_parts(1),
                ..Failure::new(FailureKind::Garbled, "no verdict")
            }),
            LoopWant::Judge { reviewer, revision, .. }
                if nothing_left(rng, rates, live, reviewer, revision) =>
            {
                LoopReport::AllShown(Shown::whole(u32::try_from(hunks(revision).len()).unwrap()))
            }
            LoopWant::Judge { reviewer, part, revision, put, .. } => {
                let (shown, put) = shown(rng, rates, live.policy().parts_max, revision, *part, put);
                if *part == 0 && !may_be_shown(live.policy(), shown) && rng.beside().chance(50) {
                    return LoopReport::TooLarge(Shown { hunks: 0, ..shown });
                }
                let answer = Box::new(self.judged(rng, rates, live, (reviewer, *part), &put));
                LoopReport::Judged { answer, shown, put }
            }
            LoopWant::Track { .. } => self.tracked(rng, rates, live),
            LoopWant::Hear { .. } => LoopReport::Heard { upheld: rng.chance(50), reason: "so".into() },
            LoopWant::Ask(_) | LoopWant::Wake { .. } => LoopReport::Due,
        }
    }

    fn made(&mut self, rng: &mut Rng, rates: &Rates, live: &Loop, findings: &[FindingId]) -> LoopReport {
        let done = !rng.chance(rates.lazy);
        let mut replies = BTreeMap::new();
        for id in findings {
            match rng.below(8) {
                0 => drop(replies.insert(*id, Reply::Refuted(format!("no {}", rng.below(2))))),
                1 => drop(replies.insert(*id, Reply::CannotFix("x".repeat(rng.below(2))))),
                2 => drop(replies.insert(*id, Reply::Fixed)),
                3 => drop(replies.insert(FindingId(id.0 + 50), Reply::Refuted("who?".into()))),
                4 => drop(replies.insert(*id, Reply::Unseen("gone".into()))),
                _ => {}
            }
        }
        let lazy = rng.chance(rates.lazy) || (rng.chance(50) && !replies.is_empty());
        let revision = match live.judged() {
            [] => self.fresh(),
            judged if lazy && rng.chance(30) => rng.pick(judged).clone(),
            judged if lazy => judged[judged.len() - 1].clone(),
            _ => self.fresh(),
        };
        LoopReport::Made { revision, done, replies }
    }

    fn claim(&mut self, rng: &mut Rng, rates: &Rates, known: &[FindingId]) -> Claim {
        let id = if !known.is_empty() && rng.chance(rates.reuse) {
            *rng.pick(known)
        } else {
            self.findings += 1;
            FindingId(self.findings)
        };
        let severity = match rng.chance(rates.blocker) {
            true => Severity::Blocker,
            false if rng.chance(75) => Severity::Warning,
            false => Severity::Suggestion,
        };
        // Everybody has words of its own, and now and then new ones.
        let wording = (self.revisions + self.findings) % 3;
        Claim::new(severity, format!("c{} in words {wording}", id.0)).at(format!("f{}", id.0 % 5), Some(1))
    }

    fn checked(&mut self, rng: &mut Rng, rates: &Rates, live: &Loop, check: &Check) -> LoopReport {
        let source = Source::Check(check.clone());
        let known: Vec<FindingId> =
            live.ledger().iter().filter(|(_, e)| e.by.contains(&source)).map(|(id, _)| id).collect();
        let calm = u32::from(live.round() > 1) * rates.cure / 2;
        let fails = rng.chance(rates.check_fails.saturating_sub(calm));
        let many = if fails { 1 + rng.below(2) } else { 0 };
        LoopReport::Checked(Checked { findings: (0..many).map(|_| self.claim(rng, rates, &known)).collect() })
    }

    fn judged(
        &mut self,
        rng: &mut Rng,
        rates: &Rates,
        live: &Loop,
        (reviewer, part): (&Reviewer, u32),
        put: &[FindingId],
    ) -> Answer {
        // A reviewer may find what another found; what a check found it cannot.
        let theirs = live.round().is_multiple_of(3) && put.is_empty();
        let shared = |entry: &Entry| theirs && entry.by.iter().all(|by| matches!(by, Source::Reviewer(_)));
        let mut said = BTreeMap::new();
        for id in put {
            let word = match rng.chance(rates.cure) {
                true => Said::Resolved,
                false if rng.chance(80) => Said::StillThere,
                false => Said::NotAnIssue("because".into()),
            };
            if !rng.chance(rates.odd / 2) {
                said.insert(*id, word);
            }
        }
        let known: Vec<FindingId> =
            live.ledger().iter().filter(|(_, e)| e.is_of(reviewer) || shared(e)).map(|(id, _)| id).collect();
        let calm = u32::from(live.round() > 1) * rates.cure / 2;
        let mut raised = Vec::new();
        if rng.chance(rates.raise.saturating_sub(calm)) {
            let many = if rates.reuse > 80 { 1 + rng.below(4) } else { 1 };
            raised.extend((0..many).map(|_| self.claim(rng, rates, &known)));
        }
        let still = said.values().any(|word| *word == Said::StillThere);
        let worst = raised.iter().map(|claim| claim.severity).max();
        let fair = match worst {
            Some(Severity::Blocker) => Verdict::Reject,
            Some(Severity::Warning) if rng.chance(60) => Verdict::Conditional,
            Some(Severity::Warning) => Verdict::Reject,
            _ if still => Verdict::Reject,
            _ => Verdict::Approve,
        };
        let any = [Verdict::Approve, Verdict::Conditional, Verdict::Reject];
        let verdict = if rng.chance(rates.odd) { *rng.pick(&any) } else { fair };
        let owed = live
            .review_round()
            .and_then(|review_round| review_round.owed_by(reviewer, part))
            .map_or(0, |owed| owed.parts);
        let mut beside = rng.beside();
        let mut settled = BTreeMap::new();
        for n in 1..=owed {
            match beside.below(8) {
                0 => {}
                1 => raised
                    .push(Claim { label: Some(format!("U-{n}")), ..self.claim(&mut beside, rates, &known) }),
                _ => drop(settled.insert(n, "only a table of names".into())),
            }
        }
        let doubt = beside.chance(if owed > 0 { 10 } else { rates.odd / 2 });
        Answer {
            verdict,
            fundamental: verdict == Verdict::Reject && rng.chance(rates.deep),
            raised,
            said,
            checked: if rng.chance(rates.odd / 2) { " ".into() } else { "all of it".into() },
            intent: None,
            refused: None,
            intent_satisfied: rng.chance(rates.odd / 3).then(|| rng.chance(50)),
            unread: unread_parts(if doubt { 1 + beside.below(2) } else { 0 }),
            settled,
            wordless: beside.chance(rates.odd / 4),
        }
    }

    fn tracked(&mut self, rng: &mut Rng, rates: &Rates, live: &Loop) -> LoopReport {
        let Some(review_round) = live.review_round() else { return LoopReport::Due };
        let mut all = matched(review_round, live);
        let revision = review_round.revision.clone();
        for tracked in all.values_mut() {
            self.decorate(rng, rates, live, &revision, tracked);
        }
        let mut findings: Vec<Tracked> = all.into_values().collect();
        if rng.chance(rates.lie) {
            lie(rng, &mut findings);
        }
        let delta = Delta { new: u32::try_from(rng.below(3)).unwrap(), ..Delta::default() };
        LoopReport::Tracked { findings, delta }
    }

    fn decorate(
        &mut self,
        rng: &mut Rng,
        rates: &Rates,
        live: &Loop,
        revision: &Revision,
        tracked: &mut Tracked,
    ) {
        let id = tracked.id;
        let known = live.ledger().get(id);
        let open = tracked.fate == Fate::Open;
        tracked.mark = match known {
            None if live.round() > 1 && rng.chance(rates.late) => Mark::Late,
            None if live.round() > 1 => *rng.pick(&[Mark::New, Mark::FixInduced, Mark::FixInduced]),
            None => Mark::New,
            Some(entry) if entry.fate != Fate::Open && open => Mark::Reopened,
            Some(_) => Mark::Persistent,
        };
        tracked.touched = rng.chance(rates.touch);
        tracked.region = (!id.0.is_multiple_of(5)).then(|| format!("region-{}", id.0 % 5 / 4));
        tracked.builders = !rng.chance(rates.foreign);
        let fixers = ["fix-a", "fix-b", "fix-c", "fix-d"];
        tracked.fixer = rng.chance(rates.fixers).then(|| Builder::new(rng.pick(&fixers)));
        let by_reviewer = tracked.by.iter().any(|source| matches!(source, Source::Reviewer(_)));
        if by_reviewer && tracked.severity == Severity::Blocker && rng.chance(rates.contest) {
            tracked.referred = Some(Reviewer::new("owner"));
        }
        // A contest belongs to a revision: the same one is reported each time that revision is tracked.
        let key = (id, revision.clone());
        if known.is_some() && rng.chance(rates.contest) {
            self.contested.insert(key.clone());
        }
        tracked.contested = self.contested.contains(&key);
        let only_reviewers = !tracked.by.iter().any(|source| matches!(source, Source::Check(_)));
        if open && only_reviewers && rng.chance(rates.triage) {
            tracked.fate =
                [Fate::Deferred, Fate::Discarded, Fate::Filtered, Fate::Advisory][rng.below(4)].clone();
        }
    }
}

fn unread_parts(n: usize) -> Vec<UnreadPart> {
    let part = |n| UnreadPart { text: format!("| row {n} |"), why: "a row of a table".into() };
    (0..n).map(part).collect()
}

/// A hunk of a revision's change: which one, and in which state.
pub type Hunk = (u32, u32);

fn number(text: &str) -> u32 {
    text.bytes().fold(7_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte)))
}

/// The hunks of a revision's change, from its beginning. A fix changes some of them, and now and then changes one back.
pub fn hunks(revision: &Revision) -> BTreeSet<Hunk> {
    (0..3).map(|at| (at, number(&format!("{revision}/{at}")) / 7 % 2)).collect()
}

/// The hunks that a look showed whole. What changed since an earlier revision shows a hunk whole only where nothing
/// else of it had been changed before.
pub fn shown_whole(since: Option<&Revision>, revision: &Revision) -> BTreeSet<Hunk> {
    let all = hunks(revision);
    let Some(since) = since else { return all };
    let before = hunks(since);
    let whole = |(at, _): &Hunk| (number(&format!("{since}..{revision}/{at}")) / 7).is_multiple_of(2);
    all.into_iter().filter(|hunk| !before.contains(hunk) && whole(hunk)).collect()
}

/// Whether a final pass has nothing to show to a reviewer. A world that is odd says so out of turn, too.
fn nothing_left(rng: &Rng, rates: &Rates, live: &Loop, reviewer: &Reviewer, revision: &Revision) -> bool {
    let first = live.review_round().and_then(|review_round| review_round.reviewers.get(reviewer))
        == Some(&ReviewerState::Asking(Try::default()));
    let looks = live.looks(reviewer);
    let seen = |look: &Look| shown_whole(look.since.as_ref(), &look.revision);
    let seen: BTreeSet<Hunk> = looks.iter().flat_map(seen).collect();
    let left = !hunks(revision).is_subset(&seen) || looks.is_empty();
    (!left && first && live.keeps_verdict(reviewer, Try::default()))
        || (left && rng.beside().chance(rates.odd / 10))
}

/// What one part of a revision shows, and what of the findings is put to it. A revision is cut the same way for all.
fn shown(
    rng: &mut Rng,
    rates: &Rates,
    parts_max: u32,
    revision: &Revision,
    part: u32,
    put: &[FindingId],
) -> (Shown, Vec<FindingId>) {
    let number = number(revision.as_str());
    let parts = if number % 100 < rates.large { 2 + number % 4 } else { 1 };
    let of = 2 * parts + number % 3;
    let hunks = if part + 1 >= parts { of } else { 2 * (part + 1) };
    let mut beside = rng.beside();
    beside.next();
    let cut = u32::from(beside.chance(rates.odd / 8));
    let last = part + 1 == parts.min(parts_max);
    let put = put.iter().copied().filter(|id| last || id.0 % parts == part).collect();
    (Shown { parts, hunks: hunks - cut, of, ..Shown::default() }, put)
}

/// Claims and answers matched to ids.
fn matched(review_round: &ReviewRound, live: &Loop) -> BTreeMap<FindingId, Tracked> {
    let mut all: BTreeMap<FindingId, Tracked> = BTreeMap::new();
    for (id, entry) in live.ledger().open() {
        let cleared = |source: &Source| match source {
            Source::Check(check) => review_round.checks.get(check) == Some(&CheckState::Passed),
            Source::Reviewer(_) => false,
        };
        if entry.by.iter().all(cleared) {
            all.insert(id, tracked(id, entry.by.clone(), entry.claim.clone(), Fate::Fixed));
        }
    }
    for (reviewer, answer) in review_round.voices() {
        for (id, word) in &answer.said {
            let Some(entry) = live.ledger().get(*id) else { continue };
            let fate = match word {
                Said::Resolved => Fate::Fixed,
                Said::StillThere | Said::NoProof(_) => Fate::Open,
                Said::NotAnIssue(_) | Said::Shown(_) => Fate::Refuted,
            };
            let by = BTreeSet::from([Source::Reviewer(reviewer.clone())]);
            merge(&mut all, tracked(*id, by, entry.claim.clone(), fate));
        }
    }
    let reviewers = review_round
        .voices()
        .map(|(reviewer, answer)| (Source::Reviewer(reviewer.clone()), answer.raised.as_slice()));
    let checks = review_round.failures().map(|(check, claims)| (Source::Check(check.clone()), claims));
    for (source, claims) in reviewers.chain(checks) {
        for claim in claims {
            let id = named(claim);
            let one = tracked(id, BTreeSet::from([source.clone()]), claim.clone(), Fate::Open);
            merge(&mut all, Tracked { says: Some(source.clone()), ..one });
        }
    }
    all
}

/// The finding a claim is about.
pub fn named(claim: &Claim) -> FindingId {
    FindingId::parse(claim.claim[1..].split(' ').next().unwrap_or_default()).unwrap()
}

fn tracked(id: FindingId, by: BTreeSet<Source>, claim: Claim, fate: Fate) -> Tracked {
    Tracked {
        id,
        by,
        severity: claim.severity,
        claim,
        fate,
        says: None,
        words: Vec::new(),
        remarks: Remarks::default(),
        referred: None,
        contested: false,
        mark: Mark::New,
        builders: true,
        touched: false,
        region: None,
        fixer: None,
    }
}

fn merge(all: &mut BTreeMap<FindingId, Tracked>, new: Tracked) {
    match all.get_mut(&new.id) {
        None => drop(all.insert(new.id, new)),
        Some(old) => {
            let said = |(by, claim): (&Source, &Claim)| Words { by: by.clone(), claim: claim.clone() };
            old.words.extend(new.said().map(said));
            old.by.extend(new.by);
            old.severity = old.severity.max(new.severity);
            if new.fate == Fate::Open {
                old.fate = Fate::Open;
            }
        }
    }
}

/// A tracking report that does not say what was said.
fn lie(rng: &mut Rng, findings: &mut Vec<Tracked>) {
    if findings.is_empty() {
        return;
    }
    let at = rng.below(findings.len());
    match rng.below(10) {
        0 => drop(findings.remove(at)),
        1 => findings[at].fate = Fate::Fixed,
        2 => findings[at].fate = Fate::Refuted,
        3 => findings[at].fate = Fate::Waived("nobody".into()),
        4 => findings[at].severity = Severity::Suggestion,
        5 => findings.clear(),
        6 => findings[at].says = None,
        7 => drop(findings[at].by.insert(Source::Check(Check::new("lint")))),
        8 => findings[at].id = findings[0].id,
        _ => findings[at].fate = Fate::Carried,
    }
}
