//! What a verification report and a roadmap say, by their fields.
//!
//! No word of the prose is ever taken for an answer: "all checks passed" in a sentence is not a status.

use tribunal_core::gate::Verification;

use crate::markdown::{self, heading};
use crate::{PlanId, front};

const KEYS: [&str; 7] =
    ["status", "result", "verdict", "checks_passed", "checks_failed", "checks_total", "score"];

/// Reads a verification report: its frontmatter, otherwise `key: value` lines of its body.
///
/// Missing fields stay `None`; what that means is for the gate to decide.
pub fn read_verification(text: &str) -> Verification {
    let mut front = front::read(text, &|key| KEYS.contains(&key));
    let mut fields = front.take_fields(&[("result", "status"), ("verdict", "status")]);
    let lines = markdown::lines(front.body, front.body_line);
    let mut get = |key: &str| fields.take_text(key).or_else(|| body_field(&lines, key));
    let number = |text: Option<String>| text.and_then(|text| text.trim().parse().ok());
    // The body may use a synonym of a key that the frontmatter lacks, so each is asked in turn.
    let status = get("status").or_else(|| get("result")).or_else(|| get("verdict"));
    let mut found = Verification {
        status,
        passed: number(get("checks_passed").or_else(|| get("passed"))),
        failed: number(get("checks_failed").or_else(|| get("failed"))),
        total: number(get("checks_total").or_else(|| get("total"))),
    };
    // `checks_passed: 7/8` is not a number, but says both.
    let scored = ["score", "checks_passed", "passed"].into_iter().find_map(|key| score(&get(key)?));
    if let Some((passed, total)) = scored {
        found.passed = found.passed.or(Some(passed));
        found.total = found.total.or(Some(total));
    }
    found
}

/// Reads `7/8`, with or without words behind it.
fn score(text: &str) -> Option<(u64, u64)> {
    let (passed, rest) = text.trim().split_once('/')?;
    let total: String = rest.trim_start().chars().take_while(char::is_ascii_digit).collect();
    Some((passed.trim().parse().ok()?, total.parse().ok()?))
}

/// The value of `key: value`, `**Key:** value` or `- key: value`, outside fences.
fn body_field(lines: &[markdown::Line<'_>], key: &str) -> Option<String> {
    lines.iter().filter(|line| !line.hidden).find_map(|line| {
        let text = line.text.trim().trim_start_matches(['-', '*', ' ']);
        let (name, value) = text.split_once(':')?;
        // `**Checks passed:** 7` and `checks_passed: 7` say the same.
        let name = name.trim_matches(['*', '_', ' ', '`']).to_ascii_lowercase().replace(' ', "_");
        let value = value.trim_matches(['*', ' ', '`']);
        (name == key && !value.is_empty()).then(|| value.to_owned())
    })
}

/// What the roadmap says of a phase: the lines of its section.
///
/// The section ends at the next heading of its level or above, so subsections belong to it.
pub fn roadmap_section(text: &str, phase: &str) -> Option<String> {
    let front = front::read(text, &|_| false);
    let lines = markdown::lines(front.body, front.body_line);
    let wanted = PlanId::new(phase, "").phase;
    let heads: Vec<(usize, usize, &str)> = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| !line.hidden)
        .filter_map(|(at, line)| heading(line.text).map(|(level, text)| (at, level, text)))
        .collect();
    let is_phase = |text: &str| {
        let word = text.get(..5).is_some_and(|word| word.eq_ignore_ascii_case("phase"));
        word && PlanId::new(text, "").phase == wanted
    };
    let (at, level, _) = *heads.iter().find(|(_, _, text)| is_phase(text))?;
    let end = heads.iter().find(|(next, deep, _)| *next > at && *deep <= level).map_or(lines.len(), |h| h.0);
    let to = lines.get(end).map_or(front.body.len(), |line| line.start);
    Some(front.body.get(lines[at].start..to)?.trim().to_owned())
}

/// The goal of a phase: the `Goal` line of its section, if there is one.
pub fn phase_goal(section: &str) -> Option<String> {
    body_field(&markdown::lines(section, 1), "goal")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_read_by_field() {
        for (text, status, passed, failed) in [
            (
                "---\nstatus: failed\nchecks_passed: 3\nchecks_failed: 1\n---\nall checks pass\n",
                "failed",
                3,
                1,
            ),
            ("# Report\n\n**Result:** FAIL\nchecks_passed: 2\n- checks_failed: 5\n", "FAIL", 2, 5),
        ] {
            let found = read_verification(text);
            assert_eq!(found.status.as_deref(), Some(status), "{text}");
            assert_eq!((found.passed, found.failed), (Some(passed), Some(failed)), "{text}");
        }
        let scored = read_verification("---\nscore: 7/8 must-haves\n---\n");
        assert_eq!((scored.passed, scored.total), (Some(7), Some(8)));
        assert_eq!(read_verification("everything passed").status, None);
        assert_eq!(read_verification("```\nstatus: passed\n```\n").status, None);
    }

    #[test]
    fn a_phase_has_its_section() {
        let text = "# Roadmap\n\n## Phases\n\n### Phase 1: One\n**Goal**: first\n\n### Phase 2: Two\n**Goal:** second\n- x\n\n## End\n";
        let section = roadmap_section(text, "02").unwrap();
        assert!(section.starts_with("### Phase 2") && section.ends_with("- x"), "{section}");
        assert_eq!(phase_goal(&section).as_deref(), Some("second"));
        assert_eq!(phase_goal(&roadmap_section(text, "1").unwrap()).as_deref(), Some("first"));
        assert_eq!(roadmap_section(text, "3"), None);
    }
}
