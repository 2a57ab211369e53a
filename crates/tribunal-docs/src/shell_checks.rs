//! Recognises lines of a shell script that check something by a function of another file: `eq "$(bin/hello)" hi`.
//!
//! The function is defined elsewhere, so only its name says what it does. A name that is not known is not counted: a
//! line that sets something up may go without any check being lost.

/// Whether a text is a script whose lines may call such functions.
pub(crate) fn calls_helpers(text: &str) -> bool {
    let loads = |line: &str| line.starts_with(". ") || line.starts_with("source ");
    text.starts_with("#!") || text.lines().any(|line| loads(line.trim_start()))
}

/// Whether a line of such a script calls a function that checks something.
pub(crate) fn is_check(line: &str) -> bool {
    const NAMES: [&str; 16] = [
        "eq", "ne", "is", "isnt", "ok", "nok", "equal", "equals", "same", "differs", "contains", "matches",
        "like", "unlike", "fails", "succeeds",
    ];
    const BEGINS: [&str; 5] = ["expect", "check", "should", "must", "verify"];
    // An argument has to follow: `check() {` defines the function, and `ok` alone may be a word of a text.
    let Some((word, rest)) = line.split_once(' ') else { return false };
    let is_name = word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    let defines = rest.trim_start().starts_with(['(', '{', '=']);
    is_name && !defines && (NAMES.contains(&word) || BEGINS.iter().any(|begin| word.starts_with(begin)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_calls_a_check_is_one() {
        for line in
            ["eq \"$(bin/hello)\" \"hello world\"", "expect_code 3 ./a", "check out.txt wanted.txt", "is 3 4"]
        {
            assert!(is_check(line), "{line}");
        }
        for line in
            ["check() {", "check () {", "eq", "setup_repo a", "echo eq a b", "export X=1", "", "check=1"]
        {
            assert!(!is_check(line), "{line}");
        }
        assert!(calls_helpers("#!/bin/sh\n"));
        assert!(calls_helpers("set -e\n. tests/lib.sh\n"));
        assert!(!calls_helpers("is this a text?\n"));
    }
}
