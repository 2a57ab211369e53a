//! Decides what a round means for each finding: repeated, answered, its code changed, or simply not mentioned.
//!
//! Silence resolves a check's finding, and a tool's on code that changed, but never a reviewer's must-fix. Code that
//! only moved resolves nothing. Every rule here errs towards keeping a finding open, because a wrongly closed one is
//! seen by nobody.

use super::anchor::{Anchor, Anchors, Side};
use super::change::{Hunk, Mapped};
use super::moves::Moves;
use super::reversal::Changed;
use super::{Input, Match, builders, by_check, is_new, layout, region};
use crate::delta::{CycleDelta, Now, Standing, cycle_delta};
use crate::similar::named;
use crate::triage::{Raised, Triaged};
use std::collections::{BTreeMap, BTreeSet};
use tribunal_core::finding::{Claim, Fate, Reply, Said, Severity, Source};
use tribunal_core::ids::{FindingId, Reviewer};
use tribunal_core::ledger::{Entry, Mark, Tracked};
use tribunal_core::words::{Remarks, Words};

/// Lines around a finding that count as its code when we ask whether a fix touched it.
const TOUCH: u32 = 3;
/// From this round on, a finding on old code that nobody saw before is advisory, or a review would never end.
const ADVISORY_FROM: u32 = 3;

/// The fate of a finding that this round's reviewers or checks raise.
pub(super) fn repeated(
    input: &Input<'_>,
    triaged: &Triaged,
    found: &Match,
    anchor: &Anchor,
    changed: &Changed,
) -> Tracked {
    let known = match found {
        Match::Known { id, .. } => input.ledger.get(*id),
        Match::New(_) => None,
    };
    // A waived finding keeps the words that were waived: words near to them, round after round, would lead away from
    // it.
    let waived = known.filter(|entry| holds(input, entry) && is_that(input, triaged, entry));
    let mark = match known {
        Some(entry) if entry.fate.is_live() || waived.is_some() => Mark::Persistent,
        // Nobody has seen it as a finding yet, so it is as new as one without an entry.
        Some(entry) if matches!(entry.fate, Fate::Discarded | Fate::Filtered) => {
            fresh_mark(input, triaged.claim(), anchor)
        }
        Some(_) => Mark::Reopened,
        None => fresh_mark(input, triaged.claim(), anchor),
    };
    let fate = match waived {
        Some(entry) => entry.fate.clone(),
        None => fate_of(input, triaged, known, mark, found.id()),
    };
    let claim = waived.map(|entry| moved(input, &entry.claim, None));
    let by = triaged.sources();
    let standing = &triaged.standing;
    // Of a waived finding the new words are kept beside its own, not in their place.
    let (says, others) = match claim {
        Some(_) => (None, Some(standing)),
        None => (Some(standing.source.clone()), None),
    };
    let words = others.into_iter().chain(&triaged.others);
    let contested = fate == Fate::Open && changed.reverses(triaged.claim().file.as_deref(), anchor.line);
    Tracked {
        id: found.id(),
        claim: claim.unwrap_or_else(|| triaged.claim().clone()),
        says,
        words: words.map(|one| Words { by: one.source.clone(), claim: one.claim.clone() }).collect(),
        remarks: triaged.remarks(),
        severity: triaged.severity,
        referred: triaged.referred_to.clone(),
        contested,
        mark,
        builders: builders(triaged.claim(), input.architect),
        touched: known.is_some_and(|entry| touched(input, &entry.claim)),
        region: region(triaged.claim(), anchor),
        fixer: None,
        fate,
        by,
    }
}

/// The fate of a raised finding that is not waived.
fn fate_of(input: &Input<'_>, triaged: &Triaged, known: Option<&Entry>, mark: Mark, id: FindingId) -> Fate {
    let was_open = known.is_some_and(Entry::is_open_must_fix);
    if was_open && triaged.fate != Fate::Open {
        // To be less sure of an open must-fix finding is not an answer to it.
        return answered(input, id, &known.map(|entry| entry.by.clone()).unwrap_or_default())
            .unwrap_or(Fate::Open);
    }
    let late = mark == Mark::Late && input.round >= ADVISORY_FROM;
    // To insist without evidence proves nothing, so it stays advisory.
    let insists = known.is_some_and(|entry| entry.fate == Fate::Advisory);
    let proven = triaged.severity == Severity::Blocker && !triaged.claim().evidence.trim().is_empty();
    let missed = (late || insists) && triaged.fate == Fate::Open;
    // A check cannot overlook anything: if it reports old code now, that is a fact.
    if missed && !proven && !by_check(&triaged.sources()) {
        return Fate::Advisory;
    }
    triaged.fate.clone()
}

/// Whether a waiver still holds: a person waived the finding, and the code it is about is as it was then.
///
/// Without a line the whole file has to be unchanged, without a file the whole tree.
fn holds(input: &Input<'_>, entry: &Entry) -> bool {
    let changed = match (&entry.claim.file, entry.claim.line) {
        (Some(_), Some(_)) => {
            changed_under(input, &entry.claim) || changed_within(input, &moved(input, &entry.claim, None))
        }
        (Some(file), None) => input.change.differs(file),
        (None, _) => !input.change.files().is_empty(),
    };
    is_waived(&entry.fate) && !changed
}

fn is_waived(fate: &Fate) -> bool {
    matches!(fate, Fate::Waived(_))
}

/// Whether the new finding is the waived one: same or lower severity, same place, unchanged code, same message in all
/// its texts.
///
/// A waiver is a person's decision about one thing. A worse or different complaint at its place has to be seen.
fn is_that(input: &Input<'_>, triaged: &Triaged, entry: &Entry) -> bool {
    let (now, then) = (triaged.claim(), moved(input, &entry.claim, None));
    let meet = match (lines(&then), lines(now)) {
        (Some(then), Some(now)) => then.0 <= now.1 && now.0 <= then.1,
        (None, None) => then.section == now.section,
        _ => false,
    };
    // All texts, not any: a merged claim must not slip in under somebody else's waiver.
    let same = |raised: &Raised| says(raised, &entry.claim) && !changed_within(input, &raised.claim);
    triaged.severity <= entry.severity && then.file == now.file && meet && triaged.texts().all(same)
}

/// Whether somebody says what was waived.
///
/// A check has to use the same words and rule. A reviewer words it anew: the same identifiers in much the same words,
/// or the same words where it names none.
fn says(raised: &Raised, waived: &Claim) -> bool {
    let now = &raised.claim;
    match raised.source {
        Source::Check(_) => {
            now.rule == waived.rule && now.claim.split_whitespace().eq(waived.claim.split_whitespace())
        }
        Source::Reviewer(_) => {
            let ((names, words), (known, said)) = (named(&now.claim), named(&waived.claim));
            let near = words.intersection(&said).count() * 2 >= words.len().min(said.len());
            names == known && if names.is_empty() { words == said } else { near }
        }
    }
}

/// First and last line of a claim; an end before the start counts as one line.
pub(super) fn lines(claim: &Claim) -> Option<(u32, u32)> {
    claim.line.map(|line| (line, claim.end.unwrap_or(line).max(line)))
}

/// Whether lines within a claim on the present tree are new, or lines between them were removed.
pub(super) fn changed_within(input: &Input<'_>, claim: &Claim) -> bool {
    let (Some(file), Some((from, to))) = (claim.file.as_deref(), lines(claim)) else { return false };
    let hunks = input.change.file_at(file).map(|file| file.hunks.as_slice()).unwrap_or_default();
    let gone = hunks.iter().any(|hunk| hunk.new_len == 0 && from < hunk.new_start && hunk.new_start <= to);
    gone || input.change.new_hunk(file, from, to, 0).is_some()
}

/// How a finding that was not in the ledger came to be new.
fn fresh_mark(input: &Input<'_>, claim: &Claim, anchor: &Anchor) -> Mark {
    if input.round <= 1 {
        return Mark::New;
    }
    let Some(file) = claim.file.as_deref() else { return Mark::New };
    if !input.fix.existed(file) {
        return Mark::FixInduced;
    }
    match anchor.line.or(claim.line) {
        Some(line) if input.fix.new_hunk(file, line, line, 0).is_some() => Mark::FixInduced,
        Some(_) => Mark::Late,
        None if input.fix.file_at(file).is_none() => Mark::Late,
        None => Mark::New,
    }
}

/// The fate of a live or waived finding that nobody raised again; the flag says that it was simply not repeated.
///
/// Where the code of a waived finding changed, the waiver is over, and silence settles it no more than any other.
pub(super) fn unrepeated(
    input: &Input<'_>,
    id: FindingId,
    entry: &Entry,
    anchors: &mut Anchors<'_>,
    (changed, moves): (&Changed, &Moves),
) -> (Tracked, bool) {
    let over = is_waived(&entry.fate) && !holds(input, entry);
    let entry = if over { &Entry { fate: Fate::Open, ..entry.clone() } } else { entry };
    let went = went(moves, &entry.claim, anchors);
    // Code that only moved has not changed, so it resolves nothing.
    let code_changed = went.is_none() && changed_under(input, &entry.claim);
    // An answer by id comes first: it is about this very finding.
    let settled = answered(input, id, &entry.by).or_else(|| silent_check(input, entry, anchors));
    let must_fix = entry.is_open_must_fix();
    let still = held(input, id, &entry.by);
    let (fate, silent) = match settled {
        Some(fate) => (fate, false),
        // Silence on a must-fix finding is not an answer; somebody has to say that it is gone.
        None if must_fix || still || is_waived(&entry.fate) => (entry.fate.clone(), false),
        None if code_changed && !by_check(&entry.by) => (Fate::Fixed, false),
        None => (entry.fate.clone(), true),
    };
    let claim = moved(input, &entry.claim, went);
    let anchor = anchors.of(Side::After, &claim);
    let contested = fate == Fate::Open && changed.reverses(claim.file.as_deref(), anchor.line);
    let one = Tracked {
        id,
        by: entry.by.clone(),
        says: None,
        words: Vec::new(),
        remarks: Remarks::default(),
        severity: entry.severity,
        referred: None,
        contested,
        mark: if over { Mark::Reopened } else { Mark::Persistent },
        builders: entry.builders,
        touched: touched(input, &entry.claim),
        region: region(&claim, &anchor).or_else(|| entry.region.clone()),
        fixer: entry.fixer.clone(),
        fate,
        claim,
    };
    (one, silent)
}

/// The fate that reviewers give a finding by its id; `None` while anybody holds it. One "still there" outweighs the
/// rest.
fn answered(input: &Input<'_>, id: FindingId, by: &BTreeSet<Source>) -> Option<Fate> {
    let reviewers: Vec<_> = by
        .iter()
        .filter_map(|source| if let Source::Reviewer(reviewer) = source { Some(reviewer) } else { None })
        .collect();
    let said: Vec<&Said> =
        reviewers.iter().filter_map(|reviewer| input.said.get(*reviewer)?.get(&id)).collect();
    // Each was asked about its own words. A reviewer that answered this round but not for these still holds them.
    let owes = |reviewer: &&&Reviewer| input.said.get(**reviewer).is_some_and(|said| !said.contains_key(&id));
    if reviewers.iter().any(|reviewer| owes(&reviewer)) {
        return None;
    }
    if said.is_empty() || said.iter().any(|said| **said == Said::StillThere) || failing_check(input, by) {
        return None;
    }
    // Only unanimous refutation refutes; if anybody saw a fix, it was real.
    let refuted = said.iter().all(|said| matches!(said, Said::NotAnIssue(_)));
    Some(if refuted { Fate::Refuted } else { Fate::Fixed })
}

fn held(input: &Input<'_>, id: FindingId, by: &BTreeSet<Source>) -> bool {
    by.iter().any(|source| match source {
        Source::Reviewer(reviewer) => {
            input.said.get(reviewer).and_then(|said| said.get(&id)) == Some(&Said::StillThere)
        }
        Source::Check(_) => false,
    })
}

/// Whether a check behind the finding did not run: then only the check, or a person, closes it.
fn failing_check(input: &Input<'_>, by: &BTreeSet<Source>) -> bool {
    by.iter().any(|source| matches!(source, Source::Check(check) if !input.ran.contains(check)))
}

/// Fixed, if all its checks ran again and are silent and no reviewer holds it beside them.
fn silent_check(input: &Input<'_>, entry: &Entry, anchors: &mut Anchors<'_>) -> Option<Fate> {
    let all_ran =
        entry.by.iter().all(|source| matches!(source, Source::Check(check) if input.ran.contains(check)));
    (all_ran && !entry.by.is_empty() && counts(input, entry, anchors)).then_some(Fate::Fixed)
}

/// Whether the silence of its checks settles a finding.
///
/// A tool's silence does on code that changed, but not where its lines were only laid out anew by somebody who was not
/// asked to fix it: a tool that no longer sees a defect has not seen it go.
fn counts(input: &Input<'_>, entry: &Entry, anchors: &mut Anchors<'_>) -> bool {
    let is_tool =
        |source: &Source| matches!(source, Source::Check(check) if input.tools.names.contains(check));
    let (Some(file), Some((from, to))) = (entry.claim.file.as_deref(), lines(&entry.claim)) else {
        return true;
    };
    // A check that is not a tool looked at everything. A tool that still reports it does so outside of this review.
    if !entry.by.iter().any(is_tool) || input.tools.says_filtered(&entry.claim) {
        return true;
    }
    // Between reviews a person changed it, in whatever way they meant to.
    if input.round <= 1 || input.change.files().is_empty() {
        return !input.change.files().is_empty();
    }
    let asked = matches!(entry.reply, Some(Reply::Fixed));
    // Of a formatter's own findings, layout is exactly the fix.
    let formats = entry.claim.rule.as_deref() == Some(crate::intake::tool::FORMAT);
    asked || formats || !layout::is_all(input.change, anchors, file, (from, to))
}

/// Whether its very lines changed, or its file is gone.
pub(super) fn changed_under(input: &Input<'_>, claim: &Claim) -> bool {
    let Some(file) = claim.file.as_deref() else { return false };
    if input.change.new_path(file).is_none() {
        return true;
    }
    claim.line.is_some_and(|line| input.change.old_hunk(file, line, claim.end.unwrap_or(line), 0).is_some())
}

/// Whether the last fix touched its code.
fn touched(input: &Input<'_>, claim: &Claim) -> bool {
    let Some(file) = claim.file.as_deref() else { return input.change.lines_changed() > 0 };
    match claim.line {
        _ if input.change.new_path(file).is_none() => true,
        Some(line) => input.change.old_hunk(file, line, claim.end.unwrap_or(line), TOUCH).is_some(),
        None => input.change.differs(file),
    }
}

/// Clears `touched` where the fix was for a neighbour.
///
/// A stretch of the fix that cured one finding was not an attempt at another one beside it: what is still open there
/// was left alone, not tried in vain.
pub(super) fn credit(input: &Input<'_>, tracked: &mut BTreeMap<FindingId, Tracked>) {
    let cured = |(id, entry): (FindingId, &Entry)| {
        let fixed = tracked.get(&id).is_some_and(|one| one.fate == Fate::Fixed);
        (fixed && entry.is_open_must_fix()).then(|| entry.claim.clone())
    };
    let cured: Vec<Claim> = input.ledger.iter().filter_map(cured).collect();
    for one in tracked.values_mut().filter(|one| one.touched && one.fate == Fate::Open) {
        let claim = input.ledger.get(one.id).map(|entry| &entry.claim);
        one.touched = claim.is_none_or(|claim| !is_credited(input, claim, &cured));
    }
}

/// Whether every stretch of the fix that touched this finding also touched one that it cured.
fn is_credited(input: &Input<'_>, claim: &Claim, cured: &[Claim]) -> bool {
    let Some(file) = claim.file.as_deref() else { return !cured.is_empty() };
    let here: Vec<&Claim> = cured.iter().filter(|cured| cured.file.as_deref() == Some(file)).collect();
    let (Some(at), Some(change)) = (lines(claim), input.change.file_from(file)) else {
        return !here.is_empty();
    };
    let meets = |hunk: &Hunk, (from, to): (u32, u32)| {
        let end = hunk.old_start.saturating_add(hunk.old_len.max(1)).saturating_add(TOUCH);
        from < end && hunk.old_start <= to.saturating_add(TOUCH)
    };
    let mut touching = change.hunks.iter().filter(|hunk| meets(hunk, at));
    touching.all(|hunk| here.iter().any(|cured| lines(cured).is_some_and(|at| meets(hunk, at))))
}

/// Where the code of unrepeated findings went, for those whose lines were removed.
pub(super) fn moves<'i>(
    input: &'i Input<'_>,
    unrepeated: impl Iterator<Item = &'i Claim>,
    anchors: &mut Anchors<'_>,
) -> Moves {
    let ends = |claim: &'i Claim| {
        let file = claim.file.as_deref().filter(|_| changed_under(input, claim))?;
        // Both ends: a finding over many lines may lie in two stretches.
        Some([(file, claim.line), (file, claim.end.or(claim.line))])
    };
    Moves::everywhere(input.change, anchors, unrepeated.filter_map(ends).flatten())
}

/// Where its very lines went unchanged; a finding without a line goes where its file's code went.
fn went(moves: &Moves, claim: &Claim, anchors: &mut Anchors<'_>) -> Option<(String, Option<u32>)> {
    let file = claim.file.as_deref()?;
    let Some(line) = claim.line else {
        return moves.destination(file).map(|file| (file.to_string(), None));
    };
    let (file, line) = moves.whole(anchors, file, line, claim.end.unwrap_or(line))?;
    Some((file.to_string(), Some(line)))
}

/// The claim at its place in the present tree, so that the ledger always refers to the tree judged last.
pub(super) fn moved(input: &Input<'_>, claim: &Claim, went: Option<(String, Option<u32>)>) -> Claim {
    let mut claim = claim.clone();
    if let Some((file, line)) = went {
        let length = claim.end.zip(claim.line).map(|(end, line)| end.saturating_sub(line));
        // Only a claim that had an end gets one.
        claim.end = line.map(|line| line.saturating_add(length.unwrap_or(0))).filter(|_| length.is_some());
        (claim.file, claim.line) = (Some(file), line);
        return claim;
    }
    let Some(old) = claim.file.clone() else { return claim };
    let Some(new) = input.change.new_path(&old) else { return claim };
    let at = |line: u32| match input.change.map_line(&old, line) {
        Mapped::Kept(line) => line,
        Mapped::Changed(line) => (line as u32).max(1),
    };
    claim.line = claim.line.map(at);
    claim.end = claim.end.map(at).max(claim.line);
    claim.file = Some(new.to_owned());
    claim
}

/// The delta of this round against the one before; discarded and filtered findings are not part of it.
pub(super) fn cycle(
    input: &Input<'_>,
    tracked: &BTreeMap<FindingId, Tracked>,
    silent: &BTreeSet<FindingId>,
) -> CycleDelta {
    let before: BTreeMap<FindingId, Severity> = input
        .ledger
        .iter()
        .filter(|(_, entry)| entry.fate.is_live())
        .map(|(id, entry)| (id, entry.severity))
        .collect();
    let mut now = BTreeMap::new();
    for (id, one) in tracked {
        // What was never shown must not appear as new; what was shown before must not vanish without a row.
        let hidden = matches!(one.fate, Fate::Discarded | Fate::Filtered | Fate::Waived(_))
            && !before.contains_key(id);
        if hidden {
            continue;
        }
        let standing = match &one.fate {
            fate if fate.is_gone() => Standing::Gone,
            _ if silent.contains(id) => Standing::Silent,
            _ => Standing::Present,
        };
        // Marks matter only for findings that are new in the delta; a persistent one may be new to it, too.
        let mark = if is_new(one.mark) { one.mark } else { Mark::New };
        now.insert(*id, Now { severity: one.severity, standing, mark });
    }
    cycle_delta(&before, &now)
}
