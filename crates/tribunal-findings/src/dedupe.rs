//! Decides which findings of one round describe the same defect.
//!
//! The same place is not enough: two defects often sit on one line, and merging them would lose one. A doubtful pair
//! stays two findings, linked as related. A check's finding is never merged with an opinion, and two findings of one
//! reviewer are merged only when they are equal word for word.

use crate::defect::{self, Between, Meaning};
use crate::similar::{Texts, other_subject};
use crate::track::anchor::quoted_names;
use std::collections::{BTreeMap, BTreeSet};
use tribunal_core::finding::{Claim, Source};
use tribunal_core::words::is_one_kind;

/// Findings this many lines apart, or fewer, count as being at the same place.
const SAME_PLACE: u32 = 3;
/// Findings this many lines apart, or fewer, count as near; beyond that they are apart.
const NEAR: u32 = 10;
/// Up to this many claims, every pair is compared. Beyond it, claims without a line are merged only when equal.
const BUCKET_MAX: usize = 400;
/// In a larger file each claim is compared with this many that follow it by line: a crowd must not cost its square.
const CROWD_MAX: usize = 200;

/// How alike two texts must be, after rivals, to mean the same where nothing is known of their places.
pub const SAME_TEXT: f64 = 0.16;
/// How much a better rival takes away: of one reviewer's findings, the one that fits best is the one that is meant.
const RIVAL: f64 = 1.0;

/// How alike two texts of one space are, 0 to 1: half by rare words in common, half by letters in common.
pub fn likeness(texts: &Texts, a: usize, b: usize) -> f64 {
    0.5 * texts.cosine(a, b) + 0.5 * texts.letters(a, b)
}

/// How alike the words of two claims are.
///
/// One sentence about two different names is two findings, however alike the rest is: tools and tidy reviewers repeat a
/// template for every place.
pub fn alike(texts: &Texts, a: (usize, &str), b: (usize, &str)) -> f64 {
    let plain = likeness(texts, a.0, b.0);
    match (names_differ(a.1, b.1), texts.letters(a.0, b.0) > TEMPLATE) {
        (true, true) => 0.0,
        (true, false) => plain - NAMES_DIFFER,
        (false, _) => plain,
    }
}

/// Texts that share more than this part of their letters are one sentence with other names in it.
const TEMPLATE: f64 = 0.55;
/// What differing names take away from texts that are worded freely. Small, because reviewers quote different names of
/// one place.
const NAMES_DIFFER: f64 = 0.03;

/// Whether both texts quote names and share none of them.
fn names_differ(a: &str, b: &str) -> bool {
    let (a, b) = (quoted_names(a), quoted_names(b));
    !a.is_empty() && !b.is_empty() && !a.iter().any(|name| b.contains(name))
}

/// Two findings of different reviewers, with how alike they are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Alike {
    /// Index of one claim.
    pub a: usize,
    /// Index of the other claim.
    pub b: usize,
    /// How alike they are; lowered, even below zero, where a rival fits better.
    pub score: f64,
}

/// Lowers each pair by the lead that a better partner has over it.
///
/// A reviewer says one thing once. If another finding of the same reviewer fits better, this pair is probably a
/// coincidence of words.
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

/// The decision on two findings that were compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// Index of one claim.
    pub a: usize,
    /// Index of the other claim.
    pub b: usize,
    /// How likely it is that both describe one defect, 0 to 1.
    pub score: f64,
    /// They are one finding.
    pub same: bool,
    /// They may describe one defect; both stay, linked to each other.
    pub related: bool,
    /// The reason in words, for people who ask why two findings were merged or kept.
    pub why: String,
}

/// Which claims are one finding, and why.
///
/// Both are needed: triage merges by `firsts` and links what is related by `pairs`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    /// For every claim, the first claim it is one finding with; its own index when none before it says the same.
    pub firsts: Vec<usize>,
    /// The pairs that were compared. Exact repetitions are not among them.
    pub pairs: Vec<Compared>,
}

/// Groups the claims that are one finding; every index is in exactly one group, groups in order of first index.
pub fn groups(claims: &[(&Source, &Claim)]) -> Vec<Vec<usize>> {
    decide(claims, &|_, _| false).groups()
}

impl Decision {
    /// The findings, each with its claims; every claim is in exactly one of them.
    pub fn groups(&self) -> Vec<Vec<usize>> {
        let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (at, first) in self.firsts.iter().enumerate() {
            groups.entry(*first).or_default().push(at);
        }
        groups.into_values().collect()
    }
}

/// Decides which claims are one finding.
///
/// `apart` forbids a merge whatever the texts say; triage uses it to keep what two owners of fields say apart. Pairs
/// are joined most certain first, so that a doubtful one cannot take a member away from a better one.
pub fn decide(claims: &[(&Source, &Claim)], apart: &dyn Fn(usize, usize) -> bool) -> Decision {
    let mut joined = Joined::new(claims, apart);
    joined.exact();
    // A single reviewer repeats nobody, so only exact repetitions can be merged.
    if claims.windows(2).any(|pair| pair[0].0 != pair[1].0) {
        for bucket in buckets(claims) {
            joined.alike(&bucket);
        }
    }
    let group = joined.group;
    // Only now are the groups final: a later join may have made one finding of a pair that was merely related.
    for pair in &mut joined.pairs {
        pair.same = group[pair.a] == group[pair.b];
        pair.related &= !pair.same;
    }
    Decision { pairs: joined.pairs, firsts: group }
}

/// Buckets of claims that could be one finding: same file, or no file at all.
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
    // A claim without a file may be about any file, so it meets everything, as long as there is little enough to
    // compare.
    if !anywhere.is_empty() && claims.len() <= BUCKET_MAX {
        found.push((0..claims.len()).collect());
    } else if anywhere.len() > 1 && several(&anywhere) {
        found.push(anywhere);
    }
    found
}

/// The groups while they grow: a union-find whose root is the first member, with the members at hand.
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

    /// Whether anything but their words forbids that these are one finding.
    fn may(&self, a: usize, b: usize) -> bool {
        is_one_kind([self.claims[a].0, self.claims[b].0].into_iter()) && !(self.apart)(a, b)
    }

    /// Merges what is equal word for word at the same place, whoever says it.
    fn exact(&mut self) {
        // Sorted by hash instead of compared pairwise: a report may hold the same line a hundred thousand times.
        let mut order: Vec<(u64, usize)> =
            self.claims.iter().enumerate().map(|(at, (_, claim))| (hash_of(claim), at)).collect();
        order.sort_unstable();
        let mut from = 0;
        while from < order.len() {
            let same = order[from..].partition_point(|one| one.0 == order[from].0);
            // Equal hashes are not equal texts, so each is compared with the first of every wording; hardly ever more
            // than one.
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

    /// The members of the group with this first claim.
    fn members<'m>(&'m self, first: &'m usize) -> &'m [usize] {
        self.members.get(first).map_or(std::slice::from_ref(first), Vec::as_slice)
    }

    /// Makes one group of two; the lower index stays its first member, whatever the order of joins.
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

    /// Joins what different reviewers say of one defect, the most certain pair first.
    fn alike(&mut self, bucket: &[usize]) {
        let mut pairs = self.compared(bucket);
        // Ties are broken by index: equal odds must not leave the result to the sort.
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

    /// Every pair of different reviewers that is not far apart, with how far its score is above the limit.
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
                // Sorted by line: in a large bucket nothing after this can be near. A long range may hide a near one;
                // that is accepted.
                if !small && (one.line.is_none() || is_far(one, other)) {
                    break;
                }
                if from_a == from_b || !may_be_one((from_a, one), (from_b, other)) {
                    continue;
                }
                // Letters and names are compared only where the places say nothing: that is the costly half.
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

    /// Whether two groups may become one.
    ///
    /// A reviewer has one voice in a group, no member is far from the others, and no two members plainly describe
    /// different defects. Without this, A like B and B like C would chain A and C together.
    fn may_join(&self, a: usize, b: usize, odds: &BTreeMap<(usize, usize), f64>) -> bool {
        let (a, b) = (self.members(&self.group[a]), self.members(&self.group[b]));
        let voices: BTreeSet<&Source> = a.iter().map(|at| self.claims[*at].0).collect();
        let fits = |x: usize, y: usize| {
            self.may(x, y)
                && may_be_one(self.claims[x], self.claims[y])
                // A pair that was never compared says nothing against the group.
                && odds.get(&(x.min(y), x.max(y))).is_none_or(|odds| *odds >= -COMPANY)
        };
        b.iter().all(|y| !voices.contains(self.claims[*y].0) && a.iter().all(|x| fits(*x, *y)))
    }
}

/// How far below the limit two members of a group may be, where other members speak for it.
const COMPANY: f64 = 2.0;

/// Weighs one pair: how far its score is above the limit, and the decision in words. `alike` is how alike the words
/// are; it is given only where the places say nothing.
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
        // Names tell findings apart where the place does not, so here the words themselves must be alike, too.
        Some(alike) => (10.0 * (alike - needed(one, other))).min(odds + rule - defect::DOUBT),
        None => odds + rule - defect::SAME,
    };
    // One sentence about two names, or about two things, is two findings; below `-COMPANY` no group can join them
    // either.
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

/// Texts that share more than this part of their words are one sentence with other names in it.
const TEMPLATE_WORDS: f64 = 0.7;
/// Log-odds that the same rule adds.
const SAME_RULE: f64 = 2.0;

/// Lines between two claims; `None` unless both have a place. A shared section counts as two lines.
pub fn lines_apart(a: &Claim, b: &Claim) -> Option<u32> {
    match (a.line, b.line) {
        (Some(x), Some(y)) => {
            let (x_end, y_end) = (a.end.unwrap_or(x), b.end.unwrap_or(y));
            Some(x.max(y).saturating_sub(x_end.min(y_end)))
        }
        // Nobody knows how far apart in the section they are: near, but not on the same line.
        _ if a.section.is_some() && a.section == b.section => Some(2),
        _ => None,
    }
}

/// A claim's words and place as one number; equal claims have equal numbers.
fn hash_of(claim: &Claim) -> u64 {
    let place = mixed(u64::from(claim.line.unwrap_or(0)), u64::from(claim.end.unwrap_or(0)));
    let (file, rule) = (claim.file.as_deref().unwrap_or_default(), claim.rule.as_deref().unwrap_or_default());
    hash_texts(place, &[&claim.claim, file, rule])
}

/// Several texts in a row as one number. Not a cryptographic hash: whoever uses it compares the texts, too.
pub(crate) fn hash_texts(mut hash: u64, texts: &[&str]) -> u64 {
    for text in texts {
        for chunk in text.as_bytes().chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            hash = mixed(hash, u64::from_le_bytes(word));
        }
        // The length keeps "ab" + "c" apart from "a" + "bc".
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

/// The words a claim is compared by: its title, and the beginning of its details where the title is short.
pub(crate) fn words_of(claim: &Claim) -> String {
    // `get` fails inside a character; then the whole details are taken, which is rare and harmless.
    let details = claim.details.get(..400).unwrap_or(&claim.details);
    format!("{} {}", claim.claim, if claim.claim.len() < 160 { details } else { "" })
}

/// How alike two claims must be to be one finding, given their places.
fn needed(a: &Claim, b: &Claim) -> f64 {
    let needed = match places(a, b) {
        Places::Same => SAME_TEXT - 0.03,
        Places::Near => SAME_TEXT + 0.02,
        Places::Vague => SAME_TEXT + 0.06,
        Places::Apart => return f64::INFINITY,
    };
    if a.rule.is_some() && a.rule == b.rule { needed / 2.0 } else { needed }
}

/// Whether two claims of different reviewers describe the same defect. Triage asks this of a field's owner.
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

/// Whether two claims can be one finding, judging by their places alone.
///
/// Tools know their lines exactly, so two of them can mean one thing only where their lines overlap; reviewers are
/// often a few lines off.
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

/// How the places of two claims relate. Two different files are apart; a missing file or line makes the answer vague.
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
