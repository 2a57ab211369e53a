//! A git that kills its caller: it stands before the real one on the path, counts its calls, and ends the program
//! just before or just after one of them, or together with it. So the program dies between any two steps of what it does
//! with git, and git in the middle of one, as in a power cut.

use super::play::Death;
use super::program::Running;
use super::{Res, Stage, at};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// The stand-in for one command.
pub struct Trap {
    dir: PathBuf,
}

/// Each call takes the next free number; a redirection that must not overwrite is atomic, and needs no process.
const SCRIPT: &str = r#"#!/bin/sh
set -C
dir='{DIR}'
n=1
while ! { echo "$@" > "$dir/calls/$n"; } 2>/dev/null; do n=$((n + 1)); done
if [ "before $n" = '{DEATH}' ]; then
  read pid < "$dir/pid"
  kill -9 "$pid"
fi
if [ "after $n" = '{DEATH}' ]; then
  '{GIT}' "$@"
  code=$?
  read pid < "$dir/pid"
  kill -9 "$pid"
  exit $code
fi
if [ "with $n" = '{DEATH}' ]; then
  # Without this redirection a command in the background has no input.
  '{GIT}' "$@" <&0 &
  read pid < "$dir/pid"
  kill -9 "$pid"
  kill -9 $!
  exit 1
fi
exec '{GIT}' "$@"
"#;

impl Trap {
    /// Sets it up for the n-th command.
    pub fn set(stage: &Stage, n: usize, death: Death) -> Res<Trap> {
        let dir = stage.root().join(format!("trap.{n}"));
        let calls = dir.join("calls");
        fs::create_dir_all(&calls).map_err(at(calls.display()))?;
        let death = match death {
            Death::Point(_) => String::new(),
            Death::BeforeGit(n) => format!("before {n}"),
            Death::AfterGit(n) => format!("after {n}"),
            Death::WithGit(n) => format!("with {n}"),
        };
        let git = stage.program().other("sh", &["-c", "command -v git"])?.stdout;
        let shown = dir.display().to_string();
        let text = SCRIPT.replace("{DIR}", &shown).replace("{DEATH}", &death).replace("{GIT}", git.trim());
        let file = dir.join("git");
        fs::write(&file, text).map_err(at(&shown))?;
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).map_err(at(&shown))?;
        Ok(Trap { dir })
    }

    /// Starts the program with it; a shell notes the process id that the program will have.
    pub fn start(&self, stage: &Stage, args: &[&str], env: &[(&str, &OsStr)]) -> Res<Running> {
        let program = stage.program();
        let pid = self.dir.join("pid").into_os_string();
        let line = r#"echo $$ > "$1"; shift; exec "$@""#;
        let mut words: Vec<OsString> = vec!["-c".into(), line.into(), "sh".into(), pid];
        words.push(program.binary.clone().into_os_string());
        words.extend(args.iter().map(OsString::from));
        let path = program.path_after(&self.dir);
        let mut env = env.to_vec();
        env.push(("PATH", &path));
        program.launch(OsStr::new("sh"), &words, &env)
    }

    /// The calls, in order.
    pub fn calls(&self) -> Vec<String> {
        let call = |n: usize| fs::read_to_string(self.dir.join("calls").join(n.to_string())).ok();
        (1..).map_while(call).map(|line| line.trim_end().to_owned()).collect()
    }
}
