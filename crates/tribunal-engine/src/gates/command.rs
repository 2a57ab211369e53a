//! One command, contained, to its end or its deadline: passed, failed, or did not run. Its output goes to a folder of
//! its own that nobody shares, is capped, and is taken away afterwards.

use super::clock::unique_id;
use std::ffi::OsString;
use std::io::Read;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tribunal_core::gate::CommandRun;
use tribunal_process::{Cause, Containment, Exit, ExitHow, Launch, Stdin, run_to_end};

/// Bytes of output a command may write.
const OUTPUT_MAX: u64 = 64 << 20;
/// Bytes of output kept as evidence.
const TAIL_MAX: usize = 2_000;
const GRACE: Duration = Duration::from_secs(2);
/// What a command sees of our environment; secrets are not among it.
const KEPT: [&str; 16] = [
    "PATH",
    "HOME",
    "USER",
    "LANG",
    "LC_ALL",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "CARGO_TARGET_DIR",
    "GOPATH",
    "GOCACHE",
    "GOMODCACHE",
    "JAVA_HOME",
    "VIRTUAL_ENV",
    "PYTHONPATH",
    "NODE_PATH",
    "TZ",
];

/// A command that has ended.
pub struct Finished {
    /// How.
    pub run: CommandRun,
    /// What it wrote, standard output first; capped.
    pub output: String,
    /// What it wrote to the file named by `TRIBUNAL_JUNIT`, if it did.
    pub junit: Option<String>,
}

/// Runs a line its author wrote for a shell.
pub fn run_line(dir: &Path, line: &str, timeout: Duration) -> Finished {
    run_argv(dir, &["sh".to_owned(), "-c".to_owned(), line.to_owned()], timeout)
}

/// Runs a program.
pub fn run_argv(dir: &Path, argv: &[String], timeout: Duration) -> Finished {
    let room = match Room::new() {
        Ok(room) => room,
        Err(error) => return lost(format!("no room for its output: {error}")),
    };
    let kept = KEPT.iter().filter_map(|name| Some((OsString::from(name), std::env::var_os(name)?)));
    let mut env: Vec<(OsString, OsString)> = kept.collect();
    env.push(("TMPDIR".into(), room.0.clone().into()));
    env.push(("TRIBUNAL_JUNIT".into(), room.0.join("junit.xml").into()));
    let launch = Launch {
        id: "check".to_owned(),
        run_marker: format!("protocol-{}", unique_id()),
        argv: argv.iter().map(OsString::from).collect(),
        env,
        dir: dir.to_path_buf(),
        stdin: Stdin::Null,
        out_dir: room.0.join("out"),
        output_max: OUTPUT_MAX,
        walls: None,
    };
    let exit = match run_to_end(Containment::detect(), launch, timeout, GRACE) {
        Ok(exit) => exit,
        Err(error) => return lost(error.to_string()),
    };
    let output = format!("{}{}", text(&room.0.join("out/stdout")), text(&room.0.join("out/stderr")));
    let junit = Some(text(&room.0.join("junit.xml"))).filter(|text| !text.is_empty());
    Finished { run: judged(&exit, &output, timeout), output, junit }
}

fn lost(why: String) -> Finished {
    Finished { run: CommandRun::DidNotRun(why), output: String::new(), junit: None }
}

fn judged(exit: &Exit, output: &str, timeout: Duration) -> CommandRun {
    match (&exit.how, exit.cause) {
        (_, Cause::Stopped) => {
            CommandRun::DidNotRun(format!("it did not end within {} s", timeout.as_secs()))
        }
        (_, Cause::OutputLimit) => CommandRun::DidNotRun(format!("it wrote more than {OUTPUT_MAX} bytes")),
        (ExitHow::NotStarted(why), _) => CommandRun::DidNotRun(why.clone()),
        (ExitHow::Code(0), _) => CommandRun::Passed,
        (ExitHow::Code(code @ (126 | 127)), _) => {
            CommandRun::DidNotRun(format!("exit code {code}: {}", tail(output)))
        }
        (ExitHow::Code(code), _) => CommandRun::Failed(format!("exit code {code}: {}", tail(output))),
        (ExitHow::Signal(signal), _) => CommandRun::Failed(format!("signal {signal}: {}", tail(output))),
    }
}

/// The end of an output, on one line.
fn tail(output: &str) -> String {
    let start = output.len().saturating_sub(TAIL_MAX);
    let start = (start..=output.len()).find(|at| output.is_char_boundary(*at)).unwrap_or(output.len());
    tribunal_view::plain::line(&output[start..])
}

fn text(path: &Path) -> String {
    let read = || -> std::io::Result<Vec<u8>> {
        let meta = path.symlink_metadata()?;
        let mut bytes = Vec::new();
        if meta.is_file() {
            std::fs::File::open(path)?.take(OUTPUT_MAX).read_to_end(&mut bytes)?;
        }
        Ok(bytes)
    };
    String::from_utf8_lossy(&read().unwrap_or_default()).into_owned()
}

/// A folder of our own, gone when we are done with it.
pub(crate) struct Room(pub(crate) PathBuf);

impl Room {
    pub(crate) fn new() -> std::io::Result<Room> {
        let path = std::env::temp_dir().join(format!("tribunal-{}", unique_id()));
        std::fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Room(path))
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
