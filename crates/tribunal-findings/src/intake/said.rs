//! Reads answers to findings that were put by id: `F-12: resolved`.
//!
//! An id is never guessed: the `F` must be there. An answer that closes a finding has to be plain and, for a
//! refutation, give a reason of substance; any other answer leaves the finding open.

use super::Draft;
use super::launch::Carried;
use super::scan::{Kind, Line, is_indented};
use crate::text::{plain_words, starts_with_phrase, strip_bullet};
use tribunal_core::finding::Said;
use tribunal_core::ids::FindingId;

/// Reads every answer line of the author's own.
pub(crate) fn read(lines: &[Line<'_>], taken: &mut [bool], draft: &mut Draft) {
    for (at, line) in lines.iter().enumerate() {
        if line.kind != Kind::Own || taken[at] || is_indented(line.text) {
            continue;
        }
        let Some((id, words)) = id_and_words(line.text) else { continue };
        match meaning(words) {
            Some(Ok(said)) => {
                taken[at] = true;
                draft.carried = line.word;
                draft.answer(id, said);
                draft.carried = Carried::Nothing;
            }
            Some(Err(why)) => {
                taken[at] = true;
                draft.intake.note(line.text, why);
            }
            None => {}
        }
    }
}

/// Whether the line answers a finding.
pub(crate) fn is_answer(line: &str) -> bool {
    id_and_words(line).is_some_and(|(_, words)| meaning(words).is_some())
}

/// The id and the words of an answer: `F-12: words`, `- **F-12** — words`, `### F-12 (words)`, `[F-12] words`.
pub(crate) fn id_and_words(line: &str) -> Option<(FindingId, &str)> {
    let line = strip_bullet(line).trim_start_matches(['*', '#', '_', '`', '[', '(', ' ', '|']);
    let line = line.strip_prefix("Finding ").unwrap_or(line);
    let rest = line.strip_prefix(['F', 'f'])?;
    let rest = rest.strip_prefix('-').unwrap_or(rest);
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let id = FindingId::parse(&rest[..digits])?;
    let rest = &rest[digits..];
    if rest.starts_with(char::is_alphanumeric) {
        return None;
    }
    Some((id, rest.trim_start_matches(|c: char| !c.is_alphanumeric())))
}

/// Beginnings that say that a finding is still there. Asked first, so that "not fixed" is never read as "fixed".
const STILL: &[&str] = &[
    "still there",
    "still present",
    "still open",
    "still an issue",
    "still unresolved",
    "still not",
    "still",
    "not fixed",
    "not resolved",
    "not addressed",
    "not yet",
    "unresolved",
    "unfixed",
    "persists",
    "persistent",
    "persisting",
    "remains",
    "remaining",
    "open",
    "unchanged",
    "partially",
    "partly",
    "not gone",
];
/// Beginnings that say that a finding is gone.
const GONE: &[&str] = &[
    "resolved",
    "fixed",
    "gone",
    "addressed",
    "verified fixed",
    "verified resolved",
    "verified",
    "closed",
    "no longer",
    "confirmed fixed",
    "confirmed resolved",
    "done",
];
/// Beginnings that say that it never was a finding.
const NONE: &[&str] = &[
    "not an issue",
    "not a problem",
    "not a bug",
    "refuted",
    "withdrawn",
    "false positive",
    "invalid",
    "was never an issue",
    "no issue",
];

/// The meaning of an answer's words; `None` when they are not an answer, `Err` when something is missing.
pub(crate) fn meaning(words: &str) -> Option<Result<Said, &'static str>> {
    let cleaned = words.replace(['*', '`', '’'], "");
    let lower = plain_words(&cleaned);
    let leading = |table: &[&str]| {
        table.iter().find_map(|phrase| starts_with_phrase(&lower, phrase).map(str::to_owned))
    };
    let told = ["is ", "are ", "was ", "has "].iter().find_map(|verb| lower.strip_prefix(verb));
    let told = told.is_some_and(|rest| STILL.iter().any(|phrase| starts_with_phrase(rest, phrase).is_some()));
    if leading(STILL).is_some() || told {
        return Some(Ok(Said::StillThere));
    }
    if let Some(rest) = leading(NONE) {
        let length = rest.trim_matches(|c: char| !c.is_alphanumeric()).len();
        let why = reason(&cleaned);
        if length == 0 || !argues(&why) {
            return Some(Err("\"not an issue\" needs a reason: say why"));
        }
        return Some(Ok(Said::NotAnIssue(why)));
    }
    let rest = leading(GONE)?;
    let rest = rest.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '?');
    Some(if is_reserved(&lower, rest) {
        Err("an answer with a reservation is not \"resolved\"")
    } else {
        Ok(Said::Resolved)
    })
}

/// Whether the words behind "resolved" take it back, set a condition or hedge, or may do so. Closing a finding needs a
/// clear word.
fn is_reserved(all: &str, rest: &str) -> bool {
    // In front these continue "resolved" itself; later on they may describe what was seen.
    #[rustfmt::skip]
    const FIRST: &[&str] = &[
        "or", "no", "false", "nothing", "never", "in name", "in part", "in theory", "in principle", "for", "is", "was",
        "isn't", "as", "it says", "they say", "says", "said", "by the",
    ];
    #[rustfmt::skip]
    const ANYWHERE: &[&str] = &[
        // Taking it back.
        "but", "except", "apart from", "aside from", "other than", "besides", "beyond", "although", "though", "however",
        "not", "isn't", "wasn't", "doesn't", "didn't", "cannot", "can't", "won't", "neither", "still", "remain", "remains",
        "remaining", "broken", "unresolved", "unfixed", "persists", "incomplete", "yet",
        // Setting a condition.
        "once", "if", "when", "whenever", "after", "provided", "providing", "unless", "until", "assuming", "as long as",
        "as soon as", "pending", "should", "would", "could", "must", "might", "may", "will", "needs", "need", "todo", "later",
        "tomorrow", "for now",
        // Covering a part, or guessing.
        "partly", "partially", "partial", "in part", "half", "halfway", "almost", "mostly", "nearly", "only", "some", "most",
        "one of", "temporarily", "probably", "presumably", "maybe", "perhaps", "likely", "supposedly", "allegedly",
        "apparently", "seems", "appears", "guess", "think", "believe", "hope", "hopefully", "assume", "suppose", "claims",
        "claimed", "according to",
    ];
    // "verified" and "done" alone say it; with more words they may say anything.
    let vague = ["verified", "done"].iter().any(|word| starts_with_phrase(all, word).is_some())
        && !["fixed", "resolved"].iter().any(|word| all.contains(word));
    (vague && !rest.trim().is_empty())
        || rest.contains('?')
        || FIRST.iter().any(|phrase| starts_with_phrase(rest, phrase).is_some())
        || ANYWHERE.iter().any(|phrase| has_phrase(rest, phrase) && !(*phrase == "not" && is_past(rest)))
}

/// Whether a denial says that the fault is over: `the path is not followed any more`.
fn is_past(rest: &str) -> bool {
    let after = rest.split_once("not ").map_or("", |(_, after)| after);
    (has_phrase(after, "any more") || has_phrase(after, "anymore")) && !has_phrase(after, "not")
}

/// Whether a text contains a phrase as words of their own.
fn has_phrase(text: &str, phrase: &str) -> bool {
    text.match_indices(phrase).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        before.is_none_or(|c| !c.is_alphanumeric()) && starts_with_phrase(&text[at..], phrase).is_some()
    })
}

/// Whether a reason says something of its own. `no`, `it is fine` and `it is still there` give none.
///
/// Two words that are not empty are enough: the reason is judged by others, this only refuses what cannot be judged.
fn argues(why: &str) -> bool {
    #[rustfmt::skip]
    const EMPTY: &[&str] = &[
        "a", "an", "the", "it", "its", "it's", "is", "isn't", "was", "are", "be", "this", "that", "there", "one", "no", "not",
        "yes", "nope", "none", "so", "i", "we", "you", "say", "said", "says", "think", "believe", "guess", "feel", "just",
        "really", "simply", "because", "issue", "problem", "bug", "finding", "fine", "ok", "okay", "good", "all", "at", "of",
        "to", "me", "my", "and", "or", "matter", "care", "by", "in", "on", "for", "as", "does", "do", "doesn't", "don't", "reason", "reasons", "course",
    ];
    #[rustfmt::skip]
    const KEPT: &[&str] = &[
        "still", "remains", "persists", "is there", "is real", "is present", "exists", "unresolved", "not fixed",
        "not resolved", "is an issue", "is a bug", "is a problem",
    ];
    let plain = plain_words(why);
    // A name such as `it_is_there` says nothing.
    let lower = why.to_lowercase();
    // In scripts without spaces words cannot be counted; some letters have to do.
    if plain.chars().filter(|c| c.is_alphabetic() && u32::from(*c) > 0x24f).count() >= 4 {
        return true;
    }
    let words: Vec<&str> = plain
        .split(|c: char| !c.is_alphanumeric() && !matches!(c, '\'' | '_'))
        .filter(|word| !word.is_empty())
        .collect();
    let own = words.iter().filter(|word| !EMPTY.contains(word)).count();
    let conditional = ["if", "unless", "once", "until", "maybe", "perhaps", "probably"];
    own >= 2
        && !KEPT.iter().any(|phrase| has_phrase(&lower, phrase))
        && !words.first().is_some_and(|first| conditional.contains(first))
}

/// The words behind the answer itself, without "because".
pub(crate) fn reason(words: &str) -> String {
    let lower = words.to_lowercase();
    let after =
        ["because", "since", " as "].iter().filter_map(|w| lower.find(w).map(|at| at + w.len())).min();
    let cut = words
        .char_indices()
        .find(|(_, c)| matches!(c, ':' | ';' | '—' | '–' | '(' | ',' | '.'))
        .map(|(at, c)| at + c.len_utf8());
    // Lower-casing can change the length of foreign letters, so a cut that is not a boundary is not used.
    let start =
        after.filter(|at| words.is_char_boundary(*at)).or(cut).or_else(|| words.find(" - ").map(|at| at + 3));
    start
        .map(|at| {
            words[at..].trim_matches(|c: char| {
                c.is_whitespace() || matches!(c, ':' | ',' | '(' | ')' | '—' | '–' | '-')
            })
        })
        .unwrap_or("")
        .to_owned()
}
