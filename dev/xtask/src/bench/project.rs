//! Projects to be measured: a generated repository, its plans, its settings and what its agents do. They are made the
//! same way every time; nothing in them is random.

use super::{Result, drive};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// How a project looks.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Plans, all in one wave.
    pub plans: usize,
    /// Tasks of each plan, one after the other.
    pub tasks: usize,
    /// Files git tracks.
    pub files: usize,
    /// How long every agent pauses.
    pub pause_ms: u32,
    /// The first review of every task rejects.
    pub rework: bool,
    /// Agents at a time.
    pub width: usize,
}

/// A project on disk, removed when dropped.
pub struct Project {
    dir: TempDir,
}

/// What agents do, beside the repository.
pub const SCENE: &str = "scene.toml";

impl Project {
    /// Makes the project.
    pub fn make(shape: &Shape) -> Result<Project> {
        let dir = tempfile::Builder::new().prefix("tribunal-bench-").tempdir()?;
        let root = dir.path();
        let phase = root.join(".planning/phases/01-bench");
        fs::create_dir_all(&phase)?;
        fs::create_dir_all(root.join("src"))?;
        for n in 1..=shape.files {
            fs::write(root.join(format!("src/{}.txt", plan_id(n))), file_text(n))?;
        }
        drive::git(root, &["init", "-q", "-b", "main"])?;
        drive::git(root, &["config", "user.name", "Bench"])?;
        drive::git(root, &["config", "user.email", "bench@localhost"])?;
        // Only the generated files are in the repository: its size does not depend on the number of plans.
        fs::write(root.join(".git/info/exclude"), ".planning\n.tribunal\ntribunal.toml\nscene.toml*\n")?;
        drive::git(root, &["add", "-A"])?;
        drive::git(root, &["commit", "-q", "-m", "chore: begin"])?;
        for n in 1..=shape.plans {
            fs::write(phase.join(format!("{}-PLAN.md", plan_id(n))), plan_text(n, shape.tasks))?;
        }
        fs::write(root.join(SCENE), scene(shape))?;
        fs::write(root.join("tribunal.toml"), settings(shape))?;
        Ok(Project { dir })
    }

    /// A folder with nothing in it.
    pub fn empty() -> Result<Project> {
        Ok(Project { dir: tempfile::Builder::new().prefix("tribunal-bench-").tempdir()? })
    }

    /// Its root.
    pub fn root(&self) -> &Path {
        self.dir.path()
    }

    /// The folder of its only run.
    pub fn run_dir(&self) -> Result<PathBuf> {
        let runs = fs::read_dir(self.root().join(".tribunal/runs"))?;
        let dir = runs.filter_map(|entry| entry.ok()).next().ok_or("there is no run")?;
        Ok(dir.path())
    }
}

fn plan_id(n: usize) -> String {
    format!("01-{n:02}")
}

fn file_text(n: usize) -> String {
    (0..40).map(|line| format!("file {n} line {line}: some words that stay as they are\n")).collect()
}

fn plan_text(n: usize, tasks: usize) -> String {
    let id = plan_id(n);
    let mut text = format!(
        "---\nphase: \"01\"\nplan: \"{n:02}\"\ntitle: \"Lane {n}\"\nwave: 1\ndepends_on: []\nmust_haves:\n  \
         - \"the file says that lane {n} was here\"\nfiles_modified:\n  - \"src/{id}.txt\"\n---\n# Plan {id}\n"
    );
    for task in 1..=tasks {
        let _ = write!(
            text,
            "\n### Task {task}: Change the file\nSay in the file that task {task} was done.\n\n\
             **File:** `src/{id}.txt`\n**Commit:** `feat({id}): task {task}`\n"
        );
    }
    text
}

fn scene(shape: &Shape) -> String {
    let pause = match shape.pause_ms {
        0 => String::new(),
        ms => format!("{{ pause_ms = {ms} }}, "),
    };
    let mut text = format!(
        "[[turn]]\nrole = \"dev\"\noptional = true\ndo = [{pause}{{ write = \"src/{{plan}}.txt\", text = \
         \"task {{task}} round {{round}}\\n\" }}, {{ say = \"SUMMARY: changed.\\nTASK: done\" }}]\n\n\
         [[turn]]\nrole = \"reviewer\"\noptional = true\ndo = [{pause}{{ say = \"CHECKED: every task serves a must-have; ran git show --stat, the files are those of the plan.\\nVERDICT: \
         approve\" }}]\n"
    );
    if shape.rework {
        let _ = write!(
            text,
            "\n[[turn]]\nrole = \"reviewer\"\nround = 1\noptional = true\ndo = [{pause}{{ say = \
             \"[id:a] [severity:blocker] [confidence:95] [file:src/{{plan}}.txt:1] issue: the round is wrong | \
             suggestion: name the next one\\nVERDICT: reject\" }}]\n\n\
             [[turn]]\nrole = \"dev\"\nround = 2\noptional = true\ndo = [{pause}{{ write = \"src/{{plan}}.txt\", text = \
             \"task {{task}} round {{round}}\\n\" }}, {{ say = \"FIXED: {{finding:1}}\\nSUMMARY: fixed.\\nTASK: \
             done\" }}]\n\n\
             [[turn]]\nrole = \"reviewer\"\nround = 2\noptional = true\ndo = [{pause}{{ say = \"{{finding:1}}: \
             resolved\\nCHECKED: read the fixed line and ran it by hand again.\\nVERDICT: approve\" }}]\n"
        );
    }
    text
}

fn settings(shape: &Shape) -> String {
    format!(
        "[run]\neffort = \"fast\"\nparallel_max = {}\nland = \"each\"\n\n[plan]\nreview = \"never\"\n\n\
         [qa]\nreview = \"never\"\n\n[agents]\ndefault = \"scripted\"\nscenario = \"{SCENE}\"\n",
        shape.width
    )
}
