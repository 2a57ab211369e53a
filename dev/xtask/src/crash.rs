//! `cargo xtask crash`: the real program on real git and real processes, killed at every crash point of every scene,
//! started again, and compared with the run that was left alone. It passes only if every law held every time.

#[path = "../../../crates/tribunal/tests/stage/mod.rs"]
#[expect(dead_code, reason = "the end-to-end tests use the rest")]
pub(crate) mod stage;

use crate::out;
use stage::play::{Death, Deaths, Played, play};
use stage::scenes::{SCENES, Scene};
use stage::{Res, Stage};
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// With `--short`, about so many points of all scenes together.
const SHORT: usize = 60;
/// One death in so many is followed by another, at the next command.
const AGAIN_EVERY: usize = 4;

/// What to kill.
#[derive(clap::Args)]
pub struct Args {
    /// Only some of the points, spread over all scenes
    #[arg(long)]
    short: bool,
    /// Only this scene
    #[arg(long, value_name = "NAME")]
    scenario: Option<String>,
    /// Only this point of the scene, and what the run says
    #[arg(long, value_name = "N", requires = "scenario")]
    at: Option<usize>,
    /// With --at: die again at this point of the next command
    #[arg(long, value_name = "M", requires = "at")]
    then: Option<u64>,
    /// The program; built first if not given
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// Plays at a time; twice as many as there are cores if not given
    #[arg(long)]
    threads: Option<usize>,
    /// Keep the stages of what failed
    #[arg(long)]
    keep: bool,
}

/// A scene that was left alone, and where it can be killed.
struct Known {
    scene: &'static Scene,
    alone: Played,
    points: Vec<Point>,
}

/// One place to die.
struct Point {
    command: usize,
    death: Death,
    name: String,
}

/// One play with a death in it.
struct Task {
    scene: usize,
    point: usize,
    then: Option<u64>,
}

#[derive(Default)]
struct Tally {
    played: usize,
    died: usize,
    died_again: usize,
    commands: usize,
    violations: Vec<String>,
}

/// Runs the chore.
pub fn run(args: &Args) -> ExitCode {
    match matrix(args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            out::line(error);
            ExitCode::FAILURE
        }
    }
}

fn matrix(args: &Args) -> Res<bool> {
    let began = Instant::now();
    let binary = crate::program::tribunal(args.binary.as_deref())?;
    let folder = tempfile::Builder::new().prefix("crash-").tempdir().map_err(|error| error.to_string())?;
    let known = leave_alone(args, &binary, folder.path())?;
    let tasks = tasks(args, &known)?;
    let tallies: Mutex<BTreeMap<usize, Tally>> = Mutex::default();
    let queue = Mutex::new(VecDeque::from(tasks));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..args.threads.unwrap_or(cores * 2).max(1) {
            scope.spawn(|| work(args, &binary, folder.path(), &known, &queue, &tallies));
        }
    });
    let tallies = tallies.into_inner().unwrap_or_else(PoisonError::into_inner);
    let good = conclude(&known, &tallies, began.elapsed().as_secs_f64());
    if args.keep && !good {
        out::line(format!("kept in {}", folder.keep().display()));
    }
    Ok(good)
}

/// Plays each scene once without a death: that is what the others are compared with.
fn leave_alone(args: &Args, binary: &Path, folder: &Path) -> Res<Vec<Known>> {
    let wanted = |scene: &&Scene| args.scenario.as_ref().is_none_or(|name| name == scene.name);
    let scenes: Vec<&'static Scene> = SCENES.iter().filter(wanted).collect();
    if scenes.is_empty() {
        let names: Vec<&str> = SCENES.iter().map(|scene| scene.name).collect();
        return Err(format!("there is no such scene\nhint: name one of {}", names.join(", ")));
    }
    let mut known = Vec::new();
    for scene in scenes {
        let dir = folder.join(format!("{}.alone", scene.name));
        let alone =
            one(binary, &dir, scene, &Deaths::new()).map_err(|error| format!("{}: {error}", scene.name))?;
        if !alone.violations.is_empty() {
            return Err(format!("{}, left alone:\n  {}", scene.name, alone.violations.join("\n  ")));
        }
        let mut points = points(&alone);
        if scene.git {
            points.extend(git_points(binary, folder, scene, alone.commands.len())?);
        }
        known.push(Known { scene, alone, points });
    }
    Ok(known)
}

/// The crash points of all commands.
fn points(alone: &Played) -> Vec<Point> {
    let mut points = Vec::new();
    for (command, given) in alone.commands.iter().enumerate() {
        let named = given.points.iter().zip(1..);
        let point = |(name, at): (&String, u64)| Point {
            command,
            death: Death::Point(at),
            name: format!("{name} (the {at}. of command {})", command + 1),
        };
        points.extend(named.map(point));
    }
    points
}

/// Before and after each call of git.
fn git_points(binary: &Path, folder: &Path, scene: &Scene, commands: usize) -> Res<Vec<Point>> {
    let counted: Deaths = (0..commands).map(|command| (command, Death::COUNTED)).collect();
    let played = one(binary, &folder.join(format!("{}.counted", scene.name)), scene, &counted)?;
    let mut points = Vec::new();
    for (command, given) in played.commands.iter().enumerate() {
        for (call, n) in given.git.iter().zip(1..) {
            // What follows the options that every call has.
            let words: Vec<&str> = call.split(' ').filter(|word| !word.contains(['=', '/'])).collect();
            let name: String = words.join(" ").chars().take(60).collect();
            let point = |death, when| Point { command, death, name: format!("{when} git call {n}: {name}") };
            points.push(point(Death::BeforeGit(n), "before"));
            points.push(point(Death::AfterGit(n), "after"));
            // What writes the user's own files and branch must bear that git dies too.
            if call.contains("/forward/") || call.contains("index.tribunal") || call.contains("fast-forward")
            {
                points.push(point(Death::WithGit(n), "with"));
            }
        }
    }
    Ok(points)
}

fn one(binary: &Path, dir: &Path, scene: &Scene, deaths: &Deaths) -> Res<Played> {
    let stage = Stage::new(dir, binary)?;
    scene.set(&stage)?;
    play(&stage, scene, deaths)
}

/// The points to die at: all of them, every k-th, or the one that was asked for.
fn tasks(args: &Args, known: &[Known]) -> Res<Vec<Task>> {
    if let Some(at) = args.at {
        let points = known.first().map_or(0, |known| known.points.len());
        let point = at.checked_sub(1).filter(|point| *point < points);
        let point = point.ok_or_else(|| format!("its points are 1 to {points}"))?;
        return Ok(vec![Task { scene: 0, point, then: args.then }]);
    }
    let all: usize = known.iter().map(|known| known.points.len()).sum();
    let every = if args.short { all.div_ceil(SHORT).max(1) } else { 1 };
    let mut tasks = Vec::new();
    let mut n = 0;
    for (scene, known) in known.iter().enumerate() {
        for point in 0..known.points.len() {
            if n % every == 0 {
                // The second death is somewhere else each time.
                let again = tasks.len() % AGAIN_EVERY == 1;
                let then = again.then(|| 1 + (tasks.len() as u64 * 7) % 40);
                tasks.push(Task { scene, point, then });
            }
            n += 1;
        }
    }
    Ok(tasks)
}

fn work(
    args: &Args,
    binary: &Path,
    folder: &Path,
    known: &[Known],
    queue: &Mutex<VecDeque<Task>>,
    tallies: &Mutex<BTreeMap<usize, Tally>>,
) {
    loop {
        let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let Some(task) = next else { return };
        let Known { scene, alone, points } = &known[task.scene];
        let point = &points[task.point];
        let dir = folder.join(format!("{}.{}", scene.name, task.point + 1));
        let mut deaths = Deaths::from([(point.command, point.death)]);
        deaths.extend(task.then.map(|at| (point.command + 1, Death::Point(at))));
        let played = one(binary, &dir, scene, &deaths);
        if args.at.is_some()
            && let Ok(played) = &played
        {
            show(played);
        }
        let mut tallies = tallies.lock().unwrap_or_else(PoisonError::into_inner);
        let tally = tallies.entry(task.scene).or_default();
        let wrong = tally.note(alone, played, point.command);
        let done: usize = tally.played;
        if done.is_multiple_of(20) {
            out::progress(format!("{}: {done} of {}", scene.name, points.len()));
        }
        if wrong.is_empty() || !args.keep {
            // What cannot be removed goes with the whole folder.
            let _ = std::fs::remove_dir_all(&dir);
        }
        if !wrong.is_empty() {
            let text = failed(scene, &task, point, &wrong);
            out::progress(&text);
            tally.violations.push(text);
        }
    }
}

impl Tally {
    /// Counts one play; returns what was wrong with it.
    fn note(&mut self, alone: &Played, played: Res<Played>, command: usize) -> Vec<String> {
        self.played += 1;
        let played = match played {
            Ok(played) => played,
            Err(error) => return vec![error],
        };
        self.commands += played.commands.len();
        self.died += usize::from(played.commands.get(command).is_some_and(|given| given.died()));
        self.died_again += usize::from(played.commands.get(command + 1).is_some_and(|given| given.died()));
        let mut wrong = played.violations;
        let differ = alone.seen.differences(&played.seen);
        wrong.extend(differ.into_iter().map(|line| format!("otherwise than alone: {line}")));
        wrong
    }
}

fn failed(scene: &Scene, task: &Task, point: &Point, wrong: &[String]) -> String {
    let n = task.point + 1;
    let then = task.then.map(|then| format!(" --then {then}")).unwrap_or_default();
    format!(
        "VIOLATED {}, point {n}: {}\n  {}\n  again: cargo xtask crash --scenario {} --at {n}{then}",
        scene.name,
        point.name,
        wrong.join("\n  "),
        scene.name
    )
}

fn show(played: &Played) {
    for given in &played.commands {
        out::line(format!("$ tribunal {}", given.args.join(" ")));
        out::line(format!("{}{}", given.ended.stderr, given.ended.stdout));
        out::line(format!(
            "-> code {:?}, signal {:?}, {} points, the last {:?}",
            given.ended.code,
            given.ended.signal,
            given.points.len(),
            given.points.last()
        ));
    }
}

fn conclude(known: &[Known], tallies: &BTreeMap<usize, Tally>, seconds: f64) -> bool {
    let mut sum = Tally::default();
    out::line(format!(
        "{:<16} {:>6} {:>6} {:>6} {:>9} {:>10}  what it shows",
        "scene", "points", "deaths", "twice", "commands", "violations"
    ));
    for (n, known) in known.iter().enumerate() {
        let empty = Tally::default();
        let tally = tallies.get(&n).unwrap_or(&empty);
        let (points, bad) = (known.points.len(), tally.violations.len());
        out::line(format!(
            "{:<16} {points:>6} {:>6} {:>6} {:>9} {bad:>10}  {}",
            known.scene.name, tally.died, tally.died_again, tally.commands, known.scene.shows
        ));
        sum.played += points;
        sum.died += tally.died;
        sum.died_again += tally.died_again;
        sum.commands += tally.commands;
        sum.violations.extend(tally.violations.iter().cloned());
    }
    out::line(format!(
        "{} points in {} scenes; {} deaths, {} of them twice; {} commands; {} violations; {seconds:.0} s",
        sum.played,
        known.len(),
        sum.died,
        sum.died_again,
        sum.commands,
        sum.violations.len()
    ));
    sum.violations.is_empty()
}
