//! Polishing after a review passed: which files the polisher may touch, and undoing what made something worse.
//!
//! A polish is reviewed like any change but blocks nothing. Whatever of it does not pass is dropped, and the work that
//! passed before stays.

use crate::context::RunContext;
use std::collections::BTreeSet;
use tribunal_core::finding::Source;
use tribunal_core::ids::{FindingId, Revision};
use tribunal_core::ledger::Entry;
use tribunal_core::review_loop::Loop;
use tribunal_engine::run_state::{Note, RunState};
use tribunal_git::{GitError, GitPath, Oid};
use tribunal_view::plain;

/// The name of the fixer that polishes.
pub(crate) const POLISHER: &str = "testing-code-polisher";
/// The name of the fixer that undoes a polish. It is not an agent.
pub(crate) const PUT_BACK: &str = "put-back";
/// Larger files are not searched for the names of others, in bytes.
const SEARCHED_MAX: usize = 512 << 10;
/// At most this many files are searched.
const FILES_MAX: usize = 20_000;

/// What is polished, and what was found in it.
#[derive(Clone, Debug)]
pub(crate) struct Polish {
    /// The revision that passed the review.
    pub(crate) from: Revision,
    /// The base of the whole change.
    base: String,
    /// For each finding its file, and whether only checks raised it. Only such findings are undone file by file.
    raised: Vec<(FindingId, Option<String>, bool)>,
}

/// How much of a polish was undone.
pub(crate) enum PutBack {
    /// Some files. Holds the tree that is left.
    Some(Oid, Vec<Note>),
    /// Everything. Says why.
    All(String),
}

impl Polish {
    /// Gathers the polish of a loop.
    pub(crate) fn of(
        review_loop: &Loop,
        findings: &[FindingId],
        base: &str,
        run_state: &RunState,
    ) -> Option<Polish> {
        let raised = |id: &FindingId| {
            let entry: &Entry = review_loop.ledger().get(*id)?;
            let by_checks = entry.by.iter().all(|source| matches!(source, Source::Check(_)));
            Some((*id, entry.claim.file.clone(), by_checks))
        };
        Some(Polish {
            from: run_state.run.as_ref()?.tip()?.clone(),
            base: base.to_owned(),
            raised: findings.iter().filter_map(raised).collect(),
        })
    }

    /// The files that may be touched: those that changed, and by `phase.polish_scope` those that use them or lie beside
    /// them.
    pub(crate) fn files(&self, context: &RunContext) -> Result<BTreeSet<GitPath>, GitError> {
        let (base, tip) = (Oid::parse(&self.base)?, context.commit_of(&self.from)?);
        let changed: BTreeSet<GitPath> = context.repo.changed_paths(&base, &tip)?.into_iter().collect();
        let all = || -> Result<Vec<GitPath>, GitError> {
            Ok(context.repo.list_tree(&tip)?.into_iter().map(|entry| entry.path).collect())
        };
        Ok(match context.settings.phase.polish_scope.as_str() {
            "changed" => changed,
            "directory" => {
                let folders: BTreeSet<String> = changed.iter().map(folder).collect();
                changed
                    .into_iter()
                    .chain(all()?.into_iter().filter(|path| folders.contains(&folder(path))))
                    .collect()
            }
            _ => {
                let near = dependents(context, &tip, &changed)?;
                changed.into_iter().chain(near).collect()
            }
        })
    }

    /// Undoes the files in which a check found something.
    ///
    /// Everything is undone if a finding names no file, if a reviewer raised one, or if nothing would be left.
    pub(crate) fn put_back(&self, context: &RunContext, polished: &Revision) -> Result<PutBack, GitError> {
        let (from, made) = (context.commit_of(&self.from)?, context.commit_of(polished)?);
        let mut files = BTreeSet::new();
        for (id, file, by_checks) in &self.raised {
            match file.as_ref().filter(|_| *by_checks) {
                Some(file) => files.insert(GitPath::from(file.as_str())),
                None => return Ok(PutBack::All(format!("{id} is of no single file"))),
            };
        }
        let changed = context.repo.changed_paths(&from, &made)?;
        let paths: Vec<GitPath> = changed.iter().filter(|path| files.contains(path)).cloned().collect();
        // A finding outside of the polished files cannot be undone by restoring one of them.
        if paths.is_empty() || paths.len() == changed.len() {
            return Ok(PutBack::All("nothing of it would be left".to_owned()));
        }
        let tree = context.repo.tree_with(&made, &from, &paths)?;
        let note = |path: &GitPath| {
            Note::Warning(format!(
                "the polish of {} was put back: a check failed",
                plain::line(&path.to_string())
            ))
        };
        Ok(PutBack::Some(tree, paths.iter().map(note).collect()))
    }
}

fn folder(path: &GitPath) -> String {
    path.to_string().rsplit_once('/').map(|(folder, _)| folder.to_owned()).unwrap_or_default()
}

/// Files that mention one of these by its name. It searches text and knows no programming language.
pub(crate) fn dependents(
    context: &RunContext,
    at: &Oid,
    files: &BTreeSet<GitPath>,
) -> Result<BTreeSet<GitPath>, GitError> {
    let names: BTreeSet<String> = files.iter().filter_map(stem).collect();
    let mut found = BTreeSet::new();
    if names.is_empty() {
        return Ok(found);
    }
    for entry in context.repo.list_tree(at)?.into_iter().take(FILES_MAX) {
        if files.contains(&entry.path) || stem(&entry.path).is_none() {
            continue;
        }
        let Some(bytes) = context.repo.file_at(at, &entry.path)?.filter(|bytes| bytes.len() <= SEARCHED_MAX)
        else {
            continue;
        };
        // A file that is not text mentions nobody.
        let Ok(text) = std::str::from_utf8(&bytes) else { continue };
        if words(text).any(|word| names.contains(word)) {
            found.insert(entry.path);
        }
    }
    Ok(found)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-').filter(|word| !word.is_empty())
}

/// The name by which other code refers to a file. Names that occur in every folder say nothing.
fn stem(path: &GitPath) -> Option<String> {
    const CODE: [&str; 16] =
        ["rs", "py", "js", "jsx", "ts", "tsx", "mjs", "cjs", "go", "java", "kt", "rb", "c", "h", "cpp", "sh"];
    const EVERYWHERE: [&str; 7] = ["mod", "lib", "main", "index", "__init__", "test", "tests"];
    let path = path.to_string();
    let (stem, ending) = path.rsplit('/').next()?.rsplit_once('.')?;
    let says = CODE.contains(&ending) && stem.len() > 2 && !EVERYWHERE.contains(&stem);
    says.then(|| stem.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_go_by_a_name_that_says_something() {
        let check = |path: &str, expect: Option<&str>| {
            assert_eq!(stem(&GitPath::from(path)).as_deref(), expect, "{path}");
        };
        check("src/parser.rs", Some("parser"));
        check("web/ui/user-list.tsx", Some("user-list"));
        check("src/mod.rs", None);
        check("README.md", None);
        check("a.py", None);
        check("Makefile", None);
        assert_eq!(words("use crate::parser::{A};").collect::<Vec<_>>(), ["use", "crate", "parser", "A"]);
    }
}
