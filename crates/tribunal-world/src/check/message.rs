//! Commit messages: the form of Tribunal's own, the user's sign-off, and what a hook or a builder may make of a
//! message.
//!
//! People and programs read a message later as a statement about the commit. So only Tribunal may write `Tribunal-`
//! trailers, and no agent may write a trailer in a person's name.

use tribunal_git::Signature;
use tribunal_view::plain;

/// How many lines a builder's message may have, and how long each may be.
const LINES_MAX: usize = 60;
const LINE_MAX: usize = 200;
/// The width at which a trailer is folded for hooks that limit the length of lines.
const FOLD_AT: usize = 96;

/// What became of a message that a hook was given.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Rewritten {
    /// It is unchanged or has more trailers, and is taken.
    Taken(String),
    /// It says something else. Says why that is not taken.
    Refused(String),
}

/// Compares a message with what its hook made of it. Added trailers are taken over, and nothing else.
///
/// A hook such as a change-id generator adds trailers, which is harmless. Any other edit would change words that were
/// approved.
pub(crate) fn taken(before: &str, after: &str) -> Rewritten {
    let (old, new) = (tidy(before), tidy(after));
    if old == new {
        return Rewritten::Taken(before.to_owned());
    }
    let ((head, had), (new_head, has)) = (apart(&old), apart(&new));
    if head != new_head {
        return Rewritten::Refused("the text differs, not only its trailers".to_owned());
    }
    // The old trailers must all still be there, in their order; what stands between them was added.
    let mut left = had.iter().peekable();
    for line in &has {
        if left.peek() == Some(&line) {
            left.next();
        } else if line.to_ascii_lowercase().starts_with("tribunal-") || plain::line(line) != *line {
            return Rewritten::Refused(format!(
                "the trailer {:?} is not one to add",
                plain::clipped(line, 80)
            ));
        }
    }
    match left.next() {
        Some(line) => Rewritten::Refused(format!("the trailer {:?} is gone", plain::clipped(line, 80))),
        None => Rewritten::Taken(format!("{head}\n\n{}\n", has.join("\n"))),
    }
}

/// A message as git would store it: without comments, trailing white space and repeated blank lines.
fn tidy(text: &str) -> String {
    let mut lines: Vec<&str> = Vec::new();
    for line in text.lines().map(str::trim_end).filter(|line| !line.starts_with('#')) {
        if !line.is_empty() || lines.last().is_some_and(|last| !last.is_empty()) {
            lines.push(line);
        }
    }
    lines.join("\n").trim_end().to_owned()
}

/// Splits a message into its text and its trailer lines.
fn apart(message: &str) -> (&str, Vec<&str>) {
    // As for git, only the last paragraph can be trailers.
    match message.rsplit_once("\n\n") {
        Some((head, last)) if is_trailers(last) => (head, last.lines().collect()),
        _ => (message, Vec::new()),
    }
}

/// Whether a paragraph consists only of trailers and their continuation lines.
fn is_trailers(paragraph: &str) -> bool {
    let is_trailer = |line: &str| {
        let key = line.split_once(':').map_or("", |(key, _)| key);
        !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
    };
    let mut lines = paragraph.lines().enumerate();
    !paragraph.trim().is_empty()
        && lines.all(|(n, line)| is_trailer(line) || (n > 0 && line.starts_with(' ')))
}

/// A message with one more trailer at its end, unless it has that trailer.
pub(crate) fn with_trailer(message: &str, line: &str) -> String {
    if message.lines().any(|there| there == line) {
        return message.to_owned();
    }
    let message = message.trim_end();
    let gap = if apart(message).1.is_empty() { "\n\n" } else { "\n" };
    format!("{message}{gap}{line}\n")
}

/// A message with the user's sign-off as its last trailer, unless it has it.
pub(crate) fn signed_off(message: &str, who: &Signature) -> String {
    with_trailer(message, &format!("Signed-off-by: {} <{}>", who.name, who.email))
}

/// A trailer folded into lines that are short enough for hooks that limit their length.
pub(crate) fn folded(trailer: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for word in trailer.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= FOLD_AT => {
                line.push(' ');
                line.push_str(word);
            }
            // Indented, so that git reads the line as part of the trailer above.
            Some(_) => lines.push(format!("  {word}")),
            None => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
}

/// The message that a builder gives its commit, if there is anything left of it. Lines that would speak for Tribunal or
/// for a person are removed.
pub(crate) fn proposed(lines: &[String]) -> Option<String> {
    let speaks_for = |line: &str| {
        let key = line.split_once(':').map_or("", |(key, _)| key).trim().to_ascii_lowercase();
        // `Signed-off-by`, `Reviewed-by` and their like.
        key.starts_with("tribunal-") || key.ends_with("-by")
    };
    let plain = lines.iter().take(LINES_MAX).map(|line| plain::clipped(line.trim_end(), LINE_MAX));
    let kept: Vec<String> = plain.filter(|line| !speaks_for(line) && !line.starts_with('#')).collect();
    let text = tidy(&kept.join("\n"));
    let text = text.trim_start_matches('\n');
    (!text.is_empty()).then(|| text.to_owned())
}

/// The subject of one of Tribunal's own messages, `type(scope): text`, in the form that the user wants.
pub(crate) fn formed(form: &str, message: &str) -> String {
    let subject = message.lines().next().unwrap_or_default();
    let rest = message.get(subject.len()..).unwrap_or_default();
    let parts = subject.split_once("): ").and_then(|(front, text)| Some((front.split_once('(')?, text)));
    let Some(((kind, scope), text)) = parts else { return message.to_owned() };
    let subject = form.replace("{type}", kind).replace("{scope}", scope).replace("{text}", text);
    format!("{}{rest}", plain::line(&subject))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_may_add_trailers_and_nothing_else() {
        let before = "feat: x\n\nbody\n\nTribunal-Plan: 01-01\n";
        let check = |after: &str, expect: Option<&str>| {
            let taken = match taken(before, after) {
                Rewritten::Taken(text) => Some(text),
                Rewritten::Refused(_) => None,
            };
            assert_eq!(taken.as_deref(), expect, "{after:?}");
        };
        check(before, Some(before));
        check("feat: x  \n\n\nbody\n\nTribunal-Plan: 01-01\n# a comment\n\n", Some(before));
        let added = "feat: x\n\nbody\n\nChange-Id: I1\nTribunal-Plan: 01-01\n";
        check(added, Some(added));
        check("feat: y\n\nbody\n\nTribunal-Plan: 01-01\n", None);
        check("feat: x\n\nTribunal-Plan: 01-01\n", None);
        check("feat: x\n\nbody\n", None);
        check("feat: x\n\nbody\n\nTribunal-Plan: 01-01\nTribunal-Accepted-By: you\n", None);
        check("feat: x\n\nbody\n\nTribunal-Plan: 01-01\nA: \u{1b}[31m\n", None);
        check("", None);
        assert_eq!(taken("feat: x\n", "feat: x\n\nA: b\n"), Rewritten::Taken("feat: x\n\nA: b\n".to_owned()));
    }

    #[test]
    fn a_builder_speaks_for_nobody_else() {
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        let check = |text: &str, expect: Option<&str>| assert_eq!(proposed(&lines(text)).as_deref(), expect);
        check("PROJ-1 add x", Some("PROJ-1 add x"));
        check("PROJ-1 add x\n\nwhy\n\nRefs: 7", Some("PROJ-1 add x\n\nwhy\n\nRefs: 7"));
        check("x\n\nTribunal-Accepted-By: you\nReviewed-by: You <a@b>\nRefs: 7", Some("x\n\nRefs: 7"));
        check("\u{1b}[31mred", Some("red"));
        check("", None);
        check("# x\n\n", None);
    }

    #[test]
    fn own_subjects_take_the_users_form() {
        let check = |form: &str, message: &str, expect: &str| assert_eq!(formed(form, message), expect);
        check("{type}({scope}): {text}", "docs(01): a: b\n\nT: x\n", "docs(01): a: b\n\nT: x\n");
        check("PROJ-1 {text} [{scope}]", "docs(01): plans\n\nT: x\n", "PROJ-1 plans [01]\n\nT: x\n");
        check("PROJ-1 {text}", "no form", "no form");
    }

    #[test]
    fn long_trailers_are_folded() {
        let text = folded(&format!("Tribunal-Shown: {}", "reviewer 3 of 3; ".repeat(12).trim_end()));
        assert!(text.lines().all(|line| line.len() <= 100) && text.lines().count() > 1, "{text}");
        assert!(is_trailers(&text), "{text}");
        assert_eq!(folded("A: b"), "A: b");
    }

    #[test]
    fn the_sign_off_is_the_last_trailer() {
        let who = Signature::new("A B", "a@b", 1);
        let check = |message: &str, expect: &str| assert_eq!(signed_off(message, &who), expect);
        check("feat: x\n", "feat: x\n\nSigned-off-by: A B <a@b>\n");
        check("feat: x\n\nbody: it is\nso\n", "feat: x\n\nbody: it is\nso\n\nSigned-off-by: A B <a@b>\n");
        check("feat: x\n\nA-B: c\n  d\n", "feat: x\n\nA-B: c\n  d\nSigned-off-by: A B <a@b>\n");
        let twice = signed_off("feat: x\n", &who);
        check(&twice, &twice);
    }
}
