//! What every prompt of a run begins with: the first two tiers of the context, read once when the run begins and kept in
//! its folder, so that they are the same bytes for every agent of a family, in every round and after a crash.

use super::error::SetupError;
use super::land::write_atomic;
use super::project::Project;
use super::site::{Site, lock};
use crate::gates::{FAMILIES, Ground, tiers};
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
        let family = context::family(role);
        let mut kept = lock(&self.contexts);
        let known = kept.entry(family).or_insert_with(|| {
            let text = std::fs::read_to_string(file(&self.dir, family));
            Arc::from(text.unwrap_or_default())
        });
        format!("{known}{prompt}")
    }
}
