//! A project on disk: the git repository, its planning folder, and Tribunal's own folder beside them. Reads
//! and names things; starts nothing.

pub(crate) mod codebase;
pub(crate) mod context;
pub(crate) mod error;
pub(crate) mod identity;
pub(crate) mod inside;
pub(crate) mod kept;
pub mod standing;
pub mod state;
pub mod trusted;

use crate::project::error::SetupError;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use tribunal_core::defence::{Defence, stands};
use tribunal_git::{GitPath, Repo};

/// Tribunal's folder in a project.
pub const FOLDER: &str = ".tribunal";

/// A git repository with its planning folder.
#[derive(Clone)]
pub struct Project {
    repo: Repo,
    root: PathBuf,
    planning: String,
}

/// One planning document as it lies on disk.
#[derive(Clone, Debug)]
pub struct Document {
    /// Path from the project's root.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// The documents of one phase.
#[derive(Clone, Debug)]
pub struct PhaseFiles {
    /// `01`.
    pub number: String,
    /// `01-first-steps`.
    pub folder: String,
    /// Path from the project's root.
    pub path: String,
    /// Its plans.
    pub plans: Vec<Document>,
    /// Its summaries.
    pub summaries: Vec<Document>,
}

impl Project {
    /// Finds the project around a directory.
    pub fn open(dir: &Path) -> Result<Project, SetupError> {
        let repo = Repo::open(dir)?;
        let root = repo.work_tree().to_path_buf();
        state::check_folder(&root)?;
        let exists = |name: &str| root.join(name).is_dir();
        let planning = tribunal_docs::planning_folder(&exists).to_owned();
        Ok(Project { repo, root, planning })
    }

    /// The repository.
    pub fn repo(&self) -> &Repo {
        &self.repo
    }

    /// The top of the user's worktree.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The planning folder's name.
    pub fn planning(&self) -> &str {
        &self.planning
    }

    /// The planning folder as git names it.
    pub fn planning_path(&self) -> GitPath {
        GitPath::from(self.planning.as_str())
    }

    /// Tribunal's own folder.
    pub fn folder(&self) -> PathBuf {
        self.root.join(FOLDER)
    }

    /// One run's folder.
    pub fn run_dir(&self, run: &str) -> PathBuf {
        self.folder().join("runs").join(run)
    }

    /// All runs that the user made, newest first: their ids begin with the time they began.
    pub fn runs(&self) -> Vec<String> {
        state::runs_in(&self.root).0
    }

    /// The folders of all runs, also of those that never began.
    pub fn folders(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.folder().join("runs")) else { return Vec::new() };
        let mut folders: Vec<String> = entries
            .filter_map(Result::ok)
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        folders.sort_unstable_by(|a, b| b.cmp(a));
        folders
    }

    /// The run that began last.
    pub fn newest(&self) -> Option<String> {
        self.runs().into_iter().next()
    }

    /// Makes Tribunal's folder and keeps it out of the user's commits. One that a branch brought is refused: journals,
    /// waivers and answers of tools in it would be believed.
    pub fn prepare(&self) -> Result<(), SetupError> {
        if stands(Defence::OwnRuns) && self.repo.tracks(&GitPath::from(FOLDER))? {
            return Err(SetupError::Refused(format!(
                "git tracks files in {FOLDER}, so a branch could bring runs, waivers and answers of tools\nhint: `git rm -r {FOLDER}` and a commit take them out; a branch of somebody else is reviewed from your own: `tribunal review --diff main...BRANCH`; nothing was changed"
            )));
        }
        let runs = self.folder().join("runs");
        fs::create_dir_all(&runs).map_err(|error| SetupError::io("make", &runs, &error))?;
        self.repo.exclude("/.tribunal/")?;
        Ok(())
    }

    /// The phases, in order of their numbers.
    pub fn phases(&self) -> Result<Vec<(String, String)>, SetupError> {
        let dir = self.root.join(&self.planning).join("phases");
        let entries = match fs::read_dir(&dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(SetupError::NoPlanning { path: dir });
            }
            Err(error) => return Err(SetupError::io("read", &dir, &error)),
        };
        let mut phases = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| SetupError::io("read", &dir, &error))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if let (true, Some(phase)) = (entry.path().is_dir(), tribunal_docs::phase_dir(&name)) {
                phases.push((phase.number.clone(), name));
            }
        }
        phases.sort();
        Ok(phases)
    }

    /// The files of a phase, named by its number in any spelling, or the only one there is.
    pub fn phase(&self, wanted: Option<&str>) -> Result<PhaseFiles, SetupError> {
        let phases = self.phases()?;
        let names: Vec<String> = phases.iter().map(|(_, name)| name.clone()).collect();
        let numbered = phases.clone();
        let found = match wanted {
            Some(wanted) => {
                let number = tribunal_docs::plan_argument(wanted)
                    .map_or(wanted.to_owned(), |argument| argument.number);
                phases.into_iter().find(|(n, name)| *n == number || name == wanted)
            }
            None if phases.len() == 1 => phases.into_iter().next(),
            None => return Err(SetupError::WhichPhase { phases: names }),
        };
        let (number, folder) = found.ok_or_else(|| SetupError::NoPhase {
            wanted: wanted.unwrap_or_default().to_owned(),
            phases: names,
        })?;
        // A plan is named by its phase's number: with two folders nobody could say which one is meant.
        let same = numbered.into_iter().filter(|(n, _)| *n == number).map(|(_, name)| name);
        let folders: Vec<String> = same.collect();
        if folders.len() > 1 {
            return Err(SetupError::PhaseTwice { number, folders });
        }
        let path = format!("{}/phases/{folder}", self.planning);
        self.is_inside(&path)?;
        let documents = self.documents(&path)?;
        let ends = |document: &Document, end: &str| document.path.ends_with(end);
        let plans = documents.iter().filter(|d| ends(d, "PLAN.md")).cloned().collect();
        let summaries = documents.into_iter().filter(|d| ends(d, "SUMMARY.md")).collect();
        Ok(PhaseFiles { number, folder, path, plans, summaries })
    }

    /// A link in a phase's path may lead to another place of the planning folder, but not out of it: plans are read
    /// there, and reports written.
    fn is_inside(&self, path: &str) -> Result<(), SetupError> {
        let real = |path: &Path| path.canonicalize().map_err(|error| SetupError::io("read", path, &error));
        if real(&self.root.join(path))?.starts_with(real(&self.root.join(&self.planning))?) {
            return Ok(());
        }
        let what = "it is a symbolic link that leads out of the planning folder".to_owned();
        Err(SetupError::Document { path: path.to_owned(), what, way_out: "put the folder itself there" })
    }

    fn documents(&self, path: &str) -> Result<Vec<Document>, SetupError> {
        let dir = self.root.join(path);
        let entries = fs::read_dir(&dir).map_err(|error| SetupError::io("read", &dir, &error))?;
        let mut documents = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| SetupError::io("read", &dir, &error))?;
            let name = entry.file_name();
            if [b"PLAN.md".as_slice(), b"SUMMARY.md"].iter().any(|end| name.as_bytes().ends_with(end)) {
                documents.push(document(path, &entry)?);
            }
        }
        documents.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(documents)
    }
}

/// What was noticed in plans, each with its place: what stops nothing, and keys that steer a run and were not read as
/// they were written.
pub(crate) fn noticed<'a>(plans: impl Iterator<Item = &'a Document>) -> (Vec<String>, Vec<String>) {
    let read = plans.flat_map(|document| {
        let found = tribunal_docs::read_plan(&document.path, &document.text).diagnostics;
        found.into_iter().map(|found| {
            let place = format!("{}:{}:{}", document.path, found.line, found.column);
            (found.misread, format!("{place}: {}", found.message))
        })
    });
    let (misread, notes): (Vec<_>, Vec<_>) = read.partition(|(misread, _)| *misread);
    let words = |found: Vec<(bool, String)>| found.into_iter().map(|(_, text)| text).collect();
    (words(notes), words(misread))
}

/// Reads one document. One that cannot be read as it should is refused: left out in silence, a plan would never be
/// built, or be built twice.
fn document(folder: &str, entry: &fs::DirEntry) -> Result<Document, SetupError> {
    let file = entry.path();
    let name = entry.file_name();
    let path = format!("{folder}/{}", name.to_string_lossy());
    let odd =
        |what: String, way_out: &'static str| Err(SetupError::Document { path: path.clone(), what, way_out });
    if name.to_str().is_none() {
        return odd("its name is not UTF-8".to_owned(), "rename it");
    }
    let meta = file.symlink_metadata().map_err(|error| SetupError::io("read", &file, &error))?;
    if !meta.is_file() {
        let what = format!("it is {}, not a plain file", kind(meta.file_type()));
        return odd(what, "put the text itself there, or rename it so that it does not end so");
    }
    let bytes = fs::read(&file).map_err(|error| SetupError::io("read", &file, &error))?;
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Document { path, text }),
        Err(error) => {
            let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
            odd(format!("line {line} is not UTF-8"), "save it as UTF-8")
        }
    }
}

fn kind(of: fs::FileType) -> &'static str {
    match of {
        _ if of.is_symlink() => "a symbolic link",
        _ if of.is_dir() => "a folder",
        _ if of.is_fifo() => "a pipe",
        _ if of.is_socket() => "a socket",
        _ => "a device",
    }
}
