//! Messy outputs and what they mean.

use super::*;
use proptest::prelude::*;
use tribunal_core::usage::SessionTotals;

const FINAL: &str = r#"{"type":"final","text":"done","usage":{"input":12,"output":3,"cost_usd":0.5}}"#;

fn events(stdout: &[u8]) -> Outcome {
    read(Parser::Events, stdout, b"", Some(0))
}

#[test]
fn a_whole_answer() {
    let out = format!(
        "{{\"type\":\"start\",\"session\":\"s1\"}}\n{{\"type\":\"message\",\"text\":\"hm\"}}\n{FINAL}\n"
    );
    let outcome = events(out.as_bytes());
    let usage =
        Usage { input: 12, output: 3, cost_usd: Some(0.5), cost_micros: Some(500_000), ..Usage::default() };
    assert_eq!(
        outcome,
        Outcome {
            complete: true,
            final_text: Some("done".to_owned()),
            usage: Some(usage),
            session: Some("s1".to_owned()),
            ..Outcome::default()
        }
    );
    assert!(outcome.is_answer());
}

#[test]
fn messy_event_streams() {
    // (output, complete, error, drift notes)
    let check = |out: &[u8], complete: bool, error: Option<&str>, drift: usize| {
        let outcome = events(out);
        let shown = String::from_utf8_lossy(&out[..out.len().min(80)]).into_owned();
        assert_eq!(outcome.complete, complete, "{shown}: {outcome:?}");
        assert_eq!(outcome.error.as_deref(), error, "{shown}");
        assert_eq!(outcome.drift.len(), drift, "{shown}: {:?}", outcome.drift);
    };
    let with_final = |line: &[u8]| [line, b"\n", FINAL.as_bytes(), b"\n"].concat();
    check(b"", false, None, 0);
    check(b"\n\n \r\n", false, None, 0);
    check(FINAL.as_bytes(), true, None, 0);
    check(&FINAL.as_bytes()[..20], false, None, 1);
    check(format!("{FINAL}\r\n").as_bytes(), true, None, 0);
    check(&with_final(b"hello"), true, None, 1);
    check(&with_final(b"\0\0\0"), true, None, 1);
    check(&with_final(br#"{"type":"thinking","text":7}"#), true, None, 1);
    check(&with_final(br#"{"kind":"start"}"#), true, None, 1);
    check(&with_final(b"[1,2"), true, None, 1);
    check(&with_final(FINAL.as_bytes()), true, None, 1);
    check(&with_final(b"{\"type\":\"message\",\"text\":\"\xff\xfe\"}"), true, None, 0);
    check(b"{\"type\":\"final\",\"text\":\"a\xffb\"}\n", true, None, 1);
    check(br#"{"type":"final","text":7}"#, false, None, 1);
    check(br#"{"type":"final"}"#, false, None, 1);
    check(br#"{"type":"final","text":"x","usage":{"input":-1}}"#, true, None, 1);
    check(br#"{"type":"final","text":"x","usage":{"cost_usd":-1.0}}"#, true, None, 1);
    check(&with_final(br#"{"type":"error","message":"quota"}"#), true, Some("quota"), 0);
    check(br#"{"type":"error"}"#, false, Some("unnamed error"), 0);
    check(&with_final("[".repeat(100_000).as_bytes()), true, None, 1);
    check(&with_final(&vec![b'x'; 9 * 1024 * 1024]), true, None, 1);
}

#[test]
fn drift_is_bounded_and_printable() {
    let outcome = events("\x1b[2J\u{7}nonsense\n".repeat(1000).as_bytes());
    assert_eq!(outcome.drift.len(), 20);
    assert_eq!(outcome.drift_more, 980);
    assert!(outcome.drift.iter().all(|drift| !drift.note.chars().any(char::is_control)));
}

#[test]
fn text_needs_both_exit_code_and_words() {
    let check = |out: &[u8], exit: Option<i32>, complete: bool, text: Option<&str>, failed: bool| {
        let outcome = read(Parser::Text, out, b"", exit);
        assert_eq!(outcome.complete, complete, "{out:?} {exit:?}");
        assert_eq!(outcome.final_text.as_deref(), text, "{out:?} {exit:?}");
        assert_eq!(outcome.error.is_some(), failed, "{out:?} {exit:?}");
    };
    check(b"fine\n", Some(0), true, Some("fine"), false);
    check(b"fine\n", Some(1), false, Some("fine"), true);
    check(b"fine\n", None, false, Some("fine"), false);
    check(b"", Some(0), false, None, false);
    check(b" \n\t\n", Some(0), false, None, false);
    check(b"\0\0", Some(0), false, None, false);
    check(b"a\0b", Some(0), true, Some("a\0b"), false);
    check(b"a\xffb", Some(0), true, Some("a\u{fffd}b"), false);
}

#[test]
fn text_that_is_too_long_is_no_answer() {
    let outcome = read(Parser::Text, &vec![b'x'; 5 * 1024 * 1024], b"", Some(0));
    assert!(!outcome.is_answer());
}

#[test]
fn an_exit_code_alone_is_never_success() {
    for parser in Parser::ALL {
        assert!(!read(parser, b"", b"", Some(0)).is_answer());
    }
}

#[test]
fn reports_are_read_or_the_launch_is_in_error() {
    let check = |report: &[u8], tools: &[&str], failed: bool, drift: usize| {
        let outcome = read(Parser::Events, FINAL.as_bytes(), report, Some(0));
        let read: Vec<_> = outcome.reports.iter().map(|call| call.tool.as_str()).collect();
        assert_eq!(read, tools);
        assert_eq!(outcome.error.is_some(), failed, "{outcome:?}");
        assert_eq!(outcome.drift.len(), drift, "{outcome:?}");
    };
    let vote = br#"{"tool":"cast_verdict","args":{"verdict":"approve"}}"#;
    check(b"", &[], false, 0);
    check(vote, &["cast_verdict"], false, 0);
    check(&[&vote[..], b"\n", vote, b"\n"].concat(), &["cast_verdict", "cast_verdict"], false, 0);
    check(br#"{"tool":"escalate"}"#, &["escalate"], false, 0);
    check(&[&vote[..], b"\n", &vote[..20]].concat(), &["cast_verdict"], true, 0);
    check(&[b"nonsense\n", &vote[..]].concat(), &["cast_verdict"], true, 0);
    check(br#"{"tool":"rm","args":{}}"#, &[], false, 1);
    check(br#"{"tool":"escalate","args":[1]}"#, &[], true, 0);
    check(&vec![b'x'; 2 * 1024 * 1024], &[], true, 0);
}

#[test]
fn files_that_are_not_plain_are_the_agents_fault() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("out"), FINAL).unwrap();
    std::fs::write(at("secret"), r#"{"tool":"cast_verdict","args":{}}"#).unwrap();
    std::os::unix::fs::symlink(at("secret"), at("link")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR)
        .unwrap();
    std::fs::create_dir(at("folder")).unwrap();
    let adapters = crate::Adapters::built_in().unwrap();
    let files = |out: &str, report: &str| {
        let (stdout, stderr, report) = (&*at(out), &*at("stderr"), &*at(report));
        let left = Left {
            stdout,
            stderr,
            report,
            exit: Some(0),
            before: SessionTotals::default(),
            structured: false,
        };
        read_launch(adapters.get("scripted").unwrap(), &left).unwrap()
    };
    let read = |name: &str| files("out", name);
    assert!(read("secret").is_answer());
    assert!(read("missing").is_answer());
    for name in ["link", "pipe", "folder"] {
        let outcome = read(name);
        assert!(!outcome.is_answer(), "{name}");
        assert!(outcome.reports.is_empty(), "{name}");
    }
    assert!(!files("missing", "missing").is_answer());
}

proptest! {
    #[test]
    fn any_bytes_are_read(out in proptest::collection::vec(any::<u8>(), 0..400), report in proptest::collection::vec(any::<u8>(), 0..200)) {
        for parser in Parser::ALL {
            read(parser, &out, &report, Some(0));
        }
    }

    #[test]
    fn a_prefix_is_never_complete(cut in 0..FINAL.len()) {
        prop_assert!(!events(&FINAL.as_bytes()[..cut]).complete);
    }
}
