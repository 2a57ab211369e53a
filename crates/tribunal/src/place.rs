//! Where we are: the project around the working directory and its runs, found by looking at folders alone. Commands
//! that only read use this, so that reading starts no process.

use crate::failure::{Failure, Kind};
use std::path::{Path, PathBuf};
use tribunal_core::defence::{Defence, stands};
use tribunal_engine::Docket;
use tribunal_journal::Reader;
use tribunal_world::{FOLDER, Project, state};

/// A project as seen from outside.
#[derive(Clone, Debug)]
pub struct Place {
    /// Its root.
    pub root: PathBuf,
}

/// One run, read.
pub struct Seen {
    /// Its id.
    pub id: String,
    /// Its folder.
    pub dir: PathBuf,
    /// Its journal.
    pub reader: Reader,
}

impl Place {
    /// The nearest folder upwards that holds `.tribunal` or `.git`.
    pub fn around(dir: &Path) -> Option<Place> {
        let holds = |dir: &&Path| dir.join(FOLDER).is_dir() || dir.join(".git").exists();
        dir.ancestors().find(holds).map(|root| Place { root: root.to_owned() })
    }

    /// The project of the working directory.
    pub fn here() -> Result<Place, Failure> {
        let dir = std::env::current_dir()
            .map_err(|error| Failure::work(format!("the working directory is gone: {error}")))?;
        let place = Place::around(&dir).ok_or_else(|| {
            if dir.join("HEAD").is_file() && dir.join("objects").is_dir() {
                return Failure::usage(format!("{} is a bare repository", dir.display()))
                    .hint("runs are kept in a worktree: change to one, or name it with -C DIR");
            }
            Failure::usage(format!("{} is not in a git repository", dir.display()))
                .hint("change to your project, name it with -C DIR, or try `tribunal demo`")
        })?;
        state::check_folder(&place.root)?;
        Ok(place)
    }

    /// The project of the working directory, for commands that work on it: where folders tell nothing, git says why.
    pub fn to_work_on() -> Result<Place, Failure> {
        Place::here().or_else(|failure| match Project::open(Path::new(".")) {
            Ok(project) => Ok(Place { root: project.root().to_owned() }),
            Err(error) => Err(if failure.kind == Kind::Usage { error.into() } else { failure }),
        })
    }

    /// The planning folder.
    pub fn planning(&self) -> PathBuf {
        let exists = |name: &str| self.root.join(name).is_dir();
        self.root.join(tribunal_docs::planning_folder(&exists))
    }

    /// All runs that the user made, newest first: their ids begin with the time.
    pub fn runs(&self) -> Vec<String> {
        state::runs_in(&self.root).0
    }

    /// What is to be said of runs that lie here and that the user did not make; nothing where there are none.
    pub fn strangers(&self) -> Option<String> {
        match state::runs_in(&self.root).1 {
            0 => None,
            1 => Some("1 run here was not made by you, and is not looked at".to_owned()),
            n => Some(format!("{n} runs here were not made by you, and are not looked at")),
        }
    }

    /// The run a person means: its id, a part of it that only one has, or the newest.
    pub fn find(&self, wanted: Option<&str>) -> Result<String, Failure> {
        let runs = self.runs();
        let Some(wanted) = wanted else {
            return runs.into_iter().next().ok_or_else(|| {
                let failure = Failure::usage("there is no run here yet");
                let failure = self.strangers().into_iter().fold(failure, Failure::hint);
                failure.hint("`tribunal run` starts one; `tribunal demo` shows one")
            });
        };
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

    /// A run's folder.
    pub fn run_dir(&self, run: &str) -> PathBuf {
        self.root.join(FOLDER).join("runs").join(run)
    }

    /// Opens a run for reading.
    pub fn read(&self, run: &str) -> Result<Seen, Failure> {
        let dir = self.run_dir(run);
        let reader = Reader::open(&dir).map_err(|error| match error {
            tribunal_journal::Error::Missing { .. } => never_began(run),
            other => other.into(),
        })?;
        Ok(Seen { id: run.to_owned(), dir, reader })
    }

    /// What a run recorded; nothing where it never began. One that cannot be read is told by its name.
    pub fn begun(&self, run: &str) -> Result<Option<Docket>, Failure> {
        let read = match Reader::open(&self.run_dir(run)) {
            Err(tribunal_journal::Error::Missing { .. }) => return Ok(None),
            opened => opened.map_err(Failure::from).and_then(|reader| Ok(Docket::read(&reader)?)),
        };
        let docket = read.map_err(|failure| Failure {
            message: format!("run {run} cannot be read: {}", failure.message),
            ..failure
        })?;
        Ok(docket.run.is_some().then_some(docket))
    }

    /// The project with its repository, for commands that work on it.
    pub fn project(&self) -> Result<Project, Failure> {
        Ok(Project::open(&self.root)?)
    }
}

impl Seen {
    /// Folds its journal.
    pub fn docket(&self) -> Result<Docket, Failure> {
        Ok(Docket::read(&self.reader)?)
    }

    /// An orchestrator runs it now.
    pub fn is_live(&self) -> bool {
        tribunal_journal::is_live(&self.dir).unwrap_or(false)
    }
}

/// A folder that a run left which died in its first moments.
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

/// Whether this process runs inside an agent of a run: such a caller may not steer runs.
pub fn inside_an_agent() -> bool {
    if !stands(Defence::InsideAgent) {
        return false;
    }
    if std::env::var_os(tribunal_process::MARKER).is_some() {
        return true;
    }
    // An agent can clear its own environment, not that of the processes above it.
    let marker = format!("{}=", tribunal_process::MARKER);
    let mut pid = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get());
    for _ in 0..64 {
        let Some(current) = pid.filter(|pid| *pid > 0) else { return false };
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
    // The command's name may hold spaces and brackets; what follows its last bracket does not.
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}
