//! Triage (SPEC 3.3): drop below 50, authority, dedupe, defer 50 to 79, order. Loses nothing: every claim that came in
//! is in exactly one result, with the reason it went where it went.

use crate::authority::domain_of;
use crate::dedupe;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use tribunal_core::finding::{Claim, Fate, Severity, Source};
use tribunal_core::ids::Seat;

/// Below this a claim is discarded.
pub const DISCARD_BELOW: u8 = 50;
/// Below this it is deferred.
pub const DEFER_BELOW: u8 = 80;

/// One claim and who made it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Raised {
    /// Who.
    pub source: Source,
    /// What.
    pub claim: Claim,
}

/// What triage must know about the panel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Panel {
    /// Seats that own a field, by field (`security`, `performance`, `api`, `accessibility`, …).
    pub owners: BTreeMap<String, BTreeSet<Seat>>,
    /// Seats that gave a usable answer in this round.
    pub sat: BTreeSet<Seat>,
    /// Seats whose verdict was reject.
    pub rejecting: BTreeSet<Seat>,
    /// `--include-filtered`: authority takes nothing out.
    pub include_filtered: bool,
}

/// One finding after triage: the claim that stands for it, and everything merged into it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Triaged {
    /// The claim that stands for it.
    pub claim: Claim,
    /// All claims it is made of, the standing one first.
    pub texts: Vec<Raised>,
    /// Who holds it.
    pub sources: BTreeSet<Source>,
    /// Open, deferred, discarded or filtered.
    pub fate: Fate,
    /// The highest severity among its actionable claims.
    pub severity: Severity,
    /// Why it went where it went, step by step.
    pub why: String,
    /// The field it lies in, where that is sure.
    pub domain: Option<String>,
    /// The owner who must uphold or refute it.
    pub referred_to: Option<Seat>,
    /// Its field has several owners on the panel.
    pub overlapping: bool,
    /// An owner of its field holds it.
    pub by_owner: bool,
    /// Its field has no owner on the panel: one could be added.
    pub unowned: bool,
    /// Reviewers gave different severities.
    pub disagree: bool,
}

/// What one claim was found to be before merging.
struct Sorted {
    raised: Raised,
    fate: Fate,
    trace: Vec<String>,
    domain: Option<String>,
    referred_to: Option<Seat>,
    overlapping: bool,
    by_owner: bool,
    unowned: bool,
    actionable: bool,
}

/// Sorts and merges the claims of one round.
pub fn triage(raised: Vec<Raised>, panel: &Panel) -> Vec<Triaged> {
    let mut sorted: Vec<Sorted> = raised.into_iter().map(|raised| first_look(raised, panel)).collect();
    authority(&mut sorted, panel);
    let mut results = Vec::with_capacity(sorted.len());
    let (live, out): (Vec<Sorted>, Vec<Sorted>) = sorted.into_iter().partition(|s| s.fate == Fate::Open);
    let keys: Vec<(&Source, &Claim)> = live.iter().map(|s| (&s.raised.source, &s.raised.claim)).collect();
    let groups = dedupe::groups(&keys);
    let mut live: Vec<Option<Sorted>> = live.into_iter().map(Some).collect();
    for group in groups {
        let members: Vec<Sorted> = group.into_iter().filter_map(|at| live[at].take()).collect();
        results.extend(merged(members));
    }
    results.extend(out.into_iter().filter_map(|one| merged(vec![one])));
    results.sort_by(|a, b| order(a).cmp(&order(b)));
    results
}

fn first_look(raised: Raised, panel: &Panel) -> Sorted {
    let claim = &raised.claim;
    let confidence = claim.confidence;
    let (fate, actionable, said) = match &raised.source {
        Source::Check(check) => (Fate::Open, true, format!("found by check {check}")),
        Source::Seat(_) if confidence < DISCARD_BELOW => {
            (Fate::Discarded, false, format!("confidence {confidence} is below {DISCARD_BELOW}"))
        }
        Source::Seat(seat) if confidence < DEFER_BELOW && panel.rejecting.contains(seat) => {
            (Fate::Open, true, format!("confidence {confidence}, kept because {seat} rejects"))
        }
        Source::Seat(_) if confidence < DEFER_BELOW => {
            (Fate::Open, false, format!("confidence {confidence}"))
        }
        Source::Seat(_) if claim.confidence_stated => (Fate::Open, true, format!("confidence {confidence}")),
        Source::Seat(_) => (Fate::Open, true, format!("no confidence stated, {confidence} assumed")),
    };
    Sorted {
        // Authority is among reviewers: a tool's findings need no field.
        domain: if matches!(raised.source, Source::Seat(_)) {
            domain_of(claim)
        } else {
            claim.domain.clone()
        },
        raised,
        fate,
        trace: vec![said],
        referred_to: None,
        overlapping: false,
        by_owner: false,
        unowned: false,
        actionable,
    }
}

/// A non-owner's finding in an owned field goes out when the owner sat and is silent on it; a blocker is referred.
fn authority(sorted: &mut [Sorted], panel: &Panel) {
    for at in 0..sorted.len() {
        let Source::Seat(seat) = &sorted[at].raised.source else { continue };
        let (seat, Some(domain)) = (seat.clone(), sorted[at].domain.clone()) else { continue };
        if sorted[at].fate != Fate::Open {
            continue;
        }
        let owners: Vec<Seat> = panel
            .owners
            .get(&domain)
            .into_iter()
            .flatten()
            .filter(|o| panel.sat.contains(o))
            .cloned()
            .collect();
        if owners.is_empty() {
            sorted[at].unowned = true;
            sorted[at]
                .trace
                .push(format!("no owner of {domain} on the panel; a {domain} reviewer could be added"));
            continue;
        }
        if owners.contains(&seat) {
            own(&mut sorted[at], &domain, owners.len() > 1);
            continue;
        }
        let raised_by_owner = owners.iter().any(|owner| says_the_same(sorted, at, owner));
        if raised_by_owner {
            sorted[at].trace.push(format!("the owner of {domain} says it too"));
        } else {
            outsider(&mut sorted[at], &domain, &owners[0], panel.include_filtered);
        }
    }
}

fn own(one: &mut Sorted, domain: &str, several: bool) {
    one.by_owner = true;
    one.overlapping = several;
    one.trace.push(format!("{domain} is its reviewer's field"));
    if several {
        one.trace.push(format!("{domain} has several owners: both kept"));
    }
}

fn outsider(one: &mut Sorted, domain: &str, owner: &Seat, include: bool) {
    if one.raised.claim.severity == Severity::Blocker {
        one.referred_to = Some(owner.clone());
        one.trace.push(format!("a blocker in {domain} from outside: referred to {owner}"));
    } else if include {
        one.trace.push(format!("{owner} owns {domain} and did not raise it; included on request"));
    } else {
        one.fate = Fate::Filtered;
        one.trace.push(format!("{owner} owns {domain}, sat and did not raise it"));
    }
}

fn says_the_same(sorted: &[Sorted], at: usize, owner: &Seat) -> bool {
    let claim = &sorted[at].raised.claim;
    sorted.iter().enumerate().any(|(n, other)| {
        let owns = matches!(&other.raised.source, Source::Seat(seat) if seat == owner);
        n != at && owns && other.fate == Fate::Open && dedupe::same(claim, &other.raised.claim)
    })
}

/// Makes one finding of claims that say the same.
fn merged(mut members: Vec<Sorted>) -> Option<Triaged> {
    members.sort_by_key(|one| {
        let claim = &one.raised.claim;
        (Reverse(one.actionable), Reverse(one.by_owner), Reverse(claim.severity), Reverse(claim.confidence))
    });
    let actionable = members.iter().any(|one| one.actionable);
    let counted = |one: &&Sorted| one.actionable || !actionable;
    let severity = members.iter().filter(counted).map(|one| one.raised.claim.severity).max()?;
    let severities: BTreeSet<Severity> = members.iter().map(|one| one.raised.claim.severity).collect();
    let by_owner = members.iter().any(|one| one.by_owner);
    let mut trace: Vec<String> = members[0].trace.clone();
    let mut fate = members[0].fate.clone();
    if members.len() > 1 {
        let names: Vec<String> = members.iter().skip(1).map(|one| one.raised.source.to_string()).collect();
        trace.push(format!("{} say the same", names.join(", ")));
    }
    if severities.len() > 1 {
        trace.push(format!("reviewers disagree on severity; {severity} stands"));
    }
    if fate == Fate::Open && !actionable {
        fate = Fate::Deferred;
        trace.push(format!("below {DEFER_BELOW}: deferred"));
    }
    let referred_to = members
        .iter()
        .find_map(|one| one.referred_to.clone())
        .filter(|_| fate == Fate::Open && !by_owner && severity == Severity::Blocker);
    Some(Triaged {
        claim: members[0].raised.claim.clone(),
        sources: members.iter().map(|one| one.raised.source.clone()).collect(),
        fate,
        severity,
        why: trace.join("; "),
        domain: members.iter().find_map(|one| one.domain.clone()),
        referred_to,
        overlapping: members.iter().any(|one| one.overlapping),
        by_owner,
        unowned: members.iter().any(|one| one.unowned) && !by_owner,
        disagree: severities.len() > 1,
        texts: members.into_iter().map(|one| one.raised).collect(),
    })
}

/// Open first, then by severity, the owner's before others, then by place.
fn order(one: &Triaged) -> impl Ord + '_ {
    let rank = match one.fate {
        Fate::Open => 0,
        Fate::Deferred => 1,
        Fate::Filtered => 2,
        _ => 3,
    };
    (
        rank,
        Reverse(one.severity),
        Reverse(one.by_owner),
        one.claim.file.as_deref(),
        one.claim.line,
        &one.claim.claim,
    )
}
