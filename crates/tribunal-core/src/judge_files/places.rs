//! Whether a script that a judge's script starts is part of the judge, or what is tested.
//!
//! Both are started in the same way, so only the place and the name of the file tell them apart. A place that is
//! missing from these lists makes a script of the judge look like a program under test.

/// Folders of tests and of what a project checks itself by.
const TESTS: [&str; 27] = [
    "t",
    "test",
    "tests",
    "testing",
    "spec",
    "specs",
    "__tests__",
    "e2e",
    "integration",
    "smoke",
    "qa",
    "ci",
    ".ci",
    ".github",
    "checks",
    "check",
    "lint",
    "hooks",
    ".githooks",
    ".husky",
    "testsuite",
    "testdata",
    "acceptance",
    "functional",
    "quality",
    "verify",
    "verification",
];
/// Folders of scripts that may judge and may be what is tested.
const TOOLS: [&str; 10] =
    ["script", "scripts", "tool", "tools", "hack", "build", "build-aux", "dev", "support", "contrib"];
/// Folders of what a project is made of: a script that starts its neighbour there tests it.
const CODE: [&str; 8] = ["bin", "sbin", "src", "lib", "libexec", "app", "cmd", "exe"];
/// Words of a name that say what the file is for.
const NAMES: [&str; 9] = ["test", "tests", "check", "checks", "spec", "lint", "verify", "ci", "precommit"];
/// How the names of scripts end.
const SCRIPTS: [&str; 22] = [
    "sh", "bash", "zsh", "ksh", "dash", "awk", "sed", "py", "rb", "pl", "js", "mjs", "cjs", "ts", "lua",
    "php", "tcl", "R", "mk", "just", "test", "inc",
];

/// How sure it is that a script judges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// It stands in a place of tests, or is named for one.
    Tests,
    /// It stands among scripts of all kinds, or beside the one that starts it.
    Tools,
}

/// The place of a script that one in the folder `caller` starts; none if it is what is tested.
pub(super) fn place_of(path: &str, caller: &str) -> Option<Place> {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let is_in =
        |names: &[&str]| folder.split('/').any(|part| names.contains(&part.to_ascii_lowercase().as_str()));
    let named = name.to_ascii_lowercase();
    let says_so = || named.split(['-', '_', '.']).any(|word| NAMES.contains(&word));
    // A folder of tests decides alone. A name decides only outside folders of code: `src/check.sh` may be the
    // product.
    if is_in(&TESTS) || (!is_in(&CODE) && says_so()) {
        return Some(Place::Tests);
    }
    let beside = !caller.is_empty()
        && !is_in(&CODE)
        && (folder == caller || folder.starts_with(&format!("{caller}/")));
    (is_in(&TOOLS) || beside).then_some(Place::Tools)
}

/// Whether a name is that of a script.
pub(super) fn is_script(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').is_some_and(|(stem, end)| !stem.is_empty() && SCRIPTS.contains(&end))
}

/// Whether a name has no ending: only its text can say that it is a script.
pub(super) fn has_no_ending(path: &str) -> bool {
    !path.rsplit('/').next().unwrap_or(path).contains('.')
}

/// Whether a file holds the tests of a runner that finds them by their names.
///
/// Such a runner counts them, and a changed test is a changed test in every language.
pub(super) fn is_of_a_runner(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let Some((stem, end)) = name.rsplit_once('.') else { return false };
    let marked = stem.starts_with("test_")
        || ["_test", "_tests", "_spec", ".test", ".spec"].iter().any(|mark| stem.ends_with(mark));
    // No runner finds `test_x.sh` by itself: a script starts it.
    let is_shell = ["sh", "bash", "zsh", "ksh", "dash", "awk", "sed"].contains(&end);
    matches!(end, "t" | "bats") || (marked && !is_shell)
}
