//! Reads how one clause of a reviewer says that things went.
//!
//! Everything is a table of words, each looked at with a few words around it, so the cost is linear in text that
//! hostile authors write. This file knows nothing of the records; it only says how strong a clause is.

/// How a clause says that something went.
///
/// Ordered, because the strongest statement in a clause counts, and bad news outranks any praise beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Went {
    /// It says nothing about it.
    Unsaid,
    /// Well, in words that are used of code as well ("clean").
    Fine,
    /// Well, in words that are used only of a run ("passes").
    Well,
    /// Not well, or not for certain.
    Badly,
}

const PASSES: [&str; 4] = ["pass", "passes", "passed", "passing"];
const WELL: [&str; 5] = ["green", "succeed", "succeeds", "succeeded", "succeeding"];
const FINE: [&str; 7] = ["clean", "cleanly", "ok", "okay", "success", "successful", "successfully"];
/// Right after one of these, a word like "clean" speaks of a run, not of code.
const RAN: [&str; 8] = ["ran", "run", "runs", "result", "results", "completed", "finished", "exited"];
const FAILED: [&str; 10] =
    ["fail", "fails", "failed", "failing", "failure", "failures", "red", "broken", "breaks", "broke"];
/// Before one of these, a word of failure names a subject: "the failure path" says nothing of how anything went.
const KINDS: [&str; 9] = ["path", "paths", "case", "cases", "mode", "modes", "branch", "handling", "inputs"];
/// Trouble that a clause may deny: "no errors".
const TROUBLE: [&str; 10] = [
    "error", "errors", "warning", "warnings", "finding", "findings", "issue", "issues", "problem", "problems",
];
const NOT: [&str; 8] = ["not", "cannot", "never", "none", "nothing", "neither", "nor", "hardly"];
const NO: [&str; 4] = ["no", "0", "zero", "without"];
/// Words of wish or condition: "should pass" does not say that it did.
const PERHAPS: [&str; 10] =
    ["should", "would", "could", "might", "may", "must", "if", "unless", "until", "whether"];
/// Words that may stand between a word and its object, as in "none of the tests have failed".
const BETWEEN: [&str; 31] = [
    "a", "all", "also", "any", "are", "be", "been", "check", "checks", "has", "have", "i", "is", "it",
    "longer", "new", "now", "of", "one", "ran", "single", "still", "suite", "test", "tests", "the", "them",
    "they", "unit", "was", "were",
];
// Bounds how far a negation reaches, and keeps the reading linear.
const BETWEEN_MAX: usize = 6;
const EXIT: [&str; 7] = ["exit", "exits", "exited", "exiting", "rc", "code", "status"];
const EXIT_WITH: [&str; 9] = ["with", "a", "an", "of", "is", "was", "value", "the", "return"];
/// After "pass" these show that something is handed over: "pass an empty name".
const OBJECTS: [&str; 10] = ["a", "an", "its", "their", "them", "null", "to", "into", "along", "down"];
// After "which pass" the objects are others: "the tests which pass in a name".
const OBJECTS_OF_WHICH: [&str; 6] = ["the", "in", "on", "through", "it", "--"];
/// Verbs of what tests do; after "that" they speak of the code, not of the run.
const ASSERT: [&str; 10] =
    ["check", "checks", "assert", "asserts", "verify", "verifies", "ensure", "ensures", "expect", "expects"];
const LINKS: [&str; 5] = ["and", "so", "then", "now", "with"];
/// Words that take up what the clause before named.
const PRONOUNS: [&str; 7] = ["it", "they", "all", "both", "these", "those", "which"];
const CHECKS: [&str; 6] = ["checks", "check", "commands", "command", "gates", "gate"];
const ALL: [&str; 4] = ["all", "every", "each", "both"];
const RUNS: [&str; 3] = ["ran", "run", "reran"];

/// First of the private-use characters (plane 15) that each stand for the name of a record. Callers strip them from
/// what authors wrote.
pub(super) const MARK: u32 = 0xF_0000;

pub(super) fn is_mark(word: &str) -> bool {
    word.chars().next().is_some_and(|c| u32::from(c) >= MARK)
}

/// The words of a clause; an option is marked by "--", because it tells one command from another.
pub(super) fn words(clause: &str) -> Vec<&str> {
    let in_a_word = |c: char| c.is_alphanumeric() || u32::from(c) >= MARK || "'.-".contains(c);
    let pieces = clause.split(|c: char| !in_a_word(c));
    let parts = pieces.flat_map(|piece| {
        let option = piece.starts_with("--").then_some("--");
        option.into_iter().chain(piece.split('-').map(|word| word.trim_matches(['\'', '.'])))
    });
    parts.filter(|word| !word.is_empty()).collect()
}

/// How the clause as a whole says that things went.
pub(super) fn went(words: &[&str]) -> Went {
    let words = asserted(words);
    let (mut worst, mut at) = (Went::Unsaid, 0);
    while at < words.len() {
        let (went, taken) = says(words, at);
        // A phrase such as "no failures" is taken as one, or its last word alone would count as bad news.
        worst = worst.max(went);
        at += taken;
    }
    worst
}

/// The clause up to the point where it says what the tests look for. "The tests check that a good name passes" is not a
/// word on how the tests went.
fn asserted<'w, 's>(words: &'w [&'s str]) -> &'w [&'s str] {
    let that = |pair: &[&str]| ASSERT.contains(&pair[0]) && ["that", "whether"].contains(&pair[1]);
    match words.windows(2).position(that) {
        Some(at) if words[..at].iter().any(|word| is_mark(word)) || tests(&words[..at]).is_some() => {
            &words[..at]
        }
        _ => words,
    }
}

/// The meaning of the word at this place, and how many words it covers.
///
/// The order of the branches matters: denials come first, because "not failed" and "no errors" must be read before
/// "failed" and "errors" are.
fn says(words: &[&str], at: usize) -> (Went, usize) {
    let (before, word, next) = (word_at(words, at.wrapping_sub(1)), words[at], word_at(words, at + 1));
    let behind = behind(words, at);
    let (then, taken) = (word_at(words, behind), behind + 1 - at);
    let went = if is_not(word) {
        if FAILED.contains(&then) {
            return (Went::Well, taken);
        }
        Went::Badly
    } else if NO.contains(&word) && FAILED.contains(&then) {
        return (Went::Well, taken);
    } else if NO.contains(&word) && TROUBLE.contains(&then) {
        return (Went::Fine, taken);
    // Before the plain "no": the 0 of "exit code 0" is not a count of anything.
    } else if ["0", "zero"].contains(&word) && exits(&words[..at]) {
        Went::Well
    } else if NO.contains(&word) {
        if runs_well(then) { Went::Badly } else { Went::Unsaid }
    } else if PERHAPS.contains(&word) {
        let wished = runs_well(then) || FAILED.contains(&then) || is_not(then);
        if wished { Went::Badly } else { Went::Unsaid }
    // "all tests pass except one" is honest, so it must not count as a claim that all pass.
    } else if FAILED.contains(&word) || word == "except" {
        if KINDS.contains(&next) { Went::Unsaid } else { Went::Badly }
    } else if runs_well(word) {
        if hands_over(before, word, next) { Went::Unsaid } else { Went::Well }
    } else if FINE.contains(&word) {
        if RAN.contains(&before) { Went::Well } else { Went::Fine }
    } else if word == "good" && before == "all" {
        Went::Fine
    } else {
        Went::Unsaid
    };
    (went, 1)
}

/// The position of the first word after this one that is not merely in between.
fn behind(words: &[&str], at: usize) -> usize {
    let is_between = |word: &&&str| BETWEEN.contains(*word) || is_mark(word) || is_number(word);
    at + 1 + words[at + 1..].iter().take(BETWEEN_MAX).take_while(is_between).count()
}

fn word_at<'s>(words: &[&'s str], at: usize) -> &'s str {
    words.get(at).copied().unwrap_or("")
}

fn is_number(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit())
}

fn is_not(word: &str) -> bool {
    NOT.contains(&word) || word.ends_with("n't")
}

fn runs_well(word: &str) -> bool {
    PASSES.contains(&word) || WELL.contains(&word)
}

/// Whether "pass" is said of something handed over, or only of those that do ("the tests that pass").
fn hands_over(before: &str, word: &str, next: &str) -> bool {
    let which = before == "which" && OBJECTS_OF_WHICH.contains(&next);
    PASSES.contains(&word) && (before == "that" || which || OBJECTS.contains(&next))
}

/// Whether the words end with "exit code", "exited with status" and the like, so that a number follows.
fn exits(words: &[&str]) -> bool {
    let last = words.iter().rev().take(BETWEEN_MAX);
    let mut near = last.take_while(|word| EXIT.contains(word) || EXIT_WITH.contains(word));
    near.any(|word| EXIT.contains(word))
}

/// Whether a clause goes on about what the clause before named: "it passes", "12 passed", "exit code 0".
pub(super) fn goes_on(words: &[&str]) -> bool {
    let Some(at) = words.iter().position(|word| !LINKS.contains(word)) else { return true };
    let (said, taken) = says(words, at);
    // A lone "clean" goes on; "clean and readable" speaks of the code.
    let speaks = said == Went::Well || (said == Went::Fine && (taken > 1 || words.len() == at + 1));
    PRONOUNS.contains(&words[at]) || EXIT.contains(&words[at]) || is_number(words[at]) || speaks
}

/// Where a clause speaks of the tests in general.
pub(super) fn tests(words: &[&str]) -> Option<usize> {
    let runs = ["suite", "suites", "run", "runs", "result", "results"];
    let is_it = |at: &usize| match words[*at] {
        "tests" | "testsuite" => true,
        "test" => runs.contains(&word_at(words, at + 1)),
        _ => false,
    };
    (0..words.len()).find(is_it)
}

/// Whether the clause says after this position that anything went well.
pub(super) fn goes_well_after(words: &[&str], at: usize) -> bool {
    let mut rest = at + 1..words.len();
    rest.any(|at| says(words, at).0 == Went::Well)
}

/// The least praise by which a clause claims that every check passed; `None` where it does not speak of all checks.
pub(super) fn all_checks(words: &[&str]) -> Option<Went> {
    (0..words.len()).find_map(|at| {
        if !CHECKS.contains(&words[at]) {
            return None;
        }
        // "all of the checks": articles between the quantifier and its noun are skipped.
        let article = |word: &&&str| ["of", "the", "these", "those"].contains(*word);
        let articles = words[..at].iter().rev().take_while(article).count();
        let lead = word_at(words, at.wrapping_sub(articles + 1));
        let many = words[at].ends_with('s');
        // "checks pass" without an article means all of them; "type checks pass" does not.
        let alone = many && (at == 0 || articles > 0) && runs_well(word_at(words, behind(words, at)));
        if ALL.contains(&lead) {
            return Some(Went::Fine);
        }
        (alone || (many && RUNS.contains(&lead))).then_some(Went::Well)
    })
}

/// Whether a clause claims that everything passes.
pub(super) fn everything(words: &[&str]) -> bool {
    let them = |three: &[&str]| three[..2] == ["all", "of"] && ["them", "it", "these"].contains(&three[2]);
    let passes = |at: usize| runs_well(word_at(words, behind(words, at)));
    let each = (0..words.len()).any(|at| words[at] == "everything" && passes(at));
    each || words.windows(3).any(them) || (words.first() == Some(&"all") && passes(0))
}
