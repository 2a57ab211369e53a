//! Runs one command, contained, to its end or its deadline: it passed, failed, or did not run.
//!
//! The command has the sandbox of a run's check: it can write to its tree and sees no journal and no secrets. Its
//! output goes to a private folder, is capped, and is removed afterwards.

use crate::adapters;
use crate::sandbox::enforced;
use crate::sandbox::{self, ProjectPlaces, SCRATCH, Sandbox, SandboxHost, SandboxSpec};
use crate::setup::doctor;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use tribunal_core::gate::{CommandEnd, CommandRun};
use tribunal_core::network::Started;
use tribunal_docs::qa::ran_no_test;
use tribunal_engine::settings::Settings;
use tribunal_git::Repo;
use tribunal_process::{Cause, Containment, Exit, ExitHow, Launch, Mounts, Network, Stdin, run_to_end};

/// How many bytes of output a command may write.
const OUTPUT_MAX: u64 = 64 << 20;
/// How many bytes of output are kept as evidence.
const TAIL_MAX: usize = 2_000;
const GRACE: Duration = Duration::from_secs(2);
/// The variables of our environment that a command sees. No secret is among them.
const KEPT: [&str; 14] = [
    "PATH",
    "HOME",
    "USER",
    "LANG",
    "LC_ALL",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "GOPATH",
    "GOMODCACHE",
    "JAVA_HOME",
    "VIRTUAL_ENV",
    "PYTHONPATH",
    "NODE_PATH",
    "TZ",
];

/// The project that commands run in, and the limits for every one of them.
#[derive(Clone, Debug)]
pub struct Bounds {
    root: PathBuf,
    planning: String,
    settings: Settings,
    timeout: Duration,
}

impl Bounds {
    /// The limits that the settings of a project name; `planning` is the name of its planning folder.
    pub fn of(root: &Path, planning: &str, settings: &Settings) -> Bounds {
        Bounds {
            root: root.to_path_buf(),
            planning: planning.to_owned(),
            timeout: Duration::from_secs(settings.checks.timeout_s),
            settings: settings.clone(),
        }
    }
}

/// A command that has ended.
pub struct Finished {
    /// How it ended.
    pub run: CommandRun,
    /// Its output, standard output first; capped.
    pub output: String,
    /// The content of the file named by `TRIBUNAL_JUNIT`, if it wrote one.
    pub junit: Option<String>,
}

/// Runs a line that its author wrote for a shell.
pub fn run_line(tree: &Path, line: &str, bounds: &Bounds) -> Finished {
    run_argv(tree, &["sh".to_owned(), "-c".to_owned(), line.to_owned()], bounds)
}

/// Runs a program in a tree of the project: the user's own, or a checkout.
///
/// Every problem on the way is a command that did not run, so a caller never has to tell an error from a failed check.
pub fn run_argv(tree: &Path, argv: &[String], bounds: &Bounds) -> Finished {
    let room = match PrivateFolder::new() {
        Ok(room) => room,
        Err(error) => return lost(format!("no room for its output: {error}")),
    };
    let own = room.0.join(SCRATCH);
    let kept = KEPT.iter().filter_map(|name| Some((OsString::from(name), std::env::var_os(name)?)));
    let mut env: Vec<(OsString, OsString)> = kept.collect();
    env.push(("TMPDIR".into(), own.clone().into()));
    env.push(("TRIBUNAL_JUNIT".into(), own.join("junit.xml").into()));
    // Go's build cache would lie in the user's home, where only the user should write.
    env.push(("GOCACHE".into(), own.join("go").into()));
    let (mounts, network) = match sandboxed(tree, argv, bounds, &room, &env) {
        Ok(held) => held,
        Err(why) => return lost(why),
    };
    let launch = Launch {
        id: "check".to_owned(),
        run_marker: format!("protocol-{}", unique_id()),
        argv: argv.iter().map(OsString::from).collect(),
        env,
        dir: tree.to_path_buf(),
        stdin: Stdin::Null,
        out_dir: room.0.join("out"),
        output_max: OUTPUT_MAX,
        mounts,
        network,
    };
    let timeout = bounds.timeout;
    let exit = match run_to_end(Containment::detect(), launch, timeout, GRACE) {
        Ok(exit) => exit,
        Err(error) => return lost(error.to_string()),
    };
    let output = format!("{}{}", text(&room.0.join("out/stdout")), text(&room.0.join("out/stderr")));
    let junit = Some(text(&own.join("junit.xml"))).filter(|text| !text.is_empty());
    Finished { run: judged(&exit, &output, timeout, network), output, junit }
}

/// The sandbox and the network that a run would give to a check.
///
/// The tree is writable, except for what judges the command there: git, the planning folder and Tribunal's settings.
fn sandboxed(
    tree: &Path,
    argv: &[String],
    bounds: &Bounds,
    room: &PrivateFolder,
    env: &[(OsString, OsString)],
) -> Result<(Option<Mounts>, Network), String> {
    let agents = &bounds.settings.agents;
    let sandbox = Sandbox::of(&agents.sandbox, || Containment::detect().can_sandbox());
    // A required sandbox that the machine does not permit is an error and not a weaker sandbox.
    if sandbox == Sandbox::Missing && agents.sandbox == "required" {
        return Err("agents.sandbox is \"required\", and this machine permits no sandbox".to_owned());
    }
    let root = bounds.root.as_path();
    let repo = Repo::open(root).ok();
    // Outside a repository there is nothing to borrow from; the root stands for both.
    let [common_dir, objects] =
        repo.as_ref().map_or([root, root], |repo| [repo.common_dir(), repo.objects_dir()]);
    let environment = doctor::environment();
    let settings = sandbox::git_settings(sandbox::home_of(&environment).as_deref());
    let place = SandboxHost {
        sandbox,
        environment: &environment,
        adapters: &adapters(&bounds.settings).map_err(|error| error.to_string())?,
        readable: &agents.readable,
        writable: &agents.writable,
        git_settings: &settings,
        keys: &repo.as_ref().map(Repo::signing_secrets).unwrap_or_default(),
        own_binary: &std::env::current_exe().map_err(|error| error.to_string())?,
        project: Some(ProjectPlaces {
            root,
            common_dir,
            objects,
            runs: root.join(crate::FOLDER),
            is_tested: repo.is_some(),
        }),
        within: tree,
        scratches: None,
    };
    let judges = [".git", bounds.planning.as_str(), "tribunal.toml"].map(|name| (root.join(name), false));
    let facts = enforced::facts(sandbox, &Containment::detect(), &bounds.settings);
    let network = enforced::network_of(Started::Check, &facts);
    let mounts = place.mounts(&SandboxSpec {
        tree,
        write: true,
        own: &room.0,
        more: judges
            .into_iter()
            // A link is not mounted: it would show what it leads to.
            .filter(|(path, _)| path.symlink_metadata().is_ok_and(|m| !m.is_symlink()))
            .collect(),
        row: None,
        env,
        program: argv.first().map(OsStr::new),
    })?;
    Ok((mounts, network))
}

fn lost(why: String) -> Finished {
    Finished { run: CommandRun::DidNotRun(why), output: String::new(), junit: None }
}

fn judged(exit: &Exit, output: &str, timeout: Duration, network: Network) -> CommandRun {
    let end = match (&exit.how, exit.cause) {
        (_, Cause::Stopped) => CommandEnd::Lost(format!("it did not end within {} s", timeout.as_secs())),
        (_, Cause::OutputLimit) => CommandEnd::Lost(format!("it wrote more than {OUTPUT_MAX} bytes")),
        (how, _) => end_of(how),
    };
    // Only a failure gets a hint. 126 and up are ends of the shell or a signal, which core explains.
    let said = match end {
        CommandEnd::Code(1..=125) => format!("{}{}", tail(output), way_out(output, network)),
        _ => tail(output),
    };
    CommandRun::of(&end, ran_no_test(output), &said)
}

/// How a process ended, for core to judge.
pub(crate) fn end_of(how: &ExitHow) -> CommandEnd {
    match how {
        ExitHow::Code(code) => CommandEnd::Code(*code),
        ExitHow::Signal(signal) => CommandEnd::Signal(*signal),
        ExitHow::NotStarted(why) => CommandEnd::Lost(why.clone()),
    }
}

/// A hint for a command that was stopped by its sandbox.
fn way_out(output: &str, network: Network) -> String {
    if output.contains("Read-only file system") {
        return " (a check writes to its tree alone; agents.writable opens more)".to_owned();
    }
    enforced::way_out(network, output).map(|hint| format!(" ({hint})")).unwrap_or_default()
}

/// The end of an output, on one line.
fn tail(output: &str) -> String {
    let start = output.len().saturating_sub(TAIL_MAX);
    let start = (start..=output.len()).find(|at| output.is_char_boundary(*at)).unwrap_or(output.len());
    tribunal_view::plain::line(&output[start..])
}

fn text(path: &Path) -> String {
    // A command could leave a link to another file under this name.
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

/// A private folder that is removed when this value is dropped.
///
/// Its name cannot be guessed and its mode keeps other users out, because it lies in a shared folder.
pub struct PrivateFolder(PathBuf);

impl PrivateFolder {
    /// Makes a folder.
    pub fn new() -> std::io::Result<PrivateFolder> {
        let path = std::env::temp_dir().join(format!("tribunal-{}", unique_id()));
        // Private from the start: other users share the temporary folder.
        std::fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(PrivateFolder(path))
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A unique id, in the form of a random UUID.
pub fn unique_id() -> String {
    let mut bytes = [0u8; 16];
    let random = std::fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    // Without a random device the time and the process id have to do.
    if random.is_err() {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
        bytes = (now ^ (u128::from(std::process::id()) << 96)).to_be_bytes();
    }
    // The version and variant bits of a random UUID.
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_differ() {
        assert_ne!(unique_id(), unique_id());
        assert_eq!(unique_id().len(), 36);
    }
}
