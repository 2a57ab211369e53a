//! What the project's own commands said of a tree in an earlier run, so that the same commit reviewed again is not built and
//! tested again. An answer is kept by everything it came from, beside those of the tools, where only Tribunal writes: no
//! launch sees the folder. Where launches are not contained, or share a folder that they can write, nothing is kept, because
//! code of one change could then speak for another.

use super::green::{KnownCommand, Seen};
use crate::land::write_atomic;
use crate::sandbox::{BORROWED, Sandbox};
use crate::site::{Site, now};
use crate::tool::cache::{ANSWERS_MAX, folder, leads_out, of_packages, oldest_first, programs_of};
use serde::{Deserialize, Serialize};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use tribunal_core::green::ProjectCommand;
use tribunal_git::{GitError, Oid};

/// What a changed form of these files is called by.
const FORM: &[u8] = b"tribunal project commands 1";
/// How long an answer is believed. Tests may depend on the date, or on what the network has.
const AGE_MAX_MS: u64 = 24 * 60 * 60 * 1_000;
/// Settings outside of the tree that builds and tests commonly read.
const OUTSIDE: [&str; 7] = [
    "~/.rustup/settings.toml",
    "~/.rustup/toolchains",
    "~/.cargo/config.toml",
    "~/.npmrc",
    "~/.config/pip",
    "~/.m2/settings.xml",
    "~/.gradle/gradle.properties",
];

/// Where an answer is kept: named by everything that it comes from.
pub(crate) struct CommandMemo {
    path: PathBuf,
    asked: String,
}

/// An answer, and when it was given.
#[derive(Serialize, Deserialize)]
struct Kept {
    /// What was asked, so that a file of another name is no answer.
    asked: String,
    at: u64,
    seen: Seen,
}

impl CommandMemo {
    /// The place for what a command says of a tree, a commit's own or one with files of the base put back. There is none
    /// where the answer may be another one tomorrow, or where anybody but Tribunal could have had a hand in it.
    pub(crate) fn of(
        site: &Site,
        command: ProjectCommand,
        known: &KnownCommand,
        tree: &Oid,
    ) -> Result<Option<CommandMemo>, GitError> {
        let settings = &site.settings;
        let contained = site.sandbox == Sandbox::Walls && settings.agents.writable.is_empty();
        if settings.checks.cache_mb == 0 || !contained || leads_out(site, tree)? {
            return Ok(None);
        }
        let env: Vec<String> = crate::check::KEPT
            .iter()
            .map(|name| format!("{name}={:?}", site.environment.get(*name)))
            .collect();
        let steps: Vec<&Vec<String>> = known.steps().collect();
        let (checks, name) = (&settings.checks, command.name());
        let said = (env!("CARGO_PKG_VERSION"), name, &steps, checks.timeout_s, &checks.prepare, env);
        let Ok(said) = serde_json::to_vec(&said) else { return Ok(None) };
        let names: Vec<String> = steps.iter().filter_map(|argv| argv.first().cloned()).collect();
        let Some(programs) = programs_of(site, &names, &OUTSIDE.map(str::to_owned)) else { return Ok(None) };
        let Some(around) = surroundings(site) else { return Ok(None) };
        let mut hasher = blake3::Hasher::new();
        for part in [FORM, &said, programs.as_bytes(), around.as_bytes(), tree.as_str().as_bytes()] {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
        }
        // Whole: whoever writes the code that is judged may look for two trees with one name.
        let asked = hasher.finalize().to_hex().to_string();
        let name = format!("project-{name}-{asked}.json");
        Ok(Some(CommandMemo { path: folder(&site.project).join("answers").join(name), asked }))
    }

    /// What it said before, if that is not too long ago.
    pub(crate) fn read(&self) -> Option<Seen> {
        let kept: Kept = serde_json::from_slice(&fs::read(&self.path).ok()?).ok()?;
        let age = now().0.checked_sub(kept.at)?;
        (kept.asked == self.asked && age <= AGE_MAX_MS && kept.seen.state.is_remembered())
            .then_some(kept.seen)
    }

    /// Keeps what it said; an earlier answer that it no longer stands by goes. That it cannot be kept costs time, and
    /// nothing else.
    pub(crate) fn keep(&self, seen: &Seen) {
        let Some(dir) = self.path.parent() else { return };
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

/// What else outside of the tree an answer comes from: the packages that a run borrows, and what is installed on the path.
fn surroundings(site: &Site) -> Option<String> {
    let mut text = String::new();
    for name in BORROWED {
        text.push_str(&of_packages(&site.project.root().join(name))?);
    }
    let path = site.environment.get("PATH").cloned().unwrap_or_default();
    for folder in std::env::split_paths(&path) {
        text.push_str(&of_folder(&folder));
    }
    Some(text)
}

/// A folder of programs by when something in it was added, removed or replaced.
fn of_folder(folder: &Path) -> String {
    let times = folder.metadata().map(|meta| (meta.ino(), meta.mtime(), meta.mtime_nsec()));
    format!("{} {:?}\n", folder.display(), times.ok())
}
