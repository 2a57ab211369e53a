//! A plan's contract as data: what a task may touch and must show.
//!
//! This file decides whether a file lies inside a contract. Hashing and storing it happens elsewhere, so that the
//! decision needs no disk and every caller gets the same one.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a plan promises and permits, fixed before its first task.
///
/// It is written before an agent works, and compared with the result afterwards. An agent that could change it in
/// between would decide what it may touch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contract {
    /// The normalised phase: `01`.
    pub phase_id: String,
    /// The plan, unique across phases: `01-02`.
    pub plan_id: String,
    /// The phase as its author wrote it.
    #[serde(deserialize_with = "written")]
    pub phase: String,
    /// The plan as its author wrote it.
    #[serde(deserialize_with = "written")]
    pub plan: String,
    /// What the plan is for.
    pub objective: String,
    /// Ids of its tasks, in order: `01-02-T1`.
    pub task_ids: Vec<String>,
    /// How many tasks the plan has.
    pub task_count: usize,
    /// Paths that its tasks may change. An empty list allows everything that is not forbidden.
    pub allowed_paths: Vec<String>,
    /// Paths that nobody may change.
    pub forbidden_paths: Vec<String>,
    /// The plans that this one waits for.
    pub depends_on: Vec<String>,
    /// What must be true in the end.
    pub must_haves: Vec<String>,
    /// Commands that verify it, as their author wrote them.
    pub verification_checks: Vec<String>,
    /// How many tokens the builder may use for it.
    pub max_token_budget: u64,
    /// How many seconds the builder may take.
    pub timeout_seconds: u64,
    /// The commit it was made at, if there was one. Later commits are work of this plan or of another.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub base_commit: String,
    /// When it was made, in milliseconds since 1970 by the clock of its file system, so that file times can be
    /// compared with it. Older contracts do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_at_ms: Option<u64>,
    /// Forbidden paths (without patterns) that existed when it was made although git does not track them. Nothing
    /// else would notice that one of them is gone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub untracked_forbidden: Vec<String>,
    /// The sha256 of everything above; empty until the contract is sealed.
    #[serde(default)]
    pub contract_hash: String,
}

/// Reads a text, or a number as other tools write it.
fn written<'de, D: serde::Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    // Other tools write `phase: 1`, and we write `phase: "01"`.
    enum Written {
        Text(String),
        Number(u64),
    }
    Ok(match Written::deserialize(from)? {
        Written::Text(text) => text,
        Written::Number(number) => number.to_string(),
    })
}

/// Why a file is not inside a contract.
///
/// The three have different remedies: undo the change, change the plan, or find out who wrote such a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Breach {
    /// The contract forbids the file.
    Forbidden,
    /// The file is not among the allowed paths.
    NotAllowed,
    /// The path leaves the repository.
    Outside,
}

impl Breach {
    /// The breach as the end of a sentence that begins with the file.
    pub fn words(self) -> &'static str {
        match self {
            Breach::Forbidden => "is forbidden by the contract",
            Breach::NotAllowed => "is not among the contract's allowed paths",
            Breach::Outside => "is not inside the repository",
        }
    }
}

/// Up to this many files outside a contract become one finding each, because the builder can act on each.
///
/// More become one finding together. They have one cause, such as packages that were installed where git does not
/// ignore them.
pub const BREACHES_SINGLY: usize = 20;
/// How many files such a joint finding names.
const BREACHES_NAMED: usize = 3;

/// Files that break a contract in the same way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breaches {
    /// What is wrong with each: `is not among the contract's allowed paths`.
    pub words: String,
    /// The files that are named: all of them, or the first few.
    pub named: Vec<String>,
    /// How many files there are, named or not.
    pub count: usize,
}

impl Breaches {
    /// The whole breach in one sentence.
    pub fn sentence(&self) -> String {
        let Breaches { words, named, count } = self;
        match (named.as_slice(), count - named.len()) {
            ([one], 0) => format!("{one} {words}"),
            (named, 0) => format!("{count} files, each of which {words}: {}", named.join(", ")),
            (named, more) => {
                format!("{count} files, each of which {words}: {} and {more} more", named.join(", "))
            }
        }
    }
}

/// Groups files with their breaches into findings, in their order.
pub fn gathered(breaches: Vec<(String, String)>) -> Vec<Breaches> {
    let mut by_words: Vec<(String, Vec<String>)> = Vec::new();
    let one = |(file, words): (String, String)| Breaches { words, named: vec![file], count: 1 };
    if breaches.len() <= BREACHES_SINGLY {
        return breaches.into_iter().map(one).collect();
    }
    for (file, words) in breaches {
        // There are few different texts, so a search is cheap and keeps the order.
        match by_words.iter_mut().find(|(known, _)| *known == words) {
            Some((_, files)) => files.push(file),
            None => by_words.push((words, vec![file])),
        }
    }
    let together = |(words, files): (String, Vec<String>)| Breaches {
        words,
        count: files.len(),
        named: files.into_iter().take(BREACHES_NAMED).collect(),
    };
    by_words.into_iter().map(together).collect()
}

/// Groups equal texts if there are more than [`BREACHES_SINGLY`] of one; otherwise each stands by itself. Groups come
/// in the order in which their text was first met.
///
/// Nobody reads thirty thousand findings of one cause.
pub fn alike<T>(found: Vec<(String, T)>) -> Vec<(String, Vec<T>)> {
    // An index by text: a search through the groups for each item would be quadratic.
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut groups: Vec<(String, Vec<T>)> = Vec::new();
    for (words, one) in found {
        let place = *places.entry(words.clone()).or_insert(groups.len());
        match groups.get_mut(place) {
            Some((_, group)) => group.push(one),
            None => groups.push((words, vec![one])),
        }
    }
    // Few of one kind stay single, so that the builder can answer each.
    let parted = |(words, group): (String, Vec<T>)| match group.len() > BREACHES_SINGLY {
        true => vec![(words, group)],
        false => group.into_iter().map(|one| (words.clone(), vec![one])).collect(),
    };
    groups.into_iter().flat_map(parted).collect()
}

impl Contract {
    /// Why a file must not be touched, if it must not. A contract without allowed paths limits by its forbidden ones.
    pub fn breach(&self, file: &str) -> Option<Breach> {
        let Some(file) = clean(file) else { return Some(Breach::Outside) };
        // Forbidden comes first: a file that is both allowed and forbidden must not be touched.
        if self.forbidden_paths.iter().any(|pattern| covers(pattern, &file)) {
            return Some(Breach::Forbidden);
        }
        let allowed =
            self.allowed_paths.is_empty() || self.allowed_paths.iter().any(|pattern| covers(pattern, &file));
        (!allowed).then_some(Breach::NotAllowed)
    }

    /// Follows files that the user renamed after the plan was approved.
    ///
    /// A change that is rebased onto such a rename arrives under the new name. It is still the file that the plan allows
    /// or forbids; without this nobody could ever land it, because the plan's text no longer changes.
    pub fn follow_renames<'a>(&mut self, renames: impl IntoIterator<Item = (&'a str, &'a str)>) {
        for (old, new) in renames {
            for paths in [&mut self.allowed_paths, &mut self.forbidden_paths] {
                if paths.iter().any(|pattern| covers(pattern, old)) {
                    paths.push(new.to_owned());
                }
            }
        }
    }
}

/// A path from the root without `./` and doubled slashes; `None` if it is absolute or climbs out.
///
/// A path with `..` is refused even where it would stay inside: a link on the way could lead elsewhere, and nothing
/// here can see that.
pub fn clean(path: &str) -> Option<String> {
    // A NUL ends a path for the system but not for us: the two would compare different files.
    if path.starts_with('/') || path.contains('\0') {
        return None;
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => return None,
            part => parts.push(part),
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}

/// Whether a path, a directory or a pattern with `*`, `**` and `?` covers a clean path.
///
/// The patterns come from documents that anybody may write, so the time must be bounded: `reached[at]` says whether
/// the pattern so far can match the first `at` parts of the path, and no part is tried twice.
pub fn covers(pattern: &str, path: &str) -> bool {
    let Some(pattern) = clean(pattern) else { return false };
    if !pattern.contains(['*', '?']) {
        // The next character must be a slash: `src` covers `src/a` and not `src-old`.
        let rest = path.strip_prefix(pattern.as_str());
        return rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    }
    let pattern: Vec<&str> = pattern.split('/').collect();
    let path: Vec<&str> = path.split('/').collect();
    let mut reached = vec![false; path.len() + 1];
    reached[0] = true;
    for part in pattern {
        let mut next = vec![false; path.len() + 1];
        for at in 0..=path.len() {
            // `**` may stand for no part at all, hence `reached[at]`, or for one more than before.
            if part == "**" {
                next[at] = reached[at] || (at > 0 && next[at - 1]);
            } else if at > 0 {
                next[at] = reached[at - 1] && word_matches(part.as_bytes(), path[at - 1].as_bytes());
            }
        }
        reached = next;
    }
    reached[path.len()]
}

/// Whether a clean path is an ancestor of what a pattern covers. If `**` stands for the way, no path is.
pub fn leads_to(pattern: &str, path: &str) -> bool {
    let Some(pattern) = clean(pattern) else { return false };
    let parts: Vec<&str> = pattern.split('/').collect();
    let depth = path.split('/').count();
    let above = parts.get(..depth).filter(|above| depth < parts.len() && !above.contains(&"**"));
    above.is_some_and(|above| covers(&above.join("/"), path))
}

/// Matches one part of a path: `*` is any bytes, `?` is one.
///
/// It remembers only the last `*`, so it takes at most as many steps as the product of both lengths. Trying every `*`
/// again would be exponential.
pub(crate) fn word_matches(pattern: &[u8], word: &[u8]) -> bool {
    let (mut p, mut w) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while w < word.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, w));
                p += 1;
            }
            Some(c) if *c == b'?' || *c == word[w] => {
                p += 1;
                w += 1;
            }
            _ => match star {
                Some((at, from)) => {
                    // The last star takes one byte more, and matching goes on behind it.
                    star = Some((at, from + 1));
                    p = at + 1;
                    w = from + 1;
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_files_outside_are_one_finding() {
        let files =
            |n: usize| (0..n).map(|n| (format!("m/f{n}"), "is forbidden".to_owned())).collect::<Vec<_>>();
        assert_eq!(gathered(Vec::new()), []);
        let few = gathered(files(BREACHES_SINGLY));
        assert_eq!(few.len(), BREACHES_SINGLY);
        assert_eq!(few[0].sentence(), "m/f0 is forbidden");
        let mut many = files(30_000);
        many.push(("other".to_owned(), "belongs to plan 01-02".to_owned()));
        let many = gathered(many);
        assert_eq!(many.len(), 2, "what is wrong in another way is told apart");
        assert_eq!(many.iter().map(|one| one.count).sum::<usize>(), 30_001);
        assert!(many[0].sentence().starts_with("30000 files"), "{}", many[0].sentence());
        assert!(many[0].sentence().ends_with("m/f0, m/f1, m/f2 and 29997 more"), "{}", many[0].sentence());
        assert_eq!(many[1].sentence(), "other belongs to plan 01-02");
    }

    #[test]
    fn what_is_found_very_often_is_one() {
        let found = |n: usize, words: &str| (0..n).map(|n| (words.to_owned(), n)).collect::<Vec<_>>();
        assert_eq!(alike::<usize>(Vec::new()), []);
        let few = alike(found(BREACHES_SINGLY, "is a link"));
        assert!(few.len() == BREACHES_SINGLY && few.iter().all(|(_, group)| group.len() == 1), "{few:?}");
        let mut all = found(BREACHES_SINGLY + 1, "is a link");
        all.push(("holds a key".to_owned(), 7));
        let all = alike(all);
        assert_eq!(all.iter().map(|(_, group)| group.len()).collect::<Vec<_>>(), [BREACHES_SINGLY + 1, 1]);
        assert_eq!(all[1], ("holds a key".to_owned(), vec![7]));
    }

    #[test]
    fn patterns_cover_paths() {
        for (pattern, path, expect) in [
            ("src/a.rs", "src/a.rs", true),
            ("./src//a.rs", "src/a.rs", true),
            ("src", "src/a.rs", true),
            ("src/", "src/a.rs", true),
            ("src", "srcs/a.rs", false),
            ("src/*.rs", "src/a.rs", true),
            ("src/*.rs", "src/deep/a.rs", false),
            ("src/**", "src/deep/a.rs", true),
            ("**/*.rs", "a.rs", true),
            ("**/a/**/b", "x/a/y/z/b", true),
            ("src/?.rs", "src/ab.rs", false),
            ("a*b*c", "aXbYbZc", true),
            ("../x", "x", false),
            ("/etc", "etc", false),
        ] {
            assert_eq!(covers(pattern, path), expect, "{pattern} {path}");
        }
    }

    #[test]
    fn paths_lead_to_what_a_pattern_covers() {
        for (pattern, path, expect) in [
            ("secret/inner/**", "secret", true),
            ("secret/inner/**", "secret/inner", true),
            ("secret/inner/**", "secret/other", false),
            ("./secret//key", "secret", true),
            ("s*/*/key", "secret/a", true),
            ("s*/*/key", "other/a", false),
            ("secret/key", "secret/key", false),
            ("**/key", "secret", false),
            ("a/**/key", "a", true),
            ("a/**/key", "a/b", false),
            ("../x", "x", false),
        ] {
            assert_eq!(leads_to(pattern, path), expect, "{pattern} {path}");
        }
    }

    #[test]
    fn a_pattern_of_many_stars_ends() {
        let pattern = "*a".repeat(200);
        assert!(!covers(&pattern, &"a".repeat(5_000).replace('a', "b")));
    }

    #[test]
    fn a_contract_limits() {
        let contract = Contract {
            allowed_paths: vec!["src".into(), "docs/a b.md".into()],
            forbidden_paths: vec!["src/secret.rs".into()],
            ..Contract::default()
        };
        for (file, expect) in [
            ("src/a.rs", None),
            ("docs/a b.md", None),
            ("src/secret.rs", Some(Breach::Forbidden)),
            ("Cargo.toml", Some(Breach::NotAllowed)),
            ("src/../Cargo.toml", Some(Breach::Outside)),
            ("/etc/passwd", Some(Breach::Outside)),
            ("", Some(Breach::Outside)),
        ] {
            assert_eq!(contract.breach(file), expect, "{file}");
        }
        assert_eq!(Contract::default().breach("x"), None);
    }

    #[test]
    fn a_renamed_file_is_allowed_or_forbidden_as_before() {
        let mut contract = Contract {
            allowed_paths: vec!["src/*.rs".into()],
            forbidden_paths: vec!["src/secret.rs".into()],
            ..Contract::default()
        };
        contract.follow_renames([("src/a.rs", "lib/a.rs"), ("src/secret.rs", "lib/s.rs"), ("x", "y")]);
        for (file, expect) in [
            ("lib/a.rs", None),
            ("lib/s.rs", Some(Breach::Forbidden)),
            ("lib/b.rs", Some(Breach::NotAllowed)),
            ("y", Some(Breach::NotAllowed)),
        ] {
            assert_eq!(contract.breach(file), expect, "{file}");
        }
        let mut open = Contract::default();
        open.follow_renames([("a", "b")]);
        assert_eq!(open, Contract::default(), "a contract that limits nothing goes on limiting nothing");
    }
}
