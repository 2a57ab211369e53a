//! A round of a panel: three reviewers and two fixers that take no time, against the floor of starting the same processes
//! in the same containment, with the git commands that give each fixer a checkout, take what it made and lay it before
//! the reviewers, and the same number of transactions. A review of one round is taken off one of three, so that beginning
//! and ending cancel out. Also which part of their prompts sibling reviewers share on the phase of the demo.

use super::agents::Agents;
use super::drive::{self, Finished};
use super::project::{Project, SCENE};
use super::round::journaled;
use super::table::Table;
use super::{Bench, Result, median};
use std::fs;
use std::path::Path;
use std::time::Instant;

const PANEL: &str = "testing-qa-verification-specialist,engineering-backend-architect,security-engineer";
/// Who finds something; the others approve.
const FINDER: &str = "testing-qa-verification-specialist";
/// Files of two different fixers.
const FILES: [(&str, &str); 2] =
    [("api/a.py", "engineering-backend-architect"), ("web/ui/b.ts", "engineering-frontend-developer")];
/// Rounds of the long review with fixes before them.
const REWORKS: u32 = 2;
const REVIEWERS: usize = 3;

/// Measures `panel_overhead_x` and `sibling_prefix_share`.
pub fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let times = if bench.quick { 1 } else { 7 };
    let rounds = f64::from(REWORKS);
    let (mut ours, mut floors) = (Vec::new(), Vec::new());
    let mut counts = (0, 0);
    for _ in 0..times {
        let (short, before) = review(bench, 0)?;
        bench.keep(before);
        let (long, project) = review(bench, REWORKS)?;
        let more = |point| long.count(point).saturating_sub(short.count(point));
        counts = (more("launch:before"), more("append:before"));
        floors.push(floor(bench, &project, counts.1)? * 1e3 / rounds);
        bench.keep(project);
        ours.push((long.sandbox.as_secs_f64() - short.sandbox.as_secs_f64()) * 1e3 / rounds);
    }
    let (ours, floor) = (median(ours), median(floors));
    let conditions = format!("wall, median of {times}, 3 reviewers, 2 fixers");
    table.add("panel_overhead_x", ours / floor, 3.0, conditions);
    table.detail(format!(
        "panel round: {ours:.1} ms with {:.1} launches and {:.1} commits; floor {floor:.1} ms",
        counts.0 as f64 / rounds,
        counts.1 as f64 / rounds
    ));
    let share = sibling_share(bench)?;
    table.add_plain(
        "sibling_prefix_share",
        share,
        "smallest of three reviewers' prompts, demo phase; goal: 0.9 at least",
    );
    Ok(())
}

/// A review with so many reworks.
fn review(bench: &Bench, reworks: u32) -> Result<(Finished, Project)> {
    let project = project(reworks)?;
    let args = ["review", "--diff", "main..HEAD", "--fix", "--yes", "--quiet", "--panel", PANEL];
    let finished = bench.binary.run(project.root(), &args)?;
    let launched = finished.count("launch:before");
    let expect = REVIEWERS + (REVIEWERS + FILES.len()) * reworks as usize;
    if launched != expect {
        return Err(format!("{launched} agents were launched, not {expect}: this is another round").into());
    }
    Ok((finished, project))
}

fn project(reworks: u32) -> Result<Project> {
    let project = Project::empty()?;
    let root = project.root();
    drive::git(root, &["init", "-q", "-b", "main"])?;
    drive::git(root, &["config", "user.name", "Bench"])?;
    drive::git(root, &["config", "user.email", "bench@localhost"])?;
    fs::write(root.join(".git/info/exclude"), ".tribunal\ntribunal.toml\nscene.toml*\n")?;
    for (path, _) in FILES {
        let file = root.join(path);
        file.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(&file, text(0))?;
    }
    drive::git(root, &["add", "-A"])?;
    drive::git(root, &["commit", "-q", "-m", "chore: begin"])?;
    drive::git(root, &["checkout", "-q", "-b", "topic"])?;
    for (path, _) in FILES {
        fs::write(root.join(path), text(1))?;
    }
    drive::git(root, &["commit", "-q", "-am", "feat: a change"])?;
    fs::write(root.join(SCENE), scene(reworks))?;
    // Nothing but the rounds themselves: no linter of this machine, no pass beyond the last round.
    let settings = format!(
        "[run]\nparallel_max = 8\n\n[phase]\nfinal_pass = false\nrounds_max = 9\n\n[agents]\ndefault = \"scripted\"\nscenario = \"{SCENE}\"\n"
    );
    fs::write(root.join("tribunal.toml"), settings)?;
    Ok(project)
}

/// A file after so many changes: each changes other lines, so that nothing is said of a line twice.
fn text(changes: u32) -> String {
    let line = |n: u32| match n.is_multiple_of(10) && n / 10 < changes {
        true => format!("value_{n} = {changes}\n"),
        false => format!("value_{n} = 0\n"),
    };
    (0..60).map(line).collect()
}

/// In every round but the last one reviewer finds something in both files.
fn scene(reworks: u32) -> String {
    let mut scene = "[[turn]]\nrole = \"reviewer\"\noptional = true\ndo = [{ say = \"CHECKED: every task serves a must-have; ran git show --stat, the files are those of the plan.\\nVERDICT: approve\" }]\n".to_owned();
    // The floor's builders.
    scene.push_str(
        "\n[[turn]]\nrole = \"dev\"\noptional = true\ndo = [{ say = \"SUMMARY: changed.\\nTASK: done\" }]\n",
    );
    let settled = "{finding:1}: resolved\\n{finding:2}: resolved\\n";
    for round in 1..=reworks {
        let before = if round > 1 { settled } else { "" };
        let line = (round - 1) * 10 + 1;
        let found: String = FILES
            .iter()
            .map(|(path, _)| format!("[id:{path}] [severity:warning] [confidence:95] [file:{path}:{line}] issue: value {line} of {path} is wrong in version {round} | suggestion: change it\\n"))
            .collect();
        scene.push_str(&turn(
            "reviewer",
            Some(FINDER),
            round,
            &format!("{{ say = \"{before}{found}VERDICT: reject\" }}"),
        ));
        for (path, fixer) in FILES {
            let text = serde_json::Value::from(text(round + 1)).to_string();
            let steps = format!(
                "{{ write = \"{path}\", text = {text} }}, {{ say = \"FIXED: {{finding:1}}\\nSUMMARY: changed.\\nTASK: done\" }}"
            );
            scene.push_str(&turn(fixer, None, round + 1, &steps));
        }
    }
    if reworks > 0 {
        let last =
            format!("{{ say = \"{settled}CHECKED: read both fixed lines again.\\nVERDICT: approve\" }}");
        scene.push_str(&turn("reviewer", Some(FINDER), reworks + 1, &last));
    }
    scene
}

fn turn(role: &str, reviewer: Option<&str>, round: u32, steps: &str) -> String {
    let reviewer = reviewer.map(|reviewer| format!("reviewer = \"{reviewer}\"\n")).unwrap_or_default();
    format!("\n[[turn]]\nrole = \"{role}\"\n{reviewer}round = {round}\noptional = true\ndo = [{steps}]\n")
}

/// Seconds for the same agents, git commands and transactions without Tribunal around them.
fn floor(bench: &Bench, project: &Project, commits: usize) -> Result<f64> {
    let out = tempfile::Builder::new().prefix("tribunal-bench-").tempdir()?;
    let run = project.run_dir()?;
    let prompt = fs::read_dir(run.join("launches"))?.filter_map(|entry| entry.ok()).next();
    let prompt = prompt.ok_or("nothing was launched")?.path().join("prompt.md");
    let agents = Agents::new(&bench.binary, project, Some(prompt))?;
    let journal = journaled(&run, &out.path().join("run"), commits)?;
    let began = Instant::now();
    for round in 0..REWORKS {
        git_of_a_round(project.root(), out.path(), &agents, round)?;
    }
    journal()?;
    Ok(began.elapsed().as_secs_f64())
}

/// Each fixer in a checkout of its own, what they made in one commit, and a checkout of that for the reviewers.
fn git_of_a_round(root: &Path, out: &Path, agents: &Agents, round: u32) -> Result<()> {
    let place = |name: &str| out.join(format!("{name}-{round}"));
    let add = |name: &str| -> Result<()> {
        let at = place(name).display().to_string();
        drive::git(root, &["worktree", "add", "-q", "--detach", &at, "HEAD"])
    };
    FILES.iter().try_for_each(|(_, fixer)| add(fixer))?;
    agents.run(&out.join(format!("fixing-{round}")), FILES.len(), FILES.len())?;
    for (path, fixer) in FILES {
        fs::write(place(fixer).join(path), text(100 + round))?;
        drive::git(&place(fixer), &["add", "-A"])?;
        drive::git(&place(fixer), &["commit", "-q", "-m", "fix: part"])?;
        drive::git(&place(fixer), &["diff", "--stat", "HEAD~1", "HEAD"])?;
    }
    add("joined")?;
    for (_, fixer) in FILES {
        let head = place(fixer).display().to_string();
        drive::git(
            &place("joined"),
            &["-C", &head, "update-ref", &format!("refs/bench/{fixer}-{round}"), "HEAD"],
        )?;
        drive::git(
            &place("joined"),
            &["cherry-pick", "--no-commit", &format!("refs/bench/{fixer}-{round}")],
        )?;
    }
    drive::git(&place("joined"), &["commit", "-q", "-m", "fix: the round"])?;
    drive::git(&place("joined"), &["diff", "HEAD~1", "HEAD"])?;
    drive::git(&place("joined"), &["diff", "main", "HEAD"])?;
    agents.run(&out.join(format!("judging-{round}")), REVIEWERS, REVIEWERS)
}

/// The smallest part of one sibling's prompt that is also the beginning of another's.
fn sibling_share(bench: &Bench) -> Result<f64> {
    let project = Project::empty()?;
    let demo = project.root().join("demo");
    let at = demo.display().to_string();
    bench.binary.run(project.root(), &["demo", "--dir", &at])?;
    let scene = project.root().join(SCENE);
    fs::write(&scene, self::scene(0))?;
    let scenario = format!("agents.scenario={}", serde_json::Value::from(scene.display().to_string()));
    let args = ["review", "01", "--yes", "--quiet", "--panel", PANEL, "--set", scenario.as_str()];
    bench.binary.run(&demo, &args)?;
    let runs = fs::read_dir(demo.join(".tribunal/runs"))?.filter_map(|entry| entry.ok());
    let run = runs.map(|entry| entry.path()).find(|path| path.display().to_string().contains("review"));
    let launches = fs::read_dir(run.ok_or("there is no review")?.join("launches"))?;
    let judges = launches.filter_map(|entry| entry.ok()).map(|entry| entry.path());
    let judges = judges.filter(|path| path.display().to_string().contains("judge"));
    let prompts = judges.map(|path| fs::read(path.join("prompt.md"))).collect::<std::io::Result<Vec<_>>>()?;
    if prompts.len() != REVIEWERS {
        return Err(format!("{} reviewers were asked", prompts.len()).into());
    }
    let mut least = 1.0_f64;
    for (at, one) in prompts.iter().enumerate() {
        for other in &prompts[at + 1..] {
            let common = one.iter().zip(other).take_while(|(a, b)| a == b).count();
            least = least.min(common as f64 / one.len().max(other.len()) as f64);
        }
    }
    bench.keep(project);
    Ok(least)
}
