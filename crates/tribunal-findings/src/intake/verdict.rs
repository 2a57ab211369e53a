//! Reads verdict lines, and the remarks beside them: what was checked, what the task was for.
//!
//! Only the author's own lines count. A list of possible answers is not an answer, and words behind an approval must be
//! harmless. A rejection is read in many more forms than an approval: missing one would let a fault land.

use super::cover::{Manner, doubtful};
use super::launch::Carried;
use super::scan::{Kind, Line, is_indented};
use super::{Draft, Form, head};
use crate::text::{bare, field, heading, is_bullet, plain_words, starts_with_phrase, strip_bullet};
use crate::words::{self, Stated};
use tribunal_core::finding::Verdict;

/// Votes for every verdict line of the author's own, and marks its lines as taken.
pub(crate) fn read(lines: &[Line<'_>], taken: &mut [bool], draft: &mut Draft) {
    let mut at = 0;
    while at < lines.len() {
        let line = &lines[at];
        let here = at;
        at += 1;
        if line.kind != Kind::Own || is_indented(line.text) || taken[here] {
            continue;
        }
        (draft.carried, draft.at) = (line.word, here);
        if is_correction(line.text) {
            draft.corrections.push(here);
        }
        if let Some(value) = verdict_value(line.text) {
            taken[here] = true;
            if !bare(value).is_empty() {
                vote(value, draft);
            // A heading such as `## Verdict` has its value below.
            } else if let Some(next) = value_below(lines, at) {
                taken[here..=next].fill(true);
                at = next + 1;
                // The word may stand on either line.
                draft.carried = if line.word == Carried::Nothing { lines[next].word } else { line.word };
                vote(strip_bullet(lines[next].text), draft);
                explanation(lines, at, strip_bullet(lines[next].text), taken, draft);
            }
        } else if let Some((part, words)) = part_verdict(line.text) {
            taken[here] = true;
            part_vote(part, words, draft);
        } else if let Some(words) = lone_verdict(line.text) {
            taken[here] = true;
            vote(words, draft);
            // A verdict on a line of its own is the mark of the plain form.
            draft.form(Form::Plain);
        }
    }
    // Only where there is no other verdict: the heading is too common to prove anything beside one.
    if draft.votes.is_empty() && draft.strictest.is_none() {
        read_plugin(lines, draft);
    }
    (draft.carried, draft.at) = (Carried::Nothing, usize::MAX);
}

/// Votes by the words of a verdict. Words behind an approval must not take it back.
pub(crate) fn vote(words: &str, draft: &mut Draft) {
    match words::verdict(words) {
        Stated::Known(Verdict::Reject, fundamental) => {
            draft.vote(words, Ok((Verdict::Reject, fundamental)));
            draft.leave(words);
        }
        Stated::Known(verdict, fundamental) => {
            let tail = after_first_word(words);
            // `approve, although the lock is missing`: the tail decides whether it is one.
            match doubtful(tail, Manner::Tail) {
                // Voted as an error, not left out: an approval with a doubtful tail must unsettle an earlier one.
                Some(_) if verdict == Verdict::Approve => {
                    draft.leave(words);
                    draft.vote(words, Err("the words behind it are not plainly harmless"));
                }
                Some(part) => {
                    draft.leave(part);
                    draft.vote(words, Ok((verdict, fundamental)));
                }
                None => draft.vote(words, Ok((verdict, fundamental))),
            }
        }
        Stated::Menu => draft.intake.note(words, "a list of possible verdicts, not one"),
        Stated::Unknown(why) => {
            draft.leave(words);
            draft.vote(words, Err(why));
        }
    }
}

/// The words behind the verdict's own.
fn after_first_word(words: &str) -> &str {
    let start = words.trim_start_matches(|c: char| !c.is_alphanumeric());
    let end = start.find(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '-')).unwrap_or(start.len());
    let rest = &start[end..];
    let lower = rest.trim_start().to_lowercase();
    // "approve with suggestions", "approved with no blockers": the words of the verdict itself.
    match lower.strip_prefix("with ") {
        Some(with)
            if ["suggestion", "nit", "note", "comment", "confidence", "warning", "condition"]
                .iter()
                .any(|w| with.starts_with(w)) =>
        {
            rest.trim_start()[5..].split_once([',', '.', ';', ':']).map_or("", |(_, rest)| rest)
        }
        _ => rest,
    }
}

/// Reads a review plugin's message, which has no verdict: under its heading, `No issues found.` is one.
fn read_plugin(lines: &[Line<'_>], draft: &mut Draft) {
    let mut own = lines.iter().filter(|line| line.kind == Kind::Own);
    let titled = own
        .next()
        .and_then(|line| heading(line.text))
        .is_some_and(|(_, words)| plain_words(words) == "code review");
    let Some(line) = own.next().filter(|_| titled) else { return };
    if line.text.trim_start().starts_with("No issues found") {
        draft.carried = line.word;
        draft.vote("No issues found", Ok((Verdict::Approve, false)));
        draft.form(Form::Plain);
    }
}

/// Whether a line is keyed as a verdict and nothing else.
pub(crate) fn is_keyed_verdict(line: &str) -> bool {
    let other = field(line).is_some_and(|(key, _)| !is_verdict_key(&key));
    verdict_value(line).is_some() && !other
}

/// Whether a line states a verdict, for the whole or for a part.
pub(crate) fn is_verdict(line: &str) -> bool {
    verdict_value(line).is_some() || lone_verdict(line).is_some() || part_verdict(line).is_some()
}

/// The part and the words of a verdict for a part: `Security: VERDICT: approve`.
fn part_verdict(line: &str) -> Option<(&str, &str)> {
    let start = own_start(strip_bullet(line))?;
    let (part, rest) = start.split_once([':', '：'])?;
    let (key, value) = field(rest)?;
    // A longer text before the colon is a sentence that mentions a verdict.
    let short = part.len() < 60 && !part.chars().any(|c| matches!(c, '.' | '"' | '`'));
    (short && is_verdict_key(&key)).then_some((part, value))
}

/// Votes for a part. Approving a part approves nothing; anything stricter bounds the whole.
fn part_vote(part: &str, value: &str, draft: &mut Draft) {
    match words::verdict(value) {
        Stated::Known(Verdict::Approve, _) => {
            draft.intake.note(part, "a verdict for a part approves nothing by itself")
        }
        Stated::Known(verdict, fundamental) => draft.part(value, verdict, fundamental),
        Stated::Menu | Stated::Unknown(_) => {
            draft.vote(value, Err("a verdict for a part that cannot be read"))
        }
    }
}

/// Whether the author takes back on this line what it said before.
fn is_correction(line: &str) -> bool {
    #[rustfmt::skip]
    const CUES: [&str; 14] = [
        "correction", "on second thought", "on reflection", "i was wrong", "i take that back",
        "scratch that", "changed my mind", "i correct", "corrected verdict", "revised verdict",
        "updated verdict", "korrektur", "corrección", "更正",
    ];
    let words = plain_words(line);
    let words = words.trim_start_matches(|c: char| !c.is_alphanumeric());
    CUES.iter().any(|cue| words.starts_with(cue)) || words.starts_with("update") && words.contains("verdict")
}

/// The words after `VERDICT:` or its kin; empty for a heading or a key whose value stands below.
pub(crate) fn verdict_value(line: &str) -> Option<&str> {
    let line = own_start(line)?;
    // An item of a list may quote as well.
    own_start(strip_bullet(line))?;
    if let Some((key, value)) = field(line) {
        return (is_verdict_key(&key) || is_like_verdict_key(&key) && is_known(value)).then_some(value);
    }
    if let Some((_, words)) = heading(line) {
        let words = own_start(words)?;
        if is_verdict_key(&words.to_lowercase()) {
            return Some("");
        }
        return dashed(words);
    }
    let unmarked = bare(line).to_lowercase();
    // `**Verdict**` on a line of its own is a heading; the bare word is one, too.
    if unmarked != line.to_lowercase() && is_verdict_key(&unmarked) || unmarked == "verdict" {
        return Some("");
    }
    dashed(strip_bullet(line))
}

fn is_known(value: &str) -> bool {
    matches!(words::verdict(value), Stated::Known(..))
}

/// The words after a verdict's key without a colon: `VERDICT - approve`, `Verdict — reject`, `VERDICT approve`.
fn dashed(words: &str) -> Option<&str> {
    let words = words.trim_start_matches(['*', '_']);
    if let Some((key, value)) = words.split_once(['—', '–', '-'])
        && is_verdict_key(&key.to_lowercase())
    {
        return Some(value);
    }
    // Only in capitals: a sentence may begin with the word.
    let value = words.strip_prefix("VERDICT")?;
    // Bold around the key alone: `**VERDICT** approve`.
    let value = value.strip_prefix([' ', '*'])?.trim_start_matches([' ', '*']);
    is_known(value).then_some(value)
}

/// Whether a line says something like a verdict under a key that is not a verdict's. Only used to explain why there is
/// none.
pub(crate) fn is_like_one(line: &str) -> bool {
    let value = field(line).map(|(_, value)| value);
    value.is_some_and(is_known)
}

/// Whether an item of a list quotes a verdict.
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

/// The verdict that a line would state if it were the author's own.
pub(crate) fn quoted_verdict(line: &str) -> Option<Verdict> {
    match words::verdict(verdict_value(unquoted(line))?) {
        Stated::Known(verdict, _) => Some(verdict),
        _ => None,
    }
}

/// The line behind decorations such as `✅`; `None` when it starts with something that quotes.
fn own_start(line: &str) -> Option<&str> {
    let line = line.trim();
    let start = line
        .trim_start_matches(|c: char| !c.is_ascii() && !c.is_alphanumeric() && !matches!(c, '“' | '«' | '‘'));
    (!start.starts_with(['>', '"', '\'', '`', '“', '«', '‘', '|', '<', '{', '['])).then(|| start.trim_start())
}

/// Whether a key is a verdict's, whatever stands behind it.
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

/// Whether a key may say anything, and sometimes a verdict. Its value has to be one, or it is not read as such.
fn is_like_verdict_key(key: &str) -> bool {
    #[rustfmt::skip]
    const KEYS: &[&str] = &[
        "status", "review", "review status", "review state", "review result", "result", "overall",
        "overall result", "overall assessment", "recommendation", "conclusion", "outcome", "assessment",
        "approval", "gate", "state", "code review", "urteil", "ergebnis", "fazit", "bewertung",
        "entscheidung", "gesamturteil", "veredicto", "resultado", "decisión", "dictamen", "conclusión",
        "conclusion", "avis", "décision", "résultat", "verdetto", "esito", "decisione", "parecer",
        "decisão", "conclusão", "вердикт", "решение", "итог", "结论", "评审结果", "审查结果", "评审结论", "审查结论", "裁决",
        "結論", "判定", "結果", "审核结果", "レビュー結果", "판정", "결론", "검토 결과",
    ];
    let words = plain_words(bare(key.split('(').next().unwrap_or("")));
    KEYS.contains(&words.as_str())
}

/// The line below a verdict's heading that states it; `None` when there is a menu or nothing.
fn value_below(lines: &[Line<'_>], from: usize) -> Option<usize> {
    let says = |at: &usize| lines[*at].kind != Kind::Blank && !head::is_underline(lines[*at].text);
    let first = (from..lines.len()).find(says)?;
    let line = &lines[first];
    if line.kind != Kind::Own
        || is_indented(line.text)
        || heading(line.text).is_some()
        || verdict_value(line.text).is_some()
    {
        return None;
    }
    (!is_menu(&lines[first..])).then_some(first)
}

/// Whether two different verdicts are items of one list: the prompt's menu, echoed.
fn is_menu(lines: &[Line<'_>]) -> bool {
    let mut seen: Option<Verdict> = None;
    for line in lines.iter().take_while(|line| line.kind == Kind::Own || line.kind == Kind::Blank) {
        if line.kind == Kind::Blank || is_indented(line.text) {
            continue;
        }
        // Prose below the verdict: not a menu.
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

/// The verdict of a line that is nothing else. Bare PASS and FAIL are what test runners print, so those must be bold or
/// marked.
///
/// The list of plain forms is closed on purpose. Any other short line could be a heading, a test's output or a menu
/// item.
fn lone_verdict(line: &str) -> Option<&str> {
    let start = own_start(strip_bullet(line))?;
    let signed = line.trim_start().starts_with(['✅', '❌', '🚫', '⛔', '🟢', '🔴', '✔', '✗'])
        || heading(line).is_some();
    let words = start.trim_start_matches('#').trim();
    let words = own_start(words)?;
    let signed = signed || words.len() < start.trim_start_matches('#').trim().len();
    let text = plain_words(words.trim_matches(|c: char| !c.is_alphanumeric()));
    let bold = words.starts_with("**");
    let plain = matches!(
        text.as_str(),
        "approved"
            | "needs revision"
            | "needs work"
            | "changes requested"
            | "request changes"
            | "requesting changes"
            | "rejected"
            | "conditionally approved"
            | "lgtm"
            | "do not merge"
            | "don't merge"
            | "do not approve"
            | "not ready to merge"
            | "not ready for merge"
            | "no go"
            | "approved with conditions"
            | "approved with comments"
            | "not approved"
    );
    let marked = (bold || signed)
        && matches!(text.as_str(), "pass" | "fail" | "approve" | "reject" | "conditional" | "go");
    // `**FAIL** the lock is missing`: the bold word is the verdict, the rest explains it.
    let explained = bold
        && ["pass", "fail", "approve", "approved", "reject", "conditional", "needs work"].iter().any(
            |word| {
                starts_with_phrase(&text, word)
                    .is_some_and(|rest| rest.starts_with("**") && !rest.contains('|'))
            },
        );
    let short = |most: usize| text.split(' ').count() <= most;
    // Code hosts print `octocat requested changes`.
    let by_name =
        text.ends_with(" requested changes") && short(3) || text.ends_with(" (changes requested") && short(8);
    let words = if by_name { "requested changes" } else { words };
    (plain || marked || explained || by_name).then_some(words)
}

/// Takes the paragraph under a verdict, and the words beside it, as what was checked.
fn explanation(lines: &[Line<'_>], from: usize, beside: &str, taken: &mut [bool], draft: &mut Draft) {
    if draft.votes.last().is_some_and(|vote| vote.meaning.is_ok()) && draft.may_loosen(beside) {
        let tail = beside.split_once(['—', '–', '-', ':', '.']).filter(|(word, _)| word.len() < 30);
        add_checked(tail.map_or("", |(_, why)| why), draft);
    }
    let mut at = from;
    while at < lines.len() && lines[at].kind == Kind::Blank {
        at += 1;
    }
    while at < lines.len() && lines[at].kind == Kind::Own && heading(lines[at].text).is_none() {
        let text = lines[at].text;
        if taken[at]
            || verdict_value(text).is_some()
            || remark_of(text).is_some()
            || super::said::is_answer(text)
            // The next section's title.
            || lines.get(at + 1).is_some_and(|next| head::is_underline(next.text))
        {
            return;
        }
        // A doubtful line is left where it is, so that the covering reader sees it as prose.
        if doubtful(strip_bullet(text), Manner::Prose).is_none() && draft.may_loosen(text) {
            add_checked(strip_bullet(text), draft);
            taken[at] = true;
        }
        at += 1;
    }
}

/// Adds words about what was checked. All of them have to be harmless in the end, too.
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
    draft.evidence(text);
}

/// Adds one item of a list of what was checked.
fn add_item(text: &str, draft: &mut Draft) {
    let before = draft.left.len();
    add_checked(text, draft);
    for (_, manner) in draft.left.iter_mut().skip(before) {
        *manner = Manner::List;
    }
}

/// Takes words about what was checked, if they may count.
///
/// Both ways the words are covered: without the launch word they prove nothing, but may still tell of a fault.
pub(crate) fn take_evidence(text: &str, draft: &mut Draft) {
    if draft.may_loosen(text) {
        draft.intake.worded += usize::from(draft.carried == Carried::Right);
        add_checked(text, draft);
    } else {
        // It lacks the launch word: the words have to be harmless, but they are not evidence.
        draft.evidence(text);
        if draft.unworded.is_empty() {
            draft.unworded = crate::text::clip(text.trim(), 4_000);
        }
    }
}

/// Reads `CHECKED:`, `INTENT:`, `INTENT SATISFIED:` and sections with such titles; marks their lines as taken.
pub(crate) fn read_remarks(lines: &[Line<'_>], taken: &mut [bool], draft: &mut Draft) {
    // Whether the lines below continue what was checked.
    let mut checking = false;
    let mut listed = false;
    for (at, line) in lines.iter().enumerate() {
        if line.kind == Kind::Blank {
            // A gap ends a list that has begun.
            checking &= !std::mem::take(&mut listed);
            continue;
        }
        if line.kind != Kind::Own || taken[at] {
            checking = false;
            continue;
        }
        draft.carried = line.word;
        let underlined = || lines.get(at + 1).is_some_and(|next| head::is_underline(next.text));
        let title = heading(line.text).map(|(_, words)| words).or_else(|| underlined().then_some(line.text));
        if checking && head::is_underline(line.text) {
            continue;
        }
        if let Some(words) = title
            && remark_of(words).is_none()
        {
            checking = is_checked_key(&plain_words(bare(words.trim_end_matches([':', '：']))));
            // Evidence below a title without the word is not taken, wherever its items stand.
            checking = checking && draft.may_loosen(words);
            taken[at] = checking;
            continue;
        }
        if let Some((key, value)) = remark_of(line.text) {
            taken[at] = true;
            checking = remark(&key, value, draft);
            continue;
        }
        let own = checking && verdict_value(line.text).is_none() && !super::said::is_answer(line.text);
        if own && (is_bullet(line.text) || line.text.starts_with([' ', '\t']) || told(line.text)) {
            (taken[at], listed) = (true, true);
            add_item(strip_bullet(line.text), draft);
        } else {
            checking = false;
        }
    }
    draft.carried = Carried::Nothing;
}

/// Whether a line below such a title is a sentence that reports what was done.
fn told(text: &str) -> bool {
    super::cover::sentences(text).into_iter().all(super::cover::reports_work)
}

/// The key and the value of a remark.
fn remark_of(line: &str) -> Option<(String, &str)> {
    if let Some(value) = strip_bullet(line).trim_start_matches('*').strip_prefix("CHECKED")
        && let Some(value) = value.strip_prefix([' ', '*'])
        && let value = value.trim_start_matches([' ', '*'])
        && !value.contains(": ")
        // `CHECKED :` is a key without its launch word: its items stand below.
        && !value.trim_start().starts_with([':', '：'])
    {
        return Some(("checked".to_owned(), value));
    }
    let (key, value) = field(heading(line).map_or(line, |(_, words)| words))?;
    let key = plain_words(&key);
    let known = is_checked_key(&key)
        || matches!(
            key.as_str(),
            "intent" | "interpreted intent" | "intent satisfied" | "intentsatisfied" | "fundamental"
        );
    known.then_some((key, value))
}

/// Whether a title opens the section of what was checked.
pub(crate) fn is_checked_title(name: &str) -> bool {
    is_checked_key(name)
}

/// Whether a line is one of the remarks beside a verdict.
pub(crate) fn is_remark(line: &str) -> bool {
    remark_of(line).is_some()
}

/// Reads a remark; returns whether the lines below continue what was checked.
fn remark(key: &str, value: &str, draft: &mut Draft) -> bool {
    match key {
        "intent" | "interpreted intent" => {
            // `Intent: not satisfied` judges; anything else says what was wanted.
            let plain = plain_words(bare(value));
            if ["not ", "un", "partly", "partially", "missed", "no"]
                .iter()
                .any(|lead| plain.starts_with(lead))
            {
                draft.cover(value, Manner::Prose);
            }
            draft.intake.intent = Some(value.to_owned());
        }
        "intent satisfied" | "intentsatisfied" => draft.intake.intent_satisfied = words::yes_no(value),
        "fundamental" => draft.intake.fundamental |= words::yes_no(value) == Some(true),
        _ => {
            let counts = draft.word.is_none() || draft.carried == Carried::Right;
            take_evidence(value.trim_end_matches(['*', '_']), draft);
            // A remark with words on its own line is complete; nothing below belongs to it.
            return counts && bare(value).is_empty();
        }
    }
    false
}

/// Whether a key or title stands for what was checked, in the languages that reviewers write in.
fn is_checked_key(key: &str) -> bool {
    #[rustfmt::skip]
    const KEYS: &[&str] = &[
        "checked", "what was checked", "what i checked", "what i reviewed", "what was reviewed",
        "evidence reviewed", "evidence", "checks performed", "verification performed", "verification",
        "what i verified", "verified", "explanation", "reviewed", "what i looked at", "how i checked",
        "how i checked it", "what i did", "testing", "tests run", "geprüft", "überprüft",
        "was ich geprüft habe", "nachweis", "revisé", "revisado", "comprobado", "comprobé", "verificado",
        "he revisado", "vérifié", "vérifications", "verificato", "verificado", "проверено", "已检查", "检查内容",
        "检查", "已审查", "验证", "確認内容", "確認", "確認事項", "검토 내용", "확인",
    ];
    KEYS.contains(&key)
}

/// Whether words say what was checked: "looks good" and the form's own placeholder do not.
///
/// A coarse filter; whether the words are evidence is decided in `checked`.
pub(crate) fn has_substance(text: &str) -> bool {
    let text = text.trim();
    if text.starts_with('<') && text.ends_with('>') {
        return false;
    }
    let nothing = plain_words(text).replace([' ', '.'], "");
    if ["n/a", "na", "none", "nil", "-", "tbd"].contains(&nothing.as_str()) {
        return false;
    }
    if super::place::names_a_path(text) || text.contains('`') {
        return true;
    }
    // Scripts without spaces have no words to count.
    if text.chars().filter(|c| c.is_alphabetic() && u32::from(*c) > 0x24f).count() >= 4 {
        return true;
    }
    let mut rest = plain_words(text).replace(['.', ',', '!', ';', '(', ')', '*', '`', ':'], " ");
    #[rustfmt::skip]
    const EMPTY: [&str; 30] = [
        "or all warnings addressed", "phase is approved", "looks good to me", "looks good", "look good",
        "lgtm", "no blockers", "no warnings", "no issues found", "no issues", "no findings", "no problems",
        "all good", "nothing to report", "nothing found", "nothing", "everything works",
        "everything is fine", "everything", "ship it", "great work", "good work", "well done", "approved",
        "approve", "clean", "solid", "none", "n/a", "as asked",
    ];
    for phrase in EMPTY {
        rest = rest.replace(phrase, " ");
    }
    rest.split_whitespace().filter(|word| word.len() > 2 || word.chars().any(|c| c.is_numeric())).count() >= 3
}
