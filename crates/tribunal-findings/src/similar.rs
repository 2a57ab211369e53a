//! Measures how alike two texts are: TF-IDF over words that are split at case and underscore, with whole identifiers
//! counted once more.
//!
//! The file says how alike texts are, never whether two findings are one: that decision needs places and severities,
//! and it is made in `dedupe` and `track`.

use crate::track::anchor::quoted_names;
use crate::track::prose::background;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The table of common words counts as this many texts beside those at hand: ten findings are too few to learn rarity.
const BACKGROUND_TEXTS: f64 = 20.0;
/// What a word counts that its author writes whatever the finding is.
const FILLER: f64 = 0.15;

/// Terms of one text with their weights, in term order; the vector has length one.
#[derive(Clone, Debug, Default)]
struct Doc {
    /// Sorted by id, so that two texts are compared in one pass.
    terms: Vec<(u32, f64)>,
    /// Ids of identifiers the text names, sorted.
    names: Vec<u32>,
    /// Hashes of all runs of four letters, sorted; only in texts made by `with_letters`.
    grams: Vec<u32>,
}

/// A set of texts that can be compared with each other.
///
/// Weights depend on the whole set, so a likeness means something only among texts of one set. Build it from everything
/// that is to be compared.
#[derive(Clone, Debug, Default)]
pub struct Texts {
    docs: Vec<Doc>,
}

/// Words that say nothing about which problem is meant. Sorted, because lookups are binary searches.
const STOP: &[&str] = &[
    "a", "about", "also", "an", "and", "any", "are", "as", "at", "be", "because", "been", "but", "by", "can",
    "could", "do", "does", "for", "from", "had", "has", "have", "here", "how", "if", "in", "into", "is",
    "it", "its", "just", "may", "might", "more", "of", "on", "or", "should", "so", "some", "such", "than",
    "that", "the", "their", "then", "there", "these", "they", "this", "those", "to", "too", "very", "was",
    "were", "what", "when", "where", "which", "while", "will", "with", "would", "you", "your",
];

impl Texts {
    /// Reads all texts; the rarer a term is among them, the more it weighs.
    pub fn new<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> Self {
        let raw = Raw::read(texts.into_iter().map(|text| (text, Vec::new())));
        let all = raw.docs.len() as f64;
        // Smoothed by one: no term weighs nothing, even where all texts have it.
        raw.weighed(|_, seen| ((1.0 + all) / (1.0 + seen)).ln() + 1.0)
    }

    /// Reads texts of reviewers, each with the parts that its author writes whatever the finding is.
    ///
    /// Rarity among few texts says little, so it is mixed with how common a word is in reviews at large.
    pub fn of_reviews<T: AsRef<str>>(texts: impl IntoIterator<Item = (T, Vec<Range<usize>>)>) -> Self {
        let raw = Raw::read(texts);
        let all = raw.docs.len() as f64;
        raw.weighed(|term, seen| {
            let usual = background(term) * BACKGROUND_TEXTS;
            ((all + BACKGROUND_TEXTS) / (seen + usual)).ln()
        })
    }

    /// Reads texts as `new` does, and can compare their letters, too (`letters`).
    pub fn with_letters<T: AsRef<str> + Clone>(texts: &[T]) -> Self {
        let mut all = Self::new(texts.iter().cloned());
        all.docs.iter_mut().zip(texts).for_each(|(doc, text)| doc.grams = grams(text.as_ref(), 4, 2_000));
        all
    }

    /// Share of four-letter runs in common, 0 to 1: finds what word endings and compounds hide.
    pub fn letters(&self, a: usize, b: usize) -> f64 {
        let (a, b) = (&self.docs[a].grams, &self.docs[b].grams);
        if a.is_empty() || b.is_empty() {
            return 0.0;
        }
        2.0 * common(a, b) as f64 / (a.len() + b.len()) as f64
    }

    /// Cosine of two texts, 0 to 1.
    ///
    /// Terms are sorted and vectors have length one, so this is a single pass over both.
    pub fn cosine(&self, a: usize, b: usize) -> f64 {
        let (a, b) = (&self.docs[a].terms, &self.docs[b].terms);
        let (mut i, mut j, mut sum) = (0, 0, 0.0);
        while i < a.len() && j < b.len() {
            match a[i].0.cmp(&b[j].0) {
                std::cmp::Ordering::Less => i += 1,
                std::cmp::Ordering::Greater => j += 1,
                std::cmp::Ordering::Equal => {
                    sum += a[i].1 * b[j].1;
                    i += 1;
                    j += 1;
                }
            }
        }
        // Rounding can take the sum of equal texts above one.
        sum.min(1.0)
    }

    /// The share of code names that both texts have in common, 0 to 1.
    ///
    /// 0.5 when one of them names none: that speaks neither for nor against the pair.
    pub fn names_shared(&self, a: usize, b: usize) -> f64 {
        let (a, b) = (&self.docs[a].names, &self.docs[b].names);
        if a.is_empty() || b.is_empty() {
            return 0.5;
        }
        let common = a.iter().filter(|name| b.binary_search(name).is_ok()).count();
        // Of the shorter list: a long text names more, and that is not a difference.
        common as f64 / a.len().min(b.len()) as f64
    }
}

/// Texts as read, before terms are weighed: rarity is known only when all of them are.
#[derive(Default)]
struct Raw {
    ids: BTreeMap<String, u32>,
    docs: Vec<(BTreeMap<u32, f64>, Vec<u32>)>,
}

impl Raw {
    fn read<T: AsRef<str>>(texts: impl IntoIterator<Item = (T, Vec<Range<usize>>)>) -> Raw {
        let mut raw = Raw::default();
        for (text, fillers) in texts {
            let mut counts = BTreeMap::new();
            let mut names = Vec::new();
            terms(text.as_ref(), &mut |term, is_name, at| {
                let next = raw.ids.len() as u32;
                let id = *raw.ids.entry(term).or_insert(next);
                let weight = if fillers.iter().any(|filler| filler.contains(&at)) { FILLER } else { 1.0 };
                *counts.entry(id).or_insert(0.0) += weight;
                if is_name {
                    names.push(id);
                }
            });
            names.sort_unstable();
            names.dedup();
            raw.docs.push((counts, names));
        }
        raw
    }

    /// Weighs each term by its rarity, which depends on the term and on how many texts have it.
    fn weighed(self, rarity: impl Fn(&str, f64) -> f64) -> Texts {
        let mut seen = vec![0u32; self.ids.len()];
        for (counts, _) in &self.docs {
            counts.keys().for_each(|id| seen[*id as usize] += 1);
        }
        let mut weights = vec![0.0; self.ids.len()];
        for (term, id) in &self.ids {
            weights[*id as usize] = rarity(term, f64::from(seen[*id as usize]));
        }
        let rarity = |id: u32| weights[id as usize];
        Texts { docs: self.docs.into_iter().map(|(counts, names)| weighed(counts, names, rarity)).collect() }
    }
}

fn weighed(counts: BTreeMap<u32, f64>, names: Vec<u32>, rarity: impl Fn(u32) -> f64) -> Doc {
    let mut terms: Vec<(u32, f64)> = counts
        .into_iter()
        // Repetition counts less and less; below one (filler words) a logarithm would turn negative.
        .map(|(id, count)| (id, if count < 1.0 { count } else { 1.0 + count.ln() } * rarity(id)))
        .collect();
    let length = terms.iter().map(|(_, weight)| weight * weight).sum::<f64>().sqrt();
    if length > 0.0 {
        terms.iter_mut().for_each(|(_, weight)| *weight /= length);
    }
    Doc { terms, names, grams: Vec::new() }
}

/// Hashes of all runs of `length` characters within the first `max`, sorted; case and spacing are levelled.
pub(crate) fn grams(text: &str, length: usize, max: usize) -> Vec<u32> {
    let level = |c: char| if c.is_whitespace() { ' ' } else { c.to_lowercase().next().unwrap_or(c) };
    let chars: Vec<u32> = text.chars().take(max).map(level).map(u32::from).collect();
    let hash = |run: &[u32]| run.iter().fold(0x811c_9dc5u32, |hash, c| (hash ^ c).wrapping_mul(0x0100_0193));
    let mut all: Vec<u32> = chars.windows(length).map(hash).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// How many values two sorted sets have in common.
pub(crate) fn common(a: &[u32], b: &[u32]) -> usize {
    let (mut i, mut j, mut count) = (0, 0, 0);
    while i < a.len() && j < b.len() {
        match a[i].cmp(&b[j]) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => (i, j, count) = (i + 1, j + 1, count + 1),
        }
    }
    count
}

/// Calls back for every term: words, their parts, and identifiers as a whole, each with its position in the text.
fn terms(text: &str, found: &mut dyn FnMut(String, bool, usize)) {
    // A text beyond this says no more about which problem is meant.
    let text = text.get(..8_000).unwrap_or_else(|| &text[..text.floor_char_boundary(8_000)]);
    let ends = |c: char| !(c.is_alphanumeric() || c == '_');
    let mut next = 0;
    for piece in text.split_inclusive(ends) {
        let (at, word) = (next, piece.trim_end_matches(ends));
        next += piece.len();
        let parts = split_name(word);
        let name = parts.len() > 1 || word.contains('_');
        if name {
            // The mark keeps an identifier apart from a plain word that happens to be spelled alike.
            found(format!("={}", word.to_lowercase()), true, at);
        }
        for part in parts {
            let part = part.to_lowercase();
            if STOP.binary_search(&part.as_str()).is_err() && !part.is_empty() {
                found(stem(&part), false, at);
            }
        }
    }
}

/// Whether a word says nothing about which problem is meant.
pub(crate) fn is_stop(word: &str) -> bool {
    STOP.binary_search(&word).is_ok()
}

/// The identifiers a text names, as code writes them or in quotes, and the stems of its other words.
pub(crate) fn named(text: &str) -> (BTreeSet<String>, BTreeSet<String>) {
    let in_words = |text: &str| {
        let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty());
        words.map(|word| (word.to_lowercase(), word.contains('_') || split_name(word).len() > 1)).collect()
    };
    let all: Vec<(String, bool)> = in_words(text);
    let quoted = text.split('`').skip(1).step_by(2).chain(quoted_names(text));
    let mut names: BTreeSet<String> = quoted.flat_map(in_words).map(|(word, _)| word).collect();
    names.extend(all.iter().filter(|(_, is_name)| *is_name).map(|(word, _)| word.clone()));
    let says = |word: &&String| !names.contains(*word) && STOP.binary_search(&word.as_str()).is_err();
    let words = all.iter().map(|(word, _)| word).filter(says).map(|word| stem(word)).collect();
    (names, words)
}

/// Splits a name at humps, digits and underscores: `parseHTTPHeader_now` → parse, HTTP, Header, now.
fn split_name(word: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    for piece in word.split('_').filter(|piece| !piece.is_empty()) {
        let mut start = 0;
        let chars: Vec<(usize, char)> = piece.char_indices().collect();
        for n in 1..chars.len() {
            let (at, c) = chars[n];
            let before = chars[n - 1].1;
            let next_is_lower = chars.get(n + 1).is_some_and(|(_, c)| c.is_lowercase());
            let edge = (before.is_lowercase() && c.is_uppercase())
                || (before.is_uppercase() && c.is_uppercase() && next_is_lower)
                || (before.is_alphabetic() != c.is_alphabetic());
            if edge {
                parts.push(&piece[start..at]);
                start = at;
            }
        }
        parts.push(&piece[start..]);
    }
    parts
}

/// How alike two texts are on their own, 0 to 1; use a set of `Texts` to compare more than two.
pub(crate) fn likeness_of(a: &str, b: &str) -> f64 {
    if a == b {
        return 1.0;
    }
    let texts = Texts::new([a, b]);
    texts.cosine(0, 1)
}

/// Whether two texts are one sentence about two things.
///
/// Most of the words are the same, from the front or from the back, and where they differ each says something else.
/// Such a pair is two findings of one template.
pub(crate) fn other_subject(a: &str, b: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        let split = text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty());
        split.map(str::to_lowercase).collect()
    };
    let (a, b) = (words(a), words(b));
    let front = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    // The back must not count words again that the front has already matched.
    let most = a.len().min(b.len()) - front;
    let back = a.iter().rev().zip(b.iter().rev()).take(most).take_while(|(a, b)| a == b).count();
    let same = front + back;
    // With less in common it is not a template: two short sentences share a few words by chance.
    if same < 3 || same * 2 < a.len().max(b.len()) {
        return false;
    }
    // Line numbers and stop words differ without a difference in subject.
    let says = |word: &&String| {
        STOP.binary_search(&word.as_str()).is_err() && !word.chars().all(|c| c.is_ascii_digit())
    };
    let rest = |all: &[String]| -> BTreeSet<String> {
        all[front..all.len() - back].iter().filter(says).map(|word| stem(word)).collect()
    };
    let (a, b) = (rest(&a), rest(&b));
    !a.is_empty() && !b.is_empty() && a.is_disjoint(&b)
}

/// Strips common endings, so that "validates" and "validation" meet "validate".
///
/// A crude stemmer is enough: both texts go through it, and a root of at least four letters keeps short words whole.
pub(crate) fn stem(word: &str) -> String {
    // The longest first, or "ations" would lose only its "s".
    const ENDINGS: [&str; 16] = [
        "izations", "ization", "ations", "ation", "ments", "ment", "ings", "ing", "ies", "ness", "edly",
        "ed", "es", "ly", "s", "e",
    ];
    for ending in ENDINGS {
        if let Some(root) = word.strip_suffix(ending)
            && root.len() >= 4
            && root.is_ascii()
        {
            return root.to_owned();
        }
    }
    word.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stop_words_are_sorted() {
        assert!(STOP.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn what_an_author_always_writes_makes_nothing_alike() {
        let texts = [
            "please look again: the socket stays open",
            "please look again: `total` overflows",
            "the socket is left open",
        ];
        let plain = Texts::of_reviews(texts.map(|text| (text, Vec::new())));
        let (words, habit) = (vec![0..6, 7..11, 12..17], Vec::new());
        let of = [words.clone(), words, habit];
        let learned = Texts::of_reviews(texts.into_iter().zip(of));
        assert!(plain.cosine(0, 1) > 0.3 && learned.cosine(0, 1) < 0.05);
        assert!(learned.cosine(0, 2) > plain.cosine(0, 2));
    }

    #[test]
    fn names_are_split_and_kept() {
        assert_eq!(split_name("parseHTTPHeader_now"), ["parse", "HTTP", "Header", "now"]);
        assert_eq!(split_name("x"), ["x"]);
        assert_eq!(split_name("_"), Vec::<&str>::new());
    }

    #[test]
    fn identifiers_are_told_from_words() {
        let set = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<BTreeSet<_>>();
        let check = |text: &str, names: &[&str], words: &[&str]| {
            assert_eq!(named(text), (set(names), set(words)), "{text}");
        };
        check("`x` leaks in load_all", &["x", "load_all"], &["leak"]);
        check("the handle of 'Pool' is leaked", &["pool"], &["handl", "leak"]);
        check("`load()` calls readAll", &["load", "readall"], &["call"]);
        check("", &[], &[]);
    }

    #[test]
    fn alike_texts_are_closer_than_others() {
        let texts = Texts::new([
            "`rawTokenId` is never validated: grantType is checked twice",
            "null check for rawTokenId checks grantType instead",
            "the javadoc is out of date",
            "",
        ]);
        assert!(texts.cosine(0, 1) > 0.3);
        assert!(texts.cosine(0, 2) < 0.1);
        assert_eq!(texts.cosine(0, 3), 0.0);
        assert!((texts.cosine(0, 0) - 1.0).abs() < 1e-9);
        assert!(texts.names_shared(0, 1) > 0.9);
    }
}
