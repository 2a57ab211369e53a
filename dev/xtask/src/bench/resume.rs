//! Going on: a run of 1,000 lanes is killed when half of them have landed; how long does the next process take until it
//! launches an agent again?

use super::project::{Project, Shape};
use super::table::Table;
use super::{Bench, Result};
use std::time::Duration;

/// How often the points are looked at while the time is taken.
const LOOK: Duration = Duration::from_millis(2);

/// Measures `resume_ms`.
pub fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let lanes = if bench.quick { 8 } else { 1_000 };
    let shape = Shape { plans: lanes, tasks: 1, files: 1_000, pause_ms: 0, rework: false, width: 16 };
    let project = Project::make(&shape)?;
    let mut first = bench.binary.start(project.root(), &["run", "--quiet"])?;
    loop {
        if first.over(Duration::from_millis(20))? {
            first.finish()?;
            return Err("the run ended before it could be killed".into());
        }
        if count(&first.points(), "landing:after") * 2 >= lanes {
            break;
        }
    }
    first.kill()?;
    let mut second = bench.binary.start(project.root(), &["resume", "--quiet"])?;
    while count(&second.points(), "launch:before") == 0 {
        if second.over(LOOK)? {
            second.finish()?;
            return Err("the resumed run launched nothing".into());
        }
    }
    let ms = second.since().as_secs_f64() * 1e3;
    // It must also come to its end: a quick start of something broken would be worth nothing.
    while !second.over(Duration::from_millis(50))? {}
    second.finish()?;
    bench.keep(project);
    table.add_plain("resume_ms", ms, format!("{lanes} lanes, killed with half landed, to the first launch"));
    Ok(())
}

fn count(points: &[String], point: &str) -> usize {
    points.iter().filter(|name| *name == point).count()
}
