//! A review that an editor agent asks for: this program, started once more, on its own. It is the only thing of the desk
//! that starts a process, and what it starts is a fixed command with one checked argument.

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

/// Reviews of one session at a time.
const AT_ONCE: usize = 2;
/// How long it may take until a review has a name.
const NAMED: Duration = Duration::from_secs(90);
/// Bytes of what it said that are kept, and of one line.
const KEPT: usize = 4_000;
const LINE: u64 = 64 << 10;

/// What became of a start.
enum Outcome {
    Named(String),
    Ended(ExitHow, String),
}

/// Starts reviews, not too many at once.
#[derive(Default)]
pub struct Starter {
    running: Arc<AtomicUsize>,
}

impl Starter {
    /// Starts a review and returns when it has a name.
    pub fn review(&self, place: &Place, what: &Start) -> Result<Value, Failure> {
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
            Start::Diff(range) => format!("--diff={range}"),
            Start::Staged => "--staged".to_owned(),
        };
        let args = ["review", "--yes", "--detach", what.as_str()].map(OsString::from);
        let started = start_detached(&program, &args, &place.root).map_err(Failure::work)?;
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

/// One of the reviews that may be under way.
struct Slot(Arc<AtomicUsize>);

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// It ended before it had a name.
fn ended(how: &ExitHow, said: &str) -> Result<Value, Failure> {
    match how {
        ExitHow::Code(0) => Ok(json!({ "run": null, "note": plain::capped(said.trim(), KEPT) })),
        _ => Err(Failure::work(format!("the review did not begin: {}", plain::capped(said.trim(), KEPT)))),
    }
}

/// Reads all that it says, to its end, so that it never waits for a reader.
fn listen(mut started: Detached, tell: &SyncSender<Outcome>) {
    let mut kept = String::new();
    {
        let mut lines = BufReader::new(&mut started.output);
        let mut line = Vec::new();
        while matches!(lines.by_ref().take(LINE).read_until(b'\n', &mut line), Ok(n) if n > 0) {
            let text = String::from_utf8_lossy(&line);
            if let Some(run) = named(&text) {
                // Nobody may listen any more; the review goes on all the same.
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

/// `run 20260301-0915` on a line of its own.
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
