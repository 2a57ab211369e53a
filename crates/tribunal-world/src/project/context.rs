//! What every prompt of a run begins with: the first two tiers of the context, read once when the run begins and kept in
//! its folder, so that they are the same bytes for every agent of a family, in every round and after a crash.

use super::Project;
use super::error::SetupError;
use crate::gates::{FAMILIES, Ground, tiers};
use crate::land::write_atomic;
use crate::site::{Site, lock};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tribunal_view::context;

fn file(run_dir: &Path, family: &str) -> PathBuf {
    run_dir.join(format!("context-{family}.md"))
}

/// Keeps the documents as they are now; a project without any has no context.
pub(crate) fn keep(project: &Project, run_dir: &Path, phase: &str) -> Result<(), SetupError> {
    let ground = Ground::new(project.root());
    for family in FAMILIES {
        let (shared, own) = tiers(&ground, family);
        if shared.is_empty() && own.is_empty() {
            continue;
        }
        let path = file(run_dir, family);
        let text = context::opening(family, phase, &shared, &own);
        write_atomic(&path, text.as_bytes()).map_err(|error| SetupError::io("write", &path, &error))?;
    }
    Ok(())
}

impl Site {
    /// A prompt with what its role's family reads before it.
    pub(crate) fn with_context(&self, role: &str, prompt: &str) -> String {
        format!("{}{prompt}", self.context(role))
    }

    fn context(&self, role: &str) -> Arc<str> {
        let family = context::family(role);
        let mut kept = lock(&self.contexts);
        let known = kept.entry(family).or_insert_with(|| {
            let text = std::fs::read_to_string(file(&self.dir, family));
            Arc::from(text.unwrap_or_default())
        });
        Arc::clone(known)
    }

    /// Tokens of what an agent was told beyond the first two tiers, by the prompt its launch left.
    pub(crate) fn told(&self, role: &str, launch: &Path) -> u64 {
        let whole = launch.join(tribunal_agent::PROMPT_FILE).symlink_metadata().map_or(0, |meta| meta.len());
        let context = u64::try_from(self.context(role).len()).unwrap_or(0);
        // Who went on in a session was not told them again.
        whole.checked_sub(context).unwrap_or(whole).div_ceil(4)
    }
}
