//! Laws that hold for every parser and any output.

use crate::samples::{GOOD, read_cut};
use proptest::prelude::*;
use tribunal_agent::Parser;

/// Bytes that look like what the parsers expect, and then do not.
fn messy() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..40),
        (0..GOOD.len(), 0usize..400, 0usize..400).prop_map(|(which, from, len)| {
            let bytes = GOOD[which].text.as_bytes();
            let from = from.min(bytes.len());
            bytes[from..(from + len).min(bytes.len())].to_vec()
        }),
        Just(b"{\"type\":\"result\",\"is_error\":".to_vec()),
        Just(b"\n{\"type\":\"error\",\"message\":{},\"error\":[]}\n".to_vec()),
        Just(b"\nTokens: 9e99k sent, -1 received. Cost: $nan message\n".to_vec()),
        Just(b"{\n\"error\": {\"code\": 429}\n}\n_ApiError: {\"error\":7}\n".to_vec()),
    ];
    proptest::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_bytes_are_read_and_cuts_do_not_matter(
        stdout in messy(),
        stderr in messy(),
        cuts in proptest::collection::vec(0usize..1500, 0..5),
        exit in proptest::option::of(-1i32..60),
    ) {
        for parser in Parser::ALL {
            let whole = read_cut(parser, &stdout, &stderr, &[], exit);
            prop_assert_eq!(&whole, &read_cut(parser, &stdout, &stderr, &cuts, exit), "{:?}", parser);
            let each: Vec<usize> = (0..stdout.len().max(stderr.len())).collect();
            prop_assert_eq!(&whole, &read_cut(parser, &stdout, &stderr, &each, exit), "{:?}", parser);
            prop_assert_eq!(whole.is_answer(), whole.why_not().is_none());
            prop_assert!(whole.drift.iter().all(|drift| !drift.note.chars().any(char::is_control)));
        }
    }
}

#[test]
fn a_prefix_is_an_answer_only_with_its_final_event() {
    for good in &GOOD {
        let needed = good.text.rfind(good.last).unwrap() + good.last.len();
        for cut in 0..=good.text.len() {
            let outcome = read_cut(good.parser, &good.text.as_bytes()[..cut], b"", &[], Some(0));
            assert_eq!(outcome.is_answer(), cut >= needed, "{:?} cut at {cut}: {outcome:?}", good.parser);
            if outcome.is_answer() {
                assert_eq!(outcome.final_text.as_deref(), Some(good.says), "{:?}", good.parser);
            }
        }
    }
}

#[test]
fn the_whole_transcripts_have_no_surprises() {
    for good in &GOOD {
        let outcome = read_cut(good.parser, good.text.as_bytes(), b"", &[], Some(0));
        assert!(outcome.drift.is_empty(), "{:?}: {:?}", good.parser, outcome.drift);
    }
}

#[test]
fn an_event_nobody_knows_is_a_warning() {
    use tribunal_agent::DriftKind::{NoEvent, NotUtf8, UnknownEvent};
    let lines: [Parser; 5] = [
        Parser::Events,
        Parser::ClaudeStreamJson,
        Parser::CodexJsonl,
        Parser::GeminiStream,
        Parser::OpencodeJson,
    ];
    for good in GOOD.iter().filter(|good| lines.contains(&good.parser)) {
        let with = |line: &[u8]| {
            let bytes = [line, b"\n", good.text.as_bytes()].concat();
            let outcome = read_cut(good.parser, &bytes, b"", &[], Some(0));
            assert!(outcome.is_answer(), "{:?}: {outcome:?}", good.parser);
            outcome.drift.into_iter().map(|drift| drift.kind).collect::<Vec<_>>()
        };
        assert_eq!(with(br#"{"type":"dream","of":"sheep"}"#), [UnknownEvent], "{:?}", good.parser);
        assert_eq!(with(b"npm warn deprecated"), [NoEvent], "{:?}", good.parser);
        assert_eq!(with(b"{\"type\":\"dream\xff\"}"), [NotUtf8, UnknownEvent], "{:?}", good.parser);
        assert_eq!(with("[".repeat(100_000).as_bytes()), [NoEvent], "{:?}", good.parser);
    }
}

#[test]
fn an_exit_code_never_makes_a_success() {
    for parser in Parser::ALL {
        for exit in [None, Some(0), Some(1), Some(143)] {
            assert!(!read_cut(parser, b"", b"", &[], exit).is_answer());
        }
    }
    for good in &GOOD {
        let half = &good.text.as_bytes()[..good.text.len() / 2];
        assert!(!read_cut(good.parser, half, b"", &[], Some(0)).is_answer(), "{:?}", good.parser);
    }
}
