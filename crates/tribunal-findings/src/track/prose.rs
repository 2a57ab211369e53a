//! How much each word of a reviewer's text says about which finding is meant.
//!
//! Reviewers put some phrases into everything they write ("please address", "noticed that"), and two texts that share
//! only those share nothing. Which phrases these are is learned from the reviewer's own findings, over a background of
//! how common words are in reviews. Nothing is decided here.

use crate::similar::{is_stop, stem};
use crate::triage::Triaged;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::OnceLock;
use tribunal_core::finding::{Claim, Source};
use tribunal_core::ledger::Entry;

/// How common stems are in reviews; `cargo xtask count-prose` makes the file.
const BACKGROUND: &str = include_str!("prose.txt");
/// How many of a thousand texts are taken to have a stem that is not in the table.
const RARE: f64 = 1.0;

/// At most this many texts of one list are compared with each other: more teach little and cost their square.
const LEARNED_MAX: usize = 150;
/// How many pairs of unrelated findings must share a phrase; one pair may do so by chance.
const OFTEN: usize = 2;
/// At most this many bytes of a text are read for phrases.
const READ_MAX: usize = 2_000;
/// The key of quoted code, names and numbers: within a phrase they are all alike.
const CODE: u32 = 0;

/// Two words in a row, by their keys.
type Phrase = (u32, u32);

/// The phrases that one reviewer writes whatever the finding is.
///
/// It only lowers the weight of words; it never removes any, since a habitual phrase may be what a finding says.
#[derive(Clone, Debug, Default)]
pub struct Prose {
    phrases: BTreeSet<Phrase>,
}

/// One word of a text, with its place.
struct Word {
    at: Range<usize>,
    key: u32,
    /// It carries meaning: neither a stop word nor code.
    says: bool,
}

/// What learning looks at in one text.
struct Text {
    words: Vec<Word>,
    phrases: BTreeSet<Phrase>,
    names: usize,
}

impl Prose {
    /// Learns from lists of texts.
    ///
    /// The texts of one list must be about different findings: two texts about one finding share its subject, which
    /// would then be taken for a habit.
    pub fn learned<'t>(lists: impl IntoIterator<Item = Vec<&'t str>>) -> Prose {
        let mut met: BTreeMap<Phrase, usize> = BTreeMap::new();
        for list in lists {
            // The latest ones: a reviewer's style is learned from what it wrote last.
            let texts: Vec<Text> = list.iter().rev().take(LEARNED_MAX).map(|text| Text::new(text)).collect();
            for (n, a) in texts.iter().enumerate() {
                for phrase in texts[n + 1..].iter().flat_map(|b| recurring(a, b)) {
                    *met.entry(phrase).or_default() += 1;
                }
            }
        }
        let often = |(phrase, times): (Phrase, usize)| (times >= OFTEN).then_some(phrase);
        Prose { phrases: met.into_iter().filter_map(often).collect() }
    }

    /// The words of a text that belong to such phrases, as byte ranges in order.
    pub fn fillers(&self, text: &str) -> Vec<Range<usize>> {
        if self.phrases.is_empty() {
            return Vec::new();
        }
        let words = words(text);
        let covered = covered(&words, &self.phrases);
        // A name inside a habitual phrase is still what the finding is about.
        let fillers = words.into_iter().zip(covered).filter(|(word, covered)| *covered && word.key != CODE);
        fillers.map(|(word, _)| word.at).collect()
    }
}

impl Text {
    fn new(text: &str) -> Text {
        let words = words(text);
        let says = |two: &&[Word]| two[0].says || two[1].says;
        let phrases = words.windows(2).filter(says).map(|two| (two[0].key, two[1].key)).collect();
        let names: BTreeSet<&str> =
            words.iter().filter(|word| word.key == CODE).map(|word| &text[word.at.clone()]).collect();
        let names = names.len();
        Text { words, phrases, names }
    }

    /// The words that carry meaning outside of these phrases, and how many such words are within them.
    fn split(&self, phrases: &BTreeSet<Phrase>) -> (BTreeSet<u32>, usize) {
        let covered = covered(&self.words, phrases);
        let (mut rest, mut within) = (BTreeSet::new(), 0);
        for (word, covered) in self.words.iter().zip(covered).filter(|(word, _)| word.says) {
            if covered {
                within += 1;
            } else {
                rest.insert(word.key);
            }
        }
        (rest, within)
    }
}

/// The phrases that two texts of different findings share, where they share nothing else and both say more than those.
///
/// Then the phrases are the reviewer's. Where they make up most of a text they may be its message, so they are not
/// learned.
fn recurring(a: &Text, b: &Text) -> BTreeSet<Phrase> {
    let shared: BTreeSet<Phrase> = a.phrases.intersection(&b.phrases).copied().collect();
    if shared.is_empty() {
        return shared;
    }
    let ((in_a, of_a), (in_b, of_b)) = (a.split(&shared), b.split(&shared));
    let more = in_a.len() + a.names >= of_a && in_b.len() + b.names >= of_b;
    let least = in_a.len().min(in_b.len());
    // A quarter in common is allowed: unrelated findings of one project share some vocabulary.
    let unrelated = least > 0 && in_a.intersection(&in_b).count() * 4 <= least;
    if more && unrelated { shared } else { BTreeSet::new() }
}

/// For each word, whether it is part of one of the phrases.
fn covered(words: &[Word], phrases: &BTreeSet<Phrase>) -> Vec<bool> {
    let mut covered = vec![false; words.len()];
    for (n, two) in words.windows(2).enumerate() {
        if phrases.contains(&(two[0].key, two[1].key)) {
            (covered[n], covered[n + 1]) = (true, true);
        }
    }
    covered
}

/// The words of a text in order; whatever backticks quote is one word.
fn words(text: &str) -> Vec<Word> {
    let text = &text[..text.floor_char_boundary(READ_MAX)];
    let mut words = Vec::new();
    let mut next = 0;
    for (n, piece) in text.split('`').enumerate() {
        let from = next;
        next = from + piece.len() + 1;
        if n % 2 == 1 {
            words.push(Word { at: from..from + piece.len(), key: CODE, says: false });
            continue;
        }
        let edge = |c: char| !(c.is_alphanumeric() || c == '_');
        let mut at = from;
        for part in piece.split_inclusive(edge) {
            let word = part.trim_end_matches(edge);
            if !word.is_empty() {
                words.push(Word { at: at..at + word.len(), key: key(word), says: stem_of(word).is_some() });
            }
            at += part.len();
        }
    }
    words
}

/// A number for a word; equal stems have equal numbers.
fn key(word: &str) -> u32 {
    if is_code(word) {
        return CODE;
    }
    let fold = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    // Zero is the key of code, so no stem may have it.
    stem(&word.to_lowercase()).bytes().fold(0x811c_9dc5, fold).max(CODE + 1)
}

/// Whether this is a name or a number rather than a word of a language.
fn is_code(word: &str) -> bool {
    word.chars().any(|c| c == '_' || c.is_numeric()) || word.chars().skip(1).any(char::is_uppercase)
}

fn stem_of(word: &str) -> Option<String> {
    let lower = word.to_lowercase();
    (!is_code(word) && !is_stop(&lower)).then(|| stem(&lower))
}

/// The stems of a text that carry meaning, without the code it quotes: the unit that `cargo xtask count-prose` counts.
pub fn stems(text: &str) -> BTreeSet<String> {
    let words = words(text);
    words.iter().filter(|word| word.key != CODE).filter_map(|word| stem_of(&text[word.at.clone()])).collect()
}

/// The share of review texts that contain a stem.
pub(crate) fn background(stem: &str) -> f64 {
    static TABLE: OnceLock<BTreeMap<&'static str, f64>> = OnceLock::new();
    let read = || {
        let mut table = BTreeMap::new();
        for (count, stems) in BACKGROUND.lines().filter_map(|line| line.split_once(':')) {
            if let Ok(count) = count.parse::<f64>() {
                table.extend(stems.split_whitespace().map(|stem| (stem, count)));
            }
        }
        table
    };
    TABLE.get_or_init(read).get(stem).copied().unwrap_or(RARE) / 1000.0
}

/// Who wrote which finding, and how they write.
///
/// Each reviewer is learned by itself: one reviewer's habit is another's telling word.
#[derive(Clone, Debug, Default)]
pub struct Voices {
    learned: Vec<Prose>,
    /// For each finding of the earlier list, the index of its author in `learned`.
    before: Vec<Option<usize>>,
    /// The same for the later list.
    after: Vec<Option<usize>>,
}

impl Voices {
    /// Takes everything that names no rule for one reviewer's: nothing more is known of two reports.
    pub fn of_reports(before: &[&Claim], after: &[&Claim]) -> Voices {
        let texts = |claims: &[&Claim]| claims.iter().map(|claim| is_free(claim).then_some(0)).collect();
        let free = |claims: &[&'_ Claim]| -> Vec<String> {
            claims.iter().filter(|claim| is_free(claim)).map(|claim| claim.claim.clone()).collect()
        };
        let lists = [free(before), free(after)];
        let learned = Prose::learned(lists.iter().map(|list| list.iter().map(String::as_str).collect()));
        Voices { learned: vec![learned], before: texts(before), after: texts(after) }
    }

    /// Learns each reviewer by itself, from its findings of all earlier rounds and of this one.
    pub fn of_ledger(entries: &[&Entry], before: &[&Claim], now: &[Triaged]) -> Voices {
        let mut said: BTreeMap<&Source, [Vec<&str>; 2]> = BTreeMap::new();
        // One text for each finding: several texts of one finding are related, and would teach its subject.
        for entry in entries {
            let mut met = BTreeSet::new();
            for words in entry.words().iter().filter(|words| is_free(&words.claim)) {
                if met.insert(&words.by) {
                    said.entry(&words.by).or_default()[0].push(&words.claim.claim);
                }
            }
        }
        for triaged in now {
            let mut met = BTreeSet::new();
            for raised in triaged.texts().filter(|raised| is_free(&raised.claim)) {
                if met.insert(&raised.source) {
                    said.entry(&raised.source).or_default()[1].push(&raised.claim.claim);
                }
            }
        }
        let places: BTreeMap<&Source, usize> = said.keys().enumerate().map(|(n, by)| (*by, n)).collect();
        let author = |entry: &&Entry, claim: &&Claim| {
            let own =
                entry.words().iter().find(|words| words.claim.claim == claim.claim).map(|words| &words.by);
            own.or_else(|| entry.by.first()).and_then(|by| places.get(by)).copied()
        };
        Voices {
            before: entries.iter().zip(before).map(|(entry, claim)| author(entry, claim)).collect(),
            after: now.iter().map(|one| places.get(&one.standing.source).copied()).collect(),
            learned: said.into_values().map(Prose::learned).collect(),
        }
    }

    /// The words of a text of the earlier list that its author writes whatever the finding is.
    pub fn before(&self, n: usize, text: &str) -> Vec<Range<usize>> {
        self.fillers(self.before.get(n), text)
    }

    /// The words of a text of the later list that its author writes whatever the finding is.
    pub fn after(&self, n: usize, text: &str) -> Vec<Range<usize>> {
        self.fillers(self.after.get(n), text)
    }

    fn fillers(&self, voice: Option<&Option<usize>>, text: &str) -> Vec<Range<usize>> {
        let prose = voice.copied().flatten().and_then(|voice| self.learned.get(voice));
        prose.map(|prose| prose.fillers(text)).unwrap_or_default()
    }
}

/// Whether a claim is in somebody's own words; one that names a rule is worded by the rule.
fn is_free(claim: &Claim) -> bool {
    claim.rule.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn without(prose: &Prose, text: &str) -> String {
        let mut left = text.to_owned();
        prose.fillers(text).into_iter().rev().for_each(|at| left.replace_range(at, ""));
        left.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_phrase_of_unrelated_findings_is_the_reviewers() {
        let texts = vec![
            "Worth a second look: the socket stays open after an error",
            "Worth a second look: `total` overflows for large orders",
            "Worth a second look: retries never stop when the server is down",
            "the index is built twice",
        ];
        let prose = Prose::learned([texts]);
        assert_eq!(
            without(&prose, "Worth a second look: the cache never expires"),
            ": the cache never expires"
        );
        assert_eq!(without(&prose, "the index is built twice"), "the index is built twice");
        // Twice is needed: what one pair shares may be chance.
        let few =
            Prose::learned([vec!["please check the lock order", "please check that `x` is closed at exit"]]);
        assert_eq!(without(&few, "please check the lock order"), "please check the lock order");
    }

    /// One complaint about many things is no habit of speech: what is shared is most of what is said.
    #[test]
    fn a_complaint_that_is_made_of_many_things_stays() {
        let of = |name: &str| format!("`{name}` is set but its value is never read");
        let texts = [of("a"), of("b"), of("c"), of("d")];
        let prose = Prose::learned([texts.iter().map(String::as_str).collect()]);
        assert!(prose.fillers(&of("e")).is_empty());
    }

    #[test]
    fn the_background_knows_what_reviews_say_often() {
        assert!(background("error") > 10.0 * background("zygote"));
        assert_eq!(
            stems("The `socket` isClosed; errors are Ignored 3 times"),
            ["error", "ignor", "time"].map(String::from).into()
        );
    }
}
