//! A project on disk: the git repository, its planning folder, and Tribunal's own folder beside them. It reads and
//! names things, and starts nothing.
//!
//! The planning folder is the user's and may come with a branch, so every document is checked before it is believed: no
//! links out of the folder, regular files only, valid UTF-8.

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

/// The name of Tribunal's folder in a project.
pub const FOLDER: &str = ".tribunal";

/// A git repository with its planning folder.
///
/// Every command begins by opening one. `open` refuses a `.tribunal` that is a link, so callers may rely on `folder`.
#[derive(Clone)]
pub struct Project {
    repo: Repo,
    root: PathBuf,
    planning: String,
}

/// One planning document as it is on disk.
#[derive(Clone, Debug)]
pub struct Document {
    /// The path from the project's root.
    pub path: String,
    /// The whole text of the document.
    pub text: String,
}

/// The documents of one phase.
#[derive(Clone, Debug)]
pub struct PhaseFiles {
    /// The number as in the folder's name, such as `01`.
    pub number: String,
    /// The folder's name, such as `01-first-steps`.
    pub folder: String,
    /// The path from the project's root.
    pub path: String,
    /// All documents whose names end with `PLAN.md`.
    pub plans: Vec<Document>,
    /// All documents whose names end with `SUMMARY.md`.
    pub summaries: Vec<Document>,
}

impl Project {
    /// Finds the project around a directory.
    pub fn open(dir: &Path) -> Result<Project, SetupError> {
        let repo = Repo::open(dir)?;
        let root = repo.work_tree().to_path_buf();
        // Before anything in the folder is read or believed.
        state::check_folder(&root)?;
        let exists = |name: &str| root.join(name).is_dir();
        let planning = tribunal_docs::planning_folder(&exists).to_owned();
        Ok(Project { repo, root, planning })
    }

    /// The git repository of the project.
    pub fn repo(&self) -> &Repo {
        &self.repo
    }

    /// The top of the user's worktree.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The name of the planning folder.
    pub fn planning(&self) -> &str {
        &self.planning
    }

    /// The planning folder as a path in git.
    pub fn planning_path(&self) -> GitPath {
        GitPath::from(self.planning.as_str())
    }

    /// The path of Tribunal's own folder.
    pub fn folder(&self) -> PathBuf {
        self.root.join(FOLDER)
    }

    /// The folder of one run.
    pub fn run_dir(&self, run: &str) -> PathBuf {
        self.folder().join("runs").join(run)
    }

    /// All runs that the user made, newest first. Run ids begin with the time they began.
    pub fn runs(&self) -> Vec<String> {
        state::runs_in(&self.root).0
    }

    /// The folders of all runs, including those that never began.
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

    /// Makes Tribunal's folder and excludes it from the user's commits.
    ///
    /// A folder that git tracks is refused: a branch could bring journals, waivers and answers of tools, and they would
    /// be believed.
    pub fn prepare(&self) -> Result<(), SetupError> {
        if stands(Defence::OwnRuns) && self.repo.tracks(&GitPath::from(FOLDER))? {
            return Err(SetupError::Refused(format!(
                "git tracks files in {FOLDER}, so a branch could bring runs, waivers and answers of tools\nhint: `git rm -r {FOLDER}` and a commit take them out; a branch of somebody else is reviewed from your own: `tribunal review --diff main...BRANCH`; nothing was changed"
            )));
        }
        let runs = self.folder().join("runs");
        fs::create_dir_all(&runs).map_err(|error| SetupError::io("make", &runs, &error))?;
        // In `info/exclude`, so that no file that git tracks changes.
        self.repo.exclude("/.tribunal/")?;
        Ok(())
    }

    /// The phases as pairs of number and folder, in the order of their numbers.
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

    /// The files of a phase, named by its number in any spelling. Without a name, the only phase there is.
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
        // A plan is named by its phase's number. With two folders of that number nobody could say which one is meant.
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

    /// Fails if a phase's path leads out of the planning folder. Plans are read there and reports written.
    ///
    /// A link within the planning folder is fine.
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
            // Compared as bytes: a plan whose name is not UTF-8 must be refused by `document`, not overlooked here.
            if [b"PLAN.md".as_slice(), b"SUMMARY.md"].iter().any(|end| name.as_bytes().ends_with(end)) {
                documents.push(document(path, &entry)?);
            }
        }
        documents.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(documents)
    }
}

/// What was noticed in plans, each with its place: remarks that stop nothing, and keys that steer a run but were not
/// read as they were written.
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

/// Reads one document. One that cannot be read properly is an error.
///
/// If it were silently left out, its plan would never be built, or a finished one would be built twice.
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
