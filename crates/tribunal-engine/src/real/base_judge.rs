//! The judge as the base has it: which of the files that judge a change it also changes, and its tree with those put back.
//! `tribunal_core::judge_files` says which files judge; this file reads them from git. What a named person took of them
//! is the judge from then on, in later rounds, landings and rebases.

use super::green::KnownCommand;
use super::site::Site;
use crate::docket::{CommandNote, Docket};
use std::collections::BTreeSet;
use tribunal_core::ids::{LoopId, PlanId};
use tribunal_core::judge_files::JudgeFacts;
use tribunal_docs::project_commands::{ProjectFiles, recipe_of};
use tribunal_git::{GitError, GitPath, Oid};

/// Programs that run targets and scripts of the project's own.
const RUNNERS: [&str; 9] = ["make", "gmake", "just", "task", "npm", "pnpm", "yarn", "bun", "composer"];

/// Where the judge's files come from: the commit that a run or review began with, and what people took since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TrustedJudge {
    base: String,
    /// Files that a named person took, and the tree that has them so.
    taken: Vec<(String, Vec<String>)>,
}

/// A change with its judge put back.
pub(crate) struct PutBack {
    /// The change's tree with the judge's files as they are trusted.
    pub(crate) tree: Oid,
    /// Which files were put back.
    pub(crate) files: Vec<String>,
}

impl TrustedJudge {
    /// What the docket knows.
    pub(crate) fn of(docket: &Docket) -> TrustedJudge {
        TrustedJudge {
            base: docket.reviewed_from().to_owned(),
            taken: taken(docket).map(|note| (note.tree.clone(), note.judge.clone())).collect(),
        }
    }

    /// The tree whose files judge.
    fn tree(&self, site: &Site) -> Result<Oid, GitError> {
        let mut tree = site.repo.tree_of(&Oid::parse(&self.base)?)?;
        for (taken, files) in &self.taken {
            let files: Vec<GitPath> = files.iter().map(|file| GitPath::from(file.as_str())).collect();
            tree = site.repo.tree_with(&tree, &Oid::parse(taken)?, &files)?;
        }
        Ok(tree)
    }

    /// A commit's tree with the files that judge it put back; none where it changes none of them.
    pub(crate) fn put_back(
        &self,
        site: &Site,
        known: &KnownCommand,
        commit: &Oid,
    ) -> Result<Option<PutBack>, GitError> {
        let trusted = self.tree(site)?;
        let steps: Vec<Vec<String>> = known.steps().cloned().collect();
        let files = changed_judge(site, &trusted, commit, &steps)?;
        if files.is_empty() {
            return Ok(None);
        }
        let tree = site.repo.tree_with(commit, &trusted, &files)?;
        Ok(Some(PutBack { tree, files: files.iter().map(ToString::to_string).collect() }))
    }
}

/// The notes of changes that judge themselves and that a named person took so.
fn taken(docket: &Docket) -> impl Iterator<Item = &CommandNote> {
    docket.commands.iter().filter(|note| !note.judge.is_empty()).filter(|note| {
        let same = |one: &&CommandNote| one.of() == note.of() && one.command == note.command;
        let is_last = docket.commands.iter().rev().find(same) == Some(*note);
        is_last && docket.accepter(&LoopId::new(note.of())).is_some()
    })
}

/// The files of the judge that a named person took with the work of a plan.
pub(crate) fn taken_of(docket: &Docket, plan: &PlanId) -> BTreeSet<String> {
    let prefix = format!("{plan}/");
    let of_plan = taken(docket).filter(|note| note.of().starts_with(&prefix));
    of_plan.flat_map(|note| &note.judge).cloned().collect()
}

/// The files of a commit that are part of the judge and not as they are in a trusted tree.
fn changed_judge(
    site: &Site,
    trusted: &Oid,
    commit: &Oid,
    steps: &[Vec<String>],
) -> Result<Vec<GitPath>, GitError> {
    changed_files(site, trusted, commit, steps, "", &|facts| facts.judge_files().into_iter().collect())
}

/// The files of a change that a script calls, and what those include: they judge when the script does. What only configures
/// a runner is among them where the script calls one by name: a hook is otherwise shown the change as it is.
pub(crate) fn called_by(
    site: &Site,
    base: &Oid,
    change: &Oid,
    script: &str,
) -> Result<Vec<GitPath>, GitError> {
    let commands = script.split(['\n', ';', '&', '|']).map(|line| line.split_whitespace().map(str::to_owned));
    let steps: Vec<Vec<String>> = commands.map(Iterator::collect).collect();
    let runs_targets =
        steps.iter().filter_map(|words| words.first()).any(|word| RUNNERS.contains(&word.as_str()));
    changed_files(site, base, change, &steps, script, &|facts| {
        let facts = JudgeFacts { steps: &[], ..*facts };
        match runs_targets {
            true => facts.judge_files().into_iter().collect(),
            false => facts.named_files(),
        }
    })
}

/// The changed files among those that judge. `steps` are the commands whose recipes are read, `script` what is run besides.
fn changed_files(
    site: &Site,
    trusted: &Oid,
    change: &Oid,
    steps: &[Vec<String>],
    script: &str,
    judge: &dyn Fn(&JudgeFacts<'_>) -> BTreeSet<String>,
) -> Result<Vec<GitPath>, GitError> {
    let repo = &site.repo;
    let changed = repo.changed_paths(trusted, change)?;
    if changed.is_empty() {
        return Ok(Vec::new());
    }
    let paths: Vec<String> = repo.list_tree(trusted)?.iter().map(|entry| entry.path.to_string()).collect();
    let read = |at: &Oid, path: &str| {
        let bytes = repo.file_at(at, &GitPath::from(path)).ok()??;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    };
    let (before, now) = (|path: &str| read(trusted, path), |path: &str| read(change, path));
    let project = ProjectFiles { paths: &paths, text: &before };
    let recipes: String = steps.iter().map(|argv| recipe_of(&project, argv) + "\n").collect();
    let names: Vec<String> = changed.iter().map(ToString::to_string).collect();
    let judge = judge(&JudgeFacts {
        steps,
        recipe: &format!("{script}\n{recipes}"),
        changed: &names,
        paths: &paths.iter().cloned().collect(),
        before: &before,
        now: &now,
    });
    Ok(changed.into_iter().filter(|path| judge.contains(&path.to_string())).collect())
}
