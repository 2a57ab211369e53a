//! Finds what makes less of a good word than it sounds: a denial with an exception, a denial of what is wanted, a part
//! for the whole, a sign of alarm, a question.
//!
//! In these ways an approving sentence can report a fault without using a word for one. Each function is named after
//! one of them.

use super::lexicon::{BAD, COURTESY, DONE, THINGS_READ};

/// Words that deny only what follows at once.
pub(super) const WITHOUT: &[&str] = &["without"];

/// The position up to which `without` denies faults: `without errors or warnings`, `without any data loss`. Where it
/// denies something else, the position right behind it.
pub(super) fn without(words: &[&str], at: usize) -> usize {
    #[rustfmt::skip]
    const BESIDE: &[&str] = &[
        "a", "an", "any", "the", "new", "further", "visible", "single", "compiler", "lint", "clippy", "type", "memory", "data",
        "security", "or", "nor", "known", "other", "more", "obvious", "causing", "introducing",
    ];
    let mut end = at + 1;
    for (next, word) in words.iter().enumerate().skip(at + 1) {
        if BAD.has(word) {
            end = next + 1;
        } else if !BESIDE.contains(word) {
            break;
        }
    }
    end
}

/// Whether a denial holds only for the rest: `no problems other than …`, `nothing so far`.
pub(super) fn voids(words: &[&str]) -> bool {
    let pair = |pair: &[&str]| {
        matches!(
            pair,
            ["other" | "rather", "than"]
                | ["so" | "as" | "thus", "far"]
                | ["save", "for" | "one" | "the" | "a" | "in"]
                | ["bar", "one" | "the"]
                | ["excluding" | "barring", _]
        )
    };
    words.windows(2).any(pair) || words.contains(&"beyond")
}

/// Whether only a part was looked at: `read the first half`, `no issues in the part I read`, `most of the files`.
/// Nothing is then said about the rest.
pub(super) fn covers_a_part(words: &[&str]) -> bool {
    let amount = |word: &str| {
        matches!(word, "half" | "third" | "quarter" | "few" | "part" | "lines" | "hunk" | "hunks" | "files")
            || word.parse::<u32>().is_ok()
    };
    let pair = |pair: &[&str]| match pair {
        ["first" | "last" | "top" | "second" | "upper" | "lower", amounts] => amount(amounts),
        // Hearsay: what somebody else says was not seen.
        ["summary" | "word" | "words" | "claim" | "claims" | "title", "of"] => true,
        ["some" | "most" | "half" | "much", "of"] | ["half", "the"] => true,
        ["part" | "parts", "of" | "i" | "we"] | ["parts", "that"] => true,
        ["files" | "lines" | "hunks" | "code", "i" | "we"] => true,
        ["a", "few" | "part" | "fraction" | "portion"] => true,
        _ => false,
    };
    let whole = words.iter().any(|word| matches!(*word, "every" | "all" | "each" | "whole" | "both"));
    // `up to the limit`, `up to line 400`; not `up to date`.
    let up_to = |three: &[&str]| matches!(three, ["up", "to", bound] if *bound != "date");
    !whole && words.windows(2).any(pair) || words.windows(3).any(up_to)
}

/// Whether a clause says that the work should not land, or is not there: `Hold this.`, `not satisfied`, `0 passed`,
/// `the check is gone`.
pub(super) fn holds_back(words: &[&str]) -> bool {
    let passed = |word: &str| word.starts_with("pass") || matches!(word, "green" | "succeeded");
    let none = |pair: &[&str]| {
        matches!(pair, ["let", "in"])
            || matches!(pair[0], "0" | "zero" | "no" | "none") && passed(pair[1])
            || matches!(pair[0], "0" | "zero") && matches!(pair[1], "tests" | "checks")
    };
    const SAFEGUARDS: &[&str] = &[
        "authenticat",
        "authoriz",
        "authoris",
        "validat",
        "check",
        "lock",
        "guard",
        "escap",
        "saniti",
        "verif",
        "encrypt",
        "permission",
        "assert",
        "files",
        "data",
        "table",
        "rows",
        "entries",
    ];
    let gone = words.iter().any(|word| matches!(*word, "gone" | "removed" | "dropped" | "off" | "stripped"));
    let wanted = |word: &&str| SAFEGUARDS.iter().any(|stem| word.starts_with(stem));
    let never = matches!(words, ["none", "of", ..]) && words.iter().any(|word| passed(word));
    let at_large = words.first() == Some(&"hold") && words.len() <= 4;
    at_large || never || words.windows(2).any(none) || gone && words.iter().any(wanted)
}

/// Whether a word only names what was read or run, or joins such words: it says nothing of what was seen there.
pub(super) fn is_plain_name(word: &str) -> bool {
    #[rustfmt::skip]
    const PLAIN: &[&str] = &[
        "its", "their", "both", "each", "every", "line", "hunk", "one", "two", "three", "whole", "full", "against", "around",
        "through", "from", "between", "at", "or", "as", "well", "also", "twice", "again", "got", "name", "argument",
        "arguments", "without", "guard", "fix", "default", "must-have", "must-haves", "reading", "text", "lines", "there",
        "them", "per", "after", "before", "under", "into", "over", "via", "plus", "including", "we", "i've", "touched",
        "changed", "added", "new", "old",
    ];
    PLAIN.contains(&word)
        || COURTESY.has(word)
        || DONE.has(word)
        || THINGS_READ.has(word)
        || !word.chars().any(char::is_alphabetic)
}

/// Whether a clause says who gets what: `returns true for every password`, `it uploads the key`, `my files`. Behind a
/// report of what was done this is not its result.
pub(super) fn tells(words: &[&str]) -> bool {
    #[rustfmt::skip]
    const WHO: &[&str] = &[
        "any", "anyone", "anybody", "anything", "everyone", "everybody", "everything", "my", "root", "admin", "admins",
        "administrator", "administrators", "password", "passwords", "key", "keys", "token", "tokens", "secret", "secrets",
        "uid", "user", "users", "let", "executed", "executes", "eval", "evals", "upload", "uploads", "uploaded", "always",
        "never", "twice", "stranger", "strangers", "customer", "customers", "negative", "others",
    ];
    // `whoever asks gets the file`; a note `for whoever keeps these tools` gives nobody anything.
    const GETS: &[&str] =
        &["get", "gets", "may", "can", "is", "are", "has", "have", "reads", "sees", "goes", "passes"];
    let open = words.iter().position(|word| matches!(*word, "whoever" | "whatever"));
    let gets = open.is_some_and(|at| words[at..].iter().any(|word| GETS.contains(word)));
    // `every file is named` goes through the work.
    let every = |pair: &[&str]| pair[0] == "every" && !THINGS_READ.has(pair[1]);
    gets || words.iter().any(|word| WHO.contains(word)) || words.windows(2).any(every)
}

/// Whether a clause says how far the change goes: `only src/a.rs changed`, `the commit touches only that file`, `no
/// other file was touched`.
pub(super) fn bounds_the_change(words: &[&str]) -> bool {
    #[rustfmt::skip]
    const BOUNDS: &[&str] = &[
        "only", "the", "this", "commit", "change", "diff", "patch", "touches", "changes", "changed", "modifies", "was", "is",
        "touched", "modified", "it", "one", "file",
    ];
    let code = |word: &&str| word.chars().all(|c| c == super::CODE);
    // Every word has to be one of these: `only src/a.rs changed wrongly` must not pass.
    let only = words.contains(&"only")
        && words.iter().any(code)
        && words.iter().any(|word| ["touch", "change", "modif"].iter().any(|stem| word.starts_with(stem)))
        && words.iter().all(|word| code(word) || BOUNDS.contains(word));
    let no_other = matches!(
        words,
        ["no", "other" | "further" | "unrelated", "file" | "files" | "code" | "module" | "modules", ..]
            | ["nothing", "else", ..]
    ) && matches!(
        words,
        [.., "was" | "were" | "is" | "are", "touched" | "changed" | "modified" | "affected"]
    ) && words.len() <= 6;
    only || no_other
}

/// Whether a clause says that nothing stands in the way: `I would merge this`, `nothing to mend`.
pub(super) fn would_land(words: &[&str]) -> bool {
    let rest = match words {
        ["i'd" | "id", rest @ ..] | ["i", "would", rest @ ..] => rest,
        ["there", "is" | "was", rest @ ..] | ["i", "see" | "have" | "found", rest @ ..] => {
            return is_nothing_to_do(rest);
        }
        _ => return is_nothing_to_do(words),
    };
    matches!(rest, ["happily" | "gladly", "merge" | "ship" | "land" | "approve" | "accept", tail @ ..]
        | ["merge" | "ship" | "land" | "approve" | "accept", tail @ ..]
        if tail.len() <= 3 && tail.iter().all(|word| matches!(*word, "this" | "it" | "as" | "is" | "change" | "the" | "now")))
}

fn is_nothing_to_do(words: &[&str]) -> bool {
    matches!(
        words,
        ["nothing", "to", "mend" | "improve" | "correct" | "criticise" | "criticize" | "fix" | "object"]
    ) || matches!(words, ["nothing", "to", "object", "to"] | ["nothing", "to", "complain", "about"])
}

/// Whether a sentence shows a sign of alarm, or a thumb that points down.
pub(super) fn alarms(sentence: &str) -> bool {
    const SIGNS: &[char] = &[
        '🚨', '⚠', '☠', '👎', '🔥', '🛑', '⛔', '💥', '🐛', '❗', '‼', '🚫', '💀', '🙅', '😱', '☢', '☣',
        '💣', '🆘', '😬', '🤮', '🤦',
    ];
    const NAMES: &[&str] = &[
        ":warning:",
        ":rotating_light:",
        ":-1:",
        ":thumbsdown:",
        ":x:",
        ":no_entry:",
        ":bug:",
        ":fire:",
        ":skull:",
        ":boom:",
        ":stop_sign:",
        ":octagonal_sign:",
        ":bomb:",
        ":sos:",
    ];
    let trimmed = sentence.trim().trim_matches(['*', '_', '.', '!', ' ']);
    let vote = ["-1", "−1", "–1", "-2"].contains(&trimmed);
    // "🐛 none" is a heading with an answer.
    let denied = sentence
        .to_lowercase()
        .split(|c: char| !c.is_alphanumeric())
        .any(|word| matches!(word, "no" | "none" | "0" | "zero" | "keine" | "nothing"));
    vote || !denied && (sentence.contains(SIGNS) || NAMES.iter().any(|name| sentence.contains(name)))
}

/// Whether a sentence is a question that nobody answers: whoever asks does not know.
pub(super) fn asks(sentence: &str, levelled: &str) -> bool {
    let end = sentence.trim_end_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '_' | ')' | '"'));
    end.ends_with(['?', '？']) && levelled.split_whitespace().count() > 2
}

#[cfg(test)]
mod tests {
    use super::tells;

    /// Words that only begin like one that tells who gets what, and a note for somebody, say nothing of the kind.
    #[test]
    fn who_gets_what() {
        let told = |text: &str| tells(&text.split(' ').collect::<Vec<_>>());
        for text in
            ["it returns true for passwords", "whoever asks gets the file", "it uploads the key", "my files"]
        {
            assert!(told(text), "{text}");
        }
        for text in
            ["a note for whoever keeps these tools", "evaluated the script", "the tokenizer splits it"]
        {
            assert!(!told(text), "{text}");
        }
    }
}
