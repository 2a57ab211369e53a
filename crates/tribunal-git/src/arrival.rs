//! Whether a branch that contains a result's commit still has the result.
//!
//! History alone does not tell: a merge that kept only the other side, a revert, and an older tree committed on top all
//! contain the commit. This file looks at every file that the result changed; `tribunal_core::held` decides what
//! follows.

use std::collections::{BTreeMap, BTreeSet};

use tribunal_core::held::{Arrival, FileOnBranch, arrival};

use crate::open::fields;
use crate::run::failed;
use crate::{GitError, GitPath, Mode, Oid, Repo};

/// The mode and content of a file in a tree.
type Leaf = (Mode, Oid);

/// A result whose commit a branch contains.
#[derive(Clone, Copy, Debug)]
pub struct Arrived<'a> {
    /// The commit that the result is based on.
    pub old: &'a Oid,
    /// The commit of the result.
    pub new: &'a Oid,
    /// The commit at which the branch is now.
    pub at: &'a Oid,
    /// The folder of documents that accompany a result. They count only if the result has nothing else.
    pub beside: &'a GitPath,
}

impl Repo {
    /// Whether the branch has the result that it contains.
    ///
    /// Most files are settled by comparing ids. Only for the others the result is merged once more, which takes a
    /// process.
    pub fn arrival(&self, arrived: &Arrived<'_>) -> Result<Arrival, GitError> {
        let Arrived { old, new, at, beside } = *arrived;
        let mut result: BTreeSet<GitPath> = self.changed_paths(old, new)?.into_iter().collect();
        // People edit planning documents all the time; that must not make landed code look reverted.
        if result.iter().any(|path| !path.is_under(beside)) {
            result.retain(|path| !path.is_under(beside));
        }
        let (before, after, tip) = (Files::of(self, old)?, Files::of(self, new)?, Files::of(self, at)?);
        let mut found = BTreeMap::new();
        let mut unclear = Vec::new();
        for path in &result {
            match tip.plainly(path, &before, &after) {
                Some(stands) => drop(found.insert(path.clone(), stands)),
                None => unclear.push(path),
            }
        }
        if !unclear.is_empty() {
            found.extend(self.merged_files(arrived, &tip, &unclear)?);
        }
        let files: Vec<_> = found.into_iter().map(|(path, stands)| (path.to_string(), stands)).collect();
        Ok(arrival(&files))
    }

    /// Judges files that are neither as the result has them nor as they were before it: merging the result once more
    /// changes nothing where all of it is there.
    fn merged_files(
        &self,
        arrived: &Arrived<'_>,
        tip: &Files,
        unclear: &[&GitPath],
    ) -> Result<Vec<(GitPath, FileOnBranch)>, GitError> {
        let call = self.objects().args(["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages"]);
        let call = call.arg(format!("--merge-base={}", arrived.old)).args([arrived.at, arrived.new]);
        let name = call.name();
        let output = call.run()?;
        if !matches!(output.code(), Some(0 | 1)) {
            return Err(failed(&name, &output));
        }
        let mut parts = fields(&output.stdout);
        let tree = parts.next().ok_or_else(|| GitError::odd("merge-tree named no tree"))?;
        let merged = Files::of(self, &Oid::from_bytes(tree)?)?;
        let conflicts: BTreeSet<GitPath> = parts.map(GitPath::from).collect();
        let clash: Vec<&GitPath> = unclear.iter().copied().filter(|path| conflicts.contains(path)).collect();
        let elsewhere =
            if clash.is_empty() { BTreeSet::new() } else { self.other_versions(arrived, &clash)? };
        let stands = |path: &GitPath| {
            let now = tip.by_path.get(path);
            let version = (path.clone(), now.map(|(_, oid)| oid.clone()));
            match conflicts.contains(path) {
                // A conflict on a version that the other side already had means that the side without the result won.
                true if elsewhere.contains(&version) => FileOnBranch::AsBefore,
                true => FileOnBranch::Rewritten,
                false if merged.by_path.get(path) == now => FileOnBranch::ChangedAfter,
                false => FileOnBranch::Lacking,
            }
        };
        Ok(unclear.iter().map(|path| ((*path).clone(), stands(path))).collect())
    }

    /// The versions that these files had in commits of the branch that do not contain the result.
    fn other_versions(
        &self,
        arrived: &Arrived<'_>,
        paths: &[&GitPath],
    ) -> Result<BTreeSet<(GitPath, Option<Oid>)>, GitError> {
        let range = format!("{}..{}", arrived.new, arrived.at);
        let lines = self.objects().args(["rev-list", "--parents", "--ancestry-path", &range]).ok()?;
        let lines = String::from_utf8_lossy(&lines).into_owned();
        let with: BTreeSet<&str> = lines.lines().filter_map(|line| line.split(' ').next()).collect();
        let parents = lines.lines().flat_map(|line| line.split(' ').skip(1));
        // Parents that are not on a path from the result are where the sides without it begin.
        let without: BTreeSet<&str> = parents.filter(|parent| !with.contains(parent)).collect();
        let call = self.objects().env("GIT_LITERAL_PATHSPECS", "1");
        let call =
            call.args(["log", "-m", "-z", "--raw", "--root", "--no-abbrev", "--no-renames", "--format="]);
        let call = call.args(without).arg("--").args(paths.iter().map(|path| path.os()));
        let bytes = call.ok()?;
        let all: Vec<&[u8]> = fields(&bytes).filter(|field| !field.is_empty()).collect();
        let mut versions = BTreeSet::new();
        for pair in all.chunks(2) {
            let [about, path] = pair else { continue };
            let about = String::from_utf8_lossy(about).into_owned();
            // Mode, mode, old id, new id, kind.
            let mut words = about.trim_start_matches('\n').split(' ').skip(3);
            let (Some(oid), Some(kind)) = (words.next(), words.next()) else { continue };
            let oid = if kind.starts_with('D') { None } else { Some(Oid::parse(oid)?) };
            versions.insert((GitPath::from(*path), oid));
        }
        Ok(versions)
    }
}

/// The files of a commit or tree, by path and by content.
struct Files {
    by_path: BTreeMap<GitPath, Leaf>,
    oids: BTreeSet<Oid>,
}

impl Files {
    fn of(repo: &Repo, at: &Oid) -> Result<Files, GitError> {
        let entries = repo.list_tree(at)?;
        Ok(Files {
            oids: entries.iter().map(|entry| entry.oid.clone()).collect(),
            by_path: entries.into_iter().map(|entry| (entry.path, (entry.mode, entry.oid))).collect(),
        })
    }

    /// How a file stands, where its content alone can tell.
    fn plainly(&self, path: &GitPath, before: &Files, after: &Files) -> Option<FileOnBranch> {
        let [was, is, now] = [before, after, self].map(|files| files.by_path.get(path));
        // The result's version may lie under another name by now. A content that was there before proves nothing.
        let moved = |(_, oid): &Leaf| self.oids.contains(oid) && !before.oids.contains(oid);
        if now == is || is.is_some_and(moved) {
            return Some(FileOnBranch::Kept);
        }
        (now == was).then_some(FileOnBranch::AsBefore)
    }
}
