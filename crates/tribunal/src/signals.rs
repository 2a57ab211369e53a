//! Signals: Ctrl-C, TERM and HUP become an interrupt of the run. The first is told to the person; nothing is ended
//! here.

use crate::failure::Failure;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};

/// Hands signals on until it is dropped.
pub struct Caught {
    handle: Handle,
    thread: Option<std::thread::JoinHandle<()>>,
}

/// Calls `interrupt` for every signal that asks us to stop, and tells the person what happens through `say`.
pub fn catch(
    grace_s: u64,
    interrupt: impl Fn(i32) + Send + 'static,
    say: impl Fn(&str) + Send + 'static,
) -> Result<Caught, Failure> {
    let failed = |error: std::io::Error| Failure::work(format!("cannot listen for signals: {error}"));
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(failed)?;
    let handle = signals.handle();
    let work = move || {
        let mut asked = false;
        for signal in signals.forever() {
            interrupt(signal);
            if asked {
                say("ending the agents now; `tribunal resume` goes on");
            } else {
                say(&format!(
                    "stopping: agents get {grace_s} s to finish; press again to end them now; `tribunal resume` goes on"
                ));
            }
            asked = true;
        }
    };
    let thread = std::thread::Builder::new().name("signals".to_owned()).spawn(work).map_err(failed)?;
    Ok(Caught { handle, thread: Some(thread) })
}

impl Drop for Caught {
    fn drop(&mut self) {
        self.handle.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
