//! Approving answers with one planted fault sentence: none of them may count as an approval, while the same answers
//! without the fault all do. Faults, languages, places, wrappers and positions are drawn from a seed, so that a case can
//! be repeated; no wrapper is a quotation.

use std::fmt;
use tribunal_core::finding::Verdict;

/// What was tried.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Answers with a planted fault.
    pub planted: u64,
    /// Of these, how many were taken for an approval.
    pub approved: u64,
    /// Answers without one.
    pub twins: u64,
    /// Of these, how many were not taken for an approval.
    pub refused: u64,
    /// One of each kind that went wrong.
    pub wrong: Vec<String>,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally { planted, approved, twins, refused, wrong } = self;
        write!(
            f,
            "{planted} answers with a planted fault: {approved} approvals; {twins} without: {refused} not approved"
        )?;
        wrong.iter().take(20).try_for_each(|one| write!(f, "\n{one}"))
    }
}

/// Approving answers. `@` marks where a paragraph may be planted.
#[rustfmt::skip]
const ANSWERS: &[&str] = &[
    "@CHECKED: read src/queue.rs and its tests, ran cargo test (41 passed)\n@VERDICT: approve\n@",
    "I read the whole diff.\n\n@CHECKED: ran `pytest -q` (88 passed), followed every caller of `release`\nVERDICT: approve\n@",
    "@**CHECKED:** compared api/users.go with the task, go test ./api/... ok\n@**VERDICT:** approve\n",
    "## Review\n\n@I went through all five files and ran the suite twice. No issues found.\n\n@CHECKED: web/src/*.ts, `vitest` 64 passed\nVERDICT: approve\n",
    "@Looks good to me. I ran `mvn -q test` (212 tests, 0 failures).\n\n@VERDICT: approve\n@",
    "## What I checked\n- `src/router.rs`: every branch has a test\n- `cargo test`: 91 passed\n\n@## Final Verdict\n\n**PASS**\n@",
    "@VERDICT: approve\nCHECKED: lib/date.rb against the table of formats, rspec 31 examples, 0 failures\n@",
    "FINDINGS: none\n@CHECKED: applied the migration to a copy and rolled it back once\nVERDICT: approve (no findings)\n@",
    "LGTM, one nit:\n\n- nit: cmd/root.go:18: the help ends with a dot\n\n@CHECKED: cmd/*.go, ran the three examples of the README\nVERDICT: approve\n@",
    "@Ich habe die Änderung an `Zins.kt` vollständig gelesen und die 14 Tests ausgeführt, alle grün.\n\n@URTEIL: freigegeben\n",
    "@He leído todos los cambios en `src/rutas.ts` y ejecuté las pruebas: 33 correctas, 0 fallos.\n\n@Veredicto: aprobado\n",
    "@我逐行阅读了 src/parser.ts，并运行了全部 46 个测试，均通过。\n\n@VERDICT: approve\nCHECKED: src/parser.ts 全文，46 个测试通过\n",
    "@変更された 3 ファイルをすべて読み、`cargo test` を実行しました（61 件成功）。\n\n@判定：承認\n",
    "Thanks for the clear commits!\n\n@CHECKED: built it, read the parser and tried it with an empty file\n@VERDICT: approve ✅\n",
    "@The tests pass and the names are clear. I verified the three criteria of the plan by hand.\n\nCHECKED: src/ against the three criteria of the plan, the tests pass\n@VERDICT: approve\n",
    "@Approved.\n\nWhat I checked: ran `terraform validate` and read the plan output for staging.\n@",
];

/// Answers in JSON: `@` is a sentence that may be planted under another key.
const OBJECTS: &[&str] = &[
    r#"{"verdict":"approve","checked":"read handlers/ and ran go test","summary":"@","findings":[]}"#,
    r#"{"findings":[],"overall_correctness":"patch is correct","overall_explanation":"I ran the 19 unit tests, all green. @"}"#,
];

/// Faults as people write them, one a line; `#` is a place. Many have no word in them that by itself tells of a fault.
const FAULTS: &str = include_str!("faults.txt");

/// Parts of a form beside its own words. `@` is the sentence, `$` the rest of an approving answer.
#[rustfmt::skip]
const CARRIERS: &[&str] = &[
    "| check | note | result |\n|---|---|---|\n| auth | @ | pass |$",
    "| part | verdict | why |\n|---|---|---|\n| api | approve | @ |$",
    "---\nphase: 1\nnote: @\nstatus: clean\n---\n\nI ran the suite, 64 passed.$",
    "---\nphase: 1\nnotes:\n  - @\nstatus: clean\n---\n\nI ran the suite, 64 passed.$",
    "## Critical issues (@)$",
    "### Summary: @$",
    "<review>\n@\n</review>$",
    "<review>ok <b>@</b></review>$",
    "<verdict note=\"@\">approve</verdict>\n<checked>ran the suite, 64 passed</checked>",
    "<verdict>approve</verdict> @\n<checked>ran the suite, 64 passed</checked>",
    "<remarks text=\"@\"/>$",
    "<thinking>ok</thinking> @$",
    "{\"verdict\":\"approve\",\"checked\":\"ran the suite, 64 passed\",\"name\":\"@\"}",
    "{\"verdict\":\"approve\",\"checked\":\"ran the suite, 64 passed\",\"reviewer\":\"@\"}",
    "{\"verdict\":\"approve\", /* @ */ \"checked\":\"ran the suite, 64 passed\"}",
    "{\"verdict\":\"approve\",\"checked\":\"ran the suite, 64 passed\",\"checks\":[{\"name\":\"t\",\"passed\":true,\"note\":\"@\"}]}",
    "{\"verdict\":\"approve\",\"checked\":\"ran the suite, 64 passed\",\"@\":true}",
    "I read it all[^1].\n\n[^1]: @$",
    "> [!WARNING]\n> @$",
    "## What I checked\n- `src/router.rs`: every branch has a test\n- @\n- `cargo test`: 91 passed\n\nVERDICT: approve\n",
    "CHECKED: @\nVERDICT: approve\n",
    "CHECKED: read every changed file and ran the suite, 64 passed\nVERDICT: approve. @\n",
];

const REST: &str = "\n\nCHECKED: read every changed file and ran the suite, 64 passed\nVERDICT: approve\n";

const PLACES: &[&str] = &[
    "src/boot.py:9",
    "`src/session.rs:120`",
    "storage/gc.go line 61",
    "api/login.go#L39",
    "`cache/redis.py` (line 51)",
    "lib/Auth.java, lines 40-46",
    "web/app.ts L12-L20",
    "db/scan.rs",
];

/// Ways to set a sentence that are no quotation; `@` is the sentence.
const WRAPPERS: &[&str] = &[
    "@",
    "- @",
    "* **Problem:** @",
    "Also: @",
    "1. @",
    "**@**",
    "_@_",
    "### @",
    "P.S. @",
    "(@)",
    "| @ | |",
    "Observation: @",
    "🔴 @",
    "<b>@</b>",
    "  - @",
    "I read everything. @ The rest is clean.",
    "No blockers. @",
    "Note to the next reviewer: @ I did not want to hold this up.",
];

/// A small generator: xorshift.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides.max(1) as u64) as usize
    }
}

fn without_marks(answer: &str) -> String {
    answer.replace('@', "")
}

/// One answer with a fault, by its number.
fn planted(faults: &[&str], case: u64) -> String {
    let mut dice = Dice(case.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    for _ in 0..3 {
        dice.roll(2);
    }
    let fault = faults[dice.roll(faults.len())].replace('#', PLACES[dice.roll(PLACES.len())]);
    if dice.roll(6) == 0 {
        let carried = CARRIERS[dice.roll(CARRIERS.len())].replace('@', &fault.replace('"', "'"));
        return carried.replace('$', REST);
    }
    if dice.roll(16) == 0 {
        return OBJECTS[dice.roll(OBJECTS.len())].replace('@', &fault.replace('"', "'"));
    }
    let answer = ANSWERS[dice.roll(ANSWERS.len())];
    // Beside what was checked, in the same line.
    if dice.roll(12) == 0
        && let Some((head, rest)) = answer.split_once("CHECKED")
        && let Some((line, rest)) = rest.split_once('\n')
    {
        return without_marks(&format!("{head}CHECKED{line}. {fault}\n{rest}"));
    }
    let wrapped = WRAPPERS[dice.roll(WRAPPERS.len())].replace('@', &fault);
    let at = dice.roll(answer.matches('@').count());
    let mut parts = answer.split('@');
    let mut out = String::new();
    for n in 0..=at {
        out.push_str(parts.next().unwrap_or(""));
        if n == at {
            let gap = if dice.roll(2) == 0 { "\n" } else { "\n\n" };
            let before = if out.is_empty() || out.ends_with('\n') { "" } else { "\n" };
            out.push_str(&format!("{before}{wrapped}{gap}"));
        }
    }
    parts.for_each(|part| out.push_str(part));
    out
}

fn approves(text: &str) -> bool {
    let counts = tribunal_findings::read(text).effective();
    matches!(counts, Some(Verdict::Approve | Verdict::Conditional))
}

/// Tries so many answers from a seed on.
pub fn run(seed: u64, cases: u64) -> Tally {
    let mut tally = Tally::default();
    let faults: Vec<&str> = FAULTS.lines().collect();
    let twins = ANSWERS.iter().chain(OBJECTS).map(|answer| without_marks(answer));
    for twin in twins {
        tally.twins += 1;
        if !approves(&twin) {
            tally.refused += 1;
            tally.wrong.push(format!("not approved: {twin:?}"));
        }
    }
    for case in seed..seed.saturating_add(cases) {
        let text = planted(&faults, case);
        tally.planted += 1;
        if approves(&text) {
            tally.approved += 1;
            if tally.wrong.len() < 200 {
                tally.wrong.push(format!("case {case} approved: {text:?}"));
            }
        }
    }
    tally
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_planted_fault_is_approved_and_every_twin_is() {
        let tally = run(1, 20_000);
        assert_eq!((tally.approved, tally.refused), (0, 0), "{tally}");
        assert_eq!(tally.twins, (ANSWERS.len() + OBJECTS.len()) as u64);
    }
}
