//! Many lanes at once: each with a worktree of a 1,000-file repository, one file changed, committed, reviewed, landed, by
//! agents that take a second. How long it takes against the ideal, what the orchestrator costs per lane as lanes get
//! more, and how much memory it holds.

use super::agents::Agents;
use super::drive::Finished;
use super::project::{Project, Shape};
use super::table::Table;
use super::{Bench, Result, machine};
use crate::out;

/// Agents at a time.
const WIDTH: usize = 16;
/// Agents per lane: a builder and a reviewer.
const AGENTS: usize = 2;

/// One measured run.
struct Measured {
    lanes: usize,
    finished: Finished,
    /// Seconds, were there nothing but agents.
    ideal: f64,
    /// Processor seconds of orchestrator and git, per lane.
    cost: f64,
}

/// Measures `makespan_x`, `loop_cost_growth_x` and `rss_mb_1000`.
pub fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let (sizes, pause_ms) = if bench.quick { (&[4, 16][..], 100) } else { (&[100, 300, 1_000][..], 1_000) };
    let agent = agent_cost(bench, pause_ms)?;
    table.detail(format!("lanes: an agent costs {:.1} ms of processor time, not counted below", agent * 1e3));
    let mut all = Vec::new();
    for lanes in sizes {
        let measured = run(bench, *lanes, pause_ms, agent)?;
        let line = describe(&measured);
        out::progress(&line);
        table.detail(line);
        all.push(measured);
    }
    let (Some(few), Some(many)) = (all.first(), all.last()) else { return Ok(()) };
    let conditions =
        format!("{} lanes, {WIDTH} agents of {} s, 1,000 files", many.lanes, f64::from(pause_ms) / 1e3);
    table.add("makespan_x", many.finished.sandbox.as_secs_f64() / many.ideal, 1.15, conditions);
    let growth = format!("processor time per lane, {} lanes against {}", many.lanes, few.lanes);
    table.add("loop_cost_growth_x", many.cost / few.cost, 1.3, growth);
    let peak = many.finished.peak_kb as f64 / 1024.0;
    table.add("rss_mb_1000", peak, 80.0, format!("peak of the orchestrator, {} lanes", many.lanes));
    Ok(())
}

fn describe(measured: &Measured) -> String {
    let Measured { lanes, finished, ideal, cost } = measured;
    format!(
        "lanes: {lanes}: {:.1} s, ideal {ideal:.1} s; {:.1} ms processor per lane, {:.1} of it in the orchestrator \
         itself; peak {:.1} MB",
        finished.sandbox.as_secs_f64(),
        cost * 1e3,
        finished.own.as_secs_f64() * 1e3 / *lanes as f64,
        finished.peak_kb as f64 / 1024.0
    )
}

fn shape(lanes: usize, pause_ms: u32) -> Shape {
    Shape { plans: lanes, tasks: 1, files: 1_000, pause_ms, rework: false, width: WIDTH }
}

fn run(bench: &Bench, lanes: usize, pause_ms: u32, agent: f64) -> Result<Measured> {
    let project = Project::make(&shape(lanes, pause_ms))?;
    let finished = bench.binary.run(project.root(), &["run", "--quiet"])?;
    bench.keep(project);
    let agents = (AGENTS * lanes) as f64;
    let ideal = agents * f64::from(pause_ms) / 1e3 / WIDTH as f64;
    let cost = (finished.cpu.as_secs_f64() - agents * agent) / lanes as f64;
    Ok(Measured { lanes, finished, ideal, cost })
}

/// Processor seconds of one agent and its containment, measured with as many at a time.
fn agent_cost(bench: &Bench, pause_ms: u32) -> Result<f64> {
    let project = Project::make(&shape(1, pause_ms))?;
    let agents = Agents::new(&bench.binary, &project, None)?;
    let count = 4 * WIDTH;
    let before = machine::spent_by_children();
    agents.run(&project.root().join(".tribunal"), count, WIDTH)?;
    bench.keep(project);
    Ok((machine::spent_by_children() - before).as_secs_f64() / count as f64)
}
