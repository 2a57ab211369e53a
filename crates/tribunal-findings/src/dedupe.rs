//! Which findings describe the same defect. The same place is not enough: what is in doubt stays two findings, linked as
//! related. A check's finding is never merged with an opinion, and two findings of one reviewer are merged only when they
//! are word for word the same.

use crate::defect::{self, Between, Meaning};
use crate::similar::{Texts, other_subject};
use crate::track::anchor::quoted_names;
use std::collections::{BTreeMap, BTreeSet};
use tribunal_core::finding::{Claim, Source};
use tribunal_core::words::is_one_kind;

/// Lines apart that still count as one place, and as near.
const SAME_PLACE: u32 = 3;
const NEAR: u32 = 10;
/// More findings than this without a line in one file are compared by their words alone being equal.
const BUCKET_MAX: usize = 400;
/// In a file with more than that, so many after each in order of line are compared: a crowd must not cost its square.
const CROWD_MAX: usize = 200;

/// How alike two texts must be, after rivals, to say the same when nothing is known of their places.
pub const SAME_TEXT: f64 = 0.16;
/// How much a better rival takes away: the one finding of a reviewer that fits best is the one that is meant.
const RIVAL: f64 = 1.0;

/// How alike two texts of one space are, 0 to 1: words by their rarity, and letters.
pub fn likeness(texts: &Texts, a: usize, b: usize) -> f64 {
    0.5 * texts.cosine(a, b) + 0.5 * texts.letters(a, b)
}

/// Likeness of two claims' words. One sentence about two different names is two findings, however alike.
pub fn alike(texts: &Texts, a: (usize, &str), b: (usize, &str)) -> f64 {
    let plain = likeness(texts, a.0, b.0);
    match (names_differ(a.1, b.1), texts.letters(a.0, b.0) > TEMPLATE) {
        (true, true) => 0.0,
        (true, false) => plain - NAMES_DIFFER,
        (false, _) => plain,
    }
}

/// Texts with this share of letters in common are one sentence with other names in it.
const TEMPLATE: f64 = 0.55;
/// What differing names take away from texts that are worded freely.
const NAMES_DIFFER: f64 = 0.03;

/// Both texts quote names, and none in common.
fn names_differ(a: &str, b: &str) -> bool {
    let (a, b) = (quoted_names(a), quoted_names(b));
    !a.is_empty() && !b.is_empty() && !a.iter().any(|name| b.contains(name))
}

/// A pair of findings of different reviewers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Alike {
    /// One.
    pub a: usize,
    /// The other.
    pub b: usize,
    /// How alike.
    pub score: f64,
}

/// Takes off each pair what a better partner of either side, by the other's reviewer, has over it.
pub fn less_rivals<S: Ord + Copy>(pairs: &[Alike], voice: impl Fn(usize) -> S) -> Vec<Alike> {
    let mut best: BTreeMap<(usize, S), f64> = BTreeMap::new();
    for pair in pairs {
        for key in [(pair.a, voice(pair.b)), (pair.b, voice(pair.a))] {
            let slot = best.entry(key).or_insert(0.0);
            *slot = slot.max(pair.score);
        }
    }
    let rival = |pair: &Alike| best[&(pair.a, voice(pair.b))].max(best[&(pair.b, voice(pair.a))]);
    pairs
        .iter()
        .map(|pair| Alike { score: pair.score - RIVAL * (rival(pair) - pair.score), ..*pair })
        .collect()
}

/// How two findings' places relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Places {
    Same,
    Near,
    /// One side has no line, or no file.
    Vague,
    Apart,
}

/// What was decided of two findings that were compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// One.
    pub a: usize,
    /// The other.
    pub b: usize,
    /// How sure it is that both are of one defect, 0 to 1.
    pub score: f64,
    /// They are one finding.
    pub same: bool,
    /// They may be of one defect; both stay.
    pub related: bool,
    /// Why, in words.
    pub why: String,
}

/// Which claims are one finding, and why.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    /// For every claim the first one it is one finding with; itself, when none before it says the same.
    pub firsts: Vec<usize>,
    /// Pairs that were compared, as far as they were asked for.
    pub pairs: Vec<Compared>,
}

/// Groups the claims that are one finding; every index is in exactly one group, groups in order of first index.
pub fn groups(claims: &[(&Source, &Claim)]) -> Vec<Vec<usize>> {
    decide(claims, &|_, _| false).groups()
}

impl Decision {
    /// The findings, each with its claims; every claim is in exactly one.
    pub fn groups(&self) -> Vec<Vec<usize>> {
        let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (at, first) in self.firsts.iter().enumerate() {
            groups.entry(*first).or_default().push(at);
        }
        groups.into_values().collect()
    }
}

/// Decides which claims are one finding. `apart` says of two that they may not be, whatever they say.
pub fn decide(claims: &[(&Source, &Claim)], apart: &dyn Fn(usize, usize) -> bool) -> Decision {
    let mut joined = Joined::new(claims, apart);
    joined.exact();
    // One voice alone repeats nobody.
    if claims.windows(2).any(|pair| pair[0].0 != pair[1].0) {
        for bucket in buckets(claims) {
            joined.alike(&bucket);
        }
    }
    let group = joined.group;
    for pair in &mut joined.pairs {
        pair.same = group[pair.a] == group[pair.b];
        pair.related &= !pair.same;
    }
    Decision { pairs: joined.pairs, firsts: group }
}

/// Claims that could be one finding: same file, or no file at all.
fn buckets(claims: &[(&Source, &Claim)]) -> Vec<Vec<usize>> {
    let mut by_file: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let mut anywhere = Vec::new();
    for (at, (_, claim)) in claims.iter().enumerate() {
        match claim.file.as_deref() {
            Some(file) => by_file.entry(file).or_default().push(at),
            None => anywhere.push(at),
        }
    }
    let several = |bucket: &Vec<usize>| bucket.iter().any(|at| claims[*at].0 != claims[bucket[0]].0);
    let mut found: Vec<Vec<usize>> = by_file.into_values().filter(several).collect();
    // What names no file may be what another says of any file, when there are few enough to compare.
    if !anywhere.is_empty() && claims.len() <= BUCKET_MAX {
        found.push((0..claims.len()).collect());
    } else if anywhere.len() > 1 && several(&anywhere) {
        found.push(anywhere);
    }
    found
}

struct Joined<'a> {
    claims: &'a [(&'a Source, &'a Claim)],
    apart: &'a dyn Fn(usize, usize) -> bool,
    meanings: BTreeMap<usize, Meaning>,
    pairs: Vec<Compared>,
    /// The first member of each claim's group.
    group: Vec<usize>,
    /// Members of a group by its first one; nothing while a claim is alone.
    members: BTreeMap<usize, Vec<usize>>,
}

impl<'a> Joined<'a> {
    fn new(claims: &'a [(&'a Source, &'a Claim)], apart: &'a dyn Fn(usize, usize) -> bool) -> Self {
        let (meanings, pairs, members) = (BTreeMap::new(), Vec::new(), BTreeMap::new());
        Self { claims, apart, meanings, pairs, group: (0..claims.len()).collect(), members }
    }

    /// Nothing but their words can keep these from being one finding.
    fn may(&self, a: usize, b: usize) -> bool {
        is_one_kind([self.claims[a].0, self.claims[b].0].into_iter()) && !(self.apart)(a, b)
    }

    /// Word for word the same at the same place: one finding, whichever reviewer says it.
    fn exact(&mut self) {
        let mut order: Vec<(u64, usize)> =
            self.claims.iter().enumerate().map(|(at, (_, claim))| (hash_of(claim), at)).collect();
        order.sort_unstable();
        let mut from = 0;
        while from < order.len() {
            let same = order[from..].partition_point(|one| one.0 == order[from].0);
            // Of one hash, compared with the first of each wording: hardly ever more than one.
            let mut wordings: Vec<Vec<usize>> = Vec::new();
            for (_, at) in order[from..from + same].iter().skip(usize::from(same == 1)) {
                let known = |all: &&mut Vec<usize>| {
                    is_verbatim(self.claims[all[0]].1, self.claims[*at].1)
                        && all.iter().all(|other| self.may(*other, *at))
                };
                match wordings.iter_mut().find(known) {
                    Some(all) => all.push(*at),
                    None => wordings.push(vec![*at]),
                }
            }
            for all in wordings.into_iter().filter(|all| all.len() > 1) {
                all.iter().for_each(|at| self.group[*at] = all[0]);
                self.members.insert(all[0], all);
            }
            from += same;
        }
    }

    /// The members of the group that has this first one.
    fn members<'m>(&'m self, first: &'m usize) -> &'m [usize] {
        self.members.get(first).map_or(std::slice::from_ref(first), Vec::as_slice)
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.group[a], self.group[b]);
        if a == b {
            return;
        }
        let (to, from) = (a.min(b), a.max(b));
        let moved = self.members.remove(&from).unwrap_or_else(|| vec![from]);
        moved.iter().for_each(|at| self.group[*at] = to);
        self.members.entry(to).or_insert_with(|| vec![to]).extend(moved);
    }

    /// Joins what different reviewers say of one defect, the surest first.
    fn alike(&mut self, bucket: &[usize]) {
        let mut pairs = self.compared(bucket);
        pairs.sort_by(|x, y| y.0.total_cmp(&x.0).then((x.1.a, x.1.b).cmp(&(y.1.a, y.1.b))));
        let odds: BTreeMap<(usize, usize), f64> =
            pairs.iter().map(|(odds, pair)| ((pair.a.min(pair.b), pair.a.max(pair.b)), *odds)).collect();
        for (_, pair) in pairs.iter().filter(|(odds, _)| *odds >= 0.0) {
            if self.may_join(pair.a, pair.b, &odds) {
                self.join(pair.a, pair.b);
            }
        }
        self.pairs.extend(pairs.into_iter().map(|(_, pair)| pair));
    }

    /// Every pair of different reviewers that is not far apart, with how far it is beyond what is needed.
    fn compared(&mut self, bucket: &[usize]) -> Vec<(f64, Compared)> {
        let words: Vec<String> = bucket.iter().map(|at| words_of(self.claims[*at].1)).collect();
        let mut order: Vec<usize> = (0..bucket.len()).collect();
        order.sort_by_key(|n| (self.claims[bucket[*n]].1.line, &self.claims[bucket[*n]].1.claim));
        let small = bucket.len() <= BUCKET_MAX;
        let mut texts: Option<Texts> = None;
        let mut pairs = Vec::new();
        for (n, i) in order.iter().enumerate() {
            let reach = if small { order.len() } else { CROWD_MAX };
            for j in order[n + 1..].iter().take(reach) {
                let (a, b) = (bucket[*i], bucket[*j]);
                let ((from_a, one), (from_b, other)) = (self.claims[a], self.claims[b]);
                // Sorted by line: a large bucket has nothing more for this one (a long range may hide a near one).
                if !small && (one.line.is_none() || is_far(one, other)) {
                    break;
                }
                if from_a == from_b || !may_be_one((from_a, one), (from_b, other)) {
                    continue;
                }
                let ours = places(one, other) == Places::Vague;
                let alike = ours.then(|| {
                    let texts = texts.get_or_insert_with(|| Texts::with_letters(&words));
                    alike(texts, (*i, &words[*i]), (*j, &words[*j]))
                });
                for (at, text) in [(a, &words[*i]), (b, &words[*j])] {
                    self.meanings.entry(at).or_insert_with(|| Meaning::of(text));
                }
                pairs.push(weighed((a, b), (one, other), (&self.meanings[&a], &self.meanings[&b]), alike));
            }
        }
        pairs
    }

    /// One reviewer has one voice in a group, nobody in it is far from the others, and no two of it are plainly of
    /// different defects.
    fn may_join(&self, a: usize, b: usize, odds: &BTreeMap<(usize, usize), f64>) -> bool {
        let (a, b) = (self.members(&self.group[a]), self.members(&self.group[b]));
        let voices: BTreeSet<&Source> = a.iter().map(|at| self.claims[*at].0).collect();
        let fits = |x: usize, y: usize| {
            self.may(x, y)
                && may_be_one(self.claims[x], self.claims[y])
                && odds.get(&(x.min(y), x.max(y))).is_none_or(|odds| *odds >= -COMPANY)
        };
        b.iter().all(|y| !voices.contains(self.claims[*y].0) && a.iter().all(|x| fits(*x, *y)))
    }
}

/// How far below what is needed two of a group may be, where others speak for it.
const COMPANY: f64 = 2.0;

/// One pair: how far it is beyond what is needed, and what is said of it. `alike`: how alike the words are, where the places
/// say nothing.
fn weighed(
    (a, b): (usize, usize),
    (one, other): (&Claim, &Claim),
    (x, y): (&Meaning, &Meaning),
    alike: Option<f64>,
) -> (f64, Compared) {
    let apart = lines_apart(one, other);
    let steps = (one.severity as u8).abs_diff(other.severity as u8);
    let features = defect::features(x, y, Between { apart, steps });
    let odds = defect::weighed(&features);
    let rule = if one.rule.is_some() && one.rule == other.rule { SAME_RULE } else { 0.0 };
    let beyond = match alike {
        // Names tell findings apart where the place does not, so the words must be alike as they stand, too.
        Some(alike) => (10.0 * (alike - needed(one, other))).min(odds + rule - defect::DOUBT),
        None => odds + rule - defect::SAME,
    };
    // One sentence about two names, or about two things, is two findings.
    let template = names_differ(&one.claim, &other.claim) && features[1] > TEMPLATE_WORDS;
    let two = template || other_subject(&one.claim, &other.claim);
    let beyond = if two { beyond.min(-COMPANY - 1.0) } else { beyond };
    let score = 1.0 / (1.0 + (-odds - rule).exp());
    let place = match apart {
        Some(0) => "on the same lines".to_owned(),
        Some(apart) => format!("{apart} lines apart"),
        None => "without a place to compare".to_owned(),
    };
    let related = odds + rule >= defect::DOUBT && !two;
    (
        beyond,
        Compared { a, b, score, same: false, related, why: format!("{place}; {}", defect::shared(x, y)) },
    )
}

/// Texts with so much of their words in common are one sentence with other names in it.
const TEMPLATE_WORDS: f64 = 0.7;
/// What the same rule adds.
const SAME_RULE: f64 = 2.0;

/// Lines between two claims, where both have a place.
pub fn lines_apart(a: &Claim, b: &Claim) -> Option<u32> {
    match (a.line, b.line) {
        (Some(x), Some(y)) => {
            let (x_end, y_end) = (a.end.unwrap_or(x), b.end.unwrap_or(y));
            Some(x.max(y).saturating_sub(x_end.min(y_end)))
        }
        _ if a.section.is_some() && a.section == b.section => Some(2),
        _ => None,
    }
}

/// What a claim says and where, as one number; equal claims have equal ones.
fn hash_of(claim: &Claim) -> u64 {
    let place = mixed(u64::from(claim.line.unwrap_or(0)), u64::from(claim.end.unwrap_or(0)));
    let (file, rule) = (claim.file.as_deref().unwrap_or_default(), claim.rule.as_deref().unwrap_or_default());
    hash_texts(place, &[&claim.claim, file, rule])
}

/// Some texts in a row, as one number.
pub(crate) fn hash_texts(mut hash: u64, texts: &[&str]) -> u64 {
    for text in texts {
        for chunk in text.as_bytes().chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            hash = mixed(hash, u64::from_le_bytes(word));
        }
        hash = mixed(hash, text.len() as u64);
    }
    hash
}

fn mixed(hash: u64, value: u64) -> u64 {
    (hash.rotate_left(5) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn is_verbatim(a: &Claim, b: &Claim) -> bool {
    (a.line, a.end) == (b.line, b.end)
        && a.claim == b.claim
        && a.file == b.file
        && a.rule == b.rule
        && a.section == b.section
}

/// The words a claim is compared by.
pub(crate) fn words_of(claim: &Claim) -> String {
    let details = claim.details.get(..400).unwrap_or(&claim.details);
    format!("{} {}", claim.claim, if claim.claim.len() < 160 { details } else { "" })
}

/// How alike two claims must be to be one finding, by their places.
fn needed(a: &Claim, b: &Claim) -> f64 {
    let needed = match places(a, b) {
        Places::Same => SAME_TEXT - 0.03,
        Places::Near => SAME_TEXT + 0.02,
        Places::Vague => SAME_TEXT + 0.06,
        Places::Apart => return f64::INFINITY,
    };
    if a.rule.is_some() && a.rule == b.rule { needed / 2.0 } else { needed }
}

/// Whether two claims of different reviewers are of the same defect.
pub(crate) fn same(a: &Claim, b: &Claim) -> bool {
    let place = places(a, b);
    if place == Places::Apart {
        return false;
    }
    let words = [words_of(a), words_of(b)];
    let alike = (place == Places::Vague).then(|| {
        let texts = Texts::with_letters(&words);
        alike(&texts, (0, &words[0]), (1, &words[1]))
    });
    weighed((0, 1), (a, b), (&Meaning::of(&words[0]), &Meaning::of(&words[1])), alike).0 >= 0.0
}

/// Whether two claims can be one finding by where they are. Two tools that name lines know them exactly: only what they
/// say of the same lines can be.
fn may_be_one((from_a, a): (&Source, &Claim), (from_b, b): (&Source, &Claim)) -> bool {
    let tools = matches!((from_a, from_b), (Source::Check(_), Source::Check(_)));
    match (a.line, b.line) {
        (Some(x), Some(y)) if tools && a.file == b.file => x <= b.end.unwrap_or(y) && y <= a.end.unwrap_or(x),
        _ => places(a, b) != Places::Apart,
    }
}

fn is_far(a: &Claim, b: &Claim) -> bool {
    matches!((a.end.or(a.line), b.line), (Some(end), Some(line)) if line > end.saturating_add(NEAR))
}

fn places(a: &Claim, b: &Claim) -> Places {
    match (&a.file, &b.file) {
        (Some(x), Some(y)) if x != y => return Places::Apart,
        (Some(_), Some(_)) => {}
        _ => return Places::Vague,
    }
    match (a.line, b.line) {
        (Some(x), Some(y)) => {
            let (x_end, y_end) = (a.end.unwrap_or(x), b.end.unwrap_or(y));
            let gap = x.max(y).saturating_sub(x_end.min(y_end));
            match gap {
                0..=SAME_PLACE => Places::Same,
                _ if gap <= NEAR => Places::Near,
                _ => Places::Apart,
            }
        }
        _ if a.section.is_some() && a.section == b.section => Places::Same,
        _ => Places::Vague,
    }
}
