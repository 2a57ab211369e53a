//! Signals: Ctrl-C, SIGTERM and SIGHUP become an interrupt of the run. The first signal is answered with a message;
//! nothing is ended here. A command that only starts other commands of this program passes the signals on and waits.
//!
//! Handlers run on a thread of their own, so the person gets an answer at once, whatever the run is doing. Stopping is
//! left to the engine, which gives agents their grace period and journals the suspension.

use crate::failure::Failure;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::iterator::{Handle, Signals, SignalsInfo};
use signal_hook::low_level::siginfo::{Cause, Origin};
use std::ffi::OsString;
use std::path::Path;
use std::sync::{Arc, Mutex};
use tribunal_process::lock;
use tribunal_process::{ExitHow, Foreground, Reach};

/// The signals that ask this program to stop.
const ASKING: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// Handles signals until it is dropped.
///
/// Dropping joins the thread, so no message can appear after the command has printed its result.
pub struct Caught {
    handle: Handle,
    thread: Option<std::thread::JoinHandle<()>>,
}

/// Calls `interrupt` for every signal that asks us to stop, and tells the person through `say` what happens and whom
/// the run waits for.
///
/// This runs on its own thread. A second signal is passed to the engine like the first; the engine decides that it ends
/// the agents now.
pub fn catch(
    grace_s: u64,
    interrupt: impl Fn(i32) + Send + 'static,
    at_work: impl Fn() -> Option<String> + Send + 'static,
    say: impl Fn(&str) + Send + 'static,
) -> Result<Caught, Failure> {
    let mut signals = Signals::new(ASKING).map_err(deaf)?;
    let handle = signals.handle();
    let work = move || {
        let mut asked = false;
        for signal in signals.forever() {
            // Before the message: the grace period should begin even if stderr blocks.
            interrupt(signal);
            if asked {
                say("ending the agents now; `tribunal resume` goes on");
            } else {
                let whom = at_work().map(|who| format!(", waiting for {who}")).unwrap_or_default();
                say(&format!(
                    "stopping: agents get {grace_s} s to finish{whom}; press again to end them now; `tribunal resume` goes on"
                ));
            }
            asked = true;
        }
    };
    Caught::by(handle, work)
}

fn deaf(error: std::io::Error) -> Failure {
    Failure::work(format!("cannot listen for signals: {error}"))
}

impl Caught {
    fn by(handle: Handle, work: impl FnOnce() + Send + 'static) -> Result<Caught, Failure> {
        let thread = std::thread::Builder::new().name("signals".to_owned()).spawn(work).map_err(deaf)?;
        Ok(Caught { handle, thread: Some(thread) })
    }
}

impl Drop for Caught {
    fn drop(&mut self) {
        // Ends `signals.forever()`, so that the join below returns.
        self.handle.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Runs commands of this program one after the other, and passes on the signals that ask this one to stop.
///
/// The demo uses it. Without it Ctrl-C would end the outer command and leave its run alive.
pub struct Relay {
    now: Arc<Mutex<Now>>,
    _caught: Caught,
}

/// The command that runs now, and the first signal that arrived.
#[derive(Default)]
struct Now {
    asked: Option<i32>,
    reach: Reach,
}

impl Relay {
    /// Starts to listen; stops when the relay is dropped.
    pub fn new() -> Result<Relay, Failure> {
        let mut signals = SignalsInfo::<WithOrigin>::new(ASKING).map_err(deaf)?;
        let handle = signals.handle();
        let now = Arc::new(Mutex::new(Now::default()));
        let shared = Arc::clone(&now);
        let work = move || {
            for origin in signals.forever() {
                let mut now = lock(&shared);
                // The first signal counts: it decides the exit code.
                now.asked.get_or_insert(origin.signal);
                if is_for_us_alone(&origin) {
                    now.reach.signal(origin.signal);
                }
            }
        };
        Ok(Relay { now, _caught: Caught::by(handle, work)? })
    }

    /// Runs a program to its end. A signal that arrived before the start counts as the program's end.
    ///
    /// So a sequence of commands stops at the first signal, even one that falls between two commands.
    pub fn run(
        &self,
        program: &Path,
        args: &[OsString],
        dir: &Path,
        env: &[(&str, OsString)],
    ) -> Result<ExitHow, Failure> {
        let command = {
            // The lock is held while the command starts. Otherwise a signal could arrive after the check and before
            // `reach` is known, and reach nobody.
            let mut now = lock(&self.now);
            if let Some(signal) = now.asked {
                return Ok(ExitHow::Signal(signal));
            }
            let command = Foreground::start(program, args, dir, env).map_err(Failure::work)?;
            now.reach = command.reach();
            command
        };
        command.wait().map_err(Failure::work)
    }
}

/// True if the command we started has not received this signal itself.
///
/// A terminal sends Ctrl-C to the whole foreground group, and a second one would tell the command not to wait for its
/// agents. When the terminal goes away, the kernel sends SIGHUP to the session leader only, so a leader passes it on.
fn is_for_us_alone(origin: &Origin) -> bool {
    let leads = || rustix::process::getsid(None) == Ok(rustix::process::getpid());
    origin.cause != Cause::Kernel || (origin.signal == SIGHUP && leads())
}

/// The signal that stopped a command, if one of ours did.
///
/// A command that caught the signal exits with 128+n; one that did not is killed by it. Both mean the same here.
pub fn stopped_by(how: &ExitHow) -> Option<i32> {
    // Other signals, SIGKILL among them, were not a request.
    ASKING.into_iter().find(|signal| *how == ExitHow::Signal(*signal) || *how == ExitHow::Code(128 + signal))
}

/// The name of a signal as people know it.
pub fn name(signal: i32) -> &'static str {
    match signal {
        SIGINT => "Ctrl-C",
        SIGTERM => "SIGTERM",
        SIGHUP => "SIGHUP",
        _ => "a signal",
    }
}
