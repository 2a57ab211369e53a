//! Triage of one round's claims: discard below 50, authority, dedupe, defer 50 to 79, order.
//!
//! Nothing is lost: every claim that comes in is in exactly one result, with the reason it went where it went. The
//! steps run in this order because a discarded claim must not speak for anybody, and a claim that its field's owner
//! rules out must not be merged into one that stays.

use crate::authority::domain_of;
use crate::dedupe;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use tribunal_core::finding::{Claim, Fate, Severity, Source};
use tribunal_core::ids::{Check, Reviewer};
use tribunal_core::words::Remarks;

/// A reviewer's claim with less confidence than this is discarded.
pub const DISCARD_BELOW: u8 = 50;
/// A reviewer's claim with less confidence than this is deferred, unless its reviewer rejects.
pub const DEFER_BELOW: u8 = 80;

/// One claim and who raised it.
///
/// Who raised a claim stays with it through merging: a waiver, an answer by id and the authority over a field all
/// depend on the source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Raised {
    /// The reviewer or the check that raised it.
    pub source: Source,
    /// The claim as intake read it.
    pub claim: Claim,
}

/// Facts about the panel that triage needs.
///
/// These are facts about this round only. Who sits on the panel and who owns what was decided before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Panel {
    /// Reviewers that own a field, by field (`security`, `performance`, `api`, `accessibility`, …).
    pub owners: BTreeMap<String, BTreeSet<Reviewer>>,
    /// Reviewers that gave a usable answer in this round. An owner who did not answer cannot rule anything out.
    pub sat: BTreeSet<Reviewer>,
    /// Reviewers whose verdict was reject.
    pub rejecting: BTreeSet<Reviewer>,
    /// `--include-filtered`: authority removes nothing.
    pub include_filtered: bool,
}

/// One finding after triage: the claim that stands for it, and everything merged into it.
///
/// The standing claim is the one that people see, so it is the most reliable of its members; the others are kept for
/// the record and for tracking.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Triaged {
    /// The claim that stands for the finding, and who raised it.
    pub standing: Raised,
    /// All other claims that were merged into it.
    pub others: Vec<Raised>,
    /// Open, deferred, discarded or filtered; triage sets no other fate.
    pub fate: Fate,
    /// The highest severity among its actionable claims.
    pub severity: Severity,
    /// The field it lies in, where that is certain.
    pub domain: Option<String>,
    /// The field's owner who must uphold or refute it.
    pub referred_to: Option<Reviewer>,
    /// Its field has several owners on the panel.
    pub overlapping: bool,
    /// It was raised by an owner of its field.
    pub by_owner: bool,
    /// Its field has no owner on the panel: one could be added.
    pub unowned: bool,
    /// Reviewers gave different severities.
    pub disagree: bool,
    /// Index of the claim among those that came in; the standing claim's where several were merged.
    pub key: usize,
    /// Keys of findings that may describe the same defect; both stay.
    pub related: BTreeSet<usize>,
    /// Some claim in it is sure enough to be fixed now; otherwise the finding is deferred.
    actionable: bool,
    /// Everything that happened to it after the first look, in order.
    steps: Vec<String>,
}

impl Triaged {
    /// The claim that stands for the finding.
    pub fn claim(&self) -> &Claim {
        &self.standing.claim
    }

    /// All claims it is made of, the standing one first.
    pub fn texts(&self) -> impl Iterator<Item = &Raised> {
        std::iter::once(&self.standing).chain(&self.others)
    }

    /// Everybody who raised it.
    pub fn sources(&self) -> BTreeSet<Source> {
        self.texts().map(|raised| raised.source.clone()).collect()
    }

    /// Remarks for people, beside the finding's own words. Related findings are linked later, when they have ids.
    pub fn remarks(&self) -> Remarks {
        let plain = self.fate == Fate::Open && self.others.is_empty() && !self.overlapping && !self.unowned;
        let by_check = matches!(self.standing.source, Source::Check(_));
        Remarks {
            disagree: self.disagree,
            overlapping: self.overlapping,
            unowned: self.domain.clone().filter(|_| self.unowned),
            related: BTreeSet::new(),
            // Most findings went the ordinary way, and a check needs no reason: silence keeps reports short and memory
            // small.
            why: if plain || by_check { String::new() } else { self.why() },
        }
    }

    /// The reason for its fate, step by step.
    pub fn why(&self) -> String {
        let confidence = self.standing.claim.confidence;
        let first = match &self.standing.source {
            Source::Check(check) => format!("found by check {check}"),
            Source::Reviewer(_) if confidence < DISCARD_BELOW => {
                format!("confidence {confidence} is below {DISCARD_BELOW}")
            }
            Source::Reviewer(_) if self.standing.claim.confidence_stated || confidence < DEFER_BELOW => {
                format!("confidence {confidence}")
            }
            Source::Reviewer(_) => format!("no confidence stated, {confidence} assumed"),
        };
        std::iter::once(&first).chain(&self.steps).map(String::as_str).collect::<Vec<_>>().join("; ")
    }
}

/// Sorts and merges the claims of one round.
///
/// It must stay near-linear: a tool may report a hundred thousand results, most of them at one line. So claims are
/// moved, never copied.
pub fn triage(raised: impl IntoIterator<Item = Raised>, panel: &Panel) -> Vec<Triaged> {
    let mut all: Vec<Triaged> =
        raised.into_iter().enumerate().map(|(key, raised)| first_look(key, raised, panel)).collect();
    authority(&mut all, panel);
    merge(&mut all);
    all.iter_mut().for_each(settle);
    put_in_order(&mut all);
    all
}

/// Judges a claim by its confidence alone, before anything is known of the others.
fn first_look(key: usize, raised: Raised, panel: &Panel) -> Triaged {
    let claim = &raised.claim;
    let mut steps = Vec::new();
    let (fate, actionable) = match &raised.source {
        // A check states facts: it has no confidence to weigh.
        Source::Check(_) => (Fate::Open, true),
        Source::Reviewer(_) if claim.confidence < DISCARD_BELOW => (Fate::Discarded, false),
        // A reviewer who rejects stands behind its findings, so they are not put off.
        Source::Reviewer(reviewer)
            if claim.confidence < DEFER_BELOW && panel.rejecting.contains(reviewer) =>
        {
            steps.push(format!("kept because {reviewer} rejects"));
            (Fate::Open, true)
        }
        Source::Reviewer(_) => (Fate::Open, claim.confidence >= DEFER_BELOW),
    };
    Triaged {
        // Authority is a matter among reviewers: a tool's finding needs no field.
        domain: match &raised.source {
            Source::Reviewer(_) => domain_of(claim),
            Source::Check(_) => claim.domain.clone(),
        },
        severity: claim.severity,
        standing: raised,
        others: Vec::new(),
        fate,
        referred_to: None,
        overlapping: false,
        by_owner: false,
        unowned: false,
        disagree: false,
        key,
        related: BTreeSet::new(),
        actionable,
        steps,
    }
}

/// Applies the ownership of fields.
///
/// A finding in an owned field is filtered when the owner answered and did not raise it; a blocker is referred to the
/// owner instead, because dropping it unheard would be too much power.
fn authority(all: &mut [Triaged], panel: &Panel) {
    // An index made once: comparing every finding with all claims of its owner would be quadratic.
    let said = Said::of(all, panel);
    for at in 0..all.len() {
        let Source::Reviewer(reviewer) = &all[at].standing.source else { continue };
        let (reviewer, Some(domain)) = (reviewer.clone(), all[at].domain.clone()) else { continue };
        if all[at].fate != Fate::Open {
            continue;
        }
        let owners: Vec<Reviewer> = panel
            .owners
            .get(&domain)
            .into_iter()
            .flatten()
            .filter(|o| panel.sat.contains(o))
            .cloned()
            .collect();
        // Nobody competent has spoken, so nothing is taken out; the report suggests a reviewer instead.
        if owners.is_empty() {
            all[at].unowned = true;
            let step = format!("no owner of {domain} on the panel; a {domain} reviewer could be added");
            all[at].steps.push(step);
            continue;
        }
        if owners.contains(&reviewer) {
            own(&mut all[at], &domain, owners.len() > 1);
            continue;
        }
        if owners.iter().any(|owner| said.by(owner, all, at)) {
            all[at].steps.push(format!("the owner of {domain} says it too"));
        } else {
            outsider(&mut all[at], &domain, &owners[0], panel.include_filtered);
        }
    }
}

/// Claims of field owners, by reviewer and file, so that asking whether an owner says the same looks at few claims.
#[derive(Default)]
struct Said {
    by: BTreeMap<Reviewer, BTreeMap<Option<String>, Vec<usize>>>,
}

impl Said {
    fn of(all: &[Triaged], panel: &Panel) -> Self {
        let owners: BTreeSet<&Reviewer> = panel.owners.values().flatten().collect();
        let mut said = Self::default();
        for (at, one) in all.iter().enumerate() {
            if let Source::Reviewer(reviewer) = &one.standing.source
                && owners.contains(reviewer)
            {
                let files = said.by.entry(reviewer.clone()).or_default();
                files.entry(one.claim().file.clone()).or_default().push(at);
            }
        }
        said
    }

    /// Whether an owner raises the same defect as this claim.
    fn by(&self, owner: &Reviewer, all: &[Triaged], at: usize) -> bool {
        let Some(files) = self.by.get(owner) else { return false };
        let claim = all[at].claim();
        // What was discarded speaks for nobody, not even for agreement.
        let same = |n: &usize| *n != at && all[*n].fate == Fate::Open && dedupe::same(claim, all[*n].claim());
        match &claim.file {
            None => files.values().flatten().any(same),
            // The owner may have named no file; such a claim can be about this one.
            Some(_) => [&claim.file, &None].iter().filter_map(|file| files.get(*file)).flatten().any(same),
        }
    }
}

/// Marks a finding that an owner of its field raised.
fn own(one: &mut Triaged, domain: &str, several: bool) {
    one.by_owner = true;
    one.overlapping = several;
    one.steps.push(format!("{domain} is its reviewer's field"));
    if several {
        one.steps.push(format!("{domain} has several owners: both kept"));
    }
}

/// Decides on a finding that the owner of its field did not raise: refer a blocker, filter the rest, unless asked to
/// include it.
fn outsider(one: &mut Triaged, domain: &str, owner: &Reviewer, include: bool) {
    if one.standing.claim.severity == Severity::Blocker {
        one.referred_to = Some(owner.clone());
        one.steps.push(format!("a blocker in {domain} from outside: referred to {owner}"));
    } else if include {
        one.steps.push(format!("{owner} owns {domain} and did not raise it; included on request"));
    } else {
        one.fate = Fate::Filtered;
        one.steps.push(format!("{owner} owns {domain}, sat and did not raise it"));
    }
}

/// Makes one finding of the open claims that describe the same defect.
fn merge(all: &mut Vec<Triaged>) {
    let open: Vec<usize> = (0..all.len()).filter(|at| all[*at].fate == Fate::Open).collect();
    let keys: Vec<(&Source, &Claim)> =
        open.iter().map(|at| (&all[*at].standing.source, &all[*at].standing.claim)).collect();
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    // What two owners say stays two findings, whether they own one field or two.
    let owners = |a: usize, b: usize| {
        let (a, b) = (&all[open[a]], &all[open[b]]);
        a.by_owner && b.by_owner && a.standing.source != b.standing.source
    };
    let decision = dedupe::decide(&keys, &owners);
    for (n, first) in decision.firsts.iter().enumerate().filter(|(n, first)| n != *first) {
        groups.entry(open[*first]).or_insert_with(|| vec![open[*first]]).push(open[n]);
    }
    let first = |n: usize| open[decision.firsts[n]];
    let related = decision.pairs.iter().filter(|pair| pair.related);
    let links: BTreeSet<(usize, usize)> = related.map(|pair| (first(pair.a), first(pair.b))).collect();
    let mut leads: BTreeMap<usize, usize> = BTreeMap::new();
    let mut gone = vec![false; all.len()];
    for mut members in groups.into_values() {
        // The first member stands for the group: the most certain, then the owner's, the gravest, the most confident.
        members.sort_by_key(|at| {
            let (one, claim) = (&all[*at], all[*at].claim());
            (
                Reverse(one.actionable),
                Reverse(one.by_owner),
                Reverse(claim.severity),
                Reverse(claim.confidence),
            )
        });
        // Links were made by a group's first index; its standing claim may be another member.
        leads.extend(members.iter().min().map(|first| (*first, members[0])));
        let joined = Joined::of(members.iter().map(|at| &all[*at]));
        let others = members[1..].iter().map(|at| {
            gone[*at] = true;
            taken(&mut all[*at])
        });
        let others = others.collect();
        joined.give(&mut all[members[0]], others);
    }
    let lead = |first: usize| leads.get(&first).copied().unwrap_or(first);
    for (a, b) in links.into_iter().map(|(a, b)| (lead(a), lead(b))).filter(|(a, b)| a != b) {
        let (x, y) = (all[a].key, all[b].key);
        all[a].related.insert(y);
        all[b].related.insert(x);
    }
    let mut gone = gone.into_iter();
    all.retain(|_| gone.next() == Some(false));
}

/// Moves a claim out of the list, leaving an empty one that the caller removes.
fn taken(one: &mut Triaged) -> Raised {
    let nothing =
        Raised { source: Source::Check(Check::new("")), claim: Claim::new(Severity::Suggestion, "") };
    std::mem::replace(&mut one.standing, nothing)
}

/// The properties that several claims have together.
struct Joined {
    severity: Severity,
    actionable: bool,
    by_owner: bool,
    unowned: bool,
    overlapping: bool,
    disagree: bool,
    domain: Option<String>,
    referred_to: Option<Reviewer>,
}

impl Joined {
    fn of<'t>(members: impl Iterator<Item = &'t Triaged> + Clone) -> Self {
        let any = |test: fn(&Triaged) -> bool| members.clone().any(test);
        let actionable = any(|one| one.actionable);
        let all = members.clone().map(|one| one.severity);
        // A claim that nobody would act on does not raise the severity of one that somebody will.
        let counted = members.clone().filter(|one| one.actionable || !actionable).map(|one| one.severity);
        Self {
            severity: counted.max().unwrap_or(Severity::Suggestion),
            disagree: all.clone().min() != all.max(),
            actionable,
            by_owner: any(|one| one.by_owner),
            unowned: any(|one| one.unowned),
            overlapping: any(|one| one.overlapping),
            domain: members.clone().find_map(|one| one.domain.clone()),
            referred_to: members.clone().find_map(|one| one.referred_to.clone()),
        }
    }

    fn give(self, one: &mut Triaged, others: Vec<Raised>) {
        one.steps.push(format!("{} say the same", names(&others)));
        if self.disagree {
            one.steps.push(format!("reviewers disagree on severity; {} stands", self.severity));
        }
        (one.severity, one.disagree, one.actionable) = (self.severity, self.disagree, self.actionable);
        (one.by_owner, one.unowned, one.overlapping) = (self.by_owner, self.unowned, self.overlapping);
        (one.domain, one.referred_to, one.others) = (self.domain, self.referred_to, others);
    }
}

/// Names who raised them, in a row; of a crowd only the first few.
fn names(members: &[Raised]) -> String {
    const SHOWN: usize = 8;
    let names: Vec<String> = members.iter().take(SHOWN).map(|member| member.source.to_string()).collect();
    match members.len().saturating_sub(SHOWN) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

/// Settles a finding: deferred when nobody is sure enough, referred only while that can matter.
fn settle(one: &mut Triaged) {
    if one.fate == Fate::Open && !one.actionable {
        one.fate = Fate::Deferred;
        one.steps.push(format!("below {DEFER_BELOW}: deferred"));
    }
    // Merging may have brought an owner in, and then the field is not unowned.
    one.unowned &= !one.by_owner;
    if one.fate != Fate::Open || one.by_owner || one.severity != Severity::Blocker {
        one.referred_to = None;
    }
}

/// Puts open findings first, then by severity, the owner's before others, then by file, line and words.
fn put_in_order(all: &mut [Triaged]) {
    // Keys are packed into integers and the list is permuted in place: this runs over all results of a tool's report.
    let files = file_ranks(all);
    let mut order: Vec<(u64, u64, usize)> = Vec::with_capacity(all.len());
    for (at, one) in all.iter().enumerate() {
        let rank = match one.fate {
            Fate::Open => 0,
            Fate::Deferred => 1,
            Fate::Filtered => 2,
            _ => 3,
        };
        let severity = 2 - one.severity as u64;
        let line = one.claim().line.map_or(0, |line| u64::from(line) + 1);
        let first = rank << 3 | severity << 1 | u64::from(!one.by_owner);
        order.push((first << 32 | u64::from(files[at]), line, at));
    }
    let words = |at: usize| all[at].claim().claim.as_str();
    // The index comes last, so that an unstable sort still gives one order.
    order.sort_unstable_by(|a, b| {
        (a.0, a.1).cmp(&(b.0, b.1)).then_with(|| words(a.2).cmp(words(b.2))).then(a.2.cmp(&b.2))
    });
    let mut goes_to = vec![0; all.len()];
    order.iter().enumerate().for_each(|(to, (_, _, from))| goes_to[*from] = to);
    // Follows the cycles of the permutation: no finding is copied.
    for at in 0..all.len() {
        while goes_to[at] != at {
            let to = goes_to[at];
            all.swap(at, to);
            goes_to.swap(at, to);
        }
    }
}

/// For each finding the alphabetical rank of its file, from 1; 0 without a file.
fn file_ranks(all: &[Triaged]) -> Vec<u32> {
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    let mut last = ("", usize::MAX);
    let mut numbers = Vec::with_capacity(all.len());
    for one in all {
        let Some(file) = one.claim().file.as_deref() else {
            numbers.push(usize::MAX);
            continue;
        };
        // Reports go file by file, so mostly the file is the one before.
        if file != last.0 || last.1 == usize::MAX {
            let next = known.len();
            last = (file, *known.entry(file).or_insert(next));
        }
        numbers.push(last.1);
    }
    let mut ranks = vec![0u32; known.len()];
    known.values().enumerate().for_each(|(rank, number)| ranks[*number] = rank as u32 + 1);
    numbers.into_iter().map(|number| ranks.get(number).copied().unwrap_or(0)).collect()
}
