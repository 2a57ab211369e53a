//! What makers, checks, reviewers and the tracking effect say in a simulated world. A claim `c7` is finding 7.

use crate::rng::Rng;
use std::collections::{BTreeMap, BTreeSet};
use tribunal_core::finding::{Answer, Claim, Fate, Reply, Said, Severity, Source, Verdict};
use tribunal_core::ids::{Check, FindingId, Maker, Revision, Seat};
use tribunal_core::ledger::{Delta, Mark, Tracked};
use tribunal_core::r#loop::{Checked, Loop, LoopReport, LoopWant, Opened, Opening};
use tribunal_core::panel::{Bench, CheckState};

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
}

impl Rates {
    /// Each walk has its own.
    pub fn draw(rng: &mut Rng) -> Rates {
        if rng.chance(25) {
            return Rates::stubborn(rng);
        }
        if rng.chance(7) {
            // Everything is mended and most of it comes back.
            return Rates { raise: 120, cure: 90, reuse: 85, lie: 0, ..Rates::stubborn(rng) };
        }
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
        }
    }
}

impl Rates {
    /// A world where steps work and findings do not go away.
    fn stubborn(rng: &mut Rng) -> Rates {
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
        let findings = open.iter().map(|handed| handed.id.0).max().unwrap_or(0);
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
            LoopWant::Judge { seat, put, .. } => LoopReport::Judged(self.judged(rng, rates, live, seat, put)),
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
        Claim::new(severity, format!("c{}", id.0)).at(format!("f{}", id.0 % 5), Some(1))
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
        seat: &Seat,
        put: &[FindingId],
    ) -> Answer {
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
            live.ledger().iter().filter(|(_, e)| e.is_of(seat)).map(|(id, _)| id).collect();
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
        Answer {
            verdict,
            fundamental: verdict == Verdict::Reject && rng.chance(rates.deep),
            raised,
            said,
            checked: if rng.chance(rates.odd / 2) { " ".into() } else { "all of it".into() },
            intent: None,
            intent_satisfied: rng.chance(rates.odd / 3).then(|| rng.chance(50)),
        }
    }

    fn tracked(&mut self, rng: &mut Rng, rates: &Rates, live: &Loop) -> LoopReport {
        let Some(bench) = live.bench() else { return LoopReport::Due };
        let mut all = matched(bench, live);
        let revision = bench.revision.clone();
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
            None if live.round() > 1 => {
                *rng.pick(&[Mark::New, Mark::FixInduced, Mark::FixInduced, Mark::Late])
            }
            None => Mark::New,
            Some(entry) if entry.fate != Fate::Open && open => Mark::Reopened,
            Some(_) => Mark::Persistent,
        };
        tracked.touched = rng.chance(rates.touch);
        tracked.region = (!id.0.is_multiple_of(5)).then(|| format!("region-{}", id.0 % 5 / 4));
        tracked.makers = !rng.chance(rates.foreign);
        let fixers = ["fix-a", "fix-b", "fix-c", "fix-d"];
        tracked.fixer = rng.chance(rates.fixers).then(|| Maker::new(rng.pick(&fixers)));
        let by_seat = tracked.by.iter().any(|source| matches!(source, Source::Seat(_)));
        if by_seat && tracked.severity == Severity::Blocker && rng.chance(rates.contest) {
            tracked.referred = Some(Seat::new("owner"));
        }
        // A contest belongs to a revision: the same one is reported each time that revision is tracked.
        let key = (id, revision.clone());
        if known.is_some() && rng.chance(rates.contest) {
            self.contested.insert(key.clone());
        }
        tracked.contested = self.contested.contains(&key);
        let only_seats = !tracked.by.iter().any(|source| matches!(source, Source::Check(_)));
        if open && only_seats && rng.chance(rates.triage) {
            tracked.fate =
                [Fate::Deferred, Fate::Discarded, Fate::Filtered, Fate::Advisory][rng.below(4)].clone();
        }
    }
}

/// Claims and answers matched to ids.
fn matched(bench: &Bench, live: &Loop) -> BTreeMap<FindingId, Tracked> {
    let mut all: BTreeMap<FindingId, Tracked> = BTreeMap::new();
    for (id, entry) in live.ledger().open() {
        let cleared = |source: &Source| match source {
            Source::Check(check) => bench.checks.get(check) == Some(&CheckState::Passed),
            Source::Seat(_) => false,
        };
        if entry.by.iter().all(cleared) {
            all.insert(id, tracked(id, entry.by.clone(), entry.claim.clone(), Fate::Fixed));
        }
    }
    for (seat, answer) in bench.answers() {
        for (id, word) in &answer.said {
            let Some(entry) = live.ledger().get(*id) else { continue };
            let fate = match word {
                Said::Resolved => Fate::Fixed,
                Said::StillThere => Fate::Open,
                Said::NotAnIssue(_) => Fate::Refuted,
            };
            let by = BTreeSet::from([Source::Seat(seat.clone())]);
            merge(&mut all, tracked(*id, by, entry.claim.clone(), fate));
        }
    }
    let seats = bench.answers().map(|(seat, answer)| (Source::Seat(seat.clone()), answer.raised.as_slice()));
    let checks = bench.failures().map(|(check, claims)| (Source::Check(check.clone()), claims));
    for (source, claims) in seats.chain(checks) {
        for claim in claims {
            let id = FindingId::parse(&claim.claim[1..]).unwrap();
            merge(&mut all, tracked(id, BTreeSet::from([source.clone()]), claim.clone(), Fate::Open));
        }
    }
    all
}

fn tracked(id: FindingId, by: BTreeSet<Source>, claim: Claim, fate: Fate) -> Tracked {
    Tracked {
        id,
        by,
        severity: claim.severity,
        claim,
        fate,
        referred: None,
        contested: false,
        mark: Mark::New,
        makers: true,
        touched: false,
        region: None,
        fixer: None,
    }
}

fn merge(all: &mut BTreeMap<FindingId, Tracked>, new: Tracked) {
    match all.get_mut(&new.id) {
        None => drop(all.insert(new.id, new)),
        Some(old) => {
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
    match rng.below(7) {
        0 => drop(findings.remove(at)),
        1 => findings[at].fate = Fate::Fixed,
        2 => findings[at].fate = Fate::Refuted,
        3 => findings[at].fate = Fate::Waived("nobody".into()),
        4 => findings[at].severity = Severity::Suggestion,
        5 => findings.clear(),
        _ => findings[at].fate = Fate::Carried,
    }
}
