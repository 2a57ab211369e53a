//! What stands between a box and the words of its task: the id, and marks in brackets.
//!
//! A link, an array or a number with a unit is not taken for a mark or an id. The rules come from how people really
//! write these lines, and the tests list the spellings.

/// Which numbers are ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BareNumbers {
    /// `3 Text` has the id 3, as Kiro and similar tools write it.
    Ids,
    /// A number needs a dot, a colon or the word Task to be an id.
    Words,
}

/// The beginning of a task's line, taken apart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Leading<'a> {
    /// The id as it is written.
    pub id: Option<String>,
    /// Whether the line has `[P]` or `(P)`.
    pub parallel: bool,
    /// Whether a star follows the id (`7.9*`), which is what a formatter leaves of Kiro's mark.
    pub starred: bool,
    /// The user story of a mark: `US1` of `[US1]`.
    pub story: Option<String>,
    /// Marks with another meaning, without their brackets.
    pub unknown: Vec<&'a str>,
    /// The text that follows, without `**`.
    pub text: String,
}

/// How many marks and ids are looked for at the beginning of one line.
const PARTS_MAX: usize = 8;

/// How many bytes an id may have.
const ID_MAX: usize = 32;

/// Takes the beginning of a task's words apart.
pub(super) fn leading(written: &str, bare: BareNumbers) -> Leading<'_> {
    let mut found = Leading::default();
    let mut rest = written.trim();
    // Id and marks come in any order, so they are taken off one at a time.
    for _ in 0..PARTS_MAX {
        let plain = rest.trim_start_matches(['*', ' ', '\t']);
        if found.id.is_none()
            && let Some((id, after)) = take_id(plain, bare)
        {
            found.id = Some(id.to_owned());
            // A star that belongs to bold text around the id says nothing about it.
            found.starred = !rest.starts_with('*') && after.starts_with('*') && !after.starts_with("**");
            rest = without_separator(after);
        } else if let Some((mark, after)) = take_mark(plain) {
            mark.split(',').for_each(|mark| found.mark(mark.trim(), bare));
            rest = without_separator(after);
        } else if let Some(after) = plain.strip_prefix("(P)") {
            found.parallel = true;
            rest = without_separator(after);
        } else if let Some(after) = before_id(plain, bare).filter(|_| found.id.is_none()) {
            rest = after;
        } else {
            break;
        }
    }
    found.text = rest.replace("**", "").trim().to_owned();
    // Some authors put the mark at the end of the line.
    found.parallel |= ["[P]", "(P)"].iter().any(|mark| found.text.ends_with(mark));
    if found.story.is_none() {
        let mut marks = rest.match_indices("[US").filter_map(|(at, _)| take_mark(&rest[at..]));
        found.story = marks.find(|(mark, _)| is_story(mark)).map(|(mark, _)| mark.to_owned());
    }
    found
}

/// Whether a mark names a user story, such as `US1` or `US-HOST`.
fn is_story(mark: &str) -> bool {
    mark.strip_prefix("US").is_some_and(|name| name.starts_with(|c: char| c.is_ascii_digit() || c == '-'))
}

impl<'a> Leading<'a> {
    fn mark(&mut self, mark: &'a str, bare: BareNumbers) {
        if mark == "P" {
            self.parallel = true;
        } else if is_story(mark) {
            self.story.get_or_insert_with(|| mark.to_owned());
        } else if self.id.is_none()
            && let Some((id, "")) = take_id(mark, bare)
        {
            self.id = Some(id.to_owned());
        } else {
            self.unknown.push(mark);
        }
    }
}

/// Skips what may stand between an id or mark and what follows: closing emphasis, then a colon, a point or a dash.
fn without_separator(text: &str) -> &str {
    let text = text.trim_start_matches(['*', '_', '~', '`']);
    let text = text.strip_prefix(['.', ':', '：', ')', '、']).unwrap_or(text);
    let text = text.trim_start_matches(['*', ' ', '\t']);
    let dash = text.strip_prefix(['-', '–', '—', '|', '·']).filter(|after| after.starts_with(' '));
    dash.unwrap_or(text).trim_start()
}

/// Reads `[US1]`, `[N/A]` or `[FND]`: one or two words in brackets, with a blank or another bracket after them.
fn take_mark(text: &str) -> Option<(&str, &str)> {
    let inner = text.strip_prefix('[')?;
    let end = inner.bytes().take(25).position(|b| b == b']')?;
    let (mark, after) = (&inner[..end], &inner[end + 1..]);
    let first = mark.chars().next()?;
    let word = |c: char| {
        c.is_ascii_alphanumeric() || matches!(c, '/' | '_' | '-' | '.' | ',' | '&' | '+' | ' ' | '?')
    };
    let fits = (first.is_ascii_uppercase() || first.is_ascii_digit())
        && mark.chars().all(word)
        && mark.split(' ').count() <= 2;
    // An opening parenthesis would make it a link.
    let ends = after.is_empty() || after.starts_with([' ', '\t', '[', '*', ':', '：']);
    (fits && ends).then_some((mark, after))
}

/// Skips `(abc-mw9.13)` or `✅` if an id follows: a tracker's own id, or a sign, may stand before the task's.
fn before_id(text: &str, bare: BareNumbers) -> Option<&str> {
    let after = match text.strip_prefix('(') {
        Some(inner) => {
            let end = inner.bytes().take(40).position(|b| b == b')')?;
            (!inner[..end].contains(' ')).then(|| &inner[end + 1..])?
        }
        None => text.trim_start_matches(|c: char| !c.is_ascii() && !c.is_alphanumeric()),
    };
    let after = after.trim_start_matches(['*', ' ']);
    take_id(after, bare).map(|_| after)
}

/// The id with which a text starts, and what follows it.
pub(super) fn take_id(text: &str, bare: BareNumbers) -> Option<(&str, &str)> {
    let text = text.trim_start_matches(['_', '~', '`']);
    let worded = after_task_word(text);
    let (start, bare) = match worded {
        Some(after) => (after, BareNumbers::Ids),
        None => (text, bare),
    };
    let length = letter_id(start).or_else(|| number_id(start, bare)).filter(|length| *length <= ID_MAX)?;
    // `TASK-3` is the id itself; of `Task 3` it is the number.
    let whole = worded.is_some() && text[..text.len() - start.len()].ends_with('-');
    let from = if whole { text } else { start };
    let length = if whole { text.len() - start.len() + length } else { length };
    Some((&from[..length], &from[length..]))
}

/// The text that follows the word Task before an id.
fn after_task_word(text: &str) -> Option<&str> {
    let word = ["task", "任务", "任務", "タスク"]
        .into_iter()
        .find(|word| text.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word)))?;
    let after = &text[word.len()..];
    let after = after.strip_prefix(['-', ' ']).unwrap_or(after);
    let after = after.strip_prefix('#').unwrap_or(after);
    after.starts_with(|c: char| c.is_ascii_digit() || c == 'T').then_some(after)
}

fn run(text: &str, fits: impl Fn(char) -> bool) -> usize {
    text.len() - text.trim_start_matches(fits).len()
}

fn digits(text: &str) -> usize {
    run(text, |c| c.is_ascii_digit())
}

/// The length of `(.digits)*` at the beginning of a text.
fn points(text: &str) -> usize {
    let mut at = 0;
    while let Some(part) = text[at..].strip_prefix('.') {
        match digits(part) {
            0 => break,
            n => at += 1 + n,
        }
    }
    at
}

/// Whether an id may end before this text.
fn ends_id(after: &str) -> bool {
    after
        .chars()
        .next()
        .is_none_or(|c| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '/' | '\\' | '(' | '='))
        && !(after.starts_with(['-', '.']) && after[1..].starts_with(|c: char| c.is_ascii_alphanumeric()))
}

/// The length of `T001`, `T012a`, `T142.76`, `T-01`, `T-HF01`, `P1-01` or `MIG1-2`.
fn letter_id(text: &str) -> Option<usize> {
    let letters = run(text, |c| c.is_ascii_uppercase());
    let mut at = match text.strip_prefix('T') {
        Some(after) if letters == 1 => {
            let dash = usize::from(after.starts_with('-'));
            let series = if dash == 1 { run(&after[1..], |c| c.is_ascii_uppercase()) } else { 0 };
            let second = usize::from(series > 0 && after[1 + series..].starts_with('-'));
            1 + dash + series.min(4) + second
        }
        _ => {
            let number = digits(&text[letters..]);
            let dash = text[letters + number..].starts_with('-');
            (dash && (1..=4).contains(&letters) && (1..=3).contains(&number))
                .then_some(letters + number + 1)?
        }
    };
    let number = digits(&text[at..]);
    if !(1..=5).contains(&number) {
        return None;
    }
    at += number;
    at += points(&text[at..]);
    if text[at..].starts_with(|c: char| c.is_ascii_alphabetic()) {
        at += 1;
    }
    // A range has its first id before the dash.
    let range = text[at..].starts_with("-T");
    (range || ends_id(&text[at..])).then_some(at)
}

/// The length of `1`, `1.2`, `7a.1` or `3.0b`. A number alone needs what follows to say that it numbers something.
fn number_id(text: &str, bare: BareNumbers) -> Option<usize> {
    let suffix = |text: &str| usize::from(text.starts_with(|c: char| ('a'..='j').contains(&c)));
    let whole = digits(text);
    // More digits are a year, a port or a quantity.
    if !(1..=3).contains(&whole) {
        return None;
    }
    let lettered = whole + suffix(&text[whole..]);
    let dotted = points(&text[lettered..]);
    let mut at = if dotted > 0 { lettered + dotted } else { lettered };
    if dotted > 0 {
        at += suffix(&text[at..]);
    }
    let after = &text[at..];
    if !ends_id(after) {
        return None;
    }
    let numbers =
        after.strip_prefix('.').is_some_and(|more| more.is_empty() || more.starts_with([' ', '\t', '*']))
            || after.starts_with([':', '：', ')', '、']);
    let spaced = after.is_empty() || after.starts_with([' ', '\t', '*', '~']);
    let fits = match (dotted > 0, bare) {
        // `1.5%` and `2.0-beta` are quantities and versions.
        (true, _) => !after.starts_with(['%', '-', '+']),
        (false, BareNumbers::Ids) => numbers || (spaced && lettered == whole),
        (false, BareNumbers::Words) => numbers,
    };
    fits.then_some(at)
}

#[cfg(test)]
mod tests {
    use super::{BareNumbers, leading};

    #[test]
    fn ids_as_people_write_them() {
        let check = |written: &str, id: Option<&str>, text: &str| {
            let found = leading(written, BareNumbers::Words);
            assert_eq!((found.id.as_deref(), found.text.as_str()), (id, text), "{written}");
        };
        check("T001 Do it", Some("T001"), "Do it");
        check("**T004** [P] Do it", Some("T004"), "Do it");
        check("~~T051~~ [P] [US2] ~~Do it~~", Some("T051"), "~~Do it~~");
        check("T012a Do", Some("T012a"), "Do");
        check("T142.76 Do", Some("T142.76"), "Do");
        check("T-HF01 Do", Some("T-HF01"), "Do");
        check("P1-01 Do", Some("P1-01"), "Do");
        check("(abc-mw9.13) T001 [P] Do", Some("T001"), "Do");
        check("**Task 1**: Do", Some("1"), "Do");
        check("Task 2.2: Do", Some("2.2"), "Do");
        check("[TASK-3] Do", Some("TASK-3"), "Do");
        check("1. Do", Some("1"), "Do");
        check("1.2 Do", Some("1.2"), "Do");
        check("1.2. Do", Some("1.2"), "Do");
        check("7a.1 Do", Some("7a.1"), "Do");
        check("3.0b Do", Some("3.0b"), "Do");
        check("1.1添加", Some("1.1"), "添加");
        check("✅ 1.3 Do", Some("1.3"), "Do");
        check("→ Do", None, "→ Do");
        check("T028 — gone", Some("T028"), "gone");
        check("3 retries", None, "3 retries");
        check("3-way merge", None, "3-way merge");
        check("TLS1.3 works", None, "TLS1.3 works");
        check("UTF-8 works", None, "UTF-8 works");
        check("Task list view", None, "Task list view");
        check("[Content_Types].xml parses", None, "[Content_Types].xml parses");
        check("[docs](a.md) say so", None, "[docs](a.md) say so");
        check("", None, "");
        assert_eq!(leading("3 Do", BareNumbers::Ids).id.as_deref(), Some("3"));
        assert_eq!(leading("3d models", BareNumbers::Ids).id, None);
    }

    #[test]
    fn marks_are_told_apart() {
        let found = leading("T001 [P1] [US-HOST] [P] [N/A] Do", BareNumbers::Words);
        assert!(found.parallel);
        assert_eq!(found.story.as_deref(), Some("US-HOST"));
        assert_eq!((found.unknown, found.text.as_str()), (vec!["P1", "N/A"], "Do"));
        assert!(!leading("T001 [P1] Do", BareNumbers::Words).parallel);
        assert!(leading("1.1 (P) Do", BareNumbers::Words).parallel);
        let found = leading("T001 [P, US3] Do", BareNumbers::Words);
        assert_eq!((found.parallel, found.story.as_deref(), found.text.as_str()), (true, Some("US3"), "Do"));
        let found = leading("T001 Do `[P]` for [US2] first [P]", BareNumbers::Words);
        assert_eq!((found.parallel, found.story.as_deref()), (true, Some("US2")));
        assert!(!leading("T001 Document `[P]` marks", BareNumbers::Words).parallel);
        assert!(leading("7.9* (P) Do", BareNumbers::Words).starred);
    }
}
