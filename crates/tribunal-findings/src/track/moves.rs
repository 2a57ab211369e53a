//! Finds lines that a change took out in one place and put in at another: in the same file or another one, with other
//! indentation, or with a line or two edited on the way.
//!
//! Lines are known by their content alone, so this holds for any language. Content that could have come from two places
//! is not called moved: a wrong move would carry a finding to code it was never about.

use super::anchor::{Anchors, Side};
use super::change::{Change, Hunk};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// A block begins with this many lines in a row that are unique on both sides.
const SEED: usize = 2;
/// Letters and digits a block must have at least; less is shared by chance.
const TELLING: u32 = 20;
/// How far a cited line may be from the lines that moved.
pub(super) const SLACK: u32 = 2;
/// Lines that must have gone from one file to another before a finding without a line is looked for there.
const DESTINATION_LINES: usize = 5;
/// At most this many changed files are searched for the removed code.
const FILES_MAX: usize = 2_000;
/// At most this many changed lines of one side are read; a larger change is not searched to its end.
const LINES_MAX: usize = 200_000;

/// One changed line that is not blank.
struct Line {
    /// The stretch it belongs to: a block does not run from one into the next.
    stretch: u32,
    number: u32,
    hash: u64,
    letters: u32,
}

/// One line that moved, with its old and new place.
struct Step {
    from: u32,
    file: Rc<str>,
    to: u32,
    /// It was not edited on the way.
    same: bool,
}

/// Where lines of the earlier tree went.
///
/// A line has at most one target. Lines that may have come from several places have none.
#[derive(Default)]
pub struct Moves {
    /// By path in the earlier tree, in line order.
    steps: BTreeMap<String, Vec<Step>>,
}

/// The changed stretches of one side that are searched.
#[derive(Default)]
struct Stretches {
    lines: Vec<Line>,
    files: Vec<Rc<str>>,
}

impl Moves {
    /// Looks for blocks in the stretches that hold or touch one of the places; a place without a line is its whole
    /// file.
    ///
    /// Only stretches with a finding on each side are searched, because all this serves is to pair findings.
    pub fn new<'p>(
        change: &Change,
        anchors: &mut Anchors<'_>,
        olds: impl Iterator<Item = (&'p str, Option<u32>)>,
        news: impl Iterator<Item = (&'p str, Option<u32>)>,
    ) -> Self {
        let old = Stretches::touched(change, anchors, Side::Before, olds);
        if old.lines.is_empty() {
            return Self::default();
        }
        let new = Stretches::touched(change, anchors, Side::After, news);
        Blocks::new(&old, &new).moves()
    }

    /// Looks for what was removed at some places in everything that was added.
    ///
    /// Use it for findings that nobody raised again: their new place has no finding to search around. Here a line that
    /// says enough by itself needs no neighbour.
    pub fn everywhere<'p>(
        change: &'p Change,
        anchors: &mut Anchors<'_>,
        olds: impl Iterator<Item = (&'p str, Option<u32>)>,
    ) -> Self {
        let old = Stretches::touched(change, anchors, Side::Before, olds);
        if old.lines.is_empty() {
            return Self::default();
        }
        let news = change.files().iter().filter_map(|file| Some((file.new.as_deref()?, None)));
        let new = Stretches::touched(change, anchors, Side::After, news.take(FILES_MAX));
        let mut blocks = Blocks::new(&old, &new);
        blocks.add_lone_lines();
        blocks.moves()
    }

    /// Where some lines went, if all of them went to one place unchanged. Stricter than `target`, because it is used to
    /// keep a finding open at its new place.
    pub fn whole(&self, anchors: &mut Anchors<'_>, old: &str, from: u32, to: u32) -> Option<(Rc<str>, u32)> {
        let steps = self.steps.get(old)?;
        let mut went: Vec<Option<&Step>> = Vec::new();
        anchors.each_line(
            Side::Before,
            old,
            from,
            to.saturating_sub(from).saturating_add(1),
            &mut |n, text| {
                // Blank lines have no content to follow, so they may be anywhere.
                if hashed(text).0 != EMPTY {
                    let at = steps.binary_search_by_key(&n, |step| step.from).ok();
                    went.push(at.map(|at| &steps[at]).filter(|step| step.same));
                }
            },
        );
        let first = went.first().copied().flatten()?;
        let went: Vec<&Step> = went.into_iter().collect::<Option<_>>()?;
        // In the same order in one file; otherwise the lines were scattered, and that is a change.
        let together = went.windows(2).all(|two| two[0].file == two[1].file && two[0].to < two[1].to);
        // The first line may be blank: count back from the first that has content.
        together.then(|| (first.file.clone(), first.to.saturating_sub(first.from - from).max(1)))
    }

    /// Where a line of the earlier tree went; a line beside a block went with it.
    pub fn target(&self, old: &str, line: u32) -> Option<(Rc<str>, u32)> {
        let steps = self.steps.get(old)?;
        let at = steps.partition_point(|step| step.from < line);
        let near = steps[at.saturating_sub(1)..].iter().take(2).filter(|s| s.from.abs_diff(line) <= SLACK);
        let step = near.min_by_key(|step| step.from.abs_diff(line))?;
        let to = i64::from(step.to) + i64::from(line) - i64::from(step.from);
        Some((step.file.clone(), u32::try_from(to).unwrap_or(1).max(1)))
    }

    /// The file that most of the code moved to, if it is enough to speak of a move.
    pub fn destination(&self, old: &str) -> Option<Rc<str>> {
        let mut count: BTreeMap<&Rc<str>, usize> = BTreeMap::new();
        for step in self.steps.get(old)?.iter().filter(|step| *step.file != *old) {
            *count.entry(&step.file).or_default() += 1;
        }
        let (file, lines) = count.into_iter().max_by_key(|(_, lines)| *lines)?;
        (lines >= DESTINATION_LINES).then(|| file.clone())
    }

    /// Whether this very line moved, not only one beside it.
    pub fn holds(&self, old: &str, line: u32) -> bool {
        self.steps.get(old).is_some_and(|steps| steps.binary_search_by_key(&line, |step| step.from).is_ok())
    }
}

/// Indexes of the stretches a line lies in or beside; all of them without a line.
fn touching(
    hunks: &[Hunk],
    line: Option<u32>,
    span: impl Fn(&Hunk) -> (u32, u32) + Copy,
) -> std::ops::Range<usize> {
    let Some(line) = line else { return 0..hunks.len() };
    let from = hunks.partition_point(|hunk| {
        let (start, len) = span(hunk);
        start.saturating_add(len).saturating_add(SLACK) <= line
    });
    let beside = move |hunk: &&Hunk| span(hunk).0 <= line.saturating_add(SLACK);
    let count = hunks[from..].iter().take_while(beside).count();
    from..from + count
}

impl Stretches {
    /// The stretches of one side's tree that hold or touch one of the places.
    fn touched<'p>(
        change: &Change,
        anchors: &mut Anchors<'_>,
        side: Side,
        places: impl Iterator<Item = (&'p str, Option<u32>)>,
    ) -> Self {
        let hunks = |path: &str| {
            let file = match side {
                Side::Before => change.file_from(path),
                Side::After => change.file_at(path),
            };
            file.map_or(&[][..], |file| &file.hunks)
        };
        let span = |hunk: &Hunk| match side {
            Side::Before => (hunk.old_start, hunk.old_len),
            Side::After => (hunk.new_start, hunk.new_len),
        };
        // A set: many findings lie in one stretch, and its lines must be read only once.
        let mut met = BTreeSet::new();
        for (path, line) in places {
            met.extend(touching(hunks(path), line, span).map(|n| (path, n)));
        }
        let mut all = Self::default();
        for (path, n) in met {
            all.add(anchors, side, path, span(&hunks(path)[n]));
        }
        all
    }

    /// Lines that are unique here and say enough by themselves, sorted by content.
    fn lone(&self) -> Vec<(u64, usize)> {
        let lines = self.lines.iter().enumerate().filter(|(_, line)| line.letters >= TELLING);
        alone(lines.map(|(n, line)| (line.hash, n)).collect())
    }

    /// Reads one stretch; blank lines are left out, as they have no content to recognize.
    fn add(&mut self, anchors: &mut Anchors<'_>, side: Side, path: &str, (from, len): (u32, u32)) {
        if self.lines.len() >= LINES_MAX {
            return;
        }
        let stretch = self.files.len() as u32;
        self.files.push(path.into());
        anchors.each_line(side, path, from, len, &mut |number, text| {
            let (hash, letters) = hashed(text);
            if hash != EMPTY {
                self.lines.push(Line { stretch, number, hash, letters });
            }
        });
    }

    /// Beginnings of rows of lines that are unique here, sorted by content.
    fn unique(&self) -> Vec<(u64, usize)> {
        let rows = self.lines.windows(SEED).enumerate();
        let all = rows
            .filter(|(_, row)| row[0].stretch == row[SEED - 1].stretch)
            .filter(|(_, row)| row.iter().map(|line| line.letters).sum::<u32>() >= TELLING)
            .map(|(n, row)| (row.iter().fold(EMPTY, |hash, line| mixed(hash, line.hash)), n));
        alone(all.collect())
    }
}

/// Those whose content occurs once, sorted by content. Content that occurs twice could have come from either place.
fn alone(mut all: Vec<(u64, usize)>) -> Vec<(u64, usize)> {
    all.sort_unstable();
    let single = |n: usize| {
        let same = |other: Option<&(u64, usize)>| other.is_some_and(|other| other.0 == all[n].0);
        !same(n.checked_sub(1).and_then(|n| all.get(n))) && !same(all.get(n + 1))
    };
    (0..all.len()).filter(|n| single(*n)).map(|n| all[n]).collect()
}

/// Pairs with the same content on both sides, in the order of the earlier side.
fn seeds(ours: &[(u64, usize)], theirs: &[(u64, usize)]) -> Vec<(usize, usize)> {
    let find = |hash: u64| theirs.binary_search_by_key(&hash, |one| one.0).ok().map(|n| theirs[n].1);
    let mut seeds: Vec<(usize, usize)> =
        ours.iter().filter_map(|(hash, n)| Some((*n, find(*hash)?))).collect();
    seeds.sort_unstable();
    seeds
}

/// The moves while they are worked out: for each old line its target, and which new lines are already given away.
struct Blocks<'s> {
    old: &'s Stretches,
    new: &'s Stretches,
    target: Vec<Option<usize>>,
    given: Vec<bool>,
}

impl<'s> Blocks<'s> {
    /// Grows a block from every pair of unique rows, in the order of the earlier side.
    fn new(old: &'s Stretches, new: &'s Stretches) -> Self {
        let mut blocks =
            Self { old, new, target: vec![None; old.lines.len()], given: vec![false; new.lines.len()] };
        for (i, j) in seeds(&old.unique(), &new.unique()) {
            // An earlier block has already grown over this pair.
            if blocks.target[i].is_some() || blocks.given[j] {
                continue;
            }
            let (back, forth) = (run(old, new, (i, j), -1), run(old, new, (i, j), 1));
            (i - back..=i + forth).zip(j - back..=j + forth).for_each(|(i, j)| blocks.add(i, j));
        }
        blocks
    }

    fn add(&mut self, i: usize, j: usize) {
        if self.target[i].is_none() && !self.given[j] {
            (self.target[i], self.given[j]) = (Some(j), true);
        }
    }

    fn add_lone_lines(&mut self) {
        seeds(&self.old.lone(), &self.new.lone()).into_iter().for_each(|(i, j)| self.add(i, j));
    }

    /// The result, by file and line of the earlier tree.
    fn moves(self) -> Moves {
        let mut moves = Moves::default();
        let (old, new) = (self.old, self.new);
        for (line, to) in
            old.lines.iter().zip(self.target).filter_map(|(line, to)| Some((line, &new.lines[to?])))
        {
            let file = new.files[to.stretch as usize].clone();
            let steps = moves.steps.entry(old.files[line.stretch as usize].to_string()).or_default();
            steps.push(Step { from: line.number, file, to: to.number, same: line.hash == to.hash });
        }
        moves.steps.values_mut().for_each(|steps| steps.sort_by_key(|step| step.from));
        moves
    }
}

/// How many lines agree from a pair on in one direction. One edited line is stepped over if the two after it agree
/// again.
fn run(old: &Stretches, new: &Stretches, (i, j): (usize, usize), step: i64) -> usize {
    let (here, there) = (old.lines[i].stretch, new.lines[j].stretch);
    let agree = |n: usize| {
        let at = |from: usize| usize::try_from(from as i64 + step * n as i64).ok();
        let a = at(i).and_then(|i| old.lines.get(i)).filter(|line| line.stretch == here)?;
        let b = at(j).and_then(|j| new.lines.get(j)).filter(|line| line.stretch == there)?;
        Some(a.hash == b.hash)
    };
    let mut count = 0;
    loop {
        match agree(count + 1) {
            Some(true) => count += 1,
            // Two, not one: a single equal line after an edit, such as a brace, proves nothing.
            Some(false) if agree(count + 2) == Some(true) && agree(count + 3) == Some(true) => count += 3,
            _ => return count,
        }
    }
}

/// The hash of a line without content.
const EMPTY: u64 = 0xcbf2_9ce4_8422_2325;

fn mixed(hash: u64, value: u64) -> u64 {
    (hash ^ value).wrapping_mul(0x0100_0000_01b3).rotate_left(23)
}

/// The hash of a line without its blanks, and how many letters and digits it has.
fn hashed(text: &str) -> (u64, u32) {
    let mut letters = 0;
    let hash = text.chars().filter(|c| !c.is_whitespace()).fold(EMPTY, |hash, c| {
        letters += u32::from(c.is_alphanumeric());
        mixed(hash, u64::from(u32::from(c)))
    });
    (hash, letters)
}
