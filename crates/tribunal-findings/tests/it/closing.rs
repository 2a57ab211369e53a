//! Replies that close a finding. Only a plain one does; what sets a condition, hedges or gives no reason is no answer,
//! and is never taken for the opposite either.

use tribunal_core::finding::Said;
use tribunal_core::ids::FindingId;
use tribunal_findings::read;

fn said(reply: &str) -> Option<Said> {
    let text = format!("F-1: {reply}\n\nCHECKED: src/queue.rs, ran the tests\nVERDICT: approve\n");
    read(&text).said.get(&FindingId::parse("1").expect("an id")).cloned()
}

#[test]
fn a_plain_reply_closes() {
    for reply in [
        "resolved",
        "resolved.",
        "**resolved**",
        "resolved, moved to line 3",
        "resolved: the lock is taken before the read",
        "resolved — the query is parameterized in src/db.rs:40",
        "fixed in the second commit; the test covers it",
        "no longer present, the function was removed",
    ] {
        assert_eq!(said(reply), Some(Said::Resolved), "{reply}");
    }
    for reply in [
        "not an issue because the caller holds the lock",
        "not an issue: the router rejects empty names",
        "not an issue because bin/one.sh:2 does it and joy::it_is_there runs it",
        "not an issue because callers check if it is null",
        "false positive, the value comes from a constant",
        "not an issue because 调用者已经检查",
    ] {
        assert!(matches!(said(reply), Some(Said::NotAnIssue(_))), "{reply}");
    }
}

#[test]
fn a_reply_with_a_condition_or_without_a_reason_is_none() {
    for reply in [
        "resolved once the caller is changed",
        "resolved is not the word I would use",
        "resolved if nobody passes null",
        "resolved, provided the lock is held",
        "resolved after the next release",
        "resolved apart from the empty name",
        "resolved for ASCII names",
        "resolved in theory",
        "resolved, half of it",
        "resolved, the second loop does not count",
        "resolved, I think",
        "resolved according to the maker",
        "fixed in most places",
        "not an issue because no",
        "not an issue because it is still there",
        "not an issue because still",
        "not an issue because it is not one",
        "not an issue because I say so",
        "not an issue because it is there",
        "not an issue because by design",
        "not an issue because",
        "not an issue, if nobody calls it",
    ] {
        assert_eq!(said(reply), None, "{reply}");
    }
}
