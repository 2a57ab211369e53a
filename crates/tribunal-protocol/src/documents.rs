//! A project as the gates see it: its root, its planning folder, and the documents in it.
//!
//! It only reads. Files of the project are opened beneath its root without following a link, so a link in a worktree
//! cannot make a gate read something else.

use crate::{Folder, ProtocolError};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use tribunal_core::contract::clean;
use tribunal_docs::{DocumentName, Plan, PlanId, Summary, document_name, phase_dir, read_plan, read_summary};
use tribunal_world::{DOCUMENT_MAX, read_plain};

/// A project, by its folders.
///
/// It knows no repository and no settings: the gates have to work in a folder that has neither.
#[derive(Clone, Debug)]
pub struct Ground {
    root: PathBuf,
    planning: String,
}

/// The readable plans and summaries of one phase folder.
#[derive(Debug, Default)]
pub struct PhaseDocuments {
    /// The plans, each with its path.
    pub plans: Vec<(PathBuf, Plan)>,
    /// The summaries, each with its path.
    pub summaries: Vec<(PathBuf, Summary)>,
}

impl PhaseDocuments {
    /// The summary of a plan.
    pub fn summary(&self, id: &PlanId) -> Option<&(PathBuf, Summary)> {
        self.summaries.iter().find(|(_, summary)| summary.id == *id)
    }
}

impl Ground {
    /// The project with this root.
    pub fn new(root: impl Into<PathBuf>) -> Ground {
        let root = root.into();
        let exists = |name: &str| root.join(name).is_dir();
        let planning = tribunal_docs::planning_folder(&exists).to_owned();
        Ground { root, planning }
    }

    /// The project around a directory: the nearest folder upwards with `.git`, `.tribunal` or a planning folder.
    pub fn around(dir: &Path) -> Option<Ground> {
        let dir = std::path::absolute(dir).ok()?;
        let marks = [".git", ".tribunal"];
        let marked = |dir: &&Path| marks.iter().any(|mark| dir.join(mark).exists());
        let planned =
            |dir: &&Path| tribunal_docs::PLANNING_FOLDERS.iter().any(|name| dir.join(name).is_dir());
        // A planning folder counts only where no repository is found: a subfolder may have one of its own.
        let root = dir.ancestors().find(marked).or_else(|| dir.ancestors().find(planned))?;
        Some(Ground::new(root))
    }

    /// The root folder of the project.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The name of the planning folder.
    pub fn planning(&self) -> &str {
        &self.planning
    }

    /// The state files of the planning folder.
    pub fn state(&self) -> Folder {
        Folder::new(self.root.join(&self.planning))
    }

    /// A path that somebody gave, relative to the project; none if it lies outside.
    pub fn relative(&self, path: &Path) -> Option<String> {
        let whole = std::path::absolute(path).ok()?;
        let mut plain = PathBuf::new();
        // By its text, without asking the disk: the file need not exist.
        for part in whole.components() {
            match part {
                Component::ParentDir => _ = plain.pop(),
                Component::CurDir => {}
                other => plain.push(other),
            }
        }
        clean(plain.strip_prefix(&self.root).ok()?.to_str()?)
    }

    /// A path of the project without the links in it; none if they lead outside. The part that does not exist yet stays
    /// as it is.
    pub fn real(&self, path: &str) -> Option<String> {
        let root = self.root.canonicalize().ok()?;
        let whole = root.join(path);
        let there = whole.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
        let (above, real) = there?;
        let rest = whole.strip_prefix(above).ok()?;
        clean(real.join(rest).strip_prefix(&root).ok()?.to_str()?)
    }

    /// Whether something lies at a path beneath the root.
    pub fn exists(&self, path: &str) -> bool {
        self.beneath(path, OFlags::PATH, ResolveFlags::BENEATH).is_some()
    }

    /// Opens a file beneath the root, without following any link.
    pub fn open(&self, path: &str) -> Option<File> {
        // A pipe would otherwise block until somebody writes to it.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK;
        let file = self.beneath(path, flags, ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS)?;
        file.metadata().ok()?.is_file().then_some(file)
    }

    /// The text of a file beneath the root.
    pub fn text(&self, path: &str) -> Option<String> {
        let mut bytes = Vec::new();
        self.open(path)?.take(DOCUMENT_MAX).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn beneath(&self, path: &str, flags: OFlags, resolve: ResolveFlags) -> Option<File> {
        let path = clean(path)?;
        let root = openat(CWD, &self.root, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        // `openat2` lets the kernel check the whole path at once. Checking it part by part could be raced.
        let fd = openat2(root.ok()?, path, flags | OFlags::CLOEXEC, Mode::empty(), resolve).ok()?;
        Some(File::from(fd))
    }

    /// The numbers of all phases, in order.
    pub fn phases(&self) -> BTreeSet<String> {
        let dir = self.root.join(&self.planning).join("phases");
        let entries = std::fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok);
        entries.filter_map(|entry| Some(phase_dir(&entry.file_name().to_string_lossy())?.number)).collect()
    }

    /// The folders of a phase; several if a number was given twice.
    pub fn phase_dirs(&self, number: &str) -> Vec<PathBuf> {
        dirs_of(&self.root.join(&self.planning).join("phases"), number)
    }

    /// The plan with this id, wherever it lies in its phase.
    pub fn plan(&self, id: &PlanId) -> Option<(PathBuf, Plan)> {
        let read = |path: &Path, label: &str, text: &str| {
            let plan = read_plan(label, text).value.filter(|plan| plan.id == *id)?;
            Some((path.to_owned(), plan))
        };
        self.phase_dirs(&id.phase).iter().find_map(|dir| first_of(dir, "PLAN", id, &read))
    }
}

/// The folders below `phases` with this number.
pub(crate) fn dirs_of(phases: &Path, number: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(phases).into_iter().flatten().filter_map(Result::ok);
    let mut found: Vec<PathBuf> = entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter(|entry| {
            phase_dir(&entry.file_name().to_string_lossy()).is_some_and(|dir| dir.number == number)
        })
        .map(|entry| entry.path())
        .collect();
    found.sort();
    found
}

/// The plans and summaries of a folder. Documents that cannot be read are left out.
pub fn documents(dir: &Path) -> Result<PhaseDocuments, ProtocolError> {
    let mut found = PhaseDocuments::default();
    for (path, name) in files_of(dir)? {
        if !matches!(name.kind.as_str(), "PLAN" | "SUMMARY") {
            continue;
        }
        let Ok(bytes) = read_plain(&path) else { continue };
        let (label, text) = (path.display().to_string(), String::from_utf8_lossy(&bytes));
        match name.kind.as_str() {
            "PLAN" => found.plans.extend(read_plan(&label, &text).value.map(|plan| (path, plan))),
            _ => found.summaries.extend(read_summary(&label, &text).value.map(|s| (path, s))),
        }
    }
    Ok(found)
}

/// The plans of a folder, except the one in this file. Plans that cannot be read are left out.
pub fn plans_beside(own: &Path, dir: &Path) -> Vec<Plan> {
    let own = std::fs::canonicalize(own).ok();
    // A file found in the folder is not a link, so it lies where the folder does.
    let place = std::fs::canonicalize(dir).ok();
    let here = |path: &Path| Some(place.as_ref()?.join(path.file_name()?));
    let plan = |(path, name): (PathBuf, DocumentName)| {
        if name.kind != "PLAN" || (own.is_some() && here(&path) == own) {
            return None;
        }
        let bytes = read_plain(&path).ok()?;
        read_plan(&path.display().to_string(), &String::from_utf8_lossy(&bytes)).value
    };
    files_of(dir).unwrap_or_default().into_iter().filter_map(plan).collect()
}

/// The summary of a plan in a folder.
pub fn summary_of(dir: &Path, id: &PlanId) -> Option<Summary> {
    let read = |_: &Path, label: &str, text: &str| {
        read_summary(label, text).value.filter(|summary| summary.id == *id)
    };
    first_of(dir, "SUMMARY", id, &read)
}

/// The first document of a kind that matches. The file with the plan's name is read first, and usually no other.
fn first_of<T>(
    dir: &Path,
    kind: &str,
    id: &PlanId,
    read: &dyn Fn(&Path, &str, &str) -> Option<T>,
) -> Option<T> {
    let mut files = files_of(dir).ok()?;
    files.retain(|(_, name)| name.kind == kind);
    // `false` sorts before `true`, so the file with the plan's name comes first.
    files.sort_by_key(|(_, name)| name.id().as_ref() != Some(id));
    files.iter().find_map(|(path, _)| {
        let bytes = read_plain(path).ok()?;
        read(path, &path.display().to_string(), &String::from_utf8_lossy(&bytes))
    })
}

/// The documents in a folder by their names, in order. Links, folders and other files are left out.
fn files_of(dir: &Path) -> Result<Vec<(PathBuf, DocumentName)>, ProtocolError> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(ProtocolError::io("read", dir))? {
        let entry = entry.map_err(ProtocolError::io("read", dir))?;
        if entry.file_type().is_ok_and(|kind| kind.is_file()) {
            paths.push(entry.path());
        }
    }
    paths.sort();
    let named = |path: PathBuf| document_name(&path.display().to_string()).map(|name| (path, name));
    Ok(paths.into_iter().filter_map(named).collect())
}
