//! Reads replies about unread parts of an earlier answer: `U-2 k7f3q2xa: no finding because it names no fault`.
//!
//! A part that is a finding comes as a finding, with `U-2` for its label. So a reviewer can settle a doubt without
//! repeating its whole answer.

use super::Draft;
use super::scan::{Kind, Line, is_indented};
use crate::text::{plain_words, starts_with_phrase, strip_bullet};
use tribunal_core::finding::Said;

/// Reads every such reply of the author's own. A reply loosens, so it needs the launch word where there is one.
pub(crate) fn read(lines: &[Line<'_>], taken: &mut [bool], draft: &mut Draft) {
    for (at, line) in lines.iter().enumerate() {
        if line.kind != Kind::Own || taken[at] || is_indented(line.text) {
            continue;
        }
        let Some(reply) = reply(line.text) else { continue };
        taken[at] = true;
        draft.carried = line.word;
        if draft.may_loosen(line.text) {
            draft.intake.settled.insert(reply.0, reply.1);
        }
    }
}

/// The number in `U-1`, if nothing else stands there.
pub(crate) fn number(id: &str) -> Option<u32> {
    let digits = id.trim().strip_prefix(['U', 'u'])?.strip_prefix('-')?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

/// Takes a reply by a tool call: not an issue, and why. A part that is a finding is reported as one.
pub(crate) fn reply_by_tool(
    number: u32,
    said: Option<Result<Said, &'static str>>,
    text: &str,
    draft: &mut Draft,
) {
    match said {
        Some(Ok(Said::NotAnIssue(why))) if why.chars().any(char::is_alphabetic) => {
            if draft.may_loosen(text) {
                draft.intake.settled.insert(number, why);
            }
        }
        _ => draft
            .intake
            .note(text, "a part that could not be read is raised as a finding, or is not an issue, and why"),
    }
}

/// The number and reason in `U-1: no finding because …`, with or without a word before the colon; `None` without a
/// reason.
fn reply(line: &str) -> Option<(u32, String)> {
    let line = strip_bullet(line).trim_start_matches(['*', '`', '[', ' ']);
    let rest = line.strip_prefix(['U', 'u'])?.strip_prefix('-')?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let number = rest[..digits].parse().ok()?;
    let (between, words) = rest[digits..].split_once(':')?;
    // A launch word may be left there where none is looked for.
    if between.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty()).count() > 1 {
        return None;
    }
    let lower = plain_words(&words.replace(['*', '`'], ""));
    let none =
        ["no finding", "not a finding"].iter().any(|phrase| starts_with_phrase(&lower, phrase).is_some());
    let reason = super::said_reason(words);
    (none && reason.chars().any(char::is_alphabetic)).then_some((number, reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_by_a_tool_settles_its_part() {
        let call = |said: &str| {
            format!(
                r#"{{"tool":"cast_verdict","args":{{"verdict":"approve","checked":"read all of it","said":[{said}]}}}}"#
            )
        };
        let settled = |said: &str| crate::read(&call(said)).settled;
        let none = r#"{"id":"U-2","status":"not_an_issue","why":"it lists names"}"#;
        assert_eq!(settled(none), [(2, "it lists names".to_owned())].into());
        for said in [
            r#"{"id":"U-2","status":"not_an_issue"}"#,
            r#"{"id":"U-2","status":"resolved"}"#,
            r#"{"id":"U-x","status":"not_an_issue","why":"it lists names"}"#,
        ] {
            assert!(settled(said).is_empty(), "{said}");
        }
    }

    #[test]
    fn a_reply_names_its_part_and_a_reason() {
        let names = || "the table lists names".to_owned();
        for (line, expect) in [
            ("U-1 k7f3q2xa: no finding because the table lists names", Some((1, names()))),
            ("U-1: no finding because the table lists names", Some((1, names()))),
            ("- **U-12 k7f3q2xa**: not a finding, the table lists names", Some((12, names()))),
            ("U-1 k7f3q2xa: no finding", None),
            ("U-1 k7f3q2xa: no finding because 3", None),
            ("U-1 k7f3q2xa: still a finding because it leaks", None),
            ("U-1 k7f3q2xa and U-2: no finding because of names", None),
            ("U1: no finding because of names", None),
            ("U-: no finding because of names", None),
            ("F-1 k7f3q2xa: no finding because of names", None),
        ] {
            assert_eq!(reply(line), expect, "{line}");
        }
    }
}
