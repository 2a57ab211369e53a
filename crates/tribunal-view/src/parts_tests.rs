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

#[test]
fn a_hunk_that_was_shown_is_left_out_wherever_it_stands() {
    let hunk = |gap: u32, word: &str| -> OneHunk {
        (gap, vec![(' ', "a".into()), ('+', word.into()), (' ', "b".into())])
    };
    let before = file_diff("a.rs", &[hunk(3, "one"), hunk(9, "two"), hunk(9, "three")]);
    // The first hunk grew, so that the others moved.
    let grown =
        (3, vec![(' ', "a".to_owned()), ('+', "one".into()), ('+', "more".into()), (' ', "b".into())]);
    let after = file_diff("a.rs", &[grown.clone(), hunk(9, "two"), hunk(9, "three")])
        .replace("index 1..2", "index 1..3");
    let shown = Hunks::of(&before);
    assert_eq!(rest(&before, &shown), (String::new(), 3));
    let (left, known) = rest(&after, &shown);
    assert_eq!(
        (left.as_str(), known),
        (file_diff("a.rs", &[grown]).replace("index 1..2", "index 1..3").as_str(), 2)
    );
    // The same lines in another file, under another mode or for the second time are something else.
    assert_eq!(rest(&before.replace("a.rs", "b.rs"), &shown).1, 0);
    assert_eq!(rest(&before.replace("index ", "old mode 100644\nnew mode 100755\nindex "), &shown).1, 0);
    let twice = file_diff("a.rs", &[hunk(3, "one"), hunk(9, "one")]);
    assert_eq!(rest(&twice, &shown).1, 1);
    let mut both = shown.clone();
    both.add(Hunks::of(&twice));
    assert_eq!((rest(&twice, &both).1, rest(&after, &both).1), (2, 2));
    // A line that only lost its newline was not shown.
    assert_eq!(rest(&format!("{before}\\ No newline at end of file\n"), &shown).1, 2);
    assert_eq!(rest("", &shown), (String::new(), 0));
}

#[test]
fn a_file_without_hunks_was_shown_if_git_says_the_same_of_it() {
    let logo = |blobs: &str| {
        format!("diff --git a/l.png b/l.png\nindex {blobs} 100644\nBinary files a/l.png and b/l.png differ\n")
    };
    let mode = "diff --git a/run b/run\nold mode 100644\nnew mode 100755\n";
    let shown = Hunks::of(&format!("{}{mode}", logo("1..2")));
    assert_eq!(rest(&format!("{mode}{}", logo("1..2")), &shown), (String::new(), 2));
    assert_eq!(rest(&format!("{mode}{}", logo("1..3")), &shown), (logo("1..3"), 1), "another picture");
}

#[test]
fn binary_files_are_counted_beside_the_hunks() {
    let diff = "diff --git a/l.png b/l.png\nindex 1..2 100644\nBinary files a/l.png and b/l.png differ\n";
    let cut = of_diff(&format!("{diff}{}", file_diff("a.rs", &[(3, vec![('+', "x".into())])])), PART_MAX);
    assert_eq!((cut.hunks, cut.binary), (2, 1));
    let words =
        Showing { part: 1, parts: 1, asked: 1, done: 2, hunks: 2, binary: 1, ..Showing::default() }.words();
    assert_eq!(
        words,
        "All 2 hunks of it are below.\nOne of them is a binary file: only its name is below, the file is in the current folder.\n"
    );
}

#[test]
fn a_final_pass_says_what_it_leaves_out() {
    let words = |hunks, before| {
        Showing { part: 1, parts: 1, asked: 1, done: hunks, hunks, before, ..Showing::default() }.words()
    };
    assert!(
        words(9, 8).contains(
            "Of its 9 hunks earlier rounds showed you 8 whole, just as they are now; the one has not"
        )
    );
    assert!(words(9, 7).contains("the others have not been shown to you whole, and they are below"));
    let parts =
        Showing { part: 2, parts: 3, asked: 3, done: 40, hunks: 90, before: 10, ..Showing::default() }
            .words();
    assert!(
        parts.contains("with it 40 of 90 hunks have been shown, 10 of them in earlier rounds."),
        "{parts}"
    );
}

#[test]
fn names_with_control_characters_are_known() {
    let diff = "diff --git \"a/new\\nline\" \"b/new\\nline\"\nold mode 100644\nnew mode 100755\n\
        diff --git \"a/tab\\t\\033.rs\" \"b/tab\\t\\033.rs\"\nindex 1..2 100644\n--- \"a/tab\\t\\033.rs\"\n+++ \"b/tab\\t\\033.rs\"\n@@ -1 +1 @@\n-a\n+b\n\
        diff --git \"a/q\\\"1\" b/sp ace\nsimilarity index 100%\nrename from \"q\\\"1\"\nrename to sp ace\n";
    let cut = of_diff(diff, PART_MAX);
    assert_eq!((cut.hunks, cut.parts[0].text.as_str()), (3, diff));
    for name in ["new\nline", "tab\t\u{1b}.rs", "q\"1", "sp ace"] {
        assert_eq!(cut.holding(name, None), Some(0), "{name:?}");
    }
}

#[test]
fn what_git_says_of_a_file_is_never_cut_off() {
    let name = "n".repeat(3_000);
    let diff = format!("diff --git a/{name} b/{name}\nold mode 100644\nnew mode 100755\n");
    let cut = of_diff(&diff, 1_000);
    let whole: String = cut.parts.iter().flat_map(|part| part.text.chars()).filter(|c| *c != '\n').collect();
    assert_eq!(whole, diff.replace('\n', ""));
    assert_eq!(cut.parts.last().map(|part| part.done), Some(1));
}
