//! Verdict lines, and the remarks beside them: what was checked, what the task was for. Only the author's own lines
//! count; a list of possible answers is not an answer.

use super::scan::{Kind, Line, is_indented};
use super::{Draft, Form};
use crate::text::{bare, field, heading, is_bullet, plain_words, strip_bullet};
use crate::words::{self, Stated};
use tribunal_core::finding::Verdict;

/// Votes for every verdict line of the author's own.
pub(crate) fn read(lines: &[Line<'_>], draft: &mut Draft) {
    let mut at = 0;
    while at < lines.len() {
        let line = &lines[at];
        at += 1;
        if line.kind != Kind::Own || is_indented(line.text) {
            continue;
        }
        if let Some(value) = verdict_value(line.text) {
            if !bare(value).is_empty() {
                vote(value, draft);
            } else if let Some(next) = value_below(lines, at) {
                at = next + 1;
                vote(strip_bullet(lines[next].text), draft);
                explanation(&lines[at..], draft);
            }
        } else if let Some(words) = lone_verdict(line.text) {
            vote(words, draft);
            draft.form(Form::Plain);
        }
    }
}

fn vote(words: &str, draft: &mut Draft) {
    match words::verdict(words) {
        Stated::Known(verdict, fundamental) => {
            draft.vote(words, Ok((verdict, fundamental)));
            if let Some((_, why)) =
                words.split_once(['—', '–', '-', ':', '.']).filter(|(word, _)| word.len() < 30)
            {
                add_checked(why, draft);
            }
        }
        Stated::Menu => draft.intake.note(words, "a list of possible verdicts, not one"),
        Stated::Unknown(why) => draft.vote(words, Err(why)),
    }
}

/// The words after `VERDICT:` or its kin; empty for a heading or a key whose value stands below.
pub(crate) fn verdict_value(line: &str) -> Option<&str> {
    let line = own_start(line)?;
    // An item of a list may quote as well.
    own_start(strip_bullet(line))?;
    if let Some((key, value)) = field(line) {
        return is_verdict_key(&key).then_some(value);
    }
    if let Some((_, words)) = heading(line) {
        if is_verdict_key(&words.to_lowercase()) {
            return Some("");
        }
        let (key, value) = words.split_once(['—', '–', '-'])?;
        return is_verdict_key(&key.to_lowercase()).then_some(value);
    }
    let unmarked = bare(line).to_lowercase();
    (unmarked != line.to_lowercase() && is_verdict_key(&unmarked)).then_some("")
}

/// A line that says something like a verdict under a name that is none of a verdict's.
pub(crate) fn is_like_one(line: &str) -> bool {
    let value = field(line).map(|(_, value)| value);
    value.is_some_and(|value| matches!(words::verdict(value), Stated::Known(..)))
}

/// An item of a list that quotes a verdict.
pub(crate) fn is_quoted_item(line: &str) -> bool {
    let quoted = || verdict_value(unquoted(strip_bullet(line))).is_some();
    is_bullet(line) && verdict_value(line).is_none() && quoted()
}

/// Whether a line would be a verdict if it were the author's own.
pub(crate) fn is_verdict_line(line: &str) -> bool {
    quoted_verdict(line).is_some()
}

fn unquoted(line: &str) -> &str {
    line.trim_start_matches(['>', ' ', '\t', '"', '\'', '`', '“'])
}

/// The verdict a line would state if it were the author's own.
pub(crate) fn quoted_verdict(line: &str) -> Option<Verdict> {
    match words::verdict(verdict_value(unquoted(line))?) {
        Stated::Known(verdict, _) => Some(verdict),
        _ => None,
    }
}

/// The line after decorations such as `✅`; `None` when it starts with something that quotes.
fn own_start(line: &str) -> Option<&str> {
    let line = line.trim();
    let start = line
        .trim_start_matches(|c: char| !c.is_ascii() && !c.is_alphanumeric() && !matches!(c, '“' | '«' | '‘'));
    (!start.starts_with(['>', '"', '\'', '`', '“', '«', '‘', '|', '<', '{', '['])).then(|| start.trim_start())
}

fn is_verdict_key(key: &str) -> bool {
    let key = key.split('(').next().unwrap_or("");
    let words = plain_words(bare(key));
    matches!(
        words.as_str(),
        "verdict"
            | "final verdict"
            | "overall verdict"
            | "my verdict"
            | "review verdict"
            | "decision"
            | "final decision"
            | "review decision"
            | "panel verdict"
            | "reviewer verdict"
    )
}

/// The line below a verdict heading that states it; `None` when what stands there is a menu or nothing.
fn value_below(lines: &[Line<'_>], from: usize) -> Option<usize> {
    let first = (from..lines.len()).find(|i| lines[*i].kind != Kind::Blank)?;
    let line = &lines[first];
    if line.kind != Kind::Own
        || is_indented(line.text)
        || heading(line.text).is_some()
        || field_like_other(line.text)
    {
        return None;
    }
    (!is_menu(&lines[first..])).then_some(first)
}

fn field_like_other(text: &str) -> bool {
    verdict_value(text).is_some()
}

/// Two different verdicts as items of one list.
fn is_menu(lines: &[Line<'_>]) -> bool {
    let mut seen: Option<Verdict> = None;
    for line in lines.iter().take_while(|line| line.kind == Kind::Own || line.kind == Kind::Blank) {
        if line.kind == Kind::Blank || is_indented(line.text) {
            continue;
        }
        if !is_bullet(line.text) {
            return false;
        }
        if let Stated::Known(verdict, _) = words::verdict(strip_bullet(line.text)) {
            if seen.is_some_and(|before| before != verdict) {
                return true;
            }
            seen = Some(verdict);
        }
    }
    false
}

/// A line that is nothing but a verdict. Bare PASS and FAIL are what test runners print, so those must be bold.
fn lone_verdict(line: &str) -> Option<&str> {
    let line = own_start(line)?;
    let words = strip_bullet(line).trim_start_matches('#').trim();
    let text = plain_words(words.trim_matches(|c: char| matches!(c, '*' | '.' | '!' | ' ')));
    let plain = matches!(
        text.as_str(),
        "approved"
            | "needs revision"
            | "needs work"
            | "changes requested"
            | "rejected"
            | "conditionally approved"
    );
    let bold = words.starts_with("**")
        && matches!(text.as_str(), "pass" | "fail" | "approve" | "reject" | "conditional");
    (plain || bold).then_some(words)
}

/// The paragraph under a verdict says what was checked.
fn explanation(lines: &[Line<'_>], draft: &mut Draft) {
    let own = lines.iter().skip_while(|line| line.kind == Kind::Blank);
    for line in own.take_while(|line| line.kind == Kind::Own && heading(line.text).is_none()) {
        if verdict_value(line.text).is_some() || super::said::is_answer(line.text) {
            return;
        }
        add_checked(strip_bullet(line.text), draft);
    }
}

fn add_checked(text: &str, draft: &mut Draft) {
    let text = text.trim();
    let checked = &mut draft.intake.checked;
    if text.is_empty() || checked.len() > 8_000 || checked.contains(text) {
        return;
    }
    if !checked.is_empty() {
        checked.push(' ');
    }
    checked.push_str(&crate::text::clip(text, 4_000));
}

/// `CHECKED:`, `INTENT:`, `INTENT SATISFIED:` and sections headed so.
pub(crate) fn read_remarks(lines: &[Line<'_>], taken: &[bool], draft: &mut Draft) {
    let mut checking = false;
    for (at, line) in lines.iter().enumerate() {
        if line.kind == Kind::Blank {
            continue;
        }
        if line.kind != Kind::Own || taken[at] {
            checking = false;
            continue;
        }
        if let Some((_, words)) = heading(line.text) {
            checking = is_checked_key(&plain_words(bare(words)));
            if checking {
                continue;
            }
        }
        if let Some((key, value)) = field(line.text) {
            checking = remark(&plain_words(&key), value, draft).unwrap_or(checking && !is_verdict_key(&key));
            if !checking || is_checked_key(&plain_words(&key)) {
                continue;
            }
        }
        if checking && verdict_value(line.text).is_none() && !super::said::is_answer(line.text) {
            add_checked(strip_bullet(line.text), draft);
        }
    }
}

/// Reads a remark; says whether the lines below go on with what was checked.
fn remark(key: &str, value: &str, draft: &mut Draft) -> Option<bool> {
    match key {
        _ if is_checked_key(key) => {
            add_checked(value, draft);
            return Some(true);
        }
        "intent" | "interpreted intent" => draft.intake.intent = Some(value.to_owned()),
        "intent satisfied" | "intentsatisfied" => draft.intake.intent_satisfied = words::yes_no(value),
        "fundamental" => draft.intake.fundamental |= words::yes_no(value) == Some(true),
        "findings" | "summary" | "verdict" => {}
        _ => return None,
    }
    Some(false)
}

fn is_checked_key(key: &str) -> bool {
    matches!(
        key,
        "checked"
            | "what was checked"
            | "what i checked"
            | "what i reviewed"
            | "what was reviewed"
            | "evidence reviewed"
            | "checks performed"
            | "verification performed"
            | "what i verified"
            | "explanation"
            | "reviewed"
    )
}

/// Whether words say what was checked: "looks good" does not.
pub(crate) fn has_substance(text: &str) -> bool {
    let mut rest = plain_words(text).replace(['.', ',', '!', ';', '(', ')', '*', '`', ':'], " ");
    const EMPTY: [&str; 28] = [
        "or all warnings addressed",
        "phase is approved",
        "looks good to me",
        "looks good",
        "look good",
        "lgtm",
        "no blockers",
        "no warnings",
        "no issues found",
        "no issues",
        "no findings",
        "no problems",
        "all good",
        "nothing to report",
        "nothing found",
        "everything works",
        "everything is fine",
        "everything",
        "ship it",
        "great work",
        "good work",
        "well done",
        "approved",
        "approve",
        "clean",
        "solid",
        "none",
        "n/a",
    ];
    for phrase in EMPTY {
        rest = rest.replace(phrase, " ");
    }
    rest.split_whitespace().filter(|word| word.len() > 2 || word.chars().any(|c| c.is_numeric())).count() >= 3
}
