//! Decides whether two descriptions of one place are of the same defect.
//!
//! Different defects of a place share its names and its quoted code, so those are left out. What is compared is what is
//! wrong: words by their rarity in technical English, kinds of defects by the many ways of naming them, and the kinds
//! that all words of a description point at together. Different severities speak against a pair, equal ones say
//! nothing. Neither confidence nor the author is looked at.
//!
//! The weights are fitted by `cargo xtask eval-dedupe`. Whoever changes a feature or a table has to fit them again.

mod lexicon;

use crate::similar::{common, grams};
use lexicon::{Lexicon, RAREST, stem};
use std::collections::{BTreeMap, BTreeSet};

/// Only this many bytes of a text are read: the rest says no more about which defect is meant.
const READ_MAX: usize = 600;

/// What a plainly named kind adds to what the words point at.
const NAMED: f64 = 6.0;
/// How much must point at one kind for a description to be surely about it. Words that point at everything a little
/// make texts alike that merely share them, so a less certain description gets a shorter vector.
const SURE: f64 = 20.0;
/// A kind that is pointed at by less than this does not change a comparison, and is left out to keep vectors short.
const FAINT: f64 = 0.005;

/// What a description says, in the form in which descriptions are compared.
///
/// Build it once for each claim: reading a text is expensive, comparing two meanings is cheap.
#[derive(Clone, Debug, Default)]
pub struct Meaning {
    /// Stems, each with its rarity.
    words: BTreeMap<String, f64>,
    /// Kinds of defects, and how plainly each is named.
    kinds: BTreeMap<usize, f64>,
    /// Kinds that the words point at, in order, as a vector of length one; shorter where it is not certain.
    about: Vec<(usize, f64)>,
    /// Things that defects are about, such as a secret or a session. They link two descriptions but name no defect.
    things: BTreeSet<usize>,
    /// Hashes of letter runs of the words, sorted.
    letters: Vec<u32>,
}

/// What is known of two descriptions beside their words.
#[derive(Clone, Copy, Debug, Default)]
pub struct Between {
    /// Lines between them, where both have a place.
    pub apart: Option<u32>,
    /// Steps between their severities. Reviewers often differ by one step, but whoever calls a thing a blocker and
    /// whoever calls it a suggestion seldom mean the same thing.
    pub steps: u8,
}

/// Number of features that the comparison of two descriptions looks at.
pub const FEATURES: usize = 14;

/// Names of the features, in their order, for whoever fits them.
pub const NAMES: [&str; FEATURES] = [
    "bias",
    "words",
    "letters",
    "other words",
    "other kinds",
    "about",
    "things",
    "same line",
    "1 apart",
    "2 apart",
    "3 apart",
    "further",
    "one step",
    "two steps",
];

/// Weights of the features, fitted by `cargo xtask eval-dedupe` on descriptions of the same and of different defects at
/// one place.
pub const WEIGHTS: [f64; FEATURES] =
    [-1.8, 0.2, 0.7, 0.8, -1.2, 8.0, 0.4, 1.5, 0.6, 0.2, -1.5, -2.6, -1.5, -3.2];

/// Log-odds from which two descriptions count as the same defect. Above zero on purpose: a merge hides a finding, a
/// missed merge only shows one twice.
pub const SAME: f64 = 1.6;
/// Log-odds from which it is in doubt; such a pair stays two findings, linked as related.
pub const DOUBT: f64 = 0.0;

impl Meaning {
    /// Reads a description.
    ///
    /// Phrases of the lexicon are taken longest first, and their words count as words all the same.
    pub fn of(text: &str) -> Meaning {
        let text = text.get(..READ_MAX).unwrap_or_else(|| &text[..text.floor_char_boundary(READ_MAX)]);
        let bare = without_code(text);
        let mut tokens = tokens(&bare);
        // Some descriptions are nothing but a quotation; then the quoted code is all there is to compare.
        if tokens.len() < 2 {
            tokens = self::tokens(&text.replace('`', " "));
        }
        let lexicon = Lexicon::get();
        let stems: Vec<String> = tokens.iter().map(|token| stem(token)).collect();
        let mut meaning = Meaning::default();
        let mut at = 0;
        while at < stems.len() {
            let Some((length, kinds)) = lexicon.longest(&stems[at..]) else {
                meaning.word(&tokens[at], &stems[at]);
                at += 1;
                continue;
            };
            for kind in kinds {
                meaning.kind(*kind, length);
            }
            (at..at + length).for_each(|n| meaning.word(&tokens[n], &stems[n]));
            at += length;
        }
        let all: BTreeSet<&str> = stems.iter().map(String::as_str).collect();
        // Words that mean a kind together, in any order, count as plainly as a phrase of two.
        lexicon.together(&all).for_each(|kind| meaning.kind(kind, 2));
        meaning.about = meaning.pointed();
        let words: Vec<&str> = meaning.words.keys().map(String::as_str).collect();
        let mut letters: Vec<u32> =
            // Marked at both ends, so that beginnings and endings of words count as such.
            words.iter().flat_map(|word| grams(&format!("^{word}$"), 4, 60)).collect();
        letters.sort_unstable();
        letters.dedup();
        meaning.letters = letters;
        meaning
    }

    fn word(&mut self, token: &str, stem: &str) {
        if token.len() > 1 && !lexicon::is_filler(token) {
            self.words.insert(stem.to_owned(), Lexicon::get().rarity(stem));
        }
    }

    fn kind(&mut self, kind: usize, length: usize) {
        if Lexicon::get().is_thing(kind) {
            self.things.insert(kind);
        } else {
            // A single word has other meanings more often than a phrase has.
            let plainly = if length > 1 { 1.0 } else { 0.8 };
            let known = self.kinds.entry(kind).or_insert(0.0);
            *known = known.max(plainly);
        }
    }

    /// Kinds that all words point at together. Squared, so that the few kinds most words agree on stand out.
    fn pointed(&self) -> Vec<(usize, f64)> {
        let lexicon = Lexicon::get();
        let mut about: BTreeMap<usize, f64> = BTreeMap::new();
        let words = self.words.keys().flat_map(|word| lexicon.points(word)).copied();
        for (kind, weight) in words.chain(self.kinds.iter().map(|(kind, plainly)| (*kind, NAMED * plainly))) {
            *about.entry(kind).or_default() += weight;
        }
        let length = about.values().map(|weight| weight.powi(4)).sum::<f64>().sqrt();
        let sure = (about.values().copied().fold(0.0, f64::max) / SURE).min(1.0);
        let squared = about.into_iter().map(|(kind, weight)| (kind, sure * weight * weight / length));
        squared.filter(|(_, weight)| *weight > FAINT).collect()
    }
}

/// How far two vectors point the same way, and the kind they agree on most.
fn agreement(a: &[(usize, f64)], b: &[(usize, f64)]) -> (f64, Option<usize>) {
    let (mut all, mut most) = (0.0, (0.0, None));
    let mut rest = b.iter().peekable();
    for (kind, x) in a {
        while rest.next_if(|(other, _)| other < kind).is_some() {}
        if let Some((_, y)) = rest.next_if(|(other, _)| other == kind) {
            all += x * y;
            if x * y > most.0 {
                most = (x * y, Some(*kind));
            }
        }
    }
    (all, most.1)
}

/// What speaks for and against two descriptions being of one defect, in the order of `NAMES`.
pub fn features(a: &Meaning, b: &Meaning, between: Between) -> [f64; FEATURES] {
    let lexicon = Lexicon::get();
    let length = |all: &BTreeMap<String, f64>| all.values().map(|weight| weight * weight).sum::<f64>().sqrt();
    let shared: Vec<(&String, f64)> =
        a.words.iter().filter(|(word, _)| b.words.contains_key(*word)).map(|(word, w)| (word, *w)).collect();
    let squares: f64 = shared.iter().map(|(_, weight)| weight * weight).sum();
    // A text may have no word that counts, and then its length is zero.
    let words = squares / (length(&a.words) * length(&b.words)).max(1.0);
    let plain = |word: &str| !lexicon.is_telling(word) && !lexicon.names_a_thing(word);
    let other: f64 = shared.iter().filter(|(word, _)| plain(word)).map(|(_, weight)| weight).sum();
    // Capped at two rare words: more of them say nothing new.
    let other = (other / RAREST).min(2.0) / 2.0;
    let both = a.letters.len() + b.letters.len();
    let letters = 2.0 * common(&a.letters, &b.letters) as f64 / both.max(1) as f64;
    let (_, conflict) = kinds(a, b);
    let things = a.things.intersection(&b.things).count().min(2) as f64 / 2.0;
    let flag = |yes: bool| f64::from(u8::from(yes));
    let at = |lines: u32| flag(between.apart == Some(lines));
    // An unknown distance gets none of these: it may be two lines, or more.
    let further = flag(between.apart.is_some_and(|apart| apart > 3));
    [
        1.0,
        words,
        letters,
        other,
        flag(conflict),
        agreement(&a.about, &b.about).0,
        things,
        at(0),
        at(1),
        at(2),
        at(3),
        further,
        flag(between.steps == 1),
        flag(between.steps > 1),
    ]
}

/// How alike the kinds of defects are that two descriptions name, and whether both name some and share none.
pub fn kinds(a: &Meaning, b: &Meaning) -> (f64, bool) {
    if a.kinds.is_empty() || b.kinds.is_empty() {
        return (0.0, false);
    }
    let norm = |x: &Meaning| x.kinds.values().map(|weight| weight.powi(2)).sum::<f64>().sqrt();
    let same: Vec<usize> = a.kinds.keys().filter(|kind| b.kinds.contains_key(kind)).copied().collect();
    let product: f64 = same.iter().map(|kind| a.kinds[kind] * b.kinds[kind]).sum();
    let likeness = if same.is_empty() { 0.0 } else { product / (norm(a) * norm(b)) };
    (likeness, same.is_empty())
}

/// Log-odds that two descriptions are of the same defect; compare with `SAME` and `DOUBT`.
pub fn log_odds(a: &Meaning, b: &Meaning, between: Between) -> f64 {
    weighed(&features(a, b, between))
}

/// The features as one number: their sum by weight.
pub(crate) fn weighed(features: &[f64; FEATURES]) -> f64 {
    features.iter().zip(WEIGHTS).map(|(value, weight)| value * weight).sum()
}

/// What two descriptions have in common, in words for people.
pub fn shared(a: &Meaning, b: &Meaning) -> String {
    let lexicon = Lexicon::get();
    let kinds = a.kinds.keys().filter(|kind| b.kinds.contains_key(kind)).map(|kind| lexicon.name(*kind));
    let mut kinds: Vec<&str> = kinds.collect();
    // Nothing is named by both: name what most of their words point at, if they agree on it.
    let (agreed, most) = agreement(&a.about, &b.about);
    if kinds.is_empty() && agreed >= TOLD {
        kinds.extend(most.map(|kind| lexicon.name(kind)));
    }
    let words = a.words.keys().filter(|word| b.words.contains_key(*word)).map(String::as_str);
    let words: Vec<&str> = words.collect();
    match (kinds.is_empty(), words.is_empty()) {
        (true, true) => "nothing in common".to_owned(),
        (true, false) => format!("in common: {}", words.join(", ")),
        (false, true) => format!("both name {}", kinds.join(", ")),
        (false, false) => format!("both name {}; in common: {}", kinds.join(", "), words.join(", ")),
    }
}

/// How far two descriptions must agree on their subject for the report to say so.
const TOLD: f64 = 0.3;

/// A text without the code it quotes. An unclosed quotation runs to the end.
fn without_code(text: &str) -> String {
    text.split('`').step_by(2).collect::<Vec<_>>().join(" ")
}

/// Words in lower case, parts of names, names as a whole, and the comparing signs of code.
fn tokens(text: &str) -> Vec<String> {
    let mut found = parts(text);
    let names = pieces(text).flat_map(|piece| piece.split(['=', '!']));
    found.extend(names.filter(|word| humps(word).len() > 1).map(str::to_lowercase));
    found
}

/// The tokens of a text without the names as a whole; the lexicon is read this way, too.
fn parts(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for piece in pieces(text) {
        // A wrong comparison is a defect of its own kind, so these signs count as words.
        if matches!(piece, "==" | "===" | "!=") {
            found.push(piece.to_owned());
            continue;
        }
        found.extend(piece.split(['=', '!']).flat_map(humps).map(str::to_lowercase));
    }
    found
}

fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let edge = |c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '=' || c == '!');
    text.split(edge).filter(|piece| !piece.is_empty())
}

/// Splits a name at humps and underscores: `SecureRandom` → Secure, Random; `read_all` → read, all.
fn humps(word: &str) -> Vec<&str> {
    let bytes = word.as_bytes();
    let edges =
        (1..bytes.len()).filter(|n| bytes[n - 1].is_ascii_lowercase() && bytes[*n].is_ascii_uppercase());
    let mut parts = Vec::new();
    let mut from = 0;
    for edge in edges.chain([bytes.len()]) {
        parts.extend(word[from..edge].split('_').filter(|part| !part.is_empty()));
        from = edge;
    }
    parts
}

#[cfg(test)]
mod tests;
