//! Agents' trees that are taken away: saved first, and where git could not take all of it, put where people find it. It
//! must never delete what is in no commit, nor be silent about it.

use crate::site::{Site, slug};
use std::fs;
use std::path::{Path, PathBuf};
use tribunal_engine::crash;
use tribunal_engine::docket::Docket;
use tribunal_git::{Captured, GitError, Oid, Tree};
use tribunal_view::plain;

/// How much is told of what git could not take.
const TOLD_MAX: usize = 400;

/// Where a run keeps trees that git could not take.
pub(crate) fn place(run_dir: &Path) -> PathBuf {
    run_dir.join("kept")
}

/// Saves what is in a tree and takes it away; a tree with more in it than could be saved is kept. Returns the commits its
/// agent made itself.
pub(crate) fn take_away(site: &Site, name: &str, tree: &Tree) -> Result<Vec<(Oid, String)>, GitError> {
    let message = "what a lane held when its tree was taken away\n";
    let saved =
        free_snapshot(site, name).and_then(|to| site.repo.snapshot(tree, &to, message, &site.signature()));
    crash::point("lane:saved");
    let (left, own) = match saved {
        Ok(saved) => (saved.left(), saved.own_commits),
        Err(error) => (vec![error.to_string()], Vec::new()),
    };
    match left.is_empty() {
        true => site.shelf.shelve_worked(tree)?,
        false => set_aside(site, name, tree.path(), &left)?,
    }
    Ok(own)
}

/// Puts a tree aside if it holds what no commit does.
pub(crate) fn spare(site: &Site, name: &str, tree: &Tree) -> Result<(), GitError> {
    let left = tree.capture().map_or_else(|error| vec![error.to_string()], |captured| captured.left());
    if left.is_empty() { Ok(()) } else { set_aside(site, name, tree.path(), &left) }
}

fn set_aside(site: &Site, name: &str, tree: &Path, left: &[String]) -> Result<(), GitError> {
    let dir = place(&site.dir);
    let failed = |path: &Path| {
        let path = path.to_path_buf();
        move |source| GitError::Io { path, source }
    };
    fs::create_dir_all(&dir).map_err(failed(&dir))?;
    let mut n = 1;
    let place = loop {
        let place = dir.join(format!("{}-{n}", slug(name)));
        if place.symlink_metadata().is_err() {
            break place;
        }
        n += 1;
    };
    fs::rename(tree, &place).map_err(failed(tree))?;
    crash::point("kept:moved");
    let what = plain::clipped(&left.join("; "), TOLD_MAX);
    site.warn(format!(
        "git could not take all that {name} left, which is kept in {}: {what}",
        place.display()
    ));
    Ok(())
}

/// Says what of a tree is not in what is judged as its agent's work.
pub(crate) fn tell(site: &Site, name: &str, captured: &Captured) {
    if !captured.problems.is_empty() {
        let all: Vec<String> = captured.problems.iter().map(ToString::to_string).collect();
        let what = plain::clipped(&all.join("; "), TOLD_MAX);
        site.warn(format!("what is judged of {name} is not all that was left there: {what}"));
    }
}

/// What was put aside and not told, because whoever did it died.
pub(crate) fn untold(site: &Site, docket: &Docket) -> Vec<String> {
    let all = fs::read_dir(place(&site.dir)).into_iter().flatten().flatten();
    let all = all.map(|entry| entry.path().display().to_string());
    let told = |place: &String| docket.warnings.iter().any(|text| text.contains(&format!("{place}: ")));
    all.filter(|place| !told(place))
        .map(|place| {
            format!("git could not take all that was left in a tree, which is kept in {place}: see there")
        })
        .collect()
}

/// A name no snapshot of this tree has yet.
fn free_snapshot(site: &Site, name: &str) -> Result<String, GitError> {
    let mut n = 1;
    loop {
        let name = format!("refs/tribunal/snap/{}/{name}-{n}", site.run);
        if site.repo.ref_at(&name)?.is_none() {
            return Ok(name);
        }
        n += 1;
    }
}
