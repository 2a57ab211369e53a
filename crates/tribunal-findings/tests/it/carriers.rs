//! An approval covers the whole answer: whatever part of a form carries a sentence that may tell of a fault, the answer
//! does not approve. The same answers with a harmless sentence in that place do.

use tribunal_core::finding::Verdict;
use tribunal_findings::{Reading, read, read_as};

const FAULTS: &[&str] = &[
    "src/a.rs:4 reads past the end",
    "nobody frees the buffer",
    "the token never expires",
    "this silently drops the last row",
    "der Puffer wird nie freigegeben",
    "没有加锁",
];

const GOOD: &str = "\n\nCHECKED: read every changed file and ran the suite, 64 passed\nVERDICT: approve\n";

/// Parts of a form beside its own words, and parts that only look like a quotation. `@` is the sentence, `$` the rest
/// of an approving answer.
#[rustfmt::skip]
const CARRIERS: &[&str] = &[
    // Cells of a table that no column explains.
    "| check | note | result |\n|---|---|---|\n| auth | @ | pass |$",
    "| check | result |\n|---|---|\n| @ | ✅ pass |$",
    "| part | verdict | why |\n|---|---|---|\n| api | approve | @ |$",
    "| part | verdict |\n|---|---|\n| @ | approve |$",
    "| check | @ | result |\n|---|---|---|\n| suite | - | pass |$",
    // A frontmatter and lines about the review.
    "---\nphase: 1\nnote: @\nstatus: clean\n---\n\nI ran the suite, 64 passed.$",
    "---\nphase: 1\nnotes:\n  - @\nstatus: clean\n---\n\nI ran the suite, 64 passed.$",
    "---\nphase: 1\nfiles_reviewed_list:\n  - @\nstatus: clean\n---\n\nI ran the suite, 64 passed.$",
    "Reviewer: @$",
    "_Depth: @_$",
    // Titles.
    "**Blockers (@)**$",
    "## Critical issues (@)$",
    "Findings (@): none$",
    "### Summary: @$",
    "## Notes on why @$",
    // Tags and what stands in them.
    "<review>ok <b>@</b></review>$",
    "<review>\n@\n</review>$",
    "<verdict note=\"@\">approve</verdict>\n<checked>ran the suite, 64 passed</checked>",
    "<verdict>approve</verdict>\n<checked note=\"@\">ran the suite, 64 passed</checked>",
    "<review comment=\"@\">\n<verdict>approve</verdict>\n<checked>ran the suite, 64 passed</checked>\n</review>",
    "<verdict>approve</verdict> @\n<checked>ran the suite, 64 passed</checked>",
    "<remarks>@</remarks>$",
    "<remarks text=\"@\"/>$",
    "<thinking>ok</thinking> @$",
    // Keys of JSON that are about something else, and its comments.
    "{\"verdict\":\"approve\",\"checked\":\"ran the suite, 64 passed\",\"name\":\"@\"}",
    "{\"verdict\":\"approve\",\"checked\":\"ran the suite, 64 passed\",\"id\":\"@\"}",
    "{\"verdict\":\"approve\",\"checked\":\"ran the suite, 64 passed\",\"reviewer\":\"@\"}",
    "{\"word\":\"@\",\"verdict\":\"approve\",\"checked\":\"ran the suite, 64 passed\"}",
    "{\"verdict\":\"approve\",\"checked\":\"ran the suite, 64 passed\",\"@\":\"\"}",
    "{\"verdict\":\"approve\",\"checked\":\"ran the suite, 64 passed\",\"@\":true}",
    "{\"verdict\":\"approve\",\"checked\":\"ran the suite, 64 passed\",\"checks\":[{\"name\":\"@\",\"passed\":true}]}",
    "{\"verdict\":\"approve\",\"checked\":\"ran the suite, 64 passed\",\"checks\":[{\"name\":\"t\",\"passed\":true,\"note\":\"@\"}]}",
    "{\"verdict\":\"approve\", // @\n\"checked\":\"ran the suite, 64 passed\"}",
    "{\"verdict\":\"approve\", /* @ */ \"checked\":\"ran the suite, 64 passed\"}",
    "```json\n{\"verdict\":\"approve\", // @\n\"checked\":\"ran the suite, 64 passed\"}\n```",
    "{\"review\":{\"verdict\":\"approve\",\"checked\":\"ran the suite, 64 passed\",\"note\":\"@\"}}",
    // Links, boxes, comments.
    "I read [src/b.rs](x \"@\").$",
    "I read [@](src/b.rs).$",
    "![@](x.png)$",
    "I read it all[^1].\n\n[^1]: @$",
    "> [!WARNING]\n> @$",
    "<!-- @ -->$",
    // A question whose answer does not dismiss it.
    "- Does it hold that @? No doubt about it.$",
    "- @? Never mind, it is so.$",
];

fn answer(carrier: &str, sentence: &str) -> String {
    carrier.replace('@', sentence).replace('$', GOOD)
}

#[test]
fn no_part_of_a_form_hides_a_fault() {
    let mut open = Vec::new();
    for carrier in CARRIERS {
        for fault in FAULTS {
            let text = answer(carrier, fault);
            if matches!(read(&text).effective(), Some(Verdict::Approve | Verdict::Conditional)) {
                open.push(text);
            }
        }
    }
    assert!(open.is_empty(), "{} approved, such as {:#?}", open.len(), &open[..open.len().min(9)]);
}

#[test]
fn a_harmless_sentence_in_their_place_is_approved() {
    // These leave doubt by themselves: an answer in another, a question, a picture, a title of a link.
    let doubtful =
        ["{\"review\"", "- Does it hold", "- @?", "<review>ok", "## Notes", "![", "I read [src/b.rs]"];
    let mut refused = Vec::new();
    for carrier in CARRIERS.iter().filter(|one| !doubtful.iter().any(|start| one.starts_with(start))) {
        let text = answer(carrier, "all tests pass");
        if read(&text).effective() != Some(Verdict::Approve) {
            refused.push(text);
        }
    }
    assert!(refused.is_empty(), "{} of {}: {refused:#?}", refused.len(), CARRIERS.len());
}

#[test]
fn a_quotation_that_names_a_place_or_a_severity_leaves_doubt() {
    for quoted in [
        "> src/a.rs:4 reads past the end",
        "> **Blocker:** the lock is never released",
        "```\n[critical] src/a.rs:4 reads past the end\n```",
    ] {
        assert!(read(&format!("{quoted}{GOOD}")).in_doubt(), "{quoted}");
    }
    for quoted in ["> the task: rename the field", "```\ncargo test: 64 passed\n```", "> see src/a.rs"] {
        assert_eq!(read(&format!("{quoted}{GOOD}")).effective(), Some(Verdict::Approve), "{quoted}");
    }
}

#[test]
fn a_count_or_a_flag_speaks_against_the_work() {
    let with = |field: &str| {
        format!(r#"{{"verdict":"approve","checked":"read src/a.rs, 64 tests passed",{field}}}"#)
    };
    for field in [
        r#""blockers":2"#,
        r#""critical":1"#,
        r#""has_bugs":true"#,
        r#""testsPassed":false"#,
        r#""tests_failed":3"#,
    ] {
        assert!(read(&with(field)).in_doubt(), "{field}");
    }
    for field in [
        r#""blockers":0"#,
        r#""has_bugs":false"#,
        r#""tests_passed":true"#,
        r#""files_reviewed":3"#,
        r#""score":0.9"#,
    ] {
        assert_eq!(read(&with(field)).effective(), Some(Verdict::Approve), "{field}");
    }
}

#[test]
fn evidence_without_the_word_is_no_evidence() {
    let reading = Reading { word: Some("k7f3q2xa"), ..Reading::default() };
    let read = |text: &str| read_as(text.as_bytes(), &reading);
    let intake = read("CHECKED: read src/a.rs, 30 tests passed\nVERDICT k7f3q2xa: approve\n");
    assert_eq!((intake.effective(), intake.checked.as_str()), (None, ""), "{intake:?}");
    let carried =
        "<verdict word=\"k7f3q2xa\">approve</verdict>\n<checked>read src/a.rs, 30 tests passed</checked>\n";
    assert_eq!(read(carried).effective(), None);
}

/// Whoever names a fault and forgets the verdict is held to it; an answer that names none binds nobody.
#[test]
fn words_against_the_work_are_kept_without_a_verdict() {
    for text in [
        "The connection leaks when the name is long. I reject this.",
        "I reject this.",
        "NEEDS WORK: the connection leaks when the name is long.",
        "连接泄漏，必须修复。拒绝。",
        "{\"verdict\":\"reject\",\"stuff\":[{\"what\":\"the connection leaks\"}]",
        "the connection leaks",
    ] {
        let intake = read(text);
        assert_eq!(intake.effective(), None, "{text}");
        assert!(intake.doubts().next().is_some(), "{text}: {:?}", intake.unread);
    }
    for text in ["", "I could not make up my mind today", "Let me look at the files first.", "{\"verdict\":"]
    {
        assert_eq!(read(text).doubts().count(), 0, "{text}");
    }
}

#[test]
fn a_refused_approval_says_why() {
    for text in [
        "Verdict\n=======\n\napprove\n",
        "VERDICT: approve\n",
        "CHECKED: nothing\nVERDICT: approve\n",
        "{\"verdict\":\"approve\",\"findings\":[]}",
    ] {
        let intake = read(text).explained();
        assert_eq!(intake.effective(), None, "{text}");
        assert!(!intake.unread.is_empty(), "{text}");
    }
}
