//! The artifact registry as a run fills it: which files a task made when it was confirmed, and how they landed.
//!
//! A line belongs to one event and one file and is written once, whenever the process died. It reads git, adds lines,
//! and decides nothing.

use crate::{Artifact, Event, Folder, REGISTRY, registered};
use std::collections::{BTreeMap, BTreeSet};
use tribunal_git::{GitError, GitPath, Oid};
use tribunal_world::Project;
use tribunal_world::sha256;

/// An event that files belong to.
#[derive(Clone, Debug)]
pub(super) struct Claim {
    event_id: String,
    phase: String,
    plan: String,
    ts: String,
    made: Made,
}

#[derive(Clone, Debug)]
enum Made {
    /// The approved revision of a task.
    Task(String),
    /// The work of a plan, as it landed.
    Landed,
}

impl Claim {
    /// What an event says was made; none for most events.
    pub(super) fn of(event: &Event) -> Option<Claim> {
        let made = match event.event.as_str() {
            // Without a revision there is no commit to read the files from.
            "task_completed_confirmed" => Made::Task(event.data.get("revision")?.as_str()?.to_owned()),
            "plan_end" => Made::Landed,
            _ => return None,
        };
        Some(Claim {
            event_id: event.event_id.clone(),
            phase: event.phase.clone(),
            plan: event.plan.clone(),
            ts: event.ts.clone(),
            made,
        })
    }

    /// The plan's number without its phase's, as the registry has it.
    fn number(&self) -> &str {
        let rest = self.plan.strip_prefix(&self.phase).and_then(|rest| rest.strip_prefix('-'));
        rest.unwrap_or(&self.plan)
    }
}

/// What the registry holds about a run, and where the rest comes from.
pub(super) struct Registry {
    project: Project,
    run: String,
    /// The newest hash of each file, by plan.
    newest: BTreeMap<String, BTreeMap<String, String>>,
    known: BTreeSet<(String, String)>,
    /// The last event that has lines. The events before it have all of theirs.
    last: Option<(u64, u64)>,
}

/// The position of an event in its run's journal, from its id.
fn position(event_id: &str) -> Option<(u64, u64)> {
    let (seq, n) = event_id.rsplit_once(':')?.1.split_once('.')?;
    Some((seq.parse().ok()?, n.parse().ok()?))
}

impl Registry {
    /// Reads the entries of this run.
    pub(super) fn open(project: &Project, folder: &Folder, run: &str) -> Registry {
        let mut registry = Registry {
            project: project.clone(),
            run: run.to_owned(),
            newest: BTreeMap::new(),
            known: BTreeSet::new(),
            last: None,
        };
        let own = format!("{run}:");
        for artifact in registered(folder).unwrap_or_default() {
            if artifact.event_id.starts_with(&own) {
                registry.note(&artifact);
            }
        }
        registry
    }

    fn note(&mut self, artifact: &Artifact) {
        self.last = self.last.max(position(&artifact.event_id));
        self.known.insert((artifact.event_id.clone(), artifact.path.clone()));
        let files = self.newest.entry(artifact.plan.clone()).or_default();
        files.insert(artifact.path.clone(), artifact.sha256.clone());
    }

    /// Adds the lines of an event that are not there yet.
    pub(super) fn add(&mut self, folder: &Folder, claim: &Claim) -> Result<(), String> {
        // Events are added in order. The last one may be incomplete after a crash, so it is looked at again.
        if position(&claim.event_id) < self.last {
            return Ok(());
        }
        let found = match &claim.made {
            Made::Task(revision) => self.of_task(revision),
            Made::Landed => self.of_landing(claim),
        };
        for (path, sha256) in found.map_err(|error| error.to_string())? {
            let artifact = Artifact {
                path,
                sha256,
                event_id: claim.event_id.clone(),
                phase: claim.phase.clone(),
                plan: claim.number().to_owned(),
                ts: claim.ts.clone(),
            };
            // Written before the crash.
            if self.known.contains(&(artifact.event_id.clone(), artifact.path.clone())) {
                continue;
            }
            let line = serde_json::to_string(&artifact).unwrap_or_default();
            folder.append(REGISTRY, &line).map_err(|error| error.to_string())?;
            self.note(&artifact);
        }
        Ok(())
    }

    /// The files that a task's commit changed and did not delete.
    fn of_task(&self, revision: &str) -> Result<Vec<(String, String)>, GitError> {
        let repo = self.project.repo();
        let name = format!("refs/tribunal/{}/rev/{revision}", self.run);
        let Some(commit) = repo.ref_at(&name)? else { return Ok(Vec::new()) };
        let Some(parent) = repo.parents_of(&commit)?.into_iter().next() else { return Ok(Vec::new()) };
        let paths = repo.changed_paths(&parent, &commit)?;
        self.at(&commit, paths.iter().map(ToString::to_string))
    }

    /// The plan's files that landed differently from how they were approved, because another plan's work was there by
    /// then.
    fn of_landing(&self, claim: &Claim) -> Result<Vec<(String, String)>, GitError> {
        let name = format!("refs/tribunal/{}/landed/{}", self.run, claim.plan);
        let (Some(files), Some(commit)) =
            (self.newest.get(claim.number()), self.project.repo().ref_at(&name)?)
        else {
            return Ok(Vec::new());
        };
        let mut found = self.at(&commit, files.keys().cloned())?;
        found.retain(|(path, sha256)| files.get(path) != Some(sha256));
        Ok(found)
    }

    fn at(
        &self,
        commit: &Oid,
        paths: impl Iterator<Item = String>,
    ) -> Result<Vec<(String, String)>, GitError> {
        let repo = self.project.repo();
        let mut found = Vec::new();
        for path in paths {
            if let Some(bytes) = repo.file_at(commit, &GitPath::from(path.as_str()))? {
                found.push((path, sha256(&bytes)));
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_stand_in_the_order_of_their_rows() {
        assert_eq!(position("20260101-01:12.3"), Some((12, 3)));
        assert!(position("r:9.1") < position("r:10.0") && position("r:9.1") > position("r:9.0"));
        for odd in ["", "r", "r:1", "r:x.1", "f3c1-uuid"] {
            assert_eq!(position(odd), None, "{odd}");
        }
    }
}
