//! Gathers the facts for a map of the repository: names from git, sizes from the worktree, history from the last
//! commits.
//!
//! It reads and changes nothing. `tribunal-view` turns the facts into words.

use super::Project;
use super::error::SetupError;
use crate::project::inside::read_plain;
use std::collections::BTreeMap;
use tribunal_git::{Archive, Oid};
use tribunal_view::map::{self, Ground};

/// How many commits are read to find files that change often.
const COMMITS: usize = 200;

/// The map of a project as it is committed.
pub fn codebase(project: &Project) -> Result<String, SetupError> {
    let head = project.repo().head()?.commit;
    let size = |path: &str| {
        // A file that is deleted or a link in the worktree counts as empty; links are never followed.
        let meta = project.root().join(path).symlink_metadata().ok();
        meta.filter(std::fs::Metadata::is_file).map_or(0, |meta| meta.len())
    };
    // Plans describe the code; they are not part of it.
    let planning = format!("{}/", project.planning());
    let files: Vec<(String, u64)> = project
        .repo()
        .list_tree(&head)?
        .into_iter()
        .map(|entry| entry.path.to_string())
        .filter(|path| !path.starts_with(&planning))
        .map(|path| (path.clone(), size(&path)))
        .collect();
    let archive = Archive::open(project.root())?;
    let commits: Vec<Oid> = archive.latest(&head, COMMITS)?.into_iter().map(|commit| commit.oid).collect();
    let mut touched: BTreeMap<String, u32> = BTreeMap::new();
    for one in archive.touched(&commits)?.into_values().flatten() {
        *touched.entry(one.path.to_string()).or_default() += 1;
    }
    let text = |path: &str| {
        let bytes = read_plain(&project.root().join(path)).ok()?;
        String::from_utf8(bytes).ok()
    };
    Ok(map::codebase(&Ground { files: &files, text: &text, touched: &touched, commits: commits.len() }))
}
