//! A builder that leaves 30,000 files: one round of it, against git taking the same files into an index and writing their
//! tree. What the builder itself takes is not counted.

use super::project::{Project, SCENE, Shape};
use super::table::Table;
use super::{Bench, Result, drive};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// Files that the builder leaves.
const FILES: usize = 30_000;
/// What one file of them is called, and what is in it.
const FOLDER: &str = "node_modules";

/// Measures `strays_s` and `strays_x`.
pub fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let files = if bench.quick { 600 } else { FILES };
    let project =
        Project::make(&Shape { plans: 1, tasks: 1, files: 20, pause_ms: 0, rework: false, width: 1 })?;
    let root = project.root();
    fs::write(root.join(SCENE), scene(files))?;
    let settings = fs::read_to_string(root.join("tribunal.toml"))?;
    fs::write(root.join("tribunal.toml"), format!("{settings}[task]\nrounds_max = 1\n"))?;
    let mut running = bench.binary.start(root, &["run", "--quiet"])?;
    while !running.over(Duration::from_millis(20))? {}
    // It ends with a question: the files are nobody's.
    let sandbox = running.since();
    let peak = running.peak_kb();
    running.end()?;
    let agent = agent_time(&project.run_dir()?)?;
    let ours = sandbox.saturating_sub(agent).as_secs_f64();
    let floor = floor(files)?;
    bench.keep(project);
    let of =
        format!("{files} files outside the contract, without the builder's own {:.1} s", agent.as_secs_f64());
    table.add("strays_s", ours, 10.0, of);
    table.add_plain(
        "strays_x",
        ours / floor,
        format!("against `git add -A` and `git write-tree`, {floor:.1} s"),
    );
    table.detail(format!("strays: the orchestrator had {:.1} MB at most", peak as f64 / 1024.0));
    Ok(())
}

fn scene(files: usize) -> String {
    format!(
        "[[turn]]\nrole = \"dev\"\noptional = true\ndo = [{{ write = \"src/{{plan}}.txt\", text = \"here\\n\" }}, {{ run = \
         [\"sh\", \"-c\", \"mkdir {FOLDER}; i=0; while [ $i -lt {files} ]; do echo $i > {FOLDER}/f$i.js; i=$((i+1)); done\"] \
         }}, {{ say = \"SUMMARY: changed.\\nTASK: done\" }}]\n"
    )
}

/// How long the agents of a run were alive, by when their launch was made and when its end was written.
fn agent_time(run: &Path) -> Result<Duration> {
    let mut all = Duration::ZERO;
    for launch in fs::read_dir(run.join("launches"))? {
        let launch = launch?.path();
        let at = |name: &str| fs::metadata(launch.join(name)).and_then(|known| known.modified());
        all += at("exit.json")?.duration_since(at("process.json")?)?;
    }
    Ok(all)
}

/// Seconds that git takes for the same files by itself.
fn floor(files: usize) -> Result<f64> {
    let dir = tempfile::Builder::new().prefix("tribunal-bench-").tempdir()?;
    let folder = dir.path().join(FOLDER);
    fs::create_dir_all(&folder)?;
    for n in 0..files {
        fs::write(folder.join(format!("f{n}.js")), format!("{n}\n"))?;
    }
    drive::git(dir.path(), &["init", "-q"])?;
    let began = Instant::now();
    drive::git(dir.path(), &["add", "-A"])?;
    drive::git(dir.path(), &["write-tree"])?;
    Ok(began.elapsed().as_secs_f64())
}
