//! Remembers what the project's own commands said about a tree, so that the same commit is not built and tested twice.
//!
//! An answer is kept under a digest of everything it came from, in a folder that no launch sees. Where launches are not
//! contained, or share a folder that they can write, nothing is kept: code of one change could then speak for another.

use super::green::{KnownCommand, Seen};
use crate::context::{RunContext, now};
use crate::sandbox::{BORROWED, Sandbox};
use crate::tool::cache::{ANSWERS_MAX, folder, leads_out, of_packages, oldest_first, programs_of};
use crate::write_atomic;
use serde::{Deserialize, Serialize};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use tribunal_core::green::ProjectCommand;
use tribunal_git::{GitError, Oid};

/// Part of every key. Change it when the form of the stored files changes.
const FORM: &[u8] = b"tribunal project commands 2";
/// How long an answer is believed. Tests may depend on the date, or on the network.
const AGE_MAX_MS: u64 = 24 * 60 * 60 * 1_000;
/// Settings outside the tree that builds and tests commonly read. They are part of the digest.
const OUTSIDE: [&str; 7] = [
    "~/.rustup/settings.toml",
    "~/.rustup/toolchains",
    "~/.cargo/config.toml",
    "~/.npmrc",
    "~/.config/pip",
    "~/.m2/settings.xml",
    "~/.gradle/gradle.properties",
];

/// The place of an answer, named by everything that the answer comes from.
pub(crate) struct CommandMemo {
    path: PathBuf,
    asked: String,
}

/// An answer, and when it was given.
#[derive(Serialize, Deserialize)]
struct Kept {
    /// The digest of the question, so that a renamed file is not taken for an answer.
    asked: String,
    at: u64,
    seen: Seen,
}

impl CommandMemo {
    /// The place for a command's answer about a tree: a commit's own, or one with files of the base put back.
    ///
    /// There is none where the answer could change by itself, or where anything but Tribunal could have written it.
    pub(crate) fn of(
        context: &RunContext,
        command: ProjectCommand,
        known: &KnownCommand,
        tree: &Oid,
    ) -> Result<Option<CommandMemo>, GitError> {
        let settings = &context.settings;
        // A folder that every launch can write outlives the change that wrote to it.
        let contained = context.sandbox == Sandbox::Raised && settings.agents.writable.is_empty();
        if settings.checks.cache_mb == 0 || !contained || leads_out(context, tree)? {
            return Ok(None);
        }
        let env: Vec<String> = crate::check::KEPT
            .iter()
            .map(|name| format!("{name}={:?}", context.environment.get(*name)))
            .collect();
        let steps: Vec<&Vec<String>> = known.steps().collect();
        let (checks, name) = (&settings.checks, command.name());
        let said = (env!("CARGO_PKG_VERSION"), name, &steps, checks.timeout_s, &checks.prepare, env);
        let Ok(said) = serde_json::to_vec(&said) else { return Ok(None) };
        let names: Vec<String> = steps.iter().filter_map(|argv| argv.first().cloned()).collect();
        let Some(programs) = programs_of(context, &names, &OUTSIDE.map(str::to_owned)) else {
            return Ok(None);
        };
        let Some(around) = surroundings(context) else { return Ok(None) };
        // Each part with its length, so that two different splits of the same bytes have two digests.
        let mut hasher = blake3::Hasher::new();
        for part in [FORM, &said, programs.as_bytes(), around.as_bytes(), tree.as_str().as_bytes()] {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
        }
        // The whole digest: whoever writes the judged code may search for two trees with the same short name.
        let asked = hasher.finalize().to_hex().to_string();
        let name = format!("project-{name}-{asked}.json");
        Ok(Some(CommandMemo { path: folder(&context.project).join("answers").join(name), asked }))
    }

    /// The remembered answer, unless it is too old.
    pub(crate) fn read(&self) -> Option<Seen> {
        let kept: Kept = serde_json::from_slice(&fs::read(&self.path).ok()?).ok()?;
        // An answer from the future, after the clock went back, is not believed.
        let age = now().0.checked_sub(kept.at)?;
        (kept.asked == self.asked && age <= AGE_MAX_MS && kept.seen.state.is_remembered())
            .then_some(kept.seen)
    }

    /// Keeps an answer, and removes an earlier one that no longer holds. A failure to keep it costs time and nothing
    /// else.
    pub(crate) fn keep(&self, seen: &Seen) {
        let Some(dir) = self.path.parent() else { return };
        // A flaky or unknown result is not remembered, and it disproves what was remembered before.
        if !seen.state.is_remembered() {
            let _ = fs::remove_file(&self.path);
            return;
        }
        let kept = Kept { asked: self.asked.clone(), at: now().0, seen: seen.clone() };
        let Ok(bytes) = serde_json::to_vec(&kept) else { return };
        let _ = fs::create_dir_all(dir).and_then(|()| write_atomic(&self.path, &bytes));
        let mut all = oldest_first(dir);
        let many = all.len().saturating_sub(ANSWERS_MAX);
        all.drain(..many).for_each(|(_, path)| _ = fs::remove_file(path));
    }
}

/// Everything else outside the tree that an answer depends on: borrowed packages, and programs on the path.
fn surroundings(context: &RunContext) -> Option<String> {
    let mut text = String::new();
    for name in BORROWED {
        text.push_str(&of_packages(&context.project.root().join(name))?);
    }
    let path = context.environment.get("PATH").cloned().unwrap_or_default();
    for folder in std::env::split_paths(&path) {
        text.push_str(&of_folder(&folder));
    }
    Some(text)
}

/// Identifies a folder of programs by the time at which an entry was last added, removed or replaced.
fn of_folder(folder: &Path) -> String {
    let times = folder.metadata().map(|meta| (meta.ino(), meta.mtime(), meta.mtime_nsec()));
    format!("{} {:?}\n", folder.display(), times.ok())
}
