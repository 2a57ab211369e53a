//! Forms that reviewers fall into, and what they must not lead to.

use tribunal_core::finding::{Severity, Verdict};
use tribunal_findings::intake::{Reading, read_as};
use tribunal_findings::read;

const GOOD: &str = "CHECKED: src/cart.ts and its tests, 14 tests pass\nVERDICT: approve\n";

fn places(text: &str) -> Vec<(String, Option<u32>, Severity)> {
    let found = read(text).findings;
    found.into_iter().map(|one| (one.file.unwrap_or_default(), one.line, one.severity)).collect()
}

#[test]
fn what_is_folded_away_leaves_doubt_and_votes_for_nothing() {
    for hidden in
        ["src/cart.ts:14 the total is a float", "- [severity:blocker] the lock leaks", "BLOCKER: it crashes"]
    {
        let text = format!("<details><summary>More</summary>\n\n{hidden}\n\n</details>\n\n{GOOD}");
        assert!(read(&text).in_doubt(), "{text}");
        assert_eq!(read(&text).effective(), None, "{text}");
    }
    let harmless = format!("<details>\nran the suite, 14 tests pass\n</details>\n\n{GOOD}");
    assert_eq!(read(&harmless).effective(), Some(Verdict::Approve));
    let verdict = "<details>\nCHECKED: src/cart.ts, 14 tests pass\nVERDICT: approve\n</details>\n";
    assert_eq!(read(verdict).effective(), None);
}

#[test]
fn an_absolute_path_names_a_file_of_the_change_or_none() {
    let text = r#"{"verdict":"reject","findings":[{"title":"panics","severity":"high","path":"/build/7/app/src/batch.rs:19"}]}"#;
    let changed = ["batch.rs".to_owned(), "src/batch.rs".to_owned(), "lib/src/batch.rs".to_owned()];
    let read = |changed: &[String]| read_as(text.as_bytes(), &Reading { word: None, changed }).findings;
    let found = read(&changed);
    assert_eq!((found[0].file.as_deref(), found[0].line), (Some("src/batch.rs"), Some(19)));
    assert_eq!(read(&changed[2..])[0].file, None);
    assert_eq!(read(&[])[0].file, None);
}

#[test]
fn findings_under_a_file_in_bold_in_headings_and_in_tables() {
    let (blocker, warning) = (Severity::Blocker, Severity::Warning);
    let cart = |line, severity| ("src/cart.ts".to_owned(), Some(line), severity);
    assert_eq!(
        places("**src/cart.ts**\n- line 14 (high): a float\n- line 60 (medium): twice\n\nVERDICT: reject\n"),
        [cart(14, blocker), cart(60, warning)]
    );
    assert_eq!(places("## src/cart.ts:14 — a float (blocker)\n\nVERDICT: reject\n"), [cart(14, blocker)]);
    assert_eq!(
        places(
            "| Where | Problem | Impact |\n|--|--|--|\n| src/cart.ts:14 | a float | P1 |\n\nVERDICT: reject\n"
        ),
        [cart(14, blocker)]
    );
    let symbol = places("`lib/q.rs::Queue::pop` loses the last item (high)\n\nVERDICT: reject\n");
    assert_eq!(symbol, [("lib/q.rs".to_owned(), None, blocker)]);
    let nits = format!("LGTM!\n\nMinor nits:\n- src/cart.ts:2 unused import\n\n{GOOD}");
    assert_eq!(places(&nits), [cart(2, Severity::Suggestion)]);
    assert_eq!(read(&nits).effective(), Some(Verdict::Approve));
}

#[test]
fn a_trace_behind_the_verdict_voids_it_and_is_no_finding() {
    let text = format!(
        "{GOOD}\nTraceback (most recent call last):\n  File \"run.py\", line 3, in <module>\nOSError: gone\n"
    );
    assert!(read(&text).findings.is_empty());
    assert_eq!(read(&text).effective(), None);
}

#[test]
fn evidence_of_nothing_or_of_a_failed_command_is_none() {
    for checked in ["n/a", "N/A.", "none", "`make test` exits with 2", "npm test, exit code 1"] {
        let text = format!("CHECKED: {checked}\nVERDICT: approve\n");
        assert_eq!(read(&text).effective(), None, "{text}");
    }
    let zero = "CHECKED: `make test` in src/ exits with 0\nVERDICT: approve\n";
    assert_eq!(read(zero).effective(), Some(Verdict::Approve));
}
