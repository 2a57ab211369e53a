//! Starts a review for an editor agent: this program, once more, as a process of its own.
//!
//! It is the only one of the editor's tools that starts a process, and it starts a fixed command with one checked
//! argument. The review outlives the session, because an editor may end its server at any moment.

use super::tools::Start;
use crate::failure::Failure;
use crate::place::Place;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;
use tribunal_process::{Detached, ExitHow, start_detached};
use tribunal_view::plain;

/// How many reviews of one session may run at a time; reviews cost money.
const AT_ONCE: usize = 2;
/// How long to wait until a review has an id.
const NAMED: Duration = Duration::from_secs(90);
/// Bytes of the review's output that are kept for an error message.
const KEPT: usize = 4_000;
// Longer lines are read in pieces: the output may hold anything, and must not fill the memory.
const LINE: u64 = 64 << 10;

/// The first thing that is known about a started review.
enum Outcome {
    Named(String),
    Ended(ExitHow, String),
}

/// Starts reviews, and limits how many run at once.
#[derive(Default)]
pub struct Starter {
    running: Arc<AtomicUsize>,
}

impl Starter {
    /// Starts a review and returns once it has an id.
    pub fn review(&self, place: &Place, what: &Start) -> Result<Value, Failure> {
        // Counted in one atomic step: two calls at the same time must not both get the last slot.
        let busy =
            self.running.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| (n < AT_ONCE).then_some(n + 1));
        if busy.is_err() {
            return Err(Failure::work(format!("{AT_ONCE} reviews of this session are under way"))
                .hint("get_run tells how they stand"));
        }
        let slot = Slot(Arc::clone(&self.running));
        let program = std::env::current_exe()
            .map_err(|error| Failure::work(format!("this program cannot be found: {error}")))?;
        let what = match what {
            // Joined by `=`, so that the range can never be read as an option.
            Start::Diff(range) => format!("--diff={range}"),
            Start::Staged => "--staged".to_owned(),
        };
        let args = ["review", "--yes", "--detach", what.as_str()].map(OsString::from);
        let started = start_detached(&program, &args, &place.root).map_err(Failure::work)?;
        // Two messages at most, an id and an end, so the listener never blocks on a caller that has stopped waiting.
        let (tell, told) = sync_channel(2);
        let listener = std::thread::Builder::new().name("review".to_owned()).spawn(move || {
            listen(started, &tell);
            drop(slot);
        });
        listener.map_err(|error| Failure::work(format!("nobody can listen to the review: {error}")))?;
        match told.recv_timeout(NAMED) {
            Ok(Outcome::Named(run)) => Ok(json!({
                "run": run,
                "note": "it goes on by itself; get_run tells when it has ended, list_findings what was found",
            })),
            Ok(Outcome::Ended(how, said)) => ended(&how, &said),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                Ok(json!({ "run": null, "note": "it is being prepared; get_run will show it" }))
            }
        }
    }
}

/// A review under way; dropping it frees the slot, also when the start fails.
struct Slot(Arc<AtomicUsize>);

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The answer for a review that ended before it had an id. Success means that there was nothing to review.
fn ended(how: &ExitHow, said: &str) -> Result<Value, Failure> {
    match how {
        ExitHow::Code(0) => Ok(json!({ "run": null, "note": plain::capped(said.trim(), KEPT) })),
        _ => Err(Failure::work(format!("the review did not begin: {}", plain::capped(said.trim(), KEPT)))),
    }
}

/// Reads the output to its end, so that the review never blocks on a full pipe.
fn listen(mut started: Detached, tell: &SyncSender<Outcome>) {
    let mut kept = String::new();
    {
        let mut lines = BufReader::new(&mut started.output);
        let mut line = Vec::new();
        while matches!(lines.by_ref().take(LINE).read_until(b'\n', &mut line), Ok(n) if n > 0) {
            let text = String::from_utf8_lossy(&line);
            if let Some(run) = named(&text) {
                // The caller may have stopped waiting; the review goes on all the same.
                let _ = tell.try_send(Outcome::Named(run));
            }
            if kept.len() < KEPT {
                kept.push_str(&text);
            }
            line.clear();
        }
    }
    let _ = tell.try_send(Outcome::Ended(started.wait(), kept));
}

/// The id in a line such as `run 20260301-0915`.
fn named(line: &str) -> Option<String> {
    let run = line.trim_end().strip_prefix("run ")?;
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    (!run.is_empty() && run.chars().all(plain)).then(|| run.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_alone_on_its_line() {
        let check = |line: &str, expect: Option<&str>| assert_eq!(named(line).as_deref(), expect, "{line:?}");
        check("run 20260301-0915-ab\n", Some("20260301-0915-ab"));
        check("run the tests\n", None);
        check("run \n", None);
        check("review of main..HEAD\n", None);
    }
}
