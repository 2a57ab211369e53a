//! Whether a script that may be part of the judge changed as ordinary work changes it.
//!
//! What a run shows is asked elsewhere (`green::changed_with_code`); this file goes by the texts. Without it,
//! everybody who adds a test to a script would have to ask a person.

use std::collections::BTreeMap;

/// How many changed scripts are tried one by one. A change with more of them is shown to a person.
pub const ALONE_MAX: usize = 24;

/// Words that begin the definition of a function.
const DEFINE: [&str; 6] = ["def", "function", "func", "fn", "sub", "class"];

/// Whether a script checks as much as before, by the number of its checks.
///
/// A script that the base does not have took nothing away. One without a check that anybody recognises cannot be
/// compared, so the answer is no.
pub fn keeps_checks(before: Option<u64>, now: Option<u64>) -> bool {
    before.is_none_or(|before| before > 0 && now.is_some_and(|now| now >= before))
}

/// The same for a module that tests load. It need not check anything: the tests do, and their runner counts them.
pub fn helper_keeps_checks(before: u64, now: Option<u64>) -> bool {
    now.is_some_and(|now| now >= before)
}

/// Whether a file that a run was seen to read is a module that tests load, rather than a script that fails by itself.
pub fn is_helper(path: &str) -> bool {
    let end = path.rsplit_once('.').map_or("", |(_, end)| end);
    ["py", "rb", "js", "mjs", "cjs", "ts", "lua", "php"].contains(&end)
}

/// Whether a script only calls by a new name what another changed file defined by the old one. `others` are the texts
/// of the other changed files, before and now.
///
/// Such a script cannot have become weaker: what it calls is still what the other file defines.
pub fn only_renames(before: &str, now: &str, others: &[(String, String)]) -> bool {
    let (old, new) = (tokens(before), tokens(now));
    // A script that only renames has exactly as many words and signs as before.
    if old.len() != new.len() {
        return false;
    }
    let (mut names, mut back) = (BTreeMap::new(), BTreeMap::new());
    for (was, is) in old.iter().zip(&new) {
        // Everywhere or nowhere, in both directions: a name that stays in one place stands for itself, and two names
        // must not become one.
        if *names.entry(*was).or_insert(*is) != *is || *back.entry(*is).or_insert(*was) != *was {
            return false;
        }
    }
    names.into_iter().filter(|(was, is)| was != is).all(|(was, is)| {
        is_name(was)
            && is_name(is)
            && others.iter().any(|(before, now)| {
                let moved = |one: &str, other: &str, name: &str| defines(one, name) && !defines(other, name);
                // The old name must be gone and the new one must be new; otherwise the script may now call something
                // else.
                moved(before, now, was) && moved(now, before, is)
            })
    })
}

/// The words and signs of a text. Space counts: in a shell it tells words apart.
fn tokens(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text.trim_end();
    while let Some(first) = rest.chars().next() {
        let end = match is_part(first) {
            true => rest.find(|c| !is_part(c)).unwrap_or(rest.len()),
            false => first.len_utf8(),
        };
        let (token, more) = rest.split_at(end);
        found.push(token);
        rest = more;
    }
    found
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn is_name(word: &str) -> bool {
    word.len() > 1 && word.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Whether a text defines a function, or a case of a `case`, by a name.
fn defines(text: &str, name: &str) -> bool {
    text.lines().any(|line| {
        let words: Vec<&str> = tokens(line).into_iter().filter(|token| !token.trim().is_empty()).collect();
        let named = |at: usize| words.get(at) == Some(&name);
        let by_word = words.first().is_some_and(|word| DEFINE.contains(word)) && named(1);
        let in_shell = named(0) && words.get(1) == Some(&"(") && words.get(2) == Some(&")");
        by_word || in_shell || (named(0) && words.get(1) == Some(&")"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIB: &str = "greet() { echo hello; }\n\"$1\"\n";

    /// A script of the base, what the change makes of it, and what it makes of a file that was `LIB`.
    #[test]
    fn a_new_name_for_what_another_file_defines() {
        let lib = LIB.replace("greet", "salute");
        let python = ("def greet(a):\n    pass\n".to_owned(), "def salute(a):\n    pass\n".to_owned());
        let shell = (LIB.to_owned(), lib);
        let cases = [
            ("sh lib.sh greet > out\n", "sh lib.sh salute > out\n", &shell, true),
            ("import lib\nlib.greet(1)\n", "import lib\nlib.salute(1)\n", &python, true),
            // More than the name, or not everywhere.
            ("sh lib.sh greet\n", "sh lib.sh salute || true\n", &shell, false),
            ("greet; greet\n", "salute; greet\n", &shell, false),
            ("greet | grep -x hello\n", "salute | grep -v hello\n", &shell, false),
            ("greet; check\n", "salute; salute\n", &shell, false),
            ("greet hello\n", "salute  hello\n", &shell, false),
            // A name that the other file does not define.
            ("greet\n", "true\n", &shell, false),
            ("check\n", "salute\n", &shell, false),
            ("exit 1\n", "exit 0\n", &shell, false),
            ("[ a = b ]\n", "[ a = a ]\n", &shell, false),
        ];
        for (before, now, other, expect) in cases {
            assert_eq!(only_renames(before, now, std::slice::from_ref(other)), expect, "{before} {now}");
        }
        assert!(!only_renames("greet\n", "salute\n", &[]));
        let both = format!("{LIB}salute() {{ :; }}\n");
        assert!(!only_renames("greet\n", "salute\n", &[(both, shell.1.clone())]), "it was there before");
        assert!(!only_renames(
            "greet\n",
            "salute\n",
            &[(LIB.to_owned(), "# salute() was greet()\n".to_owned())]
        ));
    }

    #[test]
    fn checks_are_kept() {
        for (before, now, expect) in [
            (None, Some(0), true),
            (Some(2), Some(2), true),
            (Some(2), Some(3), true),
            (Some(2), Some(1), false),
            (Some(0), Some(5), false),
            (Some(2), None, false),
        ] {
            assert_eq!(keeps_checks(before, now), expect, "{before:?} {now:?}");
        }
        assert!(helper_keeps_checks(0, Some(0)) && helper_keeps_checks(1, Some(2)));
        assert!(!helper_keeps_checks(1, Some(0)) && !helper_keeps_checks(0, None));
        assert!(is_helper("tests/make.py") && !is_helper("t/a.sh") && !is_helper("t/run"));
    }
}
