//! How likely two findings of two reports are one: features of a pair, and weights fitted on labelled reviews.
//!
//! `cargo xtask fit-tracker` fits and prints the weights. Whoever changes a feature has to fit again, and to look at
//! `cargo xtask eval-tracker` before and after. Nothing is decided here.

use super::anchor::{Anchor, bare_names, is_word_of, quoted_names};
use super::change::{Change, Mapped};
use super::moves::Moves;
use crate::defect::{self, Meaning};
use crate::similar::{common, grams};
use std::collections::BTreeSet;
use std::rc::Rc;
use tribunal_core::finding::Claim;

/// Number of features; the arrays below follow the same order.
pub const FEATURES: usize = 27;

/// Names of the features, in order.
pub const NAMES: [&str; FEATURES] = [
    "bias",
    "near_1",
    "near_6",
    "near_30",
    "same line",
    "same hunk",
    "one in hunk",
    "line equal",
    "line like",
    "context",
    "symbol",
    "symbol name",
    "text cosine",
    "text equal",
    "names shared",
    "text trigrams",
    "no line",
    "rule equal",
    "rule differs",
    "names differ",
    "severity",
    "no line x text",
    "no line x names",
    "symbol differs",
    "kinds",
    "other kinds",
    "title",
];

/// Indexes of the two likenesses of words among the features.
pub(crate) const COSINE: usize = 12;
pub(crate) const TRIGRAMS: usize = 15;
/// Index of the feature for equal titles.
pub(crate) const TITLE: usize = 26;

/// One side of a pair, prepared once.
///
/// A finding meets many candidates, so everything that depends on one side alone is computed here and not per pair.
#[derive(Clone, Debug)]
pub struct Spot<'a> {
    /// The claim that is compared.
    pub claim: &'a Claim,
    /// What stands at its cited place.
    pub anchor: Anchor,
    /// Trigrams of its words.
    pub grams: Vec<u32>,
    /// Trigrams of its first sentence, if it is long enough to have a title.
    pub title: Vec<u32>,
    /// Trigrams of the line it cites.
    pub line_grams: Vec<u32>,
    /// Names it quotes, in lower case.
    pub quoted: BTreeSet<String>,
    /// Of an earlier finding: the path in the later tree, and the line the diff leads to.
    pub mapped: Option<(&'a str, Expected)>,
    /// Of an earlier finding: where its line moved to.
    pub moved: Option<(Rc<str>, u32)>,
    /// Of an earlier finding without a line: the file that its file's code went to.
    pub destination: Option<Rc<str>>,
    /// The only name it quotes is that of the definition around it.
    pub names_its_place: bool,
    /// Of a later finding: the hunk that added or changed its line.
    pub hunk: Option<usize>,
    /// The meaning of a reviewer's words; none for a tool's, which are a template.
    pub meaning: Option<Meaning>,
}

/// Where a finding should be now, as far as the diff shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expected {
    /// The line, or a point between lines.
    pub line: f64,
    /// The hunk that changed or removed its own line.
    pub hunk: Option<usize>,
}

impl<'a> Spot<'a> {
    /// Prepares a claim with its anchor; for either side.
    pub fn new(claim: &'a Claim, anchor: Anchor) -> Self {
        let mut quoted: BTreeSet<String> =
            quoted_names(&claim.claim).into_iter().map(str::to_lowercase).collect();
        if claim.rule.is_none() {
            // A word that nobody quotes counts as a name where the code at its place has it.
            let in_code = |name: &&str| anchor.context.iter().any(|line| is_word_of(line, name));
            quoted.extend(bare_names(&claim.claim).into_iter().filter(in_code).map(str::to_lowercase));
        }
        // The enclosing definition's own name says where, not what; it counts when nothing else is quoted.
        let enclosing = anchor.symbol.rsplit('.').next().unwrap_or("").to_lowercase();
        if quoted.len() > 1 {
            quoted.remove(&enclosing);
        }
        let names_its_place = quoted.len() == 1 && quoted.contains(&enclosing);
        let (grams, line_grams) = (trigrams(&claim.claim), trigrams(&anchor.text));
        Self {
            claim,
            anchor,
            grams,
            title: title(&claim.claim),
            line_grams,
            quoted,
            mapped: None,
            moved: None,
            destination: None,
            names_its_place,
            hunk: None,
            meaning: claim.rule.is_none().then(|| Meaning::of(&claim.claim)),
        }
    }

    /// Completes a finding of the earlier report: adds where it should be now.
    pub fn led(mut self, change: &'a Change, moves: &Moves) -> Self {
        let Some(file) = self.claim.file.as_deref() else { return self };
        let Some(line) = self.anchor.line else {
            self.destination = moves.destination(file);
            return self;
        };
        let expected = match change.map_line(file, line) {
            Mapped::Kept(line) => Expected { line: f64::from(line), hunk: None },
            Mapped::Changed(at) => Expected { line: at, hunk: change.old_hunk(file, line, line, 0) },
        };
        // A moved line is expected only at its new place.
        let stayed = change.new_path(file).filter(|_| !moves.holds(file, line));
        self.mapped = stayed.map(|path| (path, expected));
        self.moved = moves.target(file, line);
        self
    }

    /// Completes a finding of the later report: adds the hunk it lies in.
    pub fn found(mut self, change: &Change) -> Self {
        if let (Some(file), Some(line)) = (self.claim.file.as_deref(), self.anchor.line) {
            self.hunk = change.new_hunk(file, line, line, 0);
        }
        self
    }
}

/// Trigrams of a text, case and spacing levelled; the first 600 characters say enough.
fn trigrams(text: &str) -> Vec<u32> {
    grams(text, 3, 600)
}

/// A claim with more letters than this has a title and then says more.
const TITLED: usize = 160;
/// Two titles with more than this share of trigrams in common are one title.
const SAME_TITLE: f64 = 0.6;

/// Trigrams of the first sentence of a long claim; empty for a short one.
fn title(claim: &str) -> Vec<u32> {
    // Counts no further than needed: claims may be very long.
    if claim.chars().take(TITLED + 1).count() <= TITLED {
        return Vec::new();
    }
    let line = claim.trim_start().lines().next().unwrap_or_default();
    let first = line.split_once(". ").map_or(line, |(first, _)| first);
    trigrams(first)
}

/// Whether two long claims begin with the same title. A reviewer that looks again repeats the title and tells the rest
/// anew, with other names in it.
fn same_title(a: &Spot<'_>, b: &Spot<'_>) -> bool {
    dice(&a.title, &b.title) > SAME_TITLE
}

/// Twice the number of common values over the size of both sets.
fn dice(a: &[u32], b: &[u32]) -> f64 {
    if a.is_empty() || b.is_empty() {
        return 0.0;
    }
    2.0 * common(a, b) as f64 / (a.len() + b.len()) as f64
}

/// The share of quoted names that two texts have in common; `None` when one quotes nothing.
fn agreement(a: &BTreeSet<String>, b: &BTreeSet<String>) -> Option<f64> {
    let least = a.len().min(b.len());
    (least > 0).then(|| a.intersection(b).count() as f64 / least as f64)
}

fn yes(condition: bool) -> f64 {
    if condition { 1.0 } else { 0.0 }
}

/// The features of an earlier and a later finding.
///
/// `cosine` and `names` come from the texts of both reports, because the rarity of a word is known only over all of
/// them.
pub fn features(a: &Spot<'_>, b: &Spot<'_>, cosine: f64, names: f64) -> [f64; FEATURES] {
    let mut f = [0.0; FEATURES];
    f[0] = 1.0;
    place_features(&mut f, a, b);
    f[7] = yes(!a.anchor.text.is_empty() && a.anchor.text == b.anchor.text);
    f[8] = dice(&a.line_grams, &b.line_grams);
    f[9] = context(&a.anchor, &b.anchor);
    symbol_features(&mut f, &a.anchor, &b.anchor);
    f[COSINE] = cosine;
    f[13] = yes(a.claim.claim == b.claim.claim);
    // Centred, so that "unknown" is zero and speaks for neither side.
    f[14] = agreement(&a.quoted, &b.quoted).unwrap_or(names - 0.5);
    f[TRIGRAMS] = dice(&a.grams, &b.grams);
    if let (Some(x), Some(y)) = (&a.claim.rule, &b.claim.rule) {
        f[17] = yes(x == y);
        f[18] = yes(x != y);
    }
    f[19] = yes(!a.quoted.is_empty() && !b.quoted.is_empty() && a.quoted.is_disjoint(&b.quoted));
    // Moved code may have got another name around it, so different names of the place say nothing against the pair.
    if a.names_its_place && b.names_its_place && went_there(a, b) {
        (f[14], f[19]) = (names - 0.5, 0.0);
    }
    // The rest of a retold finding has other names in it.
    if same_title(a, b) {
        f[TITLE] = 1.0;
        f[19] = 0.0;
    }
    if let (Some(x), Some(y)) = (&a.meaning, &b.meaning) {
        let (kinds, others) = defect::kinds(x, y);
        (f[24], f[25]) = (kinds, yes(others));
    }
    // Measured but without a weight: in the labelled data severity depends on the rule.
    f[20] = yes(a.claim.severity == b.claim.severity);
    f[21] = f[16] * cosine;
    f[22] = f[16] * f[14];
    f
}

/// Whether the earlier finding's line moved to where the later one is.
fn went_there(a: &Spot<'_>, b: &Spot<'_>) -> bool {
    let (Some((path, line)), Some(to)) = (&a.moved, b.anchor.line) else { return false };
    b.claim.file.as_deref() == Some(&**path) && f64::from(line.abs_diff(to)) <= MOVED_REACH
}

/// A finding farther than this from where the line moved to has nothing to do with the move.
const MOVED_REACH: f64 = 3.0;

/// Fills the features of place; all stay zero where the two are in different files.
fn place_features(f: &mut [f64; FEATURES], a: &Spot<'_>, b: &Spot<'_>) {
    // "No line" is a feature of its own: then words and names have to carry the match.
    let (Some(_), Some(to)) = (a.anchor.line, b.anchor.line) else {
        f[16] = 1.0;
        return;
    };
    let Some(file) = b.claim.file.as_deref() else { return };
    let away = |line: f64| (line - f64::from(to)).abs();
    let mapped = a.mapped.filter(|(path, _)| *path == file).map(|(_, expected)| expected);
    let moved = a.moved.as_ref().filter(|(path, _)| **path == *file).map(|(_, line)| f64::from(*line));
    let moved = moved.filter(|line| away(*line) <= MOVED_REACH);
    // Moved code is expected where it went, unless this finding is nearer to where it was.
    let (distance, changed, beside) = match (mapped, moved) {
        (Some(at), Some(line)) if away(at.line) < away(line) => (away(at.line), at.hunk, b.hunk),
        (_, Some(line)) => (away(line), None, None),
        (Some(at), None) => (away(at.line), at.hunk, b.hunk),
        (None, None) => return,
    };
    // Three ranges: exact, near, and same neighbourhood; the fit decides what each is worth.
    f[1] = (-distance / 1.0).exp();
    f[2] = (-distance / 6.0).exp();
    f[3] = (-distance / 30.0).exp();
    f[4] = yes(changed.is_none() && distance == 0.0);
    f[5] = yes(changed.is_some() && changed == beside);
    f[6] = yes(changed.is_some() != beside.is_some());
}

fn context(a: &Anchor, b: &Anchor) -> f64 {
    if a.context.is_empty() || b.context.is_empty() {
        return 0.0;
    }
    let common = a.context.iter().filter(|line| b.context.contains(line)).count();
    common as f64 / a.context.len().max(b.context.len()) as f64
}

/// Fills the features of the enclosing definition; unknown code says nothing.
fn symbol_features(f: &mut [f64; FEATURES], a: &Anchor, b: &Anchor) {
    if a.text.is_empty() || b.text.is_empty() {
        return;
    }
    let last = |symbol: &str| symbol.rsplit('.').next().unwrap_or("").to_owned();
    f[10] = yes(a.symbol == b.symbol);
    f[11] = yes(!a.symbol.is_empty() && last(&a.symbol) == last(&b.symbol));
    f[23] = yes(a.symbol != b.symbol);
}

/// A fitted scorer: weights for the log-odds, and the odds from which a pair is taken.
#[derive(Clone, Debug, PartialEq)]
pub struct Weights {
    /// One weight for each feature, in the order of `NAMES`.
    pub weights: [f64; FEATURES],
    /// Log-odds from which a pair is taken.
    pub cut: f64,
}

impl Weights {
    /// Log-odds that the pair is one finding, above the cut.
    pub fn gain(&self, features: &[f64; FEATURES]) -> f64 {
        let odds: f64 = self.weights.iter().zip(features).map(|(weight, feature)| weight * feature).sum();
        odds - self.cut
    }
}

/// Weights where both sides name a rule: a tool's report, whose words are stable.
pub const TOOL: Weights = Weights {
    weights: [
        -7.051, 0.500, 2.402, 1.277, 0.882, 2.014, -0.518, 1.043, 0.786, 1.099, 0.0, 0.0, 1.979, 0.812,
        0.063, 0.040, 0.0, 0.172, -4.223, -1.793, 0.0, 2.000, 1.000, -0.834, 1.000, -0.500, 2.000,
    ],
    cut: -1.25,
};

/// Weights for a reviewer's report, whose words are new each time.
///
/// The cut is low because the one-to-one assignment already prevents most wrong pairs.
pub const REVIEWER: Weights = Weights {
    weights: [
        -6.209, 0.0, 4.499, 2.009, 0.011, 0.869, 0.0, 0.0, 0.0, 2.273, 0.0, 0.0, 1.353, 1.184, 0.725, 0.0,
        3.767, 1.000, -4.000, -4.159, 0.0, 1.737, 1.028, -0.964, 0.398, -0.093, 1.917,
    ],
    cut: -2.75,
};
