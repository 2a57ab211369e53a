//! Words that must not stand in the project's files, and calls that belong to one place.

use super::Wrong;
use super::tree::Tree;

/// A word that is wrong wherever it stands in code.
struct Ban {
    /// In halves, so that this file does not hold it.
    word: [&'static str; 2],
    /// Only behind a comment sign.
    comments: bool,
    what: &'static str,
    hint: &'static str,
}

const LATER: &str = "do it now, or write it down where work is planned";

const BANS: &[Ban] = &[
    Ban { word: ["TO", "DO"], comments: true, what: "work is put off", hint: LATER },
    Ban { word: ["FIX", "ME"], comments: true, what: "work is put off", hint: LATER },
    Ban { word: ["todo", "!("], comments: false, what: "work is put off", hint: LATER },
    Ban { word: ["unimplemented", "!("], comments: false, what: "work is put off", hint: LATER },
    Ban {
        word: ["#[ign", "ore"],
        comments: false,
        what: "a test is switched off",
        hint: "fix it or remove it; a slow one belongs into a chore",
    },
    Ban {
        word: ["thread::sl", "eep"],
        comments: false,
        what: "it sleeps",
        hint: "wait for an event: a channel, a pipe, a process",
    },
];

/// Where a process may be started: the two drivers, what plays an agent, and what is no product.
const STARTERS: &[&str] =
    &["crates/tribunal-process/", "crates/tribunal-git/", "crates/tribunal-agent/src/scripted/", "dev/"];

/// Looks through every text file.
pub fn check(tree: &Tree) -> Vec<Wrong> {
    tree.texts().flat_map(|(file, text)| check_file(file, text)).collect()
}

fn check_file(file: &str, text: &str) -> Vec<Wrong> {
    let mut wrong = Vec::new();
    let code = file.ends_with(".rs");
    let tests_from = text.lines().position(|line| line.trim() == "#[cfg(test)]").unwrap_or(usize::MAX);
    for (at, line) in text.lines().enumerate() {
        wrong.extend(machine_path(file, at + 1, line));
        if code {
            wrong.extend(BANS.iter().filter(|ban| ban.hits(line)).map(|ban| {
                Wrong::new(file, at + 1, format!("{}: {}", ban.what, ban.word.concat()), ban.hint)
            }));
            wrong.extend(started(file, at, line, tests_from));
        }
    }
    wrong
}

impl Ban {
    fn hits(&self, line: &str) -> bool {
        let word = self.word.concat();
        if self.comments {
            comment(line).is_some_and(|text| text.contains(&word))
        } else {
            line.contains(&word)
        }
    }
}

fn comment(line: &str) -> Option<&str> {
    line.find("//").map(|at| &line[at..])
}

/// Homes of one machine: they mean nothing anywhere else.
fn machine_path(file: &str, at: usize, line: &str) -> Option<Wrong> {
    let homes = [["/wo", "rk/"], ["/ro", "ot/"], ["/home/", "runner/"]];
    let found = homes.iter().map(|halves| halves.concat()).find(|home| {
        let before = line.find(home.as_str()).map(|place| &line[..place]);
        // The end of a longer path is somebody else's folder of that name.
        before.is_some_and(|text| !text.ends_with(|c: char| c.is_alphanumeric() || "._-}>".contains(c)))
    })?;
    Some(Wrong::new(
        file,
        at,
        format!("a path of one machine: {found}"),
        "use a path from the project's root",
    ))
}

fn started(file: &str, at: usize, line: &str, tests_from: usize) -> Option<Wrong> {
    let allowed = STARTERS.iter().any(|place| file.starts_with(place));
    let test = ["/tests/", "/benches/", "/examples/"].iter().any(|place| file.contains(place));
    let starts = line.contains(&["Command::", "new("].concat()) && !line.contains("clap::");
    (starts && !allowed && !test && at < tests_from).then(|| {
        let hint = "launch it through tribunal-process; git through tribunal-git";
        Wrong::new(file, at + 1, "a process is started here", hint)
    })
}
