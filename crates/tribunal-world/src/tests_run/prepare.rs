//! Prepares checkouts for the commands that judge them, by `checks.prepare`: a command that installs packages and has
//! the network for that. What it leaves is what git ignores; it is kept by the lock files it came from, and copied into
//! every checkout that has the same ones.
//!
//! `tribunal-core` decides whether the base's code or the change's runs in it, because the command has the network and
//! its result may be shared. A checkout that cannot be prepared is not judged: the check did not run.

use crate::build::make::digest;
use crate::check::{Command, contained, ended, tail};
use crate::context::{RunContext, lock};
use crate::sandbox::Sandbox;
use crate::tool::cache::{copy_folder, folder, keep_prepared, programs_of};
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use tribunal_core::prepare::{LockFiles, PreparedFrom, is_lock_file, prepared_from};
use tribunal_git::{GitError, GitPath, Oid};
use tribunal_process::ExitHow;

/// The version of the folder format. It is part of every name, so that a change of format finds no old folder.
const FORM: &[u8] = b"tribunal prepared 1";
/// What the command left, below the folder that is kept.
const DATA: &str = "data";
/// The mark of a complete folder, written last. Without it, the data may be half of something.
const WHOLE: &str = "whole";

/// What is prepared: a commit, and the tree that is looked at. The tree may have files of the base put back.
#[derive(Clone, Copy)]
pub(crate) struct Judged<'a> {
    pub(crate) commit: &'a Oid,
    pub(crate) tree: &'a Oid,
}

/// Puts what `checks.prepare` leaves into a fresh checkout. The error says why the checkout is not ready.
pub(crate) fn prepare(context: &RunContext, judged: Judged<'_>, checkout: &Path) -> Result<(), String> {
    let argv = &context.settings.checks.prepare;
    if argv.is_empty() {
        return Ok(());
    }
    let shown = argv.join(" ");
    let why = |error: String| format!("`{shown}` (checks.prepare) did not run: {error}");
    let place = Place::of(context, judged).map_err(|error| why(error.to_string()))?;
    // Held until the copy is complete: a cleanup must not remove the data meanwhile.
    let _held = place.lock().map_err(|error| why(error.to_string()))?;
    if !place.dir.join(WHOLE).exists() {
        place.fill(context, &shown)?;
    }
    place.copy_to(checkout).map_err(|error| why(error.to_string()))?;
    if place.is_shared {
        keep_prepared(context, &place.dir);
    }
    Ok(())
}

/// Where prepared data is kept, and what it is made from.
///
/// Data made from the base may be shared with other runs. Data made from a change runs that change's code, so it stays
/// in the run.
struct Place {
    dir: PathBuf,
    /// The commit and the tree that the command runs on.
    commit: Oid,
    tree: Oid,
    /// Other runs may use it.
    is_shared: bool,
}

impl Place {
    fn of(context: &RunContext, judged: Judged<'_>) -> Result<Place, GitError> {
        let Some(base) = lock(&context.judged_from).clone() else {
            return Err(GitError::Odd { what: "it is not known what the change begins from".to_owned() });
        };
        let base = Oid::parse(&base)?;
        let (of_base, of_change) = (locks(context, &base)?, locks(context, judged.tree)?);
        let argv = serde_json::to_vec(&context.settings.checks.prepare).unwrap_or_default();
        match prepared_from(&of_base, &of_change) {
            PreparedFrom::Base => {
                let names: Vec<String> =
                    context.settings.checks.prepare.first().cloned().into_iter().collect();
                // The installer's own version is part of the name: another one may install other files from the same
                // lock files.
                let (programs, locks) = (programs_of(context, &names, &[]), serde_json::to_vec(&of_base));
                // Without a sandbox any launch could write to the shared folder, so nothing is shared then.
                let kept = context.settings.checks.cache_mb > 0 && context.sandbox == Sandbox::Raised;
                let is_shared = kept && programs.is_some();
                let root = if is_shared { folder(&context.project) } else { context.dir.clone() };
                let parts =
                    [FORM, &argv, &locks.unwrap_or_default(), programs.unwrap_or_default().as_bytes()]
                        .map(<[u8]>::to_vec);
                let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
                let dir = root.join("prepared").join(format!("base-{}", digest(&parts)));
                Ok(Place { dir, tree: context.repo.tree_of(&base)?, commit: base, is_shared })
            }
            PreparedFrom::Change => {
                let name = digest(&[FORM, &argv, judged.tree.as_str().as_bytes()]);
                let dir = context.dir.join("prepared").join(format!("change-{name}"));
                let (commit, tree) = (judged.commit.clone(), judged.tree.clone());
                Ok(Place { dir, commit, tree, is_shared: false })
            }
        }
    }

    /// Waits until nobody else makes, uses or removes it.
    fn lock(&self) -> io::Result<File> {
        loop {
            fs::create_dir_all(&self.dir)?;
            let path = self.dir.join("lock");
            let lock = File::options().create(true).truncate(false).write(true).open(&path)?;
            flock(&lock, FlockOperation::LockExclusive)?;
            // The lock may have been taken on a file that a cleanup removed in between. It would protect nothing then.
            if path.exists() {
                return Ok(lock);
            }
        }
    }

    /// Runs the command in a checkout of its own, and keeps the files it left that git ignores.
    fn fill(&self, context: &RunContext, shown: &str) -> Result<(), String> {
        let name = self.dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let dir = context.dir.join("checks").join(format!("prepare-{name}"));
        let made = self.made(context, shown, &format!("prepare-{name}"), &dir);
        let _ = context.worktree_pool.discard(&dir);
        made
    }

    fn made(&self, context: &RunContext, shown: &str, name: &str, dir: &Path) -> Result<(), String> {
        let why = |error: &dyn std::fmt::Display| format!("`{shown}` (checks.prepare) did not run: {error}");
        let (path, data) = (dir.join("tree"), self.dir.join(DATA));
        context
            .worktree_pool
            .discard(dir)
            .and_then(|_| context.worktree_pool.discard(&data))
            .map_err(|error| why(&error))?;
        fs::create_dir_all(dir).and_then(|()| fs::create_dir_all(&data)).map_err(|error| why(&error))?;
        let tree = context
            .worktree_pool
            .checkout_as(&path, &dir.join("index"), &self.commit, &self.tree, "prepare")
            .map_err(|error| why(&error))?;
        let argv = context.settings.checks.prepare.clone();
        let command = Command { argv, shown: shown.to_owned(), network: Some(true), ..Command::default() };
        let (how, out) = contained(context, name, 0, &path, dir, &command)?;
        if how != ExitHow::Code(0) {
            let said = [tail(&out.join("stdout")), tail(&out.join("stderr"))].join("\n");
            let last: Vec<&str> =
                said.lines().rev().filter(|line| !line.trim().is_empty()).take(LINES).collect();
            let last: Vec<&str> = last.into_iter().rev().collect();
            let end = ended(&how);
            return Err(format!("`{shown}` (checks.prepare) fails with {end}: {}", last.join(" | ")));
        }
        let left = tree.ignored().map_err(|error| why(&error))?;
        // If git does not ignore what the command made, there is nothing to copy, and no checkout would be prepared.
        if left.is_empty() {
            return Err(why(&"it left nothing that git ignores; name the folders it makes in .gitignore"));
        }
        for one in left {
            let to = one.under(&data);
            let above = to.parent().unwrap_or(&data);
            fs::create_dir_all(above)
                .and_then(|()| fs::rename(one.under(&path), &to))
                .map_err(|error| why(&error))?;
        }
        fs::write(self.dir.join(WHOLE), list(&self.dir).join("\n")).map_err(|error| why(&error))
    }

    /// Copies the data into a checkout. Files that the change has there stay, and nothing is written through its links.
    fn copy_to(&self, checkout: &Path) -> io::Result<()> {
        let (data, mut rest) = (self.dir.join(DATA), vec![PathBuf::new()]);
        while let Some(inside) = rest.pop() {
            for entry in fs::read_dir(data.join(&inside))? {
                let entry = entry?;
                let at = inside.join(entry.file_name());
                let (from, to) = (entry.path(), checkout.join(&at));
                let there = to.symlink_metadata().ok();
                match (there, entry.file_type()?) {
                    // A folder of the tree with prepared files below it, such as a package of a workspace.
                    (Some(meta), kind) if meta.is_dir() && kind.is_dir() => rest.push(at),
                    // The change's own entry stays, a link included: `symlink_metadata` did not follow it.
                    (Some(_), _) => {}
                    (None, kind) if kind.is_dir() => copy_folder(&from, &to)?,
                    (None, kind) if kind.is_symlink() => {
                        std::os::unix::fs::symlink(fs::read_link(&from)?, &to)?
                    }
                    (None, kind) if kind.is_file() => fs::copy(&from, &to).map(drop)?,
                    (None, _) => {}
                }
            }
        }
        Ok(())
    }
}

/// How many lines of a failed command's output are shown.
const LINES: usize = 8;

fn list(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir.join(DATA)).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// The lock files of a commit or tree.
fn locks(context: &RunContext, at: &Oid) -> Result<LockFiles, GitError> {
    let entries = context.repo.list_tree(at)?.into_iter().map(|entry| (entry.path, entry.oid));
    let locks = entries.filter(|(path, _): &(GitPath, Oid)| is_lock_file(&path.to_string()));
    Ok(locks.map(|(path, oid)| (path.to_string(), oid.to_string())).collect())
}
