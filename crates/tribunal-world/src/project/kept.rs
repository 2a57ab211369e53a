//! Removes agents' worktrees: everything is saved first, and a worktree that git could not save completely is moved to
//! where people find it.
//!
//! Two rules hold here: nothing is deleted that is in no commit, and nothing is left out without a warning. An error
//! while saving therefore means that the tree is kept.

use crate::context::{RunContext, slug};
use std::fs;
use std::path::{Path, PathBuf};
use tribunal_engine::crash;
use tribunal_engine::run_state::RunState;
use tribunal_git::{Captured, GitError, Oid, Tree};
use tribunal_view::plain;

/// How many bytes of a warning describe what git could not save.
const TOLD_MAX: usize = 400;

/// The folder where a run keeps trees that git could not save completely.
pub(crate) fn place(run_dir: &Path) -> PathBuf {
    run_dir.join("kept")
}

/// Saves the content of a tree and removes the tree; one with more in it than could be saved is kept instead. Returns
/// the commits that the agent made itself.
///
/// The snapshot has a ref before the tree goes, so that a crash in between loses nothing.
pub(crate) fn take_away(
    context: &RunContext,
    name: &str,
    tree: &Tree,
) -> Result<Vec<(Oid, String)>, GitError> {
    let message = "what a lane held when its tree was taken away\n";
    let saved = free_snapshot(context, name)
        .and_then(|to| context.repo.snapshot(tree, &to, message, &context.signature()));
    crash::point("lane:saved");
    let (left, own) = match saved {
        Ok(saved) => (saved.left(), saved.own_commits),
        Err(error) => (vec![error.to_string()], Vec::new()),
    };
    match left.is_empty() {
        // Reused for builders only: a reviewer must never get a tree that an agent could write.
        true => context.worktree_pool.recycle_worked(tree)?,
        false => filter_out(context, name, tree.path(), &left)?,
    }
    Ok(own)
}

/// Moves a tree aside if it holds something that no commit has.
pub(crate) fn spare(context: &RunContext, name: &str, tree: &Tree) -> Result<(), GitError> {
    let left = tree.capture().map_or_else(|error| vec![error.to_string()], |captured| captured.left());
    if left.is_empty() { Ok(()) } else { filter_out(context, name, tree.path(), &left) }
}

fn filter_out(context: &RunContext, name: &str, tree: &Path, left: &[String]) -> Result<(), GitError> {
    let dir = place(&context.dir);
    let failed = |path: &Path| {
        let path = path.to_path_buf();
        move |source| GitError::Io { path, source }
    };
    fs::create_dir_all(&dir).map_err(failed(&dir))?;
    let mut n = 1;
    // Each gets a new name, because nothing that was kept may be overwritten.
    let place = loop {
        let place = dir.join(format!("{}-{n}", slug(name)));
        if place.symlink_metadata().is_err() {
            break place;
        }
        n += 1;
    };
    // Moved before the warning is given. If the process dies in between, `untold` finds the tree and warns later.
    fs::rename(tree, &place).map_err(failed(tree))?;
    crash::point("kept:moved");
    let what = plain::clipped(&left.join("; "), TOLD_MAX);
    context.warn(format!(
        "git could not take all that {name} left, which is kept in {}: {what}",
        place.display()
    ));
    Ok(())
}

/// Warns about files of a tree that are missing from the revision under review.
pub(crate) fn tell(context: &RunContext, name: &str, captured: &Captured) {
    if !captured.problems.is_empty() {
        let all: Vec<String> = captured.problems.iter().map(ToString::to_string).collect();
        let what = plain::clipped(&all.join("; "), TOLD_MAX);
        context.warn(format!("what is judged of {name} is not all that was left there: {what}"));
    }
}

/// Warnings about trees that were moved aside by a process that died before it could say so.
pub(crate) fn untold(context: &RunContext, run_state: &RunState) -> Vec<String> {
    let all = fs::read_dir(place(&context.dir)).into_iter().flatten().flatten();
    let all = all.map(|entry| entry.path().display().to_string());
    // The colon ends the path: `…-1` must not pass for told because the warning about `…-12` was.
    let told = |place: &String| run_state.warnings.iter().any(|text| text.contains(&format!("{place}: ")));
    all.filter(|place| !told(place))
        .map(|place| {
            format!("git could not take all that was left in a tree, which is kept in {place}: see there")
        })
        .collect()
}

/// A ref name that no snapshot of this tree has yet.
fn free_snapshot(context: &RunContext, name: &str) -> Result<String, GitError> {
    let mut n = 1;
    loop {
        let name = format!("refs/tribunal/snap/{}/{name}-{n}", context.run);
        if context.repo.ref_at(&name)?.is_none() {
            return Ok(name);
        }
        n += 1;
    }
}
