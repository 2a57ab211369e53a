//! A tool's second look, with its settings as the base has them.
//!
//! A change that also changes a tool's settings could hide what the tool would find in it. The tool is therefore asked
//! twice: findings on changed lines that only the base's settings produce are kept, and say where they come from.

use super::tools::{Asked, Looked, changed_files, detect_one, sorted};
use crate::context::RunContext;
use std::collections::BTreeSet;
use tribunal_agent::tool::{PutBack, Tool};
use tribunal_core::defence::{Defence, stands};
use tribunal_core::finding::Claim;
use tribunal_core::judge_files::{extended_in, named_in};
use tribunal_findings::track::Change;
use tribunal_git::{GitError, GitPath, Oid};

/// How many levels of imports or `extends` are followed from a settings file.
const DEPTH: usize = 3;
/// Endings of settings that are code.
const CODE: [&str; 7] = [".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".py"];
/// Endings of settings that are data and may extend others.
const DATA: [&str; 8] = [".toml", ".json", ".jsonc", ".yaml", ".yml", ".ini", ".cfg", ".conf"];
/// How many places of switched-off rules are named.
const NAMED_MAX: usize = 5;

/// A change with a tool's settings as the base has them.
struct OldSettings {
    tree: Oid,
    files: BTreeSet<String>,
}

impl OldSettings {
    /// Makes that tree; none if the change leaves the settings alone.
    fn of(
        context: &RunContext,
        tool: &Tool,
        base: &Oid,
        commit: &Oid,
    ) -> Result<Option<OldSettings>, GitError> {
        let repo = &context.repo;
        let changed: BTreeSet<String> =
            repo.changed_paths(base, commit)?.iter().map(ToString::to_string).collect();
        let text = |at: &Oid, path: &str| -> Result<Option<String>, GitError> {
            let bytes = repo.file_at(at, &GitPath::from(path))?;
            Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
        };
        let (mut whole, mut placed) = (imported(context, tool, base, &changed)?, Vec::new());
        for path in changed.iter().filter(|path| tool.has_settings_in(path)) {
            match tool.put_back(path, text(base, path)?.as_deref(), text(commit, path)?.as_deref()) {
                PutBack::Nothing => {}
                PutBack::Whole => drop(whole.insert(path.clone())),
                // A file such as `pyproject.toml` holds more than the tool's settings. Only its section is put back.
                PutBack::Text(text) => {
                    placed.push((GitPath::from(path.as_str()), repo.write_blob(text.as_bytes())?));
                }
            }
        }
        if whole.is_empty() && placed.is_empty() {
            return Ok(None);
        }
        let paths: Vec<GitPath> = whole.iter().map(|path| GitPath::from(path.as_str())).collect();
        let tree = repo.tree_with(&repo.tree_placing(commit, &placed)?, base, &paths)?;
        whole.extend(placed.iter().map(|(path, _)| path.to_string()));
        Ok(Some(OldSettings { tree, files: whole }))
    }
}

/// Changed files that settings of the base import, extend or link to.
///
/// A configuration in JavaScript consists of its modules, so changing a module changes the settings.
fn imported(
    context: &RunContext,
    tool: &Tool,
    base: &Oid,
    changed: &BTreeSet<String>,
) -> Result<BTreeSet<String>, GitError> {
    let is_code = |path: &str| CODE.iter().any(|end| path.ends_with(end));
    let known: BTreeSet<String> =
        context.repo.list_tree(base)?.iter().map(|entry| entry.path.to_string()).collect();
    let is_data = |path: &str| DATA.iter().any(|end| path.ends_with(end));
    let mut open: Vec<String> = known.iter().filter(|path| tool.has_settings_in(path)).cloned().collect();
    let (mut seen, mut found) = (BTreeSet::new(), BTreeSet::new());
    for _ in 0..DEPTH {
        let mut next = Vec::new();
        for path in open {
            let Some(bytes) = context.repo.file_at(base, &GitPath::from(path.as_str()))? else { continue };
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            let text = String::from_utf8_lossy(&bytes);
            let named = if is_code(&path) { named_in(&text, folder) } else { extended_in(&text, folder) };
            // The content of a link is its target, one line without an end; it may lead to a file of any name.
            let is_link = !text.contains('\n');
            // Only a file that the base has can be put back as the base has it.
            let may_steer =
                |path: &String| known.contains(path) && (is_link || is_code(path) || is_data(path));
            next.extend(named.into_iter().filter(may_steer));
        }
        // Settings may extend each other in a circle.
        next.retain(|path| seen.insert(path.clone()));
        found.extend(next.iter().filter(|path| changed.contains(*path)).cloned());
        open = next;
    }
    Ok(found)
}

impl Asked<'_> {
    /// Adds what the tool says with the base's settings. The inner error says why it could not be asked.
    pub(crate) fn also_by_base(
        &self,
        mut looked: Looked,
        change: &Change,
        (base, commit): (&Oid, &Oid),
    ) -> Result<Result<Looked, String>, GitError> {
        if !stands(Defence::BaseToolSettings) {
            return Ok(Ok(looked));
        }
        looked.notes.extend(self.muted(change, commit)?);
        let Some(old) = OldSettings::of(self.context, self.tool, base, commit)? else {
            return Ok(Ok(looked));
        };
        let name = &self.tool.name;
        let files = old.files.iter().cloned().collect::<Vec<String>>().join(", ");
        let mut changed = changed_files(change);
        // The settings files themselves are left out: they are the base's again in this tree.
        changed.retain(|path| !old.files.contains(path));
        let Some(reviewer) = detect_one(&self.context.repo, self.tool, base, &old.tree, &changed, &|_| true)?
        else {
            if changed.iter().any(|path| self.tool.is_for(path)) {
                looked.notes.push(format!(
                    "this change brings the settings that {name} judges it by ({files}); the base has none"
                ));
            }
            return Ok(Ok(looked));
        };
        let (at, index) = (self.dir.join("settings"), self.dir.join("settings-index"));
        let tree = self.context.worktree_pool.checkout_as(&at, &index, commit, &old.tree, "check")?;
        let (run, cache) = (format!("{}-settings", self.name), self.dir.join("settings-cache"));
        let again = Asked { name: &run, reviewer: &reviewer, tree: &tree, cache: &cache, ..*self };
        let failed = |why: &str| {
            format!(
                "{name} did not run with the settings of the base, and this change changes them ({files}): {why}\n\
                 hint: look at the changed settings and decide, or change them in a change of their own"
            )
        };
        let report = match again.ask(&changed)? {
            Ok(report) => report,
            Err(why) => return Ok(Err(failed(&why))),
        };
        let (by_base, stopped) = sorted(self.tool, report, change);
        // A tool that stops only with the base's settings has not judged the change, so nothing can be concluded.
        if let Some(why) = stopped.filter(|_| looked.missed.is_none()) {
            return Ok(Err(failed(&why)));
        }
        let key = |claim: &Claim| (claim.file.clone(), claim.line, claim.rule.clone(), claim.claim.clone());
        let known: BTreeSet<_> = looked.found.iter().map(key).collect();
        // A finding in a settings file is about the base's text, which the change has replaced.
        let is_of_settings = |claim: &Claim| claim.file.as_ref().is_some_and(|file| old.files.contains(file));
        let hidden =
            by_base.found.into_iter().filter(|one| !known.contains(&key(one)) && !is_of_settings(one));
        let told = |claim: Claim| Claim {
            claim: format!(
                "{} (found with the base's settings; this change's settings hide it: {files})",
                claim.claim
            ),
            ..claim
        };
        looked.found.extend(hidden.map(told));
        looked.unread.extend(by_base.unread);
        Ok(Ok(looked))
    }

    /// Names the added lines that switch rules off.
    fn muted(&self, change: &Change, commit: &Oid) -> Result<Option<String>, GitError> {
        let mut places = Vec::new();
        let files = change.files().iter().filter(|_| !self.tool.mutes.is_empty());
        for (path, file) in files.filter_map(|file| Some((file.new.as_deref()?, file))) {
            if !self.tool.is_for(path) {
                continue;
            }
            let Some(bytes) = self.context.repo.file_at(commit, &GitPath::from(path))? else { continue };
            let text = String::from_utf8_lossy(&bytes);
            let lines: Vec<&str> = text.lines().collect();
            let added = file.hunks.iter().flat_map(|hunk| hunk.new_start..hunk.new_start + hunk.new_len);
            let mutes = |n: &u32| {
                let line = lines.get((*n as usize).wrapping_sub(1)).copied().unwrap_or_default();
                self.tool.mutes_in(line)
            };
            places.extend(added.filter(mutes).map(|n| format!("{path}:{n}")));
        }
        if places.is_empty() {
            return Ok(None);
        }
        let count = places.len();
        let lines = if count == 1 { "line" } else { "lines" };
        let more = if count > NAMED_MAX { ", …" } else { "" };
        let named = places.into_iter().take(NAMED_MAX).collect::<Vec<String>>().join(", ");
        Ok(Some(format!(
            "this change switches off rules of {} on {count} added {lines}: {named}{more}",
            self.tool.name
        )))
    }
}
