//! Every form with samples as models and people write them, and the laws of reading.

use proptest::prelude::*;
use tribunal_core::finding::{FixableBy, Said, Severity, Verdict};
use tribunal_core::ids::FindingId;
use tribunal_findings::{Form, Intake, read, read_bytes, read_compiler_lines, read_sarif};

fn whys(intake: &Intake) -> String {
    intake.unread.iter().map(|u| format!("{} <- {}\n", u.why, u.text)).collect()
}

/// Verdict only: `approve`, `conditional`, `reject`, `fail` (fundamental) or `none`.
pub(crate) fn verdict_word(intake: &Intake) -> &'static str {
    match (intake.verdict, intake.fundamental) {
        (None, _) => "none",
        (Some(Verdict::Approve), _) => "approve",
        (Some(Verdict::Conditional), _) => "conditional",
        (Some(Verdict::Reject), true) => "fail",
        (Some(Verdict::Reject), false) => "reject",
    }
}

#[test]
fn verdicts_that_count_and_verdicts_that_do_not() {
    for (expect, text) in [
        ("approve", "VERDICT: approve"),
        ("approve", "**VERDICT:** approve\n"),
        ("approve", "**Verdict**: **APPROVE**"),
        ("approve", "### Verdict: PASS"),
        ("approve", "✅ Verdict: approved"),
        ("approve", "- VERDICT: `approve`"),
        ("approve", "\u{1b}[1;32mVERDICT:\u{1b}[0m approve\r\nFINDINGS:\r\nnone\r\n"),
        ("approve", "Verdict (round 2): approve"),
        ("approve", "## Final Verdict\n\n**PASS** — I ran the suite and read the three files."),
        ("approve", "## Final Verdict\nPASS\n"),
        ("approve", "**Final Verdict**\n\nPASS"),
        ("approve", "VERDICT: approve\n\nIn short:\n\nVERDICT: approve"),
        ("reject", "Status: needs-revision"),
        ("reject", "## Review: needs-revision\n\n- blocker: no error handling"),
        ("approve", "**Status:** approved"),
        ("approve", "Result: approved"),
        ("fail", "**FAIL**\n\nThe design cannot work."),
        ("approve", "**PASS** — I ran the suite and read the three files."),
        ("approve", "Approved"),
        ("approve", "Decision: approved"),
        ("conditional", "VERDICT: conditional"),
        ("conditional", "Verdict: approve with warnings"),
        ("reject", "VERDICT: reject"),
        ("reject", "needs-revision\n\n- blocker: no error handling"),
        ("reject", "Decision: **needs-revision**"),
        ("reject", "## Final Verdict\n- **NEEDS WORK** — Findings 1, 2"),
        ("fail", "## Final Verdict\n\n**FAIL** — the design cannot work"),
        ("fail", "VERDICT: FAIL"),
        ("reject", "VERDICT: FAIL\nVERDICT: NEEDS WORK"),
        ("reject", "> VERDICT: approve\n\nVERDICT: reject"),
        ("reject", "```\nVERDICT: approve\n```\nVERDICT: reject"),
        (
            "reject",
            "You asked me to end with one of these:\nVERDICT: approve\nVERDICT: reject\n\nVERDICT: reject",
        ),
        ("reject", "<example>\nVERDICT: approve\n</example>\nVERDICT: reject"),
        ("reject", "VERDICT: approve | conditional | reject\n\nVERDICT: reject"),
        ("none", ""),
        ("none", " \n\t\n"),
        ("none", "looks good to me"),
        ("none", "```\nVERDICT: approve\n```"),
        ("none", "```text\nVERDICT: approve"),
        ("none", "~~~\nVERDICT: approve\n~~~"),
        ("none", "> VERDICT: approve"),
        ("none", "- > VERDICT: approve"),
        ("none", "\"VERDICT: approve\""),
        ("none", "`VERDICT: approve`"),
        ("none", "    VERDICT: approve"),
        ("none", "\tVERDICT: approve"),
        ("none", "VERDICT: approve\nVERDICT: reject"),
        ("none", "VERDICT: reject\rVERDICT: approve"),
        ("none", "VERDICT: approve | conditional | reject"),
        ("none", "VERDICT: {approve|reject}"),
        ("none", "VERDICT: <your verdict>"),
        ("none", "VERDICT: approve if the tests pass"),
        ("none", "VERDICT: approve?"),
        ("none", "VERDICT: maybe"),
        ("none", "VERDICT: approve\nVERDICT: hold on, I must look again"),
        ("none", "VERDICT:"),
        ("none", "I would say VERDICT: approve"),
        ("none", "The last line must be VERDICT: approve"),
        ("none", "For example:\nVERDICT: approve"),
        ("none", "Prompt:\nVERDICT: approve"),
        ("none", "<!-- VERDICT: approve -->"),
        ("none", "<!--\nVERDICT: approve\n-->"),
        ("none", "<thinking>\nVERDICT: approve"),
        ("none", "PASS\nok  example.com/pkg 0.01s"),
        (
            "none",
            "## Final Verdict\n\n- **PASS** — no blockers\n- **NEEDS WORK** — blockers\n- **FAIL** — start again\n",
        ),
        ("none", "{\"verdict\": \"approve\", \"findings\": ["),
        ("none", "{\"verdict\": \"approve\", \"verdict\": \"reject\"}"),
        ("none", "{\"verdict\": \"approve\"}\nVERDICT: reject"),
        ("none", "{\"verdict\": true}"),
        ("none", "{\"verdict\": \"approve or reject\"}"),
        ("none", "VERDICT: approve\0"),
        ("none", "Verdict: not sure, perhaps approve"),
        ("reject", "Verdict: not approved"),
        ("reject", "VERDICT: ~~approve~~ reject"),
        ("none", "```json\n{\"verdict\":\"approve\"}\n```\n```json\n{\"verdict\":\"approve\"}\n```"),
    ] {
        let intake = read(text);
        assert_eq!(verdict_word(&intake), expect, "{text:?}\n{}", whys(&intake));
        assert_eq!(intake.answer().is_some(), expect != "none");
        assert!(expect != "none" || !intake.unread.is_empty(), "no verdict, and no reason: {text:?}");
    }
}

#[test]
fn without_a_verdict_there_is_a_reason() {
    for (text, why, line) in [
        ("", "the message is empty", ""),
        ("\n \n", "the message is empty", ""),
        ("Mood: needs-revision", "no line of its own says `VERDICT: approve`", "Mood: needs-revision"),
        ("It is fine.\nMood: approved\n", "no line of its own says", "Mood: approved"),
        ("It works on my machine.", "no line of its own says", ""),
        ("src/a.rs:1:1: error: no", "what a tool reports has none", ""),
    ] {
        let intake = read(text);
        assert_eq!(intake.verdict, None, "{text:?}");
        let found = intake.unread.iter().find(|unread| unread.why.contains(why));
        assert_eq!(found.map(|unread| unread.text.as_str()), Some(line), "{text:?}: {}", whys(&intake));
    }
}

#[test]
fn tagged_lines_survive_what_models_do_to_them() {
    let text = "Some prose first.\r\n\r\n**VERDICT:** reject\r\n\r\nFINDINGS:\r\n\
        - [id:r1] [severity:high] [file:src/store.rs:42-44] issue: `a || b` is evaluated | c first — \"twice\" | suggestion: use `x | y`\r\n\
        [id:r2] [severity:medium] [file:app/[id]/page.tsx] [status:new] issue: prüft das Datum nicht\r\n\
        * **[id:r3] [severity:nit] [file:n/a] [confidence:95%]** issue: name is vague | suggestion: rename | evidence: grep shows 3 uses\r\n\
        1. [severity:blocker] [file:../../etc/passwd] issue: reads the password file\r\n\
\x20 and goes on here\r\n\
        - [id:F-7] [severity:high] [file:src/a.rs] [status:resolved] issue: gone now\r\n\
        - [id:F-8] [severity:high] [file:src/b.rs] [status:persistent] issue: still leaks\r\n\
        - something without tags\r\n";
    let intake = read(text);
    assert_eq!(verdict_word(&intake), "reject");
    assert_eq!(intake.form, Form::Lines);
    let f = &intake.findings;
    assert_eq!(f.len(), 6, "{f:#?}");
    assert_eq!(f[0].file.as_deref(), Some("src/store.rs"));
    assert_eq!((f[0].line, f[0].end), (Some(42), Some(44)));
    assert_eq!(f[0].severity, Severity::Blocker);
    assert_eq!(f[0].claim, "`a || b` is evaluated | c first — \"twice\"");
    assert_eq!(f[0].suggestion, "use `x | y`");
    assert_eq!(f[0].label.as_deref(), Some("r1"));
    assert!(!f[0].confidence_stated && f[0].confidence == 80);
    assert_eq!(f[1].file.as_deref(), Some("app/[id]/page.tsx"));
    assert_eq!(f[1].claim, "prüft das Datum nicht");
    assert_eq!(f[2].file, None);
    assert_eq!((f[2].confidence, f[2].confidence_stated), (95, true));
    assert_eq!(f[2].evidence, "grep shows 3 uses");
    assert_eq!(f[3].file, None);
    assert_eq!(f[3].details, "and goes on here");
    assert_eq!(f[4].same_as, Some(FindingId(8)));
    assert_eq!(intake.said.get(&FindingId(7)), Some(&Said::Resolved));
    assert_eq!(intake.said.get(&FindingId(8)), Some(&Said::StillThere));
    assert!(whys(&intake).contains("leaves the subject"), "{}", whys(&intake));
    assert_eq!(f[5].claim, "something without tags");
    assert!(whys(&intake).contains("no severity given"), "{}", whys(&intake));
}

#[test]
fn blocks_with_all_their_fields() {
    let text = "# Review\n\n### Finding 1\n- **File**: `src/loop.rs`\n- **Line/Section**: 120-131\n- **Severity**: BLOCKER\n\
        - **Issue**: The lock is taken twice\n- **Details**: It deadlocks.\n  Always.\n- **Suggested Fix**: Drop the guard first:\n\
        ```rust\ndrop(guard);\nVERDICT: approve\n```\n- **Confidence**: HIGH — 95%\n    - HIGH (80-100%): certain\n\n\
        ### Finding #2: title only\n* **File:** docs/x.md\n* **Section:** Setup\n* **Severity:** suggestion\n* **Confidence:** MEDIUM — 60%\n\n\
        #### Finding 3 (Unresolved)\n- File: /etc/shadow\n- Severity: warning\n- Issue: absolute path\n\n\
        ### Finding 4\n- **Severity**: WARNING\n\n## Final Verdict\n\n**NEEDS WORK** — Findings 1 and 3 must be addressed.\n";
    let intake = read(text);
    assert_eq!(verdict_word(&intake), "reject", "{}", whys(&intake));
    assert_eq!(intake.form, Form::Blocks);
    let f = &intake.findings;
    assert_eq!(f.len(), 3, "{f:#?}");
    assert_eq!((f[0].line, f[0].end), (Some(120), Some(131)));
    assert_eq!(f[0].severity, Severity::Blocker);
    assert_eq!(f[0].claim, "The lock is taken twice");
    assert_eq!(f[0].confidence, 95);
    assert!(f[0].suggestion.contains("drop(guard);"));
    assert!(f[0].details.contains("Always."));
    assert_eq!(f[1].claim, "title only");
    assert_eq!(f[1].section.as_deref(), Some("Setup"));
    assert_eq!((f[1].confidence, f[1].severity), (60, Severity::Suggestion));
    assert_eq!(f[2].file, None);
    let whys = whys(&intake);
    assert!(
        whys.contains("absolute") && whys.contains("says nothing") && whys.contains("inside a code fence"),
        "{whys}"
    );
}

#[test]
fn a_pass_says_what_was_checked_or_it_is_bare() {
    for (expect, text) in [
        (true, "VERDICT: approve\nCHECKED: ran cargo test (41 tests), read store.rs and its callers"),
        (
            true,
            "## Final Verdict\n\n**PASS** — I ran all 14 tests and compared every success criterion with the code.",
        ),
        (
            true,
            "## Final Verdict\n**PASS**\n\nI read the parser and its tests, and tried a truncated file by hand.",
        ),
        (
            true,
            "## What I checked\n- the migration, up and down\n- error paths of the loader\n\n## Final Verdict\nPASS",
        ),
        (true, "{\"verdict\":\"approve\",\"checked\":[\"ran the tests\",\"read src/a.rs\"]}"),
        (false, "VERDICT: approve"),
        (false, "VERDICT: approve — looks good to me!"),
        (false, "VERDICT: approve\nCHECKED: everything, looks good"),
        (false, "## Final Verdict\n- **PASS** — No blockers, no warnings. Phase is approved."),
        (false, "{\"verdict\":\"approve\",\"checked\":\"LGTM\"}"),
    ] {
        let intake = read(text);
        assert_eq!(verdict_word(&intake), "approve", "{text}: {}", whys(&intake));
        assert_eq!(!intake.checked.is_empty(), expect, "{text}: {:?}", intake.checked);
        assert_eq!(intake.effective().is_some(), expect, "{text}");
    }
}

#[test]
fn answers_by_id() {
    let text = "F-1: resolved\n- **F-2**: still there, the guard is missing\n* F-3 — not an issue because the caller holds the lock\n\
        F-4: not an issue\nF-5: fixed\nF-5: not fixed\n[F-6] Resolved.\n> F-7: resolved\n```\nF-8: resolved\n```\nF-9: resolved?\n\
        F-10: partially fixed\nF-11 (false positive: the input is a constant)\nF-12: no longer present\n12: resolved\n\nVERDICT: reject";
    let intake = read(text);
    let said = |n: u32| intake.said.get(&FindingId(n)).cloned();
    assert_eq!(said(1), Some(Said::Resolved));
    assert_eq!(said(2), Some(Said::StillThere));
    assert_eq!(said(3), Some(Said::NotAnIssue("the caller holds the lock".into())));
    assert_eq!(said(4), None, "a reason is missing");
    assert_eq!(said(5), None, "contradiction");
    assert_eq!(said(6), Some(Said::Resolved));
    assert_eq!(said(7), None, "quoted");
    assert_eq!(said(8), None, "fenced");
    assert_eq!(said(9), None, "a question");
    assert_eq!(said(10), Some(Said::StillThere));
    assert_eq!(said(11), Some(Said::NotAnIssue("the input is a constant".into())));
    assert_eq!(said(12), Some(Said::Resolved));
    assert_eq!(intake.said.len(), 7, "{:?}", intake.said);
    assert!(intake.findings.is_empty(), "{:?}", intake.findings);
    assert_eq!(verdict_word(&intake), "reject");
}

#[test]
fn json_by_our_schema() {
    let text = r#"{"verdict":"reject","checked":"read the diff","said":{"F-1":"resolved","F-2":{"not_an_issue":"dead code"},"F-3":"still there"},
        "findings":[{"id":"a","file":"src/x.rs","line":10,"end":12,"severity":"high","confidence":0.95,"claim":"Overflow | wraps","suggestion":"checked_add","domain":"Security"},
        {"title":"No test","severity":"weird","confidence":"high","file":"/abs"},{"severity":"low"},42,"plain words",
        {"issue":"line zero","severity":"low","line":0,"confidence":150}]}"#;
    for wrapped in [
        text.to_owned(),
        format!("Here it is:\n\n```json\n{text}\n```\nThanks."),
        format!("Prose.\n{text}\n"),
    ] {
        let intake = read(&wrapped);
        assert_eq!(verdict_word(&intake), "reject", "{}", whys(&intake));
        assert_eq!(intake.form, Form::Json);
        let f = &intake.findings;
        assert_eq!(f.len(), 4, "{f:#?}");
        assert_eq!((f[0].line, f[0].end, f[0].confidence), (Some(10), Some(12), 95));
        assert_eq!(f[0].domain.as_deref(), Some("security"));
        assert_eq!(f[0].claim, "Overflow | wraps");
        assert_eq!((f[1].severity, f[1].confidence, f[1].file.as_deref()), (Severity::Warning, 90, None));
        assert_eq!((f[3].line, f[3].confidence, f[3].confidence_stated), (None, 80, false));
        assert_eq!(intake.said.len(), 3);
        assert_eq!(intake.said[&FindingId(2)], Said::NotAnIssue("dead code".into()));
        assert!(intake.unread.len() >= 5, "{}", whys(&intake));
    }
}

#[test]
fn tool_calls() {
    let loop_result = r#"{"tool":"set_loop_review_result","args":{"loopId":"a","passed":false,"interpretedIntent":"make it safe","intentSatisfied":false,"issues":[{"file":"a.py","line":3,"type":"dead-code","description":"unused branch","suggestion":"remove it"}]}}"#;
    let intake = read(loop_result);
    assert_eq!((verdict_word(&intake), intake.form), ("reject", Form::Tool));
    assert_eq!(intake.findings[0].severity, Severity::Blocker, "S4 issues block when not passed");
    assert_eq!(intake.findings[0].kind.as_deref(), Some("dead-code"));
    assert_eq!((intake.intent.as_deref(), intake.intent_satisfied), (Some("make it safe"), Some(false)));

    let passed = read(r#"{"loopId":"a","issues":[{"description":"x y z"}],"passed":true}"#);
    assert_eq!((verdict_word(&passed), passed.findings[0].severity), ("approve", Severity::Warning));

    let calls = "{\"tool\":\"mcp__tribunal__report_findings\",\"args\":{\"findings\":[{\"claim\":\"c\",\"severity\":\"warning\"}]}}\n\
        {\"tool\":\"mcp__tribunal__cast_verdict\",\"args\":\"{\\\"verdict\\\":\\\"reject\\\",\\\"fundamental\\\":true}\"}\n";
    let intake = read(calls);
    assert_eq!((verdict_word(&intake), intake.findings.len()), ("fail", 1), "{}", whys(&intake));

    let twice = read(
        "{\"tool\":\"cast_verdict\",\"args\":{\"verdict\":\"approve\"}}\n{\"tool\":\"cast_verdict\",\"args\":{\"verdict\":\"reject\"}}",
    );
    assert_eq!(verdict_word(&twice), "none");
}

#[test]
fn qa_reports() {
    let text = "Done.\n\nQA REPORT:\npassed: false\nremediation_eligible: true\nchecks:\n\
        - name: commit-lint | status: fail | fixable_by: dev | evidence: `wip | x` is no subject\n\
        - name: check-regression | status: pass | fixable_by: architect\n\
        - name: diff-against-plan | status: FAIL | fixable_by: architect\n\
        hard_stop_reasons:\n- diff-against-plan touches files of another plan\ndev_fixable_failures:\n- commit-lint\n- none\n";
    let intake = read(text);
    assert_eq!((verdict_word(&intake), intake.form), ("reject", Form::Qa));
    let f = &intake.findings;
    assert_eq!(f.len(), 2, "{f:#?}");
    assert_eq!(f[0].claim, "commit-lint: `wip | x` is no subject");
    assert_eq!((f[0].severity, f[0].fixable_by), (Severity::Blocker, FixableBy::Dev));
    assert_eq!(f[1].fixable_by, FixableBy::Architect);
    assert!(f[1].evidence.contains("another plan"));
    assert_eq!(verdict_word(&read("**QA REPORT:**\n- **passed:** true\nchecks:\n")), "approve");
    assert_eq!(verdict_word(&read("QA REPORT:\npassed: unknown\n")), "none");
    assert_eq!(verdict_word(&read("QA REPORT:\nchecks:\n- name: a | status: pass\n")), "none");
    assert_eq!(verdict_word(&read("```\nQA REPORT:\npassed: true\n```")), "none");
    assert_eq!(verdict_word(&read("passed: true")), "none");
}

#[test]
fn chain_reviews() {
    let text = "needs-revision\n\n### Blockers\n- spec.md:12: no acceptance criterion for login\n- **The retention period is missing**\n\n\
        ### Warnings\n- (design.md:4) two names for one thing | suggestion: pick one\n\n### Notes\n- none\n\nThe rest reads well.\n";
    let intake = read(text);
    assert_eq!((verdict_word(&intake), intake.form), ("reject", Form::Plain));
    let f = &intake.findings;
    assert_eq!(f.len(), 3, "{f:#?}");
    assert_eq!((f[0].file.as_deref(), f[0].line), (Some("spec.md"), Some(12)));
    assert_eq!(f[0].claim, "no acceptance criterion for login");
    assert_eq!(f[1].claim, "The retention period is missing");
    assert_eq!((f[2].severity, f[2].suggestion.as_str()), (Severity::Warning, "pick one"));

    let intake = read(
        "Approved\n\n- note: the glossary could be longer\n- [warning] plan.md: step 3 has no owner\nWARNING: late binding\nWarning signs were absent.\n",
    );
    assert_eq!(verdict_word(&intake), "approve");
    assert_eq!(intake.findings.len(), 3, "{:#?}", intake.findings);
}

#[test]
fn sarif_logs() {
    let text = r#"{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"t","rules":[{"id":"R0","defaultConfiguration":{"level":"error"},"shortDescription":{"text":"short"}}]}},
        "artifacts":[{"location":{"uri":"src/by%20index.py"}}],
        "results":[{"ruleId":"R1","level":"warning","message":{"text":"m1\nmore"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"src/a%C3%A9.py"},"region":{"startLine":3,"endLine":5}}}]},
        {"ruleIndex":0,"locations":[{"physicalLocation":{"artifactLocation":{"index":0}}}]},
        {"ruleId":"R2","level":"note","message":{"text":"abs"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"file:///etc/passwd"},"region":{"startLine":0}}}]},
        {"kind":"pass","message":{"text":"fine"}},{}]},{"results":null},{"externalPropertyFileReferences":{"results":[]}}],
        "inlineExternalProperties":[{"results":[{"message":{"text":"inline"}}]}]}"#;
    // Read as anybody's message, it lacks a verdict besides.
    for (intake, unread) in [(read_sarif(text), 4), (read(text), 5)] {
        assert_eq!((intake.form, intake.verdict), (Form::Sarif, None));
        let f = &intake.findings;
        assert_eq!(f.len(), 4, "{f:#?}");
        assert_eq!((f[0].file.as_deref(), f[0].line, f[0].end), (Some("src/aé.py"), Some(3), Some(5)));
        assert_eq!((f[0].claim.as_str(), f[0].details.as_str(), f[0].confidence), ("m1", "more", 100));
        assert_eq!(
            (f[1].severity, f[1].claim.as_str(), f[1].file.as_deref()),
            (Severity::Blocker, "short", Some("src/by index.py"))
        );
        assert_eq!((f[2].file.as_deref(), f[2].line), (None, None));
        assert_eq!(f[3].claim, "inline");
        assert_eq!(intake.unread.len(), unread, "{}", whys(&intake));
        assert!(whys(&intake).contains("<- startLine 0\n"), "{}", whys(&intake));
    }
    assert!(read_sarif("{\"runs\":[{\"results\":[{").unread[0].why.contains("not SARIF"));
}

#[test]
fn compiler_lines() {
    let text = "src/main.rs:10:5: warning: unused variable `x` [unused_variables]\n/abs/x.c:3: error: no\na.py:7:1: E501 line too long (90 > 79)\n\
        src\\win.cs(12,5): error CS1002: ; expected\n   Compiling x v0.1.0\n12:30:45: tick\nfoo.sh:3:1: note: Double quote [SC2086]\nhttp://x.y:80: no\n";
    let intake = read_compiler_lines(text);
    let f = &intake.findings;
    let short: Vec<_> = f
        .iter()
        .map(|c| (c.file.as_deref(), c.line, c.severity, c.rule.as_deref(), c.claim.as_str()))
        .collect();
    assert_eq!(
        short[..5],
        [
            (
                Some("src/main.rs"),
                Some(10),
                Severity::Warning,
                Some("unused_variables"),
                "unused variable `x`"
            ),
            (None, Some(3), Severity::Blocker, None, "no"),
            (Some("a.py"), Some(7), Severity::Warning, Some("E501"), "line too long (90 > 79)"),
            (Some("src\\win.cs"), Some(12), Severity::Blocker, Some("CS1002"), "; expected"),
            (Some("foo.sh"), Some(3), Severity::Suggestion, Some("SC2086"), "Double quote"),
        ],
        "{short:#?}"
    );
    assert!(f.iter().all(|c| c.confidence == 100));
    let intake = read("- src/a.rs:3: the lock is never released\n");
    assert_eq!((intake.form, intake.verdict, intake.findings[0].confidence), (Form::Compiler, None, 80));
}

#[test]
fn bad_bytes_never_approve_and_say_so() {
    let intake = read_bytes(b"VERDICT: approve\nCHECKED: ran the tests and read it \xff\xfe");
    assert_eq!(intake.verdict, None);
    assert!(whys(&intake).contains("UTF-8"));
    assert_eq!(read_bytes(b"VERDICT: reject \xff").verdict, Some(Verdict::Reject));
    let mut long = vec![b'x'; 50 * 1024 * 1024];
    long.extend_from_slice(b"\nVERDICT: approve\n");
    let intake = read_bytes(&long);
    assert_eq!(intake.verdict, None);
    assert!(intake.unread.iter().all(|u| u.text.len() < 4_000));
    assert!(whys(&intake).contains("too long"));
    let huge = vec![b'{'; 70 * 1024 * 1024];
    assert!(whys(&read_bytes(&huge)).contains("larger than any message"));
}

#[test]
fn many_findings_are_read() {
    let mut text = String::from("VERDICT: reject\nFINDINGS:\n");
    for n in 0..20_000 {
        text.push_str(&format!(
            "- [id:{n}] [severity:low] [file:src/f{n}.rs:{n}] issue: number {n} | suggestion: none\n"
        ));
    }
    assert_eq!(read(&text).findings.len(), 20_000);
}

/// The law's oracle, written apart from the reader: some line outside fences and quotes says an approving word.
fn may_approve(text: &str) -> bool {
    let approving = ["approve", "pass", "lgtm"];
    text.lines().flat_map(|line| line.split('\r')).any(|line| {
        let lower = line.to_lowercase();
        !line.trim_start().starts_with('>') && approving.iter().any(|word| lower.contains(word))
    })
}

fn messy() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("VERDICT: approve"),
        Just("VERDICT: reject"),
        Just("VERDICT:"),
        Just("FINDINGS:"),
        Just("```"),
        Just("```json"),
        Just("> "),
        Just("{\"verdict\":\"approve\"}"),
        Just("{\"verdict\":"),
        Just("[id:1] [severity:high] [file:../x] issue: a | suggestion: b"),
        Just("### Finding 1"),
        Just("- **Issue**: x"),
        Just("## Final Verdict"),
        Just("**PASS**"),
        Just("QA REPORT:"),
        Just("passed: true"),
        Just("F-1: resolved"),
        Just("\u{1b}["),
        Just("\r"),
        Just("\0"),
        Just("\""),
        Just("ß🙂"),
        Just("    "),
        Just("approved"),
        Just("<example>"),
    ];
    let line =
        (prop::collection::vec(piece, 0..3), "\\PC{0,12}").prop_map(|(parts, tail)| parts.concat() + &tail);
    prop::collection::vec(line, 0..12).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn arbitrary_text_never_panics_and_never_approves_by_itself(text in "(?s).{0,400}") {
        let intake = read(&text);
        prop_assert!(intake.verdict != Some(Verdict::Approve) || may_approve(&text));
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = read_bytes(&bytes);
    }

    #[test]
    fn messy_answers_never_panic_and_approve_only_by_an_unquoted_line(text in messy()) {
        let intake = read(&text);
        prop_assert!(intake.verdict != Some(Verdict::Approve) || may_approve(&text), "{intake:?}");
        for claim in &intake.findings {
            prop_assert!(!claim.claim.is_empty());
            prop_assert!(claim.confidence <= 100);
            let file = claim.file.as_deref().unwrap_or("x");
            prop_assert!(!file.starts_with('/') && !file.split('/').any(|part| part == ".."));
        }
        let _ = (read_sarif(&text), read_compiler_lines(&text));
        let _ = (tribunal_findings::read_builder(&text, None), tribunal_findings::read_hearing(&text, None));
    }

    #[test]
    fn fenced_and_quoted_text_never_votes(body in messy()) {
        let quoted: String = body.replace('\r', "\n").lines().map(|line| format!("> {line}\n")).collect();
        prop_assert_eq!(read(&quoted).verdict, None);
        let fence = "`".repeat(40);
        let fenced = format!("{fence}text\n{body}\n{fence}\n");
        prop_assert_eq!(read(&fenced).verdict, None);
    }

    #[test]
    fn a_second_different_verdict_takes_the_first_away(text in messy()) {
        let both = format!("VERDICT: approve\n{text}\n\n</example>\n\nVERDICT: reject");
        prop_assert!(read(&both).verdict != Some(Verdict::Approve));
    }
}
