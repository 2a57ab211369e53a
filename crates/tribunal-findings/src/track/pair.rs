//! Decides which finding of a later report is which of an earlier one: exact matches first, then the best assignment by
//! score, then moved code. Always one to one.
//!
//! Exact matches come first because they are certain and nearly free: in a tool's report most findings go no further.
//! Everything below is bounded, as a report may hold a hundred thousand findings in one file.

use super::anchor::{Anchors, Read, Side};
use super::assign::{Edge, assign};
use super::change::{Change, Mapped};
use super::moves::{self, Moves};
use super::prose::Voices;
use super::score::{COSINE, FEATURES, REVIEWER, Spot, TITLE, TOOL, TRIGRAMS, Weights, features};
use crate::dedupe::{hash_texts, words_of};
use crate::similar::{Texts, other_subject};
use std::collections::{BTreeMap, BTreeSet};
use tribunal_core::finding::Claim;

/// Up to this many pairs of one file are all compared; beyond that only near ones and those with equal words.
const ALL_PAIRS_MAX: usize = 40_000;
/// How many lines from its expected place a finding is still looked for in a crowd.
const NEAR_LINES: f64 = 40.0;
/// In a crowd, at most this many on each side of the expected line are compared: a crowd must not cost its square.
const NEAR_MAX: usize = 60;
/// In a crowd, at most this many with equal words are compared.
const SAME_WORDS_MAX: usize = 20;
/// What a reviewer's own "same as F-12" adds. A prior only: an author could name any id, so the rest must support it.
const SAME_AS: f64 = 1.5;
/// What it takes away that the author calls the earlier finding settled: then only nearly equal words are the same.
const SETTLED: f64 = -9.0;
/// What it takes away that the author answers for the earlier finding by its id. Reviewers repeat themselves, but
/// seldom in new words.
const ANSWERED: f64 = -6.0;

/// Words less alike than this are strange to each other.
const STRANGE: f64 = 0.3;
/// What strange words take away from a pair whose earlier finding is settled.
const STRANGER: f64 = -9.0;

/// What is known about pairs beside the findings themselves.
///
/// Hints shift the odds and do not decide, except `may`, which forbids. Authors are not trusted to say which finding
/// is which.
#[derive(Clone, Default)]
pub struct Hints<'a> {
    /// Whether an earlier and a later finding can be one at all; without it, all can.
    pub may: Option<&'a dyn Fn(usize, usize) -> bool>,
    /// Later finding → the earlier one its author names.
    pub same_as: BTreeMap<usize, usize>,
    /// Pairs whose earlier finding the author of the later one calls settled.
    pub settled: BTreeSet<(usize, usize)>,
    /// Pairs whose earlier finding the author of the later one calls still there, by its id.
    pub answered: BTreeSet<(usize, usize)>,
    /// How much it takes to pair with an earlier finding that is no longer open.
    pub reluctance: BTreeMap<usize, f64>,
    /// Who wrote what, and how; without it, one reviewer is taken to have written everything.
    pub voices: Option<Voices>,
}

impl Hints<'_> {
    fn may(&self, before: usize, after: usize) -> bool {
        self.may.is_none_or(|may| may(before, after))
    }

    /// The penalty for strange words. A settled finding comes back in its own words; another complaint at its place is
    /// another finding.
    fn strange(&self, c: &Candidate) -> f64 {
        let over = self.reluctance.get(&c.before).is_some_and(|reluctance| *reluctance > 0.0);
        let shared = c.features[COSINE].max(c.features[TRIGRAMS]);
        if over && shared < STRANGE { STRANGER } else { 0.0 }
    }

    /// What the authors' words add to a pair, or take from it.
    fn gain(&self, before: usize, after: usize) -> f64 {
        let named = self.same_as.get(&after) == Some(&before);
        let said = match () {
            () if self.settled.contains(&(before, after)) => SETTLED,
            () if self.answered.contains(&(before, after)) && !named => ANSWERED,
            () => 0.0,
        };
        let named = if named { SAME_AS } else { 0.0 };
        named + said - self.reluctance.get(&before).copied().unwrap_or(0.0)
    }
}

/// How a pair was found; reports show it as the reason.
///
/// Kept with the match so that people can see why a finding has its id, and how far to trust it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Same words at the same place, mapped through the diff.
    Exact,
    /// By the best assignment of all scores.
    Scored,
    /// By its code, which moved.
    Moved,
    /// Its author calls the earlier one resolved and raises this one at the same place, where nothing changed.
    Reworded,
}

/// One finding that is in both reports.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// Index in the earlier report.
    pub before: usize,
    /// Index in the later report.
    pub after: usize,
    /// How certain the pair is, 0 to 1.
    pub score: f64,
    /// The rule by which it was found.
    pub how: How,
}

/// The two sets of weights: for reports with rules and for those without.
///
/// Two sets, because tools repeat their words and reviewers do not: what proves a match for one proves little for the
/// other.
#[derive(Clone, Debug, PartialEq)]
pub struct Scorer {
    /// Used where both sides name a rule.
    pub tool: Weights,
    /// Used where at least one side names none.
    pub reviewer: Weights,
}

impl Default for Scorer {
    fn default() -> Self {
        Self { tool: TOOL, reviewer: REVIEWER }
    }
}

impl Scorer {
    fn of(&self, a: &Claim, b: &Claim) -> &Weights {
        if a.rule.is_some() && b.rule.is_some() { &self.tool } else { &self.reviewer }
    }
}

/// A pair that could be one finding, with its features. Public for the fitting of weights.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Index in the earlier report.
    pub before: usize,
    /// Index in the later report.
    pub after: usize,
    /// Values in the order of `score::NAMES`.
    pub features: [f64; FEATURES],
}

/// Pairs the findings of two reports.
pub fn pair(
    before: &[&Claim],
    after: &[&Claim],
    hints: &Hints<'_>,
    change: &Change,
    read: Read<'_>,
    scorer: &Scorer,
) -> Vec<Pair> {
    pair_with(before, after, hints, change, Anchors::new(read), scorer, false).0
}

/// Pairs as `pair` does, and returns the files that were read, for whoever asks about the rest.
///
/// `blind` says that nothing is known of how the code changed. Then equal words in one file are one finding, wherever
/// their lines went.
pub(super) fn pair_with<'a>(
    before: &'a [&'a Claim],
    after: &'a [&'a Claim],
    hints: &Hints<'_>,
    change: &'a Change,
    anchors: Anchors<'a>,
    scorer: &Scorer,
    blind: bool,
) -> (Vec<Pair>, Anchors<'a>) {
    let mut work = Work::new(before, after, change, anchors);
    work.voices = hints.voices.clone().unwrap_or_else(|| Voices::of_reports(before, after));
    let mut pairs = work.exact(hints);
    if blind {
        pairs.extend(work.same_words());
    }
    let edge = |c: &Candidate| {
        let gain = scorer.of(before[c.before], after[c.after]).gain(&c.features);
        let gain = gain + hints.gain(c.before, c.after) + hints.strange(c) + tie_break(c);
        Edge { left: c.before, right: c.after, gain }
    };
    // Only edges that are worth a pair are kept: a large report has millions of candidates.
    let mut edges: Vec<Edge> = Vec::new();
    let worth = |edge: &Edge| {
        let other = blind && is_of_another(before[edge.left], after[edge.right]);
        // `may` comes last, as it is the most expensive of the three.
        edge.gain > 0.0 && !other && hints.may(edge.left, edge.right)
    };
    work.candidates(&mut |c| edges.extend(Some(edge(&c)).filter(worth)));
    for edge in assign(&edges) {
        let how = work.how(edge.left, edge.right);
        pairs.push(work.take(edge.left, edge.right, edge.gain, how));
    }
    // After the assignment: moved code is weaker evidence, so it only gets what is left.
    pairs.extend(work.moved(hints));
    pairs.sort_by_key(|pair| pair.before);
    (pairs, work.anchors)
}

/// Whether two sentences of one tool differ in what they are about. Without the code nobody can tell that a name was
/// merely changed, so another name is another finding.
fn is_of_another(a: &Claim, b: &Claim) -> bool {
    a.rule.is_some() && b.rule.is_some() && other_subject(&a.claim, &b.claim)
}

/// Every pair that the scorer looks at after exact matching; the data that weights are fitted on.
pub fn candidates(before: &[&Claim], after: &[&Claim], change: &Change, read: Read<'_>) -> Vec<Candidate> {
    let mut work = Work::new(before, after, change, Anchors::new(read));
    work.voices = Voices::of_reports(before, after);
    work.exact(&Hints::default());
    let mut all = Vec::new();
    work.candidates(&mut |candidate| all.push(candidate));
    all
}

/// Prefers the order of the reports among otherwise equal pairs: reports list findings in order.
fn tie_break(candidate: &Candidate) -> f64 {
    -1e-6 * (candidate.before as f64 - candidate.after as f64).abs().min(1_000.0)
}

/// The state of one comparison, step by step from exact matches to leftovers.
struct Work<'a> {
    before: &'a [&'a Claim],
    after: &'a [&'a Claim],
    change: &'a Change,
    anchors: Anchors<'a>,
    free_before: BTreeSet<usize>,
    free_after: BTreeSet<usize>,
    /// What exact matching left over of the earlier report; below, of the later one.
    olds: Leftovers<'a>,
    news: Leftovers<'a>,
    /// Texts of all leftovers, earlier ones first.
    texts: Texts,
    voices: Voices,
}

/// Findings of one report that exact matching left over, prepared for comparison.
#[derive(Default)]
struct Leftovers<'a> {
    /// Position of a finding among these, by its index in the report.
    at: Vec<Option<usize>>,
    spots: Vec<Spot<'a>>,
}

impl<'a> Leftovers<'a> {
    fn new(count: usize, free: &BTreeSet<usize>, spots: Vec<Spot<'a>>) -> Self {
        let mut at = vec![None; count];
        free.iter().enumerate().for_each(|(place, n)| at[*n] = Some(place));
        Self { at, spots }
    }

    fn place(&self, n: usize) -> usize {
        self.at[n].unwrap_or_default()
    }

    fn spot(&self, n: usize) -> &Spot<'a> {
        &self.spots[self.place(n)]
    }
}

impl<'a> Work<'a> {
    fn new(
        before: &'a [&'a Claim],
        after: &'a [&'a Claim],
        change: &'a Change,
        anchors: Anchors<'a>,
    ) -> Self {
        Self {
            before,
            after,
            change,
            anchors,
            // Which ones are free is known when exact matching is done.
            free_before: BTreeSet::new(),
            free_after: BTreeSet::new(),
            olds: Leftovers::default(),
            news: Leftovers::default(),
            texts: Texts::default(),
            voices: Voices::default(),
        }
    }

    fn take(&mut self, before: usize, after: usize, gain: f64, how: How) -> Pair {
        self.free_before.remove(&before);
        self.free_after.remove(&after);
        paired(before, after, gain, how)
    }

    /// How a scored pair was found: two files that the rename map does not connect mean that the code moved.
    fn how(&self, before: usize, after: usize) -> How {
        let old = self.before[before].file.as_deref();
        let stayed = old.is_none_or(|old| self.change.new_path(old) == self.after[after].file.as_deref());
        if stayed { How::Scored } else { How::Moved }
    }

    /// Pairs with the same rule and words at the very line the diff leads to, or about no file at all, in report order.
    ///
    /// Sorted hashes instead of a map, and a count of what is given away, keep a crowd of equal findings linear.
    fn exact(&mut self, hints: &Hints<'_>) -> Vec<Pair> {
        let mut waiting: Vec<(u64, usize, bool)> = Vec::with_capacity(self.after.len());
        for (n, claim) in self.after.iter().enumerate() {
            waiting.push((hash_at(claim, claim.file.as_deref(), claim.line), n, true));
        }
        waiting.sort_unstable();
        // For the first of each hash, how many are given away, so that a crowd is not searched from its start each
        // time.
        let mut given: Vec<usize> = vec![0; waiting.len()];
        let mut found = Vec::new();
        for (n, claim) in self.before.iter().enumerate() {
            let Some((file, line)) = self.kept_place(claim) else { continue };
            let hash = hash_at(claim, file, line);
            let from = waiting.partition_point(|one| one.0 < hash);
            let same = |other: &Claim| {
                (other.line, other.file.as_deref()) == (line, file)
                    && (&other.rule, &other.claim) == (&claim.rule, &claim.claim)
            };
            let free = from + given.get(from).copied().unwrap_or(0);
            let mut alike = waiting[free..].iter_mut().take_while(|one| one.0 == hash);
            if let Some(one) = alike.find(|one| one.2 && same(self.after[one.1]) && hints.may(n, one.1)) {
                one.2 = false;
                found.push((n, one.1));
                given[from] += waiting[free..].iter().take_while(|one| one.0 == hash && !one.2).count();
            }
        }
        // A gain far above any score: an exact match is reported as practically certain.
        let pairs: Vec<Pair> = found.into_iter().map(|(a, b)| paired(a, b, 12.0, How::Exact)).collect();
        let (mut olds, mut news) = (vec![true; self.before.len()], vec![true; self.after.len()]);
        pairs.iter().for_each(|pair| (olds[pair.before], news[pair.after]) = (false, false));
        self.free_before = (0..olds.len()).filter(|n| olds[*n]).collect();
        self.free_after = (0..news.len()).filter(|n| news[*n]).collect();
        pairs
    }

    /// Pairs what has the same rule and words in the same file, in the order of their lines.
    ///
    /// Lines move together, so where one side has more, those stay unpaired that let the others move the least.
    fn same_words(&mut self) -> Vec<Pair> {
        let sorted = |free: &BTreeSet<usize>, claims: &[&'a Claim]| {
            let mut all: Vec<(Words<'a>, u32, usize)> =
                free.iter().map(|n| (words_at(claims[*n]), claims[*n].line.unwrap_or(0), *n)).collect();
            all.sort_unstable();
            all
        };
        let (olds, news) = (sorted(&self.free_before, self.before), sorted(&self.free_after, self.after));
        let (mut olds, mut news) = (olds.as_slice(), news.as_slice());
        let mut pairs = Vec::new();
        while let (Some(old), Some(new)) = (olds.first(), news.first()) {
            let key = old.0.min(new.0);
            let (a, rest) = olds.split_at(olds.partition_point(|one| one.0 == key));
            let (b, others) = news.split_at(news.partition_point(|one| one.0 == key));
            (olds, news) = (rest, others);
            pairs.extend(aligned(a, b));
        }
        pairs.into_iter().map(|(a, b)| self.take(a, b, 6.0, How::Scored)).collect()
    }

    /// Where an earlier finding is now; `None` if its place is gone or changed.
    fn kept_place(&self, claim: &'a Claim) -> Option<(Option<&'a str>, Option<u32>)> {
        let Some(old) = claim.file.as_deref() else { return Some((None, claim.line)) };
        let file = self.change.new_path(old)?;
        match claim.line.map(|line| self.change.map_line(old, line)) {
            Some(Mapped::Kept(line)) => Some((Some(file), Some(line))),
            Some(Mapped::Changed(_)) => None,
            None => Some((Some(file), None)),
        }
    }

    /// Reads anchors and texts of what is left; nothing when one side has nothing left, which saves reading files.
    fn prepare(&mut self) {
        if self.free_before.is_empty() || self.free_after.is_empty() {
            return;
        }
        let old = self.free_before.iter().map(|n| {
            let text = words_of(self.before[*n]);
            let fillers = self.voices.before(*n, &text);
            (text, fillers)
        });
        let new = self.free_after.iter().map(|n| {
            let text = words_of(self.after[*n]);
            let fillers = self.voices.after(*n, &text);
            (text, fillers)
        });
        self.texts = Texts::of_reviews(old.chain(new));
        let mut spots = |side: Side, free: &BTreeSet<usize>, claims: &'a [&'a Claim]| -> Vec<Spot<'a>> {
            free.iter().map(|n| Spot::new(claims[*n], self.anchors.of(side, claims[*n]))).collect()
        };
        let olds = spots(Side::Before, &self.free_before, self.before);
        let news = spots(Side::After, &self.free_after, self.after);
        let moves = Moves::new(self.change, &mut self.anchors, places(&olds), places(&news));
        let olds = olds.into_iter().map(|spot| spot.led(self.change, &moves)).collect();
        let news = news.into_iter().map(|spot| spot.found(self.change)).collect();
        self.olds = Leftovers::new(self.before.len(), &self.free_before, olds);
        self.news = Leftovers::new(self.after.len(), &self.free_after, news);
    }

    /// Calls back for pairs in one file, after the rename map and the moves, or without any file.
    fn candidates(&mut self, found: &mut dyn FnMut(Candidate)) {
        self.prepare();
        if self.news.spots.is_empty() {
            return;
        }
        let mut by_file: BTreeMap<Option<&str>, (Vec<usize>, Vec<usize>)> = BTreeMap::new();
        for n in &self.free_before {
            let file = self.before[*n].file.as_deref();
            let spot = self.olds.spot(*n);
            let moved = spot.moved.as_ref().map(|(file, _)| &**file).or(spot.destination.as_deref());
            // A deleted file has no place in the later tree: only the place its code moved to.
            let place = file.map(|old| self.change.new_path(old)).map_or(Some(None), |new| new.map(Some));
            // Both places are tried, since the code may have been copied rather than moved.
            let other = moved.map(Some).filter(|moved| place != Some(*moved));
            place.into_iter().chain(other).for_each(|file| by_file.entry(file).or_default().0.push(*n));
        }
        for n in &self.free_after {
            by_file.entry(self.after[*n].file.as_deref()).or_default().1.push(*n);
        }
        for (olds, news) in by_file.values().filter(|(olds, news)| !olds.is_empty() && !news.is_empty()) {
            if olds.len() * news.len() <= ALL_PAIRS_MAX {
                olds.iter().for_each(|a| news.iter().for_each(|b| found(self.candidate(*a, *b))));
            } else {
                self.near_ones(olds, news, found);
            }
        }
    }

    /// For many findings in one file: each meets the nearest ones and those with the same words.
    fn near_ones(&self, olds: &[usize], news: &[usize], found: &mut dyn FnMut(Candidate)) {
        let line = |b: usize| self.news.spot(b).anchor.line;
        let mut by_line: Vec<(u32, usize)> = news.iter().filter_map(|b| Some((line(*b)?, *b))).collect();
        by_line.sort_unstable();
        let mut by_words: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        news.iter().for_each(|b| by_words.entry(&self.after[*b].claim).or_default().push(*b));
        for a in olds {
            let mut met: BTreeSet<usize> = BTreeSet::new();
            if let Some(same) = by_words.get(self.before[*a].claim.as_str()) {
                // Of equal words, the ones about as far down the list.
                let at = same.partition_point(|b| b < a).saturating_sub(SAME_WORDS_MAX / 2);
                met.extend(same[at..].iter().take(SAME_WORDS_MAX));
            }
            let spot = self.olds.spot(*a);
            let mapped = spot.mapped.map(|(_, expected)| expected.line);
            for expected in mapped.into_iter().chain(spot.moved.as_ref().map(|(_, line)| f64::from(*line))) {
                let at = by_line.partition_point(|(line, _)| f64::from(*line) < expected);
                let near = |(line, _): &&(u32, usize)| (f64::from(*line) - expected).abs() <= NEAR_LINES;
                met.extend(by_line[at..].iter().take_while(near).take(NEAR_MAX).map(|(_, b)| *b));
                met.extend(by_line[..at].iter().rev().take_while(near).take(NEAR_MAX).map(|(_, b)| *b));
            }
            met.into_iter().for_each(|b| found(self.candidate(*a, b)));
        }
    }

    fn candidate(&self, a: usize, b: usize) -> Candidate {
        let (earlier, later) = (self.olds.place(a), self.olds.spots.len() + self.news.place(b));
        let features = features(
            self.olds.spot(a),
            self.news.spot(b),
            self.texts.cosine(earlier, later),
            self.texts.names_shared(earlier, later),
        );
        Candidate { before: a, after: b, features }
    }

    /// Pairs leftovers whose code moved: removed here, added there, with the same lines around it and words that agree.
    fn moved(&mut self, hints: &Hints<'_>) -> Vec<Pair> {
        if self.news.spots.is_empty() {
            return Vec::new();
        }
        let mut by_line: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for n in self.free_after.iter().filter(|n| self.is_added(**n)) {
            for line in self.news.spot(*n).anchor.context.iter().filter(|line| is_telling(line)) {
                by_line.entry(line).or_default().push(*n);
            }
        }
        let mut edges = Vec::new();
        for a in self.free_before.iter().filter(|n| self.is_removed(**n)) {
            let context = &self.olds.spot(*a).anchor.context;
            let met: BTreeSet<usize> = context
                .iter()
                .filter_map(|line| by_line.get(line.as_str()))
                // A line that is everywhere must not make every finding a candidate.
                .flat_map(|all| all.iter().take(50))
                .copied()
                .collect();
            edges.extend(met.into_iter().filter(|b| hints.may(*a, *b)).map(|b| Edge {
                left: *a,
                right: b,
                gain: self.moved_gain(*a, b) + hints.gain(*a, b),
            }));
        }
        assign(&edges)
            .into_iter()
            .map(|edge| self.take(edge.left, edge.right, edge.gain, How::Moved))
            .collect()
    }

    fn is_added(&self, n: usize) -> bool {
        let (Some(file), Some(line)) = (self.after[n].file.as_deref(), self.news.spot(n).anchor.line) else {
            return false;
        };
        !self.change.existed(file) || self.change.new_hunk(file, line, line, moves::SLACK).is_some()
    }

    fn is_removed(&self, n: usize) -> bool {
        let (Some(file), Some(line)) = (self.before[n].file.as_deref(), self.olds.spot(n).anchor.line) else {
            return false;
        };
        self.change.new_path(file).is_none() || self.change.old_hunk(file, line, line, moves::SLACK).is_some()
    }

    fn moved_gain(&self, a: usize, b: usize) -> f64 {
        // Not fitted: too few labelled moves exist for that. A different rule rules the pair out.
        let f = self.candidate(a, b).features;
        let rules = 1.5 * f[17] - 20.0 * f[18];
        let words = 3.0 * f[13].max(f[TITLE]) + 4.0 * f[12] + 2.0 * f[15] + 1.5 * f[14] - 3.0 * f[19];
        let place = 4.0 * f[9] + f[7] + f[11];
        words + place + rules - MOVE_CUT
    }
}

/// The key of findings with the same words in one file: file, rule, words.
type Words<'a> = (Option<&'a str>, Option<&'a str>, &'a str);

fn words_at(claim: &Claim) -> Words<'_> {
    (claim.file.as_deref(), claim.rule.as_deref(), &claim.claim)
}

/// Pairs each finding of the shorter list with one of the longer, both in order of line, so that each moves the least
/// that those before it allow.
fn aligned(a: &[(Words<'_>, u32, usize)], b: &[(Words<'_>, u32, usize)]) -> Vec<(usize, usize)> {
    if a.len() > b.len() {
        return aligned(b, a).into_iter().map(|(b, a)| (a, b)).collect();
    }
    let mut from = 0;
    let mut pairs = Vec::with_capacity(a.len());
    for (n, (_, line, id)) in a.iter().enumerate() {
        // Enough partners must be left for those that are still to be paired.
        let last = b.len() - (a.len() - n);
        let near = (from..=last).take_while(|at| *at == from || b[*at - 1].1 < *line);
        let at = near.min_by_key(|at| b[*at].1.abs_diff(*line)).unwrap_or(from);
        pairs.push((*id, b[at].2));
        from = at + 1;
    }
    pairs
}

/// What must speak for moved code: several lines and the words.
const MOVE_CUT: f64 = 6.0;

fn paired(before: usize, after: usize, gain: f64, how: How) -> Pair {
    Pair { before, after, score: 1.0 / (1.0 + (-gain).exp()), how }
}

/// One number for a claim's rule and words at a place; equal claims have equal numbers.
fn hash_at(claim: &Claim, file: Option<&str>, line: Option<u32>) -> u64 {
    let texts = [claim.claim.as_str(), claim.rule.as_deref().unwrap_or_default(), file.unwrap_or_default()];
    hash_texts(u64::from(line.unwrap_or(0)), &texts)
}

/// Files and lines of some findings.
fn places<'s>(spots: &'s [Spot<'_>]) -> impl Iterator<Item = (&'s str, Option<u32>)> {
    spots.iter().filter_map(|spot| Some((spot.claim.file.as_deref()?, spot.anchor.line)))
}

/// Whether a line has enough content that many places do not share it by chance.
fn is_telling(line: &str) -> bool {
    line.chars().filter(|c| c.is_alphanumeric()).count() >= 6
}
