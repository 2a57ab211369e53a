//! Decides whether a sentence of an approving answer is plainly harmless.
//!
//! The law: a sentence that is not recognized as a report of what was read and run, as praise, as the absence of faults
//! or as courtesy may be a fault, in whatever language, and is in doubt. Doubt costs a question; a fault that passes
//! for harmless costs an approval.
//!
//! So words are added here only to accept more honest sentences, and every new one has to be tried against the
//! sentences of liars in the tests. A list of faults can never be complete; the list of harmless forms is the one that
//! decides.

mod lexicon;
mod partial;
mod script;
mod sight;
mod vouch;

use super::place;
use lexicon::{ASKS, BAD, COURTESY, DENIES, DONE, GOOD, NONE, SOUGHT, THINGS_READ, TOPICS, TURNS};
use std::borrow::Cow;

/// How much a sentence may leave out and still be understood as harmless.
///
/// The place of a sentence decides: "the parser, both callers" is a list behind CHECKED, but may be anything in free
/// prose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Prose: each clause must speak for itself.
    Prose,
    /// What was checked: lists of things, and what they are, count as harmless.
    Checked,
    /// An item of a list of what was checked: things, what was done to them, and how it went.
    List,
    /// What follows a verdict on its line: a few words without a verb count as harmless.
    Tail,
}

/// The first part of a text that is not plainly harmless; `None` if all of it is.
pub(crate) fn doubtful(text: &str, manner: Manner) -> Option<&str> {
    // Only the first sentence of what was checked is a list; one that says what is there continues it.
    let (asked, mut manner) = (manner, manner);
    for sentence in sentences(text) {
        let here = if asked == Manner::Checked && sight::opens(sentence) { asked } else { manner };
        if !is_harmless(sentence, here) {
            return Some(sentence.trim());
        }
        if sentence.chars().any(char::is_alphanumeric) && sentence.ends_with(['.', '!', '?']) {
            manner = Manner::Prose;
        }
    }
    None
}

/// Whether a sentence of what was checked says what is there, at a place or in a file, without naming a fault.
pub(crate) fn says_what_is_there(sentence: &str) -> bool {
    sight::any(sentence) && is_harmless(sentence, Manner::Checked)
}

/// The first sentence of a text that speaks against the work, for answers without a verdict.
///
/// The opposite question to `doubtful`: there silence is suspicious, here only plain words against the work count, as
/// nobody has approved anything.
pub(crate) fn objection(text: &str) -> Option<&str> {
    sentences(text).into_iter().map(str::trim).find(|sentence| objects(sentence))
}

/// Whether a sentence plainly speaks against the work.
fn objects(sentence: &str) -> bool {
    #[rustfmt::skip]
    const AGAINST: &[&str] = &[
        "reject*", "fail", "fails", "failed", "nack", "veto*", "disapprov*", "unacceptable", "blocker*", "blocking", "ablehn*",
        "abgelehnt", "rechaz*", "refus*", "rejet*",
    ];
    if script::is_foreign(sentence) {
        return script::objects(sentence);
    }
    let level = level(sentence);
    clauses(&level).any(|clause| {
        let words = words_of(clause);
        let needs_work = words.windows(2).any(|pair| matches!(pair, ["needs" | "need", "work" | "changes"]));
        // What the reviewer itself could not do is not held against the work.
        let own =
            matches!(words.as_slice(), ["i" | "we", verb, ..] if verb.starts_with("c") || *verb == "did");
        needs_work || is_faulty(&words) && !own || words.iter().any(|word| has(AGAINST, word))
    })
}

/// Whether a text shows a sign of alarm.
pub(crate) fn is_alarm(text: &str) -> bool {
    partial::alarms(text)
}

/// Whether a text is in a script that the tables of words do not cover.
pub(crate) fn is_foreign(text: &str) -> bool {
    script::is_foreign(text)
}

/// Cuts a text into sentences. A stop inside code, a name or a number does not end one.
pub(crate) fn sentences(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut code = false;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if c == '`' {
            code = !code;
        }
        let next = chars.peek().map(|(_, c)| *c);
        let stops = match c {
            '。' | '！' | '？' => true,
            '.' | '!' | '?' => {
                next.is_none_or(|c| c.is_whitespace() || matches!(c, '*' | '_' | '"' | ')' | '<')) && !code
            }
            '\n' => true,
            _ => false,
        };
        if stops && !is_abbreviation(&text[start..at]) {
            found.push(&text[start..at + c.len_utf8()]);
            start = at + c.len_utf8();
            // Code that is never closed must not join the rest of the text into one sentence.
            code = false;
        }
    }
    found.push(&text[start..]);
    found.retain(|sentence| !sentence.trim().is_empty());
    found
}

fn is_abbreviation(before: &str) -> bool {
    // "e.g. the parser" is one sentence; cut after "e.g." its rest would lack a verb.
    let last = before.rsplit(|c: char| c.is_whitespace() || c == '(').next().unwrap_or("");
    matches!(
        last.to_lowercase().as_str(),
        "e.g" | "i.e" | "etc" | "vs" | "cf" | "p" | "p.s" | "z.b" | "approx" | "no"
    )
}

/// Judges one sentence, clause by clause.
///
/// A clause can be vouched for by the clauses before it (a report goes on as a list, a denial goes on with "or"), so a
/// few flags are carried from clause to clause. One doubtful clause dooms the sentence.
fn is_harmless(sentence: &str, manner: Manner) -> bool {
    // Both ways were tried, so nothing is lacking.
    let levelled = level(sentence).replace("with and without ", "with ").replace("with or without ", "with ");
    if partial::alarms(sentence) || manner == Manner::Prose && partial::asks(sentence, &levelled) {
        return false;
    }
    // `src/a.rs:4 (!)`, `src/a.rs?`: somebody points at a place.
    if levelled.contains([PLACE, CODE]) && (sentence.trim_end().ends_with('?') || sentence.contains("(!")) {
        return false;
    }
    // `unchanged since the last round`: nobody knows here whether what was said before is fixed.
    if ["last round", "last time", "last review"].iter().any(|words| levelled.contains(words)) {
        return false;
    }
    if !levelled.chars().any(|c| c.is_alphanumeric() || c == PLACE) {
        return true;
    }
    if script::is_foreign(&levelled) {
        return script::is_harmless(&levelled, manner);
    }
    // Behind a verdict and in a list, the report is understood from the context.
    let mut before = matches!(manner, Manner::Tail | Manner::List);
    let mut guarded = false;
    let mut absent = false;
    let mut sought = false;
    // The clause before said what is there, and this one may continue it: `a.txt is new and holds one word`.
    let mut saw = false;
    let parts: Vec<&str> = levelled.split(':').collect();
    // Whether something was stated before: behind a statement, `compared with UTC` continues it and is not a report.
    let mut told = false;
    let evident = clauses(&levelled).any(|clause| {
        let words = words_of(clause);
        let done = words.len() > 1 && reports(&words) && !told;
        told |= words.iter().any(|word| matches!(*word, "is" | "are" | "was" | "were" | "has" | "have"));
        done || words.iter().any(|word| ASKED_FOR.contains(word))
    });
    let as_asked = clauses(&levelled).any(|clause| vouch::as_asked(&words_of(clause)));
    for (at, part) in parts.iter().enumerate() {
        // `src/a.rs:4: the loop` says something about that place.
        let of_place = at > 0 && parts[at - 1].contains(PLACE);
        before &= !of_place;
        // `the parser: I read …` names its topic first.
        if !matches!(manner, Manner::Checked | Manner::List)
            && parts.get(at + 1).is_some_and(|next| is_topic_of(part, next) || is_aspect(part))
        {
            continue;
        }
        for clause in clauses(part) {
            let words: Vec<&str> = words_of(clause);
            if words.is_empty() {
                continue;
            }
            // `I saw that the loop spins` states something; only things continue a list.
            let stated = part[..offset(part, clause)].ends_with(" that ");
            let manner = if of_place { Manner::Prose } else { manner };
            let goes_on = saw && manner == Manner::Checked && sight::goes_on(&words, stated);
            saw = sight::sees(&words) || goes_on;
            match judge(&words, before && !stated, manner) {
                Judged::Harmless(reports) => before = reports || before,
                Judged::Unknown if as_asked && vouch::may_be_as_asked(&words) => {}
                // A relative clause, `the line that was named`, or the outcome of something that was done.
                Judged::Unknown
                    if manner == Manner::Checked && (evident || stated) && !partial::tells(&words) => {}
                Judged::Unknown if goes_on => {}
                // More of what is handled: `handles missing files and empty files`.
                Judged::Unknown if guarded && words.len() <= 2 && is_list_item(&words) => {}
                // More faults that are denied: `no critical, high or medium findings`.
                Judged::Doubtful | Judged::Unknown if absent && is_more_of_none(&words) => continue,
                // More of what was looked for: `checked for bugs, security problems and leaks`.
                Judged::Doubtful | Judged::Unknown if sought && is_more_sought(&words) => continue,
                Judged::Doubtful | Judged::Unknown => return false,
            }
            guarded = vouch::guards(&words);
            absent = absence(&words);
            let sought_here = |pair: &[&str]| pair[0] == "for" && BAD.has(pair[1]);
            sought = reports(&words) && words.windows(2).take(4).any(sought_here);
        }
    }
    true
}

/// The offset of a part of a text within it.
fn offset(text: &str, part: &str) -> usize {
    (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize).min(text.len())
}

/// Whether these are a few words without a verb in front of a report of what was done.
fn is_topic_of(part: &str, next: &str) -> bool {
    let words = words_of(part);
    let told = clauses(next).next().is_some_and(|clause| reports(&words_of(clause)));
    told && words.len() <= 4 && !is_faulty(&words) && is_list_item(&words) && !part.contains(PLACE)
}

/// Whether this names the aspect that the next words judge: `Correctness: …`, `Security: …`.
fn is_aspect(part: &str) -> bool {
    #[rustfmt::skip]
    const ASPECTS: &[&str] = &[
        "correctness", "security", "performance", "tests", "testing", "style", "naming", "documentation", "docs",
        "scope", "design", "maintainability", "readability", "concurrency", "build", "api", "architecture",
        "quality", "code quality", "implementation", "intent", "edge cases", "error handling", "test coverage", "types", "logic", "behaviour", "behavior",
    ];
    ASPECTS.contains(&words_of(part).join(" ").as_str())
}

/// Whether a clause continues a denial: severities and names of faults, joined by `or`.
fn is_more_of_none(words: &[&str]) -> bool {
    #[rustfmt::skip]
    const MORE: &[&str] = &[
        "critical", "high", "medium", "low", "major", "minor", "severe", "blocking", "severity", "serious", "or", "nor",
        "issues", "findings", "bugs", "problems", "blockers", "warnings", "concerns", "defects", "regressions",
        "races", "leaks", "errors", "vulnerabilities", "priority", "security", "correctness", "performance", "style",
    ];
    let joined = words.iter().any(|word| matches!(*word, "or" | "nor"));
    let all = words.iter().all(|word| MORE.contains(word));
    // "No bugs, leaks" may be a denial and then a fault; a plural needs its "or".
    all && (joined || words.len() == 1 && words.iter().all(|word| !word.ends_with('s')))
}

/// Whether a clause lists more of what was looked for: `security problems`, `leaks`.
fn is_more_sought(words: &[&str]) -> bool {
    #[rustfmt::skip]
    const KINDS: &[&str] = &[
        "security", "memory", "logic", "style", "type", "concurrency", "performance", "possible", "potential", "race",
        "or",
    ];
    #[rustfmt::skip]
    const SOUGHT: &[&str] = &[
        "problems", "bugs", "issues", "leaks", "races", "errors", "vulnerabilities", "regressions", "concerns",
        "conditions", "deadlocks", "crashes", "mistakes", "typos",
    ];
    let last = words.last().is_some_and(|word| SOUGHT.contains(word));
    last && words[..words.len() - 1].iter().all(|word| KINDS.contains(word) || SOUGHT.contains(word))
}

/// Whether a name such as `has_bugs` names a fault.
pub(crate) fn names_a_fault(words: &str) -> bool {
    words.split_whitespace().any(|word| BAD.has(word))
}

/// Stands for code, a path or a link in a levelled sentence.
const CODE: char = '\u{1}';
/// Stands for a place with a line. Kept apart from `CODE`: words beside a line may name what is wrong there.
const PLACE: char = '\u{2}';

/// A sentence in lower case without markup; code, paths and links each become one mark.
fn level(sentence: &str) -> String {
    let mut out = String::with_capacity(sentence.len());
    let untagged = without_tags(sentence);
    let mut rest = untagged.as_ref();
    while let Some(open) = rest.find('`') {
        let Some(length) = rest[open + 1..].find('`') else { break };
        let inner = &rest[open + 1..open + 1 + length];
        push_plain(&mut out, &rest[..open]);
        // The lines may stand behind the code: `src/a.rs` (line 4).
        let place =
            place::first(&rest[open + 1..]).filter(|found| found.start < length && found.lines.is_some());
        out.push(' ');
        out.push(if place.is_some() || place::first(inner).is_some_and(|found| found.lines.is_some()) {
            PLACE
        } else {
            CODE
        });
        out.push(' ');
        let end = place.map_or(0, |found| open + 1 + found.end).max(open + 1 + length + 1);
        rest = rest.get(end..).unwrap_or("");
    }
    push_plain(&mut out, rest);
    out
}

/// The text with every tag replaced by the end of a clause, as `<b>` and `</b>` are.
fn without_tags(text: &str) -> Cow<'_, str> {
    if !text.contains('<') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('<') {
        let tail = &rest[open + 1..];
        let name = tail.trim_start_matches('/').bytes().take_while(u8::is_ascii_alphanumeric).count();
        let end = tail.find('>').filter(|end| name > 0 && *end < 400 && !tail[..*end].contains('<'));
        out.push_str(&rest[..open]);
        match end {
            Some(end) => {
                out.push_str(" ; ");
                // A name or an address in an attribute says nothing; a sentence does.
                let told = |value: &&str| value.contains(' ') || !value.is_ascii();
                for value in tail[..end].split(['"', '\'']).skip(1).step_by(2).filter(told) {
                    out.push_str(value);
                    out.push_str(" ; ");
                }
                rest = &tail[end + 1..];
            }
            None => {
                out.push('<');
                rest = tail;
            }
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Adds text outside of code, with every place in it as a mark.
fn push_plain(out: &mut String, text: &str) {
    let mut from = 0;
    for found in place::find(text) {
        push_words(out, &text[from..found.start]);
        out.push(' ');
        out.push(if found.lines.is_some() { PLACE } else { CODE });
        out.push(' ');
        from = found.end;
    }
    push_words(out, &text[from..]);
}

/// Adds words in lower case. A flag, a path or a link becomes one mark, so that its parts do not count as words.
fn push_words(out: &mut String, text: &str) {
    for word in text.split_inclusive(char::is_whitespace) {
        let trimmed =
            word.trim_matches(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | ':' | '(' | ')' | '.'));
        let flag = trimmed.len() > 1
            && trimmed.starts_with('-')
            && trimmed.is_ascii()
            && !trimmed.starts_with("---");
        let pathlike = flag
            || trimmed.is_ascii()
                && (trimmed.contains("://")
                    || trimmed.len() > 2 && trimmed.contains('/') && is_path_word(trimmed));
        if pathlike {
            let at = word.find(trimmed).unwrap_or(0);
            out.push_str(&word[..at]);
            out.push(CODE);
            out.push_str(&word[at + trimmed.len()..]);
        } else {
            out.extend(
                word.chars()
                    .filter(|c| !matches!(c, '*' | '_' | '#' | '~'))
                    .flat_map(char::to_lowercase)
                    .map(|c| if c == '’' { '\'' } else { c }),
            );
        }
    }
}

/// Whether a word is a path: `handlers/`, `./hooks/...` and `pkg/tree/*.go` are, `and/or` is not.
fn is_path_word(word: &str) -> bool {
    let parts: Vec<&str> = word.split('/').collect();
    let marked = word.ends_with('/')
        || word.starts_with(['.', '/', '@'])
        || parts.len() > 2
        || word.contains(['*', '.', '_']);
    let numbers = parts.iter().all(|part| part.chars().all(|c| c.is_ascii_digit()));
    marked && !numbers
}

/// Splits a text into clauses, at stops, dashes and brackets, and at the words that join statements.
fn clauses(text: &str) -> impl Iterator<Item = &str> {
    let cut = |c: char| {
        matches!(
            c,
            ',' | ';'
                | ':'
                | '.'
                | '!'
                | '?'
                | '—'
                | '–'
                | '('
                | ')'
                | '['
                | ']'
                | '|'
                | '…'
                | '"'
                | '“'
                | '”'
        )
    };
    text.split(cut).flat_map(|part| part.split(" - ")).flat_map(|part| {
        [
            " and ",
            " so ",
            " which ",
            " because ",
            " while ",
            " that ",
            " then ",
            " since ",
            " where ",
            " und ",
            " y ",
            " et ",
        ]
        .iter()
        .fold(vec![part], |parts, joint| parts.into_iter().flat_map(|part| part.split(joint)).collect())
    })
}

fn words_of(clause: &str) -> Vec<&str> {
    clause
        .split(|c: char| {
            c.is_whitespace()
                || matches!(c, '/' | '=' | '+' | '<' | '>' | '✅' | '👍' | '🎉' | '🟢' | '✔' | '🤖')
        })
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric() && c != CODE && c != PLACE && c != '%'))
        .filter(|word| !word.is_empty())
        .collect()
}

/// The judgement of one clause.
enum Judged {
    /// Nothing can be wrong here. The flag says that the clause reports what was done.
    Harmless(bool),
    /// Nothing in it speaks for or against; the clauses around it decide.
    Unknown,
    /// It may name a fault.
    Doubtful,
}

/// Judges one clause; `before` says that an earlier clause of the sentence reports what was done.
///
/// Doubt comes before all praise: a clause that limits itself, names a fault or lacks something is doubtful whatever
/// else it says.
fn judge(words: &[&str], before: bool, manner: Manner) -> Judged {
    let bare = |word: &&str| {
        word.starts_with(|c: char| c.is_ascii_digit())
            || word.chars().all(|c| c == CODE || !c.is_alphabetic())
    };
    if words.iter().all(bare) {
        // In prose, a place alone points at something.
        let listed = matches!(manner, Manner::Checked | Manner::List) || manner == Manner::Prose && before;
        let points = words.iter().any(|word| word.contains(PLACE)) && !listed;
        return if points { Judged::Doubtful } else { Judged::Harmless(false) };
    }
    let courteous = |word: &&str| COURTESY.has(word) || !word.chars().any(char::is_alphabetic);
    if words.iter().all(courteous) && !partial::holds_back(words) {
        return Judged::Harmless(
            words.len() > 1 && reports(words) && !words.iter().any(|w| w.contains(PLACE)),
        );
    }
    // These sound like a limit or a wish but speak of the whole change, so they pass before limits are asked.
    if partial::bounds_the_change(words) || partial::would_land(words) {
        return Judged::Harmless(false);
    }
    let partly =
        manner != Manner::Tail && words.iter().any(|word| matches!(*word, "only" | "solely" | "merely"));
    if partly
        || partial::covers_a_part(words)
        || is_faulty(words)
        || vouch::misses_something(words)
        || names_an_open_finding(words)
    {
        return Judged::Doubtful;
    }
    let done = reports(words) || searched_in_vain(words);
    if done || absence(words) || announces(words) {
        return Judged::Harmless(done);
    }
    let places = words.iter().any(|word| word.contains(PLACE));
    let good = (0..words.len()).any(|at| GOOD.has(words[at]) && vouch::counts(words, at));
    let sure = (good || vouch::assures(words) || vouch::praises(words)) && !places;
    // A good word that does not count is not the name of a thing either.
    let vain = !good && words.iter().any(|word| GOOD.has(word));
    // Beside a place, a few words may name what is wrong there.
    let named = !places || words.iter().all(|word| partial::is_plain_name(word));
    let thing = !vain && is_list_item(words) && named;
    match manner {
        Manner::Checked
            if good || has_tests(words) || sure || thing || observes(words) || sight::sees(words) =>
        {
            Judged::Harmless(true)
        }
        Manner::List if good || has_tests(words) || sure => Judged::Harmless(true),
        // A clause about what the tests cover may be continued as a list.
        Manner::Prose | Manner::Tail if sure => Judged::Harmless(vouch::lists_tests(words)),
        Manner::List if thing && !places => Judged::Harmless(true),
        Manner::Prose if before && !places && thing => Judged::Harmless(true),
        Manner::Tail if words.len() <= 3 && !places && thing => Judged::Harmless(true),
        _ if places => Judged::Doubtful,
        _ => Judged::Unknown,
    }
}

/// Words for what was asked for: behind CHECKED, a statement about it says how it is met.
const ASKED_FOR: &[&str] =
    &["task", "tasks", "must-haves", "criteria", "plan", "spec", "notes", "refutation", "tool", "script"];

/// Whether a clause names a finding by its id without a word that it is gone: `F-3 is unchanged`.
fn names_an_open_finding(words: &[&str]) -> bool {
    let id = |word: &&str| {
        let digits = word.strip_prefix('f').map(|rest| rest.strip_prefix('-').unwrap_or(rest));
        digits.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
    };
    const GONE: &[&str] = &["fixed", "resolved", "gone", "closed", "addressed", "verified", "mended"];
    words.iter().any(id) && !words.iter().any(|word| GONE.contains(word)) && !reports(words)
}

/// Whether a clause gives what came out word for word: `it prints 1`, `the command answers "ok"`.
///
/// Anything but a number or a quotation may be a fault in plain words (`it prints the password`), and is not taken for
/// an observation.
fn observes(words: &[&str]) -> bool {
    const CAME_OUT: &[&str] = &[
        "prints", "printed", "print", "outputs", "returns", "returned", "answers", "answered", "says",
        "yields",
    ];
    let Some(at) = words.iter().position(|word| CAME_OUT.contains(word)) else { return false };
    let literal = |word: &&str| {
        let number = word.bytes().all(|byte| byte.is_ascii_digit() || b".,%-".contains(&byte));
        number || word.chars().all(|c| c == CODE)
    };
    (1..=3).contains(&at) && at + 1 < words.len() && words[at + 1..].iter().all(literal)
}

/// Whether a clause says that something is tested: `every branch has a test`.
fn has_tests(words: &[&str]) -> bool {
    words.iter().any(|word| matches!(*word, "has" | "have"))
        && words.last().is_some_and(|word| matches!(*word, "test" | "tests"))
}

/// Whether a clause announces the review: `here is my review of the parser`, `let me go through the files`.
fn announces(words: &[&str]) -> bool {
    const REVIEW: &[&str] =
        &["review", "assessment", "report", "summary", "answer", "feedback", "analysis", "opinion"];
    let placed = words.iter().any(|word| word.contains(PLACE));
    let opens = matches!(
        words,
        ["here", "is" | "are", ..] | ["below" | "this", "is", ..] | ["my" | "review" | "summary", ..]
    );
    let names = words.iter().take(6).any(|word| REVIEW.contains(word));
    let walks = matches!(words, ["working" | "going" | "walking", "through", ..]) && words.len() <= 6;
    !placed
        && words.len() <= 12
        && (opens && names || walks || matches!(words, ["let", "me", ..] | ["let's", ..]))
}

/// Whether a table has a word; an entry with `*` matches every word that begins so.
fn has(table: &[&str], word: &str) -> bool {
    table.iter().any(|entry| match entry.strip_suffix('*') {
        Some(stem) => word.starts_with(stem),
        None => *entry == word,
    })
}

/// Whether a search is said to have found nothing: `grep for the old name finds nothing`.
fn searched_in_vain(words: &[&str]) -> bool {
    matches!(words, ["grep" | "rg" | "ripgrep" | "ag", .., "finds" | "found" | "shows", "nothing"])
}

/// Whether a clause opens with what was done: `I read …`, `also ran …`, `compiled with …`.
///
/// The verb has to come within the first words, after nothing but subjects and small words. Further on it may belong to
/// a statement about the code.
fn reports(words: &[&str]) -> bool {
    #[rustfmt::skip]
    const SUBJECTS: &[&str] = &[
        "i", "we", "i've", "we've", "have", "has", "also", "then", "first", "next", "finally", "both",
        "again", "additionally", "then", "it", "all", "and", "manually", "locally", "carefully", "ich", "wir",
        "habe", "haben", "he", "hemos", "j'ai", "nous", "avons", "ho", "abbiamo", "everything", "was", "were",
        "been", "being", "now", "twice", "by", "hand", "the", "whole", "full", "tests", "test", "suite",
        "diff", "files",
    ];
    let mut skipped = 0;
    if tells_of_done_things(words) {
        return false;
    }
    for word in words.iter().take(6) {
        if DONE.has(word) {
            return true;
        }
        if !SUBJECTS.contains(word) && !word.chars().all(|c| !c.is_alphabetic()) {
            break;
        }
        skipped += 1;
    }
    // German and its kin put the verb last.
    let foreign =
        words.iter().any(|word| ["ich", "wir", "habe", "haben", "he", "hemos", "j'ai", "ho"].contains(word));
    (foreign || skipped == 0) && words.last().is_some_and(|word| !word.is_ascii() && DONE.has(word))
        || foreign && words.iter().any(|word| DONE.has(word))
}

/// Whether a clause speaks of things that something was done to, not of who did it: `migrated rows keep the old id`,
/// `loaded code runs as root`. It begins like a report and is a statement about the code.
fn tells_of_done_things(words: &[&str]) -> bool {
    const GO_ON: &[&str] = &[
        "of",
        "in",
        "for",
        "with",
        "to",
        "on",
        "by",
        "from",
        "against",
        "and",
        "or",
        "at",
        "per",
        "under",
        "over",
        "between",
        "as",
        "through",
        "into",
        "around",
        "after",
        "before",
        "line",
        "twice",
        "again",
        "when",
        "where",
        "how",
        "without",
        "using",
        "via",
        "including",
        "plus",
        "carefully",
        "locally",
        "manually",
        "too",
        "also",
        "end",
        "times",
        "once",
    ];
    let [first, second, third, ..] = words else { return false };
    let letters = |word: &str| word.chars().all(char::is_alphabetic);
    let plural = |word: &str| word.ends_with('s') && !word.ends_with("ss") && word.len() > 3 && letters(word);
    let opens = DONE.has(first) && letters(second) && !DONE.has(second);
    let many = plural(second) && words.len() > 3 && letters(third) && !GO_ON.contains(third);
    let noun = ![
        "the", "this", "its", "all", "both", "every", "each", "it", "that", "how", "his", "their", "los",
        "las", "les", "die", "alle", "le", "la",
    ]
    .contains(second);
    let one = noun
        && plural(third)
        && !THINGS_READ.has(third)
        && words.get(3).is_some_and(|next| !matches!(*next, "of" | "in" | "for" | "with" | "and"));
    opens && (many || one)
}

/// Whether a clause denies faults: `no issues found`, `nothing to report`, `keine Beanstandungen`.
fn absence(words: &[&str]) -> bool {
    let none = words.iter().position(|word| NONE.has(word) || *word == "no");
    let denies = words.iter().position(|word| DENIES.has(word));
    if denies.is_some_and(|at| denies_a_fault(&words[at..])) {
        return true;
    }
    let Some(at) = none else { return false };
    // `without a lock the counter is wrong` denies the lock.
    if partial::WITHOUT.contains(&words[at]) && partial::without(words, at) == at + 1 {
        return false;
    }
    let denied = words.iter().any(|word| DENIES.has(word) || TURNS.has(word));
    const THINGS: &[&str] = &[
        "issue*",
        "problem*",
        "blocker*",
        "finding*",
        "concern*",
        "objection*",
        "bug*",
        "error*",
        "warning*",
        "defect*",
        "fault*",
        "failure*",
        "failed",
        "regress*",
        "remark*",
        "comment*",
        "complain*",
        "nit*",
        "risk*",
        "vulnerab*",
        "leak*",
        "critical*",
        "security",
        "question*",
        "change",
        "beanstandung*",
        "fehler*",
        "problem*",
        "einwände*",
        "bedenken",
        "mängel*",
        "auffällig*",
        "problema*",
        "fallo*",
        "errore*",
        "erro*",
        "erreur*",
        "problème*",
        "observaci*",
        "objeci*",
        "remarque*",
        "breaks",
        "broken",
        "unsafe",
        "wrong",
        "missing",
        "race*",
        "rilievi*",
        "incidenc*",
        "anmerkung*",
        "défaut*",
    ];
    // `no tests left` lacks something; `nothing left to do` does not.
    const REST: &[&str] = &[
        "remain*",
        "left",
        "report",
        "add",
        "change",
        "flag",
        "fix",
        "stands",
        "found",
        "new",
        "else",
        "open",
        "outstanding",
    ];
    let whole = !matches!(words[at], "no" | "without" | "zero" | "0" | "any");
    let named = words[at..].iter().any(|word| has(THINGS, word) || whole && has(REST, word));
    !denied && (named || vouch::denies_faults(words, at))
}

/// Whether a clause contains a word of a fault that nothing takes back, asks for something, or turns.
///
/// Denials are followed word by word, because each takes back only what it governs: "no errors, the counter leaks"
/// still has a leak.
fn is_faulty(words: &[&str]) -> bool {
    let joined = || words.join(" ");
    // `checked if` and `checked once` say what was done; `fine if` and `fine once` set a condition.
    let turns = |word: &&str| TURNS.has(word) || matches!(*word, "if" | "once") && !reports(words);
    if words.iter().any(turns) {
        return true;
    }
    let asks = |word: &str| ASKS.has(word);
    if words.iter().any(|word| asks(word)) || words.windows(2).any(|pair| asks(&pair.join(" "))) {
        return true;
    }
    if falls_short(words)
        || partial::voids(words)
        || partial::holds_back(words)
        || joined().contains("plain text")
        || joined().contains("no longer")
        || joined().contains("ran out")
    {
        return true;
    }
    let mut none = false;
    // The position up to which `without` denies.
    let mut excused = 0;
    for (at, word) in words.iter().enumerate() {
        if partial::WITHOUT.contains(word) {
            if at < excused {
                continue;
            }
            excused = partial::without(words, at);
            continue;
        }
        if NONE.has(word) {
            none = true;
            continue;
        }
        if DENIES.has(word) {
            return !denies_a_fault(&words[at..]);
        }
        if vouch::is_guarded(words, at) {
            continue;
        }
        if is_count_of_failures(words, at) || is_failed_exit(words, at) {
            return true;
        }
        if BAD.has(word) && !none && at >= excused && !is_topic(words, at) && !is_zero(words, at) {
            return true;
        }
    }
    false
}

/// Whether a denial is of faults: `did not find any problems`.
fn denies_a_fault(from: &[&str]) -> bool {
    const FIND: &[&str] =
        &["find", "found", "see", "notice", "spot", "discover", "encounter", "observe", "hit"];
    let found = from.iter().position(|word| FIND.contains(word));
    found.is_some_and(|at| from[at..].iter().any(|word| BAD.has(word) || ["any", "anything"].contains(word)))
}

/// Whether a word of a fault is only a topic, at the end of a report of what was done: `for errors`, `the error paths`.
fn is_topic(words: &[&str], at: usize) -> bool {
    let after = words.get(at + 1).is_some_and(|next| TOPICS.contains(next));
    let reported = reports(words);
    let sought = reported && words[..at].iter().any(|word| SOUGHT.contains(word));
    // `verified the fix for …`, `the code paths for missing …`.
    let fixed = reported && words[at] == "fix" && at > 0 && words[at - 1] == "the";
    let cases = at > 1
        && words[at - 1] == "for"
        && matches!(
            words[at - 2],
            "path" | "paths" | "case" | "cases" | "branch" | "branches" | "test" | "tests"
        );
    after && (reported || words.len() <= 5) || sought || fixed || cases
}

fn is_zero(words: &[&str], at: usize) -> bool {
    at > 0 && matches!(words[at - 1], "0" | "zero" | "no")
}

/// Whether a number of failures stands here: `3 failed`, `2 errors`.
fn is_count_of_failures(words: &[&str], at: usize) -> bool {
    let number = words[at].parse::<u32>().ok().filter(|number| *number > 0);
    const WORSE: &[&str] = &[
        "fail*", "error*", "red", "broken", "crash*", "warning*", "skipped", "fallo*", "fehl*", "échec*",
        "falha*",
    ];
    number.is_some() && words.get(at + 1).is_some_and(|next| has(WORSE, next))
}

/// Whether a run is said to have failed: `exits with 1`, `exit code 137`, `returned status 2`.
fn is_failed_exit(words: &[&str], at: usize) -> bool {
    let ends = words[at].starts_with("exit") || matches!(words[at], "rc" | "errorlevel" | "returncode");
    let status = matches!(words[at], "status" | "code")
        && at > 0
        && ["exit", "return", "ended", "finish", "terminat", "died"]
            .iter()
            .any(|end| words[at - 1].starts_with(end));
    let number = |word: &&&str| word.parse::<i64>().is_ok();
    (ends || status) && words[at + 1..].iter().take(4).find(number).is_some_and(|number| *number != "0")
}

/// Whether a share falls short: `3 of 11 files`.
fn falls_short(words: &[&str]) -> bool {
    let number = |word: &str| {
        const NAMES: [&str; 7] = ["zero", "one", "two", "three", "four", "five", "six"];
        let named = NAMES.iter().position(|name| *name == word).and_then(|at| u32::try_from(at).ok());
        word.parse::<u32>().ok().or(named)
    };
    let less = |a: Option<u32>, b: Option<u32>| matches!((a, b), (Some(a), Some(b)) if a < b);
    words.windows(3).any(|w| matches!(w[1], "of" | "von" | "de" | "sur") && less(number(w[0]), number(w[2])))
}

/// Whether a small word is only an object behind a preposition: `every line of it`.
fn is_object(words: &[&str], at: usize) -> bool {
    let joint = |word: &str| {
        matches!(word, "of" | "in" | "with" | "through" | "to" | "on" | "from" | "for" | "around")
    };
    matches!(words[at], "it" | "this" | "there") && at > 0 && joint(words[at - 1])
}

/// Words that the name of a thing does not contain.
#[rustfmt::skip]
const LIST_VERBS: &[&str] = &[
    "is", "are", "was", "were", "be", "been", "has", "have", "had", "does", "do", "did", "gets", "get", "goes",
    "becomes", "makes", "it", "they", "this", "there", "you", "he", "she", "users", "anyone", "everyone", "someone",
    "fell", "hung", "grew", "came", "took", "gave", "kept", "left", "dropped", "we", "got", "who", "why", "what",
    "see", "cf", "same", "exists", "exist", "approving", "stays", "stands", "keeps", "runs", "needs",
];

/// Words that continue a name.
#[rustfmt::skip]
const LIST_JOINTS: &[&str] = &[
    "of", "in", "for", "with", "to", "on", "by", "from", "against", "and", "or", "at", "per", "under", "over",
    "between", "as", "changed", "touched", "involved", "each", "through", "into", "around", "after", "line", "twice",
    "again",
];

/// Before these a word in `s` may as well be a verb: `lands on`, `runs as`, `fires twice`.
#[rustfmt::skip]
const VERBAL: &[&str] = &[
    "on", "as", "to", "at", "by", "from", "into", "through", "after", "twice", "again", "over",
];

/// Words that open a subject.
#[rustfmt::skip]
const DETERMINERS: &[&str] = &[
    "the", "a", "an", "this", "that", "its", "one", "my", "our",
];

/// Whether these are a thing that was read or run, too: a few words without a verb.
///
/// There is no dictionary of verbs here, so anything that could be one counts as one. A name with a plural in the wrong
/// place is then asked about, which is the cheaper error.
fn is_list_item(words: &[&str]) -> bool {
    let finite = |at: usize| {
        let word = words[at];
        let next = words.get(at + 1);
        // `the parser accepts empty names` has a verb; `the error paths of the loader` has none.
        let verb_like = !matches!(word, "tres" | "seis" | "trois" | "deux")
            && at > 0
            && word.ends_with('s')
            && !word.ends_with("ss")
            && word.len() > 3
            && !word.contains('\'');
        let object =
            next.is_some_and(|next| !LIST_JOINTS.contains(next) && next.chars().any(char::is_alphabetic));
        // `the backup lands on …`, `the offset wraps`; not `the error paths of …`, `the unit tests`.
        let subject = at > 1 && words[..at - 1].iter().any(|word| DETERMINERS.contains(word));
        let verbal = next.is_none_or(|next| VERBAL.contains(next)) && !THINGS_READ.has(word);
        verb_like && (object || subject && verbal)
    };
    let opens = words.first().is_some_and(|first| {
        matches!(
            *first,
            "as" | "ask"
                | "left"
                | "against"
                | "rename"
                | "no"
                | "zero"
                | "without"
                | "free"
                | "nothing"
                | "none"
        )
    });
    // `reads past the end` continues what was named before.
    let tells = words
        .first()
        .is_some_and(|first| first.ends_with('s') && first.len() > 3 && !THINGS_READ.has(first))
        && words.get(1).is_some_and(|next| {
            !matches!(*next, "of" | "in" | "for" | "and" | "with") && next.chars().any(char::is_alphabetic)
        });
    words.len() <= 8
        && !tells
        && !(0..words.len()).any(|at| LIST_VERBS.contains(&words[at]) && !is_object(words, at))
        && !(0..words.len()).any(finite)
        && !opens
        && !is_foreign_sentence(words)
}

/// Whether words may be a sentence in another language: four with a mark of one, or three that nobody knows.
fn is_foreign_sentence(words: &[&str]) -> bool {
    #[rustfmt::skip]
    const SMALL: &[&str] = &[
        "der", "die", "das", "den", "dem", "ein", "eine", "wer", "ist", "sind", "im", "beim", "zwei", "el", "la", "los", "las",
        "un", "una", "se", "está", "en", "dos", "le", "les", "une", "du", "est", "dans", "deux", "il", "lo", "va", "due", "o",
        "os", "um", "uma", "é", "de", "het", "een", "wordt", "jest", "ei", "nem",
    ];
    let small = words.iter().any(|word| SMALL.contains(word));
    let marked = words.iter().any(|word| !word.is_ascii() && !word.contains([CODE, PLACE]));
    let known = |word: &&str| {
        COURTESY.has(word)
            || GOOD.has(word)
            || DONE.has(word)
            || TOPICS.contains(word)
            || THINGS_READ.has(word)
            || word.chars().any(|c| c == CODE || c == PLACE || c.is_ascii_digit())
            || matches!(
                *word,
                "its"
                    | "every"
                    | "both"
                    | "each"
                    | "any"
                    | "no"
                    | "at"
                    | "by"
                    | "from"
                    | "or"
                    | "as"
                    | "two"
                    | "three"
            )
    };
    // `amounts above a million wrap around`: a long clause that opens with a plural must name what was read or run.
    let many = words.first().is_some_and(|first| first.ends_with('s') && first.len() > 3);
    let named = |word: &&str| {
        THINGS_READ.has(word)
            || TOPICS.contains(word)
            || DONE.has(word)
            || GOOD.has(word)
            || word.contains([CODE, PLACE])
    };
    words.len() >= 4 && (small || marked || many && !words.iter().any(named))
        || words.len() >= 3 && !words.iter().any(known)
}

/// Whether a sentence of what was checked names places and says nothing of them but that they were read or run.
pub(crate) fn names_where(sentence: &str) -> bool {
    // What a command printed is given in quotes.
    let own: Vec<&str> = sentence.split('"').step_by(2).collect();
    let levelled = level(&own.join(" "));
    doubtful(sentence, Manner::Checked).is_none()
        && clauses(&levelled).flat_map(words_of).all(partial::is_plain_name)
}

/// Whether a sentence reports what was done and contains nothing doubtful.
pub(crate) fn reports_work(sentence: &str) -> bool {
    let levelled = level(sentence);
    if !is_harmless(sentence, Manner::Prose) {
        return false;
    }
    if script::is_foreign(&levelled) {
        return script::reports_work(&levelled);
    }
    let mut done = clauses(&levelled).map(words_of).filter(|words| reports(words));
    done.any(|words| words.len() >= 2)
}
