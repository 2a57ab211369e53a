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
}

/// A registry of packages.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum From {
    /// npm.
    Npm,
    /// PyPI.
    PyPi,
}

/// What the conformance table is about.
pub const PINS: [Pin; 5] = [
    Pin { agent: "claude", package: "@anthropic-ai/claude-code", version: "2.1.325", from: From::Npm },
    Pin { agent: "codex", package: "@openai/codex", version: "0.166.0", from: From::Npm },
    Pin { agent: "gemini", package: "@google/gemini-cli", version: "0.61.0", from: From::Npm },
    Pin { agent: "opencode", package: "opencode-ai", version: "1.18.33", from: From::Npm },
    Pin { agent: "aider", package: "aider-chat", version: "0.86.2", from: From::PyPi },
];

impl Pin {
    fn folder(&self, cache: &Path) -> PathBuf {
        cache.join("programs").join(format!("{}-{}", self.agent, self.version))
    }

    /// The folder with the program in it.
    fn bin(&self, cache: &Path) -> PathBuf {
        match self.from {
            From::Npm => self.folder(cache).join("node_modules/.bin"),
            From::PyPi => self.folder(cache).join("bin"),
        }
    }

    /// The folder with the program in it, if it was installed before.
    pub fn installed(&self, cache: &Path) -> Option<PathBuf> {
        let stamp = self.folder(cache).join("installed");
        stamp.is_file().then(|| self.bin(cache)).filter(|bin| bin.join(self.agent).exists())
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
            From::Npm => {
                let package = format!("{}@{}", self.package, self.version);
                let args =
                    ["install", "--prefix", &at, "--no-audit", "--no-fund", "--loglevel=error", &package];
                run("npm", &args, &folder)?;
            }
            From::PyPi => {
                run("python3", &["-m", "venv", &at], &folder)?;
                let pip = folder.join("bin/pip").display().to_string();
                run(&pip, &["install", "-q", &format!("{}=={}", self.package, self.version)], &folder)?;
            }
        }
        std::fs::write(folder.join("installed"), self.version).map_err(|error| error.to_string())?;
        self.installed(cache).ok_or_else(|| format!("{} has no program {}", self.package, self.agent))
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
