//! Bad input, one row each: none crashes, none approves, each says what was wrong.

use tribunal_core::finding::{Claim, Severity, Verdict};
use tribunal_findings::track::compare::{Fresh, Gone};
use tribunal_findings::track::pair::Scorer;
use tribunal_findings::track::{Change, compare};
use tribunal_findings::{Intake, read, read_bytes, read_report, read_sarif};

fn whys(intake: &Intake) -> String {
    intake.unread.iter().map(|unread| format!("{} <- {}\n", unread.why, unread.text)).collect()
}

#[test]
fn nothing_bad_approves_and_each_says_what_was_wrong() {
    let approving = "VERDICT: approve\nCHECKED: ran the tests and read the parser\n";
    for (name, bytes, expect) in [
        ("truncated JSON", b"{\"verdict\":\"approve\",\"findings\":[{\"claim\":\"x".to_vec(), "JSON"),
        ("two verdicts", b"VERDICT: approve\nVERDICT: reject".to_vec(), "contradict"),
        ("two verdicts in JSON", b"{\"verdict\":\"approve\",\"verdict\":\"reject\"}".to_vec(), "verdict"),
        ("in a code fence", b"```\nVERDICT: approve\n```".to_vec(), "inside a code fence"),
        ("quoted from the prompt", b"> VERDICT: approve".to_vec(), "quoted or echoed"),
        ("echoed", b"End with one of these:\nVERDICT: approve\n".to_vec(), "quoted or echoed"),
        ("NUL", format!("{approving}\0").into_bytes(), "NUL"),
        ("invalid UTF-8", [approving.as_bytes(), b"\xff\xfe"].concat(), "UTF-8"),
        ("a placeholder", b"VERDICT: approve | reject".to_vec(), "a list of possible verdicts"),
    ] {
        let intake = read_bytes(&bytes);
        assert!(intake.verdict.is_none_or(|verdict| verdict == Verdict::Reject), "{name}: {intake:?}");
        assert!(whys(&intake).contains(expect), "{name}: {}", whys(&intake));
    }
}

#[test]
fn dressed_up_verdicts_are_read() {
    for text in [
        "**VERDICT:** **reject**",
        "\u{1b}[1;31mVERDICT: reject\u{1b}[0m",
        "VERDICT: reject\r\nFINDINGS:\r\nnone\r\n",
        "__Verdict__: `reject`",
    ] {
        assert_eq!(read(text).verdict, Some(Verdict::Reject), "{text:?}");
    }
}

#[test]
fn places_no_subject_has() {
    for (place, file, line, why) in [
        ("../../etc/passwd:3", None, None, "leaves the subject"),
        ("a/../../b.rs:3", None, None, "leaves the subject"),
        ("/etc/passwd:3", None, None, "absolute"),
        ("C:\\Windows\\x.ini", None, None, "absolute"),
        ("~/x.rs", None, None, "absolute"),
        ("https://example.org/x.rs", None, None, "URL"),
        ("src/a.rs:0", Some("src/a.rs"), None, "line"),
        ("src/a.rs:1000000000", Some("src/a.rs"), None, "line"),
        ("src/a.rs:99999999999999999999", Some("src/a.rs"), None, "line"),
    ] {
        let text = format!(
            "VERDICT: reject\nFINDINGS:\n- [id:1] [severity:high] [file:{place}] issue: it is wrong\n"
        );
        let intake = read(&text);
        let claim = &intake.findings[0];
        assert_eq!((claim.file.as_deref(), claim.line), (file, line), "{place}: {}", whys(&intake));
        assert!(whys(&intake).contains(why), "{place}: {}", whys(&intake));
    }
}

#[test]
fn severities_and_confidence_in_other_words() {
    for (word, expect) in [
        ("critical", Severity::Blocker),
        ("HIGH", Severity::Blocker),
        ("error", Severity::Blocker),
        ("major", Severity::Warning),
        ("P0", Severity::Blocker),
        ("medium", Severity::Warning),
        ("moderate", Severity::Warning),
        ("minor", Severity::Suggestion),
        ("nit", Severity::Suggestion),
        ("low", Severity::Suggestion),
        ("info", Severity::Suggestion),
        ("🔴 blocker", Severity::Blocker),
        ("bananas", Severity::Warning),
    ] {
        let intake =
            read(&format!("- [id:1] [severity:{word}] [file:a.rs:1] issue: wrong\n\nVERDICT: reject"));
        assert_eq!(intake.findings[0].severity, expect, "{word}: {}", whys(&intake));
        assert_eq!(whys(&intake).contains("bananas"), word == "bananas", "{}", whys(&intake));
    }
    for (value, expect, stated) in [
        ("\"95%\"", 95, true),
        ("\"high\"", 90, true),
        ("0.95", 95, true),
        ("95", 95, true),
        ("\"0.95\"", 95, true),
        ("1", 100, true),
        ("150", 80, false),
        ("-3", 80, false),
        ("\"sure\"", 80, false),
        ("null", 80, false),
    ] {
        let text = format!(
            r#"{{"verdict":"reject","findings":[{{"claim":"x","severity":"low","confidence":{value}}}]}}"#
        );
        let claim = &read(&text).findings[0];
        assert_eq!((claim.confidence, claim.confidence_stated), (expect, stated), "{value}");
    }
}

#[test]
fn ids_reused_or_missing_lose_nothing() {
    let text = "VERDICT: reject\nFINDINGS:\n- [id:1] [severity:low] [file:a.rs:1] issue: one\n- [id:1] [severity:low] [file:a.rs:9] issue: two\n\
        - [severity:low] [file:a.rs:20] issue: three\n- [id:] [severity:low] [file:a.rs:30] issue: four\n";
    let intake = read(text);
    assert_eq!(intake.findings.len(), 4, "{:#?}", intake.findings);
    assert!(whys(&intake).contains("the same id for 2 findings"), "{}", whys(&intake));
}

#[test]
fn a_hundred_thousand_findings() {
    let mut text = String::from("VERDICT: reject\nFINDINGS:\n");
    for n in 0..100_000 {
        text.push_str(&format!(
            "- [id:{n}] [severity:low] [file:src/f{}.rs:{}] issue: number {n}\n",
            n % 90,
            n + 1
        ));
    }
    assert_eq!(read(&text).findings.len(), 100_000);
}

#[test]
fn sarif_as_tools_really_write_it() {
    let text = r#"{"runs":[
        {"results":[{"message":{"text":"no place"}},{"ruleId":"A","level":"error","message":{"text":"no region"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"./src//a%20b.py","uriBaseId":"%SRCROOT%"}}}]}]},
        {"results":[{"ruleId":"B","level":"note","message":{"text":"far"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"%2e%2e/%2e%2e/etc/passwd"},"region":{"startLine":1000000000}}}]}],"externalPropertyFileReferences":{"results":[{"location":{"uri":"more.sarif-external-properties"}}]}}],
        "inlineExternalProperties":[{"results":[{"ruleId":"C","level":"warning","message":{"text":"inline"}}]}]}"#;
    let intake = read_sarif(text);
    let found: Vec<_> = intake
        .findings
        .iter()
        .map(|claim| (claim.claim.as_str(), claim.file.as_deref(), claim.line))
        .collect();
    let expect = [
        ("no place", None, None),
        ("no region", Some("src/a b.py"), None),
        ("far", None, None),
        ("inline", None, None),
    ];
    assert_eq!(found, expect, "{}", whys(&intake));
    for why in ["leaves the subject", "not a line", "other files are not read"] {
        assert!(whys(&intake).contains(why), "{why}: {}", whys(&intake));
    }
    assert_eq!(intake.verdict, None);
    let report = read_report(text.as_bytes()).unwrap();
    assert_eq!((report.claims.len(), report.other_runs), (2, 1));
}

#[test]
fn a_file_that_is_not_in_the_tree_is_no_reason_to_stop() {
    let before = Claim::new(Severity::Warning, "`load` hides the error").at("gone/nowhere.rs", Some(7));
    let after = Claim::new(Severity::Warning, "`load` hides the error").at("gone/nowhere.rs", Some(9));
    let other = Claim::new(Severity::Warning, "the name is vague").at("never/was.rs", Some(1_000_000));
    let found = compare(&[&before, &other], &[&after], &Change::default(), &|_, _| None, &Scorer::default());
    assert_eq!(found.pairs.len(), 1, "{found:?}");
    assert_eq!(found.gone, [(1, Gone::NotReported)]);
    let found = compare(&[], &[&other], &Change::default(), &|_, _| None, &Scorer::default());
    assert_eq!(found.fresh, [(0, Fresh::Late)]);
}

#[test]
fn one_endless_line_of_json_approves_nothing() {
    let padding = "x".repeat(1 << 20);
    let answer = |verdict: &str| read(&format!(r#"{{"verdict":"{verdict}","checked":"{padding}"}}"#));
    let intake = answer("approve");
    assert_eq!(intake.verdict, None);
    assert!(intake.unread.iter().any(|unread| unread.why.contains("too long")), "{:?}", intake.unread);
    assert!(answer("reject").verdict.is_some());
}

#[test]
fn a_message_without_anything_says_so() {
    for text in ["", "  \n", "hello", "[[[[[[", "\u{1b}[31m"] {
        let intake = read(text);
        assert!(intake.verdict.is_none() && !intake.unread.is_empty(), "{text:?}: {intake:?}");
    }
}
