//! Whether two descriptions of one place are of the same defect. Different defects of a place share its names and its
//! quoted code, so those are left out; what is compared is what is wrong: words by their rarity in technical English,
//! and kinds of defects by the many ways of naming them. Never looks at severity, confidence or who speaks.

mod lexicon;

use crate::similar::{common, grams};
use lexicon::{Lexicon, RAREST, stem};
use std::collections::{BTreeMap, BTreeSet};

/// Letters of a text that are read: what is beyond says no more about which defect is meant.
const READ_MAX: usize = 600;

/// What a description says.
#[derive(Clone, Debug, Default)]
pub struct Meaning {
    /// Stems with their rarity.
    words: BTreeMap<String, f64>,
    /// Kinds of defects, and how plainly they are named.
    kinds: BTreeMap<usize, f64>,
    /// Things that defects are about.
    things: BTreeSet<usize>,
    letters: Vec<u32>,
}

/// What the comparison of two descriptions looks at.
pub const FEATURES: usize = 14;

/// Names of the features, for whoever fits them.
pub const NAMES: [&str; FEATURES] = [
    "bias",
    "words",
    "letters",
    "telling words",
    "other words",
    "kinds",
    "other kinds",
    "kind in one",
    "things",
    "same line",
    "1 apart",
    "2 apart",
    "3 apart",
    "further",
];

/// Fitted by `cargo xtask eval-dedupe` on descriptions of the same and of different defects at one place.
pub const WEIGHTS: [f64; FEATURES] =
    [-1.8, 1.2, 2.7, 0.7, 2.1, 3.1, -1.3, -0.4, 1.2, 2.0, 1.2, 0.6, -0.9, -2.9];

/// Log-odds from which two descriptions are of the same defect, and from which that is in doubt.
pub const SAME: f64 = 2.0;
/// See [`SAME`].
pub const DOUBT: f64 = 0.0;

impl Meaning {
    /// Reads a description.
    pub fn of(text: &str) -> Meaning {
        let text = text.get(..READ_MAX).unwrap_or_else(|| &text[..text.floor_char_boundary(READ_MAX)]);
        let bare = without_code(text);
        let mut tokens = tokens(&bare);
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
        let words: Vec<&str> = meaning.words.keys().map(String::as_str).collect();
        let mut letters: Vec<u32> =
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
            let plainly = if length > 1 { 1.0 } else { 0.8 };
            let known = self.kinds.entry(kind).or_insert(0.0);
            *known = known.max(plainly);
        }
    }
}

/// What speaks for and against two descriptions being of one defect. `apart`: lines between them, where both have some.
pub fn features(a: &Meaning, b: &Meaning, apart: Option<u32>) -> [f64; FEATURES] {
    let lexicon = Lexicon::get();
    let length = |all: &BTreeMap<String, f64>| all.values().map(|weight| weight * weight).sum::<f64>().sqrt();
    let shared: Vec<(&String, f64)> =
        a.words.iter().filter(|(word, _)| b.words.contains_key(*word)).map(|(word, w)| (word, *w)).collect();
    let squares: f64 = shared.iter().map(|(_, weight)| weight * weight).sum();
    let words = squares / (length(&a.words) * length(&b.words)).max(1.0);
    let weight = |which: &dyn Fn(&str) -> bool| {
        let all: f64 = shared.iter().filter(|(word, _)| which(word)).map(|(_, weight)| weight).sum();
        (all / RAREST).min(2.0) / 2.0
    };
    let telling = weight(&|word| lexicon.is_telling(word));
    let other = weight(&|word| !lexicon.is_telling(word) && !lexicon.names_a_thing(word));
    let both = a.letters.len() + b.letters.len();
    let letters = 2.0 * common(&a.letters, &b.letters) as f64 / both.max(1) as f64;
    let (kinds, conflict) = kinds(a, b);
    let half = a.kinds.is_empty() != b.kinds.is_empty();
    let things = a.things.intersection(&b.things).count().min(2) as f64 / 2.0;
    let flag = |yes: bool| f64::from(u8::from(yes));
    let at = |lines: u32| flag(apart == Some(lines));
    // Where one of them names no line they may be two lines apart, or more.
    let further = flag(apart.is_some_and(|apart| apart > 3));
    [
        1.0,
        words,
        letters,
        telling,
        other,
        kinds,
        flag(conflict),
        flag(half),
        things,
        at(0),
        at(1),
        at(2),
        at(3),
        further,
    ]
}

/// How alike the kinds of defects are that two descriptions name, and whether both name some and share none.
pub fn kinds(a: &Meaning, b: &Meaning) -> (f64, bool) {
    if a.kinds.is_empty() || b.kinds.is_empty() {
        return (0.0, false);
    }
    let lexicon = Lexicon::get();
    let named = |x: &Meaning, kind: usize| x.kinds[&kind] * lexicon.level(kind);
    let norm = |x: &Meaning| x.kinds.keys().map(|kind| named(x, *kind).powi(2)).sum::<f64>().sqrt();
    let same: Vec<usize> = a.kinds.keys().filter(|kind| b.kinds.contains_key(kind)).copied().collect();
    let product: f64 = same.iter().map(|kind| named(a, *kind) * named(b, *kind)).sum();
    let likeness = if same.is_empty() { 0.0 } else { product / (norm(a) * norm(b)) };
    (likeness, same.is_empty())
}

/// Log-odds that two descriptions are of the same defect.
pub fn log_odds(a: &Meaning, b: &Meaning, apart: Option<u32>) -> f64 {
    features(a, b, apart).iter().zip(WEIGHTS).map(|(value, weight)| value * weight).sum()
}

/// What two descriptions have in common, in words.
pub fn shared(a: &Meaning, b: &Meaning) -> String {
    let lexicon = Lexicon::get();
    let kinds = a.kinds.keys().filter(|kind| b.kinds.contains_key(kind)).map(|kind| lexicon.name(*kind));
    let kinds: Vec<&str> = kinds.collect();
    let words = a.words.keys().filter(|word| b.words.contains_key(*word)).map(String::as_str);
    let words: Vec<&str> = words.collect();
    match (kinds.is_empty(), words.is_empty()) {
        (true, true) => "nothing in common".to_owned(),
        (true, false) => format!("in common: {}", words.join(", ")),
        (false, true) => format!("both name {}", kinds.join(", ")),
        (false, false) => format!("both name {}; in common: {}", kinds.join(", "), words.join(", ")),
    }
}

/// A text without the code it quotes.
fn without_code(text: &str) -> String {
    text.split('`').step_by(2).collect::<Vec<_>>().join(" ")
}

/// Words in lower case, parts of names, names as a whole, and the comparing signs of code.
fn tokens(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut names = Vec::new();
    let edge = |c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '=' || c == '!');
    for piece in text.split(edge).filter(|piece| !piece.is_empty()) {
        if matches!(piece, "==" | "===" | "!=") {
            found.push(piece.to_owned());
            continue;
        }
        for word in piece.split(['=', '!']).filter(|word| !word.is_empty()) {
            let parts = humps(word);
            if parts.len() > 1 || word.contains('_') {
                names.push(word.to_lowercase());
            }
            found.extend(parts.into_iter().map(str::to_lowercase));
        }
    }
    found.extend(names);
    found
}

/// `SecureRandom` → Secure, Random; names with underscores stay whole.
fn humps(word: &str) -> Vec<&str> {
    let bytes = word.as_bytes();
    let edges =
        (1..bytes.len()).filter(|n| bytes[n - 1].is_ascii_lowercase() && bytes[*n].is_ascii_uppercase());
    let mut parts = Vec::new();
    let mut from = 0;
    for edge in edges {
        parts.push(&word[from..edge]);
        from = edge;
    }
    parts.push(&word[from..]);
    parts
}

#[cfg(test)]
mod tests;
