//! The pinned programs, installed into a cache folder of their own: never into the machine, never twice.

use crate::out;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// A program as it is pinned.
pub struct Pin {
    /// The adapter.
    pub agent: &'static str,
    /// The package.
    pub package: &'static str,
    /// Its version; said in full, because the newest may want another Node than there is.
    pub version: &'static str,
    /// Where it comes from.
    pub from: From,
    /// The program itself.
    pub program: &'static str,
}

impl Pin {
    const fn new(
        agent: &'static str,
        package: &'static str,
        version: &'static str,
        from: From,
        program: &'static str,
    ) -> Pin {
        Pin { agent, package, version, from, program }
    }
}

/// A registry of packages.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum From {
    /// npm.
    Npm,
    /// npm, with a Node of its own.
    NpmNode22,
    /// PyPI.
    PyPi,
}

/// What the conformance table is about.
pub const PINS: [Pin; 9] = [
    Pin::new("claude", "@anthropic-ai/claude-code", "2.1.325", From::Npm, "claude"),
    Pin::new("codex", "@openai/codex", "0.166.0", From::Npm, "codex"),
    Pin::new("gemini", "@google/gemini-cli", "0.61.0", From::Npm, "gemini"),
    Pin::new("opencode", "opencode-ai", "1.18.33", From::Npm, "opencode"),
    Pin::new("aider", "aider-chat", "0.86.2", From::PyPi, "aider"),
    Pin::new(
        "claude-acp",
        "@agentclientprotocol/claude-agent-acp",
        "0.99.1",
        From::NpmNode22,
        "claude-agent-acp",
    ),
    Pin::new("codex-acp", "@agentclientprotocol/codex-acp", "2.6.0", From::Npm, "codex-acp"),
    Pin::new("gemini-acp", "@google/gemini-cli", "0.61.0", From::Npm, "gemini"),
    Pin::new("opencode-acp", "opencode-ai", "1.18.33", From::Npm, "opencode"),
];

/// Rows of the agents that are spoken to by the Agent Client Protocol: what a person would write into tribunal.toml.
pub const ACP_ROWS: &str = r#"
[claude-acp]
like = "claude"
program = "claude-agent-acp"
parser = "events"
spawn_agent_personality = "prompt"
read_only = ["{self}", "acp", "--read-only", ["--session", "{session}"], ["--mcp", "{mcp_argv_json}"], "--", "{program}"]
write = ["{self}", "acp", ["--session", "{session}"], ["--mcp", "{mcp_argv_json}"], "--", "{program}"]

[codex-acp]
like = "codex"
program = "codex-acp"
parser = "events"
spawn_agent_personality = "prompt"
# Another model judges every call of an MCP tool, at a cost and in vain: it answers in words.
read_only = ["{self}", "acp", "--read-only", "--mode", "read-only", ["--session", "{session}"], "--", "{program}"]
write = ["{self}", "acp", ["--session", "{session}"], "--", "{program}"]

[gemini-acp]
like = "gemini"
parser = "events"
# It does not find the sessions it kept.
read_only = ["{self}", "acp", "--read-only", "--", "{program}", "--skip-trust", "--acp", ["-m", "{model}"]]
write = ["{self}", "acp", "--", "{program}", "--skip-trust", "--acp", ["-m", "{model}"]]

[opencode-acp]
like = "opencode"
parser = "events"
read_only = ["{self}", "acp", "--read-only", ["--session", "{session}"], "--", "{program}", "acp"]
write = ["{self}", "acp", ["--session", "{session}"], "--", "{program}", "acp"]
"#;

impl Pin {
    fn folder(&self, cache: &Path) -> PathBuf {
        cache.join("programs").join(format!("{}-{}", self.program, self.version))
    }

    /// The folder with the program in it.
    fn bin(&self, cache: &Path) -> PathBuf {
        match self.from {
            From::Npm | From::NpmNode22 => self.folder(cache).join("node_modules/.bin"),
            From::PyPi => self.folder(cache).join("bin"),
        }
    }

    /// The folder with the program in it, if it was installed before.
    pub fn installed(&self, cache: &Path) -> Option<PathBuf> {
        let stamp = self.folder(cache).join("installed");
        stamp.is_file().then(|| self.bin(cache)).filter(|bin| bin.join(self.program).exists())
    }

    /// Installs it unless it is there.
    pub fn install(&self, cache: &Path) -> Result<PathBuf, String> {
        if let Some(bin) = self.installed(cache) {
            return Ok(bin);
        }
        let folder = self.folder(cache);
        std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        out::progress(format!("installing {} {} …", self.package, self.version));
        let at = folder.display().to_string();
        match self.from {
            From::Npm | From::NpmNode22 => {
                let package = format!("{}@{}", self.package, self.version);
                let mut args =
                    vec!["install", "--prefix", &at, "--no-audit", "--no-fund", "--loglevel=error", &package];
                args.extend((self.from == From::NpmNode22).then_some("node@22"));
                run("npm", &args, &folder)?;
            }
            From::PyPi => {
                run("python3", &["-m", "venv", &at], &folder)?;
                let pip = folder.join("bin/pip").display().to_string();
                run(&pip, &["install", "-q", &format!("{}=={}", self.package, self.version)], &folder)?;
            }
        }
        std::fs::write(folder.join("installed"), self.version).map_err(|error| error.to_string())?;
        self.installed(cache).ok_or_else(|| format!("{} has no program {}", self.package, self.program))
    }
}

#[expect(clippy::disallowed_methods, reason = "a chore installs programs as a user would")]
fn run(program: &str, args: &[&str], dir: &Path) -> Result<(), String> {
    let ended = std::process::Command::new(program)
        .args(args)
        .current_dir(dir)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{program}: {error}"))?;
    match ended.status.success() {
        true => Ok(()),
        false => Err(format!("{program} {args:?}: {}", String::from_utf8_lossy(&ended.stderr))),
    }
}
