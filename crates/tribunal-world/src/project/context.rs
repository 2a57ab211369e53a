//! The beginning of every prompt of a run: the first two tiers of the context.
//!
//! They are read once when the run begins and kept in its folder. So they are the same bytes for every agent of a
//! family, in every round and after a crash, which also lets a model provider cache them.

use super::Project;
use super::error::SetupError;
use super::inside;
use crate::context::{RunContext, lock};
use crate::write_atomic;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tribunal_view::context;

const SHARED: [&str; 4] = ["PROJECT.md", "CODEBASE.md", "codebase/STACK.md", "codebase/CONVENTIONS.md"];
const PLANNING: [&str; 5] = [
    "ROADMAP.md",
    "REQUIREMENTS.md",
    "codebase/ARCHITECTURE.md",
    "codebase/STRUCTURE.md",
    "codebase/DEPENDENCIES.md",
];
const EXECUTION: [&str; 6] = [
    "ROADMAP.md",
    "codebase/ARCHITECTURE.md",
    "codebase/PATTERNS.md",
    "codebase/STRUCTURE.md",
    "codebase/TESTING.md",
    "codebase/DEPENDENCIES.md",
];

/// The families of roles.
pub const FAMILIES: [&str; 2] = ["planning", "execution"];

/// The documents for everybody, and those for this family.
pub fn tiers(root: &Path, planning: &str, family: &str) -> (Vec<context::Part>, Vec<context::Part>) {
    let text = |path: &str| {
        let bytes = inside::read(root, path)?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    };
    let part = |name: &&str| {
        // Some projects keep roadmap and requirements beside the map of the code.
        let places = [format!("{planning}/{name}"), format!("{planning}/codebase/{name}")];
        let text = places.iter().find_map(|place| text(place))?;
        Some(context::Part { name: (*name).to_owned(), text })
    };
    let own: &[&str] = if family == "planning" { &PLANNING } else { &EXECUTION };
    (SHARED.iter().filter_map(part).collect(), own.iter().filter_map(part).collect())
}

fn file(run_dir: &Path, family: &str) -> PathBuf {
    run_dir.join(format!("context-{family}.md"))
}

/// Keeps the documents as they are now. A project without documents has no context.
pub(crate) fn keep(project: &Project, run_dir: &Path, phase: &str) -> Result<(), SetupError> {
    for family in FAMILIES {
        let (shared, own) = tiers(project.root(), project.planning(), family);
        if shared.is_empty() && own.is_empty() {
            continue;
        }
        let path = file(run_dir, family);
        let text = context::opening(family, phase, &shared, &own);
        write_atomic(&path, text.as_bytes()).map_err(|error| SetupError::io("write", &path, &error))?;
    }
    Ok(())
}

impl RunContext {
    /// A prompt with the context of its role's family before it.
    pub(crate) fn with_context(&self, role: &str, prompt: &str) -> String {
        format!("{}{prompt}", self.context(role))
    }

    fn context(&self, role: &str) -> Arc<str> {
        // Read once for each family, so that every prompt of the run begins with the same bytes.
        let family = context::family(role);
        let mut kept = lock(&self.contexts);
        let known = kept.entry(family).or_insert_with(|| {
            let text = std::fs::read_to_string(file(&self.dir, family));
            Arc::from(text.unwrap_or_default())
        });
        Arc::clone(known)
    }

    /// Estimates the tokens of a prompt beyond the first two tiers, from the prompt file of the launch.
    pub(crate) fn told(&self, role: &str, launch: &Path) -> u64 {
        let whole = launch.join(tribunal_agent::PROMPT_FILE).symlink_metadata().map_or(0, |meta| meta.len());
        let context = u64::try_from(self.context(role).len()).unwrap_or(0);
        // A launch that continues a session is not given the context again, so its prompt may be shorter than the
        // context.
        whole.checked_sub(context).unwrap_or(whole).div_ceil(4)
    }
}
