//! Compares a reviewer's claims with what Tribunal itself ran.
//!
//! A claim that no record mentions is only a claim. A claim that a record contradicts voids the verdict it came with.
//! The text may be hostile, so this file can only take trust away: no wording gives a reviewer credit for a run.

mod clause;

use crate::text::clean;
use clause::Went;

/// A command or check that Tribunal itself ran, and how it ended.
///
/// Only what Tribunal ran itself is a record. What an agent says it ran is a claim, and claims are what records are
/// held against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The name of the check, or its whole command line.
    pub name: String,
    /// It found nothing.
    pub passed: bool,
}

/// Words in the name of a check that make it a check of tests.
const TESTS: [&str; 17] = [
    "test",
    "tests",
    "testing",
    "unittest",
    "unittests",
    "pytest",
    "ctest",
    "nextest",
    "jest",
    "vitest",
    "mocha",
    "rspec",
    "phpunit",
    "tox",
    "regression",
    "verification",
    "testsuite",
];
/// Names that contain such a word although no test runs behind them.
const NO_TESTS: [&str; 1] = ["test_integrity"];
/// Names that are also everybody's word for tests, so that hearing one proves nothing.
const COMMON: [&str; 2] = ["test", "tests"];

/// The first claim that a record contradicts: something is said to pass that failed when Tribunal ran it.
///
/// Works clause by clause. A clause that only goes on ("it passes") is about whatever the clause before it named; one
/// that reports a failure ends that, because "it passes on main" after it is honest.
pub fn contradicted(words: &str, records: &[Record]) -> Option<String> {
    let (words, _) = clean(words);
    let marks = Marks::of(records);
    let text = marks.put(&levelled(&words));
    let failed: Vec<Failed<'_>> =
        records.iter().filter(|record| !record.passed).map(|one| marks.failed(one)).collect();
    // What the clause before was about; `None` if it named nothing.
    let mut before: Option<Vec<(&Failed<'_>, Went)>> = None;
    // A full stop within a word, as in a file name, does not end a sentence: hence the space.
    for part in text.split(". ").flat_map(|part| part.split([';', '\n', ','])) {
        let said = clause::words(part);
        if said.is_empty() {
            continue;
        }
        // A pasted compiler error is a report of failure, whatever the words around it say.
        let went = if part.contains("error:") { Went::Badly } else { clause::went(&said) };
        let about = about(&said, &failed, before.take());
        // `Badly` ranks above all praise, so an honest report of failure is never taken for a lie.
        let lie = about.iter().flatten().find(|(_, least)| *least <= went && went < Went::Badly);
        if let Some((failed, _)) = lie {
            let said = marks.take_out(part);
            let said = said.trim().trim_end_matches('.');
            return Some(format!("it says {said:?}, but {} failed when it was run", failed.name));
        }
        before = about.map(|about| if went == Went::Badly { Vec::new() } else { about });
    }
    None
}

/// Lower case, with every run of blanks reduced to one space or one line end.
fn levelled(words: &str) -> String {
    let mut out = String::with_capacity(words.len());
    for c in words.chars() {
        match c {
            // A writer could use our private marks to fake a name on record, so those characters are dropped.
            c if u32::from(c) >= clause::MARK => {}
            c if !c.is_whitespace() => out.extend(if c == '\u{2019}' { '\'' } else { c }.to_lowercase()),
            _ => {
                let ended = c == '\n' || out.ends_with('\n');
                out.truncate(out.trim_end_matches([' ', '\n']).len());
                out.push(if ended { '\n' } else { ' ' });
            }
        }
    }
    out
}

/// A failed record, as a clause may name it.
struct Failed<'r> {
    /// Name as the record spells it, for the message.
    name: &'r str,
    /// The character that stands for the name in the text; none for names that are common words.
    mark: Option<char>,
    /// It is a check of tests, so "the tests" may mean it.
    tests: bool,
    /// Its name is a common word for tests.
    common: bool,
}

impl Failed<'_> {
    /// The least praise by which a clause claims that this passed; `None` where the clause does not name it.
    ///
    /// A clause with the exact name needs less praise than one with the loose word "tests": "the tests are clean" may
    /// speak of their code.
    fn named(&self, words: &[&str]) -> Option<Went> {
        if self.mark.is_some_and(|mark| words.iter().any(|word| word.starts_with(mark))) {
            return Some(Went::Fine);
        }
        let one = || words.iter().position(|word| self.common && COMMON.contains(word));
        let at = clause::tests(words).or_else(one).filter(|_| self.tests)?;
        // Beside another name the praise belongs to that one, unless it comes after the word for tests.
        let others = words.iter().any(|word| clause::is_mark(word));
        (!others || clause::goes_well_after(words, at)).then_some(Went::Well)
    }
}

type About<'f, 'r> = Vec<(&'f Failed<'r>, Went)>;

/// Which failures a clause is about, each with the least praise that makes it a lie; `None` if it names nothing.
fn about<'f, 'r>(
    words: &[&str],
    failed: &'f [Failed<'r>],
    before: Option<About<'f, 'r>>,
) -> Option<About<'f, 'r>> {
    let named: About<'_, '_> = failed.iter().filter_map(|one| Some((one, one.named(words)?))).collect();
    // It names a record that passed: then the clause is about that one, and about no failure.
    if !named.is_empty() || words.iter().any(|word| clause::is_mark(word)) {
        return Some(named);
    }
    let all = |least| failed.iter().map(|one| (one, least)).collect();
    if let Some(least) = clause::all_checks(words) {
        return Some(all(least));
    }
    match before {
        Some(before) if clause::goes_on(words) => Some(before),
        _ => clause::everything(words).then(|| all(Went::Well)),
    }
}

/// The names on record, each replaced by one private character while clauses are told apart.
///
/// A command line may hold a comma, a full stop or the word "fail"; as a single character it can neither end a sentence
/// nor say how anything went.
struct Marks(Vec<(char, String)>);

impl Marks {
    fn of(records: &[Record]) -> Marks {
        let names = records.iter().map(|record| levelled(record.name.trim()).replace('\n', " "));
        let mut names: Vec<String> =
            names.filter(|name| !name.is_empty() && !COMMON.contains(&name.as_str())).collect();
        // The longest first: a shorter name may be the beginning of a longer one.
        names.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        names.dedup();
        Marks((clause::MARK..).filter_map(char::from_u32).zip(names).collect())
    }

    fn failed<'r>(&self, record: &'r Record) -> Failed<'r> {
        let name = levelled(record.name.trim()).replace('\n', " ");
        let is_test = |word: &str| TESTS.contains(&word);
        let tests =
            !NO_TESTS.contains(&name.as_str()) && name.split(|c: char| !c.is_alphanumeric()).any(is_test);
        let mark = self.0.iter().find(|(_, known)| *known == name).map(|(mark, _)| *mark);
        Failed { name: &record.name, mark, tests, common: COMMON.contains(&name.as_str()) }
    }

    /// Replaces every name on record that stands alone by its mark, between blanks.
    fn put(&self, words: &str) -> String {
        self.0.iter().fold(words.to_owned(), |words, (mark, name)| {
            let plain = is_plain(name);
            // Replaced byte for byte, so that positions are the same in both texts.
            let level =
                |text: &str| text.replace(if plain { &['\n', '-', '_'][..] } else { &['\n'][..] }, " ");
            let (flat, mut marked, mut from) = (level(&words), String::with_capacity(words.len()), 0);
            // Backticks are counted along the way instead of from the start each time: hostile texts are long.
            let (mut counted, mut in_code) = (0, false);
            for (at, found) in flat.match_indices(&level(name)) {
                in_code ^= words[counted..at].matches('`').count() % 2 == 1;
                counted = at;
                let to = at + found.len();
                let alone =
                    if plain { is_word(&words, at, to) } else { stands_alone(&words, at, to, in_code) };
                if alone {
                    marked.extend([&words[from..at], " "]);
                    marked.extend([*mark, ' ']);
                    from = to;
                }
            }
            marked.push_str(&words[from..]);
            marked
        })
    }

    fn take_out(&self, clause: &str) -> String {
        self.0.iter().fold(clause.to_owned(), |text, (mark, name)| text.replace(&format!(" {mark} "), name))
    }
}

/// Whether this is a plain name, not a command line.
fn is_plain(name: &str) -> bool {
    name.chars().all(|c| c.is_alphanumeric() || "-_".contains(c))
}

/// Whether a name stands there as a word of its own, with the endings it may have ("the linter" for `lint`).
fn is_word(words: &str, from: usize, to: usize) -> bool {
    // No accepted ending is longer, and a hostile word may be.
    let rest: String = words[to..].chars().take(4).take_while(|c| c.is_alphanumeric()).collect();
    !words[..from].ends_with(char::is_alphanumeric) && ["", "s", "er", "ing"].contains(&rest.as_str())
}

/// Whether a command stands there whole, not as a part of another command.
///
/// `cargo check` that passed says nothing of `cargo check -p app`, and the other way round.
fn stands_alone(words: &str, from: usize, to: usize, in_code: bool) -> bool {
    let in_a_word = |c: char| c.is_alphanumeric() || "-_/=".contains(c);
    let (before, after) = (&words[..from], &words[to..]);
    if before.chars().next_back().is_some_and(|c| in_a_word(c) || c == '.') {
        return false;
    }
    // Inside backticks the command ends with the quotation, or where a shell operator begins the next one.
    if in_code {
        return ["`", "&&", "||", "|", ";"].iter().any(|end| after.trim_start().starts_with(end));
    }
    let mut rest = after.chars();
    match rest.next() {
        None => true,
        Some(c) if in_a_word(c) => false,
        // "make all." ends a sentence, "one.sh" goes on with a file name.
        Some('.' | ',' | ';' | ':') => !rest.next().is_some_and(in_a_word),
        // An option makes it another command; a dash alone is punctuation.
        Some(c) if c.is_whitespace() => !(rest.next() == Some('-') && rest.next().is_some_and(in_a_word)),
        Some(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_held_against_the_record() {
        let records = |tests: bool, clippy: bool| {
            vec![
                Record { name: "unit-tests".to_owned(), passed: tests },
                Record { name: "clippy".to_owned(), passed: clippy },
            ]
        };
        let check = |words: &str, tests: bool, clippy: bool, void: bool| {
            assert_eq!(contradicted(words, &records(tests, clippy)).is_some(), void, "{words}");
        };
        check("Ran the tests: all pass.", false, true, true);
        check("Ran the tests: all pass.", true, false, false);
        check("Read every line, clippy is clean", true, false, true);
        check("clippy does not pass yet", true, false, false);
        check("The tests fail on the empty name", false, true, false);
        check("the unit-tests don't pass", false, true, false);
        check("Looked at the diff and its callers", false, false, false);
        check("I would expect this to pass", false, false, false);
        check("the latest numbers pass through", false, true, false);
        check("CLIPPY:\u{1b}[32m green\u{1b}[0m", true, false, true);
        check("", false, false, false);
        let script = [Record { name: "sh bin/one.sh".to_owned(), passed: false }];
        assert!(contradicted("Read it. sh bin/one.sh passes.", &script).is_some());
        assert!(contradicted("Read it. sh bin/one.sh fails. The rest is clean.", &script).is_none());
    }

    #[test]
    fn a_command_is_named_whole_or_not_at_all() {
        let check = |words: &str, runs: &[(&str, bool)], void: bool| {
            let record = |(name, passed): &(&str, bool)| Record { name: (*name).to_owned(), passed: *passed };
            let records: Vec<Record> = runs.iter().map(record).collect();
            let found = contradicted(words, &records);
            assert_eq!(found.is_some(), void, "{words}: {found:?}");
        };
        // A comma, a semicolon or a full stop in a command ends no sentence.
        let features = ("cargo check --features a,b", false);
        check("Ran it. cargo check --features a,b passes.", &[features], true);
        check("`cargo check --features a,b` is clean", &[features], true);
        check("Cargo check --features a,b: exit code 0; read the rest", &[features], true);
        check("cargo check --features a,b fails", &[features], false);
        check("cargo check --features a,b was looked at, the rest is clean", &[features], false);
        check("cd app; make all passes", &[("cd app; make all", false)], true);
        check("(cd app; make all) succeeds.", &[("cd app; make all", false)], true);
        check(". env/activate; make passes", &[(". env/activate; make", false)], true);
        check("sh bin/not broken, really.sh passes", &[("sh bin/not broken, really.sh", false)], true);
        // Another command is not this one, however it begins.
        check("cargo check --features a,b passes", &[("cargo check --features a", false)], false);
        check(
            "cargo check --features a,b passes",
            &[("cargo check --features a", false), ("cargo check --features a,b", true)],
            false,
        );
        check("cargo check --features a passes", &[features], false);
        check("sh bin/one.sh passes", &[("sh bin/one", false)], false);
        check("cargo check -p app passes", &[("cargo check", false)], false);
        check("`cargo check app` passes", &[("cargo check", false)], false);
        check("`cargo check && sh x` passes", &[("cargo check", false)], true);
        check("cargo check - all green", &[("cargo check", false)], true);
        check("cd app; make all-docs passes", &[("cd app; make all", false)], false);
        // One name on record twice: what failed once is not said to pass.
        check("make a,b passes", &[("make a,b", true), ("make a,b", false)], true);
    }

    const GREET: &str = "sh bin/greet.sh Ada";
    /// What failed, and what is said of it against the record.
    const LIES: &[(&str, &str)] = &[
        (GREET, "sh bin/greet.sh Ada passes with 0 failures"),
        (GREET, "ran the checks, all checks pass"),
        (GREET, "Ran the checks. They all pass."),
        (GREET, "all of the checks are ok"),
        (GREET, "the checks pass"),
        (GREET, "checks: all green"),
        (GREET, "every command exits 0"),
        (GREET, "Read it; everything passes"),
        (GREET, "Everything I ran passes"),
        (GREET, "Read the diff. All of them pass."),
        (GREET, "Read the diff. All green."),
        (GREET, "sh bin/greet.sh Ada exits 0"),
        (GREET, "sh bin/greet.sh Ada: exit status 0"),
        (GREET, "sh bin/greet.sh Ada exits with 0"),
        (GREET, "`sh bin/greet.sh Ada` exited with code 0"),
        (GREET, "sh bin/greet.sh Ada (exit code: 0)"),
        (GREET, "sh bin/greet.sh Ada is ok"),
        (GREET, "sh bin/greet.sh Ada: OK"),
        (GREET, "sh bin/greet.sh Ada ran without any errors"),
        (GREET, "sh bin/greet.sh Ada never fails"),
        (GREET, "sh  bin/greet.sh \t Ada passes"),
        (GREET, "I ran sh bin/greet.sh\nAda and it passes"),
        (GREET, "I ran sh bin/greet.sh Ada. It passes."),
        (GREET, "I ran sh bin/greet.sh Ada, and it passes"),
        (GREET, "I ran sh bin/greet.sh Ada: it took a second. It passes."),
        (GREET, "I ran sh bin/greet.sh Ada\nexit code 0"),
        (GREET, "Ran sh bin/greet.sh Ada; no errors"),
        ("cargo test", "the redirect tests pass"),
        ("cargo test", "tests for the exception path pass"),
        ("cargo test", "tests for the failure path pass"),
        ("cargo test", "Ran the tests: 12 passed and 0 failed"),
        ("cargo test", "Ran the tests. 12 passed, 0 failed."),
        ("cargo test", "12 tests, no failures"),
        ("cargo test", "no tests fail"),
        ("cargo test", "None of the tests failed"),
        ("cargo test", "the tests don\u{2019}t fail"),
        ("cargo test", "tests pass in 0.3s on Linux"),
        ("cargo test", "the test suite succeeded"),
        ("cargo test", "test result: ok"),
        ("cargo test", "the tests ran cleanly"),
        ("cargo test", "the tests\npass"),
        ("cargo test", "I ran cargo test. It passes."),
        ("cargo test", "I ran cargo test which passes"),
        ("cargo test", "I checked that cargo test passes"),
        ("cargo test", "cargo test is clean"),
        ("cargo test", "no doubt cargo test passes"),
        ("pytest", "the tests are green"),
        ("pytest", "pytest: all good"),
        ("sh tests/all.sh", "the tests are green"),
        ("tests", "the tests pass"),
        ("test", "the test passes"),
        ("never-green", "never-green passes"),
        ("unit-tests", "the unit tests pass"),
        ("test_integrity", "test_integrity passes"),
        ("lint", "the linter passes"),
    ];
    /// What failed, and what is said beside it.
    const HONEST: &[(&str, &str)] = &[
        ("test_integrity", "Ran the tests: all pass"),
        ("latest", "Ran the tests: all pass"),
        ("sh bin/contest.sh", "Ran the tests: all pass"),
        ("cargo test", "Read the tests: clean and readable"),
        ("cargo test", "The tests are ok; no errors in them"),
        ("tests", "Read the tests: clean and readable"),
        ("clippy", "clippy cannot pass here"),
        ("clippy", "clippy no longer passes"),
        ("cargo test", "none of the tests pass"),
        ("cargo test", "no tests pass"),
        ("cargo test", "0 of 12 tests pass"),
        ("cargo test", "0 passed and 12 tests failed"),
        ("cargo test", "Ran the tests: 12 passed and 3 failed"),
        ("cargo test", "cargo test did not pass: 3 failures"),
        ("cargo test", "cargo test exits with code 1"),
        ("cargo test", "cargo test: exit code is not 0"),
        ("cargo test", "the tests that pass an empty name are useful"),
        ("cargo test", "the tests which pass in a name are useful"),
        ("cargo test", "the tests pass an empty name"),
        ("cargo test", "the tests that pass --all are useful"),
        ("cargo test", "the tests cover password and bypass"),
        ("cargo test", "the arguments that the tests passed to greet"),
        ("cargo test", "the tests check that a good name passes"),
        ("cargo test", "the tests assert that it exits 0"),
        ("cargo test", "the tests should all pass"),
        ("cargo test", "I cannot say whether the tests pass"),
        ("cargo test", "all tests pass except the one on empty names"),
        ("cargo test", "cargo test fails. It passes on main."),
        ("cargo test", "the tests fail, all green on main"),
        ("cargo test", "I ran cargo test. I read the callers. They pass."),
        ("cargo test", "everything else passes"),
        ("cargo test", "all other checks pass"),
        ("cargo test", "all type checks pass"),
        ("cargo test", "everything callers pass is validated"),
        ("cargo test", "Everything is clean and readable"),
        ("cargo test", "Looked at all of it; all good"),
        ("cargo test", "the callers all pass a name"),
        ("cargo test", "clippy passes and I read the tests"),
        ("cargo test", "Ran clippy, all green"),
        ("cargo test", "Ran the checks: clippy passes"),
        ("cargo test", "I ran cargo test.md. It passes."),
        ("docs", "the docsy thing passes"),
    ];

    #[test]
    fn a_lie_is_told_from_an_honest_word() {
        let records = |failed: &str| {
            let record = |name: &str, passed| Record { name: name.to_owned(), passed };
            let rest = ["clippy", "cargo fmt --check"].into_iter().filter(|name| *name != failed);
            let rest = rest.map(|name| record(name, true));
            std::iter::once(record(failed, false)).chain(rest).collect::<Vec<_>>()
        };
        let told = |lie: bool| {
            move |(name, said): &&(&str, &str)| contradicted(said, &records(name)).is_some() != lie
        };
        let wrong: Vec<_> = LIES.iter().filter(told(true)).chain(HONEST.iter().filter(told(false))).collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn hostile_words_take_no_longer_than_others() {
        let records = ["lint", "make a", "cargo test"];
        let records = records.map(|name| Record { name: name.to_owned(), passed: false });
        for part in
            ["lint", "make a", "no the ", "exit code ", "the checks ", "`", "not ", "0 ", "all of ", "\n\n"]
        {
            assert_eq!(contradicted(&part.repeat(100_000), &records), None, "{part}");
        }
    }

    #[test]
    fn what_is_said_is_told_as_it_was_said() {
        let records = [Record { name: "make a,b".to_owned(), passed: false }];
        let told = contradicted("Fine; make a,b passes.", &records).unwrap();
        assert_eq!(told, "it says \"make a,b passes\", but make a,b failed when it was run");
    }
}
