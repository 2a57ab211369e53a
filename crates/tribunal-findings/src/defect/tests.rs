//! Wordings of one defect and of others, none of them from a labelled set.

use super::*;

fn odds(a: &str, b: &str) -> f64 {
    log_odds(&Meaning::of(a), &Meaning::of(b), Between { apart: Some(0), steps: 0 })
}

#[test]
fn one_defect_in_other_words_is_the_same() {
    for (a, b) in [
        ("The parser's error is swallowed", "catch-all: failures of the parser are silently ignored"),
        ("SQL injection through the search term", "The query is built by string concatenation"),
        ("Connection is never closed when the insert throws", "resource leak: use try-with-resources"),
        (
            "Nothing stops two threads from incrementing the counter",
            "data race on the counter, not thread safe",
        ),
    ] {
        assert!(odds(a, b) > odds("The name says nothing", b), "{a} | {b}");
        assert!(odds(a, b) >= SAME, "{} {a} | {b}", odds(a, b));
    }
}

#[test]
fn other_defects_of_one_place_are_not() {
    for (a, b) in [
        ("The password is logged in clear text", "The password is compared with == and not in constant time"),
        ("The error from the parser is swallowed", "The error message does not name the file"),
        ("In `load`, the file is never closed", "In `load`, the whole file is read into memory"),
        ("`f(a, b)`: arguments are swapped", "`f(a, b)`: result is ignored"),
    ] {
        assert!(odds(a, b) < SAME, "{} {a} | {b}", odds(a, b));
    }
}

/// They have no word in common: what their words point at is the same.
#[test]
fn words_that_point_at_one_kind_are_enough() {
    for (a, b) in [
        ("The last entry never makes it into the total", "loop condition ends one step too soon"),
        ("The map keeps every visitor for ever", "entries are not evicted"),
    ] {
        assert!(odds(a, b) >= SAME, "{} {a} | {b}", odds(a, b));
    }
}

/// Words that are everywhere point nowhere, though both texts have them.
#[test]
fn common_words_alone_point_at_nothing() {
    let (a, b) = ("this function is slow for large inputs", "this function is hard to read");
    assert!(odds(a, b) < SAME, "{}", odds(a, b));
}

#[test]
fn severities_that_differ_speak_against_it() {
    let (a, b) = (Meaning::of("race on the counter"), Meaning::of("the counter is not thread safe"));
    let at = |steps| log_odds(&a, &b, Between { apart: Some(0), steps });
    assert!(at(0) > at(1) && at(1) > at(2), "{} {} {}", at(0), at(1), at(2));
    assert!(at(2) >= SAME, "what is plainly the same stays so: {}", at(2));
}

#[test]
fn quoted_code_says_nothing() {
    let (a, b) = ("`let n = read(&mut buf)?;` off by one", "`let n = read(&mut buf)?;` never closed");
    assert!(odds(a, b) < DOUBT, "{}", odds(a, b));
}

#[test]
fn tables_are_as_they_say() {
    let lexicon = Lexicon::get();
    assert!(lexicon.rarity("return") < lexicon.rarity("traversal"));
    let read = Meaning::of("off-by-one at the last element");
    assert_eq!(shared(&read, &Meaning::of("fencepost error")), "both name off by one");
    assert_eq!(shared(&read, &Meaning::of("use bcrypt")), "nothing in common");
    assert_eq!(
        tokens("use SecureRandom, a_b == c"),
        ["use", "secure", "random", "a", "b", "==", "c", "securerandom", "a_b"]
    );
}
