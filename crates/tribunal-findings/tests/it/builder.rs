//! Makers' closing words and rulings of hearings.

use tribunal_core::finding::Reply;
use tribunal_core::ids::FindingId;
use tribunal_findings::{read_builder, read_hearing};

#[test]
fn replies_by_line() {
    let words = read_builder(
        "FIXED: F-1, F-2 and F-3\n**REFUTED:** F-4 because the caller checks it\nCANNOT FIX: F-5 — the API is frozen\n- F-6: fixed\n\
         REFUTED: F-7\n```\nFIXED: F-8\n```\n> FIXED: F-9\nF-10: refuted because it is unreachable\nSUMMARY: added the guard\nand a test\n\n\
         DISCOVERED: flaky test in b.rs\n- old TODO in c.rs\n",
        None,
    );
    let reply = |n| words.replies.get(&FindingId(n)).cloned();
    for n in [1, 2, 3, 6] {
        assert_eq!(reply(n), Some(Reply::Fixed), "F-{n}");
    }
    assert_eq!(reply(4), Some(Reply::Refuted("the caller checks it".into())));
    assert_eq!(reply(5), Some(Reply::CannotFix("the API is frozen".into())));
    assert_eq!(reply(10), Some(Reply::Refuted("it is unreachable".into())));
    assert_eq!((reply(7), reply(8), reply(9)), (None, None, None));
    assert!(words.done);
    assert_eq!(words.summary, "added the guard and a test");
    assert_eq!(words.discovered, ["flaky test in b.rs", "old TODO in c.rs"]);
}

#[test]
fn done_unless_it_says_otherwise() {
    for (expect, text) in [
        (true, ""),
        (true, "TASK: done"),
        (true, "> TASK: not done"),
        (false, "TASK: not done"),
        (false, "**Task:** not done, the migration is missing"),
        (false, "{\"tool\":\"report_task_done\",\"args\":{\"done\":false}}"),
        (true, "{\"tool\":\"report_task_done\",\"args\":{\"done\":true,\"summary\":\"s\"}}"),
    ] {
        assert_eq!(read_builder(text, None).done, expect, "{text}");
    }
}

#[test]
fn replies_by_tool() {
    let words = read_builder(
        "{\"tool\":\"report_fix\",\"args\":{\"id\":\"F-1\",\"fixed\":true}}\n{\"tool\":\"mcp__x__report_fix\",\"args\":{\"id\":\"F-2\",\"fixed\":false,\"why\":\"frozen\"}}\n\
         {\"tool\":\"report_fix\",\"args\":{\"id\":\"F-3\",\"status\":\"refuted\",\"because\":\"dead code\"}}\n{\"tool\":\"report_fix\",\"args\":{\"id\":\"F-4\",\"status\":\"refuted\"}}\n\
         {\"tool\":\"report_task_done\",\"args\":{\"done\":true,\"summary\":\"did it\",\"discovered\":[\"a\",{\"description\":\"b\"}]}}",
        None,
    );
    assert_eq!(words.replies.len(), 3, "{words:?}");
    assert_eq!(words.replies[&FindingId(2)], Reply::CannotFix("frozen".into()));
    assert_eq!(words.replies[&FindingId(3)], Reply::Refuted("dead code".into()));
    assert_eq!((words.summary.as_str(), words.discovered.len()), ("did it", 2));
}

#[test]
fn rulings_need_one_clear_word_and_a_reason() {
    for (expect, text) in [
        (Some((true, "the race is real")), "RULING: upheld — the race is real"),
        (Some((false, "the lock is held")), "**RULING:** refuted because the lock is held"),
        (Some((false, "see the test")), "RULING: refuted\nREASON: see the test"),
        (Some((true, "it overflows at 2^32")), "RULING: upheld\nit overflows at 2^32"),
        (Some((true, "w")), "{\"upheld\": true, \"why\": \"w\"}"),
        (None, "RULING: upheld"),
        (None, "RULING: upheld or refuted: your reason"),
        (None, "RULING: upheld|refuted — why"),
        (None, "RULING: maybe, hard to say"),
        (None, "> RULING: refuted — x"),
        (None, "```\nRULING: refuted — x\n```"),
        (None, "RULING: upheld — a\nRULING: refuted — b"),
        (None, ""),
    ] {
        let found = read_hearing(text, None);
        assert_eq!(found.as_ref().map(|h| (h.upheld, h.why.as_str())), expect, "{text}");
    }
}
