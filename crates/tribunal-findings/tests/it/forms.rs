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
    let read =
        |changed: &[String]| read_as(text.as_bytes(), &Reading { changed, ..Reading::default() }).findings;
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
    for checked in ["`make test` in src/ exits with 0", "`bin/one.sh` prints 1.", "the command returns `ok`"]
    {
        let text = format!("CHECKED: {checked}\nVERDICT: approve\n");
        assert_eq!(read(&text).effective(), Some(Verdict::Approve), "{text}");
    }
    // What came out, in words of the reviewer's own, may be the fault itself.
    for checked in ["it prints the token", "the endpoint returns rows of every tenant"] {
        let text = format!("CHECKED: {checked}\nVERDICT: approve\n");
        assert_eq!(read(&text).effective(), None, "{text}");
    }
}

#[test]
fn one_finding_in_many_forms_is_the_same_finding() {
    let cart = ("src/cart.ts".to_owned(), Some(14), Severity::Blocker);
    for form in [
        // The asked tags, broken over lines.
        "1) [id:1] [severity:blocker] [confidence:80]\n   [file:src/cart.ts:14]\n   issue: a float\n   | suggestion: use cents",
        // Tables and tags.
        "<table>\n<tr><th>Severity</th><th>File</th><th>Line</th><th>Issue</th></tr>\n<tr><td>high</td><td>src/cart.ts</td><td>14</td><td>a float</td></tr>\n</table>",
        "<review><finding file=\"src/cart.ts\" line=\"14\" severity=\"high\">a float</finding></review>",
        "```xml\n<finding severity=\"critical\" location=\"src/cart.ts:14\" message=\"a float\"/>\n```",
        // Lists, titles, records.
        "* src/cart.ts\n\t* [blocker] line 14: a float",
        "**Blocking**\n- a float\n  - `src/cart.ts:14`",
        "**src/cart.ts** — line 14 (blocker)\n\nA float.",
        "## High severity\n\n**1. A float** (`src/cart.ts:14`)\nIt rounds.",
        "Severity: High\nFile: src/cart.ts\nLine: 14\nDescription: a float",
        "- BLOCKER src/cart.ts:14 a float",
        "## Blocker 1: a float\n\n`src/cart.ts:14`",
        "- 【致命的】`src/cart.ts:14` 丸め誤差",
        // Code hosts.
        "`src/cart.ts` around lines 14-14: ⚠️ Potential issue | 🔴 Critical\n\n**A float.** It rounds.",
        "**[critical]** In `@src/cart.ts` at line 14, a float is used.",
        "1. **Blocker**: A float (CLAUDE.md says \"cents\")\n\nhttps://github.com/o/r/blob/3b7e1f0/src/cart.ts#L14",
        "### BL-01 A float\n\n**File:** `src/cart.ts:14`\n**Issue:** It rounds.",
    ] {
        assert_eq!(places(&format!("{form}\n\nVERDICT: reject\n")), std::slice::from_ref(&cart), "{form}");
    }
}

#[test]
fn json_of_other_shapes_is_read_where_it_speaks_against_the_work() {
    let cart = ("src/cart.ts".to_owned(), Some(14), Severity::Blocker);
    let one = r#"{"file":"src/cart.ts","line":14,"severity":"high","issue":"a float"}"#;
    let answer = format!(r#"{{"verdict":"reject","findings":[{one}]}}"#);
    for text in [
        answer.clone(),
        serde_json::Value::String(answer).to_string(),
        format!("{one}\n{{\"verdict\":\"reject\"}}"),
        format!(r#"{{"review":{{"outcome":"changes_requested","problems":[{one}]}}}}"#),
        format!(r#"{{"status":"rejected","issues":[{one}]}}"#),
        r#"{"verdict":"reject","findings":{"blocker":[{"file":"src/cart.ts:14","issue":"a float"}]}}"#.to_owned(),
        r#"{"verdict":"reject","findings":{"src/cart.ts":[{"line":14,"severity":"high","issue":"a float"}]}}"#.to_owned(),
        r#"{"verdict":"reject","issues":[{"filename":"src/cart.ts","lineStart":14,"level":"high","text":"a float"}]}"#.to_owned(),
        r#"{"verdict":"reject","issues":[{"location":{"file":"src/cart.ts","lines":"14"},"severity":"high","text":"a float"}]}"#.to_owned(),
    ] {
        assert_eq!(places(&text), std::slice::from_ref(&cart), "{text}");
        assert_eq!(read(&text).effective(), Some(Verdict::Reject), "{text}");
    }
    let approving = r#"{"verdict":"approve","checked":"read src/cart.ts, 14 tests pass","findings":[]}"#;
    assert_eq!(read(approving).effective(), Some(Verdict::Approve));
    for text in
        [format!("{{\"review\":{approving}}}"), serde_json::Value::String(approving.to_owned()).to_string()]
    {
        assert_eq!(read(&text).effective(), None, "{text}");
    }
}

/// A review as agents write it to a file.
fn report(counts: (u8, u8), body: &str) -> String {
    let (critical, warning) = counts;
    format!(
        "---\nphase: 3\nfindings:\n  critical: {critical}\n  warning: {warning}\n  total: {}\nstatus: issues_found\n---\n\n{body}",
        critical + warning
    )
}

#[test]
fn what_stands_below_an_id_tells_of_one_finding() {
    let block = "### CR-01: A float\n\n**File:** `src/cart.ts:14`\n**Issue:** The total is wrong:\n\n";
    for below in [
        "1. The user opens the cart.\n2. `src/form.ts:3` rounds.\n3. The sum is off.\n",
        "- `addItem` (line 20)\n- `src/list.ts:9` calls it\n",
        "src/list.ts:9 rounds as well, which\nform.ts:12 does not expect.\n",
        "| Input | Output |\n|---|---|\n| src/list.ts:9 | critical |\n",
        "**Warning:** it also affects `src/list.ts:9`.\n",
        "> src/list.ts\n\n**Fix:**\n- use cents\n- or a decimal\n",
        "Is it `Guid?` or not? It is.\n",
    ] {
        let found = places(&format!("## Critical issues\n\n{block}{below}\n## Info\n\nNone.\n"));
        assert_eq!(found, [("src/cart.ts".to_owned(), Some(14), Severity::Blocker)], "{below}");
    }
}

#[test]
fn an_overview_is_no_second_finding() {
    let cart = ("src/cart.ts".to_owned(), Some(14), Severity::Blocker);
    let block = "### CR-01: `sum()` of floats?\n\n**File:** `src/cart.ts:14`\n**Issue:** It rounds.\n";
    for overview in [
        "| ID | File | Issue |\n|---|---|---|\n| CR-01 | src/cart.ts | a float |\n",
        "| Severity | Count | Areas |\n|---|---|---|\n| Critical | 1 | money |\n",
        "| Severity | Count |\n|---|---|\n| Critical | 1 |\n",
        "**Critical:** 1 | **Warning:** 0\n",
        "- **Critical:** the cart sums floats\n",
        "- Critical: 1 (CR-01)\n- CR-01: floats\n",
    ] {
        for text in
            [format!("## Summary\n\n{overview}\n{block}"), format!("{block}\n---\n\n## Totals\n\n{overview}")]
        {
            assert_eq!(places(&report((1, 0), &text)), std::slice::from_ref(&cart), "{text}");
        }
    }
    // Where more is counted than told under ids, nothing is taken for an overview.
    let more = format!("{block}\n## Warnings\n\n- src/form.ts:3 rounds twice\n");
    assert_eq!(places(&report((1, 1), &more)).len(), 2);
}

#[test]
fn what_was_fixed_before_is_no_finding() {
    let text = "| ID | Fix | Verified at | Status |\n|---|---|---|---|\n| WR-01 | clamps to zero | `src/cart.ts:14` | HOLDS |\n| WR-02 | rounds once | `src/form.ts:3` | fixed |\n\nVERDICT: reject\n";
    assert_eq!(places(text), []);
    // An approval does not rest on it.
    assert_eq!(read(&text.replace("VERDICT: reject\n", GOOD)).effective(), None);
}

#[test]
fn words_that_only_look_like_a_severity_are_names() {
    assert_eq!(places("- **`errors.go::Is`** — handles the wildcard\n\nVERDICT: reject\n"), []);
    for verdict in
        ["# ❌ Verdict — Needs work", "🚫 Do not merge", "**bot** left comments (changes requested)"]
    {
        assert_eq!(read(&format!("{verdict}\n")).verdict, Some(Verdict::Reject), "{verdict}");
    }
}
