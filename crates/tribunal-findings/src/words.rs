//! The vocabulary of reviews: severities, confidences, verdicts, places.
//!
//! One table for each. An unknown word is never taken for a good one: an unknown severity is not a severity, and an
//! approval in unknown words is not an approval.

use crate::text::{bare, plain_words, starts_with_phrase};
use tribunal_core::finding::{FixableBy, Severity, Verdict};

/// A line number beyond this is a typing error, not a place.
const LINE_NUMBER_MAX: u64 = 10_000_000;
const PATH_MAX: usize = 1024;

/// Reads a severity in any of the usual vocabularies; `None` for a word that is in none of them.
pub fn severity(word: &str) -> Option<Severity> {
    let words = plain_words(word.trim_matches(|c: char| !c.is_alphanumeric()));
    // "High: see below" and "[high]" mean the first word; the rest is prose.
    let first = words.split(|c: char| !(c.is_alphanumeric() || c == ' ')).next().unwrap_or("").trim();
    Some(match first {
        "blocker" | "blockers" | "blocking" | "block" | "critical" | "crit" | "high" | "severe" | "error"
        | "errors" | "fatal" | "must fix" | "must" | "p0" | "p1" | "sev0" | "sev1" | "highest" | "urgent"
        | "very high" => Severity::Blocker,
        "warning" | "warnings" | "warn" | "medium" | "moderate" | "med" | "major" | "important"
        | "should fix" | "should" | "p2" | "sev2" | "normal" => Severity::Warning,
        "suggestion" | "suggestions" | "low" | "note" | "notes" | "info" | "informational" | "nit"
        | "nits" | "nitpick" | "minor" | "trivial" | "style" | "optional" | "cosmetic" | "hint" | "p3"
        | "p4" | "sev3" | "sev4" | "nice to have" | "could" | "improvement" | "lowest" | "none"
        | "very low" | "recommendation" => Severity::Suggestion,
        _ => return None,
    })
}

/// Reads a confidence: `95`, `95%`, `0.95`, `9/10`, `HIGH — 95%`, `high`.
///
/// A number wins over the word beside it. A number outside the scale is `None`, not a guess from the word.
pub fn confidence(text: &str) -> Option<u8> {
    if let Some(number) = first_number(text) {
        return number;
    }
    let words = plain_words(text);
    let word =
        words.split(|c: char| !(c.is_alphanumeric() || c == ' ')).find(|w| !w.trim().is_empty())?.trim();
    Some(match word {
        "certain" | "very high" => 95,
        "high" => 90,
        "medium" | "moderate" | "med" => 65,
        "low" => 30,
        "very low" => 10,
        _ => return None,
    })
}

/// The first number in the text. Outer `None`: there is none; inner `None`: it cannot be a confidence.
fn first_number(text: &str) -> Option<Option<u8>> {
    let start = text.find(|c: char| c.is_ascii_digit())?;
    // The dash of "LOW -30" or "p-5" is not a sign.
    let negative =
        text[..start].ends_with('-') && !text[..start].trim_end_matches('-').ends_with(char::is_alphanumeric);
    let digits = text[start..].bytes().take_while(|b| b.is_ascii_digit() || *b == b'.').count();
    let digits = digits + exponent(&text[start + digits..]);
    let number = text[start..start + digits].trim_end_matches('.');
    let rest = text[start + digits..].trim_start();
    if negative && !text[..start].trim_end_matches('-').contains(char::is_alphabetic) {
        return Some(None);
    }
    let Ok(value) = number.parse::<f64>() else { return Some(None) };
    let value = if rest.starts_with('%') {
        value
    } else if let Some(of) = rest.strip_prefix('/') {
        let of = of.trim_start();
        let of: f64 = of[..of.bytes().take_while(u8::is_ascii_digit).count()].parse().unwrap_or(0.0);
        // Nine of nothing has no value; -1 is refused below.
        if of > 0.0 { value / of * 100.0 } else { -1.0 }
    } else {
        return Some(confidence_number(value));
    };
    Some(whole_percent(value))
}

/// How many bytes of an exponent (`e1`, `E+1`, `e-1`) follow a number.
fn exponent(text: &str) -> usize {
    let Some(rest) = text.strip_prefix(['e', 'E']) else { return 0 };
    let digits = rest.strip_prefix(['+', '-']).unwrap_or(rest);
    let count = digits.bytes().take_while(u8::is_ascii_digit).count();
    if count == 0 { 0 } else { text.len() - digits.len() + count }
}

/// A confidence given as a number; `None` outside 0 to 100.
///
/// 0.95 and 95 are the same. 1 means certain: JSON writes 1 and 1.0 alike, and nobody means one in a hundred.
pub fn confidence_number(value: f64) -> Option<u8> {
    if value > 0.0 && value <= 1.0 { whole_percent(value * 100.0) } else { whole_percent(value) }
}

fn whole_percent(value: f64) -> Option<u8> {
    (0.0..=100.0).contains(&value).then(|| value.round() as u8)
}

/// Reads who can fix a finding; `None` for any other word.
pub fn fixable_by(word: &str) -> Option<FixableBy> {
    Some(match plain_words(bare(word)).as_str() {
        "dev" | "developer" | "maker" => FixableBy::Dev,
        "architect" | "lead" | "planner" => FixableBy::Architect,
        "manual" | "human" | "person" | "user" => FixableBy::Manual,
        _ => return None,
    })
}

/// The meaning of the words after `VERDICT:`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stated {
    /// A verdict. The flag is set by the word `fail` alone, which calls the work fundamentally wrong.
    Known(Verdict, bool),
    /// A list of the possible answers, as the prompt gives it: an echo, not a choice.
    Menu,
    /// Words that are not a verdict, and why.
    Unknown(&'static str),
}

/// Phrases and the verdict each one means.
///
/// The first match wins, so a phrase stands before every phrase it begins with: "approved conditionally" before
/// "approved". An approval needs an entry here; a refusal may be put in other words.
const VERDICTS: &[(&str, Verdict, bool)] = &[
    ("conditionally approved", Verdict::Conditional, false),
    ("conditionally approve", Verdict::Conditional, false),
    ("conditional approval", Verdict::Conditional, false),
    ("conditional approve", Verdict::Conditional, false),
    ("conditional pass", Verdict::Conditional, false),
    ("approved conditionally", Verdict::Conditional, false),
    ("conditional", Verdict::Conditional, false),
    ("changes requested", Verdict::Reject, false),
    ("request changes", Verdict::Reject, false),
    ("requested changes", Verdict::Reject, false),
    ("requires changes", Verdict::Reject, false),
    ("requires revision", Verdict::Reject, false),
    ("needs revision", Verdict::Reject, false),
    ("needs changes", Verdict::Reject, false),
    ("needs rework", Verdict::Reject, false),
    ("needs work", Verdict::Reject, false),
    ("needswork", Verdict::Reject, false),
    ("cannot approve", Verdict::Reject, false),
    ("can't approve", Verdict::Reject, false),
    ("do not approve", Verdict::Reject, false),
    ("don't approve", Verdict::Reject, false),
    ("does not pass", Verdict::Reject, false),
    ("not approved", Verdict::Reject, false),
    ("not passed", Verdict::Reject, false),
    ("not passing", Verdict::Reject, false),
    ("disapproved", Verdict::Reject, false),
    ("disapprove", Verdict::Reject, false),
    ("rejected", Verdict::Reject, false),
    ("rejects", Verdict::Reject, false),
    ("reject", Verdict::Reject, false),
    ("revise", Verdict::Reject, false),
    ("failed", Verdict::Reject, false),
    ("fail", Verdict::Reject, true),
    ("approved", Verdict::Approve, false),
    ("approves", Verdict::Approve, false),
    ("approve", Verdict::Approve, false),
    ("passed", Verdict::Approve, false),
    ("passes", Verdict::Approve, false),
    ("pass", Verdict::Approve, false),
    ("lgtm", Verdict::Approve, false),
    ("no go", Verdict::Reject, false),
    ("nogo", Verdict::Reject, false),
    ("not approve", Verdict::Reject, false),
    ("not acceptable", Verdict::Reject, false),
    ("requesting changes", Verdict::Reject, false),
    ("changes required", Verdict::Reject, false),
    ("changes needed", Verdict::Reject, false),
    ("patch is incorrect", Verdict::Reject, false),
    ("incorrect", Verdict::Reject, false),
    ("do not merge", Verdict::Reject, false),
    ("don't merge", Verdict::Reject, false),
    ("not ready to merge", Verdict::Reject, false),
    ("not ready for merge", Verdict::Reject, false),
    ("blocked", Verdict::Reject, false),
    ("patch is correct", Verdict::Approve, false),
    ("go", Verdict::Approve, false),
    ("nicht freigegeben", Verdict::Reject, false),
    ("abgelehnt", Verdict::Reject, false),
    ("zurückgewiesen", Verdict::Reject, false),
    ("nacharbeit", Verdict::Reject, false),
    ("überarbeiten", Verdict::Reject, false),
    ("bedingt freigegeben", Verdict::Conditional, false),
    ("freigegeben", Verdict::Approve, false),
    ("genehmigt", Verdict::Approve, false),
    ("angenommen", Verdict::Approve, false),
    ("no aprobado", Verdict::Reject, false),
    ("no aprobada", Verdict::Reject, false),
    ("rechazado", Verdict::Reject, false),
    ("rechazada", Verdict::Reject, false),
    ("rechazar", Verdict::Reject, false),
    ("cambios solicitados", Verdict::Reject, false),
    ("aprobado con condiciones", Verdict::Conditional, false),
    ("aprobado", Verdict::Approve, false),
    ("aprobada", Verdict::Approve, false),
    ("não aprovado", Verdict::Reject, false),
    ("rejeitado", Verdict::Reject, false),
    ("reprovado", Verdict::Reject, false),
    ("aprovado", Verdict::Approve, false),
    ("non approuvé", Verdict::Reject, false),
    ("rejeté", Verdict::Reject, false),
    ("refusé", Verdict::Reject, false),
    ("à revoir", Verdict::Reject, false),
    ("approuvé", Verdict::Approve, false),
    ("accepté", Verdict::Approve, false),
    ("non approvato", Verdict::Reject, false),
    ("respinto", Verdict::Reject, false),
    ("rifiutato", Verdict::Reject, false),
    ("approvato", Verdict::Approve, false),
    ("отклонено", Verdict::Reject, false),
    ("не одобрено", Verdict::Reject, false),
    ("одобрено", Verdict::Approve, false),
    ("принято", Verdict::Approve, false),
    ("不通过", Verdict::Reject, false),
    ("不予通过", Verdict::Reject, false),
    ("未通过", Verdict::Reject, false),
    ("拒绝", Verdict::Reject, false),
    ("驳回", Verdict::Reject, false),
    ("需要修改", Verdict::Reject, false),
    ("需修改", Verdict::Reject, false),
    ("不批准", Verdict::Reject, false),
    ("有条件通过", Verdict::Conditional, false),
    ("通过", Verdict::Approve, false),
    ("批准", Verdict::Approve, false),
    ("同意合并", Verdict::Approve, false),
    ("不通過", Verdict::Reject, false),
    ("通過", Verdict::Approve, false),
    ("差し戻し", Verdict::Reject, false),
    ("却下", Verdict::Reject, false),
    ("要修正", Verdict::Reject, false),
    ("不承認", Verdict::Reject, false),
    ("不合格", Verdict::Reject, false),
    ("条件付き承認", Verdict::Conditional, false),
    ("承認", Verdict::Approve, false),
    ("合格", Verdict::Approve, false),
    ("반려", Verdict::Reject, false),
    ("거절", Verdict::Reject, false),
    ("승인", Verdict::Approve, false),
];

/// Reads the words after `VERDICT:`.
///
/// Strict for an approval, tolerant for the rest: a misread rejection costs a round, a misread approval lands a fault.
pub fn verdict(text: &str) -> Stated {
    let text = without_struck(text);
    // Brackets stay: they show a placeholder of the prompt's form.
    let text = text.trim_start_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '{' | '<' | '['));
    if text.starts_with(['{', '<', '[']) {
        return Stated::Menu;
    }
    let words = plain_words(&text.replace(['*', '`'], "").replace('’', "'"));
    let Some((found, fundamental, rest)) = leading_verdict(&words) else {
        if is_refusal(&words) {
            return Stated::Known(Verdict::Reject, false);
        }
        return Stated::Unknown("not one of approve, conditional, reject");
    };
    // A different verdict right behind the first, with a separator between them, is the echoed menu.
    if let Some((other, ..)) = leading_verdict(after_separators(rest)).filter(|_| !rest.trim().is_empty())
        && other != found
        && starts_as_menu(rest)
    {
        return Stated::Menu;
    }
    if found == Verdict::Approve { approval(rest) } else { Stated::Known(found, fundamental) }
}

/// Whether a sentence denies the approval, as in "I do not see how this can be approved".
fn is_refusal(words: &str) -> bool {
    let first = words.split(". ").next().unwrap_or(words);
    let has = |list: &[&str]| {
        first.split(|c: char| !c.is_alphanumeric() && c != '\'').any(|word| list.contains(&word))
    };
    has(&["not", "don't", "cannot", "can't", "never", "unable", "won't", "no"])
        && has(&[
            "approve", "approved", "merge", "merged", "accept", "accepted", "ship", "shipped", "pass", "land",
        ])
        // "No reason not to approve" denies nothing, so any of these makes the sentence too doubtful to read.
        && !has(&[
            "sure",
            "perhaps",
            "maybe",
            "reason",
            "objection",
            "objections",
            "reasons",
            "blockers",
            "issues",
        ])
}

/// The verdict that a text begins with, its flag, and the rest.
fn leading_verdict(words: &str) -> Option<(Verdict, bool, &str)> {
    let words = words.trim_start();
    VERDICTS.iter().find_map(|(phrase, verdict, fundamental)| {
        starts_with_phrase(words, phrase).map(|rest| (*verdict, *fundamental, rest))
    })
}

fn after_separators(rest: &str) -> &str {
    let rest = rest.trim_start_matches(|c: char| !c.is_alphanumeric());
    starts_with_phrase(rest, "or").unwrap_or(rest).trim_start_matches(|c: char| !c.is_alphanumeric())
}

fn starts_as_menu(rest: &str) -> bool {
    let rest = rest.trim_start();
    rest.starts_with(['|', '/', ',']) || starts_with_phrase(rest, "or").is_some() || rest.starts_with('(')
}

/// Reads what follows the word of approval. "approve if …" is not an approval; neither is "approve?".
///
/// Every branch but the last refuses. The reason goes back to the reviewer, who can then say what it means.
fn approval(rest: &str) -> Stated {
    let rest = rest.trim();
    let after = rest.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '?');
    if after.starts_with('?') || rest.starts_with('?') {
        return Stated::Unknown("a question is no verdict");
    }
    if let Some(with) = starts_with_phrase(after, "with") {
        return approval_with(with);
    }
    const HEDGES: [&str; 16] = [
        "if",
        "once",
        "after",
        "when",
        "unless",
        "provided",
        "but",
        "except",
        "only",
        "pending",
        "subject to",
        "assuming",
        "conditional",
        "conditionally",
        "until",
        "however",
    ];
    if takes_back(after) {
        return Stated::Unknown("an approval that takes itself back");
    }
    if HEDGES.iter().any(|hedge| starts_with_phrase(after, hedge).is_some()) {
        return Stated::Unknown("an approval with a condition; say conditional and name it");
    }
    // "approve nothing" and "pass-through": other words right behind it change what is approved.
    if rest.starts_with(|c: char| c.is_alphanumeric() || c == '\'') {
        return Stated::Unknown("approve is followed by other words without a break");
    }
    Stated::Known(Verdict::Approve, false)
}

/// Whether the words after an approval say the opposite, or may.
fn takes_back(after: &str) -> bool {
    const FIRST: [&str; 14] = [
        "partial",
        "no",
        "not",
        "false",
        "never",
        "nope",
        "maybe",
        "perhaps",
        "almost",
        "partly",
        "partially",
        "tentatively",
        "wait",
        "hold",
    ];
    const ANYWHERE: [&str; 15] = [
        "wait",
        "reject",
        "rejected",
        "rejects",
        "conditional",
        "conditionally",
        "not approved",
        "do not approve",
        "disapprove",
        "needs work",
        "needs revision",
        "needs changes",
        "needs rework",
        "changes requested",
        "not really",
    ];
    let has = |phrase: &str| {
        after.match_indices(phrase).any(|(at, _)| {
            let before = after[..at].chars().next_back();
            before.is_none_or(|c| !c.is_alphanumeric()) && starts_with_phrase(&after[at..], phrase).is_some()
        })
    };
    // "no blockers" is fine; "no. Reject" and "no" alone are not.
    let denies = FIRST.iter().any(|word| {
        starts_with_phrase(after, word).is_some_and(|rest| *word != "no" || !starts_with_absence(rest))
    });
    denies || ANYWHERE.iter().any(|phrase| has(phrase)) || has_open_blocker(after) || falls_short(after)
}

/// Whether a text goes on with the name of trouble (" blockers", " issues found"), of which there is then none.
fn starts_with_absence(rest: &str) -> bool {
    let rest = rest.trim_start();
    [
        "blocker", "blockers", "issue", "issues", "finding", "findings", "problem", "problems", "warning",
        "warnings",
    ]
    .iter()
    .any(|word| starts_with_phrase(rest, word).is_some())
}

/// Whether a blocker is named other than to say that there is none.
fn has_open_blocker(after: &str) -> bool {
    after.match_indices("blocker").any(|(at, _)| {
        let before = after[..at].trim_end();
        let none = ["no", "zero", "0", "without", "any", "non"].iter().any(|word| {
            before.strip_suffix(word).is_some_and(|head| !head.ends_with(|c: char| c.is_alphanumeric()))
        });
        !none
    })
}

/// Whether a share falls short, as in "3 of 9" or "3/9". An approval of a part is not an approval.
fn falls_short(after: &str) -> bool {
    let words: Vec<&str> = after
        .split(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | ',' | ';'))
        .filter(|word| !word.is_empty())
        .collect();
    let number = |word: &str| word.parse::<u32>().ok();
    let less = |a: Option<u32>, b: Option<u32>| matches!((a, b), (Some(a), Some(b)) if a < b);
    let spelled = words.windows(3).any(|w| w[1] == "of" && less(number(w[0]), number(w[2])));
    spelled || words.iter().any(|w| w.split_once('/').is_some_and(|(a, b)| less(number(a), number(b))))
}

/// Reads "approve with …": reservations make it conditional, remarks leave it an approval, anything else is refused.
fn approval_with(with: &str) -> Stated {
    let says = |words: &[&str]| words.iter().any(|w| with.contains(w));
    // Reservations are asked first: "approve with comments and concerns" has both.
    if says(&["warning", "condition", "reservation", "caveat", "concern", "changes"]) {
        Stated::Known(Verdict::Conditional, false)
    } else if says(&["suggestion", "nit", "note", "comment", "confidence", "no "]) {
        Stated::Known(Verdict::Approve, false)
    } else {
        Stated::Unknown("an approval with a condition; say conditional and name it")
    }
}

/// The text without `~~struck~~` spans: an author who strikes a verdict out has taken it back.
fn without_struck(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("~~") {
        let Some(end) = rest[start + 2..].find("~~") else { break };
        out.push_str(&rest[..start]);
        rest = &rest[start + 2 + end + 2..];
    }
    out.push_str(rest);
    out
}

/// Reads yes or no in the usual words; `None` for anything else.
pub fn yes_no(text: &str) -> Option<bool> {
    let words = plain_words(bare(text));
    let first = words.split(|c: char| !c.is_alphanumeric()).find(|w| !w.is_empty())?;
    match first {
        "true" | "yes" | "y" | "satisfied" | "passed" => Some(true),
        "false" | "no" | "n" | "not" | "unsatisfied" | "failed" => Some(false),
        _ => None,
    }
}

/// Whether these words stand for "no value".
pub fn is_nothing(text: &str) -> bool {
    let words = plain_words(bare(text));
    let words = words.trim_matches(|c: char| !c.is_alphanumeric() && c != '/');
    matches!(
        words,
        "" | "n/a"
            | "na"
            | "none"
            | "null"
            | "nil"
            | "unknown"
            | "all"
            | "general"
            | "nothing"
            | "no findings"
            | "empty"
    )
}

/// A place as written: `src/a.rs`, `src/a.rs:12`, `src/a.rs:12-20`, `src/a.rs#L12`.
///
/// Only the form has been checked. Whether the file or the line exists is not known here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Path inside the subject, without a leading `./`.
    pub file: Option<String>,
    /// First line, counted from 1.
    pub line: Option<u32>,
    /// Last line; the same as the first where only one is named.
    pub end: Option<u32>,
    /// A number was there that cannot be a line of any file.
    pub unreal: bool,
}

/// Reads a place; `Err` says why its path is refused. The lines are lost with it: without a file they mean nothing.
pub fn place(text: &str) -> Result<Place, String> {
    // Twice, because quotes may stand inside bold and bold inside quotes.
    let text = bare(text).trim_matches(|c: char| matches!(c, '"' | '\'' | '“' | '”' | '<' | '>'));
    let text = bare(text);
    if is_nothing(text) {
        return Ok(Place::default());
    }
    if let Some(found) = crate::intake::whole_place(text) {
        let file = path_inside(&found.path)?;
        let (line, end) = found.lines.unzip();
        return Ok(Place { file: Some(file), line, end, unreal: false });
    }
    let (path, tail) = split_lines_off(text);
    let file = path_inside(path)?;
    let read = tail.and_then(lines);
    let (line, end) = read.unwrap_or((None, None));
    Ok(Place { file: Some(file), line, end, unreal: read.is_some() && line.is_none() })
}

/// Cuts `:12-20`, `:12:5`, `#L12`, ` (line 12)` off a path.
fn split_lines_off(text: &str) -> (&str, Option<&str>) {
    if let Some(at) = text.find("#L") {
        return (&text[..at], Some(&text[at + 1..]));
    }
    if let Some(at) = text
        .find(" (")
        .or_else(|| text.find(", line"))
        .filter(|at| text[*at..].contains(|c: char| c.is_ascii_digit()))
    {
        return (text[..at].trim_end(), Some(&text[at..]));
    }
    // Every colon is tried, not only the first: a path may hold one itself.
    for (at, _) in text.match_indices(':') {
        let tail = &text[at + 1..];
        let numeric = |c: char| c.is_ascii_digit() || matches!(c, '-' | '–' | ':' | ',' | ' ' | 'L');
        if tail.starts_with(|c: char| c.is_ascii_digit() || c == 'L') && tail.chars().all(numeric) {
            return (&text[..at], Some(tail));
        }
    }
    (text.trim_end_matches(':'), None)
}

/// Whether a path is of the simplest kind: names of letters, digits, `_` and `-`, with dots only inside them.
///
/// One pass that spares nearly every path of a large report the checks of `path_inside`.
fn is_plain_path(path: &str) -> bool {
    let mut before = b'/';
    let mut plain = |byte: u8| {
        let inside = before != b'/';
        before = byte;
        byte.is_ascii_alphanumeric() || byte == b'_' || (inside && matches!(byte, b'/' | b'.' | b'-'))
    };
    path.len() <= PATH_MAX
        && !path.is_empty()
        && path.bytes().all(&mut plain)
        && !path.contains("..")
        && !path.ends_with('/')
}

/// A relative path that stays inside the subject, without a leading `./`; `Err` says why not.
///
/// Paths of agents reach file reads and reports later, so an absolute path, a URL or a `..` is refused here. The claim
/// itself is kept: a bad path must not make a finding disappear.
pub fn path_inside(path: &str) -> Result<String, String> {
    if is_plain_path(path) {
        return Ok(path.to_owned());
    }
    let path = path.trim();
    let refuse = |why: &str| {
        let shown = crate::text::clip(path, 200);
        Err(format!("the path {shown:?} {why}; the claim is kept without it"))
    };
    if path.len() > PATH_MAX {
        return refuse("is too long");
    }
    if path.contains(|c: char| c.is_control()) {
        return refuse("holds control characters");
    }
    if path.contains("://") {
        return refuse("is a URL");
    }
    // A Windows drive, `C:\x`, is absolute, too.
    let drive = path.as_bytes().get(1) == Some(&b':') && path.as_bytes()[0].is_ascii_alphabetic();
    if path.starts_with(['/', '\\', '~']) || drive {
        return refuse("is absolute, and so outside the subject");
    }
    if path.split(['/', '\\']).any(|part| part == "..") {
        return refuse("leaves the subject by `..`");
    }
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    if parts.is_empty() {
        return refuse("names no file");
    }
    Ok(parts.join("/"))
}

/// Reads `12`, `12-20`, `L12–L20`, `lines 12 to 20`, `12:5`; `None` when the text is not a line number.
///
/// The outer `Some` with inner `None` is a number that cannot be a line, which callers note instead of losing it.
pub fn lines(text: &str) -> Option<(Option<u32>, Option<u32>)> {
    let text = bare(text).trim_start_matches(['(', '~', ',', ' ', '[']);
    let lower = text.to_lowercase();
    let mut rest = lower.as_str();
    for word in ["lines", "line", "ll", "l", "approx.", "around", "~", ":", "#"] {
        rest = rest.trim_start().strip_prefix(word).unwrap_or(rest);
    }
    let rest = rest.trim_start();
    let (first, rest) = number(rest)?;
    let after = rest.trim_start();
    let range =
        ["-", "–", "—", "..=", "..", "to ", "through "].iter().find_map(|sep| after.strip_prefix(sep));
    let second = range.and_then(|rest| number(rest.trim_start().trim_start_matches('l'))).map(|(n, _)| n);
    let valid = |n: u64| (1..=LINE_NUMBER_MAX).contains(&n).then_some(n as u32);
    let Some(first) = valid(first) else { return Some((None, None)) };
    let second = second.and_then(valid).unwrap_or(first);
    // "20-12" is taken as 12 to 20: the order is a slip, the lines are meant.
    Some((Some(first.min(second)), Some(first.max(second))))
}

/// The number a text begins with, and the rest; `None` when it is part of a word or a version.
fn number(text: &str) -> Option<(u64, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return None;
    }
    // Too many digits for a number are still a number, only an impossible one.
    let value = text[..digits].parse().unwrap_or(u64::MAX);
    let rest = &text[digits..];
    // `3rd` and `2.0` are words, not lines.
    let ends = rest.chars().next().is_none_or(|c| !c.is_alphanumeric()) && !rest.starts_with(".0");
    (ends || rest.starts_with('l')).then_some((value, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn severities_in_other_words() {
        for (words, expect) in [
            ("blocker critical HIGH High: error P0 P1 must-fix **BLOCKER** [high]", Severity::Blocker),
            ("warning WARN medium Major should-fix P2", Severity::Warning),
            ("suggestion low note info nit minor nice-to-have P3", Severity::Suggestion),
        ] {
            for word in words.split(' ') {
                assert_eq!(severity(word), Some(expect), "{word}");
            }
        }
        assert_eq!(severity("🔴 Blocker"), Some(Severity::Blocker));
        assert_eq!(severity("spicy"), None);
        assert_eq!(severity(""), None);
    }

    #[test]
    fn confidences_in_all_forms() {
        for (text, expect) in [
            ("95", Some(95)),
            ("95%", Some(95)),
            ("0.95", Some(95)),
            ("1.0", Some(100)),
            ("HIGH — 85%", Some(85)),
            ("HIGH (80-100%)", Some(80)),
            ("LOW - 30 %", Some(30)),
            ("9/10", Some(90)),
            ("high", Some(90)),
            ("Medium", Some(65)),
            ("low", Some(30)),
            ("150", None),
            ("-5", None),
            ("rather", None),
            ("", None),
            ("87.5%", Some(88)),
            // As in JSON, where 1 and 1.0 are one number: nobody means one in a hundred.
            ("1", Some(100)),
            ("1%", Some(1)),
            ("1/10", Some(10)),
            ("0", Some(0)),
            ("2", Some(2)),
            ("9e1", Some(90)),
            ("9E+1", Some(90)),
            ("95e-2", Some(95)),
            ("9e9", None),
            ("90 even", Some(90)),
            ("90e", Some(90)),
        ] {
            assert_eq!(confidence(text), expect, "{text}");
        }
        assert_eq!(confidence_number(0.4), Some(40));
        assert_eq!(confidence_number(40.0), Some(40));
        assert_eq!(confidence_number(1.0), Some(100));
        assert_eq!(confidence_number(f64::NAN), None);
    }

    #[test]
    fn verdict_words() {
        use Verdict::*;
        let known = |v| Stated::Known(v, false);
        for (text, expect) in [
            ("approve", known(Approve)),
            ("**Approved**", known(Approve)),
            ("PASS — all 14 tests run", known(Approve)),
            ("`approve`.", known(Approve)),
            ("✅ approved!", known(Approve)),
            ("approve (confidence 95%)", known(Approve)),
            ("approve with suggestions", known(Approve)),
            ("approve with warnings", known(Conditional)),
            ("conditional", known(Conditional)),
            ("Conditionally approved", known(Conditional)),
            ("NEEDS WORK", known(Reject)),
            ("needs-revision", known(Reject)),
            ("NEEDS_WORK — Findings 1, 3", known(Reject)),
            ("reject — cannot approve while the lock is missing", known(Reject)),
            ("not approved", known(Reject)),
            ("REQUEST_CHANGES", known(Reject)),
            ("~~approve~~ reject", known(Reject)),
            ("FAIL", Stated::Known(Reject, true)),
            ("approve | conditional | reject", Stated::Menu),
            ("approve/reject", Stated::Menu),
            ("pass or fail", Stated::Menu),
            ("{approve|reject}", Stated::Menu),
            ("<verdict>", Stated::Menu),
        ] {
            assert_eq!(verdict(text), expect, "{text}");
        }
        for text in [
            "approve if the tests pass",
            "approve?",
            "approve, but only once F-1 is gone",
            "maybe",
            "",
            "passable",
            "approve nothing",
        ] {
            assert!(matches!(verdict(text), Stated::Unknown(_)), "{text}: {:?}", verdict(text));
        }
    }

    #[test]
    fn places() {
        let check = |text: &str, file: &str, line: Option<u32>, end: Option<u32>| {
            let expect = Place { file: Some(file.to_owned()), line, end, ..Place::default() };
            assert_eq!(place(text), Ok(expect), "{text}");
        };
        check("src/a.rs", "src/a.rs", None, None);
        check("`src/a.rs:12`", "src/a.rs", Some(12), Some(12));
        check("./src/a.rs:12-20", "src/a.rs", Some(12), Some(20));
        check("src/a.rs:12:5", "src/a.rs", Some(12), Some(12));
        check("src/a.rs#L3-L9", "src/a.rs", Some(3), Some(9));
        check("src/a.rs (lines 3-9)", "src/a.rs", Some(3), Some(9));
        check("app/[id]/page.tsx", "app/[id]/page.tsx", None, None);
        check("docs/naïve file.md", "docs/naïve file.md", None, None);
        assert_eq!(place("n/a"), Ok(Place::default()));
        for bad in [
            "../../etc/passwd",
            "/etc/passwd",
            "C:\\x",
            "a/../../b",
            "..\\x",
            "~/x",
            "file:///x",
            "\\\\host\\x",
        ] {
            assert!(place(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn line_numbers() {
        for (text, expect) in [
            ("12", Some((Some(12), Some(12)))),
            ("12-20", Some((Some(12), Some(20)))),
            ("20-12", Some((Some(12), Some(20)))),
            ("L12–L20", Some((Some(12), Some(20)))),
            ("lines 3 to 9", Some((Some(3), Some(9)))),
            ("0", Some((None, None))),
            ("1000000000", Some((None, None))),
            ("99999999999999999999999", Some((None, None))),
            ("Tasks", None),
            ("2nd half", None),
        ] {
            assert_eq!(lines(text), expect, "{text}");
        }
    }
}
