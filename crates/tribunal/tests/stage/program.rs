//! The program as a user starts it: arguments, environment, exit code, output in files, and a limit in time. Output
//! goes to files because a process that outlives the program would keep a pipe open.

use super::{Res, at, laws};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tribunal_engine::RunState;
use tribunal_journal::Reader;

/// Seconds after which a command counts as hung.
const LIMIT_S: i64 = 180;
const SLICE_S: i64 = 5;
/// Words of settings that reach beyond the sandbox.
const NEEDS_TRUST: [&str; 11] = [
    "prepare", "args", "adapters", "scenario", "on_e", "sandbox", "writable", "push", "hooks", "sign",
    "network",
];

/// How to start it.
#[derive(Clone)]
pub struct Program {
    /// The program.
    pub binary: PathBuf,
    /// Where it works.
    pub dir: PathBuf,
    /// Its whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// Where its output goes.
    pub out: PathBuf,
    /// What makes the world that it runs in: words before every command, here those of another user or of a machine that
    /// permits less.
    pub around: Vec<OsString>,
    /// Its user trusts whatever the project's file sets: most tests are about something else.
    pub trusts: bool,
}

/// A command that has ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// Its exit code, unless a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// What it wrote to stdout.
    pub stdout: String,
    /// What it wrote to stderr.
    pub stderr: String,
}

impl Ended {
    /// All it said.
    pub fn said(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }
}

/// A command that runs.
pub struct Running {
    child: Child,
    handle: OwnedFd,
    stdout: PathBuf,
    stderr: PathBuf,
    shown: String,
    /// The program itself with its words, also where a shell stands around it; none for any other program.
    own: Option<(Program, Vec<String>)>,
}

impl Program {
    /// Looks for programs in this folder first.
    pub fn prepend_path(&mut self, dir: &Path) {
        let path = self.path_after(dir);
        self.env.iter_mut().filter(|(name, _)| name == "PATH").for_each(|(_, value)| path.clone_into(value));
    }

    /// The folders in which programs are looked for, after one more.
    pub fn path_after(&self, dir: &Path) -> OsString {
        let mut path = dir.as_os_str().to_owned();
        for (_, value) in self.env.iter().filter(|(name, _)| name == "PATH") {
            path.push(":");
            path.push(value);
        }
        path
    }

    /// Finds none of these programs. A folder of the path that holds one is replaced by links to all others in it; they are
    /// made once for all tests, in `links`.
    pub fn hide(&mut self, names: &[&str], links: &Path) -> Res<()> {
        for (_, value) in self.env.iter_mut().filter(|(name, _)| name == "PATH") {
            let holds = |dir: &PathBuf| names.iter().any(|name| dir.join(name).symlink_metadata().is_ok());
            // Many machines have a folder by two names, as `/bin` and `/usr/bin`.
            let mut seen = BTreeSet::new();
            let fresh = |dir: &PathBuf| dir.canonicalize().is_ok_and(|real| seen.insert(real));
            let folders = std::env::split_paths(value).filter(fresh).map(|dir| match holds(&dir) {
                true => links_to_others(&dir, names, links).map_err(at(dir.display())),
                false => Ok(dir),
            });
            let folders = folders.collect::<Res<Vec<PathBuf>>>()?;
            *value = std::env::join_paths(folders).map_err(at("PATH"))?;
        }
        Ok(())
    }

    /// Looks for programs in this folder alone.
    pub fn set_path(&mut self, dir: &Path) {
        for (_, value) in self.env.iter_mut().filter(|(name, _)| name == "PATH") {
            *value = dir.as_os_str().to_owned();
        }
    }

    /// Runs the program to its end, with more in its environment.
    pub fn run(&self, args: &[&str], env: &[(&str, &OsStr)]) -> Res<Ended> {
        self.start(args, env)?.wait()
    }

    /// Starts the program.
    pub fn start(&self, args: &[&str], env: &[(&str, &OsStr)]) -> Res<Running> {
        self.trust()?;
        let args: Vec<OsString> = args.iter().map(OsString::from).collect();
        self.launch(self.binary.as_os_str(), &args, env)
    }

    /// Trusts the project's file as its user would, whenever it says something new that needs trust. A file that cannot be
    /// read is left for the command itself to complain about.
    fn trust(&self) -> Res<()> {
        let text = std::fs::read_to_string(self.dir.join("tribunal.toml")).unwrap_or_default();
        let seen = self.out.join("trusted.toml");
        let known = std::fs::read_to_string(&seen).is_ok_and(|known| known == text);
        if !self.trusts || known || !NEEDS_TRUST.iter().any(|key| text.contains(key)) {
            return Ok(());
        }
        self.launch(self.binary.as_os_str(), &["trust".into()], &[])?.wait()?;
        std::fs::write(&seen, text).map_err(at(seen.display()))
    }

    /// Git, as the user calls it; what it says.
    pub fn git(&self, args: &[&str]) -> Res<String> {
        let ended = self.other("git", args)?;
        match ended.code {
            Some(0) => Ok(ended.stdout.trim_end().to_owned()),
            _ => Err(format!("git {args:?}: {}", ended.stderr)),
        }
    }

    /// All runs of the project, oldest first.
    pub fn runs(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.dir.join(".tribunal/runs")).into_iter().flatten();
        let mut runs: Vec<String> =
            entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
        runs.sort();
        runs
    }

    /// A run's folder.
    pub fn run_dir(&self, run: &str) -> PathBuf {
        self.dir.join(".tribunal/runs").join(run)
    }

    /// Everything that the journal of a run says, once the run was opened.
    pub fn opened(&self, run: &str) -> Res<Option<RunState>> {
        // A folder without a journal is a run that died before it had one.
        let reader = match Reader::open(&self.run_dir(run)) {
            Ok(reader) => reader,
            Err(tribunal_journal::Error::Missing { .. }) => return Ok(None),
            Err(error) => return Err(error.to_string()),
        };
        let run_state = RunState::read(&reader).map_err(|error| error.to_string())?;
        Ok(run_state.run.is_some().then_some(run_state))
    }

    /// The newest run that was opened, with everything its journal says.
    pub fn newest(&self) -> Res<Option<(String, RunState)>> {
        for run in self.runs().into_iter().rev() {
            if let Some(run_state) = self.opened(&run)? {
                return Ok(Some((run, run_state)));
            }
        }
        Ok(None)
    }

    /// Another program in the same place and environment.
    pub fn other(&self, name: &str, args: &[&str]) -> Res<Ended> {
        let args: Vec<OsString> = args.iter().map(OsString::from).collect();
        self.launch(OsStr::new(name), &args, &[])?.wait()
    }

    /// Starts any program here.
    #[expect(clippy::disallowed_methods, reason = "it plays the user, who starts programs as they like")]
    pub fn launch(&self, program: &OsStr, args: &[OsString], env: &[(&str, &OsStr)]) -> Res<Running> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let file = |end: &str| self.out.join(format!("{n}.{end}"));
        let (stdout, stderr) = (file("stdout"), file("stderr"));
        let shown = format!("{} {args:?}", program.display());
        let open = |path: &Path| File::create(path).map_err(at(path.display()));
        let mut words = self.around.iter().map(OsString::as_os_str).chain([program]);
        let first = words.next().ok_or("no program")?;
        let child = Command::new(first)
            .args(words)
            .args(args)
            .current_dir(&self.dir)
            .env_clear()
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .envs(env.iter().copied())
            .stdin(Stdio::null())
            .stdout(open(&stdout)?)
            .stderr(open(&stderr)?)
            .spawn()
            .map_err(at(&shown))?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or("a pid of zero")?;
        let handle = pidfd_open(pid, PidfdFlags::empty()).map_err(at(&shown))?;
        let all = || std::iter::once(program).chain(args.iter().map(OsString::as_os_str));
        let own = all().position(|word| word == self.binary).map(|at| {
            let words = all().skip(at + 1).map(|word| word.to_string_lossy().into_owned()).collect();
            (self.clone(), words)
        });
        Ok(Running { child, handle, stdout, stderr, shown, own })
    }
}

/// A folder of links to all programs in `dir` but these. A folder that has changed since has another one.
fn links_to_others(dir: &Path, names: &[&str], links: &Path) -> std::io::Result<PathBuf> {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let mut hasher = DefaultHasher::new();
    (dir, names, std::fs::metadata(dir)?.modified()?).hash(&mut hasher);
    let whole = links.join(format!("{:016x}", hasher.finish()));
    if whole.exists() {
        return Ok(whole);
    }
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    let half = links.join(format!("half-{}-{n}", std::process::id()));
    std::fs::create_dir_all(&half)?;
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        if !names.iter().any(|name| entry.file_name() == *name) {
            std::os::unix::fs::symlink(entry.path(), half.join(entry.file_name()))?;
        }
    }
    match std::fs::rename(&half, &whole) {
        // Another test was first.
        Err(_) if whole.exists() => std::fs::remove_dir_all(&half)?,
        renamed => renamed?,
    }
    Ok(whole)
}

impl Running {
    /// Waits for its end; one that hangs is killed and is an error. So is an exit code 0 without the result on the branch:
    /// every test that waits for the program comes through here.
    pub fn wait(mut self) -> Res<Ended> {
        if !self.ends_before(None)? {
            let _ = self.child.kill();
            let _ = self.child.wait();
            let said = std::fs::read_to_string(&self.stderr).unwrap_or_default();
            return Err(format!("{} did not end within {LIMIT_S} s\n{said}", self.shown));
        }
        let status = self.child.wait().map_err(at(&self.shown))?;
        let read = |path: &Path| {
            let bytes = std::fs::read(path).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let ended = Ended {
            code: status.code(),
            signal: status.signal(),
            stdout: read(&self.stdout),
            stderr: read(&self.stderr),
        };
        let wrong =
            self.own.as_ref().map(|(program, words)| laws::there(program, words, &ended)).transpose()?;
        match wrong.flatten() {
            Some(wrong) => Err(format!("{wrong}: {}", ended.said())),
            None => Ok(ended),
        }
    }

    /// Waits until `event` is readable (true) or the program has ended (false).
    pub fn reaches(&self, event: &impl AsFd) -> Res<bool> {
        Ok(!self.ends_before(Some(event.as_fd()))?)
    }

    /// Whether it ends within a time.
    pub fn ends_within(&self, time: Duration) -> Res<bool> {
        let time = Timespec::try_from(time).map_err(at("time"))?;
        match poll(&mut [PollFd::new(&self.handle, PollFlags::IN)], Some(&time)) {
            Ok(ready) => Ok(ready > 0),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) -> Res<()> {
        pidfd_send_signal(&self.handle, signal).map_err(at("signal"))
    }

    /// Waits until it has said something on stderr.
    pub fn says(&self, text: &str) -> Res<()> {
        let began = Instant::now();
        while !self.stderr().contains(text) {
            if began.elapsed().as_secs() > LIMIT_S.unsigned_abs() {
                let _ = self.signal(Signal::KILL);
            }
            // A file has no bell: look again every few milliseconds.
            if self.ends_within(Duration::from_millis(5))? && !self.stderr().contains(text) {
                return Err(format!("{} never said {text:?}: {}", self.shown, self.stderr()));
            }
        }
        Ok(())
    }

    /// What it has said on stderr so far.
    pub fn stderr(&self) -> String {
        std::fs::read_to_string(&self.stderr).unwrap_or_default()
    }

    fn ends_before(&self, event: Option<std::os::fd::BorrowedFd<'_>>) -> Res<bool> {
        let mut fds = vec![PollFd::new(&self.handle, PollFlags::IN)];
        fds.extend(event.as_ref().map(|event| PollFd::new(event, PollFlags::IN)));
        let slice = Timespec { tv_sec: SLICE_S, tv_nsec: 0 };
        // In slices, so that a machine that stood still for a while does not count as a program that hangs.
        for _ in 0..LIMIT_S / SLICE_S {
            match poll(&mut fds, Some(&slice)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => return Ok(fds.get(1).is_none_or(|fd| fd.revents().is_empty())),
                Err(error) => return Err(error.to_string()),
            }
        }
        match event {
            None => Ok(false),
            Some(_) => Err(format!("{} and what it waits for both hang: {}", self.shown, self.stderr())),
        }
    }
}

/// A small file system of its own over a folder, for as long as this lives; `None` where none may be made.
pub struct Mount(Program, String);

impl Mount {
    /// Mounts it.
    pub fn new(program: &Program, dir: &Path, options: &str) -> Option<Mount> {
        std::fs::create_dir_all(dir).ok()?;
        let at = dir.display().to_string();
        let ended = program.other("mount", &["-t", "tmpfs", "-o", options, "tmpfs", &at]).ok()?;
        (ended.code == Some(0)).then(|| Mount(program.clone(), at))
    }

    /// Where it is.
    pub fn at(&self) -> &str {
        &self.1
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = self.0.other("umount", &["-l", &self.1]);
    }
}
