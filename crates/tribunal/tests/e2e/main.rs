//! End-to-end tests of the program: real git, real processes, scripted agents. One binary; each module is about one
//! promise to the user.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so")]

#[path = "../stage/mod.rs"]
#[expect(dead_code, reason = "`cargo xtask crash` uses the rest")]
mod stage;

#[path = "../browser/mod.rs"]
#[expect(dead_code, reason = "`cargo xtask screenshots` uses the rest")]
mod browser;

mod answers;
mod answers_played;
mod around;
mod arrival;
mod asked_again;
mod bad_input;
mod building;
mod chain;
mod commit_rules;
mod convergence;
mod cover;
mod decide;
mod demo;
mod detected;
mod do_words;
mod doctor;
mod editor;
mod endings;
mod evidence;
mod findings;
mod forward;
mod gate_table;
mod gates;
mod gates_shut;
mod gc;
mod gc_meanwhile;
mod git_cost;
mod green;
mod hooks;
mod hostile;
mod hostile_branch;
mod hostile_files;
mod hostile_gates;
mod hostile_judge;
mod hostile_kernel;
mod hostile_sandbox;
mod hostile_words;
mod in_a_browser;
mod judge_twins;
mod land;
mod launch_word;
mod limits;
mod must_haves;
mod notices;
mod one_finding;
mod prepared;
mod prompts;
mod protocol_agents;
mod reach;
mod reporting;
mod review_panel;
mod review_tools;
mod serve;
mod server;
mod show;
mod silence;
mod strays;
mod terminal;
mod there;
mod tool_rows;
mod traps;
mod uat;
mod watch;
mod why;
mod worktree;
mod worlds;

use stage::Stage;
use std::path::Path;
use tempfile::TempDir;

/// Tools that would judge files of a test where the machine has them: what a test shows would be another thing there.
const MACHINE_TOOLS: [&str; 10] = [
    "shellcheck",
    "ruff",
    "mypy",
    "gofmt",
    "golangci-lint",
    "eslint",
    "prettier",
    "tsc",
    "semgrep",
    "cargo-audit",
];

/// An empty stage with the program that was built for the tests. It finds no tool of the machine's.
fn stage() -> (TempDir, Stage) {
    let (folder, mut stage) = stage_with_tools();
    let links = Path::new(env!("CARGO_TARGET_TMPDIR")).join("programs");
    stage.program_mut().hide(&MACHINE_TOOLS, &links).unwrap();
    (folder, stage)
}

/// The same with the tools of the machine.
fn stage_with_tools() -> (TempDir, Stage) {
    let folder = tempfile::tempdir().unwrap();
    let stage = Stage::new(folder.path(), Path::new(env!("CARGO_BIN_EXE_tribunal"))).unwrap();
    (folder, stage)
}
