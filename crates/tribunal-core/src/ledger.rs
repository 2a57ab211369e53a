//! The ledger: every finding of a loop under its id, with everything that the rules need to know about its past.
//!
//! It is part of the loop machine's state, so it changes only through events. The tracking effect decides which claim
//! is which finding; this file only records what it reports, and counts.

use crate::finding::{Claim, Fate, Reply, Severity, Source};
use crate::ids::{Builder, FindingId, Reviewer, Revision};
use crate::words::{Remarks, Words};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What is new about a finding that was not in the round before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// It was not there before, and nothing else is known.
    New,
    /// It was settled before.
    Reopened,
    /// On lines that the last fix added.
    FixInduced,
    /// On lines untouched since an earlier round.
    Late,
    /// It was there in the round before.
    Persistent,
}

/// One finding as the tracking effect reports it.
///
/// The tracking effect gives the id: only it can read files and compare lines, which the core cannot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tracked {
    /// Its id, which is given once.
    pub id: FindingId,
    /// Who holds it.
    pub by: BTreeSet<Source>,
    /// The claim that stands for it in this round.
    pub claim: Claim,
    /// Who makes that claim in this round; nobody if it was not raised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub says: Option<Source>,
    /// What others say about it in this round.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<Words>,
    /// What triage noticed about it.
    #[serde(default, skip_serializing_if = "Remarks::is_empty")]
    pub remarks: Remarks,
    /// The severity after triage.
    pub severity: Severity,
    /// The fate after triage and tracking.
    pub fate: Fate,
    /// The owner it was referred to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub referred: Option<Reviewer>,
    /// A fix re-applied what an earlier fix had removed.
    #[serde(default)]
    pub contested: bool,
    /// What is new about it.
    pub mark: Mark,
    /// Whether the builder may fix it; otherwise a person must.
    pub builders: bool,
    /// Whether the last fix touched its code.
    #[serde(default)]
    pub touched: bool,
    /// The key of the region it lies in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Who fixes it, if the policy has several fixers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixer: Option<Builder>,
}

/// What changed against the round before, in counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delta {
    /// Gone, with evidence for it.
    pub resolved: u32,
    /// Not there before, and not marked otherwise.
    pub new: u32,
    /// The same severity as before.
    pub unchanged: u32,
    /// Less severe than before.
    pub downgraded: u32,
    /// More severe than before.
    pub upgraded: u32,
    /// Not repeated, without evidence that it is gone.
    pub not_reported: u32,
    /// Settled before and there again.
    pub reopened: u32,
    /// On lines that the fix added.
    pub fix_induced: u32,
    /// On lines untouched since an earlier round.
    pub late: u32,
    /// Lines that the revision changed against the last judged one.
    pub lines_changed: u32,
}

/// One finding in the ledger.
///
/// The counters serve `converge`: they say how often a fix tried and failed, which a single round cannot show.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Who holds it.
    pub by: BTreeSet<Source>,
    /// The claim that stands for it: the words of whoever raised it first, at the place it has now.
    pub claim: Claim,
    /// Everything that was said about it, and by whom.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<Words>,
    /// What triage noticed about it.
    #[serde(default, skip_serializing_if = "Remarks::is_empty")]
    pub remarks: Remarks,
    /// The severity it has now.
    pub severity: Severity,
    /// Open, or where it ended.
    pub fate: Fate,
    /// The round it was first seen in.
    pub first_round: u32,
    /// Whether the builder may fix it.
    pub builders: bool,
    /// The key of the region it lies in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Who fixes it, if there are several fixers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixer: Option<Builder>,
    /// The builder's last reply to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<Reply>,
    /// What is missing in the last proof that was named for it and refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_proof: Option<String>,
    /// Fixes that touched its code and did not cure it.
    #[serde(default)]
    pub survived_touched: u32,
    /// Fixes that never touched its code.
    #[serde(default)]
    pub survived_untouched: u32,
    /// How often it came back.
    #[serde(default)]
    pub reopened: u32,
    /// A rework was ordered for it and not yet judged.
    #[serde(default)]
    pub ordered: bool,
    /// The owner it was referred to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub referred: Option<Reviewer>,
    /// A fix re-applied what an earlier fix had removed.
    #[serde(default)]
    pub contested: bool,
    /// The referral was heard, or its hearing was given up.
    #[serde(default)]
    pub heard_referral: bool,
    /// The contest was heard, or its hearing was given up.
    #[serde(default)]
    pub heard_contest: bool,
    /// Contested with nobody left to hear it: a person decides.
    #[serde(default)]
    pub flipped: bool,
}

impl Entry {
    /// Whether it is still open and must be fixed.
    pub fn is_open_must_fix(&self) -> bool {
        self.fate == Fate::Open && self.severity.must_fix()
    }

    /// Whether this reviewer holds it.
    pub fn is_of(&self, reviewer: &Reviewer) -> bool {
        self.by.iter().any(|source| matches!(source, Source::Reviewer(s) if s == reviewer))
    }

    /// How often the fixes of this series did not touch it, if at least twice. The next rework names it first.
    pub fn left_twice(&self) -> Option<u32> {
        (self.is_open_must_fix() && self.survived_untouched >= 2).then_some(self.survived_untouched)
    }

    /// How many fixes it survived in this series.
    pub fn survived(&self) -> u32 {
        self.survived_touched + self.survived_untouched
    }
}

/// A carried finding: open, or waived by a person, and passed to a new loop under its id.
///
/// The id travels with it, so that a finding has one history across loops and a person can name it in every report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CarriedFinding {
    /// The id it had before and keeps.
    pub id: FindingId,
    /// What is known about it.
    pub entry: Entry,
}

/// All findings of a loop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    entries: BTreeMap<FindingId, Entry>,
    // With the round, because a mark is true for that round only.
    marks: BTreeMap<FindingId, (u32, Mark)>,
    // What was already counted in a round, because a round may be tracked more than once.
    counted: BTreeSet<(u32, FindingId, Turn)>,
    // With the revision it was found on: a proof does not outlive the code it is about.
    proofs: BTreeMap<FindingId, (Revision, String)>,
}

/// What counts once in a round, however often that round is tracked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Turn {
    Reopened,
    Contested,
}

impl Ledger {
    /// The ledger a new loop begins with.
    ///
    /// Findings of other loops are open here and count from zero, because none of this loop's fixes has tried them
    /// yet. What a person waived stays waived.
    pub fn opened_with(carried: &[CarriedFinding]) -> Ledger {
        let entries = carried.iter().map(|h| {
            // A waiver is a person's decision and outlives the loop it was made in.
            let fate = match &h.entry.fate {
                Fate::Waived(who) => Fate::Waived(who.clone()),
                _ => Fate::Open,
            };
            // Round 0 is before the first one: the finding was not made here.
            let entry = Entry { fate, first_round: 0, ..h.entry.clone() };
            (h.id, entry)
        });
        let mut ledger = Ledger { entries: entries.collect(), ..Ledger::default() };
        ledger.new_series();
        ledger
    }

    /// All entries in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = (FindingId, &Entry)> {
        self.entries.iter().map(|(id, entry)| (*id, entry))
    }

    /// The entry with this id.
    pub fn get(&self, id: FindingId) -> Option<&Entry> {
        self.entries.get(&id)
    }

    /// Open must-fix findings in the order of their ids.
    pub fn open(&self) -> impl Iterator<Item = (FindingId, &Entry)> {
        self.iter().filter(|(_, entry)| entry.is_open_must_fix())
    }

    /// Open must-fix findings of a reviewer: what is put to it by id.
    pub fn put_to(&self, reviewer: &Reviewer) -> Vec<FindingId> {
        self.open().filter(|(_, entry)| entry.is_of(reviewer)).map(|(id, _)| id).collect()
    }

    /// What was new about it in this round; `Persistent` if the round did not track it.
    ///
    /// What was new once in a round stays so, however often that round is tracked.
    pub fn mark(&self, id: FindingId, round: u32) -> Mark {
        match self.marks.get(&id) {
            Some((tracked, mark)) if *tracked == round => *mark,
            Some(_) | None => Mark::Persistent,
        }
    }

    /// Records the tracking report of one round. `adjudicated` says whether somebody hears contested findings.
    pub fn track(&mut self, findings: &[Tracked], round: u32, adjudicated: bool) {
        for tracked in findings {
            let new = || Entry::new(tracked.claim.clone(), BTreeSet::new(), round);
            let entry = self.entries.entry(tracked.id).or_insert_with(new);
            // A round may be tracked again, after a reviewer was asked again or after a full panel. The same
            // reopening and the same contest must not count twice.
            let mut first = |what| self.counted.insert((round, tracked.id, what));
            if tracked.mark == Mark::Reopened && first(Turn::Reopened) {
                entry.reopened += 1;
            }
            if tracked.contested && first(Turn::Contested) {
                entry.contest(tracked, adjudicated);
            }
            entry.take(tracked);
            // Never back to `Persistent`: the second tracking of a round finds its own findings already there.
            if self.mark(tracked.id, round) == Mark::Persistent {
                self.marks.insert(tracked.id, (round, tracked.mark));
            }
        }
    }

    /// Records the builder's replies.
    pub fn reply(&mut self, replies: &BTreeMap<FindingId, Reply>) {
        for (id, reply) in replies {
            if let Some(entry) = self.entries.get_mut(id) {
                entry.reply = Some(reply.clone());
            }
        }
    }

    /// Whether a reply says something about an open must-fix finding that was not said before.
    ///
    /// A builder that changes nothing may still be right. A new argument is worth another round; a repeated one is
    /// not.
    pub fn is_news(&self, replies: &BTreeMap<FindingId, Reply>) -> bool {
        replies.iter().any(|(id, reply)| {
            reply.is_argument()
                && self
                    .entries
                    .get(id)
                    .is_some_and(|entry| entry.is_open_must_fix() && entry.reply.as_ref() != Some(reply))
        })
    }

    /// Records that the question of a check was answered, on this revision and by this proof.
    pub fn prove(&mut self, id: FindingId, at: &Revision, proof: &str) {
        self.proofs.insert(id, (at.clone(), proof.to_owned()));
    }

    /// Records why a named proof was refused. The builder and the reviewer are told.
    pub fn unproven(&mut self, id: FindingId, missing: &str) {
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.no_proof = Some(missing.to_owned());
        }
    }

    /// Whether it was proven on this revision. A proof of another one does not count: the code has changed since.
    pub fn is_proven(&self, id: FindingId, at: &Revision) -> bool {
        self.proofs.get(&id).is_some_and(|(of, _)| of == at)
    }

    /// The last proof that was named for it and found.
    pub fn proof(&self, id: FindingId) -> Option<&str> {
        self.proofs.get(&id).map(|(_, proof)| proof.as_str())
    }

    /// Records that a rework was ordered for these findings.
    pub fn order(&mut self, must: &[FindingId]) {
        for id in must {
            if let Some(entry) = self.entries.get_mut(id) {
                entry.ordered = true;
            }
        }
    }

    /// Records the end of a hearing: refuted, upheld, or given up (`None`).
    pub fn heard(&mut self, id: FindingId, upheld: Option<bool>) {
        if let Some(entry) = self.entries.get_mut(&id) {
            // One hearing settles both questions, so a finding is not heard twice for the same reasons.
            entry.heard_referral |= entry.referred.is_some();
            entry.heard_contest |= entry.contested;
            entry.contested = false;
            if upheld == Some(false) {
                entry.fate = Fate::Refuted;
            }
        }
    }

    /// Starts a new series after a person took over: survived, reopened and flipped count from zero.
    pub fn new_series(&mut self) {
        self.counted.clear();
        for entry in self.entries.values_mut() {
            entry.survived_touched = 0;
            entry.survived_untouched = 0;
            entry.reopened = 0;
            entry.ordered = false;
            entry.flipped = false;
            entry.contested = false;
            entry.heard_contest = false;
        }
    }

    /// Ends the loop for every open finding: each gets its final fate.
    pub fn close(&mut self, must_fix: &Fate) {
        for entry in self.entries.values_mut().filter(|entry| entry.fate == Fate::Open) {
            // A suggestion never blocks, so it ends as advice however the loop ends.
            entry.fate = if entry.severity.must_fix() { must_fix.clone() } else { Fate::Advisory };
        }
    }
}

impl Entry {
    /// A new open finding of this round: for the builder to fix, and as bad as its claim says.
    pub fn new(claim: Claim, by: BTreeSet<Source>, round: u32) -> Entry {
        let words = by.iter().map(|by| Words { by: by.clone(), claim: claim.clone() }).collect();
        Entry {
            by,
            severity: claim.severity,
            claim,
            words,
            remarks: Remarks::default(),
            fate: Fate::Open,
            first_round: round,
            builders: true,
            region: None,
            fixer: None,
            reply: None,
            no_proof: None,
            survived_touched: 0,
            survived_untouched: 0,
            reopened: 0,
            ordered: false,
            referred: None,
            contested: false,
            heard_referral: false,
            heard_contest: false,
            flipped: false,
        }
    }

    /// Records a contest, and whether anybody is left to hear it.
    fn contest(&mut self, tracked: &Tracked, adjudicated: bool) {
        let by_check = tracked.by.iter().any(|source| matches!(source, Source::Check(_)));
        self.contested = true;
        // A check cannot be heard, and a finding is heard only once. Without a judge of the contest a person decides.
        self.flipped |= by_check || self.heard_contest || !adjudicated;
    }

    /// Takes the new facts over, and counts a fix that did not cure it.
    fn take(&mut self, tracked: &Tracked) {
        // Only a rework that was ordered for this finding counts as an attempt at it.
        if self.ordered && tracked.fate == Fate::Open {
            *(if tracked.touched { &mut self.survived_touched } else { &mut self.survived_untouched }) += 1;
        }
        // The rework has been judged now, whatever came of it.
        self.ordered = false;
        // A referral of an earlier round stays until it is heard.
        if tracked.referred.is_some() {
            self.referred = tracked.referred.clone();
        }
        self.by.extend(tracked.by.iter().cloned());
        self.hear(tracked);
        self.severity = tracked.severity;
        self.fate = tracked.fate.clone();
        self.builders = tracked.builders;
        // A finding without a place in this round keeps the last one that was known.
        self.region = tracked.region.clone().or_else(|| self.region.take());
        self.fixer = tracked.fixer.clone().or_else(|| self.fixer.take());
    }
}
