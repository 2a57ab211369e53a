//! The case of the plugin: the real program loads what `tribunal init --plugin claude` wrote, lists its commands and tools,
//! and is stopped by a hook from a commit that breaks the rules.

use super::cases::{Bench, Cell};
use crate::program::command;
use std::process::Stdio;

/// What the program must have said: commands, a tool, and the words of the hook.
const EXPECTED: [&str; 5] = [
    "tribunal:run",
    "tribunal:review",
    "tribunal:status",
    "mcp__plugin_tribunal_tribunal__see_inbox",
    "this commit is not made",
];

/// Plays it.
pub fn run(bench: &Bench<'_>) -> Cell {
    if bench.agent.name != "claude" {
        return Cell::Not("there is no plugin for it");
    }
    match play(bench) {
        Ok(said) => {
            let missing: Vec<&str> = EXPECTED.into_iter().filter(|word| !said.contains(word)).collect();
            match missing.is_empty() {
                true => Cell::Good("commands, tools and a hook".to_owned()),
                false => Cell::Bad(format!("it never said {}", missing.join(", "))),
            }
        }
        Err(why) => Cell::Bad(why),
    }
}

fn play(bench: &Bench<'_>) -> Result<String, String> {
    let tree = bench.dir.join("plugin");
    super::repository(&tree)?;
    std::fs::create_dir_all(tree.join(".planning")).map_err(|error| error.to_string())?;
    let made = command(bench.ours).args(["init", "--plugin", "claude"]).current_dir(&tree).output();
    let made = made.map_err(|error| format!("tribunal: {error}"))?;
    if !made.status.success() {
        return Err(String::from_utf8_lossy(&made.stderr).into_owned());
    }
    // The hooks and the server are started by name.
    let ours = bench.ours.parent().ok_or("our program lies nowhere")?.to_owned();
    let path = bench.agent.environment.get("PATH").cloned().unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(ours).chain(std::env::split_paths(&path)));
    let played = command("timeout")
        .args(["60", "claude", "-p", "CASEPLUGIN", "--output-format", "stream-json", "--verbose"])
        .args([
            "--model",
            bench.agent.model,
            "--allowedTools",
            "Bash",
            "--plugin-dir",
            ".claude/plugins/tribunal",
        ])
        .current_dir(&tree)
        .env_clear()
        .envs(&bench.agent.environment)
        .env("PATH", path.map_err(|error| error.to_string())?)
        .env("ENABLE_TOOL_SEARCH", "false")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("claude: {error}"))?;
    Ok(String::from_utf8_lossy(&played.stdout).into_owned())
}
