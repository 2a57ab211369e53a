//! Compares two reports over two trees without a ledger: the tracker as a tool of its own (`tribunal delta`).
//!
//! There are no reviewers to ask and no rounds, so the classes are fewer than in a loop, and without a repository fewer
//! still. A claim that is only missing is never called resolved unless its code changed.

use super::anchor::{Anchors, Read, Side};
use super::change::Change;
use super::pair::{Hints, Pair, Scorer, pair_with};
use crate::intake::report::Report;
use std::cmp::Ordering;
use tribunal_core::finding::Claim;

/// The state of a finding of the earlier report that has no partner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gone {
    /// Its code changed, or its file is gone.
    Resolved,
    /// Its code is as it was, so nothing shows that it was fixed.
    NotReported,
}

/// How a finding of the later report that has no partner came to be new.
///
/// The distinction tells a reader whether the change broke something or a reviewer merely looked closer this time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fresh {
    /// Nothing is known about its place.
    New,
    /// On lines that were there before.
    Late,
    /// On lines that the change added.
    FixInduced,
    /// The earlier report lists it as settled.
    Reopened,
}

impl Gone {
    /// The word for it in the public JSON.
    pub fn word(self) -> &'static str {
        match self {
            Gone::Resolved => "resolved",
            Gone::NotReported => "not_reported",
        }
    }
}

impl Fresh {
    /// The word for it in the public JSON.
    pub fn word(self) -> &'static str {
        match self {
            Fresh::New => "new",
            Fresh::Late => "late",
            Fresh::FixInduced => "fix_induced",
            Fresh::Reopened => "reopened",
        }
    }
}

/// The word in the public JSON for how a severity changed.
pub fn severity_word(went: Ordering) -> &'static str {
    match went {
        Ordering::Less => "downgraded",
        Ordering::Equal => "unchanged",
        Ordering::Greater => "upgraded",
    }
}

/// Pairs and leftovers of two reports; each finding of either is in exactly one list.
///
/// Indexes are those of the lists that were given; `compare_reports` turns them into those of the files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    /// Findings of both reports, and how the severity changed.
    pub pairs: Vec<(Pair, Ordering)>,
    /// Findings that only the earlier report has.
    pub gone: Vec<(usize, Gone)>,
    /// Findings that only the later report has.
    pub fresh: Vec<(usize, Fresh)>,
}

/// Compares two reports of which the change between their trees is known.
pub fn compare(
    before: &[&Claim],
    after: &[&Claim],
    change: &Change,
    read: Read<'_>,
    scorer: &Scorer,
) -> Comparison {
    compare_with(before, after, change, read, scorer, false)
}

fn compare_with(
    before: &[&Claim],
    after: &[&Claim],
    change: &Change,
    read: Read<'_>,
    scorer: &Scorer,
    blind: bool,
) -> Comparison {
    let (pairs, mut anchors) =
        pair_with(before, after, &Hints::default(), change, Anchors::new(read), scorer, blind);
    let (mut left, mut right) = (vec![true; before.len()], vec![true; after.len()]);
    pairs.iter().for_each(|pair| (left[pair.before], right[pair.after]) = (false, false));
    let gone =
        (0..before.len()).filter(|n| left[*n]).map(|n| (n, gone(before[n], change, &mut anchors))).collect();
    let fresh =
        (0..after.len()).filter(|n| right[*n]).map(|n| (n, fresh(after[n], change, &mut anchors))).collect();
    let pairs = pairs
        .into_iter()
        .map(|pair| (pair, after[pair.after].severity.cmp(&before[pair.before].severity)))
        .collect();
    Comparison { pairs, gone, fresh }
}

/// Compares two reports as files hold them; all indexes are the files' own.
///
/// Without a change nothing is known of the code, so nothing is called resolved, late or fix-induced. A finding that
/// the earlier file itself lists as settled is the exception: its return is a reopening.
pub fn compare_reports(
    before: &Report,
    after: &Report,
    change: Option<&Change>,
    read: Read<'_>,
    scorer: &Scorer,
) -> Comparison {
    let (old, new): (Vec<&Claim>, Vec<&Claim>) =
        (before.claims.iter().collect(), after.claims.iter().collect());
    let none = Change::default();
    let mut found = compare_with(&old, &new, change.unwrap_or(&none), read, scorer, change.is_none());
    // After pairing, because a blind comparison still pairs by words.
    if change.is_none() {
        found.gone.iter_mut().for_each(|(_, gone)| *gone = Gone::NotReported);
        found.fresh.iter_mut().for_each(|(_, fresh)| *fresh = Fresh::New);
    }
    let settled = |n: usize| before.places[n].settled;
    found.gone.iter_mut().filter(|(n, _)| settled(*n)).for_each(|(_, gone)| *gone = Gone::Resolved);
    let (back, pairs): (Vec<_>, Vec<_>) = found.pairs.into_iter().partition(|(pair, _)| settled(pair.before));
    found.pairs = pairs;
    found.gone.extend(back.iter().map(|(pair, _)| (pair.before, Gone::Resolved)));
    found.fresh.extend(back.iter().map(|(pair, _)| (pair.after, Fresh::Reopened)));
    // Only at the end: until here every index is one of `claims`, from here on one of the file.
    for (pair, _) in &mut found.pairs {
        (pair.before, pair.after) = (before.places[pair.before].index, after.places[pair.after].index);
    }
    found.gone.iter_mut().for_each(|(n, _)| *n = before.places[*n].index);
    found.fresh.iter_mut().for_each(|(n, _)| *n = after.places[*n].index);
    found.pairs.sort_by_key(|(pair, _)| pair.before);
    found.gone.sort_by_key(|(n, _)| *n);
    found.fresh.sort_by_key(|(n, _)| *n);
    found
}

/// What the diff says about a finding that is no longer reported.
fn gone(claim: &Claim, change: &Change, anchors: &mut Anchors<'_>) -> Gone {
    let Some(file) = claim.file.as_deref() else { return Gone::NotReported };
    // Deleted: whatever was wrong with it is gone, too.
    if change.new_path(file).is_none() {
        return Gone::Resolved;
    }
    if !change.differs(file) {
        return Gone::NotReported;
    }
    let line = anchors.of(Side::Before, claim).line;
    let changed = line.is_some_and(|line| change.old_hunk(file, line, line, 0).is_some());
    if changed { Gone::Resolved } else { Gone::NotReported }
}

/// What the diff says about a finding that was not reported before.
fn fresh(claim: &Claim, change: &Change, anchors: &mut Anchors<'_>) -> Fresh {
    let Some(file) = claim.file.as_deref() else { return Fresh::New };
    if !change.existed(file) {
        return Fresh::FixInduced;
    }
    if change.file_at(file).is_none() {
        return Fresh::Late;
    }
    match anchors.of(Side::After, claim).line {
        Some(line) if change.new_hunk(file, line, line, 0).is_some() => Fresh::FixInduced,
        Some(_) => Fresh::Late,
        None => Fresh::New,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intake::report::read_report;

    fn delta(before: &str, after: &str, diff: Option<&str>) -> String {
        let (before, after) =
            (read_report(before.as_bytes()).unwrap(), read_report(after.as_bytes()).unwrap());
        let change = diff.map(Change::from_unified);
        let found = compare_reports(&before, &after, change.as_ref(), &|_, _| None, &Scorer::default());
        let pairs =
            found.pairs.iter().map(|(p, o)| format!("{}={} {}", p.before, p.after, severity_word(*o)));
        let gone = found.gone.iter().map(|(n, gone)| format!("{n} {}", gone.word()));
        let fresh = found.fresh.iter().map(|(n, fresh)| format!("+{n} {}", fresh.word()));
        pairs.chain(gone).chain(fresh).collect::<Vec<_>>().join(", ")
    }

    const DIFF: &str = "diff --git a/x.rs b/x.rs\n--- a/x.rs\n+++ b/x.rs\n@@ -3 +3,2 @@\n-a\n+b\n+c\n";

    #[test]
    fn every_finding_of_both_reports_has_one_class() {
        let before = r#"[{"claim":"`size` is never read","severity":"warning","file":"x.rs","line":9},
            {"claim":"the lock is held while waiting","severity":"blocker","rule":"R1","file":"x.rs","line":3},
            {"claim":"no test covers this","severity":"low","file":"x.rs","line":20},
            {"claim":"an error is lost here","severity":"low","file":"x.rs","line":30,"fate":"fixed"}]"#;
        let after = r#"[{"claim":"`size` is never read","severity":"blocker","file":"x.rs","line":10},
            {"claim":"this branch cannot be reached","severity":"low","rule":"R2","file":"x.rs","line":4},
            {"claim":"the name says nothing","severity":"low","file":"x.rs","line":50},
            {"claim":"an error is lost here","severity":"low","file":"x.rs","line":31}]"#;
        for (diff, expect) in [
            (
                Some(DIFF),
                "0=0 upgraded, 1 resolved, 2 not_reported, 3 resolved, +1 fix_induced, +2 late, +3 reopened",
            ),
            (None, "0=0 upgraded, 1 not_reported, 2 not_reported, 3 resolved, +1 new, +2 new, +3 reopened"),
        ] {
            assert_eq!(delta(before, after, diff), expect);
        }
        assert_eq!(delta("[]", "[]", None), "");
    }

    /// Without a repository equal words in one file are one finding, wherever their lines went; with one, the diff says.
    #[test]
    fn equal_words_whose_lines_moved_are_paired_where_no_change_is_known() {
        let list = |rows: &[(&str, &str, u32)]| {
            let row = |(file, claim, line): &(&str, &str, u32)| {
                format!(r#"{{"claim":"{claim}","severity":"low","rule":"R","file":"{file}","line":{line}}}"#)
            };
            format!("[{}]", rows.iter().map(row).collect::<Vec<_>>().join(","))
        };
        let unused = "a value is never used";
        let before =
            list(&[("a.rs", unused, 10), ("a.rs", unused, 100), ("a.rs", unused, 300), ("b.rs", unused, 5)]);
        // All moved; one of three is gone; one is new; another file.
        let moved = list(&[("a.rs", unused, 510), ("a.rs", unused, 600), ("a.rs", unused, 800)]);
        assert_eq!(
            delta(&before, &moved, None),
            "0=0 unchanged, 1=1 unchanged, 2=2 unchanged, 3 not_reported"
        );
        let fewer = list(&[("a.rs", unused, 107), ("a.rs", unused, 307), ("b.rs", "another thing", 90)]);
        assert_eq!(
            delta(&before, &fewer, None),
            "1=0 unchanged, 2=1 unchanged, 0 not_reported, 3 not_reported, +2 new"
        );
        let more = list(&[("b.rs", unused, 1), ("b.rs", unused, 12), ("b.rs", unused, 90)]);
        assert_eq!(
            delta(&before, &more, None),
            "3=0 unchanged, 0 not_reported, 1 not_reported, 2 not_reported, +1 new, +2 new"
        );
        let far = delta(&before, &moved, Some(DIFF));
        assert!(far.contains("0 not_reported") && far.contains("+0 late"), "{far}");
    }

    /// Two reports of one tool over code nobody shows: a tenth of each is its own, at the places of the other's, and every
    /// second finding is seven lines further down. What is new is exactly what is new, also where it differs by a name.
    #[test]
    fn what_a_tool_says_anew_is_counted_exactly_where_half_of_the_lines_moved() {
        const COUNT: u32 = 4_000;
        let report = |later: bool, own: &dyn Fn(u32) -> String| {
            let row = |n: u32| {
                let words =
                    if matches!(n % 20, 3 | 14) { own(n) } else { format!("value `v{n}` is not used here") };
                let line = n % 50 * 11 + 1 + if later && n % 2 == 1 { 7 } else { 0 };
                format!(
                    r#"{{"claim":"{words}","severity":"low","rule":"R{}","file":"f{}.rs","line":{line}}}"#,
                    n % 4,
                    n / 50
                )
            };
            read_report(format!("[{}]", (0..COUNT).map(row).collect::<Vec<_>>().join(",")).as_bytes())
                .unwrap()
        };
        let check = |old: &dyn Fn(u32) -> String, new: &dyn Fn(u32) -> String| {
            let found = compare_reports(
                &report(false, old),
                &report(true, new),
                None,
                &|_, _| None,
                &Scorer::default(),
            );
            let wrong = found.pairs.iter().filter(|(pair, _)| pair.before != pair.after).count();
            let own = COUNT as usize / 10;
            assert_eq!(
                (found.gone.len(), found.fresh.len(), wrong),
                (own, own, 0),
                "{} / {}",
                old(3),
                new(3)
            );
        };
        check(&|n| format!("`a{n}` shadows an argument"), &|n| format!("the call of `f{n}` cannot fail"));
        check(&|n| format!("value `a{n}` is not used here"), &|n| format!("value `b{n}` is not used here"));
        check(&|n| format!("value a{n} is not used here"), &|n| format!("value b{n} is not used here"));
    }

    #[test]
    fn an_absent_result_that_is_back_is_reopened() {
        let sarif = |state: &str| {
            format!(
                r#"{{"runs":[{{"results":[{{"kind":"pass"}},{{"ruleId":"R","message":{{"text":"unused import"}},"locations":[{{"physicalLocation":{{"artifactLocation":{{"uri":"a.py"}},"region":{{"startLine":3}}}}}}],"baselineState":"{state}"}}]}}]}}"#
            )
        };
        assert_eq!(delta(&sarif("absent"), &sarif("new"), None), "1 resolved, +1 reopened");
        assert_eq!(delta(&sarif("unchanged"), &sarif("new"), None), "1=1 unchanged");
    }
}
