//! Reads compiler lines: `file:line[:col]: message`.
//!
//! A tool is certain of what it says, so its claims get full confidence; a model that writes in this form does not.
//! Hence the two entry points.

use super::scan::{Kind, Line};
use super::{Draft, Form, Intake, claim_of};
use crate::text::{LINE_MAX, clean, clip};
use crate::words;
use tribunal_core::finding::{Claim, Severity};

/// Reads a tool's output. Lines that are not findings are ignored: compilers print much else.
pub fn read_compiler_lines(text: &str) -> Intake {
    let (text, _) = clean(text);
    let mut draft = Draft::default();
    draft.form(Form::Compiler);
    for line in text.split('\n') {
        match finding(line) {
            Some(Ok(mut claim)) => {
                (claim.confidence, claim.confidence_stated) = (100, true);
                draft.intake.findings.push(claim);
            }
            Some(Err((mut claim, why))) => {
                (claim.confidence, claim.confidence_stated) = (100, true);
                draft.intake.note(line, why);
                draft.intake.findings.push(claim);
            }
            None => {}
        }
    }
    draft.intake
}

/// Takes lines of this form as claims, in a message without any other form.
pub(crate) fn read_as_last_resort(lines: &[Line<'_>], draft: &mut Draft) {
    for line in lines.iter().filter(|line| line.kind == Kind::Own) {
        match finding(crate::text::strip_bullet(line.text)) {
            Some(Ok(claim)) => draft.intake.findings.push(claim),
            Some(Err((claim, why))) => {
                draft.intake.note(line.text, why);
                draft.intake.findings.push(claim);
            }
            None => continue,
        }
        draft.form(Form::Compiler);
    }
}

/// A claim without its path, and why the path was refused.
type Refused = (Claim, String);

/// The finding on one line; `Err` is a claim that had to lose its path.
fn finding(line: &str) -> Option<Result<Claim, Refused>> {
    // A minified file that a tool quotes is not a message.
    if line.len() > LINE_MAX {
        return None;
    }
    let (path, number, rest) = split(line.trim())?;
    let (severity, message) = severity_of(rest.trim_start_matches([':', ' ']));
    if message.is_empty() {
        return None;
    }
    let (rule, message) = rule_of(message);
    let mut claim = claim_of(severity, message);
    claim.rule = rule;
    (claim.line, claim.end) = words::lines(number).unwrap_or((None, None));
    match words::path_inside(path) {
        Ok(path) => {
            claim.file = Some(path);
            Some(Ok(claim))
        }
        Err(why) => Some(Err((claim, why))),
    }
}

/// Splits `path:12:5: rest` or `path(12,5): rest`.
fn split(line: &str) -> Option<(&str, &str, &str)> {
    // `C:` is a drive, so a colon in the second column does not count.
    for (at, _) in line.match_indices(':').filter(|(at, _)| *at > 1) {
        let digits = line[at + 1..].bytes().take_while(u8::is_ascii_digit).count();
        let after = &line[at + 1 + digits..];
        if digits == 0 || !after.starts_with(':') {
            continue;
        }
        let column = after[1..].bytes().take_while(u8::is_ascii_digit).count();
        let rest = if column > 0 { &after[1 + column..] } else { after };
        let path = &line[..at];
        // A path may hold blanks, but then a folder has to show that it is one.
        let plausible = !path.contains(char::is_whitespace) || path.contains('/');
        // A time of day or a port is not a place.
        let named = path.contains(['.', '/']) || path.chars().any(char::is_alphabetic);
        return (plausible && named && rest.starts_with([':', ' '])).then_some((
            path,
            &line[at + 1..at + 1 + digits],
            rest,
        ));
    }
    let open = line.find('(')?;
    let close = open + line[open..].find("):").or_else(|| line[open..].find(") :"))?;
    let number = &line[open + 1..close];
    let numeric = number.starts_with(|c: char| c.is_ascii_digit())
        && number.chars().all(|c| c.is_ascii_digit() || c == ',');
    let path = &line[..open];
    (numeric && !path.is_empty() && !path.contains(char::is_whitespace))
        .then(|| (path, number.split(',').next().unwrap_or(number), &line[close + 1..]))
}

/// The severity and the message: `warning: …`, `error[E0382]: …`, `note: …`; a bare message is a warning.
fn severity_of(rest: &str) -> (Severity, &str) {
    let end = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
    let (word, after) = rest.split_at(end);
    let severity = match word.to_lowercase().as_str() {
        "error" | "fatal" => Severity::Blocker,
        "warning" | "warn" => Severity::Warning,
        "note" | "info" | "hint" | "style" | "suggestion" | "help" => Severity::Suggestion,
        _ => return (Severity::Warning, rest),
    };
    if let Some(inner) = after.strip_prefix('[')
        && let Some((_, message)) = inner.split_once("]:")
    {
        return (severity, message.trim());
    }
    match after.trim_start().strip_prefix(':') {
        Some(message) => (severity, message.trim()),
        // `error TS2304: message` and `error C2065: message` keep their code in the message.
        None if after.starts_with(' ') => (severity, after.trim()),
        None => (Severity::Warning, rest),
    }
}

/// Cuts a rule id off the message, in front (`E501 line too long`) or behind (`… [SC2086]`, `… [-Wunused]`).
fn rule_of(message: &str) -> (Option<String>, &str) {
    let first = message.split([' ', ':']).next().unwrap_or("");
    let letters = first.bytes().take_while(u8::is_ascii_uppercase).count();
    let code = letters > 0 && first.len() > letters && first[letters..].bytes().all(|b| b.is_ascii_digit());
    // `E501` and `SC2086` are ids; a long number behind letters is something else.
    if code && first.len() < 12 {
        return (Some(first.to_owned()), message[first.len()..].trim_start_matches([':', ' ']));
    }
    if let Some(start) = message.rfind(" [").filter(|_| message.ends_with(']')) {
        let rule = &message[start + 2..message.len() - 1];
        if !rule.is_empty() && !rule.contains(char::is_whitespace) {
            return (Some(clip(rule, 200)), message[..start].trim_end());
        }
    }
    (None, message)
}
