//! Recognizes what was seen in a file, behind CHECKED: `a.txt has the line TWO`, `index.js exports sub`.
//!
//! The subject is a file, a place or the change, and the verb only says what is there. A clause that gives something to
//! somebody, takes it away or limits it is not a plain sight: a fault in plain words has the same form.

use super::lexicon::{BAD, DENIES, NONE, TURNS};
use super::{CODE, PLACE, clauses, level, partial, vouch, words_of};

/// Verbs that say what is there.
#[rustfmt::skip]
const THERE: &[&str] = &[
    "has", "have", "had", "holds", "contains", "says", "adds", "defines", "declares", "exports", "lists", "names", "asserts",
    "covers", "tests", "documents", "describes", "explains", "introduces", "implements",
];
/// Verbs of what happens; they say what is there only together with a file or a number.
const HAPPENS: &[&str] =
    &["prints", "returns", "gives", "give", "imports", "changes", "replaces", "renames", "runs"];
/// Words that a plain sight does not contain, besides the words of faults.
#[rustfmt::skip]
const AGAINST: &[&str] = &[
    "before", "even", "gone", "commented", "conflict", "conflicts", "freed", "evil", "permission", "permissions", "success",
    "nobody", "nothing", "drops", "removes", "deletes", "skips", "ignores", "disables", "bypasses",
];
/// What a file may be said to be.
const IS: &[&str] = &["new", "added", "renamed", "unchanged"];
/// Words for the change itself.
const CHANGE: &[&str] = &["diff", "change", "commit", "patch", "hunk", "file", "line", "it"];
/// Words around the subject and in front of the verb.
const BESIDE: &[&str] =
    &["the", "this", "that", "new", "in", "at", "now", "also", "both", "first", "second", "third", "last"];

/// Whether a clause says what is there.
pub(super) fn sees(words: &[&str]) -> bool {
    let Some(verb) = verb(words) else { return false };
    let after = &words[verb + 1..];
    // "It returns the secret" is a fault; "it returns 1" is an observation.
    !after.is_empty() && (!HAPPENS.contains(&words[verb]) || after.iter().any(is_literal)) && is_plain(words)
}

/// Whether a clause continues what was seen: another thing that is there, or what a test asserts.
pub(super) fn goes_on(words: &[&str], stated: bool) -> bool {
    let begins = words.first().is_some_and(|word| THERE.contains(word))
        || matches!(words, [verb, rest @ ..] if HAPPENS.contains(verb) && rest.iter().any(is_literal));
    let is_new = matches!(words, [word] if IS.contains(word));
    let sum = words.iter().all(|word| is_literal(word) || HAPPENS.contains(word));
    let of_it = matches!(words, ["it", verb, ..] if THERE.contains(verb));
    (begins || is_new || sum || of_it || stated) && is_plain(words)
}

/// Whether a word is a file, a place or a number.
fn is_literal(word: &&str) -> bool {
    word.chars().any(|c| c == CODE || c == PLACE) || word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a clause contains no fault, no limit and nobody's gain.
fn is_plain(words: &[&str]) -> bool {
    let against = |word: &&str| {
        NONE.has(word) || DENIES.has(word) || TURNS.has(word) || BAD.has(word) || AGAINST.contains(word)
    };
    !words.iter().any(against) && !vouch::sets_apart(words) && !partial::tells(words)
}

/// The position of the verb of such a clause, behind its subject.
fn verb(words: &[&str]) -> Option<usize> {
    let marked = |word: &str| word.chars().any(|c| c == CODE || c == PLACE);
    let subject = |word: &str| marked(word) || CHANGE.contains(&word);
    let number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    let front =
        words.iter().take_while(|word| subject(word) || BESIDE.contains(word) || number(word)).count();
    let verb = *words.get(front)?;
    let named = words[..front].iter().any(|word| subject(word));
    let is = matches!(verb, "is" | "are") && words.get(front + 1).is_some_and(|next| IS.contains(next));
    (named && (is || THERE.contains(&verb) || HAPPENS.contains(&verb))).then_some(front)
}

/// Whether a sentence begins with such a clause.
pub(super) fn opens(sentence: &str) -> bool {
    clauses(&level(sentence)).next().is_some_and(|clause| sees(&words_of(clause)))
}

/// Whether a sentence contains such a clause.
pub(super) fn any(sentence: &str) -> bool {
    clauses(&level(sentence)).any(|clause| sees(&words_of(clause)))
}
