//! Launches in temporary directories, and a pipe whose end of file proves that every process holding it is dead.

use std::ffi::OsString;
use std::fs;
use std::fs::File;
use std::io::{PipeReader, PipeWriter, Read, pipe};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tempfile::TempDir;
use tribunal_process::{Containment, Exit, Launch, Network, Stdin, Supervisor};

/// Longer than anything here takes on a busy machine.
pub const BOUND: Duration = Duration::from_secs(20);
pub const PROBE: &str = env!("CARGO_BIN_EXE_process-probe");

/// Every containment this machine permits, by the name the probe understands.
pub fn each(mut check: impl FnMut(&str, Containment)) {
    match Containment::own(Path::new(PROBE)) {
        Some(own) => check("auto", own),
        None => skip("this kernel permits no PID namespace here"),
    }
    match Containment::bubblewrap(Some(Path::new(PROBE))) {
        Some(bwrap) => check("bubblewrap", bwrap),
        None => skip("bubblewrap is missing or may not make a PID namespace here"),
    }
    check("subreaper", Containment::Subreaper);
}

/// Says which part of a test this machine does not permit.
#[expect(clippy::print_stdout, reason = "the harness shows it with the test's output")]
pub fn skip(why: &str) {
    println!("skipped: {why}");
}

/// A supervisor, its exits, a directory, and the pipe of proof.
pub struct Stand {
    pub supervisor: Supervisor,
    pub exits: Receiver<Exit>,
    pub dir: TempDir,
    pub marker: String,
}

impl Stand {
    pub fn new(containment: Containment) -> Self {
        let (tell, exits) = channel();
        let supervisor = Supervisor::new(containment, move |exit| _ = tell.send(exit)).unwrap();
        Self { supervisor, exits, dir: tempfile::tempdir().unwrap(), marker: unique_marker() }
    }

    pub fn launch(&self, id: &str, argv: &[&str]) -> Launch {
        Launch {
            id: id.into(),
            run_marker: self.marker.clone(),
            argv: argv.iter().map(OsString::from).collect(),
            env: vec![("PATH".into(), std::env::var_os("PATH").unwrap())],
            dir: self.dir.path().into(),
            stdin: Stdin::Null,
            out_dir: self.out(id),
            output_max: u64::MAX,
            mounts: None,
            network: Network::Host,
        }
    }

    pub fn out(&self, id: &str) -> PathBuf {
        self.dir.path().join("out").join(id)
    }

    pub fn read(&self, id: &str, file: &str) -> String {
        fs::read_to_string(self.out(id).join(file)).unwrap()
    }

    pub fn exit(&self) -> Exit {
        self.exits.recv_timeout(BOUND).expect("no exit in time")
    }

    /// Runs to the end without being stopped.
    pub fn run(&self, id: &str, argv: &[&str]) -> Exit {
        self.supervisor.spawn(self.launch(id, argv)).unwrap();
        self.exit()
    }

    /// Starts something that keeps the pipe, and waits until it says that it is ready.
    pub fn start(&self, id: &str, argv: &[&str]) -> Proof {
        let (mut proof, held) = Proof::new();
        self.supervisor.spawn(Launch { stdin: Stdin::Given(held.into()), ..self.launch(id, argv) }).unwrap();
        proof.ready();
        proof
    }
}

pub fn unique_marker() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("test-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// The reading end of a pipe whose writing end is some tree's standard input.
pub struct Proof(PipeReader);

impl Proof {
    pub fn new() -> (Self, PipeWriter) {
        let (reader, writer) = pipe().unwrap();
        (Self(reader), writer)
    }

    /// Waits for the one byte that says: everything is in place.
    pub fn ready(&mut self) {
        assert!(readable(&self.0, BOUND), "it never got ready");
        let mut byte = [0];
        assert_eq!(self.0.read(&mut byte).unwrap(), 1, "it died before it was ready");
    }

    /// Is some process still holding the pipe?
    pub fn is_held(&self) -> bool {
        !readable(&self.0, Duration::ZERO)
    }

    /// All are dead: end of file, at once or within the bound.
    pub fn all_dead(mut self) {
        let mut rest = Vec::new();
        assert!(readable(&self.0, BOUND), "somebody survived");
        self.0.read_to_end(&mut rest).unwrap();
        assert!(rest.is_empty(), "somebody spoke after its death: {rest:?}");
    }
}

/// Waits until there is something to read, or the end.
pub fn readable(fd: &impl std::os::fd::AsFd, bound: Duration) -> bool {
    let timeout = Timespec::try_from(bound).unwrap();
    poll(&mut [PollFd::new(fd, PollFlags::IN)], Some(&timeout)).unwrap() > 0
}

/// Waits until that very process is dead.
pub fn wait_dead(pid: i32) {
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    if let Ok(fd) = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()) {
        assert!(readable(&fd, BOUND), "{pid:?} lives");
    }
}

/// A file for standard streams of the probe.
pub fn file(path: &Path) -> File {
    File::create(path).unwrap()
}
