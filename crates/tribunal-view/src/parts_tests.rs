//! The cutter: what goes in comes out, each line once, with its number.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Changed lines by file, sign and number.
type Changed = BTreeMap<(String, char, u32), String>;

/// Reads a diff with eyes of its own. Pieces of one line are joined.
fn changed(diff: &str) -> Changed {
    let (mut file, mut old, mut new) = (String::new(), 0, 0);
    let mut all = Changed::new();
    let mut piece: Option<(u32, u32)> = None;
    for line in diff.split_terminator('\n') {
        if let Some(name) = line.strip_prefix("diff --git a/") {
            file = name.split(" b/").next().unwrap().to_owned();
        } else if let Some(numbers) = line.strip_prefix("@@ -") {
            let mut sides = numbers.split(" @@").next().unwrap().split(" +");
            let mut side = || {
                let (start, many) = sides.next().unwrap().split_once(',').unwrap();
                start.parse::<u32>().unwrap() + u32::from(many == "0")
            };
            (old, new) = (side(), side());
        } else if let Some(mark) = line.strip_prefix("\\ The next line is piece ") {
            let mut words = mark.split(' ');
            piece = Some((words.next().unwrap().parse().unwrap(), words.nth(1).unwrap().parse().unwrap()));
        } else if line.starts_with(['+', '-', ' ']) && !line.starts_with("+++ ") && !line.starts_with("--- ")
        {
            let (sign, text) = (line.chars().next().unwrap(), &line[1..]);
            let at = if sign == '-' { old } else { new };
            if sign != ' ' {
                all.entry((file.clone(), sign, at)).or_default().push_str(text);
            }
            // Only the last piece of a line leads to the next one.
            if piece.take().is_none_or(|(n, of)| n == of) {
                old += u32::from(sign != '+');
                new += u32::from(sign != '-');
            }
        }
    }
    all
}

/// Signed lines, with a gap before them.
type OneHunk = (u32, Vec<(char, String)>);

/// One file's change.
fn file_diff(name: &str, hunks: &[OneHunk]) -> String {
    let mut out = format!("diff --git a/{name} b/{name}\nindex 1..2 100644\n--- a/{name}\n+++ b/{name}\n");
    let (mut old, mut new) = (1, 1);
    for (gap, lines) in hunks {
        (old, new) = (old + gap, new + gap);
        let many = |without: char| lines.iter().filter(|(sign, _)| *sign != without).count() as u32;
        let (olds, news) = (many('+'), many('-'));
        let start = |next: u32, many: u32| if many == 0 { next - 1 } else { next };
        writeln!(out, "@@ -{},{olds} +{},{news} @@ fn f()", start(old, olds), start(new, news)).unwrap();
        lines.iter().for_each(|(sign, text)| writeln!(out, "{sign}{text}").unwrap());
        (old, new) = (old + olds, new + news);
    }
    out
}

fn line() -> impl Strategy<Value = (char, String)> {
    let text = prop_oneof![
        8 => "[a-z äß漢]{0,40}",
        1 => "[a-zé漢🙂]{300,900}",
        1 => Just(String::new()),
    ];
    (prop_oneof![Just('+'), Just('-'), Just(' ')], text)
}

fn files() -> impl Strategy<Value = Vec<(String, Vec<OneHunk>)>> {
    let hunk = (4..50_u32, proptest::collection::vec(line(), 1..60));
    let hunks = proptest::collection::vec(hunk, 0..4);
    proptest::collection::vec(hunks, 0..6).prop_map(|files| {
        files.into_iter().enumerate().map(|(n, hunks)| (format!("src/f{n}.rs"), hunks)).collect()
    })
}

proptest! {
    #[test]
    fn every_changed_line_is_in_some_part_exactly_once(files in files(), limit in 900..5_000_usize) {
        let diff: String = files.iter().map(|(name, hunks)| file_diff(name, hunks)).collect();
        let cut = of_diff(&diff, limit);
        prop_assert!(cut.parts.iter().all(|part| part.text.len() <= limit), "{:?}", cut.parts.iter().map(|p| p.text.len()).collect::<Vec<_>>());
        let whole: String = cut.parts.iter().map(|part| part.text.as_str()).collect();
        prop_assert_eq!(changed(&whole), changed(&diff));
        let hunks: usize = files.iter().map(|(_, hunks)| hunks.len().max(1)).sum();
        prop_assert_eq!(cut.hunks as usize, hunks);
        prop_assert_eq!(cut.parts.last().map(|part| part.done), Some(cut.hunks));
        prop_assert!(cut.parts.is_sorted_by_key(|part| part.done));
        // The lines of a hunk that is not cut stand together.
        if diff.len() <= limit {
            prop_assert_eq!(&cut.parts[0].text, &diff);
        }
        for (name, sign, at) in changed(&diff).keys() {
            let part = cut.holding(name, Some(*at)).unwrap();
            if *sign == '+' {
                let here = changed(&cut.parts[part].text);
                prop_assert!(here.contains_key(&(name.clone(), '+', *at)), "{name}:{at} is not in part {part}");
            }
        }
    }

    #[test]
    fn nothing_is_lost_of_any_text(text in "(?s).{0,4000}", limit in 700..2_000_usize) {
        let cut = of_diff(&text, limit);
        prop_assert!(cut.parts.iter().all(|part| part.text.len() <= limit + 1));
        let cut = of_document(&text, limit);
        prop_assert_eq!(cut.parts.iter().map(|part| part.text.as_str()).collect::<String>(), text);
        prop_assert!(cut.parts.iter().all(|part| part.text.len() <= limit));
    }
}

#[test]
fn a_line_of_three_hundred_kilobytes_is_shown_in_pieces() {
    let long = "ä".repeat(150_000);
    let diff =
        file_diff("min.js", &[(0, vec![('-', "old".into()), ('+', long.clone()), (' ', "end".into())])]);
    let cut = of_diff(&diff, PART_MAX);
    assert_eq!((cut.parts.len(), cut.hunks), (4, 1), "the new line is in each");
    assert_eq!(cut.parts.iter().map(|part| part.done).collect::<Vec<_>>(), [0, 0, 0, 1]);
    for part in &cut.parts {
        assert!(part.text.len() <= PART_MAX && part.text.starts_with("diff --git a/min.js b/min.js\n"));
    }
    assert!(cut.parts[0].text.contains("@@ -1,1 +1,1 @@ fn f()\n-old\n\\ The next line is piece 1 of 4"));
    assert!(cut.parts[1].text.contains("@@ -1,0 +1,1 @@ fn f()\n\\ The next line is piece 2 of 4"));
    let whole: String = cut.parts.iter().map(|part| part.text.as_str()).collect();
    assert_eq!(changed(&whole)[&("min.js".to_owned(), '+', 1)], long);
}

#[test]
fn files_without_hunks_are_named_and_counted() {
    let diff = "diff --git a/logo.png b/logo.png\nindex 1..2 100644\nBinary files a/logo.png and b/logo.png differ\n\
        diff --git a/a.rs b/b.rs\nsimilarity index 100%\nrename from a.rs\nrename to b.rs\n";
    let cut = of_diff(diff, PART_MAX);
    assert_eq!((cut.parts.len(), cut.hunks, cut.parts[0].text.as_str()), (1, 2, diff));
    assert_eq!(cut.holding("logo.png", Some(7)), Some(0));
    assert_eq!(cut.holding("a.rs", None), Some(0));
    assert_eq!(cut.holding("b.rs", None), Some(0));
    assert_eq!(cut.holding("c.rs", None), None);
}

#[test]
fn nothing_is_one_empty_part() {
    let cut = of_diff("", PART_MAX);
    assert_eq!((cut.parts.len(), cut.hunks, cut.parts[0].done), (1, 0, 0));
    let cut = of_document("a\nb\n", PART_MAX);
    assert_eq!((cut.parts.len(), cut.hunks, cut.parts[0].done), (1, 1, 1));
}
