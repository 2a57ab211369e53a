//! What the tests run: agents that behave badly, and orchestrators to be killed. Every process of it keeps its
//! standard input open, which the tests make the writing end of a pipe: end of file proves that all are dead.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use tribunal_process::{
    Containment, ExitHow, Launch, Network, Stdin, Supervisor, run_to_end, survivors, sweep,
};

/// Long enough for any test, and an end for what a failed one leaves.
const LIFE: Duration = Duration::from_secs(60);

fn main() -> ExitCode {
    if let Some(code) = tribunal_process::contained() {
        return code;
    }
    match act() {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            let _ = writeln!(io::stderr(), "{e}");
            ExitCode::FAILURE
        }
    }
}

fn act() -> io::Result<()> {
    let args: Vec<OsString> = env::args_os().skip(1).collect();
    let (mode, rest) = args.split_first().ok_or_else(|| io::Error::other("no mode given"))?;
    match mode.to_str().unwrap_or_default() {
        "park" => park(),
        "quick" => Ok(()),
        "hostile" => hostile(),
        "demon" => demon(),
        "chain" => chain(true),
        "chain-on" => chain(false),
        "leave-behind" => leave_behind(),
        "orchestrate" => orchestrate(rest),
        "sweeper" => sweeper(rest),
        "many" => many(rest),
        "detect" => detect(rest),
        "trace" => trace(rest, libc::PTRACE_ATTACH),
        "trace-parent" => trace_parent(),
        "abstract" => abstract_socket(rest),
        "refused-calls" => refused_calls(),
        "reach" => reach(rest),
        "call-at" => call_at(rest),
        other => Err(io::Error::other(format!("unknown mode {other}"))),
    }
}

fn park() -> io::Result<()> {
    thread::park_timeout(LIFE);
    Ok(())
}

/// This program anew, with nothing left of the marker.
fn unmarked(mode: &str) -> io::Result<Command> {
    let mut command = Command::new(env::current_exe()?);
    command.arg(mode).env_clear();
    Ok(command)
}

/// Standard input is a pipe's writing end: one byte says that all is in place.
fn ready() -> io::Result<()> {
    rustix::io::write(io::stdin().as_fd(), b"r")?;
    Ok(())
}

/// Ignores SIGTERM (the shell's trap is inherited), leaves an unmarked demon, and stays.
fn hostile() -> io::Result<()> {
    let script = "trap '' TERM; exec 3<&0; \"$0\" demon <&3 3<&- & exec \"$0\" park 3<&-";
    Command::new("/bin/sh").env_clear().args(["-c", script]).arg(env::current_exe()?).spawn()?.wait()?;
    Ok(())
}

/// Its own session, orphaned by double fork, with leaves in their own sessions, forking without end.
fn demon() -> io::Result<()> {
    if rustix::process::setsid().is_err() || env::args_os().count() == 2 {
        let again = unmarked("demon")?.arg("orphan").spawn();
        return again.map(drop);
    }
    for _ in 0..3 {
        unmarked("park")?.spawn()?;
    }
    ready()?;
    let began = Instant::now();
    while began.elapsed() < LIFE {
        unmarked("quick")?.spawn()?.wait()?;
    }
    Ok(())
}

/// Every generation has a new session and a new parent, and lives only to bear the next.
fn chain(first: bool) -> io::Result<()> {
    let _ = rustix::process::setsid();
    let generation: u32 = env::args().nth(2).and_then(|n| n.parse().ok()).unwrap_or(0);
    if generation < 100_000 {
        unmarked("chain-on")?.arg((generation + 1).to_string()).spawn()?;
    }
    if first {
        ready()?;
    }
    Ok(())
}

/// Ends well, with one child left in its session and one in a session of its own.
fn leave_behind() -> io::Result<()> {
    Command::new(env::current_exe()?).arg("park").spawn()?;
    Command::new("setsid").arg(env::current_exe()?).arg("park").spawn()?;
    ready()
}

/// `auto`, `bubblewrap` or `subreaper`.
fn containment(word: &OsString) -> Containment {
    match word.to_str() {
        Some("bubblewrap") => Containment::bubblewrap(None).unwrap_or(Containment::Subreaper),
        Some("subreaper") => Containment::Subreaper,
        _ => Containment::detect(),
    }
}

/// CONTAINMENT MARKER OUT_DIR ARGV…, handing on our standard input.
fn launch(args: &[OsString]) -> io::Result<Launch> {
    let [marker, out_dir, argv @ ..] = args else { return Err(io::Error::other("too few arguments")) };
    Ok(Launch {
        id: "agent".into(),
        run_marker: marker.to_string_lossy().into_owned(),
        argv: argv.to_vec(),
        env: vec![("PATH".into(), env::var_os("PATH").unwrap_or_default())],
        dir: PathBuf::from("/"),
        stdin: Stdin::Given(io::stdin().as_fd().try_clone_to_owned()?),
        out_dir: PathBuf::from(out_dir),
        output_max: u64::MAX,
        mounts: None,
        network: Network::Host,
    })
}

/// Starts a launch, says its pid, and waits to be killed.
fn orchestrate(args: &[OsString]) -> io::Result<()> {
    let (word, rest) = args.split_first().ok_or_else(|| io::Error::other("too few arguments"))?;
    let supervisor = Supervisor::new(containment(word), |_| ()).map_err(io::Error::other)?;
    let started = supervisor.spawn(launch(rest)?).map_err(io::Error::other)?;
    writeln!(io::stdout(), "{} {}", started.pid, supervisor.containment().name())?;
    park()
}

/// Starts a launch without a namespace; told by a line, stops it and sweeps the run.
fn sweeper(args: &[OsString]) -> io::Result<()> {
    let (tell, told) = mpsc::channel();
    let supervisor =
        Supervisor::new(Containment::Subreaper, move |exit| _ = tell.send(exit)).map_err(io::Error::other)?;
    // A plain child of this program must be left alone by every sweep.
    let mut bystander =
        Command::new(env::current_exe()?).arg("park").stdin(std::process::Stdio::null()).spawn()?;
    supervisor.spawn(launch(args)?).map_err(io::Error::other)?;
    io::stderr().write_all(b"go\n")?;
    // The pipe for orders is standard output's peer: the tests pass a socket.
    let mut order = [0_u8; 1];
    rustix::io::read(io::stdout().as_fd(), &mut order)?;
    supervisor.stop("agent", Duration::from_millis(50));
    let exit = told.recv().map_err(io::Error::other)?;
    let marker = args.first().map(|m| m.to_string_lossy().into_owned()).unwrap_or_default();
    let swept = sweep(&marker);
    let spared = bystander.try_wait()?.is_none();
    bystander.kill()?;
    bystander.wait()?;
    let left = survivors(&marker).len();
    writeln!(io::stderr(), "{} {} {left} {spared}", exit.left.len(), swept.left.len())?;
    Ok(())
}

/// CONTAINMENT OUT_DIR COUNT: launches one after the other, every third leaving orphans; what stays with us?
fn many(args: &[OsString]) -> io::Result<()> {
    let [word, out_dir, count] = args else { return Err(io::Error::other("too few arguments")) };
    let count: u32 = count.to_string_lossy().parse().map_err(io::Error::other)?;
    let (tell, told) = mpsc::channel();
    let supervisor =
        Supervisor::new(containment(word), move |exit| _ = tell.send(exit)).map_err(io::Error::other)?;
    let open = || fs::read_dir("/proc/self/fd").map(Iterator::count);
    let before = open()?;
    for n in 0..count {
        let script = if n % 3 == 0 { "(setsid true &); (setsid sleep 60 &)" } else { ":" };
        let one = [
            format!("many-{}", std::process::id()).into(),
            out_dir.clone(),
            "sh".into(),
            "-c".into(),
            script.into(),
        ];
        supervisor.spawn(launch(&one)?).map_err(io::Error::other)?;
        let exit = told.recv().map_err(io::Error::other)?;
        if exit.how != ExitHow::Code(0) || !exit.left.is_empty() {
            return Err(io::Error::other(format!("launch {n}: {exit:?}")));
        }
    }
    let more = open()?.saturating_sub(before);
    let me = std::process::id();
    let children = fs::read_to_string(format!("/proc/{me}/task/{me}/children"))?;
    for pid in children.split_whitespace() {
        io::stderr().write_all(&fs::read(format!("/proc/{pid}/stat")).unwrap_or_default())?;
    }
    writeln!(io::stdout(), "descriptors +{more}, children {}", children.split_whitespace().count())
}

/// OUT_DIR: runs a shell in the best containment there is, and tells about it.
fn detect(args: &[OsString]) -> io::Result<()> {
    let out_dir = args.first().ok_or_else(|| io::Error::other("too few arguments"))?;
    let mut input = String::new();
    io::stdin().read_to_string(&mut input)?;
    let script = [
        "detect".into(),
        out_dir.clone(),
        "sh".into(),
        "-c".into(),
        "echo $$; ls /proc | grep -c '^[0-9]'; exit 3".into(),
    ];
    let containment = Containment::detect();
    let name = containment.name();
    let (timeout, grace) = (Duration::from_secs(20), Duration::ZERO);
    let exit = run_to_end(containment, launch(&script)?, timeout, grace).map_err(io::Error::other)?;
    writeln!(io::stdout(), "{name} {:?}", exit.how)
}

/// PID: attaches to a process and lets go of it by ending; says how that went.
#[expect(unsafe_code, reason = "tracing has no safe wrapper")]
fn trace(args: &[OsString], how: libc::c_uint) -> io::Result<()> {
    let pid: libc::c_int = number(args)?;
    // SAFETY: numbers in, a number out.
    let done = unsafe { libc::ptrace(how, pid, 0, 0) };
    let said = if done == 0 { "traced".to_owned() } else { io::Error::last_os_error().to_string() };
    writeln!(io::stdout(), "trace {pid}: {said}")
}

/// Traces its parent and never asks how that ended.
fn trace_parent() -> io::Result<()> {
    let parent = rustix::process::getppid().map_or(0, |pid| pid.as_raw_nonzero().get());
    trace(&[parent.to_string().into()], libc::PTRACE_SEIZE)?;
    fs::write("traced", "")?;
    park()
}

/// NAME: speaks through a socket without a file, one of somebody else's and one of its own.
fn abstract_socket(args: &[OsString]) -> io::Result<()> {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
    let name = args.first().ok_or_else(|| io::Error::other("too few arguments"))?;
    let theirs = SocketAddr::from_abstract_name(name.as_encoded_bytes())?;
    let own = SocketAddr::from_abstract_name([name.as_encoded_bytes(), b"-own"].concat())?;
    let _listener = UnixListener::bind_addr(&own)?;
    let said = |to: &SocketAddr| UnixStream::connect_addr(to).map_or("closed", |_| "open");
    writeln!(io::stdout(), "theirs {}, own {}", said(&theirs), said(&own))
}

/// What the kernel says to calls that nobody needs.
#[expect(unsafe_code, reason = "these calls have no safe wrapper")]
fn refused_calls() -> io::Result<()> {
    // SAFETY: with these arguments they change nothing, and fail where they are not refused.
    let calls = unsafe {
        [
            ("keyctl", libc::syscall(libc::SYS_keyctl, 0, -3, 0), io::Error::last_os_error()),
            ("io_uring", libc::syscall(libc::SYS_io_uring_setup, 0, 0), io::Error::last_os_error()),
            ("bpf", libc::syscall(libc::SYS_bpf, 0, 0, 0), io::Error::last_os_error()),
            ("vsock", libc::syscall(libc::SYS_socket, 40, 1, 0), io::Error::last_os_error()),
            ("packet", libc::syscall(libc::SYS_socket, 17, 2, 0), io::Error::last_os_error()),
            ("netlink", libc::syscall(libc::SYS_socket, 16, 3, 0), io::Error::last_os_error()),
        ]
    };
    for (name, done, error) in calls {
        let said = if done >= 0 { 0 } else { error.raw_os_error().unwrap_or(-1) };
        writeln!(io::stdout(), "{name} {said}")?;
    }
    Ok(())
}

/// PORT: reaches for a server of this machine, and for one of its own.
fn reach(args: &[OsString]) -> io::Result<()> {
    let own = std::net::TcpListener::bind("127.0.0.1:0")?;
    let said = |port| std::net::TcpStream::connect(("127.0.0.1", port)).map_or("closed", |_| "open");
    writeln!(io::stdout(), "theirs {}, own {}", said(number(args)?), said(own.local_addr()?.port()))
}

/// SOCKET: calls there, and stays until it is hung up on.
fn call_at(args: &[OsString]) -> io::Result<()> {
    let path = args.first().ok_or_else(|| io::Error::other("too few arguments"))?;
    let mut stream = std::os::unix::net::UnixStream::connect(path)?;
    stream.read_to_end(&mut Vec::new()).map(drop)
}

fn number<T: std::str::FromStr>(args: &[OsString]) -> io::Result<T> {
    let word = args.first().and_then(|word| word.to_str());
    word.and_then(|word| word.parse().ok()).ok_or_else(|| io::Error::other("a number is missing"))
}
