//! A stage for the real program: a git project in a folder of its own, plans, scripted agents, and the program with
//! an environment built from nothing. The end-to-end tests and `cargo xtask crash` share it. It never judges by
//! itself: what must hold is in `laws`, what came of a run in `seen`.

pub mod laws;
pub mod play;
pub mod program;
pub mod scenes;
pub mod seen;
mod trap;

use program::{Ended, Program, Running};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tribunal_engine::RunState;
use tribunal_world::state::Owner;

/// What goes wrong on a stage is told in words; tests and the matrix only show it.
pub type Res<T> = Result<T, String>;

/// The project's folder: paths with a space and beyond ASCII are the ordinary case here.
const PROJECT: &str = "pröject one";
/// Where the plans of the phase are.
pub const PHASE: &str = ".planning/phases/01-tools";

/// Which defences a program built for `cargo xtask hostile` does without.
const UNDEFENDED: &str = "TRIBUNAL_UNDEFENDED";

/// One project with its agents and its user.
pub struct Stage {
    root: PathBuf,
    program: Program,
}

/// Adds to an error what was being done.
pub fn at<E: std::fmt::Display>(what: impl std::fmt::Display) -> impl FnOnce(E) -> String {
    move |error| format!("{what}: {error}")
}

impl Stage {
    /// An empty stage in `root`, which is made.
    pub fn new(root: &Path, binary: &Path) -> Res<Stage> {
        let home = root.join("home");
        for dir in [root.join(PROJECT), home.join(".config/tribunal"), root.join("scene"), root.join("out")] {
            fs::create_dir_all(&dir).map_err(at(dir.display()))?;
        }
        let mut env: Vec<(OsString, OsString)> = vec![
            ("HOME".into(), home.into()),
            ("USER".into(), "tester".into()),
            ("LANG".into(), "C.UTF-8".into()),
            ("GIT_CONFIG_NOSYSTEM".into(), "1".into()),
        ];
        for name in ["PATH", UNDEFENDED] {
            env.extend(std::env::var_os(name).map(|value| (name.into(), value)));
        }
        let out = root.join("out");
        let program = Program {
            binary: binary.to_owned(),
            dir: root.join(PROJECT),
            env,
            out,
            around: Vec::new(),
            trusts: true,
        };
        let stage = Stage { root: root.to_owned(), program };
        stage.configure()?;
        Ok(stage)
    }

    /// Every launch of an agent leaves a line before the agent itself begins.
    fn configure(&self) -> Res<()> {
        let agent = self.root.join("scene/agent.sh");
        let text = "#!/bin/sh\nprintf '%s\\n' \"$TRIBUNAL_EFFECT\" >> \"$0.launched\"\nexec \"$@\"\n";
        fs::write(&agent, text).map_err(at(agent.display()))?;
        // A JSON text is a TOML text too.
        let quoted = |path: &Path| serde_json::Value::from(path.display().to_string()).to_string();
        let argv = format!(
            "[\"sh\", {}, \"{{self}}\", \"scripted-agent\", \"--scenario\", \"{{scenario}}\"]",
            quoted(&agent)
        );
        let config = format!(
            "[agents]\ndefault = \"witness\"\nbackup = false\nscenario = {}\nwritable = [{}]\n\
             [run]\nbackoff_ms = 10\ngrace_s = 1\n\
             [adapters.witness]\nparallel_execution = true\nstructured_messaging = true\n\
             spawn_agent_personality = \"prompt\"\ncollect_results = \"report\"\nmodel_execution = \"script\"\n\
             commit_signature = \"Scripted Agent <scripted@tribunal.invalid>\"\nprompt = \"stdin\"\n\
             parser = \"events\"\nread_only = {argv}\nwrite = {argv}\n",
            quoted(&self.scene_file()),
            quoted(&self.root),
        );
        let path = self.root.join("home/.config/tribunal/config.toml");
        fs::write(&path, config).map_err(at(path.display()))
    }

    /// The user's worktree.
    pub fn project(&self) -> &Path {
        &self.program.dir
    }

    /// The folder of everything.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The program, to change its environment or place.
    pub fn program_mut(&mut self) -> &mut Program {
        &mut self.program
    }

    /// The agents' scenario.
    pub fn scene_file(&self) -> PathBuf {
        self.root.join("scene/scene.toml")
    }

    /// Gives the agents their scenario.
    pub fn script(&self, text: &str) -> Res<()> {
        fs::write(self.scene_file(), text).map_err(at("scene.toml"))
    }

    /// Gives the agents a script, before what they do anyway. In capitals it names what an agent would find out.
    pub fn script_with(&self, text: &str) -> Res<()> {
        let text = format!("{text}\n{}", scenes::ANYWAY);
        let shown = |path: &Path| path.display().to_string();
        let places = [
            ("{PLAN}", format!("{PHASE}/01-01-PLAN.md")),
            ("{SUMMARY}", format!("{PHASE}/01-01-SUMMARY.md")),
            ("{ROOT}", shown(&self.root)),
            ("{HOME}", shown(&self.home())),
            ("{PROJECT}", shown(self.project())),
            ("{BINARY}", shown(&self.program.binary)),
            ("{UNDEFENDED}", std::env::var(UNDEFENDED).unwrap_or_default()),
        ];
        self.script(&places.iter().fold(text, |text, (name, place)| text.replace(name, place)))
    }

    /// The user's home.
    pub fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// Opens a gate at which agents wait.
    pub fn open(&self, gate: &str) -> Res<()> {
        tribunal_agent::scripted::open_gate(&self.root.join("scene").join(gate)).map_err(at(gate))
    }

    /// Writes a file of the project.
    pub fn write(&self, path: &str, text: &str) -> Res<()> {
        let file = self.project().join(path);
        if let Some(dir) = file.parent() {
            fs::create_dir_all(dir).map_err(at(dir.display()))?;
        }
        fs::write(&file, text).map_err(at(file.display()))
    }

    /// Makes the project a repository with everything in it committed.
    pub fn commit_all(&self) -> Res<()> {
        self.git(&["init", "-q", "-b", "main"])?;
        self.git(&["config", "user.name", "Tester"])?;
        self.git(&["config", "user.email", "tester@example.org"])?;
        // A housekeeper of git's own, still at work when a test looks, would be found by it.
        self.git(&["config", "maintenance.auto", "false"])?;
        self.git(&["add", "-A"])?;
        self.git(&["commit", "-q", "-m", "chore: begin"]).map(drop)
    }

    /// Git, as the user calls it; what it says.
    pub fn git(&self, args: &[&str]) -> Res<String> {
        self.program.git(args)
    }

    /// The program, to its end.
    pub fn tribunal(&self, args: &[&str]) -> Res<Ended> {
        self.program.run(args, &[])
    }

    /// All runs, oldest first.
    pub fn runs(&self) -> Vec<String> {
        self.program.runs()
    }

    /// A run's folder.
    pub fn run_dir(&self, run: &str) -> PathBuf {
        self.program.run_dir(run)
    }

    /// Marks the folder of a run that a test made as the user's own; the user has made another run before.
    pub fn own(&self, run: &str) {
        let owner = Owner::kept_in(&self.home().join(".local/state/tribunal"));
        owner.map(|owner| owner.sign(&self.run_dir(run)));
    }

    /// The newest run that was opened, with everything its journal says.
    pub fn newest(&self) -> Res<Option<(String, RunState)>> {
        self.program.newest()
    }

    /// Waits until the journal of the newest run says so; an error if the program ends before.
    pub fn wait_for(&self, running: &Running, ready: impl Fn(&RunState) -> bool) -> Res<()> {
        while !self.newest()?.is_some_and(|(_, run_state)| ready(&run_state)) {
            // The journal has no bell for strangers: look again every few milliseconds.
            if running.ends_within(Duration::from_millis(10))? {
                return Err(format!("it ended before: {}", running.stderr()));
            }
        }
        Ok(())
    }

    /// The effects for which an agent was really started, in order.
    pub fn launched(&self) -> Vec<String> {
        let text = fs::read_to_string(self.root.join("scene/agent.sh.launched")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}
