//! The tables behind the comparison: how common stems are, and which words mean which kind of defect. Read once.
//!
//! A kind is more than the phrases in its row: every word of the row points at it a little, and the more so the fewer
//! other rows have that word. So a description that uses none of the phrases is still placed near the kinds it speaks
//! of.
//!
//! `kinds.txt` is written by hand and `common.txt` is counted over the documentation of public crates; both are
//! compiled in, because a pure crate reads no files.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

const COMMON: &str = include_str!("common.txt");
const KINDS: &str = include_str!("kinds.txt");

/// The rarity of a stem that is in no table.
pub(super) const RAREST: f64 = 12.0;

/// Words that say nothing about which defect is meant. Denials are among them: nearly every defect lacks something.
const FILLERS: &str = " a about also an and any are as at be because been but by can could do does for from had has have here \
    how if in into is it its just may might more of on or should so some such than that the their then there these they this \
    those to too very was were what when where which while will with would you your not no never without missing lacks lack \
    nobody nothing cannot neither none instead ";

struct Kind {
    name: &'static str,
    thing: bool,
}

/// Both tables, in the form in which they are looked up.
pub(super) struct Lexicon {
    kinds: Vec<Kind>,
    /// Phrases of stems with blanks between them, each with the kinds it means.
    phrases: BTreeMap<String, Vec<usize>>,
    /// Number of stems in the longest phrase: no longer run has to be looked up.
    longest: usize,
    /// Stems that mean a kind when all of them are there, in any order; kept under the first of them in the alphabet.
    together: BTreeMap<String, Vec<(Vec<String>, usize)>>,
    /// How much a stem points at each kind.
    points: BTreeMap<String, Vec<(usize, f64)>>,
    /// Single words that name a kind of defect.
    telling: BTreeSet<String>,
    /// Single words that name only a thing.
    things: BTreeSet<String>,
    common: BTreeMap<&'static str, f64>,
}

impl Lexicon {
    /// The one lexicon, read at the first call.
    ///
    /// A process-wide cache is safe in a pure crate here: its content comes from compiled-in text alone.
    pub(super) fn get() -> &'static Lexicon {
        static LEXICON: OnceLock<Lexicon> = OnceLock::new();
        LEXICON.get_or_init(Lexicon::read)
    }

    fn read() -> Lexicon {
        let mut lexicon = Lexicon {
            kinds: Vec::new(),
            phrases: BTreeMap::new(),
            longest: 1,
            together: BTreeMap::new(),
            points: BTreeMap::new(),
            telling: BTreeSet::new(),
            things: BTreeSet::new(),
            common: common(),
        };
        // Indented lines continue a row, even in the middle of a phrase.
        let mut rows: Vec<(&'static str, String)> = Vec::new();
        for line in KINDS.lines().filter(|line| !line.starts_with('#')) {
            match (line.split_once(':'), rows.last_mut()) {
                (Some((head, words)), _) if !line.starts_with(' ') => rows.push((head, words.to_owned())),
                (_, Some((_, words))) => words.push_str(line),
                (_, None) => {}
            }
        }
        let mut shares: Shares = BTreeMap::new();
        for (head, words) in rows {
            lexicon.kinds.push(kind(head));
            words.split(',').for_each(|words| lexicon.means(words, &mut shares));
        }
        lexicon.points = points(shares, lexicon.kinds.iter().filter(|kind| !kind.thing).count());
        for (phrase, kinds) in &lexicon.phrases {
            let thing = kinds.iter().all(|kind| lexicon.kinds[*kind].thing);
            // A word that names both a defect and a thing counts as naming the defect.
            let set = if thing { &mut lexicon.things } else { &mut lexicon.telling };
            if !phrase.contains(' ') {
                set.insert(phrase.clone());
            }
        }
        lexicon
    }

    /// Adds one entry to the last kind: a phrase, or words with `+` between them that may stand anywhere.
    fn means(&mut self, words: &str, shares: &mut Shares) {
        let mut stems: Vec<String> = super::parts(words).iter().map(|word| stem(word)).collect();
        let Some(kind) = self.kinds.len().checked_sub(1).filter(|_| !stems.is_empty()) else { return };
        // A thing is not a defect, so its words must not pull descriptions towards each other.
        if !self.kinds[kind].thing {
            // A word of a long phrase is less telling: the phrase means the kind, not each of its words.
            let share = 1.0 / (stems.len() as f64).sqrt();
            for stem in stems.iter().collect::<BTreeSet<_>>() {
                if stem.len() > 1 && !is_filler(stem) {
                    *shares.entry(stem.clone()).or_default().entry(kind).or_default() += share;
                }
            }
        }
        if words.contains('+') {
            stems.sort_unstable();
            stems.dedup();
            // Under the first stem alone, so that a text looks up only combinations it could complete.
            self.together.entry(stems[0].clone()).or_default().push((stems, kind));
            return;
        }
        self.longest = self.longest.max(stems.len());
        let kinds = self.phrases.entry(stems.join(" ")).or_default();
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }

    /// Kinds that are meant by several of these stems together.
    pub(super) fn together(&self, stems: &BTreeSet<&str>) -> impl Iterator<Item = usize> {
        let known = stems.iter().filter_map(|stem| self.together.get(*stem)).flatten();
        known.filter(|(all, _)| all.iter().all(|stem| stems.contains(stem.as_str()))).map(|(_, kind)| *kind)
    }

    /// How much a stem points at each kind; empty for a stem that no row has.
    pub(super) fn points(&self, stem: &str) -> &[(usize, f64)] {
        self.points.get(stem).map_or(&[], Vec::as_slice)
    }

    /// The longest phrase that these stems begin with: its length, and the kinds it means. Longest first, because "use
    /// after free" is not "free".
    pub(super) fn longest(&self, stems: &[String]) -> Option<(usize, &[usize])> {
        let most = self.longest.min(stems.len());
        (1..=most).rev().find_map(|length| {
            self.phrases.get(&stems[..length].join(" ")).map(|kinds| (length, kinds.as_slice()))
        })
    }

    pub(super) fn is_thing(&self, kind: usize) -> bool {
        self.kinds[kind].thing
    }

    pub(super) fn name(&self, kind: usize) -> &'static str {
        self.kinds[kind].name
    }

    /// How rare a stem is in technical English, as a level.
    pub(super) fn rarity(&self, stem: &str) -> f64 {
        self.common.get(stem).copied().unwrap_or(RAREST)
    }

    /// Whether a word names a kind of defect by itself.
    pub(super) fn is_telling(&self, stem: &str) -> bool {
        self.telling.contains(stem)
    }

    pub(super) fn names_a_thing(&self, stem: &str) -> bool {
        self.things.contains(stem)
    }
}

/// For each stem, how often the rows of kinds have it; a word of a long phrase counts less.
type Shares = BTreeMap<String, BTreeMap<usize, f64>>;

/// Turns shares into weights; a stem that many rows have points at none of them.
fn points(shares: Shares, kinds: usize) -> BTreeMap<String, Vec<(usize, f64)>> {
    let weighed = |of: BTreeMap<usize, f64>| {
        // A stem in every row has rarity zero, and so points at nothing.
        let rarity = (kinds as f64 / of.len() as f64).ln();
        of.into_iter().map(|(kind, share)| (kind, (3.0 * share).ln_1p() * rarity)).collect()
    };
    shares.into_iter().map(|(stem, of)| (stem, weighed(of))).collect()
}

/// Reads the head of a row: `race` is a kind of defect, `~ secret` a thing.
fn kind(head: &'static str) -> Kind {
    Kind { name: head.trim_start_matches(['~', ' ']), thing: head.starts_with('~') }
}

fn common() -> BTreeMap<&'static str, f64> {
    let mut common = BTreeMap::new();
    for (level, stems) in COMMON.lines().filter_map(|line| line.split_once(':')) {
        if let Ok(level) = level.parse::<f64>() {
            common.extend(stems.split_whitespace().map(|stem| (stem, level)));
        }
    }
    common
}

/// Whether a word says nothing about which defect is meant.
pub(super) fn is_filler(word: &str) -> bool {
    FILLERS.contains(&format!(" {word} "))
}

/// Strips common endings. Rougher than the tracker's stemmer, because other texts are compared here.
pub(super) fn stem(word: &str) -> String {
    const ENDINGS: [&str; 17] = [
        "izations", "ization", "isation", "ations", "ation", "ments", "ment", "ings", "ing", "ies", "ness",
        "edly", "ed", "es", "ly", "s", "e",
    ];
    for ending in ENDINGS {
        if let Some(root) = word.strip_suffix(ending)
            && root.len() >= 4
            && root.is_ascii()
        {
            return root.to_owned();
        }
    }
    // Short plurals, too: "keys" meets "key". Not "class", whose second s is not an ending.
    match word.strip_suffix('s') {
        Some(root) if root.len() >= 3 && !root.ends_with('s') => root.to_owned(),
        _ => word.to_owned(),
    }
}
