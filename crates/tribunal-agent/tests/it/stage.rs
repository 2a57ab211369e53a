//! A scenario, a working folder and a launch's files in one temporary place.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use tribunal_agent::{Adapters, Left, Outcome};
use tribunal_core::usage::SessionTotals;

/// Where a scripted agent plays.
pub struct Stage {
    /// The temporary place.
    pub root: tempfile::TempDir,
}

/// What one launch left.
pub struct Played {
    /// How it ended.
    pub status: ExitStatus,
    /// What its output means.
    pub outcome: Outcome,
    /// Its output.
    pub stdout: Vec<u8>,
}

impl Stage {
    /// Sets up a scenario.
    pub fn new(scenario: &str) -> Self {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("tree")).unwrap();
        std::fs::write(root.path().join("scenario.toml"), scenario).unwrap();
        std::fs::write(root.path().join("prompt.md"), "").unwrap();
        Self { root }
    }

    /// A stage whose only turn does these steps.
    pub fn doing(steps: &str) -> Self {
        Self::new(&format!("[[turn]]\ndo = [{steps}]\n"))
    }

    /// A path in the temporary place.
    pub fn at(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    /// The scenario file.
    pub fn scenario(&self) -> PathBuf {
        self.at("scenario.toml")
    }

    /// The text of a file in the working folder.
    pub fn tree(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.at("tree").join(path)).ok()
    }

    /// Starts the agent with keys such as `role=dev plan=01`; its output goes to a file.
    pub fn start(&self, keys: &str) -> Child {
        let stdout = std::fs::File::create(self.at("stdout")).unwrap();
        let mut command = agent(&self.scenario());
        for (key, value) in keys.split_whitespace().filter_map(|pair| pair.split_once('=')) {
            command.env(format!("TRIBUNAL_{}", key.to_uppercase()), value);
        }
        command
            .current_dir(self.at("tree"))
            .env("TRIBUNAL_REPORT", self.at("report.jsonl"))
            .stdin(std::fs::File::open(self.at("prompt.md")).unwrap())
            .stdout(stdout)
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    /// Waits for a started agent and reads what it left.
    pub fn end(&self, mut child: Child) -> Played {
        let status = child.wait().unwrap();
        let (stdout, report) = (self.at("stdout"), self.at("report.jsonl"));
        let outcome = left(&stdout, &report, status.code());
        let stdout = std::fs::read(stdout).unwrap();
        Played { status, outcome, stdout }
    }

    /// Starts the agent and waits for it.
    pub fn play(&self, keys: &str) -> Played {
        self.end(self.start(keys))
    }

    /// The indices of the turns left unused.
    pub fn unused(&self) -> Vec<usize> {
        let unused = tribunal_agent::scripted::unused(&self.scenario()).unwrap();
        unused.into_iter().map(|turn| turn.index).collect()
    }
}

/// What a launch of the scripted agent left.
pub fn left(stdout: &Path, report: &Path, exit: Option<i32>) -> Outcome {
    let adapters = Adapters::built_in().unwrap();
    let stderr = stdout.with_file_name("stderr");
    let left =
        Left { stdout, stderr: &stderr, report, exit, before: SessionTotals::default(), structured: false };
    tribunal_agent::read_launch(adapters.get("scripted").unwrap(), &left).unwrap()
}

/// The scripted agent's command, with an environment of its own.
pub fn agent(scenario: &Path) -> Command {
    let mut command = command(env!("CARGO_BIN_EXE_scripted-agent"));
    command.arg("--scenario").arg(scenario).env_clear();
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command
}

/// A command of a test.
#[expect(clippy::disallowed_methods, reason = "the test plays the part of tribunal-process")]
pub fn command(program: &str) -> Command {
    Command::new(program)
}
