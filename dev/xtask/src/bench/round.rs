//! One round: a builder and a reviewer that take no time, against the floor of starting the same processes in the same
//! containment and committing the same number of transactions. Two runs of different length are compared, so that
//! beginning and ending a run cancel out.

use super::agents::Agents;
use super::drive::Finished;
use super::project::{Project, Shape};
use super::table::Table;
use super::{Bench, Result, median};
use std::path::{Path, PathBuf};
use std::time::Instant;
use tribunal_journal::{Head, Journal, NewRow, Reader, Row, Turn};

/// Tasks of the short run and of the long one; every task takes two rounds.
const TASKS: (usize, usize) = (2, 12);
const ROUNDS_PER_TASK: usize = 2;

/// Measures `round_overhead_x`: each time against the floor of the same moment, for a machine is not as fast all the time.
pub fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let times = if bench.quick { 1 } else { 9 };
    let rounds = (ROUNDS_PER_TASK * (TASKS.1 - TASKS.0)) as f64;
    let (mut ours, mut floors, mut cpus, mut ratios) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut counts = (0, 0);
    for _ in 0..times {
        let (short, before) = run(bench, TASKS.0)?;
        bench.keep(before);
        let (long, project) = run(bench, TASKS.1)?;
        let more = |point| long.count(point).saturating_sub(short.count(point));
        counts = (more("launch:before"), more("append:before"));
        let floor = Floor::of(bench, &project)?.time(counts.0, counts.1)? * 1e3 / rounds;
        bench.keep(project);
        let round = (long.sandbox.as_secs_f64() - short.sandbox.as_secs_f64()) * 1e3 / rounds;
        cpus.push((long.cpu.as_secs_f64() - short.cpu.as_secs_f64()) * 1e3 / rounds);
        ratios.push(round / floor);
        ours.push(round);
        floors.push(floor);
    }
    let spread = spread(&ratios);
    let (ours, floor, cpu) = (median(ours), median(floors), median(cpus));
    let per_round = (counts.0 as f64 / rounds, counts.1 as f64 / rounds);
    table.add(
        "round_overhead_x",
        median(ratios),
        3.0,
        format!("wall, median of {times}, 20 files, one lane"),
    );
    table.detail(format!(
        "round: {ours:.1} ms ({cpu:.1} ms processor) with {:.1} launches and {:.1} commits; floor {floor:.1} ms; {spread}",
        per_round.0, per_round.1
    ));
    Ok(())
}

/// How far apart the times were.
fn spread(ratios: &[f64]) -> String {
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let most = ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    format!("{least:.2} to {most:.2} times")
}

fn run(bench: &Bench, tasks: usize) -> Result<(Finished, Project)> {
    let shape = Shape { plans: 1, tasks, files: 20, pause_ms: 0, rework: true, width: 1 };
    let project = Project::make(&shape)?;
    let finished = bench.binary.run(project.root(), &["run", "--quiet"])?;
    Ok((finished, project))
}

/// The same processes and transactions, without Tribunal around them.
struct Floor {
    agents: Agents,
    run: PathBuf,
}

impl Floor {
    fn of(bench: &Bench, project: &Project) -> Result<Floor> {
        let run = project.run_dir()?;
        let mut launches = std::fs::read_dir(run.join("launches"))?.filter_map(|entry| entry.ok());
        let prompt = launches.next().ok_or("nothing was launched")?.path().join("prompt.md");
        Ok(Floor { agents: Agents::new(&bench.binary, project, Some(prompt))?, run })
    }

    /// Seconds for so many launches and commits, one after the other.
    fn time(&self, launches: usize, commits: usize) -> Result<f64> {
        let dir = tempfile::Builder::new().prefix("tribunal-bench-").tempdir()?;
        let journal = journaled(&self.run, &dir.path().join("run"), commits)?;
        let began = Instant::now();
        self.agents.run(dir.path(), launches, 1)?;
        journal()?;
        Ok(began.elapsed().as_secs_f64())
    }
}

/// Puts the rows of a run into a journal of its own in so many transactions, when it is called.
pub fn journaled(run: &Path, at: &Path, commits: usize) -> Result<impl FnOnce() -> Result<()> + use<>> {
    let mut rows: Vec<Row> = Vec::new();
    Reader::open(run)?.each(1, |row| {
        rows.push(row.to_row());
        Ok::<(), tribunal_journal::Error>(())
    })?;
    let head = Head { run_id: "floor".to_owned(), product_version: "0".to_owned(), created_at: 0 };
    let mut journal = Journal::create(at, &head)?;
    Ok(move || {
        let share = rows.len().div_ceil(commits.max(1)).max(1);
        let new = rows.iter().map(|row| NewRow { of: &row.of, kind: &row.kind, body: &row.body });
        let new: Vec<NewRow<'_>> = new.cycle().take(share * commits).collect();
        for rows in new.chunks(share) {
            journal.append(&[Turn { at: 0, rows }])?;
        }
        Ok(())
    })
}
