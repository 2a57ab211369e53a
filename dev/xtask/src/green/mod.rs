//! `cargo xtask green`: small projects of many ecosystems, each with a task that is fine and tasks that break a test,
//! remove one, skip one, make one flaky, break the build and gut the judge. The real program plays each with agents that always say it is
//! done and always approve. It passes only if the fine task is on the branch in the end and no other one is.

mod install;
mod play;
mod project;

use crate::crash::stage::Res;
use crate::out;
use play::Cell;
use project::{Deed, Project};
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// What to play.
#[derive(clap::Args)]
pub struct Args {
    /// Only the projects whose tools most machines have
    #[arg(long)]
    short: bool,
    /// Installs the tools that are missing, by apt, npm and pip
    #[arg(long)]
    install: bool,
    /// Only this project
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// Only this task, and what the run says
    #[arg(long, value_name = "NAME")]
    task: Option<String>,
    /// The program; built first if not given
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// Plays at a time; as many as there are cores if not given
    #[arg(long)]
    threads: Option<usize>,
    /// Keep the folders of what went wrong
    #[arg(long)]
    keep: bool,
}

/// What came of every play, by project and task.
type Cells = BTreeMap<(usize, Deed), Cell>;

/// Runs the chore.
pub fn run(args: &Args) -> ExitCode {
    match play_all(args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            out::line(error);
            ExitCode::FAILURE
        }
    }
}

fn play_all(args: &Args) -> Res<bool> {
    let began = Instant::now();
    let projects = wanted(args)?;
    let deeds: Vec<Deed> = Deed::ALL
        .into_iter()
        .filter(|deed| args.task.as_ref().is_none_or(|name| name == deed.name()))
        .collect();
    if deeds.is_empty() {
        return Err(format!(
            "there is no such task\nhint: name one of {}",
            Deed::ALL.map(Deed::name).join(", ")
        ));
    }
    let binary = crate::program::tribunal(args.binary.as_deref())?;
    let folder = tempfile::Builder::new().prefix("green-").tempdir().map_err(|error| error.to_string())?;
    let (there, missing) = sorted_out(args, projects);
    let queue: VecDeque<(usize, Deed)> =
        (0..there.len()).flat_map(|n| deeds.iter().map(move |deed| (n, *deed))).collect();
    let queue: VecDeque<(usize, Deed)> = queue.into_iter().filter(|(n, deed)| there[*n].has(*deed)).collect();
    let (queue, cells) = (Mutex::new(queue), Mutex::new(Cells::new()));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..args.threads.unwrap_or(cores).max(1) {
            scope.spawn(|| work(&binary, folder.path(), &there, &queue, &cells, args.task.is_some()));
        }
    });
    let cells = cells.into_inner().unwrap_or_else(PoisonError::into_inner);
    let good = conclude(&there, &missing, &deeds, &cells);
    out::line(format!("{} plays in {:.0} s", cells.len(), began.elapsed().as_secs_f64()));
    if args.keep && !good {
        out::line(format!("kept in {}", folder.keep().display()));
    }
    // Whoever asked for a project by name, or for its tools to be installed, and did not get it had no success.
    Ok(good && (missing.is_empty() || !(args.install || args.project.is_some())))
}

fn wanted(args: &Args) -> Res<Vec<Project>> {
    let all = project::all()?;
    let names: Vec<String> = all.iter().map(|project| project.name.clone()).collect();
    let named = |project: &Project| args.project.as_ref().is_none_or(|name| *name == project.name);
    let found: Vec<Project> =
        all.into_iter().filter(|project| named(project) && (!args.short || project.short)).collect();
    match found.is_empty() {
        true => Err(format!("there is no such project\nhint: name one of {}", names.join(", "))),
        false => Ok(found),
    }
}

/// The projects that can be played here, and the others, each with what it lacks.
fn sorted_out(args: &Args, projects: Vec<Project>) -> (Vec<Project>, Vec<(Project, String)>) {
    let (mut there, mut missing) = (Vec::new(), Vec::new());
    for project in projects {
        let lacks = install::lacks(&project);
        if lacks.is_empty() {
            there.push(project);
            continue;
        }
        let installed = args.install.then(|| install::install(&project));
        match (installed, install::lacks(&project)) {
            (_, lacks) if lacks.is_empty() => there.push(project),
            (Some(Err(why)), _) => missing.push((project, why)),
            (_, lacks) => missing.push((project, format!("not installed: {}", lacks.join(", ")))),
        }
    }
    (there, missing)
}

fn work(
    binary: &Path,
    folder: &Path,
    projects: &[Project],
    queue: &Mutex<VecDeque<(usize, Deed)>>,
    cells: &Mutex<Cells>,
    shows: bool,
) {
    loop {
        let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let Some((n, deed)) = next else { return };
        let project = &projects[n];
        let began = Instant::now();
        let dir = folder.join(format!("{}.{}", project.name, deed.name()));
        let cell = play::play(binary, &dir, project, deed).unwrap_or_else(|why| Cell {
            good: false,
            text: why.clone(),
            said: why,
        });
        let (mark, took) = (if cell.good { "as it should" } else { "WRONG" }, began.elapsed().as_secs_f64());
        out::progress(format!("{} {}: {mark}, {took:.1} s", project.name, deed.name()));
        if shows || !cell.good {
            out::progress(&cell.said);
        }
        cells.lock().unwrap_or_else(PoisonError::into_inner).insert((n, deed), cell);
    }
}

/// Prints the table: one line for a project and a task.
fn conclude(projects: &[Project], missing: &[(Project, String)], deeds: &[Deed], cells: &Cells) -> bool {
    let mut wrong = 0;
    out::line(format!("{:<11} {:<8} {:<5} what the run said", "project", "task", ""));
    for (n, project) in projects.iter().enumerate() {
        for deed in deeds {
            let Some(cell) = cells.get(&(n, *deed)) else { continue };
            let mark = if cell.good { "ok" } else { "WRONG" };
            wrong += usize::from(!cell.good);
            let text = tribunal_view::plain::clipped(&cell.text, 120);
            out::line(format!("{:<11} {:<8} {mark:<5} {text}", project.name, deed.name()));
        }
    }
    for (project, why) in missing {
        out::line(format!(
            "{:<11} NOT PLAYED: {why}; `--install` installs what apt, npm and pip have",
            project.name
        ));
    }
    let all = if wrong == 0 {
        "every cell is as it should be".to_owned()
    } else {
        format!("{wrong} cells are WRONG")
    };
    out::line(format!("{} projects played, {} not played: {all}", projects.len(), missing.len()));
    wrong == 0 && !projects.is_empty()
}
