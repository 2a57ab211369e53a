//! Judges plain positive sentences: when one says that the work does what was asked, and when it only sounds so.
//!
//! A statement about behaviour counts when it is tied to the task, to the documents or to the tests, or when it names a
//! safeguard. Anything that limits it, or lets it happen to somebody, leaves it in doubt: "works on my machine" praises
//! nothing.

use super::lexicon::{BAD, DENIES, NONE, Table};
use std::sync::LazyLock;

macro_rules! table {
    ($(#[$doc:meta])* $name:ident, $($word:literal)*) => {
        $(#[$doc])*
        #[rustfmt::skip]
        static $name: LazyLock<Table> = LazyLock::new(|| Table::of(&[$($word),*]));
    };
}

table! {
    /// Words for what a change is measured by.
    ANCHORS,
    "task*" "plan" "plans" "plan's" "planned" "spec" "specs" "specification*" "ticket*" "issue" "story" "brief" "request"
    "requested" "requirement*" "criteri*" "contract*" "rfc" "standard*" "convention*" "style" "guide*" "pattern*" "doc"
    "docs" "documentation" "readme" "changelog" "description" "example*" "schema" "interface" "asked" "asks" "intent*"
    "design" "expectation*" "test" "tests" "suite" "case" "cases" "branch" "branches" "scenario*" "goal*" "aufgabe*"
    "anforderung*" "fälle" "vorgabe*" "tarea" "requisito*" "casos" "pruebas" "tâche" "exigence*" "cas" "specifica" "casi"
}
table! {
    /// Words for the task itself, which asks.
    TASKS,
    "task" "plan" "spec" "specification" "ticket" "issue" "story" "brief" "request" "requirement" "contract" "rfc"
    "description" "goal" "aufgabe" "tarea" "tâche"
}
table! {
    /// Verbs for what a task does: it asks, wants, says.
    ASKED,
    "ask*" "want*" "say*" "said" "call*" "require*" "request*" "describe*" "demand*" "specif*" "state*" "define*"
    "list*" "name*" "expect*" "intend*" "prescribe*" "is" "was"
}
table! {
    /// Verbs that speak for the work if they go with a word of `ANCHORS`.
    SERVES,
    "match*" "cover*" "meet" "meets" "met" "satisf*" "agree*" "fulfil*" "follow*" "implement*" "deliver*" "respect*"
    "conform*" "complies" "comply" "adher*" "correspond*" "mirror*" "reflect*" "address*" "does" "do" "exercis*" "assert*"
    "pin" "pins" "prove*" "entspricht" "decken" "deckt" "erfüll*" "cumple*" "cubre*" "couvr*" "respect*" "copr*" "achieve*" "verif*" "check*" "has" "have"
}
table! {
    /// Verbs of safeguards: what protects a program.
    GUARDS,
    "validat*" "handle*" "check*" "guard*" "reject*" "prevent*" "avoid*" "ensure*" "enforce*" "escape*" "sanitis*"
    "sanitiz*" "verif*" "propagat*" "parameteri*" "authenticat*" "authoriz*" "authoris*" "protect*" "bounded"
    "wrapped" "caught" "catch*" "covered" "tested"
}
table! {
    /// Things that go wrong in programs; a safeguard may be about them.
    EVENTS,
    "error*" "fail*" "missing" "invalid*" "malformed" "overflow*" "underflow*" "timeout*" "crash*" "panic*" "race" "races"
    "leak*" "duplicat*" "corrupt*" "injection*" "absent" "stale" "expire*" "truncat*" "abort*" "deadlock*" "attack*"
    "broken" "bad" "wrong" "unsafe" "issue" "arbitrary" "partial*"
}
table! {
    /// Words that limit a statement, shift it, or set it against another.
    LIMITS,
    "only" "just" "merely" "half" "part" "parts" "some" "sometimes" "most" "mostly" "usually" "often" "too" "twice"
    "after" "late" "later" "early" "another" "other" "others" "else" "opposite" "contrary" "instead" "old" "nothing" "out"
    "without" "never" "one" "few" "less" "more" "rather" "unlike" "beyond" "differ*" "deviat*" "diverg*" "except" "client"
    "machine" "locally" "happy" "anyone" "everyone" "everybody" "anybody" "via" "again" "solo" "sólo" "solamente"
    "seulement" "nur" "un" "manche" "teils" "einige" "soltanto" "alcuni" "algunos" "any" "whatever" "random*" "empty-handed"
    "true" "trivially" "always" "outside" "largely" "roughly" "somewhat" "nearly" "supposed" "claims" "claim" "pretend*" "seem*" "appear*" "mock*" "stub*" "fake*" "itself" "themselves"
}
table! {
    /// States that speak for the work if they are said of it.
    STATES,
    "complete" "valid" "identical" "equal" "unchanged" "intact" "expected" "documented" "clear" "covered" "tested"
    "consistent" "appropriate" "minimal" "equivalent" "mechanical" "satisfied" "met"
}
table! {
    /// Words of praise: a clause of these and of courtesy alone is praise.
    PRAISE,
    "small" "simple" "easy" "follow" "mechanical" "purely" "pure" "focused" "structured" "well" "refactoring" "refactor"
    "rename" "tidy" "boring" "short" "very" "quite" "really" "nice" "good" "great" "neat" "clean" "review" "work" "job"
    "piece" "change" "changes" "patch" "code" "tests" "names" "naming" "diff" "contained" "understand" "read" "scoped"
    "all" "everything" "gut" "either" "neither" "here" "me" "side" "from"
}

/// Words after which a state is said of the work and needs no more.
const BEFORE_STATE: &[&str] = &[
    "is",
    "are",
    "was",
    "were",
    "be",
    "fully",
    "very",
    "quite",
    "all",
    "both",
    "well",
    "as",
    "now",
    "and",
    "everything",
    "looks",
    "look",
    "remains",
    "stays",
    "ist",
    "sind",
    "est",
    "son",
    "es",
    "è",
    "purely",
];

/// Whether a word of [`super::lexicon::GOOD`] counts in its clause.
///
/// Verbs need what they are tied to, adjectives must be said of the work, and nothing may limit them.
pub(super) fn counts(words: &[&str], at: usize) -> bool {
    let word = words[at];
    let next = words.get(at + 1);
    if matches!(word, "works" | "work" | "worked" | "holds" | "hold") {
        return works(words, at);
    }
    if SERVES.has(word) && !STATES.has(word) {
        return serves(words);
    }
    let said = words.len() <= 4 || at > 0 && BEFORE_STATE.contains(&words[at - 1]);
    // `clear text passwords`, `nice trick with eval`: in front of a thing that is not the work.
    let thing = |word: &&str| {
        PRAISE.has(word)
            || super::GOOD.has(word)
            || super::COURTESY.has(word)
            || super::THINGS_READ.has(word)
            || ANCHORS.has(word)
            || !word.chars().any(char::is_alphabetic)
            || matches!(*word, "as" | "by" | "at" | "now" | "so" | "commits" | "error")
    };
    if at == 0 && (is_adjective(word) || word == "clear") && !words[1..].iter().all(thing) {
        return false;
    }
    if STATES.has(word) {
        const GO_ON: &[&str] = &["to", "with", "as", "by", "for", "on", "in", "now", "enough", "from", "too"];
        // "Identical to the old one" is a comparison, not a limit.
        let likened = |word: &&&str| **word != "old";
        let limited = words.iter().filter(likened).any(|word| LIMITS.has(word));
        let ends = next.is_none_or(|next| GO_ON.contains(next)) || words.len() <= 3 && at == 0;
        return (said && ends || serves(words)) && !narrowed(&words[at + 1..]) && !limited;
    }
    if word.starts_with("pass") && word.len() <= 7 {
        // A program passes things on as well; tests and builds pass.
        let object =
            next.is_some_and(|next| matches!(*next, "the" | "a" | "an" | "its" | "their" | "every" | "all"));
        let emptied = words
            .iter()
            .any(|word| matches!(*word, "removed" | "commented" | "emptied" | "alone" | "isolation"));
        // `whatever they pass as a name`.
        let carried = word == "pass"
            && at > 0
            && matches!(words[at - 1], "they" | "you" | "we" | "i" | "callers" | "users");
        return (!object || words.iter().any(|word| ANCHORS.has(word))) && !emptied && !carried;
    }
    // `as well` praises nothing; `good enough for a demo` and `the happy path is fine` are said of a part.
    let vain = word == "well" && at > 0 && words[at - 1] == "as" || next == Some(&"enough");
    let part = words[..at].iter().chain(&words[at + 1..]).any(|word| PART.contains(word))
        || narrowed_to(&words[at + 1..]);
    !vain && !part && (said || at + 1 == words.len() || at == 0 || !is_adjective(word))
}

/// Words that restrict what is said to a part of the work.
const PART: &[&str] = &["happy", "half", "most", "some", "mostly", "partly", "else", "otherwise", "demo"];

/// Whether what is said holds for a part: `for small inputs`, `after the third try`, `under protest`. `in 3 seconds`
/// and `for me` do not restrict it.
fn narrowed_to(after: &[&str]) -> bool {
    let bound =
        |word: &&str| matches!(*word, "when" | "until" | "under" | "after" | "since" | "once" | "unless");
    const WHOLE: &[&str] =
        &["all", "both", "every", "each", "the", "me", "now", "merging", "merge", "review", "this"];
    let of_part = |pair: &[&str]| {
        matches!(pair[0], "for" | "on")
            && !WHOLE.contains(&pair[1])
            && !pair[1].starts_with(|c: char| !c.is_alphabetic() || !c.is_ascii())
    };
    after.iter().any(bound) || after.windows(2).any(of_part)
}

/// Words that may stand in front of a thing; said of the thing, they say nothing of the work.
fn is_adjective(word: &str) -> bool {
    [
        "good",
        "great",
        "nice",
        "clean",
        "green",
        "successful",
        "solid",
        "sound",
        "fine",
        "perfect",
        "ready",
        "happy",
    ]
    .contains(&word)
        || ["correct", "sensible", "reasonable", "readable", "robust", "careful", "thorough", "excellent"]
            .contains(&word)
}

/// Whether "works" or "holds" praises the work: `works`, `works as expected`, `works on all platforms`; not `works on
/// my machine`, and not the noun.
fn works(words: &[&str], at: usize) -> bool {
    if words[at] == "work" && (at == 0 || !words[at - 1].ends_with('s')) {
        return false;
    }
    let free = match words.get(at + 1) {
        None => true,
        Some(&next) => {
            !words[at].starts_with("hold")
                && matches!(next, "the" | "now" | "with" | "well" | "fine" | "correctly")
                || matches!(next, "as" | "up" | "true")
                || !narrowed(&words[at + 1..]) && matches!(next, "on" | "for" | "in")
        }
    };
    free && !limited(words)
}

/// Whether what is said holds for a part: `for a year`, `on my laptop`, `for small inputs`. `for all samples` holds for
/// the whole.
fn narrowed(after: &[&str]) -> bool {
    const WHOLE: &[&str] = &["all", "both", "every", "each", "the"];
    let bound =
        |word: &&str| matches!(*word, "when" | "until" | "during" | "under" | "while" | "across" | "since");
    after.iter().any(bound)
        || after.windows(2).any(|pair| matches!(pair[0], "for" | "on" | "in") && !WHOLE.contains(&pair[1]))
}

/// Whether a word limits what is said of a file, or sets it against another: `still has the old name`.
pub(super) fn sets_apart(words: &[&str]) -> bool {
    // A count of what is there limits nothing.
    let counts = |word: &&&str| !matches!(**word, "one" | "more" | "true" | "another" | "other");
    words.iter().filter(counts).any(|word| LIMITS.has(word)) || words.contains(&"still")
}

fn limited(words: &[&str]) -> bool {
    words.iter().any(|word| LIMITS.has(word))
}

/// Whether a clause says that the work does what was asked, that the tests show it, or that a safeguard is there.
pub(super) fn assures(words: &[&str]) -> bool {
    // A denial turns each of these into its opposite.
    if words.iter().any(|word| NONE.has(word) || DENIES.has(word)) {
        return false;
    }
    asks(words)
        || !limited(words)
            && (is_right(words) || serves(words) || guards(words) || as_asked(words) || rearranges(words))
}

/// Whether something is called right, or as it was asked for: `Quoting is right`, `it printed what was asked`.
fn is_right(words: &[&str]) -> bool {
    let told = matches!(words, [.., "is" | "are" | "looks" | "look", "right"]) && words.len() <= 5;
    let came =
        matches!(words, [.., "what", "was", "asked" | "expected" | "wanted" | "requested" | "intended"]);
    let part = words.iter().any(|word| PART.contains(word));
    (told || came && words.len() <= 6) && !part
}

/// Whether a clause only says what was asked: `The task asked for a queue`.
fn asks(words: &[&str]) -> bool {
    let subject = words.iter().take(3).position(|word| TASKS.has(word));
    subject.is_some_and(|at| words.get(at + 1).is_some_and(|verb| ASKED.has(verb)) && !limited(&words[..at]))
}

/// Whether a clause refers to what was asked: `as the plan says`, `as requested`.
pub(super) fn as_asked(words: &[&str]) -> bool {
    let from =
        words.iter().position(|word| matches!(*word, "as" | "wie" | "como" | "comme" | "exactly" | "just"));
    from.is_some_and(|at| {
        let tail = &words[at + 1..];
        (1..=5).contains(&tail.len())
            && tail.iter().any(|word| {
                ANCHORS.has(word)
                    || matches!(*word, "intended" | "expected" | "specified" | "documented" | "required")
            })
    })
}

/// Whether a verb speaks for the work, tied to an anchor or to what was just named.
///
/// Without the tie it is a statement about the code, which may be a fault: "it matches any password".
fn serves(words: &[&str]) -> bool {
    let Some(at) = words.iter().position(|word| SERVES.has(word)) else { return false };
    let pronoun = words.last().is_some_and(|last| {
        matches!(
            *last,
            "it" | "this" | "that" | "so" | "both" | "them" | "these" | "those" | "all" | "exactly"
        )
    });
    // The anchor is what the verb is about; in front of it stand the tests that do something, or what is done.
    let owns = words[at].starts_with("ha");
    let tests = |word: &&str| {
        matches!(*word, "test" | "tests" | "suite" | "pruebas") || word.starts_with("testsuite")
    };
    let about = words[at + 1..].iter().any(|word| ANCHORS.has(word));
    let near =
        |word: &&str| tests(word) || matches!(*word, "all" | "both" | "now" | "also" | "fully" | "each");
    let subject = words[..at].iter().any(tests) && words[..at].last().is_some_and(near);
    let likened =
        words[at].starts_with("match") || words[at].starts_with("agree") || words[at].starts_with("reflect");
    let about = about
        || likened
            && words[..at].iter().any(|word| ANCHORS.has(word))
            && words[at + 1..]
                .iter()
                .any(|word| matches!(*word, "code" | "implementation" | "behaviour" | "behavior"));
    let passive = at > 0
        && matches!(words[at - 1], "is" | "are" | "was" | "were" | "been" | "all")
        && words[..at].iter().any(|word| ANCHORS.has(word));
    // Without a verb of its own: `all criteria met`.
    let told = at + 1 == words.len()
        && at > 0
        && ANCHORS.has(words[at - 1])
        && matches!(words[at], "met" | "covered" | "satisfied" | "fulfilled" | "implemented" | "addressed");
    let tied = !owns && (about || subject || passive || told);
    at > 0 && at <= 6 && (tied || pronoun && at + 3 >= words.len()) && !limited(words)
}

/// Whether a clause names a safeguard: `Both handlers validate their input`, `all queries are parameterized`.
pub(super) fn guards(words: &[&str]) -> bool {
    let noun = |word: &str| ["tion", "er", "or", "ing"].iter().any(|end| word.ends_with(end));
    let Some(at) = words.iter().position(|word| GUARDS.has(word) && !noun(word)) else { return false };
    // A file that is checked in is not guarded by that.
    if words[at] == "checked" && words.get(at + 1) == Some(&"in") {
        return false;
    }
    let passive = words[at].ends_with("ed") || matches!(words[at], "caught");
    let told = match passive {
        true => {
            words[..at].iter().any(|word| matches!(*word, "is" | "are" | "was" | "were" | "gets" | "get"))
        }
        false => {
            words.get(at + 1).is_some_and(|next| !BEFORE_STATE.contains(next))
                && !matches!(words[at], "check" | "guard" | "catch" | "handle" if at == 1)
        }
    };
    // Keeping something away is a safeguard only where that something is bad.
    let away = ["reject", "prevent", "avoid"].iter().any(|stem| words[at].starts_with(stem));
    let after = &words[at + 1..];
    let bad =
        |word: &&str| EVENTS.has(word) || BAD.has(word) || word.starts_with("un") || word.starts_with("mal");
    let meant = !away || after.iter().take(4).any(bad);
    let narrow = narrowed(after) || passive && narrowed_guard(after);
    at > 0 && at <= 6 && told && meant && !limited(words) && !narrow
}

/// Whether a safeguard is limited: `The check is done on the client`. Where it stands may be the fault.
fn narrowed_guard(after: &[&str]) -> bool {
    after.iter().any(|word| matches!(*word, "if" | "when" | "where" | "while" | "for" | "by" | "through"))
}

/// Whether a clause says what the tests cover, so that the next clauses may go on with it.
pub(super) fn lists_tests(words: &[&str]) -> bool {
    words.iter().take(3).any(|word| matches!(*word, "tests" | "test" | "suite" | "pruebas")) && serves(words)
}

/// Whether an unknown clause may be vouched for by another clause of its sentence that says `as asked`.
pub(super) fn may_be_as_asked(words: &[&str]) -> bool {
    !limited(words)
        && !words.iter().any(|word| NONE.has(word) || DENIES.has(word) || word.contains(super::PLACE))
}

/// Whether a clause is about moved names, not about behaviour: `renames Session to Connection`.
fn rearranges(words: &[&str]) -> bool {
    const SUBJECTS: &[&str] =
        &["this", "the", "change", "patch", "it", "pr", "commit", "diff", "and", "overview"];
    let verb = words.iter().position(|word| !SUBJECTS.contains(word));
    const PARTS: &[&str] = &[
        "module",
        "function",
        "helper",
        "file",
        "class",
        "crate",
        "package",
        "trait",
        "method",
        "own",
        "component",
    ];
    verb.is_some_and(|at| match words[at] {
        "renames" | "renamed" => words[at..].iter().any(|word| matches!(*word, "to" | "everywhere")),
        "extracts" | "extracted" => words[at..].iter().any(|word| PARTS.contains(word)),
        verb => verb.starts_with("reformat") || verb.starts_with("refactor"),
    })
}

/// Whether a clause is praise and small words only.
pub(super) fn praises(words: &[&str]) -> bool {
    words.len() <= 7
        && words.iter().all(|word| PRAISE.has(word) || super::GOOD.has(word) || super::COURTESY.has(word))
}

/// Whether a word of a fault is what a safeguard is about: `rejects malformed headers`, `errors are handled`.
pub(super) fn is_guarded(words: &[&str], at: usize) -> bool {
    // The issue that was asked about: `the requirement of the issue`.
    let of_task = words[at] == "issue" && at > 1 && words[at - 1] == "the" && words[at - 2] != "is";
    let of_task = of_task && words.iter().any(|word| word.starts_with("require"))
        || words[at] == "issue"
            && words.get(at + 1).is_some_and(|next| ASKED.has(next) && !next.starts_with('i'));
    if GUARDS.has(words[at]) && at > 0 || of_task {
        return true;
    }
    // Spanish for "everything".
    if words[at] == "todo" {
        return words.get(at + 1).is_some_and(|next| matches!(*next, "el" | "lo" | "o" | "este" | "esto"));
    }
    if !EVENTS.has(words[at]) || limited(words) {
        return false;
    }
    let governed =
        words[..at].iter().rposition(|word| GUARDS.has(word)).is_some_and(|verb| verb > 0 && at - verb <= 3);
    let passive = words.get(at + 1).is_some_and(|word| matches!(*word, "is" | "are" | "get" | "gets"))
        && words.iter().skip(at + 2).take(2).any(|word| GUARDS.has(word));
    governed || passive
}

/// Whether a negation leads and denies a fault: `Nothing blocks this`, `I see no deadlocks`.
///
/// A second negation, as in Spanish `no caduca nunca`, is a statement of its own.
pub(super) fn denies_faults(words: &[&str], at: usize) -> bool {
    #[rustfmt::skip]
    const LEADS: &[&str] = &[
        "i", "we", "see", "saw", "found", "find", "there", "is", "are", "was", "were", "have", "has", "also", "and",
        "with", "it", "builds", "runs", "compiles", "passes", "works", "all", "tests", "test", "suite", "the",
    ];
    #[rustfmt::skip]
    const NO_FAULTS: &[&str] = &[
        "nunca", "jamás", "jamais", "nie", "niemals", "nicht", "ohne", "sin", "sans", "pas", "mai", "senza", "noch",
        "nur", "sonst", "still", "until", "needs", "need", "nobody", "fix", "stop", "almost", "hardly", "barely", "partly",
        "forever", "silently", "trust", "trusted", "fall", "wird", "werden", "kann", "muss", "mas", "mal",
    ];
    let led = words[..at].iter().all(|word| LEADS.contains(word));
    let odd = words.iter().any(|word| NO_FAULTS.contains(word) || word.contains(super::PLACE));
    led && !odd && words[at + 1..].iter().take(6).any(|word| BAD.has(word))
}

/// Whether a clause reports that something good is missing: `Nothing prevents a race`, `no test covers it`, `no error
/// is reported`.
///
/// It has the same form as a denial of faults, so it is asked first.
pub(super) fn misses_something(words: &[&str]) -> bool {
    let Some(at) = words.iter().position(|word| NONE.has(word) && *word != "any" && *word != "free") else {
        return false;
    };
    let after = &words[at + 1..];
    let first_bad = after.iter().position(|word| BAD.has(word)).unwrap_or(after.len());
    let safeguard = |word: &&str| {
        GUARDS.has(word) && !BAD.has(word)
            || SERVES.has(word) && !["do", "does", "test", "tests", "met"].contains(word)
            || ["stop*", "limit*", "clos*", "releas*", "free*"]
                .iter()
                .any(|stem| word.starts_with(&stem[..stem.len() - 1]))
                && words[at] == "nothing"
    };
    if after.iter().take(first_bad).take(6).any(safeguard) {
        return true;
    }
    // Something that a program should say is not said.
    let told = [
        "report", "log", "show", "rais", "return", "throw", "print", "surfac", "propagat", "emit", "sent",
        "display",
    ];
    let present =
        after.iter().position(|word| matches!(*word, "is" | "are" | "gets" | "get" | "ever" | "reaches"));
    present.is_some_and(|is| {
        after[is..].iter().any(|word| told.iter().any(|stem| word.starts_with(stem)) || *word == "reaches")
    })
}
