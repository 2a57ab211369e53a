//! Signals: Ctrl-C, TERM and HUP become an interrupt of the run. The first is told to the person; nothing is ended
//! here. Who only starts other commands of this program hands them on, and waits.

use crate::failure::Failure;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::iterator::{Handle, Signals, SignalsInfo};
use signal_hook::low_level::siginfo::{Cause, Origin};
use std::ffi::OsString;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tribunal_process::{ExitHow, Foreground, Reach};

/// What asks us to stop.
const ASKING: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// Hands signals on until it is dropped.
pub struct Caught {
    handle: Handle,
    thread: Option<std::thread::JoinHandle<()>>,
}

/// Calls `interrupt` for every signal that asks us to stop, and tells the person through `say` what happens and whom it waits
/// for. This has a thread of its own: whatever the run is doing, the answer comes at once.
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
        self.handle.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Runs one command of this program after the other, and hands on to it what asks this one to stop.
pub struct Relay {
    now: Arc<Mutex<Now>>,
    _caught: Caught,
}

/// Who runs now, and what was asked.
#[derive(Default)]
struct Now {
    asked: Option<i32>,
    reach: Reach,
}

impl Relay {
    /// Listens until it is dropped.
    pub fn new() -> Result<Relay, Failure> {
        let mut signals = SignalsInfo::<WithOrigin>::new(ASKING).map_err(deaf)?;
        let handle = signals.handle();
        let now = Arc::new(Mutex::new(Now::default()));
        let shared = Arc::clone(&now);
        let work = move || {
            for origin in signals.forever() {
                let mut now = locked(&shared);
                now.asked.get_or_insert(origin.signal);
                if is_for_us_alone(&origin) {
                    now.reach.signal(origin.signal);
                }
            }
        };
        Ok(Relay { now, _caught: Caught::by(handle, work)? })
    }

    /// Runs a program to its end. If we were asked to stop before it begins, that counts as its end.
    pub fn run(
        &self,
        program: &Path,
        args: &[OsString],
        dir: &Path,
        env: &[(&str, OsString)],
    ) -> Result<ExitHow, Failure> {
        let command = {
            // Held while it starts, so that no signal falls between the two of us.
            let mut now = locked(&self.now);
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

/// A terminal sends its signals to the command too, where a second one would mean that it must not wait. Of its own end it
/// tells nobody but who leads the session.
fn is_for_us_alone(origin: &Origin) -> bool {
    let leads = || rustix::process::getsid(None) == Ok(rustix::process::getpid());
    origin.cause != Cause::Kernel || (origin.signal == SIGHUP && leads())
}

fn locked(now: &Mutex<Now>) -> MutexGuard<'_, Now> {
    now.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The signal that ended a command, if it was asked to stop.
pub fn stopped_by(how: &ExitHow) -> Option<i32> {
    ASKING.into_iter().find(|signal| *how == ExitHow::Signal(*signal) || *how == ExitHow::Code(128 + signal))
}

/// A signal as people know it.
pub fn name(signal: i32) -> &'static str {
    match signal {
        SIGINT => "Ctrl-C",
        SIGTERM => "SIGTERM",
        SIGHUP => "SIGHUP",
        _ => "a signal",
    }
}
