//! Locates the project around the working directory and its runs, by looking at folders alone. Commands that only read
//! use this, so that reading starts no process.
//!
//! A run folder counts only if it bears the mark of the user's key, because a branch could bring one along. Go through
//! `Place` to list or open runs instead of reading the folder, or that check is lost.

use crate::failure::{Failure, Kind};
use std::path::{Path, PathBuf};
use tribunal_core::defence::{Defence, stands};
use tribunal_engine::RunState;
use tribunal_journal::Reader;
use tribunal_world::{FOLDER, Project, state};

/// A project as seen from outside: its root, without git.
///
/// Reading commands need no more. A command that changes something asks `Place::project` for the repository.
#[derive(Clone, Debug)]
pub struct Place {
    pub root: PathBuf,
}

/// A run whose journal is open for reading.
///
/// It never blocks the orchestrator that may be writing the run at the same time.
pub struct Seen {
    pub id: String,
    pub dir: PathBuf,
    pub reader: Reader,
}

impl Place {
    /// The nearest folder, from `dir` upwards, that holds `.tribunal` or `.git`.
    pub fn around(dir: &Path) -> Option<Place> {
        // In a linked worktree `.git` is a file, so `exists` is asked and not `is_dir`.
        let holds = |dir: &&Path| dir.join(FOLDER).is_dir() || dir.join(".git").exists();
        dir.ancestors().find(holds).map(|root| Place { root: root.to_owned() })
    }

    /// The project of the working directory.
    pub fn here() -> Result<Place, Failure> {
        let dir = std::env::current_dir()
            .map_err(|error| Failure::work(format!("the working directory is gone: {error}")))?;
        let place = Place::around(&dir).ok_or_else(|| {
            // A bare repository is a git repository, so the general message would be wrong.
            if dir.join("HEAD").is_file() && dir.join("objects").is_dir() {
                return Failure::usage(format!("{} is a bare repository", dir.display()))
                    .hint("runs are kept in a worktree: change to one, or name it with -C DIR");
            }
            Failure::usage(format!("{} is not in a git repository", dir.display()))
                .hint("change to your project, name it with -C DIR, or try `tribunal demo`")
        })?;
        // A state folder that is a link could make us write runs wherever a branch says.
        state::check_folder(&place.root)?;
        Ok(place)
    }

    /// The project of the working directory, for commands that change it.
    ///
    /// Where the folders show no project, git is asked: it knows more layouts, and its message says why there is none.
    pub fn to_work_on() -> Result<Place, Failure> {
        Place::here().or_else(|failure| match Project::open(Path::new(".")) {
            Ok(project) => Ok(Place { root: project.root().to_owned() }),
            // A refused state folder stays refused: git's answer must not replace that reason.
            Err(error) => Err(if failure.kind == Kind::Usage { error.into() } else { failure }),
        })
    }

    /// The folder of the planning documents; its name depends on what the project already has.
    pub fn planning(&self) -> PathBuf {
        let exists = |name: &str| self.root.join(name).is_dir();
        self.root.join(tribunal_docs::planning_folder(&exists))
    }

    /// The ids of all runs that the user made, newest first: an id begins with the time.
    pub fn runs(&self) -> Vec<String> {
        state::runs_in(&self.root).0
    }

    /// Whether there is a run of this name that the user made.
    pub fn is_own(&self, run: &str) -> bool {
        state::is_own_run(&self.root, run)
    }

    /// A sentence about runs in this folder that the user did not make; `None` if there are none.
    pub fn strangers(&self) -> Option<String> {
        match state::runs_in(&self.root).1 {
            0 => None,
            1 => Some("1 run here was not made by you, and is not looked at".to_owned()),
            n => Some(format!("{n} runs here were not made by you, and are not looked at")),
        }
    }

    /// Resolves what a person calls a run: its id, a part of the id that only one run has, or nothing for the newest.
    ///
    /// A part that fits several runs is an error. Picking the newest would cancel or land a run that the person did not
    /// mean.
    pub fn find(&self, wanted: Option<&str>) -> Result<String, Failure> {
        let runs = self.runs();
        let Some(wanted) = wanted else {
            return runs.into_iter().next().ok_or_else(|| {
                let failure = Failure::usage("there is no run here yet");
                let failure = self.strangers().into_iter().fold(failure, Failure::hint);
                failure.hint("`tribunal run` starts one; `tribunal demo` shows one")
            });
        };
        // The exact id comes first: it may also be a part of a longer one.
        if let Some(run) = runs.iter().find(|run| *run == wanted) {
            return Ok(run.clone());
        }
        let like: Vec<&String> = runs.iter().filter(|run| run.contains(wanted)).collect();
        match like[..] {
            [one] => Ok(one.clone()),
            [] => Err(no_run(wanted, &runs)),
            _ => Err(Failure::usage(format!("{} runs are like {wanted:?}", like.len()))
                .hint(format!("name one of {}", names(&like)))),
        }
    }

    /// The folder of a run, whether it exists or not.
    pub fn run_dir(&self, run: &str) -> PathBuf {
        self.root.join(FOLDER).join("runs").join(run)
    }

    /// Opens a run for reading.
    pub fn read(&self, run: &str) -> Result<Seen, Failure> {
        let dir = self.run_dir(run);
        let reader = Reader::open(&dir).map_err(|error| match error {
            // A run that died in its first moments has left nothing to read.
            tribunal_journal::Error::Missing { .. } => never_began(run),
            other => other.into(),
        })?;
        Ok(Seen { id: run.to_owned(), dir, reader })
    }

    /// The folded journal of a run; `None` if the run never began.
    ///
    /// A journal that cannot be read is an error that names the run, never `None`: callers ask this to learn whether a
    /// run is over, and an unreadable run must not count as over.
    pub fn begun(&self, run: &str) -> Result<Option<RunState>, Failure> {
        let read = match Reader::open(&self.run_dir(run)) {
            Err(tribunal_journal::Error::Missing { .. }) => return Ok(None),
            opened => opened.map_err(Failure::from).and_then(|reader| Ok(RunState::read(&reader)?)),
        };
        let run_state = read.map_err(|failure| Failure {
            message: format!("run {run} cannot be read: {}", failure.message),
            ..failure
        })?;
        Ok(run_state.run.is_some().then_some(run_state))
    }

    /// Opens the repository, for commands that need git.
    pub fn project(&self) -> Result<Project, Failure> {
        Ok(Project::open(&self.root)?)
    }
}

impl Seen {
    /// Folds the journal of the run.
    pub fn run_state(&self) -> Result<RunState, Failure> {
        Ok(RunState::read(&self.reader)?)
    }

    /// True if an orchestrator is running this run now.
    pub fn is_live(&self) -> bool {
        tribunal_journal::is_live(&self.dir).unwrap_or(false)
    }
}

/// The failure for a folder whose run died in its first moments, before anything was recorded.
pub fn never_began(run: &str) -> Failure {
    Failure::usage(format!("run {run} never began: it died before anything was recorded"))
        .hint("`tribunal run` starts another; `tribunal gc` removes this one")
}

fn no_run(wanted: &str, runs: &[String]) -> Failure {
    let wanted = tribunal_view::plain::clipped(wanted, 80);
    let failure = Failure::usage(format!("there is no run {wanted:?}"));
    match runs {
        [] => failure.hint("there is no run here yet; `tribunal run` starts one"),
        runs => failure.hint(format!("the newest are {}", names(&runs.iter().take(5).collect::<Vec<_>>()))),
    }
}

fn names(runs: &[&String]) -> String {
    runs.iter().map(|run| run.as_str()).collect::<Vec<_>>().join(", ")
}

/// True if this process runs inside an agent of a run. Such a caller may not steer runs.
///
/// Without this check an agent could approve its own work by calling `tribunal decide`. `commands::main` asks before it
/// dispatches a command that changes anything.
pub fn inside_an_agent() -> bool {
    // Always stands, except in builds that prove the hostile cases.
    if !stands(Defence::InsideAgent) {
        return false;
    }
    if std::env::var_os(tribunal_process::MARKER).is_some() {
        return true;
    }
    // An agent can clear its own environment, not that of the processes above it.
    let marker = format!("{}=", tribunal_process::MARKER);
    let mut pid = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get());
    // Bounded, because pids are reused while we walk: a chain that never reaches init must not hang the command.
    for _ in 0..64 {
        let Some(current) = pid.filter(|pid| *pid > 0) else { return false };
        // An environment that cannot be read counts as unmarked; the walk goes on above it.
        let environment = std::fs::read(format!("/proc/{current}/environ")).unwrap_or_default();
        if environment.split(|byte| *byte == 0).any(|entry| entry.starts_with(marker.as_bytes())) {
            return true;
        }
        pid = parent_of(current);
    }
    false
}

fn parent_of(pid: i32) -> Option<i32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The command's name is in brackets and may itself hold spaces and brackets, so split after the last one.
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}
