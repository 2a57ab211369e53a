//! 200 agents at once: nothing they print may be lost, the orchestrator must stay small, and none may wait much longer
//! for its start than with a bare spawner that makes the same worktrees and starts the same agents. And 5,000 launches
//! one after the other: no descriptor and no zombie may be left of them.

use super::agents::Agents;
use super::drive;
use super::project::{Project, SCENE, Shape};
use super::table::Table;
use super::{Bench, Result};
use crate::out;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant, UNIX_EPOCH};
use tribunal_core::effect::Step;
use tribunal_core::review_loop::LoopEvent;
use tribunal_engine::{Fact, RunStateError};
use tribunal_journal::Reader;

/// Files of the repository: a checkout is part of every dispatch, ours and the spawner's.
const FILES: usize = 100;
/// Bytes each agent prints.
const PRINTS: u64 = 256 << 10;
/// How many make worktrees at a time in the bare spawner: as many as the engine has for it.
const HANDS: usize = 4;
/// The gate at which builders wait until all are there.
const GATE: &str = "scene.toml.go";

/// Measures `rss_mb_200_agents`, `lost_output`, `dispatch_p99_x` and `fd_growth`.
pub fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let agents = if bench.quick { 8 } else { 200 };
    let crowd = crowd(bench, agents)?;
    let floor = spawner(bench, agents)?;
    let peak = crowd.peak_kb as f64 / 1024.0;
    table.add("rss_mb_200_agents", peak, 120.0, format!("peak of the orchestrator, {agents} agents at once"));
    table.add(
        "lost_output",
        crowd.lost as f64,
        0.0,
        format!("agents of {} whose output is not whole", 2 * agents),
    );
    let (ours, theirs) = (p99(crowd.waits), p99(floor));
    out::progress(format!(
        "crowd: {peak:.1} MB, {} lost, p99 {ours:.0} ms against {theirs:.0} ms",
        crowd.lost
    ));
    let conditions = format!("p99 to a started agent: {ours:.0} ms, bare spawner {theirs:.0} ms");
    table.add("dispatch_p99_x", ours / theirs, 3.0, conditions);
    growth(bench, table)
}

struct Crowd {
    peak_kb: u64,
    /// Agents whose output is not whole.
    lost: usize,
    /// Milliseconds from the intent to the start of each builder.
    waits: Vec<f64>,
}

fn shape(plans: usize, tasks: usize, width: usize) -> Shape {
    Shape { plans, tasks, files: FILES, pause_ms: 0, rework: false, width }
}

/// Builders that all wait until the last of them is there, and then print at once.
fn scene() -> String {
    format!(
        "[[turn]]\nrole = \"dev\"\noptional = true\ndo = [{{ wait = \"file:{GATE}\" }}, {{ fault = \"flood:{PRINTS}\" }}, \
         {{ write = \"src/{{plan}}.txt\", text = \"here\\n\" }}, {{ say = \"SUMMARY: changed.\\nTASK: done\" }}]\n\n\
         [[turn]]\nrole = \"reviewer\"\noptional = true\ndo = [{{ fault = \"flood:{PRINTS}\" }}, {{ say = \"CHECKED: every \
         task serves a must-have; ran git show --stat, the files are those of the plan.\\nVERDICT: approve\" }}]\n"
    )
}

fn crowd(bench: &Bench, agents: usize) -> Result<Crowd> {
    let project = Project::make(&shape(agents, 1, agents))?;
    fs::write(project.root().join(SCENE), scene())?;
    let mut running = bench.binary.start(project.root(), &["run", "--quiet"])?;
    while running.points().iter().filter(|point| *point == "launch:after").count() < agents {
        if running.over(Duration::from_millis(20))? {
            running.finish()?;
            return Err("the run ended before all agents were there".into());
        }
    }
    tribunal_agent::scripted::open_gate(&project.root().join(GATE))?;
    while !running.over(Duration::from_millis(20))? {}
    let finished = running.finish()?;
    let run = project.run_dir()?;
    let launches = run.join("launches");
    let whole = fs::read_dir(&launches)?.flatten().filter(|launch| is_whole(&launch.path())).count();
    let crowd =
        Crowd { peak_kb: finished.peak_kb, lost: (2 * agents).saturating_sub(whole), waits: waits(&run)? };
    bench.keep(project);
    Ok(crowd)
}

/// Everything it printed is there, up to the final event.
fn is_whole(launch: &Path) -> bool {
    let text = fs::read_to_string(launch.join("stdout")).unwrap_or_default();
    let last = text.lines().last().unwrap_or_default();
    text.len() as u64 > PRINTS && text.ends_with('\n') && last.contains("\"type\":\"final\"")
}

/// From the intent of each builder, as it was journaled, to its process.
fn waits(run: &Path) -> Result<Vec<f64>> {
    let mut intended: BTreeMap<String, u64> = BTreeMap::new();
    let read = Reader::open(run)?.each(1, |row| {
        if let Fact::Loop(_, LoopEvent::Intended { effect, .. }) = Fact::decode(&row)?
            && matches!(effect.step, Step::Make(_))
        {
            intended.insert(slug(&effect.to_string()), row.at);
        }
        Ok(())
    });
    read.map_err(|error: RunStateError| error.to_string())?;
    let started = |slug: &str| -> Result<f64> {
        let born = fs::metadata(run.join("launches").join(slug).join("process.json"))?.modified()?;
        Ok(born.duration_since(UNIX_EPOCH)?.as_secs_f64() * 1e3)
    };
    intended.iter().map(|(slug, at)| Ok(started(slug)? - *at as f64)).collect()
}

fn slug(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() || ".-+".contains(c) { c } else { '_' }).collect()
}

/// The same without an orchestrator: trees by git (worktrees cannot be added at the same time), agents in the same containment, as fast as both go.
fn spawner(bench: &Bench, agents: usize) -> Result<Vec<f64>> {
    let project = Project::make(&shape(1, 1, 1))?;
    let root = project.root();
    fs::write(root.join(SCENE), scene())?;
    let supervisor = Agents::new(&bench.binary, &project, None)?;
    let (ready, trees) = mpsc::channel::<(usize, PathBuf)>();
    let began = Instant::now();
    let waits: Result<Vec<f64>> = std::thread::scope(|scope| {
        for hand in 0..HANDS {
            let ready = ready.clone();
            scope.spawn(move || {
                for n in (hand..agents).step_by(HANDS) {
                    let tree = root.join(format!(".tribunal/tree-{n}"));
                    let shown = tree.display().to_string();
                    // One that could not be made is missed below.
                    if drive::git(root, &["clone", "-q", "--shared", ".", &shown]).is_ok() {
                        let _ = ready.send((n, tree));
                    }
                }
            });
        }
        drop(ready);
        let spawned = trees.iter().map(|(n, tree)| {
            supervisor.spawn_builder(&root.join(".tribunal/out"), n, &tree)?;
            Ok(began.elapsed().as_secs_f64() * 1e3)
        });
        spawned.collect()
    });
    let waits = waits?;
    tribunal_agent::scripted::open_gate(&root.join(GATE))?;
    (0..waits.len()).try_for_each(|_| supervisor.wait())?;
    if waits.len() != agents {
        return Err("the spawner could not make all worktrees".into());
    }
    bench.keep(project);
    Ok(waits)
}

fn p99(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = (values.len() * 99).div_ceil(100).saturating_sub(1);
    values.get(at).copied().unwrap_or(f64::NAN)
}

/// Open descriptors and zombies of the orchestrator, late in a run of 5,000 launches against early in it.
fn growth(bench: &Bench, table: &mut Table) -> Result<()> {
    let (plans, tasks) = if bench.quick { (4, 5) } else { (250, 10) };
    let launches = plans * tasks * 2;
    let project = Project::make(&shape(plans, tasks, 16))?;
    let mut running = bench.binary.start(project.root(), &["run", "--quiet"])?;
    let mut seen = Vec::new();
    while !running.over(Duration::from_millis(50))? {
        seen.extend(held(running.pid()));
    }
    running.finish()?;
    let made = fs::read_dir(project.run_dir()?.join("launches"))?.count();
    bench.keep(project);
    // The least of each part: what comes and goes with agents is not growth, what stays is.
    let part = seen.len() / 5;
    let least = |part: &[usize]| part.iter().min().copied().unwrap_or_default();
    let (early, late) = (least(&seen[part..2 * part]), least(&seen[3 * part..4 * part]));
    out::progress(format!("descriptors and zombies: {early} early, {late} late, in {} looks", seen.len()));
    let conditions = format!("descriptors and zombies after {made} of {launches} launches, {early} early on");
    table.add("fd_growth", late.saturating_sub(early) as f64, 0.0, conditions);
    Ok(())
}

/// Descriptors of a launch that is alive: its output, its errors, its handle.
const PER_LAUNCH: usize = 3;

/// Descriptors of a process and zombies below it, but for what the launches alive at this moment need. None when one
/// began or ended while we looked.
fn held(pid: &str) -> Option<usize> {
    let before = children(pid);
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count();
    let children = Some(children(pid)).filter(|now| *now == before)?;
    let count = |is: fn(&str) -> bool| children.iter().filter(|child| is(child)).count();
    (descriptors + count(is_zombie)).checked_sub(PER_LAUNCH * count(is_launch))
}

fn children(pid: &str) -> BTreeSet<String> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// A zombie has no command line: it counts as one, and what it holds as well.
fn is_launch(pid: &str) -> bool {
    fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.starts_with(b"tribunal-contain\0"))
}

fn is_zombie(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('Z'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_but_one_in_a_hundred() {
        assert!((p99((1..=200).map(f64::from).collect()) - 198.0).abs() < f64::EPSILON);
        assert!((p99(vec![7.0]) - 7.0).abs() < f64::EPSILON);
        assert!(p99(Vec::new()).is_nan());
    }
}
