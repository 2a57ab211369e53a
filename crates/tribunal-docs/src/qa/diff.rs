//! Compares the files that a summary declares with the files that its commits changed.
//!
//! Planning files never count, and a renamed file is never called both missing and undeclared.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use tribunal_core::contract::{clean, covers};

use crate::names::PLANNING_FOLDERS;
use crate::{Summary, task};

/// One file that a commit changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangedFile {
    /// Where the file is, or was before it was deleted.
    pub path: String,
    /// Where the file was before it was renamed.
    pub old_path: Option<String>,
    /// Whether this commit created it.
    pub added: bool,
    /// Whether this commit deleted it.
    pub deleted: bool,
}

/// What git says of a summary's commits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DiffFacts {
    /// How many commits were examined.
    pub commits: usize,
    /// Every file that any of the commits changed.
    pub changes: Vec<ChangedFile>,
    /// Commits that do not exist in this repository.
    pub unknown_commits: Vec<String>,
    /// Files that the user brought to the branch meanwhile, just as the plan's tasks left them.
    ///
    /// Nothing of them is left to change, so the commits that remain need not touch them.
    pub brought: Vec<String>,
    /// Files that the user renamed meanwhile, by their old and their new name.
    pub renamed: Vec<(String, String)>,
}

/// What was declared and what was done.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct DiffReport {
    /// The files that the summary names.
    pub declared: Vec<String>,
    /// The files that the commits changed.
    pub actual: Vec<String>,
    /// Files that were changed and are not named.
    pub undeclared: Vec<String>,
    /// Files that are named and were not changed.
    pub missing: Vec<String>,
    /// Commits that do not exist in this repository.
    pub unknown_commits: Vec<String>,
    /// Why the check could not look, if it could not.
    pub reason: Option<String>,
    /// The role that can fix it.
    pub fixable_by: &'static str,
}

impl DiffReport {
    /// Whether both sides agree. A check that could not look does not pass.
    pub fn passes(&self) -> bool {
        self.undeclared.is_empty()
            && self.missing.is_empty()
            && self.unknown_commits.is_empty()
            && self.reason.is_none()
    }
}

/// Compares a summary with what its commits did.
pub fn diff_against_plan(summary: &Summary, facts: &DiffFacts) -> DiffReport {
    let declared = declared(summary);
    let (actual, optional) = actual(&facts.changes);
    let old_name =
        |file: &str| facts.renamed.iter().find(|(_, new)| new == file).map(|(old, _)| old.as_str());
    let is_meant = |pattern: &str, file: &str| {
        covers(pattern, file) || old_name(file).is_some_and(|old| covers(pattern, old))
    };
    let named = |file: &String| declared.iter().any(|pattern| is_meant(pattern, file));
    // A planning file may be declared, although it is never expected.
    let done = |pattern: &&String| {
        let mut there = actual.iter().chain(&optional).chain(&facts.brought);
        there.any(|file| is_meant(pattern, file)) || is_planning(pattern)
    };
    let undeclared: Vec<String> = actual.iter().filter(|file| !named(file)).cloned().collect();
    let missing: Vec<String> = declared.iter().filter(|pattern| !done(pattern)).cloned().collect();
    // Nothing compared with nothing would agree.
    let reason = (facts.commits == 0).then(|| "no commit of the plan is known".to_owned());
    DiffReport {
        declared: declared.into_iter().collect(),
        actual: actual.into_iter().collect(),
        undeclared,
        missing,
        unknown_commits: facts.unknown_commits.clone(),
        reason,
        fixable_by: "dev",
    }
}

/// The files of `Files Modified`, with both names of a rename.
fn declared(summary: &Summary) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for file in &summary.files {
        found.extend(clean(&file.path));
        // `a` -> `b`, with any arrow, and whatever stands behind the second name.
        if let Some(target) = file.purpose.strip_prefix(['>', '→', '➜']) {
            let target = target.trim_start();
            let path = match target.strip_prefix('`').and_then(|rest| rest.split_once('`')) {
                Some((path, _)) => task::ticked_path(path),
                None => task::clean_path(target.split_whitespace().next().unwrap_or("")),
            };
            found.extend(path.and_then(|path| clean(&path)));
        }
    }
    found
}

/// The files that changed, and names that may be declared but need not be.
fn actual(changes: &[ChangedFile]) -> (BTreeSet<String>, BTreeSet<String>) {
    let mut seen: BTreeMap<&str, (bool, bool)> = BTreeMap::new();
    let mut optional = BTreeSet::new();
    for change in changes {
        let known = seen.entry(&change.path).or_default();
        known.0 |= change.added;
        known.1 |= change.deleted;
        optional.extend(change.old_path.clone());
    }
    let mut actual = BTreeSet::new();
    for (path, (added, deleted)) in seen {
        if is_planning(path) {
            continue;
        }
        // Created and deleted within the plan, or moved on by a later commit: it may be named, but need not be.
        match (added && deleted) || optional.contains(path) {
            true => optional.insert(path.to_owned()),
            false => actual.insert(path.to_owned()),
        };
    }
    (actual, optional)
}

/// Whether a path is a planning file: those are about the work and not the work itself.
fn is_planning(path: &str) -> bool {
    let first = path.split('/').next().unwrap_or(path);
    PLANNING_FOLDERS.contains(&first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read_summary;

    fn check(body: &str, changes: &[(&str, Option<&str>)], undeclared: &[&str], missing: &[&str]) {
        let text = format!("---\nphase: 1\nplan: 1\n---\n\n## Files Modified\n\n{body}\n");
        let summary = read_summary("01-01-SUMMARY.md", &text).value.unwrap();
        let changes = changes.iter().map(|(path, old)| ChangedFile {
            path: (*path).into(),
            old_path: old.map(str::to_owned),
            ..ChangedFile::default()
        });
        let facts = DiffFacts { commits: 1, changes: changes.collect(), ..DiffFacts::default() };
        let report = diff_against_plan(&summary, &facts);
        assert_eq!(report.undeclared, undeclared, "{body}");
        assert_eq!(report.missing, missing, "{body}");
    }

    #[test]
    fn the_template_of_a_summary_passes() {
        check("- `src/a.rs` -- modified: the parser", &[("src/a.rs", None)], &[], &[]);
        check("- `src/a.rs` — created: x\n* src/b.rs", &[("src/a.rs", None), ("src/b.rs", None)], &[], &[]);
    }

    #[test]
    fn both_sides_are_named() {
        check("- `a.rs` -- modified: x", &[("b.rs", None)], &["b.rs"], &["a.rs"]);
        check("- `src/` -- modified: all", &[("src/x.rs", None)], &[], &[]);
        check("- `ä b.rs` -- created: spaces", &[("ä b.rs", None)], &[], &[]);
    }

    #[test]
    fn renames_and_planning_files() {
        check("- `new.rs` -- renamed: x", &[("new.rs", Some("old.rs"))], &[], &[]);
        check("- `old.rs` → `new.rs` -- renamed: x", &[("new.rs", Some("old.rs"))], &[], &[]);
        check("- `old.rs` -> `new.rs`", &[("new.rs", Some("old.rs"))], &[], &[]);
        check("- `old.rs` -- deleted: x", &[("new.rs", Some("old.rs"))], &["new.rs"], &[]);
        check("- `a.rs`", &[("a.rs", None), (".planning/STATE.md", None)], &[], &[]);
        check("- `a.rs`\n- `.planning/x.md`", &[("a.rs", None)], &[], &[]);
    }

    #[test]
    fn what_the_user_did_meanwhile_is_done() {
        let text = "---\nphase: 1\nplan: 1\n---\n\n## Files Modified\n\n- `a.rs`\n- `b.rs`\n- `c.rs`\n";
        let summary = read_summary("01-01-SUMMARY.md", text).value.unwrap();
        let facts = DiffFacts {
            commits: 1,
            changes: vec![ChangedFile { path: "new_a.rs".into(), ..ChangedFile::default() }],
            brought: vec!["b.rs".into()],
            renamed: vec![("a.rs".into(), "new_a.rs".into())],
            ..DiffFacts::default()
        };
        let report = diff_against_plan(&summary, &facts);
        assert_eq!((report.undeclared, report.missing), (vec![], vec!["c.rs".to_owned()]));
    }

    #[test]
    fn nothing_known_is_no_pass() {
        let summary = read_summary("01-01-SUMMARY.md", "x").value.unwrap();
        assert!(!diff_against_plan(&summary, &DiffFacts::default()).passes());
        let foreign = DiffFacts { commits: 1, unknown_commits: vec!["abc".into()], ..DiffFacts::default() };
        assert!(!diff_against_plan(&summary, &foreign).passes());
    }
}
