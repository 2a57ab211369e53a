//! Which paths steer machines or people without being asked: CI, hooks, agents' instructions, editors' tasks and the
//! like.
//!
//! A change to one of them is put to a person, in a run and in a review. The rows are data
//! (`tribunal-agent/src/protected.toml`); this file only compares a path with them.

use crate::contract::{clean, covers, word_matches};
use crate::judge_files::normal;
use serde::Deserialize;
use std::collections::BTreeMap;

/// All rows of the table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProtectedTable {
    /// The categories, in order: the first that covers a path names it.
    #[serde(rename = "category")]
    pub categories: Vec<Category>,
    /// Where to look first, once the table is prepared.
    #[serde(skip)]
    index: Option<Index>,
}

/// Rows by the name they begin with: a change may have tens of thousands of paths, and few of them begin like any
/// row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Index {
    named: BTreeMap<String, Vec<Place>>,
    /// Rows whose first name is a pattern.
    patterns: Vec<Place>,
}

/// A row: the index of its category, and its own index there.
type Place = (usize, usize);

/// One kind of protected file.
///
/// The categories exist for the person who is asked: the question says what the file configures and why only a person
/// decides about it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Category {
    /// A short name for reports.
    pub name: String,
    /// What such a file configures, in the words people read.
    pub configures: String,
    /// Why nobody but a person decides about it.
    pub reason: String,
    /// Whether a plan that names the path has decided: a person wrote or approved the plan.
    ///
    /// Files that steer agents and Tribunal itself are never a plan's to decide.
    #[serde(default)]
    pub plan_decides: bool,
    /// Patterns from the root; `**/` if the system looks in every folder. A pattern that covers a folder covers
    /// everything in it.
    pub paths: Vec<String>,
}

impl ProtectedTable {
    /// Prepares the table for questions; letter case is ignored from here on.
    pub fn prepared(mut self) -> ProtectedTable {
        for pattern in self.categories.iter_mut().flat_map(|category| &mut category.paths) {
            *pattern = pattern.to_lowercase();
        }
        let mut index = Index::default();
        for (at, category) in self.categories.iter().enumerate() {
            for (row, pattern) in category.paths.iter().enumerate() {
                // The name behind `**/` is what a path is searched for, at any depth.
                let first =
                    pattern.strip_prefix("**/").unwrap_or(pattern).split('/').next().unwrap_or_default();
                match first.contains(['*', '?']) {
                    true => index.patterns.push((at, row)),
                    false => index.named.entry(first.to_owned()).or_default().push((at, row)),
                }
            }
        }
        self.index = Some(index);
        self
    }

    /// The category of a changed path, if it is protected.
    pub fn category(&self, path: &str) -> Option<&Category> {
        let path = folded(path);
        let parts: Vec<&str> = path.split('/').collect();
        // A table that nobody prepared still answers, only slower: it must not answer "not protected".
        let Some(index) = &self.index else {
            let touched = |category: &&Category| category.paths.iter().any(|row| touches(row, &parts));
            return self.categories.iter().find(touched);
        };
        let named = parts.iter().filter_map(|part| index.named.get(*part)).flatten();
        let row = |(at, row): &Place| self.categories.get(*at)?.paths.get(*row);
        let touched = |place: &&Place| row(place).is_some_and(|row| touches(row, &parts));
        // The smallest place, because the index finds rows out of order and the first category names the path.
        let first = named.chain(&index.patterns).filter(touched).map(|(at, _)| *at).min()?;
        self.categories.get(first)
    }

    /// The category of a path that nobody has decided about yet.
    ///
    /// `claimed` are the paths that a plan allows. A plan decides about a protected file only if it names the file or
    /// a protected folder, so that `**` or `src` claims none by accident.
    pub fn undecided(&self, path: &str, claimed: &[String]) -> Option<&Category> {
        let category = self.category(path)?;
        let named = |pattern: &&String| {
            covers(pattern, path) && (clean(pattern).as_deref() == Some(path) || self.is_within(pattern))
        };
        let decided = category.plan_decides && claimed.iter().any(|pattern| named(&pattern));
        (!decided).then_some(category)
    }

    /// Whether everything that a pattern covers is protected.
    fn is_within(&self, pattern: &str) -> bool {
        let fixed: Vec<&str> = pattern.split('/').take_while(|part| !part.contains(['*', '?'])).collect();
        let folder = folded(fixed.join("/").trim_end_matches('/'));
        let parts: Vec<&str> = folder.split('/').collect();
        let whole = |row: &String| places(row, &parts).any(|(row, at)| at.len() >= row.split('/').count());
        !folder.is_empty() && self.categories.iter().flat_map(|category| &category.paths).any(whole)
    }
}

/// How many links are followed one after the other.
const LINKS_MAX: usize = 8;

/// What links lead to that stand where something protected belongs.
///
/// A program that reads `CLAUDE.md` reads the file behind it. A project that keeps one text for several agents links
/// them all to it, so that file is as protected as its names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProtectedLinks {
    /// The protected name of each place.
    names: BTreeMap<String, String>,
}

impl ProtectedLinks {
    /// Reads the links of a tree, from their paths to their targets.
    pub fn of(links: &BTreeMap<String, String>, is_protected: impl Fn(&str) -> bool) -> ProtectedLinks {
        let mut names = BTreeMap::new();
        for link in links.keys().filter(|link| is_protected(link)) {
            let mut at = link.clone();
            // A bound and not a set of seen places: links may lead in a circle.
            for _ in 0..LINKS_MAX {
                let Some(target) = links.get(&at) else { break };
                let folder = at.rsplit_once('/').map_or("", |(folder, _)| folder);
                let Some(place) = normal(folder, target) else { break };
                names.entry(place.clone()).or_insert_with(|| link.clone());
                at = place;
            }
        }
        ProtectedLinks { names }
    }

    /// The protected name by which a path is read, if it has one.
    pub fn name_of(&self, path: &str) -> Option<String> {
        let mut places = std::iter::successors(Some(path), |path| Some(path.rsplit_once('/')?.0));
        // A link to a folder counts for everything in it, so the rest of the path is kept.
        places.find_map(|place| Some(format!("{}{}", self.names.get(place)?, &path[place.len()..])))
    }
}

/// Whether a pattern covers a path, or something in whose place the path stands.
///
/// A link or a submodule where a protected folder belongs brings everything in it.
fn touches(row: &str, path: &[&str]) -> bool {
    places(row, path).next().is_some()
}

/// Where a pattern and a path go together as far as both reach: the pattern from its root, and the rest of the path.
fn places<'a>(row: &'a str, path: &'a [&'a str]) -> impl Iterator<Item = (&'a str, &'a [&'a str])> {
    let (row, deepest) = match row.strip_prefix("**/") {
        Some(row) => (row, path.len()),
        None => (row, 1),
    };
    let fits = move |rest: &[&str]| {
        // `zip` stops at the shorter one: a path may end inside the pattern, or go on below it.
        row.split('/').zip(rest).all(|(part, name)| word_matches(part.as_bytes(), name.as_bytes()))
    };
    (0..deepest).map(move |at| (row, &path[at..])).filter(move |(_, rest)| fits(rest))
}

/// A path as a file system may see it that ignores case, leaves out invisible characters, or drops dots and spaces at
/// the end of a name.
///
/// What is another file here may be the same file on the user's machine, so the stricter view decides.
fn folded(path: &str) -> String {
    // Zero-width characters, direction marks and the byte order mark, which some file systems ignore.
    let unseen = |c: char| matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    let text: String = path.chars().filter(|c| !unseen(*c)).flat_map(char::to_lowercase).collect();
    let parts = text.split(['/', '\\']).map(|part| match part.trim_end_matches(['.', ' ']) {
        // `.` and `..` consist of dots alone and stay as they are.
        "" => part,
        trimmed => trimmed,
    });
    parts.collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_protected_link_leads_to_is_protected() {
        let links = [
            ("CLAUDE.md", "docs/agents.md"),
            ("sub/CLAUDE.md", "../AGENT-NOTES"),
            ("AGENT-NOTES", "docs/notes.md"),
            (".husky", "hk"),
            ("README", "docs/readme.md"),
            (".claude", "/etc/claude"),
        ];
        let links = links.iter().map(|(path, target)| ((*path).to_owned(), (*target).to_owned())).collect();
        let links = ProtectedLinks::of(&links, |path| {
            path.ends_with("CLAUDE.md") || [".husky", ".claude"].contains(&path)
        });
        let check = |path: &str, name: Option<&str>| {
            assert_eq!(links.name_of(path).as_deref(), name, "{path}");
        };
        check("docs/agents.md", Some("CLAUDE.md"));
        check("AGENT-NOTES", Some("sub/CLAUDE.md"));
        check("docs/notes.md", Some("sub/CLAUDE.md"));
        check("hk/pre-commit", Some(".husky/pre-commit"));
        check("hkx/pre-commit", None);
        check("docs/readme.md", None);
        check("docs", None);
    }

    fn table() -> ProtectedTable {
        let category = |name: &str, plan_decides: bool, paths: &[&str]| Category {
            name: name.to_owned(),
            configures: name.to_owned(),
            reason: String::new(),
            plan_decides,
            paths: paths.iter().map(|path| (*path).to_owned()).collect(),
        };
        ProtectedTable {
            categories: vec![
                category("agents", false, &["**/claude.md", "**/.claude"]),
                category("ci", true, &[".github/workflows", "**/.vscode/tasks.json", "**/*.CI.yml"]),
            ],
            index: None,
        }
        .prepared()
    }

    /// Looking first where a path begins leaves out no row, and the first category still names the path.
    #[test]
    fn the_index_says_what_all_rows_say() {
        let (indexed, bare) = (table(), ProtectedTable { index: None, ..table() });
        let parts =
            ["claude.md", ".claude", ".github", "workflows", ".vscode", "tasks.json", "a.ci.yml", "src"];
        for one in parts {
            for two in parts {
                for path in [one.to_owned(), format!("{one}/{two}"), format!("x/{one}/{two}/{one}")] {
                    assert_eq!(indexed.category(&path), bare.category(&path), "{path}");
                }
            }
        }
    }

    #[test]
    fn a_path_is_found_at_every_depth_and_in_any_case() {
        let check = |path: &str, expect: Option<&str>| {
            let table = table();
            assert_eq!(table.category(path).map(|category| category.name.as_str()), expect, "{path}");
        };
        check("CLAUDE.md", Some("agents"));
        check("docs/Claude.MD", Some("agents"));
        check("a/.claude/hooks/x.sh", Some("agents"));
        check(".github/workflows/x.yml", Some("ci"));
        check(".GitHub/Workflows/x.yml", Some("ci"));
        check(".github/work\u{200c}flows/x.yml", Some("ci"));
        check(".github /workflows./x.yml", Some("ci"));
        check("sub/.github/workflows/x.yml", None);
        check("x/.vscode/tasks.json", Some("ci"));
        check("x/.vscode/other.json", None);
        check("one.ci.yml", Some("ci"));
        check("src/claude.rs", None);
    }

    /// A link in the place of a protected folder brings what lies behind it.
    #[test]
    fn what_stands_in_a_protected_folders_place_is_protected() {
        let table = table();
        for path in [".github", ".github/workflows", ".vscode", "x/.vscode", ".claude"] {
            assert!(table.category(path).is_some(), "{path}");
        }
        assert!(table.category("github").is_none());
    }

    #[test]
    fn a_plan_decides_where_it_names_the_file() {
        let check = |path: &str, claimed: &[&str], undecided: bool| {
            let claimed: Vec<String> = claimed.iter().map(|path| (*path).to_owned()).collect();
            assert_eq!(table().undecided(path, &claimed).is_some(), undecided, "{path} {claimed:?}");
        };
        let ci = ".github/workflows/x.yml";
        check(ci, &[], true);
        check(ci, &[ci], false);
        check(ci, &[".github/workflows/"], false);
        check(ci, &[".github/workflows/*.yml"], false);
        check(ci, &["**"], true);
        check(ci, &[".github"], true);
        check("CLAUDE.md", &["CLAUDE.md"], true);
        check("src/a.rs", &[], false);
    }
}
