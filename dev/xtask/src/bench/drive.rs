//! Starts the release binary and watches it from outside: how long, how much processor time, how much memory, which
//! points it passed. It never looks into the process and never waits without a reason to.

use super::{Result, machine};
use crate::program;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The program that is measured.
pub struct Binary {
    path: PathBuf,
}

/// How a run of the program went.
pub struct Finished {
    /// From start to end.
    pub sandbox: Duration,
    /// Processor time of the program and of every process it started and waited for.
    pub cpu: Duration,
    /// The program's own part of it.
    pub own: Duration,
    /// The most memory it held.
    pub peak_kb: u64,
    /// The points it passed, by name, in order.
    pub points: Vec<String>,
}

impl Finished {
    /// How often it passed a point.
    pub fn count(&self, point: &str) -> usize {
        self.points.iter().filter(|name| *name == point).count()
    }
}

impl Binary {
    /// The program that was named, otherwise built in release.
    pub fn of(given: Option<&Path>) -> Result<Binary> {
        Ok(Binary { path: program::tribunal(given)? })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Starts it in a project.
    pub fn start(&self, project: &Path, args: &[&str]) -> Result<Watched> {
        let points = project.join("scene.toml.points");
        let _ = std::fs::remove_file(&points);
        let mut command = command(&self.path);
        command.args(args).current_dir(project).env("TRIBUNAL_CRASH_LOG", &points);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let (before, began) = (machine::spent_by_children(), Instant::now());
        let child = command.spawn()?;
        let (cpu, peak_kb) = (machine::Cpu::default(), 0);
        Ok(Watched { pid: child.id().to_string(), child, points, began, before, cpu, peak_kb })
    }

    /// Runs it in a project to its end, which must be a good one.
    pub fn run(&self, project: &Path, args: &[&str]) -> Result<Finished> {
        let mut watched = self.start(project, args)?;
        while !watched.over(Duration::from_millis(20))? {}
        watched.finish()
    }
}

/// The key by which the program knows the runs of a bench as its own, whatever home it has.
pub const STATE_KEY: (&str, &str) = ("TRIBUNAL_STATE_KEY", "bench");

/// A program as a bench starts it. The scenario of its agents comes by the environment: a project's file needs trust for it.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = crate::program::command(program);
    command.env("TRIBUNAL_AGENTS_SCENARIO", super::project::SCENE).env(STATE_KEY.0, STATE_KEY.1);
    command
}

/// The program while it runs.
pub struct Watched {
    child: Child,
    pid: String,
    points: PathBuf,
    began: Instant,
    before: Duration,
    cpu: machine::Cpu,
    peak_kb: u64,
}

impl Watched {
    /// Waits for its end, a while at most: has it ended?
    pub fn over(&mut self, wait: Duration) -> Result<bool> {
        self.look();
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).ok_or("no process")?;
        let handle = pidfd_open(pid, PidfdFlags::empty())?;
        let wait = Timespec::try_from(wait)?;
        let ended = poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&wait))?;
        Ok(ended > 0)
    }

    fn look(&mut self) {
        self.peak_kb = machine::peak_kb(&self.pid).unwrap_or(0).max(self.peak_kb);
        if let Some(cpu) = machine::cpu(&self.pid) {
            self.cpu = cpu;
        }
    }

    /// The points passed so far.
    pub fn points(&self) -> Vec<String> {
        let text = std::fs::read_to_string(&self.points).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Its process.
    pub fn pid(&self) -> &str {
        &self.pid
    }

    /// How long it has been running.
    pub fn since(&self) -> Duration {
        self.began.elapsed()
    }

    /// The most memory it held so far.
    pub fn peak_kb(&self) -> u64 {
        self.peak_kb
    }

    /// Takes note of its end, whatever it was.
    pub fn end(mut self) -> Result<()> {
        self.child.wait()?;
        Ok(())
    }

    /// Kills it with no time for anything.
    pub fn kill(mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// What it cost, once it has ended.
    pub fn finish(mut self) -> Result<Finished> {
        use std::io::Read as _;
        let sandbox = self.began.elapsed();
        let mut said = String::new();
        if let Some(stderr) = &mut self.child.stderr {
            stderr.read_to_string(&mut said)?;
        }
        let status = self.child.wait()?;
        if !status.success() {
            return Err(format!("the program ended with {status}: {}", said.trim()).into());
        }
        let cpu = machine::spent_by_children().saturating_sub(self.before);
        Ok(Finished { sandbox, cpu, own: self.cpu.own, peak_kb: self.peak_kb, points: self.points() })
    }
}

/// Runs git in a directory.
pub fn git(dir: &Path, args: &[&str]) -> Result<()> {
    let output = command("git").args(args).current_dir(dir).output()?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("git {args:?}: {}", String::from_utf8_lossy(&output.stderr)).into()),
    }
}
