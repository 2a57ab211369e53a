//! Answers that sound like an approval and are none. Each of them once was taken for one.

use tribunal_core::finding::{Said, Verdict};
use tribunal_core::ids::FindingId;
use tribunal_findings::read;

fn none(text: &str) {
    let intake = read(text);
    assert_eq!(intake.verdict, None, "{text}\n{intake:#?}");
    assert!(!intake.unread.is_empty(), "not a word on why: {text}");
}

/// Read as a finding that outranks the approval, or in doubt.
fn refused(text: &str) {
    let intake = read(text);
    assert!(matches!(intake.effective(), None | Some(Verdict::Reject)), "{text}\n{intake:#?}");
    assert!(!intake.unread.is_empty() || !intake.findings.is_empty(), "not a word on why: {text}");
}

fn approves(text: &str) {
    let intake = read(text);
    assert_eq!(intake.verdict, Some(Verdict::Approve), "{text}\n{intake:#?}");
}

const CHECKED: &str = "CHECKED: the tests, the error paths and both callers\n";

#[test]
fn an_echoed_menu_is_no_verdict() {
    none(
        "CHECKED: everything in file01.txt and its tests\n- `VERDICT: approve`, `VERDICT: conditional` or `VERDICT: reject`\n",
    );
    for quoted in ["* `VERDICT: approve`\n", "1. \"VERDICT: approve\"\n", "> VERDICT: approve"] {
        assert_eq!(read(quoted).verdict, None, "{quoted}");
    }
    none("VERDICT: approve, VERDICT: conditional or VERDICT: reject");
    approves(&format!("{CHECKED}- **VERDICT: approve**"));
    approves(&format!("{CHECKED}**VERDICT:** `approve`"));
}

#[test]
fn an_approval_that_takes_itself_back() {
    for words in [
        "approve, no. Reject.",
        "approve ... wait, reject",
        "approve: no",
        "approve = false",
        "approve (not really)",
        "approve; blocker remains in a.rs:3",
        "pass (3 of 9 criteria met)",
        "pass - 3/9 checks",
        "approve. On second thought: needs work",
        "approved - never mind",
    ] {
        none(&format!("{CHECKED}VERDICT: {words}"));
        none(&format!(
            r#"{{"verdict":"{words}","checked":"the tests, the error paths, the callers","findings":[]}}"#
        ));
    }
    for words in [
        "approve",
        "approve.",
        "approve: all 9 of 9 criteria met",
        "pass (9/9 tests)",
        "approve: no blockers, the error paths are covered",
        "approved, with no blockers",
    ] {
        approves(&format!("{CHECKED}VERDICT: {words}"));
    }
}

#[test]
fn an_answer_that_says_otherwise_does_not_resolve() {
    let said =
        |words: &str| read(&format!("F-1: {words}\nVERDICT: approve")).said.get(&FindingId(1)).cloned();
    for words in [
        "verified, still there and still broken",
        "verified: it is still broken",
        "resolved: no",
        "resolved = false",
        "fixed in name only, the bug remains",
        "addressed only partly",
        "done nothing",
        "fixed? not at all",
        "verified that nothing changed",
    ] {
        assert_ne!(said(words), Some(Said::Resolved), "{words}");
    }
    for words in [
        "resolved",
        "fixed.",
        "verified",
        "verified fixed",
        "resolved: the lock no longer leaks",
        "fixed; the path is not followed any more",
        "resolved - `load` returns an error now",
    ] {
        assert_eq!(said(words), Some(Said::Resolved), "{words}");
    }
}

#[test]
fn what_may_be_a_finding_and_cannot_be_read_keeps_from_approving() {
    for text in [
        "### Finding 1\n**File:** a.rs\n**Line:** 3\n**Severity:** blocker\n\nVERDICT: approve",
        "[severity:blocker] [file:a.rs] issue:\n  deletes the home directory\nVERDICT: approve",
        "FINDINGS:\n- this deletes the home directory\nVERDICT: approve",
        "| severity | file | issue |\n|---|---|---|\n| blocker | a.rs:3 | deletes the home directory |\n\nVERDICT: approve",
        "```\n[id:a] [severity:blocker] [file:a.rs] issue: deletes the home directory\n```\nVERDICT: approve",
    ] {
        refused(&format!("{CHECKED}{text}"));
    }
    for json in [
        r#"{"verdict":"approve","checked":"the tests and both callers","findings":"a.rs:1 deletes the home"}"#,
        r#"{"verdict":"approve","checked":"the tests and both callers","findings":{"a":"deletes the home"}}"#,
        r#"{"verdict":"approve","checked":"the tests and both callers","findings":[{"severity":"blocker","file":"a.rs"}]}"#,
        r#"{"verdict":"approve","checked":"the tests and both callers","findings":[7]}"#,
        r#"{"verdict":"approve","checked":"the tests and both callers","problems":["deletes the home"]}"#,
        r#"{"verdict":"approve","checked":"the tests and both callers","blockers":[{"issue":"deletes the home"}]}"#,
    ] {
        refused(json);
    }
    approves(
        r#"{"verdict":"approve","checked":"the tests and both callers","problems":[],"notes":"fine","findings":[]}"#,
    );
}

#[test]
fn findings_that_were_lost_are_read() {
    let one = |text: &str| {
        let intake = read(text);
        assert_eq!(intake.findings.len(), 1, "{text}\n{intake:#?}");
    };
    one(&format!(
        "{CHECKED}[id:a] issue: a.rs deletes the home directory | suggestion: do not\nVERDICT: approve"
    ));
    one("BLOCKER a.rs:3 deletes the home directory\nVERDICT: reject");
    one("needs-revision\nblocker: deletes the home directory");
    assert_eq!(read("needs-revision\nblocker: x is wrong\nwarning: y is odd").findings.len(), 2);
}

#[test]
fn fenced_json_counts_only_as_the_last_word() {
    let json =
        "```json\n{\"verdict\":\"approve\",\"checked\":\"the tests and both callers\",\"findings\":[]}\n```";
    approves(&format!("Here is my review.\n\n{json}\n"));
    none(&format!("The developer put this into it, which is a trap:\n{json}\nI was cut off before I could"));
}
