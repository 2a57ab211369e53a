//! Agents without an orchestrator: the same binary in the same containment, as a floor and to know what they cost.

use super::Result;
use super::drive::Binary;
use super::project::{Project, SCENE};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use tribunal_process::{Containment, Exit, ExitHow, Launch, Network, Stdin, Supervisor};

/// Launches the scripted agent of a project.
pub struct Agents {
    supervisor: Supervisor,
    ended: Receiver<Exit>,
    binary: PathBuf,
    root: PathBuf,
    prompt: Option<PathBuf>,
}

impl Agents {
    /// Agents in a project, given a prompt to read.
    pub fn new(binary: &Binary, project: &Project, prompt: Option<PathBuf>) -> Result<Agents> {
        let containment = Containment::own(binary.path()).unwrap_or_else(Containment::detect);
        let (tell, ended) = channel();
        let supervisor = Supervisor::new(containment, move |exit| drop(tell.send(exit)))?;
        let (binary, root) = (binary.path().to_owned(), project.root().to_owned());
        Ok(Agents { supervisor, ended, binary, root, prompt })
    }

    /// Launches so many, at most `width` at a time, builders and reviewers in turn; returns when all have ended.
    pub fn run(&self, out: &Path, count: usize, width: usize) -> Result<()> {
        for n in 0..count {
            if n >= width {
                self.wait()?;
            }
            self.supervisor.spawn(self.launch(out, n))?;
        }
        (0..count.min(width)).try_for_each(|_| self.wait())
    }

    /// Launches one builder in a folder of its own.
    pub fn spawn_builder(&self, out: &Path, n: usize, dir: &Path) -> Result<()> {
        let launch = Launch { dir: dir.to_owned(), ..self.launch(out, 2 * n) };
        self.supervisor.spawn(launch)?;
        Ok(())
    }

    /// Waits for the end of one, which must be a good one.
    pub fn wait(&self) -> Result<()> {
        let exit = self.ended.recv()?;
        match exit.how {
            ExitHow::Code(0) => Ok(()),
            how => Err(format!("agent {} ended with {how:?}", exit.id).into()),
        }
    }

    fn launch(&self, out: &Path, n: usize) -> Launch {
        let role = if n.is_multiple_of(2) { "dev" } else { "reviewer" };
        let own = [("ROLE", role), ("PLAN", "01-01"), ("TASK", "1"), ("ROUND", "3"), ("ATTEMPT", "1")];
        let mut env: Vec<(OsString, OsString)> =
            own.into_iter().map(|(name, value)| (format!("TRIBUNAL_{name}").into(), value.into())).collect();
        env.push(("PATH".into(), std::env::var_os("PATH").unwrap_or_default()));
        let scene = self.root.join(SCENE).into_os_string();
        Launch {
            id: format!("agent-{n}"),
            run_marker: format!("tribunal-bench-{}", std::process::id()),
            argv: vec![self.binary.clone().into(), "scripted-agent".into(), "--scenario".into(), scene],
            env,
            dir: self.root.clone(),
            stdin: self.prompt.clone().map_or(Stdin::Null, Stdin::File),
            out_dir: out.join(format!("agent-{n}")),
            output_max: 256 << 20,
            mounts: None,
            network: Network::Host,
        }
    }
}
